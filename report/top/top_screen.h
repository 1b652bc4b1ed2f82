// `dwell top` on a terminal.
#ifndef DWELL_REPORT_TOP_TOP_SCREEN_H_
#define DWELL_REPORT_TOP_TOP_SCREEN_H_

#include <cstdint>
#include <string>

#include "report/top/top_state.h"

namespace dwell {

class TopScreen {
  public:
    // Nothing can be drawn where the terminal is unknown: is_open() is false then.
    TopScreen();
    ~TopScreen();
    TopScreen(const TopScreen&) = delete;
    TopScreen& operator=(const TopScreen&) = delete;

    bool is_open() const { return screen_ != nullptr; }
    int width() const;
    int height() const;
    void draw(const std::vector<TopLine>& lines, int selected);
    // The next key within `wait_ms`, -1 without one, kResized after a change of size.
    int key(int wait_ms);
    static constexpr int kResized = -2;
    static constexpr int kGone = -3;  // the terminal has closed

  private:
    void* screen_ = nullptr;
};

}  // namespace dwell

#endif  // DWELL_REPORT_TOP_TOP_SCREEN_H_
