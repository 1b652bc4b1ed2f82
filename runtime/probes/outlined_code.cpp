// Finds the OpenMP code that a thread executes by its open entries.
#include "runtime/probes/outlined_code.h"

#include "runtime/process/virtual_clock.h"

namespace dwell {

uint64_t (*g_omp_code_frame)() = nullptr;
uint64_t (*g_gomp_code_frame)() = nullptr;

namespace {

// The row of a construct whose code is called by the OpenMP runtime.
bool is_code_row(uint64_t row) { return is_region_row(row) || is_row_of(row, OmpConstruct::kTask); }

uint64_t inner_code_frame() {
    const uint64_t one = g_omp_code_frame != nullptr ? g_omp_code_frame() : 0;
    const uint64_t other = g_gomp_code_frame != nullptr ? g_gomp_code_frame() : 0;
    return one == 0 || other == 0 ? later(one, other) : earlier(one, other);
}

}  // namespace

uint64_t omp_code_address() {
    const Thread* const thread = t_thread;
    if (thread == nullptr || thread->omp.depth == 0) return 0;
    const ProbeEntry* entry = thread->on.top;
    while (entry != thread->on.base && !is_code_row(entry->row)) --entry;
    return entry != thread->on.base ? entry->row & kRowAddress : 0;
}

uint64_t omp_code_frame(const Thread* thread) {
    if (thread->omp.depth == 0) return 0;
    const uint64_t frame = thread->on.top->frame;
    for (const ProbeEntry* at = thread->on.top; at != thread->on.base; --at) {
        if (at->frame != frame) return 0;
        if (is_code_row(at->row)) return inner_code_frame();
    }
    return 0;
}

}  // namespace dwell
