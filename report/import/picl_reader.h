// Reads the records of a trace in PICL's format. "Table" is that of ORNL/TM-12125.
#ifndef DWELL_REPORT_IMPORT_PICL_READER_H_
#define DWELL_REPORT_IMPORT_PICL_READER_H_

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dwell {

struct PiclValue {
    bool is_integer = false;
    int64_t integer = 0;
};
// Fields as in Table 1.
struct PiclRecord {
    int64_t type = 0;
    int64_t event = 0;
    int64_t ns = 0;
    int64_t processor = 0;
    int64_t process = 0;
    std::vector<PiclValue> data{};  // numbers
    std::string text{};             // of characters and strings
    bool is_readable = true;        // false: nobody says what its descriptor means
};

class PiclReader {
  public:
    explicit PiclReader(const std::string& path);
    ~PiclReader();
    PiclReader(const PiclReader&) = delete;
    PiclReader& operator=(const PiclReader&) = delete;

    // False at the end, and at an error.
    bool next(PiclRecord* record);
    // A line that names the file and, where one is meant, the line; empty: none.
    const std::string& error() const { return error_; }
    // Of the record that was read last. Always false, for `return`.
    bool fail(const std::string& what);

  private:
    bool parse(std::string_view line, PiclRecord* record);
    bool parse_data(std::string_view rest, int64_t fields, PiclRecord* record);
    bool read_value(char conversion, std::string_view* rest, PiclRecord* record);
    const std::string* control_string(int64_t event, int64_t number) const;

    std::string path_;
    std::FILE* file_;
    char* line_ = nullptr;
    size_t room_ = 0;
    uint64_t number_ = 0;
    std::string error_{};
    std::map<std::pair<int64_t, int64_t>, std::string> aliases_{};  // by event type and number
};

}  // namespace dwell

#endif  // DWELL_REPORT_IMPORT_PICL_READER_H_
