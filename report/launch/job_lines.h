// Messages of `dwell run` that are equal for several ranks of a job, printed once. Under a launcher
// each rank has its own `dwell run`. The ranks of a host leave their lines in a file, and the last
// process to end prints each line with the number and list of its ranks. A launcher ends the whole
// job when one rank fails, so a failing rank prints at once.
#ifndef DWELL_REPORT_LAUNCH_JOB_LINES_H_
#define DWELL_REPORT_LAUNCH_JOB_LINES_H_

#include <string>
#include <vector>

namespace dwell {

class JobLines {
  public:
    JobLines();
    // Prints the collected lines if this process is the last or fails.
    ~JobLines();
    JobLines(const JobLines&) = delete;
    JobLines& operator=(const JobLines&) = delete;

    // Prints at once without a launcher, or if the file cannot be created. `text` names no rank.
    void say(const std::string& text);
    // The wait status of the program; until it is set, the program counts as failed.
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
