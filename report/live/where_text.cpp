// Words and tree of `dwell where`; see where_text.h.
#include "report/live/where_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "report/figures/names.h"
#include "report/figures/text_style.h"
#include "report/live/thread_samples.h"

namespace dwell {
namespace {

// A job whose ranks had all waited for less when it was killed had not come to rest.
constexpr double kLeastWait_ns = 100'000'000;

std::set<uint32_t> ranks_of(const Who& who) {
    std::set<uint32_t> ranks;
    for (const auto& [rank, thread] : who) ranks.insert(rank);
    return ranks;
}

// In its place; of a process that has ended until then.
double ns_since(const Position& position, int64_t now_ns) {
    const int64_t until_ns = position.end_unix_ns != 0 ? position.end_unix_ns : now_ns;
    return static_cast<double>(std::max<int64_t>(until_ns - position.since_unix_ns, 0));
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
            return "stopped";
        case 't':
            return "stopped by a debugger";
        case kNotVisible:
            return "not visible from here (another host or pid namespace)";
        default:
            return "ended";
    }
}

std::string needed_text(const Position& position) {
    const bool some_are_sure = !position.waits.sure.empty();
    const std::vector<uint32_t>& ranks = some_are_sure ? position.waits.sure : position.waits.ranks;
    if (ranks.empty()) return position.partner;
    if (position.waits_for_holder) return position.partner;
    const std::string all = ranks_text({ranks.begin(), ranks.end()});
    const std::set<uint32_t> different(ranks.begin(), ranks.end());
    const bool any = !some_are_sure && position.waits.needs == Needs::kAny && different.size() > 1;
    return any ? "any of " + all : all;
}

}  // namespace

std::string who_text(const Who& who) {
    const std::set<uint32_t> ranks = ranks_of(who);
    const bool firsts =
        std::all_of(who.begin(), who.end(), [](const auto& one) { return one.second == 0; });
    if (firsts) return ranks_text(ranks);
    if (ranks.size() > 1) return fmt::format("{}, {} threads", ranks_text(ranks), who.size());
    std::set<uint32_t> threads;
    for (const auto& [rank, thread] : who) threads.insert(thread);
    return fmt::format("{} thread{} {}", ranks_text(ranks), threads.size() == 1 ? "" : "s",
                       numbers_text(threads));
}

std::vector<Group> groups_of(const Positions& positions, const std::vector<size_t>& chosen) {
    std::map<std::pair<std::string, std::string>, Who> by_place;
    for (const size_t i : chosen) {
        const Position& position = positions.threads[i];
        const std::string where = position.path.empty() ? "" : position.path.back();
        by_place[{where, needed_text(position)}].insert({position.rank, position.thread});
    }
    std::vector<Group> groups;
    for (auto& [place, who] : by_place) groups.push_back({place.first, place.second, who});
    std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
        return a.who.size() != b.who.size() ? a.who.size() < b.who.size() : a.who < b.who;
    });
    return groups;
}

std::string where_it_is(const Position& position) {
    const std::string last = position.last.empty() ? "" : "after " + position.last;
    if (position.path.empty()) return last;
    return "in " + position.path.back() + (last.empty() ? "" : ", " + last);
}

std::string begin_sentence(std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] += 'A' - 'a';
    return text;
}

std::string sentence_of(const Group& group) {
    const bool one = group.who.size() == 1;
    return fmt::format("{} wait{} for {} in {}", who_text(group.who), one ? "s" : "", group.needed,
                       group.where);
}

namespace {

// Whether no process of the job is left.
bool is_dead(const Positions& positions) {
    return std::none_of(positions.threads.begin(), positions.threads.end(),
                        [](const Position& position) { return position.state != '\0'; });
}

}  // namespace

