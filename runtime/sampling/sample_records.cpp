// Adds the call paths of samples to the tree.
#include "runtime/sampling/sample_records.h"

#include <linux/perf_event.h>
#include <string.h>

#include <algorithm>

#include "runtime/calltree/modules.h"
#include "runtime/calltree/nodes.h"
#include "runtime/calltree/python_frames.h"
#include "runtime/calltree/stack_walks.h"
#include "runtime/events/events.h"
#include "runtime/sampling/sample_spill.h"
#include "runtime/sampling/sampled_path.h"

namespace dwell {

namespace {

constexpr uint16_t kNodesPerInterval = 2048;  // sampled paths; further ones collapse into one

// How often a sample counts, and the virtual time at which it was taken.
struct SampleUse {
    uint32_t weight;
    uint64_t virt;
};

// A sample's call path: the sampled address, then the return addresses outwards.
struct SampledPath {
    uint64_t* addresses;
    int count;
    bool whole;
    bool traced;
};

// Number of nodes between the thread's root and a node.
uint16_t levels_above(CellIndex node) {
    uint16_t levels = 0;
    for (CellIndex at = cell_at<Node>(node)->parent; at != 0; at = cell_at<Node>(at)->parent) {
        ++levels;
    }
    return levels;
}

// The child of `above` on the path to `below`, if it is the node for `site`; else 0.
CellIndex on_the_way(CellIndex above, CellIndex below, const Site& site) {
    CellIndex at = below;
    while (at != 0 && cell_at<Node>(at)->parent != above) at = cell_at<Node>(at)->parent;
    if (at == 0 || at == below) return 0;
    const Site& there = cell_at<Node>(at)->site;
    const bool same =
        there.offset == site.offset && there.module == site.module && there.kind == site.kind;
    return same ? at : 0;
}

// Creates a child within `interval` as long as there is room. Recursion reuses nodes.
CellIndex sampled_child(Thread* thread, CellIndex interval, CellIndex above, const Site& site) {
    for (CellIndex at = above; at != interval; at = cell_at<Node>(at)->parent) {
        const Site& there = cell_at<Node>(at)->site;
        if (there.offset == site.offset && there.module == site.module && there.kind == site.kind)
            return at;
    }
    for (CellIndex at = cell_at<Node>(above)->first_child; at != 0;) {
        const Node* const node = cell_at<Node>(at);
        if (node->site.offset == site.offset && node->site.module == site.module &&
            node->site.kind == site.kind && node->site.call == site.call)
            return at;
        at = node->next_sibling;
    }
    uint16_t* const nodes = &cell_at<Node>(interval)->site.open;
    if (*nodes >= kNodesPerInterval) return 0;
    ++*nodes;
    return child_of(thread, above, site);
}

// Records one sample of `count` frames, innermost first as given by site_of(), below `interval`.
// Outer frames in common with the statement's own path are not stored again; the first node that
// differs holds their number (Site::call).
template <typename SiteOf>
void record_frames(Thread* thread, CellIndex interval, int count, bool traced, bool whole,
                   const SampleUse& use, SiteOf site_of) {
    CellIndex shared = thread->record->root;
    CellIndex above = interval;
    const CellIndex statement = cell_at<Node>(interval)->parent;
    for (int i = count - 1; i > 0 && above != 0; --i) {
        Site site = site_of(i);
        if (above == interval && !whole) {
            site.call = kPathCut;
        } else if (above == interval) {
            if (node_on_path(shared, site) != 0) continue;
            const CellIndex next = on_the_way(shared, statement, site);
            if (next != 0) {
                shared = next;
                continue;
            }
            site.call = levels_above(shared) + 1;
        }
        above = sampled_child(thread, interval, above, site);
    }
    Site site = site_of(0);
    if (above == interval && traced) site.call = whole ? levels_above(shared) + 1 : kPathCut;
    CellIndex node = above != 0 ? sampled_child(thread, interval, above, site) : 0;
    if (node == 0) {
        site = Site{};
        site.kind = SiteKind::kSample;
        site.flags = kNodeFolded;
        node = child_of(thread, interval, site);
    }
    if (node != 0) cell_at<Node>(node)->count += use.weight;
    thread->record->samples += use.weight;
    note_sample(thread, node, use.virt, use.weight);
}

void record_path(Thread* thread, CellIndex interval, const SampledPath& path,
                 const SampleUse& use) {
    const ModulePlace place = place_of_address(thread, path.addresses[0]);
    // Samples inside dwell or inside an untimed poll are no computation.
    if (place.own || (place.inside_mpi && thread->untimed_polls != 0)) {
        thread->record->samples_in_calls += use.weight;
        return;
    }
    record_frames(thread, interval, path.count, path.traced, path.whole, use, [&](int i) {
        if (i > 0) return site_of_call(thread, path.addresses[i]);
        Site site{};
        site.module = place.module;
        site.offset = place.offset;
        site.kind = SiteKind::kSample;
        if (place.module == 0) site.flags = kNodeForeign;
        return site;
    });
}

// Counts samples whose Python functions are unknown.
void count_unknown(Thread* thread, uint32_t weight) { thread->record->samples_lost += weight; }

// Records the Python frames of the record at `record` with `size` bytes.
void record_python(Thread* thread, CellIndex interval, const char* record, size_t size,
                   const SampleUse& use) {
    perf_event_header header;
    memcpy(&header, record, sizeof(header));
    // Uses the scratch memory in which other samples have their addresses.
    auto* const cells =
        reinterpret_cast<CellIndex*>(static_cast<char*>(thread->scratch) + kLargestSample_bytes);
    int count = 0;
    bool whole = (header.misc & kPythonCut) == 0;
    const uint32_t depth = g_process.options.callpath_depth;
    const int most =
        depth != 0 && depth < kMostSampledFrames ? static_cast<int>(depth) : kMostSampledFrames;
    for (size_t at = sizeof(header); at < size && record[at] != '\0';) {
        const size_t bytes = strnlen(record + at, size - at);
        const CellIndex cell = python_text(thread, record + at, bytes);
        at += bytes + 1;
        if (cell == 0 || count == most) {
            whole = false;
            break;
        }
        cells[count++] = cell;
    }
    if (count == 0) return count_unknown(thread, use.weight);
    record_frames(thread, interval, count, true, whole, use, [&](int i) {
        Site site{};
        site.offset = cells[i];
        site.kind = i > 0 ? SiteKind::kCall : SiteKind::kSample;
        site.flags = kNodeNamed;
        return site;
    });
}

// Layout of a sample in the ring (perf_event_open(2)): address, time, then registers and stack, if
// any.
struct SampleHead {
    perf_event_header header;
    uint64_t address;
    uint64_t time_ns;
    uint64_t registers_abi;
    uint64_t registers[kSampledRegisters];
    uint64_t stack_bytes;
};

// The call path of a record with `size` bytes.
SampledPath path_of(const char* record, size_t size, uint64_t* addresses) {
    SampleHead head{};
    memcpy(&head, record, std::min(size, sizeof(head)));
    addresses[0] = head.address;
    SampledPath path{addresses, 1, false, head.stack_bytes != 0};
    uint64_t taken = 0;  // bytes of stack that the kernel stored
    const size_t stack_end = sizeof(head) + head.stack_bytes;
    if (head.stack_bytes == 0 || stack_end + sizeof(taken) > size) return path;
    memcpy(&taken, record + stack_end, sizeof(taken));
    if (taken > head.stack_bytes) return path;
    path.count = trace_sample(kOwnCode, {head.registers, record + sizeof(head), taken}, addresses,
                              kMostSampledFrames, &path.whole);
    return path;
}

// The virtual time of a sample, which lies behind the thread's last statement.
uint64_t virtual_time_of(const Thread* thread, const char* record, size_t size,
                         const SampleClock& now) {
    SampleHead head{};
    memcpy(&head, record, std::min(size, offsetof(SampleHead, registers_abi)));
    const uint64_t virt = virtual_ticks(thread, now.ticks);
    if (head.header.type == kPythonSample || head.time_ns >= now.ns) return virt;
    const double ago = static_cast<double>(now.ns - head.time_ns) * 1e-9 *
                       static_cast<double>(g_process.header->ticks_per_second);
    const uint64_t since =
        thread->last_ticks - thread->record->intrusion_ticks - thread->record->paused_ticks;
    const auto back = static_cast<int64_t>(virt - since);
    return back > static_cast<int64_t>(ago) ? virt - static_cast<uint64_t>(ago)
                                            : std::min(virt, since);
}

// The stored stack ended in a procedure from which the statement under way was called, too: the
// outer part of both paths is the same. `here` has room for as many addresses again.
void complete(SampledPath* path, uint64_t* here) {
    if (path->whole || !path->traced) return;
    const uint64_t start = procedure_start(path->addresses[path->count - 1]);
    const int frames = return_addresses(here, kMostSampledFrames);
    int joint = -1;
    for (int i = 0; i < frames && start != 0; ++i) {
        if (procedure_start(here[i]) != start) continue;
        if (joint >= 0) return;  // ambiguous because of recursion
        joint = i;
    }
    if (joint < 0) return;
    for (int i = joint + 1; i < frames && here[i] != 0 && path->count < kMostSampledFrames; ++i) {
        path->addresses[path->count++] = here[i];
    }
    path->whole = true;
}

}  // namespace

void record_sample(Thread* thread, CellIndex interval, const char* sample, size_t size,
                   uint32_t weight, const SampleClock& now) {
    auto* const addresses =
        reinterpret_cast<uint64_t*>(static_cast<char*>(thread->scratch) + kLargestSample_bytes);
    perf_event_header header;
    memcpy(&header, sample, sizeof(header));
    const SampleUse use{weight, now.ns != 0 ? virtual_time_of(thread, sample, size, now) : 0};
    if (interval == 0) {
        thread->record->samples_in_calls += weight;
    } else if (header.type == kPythonSample) {
        record_python(thread, interval, sample, size, use);
    } else if (thread->python_is_sampled) {
        count_unknown(thread, weight);
    } else {
        SampledPath path = path_of(sample, size, addresses);
        complete(&path, addresses + kMostSampledFrames);
        record_path(thread, interval, path, use);
    }
}

}  // namespace dwell
