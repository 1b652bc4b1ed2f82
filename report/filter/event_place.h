// Names of the places in the program that events refer to.
#ifndef DWELL_REPORT_FILTER_EVENT_PLACE_H_
#define DWELL_REPORT_FILTER_EVENT_PLACE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "report/live/path_texts.h"
#include "runtime/contract/record_layout.h"
#include "summarize/attribution/call_paths.h"

namespace dwell {

struct EventPlace {
    std::string name;   // "exchange", "MPI_Recv"
    std::string where;  // "heat.c:8"; empty: not known
    std::string file;   // with its path
    int line = 0;       // 0: not known
    SiteKind kind = SiteKind::kNone;
    uint16_t call = 0;  // MpiCall, IoCall or OmpConstruct
};

EventPlace place_of_node(const Merged& merged, CallPaths* paths, uint32_t node);

// The places of running processes: equal ones of all have one number.
class EventPlaces {
  public:
    // By node, of one process.
    using Known = std::unordered_map<CellIndex, uint32_t>;
    // Adds to `known` those of the nodes that it lacks. `records`: the record file of the process.
    void find(std::string_view records, const std::vector<CellIndex>& nodes, Known* known);

    const std::vector<EventPlace>& all() const { return places_; }

  private:
    uint32_t number_of(EventPlace place);

    std::vector<EventPlace> places_;
    std::map<std::tuple<SiteKind, uint16_t, std::string, std::string, int>, uint32_t> numbers_;
    KnownLines lines_;
};

// Whether a pattern of the shell means the place: by its name, with or without parameters and
// namespaces, or by its line, as in heat.c:8.
bool is_place(const EventPlace& place, const std::string& pattern);

}  // namespace dwell

#endif  // DWELL_REPORT_FILTER_EVENT_PLACE_H_
