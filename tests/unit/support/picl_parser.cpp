// See picl_parser.h. Sections and tables cited are those of ORNL/TM-12125.
#include "tests/unit/support/picl_parser.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace dwell {
namespace {

enum class Conversion { kCharacter, kString, kInt, kLong, kReal };

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<int64_t> to_integer(std::string_view token) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
    return value;
}

// Digits with an optional sign, point and exponent; not what strtod takes beyond that.
std::optional<double> to_real(std::string_view token) {
    bool digits = false;
    for (size_t i = 0; i < token.size(); i++) {
        const char c = token[i];
        digits |= is_digit(c);
        const bool sign_place = i == 0 || token[i - 1] == 'e' || token[i - 1] == 'E';
        const bool fits = is_digit(c) || c == '.' || ((c == 'e' || c == 'E') && digits) ||
                          ((c == '-' || c == '+') && sign_place);
        if (!fits) return std::nullopt;
    }
    const std::string copy(token);
    char* end = nullptr;
    const double value = std::strtod(copy.c_str(), &end);
    if (!digits || *end != '\0') return std::nullopt;
    return value;
}

// The conversions of a scanf control string, empty if it has any other.
std::vector<Conversion> conversions_of(std::string_view control) {
    std::vector<Conversion> found;
    const std::pair<std::string_view, Conversion> known[] = {
        {"%c", Conversion::kCharacter}, {"%s", Conversion::kString}, {"%d", Conversion::kInt},
        {"%ld", Conversion::kLong},     {"%f", Conversion::kReal},   {"%lf", Conversion::kReal}};
    while (!control.empty()) {
        if (control[0] == ' ') {
            control.remove_prefix(1);
            continue;
        }
        bool matched = false;
        for (const auto& [spelling, conversion] : known) {
            if (!control.starts_with(spelling)) continue;
            found.push_back(conversion);
            control.remove_prefix(spelling.size());
            matched = true;
            break;
        }
        if (!matched) return {};
    }
    return found;
}

// Table 2.
const char* predefined_control(int64_t number) {
    const char* controls[] = {"%c", "%s", "%d", "%ld", "%f", "%lf"};
    return number >= 0 && number <= 5 ? controls[number] : nullptr;
}

class Line {
  public:
    explicit Line(std::string_view text) : rest_(text) {}

    std::string_view token() {
        skip_blanks();
        size_t length = 0;
        while (length < rest_.size() && !is_blank(rest_[length])) length++;
        return take(length);
    }
    // A token, or all up to the closing quote. False when that is missing.
    bool descriptor(std::string* text, bool* quoted) {
        skip_blanks();
        *quoted = !rest_.empty() && rest_[0] == '"';
        if (!*quoted) {
            *text = token();
            return !text->empty();
        }
        const size_t end = rest_.find('"', 1);
        if (end == rest_.npos) return false;
        *text = rest_.substr(1, end - 1);
        take(end + 1);
        return rest_.empty() || is_blank(rest_[0]);
    }
    std::string_view characters() {  // all that follows one blank
        if (!rest_.empty()) rest_.remove_prefix(1);
        return take(rest_.size());
    }
    bool at_end() {
        skip_blanks();
        return rest_.empty();
    }

  private:
    void skip_blanks() {
        while (!rest_.empty() && is_blank(rest_[0])) rest_.remove_prefix(1);
    }
    std::string_view take(size_t length) {
        const std::string_view taken = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return taken;
    }

    std::string_view rest_;
};

class Parser {
  public:
    PiclFile parse(std::string_view text);

  private:
    struct Process {
        int entry_line = 0;
        bool exited = false;
        double exit_clock = 0;
        std::vector<int64_t> open;  // events entered and not left
    };

    bool read_record(std::string_view text, PiclRecord* record);
    bool read_head(Line* line, PiclRecord* record);
    bool read_data(Line* line, PiclRecord* record);
    bool read_value(Line* line, Conversion conversion, PiclValue* value);
    bool is_control_string(const PiclRecord& record) const { return record.type == -6; }

    void check(const PiclRecord& record);
    void check_shape(const PiclRecord& record);
    void check_statistics(const PiclRecord& record);
    void check_subset(const PiclRecord& record);
    void check_event(const PiclRecord& record);
    void check_end();

    bool fail(const std::string& message) {
        file_.errors.push_back("line " + std::to_string(line_) + ": " + message);
        return false;
    }

    PiclFile file_;
    int line_ = 0;
    std::vector<Conversion> conversions_;  // of the record being read
    std::map<std::pair<int64_t, int64_t>, std::string>
        controls_;  // by event and number: -6 records
    std::set<int64_t> processor_subsets_;
    std::map<std::pair<int64_t, int64_t>, Process> processes_;
    double last_clock_ = 0;
    bool first_record_ = true;
};

