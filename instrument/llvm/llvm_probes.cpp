// Builds the probes' asm calls and inserts them into LLVM's code; see llvm_probes.h.
#include "instrument/llvm/llvm_probes.h"

#include <string>

#include "instrument/llvm/llvm_loop_shape.h"
#include "instrument/llvm/llvm_tail_calls.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
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

// Text that only probes contain.
constexpr const char* kProbeMark = ":c}(%rip), %r11\n\tleaq $";
// The texts around the code that a probe runs when its site is enabled.
constexpr const char* kTestOfLevel = "cmpb";
constexpr const char* kSkip = "\n\tje 1f\n\t";
constexpr const char* kEnd = "\n1:";
// The operand of a probe that names the frame; the level follows, if the probe tests one.
constexpr unsigned kSlotOperand = 0;
constexpr unsigned kLevelOperand = 2;
constexpr uint32_t kUnlikely = 2000;  // weight against 1
// The greatest cost of computing a loop's iterations at its exits; above it, counting is cheaper.
constexpr unsigned kCheapCount = 4;

// The address of the return address. As a memory operand of a probe in the same block it needs no
// instruction of its own.
CallInst* slot_before(Instruction* at) {
    llvm::IRBuilder<> build(at);
    return build.CreateIntrinsic(llvm::Intrinsic::addressofreturnaddress,
                                 {Type::getInt8PtrTy(at->getContext())}, {});
}

StringRef text_of(const CallInst& assembly) {
    return llvm::cast<llvm::InlineAsm>(assembly.getCalledOperand())->getAsmString();
}

class ProbeWriter {
  public:
    ProbeWriter(Function& function, const LlvmUnit& unit, const LlvmTables& tables)
        : unit_(unit), tables_(tables), context_(function.getContext()) {}

    void place(EntryPoint entry, int row, Instruction* at) const { write(entry, row, at, nullptr); }
    void place(EntryPoint entry, int row, Instruction* at, Value* number) const {
        write(entry, row, at, number);
    }

    // The address that the probe before a loop returns, if the loop counts in memory.
    Value* place_counting(int row, Instruction* at) const {
        return write(kLoopEnterCountingPoint, row, at, nullptr, /*by_level=*/true,
                     /*gives_address=*/true);
    }

    // Counts at that address, at the beginning of the body.
    void place_count(Value* address, Instruction* at) const {
        auto* type =
            llvm::FunctionType::get(Type::getVoidTy(context_), {address->getType()}, false);
        llvm::IRBuilder<> build(at);
        build.SetCurrentDebugLocation(llvm::DebugLoc());
        touches_nothing(*build.CreateCall(
            type,
            llvm::InlineAsm::get(type, "testq $0, $0\n\tje 1f\n\taddq $$1, ($0)\n1:",
                                 "r,~{dirflag},~{fpsr},~{flags}", /*hasSideEffects=*/true),
            {address}));
    }

    // Not disabled with the site: the library must learn that other frames are gone, and that two
    // processes share one memory.
    void place_landed(int row, Instruction* at) const {
        write(kLandedPoint, row, at, nullptr, /*by_level=*/false);
    }
    void place_vforked(int row, Instruction* at, Value* result) const {
        llvm::IRBuilder<> build(at);
        write(kVforkedPoint, row, at, build.CreateSExtOrTrunc(result, build.getInt64Ty()),
              /*by_level=*/false);
    }

