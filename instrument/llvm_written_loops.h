// Not every loop that the optimiser leaves was written as one: it turns some recursive calls into
// loops, and an atomic update may be one that tries again. These are no sites. They are told from
// the others by what the module looked like before.
#ifndef DWELL_INSTRUMENT_LLVM_WRITTEN_LOOPS_H_
#define DWELL_INSTRUMENT_LLVM_WRITTEN_LOOPS_H_

#include "llvm/ADT/DenseSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Module.h"

namespace dwell {

class WrittenLoops {
  public:
    // Before any optimisation: remembers the procedures that may call themselves, and marks their
    // loops as written, as clang marks those of its loop statements.
    void remember(llvm::Module& module);

    // After. Without line information every loop counts as written.
    bool contains(const llvm::Loop& loop) const;

  private:
    llvm::DenseSet<const llvm::DISubprogram*> recursive_;
};

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_LLVM_WRITTEN_LOOPS_H_