std::vector<size_t> stuck_threads(const Positions& positions, std::set<uint32_t>* ranks) {
    const std::map<uint32_t, WaitsFor> waits = waits_of(positions);
    const std::set<uint32_t> stuck = stuck_ranks(waits, positions.gone);
    for (const uint32_t key : stuck) {
        if (key < kFirstThreadKey) ranks->insert(key);
    }
    std::vector<size_t> threads;
    for (size_t i = 0; i < positions.threads.size(); ++i) {
        const Position& position = positions.threads[i];
        const bool of_many = waits.count(thread_key(i)) != 0;
        if (stuck.count(of_many ? thread_key(i) : position.rank) == 0) continue;
        if (!needed_text(position).empty() && !position.path.empty()) threads.push_back(i);
    }
    // Where the end is guessed, it is the time at which the last one came.
    const bool waited = std::any_of(threads.begin(), threads.end(), [&](size_t i) {
        return ns_since(positions.threads[i], positions.threads[i].end_unix_ns) >= kLeastWait_ns;
    });
    if (!is_dead(positions) || waited) return threads;
    ranks->clear();
    return {};
}

namespace {

std::string gone_text(const Positions& positions) {
    if (!is_dead(positions)) return ended_text(positions.gone);
    return positions.gone.empty() ? "" : "; " + ranks_text(positions.gone) + " had ended before";
}

// What cannot go on, and why. Empty where something may.
std::string stuck_text(const Positions& positions) {
    std::set<uint32_t> ranks;
    const std::vector<Group> groups = groups_of(positions, stuck_threads(positions, &ranks));
    if (groups.empty()) return "";
    std::set<uint32_t> all;
    for (const Position& position : positions.threads) all.insert(position.rank);
    Who threads;
    for (const Group& group : groups) threads.insert(group.who.begin(), group.who.end());
    const bool dead = is_dead(positions);
    std::string text;
    if (ranks == all) {
        text = dead ? "Nobody could go on: " : "Nobody can go on: ";
    } else {
        text = begin_sentence(ranks.empty() ? who_text(threads) : ranks_text(ranks)) +
               (dead ? " could not go on: " : " cannot go on: ");
    }
    const char* separator = "";
    for (const Group& group : groups) {
        text += separator + sentence_of(group);
        separator = "; ";
    }
    return text + gone_text(positions) + ".";
}

// Whom the others wait for where somebody may go on: threads that wait for nobody, as far as is
// known.
std::vector<const Position*> awaited(const Positions& positions) {
    const std::map<uint32_t, WaitsFor> waits = waits_of(positions);
    std::set<uint32_t> keys;
    for (const auto& [key, needed] : waits) {
        for (const uint32_t one : needed.ranks) {
            if (waits.count(one) == 0) keys.insert(one);
        }
    }
    std::vector<const Position*> found;
    std::set<uint32_t> all;
    std::set<uint32_t> ranks;
    for (size_t i = 0; i < positions.threads.size(); ++i) {
        const Position& position = positions.threads[i];
        all.insert(position.rank);
        const bool of_many = keys.count(thread_key(i)) != 0;
        if (position.state == '\0' || (!of_many && keys.count(position.rank) == 0)) continue;
        ranks.insert(position.rank);
        found.push_back(&position);
    }
    // Where most ranks are is the scene.
    const bool few = ranks.size() * 2 <= all.size() ||
                     (all.size() == 1 && found.size() * 2 <= positions.threads.size());
    return few ? found : std::vector<const Position*>();
}

enum class Doing : uint8_t { kIs, kComputes, kSleeps, kStopped };
constexpr const char* kDoingOfOne[] = {"is", "computes", "is asleep", "is stopped"};
constexpr const char* kDoingOfMany[] = {"are", "compute", "are asleep", "are stopped"};

Doing doing(const Position& one) {
    if (is_stopped(one)) return Doing::kStopped;
    if (one.is_in_call || one.in_openmp || one.state == kNotVisible) return Doing::kIs;
    return is_asleep(one) ? Doing::kSleeps : Doing::kComputes;
}

std::string awaited_text(const Positions& positions) {
    std::map<std::pair<Doing, std::string>, Who> by_place;
    std::set<uint32_t> needed;
    for (const Position* one : awaited(positions)) {
        const std::string sampled =
            one->samples.empty() ? "" : "at " + one->samples.front().place + ", ";
        std::string place = where_it_is(*one);
        const bool says_no_place = one->path.empty() && doing(*one) == Doing::kIs;
        if (says_no_place && !place.empty()) place = "outside of MPI, " + place;
        by_place[{doing(*one), sampled + (place.empty() ? "outside of MPI" : place)}].insert(
            {one->rank, one->thread});
        needed.insert(one->rank);
    }
    if (needed.empty()) return "";
    std::set<uint32_t> waiting;
    bool all_others = true;
    for (const Position& one : positions.threads) {
        if (needed.count(one.rank) != 0 || one.thread != 0) continue;
        if (one.waits.ranks.empty()) all_others = false;
        if (!one.waits.ranks.empty()) waiting.insert(one.rank);
    }
    std::string text = all_others ? "Others wait for " : begin_sentence(ranks_text(waiting));
    if (!all_others) text += waiting.size() == 1 ? " waits for " : " wait for ";
    const char* separator = "";
    for (const auto& [at, who] : by_place) {
        const auto& verbs = who.size() == 1 ? kDoingOfOne : kDoingOfMany;
        text += fmt::format("{}{}, which {} {}", separator, who_text(who),
                            verbs[static_cast<size_t>(at.first)], at.second);
        separator = "; for ";
    }
    return text + ".";
}

// The paths of all threads as one tree.
struct Branch {
    std::map<std::string, Branch> below;
    Who who;
    std::vector<const Position*> here;
};

class Tree {
  public:
    // `snapshot`: what the kernel says is known of no process.
    Tree(int64_t now_ns, bool snapshot, TextCanvas* canvas)
        : now_ns_(now_ns), snapshot_(snapshot), canvas_(canvas) {}

