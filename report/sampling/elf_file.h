// The properties of an ELF file that `dwell run` needs: whether a library can be preloaded into it,
// and the data that identify its addresses (build-id, loaded segments).
#ifndef DWELL_REPORT_SAMPLING_ELF_FILE_H_
#define DWELL_REPORT_SAMPLING_ELF_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dwell {

struct ElfSegment {
    uint64_t file_offset;
    uint64_t file_bytes;
    uint64_t address;  // relative to the load bias
};

struct ElfFile {
    bool is_64_bit = false;
    int machine = 0;          // e_machine
    std::string interpreter;  // of PT_INTERP; empty: statically linked
    std::vector<ElfSegment> segments;
    std::vector<uint8_t> build_id;
    uint64_t frame_header = 0;        // address of .eh_frame_hdr, 0: none
    std::vector<std::string> needed;  // names of the linked libraries
};

// Reads the headers of `path`. Nothing when it is no ELF file or cannot be read; for a 32-bit file
// only the first two members are set.
std::optional<ElfFile> read_elf_file(const std::string& path);

// The same for the bytes of a file.
std::optional<ElfFile> read_elf_image(std::string bytes);

// The address, relative to the load bias, of the byte at `file_offset`; nothing when it is in no
// loaded segment.
std::optional<uint64_t> address_of_file_offset(const ElfFile& elf, uint64_t file_offset);

}  // namespace dwell

#endif  // DWELL_REPORT_SAMPLING_ELF_FILE_H_
