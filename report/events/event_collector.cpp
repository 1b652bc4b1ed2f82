// Reads the rings of record files; see event_collector.h.
#include "report/events/event_collector.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "report/console/process.h"
#include "report/figures/job_facts.h"
#include "report/results/finish.h"
#include "report/results/record_files.h"
#include "runtime/process/clock.h"
#include "summarize/events/event_columns.h"

namespace dwell {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMovingSuffix = ".moving";
constexpr uint64_t kListHolds_ns = 1'000'000'000;  // at most
constexpr uint64_t kListPartOfAge = 10;
constexpr uint64_t kWaits_ns = 1'000'000'000;  // words of a thread, for more to come
constexpr uint64_t kFewWords = 16384;
constexpr uint64_t kBusyPart = 8;  // of a ring
constexpr int kLockTries = 100;
constexpr int kLockTry_us = 10'000;

// Words written so far; nothing where the ring cannot be so.
std::optional<uint64_t> written(const EventRing& ring) {
    uint64_t lap = 0;
    uint64_t next = 0;
    do {
        lap = load_shared(&ring.lap_words);
        next = load_shared(&ring.next);
        if (next == 0) next = load_shared(&ring.rests_at);
    } while (load_shared(&ring.lap_words) != lap);
    const uint64_t first = load_shared(&ring.first);
    if (next < first || (next - first) / sizeof(uint64_t) > ring.words) return std::nullopt;
    return lap + (next - first) / sizeof(uint64_t);
}

bool overwrites(const EventRing& ring) {
    return ring.policy == static_cast<uint32_t>(EventPolicy::kOverwrite);
}

// The time from which the times of the words from number `begin` on count, in the words before that
// the thread has not overwritten; 0: they do not have it.
uint64_t base_before(const EventRing& ring, const uint64_t* words, uint64_t begin) {
    const uint64_t end = written(ring).value_or(begin);
    for (uint64_t at = begin; at > 0 && end - at < ring.words; --at) {
        const uint64_t word = words[(at - 1) % ring.words];
        if (event_kind(word) != EventKind::kControl ||
            what_of_event(word) != static_cast<uint32_t>(EventControl::kBase)) {
            continue;
        }
        const uint64_t base = value_of_more(words[at % ring.words]);
        return written(ring).value_or(UINT64_MAX) - (at - 1) <= ring.words ? base : 0;
    }
    return 0;
}

bool is_comm(uint64_t word) {
    return event_kind(word) == EventKind::kControl &&
           what_of_event(word) == static_cast<uint32_t>(EventControl::kComm);
}

// Behind the record's first word, 0: it has none.
size_t comm_place(EventKind kind) {
    if (kind == EventKind::kSend || kind == EventKind::kReceive) return 2;
    return kind == EventKind::kCollective ? 3 : 0;
}

void add_run(CellUse use, CellIndex cell, const void* bytes, size_t cells, std::string* runs) {
    const CellRun run{cell, static_cast<uint16_t>(cells), use};
    runs->append(reinterpret_cast<const char*>(&run), sizeof run);
    runs->append(static_cast<const char*>(bytes), cells * kCellBytes);
}

}  // namespace

std::vector<std::string> losses_of(const CollectedEvents& events) {
    std::vector<std::string> lines;
    if (events.lost != 0)
        lines.push_back(counted(events.lost, "record", "records") +
                        " found no room in a full ring and are lost (--events-ring)");
    if (events.bytes_cut != 0)
        lines.push_back(counted(events.bytes_cut, "byte", "bytes") +
                        " at the end of flushed events are not whole and left out");
    if (events.threads_without != 0)
        lines.push_back(counted(events.threads_without, "thread", "threads") +
                        " had no room for a ring (--memory)");
    if (!events.error.empty())
        lines.push_back("events: " + events.error +
                        (events.unwritten != 0
                             ? fmt::format("; {} words are not written", events.unwritten)
                             : ""));
    return lines;
}

