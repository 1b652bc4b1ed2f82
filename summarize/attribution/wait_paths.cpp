// Finds intervals by path hash; see wait_paths.h. runtime/calltree/path_names.cpp computes the same
// hashes.
#include "summarize/attribution/wait_paths.h"

#include <cstring>
#include <vector>

#include "runtime/contract/path_hash.h"

namespace dwell {
namespace {

const char* text_from(const Merged& merged, uint64_t offset) {
    return offset < merged.text.size() ? merged.text.data() + offset : "";
}

std::vector<uint64_t> hash_modules(const Merged& merged) {
    std::vector<uint64_t> hashes;
    for (const MergedModule& module : merged.modules) {
        hashes.push_back(
            hash_module(module.build_id, module.build_id_bytes, text_from(merged, module.path)));
    }
    return hashes;
}

// The hash of every node except intervals and their descendants. Parents precede their children; a
// node that does not is damaged and treated as the root.
std::vector<uint64_t> hash_nodes(const Merged& merged) {
    const std::vector<uint64_t> modules = hash_modules(merged);
    std::vector<uint64_t> hashes(merged.nodes.size(), kRootPath);
    for (size_t i = 1; i < hashes.size(); ++i) {
        const MergedNode& node = merged.nodes[i];
        uint64_t place = node.offset;
        if (is_named(node)) {
            const char* const name = text_from(merged, node.offset);
            place = hash_path_bytes(name, std::strlen(name));
        }
        const uint64_t module = node.module < modules.size() ? modules[node.module] : 0;
        const uint64_t above = node.parent < i ? hashes[node.parent] : kRootPath;
        hashes[i] = hash_site(above, node.kind, node.call, module, place);
    }
    return hashes;
}

}  // namespace

WaitPaths::WaitPaths(const Merged& merged) {
    const std::vector<uint64_t> hashes = hash_nodes(merged);
    for (uint32_t i = 0; i < merged.nodes.size(); ++i) {
        const MergedNode& node = merged.nodes[i];
        if (node.kind != static_cast<uint8_t>(SiteKind::kInterval)) continue;
        const uint64_t from = node.offset < hashes.size() ? hashes[node.offset] : 0;
        const uint64_t to = node.parent < hashes.size() ? hashes[node.parent] : kRootPath;
        const auto [entry, is_new] =
            intervals_.try_emplace(hash_interval(from, to), Named{from, to, i, false});
        Named& named = entry->second;
        if (is_new) continue;
        if (named.from != from || named.to != to) named.ambiguous = true;
        const uint64_t known_ns = merged.nodes[named.interval].totals.time_ns;
        if (node.totals.time_ns > known_ns) named.interval = i;
    }
}

uint32_t WaitPaths::interval_of(uint32_t path) const {
    const auto found = intervals_.find(path);
    return found == intervals_.end() || found->second.ambiguous ? kNoNode : found->second.interval;
}

}  // namespace dwell
