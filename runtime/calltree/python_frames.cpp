// Reads the frames of the Python interpreter in this process.
#include "runtime/calltree/python_frames.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>

#include "runtime/calltree/modules.h"
#include "runtime/calltree/nodes.h"
#include "runtime/calltree/path_cache.h"
#include "runtime/calltree/texts.h"
#include "runtime/contract/python_layout.h"
#include "runtime/process/find_symbol.h"

namespace dwell {

void* (*g_python_state)() = nullptr;

namespace {

constexpr int kMostPythonFrames = 1024;   // deeper paths keep the innermost frames
constexpr uint32_t kMostTexts = 1 << 16;  // functions and lines; further ones collapse

struct Types {
    const void* code;
    const void* text;
    const void* bytes;
};
Types g_types;
std::atomic<bool> g_is_checked{false};
// Cost of reading one frame, in sixteenths of ticks: subtracted from computation.
std::atomic<uint32_t> g_frame_cost{0};

uint64_t word_at(const void* at) {
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}
uint64_t short_word(const void* at, uint64_t bytes) {
    uint64_t word = 0;
    memcpy(&word, at, bytes < sizeof(word) ? bytes : sizeof(word));
    return word;
}

// Identifies a text by its cached hash, or by its length and end.
uint64_t identity_of(const PythonText* text) {
    if (text->hash != -1) return static_cast<uint64_t>(text->hash);
    const auto length = static_cast<uint64_t>(text->length);
    const uint64_t bytes = length * static_cast<uint64_t>(text->kind());
    const uint64_t first = short_word(text->data(), bytes);
    return bytes <= 8 ? first + length : (first ^ word_at(text->data() + bytes - 8)) + length;
}

// Identifies a code object. Its memory may be reused for another, as by exec() in a loop; names,
// first line and line table tell them apart. The table is compared whole only for code without a
// file, because code from a file is hardly ever loaded twice.
uint64_t identity_of(const PythonCode* code) {
    constexpr uint64_t kMostWords = 128;  // of a longer table, evenly spread
    const PythonBytes* const lines = code->lines;
    const auto size = static_cast<uint64_t>(lines->size);
    uint64_t sum = size << 32 | static_cast<uint32_t>(code->first_line);
    sum += identity_of(code->qualified_name) * 0x9e3779b97f4a7c15ull;
    sum ^= identity_of(code->file) << 1;
    if (size < 8) return sum ^ short_word(lines->data(), size);
    const bool of_file = code->file->length != 0 && code->file->data()[0] == '/';
    const uint64_t step = of_file ? size / 2 : size < 8 * kMostWords ? 8 : size / kMostWords;
    for (uint64_t at = 0; at + 8 <= size; at += step) {
        sum = (sum << 5 | sum >> 59) ^ word_at(lines->data() + at);
    }
    return (sum << 5 | sum >> 59) ^ word_at(lines->data() + size - 8);
}

// Python state of the calling thread; null: none, or the interpreter has ended.
const PythonState* own_state() {
    void* (*const find)() = g_python_state;  // another thread may reset it
    return find != nullptr ? static_cast<const PythonState*>(find()) : nullptr;
}

const PythonFrame* innermost_frame() {
    const PythonState* const state = own_state();
    if (state == nullptr || state->cframe == nullptr) return nullptr;
    return state->cframe->frame;
}

int frames_wanted() {
    const uint32_t depth = g_process.options.callpath_depth;
    return depth != 0 && depth < kMostPythonFrames ? static_cast<int>(depth) : kMostPythonFrames;
}

struct Walk {
    uint64_t hash;
    uint32_t frames;
};
Walk walk(const PythonFrame* frame, CellIndex around) {
    Walk walk{(uint64_t{around} + 0x70797468) * 0x9e3779b97f4a7c15ull, 0};
    const auto most = static_cast<uint32_t>(frames_wanted());
    for (; frame != nullptr && walk.frames < most; frame = frame->previous, ++walk.frames) {
        const uint64_t mixed = frame->instruction * 0x9ddfea08eb382d69ull;
        walk.hash = (walk.hash ^ identity_of(frame->code) ^ mixed) * 0x9ddfea08eb382d69ull;
        walk.hash ^= walk.hash >> 29;
    }
    if (walk.hash == 0) walk.hash = 1;
    return walk;
}

bool can_read(const void* at, void* to, size_t bytes) {
    if (at == nullptr || reinterpret_cast<uintptr_t>(at) % sizeof(void*) != 0) return false;
    const iovec into{to, bytes};
    const iovec from{const_cast<void*>(at), bytes};
    return process_vm_readv(getpid(), &into, 1, &from, 1, 0) == static_cast<ssize_t>(bytes);
}

bool is_of_type(const void* object, const void* type) {
    PythonObject head;
    return can_read(object, &head, sizeof(head)) && head.type == type;
}

// Checks that the first frames have this version's layout. Reads through the kernel, so that a
// wrong address is no fault.
bool is_as_known(const PythonState* state) {
    PythonCFrame cframe;
    if (!can_read(state->cframe, &cframe, sizeof(cframe))) return false;
    PythonFrame frame;
    int frames = 0;
    for (const PythonFrame* at = cframe.frame; at != nullptr && frames < 64; ++frames) {
        PythonCode code;
        if (!can_read(at, &frame, sizeof(frame))) return false;
        if (!can_read(frame.code, &code, sizeof(code)) || code.head.type != g_types.code) {
            return false;
        }
        const uint64_t begin = frame.code->instructions();
        const bool inside = frame.instruction + 2 >= begin &&
                            frame.instruction - begin + 2 <= 2 * static_cast<uint64_t>(code.units);
        if (!inside || !is_of_type(code.file, g_types.text) ||
            !is_of_type(code.qualified_name, g_types.text) ||
            !is_of_type(code.lines, g_types.bytes)) {
            return false;
        }
        at = frame.previous;
    }
    return frames != 0;
}

void use_native(const char* why) {
    g_python_state = nullptr;
    warn_of_job("%s: call paths show the interpreter's own frames", why);
}

// Texts in the record file: an open-addressing table of their hashes.
struct Text {
    uint64_t hash;
    CellIndex cell;
};
Text* g_texts = nullptr;
uint32_t g_text_count = 0;
std::atomic<uint32_t> g_texts_in_use{0};

class TextsLock {
  public:
    TextsLock() {
        while (g_texts_in_use.exchange(1, std::memory_order_acquire) != 0) {
        }
    }
    ~TextsLock() { g_texts_in_use.store(0, std::memory_order_release); }
    TextsLock(const TextsLock&) = delete;
    TextsLock& operator=(const TextsLock&) = delete;

