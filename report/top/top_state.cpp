// Keys and pictures of `dwell top`; see top_state.h.
#include "report/top/top_state.h"

#include <algorithm>
#include <utility>

#include "report/figures/text_style.h"

namespace dwell {
namespace {

constexpr int kSmallHeight = 16;  // below, there is no room for who waits for whom
constexpr const char* kHelp[] = {
    "up, down, page up, page down   move",
    "left, right, enter             fold and unfold",
    "+ -                            levels that are unfolded",
    "t l p                          hierarchy, costliest lines, ranks",
    "r                              since the start, or the last interval",
    "s S                            sort by the next column, the one before",
    "/                              filter; escape ends it",
    "[ ] a                          one rank, all ranks",
    "j                              list of jobs",
    "h q                            this help, end"};

TopColumn next_column(TopColumn column, int by) {
    const int columns = static_cast<int>(TopColumn::kName) + 1;
    return static_cast<TopColumn>((static_cast<int>(column) + by + columns) % columns);
}

}  // namespace

TopWish TopState::press_in_filter(int key) {
    if (key == kKeyEnter) {
        in_filter_ = false;
    } else if (key == kKeyEscape) {
        in_filter_ = false;
        choice_.filter.clear();
    } else if (key == kKeyErase) {
        // A character of UTF-8 may have several bytes.
        while (!choice_.filter.empty()) {
            const auto last = static_cast<unsigned char>(choice_.filter.back());
            choice_.filter.pop_back();
            if ((last & 0xc0) != 0x80) break;
        }
    } else if (key >= ' ' && key < 0x100 && key != 0x7f) {
        choice_.filter += static_cast<char>(key);
    }
    return TopWish::kNothing;
}

void TopState::move(int by) {
    if (count_ == 0) return;
    const auto last = static_cast<int>(count_) - 1;
    row_ = static_cast<size_t>(std::clamp(static_cast<int>(row_) + by, 0, last));
    if (row_ < rows_.size()) selected_ = rows_[row_].id;
}

bool TopState::any_folded() const {
    return std::any_of(rows_.begin(), rows_.end(), [](const TopRow& row) { return row.is_folded; });
}

void TopState::fold(bool folded) {
    if (row_ >= rows_.size()) return;
    const TopRow& row = rows_[row_];
    if (row.has_more && row.is_folded != folded) {
        if (choice_.turned.erase(row.id) == 0) choice_.turned.insert(row.id);
        return;
    }
    // Left on a row without more: to the row around it.
    for (size_t i = row_; folded && i-- > 0;) {
        if (rows_[i].depth >= row.depth) continue;
        row_ = i;
        selected_ = rows_[i].id;
        return;
    }
}

void TopState::next_rank(int by, const LiveSnapshot& snapshot) {
    const auto ranks = static_cast<int>(snapshot.ranks.size());
    if (ranks == 0) return;
    int place = by > 0 ? -1 : ranks;
    for (int i = 0; i < ranks; ++i) {
        if (snapshot.ranks[static_cast<size_t>(i)].rank == rank_) place = i;
    }
    rank_ = snapshot.ranks[static_cast<size_t>((place + by + ranks) % ranks)].rank;
}

TopWish TopState::press(int key, const LiveSnapshot& snapshot) {
    if (in_filter_) return press_in_filter(key);
    if (shows_help_) {
        shows_help_ = false;
        return key == 'q' ? TopWish::kEnd : TopWish::kNothing;
    }
    const auto page = static_cast<int>(page_);
    switch (key) {
        case 'q':
            return TopWish::kEnd;
        case 'j':
            return TopWish::kJobs;
        case kKeyUp:
            move(-1);
            break;
        case kKeyDown:
            move(1);
            break;
        case kKeyPageUp:
            move(-page);
            break;
        case kKeyPageDown:
            move(page);
            break;
        case kKeyHome:
            move(-static_cast<int>(count_));
            break;
        case kKeyEnd:
            move(static_cast<int>(count_));
            break;
        case kKeyLeft:
            fold(true);
            break;
        case kKeyRight:
            fold(false);
            break;
        case kKeyEnter:
            if (row_ < rows_.size() && rows_[row_].has_more) fold(!rows_[row_].is_folded);
            break;
        case '+':
            if (choice_.depth != 0) choice_.depth = any_folded() ? choice_.depth + 1 : 0;
            choice_.turned.clear();
            break;
        case '-':
            // From all levels on, the least that folds something.
            choice_.depth = choice_.depth == 0 ? 3 : std::max(1, choice_.depth - 1);
            choice_.turned.clear();
            break;
        case 't':
            choice_.lines = shows_ranks_ = false;
            break;
        case 'l':
            choice_.lines = true;
            shows_ranks_ = false;
            break;
        case 'p':
            shows_ranks_ = !shows_ranks_;
            return TopWish::kReading;
        case 'r':
            choice_.rates = !choice_.rates;
            break;
        case 's':
            choice_.sort = next_column(choice_.sort, 1);
            break;
        case 'S':
            choice_.sort = next_column(choice_.sort, -1);
            break;
        case '/':
            in_filter_ = true;
            break;
        case kKeyEscape:
            choice_.filter.clear();
            break;
        case '[':
        case ']':
            next_rank(key == ']' ? 1 : -1, snapshot);
            return TopWish::kReading;
        case 'a':
            rank_ = kAllRanks;
            return TopWish::kReading;
        case 'h':
        case '?':
            shows_help_ = true;
            break;
        default:
            break;
    }
    return TopWish::kNothing;
}

std::string TopState::bottom(const TopPaper& paper) const {
    std::string text;
    if (in_filter_) {
        text = "filter: " + choice_.filter + "_";
    } else {
        text = std::string("sort ") + column_word(choice_.sort);
        if (!choice_.filter.empty()) text += ", filter " + choice_.filter;
        text += "  |  h help  q end  s sort  / filter  r rates  t l p views  [ ] a ranks";
    }
    text = printable(text, paper.utf8);
    return display_width(text) <= paper.width ? text : cut_middle(text, paper.width, paper.utf8);
}

std::vector<TopLine> TopState::picture(const LiveSnapshot& snapshot, const TopModel& model,
                                       int height, const TopPaper& paper, int* selected) {
    *selected = -1;
    std::vector<TopLine> lines;
    const auto room = static_cast<size_t>(std::max(height, 1));
    if (shows_help_) {
        for (const char* const text : kHelp) {
            const std::string line = text;
            lines.push_back({display_width(line) <= paper.width
                                 ? line
                                 : cut_middle(line, paper.width, paper.utf8)});
        }
        if (lines.size() > room) lines.resize(room);
        return lines;
    }
    const TopTable table = model.table(choice_);
    lines = head_lines(snapshot, table, choice_, alarms_, paper);
    if (height < kSmallHeight) {  // one line of each sentence
        lines.erase(std::remove_if(lines.begin(), lines.end(),
                                   [](const TopLine& line) { return line.text.starts_with("  "); }),
                    lines.end());
    }
    // A table has its title and three rows before anything else gets room.
    const size_t most_head = room > 6 ? room - 5 : 1;
    if (lines.size() > most_head) lines.resize(most_head);
    std::vector<TopLine> waits;
    if (height >= kSmallHeight) waits = wait_lines(snapshot, paper);
    const size_t most_waits = room / 4;
    if (waits.size() > most_waits) waits.resize(most_waits);
    std::vector<TopLine> body =
        shows_ranks_ ? rank_lines(snapshot, paper) : table_lines(table, choice_, alarms_, paper);
    const size_t other = lines.size() + 1 + (waits.empty() ? 0 : waits.size() + 1) + 1;
    page_ = room > other ? room - other : 1;
    rows_ = shows_ranks_ ? std::vector<TopRow>() : table.rows;
    const auto same = std::find_if(rows_.begin(), rows_.end(),
                                   [this](const TopRow& row) { return row.id == selected_; });
    const size_t count = count_ = body.size() - 1;
    if (same != rows_.end()) row_ = static_cast<size_t>(same - rows_.begin());
    if (row_ >= count) row_ = count == 0 ? 0 : count - 1;
    if (row_ < rows_.size()) selected_ = rows_[row_].id;
    if (row_ < first_) first_ = row_;
    if (row_ >= first_ + page_) first_ = row_ - page_ + 1;
    if (first_ + page_ > count) first_ = count > page_ ? count - page_ : 0;
    lines.push_back(body[0]);
    for (size_t i = first_; i < count && i < first_ + page_; ++i) {
        if (i == row_) *selected = static_cast<int>(lines.size());
        lines.push_back(body[i + 1]);
    }
    while (lines.size() + (waits.empty() ? 0 : waits.size() + 1) + 1 < room) lines.emplace_back();
    if (!waits.empty()) {
        if (paper.width > 13) lines.push_back({"In calls now:", TopStyle::kHead});
        lines.insert(lines.end(), waits.begin(), waits.end());
    }
    lines.push_back({bottom(paper), TopStyle::kDim});
    if (lines.size() > room) lines.resize(room);
    return lines;
}

}  // namespace dwell
