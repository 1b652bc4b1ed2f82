// The times of messages between two ranks of a node (DESIGN 4, "which message").
//
// Two ranks that exchange messages share a page with a ring of entries for each direction. The
// sender writes an entry before it hands its message to MPI, so that the receiver finds it when the
// message has come. MPI keeps messages of one sender, communicator and tag in order, and so do the
// entries: the n-th receive of a tag takes the n-th entry of that tag. Receives take their turn
// (posted_receives.h) when they are posted.
//
// A full ring drops entries. What was dropped is told by a gap, an entry that says how many
// messages of which communicator and tag are missing at its place, as soon as there is room for
// one: so each later receive finds its own entry again.
//
// When receives may have gone by unseen (a pause, an error that does not tell whether the message
// was taken), the entries that are there may be those of messages received already. The next
// receive then takes the newest that fits, and all that were there are given up; but for those
// after it that were written after a pause, where no receive was pending in it: a sender may be
// waiting for its answer there. From then on an entry may at worst be that of a message sent later
// than the receive's own: one that is there already, so that the receive did not wait. An older one
// would hide a wait.
//
// Of so many receives the turns are kept (kPosted); freed ones of one kind count as one. Those
// posted while there is no place, and all after them, come after those that have one, and their
// order is that of their tickets: the one posted first still has the oldest entry that fits. What
// another one of them gets, or a receive that is posted later, is not known while there are such.
// Then an entry is used up as always, which keeps the entries in step as all of them are used up in
// the end, but the newest that fits tells the time: the receive's own, or that of a message sent
// later. Freed ones among them may get their messages at any time, so that this goes on.
//
// A sender that has to meet its receiver asks for an answer: the receiver writes into the entry
// when it entered its receive. Of messages that it may leave to MPI receivers tell unasked
// (progress_log.h).
//
// Threads: a channel is locked by its two processes each for itself, and only where MPI allows
// several threads at a time. Not signal-safe.
#ifndef DWELL_RUNTIME_EXCHANGE_CHANNELS_H_
#define DWELL_RUNTIME_EXCHANGE_CHANNELS_H_

#include <stddef.h>

#include "runtime/exchange/progress_log.h"
#include "runtime/process/state.h"

