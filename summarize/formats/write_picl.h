// Writes stats.picl: the statistics records of ORNL/TM-12125 (DESIGN 7). Choices that the report
// leaves open are documented in docs/picl.md.
#ifndef DWELL_SUMMARIZE_FORMATS_WRITE_PICL_H_
#define DWELL_SUMMARIZE_FORMATS_WRITE_PICL_H_

#include <string>

#include "summarize/model/profile.h"

namespace dwell {

// The text of stats.picl; ASCII only. With figures per rank every process has its own statistics,
// otherwise the subset of all processes has the sums.
std::string write_picl(const Profile& profile);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_FORMATS_WRITE_PICL_H_
