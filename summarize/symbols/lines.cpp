// Resolves addresses of unmodified binaries to lines (DESIGN 3). Modules are opened on first use,
// and each address is looked up once.
#include "summarize/symbols/lines.h"

#include <sys/stat.h>

#include <cinttypes>
#include <cstdio>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "summarize/code/code_ranges.h"
#include "summarize/code/symbol_names.h"
#include "summarize/code/vdso.h"
#include "summarize/model/source_paths.h"
#include "summarize/symbols/debug_info.h"
#include "summarize/symbols/tail_calls.h"

namespace dwell {
namespace {

std::string plus_offset(std::string_view name, uint64_t offset) {
    char text[24];
    std::snprintf(text, sizeof text, "+0x%" PRIx64, offset);
    return std::string(name) + text;
}

bool was_replaced(const std::string& path, const FileStamp& stamp) {
    const FileStamp now = stamp_of(path);
    return stamp.inode != 0 && now.inode != 0 &&
           (now.inode != stamp.inode || now.modified_ns != stamp.modified_ns);
}

}  // namespace

FileStamp stamp_of(const std::string& path) {
    struct stat file;
    if (stat(path.c_str(), &file) != 0) return {};
    const int64_t seconds = file.st_mtim.tv_sec;
    return {file.st_ino, seconds * 1000000000 + file.st_mtim.tv_nsec, false};
}

struct LineResolver::Module {
    std::string path;
    std::string build_id;
    bool is_open = false;
    bool uncertain = false;
    DebugFile file;
    std::unique_ptr<DebugInfo> info;
    std::unique_ptr<ControlFlow> flow;
    std::unordered_map<uint64_t, ResolvedAddress> instructions;  // by address of the executing
                                                                 // instruction
    std::unordered_map<uint64_t, ResolvedAddress> calls;         // by return address
    std::map<std::pair<uint64_t, std::string>, ResolvedAddress> communications;
    std::map<std::tuple<std::string, std::string, int>, std::vector<std::vector<SourceFrame>>>
        inlined;