  private:
    ReentryGuard guarded_;  // I/O in a signal handler would wait for its own thread
};

uint64_t hash_of(const char* text, size_t bytes) {
    uint64_t hash = bytes;
    for (size_t i = 0; i < bytes; ++i) {
        hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x9ddfea08eb382d69ull;
        hash ^= hash >> 29;
    }
    return hash;
}

}  // namespace

CellIndex python_text(Thread* thread, const char* text, size_t bytes) {
    constexpr uint32_t kSlots = 2 * kMostTexts;
    const TextsLock lock;
    if (g_texts == nullptr) {
        void* const memory = mmap(nullptr, kSlots * sizeof(Text), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return 0;
        g_texts = static_cast<Text*>(memory);
    }
    const uint64_t hash = hash_of(text, bytes);
    for (uint64_t slot = hash % kSlots;; slot = (slot + 1) % kSlots) {
        Text& known = g_texts[slot];
        const TextRecord* const record =
            known.cell != 0 ? cell_at<TextRecord>(known.cell) : nullptr;
        if (record == nullptr) {
            if (g_text_count == kMostTexts) return 0;
            known = {hash, write_text(thread, text, bytes)};
            g_text_count += known.cell != 0 ? 1 : 0;
            return known.cell;
        }
        const char* const kept = reinterpret_cast<const char*>(record) + offsetof(TextRecord, text);
        if (known.hash == hash && record->bytes == bytes && memcmp(kept, text, bytes) == 0) {
            return known.cell;
        }
    }
}

namespace {

char* put_text(const PythonText* text, char* to, size_t room) {
    if (text == nullptr || text->head.type != g_types.text || !text->is_compact()) return to;
    return put_python_text(text->data(), text->kind(), text->length, to, room);
}

// The text "name\nfile:line:first line" of a live frame; 0: no room.
CellIndex text_of(Thread* thread, const PythonFrame* frame) {
    char text[kLongestPythonFrame_bytes];
    const PythonCode* const code = frame->code;
    const auto offset = static_cast<int64_t>(frame->instruction - code->instructions());
    const int line =
        code->lines->head.type == g_types.bytes
            ? python_line(code->lines->data(), code->lines->size, code->first_line, offset)
            : 0;
    char* end = put_text(code->qualified_name, text, kLongestPythonName_bytes);
    *end++ = '\n';
    end = put_text(code->file, end, kLongestPythonFile_bytes);
    end += snprintf(end, 28, ":%d:%d", line, code->first_line);
    return python_text(thread, text, static_cast<size_t>(end - text));
}

// Recursion: a function and line that is already on the path reuses its node.
CellIndex make_python_nodes(Thread* thread, const PythonFrame* innermost, CellIndex around) {
    const PythonFrame** const frames =
        static_cast<const PythonFrame**>(scratch_of(thread, kMostPythonFrames * sizeof(void*)));
    if (frames == nullptr || is_over_budget()) return around;
    int count = 0;
    const PythonFrame* frame = innermost;
    for (; frame != nullptr && count < frames_wanted(); frame = frame->previous) {
        if (frame->code->head.type != g_types.code) return around;
        const PythonText* const file = frame->code->file;
        const bool own =
            file->is_ascii() && is_python_own(file->data(), static_cast<size_t>(file->length));
        if (!own) frames[count++] = frame;
    }
    if (frame != nullptr && count == kMostPythonFrames) {
        __atomic_fetch_or(&g_process.header->flags, uint32_t{kFileCutPaths}, __ATOMIC_RELAXED);
    }
    CellIndex above = around;
    while (count-- > 0) {
        Site site{};
        site.kind = SiteKind::kCall;
        site.flags = kNodeNamed;
        site.offset = text_of(thread, frames[count]);
        if (site.offset == 0) return around;
        const CellIndex known = node_on_path(above, site);
        above = known != 0 ? known : child_of(thread, above, site);
        if (above == 0) return around;
    }
    return above;
}

// Measures the cost of a walk, without the cache misses of the first one.
void notice_cost(const PythonFrame* frame, CellIndex around) {
    constexpr uint32_t kWalks = 16;
    const uint64_t start = now_ticks();
    uint64_t hashes = 0;
    uint32_t frames = 0;
    for (uint32_t i = 0; i < kWalks; ++i) {
        asm volatile("" : "+r"(frame) : : "memory");
        const Walk again = walk(frame, around);
        hashes ^= again.hash;
        frames = again.frames;
    }
    asm volatile("" : : "r"(hashes));
    const uint64_t cost = (now_ticks() - start) * 16 / kWalks / (frames != 0 ? frames : 1);
    const uint32_t known = g_frame_cost.load(std::memory_order_relaxed);
    if (cost != 0 && cost < UINT32_MAX && (known == 0 || cost < known)) {
        g_frame_cost.store(static_cast<uint32_t>(cost), std::memory_order_relaxed);
    }
}

DWELL_COLD CellIndex find_python_path(Thread* thread, const PythonFrame* frame, uint64_t hash,
                                      CellIndex around) {
    const ToolWork work(thread);
    const CancellationDisabled cancellation;
    thread->in_tool.begin();
    const CellIndex node = make_python_nodes(thread, frame, around);
    notice_cost(frame, around);
    CachedPath* const known = cached_path(thread, hash);
    if (known != nullptr) {
        *known = CachedPath{};
        known->node = node;
        keep_known(thread, known, hash);
    }
    thread->in_tool.end();
    return node;
}

// Checks the layout once; true when frames may be read.
DWELL_COLD bool check_once() {
    static std::atomic<uint32_t> busy{0};
    const int saved_errno = errno;
    const ReentryGuard not_again;
    while (busy.exchange(1, std::memory_order_acquire) != 0) {
    }
    bool good = g_is_checked.load(std::memory_order_relaxed);
    if (!good && has_python()) {
        good = is_as_known(own_state());
        if (!good) use_native("this build of Python keeps its frames in an unknown way");
        g_is_checked.store(good, std::memory_order_release);
    }
    busy.store(0, std::memory_order_release);
    errno = saved_errno;
    return good;
}

}  // namespace

void find_python() {
    void* (*state)() = nullptr;
    if (!find_symbol(RTLD_DEFAULT, "PyGILState_GetThisThreadState", &state)) return;
    const auto* version = static_cast<const unsigned long*>(dlsym(RTLD_DEFAULT, "Py_Version"));
    g_types = {dlsym(RTLD_DEFAULT, "PyCode_Type"), dlsym(RTLD_DEFAULT, "PyUnicode_Type"),
               dlsym(RTLD_DEFAULT, "PyBytes_Type")};
    const bool known = sizeof(void*) == 8 && version != nullptr &&
                       *version >> 16 == kPythonVersion && g_types.code != nullptr &&
                       g_types.text != nullptr && g_types.bytes != nullptr;
    if (known) {
        g_python_state = state;
    } else {
        use_native("this version of Python is not 3.11");
    }
}

CellIndex python_probe_frame(Thread* thread, CellIndex around) {
    const PythonFrame* const frame = innermost_frame();
    if (frame == nullptr || thread->in_tool) return around;
    if (!g_is_checked.load(std::memory_order_acquire) && !check_once()) return around;
    const Walk here = walk(frame, around);
    const CachedPath* const known = cached_path(thread, here.hash);
    if (known == nullptr || known->hash != here.hash)
        return find_python_path(thread, frame, here.hash, around);
    thread->slow_overhead += here.frames * g_frame_cost.load(std::memory_order_relaxed) / 16;
    return known->node;
}

PythonPlaces python_places() {
    const PythonState* const state = own_state();
    if (state == nullptr || innermost_frame() == nullptr) return {};
    if (!g_is_checked.load(std::memory_order_acquire) && !check_once()) return {};
    return {reinterpret_cast<uint64_t>(state), reinterpret_cast<uint64_t>(g_types.code),
            reinterpret_cast<uint64_t>(g_types.text), reinterpret_cast<uint64_t>(g_types.bytes)};
}

uint64_t python_limit() {
    const PythonState* const state = own_state();
    return state != nullptr ? reinterpret_cast<uint64_t>(state->cframe) : 0;
}

int leave_out_between_python(Thread* thread, void** frame, int frames) {
    int kept = 0;
    for (int i = 0; i < frames; ++i) {
        const auto address = reinterpret_cast<uintptr_t>(frame[i]);
        if (!place_of_address(thread, address - 1, true).between_python) frame[kept++] = frame[i];
    }
    return kept;
}

bool is_between_python(const char* path, uint64_t start, uint64_t end) {
    const auto of_python = reinterpret_cast<uint64_t>(g_python_state);
    if (of_python == 0) return false;
    if (of_python >= start && of_python < end) return true;
    const char* const name = base_name(path);
    if (strncmp(name, "MPI.", 4) == 0 && strstr(path, "/mpi4py/") != nullptr) return true;
    for (const char* beginning : {"_ctypes.", "_cffi_backend.", "libffi.so"}) {
        if (strncmp(name, beginning, strlen(beginning)) == 0) return true;
    }
    return false;
}

}  // namespace dwell
