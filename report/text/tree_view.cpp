// Draws the call tree: program, procedures with the calling statements, communication statements.
// Figures are at the left, so that the tree has the rest of the line; the time of a line is the sum
// of the lines one level below it.
#include <fmt/format.h>

#include <algorithm>

#include "report/text/views.h"
#include "summarize/attribution/sampled_shares.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

// Every procedure has some computation: it gets a line only above this multiple of the threshold.
constexpr double kComputationWeight = 2;

// A procedure whose own computation is at most this part of its time may share a line with its only
// call.
constexpr double kOnTheWay = 0.05;

struct Entry {
    std::string name;
    std::string place;
    Style style = Style::kPlain;
    uint64_t time_ns = 0;
    uint64_t setup_ns = 0;   // of time_ns
    uint64_t weight_ns = 0;  // including estimates for entries without time
    std::optional<uint64_t> count;
    uint64_t bytes = 0;
    std::optional<Peak> worst;
    bool is_sum = false;  // sum of collapsed lines
    bool is_on_the_way = false;
    bool communicates = false;
    std::string remark;  // at the end of the line, if there is room
    const SampledPlaces* sampled = nullptr;
    bool may_join = false;  // a procedure that may share a line with its only child
    std::vector<Entry> parts;
};

class TreeBuilder {
  public:
    TreeBuilder(const Profile& profile, const TextOptions& options)
        : profile_(profile),
          utf8_(options.utf8),
          has_probes_(has_probes(profile)),
          sampled_(sampled_places(profile)),
          computation_peaks_(computation_peaks(profile)),
          setup_ns_(profile.nodes.size(), 0),
          shown_from_ns_(options.threshold * time_outside_setup(profile)) {
        for (size_t i = 0; i < profile.nodes.size(); ++i) {
            setup_ns_[i] = setup_part_ns(profile.nodes[i], profile.nodes[i].totals);
        }
        sum_into_parents(profile, nodes_from_root(profile), &setup_ns_);
    }

    Entry build(uint32_t index) const {
        const ProfileNode& node = profile_.nodes[index];
        Entry entry = plain_entry(index);
        if (is_statement(node)) return entry;
        uint32_t inner = index;
        if (node.kind == SiteKind::kCall && node.children.size() == 1 && node.computation_ns == 0 &&
            profile_.nodes[node.children[0]].kind == SiteKind::kProcedure) {
            inner = node.children[0];
            entry.name = node_name(profile_.nodes[inner]);
            entry.remark = remark_of(profile_.nodes[inner]);
        }
        add_parts(inner, &entry);
        join_only_part(&entry);
        return entry;
    }

  private:
    std::string node_name(const ProfileNode& node) const {
        std::string name = shown_name(node, utf8_);
        if (node.labels & kLabelFolded) name += " (folded paths)";
        if (node.labels & kLabelCallersUnknown) name += " (callers not known)";
        if (is_marked(node)) name += " ~";
        return name;
    }

    // Among measured lines an estimate must be marked.
    bool is_marked(const ProfileNode& node) const {
        const uint32_t labels = kLabelEstimated | kLabelReduced | kLabelCounted;
        const bool counts = node.kind == SiteKind::kCall ? node.children.size() != 1 : true;
        return has_probes_ && counts && node.parent != kNoNode && (node.labels & labels) != 0;
    }

    Entry plain_entry(uint32_t index) const {
        const ProfileNode& node = profile_.nodes[index];
        Entry entry;
        entry.name = node_name(node);
        entry.time_ns = node.totals.time_ns;
        entry.setup_ns = setup_ns_[index];
        entry.weight_ns = weight_of(index);
        entry.bytes = node.totals.bytes_sent + node.totals.bytes_received;
        if (node.kind == SiteKind::kProgram) {
            entry.name = printable(base_name(node.name), utf8_);
        } else if (node.kind != SiteKind::kProcedure) {
            // A procedure's own first line would look like the line of the call.
            entry.place = place_in_procedure(profile_, index, utf8_);
        } else if (node.parent != kNoNode && profile_.nodes[node.parent].kind != SiteKind::kCall) {
            entry.place = printable(base_name(node.file), utf8_);
        }
        if (is_statement(node) || node.totals.count != 0) entry.count = node.totals.count;
        if (is_statement(node)) {
            entry.communicates = true;
            entry.style = Style::kBlocked;
        }
        entry.remark = remark_of(node);
        const bool procedure = node.kind == SiteKind::kProcedure || node.kind == SiteKind::kCall;
        entry.may_join = procedure && !entry.count.has_value();
        entry.worst = Peak{node.rank_max, static_cast<double>(node.rank_max_ns)};
        return entry;
    }

