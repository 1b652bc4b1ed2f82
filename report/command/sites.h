// `dwell sites`: shows the static tables of programs, libraries and object files.
#ifndef DWELL_REPORT_COMMAND_SITES_H_
#define DWELL_REPORT_COMMAND_SITES_H_

#include <string>

#include "report/console/cli.h"
#include "summarize/formats/write_sites.h"

namespace dwell {

// Returns the exit code: 1 when one of the files has no readable table.
int sites_command(const SitesOptions& options);

// The text for one file: a tree of procedures and the sites in them; or only the sites without
// probes.
std::string sites_text(const SitesFile& file, bool utf8, bool left_out_only);

// The relations between sites, one after the other.
std::string relations_text(const SitesFile& file, bool utf8);

}  // namespace dwell

#endif  // DWELL_REPORT_COMMAND_SITES_H_
