// The receiver's side of channels.h: which entry a receive matches, and what happens when messages
// were dropped or received unseen.
#include "runtime/exchange/channels.h"

#include <string.h>
#include <sys/mman.h>

#include "runtime/contract/path_hash.h"
#include "runtime/exchange/posted_receives.h"
#include "runtime/mpi/mpi_api.h"
#include "runtime/process/shared_words.h"

namespace dwell {

DWELL_CALL_DATA Channel** g_channels = nullptr;
Channel* g_first_channel = nullptr;
DWELL_CALL_DATA uint32_t g_channel_count = 0;
Channel g_no_channel;
DWELL_CALL_DATA uint32_t g_lost_sync_count = 0;

namespace {

constexpr uint64_t kPairKey = 0x70616972;
constexpr uint32_t kPublishEvery = 8;  // entries freed by one store of the receiver

uint32_t order_of(const ChannelEntry* entry) { return entry->order >> kOrderShift; }

bool is_order_before(uint32_t a, uint32_t b) {
    return is_before(a << kOrderShift, b << kOrderShift);
}

// The entry of that number, null when it is not written yet.
ChannelEntry* written_entry(Ring* ring, uint64_t number) {
    ChannelEntry* entry = entry_at(ring, number);
    const uint32_t written = __atomic_load_n(&entry->number, __ATOMIC_ACQUIRE);
    return written == static_cast<uint32_t>(number) ? entry : nullptr;
}

bool is_dropped_run(const ChannelEntry* entry) { return entry->comm == kDroppedEntry; }

bool may_be_out_of_step(const Channel* channel) {
    return channel->paused_ticks != g_live->paused_ticks ||
           channel->lost_sync_count != __atomic_load_n(&g_lost_sync_count, __ATOMIC_RELAXED);
}

// The next receive gets the first matching entry, present or future.
bool is_plain(const Channel* channel) {
    return channel->in_step && channel->taken == 0 && channel->lost_count == 0 &&
           channel->posted_count == 0 && channel->overflow_receives == 0 &&
           channel->received_early == 0 && !may_be_out_of_step(channel);
}

bool is_taken(const Channel* channel, uint64_t number) {
    return number <= channel->low || (channel->taken >> (number - channel->low - 1) & 1) != 0;
}

void publish_taken(Channel* channel) {
    __atomic_store_n(&channel->in->taken, static_cast<uint32_t>(channel->low), __ATOMIC_RELEASE);
}

void mark_taken(Channel* channel, uint64_t number) {
    channel->taken |= 1u << (number - channel->low - 1);
    while ((channel->taken & 1) != 0) {
        channel->taken >>= 1;
        channel->low += 1;
        if (channel->low % kPublishEvery == 0) publish_taken(channel);
    }
}

// If there are too many kinds of lost messages, some are forgotten, and later messages of such a
// kind may be taken for them. Given-up messages and those received before their dropped run are
// counted separately.
DWELL_COLD void add_lost(Channel* channel, uint32_t comm, int tag, int32_t count) {
    for (uint32_t i = 0; i < channel->lost_count; ++i) {
        DroppedCount* lost = &channel->lost[i];
        if (lost->comm != comm || lost->tag != tag || (lost->count < 0) != (count < 0)) continue;
        lost->count += count;
        return;
    }
    if (channel->lost_count >= (count > 0 ? kGivenUp : kLost)) {
        if (count < 0) channel->received_early += 1;
        return;
    }
    channel->lost[channel->lost_count++] = {comm, tag, count};
}

template <typename Count>
uint64_t take_from(Count* count, uint64_t wanted) {
    const uint64_t taken = earlier(wanted, static_cast<uint64_t>(*count));
    *count -= static_cast<Count>(taken);
    return taken;
}

// The receiver reads a dropped run for the first time: some of its messages may have been received
// already.
DWELL_COLD void take_dropped_run(Channel* channel, DroppedRun* dropped_run) {
    if (dropped_run->seen != 0) return;
    dropped_run->seen = 1;
    const bool ignored_drops = is_before(channel->accounted_drops, channel->ignored_drops);
    channel->accounted_drops += static_cast<uint32_t>(dropped_run->others);
    for (DroppedCount& missing : dropped_run->missing) {
        channel->accounted_drops += static_cast<uint32_t>(missing.count);
        if (ignored_drops) missing.count = 0;
    }
    if (ignored_drops) dropped_run->others = 0;
    for (uint32_t i = channel->lost_count; i-- > 0;) {
        DroppedCount& lost = channel->lost[i];
        if (lost.count > 0) continue;
        auto received = static_cast<uint64_t>(-lost.count);
        for (DroppedCount& missing : dropped_run->missing) {
            if (missing.comm != lost.comm || missing.tag != lost.tag) continue;
            received -= take_from(&missing.count, received);
        }
        take_from(&dropped_run->others, received);
        lost = channel->lost[--channel->lost_count];
    }
    uint64_t received_early = channel->received_early;
    channel->received_early = 0;
    received_early -= take_from(&dropped_run->others, received_early);
    for (DroppedCount& missing : dropped_run->missing)
        received_early -= take_from(&missing.count, received_early);
}

// A message that stays unreceived while a full ring of later ones is received gives up its entry;
// otherwise all later ones would be dropped. The same for a message whose receive was not
// recognised.
void give_up_oldest(Channel* channel) {
    ChannelEntry* oldest = written_entry(channel->in, channel->low + 1);
    if (oldest == nullptr) return;
    if (is_dropped_run(oldest)) [[unlikely]] {
        take_dropped_run(channel, as_dropped_run(oldest));
        for (const DroppedCount& missing : as_dropped_run(oldest)->missing) {
            if (missing.count != 0) add_lost(channel, missing.comm, missing.tag, missing.count);
        }
        mark_taken(channel, channel->low + 1);
    } else if (is_order_before(order_of(oldest) + kRingEntries, channel->received)) [[unlikely]] {
        if (oldest->comm != kFailedEntry) add_lost(channel, oldest->comm, oldest->tag, 1);
        mark_taken(channel, channel->low + 1);
    }
}

// Gives up all entries up to that number.
void give_up_entries(Channel* channel, uint64_t number) {
    while (channel->low < number) {
        ChannelEntry* entry = entry_at(channel->in, channel->low + 1);
        if (is_dropped_run(entry)) take_dropped_run(channel, as_dropped_run(entry));
        mark_taken(channel, channel->low + 1);
    }
}

uint64_t last_written(const Channel* channel) {
    uint64_t last = channel->low;
    while (last < channel->low + kRingEntries && written_entry(channel->in, last + 1) != nullptr) {
        ++last;
    }
    return last;
}

// After a pause: messages sent before its end may have been received during it.
void give_up_paused(Channel* channel) {
    keep_detached(channel);
    for (uint32_t i = 0; i < kRingEntries; ++i) {
        ChannelEntry* entry = written_entry(channel->in, channel->low + 1);
        if (entry == nullptr) return;
        if (!is_dropped_run(entry) && entry->stamp.at.real >= g_live->resumed_ticks) return;
        give_up_entries(channel, channel->low + 1);
    }
}

// Messages may have been received unseen.
DWELL_COLD void leave_step(Channel* channel, uint32_t lost_sync_count) {
    const bool paused = channel->paused_ticks != g_live->paused_ticks;
    // False after a mere pause without pending receives: all receives posted since are known.
    const bool any_received = channel->lost_sync_count != lost_sync_count ||
                              channel->posted_count != 0 || g_process.concurrent;
    channel->paused_ticks = g_live->paused_ticks;
    channel->lost_sync_count = lost_sync_count;
    channel->in_step = false;
    channel->lost_count = channel->received_early = 0;
    channel->ignored_drops = __atomic_load_n(&channel->in->dropped, __ATOMIC_ACQUIRE);
    if (paused) give_up_paused(channel);
    add_detached_anywhere(channel);
    const uint64_t last = last_written(channel);
    for (uint64_t number = channel->low + 1; number <= last; ++number) {
        ChannelEntry* entry = entry_at(channel->in, number);
        if (is_dropped_run(entry)) take_dropped_run(channel, as_dropped_run(entry));
    }
    // The entry of the next receive may be among the dropped ones.
    if (channel->ignored_drops != channel->accounted_drops) give_up_entries(channel, last);
    if (any_received || channel->overflow_receives != 0) channel->unverified_up_to = last;
}

void check_step(Channel* channel) {
    if (may_be_out_of_step(channel)) [[unlikely]]
        leave_step(channel, __atomic_load_n(&g_lost_sync_count, __ATOMIC_RELAXED));
}

// Whether messages were dropped of which no dropped run has been read.
bool may_be_dropped(const Channel* channel) {
    return __atomic_load_n(&channel->in->dropped, __ATOMIC_ACQUIRE) != channel->accounted_drops;
}

// Finds the message that a receive got. MPI gives a message to the first posted receive that
// matches, so receives posted earlier are matched first, without effect.
class ReceiveMatcher {
  public:
    ReceiveMatcher(Channel* channel, uint32_t comm, int tag, uint32_t post_order)
        : channel_(channel), comm_(comm), tag_(tag) {
        while (before_ < channel->posted_count &&
               channel->posted[before_].post_order != post_order) {
            ++before_;
        }
        if (channel->detached_count != 0) [[unlikely]]
            memset(match_counts_, 0, sizeof match_counts_);
    }

