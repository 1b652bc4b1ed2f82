// Notes in the thread's record which OpenMP lock or critical section it waits for and which it
// holds, for `dwell where`. Plain stores, at most some ten instructions a step.
#ifndef DWELL_RUNTIME_OPENMP_LOCK_HOLDERS_H_
#define DWELL_RUNTIME_OPENMP_LOCK_HOLDERS_H_

#include "runtime/contract/omp_constructs.h"
#include "runtime/events/events.h"
#include "runtime/process/state.h"

namespace dwell {

// `what`: the same for all threads that want it; `place`: return address of the statement.
inline void want_lock(OmpConstruct construct, uint64_t what, uint64_t place) {
    const Thread* const thread = t_thread;
    if (thread == nullptr) return;
    WantedLock* const wanted = &thread->record->wanted;
    wanted->place = place;
    wanted->construct = static_cast<uint32_t>(construct);
    __atomic_store_n(&wanted->what, what, __ATOMIC_RELEASE);
}

// `holds`: its release will be noticed.
inline void take_lock(uint64_t what, bool holds) {
    Thread* const thread = t_thread;
    if (thread == nullptr) return;
    ThreadRecord* const record = thread->record;
    record->wanted.what = 0;
    if (!holds) return;
    note_lock(thread, EventControl::kLocked, what);
    for (HeldLock& held : record->held) {
        if (held.what != 0) continue;
        held.place = record->wanted.place;
        __atomic_store_n(&held.what, what, __ATOMIC_RELEASE);
        return;
    }
}

// Before others can take it.
inline void give_back_lock(uint64_t what) {
    Thread* const thread = t_thread;
    if (thread == nullptr) return;
    note_lock(thread, EventControl::kUnlocked, what);
    for (HeldLock& held : thread->record->held) {
        if (held.what != what) continue;
        __atomic_store_n(&held.what, 0, __ATOMIC_RELEASE);
        return;
    }
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_OPENMP_LOCK_HOLDERS_H_