void EventCollector::find_ranks(const std::string& directory, Job* job) {
    for (const RankFile& file : all_record_files(directory)) {
        // A rank may run several programs, one after the other: each has a file of this name.
        const auto known = std::find_if(job->ranks.rbegin(), job->ranks.rend(),
                                        [&](const Rank& rank) { return rank.name == file.name; });
        if (known != job->ranks.rend() && !known->has_ended) continue;
        SharedRecords records(directory + "/" + file.name);
        if (!records.are_there() || records.header().version != kRecordLayoutVersion) continue;
        if (known != job->ranks.rend() &&
            known->records.header().start_ticks == records.header().start_ticks) {
            continue;
        }
        const auto number = static_cast<uint32_t>(job->ranks.size());
        job->start_ticks = std::min(job->start_ticks, records.header().start_ticks);
        if (filters_ == nullptr || records.header().event_reader == 0)
            records.own_header()->event_reader = getpid();
        job->ranks.emplace_back(file.name, spill_file(directory, file.name), std::move(records),
                                number);
    }
}

void EventCollector::open_log(Job* job, const FileHeader& header) {
    if (job->log || job->has_failed) return;
    const std::string host = text_in(header.host);
    job->program = text_in(header.program);
    job->name = text_in(header.job);
    const std::string expected = expected_profile_directory(out_, job->program, job->name);
    // A program that was started by another one may end before it: finish() knows whose profile
    // lies where.
    std::string place = expected + "/events";
    const auto is_taken = [&](const std::string& events) {
        return std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& other) {
            return other.second.log && fs::path(other.second.log->path()).parent_path() == events;
        });
    };
    for (int number = 2; is_taken(place); ++number)
        place = expected + "." + std::to_string(number) + "/events";
    std::error_code error;
    fs::create_directories(place, error);
    auto log = EventLogWriter::create(place, host, text_in(header.job));
    if (log) {
        job->log.emplace(std::move(*log));
        job->collected.log = job->log->path();
        return;
    }
    job->has_failed = true;
    job->collected.error = log.error();
}

bool EventCollector::is_new(Rank* rank, CellIndex cell) {
    if (cell >= rank->known.size()) rank->known.resize(cell + size_t{1024});
    return !rank->known[cell];
}

void EventCollector::describe_text(Rank* rank, CellIndex text, std::string* runs) {
    if (text == 0 || !is_new(rank, text)) return;
    const auto* record = rank->records.at<TextRecord>(text);
    if (record == nullptr) return;
    const size_t cells = (offsetof(TextRecord, text) + record->bytes + kCellBytes) / kCellBytes;
    record = rank->records.at<TextRecord>(text, cells);
    if (record == nullptr) return;
    rank->known[text] = true;
    add_run(CellUse::kText, text, record, cells, runs);
}

// Adds a node, those around it, and what their names need, where the log lacks them.
void EventCollector::describe(Rank* rank, CellIndex cell, std::string* runs) {
    while (cell != 0 && is_new(rank, cell)) {
        const auto* node = rank->records.at<Node>(cell);
        if (node == nullptr) return;
        rank->known[cell] = true;
        add_run(CellUse::kNode, cell, node, 1, runs);
        const CellIndex text =
            (node->site.flags & kNodeNamed) != 0 ? static_cast<CellIndex>(node->site.offset) : 0;
        const uint16_t module = node->site.module;
        cell = node->parent;
        describe_text(rank, text, runs);
        if (module != 0) describe_module(rank, module, runs);
    }
}

// One that is freed soon is gone from the record file when its events are read.
void EventCollector::note_comm(Rank* rank, const uint64_t* words) {
    CommRecord comm{};
    comm.id = value_of_more(words[0]) << 32 | value_of_more(words[1]);
    comm.rank = static_cast<int32_t>(value_of_more(words[2]));
    comm.size = static_cast<int32_t>(value_of_more(words[3]) >> 1);
    comm.inter = (value_of_more(words[3]) & 1) != 0 ? 1 : 0;
    comm.members = static_cast<uint32_t>(comm.size);
    rank->made[short_comm_id(comm.id) & kEventCommMask] = comm;
}

void EventCollector::describe_comm(Rank* rank, uint32_t comm, std::string* runs) {
    if (comm == 0 || !rank->comms.insert(comm).second) return;
    if (const auto made = rank->made.find(comm); made != rank->made.end()) {
        add_run(CellUse::kComm, kHeaderCells, &made->second, 1, runs);
        return;
    }
    CellIndex cell = load_shared(&rank->records.header().first_comm);
    for (uint32_t left = 1u << 20; cell != 0 && left != 0; --left) {
        const auto* record = rank->records.at<CommRecord>(cell);
        if (record == nullptr) return;
        if (load_shared(&record->handle) != 0 &&
            (short_comm_id(record->id) & kEventCommMask) == comm) {
            add_run(CellUse::kComm, cell, record, 1, runs);
            return;
        }
        cell = record->next;
    }
    rank->comms.erase(comm);  // freed already
}

