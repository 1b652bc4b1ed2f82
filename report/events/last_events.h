// What ranks that did not reach their end did last, from event logs: lines for the report.
#ifndef DWELL_REPORT_EVENTS_LAST_EVENTS_H_
#define DWELL_REPORT_EVENTS_LAST_EVENTS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace dwell {

// Of at most four of `ranks`, the first ones. Empty: nothing of them is in the logs.
std::string last_events(const std::vector<std::string>& logs, const std::vector<uint32_t>& ranks);

}  // namespace dwell

#endif  // DWELL_REPORT_EVENTS_LAST_EVENTS_H_
