// Figures of this rank so far, summed over the trees of its threads while they go on writing them
// (live_records.h). The rules stand in dwell.h; the formulas are those of the report.
#include "runtime/api/query.h"

#include <algorithm>

#include "runtime/api/live_records.h"
#include "runtime/api/query_names.h"
#include "runtime/api/query_symbols.h"
#include "runtime/probes/blocks.h"
#include "runtime/process/virtual_clock.h"
#include "summarize/merge/node_figures.h"

namespace dwell {

namespace {

// The work of a query: dwell's own cost. Not while a call of MPI is under way in the thread, whose
// times are those of that call.
class QueryWork {
  public:
    explicit QueryWork(uint64_t frame)
        : work_(t_thread != nullptr && t_thread->open == nullptr ? t_thread : nullptr) {
        // Ends entries that a throw or a jump has left, and notices a reset.
        Thread* const thread = t_thread;
        const bool probed = thread != nullptr && thread->stacks[0].base != nullptr;
        if (probed && thread->open == nullptr) settle(thread, frame, work_.start());
    }
    uint64_t start() const { return work_.start(); }

    static bool may_begin() {
        const Thread* const thread = t_thread;
        if (g_live->on == 0 || g_process.header == nullptr || t_in_guard != 0) return false;
        return thread == nullptr || (!thread->in_tool && !thread->vforked);
    }

  private:
    SlowProbe work_;
};

// A node with its time, that of open and of untimed entries included.
struct TimedNode {
    Node node;
    uint64_t open_ns = 0;
    uint64_t estimated_ns = 0;
    uint64_t off_entries = 0;
    Totals totals{};

    uint64_t time_ns() const { return totals.time_ns + open_ns + estimated_ns; }
};

bool is_timed_kind(SiteKind kind) {
    return is_measured_kind(static_cast<uint8_t>(kind)) || kind == SiteKind::kCommunication ||
           kind == SiteKind::kIo;
}

class Sums {
  public:
    explicit Sums(uint64_t ticks_per_second, uint32_t flags)
        : clock_(ticks_per_second), file_flags_(flags) {}

    uint64_t ns(uint64_t ticks) const { return clock_.ns(ticks); }
    TimedNode timed(const LiveThread& thread, CellIndex cell) const;
    // What the node took itself, without the timed nodes below it.
    uint64_t own_ns(const LiveThread& thread, CellIndex cell, const TimedNode& timed) const;
    void add_traffic(const Node& node);
    void add_partner(const Node& node, uint32_t peer);
    void write_traffic();

    dwell_figures figures{};

