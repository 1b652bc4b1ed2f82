// Begin and end of blocks, phases and markers.
#include "runtime/probes/blocks.h"

#include <string.h>

#include "runtime/measure/metrics.h"
#include "runtime/process/calibration.h"
#include "runtime/process/injection.h"
#include "runtime/process/reset.h"
#include "runtime/process/time_axis.h"

namespace dwell {

namespace {

// Stack address of the return address of the calling function. All active procedures of the program
// have theirs above; a function called from the same frame had it there before.
__attribute__((always_inline)) inline uint64_t own_frame() {
    return reinterpret_cast<uint64_t>(__builtin_frame_address(0)) + sizeof(uint64_t);
}

Site site_of_name(const BlockName* name) {
    Site site{};
    site.offset = name->cell;
    site.kind = name->kind;
    site.flags = name->node_flags | name->event_flags;
    return site;
}

uint64_t key_of(const BlockName* name) { return reinterpret_cast<uint64_t>(name); }

// The node of a block or marker below the innermost entry, with a second line where needed.
FoundNode node_of_name(Thread* thread, const BlockName* name) {
    const CellIndex parent = thread->on.top->node;
    FoundNode found = find_node(thread, parent, site_of_name(name), nullptr);
    if (found.node == 0) return found;
    const bool counted = name->level == kLevelCount;
    const bool lasting =
        counted || name->kind == SiteKind::kMarker || (name->node_flags & kNodePhase) != 0;
    if (lasting && !ensure_part(thread, cell_at<Node>(found.node))) return {0, found.enter_kind};
    const bool is_block = name->kind == SiteKind::kBlock;
    const EnterKind enter_kind = is_block ? cached_enter_kind(found.enter_kind) : found.enter_kind;
    if (!counted && opens_windows(found.node)) return found;
    thread->known_children[known_child_slot(key_of(name), 0, parent)] = {
        key_of(name), 0, parent, found.node, 0, counted ? EnterKind::kCounted : enter_kind};
    return found;
}

void count_only(CellIndex index) {
    Node* node = cell_at<Node>(index);
    node->count += 1;
    cell_at<ProbePart>(node->part)->counted += 1;
}

DWELL_COLD void begin_slowly(const BlockName* name, uint64_t marks, uint64_t frame) {
    Thread* thread = probing_thread(frame);
    if (thread == nullptr) return;
    const uint64_t row = key_of(name) | marks;
    {
        SlowProbe work(thread);
        if (!settle(thread, frame, work.start()) || thread->on.top == thread->on.limit) {
            thread->record->probes_dropped += 1;
            return;
        }
        const uint64_t around = thread->on.top->frame;
        const bool watched = live_ticket() != 0 && name->level != kLevelOff;
        const FoundNode found = watched ? node_of_name(thread, name) : FoundNode{};
        if (watched && found.node == 0) thread->record->probes_dropped += 1;
        if (found.node == 0 || name->level == kLevelCount) {
            if (found.node != 0) count_only(found.node);
            push_without_node(thread, row, around);
            return;
        }
        open_entry(thread, row, around, found, work.start());
    }
    begin_slow_entry(thread);
}

// Fast path of a beginning: a cached or switched-off block. False: take the slow path.
inline bool begin_known(Thread* thread, const BlockName* name, uint64_t marks) {
    const uint64_t row = key_of(name) | marks;
    const uint64_t around = thread->on.top->frame;
    if (name->level == kLevelOff) [[unlikely]] {
        if (thread->on.top == thread->on.limit) return false;
        push_without_node(thread, row, around);
        return true;
    }
    const KnownChild* known = known_child(thread, key_of(name), 0);
    if (known == nullptr) return false;
    if (known->enter_kind == EnterKind::kChild) [[likely]] {
        push_entry(thread, known->node, row, around, 0);
    } else if (known->enter_kind == EnterKind::kCounted) {
        count_only(known->node);
        push_without_node(thread, row, around);
    } else if (known->enter_kind == EnterKind::kChecked && is_due(cell_at<Node>(known->node))) {
        return false;
    } else {
        push_by_kind(thread, known->node, known->enter_kind, row, around);
    }
    return true;
}

__attribute__((always_inline)) inline void begin_as(const BlockName* name, uint64_t marks,
                                                    uint64_t frame) {
    Thread* const thread = t_thread;
    if (name == nullptr) return;
    if (begin_settled(thread, frame)) [[likely]] {
        const bool begun = begin_known(thread, name, marks);
        end_change(thread);
        if (begun) [[likely]]
            return;
    }
    begin_slowly(name, marks, frame);
}

const BlockName* block_of(const ProbeEntry* entry) {
    if ((entry->row & kRowBlock) == 0) return nullptr;
    return reinterpret_cast<const BlockName*>(entry->row & kRowAddress);
}

// What an end refers to.
struct Wanted {
    GivenName name;          // null text: any
    const BlockName* exact;  // or this one
    bool phase;              // or any phase
    bool paired;             // or any paired block
};

inline bool is_wanted(const ProbeEntry* entry, const Wanted& wanted) {
    const BlockName* block = block_of(entry);
    if (block == nullptr) return false;
    if (wanted.exact != nullptr) return block == wanted.exact;
    if (wanted.paired) return (entry->row & kRowPaired) != 0;
    if (wanted.phase) return (block->node_flags & kNodePhase) != 0;
    const GivenName& name = wanted.name;
    if (name.text == nullptr) return true;
    if (name.bytes != block->name_bytes) return false;
    return name.text == block->literal || memcmp(name.text, block->text, name.bytes) == 0;
}

DWELL_COLD void end_slowly(Wanted wanted, uint64_t frame) {
    Thread* thread = g_live->on != 0 ? entered_thread(frame) : nullptr;
    if (thread == nullptr) return;
    SlowProbe work(thread);
    if (!settle(thread, frame, work.start())) return;
    if (wanted.name.text != nullptr) wanted.name = clean_name(wanted.name);
    ProbeEntry* own = thread->on.top;
    while (own != thread->on.base && !is_wanted(own, wanted)) --own;
    if (own != thread->on.base) close_with(thread, own, recording_now(work.start()), false);
}

__attribute__((always_inline)) inline void end_wanted(const Wanted& wanted, uint64_t frame) {
    const uint64_t now = read_tsc();
    Thread* const thread = t_thread;
    if (!begin_settled(thread, frame)) [[unlikely]] {
        end_slowly(wanted, frame);
        return;
    }
    if (!is_wanted(thread->on.top, wanted)) [[unlikely]] {
        end_change(thread);
        end_slowly(wanted, frame);
        return;
    }
    if ((thread->on.top->row & (kRowWithoutNode | kRowMoved)) != 0) [[unlikely]] {
        if ((thread->on.top->row & kRowWithoutNode) == 0) {
            end_change(thread);
            end_slowly(wanted, frame);
            return;
        }
        pop_without_node(thread);
        thread->slow_overhead += g_process.block_cost_ticks;
        end_change(thread);
        return;
    }
    pop_called(thread, now);
}

void add_to_block(Thread* thread, uint64_t volume) {
    const ProbeEntry* entry = thread->on.top;
    while (entry != thread->on.base && block_of(entry) == nullptr) --entry;
    if (entry == thread->on.base || (entry->row & kRowWithoutNode) != 0) return;
    Node* node = cell_at<Node>(entry->node);
    if (ensure_part(thread, node)) cell_at<ProbePart>(node->part)->volume += volume;
}

inline void note_mark(Thread* thread, CellIndex node, uint64_t volume) {
    if (!writes_events(thread)) [[likely]]
        return;
    if (!has_events(node)) return;
    write_event(thread, EventKind::kMark, node, virtual_ticks(thread, now_ticks()), volume);
}

DWELL_COLD void mark_slowly(const BlockName* name, uint64_t volume, uint64_t frame) {
    Thread* thread = recording_thread(frame);
    if (thread == nullptr || name->level == kLevelOff) return;
    const SlowProbe work(thread);
    const CellIndex index =
        settle(thread, frame, work.start()) ? node_of_name(thread, name).node : CellIndex{0};
    if (index == 0) {
        thread->record->probes_dropped += 1;
        return;
    }
    Node* node = cell_at<Node>(index);
    node->count += 1;
    cell_at<ProbePart>(node->part)->volume += volume;
    note_mark(thread, index, volume);
}

}  // namespace

bool settle(Thread* thread, uint64_t frame, uint64_t now) {
    look_for_event_order();
    const uint64_t ticket = live_ticket();
    if (ticket != 0) {
        if (thread->probe_ticket != ticket && notice_probes(thread)) {
            if (g_process.inject_ticks != 0) inject(thread);
        }
    } else if (thread->epoch != g_live->epoch) {
        apply_changes(thread);
    }
    if (!change_stack(thread, frame, recording_now(now))) return false;
    drop_gone(thread, frame + 1, recording_now(now));
    return true;
}

void begin_block(const BlockName* name) { begin_as(name, kRowBlock, own_frame()); }

void begin_paired(const BlockName* name) { begin_as(name, kRowBlock | kRowPaired, own_frame()); }

namespace {

// After a phase began or ended: the time axis marks the innermost one.
DWELL_COLD void mark_phase() {
    Thread* const thread = t_thread;
    if (thread == nullptr || thread->in_tool) return;
    const ProbeEntry* entry = thread->on.top;
    const auto is_phase = [](const ProbeEntry* open) {
        const BlockName* block = block_of(open);
        return block != nullptr && (block->node_flags & kNodePhase) != 0 &&
               (open->row & kRowWithoutNode) == 0;
    };
    while (entry != thread->on.base && !is_phase(entry)) --entry;
    const uint64_t start = now_ticks();
    const uint64_t overhead = thread->slow_overhead;
    thread->in_tool.begin();
    note_phase(thread, entry != thread->on.base ? entry->node : 0, recording_now(start));
    thread->in_tool.end();
    const bool is_recording = live_ticket() != 0;  // else its time is nobody's
    thread->slow_overhead = overhead + (is_recording ? now_ticks() - start : 0);
}

}  // namespace

void begin_phase(const BlockName* name, uint64_t iteration) {
    begin_block(name);
    Thread* const thread = t_thread;
    if (name == nullptr || thread == nullptr || thread->in_tool) return;
    const ProbeEntry* top = thread->on.top;
    if (block_of(top) != name || (top->row & kRowWithoutNode) != 0) return;
    const Node* node = cell_at<Node>(top->node);
    auto* part = cell_at<ProbePart>(node->part);
    if (node->count == 1) part->first_iteration = iteration;
    part->iteration = iteration;
    mark_phase();
}

void end_block(GivenName name) { end_wanted({name, nullptr, false, false}, own_frame()); }

void end_block(const BlockName* name) {
    if (name != nullptr) end_wanted({{nullptr, 0}, name, false, false}, own_frame());
}

void end_phase() {
    end_wanted({{nullptr, 0}, nullptr, true, false}, own_frame());
    mark_phase();
}

void end_paired() { end_wanted({{nullptr, 0}, nullptr, false, true}, own_frame()); }

void add_volume(uint64_t volume) {
    const uint64_t frame = own_frame();
    if (begin_settled(t_thread, frame)) [[likely]] {
        add_to_block(t_thread, volume);
        end_change(t_thread);
        return;
    }
    Thread* const thread = recording_thread(frame);
    if (thread == nullptr) return;
    const SlowProbe work(thread);
    if (settle(thread, frame, work.start())) add_to_block(thread, volume);
}

void mark(const BlockName* name, uint64_t volume) {
    Thread* const thread = t_thread;
    const uint64_t frame = own_frame();
    if (name == nullptr) return;
    if (name->level != kLevelOff && begin_settled(thread, frame)) [[likely]] {
        const KnownChild* known = known_child(thread, key_of(name), 0);
        if (known != nullptr) [[likely]] {
            Node* node = cell_at<Node>(known->node);
            node->count += 1;
            cell_at<ProbePart>(node->part)->volume += volume;
            note_mark(thread, known->node, volume);
            thread->slow_overhead += g_process.mark_cost_ticks;
        }
        end_change(thread);
        if (known != nullptr) [[likely]]
            return;
    }
    mark_slowly(name, volume, frame);
}

void calibrate_blocks(Thread* thread, CellIndex index) {
    BlockName name{};
    name.kind = SiteKind::kBlock;
    name.level = kLevelFull;
    const CellIndex root = thread->record->root;
    thread->known_children[known_child_slot(key_of(&name), 0, root)] = {
        key_of(&name), 0, root, index, 0, EnterKind::kChild};
    Node* node = cell_at<Node>(index);
    const StepTicks pair = least_ticks(thread, node, [&name] {
        begin_block(&name);
        end_block(GivenName{nullptr, 0});
    });
    g_process.block_inner_ticks = pair.inner;
    g_process.block_cost_ticks = pair.all;
    g_process.mark_cost_ticks = least_ticks(thread, node, [&name] { mark(&name, 1); }).all;
}

}  // namespace dwell
