// Data structures of CPython 3.11 that dwell reads by offset: Include/cpython/pystate.h, code.h,
// unicodeobject.h, Include/internal/pycore_frame.h of that version, with pointers of 64 bits.
#ifndef DWELL_RUNTIME_CONTRACT_PYTHON_LAYOUT_H_
#define DWELL_RUNTIME_CONTRACT_PYTHON_LAYOUT_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <initializer_list>

namespace dwell {

// Where a thread keeps its Python frames, and addresses of types that identify them, in its
// process.
struct PythonPlaces {
    uint64_t state;  // 0: no Python
    uint64_t code_type;
    uint64_t text_type;
    uint64_t bytes_type;
};

constexpr uint32_t kPythonVersion = 0x030b;  // the upper half of Py_Version

struct PythonObject {
    int64_t references;
    const void* type;
};
struct PythonText {  // of kind 1, 2 or 4 bytes a character
    PythonObject head;
    int64_t length;
    int64_t hash;  // -1: not computed
    uint32_t state;
    uint32_t unused;
    const void* wide;
    int kind() const { return static_cast<int>(state >> 2 & 7); }
    bool is_compact() const { return (state >> 5 & 1) != 0; }
    bool is_ascii() const { return (state >> 6 & 1) != 0; }
    const char* data() const {
        return reinterpret_cast<const char*>(this) + sizeof(PythonText) + (is_ascii() ? 0 : 24);
    }
};
struct PythonBytes {
    PythonObject head;
    int64_t size;
    int64_t hash;
    const uint8_t* data() const { return reinterpret_cast<const uint8_t*>(this + 1); }
};
struct PythonCode {
    PythonObject head;
    int64_t units;  // of two bytes, of the instructions
    const void* not_read[4];
    int32_t numbers[4];
    int32_t first_line;
    int32_t more_numbers[5];
    const void* locals[2];
    const PythonText* file;
    const PythonText* name;
    const PythonText* qualified_name;
    const PythonBytes* lines;
    const void* rest[5];
    uint64_t instructions() const { return reinterpret_cast<uint64_t>(this + 1); }
};
struct PythonFrame {
    const void* not_read[4];
    const PythonCode* code;
    const void* object;
    const PythonFrame* previous;
    uint64_t instruction;  // the last one executed
};
struct PythonCFrame {  // on the C stack, one for each activation of the interpreter's loop
    uint64_t tracing;
    const PythonFrame* frame;
    const PythonCFrame* previous;
};
struct PythonState {
    const void* not_read[7];
    const PythonCFrame* cframe;
};

static_assert(sizeof(PythonText) == 48);
static_assert(sizeof(PythonBytes) == 32);
static_assert(offsetof(PythonCode, first_line) == 72);
static_assert(offsetof(PythonCode, file) == 112);
static_assert(offsetof(PythonCode, lines) == 136);
static_assert(sizeof(PythonCode) == 184);
static_assert(offsetof(PythonFrame, code) == 32);
static_assert(offsetof(PythonFrame, previous) == 48);
static_assert(offsetof(PythonFrame, instruction) == 56);
static_assert(offsetof(PythonState, cframe) == 56);

// Copies characters of `kind` bytes each as UTF-8, without line ends, as far as there is room;
// returns the new end.
inline char* put_python_text(const char* data, int kind, int64_t length, char* to, size_t room) {
    char* const end = to + room;
    for (int64_t i = 0; i < length && end - to >= 4; ++i) {
        uint32_t point = 0;
        memcpy(&point, data + i * kind, static_cast<size_t>(kind));
        if (point == '\n' || point == 0) point = ' ';
        if (point < 0x80) {
            *to++ = static_cast<char>(point);
            continue;
        }
        const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
        constexpr uint8_t kHeads[] = {0, 0xc0, 0xe0, 0xf0};
        *to++ = static_cast<char>(kHeads[more] | point >> (6 * more));
        for (int k = more - 1; k >= 0; --k) {
            *to++ = static_cast<char>(0x80 | (point >> (6 * k) & 0x3f));
        }
    }
    return to;
}

// Frame names in the record file: "name\nfile:line:first line".
constexpr size_t kLongestPythonName_bytes = 400;
constexpr size_t kLongestPythonFile_bytes = 1000;
constexpr size_t kLongestPythonFrame_bytes =
    kLongestPythonName_bytes + kLongestPythonFile_bytes + 40;

// Files of the interpreter's own code around the program's: of import statements, between them and
// the module that they load, and of `python -m`.
inline bool is_python_own(const char* file, size_t bytes) {
    for (const char* own : {"<frozen importlib.", "<frozen runpy>"}) {
        const size_t length = strlen(own);
        if (bytes >= length && memcmp(file, own, length) == 0) return true;
    }
    return false;
}

// The line of the instruction at `offset` bytes (Objects/locations.md): each entry is a first byte
// with kind and length and then, depending on the kind, numbers of six bits a byte.
inline int python_line(const uint8_t* table, int64_t size, int32_t first_line, int64_t offset) {
    const uint8_t* at = table;
    const uint8_t* const end = table + size;
    const auto read_number = [&] {
        uint32_t number = 0;
        for (int shift = 0; at < end && shift < 32; shift += 6) {
            const uint8_t byte = *at++;
            number |= uint32_t{byte & 63u} << shift;
            if ((byte & 64) == 0) break;
        }
        return number;
    };
    const auto read_difference = [&] {
        const uint32_t number = read_number();
        const auto half = static_cast<int32_t>(number >> 1);
        return (number & 1) != 0 ? -half : half;
    };
    int32_t line = first_line;
    for (int64_t reached = 0; at < end;) {
        const uint8_t head = *at++;
        const int kind = head >> 3 & 15;
        if (kind == 13 || kind == 14) line += read_difference();
        if (kind >= 10 && kind <= 12) line += kind - 10;
        reached += 2 * ((head & 7) + 1);
        if (offset < reached) return kind == 15 ? 0 : line;
        while (at < end && (*at & 128) == 0) ++at;
    }
    return first_line;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_PYTHON_LAYOUT_H_
