// Finds the owners of intervals; see interval_owner.h.
#include "summarize/attribution/interval_owner.h"

#include <algorithm>
#include <set>
#include <utility>

#include "summarize/code/symbol_names.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

constexpr size_t kNoStep = SIZE_MAX;
constexpr size_t kNoFrame = SIZE_MAX;

// Whether both places are in the same copy of an inlined procedure, `depth` inlined calls deep.
bool is_same_part(const std::vector<SourceFrame>& a, const std::vector<SourceFrame>& b,
                  size_t depth) {
    if (a.size() <= depth || b.size() <= depth) return false;
    for (size_t i = 0; i <= depth; ++i) {
        const bool same_call = i == depth || (a[i].line == b[i].line && a[i].file == b[i].file);
        if (a[i].function != b[i].function || !same_call) return false;
    }
    return true;
}

}  // namespace

IntervalOwners::IntervalOwners(const Merged& merged, CallPaths* paths, LineResolver* lines,
                               const ProfileTree& tree, const Profile& profile)
    : merged_(merged), paths_(paths), lines_(lines), tree_(tree), profile_(profile) {
    for (const ProfileRank& rank : profile.ranks) {
        const bool cut = rank.callpath_depth != 0 || (rank.flags & kFileCutPaths) != 0;
        if (cut) paths_are_whole_ = false;
    }
    for (uint32_t i = 0; i < merged.nodes.size(); ++i) {
        const MergedNode& node = merged.nodes[i];
        const bool communicates = node.kind == static_cast<uint8_t>(SiteKind::kCommunication);
        if (communicates && node.module < merged.modules.size()) {
            communication_[node.module].push_back(node.offset);
        }
    }
    std::set<uint32_t> places;
    for (uint32_t i = 0; i < merged.nodes.size(); ++i) {
        const MergedNode& node = merged.nodes[i];
        if (node.kind != static_cast<uint8_t>(SiteKind::kProcedure)) continue;
        const uint32_t place = tree.leaf_of(i);
        if (place == kNoNode || !places.insert(place).second) continue;
        uint32_t around = profile.nodes[place].parent;
        while (around != kNoNode && profile.nodes[around].kind != SiteKind::kProcedure) {
            around = profile.nodes[around].parent;
        }
        const std::string& symbol = paths->probe_sites()->site_of(node).source.symbol;
        probed_.push_back({place, around, node.module, symbol});
    }
}

ControlFlow* IntervalOwners::flow_of(uint32_t module) {
    const auto [known, is_new] = flows_.try_emplace(module, nullptr);
    if (!is_new) return known->second;
    known->second = lines_->control_flow(module);
    if (known->second != nullptr) {
        for (const uint64_t call : communication_[module]) known->second->add_communication(call);
    }
    return known->second;
}

// Cached: most calls are on the paths of many intervals.
const Ways& IntervalOwners::ways_in(const Places& places) {
    const auto [known, is_new] =
        ways_.try_emplace({places.module, places.between.left, places.between.reached});
    if (is_new) known->second = flow_of(places.module)->ways(places.between);
    return known->second;
}

// The step on the path to `to` whose container both paths share; kNoStep when they share not even
// the first.
size_t IntervalOwners::last_shared_step(uint32_t from, uint32_t to, uint32_t meet) const {
    const Steps& reached = tree_.steps_to(to);
    const uint32_t meet_depth = meet < merged_.nodes.size() ? paths_->depth(meet) : 0;
    // The probe shows when it was entered.
    const bool in_first =
        !reached.empty() && (!reached[0].probed || reached[0].own_depth <= meet_depth);
    if (tree_.leaf_of(from) == kNoNode) return in_first ? 0 : kNoStep;
    const Steps& left = tree_.steps_to(from);
    size_t shared = kNoStep;
    for (size_t i = 0; in_first && i < std::min(left.size(), reached.size()); ++i) {
        if (left[i].container != reached[i].container) break;
        shared = i;
        const bool is_last = i + 1 >= reached.size() || i + 1 >= left.size();
        if (is_last || left[i].next != reached[i].next) break;
        const uint32_t depth = reached[i + 1].probed ? reached[i + 1].own_depth : reached[i].depth;
        const bool same_invocation =
            depth <= meet_depth || (left[i + 1].inlined && reached[i + 1].inlined);
        if (!same_invocation) break;
    }
    return shared;
}

