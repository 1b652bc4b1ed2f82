// Functions of the program that MPI calls back, in C and Fortran: reduction operations, attribute
// copy and delete functions, error handlers, functions of generalized requests and data
// representations.
//
// MPI calls and probes in these functions are recorded as anywhere else; their time is computation
// and no part of the surrounding call (user_code.cpp). MPI gets a stand-in function for each
// function of the program, which shows when it runs.
#ifndef DWELL_RUNTIME_CALLS_USER_CODE_H_
#define DWELL_RUNTIME_CALLS_USER_CODE_H_

#include "runtime/process/state.h"

namespace dwell {

// The stand-in to pass to MPI for `function`. Returns `function` itself where it is MPI's own or
// null, or where all stand-ins are taken; its time then belongs to the calls around it. Slow the
// first time. Any thread.
DWELL_COLD void* stand_in(void* function);

template <typename Function>
Function* in_user_code(Function* function) {
    return reinterpret_cast<Function*>(stand_in(reinterpret_cast<void*>(function)));
}
// Likewise in a call that is not recorded. A call that MPI makes inside another call keeps the
// function.
template <typename Function>
Function* in_passed_code(Function* function) {
    const bool nested = t_thread != nullptr && t_thread->open != nullptr;
    return nested ? function : in_user_code(function);
}

// Called with the first argument of user code that has returned an error; null: not called.
extern void (*g_after_failed_code)(uintptr_t) __attribute__((visibility("hidden")));

// The thread is in user code: ends user code that was left by a throw or a jump, as the stack at
// `frame` shows, and the calls around it.
DWELL_COLD void drop_left_user_code(Thread* thread, uint64_t frame);

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLS_USER_CODE_H_
