// Reads the newest words of each thread; see last_events.h.
#include "report/events/last_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "report/events/timeline.h"
#include "report/figures/text_style.h"

namespace dwell {
namespace {

constexpr size_t kRanksShown = 4;
constexpr size_t kEventsShown = 10;
constexpr size_t kOpenShown = 3;
constexpr int kColumns = 76;
constexpr uint64_t kNewestWords = uint64_t{1} << 18;  // of a thread, at first
constexpr uint64_t kMostWords = uint64_t{1} << 30;

struct Shown {
    uint64_t ns;
    std::string text;
};
struct LastOfThread {
    std::deque<Shown> events;
    std::vector<uint32_t> open;  // places that it never left, innermost first
    bool is_over = false;        // the next ends are the timeline's own
};

std::string name_of(Timeline* timeline, uint32_t place) {
    const TimelinePlace& of = timeline->place(place);
    return of.where.empty() ? of.name : of.name + " " + of.where;
}

std::string rank_of(uint32_t rank) {
    return rank == kEventNobody ? "an unknown rank" : fmt::format("rank {}", rank);
}

std::string message_text(const char* verb, const Event& event) {
    if (event.more < 2) return fmt::format("{} {}", verb, rank_of(event.what));
    return fmt::format("{} {}, tag {}, {} bytes", verb, rank_of(event.what),
                       tag_of_message(event.values[1]), event.values[0]);
}

std::string control_text(const Event& event) {
    const uint64_t first = event.more > 0 ? event.values[0] : 0;
    switch (static_cast<EventControl>(event.what)) {
        case EventControl::kGap: {
            uint64_t lost = 0;
            for (uint32_t i = 0; i < event.more; ++i) lost += event.values[i];
            return fmt::format("{} records were lost", lost);
        }
        case EventControl::kOn:
            return "events on";
        case EventControl::kOff:
            return "events off";
        case EventControl::kLocked:
            return fmt::format("lock {:#x} acquired", first);
        case EventControl::kUnlocked:
            return fmt::format("lock {:#x} released", first);
        default:
            return {};
    }
}

// Empty: it says nothing by itself.
std::string text_of(Timeline* timeline, const TimelineEvent& event) {
    const Event& record = event.event;
    const uint64_t first = record.more > 0 ? record.values[0] : 0;
    const uint64_t second = record.more > 1 ? record.values[1] : 0;
    switch (event.kind) {
        case TimelineKind::kBegin:
            return "enter " + name_of(timeline, event.place);
        case TimelineKind::kEnd:
            return "leave " + name_of(timeline, event.place);
        case TimelineKind::kMark:
            return "mark " + name_of(timeline, event.place);
        case TimelineKind::kOther:
            break;
    }
    switch (record.kind) {
        case EventKind::kSend:
            return message_text("send to", record);
        case EventKind::kReceive:
            return message_text("receive from", record);
        case EventKind::kOneSided:
            return fmt::format("put {} and get {} bytes, {}", first, second, rank_of(record.what));
        case EventKind::kCollective:
            return fmt::format("collective, {} bytes out, {} in", first, second);
        case EventKind::kStart:
            return fmt::format("request {} starts", record.what);
        case EventKind::kComplete:
            return fmt::format("request {} is complete", record.what);
        case EventKind::kIo:
            return fmt::format("read {}, wrote {} bytes", first, second);
        case EventKind::kControl:
            return control_text(record);
        default:
            return {};
    }
}

std::vector<LastOfThread> read_all(Timeline* timeline) {
    std::vector<LastOfThread> last(timeline->threads().size());
    TimelineEvent event;
    while (timeline->next(&event)) {
        LastOfThread& thread = last[event.thread];
        if (thread.is_over && event.kind == TimelineKind::kEnd) {
            thread.open.push_back(event.place);
            continue;
        }
        thread.is_over = timeline->following(event.thread, 0) == nullptr;
        std::string text = text_of(timeline, event);
        if (text.empty()) continue;
        thread.events.push_back({event.ns, std::move(text)});
        if (thread.events.size() > kEventsShown) thread.events.pop_front();
    }
    return last;
}

std::string section(Timeline* timeline, const LastOfThread& last, const std::string& title,
                    uint64_t end_ns) {
    std::string text = title + "\n";
    const auto add = [&](const std::string& before, const std::string& what) {
        text += fmt::format("{:>10}  {}\n", before, cut_middle(what, kColumns - 12, false));
    };
    for (const Shown& event : last.events) {
        const uint64_t ns = end_ns - event.ns;
        add(ns == 0 ? "0" : "-" + time_text(static_cast<double>(ns), false), event.text);
    }
    std::string open;
    for (size_t i = 0; i < std::min(last.open.size(), kOpenShown); ++i)
        open += (i == 0 ? "" : " in ") + name_of(timeline, last.open[i]);
    if (!open.empty()) add("not left", open);
    return text;
}

// Nothing: the newest words do not suffice.
std::optional<std::string> text_of_newest(const std::vector<std::string>& logs,
                                          const NewestWords& newest) {
    auto timeline = Timeline::open(logs, {}, &newest);
    if (!timeline) return std::string();
    const std::vector<LastOfThread> last = read_all(&*timeline);
    uint64_t end_ns = 0;
    for (const LastOfThread& thread : last) {
        if (!thread.events.empty()) end_ns = std::max(end_ns, thread.events.back().ns);
    }
    std::string text;
    for (const uint32_t rank : newest.ranks) {
        size_t threads = 0;
        std::optional<size_t> shown;
        for (size_t i = 0; i < last.size(); ++i) {
            const TimelineThread& thread = timeline->threads()[i];
            if (timeline->processes()[thread.process].rank != rank) continue;
            threads += 1;
            if (last[i].events.empty()) continue;
            if (!shown || last[i].events.back().ns > last[*shown].events.back().ns) shown = i;
        }
        if (threads != 0 && !shown) return std::nullopt;
        if (!shown) continue;
        const std::string which =
            threads == 1 ? "" : fmt::format(" (thread {})", timeline->threads()[*shown].number);
        text += section(&*timeline, last[*shown],
                        fmt::format("Last events of rank {}{}", rank, which), end_ns);
    }
    return text;
}

}  // namespace

std::string last_events(const std::vector<std::string>& logs, const std::vector<uint32_t>& ranks) {
    if (logs.empty() || ranks.empty()) return {};
    NewestWords newest;
    newest.ranks.assign(
        ranks.begin(), ranks.begin() + static_cast<ptrdiff_t>(std::min(ranks.size(), kRanksShown)));
    std::optional<std::string> text;
    for (newest.words = kNewestWords; !text && newest.words <= kMostWords; newest.words *= 8)
        text = text_of_newest(logs, newest);
    if (!text || text->empty()) return {};
    *text += "Times are before the last of these events.";
    if (ranks.size() > kRanksShown)
        *text += fmt::format(" {} more ranks did not reach their end.", ranks.size() - kRanksShown);
    return *text + "\nAll events: dwell export DIR --to perfetto\n";
}

}  // namespace dwell
