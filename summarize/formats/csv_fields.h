// Cells of all CSV files: seconds, and text quoted after RFC 4180, without control characters that
// a terminal would obey, and without formulas that a spreadsheet would run.
#ifndef DWELL_SUMMARIZE_FORMATS_CSV_FIELDS_H_
#define DWELL_SUMMARIZE_FORMATS_CSV_FIELDS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace dwell {

// U+0080 to U+009F in UTF-8, which terminals also treat as control characters.
inline bool begins_c1(std::string_view text, size_t at) {
    return text[at] == '\xc2' && at + 1 < text.size() && (text[at + 1] & 0xe0) == 0x80;
}

inline std::string csv_field(std::string_view field) {
    constexpr std::string_view kFormula = "=+-@\t\r";  // first characters of a formula
    constexpr std::string_view kDigits = "0123456789abcdef";
    const bool quoted = field.find_first_of(",\"\r\n") != std::string_view::npos;
    std::string out = quoted ? "\"" : "";
    if (!field.empty() && kFormula.find(field.front()) != std::string_view::npos) out += '\'';
    for (size_t i = 0; i < field.size(); ++i) {
        const char c = field[i];
        const auto byte = static_cast<unsigned char>(c);
        const bool c0 = (byte < 0x20 && c != '\t' && c != '\r' && c != '\n') || byte == 0x7f;
        if (c0 || begins_c1(field, i) || (i != 0 && begins_c1(field, i - 1))) {
            out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
            continue;
        }
        if (c == '"') out += '"';
        out += c;
    }
    return quoted ? out + '"' : out;
}

inline std::string csv_seconds(uint64_t ns) {
    constexpr uint64_t kSecond_ns = 1'000'000'000;
    // Behind a 1, which keeps the zeros.
    return std::to_string(ns / kSecond_ns) + "." +
           std::to_string(kSecond_ns + ns % kSecond_ns).substr(1);
}

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_FORMATS_CSV_FIELDS_H_