    // `shown` is the address in reports; the statement is looked up at `address`.
    ResolvedAddress look_up(uint64_t address, uint64_t shown);
    SourceFrame frame_without_lines(uint64_t address);
    void add_frames_of_jumps(const TailCall& tail, ResolvedAddress* result);
};

// In a module that changed since the run every address is a nameless function; a stripped module
// has its exported symbols, and functions named by their first address.
SourceFrame LineResolver::Module::frame_without_lines(uint64_t address) {
    SourceFrame frame;
    const FunctionSymbol* const symbol = file.symbol_at(address);
    if (is_vdso(path)) {
        frame.function = vdso_function(symbol != nullptr ? symbol->name : "");
        return frame;
    }
    if (symbol != nullptr) {
        frame.symbol = symbol->name;
        frame.function = display_name(frame.symbol);
        frame.main_program = frame.symbol == "MAIN__";
        return frame;
    }
    const std::optional<CodeRange> range = code_range(&file, address);
    if (range) frame.function = plus_offset(base_name(path), range->start);
    return frame;
}

ResolvedAddress LineResolver::Module::look_up(uint64_t address, uint64_t shown) {
    ResolvedAddress result;
    const FunctionSymbol* const symbol = file.symbol_at(address);
    if (info) result.frames = info->frames_at(address);
    if (result.frames.empty()) {
        result.frames.push_back(frame_without_lines(address));
        if (info) {
            const std::optional<CodeRange> range = code_range(&file, address);
            const uint64_t start = symbol != nullptr ? symbol->start : range ? range->start : 0;
            info->add_lines(address, start, &result.frames.back());
        }
    }
    result.place = symbol != nullptr
                       ? plus_offset(display_name(symbol->name), shown - symbol->start)
                       : plus_offset(base_name(path), shown);
    SourceFrame& outer = result.frames.front();
    // Functions without a linker name in the debug information (local ones of C++).
    if (!is_encoded_name(outer.symbol) && symbol != nullptr && is_encoded_name(symbol->name)) {
        outer.symbol = symbol->name;
        outer.function = display_name(outer.symbol);
    }
    if (outer.function.empty()) outer.function = result.place;
    if (result.frames.back().line == 0) result.labels |= kLabelNoLine;
    return result;
}

void LineResolver::Module::add_frames_of_jumps(const TailCall& tail, ResolvedAddress* result) {
    if (tail.kind == TailCall::Kind::kUnknown) result->labels |= kLabelLineUnknown;
    if (tail.kind != TailCall::Kind::kUnique) return;
    result->labels |= kLabelTailCall;
    if (tail.in_place) result->frames.clear();
    for (const uint64_t jump : tail.jumps) {
        for (SourceFrame& frame : info->frames_at(jump)) {
            result->frames.push_back(std::move(frame));
        }
    }
}

LineResolver::LineResolver(std::string debug_root) : debug_root_(std::move(debug_root)) {}
LineResolver::~LineResolver() = default;

uint32_t LineResolver::add_module(const std::string& path, std::string_view build_id,
                                  FileStamp stamp) {
    auto module = std::make_unique<Module>();
    module->path = path;
    module->build_id = build_id;
    module->uncertain = build_id.empty() && (stamp.mixed || was_replaced(path, stamp));
    modules_.push_back(std::move(module));
    return static_cast<uint32_t>(modules_.size() - 1);
}

LineResolver::Module* LineResolver::opened(uint32_t number) {
    Module* const module = modules_[number].get();
    if (module->is_open) return module;
    module->is_open = true;
    module->file.open(module->path, module->build_id, debug_root_);
    if (module->file.dwarf() != nullptr) module->info = std::make_unique<DebugInfo>(&module->file);
    return module;
}

const ResolvedAddress& LineResolver::resolve(uint32_t number, uint64_t offset) {
    Module* const module = opened(number);
    const auto [entry, is_new] = module->instructions.try_emplace(offset);
    if (is_new) entry->second = module->look_up(offset, offset);
    return entry->second;
}

const ResolvedAddress& LineResolver::resolve_call(uint32_t number, uint64_t return_offset) {
    Module* const module = opened(number);
    const auto [entry, is_new] = module->calls.try_emplace(return_offset);
    if (is_new) entry->second = module->look_up(return_offset - 1, return_offset);
    return entry->second;
}

const ResolvedAddress& LineResolver::resolve_communication(uint32_t number, uint64_t return_offset,
                                                           std::string_view c_name) {
    Module* const module = opened(number);
    const auto [entry, is_new] =
        module->communications.try_emplace({return_offset, std::string(c_name)});
    if (!is_new) return entry->second;
    entry->second = resolve_call(number, return_offset);
    if (module->info) {
        module->add_frames_of_jumps(find_tail_call(module->info.get(), return_offset, c_name),
                                    &entry->second);
    }
    return entry->second;
}

std::string LineResolver::function_named(uint32_t number, const std::string& symbol) {
    const uint64_t address = opened(number)->file.address_of(symbol);
    if (address == 0) return {};
    const std::string& name = resolve(number, address).frames.front().function;
    return name == symbol ? std::string() : name;
}

const std::vector<std::vector<SourceFrame>>& LineResolver::inlined_around(uint32_t number,
                                                                          const std::string& symbol,
                                                                          const std::string& file,
                                                                          int line, int end_line) {
    Module* const module = opened(number);
    const auto [entry, is_new] = module->inlined.try_emplace({symbol, file, line});
    const uint64_t address = is_new && module->info ? module->file.address_of(symbol) : 0;
    if (address != 0) {
        entry->second = module->info->inlined_around(address, file, line, end_line);
    }
    return entry->second;
}

uint64_t LineResolver::address_of(uint32_t number, const std::string& symbol) {
    return opened(number)->file.address_of(symbol);
}

ControlFlow* LineResolver::control_flow(uint32_t number) {
    Module* const module = opened(number);
    const ModuleState state = module->file.state();
    const bool certain = state == ModuleState::kLines || state == ModuleState::kSymbols;
    if (!certain || module->uncertain) return nullptr;
    if (!module->flow) module->flow = std::make_unique<ControlFlow>(&module->file);
    return module->flow.get();
}

ModuleState LineResolver::state(uint32_t number) const { return modules_[number]->file.state(); }
bool LineResolver::is_uncertain(uint32_t number) const { return modules_[number]->uncertain; }
const std::string& LineResolver::path(uint32_t number) const { return modules_[number]->path; }

}  // namespace dwell
