// Creates, grows and closes the record file (DESIGN 3). A chunk is reserved in the file before its
// first use, because a store into an unreserved page of a full /dev/shm ends the program.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/contract/raw_io.h"
#include "runtime/contract/standard_files.h"
#include "runtime/process/own_file.h"
#include "runtime/process/state.h"

namespace dwell {

namespace {

// Small first chunks keep the file of a short program small.
constexpr uint32_t kFirstChunkCells = 1024;   // 64 KiB
constexpr uint32_t kLargeChunkCells = 16384;  // 1 MiB

OwnFile g_file;
uint32_t g_cell_limit = 0;
bool g_keeps_open = true;

// True when the file is open; reopens it where the program closed its descriptor.
bool file_is_open() {
    if (!g_file.is_open()) return false;
    return g_file.is_ours() || g_file.open_again(g_process.record_path);
}

// Makes reserved cells accessible. Unreserved pages stay inaccessible, because tools that read all
// memory of a process (valgrind's leak check, debuggers) would get a SIGBUS there.
bool open_cells(uint32_t end) {
    return mprotect(g_process.cells, size_t{end} * kCellBytes, PROT_READ | PROT_WRITE) == 0;
}

// Reserves `cells` more cells and returns the first one's index, or 0. StateLock must be held.
CellIndex reserve_cells(uint32_t cells) {
    FileHeader* header = g_process.header;
    const uint32_t first = header->cells_reserved;
    if (cells > g_cell_limit - first || !file_is_open()) return 0;
    const bool reserved = g_file.reserve(size_t{first} * kCellBytes, size_t{cells} * kCellBytes);
    if (!g_keeps_open) g_file.put_away();
    if (!reserved || !open_cells(first + cells)) return 0;
    __atomic_store_n(&header->cells_reserved, first + cells, __ATOMIC_RELAXED);
    __atomic_store_n(&header->cells_used, first + cells, __ATOMIC_RELAXED);
    return first;
}

CellIndex file_is_full() {
    __atomic_fetch_or(&g_process.header->flags, uint32_t{kFileFull}, __ATOMIC_RELAXED);
    return 0;
}

// In a forked child: loops still count in the records (site_table.h), so it gets a private copy.
void leave_records_to_parent() {
    if (!file_is_open()) return;
    const size_t bytes = size_t{g_process.header->cells_reserved} * kCellBytes;
    // Replaces the existing mapping, which needs neither new memory nor new addresses.
    static_cast<void>(mmap(g_process.cells, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, g_file.descriptor(), 0));
    if (!g_keeps_open) g_file.put_away();
}

void watch_forks() {
    static bool watched = false;
    if (!watched) pthread_atfork(nullptr, nullptr, leave_records_to_parent);
    watched = true;
}

}  // namespace

bool create_record_file(const char* path, uint32_t memory_mib) {
    g_cell_limit = memory_mib * (1024u * 1024 / kCellBytes);
    const size_t bytes = static_cast<size_t>(g_cell_limit) * kCellBytes;
    const StandardFilesHeld held;
    const int file = raw_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return false;
    const off_t header_bytes = static_cast<off_t>(kHeaderCells) * kCellBytes;
    const NoSizeSignal held_back;
    int error = posix_fallocate(file, 0, header_bytes);
    void* cells = MAP_FAILED;
    if (error == 0) {
        cells = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
        if (cells != MAP_FAILED) g_process.cells = static_cast<char*>(cells);
        if (cells == MAP_FAILED || !open_cells(kHeaderCells)) error = errno;
    }
    if (error != 0) {
        if (cells != MAP_FAILED) munmap(cells, bytes);
        raw_close(file);
        unlink(path);
        errno = error;
        return false;
    }
    g_file.adopt(file);
    g_keeps_open = !files_are_few();
    if (!g_keeps_open) g_file.put_away();
    g_process.header = static_cast<FileHeader*>(cells);
    g_process.header->cells_reserved = kHeaderCells;
    g_process.header->cells_used = kHeaderCells;
    watch_forks();
    return true;
}

// Keeps the mapping: a thread may still be inside a wrapper.
void close_record_file() { g_file.close(); }

CellIndex take_cells(Thread* thread, uint32_t count) {
    if (thread->chunk_end - thread->chunk_next < count) {
        const int saved_errno = errno;
        const StateLock lock;
        uint32_t wanted = thread->chunk_end == 0 ? kFirstChunkCells : kLargeChunkCells;
        if (wanted < count) wanted = count;
        CellIndex first = reserve_cells(wanted);
        if (first == 0 && wanted > count) {
            wanted = count;
            first = reserve_cells(wanted);
        }
        errno = saved_errno;
        if (first == 0) return file_is_full();
        thread->chunk_next = first;
        thread->chunk_end = first + wanted;
    }
    const CellIndex taken = thread->chunk_next;
    thread->chunk_next += count;
    return taken;
}

CellIndex take_shared_cell() {
    const int saved_errno = errno;
    const CellIndex taken = reserve_cells(1);
    errno = saved_errno;
    return taken != 0 ? taken : file_is_full();
}

}  // namespace dwell
