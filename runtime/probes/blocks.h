// Blocks and markers, named by the program (dwell.h) or by programming models (kokkos.cpp). A block
// is an entry on the thread's stack of open nodes (probes.h), like a procedure. It belongs to the
// frame of the entry that was the innermost at its beginning, and ends when it is ended or when
// that frame is gone.
//
// A name is written once to the record file, as a TextRecord. In this process a BlockName stands
// for it, which never moves or is freed.
#ifndef DWELL_RUNTIME_PROBES_BLOCKS_H_
#define DWELL_RUNTIME_PROBES_BLOCKS_H_

#include <stddef.h>

#include "runtime/calltree/texts.h"
#include "runtime/probes/probes.h"

namespace dwell {

struct BlockName {
    uint64_t hash;
    const char* text;     // in the record file; "name" or "name\nfile:line"
    const char* literal;  // string literal by which a statement gives the name, or null
    uint32_t bytes;       // size of the whole text
    uint32_t name_bytes;
    CellIndex cell;  // its TextRecord
    SiteKind kind;
    uint8_t node_flags;   // NodeFlags
    uint8_t level;        // SiteLevel
    uint8_t event_flags;  // further NodeFlags
};

// The BlockName of a block or marker; null when there is no room for another name or the process is
// not observed. `file` may be null.
BlockName* block_name(SiteKind kind, uint8_t node_flags, GivenName name, const char* file,
                      uint32_t line);

// The number of a name, for interfaces that want one, and back; 0 and null stand for no name.
// Converts names to numbers, for interfaces that use numbers, and back; 0 and null: no name.
uint32_t number_of(const BlockName* name);
BlockName* name_of(uint32_t number);

// Any thread may call these at any time, also while nothing is recorded. With a null name they do
// nothing.

// The end of a paired block does not name it (end_paired).
void begin_block(const BlockName* name);
void begin_paired(const BlockName* name);
void begin_phase(const BlockName* name, uint64_t iteration);

// Ends the innermost open block with that name, whichever statement began it; null text: any name.
void end_block(GivenName name);
void end_block(const BlockName* name);
// Ends the innermost open phase, or paired block.
void end_phase();
void end_paired();

// Adds to the count of the innermost open block.
void add_volume(uint64_t volume);

void mark(const BlockName* name, uint64_t volume);

// First step of every slow path: applies changes since the thread's last probe and selects the
// stack that `frame` lies on. False when no entry can be opened or closed.
bool settle(Thread* thread, uint64_t frame, uint64_t now);

// The real ticks to record at `now`: while recording is off, those at which it was switched off.
inline uint64_t recording_now(uint64_t now) {
    return g_live->paused != 0 ? g_live->pause_start : now;
}

// Measures the cost of a block and a marker on a scratch thread (calibrate_probes).
void calibrate_blocks(Thread* thread, CellIndex node);

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROBES_BLOCKS_H_
