// Timelines: writing parts, and comparing two ranks by causes.
#include "runtime/exchange/timeline.h"

#include <sys/mman.h>

#include "runtime/contract/path_hash.h"
#include "runtime/exchange/exchange.h"
#include "runtime/measure/processor_time.h"
#include "runtime/process/shared_words.h"

namespace dwell {

namespace {

constexpr uint64_t kTimelineKey = 0x74696d65;
constexpr uint32_t kTimelinesOfPage = kExchangePage / sizeof(Timeline);

const Timeline** g_timelines = nullptr;  // by world rank; null: not looked up yet
uint32_t g_timeline_count = 0;
constinit Timeline g_no_timeline{};

constexpr uint64_t kLeastPart_ns = 250;
constexpr uint64_t kMostShort_ns = 100'000;  // longer ones are parts of their own
uint64_t g_most_short_ticks = 0;
Thread* g_writer = nullptr;  // where several threads are in MPI at a time

// False: none of the last few parts sums up this kind.
inline bool add_to_sum(Timeline* timeline, uint32_t rank, uint32_t path, uint32_t waited_for,
                       uint64_t ticks, uint64_t end) {
    for (const Sum& sum : timeline->sums) {
        if (sum.path != path || sum.after == 0) continue;
        Part* part = &timeline->parts[sum.after - 1];
        if (part->rank != rank || part->waited_for != waited_for) continue;
        __atomic_store_n(&part->ticks, part->ticks + ticks, __ATOMIC_RELEASE);
        __atomic_store_n(&part->end, end, __ATOMIC_RELEASE);
        if (waited_for == kTogether) __atomic_store_n(&part->begin, end, __ATOMIC_RELEASE);
        return true;
    }
    return false;
}

void append(Timeline* timeline, const Part& part, bool is_short) {
    const uint32_t place = timeline->place;
    write_words(&timeline->parts[place], part);
    timeline->sums[timeline->count % kReaching] = {part.path, is_short ? place + 1 : 0};
    timeline->place = place + 1 != kParts ? place + 1 : 0;
    __atomic_store_n(&timeline->count, timeline->count + 1, __ATOMIC_RELEASE);
}

// Calls `visit` for each readable part, newest first.
template <typename Visit>
void for_each_part(const Timeline& timeline, Visit visit) {
    const uint64_t count = __atomic_load_n(&timeline.count, __ATOMIC_ACQUIRE);
    const uint64_t readable = earlier(count, kParts - kPartsBeingWritten);
    for (uint64_t back = 1; back <= readable; ++back) {
        Part part;
        read_words(&timeline.parts[(count - back) % kParts], &part);
        visit(part);
    }
}

// The time before which nothing is known.
uint64_t known_since(const Timeline& timeline) {
    const uint64_t count = __atomic_load_n(&timeline.count, __ATOMIC_ACQUIRE);
    if (count <= kParts - kPartsBeingWritten) return 0;
    Part part;
    read_words(&timeline.parts[(count - (kParts - kPartsBeingWritten)) % kParts], &part);
    return part.begin;
}

// When the rank last left a collective of that communicator; 0: not known.
uint64_t left_together(const Timeline& timeline, uint32_t comm) {
    uint64_t left = 0;
    for_each_part(timeline, [&](const Part& part) {
        if (part.waited_for == kTogether && part.path == comm) left = later(left, part.end);
    });
    return left;
}

// The ticks of a part between two times; those of a sum are spread evenly over its time.
uint64_t ticks_between(const Part& part, uint64_t since, uint64_t until) {
    if (part.begin >= since && part.end <= until) return part.ticks;
    const uint64_t begin = later(part.begin, since);
    const uint64_t end = earlier(part.end, until);
    if (end <= begin) return 0;
    const double share =
        static_cast<double>(end - begin) / static_cast<double>(part.end - part.begin);
    return static_cast<uint64_t>(share * static_cast<double>(part.ticks));
}

}  // namespace

DWELL_CALL_DATA Timeline* g_own_timeline = nullptr;
DWELL_CALL_DATA uint64_t g_least_part_ticks = UINT64_MAX;

void add_part(Timeline* timeline, const Part& part, uint64_t most_short) {
    const bool is_short = part.ticks < most_short;
    if (is_short &&
        add_to_sum(timeline, part.rank, part.path, part.waited_for, part.ticks, part.end))
        return;
    append(timeline, part, is_short);
}

void Shares::add(uint32_t rank, uint32_t path, uint64_t ticks) {
    if (ticks == 0) return;
    for (uint32_t i = 0; i < count_; ++i) {
        if (list_[i].rank != rank || list_[i].path != path) continue;
        list_[i].ticks += ticks;
        return;
    }
    if (count_ < kParts) list_[count_++] = {rank, path, ticks};
}

uint64_t Shares::cancel(const Share& share) {
    for (uint32_t i = 0; i < count_; ++i) {
        if (list_[i].rank != share.rank || list_[i].path != share.path) continue;
        const uint64_t common = earlier(list_[i].ticks, share.ticks);
        list_[i].ticks -= common;
        return share.ticks - common;
    }
    return share.ticks;
}

void Shares::cancel_smallest_of(uint32_t rank, uint64_t ticks) {
    while (ticks != 0) {
        Share* smallest = nullptr;
        for (uint32_t i = 0; i < count_; ++i) {
            Share* share = &list_[i];
            if (share->rank != rank || share->ticks == 0) continue;
            if (smallest == nullptr || share->ticks < smallest->ticks) smallest = share;
        }
        if (smallest == nullptr) return;
        const uint64_t common = earlier(smallest->ticks, ticks);
        smallest->ticks -= common;
        ticks -= common;
    }
}

uint64_t Shares::ticks_of(uint32_t rank, uint32_t path) const {
    for (const Share& share : *this) {
        if (share.rank == rank && share.path == path) return share.ticks;
    }
    return 0;
}

bool Shares::has(uint64_t ticks) const {
    for (const Share& share : *this) {
        if (share.ticks >= ticks && ticks != 0) return true;
    }
    return false;
}

bool Shares::take_largest(uint64_t ticks, Share* taken) {
    Share* largest = nullptr;
    for (uint32_t i = 0; i < count_; ++i) {
        if (largest == nullptr || list_[i].ticks > largest->ticks) largest = &list_[i];
    }
    if (largest == nullptr || largest->ticks == 0 || ticks == 0) return false;
    *taken = {largest->rank, largest->path, earlier(largest->ticks, ticks)};
    largest->ticks -= taken->ticks;
    return true;
}

const Share* Shares::largest_of(uint32_t rank) const {
    const Share* largest = nullptr;
    for (const Share& share : *this) {
        if (share.rank != rank) continue;
        if (largest == nullptr || share.ticks > largest->ticks) largest = &share;
    }
    return largest;
}

const Share* Shares::largest_but(uint32_t rank) const {
    const Share* largest = nullptr;
    for (const Share& share : *this) {
        if (share.rank == rank || share.rank == kNoPeer) continue;
        if (largest == nullptr || share.ticks > largest->ticks) largest = &share;
    }
    return largest;
}

uint64_t last_in_step(const Timeline& own, const Wait& wait) {
    uint64_t since = known_since(own);
    for_each_part(own, [&](const Part& part) {
        const bool with_all = part.waited_for == kTogether && part.path == kWorldTogether;
        if (with_all || part.waited_for == wait.late_rank) since = later(since, part.end);
    });
    return since;
}

uint64_t last_in_step(const Timeline& own, const Timeline& late, const Wait& wait) {
    uint64_t since = later(last_in_step(own, wait), known_since(late));
    for_each_part(late, [&](const Part& part) {
        if (part.begin >= wait.end || part.end <= since) return;
        if (part.waited_for == wait.own_rank) {
            since = earlier(part.end, wait.end);
        } else if (part.waited_for == kTogether) {
            since = later(since, earlier(part.end, left_together(own, part.path)));
        }
    });
    return since;
}

Shares parts_between(const Timeline& timeline, uint64_t since, uint64_t until) {
    Shares shares;
    for_each_part(timeline, [&](const Part& part) {
        if (part.waited_for != kTogether) {
            shares.add(part.rank, part.path, ticks_between(part, since, until));
        }
    });
    return shares;
}

void leave_delay(const Wait& wait, Shares* own, Shares* late) {
    uint64_t computed = 0;
    for (const Share& share : *own) {
        uint64_t rest = late->cancel(share);
        if (share.rank != wait.own_rank) continue;
        rest = late->cancel({wait.late_rank, share.path, rest});
        computed += rest;
    }
    late->cancel_smallest_of(wait.late_rank, computed);
    late->cancel_smallest_of(wait.own_rank, UINT64_MAX);
}

void rename_waits(Timeline* timeline, uint64_t since, Shares* own, Shares* late) {
    const uint64_t count = timeline->count;
    const uint64_t readable = earlier(count, kParts - kPartsBeingWritten);
    for (uint64_t back = 1; back <= readable; ++back) {
        Part* part = &timeline->parts[(count - back) % kParts];
        if (part->end <= since || part->waited_for == kNoPeer || part->waited_for == kTogether)
            continue;
        Share cause;
        const uint64_t most = part->ticks - part->ticks / 8;
        if (own->ticks_of(part->rank, part->path) < most || !late->has(most)) continue;
        own->cancel({part->rank, part->path, part->ticks});
        late->take_largest(part->ticks, &cause);
        __atomic_store_n(&part->rank, cause.rank, __ATOMIC_RELEASE);
        __atomic_store_n(&part->path, cause.path, __ATOMIC_RELEASE);
        if (back <= kReaching) timeline->sums[(count - back) % kReaching].path = cause.path;
    }
}

namespace {

Timeline* find_timeline(uint32_t world_rank) {
    void* page = find_or_make_pages(mix_path(kTimelineKey, world_rank / kTimelinesOfPage), 1);
    return page != nullptr ? static_cast<Timeline*>(page) + world_rank % kTimelinesOfPage : nullptr;
}

uint32_t path_of(CellIndex interval) {
    return static_cast<uint32_t>(cell_at<Node>(interval)->site.offset >> 32);
}

__attribute__((noinline)) void append_work(Thread* thread, CellIndex interval, uint64_t ticks,
                                           uint64_t end) {
    if (ticks >= g_long_part_ticks) note_long_work(thread, interval, ticks);
    if (!writes_timeline(thread)) return;
    append(g_own_timeline, {end - ticks, end, ticks, own_rank(), path_of(interval), kNoPeer, 0},
           ticks < g_most_short_ticks);
}

}  // namespace

void open_timelines(uint32_t world_size) {
    static Timeline alone;
    g_own_timeline = &alone;
    const uint64_t frequency = g_process.header->ticks_per_second;
    g_least_part_ticks = kLeastPart_ns * frequency / 1'000'000'000u;
    g_most_short_ticks = kMostShort_ns * frequency / 1'000'000'000u;
    if (!exchange_is_open()) return;
    void* memory = mmap(nullptr, world_size * sizeof(uintptr_t), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
    g_timelines = static_cast<const Timeline**>(memory);
    g_timeline_count = world_size;
    Timeline* own = find_timeline(own_rank());
    if (own != nullptr) g_own_timeline = own;
}

bool writes_timeline(Thread* thread) {
    if (!g_process.concurrent) [[likely]]
        return true;
    // A locked instruction at each call would take the line from all other threads.
    Thread* writer = __atomic_load_n(&g_writer, __ATOMIC_RELAXED);
    if (writer == nullptr) {
        __atomic_compare_exchange_n(&g_writer, &writer, thread, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
    }
    return writer == nullptr || writer == thread;
}

void leave_timeline(Thread* thread) {
    __atomic_compare_exchange_n(&g_writer, &thread, nullptr, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
}

void write_part(Thread* thread, const Part& part) {
    if (g_own_timeline != nullptr && writes_timeline(thread))
        add_part(g_own_timeline, part, g_most_short_ticks);
}

// Short computations are added inline, as one may precede every call.
void note_new_work(Thread* thread, CellIndex interval, uint64_t ticks, uint64_t now, uint64_t end) {
    const uint32_t path = path_of(interval);
    thread->delay.stamped_at = now;
    thread->delay.last_ticks = ticks;
    thread->delay.last_path = path;
    const bool is_added = ticks < g_most_short_ticks && writes_timeline(thread) &&
                          add_to_sum(g_own_timeline, own_rank(), path, kNoPeer, ticks, end);
    if (!is_added) append_work(thread, interval, ticks, end);
}

const Timeline* timeline_of(uint32_t world_rank) {
    if (world_rank >= g_timeline_count) return nullptr;
    const Timeline* timeline = __atomic_load_n(&g_timelines[world_rank], __ATOMIC_ACQUIRE);
    if (timeline == nullptr) {
        const StateLock lock;
        timeline = is_same_host(world_rank) ? find_timeline(world_rank) : nullptr;
        if (timeline == nullptr) timeline = &g_no_timeline;
        __atomic_store_n(&g_timelines[world_rank], timeline, __ATOMIC_RELEASE);
    }
    return timeline != &g_no_timeline ? timeline : nullptr;
}

}  // namespace dwell
