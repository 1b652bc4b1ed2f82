// What the GCC plugin knows of the whole unit before any procedure gets probes: selection needs
// facts about callees that are compiled later.
#ifndef DWELL_INSTRUMENT_GCC_GCC_FACTS_H_
#define DWELL_INSTRUMENT_GCC_GCC_FACTS_H_

#include "instrument/gcc/gcc_headers.h"
#include "instrument/selection/selection.h"

namespace dwell {

// What the statement means to selection and tables.
enum class CallMeaning {
    kNone,     // becomes no call: internal functions, builtins without a library function
    kInPlace,  // a call as written, though short or expanded in place: sqrt, memcpy of 8 bytes
    kCall,
    kCommunication,
};
CallMeaning meaning_of(const gcall* call);

// Linkage name as the assembler sees it.
std::string linkage_name(tree decl);

// A function that the compiler made to run static initialisers or destructors.
bool is_static_initialiser(tree fndecl);

// GCC makes loops of recursive calls; nobody wrote those. Before and after it does, these tell them
// apart: a procedure without a loop of its own gets an attribute (it reaches the link step of
// link-time optimisation), and the new loops a mark that inlining copies.
void note_loops(function* procedure);
void mark_new_loops(function* procedure);
bool is_recursion(class loop* loop);

class UnitFacts {
  public:
    // Once, when interprocedural passes are over and no body has been compiled.
    void gather();
    bool too_small(tree fndecl) const { return small_.count(DECL_UID(fndecl)) != 0; }
    // No loop was written, neither in the procedure nor in what was inlined into it: what look like
    // loops are recursive calls.
    bool loopless(tree fndecl) const { return loopless_.count(DECL_UID(fndecl)) != 0; }

  private:
    std::unordered_set<unsigned> small_;
    std::unordered_set<unsigned> loopless_;
};

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_GCC_GCC_FACTS_H_
