// The terminal of `dwell top`, by ncurses; see top_screen.h.
#include "report/top/top_screen.h"

#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>

#define NCURSES_NOMACROS
#include <ncurses.h>

namespace dwell {
namespace {

int attributes_of(TopStyle style) {
    switch (style) {
        case TopStyle::kTitle:
            return A_BOLD;
        case TopStyle::kHead:
            return A_UNDERLINE;
        case TopStyle::kAlarm:
            return A_BOLD;
        case TopStyle::kDim:
            return A_DIM;
        case TopStyle::kPlain:
            break;
    }
    return A_NORMAL;
}

bool has_hung_up() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    return poll(&input, 1, 0) > 0 && (input.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

}  // namespace

TopScreen::TopScreen() {
    setlocale(LC_ALL, "");
    screen_ = newterm(nullptr, stdout, stdin);
    if (screen_ == nullptr) return;
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    set_escdelay(50);
    curs_set(0);
}

TopScreen::~TopScreen() {
    if (screen_ == nullptr) return;
    endwin();
    delscreen(static_cast<SCREEN*>(screen_));
}

int TopScreen::width() const { return getmaxx(stdscr); }
int TopScreen::height() const { return getmaxy(stdscr); }

void TopScreen::draw(const std::vector<TopLine>& lines, int selected) {
    werase(stdscr);
    const int most = std::min(static_cast<int>(lines.size()), height());
    for (int i = 0; i < most; ++i) {
        const TopLine& line = lines[static_cast<size_t>(i)];
        int attributes = attributes_of(line.style);
        if (i == selected) attributes |= A_REVERSE;
        wattrset(stdscr, attributes);
        mvwaddnstr(stdscr, i, 0, line.text.c_str(), -1);
    }
    wattrset(stdscr, A_NORMAL);
    wrefresh(stdscr);
}

int TopScreen::key(int wait_ms) {
    wtimeout(stdscr, std::max(wait_ms, 0));
    const int given = wgetch(stdscr);
    switch (given) {
        case ERR:
            return has_hung_up() ? kGone : -1;
        case KEY_RESIZE:
            return kResized;
        case KEY_UP:
            return kKeyUp;
        case KEY_DOWN:
            return kKeyDown;
        case KEY_LEFT:
            return kKeyLeft;
        case KEY_RIGHT:
            return kKeyRight;
        case KEY_PPAGE:
            return kKeyPageUp;
        case KEY_NPAGE:
            return kKeyPageDown;
        case KEY_HOME:
            return kKeyHome;
        case KEY_END:
            return kKeyEnd;
        case KEY_ENTER:
        case '\r':
        case '\n':
            return kKeyEnter;
        case KEY_BACKSPACE:
        case 0x7f:
        case '\b':
            return kKeyErase;
        case 0x1b:
            return kKeyEscape;
        default:
            return given;
    }
}

}  // namespace dwell
