// Whether the metrics that `dwell run --metrics` asks for have names that PAPI knows.
#ifndef DWELL_REPORT_CONSOLE_METRIC_NAMES_H_
#define DWELL_REPORT_CONSOLE_METRIC_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace dwell {

// What the value of --metrics should be, when its form is wrong; else empty.
std::string metrics_form_error(const std::string& value);

// One line for the first name that PAPI does not know, with names that are like it; empty when all
// are known, or there is no PAPI to ask.
std::string unknown_metric(const std::string& list);

// Of `names` the few that are most like `wanted`, best first; empty when none is.
std::vector<std::string> near_names(const std::string& wanted,
                                    const std::vector<std::string>& names);

}  // namespace dwell

#endif  // DWELL_REPORT_CONSOLE_METRIC_NAMES_H_
