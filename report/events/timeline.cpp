// Merges the streams of all threads by time; see timeline.h.
#include "report/events/timeline.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "report/events/message_channels.h"
#include "report/events/timeline_parts.h"
#include "report/filter/ring_records.h"

namespace dwell {
namespace {

constexpr uint64_t kEventsPerLook = 1 << 12;

}  // namespace

void Timeline::find_window(const EventWindow& window) {
    const auto rate =
        static_cast<double>(logs_->processes().front().records.header.ticks_per_second);
    from_ticks_ = beginning_ + static_cast<uint64_t>(window.from_s * rate);
    if (window.to_s != 0) to_ticks_ = beginning_ + static_cast<uint64_t>(window.to_s * rate);
}

void Timeline::rewind() {
    heap_.clear();
    held_.assign(processes_.size(), {});
    is_held_.assign(processes_.size(), 0);
    notes_.without_begin = notes_.without_end = notes_.without_place = notes_.unknown = 0;
    notes_.begun_before = notes_.ended_after = split_ = 0;
    matches_->rewind();
    pass_ = is_matching_ ? 0 : pass_ + 1;
    events_ = 0;
    std::vector<Source*> sources;
    for (const auto* some : {&sources_, &sample_sources_}) {
        if (is_matching_ && some == &sample_sources_) break;
        for (const auto& source : *some) sources.push_back(source.get());
    }
    for (Source* const source : sources) {
        source->stream.rewind();
        source->ahead.clear();
        source->open.clear();
        source->begins_due = source->ends_due = 0;
        source->unseen_due = 0;
        source->lost_before = 0;
        source->tid = 0;
        source->has_ended = source->is_off = false;
        source->missed = 0;
        source->lost_told = {};
        source->ticks = 0;
        source->at_end = source->is_cut = source->has_gap_due = false;
        advance(source);
        if (from_ticks_ != 0 && !is_matching_) enter_window(source);
        if (is_finished(*source)) continue;
        if (source->begins_due != 0) source->ns = ns_of(*source, from_ticks_);
        heap_.push_back(source);
    }
    std::make_heap(heap_.begin(), heap_.end(), is_later);
}

bool Timeline::is_chosen(uint32_t rank) const { return is_rank_in(choice_.ranks.c_str(), rank); }

// Passes over what is before the window.
void Timeline::enter_window(Source* source) {
    std::vector<Source::Open>& open = source->open;
    for (; !source->at_end && source->ticks < from_ticks_; advance(source)) {
        open.resize(open.size() - std::exchange(source->unseen_due, 0));
        if (source->has_ended) {
            source->has_ended = false;
            open.clear();
            continue;
        }
        const Event& record = source->event;
        if (is_message(record.kind)) has_other_end(*source, record);  // goes on to the next one
        if (record.kind != EventKind::kEnter && record.kind != EventKind::kLeave) continue;
        const uint32_t node = node_of(*source, record.what);
        if (node == kNoNode) continue;
        if (record.kind == EventKind::kEnter) {
            open.push_back({node, kNoPlace});
            continue;
        }
        const auto found = std::find_if(open.rbegin(), open.rend(),
                                        [=](const Source::Open& one) { return one.node == node; });
        if (found != open.rend()) open.erase(found.base() - 1, open.end());
    }
    // After a thread's last record nothing is known of it.
    if (source->at_end && !source->is_cut) open.clear();
    source->begins_due = static_cast<uint32_t>(open.size());
    source->lost_before = source->stream.lost();
}

const TimelinePlace& Timeline::place(uint32_t place) { return places_[place]; }

uint32_t Timeline::node_of(const Source& source, CellIndex cell) const {
    const std::vector<uint32_t>& nodes = names_->nodes[source.process];
    return cell < nodes.size() ? nodes[cell] : kNoNode;
}

uint32_t Timeline::place_of(uint32_t node) {
    std::vector<uint32_t>& known = names_->places;
    if (known.empty()) known.assign(names_->merged.nodes.size(), kNoPlace);
    if (known[node] == kNoPlace) {
        known[node] = static_cast<uint32_t>(places_.size());
        places_.push_back(names_->make(node));
    }
    return known[node];
}

bool Timeline::is_wanted(uint32_t node) const {
    if (choice_.kinds == kAllEvents) [[likely]]
        return true;
    const MergedNode& of = names_->merged.nodes[node];
    return (choice_.kinds & event_bit_of(static_cast<SiteKind>(of.kind), of.call)) != 0;
}

// Records of a call go with it.
bool Timeline::is_wanted(const Source& source, const Event& record) const {
    if (choice_.kinds == kAllEvents) [[likely]]
        return true;
    switch (record.kind) {
        case EventKind::kMetric:
            return (choice_.kinds & kMetricEvents) != 0;
        case EventKind::kSend:
        case EventKind::kReceive:
        case EventKind::kOneSided:
        case EventKind::kStart:
        case EventKind::kComplete:
            return (choice_.kinds & event_bit(SiteKind::kCommunication)) != 0;
        case EventKind::kCollective:
            return (choice_.kinds & kCollectiveEvents) != 0;
        case EventKind::kIo:
            return !source.open.empty() && is_wanted(source.open.back().node);
        case EventKind::kControl:
            break;
        default:
            return true;
    }
    switch (static_cast<EventControl>(record.what)) {
        case EventControl::kLocked:
        case EventControl::kUnlocked:
            return (choice_.kinds & event_bit(SiteKind::kOpenMp)) != 0;
        case EventControl::kWaited: {
            const uint32_t node = record.more != 0
                                      ? node_of(source, static_cast<CellIndex>(record.values[0]))
                                      : kNoNode;
            return node != kNoNode && is_wanted(node);
        }
        default:
            return true;
    }
}

// Not kept: records whose time is not in order, because a thread takes over the overhead of the
// thread that started it after its record kThread, a communicator is made inside of a call, and
// samples are read later.
bool Timeline::is_kept(const Source& source, const Event& event) {
    if (source.of_samples || event.kind == EventKind::kSample)
        return source.of_samples == (event.kind == EventKind::kSample);
    const bool known = is_known(event);
    notes_.unknown += known ? 0 : 1;
    return known && !is_control(event, EventControl::kThread) &&
           !is_control(event, EventControl::kComm) && !is_control(event, EventControl::kEnded);
}

void Timeline::advance(Source* source) {
    const uint64_t before_ns = source->ns;
    do {
        if (!read(source)) return end_source(source);
        if (is_control(source->event, EventControl::kGap))
            source->lost_told.add(source->event.values.data(), source->event.more);
        if (is_control(source->event, EventControl::kThread) && source->event.more != 0) {
            const uint64_t before = std::exchange(source->tid, source->event.values[0]);
            source->has_ended = before != source->tid && !source->open.empty();
            if (source->has_ended) return;
        }
    } while (!is_kept(*source, source->event));
    const uint64_t ticks = source->clock.to_timeline(source->event.time);
    source->ticks = std::max(source->ticks, ticks);  // ends of OpenMP's regions are told late
    if (source->ticks >= to_ticks_ && !is_matching_) [[unlikely]] {
        source->ticks = to_ticks_;
        source->at_end = source->is_cut = true;
    }
    source->ns = ns_of(*source, source->ticks);
    if (source->open.empty() || source->at_end) return;
    const bool is_gap = is_control(source->event, EventControl::kGap);
    if (!is_gap && !is_control(source->event, EventControl::kOff)) return;
    source->unseen_due = ended_unseen(source);
    if (is_gap && source->unseen_due != 0) source->ns = before_ns;
}

// The log does not tell of records that a thread lost behind its last one; nor whether that was in
// the window.
void Timeline::end_source(Source* source) {
    source->at_end = true;
    const LostRecords& told = source->lost_told;
    source->has_gap_due =
        !source->of_samples && !choice_.window.is_timed && source->lost.all() > told.all();
    if (!source->has_gap_due) return;
    source->event.kind = EventKind::kControl;
    source->event.what = static_cast<uint32_t>(EventControl::kGap);
    source->event.more = kEventLosses;
    for (uint32_t i = 0; i < kEventLosses; ++i)
        source->event.values[i] = source->lost.of[i] - std::min(source->lost.of[i], told.of[i]);
}

bool Timeline::is_finished(const Source& source) {
    return source.at_end && source.open.empty() && !source.has_gap_due;
}

// Not before the start of the first process, where the clocks of two hosts contradict each other.
uint64_t Timeline::ns_of(const Source& source, uint64_t ticks) const {
    return source.scale.ns(std::max(ticks, beginning_) - beginning_);
}

bool Timeline::pull(Source* source) {
    Event event;
    if (!source->stream.next(&event)) return false;
    source->ahead.push_back(event);
    return true;
}

bool Timeline::read(Source* source) {
    if (source->ahead.empty()) {
        if (!source->stream.next(&source->event)) return false;
    } else {
        source->event = source->ahead.front();
        source->ahead.pop_front();
    }
    Event& event = source->event;
    if (!source->has_metrics || event.kind != EventKind::kLeave) return true;
    // Metrics are read when the end of a statement was told.
    if (source->ahead.empty() && !pull(source)) return true;
    Event& next = source->ahead.front();
    const bool is_of_end =
        next.kind == EventKind::kMetric && next.what == event.what && next.time == event.time;
    if (is_of_end) std::swap(event, next);
    return true;
}

const Event* Timeline::following(uint32_t thread, size_t number) {
    Source& source = *sources_[thread];
    if (source.at_end) return nullptr;
    if (number == 0) return &source.event;
    const auto in_window = [&](const Event& event) {
        return to_ticks_ == UINT64_MAX || source.clock.to_timeline(event.time) < to_ticks_;
    };
    while (source.ahead.size() < number) {
        if (!pull(&source)) return nullptr;
    }
    return in_window(source.ahead[number - 1]) ? &source.ahead[number - 1] : nullptr;
}

bool Timeline::is_over(uint32_t thread) const { return is_finished(*sources_[thread]); }

uint64_t Timeline::lost_words(uint32_t thread) const {
    return sources_[thread]->stream.lost() - sources_[thread]->lost_before;
}

bool Timeline::is_later(const Source* a, const Source* b) {
    return a->ns != b->ns ? a->ns > b->ns : a->thread > b->thread;
}

int64_t Timeline::start_unix_ns() const {
    if (sources_.empty()) return start_unix_ns_;
    return start_unix_ns_ - static_cast<int64_t>(ns_of(*sources_.front(), start_ticks_));
}

void Timeline::hold(uint32_t process) { is_held_[process] = 1; }

void Timeline::release(uint32_t process) {
    is_held_[process] = 0;
    for (Source* const source : held_[process]) {
        heap_.push_back(source);
        std::push_heap(heap_.begin(), heap_.end(), is_later);
    }
    held_[process].clear();
}

bool Timeline::next(TimelineEvent* event) {
    for (;;) {
        if (heap_.empty()) return false;
        std::pop_heap(heap_.begin(), heap_.end(), is_later);
        Source* const source = heap_.back();
        const uint32_t process = threads_[source->thread].process;
        if (is_held_[process] != 0) [[unlikely]] {
            heap_.pop_back();
            held_[process].push_back(source);
            continue;
        }
        const bool shown = take(source, event);
        if (is_finished(*source)) {
            heap_.pop_back();
        } else {
            std::push_heap(heap_.begin(), heap_.end(), is_later);
        }
        if (!shown && !is_matching_) continue;
        if (++events_ % kEventsPerLook == 0 && watcher_) [[unlikely]]
            tell_progress();
        if (shown) return true;
    }
}

void Timeline::tell_progress() {
    uint64_t read = 0;
    uint64_t words = 1;
    for (const auto& source : sources_) {
        read += source->stream.words();
        words += source->words;
    }
    watcher_(pass_, static_cast<double>(read) / static_cast<double>(words), events_);
}

// The end of the innermost call.
bool Timeline::take_end(Source* source, TimelineEvent* event) {
    event->kind = TimelineKind::kEnd;
    event->place = source->open.back().place;
    source->open.pop_back();
    return event->place != kNoPlace;
}

// Of messages between processes of the logs.
bool Timeline::is_matched(const Event& record) const {
    return record.more >= 2 && is_logged(record.what);
}

bool Timeline::is_logged(uint32_t rank) const { return rank < hosts_.size() && hosts_[rank] != 0; }

// What is missing before the source's record.
void Timeline::note_missing(Source* source) {
    const uint32_t own = processes_[source->process].rank;
    constexpr auto kMessages = static_cast<uint32_t>(EventLoss::kMessages);
    const Event& record = source->event;
    const uint64_t missed = source->stream.lost() + source->stream.skipped();
    const bool misses_words = std::exchange(source->missed, missed) != missed;
    const bool was_off = std::exchange(source->is_off, is_control(record, EventControl::kOff));
    const bool is_gap = is_control(record, EventControl::kGap) &&
                        (record.more <= kMessages || record.values[kMessages] != 0);
    if (misses_words || is_gap) matches_->note_loss(own);
    if (was_off) matches_->note_pause(own);
}

void Timeline::note_message(const Source& source) {
    const uint32_t own = processes_[source.process].rank;
    const uint32_t partner = source.event.what;
    const bool is_shown =
        source.ticks >= from_ticks_ && source.ticks < to_ticks_ && is_wanted(source, source.event);
    if (is_matched(source.event)) {
        matches_->note(own, source.event, {source.ns, hosts_[own] == hosts_[partner], is_shown});
    } else if (is_shown && !is_logged(partner) && is_chosen(partner)) {
        matches_->note_alone();
    }
}

// Notes which messages have both ends.
void Timeline::match_messages() {
    bool may_have_some = false;
    bool lacks_some = false;  // for a time
    for (size_t i = 0; i < names_->merged.nodes.size(); ++i) {
        if (names_->merged.nodes[i].kind != static_cast<uint8_t>(SiteKind::kCommunication))
            continue;
        may_have_some = true;
        lacks_some = lacks_some || (i < is_reduced_.size() && is_reduced_[i]);
    }
    if (!may_have_some) return;
    for (const SetProcess& process : logs_->processes()) {
        const FileHeader& header = process.records.header;
        if (lacks_some || header.events_in_part != 0 || process.records.is_filtered)
            matches_->note_pause(static_cast<uint32_t>(std::max(header.rank, 0)));
    }
    std::map<std::string, uint32_t> numbers;
    for (const TimelineProcess& process : processes_) {
        if (process.rank >= hosts_.size()) hosts_.resize(process.rank + size_t{1});
        const auto number = static_cast<uint32_t>(numbers.size() + 1);
        hosts_[process.rank] = numbers.emplace(process.host, number).first->second;
    }
    is_matching_ = true;
    rewind();
    TimelineEvent none;
    next(&none);
    is_matching_ = false;
    matches_->end_of_notes();
    notes_.guessed_messages = matches_->guessed();
    notes_.lone_messages = matches_->alone();
    notes_.early_receives = matches_->early();
    notes_.earliest_ns = matches_->earliest_ns();
}

bool Timeline::has_other_end(const Source& source, const Event& record) {
    return !is_matched(record) || matches_->has_other_end(processes_[source.process].rank, record);
}

bool Timeline::is_around(uint32_t outer, uint32_t node) const {
    const auto& nodes = names_->merged.nodes;
    while (node != kNoNode && node != outer) node = nodes[node].parent;
    return node == outer;
}

// The innermost call had no end in the log, because its place had no more events, and `node` is
// not called from it.
bool Timeline::is_stale(const Source& source, uint32_t node) const {
    if (source.open.empty()) return false;
    const uint32_t innermost = source.open.back().node;
    if (innermost >= is_reduced_.size() || !is_reduced_[innermost]) return false;
    return !is_around(innermost, node);
}

// How many innermost calls have ended before the thread's next record of a place. MPI and I/O
// statements do not go on where no records are written.
size_t Timeline::ended_unseen(Source* source) const {
    uint64_t ended = 0;
    size_t at = 0;
    while (ended == 0 && (at != source->ahead.size() || pull(source))) {
        const Event& next = source->ahead[at++];
        if (names_node(next.kind) || is_control(next, EventControl::kGap) ||
            is_control(next, EventControl::kThread))
            break;
        if (is_control(next, EventControl::kEnded) && next.more != 0) ended = next.values[0];
    }
    size_t left = source->open.size();
    for (; left != 0; --left) {
        const uint8_t kind = names_->merged.nodes[source->open[left - 1].node].kind;
        const bool is_statement = kind == static_cast<uint8_t>(SiteKind::kCommunication) ||
                                  kind == static_cast<uint8_t>(SiteKind::kIo);
        if (!is_statement && ended == 0) break;
        ended -= is_statement ? 0 : 1;
    }
    return source->open.size() - left;
}

// One event of the source; false where there is nothing to show.
bool Timeline::take(Source* source, TimelineEvent* event) {
    event->ns = source->ns;
    event->thread = source->thread;
    event->is_split = false;
    if (is_matching_) [[unlikely]] {
        source->has_gap_due = false;
        if (source->at_end) return false;
        note_missing(source);
        if (is_message(source->event.kind)) note_message(*source);
        advance(source);
        return false;
    }
    if (source->begins_due != 0) [[unlikely]] {
        Source::Open& open = source->open[source->open.size() - source->begins_due];
        const bool is_shown = is_wanted(open.node);
        if (is_shown) open.place = place_of(open.node);
        event->kind = TimelineKind::kBegin;
        event->place = open.place;
        event->event = {};
        notes_.begun_before += is_shown ? 1 : 0;
        source->begins_due -= 1;
        if (source->begins_due == 0) source->ns = ns_of(*source, source->ticks);
        return is_shown;
    }
    if (source->at_end && source->open.empty()) {
        source->has_gap_due = false;
        event->kind = TimelineKind::kOther;
        event->place = kNoPlace;
        event->event = source->event;
        return true;
    }
    if (source->at_end) {
        const bool is_shown = take_end(source, event);
        (source->is_cut ? notes_.ended_after : notes_.without_end) += is_shown ? 1 : 0;
        return is_shown;
    }
    if (source->has_ended) {
        if (!source->open.empty()) {
            const bool is_shown = take_end(source, event);
            notes_.without_end += is_shown ? 1 : 0;
            return is_shown;
        }
        source->has_ended = false;
        advance(source);
        return false;
    }
    if (source->ends_due != 0) {
        source->ends_due -= 1;
        const bool is_own = source->ends_due == 0;
        const bool is_shown = take_end(source, event);
        if (is_own) advance(source);
        notes_.without_end += is_shown && !is_own ? 1 : 0;
        return is_shown;
    }
    const Event& record = source->event;
    if (source->unseen_due != 0) {
        source->unseen_due -= 1;
        if (source->unseen_due == 0) source->ns = ns_of(*source, source->ticks);
        const bool is_shown = take_end(source, event);
        notes_.without_end += is_shown ? 1 : 0;
        return is_shown;
    }
    const bool names_place = names_node(record.kind) && record.kind != EventKind::kMetric;
    const uint32_t node = names_place ? node_of(*source, record.what) : 0;
    if (node == kNoNode) {
        notes_.without_place += 1;
        advance(source);
        return false;
    }
    if (record.kind == EventKind::kEnter && is_stale(*source, names_->merged.nodes[node].parent)) {
        const bool is_shown = take_end(source, event);
        notes_.without_end += is_shown ? 1 : 0;
        return is_shown;
    }
    if (record.kind == EventKind::kLeave) {
        const auto found =
            std::find_if(source->open.rbegin(), source->open.rend(),
                         [=](const Source::Open& open) { return open.node == node; });
        if (found == source->open.rend()) {
            notes_.without_begin += is_wanted(node) ? 1 : 0;
            advance(source);
            return false;
        }
        source->ends_due = static_cast<uint32_t>(found - source->open.rbegin()) + 1;
        return false;
    }
    const bool is_whole = !is_message(record.kind) || has_other_end(*source, record);
    const bool is_shown = names_place ? is_wanted(node) : is_wanted(*source, record);
    event->place = names_place && is_shown ? place_of(node) : kNoPlace;
    event->event = record;
    event->kind = TimelineKind::kOther;
    if (record.kind == EventKind::kEnter) {
        event->kind = TimelineKind::kBegin;
        source->open.push_back({node, event->place});
    } else if (record.kind == EventKind::kMark) {
        event->kind = TimelineKind::kMark;
    } else if (is_message(record.kind) && is_shown) {
        const bool is_partner_chosen = is_chosen(record.what);
        event->is_split = !is_whole || !is_logged(record.what);
        split_ += is_partner_chosen ? 0 : 1;
    }
    advance(source);
    return is_shown;
}

const TimelineNotes& Timeline::notes() {
    notes_.lost_words = notes_.overwritten_words = notes_.without_time = 0;
    notes_.damaged_blocks = 0;
    notes_.lost_records = {};
    for (const auto& source : sources_) {
        add_losses(source->stream, threads_[source->thread].policy, &notes_);
        // The last state of a thread that was killed may not be in the log.
        notes_.lost_records.add(larger(source->lost, source->lost_told));
    }
    notes_.split_messages = split_ + matches_->split();
    return notes_;
}

}  // namespace dwell
