// Code that another process has mapped: finds the place of an address in its file, and the
// unwinding tables of the file.
#ifndef DWELL_REPORT_SAMPLING_MAPPED_CODE_H_
#define DWELL_REPORT_SAMPLING_MAPPED_CODE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "report/sampling/elf_file.h"
#include "runtime/sampling/sampled_path.h"

namespace dwell {

struct CodeMapping {
    uint64_t start;
    uint64_t bytes;
    uint64_t file_offset;
    std::string path;
    bool operator==(const CodeMapping&) const = default;
};

class MappedFiles {
  public:
    const ElfFile& elf(const std::string& path) { return file(path).elf; }

    // Relative to the load bias; nothing where the file does not contain the address.
    std::optional<uint64_t> offset_of(const CodeMapping& mapping, uint64_t address);

    // False: there are no tables for that code.
    bool find_module(const CodeMapping& mapping, uint64_t address, SampledModule* module);

  private:
    struct File {
        ElfFile elf;
        std::string tables;  // the segment that contains the tables
        const ElfSegment* segment = nullptr;
    };
    File& file(const std::string& path);

    std::map<std::string, File> files_;
};

}  // namespace dwell

#endif  // DWELL_REPORT_SAMPLING_MAPPED_CODE_H_