  private:
    CallInst* write(EntryPoint entry, int row, Instruction* at, Value* number, bool by_level = true,
                    bool gives_address = false) const {
        CallInst* slot = slot_before(at);
        std::vector<Value*> operands{slot, row_address(tables_, row)};
        std::string constraints = gives_address ? "=r,*m,i" : "*m,i";
        // In the text, operand numbers include the output.
        const auto text_number = [gives_address](size_t operand) {
            return std::to_string(operand + (gives_address ? 1 : 0));
        };
        const auto add_constant = [&](llvm::Constant* address) {
            operands.push_back(address);
            constraints += ",i";
            return "${" + text_number(operands.size() - 1) + ":c}(%rip)";
        };
        std::string tested;
        if (by_level) {
            const LlvmRow& site = unit_.rows[static_cast<size_t>(row)];
            tested = add_constant(level_address(tables_, site.level));
        }
        const std::string link = add_constant(link_address(tables_, entry));
        std::string text = std::string(by_level ? kTestOfLevel : "cmpq") + " $$0, " +
                           (by_level ? tested : link) + kSkip + "leaq ${" + text_number(1) +
                           ":c}(%rip), %r11\n\tleaq $" + text_number(0) + ", %r10\n\t";
        if (number != nullptr) {
            text += "movq $" + text_number(operands.size()) + ", %r9\n\t";
            operands.push_back(number);
            constraints += ",ri,~{r9}";
        }
        text += "call *" + link;
        Type* type_of_result = Type::getVoidTy(context_);
        if (gives_address) {
            type_of_result = Type::getInt64Ty(context_);
            text += "\n\tmovq %r9, $0";
            operands.push_back(llvm::ConstantInt::get(type_of_result, 0));
            constraints += ",0,~{r9}";
        }
        text += kEnd;
        constraints += ",~{r10},~{r11},~{dirflag},~{fpsr},~{flags}";

        std::vector<Type*> types;
        for (const Value* operand : operands) types.push_back(operand->getType());
        auto* type = llvm::FunctionType::get(type_of_result, types, false);
        llvm::IRBuilder<> build(at);
        CallInst* probe = build.CreateCall(
            type, llvm::InlineAsm::get(type, text, constraints, /*hasSideEffects=*/true), operands);
        probe->addParamAttr(kSlotOperand,
                            llvm::Attribute::get(context_, llvm::Attribute::ElementType,
                                                 Type::getInt8Ty(context_)));
        touches_nothing(*probe);
        return probe;
    }

    // The library's work does not affect the compiled code: it touches no memory of the program,
    // and always returns.
    static void touches_nothing(CallInst& probe) {
        for (const auto kind :
             {llvm::Attribute::InaccessibleMemOnly, llvm::Attribute::NoUnwind,
              llvm::Attribute::WillReturn, llvm::Attribute::NoFree, llvm::Attribute::NoCallback}) {
            probe.addFnAttr(kind);
        }
    }

    const LlvmUnit& unit_;
    const LlvmTables& tables_;
    llvm::LLVMContext& context_;
};

// The places where iterations begin.
std::vector<Instruction*> body_starts(const Loop& part, const TestBlocks& tests,
                                      llvm::DominatorTree& dominators, llvm::LoopInfo& loops) {
    if (tests.empty()) return {&*part.getHeader()->getFirstInsertionPt()};
    std::vector<std::pair<BasicBlock*, BasicBlock*>> ways;
    for (BasicBlock* block : part.blocks()) {
        if (tests.count(block) == 0) continue;
        for (BasicBlock* next : llvm::successors(block)) {
            const bool goes_on = tests.count(next) != 0 && next != part.getHeader();
            if (!goes_on && !next->isEHPad() && part.contains(next)) ways.emplace_back(block, next);
        }
    }
    std::vector<Instruction*> starts;
    for (const auto& [block, next] : ways) {
        BasicBlock* begin = next->getSinglePredecessor() != nullptr
                                ? next
                                : llvm::SplitEdge(block, next, &dominators, &loops);
        starts.push_back(&*begin->getFirstInsertionPt());
    }
    return starts;
}

// The number of iterations begun, for the blocks after the loop.
class Iterations {
  public:
    // `part` is the innermost part of `loop`, `tests` are the blocks of its test before the body.
    Iterations(Loop& loop, const Loop& part, const TestBlocks& tests,
               llvm::ScalarEvolution& evolution, const llvm::TargetTransformInfo& target)
        : loop_(loop),
          part_(part),
          tests_(tests),
          type_(Type::getInt64Ty(loop.getHeader()->getContext())) {
        if (&part != &loop) return;
        const llvm::SCEV* back = evolution.getBackedgeTakenCount(&loop);
        BasicBlock* exit = loop.getExitBlock();
        if (exit == nullptr || exit->isEHPad() || loop.getExitingBlock() == nullptr ||
            llvm::isa<llvm::SCEVCouldNotCompute>(back) || !evolution.isLoopInvariant(back, &loop) ||
            evolution.getTypeSizeInBits(back->getType()) > 64) {
            return;
        }
        Instruction* at = &*exit->getFirstInsertionPt();
        const llvm::SCEV* count = evolution.getNoopOrZeroExtend(back, type_);
        if (tests.count(loop.getExitingBlock()) == 0) {
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
            const bool tested = tests_.count(before) != 0;
            merged->addIncoming(tested ? reached_ : counted_, before);
        }
        return merged;
    }

