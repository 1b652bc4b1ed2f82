// Reads the vdso of this process; see vdso.h.
#include "summarize/code/vdso.h"

#include <elf.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace dwell {
namespace {

// The image ends after the section headers or the last loaded segment; it occupies whole pages.
std::string read_image() {
    const auto* const start = reinterpret_cast<const char*>(getauxval(AT_SYSINFO_EHDR));
    if (start == nullptr) return {};
    Elf64_Ehdr header;
    std::memcpy(&header, start, sizeof header);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64) {
        return {};
    }
    uint64_t bytes = header.e_shoff + uint64_t{header.e_shnum} * header.e_shentsize;
    for (int i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment;
        std::memcpy(&segment, start + header.e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_type == PT_LOAD) {
            bytes = std::max(bytes, segment.p_offset + segment.p_filesz);
        }
    }
    return {start, bytes};
}

}  // namespace

bool is_vdso(std::string_view path) { return path == kVdsoName || path == "linux-vdso.so.1"; }

std::string* vdso_image() {
    static std::string image = read_image();
    return &image;
}

std::string vdso_function(std::string_view symbol) {
    return symbol.empty() ? kVdsoName : std::string(symbol) + " " + kVdsoName;
}

}  // namespace dwell