PiclFile Parser::parse(std::string_view text) {
    int next_line = 1;
    while (!text.empty()) {
        line_ = next_line;
        std::string joined;
        // A backslash at the end of a line continues the record on the next one (appendix A).
        for (bool goes_on = true; goes_on && !text.empty();) {
            const size_t end = std::min(text.find('\n'), text.size());
            std::string_view part = text.substr(0, end);
            text.remove_prefix(std::min(end + 1, text.size()));
            next_line++;
            goes_on = part.ends_with('\\');
            if (goes_on) part.remove_suffix(1);
            if (goes_on && text.empty()) fail("the last record is continued, but nothing follows");
            joined += part;
            if (goes_on) joined += ' ';
        }
        if (Line(joined).at_end()) continue;
        PiclRecord record;
        record.line = line_;
        if (!read_record(joined, &record)) continue;
        check(record);
        file_.records.push_back(std::move(record));
    }
    check_end();
    return std::move(file_);
}

bool Parser::read_record(std::string_view text, PiclRecord* record) {
    Line line(text);
    if (!read_head(&line, record)) return false;
    if (record->field_count == 0) {
        return line.at_end() || fail("0 data fields, but something follows");
    }
    return read_data(&line, record);
}

// Section 2.1: the six fields of every record.
bool Parser::read_head(Line* line, PiclRecord* record) {
    const auto integer = [&](const char* name, int64_t* out) {
        const std::string token(line->token());
        const std::optional<int64_t> value = to_integer(token);
        if (!value) return fail(std::string(name) + " '" + token + "' is no integer");
        *out = *value;
        return true;
    };
    if (!integer("record type", &record->type) || !integer("event type", &record->event)) {
        return false;
    }
    record->clock_text = line->token();
    const std::optional<double> clock = to_real(record->clock_text);
    if (!clock) return fail("timestamp '" + record->clock_text + "' is no number");
    record->clock = *clock;
    if (!integer("processor", &record->processor) || !integer("process", &record->process) ||
        !integer("number of data fields", &record->field_count)) {
        return false;
    }
    return record->field_count >= 0 || fail("negative number of data fields");
}

bool Parser::read_data(Line* line, PiclRecord* record) {
    if (!line->descriptor(&record->descriptor, &record->quoted)) {
        return fail("data descriptor missing or its quote not closed");
    }
    std::string control = record->descriptor;
    if (!record->quoted) {
        const std::optional<int64_t> number = to_integer(record->descriptor);
        if (!number) return fail("bad data descriptor '" + record->descriptor + "'");
        const auto own = controls_.find({record->event, *number});
        const auto global = controls_.find({-1, *number});
        if (own != controls_.end()) {
            control = own->second;
        } else if (global != controls_.end()) {
            control = global->second;
        } else if (predefined_control(*number) != nullptr) {
            control = predefined_control(*number);
        } else {
            return fail("data descriptor " + record->descriptor + " is not defined");
        }
    }
    conversions_ = conversions_of(control);
    if (conversions_.empty()) return fail("bad control string \"" + control + "\"");

    const size_t count = static_cast<size_t>(record->field_count);
    if (conversions_[0] == Conversion::kCharacter) {
        if (conversions_.size() != 1) return fail("characters mixed with other data");
        PiclValue value;
        value.text = line->characters();
        if (value.text.size() != count) {
            return fail(std::to_string(count) + " characters announced, " +
                        std::to_string(value.text.size()) + " found");
        }
        record->fields.push_back({value});
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        PiclField field;
        for (const Conversion conversion : conversions_) {
            PiclValue value;
            if (line->at_end()) {
                return fail(std::to_string(count) + " data fields announced, " + std::to_string(i) +
                            " complete");
            }
            // The control string that a -6 record defines stands in quotes (section 2.3.5).
            if (is_control_string(*record) && conversion == Conversion::kString) {
                bool quoted = false;
                if (!line->descriptor(&value.text, &quoted)) return fail("quote not closed");
            } else if (!read_value(line, conversion, &value)) {
                return false;
            }
            field.push_back(value);
        }
        record->fields.push_back(field);
    }
    return line->at_end() ||
           fail("more data than the " + std::to_string(count) + " fields announced");
}

bool Parser::read_value(Line* line, Conversion conversion, PiclValue* value) {
    value->text = line->token();
    if (conversion == Conversion::kString) return true;
    if (conversion == Conversion::kReal) {
        const std::optional<double> real = to_real(value->text);
        if (!real) return fail("'" + value->text + "' is no number");
        value->real = *real;
        return true;
    }
    const std::optional<int64_t> integer = to_integer(value->text);
    if (!integer) return fail("'" + value->text + "' is no integer");
    if (conversion == Conversion::kInt && (*integer < INT32_MIN || *integer > INT32_MAX)) {
        return fail("'" + value->text + "' does not fit %d");
    }
    value->integer = *integer;
    value->real = static_cast<double>(*integer);
    return true;
}