void EventCollector::describe_module(Rank* rank, uint16_t number, std::string* runs) {
    if (!rank->modules.insert(number).second) return;
    CellIndex cell = load_shared(&rank->records.header().first_module);
    for (uint32_t left = kModuleLimit; cell != 0 && left != 0; --left) {
        const auto* module = rank->records.at<ModuleRecord>(cell);
        if (module == nullptr) return;
        const size_t cells = 1 + size_t{module->path_cells};
        if (module->number == number) {
            module = rank->records.at<ModuleRecord>(cell, cells);
            if (module != nullptr) add_run(CellUse::kModule, cell, module, cells, runs);
            return;
        }
        cell = module->next;
    }
}

// What they say for later ones, written or not.
void EventCollector::note_words(Rank* rank, const std::vector<uint64_t>& words) {
    for (size_t i = 0; i < words.size(); ++i) {
        if (is_comm(words[i]) && words.size() - i > 4) note_comm(rank, &words[i + 1]);
        const EventKind kind = event_kind(words[i]);
        if (rates_.high != 0 && names_node(kind) && !is_measured(kind))
            rank->places[what_of_event(words[i])].events += 1;
    }
}

void EventCollector::append_filtered(Job* job, Rank* rank, const RingOwner& owner,
                                     const Filtered& filtered) {
    if (filtered.blocks.empty()) return;
    append(job, rank, owner.number, filtered.blocks.front().first_word, 0, {});
    if (!filtered.made.empty() && job->log) {
        std::string runs;
        describe(rank, owner.root, &runs);
        job->log->write_cells(rank->number, runs + filtered.runs);
    }
    for (const CellIndex node : filtered.made) {
        if (node >= rank->known.size()) rank->known.resize(node + size_t{1024});
        rank->known[node] = true;
    }
    for (const FilteredBlock& block : filtered.blocks)
        append(job, rank, owner.number, block.first_word, block.ring_words, block.words);
}

// Filters know what is open, so the records of a rank go through those of one `dwell run`. In the
// first moments of a job it is not known whose: that of the lowest rank looks last.
bool EventCollector::has_to_wait(const Job& job, uint64_t now_ns) const {
    constexpr uint64_t kSettles_ns = 110'000'000;  // JobWatch asks every 100 ms
    return filters_ != nullptr && !is_first_ && now_ns - job.first_ns < kSettles_ns;
}

bool EventCollector::is_of_another(Rank* rank) const {
    const pid_t reader = load_shared(&rank->records.header().event_reader);
    return filters_ != nullptr && reader != getpid() && reader > 0 && process_is_alive(reader);
}

RankFilter* EventCollector::filter_of(Rank* rank) {
    if (!rank->filter)
        rank->filter = std::make_unique<RankFilter>(filters_, rank->number, rank->records.header());
    return rank->filter.get();
}

void EventCollector::filter(Job* job, Rank* rank, const ThreadRecord& thread,
                            const Portion& portion) {
    const RingOwner owner{thread.number, thread.root, thread.events.ring, thread.events.words};
    RankFilter* const filter = filter_of(rank);
    filter->set_rank(rank->records.header().rank);
    append_filtered(job, rank, owner,
                    filter->take(rank->records.image(), owner, portion.first_word, portion.base,
                                 portion.words));
}

