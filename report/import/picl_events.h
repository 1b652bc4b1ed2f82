// What the event types of a PICL trace mean (Tables 4 to 13), in a log's terms.
#ifndef DWELL_REPORT_IMPORT_PICL_EVENTS_H_
#define DWELL_REPORT_IMPORT_PICL_EVENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/import/imported_log.h"
#include "report/import/picl_reader.h"

namespace dwell {

// Which data an event has.
enum class PiclShape : uint8_t {
    kNone,
    kSend,          // entry: length, type, processor, process
    kSendStart,     // the same; exit: request
    kStart,         // of a persistent request: as kSendStart where it sends; else entry: nothing
    kReceive,       // entry: what is asked for; exit: length, type, processor, process
    kReceiveStart,  // entry: what is asked for; exit: request
    kSendEnd,       // entry: request
    kReceiveEnd,    // entry: request; exit: as kReceive
    kCollective,    // entry: processors, processes, root; exit: bytes sent, received (docs/picl.md)
    kFileWrite,     // entry: length
    kFileRead,      // exit: length
};
PiclShape shape_of(int64_t event);

// `label`: the text of a -5 record for this event type, or empty.
ImportedPlace place_of_picl_event(int64_t event, const std::string& label);

// The fields of an event record; a wildcard, and what is not there, is no field.
class PiclData {
  public:
    explicit PiclData(const std::vector<PiclValue>& values) : values_(values) {}
    std::optional<int64_t> at(size_t number) const {
        if (number >= values_.size() || !values_[number].is_integer) return std::nullopt;
        return values_[number].integer;
    }
    std::optional<uint64_t> natural(size_t number) const {
        const auto value = at(number);
        if (!value || *value < 0) return std::nullopt;
        return static_cast<uint64_t>(*value);
    }
    size_t size() const { return values_.size(); }

  private:
    const std::vector<PiclValue>& values_;
};

}  // namespace dwell

#endif  // DWELL_REPORT_IMPORT_PICL_EVENTS_H_
