// Parses an enabling profile and decides about sites (docs/enabling-profile.md).
#include "runtime/contract/enabling_profile.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <initializer_list>

#include "runtime/contract/raw_io.h"
#include "runtime/contract/site_table.h"

namespace dwell {

namespace {

// A part of the text; `data` is null when there is none.
struct Text {
    const char* data = nullptr;
    size_t size = 0;

    bool is(const char* word) const {
        return size == strlen(word) && memcmp(data, word, size) == 0;
    }
    // The text after `prefix`, or none when it begins otherwise.
    Text behind(const char* prefix) const {
        const size_t length = strlen(prefix);
        if (size < length || memcmp(data, prefix, length) != 0) return {};
        return {data + length, size - length};
    }
    int shown_size() const { return size < 200 ? static_cast<int>(size) : 200; }
};

Text whole(const char* text) { return text == nullptr ? Text() : Text{text, strlen(text)}; }

// `*` matches any characters, `?` matches one.
bool glob_matches(Text pattern, Text subject) {
    size_t p = 0;
    size_t s = 0;
    size_t star = SIZE_MAX;  // the last star, and the characters that it matches so far
    size_t swallowed = 0;
    while (s < subject.size) {
        if (p < pattern.size && pattern.data[p] == '*') {
            star = p++;
            swallowed = s;
        } else if (p < pattern.size &&
                   (pattern.data[p] == '?' || pattern.data[p] == subject.data[s])) {
            ++p;
            ++s;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            s = ++swallowed;
        } else {
            return false;
        }
    }
    while (p < pattern.size && pattern.data[p] == '*') ++p;
    return p == pattern.size;
}

// Matches the path, or the part after any of its slashes.
bool file_matches(Text pattern, const char* path) {
    Text rest = whole(path);
    if (rest.data == nullptr) return false;
    if (glob_matches(pattern, rest)) return true;
    for (; rest.size > 0; ++rest.data, --rest.size) {
        if (rest.data[0] == '/' && glob_matches(pattern, {rest.data + 1, rest.size - 1})) {
            return true;
        }
    }
    return false;
}

// __module_MOD_procedure of gfortran against a pattern for module::procedure.
bool fortran_matches(Text pattern, Text name) {
    constexpr size_t kLongestName = 127;  // more than twice 63, the limit of Fortran 2008
    const Text rest = name.behind("__");
    if (rest.data == nullptr) return false;
    for (const char* mark : {"_MOD_", "_SMOD_"}) {
        const void* found = memmem(rest.data, rest.size, mark, strlen(mark));
        if (found == nullptr || found == rest.data) continue;
        const size_t module = static_cast<size_t>(static_cast<const char*>(found) - rest.data);
        const size_t start = module + strlen(mark);
        char shown[2 * kLongestName + 3];
        if (rest.size - start > kLongestName || module > kLongestName) return false;
        memcpy(shown, rest.data, module);
        memcpy(shown + module, "::", 2);
        memcpy(shown + module + 2, rest.data + start, rest.size - start);
        return glob_matches(pattern, {shown, module + 2 + rest.size - start});
    }
    return false;
}

// Matches the linkage name, without the ending of a clone (".part.0") and without Fortran's
// underscore.
bool linkage_name_matches(Text pattern, Text name) {
    if (name.data == nullptr) return false;
    if (glob_matches(pattern, name)) return true;
    const void* dot = name.size > 1 ? memchr(name.data + 1, '.', name.size - 1) : nullptr;
    if (dot != nullptr) {
        name.size = static_cast<size_t>(static_cast<const char*>(dot) - name.data);
        if (glob_matches(pattern, name)) return true;
    }
    if (fortran_matches(pattern, name)) return true;
    if (name.size < 2 || name.data[name.size - 1] != '_') return false;
    --name.size;
    return glob_matches(pattern, name);
}

// Start of the parameter list of a demangled name; its size when there is none.
size_t find_parameters(Text name) {
    const char* const operator_call =
        static_cast<const char*>(memmem(name.data, name.size, "operator()", strlen("operator()")));
    size_t end = name.size;
    while (end > 0 && name.data[end - 1] != ')') --end;
    if (end == 0) return name.size;
    int depth = 0;
    for (size_t at = end; at-- > 0;) {
        if (name.data[at] == ')') ++depth;
        if (name.data[at] != '(' || --depth > 0) continue;
        const bool part_of_name =
            operator_call != nullptr && name.data + at == operator_call + strlen("operator");
        return part_of_name ? name.size : at;
    }
    return name.size;
}

// Demangled templates begin with their return type: start of the part behind the last space outside
// of brackets. The space after "operator" does not count.
size_t find_name_start(Text name) {
    int depth = 0;
    size_t start = 0;
    for (size_t at = 0; at < name.size; ++at) {
        const char c = name.data[at];
        if (Text{name.data + at, name.size - at}.behind("operator").data != nullptr) break;
        if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
        if (c == '>' || c == ')' || c == '}' || c == ']') --depth;
        if (c == ' ' && depth == 0) start = at + 1;
    }
    return start;
}

// Matches with and without the parameter list, and without the list and the return type.
bool demangled_name_matches(Text pattern, Text name) {
    if (name.data == nullptr) return false;
    if (glob_matches(pattern, name)) return true;
    const void* clone = memmem(name.data, name.size, " [clone ", strlen(" [clone "));
    if (clone != nullptr) {
        name.size = static_cast<size_t>(static_cast<const char*>(clone) - name.data);
        if (glob_matches(pattern, name)) return true;
    }
    name.size = find_parameters(name);
    if (glob_matches(pattern, name)) return true;
    const size_t start = find_name_start(name);
    return start > 0 && glob_matches(pattern, {name.data + start, name.size - start});
}

struct NamedKind {
    const char* word;
    SiteKind kind;
};
constexpr SiteKind kEveryKind = SiteKind::kNone;
constexpr NamedKind kKinds[] = {
    {"all", kEveryKind},       {"proc", SiteKind::kProcedure},     {"loop", SiteKind::kLoop},
    {"call", SiteKind::kCall}, {"comm", SiteKind::kCommunication}, {"omp", SiteKind::kOpenMp},
    {"io", SiteKind::kIo},     {"block", SiteKind::kBlock},        {"marker", SiteKind::kMarker},
};

constexpr const char* kKindWords = "proc, loop, call, comm, omp, io, block, marker or all";
constexpr const char* kUnclosed = "a double quote is not closed";

struct NamedDecision {
    const char* word;
    Decision decision;
};
constexpr NamedDecision kDecisions[] = {
    {"on", Decision::kOn},
    {"off", Decision::kOff},
    {"count", Decision::kCount},
    {"default", Decision::kUnsaid},
};

// Splits one line into words. A double quote keeps blanks, `#` at the start of a word ends the
// line.
class LineReader {
  public:
    LineReader(char* line, size_t size) : at_(line), end_(line + size) {}

