// Finds test blocks of loops and loops that GCC divided, with the help of the source text; see
// gcc_loop_shape.h.
#include "instrument/gcc/gcc_loop_shape.h"

#include "instrument/selection/source_text.h"

namespace dwell {

std::vector<location_t> calls_around(location_t location) {
    std::vector<location_t> calls;
    for (tree block = LOCATION_BLOCK(location); block != NULL_TREE && TREE_CODE(block) == BLOCK;
         block = BLOCK_SUPERCONTEXT(block)) {
        if (inlined_function_outer_scope_p(block)) calls.push_back(BLOCK_SOURCE_LOCATION(block));
    }
    return calls;
}

namespace {

using Blocks = std::unordered_set<basic_block>;

std::string_view line_of(const std::string& file, uint32_t line) {
    const char_span text = location_get_source_line(file.c_str(), static_cast<int>(line));
    return text ? std::string_view(text.get_buffer(), text.length()) : std::string_view();
}

bool is_known(location_t location) { return LOCATION_LOCUS(location) > BUILTINS_LOCATION; }

// The source text of a loop, in its own procedure, which may be inlined.
class Text {
  public:
    explicit Text(class loop* loop) : loop_(loop) {}

    Around around(location_t location) {
        if (!is_known(location)) return {};
        const std::vector<location_t> calls = calls_around(location);
        const size_t depth = calls.empty() ? 0 : depth_of_loop();
        if (calls.size() > depth) location = calls[calls.size() - depth - 1];
        const expanded_location place = expand_location(location);
        if (place.file == nullptr || place.line <= 0 || place.column <= 0) {
            return {};
        }
        return statement_or_place(
            {place.file, static_cast<uint32_t>(place.line), static_cast<uint32_t>(place.column)},
            line_of);
    }

  private:
    size_t depth_of_loop() {
        if (depth_ != kUnread) return depth_;
        basic_block* blocks = get_loop_body(loop_);
        for (unsigned i = 0; i < loop_->num_nodes; ++i) {
            for (gimple_stmt_iterator at = gsi_start_bb(blocks[i]); !gsi_end_p(at); gsi_next(&at)) {
                const location_t location = gimple_location(gsi_stmt(at));
                if (is_known(location)) depth_ = std::min(depth_, calls_around(location).size());
            }
        }
        free(blocks);
        return depth_;
    }

    static constexpr size_t kUnread = SIZE_MAX;
    class loop* loop_;
    size_t depth_ = kUnread;
};

bool is_nothing(const gimple* statement) {
    return is_gimple_debug(statement) || gimple_clobber_p(statement) ||
           gimple_code(statement) == GIMPLE_LABEL || gimple_code(statement) == GIMPLE_PREDICT ||
           gimple_code(statement) == GIMPLE_NOP;
}

bool is_empty(basic_block block) {
    for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
        if (!is_nothing(gsi_stmt(at))) return false;
    }
    return true;
}

gcond* test_of(basic_block block) {
    gimple* last = last_stmt(block);
    return last != nullptr && EDGE_COUNT(block->succs) == 2 ? dyn_cast<gcond*>(last) : nullptr;
}

// An exception or computed jump: never part of a condition.
bool is_jump(const edge way) { return (way->flags & EDGE_COMPLEX) != 0; }

// The place of the block's first action, or of its test.
location_t place_of_block(basic_block block) {
    if (const gcond* test = test_of(block)) return gimple_location(test);
    for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
        const location_t location = gimple_location(gsi_stmt(at));
        if (!is_nothing(gsi_stmt(at)) && is_known(location)) return location;
    }
    return UNKNOWN_LOCATION;
}

// Whether the block only computes and tests a part of the condition of the loop statement `own`.
bool only_tests(basic_block block, const Around& own, Text& text) {
    for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
        const location_t location = gimple_location(gsi_stmt(at));
        if (is_nothing(gsi_stmt(at)) || !is_known(location)) continue;
        if (text.around(location) != own) return false;
    }
    return true;
}

// The same for a header without readable source: its other actions are on the line of its test.
bool seems_to_test(basic_block block) {
    const int line = LOCATION_LINE(place_of_block(block));
    for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
        const gimple* statement = gsi_stmt(at);
        if (is_nothing(statement) || gimple_lineno(statement) == line) continue;
        if (gimple_has_side_effects(statement) || gimple_store_p(statement)) return false;
    }
    return true;
}

bool is_in(const Blocks& blocks, basic_block block) { return blocks.count(block) != 0; }

