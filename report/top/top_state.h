// What `dwell top` shows on a terminal, and what keys change: all but the terminal itself.
#ifndef DWELL_REPORT_TOP_TOP_STATE_H_
#define DWELL_REPORT_TOP_TOP_STATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "report/top/top_rows.h"
#include "report/top/top_text.h"

namespace dwell {

// Keys beyond those of letters.
enum TopKey : int {
    kKeyUp = 0x110000,
    kKeyDown,
    kKeyLeft,
    kKeyRight,
    kKeyPageUp,
    kKeyPageDown,
    kKeyHome,
    kKeyEnd,
    kKeyEnter,
    kKeyEscape,
    kKeyErase,
};

// What a key asks for beside another picture.
enum class TopWish : uint8_t { kNothing, kReading, kJobs, kEnd };

class TopState {
  public:
    TopState(const TopChoice& choice, std::vector<TopAlarm> alarms)
        : choice_(choice), alarms_(std::move(alarms)) {}

    TopWish press(int key, const LiveSnapshot& snapshot);
    // At most `height` lines; `selected` gets the line of the row that is selected, or -1.
    std::vector<TopLine> picture(const LiveSnapshot& snapshot, const TopModel& model, int height,
                                 const TopPaper& paper, int* selected);

    const TopChoice& choice() const { return choice_; }
    uint32_t rank() const { return rank_; }
    void show_rank(uint32_t rank) { rank_ = rank; }
    bool shows_ranks() const { return shows_ranks_; }

  private:
    TopWish press_in_filter(int key);
    void move(int by);
    void fold(bool folded);
    bool any_folded() const;
    void next_rank(int by, const LiveSnapshot& snapshot);
    std::string bottom(const TopPaper& paper) const;

    TopChoice choice_;
    std::vector<TopAlarm> alarms_;
    uint32_t rank_ = kAllRanks;
    bool shows_ranks_ = false;
    bool shows_help_ = false;
    bool in_filter_ = false;
    std::vector<TopRow> rows_;  // of the last picture
    uint32_t selected_ = 0;     // id
    size_t row_ = 0;            // where it was
    size_t count_ = 0;          // of rows of the table, or of ranks
    size_t first_ = 0;          // row at the top of the table
    size_t page_ = 1;           // rows on the terminal
};

}  // namespace dwell

#endif  // DWELL_REPORT_TOP_TOP_STATE_H_
