// Adds the static table of a module to it as data: rows, level bytes, texts, and the constructor
// that registers them (runtime/contract/site_table.h).
#ifndef DWELL_INSTRUMENT_LLVM_LLVM_TABLES_H_
#define DWELL_INSTRUMENT_LLVM_LLVM_TABLES_H_

#include "instrument/llvm/llvm_sites.h"
#include "runtime/contract/site_table.h"

namespace dwell {

// The globals that probes refer to.
struct LlvmTables {
    llvm::GlobalVariable* rows;    // UnitRow, then the rows of LlvmUnit
    llvm::GlobalVariable* levels;  // bytes
    llvm::GlobalVariable* links;   // LinkTable
};

LlvmTables emit_tables(llvm::Module& module, const LlvmUnit& unit);

// Addresses of one row and its level byte.
llvm::Constant* row_address(const LlvmTables& tables, int row);
llvm::Constant* level_address(const LlvmTables& tables, int level);

// The slot with the address of the library's entry point.
llvm::Constant* link_address(const LlvmTables& tables, EntryPoint entry);

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_LLVM_LLVM_TABLES_H_