// `words` stand for `ring_words` words of the ring from `first_word` on.
void EventCollector::append(Job* job, Rank* rank, uint32_t thread, uint64_t first_word,
                            uint64_t ring_words, const std::vector<uint64_t>& words) {
    open_log(job, rank->records.header());
    if (job->log && rank->known.empty()) {
        job->log->write_process(rank->number, rank->records.header());
        if (filters_ != nullptr) job->log->write_filter(rank->number, LogFilter{});
    }
    std::string runs = std::exchange(rank->new_threads, "");
    if (rank->known.empty()) rank->known.resize(kHeaderCells);
    for (size_t i = 0; i < words.size(); ++i) {
        const uint64_t word = words[i];
        const EventKind kind = event_kind(word);
        if (const size_t place = comm_place(kind); place != 0 && place < words.size() - i)
            describe_comm(rank, comm_of_message(value_of_more(words[i + place])), &runs);
        if (!names_node(kind)) continue;
        const CellIndex node = what_of_event(word);
        if (kind == EventKind::kMetric)
            describe_text(rank, rank->records.header().metric_names, &runs);
        if (node < rank->known.size() && rank->known[node]) continue;
        describe(rank, node, &runs);
    }
    if (!job->log) {
        job->collected.unwritten += words.size();
        return;
    }
    if (!runs.empty()) job->log->write_cells(rank->number, runs);
    // Of several blocks that stand for the same words of the ring the last one says so.
    const bool is_whole = ring_words == words.size();
    size_t at = 0;
    while (at < words.size() || ring_words != 0) {
        size_t end = std::min(at + kMostBlockWords, words.size());
        while (end != words.size() && event_kind(words[end]) == EventKind::kMore) --end;
        const uint64_t part = is_whole ? end - at : end == words.size() ? ring_words : 0;
        if (!job->log->write_filtered(rank->number, thread, first_word, part, words.data() + at,
                                      end - at)) {
            job->collected.unwritten += words.size() - at;
            job->collected.error = job->log->error();
            return;
        }
        first_word += part;
        ring_words -= part;
        at = end;
    }
}

// What a thread's ring holds. Of a ring that is overwritten, the newest words, at the end.
void EventCollector::take(Rank* rank, CellIndex cell, bool everything,
                          std::vector<Portion>* portions) {
    auto* thread = rank->records.at<ThreadRecord>(cell);
    if (thread == nullptr || thread->events.ring == 0) return;
    EventRing& ring = thread->events;
    const bool is_last_part = overwrites(ring);
    if (is_last_part && !everything) return;
    const std::optional<uint64_t> end = written(ring);
    if (!end) return;
    uint64_t begin = ring.read;
    if (*end - begin > ring.words) begin = *end - ring.words;
    if (*end <= begin) return;
    const uint64_t now_ns = monotonic_ns();
    Taken& taken = rank->threads.try_emplace(cell, Taken{now_ns}).first->second;
    is_busy_ = is_busy_ || (*end - begin > ring.words / kBusyPart && !everything);
    const bool can_wait = *end - begin < std::min<uint64_t>(kFewWords, ring.words / 4);
    if (can_wait && !everything && now_ns - taken.looked_ns < kWaits_ns) return;
    taken.looked_ns = now_ns;
    const uint64_t* const words = rank->records.at<uint64_t>(ring.ring, ring.words);
    thread = rank->records.at<ThreadRecord>(cell);  // the mapping may have moved
    if (words == nullptr || thread == nullptr) return;
    Portion portion{cell, begin, 0, {}};
    if (!is_last_part && taken.next_word != begin)
        portion.base = base_before(thread->events, words, begin);
    for (uint64_t at = begin; at != *end; ++at)
        portion.words.push_back(words[at % thread->events.words]);
    __atomic_store_n(&thread->events.read, *end, __ATOMIC_RELEASE);
    if (is_last_part) {
        // What was overwritten meanwhile, and the rest of a record before.
        size_t skipped = 0;
        const uint64_t now = written(thread->events).value_or(*end);
        if (now - begin > thread->events.words) skipped = now - begin - thread->events.words;
        skipped = std::min(skipped, portion.words.size());
        while (skipped != portion.words.size() &&
               event_kind(portion.words[skipped]) == EventKind::kMore)
            ++skipped;
        portion.words.erase(portion.words.begin(),
                            portion.words.begin() + static_cast<ptrdiff_t>(skipped));
        portion.first_word += skipped;
    }
    portions->push_back(std::move(portion));
}

