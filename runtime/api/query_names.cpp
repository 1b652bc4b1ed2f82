// Compares nodes with the name of a query; see query_names.h.
#include "runtime/api/query_names.h"

#include <cxxabi.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <algorithm>

#include "runtime/contract/enabling_profile.h"
#include "runtime/probes/probe_control.h"
#include "runtime/probes/probes.h"

namespace dwell {

namespace {

bool is_word(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The last name before parameters, or none where the pattern leaves it open.
std::string_view own_part_of(std::string_view pattern) {
    const size_t end = std::min(pattern.find_first_of("(<*? "), pattern.size());
    if (end < pattern.size() && (pattern[end] == '*' || pattern[end] == '?')) return {};
    size_t begin = end;
    while (begin > 0 && is_word(pattern[begin - 1])) --begin;
    const std::string_view part(pattern.data() + begin, end - begin);
    return part.starts_with("operator") ? std::string_view{} : part;
}

// "file:line"; 0 where the text does not end so.
uint32_t line_in(std::string_view text, std::string_view* file) {
    size_t digits = text.size();
    while (digits > 0 && text[digits - 1] >= '0' && text[digits - 1] <= '9') --digits;
    const size_t count = text.size() - digits;
    if (count == 0 || count > 9 || digits < 2 || text[digits - 1] != ':') return 0;
    uint32_t line = 0;
    for (size_t i = digits; i < text.size(); ++i) {
        line = 10 * line + static_cast<uint32_t>(text[i] - '0');
    }
    *file = std::string_view(text.data(), digits - 1);
    return line;
}

// The binding that a program calls, in C or Fortran, and the function's name in C.
bool is_binding_of(const char* binding, const char* function) {
    if (*binding == 'P' || *binding == 'p') ++binding;
    const size_t bytes = strlen(function);
    if (strncasecmp(binding, function, bytes) != 0) return false;
    for (const char* ending : {"", "_", "__", "_f08", "_f08_", "_f08ts_"}) {
        if (strcmp(binding + bytes, ending) == 0) return true;
    }
    return false;
}

template <typename Work>
void for_each_row(Work work) {
    for (int i = 0; i < registered_modules(); ++i) {
        const SiteModule* const module = registered_module(i);
        for (const SiteRow* row = module->rows; row < module->rows_end; ++row) work(row, module);
    }
}

bool is_call(const SiteRow* row) {
    return row->kind == SiteKind::kCall || row->kind == SiteKind::kCommunication;
}

// Whether the row's procedure calls the same on another line, too: nodes do not tell which is
// which.
bool is_ambiguous(const SiteRow* row, const SiteModule* module) {
    const SiteRow* const procedure = procedure_of(row);
    const char* const callee = row_text(&row->name);
    for (const SiteRow* other = procedure + 1; other < module->rows_end; ++other) {
        if (other->kind == SiteKind::kProgram || procedure_of(other) != procedure) break;
        const char* const called = is_call(other) ? row_text(&other->name) : nullptr;
        if (called != nullptr && other->line != row->line && strcmp(called, callee) == 0) {
            return true;
        }
    }
    return false;
}

}  // namespace

ProcedurePattern::ProcedurePattern(std::string_view pattern)
    : pattern_(pattern), own_part_(own_part_of(pattern)) {}

bool ProcedurePattern::matches(const char* name) const {
    if (name == nullptr) return false;
    if (strncmp(name, "_Z", 2) != 0) return procedure_matches(pattern_, name, nullptr);
    if (!own_part_.empty() &&
        memmem(name, strlen(name), own_part_.data(), own_part_.size()) == nullptr) {
        return false;
    }
    int status = 0;
    char* const demangled = abi::__cxa_demangle(name, nullptr, nullptr, &status);
    const bool same = procedure_matches(pattern_, name, demangled);
    free(demangled);
    return same;
}

WantedSites::WantedSites(std::string_view text) : text_(text), procedure_(text) {
    line_ = line_in(text, &file_);
    if (line_ != 0) find_statements();
}

// None where a procedure or loop with probes begins.
void WantedSites::find_statements() {
    bool begins = false;
    for_each_row([&](const SiteRow* row, const SiteModule*) {
        begins = begins || (row->level != 0 && is_at_line(row));
    });
    if (begins) return;
    for_each_row([this](const SiteRow* row, const SiteModule* module) {
        const char* const callee = is_call(row) ? row_text(&row->name) : nullptr;
        if (callee == nullptr || !is_at_line(row) || statement_count_ == kStatements) return;
        if (is_ambiguous(row, module)) return;
        statements_[statement_count_++] = {procedure_of(row), callee, row->kind};
    });
}

bool WantedSites::is_at_line(const SiteRow* row) const {
    return line_ != 0 && row->line == line_ && file_matches(file_, row_text(&row->file));
}

// A text is "name" or "name\nfile:line".
bool WantedSites::is_wanted_text(const Site& site) const {
    const auto* const record = cell_at<TextRecord>(static_cast<CellIndex>(site.offset));
    const std::string_view whole(record->text, record->bytes);
    const size_t end = std::min(whole.find('\n'), whole.size());
    if (text_matches(text_, std::string_view(whole.data(), end))) return true;
    if (line_ == 0 || end == whole.size()) return false;
    // file_matches() wants the end of the file's name to be that of the text: compares with the
    // line.
    return file_matches(text_, whole.data() + end + 1);
}

bool WantedSites::is_wanted_call(uint16_t call) {
    if (call == 0 || call >= kMpiCallCount || call >= kMostCalls) return false;
    Answer& answer = calls_[call];
    if (answer == Answer::kUnknown) {
        answer = text_matches(text_, kMpiCalls[call].name) ? Answer::kYes : Answer::kNo;
    }
    return answer == Answer::kYes;
}

bool WantedSites::is_wanted_row(const SiteRow* row) {
    KnownRow& known = known_[(reinterpret_cast<uintptr_t>(row) / sizeof(SiteRow)) % kRows];
    if (known.row != row) {
        const bool procedure = row->kind == SiteKind::kProcedure;
        known = {row, is_at_line(row) || (procedure && procedure_.matches(row_text(&row->name)))};
    }
    return known.wanted;
}

// The row of a node, or null where its table is not registered.
const SiteRow* WantedSites::row_of(const Site& site) {
    if ((site.flags & kNodeCode) != 0) return nullptr;
    const auto* const row = reinterpret_cast<const SiteRow*>(addresses_.address_of(site));
    const auto holds = [row](const SiteModule* module) {
        const auto apart =
            reinterpret_cast<uintptr_t>(row) - reinterpret_cast<uintptr_t>(module->rows);
        return row >= module->rows && row < module->rows_end && apart % sizeof(SiteRow) == 0;
    };
    if (module_ != nullptr && holds(module_)) return row;
    for (int i = 0; i < registered_modules(); ++i) {
        module_ = registered_module(i);
        if (holds(module_)) return row;
    }
    module_ = nullptr;
    return nullptr;
}

// The procedure whose code a node is in, by the probes around it; null: unknown.
const SiteRow* WantedSites::procedure_around(CellIndex cell) {
    for (; cell != 0; cell = cell_at<Node>(cell)->parent) {
        const Site& site = cell_at<Node>(cell)->site;
        if (site.kind == SiteKind::kBlock) continue;
        const bool probed = site.kind == SiteKind::kProcedure || site.kind == SiteKind::kLoop;
        const SiteRow* const row = probed ? row_of(site) : nullptr;
        return row != nullptr ? procedure_of(row) : nullptr;
    }
    return nullptr;
}

// `callee`: the row of a procedure that was entered, null for a communication statement.
bool WantedSites::is_statement(const Node& node, const SiteRow* callee) {
    if (statement_count_ == 0 || node.parent == 0) return false;
    CellIndex around = node.parent;
    if (callee != nullptr) {
        // Below the statement that called it.
        if (cell_at<Node>(around)->site.kind != SiteKind::kCall) return false;
        around = cell_at<Node>(around)->parent;
    }
    const SiteRow* const procedure = procedure_around(around);
    const char* const entered = callee != nullptr ? row_text(&callee->name) : nullptr;
    for (int i = 0; procedure != nullptr && i < statement_count_; ++i) {
        const Statement& statement = statements_[i];
        if (statement.procedure != procedure) continue;
        if (callee == nullptr && statement.kind == SiteKind::kCommunication &&
            is_binding_of(statement.callee, kMpiCalls[node.site.call].name)) {
            return true;
        }
        if (entered != nullptr && strcmp(entered, statement.callee) == 0) return true;
    }
    return false;
}

bool WantedSites::contains(const Node& node) {
    switch (node.site.kind) {
        case SiteKind::kBlock:
        case SiteKind::kMarker:
            return is_wanted_text(node.site);
        case SiteKind::kCommunication:
            return is_wanted_call(node.site.call) || is_statement(node, nullptr);
        case SiteKind::kProcedure:
        case SiteKind::kLoop: {
            const SiteRow* const row = row_of(node.site);
            if (row == nullptr) return false;
            if (is_wanted_row(row)) return true;
            return node.site.kind == SiteKind::kProcedure && is_statement(node, row);
        }
        default:
            return false;
    }
}

}  // namespace dwell
