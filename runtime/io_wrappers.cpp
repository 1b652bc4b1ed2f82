// The C library's functions that read and write files, interposed (DESIGN 1, nodes of kind io). A
// process that is not observed, or observed without --io, pays for a load and a test; and at its
// start some 20 microseconds for the next definitions.
//
// Each wrapper makes its call outside of any bookkeeping, so it stays a cancellation point where it
// is one, and what cancels, jumps or throws through it finds nothing half done. What other
// libraries call (Fortran's and C++'s run-time libraries) counts at the statement of the program's
// that called them; what the C library calls itself is not seen, as it should be.
#include "runtime/io_wrappers.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/io_records.h"

#undef fread_unlocked
#undef fwrite_unlocked
#undef fgets_unlocked
#undef fputs_unlocked

namespace dwell {

namespace {

// The next definition of each, by the name of the symbol. They are looked up when the library is
// loaded: later a signal handler may be the first to call one, where dlsym() must not be, and the
// text of dlerror(), which it frees, may be what is to be written. A constructor that runs earlier
// looks them up itself.
// clang-format off
#define DWELL_IO(see) \
    see(open) see(open64) see(openat) see(openat64) see(creat) see(creat64) see(close) \
    see(dup2) see(dup3) see(read) see(pread) see(pread64) see(readv) see(preadv) see(preadv64) \
    see(preadv2) see(preadv64v2) see(write) see(pwrite) see(pwrite64) see(writev) see(pwritev) \
    see(pwritev64) see(pwritev2) see(pwritev64v2) see(fsync) see(fdatasync) see(close_range) \
    see(closefrom) see(__open_2) see(__open64_2) see(__openat_2) see(__openat64_2) \
    see(__read_chk) see(__pread_chk) see(__pread64_chk) see(fopen) see(fopen64) see(fdopen) \
    see(freopen) see(freopen64) see(fclose) see(fread) see(fread_unlocked) see(__fread_chk) \
    see(__fread_unlocked_chk) see(fgets) see(fgets_unlocked) see(__fgets_chk) \
    see(__fgets_unlocked_chk) see(fwrite) see(fwrite_unlocked) see(fputs) see(fputs_unlocked) \
    see(vfprintf) see(__vfprintf_chk) see(fflush) see(fflush_unlocked) see(fseek) see(fseeko) \
    see(fseeko64) see(getline) see(getdelim) see(__getdelim) see(vprintf) see(__vprintf_chk) \
    see(puts) see(vdprintf) see(__vdprintf_chk) see(pclose) see(closedir)
// clang-format on

enum Next : int {
#define DWELL_NUMBER(name) kNext_##name,
    DWELL_IO(DWELL_NUMBER) kNextCount,
#undef DWELL_NUMBER
};

constexpr const char* kNextNames[kNextCount] = {
#define DWELL_NAME(name) #name,
    DWELL_IO(DWELL_NAME)
#undef DWELL_NAME
};

DWELL_CALL_DATA void* g_next_io[kNextCount];

DWELL_COLD void* look_up(int number) {
    const int saved_errno = errno;
    void* next = dlsym(RTLD_NEXT, kNextNames[number]);
    __atomic_store_n(&g_next_io[number], next, __ATOMIC_RELAXED);
    errno = saved_errno;
    return next;
}

template <typename Function>
DWELL_BODY Function next_io(Next number) {
    void* next = __atomic_load_n(&g_next_io[number], __ATOMIC_RELAXED);
    if (next == nullptr) [[unlikely]]
        next = look_up(number);
    return reinterpret_cast<Function>(next);
}

enum class Moves { kReads, kWrites, kNothing };

// What the C library knows of a stream: -1 and less for one in memory.
DWELL_BODY int descriptor_of(const FILE* stream) {
    return stream != nullptr && stream->_fileno >= 0 ? stream->_fileno : kDescriptorLimit;
}

// A call on a descriptor whose result is what it moved, or -1.
template <Moves kMoves, typename Function, typename... Arguments>
DWELL_BODY auto on_file(IoCall call, const Frame* frame, Function next, int file,
                        Arguments... arguments) {
    IoStatement statement;
    if (!begin_io(&statement, call, frame, file)) [[likely]]
        return next(file, arguments...);
    const auto result = next(file, arguments...);
    const uint64_t bytes = kMoves != Moves::kNothing && result > 0 ? uint64_t(result) : 0;
    end_io(&statement, kMoves == Moves::kReads ? bytes : 0, kMoves == Moves::kWrites ? bytes : 0,
           result < 0);
    return result;
}

// A call that makes a descriptor.
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

template <typename Call>
DWELL_BODY FILE* opened_stream(IoCall call, const Frame* frame, const char* path, Call make) {
    IoStatement statement;
    const bool recorded = begin_io(&statement, call, frame, kNoDescriptor);
    FILE* stream = make();
    const int file = stream != nullptr ? stream->_fileno : -1;
    if (recorded) [[unlikely]] {
        end_opening(&statement, file, path);
    } else {
        forget_descriptor(file);
    }
    return stream;
}

// A call on a stream; `bytes` and `failed` tell what became of it.
template <Moves kMoves, typename Call, typename Bytes, typename Failed>
DWELL_BODY auto on_stream(IoCall call, const Frame* frame, FILE* stream, Call make, Bytes bytes,
                          Failed failed) {
    IoStatement statement;
    if (!begin_io(&statement, call, frame, descriptor_of(stream))) [[likely]]
        return make();
    const auto result = make();
    const uint64_t moved = kMoves == Moves::kNothing ? 0 : bytes(result);
    end_io(&statement, kMoves == Moves::kReads ? moved : 0, kMoves == Moves::kWrites ? moved : 0,
           failed(result));
    return result;
}

template <typename Call>
DWELL_BODY size_t read_items(const Frame* frame, FILE* stream, size_t size, size_t items,
                             Call make) {
    return on_stream<Moves::kReads>(
        IoCall::kFread, frame, stream, make,
        [size](size_t result) { return uint64_t(result) * size; },
        [items, stream](size_t result) { return result < items && ferror_unlocked(stream) != 0; });
}

template <typename Call>
DWELL_BODY size_t write_items(const Frame* frame, FILE* stream, size_t size, size_t items,
                              Call make) {
    return on_stream<Moves::kWrites>(
        IoCall::kFwrite, frame, stream, make,
        [size](size_t result) { return uint64_t(result) * size; },
        [items, stream](size_t result) { return result < items && ferror_unlocked(stream) != 0; });
}

template <typename Call>
DWELL_BODY char* read_line(const Frame* frame, FILE* stream, Call make) {
    return on_stream<Moves::kReads>(
        IoCall::kFgets, frame, stream, make,
        [](const char* line) { return line != nullptr ? uint64_t(strlen(line)) : 0; },
        [stream](const char* line) { return line == nullptr && ferror_unlocked(stream) != 0; });
}

template <typename Call>
DWELL_BODY int write_text(const Frame* frame, FILE* stream, const char* text, Call make) {
    return on_stream<Moves::kWrites>(
        IoCall::kFputs, frame, stream, make,
        [text](int result) { return result >= 0 ? uint64_t(strlen(text)) : 0; },
        [](int result) { return result < 0; });
}

template <typename Call>
DWELL_BODY ssize_t read_to(IoCall call, const Frame* frame, FILE* stream, Call make) {
    return on_stream<Moves::kReads>(
        call, frame, stream, make,
        [](ssize_t result) { return result > 0 ? uint64_t(result) : uint64_t(0); },
        [stream](ssize_t result) { return result < 0 && ferror_unlocked(stream) != 0; });
}

template <typename Call>
DWELL_BODY int print(IoCall call, const Frame* frame, FILE* stream, Call make) {
    return on_stream<Moves::kWrites>(
        call, frame, stream, make,
        [](int result) { return result > 0 ? uint64_t(result) : uint64_t(0); },
        [](int result) { return result < 0; });
}

template <typename Call>
DWELL_BODY int move_stream(IoCall call, const Frame* frame, FILE* stream, Call make) {
    return on_stream<Moves::kNothing>(
        call, frame, stream, make, [](int) { return uint64_t(0); },
        [](int result) { return result != 0; });
}

// Not inline: the header says of closedir(), which takes null for an error, that it is never given.
DWELL_COLD void forget_folder(DIR* folder) {
    if (folder != nullptr) forget_descriptor(dirfd(folder));
}

}  // namespace

void find_io_functions() {
    for (int number = 0; number < kNextCount; ++number) {
        if (g_next_io[number] == nullptr) look_up(number);
    }
    dlerror();  // what an older C library has not is no error of the program's
}

}  // namespace dwell