namespace dwell {

// A cache line of its own.
struct alignas(64) ChannelEntry {
    EnterStamp stamp;
    uint32_t comm;  // name of the communicator (comm_definitions.h), kFailedEntry or kDroppedEntry
    int32_t tag;
    uint32_t number;  // of the entry, from 1: it is valid when this is the one expected
    uint32_t order;   // of the message among all from this sender to this receiver, times 8, and
                      // ChannelFlags
    Answer answer;    // when the receiver came, if it was asked and has answered
};
// kInRow: the kSkipped entries before it are of the same communicator and tag.
enum ChannelFlags : uint32_t { kWantsAnswer = 1, kAnswered = 2, kInRow = 4 };
constexpr int kOrderShift = 3;
constexpr uint32_t kSkipped = 14;
constexpr uint32_t kFailedEntry = 0xffffffffu;  // the send failed
constexpr uint32_t kDroppedEntry = 0xfffffffeu;
constexpr uint32_t kRingEntries = 31;

// Messages without an entry, by communicator and tag.
struct DroppedCount {
    uint32_t comm;
    int32_t tag;
    int32_t count;
};
constexpr int kDroppedClasses = 2;
// A ChannelEntry with comm kDroppedEntry.
struct alignas(64) DroppedRun {
    DroppedCount missing[kDroppedClasses];
    uint64_t others;  // of still other communicators and tags: which ones is not known
    uint32_t comm;
    uint32_t met;  // the receiver has seen it
    uint32_t number;
    uint32_t order;
};
static_assert(sizeof(DroppedRun) == sizeof(ChannelEntry) &&
              offsetof(DroppedRun, comm) == offsetof(ChannelEntry, comm) &&
              offsetof(DroppedRun, number) == offsetof(ChannelEntry, number) &&
              offsetof(DroppedRun, order) == offsetof(ChannelEntry, order));

inline DroppedRun* as_dropped_run(ChannelEntry* entry) {
    return reinterpret_cast<DroppedRun*>(entry);
}

struct Ring {
    uint32_t taken;       // by the receiver: all entries up to this number may be written over
    uint32_t dropped;     // by the sender: messages without an entry
    uint32_t asked;       // by the sender: the last entry that wants an answer
    uint32_t about_lost;  // by the receiver: about() of its last answer
    uint64_t reserved[6];
    ChannelEntry entries[kRingEntries];
};
static_assert(offsetof(Ring, entries) == 64 && 2 * sizeof(Ring) == kExchangePage);

// A receive that was posted and is not complete.
struct Posted {
    uint32_t comm;
    int32_t tag;
    uint32_t post_order;  // 0 = free
    uint32_t detached;    // of so many nobody will say when they are complete; 0: it was not freed
};
constexpr int kPosted = 24;
constexpr int kTransferClasses = 32;
constexpr uint32_t kLost = 24;     // of which so many
constexpr uint32_t kGivenUp = 16;  // for entries that were given up

// This process's side of what it exchanges with another one.
struct RemoteChannel;
struct Channel {
    RemoteChannel* remote;  // to another host (remote_channels.h); null: by the rings
    Ring* out;
    Ring* in;
    const ProgressLog* progress_log;  // the other one's, or null
    uint64_t written;           // entries: numbers go on beyond the 32 bits that an entry holds
    StampedUntil sent_stamp;    // to another host
    uint64_t low;               // all entries of `in` up to this number are taken
    uint64_t unverified_up_to;  // out of step: the last entry whose message may have been received
    DroppedRun dropped_run;     // messages to it that have no entry, and no gap tells so yet
    uint32_t sent;              // messages to it
    uint32_t taken_seen;        // of out->taken
    uint32_t received;          // messages from it
    uint32_t taken;             // bit k: entry low + 1 + k is
    uint32_t last_post_order;
    uint32_t drain_ticks;  // what MPI's next locked instruction waits for an entry that was written
    uint32_t posted_count;
    uint32_t detached_count;     // of posted_count
    uint32_t overflow_receives;  // receives that are not complete and not among `posted`:
    uint32_t overflow_detached;  // of these nobody will say when they are
    uint32_t overflow_first;     // ticket of the first
    uint32_t overflow_next;      // of the one posted first; 0: that is not known any more
    uint32_t detached_anywhere;  // of g_detached_anywhere
    uint32_t accounted_drops;    // of in->dropped: told by gaps
    uint32_t ignored_drops;      // of in->dropped: may have been received already
    uint32_t lost_count;
    uint32_t received_early;  // messages received before their gap came that `lost` has no room for
    uint64_t paused_ticks;    // of the live page when the channel was last in step
    uint32_t lost_sync_count;  // and of g_lost_sync_count
    bool in_step;              // `received` counts like the sender
    std::atomic<uint32_t> lock;
    DroppedCount skipped;    // messages received whose entries were not looked at: see skip_stamp
    DroppedCount row;        // the last entries written were so many of one kind
    uint32_t usual_send;     // ticks of a send that may wait, while its receiver was there
    uint64_t lost_looked;    // by this rank, when it last looked when a send's receiver came: ticks
    Posted posted[kPosted];  // in the order of posting
    // Messages from it whose entries were given up; less than nothing: received, while the gap that
    // will tell of them is not there yet.
    DroppedCount lost[kLost];
    uint32_t
        transfer_time[kTransferClasses];  // least ticks from send to receive, by size; 0: none yet
    Channel* next;                        // all channels
};

extern Channel** g_channels
    __attribute__((visibility("hidden")));  // by world rank; null: no exchange
extern Channel* g_first_channel __attribute__((visibility("hidden")));
extern uint32_t g_channel_count __attribute__((visibility("hidden")));
extern Channel g_no_channel __attribute__((visibility("hidden")));

// In MPI_Init: the table of channels. False when there is no memory.
bool open_channels(uint32_t world_size);
// With StateLock held: one with a rank of this host, or one without rings, zeroed. Null when there
// is no room for it.
Channel* make_channel(uint32_t peer);
Channel* new_channel();

// Only where several threads may be in MPI at a time. A thread that waits too long goes on without:
// what it would have said is lost, and counted where it is missed.
class ChannelLock {
  public:
    explicit ChannelLock(Channel* channel) : channel_(g_process.concurrent ? channel : nullptr) {
        if (channel_ == nullptr) return;
        for (int i = 0; i < 1 << 16; ++i) {
            if (channel_->lock.exchange(1, std::memory_order_acquire) == 0) return;
            __builtin_ia32_pause();
        }
        channel_ = nullptr;
        held_ = false;
    }
    ~ChannelLock() {
        if (channel_ != nullptr) channel_->lock.store(0, std::memory_order_release);
    }
    ChannelLock(const ChannelLock&) = delete;
    ChannelLock& operator=(const ChannelLock&) = delete;
    bool held() const { return held_; }

