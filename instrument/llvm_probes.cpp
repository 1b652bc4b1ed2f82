#include "instrument/llvm_probes.h"

#include <string>

#include "instrument/llvm_tail_calls.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

using llvm::BasicBlock;
using llvm::CallInst;
using llvm::Function;
using llvm::FunctionAnalysisManager;
using llvm::Instruction;
using llvm::Loop;
using llvm::Module;
using llvm::PHINode;
using llvm::StringRef;
using llvm::Type;
using llvm::Value;

namespace dwell {
namespace {

// Only probes have this in their text.
constexpr const char* kProbeMark = "call *dwell_";
// Of the operands of a probe, the one that names the frame.
constexpr unsigned kSlotOperand = 0;
// What computing a loop's iterations where it is left may cost before counting them is better.
constexpr unsigned kCheapCount = 4;

// The address of the return address. As a memory operand of a probe in the same block it costs no
// instruction but the probe's own.
CallInst* slot_before(Instruction* at) {
    llvm::IRBuilder<> build(at);
    return build.CreateIntrinsic(llvm::Intrinsic::addressofreturnaddress,
                                 {Type::getInt8PtrTy(at->getContext())}, {});
}

class ProbeWriter {
  public:
    ProbeWriter(Function& function, const LlvmUnit& unit, const LlvmTables& tables)
        : unit_(unit), tables_(tables), context_(function.getContext()) {}

    void place(StringRef entry, int row, Instruction* at) const { write(entry, row, at, nullptr); }
    void place(StringRef entry, int row, Instruction* at, Value* number) const {
        write(entry, row, at, number);
    }

    // Whatever is switched off, the library must know that two processes share one memory.
    void place_vforked(int row, Instruction* at, Value* result) const {
        llvm::IRBuilder<> build(at);
        write("vforked", row, at, build.CreateSExtOrTrunc(result, build.getInt64Ty()), false);
    }

  private:
    void write(StringRef entry, int row, Instruction* at, Value* number,
               bool by_level = true) const {
        CallInst* slot = slot_before(at);
        std::vector<Value*> operands{slot, row_address(tables_, row)};
        std::string constraints = "*m,i";
        std::string tested = ("dwell_" + entry + "@GOTPCREL(%rip)").str();
        if (by_level) {
            const LlvmRow& site = unit_.rows[static_cast<size_t>(row)];
            tested = "${" + std::to_string(operands.size()) + ":c}(%rip)";
            operands.push_back(level_address(tables_, site.level));
            constraints += ",i";
        }
        std::string text = std::string(by_level ? "cmpb" : "cmpq") + " $$0, " + tested +
                           "\n\tje 1f\n\tleaq ${1:c}(%rip), %r11\n\tleaq $0, %r10\n\t";
        if (number != nullptr) {
            text += "movq $" + std::to_string(operands.size()) + ", %r9\n\t";
            operands.push_back(number);
            constraints += ",ri,~{r9}";
        }
        text += (kProbeMark + entry + "@GOTPCREL(%rip)\n1:").str();
        constraints += ",~{r10},~{r11},~{dirflag},~{fpsr},~{flags}";

        std::vector<Type*> types;
        for (const Value* operand : operands) types.push_back(operand->getType());
        auto* type = llvm::FunctionType::get(Type::getVoidTy(context_), types, false);
        llvm::IRBuilder<> build(at);
        CallInst* probe = build.CreateCall(
            type, llvm::InlineAsm::get(type, text, constraints, /*hasSideEffects=*/true), operands);
        probe->addParamAttr(kSlotOperand,
                            llvm::Attribute::get(context_, llvm::Attribute::ElementType,
                                                 Type::getInt8Ty(context_)));
        // What the library does concerns nobody here: no memory of the program, no way out.
        for (const auto kind :
             {llvm::Attribute::InaccessibleMemOnly, llvm::Attribute::NoUnwind,
              llvm::Attribute::WillReturn, llvm::Attribute::NoFree, llvm::Attribute::NoCallback}) {
            probe->addFnAttr(kind);
        }
    }

