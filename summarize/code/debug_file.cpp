// Finds and opens the files of a module (DESIGN 3). Separate debug files follow the conventions of
// gdb: by build-id under the debug root, then by .gnu_debuglink.
#include "summarize/code/debug_file.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "summarize/code/vdso.h"

namespace dwell {
namespace {

std::string_view build_id_of(Elf* elf) {
    const void* id = nullptr;
    const ssize_t bytes = dwelf_elf_gnu_build_id(elf, &id);
    if (bytes <= 0) return {};
    return {static_cast<const char*>(id), static_cast<size_t>(bytes)};
}

std::string hex(std::string_view bytes) {
    static const char kDigits[] = "0123456789abcdef";
    std::string text;
    for (const char byte : bytes) {
        text += kDigits[static_cast<unsigned char>(byte) >> 4];
        text += kDigits[static_cast<unsigned char>(byte) & 15];
    }
    return text;
}

// The checksum of .gnu_debuglink.
uint32_t file_crc(Elf* elf) {
    size_t size = 0;
    const auto* const bytes = reinterpret_cast<const Bytef*>(elf_rawfile(elf, &size));
    return bytes == nullptr ? 0 : static_cast<uint32_t>(crc32_z(0, bytes, size));
}

// Lower is better when several symbols start at one address: a name from C++ or Fortran source
// comes before aliases with leading underscores.
int alias_rank(const char* name) { return name[0] == '_' && name[1] == '_' ? 1 : 0; }

}  // namespace

DebugFile::~DebugFile() {
    if (dwarf_ != nullptr) dwarf_end(dwarf_);
    close_elf(&debug_);
    close_elf(&image_);
}

bool DebugFile::open_elf(const std::string& path, OpenElf* opened) {
    if (is_vdso(path)) {
        opened->elf = elf_memory(vdso_image()->data(), vdso_image()->size());
    } else {
        opened->fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (opened->fd < 0) return false;
        opened->elf = elf_begin(opened->fd, ELF_C_READ_MMAP_PRIVATE, nullptr);
    }
    if (opened->elf != nullptr && elf_kind(opened->elf) == ELF_K_ELF) return true;
    close_elf(opened);
    return false;
}

void DebugFile::close_elf(OpenElf* opened) {
    if (opened->elf != nullptr) elf_end(opened->elf);
    if (opened->fd >= 0) close(opened->fd);
    *opened = OpenElf{};
}

void DebugFile::open(const std::string& path, std::string_view build_id,
                     const std::string& debug_root) {
    elf_version(EV_CURRENT);
    if (!open_elf(path, &image_)) {
        state_ = ModuleState::kMissing;
        return;
    }
    if (!build_id.empty() && build_id_of(image_.elf) != build_id) {
        state_ = ModuleState::kChanged;
        close_elf(&image_);
        return;
    }
    state_ = ModuleState::kSymbols;
    if (!start_dwarf(image_.elf)) find_separate_debug_file(path, debug_root);
    if (dwarf_ != nullptr) state_ = ModuleState::kLines;
    // A program may have more modules than this process can have descriptors.
    for (OpenElf* opened : {&image_, &debug_}) {
        if (opened->fd < 0 || elf_cntl(opened->elf, ELF_C_FDREAD) != 0) continue;
        close(opened->fd);
        opened->fd = -1;
    }
}

bool DebugFile::start_dwarf(Elf* elf) {
    Dwarf* const dwarf = dwarf_begin_elf(elf, DWARF_C_READ, nullptr);
    if (dwarf == nullptr) return false;
    Dwarf_Off next = 0;
    size_t header_bytes = 0;
    if (dwarf_nextcu(dwarf, 0, &next, &header_bytes, nullptr, nullptr, nullptr) != 0) {
        dwarf_end(dwarf);
        return false;
    }
    dwarf_ = dwarf;
    return true;
}

// With a build-id the candidate must have the same one; otherwise its checksum must match.
bool DebugFile::adopt_debug_file(const std::string& path, std::string_view build_id,
                                 const uint32_t* crc) {
    OpenElf candidate;
    if (!open_elf(path, &candidate)) return false;
    const bool same = !build_id.empty() ? build_id_of(candidate.elf) == build_id
                                        : crc != nullptr && file_crc(candidate.elf) == *crc;
    if (same && start_dwarf(candidate.elf)) {
        debug_ = candidate;
        return true;
    }
    close_elf(&candidate);
    return false;
}

void DebugFile::find_separate_debug_file(const std::string& path, const std::string& debug_root) {
    const std::string_view id = build_id_of(image_.elf);
    if (id.size() > 1) {
        const std::string name = hex(id);
        if (adopt_debug_file(
                debug_root + "/.build-id/" + name.substr(0, 2) + "/" + name.substr(2) + ".debug",
                id, nullptr)) {
            return;
        }
    }
    GElf_Word crc = 0;
    const char* const link = dwelf_elf_gnu_debuglink(image_.elf, &crc);
    if (link == nullptr) return;
    std::string real = path;
    if (char* const resolved = realpath(path.c_str(), nullptr)) {
        real = resolved;
        free(resolved);
    }
    const size_t slash = real.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : real.substr(0, slash);
    for (const std::string& candidate :
         {folder + "/" + link, folder + "/.debug/" + link, debug_root + folder + "/" + link}) {
        if (candidate != real && adopt_debug_file(candidate, id, &crc)) return;
    }
}

static uint64_t end_of_section(Elf* elf, const GElf_Sym& symbol) {
    GElf_Shdr header;
    Elf_Scn* const section = elf_getscn(elf, symbol.st_shndx);
    const bool known = section != nullptr && gelf_getshdr(section, &header) != nullptr;
    return known ? header.sh_addr + header.sh_size : symbol.st_value;
}

void DebugFile::read_symbol_table(Elf* elf, uint32_t section_type) {
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == nullptr || header.sh_type != section_type) continue;
        Elf_Data* const data = elf_getdata(section, nullptr);
        if (data == nullptr || header.sh_entsize == 0) continue;
        const size_t count = header.sh_size / header.sh_entsize;
        for (size_t i = 0; i < count; ++i) {
            GElf_Sym symbol;
            if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
            const int type = GELF_ST_TYPE(symbol.st_info);
            const bool code = type == STT_FUNC || type == STT_GNU_IFUNC ||
                              (type == STT_NOTYPE && symbol.st_size != 0);
            if (!code || symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) continue;
            const char* const name = elf_strptr(elf, header.sh_link, symbol.st_name);
            if (name == nullptr || *name == '\0') continue;
            const uint64_t end = symbol.st_value + symbol.st_size;
            const uint64_t limit = symbol.st_size != 0 ? end : end_of_section(elf, symbol);
            symbols_.push_back({symbol.st_value, end, limit, name});
        }
    }
}

