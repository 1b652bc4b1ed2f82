// What of a loop is the test before its body, and which of LLVM's loops are one in the source.
#ifndef DWELL_INSTRUMENT_LLVM_LLVM_LOOP_SHAPE_H_
#define DWELL_INSTRUMENT_LLVM_LLVM_LOOP_SHAPE_H_

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"

namespace dwell {

// A loop of several ways back (continue, a condition at the end of the body) may be taken for loops
// within each other that begin at the same place: the one inside `loop` that is a part of it; null
// when there is none.
llvm::Loop* part_of_same(const llvm::Loop& loop);

// The innermost of them: the header that every iteration begins with is its.
const llvm::Loop* innermost_part(const llvm::Loop& loop);

using TestBlocks = llvm::SmallPtrSet<const llvm::BasicBlock*, 4>;

// The blocks that are nothing but the condition before the body, as in a while statement: left from
// there, the header was reached without an iteration. Empty for other loops.
TestBlocks test_blocks(const llvm::Loop& loop);

// Whether the source does not tell them: it cannot be read, or a macro holds the statement.
bool is_test_guessed(const llvm::Loop& loop);

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_LLVM_LLVM_LOOP_SHAPE_H_