    // False at the end of the line, and when a quote is not closed: then unclosed() is true.
    // Removes quotes from the text in place.
    bool next(Text* word) {
        while (at_ < end_ && is_blank(*at_)) ++at_;
        if (at_ == end_ || *at_ == '#') return false;
        char* to = at_;
        word->data = at_;
        bool quoted = false;
        for (; at_ < end_ && (quoted || !is_blank(*at_)); ++at_) {
            if (*at_ == '"') {
                quoted = !quoted;
            } else {
                *to++ = *at_;
            }
        }
        word->size = static_cast<size_t>(to - word->data);
        unclosed_ = quoted;
        return !quoted;
    }
    bool unclosed() const { return unclosed_; }

  private:
    static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

    char* at_;
    char* end_;
    bool unclosed_ = false;
};

// At most 9 digits.
bool parse_number(Text digits, uint32_t* number) {
    if (digits.size == 0 || digits.size > 9) return false;
    *number = 0;
    for (size_t i = 0; i < digits.size; ++i) {
        const char digit = digits.data[i];
        if (digit < '0' || digit > '9') return false;
        *number = *number * 10 + static_cast<uint32_t>(digit - '0');
    }
    return true;
}

// "12", "12-34" or "12-".
bool parse_lines(Text range, uint32_t* first, uint32_t* last) {
    const char* dash = static_cast<const char*>(memchr(range.data, '-', range.size));
    if (dash == nullptr) {
        if (!parse_number(range, first)) return false;
        *last = *first;
        return *first > 0;
    }
    const size_t before = static_cast<size_t>(dash - range.data);
    if (!parse_number({range.data, before}, first)) return false;
    *last = UINT32_MAX;
    const Text after = {dash + 1, range.size - before - 1};
    if (after.size > 0 && !parse_number(after, last)) return false;
    return *first > 0 && *first <= *last;
}

}  // namespace

bool text_matches(std::string_view pattern, std::string_view text) {
    return glob_matches({pattern.data(), pattern.size()}, {text.data(), text.size()});
}

bool file_matches(std::string_view pattern, const char* path) {
    return file_matches(Text{pattern.data(), pattern.size()}, path);
}

bool procedure_matches(std::string_view pattern, const char* name, const char* demangled) {
    const Text wanted = {pattern.data(), pattern.size()};
    return linkage_name_matches(wanted, whole(name)) ||
           demangled_name_matches(wanted, whole(demangled));
}

struct EnablingProfile::Rule {
    Decision decision = Decision::kUnsaid;
    SiteKind kind = kEveryKind;
    uint8_t flags = 0;  // SiteRowFlags that the site must have
    uint32_t first_line = 0;
    uint32_t last_line = UINT32_MAX;
    Text name;
    Text file;

