// Texts in the record file that nodes refer to: names given by the program, file names, Python
// functions. A text is written once and never changes.
#ifndef DWELL_RUNTIME_CALLTREE_TEXTS_H_
#define DWELL_RUNTIME_CALLTREE_TEXTS_H_

#include <stddef.h>

#include "runtime/process/state.h"

namespace dwell {

constexpr size_t kLongestName_bytes = 1000;

// A name as given by the program: not terminated, any bytes.
struct GivenName {
    const char* text;
    size_t bytes;
};

// Held while texts and references to them are added to the record file. The holder's probes are
// off, so no signal handler waits for the lock.
class NamesLock {
  public:
    NamesLock();
    ~NamesLock();
    NamesLock(const NamesLock&) = delete;
    NamesLock& operator=(const NamesLock&) = delete;
};

// The name as stored: one line, limited length, never empty.
GivenName clean_name(GivenName name);

// Writes a text to the record file; 0 when there is no room. Any thread, concurrently.
CellIndex write_text(Thread* thread, const char* text, size_t bytes);

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLTREE_TEXTS_H_
