// Reports runs without a report so far: a program observed by LD_PRELOAD alone that was killed, or
// ended by _exit(), leaves its records where they are.
#ifndef DWELL_REPORT_RESULTS_UNFINISHED_H_
#define DWELL_REPORT_RESULTS_UNFINISHED_H_

#include <string>
#include <vector>

namespace dwell {

// Prints one line for each run that started in the working directory, has ended and has no profile
// here. Runs whose records are named in the command's `words` are left out. Removes the records of
// programs that never returned from MPI_Init.
void name_unfinished_runs(const std::vector<std::string>& words);

}  // namespace dwell

#endif  // DWELL_REPORT_RESULTS_UNFINISHED_H_