using namespace dwell;

#define NEXT(name) next_io<decltype(&name)>(kNext_##name)

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
size_t __fread_chk(void* buffer, size_t room, size_t size, size_t items, FILE* stream);
size_t __fread_unlocked_chk(void* buffer, size_t room, size_t size, size_t items, FILE* stream);
char* __fgets_chk(char* buffer, size_t room, int size, FILE* stream);
char* __fgets_unlocked_chk(char* buffer, size_t room, int size, FILE* stream);
int __fprintf_chk(FILE* stream, int flag, const char* format, ...);
int __vfprintf_chk(FILE* stream, int flag, const char* format, va_list arguments);
int __printf_chk(int flag, const char* format, ...);
int __vprintf_chk(int flag, const char* format, va_list arguments);
int __dprintf_chk(int file, int flag, const char* format, ...);
int __vdprintf_chk(int file, int flag, const char* format, va_list arguments);

// The mode is taken whether it was given or not, as the C library does for the flags that need it.
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

// The number may be given to another file as soon as the call is under way.
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

// What closes descriptors in ways of its own, of which another one may have the number then.
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
DWELL_EXPORT int pclose(FILE* stream) {
    const auto next = NEXT(pclose);
    forget_descriptor(descriptor_of(stream));
    return next(stream);
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

DWELL_EXPORT FILE* fopen(const char* path, const char* mode) {
    const auto next = NEXT(fopen);
    return opened_stream(IoCall::kFopen, DWELL_FRAME(), path, [=] { return next(path, mode); });
}
DWELL_EXPORT FILE* fopen64(const char* path, const char* mode) {
    const auto next = NEXT(fopen64);
    return opened_stream(IoCall::kFopen, DWELL_FRAME(), path, [=] { return next(path, mode); });
}
// The descriptor stays what it is.
DWELL_EXPORT FILE* fdopen(int file, const char* mode) noexcept {
    const auto next = NEXT(fdopen);
    IoStatement statement;
    const bool recorded = begin_io(&statement, IoCall::kFdopen, DWELL_FRAME(), file);
    FILE* stream = next(file, mode);
    if (recorded) [[unlikely]]
        end_io(&statement, 0, 0, stream == nullptr);
    return stream;
}
#define REOPENS(name)                                                           \
    DWELL_EXPORT FILE* name(const char* path, const char* mode, FILE* stream) { \
        const auto next = NEXT(name);                                           \
        if (stream != nullptr) forget_descriptor(stream->_fileno);              \
        return opened_stream(IoCall::kFreopen, DWELL_FRAME(), path,             \
                             [=] { return next(path, mode, stream); });         \
    }
REOPENS(freopen)
REOPENS(freopen64)
DWELL_EXPORT int fclose(FILE* stream) {
    const auto next = NEXT(fclose);
    const int file = descriptor_of(stream);
    return move_stream(IoCall::kFclose, DWELL_FRAME(), stream, [=] {
        forget_descriptor(file);
        return next(stream);
    });
}

DWELL_EXPORT size_t fread(void* buffer, size_t size, size_t items, FILE* stream) {
    const auto next = NEXT(fread);
    return read_items(DWELL_FRAME(), stream, size, items,
                      [=] { return next(buffer, size, items, stream); });
}
DWELL_EXPORT size_t fread_unlocked(void* buffer, size_t size, size_t items, FILE* stream) {
    const auto next = NEXT(fread_unlocked);
    return read_items(DWELL_FRAME(), stream, size, items,
                      [=] { return next(buffer, size, items, stream); });
}
DWELL_EXPORT size_t __fread_chk(void* buffer, size_t room, size_t size, size_t items,
                                FILE* stream) {
    const auto next = NEXT(__fread_chk);
    return read_items(DWELL_FRAME(), stream, size, items,
                      [=] { return next(buffer, room, size, items, stream); });
}
DWELL_EXPORT size_t __fread_unlocked_chk(void* buffer, size_t room, size_t size, size_t items,
                                         FILE* stream) {
    const auto next = NEXT(__fread_unlocked_chk);
    return read_items(DWELL_FRAME(), stream, size, items,
                      [=] { return next(buffer, room, size, items, stream); });
}
DWELL_EXPORT char* fgets(char* buffer, int size, FILE* stream) {
    const auto next = NEXT(fgets);
    return read_line(DWELL_FRAME(), stream, [=] { return next(buffer, size, stream); });
}
DWELL_EXPORT char* fgets_unlocked(char* buffer, int size, FILE* stream) {
    const auto next = NEXT(fgets_unlocked);
    return read_line(DWELL_FRAME(), stream, [=] { return next(buffer, size, stream); });
}
DWELL_EXPORT char* __fgets_chk(char* buffer, size_t room, int size, FILE* stream) {
    const auto next = NEXT(__fgets_chk);
    return read_line(DWELL_FRAME(), stream, [=] { return next(buffer, room, size, stream); });
}
DWELL_EXPORT char* __fgets_unlocked_chk(char* buffer, size_t room, int size, FILE* stream) {
    const auto next = NEXT(__fgets_unlocked_chk);
    return read_line(DWELL_FRAME(), stream, [=] { return next(buffer, room, size, stream); });
}
DWELL_EXPORT ssize_t getline(char** line, size_t* room, FILE* stream) {
    const auto next = NEXT(getline);
    return read_to(IoCall::kGetline, DWELL_FRAME(), stream,
                   [=] { return next(line, room, stream); });
}
DWELL_EXPORT ssize_t getdelim(char** line, size_t* room, int end, FILE* stream) {
    const auto next = NEXT(getdelim);
    return read_to(IoCall::kGetdelim, DWELL_FRAME(), stream,
                   [=] { return next(line, room, end, stream); });
}
// What the compiler makes of getline().
DWELL_EXPORT ssize_t __getdelim(char** line, size_t* room, int end, FILE* stream) {
    const auto next = NEXT(__getdelim);
    return read_to(end == '\n' ? IoCall::kGetline : IoCall::kGetdelim, DWELL_FRAME(), stream,
                   [=] { return next(line, room, end, stream); });
}
DWELL_EXPORT size_t fwrite(const void* buffer, size_t size, size_t items, FILE* stream) {
    const auto next = NEXT(fwrite);
    return write_items(DWELL_FRAME(), stream, size, items,
                       [=] { return next(buffer, size, items, stream); });
}
DWELL_EXPORT size_t fwrite_unlocked(const void* buffer, size_t size, size_t items, FILE* stream) {
    const auto next = NEXT(fwrite_unlocked);
    return write_items(DWELL_FRAME(), stream, size, items,
                       [=] { return next(buffer, size, items, stream); });
}
DWELL_EXPORT int fputs(const char* text, FILE* stream) {
    const auto next = NEXT(fputs);
    return write_text(DWELL_FRAME(), stream, text, [=] { return next(text, stream); });
}
DWELL_EXPORT int fputs_unlocked(const char* text, FILE* stream) {
    const auto next = NEXT(fputs_unlocked);
    return write_text(DWELL_FRAME(), stream, text, [=] { return next(text, stream); });
}
DWELL_EXPORT int vfprintf(FILE* stream, const char* format, va_list arguments) {
    const auto next = NEXT(vfprintf);
    return print(IoCall::kVfprintf, DWELL_FRAME(), stream,
                 [&] { return next(stream, format, arguments); });
}
DWELL_EXPORT int __vfprintf_chk(FILE* stream, int flag, const char* format, va_list arguments) {
    const auto next = NEXT(__vfprintf_chk);
    return print(IoCall::kVfprintf, DWELL_FRAME(), stream,
                 [&] { return next(stream, flag, format, arguments); });
}
// The C library's own are their v forms as well.
DWELL_EXPORT int fprintf(FILE* stream, const char* format, ...) {
    const auto next = NEXT(vfprintf);
    va_list arguments;
    va_start(arguments, format);
    const int result = print(IoCall::kFprintf, DWELL_FRAME(), stream,
                             [&] { return next(stream, format, arguments); });
    va_end(arguments);
    return result;
}
DWELL_EXPORT int __fprintf_chk(FILE* stream, int flag, const char* format, ...) {
    const auto next = NEXT(__vfprintf_chk);
    va_list arguments;
    va_start(arguments, format);
    const int result = print(IoCall::kFprintf, DWELL_FRAME(), stream,
                             [&] { return next(stream, flag, format, arguments); });
    va_end(arguments);
    return result;
}
DWELL_EXPORT int vprintf(const char* format, va_list arguments) {
    const auto next = NEXT(vprintf);
    return print(IoCall::kVprintf, DWELL_FRAME(), stdout, [&] { return next(format, arguments); });
}
DWELL_EXPORT int __vprintf_chk(int flag, const char* format, va_list arguments) {
    const auto next = NEXT(__vprintf_chk);
    return print(IoCall::kVprintf, DWELL_FRAME(), stdout,
                 [&] { return next(flag, format, arguments); });
}
DWELL_EXPORT int printf(const char* format, ...) {
    const auto next = NEXT(vprintf);
    va_list arguments;
    va_start(arguments, format);
    const int result =
        print(IoCall::kPrintf, DWELL_FRAME(), stdout, [&] { return next(format, arguments); });
    va_end(arguments);
    return result;
}
DWELL_EXPORT int __printf_chk(int flag, const char* format, ...) {
    const auto next = NEXT(__vprintf_chk);
    va_list arguments;
    va_start(arguments, format);
    const int result = print(IoCall::kPrintf, DWELL_FRAME(), stdout,
                             [&] { return next(flag, format, arguments); });
    va_end(arguments);
    return result;
}
DWELL_EXPORT int vdprintf(int file, const char* format, va_list arguments) {
    return on_file<Moves::kWrites>(IoCall::kVdprintf, DWELL_FRAME(), NEXT(vdprintf), file, format,
                                   arguments);
}
DWELL_EXPORT int __vdprintf_chk(int file, int flag, const char* format, va_list arguments) {
    return on_file<Moves::kWrites>(IoCall::kVdprintf, DWELL_FRAME(), NEXT(__vdprintf_chk), file,
                                   flag, format, arguments);
}
DWELL_EXPORT int dprintf(int file, const char* format, ...) {
    const auto next = NEXT(vdprintf);
    va_list arguments;
    va_start(arguments, format);
    const int result =
        on_file<Moves::kWrites>(IoCall::kDprintf, DWELL_FRAME(), next, file, format, arguments);
    va_end(arguments);
    return result;
}
DWELL_EXPORT int __dprintf_chk(int file, int flag, const char* format, ...) {
    const auto next = NEXT(__vdprintf_chk);
    va_list arguments;
    va_start(arguments, format);
    const int result = on_file<Moves::kWrites>(IoCall::kDprintf, DWELL_FRAME(), next, file, flag,
                                               format, arguments);
    va_end(arguments);
    return result;
}
// The line's end counts, too.
DWELL_EXPORT int puts(const char* text) {
    const auto next = NEXT(puts);
    return on_stream<Moves::kWrites>(
        IoCall::kPuts, DWELL_FRAME(), stdout, [=] { return next(text); },
        [text](int result) { return result >= 0 ? uint64_t(strlen(text)) + 1 : 0; },
        [](int result) { return result < 0; });
}
DWELL_EXPORT int fflush(FILE* stream) {
    const auto next = NEXT(fflush);
    return move_stream(IoCall::kFflush, DWELL_FRAME(), stream, [=] { return next(stream); });
}
DWELL_EXPORT int fflush_unlocked(FILE* stream) {
    const auto next = NEXT(fflush_unlocked);
    return move_stream(IoCall::kFflush, DWELL_FRAME(), stream, [=] { return next(stream); });
}
DWELL_EXPORT int fseek(FILE* stream, long offset, int from) {
    const auto next = NEXT(fseek);
    return move_stream(IoCall::kFseek, DWELL_FRAME(), stream,
                       [=] { return next(stream, offset, from); });
}
DWELL_EXPORT int fseeko(FILE* stream, off_t offset, int from) {
    const auto next = NEXT(fseeko);
    return move_stream(IoCall::kFseeko, DWELL_FRAME(), stream,
                       [=] { return next(stream, offset, from); });
}
DWELL_EXPORT int fseeko64(FILE* stream, off64_t offset, int from) {
    const auto next = NEXT(fseeko64);
    return move_stream(IoCall::kFseeko, DWELL_FRAME(), stream,
                       [=] { return next(stream, offset, from); });
}
// NOLINTEND(readability-identifier-naming)
}