    std::string remark_of(const ProfileNode& node) const {
        const std::string unfinished = unfinished_text(node.totals, rank_count(profile_), utf8_);
        const std::string other = other_remark_of(node);
        return unfinished + (unfinished.empty() || other.empty() ? "" : ", ") + other;
    }

    std::string other_remark_of(const ProfileNode& node) const {
        if (is_io(node)) return io_file_text(node, utf8_);
        if (is_probed(node)) return probe_text(node, rank_count(profile_), utf8_);
        const std::string estimated = is_marked(node) ? "estimated" : "";
        if (!has_probes_ || (node.labels & kLabelInlined) == 0) return estimated;
        return estimated.empty() ? "inlined" : "inlined, " + estimated;
    }

    // The node itself, or the only procedure that its statement calls.
    const ProfileNode& entered(uint32_t index) const {
        const ProfileNode& node = profile_.nodes[index];
        const bool statement = node.kind == SiteKind::kCall && node.children.size() == 1;
        return statement ? profile_.nodes[node.children[0]] : node;
    }

    // Counted without time on the user's request, so a time of 0 means nothing.
    bool holds_counted(uint32_t index) const {
        return (entered(index).labels & kLabelCounted) != 0;
    }

    uint64_t weight_of(uint32_t index) const {
        return profile_.nodes[index].totals.time_ns + entered(index).totals.estimated_ns;
    }

    // For a node's computation: estimated time of its untimed parts.
    std::string untimed_text(const ProfileNode& node) const {
        uint64_t untimed_ns = 0;
        for (const uint32_t child : node.children) {
            untimed_ns += entered(child).totals.estimated_ns;
        }
        if (static_cast<double>(untimed_ns) < shown_from_ns_ || untimed_ns == 0) return {};
        return "~" + time_text(static_cast<double>(untimed_ns) / rank_count(profile_), utf8_) +
               " of it in untimed entries";
    }

    void add_parts(uint32_t index, Entry* entry) const {
        const ProfileNode& node = profile_.nodes[index];
        Entry rest;
        rest.is_sum = true;
        rest.style = Style::kDim;
        std::vector<uint32_t> folded;
        for (const uint32_t child : node.children) {
            const Totals& totals = profile_.nodes[child].totals;
            if (static_cast<double>(weight_of(child)) >= shown_from_ns_ || holds_counted(child)) {
                entry->parts.push_back(build(child));
                continue;
            }
            folded.push_back(child);
            rest.time_ns += totals.time_ns;
            rest.setup_ns += setup_ns_[child];
            // Bytes of files are in no sum: a procedure's bytes are those of communication.
            if (!is_io(profile_.nodes[child])) {
                rest.bytes += totals.bytes_sent + totals.bytes_received;
            }
        }
        if (entry->parts.empty()) return;
        if (folded.size() == 1 && node.computation_ns == 0) {
            entry->parts.push_back(build(folded[0]));  // needs no more room than a sum of one
            return;
        }
        const bool shows_computation =
            static_cast<double>(node.computation_ns) >= kComputationWeight * shown_from_ns_;
        if (shows_computation) {
            Entry computation;
            const bool beside_probes =
                index == 0 && !profile_.ranks.empty() && is_probed_serial(profile_.ranks.front());
            const bool of_regions =
                beside_probes && !has_source_probes(profile_) && has_openmp(profile_);
            computation.name = of_regions                           ? "outside of regions"
                               : beside_probes                      ? "outside of timed probes"
                               : (node.labels & kLabelOrAfter) != 0 ? "computation here or after"
                                                                    : "computation here";
            computation.style = Style::kComputation;
            computation.time_ns = computation.weight_ns = node.computation_ns;
            computation.worst = computation_peaks_[index];
            computation.sampled = &sampled_[index];
            computation.remark = untimed_text(node);
            entry->parts.push_back(std::move(computation));
        } else {
            rest.time_ns += node.computation_ns;
        }
        std::stable_sort(entry->parts.begin(), entry->parts.end(),
                         [](const Entry& a, const Entry& b) { return a.weight_ns > b.weight_ns; });
        if (static_cast<double>(rest.time_ns) < shown_from_ns_ / 5) return;
        rest.name = std::string(glyphs(utf8_).ellipsis) + " ";
        if (!folded.empty()) rest.name += fmt::format("{} more", folded.size());
        if (!shows_computation && node.computation_ns != 0) {
            rest.name += !folded.empty() ? " and computation" : "computation";
        }
        entry->parts.push_back(std::move(rest));
    }

