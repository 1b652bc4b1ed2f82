// Reads facts from a program's source that compilers do not keep. Both compilers have the same
// graph for a while loop left by the second part of its condition, and for one left by the first
// statement of its body.
#ifndef DWELL_INSTRUMENT_SELECTION_SOURCE_TEXT_H_
#define DWELL_INSTRUMENT_SELECTION_SOURCE_TEXT_H_

#include <stdint.h>

#include <string>
#include <string_view>

namespace dwell {

struct SourcePlace {
    std::string file;
    uint32_t line = 0;    // 0 = unknown
    uint32_t column = 0;  // from 1 on
};

// Line `line` of `file`; null data: the file cannot be read.
using LineReader = std::string_view (*)(const std::string& file, uint32_t line);

// The statement whose parentheses contain a place.
struct Around {
    enum class Statement : uint8_t {
        kUnknown,  // none; or the source cannot be read, or a macro contains it
        kLoop,     // while or for; do while of Fortran
        kChoice,   // if or switch
        kOther,    // a call or macro outside of these
    };
    Statement statement = Statement::kUnknown;
    bool is_at_end = false;  // do ... while (...)
    uint32_t line = 0;       // of its keyword
    uint32_t column = 0;

    bool is_loop() const { return statement == Statement::kLoop; }
    // The condition comes before the body.
    bool is_first() const { return is_loop() && !is_at_end; }
    bool is_choice() const { return statement == Statement::kChoice; }
    bool is_unknown() const { return statement == Statement::kUnknown; }
    bool operator==(const Around&) const = default;
};
Around statement_around(const SourcePlace& place, LineReader reader);

// The same; without a statement the place itself, of unknown kind: all code of a macro has one
// place.
Around statement_or_place(const SourcePlace& place, LineReader reader);

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_SELECTION_SOURCE_TEXT_H_
