// Computation by line of a program without MPI: `dwell run` samples the program from outside, since
// libdwell.so leaves processes that never call MPI_Init untouched (DESIGN 5, rule 4).
#ifndef DWELL_REPORT_SERIAL_H_
#define DWELL_REPORT_SERIAL_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "report/cli.h"
#include "summarize/merged.h"

namespace dwell {

// One memory-mapped ring of the kernel for each processor: an event that children and threads
// inherit can be mapped only so.
class SerialSampler {
  public:
    explicit SerialSampler(int hz) : hz_(hz) {}
    ~SerialSampler();
    SerialSampler(const SerialSampler&) = delete;
    SerialSampler& operator=(const SerialSampler&) = delete;

    // `child` has been forked and waits to call exec; sampling begins there.
    void start(pid_t child);
    // Reads what the kernel has gathered. Call a few times a second.
    void drain();
    // Ends sampling and forgets: the program turned out to use MPI.
    void stop();

    // The records of the run: one rank, one program node, samples as its children; `flags` are more
    // of the rank's FileFlags. False when memory ran out.
    bool build_records(const RunOptions& options, uint32_t flags, Merged* merged);
    // Writes the profile of the ended program.
    void write_profile(const RunOptions& options, uint32_t flags);

  private:
    struct Ring {
        int file;
        void* pages;
    };
    struct Mapping {
        uint64_t start;
        uint64_t bytes;
        uint64_t file_offset;
        std::string path;
    };
    // A sampled place: module path and offset from its load bias, or a raw address and no path.
    using Place = std::pair<std::string, uint64_t>;

    bool open_ring(pid_t child, int processor);
    void drain_ring(const Ring& ring);
    void take_record(const char* record, uint32_t type, uint64_t bytes);
    const Mapping* find_mapping(uint32_t pid, uint64_t address) const;
    std::map<Place, uint64_t> count_places() const;

    int hz_;
    pid_t child_ = 0;
    int start_error_ = 0;
    int64_t start_ns_ = 0;
    int64_t end_ns_ = 0;  // of the last drain
    int64_t start_unix_ns_ = 0;
    uint64_t samples_ = 0;
    uint64_t lost_ = 0;
    std::vector<Ring> rings_;
    std::map<uint32_t, std::vector<Mapping>> mappings_;       // by process
    std::map<uint32_t, uint32_t> parents_;                    // by process
    std::map<std::pair<uint32_t, uint64_t>, uint64_t> hits_;  // (process, address)
};

// One line saying why cpu-clock sampling of own processes cannot be opened; empty when it can.
std::string sampling_obstacle();

}  // namespace dwell

#endif  // DWELL_REPORT_SERIAL_H_
