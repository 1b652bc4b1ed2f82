// Lines of a trace in PICL's format; see picl_reader.h.
#include "report/import/picl_reader.h"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "summarize/formats/picl_records.h"

namespace dwell {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr double kLargestSeconds = 4e9;

void skip_blanks(std::string_view* rest) {
    rest->remove_prefix(std::min(rest->find_first_not_of(kBlanks), rest->size()));
}

std::string_view take_word(std::string_view* rest) {
    skip_blanks(rest);
    const std::string_view word = rest->substr(0, rest->find_first_of(kBlanks));
    rest->remove_prefix(word.size());
    return word;
}

// Text between double quotes; nothing: there is none.
std::optional<std::string_view> take_quoted(std::string_view* rest) {
    skip_blanks(rest);
    if (rest->empty() || rest->front() != '"') return std::nullopt;
    const size_t end = rest->find('"', 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest->substr(1, end - 1);
    rest->remove_prefix(end + 1);
    return text;
}

std::optional<int64_t> whole_number(std::string_view word) {
    int64_t value = 0;
    if (!word.empty() && word.front() == '+') word.remove_prefix(1);
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || error != std::errc() || end != word.data() + word.size())
        return std::nullopt;
    return value;
}

std::optional<double> real_number(std::string_view word) {
    double value = 0;
    if (!word.empty() && word.front() == '+') word.remove_prefix(1);
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || error != std::errc() || end != word.data() + word.size() ||
        !std::isfinite(value)) {
        return std::nullopt;
    }
    return value;
}

// Seconds, without loss of what nanoseconds can say.
std::optional<int64_t> clock_ns(std::string_view word) {
    const auto seconds = real_number(word);
    if (!seconds || std::abs(*seconds) > kLargestSeconds) return std::nullopt;
    const bool is_negative = word.front() == '-';
    if (is_negative || word.front() == '+') word.remove_prefix(1);
    if (word.find_first_not_of("0123456789.") != std::string_view::npos)
        return std::llround(static_cast<long double>(*seconds) * kNsPerSecond);
    const size_t point = std::min(word.find('.'), word.size());
    int64_t ns = whole_number(word.substr(0, point)).value_or(0);
    for (size_t digit = 1; digit <= 9; ++digit) {
        const bool known = point + digit < word.size();
        ns = ns * 10 + (known ? word[point + digit] - '0' : 0);
    }
    if (point + 10 < word.size() && word[point + 10] >= '5') ns += 1;
    return is_negative ? -ns : ns;
}

// The conversions of a scanf control string, a letter each; nothing: it has others.
std::optional<std::string> conversions(std::string_view control) {
    std::string letters;
    for (size_t at = 0; at < control.size(); ++at) {
        if (kBlanks.find(control[at]) != std::string_view::npos) continue;
        if (control[at] != '%') return std::nullopt;
        at = control.find_first_not_of("0123456789lhL", at + 1);
        if (at == std::string_view::npos) return std::nullopt;
        switch (control[at]) {
            case 'd':
            case 'i':
            case 'u':
                letters += 'd';
                break;
            case 'e':
            case 'f':
            case 'g':
                letters += 'f';
                break;
            case 'c':
            case 's':
                letters += control[at];
                break;
            default:
                return std::nullopt;
        }
    }
    return letters.empty() ? std::nullopt : std::optional(letters);
}

}  // namespace

PiclReader::PiclReader(const std::string& path) : path_(path), file_(fopen(path.c_str(), "re")) {
    if (file_ == nullptr) error_ = path + ": " + strerror(errno);
    // Table 2.
    const char* const known[] = {"%c", "%s", "%d", "%ld", "%f", "%lf"};
    for (int i = 0; i < 6; ++i) aliases_[{kPiclAllEvents, i}] = known[i];
}

PiclReader::~PiclReader() {
    if (file_ != nullptr) fclose(file_);
    free(line_);
}

bool PiclReader::fail(const std::string& what) {
    if (error_.empty()) error_ = path_ + ":" + std::to_string(number_) + ": " + what;
    return false;
}

