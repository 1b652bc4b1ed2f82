// Walks the calling thread's stack with libunwind. Takes microseconds, for paths not known yet
// (callpath.h).
#ifndef DWELL_RUNTIME_CALLTREE_STACK_WALKS_H_
#define DWELL_RUNTIME_CALLTREE_STACK_WALKS_H_

#include "runtime/process/state.h"

namespace dwell {

// The two words at a frame pointer (x86-64 psABI 3.2.2).
struct Frame {
    uint64_t caller_frame_pointer;
    uint64_t return_address;
    uint64_t stack_pointer() const { return reinterpret_cast<uint64_t>(this + 1); }
};
#define DWELL_FRAME() static_cast<const ::dwell::Frame*>(__builtin_frame_address(0))

// Reads a word of the program's stack, also where a sanitizer guards its variables.
__attribute__((no_sanitize("address"))) inline uint64_t stack_word(uint64_t address) {
    return *reinterpret_cast<const uint64_t*>(address);
}

// Loads libunwind; without it paths have depth 1. Called once, before the first look-up.
bool load_unwinder();

bool can_unwind();

constexpr int kMaxFrames = 1024;  // deeper paths keep their innermost frames

// Stores the return addresses on the stack, dwell's own included, and returns their number. Slow.
int return_addresses(uint64_t* addresses, int most);

// Stack address of the return address of the procedure that called the function of `frame`; 0 when
// unknown. Slow.
uint64_t caller_frame(const Frame* frame);

// The innermost return address for which `is_skipped` is false, if its procedure's frame lies below
// `limit`; else 0. Slow.
uint64_t innermost_return_address(bool (*is_skipped)(uint64_t at), uint64_t limit);

// Number of frames from the caller of `frame` out to the procedure whose return address is stored
// at `probe_frame_at`, both included; 0 when the walk does not reach it.
int frames_to(const Frame* frame, uint64_t probe_frame_at);
// Number of frames that lie entirely below `limit`; -1 when the walk does not reach it.
int frames_within(const Frame* frame, uint64_t limit);

// Stack slots that verify a path: unchanged slots mean the same path.
struct PathProof {
    ReturnAddressCheck slot[kReturnAddressChecks];
    int slots = 0;
    bool check_frame_pointer = false;
};
// Records the slots of `frames` frames from the caller of `frame` outwards. False: this path cannot
// be verified by stack slots.
bool take_slots(PathProof* proof, const Frame* frame, int frames);

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLTREE_STACK_WALKS_H_
