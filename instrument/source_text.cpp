#include "instrument/source_text.h"

#include <ctype.h>

#include <algorithm>

namespace dwell {

namespace {

// A condition is not longer; text without braces and parentheses may be.
constexpr uint32_t kMostLines = 100;

bool is_word(char character) {
    return isalnum(static_cast<unsigned char>(character)) != 0 || character == '_';
}

// The line with blanks for comments and literals, as far as the line alone tells them.
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

// What the word that ends at `end` makes of what follows it.
Around statement_of(std::string_view code, size_t end, uint32_t line) {
    while (end != 0 && isspace(static_cast<unsigned char>(code[end - 1])) != 0) --end;
    size_t begin = end;
    while (begin != 0 && is_word(code[begin - 1])) --begin;
    std::string word(code.substr(begin, end - begin));
    for (char& c : word) c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
    Around around;
    if (word == "while" || word == "for") around.statement = Around::Statement::kLoop;
    if (word == "if" || word == "switch") around.statement = Around::Statement::kChoice;
    if (around.statement != Around::Statement::kUnknown) {
        around.line = line;
        around.column = static_cast<uint32_t>(begin + 1);
    }
    return around;
}

}  // namespace

Around statement_around(const SourcePlace& place, LineReader reader) {
    if (place.line == 0 || place.column == 0) return {};
    int depth = 0;
    for (uint32_t line = place.line; line != 0 && place.line - line < kMostLines; --line) {
        const std::string_view text = reader(place.file, line);
        if (text.data() == nullptr) return {};
        std::string code = code_of(text);
        if (line == place.line) {
            if (place.column > code.size()) return {};
            size_t end = place.column - 1;
            while (end < code.size() && is_word(code[end])) ++end;
            // The last jump of a condition may be placed at the statement's keyword.
            const Around at = statement_of(code, end, line);
            if (at.statement != Around::Statement::kUnknown && end >= place.column) return at;
            // gcc places some tests at the parenthesis around them.
            code.resize(place.column - (code[place.column - 1] == '(' ? 0 : 1));
        }
        for (size_t i = code.size(); i-- > 0;) {
            const char character = code[i];
            if (character == ')') ++depth;
            if (character == '(' && depth-- == 0) {
                const Around around = statement_of(code, i, line);
                if (around.statement != Around::Statement::kUnknown) return around;
                depth = 0;  // a part of a larger expression
            }
            if ((character == '{' || character == '}') && depth == 0) return {};
        }
    }
    return {};
}

}  // namespace dwell
