// Puts probes into the procedure that GCC is compiling.
#ifndef DWELL_INSTRUMENT_GCC_GCC_PROBES_H_
#define DWELL_INSTRUMENT_GCC_GCC_PROBES_H_

#include "instrument/gcc/gcc_headers.h"
#include "instrument/gcc/gcc_sites.h"

namespace dwell {

// `group` is the number of the procedure's rows in the unit's table. Loops must be known to GCC
// with preheaders and exits.
void insert_probes(function* procedure, const ProcedureSites& sites, int group);

// Where leaving the procedure is probed: a probe before each statement, or on each edge.
struct LeavePlaces {
    std::vector<gimple*> before;
    std::vector<edge> on;
};
// Before calls that will be jumps, otherwise before returning.
LeavePlaces find_leave_places(function* procedure);

// When GIMPLE has become RTL: gives the probes of the procedure the address of their frame. (Not
// before: a memory operand in GIMPLE would count as a use of all memory.)
void complete_probes();

// Before blocks are put in their last order: takes what probes do when their site is on out of the
// way of what runs when it is off.
void move_bodies_away();

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_GCC_GCC_PROBES_H_
