// Relates GCC's loops to loops of the source: finds the test before a loop's body, and GCC's loops
// that are one loop in the source.
#ifndef DWELL_INSTRUMENT_GCC_GCC_LOOP_SHAPE_H_
#define DWELL_INSTRUMENT_GCC_GCC_LOOP_SHAPE_H_

#include "instrument/gcc/gcc_headers.h"

namespace dwell {

// The call locations of the inlined procedures that contain the statement, innermost first.
std::vector<location_t> calls_around(location_t location);

// GCC divides a loop with several back edges (continue, a condition at the end of the body) into
// nested loops that begin at the same place. Returns the loop inside `loop` that is a part of it,
// or null.
class loop* part_of_same(class loop* loop);

// The innermost part: its header begins every iteration.
class loop* innermost_part(class loop* loop);

// The blocks that only belong to the condition before the body, as in a while statement: when the
// loop is left from there, the header was reached without an iteration. Empty for other loops.
std::unordered_set<basic_block> test_blocks(class loop* loop);

// Whether the test blocks are a guess: the source cannot be read, or a macro contains the
// statement.
bool is_test_guessed(class loop* loop);

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_GCC_GCC_LOOP_SHAPE_H_
