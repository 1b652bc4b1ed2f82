// Walks along the calling thread's stack with libunwind: what takes microseconds, where a path is
// not known yet (callpath.h).
#ifndef DWELL_RUNTIME_CALLTREE_STACK_WALKS_H_
#define DWELL_RUNTIME_CALLTREE_STACK_WALKS_H_

#include "runtime/process/state.h"

namespace dwell {

// What a function compiled with a frame pointer finds at it (x86-64 psABI 3.2.2).
struct Frame {
    uint64_t caller_frame_pointer;
    uint64_t return_address;
    uint64_t stack_pointer() const { return reinterpret_cast<uint64_t>(this + 1); }
};
#define DWELL_FRAME() static_cast<const ::dwell::Frame*>(__builtin_frame_address(0))

// A word of the program's stack, also where a sanitizer watches the borders of its variables.
__attribute__((no_sanitize("address"))) inline uint64_t stack_word(uint64_t address) {
    return *reinterpret_cast<const uint64_t*>(address);
}

// Loads libunwind; without it paths have depth 1. Called once, before the first look-up.
bool load_unwinder();

bool can_unwind();

constexpr int kMaxFrames = 1024;  // deeper paths keep their innermost frames

// The return addresses on the stack, dwell's own included; how many. Slow.
int return_addresses(uint64_t* addresses, int most);

// Where the return address stands of the procedure that called the function of `frame`; 0 when it
// cannot be told. Slow.
uint64_t caller_frame(const Frame* frame);

// The innermost return address on the stack of which `is_skipped` is false, if it belongs to a
// procedure whose frame lies below `limit`; else 0. Slow.
uint64_t innermost_return_address(bool (*is_skipped)(uint64_t at), uint64_t limit);

// How many frames lie from the caller of `frame` out to the procedure whose return address stands
// at `probe_frame_at`, both counted; 0 when it is not met.
int frames_to(const Frame* frame, uint64_t probe_frame_at);
// The same for all that lie below `limit`, whole; -1 when that is not met.
int frames_within(const Frame* frame, uint64_t limit);

// The stack slots that prove a path: as long as they hold the same, it is this one.
struct PathProof {
    ReturnAddressCheck slot[kReturnAddressChecks];
    int slots = 0;
    bool check_frame_pointer = false;
};
// Of the `frames` frames from the caller of `frame` outwards. False: this path cannot be remembered
// by its slots.
bool take_slots(PathProof* proof, const Frame* frame, int frames);

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLTREE_STACK_WALKS_H_
