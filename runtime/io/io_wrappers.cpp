// The C library's functions that read and write files, interposed (DESIGN 1, nodes of kind io):
// here those on descriptors, in io_streams.cpp those on streams. A process that is not observed, or
// observed without --io, pays a load and a test a call, and at its start some 20 microseconds for
// the next definitions.
//
// Each wrapper makes its call outside of any recording, so cancellation, jumps and throws through
// it find nothing half done. Calls from other libraries (Fortran's and C++'s run-time libraries)
// belong to the program's statement that called these; the C library's internal calls are not seen,
// which is right.
#include "runtime/io/io_wrappers.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/io/io_forward.h"

namespace dwell {

DWELL_CALL_DATA void* g_next_io[kNextCount];

namespace {

constexpr const char* kNextNames[kNextCount] = {
#define DWELL_NAME(name) #name,
    DWELL_IO(DWELL_NAME)
#undef DWELL_NAME
};

// A call that opens a descriptor.
template <typename Call>
DWELL_BODY int opened(IoCall call, const Frame* frame, const char* path, Call make) {
    IoStatement statement;
    const bool recorded = begin_io(&statement, call, frame, kNoDescriptor);
    const int file = make();
    if (recorded) [[unlikely]] {
        end_opening(&statement, file, path);
    } else {
        forget_descriptor(file);
    }
    return file;
}

// Not inline: the header declares closedir()'s argument as non-null, but the function accepts null.
DWELL_COLD void forget_folder(DIR* folder) {
    if (folder != nullptr) forget_descriptor(dirfd(folder));
}

}  // namespace

DWELL_COLD void* look_up_io(int number) {
    const int saved_errno = errno;
    void* next = dlsym(RTLD_NEXT, kNextNames[number]);
    __atomic_store_n(&g_next_io[number], next, __ATOMIC_RELAXED);
    errno = saved_errno;
    return next;
}

void find_io_functions() {
    for (int number = 0; number < kNextCount; ++number) {
        if (g_next_io[number] == nullptr) look_up_io(number);
    }
    dlerror();  // a function missing in the C library is no error of the program
}

}  // namespace dwell

using namespace dwell;

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): the C library's names
// Fortified forms, which no header declares here.
int __open_2(const char* path, int flags);
int __open64_2(const char* path, int flags);
int __openat_2(int folder, const char* path, int flags);
int __openat64_2(int folder, const char* path, int flags);
ssize_t __read_chk(int file, void* buffer, size_t size, size_t room);
ssize_t __pread_chk(int file, void* buffer, size_t size, off_t offset, size_t room);
ssize_t __pread64_chk(int file, void* buffer, size_t size, off64_t offset, size_t room);

// Reads the mode whether it was given or not, as the C library does for the flags that need it.
#define OPENS(name)                                             \
    DWELL_EXPORT int name(const char* path, int flags, ...) {   \
        va_list arguments;                                      \
        va_start(arguments, flags);                             \
        const auto mode = va_arg(arguments, mode_t);            \
        va_end(arguments);                                      \
        const auto next = NEXT(name);                           \
        return opened(IoCall::kOpen, DWELL_FRAME(), path,       \
                      [=] { return next(path, flags, mode); }); \
    }
OPENS(open)
OPENS(open64)
#define OPENS_AT(name)                                                                     \
    DWELL_EXPORT int name(int folder, const char* path, int flags, ...) {                  \
        va_list arguments;                                                                 \
        va_start(arguments, flags);                                                        \
        const auto mode = va_arg(arguments, mode_t);                                       \
        va_end(arguments);                                                                 \
        const auto next = NEXT(name);                                                      \
        return opened(IoCall::kOpenat, DWELL_FRAME(), folder == AT_FDCWD ? path : nullptr, \
                      [=] { return next(folder, path, flags, mode); });                    \
    }
OPENS_AT(openat)
OPENS_AT(openat64)

