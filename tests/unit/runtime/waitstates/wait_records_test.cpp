// Which wait records and cause records are kept when there are more than fit (wait_records.h).
#include "runtime/waitstates/wait_records.h"

#include <map>
#include <utility>

#include "tests/unit/support/recording.h"

namespace dwell {
namespace {

constexpr uint32_t kMostCauses = kCauseSets * kCauseWays;

class WaitRecords : public Records {
  protected:
    void SetUp() override {
        Records::SetUp();
        ASSERT_TRUE(begin(&call_, MpiCall::kRecv, 16));
        part_ = wait_part(&call_);
        ASSERT_NE(part_, nullptr);
    }
    void TearDown() override {
        t_thread->open = nullptr;
        Records::TearDown();
    }
    void partner(uint32_t peer, uint64_t ticks, uint64_t indirect_ticks = 0) {
        record_partner(&call_, part_, peer, 7, ticks, indirect_ticks);
        all_ticks_ += ticks;
        all_count_ += 1;
    }
    void cause(uint32_t path, uint64_t ticks, bool direct = true) {
        record_cause(t_thread, 1, path, ticks, direct);
        all_ticks_ += ticks;
        all_count_ += 1;
    }
    // The records of a list by rank or by path; with the rest they are all that was recorded.
    template <class Record>
    std::map<uint32_t, Record> kept(CellIndex first, uint32_t Record::*key, uint64_t rest_ticks,
                                    uint64_t rest_count) const {
        std::map<uint32_t, Record> found;
        for (CellIndex at = first; at != 0; at = cell_at<Record>(at)->next) {
            const auto& record = *cell_at<Record>(at);
            EXPECT_TRUE(found.emplace(record.*key, record).second) << record.*key;
            rest_ticks += record.ticks;
            rest_count += record.count;
        }
        EXPECT_EQ(rest_ticks, all_ticks_);
        EXPECT_EQ(rest_count, all_count_);
        return found;
    }
    std::map<uint32_t, WaitPeerRecord> partners() const {
        return kept(part_->first_partner, &WaitPeerRecord::peer, part_->rest_ticks,
                    part_->rest_count);
    }
    std::map<uint32_t, RootCauseRecord> causes() const {
        const ThreadRecord& record = *t_thread->record;
        return kept(record.first_cause, &RootCauseRecord::path, record.rest_cause_ticks,
                    record.rest_cause_count);
    }
    static uint64_t ticks_in(const std::map<uint32_t, WaitPeerRecord>& records) {
        uint64_t ticks = 0;
        for (const auto& [peer, record] : records) ticks += record.ticks;
        return ticks;
    }

