// Probes of code built with -finstrument-functions, which calls the two functions below when a
// procedure is entered and left (GCC manual, "Program Instrumentation Options"). These are plain C
// calls, so the procedure's frame must be searched.
//
// Procedures inlined into another one call them, too. Such a procedure has the frame of the outer
// one, and its call statement is the place of its own probe.
//
// Code may contain dwell's probes as well (dwell-gcc -finstrument-functions). These come first, and
// a procedure that they recorded is not recorded again.
#include "runtime/calltree/nodes.h"
#include "runtime/calltree/stack_walks.h"
#include "runtime/measure/metrics.h"
#include "runtime/probes/probe_control.h"
#include "runtime/probes/probes.h"

namespace dwell {

namespace {

// Key for a call in the table of known children: the return address of the procedure, mixed with
// that of the probe, which distinguishes inlined procedures.
inline uint64_t mixed_call(uint64_t call, uint64_t probe) { return call ^ (probe << 17); }

// The value of an entry's row.
inline uint64_t row_of(uint64_t function, uint64_t call) {
    const uint64_t hash = (call * 0x9e3779b97f4a7c15ull) >> 54;
    return kRowCode | hash << kRowCallShift | (function & kRowAddress);
}
constexpr uint64_t kRowCall = uint64_t{0x3ff} << kRowCallShift;

uint64_t slot_of(const Frame* frame) { return reinterpret_cast<uint64_t>(&frame->return_address); }

// The procedure's frame, searched from its probe's `frame`; the probe's own frame without an
// unwinder.
uint64_t find_frame(Thread* thread, const Frame* frame, uint64_t call) {
    const uint64_t slot = slot_of(frame);
    FrameHint& hint = thread->frame_hints[place_in(kFrameHintBits, frame->return_address)];
    if (hint.return_address == frame->return_address && hint.offset < thread->on.bytes &&
        slot + hint.offset - thread->on.low < thread->on.bytes &&
        *reinterpret_cast<const uint64_t*>(slot + hint.offset) == call) {
        return slot + hint.offset;
    }
    const uint64_t found = caller_frame(frame);
    if (found <= slot) return slot;
    hint = {frame->return_address, found - slot};
    return found;
}

// Closes entries of frames that are gone, when a procedure with the frame `procedure` is entered by
// `call` and its probe's frame is `slot`. An entry left in the same frame contains the new
// procedure, which was inlined.
void drop_gone_code(Thread* thread, uint64_t slot, uint64_t procedure, uint64_t call,
                    uint64_t now) {
    drop_gone(thread, slot + 1, now);
    drop_gone(thread, procedure, now);
    const ProbeEntry* entry = thread->on.top;
    while (entry->frame == procedure && (entry->row & kRowCode) == 0) --entry;
    if (entry->frame == procedure && (entry->row & kRowCall) != (row_of(0, call) & kRowCall)) {
        drop_gone(thread, procedure + 1, now);
    }
}

Site site_of_code(Thread* thread, uint64_t function) {
    Site site = site_of_call(thread, function + 1);  // site_of_call() looks at the byte before
    site.offset -= 1;
    site.kind = SiteKind::kProcedure;
    site.flags |= kNodeCode;
    return site;
}

// Whether `entry` was opened by one of dwell's probes for the procedure of that frame.
bool is_recorded_by_probe(const ProbeEntry& entry, uint64_t procedure) {
    if (entry.frame != procedure || (entry.row & (kRowCalled | kRowWithoutNode)) != 0) return false;
    const auto* row = reinterpret_cast<const SiteRow*>(entry.row & kRowAddress);
    return row != nullptr && row->kind == SiteKind::kProcedure;
}

DWELL_COLD void enter_code(uint64_t function, uint64_t call, const Frame* frame) {
    const uint64_t slot = slot_of(frame);
    Thread* thread = recording_thread(slot);
    if (thread == nullptr) return;
    {
        SlowProbe work(thread);
        if (!work.notice()) return;
        if (!change_stack(thread, slot, work.start())) {
            thread->record->probes_dropped += 1;
            return;
        }
        const uint64_t procedure = find_frame(thread, frame, call);
        drop_gone_code(thread, slot, procedure, call, work.start());
        const ProbeEntry* top = thread->on.top;
        const bool inlined = top->frame == procedure;
        const CellIndex parent = top->node;
        const uint64_t mixed = mixed_call(call, frame->return_address);
        if (is_recorded_by_probe(*top, procedure) && top != thread->on.limit) {
            thread->known_children[known_child_slot(function, mixed, parent)] = {
                function,           mixed, parent, parent, static_cast<uint32_t>(procedure - slot),
                EnterKind::kForeign};
            push_without_node(thread, row_of(function, call), procedure);
            return;
        }
        const Site call_site = site_of_call(thread, inlined ? frame->return_address : call);
        const FoundNode found =
            find_node(thread, parent, site_of_code(thread, function), &call_site);
        const bool too_deep = top == thread->on.limit;
        if (found.node == 0 || (too_deep && !ensure_part(thread, cell_at<Node>(found.node)))) {
            thread->record->probes_dropped += 1;
            return;
        }
        if (too_deep) {
            count_untimed(thread, cell_at<Node>(found.node));
            return;
        }
        thread->known_children[known_child_slot(function, mixed, parent)] = {
            function,
            mixed,
            parent,
            found.node,
            static_cast<uint32_t>(procedure - slot),
            cached_enter_kind(found.enter_kind)};
        open_entry(thread, row_of(function, call), procedure, found, work.start());
    }
    begin_slow_entry(thread);
}

DWELL_COLD void leave_code(uint64_t function, uint64_t call, const Frame* frame) {
    const uint64_t slot = slot_of(frame);
    Thread* thread = entered_thread(slot);
    if (thread == nullptr) return;
    SlowProbe work(thread);
    if (!work.notice() || !change_stack(thread, slot, work.start())) return;
    drop_gone(thread, slot, work.start());
    // A probe that is a tail call is jumped to, and runs in the procedure's frame.
    const bool jumped_to = frame->return_address == call;
    const uint64_t procedure = jumped_to ? slot : find_frame(thread, frame, call);
    // Without an unwinder it is only known that the procedure's frame lies above.
    const bool exact = jumped_to || procedure != slot;
    auto is_own = [row = row_of(function, call)](const ProbeEntry* entry) {
        return (entry->row & ~(kRowWithoutNode | kRowMoved)) == row;
    };
    ProbeEntry* own = thread->on.top;
    while (!is_own(own) && (exact ? own->frame <= procedure : (own->row & kRowBlock) != 0)) {
        --own;
    }
    if (is_own(own) && (!exact || own->frame == procedure)) {
        close_with(thread, own, work.start(), true);
    }
}

// Opens a cached procedure; false: take the slow path.
inline bool enter_known_code(Thread* thread, uint64_t function, uint64_t call, const Frame* frame) {
    const ProbeEntry* top = thread->on.top;
    const uint64_t slot = slot_of(frame);
    // An entry of the thread's own table.
    auto* known = const_cast<KnownChild*>(
        known_child(thread, function, mixed_call(call, frame->return_address)));
    if (known == nullptr) return false;
    const uint64_t procedure = slot + known->frame_offset;
    if (procedure > top->frame) return false;
    const bool is_there =
        known->frame_offset == 0 || *reinterpret_cast<const uint64_t*>(procedure) == call;
    if (!is_there) return false;
    if (known->enter_kind == EnterKind::kForeign) [[unlikely]] {
        if (!is_recorded_by_probe(*top, procedure)) return false;
        push_without_node(thread, row_of(function, call), procedure);
        thread->slow_overhead += code_count_ticks();
        return true;
    }
    if (--thread->code_countdown == 0) [[unlikely]]
        control_code(thread, known);
    if (known->enter_kind >= EnterKind::kCounted) [[unlikely]] {
        Node* const node = cell_at<Node>(known->node);
        if (known->enter_kind == EnterKind::kChecked) {
            if (is_due(node)) return false;
            push_by_kind(thread, known->node, known->enter_kind, row_of(function, call), procedure);
            return true;
        }
        count_untimed(thread, node);
        push_without_node(thread, row_of(function, call), procedure);
        thread->code_counted += 1;
        thread->slow_overhead += code_count_ticks();
        return true;
    }
    push_by_kind(thread, known->node, known->enter_kind, row_of(function, call), procedure);
    return true;
}

}  // namespace

}  // namespace dwell

