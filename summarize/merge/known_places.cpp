// Reads only where the threads of a record file are, whose nodes are known from a whole reading.
#include "summarize/merge/record_reader.h"

namespace dwell {
namespace {

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
