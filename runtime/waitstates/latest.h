// Which of those that a collective or a window's synchronisation depends on came last: what
// collectives.cpp and collectives_windows.cpp have in common.
#ifndef DWELL_RUNTIME_WAITSTATES_LATEST_H_
#define DWELL_RUNTIME_WAITSTATES_LATEST_H_

#include "runtime/calls/matched_receive.h"
#include "runtime/exchange/collective_table.h"
#include "runtime/waitstates/remote_collectives.h"
#include "runtime/waitstates/waits.h"

namespace dwell {

// When the last of them came, and who that was.
class Latest {
  public:
    // `may`: the call may have ended before others came.
    explicit Latest(Waiting* waiting, bool may = false) : waiting_(waiting), may_(may) {}
    void add(const EnterStamp& stamp, uint32_t peer) {
        if (stamp.at.real > waiting_->left()) return;  // the call did not wait for it
        real_ = later(real_, stamp.at.real);
        if (found_ && stamp.at.virt <= last_.at.virt) return;
        found_ = true;
        last_ = stamp;
        peer_ = peer;
    }
    void add_slot(const InstanceSlot* slot, uint32_t number, MpiCall call, uint32_t peer) {
        EnterStamp stamp;
        switch (read_slot(slot, number, static_cast<uint32_t>(call), &stamp)) {
            case SlotState::kThis:
                add(stamp, peer);
                break;
            case SlotState::kLater:
                waiting_->add_later();
                break;
            case SlotState::kNothingYet:
                if (!may_) waiting_->add_unknown();
                break;
        }
    }
    // It need not have been waited for: it was if it came after all those who had to be, at
    // `after`, and before the end.
    void add_open(const EnterStamp& stamp, uint32_t peer, uint64_t after) {
        if (stamp.at.real <= after || stamp.at.real > waiting_->left()) return;
        waiting_->add_open();
        add(stamp, peer);
    }
    void add_unknown() { waiting_->add_unknown(); }
    void add_later() { waiting_->add_later(); }
    bool may() const { return may_; }
    // On another host: the last of several, or taken for it.
    void add_remote(const RemoteMatch& matched_stamp) {
        if (matched_stamp.found) add(matched_stamp.last, matched_stamp.peer);
    }
    void add_estimated(const EnterStamp& stamp, uint32_t peer) {
        add(stamp, peer);
        waiting_->add_open();
    }
    const Waiting& waiting() const { return *waiting_; }
    uint64_t real() const { return real_; }
    // What came after all had come.
    uint64_t rest() const {
        return beyond(waiting_->left(), later(waiting_->entered().real, real_));
    }
    void finish() {
        if (!found_) return;
        last_.at.real = real_;
        waiting_->add_collective(WaitKind::kCollective, peer_, last_);
    }

  private:
    Waiting* waiting_;
    EnterStamp last_{};
    uint64_t real_ = 0;
    uint32_t peer_ = kNoPeer;
    bool found_ = false;
    bool may_;
};

// What asks MPI is measured.
class MeasuredLook {
  public:
    explicit MeasuredLook(Call* call) : thread_(call->thread), start_(now_ticks()) {}
    ~MeasuredLook() { thread_->slow_overhead += now_ticks() - start_; }
    MeasuredLook(const MeasuredLook&) = delete;
    MeasuredLook& operator=(const MeasuredLook&) = delete;

  private:
    Thread* thread_;
    uint64_t start_;
};

// A call that is none of messages, but may have waited longer than its partners' times show.
inline void classify(Call* call, Waiting* waiting) {
    waiting->classify(call, waiting->has_later() && !is_unblocked_receive(call, 0));
}

inline const TableMember* find_member(const CollectiveTable& table, int rank) {
    const uint32_t places = places_of(&table);
    for (uint32_t place = 0; place < places; ++place) {
        if (static_cast<int>(table.places[place].place >> 1) == rank) return &table.places[place];
    }
    return nullptr;
}

// All ranks are observed, and on this node.
inline bool world_is_here() {
    return static_cast<int>(local_ranks()) == g_process.header->world_size;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_LATEST_H_
