// Calls in tail position: the probe that leaves a procedure comes before them, or they would stop
// being jumps.
#ifndef DWELL_INSTRUMENT_LLVM_LLVM_TAIL_CALLS_H_
#define DWELL_INSTRUMENT_LLVM_LLVM_TAIL_CALLS_H_

#include "llvm/IR/Instructions.h"

namespace dwell {

// Gives calls that several ways to a common return could turn into jumps a return of their own, as
// the code generator would do later, if nothing stood before the return.
void split_tail_calls(llvm::Function& function);

// The call before `end` that the code generator will turn into a jump, or null.
llvm::CallInst* tail_call_before(llvm::ReturnInst& end);

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_LLVM_LLVM_TAIL_CALLS_H_
