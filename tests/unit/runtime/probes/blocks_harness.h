// Shared by the tests of blocks, markers, phases and code probes.
#ifndef DWELL_TESTS_UNIT_BLOCKS_HARNESS_H_
#define DWELL_TESTS_UNIT_BLOCKS_HARNESS_H_

#include <gtest/gtest.h>
#include <string.h>

#include <string>

#include "runtime/probes/blocks.h"
#include "tests/unit/support/observed_process.h"

namespace dwell {

class Blocks : public ObservedProcess {
  protected:
    void SetUp() override {
        ObservedProcess::SetUp();
        depth_ = t_thread->record->probe_depth;
    }
    void TearDown() override { EXPECT_EQ(t_thread->record->probe_depth, depth_); }

    uint32_t depth_ = 0;
};

inline GivenName given(const char* text) { return {text, strlen(text)}; }

inline BlockName* block(const char* text, const char* file = nullptr, uint32_t line = 0) {
    return block_name(SiteKind::kBlock, kNodeNamed, given(text), file, line);
}
inline BlockName* marker(const char* text) {
    return block_name(SiteKind::kMarker, kNodeNamed, given(text), nullptr, 0);
}
inline BlockName* phase(const char* text) {
    return block_name(SiteKind::kBlock, kNodeNamed | kNodePhase, given(text), nullptr, 0);
}

inline void begin(const char* text) { begin_block(block(text)); }
inline void end(const char* text) { end_block(given(text)); }

inline std::string text_of(const Node* node) {
    const auto* text = cell_at<const TextRecord>(static_cast<CellIndex>(node->site.offset));
    return std::string(text->text, text->bytes);
}

// The child of `parent` (null: the thread's root) with this text, or null.
inline const Node* child(const Node* parent, const std::string& text) {
    if (parent == nullptr) parent = cell_at<Node>(t_thread->record->root);
    for (CellIndex at = parent->first_child; at != 0; at = cell_at<Node>(at)->next_sibling) {
        const Node* node = cell_at<Node>(at);
        if ((node->site.flags & kNodeNamed) != 0 && text_of(node) == text) return node;
    }
    return nullptr;
}
inline const Node* child_of_kind(const Node* parent, SiteKind kind) {
    for (CellIndex at = parent->first_child; at != 0; at = cell_at<Node>(at)->next_sibling) {
        if (cell_at<Node>(at)->site.kind == kind) return cell_at<Node>(at);
    }
    return nullptr;
}
inline const ProbePart* part_of(const Node* node) { return cell_at<ProbePart>(node->part); }

// A number unknown to the compiler, so that a loop of calls keeps one call statement.
inline int opaque(int number) {
    asm volatile("" : "+r"(number));
    return number;
}

inline void spin(uint64_t ticks) {
    const uint64_t start = now_ticks();
    while (now_ticks() - start < ticks) {
    }
}
// The innermost procedure node below `parent` (null: root) reached by the call at `return_address`.
inline const Node* procedure_under(const Node* parent, uint64_t return_address) {
    if (parent == nullptr) parent = cell_at<Node>(t_thread->record->root);
    for (CellIndex at = parent->first_child; at != 0; at = cell_at<Node>(at)->next_sibling) {
        const Node* call = cell_at<Node>(at);
        if (call->site.kind != SiteKind::kCall || call->site.offset != return_address) continue;
        return child_of_kind(call, SiteKind::kProcedure);
    }
    return nullptr;
}
}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_BLOCKS_HARNESS_H_
