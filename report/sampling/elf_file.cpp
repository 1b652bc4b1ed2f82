// Reads headers of ELF files with libelf and libdwelf; see elf_file.h.
#include "report/sampling/elf_file.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <cstring>

namespace dwell {
namespace {

constexpr uint64_t kLongestInterpreter = 4096;

// The bytes at this offset of the file; empty if the file is shorter.
std::string bytes_at(Elf* elf, uint64_t offset, uint64_t bytes) {
    size_t size = 0;
    const char* const file = elf_rawfile(elf, &size);
    if (file == nullptr || offset > size || bytes > size - offset) return "";
    return {file + offset, bytes};
}

void take_segment(Elf* elf, const GElf_Phdr& header, ElfFile* file) {
    if (header.p_type == PT_LOAD) {
        file->segments.push_back({header.p_offset, header.p_filesz, header.p_vaddr});
    } else if (header.p_type == PT_GNU_EH_FRAME) {
        file->frame_header = header.p_vaddr;
    } else if (header.p_type == PT_INTERP && header.p_filesz <= kLongestInterpreter) {
        file->interpreter = bytes_at(elf, header.p_offset, header.p_filesz).c_str();
    }
}

void take_needed(Elf* elf, const GElf_Phdr& dynamic, ElfFile* file) {
    Elf_Data* const data = elf_getdata_rawchunk(elf, static_cast<int64_t>(dynamic.p_offset),
                                                dynamic.p_filesz, ELF_T_DYN);
    if (data == nullptr) return;
    std::vector<GElf_Dyn> entries;
    uint64_t names = 0;  // their address
    GElf_Dyn entry;
    while (gelf_getdyn(data, static_cast<int>(entries.size()), &entry) != nullptr &&
           entry.d_tag != DT_NULL) {
        if (entry.d_tag == DT_STRTAB) names = entry.d_un.d_ptr;
        entries.push_back(entry);
    }
    size_t size = 0;
    const char* const bytes = elf_rawfile(elf, &size);
    for (const ElfSegment& segment : file->segments) {
        if (bytes == nullptr || names - segment.address >= segment.file_bytes) continue;
        for (const GElf_Dyn& needed : entries) {
            const uint64_t at = names - segment.address + segment.file_offset + needed.d_un.d_val;
            if (needed.d_tag != DT_NEEDED || at >= size) continue;
            file->needed.emplace_back(bytes + at, strnlen(bytes + at, size - at));
        }
        return;
    }
}

std::optional<ElfFile> read_headers(Elf* elf) {
    GElf_Ehdr header;
    if (elf_kind(elf) != ELF_K_ELF || gelf_getehdr(elf, &header) == nullptr) return std::nullopt;
    ElfFile file;
    file.is_64_bit = header.e_ident[EI_CLASS] == ELFCLASS64;
    file.machine = header.e_machine;
    if (!file.is_64_bit) return file;
    size_t count = 0;
    if (elf_getphdrnum(elf, &count) != 0) return file;
    GElf_Phdr dynamic{};
    for (size_t i = 0; i < count; ++i) {
        GElf_Phdr segment;
        if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr) break;
        take_segment(elf, segment, &file);
        if (segment.p_type == PT_DYNAMIC) dynamic = segment;
    }
    if (dynamic.p_filesz != 0) take_needed(elf, dynamic, &file);
    const void* id = nullptr;
    const ssize_t bytes = dwelf_elf_gnu_build_id(elf, &id);
    const auto* const at = static_cast<const uint8_t*>(id);
    if (bytes > 0) file.build_id.assign(at, at + bytes);
    return file;
}

// Takes ownership of `elf`.
std::optional<ElfFile> read_and_end(Elf* elf) {
    if (elf == nullptr) return std::nullopt;
    std::optional<ElfFile> file = read_headers(elf);
    elf_end(elf);
    return file;
}

}  // namespace

std::optional<ElfFile> read_elf_file(const std::string& path) {
    elf_version(EV_CURRENT);
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return std::nullopt;
    std::optional<ElfFile> elf = read_and_end(elf_begin(file, ELF_C_READ_MMAP_PRIVATE, nullptr));
    close(file);
    return elf;
}

std::optional<ElfFile> read_elf_image(std::string bytes) {
    elf_version(EV_CURRENT);
    return read_and_end(elf_memory(bytes.data(), bytes.size()));
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
