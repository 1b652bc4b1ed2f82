// `dwell report --site`: the whole information of a profile on one procedure, loop, block or
// statement, over all call paths: time and count, the statements that lead to it, and its contents.
#ifndef DWELL_REPORT_TEXT_SITE_QUERY_H_
#define DWELL_REPORT_TEXT_SITE_QUERY_H_

#include <string>
#include <tl/expected.hpp>

#include "report/text/text_report.h"

namespace dwell {

// `site`: a name (for a C++ procedure also without scopes, arguments and parameters), or FILE:LINE
// with any number of the path's last elements. An error when nothing in the profile matches.
tl::expected<std::string, std::string> write_site_report(const Profile& profile,
                                                         const std::string& site,
                                                         const TextOptions& options);

}  // namespace dwell

#endif  // DWELL_REPORT_TEXT_SITE_QUERY_H_
