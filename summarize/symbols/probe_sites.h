// The sites behind nodes made by probes: procedures, loops, blocks and markers, from the static
// tables of their modules, or by the address of their code.
#ifndef DWELL_SUMMARIZE_SYMBOLS_PROBE_SITES_H_
#define DWELL_SUMMARIZE_SYMBOLS_PROBE_SITES_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "summarize/merge/merged.h"
#include "summarize/symbols/lines.h"
#include "summarize/symbols/site_tables.h"

namespace dwell {

struct ProbeSite {
    SourceFrame source;  // of a procedure: as for frames, without a statement
    std::string name;    // of a loop "loop", of a block or marker its name
    std::string file;    // file of its beginning; module+0xoffset when unknown
    int line = 0;
    uint32_t column = 0;
    std::string module;                // path, where nothing else is known
    uint32_t labels = 0;               // ProfileLabel
    const SiteTable* table = nullptr;  // the table with its row, if known
    uint32_t row = kNoSite;
};

class ProbeSites {
  public:
    // `merged` and `lines` must live as long as this object; module numbers must be equal in both.
    ProbeSites(const Merged& merged, LineResolver* lines);

    // The site of a node of a probe kind. The result lives as long as this object.
    const ProbeSite& site_of(const MergedNode& node);

    // The row of the only statement directly inside `site` (loops without probes do not count) that
    // calls `callee`; null when there is none, or more than one.
    const StaticSite* statement_in(const ProbeSite& site, SiteKind kind, const std::string& callee);

    // The table of a module, which must have been read.
    const SiteTable& table_of(uint32_t module);

  private:
    void describe_row(const MergedNode& node, ProbeSite* site);
    void describe_code(const MergedNode& node, ProbeSite* site);
    void describe_name(const MergedNode& node, ProbeSite* site);
    void describe_nothing(const MergedNode& node, ProbeSite* site);

    const Merged& merged_;
    LineResolver* lines_;
    std::vector<std::unique_ptr<SiteTable>> tables_;
    std::map<std::array<uint64_t, 3>, ProbeSite> sites_;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_SYMBOLS_PROBE_SITES_H_