// The deepest step whose code contains the sample; kNoStep: none does, or the sample is in a
// procedure that one of them called.
size_t IntervalOwners::step_of_sample(const SampledCode& sample, const Steps& steps) {
    if (sample.procedures.empty()) return kNoStep;
    size_t step = steps.size();
    while (step-- > 0) {
        if (!steps[step].inlined && steps[step].number == sample.procedures[0]) break;
    }
    if (step == kNoStep) return kNoStep;
    for (size_t i = 1; i < sample.procedures.size() && step + 1 < steps.size(); ++i, ++step) {
        if (!steps[step + 1].inlined || steps[step + 1].number != sample.procedures[i]) break;
    }
    return step;
}

uint32_t IntervalOwners::node_at(uint32_t merged_node, uint32_t depth) const {
    while (paths_->depth(merged_node) > depth) merged_node = merged_.nodes[merged_node].parent;
    return merged_node;
}

// Null unless the node stands for a call whose return address is known.
const MergedNode* IntervalOwners::frame_at(uint32_t merged_node, uint32_t depth) const {
    const MergedNode& node = merged_.nodes[node_at(merged_node, depth)];
    const auto kind = static_cast<SiteKind>(node.kind);
    const bool call = kind == SiteKind::kCall || kind == SiteKind::kCommunication;
    const bool known = node.module < merged_.modules.size() && (node.flags & kNodeFolded) == 0;
    return call && known && !is_probe_kind(node.kind) ? &node : nullptr;
}

// The step of the procedure that contains a loop or block.
size_t IntervalOwners::procedure_of(const Steps& steps, size_t step) const {
    while (step > 0) {
        const SiteKind kind = profile_.nodes[steps[step].container].kind;
        if (kind != SiteKind::kLoop && kind != SiteKind::kBlock) break;
        --step;
    }
    return step;
}

std::string IntervalOwners::symbol_of(uint32_t merged_node,
                                      const ProfileTree::PlacedStep& step) const {
    const MergedNode& node = merged_.nodes[node_at(merged_node, step.own_depth)];
    const bool procedure = step.probed && is_probe_kind(node.kind);
    return procedure ? paths_->probe_sites()->site_of(node).source.symbol : std::string();
}

// The call by which a path continues from a procedure. The call of a probed procedure has no
// address of its own: all calls of that procedure are candidates.
bool IntervalOwners::find_side(uint32_t merged_node, const Steps& steps, size_t step,
                               uint32_t* module, std::vector<uint64_t>* calls) {
    size_t last = step;  // the innermost loop or block of the procedure
    while (last + 1 < steps.size() && procedure_of(steps, last + 1) <= step) ++last;
    if (const MergedNode* const frame = frame_at(merged_node, steps[last].depth)) {
        *module = frame->module;
        *calls = {frame->offset};
        return flow_of(frame->module) != nullptr;
    }
    if (last + 1 >= steps.size()) return false;
    // The callee may be inlined into this procedure.
    const std::string& name = profile_.nodes[steps[procedure_of(steps, step)].container].name;
    for (uint32_t depth = steps[last].depth + 1; depth <= paths_->depth(merged_node); ++depth) {
        const MergedNode* const frame = frame_at(merged_node, depth);
        if (frame == nullptr) continue;
        if (flow_of(frame->module) == nullptr) return false;
        const auto& frames = lines_->resolve_call(frame->module, frame->offset).frames;
        const bool inside = std::any_of(frames.begin(), frames.end(),
                                        [&name](const auto& at) { return at.function == name; });
        if (!inside) break;
        *module = frame->module;
        *calls = {frame->offset};
        return true;
    }
    const std::string callee = symbol_of(merged_node, steps[last + 1]);
    const std::string caller = symbol_of(merged_node, steps[procedure_of(steps, step)]);
    const MergedNode& node = merged_.nodes[node_at(merged_node, steps[last + 1].own_depth)];
    if (callee.empty() || caller.empty() || node.module >= merged_.modules.size()) return false;
    ControlFlow* const flow = flow_of(node.module);
    const uint64_t called = lines_->address_of(node.module, callee);
    const uint64_t calling = lines_->address_of(node.module, caller);
    if (flow == nullptr || called == 0 || calling == 0) return false;
    *module = node.module;
    *calls = flow->calls_in(calling, called);
    return !calls->empty();
}

bool IntervalOwners::find_places(const Interval& interval, size_t step, Places* places) {
    uint32_t other = kNoNode;
    if (!find_side(interval.from, interval.left, step, &places->module, &places->between.left) ||
        !find_side(interval.to, interval.reached, step, &other, &places->between.reached) ||
        other != places->module) {
        return false;
    }
    const uint64_t first = places->between.left[0];
    places->frames = &lines_->resolve_call(places->module, first).frames;
    return true;
}

