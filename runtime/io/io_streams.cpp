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

// A call on a stream; `bytes` and `failed` compute the result to record.
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
DWELL_EXPORT FILE* fopen(const char* path, const char* mode) {
    const auto next = NEXT(fopen);
    return opened_stream(IoCall::kFopen, DWELL_FRAME(), path, [=] { return next(path, mode); });
}
DWELL_EXPORT FILE* fopen64(const char* path, const char* mode) {
    const auto next = NEXT(fopen64);
    return opened_stream(IoCall::kFopen, DWELL_FRAME(), path, [=] { return next(path, mode); });
}
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
// Generated by the compiler for getline().
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
// As in the C library, implemented by the v form.
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
// The end of the line counts, too.
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