DWELL_EXPORT int creat(const char* path, mode_t mode) {
    const auto next = NEXT(creat);
    return opened(IoCall::kCreat, DWELL_FRAME(), path, [=] { return next(path, mode); });
}
DWELL_EXPORT int creat64(const char* path, mode_t mode) {
    const auto next = NEXT(creat64);
    return opened(IoCall::kCreat, DWELL_FRAME(), path, [=] { return next(path, mode); });
}
DWELL_EXPORT int __open_2(const char* path, int flags) {
    const auto next = NEXT(__open_2);
    return opened(IoCall::kOpen, DWELL_FRAME(), path, [=] { return next(path, flags); });
}
DWELL_EXPORT int __open64_2(const char* path, int flags) {
    const auto next = NEXT(__open64_2);
    return opened(IoCall::kOpen, DWELL_FRAME(), path, [=] { return next(path, flags); });
}
DWELL_EXPORT int __openat_2(int folder, const char* path, int flags) {
    const auto next = NEXT(__openat_2);
    return opened(IoCall::kOpenat, DWELL_FRAME(), folder == AT_FDCWD ? path : nullptr,
                  [=] { return next(folder, path, flags); });
}
DWELL_EXPORT int __openat64_2(int folder, const char* path, int flags) {
    const auto next = NEXT(__openat64_2);
    return opened(IoCall::kOpenat, DWELL_FRAME(), folder == AT_FDCWD ? path : nullptr,
                  [=] { return next(folder, path, flags); });
}

// Another file may get the number as soon as the call is under way.
DWELL_EXPORT int close(int file) {
    const auto next = NEXT(close);
    IoStatement statement;
    const bool recorded = begin_io(&statement, IoCall::kClose, DWELL_FRAME(), file);
    forget_descriptor(file);
    const int result = next(file);
    if (recorded) [[unlikely]]
        end_io(&statement, 0, 0, result != 0);
    return result;
}
DWELL_EXPORT int dup2(int from, int to) noexcept {
    const auto next = NEXT(dup2);
    if (from != to) forget_descriptor(to);
    return next(from, to);
}
DWELL_EXPORT int dup3(int from, int to, int flags) noexcept {
    const auto next = NEXT(dup3);
    if (from != to) forget_descriptor(to);
    return next(from, to, flags);
}

// Functions that close descriptors in other ways, whose numbers another file may then have.
DWELL_EXPORT int close_range(unsigned first, unsigned last, int flags) noexcept {
    const auto next = NEXT(close_range);
    if ((flags & CLOSE_RANGE_CLOEXEC) == 0) forget_descriptors(first, last);
    return next(first, last, flags);
}
DWELL_EXPORT void closefrom(int first) noexcept {
    const auto next = NEXT(closefrom);
    forget_descriptors(first > 0 ? unsigned(first) : 0, UINT_MAX);
    next(first);
}
DWELL_EXPORT int closedir(DIR* folder) {
    const auto next = NEXT(closedir);
    forget_folder(folder);
    return next(folder);
}

