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
DWELL_BODY int opened(const Frame* frame, IoCall call, const char* path, Call make) {
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
template <typename Call>
DWELL_BODY int opened_at(const Frame* frame, int folder, const char* path, Call make) {
    return opened(frame, IoCall::kOpenat, folder == AT_FDCWD ? path : nullptr, make);
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
#define OPENS(name, parameters, arguments, record, ...)                            \
    DWELL_EXPORT int name parameters {                                             \
        va_list rest;                                                              \
        va_start(rest, flags);                                                     \
        const auto mode = va_arg(rest, mode_t);                                    \
        va_end(rest);                                                              \
        const auto next = NEXT(name);                                              \
        return record(DWELL_FRAME(), __VA_ARGS__, [=] { return next arguments; }); \
    }
#define OPENS_PATH(name)                                                                        \
    OPENS(name, (const char* path, int flags, ...), (path, flags, mode), opened, IoCall::kOpen, \
          path)
OPENS_PATH(open)
OPENS_PATH(open64)
#define OPENS_AT(name)                                                                       \
    OPENS(name, (int folder, const char* path, int flags, ...), (folder, path, flags, mode), \
          opened_at, folder, path)
OPENS_AT(openat)
OPENS_AT(openat64)
DWELL_RECORDED(int, creat, (const char* path, mode_t mode), (path, mode), opened, IoCall::kCreat,
               path)
DWELL_RECORDED(int, creat64, (const char* path, mode_t mode), (path, mode), opened, IoCall::kCreat,
               path)
DWELL_RECORDED(int, __open_2, (const char* path, int flags), (path, flags), opened, IoCall::kOpen,
               path)
DWELL_RECORDED(int, __open64_2, (const char* path, int flags), (path, flags), opened, IoCall::kOpen,
               path)
DWELL_RECORDED(int, __openat_2, (int folder, const char* path, int flags), (folder, path, flags),
               opened_at, folder, path)
DWELL_RECORDED(int, __openat64_2, (int folder, const char* path, int flags), (folder, path, flags),
               opened_at, folder, path)

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

// Functions that move bytes, with the types of what follows the descriptor.
#define ON_FILE(Result, name, call, moves, parameters, arguments) \
    DWELL_RECORDED(Result, name, parameters, arguments, on_file, IoCall::call, Moves::moves, file)
#define ON_FILE_2(name, call, moves, A, B) \
    ON_FILE(ssize_t, name, call, moves, (int file, A a, B b), (file, a, b))
#define ON_FILE_3(name, call, moves, A, B, C) \
    ON_FILE(ssize_t, name, call, moves, (int file, A a, B b, C c), (file, a, b, c))
#define ON_FILE_4(name, call, moves, A, B, C, D) \
    ON_FILE(ssize_t, name, call, moves, (int file, A a, B b, C c, D d), (file, a, b, c, d))
using Parts = const struct iovec*;
ON_FILE_2(read, kRead, kReads, void*, size_t)
ON_FILE_3(__read_chk, kRead, kReads, void*, size_t, size_t)
ON_FILE_3(pread, kPread, kReads, void*, size_t, off_t)
ON_FILE_3(pread64, kPread, kReads, void*, size_t, off64_t)
ON_FILE_4(__pread_chk, kPread, kReads, void*, size_t, off_t, size_t)
ON_FILE_4(__pread64_chk, kPread, kReads, void*, size_t, off64_t, size_t)
ON_FILE_2(readv, kReadv, kReads, Parts, int)
ON_FILE_3(preadv, kPreadv, kReads, Parts, int, off_t)
ON_FILE_3(preadv64, kPreadv, kReads, Parts, int, off64_t)
ON_FILE_4(preadv2, kPreadv2, kReads, Parts, int, off_t, int)
ON_FILE_4(preadv64v2, kPreadv2, kReads, Parts, int, off64_t, int)
ON_FILE_2(write, kWrite, kWrites, const void*, size_t)
ON_FILE_3(pwrite, kPwrite, kWrites, const void*, size_t, off_t)
ON_FILE_3(pwrite64, kPwrite, kWrites, const void*, size_t, off64_t)
ON_FILE_2(writev, kWritev, kWrites, Parts, int)
ON_FILE_3(pwritev, kPwritev, kWrites, Parts, int, off_t)
ON_FILE_3(pwritev64, kPwritev, kWrites, Parts, int, off64_t)
ON_FILE_4(pwritev2, kPwritev2, kWrites, Parts, int, off_t, int)
ON_FILE_4(pwritev64v2, kPwritev2, kWrites, Parts, int, off64_t, int)
ON_FILE(int, fsync, kFsync, kNothing, (int file), (file))
ON_FILE(int, fdatasync, kFdatasync, kNothing, (int file), (file))
// NOLINTEND(readability-identifier-naming)
}
