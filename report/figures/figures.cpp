// Computes sums and lines for the text report; see figures.h.
#include "report/figures/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "report/figures/names.h"
#include "report/figures/text_style.h"
#include "report/figures/wait_figures.h"
#include "runtime/contract/mpi_calls.h"
#include "runtime/contract/omp_constructs.h"
#include "summarize/merge/merged_tables.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

using LineKey = std::tuple<std::string, std::string, int, std::string>;

// Without a line the procedure identifies a statement, as its name contains the offset.
LineKey line_key(const Profile& profile, uint32_t index) {
    const ProfileNode& node = profile.nodes[index];
    std::string extra = node.module;
    if (node.line == 0 && node.parent != kNoNode) extra += '\n' + profile.nodes[node.parent].name;
    return {node.name, node.file, node.line, extra};
}

// The rank with most time in each line.
void find_worst_ranks(const Profile& profile, std::vector<CommLine>* lines) {
    std::vector<size_t> line_of(profile.nodes.size(), SIZE_MAX);
    for (size_t i = 0; i < lines->size(); ++i) {
        for (const uint32_t node : (*lines)[i].nodes) line_of[node] = i;
    }
    std::map<std::pair<size_t, uint32_t>, double> time_ns;
    for (const ProfileRow& row : profile.rows) {
        if (line_of[row.node] == SIZE_MAX) continue;
        time_ns[{line_of[row.node], row.rank}] += static_cast<double>(row.totals.time_ns);
    }
    for (const auto& [key, ns] : time_ns) {
        std::optional<Peak>& worst = (*lines)[key.first].worst;
        if (!worst || ns > worst->ns) worst = Peak{key.second, ns};
    }
    for (CommLine& line : *lines) {
        if (line.worst || line.nodes.size() != 1) continue;
        const ProfileNode& node = profile.nodes[line.node];
        line.worst = Peak{node.rank_max, static_cast<double>(node.rank_max_ns)};
    }
}

// Samples by function, file and line.
using LineSamples = std::map<std::tuple<std::string, std::string, int>, uint64_t>;

// A function without lines is one place: its offsets mean nothing to a person.
void add_samples(const std::vector<SampledLine>& lines, LineSamples* into) {
    for (const SampledLine& line : lines) {
        const std::string& file = line.line != 0 ? line.file : std::string();
        (*into)[{line.function, file, line.line}] += line.samples;
    }
}

SampledPlaces sorted_places(const LineSamples& samples) {
    SampledPlaces places;
    for (const auto& [key, count] : samples) {
        places.lines.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), count});
        places.samples += count;
    }
    std::stable_sort(
        places.lines.begin(), places.lines.end(),
        [](const SampledLine& a, const SampledLine& b) { return a.samples > b.samples; });
    return places;
}

}  // namespace

bool is_serial(const Profile& profile) {
    const auto serial = [](const ProfileRank& rank) { return (rank.flags & kFileSerial) != 0; };
    return !profile.ranks.empty() &&
           std::all_of(profile.ranks.begin(), profile.ranks.end(), serial);
}

std::optional<Peak> peak(const std::vector<RankFigures>& ranks, uint64_t RankFigures::*member) {
    std::optional<Peak> most;
    for (const RankFigures& rank : ranks) {
        const auto ns = static_cast<double>(rank.*member);
        if (!most || ns > most->ns) most = Peak{rank.rank, ns};
    }
    return most;
}

