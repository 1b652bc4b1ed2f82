// Keeps the samples of ranks that compute for long without an MPI call, whose rings would overflow:
// see runtime/sampling/sample_spill.h. A thread of `dwell run` does this, woken by the kernel when
// a ring is half full.
#ifndef DWELL_REPORT_SAMPLING_SAMPLE_DRAIN_H_
#define DWELL_REPORT_SAMPLING_SAMPLE_DRAIN_H_

#include <string>
#include <thread>

namespace dwell {

class SampleDrain {
  public:
    // Puts the name of its socket into the environment. Without a socket samples may be lost, which
    // is counted.
    SampleDrain();
    ~SampleDrain() { stop(); }
    SampleDrain(const SampleDrain&) = delete;
    SampleDrain& operator=(const SampleDrain&) = delete;

    // Call when no more processes will be forked.
    void start();
    void stop();

  private:
    int socket_ = -1;
    int stop_ = -1;  // an eventfd
    std::thread thread_;
};

}  // namespace dwell

#endif  // DWELL_REPORT_SAMPLING_SAMPLE_DRAIN_H_
