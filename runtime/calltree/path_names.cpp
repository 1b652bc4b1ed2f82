// Path hashes of this process's nodes, which are equal on all ranks (path_hash.h).
#include <string.h>

#include "runtime/calltree/nodes.h"
#include "runtime/contract/path_hash.h"

namespace dwell {

namespace {

uint64_t hash_of_module(uint16_t number) {
    for (CellIndex at = number != 0 ? g_process.header->first_module : 0; at != 0;) {
        const auto* module = cell_at<ModuleRecord>(at);
        if (module->number == number) {
            return hash_module(module->build_id, module->build_id_bytes,
                               reinterpret_cast<const char*>(module + 1));
        }
        at = module->next;
    }
    return 0;
}

uint64_t hash_of_path(CellIndex node) {
    const Node* leaf = cell_at<Node>(node);
    if (leaf->parent == 0) return kRootPath;
    const Site& site = leaf->site;
    uint64_t place = site.offset;
    if ((site.flags & kNodeNamed) != 0) {
        const char* text = cell_at<TextRecord>(static_cast<CellIndex>(site.offset))->text;
        place = hash_path_bytes(text, strlen(text));
    }
    return hash_site(hash_of_path(leaf->parent), static_cast<uint32_t>(site.kind), site.call,
                     hash_of_module(site.module), place);
}

}  // namespace

uint32_t path_of_interval(CellIndex from, CellIndex to) {
    return hash_interval(from != 0 ? hash_of_path(from) : 0, hash_of_path(to));
}

}  // namespace dwell
