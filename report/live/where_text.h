// `dwell where` as text: what keeps the job, then where its ranks are.
#ifndef DWELL_REPORT_LIVE_WHERE_TEXT_H_
#define DWELL_REPORT_LIVE_WHERE_TEXT_H_

#include <cstdint>
#include <string>

#include "report/console/cli.h"
#include "report/live/positions.h"

namespace dwell {

// `now_ns`: the time of the reading. Where nothing has moved meanwhile, ranks that cannot go on are
// named first.
std::string where_text(const Positions& positions, int64_t now_ns, const WhereOptions& options);

// One object with an array of threads.
std::string where_json(const Positions& positions, int64_t now_ns);

}  // namespace dwell

#endif  // DWELL_REPORT_LIVE_WHERE_TEXT_H_
