// From addresses to source lines, once for each module and each address (DESIGN 3). Only the
// `dwell` command uses it. Never fails: what is not known keeps its symbol or offset and is
// labelled. Not thread-safe.
#ifndef DWELL_SUMMARIZE_SYMBOLS_LINES_H_
#define DWELL_SUMMARIZE_SYMBOLS_LINES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "summarize/code/control_flow.h"
#include "summarize/code/debug_file.h"
#include "summarize/model/profile.h"

namespace dwell {

// A function on the way to an address, and the line that was being executed in it.
struct SourceFrame {
    std::string function;  // as people know it; symbol or module+0xoffset without debug information
    std::string symbol;    // the linker's name, empty when unknown
    std::string function_file;  // where the function begins
    int function_line = 0;
    std::string file;           // of the statement
    int line = 0;               // 0: unknown, or code that belongs to no line
    bool inlined = false;       // this function's code was put into the frame before it
    bool main_program = false;  // Fortran's main program
};

// What tells a module's file where it has no build-id.
struct FileStamp {
    uint64_t inode = 0;  // 0: not known, the file is believed
    int64_t modified_ns = 0;
    bool mixed = false;  // it was not the same file everywhere
};

// Of the file as it lies on disk now.
FileStamp stamp_of(const std::string& path);

struct ResolvedAddress {
    std::vector<SourceFrame>
        frames;           // outermost first, at least one; the last one holds the address
    std::string place;    // symbol+0xoffset or module+0xoffset
    uint32_t labels = 0;  // ProfileLabel
};

class LineResolver {
  public:
    // `debug_root`: where separate debug files are installed.
    explicit LineResolver(std::string debug_root = "/usr/lib/debug");
    ~LineResolver();
    LineResolver(const LineResolver&) = delete;
    LineResolver& operator=(const LineResolver&) = delete;

    // Names a module; the file is opened with the first address in it. `build_id` empty: the file
    // at `path` is believed as far as `stamp` says. Returns the number to give to the functions
    // below.
    uint32_t add_module(const std::string& path, std::string_view build_id, FileStamp stamp = {});

    // Offsets are virtual addresses as in the ELF file. The results live as long as the resolver.
    // An instruction that was executing (a sample):
    const ResolvedAddress& resolve(uint32_t module, uint64_t offset);
    // The call that returns to `return_offset`:
    const ResolvedAddress& resolve_call(uint32_t module, uint64_t return_offset);
    // The same, known to have reached the MPI function `c_name`, perhaps through tail calls.
    const ResolvedAddress& resolve_communication(uint32_t module, uint64_t return_offset,
                                                 std::string_view c_name);

    // What a function is called by the programmer; empty when it is not known, or not unique.
    std::string function_named(uint32_t module, const std::string& symbol);

    // The procedures that the compiler put into the one called `symbol` around a loop on these
    // lines, outermost first, for each copy of the loop, the one with fewest first.
    const std::vector<std::vector<SourceFrame>>& inlined_around(uint32_t module,
                                                                const std::string& symbol,
                                                                const std::string& file, int line,
                                                                int end_line);

    // Where the only function of that name begins; 0 when there is none.
    uint64_t address_of(uint32_t module, const std::string& symbol);

    // The machine code of a module; null when it is not certainly that which ran.
    ControlFlow* control_flow(uint32_t module);

    ModuleState state(uint32_t module) const;
    // The file may be another one than that which ran: its lines and names are uncertain.
    bool is_uncertain(uint32_t module) const;
    const std::string& path(uint32_t module) const;

  private:
    struct Module;
    Module* opened(uint32_t module);

    std::string debug_root_;
    std::vector<std::unique_ptr<Module>> modules_;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_SYMBOLS_LINES_H_
