#include "instrument/llvm_loop_shape.h"

#include <map>
#include <string>
#include <vector>

#include "instrument/source_text.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using llvm::BasicBlock;
using llvm::DILocation;
using llvm::Instruction;
using llvm::Loop;

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

// From the statement outwards through the calls that were inlined.
std::vector<const DILocation*> places_of(const DILocation* location) {
    std::vector<const DILocation*> places;
    for (; location != nullptr; location = location->getInlinedAt()) places.push_back(location);
    return places;
}

// A loop as it stands in its own procedure, which may be inlined itself.
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
        return statement_around({path_of(*place->getFile()), place->getLine(), place->getColumn()},
                                line_of);
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

// Whether the block does nothing beside testing a part of the condition of the loop statement
// `own`.
bool only_tests(const BasicBlock& block, const Around& own, const Text& text) {
    if (!llvm::isa<llvm::BranchInst>(block.getTerminator())) return false;
    return llvm::all_of(block, [&](const Instruction& instruction) {
        return is_nothing(instruction) || line_of(instruction) == 0 ||
               text.around(instruction.getDebugLoc()) == own;
    });
}

// The same for a header of which the source does not tell: what its test does beside stands on its
// line.
bool seems_to_test(const BasicBlock& block) {
    const unsigned line = line_of(*block.getTerminator());
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
        return llvm::any_of(llvm::successors(block),
                            [&](const BasicBlock* next) { return !loop.contains(next); });
    });
}

bool begin_together(const Loop& outer, const Loop& inner) {
    const BasicBlock* block = outer.getHeader();
    while (block != inner.getHeader()) {
        // What is computed before is the optimiser's.
        const bool matters = llvm::any_of(*block, [](const Instruction& instruction) {
            return !is_nothing(instruction) && instruction.mayHaveSideEffects();
        });
        if (matters) return false;
        block = block->getSingleSuccessor();
        if (block == nullptr || !outer.contains(block)) return false;
    }
    return true;
}

// Both in one source statement, although LLVM cannot tell.
bool is_same(const Loop& outer, const Loop& inner) {
    if (!begin_together(outer, inner)) return false;
    // Each loop of the source has a name of its own.
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

TestBlocks test_blocks(const Loop& loop) {
    const BasicBlock* header = loop.getHeader();
    const auto* test = llvm::dyn_cast<llvm::BranchInst>(header->getTerminator());
    if (test == nullptr || !test->isConditional()) return {};
    const Text text(loop);
    const Around own = text.around(test->getDebugLoc());
    TestBlocks found;
    std::vector<const BasicBlock*> pending;
    if (own.is_loop()) {
        pending.push_back(header);
    } else if (!own.is_choice() && !goes_back(loop, *header) && seems_to_test(*header)) {
        found.insert(header);
    }
    while (!pending.empty()) {
        const BasicBlock* block = pending.back();
        pending.pop_back();
        if (found.count(block) != 0 || !loop.contains(block)) continue;
        const auto is_found = [&](const BasicBlock* before) { return found.count(before) != 0; };
        const bool reached_else =
            block != header &&
            (loop.isLoopLatch(block) || !llvm::all_of(llvm::predecessors(block), is_found));
        if (reached_else || !only_tests(*block, own, text)) continue;
        found.insert(block);
        for (const BasicBlock* next : llvm::successors(block)) pending.push_back(next);
    }
    if (!leaves(loop, found)) found.clear();
    return found;
}

}  // namespace dwell
