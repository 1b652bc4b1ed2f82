// Hand-made sites, and probes called as by a plugin's code (runtime/contract/site_table.h): test of
// the level byte, row and slot in r11 and r10. Frames are slots of an array on the stack, deeper
// ones at lower addresses, as if each held the return address of a procedure.
#ifndef DWELL_TESTS_UNIT_PROBE_HARNESS_H_
#define DWELL_TESTS_UNIT_PROBE_HARNESS_H_

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "runtime/probes/probe_control.h"
#include "runtime/probes/probes.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define DWELL_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define DWELL_TEST_SANITIZED 1
#endif
#endif
#ifndef DWELL_TEST_SANITIZED
#define DWELL_TEST_SANITIZED 0
#endif

namespace dwell {

// The sites of the tests: rows of one table. P has two loops, the first with one inside.
enum TestSite { kUnit, kP, kOuter, kInner, kSecond, kQ, kQLoop, kR, kTestSites };

struct SiteTable {
    SiteRow rows[kTestSites];
    uint8_t levels[kTestSites];
    char names[kTestSites][8];
    SiteModule module;

    void fill();
};
extern SiteTable g_table;
extern bool g_wanted;      // result of probes_wanted()
extern int g_attachments;  // calls of attach_for_probe()

using Entry = void (*)();

// Calls an entry point; returns r9.
inline uint64_t call_entry(Entry entry, const SiteRow* row, const uint64_t* slot,
                           uint64_t iterations) {
    uint64_t brought_back;
    asm volatile(
        "mov %2, %%r11\n\t"
        "mov %3, %%r10\n\t"
        "mov %4, %%r9\n\t"
        "call *%1\n\t"
        "mov %%r9, %0"
        : "=r"(brought_back)
        : "r"(entry), "r"(row), "r"(slot), "r"(iterations)
        : "r9", "r10", "r11", "cc", "memory");
    return brought_back;
}

inline uint64_t probe(Entry entry, int site, const uint64_t* slot, uint64_t iterations = 0) {
    const SiteRow* row = &g_table.rows[site];
    if (__atomic_load_n(&g_table.levels[site], __ATOMIC_RELAXED) == kLevelOff) return 0;
    return call_entry(entry, row, slot, iterations);
}

// The slot of the return address of the procedure in which this is used.
#define DWELL_OWN_SLOT() (static_cast<const uint64_t*>(__builtin_frame_address(0)) + 1)

// A place in code that procedures may return to.
uint64_t code(uint64_t place);

template <int kDepth = 64>
class Frames {
  public:
    uint64_t* at(int depth) { return &slots_[kDepth - 1 - depth]; }
    void enter(int site, int depth, uint64_t place) {
        *at(depth) = code(place);
        probe(dwell_enter, site, at(depth));
    }
    void leave(int site, int depth) { probe(dwell_leave, site, at(depth)); }
    void loop_enter(int site, int depth) { probe(dwell_loop_enter, site, at(depth)); }
    // Returns the address of the loop's counter.
    uint64_t* loop_enter_counting(int site, int depth) {
        return reinterpret_cast<uint64_t*>(probe(dwell_loop_enter_counting, site, at(depth)));
    }
    void loop_leave(int site, int depth, uint64_t iterations) {
        probe(dwell_loop_leave, site, at(depth), iterations);
    }
    void landed(int site, int depth) { probe(dwell_landed, site, at(depth)); }

  private:
    uint64_t slots_[kDepth] = {};
};

// Keeps the processor busy for at least `ticks`.
inline void spin(uint64_t ticks) {
    const uint64_t begin = now_ticks();
    while (now_ticks() - begin < ticks) {
    }
}

// One step of a path in the tree: a procedure or loop, or the statement that called.
struct Step {
    SiteKind kind;
    uint64_t offset;
};
Step from(uint64_t place);
Step at_site(int site);

// An observed process whose probes cost nothing, unless a test changes that, with all sites on.
class Probes : public testing::Test {
  protected:
    void SetUp() override { start_observation(4); }
    void TearDown() override { end_observation(); }

    void start_observation(uint32_t memory_mib);
    void end_observation();
    // As by MPI_Pcontrol.
    void pause();
    void resume();
    void reset();

    static Thread* thread() { return t_thread; }
    static const ThreadRecord& record() { return *t_thread->record; }
    static const Node* root() { return cell_at<Node>(t_thread->record->root); }
    // The node at the end of a path from the calling thread's root; null where the path does not
    // exist.
    static const Node* find(std::initializer_list<Step> path);
    static const Node* find_from(const Node* node, std::initializer_list<Step> path);
    static const ProbePart& part(const Node* node) {
        static const ProbePart none{};
        return node->part != 0 ? *cell_at<ProbePart>(node->part) : none;
    }
    static std::vector<const Node*> children(const Node* node);
    static std::vector<const Node*> all_below(const Node* node);  // itself too
    // Holds whenever no entry is open: no node is open, and no procedure or loop took less time
    // than those inside it.
    static void expect_at_rest();

    LivePage* live_ = nullptr;
    std::string directory_;
    std::string path_;
};

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_PROBE_HARNESS_H_
