// Rings of events: a small one, with times given by hand, and a reader that takes words as
// `dwell run` does.
#include "runtime/events/events.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "runtime/calltree/nodes.h"
#include "runtime/events/event_flush.h"
#include "runtime/events/event_places.h"
#include "runtime/process/event_settings.h"
#include "tests/unit/support/recording.h"

namespace dwell {
namespace {

constexpr uint64_t kFirst = uint64_t{1} << 40;  // a time of the tests

class ARingOfEvents : public Records {
  protected:
    void SetUp() override {
        Records::SetUp();
        g_process.options.event_words = kLeastRingWords;
        g_process.options.event_mib = 1;
        g_process.options.event_kinds = kAllEvents;
        g_process.event_cost_ticks = 0;
        begin(EventPolicy::kDrop);
    }
    void TearDown() override {
        if (writes_events(t_thread)) stop_writing(t_thread);
        g_live->event_order = EventOrder::kNone;
    }
    void begin(EventPolicy policy) {
        if (writes_events(t_thread)) stop_writing(t_thread);
        ring() = EventRing{};
        g_process.ring_cells = 0;
        g_process.options.event_policy = policy;
        g_live->event_order = EventOrder::kOn;
        start_events(t_thread, true);
        ASSERT_TRUE(writes_events(t_thread));
        take();
    }
    EventRing& ring() { return t_thread->record->events; }
    uint64_t written() {
        return words_written(ring(), ring().next != 0 ? ring().next : ring().rests_at);
    }
    // What was written since the last time.
    std::vector<uint64_t> take() {
        std::vector<uint64_t> words;
        const auto* const first = reinterpret_cast<const uint64_t*>(ring().first);
        const uint64_t end = written();
        for (uint64_t at = ring().read; at != end; ++at) words.push_back(first[at % ring().words]);
        ring().read = end;
        return words;
    }
    void enter(uint64_t at, uint32_t node = 7) {
        write_event(t_thread, EventKind::kEnter, node, at);
    }
};

// The records of these words, with whole times.
struct Told {
    EventKind kind;
    uint32_t what;
    uint64_t time;
    std::vector<uint64_t> more;
};
std::vector<Told> records_in(const std::vector<uint64_t>& words) {
    std::vector<Told> records;
    uint64_t base = 0;
    for (const uint64_t word : words) {
        if (event_kind(word) == EventKind::kMore) {
            records.back().more.push_back(value_of_more(word));
            const Told& last = records.back();
            const bool is_base = last.kind == EventKind::kControl &&
                                 last.what == static_cast<uint32_t>(EventControl::kBase);
            if (is_base) base = last.more.front();
        } else if (event_kind(word) != EventKind::kFiller) {
            records.push_back(
                {event_kind(word), what_of_event(word), base + time_of_event(word), {}});
        }
    }
    return records;
}
std::vector<Told> of_kind(const std::vector<uint64_t>& words, EventKind kind) {
    std::vector<Told> found;
    for (const Told& record : records_in(words)) {
        if (record.kind == kind) found.push_back(record);
    }
    return found;
}
uint64_t lost_in(const std::vector<uint64_t>& words, EventLoss loss) {
    uint64_t lost = 0;
    for (const Told& record : of_kind(words, EventKind::kControl)) {
        if (record.what == static_cast<uint32_t>(EventControl::kGap))
            lost += record.more[static_cast<size_t>(loss)];
    }
    return lost;
}

TEST_F(ARingOfEvents, HoldsARecordInAWord) {
    enter(kFirst);  // brings its time
    take();
    enter(kFirst + 5);
    write_event(t_thread, EventKind::kLeave, 7, kFirst + 9);
    const auto words = take();
    ASSERT_EQ(words.size(), 2u);
    enter(kFirst);
    const auto records = records_in(words);
    EXPECT_EQ(records[0].kind, EventKind::kEnter);
    EXPECT_EQ(records[1].what, 7u);
    EXPECT_EQ(records[1].time - records[0].time, 4u);
}

TEST_F(ARingOfEvents, HoldsWholeValuesBehindARecord) {
    write_event(t_thread, EventKind::kSend, 3, kFirst, uint64_t{1} << 59,
                event_message(0x1234567, 0x7fffffff));
    const auto sent = of_kind(take(), EventKind::kSend);
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].time, kFirst);
    ASSERT_EQ(sent[0].more.size(), 2u);
    EXPECT_EQ(sent[0].more[0], uint64_t{1} << 59);
    EXPECT_EQ(comm_of_message(sent[0].more[1]), 0x1234567u);
    EXPECT_EQ(tag_of_message(sent[0].more[1]), 0x7fffffffu);
}

