// What `dwell run` says once for all ranks of a job that say the same: with a launcher around them
// each rank has a `dwell run` of its own. Those of one host leave their lines in a file, and the
// last one to end prints each line with how many ranks left it and which. A launcher ends the whole
// job when one rank fails: then there is no time to wait for the last one.
#ifndef DWELL_REPORT_LAUNCH_JOB_LINES_H_
#define DWELL_REPORT_LAUNCH_JOB_LINES_H_

#include <string>
#include <vector>

namespace dwell {

class JobLines {
  public:
    JobLines();
    // Says what there is, if this process is the last or will fail.
    ~JobLines();
    JobLines(const JobLines&) = delete;
    JobLines& operator=(const JobLines&) = delete;

    // At once where there is no launcher, or no place for the file. `text` names no rank.
    void say(const std::string& text);
    // How the program ended, of waitpid: until then it is taken for a failure.
    void note_end(int wait_status) { wait_status_ = wait_status; }

  private:
    enum class Mark { kBegun, kSaid, kPrinted };
    bool open_file();
    bool write_record(Mark mark, const std::string& text, int rank);
    bool is_last();
    void await_others();
    void print_new();

    int rank_;
    int wait_status_ = 1 << 8;
    int file_ = -1;
    std::string path_;
};

// "4 ranks: 0, 1, 2, 3"; "1000 ranks: 0, 1, 2, 3, 4, 5, 6, 7 ...".
std::string ranks_text(std::vector<int> ranks, size_t count);

}  // namespace dwell

#endif  // DWELL_REPORT_LAUNCH_JOB_LINES_H_
