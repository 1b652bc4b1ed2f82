// Finds the last partner of a collective or window synchronisation; shared by collectives.cpp and
// collectives_windows.cpp.
#ifndef DWELL_RUNTIME_WAITSTATES_LATEST_H_
#define DWELL_RUNTIME_WAITSTATES_LATEST_H_

#include "runtime/calls/matched_receive.h"
#include "runtime/exchange/collective_table.h"
#include "runtime/waitstates/remote_collectives.h"
#include "runtime/waitstates/waits.h"

namespace dwell {

// The latest enter time among the partners, and whose it is.
class Latest {
  public:
    // `may`: the call may have ended before other members entered.
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
    // A member that the call need not have waited for: counts if it entered after `after`, when all
    // required partners were there, and before the end.
    void add_open(const EnterStamp& stamp, uint32_t peer, uint64_t after) {
        if (stamp.at.real <= after || stamp.at.real > waiting_->left()) return;
        waiting_->add_open();
        add(stamp, peer);
    }
    void add_unknown() { waiting_->add_unknown(); }
    void add_later() { waiting_->add_later(); }
    bool may() const { return may_; }
    // The last of the members on other hosts.
    void add_remote(const RemoteMatch& match) {
        if (match.found) add(match.last, match.peer);
    }
    void add_estimated(const EnterStamp& stamp, uint32_t peer) {
        add(stamp, peer);
        waiting_->add_open();
    }
    const Waiting& waiting() const { return *waiting_; }
    uint64_t real() const { return real_; }
    // The time after the last partner entered.
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

// For a call without messages: a call that seems to have blocked has an unknown wait if some
// partners were in later instances.
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

// All ranks of the world are profiled on this host.
inline bool world_is_on_host() {
    return static_cast<int>(local_ranks()) == g_process.header->world_size;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_LATEST_H_
