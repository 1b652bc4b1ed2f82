// Encodes, joins and reads the packed rank descriptions of rank_list.h. Plain code without
// exceptions (DESIGN 2); bytes of another process are checked before they are used.
#include "summarize/merge/rank_list.h"

#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace dwell {
namespace {

constexpr int kNumbers = 57;
constexpr int kNames = 3;
constexpr size_t kPieceBytes = 16 * 1024;
constexpr uint64_t kCopiedBytes = 2 * 1024;  // lists up to this size are copied, not moved

// Fields in the order of their bits: the fields that differ most often come first, so the field
// mask of most entries needs two bytes.
template <typename Rank, typename Visit>
constexpr void each_number(Rank& rank, Visit visit) {
    visit(rank.rank), visit(rank.pid), visit(rank.start_unix_ns), visit(rank.real_ns);
    visit(rank.intrusion_ns), visit(rank.own_ns), visit(rank.samples), visit(rank.samples_in_calls);
    visit(rank.call_cost_ns_q8), visit(rank.usage_ns);
    visit(rank.usage.user_ns), visit(rank.usage.system_ns), visit(rank.usage.peak_memory_bytes);
    visit(rank.usage.minor_faults), visit(rank.usage.voluntary_switches);
    visit(rank.usage.involuntary_switches), visit(rank.usage.read_bytes);
    visit(rank.usage.written_bytes), visit(rank.usage.reads), visit(rank.usage.writes);
    visit(rank.usage.storage_read_bytes), visit(rank.usage.storage_written_bytes);
    visit(rank.usage.major_faults), visit(rank.record_bytes), visit(rank.paused_ns);
    visit(rank.probes), visit(rank.probes_missed), visit(rank.threads), visit(rank.threads_served);
    visit(rank.state), visit(rank.flags), visit(rank.exit_code), visit(rank.sample_hz);
    visit(rank.callpath_depth), visit(rank.samples_lost), visit(rank.folded_paths);
    visit(rank.dropped), visit(rank.guessed), visit(rank.clock_errors), visit(rank.probes_dropped);
    visit(rank.injected_ns), visit(rank.files_unnamed), visit(rank.threads_cut);
    visit(rank.io_unobserved), visit(rank.process_thread);
    visit(rank.clock_offset_ns), visit(rank.clock_drift_ns), visit(rank.clock_bound_ns);
    visit(rank.order_kept), visit(rank.order_remote), visit(rank.order_posted);
    visit(rank.order_unknown), visit(rank.queued_ns), visit(rank.queued_call_ns);
    visit(rank.stalls_dropped), visit(rank.processors), visit(rank.first_processor);
}

constexpr int count_numbers() {
    MergedRank rank{};
    int count = 0;
    each_number(rank, [&](const auto&) { count++; });
    return count;
}
static_assert(count_numbers() == kNumbers);
static_assert(sizeof(MergedRank) == 10 * 4 + (kNumbers - 10) * 8 + kNames * 8,
              "a field is left out");

struct Numbers {
    uint64_t value[kNumbers];
};

Numbers numbers_of(const MergedRank& rank) {
    Numbers numbers;
    int i = 0;
    each_number(rank,
                [&](const auto& field) { numbers.value[i++] = static_cast<uint64_t>(field); });
    return numbers;
}

void set_numbers(const Numbers& numbers, MergedRank* rank) {
    int i = 0;
    each_number(*rank, [&](auto& field) {
        field = static_cast<std::remove_reference_t<decltype(field)>>(numbers.value[i++]);
    });
}

constexpr const char* MergedRank::*kNameFields[kNames] = {&MergedRank::host, &MergedRank::program,
                                                          &MergedRank::command};

uint64_t fold_sign(uint64_t difference) { return (difference << 1) ^ (0 - (difference >> 63)); }
uint64_t unfold_sign(uint64_t folded) { return (folded >> 1) ^ (0 - (folded & 1)); }

bool write_number(uint64_t number, GrowArray<char>* out) {
    for (; number >= 0x80; number >>= 7) {
        if (!out->push(static_cast<char>(number | 0x80))) return false;
    }
    return out->push(static_cast<char>(number));
}

bool encode(const MergedRank& rank, const MergedRank& previous, GrowArray<char>* out) {
    const Numbers now = numbers_of(rank);
    const Numbers before = numbers_of(previous);
    uint64_t differs = 0;
    for (int i = 0; i < kNumbers; i++) {
        differs |= static_cast<uint64_t>(now.value[i] != before.value[i]) << i;
    }
    for (int i = 0; i < kNames; i++) {
        const bool other = strcmp(rank.*kNameFields[i], previous.*kNameFields[i]) != 0;
        differs |= static_cast<uint64_t>(other) << (kNumbers + i);
    }
    if (!write_number(differs, out)) return false;
    for (int i = 0; i < kNumbers; i++) {
        if ((differs >> i & 1) == 0) continue;
        if (!write_number(fold_sign(now.value[i] - before.value[i]), out)) return false;
    }
    for (int i = 0; i < kNames; i++) {
        if ((differs >> (kNumbers + i) & 1) == 0) continue;
        const char* name = rank.*kNameFields[i];
        const size_t length = strlen(name);
        if (!write_number(length, out) || !out->append(name, length + 1)) return false;
    }
    return true;
}

class Cursor {
  public:
    Cursor(const char* at, size_t size) : at_(at), end_(at + size) {}
    const char* at() const { return at_; }
    bool at_end() const { return at_ == end_; }

