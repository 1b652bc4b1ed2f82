// Timelines of logs with what no run should leave: clocks that step, records of other versions,
// cells that are missing or damaged. What is left out is counted.
#include "report/events/timeline.h"

#include <filesystem>
#include <fstream>
#include <random>

#include "summarize/events/event_log.h"
#include "tests/unit/support/synthetic_records.h"

namespace dwell {
namespace {

namespace fs = std::filesystem;

class ATimeline : public testing::Test {
  protected:
    void SetUp() override {
        char name[] = "/tmp/dwell-timeline-XXXXXX";
        directory_ = mkdtemp(name);
        root_ = file_.add_thread(0, {});
        outer_ = file_.add_named(root_, SiteKind::kBlock, "outer", {});
        inner_ = file_.add_named(outer_, SiteKind::kBlock, "inner", {});
    }
    void TearDown() override { fs::remove_all(directory_); }

    std::string cells(bool with_inner = true) {
        std::string runs;
        contents_.clear();
        const auto add = [&](CellUse use, CellIndex cell, uint32_t count) {
            const CellRun run{cell, static_cast<uint16_t>(count), use};
            runs.append(reinterpret_cast<const char*>(&run), sizeof run);
            runs.append(static_cast<const char*>(file_.data()) + size_t{cell} * kCellBytes,
                        size_t{count} * kCellBytes);
            for (size_t at = size_t{count} * kCellBytes; at != 0; --at)
                contents_.push_back(runs.size() - at);
        };
        add(CellUse::kThread, file_.header().first_thread, kThreadCells);
        add(CellUse::kNode, root_, 1);
        for (const CellIndex node : {outer_, inner_}) {
            if (node == inner_ && !with_inner) continue;
            add(CellUse::kText, static_cast<CellIndex>(file_.at<Node>(node).site.offset), 1);
            add(CellUse::kNode, node, 1);
        }
        return runs;
    }

    // A log of one thread that has these words.
    std::string log(const std::vector<uint64_t>& words, const std::string& runs,
                    const std::vector<LevelChange>& levels = {}) {
        fs::remove(directory_ + "/here.events");
        auto log = EventLogWriter::create(directory_, "here", "job");
        EXPECT_TRUE(log);
        log->write_process(0, file_.header());
        log->write_cells(0, runs);
        log->write_events(0, 0, 0, words.data(), words.size());
        log->write_levels(0, levels);
        EXPECT_TRUE(log->close());
        return log->path();
    }
    void add(EventKind kind, uint32_t what, uint64_t time, std::vector<uint64_t> more = {}) {
        words_.push_back(time << kEventTimeShift | event_what(kind, what));
        for (const uint64_t value : more) words_.push_back(event_more(value));
    }
    void add(EventControl what, uint64_t value) {
        add(EventKind::kControl, static_cast<uint32_t>(what), 0, {value});
    }

    // The process and the first events.
    void begin_at(uint64_t time) {
        file_.header().start_ticks = time;
        add(EventControl::kBase, time);
    }

    // "outer{ inner{ } }" with the time of each.
    struct Shown {
        std::string text;
        std::vector<uint64_t> times;
        TimelineNotes notes;
    };
    static Shown shown(const std::string& path) {
        Shown all;
        auto timeline = Timeline::open({path});
        EXPECT_TRUE(timeline) << timeline.error();
        if (!timeline) return all;
        TimelineEvent event;
        while (timeline->next(&event)) {
            all.times.push_back(event.ns);
            if (event.kind == TimelineKind::kBegin)
                all.text += timeline->place(event.place).name + "{ ";
            if (event.kind == TimelineKind::kEnd) all.text += "} ";
            if (event.kind == TimelineKind::kMark) all.text += "mark ";
        }
        all.notes = timeline->notes();
        return all;
    }