    // The entry, or null; then is_missing() says whether the message was counted as missing.
    ChannelEntry* find() {
        if (!channel_->in_step) [[unlikely]]
            return find_newest();
        if (channel_->lost_count != 0) [[unlikely]] {
            if (is_among(channel_->lost, channel_->lost_count)) return nullptr;
        }
        for (uint64_t number = channel_->low + 1; number <= channel_->low + kRingEntries;
             ++number) {
            ChannelEntry* entry = written_entry(channel_->in, number);
            if (entry == nullptr) return nullptr;
            if (is_taken(channel_, number)) continue;
            if (entry->comm >= kDroppedEntry) [[unlikely]] {
                if (is_dropped_run(entry) && is_in_dropped_run(as_dropped_run(entry)))
                    return nullptr;
                if (!is_dropped_run(entry)) mark_taken(channel_, number);
            } else if (!is_matched_earlier(entry->comm, entry->tag) && entry->comm == comm_ &&
                       (entry->tag == tag_ || tag_ == MPI_ANY_TAG)) {
                number_ = number;
                return entry;
            }
        }
        return nullptr;
    }
    // If the match is uncertain: the newest entry, or null when the receive's own entry may be
    // missing.
    DWELL_COLD ChannelEntry* newest_instead() {
        const uint64_t number = number_;
        if (number == 0 || may_be_dropped(channel_)) return nullptr;
        ChannelEntry* newest = find_newest();
        number_ = number;
        return newest;
    }
    // Overflow receives may precede this receive.
    bool is_uncertain() const {
        return channel_->overflow_receives != 0 && before_ == channel_->posted_count;
    }
    uint32_t before() const { return before_; }
    uint64_t number() const { return number_; }
    bool is_missing() const { return missing_ != nullptr || others_ != nullptr; }
    void take_missing() {
        if (others_ != nullptr) {
            *others_ -= 1;
        } else {
            missing_->count -= 1;
        }
    }

