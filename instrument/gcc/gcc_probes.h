// Inserts probes into the procedure that GCC is compiling, and arranges their code.
#ifndef DWELL_INSTRUMENT_GCC_GCC_PROBES_H_
#define DWELL_INSTRUMENT_GCC_GCC_PROBES_H_

#include "instrument/gcc/gcc_headers.h"
#include "instrument/gcc/gcc_sites.h"

namespace dwell {

// `group` is the number of the procedure's rows in the unit's table. GCC must have computed its
// loops, with preheaders and exits.
void insert_probes(function* procedure, const ProcedureSites& sites, int group);

// The places where leaving the procedure is probed: before statements, or on edges.
struct LeavePlaces {
    std::vector<gimple*> before;
    std::vector<edge> on;
};
// Before calls that will become jumps, otherwise before the return.
LeavePlaces find_leave_places(function* procedure);

// Call when GIMPLE has become RTL: gives the probes of the procedure the address of their frame.
// (Not before: a memory operand in GIMPLE would count as a use of all memory.)
void complete_probes();

// Call before the final block order: moves the code of probes for enabled sites away from the path
// of disabled sites.
void move_bodies_away();

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_GCC_GCC_PROBES_H_
