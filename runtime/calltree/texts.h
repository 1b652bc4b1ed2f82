// Texts in the record file, which nodes refer to: names that the program gives, file names, Python
// functions. Each is written once and never changes.
#ifndef DWELL_RUNTIME_CALLTREE_TEXTS_H_
#define DWELL_RUNTIME_CALLTREE_TEXTS_H_

#include <stddef.h>

#include "runtime/process/state.h"

namespace dwell {

constexpr size_t kLongestName_bytes = 1000;

// A name as the program gives it: not terminated, and anything.
struct GivenName {
    const char* text;
    size_t bytes;
};

// Held while texts and what refers to them are added to the record file, by a thread whose probes
// are off meanwhile, so that no signal handler waits for it.
class NamesLock {
  public:
    NamesLock();
    ~NamesLock();
    NamesLock(const NamesLock&) = delete;
    NamesLock& operator=(const NamesLock&) = delete;
};

// As it is kept: one line, not too long, and never empty.
GivenName clean_name(GivenName name);

// Writes a text to the record file; 0 when there is no room. Any threads may at a time.
CellIndex write_text(Thread* thread, const char* text, size_t bytes);

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLTREE_TEXTS_H_
