// Static tables as files for programs: CSV and JSON (docs/sites.md), and the relations between
// sites that both they and the text are made of.
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

// One of the six relations of a static table: what lies directly inside what. Sites with nothing
// around them that is in the table have none.
struct SiteRelation {
    std::string_view name;  // "procedure-loop", ...
    uint32_t outer = 0;
    uint32_t inner = 0;
    uint32_t callee = kNoSite;  // of a call: the procedure called, if it is in the same table
};
// Relation by relation, in the order of the lines.
std::vector<SiteRelation> site_relations(const SiteTable& table);

std::string write_sites_csv(const std::vector<SitesFile>& files);
std::string write_relations_csv(const std::vector<SitesFile>& files);
std::string write_sites_json(const std::vector<SitesFile>& files);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_FORMATS_WRITE_SITES_H_
