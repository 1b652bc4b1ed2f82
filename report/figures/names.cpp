// Shortens and cuts names for the text report; see names.h.
#include "report/figures/names.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "report/figures/text_style.h"
#include "summarize/code/symbol_names.h"

namespace dwell {
namespace {

constexpr std::string_view kOperator = "operator";
constexpr std::string_view kLambda = "{lambda";

// Gives clang's "$_0" the usual name of a lambda.
std::string with_lambdas(std::string_view name) {
    constexpr std::string_view kScope = "::$_";
    std::string out;
    for (size_t at = 0; (at = name.find(kScope)) != name.npos;) {
        const size_t end =
            std::min(name.find_first_not_of("0123456789", at + kScope.size()), name.size());
        out += name.substr(0, at);
        out += "::{lambda}";
        name.remove_prefix(end);
    }
    return out += name;
}

// a::b::c becomes b::c; false without a scope to drop.
bool drop_outer_scope(std::string* name) {
    int brackets = 0;
    for (size_t i = 0; i + 2 < name->size(); ++i) {
        const char c = (*name)[i];
        if (c == '<' || c == '(') ++brackets;
        if (c == '>' || c == ')') --brackets;
        if (brackets != 0 || c != ':' || (*name)[i + 1] != ':') continue;
        name->erase(0, i + 2);
        return true;
    }
    return false;
}

// The '>' that ends the template arguments that begin at `start`; npos without one.
size_t end_of_arguments(std::string_view name, size_t start) {
    int open = 0;
    for (size_t i = start; i < name.size(); ++i) {
        const bool arrow = name[i] == '>' && i != 0 && name[i - 1] == '-';
        if (name[i] == '<' || name[i] == '(' || name[i] == '{') ++open;
        if ((name[i] == '>' && !arrow) || name[i] == ')' || name[i] == '}') --open;
        if (open == 0) return i;
    }
    return std::string_view::npos;
}

// Shortens in steps: a scope with template arguments loses these first. An operator keeps the name
// of its class, which is more informative, and a lambda that of its procedure.
bool shorten_scope(std::string* name) {
    const size_t arguments = name->find('<');
    const size_t scope = name->find("::");
    if (arguments != 0 && arguments < scope) {
        const size_t end = end_of_arguments(*name, arguments);
        if (end < name->size() && name->compare(end + 1, 2, "::") == 0) {
            name->erase(arguments, end + 1 - arguments);
            return true;
        }
    }
    std::string inner = *name;
    if (!drop_outer_scope(&inner) || inner.starts_with(kOperator) || inner.starts_with(kLambda)) {
        return false;
    }
    *name = inner;
    return true;
}

// Without unpaired brackets: the search for the end of arguments counts brackets.
std::string balanced(const std::string& text) {
    std::string out;
    std::vector<size_t> open;
    for (const char c : text) {
        const bool closes = c == '>' || c == ')' || c == '}';
        if (closes && open.empty()) continue;
        if (closes) open.pop_back();
        if (c == '<' || c == '(' || c == '{') open.push_back(out.size());
        out += c;
    }
    while (!open.empty()) {
        out.erase(open.back(), 1);
        open.pop_back();
    }
    return out;
}

// Template arguments between their brackets: each with its inner name, and cut in its middle to its
// share of the room when all together are too long.
std::string short_arguments(std::string_view text, bool utf8) {
    constexpr int kRoom = 24;
    constexpr int kLeast = 3;
    std::vector<std::string> arguments;
    int open = 0;
    std::string argument;
    for (const char c : text) {
        if (c == '<' || c == '(' || c == '{') ++open;
        if (c == '>' || c == ')' || c == '}') --open;
        if (c == '>' && argument.ends_with("> ")) argument.pop_back();
        if (c == ',' && open == 0) {
            arguments.push_back(std::move(argument));
            argument.clear();
        } else if (c != ' ' || !argument.empty()) {
            argument += c;
        }
    }
    if (argument.ends_with(' ')) argument.pop_back();
    arguments.push_back(std::move(argument));
    int left = kRoom;
    int fair = std::max(kRoom / static_cast<int>(arguments.size()), kLeast);
    int longer = 0;  // arguments longer than their share divide the room that the others leave
    for (std::string& each : arguments) {
        while (drop_outer_scope(&each)) {
        }
        if (display_width(each) > fair) {
            ++longer;
        } else {
            left -= display_width(each);
        }
    }
    const int room = longer != 0 ? std::max(left / longer, kLeast) : fair;
    std::string out;
    for (const std::string& each : arguments) {
        if (!out.empty()) out += ", ";
        out += display_width(each) > fair ? balanced(cut_middle(each, std::max(room, fair), utf8))
                                          : each;
    }
    return out;
}

bool is_word(char c) { return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The end of the operator's name that begins at `start`, such as "operator()", "operator<<",
// "operator new" or "operator bool"; `start` where none begins.
size_t end_of_operator(std::string_view name, size_t start) {
    size_t end = start + kOperator.size();
    if (!name.substr(start).starts_with(kOperator) || (start != 0 && is_word(name[start - 1])) ||
        (end < name.size() && is_word(name[end]))) {
        return start;
    }
    if (name.substr(end).starts_with("()")) return end + 2;
    const size_t signs = name.find_first_not_of("+-*/%^&|~!=<>,[]", end);
    if (signs != end) {
        // "operator-<int>" has template arguments; those of "operator< <int>" stand apart.
        const size_t arguments = name[end] != '<' ? name.find('<', end) : std::string_view::npos;
        return std::min({signs, arguments, name.size()});
    }
    return std::min(name.find('(', end), name.size());  // a type, a literal, new or delete
}

// The index after the parameters at `start` where a local name follows, such as that of a lambda in
// "run(int) const::{lambda()#1}"; npos where the name ends with the parameters.
size_t behind_parameters(std::string_view name, size_t start) {
    size_t end = end_of_arguments(name, start);
    if (end == std::string_view::npos) return end;
    ++end;
    for (const std::string_view word : {" const", " volatile", " &", " &&"}) {
        if (name.substr(end).starts_with(word)) end += word.size();
    }
    return name.substr(end).starts_with("::") ? end : std::string_view::npos;
}

}  // namespace

std::string short_name(std::string_view full_name, bool utf8) {
    const std::string with = with_lambdas(without_outlining(full_name));
    const std::string_view name = with;
    constexpr std::string_view kAnonymous = "(anonymous namespace)";
    constexpr std::string_view kPythonLocals = "<locals>.";
    constexpr std::string_view kLambdaCall = "}::operator()";
    if (name.find_first_of("(<") == std::string_view::npos) return printable(name, utf8);
    std::string out;
    for (size_t i = 0; i < name.size(); ++i) {
        const char c = name[i];
        const size_t operator_end = end_of_operator(name, i);
        if (name.substr(i).starts_with(kPythonLocals)) {
            i += kPythonLocals.size() - 1;
        } else if (name.substr(i).starts_with(kAnonymous)) {
            out += "(anon)";
            i += kAnonymous.size() - 1;
        } else if (operator_end != i) {
            out += name.substr(i, operator_end - i);
            i = operator_end - 1;
            if (name.substr(i + 1).starts_with(" <")) ++i;  // operator< <int>
        } else if (c == '<') {
            const size_t end = end_of_arguments(name, i);
            if (end == std::string_view::npos) return printable(name, utf8);
            out += "<" + short_arguments(name.substr(i + 1, end - i - 1), utf8) + ">";
            i = end;
        } else if (c == '{') {
            const size_t end = end_of_arguments(name, i);
            if (end == std::string_view::npos) return printable(name, utf8);
            out += name.substr(i, end - i + 1);
            i = end;
            if (name.substr(end).starts_with(kLambdaCall)) i += kLambdaCall.size() - 1;
        } else if (c == '(') {
            const size_t end = behind_parameters(name, i);
            if (end == std::string_view::npos) break;
            i = end - 1;
        } else if (c == ' ') {
            out.clear();  // the text before was the return type
        } else {
            out += c;
        }
    }
    return printable(out.empty() ? name : std::string_view(out), utf8);
}

std::string inner_name(const std::string& name) {
    std::string inner = name;
    while (drop_outer_scope(&inner)) {
    }
    return inner;
}

std::vector<std::string> ever_shorter(const std::string& name) {
    std::vector<std::string> forms = {name};
    for (std::string form = name; shorten_scope(&form);) forms.push_back(form);
    return forms;
}

// "Viscop…::stress" for "Viscoplastic::stress": the class explains the member. Empty without a
// class, or with too little room.
static std::string cut_class(const std::string& name, int width, bool utf8) {
    constexpr int kLeast = 4;
    if (name.find_first_of("<(") != std::string::npos) return "";
    const size_t member = name.rfind("::");
    if (member == std::string::npos || member == 0) return "";
    const size_t outer = name.rfind("::", member - 1);
    const size_t start = outer == std::string::npos ? 0 : outer + 2;
    const std::string end = name.substr(member);
    const int room = width - display_width(end);
    if (room < kLeast) return "";
    return cut_middle(name.substr(start, member - start), room, utf8) + end;
}

// "{lambda#1}" for "{lambda(double, int)#1}".
static std::string without_lambda_parameters(std::string name) {
    const std::string_view start = "{lambda(";
    for (size_t at = 0; (at = name.find(start, at)) != std::string::npos; ++at) {
        const size_t parameters = at + start.size() - 1;
        const size_t end = end_of_arguments(name, parameters);
        if (end == std::string_view::npos) break;
        name.erase(parameters, end + 1 - parameters);
    }
    return name;
}

// Template arguments are replaced: "transform<…>" for "transform<float*, float*>". What Python has
// in such brackets ("f.<lambda>") is no argument.
static std::string with_arguments(const std::string& name, const std::string& arguments) {
    std::string out;
    for (size_t i = 0; i < name.size(); ++i) {
        const size_t operator_end = end_of_operator(name, i);
        const bool begins =
            name[i] == '<' && operator_end == i && !out.empty() && out.back() != '.';
        if (!begins) {
            out += name.substr(i, std::max<size_t>(operator_end - i, 1));
            if (operator_end != i) i = operator_end - 1;
            continue;
        }
        const size_t end = end_of_arguments(name, i);
        if (end == std::string_view::npos) return name;
        out += arguments;
        i = end;
    }
    return out;
}

std::string bare_name(const std::string& name) { return with_arguments(name, ""); }

std::string cut_name(const std::string& text, int width, bool utf8) {
    if (display_width(text) <= width) return text;
    if (const std::string plain = without_lambda_parameters(text); plain != text)
        return cut_name(plain, width, utf8);
    const bool single = text.find(glyphs(utf8).chain) == std::string::npos;
    if (std::string cut = single ? cut_class(text, width, utf8) : ""; !cut.empty()) {
        for (std::string form = text;
             shorten_scope(&form) && form.find("::") != std::string::npos;) {
            if (display_width(form) <= width) return form;
        }
        return cut;
    }
    const std::string chain(glyphs(utf8).chain);
    std::vector<std::string> names;
    for (size_t start = 0; start <= text.size();) {
        const size_t end = std::min(text.find(chain, start), text.size());
        names.push_back(text.substr(start, end - start));
        start = end + chain.size();
    }
    const auto joined = [&names, &chain] {
        std::string all = names[0];
        for (size_t i = 1; i < names.size(); ++i) all += chain + names[i];
        return all;
    };
    for (bool shorter = true; shorter && display_width(joined()) > width;) {
        shorter = false;
        for (std::string& name : names) shorter = shorten_scope(&name) || shorter;
    }
    if (display_width(joined()) > width && names.size() == 2) {
        const std::string inner = std::string(glyphs(utf8).ellipsis) + chain + names[1];
        if (display_width(inner) <= width) return inner;
    }
    if (display_width(joined()) > width && names.size() > 2) {
        // Of the names in the middle the inner ones are kept longest.
        names[1] = std::string(glyphs(utf8).ellipsis);
        while (names.size() > 3 && display_width(joined()) > width) names.erase(names.begin() + 2);
    }
    const std::string bare =
        with_arguments(joined(), "<" + std::string(glyphs(utf8).ellipsis) + ">");
    if (display_width(joined()) > width && bare != joined()) return cut_name(bare, width, utf8);
    return cut_middle(joined(), width, utf8);
}

std::string cut_place(const std::string& text, int width, bool utf8) {
    std::string shortest;
    for (const std::string& form : ever_shorter(text)) {
        if (display_width(form) <= width) return form;
        shortest = form;
    }
    const size_t number = shortest.find_last_of(":+");
    if (number == std::string::npos) return cut_middle(shortest, width, utf8);
    const std::string end = shortest.substr(number);
    const std::string_view ellipsis = glyphs(utf8).ellipsis;
    const int room = width - display_width(end) - display_width(ellipsis);
    if (room < 1) return display_width(end) <= width ? end : "";
    std::string start =
        cut_middle(shortest.substr(0, number), room + display_width(ellipsis), utf8);
    return start + end;
}

std::vector<int> share_room(const std::vector<int>& wanted, int room) {
    std::vector<size_t> order(wanted.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&wanted](size_t a, size_t b) { return wanted[a] < wanted[b]; });
    std::vector<int> shares(wanted.size());
    int others = static_cast<int>(wanted.size());
    for (const size_t index : order) {
        shares[index] = std::min(wanted[index], std::max(room, 0) / others--);
        room -= shares[index];
    }
    return shares;
}

}  // namespace dwell
