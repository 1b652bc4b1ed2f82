// Call paths as people know them (DESIGN 3): see call_paths.h.
#include "summarize/call_paths.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <string_view>

#include "runtime/mpi_calls.h"

namespace dwell {
namespace {

std::string_view base_name(std::string_view path) {
    const size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> beginnings) {
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [name](std::string_view beginning) { return name.starts_with(beginning); });
}

bool is_dwell_library(std::string_view name) { return name.starts_with("libdwell."); }

// The MPI library and its language bindings.
bool is_mpi_library(std::string_view name) {
    return starts_with_any(
        name, {"libmpi.so", "libmpi_", "libmpich", "libmpicxx", "libmpifort", "libpmpi.so"});
}

bool is_libc_library(std::string_view name) {
    return starts_with_any(name, {"libc.so", "libc-2", "libpthread", "ld-linux", "ld-2"});
}

bool is_start_symbol(std::string_view symbol) {
    return symbol == "_start" || symbol == "clone" || symbol == "clone3" || symbol == "__clone" ||
           symbol == "__clone3" || symbol == "start_thread" || symbol == "__libc_start_call_main" ||
           symbol.starts_with("__libc_start_main");
}

const char* text_at(const Merged& merged, uint32_t offset) {
    return offset < merged.text.size() ? merged.text.data() + offset : "";
}

ResolvedAddress without_module(const std::string& function) {
    ResolvedAddress address;
    address.frames.resize(1);
    address.frames[0].function = function;
    address.place = function;
    address.labels = kLabelNoLine;
    return address;
}

}  // namespace

CallPaths::CallPaths(const Merged& merged, LineResolver* lines)
    : merged_(merged), lines_(lines), folded_(without_module("(folded paths)")) {
    for (const MergedModule& module : merged.modules) {
        const char* const path = text_at(merged, module.path);
        const size_t id_bytes = std::min<size_t>(module.build_id_bytes, sizeof module.build_id);
        lines_->add_module(path, {reinterpret_cast<const char*>(module.build_id), id_bytes});
        const std::string_view name = base_name(path);
        module_kinds_.push_back(is_dwell_library(name)  ? ModuleKind::kDwell
                                : is_mpi_library(name)  ? ModuleKind::kMpi
                                : is_libc_library(name) ? ModuleKind::kLibc
                                                        : ModuleKind::kUser);
    }
    depths_.resize(merged.nodes.size(), 0);
    for (size_t i = 1; i < merged.nodes.size(); ++i) {
        const uint32_t parent = merged.nodes[i].parent;
        if (parent < i) depths_[i] = depths_[parent] + 1;
    }
}

const ResolvedAddress& CallPaths::address_of(const MergedNode& node) {
    if (node.module < module_kinds_.size()) {
        if (node.kind != static_cast<uint8_t>(SiteKind::kCommunication)) {
            return lines_->resolve_call(node.module, node.offset);
        }
        const char* const name = node.call < kMpiCallCount ? kMpiCalls[node.call].name : nullptr;
        return lines_->resolve_communication(node.module, node.offset, name == nullptr ? "" : name);
    }
    if ((node.flags & kNodeFolded) != 0 && node.offset == 0) return folded_;
    const auto [entry, is_new] = foreign_.try_emplace(node.offset);
    if (is_new) {
        char text[24];
        std::snprintf(text, sizeof text, "0x%" PRIx64, node.offset);
        entry->second = without_module(text);
    }
    return entry->second;
}

void CallPaths::add_frames(uint32_t index, std::vector<Frame>* frames) {
    const MergedNode& node = merged_.nodes[index];
    const bool known = node.module < module_kinds_.size();
    if (known && (module_kinds_[node.module] == ModuleKind::kMpi || is_own_code(index))) return;
    const ResolvedAddress& address = address_of(node);
    const uint32_t module = known ? node.module : kNoNode;
    const uint32_t folded = (node.flags & kNodeFolded) != 0 ? uint32_t{kLabelFolded} : 0;
    for (const SourceFrame& source : address.frames) {
        const uint32_t no_line = source.line == 0 ? uint32_t{kLabelNoLine} : 0;
        frames->push_back({&source, &address, module, depths_[index], folded | no_line, false});
    }
    frames->back().labels |= address.labels & (kLabelTailCall | kLabelLineUnknown);
}

bool CallPaths::is_libc(const Frame& frame) const {
    return frame.module < module_kinds_.size() && module_kinds_[frame.module] == ModuleKind::kLibc;
}

bool CallPaths::has_main(const MergedNode& node) {
    if (node.module >= module_kinds_.size() || module_kinds_[node.module] != ModuleKind::kUser) {
        return false;
    }
    const std::vector<SourceFrame>& frames = address_of(node).frames;
    return std::any_of(frames.begin(), frames.end(), [](const SourceFrame& source) {
        return source.main_program || (source.symbol == "main" && !source.inlined);
    });
}

