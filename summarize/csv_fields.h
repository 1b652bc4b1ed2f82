// Text cells of every CSV that dwell writes: quoted after RFC 4180, without control characters for
// a terminal, and no formulas for a spreadsheet.
#ifndef DWELL_SUMMARIZE_CSV_FIELDS_H_
#define DWELL_SUMMARIZE_CSV_FIELDS_H_

#include <string>
#include <string_view>

namespace dwell {

inline std::string csv_field(std::string_view field) {
    constexpr std::string_view kFormula = "=+-@\t\r";  // what spreadsheets take one to begin with
    constexpr std::string_view kDigits = "0123456789abcdef";
    const bool quoted = field.find_first_of(",\"\r\n") != std::string_view::npos;
    std::string out = quoted ? "\"" : "";
    if (!field.empty() && kFormula.find(field.front()) != std::string_view::npos) out += '\'';
    for (const char c : field) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte < 0x20 && c != '\t' && c != '\r' && c != '\n') || byte == 0x7f) {
            out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
            continue;
        }
        if (c == '"') out += '"';
        out += c;
    }
    return quoted ? out + '"' : out;
}

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_CSV_FIELDS_H_
