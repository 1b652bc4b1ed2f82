// Full events (dwell run --events): what a thread stores beside its statistics, and where.
//
// A thread writes words of 8 bytes into a ring in the record file. A record is a word with a time,
// and further words of kind kMore, which hold 60 bits each, so that every word tells whether a
// record begins with it:
//
//   bits 63..28  time: virtual ticks, pauses counted, since the last EventControl::kBase
//   bits 27..4   what: the node, or what EventKind says
//   bits  3..0   EventKind
//
// The number of words written since the thread's first one numbers them: a reader that misses some
// sees it.
#ifndef DWELL_RUNTIME_CONTRACT_EVENT_LAYOUT_H_
#define DWELL_RUNTIME_CONTRACT_EVENT_LAYOUT_H_

#include <stdint.h>

namespace dwell {

constexpr int kEventKindBits = 4;
constexpr int kEventWhatBits = 24;
constexpr int kEventTimeShift = kEventKindBits + kEventWhatBits;
constexpr int kEventTimeBits = 64 - kEventTimeShift;
constexpr uint32_t kEventWhatMask = (1u << kEventWhatBits) - 1;
constexpr uint32_t kEventNobody = kEventWhatMask;  // no rank

enum class EventKind : uint8_t {
    kFiller = 0,      // no record: the rest of the ring before its beginning
    kEnter = 1,       // what: node
    kLeave = 2,       // what: node
    kSend = 3,        // what: partner (world rank); words: bytes; event_message()
    kReceive = 4,     // the same
    kOneSided = 5,    // the same; words: bytes put; bytes got
    kCollective = 6,  // what: root, as a rank of the communicator; words: bytes sent; bytes
                      // received; event_message() with its number in place of the tag
    kStart = 7,       // what: number of a request, which begins
    kComplete = 8,    // what: number of a request, which ends
    kIo = 9,          // what: EventFlags; words: bytes read; bytes written
    kMark = 10,       // what: node; word: volume
    kMetric = 11,     // what: the node that counted; words: counts since the thread's last reading,
                      // in the order of FileHeader::metric_names
    kSample = 12,   // what: node; word: the number of samples that it stands for. Written when the
                    // sample is read, with the time at which it was taken
    kControl = 13,  // what: EventControl
    kMore = 15,     // a further word of a record
};
constexpr int kEventKinds = 16;

enum class EventControl : uint32_t {
    kBase = 1,      // word: the time to which those of later records are added
    kGap = 2,       // records were lost before; words: their number by EventLoss
    kThread = 3,    // a thread begins to use the ring; word: its id in the system
    kRealTime = 4,  // word: real ticks less virtual ones
    kOn = 5,
    kOff = 6,
    kReset = 7,      // MPI_Pcontrol(2): the figures of the run begin here
    kEnd = 8,        // the thread, or the observation, ended
    kLocked = 11,    // an OpenMP lock or critical section was acquired; word: its address
    kUnlocked = 12,  // likewise released
    // A communicator was made; words: the two halves of CommRecord::id; its rank; its size with the
    // lowest bit for `inter`.
    kComm = 13,
    kWaited = 10,   // a call or construct that ends, or has just ended, waited; words: node; ticks
    kMoved = 9,     // the next enter or leave is of an entry that goes on below another node
    kFlushed = 16,  // the thread has written its ring into a file; words: ticks that
                    // it took; bytes
    kPaused = 17,   // nothing was recorded, by order of the program; word: ticks up to now
    kEnded = 18,    // behind kOff and kGap; word: how many innermost entries, of those that were
                    // open before and are in the log, have ended meanwhile
};

// Whether events are to be written.
enum class EventOrder : uint32_t { kNone = 0, kOn = 1, kOff = 2 };

// What was lost, by kind.
enum class EventLoss : uint32_t { kEntersAndLeaves = 0, kMessages = 1, kOther = 2 };
constexpr uint32_t kEventLosses = 3;

// What a thread does when its ring is full.
enum class EventPolicy : uint32_t {
    kDrop = 0,       // loses records until a quarter of the ring is free
    kStop = 1,       // loses all further records
    kOverwrite = 2,  // keeps the newest records
    kFlush = 3,      // writes the ring into a file itself; as kDrop where that fails
};

constexpr int kEventTagBits = 31;
constexpr int kEventCommBits = 60 - kEventTagBits;
constexpr uint32_t kEventCommMask = (1u << kEventCommBits) - 1;
// Communicator (the lower bits of short_comm_id(); 0: not known) and tag of a message.
constexpr uint64_t event_message(uint32_t comm, uint32_t tag) {
    return uint64_t{comm & kEventCommMask} << kEventTagBits | (tag & ((1u << kEventTagBits) - 1));
}
constexpr uint32_t comm_of_message(uint64_t word) {
    return static_cast<uint32_t>(word >> kEventTagBits);
}
constexpr uint32_t tag_of_message(uint64_t word) {
    return static_cast<uint32_t>(word & ((uint64_t{1} << kEventTagBits) - 1));
}

constexpr uint64_t event_what(EventKind kind, uint32_t what) {
    return uint64_t{what & kEventWhatMask} << kEventKindBits | static_cast<uint64_t>(kind);
}
constexpr EventKind event_kind(uint64_t word) {
    return static_cast<EventKind>(word & ((1u << kEventKindBits) - 1));
}
constexpr uint32_t what_of_event(uint64_t word) {
    return static_cast<uint32_t>(word >> kEventKindBits) & kEventWhatMask;
}
constexpr uint64_t time_of_event(uint64_t word) { return word >> kEventTimeShift; }
constexpr uint64_t kLargestMore = (uint64_t{1} << 60) - 1;
constexpr uint64_t event_more(uint64_t value) {
    return (value < kLargestMore ? value : kLargestMore) << kEventKindBits |
           static_cast<uint64_t>(EventKind::kMore);
}
constexpr uint64_t value_of_more(uint64_t word) { return word >> kEventKindBits; }
constexpr uint32_t kMostMore = 8;  // further words of a record

// A thread's ring. Its first part is written by the thread, the rest by who holds a lock (flock) on
// the record file: a reader, or the thread while it flushes.
//
// words_written() is of one moment if `lap_words` is the same before and after it is read; at the
// beginning of a lap it may be too small for a moment, never too large.
struct EventRing {
    // Addresses in the process: where the next word goes, 0 while no events are written; and where
    // the thread looks for more room.
    uint64_t next;
    uint64_t limit;
    uint64_t base;                // virtual ticks without pauses
    uint64_t lap_words;           // words written before this lap
    uint64_t first;               // address of the ring in the process
    uint32_t ring;                // 0: none
    uint32_t words;               // its size
    uint64_t rests_at;            // `next` while no events are written
    uint64_t real_ahead;          // of the last kRealTime
    uint64_t lost[kEventLosses];  // in all
    uint64_t told[kEventLosses];  // of these, in records kGap
    uint32_t policy;              // EventPolicy
    uint32_t is_full;             // records are being lost
    uint64_t flush_after;         // real ticks before which no flush is tried again
    uint64_t read;                // words that the reader has taken, or that a flush has saved
    uint64_t lost_said;           // of `lost`, what a reader has reported
    // Of the thread, rarely used.
    uint64_t reset_ticks;  // overhead before MPI_Pcontrol(2), which times go on to lack
    uint64_t paused_told;  // of ThreadRecord::paused_ticks, in records kPaused
    uint64_t is_unseen;    // enters and leaves are not written: events are off, or are being lost
    uint64_t open_before;  // entries in the log that were open when that began
    uint64_t recursions_counted;  // entries without enter and leave, part of ProbePart::untimed
    uint64_t unused;
};
static_assert(sizeof(EventRing) == 3 * 64);

// What EventPolicy::kFlush appends to a file beside the record file, whose name is kSpillPrefix and
// that of the record file: this, then the words. The words of a thread that are in its ring follow
// those in the file.
constexpr const char* kSpillPrefix = "events.";
constexpr uint64_t kSpillMagic = 0x31534c4c49505344;  // "DSPILLS1"
struct EventSpill {
    uint64_t magic;
    uint64_t first_word;  // its number since the thread's first one
    uint32_t thread;      // ThreadRecord::number
    uint32_t words;
};
static_assert(sizeof(EventSpill) == 24);

inline uint64_t words_written(const EventRing& ring, uint64_t next) {
    return ring.lap_words + (next - ring.first) / sizeof(uint64_t);
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_EVENT_LAYOUT_H_
