// The sites of one module in LLVM, after inlining and before vectorisation: determines the rows of
// the static table, and which of them get probes. DESIGN 1 (site), runtime/contract/site_table.h.
#ifndef DWELL_INSTRUMENT_LLVM_LLVM_SITES_H_
#define DWELL_INSTRUMENT_LLVM_LLVM_SITES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "instrument/llvm/llvm_as_written.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"
#include "runtime/contract/record_layout.h"

namespace dwell {

struct LlvmOptions;

constexpr int kNoRow = -1;

struct LlvmRow {
    SiteKind kind = SiteKind::kNone;
    uint8_t flags = 0;  // SiteRowFlags
    std::string name;
    std::string file;
    unsigned line = 0;
    unsigned column = 0;
    unsigned end_line = 0;
    int enclosing = kNoRow;  // index of the row
    int level = kNoRow;      // index of the level byte; none: the site has no probes
};

struct LlvmUnit {
    std::string file;
    std::string directory;
    std::vector<LlvmRow> rows;
    int levels = 0;
    unsigned loops_seen = 0;
    unsigned procedures_seen = 0;
    llvm::DenseMap<const llvm::Function*, int> procedure_rows;
    // Rows with probes: by procedure, and by header of the loop.
    llvm::DenseMap<const llvm::Function*, int> procedures;
    llvm::DenseMap<const llvm::BasicBlock*, int> loops;
    // Headers of loops that contain calls: such loops may be left without a leave probe.
    llvm::DenseSet<const llvm::BasicBlock*> calling_loops;
};

LlvmUnit find_sites(llvm::Module& module, const LlvmOptions& options, const AsWritten& written);

// Name of the callee of `call`, empty for a call through a pointer.
llvm::StringRef called_name(const llvm::CallBase& call);

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_LLVM_LLVM_SITES_H_