namespace {

bool is_in_system_header(const std::string& file) {
    return file.find("/usr/include/") != std::string::npos ||
           file.find("/include/c++/") != std::string::npos || file.starts_with("usr/include/");
}

// The node itself when it has no ancestor in the program.
uint32_t place_in_program(const Profile& profile, uint32_t node) {
    for (uint32_t at = node; at != kNoNode; at = profile.nodes[at].parent) {
        const bool is_statement = at == node || profile.nodes[at].kind == SiteKind::kCall;
        if (is_statement && !is_in_system_header(profile.nodes[at].file)) return at;
    }
    return node;
}

std::vector<CommLine> lines_of_kind(const Profile& profile, SiteKind kind) {
    std::map<LineKey, CommLine> by_key;
    for (uint32_t i = 0; i < profile.nodes.size(); ++i) {
        if (profile.nodes[i].kind != kind) continue;
        const uint32_t place = kind == SiteKind::kIo ? place_in_program(profile, i) : i;
        LineKey key = line_key(profile, place);
        std::get<0>(key) = profile.nodes[i].name;
        CommLine& line = by_key[key];
        if (line.nodes.empty()) {
            line.node = i;
            line.place = place;
            line.setup = is_setup(profile.nodes[i]);
            line.totals.min_ns = UINT64_MAX;
        } else if (profile.nodes[i].totals.time_ns > profile.nodes[line.node].totals.time_ns) {
            line.node = i;
            line.place = place;
        }
        line.nodes.push_back(i);
        line.setup = line.setup && is_setup(profile.nodes[i]);
        line.setup_ns += setup_part_ns(profile.nodes[i], profile.nodes[i].totals);
        add_totals(&line.totals, profile.nodes[i].totals);
    }
    std::vector<CommLine> lines;
    for (auto& [key, line] : by_key) lines.push_back(std::move(line));
    find_worst_ranks(profile, &lines);
    std::stable_sort(lines.begin(), lines.end(), [](const CommLine& a, const CommLine& b) {
        if (a.setup != b.setup) return b.setup;
        if (a.setup) return a.totals.time_ns > b.totals.time_ns;
        return without_setup_ns(a) > without_setup_ns(b);
    });
    return lines;
}

}  // namespace

std::vector<CommLine> comm_lines(const Profile& profile) {
    return lines_of_kind(profile, SiteKind::kCommunication);
}
std::vector<CommLine> io_lines(const Profile& profile) {
    return lines_of_kind(profile, SiteKind::kIo);
}

// By node: the probed node whose own time its computation is part of. Procedures without probes
// count for the one that called them.
static std::vector<uint32_t> probed_around(const Profile& profile) {
    std::vector<uint32_t> around(profile.nodes.size(), kNoNode);
    for (uint32_t i = 1; i < profile.nodes.size(); ++i) {  // children follow their parents
        const ProfileNode& node = profile.nodes[i];
        if (is_openmp(node)) continue;
        const bool own = is_probed(node) && node.kind != SiteKind::kMarker;
        around[i] = own ? i : around[node.parent];
    }
    return around;
}

// The rank with most own time in each line.
static void find_worst_ranks(const Profile& profile, const std::vector<uint32_t>& around,
                             std::vector<SiteLine>* lines) {
    std::vector<size_t> line_with(profile.nodes.size(), SIZE_MAX);
    for (size_t i = 0; i < lines->size(); ++i) {
        for (const uint32_t node : (*lines)[i].nodes) line_with[node] = i;
    }
    std::vector<size_t> line_of(profile.nodes.size(), SIZE_MAX);
    for (size_t i = 0; i < line_of.size(); ++i) {
        if (around[i] != kNoNode) line_of[i] = line_with[around[i]];
    }
    std::map<std::pair<size_t, uint32_t>, double> own_ns;
    for (const ProfileRow& row : profile.rows) {
        if (line_of[row.node] == SIZE_MAX) continue;
        own_ns[{line_of[row.node], row.rank}] += static_cast<double>(row.computation_ns);
    }
    for (const auto& [key, ns] : own_ns) {
        std::optional<Peak>& worst = (*lines)[key.first].worst;
        if (!worst || ns > worst->ns) worst = Peak{key.second, ns};
    }
}

std::vector<SiteLine> site_lines(const Profile& profile) {
    std::map<std::pair<LineKey, SiteKind>, SiteLine> by_key;
    const auto key_of = [](const ProfileNode& node) {
        return std::pair(LineKey{node.name, node.file, node.line, node.module}, node.kind);
    };
    std::vector<const SiteLine*> line_of(profile.nodes.size(), nullptr);
    // Nested loops on one line: the outer loop's time includes the inner one's.
    const auto lies_in_another = [&](uint32_t index) {
        uint32_t around = profile.nodes[index].parent;
        while (around != kNoNode && line_of[around] != line_of[index]) {
            around = profile.nodes[around].parent;
        }
        return around != kNoNode;
    };
    for (uint32_t i = 0; i < profile.nodes.size(); ++i) {
        const ProfileNode& node = profile.nodes[i];
        if (!is_probed(node) || is_openmp(node) || node.kind == SiteKind::kMarker) continue;
        SiteLine& line = by_key[key_of(node)];
        if (line.nodes.empty()) line.totals.min_ns = UINT64_MAX;
        const bool most =
            line.nodes.empty() || node.computation_ns > profile.nodes[line.node].computation_ns;
        if (most) line.node = i;
        line.nodes.push_back(i);
        line_of[i] = &line;
        Totals totals = node.totals;
        if (lies_in_another(i)) totals.time_ns = totals.entered_ns = 0;
        add_totals(&line.totals, totals);
        line.labels |= node.labels;
    }
    const std::vector<uint32_t> around = probed_around(profile);
    for (uint32_t i = 0; i < profile.nodes.size(); ++i) {
        if (around[i] == kNoNode) continue;
        by_key[key_of(profile.nodes[around[i]])].own_ns += profile.nodes[i].computation_ns;
    }
    std::vector<SiteLine> lines;
    for (auto& [key, line] : by_key) lines.push_back(std::move(line));
    find_worst_ranks(profile, around, &lines);
    std::stable_sort(lines.begin(), lines.end(), [](const SiteLine& a, const SiteLine& b) {
        return weight_ns(a) > weight_ns(b);
    });
    return lines;
}

