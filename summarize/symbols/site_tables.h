// The static tables that compiler plugins put into programs and libraries (DESIGN 1: site), read
// from the files. Layout: runtime/contract/site_table.h. All contents are checked.
#ifndef DWELL_SUMMARIZE_SYMBOLS_SITE_TABLES_H_
#define DWELL_SUMMARIZE_SYMBOLS_SITE_TABLES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/contract/site_table.h"

namespace dwell {

constexpr uint32_t kNoSite = 0xffffffffu;

struct StaticSite {
    SiteKind kind = SiteKind::kNone;  // procedure, loop, call or communication
    uint8_t flags = 0;                // SiteRowFlags
    bool has_probes = false;
    uint32_t unit = 0;
    uint32_t enclosing = kNoSite;  // comes before this row
    uint64_t offset = 0;           // of its row in the module
    std::string symbol;            // linker name of the procedure, or of the callee; else empty
    std::string name;  // readable name: demangled; of a communication the MPI function's C name;
                       // of a call through a pointer "(pointer)"; of a loop "loop"
    std::string file;
    uint32_t line = 0;
    uint32_t column = 0;
    uint32_t end_line = 0;

    bool left_out() const { return (flags & (kRowSmall | kRowUnselected)) != 0; }
};

inline bool is_fortran_main(const StaticSite& site) { return site.symbol == "MAIN__"; }

struct SiteUnit {
    std::string compiler;
    std::string file;
    std::string directory;
    uint16_t version = 0;
    uint32_t loops_seen = 0;
    uint32_t procedures_seen = 0;
};

enum class SiteTableState {
    kRead,     // perhaps only in part: see `unread_units`
    kNone,     // no static table: no compiler of dwell's was used
    kMissing,  // no such file, or not an ELF file of this machine type
    kChanged,  // differs from the file that ran
};

// Whether the probes in a file can find libdwell.so, according to how it was linked.
enum class ProbeReach {
    kUnlinked,  // an object file: not decided yet
    kStatic,    // statically linked
    kUnbound,   // the linker bound the reference to the library to nothing
    kReached,
};

struct SiteTable {
    ProbeReach reach = ProbeReach::kUnlinked;
    SiteTableState state = SiteTableState::kNone;
    std::vector<SiteUnit> units;
    std::vector<StaticSite> sites;
    uint32_t unread_units = 0;  // damaged, or of another version of dwell's compilers
    std::unordered_map<uint64_t, uint32_t> by_offset;

    const StaticSite* at(uint64_t offset) const {
        const auto found = by_offset.find(offset);
        return found == by_offset.end() ? nullptr : &sites[found->second];
    }
};

// "too small", "not selected", or empty.
std::string_view left_out_reason(const StaticSite& site);

// Reads the table of the program, library or object file `path`. `build_id` as recorded during the
// run; if empty, the file is accepted as it is.
SiteTable read_site_table(const std::string& path, std::string_view build_id);

// The same table without repeated sites (templates and inline procedures, once from each unit that
// uses them). Of equal sites one with probes is kept.
SiteTable without_duplicates(const SiteTable& table);

// The sites inside each site, by file, line and column. The last element holds the sites that no
// other encloses.
std::vector<std::vector<uint32_t>> enclosed_sites(const SiteTable& table);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_SYMBOLS_SITE_TABLES_H_
