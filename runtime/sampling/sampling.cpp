// The sampling event of a thread, its ring, and the hand-over to `dwell run`.
#include "runtime/sampling/sampling.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "runtime/calltree/nodes.h"
#include "runtime/calltree/python_frames.h"
#include "runtime/contract/job_name.h"
#include "runtime/contract/raw_io.h"
#include "runtime/contract/standard_files.h"
#include "runtime/events/events.h"
#include "runtime/measure/metrics.h"
#include "runtime/measure/processor_time.h"
#include "runtime/measure/usage.h"
#include "runtime/process/file_limit.h"
#include "runtime/sampling/sample_records.h"
#include "runtime/sampling/sample_spill.h"
#include "runtime/sampling/sampled_path.h"

namespace dwell {

namespace {

constexpr size_t kPageBytes = 4096;
// The kernel limits a user's rings (perf_event_mlock_kb for each processor, then ulimit -l): with
// many threads they get smaller.
static_assert(kLargestRing % kPageBytes == 0);
constexpr size_t kSmallestRing = 2 * kPageBytes;
// Stack bytes stored with each sample: a frame takes one or two hundred bytes, arrays aside.
constexpr uint32_t kStackBytes = 8192;
constexpr uint32_t kLockTries = 10'000;

// Value of kDrainVariable, empty without `dwell run`. Read together with the options, because
// another thread may change the environment later.
char g_drain_name[sizeof(sockaddr_un::sun_path)];

// Replaces the ring head of a thread without a ring: with ring_seen 0 nothing is pending, with 1
// sampling is still to begin.
const uint64_t kNoRing = 0;

perf_event_mmap_page* page_of(SampleRing* ring) {
    return reinterpret_cast<perf_event_mmap_page*>(ring);
}

void count_unsampled() {
    __atomic_fetch_or(&g_process.header->flags, uint32_t{kFileNoSampling}, __ATOMIC_RELAXED);
    __atomic_fetch_add(&g_process.header->threads_unsampled, 1, __ATOMIC_RELAXED);
}

void explain_refusal(int error, bool opened) {
    static bool warned = false;
    count_unsampled();
    if (warned || g_process.options.quiet) return;
    warned = true;
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

const char* data_of(const Thread* thread) {
    return reinterpret_cast<const char*>(thread->ring) + kPageBytes;
}

void copy_out(const Thread* thread, uint64_t at, void* to, size_t bytes) {
    copy_from_ring(data_of(thread), thread->ring_bytes, at, to, bytes);
}

// The mark of a record in the ring. Marks are kept outside, because the ring is read-only.
struct Mark {
    uint64_t* word;
    uint64_t bit;
};
Mark mark_of(Thread* thread, uint64_t at) {
    const size_t number = (at & (thread->ring_bytes - 1)) / kRingStep;
    return {&thread->own_samples[number / 64], uint64_t{1} << number % 64};
}

// Call paths of depth 1 need no stacks.
bool takes_paths() { return g_process.options.callpath_depth != 1 && load_sample_unwinder(); }

// The kernel reports lost samples with the next sample, which may never come.
void count_lost(Thread* thread, uint64_t reported) {
    thread->record->samples_lost += reported - std::min(reported, thread->lost_by_time);
    thread->lost_by_time -= std::min(reported, thread->lost_by_time);
}

// Samples expected since the last reading.
uint64_t expected_samples(Thread* thread) {
    const uint64_t since_ns = processor_ns_of(thread) - thread->drained_ns;
    return static_cast<uint64_t>(static_cast<double>(since_ns) * 1e-9 *
                                 g_process.options.sample_hz);
}

// After `taken` samples were read from a ring that was full.
void count_lost_by_time(Thread* thread, uint64_t taken) {
    const uint64_t expected = expected_samples(thread);
    if (expected <= taken) return;
    thread->lost_by_time += expected - taken;
    thread->record->samples_lost += expected - taken;
}

// Reads the spill; returns the number of samples, kept or dropped.
uint64_t read_spill(Thread* thread, CellIndex interval, const SampleClock& now) {
    SampleSpill* const spill = thread->spill;
    if (spill == nullptr) return 0;
    perf_event_header header;
    for (uint64_t at = 0; spilled_record(*spill, at, &header); at += header.size) {
        record_sample(thread, interval, spill->records + at, header.size, spill->stride, now);
    }
    count_lost(thread, spill->lost);
    const uint64_t seen = spill->seen;
    spill->bytes = spill->lost = spill->seen = 0;
    spill->stride = 0;
    spill->reads += 1;
    return seen;
}

// A word that changes with the thread's next sample.
const uint64_t* head_of(const Thread* thread) {
    static_assert(sizeof(__u64) == sizeof(uint64_t));
    const SampleSpill* const spill = thread->spill;
    const bool taken = spill != nullptr && __atomic_load_n(&spill->taken, __ATOMIC_ACQUIRE) != 0;
    if (thread->python_is_sampled || taken) return &spill->writes;
    return reinterpret_cast<const uint64_t*>(&page_of(thread->ring)->data_head);
}
uint64_t newest_of(const Thread* thread) {
    return __atomic_load_n(head_of(thread), __ATOMIC_ACQUIRE);
}

// Passes the event to `dwell run`, which takes samples while this thread does not read its ring.
// Without `dwell run`, samples that do not fit are lost, and counted.
SampleSpill* share_event(int event, const DrainRequest& request) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    const size_t length = strlen(g_drain_name);
    if (length == 0) return nullptr;
    memcpy(to.sun_path + 1, g_drain_name, length);
    const NoSizeSignal size_held;
    const int memory = memfd_create("dwell-samples", MFD_CLOEXEC);
    const int talk = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    void* spill = MAP_FAILED;
    if (memory >= 0 && talk >= 0 && ftruncate(memory, kSpillBytes) == 0) {
        spill = mmap(nullptr, kSpillBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    }
    // The socket's queue holds ten messages (net.unix.max_dgram_qlen), and all ranks start
    // together.
    const timeval most{0, 200'000};
    bool sent = false;
    if (spill != MAP_FAILED &&
        setsockopt(talk, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most)) == 0) {
        iovec body{const_cast<DrainRequest*>(&request), sizeof(request)};
        const int files[2] = {event, memory};
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(files))] = {};
        msghdr message{};
        message.msg_name = &to;
        message.msg_namelen = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
        message.msg_iov = &body;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof(control);
        cmsghdr* const rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(files));
        memcpy(CMSG_DATA(rights), files, sizeof(files));
        sent = sendmsg(talk, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(request));
        madvise(spill, kSpillBytes, MADV_DONTFORK);
    }
    if (spill != MAP_FAILED && !sent) munmap(spill, kSpillBytes);
    if (memory >= 0) raw_close(memory);
    if (talk >= 0) raw_close(talk);
    return sent ? static_cast<SampleSpill*>(spill) : nullptr;
}