  private:
    TickScale clock_;
    uint32_t file_flags_;
    Totals traffic_{};
};

// An entry or a call that ends meanwhile must not be counted as open and in the node's time: what
// is open is read until two readings are equal.
TimedNode Sums::timed(const LiveThread& thread, CellIndex cell) const {
    constexpr int kTries = 4;
    TimedNode timed;
    timed.node = read_cell<Node>(cell);
    uint64_t open_ticks = thread.open_ticks(cell, timed.node);
    for (int i = 0; i < kTries && open_ticks != 0; ++i) {
        const Node before = timed.node;
        const uint64_t open_before = open_ticks;
        timed.node = read_cell<Node>(cell);
        open_ticks = thread.open_ticks(cell, timed.node);
        if (timed.node.ticks == before.ticks && open_ticks == open_before) break;
    }
    const Node& node = timed.node;
    timed.open_ns = ns(open_ticks);
    const SiteKind kind = node.site.kind;
    if (is_probe_kind(static_cast<uint8_t>(kind))) {
        const CellIndex part_cell = read_link(&cell_at<Node>(cell)->part);
        const ProbePart part = part_cell != 0 ? read_cell<ProbePart>(part_cell) : ProbePart{};
        add_probed_node(node, part, clock_, &timed.totals);
        const bool site = kind == SiteKind::kProcedure || kind == SiteKind::kLoop;
        timed.off_entries = site ? part.off_entries : 0;
        timed.estimated_ns = ns(estimated_ticks(node, part, timed.off_entries));
    } else {
        add_timed_node(node, clock_, &timed.totals);
    }
    return timed;
}

uint64_t Sums::own_ns(const LiveThread& thread, CellIndex cell, const TimedNode& whole) const {
    uint64_t below_ns = 0;
    walk_nodes(
        cell,
        [&](CellIndex at, const Node& node) {
            if (at == cell || node.site.kind == SiteKind::kCall) return true;
            if (is_timed_kind(node.site.kind)) below_ns += timed(thread, at).time_ns();
            return false;
        },
        [](CellIndex) {});
    return beyond(whole.time_ns(), below_ns);
}

void Sums::add_traffic(const Node& node) {
    if (node.part == 0) return;
    const auto part = read_cell<CommPart>(node.part);
    const WaitPart wait = part.wait != 0 ? read_cell<WaitPart>(part.wait) : WaitPart{};
    add_timed_node(node, clock_, &traffic_);
    add_traffic_of_node(node, part, clock_, &traffic_);
    add_waiting_of_node(node, part.wait != 0 ? &wait : nullptr, file_flags_, clock_, &traffic_);
}

void Sums::add_partner(const Node& node, uint32_t peer) {
    if (node.part == 0) return;
    PeerShares shares;
    TrafficPeerRecord wanted{};
    CellIndex at = read_link(&cell_at<CommPart>(node.part)->first_peer);
    for (; at != 0; at = read_link(&cell_at<TrafficPeerRecord>(at)->next)) {
        const auto record = read_cell<TrafficPeerRecord>(at);
        shares.add(record.ticks, record.sync_ticks);
        if (record.peer == peer) wanted = record;
    }
    const uint64_t time_ns = ns(shares.settled_time(wanted.ticks, wanted.sync_ticks));
    const uint64_t waiting_ns = std::min(ns(wanted.sync_ticks), time_ns);
    figures.count += wanted.count;
    figures.inclusive_ns += time_ns;
    figures.exclusive_ns += time_ns;
    figures.waiting_ns += waiting_ns;
    figures.transfer_ns += time_ns - waiting_ns;
    figures.bytes_sent += wanted.bytes_sent;
    figures.bytes_received += wanted.bytes_received;
}

void Sums::write_traffic() {
    figures.waiting_ns = std::min(traffic_.blocked_ns, traffic_.time_ns);
    figures.transfer_ns = traffic_.time_ns - figures.waiting_ns;
    figures.bytes_sent = traffic_.bytes_sent;
    figures.bytes_received = traffic_.bytes_received;
    if (traffic_.unknown_waits != 0) figures.flags |= DWELL_WAITS_UNKNOWN;
}

// All of one name, as is_wanted(node) says. False: there is nothing of it.
template <typename IsWanted>
bool add_wanted(uint64_t now, Sums* sums, IsWanted is_wanted) {
    bool found = false;
    dwell_figures& figures = sums->figures;
    for_each_thread(now, [&](const LiveThread& thread) {
        CellIndex around = 0;  // the outermost wanted node that the walk is in
        walk_nodes(
            thread.root(),
            [&](CellIndex at, const Node& node) {
                if (node.site.kind == SiteKind::kInterval) return false;
                if (is_wanted(node)) {
                    found = true;
                    const TimedNode timed = sums->timed(thread, at);
                    figures.count += timed.totals.count + timed.off_entries;
                    if (timed.estimated_ns + timed.off_entries != 0)
                        figures.flags |= DWELL_ESTIMATED;
                    figures.exclusive_ns += sums->own_ns(thread, at, timed);
                    if (around == 0) {
                        around = at;
                        figures.inclusive_ns += timed.time_ns();
                        figures.open_ns += timed.open_ns;
                    }
                }
                const bool communicates = node.site.kind == SiteKind::kCommunication;
                if (around != 0 && communicates) sums->add_traffic(node);
                return true;
            },
            [&](CellIndex at) {
                if (at == around) around = 0;
            });
    });
    return found;
}

// Figures of functions without probes: the statements of MPI and I/O that they or what they call
// have made, and their share of the computation between statements.
class FunctionSums {
  public:
    FunctionSums(const FunctionCode& code, Sums* sums) : code_(code), sums_(sums) {}

    void add_thread(const LiveThread& thread);
    bool has_found() const { return found_; }

  private:
    bool is_inside(const Node& node) const;
    bool is_below_function(CellIndex cell) const;
    void add_interval(CellIndex cell, const Node& interval);

