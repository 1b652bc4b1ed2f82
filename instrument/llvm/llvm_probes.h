// Inserts the probes of one procedure and its loops, and arranges their code
// (runtime/contract/site_table.h).
#ifndef DWELL_INSTRUMENT_LLVM_LLVM_PROBES_H_
#define DWELL_INSTRUMENT_LLVM_LLVM_PROBES_H_

#include "instrument/llvm/llvm_tables.h"
#include "llvm/IR/PassManager.h"

namespace dwell {

// Returns whether the procedure was changed. `analyses` are kept up to date.
bool insert_probes(llvm::Function& function, const LlvmUnit& unit, const LlvmTables& tables,
                   llvm::FunctionAnalysisManager& analyses);

// Call after optimisation: moves the code of probes for enabled sites away from the path of
// disabled sites, to blocks at the end of the procedure.
void move_bodies_away(llvm::Module& module);

// Computes the frame slot's address again beside each probe of the module, if passes after
// insert_probes moved the computation away: only beside the probe it needs no register.
void bring_slots_home(llvm::Module& module);

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_LLVM_LLVM_PROBES_H_
