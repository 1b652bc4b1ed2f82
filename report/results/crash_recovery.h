// Keeps the record files of a job that ended without its merge: moves them from /dev/shm to a place
// that survives a reboot, and prints once for the job the command to type.
#ifndef DWELL_REPORT_RESULTS_CRASH_RECOVERY_H_
#define DWELL_REPORT_RESULTS_CRASH_RECOVERY_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "report/results/record_files.h"

namespace dwell {

// The neighbouring directory to which such files of `job` were moved when the others were moved to
// `directory`; empty if there is none.
std::string place_of_earlier_records(const std::string& directory, const std::string& job);

// The identifying part of a default output directory: "<program>-<job>".
std::string run_name(const std::string& program, const std::string& job);

// `text` quoted as one shell word.
std::string shell_word(const std::string& text);
// The same for a line of say(), whose escapes bash, ksh and zsh understand: control characters are
// kept.
std::string word_to_type(const std::string& text);

struct Recovery {
    std::string job;
    int own_rank = -1;          // the rank of this process; -1: the whole job
    std::string out_directory;  // -o, empty: default in the working directory
    std::string program;        // for messages: "app", or "rank 3 (app)"
    std::string what_happened;  // for messages: "app was ended by signal 9 (Killed)"
    pid_t pid = 0;              // process of that program; its children may have left the records
    bool report = false;     // the run was told to end: makes its profile, too, while time is left
    int end_timeout_s = 60;  // longest wait for that
};

// Moves the files of dead processes, also while the parents of other ranks do the same. Does
// nothing when there are none, or when `own_rank` left none. Reports files that could not be moved
// and their place. Returns true when records were kept.
bool recover_records(const Recovery& rescue);

// Copies of the records of a job that goes on although it was told to end, and may be killed any
// time.
struct SavedRecords {
    pid_t copier = 0;  // the child that makes them
    std::vector<std::string> copies;
};
// Copies them in a child, which also makes the profile of what was counted so far.
SavedRecords save_records(const Recovery& rescue);
// The job ended well after all. Files that other processes have moved over a copy stay.
void remove_copies(const SavedRecords& saved, int timeout_s);

// If `directory` was made only to keep the records of a run: the directory "dwell-<program>-<job>"
// for its profile. Else empty.
std::string profile_of_shelter(const std::string& directory);

// The place for records of this run: the first writable one of out_directory (or
// ./dwell-<run>.records), $TMPDIR and /tmp, as an absolute path; empty when none is writable. A
// place with records of another job than `job` gets the suffix ".2" and so on.
std::string choose_record_shelter(const std::string& out_directory, const std::string& run,
                                  const std::string& job);

}  // namespace dwell

#endif  // DWELL_REPORT_RESULTS_CRASH_RECOVERY_H_
