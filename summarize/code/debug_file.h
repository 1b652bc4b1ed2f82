// A binary or library as it is on disk now: its ELF image, its debug information (in the file
// itself or beside it) and its symbols. Nothing is fetched over the network.
#ifndef DWELL_SUMMARIZE_CODE_DEBUG_FILE_H_
#define DWELL_SUMMARIZE_CODE_DEBUG_FILE_H_

#include <elfutils/libdw.h>
#include <gelf.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dwell {

enum class ModuleState {
    kNotOpened,
    kLines,    // with debug information
    kSymbols,  // without
    kMissing,  // no such file, or not an ELF file
    kChanged,  // differs from the file that ran: none of its contents is used
};

struct FunctionSymbol {
    uint64_t start;
    uint64_t end;    // equal to start when the symbol has no size
    uint64_t limit;  // upper bound of its range: its end, or without a size the end of its section
    const char* name;
};

class DebugFile {
  public:
    DebugFile() = default;
    DebugFile(const DebugFile&) = delete;
    DebugFile& operator=(const DebugFile&) = delete;
    ~DebugFile();

    // `build_id` as recorded during the run; if empty, the path alone identifies the module.
    // `debug_root` is the root of separate debug files, usually /usr/lib/debug.
    void open(const std::string& path, std::string_view build_id, const std::string& debug_root);

    ModuleState state() const { return state_; }
    Dwarf* dwarf() const { return dwarf_; }

    // The function symbol that covers `address`; nullptr when there is none.
    const FunctionSymbol* symbol_at(uint64_t address);
    // The address of the only function with that name; 0 for none or several.
    uint64_t address_of(const std::string& name);
    // The address of the .eh_frame entry of the last function that begins at or before `address`; 0
    // when there is none.
    uint64_t unwind_entry(uint64_t address);

    // The bytes of the file from `address` to the end of its section; empty when there are none.
    struct Bytes {
        const uint8_t* data = nullptr;
        size_t size = 0;
        bool code = false;
        bool linkage = false;  // the procedure linkage table
        bool is_x86_64 = false;
    };
    Bytes bytes_at(uint64_t address);

  private:
    struct OpenElf {
        int fd = -1;
        Elf* elf = nullptr;
    };
    struct SectionBytes {
        uint64_t address;
        Bytes bytes;
    };
    static bool open_elf(const std::string& path, OpenElf* opened);
    static void close_elf(OpenElf* opened);
    bool adopt_debug_file(const std::string& path, std::string_view build_id, const uint32_t* crc);
    void find_separate_debug_file(const std::string& path, const std::string& debug_root);
    bool start_dwarf(Elf* elf);
    void read_symbols();
    void read_symbol_table(Elf* elf, uint32_t section_type);
    void read_unwind_table();

    ModuleState state_ = ModuleState::kNotOpened;
    OpenElf image_;
    OpenElf debug_;
    Dwarf* dwarf_ = nullptr;
    bool symbols_read_ = false;
    std::vector<FunctionSymbol> symbols_;  // by start
    std::unordered_map<std::string_view, uint64_t> addresses_;
    bool unwind_read_ = false;
    struct UnwindEntry {
        uint64_t start;
        uint64_t entry;
    };
    std::vector<UnwindEntry> unwind_entries_;  // by start
    std::vector<SectionBytes> sections_;       // by address
    bool sections_read_ = false;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_CODE_DEBUG_FILE_H_
