// Loops as they were written, in procedures where GCC's own view of them is blurred: after a call
// that returns twice (setjmp) every call that may jump has an edge to all places that it may jump
// to. By those edges a loop reaches into others, and what was no loop becomes one.
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
    // True when GCC takes `loop` for what was written.
    bool is_clear(class loop* loop) const;

  private:
    std::vector<WrittenLoop> loops_;
    std::unordered_set<basic_block> returning_;  // from there the procedure can return
};

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_GCC_GCC_WRITTEN_LOOPS_H_
