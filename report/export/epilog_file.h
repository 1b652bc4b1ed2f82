// Records of EPILOG 1.2 (Forschungszentrum Juelich, University of Tennessee, November 2004), in
// either byte order. Constants: section 6; MPI_COMM_CNT, which it lacks, as readers of later
// versions have it.
#ifndef DWELL_REPORT_EXPORT_EPILOG_FILE_H_
#define DWELL_REPORT_EXPORT_EPILOG_FILE_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "report/export/exporters.h"

namespace dwell {

constexpr uint32_t kEpilogNone = UINT32_MAX;  // ELG_NO_ID, ELG_NO_LNO

enum class EpilogRecord : uint8_t {
    kString = 1,
    kStringRest = 2,
    kMachine = 3,
    kNode = 4,
    kProcess = 5,
    kThread = 6,
    kLocation = 7,
    kFile = 8,
    kRegion = 9,
    kMetric = 10,
    kComm = 11,
    kLastDefinition = 13,
    kEventCount = 14,
    kCallSite = 15,
    kCommRest = 19,
    kEnter = 101,
    kExit = 102,
    kSend = 103,
    kReceive = 104,
    kCollectiveExit = 105,
    kFork = 106,
    kJoin = 107,
    kAcquireLock = 108,
    kReleaseLock = 109,
    kParallelExit = 110,
    kEnterFromCall = 111,
    kEnterDump = 203,
    kExitDump = 204,
};

enum class EpilogRegion : uint8_t {
    kUnknown = 0,
    kFunction = 1,
    kLoop = 2,
    kUser = 3,
    kParallel = 11,
    kOmpLoop = 12,
    kSections = 13,
    kWorkshare = 15,
    kSingle = 16,
    kMaster = 17,
    kCritical = 18,
    kAtomic = 19,
    kBarrier = 20,
    kImplicitBarrier = 21,
};

class EpilogFile {
  public:
    // `events`: so many are counted already.
    EpilogFile(const std::string& path, bool is_big_endian, uint64_t events = 0);

    // A record: begin(), its fields in order, end().
    void begin(EpilogRecord type) {
        record_[1] = static_cast<char>(type);
        size_ = 2;
    }
    void ui1(uint8_t value) { record_[size_++] = static_cast<char>(value); }
    void ui4(uint32_t value) {
        if (swaps_) value = __builtin_bswap32(value);
        memcpy(record_ + size_, &value, sizeof value);
        size_ += sizeof value;
    }
    void ui8(uint64_t value) {
        if (swaps_) value = __builtin_bswap64(value);
        memcpy(record_ + size_, &value, sizeof value);
        size_ += sizeof value;
    }
    void d8(double value) { ui8(std::bit_cast<uint64_t>(value)); }
    void bytes(const char* from, size_t count) {
        memcpy(record_ + size_, from, count);
        size_ += count;
    }
    void end() {
        record_[0] = static_cast<char>(size_ - 2);
        buffer_.append(record_, size_);
        if (buffer_.size() > kBuffer) flush();
    }
    void begin_event(EpilogRecord type, uint32_t location, uint64_t ns) {
        events_ += 1;
        begin(type);
        ui4(location);
        d8(static_cast<double>(ns) / 1e9);
    }

    // The id of a text, whose record is written before the first use.
    uint32_t string(const std::string& text);
    // `group`: a bit for each rank of MPI_COMM_WORLD, the lowest first.
    void comm(uint32_t id, const std::vector<uint8_t>& group);
    // Ends the definitions; close() fills in the number of events.
    void end_definitions();

    uint64_t events() const { return events_; }
    uint32_t strings_cut() const { return strings_cut_; }
    Outcome close();

  private:
    static constexpr size_t kBuffer = 1 << 16;
    static constexpr size_t kLongestBody = 255;
    void flush();

    OutFile out_;
    std::string path_;
    bool swaps_;
    char record_[2 + kLongestBody];
    size_t size_ = 0;
    std::string buffer_;
    std::map<std::string, uint32_t> strings_;
    uint32_t strings_cut_ = 0;
    uint64_t count_at_ = 0;  // place of the number of events in the file
    uint64_t events_;
};

}  // namespace dwell

#endif  // DWELL_REPORT_EXPORT_EPILOG_FILE_H_
