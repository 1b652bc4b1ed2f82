// Functions of the program that MPI calls back, in C and Fortran: reduction operations, copy and
// delete functions of attributes, error handlers, functions of generalized requests and data
// representations.
//
// They are the program's: what they call of MPI and what probes stand in them counts like anywhere
// else, their time is computation, and none of it the surrounding call's (user_code.cpp). To see
// when one runs, MPI gets another function in its place, one for each function of the program.
#ifndef DWELL_RUNTIME_CALLS_USER_CODE_H_
#define DWELL_RUNTIME_CALLS_USER_CODE_H_

#include "runtime/process/state.h"

namespace dwell {

// What to give to MPI in the place of `function`: that itself where it is MPI's own or null, or
// where there have been too many others, which then are left with the calls around them. Slow the
// first time. Any thread.
DWELL_COLD void* stand_in(void* function);

template <typename Function>
Function* in_user_code(Function* function) {
    return reinterpret_cast<Function*>(stand_in(reinterpret_cast<void*>(function)));
}
// The same in a call that is not recorded: one that MPI itself makes, in another one, is for
// itself.
template <typename Function>
Function* in_passed_code(Function* function) {
    const bool nested = t_thread != nullptr && t_thread->open != nullptr;
    return nested ? function : in_user_code(function);
}

// Called with the first argument of user code that has returned an error, if not null.
extern void (*g_after_failed_code)(uintptr_t) __attribute__((visibility("hidden")));

// The thread is in user code: those that were left by a throw or a jump, as what stands at `frame`
// proves, are over, and so are the calls around them.
DWELL_COLD void drop_left_user_code(Thread* thread, uint64_t frame);

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLS_USER_CODE_H_
