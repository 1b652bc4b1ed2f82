// Says who was where at the end; see ending.h. Ranks that could not go on come first.
#include "report/live/ending.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "report/figures/text_style.h"
#include "report/live/positions.h"
#include "report/live/traffic.h"
#include "report/live/where_text.h"

namespace dwell {
namespace {

constexpr size_t kGroupsNamed = 4;

// "rank 3 computed after MPI_Barrier x.c:9"; "rank 3 computed" where nothing is known.
std::string computing_text(const std::string& where, const std::set<uint32_t>& ranks) {
    return ranks_text(ranks) + " computed" + (where.empty() ? "" : " " + where);
}

}  // namespace

std::string ending_of(const std::string& directory, const Merged& merged) {
    Positions positions = positions_of(merged, nullptr);
    std::erase_if(positions.threads,
                  [](const Position& position) { return position.end_unix_ns == 0; });
    if (positions.threads.empty()) return {};
    add_findings(directory, merged, &positions);
    std::set<uint32_t> stuck;
    const std::vector<size_t> held = stuck_threads(positions, &stuck);
    std::set<uint32_t> ranks;
    std::vector<size_t> in_calls;
    std::map<std::string, std::set<uint32_t>> computing;
    int64_t least_ns = INT64_MAX;
    for (size_t i = 0; i < positions.threads.size(); ++i) {
        const Position& position = positions.threads[i];
        if (position.thread != 0) continue;
        ranks.insert(position.rank);
        least_ns = std::min(least_ns, position.end_unix_ns - position.since_unix_ns);
        if (stuck.count(position.rank) != 0) continue;
        if (position.is_in_call) {
            in_calls.push_back(i);
        } else {
            computing[where_it_is(position)].insert(position.rank);
        }
    }
    std::vector<std::string> parts;
    for (const Group& group : groups_of(positions, held)) parts.push_back(sentence_of(group));
    const size_t stuck_parts = parts.size();
    for (const auto& [where, who] : computing) parts.push_back(computing_text(where, who));
    for (const Group& group : groups_of(positions, in_calls)) {
        parts.push_back(group.needed.empty()
                            ? who_text(group.who) +
                                  (group.who.size() == 1 ? " was in " : " were in ") + group.where
                            : sentence_of(group));
    }
    const bool all = stuck.size() == ranks.size();
    std::string text = stuck_parts == 0 ? "At the end "
                       : all            ? "Nobody could go on: "
                                        : begin_sentence(ranks_text(stuck)) + " could not go on: ";
    const size_t shown = std::min(parts.size(), kGroupsNamed);
    for (size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : "; ") + parts[i];
    if (parts.size() > shown) {
        text += fmt::format("; and {} more groups of ranks elsewhere", parts.size() - shown);
    }
    if (!positions.gone.empty()) {
        text += fmt::format("; {} had ended before", ranks_text(positions.gone));
    }
    if (all && least_ns > 0) {
        text += fmt::format(", for the last {}", time_text(static_cast<double>(least_ns), false));
    }
    return text + ".";
}

}  // namespace dwell
