// Finds files and unwinding tables of mapped code; see mapped_code.h.
#include "report/sampling/mapped_code.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "summarize/code/vdso.h"

namespace dwell {
namespace {

// A larger size means a damaged or changed file.
constexpr uint64_t kLargestTables = uint64_t{1} << 30;

// Copies the segment, since the file may be replaced while the program runs.
std::string read_segment(const std::string& path, const ElfSegment& segment) {
    if (is_vdso(path)) return vdso_image()->substr(segment.file_offset, segment.file_bytes);
    std::string bytes;
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0 || segment.file_bytes > kLargestTables) {
        if (file >= 0) close(file);
        return bytes;
    }
    bytes.resize(segment.file_bytes);
    const ssize_t got = pread(file, bytes.data(), bytes.size(), off_t(segment.file_offset));
    bytes.resize(got < 0 ? 0 : size_t(got));
    close(file);
    return bytes;
}

}  // namespace

MappedFiles::File& MappedFiles::file(const std::string& path) {
    const auto [known, is_new] = files_.try_emplace(path);
    File& file = known->second;
    if (!is_new) return file;
    file.elf =
        (is_vdso(path) ? read_elf_image(*vdso_image()) : read_elf_file(path)).value_or(ElfFile{});
    if (file.elf.frame_header == 0) return file;
    for (const ElfSegment& segment : file.elf.segments) {
        if (file.elf.frame_header - segment.address >= segment.file_bytes) continue;
        file.tables = read_segment(path, segment);
        file.segment = &segment;
    }
    return file;
}

std::optional<uint64_t> MappedFiles::offset_of(const CodeMapping& mapping, uint64_t address) {
    // The kernel maps the vdso without relocation.
    if (is_vdso(mapping.path)) return address - mapping.start;
    return address_of_file_offset(elf(mapping.path), address - mapping.start + mapping.file_offset);
}

bool MappedFiles::find_module(const CodeMapping& mapping, uint64_t address, SampledModule* module) {
    const File& of = file(mapping.path);
    const auto offset = offset_of(mapping, address);
    if (of.segment == nullptr || !offset) return false;
    const uint64_t bias = address - *offset;
    *module = {UINT64_MAX, 0, bias + of.elf.frame_header, 0, 0, of.tables.data()};
    for (const ElfSegment& segment : of.elf.segments) {
        module->begin = std::min(module->begin, bias + segment.address);
        module->end = std::max(module->end, bias + segment.address + segment.file_bytes);
    }
    module->readable = bias + of.segment->address;
    module->readable_end = module->readable + of.tables.size();
    return true;
}

}  // namespace dwell