// Whether a successor of the block leads directly back to the header: a body without statements.
bool goes_back(class loop* loop, basic_block block) {
    for (const edge on : block->succs) {
        if (on->dest == loop->header) return true;
        if (on->dest == loop->latch && is_empty(loop->latch)) return true;
    }
    return false;
}

// Whether `inner` begins at the same place as `outer`.
bool begin_together(class loop* outer, class loop* inner) {
    basic_block block = outer->header;
    while (block != inner->header) {
        if (block->loop_father != outer || !is_empty(block) || !single_succ_p(block)) return false;
        block = single_succ(block);
    }
    return true;
}

bool leaves(class loop* loop, const Blocks& blocks) {
    for (basic_block block : blocks) {
        for (const edge on : block->succs) {
            if (!is_jump(on) && !flow_bb_inside_loop_p(loop, on->dest)) return true;
        }
    }
    return false;
}

// Whether the block may follow the blocks of a test: its predecessors are among them, or itself in
// a loop inside the condition (from an inlined procedure).
bool is_reached_from(const Blocks& tests, basic_block block, class loop* loop) {
    class loop* inner = block->loop_father;
    for (const edge before : block->preds) {
        const bool again =
            inner != loop && inner->header == block && flow_bb_inside_loop_p(inner, before->src);
        if (!again && !is_in(tests, before->src)) return false;
    }
    return true;
}

bool only_tests(class loop* inner, const Around& own, Text& text) {
    basic_block* blocks = get_loop_body(inner);
    const bool all = std::all_of(blocks, blocks + inner->num_nodes,
                                 [&](basic_block block) { return only_tests(block, own, text); });
    free(blocks);
    return all;
}

struct Test {
    Blocks blocks;
    bool guessed = false;  // the source does not decide it
};

Test test_of_loop(class loop* loop) {
    Text text(loop);
    const Around own = text.around(place_of_block(loop->header));
    const bool known = own.is_loop();
    if (known ? !own.is_first() : !own.is_unknown()) return {};
    Test test;
    std::vector<basic_block> pending = {loop->header};
    while (!pending.empty()) {
        const basic_block block = pending.back();
        pending.pop_back();
        if (is_in(test.blocks, block) || !flow_bb_inside_loop_p(loop, block)) continue;
        const bool is_header = block == loop->header;
        if (!is_header) {
            if (block == loop->latch || !is_reached_from(test.blocks, block, loop)) continue;
            class loop* inner = block->loop_father;
            const bool again = inner != loop && inner->header == block;
            if (own.line == 0 || (again && !(known && only_tests(inner, own, text)))) continue;
        }
        const bool tests =
            is_header && !known ? seems_to_test(block) : only_tests(block, own, text);
        if (!tests || (!known && goes_back(loop, block))) continue;
        test.blocks.insert(block);
        for (const edge on : block->succs) {
            if (!is_jump(on)) pending.push_back(on->dest);
        }
    }
    const bool leaving = leaves(loop, test.blocks);
    if (known) {
        // Objects declared in the condition are destroyed on both paths.
        test.guessed = !leaving && std::any_of(test.blocks.begin(), test.blocks.end(), test_of);
    } else {
        // Fortran's own loops have no parentheses.
        const bool fortran = strstr(lang_hooks.name, "Fortran") != nullptr;
        test.guessed = !fortran && (leaving || leaves(loop, {loop->header}));
    }
    if (!leaving) test.blocks.clear();
    return test;
}

// Whether both are one loop statement of the source, although GCC cannot distinguish this.
bool is_same(class loop* outer, class loop* inner) {
    if (!begin_together(outer, inner)) return false;
    const Blocks tests = test_blocks(inner);
    if (!tests.empty()) return leaves(outer, tests);
    const basic_block last = is_empty(inner->latch) && single_pred_p(inner->latch)
                                 ? single_pred(inner->latch)
                                 : inner->latch;
    const gcond* test = test_of(last);
    return test == nullptr || !Text(inner).around(gimple_location(test)).is_loop();
}

}  // namespace

class loop* part_of_same(class loop* loop) {
    if (loop_outer(loop) == nullptr) return nullptr;  // the procedure itself
    for (class loop* inner = loop->inner; inner != nullptr; inner = inner->next) {
        if (is_same(loop, inner)) return inner;
    }
    return nullptr;
}

class loop* innermost_part(class loop* loop) {
    while (class loop* part = part_of_same(loop)) loop = part;
    return loop;
}

std::unordered_set<basic_block> test_blocks(class loop* loop) { return test_of_loop(loop).blocks; }

bool is_test_guessed(class loop* loop) { return test_of_loop(loop).guessed; }

}  // namespace dwell
