// What `dwell run` keeps of a ring that its thread does not read: all samples while there is room,
// then every second, every fourth and so on, each with its weight.
#include "runtime/sampling/sample_spill.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace dwell {
namespace {

struct Record {
    perf_event_header header;
    uint64_t number;
    char rest[4096];
};

constexpr uint64_t kRingBytes = 64 * 1024;

// A ring whose records carry their numbers, and wrap around its end.
class Ring {
  public:
    void push(uint64_t number) {
        Record record{};
        record.header.type = PERF_RECORD_SAMPLE;
        record.header.size = sizeof(record);
        record.number = number;
        put(&record, sizeof(record));
    }
    void push_lost(uint64_t records) {
        struct {
            perf_event_header header;
            uint64_t id;
            uint64_t lost;
        } record{};
        record.header.type = PERF_RECORD_LOST;
        record.header.size = sizeof(record);
        record.lost = records;
        put(&record, sizeof(record));
    }
    void spill(SampleSpill* spill) {
        spill_ring(data_.data(), kRingBytes, tail_, head_, spill);
        tail_ = head_;
    }

  private:
    void put(const void* from, size_t bytes) {
        for (size_t i = 0; i < bytes; ++i) {
            data_[(head_ + i) % kRingBytes] = static_cast<const char*>(from)[i];
        }
        head_ += bytes;
    }

    std::vector<char> data_ = std::vector<char>(kRingBytes);
    uint64_t tail_ = 0;
    uint64_t head_ = 0;
};

std::vector<uint64_t> numbers_in(const SampleSpill& spill) {
    std::vector<uint64_t> numbers;
    for (uint64_t at = 0; at < spill.bytes; at += sizeof(Record)) {
        Record record;
        memcpy(&record, spill.records + at, sizeof(record));
        numbers.push_back(record.number);
    }
    return numbers;
}

TEST(SampleSpill, KeepsAllWhileThereIsRoom) {
    Ring ring;
    const auto spill = std::make_unique<SampleSpill>();
    for (uint64_t i = 1; i <= 100; ++i) {
        ring.push(i);
        if (i % 10 == 0) ring.spill(spill.get());
    }
    const std::vector<uint64_t> numbers = numbers_in(*spill);
    ASSERT_EQ(numbers.size(), 100u);
    for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(numbers[i], i + 1);
    EXPECT_EQ(spill->stride, 1u);
    EXPECT_EQ(spill->writes, 100u);
}

// A minute at 100 Hz: the samples kept are evenly distributed, and their weights add up to all.
TEST(SampleSpill, ThinsEvenlyWhereThereIsNoMore) {
    Ring ring;
    const auto spill = std::make_unique<SampleSpill>();
    for (uint64_t i = 1; i <= 6000; ++i) {
        ring.push(i);
        if (i % 7 == 0) ring.spill(spill.get());
    }
    ring.spill(spill.get());
    const std::vector<uint64_t> numbers = numbers_in(*spill);
    ASSERT_GE(numbers.size(), kSpillBytes / sizeof(Record) / 2);
    for (size_t i = 0; i < numbers.size(); ++i) {
        EXPECT_EQ(numbers[i], (i + 1) * spill->stride);
    }
    EXPECT_NEAR(static_cast<double>(numbers.size() * spill->stride), 6000, spill->stride);
}

// Every second record is small: those that stay take nearly all the room, so more must be dropped.
TEST(SampleSpill, ThinsUntilThereIsRoom) {
    const auto spill = std::make_unique<SampleSpill>();
    std::vector<char> record(kRingBytes);
    uint64_t records = 0;
    const auto keep = [&](size_t bytes) {
        perf_event_header header{};
        header.type = PERF_RECORD_SAMPLE;
        header.size = static_cast<uint16_t>(bytes);
        memcpy(record.data(), &header, sizeof(header));
        spill_record(record.data(), kRingBytes, 0, bytes, spill.get());
        ++records;
    };
    while (spill->stride <= 1) {
        keep(records % 2 == 0 ? 16 : 32768);
        ASSERT_LE(spill->bytes, sizeof(spill->records));
    }
    EXPECT_GE(spill->stride, 4u);
}

// A program may write to memory that is not its own, and so to this.
TEST(SampleSpill, EndsWhereItIsDamaged) {
    const auto spill = std::make_unique<SampleSpill>();
    perf_event_header header;
    EXPECT_FALSE(spilled_record(*spill, 0, &header));
    spill->bytes = UINT64_MAX;
    for (const uint16_t size : {uint16_t{0}, uint16_t{7}}) {
        header.size = size;
        memcpy(spill->records, &header, sizeof(header));
        EXPECT_FALSE(spilled_record(*spill, 0, &header));
    }
    header.size = 64;
    memcpy(spill->records + sizeof(spill->records) - 32, &header, sizeof(header));
    EXPECT_FALSE(spilled_record(*spill, sizeof(spill->records) - 32, &header));
    EXPECT_FALSE(spilled_record(*spill, sizeof(spill->records) - 4, &header));
    memcpy(spill->records, &header, sizeof(header));
    EXPECT_TRUE(spilled_record(*spill, 0, &header));
}

TEST(SampleSpill, CountsWhatTheKernelLost) {
    Ring ring;
    const auto spill = std::make_unique<SampleSpill>();
    ring.push_lost(3);
    ring.push(1);
    ring.push_lost(4);
    ring.spill(spill.get());
    EXPECT_EQ(spill->lost, 7u);
    EXPECT_EQ(numbers_in(*spill), std::vector<uint64_t>{1});
}

TEST(SampleSpill, IsReadByOneAtATime) {
    const auto spill = std::make_unique<SampleSpill>();
    {
        const SpillLock one(spill.get(), 10);
        const SpillLock other(spill.get(), 10);
        EXPECT_TRUE(one.held());
        EXPECT_FALSE(other.held());
    }
    EXPECT_TRUE(SpillLock(spill.get(), 10).held());
    EXPECT_FALSE(SpillLock(nullptr, 10).held());
}

}  // namespace
}  // namespace dwell
