// Widths, units and colours of the text report; see text_style.h.
#include "report/figures/text_style.h"

#include <fmt/format.h>
#include <unistr.h>
#include <uniwidth.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

namespace dwell {
namespace {

constexpr Glyphs kUtf8Glyphs = {"…", "├ ", "└ ", "│ ", "→", "↔", " · ", " › ", "µs", "─"};
constexpr Glyphs kAsciiGlyphs = {"..", "|- ", "`- ", "|  ", "->", "<->", ", ", " > ", "us", "-"};

struct Character {
    uint32_t code = 0;  // kBroken: bytes that are not UTF-8
    size_t end = 0;
    int width() const {
        const int columns = uc_width(code, "UTF-8");
        return columns < 0 ? 1 : columns;  // a control character for a terminal
    }
};
constexpr uint32_t kBroken = 0xfffd;

Character character_at(std::string_view text, size_t position) {
    Character character;
    const auto* const at = reinterpret_cast<const uint8_t*>(text.data()) + position;
    const int bytes = u8_mbtouc(&character.code, at, text.size() - position);
    character.end = position + static_cast<size_t>(bytes);
    return character;
}

// The longest prefix of `text` within `width` columns, in bytes.
size_t bytes_in(std::string_view text, int width) {
    size_t position = 0;
    int used = 0;
    while (position < text.size()) {
        const Character next = character_at(text, position);
        used += next.width();
        if (used > width) break;
        position = next.end;
    }
    return position;
}

// The longest suffix of `text` within `width` columns.
std::string_view tail(std::string_view text, int width) {
    int rest = display_width(text);
    size_t position = 0;
    while (rest > width && position < text.size()) {
        const Character next = character_at(text, position);
        rest -= next.width();
        position = next.end;
    }
    return text.substr(position);
}

// Three significant digits: 1.23, 12.3, 123.
std::string digits(double value) {
    if (value < 9.995) return fmt::format("{:.2f}", value);
    if (value < 99.95) return fmt::format("{:.1f}", value);
    return fmt::format("{:.0f}", value);
}

bool is_digit(char c) { return isdigit(static_cast<unsigned char>(c)) != 0; }

// "%" or "ms".
bool is_unit(std::string_view word) {
    constexpr std::array<std::string_view, 17> kUnits = {"%", "s",   "ms",  "us",  "\u00b5s", "ns",
                                                         "B", "KiB", "MiB", "GiB", "Hz",      "TiB",
                                                         "k", "M",   "G",   "T",   "P"};
    while (!word.empty() &&
           (word.back() == ',' || word.back() == ';' || word.back() == ':' || word.back() == '.')) {
        word.remove_suffix(1);
    }
    return std::find(kUnits.begin(), kUnits.end(), word) != kUnits.end();
}

// Whether no line may be broken between `first` and `second`: a number and its unit or noun, "rank"
// and its number.
bool belong_together(std::string_view first, std::string_view second) {
    if (first.empty() || second.empty()) return false;
    if (first == "rank" || first == "ranks") return is_digit(second.front());
    if (is_digit(first.back()) && is_unit(second)) return true;
    while (first.size() > 1 && (first.front() == '(' || first.front() == '~')) {
        first.remove_prefix(1);
    }
    const bool number =
        is_digit(first.back()) && first.find_first_not_of("0123456789.") == std::string_view::npos;
    const bool thousands = std::string_view("kMGTP").find(first) != std::string_view::npos;
    return (number || thousands) && isalpha(static_cast<unsigned char>(second.front())) != 0;
}

const char* escape(Style style) {
    switch (style) {
        case Style::kPlain:
            return "";
        case Style::kTitle:
            return "\033[1;4m";
        case Style::kName:
            return "\033[1m";
        case Style::kHot:
            return "\033[1;31m";
        case Style::kWarm:
            return "\033[33m";
        case Style::kDim:
            return "\033[2m";
        case Style::kComputation:
            return "\033[32m";
        case Style::kTransfer:
            return "\033[36m";
        case Style::kBlocked:
            return "\033[31m";
    }
    return "";
}

}  // namespace

const Glyphs& glyphs(bool utf8) { return utf8 ? kUtf8Glyphs : kAsciiGlyphs; }

int display_width(std::string_view text) {
    int width = 0;
    for (size_t position = 0; position < text.size();) {
        const Character next = character_at(text, position);
        width += next.width();
        position = next.end;
    }
    return width;
}

std::string printable(std::string_view text, bool utf8) {
    std::string out;
    for (size_t position = 0; position < text.size();) {
        const Character next = character_at(text, position);
        const uint32_t code = next.code;
        const bool direction_mark = code >= 0x202a && code <= 0x202e;
        const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
        if (control || direction_mark || code == kBroken || (!utf8 && code > 0x7e)) {
            out += '?';
        } else {
            out += text.substr(position, next.end - position);
        }
        position = next.end;
    }
    return out;
}

std::string cut_middle(const std::string& text, int width, bool utf8) {
    if (display_width(text) <= width) return text;
    const std::string_view ellipsis = glyphs(utf8).ellipsis;
    const int kept = width - display_width(ellipsis);
    if (kept < 2) return std::string(kept < 0 ? std::string_view() : ellipsis);
    const int left = kept / 2;  // the end, often a line number, gets the odd column
    std::string start = text.substr(0, bytes_in(text, left));
    std::string_view end = tail(text, kept - left);
    // The text was cut before: one ellipsis is enough.
    while (start.ends_with(ellipsis)) start.resize(start.size() - ellipsis.size());
    while (end.starts_with(ellipsis)) end.remove_prefix(ellipsis.size());
    return start + std::string(ellipsis) + std::string(end);
}

std::string cut_left(const std::string& text, int width, bool utf8) {
    if (display_width(text) <= width) return text;
    const std::string_view ellipsis = glyphs(utf8).ellipsis;
    const int kept = std::max(width - display_width(ellipsis), 0);
    return std::string(ellipsis) + std::string(tail(text, kept));
}

std::string pad_left(const std::string& text, int width) {
    const int missing = std::max(width - display_width(text), 0);
    return std::string(static_cast<size_t>(missing), ' ') + text;
}

std::string pad_right(const std::string& text, int width) {
    const int missing = std::max(width - display_width(text), 0);
    return text + std::string(static_cast<size_t>(missing), ' ');
}

std::string time_text(double ns, bool utf8) {
    if (ns <= 0) return "0";
    if (ns < 999.5) return fmt::format("{:.0f} ns", ns);
    if (ns < 999.5e3) return digits(ns / 1e3) + " " + std::string(glyphs(utf8).micro);
    if (ns < 999.5e6) return digits(ns / 1e6) + " ms";
    return digits(ns / 1e9) + " s";
}

std::string bytes_text(double bytes) {
    if (bytes <= 0) return "0";
    if (bytes < 1023.5) return fmt::format("{:.0f} B", bytes);
    constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    for (bytes /= 1024; bytes >= 999.5 && unit + 1 < kUnits.size(); bytes /= 1024) ++unit;
    return digits(bytes) + " " + kUnits[unit];
}

std::string count_text(uint64_t count) {
    if (count < 100'000) return fmt::format("{}", count);
    constexpr std::array<const char*, 5> kUnits = {"k", "M", "G", "T", "P"};
    double value = static_cast<double>(count) / 1e3;
    size_t unit = 0;
    for (; value >= 999.5 && unit + 1 < kUnits.size(); value /= 1e3) ++unit;
    return digits(value) + " " + kUnits[unit];
}

std::string share_text(double part, double whole) {
    if (whole <= 0) return "-";
    return fmt::format("{:.1f} %", 100 * part / whole);
}

std::string ratio_text(double part, double whole) {
    if (whole <= 0) return "-";
    return digits(part / whole);
}

std::string bar_text(double share, int width, bool utf8) {
    share = share > 0 ? std::min(share, 1.0) : 0;  // also for NaN
    if (!utf8) return std::string(static_cast<size_t>(std::lround(share * width)), '#');
    constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const auto eighths = static_cast<size_t>(std::lround(share * width * 8));
    std::string bar;
    for (size_t i = 0; i < eighths / 8; ++i) bar += "█";
    return bar + std::string(kEighths[eighths % 8]);
}

Line& Line::add(std::string text, Style style) {
    width_ += display_width(text);
    pieces_.push_back({std::move(text), style});
    return *this;
}

Line& Line::pad_to(int column) {
    if (width_ < column) add(std::string(static_cast<size_t>(column - width_), ' '));
    return *this;
}

void TextCanvas::put(const Line& line) {
    std::string text;
    int room = width_;
    size_t trimmed = 0;  // length without trailing blanks
    for (const Line::Piece& piece : line.pieces_) {
        std::string part = piece.text;
        if (display_width(part) > room) part.resize(part.find_last_not_of(' ') + 1);
        if (display_width(part) > room) {
            // An ellipsis for the missing part, but never part of a number, which would be a wrong
            // number.
            part.resize(bytes_in(part, std::max(room - display_width(signs().ellipsis), 0)));
            const size_t blank = part.find_last_of(' ');
            if (blank != std::string::npos) part.resize(blank + 1);
            if (room >= display_width(signs().ellipsis)) part += signs().ellipsis;
            room = display_width(part);
        }
        room -= display_width(part);
        const bool styled = color_ && piece.style != Style::kPlain && !part.empty();
        if (styled) text += escape(piece.style);
        text += part;
        if (styled) text += "\033[0m";
        if (part.find_first_not_of(' ') == std::string::npos) continue;
        trimmed = styled ? text.size() : text.find_last_not_of(' ') + 1;
    }
    text.resize(trimmed);
    out_ += text + '\n';
}

void TextCanvas::title(const std::string& text, const std::string& explanation) {
    blank();
    Line line;
    line.add(text, Style::kTitle);
    const int gap = width_ - display_width(text) - display_width(explanation);
    if (!explanation.empty() && gap >= 2) {
        line.pad_to(width_ - display_width(explanation)).add(explanation, Style::kDim);
        put(line);
        return;
    }
    put(line);
    if (!explanation.empty()) paragraph("  " + explanation, 2, Style::kDim);
}

void TextCanvas::paragraph(const std::string& text, int indent, Style style) {
    const std::string margin(static_cast<size_t>(indent), ' ');
    std::string current;
    size_t position = text.find_first_not_of(' ');
    if (position == std::string::npos) return;
    current = text.substr(0, position);
    bool fresh = true;
    while (position < text.size()) {
        size_t end = std::min(text.find(' ', position), text.size());
        const std::string_view whole = text;
        for (std::string_view last = whole.substr(position, end - position); end < text.size();) {
            const size_t next_end = std::min(text.find(' ', end + 1), text.size());
            const std::string_view next = whole.substr(end + 1, next_end - end - 1);
            if (!belong_together(last, next)) break;
            end = next_end;
            if (last.starts_with("rank")) break;
            last = next;
        }
        const std::string word =
            cut_middle(text.substr(position, end - position), width_ - indent, utf8_);
        if (!fresh && display_width(current) + 1 + display_width(word) > width_) {
            put(Line().add(current, style));
            current = margin;
            fresh = true;
        }
        if (!fresh) current += ' ';
        current += word;
        fresh = false;
        position = text.find_first_not_of(' ', end);
    }
    put(Line().add(current, style));
}

void TextCanvas::items(const std::vector<std::string>& items, int indent, Style style) {
    const std::string margin(static_cast<size_t>(indent), ' ');
    std::string current = margin;
    bool fresh = true;
    for (const std::string& full : items) {
        const std::string item = cut_middle(full, width_ - indent, utf8_);
        const std::string separator = fresh ? "" : std::string(signs().dot);
        if (!fresh && display_width(current + separator) + display_width(item) > width_) {
            put(Line().add(current, style));
            current = margin + item;
        } else {
            current += separator + item;
        }
        fresh = false;
    }
    if (!fresh) put(Line().add(current, style));
}

}  // namespace dwell
