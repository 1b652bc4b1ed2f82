// The requests of a call that completes several, as they were before it (requests_complete.cpp). On
// the wrapper's stack, the calling thread's own. Not signal-safe.
#ifndef DWELL_RUNTIME_SEVERAL_REQUESTS_H_
#define DWELL_RUNTIME_SEVERAL_REQUESTS_H_

#include "runtime/order_requests.h"
#include "runtime/polls.h"
#include "runtime/records.h"
#include "runtime/requests.h"

namespace dwell {

// The entry of the request, when there is one; ready until it is known not to be.
inline Before look_at(MPI_Request handle) {
    Before before{handle, {}, true};
    if (handle != g_mpi.request_null && handle != g_mpi.request_empty) {
        before.found = find_request(reinterpret_cast<uintptr_t>(handle));
    }
    return before;
}

// The calibrated cost of a call covers a few requests; the work for many is measured. What measures
// itself meanwhile, as the first look for a channel, is part of that.
class MeasuredWork {
  public:
    MeasuredWork(Call* call, int requests)
        : thread_(requests > kCalibratedRequests ? call->thread : nullptr),
          start_(thread_ != nullptr ? now_ticks() : 0),
          slow_ticks_(thread_ != nullptr ? thread_->slow_ticks : 0) {}
    ~MeasuredWork() {
        if (thread_ == nullptr) return;
        const uint64_t all = slow_ticks_ + (now_ticks() - start_);
        if (thread_->slow_ticks < all) thread_->slow_ticks = all;
    }
    MeasuredWork(const MeasuredWork&) = delete;
    MeasuredWork& operator=(const MeasuredWork&) = delete;

  private:
    static constexpr int kCalibratedRequests = 4;
    Thread* thread_;
    uint64_t start_;
    uint64_t slow_ticks_;
};

// Room for what a call on many requests needs: look-ups before, statuses when the program wants
// none. On the stack while they are few. An untimed poll's look-ups are those of the timed one.
// Without memory there are none, and the call is counted as dropped; indices that MPI gives lie
// beyond all of them then.
class Several {
  public:
    explicit Several(Poll* poll) : before_(poll->before), count_(poll->requests) {}
    Several(Call* call, int count, const MPI_Request* requests, bool own_statuses) {
        count_ = count > 0 && requests != nullptr ? count : 0;
        const size_t entries = static_cast<size_t>(count_);
        const size_t pick_bytes = g_process.preserve_order ? kPickBytes : 0;
        const size_t wanted =
            entries * (sizeof(Before) + (own_statuses ? sizeof(MPI_Status) : 0) + pick_bytes);
        void* memory = wanted <= sizeof(local_) ? local_ : scratch_of(call->thread, wanted);
        if (memory == nullptr) {
            call->thread->record->dropped += 1;
            count_ = 0;
            return;
        }
        before_ = static_cast<Before*>(memory);
        if (own_statuses) statuses_ = reinterpret_cast<MPI_Status*>(before_ + count_);
        if (pick_bytes != 0)
            pick_room_ = static_cast<char*>(memory) + wanted - entries * pick_bytes;
        const MeasuredWork work(call, count_);
        for (int i = 0; i < count_; ++i) before_[i] = look_at(requests[i]);
    }
    int count() const { return count_; }
    Before& operator[](int i) { return before_[i]; }
    MPI_Status* statuses() const { return statuses_; }
    const Before* all() const { return before_; }
    void* pick_room() const { return pick_room_; }

    // The first request that is one: what an unsuccessful test is booked as.
    const Before* first() const {
        for (int i = 0; i < count_; ++i) {
            if (before_[i].handle != g_mpi.request_null) return &before_[i];
        }
        return nullptr;
    }
    int receives_among(const int* indices, int count) const {
        int receives = 0;
        for (int i = 0; i < count; ++i) {
            const int which = indices != nullptr ? indices[i] : i;
            if (which < 0 || which >= count_) continue;
            const Before& before = before_[which];
            if (before.is_active() && before.found.copy.kind == kReceiveRequest) {
                ++receives;
            }
        }
        return receives;
    }

  private:
    alignas(16) char local_[1024];
    Before* before_ = nullptr;
    MPI_Status* statuses_ = nullptr;
    void* pick_room_ = nullptr;
    int count_ = 0;
};

}  // namespace dwell

#endif  // DWELL_RUNTIME_SEVERAL_REQUESTS_H_