    bool matches(const SiteFacts& site) const {
        return (kind == kEveryKind || kind == site.kind) && (site.flags & flags) == flags &&
               site.line >= first_line && site.line <= last_line &&
               (file.data == nullptr || file_matches(file, site.file)) &&
               (name.data == nullptr ||
                procedure_matches({name.data, name.size}, site.name, site.demangled));
    }

    // Parses one line, of which `words` has read the first word. False, with the reason in `error`,
    // for an invalid line.
    bool parse(Text action, LineReader* words, char* error, size_t error_bytes) {
        Text word = action;
        const char* reason = set_decision(action);
        if (reason == nullptr) {
            if (!words->next(&word) && !words->unclosed()) {
                snprintf(error, error_bytes, "the kind is missing: %s", kKindWords);
                return false;
            }
            if (!words->unclosed()) reason = set_kind(word);
        }
        while (reason == nullptr && words->next(&word)) reason = add_condition(word);
        if (reason != nullptr) {
            snprintf(error, error_bytes, "'%.*s' should be %s", word.shown_size(), word.data,
                     reason);
        } else if (words->unclosed()) {
            snprintf(error, error_bytes, "%s", kUnclosed);
        }
        return error[0] == '\0';
    }

  private:
    // Each returns null, or a description of the expected word.
    const char* set_decision(Text word) {
        for (const NamedDecision& each : kDecisions) {
            if (!word.is(each.word)) continue;
            decision = each.decision;
            return nullptr;
        }
        return "on, off, count or default";
    }

    const char* set_kind(Text word) {
        for (const NamedKind& each : kKinds) {
            if (!word.is(each.word)) continue;
            kind = each.kind;
            return nullptr;
        }
        return kKindWords;
    }

    const char* add_condition(Text word) {
        if (word.is("small")) {
            flags |= kRowSmall;
            return kind == SiteKind::kProcedure ? nullptr : "with proc: only procedures are small";
        }
        if (word.is("innermost")) {
            flags |= kRowInnermost;
            return kind == SiteKind::kLoop ? nullptr : "with loop: only loops are innermost";
        }
        if (const Text lines = word.behind("line="); lines.data != nullptr) {
            return parse_lines(lines, &first_line, &last_line)
                       ? nullptr
                       : "line=A, line=A-B or line=A- with A at least 1 and B not below A";
        }
        if (const Text given = word.behind("name="); given.data != nullptr) {
            return set_pattern(&name, given);
        }
        if (const Text given = word.behind("file="); given.data != nullptr) {
            return set_pattern(&file, given);
        }
        return "name=PATTERN, file=PATTERN, line=A-B, small or innermost";
    }

