// Records I/O statements and the files that they use.
#include "runtime/io/io_records.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/calls/polls.h"
#include "runtime/calls/records.h"
#include "runtime/calltree/modules.h"
#include "runtime/contract/visible_text.h"
#include "runtime/io/file_names.h"
#include "runtime/measure/processor_time.h"
#include "runtime/probes/blocks.h"
#include "runtime/probes/outlined_code.h"
#include "runtime/probes/probes.h"
#include "runtime/process/time_axis.h"
#include "runtime/process/virtual_clock.h"

namespace dwell {

uint32_t g_descriptors[kDescriptorLimit];

namespace {

constexpr uint32_t kFilesPerNode = 8;  // recorded separately; further ones together
constexpr size_t kLongestName_bytes = 1023;

uintptr_t proof_of(const IoStatement* statement) {
    return reinterpret_cast<uintptr_t>(statement) ^ kProof;
}

// Whether a statement is called inside another one, by a signal handler or by code that the other
// calls. An outer statement whose frame is gone was left without a return.
bool is_inside(const IoStatement* open, const Frame* frame) {
    return open != nullptr &&
           reinterpret_cast<uintptr_t>(frame) < reinterpret_cast<uintptr_t>(open) &&
           open->proof == proof_of(open);
}

// Counts a call that should have been recorded.
void count_unobserved() {
    __atomic_fetch_add(&g_process.header->io_unobserved, 1, __ATOMIC_RELAXED);
}

CellIndex name_of_descriptor(Thread* thread, int file) {
    char link[32] = "/proc/self/fd/";
    put_number(link + strlen(link), static_cast<uint32_t>(file));
    char name[kLongestName_bytes + 1];
    const ssize_t bytes = readlink(link, name, kLongestName_bytes);
    if (bytes <= 0) return kFileUnnamed;
    const CellIndex record = record_of_name(thread, name, static_cast<size_t>(bytes));
    return record != 0 ? record : kFileUnnamed;
}

// Files, and devices except the standard streams, which belong to the launcher.
bool is_recorded(int file, const struct stat& about) {
    if (S_ISREG(about.st_mode)) return true;
    const bool device = S_ISBLK(about.st_mode) || S_ISCHR(about.st_mode);
    return device && file > STDERR_FILENO;
}

// Hash of a file and of the path by which it was opened; 0 when the path is unknown.
uint64_t hash_of_path_to(const char* path, const struct stat& about) {
    char folder[kLongestName_bytes + 1];
    uint64_t hash = hash_bytes(path, strnlen(path, PATH_MAX), kHashStart);
    if (*path != '/') {
        const long bytes = syscall(SYS_getcwd, folder, sizeof(folder));
        if (bytes <= 0) return 0;
        hash = hash_bytes(folder, static_cast<size_t>(bytes), hash);
    }
    hash = hash_bytes(&about.st_dev, sizeof(about.st_dev), hash);
    return hash_bytes(&about.st_ino, sizeof(about.st_ino), hash) | 1;
}

// Reading a descriptor's link takes the kernel longer than all the rest. A file that is opened
// again by the same path reuses its name.
CellIndex name_of_file(Thread* thread, int file, const char* path, const struct stat& about) {
    const uint64_t hash = path != nullptr ? hash_of_path_to(path, about) : 0;
    KnownFile* known = &thread->known_files[(hash >> 32) % kKnownFiles];
    if (hash != 0 && known->path_hash == hash) return known->name;
    const CellIndex name = name_of_descriptor(thread, file);
    if (hash != 0 && name != kFileUnnamed) *known = {hash, name};
    return name;
}

// Attaches a thread at its first I/O statement, as a probe would. Checks the descriptor first, so
// that threads that only use sockets or pipes are left alone. Null: the call is not recorded, and
// was counted if it should have been.
DWELL_COLD Thread* thread_for_io(const Frame* frame, int file) {
    if (getpid() != g_process.header->pid) return nullptr;  // a vfork child
    const int saved_errno = errno;
    bool recorded = file == kNoDescriptor;
    if (!recorded && file >= 0 && file < kDescriptorLimit) {
        const uint32_t known = __atomic_load_n(&g_descriptors[file], __ATOMIC_RELAXED);
        struct stat about;
        recorded = known > kFileOff ||
                   (known == 0 && fstat(file, &about) == 0 && is_recorded(file, about));
    }
    if (recorded) recorded = !is_in_mpi_library(static_cast<uintptr_t>(frame->return_address - 1));
    errno = saved_errno;
    if (!recorded) return nullptr;
    Thread* thread = attach_for_io();
    if (thread == nullptr) count_unobserved();
    return thread;
}

// Looks the descriptor up, once. A vfork child has other files but shares this memory, so nothing
// is stored for it.
DWELL_COLD uint32_t learn_descriptor(Thread* thread, int file, const char* path) {
    const CancellationDisabled cancellation;
    const SlowWork work(thread);
    if (getpid() != g_process.header->pid) return kFileOff;
    struct stat about;
    const bool recorded = fstat(file, &about) == 0 && is_recorded(file, about);
    const uint32_t learnt = recorded ? name_of_file(thread, file, path, about) : kFileOff;
    __atomic_store_n(&g_descriptors[file], learnt, __ATOMIC_RELAXED);
    return learnt;
}

uint32_t file_of(Thread* thread, int file, const char* path) {
    if (file < 0 || file >= kDescriptorLimit) return kFileOff;
    const uint32_t known = __atomic_load_n(&g_descriptors[file], __ATOMIC_RELAXED);
    return known != 0 ? known : learn_descriptor(thread, file, path);
}

// The slow path for a path that is not cached. A signal handler on an alternate stack has no room
// for the unwinder.
DWELL_COLD CellIndex find_new_path(Thread* thread, const Frame* frame, MpiCall number,
                                   CellIndex probe_frame) {
    stack_t stack;
    const int saved_errno = errno;
    const bool elsewhere = sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_ONSTACK) != 0;
    errno = saved_errno;
    if (elsewhere) {
        count_unobserved();
        return 0;
    }
    return find_path(thread, frame, number, probe_frame, kMpiForm).node;
}

DWELL_COLD FileUse* add_file(IoStatement* statement) {
    IoPart* part = statement->part;
    if (part->files >= kFilesPerNode) return nullptr;
    const CancellationDisabled cancellation;
    const SlowWork work(statement->thread);
    const CellIndex cell = take_cells(statement->thread, 1);
    if (cell == 0) return nullptr;
    auto* use = cell_at<FileUse>(cell);
    use->name = statement->file;
    use->next = part->first_file;
    __atomic_store_n(&part->first_file, cell, __ATOMIC_RELEASE);
    part->files += 1;
    return use;
}

FileUse* use_of_file(IoStatement* statement) {
    IoPart* part = statement->part;
    if (part->last_file != 0) [[likely]] {
        auto* last = cell_at<FileUse>(part->last_file);
        if (last->name == statement->file) [[likely]]
            return last;
    }
    FileUse* use = nullptr;
    for (CellIndex at = part->first_file; at != 0 && use == nullptr;) {
        auto* known = cell_at<FileUse>(at);
        if (known->name == statement->file) use = known;
        at = known->next;
    }
    if (use == nullptr) use = add_file(statement);
    if (use != nullptr) part->last_file = index_of(use);
    return use;
}

// Whether this is still the thread's statement. A handler on another stack may have had one
// meanwhile, because its path was cached and needed no unwinder.
bool is_open(const IoStatement* statement) {
    const bool open = statement->thread->io == statement;
    if (!open) count_unobserved();
    return open;
}

DWELL_COLD void note_io(const IoStatement* statement, uint64_t end, uint64_t ticks,
                        uint64_t read_bytes, uint64_t written_bytes) {
    Thread* const thread = statement->thread;
    const CellIndex node = index_of(statement->node);
    write_event(thread, EventKind::kEnter, node, end - ticks);
    write_event(thread, EventKind::kIo, 0, end, read_bytes, written_bytes);
    write_event(thread, EventKind::kLeave, node, end);
}

void close_statement(IoStatement* statement) {
    statement->proof = 0;
    statement->thread->io = nullptr;
}

}  // namespace