    const FunctionCode& code_;
    Sums* sums_;
    bool found_ = false;
    uint32_t depth_ = 0;      // of the node that the walk is at; the root's is 0
    uint32_t at_depth_ = 0;   // of the outermost one in the function
    CellIndex function_ = 0;  // that node, 0: none
};

bool FunctionSums::is_inside(const Node& node) const {
    const Site& site = node.site;
    if ((site.flags & kNodeNamed) != 0) return false;
    switch (site.kind) {
        case SiteKind::kCall:
        case SiteKind::kCommunication:
        case SiteKind::kIo:
            return code_.contains(site.module, site.offset - 1);  // a return address
        case SiteKind::kSample:
            return code_.contains(site.module, site.offset);
        default:
            return false;
    }
}

bool FunctionSums::is_below_function(CellIndex cell) const {
    for (; cell != 0; cell = cell_at<Node>(cell)->parent) {
        if (is_inside(read_cell<Node>(cell))) return true;
    }
    return false;
}

// By its samples; without any, all of it where both its ends are below one statement of the
// function.
void FunctionSums::add_interval(CellIndex cell, const Node& interval) {
    uint64_t samples = 0;
    uint64_t below = 0;  // samples in the function or what it called
    uint64_t inside = 0;
    CellIndex from = 0;  // the node of the samples' path that is in the function
    walk_nodes(
        cell,
        [&](CellIndex at, const Node& node) {
            if (at == cell) return true;
            if (node.parent == cell) {
                // The first node says how many nodes of the statement's path are in this one.
                const uint16_t call = node.site.call;
                const bool shares = call != 0 && call != kPathCut && function_ != 0;
                from = shares && call - 1u >= at_depth_ ? at : CellIndex{0};
            }
            const bool here = is_inside(node);
            if (from == 0 && here) from = at;
            if (node.site.kind == SiteKind::kSample) {
                samples += node.count;
                below += from != 0 ? node.count : 0;
                inside += here ? node.count : 0;
            }
            return true;
        },
        [&](CellIndex at) {
            if (at == from) from = 0;
        });
    if (samples != 0) {
        found_ = found_ || below != 0;
        sums_->figures.inclusive_ns += sums_->ns(scale(interval.ticks, below, samples));
        sums_->figures.exclusive_ns += sums_->ns(scale(interval.ticks, inside, samples));
        return;
    }
    if (function_ == 0 || !is_below_function(interval.part)) return;
    sums_->figures.inclusive_ns += sums_->ns(interval.ticks);
    if (is_inside(read_cell<Node>(interval.part))) {
        sums_->figures.exclusive_ns += sums_->ns(interval.ticks);
    }
}

void FunctionSums::add_thread(const LiveThread& thread) {
    depth_ = 0;
    function_ = 0;
    walk_nodes(
        thread.root(),
        [&](CellIndex at, const Node& node) {
            if (at != thread.root()) ++depth_;
            if (node.site.kind == SiteKind::kInterval) {
                add_interval(at, node);
                return false;
            }
            if (function_ == 0 && is_inside(node)) {
                found_ = true;
                function_ = at;
                at_depth_ = depth_;
            }
            const bool communicates = node.site.kind == SiteKind::kCommunication;
            if (function_ != 0 && (communicates || node.site.kind == SiteKind::kIo)) {
                const TimedNode timed = sums_->timed(thread, at);
                sums_->figures.inclusive_ns += timed.time_ns();
                sums_->figures.open_ns += timed.open_ns;
                if (communicates) sums_->add_traffic(node);
            }
            return true;
        },
        [&](CellIndex at) {
            if (depth_ != 0) --depth_;
            if (at == function_) function_ = 0;
        });
}

bool add_functions(std::string_view name, uint64_t now, Sums* sums) {
    FunctionCode code;
    find_functions(name, &code);
    if (code.count == 0 || code.has_more) return false;
    // Procedures of -finstrument-functions have probes, but no rows.
    const bool probed = add_wanted(now, sums, [&code](const Node& node) {
        return (node.site.flags & kNodeCode) != 0 &&
               code.contains(node.site.module, node.site.offset);
    });
    if (probed) return true;
    FunctionSums functions(code, sums);
    for_each_thread(now, [&](const LiveThread& thread) { functions.add_thread(thread); });
    if (!functions.has_found()) return false;
    sums->figures.flags |= DWELL_ESTIMATED | DWELL_NOT_COUNTED;
    return true;
}

uint64_t own_frame() { return reinterpret_cast<uint64_t>(__builtin_frame_address(0)); }

}  // namespace

bool query_name(std::string_view name, dwell_figures* figures) {
    *figures = {};
    if (!QueryWork::may_begin()) return false;
    const QueryWork work(own_frame());
    const TablesHeld held;
    const FileHeader* const header = g_process.header;
    Sums sums(header->ticks_per_second, read_word(&header->flags));
    WantedSites wanted(name);
    bool found = add_wanted(work.start(), &sums,
                            [&wanted](const Node& node) { return wanted.contains(node); });
    if (!found && !wanted.is_line()) found = add_functions(name, work.start(), &sums);
    if (!found) return false;
    sums.write_traffic();
    *figures = sums.figures;
    return true;
}

bool query_partner(int rank, dwell_figures* figures) {
    *figures = {};
    if (rank < 0 || rank >= 1 << kPeerRankBits || !QueryWork::may_begin()) return false;
    const QueryWork work(own_frame());
    const FileHeader* const header = g_process.header;
    Sums sums(header->ticks_per_second, read_word(&header->flags));
    for_each_thread(work.start(), [&](const LiveThread& thread) {
        walk_nodes(
            thread.root(),
            [&](CellIndex, const Node& node) {
                if (node.site.kind == SiteKind::kInterval) return false;
                if (node.site.kind == SiteKind::kCommunication) {
                    sums.add_partner(node, static_cast<uint32_t>(rank));
                }
                return true;
            },
            [](CellIndex) {});
    });
    if (sums.figures.count == 0) return false;
    *figures = sums.figures;
    return true;
}

}  // namespace dwell
