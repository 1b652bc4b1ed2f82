// Event logs: what is written is read again, whole or up to where the file is cut.
#include "summarize/events/event_log.h"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "runtime/contract/event_layout.h"
#include "summarize/events/event_columns.h"
#include "summarize/events/event_stream.h"
#include "summarize/events/log_set.h"

namespace dwell {
namespace {

namespace fs = std::filesystem;

uint64_t word(EventKind kind, uint32_t what, uint64_t time) {
    return time << kEventTimeShift | event_what(kind, what);
}
uint64_t base_word() {
    return word(EventKind::kControl, static_cast<uint32_t>(EventControl::kBase), 0);
}

std::vector<uint64_t> unpacked(const std::string& columns) {
    std::vector<uint64_t> words;
    EXPECT_TRUE(unpack_words(columns.data(), columns.size(), &words));
    return words;
}

TEST(EventColumns, GiveTheWordsBack) {
    std::mt19937_64 random(7);
    for (int run = 0; run < 200; ++run) {
        std::vector<uint64_t> words;
        uint64_t time = random() >> 28;
        const size_t count = random() % 300;
        for (size_t i = 0; i < count; ++i) {
            const bool jumps = random() % 10 == 0;
            time =
                (jumps ? random() : time + random() % 1000) & ((uint64_t{1} << kEventTimeBits) - 1);
            words.push_back(word(static_cast<EventKind>(random() % 14),
                                 static_cast<uint32_t>(random()) & kEventWhatMask, time));
            for (size_t more = random() % 4; more != 0; --more)
                words.push_back(event_more(random() >> (4 + random() % 60)));
        }
        std::string columns;
        pack_words(words.data(), words.size(), &columns);
        EXPECT_EQ(unpacked(columns), words);
    }
}

TEST(EventColumns, OfDamagedBytesAreRefused) {
    std::vector<uint64_t> words;
    for (uint64_t i = 0; i < 50; ++i) {
        words.push_back(word(EventKind::kSend, 1, i << 34));
        words.push_back(event_more(i));
    }
    std::string columns;
    pack_words(words.data(), words.size(), &columns);
    std::vector<uint64_t> out;
    for (size_t bytes = 0; bytes < columns.size(); ++bytes)
        EXPECT_FALSE(unpack_words(columns.data(), bytes, &out));
    std::mt19937_64 random(3);
    for (int i = 0; i < 2000; ++i) {
        std::string damaged = columns;
        damaged[random() % damaged.size()] = static_cast<char>(random());
        unpack_words(damaged.data(), damaged.size(), &out);  // does not read outside of the bytes
    }
}

class AnEventLog : public testing::Test {
  protected:
    void SetUp() override {
        char name[] = "/tmp/dwell-events-XXXXXX";
        directory_ = mkdtemp(name);
    }
    void TearDown() override { fs::remove_all(directory_); }

    static FileHeader header(int rank) {
        FileHeader header{};
        header.magic = kRecordMagic;
        header.version = kRecordLayoutVersion;
        header.header_cells = kHeaderCells;
        header.rank = rank;
        header.pid = 100 + rank;
        header.world_size = 2;
        header.ticks_per_second = 1'000'000'000;
        strcpy(header.host, "here");
        strcpy(header.job, "job");
        return header;
    }
    EventLogWriter writer(const std::string& job = "job") {
        auto made = EventLogWriter::create(directory_, "here", job);
        EXPECT_TRUE(made) << made.error();
        return std::move(*made);
    }
    std::string path() const { return directory_ + "/here.events"; }
    // Blocks of `count` enters, one tick apart, from `first` on; each begins with its base.
    static std::vector<uint64_t> block(uint64_t first, uint64_t count) {
        std::vector<uint64_t> words = {base_word(), event_more(first)};
        for (uint64_t i = 0; i < count; ++i) words.push_back(word(EventKind::kEnter, 30, i));
        return words;
    }
    static std::vector<uint64_t> times(const SetThread& thread, uint64_t* lost = nullptr) {
        EventStream stream(&thread);
        std::vector<uint64_t> times;
        Event event;
        while (stream.next(&event)) times.push_back(event.time);
        if (lost != nullptr) *lost = stream.lost();
        return times;
    }