    const LlvmUnit& unit_;
    const LlvmTables& tables_;
    llvm::LLVMContext& context_;
};

// True when the header is nothing but the test before the body, as in a while statement: left from
// there, the last time that it was reached began no iteration. What a test does beside stands on
// its line.
bool tests_first(const Loop& loop) {
    const BasicBlock* header = loop.getHeader();
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(header->getTerminator());
    if (branch == nullptr || !branch->isConditional()) return false;
    const bool stays = loop.contains(branch->getSuccessor(0));
    if (stays == loop.contains(branch->getSuccessor(1))) return false;
    const BasicBlock* staying = branch->getSuccessor(stays ? 0 : 1);
    if (staying == header || (staying == loop.getLoopLatch() && staying->size() == 1)) return false;
    const auto line_of = [](const Instruction& instruction) {
        return instruction.getDebugLoc() ? instruction.getDebugLoc().getLine() : 0;
    };
    const unsigned line = line_of(*branch);
    return llvm::none_of(*header, [&](const Instruction& instruction) {
        return !instruction.isDebugOrPseudoInst() && instruction.mayHaveSideEffects() &&
               (line == 0 || line_of(instruction) != line);
    });
}

// How often the body of a loop was begun, for the blocks that it is left to.
class Iterations {
  public:
    Iterations(Loop& loop, llvm::ScalarEvolution& evolution,
               const llvm::TargetTransformInfo& target)
        : loop_(loop),
          type_(Type::getInt64Ty(loop.getHeader()->getContext())),
          tests_first_(tests_first(loop)) {
        const llvm::SCEV* back = evolution.getBackedgeTakenCount(&loop);
        BasicBlock* exit = loop.getExitBlock();
        if (exit == nullptr || exit->isEHPad() || loop.getExitingBlock() == nullptr ||
            llvm::isa<llvm::SCEVCouldNotCompute>(back) || !evolution.isLoopInvariant(back, &loop) ||
            evolution.getTypeSizeInBits(back->getType()) > 64) {
            return;
        }
        Instruction* at = &*exit->getFirstInsertionPt();
        const llvm::SCEV* count = evolution.getNoopOrZeroExtend(back, type_);
        if (!tests_first_ || loop.getExitingBlock() != loop.getHeader()) {
            count = evolution.getAddExpr(count, evolution.getOne(type_));
        }
        llvm::SCEVExpander expander(evolution, exit->getModule()->getDataLayout(), "dwell");
        if (llvm::isSafeToExpandAt(count, at, evolution) &&
            !expander.isHighCostExpansion(count, &loop, kCheapCount, &target, at)) {
            known_ = expander.expandCodeFor(count, type_, at);
        }
    }

    Value* at_exit(BasicBlock& exit) {
        if (known_ != nullptr) return known_;
        if (counted_ == nullptr) count();
        PHINode* merged = PHINode::Create(type_, 2, "dwell.iterations", &exit.front());
        for (BasicBlock* before : llvm::predecessors(&exit)) {
            const bool tested = tests_first_ && before == loop_.getHeader();
            merged->addIncoming(tested ? reached_ : counted_, before);
        }
        return merged;
    }

  private:
    void count() {
        BasicBlock* header = loop_.getHeader();
        PHINode* before = PHINode::Create(type_, 2, "dwell.count", &header->front());
        reached_ = before;
        llvm::IRBuilder<> build(&*header->getFirstInsertionPt());
        build.SetCurrentDebugLocation(llvm::DebugLoc());
        counted_ = build.CreateAdd(before, build.getInt64(1), "dwell.next", true, true);
        for (BasicBlock* from : llvm::predecessors(header)) {
            before->addIncoming(loop_.contains(from) ? counted_ : build.getInt64(0), from);
        }
    }

    Loop& loop_;
    Type* type_;
    bool tests_first_;
    Value* known_ = nullptr;
    Value* reached_ = nullptr;  // the header, before this time
    Value* counted_ = nullptr;
};

Instruction* procedure_start(Function& function) {
    auto at = function.getEntryBlock().getFirstInsertionPt();
    while (llvm::isa<llvm::AllocaInst>(*at) || at->isDebugOrPseudoInst()) ++at;
    return &*at;
}

void insert_procedure_probes(Function& function, int row, const ProbeWriter& probes) {
    std::vector<Instruction*> ends;
    std::vector<CallInst*> vforks;
    for (BasicBlock& block : function) {
        if (auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator())) {
            CallInst* tail_call = tail_call_before(*end);
            ends.push_back(tail_call != nullptr ? static_cast<Instruction*>(tail_call) : end);
        }
        for (Instruction& instruction : block) {
            auto* call = llvm::dyn_cast<CallInst>(&instruction);
            if (call == nullptr || !call->getType()->isIntegerTy()) continue;
            const StringRef name = called_name(*call);
            if (name == "vfork" || name == "__vfork") vforks.push_back(call);
        }
    }
    for (Instruction* end : ends) probes.place("leave", row, end);
    for (CallInst* call : vforks) probes.place_vforked(row, call->getNextNode(), call);

