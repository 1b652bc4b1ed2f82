// Relates LLVM's loops to loops of the source: finds the test before a loop's body, and LLVM's
// loops that are one loop in the source.
#ifndef DWELL_INSTRUMENT_LLVM_LLVM_LOOP_SHAPE_H_
#define DWELL_INSTRUMENT_LLVM_LLVM_LOOP_SHAPE_H_

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"

namespace dwell {

// LLVM may divide a loop with several back edges (continue, a condition at the end of the body)
// into nested loops that begin at the same place. Returns the loop inside `loop` that is a part of
// it, or null.
llvm::Loop* part_of_same(const llvm::Loop& loop);

// The innermost part: its header begins every iteration.
const llvm::Loop* innermost_part(const llvm::Loop& loop);

using TestBlocks = llvm::SmallPtrSet<const llvm::BasicBlock*, 4>;

// The blocks that only belong to the condition before the body, as in a while statement: when the
// loop is left from there, the header was reached without an iteration. Empty for other loops.
TestBlocks test_blocks(const llvm::Loop& loop);

// Whether the test blocks are a guess: the source cannot be read, or a macro contains the
// statement.
bool is_test_guessed(const llvm::Loop& loop);

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_LLVM_LLVM_LOOP_SHAPE_H_
