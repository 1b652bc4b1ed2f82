// `dwell run --omp ompt`: libomp in the place of libgomp, whose entry points it offers, so that a
// program of gcc is seen through OMPT.
#ifndef DWELL_REPORT_OMP_EXCHANGE_H_
#define DWELL_REPORT_OMP_EXCHANGE_H_

#include <string>

namespace dwell {

struct OmpExchange {
    std::string library;   // libomp's path, to be preloaded; empty: libgomp stays
    std::string obstacle;  // why it stays
};

// Asks the loader what `program` is linked with, and whether libomp defines every function of
// OpenMP that these modules import, in that version. Modules that the program opens itself are not
// known. The program is not started.
OmpExchange plan_omp_exchange(const std::string& program);

}  // namespace dwell

#endif  // DWELL_REPORT_OMP_EXCHANGE_H_
