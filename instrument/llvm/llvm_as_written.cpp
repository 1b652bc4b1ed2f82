// Remembers written loops and unwanted probes of a module from before optimisation; see
// llvm_as_written.h.
#include "instrument/llvm/llvm_as_written.h"

#include <string>

#include "llvm/ADT/SCCIterator.h"
#include "llvm/Analysis/CallGraph.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

using llvm::Function;
using llvm::Loop;

namespace dwell {
namespace {

// The attribute of clang's -finstrument-functions-after-inlining, which requests calls to be
// inserted much later.
constexpr const char* kMark = "instrument-function-entry-inlined";
constexpr const char* kLeaveMark = "instrument-function-exit-inlined";
constexpr const char* kUnwanted = "dwell-unwanted";

// clang never marks these, whatever their attributes: functions of its own, and lambdas outside of
// procedures.
bool is_never_marked(const Function& function) {
    const llvm::StringRef name = function.getName();
    const llvm::DISubprogram* subprogram = function.getSubprogram();
    return name.startswith("_GLOBAL__") || name.startswith("__cxx_global") ||
           name.startswith(".omp") || subprogram == nullptr || subprogram->isArtificial() ||
           name.contains("$_") || llvm::demangle(name.str()).find("'lambda") != std::string::npos;
}

// In a thunk clang marks only the exit, not the entry.
void take_mark(Function& function) {
    const bool wanted = function.hasFnAttribute(kMark) || function.hasFnAttribute(kLeaveMark);
    function.removeFnAttr(kMark);
    function.removeFnAttr(kLeaveMark);
    if (!wanted && !function.isDeclaration() && !is_never_marked(function)) {
        function.addFnAttr(kUnwanted);
    }
}

bool is_marked(const Loop& loop) {
    llvm::SmallVector<llvm::BasicBlock*, 4> latches;
    loop.getLoopLatches(latches);
    return llvm::any_of(latches, [](const llvm::BasicBlock* latch) {
        return latch->getTerminator()->getMetadata(llvm::LLVMContext::MD_loop) != nullptr;
    });
}

bool is_retried_update(const Loop& loop) {
    return llvm::any_of(*loop.getHeader(), [](const llvm::Instruction& instruction) {
        return llvm::isa<llvm::AtomicCmpXchgInst>(instruction);
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

void AsWritten::remember(llvm::Module& module, bool marked) {
    if (marked) {
        for (Function& function : module) take_mark(function);
    }
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

bool AsWritten::wants_no_probes(const Function& function) {
    return function.hasFnAttribute(kUnwanted);
}

bool AsWritten::is_loop(const Loop& loop) const {
    if (is_marked(loop) || loop.getHeader()->getParent()->getSubprogram() == nullptr) return true;
    if (is_retried_update(loop)) return false;
    return llvm::none_of(*loop.getHeader(), [&](const llvm::Instruction& instruction) {
        const llvm::DILocation* location = instruction.getDebugLoc();
        return location != nullptr && recursive_.count(location->getScope()->getSubprogram()) != 0;
    });
}

}  // namespace dwell
