// Parses source text backwards from a place to find the enclosing statement; see source_text.h.
#include "instrument/selection/source_text.h"

#include <ctype.h>

#include <algorithm>

namespace dwell {

namespace {

// A condition is never longer; other text without braces and parentheses may be.
constexpr uint32_t kMostLines = 100;

bool is_word(char character) {
    return isalnum(static_cast<unsigned char>(character)) != 0 || character == '_';
}

// The line with comments and literals replaced by blanks, as far as the line alone shows them.
std::string code_of(std::string_view line) {
    std::string code(line);
    const size_t end_of_comment = line.find("*/");
    if (end_of_comment < line.find("/*"))
        code.replace(0, end_of_comment + 2, end_of_comment + 2, ' ');
    char quote = '\0';
    for (size_t i = 0; i < code.size(); ++i) {
        const char character = code[i];
        if (quote != '\0') {
            code[i] = ' ';
            if (character == '\\' && i + 1 < code.size()) code[++i] = ' ';
            if (character == quote) quote = '\0';
        } else if (character == '"' || (character == '\'' && (i == 0 || !is_word(code[i - 1])))) {
            quote = character;
            code[i] = ' ';
        } else if (code.compare(i, 2, "//") == 0) {
            code.resize(i);
        } else if (code.compare(i, 2, "/*") == 0) {
            const size_t end = std::min(code.find("*/", i + 2), code.size() - 2) + 2;
            code.replace(i, end - i, end - i, ' ');
        }
    }
    return code;
}

// Reads the code of a file backwards from a place, skipping blanks and ends of lines.
class Backwards {
  public:
    // From before column `end`, counted from 0.
    Backwards(const std::string& file, uint32_t line, LineReader reader, size_t end)
        : file_(file), reader_(reader), first_line_(line), line_(line) {
        read();
        if (is_readable_) end_ = std::min(end, code_.size());
    }

    // Returns false at the beginning of the file, or after more lines than a condition has.
    bool next() {
        while (is_readable_) {
            while (end_ != 0) {
                if (isspace(static_cast<unsigned char>(code_[--end_])) == 0) return true;
            }
            if (--line_ == 0 || first_line_ - line_ >= kMostLines) return false;
            read();
        }
        return false;
    }
    char character() const { return code_[end_]; }

    // Moves from the closing bracket to the opening one.
    bool pass_brackets() {
        for (int depth = closes(character()); depth != 0; depth += closes(character())) {
            if (!next()) return false;
        }
        return true;
    }

    static int closes(char character) {
        if (character == ')' || character == '}' || character == ']') return 1;
        return character == '(' || character == '{' || character == '[' ? -1 : 0;
    }

    // The word that ends here, in lower case; moves to its beginning.
    std::string word() {
        const size_t end = end_ + 1;
        while (end_ != 0 && is_word(code_[end_ - 1])) --end_;
        std::string word = code_.substr(end_, end - end_);
        for (char& c : word) c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
        return word;
    }

    uint32_t line() const { return line_; }
    uint32_t column() const { return static_cast<uint32_t>(end_ + 1); }

  private:
    void read() {
        const std::string_view text = reader_(file_, line_);
        is_readable_ = text.data() != nullptr;
        code_ = is_readable_ ? code_of(text) : std::string();
        end_ = code_.size();
    }

