// Which records of a thread are written, and how the log numbers them.
#include "report/filter/event_filters.h"

#include <unistd.h>

#include <filesystem>
#include <random>

#include "summarize/events/log_set.h"

namespace dwell {
namespace {

RingRecord record(EventKind kind, uint32_t what, uint64_t time) {
    RingRecord made{time, {}, kNoEventPlace};
    made.event.kind = kind;
    made.event.what = what;
    made.event.time = time;
    return made;
}
RingRecord control(EventControl what, uint64_t time) {
    return record(EventKind::kControl, static_cast<uint32_t>(what), time);
}
RingRecord waited(uint32_t node, uint64_t time) {
    RingRecord made = control(EventControl::kWaited, time);
    made.event.more = 2;
    made.event.values[0] = node;
    return made;
}
constexpr EventKind kIn = EventKind::kEnter;
constexpr EventKind kOut = EventKind::kLeave;

// "+1 -1": what a trigger passes on.
std::string text_of(const std::vector<RingRecord>& records) {
    std::string text;
    for (const RingRecord& of : records) {
        const EventKind kind = of.event.kind;
        const std::string sign = kind == kIn                   ? "+"
                                 : kind == kOut                ? "-"
                                 : kind == EventKind::kMark    ? "*"
                                 : kind == EventKind::kControl ? "c"
                                                               : "m";
        text += (text.empty() ? "" : " ") + sign + std::to_string(of.event.what);
    }
    return text;
}
std::string passed(LongInstances* trigger, const std::vector<RingRecord>& records,
                   uint32_t matching = 0, bool ends = true) {
    std::vector<RingRecord> out;
    for (const RingRecord& of : records) trigger->add(of, of.event.what == matching, &out);
    if (ends) trigger->pass_all(&out);
    return text_of(out);
}

TEST(LongInstances, OfASiteAreWrittenWithAllInside) {
    LongInstances trigger(10, true);
    EXPECT_EQ(
        passed(&trigger,
               {record(kIn, 1, 0), record(kIn, 7, 1), record(kIn, 2, 2),
                record(EventKind::kSend, 3, 3), record(kOut, 2, 4),
                record(kOut, 7, 11),  // 10: no longer
                record(EventKind::kMark, 4, 12), record(kIn, 7, 20), record(kIn, 2, 21),
                record(EventKind::kSend, 3, 22), record(kOut, 2, 23), record(kOut, 7, 31),  // 11
                record(kIn, 2, 32), record(kOut, 2, 90), record(kOut, 1, 91)},
               7),
        "+7 +2 m3 -2 -7");
    EXPECT_EQ(trigger.too_short(), 1u);
    EXPECT_EQ(trigger.left_out(), 10u);
}

TEST(LongInstances, ArePassedOnAsSoonAsTheyAreLong) {
    LongInstances trigger(10, true);
    EXPECT_EQ(passed(&trigger, {record(kIn, 7, 0), record(kIn, 2, 5)}, 7, false), "");
    EXPECT_TRUE(trigger.holds());
    EXPECT_EQ(trigger.first_held(), 0u);
    EXPECT_EQ(passed(&trigger, {record(kOut, 2, 11)}, 7, false), "+7 +2 -2");
    EXPECT_FALSE(trigger.holds());
}

TEST(LongInstances, OfAllSitesLackShorterOnesInThem) {
    LongInstances trigger(10, false);
    EXPECT_EQ(
        passed(&trigger, {record(EventKind::kMark, 9, 0), record(kIn, 1, 0), record(kIn, 2, 1),
                          record(EventKind::kSend, 3, 2), record(kOut, 2, 3),
                          record(EventKind::kMark, 4, 5), record(kIn, 5, 20), record(kOut, 5, 29),
                          record(kIn, 6, 30), record(kOut, 6, 50), record(kOut, 1, 60)}),
        "*9 +1 *4 +6 -6 -1");
    EXPECT_EQ(trigger.too_short(), 2u);
    EXPECT_EQ(trigger.left_out(), 5u);
}

TEST(LongInstances, TakeTheirWaitingAndMovesWithThem) {
    LongInstances trigger(10, false);
    EXPECT_EQ(
        passed(&trigger, {control(EventControl::kMoved, 0), record(kIn, 1, 0), record(kOut, 1, 5),
                          waited(1, 5), record(kIn, 2, 6), record(kOut, 2, 20), waited(2, 20)}),
        "+2 -2 c10");
    EXPECT_EQ(trigger.left_out(), 4u);
}

TEST(LongInstances, ThatAreOpenAtTheEndOrAGapAreWritten) {
    LongInstances trigger(10, true);
    EXPECT_EQ(passed(&trigger,
                     {record(kIn, 7, 0), record(kIn, 2, 1), control(EventControl::kGap, 2),
                      record(kOut, 7, 3), record(EventKind::kMark, 4, 4), record(kIn, 7, 5)},
                     7),
              "+7 +2 c2 -7 +7");
    EXPECT_EQ(trigger.too_short(), 0u);
}

TEST(LongInstances, KeepWhatTheLogNeeds) {
    LongInstances trigger(10, true);
    EXPECT_EQ(passed(&trigger,
                     {record(kIn, 7, 0), control(EventControl::kRealTime, 1), record(kOut, 7, 3),
                      control(EventControl::kReset, 4)},
                     7),
              "c4 c7");
}

TEST(LongInstances, WithTooManyRecordsAreWritten) {
    LongInstances trigger(1000, true);
    std::vector<RingRecord> out;
    trigger.add(record(kIn, 7, 0), true, &out);
    for (size_t i = 0; i < kMostHeldRecords + 5; ++i)
        trigger.add(record(EventKind::kSend, 1, 1), false, &out);
    EXPECT_EQ(trigger.untold(), 1u);
    EXPECT_EQ(out.size(), kMostHeldRecords + 6);
    trigger.add(record(kOut, 7, 2), true, &out);
    EXPECT_EQ(trigger.too_short(), 0u);
}

// What random calls leave is nested, and nothing is uncounted.
TEST(LongInstances, StayNested) {
    std::mt19937 random(3);
    for (const bool of_some : {false, true}) {
        LongInstances trigger(40, of_some);
        std::vector<RingRecord> out;
        std::vector<uint32_t> open;
        uint64_t time = 0;
        const int count = 20'000;
        for (int i = 0; i < count; ++i) {
            time += random() % 10;
            if (open.empty() || (open.size() < 8 && random() % 2 == 0)) {
                open.push_back(static_cast<uint32_t>(random() % 5));
                trigger.add(record(kIn, open.back(), time), open.back() == 2, &out);
            } else {
                trigger.add(record(kOut, open.back(), time), open.back() == 2, &out);
                open.pop_back();
            }
        }
        trigger.pass_all(&out);
        EXPECT_EQ(out.size() + trigger.left_out(), static_cast<uint64_t>(count));
        EXPECT_GT(trigger.too_short(), 100u);
        std::vector<RingRecord> stack;
        for (const RingRecord& of : out) {
            if (of.event.kind == kIn) {
                stack.push_back(of);
                continue;
            }
            ASSERT_FALSE(stack.empty());
            ASSERT_EQ(stack.back().event.what, of.event.what);
            if (!of_some) {
                ASSERT_GT(of.event.time - stack.back().event.time, 40u);
            }
            stack.pop_back();
        }
    }
}

TEST(FilterNesting, DropsTheLeaveOfADroppedEnter) {
    FilterNesting nesting;
    FilterCounts counts;
    std::vector<RingRecord> out;
    std::vector<RingRecord> in{record(kIn, 1, 0),
                               record(kIn, 2, 1),
                               record(EventKind::kSend, 3, 2),
                               record(kOut, 2, 3),
                               waited(2, 3),
                               record(EventKind::kSend, 4, 4),
                               record(kIn, 5, 5),
                               record(EventKind::kSend, 6, 6),
                               record(kOut, 5, 7),
                               record(kOut, 1, 8)};
    for (RingRecord& of : in) of.place = of.event.what;
    const auto drop = [](RingRecord* of, uint32_t, std::vector<RingRecord>*) {
        const bool drops = of->event.kind == kOut ||
                           (of->event.kind == kIn && (of->event.what == 2 || of->event.what == 5));
        return FilterNesting::Verdict{drops, false};
    };
    const auto is_call = [](uint32_t place) { return place == 2; };  // 5 is none: its send stays
    nesting.filter(in.data(), in.size(), drop, is_call, &out, &counts);
    EXPECT_EQ(text_of(out), "+1 m4 m6 -1");
    EXPECT_EQ(counts.dropped, 6u);
}

std::vector<uint64_t> ring_words(uint64_t from, int calls, uint64_t step) {
    std::vector<uint64_t> words{
        event_what(EventKind::kControl, static_cast<uint32_t>(EventControl::kBase)),
        event_more(from)};
    for (int i = 0; i < calls; ++i) {
        const uint64_t length = i % 10 == 9 ? 100 : 1;
        words.push_back(uint64_t(i) * step << kEventTimeShift | event_what(kIn, 64));
        words.push_back((uint64_t(i) * step + length) << kEventTimeShift | event_what(kOut, 64));
    }
    return words;
}

RingRecord ended(uint64_t number) {
    RingRecord made = control(EventControl::kEnded, 5);
    made.event.more = 1;
    made.event.values[0] = number;
    return made;
}
uint64_t ended_in(const std::vector<RingRecord>& records) {
    for (const RingRecord& of : records) {
        if (is_control(of.event, EventControl::kEnded)) return of.event.values[0];
    }
    return UINT64_MAX;
}

TEST(FilterNesting, CountsWhatEndedWhileEventsWereOffWithoutDroppedCalls) {
    FilterNesting nesting;
    FilterCounts counts;
    std::vector<RingRecord> out;
    const std::vector<RingRecord> in{record(kIn, 1, 0),
                                     record(kIn, 2, 1),
                                     record(kIn, 1, 2),
                                     record(kIn, 3, 3),
                                     control(EventControl::kOff, 4),
                                     ended(3),
                                     record(kOut, 1, 6)};
    const auto drop = [](RingRecord* of, uint32_t, std::vector<RingRecord>*) {
        return FilterNesting::Verdict{of->event.what == 1, false};
    };
    nesting.filter(
        in.data(), in.size(), drop, [](uint32_t) { return false; }, &out, &counts);
    EXPECT_EQ(text_of(out), "+2 +3 c6 c18");
    EXPECT_EQ(ended_in(out), 2u);  // 3 and 2, not the 1 between
}

TEST(LongInstances, CountWhatEndedWhileEventsWereOffWithoutWhatIsOutside) {
    LongInstances trigger(10, true);
    std::vector<RingRecord> out;
    const auto add = [&](const RingRecord& of) { trigger.add(of, of.event.what == 7, &out); };
    for (const RingRecord& of : {record(kIn, 1, 0), record(kIn, 2, 1), record(kIn, 7, 2),
                                 record(kIn, 3, 3), control(EventControl::kOff, 4)})
        add(of);
    EXPECT_EQ(text_of(out), "+7 +3 c6");  // its length is not known
    out.clear();
    add(ended(1));
    add(record(kOut, 7, 20));
    EXPECT_EQ(text_of(out), "c18 -7");
    EXPECT_EQ(ended_in(out), 1u);
    out.clear();
    for (const RingRecord& of :
         {record(kIn, 7, 30), record(kIn, 3, 31), control(EventControl::kOff, 32), ended(3)})
        add(of);
    EXPECT_EQ(ended_in(out), 2u);  // 3 and 7, not 2
    add(record(EventKind::kMark, 4, 40));
    EXPECT_EQ(text_of(out), "+7 +3 c6 c18");  // nothing more
}

// 3 portions, of which the second is lost: words that were left out are no gap, lost ones are.
TEST(FilteredLogs, ShowTheirGapsAlone) {
    auto filters = EventFilters::start({50, ""}, "");
    ASSERT_TRUE(filters && *filters);
    FileHeader header{};
    header.magic = kRecordMagic;
    header.version = kRecordLayoutVersion;
    header.header_cells = kHeaderCells;
    header.ticks_per_second = 1'000'000'000;
    header.start_ticks = 1;
    const std::string directory =
        std::filesystem::temp_directory_path() / ("filtered-" + std::to_string(getpid()));
    std::filesystem::create_directories(directory);
    RankFilter filter(filters->get(), 0, header);
    auto log = EventLogWriter::create(directory, "host", "job");
    ASSERT_TRUE(log);
    log->write_process(0, header);
    const auto write = [&](const Filtered& filtered) {
        for (const FilteredBlock& block : filtered.blocks)
            log->write_filtered(0, 0, block.first_word, block.ring_words, block.words.data(),
                                block.words.size());
    };
    const RingOwner owner{0, 0, 0, 0};
    const std::vector<uint64_t> first = ring_words(1000, 100, 1000);
    const std::vector<uint64_t> third = ring_words(900'000, 15, 1000);
    write(filter.take({}, owner, 0, 0, first));
    write(filter.take({}, owner, first.size() + 77, 0, third));
    for (const auto& [of, rest] : filter.end()) write(rest);
    log->write_filter(0, filter.totals());
    ASSERT_TRUE(log->close());
    auto set = LogSet::open({log->path()});
    ASSERT_TRUE(set);
    const SetProcess& process = set->processes().front();
    EXPECT_TRUE(process.records.is_filtered);
    EXPECT_EQ(process.records.filter.too_short, 90u + 14);
    EXPECT_EQ(process.records.filter.left_out, 2 * (90u + 14));
    EventStream stream(&process.threads.front());
    Event event;
    std::vector<uint64_t> times;
    while (stream.next(&event)) times.push_back(event.time);
    ASSERT_EQ(times.size(), 2u * 11);
    EXPECT_EQ(times[0], 1000u + 9000);
    EXPECT_EQ(times[1], 1000u + 9100);
    EXPECT_EQ(times[20], 900'000u + 9000);
    EXPECT_EQ(stream.lost(), 77u);
    EXPECT_EQ(stream.skipped(), 0u);
    const LogBlock& last = process.threads.front().blocks.back().block;
    EXPECT_EQ(last.first_word + last.words, first.size() + 77 + third.size());
    std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace dwell
