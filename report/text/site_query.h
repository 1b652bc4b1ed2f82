// `dwell report --site`: everything that a profile says of one procedure, loop, block or statement,
// over all call paths: its time and count, by the statements that lead to it, and what lies in it.
#ifndef DWELL_REPORT_TEXT_SITE_QUERY_H_
#define DWELL_REPORT_TEXT_SITE_QUERY_H_

#include <string>
#include <tl/expected.hpp>

#include "report/text/text_report.h"

namespace dwell {

// `site`: a name (of a C++ procedure also without scopes, arguments and parameters), or FILE:LINE
// with as much of the file's path as is wanted. An error when nothing in the profile is meant.
tl::expected<std::string, std::string> write_site_report(const Profile& profile,
                                                         const std::string& site,
                                                         const TextOptions& options);

}  // namespace dwell

#endif  // DWELL_REPORT_TEXT_SITE_QUERY_H_
