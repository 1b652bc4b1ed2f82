// OpenMP loops: the iterations and chunks that each thread executes.
#include "runtime/openmp/omp_entries.h"

namespace dwell {

namespace {

struct Chunks {
    uint64_t iterations;
    uint64_t chunks;
};

// Chunk k belongs to thread k modulo `threads`; the last chunk may be shorter.
Chunks dealt_out(uint64_t iterations, uint64_t chunk, uint32_t thread, uint32_t threads) {
    chunk = earlier(chunk, iterations);
    if (chunk == 0) return {0, 0};
    const uint64_t last = (iterations - 1) / chunk;
    if (last < thread) return {0, 0};
    const uint64_t own = (last - thread) / threads + 1;
    const uint64_t missing = last % threads == thread ? (last + 1) * chunk - iterations : 0;
    return {own * chunk - missing, own};
}

// Procedures, loops and blocks may be open inside the construct, such as the program's loop over
// its chunks where it was compiled with probes.
void add_chunks(const Thread* thread, const Chunks& more) {
    const ProbeEntry* construct = thread->on.top;
    while ((construct->row & kRowOmp) == 0 && construct != thread->on.base) --construct;
    if ((construct->row & kRowOmp) == 0 || !has_node(construct)) return;
    OmpPart* const part = omp_part(construct->node);
    part->iterations += more.iterations;
    part->chunks += more.chunks;
}

}  // namespace

void omp_loop_begin(OmpConstruct construct, uint64_t address, uint64_t iterations) {
    OmpStep step;
    if (!begin_step(&step, DWELL_OMP_FRAME(), true, false)) return;
    begin_worksharing(&step, address);
    const ProbeEntry* const entry = open_omp(&step, omp_row(construct, address));
    const OmpLevel* const level = omp_level(step.thread);
    const bool first = level == nullptr || level->index == 0;
    if (entry != nullptr && has_node(entry) && first && !g_omp_reports_chunks) {
        omp_part(entry->node)->iterations += iterations;
    }
    end_step(&step);
}

void omp_chunk(uint64_t iterations, const OmpCosts& more) {
    OmpStep step;
    if (!begin_step(&step, DWELL_OMP_FRAME(), false, false)) return;
    add_chunks(step.thread, {iterations, iterations != 0 ? 1u : 0u});
    lose(step, g_process.omp.chunk + more.chunk);
    end_step(&step);
}

void omp_static_chunks(uint64_t iterations, uint64_t chunk) {
    OmpStep step;
    if (!begin_step(&step, DWELL_OMP_FRAME(), false, false)) return;
    const OmpLevel* const level = omp_level(step.thread);
    const bool shared = level != nullptr && level->size != 0;
    add_chunks(step.thread,
               dealt_out(iterations, chunk, shared ? level->index : 0, shared ? level->size : 1));
    end_step(&step);
}

bool omp_loop_end() {
    OmpStep step;
    if (!begin_step(&step, DWELL_OMP_FRAME(), false)) return false;
    const bool unopened = end_unopened(step.thread);
    const bool is_loop = !unopened && (top_is(step.thread, OmpConstruct::kStaticLoop) ||
                                       top_is(step.thread, OmpConstruct::kLoop));
    if (is_loop) close_omp(step.thread, now_virtual(step));
    end_step(&step);
    return unopened || is_loop;
}

}  // namespace dwell
