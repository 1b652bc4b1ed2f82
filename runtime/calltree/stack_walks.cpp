// Stack walks with libunwind.
#include "runtime/calltree/stack_walks.h"

#include <dlfcn.h>
#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "runtime/process/find_symbol.h"

namespace dwell {

namespace {

// libunwind, opened outside of the program's symbol resolution (DESIGN 2).
struct Unwinder {
    int (*backtrace)(void**, int);
    int (*init_local)(unw_cursor_t*, unw_context_t*);
    int (*step)(unw_cursor_t*);
    int (*get_reg)(unw_cursor_t*, unw_regnum_t, unw_word_t*);
    int (*get_save_loc)(unw_cursor_t*, int, unw_save_loc_t*);
    int (*get_context)(unw_context_t*);
    int (*is_signal_frame)(unw_cursor_t*);
    bool usable;
};
Unwinder g_unwinder;

// Like unw_backtrace, but without libunwind's per-thread cache: libunwind takes a mutex to free
// that cache at thread end, which crashes in the thread sanitizer.
int backtrace_by_steps(void** buffer, int most) {
    unw_context_t context;
    unw_cursor_t cursor;
    if (g_unwinder.get_context(&context) != 0 || g_unwinder.init_local(&cursor, &context) != 0) {
        return 0;
    }
    int found = 0;
    while (found < most && g_unwinder.step(&cursor) > 0) {
        unw_word_t address = 0;
        if (g_unwinder.get_reg(&cursor, UNW_REG_IP, &address) != 0) break;
        buffer[found++] = reinterpret_cast<void*>(address);
    }
    return found;
}

}  // namespace

bool load_unwinder() {
    if (g_unwinder.usable) return true;
#if defined(__x86_64__)
    void* library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    Unwinder& u = g_unwinder;
    u.usable = find_symbol(library, "unw_backtrace", &u.backtrace) &&
               find_symbol(library, "_ULx86_64_init_local", &u.init_local) &&
               find_symbol(library, "_ULx86_64_step", &u.step) &&
               find_symbol(library, "_ULx86_64_get_reg", &u.get_reg) &&
               find_symbol(library, "_ULx86_64_get_save_loc", &u.get_save_loc) &&
               find_symbol(library, "_Ux86_64_getcontext", &u.get_context) &&
               find_symbol(library, "_ULx86_64_is_signal_frame", &u.is_signal_frame);
    if (dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr) u.backtrace = backtrace_by_steps;
#endif
    return g_unwinder.usable;
}

bool can_unwind() { return g_unwinder.usable; }

int return_addresses(uint64_t* addresses, int most) {
    static_assert(sizeof(void*) == sizeof(uint64_t));
    if (!g_unwinder.usable) return 0;
    return g_unwinder.backtrace(reinterpret_cast<void**>(addresses), most);
}

#if defined(__x86_64__)
namespace {

bool add_slot(PathProof* proof, uint64_t stack_pointer, uint64_t address) {
    if (proof->slots >= kReturnAddressChecks || address < stack_pointer) return false;
    const uint64_t offset = address - stack_pointer;
    if (offset > UINT32_MAX) return false;
    proof->slot[proof->slots] = {stack_word(address), static_cast<uint32_t>(offset)};
    ++proof->slots;
    return true;
}

// Whether a frame's CFA may be computed from rbp: compilers place it at CFA - 16 or, in realigned
// frames, just above a word that holds the CFA. With -fomit-frame-pointer rbp may hold a pointer to
// a local variable, which changes from call to call.
bool is_frame_pointer(uint64_t frame_pointer, uint64_t stack_pointer, uint64_t cfa) {
    if (cfa - frame_pointer <= 64) return true;
    for (uint64_t at = frame_pointer - 64; at < frame_pointer; at += 8) {
        if (at >= stack_pointer && stack_word(at) == cfa) return true;
    }
    return false;
}

// The saved frame pointer of the caller is verified too, and so is a word below it that holds the
// CFA itself (the argument pointer of realigned frames).
bool add_frame_pointer(PathProof* proof, unw_cursor_t* cursor, uint64_t stack_pointer,
                       uint64_t frame_pointer, uint64_t cfa) {
    unw_save_loc_t saved;
    if (g_unwinder.get_save_loc(cursor, UNW_X86_64_RBP, &saved) != 0) return false;
    if (saved.type == UNW_SLT_MEMORY && saved.u.addr >= stack_pointer) {
        if (!add_slot(proof, stack_pointer, saved.u.addr)) return false;
    } else {
        proof->check_frame_pointer = true;
    }
    for (uint64_t at = frame_pointer - 64; at < frame_pointer; at += 8) {
        if (at < stack_pointer || stack_word(at) != cfa) continue;
        if (!add_slot(proof, stack_pointer, at)) return false;
    }
    return true;
}

// Sets the cursor to the wrapper's caller.
bool start_walk(unw_cursor_t* cursor, unw_context_t* context, const Frame* frame) {
    if (g_unwinder.init_local(cursor, context) != 0) return false;
    unw_word_t sp = 0;
    for (int skipped = 0; skipped <= 16; ++skipped) {  // dwell's own frames
        g_unwinder.get_reg(cursor, UNW_REG_SP, &sp);
        if (sp == frame->stack_pointer()) return true;
        if (g_unwinder.step(cursor) <= 0) return false;
    }
    return false;
}

}  // namespace

int frames_to(const Frame* frame, uint64_t probe_frame_at) {
    unw_context_t context;
    unw_cursor_t cursor;
    if (!g_unwinder.usable || g_unwinder.get_context(&context) != 0) return 0;
    if (!start_walk(&cursor, &context, frame)) return 0;
    for (int frames = 1; frames <= kMaxFrames; ++frames) {
        if (g_unwinder.step(&cursor) <= 0) return 0;
        unw_word_t cfa = 0;
        g_unwinder.get_reg(&cursor, UNW_REG_SP, &cfa);
        if (cfa - 8 == probe_frame_at) return frames;
        if (cfa - 8 > probe_frame_at) return 0;
    }
    return 0;
}

int frames_within(const Frame* frame, uint64_t limit) {
    unw_context_t context;
    unw_cursor_t cursor;
    if (!g_unwinder.usable || g_unwinder.get_context(&context) != 0) return -1;
    if (!start_walk(&cursor, &context, frame)) return -1;
    for (int frames = 0; frames <= kMaxFrames; ++frames) {
        if (g_unwinder.step(&cursor) <= 0) return -1;
        unw_word_t cfa = 0;
        g_unwinder.get_reg(&cursor, UNW_REG_SP, &cfa);
        if (cfa > limit) return frames;
    }
    return -1;
}

uint64_t caller_frame(const Frame* frame) {
    unw_context_t context;
    unw_cursor_t cursor;
    if (!g_unwinder.usable || g_unwinder.get_context(&context) != 0) return 0;
    if (!start_walk(&cursor, &context, frame) || g_unwinder.step(&cursor) <= 0) return 0;
    unw_word_t cfa = 0;
    g_unwinder.get_reg(&cursor, UNW_REG_SP, &cfa);
    return cfa - 8;
}

uint64_t innermost_return_address(bool (*is_skipped)(uint64_t at), uint64_t limit) {
    unw_context_t context;
    unw_cursor_t cursor;
    if (!g_unwinder.usable || g_unwinder.get_context(&context) != 0) return 0;
    if (g_unwinder.init_local(&cursor, &context) != 0) return 0;
    for (int frames = 0; frames <= kMaxFrames; ++frames) {
        unw_word_t ip = 0;
        unw_word_t sp = 0;
        g_unwinder.get_reg(&cursor, UNW_REG_IP, &ip);
        g_unwinder.get_reg(&cursor, UNW_REG_SP, &sp);
        if (sp >= limit) return 0;
        if (!is_skipped(ip)) return ip;
        if (g_unwinder.step(&cursor) <= 0) return 0;
    }
    return 0;
}

bool take_slots(PathProof* proof, const Frame* frame, int frames) {
    unw_context_t context;
    unw_cursor_t cursor;
    if (g_unwinder.get_context(&context) != 0) return false;
    if (!start_walk(&cursor, &context, frame)) return false;
    const uint64_t stack_pointer = frame->stack_pointer();
    unw_word_t sp = stack_pointer;
    for (int i = 0; i + 1 < frames; ++i) {
        if (g_unwinder.is_signal_frame(&cursor) > 0) return false;
        unw_word_t frame_pointer = 0;
        g_unwinder.get_reg(&cursor, UNW_X86_64_RBP, &frame_pointer);
        unw_cursor_t here = cursor;
        if (g_unwinder.step(&cursor) <= 0) return false;
        unw_word_t cfa = 0;
        unw_word_t ip = 0;
        g_unwinder.get_reg(&cursor, UNW_REG_SP, &cfa);
        g_unwinder.get_reg(&cursor, UNW_REG_IP, &ip);
        if (cfa <= sp || stack_word(cfa - 8) != ip) return false;
        if (!add_slot(proof, stack_pointer, cfa - 8)) return false;
        if (frame_pointer >= sp && frame_pointer < cfa &&
            is_frame_pointer(frame_pointer, stack_pointer, cfa) &&
            !add_frame_pointer(proof, &here, stack_pointer, frame_pointer, cfa)) {
            return false;
        }
        sp = cfa;
    }
    return true;
}
#else
bool take_slots(PathProof*, const Frame*, int) { return false; }
int frames_to(const Frame*, uint64_t) { return 0; }
int frames_within(const Frame*, uint64_t) { return -1; }
uint64_t caller_frame(const Frame*) { return 0; }
uint64_t innermost_return_address(bool (*)(uint64_t), uint64_t) { return 0; }
#endif

}  // namespace dwell