    const std::string& file_;
    const LineReader reader_;
    const uint32_t first_line_;
    uint32_t line_;
    bool is_readable_ = false;
    std::string code_;
    size_t end_ = 0;  // behind the text that is still to be read
};

// Whether the `while` that begins here ends a do ... while.
bool ends_a_body(Backwards at) {
    if (!at.next()) return false;
    if (at.character() == '}') {
        return at.pass_brackets() && at.next() && is_word(at.character()) && at.word() == "do";
    }
    if (at.character() != ';') return false;
    // do statement; while (...): the statement's first word.
    while (at.next()) {
        const char character = at.character();
        if (character == ';' || character == '{' || character == '}') break;
        if (character == ')' && !at.pass_brackets()) return false;
        if (is_word(character) && at.word() == "do") return true;
    }
    return false;
}

// Whether the brace after this place begins the body of a lambda, which is a procedure of its own.
bool begins_lambda(Backwards before) {
    if (is_word(before.character())) return before.word() == "mutable";
    if (before.character() == ')') {
        if (!before.pass_brackets() || !before.next()) return false;
    }
    return before.character() == ']';
}

// The kind of statement that the word ending here introduces.
Around statement_of(Backwards at) {
    const std::string word = at.word();
    Around around;
    if (word == "while" || word == "for") around.statement = Around::Statement::kLoop;
    if (word == "if" || word == "switch") around.statement = Around::Statement::kChoice;
    if (around.statement != Around::Statement::kUnknown) {
        around.line = at.line();
        around.column = at.column();
        around.is_at_end = word == "while" && ends_a_body(at);
    }
    return around;
}

}  // namespace

Around statement_around(const SourcePlace& place, LineReader reader) {
    if (place.line == 0 || place.column == 0) return {};
    const std::string_view text = reader(place.file, place.line);
    if (text.data() == nullptr) return {};
    const std::string code = code_of(text);
    if (place.column > code.size()) return {};
    size_t end = place.column - 1;
    while (end < code.size() && is_word(code[end])) ++end;
    Around choice;  // may be part of a loop's condition, in a statement expression
    if (end >= place.column) {
        // The last jump of a condition may have the place of the statement's keyword.
        Backwards word(place.file, place.line, reader, end);
        if (word.next()) {
            choice = statement_of(word);
            if (choice.is_loop()) return choice;
        }
    }
    // gcc places some tests at the parenthesis around them.
    end = place.column - (code[place.column - 1] == '(' ? 0 : 1);
    Backwards at(place.file, place.line, reader, end);
    while (at.next()) {
        const int closes = Backwards::closes(at.character());
        if (closes > 0 && !at.pass_brackets()) break;
        if (closes >= 0) continue;
        const char opening = at.character();
        Backwards before = at;
        if (!before.next()) break;
        if (opening == '{' && begins_lambda(before)) break;
        if (opening != '(' || !is_word(before.character())) continue;
        const Around around = statement_of(before);
        if (around.is_loop()) return around;
        if (!choice.is_choice()) choice = around;
    }
    return choice;
}

// Whether NAME(...); is at that place: a call, or a macro that is no head of a loop.
static bool is_statement_of_its_own(const SourcePlace& place, LineReader reader) {
    int depth = 0;
    bool named = false;
    bool called = false;
    for (uint32_t line = place.line; line - place.line < kMostLines; ++line) {
        const std::string_view text = reader(place.file, line);
        if (text.data() == nullptr) return false;
        const std::string code = code_of(text);
        for (size_t i = line == place.line ? place.column - 1 : 0; i < code.size(); ++i) {
            if (isspace(static_cast<unsigned char>(code[i])) != 0) continue;
            if (!named) {
                while (i + 1 < code.size() && is_word(code[i]) && is_word(code[i + 1])) ++i;
                named = is_word(code[i]);
                if (!named) return false;
                continue;
            }
            depth -= Backwards::closes(code[i]);
            if (depth < 0) return false;
            if (depth != 0 || code[i] == ')') {
                called = true;
            } else {
                return called && code[i] == ';';
            }
        }
    }
    return false;
}

Around statement_or_place(const SourcePlace& place, LineReader reader) {
    const Around around = statement_around(place, reader);
    if (around != Around{} || place.line == 0 || place.column == 0) return around;
    if (is_statement_of_its_own(place, reader)) {
        return {Around::Statement::kOther, false, place.line, place.column};
    }
    return {Around::Statement::kUnknown, false, place.line, place.column};
}

}  // namespace dwell
