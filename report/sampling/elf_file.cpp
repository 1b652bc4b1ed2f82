// Reads ELF program headers with the structures of <elf.h>; every offset is checked by pread
// itself.
#include "report/sampling/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace dwell {
namespace {

constexpr uint64_t kLargestNote = 1 << 16;
constexpr uint64_t kLongestInterpreter = 4096;
constexpr uint64_t kLargestDynamicSection = 1 << 16;
constexpr uint64_t kLongestLibraryName = 256;

bool read_at(int file, void* to, size_t bytes, uint64_t offset) {
    return pread(file, to, bytes, off_t(offset)) == ssize_t(bytes);
}

std::vector<uint8_t> build_id_in_notes(const std::string& notes) {
    size_t at = 0;
    while (at + sizeof(Elf64_Nhdr) <= notes.size()) {
        Elf64_Nhdr note;
        memcpy(&note, notes.data() + at, sizeof note);
        const size_t name = at + sizeof note;
        const size_t body = name + ((size_t(note.n_namesz) + 3) & ~size_t{3});
        const size_t end = body + size_t(note.n_descsz);
        if (end > notes.size()) break;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(notes.data() + name, "GNU", 4) == 0) {
            return {notes.begin() + ptrdiff_t(body), notes.begin() + ptrdiff_t(end)};
        }
        at = body + ((size_t(note.n_descsz) + 3) & ~size_t{3});
    }
    return {};
}

void take_segment(int file, const Elf64_Phdr& header, ElfFile* elf) {
    if (header.p_type == PT_LOAD) {
        elf->segments.push_back({header.p_offset, header.p_filesz, header.p_vaddr});
    } else if (header.p_type == PT_GNU_EH_FRAME) {
        elf->frame_header = header.p_vaddr;
    } else if (header.p_type == PT_INTERP && header.p_filesz <= kLongestInterpreter) {
        std::string name(header.p_filesz, '\0');
        if (read_at(file, name.data(), name.size(), header.p_offset)) {
            elf->interpreter = name.c_str();
        }
    } else if (header.p_type == PT_NOTE && header.p_filesz <= kLargestNote &&
               elf->build_id.empty()) {
        std::string notes(header.p_filesz, '\0');
        if (read_at(file, notes.data(), notes.size(), header.p_offset)) {
            elf->build_id = build_id_in_notes(notes);
        }
    }
}

std::string read_name(int file, uint64_t offset) {
    std::string name(kLongestLibraryName, '\0');
    const ssize_t bytes = pread(file, name.data(), name.size() - 1, off_t(offset));
    return bytes > 0 ? name.c_str() : "";
}

void take_dynamic_section(int file, const Elf64_Phdr& header, ElfFile* elf) {
    if (header.p_filesz > kLargestDynamicSection) return;
    std::vector<Elf64_Dyn> entries(header.p_filesz / sizeof(Elf64_Dyn));
    if (!read_at(file, entries.data(), entries.size() * sizeof(Elf64_Dyn), header.p_offset)) return;
    uint64_t names = 0;  // their address
    for (const Elf64_Dyn& entry : entries) {
        if (entry.d_tag == DT_STRTAB) names = entry.d_un.d_ptr;
    }
    for (const ElfSegment& segment : elf->segments) {
        if (names - segment.address >= segment.file_bytes) continue;
        const uint64_t start = names - segment.address + segment.file_offset;
        for (const Elf64_Dyn& entry : entries) {
            if (entry.d_tag == DT_NULL) return;
            if (entry.d_tag != DT_NEEDED) continue;
            elf->needed.push_back(read_name(file, start + entry.d_un.d_val));
        }
        return;
    }
}

std::optional<ElfFile> read_headers(int file) {
    Elf64_Ehdr header;
    if (!read_at(file, &header, sizeof header, 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
        return std::nullopt;
    }
    ElfFile elf;
    elf.is_64_bit = header.e_ident[EI_CLASS] == ELFCLASS64;
    elf.machine = header.e_machine;  // at the same place in both classes
    if (!elf.is_64_bit || header.e_phentsize != sizeof(Elf64_Phdr)) return elf;
    Elf64_Phdr dynamic{};
    for (uint64_t i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment;
        if (!read_at(file, &segment, sizeof segment, header.e_phoff + i * sizeof segment)) break;
        take_segment(file, segment, &elf);
        if (segment.p_type == PT_DYNAMIC) dynamic = segment;
    }
    take_dynamic_section(file, dynamic, &elf);
    return elf;
}

}  // namespace

std::optional<ElfFile> read_elf_file(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return std::nullopt;
    std::optional<ElfFile> elf = read_headers(file);
    close(file);
    return elf;
}

std::optional<ElfFile> read_elf_image(const std::string& bytes) {
    const int file = memfd_create("dwell-image", MFD_CLOEXEC);
    if (file < 0) return std::nullopt;
    const bool written = write(file, bytes.data(), bytes.size()) == ssize_t(bytes.size());
    std::optional<ElfFile> elf = written ? read_headers(file) : std::nullopt;
    close(file);
    return elf;
}

std::optional<uint64_t> address_of_file_offset(const ElfFile& elf, uint64_t file_offset) {
    for (const ElfSegment& segment : elf.segments) {
        if (file_offset - segment.file_offset < segment.file_bytes) {
            return file_offset - segment.file_offset + segment.address;
        }
    }
    return std::nullopt;
}

}  // namespace dwell
