// Samples where threads of other processes compute, for a second, from outside: instruction
// addresses by perf_event_open, without call paths.
#ifndef DWELL_REPORT_LIVE_THREAD_SAMPLES_H_
#define DWELL_REPORT_LIVE_THREAD_SAMPLES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "report/live/positions.h"
#include "summarize/symbols/lines.h"

namespace dwell {

class ThreadSamples {
  public:
    ThreadSamples();
    ~ThreadSamples();
    ThreadSamples(const ThreadSamples&) = delete;
    ThreadSamples& operator=(const ThreadSamples&) = delete;

    // Begins to sample the threads that are in no call of MPI; at most kMostSampled. Those that the
    // kernel does not allow to sample have no samples.
    void begin(const Positions& positions);
    // Adds their places to the same threads of `positions`.
    void end(LineResolver* lines, Positions* positions);

  private:
    struct Thread;
    std::vector<std::unique_ptr<Thread>> threads_;
};
constexpr size_t kMostSampled = 64;
constexpr size_t kPlacesNamed = 3;

}  // namespace dwell

#endif  // DWELL_REPORT_LIVE_THREAD_SAMPLES_H_
