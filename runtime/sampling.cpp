#include "runtime/sampling.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/callpath.h"
#include "runtime/modules.h"
#include "runtime/standard_files.h"
#include "runtime/usage.h"

namespace dwell {

namespace {

constexpr size_t kPageBytes = 4096;
// The kernel bounds the rings of a user (perf_event_mlock_kb for each processor, then ulimit -l):
// many threads get smaller ones.
static_assert(kLargestRing % kPageBytes == 0);
constexpr size_t kSmallestRing = 2 * kPageBytes;
constexpr uint32_t kSamplesPerInterval = 512;  // different addresses; more fold into one

// Stands for the ring's head of a thread that has none: with ring_seen 0 nothing is to be done,
// with 1 sampling is still to begin.
const uint64_t kNoRing = 0;
// Of one whose metrics are read; no ring comes so far.
const uint64_t kWatched = UINT64_MAX;

perf_event_mmap_page* page_of(SampleRing* ring) {
    return reinterpret_cast<perf_event_mmap_page*>(ring);
}

void explain_refusal(int error, bool opened) {
    static bool said = false;
    __atomic_fetch_or(&g_process.header->flags, uint32_t{kFileNoSampling}, __ATOMIC_RELAXED);
    __atomic_fetch_add(&g_process.header->threads_unsampled, 1, __ATOMIC_RELAXED);
    if (said || g_process.options.quiet) return;
    said = true;
    if (opened) {
        warn_of_job(
            "no sampling of some threads: no locked memory left for them "
            "(kernel.perf_event_mlock_kb, ulimit -l); the rest works");
    } else if (error == EACCES || error == EPERM) {
        warn_of_job(
            "no sampling: the kernel forbids it (kernel.perf_event_paranoid above 2, or a "
            "container without perf_event_open); the rest works");
    } else {
        warn_of_job("no sampling: perf_event_open: %s; the rest works", strerror(error));
    }
}

void copy_out(const Thread* thread, uint64_t at, void* to, size_t bytes) {
    const char* data = reinterpret_cast<const char*>(thread->ring) + kPageBytes;
    for (size_t i = 0; i < bytes; ++i) {
        static_cast<char*>(to)[i] = data[(at + i) & (thread->ring_bytes - 1)];
    }
}

// The mark of the record that begins at this place of the ring, which the kernel lets nobody write.
struct Mark {
    uint64_t* word;
    uint64_t bit;
};
Mark mark_of(Thread* thread, uint64_t at) {
    const size_t number = (at & (thread->ring_bytes - 1)) / kRingStep;
    return {&thread->own_samples[number / 64], uint64_t{1} << number % 64};
}

// Books one address under `interval`; past the limit of an interval under a folded record.
void book_sample(Thread* thread, CellIndex interval, uint64_t address) {
    const ModulePlace place = place_of_address(thread, address);
    // Of dwell's own time, or taken inside a poll that was not timed: no computation.
    if (place.own || (place.inside_mpi && thread->untimed_polls != 0)) {
        thread->record->samples_in_calls += 1;
        return;
    }
    Site site{};
    site.module = place.module;
    site.offset = place.offset;
    site.kind = SiteKind::kSample;
    if (place.module == 0) site.flags = kNodeForeign;
    uint32_t different = 0;
    for (CellIndex at = cell_at<Node>(interval)->first_child; at != 0;) {
        const Node* node = cell_at<Node>(at);
        ++different;
        if (node->site.offset == site.offset && node->site.module == site.module) break;
        at = node->next_sibling;
    }
    if (different >= kSamplesPerInterval) {
        site = Site{};
        site.kind = SiteKind::kSample;
        site.flags = kNodeFolded;
    }
    const CellIndex node = child_of(thread, interval, site);
    if (node != 0) cell_at<Node>(node)->count += 1;
    thread->record->samples += 1;
}

void set_head(Thread* thread, const uint64_t* head) {
    thread->ring_head = thread->metrics != nullptr ? &kWatched : head;
}

}  // namespace

void watch_calls(Thread* thread) { thread->ring_head = &kWatched; }

// Of Open MPI's launcher: how many ranks it started on this node.
bool ranks_share_processors() {
    const char* ranks = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    return ranks != nullptr && strtol(ranks, nullptr, 10) > sysconf(_SC_NPROCESSORS_ONLN);
}

void choose_sampling() {
    Options* options = &g_process.options;
    if (options->sample_hz == 0 || options->sample_is_asked_for || !ranks_share_processors())
        return;
    options->sample_hz = 0;
    __atomic_fetch_or(&g_process.header->flags, uint32_t{kFileShares}, __ATOMIC_RELAXED);
}

void start_sampling_later(Thread* thread) {
    set_head(thread, &kNoRing);
    thread->ring_seen = g_process.options.sample_hz != 0 ? 1 : 0;
}

void start_sampling(Thread* thread) {
    const uint32_t hz = g_process.options.sample_hz;
    set_head(thread, &kNoRing);
    thread->ring_seen = 0;
    if (hz == 0 || thread->ring != nullptr) return;
    const int saved_errno = errno;
    perf_event_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.size = sizeof(attributes);
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.sample_period = 1'000'000'000ull / hz;  // nanoseconds for this event
    attributes.sample_type = PERF_SAMPLE_IP;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    const StandardFilesHeld held;
    const int file = static_cast<int>(
        syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
    void* ring = MAP_FAILED;
    size_t bytes = kLargestRing;
    for (; file >= 0 && bytes >= kSmallestRing; bytes /= 2) {
        ring = mmap(nullptr, kPageBytes + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (ring != MAP_FAILED) break;
    }
    if (ring == MAP_FAILED) {
        explain_refusal(errno, file >= 0);
        if (file >= 0) close(file);
        errno = saved_errno;
        return;
    }
    close(file);  // the mapping keeps the event alive; no descriptor is left in the program
    madvise(ring, kPageBytes + bytes, MADV_DONTFORK);
    thread->ring_bytes = bytes;
    thread->ring = static_cast<SampleRing*>(ring);
    thread->ring_seen = page_of(thread->ring)->data_head;
    static_assert(sizeof(__u64) == sizeof(uint64_t));
    set_head(thread, reinterpret_cast<const uint64_t*>(&page_of(thread->ring)->data_head));
    errno = saved_errno;
}

void stop_sampling(Thread* thread) {
    set_head(thread, &kNoRing);
    thread->ring_seen = 0;
    if (thread->ring == nullptr) return;
    munmap(thread->ring, kPageBytes + thread->ring_bytes);
    memset(thread->own_samples, 0, sizeof(thread->own_samples));
    thread->ring = nullptr;
}

uint64_t samples_end(const Thread* thread) {
    if (thread->ring == nullptr) return 0;
    return __atomic_load_n(&page_of(thread->ring)->data_head, __ATOMIC_ACQUIRE);
}

void mark_own_samples(Thread* thread, uint64_t from) {
    const uint64_t end = samples_end(thread);
    uint64_t at = std::max(from, thread->ring_seen);
    while (at < end) {
        perf_event_header header;
        copy_out(thread, at, &header, sizeof(header));
        if (header.size < sizeof(header)) break;
        const Mark mark = mark_of(thread, at);
        *mark.word |= mark.bit;
        at += header.size;
    }
}

void drain_samples(Thread* thread, CellIndex interval) {
    const uint64_t start = now_ticks();
    if (thread->ring == nullptr) {
        if (thread->ring_seen == 0) return;
        const uint64_t age = start - thread->attached_ticks;
        const uint64_t rate = g_process.header->ticks_per_second;
        if (age < static_cast<uint64_t>(static_cast<double>(rate) * 1e-9 * kSamplingDelay_ns))
            return;
        start_sampling(thread);
        thread->slow_ticks += now_ticks() - start;
        return;
    }
    const uint64_t head = samples_end(thread);
    if (head == thread->ring_seen) return;
    const int saved_errno = errno;
    thread->in_dwell.begin();
    uint64_t tail = thread->ring_seen;
    while (tail < head) {
        perf_event_header header;
        copy_out(thread, tail, &header, sizeof(header));
        if (header.size < sizeof(header)) break;
        const Mark mark = mark_of(thread, tail);
        const bool own = (*mark.word & mark.bit) != 0;
        *mark.word &= ~mark.bit;
        if (header.type == PERF_RECORD_SAMPLE) {
            uint64_t address = 0;
            copy_out(thread, tail + sizeof(header), &address, sizeof(address));
            if (interval != 0 && !own) {
                book_sample(thread, interval, address);
            } else {
                thread->record->samples_in_calls += 1;
            }
        } else if (header.type == PERF_RECORD_LOST) {
            uint64_t id_and_lost[2] = {0, 0};
            copy_out(thread, tail + sizeof(header), id_and_lost, sizeof(id_and_lost));
            thread->record->samples_lost += id_and_lost[1];
        }
        tail += header.size;
    }
    thread->ring_seen = head;
    __atomic_store_n(&page_of(thread->ring)->data_tail, head, __ATOMIC_RELEASE);
    note_usage_at_times(start);
    mark_own_samples(thread, head);
    thread->in_dwell.end();
    errno = saved_errno;
    thread->slow_ticks += now_ticks() - start;
}

}  // namespace dwell
