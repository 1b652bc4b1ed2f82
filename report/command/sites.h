// `dwell sites`: the static tables of programs, libraries and object files.
#ifndef DWELL_REPORT_COMMAND_SITES_H_
#define DWELL_REPORT_COMMAND_SITES_H_

#include <string>

#include "report/console/cli.h"
#include "summarize/formats/write_sites.h"

namespace dwell {

// Returns the exit code: 1 when one of the files has no table that can be read.
int sites_command(const SitesOptions& options);

// What the command prints of one file: a tree, procedures with what lies inside of them; or only
// what has no probes.
std::string sites_text(const SitesFile& file, bool utf8, bool left_out_only);

// The relations between sites, one after the other.
std::string relations_text(const SitesFile& file, bool utf8);

}  // namespace dwell

#endif  // DWELL_REPORT_COMMAND_SITES_H_
