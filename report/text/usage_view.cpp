// Draws the operating system's figures of the ranks: processor time, memory, page faults, context
// switches, bytes.
#include <fmt/format.h>

#include <algorithm>

#include "report/text/views.h"

namespace dwell {
namespace {

// Whether more than the processor time is known.
bool is_known(const ProfileRank& rank) {
    return rank.usage_ns != 0 && rank.usage.peak_memory_bytes != 0;
}

bool any_known(const Profile& profile) {
    return std::any_of(profile.ranks.begin(), profile.ranks.end(), is_known);
}

// One figure over the ranks that have it.
struct Spread {
    uint64_t ranks = 0;
    uint64_t sum = 0;
    uint64_t most = 0;
    uint32_t rank = 0;  // the rank with most
    double mean() const {
        return ranks == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(ranks);
    }
};

Spread spread_of(const Profile& profile, uint64_t ProcessUsage::*figure) {
    Spread spread;
    for (const ProfileRank& rank : profile.ranks) {
        if (!is_known(rank)) continue;
        const uint64_t value = rank.usage.*figure;
        ++spread.ranks;
        spread.sum += value;
        if (spread.ranks != 1 && value <= spread.most) continue;
        spread.most = value;
        spread.rank = rank.rank;
    }
    return spread;
}

}  // namespace

void draw_memory(const Profile& profile, TextCanvas* canvas) {
    const Spread memory = spread_of(profile, &ProcessUsage::peak_memory_bytes);
    if (memory.most == 0) return;
    const auto most = static_cast<double>(memory.most);
    const bool several = profile.ranks.size() > 1;
    const bool uneven = several && most >= kLeastImbalance * memory.mean();
    const GridPlaces places(profile);
    std::string text = fmt::format("Peak memory: {}{}", bytes_text(uneven ? memory.mean() : most),
                                   several ? " a rank" : "");
    if (uneven) {
        text += fmt::format(", most on rank {}: {}, {} times the mean", places.name_of(memory.rank),
                            bytes_text(most), ratio_text(most, memory.mean()));
    }
    const Spread faults = spread_of(profile, &ProcessUsage::major_faults);
    if (faults.sum != 0) {
        text += faults.sum == 1 ? "; 1 page was" : "; " + count_text(faults.sum) + " pages were";
        text += " read from storage";
        if (several && faults.most != faults.sum) {
            text += fmt::format(", most on rank {}: {}", places.name_of(faults.rank), faults.most);
        } else if (several) {
            text += fmt::format(", all on rank {}", places.name_of(faults.rank));
        }
    }
    const bool notable = uneven && most >= kNotableImbalance * memory.mean();
    canvas->paragraph("  " + text + ".", 2, notable ? Style::kWarm : Style::kDim);
}

void draw_usage(const Profile& profile, TextCanvas* canvas) {
    if (!any_known(profile)) return;
    const bool utf8 = canvas->utf8();
    canvas->title("Operating system", "of the whole process, all threads");
    put_heads({{"rank", 6},
               {"user", 8},
               {"system", 8},
               {"memory", 9},
               {"faults", 8},
               {"major", 7},
               {"switches", 9},
               {"forced", 7},
               {"read", 9},
               {"written", 9}},
              0, canvas);
    uint64_t longest_gap_ns = 0;
    for (const ProfileRank& rank : profile.ranks) {
        Line line;
        line.add(pad_left(fmt::format("{}", rank.rank), 6), Style::kName);
        if (!is_known(rank)) {
            canvas->put(line.add("  not known", Style::kDim));
            continue;
        }
        const ProcessUsage& usage = rank.usage;
        const auto time = [utf8](uint64_t ns) { return time_text(static_cast<double>(ns), utf8); };
        const bool bytes_known = (rank.flags & kFileNoBytes) == 0;
        const auto bytes = [bytes_known](uint64_t count) {
            return bytes_known ? bytes_text(static_cast<double>(count)) : std::string("-");
        };
        line.add(pad_left(time(usage.user_ns), 8)).add(pad_left(time(usage.system_ns), 8));
        line.add(pad_left(bytes_text(static_cast<double>(usage.peak_memory_bytes)), 9));
        line.add(pad_left(count_text(usage.minor_faults + usage.major_faults), 8));
        line.add(pad_left(count_text(usage.major_faults), 7));
        line.add(pad_left(count_text(usage.voluntary_switches + usage.involuntary_switches), 9));
        line.add(pad_left(count_text(usage.involuntary_switches), 7));
        line.add(pad_left(bytes(usage.read_bytes), 9)).add(pad_left(bytes(usage.written_bytes), 9));
        if (rank.state == FileState::kRunning && rank.real_ns > rank.usage_ns) {
            longest_gap_ns = std::max(longest_gap_ns, rank.real_ns - rank.usage_ns);
        }
        canvas->put(line);
    }
    if (longest_gap_ns == 0) return;
    canvas->paragraph(
        fmt::format("  Of ranks that did not reach their end: what was known up to {} before.",
                    time_text(static_cast<double>(longest_gap_ns), utf8)),
        2, Style::kDim);
}

}  // namespace dwell
