// A thread writes its ring into the process's spill file (EventPolicy::kFlush). Probes come here
// with vector registers that nobody saves, so this file is compiled for general registers, calls
// nothing, and makes system calls itself: the kernel keeps all registers but three, while the C
// library's syscall() changes r8 and r9.
#include "runtime/events/event_flush.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

namespace dwell {

char g_spill_path[kSpillPathBytes] = {};

#if defined(__x86_64__)

namespace {

constexpr long kFailed = -1;
constexpr long kLockTry_ns = 100'000;
constexpr int kLockTries = 3000;    // a reader may be stopped while it has the lock
constexpr uint64_t kLeastFree = 8;  // the reciprocal of the part of a file system that stays free
constexpr uint64_t kEverySignalButErrors =
    ~(uint64_t{1} << (SIGSEGV - 1) | uint64_t{1} << (SIGBUS - 1) | uint64_t{1} << (SIGFPE - 1) |
      uint64_t{1} << (SIGILL - 1) | uint64_t{1} << (SIGTRAP - 1) | uint64_t{1} << (SIGABRT - 1) |
      uint64_t{1} << (SIGSYS - 1));
constexpr uint64_t kSizeSignal = uint64_t{1} << (SIGXFSZ - 1);

long in_kernel(long number, long a, const void* b, long c, long d) {
    register long fourth asm("r10") = d;
    long result = number;
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(a), "S"(b), "d"(c), "r"(fourth)
                 : "rcx", "r11", "memory");
    return result;
}
long call_kernel(long number, long a, const void* b = nullptr, long c = 0, long d = 0) {
    return in_kernel(number, a, b, c, d);
}
long address(const void* at) { return reinterpret_cast<long>(at); }

uint64_t ticks() {
    if (g_process.use_tsc) return read_tsc();
    timespec now;
    call_kernel(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// No file of dwell's gets the number of a standard file that the program has closed.
int open_apart(const char* path, int flags) {
    const long file = call_kernel(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0 || file > 2) return static_cast<int>(file);
    const long higher =
        call_kernel(SYS_fcntl, file, reinterpret_cast<const void*>(F_DUPFD_CLOEXEC), 3);
    call_kernel(SYS_close, file);
    return static_cast<int>(higher);
}
void close_file(int file) {
    if (file >= 0) call_kernel(SYS_close, file);
}

// Against readers and other threads of the process.
bool take_lock(int file) {
    constexpr long kExclusive = LOCK_EX | LOCK_NB;
    const timespec wait = {0, kLockTry_ns};
    for (int left = kLockTries;
         call_kernel(SYS_flock, file, reinterpret_cast<const void*>(kExclusive)) != 0; --left) {
        if (left == 0) return false;
        call_kernel(SYS_nanosleep, address(&wait));
    }
    return true;
}

// The program, too, needs room there: in /dev/shm for messages.
bool has_room(int file) {
    struct statfs about;
    return call_kernel(SYS_fstatfs, file, &about) == 0 &&
           (about.f_blocks == 0 || about.f_bavail > about.f_blocks / kLeastFree);
}

// Returns the bytes written. 0: a reader has emptied the ring while the thread waited for the lock.
long append(const Thread* thread, EventRing* ring, int file) {
    const uint64_t end = words_written(*ring, ring->next);
    const uint64_t begin = __atomic_load_n(&ring->read, __ATOMIC_ACQUIRE);
    const uint64_t count = end - begin;
    if (count == 0) return 0;
    struct stat about;
    if (!has_room(file) || call_kernel(SYS_fstat, file, &about) != 0) return kFailed;
    EventSpill head;
    head.magic = kSpillMagic;
    head.first_word = begin;
    head.thread = thread->record->number;
    head.words = static_cast<uint32_t>(count);
    auto* const words = reinterpret_cast<uint64_t*>(ring->first);
    const uint64_t at = begin % ring->words;
    const uint64_t first = count < ring->words - at ? count : ring->words - at;
    iovec parts[3];
    parts[0].iov_base = &head;
    parts[0].iov_len = sizeof head;
    parts[1].iov_base = words + at;
    parts[1].iov_len = first * sizeof(uint64_t);
    parts[2].iov_base = words;
    parts[2].iov_len = (count - first) * sizeof(uint64_t);
    const long wanted = static_cast<long>(sizeof head + count * sizeof(uint64_t));
    if (call_kernel(SYS_writev, file, parts, 3) != wanted) {
        call_kernel(SYS_ftruncate, file, reinterpret_cast<const void*>(about.st_size));
        return kFailed;
    }
    __atomic_store_n(&ring->read, end, __ATOMIC_RELEASE);
    return wanted;
}

long save(const Thread* thread, EventRing* ring) {
    const int lock = open_apart(g_process.record_path, O_RDONLY);
    long saved = kFailed;
    if (lock >= 0 && take_lock(lock)) {
        const int file = open_apart(g_spill_path, O_WRONLY | O_APPEND | O_CREAT);
        if (file >= 0) saved = append(thread, ring, file);
        close_file(file);
    }
    close_file(lock);
    return saved;
}

}  // namespace

Flush flush_events(Thread* thread) {
    EventRing* const ring = &thread->record->events;
    const uint64_t begin = ticks();
    if (begin < ring->flush_after) return {0, 0};
    // A handler of the program might write events, or leave by longjmp.
    const uint64_t mask = kEverySignalButErrors;
    uint64_t before = 0;
    uint64_t pending = 0;
    call_kernel(SYS_rt_sigprocmask, SIG_SETMASK, &mask, address(&before), sizeof mask);
    call_kernel(SYS_rt_sigpending, address(&pending), reinterpret_cast<const void*>(sizeof mask));
    const long saved = save(thread, ring);
    if (saved < 0 && (pending & kSizeSignal) == 0) {
        const timespec at_once = {0, 0};
        const uint64_t size_signal = kSizeSignal;
        call_kernel(SYS_rt_sigtimedwait, address(&size_signal), nullptr, address(&at_once),
                    sizeof size_signal);
    }
    call_kernel(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof mask);
    const uint64_t end = ticks();
    thread->slow_overhead += end - begin;
    if (saved < 0) {
        const uint64_t second = g_process.header->ticks_per_second;
        ring->flush_after = end + (second != 0 ? second : uint64_t{1} << 30);
    }
    return {end - begin, static_cast<uint64_t>(saved > 0 ? saved : 0)};
}

#else

Flush flush_events(Thread*) { return {0, 0}; }

#endif

}  // namespace dwell
