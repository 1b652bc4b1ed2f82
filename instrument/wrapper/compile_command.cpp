// Interprets options of GCC and clang: whether code is made, from which input, and for which
// machine.
#include "instrument/wrapper/compile_command.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

namespace dwell {
namespace {

constexpr int kDeepestResponseFile = 20;

// The next word is their value, and no input even if it looks like one.
constexpr std::string_view kTakesNextWord[] = {"-o",
                                               "-D",
                                               "-U",
                                               "-I",
                                               "-L",
                                               "-l",
                                               "-J",
                                               "-A",
                                               "-B",
                                               "-T",
                                               "-e",
                                               "-u",
                                               "-z",
                                               "-R",
                                               "-MF",
                                               "-MT",
                                               "-MQ",
                                               "-MJ",
                                               "-include",
                                               "-include-pch",
                                               "-imacros",
                                               "-isystem",
                                               "-iquote",
                                               "-idirafter",
                                               "-iprefix",
                                               "-isysroot",
                                               "-imultilib",
                                               "-iwithprefix",
                                               "-iwithprefixbefore",
                                               "-Xlinker",
                                               "-Xassembler",
                                               "-Xpreprocessor",
                                               "-Xclang",
                                               "-mllvm",
                                               "-wrapper",
                                               "--param",
                                               "-aux-info",
                                               "-dumpbase",
                                               "-dumpbase-ext",
                                               "-dumpdir",
                                               "-rpath",
                                               "-arch",
                                               "-framework",
                                               "--sysroot",
                                               "-gcc-toolchain",
                                               "-ivfsoverlay",
                                               "-working-directory",
                                               "--output",
                                               "--include-directory"};

// Queries, and work that ends before code is made.
constexpr std::string_view kMakesNoCode[] = {"-E",
                                             "-M",
                                             "-MM",
                                             "-###",
                                             "-fsyntax-only",
                                             "--version",
                                             "-qversion",
                                             "-V",
                                             "--preprocess",
                                             "--dependencies",
                                             "--user-dependencies",
                                             "-dumpversion",
                                             "-dumpfullversion",
                                             "-dumpmachine",
                                             "-dumpspecs",
                                             "--target-help",
                                             "--help"};
constexpr std::string_view kMakesNoCodeStart[] = {"-print-", "--print-", "--help=", "--showme",
                                                  "-showme", "-show",    "-dump=",  "--analyze"};

constexpr std::string_view kSourceEndings[] = {
    "c",   "i",   "ii",  "m",   "mi",  "mm",  "M",   "mii", "C",   "cc",  "cp",   "cxx",
    "cpp", "CPP", "c++", "h",   "hh",  "H",   "hp",  "hxx", "hpp", "HPP", "h++",  "tcc",
    "f",   "for", "ftn", "F",   "FOR", "fpp", "FPP", "FTN", "f90", "f95", "f03",  "f08",
    "F90", "F95", "F03", "F08", "ads", "adb", "d",   "go",  "ll",  "bc",  "cppm", "ixx"};

template <typename List>
bool contains(const List& list, std::string_view word) {
    return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The words of a response file, separated by blanks; quotes and backslashes protect blanks.
std::vector<std::string> split_response(std::string_view text) {
    std::vector<std::string> words;
    std::optional<std::string> word;
    char quote = '\0';
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quote == '\0' && is_blank(c)) {
            if (word) words.push_back(*word);
            word.reset();
            continue;
        }
        if (!word) word.emplace();
        if (c == '\\' && i + 1 < text.size()) {
            *word += text[++i];
        } else if (c == quote) {
            quote = '\0';
        } else if (quote == '\0' && (c == '\'' || c == '"')) {
            quote = c;
        } else {
            *word += c;
        }
    }
    if (word) words.push_back(*word);
    return words;
}

void expand(const std::vector<std::string>& words, int depth, std::vector<std::string>* all) {
    for (const std::string& word : words) {
        std::ifstream file;
        if (word.size() > 1 && word[0] == '@' && depth < kDeepestResponseFile) {
            file.open(word.substr(1), std::ios::binary);
        }
        if (file.is_open()) {
            const std::string text{std::istreambuf_iterator<char>(file), {}};
            expand(split_response(text), depth + 1, all);
        } else {
            all->push_back(word);
        }
    }
}

// Code for another machine, or code that cannot contain probes (runtime/contract/site_table.h).
bool rules_probes_out(const std::string& word) {
    return word == "-m32" || word == "-mx32" || word == "-m16" || word == "-miamcu" ||
           word == "-mcmodel=large" || word == "-mabi=ms";
}

bool is_own_target(std::string_view triple) {
    return triple.starts_with("x86_64") && triple.find("linux") != std::string_view::npos &&
           !triple.ends_with("x32");
}

// The target in an option of clang; nothing when `word` is no such option.
std::optional<std::string_view> named_target(const std::string& word, const std::string* next) {
    for (const std::string_view start : {"--target=", "-target="}) {
        if (word.starts_with(start)) return std::string_view(word).substr(start.size());
    }
    if ((word == "-target" || word == "--target") && next != nullptr) return *next;
    return std::nullopt;
}

bool makes_no_code(const std::string& word) {
    return contains(kMakesNoCode, word) ||
           std::any_of(std::begin(kMakesNoCodeStart), std::end(kMakesNoCodeStart),
                       [&](std::string_view start) { return word.starts_with(start); });
}

// Options that begin with -g and decide whether clang makes debug information; not those that only
// shape it (-gz, -gsplit-dwarf) or mean something else (-gcc-toolchain).
std::optional<bool> asks_for_lines(std::string_view word) {
    if (word == "-g0" || word == "-ggdb0") return false;
    for (const std::string_view start : {"-ggdb", "-gdwarf-", "-gline-"}) {
        if (word.starts_with(start)) return true;
    }
    if (word == "-gdwarf" || word == "-gmlt" || word == "-gfull") return true;
    if (word == "-g" || word == "-g1" || word == "-g2" || word == "-g3") return true;
    return std::nullopt;
}

// `language` is the value of the last -x, empty when the file name's suffix decides.
bool is_source(const std::string& input, const std::string& language) {
    if (!language.empty()) return !language.starts_with("assembler");
    const size_t dot = input.rfind('.');
    return dot != std::string::npos && contains(kSourceEndings, input.substr(dot + 1));
}

// LLVM's own code, whose attributes are limited to those of its front end.
bool is_llvm_code(const std::string& input, const std::string& language) {
    return language.empty() ? input.ends_with(".ll") || input.ends_with(".bc") : language == "ir";
}

}  // namespace

