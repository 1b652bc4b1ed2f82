// Turns chains of addresses and probed sites into call paths as people know them (DESIGN 3); see
// call_paths.h.
#include "summarize/attribution/call_paths.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "runtime/contract/clone_names.h"
#include "runtime/contract/mpi_calls.h"
#include "runtime/contract/omp_constructs.h"
#include "summarize/code/symbol_names.h"
#include "summarize/code/vdso.h"
#include "summarize/model/source_paths.h"
#include "summarize/model/statement_names.h"

namespace dwell {
namespace {

bool is_same_place(const SourceFrame& one, const SourceFrame& other) {
    return one.line != 0 && one.line == other.line && one.file == other.file &&
           one.symbol == other.symbol;
}

const SourceFrame kNoFrame;

bool is_start_symbol(std::string_view symbol) {
    return symbol == "_start" || symbol == "clone" || symbol == "clone3" || symbol == "__clone" ||
           symbol == "__clone3" || symbol == "start_thread" || symbol == "__libc_start_call_main" ||
           symbol.starts_with("__libc_start_main");
}

const char* text_at(const Merged& merged, uint32_t offset) {
    return offset < merged.text.size() ? merged.text.data() + offset : "";
}

// Headers of the C library replace functions of the source by functions that check sizes: the
// statement is the call of the replaced function.
bool is_checked_form(const SourceFrame& frame, uint16_t call) {
    std::string_view name = frame.function;
    if (name.ends_with("_unlocked")) name.remove_suffix(9);
    if (name.ends_with("64")) name.remove_suffix(2);
    return frame.inlined && name == statement_name(SiteKind::kIo, call);
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

bool is_outlined(const SourceFrame& frame) {
    return is_outlined_name(frame.symbol) || is_outlined_name(frame.function);
}

CallPaths::CallPaths(const Merged& merged, LineResolver* lines)
    : merged_(merged),
      lines_(lines),
      folded_(without_module("(folded paths)")),
      probe_sites_(merged, lines) {
    for (uint32_t i = 0; i < merged.modules.size(); ++i) {
        const MergedModule& module = merged.modules[i];
        const char* const path = text_at(merged, module.path);
        const size_t id_bytes = std::min<size_t>(module.build_id_bytes, sizeof module.build_id);
        if (i >= lines_->modules()) {
            lines_->add_module(path, {reinterpret_cast<const char*>(module.build_id), id_bytes},
                               {module.inode, module.modified_ns, module.mixed != 0});
        }
        module_kinds_.push_back(module_kind(path));
        system_.push_back(is_system_library(path));
    }
    depths_.resize(merged.nodes.size(), 0);
    for (size_t i = 1; i < merged.nodes.size(); ++i) {
        const uint32_t parent = merged.nodes[i].parent;
        if (parent < i) depths_[i] = depths_[parent] + 1;
    }
    for (uint32_t i = 1; i < merged.nodes.size(); ++i) {
        const MergedNode& node = merged.nodes[i];
        const bool communicates = node.kind == static_cast<uint8_t>(SiteKind::kCommunication);
        const bool named = communicates || is_probe_kind(node.kind);
        if (named && node.module < system_.size()) system_[node.module] = false;
        if (is_openmp(node.kind)) {
            if (is_omp_region(node.call)) regions_below_[node.parent].push_back(i);
        } else if (node.kind == static_cast<uint8_t>(SiteKind::kProcedure) ||
                   node.kind == static_cast<uint8_t>(SiteKind::kLoop)) {
            probes_below_[node.parent].push_back(i);
        } else if (node.kind == static_cast<uint8_t>(SiteKind::kCall)) {
            calls_.try_emplace({node.parent, node.module, node.offset}, i);
        }
    }
}

const ResolvedAddress& CallPaths::address_of(const MergedNode& node) {
    if (node.module < module_kinds_.size()) {
        if (node.kind == static_cast<uint8_t>(SiteKind::kSample)) {
            return lines_->resolve(node.module, node.offset);
        }
        if (node.kind != static_cast<uint8_t>(SiteKind::kCommunication)) {
            return lines_->resolve_call(node.module, node.offset);
        }
        const char* const name = node.call < kMpiCallCount ? kMpiCalls[node.call].name : nullptr;
        return lines_->resolve_communication(node.module, node.offset, name == nullptr ? "" : name);
    }
    if ((node.flags & kNodeFolded) != 0 && node.offset == 0) return folded_;
    if (is_python(node)) return python_at(node);
    const auto [entry, is_new] = foreign_.try_emplace(node.offset);
    if (is_new) {
        char text[24];
        std::snprintf(text, sizeof text, "0x%" PRIx64, node.offset);
        entry->second = without_module(text);
    }
    return entry->second;
}

// "name\nfile:line:line of the function".
const ResolvedAddress& CallPaths::python_at(const MergedNode& node) {
    const auto [entry, is_new] = python_.try_emplace(node.offset);
    if (!is_new) return entry->second;
    std::string name = text_at(merged_, static_cast<uint32_t>(node.offset));
    std::string place;
    if (const size_t end = name.find('\n'); end != std::string::npos) {
        place = name.substr(end + 1);
        name.resize(end);
    }
    int numbers[2] = {0, 0};  // the function's line, the statement's
    for (int& number : numbers) {
        const size_t colon = place.rfind(':');
        if (colon == std::string::npos) break;
        number = std::atoi(place.c_str() + colon + 1);
        place.resize(colon);
    }
    entry->second = without_module(name);
    SourceFrame& source = entry->second.frames[0];
    source.file = source.function_file = place;
    source.function_line = numbers[0];
    source.line = numbers[1];
    entry->second.labels = source.line == 0 ? uint32_t{kLabelNoLine} : 0;
    return entry->second;
}

void CallPaths::add_frames(uint32_t index, std::vector<Frame>* frames) {
    const MergedNode& node = merged_.nodes[index];
    const bool known = node.module < module_kinds_.size();
    if (is_probe_kind(node.kind)) {
        const ProbeSite& site = probe_sites_.site_of(node);
        const uint32_t module = known ? node.module : kNoNode;
        frames->push_back({&site.source, nullptr, module, index, site.labels, false, &site});
        return;
    }
    if (is_openmp(node.kind) && !known) {
        frames->push_back({&kNoFrame, nullptr, kNoNode, index, 0, false, nullptr});
        return;
    }
    if (is_glue(node.module) && !is_openmp(node.kind)) return;
    const ResolvedAddress& address = address_of(node);
    const uint32_t module = known ? node.module : kNoNode;
    uint32_t labels = (node.flags & kNodeFolded) != 0 ? uint32_t{kLabelFolded} : 0;
    if (known && lines_->is_uncertain(module)) labels |= kLabelLineUnknown;
    // The inner structure of a system function is hidden.
    size_t shown = is_system(node.module) ? 1 : address.frames.size();
    const bool io = node.kind == static_cast<uint8_t>(SiteKind::kIo);
    if (io && shown > 1 && is_checked_form(address.frames.back(), node.call)) --shown;
    for (size_t i = 0; i < shown; ++i) {
        const SourceFrame& source = address.frames[i];
        const uint32_t no_line = source.line == 0 ? uint32_t{kLabelNoLine} : 0;
        frames->push_back({&source, &address, module, index, labels | no_line, false, nullptr});
    }
    frames->back().labels |= address.labels & (kLabelTailCall | kLabelLineUnknown);
}

bool CallPaths::is_of(uint32_t module, ModuleKind kind) const {
    return module < module_kinds_.size() && module_kinds_[module] == kind;
}

bool CallPaths::is_glue(uint32_t module) const {
    return is_of(module, ModuleKind::kMpi) || is_of(module, ModuleKind::kOpenMp) ||
           is_of(module, ModuleKind::kDwell);
}

// Whether the debug information of the module is of interest.
bool CallPaths::is_users(uint32_t module) const {
    return module < module_kinds_.size() && !is_vdso(lines_->path(module)) &&
           module_kinds_[module] != ModuleKind::kLibc &&
           module_kinds_[module] != ModuleKind::kOpenMp;
}

bool CallPaths::is_system(uint32_t module) const {
    return module < system_.size() && system_[module];
}

bool CallPaths::is_libc(const Frame& frame) const { return is_of(frame.module, ModuleKind::kLibc); }

SiteKind CallPaths::kind_of(uint32_t node) const {
    return static_cast<SiteKind>(merged_.nodes[node].kind);
}

bool CallPaths::has_main(const MergedNode& node) {
    if (node.module >= module_kinds_.size() || module_kinds_[node.module] != ModuleKind::kUser) {
        return false;
    }
    if (is_probe_kind(node.kind)) {
        const SourceFrame& source = probe_sites_.site_of(node).source;
        return source.main_program || source.symbol == "main";
    }
    const std::vector<SourceFrame>& frames = address_of(node).frames;
    return std::any_of(frames.begin(), frames.end(), [](const SourceFrame& source) {
        return source.main_program || (source.symbol == "main" && !source.inlined);
    });
}

void CallPaths::drop_frames_above_main(std::vector<Frame>* frames) const {
    // Measured nodes are never left out.
    const auto is_frame = [this](const Frame& frame) {
        return frame.site == nullptr && !is_openmp(merged_.nodes[frame.node].kind);
    };
    auto first = std::find_if(frames->begin(), frames->end(), [](const Frame& frame) {
        return frame.source->main_program ||
               (frame.source->symbol == "main" && !frame.source->inlined);
    });
    if (first != frames->end()) {
        // gfortran's main only calls the Fortran main program, or inlines it.
        const auto below = std::next(first);
        if (!first->source->main_program && below != frames->end() && below->source->main_program &&
            first->site == nullptr) {
            first = below;
        }
        frames->erase(std::remove_if(frames->begin(), first, is_frame), first);
        return;
    }
    // A stripped program: its start code is identified by __libc_start_main, which every C library
    // exports; main is the first function outside the library that it calls.
    first = frames->begin();
    const auto search_end = first + std::min<std::ptrdiff_t>(4, std::ssize(*frames));
    const auto start = std::find_if(first, search_end, [this](const Frame& frame) {
        return is_libc(frame) && frame.source->symbol.starts_with("__libc_start_main");
    });
    const bool from_start = start != search_end;
    if (from_start) first = start;
    while (first != frames->end() && is_frame(*first) &&
           (is_libc(*first) || is_start_symbol(first->source->symbol))) {
        ++first;
    }
    first = frames->erase(frames->begin(), first);
    if (from_start && first != frames->end() && is_frame(*first) && first->source->symbol.empty()) {
        first->is_entry = true;
    }
}

uint32_t CallPaths::number_procedure(const Frame& frame) {
    const auto [known, is_new] =
        numbered_procedures_.try_emplace({frame.source, frame.is_entry}, 0);
    if (!is_new) return known->second;
    const SourceFrame& source = *frame.source;
    Procedure procedure{frame.is_entry ? "main" : source.function, source.function_file,
                        source.function_line, "", 0};
    if (procedure.file.empty()) {
        procedure.module = frame.module == kNoNode ? "" : lines_->path(frame.module);
        procedure.labels = kLabelNoLine;
    } else if (frame.module != kNoNode && lines_->is_uncertain(frame.module)) {
        procedure.labels = kLabelLineUnknown;
    }
    if (is_system(frame.module) || is_system_header(procedure.file)) {
        procedure.labels |= kLabelSystem;
    }
    const auto [entry, is_first] =
        procedure_numbers_.try_emplace({{procedure.name, procedure.file, procedure.module},
                                        {static_cast<uint32_t>(procedure.line), procedure.labels}},
                                       static_cast<uint32_t>(procedures_.size()));
    if (is_first) procedures_.push_back(std::move(procedure));
    return known->second = entry->second;
}

uint32_t CallPaths::number_statement(Statement statement) {
    const auto [entry, is_new] =
        statement_numbers_.try_emplace({{statement.file, statement.module},
                                        {static_cast<uint32_t>(statement.line), statement.labels}},
                                       static_cast<uint32_t>(statements_.size()));
    if (is_new) statements_.push_back(std::move(statement));
    return entry->second;
}

uint32_t CallPaths::number_statement(const Frame& frame) {
    const auto [known, is_new] = numbered_statements_.try_emplace({frame.source, frame.labels}, 0);
    if (!is_new) return known->second;
    Statement statement{frame.source->file, frame.source->line, "", frame.labels};
    if (frame.source->line == 0) {
        statement.file = frame.address->place;
        statement.module = frame.module == kNoNode ? "" : lines_->path(frame.module);
    }
    return known->second = number_statement(std::move(statement));
}

// Without debug information the static table may identify the statement: the only one in the
// innermost probed loop or procedure with this callee. kNoNode when there is none or more than one.
uint32_t CallPaths::number_static_statement(const Frame& frame, const Frame* next, uint32_t target,
                                            const Position& at) {
    if (frame.source->line != 0 || at.innermost == nullptr) return kNoNode;
    const StaticSite* site = nullptr;
    if (next != nullptr && next->site != nullptr) {
        site = probe_sites_.statement_in(*at.innermost, SiteKind::kCall, next->source->symbol);
    } else if (next == nullptr && kind_of(target) == SiteKind::kCommunication) {
        const uint16_t call = merged_.nodes[target].call;
        const std::string name = call < kMpiCallCount ? kMpiCalls[call].name : "";
        site = probe_sites_.statement_in(*at.innermost, SiteKind::kCommunication, name);
    }
    if (site == nullptr) return kNoNode;
    return number_statement(Statement{site->file, static_cast<int>(site->line), "",
                                      frame.labels & ~uint32_t{kLabelNoLine}});
}

uint32_t CallPaths::number_region(const Frame& frame) {
    const ProbeSite& site = *frame.site;
    const SiteKind kind = kind_of(frame.node);
    const uint32_t system = is_system_header(site.file) ? uint32_t{kLabelSystem} : 0;
    return number_region(
        {kind, site.name, site.file, site.line, site.module, site.labels | system, 0}, site.column);
}

uint32_t CallPaths::number_region(Region region, uint32_t column) {
    const auto [entry, is_new] =
        region_numbers_.try_emplace({{region.name, region.file, region.module},
                                     {static_cast<uint32_t>(region.kind),
                                      static_cast<uint32_t>(region.line), column, region.labels}},
                                    static_cast<uint32_t>(regions_.size()));
    if (is_new) regions_.push_back(std::move(region));
    return entry->second;
}

// Compilers put a construct's code into a nested function: returns the innermost one.
const CallPaths::Frame* CallPaths::behind_outlined(const Frame* first, const Frame* end) {
    while (first + 1 != end && is_outlined(*first[1].source)) ++first;
    return first;
}

// A libgomp region: its address lies in its own code.
bool CallPaths::is_outlined_region(const Frame& frame) const {
    return frame.site == nullptr && is_openmp(merged_.nodes[frame.node].kind) &&
           is_outlined(*frame.source);
}

// Compilers give the call that forks a region no line of its own, so debug information places it
// in whatever was inlined before it. The region's code has the name of the right procedure.
void CallPaths::correct_forks(std::vector<Frame>* frames) {
    for (size_t i = 1; i < frames->size(); ++i) {
        if (!is_outlined_region((*frames)[i])) continue;
        const SourceFrame& code = *(*frames)[i].source;
        const std::string name(without_outlining(code.function));
        if (name == code.function) continue;  // not gcc's
        size_t first = i - 1;
        while ((*frames)[first].source->inlined && first > 0) --first;
        size_t last = i - 1;
        const auto forks = [&](size_t at) {
            return without_outlining((*frames)[at].source->function) == name;
        };
        while (last > first && !forks(last)) --last;
        if (last == first && i - first > 1 && !forks(first)) {
            const auto [entry, is_new] = forking_.try_emplace(&code, code);
            if (is_new) {
                entry->second.function = entry->second.symbol = name;
                entry->second.inlined = true;
            }
            (*frames)[++last].source = &entry->second;
        }
        frames->erase(frames->begin() + static_cast<ptrdiff_t>(last) + 1,
                      frames->begin() + static_cast<ptrdiff_t>(i));
        i = last + 1;
    }
}

// The code of a construct belongs to the enclosing procedure: a region is shown inside that
// procedure, and everything else directly inside the region.
void CallPaths::pass_openmp(const Frame* first, const Frame* end, Position* at,
                            std::vector<Step>* steps) {
    const MergedNode& node = merged_.nodes[first->node];
    const Frame& innermost = end[-1];
    const bool forks = is_omp_region(node.call);
    const bool entered = at->procedure != nullptr
                             ? is_same_procedure(*at->procedure, *first->source)
                             : at->outlined && is_outlined(*first->source);
    const bool has_place = innermost.address != nullptr;
    const Frame* const outermost = entered ? behind_outlined(first, end) : first;
    const bool called = !entered && is_outlined(*first->source);  // the procedure is known
    // Nothing is known of a region that is forked by a tail call, except for what encloses it.
    const bool known = called || (at->construct != nullptr && has_place &&
                                  is_same_place(*at->construct, *innermost.source));
    for (const Frame* frame = outermost; !known && forks && has_place && frame != end; ++frame) {
        Step step;
        step.depth = depths_[frame->node];
        step.inlined = frame->source->inlined;
        if (!entered || frame != outermost) {
            step.number = number_procedure(*frame);
            steps->push_back(step);
        }
        if (frame == &innermost) break;
        step.kind = SiteKind::kCall;
        step.inlined = false;
        step.number = number_statement(*frame);
        steps->push_back(step);
    }
    Region region{SiteKind::kOpenMp, omp_construct_name(node.call), "", 0, "", 0, node.call};
    if (has_place) {
        region.file =
            innermost.source->line != 0 ? innermost.source->file : innermost.address->place;
        region.line = innermost.source->line;
        region.labels = innermost.labels;
        if (region.line == 0) {
            region.module = innermost.module == kNoNode ? "" : lines_->path(innermost.module);
        }
    }
    Step step;
    step.kind = SiteKind::kOpenMp;
    step.depth = depths_[first->node];
    step.probed = true;
    step.number = number_region(std::move(region), 0);
    steps->push_back(step);
    *at = Position();
    at->outlined = true;
    at->construct = has_place ? innermost.source : nullptr;
}

// Compares linker names; where the debug information has another name (constructors, copies for
// constant arguments), compares places. A frame without information is accepted.
bool CallPaths::is_same_procedure(const ProbeSite& site, const SourceFrame& frame) const {
    const std::string_view symbol = without_clone(frame.symbol);
    if (symbol.empty() || symbol == without_clone(site.source.symbol)) return true;
    return frame.function_line != 0 && frame.function_line == site.line &&
           base_name(frame.function_file) == base_name(site.file);
}

// A loop belongs to the procedure whose lines contain the loop's lines; that procedure may be
// inlined into the probed one. Loops around it belong to the same procedure or an outer one.
void CallPaths::enter_inlined(const Frame& loop, Position* at, std::vector<Step>* steps) {
    if (at->procedure == nullptr || at->procedure->table == nullptr) return;
    if (loop.site->table == nullptr || loop.module == kNoNode) return;
    const StaticSite& procedure = at->procedure->table->sites[at->procedure->row];
    const StaticSite& site = loop.site->table->sites[loop.site->row];
    const bool stands_here = procedure.file == site.file && procedure.line <= site.line &&
                             site.line <= procedure.end_line;
    if (stands_here || site.line == 0) return;
    const size_t known = at->inlined == nullptr ? 0 : at->inlined->size();
    const auto goes_on = [&](const std::vector<SourceFrame>& around) {
        return around.size() > known &&
               std::equal(around.begin(), around.begin() + static_cast<ptrdiff_t>(known),
                          known == 0 ? around.begin() : at->inlined->begin(),
                          [](const SourceFrame& a, const SourceFrame& b) {
                              return a.function == b.function;
                          });
    };
    const std::vector<std::vector<SourceFrame>>& copies = lines_->inlined_around(
        loop.module, procedure.symbol, site.file, loop.site->line, static_cast<int>(site.end_line));
    const auto found = std::find_if(copies.begin(), copies.end(), goes_on);
    if (found == copies.end()) return;
    const std::vector<SourceFrame>& around = *found;
    for (size_t i = known; i < around.size(); ++i) {
        Step step;
        step.depth = depths_[loop.node];
        step.inlined = true;
        step.number =
            number_procedure({&around[i], nullptr, loop.module, loop.node, 0, false, nullptr});
        steps->push_back(step);
    }
    at->inlined = &around;
}

void CallPaths::enter_site(const Frame& frame, Position* at, std::vector<Step>* steps) {
    if (kind_of(frame.node) == SiteKind::kLoop) enter_inlined(frame, at, steps);
    Step step;
    step.kind = kind_of(frame.node);
    step.depth = depths_[frame.node];
    step.probed = true;
    const bool procedure = step.kind == SiteKind::kProcedure;
    step.number = procedure ? number_procedure(frame) : number_region(frame);
    steps->push_back(step);
    if (procedure) {
        at->procedure = frame.site;
        at->inlined = nullptr;
    }
    at->innermost = frame.site;
}

// Enters the procedure that contains the innermost loop, and returns its frame.
const CallPaths::Frame* CallPaths::frame_around_loop(const Frame* first, const Frame* end,
                                                     const Position& at) const {
    if (at.inlined != nullptr && at.inlined->size() < static_cast<size_t>(end - first)) {
        const Frame* const frame = first + at.inlined->size();
        if (frame->source->function == at.inlined->back().function) return frame;
    }
    const Frame* const holder = std::find_if(first, end, [&at](const Frame& frame) {
        return base_name(frame.source->file) == base_name(at.innermost->file) &&
               frame.source->function_line <= at.innermost->line &&
               at.innermost->line <= frame.source->line;
    });
    return holder != end ? holder : first;
}

// The frames of one return address: a procedure and the procedures inlined into it. The first frame
// of a probed procedure is entered already, as are frames found for a loop.
void CallPaths::pass_frames(const Frame* first, const Frame* end, const Frame* next,
                            uint32_t target, Position* at, std::vector<Step>* steps) {
    // The remaining part of a split procedure calls the other part: together they are one call.
    const bool split = next != nullptr && next->site != nullptr && end[-1].source->inlined &&
                       next->site->source.symbol.find(".part.") != std::string::npos &&
                       is_same_procedure(*next->site, *end[-1].source);
    if (split && end - first > 1) --end;
    // A statement that ends outlined code of OpenMP may be known only as far as its construct is.
    const bool in_place = at->construct != nullptr && next == nullptr &&
                          is_same_place(*at->construct, *end[-1].source);
    const bool entered =
        in_place || (at->procedure != nullptr ? is_same_procedure(*at->procedure, *first->source)
                                              : at->outlined && is_outlined(*first->source));
    const Frame* outermost = entered && at->outlined ? behind_outlined(first, end) : first;
    if (in_place) outermost = end - 1;
    if (!entered) *at = Position();
    if (at->procedure != nullptr && entered && at->innermost != at->procedure) {
        outermost = frame_around_loop(first, end, *at);
    }
    for (const Frame* frame = outermost; frame != end; ++frame) {
        Step step;
        step.depth = depths_[frame->node];
        step.inlined = frame->source->inlined;
        if (!entered || frame != outermost) {
            step.number = number_procedure(*frame);
            steps->push_back(step);
        }
        const bool is_last = frame + 1 == end;
        if (is_last && next != nullptr && is_outlined_region(*next))
            break;  // this frame calls the
                    // OpenMP runtime
        step.kind = is_last && next == nullptr ? kind_of(target) : SiteKind::kCall;
        step.inlined = false;
        step.number = kNoNode;
        if (is_last) step.number = number_static_statement(*frame, next, target, *at);
        if (step.number == kNoNode) step.number = number_statement(*frame);
        steps->push_back(step);
    }
    *at = Position();
}

std::vector<Step> CallPaths::path_to(uint32_t node) {
    const std::vector<uint32_t> chain = chain_to(node);
    std::vector<Frame> frames;
    // Where main is known by name, the C library's start code above it is not looked up: its debug
    // information, where installed, takes a tenth of a second.
    const auto main = std::find_if(chain.rbegin(), chain.rend(),
                                   [this](uint32_t at) { return has_main(merged_.nodes[at]); });
    for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
        const bool above_main = main != chain.rend() && at < main;
        if (!above_main || is_measured_kind(merged_.nodes[*at].kind)) add_frames(*at, &frames);
    }
    drop_frames_above_main(&frames);
    correct_forks(&frames);
    std::vector<Step> steps;
    Position at;
    for (size_t i = 0; i < frames.size();) {
        if (frames[i].module != kNoNode && is_users(frames[i].module)) {
            modules_used_.insert(frames[i].module);
        }
        if (frames[i].site != nullptr) {
            enter_site(frames[i++], &at, &steps);
            continue;
        }
        size_t end = i + 1;
        while (end < frames.size() && frames[end].site == nullptr &&
               frames[end].node == frames[i].node) {
            ++end;
        }
        if (is_openmp(merged_.nodes[frames[i].node].kind)) {
            pass_openmp(&frames[i], frames.data() + end, &at, &steps);
            i = end;
            continue;
        }
        const Frame* const next = end < frames.size() ? &frames[end] : nullptr;
        pass_frames(&frames[i], frames.data() + end, next, node, &at, &steps);
        i = end;
    }
    // A procedure with an unknown statement.
    const SiteKind kind = kind_of(node);
    const bool is_statement = kind == SiteKind::kCommunication || kind == SiteKind::kIo;
    if (is_statement && !steps.empty() && steps.back().kind != kind) {
        Step step = steps.back();
        step.kind = kind;
        step.number = kNoNode;
        step.probed = false;
        steps.push_back(step);
    }
    return steps;
}

}  // namespace dwell