DWELL_EXPORT ssize_t read(int file, void* buffer, size_t size) {
    return on_file<Moves::kReads>(IoCall::kRead, DWELL_FRAME(), NEXT(read), file, buffer, size);
}
DWELL_EXPORT ssize_t __read_chk(int file, void* buffer, size_t size, size_t room) {
    return on_file<Moves::kReads>(IoCall::kRead, DWELL_FRAME(), NEXT(__read_chk), file, buffer,
                                  size, room);
}
DWELL_EXPORT ssize_t pread(int file, void* buffer, size_t size, off_t offset) {
    return on_file<Moves::kReads>(IoCall::kPread, DWELL_FRAME(), NEXT(pread), file, buffer, size,
                                  offset);
}
DWELL_EXPORT ssize_t pread64(int file, void* buffer, size_t size, off64_t offset) {
    return on_file<Moves::kReads>(IoCall::kPread, DWELL_FRAME(), NEXT(pread64), file, buffer, size,
                                  offset);
}
DWELL_EXPORT ssize_t __pread_chk(int file, void* buffer, size_t size, off_t offset, size_t room) {
    return on_file<Moves::kReads>(IoCall::kPread, DWELL_FRAME(), NEXT(__pread_chk), file, buffer,
                                  size, offset, room);
}
DWELL_EXPORT ssize_t __pread64_chk(int file, void* buffer, size_t size, off64_t offset,
                                   size_t room) {
    return on_file<Moves::kReads>(IoCall::kPread, DWELL_FRAME(), NEXT(__pread64_chk), file, buffer,
                                  size, offset, room);
}
DWELL_EXPORT ssize_t readv(int file, const struct iovec* parts, int count) {
    return on_file<Moves::kReads>(IoCall::kReadv, DWELL_FRAME(), NEXT(readv), file, parts, count);
}
DWELL_EXPORT ssize_t preadv(int file, const struct iovec* parts, int count, off_t offset) {
    return on_file<Moves::kReads>(IoCall::kPreadv, DWELL_FRAME(), NEXT(preadv), file, parts, count,
                                  offset);
}
DWELL_EXPORT ssize_t preadv64(int file, const struct iovec* parts, int count, off64_t offset) {
    return on_file<Moves::kReads>(IoCall::kPreadv, DWELL_FRAME(), NEXT(preadv64), file, parts,
                                  count, offset);
}
DWELL_EXPORT ssize_t preadv2(int file, const struct iovec* parts, int count, off_t offset,
                             int flags) {
    return on_file<Moves::kReads>(IoCall::kPreadv2, DWELL_FRAME(), NEXT(preadv2), file, parts,
                                  count, offset, flags);
}
DWELL_EXPORT ssize_t preadv64v2(int file, const struct iovec* parts, int count, off64_t offset,
                                int flags) {
    return on_file<Moves::kReads>(IoCall::kPreadv2, DWELL_FRAME(), NEXT(preadv64v2), file, parts,
                                  count, offset, flags);
}

DWELL_EXPORT ssize_t write(int file, const void* buffer, size_t size) {
    return on_file<Moves::kWrites>(IoCall::kWrite, DWELL_FRAME(), NEXT(write), file, buffer, size);
}
DWELL_EXPORT ssize_t pwrite(int file, const void* buffer, size_t size, off_t offset) {
    return on_file<Moves::kWrites>(IoCall::kPwrite, DWELL_FRAME(), NEXT(pwrite), file, buffer, size,
                                   offset);
}
DWELL_EXPORT ssize_t pwrite64(int file, const void* buffer, size_t size, off64_t offset) {
    return on_file<Moves::kWrites>(IoCall::kPwrite, DWELL_FRAME(), NEXT(pwrite64), file, buffer,
                                   size, offset);
}
DWELL_EXPORT ssize_t writev(int file, const struct iovec* parts, int count) {
    return on_file<Moves::kWrites>(IoCall::kWritev, DWELL_FRAME(), NEXT(writev), file, parts,
                                   count);
}
DWELL_EXPORT ssize_t pwritev(int file, const struct iovec* parts, int count, off_t offset) {
    return on_file<Moves::kWrites>(IoCall::kPwritev, DWELL_FRAME(), NEXT(pwritev), file, parts,
                                   count, offset);
}
DWELL_EXPORT ssize_t pwritev64(int file, const struct iovec* parts, int count, off64_t offset) {
    return on_file<Moves::kWrites>(IoCall::kPwritev, DWELL_FRAME(), NEXT(pwritev64), file, parts,
                                   count, offset);
}
DWELL_EXPORT ssize_t pwritev2(int file, const struct iovec* parts, int count, off_t offset,
                              int flags) {
    return on_file<Moves::kWrites>(IoCall::kPwritev2, DWELL_FRAME(), NEXT(pwritev2), file, parts,
                                   count, offset, flags);
}
DWELL_EXPORT ssize_t pwritev64v2(int file, const struct iovec* parts, int count, off64_t offset,
                                 int flags) {
    return on_file<Moves::kWrites>(IoCall::kPwritev2, DWELL_FRAME(), NEXT(pwritev64v2), file, parts,
                                   count, offset, flags);
}
DWELL_EXPORT int fsync(int file) {
    return on_file<Moves::kNothing>(IoCall::kFsync, DWELL_FRAME(), NEXT(fsync), file);
}
DWELL_EXPORT int fdatasync(int file) {
    return on_file<Moves::kNothing>(IoCall::kFdatasync, DWELL_FRAME(), NEXT(fdatasync), file);
}

// NOLINTEND(readability-identifier-naming)
}