CompileCommand read_compile_command(const std::vector<std::string>& given) {
    std::vector<std::string> words;
    expand(given, 0, &words);
    CompileCommand command;
    bool question = false;
    bool has_input = false;
    std::string language;
    for (size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        const std::string* next = i + 1 < words.size() ? &words[i + 1] : nullptr;
        if (const auto target = named_target(word, next)) {
            if (!is_own_target(*target)) command.unfit = "--target=" + std::string(*target);
            if (word.find('=') == std::string::npos) ++i;
        } else if (word.starts_with("-x") || word.starts_with("--language=")) {
            language = word == "-x" ? next != nullptr ? *next : ""
                                    : word.substr(word[1] == 'x' ? 2 : sizeof("--language"));
            if (word == "-x") ++i;
            if (language == "none") language.clear();
        } else if (contains(kTakesNextWord, word)) {
            if (next != nullptr && next->starts_with("-finstrument-function")) {
                command.may_mark = false;
            }
            ++i;
        } else if (makes_no_code(word)) {
            question = true;
        } else if (rules_probes_out(word)) {
            command.unfit = word;
        } else if (word.starts_with("-finstrument-function")) {
            command.may_mark = false;
        } else if (const auto lines = asks_for_lines(word)) {
            command.has_lines = *lines;
        } else if (word[0] != '-' || word.size() == 1) {
            has_input = true;
            command.has_source = command.has_source || is_source(word, language);
            command.may_mark = command.may_mark && !is_llvm_code(word, language);
        }
    }
    command.makes_code = has_input && !question;
    return command;
}

}  // namespace dwell
