// The rows of `dwell top`: which nodes of a running job are shown, in which order, with which
// figures. Plain code: what is drawn, and how, is decided elsewhere.
#ifndef DWELL_REPORT_TOP_TOP_ROWS_H_
#define DWELL_REPORT_TOP_TOP_ROWS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "report/top/live_view.h"

namespace dwell {

// Figures of a row, and the columns of the table. Times are nanoseconds.
enum class TopColumn : uint8_t {
    kTime,
    kSelf,  // computation in the row itself
    kComputation,
    kTransfer,
    kWait,
    kOmpWait,
    kOmpIdle,
    kIo,
    kCalls,
    kSent,
    kReceived,
    kOpen,
    kName,  // to sort by; no figure
};
constexpr size_t kTopFigures = static_cast<size_t>(TopColumn::kName);
using RowFigures = std::array<uint64_t, kTopFigures>;
inline uint64_t figure(const RowFigures& figures, TopColumn column) {
    return figures[static_cast<size_t>(column)];
}

// Not below zero.
inline uint64_t less_by(uint64_t value, uint64_t by) { return value - std::min(value, by); }

// The word for a column on the command line and in alarms.
const char* column_word(TopColumn column);
std::optional<TopColumn> column_of_word(const std::string& word);

// What the user wants to see.
struct TopChoice {
    bool lines = false;  // the costliest lines instead of the hierarchy
    bool rates = false;  // what was recorded since the reading before, instead of since the start
    TopColumn sort = TopColumn::kTime;
    std::string filter;         // part of a name, or of FILE:LINE, in any case; empty: all
    int depth = 0;              // levels of the hierarchy that are unfolded; 0: all
    bool folds_small = false;   // rows that took next to no time
    std::set<uint32_t> turned;  // ids of rows that are folded or unfolded against these two
};

struct TopRow {
    uint32_t node = 0;          // of the profile
    uint32_t id = 0;            // of the node
    uint32_t callee = kNoNode;  // the procedure that a call enters, which is one row with the call
    int depth = 0;
    bool has_more = false;     // rows below it
    bool is_folded = false;    // which are not shown
    bool only_around = false;  // shown for the sake of rows below it that the filter lets pass
    std::string name;
    std::string place;  // "heat.c:88", or empty
    bool is_estimated = false;
    RowFigures figures{};
};

struct TopTable {
    std::vector<TopRow> rows;
    RowFigures job{};          // of the whole job, or of the rank that is shown
    uint64_t whole_ns = 0;     // time that the shares are of: recorded and open
    uint64_t interval_ns = 0;  // since the reading before; 0: there is none
    size_t ranks = 0;
};

// Keeps the figures of the reading before, for rates.
class TopModel {
  public:
    void take(const LiveSnapshot& snapshot);
    TopTable table(const TopChoice& choice) const;
    // Whether there is a reading before, of the same counts, and how long ago.
    bool has_rates() const { return interval_ns_ != 0; }
    uint64_t interval_ns() const { return interval_ns_; }
    // The node at the reading before; null where it was not there, or without rates.
    const LiveNode* before(uint32_t id) const;

  private:
    struct Taken {
        std::vector<LiveNode> nodes;  // by node of the profile, as the next two
        std::vector<RowFigures> own;  // without the node's children
        std::vector<RowFigures> inclusive;
        RowFigures job{};
        int64_t unix_ns = 0;
        uint32_t resets = 0;
        uint32_t rank = kAllRanks;
    };
    void add_figures();
    TopRow row_of(uint32_t node, bool whole, bool rates) const;
    void add_tree_rows(const TopChoice& choice, TopTable* table) const;
    void add_line_rows(const TopChoice& choice, TopTable* table) const;

    const LiveSnapshot* snapshot_ = nullptr;
    Taken now_;
    Taken before_;
    std::vector<uint32_t> place_before_;  // by id: node of the profile at the reading before
    uint64_t interval_ns_ = 0;
};

// An alarm: "wait>30%", a part of the time of the job.
struct TopAlarm {
    std::string text;
    TopColumn column = TopColumn::kWait;
    bool above = true;
    double percent = 0;
};
// Nothing where the text is none.
std::optional<TopAlarm> parse_alarm(const std::string& text);
// The share that the alarm watches, in percent.
double alarm_share(const TopAlarm& alarm, const RowFigures& figures, uint64_t whole_ns);
bool is_raised(const TopAlarm& alarm, const RowFigures& figures, uint64_t whole_ns);

}  // namespace dwell

#endif  // DWELL_REPORT_TOP_TOP_ROWS_H_
