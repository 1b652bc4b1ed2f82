// See picl_events.h.
#include "report/import/picl_events.h"

#include <algorithm>
#include <iterator>

#include "runtime/contract/io_calls.h"
#include "runtime/contract/mpi_call_numbers.h"
#include "runtime/contract/mpi_calls.h"
#include "summarize/formats/picl_records.h"

namespace dwell {
namespace {

// Several functions of MPI have one event type: this is the one that does what PICL's command does.
struct KnownCall {
    int64_t event;
    MpiCall call;
    PiclShape shape;
};
constexpr KnownCall kKnownCalls[] = {{-21, MpiCall::kSend, PiclShape::kSend},
                                     {-22, MpiCall::kBsend, PiclShape::kSend},
                                     {-23, MpiCall::kSsend, PiclShape::kSend},
                                     {-24, MpiCall::kRsend, PiclShape::kSend},
                                     {-27, MpiCall::kIsend, PiclShape::kSendStart},
                                     {-28, MpiCall::kTest, PiclShape::kSendEnd},
                                     {-29, MpiCall::kTest, PiclShape::kNone},
                                     {-30, MpiCall::kWait, PiclShape::kSendEnd},
                                     {-31, MpiCall::kWait, PiclShape::kSendEnd},
                                     {-33, MpiCall::kIbsend, PiclShape::kSendStart},
                                     {-39, MpiCall::kIssend, PiclShape::kSendStart},
                                     {-51, MpiCall::kRecv, PiclShape::kReceive},
                                     {-52, MpiCall::kRecv, PiclShape::kReceive},
                                     {-53, MpiCall::kIprobe, PiclShape::kNone},
                                     {-54, MpiCall::kIprobe, PiclShape::kNone},
                                     {-55, MpiCall::kProbe, PiclShape::kNone},
                                     {-56, MpiCall::kProbe, PiclShape::kNone},
                                     {-57, MpiCall::kIrecv, PiclShape::kReceiveStart},
                                     {-58, MpiCall::kTest, PiclShape::kReceiveEnd},
                                     {-59, MpiCall::kTest, PiclShape::kNone},
                                     {-60, MpiCall::kWait, PiclShape::kReceiveEnd},
                                     {-61, MpiCall::kWait, PiclShape::kReceiveEnd},
                                     {kPiclBarrier, MpiCall::kBarrier, PiclShape::kCollective}};

struct KnownIo {
    int64_t event;
    IoCall call;
    PiclShape shape;
};
constexpr KnownIo kKnownIo[] = {{-201, IoCall::kOpen, PiclShape::kNone},
                                {-202, IoCall::kClose, PiclShape::kNone},
                                {kPiclFileWrite, IoCall::kWrite, PiclShape::kFileWrite},
                                {kPiclFileRead, IoCall::kRead, PiclShape::kFileRead}};

// Commands of PICL without an equivalent (Tables 4 and 5).
struct KnownName {
    int64_t event;
    const char* name;
};
constexpr KnownName kKnownNames[] = {{-11, "open0"},
                                     {-12, "close0"},
                                     {-13, "who0"},
                                     {-14, "recvinfo0"},
                                     {-401, "clocksync0"},
                                     {-501, "open0 (processors)"},
                                     {-502, "close0 (processors)"},
                                     {-503, "load0"},
                                     {-601, "idle"},
                                     {-602, "system overhead"},
                                     {-603, "user or parallel overhead"},
                                     {-902, "traceevents"},
                                     {-903, "tracefiles"},
                                     {-904, "tracelevel"},
                                     {-905, "traceinfo"},
                                     {-911, "tracemsg"},
                                     {-912, "traceflush"},
                                     {-913, "trace buffer full"},
                                     {-914, "trace buffer overwritten"}};

template <typename Table>
const auto* find(const Table& table, int64_t event) {
    const auto* const found =
        std::find_if(std::begin(table), std::end(table),
                     [event](const auto& known) { return known.event == event; });
    return found == std::end(table) ? nullptr : found;
}

int other_call(int64_t event) {
    for (int i = 1; i < kMpiCallCount; ++i) {
        const int16_t* const types = kMpiCalls[i].event;
        if (event < 0 && std::find(types, types + kEventSlots, event) != types + kEventSlots)
            return i;
    }
    return 0;
}

}  // namespace

PiclShape shape_of(int64_t event) {
    if (const auto* const call = find(kKnownCalls, event)) return call->shape;
    if (const auto* const io = find(kKnownIo, event)) return io->shape;
    const int call = other_call(event);
    if (call == static_cast<int>(MpiCall::kStart) || call == static_cast<int>(MpiCall::kStartall))
        return PiclShape::kStart;
    return call != 0 && kMpiCalls[call].call_class == CallClass::kCollective
               ? PiclShape::kCollective
               : PiclShape::kNone;
}

ImportedPlace place_of_picl_event(int64_t event, const std::string& label) {
    if (const auto* const call = find(kKnownCalls, event))
        return {SiteKind::kCommunication, static_cast<uint16_t>(call->call)};
    if (const auto* const io = find(kKnownIo, event))
        return {SiteKind::kIo, static_cast<uint16_t>(io->call)};
    if (const auto* const name = find(kKnownNames, event))
        return {SiteKind::kBlock, 0, label.empty() ? name->name : label};
    if (const int call = other_call(event); call != 0)
        return {SiteKind::kCommunication, static_cast<uint16_t>(call)};
    if (!label.empty()) return {SiteKind::kBlock, 0, label};
    return {SiteKind::kBlock, 0, "event " + std::to_string(event)};
}

}  // namespace dwell
