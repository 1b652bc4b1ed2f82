// Takes records apart and joins them; see ring_records.h.
#include "report/filter/ring_records.h"

#include <algorithm>

namespace dwell {

bool is_of_the_log(const Event& event) {
    if (event.kind != EventKind::kControl) return false;
    return !is_control(event, EventControl::kWaited) && !is_control(event, EventControl::kMoved) &&
           !is_control(event, EventControl::kLocked) && !is_control(event, EventControl::kUnlocked);
}

bool ends_instances(const Event& event) {
    for (const EventControl what : {EventControl::kGap, EventControl::kThread, EventControl::kOn,
                                    EventControl::kOff, EventControl::kEnd}) {
        if (is_control(event, what)) return true;
    }
    return false;
}

void RingReader::read(uint64_t first_word, uint64_t base, const std::vector<uint64_t>& words,
                      std::vector<RingRecord>* records) {
    if (first_word != next_word_) {
        has_base_ = base != 0;
        base_ = base;
    }
    next_word_ = first_word + words.size();
    for (size_t i = 0; i < words.size();) {
        RingRecord record{first_word + i, {}, kNoEventPlace};
        const uint64_t word = words[i];
        Event& event = record.event;
        if (!read_record(words, &i, &event)) continue;
        if (is_control(event, EventControl::kBase)) {
            if (event.more == 0) continue;
            base_ = event.values[0];
            has_base_ = true;
            continue;
        }
        if (!has_base_) continue;
        event.time = base_ + time_of_event(word);
        records->push_back(record);
    }
}

std::vector<uint64_t> words_of(const std::vector<RingRecord>& records) {
    std::vector<uint64_t> words;
    uint64_t base = 0;
    for (const RingRecord& record : records) {
        const Event& event = record.event;
        if (words.empty() || event.time < base || (event.time - base) >> kEventTimeBits != 0) {
            base = event.time;
            words.push_back(
                event_what(EventKind::kControl, static_cast<uint32_t>(EventControl::kBase)));
            words.push_back(event_more(base));
        }
        words.push_back((event.time - base) << kEventTimeShift |
                        event_what(event.kind, event.what));
        for (uint32_t i = 0; i < event.more; ++i) words.push_back(event_more(event.values[i]));
    }
    return words;
}

}  // namespace dwell
