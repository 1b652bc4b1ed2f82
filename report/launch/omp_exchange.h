// `dwell run --omp ompt`: libomp in the place of libgomp, whose entry points it offers, so that a
// program of gcc is seen through OMPT.
#ifndef DWELL_REPORT_LAUNCH_OMP_EXCHANGE_H_
#define DWELL_REPORT_LAUNCH_OMP_EXCHANGE_H_

#include <string>

namespace dwell {

struct OmpExchange {
    std::string library;   // libomp's path, to be preloaded; empty: libgomp stays
    std::string obstacle;  // why it stays
};

// Whether libomp defines every function of OpenMP that `program`, a file that is no launcher and
// that can be preloaded into, and the libraries it is linked with import, in that version.
// Libraries that it opens itself are not known. The program is not started. Only from one thread.
OmpExchange plan_omp_exchange(const std::string& program);

}  // namespace dwell

#endif  // DWELL_REPORT_LAUNCH_OMP_EXCHANGE_H_
