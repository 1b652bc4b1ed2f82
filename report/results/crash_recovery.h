// Keeps the record files of a job that ended without its merge: moves them from /dev/shm to a place
// that outlives a reboot, and says once for the job what to type.
#ifndef DWELL_REPORT_RESULTS_CRASH_RECOVERY_H_
#define DWELL_REPORT_RESULTS_CRASH_RECOVERY_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/contract/record_layout.h"

namespace dwell {

// Nothing when `path` is no record file.
std::optional<FileHeader> read_header(const std::string& path);
// Whether the process that writes it goes on, as far as this host knows.
bool owner_is_alive(const std::string& path);

// Names of the record files in `directory`, one for each rank and sorted by that: "rank.<n>", or
// "rank.<n>.<pid>" of a process that went on as another program (exec) beside its first file.
std::vector<std::string> record_files(const std::string& directory);
// Whether there are others: first files of such processes.
bool holds_earlier_records(const std::string& directory);
// The directory beside, if there is one, to which such files of `job` were moved when the others
// were moved to `directory`; else empty.
std::string place_of_earlier_records(const std::string& directory, const std::string& job);

// The part of a default output directory's name that tells the run apart: "<program>-<job>".
std::string run_name(const std::string& program, const std::string& job);

// `text` as a word that can be typed into a shell.
std::string shell_word(const std::string& text);
// The same for a line of say(), whose escapes bash, ksh and zsh read: control characters stay.
std::string word_to_type(const std::string& text);

struct Recovery {
    std::string job;
    int own_rank = -1;          // this process speaks for one rank; -1: for the whole job
    std::string out_directory;  // -o, empty: default in the working directory
    std::string program;        // for lines: "app", or "rank 3 (app)"
    std::string what_happened;  // likewise: "app was ended by signal 9 (Killed)"
    pid_t pid = 0;              // of that program, whose processes may have left the records
};

// Moves the files of dead processes, also when the parents of other ranks do the same at the same
// time. Does nothing when there are none, or when `own_rank` left none. Says what could not be
// moved and where it still is. True when records were kept.
bool recover_records(const Recovery& rescue);

// Whether `directory` was made to keep the records of a run, and nothing else: then
// "dwell-<program>-<job>", where the profile of that run goes; else empty.
std::string profile_of_shelter(const std::string& directory);

// Where records of this run are kept: the first of out_directory (or ./dwell-<run>.records),
// $TMPDIR and /tmp that can be written, as an absolute path. Empty when none can.
// Not where records of another job than `job` are kept: then beside it, with ".2" or so behind.
std::string choose_record_shelter(const std::string& out_directory, const std::string& run,
                                  const std::string& job);

}  // namespace dwell

#endif  // DWELL_REPORT_RESULTS_CRASH_RECOVERY_H_