    // main > run > step in one line, if hardly any time is spent on the way.
    void join_only_part(Entry* entry) const {
        if (!entry->may_join || entry->parts.empty() || !entry->parts[0].may_join) return;
        uint64_t on_the_way_ns = 0;
        for (size_t i = 1; i < entry->parts.size(); ++i) {
            const Entry& part = entry->parts[i];
            if (part.may_join || part.count.has_value() || part.bytes != 0) return;
            on_the_way_ns += part.time_ns;
        }
        const std::vector<Entry>& parts = entry->parts[0].parts;
        const bool has_some = !parts.empty() && parts.back().is_on_the_way;
        const uint64_t all_ns = on_the_way_ns + (has_some ? parts.back().time_ns : 0);
        if (static_cast<double>(all_ns) > kOnTheWay * static_cast<double>(entry->time_ns)) {
            return;
        }
        Entry inner = std::move(entry->parts[0]);
        inner.name = entry->name + std::string(glyphs(utf8_).chain) + inner.name;
        inner.time_ns = entry->time_ns;
        inner.setup_ns = entry->setup_ns;
        inner.weight_ns = entry->weight_ns;
        inner.worst = entry->worst;
        add_on_the_way(on_the_way_ns, &inner);
        *entry = std::move(inner);
    }

    // Without parts the whole line is one time.
    void add_on_the_way(uint64_t time_ns, Entry* entry) const {
        if (time_ns == 0 || entry->parts.empty()) return;
        if (!entry->parts.back().is_on_the_way) {
            Entry sum;
            sum.name = std::string(glyphs(utf8_).ellipsis) + " computation on the way here";
            sum.style = Style::kDim;
            sum.is_sum = sum.is_on_the_way = true;
            entry->parts.push_back(std::move(sum));
        }
        entry->parts.back().time_ns += time_ns;
    }

    const Profile& profile_;
    bool utf8_;
    bool has_probes_;
    std::vector<SampledPlaces> sampled_;
    std::vector<std::optional<Peak>> computation_peaks_;
    std::vector<uint64_t> setup_ns_;  // in each node
    double shown_from_ns_;
};

constexpr int kTimeWidth = 7;
constexpr int kShareWidth = 8;
constexpr int kCountWidth = 7;
constexpr int kBytesWidth = 9;
constexpr int kRatioWidth = 5;
constexpr int kRankWidth = 5;
constexpr size_t kSampledLines = 3;  // in the line of computation

class TreeDrawer {
  public:
    TreeDrawer(const Profile& profile, TextCanvas* canvas)
        : profile_(profile),
          canvas_(canvas),
          judged_ns_(judged_time(profile)),
          rank_width_(rank_width(profile)) {}

    // Wide enough for the heading and the last rank's number.
    static int rank_width(const Profile& profile) {
        if (profile.ranks.size() < 2) return 0;
        const int digits = display_width(fmt::format("{}", profile.ranks.back().rank));
        return std::max(kRankWidth, digits + 1);
    }

    void draw(const Entry& entry, const std::string& own_prefix, const std::string& prefix) {
        Line line;
        draw_figures(entry, &line);
        draw_name(entry, own_prefix, &line);
        canvas_->put(line);
        const Glyphs& signs = canvas_->signs();
        for (size_t i = 0; i < entry.parts.size(); ++i) {
            const bool last = i + 1 == entry.parts.size();
            const std::string blank(static_cast<size_t>(display_width(signs.trunk)), ' ');
            draw(entry.parts[i], prefix + std::string(last ? signs.last_branch : signs.branch),
                 prefix + (last ? blank : std::string(signs.trunk)));
        }
    }

