// Facts of the GCC plugin about a whole unit, gathered before any procedure gets probes: selection
// needs facts about callees that are compiled later.
#ifndef DWELL_INSTRUMENT_GCC_GCC_FACTS_H_
#define DWELL_INSTRUMENT_GCC_GCC_FACTS_H_

#include "instrument/gcc/gcc_headers.h"
#include "instrument/selection/selection.h"

namespace dwell {

// The meaning of a statement for selection and tables.
enum class CallMeaning {
    kNone,     // no call: internal functions, builtins without a library function
    kInPlace,  // a call in the source, though short or expanded in place: sqrt, memcpy of 8 bytes
    kCall,
    kCommunication,
};
CallMeaning meaning_of(const gcall* call);

// The linker's name.
std::string linkage_name(tree decl);

// Whether the compiler made the function to run static initialisers or destructors.
bool is_static_initialiser(tree fndecl);

// GCC turns some recursive calls into loops that nobody wrote. Calling this before and after that
// pass distinguishes them: a procedure without a loop of its own gets an attribute (which reaches
// the link step of link-time optimisation), and the new loops get a mark that inlining copies.
void note_loops(function* procedure);
void mark_new_loops(function* procedure);
bool is_recursion(class loop* loop);

class UnitFacts {
  public:
    // Call once, after the interprocedural passes and before any body is compiled.
    void gather();
    bool too_small(tree fndecl) const { return small_.count(DECL_UID(fndecl)) != 0; }
    // Whether the procedure and everything inlined into it contain no written loop: apparent loops
    // are recursive calls.
    bool loopless(tree fndecl) const { return loopless_.count(DECL_UID(fndecl)) != 0; }

  private:
    std::unordered_set<unsigned> small_;
    std::unordered_set<unsigned> loopless_;
};

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_GCC_GCC_FACTS_H_
