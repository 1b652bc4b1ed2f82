// Names of blocks and markers. Look-up takes no lock, a new name does.
#include <string.h>

#include <atomic>

#include "runtime/contract/enabling_profile.h"
#include "runtime/contract/visible_text.h"
#include "runtime/probes/blocks.h"
#include "runtime/probes/probe_control.h"

namespace dwell {

namespace {

constexpr uint32_t kNameSlots = 2 * kBlockNameLimit;
constexpr size_t kLongestFile_bytes = 1000;

BlockName g_names[kBlockNameLimit];
uint32_t g_name_count = 0;
std::atomic<BlockName*> g_slots[kNameSlots];

uint64_t hash_of(SiteKind kind, uint8_t node_flags, const char* text, size_t bytes) {
    uint64_t hash = 0x9e3779b97f4a7c15ull * (static_cast<uint64_t>(kind) + 256u * node_flags + 1);
    for (; bytes >= 8; bytes -= 8, text += 8) {
        uint64_t word;
        memcpy(&word, text, sizeof(word));
        hash = (hash ^ word) * 0x9ddfea08eb382d69ull;
        hash ^= hash >> 29;
    }
    uint64_t word = bytes;
    for (; bytes > 0; --bytes, ++text) word = word << 8 | static_cast<unsigned char>(*text);
    hash = (hash ^ word) * 0x9ddfea08eb382d69ull;
    return hash ^ hash >> 32;
}

// The name, or the slot for it; null when the table is full.
BlockName* find(uint64_t hash, SiteKind kind, uint8_t node_flags, const char* text, size_t bytes,
                std::atomic<BlockName*>** free_slot) {
    for (uint32_t i = 0; i < kNameSlots; ++i) {
        std::atomic<BlockName*>& slot = g_slots[(hash + i) % kNameSlots];
        BlockName* name = slot.load(std::memory_order_acquire);
        if (name == nullptr) {
            *free_slot = &slot;
            return nullptr;
        }
        if (name->hash == hash && name->bytes == bytes && name->kind == kind &&
            name->node_flags == node_flags && memcmp(name->text, text, bytes) == 0) {
            return name;
        }
    }
    return nullptr;
}

// `text` is the whole text, which starts with name_bytes of the name.
BlockName* add(Thread* thread, const BlockName& wanted, const char* file, uint32_t line) {
    const SlowProbe work(thread);
    const NamesLock lock;
    std::atomic<BlockName*>* slot = nullptr;
    BlockName* found =
        find(wanted.hash, wanted.kind, wanted.node_flags, wanted.text, wanted.bytes, &slot);
    if (found != nullptr || slot == nullptr) return found;
    if (g_name_count == kBlockNameLimit) {
        __atomic_fetch_or(&g_process.header->flags, uint32_t{kFileNamesFull}, __ATOMIC_RELAXED);
        return nullptr;
    }
    const CellIndex cell = write_text(thread, wanted.text, wanted.bytes);
    if (cell == 0) return nullptr;
    BlockName* name = &g_names[g_name_count];
    *name = wanted;
    name->cell = cell;
    name->text = cell_at<const char>(cell) + offsetof(TextRecord, text);
    char only_name[kLongestName_bytes + 1];
    memcpy(only_name, wanted.text, wanted.name_bytes);
    only_name[wanted.name_bytes] = '\0';
    const SiteFacts facts = {wanted.kind, 0, line, only_name, nullptr, file};
    name->level = enabled_level_of(facts);
    name->event_flags = event_flags_of(facts, (wanted.node_flags & kNodePhase) != 0);
    g_name_count += 1;
    slot->store(name, std::memory_order_release);
    return name;
}

}  // namespace

BlockName* block_name(SiteKind kind, uint8_t node_flags, GivenName given, const char* file,
                      uint32_t line) {
    const char* const literal = file != nullptr ? given.text : nullptr;
    const GivenName name = clean_name(given);
    char whole[kLongestName_bytes + kLongestFile_bytes + 16];
    const char* text = name.text;
    size_t bytes = name.bytes;
    if (file != nullptr) {
        const size_t file_bytes = strnlen(file, kLongestFile_bytes);
        memcpy(whole, name.text, name.bytes);
        whole[name.bytes] = '\n';
        memcpy(whole + name.bytes + 1, file, file_bytes);
        char* const end = whole + name.bytes + 1 + file_bytes;
        *end = ':';
        text = whole;
        bytes = static_cast<size_t>(put_number(end + 1, line) - whole);
    }
    const uint64_t hash = hash_of(kind, node_flags, text, bytes);
    std::atomic<BlockName*>* slot = nullptr;
    BlockName* found = find(hash, kind, node_flags, text, bytes, &slot);
    if (found != nullptr) return found;
    Thread* thread = probing_thread(reinterpret_cast<uint64_t>(__builtin_frame_address(0)));
    if (thread == nullptr) return nullptr;
    const BlockName wanted = {hash,
                              text,
                              literal,
                              static_cast<uint32_t>(bytes),
                              static_cast<uint32_t>(name.bytes),
                              0,
                              kind,
                              node_flags,
                              kLevelFull,
                              0};
    found = add(thread, wanted, file, line);
    if (found == nullptr) thread->record->probes_dropped += 1;
    return found;
}

uint32_t number_of(const BlockName* name) {
    return name != nullptr ? static_cast<uint32_t>(name - g_names) + 1 : 0;
}

BlockName* name_of(uint32_t number) {
    return number != 0 && number <= kBlockNameLimit && g_names[number - 1].cell != 0
               ? &g_names[number - 1]
               : nullptr;
}

}  // namespace dwell
