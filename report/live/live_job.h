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

// The directory of the job that `name` means: a directory, the id of a job, or nothing where there
// is one job. The error is one line that says what there is.
tl::expected<std::string, std::string> find_job(const std::string& name);

// All record files in `directory`, or an error of one line. `left_out`: files that could not be
// read.
tl::expected<Merged, std::string> read_job(const std::string& directory, size_t* left_out);

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
