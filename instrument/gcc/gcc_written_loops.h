// Loops as written, in procedures that GCC sees differently. After a call that returns twice
// (setjmp) every call that may jump has an edge to all possible jump targets. These edges connect
// loops with each other, and make loops of other code.
#ifndef DWELL_INSTRUMENT_GCC_GCC_WRITTEN_LOOPS_H_
#define DWELL_INSTRUMENT_GCC_GCC_WRITTEN_LOOPS_H_

#include "instrument/gcc/gcc_headers.h"

namespace dwell {

struct WrittenLoop {
    basic_block header;
    std::unordered_set<basic_block> blocks;
};

class WrittenLoops {
  public:
    explicit WrittenLoops(function* procedure);
    const std::vector<WrittenLoop>& all() const { return loops_; }
    // True when GCC's `loop` agrees with the source.
    bool is_clear(class loop* loop) const;

  private:
    std::vector<WrittenLoop> loops_;
    std::unordered_set<basic_block> returning_;  // the procedure can return from these
};

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_GCC_GCC_WRITTEN_LOOPS_H_
