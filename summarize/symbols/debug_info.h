// Look-ups in the debug information of one module: from an address to the function, the line and
// the inlined calls around it; from a function to its call-site entries. Reads DWARF 2 to 5 through
// libdw, with or without .debug_aranges, split and shared (dwz) forms included.
#ifndef DWELL_SUMMARIZE_SYMBOLS_DEBUG_INFO_H_
#define DWELL_SUMMARIZE_SYMBOLS_DEBUG_INFO_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "summarize/code/debug_file.h"
#include "summarize/symbols/lines.h"

namespace dwell {

class DebugInfo {
  public:
    // `file` must stay open as long as this object exists.
    explicit DebugInfo(DebugFile* file) : file_(file) {}

    // Frames at `address`, outermost first; empty for an unknown function. At the beginning of a
    // function that gcc makes of an OpenMP construct: only that function, at the construct's line,
    // without the code inlined there.
    std::vector<SourceFrame> frames_at(uint64_t address);

    // For each copy of a loop in the function at `function`: the functions inlined around it,
    // outermost first. The loop is given by its lines; copies with fewest functions come first.
    std::vector<std::vector<SourceFrame>> inlined_around(uint64_t function, const std::string& file,
                                                         int line, int end_line);

    // File and line of code without a function entry: line tables alone (-g1), a missing .dwo, a
    // copy that the compiler made a jump. `start` is the beginning of the symbol, 0 unknown.
    void add_lines(uint64_t address, uint64_t start, SourceFrame* frame);

    // The function (not an inlined one) around `address`.
    std::optional<Dwarf_Die> function_at(uint64_t address);

    // Every compiled copy of the function in a call-site entry, found in the unit of `function` or,
    // for a declaration, through the symbol table.
    std::vector<Dwarf_Die> compiled_copies(Dwarf_Die* function);

    // The linker's name, else the name in the source; nullptr without a name.
    static const char* symbol_of(Dwarf_Die* die);

  private:
    struct Range {
        uint64_t start;
        uint64_t end;
        Dwarf_Die die;
    };
    struct Unit {
        Dwarf_Die lines;      // the unit that owns the line table
        Dwarf_Die functions;  // the unit that owns the functions; differs from `lines` with split
                              // DWARF
        bool indexed = false;
        std::vector<Range> ranges;  // of functions, by start
        std::vector<Dwarf_Die> compiled;
    };

    void find_units();
    Unit* unit_at(uint64_t address);
    Unit* unit_of(Dwarf_Die* die);
    void index_functions(Unit* unit);
    void index_children(Unit* unit, Dwarf_Die* parent);
    const Range* function_range(Unit* unit, uint64_t address);
    SourceFrame describe(Dwarf_Die* function, bool inlined);
    std::string scope_of(Dwarf_Die* function, std::string_view name);

    DebugFile* file_;
    bool units_found_ = false;
    std::vector<Unit> units_;
    struct UnitRange {
        uint64_t start;
        uint64_t end;
        size_t unit;
    };
    std::vector<UnitRange> unit_ranges_;   // by start
    std::map<void*, std::string> scopes_;  // of functions without a linker name
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_SYMBOLS_DEBUG_INFO_H_