    bool number(uint64_t* out) {
        uint64_t value = 0;
        for (int shift = 0; shift < 64 && at_ != end_; shift += 7) {
            const auto byte = static_cast<unsigned char>(*at_++);
            if (shift == 63 && byte > 1) return false;
            value |= static_cast<uint64_t>(byte & 0x7f) << shift;
            if (byte >= 0x80) continue;
            *out = value;
            return true;
        }
        return false;
    }
    bool name(const char** out) {
        uint64_t length;
        if (!number(&length) || length >= static_cast<uint64_t>(end_ - at_)) return false;
        if (at_[length] != '\0') return false;
        *out = at_;
        at_ += length + 1;
        return true;
    }

  private:
    const char* at_;
    const char* end_;
};

// On entry `rank` holds the previous entry. Its names then lie in the bytes of the cursor, or stay
// where they were.
bool decode(Cursor* cursor, MergedRank* rank) {
    uint64_t differs;
    if (!cursor->number(&differs) || differs >> (kNumbers + kNames) != 0) return false;
    Numbers numbers = numbers_of(*rank);
    for (int i = 0; i < kNumbers; i++) {
        uint64_t folded;
        if ((differs >> i & 1) == 0) continue;
        if (!cursor->number(&folded)) return false;
        numbers.value[i] += unfold_sign(folded);
    }
    set_numbers(numbers, rank);
    for (int i = 0; i < kNames; i++) {
        const bool other = (differs >> (kNumbers + i) & 1) != 0;
        if (other && !cursor->name(&(rank->*kNameFields[i]))) return false;
    }
    return true;
}

// Decodes bytes that must hold exactly one entry.
bool decode_whole(const GrowArray<char>& bytes, MergedRank* rank) {
    Cursor cursor(bytes.data(), bytes.size());
    return decode(&cursor, rank) && cursor.at_end();
}

}  // namespace

RankList::~RankList() {
    for (const Piece& piece : pieces_) free(piece.data);
}

void RankList::swap(RankList& other) noexcept {
    pieces_.swap(other.pieces_);
    std::swap(count_, other.count_);
    std::swap(bytes_, other.bytes_);
    last_.swap(other.last_);
}

// Makes room for `bytes` after the last piece, without moving more than kPieceBytes.
bool RankList::make_room(size_t bytes) {
    Piece* tail = pieces_.empty() ? nullptr : pieces_.end() - 1;
    if (tail != nullptr && tail->capacity - tail->end >= bytes) return true;
    if (tail != nullptr && tail->end + bytes <= kPieceBytes) {
        const size_t wanted = std::max(tail->end + bytes, 2 * tail->capacity);
        void* grown = realloc(tail->data, wanted);
        if (grown == nullptr) return false;
        tail->data = static_cast<char*>(grown);
        tail->capacity = wanted;
        return true;
    }
    char* data = static_cast<char*>(malloc(bytes));
    if (data == nullptr) return false;
    if (pieces_.push(Piece{data, 0, 0, bytes})) return true;
    free(data);
    return false;
}

