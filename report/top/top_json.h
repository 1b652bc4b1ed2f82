// One reading of a running job as one line of JSON; names of fields as in profile.json.
#ifndef DWELL_REPORT_TOP_TOP_JSON_H_
#define DWELL_REPORT_TOP_TOP_JSON_H_

#include <string>
#include <vector>

#include "report/top/top_rows.h"

namespace dwell {

// `with_ranks`: the sums of each rank were read. With a newline at the end.
std::string top_json(const LiveSnapshot& snapshot, const TopModel& model, const TopChoice& choice,
                     const std::vector<TopAlarm>& alarms, bool with_ranks);

}  // namespace dwell

#endif  // DWELL_REPORT_TOP_TOP_JSON_H_