    // Whether some entries were too deep for all trunks.
    bool numbers_depths() const { return numbers_depths_; }

  private:
    void draw_figures(const Entry& entry, Line* line) {
        const auto time_ns = static_cast<double>(entry.time_ns);
        const auto own_ns = time_ns - static_cast<double>(entry.setup_ns);
        const double mean_ns = time_ns / rank_count(profile_);
        const bool costly = entry.communicates && own_ns >= 0.1 * judged_ns_;
        const Style style = costly ? Style::kHot : Style::kPlain;
        const Style side = entry.is_sum ? Style::kDim : Style::kPlain;
        line->add(pad_left(time_text(mean_ns, canvas_->utf8()), kTimeWidth), style);
        line->add(
            pad_left(run_share_text(own_ns, judged_ns_, own_ns <= 0 && time_ns > 0), kShareWidth),
            style);
        line->add(pad_left(entry.count ? count_text(*entry.count) : "", kCountWidth), side);
        line->add(
            pad_left(entry.bytes ? bytes_text(static_cast<double>(entry.bytes)) : "", kBytesWidth),
            side);
        const bool several = profile_.ranks.size() > 1 && entry.worst && mean_ns > 0;
        const bool uneven = several && entry.worst->ns >= kNotableImbalance * mean_ns;
        const bool names_rank = several && entry.worst->ns >= kLeastImbalance * mean_ns;
        const Style imbalance_style = uneven ? Style::kWarm : Style::kPlain;
        if (rank_width_ != 0) {
            line->add(pad_left(several ? ratio_text(entry.worst->ns, mean_ns) : "", kRatioWidth),
                      imbalance_style);
        }
        line->add(pad_left(names_rank ? fmt::format("{}", entry.worst->rank) : "", rank_width_),
                  imbalance_style);
        line->add("  ");
    }

    // The trunks left of an entry; if they need more than a third of the room, the depth and the
    // last trunks.
    std::string shown_prefix(const std::string& prefix, int room) {
        if (display_width(prefix) <= room / 3) return prefix;
        const Glyphs& signs = canvas_->signs();
        const int step = display_width(signs.trunk);
        const std::string depth = fmt::format("[{}] ", display_width(prefix) / step);
        numbers_depths_ = true;
        int kept = std::max(room / 3 - display_width(depth), step) / step * step;
        std::string end = cut_left(prefix, kept + display_width(signs.ellipsis), canvas_->utf8());
        return depth + end.substr(signs.ellipsis.size());
    }

    // Sampled places of computation, as many as fit.
    std::string computation_name(const Entry& entry, int room) const {
        if (entry.sampled == nullptr || entry.sampled->samples < kTellingSamples) {
            return entry.name;
        }
        const std::string computation =
            entry.name.starts_with("computation") ? entry.name : "computation here";
        for (const std::string& start :
             {computation + ", sampled: ", std::string("computation: ")}) {
            const int rest = room - display_width(start);
            // The long start is used only if two lines fit after it.
            if (start.size() > entry.name.size() && rest < 36) continue;
            const std::string where =
                places_text(*entry.sampled, kSampledLines, rest, canvas_->utf8());
            if (!where.empty()) return start + where;
        }
        return entry.name;
    }

    void draw_name(const Entry& entry, const std::string& prefix, Line* line) {
        const bool utf8 = canvas_->utf8();
        line->add(shown_prefix(prefix, canvas_->width() - line->width()), Style::kDim);
        int rest = canvas_->width() - line->width();
        const std::string name = computation_name(entry, rest);
        std::string place = entry.place.empty() ? "" : "  " + entry.place;
        if (!place.empty()) {
            const int room = share_room({display_width(name), display_width(place)}, rest)[1];
            place = cut_place(entry.place, room - 2, utf8);
            if (!place.empty()) place = "  " + place;
        }
        rest -= display_width(place);
        const bool has_names = entry.may_join || entry.count.has_value();
        Style style = entry.style;
        if (style == Style::kPlain) style = Style::kName;
        line->add(has_names ? cut_name(name, rest, utf8) : cut_middle(name, rest, utf8), style);
        line->add(place);
        const std::string remark =
            fitting_remark(entry.remark, canvas_->width() - line->width() - 2);
        if (!remark.empty()) line->add("  " + remark, Style::kDim);
    }

