// What the costs of calls and of OpenMP's events are measured on: a thread with records that belong
// to no one, so that nothing of the measurement is recorded.
#ifndef DWELL_RUNTIME_CALLS_SCRATCH_THREAD_H_
#define DWELL_RUNTIME_CALLS_SCRATCH_THREAD_H_

#include <string.h>
#include <sys/mman.h>

#include "runtime/calls/callpath.h"
#include "runtime/probes/probes.h"
#include "runtime/sampling/sampling.h"

namespace dwell {

// In place of the calling thread's: records that nothing refers to, in some of its cells, with one
// node whose path from `frame` is remembered. Other threads may be recording, but no signal handler
// of this one: what it records there would be gone with the records, and what it makes for all, as
// the name of a module, written over.
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