    void draw(const Branch& branch, const std::string& indent) {
        std::vector<std::pair<std::string, const Branch*>> parts;
        for (const auto& [text, below] : branch.below) parts.emplace_back(text, &below);
        std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
            return a.second->who.size() < b.second->who.size();
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
        const bool utf8 = canvas_->utf8();
        // A list of many ranks leaves room for the name of the place.
        const std::string who = cut_middle(who_text(branch.who), canvas_->width() / 2, utf8);
        Line line;
        line.add(cut_indent(indent));
        const int room = canvas_->width() - line.width() - display_width(who) - 2;
        line.add(cut_middle(printable(text, utf8), room, utf8), Style::kName);
        line.pad_to(canvas_->width() - display_width(who));
        line.add(who);
        canvas_->put(line);
        const int margin = display_width(cut_indent(indent));
        std::map<std::string, std::vector<const Position*>> facts;
        for (const Position* position : branch.here) {
            facts[facts_of(*position)].push_back(position);
        }
        std::vector<std::pair<std::string, std::vector<const Position*>>> sorted(facts.begin(),
                                                                                 facts.end());
        std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
            return a.second.size() != b.second.size()
                       ? a.second.size() < b.second.size()
                       : a.second.front()->rank < b.second.front()->rank;
        });
        for (const auto& [fact, of] : sorted) {
            Who these;
            double longest_ns = 0;
            double shortest_ns = ns_since(*of.front(), now_ns_);
            for (const Position* position : of) {
                these.insert({position->rank, position->thread});
                const double ns = ns_since(*position, now_ns_);
                longest_ns = std::max(longest_ns, ns);
                shortest_ns = std::min(shortest_ns, ns);
            }
            const std::string longest = time_text(longest_ns, canvas_->utf8());
            const std::string shortest = time_text(shortest_ns, canvas_->utf8());
            const std::string time = longest == shortest ? longest : shortest + " to " + longest;
            const bool all = these.size() == branch.who.size();  // others may be below
            const std::string names = all ? "" : who_text(these) + ": ";
            const bool computes = !of.front()->is_in_call && !of.front()->in_openmp &&
                                  !of.front()->paused && !is_asleep(*of.front()) &&
                                  !is_stopped(*of.front());
            canvas_->paragraph(
                std::string(static_cast<size_t>(margin) + 2, ' ') + names +
                    printable((computes ? "computing for " : "for ") + time + fact, utf8),
                margin + 4, Style::kDim);
        }
    }

    // Deep paths leave half of the width for what stands there.
    std::string cut_indent(const std::string& indent) const {
        const int room = canvas_->width() / 2;
        return display_width(indent) <= room ? indent : cut_middle(indent, room, canvas_->utf8());
    }

    // After the time.
    std::string facts_of(const Position& position) const {
        std::string text;
        if (!position.partner.empty()) text += ", waits for " + position.partner;
        if (position.partner.empty() && position.pending != 0) {
            text += fmt::format(", with {} pending request{}", position.pending,
                                position.pending == 1 ? "" : "s");
        }
        for (size_t i = 0; i < position.requests.size(); ++i) {
            text += (i == 0 ? ": " : "; ") + position.requests[i];
        }
        if (position.pending > position.requests.size()) {
            text += fmt::format("; and {} more", position.pending - position.requests.size());
        }
        if (!position.finding.empty()) text += "; " + position.finding;
        if (!position.last.empty() && !position.in_openmp) {
            text += ", left " + position.last + " last";
        }
        if (position.paused) text += ", recording is switched off: what it does now is not known";
        const bool plain = snapshot_ || position.state == 'R' || position.state == '\0' ||
                           ((position.is_in_call || position.in_openmp) && position.state == 'S');
        if (!plain) text += std::string(", ") + state_text(position.state);
        if (!position.system_call.empty()) text += " in " + position.system_call;
        if (position.samples.empty()) return text;
        uint32_t all = 0;
        for (const SampledPlace& one : position.samples) all += one.samples;
        for (size_t i = 0; i < std::min(position.samples.size(), kPlacesNamed); ++i) {
            const SampledPlace& one = position.samples[i];
            text += fmt::format("{} {} ({} of {} samples)", i == 0 ? ", at" : ",", one.place,
                                one.samples, all);
        }
        return text;
    }

    int64_t now_ns_;
    bool snapshot_;
    TextCanvas* canvas_;
    int depth_ = 0;
};

}  // namespace