    // As many whole parts as fit: half of a number is a wrong number.
    static std::string fitting_remark(std::string remark, int room) {
        while (display_width(remark) > room && remark.find(", ") != std::string::npos) {
            remark.resize(remark.rfind(", "));
        }
        if (display_width(remark) <= room) return remark;
        constexpr std::string_view kLong = " iterations";
        const size_t iterations = remark.find(kLong);
        if (iterations == std::string::npos) return "";
        remark.resize(iterations);
        remark += " iter.";
        return display_width(remark) <= room ? remark : "";
    }

    const Profile& profile_;
    TextCanvas* canvas_;
    double judged_ns_;
    int rank_width_;
    bool numbers_depths_ = false;
};

// How times of procedures were obtained: docs/attribution.md.
std::string origin_of_times(const Profile& profile) {
    const bool probed = has_source_probes(profile);
    const bool with_omp = has_openmp(profile);
    const bool sampled =
        std::any_of(profile.intervals.begin(), profile.intervals.end(),
                    [](const ProfileInterval& interval) { return !interval.lines.empty(); }) &&
        std::any_of(profile.ranks.begin(), profile.ranks.end(),
                    [](const ProfileRank& rank) { return rank.callpath_depth != 1; });
    std::string text = probed     ? "Times of procedures and loops are measured by probes"
                       : with_omp ? "Times of OpenMP's constructs are measured"
                                  : "";
    if (is_serial(profile)) {
        if (probed) return text + ", and estimated (~) where entries were counted without time.";
        if (!sampled) return text + ".";
        return text.empty() ? "Times of procedures are estimated from samples."
                            : text + ", those of procedures estimated from samples.";
    }
    const std::string rest = sampled ? "the time between two MPI calls is divided in proportion to "
                                       "samples, or without samples counts for"
                                     : "the time between two MPI calls counts for";
    if (probed)
        text +=
            ", and estimated (~) where entries were counted without time or there are "
            "no probes: ";
    if (!probed) text = "Times of procedures are estimated: ";
    return text + rest + " the innermost procedure that did not return meanwhile.";
}

}  // namespace

void draw_tree(const Profile& profile, const TextOptions& options, TextCanvas* canvas) {
    const bool several = profile.ranks.size() > 1;
    canvas->title("Call tree", several ? "times: mean per rank; counts and bytes: sums"
                                       : "times include everything below");
    const int rank_width = TreeDrawer::rank_width(profile);
    Line head;
    head.add(pad_left("time", kTimeWidth), Style::kDim);
    head.add(pad_left("share", kShareWidth), Style::kDim);
    head.add(pad_left("count", kCountWidth), Style::kDim);
    head.add(pad_left("bytes", kBytesWidth), Style::kDim);
    if (several) {
        head.add(pad_left("max/", kRatioWidth), Style::kDim);
        head.add(pad_left("on", rank_width), Style::kDim);
        canvas->put(head);
        head = Line();
        head.pad_to(kTimeWidth + kShareWidth + kCountWidth + kBytesWidth);
        head.add(pad_left("mean", kRatioWidth), Style::kDim);
        head.add(pad_left("rank", rank_width), Style::kDim);
    }
    const bool probed = has_source_probes(profile);
    const bool with_omp = has_openmp(profile);
    const bool with_mpi = !is_serial(profile);
    head.add(fmt::format("  procedure{}{}{}, line", probed ? ", loop" : "",
                         with_omp ? ", OpenMP construct" : "", with_mpi ? " or MPI call" : ""),
             Style::kDim);
    canvas->put(head);
    const TreeBuilder builder(profile, options);
    TreeDrawer drawer(profile, canvas);
    drawer.draw(builder.build(0), "", "");
    if (drawer.numbers_depths()) {
        canvas->paragraph("  [n]: n levels deep, too many to draw all of them.", 2, Style::kDim);
    }
    canvas->paragraph(fmt::format("  {}Lines below {:.2g} % are folded. {}",
                                  with_mpi ? "Shares are of the time without set-up. " : "",
                                  100 * options.threshold, origin_of_times(profile)),
                      2, Style::kDim);
}

}  // namespace dwell
