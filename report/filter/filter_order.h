// What `dwell run` and the process with the user's filter send each other over a socket. Records
// are in memory that both have mapped.
#ifndef DWELL_REPORT_FILTER_FILTER_ORDER_H_
#define DWELL_REPORT_FILTER_FILTER_ORDER_H_

#include <string>
#include <type_traits>

#include "report/filter/filter_process.h"

namespace dwell {

constexpr size_t kFilteredAtOnce = 8192;
constexpr size_t kMostFiltered = 4 * kFilteredAtOnce;

struct FilterProcess::Shared {
    RingRecord in[kFilteredAtOnce];
    RingRecord out[kMostFiltered];
};
static_assert(std::is_trivially_copyable_v<RingRecord>);

enum class FilterOrderKind : uint32_t { kPlace, kRecords };
// Of a place: the texts follow, name and file.
struct FilterOrder {
    FilterOrderKind what;
    uint32_t count;  // of records
    FilteredThread thread;
    SiteKind kind;
    int32_t line;
    uint32_t name_bytes;
    uint32_t file_bytes;
};
// The names of new marks follow, each with its zero. The first answer: `count` 0 and an error, if
// any, in place of names.
struct FilterAnswer {
    uint32_t count;
    uint32_t name_bytes;
    FilterCounts counts;
};

bool send_bytes(int socket, const void* bytes, size_t count);
bool receive_bytes(int socket, void* bytes, size_t count, int patience_ms);

// The life of the process with the filter.
[[noreturn]] void serve_filter(int socket, const RingRecord* in, RingRecord* out,
                               const std::string& file, const std::string& arguments);

}  // namespace dwell

#endif  // DWELL_REPORT_FILTER_FILTER_ORDER_H_