bool begin_observed_io(IoStatement* statement, IoCall call, const Frame* frame, int file) {
    Thread* thread = calling_thread();
    if (t_in_guard != 0) return false;  // I/O of dwell, or of a handler that interrupted dwell
    if (thread == nullptr) [[unlikely]] {
        thread = thread_for_io(frame, file);
        if (thread == nullptr) return false;
    }
    if (thread->in_tool || thread->vforked) return false;
    // In a signal handler that interrupted one of these it is part of that.
    if (thread->open != nullptr || waits_in_omp(thread) || is_inside(thread->io, frame))
        return false;
    uint32_t name = 0;
    if (file != kNoDescriptor) {
        name = file_of(thread, file, nullptr);
        if (name == kFileOff) return false;
    }
    if (thread->epoch != g_live->epoch || has_event_order()) [[unlikely]] {
        const CancellationDisabled cancellation;
        const SlowWork work(thread);
        look_for_event_order();
        apply_changes(thread);
    }
    const CellIndex probe_frame = probe_frame_of(thread, frame);
    const MpiCall number = path_number(call);
    const PathEntry* known = find_cached_path(thread, frame, number, probe_frame);
    const CellIndex node =
        known != nullptr ? known->node : find_new_path(thread, frame, number, probe_frame);
    if (node == 0) return false;
    statement->thread = thread;
    statement->node = cell_at<Node>(node);
    statement->part = cell_at<IoPart>(node + kPartCells);
    statement->file = name;
    statement->proof = proof_of(statement);
    thread->io = statement;
    if (thread->untimed_polls != 0) [[unlikely]]
        record_untimed(thread, now_ticks() - thread->slow_overhead);
    statement->start_ticks = now_ticks();
    return true;
}

