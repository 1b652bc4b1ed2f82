// Base of the I/O wrappers: the next definition of each function, and the steps around a call. For
// io_wrappers.cpp and io_streams.cpp, which are compiled so that the C library's headers define
// nothing that is wrapped.
//
// All of this may run in a signal handler, keeps errno as set by the call, and costs a load and a
// test while no I/O is recorded.
#ifndef DWELL_RUNTIME_IO_IO_FORWARD_H_
#define DWELL_RUNTIME_IO_IO_FORWARD_H_

#include <stdio.h>

#include "runtime/io/io_records.h"

#undef fread_unlocked
#undef fwrite_unlocked
#undef fgets_unlocked
#undef fputs_unlocked

namespace dwell {

// The next definition of each function, by symbol. Looked up when the library is loaded, because
// later a signal handler may be the first caller: it must not call dlsym(), whose dlerror() frees a
// text that may be the one to write. A constructor that runs earlier looks them up itself.
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

extern void* g_next_io[kNextCount] __attribute__((visibility("hidden")));

// Looks up and stores the definition; null where the C library has none.
DWELL_COLD void* look_up_io(int number);

template <typename Function>
DWELL_BODY Function next_io(Next number) {
    void* next = __atomic_load_n(&g_next_io[number], __ATOMIC_RELAXED);
    if (next == nullptr) [[unlikely]]
        next = look_up_io(number);
    return reinterpret_cast<Function>(next);
}

#define NEXT(name) next_io<decltype(&name)>(kNext_##name)

// Defines an exported function whose calls `record` makes and records: record(frame, ..., call).
#define DWELL_RECORDED(Result, name, parameters, arguments, record, ...)           \
    DWELL_EXPORT Result name parameters {                                          \
        const auto next = NEXT(name);                                              \
        return record(DWELL_FRAME(), __VA_ARGS__, [=] { return next arguments; }); \
    }

enum class Moves { kReads, kWrites, kNothing };

// The descriptor that the C library stores in a stream; kDescriptorLimit for a stream in memory.
DWELL_BODY int descriptor_of(const FILE* stream) {
    return stream != nullptr && stream->_fileno >= 0 ? stream->_fileno : kDescriptorLimit;
}

DWELL_BODY void end_moving(IoStatement* statement, Moves moves, uint64_t bytes, bool failed) {
    end_io(statement, moves == Moves::kReads ? bytes : 0, moves == Moves::kWrites ? bytes : 0,
           failed);
}

// A call on a descriptor that returns the number of bytes moved, or -1.
template <typename Call>
DWELL_BODY auto on_file(const Frame* frame, IoCall call, Moves moves, int file, Call make) {
    IoStatement statement;
    if (!begin_io(&statement, call, frame, file)) [[likely]]
        return make();
    const auto result = make();
    const bool moved = moves != Moves::kNothing && result > 0;
    end_moving(&statement, moves, moved ? uint64_t(result) : 0, result < 0);
    return result;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_IO_IO_FORWARD_H_
