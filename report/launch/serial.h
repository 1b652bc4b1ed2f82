// Computation by line of a program without MPI: `dwell run` samples it from outside, since
// libdwell.so leaves processes that never call MPI_Init untouched (DESIGN 5, rule 4). A sample
// contains a part of the stack, which becomes a call path as the sample is read.
#ifndef DWELL_REPORT_LAUNCH_SERIAL_H_
#define DWELL_REPORT_LAUNCH_SERIAL_H_

#include <sys/resource.h>
#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "report/console/cli.h"
#include "report/sampling/mapped_code.h"
#include "summarize/merge/merged.h"

namespace dwell {

// Samples through one memory-mapped ring of the kernel for each processor: an event that children
// and threads inherit can only be mapped that way.
class SerialSampler {
  public:
    // Without `paths` samples are addresses only.
    SerialSampler(int hz, bool paths) : hz_(hz), paths_(paths) {}
    ~SerialSampler();
    SerialSampler(const SerialSampler&) = delete;
    SerialSampler& operator=(const SerialSampler&) = delete;

    // `child` has been forked and waits to call exec; sampling begins at exec.
    void start(pid_t child);
    // Reads what the kernel has gathered. Call at least every drain_ms().
    void drain();
    int drain_ms() const { return drain_ms_; }
    // Ends sampling and discards the samples, because the program uses MPI.
    void stop();

    // Resource usage of the ended program, where known.
    void note_used(const rusage& used);
    // The records of the run: one rank, one program node, samples as its children; `flags` are
    // added to the rank's FileFlags. Returns false without memory.
    bool build_records(const RunOptions& options, uint32_t flags, Merged* merged);
    // Writes the profile of the ended program.
    void write_profile(const RunOptions& options, uint32_t flags);

  private:
    struct Ring {
        int file;
        void* pages;
        uint64_t bytes;  // of data, after the first page
        uint64_t end;    // end of the part being read
    };
    // A frame of a call path, or an address sampled in one.
    struct Spot {
        uint32_t above;  // number of the calling frame, 0: none
        uint32_t pid;
        uint64_t address;
        uint16_t call;  // of the outermost frame: MergedNode::call
        SiteKind kind;
        auto operator<=>(const Spot&) const = default;
    };
    struct InProcess {
        SerialSampler* sampler;
        uint32_t pid;
    };
    // A sampled place: module path and offset from its load bias, or a raw address without a path.
    using Place = std::pair<std::string, uint64_t>;

    bool open_ring(pid_t child, int processor);
    template <typename Take>
    void read_ring(const Ring& ring, uint64_t end, Take take);
    void take_event(const char* record, uint32_t type, uint64_t bytes);
    void take_sample(const char* record, uint64_t bytes);
    uint32_t number(const Spot& spot);
    static bool find_module(const void* process, uint64_t address, SampledModule* module);
    const CodeMapping* find_mapping(uint32_t pid, uint64_t address) const;
    Place place_of(const Spot& spot);
    bool add_spots(uint32_t rank, Merged* merged);

    int hz_;
    bool paths_;
    int drain_ms_ = 200;
    pid_t child_ = 0;
    int start_error_ = 0;
    int64_t start_ns_ = 0;
    int64_t end_ns_ = 0;  // of the last drain
    int64_t start_unix_ns_ = 0;
    ProcessUsage used_{};
    bool used_known_ = false;
    uint64_t samples_ = 0;
    uint64_t lost_ = 0;
    std::vector<Ring> rings_;
    std::vector<char> record_;
    std::map<uint32_t, std::vector<CodeMapping>> mappings_;  // by process
    std::map<uint32_t, uint32_t> parents_;                   // by process
    MappedFiles files_;
    uint32_t traced_ = 0;  // process of the latest path
    std::map<Spot, uint32_t> numbers_;
    std::vector<Spot> spots_;      // by number, from 1 on
    std::vector<uint64_t> count_;  // number of samples
};

// One line on why cpu-clock sampling of own processes cannot be opened; empty when it can.
std::string sampling_obstacle();

}  // namespace dwell

#endif  // DWELL_REPORT_LAUNCH_SERIAL_H_
