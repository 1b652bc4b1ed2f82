// Time stamps of messages between two ranks of one host (DESIGN 4, "which message"). Two ranks
// share a page with one ring of entries for each direction. The sender writes an entry before it
// hands the message to MPI; the n-th receive of a communicator and tag matches the n-th such entry,
// counted in post order (posted_receives.h).
//
// A full ring drops entries; a dropped run, written as soon as there is room, counts the missing
// messages so that later receives match their own entries. After a pause or an unclear error a
// channel is out of step: the next receive takes the newest matching entry and gives up older ones,
// except those written after a pause in which no receive was pending, whose senders may wait for an
// answer. At worst a guess is the stamp of a later message that is already there; an older stamp
// would hide a wait. Receives beyond kPosted (overflow) use up an entry as usual, but read
// the newest matching stamp and are labelled as guessed.
//
// ChannelLock protects this process's side, only where MPI allows several threads at a time. Not
// signal-safe.
#ifndef DWELL_RUNTIME_EXCHANGE_CHANNELS_H_
#define DWELL_RUNTIME_EXCHANGE_CHANNELS_H_

#include <stddef.h>

#include "runtime/exchange/progress_log.h"
#include "runtime/process/state.h"

namespace dwell {

// Exactly one cache line.
struct alignas(64) ChannelEntry {
    EnterStamp stamp;
    uint32_t comm;  // communicator id (comm_definitions.h), kFailedEntry or kDroppedEntry
    int32_t tag;
    uint32_t number;  // of the entry, from 1; the entry is valid when this is the expected number
    uint32_t order;   // number of the message among all of this sender to this receiver, times 8,
                      // plus ChannelFlags
    Answer answer;    // enter time of the receiver, when it was asked for and has answered
};
// kWantsAnswer: the send may wait for its receiver. (For single-copy sends receivers log their
// progress unasked, progress_log.h.)
// kInRow: the kSkipped entries before this one have the same communicator and tag.
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
// A ChannelEntry whose comm is kDroppedEntry.
struct alignas(64) DroppedRun {
    DroppedCount missing[kDroppedClasses];
    uint64_t others;  // messages of other communicators and tags, which are not recorded
    uint32_t comm;
    uint32_t seen;  // the receiver has read this dropped run
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
    uint32_t taken;       // by the receiver: entries up to this number may be overwritten
    uint32_t dropped;     // by the sender: number of messages without an entry
    uint32_t asked;       // by the sender: last entry that wants an answer
    uint32_t about_lost;  // by the receiver: about() of its last answer
    uint64_t reserved[6];
    ChannelEntry entries[kRingEntries];
};
static_assert(offsetof(Ring, entries) == 64 && 2 * sizeof(Ring) == kExchangePage);

// A posted receive that is not complete, or several freed ones of one kind.
struct Posted {
    uint32_t comm;
    int32_t tag;
    uint32_t post_order;  // 0 = free
    uint32_t detached;    // number of freed receives, whose completion is never seen; 0: not freed
};
constexpr int kPosted = 32;
constexpr int kTransferClasses = 32;
constexpr uint32_t kLost = 24;     // length of Channel::lost
constexpr uint32_t kGivenUp = 16;  // of these, for entries that were given up

// This process's side of the messages exchanged with one other process.
struct RemoteChannel;
struct Channel {
    RemoteChannel* remote;  // to another host (remote_channels.h); null: same host, by rings
    Ring* out;
    Ring* in;
    const ProgressLog* progress_log;  // of the other process, or null
    uint64_t written;                 // entries so far: 64 bits, where an entry holds the low 32
    StampedUntil stamped_until;       // to another host
    uint64_t low;                     // all entries of `in` up to this number are taken
    uint64_t unverified_up_to;  // out of step: last entry whose message may have been received
    DroppedRun dropped_run;     // messages without an entry, not yet reported to the receiver
    uint32_t sent;              // messages to the other process
    uint32_t taken_seen;        // last value read of out->taken
    uint32_t received;          // messages from the other process
    uint32_t taken;             // bit k: entry low + 1 + k is taken
    uint32_t last_post_order;
    uint32_t drain_ticks;  // delay of MPI's next locked instruction while an entry's line is stored
    uint32_t posted_count;
    uint32_t detached_count;     // of posted_count
    uint32_t overflow_receives;  // incomplete or freed receives that are not among `posted`
    uint32_t overflow_first;     // post order of the first
    uint32_t detached_anywhere;  // last value read of g_detached_anywhere
    uint32_t accounted_drops;    // of in->dropped: reported by dropped runs
    uint32_t ignored_drops;      // of in->dropped: may have been received already
    uint32_t lost_count;
    uint32_t received_early;  // messages received before their dropped run came, beyond the room of
                              // `lost`
    uint64_t paused_ticks;    // g_live->paused_ticks when the channel was last in step
    uint32_t lost_sync_count;  // g_lost_sync_count at that time
    bool in_step;              // `received` agrees with the sender's count
    std::atomic<uint32_t> lock;
    DroppedCount skipped;  // received messages whose entries were not read: see skip_stamp
    DroppedCount row;      // last entries written, if all of one communicator and tag
    uint32_t usual_send;   // usual ticks of a send that may wait, with its receiver present
    uint64_t lost_looked;  // lost ticks of this rank when it last looked up a receiver's enter time
    Posted posted[kPosted];  // in post order
    // Messages from the other process whose entries were given up. A negative count: received
    // before their dropped run was read.
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

// Makes the table of channels, in MPI_Init. False when there is no memory.
bool open_channels(uint32_t world_size);
// With StateLock held. make_channel: to a rank of this host. new_channel: zeroed and without rings.
// Null when there is no room.
Channel* make_channel(uint32_t peer);
Channel* new_channel();

// Taken only where several threads may be in MPI at a time. After too long a wait the thread goes
// on without the lock, and its stamp is lost and counted as missing.
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

// Writes the entry of a message that is about to be sent to a rank of the same host. A null entry:
// it was dropped.
struct Announced {
    ChannelEntry* entry;
    uint32_t number;
};
Announced announce(Channel* channel, const EnterStamp& stamp, uint32_t comm, int tag,
                   bool wants_answer);
// The time at which MPI's work begins after an entry was written. The entry's cache line may still
// be owned by the receiver's processor, and MPI's first locked instruction waits for it: a cost of
// dwell. Only one message in kFenceEvery measures this delay with a fence, because the fence also
// waits for lines that MPI fetches; the others use its average.
uint64_t time_of_writing(Channel* channel);
constexpr uint64_t kFenceEvery = 16;
// Marks the entry of a send that failed or was cancelled. Same host only.
void withdraw(Channel* channel, const Announced& announced);

// Whether the receiver has answered.
bool is_answered(const Announced& announced);
// The receiver's enter stamp. False: no answer yet, or a newer one is being written.
bool answer_of(const Channel* channel, const Announced& announced, EnterStamp* answer);
// When the send began. The real time is 0 when the entry was overwritten.
DualTime sent_at(const Announced& announced);

// Adds a receive from a rank of the same host. Returns its post order, 0 when another thread holds
// the channel.
uint32_t post(Channel* channel, uint32_t comm, int tag);
// Removes a cancelled receive. Same host only.
void unpost(Channel* channel, uint32_t post_order);
// Marks a receive as freed: it takes its message when that arrives.
void leave_posted(Channel* channel, uint32_t post_order, uint32_t comm, int tag);
// Before a receive waits: freed receives take the entries that have arrived for them, so that the
// ring has room for the entry of this receive.
DWELL_COLD void take_for_detached(Channel* channel);
// Whether the receive's entry is certain: no overflow receive may precede it.
bool is_post_order_known(Channel* channel, uint32_t post_order);

// How often a receive may have taken a message unseen.
extern uint32_t g_lost_sync_count __attribute__((visibility("hidden")));
inline void mark_unsynchronised() { __atomic_fetch_add(&g_lost_sync_count, 1, __ATOMIC_RELAXED); }
// A receive from any source was freed: it may take a message of any sender at any time.
extern uint32_t g_detached_anywhere __attribute__((visibility("hidden")));
void leave_posted_anywhere();

// The entry of the message that a receive gets, or null when it is not there. `post_order` 0: not
// posted before. MPI_ANY_TAG: the tag is not known yet. If the match is not certain, the newest
// entry.
ChannelEntry* find_entry(Channel* channel, uint32_t comm, int tag, uint32_t post_order);

// Counts a received message whose stamp is not needed, without reading its entry: the cache line
// stays with the sender. False, without effect: call take() instead, as after every kSkipped such
// messages. Only for receives that were not posted before, and never where several threads may be
// in MPI at a time.
bool skip_stamp(Channel* channel, uint32_t comm, int tag);

// For a completed receive: the sender's stamp; false when it is not known. `guessed` is set when
// the stamp may be of another message.
bool take(Channel* channel, uint32_t comm, int tag, uint32_t post_order, EnterStamp* stamp,
          bool* guessed);

inline ChannelEntry* entry_at(Ring* ring, uint64_t number) {
    return &ring->entries[number % kRingEntries];
}

// The most likely entry of the next message.
inline const void* next_entry(const Channel* channel) {
    return entry_at(channel->in, channel->low + static_cast<uint32_t>(channel->skipped.count) + 1);
}

// Whether an entry of the other process may want an answer and is not taken yet. Asked before the
// look-up of an entry, because that would fetch the line which the sender is about to write.
inline bool may_want_answer(const Channel* channel) {
    const uint32_t asked = __atomic_load_n(&channel->in->asked, __ATOMIC_ACQUIRE);
    return static_cast<int32_t>(asked - static_cast<uint32_t>(channel->low)) > 0;
}

// Writes the receiver's enter stamp into the entry, unless another thread holds the channel. A
// later answer replaces an earlier one.
inline bool wants_answer(const ChannelEntry* entry) { return (entry->order & kWantsAnswer) != 0; }
inline bool is_answered(const ChannelEntry* entry) { return (entry->order & kAnswered) != 0; }
void answer(Channel* channel, ChannelEntry* entry, const EnterStamp& stamp);

// Whether find_entry() may return the entry of another message, for a receive that was not posted
// before.
inline bool is_guessing(const Channel* channel) {
    return !channel->in_step || channel->overflow_receives != 0;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_EXCHANGE_CHANNELS_H_
