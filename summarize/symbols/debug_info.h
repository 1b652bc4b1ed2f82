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
    // `file` must stay open as long as this object lives.
    explicit DebugInfo(DebugFile* file) : file_(file) {}

    // Frames at `address`, outermost first; empty when no function is known there. At the beginning
    // of the function that gcc makes of an OpenMP construct: that alone, at the construct's line,
    // whatever was inlined behind it.
    std::vector<SourceFrame> frames_at(uint64_t address);

    // The functions that were put into the one at `function` around a loop of it on these lines,
    // outermost first, for each copy of the loop that is found, the one with fewest first.
    std::vector<std::vector<SourceFrame>> inlined_around(uint64_t function, const std::string& file,
                                                         int line, int end_line);

    // File and line of code that no function entry describes: line tables alone (-g1), a .dwo that
    // is gone, a copy that the compiler made a jump. `start` is where the symbol begins, 0 unknown.
    void add_lines(uint64_t address, uint64_t start, SourceFrame* frame);

    // The function (not an inlined one) around `address`.
    std::optional<Dwarf_Die> function_at(uint64_t address);

    // Every compiled copy of the function that a call-site entry names, found in the unit of
    // `function` or, when that is a declaration, through the symbol table.
    std::vector<Dwarf_Die> compiled_copies(Dwarf_Die* function);

    // Name for the linker, else in the source; nullptr when it has none.
    static const char* symbol_of(Dwarf_Die* die);

  private:
    struct Range {
        uint64_t start;
        uint64_t end;
        Dwarf_Die die;
    };
    struct Unit {
        Dwarf_Die lines;      // the unit that owns the line table
        Dwarf_Die functions;  // the unit that owns the functions; another one with split DWARF
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
    std::map<void*, std::string> scopes_;  // of functions without a name for the linker
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_SYMBOLS_DEBUG_INFO_H_
