// Tests the look-up of intervals by the path hashes that ranks exchange. The hashes are made here
// from the parts of each path, root first, as runtime/contract/path_hash.h defines.
#include "summarize/attribution/wait_paths.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "runtime/contract/path_hash.h"
#include "summarize/model/profile.h"
#include "tests/unit/support/merged_builder.h"

namespace dwell {
namespace {

uint64_t site(uint64_t above, SiteKind kind, const char* call, uint64_t module, uint64_t place) {
    return hash_site(above, static_cast<uint32_t>(kind), call != nullptr ? number_of(call) : 0,
                     module, place);
}

// main calls a library, whose block "solve" holds the receive; main itself sends.
struct Job {
    MergedBuilder builder;
    uint32_t app = builder.module("/bin/app", "01234567890123456789");
    uint32_t library = builder.module("/lib/libsolve.so");  // without build-id
    uint32_t send = builder.communication(0, app, 0x20, "MPI_Send", totals(3, 30));
    uint32_t call = builder.call(0, app, 0x10);
    uint32_t block = builder.named(call, SiteKind::kBlock, "solve", totals(1, 500));
    uint32_t recv = builder.communication(block, library, 0x70, "MPI_Recv", totals(2, 200, 150));
    uint32_t first = builder.interval(kNoNode, send, 0, 1, 100);
    uint32_t between = builder.interval(send, recv, 0, 2, 300);
    uint64_t app_hash =
        hash_module(reinterpret_cast<const uint8_t*>("01234567890123456789"), 20, "");
    uint64_t library_hash = hash_path_bytes("/lib/libsolve.so", 16);
    uint64_t send_hash = site(kRootPath, SiteKind::kCommunication, "MPI_Send", app_hash, 0x20);
    uint64_t call_hash = site(kRootPath, SiteKind::kCall, nullptr, app_hash, 0x10);
    uint64_t block_hash =
        site(call_hash, SiteKind::kBlock, nullptr, 0, hash_path_bytes("solve", 5));
    uint64_t recv_hash = site(block_hash, SiteKind::kCommunication, "MPI_Recv", library_hash, 0x70);

    void cause(uint32_t path, uint64_t time_ns, uint64_t passed_on_ns = 0) {
        MergedCause partner{recv, 1, path, 0, 2, time_ns, time_ns, passed_on_ns, 0};
        builder.merged.partners.push(partner);
        MergedCause cause{path, 1, 0, 0, 2, time_ns, 0, passed_on_ns, 0};
        builder.merged.causes.push(cause);
    }
};

TEST(WaitPaths, NamesByModuleKindCallAndPlace) {
    Job job;
    const WaitPaths paths(job.builder.merged);
    EXPECT_EQ(paths.interval_of(hash_interval(0, job.send_hash)), job.first);
    EXPECT_EQ(paths.interval_of(hash_interval(job.send_hash, job.recv_hash)), job.between);
    EXPECT_EQ(paths.interval_of(hash_interval(job.recv_hash, job.send_hash)), kNoNode);
    EXPECT_EQ(paths.interval_of(0), kNoNode);
}

// One path with two common nodes is one computation: the longer interval represents it.
TEST(WaitPaths, ThePathCountsNotWhereItWasMet) {
    Job job;
    const uint32_t longer = job.builder.interval(job.send, job.recv, job.call, 5, 900);
    const WaitPaths paths(job.builder.merged);
    EXPECT_EQ(paths.interval_of(hash_interval(job.send_hash, job.recv_hash)), longer);
}

TEST(WaitPaths, IntoTheProfile) {
    Job job;
    job.builder.rank(0);
    job.builder.rank(1);
    const uint32_t known = hash_interval(job.send_hash, job.recv_hash);
    job.cause(known, 120, 40);
    job.cause(known + 1, 30);  // not a path of this job
    job.builder.merged.partners.push({job.recv, kNoPeer, 0, 0, 1, 7, 0, 0, 7});
    MergedNode& recv = job.builder.merged.nodes[job.recv];
    recv.totals.sync_ns = 150;
    recv.totals.late_sender_ns = 150;
    const Profile profile = build_profile(job.builder.merged);
    expect_conservation(profile);
    EXPECT_EQ(profile.sync_ns, 150u);
    EXPECT_EQ(profile.nodes[0].totals.late_sender_ns, 150u);
    ASSERT_EQ(profile.partners.size(), 3u);
    const ProfilePartner& first = profile.partners[0];
    EXPECT_EQ(profile.nodes[first.node].name, "MPI_Recv");
    EXPECT_EQ(first.time_ns, 120u);
    EXPECT_EQ(first.passed_on_ns, 40u);
    ASSERT_LT(first.interval, profile.intervals.size());
    EXPECT_EQ(profile.intervals[first.interval].time_ns, 300u);
    EXPECT_EQ(profile.partners[1].interval, kNoNode);
    EXPECT_EQ(profile.partners[1].peer, 1u);
    EXPECT_EQ(profile.partners[2].peer, kNoPeer);
    EXPECT_EQ(profile.partners[2].lost_ns, 7u);
    ASSERT_EQ(profile.causes.size(), 2u);
    EXPECT_EQ(profile.causes[0].interval, first.interval);
    EXPECT_EQ(profile.causes[0].passed_on_ns, 40u);
    EXPECT_TRUE(has_note(profile, "not known in 1 case, 20 %"));
}

}  // namespace
}  // namespace dwell