void EventCollector::pass_on(Job* job, Rank* rank, Portion* portion) {
    const auto* const thread = rank->records.at<ThreadRecord>(portion->thread);
    if (thread == nullptr) return;
    Taken& taken = rank->threads[portion->thread];
    // Nodes belong to a thread, also in a log that nobody closes.
    if (!std::exchange(taken.is_described, true)) {
        add_run(CellUse::kThread, portion->thread, thread, kThreadCells, &rank->new_threads);
        job->collected.begins_later |= portion->first_word != 0 && !overwrites(thread->events);
    }
    note_words(rank, portion->words);
    const size_t ring_words = portion->words.size();
    taken.next_word = portion->first_word + ring_words;
    if (filters_ != nullptr) return filter(job, rank, *thread, *portion);
    if (portion->base != 0) {
        const uint64_t base[] = {
            event_what(EventKind::kControl, static_cast<uint32_t>(EventControl::kBase)),
            event_more(portion->base)};
        portion->words.insert(portion->words.begin(), std::begin(base), std::end(base));
    }
    append(job, rank, thread->number, portion->first_word, ring_words, portion->words);
}

// What threads have flushed: into `portions`, or if there are none to the log. Returns bytes.
uint64_t EventCollector::read_spill(Job* job, Rank* rank, std::vector<Portion>* portions) {
    return rank->spill.read([&](const EventSpill& head, const std::vector<uint64_t>& words) {
        CellIndex thread = 0;
        for_each_thread(rank, [&](CellIndex cell, const ThreadRecord& of) {
            if (of.number == head.thread) thread = cell;
        });
        if (thread == 0) {
            job->collected.unwritten += words.size();
            return;
        }
        rank->has_flushed = true;
        Portion portion{thread, head.first_word, 0, words};
        if (portions != nullptr) {
            portions->push_back(std::move(portion));
        } else {
            pass_on(job, rank, &portion);
        }
    });
}

// Threads that flush wait for the lock, so it is held only while words are copied. What was flushed
// comes before what is in the rings. It stays where it is once the log cannot be written.
void EventCollector::take_all(Job* job, Rank* rank, bool everything) {
    const bool takes_spill = job->collected.error.empty();
    const bool has_spill = takes_spill && access(rank->spill_path.c_str(), F_OK) == 0;
    constexpr uint64_t kFewBytes = 1 << 20;
    for (int left = 4; has_spill && left != 0; --left) {
        if (read_spill(job, rank, nullptr) < kFewBytes) break;
    }
    // Who else reads may be stopped, and is not waited for without end.
    for (int left = everything ? kLockTries : 1; !rank->records.try_lock(); usleep(kLockTry_us)) {
        if (--left == 0) return;
    }
    std::vector<Portion> portions;
    if (takes_spill) read_spill(job, rank, &portions);
    if (takes_spill && job->collected.error.empty())
        job->collected.bytes_cut += rank->spill.remove();
    for_each_thread(rank, [&](CellIndex cell, const ThreadRecord& thread) {
        if (thread.events.ring != 0) take(rank, cell, everything, &portions);
    });
    rank->records.unlock();
    for (Portion& portion : portions) pass_on(job, rank, &portion);
}

bool EventCollector::look(const std::string& directory) {
    is_busy_ = false;
    Job& job = jobs_[directory];
    const uint64_t now_ns = monotonic_ns();
    if (job.first_ns == 0) job.first_ns = now_ns;
    const uint64_t holds_ns = std::min((now_ns - job.first_ns) / kListPartOfAge, kListHolds_ns);
    if (job.listed_ns == 0 || now_ns - job.listed_ns > holds_ns) {
        find_ranks(directory, &job);
        job.listed_ns = now_ns;
    }
    if (has_to_wait(job, now_ns)) return false;
    for (Rank& rank : job.ranks) {
        if (rank.has_ended) continue;
        if (filters_ != nullptr) rank.records.own_header()->event_reader = getpid();
        const bool ended = load_shared(&rank.records.header().state) != FileState::kRunning;
        const uint32_t dumps = load_shared(&rank.records.header().event_dumps);
        if (window_.is_timed) keep_window(job.start_ticks, &rank);
        take_all(&job, &rank, ended || dumps != rank.dumps);
        rank.dumps = dumps;
        if (rates_.high != 0) keep_rates(&job, &rank, ended);
        if (ended) close_rank(&job, &rank);
    }
    return is_busy_;
}

