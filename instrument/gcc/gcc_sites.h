// The sites of the procedure that GCC is compiling: the rows of its table, and the loops and calls
// of these rows.
#ifndef DWELL_INSTRUMENT_GCC_GCC_SITES_H_
#define DWELL_INSTRUMENT_GCC_GCC_SITES_H_

#include "instrument/gcc/gcc_facts.h"
#include "instrument/gcc/gcc_headers.h"
#include "instrument/selection/probe_text.h"
#include "instrument/selection/selection.h"

namespace dwell {

struct LoopSite {
    class loop* loop;
    int row;
    bool calls;  // contains calls, so it may be left without a leave probe
};

struct ProcedureSites {
    TableGroup group;
    std::vector<LoopSite> probed_loops;  // outer ones before inner ones
    std::vector<gcall*> vforks;
    unsigned loops_seen = 0;
};

struct SelectionOptions {
    bool all = false;
    const Wishes* wishes = nullptr;  // null: none
};

// How far a procedure may be instrumented.
enum class Treatment {
    kLeaveAlone,  // no rows: the code is not from the compiler, or not from a programmer
    kRowsOnly,    // probes are unsafe or unwanted there
    kProbes,
};
Treatment treatment_of(function* procedure);

// GCC must have computed its loops (loop_optimizer_init).
ProcedureSites find_sites(function* procedure, const UnitFacts& facts,
                          const SelectionOptions& options, Treatment treatment);

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_GCC_GCC_SITES_H_
