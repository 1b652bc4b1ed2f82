// Implements the look-up tables of merged_tables.h. The merge is plain code without exceptions
// (DESIGN 2).
#include "summarize/merge/merged_tables.h"

#include <string.h>

#include <algorithm>
#include <iterator>

#include "summarize/merge/figures.h"

namespace dwell {
namespace {

uint64_t hash_bytes(const void* bytes, size_t length) {
    const unsigned char* at = static_cast<const unsigned char*>(bytes);
    uint64_t hash = length;
    while (length >= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = mix_hash(hash, word);
        at += 8;
        length -= 8;
    }
    uint64_t rest = 0;
    if (length != 0) memcpy(&rest, at, length);
    return mix_hash(hash, rest);
}

uint64_t hash_of(const MergedNode& node) {
    uint64_t hash = mix_hash(node.parent, node.offset);
    hash = mix_hash(hash, static_cast<uint64_t>(node.module) << 32 | node.meet);
    return mix_hash(hash, static_cast<uint64_t>(node.call) << 16 | node.kind << 8 | node.flags);
}

bool same_place(const MergedNode& a, const MergedNode& b) {
    return a.parent == b.parent && a.offset == b.offset && a.module == b.module &&
           a.meet == b.meet && a.call == b.call && a.kind == b.kind && a.flags == b.flags;
}

uint64_t hash_of(const MergedDistance& distance) {
    return mix_hash(distance.node, distance.distance);
}

void add_distance(MergedDistance* into, const MergedDistance& from) {
    into->pairs += from.pairs;
    into->count += from.count;
    into->time_ns += from.time_ns;
    into->sync_ns += from.sync_ns;
    into->bytes_sent += from.bytes_sent;
    into->bytes_received += from.bytes_received;
}

// Sums over several distances do not take part in the ranking of single distances.
bool is_single(const MergedDistance& distance) {
    return distance.distance != kNoPeer && distance.distance != kOtherDistances;
}

}  // namespace

Totals empty_totals() {
    Totals totals{};
    totals.min_ns = UINT64_MAX;
    return totals;
}

void add_totals(Totals* into, const Totals& from) {
    for (const Figure& figure : kFigures) add_figure(figure, from, into);
    for (int slot = 0; slot < kEventSlots; slot++) {
        into->event_count[slot] += from.event_count[slot];
        into->event_ns[slot] += from.event_ns[slot];
    }
}

bool TextTable::load() {
    if (merged_->text.empty() && !merged_->text.push('\0')) return false;
    const size_t end = merged_->text.size();
    for (size_t at = 0; at < end;) {
        const char* string = merged_->text.data() + at;
        const size_t length = strnlen(string, end - at);
        const uint64_t hash = hash_bytes(string, length);
        if (find(hash, string, length) == HashIndex::kAbsent) {
            if (!index_.reserve(strings_ + 1)) return false;
            index_.insert(hash, static_cast<uint32_t>(at));
            strings_++;
        }
        at += length + 1;
    }
    return true;
}

uint32_t TextTable::find(uint64_t hash, const char* bytes, size_t length) const {
    const GrowArray<char>& text = merged_->text;
    return index_.find(hash, [&](uint32_t offset) {
        return text.size() - offset > length && memcmp(text.data() + offset, bytes, length) == 0 &&
               text[offset + length] == '\0';
    });
}

uint32_t TextTable::intern(const char* bytes, size_t length) {
    const uint64_t hash = hash_bytes(bytes, length);
    const uint32_t known = find(hash, bytes, length);
    if (known != HashIndex::kAbsent) return known;
    GrowArray<char>& text = merged_->text;
    const size_t offset = text.size();
    if (offset + length + 1 >= kNoText || !index_.reserve(strings_ + 1) ||
        !text.reserve(offset + length + 1)) {
        return kNoText;
    }
    if (!text.append(bytes, length) || !text.push('\0')) return kNoText;
    index_.insert(hash, static_cast<uint32_t>(offset));
    strings_++;
    return static_cast<uint32_t>(offset);
}

// Copies on several hosts are one module if their sizes are equal; on one host inode and time
// identify a file.
bool is_same_file(const MergedModule& one, const MergedModule& other) {
    return one.inode == 0 || other.inode == 0 ||
           (one.inode == other.inode && one.modified_ns == other.modified_ns);
}
bool may_be_same(const MergedModule& one, const MergedModule& other) {
    return is_same_file(one, other) || (one.host != other.host && one.bytes == other.bytes);
}

uint64_t ModuleTable::hash_of(const MergedModule& module) const {
    if (module.build_id_bytes != 0) return hash_bytes(module.build_id, module.build_id_bytes);
    const char* path = merged_->text.data() + module.path;
    return hash_bytes(path, strlen(path));
}

uint32_t ModuleTable::find(uint64_t hash, const MergedModule& module) const {
    const char* text = merged_->text.data();
    return index_.find(hash, [&](uint32_t i) {
        const MergedModule& other = merged_->modules[i];
        if (other.build_id_bytes != module.build_id_bytes) return false;
        if (module.build_id_bytes == 0) {
            return strcmp(text + other.path, text + module.path) == 0 && may_be_same(other, module);
        }
        return memcmp(other.build_id, module.build_id, module.build_id_bytes) == 0;
    });
}

bool ModuleTable::load() {
    const GrowArray<MergedModule>& modules = merged_->modules;
    if (!index_.reserve(modules.size())) return false;
    for (size_t i = 0; i < modules.size(); i++) {
        const uint64_t hash = hash_of(modules[i]);
        if (find(hash, modules[i]) == HashIndex::kAbsent) {
            index_.insert(hash, static_cast<uint32_t>(i));
        }
    }
    return true;
}

uint32_t ModuleTable::find_or_add(const MergedModule& module) {
    const uint64_t hash = hash_of(module);
    GrowArray<MergedModule>& modules = merged_->modules;
    const uint32_t known = find(hash, module);
    if (known != HashIndex::kAbsent) {
        const bool differs = module.mixed != 0 || !is_same_file(modules[known], module);
        if (differs) modules[known].mixed = 1;
        return known;
    }
    if (!index_.reserve(modules.size() + 1) || !modules.push(module)) return kNoModule;
    const uint32_t added = static_cast<uint32_t>(modules.size() - 1);
    index_.insert(hash, added);
    return added;
}

uint32_t NodeTable::find(uint64_t hash, const MergedNode& place) const {
    return index_.find(hash, [&](uint32_t i) { return same_place(merged_->nodes[i], place); });
}

bool NodeTable::load() {
    const GrowArray<MergedNode>& nodes = merged_->nodes;
    if (!index_.reserve(nodes.size())) return false;
    for (size_t i = 0; i < nodes.size(); i++) {
        const uint64_t hash = hash_of(nodes[i]);
        if (find(hash, nodes[i]) == HashIndex::kAbsent) {
            index_.insert(hash, static_cast<uint32_t>(i));
        }
    }
    loaded_ = true;
    return true;
}

uint32_t NodeTable::find_or_add(const MergedNode& place) {
    GrowArray<MergedNode>& nodes = merged_->nodes;
    if (next_ < nodes.size() && same_place(nodes[next_], place)) return next_++;
    if (!loaded_ && !load()) return kNoNode;
    const uint64_t hash = hash_of(place);
    const uint32_t known = find(hash, place);
    if (known != HashIndex::kAbsent) {
        next_ = known + 1;
        return known;
    }
    MergedNode node{};
    node.offset = place.offset;
    node.module = place.module;
    node.call = place.call;
    node.kind = place.kind;
    node.flags = place.flags;
    node.parent = place.parent;
    node.meet = place.meet;
    node.histogram = kNoHistogram;
    node.rank_min_ns = UINT64_MAX;
    node.totals = empty_totals();
    if (nodes.size() >= kNoNode - 1 || !index_.reserve(nodes.size() + 1) || !nodes.push(node)) {
        return kNoNode;
    }
    const uint32_t added = static_cast<uint32_t>(nodes.size() - 1);
    index_.insert(hash, added);
    return added;
}

uint32_t DistanceTable::find(uint64_t hash, const MergedDistance& distance) const {
    return index_.find(hash, [&](uint32_t i) {
        const MergedDistance& other = merged_->distances[i];
        return other.node == distance.node && other.distance == distance.distance;
    });
}

bool DistanceTable::load(size_t extra) {
    GrowArray<MergedDistance>& distances = merged_->distances;
    const size_t most = distances.size() + extra;
    if (!index_.reserve(most) || !distances.reserve(most)) return false;
    for (size_t i = 0; i < distances.size(); i++) {
        const uint64_t hash = hash_of(distances[i]);
        if (find(hash, distances[i]) == HashIndex::kAbsent) {
            index_.insert(hash, static_cast<uint32_t>(i));
        }
    }
    return true;
}

void DistanceTable::add(const MergedDistance& distance) {
    GrowArray<MergedDistance>& distances = merged_->distances;
    const uint64_t hash = hash_of(distance);
    const uint32_t known = find(hash, distance);
    if (known != HashIndex::kAbsent) {
        add_distance(&distances[known], distance);
    } else if (distances.push(distance)) {
        index_.insert(hash, static_cast<uint32_t>(distances.size() - 1));
    }
}

void DistanceTable::add_peer(const MergedPeer& peer) {
    MergedDistance distance{};
    distance.node = peer.node;
    distance.distance = kNoPeer;
    const uint64_t world_size = merged_->world_size;
    if (peer.peer < world_size && (peer.peer >> kPeerRankBits) == 0 && peer.rank < world_size) {
        distance.distance =
            static_cast<uint32_t>((peer.peer + world_size - peer.rank) % world_size);
    }
    distance.pairs = 1;
    distance.count = peer.count;
    distance.time_ns = peer.time_ns;
    distance.sync_ns = peer.sync_ns;
    distance.bytes_sent = peer.bytes_sent;
    distance.bytes_received = peer.bytes_received;
    add(distance);
}

bool PhaseTable::load(size_t extra) {
    GrowArray<MergedPhase>& phases = merged_->phases;
    if (phases.empty() && extra == 0) return true;
    const size_t known = of_node_.size();
    if (!of_node_.resize(merged_->nodes.size()) || !phases.reserve(phases.size() + extra)) {
        return false;
    }
    for (size_t i = known; i < of_node_.size(); i++) of_node_[i] = kNoNode;
    for (size_t i = 0; known == 0 && i < phases.size(); i++) {
        of_node_[phases[i].node] = static_cast<uint32_t>(i);
    }
    return true;
}

MergedPhase* PhaseTable::find(uint32_t node) {
    return of_node_[node] == kNoNode ? nullptr : &merged_->phases[of_node_[node]];
}

void PhaseTable::add(const MergedPhase& phase) {
    of_node_[phase.node] = static_cast<uint32_t>(merged_->phases.size());
    merged_->phases.push(phase);
}

uint32_t find_grid(const Merged& merged, const MergedGrid& grid) {
    for (size_t i = 0; i < merged.grids.size(); i++) {
        const MergedGrid& other = merged.grids[i];
        if (other.name == grid.name && other.dimensions == grid.dimensions &&
            other.periodic == grid.periodic &&
            std::equal(grid.size, std::end(grid.size), other.size)) {
            return static_cast<uint32_t>(i);
        }
    }
    return kNoGrid;
}

void keep_heaviest_peers(Merged* merged, size_t own, GrowArray<MergedPeer>* room) {
    GrowArray<MergedPeer>& peers = merged->peers;
    const auto heavier = [](const MergedPeer& a, const MergedPeer& b) {
        if (a.node != b.node) return a.node < b.node;
        if (a.time_ns != b.time_ns) return a.time_ns > b.time_ns;
        if (a.rank != b.rank) return a.rank < b.rank;
        return a.peer < b.peer;
    };
    // The array is two sorted runs, except at the first call and where the trees differ. std::sort
    // would cost n log n, and such runs are about its worst case.
    MergedPeer* first = peers.begin();
    MergedPeer* const middle = first + own;
    MergedPeer* second = middle;
    if (!std::is_sorted(first, middle, heavier)) std::sort(first, middle, heavier);
    if (!std::is_sorted(middle, peers.end(), heavier)) std::sort(middle, peers.end(), heavier);
    size_t of_node = 0;
    while (first != middle || second != peers.end()) {
        const bool takes_first =
            second == peers.end() || (first != middle && !heavier(*second, *first));
        const MergedPeer& next = takes_first ? *first++ : *second++;
        const bool same = !room->empty() && (*room)[room->size() - 1].node == next.node;
        of_node = same ? of_node + 1 : 0;
        if (of_node < kHeaviestPeers) room->push(next);
    }
    peers.swap(*room);
}

void keep_heaviest_distances(Merged* merged) {
    GrowArray<MergedDistance>& distances = merged->distances;
    std::sort(distances.begin(), distances.end(),
              [](const MergedDistance& a, const MergedDistance& b) {
                  if (a.node != b.node) return a.node < b.node;
                  if (is_single(a) != is_single(b)) return is_single(a);
                  if (a.time_ns != b.time_ns) return a.time_ns > b.time_ns;
                  return a.distance < b.distance;
              });
    size_t kept = 0;
    for (size_t i = 0; i < distances.size();) {
        const uint32_t node = distances[i].node;
        MergedDistance other{};
        other.node = node;
        other.distance = kOtherDistances;
        bool folded = false;
        for (size_t of_node = 0; i < distances.size() && distances[i].node == node; i++) {
            const MergedDistance distance = distances[i];
            const bool folds = distance.distance == kOtherDistances ||
                               (is_single(distance) && of_node++ >= kDistancesPerNode);
            if (folds) {
                add_distance(&other, distance);
                folded = true;
            } else {
                distances[kept++] = distance;
            }
        }
        // At least one entry was removed before, so this does not overwrite an entry still to be
        // read.
        if (folded) distances[kept++] = other;
    }
    distances.resize(kept);
}

}  // namespace dwell
