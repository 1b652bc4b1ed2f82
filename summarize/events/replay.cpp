// Follows the entries of each thread as its probes did; see replay.h. What is said of a rule in
// runtime/probes and runtime/calls is not repeated here.
#include "summarize/events/replay.h"

#include <algorithm>
#include <cstring>

#include "runtime/contract/mpi_calls.h"
#include "runtime/contract/omp_constructs.h"
#include "summarize/events/replay_parts.h"

namespace dwell {
namespace {

constexpr CellIndex kPartOffset = 1;  // of communication and I/O nodes, and the histogram behind it
constexpr CellIndex kHistogramOffset = 2;

bool is_construct(const Node& node, OmpConstruct construct) {
    return node.site.kind == SiteKind::kOpenMp &&
           node.site.call == static_cast<uint16_t>(construct);
}
bool is_region(const Node& node) {
    return node.site.kind == SiteKind::kOpenMp && is_omp_region(node.site.call);
}

int bucket_of(uint64_t bytes) {
    if (bytes == 0) return 0;
    return std::min(64 - __builtin_clzll(bytes), kSizeBuckets - 1);
}

}  // namespace

Replay::Replay(LogProcess* process) : process_(*process) {
    next_ = static_cast<CellIndex>(process->cells.size() / kCellBytes);
    is_node_.resize(next_);
    for (const CellIndex cell : process->used[static_cast<int>(CellUse::kNode)]) {
        if (cell >= next_) continue;
        is_node_[cell] = true;
        Node* const of = node(cell);
        of->count = of->ticks = of->max_ticks = 0;
        of->min_ticks = UINT64_MAX;
        of->part = 0;
        if (is_construct(*of, OmpConstruct::kIdle)) roots_of_workers_.insert(of->parent);
    }
    for (const CellIndex cell : process->used[static_cast<int>(CellUse::kThread)]) {
        const auto* thread = part<ThreadRecord>(cell);
        if (thread == nullptr) continue;
        threads_[thread->number] = cell;
    }
    adopt_intervals();
}

// Those that metrics or samples belong to.
void Replay::adopt_intervals() {
    for (const CellIndex cell : process_.used[static_cast<int>(CellUse::kNode)]) {
        if (cell >= is_node_.size() || node(cell)->site.kind != SiteKind::kInterval) continue;
        const auto from = static_cast<CellIndex>(node(cell)->site.offset);
        const CellIndex to = node(cell)->parent;
        if (to >= is_node_.size() || !is_node_[to]) continue;
        intervals_[{from, to}] = cell;
        node(cell)->part = meeting(from, to);
    }
}

Node* Replay::node(CellIndex cell) {
    return reinterpret_cast<Node*>(process_.cells.data() + size_t{cell} * kCellBytes);
}

template <typename T>
T* Replay::part(CellIndex cell) {
    const size_t begin = size_t{cell} * kCellBytes;
    if (begin + sizeof(T) > process_.cells.size()) return nullptr;
    return reinterpret_cast<T*>(process_.cells.data() + begin);
}

// Pointers into the cells are not valid any more after this.
CellIndex Replay::take(uint32_t cells) {
    const CellIndex taken = next_;
    if (!process_.cells.resize((size_t{next_} + cells) * kCellBytes)) {
        has_failed_ = true;
        return 0;
    }
    next_ += cells;
    return taken;
}

uint64_t Replay::inner_of(const Node& of) const {
    const FileHeader& header = process_.header;
    if (of.site.kind == SiteKind::kOpenMp) return header.omp_inner_ticks;
    const bool called = of.site.kind == SiteKind::kBlock || (of.site.flags & kNodeCode) != 0;
    return called ? header.block_inner_ticks : header.probe_inner_ticks;
}

void Replay::add_time(CellIndex cell, uint64_t ticks) {
    node(cell)->ticks += ticks;
    add_limits(node(cell), ticks);
}

void Replay::add_limits(Node* of, uint64_t ticks) {
    of->min_ticks = std::min(of->min_ticks, ticks);
    of->max_ticks = std::max(of->max_ticks, ticks);
}

// The node that has the calls of `cell`, without the call statements between.
CellIndex Replay::around(CellIndex cell) {
    do {
        cell = node(cell)->parent;
    } while (cell < is_node_.size() && is_node_[cell] && node(cell)->site.kind == SiteKind::kCall);
    return cell;
}

CellIndex Replay::interval(CellIndex from, CellIndex to) {
    CellIndex& known = intervals_[{from, to}];
    if (known != 0) return known;
    const CellIndex made = take(1);
    if (made == 0) return 0;
    known = made;
    Node* const of = node(made);
    *of = Node{};
    of->site.kind = SiteKind::kInterval;
    of->site.offset = from;
    of->min_ticks = UINT64_MAX;
    of->parent = to;
    of->next_sibling = node(to)->first_child;
    node(to)->first_child = made;
    const CellIndex common = meeting(from, to);
    node(made)->part = common;
    return made;
}

// The innermost node around both.
CellIndex Replay::meeting(CellIndex from, CellIndex to) {
    const auto path_to = [this](CellIndex cell) {
        std::vector<CellIndex> path;
        for (; cell != 0 && cell < is_node_.size() && is_node_[cell]; cell = node(cell)->parent)
            path.insert(path.begin(), cell);
        return path;
    };
    const bool is_known = from < is_node_.size() && is_node_[from];
    const std::vector<CellIndex> a = path_to(is_known ? node(from)->parent : 0);
    const std::vector<CellIndex> b = path_to(node(to)->parent);
    CellIndex common = b.empty() ? 0 : b.front();
    for (size_t i = 0; i < std::min(a.size(), b.size()) && a[i] == b[i]; ++i) common = a[i];
    return common;
}

void Replay::add_thread(uint32_t number, EventStream* stream) {
    ThreadState thread;
    const auto record = threads_.find(number);
    if (record != threads_.end()) {
        thread.record = record->second;
        const CellIndex root = part<ThreadRecord>(thread.record)->root;
        thread.untold = untold_of(root);
        thread.serves_all = roots_of_workers_.count(root) != 0;
    }
    thread.last_end = thread.off_since = process_.header.start_ticks;
    thread.is_off = (process_.header.events_in_part & kEventsInWindows) != 0;
    uint64_t begin = number == 0 && !thread.is_off ? thread.last_end : 0;
    Event event;
    uint64_t lost_words = 0;
    while (!has_failed_ && stream->next(&event)) {
        // The log's times have pauses in them, those of the figures have not.
        if (is_control(event, EventControl::kPaused) && event.more != 0) {
            thread.paused += event.values[0];
            thread.real_ahead += event.values[0];
        }
        event.time -= std::min(event.time, thread.paused);
        // Computation begins with the thread, and behind records that were lost.
        const bool is_gap = is_control(event, EventControl::kGap) || stream->lost() != lost_words;
        if (is_gap || is_control(event, EventControl::kOff)) {
            for (Open& open : thread.open) open.in_part = true;
        }
        if (is_control(event, EventControl::kGap))
            thread.lost_told.add(event.values.data(), event.more);
        if (is_gap || (number != 0 && thread.newest == 0)) {
            thread.last_end = event.time;
            thread.untold_before = thread.untold.until(event.time + thread.real_ahead);
            thread.separate = 0;
        }
        lost_words = stream->lost();
        thread.newest = std::max(thread.newest, event.time);
        if (begin == 0) begin = event.time;
        const bool known = event.what < is_node_.size() && is_node_[event.what];
        unknown_ += is_known(event) ? 0 : 1;
        without_place_ += names_node(event.kind) && !known ? 1 : 0;
        switch (event.kind) {
            case EventKind::kEnter:
                if (known) enter(&thread, event.what, event.time);
                break;
            case EventKind::kLeave:
                if (known) leave(&thread, event.what, event.time);
                break;
            case EventKind::kMark:
                if (!known) break;
                node(event.what)->count += 1;
                if (event.more != 0) {
                    if (auto* probe = own_part<ProbePart>(node(event.what)))
                        probe->volume += event.values[0];
                }
                break;
            case EventKind::kMetric:
                if (known) add_counts(&thread, event);
                break;
            case EventKind::kSample:
                if (known && event.more != 0) node(event.what)->count += event.values[0];
                break;
            case EventKind::kControl:
                if (is_control(event, EventControl::kFlushed)) break;
                was_reset_ = was_reset_ || is_control(event, EventControl::kReset);
                if (is_control(event, EventControl::kOff)) {
                    was_off_ = thread.is_off = true;
                    thread.off_since = event.time;
                }
                thread.is_moved = is_control(event, EventControl::kMoved);
                if (is_control(event, EventControl::kRealTime) && event.more != 0)
                    thread.real_ahead = event.values[0] + thread.paused;
                if (is_control(event, EventControl::kWaited) && event.more == 2)
                    add_waiting(static_cast<CellIndex>(event.values[0]), event.values[1]);
                if (is_control(event, EventControl::kEnded) && event.more != 0)
                    end_unseen(&thread, event.values[0]);
                if (is_control(event, EventControl::kThread)) {
                    if (event.more == 0 ||
                        std::exchange(thread.tid, event.values[0]) != event.values[0])
                        end_unseen(&thread, thread.open.size());
                    thread.last = 0;
                    thread.separate = 0;
                    if (number != 0 || thread.is_off) thread.last_end = event.time;
                    thread.untold_before = thread.untold.until(event.time + thread.real_ahead);
                    if (thread.is_off) thread.off_ticks += beyond(event.time, thread.off_since);
                    thread.is_off = false;
                    thread.may_serve =
                        number != static_cast<uint32_t>(process_.header.process_thread);
                }
                break;
            default:
                move(&thread, event);
        }
    }
    incomplete_ += thread.open.size();
    auto* const of_thread = part<ThreadRecord>(thread.record);
    if (of_thread != nullptr && number == process_.header.process_thread)
        leave_out_off(thread, of_thread);
    LostRecords lost;
    if (of_thread != nullptr) lost.add(of_thread->events.lost);
    lost_.add(larger(lost, thread.lost_told));  // its last state may not be in the log
    if (thread.counted != 0 && of_thread != nullptr)
        add_read(thread, of_thread->root, 1, beyond(thread.newest, begin));
}

// Innermost entries, and the statements in them.
void Replay::end_unseen(ThreadState* thread, uint64_t number) {
    auto& stack = thread->open;
    for (; !stack.empty(); stack.pop_back()) {
        const bool is_entry = !is_statement(*node(stack.back().node));
        if (is_entry && number == 0) return;
        number -= is_entry ? 1 : 0;
        incomplete_ += 1;
    }
}

// Time without events is shown as a pause.
void Replay::leave_out_off(const ThreadState& thread, ThreadRecord* record) {
    const uint64_t gone = record->intrusion_ticks + record->late_ticks + record->paused_ticks;
    const uint64_t end = beyond(process_.header.end_ticks, gone);
    record->paused_ticks += thread.off_ticks + (thread.is_off ? beyond(end, thread.off_since) : 0);
}

EventPolicy Replay::policy_of(uint32_t number) {
    const auto record = threads_.find(number);
    return record == threads_.end()
               ? EventPolicy::kDrop
               : static_cast<EventPolicy>(part<ThreadRecord>(record->second)->events.policy);
}

MetricPart* Replay::metric_part(const ThreadState& thread, CellIndex cell) {
    if (thread.record == 0) return nullptr;
    CellIndex& known = metric_parts_[{thread.record, cell}];
    if (known == 0) {
        known = take(kMetricCells);
        if (known == 0) return nullptr;
        auto* const record = part<ThreadRecord>(thread.record);
        auto* const made = part<MetricPart>(known);
        *made = MetricPart{};
        made->node = cell;
        made->next = record->first_metric;
        record->first_metric = known;
    }
    return part<MetricPart>(known);
}

void Replay::add_read(const ThreadState& thread, CellIndex cell, uint64_t entries, uint64_t ticks) {
    MetricPart* const of = metric_part(thread, cell);
    if (of == nullptr) return;
    of->entries += entries;
    of->ticks += ticks;
}

void Replay::add_counts(ThreadState* thread, const Event& event) {
    MetricPart* const of = metric_part(*thread, event.what);
    if (of == nullptr) return;
    for (uint32_t i = 0; i < std::min(event.more, kMetricLimit); ++i)
        of->values[i] += event.values[i];
    thread->counted = event.what;
    thread->counted_at = event.time;
    if (thread->left == event.what && thread->left_at == event.time)
        add_read(*thread, event.what, 1, thread->left_ticks);
}

template <typename T>
T* Replay::own_part(Node* of) {
    if (of->part == 0) {
        const auto cell = static_cast<CellIndex>(
            (reinterpret_cast<char*>(of) - process_.cells.data()) / kCellBytes);
        const CellIndex made = take(1);
        if (made == 0) return nullptr;
        node(cell)->part = made;
        return part<T>(made);
    }
    return part<T>(of->part);
}

void Replay::enter(ThreadState* thread, CellIndex cell, uint64_t at) {
    Node* const of = node(cell);
    const bool moved = thread->is_moved;
    thread->is_moved = false;
    const bool may_serve = std::exchange(thread->may_serve, false) || thread->serves_all;
    const bool serves = may_serve && thread->open.empty();
    Open open{cell, at, false, false, 0, moved};
    if (moved && !thread->moving.empty()) {
        if (node(thread->moving.back().origin)->site.kind == of->site.kind)
            open.before = thread->moving.back();
        thread->moving.pop_back();
    }
    thread->moves = false;
    if (is_statement(*of) || is_construct(*of, OmpConstruct::kIdle)) {
        thread->open.push_back(open);
        return;
    }
    if (!moved || of->site.kind == SiteKind::kOpenMp) of->count += 1;
    // A recursion has no time of its own; one to a node further out stops those between.
    auto& stack = thread->open;
    const auto is_same = [cell](const Open& other) { return other.node == cell && !other.in_part; };
    const bool is_open = std::any_of(stack.begin(), stack.end(), is_same);
    const bool is_folded = (of->site.flags & kNodeFolded) != 0;
    // A task stops the tasks that wait for it, whatever their node.
    open.untimed =
        is_open &&
        (is_construct(*of, OmpConstruct::kTask) ? is_folded : around(cell) != stack.back().node);
    if (open.untimed && !is_folded && stack.back().node != cell) {
        for (size_t i = stack.size(); i != 0 && stack[i - 1].node != cell; --i) {
            Open& between = stack[i - 1];
            if (between.untimed || between.stopped) continue;
            between.begin = at - between.begin;
            between.stopped = true;
            between.holder = stack.size();
        }
    }
    stack.push_back(open);
    if (is_construct(*of, OmpConstruct::kTask)) stop_for_task(thread, at);
    if (!is_region(*of) || moved) return;
    stack.back().serves = serves;
    if (serves) return;
    if (auto* omp = own_part<OmpPart>(of)) omp->created += 1;
}

void Replay::add_waiting(CellIndex cell, uint64_t ticks) {
    if (cell >= is_node_.size() || !is_node_[cell]) return;
    Node* const of = node(cell);
    if (of->site.kind == SiteKind::kOpenMp) {
        if (auto* omp = own_part<OmpPart>(of)) omp->wait_ticks += ticks;
    } else if (of->site.kind == SiteKind::kCommunication) {
        if (auto* comm = part<CommPart>(cell + kPartOffset)) comm->blocked_ticks += ticks;
    }
}

// The first entry that is not in the innermost region.
size_t Replay::begin_of_region(const ThreadState& thread) {
    size_t at = thread.open.size();
    while (at != 0 && !is_region(*node(thread.open[at - 1].node))) --at;
    return at;
}

void Replay::stop_for_task(ThreadState* thread, uint64_t at) {
    for (size_t i = thread->open.size() - 1; i > begin_of_region(*thread); --i) {
        Open& entry = thread->open[i - 1];
        if (entry.untimed || entry.stopped) continue;
        entry.begin = at - entry.begin;
        entry.stopped = entry.by_task = true;
    }
}

void Replay::run_on(ThreadState* thread, uint64_t at) {
    for (size_t i = thread->open.size(); i > begin_of_region(*thread); --i) {
        Open& entry = thread->open[i - 1];
        if (!entry.by_task) continue;
        entry.begin = at - entry.begin;
        entry.stopped = entry.by_task = false;
        if (is_construct(*node(entry.node), OmpConstruct::kTask)) return;
    }
}

void Replay::leave(ThreadState* thread, CellIndex cell, uint64_t at) {
    auto& stack = thread->open;
    const auto found = std::find_if(stack.rbegin(), stack.rend(),
                                    [cell](const Open& open) { return open.node == cell; });
    if (found == stack.rend()) {
        incomplete_ += 1;
        thread->is_moved = false;
        return;
    }
    incomplete_ += static_cast<uint64_t>(found - stack.rbegin());
    stack.resize(static_cast<size_t>(stack.rend() - found));
    const Node& of = *node(cell);
    if (stack.back().in_part) {
        incomplete_ += 1;
        stack.pop_back();
    } else if (is_statement(of) || is_construct(of, OmpConstruct::kIdle)) {
        const Open open = stack.back();
        stack.pop_back();
        end_statement(thread, open, at);
    } else {
        end_entry(thread, at);
    }
    thread->is_moved = false;
}

void Replay::end_statement(ThreadState* thread, const Open& open, uint64_t at) {
    const uint64_t ticks = beyond(at, open.begin);
    const SiteKind kind = node(open.node)->site.kind;
    node(open.node)->count += 1;
    add_time(open.node, ticks);
    if (kind == SiteKind::kOpenMp) {
        thread->separate += ticks;
        if (auto* omp = own_part<OmpPart>(node(open.node))) omp->wait_ticks += ticks;
        return;
    }
    node(open.node)->part = open.node + kPartOffset;
    if (kind == SiteKind::kIo) {
        thread->separate += ticks;
        auto* io = part<IoPart>(open.node + kPartOffset);
        if (io == nullptr) return;
        io->bytes_read += open.received;
        io->bytes_written += open.sent;
        return;
    }
    auto* comm = part<CommPart>(open.node + kPartOffset);
    auto* sizes = part<SizeHistogram>(open.node + kHistogramOffset);
    if (comm == nullptr || sizes == nullptr) return;
    comm->histogram = open.node + kHistogramOffset;
    comm->bytes_sent += open.sent;
    comm->bytes_received += open.received;
    sizes->event_count[kSendReady] += 1;
    sizes->event_ticks[kSendReady] += ticks;
    for (const auto& [rank, bytes] : open.partners)
        sizes->messages[bucket_of(bytes.first + bytes.second)] += 1;
    // May need further cells.
    for (const auto& [rank, bytes] : open.partners) {
        if (rank != kEventNobody)
            add_partner(part<CommPart>(open.node + kPartOffset), rank, bytes.first, bytes.second,
                        ticks);
    }
    const CellIndex computed = interval(thread->last, open.node);
    if (computed != 0) {
        node(computed)->count += 1;
        const double untold = thread->untold.until(open.begin + thread->real_ahead);
        const auto elsewhere = static_cast<uint64_t>(std::max(untold - thread->untold_before, 0.0));
        add_time(computed,
                 beyond(beyond(open.begin, thread->last_end), thread->separate + elsewhere));
    }
    thread->untold_before = thread->untold.until(at + thread->real_ahead);
    thread->separate = 0;
    thread->last = open.node;
    thread->last_end = at;
    thread->left = open.node;
    thread->left_at = at;
    thread->left_ticks = ticks;
}

void Replay::end_entry(ThreadState* thread, uint64_t at) {
    auto& stack = thread->open;
    const Open open = stack.back();
    stack.pop_back();
    if (thread->is_moved && !std::exchange(thread->moves, true)) thread->moving.clear();
    if (!thread->is_moved) thread->moves = false;
    Node* const of = node(open.node);
    // What follows the recursion must fit into its time, which has the probes' cost in it.
    const uint64_t lost =
        of->site.kind == SiteKind::kOpenMp ? 0 : std::min(inner_of(*of), beyond(at, open.begin));
    for (Open& between : stack) {
        if (!between.stopped || between.by_task || between.holder != stack.size()) continue;
        between.begin = at - between.begin - lost;
        between.stopped = false;
    }
    if (is_construct(*of, OmpConstruct::kTask)) run_on(thread, at);
    const uint64_t took = open.stopped ? open.begin : beyond(at, open.begin);
    const bool was_read = thread->counted == open.node && thread->counted_at == at;
    if (thread->is_moved) {
        if (!open.untimed) of->ticks += took;
        const bool is_first = open.before.origin == 0;
        thread->moving.push_back({is_first ? open.node : open.before.origin,
                                  open.before.ticks + took,
                                  is_first ? open.untimed : open.before.untimed});
        if (of->site.kind == SiteKind::kOpenMp) of->count -= 1;
        if (was_read) add_read(*thread, open.node, 0, open.untimed ? 0 : took);
        return;
    }
    const uint64_t ticks = open.untimed ? 0 : beyond(took, inner_of(*of));
    if (open.serves) add_to_copies(open.node, ticks);
    const bool goes_on = open.before.origin != 0 && of->site.kind != SiteKind::kOpenMp;
    if (goes_on) {
        of->ticks += open.untimed ? 0 : ticks;
        Node* const origin = node(open.before.origin);
        if (!open.before.untimed) {
            add_limits(origin, open.before.ticks + ticks);
        } else if (auto* probe = own_part<ProbePart>(origin)) {
            probe->untimed += 1;
        }
    } else if (!open.untimed) {
        add_time(open.node, ticks);
    } else if (of->site.kind == SiteKind::kOpenMp) {
        if (auto* omp = own_part<OmpPart>(of)) omp->untimed += 1;
    } else if (auto* probe = own_part<ProbePart>(of)) {
        probe->untimed += 1;
    }
    if (was_read) add_read(*thread, open.node, 1, ticks);
}

// What is around a region has its time in each thread's tree.
void Replay::add_to_copies(CellIndex region, uint64_t ticks) {
    for (CellIndex at = around(region); at < is_node_.size() && is_node_[at]; at = around(at)) {
        if (node(at)->parent == 0) return;
        node(at)->ticks += ticks;
    }
}

// What a statement under way has sent and received.
void Replay::move(ThreadState* thread, const Event& event) {
    if (thread->open.empty()) return;
    Open& open = thread->open.back();
    const auto value = [&](uint32_t number) {
        return number < event.more ? event.values[number] : 0;
    };
    uint64_t sent = 0;
    uint64_t received = 0;
    uint32_t partner = event.what;
    switch (event.kind) {
        case EventKind::kSend:
            sent = value(0);
            break;
        case EventKind::kReceive:
            received = value(0);
            break;
        case EventKind::kOneSided:
            sent = value(0);
            received = value(1);
            break;
        case EventKind::kCollective:
            sent = value(0);
            received = value(1);
            partner = kEventNobody;
            break;
        case EventKind::kIo:
            open.received += value(0);
            open.sent += value(1);
            return;
        default:
            return;
    }
    open.sent += sent;
    open.received += received;
    open.partners.push_back({partner, {sent, received}});
}

void Replay::add_partner(CommPart* part_of, uint32_t rank, uint64_t sent, uint64_t received,
                         uint64_t ticks) {
    CellIndex cell = part_of->first_peer;
    while (cell != 0 && part<TrafficPeerRecord>(cell)->peer != rank)
        cell = part<TrafficPeerRecord>(cell)->next;
    if (cell == 0) {
        const auto owner = static_cast<CellIndex>(
            (reinterpret_cast<char*>(part_of) - process_.cells.data()) / kCellBytes);
        cell = take(1);
        if (cell == 0) return;
        part_of = part<CommPart>(owner);
        auto* made = part<TrafficPeerRecord>(cell);
        *made = TrafficPeerRecord{};
        made->peer = rank;
        made->min_ticks = UINT64_MAX;
        made->next = part_of->first_peer;
        part_of->first_peer = cell;
        part_of->peer_count += 1;
    }
    auto* peer = part<TrafficPeerRecord>(cell);
    peer->count += 1;
    peer->bytes_sent += sent;
    peer->bytes_received += received;
    peer->ticks += ticks;
    peer->min_ticks = std::min(peer->min_ticks, ticks);
    peer->max_ticks = std::max(peer->max_ticks, ticks);
}

bool Replay::finish() {
    add_levels();
    auto* header = part<FileHeader>(0);
    if (has_failed_ || header == nullptr) return false;
    header->cells_used = header->cells_reserved = next_;
    return true;
}

}  // namespace dwell