std::string where_text(const Positions& positions, int64_t now_ns, const WhereOptions& options) {
    TextCanvas canvas(options.width, !options.ascii, false);
    const bool utf8 = !options.ascii;
    int64_t until_ns = now_ns;
    if (is_dead(positions)) {
        int64_t last_ns = 0;
        for (const Position& one : positions.threads) last_ns = std::max(last_ns, one.end_unix_ns);
        if (last_ns != 0) until_ns = last_ns;
    }
    const auto runs_ns =
        static_cast<double>(std::max<int64_t>(until_ns - positions.start_unix_ns, 0));
    std::set<uint32_t> moving;
    double still_ns = 0;
    Branch root;
    for (const Position& position : positions.threads) {
        if (position.moved) moving.insert(position.rank);
        if (position.state != '\0')
            still_ns = still_ns == 0 ? ns_since(position, now_ns)
                                     : std::min(still_ns, ns_since(position, now_ns));
        const std::pair<uint32_t, uint32_t> who{position.rank, position.thread};
        Branch* at = &root;
        at->who.insert(who);
        for (const std::string& step : position.path) {
            at = &at->below[step];
            at->who.insert(who);
        }
        if (position.path.empty()) {
            at = &at->below[position.thread != 0 ? "outside of OpenMP regions and MPI"
                                                 : "outside of MPI"];
            at->who.insert(who);
        }
        at->here.push_back(&position);
    }
    still_ns = std::max(still_ns, static_cast<double>(positions.still_ns));
    const std::string movement = is_dead(positions) ? "it has ended"
                                 : moving.empty()
                                     ? "nothing has moved for " + time_text(still_ns, utf8)
                                     : ranks_text(moving) + " moved in the last second";
    const std::string gone = gone_text(positions);
    canvas.paragraph(
        fmt::format("{}: {} of {} ranks on {}, {} {}; {}{}", printable(positions.program, utf8),
                    ranks_of(root.who).size(), positions.world_size,
                    printable(positions.host, utf8), is_dead(positions) ? "for" : "running for",
                    time_text(runs_ns, utf8), movement, gone),
        2, Style::kTitle);
    std::string taken;
    for (const auto& [host, age_ns] : positions.snapshot_age_ns) {
        taken += fmt::format("{}{} {} ago", taken.empty() ? "As it was: " : ", ",
                             printable(host, utf8), time_text(static_cast<double>(age_ns), utf8));
    }
    if (!taken.empty()) canvas.paragraph(taken + ".", 2, Style::kDim);
    canvas.blank();
    std::string headline = moving.empty() ? stuck_text(positions) : "";
    if (headline.empty() && moving.empty()) headline = awaited_text(positions);
    if (!headline.empty()) {
        canvas.paragraph(printable(headline, utf8), 2, Style::kHot);
        canvas.blank();
    }
    Tree(now_ns, !positions.snapshot_age_ns.empty(), &canvas).draw(root, "");
    if (!positions.incomplete.empty()) {
        canvas.blank();
        canvas.paragraph("Of " + ranks_text(positions.incomplete) +
                             " not all requests are known: there are too many.",
                         2, Style::kDim);
    }
    return canvas.take();
}