// Probed procedures that `procedure` calls, but not on these control-flow paths.
std::vector<uint32_t> IntervalOwners::passed_by(uint32_t procedure, const Places& places,
                                                const Ways& ways) {
    std::vector<uint32_t> nodes;
    if (!ways.all_calls) return nodes;
    const std::set<uint64_t> called(ways.calls.begin(), ways.calls.end());
    const uint64_t code = places.between.left[0] - 1;
    for (const ProbedProcedure& probed : probed_) {
        if (probed.around != procedure || probed.module != places.module) continue;
        const uint64_t start = lines_->address_of(probed.module, probed.symbol);
        const bool known = start != 0 && !flow_of(probed.module)->calls_in(code, start).empty();
        if (known && called.count(start) == 0) nodes.push_back(probed.node);
    }
    return nodes;
}

// The index of the step among the frames at those places.
size_t IntervalOwners::frame_of(const Steps& steps, size_t step, const Places& places) const {
    const size_t holder = procedure_of(steps, step);
    const ProfileNode& node = profile_.nodes[steps[holder].container];
    for (size_t i = places.frames->size(); i-- > 0;) {
        const SourceFrame& frame = (*places.frames)[i];
        const bool same = node.kind == SiteKind::kOpenMp      ? is_outlined_name(frame.symbol)
                          : node.kind == SiteKind::kProcedure ? frame.function == node.name
                                                              : false;
        if (same) return i;
    }
    return kNoFrame;
}

// The outermost step in the same machine code.
size_t IntervalOwners::first_in_code(const Steps& steps, size_t step, const Places& places) const {
    while (step > 0 && frame_of(steps, step - 1, places) != kNoFrame) --step;
    return step;
}

bool IntervalOwners::has_recursive_chain(uint32_t merged_node) {
    std::set<std::pair<uint32_t, uint64_t>> starts;
    for (uint32_t depth = paths_->depth(merged_node); depth > 0; --depth) {
        const MergedNode* const node = frame_at(merged_node, depth);
        if (node == nullptr) continue;
        ControlFlow* const flow = flow_of(node->module);
        const uint64_t start = flow == nullptr ? 0 : flow->start_of(node->offset - 1);
        if (start != 0 && !starts.emplace(node->module, start).second) return true;
    }
    return false;
}

// Several activations on one path may share a node, because recursion is folded (DESIGN 3).
bool IntervalOwners::is_recursive(const Interval& interval) {
    const bool probed =
        std::any_of(interval.reached.begin(), interval.reached.end(), [this](const auto& step) {
            return (profile_.nodes[step.container].labels & kLabelRecursive) != 0;
        });
    return probed || has_recursive_chain(interval.from) || has_recursive_chain(interval.to);
}

// After the procedure of the step `called` has returned: can it be called again on the same path,
// without communication?
bool IntervalOwners::may_come_back(const Interval& interval, size_t called) {
    while (called > 0) {
        Places places;
        const size_t step = called - 1;
        if (!find_places(interval, step, &places)) return true;
        const Ways& ways = ways_in(places);
        if (!ways.known || ways.inside || frame_of(interval.reached, step, places) == kNoFrame) {
            return true;
        }
        if (!ways.leaves || !ways.reenters) return false;
        called = first_in_code(interval.reached, step, places);
    }
    return !paths_are_whole_;
}

// The activation of the machine code lasted; decides which of its inlined procedures did.
IntervalOwners::Lived IntervalOwners::lived_part(const Interval& interval, size_t step,
                                                 size_t first, const Places& places) {
    const Steps& steps = interval.reached;
    ControlFlow* const flow = flow_of(places.module);
    const size_t whole = frame_of(steps, first, places);
    for (size_t frame = frame_of(steps, step, places); frame > whole;) {
        const auto is_outside = [&](uint64_t address) {
            const auto& there = lines_->resolve(places.module, address).frames;
            return !is_same_part(*places.frames, there, frame);
        };
        const ControlFlow::WaysOfPart ways = flow->ways_of_part(places.between, is_outside);
        if (ways.stays && !ways.leaves) break;
        if (ways.stays || !ways.leaves) return {step, false, first};
        while (step > first && frame_of(steps, step, places) >= frame) --step;
        frame = frame_of(steps, step, places);
    }
    return {step, true, step};
}

