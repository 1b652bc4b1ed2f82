// A running job as it is now: its tree with the figures of all ranks or of one, what is open, and
// who waits for whom. Read again and again; when the job has ended, the same as its profile.
#ifndef DWELL_REPORT_TOP_LIVE_VIEW_H_
#define DWELL_REPORT_TOP_LIVE_VIEW_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "report/live/positions.h"
#include "report/top/watched_file.h"
#include "summarize/model/profile.h"
#include "summarize/profile/live_profile.h"

namespace dwell {

constexpr uint32_t kAllRanks = kNoNode;

// Times of the job or of one rank, over all its threads: fields of the same names in profile.json.
struct TimeSums {
    uint64_t total_ns = 0;
    uint64_t computation_ns = 0;
    uint64_t transfer_ns = 0;
    uint64_t blocked_ns = 0;
    uint64_t sync_ns = 0;
    uint64_t omp_wait_ns = 0;
    uint64_t omp_idle_ns = 0;
    uint64_t io_ns = 0;
    uint64_t paused_ns = 0;
};
struct TimeSum {
    const char* name;
    uint64_t TimeSums::*value;
};
constexpr TimeSum kTimeSums[] = {
    {"total_ns", &TimeSums::total_ns},       {"computation_ns", &TimeSums::computation_ns},
    {"transfer_ns", &TimeSums::transfer_ns}, {"blocked_ns", &TimeSums::blocked_ns},
    {"sync_ns", &TimeSums::sync_ns},         {"omp_wait_ns", &TimeSums::omp_wait_ns},
    {"omp_idle_ns", &TimeSums::omp_idle_ns}, {"io_ns", &TimeSums::io_ns},
    {"paused_ns", &TimeSums::paused_ns}};

// A node of the tree. `id` stays the same while the job is watched.
struct LiveNode {
    uint32_t id = 0;
    Totals totals{};  // as of ProfileNode, up to each thread's last time stamp
    uint64_t computation_ns = 0;
    uint64_t open_ns = 0;  // since then, of the threads that are in it or below it now: real time
};

struct LiveRank {
    uint32_t rank = 0;
    int pid = 0;
    std::string host;
    FileState state = FileState::kRunning;
    bool is_gone = false;  // its process has ended
    TimeSums sums;
};

struct LiveSnapshot {
    int64_t unix_ns = 0;               // of the reading
    int64_t figures_unix_ns = 0;       // of the newest of its figures
    int64_t start_unix_ns = 0;         // of the first rank
    const Profile* profile = nullptr;  // the tree, names and ranks; its figures are in `nodes`
    std::vector<LiveNode> nodes;       // by node of the profile
    TimeSums sums;
    uint32_t rank = kAllRanks;    // the only one that is shown
    std::vector<LiveRank> ranks;  // by rank; their sums where they were asked for
    Positions positions;          // of threads that run
    uint32_t resets = 0;          // so far: counts began anew (MPI_Pcontrol(2))
    bool is_new_tree = false;     // estimated times were attributed anew
    bool has_new_paths = false;   // that are not in the tree yet
    size_t left_out = 0;          // record files that cannot be read
    bool is_final = false;        // the job has ended: all figures are those of its profile
    bool ended_well = false;      // all ranks have passed MPI_Finalize, or have returned
};

class LiveView {
  public:
    // An error of one line where there is nothing to read in `directory`.
    static tl::expected<LiveView, std::string> open(const std::string& directory);
    LiveView(LiveView&&) noexcept;
    LiveView& operator=(LiveView&&) noexcept;
    ~LiveView();

    // `rank`: kAllRanks, or the only one to show. `with_ranks`: also sums for each rank. The result
    // is valid until the next call.
    const LiveSnapshot& read(uint32_t rank = kAllRanks, bool with_ranks = false);

  private:
    struct Rank {
        std::string name;
        WatchedFile file;
        FileHeader header;
        bool is_visible = true;  // its process can be seen here
        bool is_gone = false;
        std::map<uint32_t, int64_t> last_unix_ns = {};  // as in Reading
    };
    LiveView() = default;
    void find_files();
    bool build();
    bool is_worth_building(const Reading& reading) const;
    Reading read_figures(uint32_t rank);
    void number_nodes(const Profile& profile);
    void take_figures();
    void never_fall(const std::vector<LiveNode>& before, const TimeSums& sums);
    void add_open_times(uint32_t rank);
    void add_rank_sums();
    void note_ends();
    bool has_ended() const;
    void finish(uint32_t rank);
    void show(const Profile& profile, uint32_t rank);
    void list_ranks();
    bool read_snapshots_of_hosts(uint32_t rank);
    void finish_from_profile(uint32_t rank);

    std::string directory_;
    bool of_hosts_ = false;  // the directory of a profile, with snapshots of its hosts (snapshot.h)
    std::map<uint32_t, Rank> ranks_;
    std::set<std::string> unreadable_;
    std::unique_ptr<KnownLines> lines_ = std::make_unique<KnownLines>();
    std::unique_ptr<LiveProfile> live_;
    std::unique_ptr<Profile> final_;
    uint32_t rest_ = kNoNode;
    std::vector<Totals> totals_;
    std::vector<uint64_t> least_ns_;  // by merged node: shortest call of any rank
    std::map<std::string, uint32_t> ids_;
    std::string snapshots_stamp_;  // of those that were read last
    int64_t missed_ns_ = 0;        // when there were no snapshots any more
    int64_t built_ns_ = 0;         // when,
    int64_t build_cost_ns_ = 0;    // and how long it took
    LiveSnapshot snapshot_;
};

}  // namespace dwell

#endif  // DWELL_REPORT_TOP_LIVE_VIEW_H_
