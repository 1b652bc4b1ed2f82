#include "instrument/llvm_recursion.h"

#include "llvm/ADT/SCCIterator.h"
#include "llvm/Analysis/CallGraph.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"

using llvm::Function;
using llvm::Loop;

namespace dwell {
namespace {

bool is_marked(const Loop& loop) {
    llvm::SmallVector<llvm::BasicBlock*, 4> latches;
    loop.getLoopLatches(latches);
    return llvm::any_of(latches, [](const llvm::BasicBlock* latch) {
        return latch->getTerminator()->getMetadata(llvm::LLVMContext::MD_loop) != nullptr;
    });
}

void mark_loops(Function& function) {
    const llvm::DominatorTree dominators(function);
    const llvm::LoopInfo loops(dominators);
    for (const Loop* loop : loops.getLoopsInPreorder()) {
        if (is_marked(*loop)) continue;
        llvm::MDNode* mark = llvm::MDNode::getDistinct(function.getContext(), {nullptr});
        mark->replaceOperandWith(0, mark);
        loop->setLoopID(mark);
    }
}

}  // namespace

void LlvmRecursion::remember(llvm::Module& module) {
    llvm::CallGraph calls(module);
    for (auto group = llvm::scc_begin(&calls); !group.isAtEnd(); ++group) {
        if (!group.hasCycle()) continue;
        for (const llvm::CallGraphNode* node : *group) {
            Function* function = node->getFunction();
            if (function == nullptr || function->isDeclaration()) continue;
            if (const llvm::DISubprogram* subprogram = function->getSubprogram()) {
                recursive_.insert(subprogram);
                mark_loops(*function);
            }
        }
    }
}

bool LlvmRecursion::is_made_of_calls(const Loop& loop) const {
    if (is_marked(loop)) return false;
    for (const llvm::Instruction& instruction : *loop.getHeader()) {
        const llvm::DILocation* location = instruction.getDebugLoc();
        if (location == nullptr) continue;
        if (recursive_.count(location->getScope()->getSubprogram()) != 0) return true;
    }
    return false;
}

}  // namespace dwell