void end_io(IoStatement* statement, uint64_t read_bytes, uint64_t written_bytes, bool failed) {
    const uint64_t end = recording_now(now_ticks());
    Thread* thread = statement->thread;
    if (!is_open(statement)) return;
    uint64_t elapsed = beyond(end, statement->start_ticks);
    uint64_t paused = 0;
    if (thread->epoch != g_live->epoch) [[unlikely]]  // another thread may have paused
        paused = earlier(elapsed, paused_since(thread, statement->start_ticks));
    elapsed -= paused;
    const IoCosts& costs = g_process.io;
    const uint64_t ticks = elapsed > costs.inner ? elapsed - costs.inner : 0;
    Node* node = statement->node;
    node->count += 1;
    add_time(node, ticks);
    IoPart* part = statement->part;
    part->bytes_read += read_bytes;
    part->bytes_written += written_bytes;
    part->failed += failed ? 1 : 0;
    FileUse* use = statement->file > kFileUnnamed ? use_of_file(statement) : nullptr;
    if (use != nullptr) [[likely]] {
        use->count += 1;
        use->ticks += ticks;
        use->bytes += read_bytes + written_bytes;
    } else {
        part->elsewhere += 1;
    }
    thread->separate_ticks += ticks;
    note_io(thread, index_of(node), ticks);
    thread->slow_overhead += elapsed - ticks;
    add_to_axis(thread, axis_ticks(thread, end - paused), ticks, &AxisSums::io_ticks);
    if (writes_events(thread) && has_events(index_of(node))) [[unlikely]]
        note_io(statement, virtual_ticks(thread, end), ticks, read_bytes, written_bytes);
    thread->slow_overhead += costs.outer;
    close_statement(statement);
}

void end_opening(IoStatement* statement, int file, const char* path) {
    if (!is_open(statement)) return;
    if (file < 0) {
        end_io(statement, 0, 0, true);
        return;
    }
    const uint64_t before = now_ticks();
    forget_descriptor(file);
    statement->file = file_of(statement->thread, file, path);
    // The time of the look-up is overhead, and not part of the statement.
    statement->start_ticks += now_ticks() - before;
    if (statement->file == kFileOff) {
        close_statement(statement);
        return;
    }
    end_io(statement, 0, 0, false);
}

namespace {

// Stands for the shortest calls on streams, which take and release a lock and copy a few bytes, as
// the processor overlaps part of recording with them. Measured with this, dwell's part comes out
// within 2 ns for fputs() and fgets() of 15 ns; with nothing between the time stamps it would be 8
// ns too high.
struct ShortCall {
    uint32_t lock = 0;
    char text[32] = "a line of text";
    char buffer[32] = {};

    __attribute__((noinline)) void operator()() {
        uint32_t free = 0;
        __atomic_compare_exchange_n(&lock, &free, 1u, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
        for (size_t i = 0; __atomic_load_n(&text[i], __ATOMIC_RELAXED) != '\0'; ++i) {
            __atomic_store_n(&buffer[i], text[i], __ATOMIC_RELAXED);
        }
        __atomic_exchange_n(&lock, 0u, __ATOMIC_RELEASE);
    }
};

}  // namespace

void calibrate_io(Thread* thread, PathEntry* entry, const Frame* frame) {
    constexpr int kRounds = 40;
    constexpr int kCalls = 200;  // of a round
    constexpr int kNoFile = kDescriptorLimit - 1;
    const uint32_t busy = t_in_guard;  // calls are recorded only where it is 0
    t_in_guard = 0;
    entry->call = static_cast<uint16_t>(path_number(IoCall::kRead));
    g_descriptors[kNoFile] = kFileUnnamed;
    ShortCall call;
    uint64_t alone = UINT64_MAX;
    uint64_t whole = UINT64_MAX;  // the shortest round, and its part between the time stamps
    uint64_t between = 0;
    for (int round = 0; round < kRounds; ++round) {
        const uint64_t begin = now_ticks();
        for (int i = 0; i < kCalls; ++i) call();
        const uint64_t recorded = now_ticks();
        alone = earlier(alone, recorded - begin);
        const uint64_t before = thread->separate_ticks;
        for (int i = 0; i < kCalls; ++i) {
            IoStatement statement;
            if (!begin_observed_io(&statement, IoCall::kRead, frame, kNoFile)) continue;
            call();
            end_io(&statement, 1, 0, false);
        }
        const uint64_t took = now_ticks() - recorded;
        if (took < whole) between = thread->separate_ticks - before;
        whole = earlier(whole, took);
    }
    g_descriptors[kNoFile] = 0;
    const uint64_t inner = beyond(between, alone);
    g_process.io = {inner / kCalls, beyond(whole, alone + inner) / kCalls};
    entry->call = static_cast<uint16_t>(MpiCall::kSend);
    t_in_guard = busy;
}

}  // namespace dwell
