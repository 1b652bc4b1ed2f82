// MPI statements as events of PICL's format, with the data that ORNL/TM-12125 gives them. One
// statement may be several events: a wait for four requests is four.
#ifndef DWELL_REPORT_EXPORT_PICL_CALLS_H_
#define DWELL_REPORT_EXPORT_PICL_CALLS_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "report/events/timeline.h"

namespace dwell {

// The data of an event record: single integers (Tables 7 to 13).
class PiclFields {
  public:
    void add(int64_t value) {
        if (size_ != values_.size()) values_[size_++] = value;
    }
    bool is_empty() const { return size_ == 0; }
    // The number of fields, the descriptor and the fields, each after a blank.
    void append_to(std::string* line) const;

  private:
    std::array<int64_t, 5> values_{};
    uint32_t size_ = 0;
};

struct PiclEvent {
    int type = 0;
    PiclFields entry;
    PiclFields exit;
};

// `main` lasts as long as the statement; the others have no duration.
struct PiclCall {
    std::vector<PiclEvent> at_begin;
    PiclEvent main;
    std::vector<PiclEvent> at_end;
    size_t records = 0;  // of the log, that this consists of
};

class PiclCalls {
  public:
    explicit PiclCalls(Timeline* timeline);

    // Processors are ranks, unless several processes have one rank.
    int64_t processor_of(uint32_t process) const;
    bool has_unique_ranks() const { return has_unique_ranks_; }
    // Processor subsets are numbered from -2 downwards; 0: of this communicator there is none.
    int subset_of(uint32_t comm) const;

    // Whether a place is a statement of MPI for which there is an event type.
    static bool is_system_event(const TimelinePlace& place);
    // Of such a statement, which begins with `begin`. To be called for all threads, in order.
    PiclCall translate(const TimelineEvent& begin);

  private:
    enum class RequestKind : uint8_t { kSend, kReceive };
    struct Completion {
        const Event* message = nullptr;  // received
        int64_t request = -1;
        bool sends = false;
    };
    using RequestKey = std::pair<uint32_t, uint32_t>;  // process, number

    void look_ahead(uint32_t thread);
    int64_t processor_of_rank(uint32_t rank) const;
    int64_t root_of(uint32_t comm, uint32_t rank) const;
    void note_starts(uint32_t process, bool starts_sends);
    PiclFields message_fields(const Event& message) const;

    void translate_sends(const int16_t* types, PiclCall* call) const;
    void translate_receive(const int16_t* types, PiclCall* call) const;
    void translate_completions(const int16_t* types, bool is_test, uint32_t process,
                               PiclCall* call);
    void translate_collective(PiclCall* call) const;
    std::vector<Completion> completions(uint32_t process);

    Timeline& timeline_;
    bool has_unique_ranks_ = true;
    std::vector<int64_t> processors_;             // by process
    std::map<uint32_t, size_t> comms_;            // by id: index
    std::map<RequestKey, RequestKind> requests_;  // that have begun
    std::vector<uint32_t> receives_;              // of these, by process
    std::vector<Event> parts_;                    // of the statement that is translated
    size_t records_ = 0;                          // these, and damaged ones
    bool has_waited_ = false;                     // the statement
};

}  // namespace dwell

#endif  // DWELL_REPORT_EXPORT_PICL_CALLS_H_