void set_head(Thread* thread, const uint64_t* head) {
    thread->ring_head = head;
    if (thread->metrics != nullptr) watch_calls(thread);
}

}  // namespace

// True when Open MPI's launcher started more ranks on this host than it has processors.
bool ranks_share_processors() { return launcher_local_size() > sysconf(_SC_NPROCESSORS_ONLN); }

void choose_sampling() {
    const char* const drain = getenv(kDrainVariable);
    snprintf(g_drain_name, sizeof(g_drain_name), "%s", drain != nullptr ? drain : "");
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

namespace {

enum class Sampled { kAddresses, kPaths, kPython };

// Event attributes for a ring of that size.
perf_event_attr attributes_of(uint32_t hz, Sampled what, size_t bytes) {
    perf_event_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.size = sizeof(attributes);
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.sample_period = 1'000'000'000ull / hz;  // nanoseconds for this event
    attributes.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME;
    attributes.use_clockid = 1;
    attributes.clockid = CLOCK_MONOTONIC;
    if (what == Sampled::kPaths) {
        attributes.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        attributes.sample_regs_user = kSampledRegisterMask;
        attributes.sample_stack_user = kStackBytes;
    }
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    attributes.watermark = 1;  // wakes `dwell run`, which checks whether the thread reads
    attributes.wakeup_watermark = static_cast<uint32_t>(bytes / 4);
    attributes.disabled = what == Sampled::kPython ? 1 : 0;  // `dwell run` then samples by itself
    return attributes;
}

int open_event(perf_event_attr* attributes) {
    return static_cast<int>(
        syscall(SYS_perf_event_open, attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

// With `dwell run`, which may map a second ring for each thread, half the size.
size_t largest_ring() { return g_drain_name[0] != '\0' ? kLargestRing / 2 : kLargestRing; }

}  // namespace

void start_sampling(Thread* thread) {
    const uint32_t hz = g_process.options.sample_hz;
    if (thread->ring != nullptr) return;
    set_head(thread, &kNoRing);
    thread->ring_seen = 0;
    if (hz == 0) return;
    const PythonPlaces python = python_places();
    const int saved_errno = errno;
    const CancellationDisabled cancellation;
    const StandardFilesHeld held;
    DrainRequest request{};
    request.process = getpid();
    request.thread = gettid();
    request.python = python;
    void* ring = MAP_FAILED;
    int file = -1;
    bool opened = false;
    // Where there is no room for stacks there may be room for addresses.
    Sampled what = python.state != 0 ? Sampled::kPython
                   : takes_paths()   ? Sampled::kPaths
                                     : Sampled::kAddresses;
    for (;; what = Sampled::kAddresses) {
        const size_t least = what == Sampled::kPaths ? kSmallestPathRing : kSmallestRing;
        size_t bytes = what == Sampled::kPython ? kSmallestRing : largest_ring();
        for (; bytes >= least; bytes /= 2) {
            request.ring_bytes = bytes;
            request.attributes = attributes_of(hz, what, bytes);
            file = open_event(&request.attributes);
            if (file < 0) break;
            opened = true;
            ring = mmap(nullptr, kPageBytes + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            if (ring != MAP_FAILED) break;
            raw_close(file);
        }
        if (ring != MAP_FAILED || file < 0 || what != Sampled::kPaths) break;
    }
    if (ring == MAP_FAILED) {
        explain_refusal(errno, opened);
        errno = saved_errno;
        return;
    }
    const size_t bytes = request.ring_bytes;
    thread->spill = share_event(file, request);
    thread->python_is_sampled = python.state != 0;
    // The stack of a thread that runs Python shows only the interpreter: `dwell run` reads its
    // Python functions while they run.
    if (thread->python_is_sampled && thread->spill == nullptr) {
        static std::atomic<bool> warned{false};
        if (!warned.exchange(true)) {
            warn_of_job("no sampling of Python functions without `dwell run`; the rest works");
        }
        count_unsampled();
        munmap(ring, kPageBytes + bytes);
        raw_close(file);
        errno = saved_errno;
        return;
    }
    thread->drained_ns = thread_processor_ns();
    thread->lost_by_time = 0;
    raw_close(file);  // the mapping keeps the event alive without a descriptor
    madvise(ring, kPageBytes + bytes, MADV_DONTFORK);
    thread->ring_bytes = bytes;
    thread->ring = static_cast<SampleRing*>(ring);
    thread->ring_seen = newest_of(thread);
    set_head(thread, head_of(thread));
    errno = saved_errno;
}

namespace {

// The interval that stands for the whole run of a thread without MPI.
CellIndex serial_interval(Thread* thread) {
    const CellIndex root = thread->record->root;
    Site site{};
    site.kind = SiteKind::kInterval;
    for (CellIndex at = cell_at<Node>(root)->first_child; at != 0;) {
        const Node* const node = cell_at<Node>(at);
        if (node->site.kind == SiteKind::kInterval) return at;
        at = node->next_sibling;
    }
    return child_of(thread, root, site);
}

}  // namespace

void start_serial_sampling(Thread* thread) {
    static bool tried = false;
    if (g_process.with_mpi || thread->record->number != 0 || tried) return;
    tried = true;
    const uint64_t start = now_ticks();
    start_sampling(thread);
    thread->slow_overhead += now_ticks() - start;
    if (thread->ring == nullptr) return;
    // Samples before this are unknown.
    Site site{};
    site.kind = SiteKind::kSample;
    site.flags = kNodeFolded;
    const CellIndex interval = serial_interval(thread);
    const CellIndex before = interval != 0 ? child_of(thread, interval, site) : 0;
    const double periods =
        static_cast<double>(thread->drained_ns) * 1e-9 * g_process.options.sample_hz;
    if (before != 0) cell_at<Node>(before)->count += static_cast<uint64_t>(periods);
}

void stop_sampling(Thread* thread) {
    if (thread->ring != nullptr && !g_process.with_mpi && thread == t_thread) {
        const CellIndex interval = serial_interval(thread);
        if (interval != 0) drain_samples(thread, interval);
    }
    set_head(thread, &kNoRing);
    thread->ring_seen = 0;
    if (thread->ring == nullptr) return;
    // `dwell run` may lack memory for the spill, or run in another PID namespace.
    if (thread->python_is_sampled && thread->spill->taken == 0 &&
        (thread != t_thread || expected_samples(thread) != 0)) {
        count_unsampled();
    }
    munmap(thread->ring, kPageBytes + thread->ring_bytes);
    memset(thread->own_samples, 0, sizeof(thread->own_samples));
    thread->ring = nullptr;
    if (thread->spill == nullptr) return;
    __atomic_store_n(&thread->spill->ended, 1u, __ATOMIC_RELEASE);
    munmap(thread->spill, kSpillBytes);
    thread->spill = nullptr;
}

void begin_sampling(Thread* thread) {
    if (!g_process.with_mpi) {
        stop_sampling(thread);
    } else if (thread->record->number == 0) {
        start_sampling(thread);
    } else {
        start_sampling_later(thread);
    }
}

void end_sampling(Thread* thread) {
    const ReentryGuard busy;
    stop_sampling(thread);
}

void stop_all_sampling() {
    for (Thread* thread = g_process.threads.load(); thread != nullptr; thread = thread->next) {
        stop_sampling(thread);
    }
}

uint64_t samples_end(const Thread* thread) {
    if (thread->ring == nullptr) return 0;
    return __atomic_load_n(&page_of(thread->ring)->data_head, __ATOMIC_ACQUIRE);
}

namespace {

// Marks samples from that position on as taken inside dwell; there is hardly ever one.
void mark_own_samples(Thread* thread, uint64_t from) {
    const uint64_t end = samples_end(thread);
    if (thread->ring == nullptr) return;
    uint64_t at = std::max<uint64_t>(from, page_of(thread->ring)->data_tail);
    while (at < end) {
        perf_event_header header;
        copy_out(thread, at, &header, sizeof(header));
        if (header.size < sizeof(header)) break;
        const Mark mark = mark_of(thread, at);
        *mark.word |= mark.bit;
        at += header.size;
    }
}

}  // namespace

OwnSamples::OwnSamples(Thread* thread) : thread_(thread), from_(samples_end(thread)) {
    if (thread->spill == nullptr) return;
    __atomic_store_n(&thread->spill->own, thread->spill->own + 1, __ATOMIC_RELEASE);
}

OwnSamples::~OwnSamples() {
    mark_own_samples(thread_, from_);
    if (thread_->spill == nullptr || thread_->spill->own == 0) return;
    __atomic_store_n(&thread_->spill->own, thread_->spill->own - 1, __ATOMIC_RELEASE);
}

void drain_samples(Thread* thread, CellIndex interval) {
    const uint64_t start = now_ticks();
    const uint64_t lost = thread->processor.lost_ticks;
    if (thread->ring == nullptr) {
        if (thread->ring_seen == 0) return;
        const uint64_t age = start - thread->attached_ticks;
        const uint64_t rate = g_process.header->ticks_per_second;
        if (age < static_cast<uint64_t>(static_cast<double>(rate) * 1e-9 * kSamplingDelay_ns))
            return;
        start_sampling(thread);
        thread->slow_overhead += now_ticks() - start;
        return;
    }
    if (newest_of(thread) == thread->ring_seen) return;
    // `dwell run` writes for some ten microseconds. If it loses its processor meanwhile, the
    // samples are read at the next call.
    const SpillLock lock(thread->spill, kLockTries);
    if (thread->spill != nullptr && !lock.held()) {
        thread->slow_overhead += now_ticks() - start;
        return;
    }
    const uint64_t head = samples_end(thread);
    char* const record = static_cast<char*>(scratch_of(thread, kSampleScratch_bytes));
    if (record == nullptr) return;
    const int saved_errno = errno;
    thread->in_tool.begin();
    const SampleClock now{start, writes_events(thread) ? monotonic_ns() : 0};
    uint64_t taken = read_spill(thread, interval, now);
    const uint64_t begin = page_of(thread->ring)->data_tail;
    uint64_t tail = begin;
    size_t largest = 0;
    while (tail < head) {
        perf_event_header header;
        copy_out(thread, tail, &header, sizeof(header));
        if (header.size < sizeof(header)) break;
        const Mark mark = mark_of(thread, tail);
        const bool own = (*mark.word & mark.bit) != 0;
        *mark.word &= ~mark.bit;
        if (header.type == PERF_RECORD_SAMPLE) {
            ++taken;
            largest = std::max<size_t>(largest, header.size);
            copy_out(thread, tail, record, header.size);
            record_sample(thread, own ? 0 : interval, record, header.size, 1, now);
        } else if (header.type == PERF_RECORD_LOST) {
            uint64_t id_and_lost[2] = {0, 0};
            copy_out(thread, tail + sizeof(header), id_and_lost, sizeof(id_and_lost));
            count_lost(thread, id_and_lost[1]);
        }
        tail += header.size;
    }
    if (head - begin + largest > thread->ring_bytes) count_lost_by_time(thread, taken);
    thread->drained_ns = processor_ns_of(thread);
    const uint64_t* const next = head_of(thread);
    const bool of_ring =
        next == reinterpret_cast<const uint64_t*>(&page_of(thread->ring)->data_head);
    thread->ring_seen = of_ring ? head : *next;
    set_head(thread, next);
    __atomic_store_n(&page_of(thread->ring)->data_tail, head, __ATOMIC_RELEASE);
    note_usage_at_times(start);
    mark_own_samples(thread, head);
    thread->in_tool.end();
    errno = saved_errno;
    thread->slow_overhead += now_ticks() - start - (thread->processor.lost_ticks - lost);
}

}  // namespace dwell
