// What the name of a query stands for: parts of the program by name, or by file and line. Patterns
// are those of the enabling profile.
#ifndef DWELL_RUNTIME_API_QUERY_NAMES_H_
#define DWELL_RUNTIME_API_QUERY_NAMES_H_

#include <string_view>

#include "runtime/api/live_records.h"
#include "runtime/contract/mpi_calls.h"
#include "runtime/contract/site_table.h"

namespace dwell {

// Demangles, which takes memory, only where the name may match.
class ProcedurePattern {
  public:
    explicit ProcedurePattern(std::string_view pattern);
    bool matches(const char* linkage_name) const;

  private:
    std::string_view pattern_;
    std::string_view own_part_;  // must be in a matching C++ name: the procedure's own name
};

// The sites that a query asks for. The tables of the program must be held (TablesHeld).
class WantedSites {
  public:
    explicit WantedSites(std::string_view text);

    // Whether the node is one of them: a procedure, loop, block, marker or communication
    // statement; at a line, also the procedure that a call there has entered.
    bool contains(const Node& node);
    // Whether the text ends as "file:line".
    bool is_line() const { return line_ != 0; }

  private:
    // A call of a procedure or of MPI at the line that is asked for.
    struct Statement {
        const SiteRow* procedure;  // that it is in
        const char* callee;
        SiteKind kind;
    };
    static constexpr int kStatements = 16;
    static constexpr int kMostCalls = 1024;
    static constexpr int kRows = 256;
    enum class Answer : uint8_t { kUnknown, kNo, kYes };
    struct KnownRow {
        const SiteRow* row;
        bool wanted;
    };

    void find_statements();
    bool is_at_line(const SiteRow* row) const;
    bool is_wanted_text(const Site& site) const;
    bool is_wanted_call(uint16_t call);
    bool is_wanted_row(const SiteRow* row);
    bool is_statement(const Node& node, const SiteRow* callee);
    const SiteRow* row_of(const Site& site);
    const SiteRow* procedure_around(CellIndex cell);

    std::string_view text_;
    std::string_view file_;  // empty: no line is asked for
    uint32_t line_ = 0;
    ProcedurePattern procedure_;
    Statement statements_[kStatements];
    int statement_count_ = 0;
    Answer calls_[kMostCalls] = {};
    KnownRow known_[kRows] = {};
    SiteAddresses addresses_;
    const SiteModule* module_ = nullptr;  // of the last row
};

}  // namespace dwell

#endif  // DWELL_RUNTIME_API_QUERY_NAMES_H_