  private:
    DWELL_COLD ChannelEntry* find_newest() {
        for (uint64_t number = last_written(channel_); number > channel_->low; --number) {
            ChannelEntry* entry = entry_at(channel_->in, number);
            if (is_taken(channel_, number)) continue;
            if (is_dropped_run(entry) && channel_->in_step) return nullptr;  // may be a later one
            if (entry->comm != comm_) continue;
            if (entry->tag != tag_ && tag_ != MPI_ANY_TAG) continue;
            number_ = number;
            return entry;
        }
        return nullptr;
    }
    // Whether a receive posted earlier matches such a message.
    bool is_matched_earlier(uint32_t comm, int tag) {
        for (uint32_t i = 0; i < before_; ++i) {
            const Posted& posted = channel_->posted[i];
            if ((matched_earlier_ >> i & 1) != 0 || posted.comm != comm) continue;
            if (posted.tag != tag && posted.tag != MPI_ANY_TAG) continue;
            if (posted.detached < 2 || ++match_counts_[i] == posted.detached)
                matched_earlier_ |= 1u << i;
            return true;
        }
        return false;
    }
    // Whether the own message is among the missing ones. Their order across tags is unknown:
    // receives of any tag posted earlier may match any of them.
    DWELL_COLD bool is_among(DroppedCount* missing, uint32_t kinds) {
        for (uint32_t i = 0; i < kinds; ++i) {
            int64_t count = missing[i].count;
            while (count > 0 && is_matched_earlier(missing[i].comm, missing[i].tag)) --count;
            if (count <= 0 || missing[i].comm != comm_ || missing[i].tag != tag_) continue;
            missing_ = &missing[i];
            return true;
        }
        return false;
    }
    DWELL_COLD bool is_in_dropped_run(DroppedRun* dropped_run) {
        take_dropped_run(channel_, dropped_run);
        if (is_among(dropped_run->missing, kDroppedClasses)) return true;
        if (dropped_run->others == 0) return false;
        for (const DroppedCount& missing : dropped_run->missing) {
            if (missing.comm == comm_ && missing.tag == tag_) return false;
        }
        others_ = &dropped_run->others;
        return true;
    }

