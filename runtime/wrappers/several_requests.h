// The requests of a call that completes several, as they were before it (requests_complete.cpp). On
// the wrapper's stack, the calling thread's own. Not signal-safe.
#ifndef DWELL_RUNTIME_WRAPPERS_SEVERAL_REQUESTS_H_
#define DWELL_RUNTIME_WRAPPERS_SEVERAL_REQUESTS_H_

#include <string.h>

#include "runtime/calls/polls.h"
#include "runtime/calls/records.h"
#include "runtime/mpi/requests.h"
#include "runtime/order/order_requests.h"

namespace dwell {

// The entry of the request, when there is one; ready until it is known not to be.
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

// The calibrated cost of a call covers a few requests; the work for many is measured. What measures
// itself meanwhile, as the first look for a channel, is part of that.
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

// When the entries of a call's requests are looked up. MPI may hand out the handle of a request
// that it has completed again to another thread, so that it tells nothing any more. Where one
// thread at a time is inside MPI it is enough to keep the handles, and to look up what the call
// completed: a call that completes one of many costs no more than one of few.
enum class LookUp { kBefore, kCompleted };
inline LookUp least_look_up() {
    return g_process.concurrent || g_process.preserve_order ? LookUp::kBefore : LookUp::kCompleted;
}

// Room for what a call on many requests needs: handles or look-ups from before, statuses when the
// program wants none. On the stack while they are few. An untimed poll's look-ups are those of the
// timed one. Without memory there are none, and the call is counted as dropped; indices that MPI
// gives lie beyond all of them then.
class Several {
  public:
    explicit Several(Poll* poll)
        : look_up_(LookUp::kBefore), before_(poll->before), count_(poll->requests) {}
    // It completes `most` of them at most.
    Several(Call* call, LookUp look_up, int count, int most, const MPI_Request* requests,
            bool own_statuses)
        : look_up_(look_up) {
        count_ = count > 0 && requests != nullptr ? count : 0;
        const bool all = look_up == LookUp::kBefore;
        const size_t entries = static_cast<size_t>(count_);
        if (most < kPollRequests) most = kPollRequests;  // an unsuccessful test looks at those
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
    // Of what was looked up before the call; else null.
    const Before* all() const { return look_up_ == LookUp::kBefore ? before_ : nullptr; }
    Before& before(int i) { return before_[i]; }

    // The completed requests are ready, or not: all that the call has.
    void mark_all(bool ready) {
        ready_ = ready;
        for (int i = 0; i < count_ && look_up_ == LookUp::kBefore; ++i) before_[i].ready = ready;
    }

    // The call completed `count` requests at `indices`, the first ones when that is null:
    // completed() gives them, in that order, null for an index that is none of a request.
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

    // After an unsuccessful test of kPollRequests at most.
    const Before* incomplete() {
        find_completed(nullptr, nullptr, count_);
        return before_;
    }

    // The first request that is one: what an unsuccessful test is booked as.
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
    static constexpr int kCopiesOfLookUp = 32;  // as many handles are kept while one is looked up
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