TEST_F(ARingOfEvents, TellsTimesThatDoNotFitIntoARecord) {
    constexpr uint64_t kFar = uint64_t{1} << (kEventTimeBits + 3);
    for (const uint64_t at : {kFirst, kFirst + kFar, kFirst + kFar + 1, kFirst - 2}) enter(at);
    const auto entered = of_kind(take(), EventKind::kEnter);
    ASSERT_EQ(entered.size(), 4u);
    EXPECT_EQ(entered[0].time, kFirst);
    EXPECT_EQ(entered[1].time, kFirst + kFar);
    EXPECT_EQ(entered[2].time, kFirst + kFar + 1);
    EXPECT_EQ(entered[3].time, kFirst - 2);  // a thread's virtual time may go back with its record
}

// Where dwell takes its costs to be higher than they are.
TEST_F(ARingOfEvents, BearsAVirtualTimeThatGoesBackALittle) {
    for (uint64_t i = 0; i < 100; ++i) enter(kFirst - 50 * i);
    const std::vector<uint64_t> words = take();
    EXPECT_EQ(words.size(), 100u + 2);
    EXPECT_EQ(of_kind(words, EventKind::kEnter).back().time, kFirst - 50 * 99);
}

TEST_F(ARingOfEvents, GoesOnAtItsBeginning) {
    uint64_t read = 0;
    for (uint64_t i = 0; i < 5 * kLeastRingWords; ++i) {
        if (i % 3 == 0) {
            write_event(t_thread, EventKind::kSend, 1, kFirst + i, i, i);
        } else {
            enter(kFirst + i);
        }
        if (i % 1000 == 999) read += of_kind(take(), EventKind::kEnter).size();
    }
    read += of_kind(take(), EventKind::kEnter).size();
    EXPECT_EQ(read, 5 * kLeastRingWords - (5 * kLeastRingWords + 2) / 3);
    EXPECT_EQ(ring().lost[0] + ring().lost[1] + ring().lost[2], 0u);
}

TEST_F(ARingOfEvents, LosesRecordsAndSaysHowMany) {
    for (uint64_t i = 0; i < 2 * kLeastRingWords; ++i) enter(kFirst + i);
    write_event(t_thread, EventKind::kReceive, 1, kFirst, 8, 0);
    const auto kept = of_kind(take(), EventKind::kEnter);
    EXPECT_GT(kept.size(), kLeastRingWords - 32);
    enter(kFirst);
    const auto words = take();
    EXPECT_EQ(lost_in(words, EventLoss::kEntersAndLeaves), 2 * kLeastRingWords - kept.size());
    EXPECT_EQ(lost_in(words, EventLoss::kMessages), 1u);
    EXPECT_EQ(of_kind(words, EventKind::kEnter).size(), 1u);
}

TEST_F(ARingOfEvents, WaitsForAQuarterToBeFreeBeforeItGoesOn) {
    while (ring().lost[0] == 0) enter(kFirst);
    ring().read += kLeastRingWords / 4 - 100;
    enter(kFirst);
    EXPECT_EQ(ring().lost[0], 2u);
    ring().read += 200;
    enter(kFirst);
    EXPECT_EQ(ring().lost[0], 2u);
}

TEST_F(ARingOfEvents, StopsWhenItIsFull) {
    begin(EventPolicy::kStop);
    for (uint64_t i = 0; ring().lost[0] == 0; ++i) enter(kFirst + i);
    const uint64_t end = written();
    const auto kept = of_kind(take(), EventKind::kEnter);
    for (size_t i = 0; i < kept.size(); ++i) ASSERT_EQ(kept[i].time, kFirst + i);
    note_node(t_thread, t_thread->record->root, EventKind::kEnter, kFirst);
    stop_writing(t_thread);
    start_events(t_thread, true);
    EXPECT_EQ(written(), end);
    EXPECT_EQ(ring().lost[0], 2u);
    EXPECT_EQ(ring().lost[static_cast<size_t>(EventLoss::kOther)], 1u);  // kThread
}

