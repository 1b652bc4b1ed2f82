// Whether the message that a rank waits for has been sent, as far as the counts of both ranks tell.
#ifndef DWELL_REPORT_LIVE_TRAFFIC_H_
#define DWELL_REPORT_LIVE_TRAFFIC_H_

#include <cstdint>
#include <optional>
#include <string>

#include "report/live/live_job.h"
#include "report/live/positions.h"
#include "summarize/merge/merged.h"

namespace dwell {

// Messages that one process has sent to the other and that this one has not received, by their
// records; nothing where these do not tell.
std::optional<uint64_t> messages_between(const MappedRecords& sender,
                                         const MappedRecords& receiver);

// Adds findings to threads of `positions` that wait for messages and have not moved, and notes
// senders that are certainly needed.
void add_findings(const std::string& directory, const Merged& merged, Positions* positions);

}  // namespace dwell

#endif  // DWELL_REPORT_LIVE_TRAFFIC_H_
