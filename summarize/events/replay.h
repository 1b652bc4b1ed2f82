// Counts and times from the events of a process, as the process itself counted them: fills the
// record file that link_cells() makes of a log, for add_record_file().
//
// Equal to the figures of the run are counts, bytes, inclusive and exclusive times, samples and
// metrics of what the log holds whole. Not in events, and so left out: for whom a rank waited and
// why, iterations, and polls and probes that were only counted.
#ifndef DWELL_SUMMARIZE_EVENTS_REPLAY_H_
#define DWELL_SUMMARIZE_EVENTS_REPLAY_H_

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "summarize/events/event_log.h"
#include "summarize/events/event_stream.h"

namespace dwell {

// The time of statements while they had no events (LevelChange), by real time. When they took place
// is not known, so it is spread evenly between two changes.
class UntoldTime {
  public:
    void add(uint64_t from, uint64_t to, uint64_t ticks);
    void end_of_adds();
    // Of all up to this time. Times do not fall from one call to the next.
    double until(uint64_t time);

  private:
    std::vector<std::pair<uint64_t, double>> steps_{};  // of its rate, by time
    size_t next_ = 0;
    uint64_t time_ = 0;
    double rate_ = 0;  // per tick
    double sum_ = 0;
};

class Replay {
  public:
    // After link_cells(). `process` must live as long as this object.
    explicit Replay(LogProcess* process);

    // All records of one thread, which `stream` gives.
    void add_thread(uint32_t number, EventStream* stream);
    // False without memory. `process->cells` is a record file then.
    bool finish();

    // Calls whose beginning or end the log lacks: they are not counted.
    uint64_t incomplete() const { return incomplete_; }
    // Records that found no room in a ring.
    const LostRecords& lost() const { return lost_; }
    // Records left out: of nodes that the log does not describe, of kinds of other versions.
    uint64_t without_place() const { return without_place_; }
    uint64_t unknown() const { return unknown_; }
    // What a thread does when its ring is full.
    EventPolicy policy_of(uint32_t number);
    // Events were off for a time.
    bool was_off() const { return was_off_; }
    // MPI_Pcontrol(2): the figures of the run begin there, those of the log do not.
    bool was_reset() const { return was_reset_; }

  private:
    // Of an entry that went on below other nodes: the first one, which has its limits.
    struct Moved {
        CellIndex origin = 0;
        uint64_t ticks = 0;
        bool untimed = false;
    };
    struct Open {
        CellIndex node;
        uint64_t begin;  // time, or while stopped the time so far
        bool untimed;
        bool stopped;
        size_t holder;  // stopped by the entry of this number
        bool moved;     // begun below another node
        Moved before{};
        bool in_part = false;  // meanwhile events were off, or lost
        bool by_task = false;  // stopped by a task that the thread executes meanwhile
        bool serves = false;   // a region that another thread forked
        // What a communication or I/O statement moved.
        uint64_t sent = 0;
        uint64_t received = 0;
        std::vector<std::pair<uint32_t, std::pair<uint64_t, uint64_t>>> partners{};
    };
    struct ThreadState {
        CellIndex record = 0;
        CellIndex last = 0;  // communication statement
        uint64_t last_end = 0;
        uint64_t separate = 0;
        uint64_t first = 0;
        uint64_t newest = 0;
        LostRecords lost_told{};
        uint64_t tid = 0;
        bool is_moved = false;        // the next enter or leave
        std::vector<Moved> moving{};  // that have left one node and not yet entered the next
        bool is_off = false;          // nothing was written since the last record
        uint64_t off_since = 0;
        uint64_t off_ticks = 0;  // before
        bool moves = false;      // the last enter or leave was of such an entry
        // A region that begins outside of others is another thread's: of each, of the first one.
        bool serves_all = false;
        bool may_serve = false;
        UntoldTime untold{};
        uint64_t paused = 0;       // so far, by order of the program
        uint64_t real_ahead = 0;   // real ticks less those of `newest`
        double untold_before = 0;  // up to `last_end`
        // Metrics: the node and time of the last reading, and of the last statement, which took
        // `left_ticks`.
        CellIndex counted = 0;
        uint64_t counted_at = 0;
        CellIndex left = 0;
        uint64_t left_at = 0;
        uint64_t left_ticks = 0;
        std::vector<Open> open;
    };

    Node* node(CellIndex cell);
    template <typename T>
    T* part(CellIndex cell);
    template <typename T>
    T* own_part(Node* of);
    CellIndex take(uint32_t cells);
    uint64_t inner_of(const Node& of) const;
    CellIndex around(CellIndex cell);
    CellIndex interval(CellIndex from, CellIndex to);
    CellIndex meeting(CellIndex from, CellIndex to);
    void adopt_intervals();
    void add_time(CellIndex cell, uint64_t ticks);
    static void add_limits(Node* of, uint64_t ticks);

    void enter(ThreadState* thread, CellIndex cell, uint64_t at);
    void leave(ThreadState* thread, CellIndex cell, uint64_t at);
    void end_statement(ThreadState* thread, const Open& open, uint64_t at);
    void end_entry(ThreadState* thread, uint64_t at);
    void end_unseen(ThreadState* thread, uint64_t number);
    void add_to_copies(CellIndex region, uint64_t ticks);
    void leave_out_off(const ThreadState& thread, ThreadRecord* record);
    size_t begin_of_region(const ThreadState& thread);
    void stop_for_task(ThreadState* thread, uint64_t at);
    void run_on(ThreadState* thread, uint64_t at);
    void add_waiting(CellIndex cell, uint64_t ticks);
    MetricPart* metric_part(const ThreadState& thread, CellIndex cell);
    void add_counts(ThreadState* thread, const Event& event);
    void add_read(const ThreadState& thread, CellIndex cell, uint64_t entries, uint64_t ticks);
    void add_levels();
    UntoldTime untold_of(CellIndex root);
    void move(ThreadState* thread, const Event& event);
    void add_partner(CommPart* part, uint32_t rank, uint64_t sent, uint64_t received,
                     uint64_t ticks);

    LogProcess& process_;
    std::vector<bool> is_node_;
    std::map<uint32_t, CellIndex> threads_;  // ThreadRecord by number
    std::set<CellIndex> roots_of_workers_;   // threads of OpenMP that have been idle
    std::map<std::pair<CellIndex, CellIndex>, CellIndex> intervals_;
    std::map<std::pair<CellIndex, CellIndex>, CellIndex> metric_parts_;  // by thread and node
    CellIndex next_ = 0;
    uint64_t incomplete_ = 0;
    LostRecords lost_;
    uint64_t without_place_ = 0;
    uint64_t unknown_ = 0;
    bool was_off_ = false;
    bool was_reset_ = false;
    bool has_failed_ = false;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_EVENTS_REPLAY_H_
