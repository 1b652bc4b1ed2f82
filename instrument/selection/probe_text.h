// The assembler text of probes and of the static table, for both compilers' plugins, after the
// contract in runtime/contract/site_table.h.
#ifndef DWELL_INSTRUMENT_SELECTION_PROBE_TEXT_H_
#define DWELL_INSTRUMENT_SELECTION_PROBE_TEXT_H_

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/contract/site_table.h"

namespace dwell {

enum class ProbeKind : uint8_t {
    kEnter,
    kLeave,
    kLoopEnter,
    kLoopEnterCounting,
    kLoopLeave,
    kLanded,
    kVforked
};

// A row before it has an address. Rows are kept in groups, one for each procedure: the procedure's
// row, then its loops, calls and communication statements.
struct TableRow {
    SiteKind kind = SiteKind::kNone;
    std::string name;
    std::string file;
    uint32_t line = 0;
    uint16_t column = 0;
    uint32_t end_line = 0;
    uint8_t flags = 0;
    bool probes = false;
    int enclosing = -1;  // row of the same group; -1 for the first row, whose parent is the group
                         // `host`
};

struct TableGroup {
    std::vector<TableRow> rows;
    int host = -1;  // group of the enclosing procedure; it may be added later
};

// The static table of one translation unit.
class SiteTable {
  public:
    std::string compiler;   // such as "gcc 12.2.0"
    std::string file;       // given to the compiler; empty: several (link-time optimisation)
    std::string directory;  // the compiler's working directory
    uint32_t loops_seen = 0;
    uint32_t procedures_seen = 0;

    int add(TableGroup group);
    TableGroup& group(int number) { return groups_[static_cast<size_t>(number)]; }
    bool empty() const { return groups_.empty(); }

    // The whole table as assembler text (AT&T syntax; sections are pushed and popped), with the
    // module's constructor and destructor.
    void write(FILE* out) const;

  private:
    struct Emission;
    void write_unit(FILE* out, Emission& emission) const;
    void write_group(FILE* out, Emission& emission, int number) const;
    void write_levels(FILE* out, const Emission& emission) const;

    std::vector<TableGroup> groups_;
};

// The template of a probe for an asm statement. %0 is the memory operand that names the frame; %1,
// for kinds with a number, a register, memory or constant operand. For a probe that returns an
// address, %0 is the register for the address, 0 before, and %1 names the frame. Operands are
// escaped after GCC's rules; the text contains both assembler dialects. The group may be written
// later.
std::string probe_template(ProbeKind kind, int group, int row);

// The template of the counter at the beginning of a loop's body: %0 is the register with the
// address that the probe returned.
constexpr const char* kCountTemplate =
    "test{q}\t%0, %0\n\tje\t1f\n\tadd{q\t$1, (%0)|\tQWORD PTR [%0], 1}\n1:";

// The two parts of a probe that tests a level: the symbol of the level, and the code for an enabled
// site. Both are empty for other probes, which are on rare paths.
struct ProbeParts {
    std::string level;
    std::string body;
};
ProbeParts parts_of_probe(std::string_view text);

// Registers that a probe clobbers, besides the flags.
std::vector<const char*> probe_clobbers(ProbeKind kind);

inline bool has_number(ProbeKind kind) {
    return kind == ProbeKind::kLoopLeave || kind == ProbeKind::kVforked;
}
inline bool gives_address(ProbeKind kind) { return kind == ProbeKind::kLoopEnterCounting; }

// Text that only a probe's template contains.
constexpr const char* kProbeMark = ".Ldwell_rows.";

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_SELECTION_PROBE_TEXT_H_
