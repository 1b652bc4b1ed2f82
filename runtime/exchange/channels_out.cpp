// The sender's side of channels.h: entries, dropped runs and answers.
#include "runtime/exchange/channels.h"
#include "runtime/process/shared_words.h"

namespace dwell {

namespace {

constexpr uint64_t kMostAtFirst = 256;  // upper limit of the first measured delay

ChannelEntry* write_entry(Channel* channel, uint32_t* number) {
    const uint64_t next = channel->written + 1;
    if (static_cast<uint32_t>(next) - channel->taken_seen > kRingEntries) [[unlikely]] {
        channel->taken_seen = __atomic_load_n(&channel->out->taken, __ATOMIC_ACQUIRE);
        if (static_cast<uint32_t>(next) - channel->taken_seen > kRingEntries) return nullptr;
    }
    channel->written = next;
    *number = static_cast<uint32_t>(next);
    return entry_at(channel->out, next);
}

DWELL_COLD void drop(Channel* channel, uint32_t comm, int tag) {
    DroppedRun* dropped_run = &channel->dropped_run;
    dropped_run->comm = kDroppedEntry;
    DroppedCount* found = nullptr;
    for (DroppedCount& missing : dropped_run->missing) {
        if (missing.count == 0) missing = {comm, tag, 0};
        if (missing.comm != comm || missing.tag != tag) continue;
        found = &missing;
        break;
    }
    if (found != nullptr && found->count != INT32_MAX) {
        found->count += 1;
    } else {
        dropped_run->others += 1;
    }
    __atomic_store_n(&channel->out->dropped, channel->out->dropped + 1, __ATOMIC_RELEASE);
}

// There is room again: earlier drops are reported first. False when no room is left after that.
DWELL_COLD bool write_dropped_run(Channel* channel) {
    uint32_t number = 0;
    ChannelEntry* entry = write_entry(channel, &number);
    if (entry == nullptr) return false;
    channel->dropped_run.order = (channel->sent - 1) << kOrderShift;
    channel->dropped_run.number = entry->number;  // stays invalid until all else is written
    *as_dropped_run(entry) = channel->dropped_run;
    channel->dropped_run = DroppedRun{};
    channel->row.count = 0;
    __atomic_store_n(&entry->number, number, __ATOMIC_RELEASE);
    return true;
}

// Counts one more entry of this kind. True when the kSkipped entries before it were of the same
// kind.
bool continues_row(Channel* channel, uint32_t comm, int tag) {
    DroppedCount* row = &channel->row;
    if (row->comm != comm || row->tag != tag) *row = {comm, tag, 0};
    if (row->count == static_cast<int32_t>(kSkipped)) [[likely]]
        return true;
    row->count += 1;
    return false;
}

}  // namespace

Announced announce(Channel* channel, const EnterStamp& stamp, uint32_t comm, int tag,
                   bool wants_answer) {
    const ChannelLock lock(channel);
    if (!lock.held()) return {nullptr, 0};
    channel->sent += 1;
    ChannelEntry* entry = nullptr;
    uint32_t number = 0;
    if (channel->dropped_run.comm == 0 || write_dropped_run(channel)) [[likely]]
        entry = write_entry(channel, &number);
    if (entry == nullptr) [[unlikely]] {
        drop(channel, comm, tag);
        return {nullptr, 0};
    }
    entry->stamp = stamp;
    entry->comm = comm;
    entry->tag = tag;
    const bool in_row = continues_row(channel, comm, tag);
    entry->order = channel->sent << kOrderShift | (wants_answer ? uint32_t{kWantsAnswer} : 0) |
                   (in_row ? uint32_t{kInRow} : 0);
    __atomic_store_n(&entry->number, number, __ATOMIC_RELEASE);
    if (wants_answer) __atomic_store_n(&channel->out->asked, number, __ATOMIC_RELEASE);
    // Prefetches the next entry: the receiver had its line last, and the message would be delayed
    // by fetching it.
    fetch_to_write(entry_at(channel->out, channel->written + 1));
    return {entry, number};
}

uint64_t time_of_writing(Channel* channel) {
    const uint64_t now = now_ticks();
    if (channel->written % kFenceEvery != 0) [[likely]]
        return now + channel->drain_ticks;
    full_fence();
    const uint64_t fenced = now_ticks();
    const uint64_t most = 2 * uint64_t{channel->drain_ticks} + kMostAtFirst;  // excludes interrupts
    const uint64_t sample = earlier(beyond(fenced - now, g_process.fence_cost_ticks), most);
    channel->drain_ticks = static_cast<uint32_t>((7 * uint64_t{channel->drain_ticks} + sample) / 8);
    return fenced;
}

void withdraw(Channel* channel, const Announced& announced) {
    const ChannelLock lock(channel);
    channel->row.count = 0;
    if (announced.entry == nullptr || announced.entry->number != announced.number) return;
    __atomic_store_n(&announced.entry->comm, kFailedEntry, __ATOMIC_RELAXED);
}

DualTime sent_at(const Announced& announced) {
    const ChannelEntry* entry = announced.entry;
    return entry != nullptr && entry->number == announced.number ? entry->stamp.at : DualTime{0, 0};
}

namespace {

// False while the answer is rewritten all the time.
bool read_answer(const Answer& answer, Answer* copy) {
    constexpr int kTries = 4;
    for (int i = 0; i < kTries; ++i) {
        copy->real = __atomic_load_n(&answer.real, __ATOMIC_ACQUIRE);
        copy->lost = __atomic_load_n(&answer.lost, __ATOMIC_ACQUIRE);
        copy->path = __atomic_load_n(&answer.path, __ATOMIC_ACQUIRE);
        const uint64_t real = __atomic_load_n(&answer.real, __ATOMIC_RELAXED);
        if (real != 0 && real == copy->real) return true;
    }
    return false;
}

}  // namespace

bool is_answered(const Announced& announced) {
    const ChannelEntry* entry = announced.entry;
    if (entry == nullptr || entry->number != announced.number) return false;
    return (__atomic_load_n(&entry->order, __ATOMIC_ACQUIRE) & kAnswered) != 0;
}

bool answer_of(const Channel* channel, const Announced& announced, EnterStamp* answer) {
    Answer read;
    if (!is_answered(announced) || !read_answer(announced.entry->answer, &read)) return false;
    const uint32_t about_lost = __atomic_load_n(&channel->out->about_lost, __ATOMIC_RELAXED);
    *answer = stamp_of_answer(read, lost_near(read.lost, about_lost));
    return true;
}

}  // namespace dwell
