// Implements the rules of selection.h.
#include "instrument/selection/selection.h"

namespace dwell {

std::vector<bool> too_small(const std::vector<ProcedureFacts>& procedures) {
    // Backward reachability: from procedures that must be measured to their callers.
    std::vector<std::vector<size_t>> callers(procedures.size());
    std::vector<bool> reaches(procedures.size(), false);
    std::vector<size_t> pending;
    for (size_t i = 0; i < procedures.size(); ++i) {
        const ProcedureFacts& facts = procedures[i];
        for (size_t callee : facts.callees) {
            callers[callee].push_back(i);
        }
        if (facts.has_loop || facts.has_communication || facts.calls_out_of_sight) {
            reaches[i] = true;
            pending.push_back(i);
        }
    }
    while (!pending.empty()) {
        const size_t reached = pending.back();
        pending.pop_back();
        for (size_t caller : callers[reached]) {
            if (!reaches[caller]) {
                reaches[caller] = true;
                pending.push_back(caller);
            }
        }
    }
    std::vector<bool> small(procedures.size());
    for (size_t i = 0; i < procedures.size(); ++i) {
        small[i] = !reaches[i] && procedures[i].statements < kShortStatements;
    }
    return small;
}

bool is_innermost(const LoopFacts& loop) {
    return !loop.has_loop && !loop.has_call && !loop.has_communication;
}

Choice choose_procedure(bool small, Wish wish, bool all) {
    if (wish == Wish::kOff) {
        return {false, kRowUnselected};
    }
    if (small && wish != Wish::kOn && !all) {
        return {false, kRowSmall};
    }
    return {true, 0};
}

Choice choose_loop(const LoopFacts& loop, Wish wish, bool all) {
    const uint8_t flags = is_innermost(loop) ? kRowInnermost : 0;
    const bool by_default = loop.outermost || !is_innermost(loop) || all;
    if (wish == Wish::kOff || (wish == Wish::kUnsaid && !by_default)) {
        return {false, static_cast<uint8_t>(flags | kRowUnselected)};
    }
    return {true, flags};
}

bool is_communication(std::string_view name) {
    const auto starts_with = [&](std::string_view prefix) { return name.starts_with(prefix); };
    const auto is_mpi = [&](std::string_view plain, std::string_view extension) {
        return starts_with(plain) || starts_with(extension);
    };
    if (is_mpi("MPI_", "MPIX_") || is_mpi("PMPI_", "PMPIX_")) return true;
    return (is_mpi("mpi_", "mpix_") || is_mpi("pmpi_", "pmpix_")) && name.ends_with('_');
}

bool is_of_dwell_header(std::string_view linkage_name, std::string_view file) {
    return file.substr(file.rfind('/') + 1) == "dwell.h" &&
           linkage_name.find("dwell") != std::string_view::npos;
}

}  // namespace dwell
