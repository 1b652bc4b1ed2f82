// Implements `dwell report --site`; see site_query.h. The queries are those of the paper, section
// 6.4.1.
#include "report/text/site_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "report/figures/stalls.h"
#include "report/text/views.h"
#include "summarize/merge/merged_tables.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

// Sites with equal keys look the same to a person.
using Identity = std::tuple<SiteKind, std::string, std::string, int>;

Identity identity_of(const ProfileNode& node) {
    return {node.kind, node.name, node.file, node.line};
}

// The site in the user's query.
class Wanted {
  public:
    explicit Wanted(const std::string& text) : text_(text) {
        const size_t colon = text.rfind(':');
        if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) return;
        const std::string number = text.substr(colon + 1);
        if (number.size() > 9 || number.find_first_not_of("0123456789") != std::string::npos) {
            return;
        }
        file_ = text.substr(0, colon);
        line_ = std::stoi(number);
    }

    bool is(const ProfileNode& node) const {
        if (line_ != 0) {
            return node.line == line_ && (node.file == file_ || node.file.ends_with("/" + file_));
        }
        if (node.kind == SiteKind::kCall) return false;  // the query means the procedure
        return is_name(node.name) || (node.kind == SiteKind::kProgram && is_name("program"));
    }
    bool is_name(const std::string& name) const {
        const std::string shown = short_name(name, true);
        const std::string bare = bare_name(shown);
        return name == text_ || shown == text_ || inner_name(shown) == text_ || bare == text_ ||
               bare.ends_with("::" + text_);
    }

  private:
    std::string text_;
    std::string file_;
    int line_ = 0;
};

// Includes estimates for entries without time.
uint64_t weight_ns(const Totals& totals) { return totals.time_ns + totals.estimated_ns; }

// OpenMP waiting in the node and below it.
uint64_t waits_ns(const Totals& totals) { return totals.omp_wait_ns + totals.omp_idle_ns; }

// OpenMP waiting in the node itself, which is part of computation_ns.
uint64_t own_wait_ns(const Profile& profile, const ProfileNode& node) {
    uint64_t inside_ns = 0;
    for (const uint32_t part : node.children) inside_ns += waits_ns(profile.nodes[part].totals);
    const uint64_t all_ns = waits_ns(node.totals);
    return std::min(all_ns - std::min(inside_ns, all_ns), node.computation_ns);
}

// Sums over the nodes of one site, or of one neighbouring place of a site.
struct Sum {
    uint32_t node = 0;         // one of them
    uint64_t own_ns = 0;       // computation
    uint64_t own_wait_ns = 0;  // of OpenMP, not included in own_ns
    Totals totals{};
    Totals entries{};  // of the nodes that were entered: for single entries
    uint32_t labels = 0;

    // A node inside another node of the same site adds no time, because the outer node's time
    // includes it.
    void add(const Profile& profile, uint32_t index, bool lies_in_another = false) {
        const ProfileNode& from = profile.nodes[index];
        if (totals.count == 0 && totals.time_ns == 0) {
            node = index;
            totals.min_ns = UINT64_MAX;
        }
        const uint64_t waits = dwell::own_wait_ns(profile, from);
        own_ns += from.computation_ns - waits;
        own_wait_ns += waits;
        labels |= from.labels;
        Totals part = from.totals;
        if (entries.count == 0) entries.min_ns = UINT64_MAX;
        if (part.count != 0) add_totals(&entries, part);
        if (lies_in_another) part.time_ns = part.entered_ns = part.omp_wait_ns = 0;
        add_totals(&totals, part);
        if (from.kind == SiteKind::kCall) {
            for (const uint32_t called : from.children) {
                totals.estimated_ns += profile.nodes[called].totals.estimated_ns;
            }
        }
    }
};

const char* word_of(SiteKind kind) {
    switch (kind) {
        case SiteKind::kProgram:
            return "program";
        case SiteKind::kProcedure:
            return "procedure";
        case SiteKind::kLoop:
            return "loop";
        case SiteKind::kCall:
            return "call statement";
        case SiteKind::kBlock:
            return "block";
        case SiteKind::kMarker:
            return "marker";
        case SiteKind::kOpenMp:
            return "OpenMP";
        case SiteKind::kIo:
            return "I/O statement";
        default:
            return "communication statement";
    }
}

