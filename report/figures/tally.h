// The tables of AIMS's tally: of each routine and each rank the time it was busy, and the time it
// was blocked in communication.
#ifndef DWELL_REPORT_FIGURES_TALLY_H_
#define DWELL_REPORT_FIGURES_TALLY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "summarize/model/profile.h"

namespace dwell {

// Blocking is all time in a statement, as tally has it, not waiting alone.
struct TallyTimes {
    uint64_t busy_ns = 0;
    uint64_t global_ns = 0;  // collectives, windows, and waiting for other OpenMP threads
    uint64_t send_ns = 0;
    uint64_t receive_ns = 0;  // also probes, waits for requests and MPI_Sendrecv
};
inline uint64_t blocking_ns(const TallyTimes& times) {
    return times.global_ns + times.send_ns + times.receive_ns;
}
inline uint64_t life_ns(const TallyTimes& times) { return times.busy_ns + blocking_ns(times); }

struct TallyRoutine {
    std::string name;
    TallyTimes times;                      // apart from the routines that it calls
    std::map<uint32_t, TallyTimes> ranks;  // by rank
};

struct Tally {
    std::vector<TallyRoutine> routines;    // longest life time first
    std::map<uint32_t, TallyTimes> ranks;  // none where the profile has no rows
    uint64_t life_ns = 0;                  // of all routines
};

// Without the set-up of MPI.
Tally tally_of(const Profile& profile);

}  // namespace dwell

#endif  // DWELL_REPORT_FIGURES_TALLY_H_
