// Words and tree of `dwell where`; see where_text.h.
#include "report/live/where_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "report/figures/names.h"
#include "report/figures/text_style.h"

namespace dwell {
namespace {

double ns_since(const Position& position, int64_t now_ns) {
    return static_cast<double>(std::max<int64_t>(now_ns - position.since_unix_ns, 0));
}

const char* state_text(char state) {
    switch (state) {
        case 'R':
            return "running";
        case 'S':
            return "asleep";
        case 'D':
            return "waiting for a device";
        case 'T':
        case 't':
            return "stopped";
        default:
            return "ended";
    }
}

}  // namespace

std::vector<Group> groups_of(const Positions& positions, const std::set<uint32_t>& ranks) {
    std::map<std::pair<std::string, std::set<uint32_t>>, std::set<uint32_t>> by_place;
    for (const Position& position : positions.threads) {
        if (position.thread != 0 || ranks.count(position.rank) == 0) continue;
        const std::string where = position.path.empty() ? "" : position.path.back();
        const std::vector<uint32_t>& needed = position.waits.ranks;
        by_place[{where, {needed.begin(), needed.end()}}].insert(position.rank);
    }
    std::vector<Group> groups;
    for (auto& [place, members] : by_place) {
        groups.push_back({place.first, place.second, std::move(members)});
    }
    std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
        return a.ranks.size() < b.ranks.size();
    });
    return groups;
}

std::string sentence_of(const Group& group) {
    const bool one = group.ranks.size() == 1;
    return fmt::format("{} wait{} for {} in {}", ranks_text(group.ranks), one ? "s" : "",
                       ranks_text(group.needed), group.where);
}

namespace {

// Whether no process of the job is left.
bool is_dead(const Positions& positions) {
    return std::none_of(positions.threads.begin(), positions.threads.end(),
                        [](const Position& position) { return position.state != '\0'; });
}

// What cannot go on, and why. Empty where something may.
std::string stuck_text(const Positions& positions) {
    const std::set<uint32_t> stuck = stuck_ranks(waits_of(positions), positions.gone);
    if (stuck.empty()) return "";
    std::set<uint32_t> all;
    for (const Position& position : positions.threads) all.insert(position.rank);
    const bool dead = is_dead(positions);
    std::string text = dead           ? "Nobody could go on: "
                       : stuck == all ? "Nobody can go on: "
                                      : ranks_text(stuck) + " cannot go on: ";
    bool first = true;
    for (const Group& group : groups_of(positions, stuck)) {
        text += (first ? "" : "; ") + sentence_of(group);
        first = false;
    }
    if (!dead && !positions.gone.empty()) {
        text += fmt::format("; {} {} ended", ranks_text(positions.gone),
                            positions.gone.size() == 1 ? "has" : "have");
    }
    return text + ".";
}

// The paths of all threads as one tree.
struct Branch {
    std::map<std::string, Branch> below;
    std::set<uint32_t> ranks;
    std::vector<const Position*> here;
};

class Tree {
  public:
    Tree(const WhereOptions& options, int64_t now_ns, TextCanvas* canvas)
        : options_(options), now_ns_(now_ns), canvas_(canvas) {}

    void draw(const Branch& branch, const std::string& indent) {
        std::vector<std::pair<std::string, const Branch*>> parts;
        for (const auto& [text, below] : branch.below) parts.emplace_back(text, &below);
        std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
            return a.second->ranks.size() < b.second->ranks.size();
        });
        for (size_t i = 0; i < parts.size(); ++i) {
            const bool last = i + 1 == parts.size();
            const Glyphs& signs = glyphs(canvas_->utf8());
            const bool top = indent.empty() && depth_ == 0;
            const std::string mark =
                top ? "" : std::string(last ? signs.last_branch : signs.branch);
            put(indent + mark, parts[i].first, *parts[i].second);
            depth_ += 1;
            const std::string more = top ? "" : last ? "  " : std::string(signs.trunk);
            draw(*parts[i].second, indent + more);
            depth_ -= 1;
        }
    }

  private:
    void put(const std::string& indent, const std::string& text, const Branch& branch) {
        const std::string ranks = ranks_text(branch.ranks);
        Line line;
        line.add(indent);
        const int room = canvas_->width() - line.width() - display_width(ranks) - 2;
        line.add(cut_middle(printable(text, canvas_->utf8()), room, canvas_->utf8()), Style::kName);
        line.pad_to(canvas_->width() - display_width(ranks));
        line.add(ranks);
        canvas_->put(line);
        std::map<std::string, std::set<uint32_t>> facts;
        for (const Position* position : branch.here)
            facts[facts_of(*position)].insert(position->rank);
        for (const auto& [fact, of] : facts) {
            const std::string who = facts.size() > 1 ? ranks_text(of) + ": " : "";
            canvas_->paragraph(
                std::string(static_cast<size_t>(display_width(indent)) + 2, ' ') + who + fact,
                display_width(indent) + 4, Style::kDim);
        }
    }

    std::string facts_of(const Position& position) const {
        const bool utf8 = canvas_->utf8();
        const std::string time = time_text(ns_since(position, now_ns_), utf8);
        std::string text = position.is_in_call ? "for " + time : "computing for " + time;
        if (position.thread != 0) text += fmt::format(", thread {}", position.thread);
        if (!position.partner.empty()) text += ", waits for " + position.partner;
        if (!position.last.empty()) text += ", last in " + position.last;
        const bool plain = position.state == 'R' || position.state == '\0' ||
                           (position.is_in_call && position.state == 'S');
        if (!plain) text += std::string(", ") + state_text(position.state);
        return text;
    }

    const WhereOptions& options_;
    int64_t now_ns_;
    TextCanvas* canvas_;
    int depth_ = 0;
};

}  // namespace

