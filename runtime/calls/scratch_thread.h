// A scratch thread with records that nothing refers to, on which the cost of calls and OpenMP
// events is measured.
#ifndef DWELL_RUNTIME_CALLS_SCRATCH_THREAD_H_
#define DWELL_RUNTIME_CALLS_SCRATCH_THREAD_H_

#include <string.h>
#include <sys/mman.h>

#include "runtime/calls/callpath.h"
#include "runtime/probes/probes.h"
#include "runtime/sampling/sampling.h"

namespace dwell {

// Replaces the calling thread's state by scratch records with one node whose path from `frame` is
// cached. Other threads may record meanwhile. Signal handlers of this thread are blocked: their
// records would be lost, and texts that they write for all threads overwritten.
class ScratchThread {
  public:
    explicit ScratchThread(const Frame* frame) : real_thread_(t_thread) {
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
        thread->record->axis.bin_end = UINT64_MAX;
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
        path_->probe_frame = root;
        t_thread = thread;
    }
    ~ScratchThread() {
        if (!are_there()) return;
        t_thread = real_thread_;
        munmap(memory_, sizeof(Thread));
    }
    ScratchThread(const ScratchThread&) = delete;
    ScratchThread& operator=(const ScratchThread&) = delete;
    bool are_there() const { return memory_ != MAP_FAILED; }
    PathEntry* path() { return path_; }

  private:
    static constexpr uint32_t kCells = 64;
    SignalsBlocked held_;
    Thread* real_thread_;
    void* memory_ = MAP_FAILED;
    PathEntry* path_ = nullptr;
};

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLS_SCRATCH_THREAD_H_