class SiteReport {
  public:
    SiteReport(const Profile& profile, const TextOptions& options, TextCanvas* canvas)
        : profile_(profile), options_(options), canvas_(canvas), utf8_(canvas->utf8()) {
        communication_ns_.resize(profile.nodes.size(), 0);
        setup_ns_.resize(profile.nodes.size(), 0);
        for (size_t i = 0; i < profile.nodes.size(); ++i) {
            const ProfileNode& node = profile.nodes[i];
            if (is_communication(node)) communication_ns_[i] = node.totals.time_ns;
            setup_ns_[i] = setup_part_ns(node, node.totals);
        }
        sum_into_parents(profile, nodes_from_root(profile), &communication_ns_);
        sum_into_parents(profile, nodes_from_root(profile), &setup_ns_);
    }

    void draw_program() {
        const MpiTimes mpi = mpi_times(profile_);
        std::string text = fmt::format("{}: {}", printable(profile_.nodes[0].name, utf8_),
                                       time(profile_.total_ns));
        text += "; computation " + time(computed_ns(profile_));
        if (!is_serial(profile_)) {
            text += fmt::format(", MPI transfer {}, waiting {}, set-up {}", time(mpi.transfer_ns),
                                time(mpi.blocked_ns), time(mpi.setup_ns));
        }
        if (has_openmp(profile_)) {
            text += fmt::format(", OpenMP wait {}, OpenMP idle {}", time(profile_.omp_wait_ns),
                                time(profile_.omp_idle_ns));
        }
        const QueuedTimes queued = queued_times(profile_);
        if (const uint64_t ns = queued.work_ns + queued.call_ns; ns != 0)
            text += ", no processor " + time(ns);
        if (profile_.io_ns != 0) text += ", I/O " + time(profile_.io_ns);
        if (profile_.paused_ns != 0) text += ", paused " + time(profile_.paused_ns);
        if (profile_.ranks.size() > 1) {
            text += fmt::format("; times: mean of {} ranks, counts: sums", profile_.ranks.size());
        }
        canvas_->paragraph(text + ".", 2, Style::kDim);
    }

    void draw_site(const std::vector<uint32_t>& nodes) {
        Sum sum;
        uint64_t calls_ns = 0;
        uint64_t communication_ns = 0;
        uint64_t setup_ns = 0;
        for (const uint32_t index : nodes) {
            const bool inner = lies_in_another(index, nodes);
            sum.add(profile_, index, inner);
            if (!inner) communication_ns += communication_ns_[index];
            if (!inner) setup_ns += setup_ns_[index];
            for (const uint32_t part : profile_.nodes[index].children) {
                const ProfileNode& inside = profile_.nodes[part];
                if (inside.kind == SiteKind::kCall) calls_ns += inside.totals.time_ns;
            }
        }
        const ProfileNode& node = profile_.nodes[nodes.front()];
        canvas_->title(describe(nodes.front()), word_of(node.kind));
        draw_facts(node, sum, calls_ns, communication_ns, setup_ns);
        if (options_.per_rank) draw_ranks(nodes);
        draw_list("reached from", surroundings(nodes), sum.totals.time_ns);
        if (is_statement(node)) return;
        std::map<Identity, Sum> inside;
        for (const uint32_t index : nodes) {
            for (const uint32_t part : profile_.nodes[index].children) {
                inside[identity_of(profile_.nodes[part])].add(profile_, part);
            }
        }
        std::vector<std::pair<std::string, Sum>> parts;
        for (const auto& [identity, part] : inside) parts.emplace_back(describe(part.node), part);
        const std::pair<const char*, uint64_t> own_parts[] = {{"computation here", sum.own_ns},
                                                              {"waiting here", sum.own_wait_ns}};
        const bool divided = !parts.empty();
        for (const auto& [text, ns] : own_parts) {
            if (!divided || ns == 0) continue;
            Sum own;
            own.totals.time_ns = ns;
            parts.emplace_back(text, own);
        }
        draw_list("inside", std::move(parts), sum.totals.time_ns);
    }