  private:
    void count() {
        std::vector<PHINode*> reached;
        for (const Loop* part = &loop_;; part = part_of_same(*part)) {
            BasicBlock* header = part->getHeader();
            reached.push_back(PHINode::Create(type_, 2, "dwell.count", &header->front()));
            if (part == &part_) break;
        }
        reached_ = reached.back();
        llvm::IRBuilder<> build(&*part_.getHeader()->getFirstInsertionPt());
        build.SetCurrentDebugLocation(llvm::DebugLoc());
        counted_ = build.CreateAdd(reached_, build.getInt64(1), "dwell.next", true, true);
        Value* outside = build.getInt64(0);
        const Loop* part = &loop_;
        for (PHINode* phi : reached) {
            for (BasicBlock* from : llvm::predecessors(part->getHeader())) {
                phi->addIncoming(part->contains(from) ? counted_ : outside, from);
            }
            outside = phi;
            if (part != &part_) part = part_of_same(*part);
        }
    }

    Loop& loop_;
    const Loop& part_;
    const TestBlocks& tests_;
    Type* type_;
    Value* known_ = nullptr;
    Value* reached_ = nullptr;  // how often the header was reached before
    Value* counted_ = nullptr;
};

bool is_vfork(const CallInst& call) {
    const StringRef name = called_name(call);
    return name == "vfork" || name == "__vfork";
}

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
            if (is_vfork(*call)) vforks.push_back(call);
        }
    }
    for (Instruction* end : ends) probes.place(kLeavePoint, row, end);
    for (CallInst* call : vforks) probes.place_vforked(row, call->getNextNode(), call);

    // The entry probe has no line: a debugger stops after it.
    Instruction* start = procedure_start(function);
    const llvm::DebugLoc line = start->getDebugLoc();
    start->setDebugLoc(llvm::DebugLoc());
    probes.place(kEnterPoint, row, start);
    start->setDebugLoc(line);
}

bool is_reached_only_from(const BasicBlock& exit, const Loop& loop) {
    return llvm::all_of(llvm::predecessors(&exit),
                        [&](const BasicBlock* before) { return loop.contains(before); });
}

// Outer loops first, so that on an edge that leaves several loops the inner ones are left first.
void insert_loop_probes(Function& function, const LlvmUnit& unit, const ProbeWriter& probes,
                        FunctionAnalysisManager& analyses) {
    auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
    auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
    const auto& target = analyses.getResult<llvm::TargetIRAnalysis>(function);
    auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
    for (Loop* loop : loops.getLoopsInPreorder()) {
        const Loop* outer = loop->getParentLoop();
        if (outer != nullptr && part_of_same(*outer) == loop) continue;
        const Loop* part = innermost_part(*loop);
        const auto found = unit.loops.find(part->getHeader());
        BasicBlock* before = loop->getLoopPreheader();
        if (found == unit.loops.end() || before == nullptr) continue;
        const TestBlocks tests = test_blocks(*part);
        llvm::SmallVector<BasicBlock*, 8> exits;
        loop->getUniqueExitBlocks(exits);
        llvm::erase_if(exits, [loop](const BasicBlock* exit) {
            return exit->isEHPad() || !is_reached_only_from(*exit, *loop);
        });
        if (unit.calling_loops.count(part->getHeader()) != 0) {
            auto* nothing = llvm::ConstantInt::get(Type::getInt64Ty(function.getContext()), 0);
            for (BasicBlock* exit : exits) {
                probes.place(kLoopLeavePoint, found->second, &*exit->getFirstInsertionPt(),
                             nothing);
            }
            Value* address = probes.place_counting(found->second, before->getTerminator());
            for (Instruction* at : body_starts(*part, tests, dominators, loops)) {
                probes.place_count(address, at);
            }
            continue;
        }
        Iterations iterations(*loop, *part, tests, evolution, target);
        for (BasicBlock* exit : exits) {
            Value* count = iterations.at_exit(*exit);
            auto at = exit->getFirstInsertionPt();
            // After the computation of the count, before the probes of outer loops.
            if (auto* computed = llvm::dyn_cast<Instruction>(count)) {
                if (computed->getParent() == exit && !llvm::isa<PHINode>(computed)) {
                    at = std::next(computed->getIterator());
                }
            }
            probes.place(kLoopLeavePoint, found->second, &*at, count);
        }
        probes.place(kLoopEnterPoint, found->second, before->getTerminator());
    }
}