bool PiclReader::next(PiclRecord* record) {
    while (error_.empty()) {
        const ssize_t bytes = getline(&line_, &room_, file_);
        if (bytes < 0) {
            if (ferror(file_) != 0) error_ = path_ + ": " + strerror(errno);
            return false;
        }
        number_ += 1;
        std::string_view line(line_, static_cast<size_t>(bytes));
        if (line.ends_with('\n')) line.remove_suffix(1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.find_first_not_of(kBlanks) == std::string_view::npos) continue;
        return parse(line, record);
    }
    return false;
}

bool PiclReader::parse(std::string_view line, PiclRecord* record) {
    std::string_view rest = line;
    const auto type = whole_number(take_word(&rest));
    if (!type) return fail("a record begins with the number of its type");
    const auto event = whole_number(take_word(&rest));
    if (!event) return fail("the event type should be a number");
    const auto ns = clock_ns(take_word(&rest));
    if (!ns) return fail("the clock should be a number of seconds");
    const auto processor = whole_number(take_word(&rest));
    if (!processor) return fail("the processor should be a number");
    const auto process = whole_number(take_word(&rest));
    if (!process) return fail("the process should be a number");
    const auto fields = whole_number(take_word(&rest));
    if (!fields || *fields < 0) return fail("the number of data fields should be a number");
    record->type = *type;
    record->event = *event;
    record->ns = *ns;
    record->processor = *processor;
    record->process = *process;
    record->data.clear();
    record->text.clear();
    record->is_readable = true;
    if (!parse_data(rest, *fields, record)) return false;
    if (record->type == static_cast<int>(PiclRecordType::kDescriptor) && record->is_readable) {
        if (record->data.size() != 1 || !record->data[0].is_integer || record->text.empty())
            return fail("a data descriptor has a number and a control string");
        aliases_[{record->event, record->data[0].integer}] = record->text;
    }
    return true;
}

const std::string* PiclReader::control_string(int64_t event, int64_t number) const {
    auto known = aliases_.find({event, number});
    if (known == aliases_.end()) known = aliases_.find({kPiclAllEvents, number});
    return known == aliases_.end() ? nullptr : &known->second;
}

bool PiclReader::parse_data(std::string_view rest, int64_t fields, PiclRecord* record) {
    if (fields == 0) {
        skip_blanks(&rest);
        return rest.empty() || fail("there is more than the 0 data fields");
    }
    std::optional<std::string> letters;
    if (const auto control = take_quoted(&rest)) {
        letters = conversions(*control);
    } else {
        const auto number = whole_number(take_word(&rest));
        if (!number) return fail("the data descriptor should be a number or a quoted text");
        const std::string* const known = control_string(record->event, *number);
        if (known != nullptr) letters = conversions(*known);
    }
    if (!letters) {
        record->is_readable = false;
        return true;
    }
    // Characters follow each other, and blanks are characters.
    if (*letters == "c") {
        if (!rest.empty()) rest.remove_prefix(1);
        if (rest.size() < static_cast<uint64_t>(fields))
            return fail("there are fewer characters than data fields");
        record->text = rest.substr(0, static_cast<size_t>(fields));
        rest.remove_prefix(static_cast<size_t>(fields));
    } else {
        for (int64_t i = 0; i < fields; ++i) {
            for (const char conversion : *letters) {
                if (!read_value(conversion, &rest, record)) return false;
            }
        }
    }
    skip_blanks(&rest);
    return rest.empty() || fail("there is more than the data fields");
}

bool PiclReader::read_value(char conversion, std::string_view* rest, PiclRecord* record) {
    if (conversion == 's' || conversion == 'c') {
        const auto quoted = take_quoted(rest);
        const std::string_view text = quoted ? *quoted : take_word(rest);
        if (text.empty() && !quoted) return fail("a data field is missing");
        record->text += text;
        return true;
    }
    const std::string_view word = take_word(rest);
    if (word.empty()) return fail("a data field is missing");
    PiclValue value;
    if (conversion == 'd') {
        const auto number = whole_number(word);
        if (!number) return fail("a data field should be a whole number");
        value = {true, *number};
    } else if (!real_number(word)) {
        return fail("a data field should be a number");
    }
    record->data.push_back(value);
    return true;
}

}  // namespace dwell