static void add_openmp_text(const ProfileNode& node, double ranks, bool utf8,
                            std::vector<std::string>* parts) {
    const Totals& totals = node.totals;
    const auto add_time = [&](uint64_t ns, const char* text) {
        if (ns == 0) return;
        parts->push_back(time_text(static_cast<double>(ns) / ranks, utf8) + " " + text);
    };
    const auto add_count = [&](uint64_t count, const char* text) {
        if (count != 0) parts->push_back(count_text(count) + " " + text);
    };
    const bool region = is_omp_region(node.call);
    add_count(totals.iterations, "iterations");
    add_count(totals.chunks, "chunks");
    add_count(totals.created, !region ? "created" : totals.created == 1 ? "region" : "regions");
    if (is_omp_target(node.call)) {
        const auto add_bytes = [&](uint64_t bytes, const char* text) {
            if (bytes != 0) parts->push_back(bytes_text(static_cast<double>(bytes)) + " " + text);
        };
        add_bytes(totals.bytes_sent, "to the device");
        add_bytes(totals.bytes_received, "from it");
    }
    add_time(totals.omp_wait_ns, "waiting");
    if (totals.count != 0 && totals.omp_start_ns != 0) {
        const auto mean_ns =
            static_cast<double>(totals.omp_start_ns) / static_cast<double>(totals.count);
        parts->push_back("each " + time_text(mean_ns, utf8) + " until its start");
    }
    add_time(totals.omp_overhead_ns, "fork and join");
}

