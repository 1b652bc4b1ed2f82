// What this floor asks of the rooms above it, without knowing them: each room that keeps something
// for a thread hears when that begins, ends or is reset. lifecycle/services.cpp lists the rooms.
#ifndef DWELL_RUNTIME_PROCESS_HOOKS_H_
#define DWELL_RUNTIME_PROCESS_HOOKS_H_

#include <span>

#include "runtime/process/state.h"

namespace dwell {

// What a room does for a thread, which is the calling one; null: nothing.
struct ThreadService {
    // The thread begins. Its state is zeroed, or what an ended thread left; nothing records yet.
    void (*start)(Thread* thread) = nullptr;
    // It records from here on. False: a signal handler may have interrupted an allocation.
    void (*started)(Thread* thread, bool may_allocate) = nullptr;
    // It ends, and may still record what is left to be told.
    void (*ending)(Thread* thread) = nullptr;
    // It ended at the real time `now`.
    void (*end)(Thread* thread, uint64_t now) = nullptr;
    // MPI_Pcontrol(2): what was counted before the real time `since` is forgotten.
    void (*reset)(Thread* thread, uint64_t since) = nullptr;
    // A module was unloaded: its addresses may be another one's from now on.
    void (*forget_modules)(Thread* thread) = nullptr;
};

// Set before the first thread is attached. Each hook is called in this order.
extern std::span<const ThreadService> g_thread_services __attribute__((visibility("hidden")));

template <typename Hook, typename... Arguments>
void tell_services(Hook ThreadService::*hook, Thread* thread, Arguments... arguments) {
    for (const ThreadService& service : g_thread_services) {
        if (service.*hook != nullptr) (service.*hook)(thread, arguments...);
    }
}

// How a process comes to be observed by what it does beside MPI: defined in lifecycle/attach.cpp.
// No pointers, because an instrumented library may ask before any constructor of dwell's has run.

// True when modules that register are to be watched: the process is observed or may come to be.
bool probes_wanted();
// The thread of a process that has instrumented modules and meets its first probe; null when it is
// not to be observed.
Thread* attach_for_probe();

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_HOOKS_H_