    std::string directory_;
    RecordFile file_{0, 1};
    CellIndex root_ = 0;
    CellIndex outer_ = 0;
    CellIndex inner_ = 0;
    std::vector<uint64_t> words_;
    std::vector<size_t> contents_;  // bytes of cells
};

TEST_F(ATimeline, GoesOnWhereTheClockStepsBack) {
    constexpr uint64_t kStep = 1'000'000;
    begin_at(5 * kStep);
    add(EventKind::kEnter, outer_, 0);
    add(EventKind::kEnter, inner_, 10);
    add(EventControl::kBase, 4 * kStep);
    add(EventKind::kLeave, inner_, 20);
    add(EventControl::kBase, 0);
    add(EventKind::kLeave, outer_, 30);
    add(EventControl::kBase, 6 * kStep);
    add(EventKind::kEnter, outer_, 0);
    const Shown events = shown(log(words_, cells()));
    EXPECT_EQ(events.text, "outer{ inner{ } } outer{ } ");
    EXPECT_EQ(events.times, (std::vector<uint64_t>{0, 10, 10, 10, kStep, kStep}));
    EXPECT_EQ(events.notes.without_end, 1u);  // the last one
}

// One of two calls has ended while events were off.
TEST_F(ATimeline, EndsCallsThatEndedWhileEventsWereOff) {
    constexpr auto kControl = EventKind::kControl;
    begin_at(1000);
    add(EventControl::kThread, 7);
    add(EventKind::kEnter, outer_, 0);
    add(EventKind::kEnter, inner_, 1);
    add(kControl, static_cast<uint32_t>(EventControl::kOff), 10);
    add(EventControl::kBase, 1050);
    add(EventControl::kEnded, 1);
    add(EventControl::kThread, 7);
    add(EventKind::kLeave, inner_, 20);  // of another one
    add(EventKind::kLeave, outer_, 30);
    const Shown events = shown(log(words_, cells()));
    EXPECT_EQ(events.text, "outer{ inner{ } } ");
    EXPECT_EQ(events.times, (std::vector<uint64_t>{0, 1, 10, 10, 80}));
    EXPECT_EQ(events.notes.without_end, 1u);
    EXPECT_EQ(events.notes.without_begin, 1u);
}

TEST_F(ATimeline, CountsRecordsThatItDoesNotKnow) {
    begin_at(1000);
    add(EventKind::kEnter, outer_, 0);
    add(static_cast<EventKind>(14), 77, 1, {1, 2, 3});
    add(static_cast<EventControl>(4000), 5);
    add(EventKind::kSend, 0, 3, {8, event_message(1, 1)});
    add(EventKind::kLeave, outer_, 9);
    const Shown events = shown(log(words_, cells()));
    EXPECT_EQ(events.text, "outer{ } ");
    EXPECT_EQ(events.times, (std::vector<uint64_t>{0, 3, 9}));
    EXPECT_EQ(events.notes.unknown, 2u);
}

TEST_F(ATimeline, CountsRecordsOfPlacesThatTheLogLacks) {
    begin_at(1000);
    for (const CellIndex node : {outer_, inner_}) add(EventKind::kEnter, node, 0);
    add(EventKind::kMark, 9'999'999, 5, {1});
    for (const CellIndex node : {inner_, outer_}) add(EventKind::kLeave, node, 9);
    const Shown events = shown(log(words_, cells(false)));
    EXPECT_EQ(events.text, "outer{ } ");
    EXPECT_EQ(events.notes.without_place, 3u);
}

TEST_F(ATimeline, ClosesTheCallsOfAThreadWhoseRecordAnotherOneTakesOver) {
    begin_at(1000);
    add(EventControl::kThread, 41);
    add(EventKind::kEnter, outer_, 1);
    add(EventKind::kEnter, inner_, 2);
    add(EventControl::kThread, 41);  // events were switched on again
    add(EventKind::kLeave, inner_, 3);
    add(EventControl::kThread, 42);
    add(EventKind::kEnter, outer_, 4);
    add(EventKind::kLeave, outer_, 5);
    const Shown events = shown(log(words_, cells()));
    EXPECT_EQ(events.text, "outer{ inner{ } } outer{ } ");
    EXPECT_EQ(events.times, (std::vector<uint64_t>{1, 2, 3, 3, 4, 5}));
    EXPECT_EQ(events.notes.without_end, 1u);
}

// Of which only the beginning is in the log (dwell run --events-rate).
TEST_F(ATimeline, EndsACallOfAReducedPlaceWhereAnotherOneBegins) {
    begin_at(1000);
    add(EventKind::kEnter, outer_, 1);
    add(EventKind::kEnter, inner_, 2);
    add(EventKind::kEnter, outer_, 5);
    add(EventKind::kLeave, outer_, 6);
    add(EventKind::kLeave, outer_, 7);
    const std::vector<LevelChange> levels = {{inner_, EventLevel::kCounts, 1003, 0, 0}};
    const Shown events = shown(log(words_, cells(), levels));
    EXPECT_EQ(events.text, "outer{ inner{ } outer{ } } ");
    EXPECT_EQ(events.times, (std::vector<uint64_t>{1, 2, 5, 5, 6, 7}));
    EXPECT_EQ(events.notes.without_end, 1u);
}

// With right checksums, as of a writer gone wrong.
TEST_F(ATimeline, TakesAnyCellsAndWords) {
    begin_at(1000);
    for (uint64_t i = 0; i < 20; ++i) {
        add(EventControl::kThread, 40 + i / 5);
        add(EventKind::kEnter, outer_, 10 * i);
        add(EventKind::kSend, 1, 10 * i + 1, {8, event_message(1, 1)});
        add(EventControl::kComm, i);
        add(EventKind::kLeave, outer_, 10 * i + 2);
    }
    std::mt19937_64 random(11);
    const std::string good = cells();
    for (int round = 0; round < 500; ++round) {
        std::string runs = good;
        std::vector<uint64_t> words = words_;
        for (uint64_t bytes = random() % 4; bytes != 0; --bytes)
            runs[contents_[random() % contents_.size()]] = static_cast<char>(random());
        for (uint64_t changed = random() % 4; changed != 0; --changed)
            words[1 + random() % (words.size() - 1)] = random();
        const Shown events = shown(log(words, runs));
        EXPECT_TRUE(std::is_sorted(events.times.begin(), events.times.end()));
        const auto count = [&](char sign) {
            return std::count(events.text.begin(), events.text.end(), sign);
        };
        EXPECT_EQ(count('{'), count('}'));
    }
}

TEST_F(ATimeline, OpensWhereverTheFileEnds) {
    begin_at(1000);
    add(EventKind::kEnter, outer_, 0);
    add(EventKind::kLeave, outer_, 9);
    std::ifstream whole(log(words_, cells()), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(whole)), {});
    for (size_t size = 0; size <= bytes.size(); ++size) {
        const std::string cut = directory_ + "/cut.events";
        std::ofstream(cut, std::ios::binary)
            .write(bytes.data(), static_cast<std::streamsize>(size));
        auto timeline = Timeline::open({cut});
        ASSERT_EQ(timeline.has_value(), size >= sizeof(LogHead)) << size;
        if (!timeline) {
            EXPECT_EQ(timeline.error(), cut + ": this is no event log");
            continue;
        }
        TimelineEvent event;
        size_t events = 0;
        while (timeline->next(&event)) events += 1;
        const bool is_whole = timeline->notes().unfinished_logs == 0;
        EXPECT_EQ(is_whole, size == bytes.size());
        EXPECT_TRUE(events == 2 || (events == 0 && !is_whole));
    }
}

}  // namespace
}  // namespace dwell
