// Where the threads of a process are, and whom they wait for: see open_records.h. The file may
// change while it is read: what belongs together is read until it is of one moment.
#include <algorithm>

#include "runtime/contract/omp_constructs.h"
#include "summarize/merge/record_reader.h"
#include "summarize/merge/saturating.h"

namespace dwell {
namespace {

// A writer needs some ten nanoseconds for a change, unless it loses its processor meanwhile.
constexpr int kAttempts = 1000;

// Copies `count` words, each of them whole.
template <typename T>
T copy_whole(const void* from) {
    static_assert(sizeof(T) % sizeof(uint64_t) == 0);
    uint64_t words[sizeof(T) / sizeof(uint64_t)];
    for (size_t i = 0; i < sizeof(T) / sizeof(uint64_t); i++) {
        words[i] = load_whole(static_cast<const uint64_t*>(from) + i);
    }
    T copy;
    memcpy(&copy, words, sizeof(T));
    return copy;
}

// The module of `into` that is `from`'s with this number; kNoModule if there is none.
uint32_t same_module(const Merged& into, const Merged& from, uint32_t number) {
    if (number >= from.modules.size()) return kNoModule;
    const MergedModule& wanted = from.modules[number];
    const char* const path = from.text.data() + wanted.path;
    for (uint32_t i = 0; i < into.modules.size(); i++) {
        const MergedModule& module = into.modules[i];
        const bool same_file =
            module.build_id_bytes == wanted.build_id_bytes &&
            memcmp(module.build_id, wanted.build_id, sizeof wanted.build_id) == 0;
        if (same_file && strcmp(into.text.data() + module.path, path) == 0) return i;
    }
    return kNoModule;
}

}  // namespace

bool RecordReader::read_places(int64_t end_unix_ns) {
    only_places_ = true;
    if (!read_header() || !text_.load() || !module_table_.load() || !read_modules()) return false;
    find_end(end_unix_ns);
    ThreadRecord thread;
    for (CellIndex cell = header_.first_thread; take(cell, &thread); cell = thread.next) {
        add_thread_figures(thread);
        if (!add_place(cell, thread)) return false;
    }
    return read_process() && add_rank();
}

int64_t RecordReader::unix_ns(uint64_t ticks) const {
    const uint64_t since = ticks > header_.start_ticks ? ticks - header_.start_ticks : 0;
    return later_by(header_.start_unix_ns, ns(since));
}

// The statement that the thread is in (true), or the last one, whose node is 0 if it is not known.
bool RecordReader::read_call(CellIndex cell, OpenCall* call, uint64_t* last_ticks) const {
    const auto* live = in_place<ThreadRecord>(cell);
    for (int attempt = 0; attempt < kAttempts; attempt++) {
        const uint64_t before = load_whole(&live->last_ticks);
        // Stored last of all: what is read after it is of this statement, or of a later one.
        const uint64_t entry_ticks = load_whole(&live->open.entry_ticks);
        *call = copy_whole<OpenCall>(&live->open);
        const bool open = load_whole(&live->open_depth) != 0;
        *last_ticks = load_whole(&live->last_ticks);
        if (*last_ticks != before) continue;
        // A new statement stores open_depth, then its node, last entry_ticks.
        if (call->entry_ticks != entry_ticks) continue;
        if (load_whole(&live->open.entry_ticks) != entry_ticks) continue;
        if (open && call->entry_ticks > *last_ticks) return true;
        if (!open) return false;
    }
    call->node = 0;
    return false;
}

// The innermost of the probes that are open now; false: there is none, or it changes too fast.
bool RecordReader::innermost_probe(CellIndex cell, ProbeEntry* found) const {
    const auto* live = in_place<ThreadRecord>(cell);
    const uint64_t probes = load_whole(&live->probes);
    const uint64_t depth = std::min(load_whole(&live->probe_depth), live->probe_stack_entries);
    const uint64_t cells = (depth + 1) * sizeof(ProbeEntry) / kCellBytes + 1;
    if (depth == 0 || !in_file(live->probe_stack, static_cast<uint32_t>(cells))) return false;
    const ProbeEntry* entry = in_place<ProbeEntry>(live->probe_stack) + depth;
    *found = copy_whole<ProbeEntry>(entry);
    const ProbeEntry again = copy_whole<ProbeEntry>(entry);
    return memcmp(found, &again, sizeof again) == 0 && load_whole(&live->probe_depth) == depth &&
           load_whole(&live->probes) == probes;
}

// The merged node of a node of the file, kNoNode if there is none. False without memory.
bool RecordReader::place_of(CellIndex cell, uint32_t* merged) {
    *merged = node_at(cell);
    if (!only_places_ || *merged != kNoNode || cell == 0) return true;
    GrowArray<CellIndex> path;  // innermost first
    Node node;
    CellIndex at = cell;
    for (; load(at, &node) && node_at(at) == kNoNode; at = node.parent) {
        if (path.size() > cells_) return true;  // damaged: a circle
        if (!path.push(at)) return false;
        if (node.site.kind == SiteKind::kProgram) break;
    }
    uint32_t parent = node_at(at);
    for (size_t i = path.size(); i-- > 0;) {
        if (!load(path[i], &node)) return true;
        MergedNode place{};
        place.parent = parent;
        set_site(node, &place);
        if ((parent == kNoNode) != (node.site.kind == SiteKind::kProgram)) return true;  // damaged
        if (is_named(place) &&
            !read_name(static_cast<CellIndex>(node.site.offset), &place.offset)) {
            return false;
        }
        parent = node_table_.find_or_add(place);
        if (parent == kNoNode) return false;
        cells_taken_[path[i]] = parent;
    }
    *merged = parent;
    return true;
}

// A thread that had not ended when its process did, or now.
bool RecordReader::add_place(CellIndex cell, const ThreadRecord& thread) {
    if (header_.state != FileState::kRunning || thread.state == ThreadState::kEnded ||
        thread.state == ThreadState::kUnused) {
        return true;
    }
    OpenCall call;
    uint64_t last_ticks = 0;
    MergedOpen open{};
    open.rank = rank_;
    open.thread = thread.number;
    open.pid = header_.pid;
    open.tid = thread.tid;
    open.is_in_call = read_call(cell, &call, &last_ticks);
    uint32_t root = 0;  // makes the program's node
    if (!place_of(thread.root, &root) || !place_of(call.node, &open.statement)) return false;
    if (root == kNoNode) return true;  // damaged
    open.is_in_call = open.is_in_call && open.statement != kNoNode;
    open.since_unix_ns = unix_ns(open.is_in_call ? call.entry_ticks : last_ticks);
    open.has_ended = end_ticks_ != 0;
    open.end_unix_ns = open.has_ended ? unix_ns(end_ticks_) : 0;
    open.node = open.is_in_call ? open.statement : 0;
    ProbeEntry entry{};
    if (!open.is_in_call && innermost_probe(cell, &entry)) {
        if (!place_of(entry.node, &open.node)) return false;
        if (open.node == kNoNode) open.node = 0;
        const bool stopped = (entry.flags & (kEntryUntimed | kEntryStopped | kEntryAway)) != 0;
        const uint64_t entered = entry.entry_virtual + thread.intrusion_ticks + thread.paused_ticks;
        open.probe_unix_ns = stopped ? 0 : unix_ns(entered);
    }
    open.handle = call.handle;
    open.peer = call.peer;
    open.tag = call.tag;
    open.destination = call.destination;
    open.requests = call.requests;
    open.request = call.request;
    return out_->open.push(open) && add_locks(thread);
}

// The module of an address in this process, and the offset in it.
void RecordReader::find_code(uint64_t address, uint32_t* module, uint64_t* offset) const {
    *module = kNoModule;
    *offset = address;
    ModuleRecord record;
    uint32_t left = kModuleLimit;
    for (CellIndex cell = header_.first_module; left-- > 0 && load(cell, &record);
         cell = record.next) {
        if (address - record.base >= record.size || record.number >= modules_.size()) continue;
        *module = modules_[record.number];
        *offset = address - record.base;
    }
}

bool RecordReader::add_locks(const ThreadRecord& thread) {
    MergedLock lock{};
    lock.rank = rank_;
    lock.thread = thread.number;
    lock.target = kAnyRank;
    lock.node = kNoNode;
    if (thread.wanted.what != 0) {
        lock.construct = static_cast<uint8_t>(thread.wanted.construct);
        lock.what = thread.wanted.what;
        find_code(thread.wanted.place, &lock.module, &lock.offset);
        const bool requested = lock.construct == static_cast<uint8_t>(OmpConstruct::kLock) ||
                               lock.construct == static_cast<uint8_t>(OmpConstruct::kNestLock);
        if (requested) lock.since_unix_ns = unix_ns(thread.wanted.since_ticks);
        if (!out_->open_locks.push(lock)) return false;
    }
    lock.held = true;
    lock.since_unix_ns = 0;
    for (const HeldLock& held : thread.held) {
        if (held.what == 0) continue;
        lock.what = held.what;
        lock.target = held.target;
        lock.module = kNoModule;
        if (held.place != 0) find_code(held.place, &lock.module, &lock.offset);
        if (!place_of(held.place == 0 ? held.node : 0, &lock.node)) return false;
        if (!out_->open_locks.push(lock)) return false;
    }
    return true;
}

bool RecordReader::read_process() {
    if (header_.state != FileState::kRunning) return true;
    MergedProcess process{rank_,
                          header_.pid,
                          header_.pid_namespace,
                          0,
                          header_.requests_unseen,
                          header_.paused_since != 0};
    return read_comms() && read_requests(&process.requests) && out_->processes.push(process);
}

bool RecordReader::read_comms() {
    CommRecord record;
    for (CellIndex cell = header_.first_comm; take(cell, &record); cell = record.next) {
        if (record.handle == 0) continue;
        const MergedComm comm{record.handle,  record.id,         rank_,
                              record.rank,    record.members,    record.size,
                              record.entered, record.inter != 0, record.side};
        if (!out_->open_comms.push(comm)) return false;
    }
    return true;
}

// False: the entry is free, or changes too fast.
bool RecordReader::read_request(CellIndex cell, RequestRecord* record) const {
    if (!in_file(cell, 1)) return false;
    const auto* live = in_place<RequestRecord>(cell);
    for (int attempt = 0; attempt < kAttempts; attempt++) {
        const uint64_t handle = load_whole(&live->handle);
        if (handle == 0) return false;
        const uint32_t generation = load_whole(&live->generation);
        *record = copy_whole<RequestRecord>(live);
        // In this order: a change stores the generation before the handle.
        const bool same = load_whole(&live->handle) == handle &&
                          load_whole(&live->generation) == generation && (generation & 1) == 0;
        if (same) return record->handle == handle;
    }
    return false;
}

bool RecordReader::read_requests(uint32_t* active) {
    RequestBlock block;
    for (CellIndex cell = header_.first_requests; take(cell, &block); cell = block.next) {
        for (uint32_t i = 0; i < block.entries && in_file(cell, 2 + i); i++) {
            RequestRecord record;
            if (!read_request(cell + 1 + i, &record)) continue;
            if (record.active == 0) continue;
            *active += 1;
            if (*active > kRequestsShown) continue;
            const MergedRequest request{rank_,
                                        record.kind,
                                        static_cast<uint8_t>(awaited_state(record.shown)),
                                        record.handle,
                                        record.shown.comm,
                                        peer_of(record.shown),
                                        record.shown.tag};
            if (!out_->open_requests.push(request)) return false;
        }
    }
    return true;
}

bool add_places(Merged* into, const void* file, size_t bytes, int64_t end_unix_ns) {
    return RecordReader(file, bytes, into).read_places(end_unix_ns);
}

bool RecordReader::read_known_places(const GrowArray<NodeCell>& cells) {
    known_nodes_ = true;
    if (!read_header() || !read_modules()) return false;
    for (const NodeCell& known : cells) {
        if (known.cell < cells_ && known.node != kNoNode) cells_taken_[known.cell] = known.node;
    }
    ThreadRecord thread;
    for (CellIndex cell = header_.first_thread; take(cell, &thread); cell = thread.next) {
        if (!add_open_probes(thread) || !add_place(cell, thread)) return false;
    }
    return read_process();
}

bool add_known_places(Merged* into, const void* file, size_t bytes,
                      const GrowArray<NodeCell>& cells, GrowArray<OpenEntry>* entries) {
    Merged one;
    RecordReader reader(file, bytes, &one);
    if (!reader.read_known_places(cells)) return false;
    for (MergedLock& lock : one.open_locks) {
        if (lock.module != kNoModule) lock.module = same_module(*into, one, lock.module);
    }
    const GrowArray<OpenEntry>& opened = reader.open_entries();
    return entries->append(opened.data(), opened.size()) &&
           into->open.append(one.open.data(), one.open.size()) &&
           into->open_comms.append(one.open_comms.data(), one.open_comms.size()) &&
           into->open_locks.append(one.open_locks.data(), one.open_locks.size()) &&
           into->open_requests.append(one.open_requests.data(), one.open_requests.size()) &&
           into->processes.append(one.processes.data(), one.processes.size());
}

}  // namespace dwell
