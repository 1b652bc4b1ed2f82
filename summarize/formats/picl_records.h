// What the statistics (write_picl.h) and the trace (report/events/export_picl.cpp) in PICL's format
// share. "Table" and "section" are those of ORNL/TM-12125.
#ifndef DWELL_SUMMARIZE_FORMATS_PICL_RECORDS_H_
#define DWELL_SUMMARIZE_FORMATS_PICL_RECORDS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace dwell {

// Record types (Table 3).
enum class PiclRecordType : int {
    kMark = -2,
    kEntry = -3,
    kExit = -4,
    kLabel = -5,
    kDescriptor = -6,
    kMessage = -7,
    kTime = -101,
    kCount = -102,
    kVolume = -103,
    kProcessorSubset = -201,  // Table 18
    kProcessSubset = -202,
    kEventSubset = -203,
};

// Event types (Tables 4 and 5).
constexpr int kPiclAllEvents = -1;
constexpr int kPiclFileWrite = -221;
constexpr int kPiclFileRead = -251;
constexpr int kPiclBarrier = -402;
constexpr int kPiclTracing = -901;
constexpr int kPiclTraceLevel = -904;
constexpr int kPiclTraceFlush = -912;
constexpr int kPiclBufferFull = -913;
constexpr int kPiclOverwriting = -914;

constexpr int kPiclAnywhere = -1;  // wildcard in the processor and process fields (Table 2)

// Predefined descriptors of data (Table 2).
constexpr int kPiclCharacters = 0;
constexpr int kPiclIntegers = 2;
constexpr int kPiclLongIntegers = 3;

// Where and when a record is valid: fields three to five of every record (Table 1).
struct PiclLocation {
    std::string clock;
    int processor;
    int process;
};

// In seconds; before 0 where `ns` is.
std::string picl_clock(int64_t ns);

// A name for an event type that Table 4 does not list; empty: Table 4 does, or it is a user's.
std::string_view picl_label(int event);

// A record without data, as a line.
std::string picl_mark(PiclRecordType record, int event, const PiclLocation& at);
// One with text, in ASCII. Characters are single data fields ("%c"): their number comes first, and
// blanks are data.
std::string picl_text(PiclRecordType record, int event, const PiclLocation& at,
                      std::string_view words);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_FORMATS_PICL_RECORDS_H_
