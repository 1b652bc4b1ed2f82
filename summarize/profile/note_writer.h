// Collects the notes of a profile, and formats the phrases that they share (lists of ranks,
// plurals, shares).
#ifndef DWELL_SUMMARIZE_PROFILE_NOTE_WRITER_H_
#define DWELL_SUMMARIZE_PROFILE_NOTE_WRITER_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <utility>
#include <vector>

#include "summarize/model/profile.h"

namespace dwell {

constexpr size_t kListedRanks = 8;

// "rank 3", "ranks 0, 2 and 5", "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 92 more". There must be a rank.
std::string rank_list(const std::vector<uint32_t>& ranks);
// The same for `count` ranks, of which `ranks` holds the first kListedRanks + 1 or more.
std::string first_ranks(const std::vector<uint32_t>& ranks, size_t count);

// The ending of a noun after the number `count`: "s", or nothing for one.
const char* plural(uint64_t count);
// `part` of `whole`: "0.12 %", "20 %", "100 %".
std::string percent(uint64_t part, uint64_t whole);

// The notes of a profile, in the order in which they are added. The profile must outlive this
// object.
class NoteWriter {
  public:
    explicit NoteWriter(const Profile& profile) : profile_(profile) {}

    void add(std::string sentence) { notes_.push_back(std::move(sentence)); }
    // "ranks 0 and 1: SENTENCE" for the ranks whose files have `flag` (FileFlags); nothing without
    // such ranks.
    void add_flag(uint32_t flag, const char* sentence);
    // "12 THINGs on 2 ranks SENTENCE" for the sum over all ranks; nothing for 0. A sentence that
    // begins with "are " or "were " is adapted to the number.
    void add_count(uint64_t ProfileRank::*member, const char* thing, const char* sentence);

    const Profile& profile() const { return profile_; }
    std::vector<std::string> take() { return std::move(notes_); }

  private:
    const Profile& profile_;
    std::vector<std::string> notes_;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_PROFILE_NOTE_WRITER_H_
