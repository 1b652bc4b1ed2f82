// For the files of Replay alone.
#ifndef DWELL_SUMMARIZE_EVENTS_REPLAY_PARTS_H_
#define DWELL_SUMMARIZE_EVENTS_REPLAY_PARTS_H_

#include "summarize/events/replay.h"

namespace dwell {

inline bool is_statement(const Node& node) {
    return node.site.kind == SiteKind::kCommunication || node.site.kind == SiteKind::kIo;
}
inline uint64_t beyond(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_EVENTS_REPLAY_PARTS_H_