void DebugFile::read_symbols() {
    symbols_read_ = true;
    if (image_.elf == nullptr) return;
    read_symbol_table(image_.elf, SHT_SYMTAB);
    if (symbols_.empty() && debug_.elf != nullptr) read_symbol_table(debug_.elf, SHT_SYMTAB);
    if (symbols_.empty()) read_symbol_table(image_.elf, SHT_DYNSYM);
    std::sort(symbols_.begin(), symbols_.end(), [](const auto& a, const auto& b) {
        if (a.start != b.start) return a.start < b.start;
        if (alias_rank(a.name) != alias_rank(b.name)) {
            return alias_rank(a.name) < alias_rank(b.name);
        }
        return std::strcmp(a.name, b.name) < 0;
    });
    for (const FunctionSymbol& symbol : symbols_) {
        const auto [at, is_new] = addresses_.try_emplace(symbol.name, symbol.start);
        if (!is_new && at->second != symbol.start) at->second = 0;
    }
}

const FunctionSymbol* DebugFile::symbol_at(uint64_t address) {
    if (!symbols_read_) read_symbols();
    auto after = std::upper_bound(
        symbols_.begin(), symbols_.end(), address,
        [](uint64_t wanted, const FunctionSymbol& symbol) { return wanted < symbol.start; });
    if (after == symbols_.begin()) return nullptr;
    const uint64_t start = std::prev(after)->start;
    const FunctionSymbol* found = nullptr;
    while (after != symbols_.begin() && std::prev(after)->start == start) {
        --after;
        if (address < after->limit) found = &*after;
    }
    return found;
}

uint64_t DebugFile::address_of(const std::string& name) {
    if (!symbols_read_) read_symbols();
    const auto found = addresses_.find(name);
    return found == addresses_.end() ? 0 : found->second;
}