std::string probe_text(const ProfileNode& node, double ranks, bool utf8) {
    std::vector<std::string> parts;
    const Totals& totals = node.totals;
    if (node.kind == SiteKind::kLoop && totals.iterations != 0) {
        std::string text = count_text(totals.iterations) + " iterations";
        if (totals.untimed != 0) {
            text += fmt::format(" of {} timed entries", count_text(timed_entries(totals)));
        }
        if ((node.labels & kLabelGuessed) != 0) text += ", give or take one an entry";
        parts.push_back(text);
    }
    if (is_openmp(node)) add_openmp_text(node, ranks, utf8, &parts);
    if ((node.labels & kLabelPhase) != 0) {
        parts.push_back(node.phase.known ? "phase " + iterations_text(node.phase) : "phase");
    }
    if (totals.volume != 0) parts.push_back("volume " + count_text(totals.volume));
    // The unknown entries make both share and mean time meaningless.
    const bool at_least = (node.labels & kLabelAtLeast) != 0;
    if (at_least && totals.off_uncertain == 0) parts.push_back("early returns not counted");
    if (totals.off_uncertain != 0) {
        parts.push_back("count is a lower bound, too few seen for a number");
    } else if ((node.labels & kLabelReduced) != 0) {
        parts.push_back(
            share_text(static_cast<double>(totals.untimed), static_cast<double>(totals.count)) +
            " untimed");
        parts.push_back("~" + time_text(static_cast<double>(totals.estimated_ns) / ranks, utf8) +
                        " more");
    }
    if (totals.off_entries != 0) {
        const double error =
            100.0 * static_cast<double>(totals.off_error) / static_cast<double>(totals.off_entries);
        parts.push_back(fmt::format("about {} {} {:.0f} % not counted",
                                    count_text(totals.off_entries), utf8 ? "±" : "+-", error));
    }
    if ((node.labels & kLabelInlined) != 0) parts.push_back("inlined");
    if ((node.labels & kLabelCounted) != 0) parts.push_back("untimed");
    if ((node.labels & kLabelRecursive) != 0) parts.push_back("recursive");
    if (totals.abandoned != 0) parts.push_back(count_text(totals.abandoned) + " left early");
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string iterations_text(const PhaseNumbers& phase) {
    if (!phase.known) return "";
    std::string text = fmt::format("{} to {}", phase.first, phase.last);
    if (phase.last_behind < phase.last) {
        text += fmt::format(", only to {} on rank {}", phase.last_behind, phase.rank_behind);
    }
    return text;
}

std::vector<IntervalLine> interval_lines(const Profile& profile) {
    using Key = std::tuple<LineKey, LineKey, OwnerKey, bool>;
    std::map<Key, IntervalLine> by_key;
    std::map<Key, uint64_t> largest_ns;
    std::map<Key, LineSamples> samples;
    for (const ProfileInterval& interval : profile.intervals) {
        if (interval.to == 0) continue;  // thread time outside of MPI, from no line to no other
        const LineKey from =
            interval.from == kNoNode ? LineKey{} : line_key(profile, interval.from);
        const Key key = {from, line_key(profile, interval.to),
                         owner_key(profile, interval.booked_on), interval.or_after};
        IntervalLine& line = by_key[key];
        if (line.count == 0 || interval.time_ns > largest_ns[key]) {
            line.from = interval.from;
            line.to = interval.to;
            line.booked_on = interval.booked_on;
            line.or_after = interval.or_after;
            largest_ns[key] = interval.time_ns;
        }
        line.count += interval.count;
        line.time_ns += interval.time_ns;
        line.max_ns = std::max(line.max_ns, interval.max_ns);
        add_samples(interval.lines, &samples[key]);
    }
    std::vector<IntervalLine> lines;
    for (auto& [key, line] : by_key) {
        SampledPlaces places = sorted_places(samples[key]);
        line.samples = places.samples;
        line.lines = std::move(places.lines);
        lines.push_back(std::move(line));
    }
    std::stable_sort(lines.begin(), lines.end(), [](const IntervalLine& a, const IntervalLine& b) {
        return a.time_ns > b.time_ns;
    });
    return lines;
}

std::vector<SampledPlaces> sampled_places(const Profile& profile) {
    std::map<uint32_t, LineSamples> samples;
    for (const ProfileInterval& interval : profile.intervals) {
        for (const SampledLine& line : interval.lines) add_samples({line}, &samples[line.node]);
    }
    std::vector<SampledPlaces> places(profile.nodes.size());
    for (const auto& [node, lines] : samples) places[node] = sorted_places(lines);
    return places;
}

uint32_t procedure_around(const Profile& profile, uint32_t node) {
    for (uint32_t at = node; at != kNoNode; at = profile.nodes[at].parent) {
        if (profile.nodes[at].kind == SiteKind::kProcedure) return at;
    }
    return node;
}

SampledLine own_line(const Profile& profile, SampledLine line) {
    if (!line.system) return line;
    line.file.clear();
    line.line = 0;
    const uint32_t code = own_code(profile, line.node);
    if ((profile.nodes[code].labels & kLabelSystem) != 0) return line;
    uint32_t call = line.node;
    while (call != code && profile.nodes[call].parent != code) call = profile.nodes[call].parent;
    const ProfileNode& statement = profile.nodes[call];
    line.function = profile.nodes[procedure_around(profile, code)].name;
    if (statement.kind == SiteKind::kCall && statement.line != 0) {
        line.file = statement.file;
        line.line = statement.line;
    }
    line.system = false;
    return line;
}

SampledPlaces own_sampled_places(const Profile& profile) {
    LineSamples samples;
    for (const ProfileInterval& interval : profile.intervals) {
        for (const SampledLine& line : interval.lines) {
            add_samples({own_line(profile, line)}, &samples);
        }
    }
    return sorted_places(samples);
}

SampledPlaces all_sampled_places(const Profile& profile) {
    LineSamples samples;
    for (const ProfileInterval& interval : profile.intervals) {
        add_samples(interval.lines, &samples);
    }
    return sorted_places(samples);
}

std::string places_text(const SampledPlaces& places, size_t limit, int width, bool utf8) {
    std::string text;
    std::string function;
    std::string file;
    for (size_t i = 0; i < std::min(limit, places.lines.size()); ++i) {
        const SampledLine& line = places.lines[i];
        const std::string own_function = short_name(line.function, utf8);
        const std::string own_file = printable(base_name(line.file), utf8);
        const bool same_function = i != 0 && own_function == function;
        const std::string number = line.line != 0 ? fmt::format(":{}", line.line) : "";
        const std::string place = same_function && own_file == file ? number : own_file + number;
        const double percent =
            100 * static_cast<double>(line.samples) / static_cast<double>(places.samples);
        if (percent < 0.5) break;
        if (same_function && place.empty()) continue;  // the interval would have no name
        const std::string share = fmt::format(" {:.0f} %", percent);
        const std::string before = i == 0 ? "" : ", ";
        const std::string after = place + share;
        const std::string gap = place.empty() ? "" : " ";
        std::vector<std::string> forms = {before + after};
        if (!same_function) {
            forms.clear();
            for (const std::string& name : ever_shorter(own_function)) {
                forms.push_back(before + name + gap + after);
            }
            if (i == 0 && !place.empty()) forms.push_back(after);
        }
        const int rest = width - display_width(text);
        const auto fits = std::find_if(forms.begin(), forms.end(), [rest](const std::string& form) {
            return display_width(form) <= rest;
        });
        if (fits == forms.end()) break;
        const std::string& next = *fits;
        text += next;
        function = own_function;
        file = own_file;
    }
    return text;
}

std::vector<std::optional<Peak>> computation_peaks(const Profile& profile) {
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> time_ns;  // node, rank
    for (const ProfileRow& row : profile.rows) {
        if (row.computation_ns != 0) time_ns[{row.node, row.rank}] += row.computation_ns;
    }
    std::vector<std::optional<Peak>> peaks(profile.nodes.size());
    for (const auto& [key, ns] : time_ns) {
        std::optional<Peak>& most = peaks[key.first];
        if (!most || static_cast<double>(ns) > most->ns) {
            most = Peak{key.second, static_cast<double>(ns)};
        }
    }
    return peaks;
}

// Own time of a node without waiting of OpenMP threads. A region's own time is in the nodes inside
// it.
static double worked_ns(const ProfileNode& node, uint64_t own_ns, const Totals& totals) {
    const bool waits = is_openmp(node) && !is_omp_region(node.call);
    const uint64_t waited_ns = waits ? totals.omp_wait_ns + totals.omp_idle_ns : 0;
    return static_cast<double>(own_ns - std::min(own_ns, waited_ns));
}

uint32_t extra_computation(const Profile& profile, uint32_t rank) {
    std::vector<double> extra(profile.nodes.size(), 0);
    for (const ProfileRow& row : profile.rows) {
        if (row.rank != rank) continue;
        extra[row.node] += worked_ns(profile.nodes[row.node], row.computation_ns, row.totals);
    }
    for (uint32_t i = 0; i < profile.nodes.size(); ++i) {
        const ProfileNode& node = profile.nodes[i];
        extra[i] -= worked_ns(node, node.computation_ns, node.totals) / rank_count(profile);
    }
    sum_into_parents(profile, nodes_from_root(profile), &extra);
    // Some may be below the mean, so several siblings may have more than half.
    uint32_t found = kNoNode;
    for (uint32_t at = 0, next = 0; next != kNoNode; at = next) {
        const ProfileNode& node = profile.nodes[at];
        const bool own = node.kind != SiteKind::kCall && (node.labels & kLabelSystem) == 0;
        if (at != 0 && own) found = at;
        next = kNoNode;
        double most_ns = extra[0] / 2;
        for (const uint32_t child : node.children) {
            if (extra[child] <= most_ns) continue;
            most_ns = extra[child];
            next = child;
        }
    }
    return found;
}

std::string shown_name(const ProfileNode& node, bool utf8) {
    const bool procedure = node.kind == SiteKind::kProcedure || node.kind == SiteKind::kCall;
    return procedure ? short_name(node.name, utf8) : printable(node.name, utf8);
}

// Without a line, the place is a function or module with an offset.
static std::string file_text(const ProfileNode& node, bool utf8) {
    const size_t offset = node.line == 0 ? node.file.rfind("+0x") : std::string::npos;
    if (offset == std::string::npos) return printable(base_name(node.file), utf8);
    return short_name(node.file.substr(0, offset), utf8) + node.file.substr(offset);
}

std::string place_text(const ProfileNode& node, bool utf8) {
    if (node.file.empty()) return printable(base_name(node.module), utf8);
    const std::string file = file_text(node, utf8);
    if (node.line == 0) return file;
    return fmt::format("{}:{}{}", file, node.line, node.labels & kLabelLineUnknown ? "?" : "");
}

std::string place_in_procedure(const Profile& profile, uint32_t index, bool utf8) {
    const ProfileNode& node = profile.nodes[index];
    const std::string place = place_text(node, utf8);
    const size_t offset = place.rfind("+0x");
    if (node.line != 0 || offset == std::string::npos || offset == 0) return place;
    // Without a symbol the procedure is named by its own offset in the module.
    std::string procedure = procedure_of(profile, index, utf8);
    procedure.resize(std::min(procedure.rfind("+0x"), procedure.size()));
    return place.substr(0, offset) == procedure ? place.substr(offset) : place;
}

std::string procedure_of(const Profile& profile, uint32_t node, bool utf8) {
    for (uint32_t i = profile.nodes[node].parent; i != kNoNode; i = profile.nodes[i].parent) {
        if (profile.nodes[i].kind == SiteKind::kProcedure) {
            return short_name(profile.nodes[i].name, utf8);
        }
    }
    return "";
}

std::string procedure_name(const Profile& profile, uint32_t node, bool utf8) {
    const ProfileNode& own = profile.nodes[node];
    if (own.kind == SiteKind::kProgram) return printable(base_name(own.name), utf8);
    if (own.kind == SiteKind::kProcedure) return short_name(own.name, utf8);
    const std::string around = procedure_of(profile, node, utf8);
    return around.empty() ? printable(own.name, utf8) : around;
}

OwnerKey owner_key(const Profile& profile, uint32_t node) {
    const ProfileNode& owner = profile.nodes[node];
    return {owner.name, owner.file, owner.line};
}

std::string in_words(bool or_after) { return or_after ? "in or after" : "in"; }

std::string owner_text(const Profile& profile, uint32_t node, int room, bool utf8) {
    const ProfileNode& owner = profile.nodes[node];
    const std::string procedure = procedure_name(profile, node, utf8);
    std::string inside;
    if (owner.kind == SiteKind::kLoop) {
        inside = "loop " + place_text(owner, utf8);
    } else if (owner.kind == SiteKind::kBlock) {
        inside = printable(owner.name, utf8);
        if (inside == procedure) return cut_name(inside, room, utf8);
    }
    if (inside.empty()) return cut_name(procedure, room, utf8);
    const std::string around = procedure_of(profile, node, utf8);
    if (around.empty()) return cut_middle(inside, room, utf8);
    constexpr int kLeastName = 16;
    const bool is_in_file = profile.nodes[procedure_around(profile, node)].file == owner.file;
    if (owner.kind == SiteKind::kLoop && owner.line != 0 && is_in_file &&
        std::min(display_width(around), kLeastName) + 2 + display_width(inside) > room) {
        inside = fmt::format("loop :{}", owner.line);
    }
    const std::vector<int> rooms =
        share_room({display_width(around), display_width(inside)}, room - 2);
    return cut_name(around, rooms[0], utf8) + ", " + cut_middle(inside, rooms[1], utf8);
}

double rank_count(const Profile& profile) {
    return static_cast<double>(std::max<size_t>(profile.ranks.size(), 1));
}

std::string per_rank_text(const Profile& profile, uint64_t ns, bool utf8) {
    return time_text(static_cast<double>(ns) / rank_count(profile), utf8) +
           (profile.ranks.size() > 1 ? " a rank" : "");
}

std::string io_file_text(const ProfileNode& node, bool utf8) {
    if (node.io_file.empty()) return "";
    const std::string name = printable(base_name(node.io_file), utf8);
    return (node.labels & kLabelMoreFiles) != 0 ? name + " and others" : name;
}

std::string io_files_text(const Profile& profile, const CommLine& line, bool utf8) {
    ProfileNode named = profile.nodes[line.node];
    for (const uint32_t node : line.nodes) {
        const ProfileNode& other = profile.nodes[node];
        if (named.io_file.empty()) named.io_file = other.io_file;
        const bool another = !other.io_file.empty() && other.io_file != named.io_file;
        if (another || (other.labels & kLabelMoreFiles) != 0) named.labels |= kLabelMoreFiles;
    }
    return io_file_text(named, utf8);
}

}  // namespace dwell
