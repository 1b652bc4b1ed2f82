// Resolves addresses to source lines, once for each module and address (DESIGN 3). Only the `dwell`
// command uses it. Never fails: an unresolved address keeps its symbol or offset and gets a label.
// Not thread-safe.
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

// A function on the call path of an address, and the line executed in it.
struct SourceFrame {
    std::string function;  // readable name; symbol or module+0xoffset without debug information
    std::string symbol;    // the linker's name, empty when unknown
    std::string function_file;  // where the function begins
    int function_line = 0;
    std::string file;           // of the statement
    int line = 0;               // 0: unknown, or code without a line
    bool inlined = false;       // this function is inlined into the frame before
    bool main_program = false;  // Fortran's main program
};

// Identifies a module's file where it has no build-id.
struct FileStamp {
    uint64_t inode = 0;  // 0: unknown, the file is accepted as it is
    int64_t modified_ns = 0;
    bool mixed = false;  // the file differed between hosts
};

// The stamp of the file that is on disk now.
FileStamp stamp_of(const std::string& path);

struct ResolvedAddress {
    std::vector<SourceFrame>
        frames;           // outermost first, at least one; the last contains the address
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

    // Registers a module; the file is opened when the first address in it is resolved. With an
    // empty `build_id` the file at `path` is accepted if it agrees with `stamp`. Returns the
    // module's number for the functions below.
    uint32_t add_module(const std::string& path, std::string_view build_id, FileStamp stamp = {});

    size_t modules() const { return modules_.size(); }

    // Offsets are virtual addresses as in the ELF file. The results live as long as the resolver.
    // This function resolves an instruction that was executing (a sample).
    const ResolvedAddress& resolve(uint32_t module, uint64_t offset);
    // Resolves the call that returns to `return_offset`.
    const ResolvedAddress& resolve_call(uint32_t module, uint64_t return_offset);
    // The same for a call that reached the MPI function `c_name`, perhaps through tail calls.
    const ResolvedAddress& resolve_communication(uint32_t module, uint64_t return_offset,
                                                 std::string_view c_name);

    // The name of a function in the source; empty when unknown or ambiguous.
    std::string function_named(uint32_t module, const std::string& symbol);

    // For each copy of a loop in the procedure `symbol`: the procedures inlined around it,
    // outermost first. The loop is given by its lines; copies with fewest procedures come first.
    const std::vector<std::vector<SourceFrame>>& inlined_around(uint32_t module,
                                                                const std::string& symbol,
                                                                const std::string& file, int line,
                                                                int end_line);

    // The beginning of the only function with that name; 0 when there is none.
    uint64_t address_of(uint32_t module, const std::string& symbol);

    // The machine code of a module; null when it may differ from the code that ran.
    ControlFlow* control_flow(uint32_t module);

    ModuleState state(uint32_t module) const;
    // The file may differ from the one that ran: its lines and names are uncertain.
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