std::string where_json(const Positions& positions, int64_t now_ns) {
    nlohmann::json threads = nlohmann::json::array();
    for (const Position& position : positions.threads) {
        const bool of_snapshot = !positions.snapshot_age_ns.empty() && position.state != '\0';
        nlohmann::json thread = {{"rank", position.rank},
                                 {"thread", position.thread},
                                 {"pid", position.pid},
                                 {"tid", position.tid},
                                 {"state", of_snapshot ? "not known" : state_text(position.state)},
                                 {"in_mpi", position.is_in_call},
                                 {"in_openmp", position.in_openmp},
                                 {"paused", position.paused},
                                 {"moved", position.moved},
                                 {"for_ns", static_cast<uint64_t>(ns_since(position, now_ns))},
                                 {"path", position.path}};
        if (!position.last.empty()) thread["last"] = position.last;
        if (!position.waits.ranks.empty()) {
            thread["waits_for"] = position.waits.ranks;
            thread["any"] = position.waits.needs == Needs::kAny;
        }
        if (!position.waits.threads.empty()) thread["waits_for_threads"] = position.waits.threads;
        if (!position.partner.empty()) thread["partner"] = position.partner;
        if (!position.requests.empty()) {
            thread["requests"] = position.requests;
            thread["pending"] = position.pending;
        }
        if (!position.finding.empty()) thread["finding"] = position.finding;
        if (!position.system_call.empty()) thread["system_call"] = position.system_call;
        for (const SampledPlace& one : position.samples) {
            thread["samples"].push_back({{"place", one.place}, {"samples", one.samples}});
        }
        threads.push_back(std::move(thread));
    }
    const std::map<uint32_t, WaitsFor> waits = waits_of(positions);
    nlohmann::json stuck = nlohmann::json::array();
    nlohmann::json stuck_threads = nlohmann::json::array();
    const bool moves = std::any_of(positions.threads.begin(), positions.threads.end(),
                                   [](const Position& position) { return position.moved; });
    for (const uint32_t key : moves ? std::set<uint32_t>{} : stuck_ranks(waits, positions.gone)) {
        if (key < kFirstThreadKey) {
            stuck.push_back(key);
        } else {
            const Position& one = positions.threads[key - kFirstThreadKey];
            stuck_threads.push_back({{"rank", one.rank}, {"thread", one.thread}});
        }
    }
    nlohmann::json others_wait_for = nlohmann::json::array();
    for (const Position* one : moves ? std::vector<const Position*>() : awaited(positions)) {
        others_wait_for.push_back({{"rank", one->rank}, {"thread", one->thread}});
    }
    const nlohmann::json all = {{"program", positions.program},
                                {"host", positions.host},
                                {"world_size", positions.world_size},
                                {"stuck", std::move(stuck)},
                                {"stuck_threads", std::move(stuck_threads)},
                                {"others_wait_for", std::move(others_wait_for)},
                                {"gone", positions.gone},
                                {"requests_not_all_known", positions.incomplete},
                                {"snapshot_age_ns", positions.snapshot_age_ns},
                                {"threads", std::move(threads)}};
    return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace dwell
