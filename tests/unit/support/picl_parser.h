// A strict parser of PICL files (ORNL/TM-12125), written from the report alone: it shares nothing
// with the writer that it checks. Beyond the syntax it holds a file to what statistics files
// promise: records sorted by clock, the -901 entry first and the -901 exit last of a process's
// event records, its statistics after that with the same clock, subsets defined before use.
#ifndef DWELL_TESTS_UNIT_PICL_PARSER_H_
#define DWELL_TESTS_UNIT_PICL_PARSER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dwell {

struct PiclValue {
    int64_t integer = 0;  // %d, %ld
    double real = 0;      // %f, %lf; of integers their value
    std::string text;     // %s, %c; of numbers their spelling
};

// One data field holds one value for each conversion of the descriptor. With descriptor "%c" all
// characters together are the one value of the only field.
using PiclField = std::vector<PiclValue>;

struct PiclRecord {
    int line = 0;
    int64_t type = 0;
    int64_t event = 0;
    double clock = 0;
    std::string clock_text;
    int64_t processor = 0;
    int64_t process = 0;
    int64_t field_count = 0;  // as the record says
    std::string descriptor;   // as written, without the quotes; empty when there are no fields
    bool quoted = false;
    std::vector<PiclField> fields;
};

struct PiclFile {
    std::vector<PiclRecord> records;  // those without an error of syntax
    std::vector<std::string> errors;  // "line 7: ..."
};

PiclFile parse_picl(std::string_view text);

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_PICL_PARSER_H_
