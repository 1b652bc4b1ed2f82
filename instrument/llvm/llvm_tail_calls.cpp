// Predicts which calls LLVM's code generator turns into jumps; see llvm_tail_calls.h.
#include "instrument/llvm/llvm_tail_calls.h"

#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using llvm::Attribute;
using llvm::BasicBlock;
using llvm::CallInst;
using llvm::Function;
using llvm::Instruction;
using llvm::ReturnInst;
using llvm::Type;
using llvm::Value;

namespace dwell {
namespace {

// Instructions that may stand between a call and the return without preventing a jump.
bool is_transparent(const Instruction& instruction) {
    return instruction.isDebugOrPseudoInst() || instruction.isLifetimeStartOrEnd();
}

Instruction* before(Instruction* at) {
    do {
        at = at->getPrevNode();
    } while (at != nullptr && is_transparent(*at));
    return at;
}

// System V ABI 3.2.3: six general and eight vector registers. Arguments in memory are excluded:
// they fit only if the caller has as many.
bool passes_all_in_registers(const CallInst& call) {
    unsigned general = 0;
    unsigned vector = 0;
    for (unsigned i = 0; i < call.arg_size(); ++i) {
        for (const auto kind : {Attribute::ByVal, Attribute::StructRet, Attribute::InAlloca,
                                Attribute::Preallocated, Attribute::SwiftError, Attribute::Nest}) {
            if (call.paramHasAttr(i, kind)) return false;
        }
        Type* type = call.getArgOperand(i)->getType();
        if (type->isPointerTy() || (type->isIntegerTy() && type->getIntegerBitWidth() <= 64)) {
            ++general;
        } else if (type->isIntegerTy(128)) {
            general += 2;
        } else if (type->isFloatTy() || type->isDoubleTy() ||
                   (type->isVectorTy() && type->getPrimitiveSizeInBits().getFixedSize() <= 128)) {
            ++vector;
        } else {
            return false;
        }
    }
    return general <= 6 && vector <= 8;
}

bool has_struct_return(const Function& function) {
    return llvm::any_of(function.args(),
                        [](const llvm::Argument& argument) { return argument.hasStructRetAttr(); });
}

bool extends_alike(const Function& caller, const CallInst& call) {
    for (const auto kind : {Attribute::ZExt, Attribute::SExt}) {
        if (caller.hasRetAttribute(kind) != call.hasRetAttr(kind)) return false;
    }
    return true;
}

// After X86TargetLowering::IsEligibleForTailCallOptimization. A wrong answer costs either the jump,
// or the callee's time is attributed to its caller.
bool becomes_jump(const CallInst& call) {
    if (call.isMustTailCall()) return true;
    const Function& caller = *call.getFunction();
    if (!call.isTailCall() || call.isInlineAsm() || llvm::isa<llvm::IntrinsicInst>(call) ||
        caller.hasOptNone() || call.getCallingConv() != caller.getCallingConv() ||
        caller.getFnAttribute("disable-tail-calls").getValueAsBool() ||
        caller.hasFnAttribute(Attribute::ReturnsTwice) || has_struct_return(caller)) {
        return false;
    }
    return extends_alike(caller, call) && passes_all_in_registers(call);
}

bool returns_result_of(const CallInst& call, const Value* returned) {
    return returned == nullptr || returned == &call || llvm::isa<llvm::UndefValue>(returned);
}

// Whether the block contains only a return of a merged value or of nothing.
bool only_returns(const BasicBlock& block, const ReturnInst& end) {
    for (const Instruction& instruction : block) {
        if (&instruction == &end) break;
        if (!is_transparent(instruction) && &instruction != end.getReturnValue()) return false;
        if (!is_transparent(instruction) && !llvm::isa<llvm::PHINode>(instruction)) return false;
    }
    return true;
}

Value* returned_from(const ReturnInst& end, BasicBlock& from) {
    auto* merged = llvm::dyn_cast_or_null<llvm::PHINode>(end.getReturnValue());
    if (merged == nullptr || merged->getParent() != end.getParent()) return end.getReturnValue();
    return merged->getIncomingValueForBlock(&from);
}

}  // namespace

void split_tail_calls(Function& function) {
    llvm::SmallVector<ReturnInst*, 4> ends;
    for (BasicBlock& block : function) {
        auto* end = llvm::dyn_cast<ReturnInst>(block.getTerminator());
        if (end != nullptr && only_returns(block, *end)) ends.push_back(end);
    }
    for (ReturnInst* end : ends) {
        BasicBlock* shared = end->getParent();
        const llvm::SmallVector<BasicBlock*, 8> ways(llvm::predecessors(shared));
        for (BasicBlock* way : ways) {
            auto* branch = llvm::dyn_cast<llvm::BranchInst>(way->getTerminator());
            if (branch == nullptr || branch->isConditional()) continue;
            auto* call = llvm::dyn_cast_or_null<CallInst>(before(branch));
            if (call == nullptr || !becomes_jump(*call)) continue;
            if (returns_result_of(*call, returned_from(*end, *way))) {
                llvm::FoldReturnIntoUncondBranch(end, shared, way);
            }
        }
        if (shared != &function.getEntryBlock() && llvm::pred_empty(shared)) {
            llvm::DeleteDeadBlock(shared);
        }
    }
}

CallInst* tail_call_before(ReturnInst& end) {
    Instruction* last = before(&end);
    if (last != nullptr && llvm::isa<llvm::BitCastInst>(last)) last = before(last);  // musttail
    auto* call = llvm::dyn_cast_or_null<CallInst>(last);
    if (call == nullptr || !becomes_jump(*call)) return nullptr;
    if (!call->isMustTailCall() && !returns_result_of(*call, end.getReturnValue())) return nullptr;
    return call;
}

}  // namespace dwell
