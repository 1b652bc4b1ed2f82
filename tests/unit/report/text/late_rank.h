// Profiles of ranks that wait: for one rank with a known computation, and for unknown ranks.
#ifndef DWELL_TESTS_UNIT_REPORT_TEXT_LATE_RANK_H_
#define DWELL_TESTS_UNIT_REPORT_TEXT_LATE_RANK_H_

#include <string>
#include <vector>

#include "tests/unit/support/sample_profiles.h"

namespace dwell {

struct Halo {
    std::string program = "heat";
    std::string file = "/home/ada/heat.c";
    std::string compute = "relax";
    std::string exchange = "exchange_halo";
    uint64_t sampled = 100;
    std::string setup = "MPI_Finalize";
    uint64_t setup_wait_ms = 0;
};

// Two ranks compute 1.5 and 1.0 s in `compute`, attributed to main; rank 1 waits 500 ms for rank 0
// at line 69; set-up takes 100 ms and, on rank 1, `setup_wait_ms` more, in which it waits for rank
// 0.
inline Profile late_rank(const Halo& halo = {}) {
    samples::Builder b(2, halo.program);
    const uint32_t main = b.proc("main", halo.file, 90, 0);
    const uint32_t exchange = b.call(halo.exchange, halo.file, 95, main, 60);
    const uint32_t wait = b.comm("MPI_Waitall", halo.file, 69, exchange);
    const uint32_t finalize = b.comm(halo.setup, halo.file, 99, main);
    b.compute(main, 0, 1500 * samples::kMs);
    b.compute(main, 1, 1000 * samples::kMs);
    b.calls(wait, 0, samples::known_wait(10, 0, 0));
    b.calls(wait, 1, samples::known_wait(10, 500 * samples::kMs, 500 * samples::kMs));
    b.calls(finalize, 0, samples::known_wait(1, 100 * samples::kMs, 0));
    const uint64_t late_ns = halo.setup_wait_ms * samples::kMs;
    b.calls(finalize, 1, samples::known_wait(1, 100 * samples::kMs + late_ns, late_ns));
    Profile& p = b.profile();
    std::vector<SampledLine> samples;
    if (halo.sampled != 0) {
        samples = {{halo.compute, halo.file, 78, halo.sampled}, {"main", halo.file, 96, 3}};
    }
    p.intervals.push_back(
        {wait, wait, main, 20, 2500 * samples::kMs, samples::kMs, 150 * samples::kMs, samples});
    p.partners = {{wait, 0, 0, 10, 500 * samples::kMs, 60 * samples::kMs, 0, 0}};
    p.causes = {{0, 0, 10, 500 * samples::kMs + late_ns, 0, 0}};
    if (late_ns != 0) p.partners.push_back({finalize, 0, 0, 1, late_ns, late_ns, 0, 0});
    return b.finish();
}

// Four ranks compute equally, and wait in one line for unknown ranks.
inline Profile late_for_nobody(uint64_t compute_ms, uint64_t call_ms, uint64_t waited_ms) {
    samples::Builder b(4, "heat");
    const uint32_t main = b.proc("main", "heat.c", 1, 0);
    const uint32_t reduce = b.comm("MPI_Allreduce", "heat.c", 20, main);
    for (uint32_t rank = 0; rank < 4; ++rank) {
        b.compute(main, rank, compute_ms * samples::kMs);
        b.calls(reduce, rank,
                {10, call_ms * samples::kMs, waited_ms * samples::kMs, 0, 0, samples::kMs, 0, 0, 0,
                 0, 0, 0});
    }
    return b.finish();
}

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_REPORT_TEXT_LATE_RANK_H_
