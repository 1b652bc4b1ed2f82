// The C library's functions on streams, interposed (DESIGN 1, nodes of kind io; rules in
// io_wrappers.cpp).
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/io/io_forward.h"

namespace dwell {

namespace {

// A call that opens a stream.
template <typename Call>
DWELL_BODY FILE* opened(const Frame* frame, IoCall call, const char* path, Call make) {
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

// A call on a stream; `bytes` and `failed` compute what to record from its result.
template <typename Call, typename Bytes, typename Failed>
DWELL_BODY auto on_stream(const Frame* frame, IoCall call, Moves moves, FILE* stream, Call make,
                          Bytes bytes, Failed failed) {
    IoStatement statement;
    if (!begin_io(&statement, call, frame, descriptor_of(stream))) [[likely]]
        return make();
    const auto result = make();
    end_moving(&statement, moves, bytes(result), failed(result));
    return result;
}

template <typename Call>
DWELL_BODY size_t on_items(const Frame* frame, IoCall call, Moves moves, FILE* stream, size_t size,
                           size_t items, Call make) {
    return on_stream(
        frame, call, moves, stream, make, [=](size_t result) { return uint64_t(result) * size; },
        [=](size_t result) { return result < items && ferror_unlocked(stream) != 0; });
}

template <typename Call>
DWELL_BODY char* read_line(const Frame* frame, FILE* stream, Call make) {
    return on_stream(
        frame, IoCall::kFgets, Moves::kReads, stream, make,
        [](const char* line) { return line != nullptr ? uint64_t(strlen(line)) : 0; },
        [=](const char* line) { return line == nullptr && ferror_unlocked(stream) != 0; });
}

template <typename Call>
DWELL_BODY ssize_t read_to(const Frame* frame, IoCall call, FILE* stream, Call make) {
    return on_stream(
        frame, call, Moves::kReads, stream, make,
        [](ssize_t result) { return result > 0 ? uint64_t(result) : 0; },
        [=](ssize_t result) { return result < 0 && ferror_unlocked(stream) != 0; });
}

// puts() writes a byte `more` than the text.
template <typename Call>
DWELL_BODY int write_text(const Frame* frame, IoCall call, FILE* stream, const char* text,
                          uint64_t more, Call make) {
    return on_stream(
        frame, call, Moves::kWrites, stream, make,
        [=](int result) { return result >= 0 ? uint64_t(strlen(text)) + more : 0; },
        [](int result) { return result < 0; });
}

template <typename Call>
DWELL_BODY int print(const Frame* frame, IoCall call, FILE* stream, Call make) {
    return on_stream(
        frame, call, Moves::kWrites, stream, make,
        [](int result) { return result > 0 ? uint64_t(result) : 0; },
        [](int result) { return result < 0; });
}

template <typename Call>
DWELL_BODY int move_stream(const Frame* frame, IoCall call, FILE* stream, Call make) {
    return on_stream(
        frame, call, Moves::kNothing, stream, make, [](int) { return uint64_t(0); },
        [](int result) { return result != 0; });
}

}  // namespace

}  // namespace dwell

using namespace dwell;

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): the C library's names
// Fortified forms, which no header declares here.
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

DWELL_EXPORT int pclose(FILE* stream) {
    const auto next = NEXT(pclose);
    forget_descriptor(descriptor_of(stream));
    return next(stream);
}
#define OPENS(name)                                                                         \
    DWELL_RECORDED(FILE*, name, (const char* path, const char* mode), (path, mode), opened, \
                   IoCall::kFopen, path)
OPENS(fopen)
OPENS(fopen64)
// The descriptor keeps its file.
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
        return opened(DWELL_FRAME(), IoCall::kFreopen, path,                    \
                      [=] { return next(path, mode, stream); });                \
    }
REOPENS(freopen)
REOPENS(freopen64)
DWELL_EXPORT int fclose(FILE* stream) {
    const auto next = NEXT(fclose);
    const int file = descriptor_of(stream);
    return move_stream(DWELL_FRAME(), IoCall::kFclose, stream, [=] {
        forget_descriptor(file);
        return next(stream);
    });
}

#define READS_ITEMS(name, parameters, arguments)                                                 \
    DWELL_RECORDED(size_t, name, parameters, arguments, on_items, IoCall::kFread, Moves::kReads, \
                   stream, size, items)
READS_ITEMS(fread, (void* buffer, size_t size, size_t items, FILE* stream),
            (buffer, size, items, stream))
READS_ITEMS(fread_unlocked, (void* buffer, size_t size, size_t items, FILE* stream),
            (buffer, size, items, stream))
READS_ITEMS(__fread_chk, (void* buffer, size_t room, size_t size, size_t items, FILE* stream),
            (buffer, room, size, items, stream))
