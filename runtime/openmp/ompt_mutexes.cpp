// Callbacks for locks, critical and ordered sections and atomic operations.
#include "runtime/openmp/ompt_mutexes.h"

#include <unistd.h>

#include <atomic>
#include <iterator>

#include "runtime/openmp/lock_holders.h"
#include "runtime/openmp/omp_adapter.h"
#include "runtime/openmp/ompt_places.h"

namespace dwell {
namespace {

// A try takes no time: where it is reported as such it is no construct.
OmpConstruct construct_of_mutex(ompt_mutex_t kind) {
    using enum OmpConstruct;
    constexpr OmpConstruct kOfMutex[] = {kNone, kLock,     kNone,   kNestLock,
                                         kNone, kCritical, kAtomic, kOrdered};
    static_assert(ompt_mutex_lock == 1 && ompt_mutex_ordered == 7);
    return static_cast<unsigned>(kind) < std::size(kOfMutex) ? kOfMutex[kind] : kNone;
}
bool is_lock(OmpConstruct construct) {
    return construct == OmpConstruct::kLock || construct == OmpConstruct::kNestLock;
}

// Where libomp has cleared the address (reported_place), it reports a return address inside its own
// functions.
uint64_t place_of_mutex(const void* codeptr) {
    const bool in_runtime = is_in_runtime(address(codeptr));
    const uint64_t at = reported_place(in_runtime ? nullptr : codeptr);
    return at != 0 ? at : address(codeptr);
}

void mutex_acquire(ompt_mutex_t kind, unsigned, unsigned, ompt_wait_id_t mutex,
                   const void* codeptr) {
    const OmpConstruct construct = construct_of_mutex(kind);
    if (construct == OmpConstruct::kNone) return;
    const uint64_t place = place_of_mutex(codeptr);
    // Outside of what is timed.
    if (is_lock(construct)) {
        omp_lock_requested(construct, place);
        want_lock(construct, mutex, place);
    } else {
        want_lock(construct, mutex, place);
        omp_begin(construct, place);
    }
}

// At the end of a critical section libomp (14 to 19, kmp_csupport.cpp, __kmpc_end_critical) reads
// data of its thread 0, and crashes where that thread has ended. Thread 0 is the one that started
// libomp. So these ends are observed only where it is the process's first thread, which does not
// end before the process, and no longer when it leaves by pthread_exit().
std::atomic<bool> g_releases_are_observed{false};
bool is_first_thread() { return gettid() == getpid(); }

bool is_held() {
    if (g_releases_are_observed.load(std::memory_order_relaxed)) return true;
    uint32_t* const flags = &g_process.header->flags;
    if ((__atomic_load_n(flags, __ATOMIC_RELAXED) & kFileNoHolds) == 0) {
        __atomic_fetch_or(flags, uint32_t{kFileNoHolds}, __ATOMIC_RELAXED);
    }
    return false;
}

void mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t mutex, const void*) {
    const OmpConstruct construct = construct_of_mutex(kind);
    if (construct == OmpConstruct::kNone) return;
    if (is_lock(construct)) {
        omp_lock_acquired(construct);
    } else {
        omp_acquired(construct, is_held());
    }
    take_lock(mutex, g_releases_are_observed.load(std::memory_order_relaxed));
}
void mutex_released(ompt_mutex_t kind, ompt_wait_id_t mutex, const void*) {
    const OmpConstruct construct = construct_of_mutex(kind);
    if (construct != OmpConstruct::kNone) give_back_lock(mutex);
    if (construct != OmpConstruct::kNone && !is_lock(construct)) omp_end(construct);
}
// The thread acquires a lock that it already holds.
void nest_lock(ompt_scope_endpoint_t endpoint, ompt_wait_id_t, const void*) {
    if (endpoint == ompt_scope_begin) omp_lock_acquired(OmpConstruct::kNestLock);
}

}  // namespace

void register_mutex_callbacks(ompt_set_callback_t set) {
    const auto on = [set](ompt_callbacks_t event, auto* callback) {
        set(event, reinterpret_cast<ompt_callback_t>(callback));
    };
    on(ompt_callback_mutex_acquire, mutex_acquire);
    on(ompt_callback_mutex_acquired, mutex_acquired);
    if (is_first_thread()) {
        g_releases_are_observed.store(true);
        on(ompt_callback_mutex_released, mutex_released);
    }
    on(ompt_callback_nest_lock, nest_lock);
}

void end_mutexes_of_thread(ompt_set_callback_t set) {
    if (is_first_thread() && g_releases_are_observed.exchange(false)) {
        set(ompt_callback_mutex_released, nullptr);
    }
}

}  // namespace dwell