    Channel* channel_;
    uint32_t comm_;
    int tag_;
    uint32_t before_ = 0;           // number of receives posted earlier
    uint32_t matched_earlier_ = 0;  // bit k: posted receive k has a matching message
    uint32_t
        match_counts_[kPosted];  // matches of several freed receives; only set where some are freed
    uint64_t number_ = 0;
    DroppedCount* missing_ = nullptr;
    uint64_t* others_ = nullptr;
};
static_assert(kPosted <= 32);

// A receive got a message without an entry: it is subtracted where the message was counted as
// missing.
DWELL_COLD void take_without(Channel* channel, ReceiveMatcher* matcher, uint32_t comm, int tag) {
    if (matcher->is_missing()) {
        matcher->take_missing();
        for (uint32_t i = channel->lost_count; i-- > 0;) {
            if (channel->lost[i].count == 0)
                channel->lost[i] = channel->lost[--channel->lost_count];
        }
    } else if (may_be_dropped(channel)) {
        add_lost(channel, comm, tag, -1);
    } else {  // no dropped message explains it
        forget_served(channel, matcher->before(), comm, tag);
        return;
    }
    channel->received += 1;
}

DWELL_COLD void take_skipped(Channel* channel, uint32_t comm, int tag) {
    ReceiveMatcher matcher(channel, comm, tag, 0);
    if (matcher.find() != nullptr) {
        channel->received += 1;
        mark_taken(channel, matcher.number());
    } else {
        take_without(channel, &matcher, comm, tag);
    }
    give_up_oldest(channel);
}

void remove_posted(Channel* channel, uint32_t post_order) {
    if (post_order == 0) return;
    uint32_t i = 0;
    while (i < channel->posted_count && channel->posted[i].post_order != post_order) ++i;
    if (i == channel->posted_count) [[unlikely]] {
        remove_overflow(channel, post_order);
        return;
    }
    remove_place(channel, i);
}

// Freed receives take the entries that have arrived for them.
DWELL_COLD void take_detached(Channel* channel) {
    for (uint32_t i = 0; i < channel->posted_count;) {
        const Posted posted = channel->posted[i];
        ReceiveMatcher matcher(channel, posted.comm, posted.tag, posted.post_order);
        const bool found = posted.detached != 0 && channel->in_step && matcher.find() != nullptr;
        if (!found && !matcher.is_missing()) {
            ++i;
            continue;
        }
        remove_posted(channel, posted.post_order);
        if (found) {
            channel->received += 1;
            mark_taken(channel, matcher.number());
        } else {
            take_without(channel, &matcher, posted.comm, posted.tag);
        }
        give_up_oldest(channel);
    }
}

// Takes the entries of all skipped messages. If the next entry says that they are all of one kind,
// they are not read now either.
void catch_up(Channel* channel) {
    const DroppedCount skipped = channel->skipped;
    channel->skipped.count = 0;
    const ChannelEntry* next =
        written_entry(channel->in, channel->low + static_cast<uint32_t>(skipped.count) + 1);
    if (next != nullptr && (next->order & kInRow) != 0 && next->comm == skipped.comm &&
        next->tag == skipped.tag) {
        channel->low += static_cast<uint32_t>(skipped.count);
        channel->received += static_cast<uint32_t>(skipped.count);
        publish_taken(channel);
        return;
    }
    for (int32_t i = 0; i < skipped.count; ++i) take_skipped(channel, skipped.comm, skipped.tag);
}

void bring_up_to_date(Channel* channel) {
    if (channel->skipped.count != 0) catch_up(channel);
    check_step(channel);
    if (channel->detached_count != 0) [[unlikely]]
        take_detached(channel);
}

}  // namespace

bool open_channels(uint32_t world_size) {
    void* memory = mmap(nullptr, world_size * sizeof(uintptr_t), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    g_channel_count = world_size;
    g_channels = static_cast<Channel**>(memory);
    return true;
}

// Channels are allocated in groups: one alone would take a page.
Channel* new_channel() {
    constexpr size_t kTogether = 64;
    static Channel* next = nullptr;
    static size_t left = 0;
    if (left == 0) {
        void* memory = mmap(nullptr, kTogether * sizeof(Channel), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return nullptr;
        next = static_cast<Channel*>(memory);
        left = kTogether;
    }
    left -= 1;
    return next++;
}

Channel* make_channel(uint32_t peer) {
    const uint32_t own = own_rank();
    const uint32_t low = own < peer ? own : peer;
    const uint32_t high = own < peer ? peer : own;
    void* page = find_or_make_pair(mix_path(mix_path(kPairKey, low), high));
    if (page == nullptr) {
        __atomic_fetch_or(&g_process.header->flags, uint32_t{kFilePairsFull}, __ATOMIC_RELAXED);
    }
    Channel* made = page != nullptr ? new_channel() : nullptr;
    if (made == nullptr) return nullptr;
    auto* rings = static_cast<Ring*>(page);
    made->out = &rings[own < peer ? 0 : 1];
    // A channel of a rank with itself has one ring.
    made->in = &rings[own < peer || own == peer ? 1 : 0];
    if (own == peer) made->in = made->out;
    made->in_step = true;  // holds if nothing was paused so far
    made->progress_log = find_progress_log(peer);
    made->next = g_first_channel;
    __atomic_store_n(&g_first_channel, made, __ATOMIC_RELEASE);
    return made;
}

uint32_t post(Channel* channel, uint32_t comm, int tag) {
    const ChannelLock lock(channel);
    if (!lock.held()) return 0;
    bring_up_to_date(channel);
    const uint32_t post_order = post_order_after(channel->last_post_order);
    channel->last_post_order = post_order;
    if (channel->posted_count == kPosted || channel->overflow_receives != 0) [[unlikely]] {
        add_overflow(channel, post_order);
    } else {
        channel->posted[channel->posted_count++] = {comm, tag, post_order, 0};
    }
    return post_order;
}

void unpost(Channel* channel, uint32_t post_order) {
    const ChannelLock lock(channel);
    if (lock.held()) remove_posted(channel, post_order);
}

void take_for_detached(Channel* channel) {
    const ChannelLock lock(channel);
    if (!lock.held()) return;
    bring_up_to_date(channel);
    publish_taken(channel);
}

bool is_post_order_known(Channel* channel, uint32_t post_order) {
    if (channel->remote != nullptr) return true;
    const ChannelLock lock(channel);
    return lock.held() && !ReceiveMatcher(channel, 0, 0, post_order).is_uncertain();
}

ChannelEntry* find_entry(Channel* channel, uint32_t comm, int tag, uint32_t post_order) {
    if (channel->remote != nullptr) return nullptr;
    const ChannelLock lock(channel);
    if (!lock.held()) return nullptr;
    bring_up_to_date(channel);
    ReceiveMatcher matcher(channel, comm, tag, post_order);
    ChannelEntry* entry = matcher.find();
    return matcher.is_uncertain() ? matcher.newest_instead() : entry;
}

bool skip_stamp(Channel* channel, uint32_t comm, int tag) {
    DroppedCount* skipped = &channel->skipped;
    if (skipped->count == 0) *skipped = {comm, tag, 0};
    if (!is_plain(channel) || skipped->comm != comm || skipped->tag != tag ||
        skipped->count == static_cast<int32_t>(kSkipped)) {
        return false;
    }
    skipped->count += 1;
    return true;
}

bool take(Channel* channel, uint32_t comm, int tag, uint32_t post_order, EnterStamp* stamp,
          bool* guessed) {
    const ChannelLock lock(channel);
    if (!lock.held()) return false;
    bring_up_to_date(channel);
    ReceiveMatcher matcher(channel, comm, tag, post_order);
    const ChannelEntry* entry = matcher.find();
    const bool uncertain = matcher.is_uncertain();
    remove_posted(channel, post_order);
    *guessed = !channel->in_step;
    if (uncertain) [[unlikely]]
        *guessed = true;
    if (entry == nullptr) {
        take_without(channel, &matcher, comm, tag);
        give_up_oldest(channel);
        return false;
    }
    const uint32_t order = order_of(entry);
    if (uncertain) [[unlikely]]
        entry = matcher.newest_instead();
    const bool known = entry != nullptr;
    if (known) [[likely]]
        *stamp = entry->stamp;
    if (channel->in_step) [[likely]] {
        channel->received += 1;
        mark_taken(channel, matcher.number());
    } else {
        channel->received = order;
        channel->in_step = true;
        give_up_entries(channel, later(matcher.number(), channel->unverified_up_to));
        forget_served(channel, matcher.before(), comm, tag);
        return known;
    }
    // All earlier entries are taken and the next one is recent: its line is left to the sender,
    // which is about to write it.
    if (channel->taken == 0 && !is_order_before(order + kRingEntries, channel->received)) [[likely]]
        return known;
    give_up_oldest(channel);
    return known;
}

namespace {

// The real time is 0 during the write and is stored last: the sender reads it first and last.
void write_answer(Answer* answer, const Answer& stamp) {
    __atomic_store_n(&answer->real, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&answer->lost, stamp.lost, __ATOMIC_RELEASE);
    __atomic_store_n(&answer->path, stamp.path, __ATOMIC_RELEASE);
    __atomic_store_n(&answer->real, stamp.real, __ATOMIC_RELEASE);
}

}  // namespace

void answer(Channel* channel, ChannelEntry* entry, const EnterStamp& stamp) {
    const ChannelLock lock(channel);
    if (!lock.held()) return;
    const uint32_t about_lost = about(lost_of(stamp));
    if (__atomic_load_n(&channel->in->about_lost, __ATOMIC_RELAXED) != about_lost)
        __atomic_store_n(&channel->in->about_lost, about_lost, __ATOMIC_RELAXED);
    write_answer(&entry->answer, answer_of_stamp(stamp));
    __atomic_fetch_or(&entry->order, uint32_t{kAnswered}, __ATOMIC_RELEASE);
}

}  // namespace dwell
