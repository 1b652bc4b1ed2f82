// Snapshot of the requests of a call that completes several (requests_complete.cpp). Lives on the
// wrapper's stack and belongs to the calling thread. Not signal-safe.
#ifndef DWELL_RUNTIME_WRAPPERS_SEVERAL_REQUESTS_H_
#define DWELL_RUNTIME_WRAPPERS_SEVERAL_REQUESTS_H_

#include <string.h>

#include "runtime/calls/polls.h"
#include "runtime/calls/records.h"
#include "runtime/mpi/requests.h"
#include "runtime/order/order_requests.h"

namespace dwell {

// Looks up the request's entry, if any; it counts as ready until known otherwise.
inline Before look_at(MPI_Request handle) {
    Before before;
    before.handle = handle;
    before.ready = true;
    before.found.entry = nullptr;
    if (handle != g_mpi.request_null && handle != g_mpi.request_empty) {
        find_request(reinterpret_cast<uintptr_t>(handle), &before.found);
    }
    return before;
}

// A call's calibrated cost covers a few requests; work for many is measured. Slow work measured
// elsewhere in the meantime, as the first look-up of a channel, is included once.
class MeasuredWork {
  public:
    MeasuredWork(Call* call, int requests)
        : thread_(requests > kCalibratedRequests ? call->thread : nullptr),
          start_(thread_ != nullptr ? now_ticks() : 0),
          slow_overhead_(thread_ != nullptr ? thread_->slow_overhead : 0) {}
    ~MeasuredWork() {
        if (thread_ == nullptr) return;
        const uint64_t all = slow_overhead_ + (now_ticks() - start_);
        if (thread_->slow_overhead < all) thread_->slow_overhead = all;
    }
    MeasuredWork(const MeasuredWork&) = delete;
    MeasuredWork& operator=(const MeasuredWork&) = delete;

  private:
    static constexpr int kCalibratedRequests = 4;
    Thread* thread_;
    uint64_t start_;
    uint64_t slow_overhead_;
};

// When the entries of a call's requests are looked up. Another thread may get the handle of a
// completed request again, which then does not identify the request any more. With one thread
// inside MPI at a time it suffices to keep the handles and to look up the completed ones, so
// completing one of many requests costs no more than one of few.
enum class LookUp { kBefore, kCompleted };
inline LookUp least_look_up() {
    return g_process.concurrent || g_process.preserve_order ? LookUp::kBefore : LookUp::kCompleted;
}

// Buffers for a call on many requests: handles or look-ups from before the call, and statuses when
// the program wants none. On the stack while they are few. An untimed poll uses the look-ups of the
// timed one. Without memory the call counts as dropped, and all indices returned by MPI are out of
// range.
class Several {
  public:
    explicit Several(Poll* poll)
        : look_up_(LookUp::kBefore), before_(poll->before), count_(poll->requests) {}
    // The call completes at most `most` requests.
    Several(Call* call, LookUp look_up, int count, int most, const MPI_Request* requests,
            bool own_statuses)
        : look_up_(look_up) {
        count_ = count > 0 && requests != nullptr ? count : 0;
        const bool all = look_up == LookUp::kBefore;
        const size_t entries = static_cast<size_t>(count_);
        if (most < kPollRequests) most = kPollRequests;  // looked up after an unsuccessful test
        const size_t looked_up = static_cast<size_t>(all || most > count_ ? count_ : most);
        const size_t kept = all ? 0 : entries * sizeof(MPI_Request);
        const size_t status_bytes = own_statuses ? entries * sizeof(MPI_Status) : 0;
        const size_t pick_bytes = g_process.preserve_order ? entries * kPickBytes : 0;
        const size_t wanted = kept + looked_up * sizeof(Before) + status_bytes + pick_bytes;
        void* memory = wanted <= sizeof(local_) ? local_ : scratch_of(call->thread, wanted);
        if (memory == nullptr) {
            call->thread->record->dropped += 1;
            count_ = 0;
            return;
        }
        before_ = static_cast<Before*>(memory);
        char* rest = reinterpret_cast<char*>(before_ + looked_up);
        if (pick_bytes != 0) pick_room_ = rest;
        rest += pick_bytes;
        if (own_statuses) statuses_ = reinterpret_cast<MPI_Status*>(rest);
        rest += status_bytes;
        if (all) {
            const MeasuredWork work(call, count_);
            for (int i = 0; i < count_; ++i) before_[i] = look_at(requests[i]);
        } else {
            const MeasuredWork work(call, count_ / kCopiesOfLookUp);
            handles_ = reinterpret_cast<MPI_Request*>(rest);
            memcpy(handles_, requests, kept);
        }
    }
    int count() const { return count_; }
    MPI_Status* statuses() const { return statuses_; }
    void* pick_room() const { return pick_room_; }
    MPI_Request handle(int i) const {
        return handles_ != nullptr ? handles_[i] : before_[i].handle;
    }
    // The look-ups made before the call, or null.
    const Before* all() const { return look_up_ == LookUp::kBefore ? before_ : nullptr; }
    Before& before(int i) { return before_[i]; }

    // Marks all requests of the call as ready or not.
    void mark_all(bool ready) {
        ready_ = ready;
        for (int i = 0; i < count_ && look_up_ == LookUp::kBefore; ++i) before_[i].ready = ready;
    }

    // The call completed `count` requests at `indices` (null: the first ones). completed() then
    // returns them in that order, null for an invalid index.
    void find_completed(Call* call, const int* indices, int count) {
        if (look_up_ == LookUp::kBefore) return;
        const MeasuredWork work(call, call != nullptr ? count : 0);
        for (int i = 0; i < count; ++i) {
            const int which = indices != nullptr ? indices[i] : i;
            if (which < 0 || which >= count_) continue;
            before_[i] = look_at(handles_[which]);
            before_[i].ready = ready_;
        }
    }
    const Before* completed(const int* indices, int i) const {
        const int which = indices != nullptr ? indices[i] : i;
        if (which < 0 || which >= count_) return nullptr;
        return &before_[look_up_ == LookUp::kBefore ? which : i];
    }

    // Look-ups after an unsuccessful test, at most kPollRequests.
    const Before* incomplete() {
        find_completed(nullptr, nullptr, count_);
        return before_;
    }

    // The first valid request: an unsuccessful test is recorded under it.
    Before first() const {
        for (int i = 0; i < count_; ++i) {
            const MPI_Request request = handle(i);
            if (request == g_mpi.request_null) continue;
            return look_up_ == LookUp::kBefore ? before_[i] : look_at(request);
        }
        return Before{g_mpi.request_null, {}, true};
    }
    int receives_among(const int* indices, int count) const {
        int receives = 0;
        for (int i = 0; i < count; ++i) {
            const Before* before = completed(indices, i);
            if (before != nullptr && before->is_receive()) ++receives;
        }
        return receives;
    }

  private:
    static constexpr int kCopiesOfLookUp = 32;  // ratio of kept handles to look-ups
    alignas(16) char local_[1024];
    LookUp look_up_;
    bool ready_ = true;
    Before* before_ = nullptr;
    MPI_Request* handles_ = nullptr;
    MPI_Status* statuses_ = nullptr;
    void* pick_room_ = nullptr;
    int count_ = 0;
};

}  // namespace dwell

#endif  // DWELL_RUNTIME_WRAPPERS_SEVERAL_REQUESTS_H_
