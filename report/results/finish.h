// Turns merged records, or record files, into the three files of a profile.
#ifndef DWELL_REPORT_RESULTS_FINISH_H_
#define DWELL_REPORT_RESULTS_FINISH_H_

#include <string>
#include <vector>

#include "report/console/cli.h"
#include "report/console/output.h"
#include "summarize/merge/merged.h"

namespace dwell {

// What is known of a job beside its merged records.
struct JobTexts {
    std::string ending;
    std::string watchdog;
    std::string last_events{};
};

// Writes profile.json, report.txt and stats.picl into `options.out` (empty: dwell-<program>-<job>
// in the working directory). Prints the verdict on stderr unless `quiet`, also when writing fails.
// The error names the file and the reason, without a final full stop.
Outcome write_outputs(Merged& merged, const EndOptions& options, const JobTexts& texts = {});

// Where the profile of a run will be that is not written yet: `out` (empty: "dwell-PROGRAM-JOB"),
// or beside it where there is the profile of another run.
std::string expected_profile_directory(const std::string& out, const std::string& program,
                                       const std::string& job);

// Where the ranks of a job were that ended in the middle: of its record files in `directory`
// (report/live).
using EndingTeller = std::string (*)(const std::string& directory, const Merged& merged);

// Writes the events in the record files of a job in `directory` beside its profile in `out`
// (report/events).
struct KeptEvents {
    std::vector<std::string> lines;  // to say
    std::string last;                // last_events()
};
using EventsKeeper = KeptEvents (*)(const std::string& directory, const std::string& out);

// The sub-commands. Each returns the exit code.
int finish_command(const FinishOptions& options);
int recover_command(const FinishOptions& options, EndingTeller tell_ending,
                    EventsKeeper keep_events);

}  // namespace dwell

#endif  // DWELL_REPORT_RESULTS_FINISH_H_
