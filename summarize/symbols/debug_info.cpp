// Finds functions, lines and inlined calls in DWARF (DESIGN 3); see debug_info.h.
#include "summarize/symbols/debug_info.h"

#include <dwarf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/contract/clone_names.h"
#include "summarize/code/symbol_names.h"
#include "summarize/model/source_paths.h"

namespace dwell {
namespace {

bool is_function(int tag) { return tag == DW_TAG_subprogram || tag == DW_TAG_entry_point; }

bool is_block(int tag) {
    return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

bool is_type(int tag) {
    return tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

// Types can contain definitions of functions; a declaration has no range and is ignored.
bool is_container(int tag) {
    return tag == DW_TAG_namespace || tag == DW_TAG_module || is_type(tag);
}

// Relative to the directory of the compilation: libdw leaves names relative when their directory
// is.
std::string path_in_unit(const std::string& path, Dwarf_Die* unit) {
    Dwarf_Attribute attribute;
    const char* folder = nullptr;
    if (dwarf_attr_integrate(unit, DW_AT_comp_dir, &attribute) != nullptr) {
        folder = dwarf_formstring(&attribute);
    }
    return tidy_path(path, folder == nullptr ? "" : folder);
}

// The file of an attribute (decl_file, call_file), from the table of the unit that holds the
// attribute: with link-time optimisation this may differ from the unit of the address.
std::string file_of(Dwarf_Attribute* attribute) {
    Dwarf_Word index = 0;
    Dwarf_Die unit;
    Dwarf_Half version = 0;
    if (attribute == nullptr || dwarf_formudata(attribute, &index) != 0) return {};
    if (dwarf_cu_info(attribute->cu, &version, nullptr, &unit, nullptr, nullptr, nullptr,
                      nullptr) != 0) {
        return {};
    }
    if (index == 0 && version < 5) return {};
    Dwarf_Files* files = nullptr;
    size_t count = 0;
    if (dwarf_getsrcfiles(&unit, &files, &count) != 0 || index >= count) return {};
    const char* const path = dwarf_filesrc(files, index, nullptr, nullptr);
    return path == nullptr ? std::string() : path_in_unit(path, &unit);
}

// The first row of a unit at exactly `address`: where a function begins, the row of its own line
// precedes those of code inlined there. Null when there is none.
Dwarf_Line* first_row_at(Dwarf_Die* unit, uint64_t address) {
    Dwarf_Lines* lines = nullptr;
    size_t count = 0;
    if (dwarf_getsrclines(unit, &lines, &count) != 0) return nullptr;
    size_t low = 0;
    for (size_t high = count; low < high;) {
        const size_t middle = low + (high - low) / 2;
        Dwarf_Addr at = 0;
        dwarf_lineaddr(dwarf_onesrcline(lines, middle), &at);
        if (at < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < count; ++low) {
        Dwarf_Line* const line = dwarf_onesrcline(lines, low);
        Dwarf_Addr at = 0;
        bool ends = false;
        if (dwarf_lineaddr(line, &at) != 0 || at != address) return nullptr;
        if (dwarf_lineendsequence(line, &ends) == 0 && !ends) return line;
    }
    return nullptr;
}

void set_place(Dwarf_Line* line, Dwarf_Die* unit, SourceFrame* frame) {
    const char* const path = dwarf_linesrc(line, nullptr, nullptr);
    if (path != nullptr) frame->file = path_in_unit(path, unit);
    dwarf_lineno(line, &frame->line);
}

// Line tables alone do not contain the beginning of a function; its first row is used.
void set_beginning(Dwarf_Line* first, Dwarf_Die* unit, SourceFrame* frame) {
    const char* const path = dwarf_linesrc(first, nullptr, nullptr);
    if (path != nullptr) frame->function_file = path_in_unit(path, unit);
    dwarf_lineno(first, &frame->function_line);
}

int number_of(Dwarf_Attribute* attribute) {
    Dwarf_Word value = 0;
    return attribute != nullptr && dwarf_formudata(attribute, &value) == 0 ? static_cast<int>(value)
                                                                           : 0;
}

}  // namespace

const char* DebugInfo::symbol_of(Dwarf_Die* die) {
    Dwarf_Attribute attribute;
    for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name}) {
        if (dwarf_attr_integrate(die, name, &attribute) == nullptr) continue;
        if (const char* const text = dwarf_formstring(&attribute)) return text;
    }
    return nullptr;
}

void DebugInfo::find_units() {
    units_found_ = true;
    Dwarf_CU* cu = nullptr;
    uint8_t type = 0;
    Unit unit;
    while (dwarf_get_units(file_->dwarf(), cu, &cu, nullptr, &type, &unit.lines, &unit.functions) ==
           0) {
        if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
        if (type == DW_UT_compile || unit.functions.addr == nullptr) unit.functions = unit.lines;
        const size_t number = units_.size();
        Dwarf_Addr base = 0;
        Dwarf_Addr start = 0;
        Dwarf_Addr end = 0;
        for (ptrdiff_t at = 0; (at = dwarf_ranges(&unit.lines, at, &base, &start, &end)) > 0;) {
            if (start != 0 && start < end) unit_ranges_.push_back({start, end, number});
        }
        units_.push_back(unit);
    }
    std::sort(unit_ranges_.begin(), unit_ranges_.end(),
              [](const UnitRange& a, const UnitRange& b) { return a.start < b.start; });
}

DebugInfo::Unit* DebugInfo::unit_at(uint64_t address) {
    if (!units_found_) find_units();
    const auto after = std::upper_bound(
        unit_ranges_.begin(), unit_ranges_.end(), address,
        [](uint64_t wanted, const UnitRange& range) { return wanted < range.start; });
    if (after == unit_ranges_.begin() || address >= std::prev(after)->end) return nullptr;
    return &units_[std::prev(after)->unit];
}

DebugInfo::Unit* DebugInfo::unit_of(Dwarf_Die* die) {
    if (!units_found_) find_units();
    for (Unit& unit : units_) {
        if (unit.functions.cu == die->cu || unit.lines.cu == die->cu) return &unit;
    }
    return nullptr;
}

// Procedures are in modules (Fortran), in namespaces, and in the procedure that contains them.
void DebugInfo::index_children(Unit* unit, Dwarf_Die* parent) {
    Dwarf_Die child;
    if (dwarf_child(parent, &child) != 0) return;
    do {
        const int tag = dwarf_tag(&child);
        if (is_function(tag)) {
            Dwarf_Addr base = 0;
            Dwarf_Addr start = 0;
            Dwarf_Addr end = 0;
            bool compiled = false;
            for (ptrdiff_t at = 0; (at = dwarf_ranges(&child, at, &base, &start, &end)) > 0;) {
                if (start == 0 || start >= end) continue;
                unit->ranges.push_back({start, end, child});
                compiled = true;
            }
            if (compiled) unit->compiled.push_back(child);
        }
        if (is_function(tag) || is_container(tag) || is_block(tag)) index_children(unit, &child);
    } while (dwarf_siblingof(&child, &child) == 0);
}

void DebugInfo::index_functions(Unit* unit) {
    if (unit->indexed) return;
    unit->indexed = true;
    index_children(unit, &unit->functions);
    std::sort(unit->ranges.begin(), unit->ranges.end(),
              [](const Range& a, const Range& b) { return a.start < b.start; });
}

const DebugInfo::Range* DebugInfo::function_range(Unit* unit, uint64_t address) {
    index_functions(unit);
    const auto after =
        std::upper_bound(unit->ranges.begin(), unit->ranges.end(), address,
                         [](uint64_t wanted, const Range& range) { return wanted < range.start; });
    if (after == unit->ranges.begin() || address >= std::prev(after)->end) return nullptr;
    return &*std::prev(after);
}

std::optional<Dwarf_Die> DebugInfo::function_at(uint64_t address) {
    Unit* const unit = unit_at(address);
    if (unit == nullptr) return std::nullopt;
    const Range* const range = function_range(unit, address);
    if (range == nullptr) return std::nullopt;
    return range->die;
}

// "chem::solve(int)::{lambda}::" for the body of a lambda: gcc gives no linker name to functions
// that are local to a procedure. Empty when the function is in no type.
std::string DebugInfo::scope_of(Dwarf_Die* function, std::string_view name) {
    // Only for members: the search reads the whole unit.
    if (dwarf_hasattr_integrate(function, DW_AT_object_pointer) == 0) return {};
    Dwarf_Die origin = *function;
    Dwarf_Attribute attribute;
    while (dwarf_attr(&origin, DW_AT_abstract_origin, &attribute) != nullptr ||
           dwarf_attr(&origin, DW_AT_specification, &attribute) != nullptr) {
        if (dwarf_formref_die(&attribute, &origin) == nullptr) return {};
    }
    const auto [known, is_new] = scopes_.try_emplace(origin.addr);
    if (!is_new) return known->second;
    Dwarf_Die* scopes = nullptr;
    const int count = dwarf_getscopes_die(&origin, &scopes);
    const char* const nameless = name == "operator()" ? "{lambda}" : "{unnamed type}";
    std::string text;
    for (int i = 1; i < count && (i != 1 || is_type(dwarf_tag(&scopes[i]))); ++i) {
        const int tag = dwarf_tag(&scopes[i]);
        if (is_function(tag)) {
            text = describe(&scopes[i], false).function + "::" + text;
            break;
        }
        if (!is_container(tag)) continue;
        const char* const scope = dwarf_diename(&scopes[i]);
        const char* const other = is_type(tag) ? nameless : "(anonymous namespace)";
        text = (scope != nullptr ? scope : other) + ("::" + text);
    }
    free(scopes);
    return known->second = text;
}

SourceFrame DebugInfo::describe(Dwarf_Die* function, bool inlined) {
    SourceFrame frame;
    frame.inlined = inlined;
    const char* const symbol = symbol_of(function);
    const char* const name = dwarf_diename(function);
    frame.symbol = symbol != nullptr ? symbol : "";
    frame.function = is_encoded_name(frame.symbol) ? display_name(frame.symbol)
                     : name != nullptr             ? scope_of(function, name) + name
                                                   : frame.symbol;
    Dwarf_Attribute attribute;
    frame.main_program =
        frame.symbol == "MAIN__" ||
        dwarf_attr_integrate(function, DW_AT_main_subprogram, &attribute) != nullptr;
    frame.function_file = file_of(dwarf_attr_integrate(function, DW_AT_decl_file, &attribute));
    frame.function_line = number_of(dwarf_attr_integrate(function, DW_AT_decl_line, &attribute));
    return frame;
}

// A split-off part of a function that is inlined into it again is not a call of the function; a
// recursive function is shown once (DESIGN 3).
static bool is_same_function(const SourceFrame& a, const SourceFrame& b) {
    return a.function_line != 0 && a.function_line == b.function_line && a.function == b.function &&
           a.function_file == b.function_file && without_clone(a.symbol) == without_clone(b.symbol);
}

std::vector<SourceFrame> DebugInfo::frames_at(uint64_t address) {
    std::vector<SourceFrame> frames;
    Unit* const unit = unit_at(address);
    if (unit == nullptr) return frames;
    const Range* const range = function_range(unit, address);
    if (range == nullptr) return frames;
    Dwarf_Die scope = range->die;
    frames.push_back(describe(&scope, false));
    if (address == range->start && frames.back().symbol.find("._omp_fn.") != std::string::npos) {
        if (Dwarf_Line* const line = first_row_at(&unit->lines, address)) {
            set_place(line, &unit->lines, &frames.back());
            frames.back().function_file = frames.back().file;
            frames.back().function_line = frames.back().line;
            return frames;
        }
    }
    Dwarf_Die child;
    bool more = dwarf_child(&scope, &child) == 0;
    while (more) {
        const int tag = dwarf_tag(&child);
        const bool inlined = tag == DW_TAG_inlined_subroutine;
        if ((!inlined && !is_block(tag)) || dwarf_haspc(&child, address) <= 0) {
            more = dwarf_siblingof(&child, &child) == 0;
            continue;
        }
        if (inlined) {
            SourceFrame inner = describe(&child, true);
            if (!is_same_function(inner, frames.back())) {
                Dwarf_Attribute attribute;
                frames.back().file = file_of(dwarf_attr(&child, DW_AT_call_file, &attribute));
                frames.back().line = number_of(dwarf_attr(&child, DW_AT_call_line, &attribute));
                frames.push_back(std::move(inner));
            }
        }
        scope = child;
        more = dwarf_child(&scope, &child) == 0;
    }
    if (Dwarf_Line* const line = dwarf_getsrc_die(&unit->lines, address)) {
        set_place(line, &unit->lines, &frames.back());
    }
    if (frames.front().function_line == 0) {
        if (Dwarf_Line* const first = dwarf_getsrc_die(&unit->lines, range->start)) {
            set_beginning(first, &unit->lines, &frames.front());
        }
    }
    return frames;
}

std::vector<std::vector<SourceFrame>> DebugInfo::inlined_around(uint64_t function,
                                                                const std::string& file, int line,
                                                                int end_line) {
    Unit* const unit = unit_at(function);
    const Range* const range = unit == nullptr ? nullptr : function_range(unit, function);
    Dwarf_Lines* rows = nullptr;
    size_t count = 0;
    if (range == nullptr || dwarf_getsrclines(&unit->lines, &rows, &count) != 0) return {};
    // The first line of the loop with code.
    int first = std::max(line, end_line);
    std::vector<uint64_t> code;
    for (size_t i = 0; i < count; ++i) {
        Dwarf_Line* const row = dwarf_onesrcline(rows, i);
        Dwarf_Addr at = 0;
        int number = 0;
        if (dwarf_lineaddr(row, &at) != 0 || at < range->start || at >= range->end) continue;
        if (dwarf_lineno(row, &number) != 0 || number < line || number > first) continue;
        const char* const path = dwarf_linesrc(row, nullptr, nullptr);
        if (path == nullptr || base_name(path) != base_name(file)) continue;
        if (number < first) code.clear();
        first = number;
        code.push_back(at);
    }
    const auto holds = [&](const SourceFrame& frame) {
        return base_name(frame.function_file) == base_name(file) && frame.function_line <= line &&
               line <= frame.line;
    };
    std::vector<std::vector<SourceFrame>> found;
    for (const uint64_t at : code) {
        std::vector<SourceFrame> frames = frames_at(at);
        // Inlined calls further inside are part of the loop.
        while (!frames.empty() && !holds(frames.back())) frames.pop_back();
        if (frames.size() < 2) continue;
        frames.erase(frames.begin());
        const bool known = std::any_of(found.begin(), found.end(), [&](const auto& other) {
            return std::equal(frames.begin(), frames.end(), other.begin(), other.end(),
                              [](const SourceFrame& a, const SourceFrame& b) {
                                  return a.function == b.function;
                              });
        });
        if (!known) found.push_back(std::move(frames));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.size() < b.size(); });
    return found;
}

void DebugInfo::add_lines(uint64_t address, uint64_t start, SourceFrame* frame) {
    Unit* const unit = unit_at(address);
    if (unit == nullptr) return;
    Dwarf_Line* const first = start == 0 ? nullptr : first_row_at(&unit->lines, start);
    Dwarf_Line* const line =
        address == start && first != nullptr ? first : dwarf_getsrc_die(&unit->lines, address);
    if (line != nullptr) set_place(line, &unit->lines, frame);
    if (first != nullptr) set_beginning(first, &unit->lines, frame);
}

std::vector<Dwarf_Die> DebugInfo::compiled_copies(Dwarf_Die* function) {
    std::vector<Dwarf_Die> copies;
    if (Unit* const unit = unit_of(function)) {
        index_functions(unit);
        for (Dwarf_Die& candidate : unit->compiled) {
            Dwarf_Die origin = candidate;
            bool same = origin.addr == function->addr;
            Dwarf_Attribute attribute;
            while (!same && (dwarf_attr(&origin, DW_AT_abstract_origin, &attribute) != nullptr ||
                             dwarf_attr(&origin, DW_AT_specification, &attribute) != nullptr)) {
                if (dwarf_formref_die(&attribute, &origin) == nullptr) break;
                same = origin.addr == function->addr;
            }
            if (same) copies.push_back(candidate);
        }
    }
    if (!copies.empty()) return copies;
    const char* const symbol = symbol_of(function);
    const uint64_t address = symbol == nullptr ? 0 : file_->address_of(symbol);
    if (address == 0) return copies;
    if (const std::optional<Dwarf_Die> found = function_at(address)) copies.push_back(*found);
    return copies;
}

}  // namespace dwell
