// Reads only where the threads of a record file are, whose nodes are known from a whole reading.
#include "summarize/merge/record_reader.h"

namespace dwell {

bool RecordReader::read_known_places(const GrowArray<NodeCell>& cells) {
    places_only_ = true;
    if (!read_header() || !read_comms()) return false;
    for (const NodeCell& known : cells) {
        if (known.cell < cells_ && known.node != kNoNode) cells_taken_[known.cell] = known.node;
    }
    ThreadRecord thread;
    for (CellIndex cell = header_.first_thread; take(cell, &thread); cell = thread.next) {
        if (!add_open_probes(thread) || !add_place(thread)) return false;
    }
    return true;
}

bool add_places(Merged* into, const void* file, size_t bytes, const GrowArray<NodeCell>& cells,
                GrowArray<OpenEntry>* entries) {
    Merged one;
    RecordReader reader(file, bytes, &one);
    if (!reader.read_known_places(cells)) return false;
    const GrowArray<OpenEntry>& opened = reader.open_entries();
    const auto comms = static_cast<uint32_t>(into->open_comms.size());
    for (MergedOpen& open : one.open) {
        if (open.comm != kNoNode) open.comm += comms;
    }
    return entries->append(opened.data(), opened.size()) &&
           into->open.append(one.open.data(), one.open.size()) &&
           into->open_comms.append(one.open_comms.data(), one.open_comms.size());
}

}  // namespace dwell
