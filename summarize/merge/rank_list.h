// The descriptions of the ranks of a job, packed. A merge step moves the descriptions of many ranks
// unread, in a time that does not depend on their number; they are read only when the profile is
// made (DESIGN 2). An entry holds the differences from the rank before, so a name that ranks share
// is stored once. Without exceptions: calls that allocate return whether the memory was there.
//
// Bytes of an entry: a number whose bit i is set when field i differs from the entry before (the
// first: from zeros and empty names); for each such field its difference, modulo 2^64 with the sign
// in the lowest bit; for a name its length and its bytes with a zero behind them. Numbers are in
// groups of seven bits, the lowest first, the eighth bit set in all but the last byte.
#ifndef DWELL_SUMMARIZE_MERGE_RANK_LIST_H_
#define DWELL_SUMMARIZE_MERGE_RANK_LIST_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/contract/record_layout.h"
#include "summarize/merge/grow_array.h"

namespace dwell {

// Kept for every rank, whatever the size of the job.
struct MergedRank {
    uint32_t rank;
    int32_t pid;
    uint32_t state;  // FileState
    uint32_t flags;  // FileFlags
    uint32_t threads;
    int32_t exit_code;
    uint32_t sample_hz;
    uint32_t callpath_depth;
    uint32_t processors;  // see FileHeader
    uint32_t first_processor;
    int64_t start_unix_ns;
    uint64_t real_ns;  // start of the process to the end of MPI_Finalize (or last finished call)
    uint64_t intrusion_ns;     // of its process_thread: real minus virtual time at the end
    uint64_t own_ns;           // of its process_thread: the cost of dwell itself
    uint64_t injected_ns;      // delays added on purpose
    uint64_t paused_ns;        // of its process_thread
    uint64_t call_cost_ns_q8;  // calibrated cost of a wrapped call, in 1/256 ns
    uint64_t record_bytes;     // size of its record file
    uint64_t samples;
    uint64_t samples_in_calls;
    uint64_t samples_lost;
    uint64_t folded_paths;
    uint64_t files_unnamed;
    uint64_t io_unobserved;
    uint64_t process_thread;  // the thread whose times are the rank's: see FileHeader
    uint64_t dropped;
    uint64_t guessed;
    uint64_t clock_errors;
    uint64_t threads_served;
    uint64_t probes;  // see ThreadRecord
    uint64_t probes_missed;
    uint64_t probes_dropped;
    uint64_t threads_cut;     // threads that ended inside a probe: their open entries have no end
    int64_t clock_offset_ns;  // see FileHeader
    int64_t clock_drift_ns;
    uint64_t clock_bound_ns;
    uint64_t order_kept;
    uint64_t order_remote;
    uint64_t order_posted;
    uint64_t order_unknown;
    uint64_t queued_ns;       // waited for a processor in long computations,
    uint64_t queued_call_ns;  // and in the transfer of long calls
    uint64_t stalls_dropped;  // see ThreadRecord
    uint64_t usage_ns;        // the time from the start that `usage` covers; 0: not known
    ProcessUsage usage;
    const char* host = "";
    const char* program = "";
    const char* command = "";
};

class RankList {
  public:
    RankList() = default;
    RankList(RankList&& other) noexcept { swap(other); }
    RankList& operator=(RankList&& other) noexcept {
        swap(other);
        return *this;
    }
    ~RankList();
    void swap(RankList& other) noexcept;

    // Number of ranks in the list. Not verified for lists of other processes until keep_readable().
    uint32_t size() const { return count_; }
    bool empty() const { return count_ == 0; }
    uint64_t bytes() const { return bytes_; }
    // A full copy of the last entry, which lets the next list be joined without reading this one.
    const GrowArray<char>& last() const { return last_; }

    // The names are copied.
    bool add(const MergedRank& rank);
    // Appends `from`, which is empty afterwards; the time does not depend on either size. Returns
    // false without memory, or when the last entry of this list or the first of `from` is damaged;
    // both are unchanged then.
    bool take(RankList* from);
    // Takes the `count` ranks in `bytes`, reads only `last`, and leaves `bytes` empty. Returns
    // false when `count` and the bytes cannot agree; the list and `bytes` are unchanged then.
    bool adopt(uint32_t count, GrowArray<char>* bytes, GrowArray<char>* last);
    bool is_readable() const;
    // Keeps the entries before the first damaged one. Returns false when entries were removed.
    bool keep_readable();

    // Visits the bytes of the list in order, in a few pieces: use(bytes, size) returns whether to
    // go on.
    template <typename Use>
    bool each_piece(Use use) const {
        for (const Piece& piece : pieces_) {
            if (!use(piece.data + piece.begin, piece.end - piece.begin)) return false;
        }
        return true;
    }

  private:
    friend class RankReader;
    struct Piece {  // starts and ends between entries
        char* data;
        size_t begin;
        size_t end;
        size_t capacity;
    };

    bool make_room(size_t bytes);
    void append(const char* bytes, size_t size);

    GrowArray<Piece> pieces_;
    uint32_t count_ = 0;
    uint64_t bytes_ = 0;
    GrowArray<char> last_;
};

// Reads a list that does not change meanwhile; the names point into the list.
class RankReader {
  public:
    explicit RankReader(const RankList& list) : list_(list) {}
    // Returns false after the last rank, and where the bytes are damaged.
    bool next(MergedRank* rank);

  private:
    friend class RankList;
    bool at_end() const { return read_ == list_.count_ && piece_ == list_.pieces_.size(); }

    const RankList& list_;
    MergedRank previous_{};
    uint32_t read_ = 0;
    size_t piece_ = 0;
    size_t at_ = 0;  // in the piece, from its `begin`
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MERGE_RANK_LIST_H_
