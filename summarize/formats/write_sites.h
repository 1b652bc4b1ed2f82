// Writes static tables as CSV and JSON for programs (docs/sites.md), and derives the relations
// between sites that these files and the text report show.
#ifndef DWELL_SUMMARIZE_FORMATS_WRITE_SITES_H_
#define DWELL_SUMMARIZE_FORMATS_WRITE_SITES_H_

#include <string>
#include <string_view>
#include <vector>

#include "summarize/symbols/site_tables.h"

namespace dwell {

struct SitesFile {
    std::string path;
    SiteTable table;
};

// One of the six relations of a static table: a kind of site directly inside another kind. Sites
// without an enclosing site in the table have none.
struct SiteRelation {
    std::string_view name;  // "procedure-loop", ...
    uint32_t outer = 0;
    uint32_t inner = 0;
    uint32_t callee = kNoSite;  // of a call: the called procedure, if it is in the same table
};
// Sorted by relation, then by line.
std::vector<SiteRelation> site_relations(const SiteTable& table);

std::string write_sites_csv(const std::vector<SitesFile>& files);
std::string write_relations_csv(const std::vector<SitesFile>& files);
std::string write_sites_json(const std::vector<SitesFile>& files);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_FORMATS_WRITE_SITES_H_
