// Blocks and markers: what a program tells about itself (dwell.h), and what programming models tell
// for it (kokkos.cpp). A block is an entry on the thread's stack of open nodes (probes.h), like a
// procedure; it lies in the frame of the entry that was the innermost when it began, and lives
// until it is ended or that frame is gone.
//
// What a block is called is written once to the record file, as a TextRecord. In this process a
// BlockName stands for it; it never moves or ends.
#ifndef DWELL_RUNTIME_PROBES_BLOCKS_H_
#define DWELL_RUNTIME_PROBES_BLOCKS_H_

#include <stddef.h>

#include "runtime/calltree/texts.h"
#include "runtime/probes/probes.h"

namespace dwell {

struct BlockName {
    uint64_t hash;
    const char* text;     // in the record file; "name" or "name\nfile:line"
    const char* literal;  // by which a statement of the program gives the name, or null
    uint32_t bytes;       // of the whole text
    uint32_t name_bytes;
    CellIndex cell;  // its TextRecord
    SiteKind kind;
    uint8_t node_flags;  // NodeFlags
    uint8_t level;       // SiteLevel
};

// The BlockName for a block or marker; null when there is no room for another name, or the process
// is not observed. `file` may be null.
BlockName* block_name(SiteKind kind, uint8_t node_flags, GivenName name, const char* file,
                      uint32_t line);

// The number of a name, for interfaces that want one, and back; 0 and null stand for no name.
uint32_t number_of(const BlockName* name);
BlockName* name_of(uint32_t number);

// All may be called by any thread at any time, also while nothing is recorded. The names may be
// null: then nothing happens.

// A paired block's end does not name it (end_paired).
void begin_block(const BlockName* name);
void begin_paired(const BlockName* name);
void begin_phase(const BlockName* name, uint64_t iteration);

// Ends the innermost open block of that name, whichever statement began it; null text: of any name.
void end_block(GivenName name);
void end_block(const BlockName* name);
// Ends the innermost open phase, or paired block.
void end_phase();
void end_paired();

// Adds to the count of the innermost open block.
void add_volume(uint64_t volume);

void mark(const BlockName* name, uint64_t volume);

// What every slow way begins with: what happened since the thread's last probe is noticed, and the
// entries are those of the stack that `frame` lies on. False when none can be opened or closed.
bool settle(Thread* thread, uint64_t frame, uint64_t now);

// Real ticks for what happens `now`: while recording is off, those when it was switched off.
inline uint64_t booked_now(uint64_t now) { return g_live->paused != 0 ? g_live->pause_start : now; }

// Measures what a block and a marker cost, on a thread with records of no one (calibrate_probes).
void calibrate_blocks(Thread* thread, CellIndex node);

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROBES_BLOCKS_H_