TEST_F(ARingOfEvents, HasNoRecordBetweenLostOnesAndTheirNumber) {
    for (int i = 0; i < 100; ++i) enter(kFirst);
    take();
    while (ring().words - (written() - ring().read) > 3) enter(kFirst);
    ASSERT_EQ(ring().lost[0], 0u);
    write_event(t_thread, EventKind::kCollective, 0, kFirst, 1, 1, 1);
    ASSERT_EQ(ring().lost[static_cast<size_t>(EventLoss::kMessages)], 1u);
    const uint64_t end = written();
    enter(kFirst);  // would have room
    EXPECT_EQ(written(), end);
    EXPECT_EQ(ring().lost[0], 1u);
}

struct SpillBlock {
    EventSpill head;
    std::vector<uint64_t> words;
};
std::vector<SpillBlock> spilled() {
    std::vector<SpillBlock> blocks;
    std::ifstream file(g_spill_path, std::ios::binary);
    SpillBlock block;
    while (file.read(reinterpret_cast<char*>(&block.head), sizeof block.head)) {
        EXPECT_EQ(block.head.magic, kSpillMagic);
        block.words.resize(block.head.words);
        EXPECT_TRUE(file.read(reinterpret_cast<char*>(block.words.data()),
                              static_cast<std::streamsize>(block.head.words * sizeof(uint64_t))));
        blocks.push_back(block);
    }
    return blocks;
}

class ARingThatIsFlushed : public ARingOfEvents {
  protected:
    void SetUp() override {
        ARingOfEvents::SetUp();
        snprintf(g_process.record_dir, sizeof g_process.record_dir, "%s", directory_.c_str());
        snprintf(g_process.record_path, sizeof g_process.record_path, "%s", path_.c_str());
        name_spill_file();
        unlink(g_spill_path);
        begin(EventPolicy::kFlush);
    }
    void TearDown() override {
        unlink(g_spill_path);
        ARingOfEvents::TearDown();
    }
};

TEST_F(ARingThatIsFlushed, LosesNothing) {
    constexpr uint64_t kEntered = 5 * kLeastRingWords;
    const uint64_t from = ring().read;
    const uint64_t before = t_thread->slow_overhead;
    for (uint64_t i = 0; i < kEntered; ++i) enter(kFirst + i);
    std::vector<uint64_t> words;
    for (const SpillBlock& block : spilled()) {
        EXPECT_EQ(block.head.first_word, from + words.size());
        EXPECT_EQ(block.head.thread, t_thread->record->number);
        words.insert(words.end(), block.words.begin(), block.words.end());
    }
    EXPECT_GE(words.size(), 4 * kLeastRingWords);
    const auto rest = take();
    words.insert(words.end(), rest.begin(), rest.end());
    const auto entered = of_kind(words, EventKind::kEnter);
    ASSERT_EQ(entered.size(), kEntered);
    for (uint64_t i = 0; i < kEntered; ++i) ASSERT_EQ(entered[i].time, kFirst + i);
    // Each flush tells its time, all of which is overhead.
    uint64_t ticks = 0;
    size_t flushes = 0;
    for (const Told& record : of_kind(words, EventKind::kControl)) {
        if (record.what != static_cast<uint32_t>(EventControl::kFlushed)) continue;
        ticks += record.more[0];
        EXPECT_EQ(record.more[1],
                  sizeof(EventSpill) + sizeof(uint64_t) * spilled()[flushes].words.size());
        flushes += 1;
    }
    EXPECT_EQ(flushes, spilled().size());
    EXPECT_EQ(t_thread->slow_overhead - before, ticks);
    EXPECT_EQ(ring().lost[0], 0u);
}

// As where a reader emptied it while the thread waited for the lock.
TEST_F(ARingThatIsFlushed, MayBeEmpty) {
    enter(kFirst);
    take();
    EXPECT_EQ(flush_events(t_thread).bytes, 0u);
    for (uint64_t i = 0; i < 3 * kLeastRingWords; ++i) enter(kFirst + i);
    EXPECT_EQ(ring().lost[0], 0u);
    EXPECT_GE(spilled().size(), 2u);
}

