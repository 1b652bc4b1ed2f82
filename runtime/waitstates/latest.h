// Which of those that a collective or a window's synchronisation depends on came last: what
// meetings.cpp and meetings_windows.cpp have in common.
#ifndef DWELL_RUNTIME_WAITSTATES_LATEST_H_
#define DWELL_RUNTIME_WAITSTATES_LATEST_H_

#include "runtime/calls/found_cost.h"
#include "runtime/exchange/boards.h"
#include "runtime/waitstates/far_meetings.h"
#include "runtime/waitstates/waits.h"

namespace dwell {

// When the last of them came, and who that was.
class Latest {
  public:
    // `may`: the call may have ended before others came.
    explicit Latest(Waiting* waiting, bool may = false) : waiting_(waiting), may_(may) {}
    void add(const Moment& said, uint32_t peer) {
        if (said.at.real > waiting_->left()) return;  // the call did not wait for it
        real_ = later(real_, said.at.real);
        if (found_ && said.at.virt <= last_.at.virt) return;
        found_ = true;
        last_ = said;
        peer_ = peer;
    }
    void add_slot(const BoardSlot* slot, uint32_t number, MpiCall call, uint32_t peer) {
        Moment said;
        switch (read_slot(slot, number, static_cast<uint32_t>(call), &said)) {
            case Said::kThis:
                add(said, peer);
                break;
            case Said::kLater:
                waiting_->add_later();
                break;
            case Said::kNothingYet:
                if (!may_) waiting_->add_unknown();
                break;
        }
    }
    // It need not have been waited for: it was if it came after all those who had to be, at
    // `after`, and before the end.
    void add_open(const Moment& said, uint32_t peer, uint64_t after) {
        if (said.at.real <= after || said.at.real > waiting_->left()) return;
        waiting_->add_open();
        add(said, peer);
    }
    void add_unknown() { waiting_->add_unknown(); }
    void add_later() { waiting_->add_later(); }
    bool may() const { return may_; }
    // On another host: the last of several, or taken for it.
    void add_far(const FarHeard& heard) {
        if (heard.found) add(heard.last, heard.peer);
    }
    void add_estimated(const Moment& said, uint32_t peer) {
        add(said, peer);
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
        waiting_->add_meeting(WaitKind::kCollective, peer_, last_);
    }

  private:
    Waiting* waiting_;
    Moment last_{};
    uint64_t real_ = 0;
    uint32_t peer_ = kNoPeer;
    bool found_ = false;
    bool may_;
};

// What asks MPI is measured.
class MeasuredLook {
  public:
    explicit MeasuredLook(Call* call) : thread_(call->thread), start_(now_ticks()) {}
    ~MeasuredLook() { thread_->slow_ticks += now_ticks() - start_; }
    MeasuredLook(const MeasuredLook&) = delete;
    MeasuredLook& operator=(const MeasuredLook&) = delete;

  private:
    Thread* thread_;
    uint64_t start_;
};

// A call that is none of messages, but may have waited longer than its partners' times show.
inline void settle(Call* call, Waiting* waiting) {
    waiting->settle(call, waiting->has_later() && !took_found_message(call, 0));
}

inline const BoardMember* find_member(const Board& board, int rank) {
    const uint32_t places = places_of(&board);
    for (uint32_t place = 0; place < places; ++place) {
        if (static_cast<int>(board.places[place].place >> 1) == rank) return &board.places[place];
    }
    return nullptr;
}

// All ranks are observed, and on this node.
inline bool world_is_here() {
    return static_cast<int>(neighbours_of_node()) == g_process.header->world_size;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_LATEST_H_
