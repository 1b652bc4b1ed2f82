// Runs that nobody has spoken of: a program that was watched by LD_PRELOAD alone and was killed, or
// ended by _exit(), left its records where they were.
#ifndef DWELL_REPORT_RESULTS_UNFINISHED_H_
#define DWELL_REPORT_RESULTS_UNFINISHED_H_

#include <string>
#include <vector>

namespace dwell {

// One line for each that was started in the working directory, has ended, and has no profile here;
// not for those whose records are named by the command's `words`. Removes the records of programs
// that never came out of MPI_Init.
void name_unfinished_runs(const std::vector<std::string>& words);

}  // namespace dwell

#endif  // DWELL_REPORT_RESULTS_UNFINISHED_H_
