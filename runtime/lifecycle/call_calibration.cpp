// What recording a call costs outside of its measured parts (DESIGN 4, local rule): the same steps
// as in a wrapper, on records of no one, with nothing in MPI's place.
#include <string.h>
#include <sys/mman.h>

#include "runtime/calls/polls.h"
#include "runtime/io/io_records.h"
#include "runtime/lifecycle/lifecycle.h"
#include "runtime/openmp/omp_calibration.h"
#include "runtime/probes/probes.h"
#include "runtime/process/shared_words.h"
#include "runtime/sampling/sampling.h"
#include "runtime/wrappers/mpi_semantics.h"

namespace dwell {

namespace {

// In place of the calling thread's: records that nothing refers to, in some of its cells, with one
// node whose path from `frame` is remembered. Other threads may be recording, but no signal handler
// of this one: what it records there would be gone with the records, and what it makes for all, as
// the name of a module, written over.
class RecordsOfNoOne {
  public:
    explicit RecordsOfNoOne(const Frame* frame) : real_thread_(t_thread) {
        constinit static thread_local CellIndex cells = 0;
        if (real_thread_ == nullptr) return;
        if (cells == 0) cells = take_cells(real_thread_, kCells);
        if (cells == 0) return;
        memory_ = mmap(nullptr, sizeof(Thread), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory_ == MAP_FAILED) return;
        memset(cell_at<void>(cells), 0, kCells * kCellBytes);
        auto* thread = static_cast<Thread*>(memory_);
        stop_sampling(thread);
        thread->epoch = g_live->epoch;
        thread->record = cell_at<ThreadRecord>(cells);
        const CellIndex root = cells + kThreadCells;
        thread->record->root = root;
        start_probes(thread);
        const CellIndex comm = root + 1;
        thread->chunk_next = comm + 2 + kHistogramCells;
        thread->chunk_end = cells + kCells;
        Node* node = cell_at<Node>(comm);
        node->site.kind = SiteKind::kCommunication;
        node->parent = root;
        node->part = comm + 1;
        cell_at<CommPart>(node->part)->histogram = comm + 2;
        path_ = &thread->paths[path_set(frame->return_address, frame->stack_pointer(), root)];
        path_->return_address = frame->return_address;
        path_->stack_pointer = frame->stack_pointer();
        path_->slot = path_->few;
        path_->call = static_cast<uint16_t>(MpiCall::kSend);
        path_->node = comm;
        path_->anchor = root;
        t_thread = thread;
    }
    ~RecordsOfNoOne() {
        if (!are_there()) return;
        t_thread = real_thread_;
        munmap(memory_, sizeof(Thread));
    }
    RecordsOfNoOne(const RecordsOfNoOne&) = delete;
    RecordsOfNoOne& operator=(const RecordsOfNoOne&) = delete;
    bool are_there() const { return memory_ != MAP_FAILED; }
    PathEntry* path() { return path_; }

  private:
    static constexpr uint32_t kCells = 64;
    SignalsHeld held_;
    Thread* real_thread_;
    void* memory_ = MAP_FAILED;
    PathEntry* path_ = nullptr;
};

// Sets the costs of a call whose end is booked by `book`. Calls do not overlap, nor do their two
// halves: MPI ends with what it waited for, and the program's next call is what the partner waits
// for. A processor that runs ahead into the next one halves the cost (22 ns in place of 38); a
// stream of messages of 1 KiB between two ranks takes 44 to 59 ns longer for each.
template <typename Book>
void measure_calls(const Frame* frame, Book book) {
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
            book(&call);
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
    const Busy busy;
    const Frame* frame = DWELL_FRAME();
    RecordsOfNoOne records(frame);
    if (!records.are_there()) return;
    measure_calls(frame, [](Call* call) {
        book_event(call, kSendReady);
        book_message(call, 1, 8, 0, call->ticks);
    });
    if (g_process.options.io) calibrate_io(t_thread, records.path(), frame);
    calibrate_polls(frame);
    calibrate_probes(t_thread);
}

void calibrate_openmp() {
    const Busy busy;
    const RecordsOfNoOne records(DWELL_FRAME());
    if (records.are_there()) calibrate_omp_on(t_thread);
}

void calibrate_messages() {
    const Busy busy;
    const Frame* frame = DWELL_FRAME();
    const RecordsOfNoOne records(frame);
    if (!records.are_there()) return;
    const int rank = g_process.header->rank;
    measure_calls(frame, [rank](Call* call) {
        book_send(call, rank, g_mpi.comm_world, as_count(8) * type_bytes(call->thread, g_mpi.byte),
                  true, Told{});
    });
}

}  // namespace dwell
