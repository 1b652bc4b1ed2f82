// What of a loop is the test before its body, and which of GCC's loops are one in the source.
#ifndef DWELL_INSTRUMENT_GCC_GCC_LOOP_SHAPE_H_
#define DWELL_INSTRUMENT_GCC_GCC_LOOP_SHAPE_H_

#include "instrument/gcc/gcc_headers.h"

namespace dwell {

// A loop of several ways back (continue, a condition at the end of the body) looks to GCC like
// loops within each other that begin at the same place: the one inside `loop` that is a part of it;
// null when there is none.
class loop* part_of_same(class loop* loop);

// The innermost of them: the header that every iteration begins with is its.
class loop* innermost_part(class loop* loop);

// The blocks that are nothing but the condition before the body, as in a while statement: left from
// there, the header was reached without an iteration. Empty for other loops.
std::unordered_set<basic_block> test_blocks(class loop* loop);

// Whether the source does not tell them: it cannot be read, or a macro holds the statement.
bool is_test_guessed(class loop* loop);

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_GCC_GCC_LOOP_SHAPE_H_