    static const char* set_pattern(Text* pattern, Text given) {
        if (given.size == 0) return "followed by a pattern";
        if (pattern->data != nullptr) return "given once in a line";
        *pattern = given;
        return nullptr;
    }
};

EnablingProfile::~EnablingProfile() { forget(); }

void EnablingProfile::forget() {
    free(text_);
    free(rules_);
    text_ = nullptr;
    rules_ = nullptr;
    bytes_ = rule_count_ = 0;
    asks_for_names_ = false;
}

bool EnablingProfile::read(const char* path) {
    forget();
    const int file = raw_open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? 1 : -1;
    for (size_t room = 0; got > 0;) {
        if (bytes_ == room) {
            room = room == 0 ? 4096 : 2 * room;
            auto* const more = static_cast<char*>(realloc(text_, room));
            if (more == nullptr) {
                got = -1;
                break;
            }
            text_ = more;
        }
        got = raw_read(file, text_ + bytes_, room - bytes_);
        if (got > 0) bytes_ += static_cast<size_t>(got);
    }
    if (got < 0) {
        snprintf(error_, sizeof(error_), "%s: %s", path, strerror(errno));
        if (file >= 0) raw_close(file);
        forget();
        return false;
    }
    raw_close(file);
    return parse_text(path);
}

bool EnablingProfile::parse(const char* text, size_t bytes, const char* path) {
    forget();
    text_ = static_cast<char*>(malloc(bytes + 1));
    if (text_ == nullptr) {
        snprintf(error_, sizeof(error_), "%s: too large", path);
        return false;
    }
    memcpy(text_, text, bytes);
    bytes_ = bytes;
    return parse_text(path);
}

bool EnablingProfile::parse_text(const char* path) {
    char reason[400] = {};
    size_t line_number = 0;
    size_t room = 0;
    for (size_t start = 0; start < bytes_ && reason[0] == '\0';) {
        ++line_number;
        char* line = text_ + start;
        const void* newline = memchr(line, '\n', bytes_ - start);
        const size_t size = newline == nullptr
                                ? bytes_ - start
                                : static_cast<size_t>(static_cast<const char*>(newline) - line);
        start += size + 1;
        if (memchr(line, '\0', size) != nullptr) {
            snprintf(reason, sizeof(reason), "this is no text file");
            break;
        }
        LineReader words(line, size);
        Text action;
        if (!words.next(&action)) {
            if (words.unclosed()) snprintf(reason, sizeof(reason), "%s", kUnclosed);
            continue;
        }
        if (rule_count_ == room) {
            room = room == 0 ? 16 : 2 * room;
            Rule* more = static_cast<Rule*>(realloc(rules_, room * sizeof(Rule)));
            if (more == nullptr) {
                snprintf(reason, sizeof(reason), "too many lines");
                break;
            }
            rules_ = more;
        }
        Rule rule;
        if (!rule.parse(action, &words, reason, sizeof(reason))) break;
        asks_for_names_ = asks_for_names_ || rule.name.data != nullptr;
        rules_[rule_count_++] = rule;
    }
    if (reason[0] == '\0') return true;
    forget();
    for (char* c = reason; *c != '\0'; ++c) {
        if (iscntrl(static_cast<unsigned char>(*c)) != 0)
            *c = '?';  // control characters could affect a terminal
    }
    snprintf(error_, sizeof(error_), "%s:%zu: %s", path, line_number, reason);
    return false;
}

Decision EnablingProfile::decide(const SiteFacts& site) const {
    for (size_t i = rule_count_; i-- > 0;) {
        if (rules_[i].matches(site)) return rules_[i].decision;
    }
    return Decision::kUnsaid;
}

}  // namespace dwell
