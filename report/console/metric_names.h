// Checks that PAPI knows the metrics of `dwell run --metrics`.
#ifndef DWELL_REPORT_CONSOLE_METRIC_NAMES_H_
#define DWELL_REPORT_CONSOLE_METRIC_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace dwell {

// The valid form of the value of --metrics if its form is wrong; else empty.
std::string metrics_form_error(const std::string& value);

// One line on the first name that PAPI does not know, with similar names; empty when all are known,
// or without PAPI.
std::string unknown_metric(const std::string& list);

// The few of `names` that are most similar to `wanted`, best first; empty when none is similar.
std::vector<std::string> near_names(const std::string& wanted,
                                    const std::vector<std::string>& names);

}  // namespace dwell

#endif  // DWELL_REPORT_CONSOLE_METRIC_NAMES_H_
