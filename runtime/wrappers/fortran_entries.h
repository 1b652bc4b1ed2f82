// Calls of Fortran that do not reach the wrappers. Fortran arrives at them because Open MPI's
// Fortran entry points call the PMPI_ functions of C; but those that complete several requests
// return at once where the count is 0 (ompi/mpi/fortran/mpif-h/waitall_f.c and its kin, 4.0
// to 5.0), and those that give MPI procedures for attributes and errors have no function of C
// below them. So entries that mpi_fortran.py makes stand before these: of the first what has
// requests is passed on, what has none is recorded. Threads and signals: as the wrappers.
#ifndef DWELL_RUNTIME_WRAPPERS_FORTRAN_ENTRIES_H_
#define DWELL_RUNTIME_WRAPPERS_FORTRAN_ENTRIES_H_

#include "runtime/calls/user_code.h"
#include "runtime/wrappers/mpi_semantics.h"

namespace dwell {

// What the program would have called without dwell; found once.
template <typename Function>
inline Function fortran_next(void** found, const char* symbol) {
    void* next = __atomic_load_n(found, __ATOMIC_RELAXED);
    if (next == nullptr) [[unlikely]] {
        next = find_next_in_fortran(symbol);
        __atomic_store_n(found, next, __ATOMIC_RELAXED);
    }
    return reinterpret_cast<Function>(next);
}

// A call that completes nothing, in which MPI makes no progress. Like that of C it has no event.
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

// A call that gives MPI procedures of the program; `next` makes it with what of_program() makes of
// each of them.
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
