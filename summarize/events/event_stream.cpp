// Joins words to records; see event_stream.h.
#include "summarize/events/event_stream.h"

#include <algorithm>
#include <numeric>

namespace dwell {
namespace {

bool is_known(EventControl control) {
    switch (control) {
        case EventControl::kBase:
        case EventControl::kGap:
        case EventControl::kThread:
        case EventControl::kRealTime:
        case EventControl::kOn:
        case EventControl::kOff:
        case EventControl::kReset:
        case EventControl::kEnd:
        case EventControl::kLocked:
        case EventControl::kUnlocked:
        case EventControl::kComm:
        case EventControl::kWaited:
        case EventControl::kMoved:
        case EventControl::kFlushed:
        case EventControl::kPaused:
        case EventControl::kEnded:
            return true;
    }
    return false;
}

}  // namespace

void LostRecords::add(const uint64_t* lost, uint32_t kinds) {
    for (uint32_t i = 0; i < std::min(kinds, kEventLosses); ++i) of[i] += lost[i];
}
uint64_t LostRecords::all() const { return std::accumulate(of.begin(), of.end(), uint64_t{0}); }

uint64_t message_number(uint32_t from, uint32_t to, uint64_t comm_and_tag, uint64_t n) {
    uint64_t number = 0xcbf29ce484222325;
    for (const uint64_t part : {uint64_t{from}, uint64_t{to}, comm_and_tag, n}) {
        number = (number ^ part) * 0x9e3779b97f4a7c15;
        number ^= number >> 29;
    }
    return value_of_more(number);  // fits into a further word
}

bool is_known(const Event& event) {
    if (event.kind == EventKind::kControl) return is_known(static_cast<EventControl>(event.what));
    return event.kind < EventKind::kControl;
}

void EventStream::rewind() {
    block_ = at_ = 0;
    words_.clear();
    next_word_ = words_read_ = lost_ = skipped_ = 0;
    damaged_ = 0;
    has_base_ = false;
}

bool EventStream::next_block() {
    while (block_ != thread_->blocks.size()) {
        const auto& [log, block] = thread_->blocks[block_++];
        at_ = 0;
        words_read_ += block.words;
        // A process killed while it flushed, or two readers: both may have written the same words.
        // Of a filtered log blocks may stand for none: the next one stands for theirs.
        const uint64_t end = block.first_word + block.words;
        if (end < next_word_ || (end == next_word_ && block.words != 0)) continue;
        if (!log->read_block(block, &words_)) {
            damaged_ += 1;
            words_.clear();
            continue;
        }
        // The base of the times behind a gap is not known.
        if (block.first_word > next_word_) {
            lost_ += block.first_word - next_word_;
            has_base_ = false;
        } else {
            at_ = std::min<size_t>(next_word_ - block.first_word, words_.size());
        }
        next_word_ = end;
        if (at_ != words_.size()) return true;
    }
    return false;
}

bool EventStream::next(Event* event) {
    for (;;) {
        if (at_ == words_.size() && !next_block()) return false;
        const uint64_t word = words_[at_];
        if (!read_record(words_, &at_, event)) continue;
        if (is_control(*event, EventControl::kBase)) {
            if (event->more == 0) continue;
            base_ = event->values[0];
            has_base_ = true;
            continue;
        }
        if (!has_base_) {
            skipped_ += 1 + event->more;
            continue;
        }
        event->time = base_ + time_of_event(word);
        return true;
    }
}

}  // namespace dwell