// From a call in or below a procedure to the tail call that ends it. The tail call has the caller's
// return address, so the procedure either lasted or was called again.
bool IntervalOwners::ends_with_jump(const Interval& interval, size_t shared) const {
    const MergedNode* const a = frame_at(interval.from, interval.left[shared].depth);
    const MergedNode* const b = frame_at(interval.to, interval.reached[shared].depth);
    if (a == nullptr || b == nullptr || a->module != b->module || a->offset != b->offset) {
        return false;
    }
    return a->kind != static_cast<uint8_t>(SiteKind::kCommunication) &&
           b->kind == static_cast<uint8_t>(SiteKind::kCommunication);
}

IntervalOwners::Lived IntervalOwners::lived_step(const Interval& interval, size_t shared) {
    const Steps& steps = interval.reached;
    const auto unknown = [&](size_t step) {
        return Lived{step, paths_are_whole_ && procedure_of(steps, step) == 0, 0};
    };
    if (is_recursive(interval)) return unknown(shared);
    if (ends_with_jump(interval, shared)) {
        const bool known = shared + 1 < steps.size() && shared + 1 < interval.left.size() &&
                           steps[shared + 1].container == interval.left[shared + 1].container;
        return unknown(known ? shared + 1 : shared);
    }
    for (size_t step = shared;;) {
        Places places;
        if (!find_places(interval, step, &places)) return unknown(step);
        const Ways& ways = ways_in(places);
        if (!ways.known || frame_of(steps, step, places) == kNoFrame) return unknown(step);
        const size_t first = first_in_code(steps, step, places);
        const bool came_back = ways.leaves && ways.reenters && may_come_back(interval, first);
        if (ways.inside && !came_back) {
            Lived lived = lived_part(interval, step, first, places);
            const bool whole = lived.certain && frame_of(steps, lived.step, places) == 0;
            const uint32_t procedure = steps[procedure_of(steps, lived.step)].container;
            if (whole) lived.passed_by = passed_by(procedure, places, ways);
            return lived;
        }
        if (ways.inside == came_back) return unknown(step);
        if (first == 0) return {kNoStep, true, kNoStep};
        step = first - 1;
    }
}

IntervalOwner IntervalOwners::owner_of(uint32_t from, uint32_t to, uint32_t meet,
                                       const std::vector<SampledCode>& samples) {
    const size_t shared = last_shared_step(from, to, meet);
    if (shared == kNoStep) return {};
    const Steps& reached = tree_.steps_to(to);
    const bool has_start = from < merged_.nodes.size() && tree_.leaf_of(from) != kNoNode;
    Lived lived{shared, true, shared};
    if (has_start) lived = lived_step({from, to, tree_.steps_to(from), reached}, shared);
    std::vector<uint64_t> in_step(reached.size(), 0);
    uint64_t all = 0;
    for (const SampledCode& sample : samples) {
        all += sample.samples;
        const size_t step = step_of_sample(sample, reached);
        if (step > shared) continue;
        // Below the common part the path that was left may enter the same procedure again.
        if (has_start && step_of_sample(sample, tree_.steps_to(from)) != step) continue;
        in_step[step] += sample.samples;
    }
    // Most of the computation was in the code that the paths share, no matter whether in one
    // activation or in two.
    for (size_t step = shared; step != kNoStep && (lived.step == kNoStep || step > lived.step);
         --step) {
        if (2 * in_step[step] > all) return {reached[step].container, false, {}, 0};
    }
    if (lived.step == kNoStep) return {};
    const size_t within = lived.step;
    size_t measured = within + 1;  // the step inside the innermost probe around the interval
    while (measured > 0 && !reached[measured - 1].probed) --measured;
    size_t owner = within;
    size_t called = within;  // the step with the code of the innermost step
    while (called > 0 && reached[called].inlined) --called;
    for (size_t step = measured == 0 ? 0 : measured - 1; step < within; ++step) {
        // Compilers mix the instructions of a procedure with those of the procedure it is inlined
        // into, so a few samples inside one function prove nothing.
        if (step >= called && in_step[step] <= in_step[within]) continue;
        if (in_step[step] > (owner == within ? 0 : in_step[owner])) owner = step;
    }
    const bool told = owner != within || 2 * in_step[within] > all;
    const uint32_t outermost =
        lived.outermost == kNoStep ? 0 : reached[std::min(lived.outermost, owner)].container;
    if (owner != within) lived.passed_by.clear();
    return {reached[owner].container, !lived.certain && !told, std::move(lived.passed_by),
            outermost};
}

}  // namespace dwell