// The last state of what the log holds of the rank beside its events.
void EventCollector::close_rank(Job* job, Rank* rank) {
    rank->has_ended = true;
    for_each_thread(rank, [&](CellIndex cell, const ThreadRecord& thread) {
        job->collected.are_there |= thread.events.ring != 0;
        LostRecords lost;
        lost.add(thread.events.lost);
        auto* const said = &rank->records.at<ThreadRecord>(cell)->events.lost_said;
        job->collected.lost += lost.all() - __atomic_exchange_n(said, lost.all(), __ATOMIC_ACQ_REL);
    });
    if (rank->threads.empty()) return;
    if (rank->filter) {
        for (const auto& [owner, filtered] : rank->filter->end())
            append_filtered(job, rank, owner, filtered);
        const LogFilter totals = rank->filter->totals();
        if (!job->collected.filter) job->collected.filter.emplace();
        *job->collected.filter += totals;
        if (job->log && !rank->known.empty()) job->log->write_filter(rank->number, totals);
    }
    std::string runs;
    for (const auto& [place, taken] : rank->threads) {
        auto* thread = rank->records.at<ThreadRecord>(place);
        if (thread == nullptr) continue;
        add_run(CellUse::kThread, place, thread, kThreadCells, &runs);
        // Of a thread whose events were all filtered the log has no other node.
        if (!rank->known.empty()) describe(rank, thread->root, &runs);
    }
    FileHeader* const header = rank->records.own_header();
    const auto without = static_cast<uint32_t>(header->threads_without_events);
    job->collected.threads_without +=
        without - __atomic_exchange_n(&header->without_events_said, without, __ATOMIC_ACQ_REL);
    if (!job->log || rank->known.empty()) return;
    job->log->write_cells(rank->number, runs);
    const uint64_t counted = entries_counted(rank);  // may move the records
    rank->records.own_header()->entries_counted = counted;
    job->log->write_process(rank->number, rank->records.header());
}

std::vector<CollectedEvents> EventCollector::finish() {
    std::vector<CollectedEvents> all;
    for (auto& [directory, job] : jobs_) {
        find_ranks(directory, &job);
        bool have_flushed = false;
        for (Rank& rank : job.ranks) {
            have_flushed = have_flushed || rank.has_flushed;
            // The end of a thread may still have been flushed.
            if (rank.has_ended && access(rank.spill_path.c_str(), F_OK) != 0) continue;
            if (!is_of_another(&rank)) take_all(&job, &rank, true);
            if (rates_.high != 0 && !rank.has_ended) keep_rates(&job, &rank, true);
            close_rank(&job, &rank);
        }
        if (have_flushed) rmdir(directory.c_str());  // if the ranks could not
        if (job.log) {
            if (!job.log->close()) job.collected.error = job.log->error();
            job.collected.bytes = job.log->bytes();
            job.collected.words = job.log->words();
        }
    }
    move_to_profiles();
    for (const auto& [directory, job] : jobs_) all.push_back(job.collected);
    return all;
}

// Each log to the profile of its job; of two that change places, neither replaces the other.
void EventCollector::move_to_profiles() {
    std::vector<std::pair<Job*, fs::path>> moves;
    std::error_code error;
    for (auto& [directory, job] : jobs_) {
        if (!job.log) continue;
        const fs::path now = job.log->path();
        const fs::path events =
            fs::path(expected_profile_directory(out_, job.program, job.name)) / "events";
        if (events == now.parent_path()) continue;
        fs::create_directories(events, error);
        fs::rename(now, now.string() + kMovingSuffix, error);
        if (!error) moves.emplace_back(&job, events / now.filename());
    }
    for (const auto& [job, to] : moves) {
        const fs::path from = job->collected.log;
        fs::rename(from.string() + kMovingSuffix, to, error);
        if (!error) job->collected.log = to;
        fs::remove(from.parent_path(), error);  // where it is empty
        fs::remove(from.parent_path().parent_path(), error);
    }
}

bool EventCollector::is_behind() const {
    for (const auto& [directory, job] : jobs_) {
        for (const Rank& rank : job.ranks) {
            for (const auto& [cell, taken] : rank.threads) {
                const auto* thread =
                    const_cast<SharedRecords&>(rank.records).at<ThreadRecord>(cell);
                if (thread == nullptr || rank.has_ended || overwrites(thread->events)) continue;
                const uint64_t held = written(thread->events).value_or(0) - thread->events.read;
                if (held >= thread->events.words / 2 && held <= thread->events.words) return true;
            }
        }
    }
    return false;
}

}  // namespace dwell
