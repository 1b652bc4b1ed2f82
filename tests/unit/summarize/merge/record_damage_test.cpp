// Reads truncated and damaged record files: the valid part is read, and the reader neither crashes
// nor loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/summarize/merge/example_records.h"
#include "tests/unit/support/merged_view.h"

namespace dwell {
namespace {

bool is_damaged(const RecordFile& file) {
    Merged merged;
    EXPECT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
    return (ranks_of(merged).at(0).flags & kFileDamaged) != 0;
}

// A linked cell is never empty. A hole, such as a page that was never written, ends lists and makes
// means too small.
TEST(RecordDamage, WhatIsLinkedAndEmptyIsDamage) {
    Example whole;
    RecordFile& file = whole.file;
    file.header().flags |= kFileWaits;
    file.histogram(whole.allreduce).event_count[kSendReady] = 3;
    file.add_peer(whole.send, 3, {3, 90, 30, 30}, 100);
    file.add_peer(whole.send, 1, {1, 10, 10, 10}, 8);
    file.part(whole.send).peer_count = 2;
    file.part(whole.send).sync_ticks = 60;
    file.add_partner(whole.send, 7, 0xabc, {2, 35, 0, 30}, 20);
    file.add_partner(whole.send, 8, 0xabc, {1, 15, 0, 15});
    file.wait(whole.send).partner_count = 2;
    const CellIndex block = file.add_named(whole.root, SiteKind::kBlock, "part", {1, 5, 5, 5});
    file.add_cause(7, 0xabc, 2, 15, 15);
    file.header().start_directory = file.add_text("/home/u");
    const CellIndex off_site = file.add_off_site(SiteKind::kLoop, 1, 0x60);
    EXPECT_FALSE(is_damaged(file));
    const CellIndex first_partner = file.wait(whole.send).first_partner;
    const CellIndex first_peer = file.part(whole.send).first_peer;
    const std::map<std::string, CellIndex> linked = {
        {"module", file.header().first_module},
        {"thread", file.header().first_thread},
        {"start directory", file.header().start_directory},
        {"root", whole.root},
        {"call", whole.call},
        {"send", whole.send},
        {"allreduce", whole.allreduce},
        {"interval", whole.interval},
        {"first interval", whole.start},
        {"sample", whole.sample},
        {"part", file.at<Node>(whole.send).part},
        {"histogram", file.part(whole.allreduce).histogram},
        {"first peer", first_peer},
        {"second peer", file.at<TrafficPeerRecord>(first_peer).next},
        {"first partner", first_partner},
        {"second partner", file.at<WaitPeerRecord>(first_partner).next},
        {"cause", file.last_thread().first_cause},
        {"block", block},
        {"site that was off", off_site},
        {"name", static_cast<CellIndex>(file.at<Node>(block).site.offset)}};
    for (const auto& [name, cell] : linked) {
        RecordFile damaged = file;
        const size_t bytes = name == "thread"      ? sizeof(ThreadRecord)
                             : name == "histogram" ? sizeof(SizeHistogram)
                                                   : kCellBytes;
        memset(&damaged.at<char>(cell), 0, bytes);
        EXPECT_TRUE(is_damaged(damaged)) << name;
    }
}

TEST(RecordDamage, FiguresThatCannotBeAreDamage) {
    const auto changed = [](auto change) {
        Example example;
        example.file.histogram(example.allreduce).event_count[kSendReady] = 3;
        change(&example);
        return is_damaged(example.file);
    };
    EXPECT_FALSE(changed([](Example*) {}));
    EXPECT_TRUE(changed([](Example* e) { e->file.at<Node>(e->send).max_ticks = 101; }));
    EXPECT_TRUE(changed([](Example* e) { e->file.at<Node>(e->send).min_ticks = 41; }));
    EXPECT_TRUE(changed([](Example* e) { e->file.at<Node>(e->send).count = 0; }));
    EXPECT_TRUE(changed([](Example* e) { e->file.at<Node>(e->send).next_sibling = 1 << 30; }));
    EXPECT_TRUE(changed([](Example* e) { e->file.at<Node>(e->send).first_child = e->call; }));
    EXPECT_TRUE(changed([](Example* e) { e->file.part(e->send).sync_ticks = 101; }));
    EXPECT_TRUE(changed([](Example* e) { e->file.part(e->send).failed = 5; }));
    EXPECT_TRUE(changed([](Example* e) { e->file.histogram(e->send).event_ticks[1] = 101; }));
    // A process that was killed in a call may have recorded a part of it.
    EXPECT_FALSE(changed([](Example* e) {
        e->file.part(e->send).sync_ticks = 101;
        e->file.last_thread().open_depth = 1;
        e->file.last_thread().open.node = e->send;
    }));
}

TEST(RecordDamage, RefusesWhatIsNoRecordFile) {
    Example example;
    Merged merged;
    EXPECT_FALSE(add_record_file(&merged, example.file.data(), sizeof(FileHeader) - 1));
    EXPECT_FALSE(add_record_file(&merged, nullptr, 0));
    example.file.header().version++;
    EXPECT_FALSE(add_record_file(&merged, example.file.data(), example.file.bytes()));
    example.file.header().version--;
    example.file.header().magic++;
    EXPECT_FALSE(add_record_file(&merged, example.file.data(), example.file.bytes()));
    EXPECT_TRUE(merged.ranks.empty());
}

TEST(RecordDamage, ReadsACutOffFileAsFarAsItGoes) {
    Example example;
    const size_t cells = example.file.bytes() / kCellBytes;
    size_t most_nodes = 0;
    for (size_t cut = kHeaderCells; cut <= cells; cut++) {
        // A copy of exactly that size, so that the address sanitizer detects a read beyond it.
        const char* bytes = static_cast<const char*>(example.file.data());
        const std::vector<char> file(bytes, bytes + cut * kCellBytes);
        Merged merged;
        ASSERT_TRUE(add_record_file(&merged, file.data(), file.size())) << cut;
        EXPECT_TRUE(is_well_formed(merged)) << cut;
        EXPECT_EQ(merged.ranks.size(), 1u);
        EXPECT_GE(merged.nodes.size(), most_nodes) << cut;
        most_nodes = std::max(most_nodes, merged.nodes.size());
    }
    EXPECT_EQ(most_nodes, 7u);
}

TEST(RecordDamage, CirclesEnd) {
    Example example;
    RecordFile& file = example.file;
    file.at<Node>(example.sample).first_child = example.root;
    file.at<Node>(example.sample).next_sibling = example.sample;
    file.at<Node>(example.allreduce).next_sibling = example.send;
    const CellIndex peer = file.add_peer(example.send, 0, {});
    file.at<TrafficPeerRecord>(peer).next = peer;
    file.last_thread().next = file.header().first_thread;
    file.at<ModuleRecord>(file.header().first_module).next = file.header().first_module;
    const Merged merged = example.merged();
    EXPECT_EQ(merged.nodes.size(), 7u);
    EXPECT_EQ(merged.nodes[0].totals.count, 1u);
    EXPECT_EQ(merged.peers.size(), 1u);
    EXPECT_EQ(merged.modules.size(), 1u);
    EXPECT_EQ(ranks_of(merged).at(0).threads, 1u);
}

template <typename File>
void expect_damage_harmless(const File& original) {
    std::mt19937 random(20240607);
    int read = 0;
    for (int round = 0; round < 20'000; round++) {
        File example = original;
        char* bytes = static_cast<char*>(const_cast<void*>(example.file.data()));
        const int changes = 1 + static_cast<int>(random() % 8);
        for (int i = 0; i < changes; i++) {
            // Whole words, and small numbers among them, hit links more often than single bytes.
            const size_t word = 2 + random() % (example.file.bytes() / 4 - 2);
            const uint32_t value = random() % 2 != 0 ? static_cast<uint32_t>(random())
                                                     : static_cast<uint32_t>(random() % 80);
            memcpy(bytes + word * 4, &value, 4);
        }
        Merged merged;
        if (!add_record_file(&merged, bytes, example.file.bytes())) continue;
        read++;
        ASSERT_TRUE(is_well_formed(merged)) << round;
        ASSERT_LE(merged.nodes.size(), example.file.bytes() / kCellBytes);
    }
    EXPECT_GT(read, 10'000);
}

TEST(RecordDamage, DamagedFilesNeverHarm) {
    expect_damage_harmless(Example());
    Probed probed;
    probed.file.open_probe(probed.main, 100);
    expect_damage_harmless(probed);
}

}  // namespace
}  // namespace dwell