void Parser::check(const PiclRecord& record) {
    if (!first_record_ && record.clock < last_clock_) {
        fail("timestamp " + record.clock_text + " goes back");
    }
    first_record_ = false;
    last_clock_ = record.clock;
    if (record.processor < -1 && processor_subsets_.count(record.processor) == 0) {
        fail("processor subset " + std::to_string(record.processor) + " is not defined");
    }
    switch (record.type) {
        case -2:
        case -3:
        case -4:
            check_event(record);
            return;
        case -5:
        case -6:
        case -7:
            check_shape(record);
            return;
        case -101:
        case -102:
        case -103:
            check_statistics(record);
            return;
        case -201:
        case -202:
        case -203:
            check_subset(record);
            return;
        default:  // table 3
            if (record.type < 0) fail("unknown record type " + std::to_string(record.type));
    }
}

// Tables 14 to 16.
void Parser::check_shape(const PiclRecord& record) {
    if (record.type != -6) {
        const bool characters = record.field_count > 0 && conversions_[0] == Conversion::kCharacter;
        if (!characters) fail("a label or message is characters");
        return;
    }
    const bool fits = record.field_count == 1 && conversions_.size() == 2 &&
                      conversions_[0] == Conversion::kInt && conversions_[1] == Conversion::kString;
    if (!fits) {
        fail("a data descriptor record has one field, \"%d%s\"");
    } else if (conversions_of(record.fields[0][1].text).empty()) {
        fail("bad control string \"" + record.fields[0][1].text + "\"");
    } else {
        controls_[{record.event, record.fields[0][0].integer}] = record.fields[0][1].text;
    }
}

// Table 17; section 2.3.7: -1 is undefined.
void Parser::check_statistics(const PiclRecord& record) {
    const bool times = record.type == -101;
    const bool fits =
        record.field_count > 0 && conversions_.size() == 2 && conversions_[0] == Conversion::kInt &&
        (times ? conversions_[1] == Conversion::kReal
               : conversions_[1] == Conversion::kInt || conversions_[1] == Conversion::kLong);
    if (!fits) {
        fail("a statistics record holds pairs of an event type and its figure");
        return;
    }
    std::set<int64_t> events;
    for (const PiclField& field : record.fields) {
        if (!events.insert(field[0].integer).second) {
            fail("event type " + field[0].text + " stands there twice");
        }
        if (field[1].real < 0 && field[1].real != -1.0) {
            fail("negative figure " + field[1].text + " of event type " + field[0].text);
        }
    }
    if (record.processor < 0) return;
    const Process& process = processes_[{record.processor, record.process}];
    if (!process.exited) {
        fail("statistics of a process before its -901 exit");
    } else if (record.clock != process.exit_clock) {
        fail("statistics of a process at another time than its -901 exit");
    }
}

// Table 18; table 2: subsets are numbered below -1.
void Parser::check_subset(const PiclRecord& record) {
    const bool fits = record.field_count > 0 && conversions_.size() == 1 &&
                      (conversions_[0] == Conversion::kInt || conversions_[0] == Conversion::kLong);
    if (!fits) {
        fail("a subset is a list of integers");
        return;
    }
    const int64_t identifier = record.fields[0][0].integer;
    if (identifier >= -1) fail("a subset cannot be numbered " + std::to_string(identifier));
    if (record.type == -201) processor_subsets_.insert(identifier);
}

// Section 2.3.3, tracing events; entries and exits nest.
void Parser::check_event(const PiclRecord& record) {
    Process& process = processes_[{record.processor, record.process}];
    if (process.entry_line == 0) {
        process.entry_line = record.line;
        if (record.type != -3 || record.event != -901) {
            fail("the first event record of a process is not its -901 entry");
        }
    } else if (process.exited) {
        fail("an event record after the -901 exit of its process");
    }
    if (record.type == -3) process.open.push_back(record.event);
    if (record.type != -4) return;
    if (process.open.empty() || process.open.back() != record.event) {
        fail("exit of event " + std::to_string(record.event) + " that is not the last one entered");
    } else {
        process.open.pop_back();
    }
    if (record.event != -901) return;
    process.exited = true;
    process.exit_clock = record.clock;
}

void Parser::check_end() {
    for (const auto& [where, process] : processes_) {
        if (process.entry_line == 0 || process.exited) continue;
        line_ = process.entry_line;
        fail("processor " + std::to_string(where.first) + " process " +
             std::to_string(where.second) + " has no -901 exit");
    }
}

}  // namespace

PiclFile parse_picl(std::string_view text) { return Parser().parse(text); }

}  // namespace dwell
