// The part of CallPaths for samples: joins the path of a sample to that of the statement that ended
// its interval, and finds the OpenMP regions in which it was taken.
#include <algorithm>

#include "runtime/contract/omp_constructs.h"
#include "summarize/attribution/call_paths.h"
#include "summarize/model/source_paths.h"

namespace dwell {

// The path of a sample continues along the path of the statement that ended its interval, from
// their last common node (sample_records.cpp).
uint32_t CallPaths::above(uint32_t node) const {
    const uint32_t parent = merged_.nodes[node].parent;
    if (parent >= node) return 0;  // damaged
    if (merged_.nodes[parent].kind != static_cast<uint8_t>(SiteKind::kInterval)) return parent;
    const uint32_t shared = merged_.nodes[node].call;
    if (shared == kPathCut) return 0;
    uint32_t at = merged_.nodes[parent].parent;
    while (at != 0 && depths_[at] + 1 > shared) at = merged_.nodes[at].parent;
    return at;
}

SampledCallers CallPaths::callers_of(uint32_t sample) const {
    uint32_t at = sample;
    for (uint32_t parent = merged_.nodes[at].parent;
         merged_.nodes[parent].kind != static_cast<uint8_t>(SiteKind::kInterval);
         parent = merged_.nodes[at].parent) {
        at = parent;
    }
    const uint16_t call = merged_.nodes[at].call;
    return call == 0          ? SampledCallers::kNone
           : call == kPathCut ? SampledCallers::kInner
                              : SampledCallers::kAll;
}

// The region below `parent` that contains a sampled frame. The frame is the call that forked the
// region, the runtime behind that call, or the outlined code.
uint32_t CallPaths::region_of(uint32_t parent, uint32_t sampled) {
    const auto found = regions_below_.find(parent);
    if (found == regions_below_.end()) return 0;
    const MergedNode& frame = merged_.nodes[sampled];
    const auto starts_here = [&](uint32_t at) {
        const MergedNode& region = merged_.nodes[at];
        if (is_of(frame.module, ModuleKind::kGomp)) return true;
        if (region.module != frame.module) return false;
        if (region.offset == frame.offset) return true;
        const SourceFrame& code = address_of(region).frames.front();
        const SourceFrame& inside = address_of(frame).frames.front();
        return is_outlined(code) && code.symbol == inside.symbol;
    };
    const auto region = std::find_if(found->second.begin(), found->second.end(), starts_here);
    return region != found->second.end() ? *region : 0;
}

// Outermost first. A sample in the code of a region was taken while the region was measured: its
// path leads through the region's node, not through the runtime that called the code.
std::vector<uint32_t> CallPaths::enter_regions(const std::vector<uint32_t>& sampled) {
    std::vector<uint32_t> path;
    size_t kept = 0;  // length of `path` without the runtime's last frames
    uint32_t place = 0;
    for (const uint32_t at : sampled) {
        const MergedNode& node = merged_.nodes[at];
        if (place != kNoNode) {
            if (const uint32_t region = region_of(place, at)) {
                path.resize(kept);
                path.push_back(region);
                kept = path.size();
                place = region;
                const bool code = !is_of(node.module, ModuleKind::kGomp);
                if (!code || merged_.nodes[region].offset == node.offset) continue;
            }
            const auto call = calls_.find({place, node.module, node.offset});
            const bool measured = node.parent == place && node.kind != uint8_t(SiteKind::kCall);
            if (measured || call != calls_.end()) {
                place = measured ? at : call->second;
                kept = path.size() + 1;
            } else if (!is_glue(node.module)) {
                place = kNoNode;
            }
        }
        path.push_back(at);
    }
    return path;
}

// The probed loop directly below `parent` whose lines contain a line of the sampled frame. Loops
// that were not timed each time hold only a part of their samples' time, so they are not entered.
uint32_t CallPaths::probed_loop(uint32_t parent, uint32_t sampled) {
    const auto found = probes_below_.find(parent);
    if (found == probes_below_.end()) return 0;
    const std::vector<SourceFrame>& frames = address_of(merged_.nodes[sampled]).frames;
    const auto is_around = [&](uint32_t at) {
        const MergedNode& loop = merged_.nodes[at];
        if (kind_of(at) != SiteKind::kLoop || loop.module != merged_.nodes[sampled].module ||
            loop.totals.untimed != 0 || loop.totals.off_entries != 0) {
            return false;
        }
        const ProbeSite& site = probe_sites_.site_of(loop);
        if (site.table == nullptr || site.row == kNoSite || site.line == 0) return false;
        const auto end_line = static_cast<int>(site.table->sites[site.row].end_line);
        return std::any_of(frames.begin(), frames.end(), [&](const SourceFrame& frame) {
            return site.line <= frame.line && frame.line <= end_line &&
                   base_name(frame.file) == base_name(site.file);
        });
    };
    const auto loop = std::find_if(found->second.begin(), found->second.end(), is_around);
    return loop != found->second.end() ? *loop : 0;
}

// The probed procedure directly below `parent` that contains the sampled frame.
uint32_t CallPaths::probed_procedure(uint32_t parent, uint32_t sampled) {
    const auto found = probes_below_.find(parent);
    if (found == probes_below_.end()) return 0;
    const SourceFrame& frame = address_of(merged_.nodes[sampled]).frames.front();
    const auto is_around = [&](uint32_t at) {
        return kind_of(at) == SiteKind::kProcedure && !frame.symbol.empty() &&
               is_same_procedure(probe_sites_.site_of(merged_.nodes[at]), frame);
    };
    const auto procedure = std::find_if(found->second.begin(), found->second.end(), is_around);
    return procedure != found->second.end() ? *procedure : 0;
}

// Outermost first. The stack does not show in which probed loops a sample was taken, their lines
// do.
std::vector<uint32_t> CallPaths::enter_loops(const std::vector<uint32_t>& sampled) {
    std::vector<uint32_t> path;
    uint32_t place = 0;  // the innermost node so far that probes made; kNoNode: it has none here
    uint32_t call = 0;   // the node below it of the call that leads to the frame
    for (const uint32_t at : sampled) {
        const MergedNode& node = merged_.nodes[at];
        if (is_measured_kind(node.kind)) {
            path.push_back(place = call = at);
            continue;
        }
        if (const uint32_t procedure = call != kNoNode ? probed_procedure(call, at) : 0) {
            path.push_back(place = procedure);
        } else if (place != 0 && call != place) {
            place = kNoNode;
        }
        while (const uint32_t loop = place != kNoNode ? probed_loop(place, at) : 0) {
            path.push_back(place = loop);
        }
        path.push_back(at);
        const auto known = calls_.find({place, node.module, node.offset});
        const uint32_t none = place == 0 ? 0 : kNoNode;  // frames above main
        call = known != calls_.end() ? known->second : none;
    }
    return path;
}

// Innermost first.
std::vector<uint32_t> CallPaths::chain_to(uint32_t node) {
    std::vector<uint32_t> chain;
    for (uint32_t at = node; at != 0 && depths_[at] != 0; at = above(at)) chain.push_back(at);
    if (kind_of(node) != SiteKind::kSample) return chain;
    std::reverse(chain.begin(), chain.end());
    if (!regions_below_.empty()) chain = enter_regions(chain);
    if (!probes_below_.empty()) chain = enter_loops(chain);
    std::reverse(chain.begin(), chain.end());
    return chain;
}

bool CallPaths::is_apart(uint32_t sample) {
    const uint32_t module = merged_.nodes[sample].module;
    if (is_of(module, ModuleKind::kDwell)) return true;
    if (!is_of(module, ModuleKind::kOpenMp) && !is_of(module, ModuleKind::kGomp)) return false;
    const std::vector<uint32_t> chain = chain_to(sample);
    return std::any_of(chain.begin(), chain.end(),
                       [this](uint32_t at) { return is_openmp(merged_.nodes[at].kind); });
}

std::vector<uint32_t> CallPaths::sampled_procedures(uint32_t index) {
    const MergedNode& node = merged_.nodes[index];
    std::vector<uint32_t> procedures;
    if (node.module >= module_kinds_.size()) return procedures;
    const ResolvedAddress& address = lines_->resolve(node.module, node.offset);
    for (const SourceFrame& source : address.frames) {
        procedures.push_back(
            number_procedure({&source, &address, node.module, index, 0, false, nullptr}));
        if (is_system(node.module)) break;
    }
    return procedures;
}

SampledLine CallPaths::sampled_line(uint32_t index) {
    const MergedNode& node = merged_.nodes[index];
    SampledLine line;
    if (node.module < module_kinds_.size()) {
        const ResolvedAddress& address = lines_->resolve(node.module, node.offset);
        const bool in_library = is_system(node.module);
        const SourceFrame* innermost =
            in_library ? &address.frames.front() : &address.frames.back();
        // Without a call path the caller is the procedure that it is inlined into.
        const bool alone = callers_of(index) == SampledCallers::kNone;
        while (alone && !in_library && innermost != &address.frames.front() &&
               is_system_header(innermost->function_file)) {
            --innermost;
        }
        const SourceFrame& source = *innermost;
        line.system = in_library || is_system_header(source.function_file);
        line.function = source.function;
        line.line = source.line;
        line.file = source.line != 0 ? source.file : address.place;
    } else {
        const ResolvedAddress& address = address_of(node);
        line.function = (node.flags & kNodeFolded) != 0 ? "(other lines)" : address.place;
        if (is_python(node)) {
            line.file = address.frames[0].file;
            line.line = address.frames[0].line;
        }
    }
    return line;
}

}  // namespace dwell
