// Addresses of the runtime's and the C library's code, and frames between them and the program.
#include "runtime/openmp/ompt_places.h"

#include <gnu/libc-version.h>
#include <link.h>

#include <atomic>

#include "runtime/calltree/modules.h"
#include "runtime/openmp/omp_adapter.h"

// Function of the loader.
extern "C" void* __tls_get_addr(void*);  // NOLINT(readability-identifier-naming)

namespace dwell {

namespace {

ompt_get_task_info_t g_task_info = nullptr;

// Address range of a library's code.
struct CodeOf {
    uint64_t address_in_it;
    uint64_t begin;
    uint64_t end;
    bool is_executable;
};
CodeOf g_runtime{};
CodeOf g_dwell{};
CodeOf g_c_library{};
CodeOf g_loader{};

int match_code(dl_phdr_info* object, size_t, void* library) {
    auto* const code = static_cast<CodeOf*>(library);
    const ElfW(Phdr)* const segment = segment_at(object, code->address_in_it);
    if (segment == nullptr) return 0;
    code->begin = object->dlpi_addr + segment->p_vaddr;
    code->end = code->begin + segment->p_memsz;
    code->is_executable = (segment->p_flags & PF_X) != 0;
    return 1;
}

void find_code(CodeOf* code, const void* address_in_it) {
    code->address_in_it = address(address_in_it);
    dl_iterate_phdr(match_code, code);
}

bool is_in(const CodeOf& code, uint64_t at) { return at - code.begin < code.end - code.begin; }

// Also the loader, which calls destructor functions.
bool is_in_c_library(uint64_t at) { return is_in(g_c_library, at) || is_in(g_loader, at); }

// Whether a function may begin there: clang aligns functions, and return addresses are seldom
// aligned.
bool is_function(uint64_t at) {
    constexpr uint64_t kAlignment = 16;
    if (at == 0 || at % kAlignment != 0) return false;
    if (is_in(g_runtime, at) || is_in(g_dwell, at) || is_in_c_library(at)) return false;
    CodeOf code{at, 0, 0, false};
    dl_iterate_phdr(match_code, &code);
    return code.is_executable;
}

struct TaskInfo {
    ompt_data_t* data;
    ompt_frame_t* frame;
};
bool find_task(TaskInfo* info) {
    ompt_data_t* parallel = nullptr;
    int flags = 0;
    int number = 0;
    if (g_task_info == nullptr) return false;
    return g_task_info(0, &flags, &info->data, &info->frame, &parallel, &number) == 2;
}

// __kmpc_fork_call() of libomp 14 to 19 spills its third argument, the region's code, between the
// area of its variable arguments and the saved registers. No other word there is a code address.
uint64_t code_of_fork(const Frame* fork) {
    constexpr uint64_t kSaved_bytes = 0x30;
    constexpr uint64_t kSpilled_bytes = 0x78;
    const uint64_t top = address(fork);
    uint64_t code = 0;
    for (uint64_t at = top - kSpilled_bytes; at < top - kSaved_bytes; at += sizeof(uint64_t)) {
        const uint64_t word = stack_word(at);
        if (!is_function(word) || word == code) continue;
        if (code != 0) return 0;
        code = word;
    }
    return code;
}

}  // namespace

void find_places(ompt_function_lookup_t lookup) {
    g_task_info = reinterpret_cast<ompt_get_task_info_t>(lookup("ompt_get_task_info"));
    find_code(&g_runtime, reinterpret_cast<const void*>(lookup));
    find_own_code();
    find_code(&g_c_library, reinterpret_cast<const void*>(gnu_get_libc_version));
    find_code(&g_loader, reinterpret_cast<const void*>(__tls_get_addr));
    if (g_task_info != nullptr) g_omp_code_frame = code_frame;
}

void find_own_code() { find_code(&g_dwell, reinterpret_cast<const void*>(find_places)); }

bool is_in_runtime(uint64_t at) { return is_in(g_runtime, at); }
bool is_in_tool(uint64_t at) { return is_in(g_dwell, at); }

uint64_t address_in_code(uint64_t at) {
    const uint64_t around = is_nowhere(at) ? omp_code_address() : 0;
    return around != 0 ? around : at;
}

uint64_t caller_around_runtime(uint64_t at) {
    // A function's frame has a fixed size at each of its calls: a cache of recent sizes, each with
    // its address above the size. 0: the program called the runtime by a tail call; the word there
    // then belongs to the function that called the program's code.
    static std::atomic<uint64_t> sizes[16];
    constexpr uint64_t kSizeBits = 16;
    constexpr uint64_t kLargest = (1 << kSizeBits) - 1;
    TaskInfo task{};
    if (!is_in_runtime(at) || !find_task(&task) || task.frame == nullptr) return 0;
    const Frame* const called = caller_of(task.frame);
    if (called == nullptr || called->return_address != at) return 0;
    const uint64_t code = address(task.frame->exit_frame.ptr);
    if (code == 0) return 0;  // not in a region
    std::atomic<uint64_t>& kept = sizes[at % 16];
    uint64_t known = kept.load(std::memory_order_relaxed);
    if (known >> kSizeBits != at) {
        const ReentryGuard busy;
        const uint64_t before = now_ticks();
        const uint64_t outer = caller_frame(called);
        const bool is_inside = outer > address(called) && outer < code;
        const uint64_t size = is_inside ? outer - address(called) : 0;
        known = at << kSizeBits | (size <= kLargest ? size : 0);
        kept.store(known, std::memory_order_relaxed);
        if (t_thread != nullptr) t_thread->slow_overhead += now_ticks() - before;
    }
    const uint64_t slot = address(called) + (known & kLargest);
    if ((known & kLargest) == 0 || slot >= code) return 0;
    const uint64_t caller = stack_word(slot);
    return is_nowhere(caller) ? 0 : caller;
}

uint64_t reported_place(const void* codeptr) {
    if (codeptr != nullptr) [[likely]]
        return address(codeptr);
    const uint64_t code = code_frame();
    if (code == 0) return 0;
    const ReentryGuard busy;
    const uint64_t before = now_ticks();
    const uint64_t caller = innermost_return_address(
        [](uint64_t at) { return is_in_tool(at) || is_in_runtime(at); }, code);
    if (t_thread != nullptr) t_thread->slow_overhead += now_ticks() - before;
    return caller;
}

uint64_t code_frame() {
    TaskInfo task{};
    return find_task(&task) && task.frame != nullptr ? address(task.frame->exit_frame.ptr) : 0;
}

ompt_data_t* current_task() {
    TaskInfo task{};
    return find_task(&task) ? task.data : nullptr;
}

const Frame* caller_of(const ompt_frame_t* frame) {
    if (frame == nullptr) return nullptr;
    const uint64_t at = address(frame->enter_frame.ptr);
    const uint64_t here = address(__builtin_frame_address(0));
    constexpr uint64_t kFarthest = 1 << 16;
    if (at <= here || at - here > kFarthest || at % sizeof(uint64_t) != 0) return nullptr;
    return static_cast<const Frame*>(frame->enter_frame.ptr);
}

uint64_t code_in_c_library(uint64_t at, const Frame* caller) {
    if (!is_in_c_library(at)) [[likely]]
        return 0;
    if (caller == nullptr || caller->return_address != at) return 0;
    const uint64_t before = now_ticks();
    const uint64_t code = code_of_fork(caller);
    if (t_thread != nullptr) t_thread->slow_overhead += now_ticks() - before;
    return code != 0 ? code + 1 : 0;
}

}  // namespace dwell
