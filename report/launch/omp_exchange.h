// `dwell run --omp ompt`: preloads libomp in place of libgomp, whose entry points libomp offers, so
// that OMPT observes a program compiled by gcc.
#ifndef DWELL_REPORT_LAUNCH_OMP_EXCHANGE_H_
#define DWELL_REPORT_LAUNCH_OMP_EXCHANGE_H_

#include <string>

namespace dwell {

struct OmpExchange {
    std::string library;   // path of libomp, to be preloaded; empty: libgomp stays
    std::string obstacle;  // why libgomp stays
};

// Whether libomp defines every OpenMP function, in the required version, that `program` and its
// linked libraries import. `program` is no launcher and allows preloading. Libraries that it opens
// itself are unknown. The program is not started. Call from one thread only.
OmpExchange plan_omp_exchange(const std::string& program);

}  // namespace dwell

#endif  // DWELL_REPORT_LAUNCH_OMP_EXCHANGE_H_
