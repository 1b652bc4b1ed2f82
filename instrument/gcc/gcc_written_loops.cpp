// Finds loops as written in procedures with calls that return twice; see gcc_written_loops.h.
#include "instrument/gcc/gcc_written_loops.h"

namespace dwell {

namespace {

using Blocks = std::unordered_set<basic_block>;

bool is_abnormal(const_edge way) { return (way->flags & EDGE_ABNORMAL) != 0; }

// The blocks that reach `pending` without jumps and without passing through `found`, together with
// both sets.
Blocks leading_to(std::vector<basic_block> pending, Blocks found) {
    found.insert(pending.begin(), pending.end());
    while (!pending.empty()) {
        basic_block block = pending.back();
        pending.pop_back();
        for (const edge before : block->preds) {
            if (!is_abnormal(before) && found.insert(before->src).second) {
                pending.push_back(before->src);
            }
        }
    }
    return found;
}

// Headers with the sources of their back edges, depth first: a back edge leads to an unfinished
// block.
std::vector<std::pair<basic_block, std::vector<basic_block>>> ways_back(function* procedure) {
    struct Step {
        basic_block block;
        unsigned next;
    };
    std::vector<std::pair<basic_block, std::vector<basic_block>>> found;
    Blocks reached;
    Blocks open;
    std::vector<Step> way;
    const auto go_to = [&](basic_block block) {
        reached.insert(block);
        open.insert(block);
        way.push_back({block, 0});
    };
    go_to(ENTRY_BLOCK_PTR_FOR_FN(procedure));
    while (!way.empty()) {
        const basic_block block = way.back().block;
        if (way.back().next == EDGE_COUNT(block->succs)) {
            open.erase(block);
            way.pop_back();
            continue;
        }
        const edge on = EDGE_SUCC(block, way.back().next++);
        if (is_abnormal(on)) continue;
        if (open.count(on->dest) != 0) {
            const auto same = std::find_if(found.begin(), found.end(), [on](const auto& loop) {
                return loop.first == on->dest;
            });
            if (same != found.end()) {
                same->second.push_back(block);
            } else {
                found.push_back({on->dest, {block}});
            }
        } else if (reached.count(on->dest) == 0) {
            go_to(on->dest);
        }
    }
    return found;
}

}  // namespace

WrittenLoops::WrittenLoops(function* procedure)
    : returning_(leading_to({EXIT_BLOCK_PTR_FOR_FN(procedure)}, {})) {
    for (const auto& [header, latches] : ways_back(procedure)) {
        std::vector<basic_block> pending = latches;
        pending.erase(std::remove(pending.begin(), pending.end(), header), pending.end());
        Blocks blocks = leading_to(pending, {header});
        // With several entries it is no loop for GCC anywhere.
        if (blocks.count(ENTRY_BLOCK_PTR_FOR_FN(procedure)) == 0) {
            loops_.push_back({header, std::move(blocks)});
        }
    }
}

// An additional block is the target of all jumps, or only jumps itself.
bool WrittenLoops::is_clear(class loop* loop) const {
    const auto written = std::find_if(loops_.begin(), loops_.end(), [loop](const WrittenLoop& one) {
        return one.header == loop->header;
    });
    if (written == loops_.end()) return false;
    basic_block* blocks = get_loop_body(loop);
    const bool clear = std::none_of(blocks, blocks + loop->num_nodes, [&](basic_block block) {
        return written->blocks.count(block) == 0 && returning_.count(block) != 0;
    });
    free(blocks);
    return clear;
}

}  // namespace dwell