// Only after make_room().
void RankList::append(const char* bytes, size_t size) {
    Piece* tail = pieces_.end() - 1;
    memcpy(tail->data + tail->end, bytes, size);
    tail->end += size;
    bytes_ += size;
}

bool RankList::add(const MergedRank& rank) {
    MergedRank previous{};
    GrowArray<char> entry, whole;
    if (count_ == UINT32_MAX || (count_ != 0 && !decode_whole(last_, &previous))) return false;
    if (!encode(rank, previous, &entry) || !encode(rank, MergedRank{}, &whole)) return false;
    if (!make_room(entry.size())) return false;
    append(entry.data(), entry.size());
    last_.swap(whole);
    count_++;
    return true;
}

bool RankList::take(RankList* from) {
    if (from->empty()) return true;
    if (empty()) {
        swap(*from);
        return true;
    }
    if (from->count_ > UINT32_MAX - count_) return false;
    // The first entry of `from` follows another entry now, so it is encoded again.
    MergedRank last{}, first{};
    Piece* head = from->pieces_.begin();
    Cursor cursor(head->data + head->begin, head->end - head->begin);
    GrowArray<char> joint;
    if (!decode_whole(last_, &last) || !decode(&cursor, &first)) return false;
    if (!encode(first, last, &joint)) return false;
    const size_t replaced = static_cast<size_t>(cursor.at() - head->data) - head->begin;
    const size_t rest = from->bytes_ - replaced;
    const bool copies = rest <= kCopiedBytes;
    if (!pieces_.reserve(pieces_.size() + 1 + from->pieces_.size())) return false;
    if (!make_room(joint.size() + (copies ? rest : 0))) return false;

    append(joint.data(), joint.size());
    head->begin += replaced;
    for (const Piece& piece : from->pieces_) {
        const bool moves = !copies && piece.begin != piece.end;
        if (moves) pieces_.push(piece);
        if (copies) append(piece.data + piece.begin, piece.end - piece.begin);
        if (!moves) free(piece.data);
    }
    if (!copies) bytes_ += rest;
    count_ += from->count_;
    last_.swap(from->last_);
    from->pieces_.clear();
    from->count_ = 0;
    from->bytes_ = 0;
    from->last_.clear();
    return true;
}

bool RankList::adopt(uint32_t count, GrowArray<char>* bytes, GrowArray<char>* last) {
    MergedRank rank{};
    if (count == 0 && (!bytes->empty() || !last->empty())) return false;
    if (count != 0 && (bytes->size() < count || !decode_whole(*last, &rank))) return false;
    GrowArray<Piece> pieces;
    const size_t size = bytes->size();
    if (count != 0 && !pieces.push(Piece{bytes->data(), 0, size, size})) return false;
    if (count != 0) bytes->release();
    RankList adopted;
    adopted.pieces_.swap(pieces);
    adopted.count_ = count;
    adopted.bytes_ = size;
    adopted.last_.swap(*last);
    swap(adopted);
    return true;
}

bool RankList::is_readable() const {
    RankReader reader(*this);
    MergedRank rank;
    while (reader.next(&rank)) {
    }
    return reader.at_end();
}

bool RankList::keep_readable() {
    if (is_readable()) return true;
    RankList kept;
    RankReader reader(*this);
    MergedRank rank;
    while (reader.next(&rank) && kept.add(rank)) {
    }
    swap(kept);
    return false;
}

bool RankReader::next(MergedRank* rank) {
    if (read_ == list_.count_ || piece_ == list_.pieces_.size()) return false;
    const RankList::Piece& piece = list_.pieces_[piece_];
    Cursor cursor(piece.data + piece.begin + at_, piece.end - piece.begin - at_);
    if (!decode(&cursor, &previous_)) return false;
    at_ = static_cast<size_t>(cursor.at() - piece.data) - piece.begin;
    if (cursor.at_end()) {
        piece_++;
        at_ = 0;
    }
    read_++;
    *rank = previous_;
    return true;
}

}  // namespace dwell