// Inserts probes where an exception is caught, and after calls that may return twice. Destructors
// during unwinding get none: procedures that they enter detect the unwinding.
void insert_landed(Function& function, int procedure_row, const LlvmUnit& unit,
                   const ProbeWriter& probes, const llvm::LoopInfo& loops) {
    std::vector<std::pair<int, Instruction*>> places;
    for (BasicBlock& block : function) {
        int row = procedure_row;
        for (const Loop* loop = loops.getLoopFor(&block); loop != nullptr;
             loop = loop->getParentLoop()) {
            const auto found = unit.loops.find(loop->getHeader());
            if (found == unit.loops.end()) continue;
            row = found->second;
            break;
        }
        const llvm::LandingPadInst* pad = block.getLandingPadInst();
        if (pad != nullptr && pad->getNumClauses() != 0) {
            places.emplace_back(row, &*block.getFirstInsertionPt());
        }
        for (Instruction& instruction : block) {
            const auto* call = llvm::dyn_cast<CallInst>(&instruction);
            if (call == nullptr || !call->hasFnAttr(llvm::Attribute::ReturnsTwice)) continue;
            if (is_vfork(*call)) continue;
            places.emplace_back(row, instruction.getNextNode());
        }
    }
    for (const auto& [row, at] : places) probes.place_landed(row, at);
}

// Probes below the stack pointer would overwrite a red zone.
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
    // Procedure probes first: probes of loops in the same block must be inside them.
    if (has_procedure_probes) insert_procedure_probes(function, procedure->second, probes);
    if (has_loop_probes) insert_loop_probes(function, unit, probes, analyses);
    insert_landed(function, unit.procedure_rows.lookup(&function), unit, probes,
                  analyses.getResult<llvm::LoopAnalysis>(function));
    analyses.invalidate(function, llvm::PreservedAnalyses::none());
    return true;
}

namespace {

// Calls work() for every probe of the module.
template <typename Work>
void for_each_probe(Module& module, Work work) {
    std::vector<CallInst*> probes;
    for (Function& function : module) {
        for (Instruction& instruction : llvm::instructions(function)) {
            auto* probe = llvm::dyn_cast<CallInst>(&instruction);
            if (probe == nullptr || !probe->isInlineAsm()) continue;
            if (text_of(*probe).find(kProbeMark) != StringRef::npos) probes.push_back(probe);
        }
    }
    for (CallInst* probe : probes) work(*probe);
}

// Allocations after the first split of the first block would no longer be part of the frame.
void keep_in_frame(CallInst& probe) {
    for (auto at = probe.getIterator(); at != probe.getParent()->end();) {
        auto* allocation = llvm::dyn_cast<llvm::AllocaInst>(&*at++);
        if (allocation != nullptr && allocation->isStaticAlloca()) allocation->moveBefore(&probe);
    }
}

void move_body(CallInst& probe) {
    auto* text = llvm::cast<llvm::InlineAsm>(probe.getCalledOperand());
    const auto [test, body] = text_of(probe).split(kSkip);
    if (body.empty() || !test.startswith(kTestOfLevel)) return;
    if (probe.getParent()->isEntryBlock()) keep_in_frame(probe);
    llvm::IRBuilder<> build(&probe);
    // Volatile, so that no test replaces another.
    llvm::LoadInst* level = build.CreateAlignedLoad(
        build.getInt8Ty(), probe.getArgOperand(kLevelOperand), llvm::Align(1), /*isVolatile=*/true);
    level->setMetadata("nosanitize", llvm::MDNode::get(probe.getContext(), llvm::None));
    Instruction* end = llvm::SplitBlockAndInsertIfThen(
        build.CreateICmpNE(level, build.getInt8(0)), &probe, /*Unreachable=*/false,
        llvm::MDBuilder(probe.getContext()).createBranchWeights(1, kUnlikely));
    BasicBlock* skipped = end->getParent()->getSinglePredecessor();
    if (!probe.getType()->isVoidTy()) {
        BasicBlock* join = end->getSuccessor(0);
        PHINode* merged = PHINode::Create(probe.getType(), 2, "dwell.address", &join->front());
        probe.replaceAllUsesWith(merged);
        merged->addIncoming(&probe, end->getParent());
        merged->addIncoming(llvm::ConstantInt::get(probe.getType(), 0), skipped);
    }
    probe.moveBefore(end);
    probe.setCalledOperand(llvm::InlineAsm::get(probe.getFunctionType(),
                                                body.drop_back(StringRef(kEnd).size()),
                                                text->getConstraintString(),
                                                /*hasSideEffects=*/true));
}

}  // namespace

void move_bodies_away(Module& module) { for_each_probe(module, move_body); }

void bring_slots_home(Module& module) {
    for_each_probe(module, [](CallInst& probe) {
        auto* slot = llvm::dyn_cast<Instruction>(probe.getArgOperand(kSlotOperand));
        probe.setArgOperand(kSlotOperand, slot_before(&probe));
        if (slot != nullptr && slot->use_empty()) slot->eraseFromParent();
    });
}

}  // namespace dwell