using namespace dwell;

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): the compilers' names
DWELL_EXPORT void __cyg_profile_func_enter(void* function, void* call_site) {
    Thread* const thread = t_thread;
    const Frame* const frame = DWELL_FRAME();
    const auto code = reinterpret_cast<uint64_t>(function);
    const auto call = reinterpret_cast<uint64_t>(call_site);
    if (begin_settled(thread, slot_of(frame))) [[likely]] {
        const bool entered = enter_known_code(thread, code, call, frame);
        end_change(thread);
        if (entered) [[likely]]
            return;
    }
    if (thread != nullptr && live_ticket() == 0) return;
    enter_code(code, call, frame);
}

DWELL_EXPORT void __cyg_profile_func_exit(void* function, void* call_site) {
    Thread* const thread = t_thread;
    if (thread == nullptr) return;
    const Frame* const frame = DWELL_FRAME();
    const auto code = reinterpret_cast<uint64_t>(function);
    const auto call = reinterpret_cast<uint64_t>(call_site);
    if (begin_change(thread)) [[likely]] {
        const ProbeEntry* top = thread->on.top;
        const bool without_node = (top->row & kRowWithoutNode) != 0;
        const uint64_t now = without_node ? 0 : read_tsc();
        if (lies_on(thread->on, slot_of(frame)) && top->frame >= slot_of(frame) &&
            (top->row & ~kRowWithoutNode) == row_of(code, call)) [[likely]] {
            if (!without_node) [[likely]] {
                pop_called(thread, now);
                return;
            }
            pop_without_node(thread);
            end_change(thread);
            return;
        }
        end_change(thread);
    }
    if (live_ticket() != 0) leave_code(code, call, frame);
}
// NOLINTEND(readability-identifier-naming)
}