std::string where_text(const Positions& positions, int64_t now_ns, const WhereOptions& options) {
    TextCanvas canvas(options.width, !options.ascii, false);
    const bool utf8 = !options.ascii;
    const std::string program = std::filesystem::path(positions.program).filename().string();
    const auto runs_ns =
        static_cast<double>(std::max<int64_t>(now_ns - positions.start_unix_ns, 0));
    std::set<uint32_t> moving;
    double still_ns = 0;
    Branch root;
    for (const Position& position : positions.threads) {
        if (position.moved) moving.insert(position.rank);
        still_ns = still_ns == 0 ? ns_since(position, now_ns)
                                 : std::min(still_ns, ns_since(position, now_ns));
        Branch* at = &root;
        at->ranks.insert(position.rank);
        for (const std::string& step : position.path) {
            at = &at->below[step];
            at->ranks.insert(position.rank);
        }
        if (position.path.empty()) {
            at = &at->below["outside of all that is known"];
            at->ranks.insert(position.rank);
        }
        at->here.push_back(&position);
    }
    const std::string movement = is_dead(positions) ? "it has ended"
                                 : moving.empty()
                                     ? "nothing has moved for " + time_text(still_ns, utf8)
                                     : ranks_text(moving) + " moved in the last second";
    canvas.paragraph(
        fmt::format("{}: {} of {} ranks on {}, since {}; {}", printable(program, utf8),
                    root.ranks.size(), positions.world_size, printable(positions.host, utf8),
                    time_text(runs_ns, utf8), movement),
        2, Style::kTitle);
    canvas.blank();
    const std::string stuck = moving.empty() ? stuck_text(positions) : "";
    if (!stuck.empty()) {
        canvas.paragraph(printable(stuck, utf8), 2, Style::kHot);
        canvas.blank();
    }
    Tree(options, now_ns, &canvas).draw(root, "");
    return canvas.take();
}

std::string where_json(const Positions& positions, int64_t now_ns) {
    nlohmann::json threads = nlohmann::json::array();
    for (const Position& position : positions.threads) {
        nlohmann::json thread = {{"rank", position.rank},
                                 {"thread", position.thread},
                                 {"pid", position.pid},
                                 {"tid", position.tid},
                                 {"state", state_text(position.state)},
                                 {"in_mpi", position.is_in_call},
                                 {"moved", position.moved},
                                 {"for_ns", static_cast<uint64_t>(ns_since(position, now_ns))},
                                 {"path", position.path}};
        if (!position.last.empty()) thread["last"] = position.last;
        if (!position.waits.ranks.empty()) {
            thread["waits_for"] = position.waits.ranks;
            thread["any"] = position.waits.needs == Needs::kAny;
        }
        if (!position.partner.empty()) thread["partner"] = position.partner;
        threads.push_back(std::move(thread));
    }
    const std::set<uint32_t> stuck = stuck_ranks(waits_of(positions), positions.gone);
    const nlohmann::json all = {{"program", positions.program},
                                {"host", positions.host},
                                {"world_size", positions.world_size},
                                {"stuck", stuck},
                                {"gone", positions.gone},
                                {"threads", std::move(threads)}};
    return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace dwell
