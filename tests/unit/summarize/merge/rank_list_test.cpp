// Tests the packed descriptions of ranks: every field is restored, lists are joined in any shape
// without being read, shared names are stored once, and bytes from other processes are checked.
#include "summarize/merge/rank_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace dwell {
namespace {

// As text, field by field, so that the test shares no code with the encoding.
std::string text_of(const MergedRank& r) {
    std::string text;
    for (const uint64_t value : {uint64_t{r.rank},
                                 uint64_t{r.state},
                                 uint64_t{r.flags},
                                 uint64_t{r.threads},
                                 uint64_t{r.sample_hz},
                                 uint64_t{r.callpath_depth},
                                 uint64_t{r.processors},
                                 uint64_t{r.first_processor},
                                 r.real_ns,
                                 r.intrusion_ns,
                                 r.own_ns,
                                 r.injected_ns,
                                 r.paused_ns,
                                 r.call_cost_ns_q8,
                                 r.record_bytes,
                                 r.samples,
                                 r.samples_in_calls,
                                 r.samples_lost,
                                 r.folded_paths,
                                 r.files_unnamed,
                                 r.io_unobserved,
                                 r.dropped,
                                 r.guessed,
                                 r.clock_errors,
                                 r.threads_served,
                                 r.probes,
                                 r.probes_missed,
                                 r.probes_dropped,
                                 r.threads_cut,
                                 r.clock_bound_ns,
                                 r.order_kept,
                                 r.order_remote,
                                 r.order_posted,
                                 r.order_unknown,
                                 r.stalls_dropped,
                                 r.usage_ns,
                                 r.usage.user_ns,
                                 r.usage.system_ns,
                                 r.usage.peak_memory_bytes,
                                 r.usage.minor_faults,
                                 r.usage.major_faults,
                                 r.usage.voluntary_switches,
                                 r.usage.involuntary_switches,
                                 r.usage.read_bytes,
                                 r.usage.written_bytes,
                                 r.usage.reads,
                                 r.usage.writes,
                                 r.usage.storage_read_bytes,
                                 r.usage.storage_written_bytes}) {
        text += std::to_string(value) + " ";
    }
    text += std::to_string(r.pid) + " " + std::to_string(r.exit_code) + " " +
            std::to_string(r.start_unix_ns) + " " + std::to_string(r.clock_offset_ns) + " " +
            std::to_string(r.clock_drift_ns);
    return text + " " + r.host + " " + r.program + " " + r.command;
}

std::vector<std::string> texts_of(const RankList& list) {
    std::vector<std::string> texts;
    RankReader reader(list);
    for (MergedRank rank; reader.next(&rank);) texts.push_back(text_of(rank));
    return texts;
}

std::string bytes_of(const RankList& list) {
    std::string bytes;
    list.each_piece([&](const char* data, size_t size) {
        bytes.append(data, size);
        return true;
    });
    return bytes;
}

std::string last_of(const RankList& list) {
    return std::string(list.last().data(), list.last().size());
}

bool adopt(RankList* list, uint32_t count, const std::string& bytes, const std::string& last) {
    GrowArray<char> entries, end;
    EXPECT_TRUE(entries.append(bytes.data(), bytes.size()) && end.append(last.data(), last.size()));
    return list->adopt(count, &entries, &end);
}

// As sent from one process to another.
RankList sent(const RankList& list) {
    RankList copy;
    EXPECT_TRUE(adopt(&copy, list.size(), bytes_of(list), last_of(list)));
    return copy;
}

// Names that outlive the ranks that refer to them.
struct Names {
    std::string host, program, command;
};

uint64_t any_number(std::mt19937_64* random) { return (*random)() >> ((*random)() % 64); }

MergedRank any_rank(std::mt19937_64* random, const Names& names) {
    MergedRank r{};
    for (uint32_t* field : {&r.rank, &r.state, &r.flags, &r.threads, &r.sample_hz,
                            &r.callpath_depth, &r.processors, &r.first_processor})
        *field = static_cast<uint32_t>(any_number(random));
    r.pid = static_cast<int32_t>(any_number(random));
    r.exit_code = -static_cast<int32_t>(any_number(random) % 256);
    r.start_unix_ns = static_cast<int64_t>(any_number(random));
    for (uint64_t* field :
         {&r.real_ns,          &r.intrusion_ns,    &r.own_ns,         &r.injected_ns,
          &r.paused_ns,        &r.call_cost_ns_q8, &r.record_bytes,   &r.samples,
          &r.samples_in_calls, &r.samples_lost,    &r.folded_paths,   &r.files_unnamed,
          &r.dropped,          &r.guessed,         &r.clock_errors,   &r.threads_served,
          &r.probes,           &r.probes_missed,   &r.probes_dropped, &r.order_kept,
          &r.order_remote,     &r.order_posted,    &r.order_unknown,  &r.clock_bound_ns,
          &r.threads_cut,      &r.io_unobserved,   &r.queued_ns,      &r.queued_call_ns,
          &r.stalls_dropped}) {
        *field = any_number(random);
    }
    for (uint64_t* field :
         {&r.usage_ns, &r.usage.user_ns, &r.usage.system_ns, &r.usage.peak_memory_bytes,
          &r.usage.minor_faults, &r.usage.major_faults, &r.usage.voluntary_switches,
          &r.usage.involuntary_switches, &r.usage.read_bytes, &r.usage.written_bytes,
          &r.usage.reads, &r.usage.writes, &r.usage.storage_read_bytes,
          &r.usage.storage_written_bytes}) {
        *field = any_number(random);
    }
    r.clock_offset_ns = -static_cast<int64_t>(any_number(random));
    r.clock_drift_ns = static_cast<int64_t>(any_number(random));
    r.host = names.host.c_str();
    r.program = names.program.c_str();
    r.command = names.command.c_str();
    return r;
}

// Rank `number` of a usual job: number, process, host and times differ.
MergedRank usual_rank(uint32_t number, const Names& names) {
    MergedRank rank{};
    rank.rank = number;
    rank.pid = 40'000 + static_cast<int32_t>(number % 64);
    rank.state = 2;
    rank.threads = 1;
    rank.threads_served = 1;
    rank.sample_hz = 100;
    rank.start_unix_ns = 1'795'000'000'000'000'000 + number % 977 * 1'000;
    rank.real_ns = 60'000'000'000 + number % 1013 * 10'000;
    rank.intrusion_ns = 1'000'000 + number % 101 * 1'000;
    rank.host = names.host.c_str();
    rank.program = names.program.c_str();
    rank.command = names.command.c_str();
    return rank;
}

RankList usual_ranks(uint32_t first, uint32_t count) {
    RankList list;
    for (uint32_t number = first; number < first + count; number++) {
        const Names names{"node" + std::to_string(number / 64), "/opt/bin/solver", "solver -n 7"};
        EXPECT_TRUE(list.add(usual_rank(number, names)));
    }
    return list;
}

TEST(RankList, EveryFieldComesBackWhateverItsValue) {
    std::mt19937_64 random(1);
    RankList list;
    std::vector<std::string> expected;
    for (int i = 0; i < 1000; i++) {
        const Names names{"h" + std::to_string(random() % 3), random() % 2 != 0 ? "/bin/a" : "",
                          std::string(random() % 500, 'c')};
        const MergedRank rank = any_rank(&random, names);
        expected.push_back(text_of(rank));
        ASSERT_TRUE(list.add(rank));
    }
    EXPECT_EQ(list.size(), 1000u);
    EXPECT_EQ(texts_of(list), expected);
    EXPECT_EQ(texts_of(sent(list)), expected);
    EXPECT_TRUE(list.is_readable());
}

// Lists of any length are joined in any shape, through messages or not; the order of ranks is kept.
TEST(RankList, JoinedListsReadAsOne) {
    std::mt19937 random(2);
    for (int round = 0; round < 200; round++) {
        RankList all;
        std::vector<std::string> expected;
        uint32_t next = 0;
        const uint64_t parts = 1 + random() % 8;
        for (uint64_t part = 0; part < parts; part++) {
            const auto count = static_cast<uint32_t>(random() % (random() % 4 == 0 ? 400 : 3));
            RankList list = usual_ranks(next, count);
            next += count;
            for (const std::string& text : texts_of(list)) expected.push_back(text);
            if (random() % 2 != 0) list = sent(list);
            ASSERT_TRUE(all.take(&list));
            EXPECT_TRUE(list.empty() && list.bytes() == 0 && texts_of(list).empty());
            if (random() % 4 == 0) all = sent(all);
        }
        ASSERT_EQ(all.size(), next);
        EXPECT_EQ(all.bytes(), bytes_of(all).size());
        ASSERT_EQ(texts_of(all), expected);
        EXPECT_EQ(bytes_of(all), bytes_of(usual_ranks(0, next)));  // nothing is stored twice
    }
}

// 64 ranks share a host: each entry but the first contains little more than the differences, which
// are a number, a process and three times.
TEST(RankList, WhatRanksShareIsSaidOnce) {
    RankList list;
    for (uint32_t number = 0; number < 6400; number++) {
        RankList one = usual_ranks(number, 1);
        ASSERT_TRUE(list.take(&one));
    }
    const std::string bytes = bytes_of(list);
    EXPECT_EQ(bytes.find("solver -n 7"), bytes.rfind("solver -n 7"));
    size_t hosts = 0;
    for (size_t at = bytes.find("node"); at != bytes.npos; at = bytes.find("node", at + 1)) hosts++;
    EXPECT_EQ(hosts, 100u);
    EXPECT_LT(bytes.size(), 6400u * 20);
}

TEST(RankList, TruncatedListsKeepWhatCanBeRead) {
    const RankList whole = usual_ranks(0, 5);
    const std::string bytes = bytes_of(whole);
    const std::vector<std::string> expected = texts_of(whole);
    size_t most = 0;
    for (size_t size = 5; size < bytes.size(); size++) {
        RankList list;
        ASSERT_TRUE(adopt(&list, 5, bytes.substr(0, size), last_of(whole)));
        EXPECT_FALSE(list.is_readable());
        EXPECT_FALSE(list.keep_readable());
        const std::vector<std::string> left = texts_of(list);
        ASSERT_LT(left.size(), 5u);
        EXPECT_EQ(list.size(), left.size());
        EXPECT_EQ(left, std::vector<std::string>(expected.begin(), expected.begin() + left.size()));
        EXPECT_TRUE(list.keep_readable());
        most = std::max(most, left.size());
    }
    EXPECT_EQ(most, 4u);
}

TEST(RankList, WrongCountsAreNoticed) {
    const RankList whole = usual_ranks(0, 5);
    const std::string bytes = bytes_of(whole), last = last_of(whole);
    RankList list;
    EXPECT_FALSE(adopt(&list, 0, bytes, last));
    EXPECT_FALSE(adopt(&list, 0, "", last));
    EXPECT_FALSE(adopt(&list, 5, "", last));
    EXPECT_FALSE(adopt(&list, 5, bytes, ""));
    EXPECT_FALSE(adopt(&list, 5, bytes, last + "x"));
    EXPECT_FALSE(adopt(&list, 5, bytes, last.substr(0, last.size() - 1)));
    EXPECT_FALSE(adopt(&list, static_cast<uint32_t>(bytes.size() + 1), bytes, last));
    EXPECT_FALSE(adopt(&list, UINT32_MAX, bytes, last));
    EXPECT_TRUE(list.empty() && list.bytes() == 0);
    for (const uint32_t count : {4u, 6u}) {
        ASSERT_TRUE(adopt(&list, count, bytes, last));
        EXPECT_FALSE(list.is_readable());
        EXPECT_FALSE(list.keep_readable());
        EXPECT_EQ(list.size(), std::min(count, 5u));
    }
    EXPECT_TRUE(adopt(&list, 0, "", ""));
}

// Numbers beyond 64 bits, unknown fields, names longer than the remaining bytes or without end.
TEST(RankList, HostileEntriesAreRefused) {
    const std::string endless(10, '\xff');
    const std::string most = std::string(9, '\xff');
    for (const std::string& entry :
         {endless, most + "\x02", std::string("\x80\x80\x80\x80\x80\x80\x80\x80\x10", 9),
          "\x01" + endless, "\x01" + most + "\x02",
          std::string("\x80\x80\x80\x80\x80\x80\x80\x80\x02", 9) + most + "\x01",
          std::string("\x80\x80\x80\x80\x80\x80\x80\x80\x02\x02"
                      "ab",
                      12),
          std::string("\x80\x80\x80\x80\x80\x80\x80\x80\x02\x02"
                      "abc",
                      13),
          std::string("\x80\x80\x80\x80\x80\x80\x80\x80\x02", 9), std::string("\x80", 1)}) {
        RankList list;
        EXPECT_FALSE(adopt(&list, 1, entry, entry));
        ASSERT_TRUE(adopt(&list, 1, entry, std::string(1, '\0')));
        EXPECT_FALSE(list.keep_readable());
        EXPECT_TRUE(list.empty());
        RankList good = usual_ranks(0, 2);
        RankList bad;
        ASSERT_TRUE(adopt(&bad, 1, entry, std::string(1, '\0')));
        EXPECT_FALSE(good.take(&bad));
        EXPECT_EQ(good.size(), 2u);
        EXPECT_TRUE(good.is_readable());
    }
    RankList list;  // the same, well formed: 2^64 - 1 and "ab"
    EXPECT_TRUE(adopt(&list, 1, "\x10" + most + "\x01", "\x10" + most + "\x01"));
    EXPECT_TRUE(list.is_readable());
    const std::string named(
        "\x80\x80\x80\x80\x80\x80\x80\x80\x02\x02"
        "ab\0",
        13);
    EXPECT_TRUE(adopt(&list, 1, named, named));
    EXPECT_EQ(texts_of(list).at(0).substr(texts_of(list).at(0).size() - 5), " ab  ");
}

TEST(RankList, DamagedBytesNeverHarm) {
    std::mt19937 random(3);
    const RankList whole = usual_ranks(0, 70);
    const std::string bytes = bytes_of(whole), last = last_of(whole);
    int joined = 0;
    for (int round = 0; round < 2'000; round++) {
        std::string damaged = bytes, damaged_last = last;
        for (int i = 0; i < 3; i++) damaged[random() % bytes.size()] = static_cast<char>(random());
        if (random() % 4 == 0) damaged_last[random() % last.size()] = static_cast<char>(random());
        RankList list, other = usual_ranks(70, 70);
        if (!adopt(&list, 70, damaged, damaged_last)) continue;
        const bool first = random() % 2 != 0;
        RankList* into = first ? &list : &other;
        if (into->take(first ? &other : &list)) joined++;
        into->keep_readable();
        EXPECT_EQ(texts_of(*into).size(), into->size());
        ASSERT_TRUE(into->is_readable());
    }
    EXPECT_GT(joined, 400);
}

}  // namespace
}  // namespace dwell
