// Properties of a module that are known only before the optimiser ran, or from the front end: which
// loops were written as loops, and which procedures must not be instrumented.
#ifndef DWELL_INSTRUMENT_LLVM_LLVM_AS_WRITTEN_H_
#define DWELL_INSTRUMENT_LLVM_LLVM_AS_WRITTEN_H_

#include "llvm/ADT/DenseSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Module.h"

namespace dwell {

class AsWritten {
  public:
    // Call before any optimisation: remembers procedures that may call themselves, and marks their
    // loops as written, as clang marks those of its loop statements. `marked`: the front end was
    // asked to mark procedures that may be instrumented; those marks are removed.
    void remember(llvm::Module& module, bool marked);

    // Call after optimisation. The optimiser turns some recursive calls into loops, and an atomic
    // update may become a retry loop: nobody wrote those. Without line information every loop
    // counts as written.
    bool is_loop(const llvm::Loop& loop) const;

    // Whether it has __attribute__((no_instrument_function)); needs marked procedures.
    static bool wants_no_probes(const llvm::Function& function);

  private:
    llvm::DenseSet<const llvm::DISubprogram*> recursive_;
};

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_LLVM_LLVM_AS_WRITTEN_H_
