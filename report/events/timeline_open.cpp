// Finds what the logs describe: processes, threads, communicators; see timeline.h.
#include <algorithm>
#include <cstring>
#include <set>
#include <sstream>

#include "report/events/message_channels.h"
#include "report/events/timeline_parts.h"
#include "report/results/record_files.h"
#include "summarize/merge/record_reader.h"

namespace dwell {

Timeline::Timeline()
    : names_(std::make_unique<Names>()), matches_(std::make_unique<MessageMatches>()) {}
Timeline::Timeline(Timeline&& other) noexcept = default;
Timeline::~Timeline() = default;

tl::expected<Timeline, std::string> Timeline::open(const std::vector<std::string>& paths,
                                                   const TimelineChoice& choice,
                                                   const NewestWords* newest, Watcher watcher) {
    Timeline timeline;
    timeline.watcher_ = std::move(watcher);
    auto logs = LogSet::open(paths);
    if (!logs) return tl::make_unexpected(logs.error());
    timeline.choice_ = choice;
    timeline.logs_ = std::make_unique<LogSet>(std::move(*logs));
    if (newest != nullptr) timeline.logs_->keep(*newest);
    timeline.notes_.bytes_cut = timeline.logs_->bytes_cut();
    timeline.notes_.undescribed = timeline.logs_->undescribed();
    timeline.notes_.unfinished_logs = timeline.logs_->unfinished();
    std::vector<SetProcess>& processes = timeline.logs_->processes();
    // One process of each host compares its clock again at the end.
    const auto reviewed = [&](const FileHeader& own) -> const FileHeader& {
        for (const SetProcess& process : processes) {
            const FileHeader& other = process.records.header;
            if (other.clock_drift_ticks != 0 && text_in(other.host) == text_in(own.host))
                return other;
        }
        return own;
    };
    for (const SetProcess& process : processes) {
        const FileHeader& header = process.records.header;
        const HostClock clock(header, header, processes.front().records.header);
        timeline.beginning_ = std::min(timeline.beginning_, clock.to_timeline(header.start_ticks));
    }
    for (SetProcess& process : processes) {
        if (!timeline.add_process(&process, reviewed(process.records.header)))
            return tl::make_unexpected(std::string("there is no memory for the event log"));
    }
    if (timeline.processes_.empty() && !choice.ranks.empty())
        return tl::make_unexpected("the logs have no events of the ranks " + choice.ranks);
    if (choice.window.is_timed) timeline.find_window(choice.window);
    timeline.match_messages();
    timeline.rewind();
    if (timeline.heap_.empty() && choice.window.is_timed)
        return tl::make_unexpected(std::string("the logs have no events in this window"));
    return timeline;
}

// From the beginning of the first process on.

bool Timeline::add_process(SetProcess* process, const FileHeader& reviewed) {
    const FileHeader& header = process->records.header;
    world_size_ = std::max(world_size_, static_cast<uint32_t>(std::max(header.world_size, 1)));
    add_comms(process->records);
    if (process->threads.empty() ||
        !is_rank_in(choice_.ranks.c_str(), static_cast<long>(std::max(header.rank, 0)))) {
        return true;
    }
    link_cells(&process->records);
    const SparseBytes& bytes = process->records.cells;
    GrowArray<NodeCell> cells;
    if (!add_record_file_with_samples(&names_->merged, bytes.data(), bytes.size(), &cells))
        return false;
    const FileHeader& first = logs_->processes().front().records.header;
    const HostClock clock(header, reviewed, first);
    // Each process measures the rate of one and the same clock, with a small error of its own.
    const bool is_related =
        header.clock_bound_ticks != 0 || text_in(header.host) == text_in(first.host);
    const TickScale scale((is_related ? first : header).ticks_per_second);
    TimelineProcess described{static_cast<uint32_t>(std::max(header.rank, 0)),
                              header.pid,
                              text_in(header.host),
                              text_in(header.program),
                              scale.ns(clock.bound_ticks()),
                              static_cast<uint32_t>(header.process_thread),
                              header.ticks_per_second};
    if (processes_.empty()) {
        start_unix_ns_ = header.start_unix_ns;
        start_ticks_ = clock.to_timeline(header.start_ticks);
    }
    notes_.clocks_unrelated |= !is_related;
    if (described.clock_bound_ns > 1)
        notes_.clock_bound_ns = std::max(notes_.clock_bound_ns, described.clock_bound_ns);
    add_metrics(process->records, &described);
    const auto number = static_cast<uint32_t>(processes_.size());
    processes_.push_back(described);
    auto& nodes = names_->nodes.emplace_back();
    for (const NodeCell& cell : cells) {
        if (cell.cell >= nodes.size()) nodes.resize(cell.cell + size_t{1}, kNoNode);
        nodes[cell.cell] = cell.node;
    }
    std::set<CellIndex> reduced;
    for (const LevelChange& change : process->records.levels) {
        if (change.level != EventLevel::kEvents) reduced.insert(change.node);
    }
    note_process(process->records, &notes_);
    for (const CellIndex cell : reduced) {
        if (cell >= nodes.size() || nodes[cell] == kNoNode) continue;
        if (nodes[cell] >= is_reduced_.size()) is_reduced_.resize(nodes[cell] + size_t{1});
        is_reduced_[nodes[cell]] = true;
    }
    const bool has_samples = std::any_of(cells.begin(), cells.end(), [this](const NodeCell& cell) {
        return cell.node != kNoNode &&
               names_->merged.nodes[cell.node].kind == static_cast<uint8_t>(SiteKind::kSample);
    });
    for (const SetThread& thread : process->threads) {
        const auto make_source = [&] {
            auto source = std::make_unique<Source>(&thread);
            source->thread = static_cast<uint32_t>(threads_.size());
            source->process = number;
            source->scale = scale;
            source->clock = clock;
            for (const SetBlock& block : thread.blocks) source->words += block.block.words;
            source->has_metrics = !described.metrics.empty();
            return source;
        };
        sources_.push_back(make_source());
        if (has_samples) {
            sample_sources_.push_back(make_source());
            sample_sources_.back()->of_samples = true;
        }
        threads_.push_back({number, thread.number, 0, ""});
        describe(&threads_.back(), process->records);
    }
    return true;
}

void Timeline::add_metrics(const LogProcess& process, TimelineProcess* described) {
    const size_t begin = size_t{process.header.metric_names} * kCellBytes;
    TextRecord record;
    if (begin == 0 || begin + sizeof record > process.cells.size()) return;
    memcpy(&record, process.cells.data() + begin, sizeof record);
    const size_t text = begin + offsetof(TextRecord, text);
    if (record.bytes > process.cells.size() - text) return;
    std::istringstream lines(std::string(process.cells.data() + text, record.bytes));
    for (std::string name;
         described->metrics.size() != kMetricLimit && std::getline(lines, name);) {
        const auto known = std::find(metrics_.begin(), metrics_.end(), name);
        described->metrics.push_back(static_cast<uint32_t>(known - metrics_.begin()));
        if (known == metrics_.end()) metrics_.push_back(name);
    }
}

// Each member knows its own rank.
void Timeline::add_comms(const LogProcess& process) {
    const auto world = static_cast<uint32_t>(std::max(process.header.rank, 0));
    for (const CommRecord& record : process.comms) {
        const uint32_t id = short_comm_id(record.id) & kEventCommMask;
        auto known = std::find_if(comms_.begin(), comms_.end(),
                                  [=](const TimelineComm& comm) { return comm.id == id; });
        if (known == comms_.end()) {
            comms_.push_back({id, record.id == kWorldId, {}});
            known = comms_.end() - 1;
        }
        const auto size = static_cast<size_t>(std::max(record.size, 0));
        if (record.inter != 0 || size > (size_t{1} << kPeerRankBits)) continue;
        known->members.resize(std::max(known->members.size(), size), kEventNobody);
        if (record.rank >= 0 && static_cast<size_t>(record.rank) < size)
            known->members[static_cast<size_t>(record.rank)] = world;
    }
}

// The newest state of the thread's record, where the log has it.
void Timeline::describe(TimelineThread* thread, const LogProcess& process) {
    for (const CellIndex cell : process.used[static_cast<int>(CellUse::kThread)]) {
        ThreadRecord record;
        if ((size_t{cell} * kCellBytes + sizeof record) > process.cells.size()) continue;
        memcpy(&record, process.cells.data() + size_t{cell} * kCellBytes, sizeof record);
        if (record.number != thread->number) continue;
        thread->tid = record.tid;
        thread->name = text_in(record.name);
        thread->policy = static_cast<EventPolicy>(record.events.policy);
        sources_.back()->lost.add(record.events.lost);
    }
}

}  // namespace dwell
