// The second look-up of call paths, and the creation of their nodes.
#include "runtime/calls/callpath.h"

#include <string.h>

#include <atomic>

#include "runtime/calltree/modules.h"
#include "runtime/calltree/path_cache.h"
#include "runtime/calltree/python_frames.h"
#include "runtime/calltree/stack_walks.h"
#include "runtime/contract/mpi_calls.h"
#include "runtime/probes/outlined_code.h"
#include "runtime/probes/probes.h"
#include "runtime/sampling/sampled_path.h"
#include "runtime/sampling/sampling.h"

namespace dwell {

void forget_paths(Thread* thread) {
    forget_sampled_paths();
    for (PathEntry& entry : thread->paths) {
        if (entry.return_address != 0) entry.return_address = 0;  // unused pages are not touched
    }
    forget_known(thread);
    memset(static_cast<void*>(thread->known_children), 0, sizeof(thread->known_children));
}

const PathEntry* path_further_on(const Thread* thread, const Frame* frame, MpiCall call,
                                 CellIndex probe_frame) {
    const uint64_t sp = frame->stack_pointer();
    auto find_in = [&](uint32_t first) -> const PathEntry* {
        for (uint32_t way = 0; way < kPathWays; ++way) {
            const PathEntry& entry = thread->paths[first + way];
            if (path_matches(entry, frame, call, probe_frame)) return &entry;
        }
        return nullptr;
    };
    const PathEntry* found = nullptr;
    if (g_process.options.callpath_depth == 1) {
        found = find_in(path_set(frame->return_address, 0, probe_frame));
        if (found != nullptr) return found;
    }  // a call from inside an MPI library keeps its frames also at depth 1
    return find_in(path_set(frame->return_address, sp, probe_frame));
}

namespace {

// The return addresses from the wrapper's caller outwards.
struct Path {
    void** frame;
    int frames;
    int glue;  // leading frames in MPI libraries (Fortran entry points, C++ bindings); for I/O
               // also in languages' run-time libraries
};

// Memory outside of the stack, because the program's stack may be small.
void** frame_buffer(Thread* thread) {
    const size_t bytes = 2 * kMaxFrames * sizeof(void*);
    return reinterpret_cast<void**>(scratch_of(thread, bytes));
}

bool is_glue(const ModulePlace& place, MpiCall call) {
    return place.glue || (is_io_number(call) && place.language);
}

Path trace(Thread* thread, const Frame* frame, MpiCall call, void** buffer) {
    const uint32_t depth = g_process.options.callpath_depth;
    Path path{buffer, 1, 0};
    buffer[0] = reinterpret_cast<void*>(frame->return_address);
    const bool only_one =
        !can_unwind() ||
        (depth == 1 && !is_glue(place_of_address(thread, frame->return_address - 1), call));
    if (only_one) return path;
    const int found = return_addresses(reinterpret_cast<uint64_t*>(buffer), kMaxFrames);
    int first = 0;
    while (first < found && buffer[first] != reinterpret_cast<void*>(frame->return_address)) {
        ++first;
    }
    if (first >= found) {  // the trace does not contain the caller: keep only that
        buffer[0] = reinterpret_cast<void*>(frame->return_address);
        return path;
    }
    path.frame = buffer + first;
    path.frames = found - first;
    while (path.frames > 0 && path.frame[path.frames - 1] == nullptr) --path.frames;
    while (path.glue < path.frames - 1 &&
           is_glue(place_of_address(thread, reinterpret_cast<uintptr_t>(path.frame[path.glue]) - 1,
                                    path.glue != 0),
                   call)) {
        ++path.glue;
    }
    if (depth != 0 && path.frames - path.glue > static_cast<int>(depth)) {
        path.frames = path.glue + static_cast<int>(depth);
    } else if (found == kMaxFrames) {
        __atomic_fetch_or(&g_process.header->flags, uint32_t{kFileCutPaths}, __ATOMIC_RELAXED);
    }
    return path;
}

uint64_t hash_of(const Path& path, MpiCall call, CellIndex probe_frame) {
    // Mixed first: call numbers and return addresses differ in the same few bits.
    uint64_t hash = (static_cast<uint64_t>(call) + (uint64_t{probe_frame} << 16) + 0x51ed270b) *
                    0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
    for (int i = 0; i < path.frames; ++i) {
        hash = (hash ^ reinterpret_cast<uint64_t>(path.frame[i])) * 0x9ddfea08eb382d69ull;
        hash ^= hash >> 29;
    }
    return hash == 0 ? 1 : hash;
}

bool is_omp_call(MpiCall call) { return static_cast<uint16_t>(call) >= kOmpCall; }

// Whether code at `address` reaches another MPI library with this call. Asking the loader takes
// some ten microseconds; the answer is the same for all code of a module until a module is
// unloaded, so recent answers are cached in one word each: unload count, module, call, form and,
// lowest, the answer.
bool calls_foreign(Thread* thread, uintptr_t address, MpiCall call, EntryForm form) {
    static_assert(kMpiCallNumbers < 1 << 14);
    static std::atomic<uint64_t> answers[256];
    const uint64_t unloads = __atomic_load_n(&g_live->unloads, __ATOMIC_RELAXED);
    const ModulePlace place = place_of_address(thread, address);
    const auto number = static_cast<uint16_t>(call);
    const uint64_t question =
        unloads << 32 | uint64_t{place.module} << 16 | uint64_t{number} << 2 | uint64_t{form} << 1;
    std::atomic<uint64_t>& kept = answers[(place.module * 61u + number * 2u + form) % 256];
    const uint64_t answer = kept.load(std::memory_order_relaxed);
    if (place.module != 0 && (answer & ~uint64_t{1}) == question) return (answer & 1) != 0;
    const bool foreign = foreign_definition(address, form, number) != nullptr;
    if (place.module != 0) kept.store(question | foreign, std::memory_order_relaxed);
    return foreign;
}

// The node below `above` for a call that returns to `return_address`. The modules of the thread's
// frames were checked before. Recursion: an address already on the path reuses its node.
CellIndex node_of_frame(Thread* thread, CellIndex above, void* return_address) {
    const Site site = site_at(thread, return_address, SiteKind::kCall, 0, true);
    const CellIndex around = node_on_path(above, site);
    return around != 0 ? around : child_of(thread, above, site);
}

// Creates the nodes of a new path; 0 when there is no room.
CellIndex make_nodes(Thread* thread, Path path, MpiCall call, CellIndex probe_frame) {
    const bool fold = is_over_budget();
    bool of_python = false;
    if (has_python()) {
        void** const users = path.frame + path.glue;
        const int kept = leave_out_between_python(thread, users, path.frames - path.glue);
        of_python = kept == 0 && is_python(cell_at<Node>(probe_frame)->site);
        path.frames = path.glue + (kept != 0 ? kept : 1);  // at least one frame
    }
    const bool openmp = is_omp_call(call);
    const bool io = is_io_number(call);
    const SiteKind kind = openmp ? SiteKind::kOpenMp
                          : io   ? SiteKind::kIo
                                 : SiteKind::kCommunication;
    Site site = site_at(thread, path.frame[path.glue], kind, static_cast<uint16_t>(call));
    if (openmp) site.call -= kOmpCall;
    if (io) site.call -= kIoNumbers;
    if (of_python) {
        const Site& python = cell_at<Node>(probe_frame)->site;
        site.offset = python.offset;
        site.module = python.module;
        site.flags = python.flags;
        probe_frame = cell_at<Node>(probe_frame)->parent;
    }
    CellIndex above = fold ? thread->record->root : probe_frame;
    for (int i = path.frames - 1; i > path.glue && !fold; --i) {
        const CellIndex next = node_of_frame(thread, above, path.frame[i]);
        if (next == 0) return 0;
        above = next;
    }
    if (static_cast<uint16_t>(call) == kOmpPath) {
        if (fold) return above;
        site.kind = SiteKind::kCall;
        site.call = 0;
        return child_of(thread, above, site);
    }
    if (fold) site.flags |= kNodeFolded;
    const CellIndex around = openmp && !fold ? node_on_path(above, site) : 0;
    return around != 0 ? around : child_of(thread, above, site);
}

// Number of frames that belong to the path. It ends at the procedure of the probe frame, at the
// OpenMP code that the thread runs, or at user code that MPI has called back; otherwise it is
// whole. `met`: the walk reached that end. What OpenMP code calls in place of a return has no frame
// of the program's: the path is then the code itself.
int frames_in_path(const Thread* thread, const Frame* frame, CellIndex probe_frame, Path* path,
                   bool* met) {
    *met = false;
    if (thread->user_depth != 0) {
        const uint64_t user_frame = thread->user_code[thread->user_depth - 1].frame;
        if (thread->on.top->frame >= user_frame) {  // else a probe has recorded the procedure
            const int frames = frames_within(frame, user_frame);
            *met = frames > path->glue && frames <= path->frames;
            return *met ? frames : path->glue + 1;
        }
    }
    if (is_python(cell_at<Node>(probe_frame)->site)) {
        const int frames = frames_within(frame, python_limit());
        *met = frames > path->glue && frames <= path->frames;
        return *met ? frames : path->glue + 1;
    }
    if (thread->on.top->frame == kNoFrame) return path->frames;
    const uint64_t code_frame = omp_code_frame(thread);
    if (code_frame != 0) {
        const int frames = frames_within(frame, code_frame);
        const uint64_t code = frames >= 0 && frames <= path->glue ? omp_code_address() : 0;
        if (code != 0) {
            path->frame[0] = reinterpret_cast<void*>(code);
            path->glue = 0;
            *met = true;
            return 1;
        }
        *met = frames > path->glue && frames <= path->frames;
        return *met ? frames : path->glue + 1;
    }
    // Only blocks are open, and these have no frames.
    if (thread->on.top->frame == thread->on.base->frame && thread->on_number == 0)
        return path->frames;
    const int frames = frames_to(frame, thread->on.top->frame);
    *met = frames > path->glue && frames <= path->frames;
    return *met ? frames : frames == 0 ? path->glue + 1 : path->frames;
}

// Budget for recording stack slots: so many ticks, and beyond them this part of the run time,
// because a program with more paths than the first look-up holds would do little else. After a
// quarter of the budget only paths that were often missed may use it.
constexpr uint64_t kFreeSlotTicks = 100'000'000;
constexpr uint64_t kSlotTimePart = 64;
constexpr uint32_t kOftenMissed = 32;

bool may_record_slots(const Thread* thread, const CachedPath& known, uint64_t now) {
    const uint64_t spent = thread->remember_ticks;
    if (spent < kFreeSlotTicks / 4) return true;
    if (known.misses < kOftenMissed) return false;
    return spent <= kFreeSlotTicks + (now - g_process.start_ticks) / kSlotTimePart;
}

// Adds the path to the first look-up. Recording its slots costs some microseconds, so this happens
// at the first, second, fourth, eighth … miss of a known path.
void add_to_first_lookup(Thread* thread, const Frame* frame, MpiCall call, const Path& path,
                         CellIndex probe_frame, CachedPath* known) {
    const bool one_frame = path.frames == 1 && g_process.options.callpath_depth == 1;
    const uint64_t sp = one_frame ? 0 : frame->stack_pointer();
    if (known->misses == UINT16_MAX) return;
    known->misses += 1;
    if ((known->misses & (known->misses - 1)) != 0) return;
    const uint64_t start = now_ticks();
    if (!may_record_slots(thread, *known, start)) return;
    // An incomplete trace cannot be verified, except for a statement in the probe frame itself,
    // whose return address suffices.
    if (path.frames == 1 && !one_frame && !known->met_probe_frame) return;
    PathProof proof;
    const bool proven = path.frames == 1 || take_slots(&proof, frame, path.frames);
    thread->remember_ticks += now_ticks() - start;
    if (!proven) return;
    PathEntry* set = &thread->paths[path_set(frame->return_address, sp, probe_frame)];
    uint32_t way = 0;
    while (way < kPathWays && set[way].return_address != 0) ++way;
    if (way == kPathWays) way = thread->next_way++ % kPathWays;
    PathEntry* const entry = &set[way];
    entry->return_address = 0;  // invalid until all fields are written
    if (!put_slots(thread, entry, proof.slot, proof.slots)) return;
    entry->stack_pointer = sp;
    entry->frame_pointer = frame->caller_frame_pointer;
    entry->check_frame_pointer = proof.check_frame_pointer;
    entry->call = static_cast<uint16_t>(call);
    entry->node = known->node;
    entry->foreign = known->foreign;
    entry->probe_frame = probe_frame;
    entry->poll = 0;
    entry->return_address = frame->return_address;
}

}  // namespace

FoundPath find_path(Thread* thread, const Frame* frame, MpiCall call, CellIndex probe_frame,
                    EntryForm form) {
    const ToolWork work(thread);
    const CancellationDisabled cancellation;
    const OwnSamples own(thread);
    thread->in_tool.begin();
    FoundPath found{0, false};
    void** buffer = frame_buffer(thread);
    if (buffer != nullptr) {
        Path path = trace(thread, frame, call, buffer);
        const uint64_t hash = hash_of(path, call, probe_frame);
        CachedPath spare{};
        CachedPath* known = cached_path(thread, hash);
        if (known == nullptr) known = &spare;
        if (known->hash == 0) {
            bool met_probe_frame = false;
            const int frames = frames_in_path(thread, frame, probe_frame, &path, &met_probe_frame);
            known->frames = static_cast<uint16_t>(frames) & 0x3fff;
            known->met_probe_frame = met_probe_frame;
            const auto user = reinterpret_cast<uintptr_t>(path.frame[path.glue]);
            const bool of_mpi = !is_omp_call(call) && !is_io_number(call);
            known->foreign = of_mpi && calls_foreign(thread, user - 1, call, form);
            path.frames = known->frames;
            known->node = known->foreign ? 0 : make_nodes(thread, path, call, probe_frame);
            known->misses = 0;
            if (known->node != 0 || known->foreign) {
                keep_known(thread, known, hash);
            }
        }
        found = {known->node, known->foreign};
        path.frames = known->frames;
        // A statement that may open a window is looked at here, each time (records.cpp).
        const bool may_hurry = found.node == 0 || !opens_windows(found.node);
        if (known->hash != 0 && may_hurry)
            add_to_first_lookup(thread, frame, call, path, probe_frame, known);
        if (found.node != 0 && (cell_at<Node>(found.node)->site.flags & kNodeFolded) != 0) {
            thread->record->folded_paths += 1;
        }
    }
    if (found.node == 0 && !found.foreign) thread->record->dropped += 1;
    thread->in_tool.end();
    return found;
}

}  // namespace dwell
