// What can be told of a module only before the optimiser worked on it, or with the front end's
// help: which of its loops were written as loops, and which procedures want no instrumentation.
#ifndef DWELL_INSTRUMENT_LLVM_LLVM_AS_WRITTEN_H_
#define DWELL_INSTRUMENT_LLVM_LLVM_AS_WRITTEN_H_

#include "llvm/ADT/DenseSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Module.h"

namespace dwell {

class AsWritten {
  public:
    // Before any optimisation: remembers the procedures that may call themselves, and marks their
    // loops as written, as clang marks those of its loop statements. `marked`: the front end was
    // asked to mark procedures that may be instrumented; those marks are taken away.
    void remember(llvm::Module& module, bool marked);

    // After. The optimiser turns some recursive calls into loops, and an atomic update may be one
    // that tries again: no one wrote those. Without line information every loop counts as written.
    bool is_loop(const llvm::Loop& loop) const;

    // __attribute__((no_instrument_function)), if procedures were marked.
    static bool wants_no_probes(const llvm::Function& function);

  private:
    llvm::DenseSet<const llvm::DISubprogram*> recursive_;
};

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_LLVM_LLVM_AS_WRITTEN_H_
