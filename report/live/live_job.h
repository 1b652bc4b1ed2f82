// The record files of a job on this host, read from outside while the job runs or after it died.
#ifndef DWELL_REPORT_LIVE_LIVE_JOB_H_
#define DWELL_REPORT_LIVE_LIVE_JOB_H_

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "runtime/contract/record_layout.h"
#include "summarize/merge/merged.h"

namespace dwell {

// Where the record directories of jobs are.
std::string job_directories();

struct UserJob {
    std::string directory;
    std::string job;
    std::string program;  // its name for people
    std::string command;  // with its arguments
    bool runs = false;
    size_t ranks = 0;  // with records on this host
    int world_size = 0;
    int64_t start_unix_ns = 0;
};
// The caller's jobs on this host, the newest first. `of_others`, if not null: directories of other
// users' jobs.
std::vector<UserJob> jobs_of_user(std::vector<std::string>* of_others = nullptr);

// The directory of the job that `name` means: a directory, the id of a job, or nothing where there
// is one job. The error is one line that says what there is. `command`: the sub-command to type.
tl::expected<std::string, std::string> find_job(const std::string& name, const char* command);

// All record files in `directory`, or an error of one line. `left_out`: files that could not be
// read.
tl::expected<Merged, std::string> read_job(const std::string& directory, size_t* left_out);

// Why none of the files in `directory` could be read: one line. `left_out`: how many there are.
std::string unread_text(const std::string& directory, size_t left_out);

// A record file as its process changes it.
class MappedRecords {
  public:
    explicit MappedRecords(const std::string& path);
    MappedRecords(MappedRecords&& other) noexcept;
    MappedRecords& operator=(MappedRecords&& other) noexcept;
    ~MappedRecords();
    MappedRecords(const MappedRecords&) = delete;
    MappedRecords& operator=(const MappedRecords&) = delete;
    const char* data() const { return data_; }
    size_t bytes() const { return bytes_; }  // 0: there is no such file
    const FileHeader& header() const { return *reinterpret_cast<const FileHeader*>(data_); }

  private:
    const char* data_ = nullptr;
    size_t bytes_ = 0;
};

// The same files without figures: where their threads are (add_places). The job may run on.
tl::expected<Merged, std::string> read_places(const std::string& directory, size_t* left_out);

}  // namespace dwell

#endif  // DWELL_REPORT_LIVE_LIVE_JOB_H_