    // Draws the samples of a procedure without a node: inlined, with nothing measured in it. False
    // without samples.
    bool draw_sampled(const Wanted& wanted) {
        const Sampled sampled = sampled_in(wanted);
        if (sampled.samples == 0) return false;
        canvas_->title(printable(sampled.place, utf8_), "procedure");
        const auto ns = static_cast<uint64_t>(sampled.ns);
        canvas_->items({fmt::format("computation {}, {} of the run, estimated", time(ns),
                                    share_text(sampled.ns, judged_time(profile_))),
                        count_text(sampled.samples) + " samples",
                        "not entered by a call that was seen: inlined, or without probes"},
                       2);
        std::vector<std::pair<std::string, Sum>> around;
        for (const auto& [node, part_ns] : sampled.by_node) {
            Sum sum;
            sum.totals.time_ns = static_cast<uint64_t>(part_ns);
            around.emplace_back(describe(node), sum);
        }
        draw_list("counts in", std::move(around), ns);
        return true;
    }

  private:
    struct Sampled {
        std::string place;
        uint64_t samples = 0;
        double ns = 0;
        std::map<uint32_t, double> by_node;  // by the owner of that computation
    };

    // Samples in the procedure's own lines, and their share of the time of their intervals.
    Sampled sampled_in(const Wanted& wanted) const {
        Sampled found;
        for (const ProfileInterval& interval : profile_.intervals) {
            uint64_t all = 0;
            uint64_t samples = 0;
            for (const SampledLine& line : interval.lines) {
                all += line.samples;
                if (!wanted.is_name(line.function)) continue;
                samples += line.samples;
                if (found.place.empty()) found.place = line.function + "  " + line.file;
            }
            if (samples == 0) continue;
            const double ns = static_cast<double>(interval.time_ns) * static_cast<double>(samples) /
                              static_cast<double>(all);
            found.samples += samples;
            found.ns += ns;
            found.by_node[interval.booked_on] += ns;
        }
        return found;
    }

    bool lies_in_another(uint32_t index, const std::vector<uint32_t>& nodes) const {
        for (uint32_t at = profile_.nodes[index].parent; at != kNoNode;
             at = profile_.nodes[at].parent) {
            if (std::find(nodes.begin(), nodes.end(), at) != nodes.end()) return true;
        }
        return false;
    }
    std::string time(uint64_t ns) const {
        return time_text(static_cast<double>(ns) / rank_count(profile_), utf8_);
    }

    // Entries, and calls of them, may be missing.
    std::string entries_text(const Sum& sum) const {
        const bool all = (sum.labels & kLabelAtLeast) == 0 && sum.totals.off_entries == 0;
        return (all ? "" : utf8_ ? "≥" : ">=") + count_text(sum.totals.count);
    }

    std::string describe(uint32_t index) const {
        const ProfileNode& node = profile_.nodes[index];
        std::string name = shown_name(node, utf8_);
        if (node.kind == SiteKind::kCall) name = "call " + name;
        const std::string place = place_text(node, utf8_);
        return place.empty() || index == 0 ? name : name + "  " + place;
    }

