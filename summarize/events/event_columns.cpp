// Columns of events; see event_columns.h.
#include "summarize/events/event_columns.h"

#include <cstring>

#include "runtime/contract/event_layout.h"

namespace dwell {
namespace {

// Before the columns, in this order: 4 bytes for each record (its lower 28 bits, and the number of
// further words above), 4 planes of a byte of each record's difference in time, 8 bytes for each
// difference that does not fit, and 8 planes of a byte of each further word.
struct Sizes {
    uint32_t records;
    uint32_t large;
    uint32_t more;
    uint32_t reserved;
};
constexpr uint32_t kLarge = UINT32_MAX;
constexpr uint32_t kHeadMask = (1u << kEventTimeShift) - 1;

uint64_t folded(int64_t difference) {
    return static_cast<uint64_t>(difference) << 1 ^ static_cast<uint64_t>(difference >> 63);
}
int64_t unfolded(uint64_t value) { return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1)); }

bool is_more(uint64_t word) { return event_kind(word) == EventKind::kMore; }

}  // namespace

void pack_words(const uint64_t* words, size_t count, std::string* columns) {
    std::vector<uint64_t> large;
    Sizes sizes{};
    for (size_t i = 0; i < count; ++i) (is_more(words[i]) ? sizes.more : sizes.records) += 1;
    columns->assign(sizeof sizes + size_t{sizes.records} * 8, '\0');
    char* const heads = columns->data() + sizeof sizes;
    auto* const planes = reinterpret_cast<uint8_t*>(heads) + size_t{sizes.records} * 4;
    std::string more(size_t{sizes.more} * 8, '\0');
    uint64_t before = 0;
    size_t record = 0;
    size_t further = 0;
    for (size_t i = 0; i < count;) {
        const uint64_t word = words[i++];
        uint32_t head = static_cast<uint32_t>(word) & kHeadMask;
        uint32_t following = 0;
        for (; i < count && is_more(words[i]); ++i, ++following) {
            for (int byte = 0; byte < 8; ++byte) {
                more[size_t{sizes.more} * byte + further] =
                    static_cast<char>(value_of_more(words[i]) >> (8 * byte));
            }
            ++further;
        }
        head |= following << kEventTimeShift;
        memcpy(heads + record * 4, &head, sizeof head);
        const uint64_t time = time_of_event(word);
        const uint64_t difference = folded(static_cast<int64_t>(time - before));
        before = time;
        const bool fits = difference < kLarge;
        if (!fits) large.push_back(difference);
        const uint32_t stored = fits ? static_cast<uint32_t>(difference) : kLarge;
        for (int byte = 0; byte < 4; ++byte) {
            planes[size_t{sizes.records} * byte + record] =
                static_cast<uint8_t>(stored >> (8 * byte));
        }
        ++record;
    }
    sizes.large = static_cast<uint32_t>(large.size());
    memcpy(columns->data(), &sizes, sizeof sizes);
    columns->append(reinterpret_cast<const char*>(large.data()), large.size() * sizeof(uint64_t));
    columns->append(more);
}

bool unpack_words(const char* columns, size_t bytes, std::vector<uint64_t>* words) {
    Sizes sizes;
    words->clear();
    if (bytes < sizeof sizes) return false;
    memcpy(&sizes, columns, sizeof sizes);
    if (sizes.records > kMostBlockWords || sizes.more > kMostBlockWords ||
        sizes.large > sizes.records ||
        bytes != sizeof sizes + (size_t{sizes.records} + sizes.large + sizes.more) * 8) {
        return false;
    }
    const char* const heads = columns + sizeof sizes;
    const auto* const planes = reinterpret_cast<const uint8_t*>(heads) + size_t{sizes.records} * 4;
    const char* large = heads + size_t{sizes.records} * 8;
    const auto* const more =
        reinterpret_cast<const uint8_t*>(large) + size_t{sizes.large} * sizeof(uint64_t);
    words->reserve(size_t{sizes.records} + sizes.more);
    uint64_t time = 0;
    size_t further = 0;
    size_t large_left = sizes.large;
    for (size_t record = 0; record < sizes.records; ++record) {
        uint32_t head = 0;
        memcpy(&head, heads + record * 4, sizeof head);
        uint32_t stored = 0;
        for (int byte = 0; byte < 4; ++byte) {
            stored |= uint32_t{planes[size_t{sizes.records} * byte + record]} << (8 * byte);
        }
        uint64_t difference = stored;
        if (stored == kLarge) {
            if (large_left == 0) return false;
            memcpy(&difference, large, sizeof difference);
            large += sizeof difference;
            large_left -= 1;
        }
        time += static_cast<uint64_t>(unfolded(difference));
        words->push_back(time << kEventTimeShift | (head & kHeadMask));
        const uint32_t following = head >> kEventTimeShift;
        if (following > sizes.more - further) return false;
        for (uint32_t i = 0; i < following; ++i, ++further) {
            uint64_t value = 0;
            for (int byte = 0; byte < 8; ++byte) {
                value |= uint64_t{more[size_t{sizes.more} * byte + further]} << (8 * byte);
            }
            words->push_back(event_more(value));
        }
    }
    return true;
}

}  // namespace dwell
