// Table of the MPI functions. The rows are generated from runtime/contract/mpi_calls.table by
// runtime/wrappers/generate_mpi.py, as are the wrappers.
#ifndef DWELL_RUNTIME_CONTRACT_MPI_CALLS_H_
#define DWELL_RUNTIME_CONTRACT_MPI_CALLS_H_

#include <stdint.h>

#include "runtime/contract/record_layout.h"

namespace dwell {

enum class CallClass : uint8_t {
    kNone = 0,
    kSend = 1,  // blocking or starting a request
    kReceive = 2,
    kSendReceive = 3,
    kProbe = 4,
    kWait = 5,        // completes requests, blocking
    kTest = 6,        // completes requests, not blocking
    kCollective = 7,  // blocking or starting a request
    kRma = 8,
    kFile = 9,
    kManage = 10,  // creates or frees communicators, groups, windows, files, datatypes, requests …
    kEnvironment = 11,  // MPI_Init, MPI_Finalize, MPI_Abort, MPI_Pcontrol
};

// `event`: the PICL event type of each EventSlot (negative), 0 = the function never uses that slot.
struct MpiCallInfo {
    const char* name;  // name in the C binding
    CallClass call_class;
    int16_t event[kEventSlots];
    // May wait for other ranks, and no record shows how long: collectives, RMA synchronisation,
    // collective management and I/O.
    bool waits;
    // Covered by the wait analysis: its waiting for partners on its host is known, except for calls
    // that are counted as unknown.
    bool analysed;
};

// Number 0 is no function. Numbers follow the order of the table and are part of the record format
// of one version of dwell.
extern const MpiCallInfo kMpiCalls[];
extern const int kMpiCallCount;

// A test of requests or a probe that does not wait. Unsuccessful ones are waiting for a partner.
inline bool is_poll(uint16_t number) {
    if (number >= kMpiCallCount) return false;
    const MpiCallInfo& call = kMpiCalls[number];
    const bool immediate = call.name[4] == 'I';  // "MPI_Iprobe"
    return call.call_class == CallClass::kTest ||
           (call.call_class == CallClass::kProbe && immediate);
}

// A name for every PICL event type that kMpiCalls uses: for -5 label records.
struct EventName {
    int16_t event;
    const char* name;
};
extern const EventName kEventNames[];
extern const int kEventNameCount;

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_MPI_CALLS_H_