    Call call_;
    WaitPart* part_ = nullptr;
    uint64_t all_ticks_ = 0;
    uint64_t all_count_ = 0;
};

TEST_F(WaitRecords, KeepAllThatTheyHaveRoomFor) {
    for (int round = 0; round < 3; ++round) {
        for (uint32_t peer = 0; peer < kWaitPartners; ++peer) partner(peer, 10, 4);
    }
    const auto found = partners();
    ASSERT_EQ(found.size(), kWaitPartners);
    for (const auto& [peer, record] : found) {
        EXPECT_EQ(record.count, 3u);
        EXPECT_EQ(record.ticks, 30u);
        EXPECT_EQ(record.max_ticks, 10u);
        EXPECT_EQ(record.indirect_wait_ticks, 12u);
    }
}

TEST_F(WaitRecords, HeavyPartnersDisplaceLightOnes) {
    for (uint32_t peer = 0; peer < 100; ++peer) partner(peer, 10, 10);
    for (int round = 0; round < 40; ++round) {
        partner(500, 1000, 300);
        partner(600 + static_cast<uint32_t>(round), 10);
    }
    const auto found = partners();
    ASSERT_EQ(found.count(500), 1u);
    const WaitPeerRecord& heavy = found.at(500);
    EXPECT_EQ(heavy.count, 40u);
    EXPECT_EQ(heavy.ticks, 40'000u);
    EXPECT_EQ(heavy.max_ticks, 1000u);
    EXPECT_EQ(heavy.indirect_wait_ticks, 12'000u);
    EXPECT_EQ(part_->partner_count, kWaitPartners);
}

// A light newcomer gets a record only when many of them together are heavy.
TEST_F(WaitRecords, ShortWaitingDisplacesNothing) {
    for (uint32_t peer = 0; peer < kWaitPartners; ++peer) partner(peer, 1000);
    for (uint32_t peer = 100; peer < 199; ++peer) partner(peer, 10);
    const auto found = partners();
    for (uint32_t peer = 0; peer < kWaitPartners; ++peer) EXPECT_EQ(found.count(peer), 1u) << peer;
    EXPECT_EQ(part_->rest_ticks, 990u);
    EXPECT_EQ(part_->rest_count, 99u);
}

// One more partner than fits, in turn: most stay known.
TEST_F(WaitRecords, InTurnMostStay) {
    constexpr int kRounds = 1000;
    for (int round = 0; round < kRounds; ++round) {
        for (uint32_t peer = 0; peer <= kWaitPartners; ++peer) partner(peer, 10);
    }
    EXPECT_GE(ticks_in(partners()), all_ticks_ * 3 / 4);
}

// Many partners occur once, and one of them every tenth time.
TEST_F(WaitRecords, RecurringPartnersStayAmongSingleOnes) {
    for (uint32_t i = 0; i < 5000; ++i) partner(i % 10 == 0 ? 9999 : 10'000 + i, 10);
    const auto found = partners();
    ASSERT_EQ(found.count(9999), 1u);
    EXPECT_GE(found.at(9999).ticks, 500u * 10 / 2);
}

TEST_F(WaitRecords, HeavyCausesDisplaceLightOnes) {
    for (uint32_t path = 1; path <= 3 * kMostCauses; ++path) cause(path, 10, false);
    for (int round = 0; round < 40; ++round) {
        cause(1'000'000, 1000, round % 4 == 0);
        cause(2'000'000 + static_cast<uint32_t>(round), 10, false);
    }
    const auto found = causes();
    EXPECT_LE(found.size(), kMostCauses);
    EXPECT_GE(found.size(), kMostCauses / 2);
    ASSERT_EQ(found.count(1'000'000), 1u);
    EXPECT_EQ(found.at(1'000'000).count, 40u);
    EXPECT_EQ(found.at(1'000'000).ticks, 40'000u);
    EXPECT_EQ(found.at(1'000'000).direct_wait_ticks, 10'000u);
    for (const auto& [path, record] : found) EXPECT_LE(record.direct_wait_ticks, record.ticks);
}

// If the file is full, heavy newcomers take existing records.
TEST_F(WaitRecords, AFullFileLosesNoTimeOfCauses) {
    cause(1, 10);
    while (take_cells(t_thread, 1) != 0) {
    }
    for (uint32_t path = 1; path <= 2 * kMostCauses; ++path) cause(path, 20);
    EXPECT_EQ(causes().size(), 1u);
}

TEST_F(WaitRecords, AFullFileLosesNoTimeOfPartners) {
    partner(1, 10);
    while (take_cells(t_thread, 1) != 0) {
    }
    partner(1, 9);
    partner(2, 500);
    const auto found = partners();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found.count(2), 1u);
}

TEST_F(WaitRecords, CausesOfRanksAreApart) {
    record_cause(t_thread, 1, 5, 10, true);
    record_cause(t_thread, 2, 5, 20, false);
    record_cause(t_thread, 1, 5, 0, true);  // no waiting
    record_unknown_cause(t_thread, 3);
    uint64_t ticks[3] = {};
    int records = 0;
    for (CellIndex at = t_thread->record->first_cause; at != 0; ++records) {
        const auto& record = *cell_at<RootCauseRecord>(at);
        ASSERT_LT(record.peer, 3u);
        ticks[record.peer] += record.ticks;
        at = record.next;
    }
    EXPECT_EQ(records, 2);
    EXPECT_EQ(ticks[1], 10u);
    EXPECT_EQ(ticks[2], 20u);
    EXPECT_EQ(t_thread->record->rest_cause_ticks, 3u);
    EXPECT_EQ(t_thread->record->rest_cause_count, 1u);
}

// MPI_Pcontrol(2): displaced weight is forgotten.
TEST_F(WaitRecords, AreForgottenWithTheirWeight) {
    for (uint32_t peer = 0; peer < 100; ++peer) partner(peer, 1000);
    for (uint32_t path = 1; path <= 3 * kMostCauses; ++path) {
        record_cause(t_thread, 1, path, 1000, true);
    }
    t_thread->open = nullptr;
    forget();
    all_ticks_ = all_count_ = 0;
    EXPECT_EQ(partners().size(), kWaitPartners);
    EXPECT_EQ(ticks_in(partners()), 0u);
    for (const auto& [path, record] : causes()) {
        EXPECT_EQ(record.ticks + record.displaced_ticks + record.challenged_ticks, 0u) << path;
    }
    partner(700, 1);
    EXPECT_EQ(partners().count(700), 1u);
}

}  // namespace
}  // namespace dwell