    std::string directory_;
};

TEST_F(AnEventLog, IsReadAsItWasWritten) {
    {
        EventLogWriter log = writer();
        ASSERT_TRUE(log.write_process(0, header(1)));
        const auto words = block(5000, 3);
        ASSERT_TRUE(log.write_events(0, 4, 0, words.data(), words.size()));
        ASSERT_TRUE(log.close());
        EXPECT_EQ(log.bytes(), fs::file_size(path()));
    }
    auto set = LogSet::open({path()});
    ASSERT_TRUE(set) << set.error();
    EXPECT_EQ(set->unfinished(), 0u);
    ASSERT_EQ(set->processes().size(), 1u);
    EXPECT_EQ(set->processes()[0].records.header.rank, 1);
    ASSERT_EQ(set->processes()[0].threads.size(), 1u);
    EXPECT_EQ(set->processes()[0].threads[0].number, 4u);
    EXPECT_EQ(times(set->processes()[0].threads[0]), (std::vector<uint64_t>{5000, 5001, 5002}));
}

TEST_F(AnEventLog, CutAnywhereHoldsWhatIsBefore) {
    constexpr uint64_t kBlocks = 4;
    {
        EventLogWriter log = writer();
        log.write_process(0, header(0));
        for (uint64_t i = 0; i < kBlocks; ++i) {
            const auto words = block(i * 1000, 10);
            log.write_events(0, 0, i * words.size(), words.data(), words.size());
        }
        log.close();
    }
    std::ifstream file(path(), std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(file)), {});
    size_t before = 0;
    for (size_t bytes = sizeof(LogHead); bytes < whole.size(); ++bytes) {
        const std::string cut = directory_ + "/cut.events";
        std::ofstream(cut, std::ios::binary)
            .write(whole.data(), static_cast<std::streamsize>(bytes));
        auto set = LogSet::open({cut});
        ASSERT_TRUE(set) << set.error();
        EXPECT_EQ(set->unfinished(), 1u);
        const auto& processes = set->processes();
        const size_t events = processes.empty() || processes[0].threads.empty()
                                  ? 0
                                  : times(processes[0].threads[0]).size();
        EXPECT_EQ(events % 10, 0u);
        EXPECT_GE(events, before);
        before = events;
    }
    EXPECT_EQ(before, kBlocks * 10);
}

// Of three blocks one byte in the middle of each is damaged in turn, or at the beginning of its
// chunk.
TEST_F(AnEventLog, WithADamagedByteLacksItsChunkAlone) {
    constexpr size_t kWords = 2002;
    uint64_t ends[4];
    {
        EventLogWriter log = writer();
        log.write_process(0, header(0));
        ends[0] = log.bytes();
        for (uint64_t i = 0; i < 3; ++i) {
            const auto words = block(i * 10'000, kWords - 2);
            log.write_events(0, 0, i * kWords, words.data(), words.size());
            ends[1 + i] = log.bytes();
        }
        log.close();
    }
    for (size_t damaged = 0; damaged < 3; ++damaged) {
        for (const uint64_t at :
             {(ends[damaged] + ends[damaged + 1]) / 2, ends[damaged] + 1, ends[damaged] + 32}) {
            std::fstream file(path(), std::ios::binary | std::ios::in | std::ios::out);
            file.seekg(static_cast<std::streamoff>(at));
            const char was = static_cast<char>(file.get());
            file.seekp(static_cast<std::streamoff>(at));
            file.put(static_cast<char>(was + 1));
            file.flush();
            auto set = LogSet::open({path()});
            ASSERT_TRUE(set);
            uint64_t lost = 0;
            const auto left = times(set->processes()[0].threads[0], &lost);
            EXPECT_EQ(left.size(), 2 * (kWords - 2));
            EXPECT_EQ(left.front(), damaged == 0 ? 10'000u : 0u);
            EXPECT_EQ(lost, damaged == 2 ? 0u : kWords);  // nothing tells of words at the end
            EXPECT_EQ(set->bytes_cut(), ends[damaged + 1] - ends[damaged]);
            EXPECT_EQ(set->unfinished(), 0u);
            file.seekp(static_cast<std::streamoff>(at));
            file.put(was);
        }
    }
}

TEST_F(AnEventLog, WithWordsTwiceLacksNone) {
    {
        EventLogWriter log = writer();
        log.write_process(0, header(0));
        const auto words = block(0, 8);
        for (const uint64_t first : {0, 5, 10})
            log.write_events(0, 0, first, words.data(), words.size());
        log.close();
    }
    auto set = LogSet::open({path()});
    ASSERT_TRUE(set);
    uint64_t lost = 1;
    times(set->processes()[0].threads[0], &lost);
    EXPECT_EQ(lost, 0u);
}

TEST_F(AnEventLog, OfAnotherVersionOrKindIsRefused) {
    std::ofstream(directory_ + "/text.events")
        << "This is no event log, but a text that is long enough "
           "for the head of one, and a little longer than that."
           "..................................................";
    EXPECT_NE(EventLog::read(directory_ + "/text.events").error().find("no event log"),
              std::string::npos);
    std::ofstream(directory_ + "/empty.events");
    EXPECT_FALSE(EventLog::read(directory_ + "/empty.events"));
    EXPECT_FALSE(EventLog::read(directory_ + "/missing.events"));
    writer().close();
    std::fstream file(path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(offsetof(LogHead, version));
    file.put('\x63');
    file.close();
    EXPECT_NE(EventLog::read(path()).error().find("another version"), std::string::npos);
}

TEST_F(AnEventLog, OfTheSameJobIsContinuedBesideIt) {
    {
        EventLogWriter first = writer();
        first.write_process(0, header(0));
        const auto words = block(100, 2);
        first.write_events(0, 0, 0, words.data(), words.size());
        first.close();
        EventLogWriter second = writer();
        EXPECT_EQ(second.path(), directory_ + "/here.2.events");
        second.write_process(3, header(0));
        const auto more = block(200, 2);
        second.write_events(3, 0, words.size(), more.data(), more.size());
        second.close();
    }
    auto set = LogSet::open(find_logs(path()));
    ASSERT_TRUE(set) << set.error();
    ASSERT_EQ(set->processes().size(), 1u);
    uint64_t lost = 1;
    EXPECT_EQ(times(set->processes()[0].threads[0], &lost),
              (std::vector<uint64_t>{100, 101, 200, 201}));
    EXPECT_EQ(lost, 0u);
    writer("next job").close();
    EXPECT_TRUE(LogSet::open({path()}));
    EXPECT_NE(LogSet::open({path(), directory_ + "/here.2.events"}).error().find("another job"),
              std::string::npos);
}

TEST_F(AnEventLog, TellsWhereWordsAreMissing) {
    {
        EventLogWriter log = writer();
        log.write_process(0, header(0));
        auto words = block(100, 2);
        log.write_events(0, 0, 0, words.data(), words.size());
        // The time of the first record is not known: its base was lost.
        words = {word(EventKind::kEnter, 30, 5), base_word(), event_more(300),
                 word(EventKind::kEnter, 30, 1)};
        log.write_events(0, 0, 50, words.data(), words.size());
        log.close();
    }
    auto set = LogSet::open({path()});
    ASSERT_TRUE(set);
    uint64_t lost = 0;
    EXPECT_EQ(times(set->processes()[0].threads[0], &lost), (std::vector<uint64_t>{100, 101, 301}));
    EXPECT_EQ(lost, 46u);
}

TEST_F(AnEventLog, MayHoldWordsTwice) {
    {
        EventLogWriter log = writer();
        log.write_process(0, header(0));
        const auto words = block(100, 6);
        log.write_events(0, 0, 0, words.data(), 5);
        log.write_events(0, 0, 0, words.data(), 4);
        log.write_events(0, 0, 2, words.data() + 2, words.size() - 2);
        log.close();
    }
    auto set = LogSet::open({path()});
    ASSERT_TRUE(set);
    uint64_t lost = 1;
    EXPECT_EQ(times(set->processes()[0].threads[0], &lost),
              (std::vector<uint64_t>{100, 101, 102, 103, 104, 105}));
    EXPECT_EQ(lost, 0u);
}

TEST_F(AnEventLog, IsReadFromItsEnd) {
    {
        EventLogWriter log = writer();
        for (int rank = 0; rank < 2; ++rank) {
            log.write_process(static_cast<uint32_t>(rank), header(rank));
            for (uint64_t i = 0; i < 4; ++i) {
                const auto words = block(1000 * i, 8);
                log.write_events(static_cast<uint32_t>(rank), 0, 10 * i, words.data(), 10);
            }
        }
        log.close();
    }
    auto set = LogSet::open({path()});
    ASSERT_TRUE(set);
    set->keep({{1}, 15});
    ASSERT_EQ(set->processes().size(), 1u);
    EXPECT_EQ(set->processes()[0].records.header.rank, 1);
    EXPECT_EQ(times(set->processes()[0].threads[0]).front(), 2000u);
    EXPECT_EQ(times(set->processes()[0].threads[0]).size(), 16u);
}

}  // namespace
}  // namespace dwell