    // `calls_ns`: of the call statements directly inside; `communication_ns` and `setup_ns`: of all
    // descendants.
    void draw_facts(const ProfileNode& node, const Sum& sum, uint64_t calls_ns,
                    uint64_t communication_ns, uint64_t setup_ns) {
        const Totals& totals = sum.totals;
        std::vector<std::string> facts;
        if (totals.count == 0 || totals.untimed < totals.count) {
            const uint64_t own_ns = totals.time_ns - std::min(totals.time_ns, setup_ns);
            facts.push_back("time " + time(totals.time_ns));
            if (own_ns != 0 || setup_ns == 0) {
                facts.back() +=
                    fmt::format(", {} of the run",
                                share_text(static_cast<double>(own_ns), judged_time(profile_)));
            }
            if (setup_ns != 0 && own_ns != 0) facts.back() += " without set-up";
            if ((sum.labels & kLabelEstimated) != 0) facts.back() += ", estimated";
        }
        if (totals.count != 0) facts.push_back("count " + entries_text(sum));
        const Totals& entries = sum.entries;
        if (timed_entries(entries) != 0 && node.kind != SiteKind::kMarker) {
            facts.push_back("each " + time_text(mean_entry_ns(entries), utf8_));
            if (entries.min_ns < entries.max_ns) {
                facts.push_back(fmt::format("{} to {}",
                                            time_text(static_cast<double>(entries.min_ns), utf8_),
                                            time_text(static_cast<double>(entries.max_ns), utf8_)));
            }
        }
        ProfileNode all;
        all.kind = node.kind;
        all.call = node.call;
        all.labels = sum.labels;
        all.totals = totals;
        if (const std::string more = probe_text(all, rank_count(profile_), utf8_); !more.empty())
            facts.push_back(more);
        if (!is_statement(node)) facts.push_back("own computation " + time(sum.own_ns));
        if ((sum.labels & kLabelInlined) != 0 && sum.own_ns == 0) {
            const Sampled sampled = sampled_in(Wanted(node.name));
            if (sampled.samples != 0) {
                facts.push_back(fmt::format(
                    "computation in its lines {}, estimated from {} samples",
                    time(static_cast<uint64_t>(sampled.ns)), count_text(sampled.samples)));
            }
        }
        if (calls_ns != 0) facts.push_back("in calls " + time(calls_ns));
        const std::string where = is_communication(node) ? "" : "in MPI " + time(communication_ns);
        if (communication_ns != 0) {
            const uint64_t blocked_ns = std::min(totals.blocked_ns, communication_ns);
            if (!where.empty()) facts.push_back(where);
            facts.push_back("transfer " + time(communication_ns - blocked_ns));
            facts.push_back("waiting " + time(blocked_ns));
        }
        const uint64_t bytes = totals.bytes_sent + totals.bytes_received;
        if (bytes != 0) facts.push_back(bytes_text(static_cast<double>(bytes)));
        canvas_->items(facts, 2);
    }

    // The statements, or loops and procedures, directly around the nodes.
    std::vector<std::pair<std::string, Sum>> surroundings(const std::vector<uint32_t>& nodes) {
        std::map<std::string, Sum> by_text;
        for (const uint32_t index : nodes) {
            const uint32_t parent = profile_.nodes[index].parent;
            if (parent == kNoNode) continue;
            std::string text = describe(parent);
            const bool whole = parent == 0 || profile_.nodes[parent].kind == SiteKind::kProcedure;
            const std::string procedure = whole ? "" : procedure_of(profile_, parent, utf8_);
            if (!procedure.empty()) text += "  in " + procedure;
            by_text[text].add(profile_, index);
        }
        return {by_text.begin(), by_text.end()};
    }

