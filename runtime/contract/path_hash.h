// Hashes that identify a call path on every rank, whatever the load addresses: ranks exchange a
// partner's activity as such a hash, which is looked up in the merged profile (DESIGN 4). The hash
// is computed from the root outwards, so one pass covers a tree.
#ifndef DWELL_RUNTIME_CONTRACT_PATH_HASH_H_
#define DWELL_RUNTIME_CONTRACT_PATH_HASH_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace dwell {

constexpr uint64_t kRootPath = 0x64776c6c726f6f74ull;

inline uint64_t mix_path(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9ddfea08eb382d69ull;
    return hash ^ hash >> 29;
}

inline uint64_t hash_path_bytes(const void* bytes, size_t count) {
    uint64_t hash = count;
    const auto* at = static_cast<const unsigned char*>(bytes);
    for (size_t i = 0; i < count; ++i) hash = mix_path(hash, at[i]);
    return hash;
}

// Hash of a module by its build-id, or by its path when it has none.
inline uint64_t hash_module(const uint8_t* build_id, size_t bytes, const char* path) {
    return bytes != 0 ? hash_path_bytes(build_id, bytes) : hash_path_bytes(path, strlen(path));
}

// Hash of a node below the one whose path hash is `above`. `place` is the offset in the module, or
// the hash of the name of a named node; `call` the MpiCall of a communication node, else 0;
// `module` 0 when there is none.
inline uint64_t hash_site(uint64_t above, uint32_t kind, uint32_t call, uint64_t module,
                          uint64_t place) {
    return mix_path(mix_path(mix_path(above, uint64_t{kind} << 32 | call), module), place);
}

// Hash of the interval between two communication nodes (`from` 0: from the start of the thread) as
// it is sent to other ranks; never 0.
inline uint32_t hash_interval(uint64_t from, uint64_t to) {
    const uint64_t hash = mix_path(mix_path(kRootPath, from), to);
    const auto folded = static_cast<uint32_t>(hash ^ hash >> 32);
    return folded != 0 ? folded : 1;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_PATH_HASH_H_
