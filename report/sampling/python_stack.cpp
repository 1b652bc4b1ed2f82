// Reads the Python frames of a running thread from outside; see python_stack.h.
#include "report/sampling/python_stack.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace dwell {
namespace {

constexpr int kMostFrames = 256;
constexpr size_t kMostCodes = 4096;
constexpr size_t kStep_bytes = 8;  // records are multiples of this
constexpr int64_t kLongestTable_bytes = 1 << 20;

uint64_t address_of(const void* at) { return reinterpret_cast<uint64_t>(at); }

}  // namespace

PythonStack::PythonStack(pid_t process, const PythonPlaces& places)
    : process_(process), places_(places), record_(kPythonSample_bytes) {}

bool PythonStack::copy(uint64_t from, void* to, size_t bytes) const {
    if (from == 0 || from % sizeof(void*) != 0) return false;
    const iovec into{to, bytes};
    const iovec there{reinterpret_cast<void*>(from), bytes};
    return process_vm_readv(process_, &into, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

bool PythonStack::copy_text(const PythonText* from, size_t room, std::string* to) const {
    PythonText text;
    if (!copy(address_of(from), &text, sizeof text)) return false;
    const int kind = text.kind();
    const bool good = address_of(text.head.type) == places_.text_type && text.is_compact() &&
                      (kind == 1 || kind == 2 || kind == 4) && text.length >= 0;
    if (!good) return false;
    const auto length = std::min<int64_t>(text.length, static_cast<int64_t>(room));
    std::vector<char> data(static_cast<size_t>(length * kind));
    // Depends on the place of the head, which was copied.
    const auto begin = static_cast<uint64_t>(text.data() - reinterpret_cast<const char*>(&text));
    if (!data.empty() && !copy(address_of(from) + begin, data.data(), data.size())) return false;
    to->resize(room);
    to->resize(static_cast<size_t>(put_python_text(data.data(), kind, length, to->data(), room) -
                                   to->data()));
    return true;
}

// Null if the code no longer exists.
const PythonStack::Code* PythonStack::code_at(const PythonCode* address) {
    PythonCode head;
    if (!copy(address_of(address), &head, sizeof head)) return nullptr;
    if (address_of(head.head.type) != places_.code_type) return nullptr;
    const auto known = codes_.find(address);
    // Code without a file may have been replaced by other code at the same address with names at
    // the same addresses.
    if (known != codes_.end() && known->second.file[0] == '/' &&
        known->second.head.file == head.file && known->second.head.lines == head.lines &&
        known->second.head.qualified_name == head.qualified_name &&
        known->second.head.first_line == head.first_line) {
        return &known->second;
    }
    if (codes_.size() >= kMostCodes) codes_.clear();
    Code code{head, {}, {}, {}};
    PythonBytes lines;
    if (!copy_text(head.qualified_name, kLongestPythonName_bytes, &code.name) ||
        !copy_text(head.file, kLongestPythonFile_bytes, &code.file) ||
        !copy(address_of(head.lines), &lines, sizeof lines) ||
        address_of(lines.head.type) != places_.bytes_type || lines.size < 0 ||
        lines.size > kLongestTable_bytes) {
        return nullptr;
    }
    code.lines.resize(static_cast<size_t>(lines.size));
    const uint64_t begin = address_of(head.lines) + sizeof lines;
    if (lines.size != 0 && !copy(begin, code.lines.data(), code.lines.size())) return nullptr;
    return &(codes_[address] = std::move(code));
}

// Returns false without room.
bool PythonStack::add_frame(const PythonFrame& frame, const Code& code) {
    if (is_python_own(code.file.data(), code.file.size())) return true;
    const auto offset = static_cast<int64_t>(frame.instruction - frame.code->instructions());
    const int line = python_line(code.lines.data(), static_cast<int64_t>(code.lines.size()),
                                 code.head.first_line, offset);
    char numbers[32];
    std::snprintf(numbers, sizeof numbers, ":%d:%d", line, code.head.first_line);
    const std::string text = code.name + '\n' + code.file + numbers;
    if (record_bytes_ + text.size() + 2 * kStep_bytes > record_.size()) return false;
    std::memcpy(record_.data() + record_bytes_, text.c_str(), text.size() + 1);
    record_bytes_ += text.size() + 1;
    return true;
}

bool PythonStack::read() {
    PythonState state;
    PythonCFrame cframe;
    if (!copy(places_.state, &state, sizeof state)) return false;
    if (!copy(address_of(state.cframe), &cframe, sizeof cframe)) return false;
    perf_event_header header{};
    header.type = kPythonSample;
    record_bytes_ = sizeof header;
    int frames = 0;
    for (const PythonFrame* at = cframe.frame; at != nullptr; ++frames) {
        PythonFrame frame;
        if (!copy(address_of(at), &frame, sizeof frame)) return false;
        const Code* const code = code_at(frame.code);
        if (code == nullptr) return false;
        const uint64_t offset = frame.instruction + 2 - frame.code->instructions();
        if (offset > 2 * static_cast<uint64_t>(code->head.units)) return false;
        if (frames == kMostFrames || !add_frame(frame, *code)) {
            header.misc = kPythonCut;
            break;
        }
        at = frame.previous;
    }
    if (record_bytes_ == sizeof header) return false;
    do {
        record_[record_bytes_++] = '\0';
    } while (record_bytes_ % kStep_bytes != 0);
    header.size = static_cast<uint16_t>(record_bytes_);
    std::memcpy(record_.data(), &header, sizeof header);
    return true;
}

}  // namespace dwell
