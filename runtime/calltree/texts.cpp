// Writes texts to the record file.
#include "runtime/calltree/texts.h"

#include <sched.h>
#include <string.h>

#include <atomic>

namespace dwell {

namespace {

std::atomic<uint32_t> g_names_in_use{0};

}  // namespace

CellIndex write_text(Thread* thread, const char* text, size_t bytes) {
    const size_t whole = offsetof(TextRecord, text) + bytes + 1;
    const CellIndex cell =
        take_cells(thread, static_cast<uint32_t>((whole + kCellBytes - 1) / kCellBytes));
    if (cell == 0) return 0;
    auto* record = cell_at<TextRecord>(cell);
    record->bytes = static_cast<uint32_t>(bytes);
    char* const start = reinterpret_cast<char*>(record) + offsetof(TextRecord, text);
    memcpy(start, text, bytes);
    start[bytes] = '\0';
    CellIndex* const first = &g_process.header->first_text;
    record->next = __atomic_load_n(first, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(first, &record->next, cell, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
    return cell;
}

GivenName clean_name(GivenName name) {
    constexpr GivenName kNoName = {"(no name)", 9};
    if (name.text == nullptr) return kNoName;
    if (name.bytes > kLongestName_bytes) name.bytes = kLongestName_bytes;
    const void* end = memchr(name.text, '\n', name.bytes);
    if (end != nullptr) name.bytes = static_cast<size_t>(static_cast<const char*>(end) - name.text);
    return name.bytes != 0 ? name : kNoName;
}

NamesLock::NamesLock() {
    while (g_names_in_use.exchange(1, std::memory_order_acquire) != 0) sched_yield();
}
NamesLock::~NamesLock() { g_names_in_use.store(0, std::memory_order_release); }

}  // namespace dwell
