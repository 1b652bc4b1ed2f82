// Callbacks into rooms on higher floors. A room that keeps state for a thread registers what to do
// when a thread begins, ends or is reset; lifecycle/services.cpp lists these rooms.
#ifndef DWELL_RUNTIME_PROCESS_HOOKS_H_
#define DWELL_RUNTIME_PROCESS_HOOKS_H_

#include <span>

#include "runtime/process/state.h"

namespace dwell {

// A room's callbacks for the calling thread; null: nothing to do.
struct ThreadService {
    // The thread begins. Its state is zeroed, or as an ended thread left it; nothing is recorded
    // yet.
    void (*start)(Thread* thread) = nullptr;
    // Recording begins. `may_allocate` is false where a signal handler may have interrupted an
    // allocation.
    void (*started)(Thread* thread, bool may_allocate) = nullptr;
    // The thread is about to end, and may still record what is pending.
    void (*ending)(Thread* thread) = nullptr;
    // The thread ended at the real time `now`.
    void (*end)(Thread* thread, uint64_t now) = nullptr;
    // MPI_Pcontrol(2): everything counted before the real time `since` is discarded.
    void (*reset)(Thread* thread, uint64_t since) = nullptr;
    // Something that LivePage::epoch counts has changed.
    void (*changed)(Thread* thread) = nullptr;
    // A module was unloaded: another module may be loaded at its addresses.
    void (*forget_modules)(Thread* thread) = nullptr;
};

// Set before the first thread is attached. Callbacks run in the order of this list.
extern std::span<const ThreadService> g_thread_services __attribute__((visibility("hidden")));

template <typename Hook, typename... Arguments>
void call_services(Hook ThreadService::*hook, Thread* thread, Arguments... arguments) {
    for (const ThreadService& service : g_thread_services) {
        if (service.*hook != nullptr) (service.*hook)(thread, arguments...);
    }
}

// Attaching a process at its first probe, defined in lifecycle/attach.cpp. These are functions and
// not pointers, because an instrumented library may call them before dwell's constructors have run.

// True when registered modules are to be watched: the process is observed or may become so.
bool probes_wanted();
// The calling thread, which reached its first probe; null when it is not to be observed.
Thread* attach_for_probe();

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_HOOKS_H_
