// Writes notes about ranks and counts; see note_writer.h.
#include "summarize/profile/note_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace dwell {

std::string first_ranks(const std::vector<uint32_t>& ranks, size_t count) {
    if (count == 1) return fmt::format("rank {}", ranks[0]);
    std::string text = "ranks ";
    const size_t listed = count <= kListedRanks + 1 ? count - 1 : kListedRanks;
    for (size_t i = 0; i < listed; ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
    return count == listed + 1 ? text + fmt::format(" and {}", ranks[listed])
                               : text + fmt::format(" and {} more", count - listed);
}

std::string rank_list(const std::vector<uint32_t>& ranks) {
    return first_ranks(ranks, ranks.size());
}

const char* plural(uint64_t count) { return count == 1 ? "" : "s"; }

std::string percent(uint64_t part, uint64_t whole) {
    const double share =
        100 * static_cast<double>(part) / static_cast<double>(std::max<uint64_t>(whole, 1));
    return share < 10 ? fmt::format("{:.2g} %", share) : fmt::format("{:.0f} %", share);
}

void NoteWriter::add_flag(uint32_t flag, const char* sentence) {
    std::vector<uint32_t> ranks;
    for (const ProfileRank& rank : profile_.ranks) {
        if ((rank.flags & flag) != 0) ranks.push_back(rank.rank);
    }
    if (!ranks.empty()) add(fmt::format("{}: {}", rank_list(ranks), sentence));
}

void NoteWriter::add_count(uint64_t ProfileRank::*member, const char* thing, const char* sentence) {
    uint64_t sum = 0;
    uint64_t ranks = 0;
    for (const ProfileRank& rank : profile_.ranks) {
        sum += rank.*member;
        ranks += rank.*member != 0 ? 1 : 0;
    }
    if (sum == 0) return;
    std::string_view said = sentence;
    std::string verb;
    for (const auto& [many, one] : {std::pair("are ", "is "), std::pair("were ", "was ")}) {
        if (sum != 1 || !said.starts_with(many)) continue;
        said.remove_prefix(std::string_view(many).size());
        verb = one;
    }
    add(fmt::format("{} {}{} on {} rank{} {}{}", sum, thing, plural(sum), ranks, plural(ranks),
                    verb, said));
}

}  // namespace dwell
