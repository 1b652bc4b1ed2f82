// The files in the record directory of a job: which there are, whose they are, and whether their
// owners still write them.
#ifndef DWELL_REPORT_RESULTS_RECORD_FILES_H_
#define DWELL_REPORT_RESULTS_RECORD_FILES_H_

#include <sys/types.h>

#include <string.h>
#include <cstdint>
#include <map>

#include <optional>
#include <string>
#include <vector>

#include "report/console/output.h"
#include "runtime/contract/record_layout.h"

namespace dwell {

constexpr const char* kFilePrefix = "rank.";

// A text of a header.
template <size_t kBytes>
std::string text_in(const char (&field)[kBytes]) {
    return std::string(field, strnlen(field, kBytes));
}

// Nothing when `path` is no record file.
std::optional<FileHeader> read_header(const std::string& path);
// Whether the process that writes the file still runs, as far as this host knows.
bool owner_is_alive(const std::string& path);

// The owner has ended, and the `dwell run` that watches it, if any, has noted when.
bool is_settled(const std::string& path);
// Whether the process `pid` has the record file mapped: it is no other process of that number.
bool process_maps(pid_t pid, const std::string& path);

// Names of the record files in `directory`, one for each rank and sorted by rank: "rank.<n>", or
// "rank.<n>.<pid>" for a process that became another program by exec, beside its first file.
std::vector<std::string> record_files(const std::string& directory);
// Whether there are other files: the first files of such processes.
bool holds_earlier_records(const std::string& directory);
struct RankFile {
    unsigned long rank;
    long pid;  // nonzero: second file of the rank, "rank.<n>.<pid>"
    std::string name;
};
std::optional<RankFile> record_in_name(const std::string& name);
// By rank, the first file of each before its second one.
std::vector<RankFile> all_record_files(const std::string& directory);

// By host: the newest time in any record of a job, for processes whose end nobody saw.
using NewestTimes = std::map<std::string, int64_t>;
void add_newest(const void* file, size_t bytes, NewestTimes* times);
int64_t newest_time(const NewestTimes& times, const FileHeader& header);  // 0: not known

// Now, in the ticks of record files of this host.
uint64_t ticks_now();
// Notes in a copy of a record file, which is open, that its process went on when it was made.
Outcome note_copy(int file);

// Removes what interrupted copies of records left in `directory`. `all_moved`: no records of this
// host are left to move, so nobody needs a second copy of one that is there.
void remove_interrupted_copies(const std::string& directory, bool all_moved = false);

// What `dwell run --watchdog` said of the job whose records are in `directory`: a file for each
// host, beside them. Empty: nothing.
std::string watchdog_file(const std::string& directory);  // of this host
std::string watchdog_text_in(const std::string& directory);
void remove_watchdog_texts(const std::string& directory);

}  // namespace dwell

#endif  // DWELL_REPORT_RESULTS_RECORD_FILES_H_