    // The entry belongs to no line: a debugger stops behind it.
    Instruction* start = procedure_start(function);
    const llvm::DebugLoc line = start->getDebugLoc();
    start->setDebugLoc(llvm::DebugLoc());
    probes.place("enter", row, start);
    start->setDebugLoc(line);
}

bool is_reached_only_from(const BasicBlock& exit, const Loop& loop) {
    return llvm::all_of(llvm::predecessors(&exit),
                        [&](const BasicBlock* before) { return loop.contains(before); });
}

// Outer loops first, so that where one edge leaves several the inner ones are left first.
void insert_loop_probes(Function& function, const LlvmUnit& unit, const ProbeWriter& probes,
                        FunctionAnalysisManager& analyses) {
    auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
    auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
    const auto& target = analyses.getResult<llvm::TargetIRAnalysis>(function);
    for (Loop* loop : loops.getLoopsInPreorder()) {
        const auto found = unit.loops.find(loop->getHeader());
        BasicBlock* before = loop->getLoopPreheader();
        if (found == unit.loops.end() || before == nullptr) continue;
        Iterations iterations(*loop, evolution, target);
        llvm::SmallVector<BasicBlock*, 8> exits;
        loop->getUniqueExitBlocks(exits);
        for (BasicBlock* exit : exits) {
            if (exit->isEHPad() || !is_reached_only_from(*exit, *loop)) continue;
            Value* count = iterations.at_exit(*exit);
            auto at = exit->getFirstInsertionPt();
            // Behind the computation of the count, before the probes of outer loops.
            if (auto* computed = llvm::dyn_cast<Instruction>(count)) {
                if (computed->getParent() == exit && !llvm::isa<PHINode>(computed)) {
                    at = std::next(computed->getIterator());
                }
            }
            probes.place("loop_leave", found->second, &*at, count);
        }
        probes.place("loop_enter", found->second, before->getTerminator());
    }
}

// Probes below the stack pointer would overwrite what lies there.
void give_up_red_zone(Function& function) { function.addFnAttr(llvm::Attribute::NoRedZone); }

}  // namespace

bool insert_probes(Function& function, const LlvmUnit& unit, const LlvmTables& tables,
                   FunctionAnalysisManager& analyses) {
    const auto procedure = unit.procedures.find(&function);
    const bool has_procedure_probes = procedure != unit.procedures.end();
    const bool has_loop_probes = llvm::any_of(
        function, [&](const BasicBlock& block) { return unit.loops.count(&block) != 0; });
    if (!has_procedure_probes && !has_loop_probes) return false;

    give_up_red_zone(function);
    if (has_procedure_probes && !function.hasOptNone()) split_tail_calls(function);
    analyses.invalidate(function, llvm::PreservedAnalyses::none());
    if (has_loop_probes) {
        analyses.invalidate(function, llvm::LoopSimplifyPass().run(function, analyses));
    }
    const ProbeWriter probes(function, unit, tables);
    // Procedure probes first: those of loops that the same block holds belong inside them.
    if (has_procedure_probes) insert_procedure_probes(function, procedure->second, probes);
    if (has_loop_probes) insert_loop_probes(function, unit, probes, analyses);
    analyses.invalidate(function, llvm::PreservedAnalyses::none());
    return true;
}

void bring_slots_home(Module& module) {
    for (Function& function : module) {
        for (Instruction& instruction : llvm::instructions(function)) {
            auto* probe = llvm::dyn_cast<CallInst>(&instruction);
            if (probe == nullptr || !probe->isInlineAsm()) continue;
            const auto* text = llvm::cast<llvm::InlineAsm>(probe->getCalledOperand());
            if (StringRef(text->getAsmString()).find(kProbeMark) == StringRef::npos) continue;
            auto* slot = llvm::dyn_cast<Instruction>(probe->getArgOperand(kSlotOperand));
            probe->setArgOperand(kSlotOperand, slot_before(probe));
            if (slot != nullptr && slot->use_empty()) slot->eraseFromParent();
        }
    }
}

}  // namespace dwell
