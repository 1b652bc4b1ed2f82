// Entry points of Fortran, for calls that do not reach C's wrappers. Open MPI's Fortran functions
// call C's PMPI_ functions, with two exceptions: those that complete several requests return at
// once where the count is 0 (ompi/mpi/fortran/mpif-h/waitall_f.c and similar, 4.0 to 5.0), and
// those that take procedures for attributes and errors do not call C. mpi_fortran.py generates
// entry points for both; calls with requests are passed on, calls without are recorded. Threads and
// signals: as the wrappers.
#ifndef DWELL_RUNTIME_WRAPPERS_FORTRAN_ENTRIES_H_
#define DWELL_RUNTIME_WRAPPERS_FORTRAN_ENTRIES_H_

#include "runtime/calls/user_code.h"
#include "runtime/wrappers/mpi_semantics.h"

namespace dwell {

// The function that the program would have called without dwell; looked up once.
template <typename Function>
inline Function fortran_next(void** found, const char* symbol) {
    void* next = __atomic_load_n(found, __ATOMIC_RELAXED);
    if (next == nullptr) [[unlikely]] {
        next = find_next_in_fortran(symbol);
        __atomic_store_n(found, next, __ATOMIC_RELAXED);
    }
    return reinterpret_cast<Function>(next);
}

// A call that completes nothing, in which MPI makes no progress. As in C it has no event.
template <typename Next>
DWELL_COLD void complete_nothing(const Frame* frame, MpiCall number, Next next) {
    Call call;
    if (!enter(&call, number, frame, kMpiForm)) return next();
    start(&call);
    leave_progress(&call);
    next();
    stop(&call);
    call.histogram->event_ticks[kSendReady] += call.ticks;
    leave(&call);
}

// A call that passes procedures of the program to MPI; `next` makes the call with the stand-in of
// of_program() for each procedure.
template <typename Next>
DWELL_COLD void give_procedures(const Frame* frame, MpiCall number, const MPI_Fint* error,
                                Next next) {
    Call call;
    if (!enter(&call, number, frame, kMpiForm)) return next(in_passed_code<void>);
    start(&call);
    next(in_user_code<void>);
    stop(&call);
    if (*error == MPI_SUCCESS) {
        record_plain(&call, 0);
    } else {
        record_failed(&call);
    }
    leave(&call);
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_WRAPPERS_FORTRAN_ENTRIES_H_
