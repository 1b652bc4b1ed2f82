// Reads unwind tables; see code_ranges.h. Encodings of pointers: DW_EH_PE_* of the Linux Standard
// Base; the table of call sites: "LSDA" of the Itanium C++ ABI for exceptions, as GCC and LLVM
// write it.
#include "summarize/code/code_ranges.h"

#include <dwarf.h>

#include <cstring>

namespace dwell {
namespace {

constexpr uint8_t kFormat = 0x0f;
constexpr uint8_t kNoPointer = 0xff;

// Reads bytes at an address of a module. After a read beyond the end the cursor stays invalid.
class Cursor {
  public:
    Cursor(DebugFile* file, uint64_t address) : address_(address) {
        const DebugFile::Bytes bytes = file->bytes_at(address);
        at_ = bytes.data;
        end_ = bytes.data + bytes.size;
    }

    bool good() const { return at_ != nullptr; }
    uint64_t address() const { return address_; }

    template <typename Number>
    Number number() {
        Number value{};
        if (at_ == nullptr || static_cast<size_t>(end_ - at_) < sizeof value) {
            at_ = nullptr;
            return 0;
        }
        std::memcpy(&value, at_, sizeof value);
        skip(sizeof value);
        return value;
    }
    uint64_t leb128(bool is_signed) {
        uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const auto byte = number<uint8_t>();
            value |= uint64_t{byte & 0x7fu} << shift;
            if ((byte & 0x80) != 0) continue;
            if (is_signed && (byte & 0x40) != 0 && shift + 7 < 64) value |= ~0ull << (shift + 7);
            return value;
        }
        at_ = nullptr;
        return 0;
    }
    // 0 stays 0: no pointer.
    uint64_t pointer(uint8_t encoding) {
        const uint64_t here = address_;
        uint64_t value = 0;
        switch (encoding & kFormat) {
            case DW_EH_PE_absptr:
            case DW_EH_PE_udata8:
            case DW_EH_PE_sdata8:
                value = number<uint64_t>();
                break;
            case DW_EH_PE_uleb128:
                value = leb128(false);
                break;
            case DW_EH_PE_sleb128:
                value = leb128(true);
                break;
            case DW_EH_PE_udata2:
                value = number<uint16_t>();
                break;
            case DW_EH_PE_udata4:
                value = number<uint32_t>();
                break;
            case DW_EH_PE_sdata2:
                value = static_cast<uint64_t>(int64_t{number<int16_t>()});
                break;
            case DW_EH_PE_sdata4:
                value = static_cast<uint64_t>(int64_t{number<int32_t>()});
                break;
            default:
                at_ = nullptr;
                break;
        }
        if (value == 0) return 0;
        const int base = encoding & 0x70;
        if (base == DW_EH_PE_pcrel) return value + here;
        if (base != 0) at_ = nullptr;
        return value;
    }
    void skip(size_t bytes) {
        if (at_ == nullptr || static_cast<size_t>(end_ - at_) < bytes) {
            at_ = nullptr;
            return;
        }
        at_ += bytes;
        address_ += bytes;
    }

  private:
    uint64_t address_;
    const uint8_t* at_ = nullptr;
    const uint8_t* end_ = nullptr;
};

// The encodings that a CIE defines for its FDEs.
struct Encodings {
    bool good = false;
    bool augmented = false;
    uint8_t code = DW_EH_PE_absptr;
    uint8_t landings = kNoPointer;
};

Encodings read_cie(DebugFile* file, uint64_t address) {
    Encodings found;
    Cursor at(file, address);
    at.skip(8);  // length, and the number 0 that marks a CIE
    const auto version = at.number<uint8_t>();
    std::string augmentation;
    for (char c = 0; (c = at.number<char>()) != 0;) augmentation += c;
    at.leb128(false);
    at.leb128(true);
    if (version == 1) {
        at.skip(1);
    } else {
        at.leb128(false);
    }
    found.augmented = augmentation.starts_with('z');
    if (found.augmented) at.leb128(false);
    for (const char c : augmentation) {
        if (c == 'R') found.code = at.number<uint8_t>();
        if (c == 'L') found.landings = at.number<uint8_t>();
        if (c != 'P') continue;
        const auto encoding = at.number<uint8_t>();
        at.pointer(encoding);
    }
    found.good = at.good();
    return found;
}

std::optional<CodeRange> read_fde(DebugFile* file, uint64_t address) {
    Cursor at(file, address);
    if (at.number<uint32_t>() == UINT32_MAX) return std::nullopt;  // the 64-bit form: never seen
    const uint64_t here = at.address();
    const Encodings encodings = read_cie(file, here - at.number<uint32_t>());
    CodeRange range;
    range.start = at.pointer(encodings.code);
    range.end = range.start + at.pointer(encodings.code & kFormat);
    if (encodings.augmented) at.leb128(false);
    if (encodings.landings != kNoPointer) range.landings = at.pointer(encodings.landings);
    if (!encodings.good || !at.good()) return std::nullopt;
    return range;
}

}  // namespace

std::optional<CodeRange> code_range(DebugFile* file, uint64_t address) {
    if (const uint64_t entry = file->unwind_entry(address)) {
        const std::optional<CodeRange> range = read_fde(file, entry);
        if (range && range->start <= address && address < range->end) return range;
    }
    const FunctionSymbol* const symbol = file->symbol_at(address);
    if (symbol == nullptr || symbol->end == symbol->start) return std::nullopt;
    return CodeRange{symbol->start, symbol->end, 0};
}

bool read_landings(DebugFile* file, const CodeRange& range, std::vector<Landing>* landings) {
    if (range.landings == 0) return true;
    Cursor at(file, range.landings);
    uint64_t base = range.start;
    const auto base_encoding = at.number<uint8_t>();
    if (base_encoding != kNoPointer) base = at.pointer(base_encoding);
    const auto types_encoding = at.number<uint8_t>();
    if (types_encoding != kNoPointer) at.leb128(false);
    const auto encoding = at.number<uint8_t>();
    const uint64_t bytes = at.leb128(false);
    const uint64_t end = at.address() + bytes;
    while (at.good() && at.address() < end) {
        const uint64_t start = range.start + at.pointer(encoding);
        const uint64_t length = at.pointer(encoding);
        const uint64_t landing = at.pointer(encoding);
        at.leb128(false);  // its action
        if (landing != 0) landings->push_back({start, start + length, base + landing});
    }
    return at.good();
}

}  // namespace dwell
