// The quoting of RFC 4180, for every CSV that dwell writes.
#ifndef DWELL_SUMMARIZE_CSV_FIELDS_H_
#define DWELL_SUMMARIZE_CSV_FIELDS_H_

#include <string>
#include <string_view>

namespace dwell {

inline std::string csv_field(std::string_view field) {
    if (field.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(field);
    std::string out = "\"";
    for (const char c : field) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + '"';
}

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_CSV_FIELDS_H_
