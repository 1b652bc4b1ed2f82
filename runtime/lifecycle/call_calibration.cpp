// Measures the cost of recording a call outside of its measured part (DESIGN 4, local rule), by the
// steps of a wrapper on scratch records without a call of MPI.
#include "runtime/calls/polls.h"
#include "runtime/calls/scratch_thread.h"
#include "runtime/io/io_records.h"
#include "runtime/probes/probes.h"
#include "runtime/process/shared_words.h"
#include "runtime/wrappers/mpi_semantics.h"

namespace dwell {

namespace {

// Sets the costs of a call that is recorded by `record`. Neither calls nor the two halves of a call
// may overlap: MPI ends with a wait, and the program's next call is what a partner waits for. With
// overlap the processor would halve the cost (22 ns in place of 38), while a stream of messages of
// 1 KiB between two ranks takes 44 to 59 ns longer each.
template <typename Record>
void measure_calls(const Frame* frame, Record record) {
    constexpr int kCalls = 200;
    constexpr int kRounds = 40;
    uint64_t best_fence = UINT64_MAX;
    uint64_t best_inner = UINT64_MAX;
    uint64_t best_outer = UINT64_MAX;
    uint64_t best_full_fence = UINT64_MAX;
    for (int round = 0; round < kRounds; ++round) {
        const uint64_t before = now_ticks();
        for (int i = 0; i < kCalls; ++i) finish_loads();
        const uint64_t fenced = now_ticks();
        best_fence = earlier(best_fence, fenced - before);
        full_fence();
        uint64_t inner = 0;
        const uint64_t begin = now_ticks();
        best_full_fence = earlier(best_full_fence, begin - fenced);
        for (int i = 0; i < kCalls; ++i) {
            Call call;
            if (!enter(&call, MpiCall::kSend, frame, kMpiForm)) continue;
            start(&call);
            finish_loads();
            stop(&call);
            record(&call);
            leave(&call);
            inner += call.end_ticks - call.start_ticks;
            finish_loads();
        }
        const uint64_t outer = now_ticks() - begin - inner;
        best_inner = earlier(best_inner, inner);
        best_outer = earlier(best_outer, outer);
    }
    g_process.inner_cost_ticks = beyond(best_inner, best_fence) / kCalls;
    g_process.call_cost_ticks = beyond(best_outer, best_fence) / kCalls;
    g_process.fence_cost_ticks = best_full_fence;
    g_process.header->call_cost_ticks = g_process.call_cost_ticks;
}

}  // namespace

void calibrate() {
    const ReentryGuard busy;
    const Frame* frame = DWELL_FRAME();
    ScratchThread records(frame);
    if (!records.are_there()) return;
    measure_calls(frame, [](Call* call) {
        record_event(call, kSendReady);
        record_message(call, 1, 8, 0, call->ticks);
    });
    if (g_process.options.events) calibrate_events(t_thread, cell_at<Node>(records.path()->node));
    if (g_process.options.io) calibrate_io(t_thread, records.path(), frame);
    calibrate_polls(frame);
    calibrate_probes(t_thread);
    g_process.header->probe_inner_ticks = g_process.probe_inner_ticks;
    g_process.header->block_inner_ticks = g_process.block_inner_ticks;
}

void calibrate_messages() {
    const ReentryGuard busy;
    const Frame* frame = DWELL_FRAME();
    const ScratchThread records(frame);
    if (!records.are_there()) return;
    const int rank = g_process.header->rank;
    measure_calls(frame, [rank](Call* call) {
        record_send(call, rank, 0, g_mpi.comm_world,
                    as_count(8) * type_bytes(call->thread, g_mpi.byte), true, SendStamp{});
    });
}

}  // namespace dwell
