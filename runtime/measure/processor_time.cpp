// Readings of processor time. Measured on a virtual machine: CLOCK_THREAD_CPUTIME_ID 0.6
// microseconds, getrusage 0.35, /proc/thread-self/schedstat 5.4 with open and close.
#include "runtime/measure/processor_time.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/contract/raw_io.h"
#include "runtime/measure/usage.h"
#include "runtime/process/virtual_clock.h"

namespace dwell {

DWELL_CALL_DATA uint64_t g_long_part_ticks = UINT64_MAX;

namespace {

constexpr uint64_t kLongPart_ns = 1'000'000;
constexpr uint64_t kLeastOff_ns = 250'000;       // longer times off the processor are examined
constexpr uint64_t kLongestReading_ns = 50'000;  // processor time of a reading
constexpr double kNs = 1e9;

double ns_per_tick() { return kNs / static_cast<double>(g_process.header->ticks_per_second); }

uint64_t ns_of(uint64_t ticks) {
    return static_cast<uint64_t>(static_cast<double>(ticks) * ns_per_tick());
}
uint64_t ticks_of(uint64_t ns) {
    return static_cast<uint64_t>(static_cast<double>(ns) / ns_per_tick());
}

// How long the thread was runnable without a processor: the second of three numbers, all 0 where
// the kernel does not count (proc(5), Documentation/scheduler/sched-stats.rst).
uint64_t queued_ns(uint64_t before) {
    const ReentryGuard busy;
    const int saved_errno = errno;
    char text[96] = {};
    const int file = raw_open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    const ssize_t bytes = file >= 0 ? raw_read(file, text, sizeof(text) - 1) : -1;
    if (file >= 0) raw_close(file);
    uint64_t numbers[3] = {};
    if (bytes > 0) {
        add_own_read(static_cast<uint64_t>(bytes));
        char* at = text;
        for (uint64_t& number : numbers) number = strtoull(at, &at, 10);
    }
    errno = saved_errno;
    if (numbers[2] != 0) return numbers[1];
    __atomic_fetch_or(&g_process.header->flags, uint32_t{kFileNoQueue}, __ATOMIC_RELAXED);
    return before;
}

// Differences to the last reading, in nanoseconds.
struct Since {
    uint64_t elapsed;
    uint64_t off;        // off the processor
    uint64_t kernel;     // in the kernel
    uint64_t queued;     // part of `off`, if that is long enough to examine
    uint64_t waited;     // for other OpenMP threads
    uint64_t io;         // in I/O statements, at most since the last call
    OmpStalls for_team;  // stalls of those threads during `waited`, in ticks
};

// The stalls, limited to so many ticks.
OmpStalls within(uint64_t ticks, OmpStalls stalls) {
    for (uint64_t* part : {&stalls.io_ticks, &stalls.asleep_ticks, &stalls.kernel_ticks}) {
        *part = earlier(*part, ticks);
        ticks -= *part;
    }
    return stalls;
}
OmpStalls since_then(OmpStalls now, const OmpStalls& then) {
    now.io_ticks = beyond(now.io_ticks, then.io_ticks);
    now.asleep_ticks = beyond(now.asleep_ticks, then.asleep_ticks);
    now.kernel_ticks = beyond(now.kernel_ticks, then.kernel_ticks);
    return now;
}

// False where another thread's part is longer.
bool add_part(LongestParts* parts, uint64_t fork, uint64_t ticks) {
    constexpr int kBits = 40;
    constexpr uint64_t kMost = (uint64_t{1} << kBits) - 1;  // minutes
    const uint64_t region = fork << kBits;
    const uint64_t own = earlier(ticks, kMost);
    uint64_t seen = parts->last.load(std::memory_order_relaxed);
    uint64_t longest = 0;
    do {
        longest = (seen & ~kMost) == region ? seen & kMost : 0;
        if (own <= longest) return false;
    } while (!parts->last.compare_exchange_weak(seen, region | own, std::memory_order_relaxed));
    parts->sum.fetch_add(own - longest, std::memory_order_relaxed);
    return true;
}

void add_stalls(TeamStalls* team, uint64_t fork, const OmpStalls& stalls) {
    if (add_part(&team->io, fork, stalls.io_ticks)) {
        team->io_node.store(stalls.io_node, std::memory_order_relaxed);
    }
    add_part(&team->asleep, fork, stalls.asleep_ticks);
    add_part(&team->kernel, fork, stalls.kernel_ticks);
}

// Sums over all regions that the thread forked.
OmpStalls stalls_in_teams(const Thread* thread) {
    OmpStalls sums{};
    uint64_t most_io = 0;
    for (const TeamStalls& stalls : thread->team_stalls) {
        const uint64_t io = stalls.io.sum.load(std::memory_order_relaxed);
        sums.io_ticks += io;
        sums.asleep_ticks += stalls.asleep.sum.load(std::memory_order_relaxed);
        sums.kernel_ticks += stalls.kernel.sum.load(std::memory_order_relaxed);
        if (io > most_io) sums.io_node = stalls.io_node.load(std::memory_order_relaxed);
        most_io = later(most_io, io);
    }
    return sums;
}

// Cost of a reading. A thread that asks for its processor time may lose its processor, because the
// kernel may reschedule then.
class Reading {
  public:
    explicit Reading(Thread* thread) : thread_(thread), begun_(now_ticks()) {}
    // The cost of the reading; in the remaining time the thread had no processor.
    uint64_t cost() {
        const uint64_t all = now_ticks() - begun_;
        const uint64_t cost = earlier(all, ticks_of(kLongestReading_ns));
        thread_->processor.lost_ticks += all - cost;
        return cost;
    }