READS_ITEMS(__fread_unlocked_chk,
            (void* buffer, size_t room, size_t size, size_t items, FILE* stream),
            (buffer, room, size, items, stream))
#define READS_LINE(name, parameters, arguments) \
    DWELL_RECORDED(char*, name, parameters, arguments, read_line, stream)
READS_LINE(fgets, (char* buffer, int size, FILE* stream), (buffer, size, stream))
READS_LINE(fgets_unlocked, (char* buffer, int size, FILE* stream), (buffer, size, stream))
READS_LINE(__fgets_chk, (char* buffer, size_t room, int size, FILE* stream),
           (buffer, room, size, stream))
READS_LINE(__fgets_unlocked_chk, (char* buffer, size_t room, int size, FILE* stream),
           (buffer, room, size, stream))
DWELL_RECORDED(ssize_t, getline, (char** line, size_t* room, FILE* stream), (line, room, stream),
               read_to, IoCall::kGetline, stream)
DWELL_RECORDED(ssize_t, getdelim, (char** line, size_t* room, int end, FILE* stream),
               (line, room, end, stream), read_to, IoCall::kGetdelim, stream)
// Generated by the compiler for getline().
DWELL_RECORDED(ssize_t, __getdelim, (char** line, size_t* room, int end, FILE* stream),
               (line, room, end, stream), read_to,
               end == '\n' ? IoCall::kGetline : IoCall::kGetdelim, stream)

#define WRITES_ITEMS(name)                                                                      \
    DWELL_RECORDED(size_t, name, (const void* buffer, size_t size, size_t items, FILE* stream), \
                   (buffer, size, items, stream), on_items, IoCall::kFwrite, Moves::kWrites,    \
                   stream, size, items)
WRITES_ITEMS(fwrite)
WRITES_ITEMS(fwrite_unlocked)
#define WRITES_TEXT(name)                                                                   \
    DWELL_RECORDED(int, name, (const char* text, FILE* stream), (text, stream), write_text, \
                   IoCall::kFputs, stream, text, 0)
WRITES_TEXT(fputs)
WRITES_TEXT(fputs_unlocked)
DWELL_RECORDED(int, puts, (const char* text), (text), write_text, IoCall::kPuts, stdout, text, 1)

#define DWELL_ALL(...) __VA_ARGS__
// A function of a list of arguments, and one with the arguments themselves, which calls the next
// function of a list as in the C library.
#define PRINTS(list, name, parameters, arguments, record, list_call, call, ...)                  \
    DWELL_RECORDED(int, list, (DWELL_ALL parameters, va_list rest), (DWELL_ALL arguments, rest), \
                   record, IoCall::list_call, __VA_ARGS__)                                       \
    DWELL_EXPORT int name(DWELL_ALL parameters, ...) {                                           \
        const auto next = NEXT(list);                                                            \
        va_list rest;                                                                            \
        va_start(rest, format);                                                                  \
        const int result = record(DWELL_FRAME(), IoCall::call, __VA_ARGS__,                      \
                                  [&] { return next(DWELL_ALL arguments, rest); });              \
        va_end(rest);                                                                            \
        return result;                                                                           \
    }
PRINTS(vfprintf, fprintf, (FILE * stream, const char* format), (stream, format), print, kVfprintf,
       kFprintf, stream)
PRINTS(__vfprintf_chk, __fprintf_chk, (FILE * stream, int flag, const char* format),
       (stream, flag, format), print, kVfprintf, kFprintf, stream)
PRINTS(vprintf, printf, (const char* format), (format), print, kVprintf, kPrintf, stdout)
PRINTS(__vprintf_chk, __printf_chk, (int flag, const char* format), (flag, format), print, kVprintf,
       kPrintf, stdout)
PRINTS(vdprintf, dprintf, (int file, const char* format), (file, format), on_file, kVdprintf,
       kDprintf, Moves::kWrites, file)
PRINTS(__vdprintf_chk, __dprintf_chk, (int file, int flag, const char* format),
       (file, flag, format), on_file, kVdprintf, kDprintf, Moves::kWrites, file)

#define MOVES(name, call, parameters, arguments) \
    DWELL_RECORDED(int, name, parameters, arguments, move_stream, IoCall::call, stream)
MOVES(fflush, kFflush, (FILE * stream), (stream))
MOVES(fflush_unlocked, kFflush, (FILE * stream), (stream))
MOVES(fseek, kFseek, (FILE * stream, long offset, int from), (stream, offset, from))
MOVES(fseeko, kFseeko, (FILE * stream, off_t offset, int from), (stream, offset, from))
MOVES(fseeko64, kFseeko, (FILE * stream, off64_t offset, int from), (stream, offset, from))
// NOLINTEND(readability-identifier-naming)
}
