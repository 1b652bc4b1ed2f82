// Finds test blocks of loops and loops that LLVM divided, with the help of the source text; see
// llvm_loop_shape.h.
#include "instrument/llvm/llvm_loop_shape.h"

#include <map>
#include <string>
#include <vector>

#include "instrument/selection/source_text.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using llvm::BasicBlock;
using llvm::DILocation;
using llvm::Instruction;
using llvm::Loop;
using llvm::Value;

namespace dwell {
namespace {

struct SourceFile {
    std::unique_ptr<llvm::MemoryBuffer> buffer;
    std::vector<llvm::StringRef> lines;
};

const SourceFile& source_file(const std::string& path) {
    static std::map<std::string, SourceFile> files;  // until the compiler ends
    const auto [entry, is_new] = files.try_emplace(path);
    SourceFile& file = entry->second;
    if (!is_new) return file;
    auto read = llvm::MemoryBuffer::getFile(path);
    if (!read) return file;
    file.buffer = std::move(*read);
    for (llvm::line_iterator line(*file.buffer, /*SkipBlanks=*/false); !line.is_at_eof(); ++line) {
        file.lines.push_back(*line);
    }
    return file;
}

std::string_view line_of(const std::string& path, uint32_t number) {
    const SourceFile& file = source_file(path);
    if (number > file.lines.size()) return {};
    const llvm::StringRef line = file.lines[number - 1];
    return {line.data(), line.size()};
}

std::string path_of(const llvm::DIFile& file) {
    if (llvm::sys::path::is_absolute(file.getFilename())) return file.getFilename().str();
    llvm::SmallString<128> path = file.getDirectory();
    llvm::sys::path::append(path, file.getFilename());
    return std::string(path);
}

// From the statement outwards through the inlined calls.
std::vector<const DILocation*> places_of(const DILocation* location) {
    std::vector<const DILocation*> places;
    for (; location != nullptr; location = location->getInlinedAt()) places.push_back(location);
    return places;
}

bool is_do_statement(const std::string& path, const Around& place) {
    const std::string_view line = line_of(path, place.line);
    if (place.column == 0 || place.column > line.size()) return false;
    const std::string_view code = line.substr(place.column - 1);
    if (code[0] == '}') return true;  // the end of its body
    return code.substr(0, 2) == "do" &&
           (code.size() == 2 || (!llvm::isAlnum(code[2]) && code[2] != '_'));
}

// The source text of a loop, in its own procedure, which may be inlined.
class Text {
  public:
    explicit Text(const Loop& loop) {
        for (const BasicBlock* block : loop.blocks()) {
            for (const Instruction& instruction : *block) {
                const size_t depth = places_of(instruction.getDebugLoc()).size();
                if (depth != 0) depth_ = std::min(depth_, depth);
            }
        }
    }

    Around around(const DILocation* location) const {
        const std::vector<const DILocation*> places = places_of(location);
        if (places.empty()) return {};
        const DILocation* place = places[places.size() - std::min(depth_, places.size())];
        const std::string path = path_of(*place->getFile());
        Around around = statement_or_place({path, place->getLine(), place->getColumn()}, line_of);
        if (around.is_unknown() && is_do_statement(path, around)) {
            // clang's place for the test behind the body.
            around.statement = Around::Statement::kLoop;
            around.is_at_end = true;
        }
        return around;
    }

