// Counts for samples::halo_profile.
#ifndef DWELL_TESTS_UNIT_SAMPLE_METRICS_H_
#define DWELL_TESTS_UNIT_SAMPLE_METRICS_H_

#include "tests/unit/support/sample_profiles.h"

namespace dwell::samples {

// Of each rank r: solve has (r + 1) million cycles and 1.5 times as many instructions, MPI_Recv a
// tenth of that and (r + 1) * 100 page faults, of which 2 of its entries were read.
inline Profile with_metrics(Profile profile) {
    ProfileMetrics& metrics = profile.metrics;
    metrics.names = {"PAPI_TOT_CYC", "PAPI_TOT_INS", "perf::PAGE-FAULTS"};
    metrics.missing = {"PAPI_FP_OPS"};
    metrics.read_ns = 400;
    metrics.least_ns = 180'000;
    metrics.unwatched_threads = 2;
    metrics.no_room_threads = 5;
    metrics.lost_threads = 1;
    metrics.lost_ns = 1'250'000'000;
    metrics.left_out = 30;
    const std::vector<uint64_t> none(3, 0);
    std::vector<ProfileCounts> sums;
    for (uint32_t node = 0; node < profile.nodes.size(); ++node) {
        sums.push_back({node, 0, 0, 0, 0, none, none});
    }
    for (uint32_t r = 0; r < 4; ++r) {
        const uint64_t cycles = (r + 1) * 1'000'000;
        std::vector<ProfileCounts> of_rank;
        for (const ProfileCounts& sum : sums) of_rank.push_back({sum.node, r, 0, 0, 0, none, none});
        of_rank[kSolve].own = {cycles, cycles * 3 / 2, 0};
        of_rank[kRecv].own = {cycles / 10, cycles * 3 / 20, (r + 1) * 100};
        of_rank[kRecv].entries = 2;
        of_rank[kRecv].time_ns = 3'000'000;
        of_rank[0].entries = 1;
        of_rank[0].time_ns = 1'000'000'000;
        for (size_t node = of_rank.size(); node-- > 0;) {
            for (size_t i = 0; i < 3; ++i) {
                of_rank[node].inclusive[i] += of_rank[node].own[i];
                if (node == 0) continue;
                of_rank[profile.nodes[node].parent].inclusive[i] += of_rank[node].inclusive[i];
            }
        }
        for (size_t node = 0; node < of_rank.size(); ++node) {
            sums[node].entries += of_rank[node].entries;
            sums[node].time_ns += of_rank[node].time_ns;
            for (size_t i = 0; i < 3; ++i) {
                sums[node].own[i] += of_rank[node].own[i];
                sums[node].inclusive[i] += of_rank[node].inclusive[i];
            }
            if (of_rank[node].inclusive != none) metrics.rows.push_back(of_rank[node]);
        }
    }
    for (const ProfileCounts& sum : sums) {
        if (sum.inclusive != none) metrics.nodes.push_back(sum);
    }
    return profile;
}

}  // namespace dwell::samples

#endif  // DWELL_TESTS_UNIT_SAMPLE_METRICS_H_
