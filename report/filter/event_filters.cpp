// Joins trigger, filter and the numbers of words; see event_filters.h.
#include "report/filter/event_filters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "report/figures/job_facts.h"

namespace dwell {
namespace {

void add_cells(CellUse use, CellIndex cell, const void* bytes, size_t count, uint32_t cells,
               std::string* runs) {
    const CellRun run{cell, static_cast<uint16_t>(cells), use};
    runs->append(reinterpret_cast<const char*>(&run), sizeof run);
    runs->append(static_cast<const char*>(bytes), count);
    runs->append(size_t{cells} * kCellBytes - count, '\0');
}

// A TextRecord with its text.
std::string text_record(const std::string& text) {
    std::string bytes(offsetof(TextRecord, text), '\0');
    const auto count = static_cast<uint32_t>(text.size());
    memcpy(bytes.data() + offsetof(TextRecord, bytes), &count, sizeof count);
    return bytes + text + '\0';
}

}  // namespace

std::string line_of_log(const LogFilter& totals, bool is_unfinished) {
    const std::string which = "the log is filtered (--events-longer, --events-filter): ";
    const uint64_t left_out = totals.left_out + totals.dropped;
    if (is_unfinished && left_out + totals.changed + totals.added == 0)
        return which + "how many records were left out is not known";
    return which + fmt::format("{} records were left out, {} changed, {} added", left_out,
                               totals.changed, totals.added);
}

tl::expected<std::unique_ptr<EventFilters>, std::string> EventFilters::start(
    const EventTrigger& trigger, const std::string& filter) {
    if (trigger.limit_ns == 0 && filter.empty()) return nullptr;
    auto filters = std::make_unique<EventFilters>();
    filters->limit_ns_ = trigger.limit_ns;
    filters->pattern_ = trigger.pattern;
    if (!filter.empty()) {
        auto process = FilterProcess::start(filter);
        if (!process) return tl::make_unexpected(process.error());
        filters->process_ = std::move(*process);
    }
    return filters;
}

std::string EventFilters::finish() {
    if (!process_) return {};
    process_->finish();
    if (process_->failure().empty()) return {};
    return "filter " + process_->file() + " " + process_->failure() +
           ": events behind that are written as they are";
}

bool EventFilters::matches(uint32_t place) {
    if (pattern_.empty() || place == kNoEventPlace) return false;
    while (matches_.size() <= place)
        matches_.push_back(is_place(places_.all()[matches_.size()], pattern_) ? 1 : 0);
    return matches_[place] != 0;
}

RankFilter::RankFilter(EventFilters* filters, uint32_t process, const FileHeader& header)
    : filters_(*filters) {
    if (filters->first_ticks_ == 0) filters->first_ticks_ = header.start_ticks;
    of_.process = process;
    set_rank(header.rank);
    of_.ticks_per_second = std::max<uint64_t>(header.ticks_per_second, 1);
    of_.first_ticks = filters->first_ticks_;
}

RankFilter::Thread* RankFilter::thread(const RingOwner& owner) {
    const double ticks =
        static_cast<double>(filters_.limit_ns_) * 1e-9 * static_cast<double>(of_.ticks_per_second);
    const auto known = threads_.try_emplace(owner.number, static_cast<uint64_t>(ticks),
                                            !filters_.pattern_.empty());
    known.first->second.owner = owner;
    return &known.first->second;
}

Filtered RankFilter::take(std::string_view records, const RingOwner& owner, uint64_t first_word,
                          uint64_t base, const std::vector<uint64_t>& words) {
    Filtered result;
    if (threads_.empty()) goes_on_for_another_ = first_word != 0;
    Thread* const of = thread(owner);
    std::vector<RingRecord> read;
    std::vector<RingRecord> passed;
    if (first_word != of->reader.next_word()) {  // words are lost: what is open may have ended
        of->trigger.pass_all(&passed);
        finish(of, &passed, &result);
        passed.clear();
        of->written = first_word;
        lacks_messages_ = true;
    }
    of->reader.read(first_word, base, words, &read);
    name_places(records, &read);
    number_messages(&read);
    if (filters_.limit_ns_ == 0) {
        passed = std::move(read);
    } else {
        for (const RingRecord& record : read)
            of->trigger.add(record, filters_.matches(record.place), &passed);
    }
    finish(of, &passed, &result);
    return result;
}

std::vector<std::pair<RingOwner, Filtered>> RankFilter::end() {
    std::vector<std::pair<RingOwner, Filtered>> rest;
    for (auto& [number, thread] : threads_) {
        std::vector<RingRecord> passed;
        thread.trigger.pass_all(&passed);
        Filtered result;
        finish(&thread, &passed, &result);
        // So that the end of what was left out is no loss.
        if (thread.written != thread.reader.next_word()) {
            result.blocks.push_back(
                {thread.written, thread.reader.next_word() - thread.written, {}});
            thread.written = thread.reader.next_word();
        }
        rest.emplace_back(thread.owner, std::move(result));
    }
    return rest;
}

void RankFilter::name_places(std::string_view records, std::vector<RingRecord>* read) {
    if (!filters_.needs_places()) return;
    std::vector<CellIndex> unknown;
    for (const RingRecord& record : *read) {
        if (names_node(record.event.kind) && places_.count(record.event.what) == 0)
            unknown.push_back(record.event.what);
    }
    if (!unknown.empty()) filters_.places_.find(records, unknown, &places_);
    for (RingRecord& record : *read) {
        if (names_node(record.event.kind)) record.place = places_.at(record.event.what);
    }
}

// Exports number messages to find both ends of one: of a filtered log they cannot. Once some are
// lost, numbers are not known.
void RankFilter::number_messages(std::vector<RingRecord>* read) {
    constexpr auto kLost = static_cast<uint32_t>(EventLoss::kMessages);
    for (RingRecord& record : *read) {
        Event& event = record.event;
        if (is_control(event, EventControl::kGap) && event.more > kLost &&
            event.values[kLost] != 0) {
            lacks_messages_ = true;
        }
        const bool sends = event.kind == EventKind::kSend;
        if ((!sends && event.kind != EventKind::kReceive) || event.more != 2) continue;
        if (lacks_messages_) continue;
        const uint64_t n =
            messages_[{uint64_t{event.what} << 1 | (sends ? 1 : 0), event.values[1]}]++;
        event.values[event.more++] = message_number(
            sends ? of_.rank : event.what, sends ? event.what : of_.rank, event.values[1], n);
    }
}

// Has the filter see what the trigger passed on, and makes words of the rest.
void RankFilter::finish(Thread* thread, std::vector<RingRecord>* records, Filtered* into) {
    if (records->empty()) return;
    if (filters_.process_) {
        of_.thread = thread->owner.number;
        filters_.process_->filter(of_, filters_.places_.all(), records, &counts_);
        make_marks(thread->owner, records, into);
    }
    if (records->empty()) return;
    const uint64_t end =
        thread->trigger.holds() ? thread->trigger.first_held() : thread->reader.next_word();
    into->blocks.push_back({thread->written, end - thread->written, words_of(*records)});
    thread->written = end;
}

void RankFilter::make_marks(const RingOwner& owner, std::vector<RingRecord>* records,
                            Filtered* into) {
    const auto has_no_room = [&](RingRecord& record) {
        if (record.mark == 0) return false;
        const CellIndex node = mark_of(owner, record.mark, into);
        record.event.what = node;
        if (node == 0) {
            counts_.added -= 1;
            counts_.refused += 1;
        }
        return node == 0;
    };
    records->erase(std::remove_if(records->begin(), records->end(), has_no_room), records->end());
}

CellIndex RankFilter::mark_of(const RingOwner& owner, uint32_t mark, Filtered* into) {
    CellIndex& known = marks_[mark];
    if (known != 0 || mark > filters_.process_->names().size()) return known;
    if (end_cell_ == 0) {  // the second half is for who goes on for another one
        const uint32_t half =
            owner.ring_words / static_cast<uint32_t>(2 * kCellBytes / sizeof(uint64_t));
        next_cell_ = owner.ring + (goes_on_for_another_ ? half : 0);
        end_cell_ = next_cell_ + half;
    }
    const std::string text = text_record(filters_.process_->names()[mark - 1]);
    const auto cells = static_cast<uint32_t>((text.size() + kCellBytes - 1) / kCellBytes);
    if (end_cell_ - next_cell_ < 1 + cells) return 0;
    Node node{};
    node.site.kind = SiteKind::kMarker;
    node.site.flags = kNodeNamed;
    node.site.offset = next_cell_ + 1;
    node.parent = owner.root;
    node.count = 1;
    known = next_cell_;
    add_cells(CellUse::kText, known + 1, text.data(), text.size(), cells, &into->runs);
    add_cells(CellUse::kNode, known, &node, sizeof node, 1, &into->runs);
    into->made.push_back(known);
    next_cell_ += 1 + cells;
    return known;
}

LogFilter RankFilter::totals() const {
    LogFilter totals;
    for (const auto& [number, thread] : threads_) {
        totals.too_short += thread.trigger.too_short();
        totals.left_out += thread.trigger.left_out();
        totals.untold += thread.trigger.untold();
    }
    totals.dropped = counts_.dropped;
    totals.changed = counts_.changed;
    totals.added = counts_.added;
    totals.refused = counts_.refused;
    return totals;
}

std::vector<std::string> EventFilters::lines_of(const LogFilter& totals) const {
    std::vector<std::string> lines;
    if (limit_ns_ != 0) {
        lines.push_back("--events-longer left out " +
                        counted(totals.left_out, "record", "records") + ", " +
                        counted(totals.too_short, "instance", "instances") +
                        (pattern_.empty() ? "" : " of " + pattern_) + " took no longer");
        if (!pattern_.empty() && std::find(matches_.begin(), matches_.end(), 1) == matches_.end())
            lines.push_back("--events-longer: no place with events is called " + pattern_);
    }
    if (totals.untold != 0)
        lines.push_back(counted(totals.untold, "instance", "instances") +
                        " had too many records to wait for the end: all are written");
    if (process_) {
        lines.push_back(fmt::format("filter {} dropped {}, changed {}, added {} records",
                                    process_->file(), totals.dropped, totals.changed,
                                    totals.added));
    }
    if (totals.refused != 0)
        lines.push_back(counted(totals.refused, "mark", "marks") + " of the filter found no room");
    return lines;
}

}  // namespace dwell