TEST_F(ARingThatIsFlushed, DropsWhereTheFileCannotBeWritten) {
    mkdir(g_spill_path, 0700);
    for (uint64_t i = 0; i < 2 * kLeastRingWords; ++i) enter(kFirst + i);
    rmdir(g_spill_path);
    EXPECT_GT(ring().lost[0], kLeastRingWords - 100);
    const uint64_t lost = ring().lost[0];
    ring().flush_after = 0;  // as if a second had passed
    enter(kFirst);
    EXPECT_EQ(ring().lost[0], lost);
    EXPECT_EQ(lost_in(take(), EventLoss::kEntersAndLeaves), lost);
    EXPECT_EQ(spilled().size(), 1u);
}

TEST_F(ARingThatIsFlushed, WaitsForNoReaderThatIsStopped) {
    const int reader = open(g_process.record_path, O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(flock(reader, LOCK_EX), 0);
    while (ring().lost[0] == 0) enter(kFirst);
    close(reader);
    EXPECT_TRUE(spilled().empty());
}

TEST_F(ARingThatIsFlushed, KeepsToTheProgramsLimitOfFiles) {
    rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit low = {1024, limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &low);
    while (ring().lost[0] == 0) enter(kFirst);  // no SIGXFSZ ends the program
    setrlimit(RLIMIT_FSIZE, &limit);
    EXPECT_TRUE(spilled().empty());
}

TEST_F(ARingOfEvents, KeepsTheNewest) {
    begin(EventPolicy::kOverwrite);
    constexpr uint64_t kEntered = 3 * kLeastRingWords + 77;
    for (uint64_t i = 0; i < kEntered; ++i) enter(kFirst + i);
    const uint64_t end = written();
    ring().read = end - kLeastRingWords;
    const auto words = take();
    // Records before the first whole time have none.
    const auto entered = of_kind(words, EventKind::kEnter);
    ASSERT_GT(entered.size(), kLeastRingWords / 16 * 15 - 64);
    for (size_t i = 0; i < entered.size() - kLeastRingWords / 16; ++i) {
        const Told& told = entered[entered.size() - 1 - i];
        ASSERT_EQ(told.time, kFirst + kEntered - 1 - i);
    }
    EXPECT_EQ(ring().lost[0], 0u);
}

TEST_F(ARingOfEvents, LeavesOutNodesOfOtherKinds) {
    g_process.options.event_kinds = event_bit(SiteKind::kCommunication);
    Site site{};
    site.kind = SiteKind::kProcedure;
    const CellIndex procedure = child_of(t_thread, t_thread->record->root, site);
    site.kind = SiteKind::kCommunication;
    const CellIndex call = child_of(t_thread, t_thread->record->root, site);
    take();
    note_node(t_thread, procedure, EventKind::kEnter, kFirst);
    note_node(t_thread, call, EventKind::kEnter, kFirst);
    const auto entered = of_kind(take(), EventKind::kEnter);
    ASSERT_EQ(entered.size(), 1u);
    EXPECT_EQ(entered[0].what, call);
}

TEST_F(ARingOfEvents, IsNoRecordsSpace) {
    g_process.options.event_mib = 0;
    ring() = EventRing{};
    if (writes_events(t_thread)) stop_writing(t_thread);
    ring() = EventRing{};
    start_events(t_thread, true);
    EXPECT_FALSE(writes_events(t_thread));
    EXPECT_EQ(g_process.header->threads_without_events, 1u);
}

TEST_F(ARingOfEvents, ItsCostIsOverhead) {
    enter(kFirst);
    g_process.event_cost_ticks = 11;
    const uint64_t before = t_thread->slow_overhead;
    enter(kFirst + 1);
    enter(kFirst + 2);
    EXPECT_EQ(t_thread->slow_overhead - before, 22u);
}

TEST_F(ARingOfEvents, FollowsOrdersFromOutside) {
    g_process.options.events = true;
    g_process.header->event_order = EventOrder::kOff;
    ASSERT_TRUE(has_event_order());
    notice_event_order();
    EXPECT_FALSE(has_event_order());
    follow_event_order(t_thread);
    EXPECT_FALSE(writes_events(t_thread));
    const auto words = take();
    ASSERT_FALSE(words.empty());
    EXPECT_EQ(what_of_event(words.back()), static_cast<uint32_t>(EventControl::kOff));
    g_process.header->event_order = EventOrder::kOn;
    notice_event_order();
    follow_event_order(t_thread);
    EXPECT_TRUE(writes_events(t_thread));
    enter(kFirst);
    EXPECT_EQ(of_kind(take(), EventKind::kEnter).size(), 1u);
    g_process.options.events = false;
}

TEST_F(ARingOfEvents, CountsHaveTheirNodeAndAWordForEachMetric) {
    const uint64_t counts[kMetricLimit] = {1, 2, uint64_t{1} << 59, 4, 5, 6, 7, 8};
    note_counts(t_thread, 9, kFirst, counts, kMetricLimit);
    note_counts(t_thread, kEventWhatMask + 1, kFirst, counts, 1);  // a node without a name
    g_process.options.event_kinds = event_bit(SiteKind::kCommunication);
    note_counts(t_thread, 9, kFirst, counts, 1);
    const auto told = of_kind(take(), EventKind::kMetric);
    ASSERT_EQ(told.size(), 2u);
    EXPECT_EQ(told[0].what, 9u);
    EXPECT_EQ(told[0].more, std::vector<uint64_t>(counts, counts + kMetricLimit));
    EXPECT_EQ(told[1].what, kEventNobody);
    EXPECT_FALSE(t_thread->in_tool);
}

TEST_F(ARingOfEvents, SamplesHaveTheTimeAtWhichTheyWereTaken) {
    Site site{};
    site.kind = SiteKind::kSample;
    const CellIndex node = child_of(t_thread, t_thread->record->root, site);
    enter(kFirst + 1000);
    note_sample(t_thread, node, kFirst + 400, 1);
    note_sample(t_thread, node, kFirst + 500, 3);
    note_sample(t_thread, 0, kFirst + 600, 1);
    enter(kFirst + 1001);
    const std::vector<uint64_t> words = take();
    const auto samples = of_kind(words, EventKind::kSample);
    ASSERT_EQ(samples.size(), 2u);
    EXPECT_EQ(samples[0].time, kFirst + 400);
    EXPECT_EQ(samples[1].time, kFirst + 500);
    EXPECT_EQ(samples[1].more, std::vector<uint64_t>{3});
    EXPECT_EQ(of_kind(words, EventKind::kEnter)[1].time, kFirst + 1001);
    EXPECT_EQ(ring().lost[static_cast<uint32_t>(EventLoss::kOther)], 1u);
}

TEST(WantedEvents, AreReadFromWords) {
    WantedEvents wanted;
    EXPECT_TRUE(read_wanted_events("all", &wanted));
    EXPECT_TRUE(wanted.on);
    EXPECT_EQ(wanted.kinds, kAllEvents);
    EXPECT_TRUE(read_wanted_events("off", &wanted));
    EXPECT_FALSE(wanted.on);
    EXPECT_TRUE(read_wanted_events("last:65536", &wanted));
    EXPECT_GE(wanted.words, 65536u + 65536 / 8);
    EXPECT_TRUE(read_wanted_events("mpi,last:10,io", &wanted));
    EXPECT_EQ(wanted.words, kLeastRingWords);
    EXPECT_EQ(wanted.kinds, kMpiEvents | event_bit(SiteKind::kIo));
    EXPECT_TRUE(read_wanted_events("metrics,samples", &wanted));
    EXPECT_EQ(wanted.kinds, kMetricEvents | event_bit(SiteKind::kSample));
    EXPECT_TRUE(read_wanted_events("level2,loops", &wanted));
    EXPECT_EQ(wanted.kinds,
              kBlockEvents | kProcedureEvents | kCollectiveEvents | event_bit(SiteKind::kLoop));
    EXPECT_TRUE(read_wanted_events("user-events,messages,tracing", &wanted));
    EXPECT_EQ(wanted.kinds, kAllEvents);
    EXPECT_TRUE(read_wanted_events("tracing", &wanted));
    EXPECT_TRUE(wanted.on);
    EXPECT_EQ(wanted.kinds, 0u);
    for (const char* wrong : {"level4", "level", "last:", "last:0", "last:x", "last:-1",
                              "last:99999999999", "some", "mpi,", ",mpi", "off,mpi"})
        EXPECT_FALSE(read_wanted_events(wrong, &wanted)) << wrong;
}

TEST(RankLists, AreRanksAndRanges) {
    for (const char* good : {"0", "0-3", "0-3,8", "7,5,1-2"})
        EXPECT_TRUE(is_rank_list(good)) << good;
    for (const char* wrong : {"", "-", "1-", "-1", "1,", ",1", "1--2", "a", "1-2-3", "1 2"})
        EXPECT_FALSE(is_rank_list(wrong)) << wrong;
    EXPECT_TRUE(is_rank_in("", 5));
    EXPECT_TRUE(is_rank_in("0-3,8", 8));
    EXPECT_TRUE(is_rank_in("0-3,8", 2));
    EXPECT_FALSE(is_rank_in("0-3,8", 4));
    EXPECT_FALSE(is_rank_in("0-3,8", 9));
}

TEST(EventWindow, IsReadFromTwoTimes) {
    EventWindow window;
    EXPECT_TRUE(read_event_window("10-12.5", &window));
    EXPECT_DOUBLE_EQ(window.from_s, 10);
    EXPECT_DOUBLE_EQ(window.to_s, 12.5);
    EXPECT_TRUE(read_event_window("3-", &window));
    EXPECT_DOUBLE_EQ(window.to_s, 0);
    EXPECT_TRUE(read_event_window("-4", &window));
    EXPECT_DOUBLE_EQ(window.from_s, 0);
    EXPECT_TRUE(read_event_window("off", &window));
    EXPECT_FALSE(window.is_timed);
    EXPECT_TRUE(window.waits);
    EXPECT_EQ(window.inside.place, WindowPlace::kNone);
    for (const char* wrong :
         {"", "-", "5", "5-3", "a-b", "1-2-3", "1..2-3", "1-2,", ",1-2", "off,off"})
        EXPECT_FALSE(read_event_window(wrong, &window)) << wrong;
}

std::string pattern_of(const EventWindow& window) {
    return {window.inside.pattern, window.inside.pattern_bytes};
}

TEST(EventWindow, IsInsideOfAPlace) {
    EventWindow window;
    EXPECT_TRUE(read_event_window("phase:time step: 3", &window));
    EXPECT_EQ(window.inside.place, WindowPlace::kPhase);
    EXPECT_EQ(pattern_of(window), "time step: 3");
    EXPECT_FALSE(window.waits);
    EXPECT_TRUE(read_event_window("entry:std::vector<int, A>::at:12", &window));
    EXPECT_EQ(window.inside.place, WindowPlace::kEntry);
    EXPECT_EQ(pattern_of(window), "std::vector<int, A>::at");
    EXPECT_EQ(window.inside.first, 12u);
    EXPECT_EQ(window.inside.last, 12u);
    EXPECT_TRUE(read_event_window("entry:a.c:42:3-", &window));
    EXPECT_EQ(pattern_of(window), "a.c:42");
    EXPECT_EQ(window.inside.first, 3u);
    EXPECT_EQ(window.inside.last, UINT64_MAX);
    EXPECT_TRUE(read_event_window("1.5-,block:a,b", &window));
    EXPECT_TRUE(window.is_timed);
    EXPECT_DOUBLE_EQ(window.from_s, 1.5);
    EXPECT_EQ(pattern_of(window), "a,b");
    EXPECT_TRUE(read_event_window("off,entry:x:2-4", &window));
    EXPECT_TRUE(window.waits);
    EXPECT_FALSE(window.is_timed);
    EXPECT_EQ(window.inside.last, 4u);
    for (const char* wrong : {"phase:", "block:", "entry:", "entry:3", "entry:a", "entry::3",
                              "entry:a:", "entry:a:0", "entry:a:3-2", "entry:a:1-2-3", "entry:a:-2",
                              "entry:a:1-x", "entry:a:1234567890123456789", "phases:a", "phase",
                              "off,", "off,phase:", "5,phase:a", "phase:a,off,"})
        EXPECT_EQ(read_event_window(wrong, &window), std::string(wrong) == "phase:a,off,") << wrong;
    EXPECT_FALSE(read_event_window(("phase:" + std::string(kLongestWindow, 'x')).c_str(), &window));
}

// The choice of places is read once in a process.
class AChoiceOfPlaces : public ARingOfEvents {
  protected:
    void SetUp() override {
        ARingOfEvents::SetUp();
        const std::string path = directory_ + "/sites";
        std::ofstream(path) << "off comm name=MPI_B*\noff proc file=*.f90\ncount loop line=7\n";
        strcpy(g_process.options.event_sites, path.c_str());
        strcpy(g_process.options.event_window, "entry:solver::step*:2-3");
        ASSERT_TRUE(read_event_places());
        unlink(path.c_str());
    }
    void TearDown() override {
        g_process.options.event_sites[0] = '\0';
        g_process.options.event_window[0] = '\0';
        read_event_places();
        ARingOfEvents::TearDown();
    }
};

TEST_F(AChoiceOfPlaces, IsMarkedAtNodes) {
    const auto flags = [](SiteKind kind, uint32_t line, const char* name, const char* file) {
        return event_flags_of({kind, 0, line, name, nullptr, file}, false);
    };
    EXPECT_EQ(flags(SiteKind::kCommunication, 0, "MPI_Bcast", nullptr), kNodeNoEvents);
    EXPECT_EQ(flags(SiteKind::kCommunication, 0, "MPI_Send", nullptr), 0);
    EXPECT_EQ(flags(SiteKind::kProcedure, 1, "a", "src/a.f90"), kNodeNoEvents);
    EXPECT_EQ(flags(SiteKind::kProcedure, 1, "__solver_MOD_step", "src/a.f90"),
              kNodeNoEvents | kNodeWindow);
    EXPECT_EQ(flags(SiteKind::kProcedure, 1, nullptr, nullptr), 0);
    EXPECT_EQ(flags(SiteKind::kLoop, 7, "a", "a.c"), kNodeNoEvents);
    EXPECT_EQ(flags(SiteKind::kBlock, 1, "solver::step 3", "a.c"), kNodeWindow);
    Site site{};
    site.kind = SiteKind::kCommunication;
    site.call = static_cast<uint16_t>(MpiCall::kBcast);
    EXPECT_FALSE(has_events(child_of(t_thread, t_thread->record->root, site)));
    site.call = static_cast<uint16_t>(MpiCall::kSend);
    EXPECT_TRUE(has_events(child_of(t_thread, t_thread->record->root, site)));
}

TEST_F(AChoiceOfPlaces, OpensAWindowAtTheChosenEntries) {
    const CellIndex node = t_thread->record->root;
    choose_events(node, kNodeWindow);
    follow_events(t_thread, kFirst);
    EXPECT_FALSE(writes_events(t_thread));
    take();
    EXPECT_FALSE(enter_event_window(t_thread, node, kFirst));
    EXPECT_FALSE(writes_events(t_thread));
    EXPECT_TRUE(enter_event_window(t_thread, node, kFirst + 1));
    EXPECT_TRUE(writes_events(t_thread));
    enter(kFirst + 1, node);
    EXPECT_TRUE(enter_event_window(t_thread, node, kFirst + 2));  // a recursion
    leave_event_window(t_thread, kFirst + 3);
    EXPECT_TRUE(writes_events(t_thread));
    write_event(t_thread, EventKind::kLeave, node, kFirst + 4);
    leave_event_window(t_thread, kFirst + 4);
    EXPECT_FALSE(writes_events(t_thread));
    EXPECT_TRUE(opens_windows(node));
    EXPECT_FALSE(enter_event_window(t_thread, node, kFirst + 5));
    EXPECT_FALSE(opens_windows(node));  // there is no further one
    std::vector<Told> records = records_in(take());
    std::erase_if(records, [](const Told& record) {  // times
        return record.kind == EventKind::kControl &&
               record.what == static_cast<uint32_t>(EventControl::kBase);
    });
    ASSERT_GE(records.size(), 3u);
    EXPECT_EQ(records[records.size() - 3].kind, EventKind::kEnter);
    EXPECT_EQ(records[records.size() - 2].kind, EventKind::kLeave);
    EXPECT_EQ(records.back().what, static_cast<uint32_t>(EventControl::kOff));
    EXPECT_EQ(records.back().time, kFirst + 4);
}

TEST_F(AChoiceOfPlaces, HasEventsOnlyWhileTheyAreOn) {
    const CellIndex node = t_thread->record->root;
    g_live->window_entries = 1;
    g_live->event_order = EventOrder::kOff;
    follow_events(t_thread, kFirst);
    EXPECT_TRUE(enter_event_window(t_thread, node, kFirst));
    EXPECT_FALSE(writes_events(t_thread));
    g_live->event_order = EventOrder::kOn;
    follow_event_order(t_thread);
    EXPECT_TRUE(writes_events(t_thread));
    leave_event_window(t_thread, kFirst + 1);
    EXPECT_FALSE(writes_events(t_thread));
}

}  // namespace
}  // namespace dwell