  private:
    Channel* channel_;
    bool held_ = true;
};

// A message is about to be sent, to a rank of the node: says so. The entry, null when it was
// dropped.
struct Announced {
    ChannelEntry* entry;
    uint32_t number;
};
Announced announce(Channel* channel, const EnterStamp& stamp, uint32_t comm, int tag,
                   bool wants_answer);
// When MPI's work begins, now that an entry was written. Its line may still be on the way from the
// receiver's processor, and MPI's first locked instruction waits for it: that is dwell's cost. A
// fence takes it here; it would wait for lines that MPI fetches meanwhile otherwise, so that only
// one message in kFenceEvery has one, and tells what the others wait.
uint64_t time_of_writing(Channel* channel);
constexpr uint64_t kFenceEvery = 16;
// The send failed or was cancelled. To a rank of the node.
void withdraw(Channel* channel, const Announced& announced);

// The receiver has answered.
bool is_answered(const Announced& announced);
// When it came, and what it had been doing; false: it has not answered, or is about to answer once
// more.
bool answer_of(const Channel* channel, const Announced& announced, EnterStamp* answer);
// When its send began; a real time of 0 when its entry has become another's.
DualTime sent_at(const Announced& announced);

// A receive from a rank of the node is posted; the ticket of its turn, 0 when another thread has
// the channel.
uint32_t post(Channel* channel, uint32_t comm, int tag);
// It was cancelled; from a rank of the node.
void unpost(Channel* channel, uint32_t post_order);
// It was freed: it takes its message when that comes.
void leave_posted(Channel* channel, uint32_t post_order, uint32_t comm, int tag);
// A receive is about to wait: those that were freed take what has come for them, so that there is
// room for the entry that it waits for.
DWELL_COLD void take_for_detached(Channel* channel);
// Whether the entry of a receive is certain: no receive without a place may be before it.
bool is_post_order_known(Channel* channel, uint32_t post_order);

// How often a receive may have taken a message without being seen.
extern uint32_t g_lost_sync_count __attribute__((visibility("hidden")));
inline void mark_unsynchronised() { __atomic_fetch_add(&g_lost_sync_count, 1, __ATOMIC_RELAXED); }
// A receive from any source was freed: it may take a message at any time, and nobody says whose.
extern uint32_t g_detached_anywhere __attribute__((visibility("hidden")));
void leave_posted_anywhere();

// The entry of the message that a receive gets, when it is there. `ticket` 0: it was not posted
// before. A tag of MPI_ANY_TAG is one that is not known yet. Where it is not certain, the newest.
ChannelEntry* find_entry(Channel* channel, uint32_t comm, int tag, uint32_t post_order);

// The same when what its sender said is of no interest: the entry is not looked at, which leaves
// its line to the sender. False, without effect: take() is to be called instead, as for every
// message after kSkipped such. For receives that were not posted before; not where several threads
// may be in MPI at a time.
bool skip_stamp(Channel* channel, uint32_t comm, int tag);

// The receive is complete: what its sender said; false when that is not known. `guessed` is set
// when it may have been about another message.
bool take(Channel* channel, uint32_t comm, int tag, uint32_t post_order, EnterStamp* stamp,
          bool* guessed);

inline ChannelEntry* entry_at(Ring* ring, uint64_t number) {
    return &ring->entries[number % kRingEntries];
}

// The entry that its next message will have, most likely.
inline const void* next_entry(const Channel* channel) {
    return entry_at(channel->in, channel->low + static_cast<uint32_t>(channel->skipped.count) + 1);
}

// Whether an entry from it may want an answer that is not taken yet. Asked before a receive looks
// for one: the line that it would look at is the one that the sender is about to write.
inline bool may_want_answer(const Channel* channel) {
    const uint32_t asked = __atomic_load_n(&channel->in->asked, __ATOMIC_ACQUIRE);
    return static_cast<int32_t>(asked - static_cast<uint32_t>(channel->low)) > 0;
}

// Tells the sender when its receiver came, unless another thread has the channel; a later answer
// replaces an earlier one.
inline bool wants_answer(const ChannelEntry* entry) { return (entry->order & kWantsAnswer) != 0; }
inline bool is_answered(const ChannelEntry* entry) { return (entry->order & kAnswered) != 0; }
void answer(Channel* channel, ChannelEntry* entry, const EnterStamp& stamp);

// What find_entry() found for a receive that was not posted before may be another message's.
inline bool is_guessing(const Channel* channel) {
    return !channel->in_step || channel->overflow_receives != 0;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_EXCHANGE_CHANNELS_H_