  private:
    Thread* thread_;
    uint64_t begun_;
};

Since read_since(Thread* thread) {
    ProcessorTime* last = &thread->processor;
    const uint64_t now = now_ticks();
    const uint64_t on = thread_processor_ns();
    rusage about{};
    getrusage(RUSAGE_THREAD, &about);
    const uint64_t kernel = ns_of_time(about.ru_stime);
    const auto given_up = static_cast<uint64_t>(about.ru_nvcsw);
    const OmpStalls in_teams = stalls_in_teams(thread);
    Since since{};
    if (last->ticks != 0) {
        since.elapsed = ns_of(now - last->ticks);
        since.off = beyond(since.elapsed, beyond(on, last->on_ns));
        since.kernel = beyond(kernel, last->kernel_ns);
        const uint64_t waited = beyond(thread->omp.waited_ticks, last->waited_ticks);
        since.waited = ns_of(waited);
        since.for_team = within(waited, since_then(in_teams, last->in_teams));
        since.io = ns_of(beyond(last->io.ticks, last->io_ticks));
    }
    if (since.off >= kLeastOff_ns || last->ticks == 0) {
        const uint64_t queued = queued_ns(last->queued_ns);
        if (last->ticks != 0) since.queued = earlier(beyond(queued, last->queued_ns), since.off);
        last->queued_ns = queued;
    }
    // A sleeping thread gives up the processor voluntarily. Otherwise others took it, on a virtual
    // machine perhaps another guest, which no queue shows.
    if (given_up == last->given_up) since.queued = since.off;
    last->given_up = given_up;
    last->ticks = now;
    last->on_ns = on;
    last->kernel_ns = kernel;
    last->waited_ticks = thread->omp.waited_ticks;
    last->in_teams = in_teams;
    last->io_ticks = last->io.ticks;
    return since;
}

// Divides `work` nanoseconds since the last reading. Time beside them is taken as sleep as far as
// possible; for the rest the thread waited for a processor in the same proportion.
struct Off {
    uint64_t asleep;
    uint64_t queued;
};

Off off_in(const Since& since, uint64_t work) {
    const uint64_t beside = beyond(since.elapsed, work);
    const uint64_t all_asleep = since.off - since.queued;
    const uint64_t asleep = earlier(work, beyond(all_asleep, beside));
    const uint64_t ready = work - asleep;
    const uint64_t all_ready = ready + beyond(beside, all_asleep);
    if (all_ready == 0) return {asleep, 0};
    const double share = static_cast<double>(ready) / static_cast<double>(all_ready);
    const auto queued = static_cast<uint64_t>(share * static_cast<double>(since.queued));
    return {asleep, earlier(ready, queued)};
}

uint64_t kernel_in(const Since& since, uint64_t work, const Off& off) {
    return earlier(beyond(work, off.asleep + off.queued),
                   beyond(since.kernel, beyond(since.elapsed, work)));
}

void add_io(StallRecord* stall, CellIndex node, uint64_t ticks) {
    stall->io_ticks += ticks;
    weigh(&stall->io_node, &stall->io_weight, node, ticks);
}

StallRecord* stall_of(Thread* thread, CellIndex interval) {
    CellIndex* link = &thread->record->first_stall;
    uint32_t count = 0;
    for (CellIndex at = *link; at != 0; ++count) {
        auto* stall = cell_at<StallRecord>(at);
        if (stall->interval == interval) return stall;
        at = stall->next;
    }
    if (count >= kMostStalls) return nullptr;
    const CellIndex made = take_cells(thread, 2);
    if (made == 0) return nullptr;
    auto* stall = cell_at<StallRecord>(made);
    stall->interval = interval;
    stall->next = *link;
    __atomic_store_n(link, made, __ATOMIC_RELEASE);
    return stall;
}

}  // namespace

uint64_t processor_ns_of(Thread* thread) {
    Reading reading(thread);
    const uint64_t ns = thread_processor_ns();
    reading.cost();
    return ns;
}

void open_processor_time(Thread* thread) {
    g_long_part_ticks = ticks_of(kLongPart_ns);
    if (thread != nullptr) read_since(thread);
}

void note_long_work(Thread* thread, CellIndex interval, uint64_t ticks) {
    Reading reading(thread);
    const IoSinceCall& io = thread->processor.io;
    const bool has_io = io.since == thread->last_ticks && io.ticks != 0;
    const Since since = read_since(thread);
    if (thread->last == 0) return;  // computation before MPI_Init began before the first reading
    // Time with nodes of its own, except I/O, is recorded there.
    const uint64_t separate = later(thread->separate_ticks, has_io ? io.ticks : 0);
    const uint64_t work_ns = beyond(ns_of(beyond(ticks, separate)), since.waited);
    const Off off = off_in(since, work_ns);
    const uint64_t in_kernel = kernel_in(since, work_ns, off);
    StallRecord* stall = stall_of(thread, interval);
    if (stall != nullptr) {
        stall->count += 1;
        stall->ticks += ticks;
        stall->asleep_ticks += ticks_of(off.asleep);
        stall->team_asleep_ticks += since.for_team.asleep_ticks;
        stall->queued_ticks += ticks_of(off.queued);
        stall->kernel_ticks += ticks_of(in_kernel) + since.for_team.kernel_ticks;
        if (has_io) add_io(stall, io.node, earlier(io.ticks, ticks));
        if (since.for_team.io_ticks != 0) {
            add_io(stall, since.for_team.io_node, since.for_team.io_ticks);
        }
    }
    if (stall == nullptr) count_up(&thread->record->stalls_dropped);
    thread->record->queued_ticks += ticks_of(off.queued);
    thread->slow_overhead += reading.cost();
}

void begin_processor_time(Thread* thread) {
    if (g_long_part_ticks != UINT64_MAX && thread->processor.ticks == 0) read_since(thread);
}

uint64_t note_long_region(Thread* thread, TeamStalls* team, uint64_t fork, uint64_t ticks,
                          uint64_t late) {
    Reading reading(thread);
    const Since since = read_since(thread);
    const uint64_t work_ns = beyond(ns_of(ticks), since.waited + since.io);
    const Off off = off_in(since, work_ns);
    OmpStalls stalls = since.for_team;
    if (since.io != 0) stalls.io_node = thread->processor.io.node;
    stalls.io_ticks += ticks_of(since.io);
    stalls.asleep_ticks += ticks_of(off.asleep);
    stalls.kernel_ticks += ticks_of(kernel_in(since, work_ns, off));
    add_stalls(team, fork, within(late, stalls));
    thread->record->queued_ticks += ticks_of(off.queued);
    return reading.cost();
}

uint64_t note_long_call(Thread* thread, uint64_t ticks, uint64_t waited) {
    Reading reading(thread);
    const uint64_t lost = thread->processor.lost_ticks;
    const Since since = read_since(thread);
    if (since.queued != 0 && since.elapsed != 0) {
        // A waiting rank gives up its processor and gets it back late: in the transfer it had the
        // same share of a processor as in the whole call.
        const double share = static_cast<double>(since.queued) / static_cast<double>(since.elapsed);
        thread->record->queued_call_ticks +=
            static_cast<uint64_t>(share * static_cast<double>(beyond(ticks, waited)));
    }
    reading.cost();
    return thread->processor.lost_ticks - lost;
}

void read_processor_time(Thread* thread) {
    if (g_long_part_ticks == UINT64_MAX) return;
    Reading reading(thread);
    if (now_ticks() - thread->processor.ticks < g_long_part_ticks) return;
    read_since(thread);
    thread->slow_overhead += reading.cost();
}

}  // namespace dwell