// .eh_frame_hdr (Linux Standard Base, "Exception Frames"): version 1, three encoding bytes, pointer
// to .eh_frame, count, then pairs sorted by start. Linkers write the pairs as 4-byte offsets from
// the section (encoding 0x3b) and pointer and count in 4 bytes; other forms are not read.
void DebugFile::read_unwind_table() {
    unwind_read_ = true;
    if (image_.elf == nullptr) return;
    size_t names = 0;
    if (elf_getshdrstrndx(image_.elf, &names) != 0) return;
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(image_.elf, section)) != nullptr;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == nullptr) continue;
        const char* const name = elf_strptr(image_.elf, names, header.sh_name);
        if (name == nullptr || std::strcmp(name, ".eh_frame_hdr") != 0) continue;
        const Elf_Data* const data = elf_rawdata(section, nullptr);
        if (data == nullptr || data->d_buf == nullptr || data->d_size < 12) return;
        const auto* const bytes = static_cast<const unsigned char*>(data->d_buf);
        if (bytes[0] != 1 || bytes[1] != 0x1b || bytes[2] != 0x03 || bytes[3] != 0x3b) return;
        uint32_t count = 0;
        std::memcpy(&count, bytes + 8, sizeof count);
        const size_t room = (data->d_size - 12) / 8;
        for (size_t i = 0; i < std::min<size_t>(count, room); ++i) {
            std::array<int32_t, 2> distance{};  // of the code, of its entry
            std::memcpy(&distance, bytes + 12 + 8 * i, sizeof distance);
            unwind_entries_.push_back({header.sh_addr + static_cast<int64_t>(distance[0]),
                                       header.sh_addr + static_cast<int64_t>(distance[1])});
        }
        std::sort(unwind_entries_.begin(), unwind_entries_.end(),
                  [](const UnwindEntry& a, const UnwindEntry& b) { return a.start < b.start; });
        return;
    }
}

uint64_t DebugFile::unwind_entry(uint64_t address) {
    if (!unwind_read_) read_unwind_table();
    const auto after = std::upper_bound(
        unwind_entries_.begin(), unwind_entries_.end(), address,
        [](uint64_t wanted, const UnwindEntry& entry) { return wanted < entry.start; });
    return after == unwind_entries_.begin() ? 0 : std::prev(after)->entry;
}

DebugFile::Bytes DebugFile::bytes_at(uint64_t address) {
    if (!sections_read_ && image_.elf != nullptr) {
        GElf_Ehdr file;
        const bool is_x86_64 =
            gelf_getehdr(image_.elf, &file) != nullptr && file.e_machine == EM_X86_64;
        size_t names = 0;
        elf_getshdrstrndx(image_.elf, &names);
        for (Elf_Scn* section = nullptr; (section = elf_nextscn(image_.elf, section)) != nullptr;) {
            GElf_Shdr header;
            if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS ||
                (header.sh_flags & SHF_ALLOC) == 0) {
                continue;
            }
            const Elf_Data* const data = elf_rawdata(section, nullptr);
            if (data == nullptr || data->d_buf == nullptr) continue;
            const char* const name = elf_strptr(image_.elf, names, header.sh_name);
            const bool code = (header.sh_flags & SHF_EXECINSTR) != 0;
            const bool linkage = code && name != nullptr && std::strncmp(name, ".plt", 4) == 0;
            sections_.push_back({header.sh_addr,
                                 {static_cast<const uint8_t*>(data->d_buf), data->d_size, code,
                                  linkage, is_x86_64}});
        }
        std::sort(sections_.begin(), sections_.end(),
                  [](const auto& a, const auto& b) { return a.address < b.address; });
    }
    sections_read_ = true;
    const auto after = std::upper_bound(
        sections_.begin(), sections_.end(), address,
        [](uint64_t wanted, const SectionBytes& section) { return wanted < section.address; });
    if (after == sections_.begin()) return {};
    const SectionBytes& found = *std::prev(after);
    const uint64_t skipped = address - found.address;
    if (skipped >= found.bytes.size) return {};
    Bytes bytes = found.bytes;
    bytes.data += skipped;
    bytes.size -= skipped;
    return bytes;
}

}  // namespace dwell
