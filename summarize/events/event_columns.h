// Packs the words of a ring (event_layout.h) into columns, and columns into words again. Records of
// one kind and node repeat, and times differ by little: so each becomes a column of its own, and
// times are stored as differences, byte by byte.
#ifndef DWELL_SUMMARIZE_EVENTS_EVENT_COLUMNS_H_
#define DWELL_SUMMARIZE_EVENTS_EVENT_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dwell {

constexpr size_t kMostBlockWords = size_t{1} << 16;

// `words` begins with a record: at most kMostBlockWords. Replaces `columns`.
void pack_words(const uint64_t* words, size_t count, std::string* columns);
// False: these are no such columns.
bool unpack_words(const char* columns, size_t bytes, std::vector<uint64_t>* words);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_EVENTS_EVENT_COLUMNS_H_
