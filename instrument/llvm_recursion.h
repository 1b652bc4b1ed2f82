// The optimiser turns some recursive calls into loops, which no one wrote: they are no sites. They
// are told from written ones by what the module looked like before.
#ifndef DWELL_INSTRUMENT_LLVM_RECURSION_H_
#define DWELL_INSTRUMENT_LLVM_RECURSION_H_

#include "llvm/ADT/DenseSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Module.h"

namespace dwell {

class LlvmRecursion {
  public:
    // Before any optimisation: remembers the procedures that may call themselves, and marks their
    // loops as written, as clang marks those of its loop statements.
    void remember(llvm::Module& module);

    // After: whether `loop` came from calls. Without line information the answer is no.
    bool is_made_of_calls(const llvm::Loop& loop) const;

  private:
    llvm::DenseSet<const llvm::DISubprogram*> recursive_;
};

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_LLVM_RECURSION_H_
