// Writes a timeline in the formats of other tools.
#ifndef DWELL_REPORT_EXPORT_EXPORTERS_H_
#define DWELL_REPORT_EXPORT_EXPORTERS_H_

#include <bit>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report/console/output.h"
#include "report/events/message_channels.h"
#include "report/events/timeline.h"

namespace dwell {

// Buffers a file; after an error nothing more is written.
class OutFile {
  public:
    explicit OutFile(const std::string& path) : path_(path), file_(fopen(path.c_str(), "we")) {
        if (file_ == nullptr) fail();
    }
    ~OutFile() {
        if (file_ != nullptr) fclose(file_);
    }
    OutFile(const OutFile&) = delete;
    OutFile& operator=(const OutFile&) = delete;
    void write(const std::string& bytes) {
        if (!error_.empty()) return;
        if (fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail();
        bytes_ += bytes.size();
    }
    // Replaces bytes that were written.
    void write_at(uint64_t offset, const std::string& bytes) {
        if (!error_.empty()) return;
        if (fseek(file_, static_cast<long>(offset), SEEK_SET) != 0 ||
            fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) {
            fail();
        }
    }
    // An error of one line, or nothing. A file that lacks a part is removed.
    Outcome close() {
        const bool is_open = file_ != nullptr;
        if (is_open && fclose(file_) != 0 && error_.empty()) fail();
        file_ = nullptr;
        if (error_.empty()) return {};
        if (std::error_code none; is_open && std::filesystem::is_regular_file(path_, none))
            std::filesystem::remove(path_, none);
        return tl::make_unexpected(error_);
    }
    // What was written is of no use, for a reason of one line.
    Outcome refuse(const std::string& reason) {
        if (error_.empty()) error_ = reason;
        return close();
    }
    uint64_t bytes() const { return bytes_; }

  private:
    void fail();
    std::string path_;
    std::FILE* file_;
    std::string error_;
    uint64_t bytes_ = 0;
};

// Numbers for messages, the same for both ends: the n-th send to a rank with a communicator and tag
// meets its n-th receive (MPI 3.5: messages do not overtake).
class MessageNumbers {
  public:
    // `event`: of rank `own`, with communicator and tag.
    uint64_t of(uint32_t own, const Event& event);

  private:
    using Counts = std::unordered_map<ChannelKey, uint64_t, ChannelKey::Hash>;
    Counts sent_;
    Counts received_;
};

// OpenMP locks and critical sections, by process and address, numbered from 0 on.
class LockNumbers {
  public:
    struct Acquisition {
        uint32_t lock;
        uint32_t number;  // of this lock
    };
    Acquisition acquire(uint32_t process, uint32_t thread, uint64_t address);
    // Nothing: the thread did not acquire it.
    std::optional<Acquisition> release(uint32_t process, uint32_t thread, uint64_t address);

  private:
    struct Lock {
        uint32_t number;
        uint32_t acquisitions = 0;
        std::map<uint32_t, uint32_t> held{};  // acquisition by thread
    };
    std::map<std::pair<uint32_t, uint64_t>, Lock> locks_;
};

// Characters that are no UTF-8 become U+FFFD, control characters '?'.
std::string utf8_text(const std::string& text);
// Also other characters than those of ASCII become '?', one for each.
std::string ascii_text(const std::string& text);

// What says how far the times of a process may be wrong; empty: there is one clock.
std::string clock_label(const TimelineProcess& process);

// What metrics have counted in each thread since its first event.
class MetricSums {
  public:
    explicit MetricSums(const Timeline& timeline)
        : timeline_(timeline),
          sums_(timeline.threads().size(), std::vector<uint64_t>(timeline.metrics().size())) {}
    // By Timeline::metrics().
    const std::vector<uint64_t>& of(uint32_t thread) const { return sums_[thread]; }
    // The metrics of the event's process.
    const std::vector<uint32_t>& known_by(const TimelineEvent& event) const {
        return timeline_.processes()[timeline_.threads()[event.thread].process].metrics;
    }
    void add(const TimelineEvent& event) {
        const std::vector<uint32_t>& metrics = known_by(event);
        for (uint32_t i = 0; i < event.event.more && i < metrics.size(); ++i)
            sums_[event.thread][metrics[i]] += event.event.values[i];
    }

  private:
    const Timeline& timeline_;
    std::vector<std::vector<uint64_t>> sums_;
};

// Records that few formats can say.
struct UnsaidRecords {
    uint64_t one_sided = 0;
    uint64_t requests = 0;  // starts and ends
    uint64_t io_sizes = 0;
    uint64_t samples = 0;
    void count(const Event& event);
};

// What viewers show of a record of the log itself: lost records, a flush. Empty: nothing.
std::string text_of_control(const Event& event);

// A collective of a communicator that communicates and ends with its call.
bool is_blocking_collective(const TimelinePlace& place);

struct ExportJob {
    std::string path;
    std::string mapping{};  // of messages to sounds: ExportOptions::mapping
    bool is_big_endian = std::endian::native == std::endian::big;  // of formats that have both
    uint64_t limit_bytes = uint64_t{1} << 30;  // of formats that are read as a whole
    std::vector<std::string> left_out{};       // lines: what the format cannot say

    void note(uint64_t count, const std::string& text) {
        if (count != 0) left_out.push_back(std::to_string(count) + " " + text);
    }
};

// Of a timeline that was just opened.
Outcome export_perfetto(Timeline* timeline, ExportJob* job);
Outcome export_chrome(Timeline* timeline, ExportJob* job);
Outcome export_picl(Timeline* timeline, ExportJob* job);
Outcome export_sddf(Timeline* timeline, ExportJob* job);
Outcome export_sddf_binary(Timeline* timeline, ExportJob* job);
Outcome export_midi(Timeline* timeline, ExportJob* job);
Outcome export_epilog(Timeline* timeline, ExportJob* job);
Outcome export_otf2(Timeline* timeline, ExportJob* job);

}  // namespace dwell

#endif  // DWELL_REPORT_EXPORT_EXPORTERS_H_