void CallPaths::drop_frames_above_main(std::vector<Frame>* frames) const {
    auto first = std::find_if(frames->begin(), frames->end(), [](const Frame& frame) {
        return frame.source->main_program ||
               (frame.source->symbol == "main" && !frame.source->inlined);
    });
    if (first != frames->end()) {
        // gfortran's main only calls the Fortran main program, or has it inlined.
        const auto below = std::next(first);
        if (!first->source->main_program && below != frames->end() && below->source->main_program) {
            first = below;
        }
        frames->erase(frames->begin(), first);
        return;
    }
    // A stripped program: its start code is known by __libc_start_main, which every C library
    // exports, and the first function outside the library that it calls is main.
    first = frames->begin();
    const auto search_end = first + std::min<std::ptrdiff_t>(4, std::ssize(*frames));
    const auto start = std::find_if(first, search_end, [this](const Frame& frame) {
        return is_libc(frame) && frame.source->symbol.starts_with("__libc_start_main");
    });
    const bool from_start = start != search_end;
    if (from_start) first = start;
    while (first != frames->end() && (is_libc(*first) || is_start_symbol(first->source->symbol))) {
        ++first;
    }
    first = frames->erase(frames->begin(), first);
    if (from_start && first != frames->end() && first->source->symbol.empty()) {
        first->is_entry = true;
    }
}

Step CallPaths::number_step(const Frame& frame) {
    Step step;
    step.depth = frame.depth;
    step.inlined = frame.source->inlined;
    const std::array<uintptr_t, 3> key = {reinterpret_cast<uintptr_t>(frame.source), frame.labels,
                                          frame.is_entry};
    if (const auto found = numbered_.find(key); found != numbered_.end()) {
        step.procedure = found->second.first;
        step.statement = found->second.second;
        return step;
    }
    const SourceFrame& source = *frame.source;
    const std::string path = frame.module == kNoNode ? "" : lines_->path(frame.module);
    Procedure procedure{frame.is_entry ? "main" : source.function, source.function_file,
                        source.function_line, "", 0};
    if (procedure.file.empty()) {
        procedure.module = path;
        procedure.labels = kLabelNoLine;
    }
    Statement statement{source.file, source.line, "", frame.labels};
    if (source.line == 0) {
        statement.file = frame.address->place;
        statement.module = path;
    }
    const auto [procedure_entry, new_procedure] =
        procedure_numbers_.try_emplace({{procedure.name, procedure.file, procedure.module},
                                        {static_cast<uint32_t>(procedure.line), procedure.labels}},
                                       static_cast<uint32_t>(procedures_.size()));
    step.procedure = procedure_entry->second;
    if (new_procedure) procedures_.push_back(std::move(procedure));
    const auto [statement_entry, new_statement] =
        statement_numbers_.try_emplace({{statement.file, statement.module},
                                        {static_cast<uint32_t>(statement.line), statement.labels}},
                                       static_cast<uint32_t>(statements_.size()));
    step.statement = statement_entry->second;
    if (new_statement) statements_.push_back(std::move(statement));
    numbered_[key] = {step.procedure, step.statement};
    return step;
}

std::vector<Step> CallPaths::path_to(uint32_t node) {
    std::vector<uint32_t> chain;
    for (uint32_t at = node; at != 0 && depths_[at] != 0; at = merged_.nodes[at].parent) {
        chain.push_back(at);
    }
    std::vector<Frame> frames;
    // Where main is known by name, the C library's start code above it need not be looked up: its
    // debug information, where installed, takes a tenth of a second.
    const auto main = std::find_if(chain.rbegin(), chain.rend(),
                                   [this](uint32_t at) { return has_main(merged_.nodes[at]); });
    const auto first = main == chain.rend() ? chain.rbegin() : main;
    for (auto at = first; at != chain.rend(); ++at) add_frames(*at, &frames);
    drop_frames_above_main(&frames);
    std::vector<Step> steps;
    for (const Frame& frame : frames) {
        steps.push_back(number_step(frame));
        if (frame.module != kNoNode && !is_libc(frame)) modules_used_.insert(frame.module);
    }
    return steps;
}

bool CallPaths::is_own_code(uint32_t index) const {
    const uint32_t module = merged_.nodes[index].module;
    return module < module_kinds_.size() && module_kinds_[module] == ModuleKind::kDwell;
}

std::vector<uint32_t> CallPaths::sampled_procedures(uint32_t index) {
    const MergedNode& node = merged_.nodes[index];
    std::vector<uint32_t> procedures;
    if (node.module >= module_kinds_.size()) return procedures;
    const ResolvedAddress& address = lines_->resolve(node.module, node.offset);
    for (const SourceFrame& source : address.frames) {
        procedures.push_back(number_step({&source, &address, node.module, 0, 0, false}).procedure);
    }
    return procedures;
}

SampledLine CallPaths::sampled_line(uint32_t index) {
    const MergedNode& node = merged_.nodes[index];
    SampledLine line;
    if (node.module < module_kinds_.size()) {
        const ResolvedAddress& address = lines_->resolve(node.module, node.offset);
        const SourceFrame& inner = address.frames.back();
        line.function = inner.function;
        line.line = inner.line;
        line.file = inner.line != 0 ? inner.file : address.place;
    } else {
        line.function = (node.flags & kNodeFolded) != 0 ? "(other lines)" : address_of(node).place;
    }
    return line;
}

}  // namespace dwell