  private:
    size_t depth_ = SIZE_MAX;
};

bool is_nothing(const Instruction& instruction) {
    return instruction.isDebugOrPseudoInst() || instruction.isLifetimeStartOrEnd();
}

bool is_empty(const BasicBlock& block) {
    return &*block.getFirstNonPHIOrDbg() == block.getTerminator();
}

unsigned line_of(const Instruction& instruction) {
    return instruction.getDebugLoc() ? instruction.getDebugLoc().getLine() : 0;
}

const llvm::BranchInst* test_of(const BasicBlock& block) {
    const auto* test = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
    return test != nullptr && test->isConditional() ? test : nullptr;
}

// The place of the block's first action, or of its test.
const DILocation* place_of(const BasicBlock& block) {
    if (const auto* test = test_of(block)) return test->getDebugLoc();
    for (const Instruction& instruction : block) {
        if (!is_nothing(instruction) && line_of(instruction) != 0) return instruction.getDebugLoc();
    }
    return nullptr;
}

// Whether the block only computes and tests a part of the condition of the loop statement `own`.
bool only_tests(const BasicBlock& block, const Around& own, const Text& text) {
    const Instruction& end = *block.getTerminator();
    // Tests that the optimiser joined have no line: one of them may belong to the body.
    const bool joined = test_of(block) != nullptr && line_of(end) == 0;
    if (joined || !(llvm::isa<llvm::BranchInst>(end) || llvm::isa<llvm::InvokeInst>(end))) {
        return false;
    }
    return llvm::all_of(block, [&](const Instruction& instruction) {
        return is_nothing(instruction) || line_of(instruction) == 0 ||
               text.around(instruction.getDebugLoc()) == own;
    });
}

// The same for a header without readable source: its other actions are on the line of its test.
bool seems_to_test(const BasicBlock& block) {
    const DILocation* place = place_of(block);
    const unsigned line = place == nullptr ? 0 : place->getLine();
    return llvm::none_of(block, [&](const Instruction& instruction) {
        return !is_nothing(instruction) && instruction.mayHaveSideEffects() &&
               (line == 0 || line_of(instruction) != line);
    });
}

bool goes_back(const Loop& loop, const BasicBlock& block) {
    return llvm::any_of(llvm::successors(&block), [&](const BasicBlock* next) {
        return next == loop.getHeader() || (next == loop.getLoopLatch() && is_empty(*next));
    });
}

bool leaves(const Loop& loop, const TestBlocks& blocks) {
    return llvm::any_of(blocks, [&](const BasicBlock* block) {
        return llvm::any_of(llvm::successors(block), [&](const BasicBlock* next) {
            return !next->isEHPad() && !loop.contains(next);
        });
    });
}

bool begin_together(const Loop& outer, const Loop& inner) {
    const BasicBlock* block = outer.getHeader();
    while (block != inner.getHeader()) {
        // Computation before the loop was moved there by the optimiser.
        const bool matters = llvm::any_of(*block, [](const Instruction& instruction) {
            return !is_nothing(instruction) && instruction.mayHaveSideEffects();
        });
        if (matters) return false;
        block = block->getSingleSuccessor();
        if (block == nullptr || !outer.contains(block)) return false;
    }
    return true;
}

// Whether the block may follow the blocks of a test: its predecessors are among them, or itself in
// a loop inside the condition (from an inlined procedure).
bool is_reached_from(const TestBlocks& tests, const BasicBlock& block, const Loop* inner) {
    return llvm::all_of(llvm::predecessors(&block), [&](const BasicBlock* before) {
        return tests.count(before) != 0 || (inner != nullptr && inner->contains(before));
    });
}

const Loop* inner_at(const Loop& loop, const BasicBlock& header) {
    for (const Loop* inner : loop.getSubLoops()) {
        if (inner->getHeader() == &header) return inner;
        if (inner->contains(&header)) return inner_at(*inner, header);
    }
    return nullptr;
}

using Effects = llvm::SmallVector<const Instruction*, 8>;

// Whether a copy of one of them is in front of the loop.
bool have_copy_before(const Effects& effects, const Loop& loop) {
    if (effects.empty()) return false;
    llvm::Function& function = *loop.getHeader()->getParent();
    const llvm::DominatorTree dominators(function);
    return llvm::any_of(llvm::instructions(function), [&](const Instruction& other) {
        return !loop.contains(other.getParent()) &&
               llvm::any_of(effects,
                            [&](const Instruction* effect) {
                                return other.getOpcode() == effect->getOpcode() &&
                                       other.getDebugLoc() == effect->getDebugLoc();
                            }) &&
               dominators.dominates(other.getParent(), loop.getHeader());
    });
}

// Effects of the statement `own` besides computing: in the loop's last block, and where the
// operands of that block's test come from.
Effects effects_of_test(const Loop& loop, const BasicBlock& latch, const Around& own,
                        const Text& text) {
    Effects effects;
    const auto add = [&](const Instruction& instruction) {
        if (is_nothing(instruction) || !instruction.mayHaveSideEffects()) return;
        if (text.around(instruction.getDebugLoc()) == own) effects.push_back(&instruction);
    };
    for (const Instruction& instruction : latch) add(instruction);
    llvm::SmallPtrSet<const Value*, 16> met;
    llvm::SmallVector<const Value*, 16> pending = {latch.getTerminator()};
    while (!pending.empty()) {
        const auto* instruction = llvm::dyn_cast<Instruction>(pending.pop_back_val());
        if (instruction == nullptr || !loop.contains(instruction)) continue;
        const bool carried =
            llvm::isa<llvm::PHINode>(instruction) && instruction->getParent() == loop.getHeader();
        if (carried || !met.insert(instruction).second) continue;
        if (instruction->getParent() != &latch) add(*instruction);
        for (const Value* operand : instruction->operands()) pending.push_back(operand);
    }
    return effects;
}

// Whether the value of `updated` from before `update` is used behind the loop when it is left from
// `latch`.
bool leaves_with_old(const llvm::PHINode& updated, const Value& update, const Loop& loop,
                     const BasicBlock& latch) {
    const bool follows = llvm::any_of(loop.getHeader()->phis(), [&](const llvm::PHINode& other) {
        return other.getIncomingValueForBlock(&latch) == &updated;
    });
    const auto used_behind = [&](const Value& value) {
        return llvm::any_of(value.users(), [&](const llvm::User* user) {
            const auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
            if (loop.contains(llvm::cast<Instruction>(user))) return false;
            if (phi == nullptr) return loop.getExitingBlock() == &latch;
            const int from = phi->getBasicBlockIndex(&latch);
            return from >= 0 && phi->getIncomingValue(static_cast<unsigned>(from)) == &value;
        });
    };
    return !follows && used_behind(updated) && !used_behind(update);
}

bool has_effects_beside(const Loop& loop, const Around& own, const Text& text) {
    return llvm::any_of(loop.blocks(), [&](const BasicBlock* block) {
        return llvm::any_of(*block, [&](const Instruction& instruction) {
            return !is_nothing(instruction) && instruction.mayHaveSideEffects() &&
                   text.around(instruction.getDebugLoc()) != own;
        });
    });
}

// For an optimised loop whose last block tests the condition `own`: whether the test comes before
// the body, as a single computation that was moved to the front. Otherwise the loop was rotated, so
// that a copy of the test precedes the loop.
bool tests_before_body(const Loop& loop, const BasicBlock& latch, const Around& own,
                       const Text& text) {
    if (has_effects_beside(loop, own, text)) return false;
    const Effects effects = effects_of_test(loop, latch, own, text);
    if (!effects.empty()) return !have_copy_before(effects, loop);
    return llvm::any_of(loop.getHeader()->phis(), [&](const llvm::PHINode& updated) {
        const auto* update = llvm::dyn_cast<Instruction>(updated.getIncomingValueForBlock(&latch));
        return update != nullptr && !llvm::isa<llvm::PHINode>(update) && loop.contains(update) &&
               leaves_with_old(updated, *update, loop, latch);
    });
}

// A break at the beginning of the body, which the optimiser moved to its end.
bool ends_with_first_statement(const Loop& loop, const Text& text) {
    const BasicBlock* latch = loop.getLoopLatch();
    if (latch == nullptr || test_of(*latch) == nullptr || !loop.isLoopExiting(latch)) return false;
    const Around around = text.around(place_of(*latch));
    return around.is_choice() &&
           have_copy_before(effects_of_test(loop, *latch, around, text), loop);
}

// Whether the condition belongs to an inner loop, which may have been rotated.
bool has_inner(const Loop& loop, const Around& own, const Text& text) {
    return llvm::any_of(loop.getSubLoops(), [&](const Loop* inner) {
        return llvm::any_of(inner->blocks(), [&](const BasicBlock* block) {
            return text.around(place_of(*block)) == own;
        });
    });
}

struct Test {
    TestBlocks blocks;
    bool guessed = false;  // the source does not decide it
};

Test test_of_loop(const Loop& loop) {
    const BasicBlock* header = loop.getHeader();
    const Text text(loop);
    const Around own = text.around(place_of(*header));
    const bool known = own.is_loop();
    Test test;
    const bool turned = ends_with_first_statement(loop, text);
    test.guessed = turned;
    if (known ? !own.is_first() : !own.is_unknown()) return test;
    std::vector<const BasicBlock*> pending = {header};
    while (!pending.empty()) {
        const BasicBlock* block = pending.back();
        pending.pop_back();
        if (test.blocks.count(block) != 0 || !loop.contains(block)) continue;
        if (block != header) {
            const Loop* inner = inner_at(loop, *block);
            if (!is_reached_from(test.blocks, *block, inner)) continue;
            const bool all_test =
                inner == nullptr || (known && llvm::all_of(inner->blocks(), [&](const auto* part) {
                                         return only_tests(*part, own, text);
                                     }));
            if (own.line == 0 || !all_test) continue;
        }
        bool tests =
            !known && block == header ? seems_to_test(*block) : only_tests(*block, own, text);
        if (loop.isLoopLatch(block)) {
            tests = test_of(*block) != nullptr && loop.isLoopExiting(block) &&
                    text.around(place_of(*block)) == own &&
                    tests_before_body(loop, *block, own, text);
        } else if (!known && goes_back(loop, *block)) {
            tests = false;
        }
        if (!tests) continue;
        test.blocks.insert(block);
        for (const BasicBlock* next : llvm::successors(block)) {
            if (!next->isEHPad()) pending.push_back(next);
        }
    }
    const bool leaving = leaves(loop, test.blocks);
    if (known) {
        // Objects declared in the condition are destroyed on both paths.
        test.guessed =
            !leaving && !has_inner(loop, own, text) &&
            llvm::any_of(test.blocks, [](const auto* block) { return test_of(*block) != nullptr; });
    } else {
        TestBlocks first;
        first.insert(header);
        test.guessed = leaving || leaves(loop, first);
    }
    test.guessed = test.guessed || turned;
    if (!leaving) test.blocks.clear();
    return test;
}

// Whether both are one loop statement of the source, although LLVM cannot distinguish this.
bool is_same(const Loop& outer, const Loop& inner) {
    if (!begin_together(outer, inner)) return false;
    // Each loop of the source has its own loop ID.
    const llvm::MDNode* name = inner.getLoopID();
    const llvm::MDNode* outer_name = outer.getLoopID();
    if (name != nullptr && outer_name != nullptr) {
        return inner.getStartLoc().get() == outer.getStartLoc().get();
    }
    const TestBlocks tests = test_blocks(inner);
    if (!tests.empty()) return leaves(outer, tests);
    const BasicBlock* latch = inner.getLoopLatch();
    return latch == nullptr || !Text(inner).around(latch->getTerminator()->getDebugLoc()).is_loop();
}

}  // namespace

Loop* part_of_same(const Loop& loop) {
    const auto found =
        llvm::find_if(loop.getSubLoops(), [&](const Loop* inner) { return is_same(loop, *inner); });
    return found == loop.getSubLoops().end() ? nullptr : *found;
}

const Loop* innermost_part(const Loop& loop) {
    const Loop* part = &loop;
    while (const Loop* next = part_of_same(*part)) part = next;
    return part;
}

TestBlocks test_blocks(const Loop& loop) { return test_of_loop(loop).blocks; }

bool is_test_guessed(const Loop& loop) { return test_of_loop(loop).guessed; }

}  // namespace dwell
