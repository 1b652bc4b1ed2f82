// Finds calls in tail position: the leave probe of a procedure comes before them, because otherwise
// they could not become jumps.
#ifndef DWELL_INSTRUMENT_LLVM_LLVM_TAIL_CALLS_H_
#define DWELL_INSTRUMENT_LLVM_LLVM_TAIL_CALLS_H_

#include "llvm/IR/Instructions.h"

namespace dwell {

// Gives each call that could become a jump a return of its own, where several paths lead to a
// common return. The code generator would do this later, but the leave probe before the return
// would prevent it.
void split_tail_calls(llvm::Function& function);

// The call before `end` that the code generator will turn into a jump, or null.
llvm::CallInst* tail_call_before(llvm::ReturnInst& end);

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_LLVM_LLVM_TAIL_CALLS_H_
