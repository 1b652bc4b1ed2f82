// Puts the probes of one procedure and its loops into it (runtime/contract/site_table.h).
#ifndef DWELL_INSTRUMENT_LLVM_LLVM_PROBES_H_
#define DWELL_INSTRUMENT_LLVM_LLVM_PROBES_H_

#include "instrument/llvm/llvm_tables.h"
#include "llvm/IR/PassManager.h"

namespace dwell {

// True if the procedure was changed. `analyses` are kept up to date.
bool insert_probes(llvm::Function& function, const LlvmUnit& unit, const LlvmTables& tables,
                   llvm::FunctionAnalysisManager& analyses);

// When optimisation is over: takes what probes do when their site is on out of the way of what runs
// when it is off, to blocks that are laid at the end of their procedure.
void move_bodies_away(llvm::Module& module);

// Gives each probe of the module the frame slot's address anew, beside it, where passes that came
// after insert_probes moved its computation away: only there does it cost no register.
void bring_slots_home(llvm::Module& module);

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_LLVM_LLVM_PROBES_H_