    void draw_list(const char* name, std::vector<std::pair<std::string, Sum>> entries,
                   uint64_t whole_ns) {
        if (entries.empty()) return;
        std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
            return weight_ns(a.second.totals) > weight_ns(b.second.totals);
        });
        Line head;
        head.add(pad_left("time", 11), Style::kDim).add(pad_left("share", 9), Style::kDim);
        head.add(pad_left("count", 9), Style::kDim).add(std::string("  ") + name, Style::kDim);
        canvas_->put(head);
        for (const auto& [text, sum] : entries) {
            Line line;
            line.add(pad_left(time(sum.totals.time_ns), 11));
            line.add(pad_left(share_text(static_cast<double>(sum.totals.time_ns),
                                         static_cast<double>(whole_ns)),
                              9),
                     Style::kName);
            line.add(pad_left(sum.totals.count == 0 ? "" : entries_text(sum), 9));
            const std::string more =
                sum.totals.estimated_ns == 0 ? "" : "  ~" + time(sum.totals.estimated_ns) + " more";
            const int room = canvas_->width() - line.width() - 2 - display_width(more);
            line.add("  ").add(cut_middle(text, room, utf8_), Style::kName);
            line.add(more, Style::kDim);
            canvas_->put(line);
        }
    }

    void draw_ranks(const std::vector<uint32_t>& nodes) {
        const auto is_one = [&nodes](uint32_t index) {
            return std::find(nodes.begin(), nodes.end(), index) != nodes.end();
        };
        std::map<std::pair<uint32_t, uint32_t>, Sum> threads;
        for (const ProfileRow& row : profile_.rows) {
            const uint32_t parent = profile_.nodes[row.node].parent;
            const bool is_inside = parent != kNoNode && is_one(parent);
            if (!is_inside && !is_one(row.node)) continue;
            Sum& sum = threads[{row.rank, row.thread}];
            if (is_inside) sum.totals.omp_wait_ns += waits_ns(row.totals);  // of children
            if (!is_one(row.node)) continue;
            sum.totals.time_ns += row.totals.time_ns;
            sum.totals.count += row.totals.count;
            sum.own_ns += row.computation_ns;
            sum.own_wait_ns += waits_ns(row.totals);
        }
        for (auto& [who, sum] : threads) {
            sum.own_wait_ns -= std::min(sum.totals.omp_wait_ns, sum.own_wait_ns);
            sum.own_ns -= std::min(sum.own_wait_ns, sum.own_ns);
        }
        const GridPlaces places(profile_);
        Line head;
        for (const char* name : {"rank", "thread", "time", "own", "count"}) {
            head.add(pad_left(name, 9), Style::kDim);
        }
        if (places.grid() != nullptr) {
            head.add("  in grid " + printable(places.grid()->name, utf8_), Style::kDim);
        }
        canvas_->put(head);
        for (const auto& [who, sum] : threads) {
            Line line;
            line.add(pad_left(fmt::format("{}", who.first), 9), Style::kName);
            line.add(pad_left(fmt::format("{}", who.second), 9));
            line.add(pad_left(time_text(static_cast<double>(sum.totals.time_ns), utf8_), 9));
            line.add(pad_left(time_text(static_cast<double>(sum.own_ns), utf8_), 9));
            line.add(pad_left(count_text(sum.totals.count), 9));
            const std::vector<int32_t>& place = places.coordinates_of(who.first);
            if (!place.empty()) line.add("  " + dwell::place_text(place));
            canvas_->put(line);
        }
        if (threads.empty()) {
            canvas_->paragraph("  No figures of each rank: the job was over the row limit.", 2);
        }
    }

    const Profile& profile_;
    const TextOptions& options_;
    TextCanvas* canvas_;
    bool utf8_;
    std::vector<uint64_t> communication_ns_;  // by node, inclusive
    std::vector<uint64_t> setup_ns_;          // likewise
};

}  // namespace

tl::expected<std::string, std::string> write_site_report(const Profile& profile,
                                                         const std::string& site,
                                                         const TextOptions& options) {
    const Wanted wanted(site);
    std::map<Identity, std::vector<uint32_t>> found;
    for (uint32_t i = 0; i < profile.nodes.size(); ++i) {
        if (wanted.is(profile.nodes[i])) found[identity_of(profile.nodes[i])].push_back(i);
    }
    TextCanvas canvas(std::max(options.width, kLeastWidth), options.utf8, options.color);
    SiteReport report(profile, options, &canvas);
    report.draw_program();
    if (found.empty() && report.draw_sampled(wanted)) return canvas.take();
    if (found.empty()) {
        for (const LeftOutSite& left_out : profile.sites.left_out) {
            if (!wanted.is_name(left_out.name)) continue;
            return tl::unexpected(fmt::format("{} has no probes: {}", site, left_out.reason));
        }
        const bool reduced =
            std::any_of(profile.ranks.begin(), profile.ranks.end(),
                        [](const ProfileRank& rank) { return (rank.flags & kFileSitesOff) != 0; });
        return tl::unexpected(
            fmt::format("this profile has no procedure, loop, block or statement '{}'{}", site,
                        reduced ? "; an enabling profile of the run switched sites off" : ""));
    }
    std::vector<std::pair<uint64_t, std::vector<uint32_t>>> sites;
    for (auto& [identity, nodes] : found) {
        uint64_t time_ns = 0;
        for (const uint32_t index : nodes) time_ns += weight_ns(profile.nodes[index].totals);
        sites.emplace_back(time_ns, std::move(nodes));
    }
    std::stable_sort(sites.begin(), sites.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [time_ns, nodes] : sites) report.draw_site(nodes);
    return canvas.take();
}

}  // namespace dwell
