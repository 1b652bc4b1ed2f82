// Blocks, markers and phases as dwell.h and Kokkos begin and end them, and procedures of code built
// with -finstrument-functions, on one record file. Counts and places are arithmetic; of times only
// what must hold on any machine is asked.
#include "runtime/blocks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "runtime/probe_control.h"

extern "C" {
void __cyg_profile_func_enter(void* function, void* call_site);
void __cyg_profile_func_exit(void* function, void* call_site);
}

namespace dwell {

namespace {

LivePage g_page;

class Blocks : public testing::Test {
  protected:
    // One file for all tests: names live as long as the process.
    static void SetUpTestSuite() {
        char name[] = "/dev/shm/dwell-unit-XXXXXX";
        directory_ = mkdtemp(name);
        path_ = directory_ + "/rank.0";
        g_process.options.sample_hz = 0;
        g_process.use_tsc = has_invariant_tsc();
        g_process.start_ticks = now_ticks();
        ASSERT_TRUE(create_record_file(path_.c_str(), g_process.options.memory_mib));
        g_page.on = 1;
        g_page.ticket = 1;
        g_live = &g_page;
        load_unwinder();
        find_vector_registers();
        ASSERT_NE(attach_thread(), nullptr);
    }
    static void TearDownTestSuite() {
        g_page.on = 0;
        g_page.ticket = 0;
        close_record_file();
        unlink(path_.c_str());
        rmdir(directory_.c_str());
    }
    void SetUp() override {
        if (t_thread == nullptr) attach_thread();
        depth_ = t_thread->record->probe_depth;
    }
    void TearDown() override { EXPECT_EQ(t_thread->record->probe_depth, depth_); }

    static inline std::string directory_;
    static inline std::string path_;
    uint32_t depth_ = 0;
};

GivenName given(const char* text) { return {text, strlen(text)}; }

BlockName* block(const char* text, const char* file = nullptr, uint32_t line = 0) {
    return block_name(SiteKind::kBlock, kNodeNamed, given(text), file, line);
}
BlockName* marker(const char* text) {
    return block_name(SiteKind::kMarker, kNodeNamed, given(text), nullptr, 0);
}
BlockName* phase(const char* text) {
    return block_name(SiteKind::kBlock, kNodeNamed | kNodePhase, given(text), nullptr, 0);
}

void begin(const char* text) { begin_block(block(text)); }
void end(const char* text) { end_block(given(text)); }

std::string text_of(const Node* node) {
    const auto* text = cell_at<const TextRecord>(static_cast<CellIndex>(node->site.offset));
    return std::string(text->text, text->bytes);
}

// The child of `parent` (null: the thread's root) with this text, or null.
const Node* child(const Node* parent, const std::string& text) {
    if (parent == nullptr) parent = cell_at<Node>(t_thread->record->root);
    for (CellIndex at = parent->first_child; at != 0; at = cell_at<Node>(at)->next_sibling) {
        const Node* node = cell_at<Node>(at);
        if ((node->site.flags & kNodeNamed) != 0 && text_of(node) == text) return node;
    }
    return nullptr;
}
const Node* child_of_kind(const Node* parent, SiteKind kind) {
    for (CellIndex at = parent->first_child; at != 0; at = cell_at<Node>(at)->next_sibling) {
        if (cell_at<Node>(at)->site.kind == kind) return cell_at<Node>(at);
    }
    return nullptr;
}
const ProbePart* part_of(const Node* node) { return cell_at<ProbePart>(node->part); }

// A number that the compiler does not know: loops of so many calls keep their one statement.
int opaque(int number) {
    asm volatile("" : "+r"(number));
    return number;
}

void spin(uint64_t ticks) {
    const uint64_t start = now_ticks();
    while (now_ticks() - start < ticks) {
    }
}

TEST_F(Blocks, NestCountAndHoldVolume) {
    for (int i = 0; i < 10; ++i) {
        begin("nest outer");
        for (int k = 0; k < 3; ++k) {
            begin("nest inner");
            add_volume(100);
            spin(1000);
            end("nest inner");
        }
        end("nest outer");
    }
    const Node* outer = child(nullptr, "nest outer");
    ASSERT_NE(outer, nullptr);
    const Node* inner = child(outer, "nest inner");
    ASSERT_NE(inner, nullptr);
    EXPECT_EQ(outer->site.kind, SiteKind::kBlock);
    EXPECT_EQ(outer->count, 10u);
    EXPECT_EQ(inner->count, 30u);
    EXPECT_EQ(part_of(inner)->volume, 3000u);
    EXPECT_GE(inner->ticks, 30u * 900);  // the first of each pair costs what is taken out again
    EXPECT_GE(outer->ticks, inner->ticks);
    EXPECT_LE(inner->min_ticks, inner->max_ticks);
    EXPECT_EQ(outer->site.open, 0u);
}

TEST_F(Blocks, TheSameNameAtAnotherPlaceIsAnotherBlock) {
    begin_block(block("place", "a.c", 10));
    end("place");
    begin_block(block("place", "a.c", 20));
    end("place");
    begin("place");
    end("place");
    for (const char* text : {"place\na.c:10", "place\na.c:20", "place"}) {
        const Node* node = child(nullptr, text);
        ASSERT_NE(node, nullptr) << text;
        EXPECT_EQ(node->count, 1u);
    }
    EXPECT_EQ(block("place", "a.c", 10), block("place", "a.c", 10));
}

TEST_F(Blocks, MarkersCountWithTheirVolumeOnTheirPath) {
    mark(marker("event"), 5);
    begin("marked");
    for (uint64_t i = 1; i <= 100; ++i) mark(marker("event"), i);
    end("marked");
    const Node* outside = child(nullptr, "event");
    const Node* inside = child(child(nullptr, "marked"), "event");
    ASSERT_NE(inside, nullptr);
    EXPECT_EQ(inside->site.kind, SiteKind::kMarker);
    EXPECT_EQ(outside->count, 1u);
    EXPECT_EQ(part_of(outside)->volume, 5u);
    EXPECT_EQ(inside->count, 100u);
    EXPECT_EQ(part_of(inside)->volume, 5050u);
    EXPECT_EQ(inside->ticks, 0u);
}

TEST_F(Blocks, RecursionCountsButAddsNoTime) {
    begin("recursive");
    for (int i = 0; i < 4; ++i) {
        begin("between");
        begin("recursive");
    }
    spin(50'000);
    for (int i = 0; i < 4; ++i) {
        end("recursive");
        end("between");
    }
    const uint64_t before = now_ticks();
    end("recursive");
    const Node* node = child(nullptr, "recursive");
    EXPECT_EQ(node->count, 5u);
    EXPECT_EQ(part_of(node)->untimed, 4u);
    EXPECT_EQ(child(node, "recursive"), nullptr);
    EXPECT_EQ(child(node, "between")->count, 4u);
    EXPECT_LE(child(node, "between")->ticks, node->ticks);
    EXPECT_GE(node->ticks, 45'000u);
    EXPECT_LT(node->ticks, before);
    EXPECT_EQ(node->ticks, node->max_ticks);  // one entry is timed
}

// One ends while another that began in it is open: its time is split, it counts where it began, and
// its shortest and longest time are those of both pieces.
TEST_F(Blocks, MayOverlap) {
    begin("first");
    spin(20'000);
    begin("second");
    spin(30'000);
    end("first");
    spin(40'000);
    end("second");
    const Node* first = child(nullptr, "first");
    const Node* within = child(first, "second");
    const Node* after = child(nullptr, "second");
    ASSERT_NE(within, nullptr);
    ASSERT_NE(after, nullptr);
    EXPECT_EQ(first->count, 1u);
    EXPECT_EQ(within->count, 1u);
    EXPECT_EQ(after->count, 0u);
    EXPECT_GE(within->ticks, 27'000u);
    EXPECT_GE(after->ticks, 36'000u);
    EXPECT_GE(within->min_ticks, 27'000u + 36'000u);
    EXPECT_EQ(within->min_ticks, within->max_ticks);
    EXPECT_EQ(within->max_ticks, within->ticks + after->ticks);
    EXPECT_GE(first->ticks, within->ticks + 18'000u);
    EXPECT_EQ(within->site.open, 0u);
}

TEST_F(Blocks, EndsWithoutBeginningDoNothing) {
    end("never begun");
    begin("begun");
    end("never begun");
    end_phase();
    end_paired();
    EXPECT_EQ(t_thread->record->probe_depth, depth_ + 1);
    end("begun");
    end("begun");
    EXPECT_EQ(child(nullptr, "begun")->count, 1u);
}

TEST_F(Blocks, PhasesKnowTheirIteration) {
    for (uint64_t step = 3; step <= 7; ++step) {
        end_phase();
        begin_phase(phase("step"), step);
        begin("work in step");
        end("work in step");
    }
    const Node* node = child(nullptr, "step");
    EXPECT_EQ(node->count, 5u);
    EXPECT_EQ(part_of(node)->first_iteration, 3u);
    EXPECT_EQ(part_of(node)->iteration, 7u);
    EXPECT_NE(node->site.flags & kNodePhase, 0);
    EXPECT_EQ(child(node, "work in step")->count, 5u);
    end_phase();
}

// Regions end without a name, sections with one, and they may overlap.
TEST_F(Blocks, PairedEndsLeaveOthersOpen) {
    begin_paired(block("region"));
    begin("section");
    end_paired();
    EXPECT_EQ(t_thread->record->probe_depth, depth_ + 1);
    end("section");
    const Node* region = child(nullptr, "region");
    EXPECT_EQ(region->count, 1u);
    EXPECT_EQ(child(region, "section")->count, 1u);
    EXPECT_EQ(child(nullptr, "section")->count, 0u);
}

class Pause {
  public:
    Pause() {
        g_page.pause_start = now_ticks();
        g_page.paused = 1;
        g_page.ticket = 0;
    }
    ~Pause() {
        g_page.paused_ticks += now_ticks() - g_page.pause_start;
        g_page.epoch += 1;
        g_page.paused = 0;
        static uint64_t ticket = 100;
        g_page.ticket = ++ticket;
    }
};

// As MPI_Pcontrol(2): the phase that is open counts as begun, with the number that it has.
TEST_F(Blocks, AForgottenPhaseKeepsItsNumber) {
    begin_phase(phase("forgotten"), 4);
    end_phase();
    begin_phase(phase("forgotten"), 5);
    g_page.resets += 1;
    { const Pause pause; }  // after which every thread looks
    begin_phase(phase("later"), 1);
    end_phase();
    const Node* node = child(nullptr, "forgotten");
    EXPECT_EQ(node->count, 1u);
    EXPECT_EQ(part_of(node)->first_iteration, 5u);
    EXPECT_EQ(part_of(node)->iteration, 5u);
    end_phase();
    begin_phase(phase("forgotten"), 6);
    end_phase();
    EXPECT_EQ(part_of(node)->first_iteration, 5u);
    EXPECT_EQ(part_of(node)->iteration, 6u);
    EXPECT_EQ(node->count, 2u);
}

TEST_F(Blocks, PausesTakeNoTimeAndKeepBlocksPaired) {
    begin("around");
    begin("ends in pause");
    spin(10'000);
    {
        const Pause pause;
        spin(300'000'000);
        end("ends in pause");
        begin("begins in pause");
        begin("around");
        end("around");  // the inner one
        mark(marker("in pause"), 1);
        add_volume(1);
    }
    const Node* around = child(nullptr, "around");
    EXPECT_EQ(around->site.open, 1u);
    end("begins in pause");
    end("around");
    EXPECT_EQ(around->count, 1u);
    EXPECT_EQ(child(around, "ends in pause")->count, 1u);
    EXPECT_GE(child(around, "ends in pause")->ticks, 9'000u);
    EXPECT_GE(around->ticks, child(around, "ends in pause")->ticks);
    // Half of the ticks that passed in the pause are room for a busy machine.
    EXPECT_LT(around->ticks, 150'000'000u);
    EXPECT_EQ(child(around, "begins in pause"), nullptr);
    EXPECT_EQ(child(around, "around"), nullptr);
    EXPECT_EQ(child(around, "in pause"), nullptr);
}

TEST_F(Blocks, EnablingProfileSwitchesThemOffOrLetsThemOnlyCount) {
    char path[] = "/tmp/dwell-unit-XXXXXX";
    const int file = mkstemp(path);
    const char text[] =
        "off block name=unwanted\ncount block name=counted\noff marker name=silent\n";
    ASSERT_EQ(write(file, text, sizeof(text) - 1), static_cast<ssize_t>(sizeof(text) - 1));
    close(file);
    ASSERT_TRUE(read_enabling_profile(path));
    unlink(path);
    for (int i = 0; i < 5; ++i) {
        begin("wanted");
        begin("unwanted");
        begin("counted");
        begin("wanted below");
        end("wanted below");
        mark(marker("silent"), 1);
        end("counted");
        end("unwanted");
        end("wanted");
    }
    const Node* wanted = child(nullptr, "wanted");
    EXPECT_EQ(wanted->count, 5u);
    EXPECT_EQ(child(wanted, "unwanted"), nullptr);
    EXPECT_EQ(child(wanted, "silent"), nullptr);
    ASSERT_NE(child(wanted, "counted"), nullptr);
    EXPECT_EQ(child(wanted, "counted")->count, 5u);
    EXPECT_EQ(part_of(child(wanted, "counted"))->counted, 5u);
    EXPECT_EQ(child(wanted, "counted")->ticks, 0u);
    EXPECT_EQ(child(wanted, "wanted below")->count, 5u);
}

TEST_F(Blocks, NamesAreCleaned) {
    const std::string longest(5000, 'x');
    begin(longest.c_str());
    end(longest.c_str());
    begin("two\nlines");
    end("two\nlines");
    begin("");
    end("");
    begin_block(block_name(SiteKind::kBlock, kNodeNamed, {nullptr, 0}, nullptr, 0));
    end_block(GivenName{nullptr, 0});
    EXPECT_EQ(child(nullptr, std::string(1000, 'x'))->count, 1u);
    EXPECT_EQ(child(nullptr, "two")->count, 1u);
    EXPECT_EQ(child(nullptr, "(no name)")->count, 2u);
}

TEST_F(Blocks, ThreadsHaveTheirOwn) {
    constexpr int kThreads = 8;
    std::vector<std::thread> threads;
    std::vector<CellIndex> roots(kThreads);
    std::vector<uint64_t> counts(kThreads);
    std::atomic<int> running{0};
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            attach_thread();
            running += 1;
            while (running != kThreads) std::this_thread::yield();
            const std::string own = "of thread " + std::to_string(t);
            for (int i = 0; i < 500; ++i) {
                begin("shared");
                begin(own.c_str());
                end(own.c_str());
                end("shared");
            }
            const Node* shared = child(nullptr, "shared");
            counts[static_cast<size_t>(t)] = shared->count + child(shared, own)->count;
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const uint64_t count : counts) EXPECT_EQ(count, 1000u);
}

// A procedure with probes, as a plugin writes them (site_table.h).
struct Procedure {
    SiteRow row{};
    uint8_t level = kLevelFull;
    Procedure() {
        row.kind = SiteKind::kProcedure;
        row.level = static_cast<int32_t>(reinterpret_cast<const char*>(&level) -
                                         reinterpret_cast<const char*>(&row.level));
    }
    void probe(void (*entry)(), const uint64_t* slot) const {
        asm volatile(
            "mov %1, %%r11\n\t"
            "mov %2, %%r10\n\t"
            "sub $128, %%rsp\n\t"
            "call *%0\n\t"
            "add $128, %%rsp"
            :
            : "r"(entry), "r"(&row), "r"(slot)
            : "r10", "r11", "cc", "memory");
    }
};

// The innermost procedure node below `parent` (null: root) reached by the call at `return_address`.
const Node* procedure_under(const Node* parent, uint64_t return_address) {
    if (parent == nullptr) parent = cell_at<Node>(t_thread->record->root);
    for (CellIndex at = parent->first_child; at != 0; at = cell_at<Node>(at)->next_sibling) {
        const Node* call = cell_at<Node>(at);
        if (call->site.kind != SiteKind::kCall || call->site.offset != return_address) continue;
        return child_of_kind(call, SiteKind::kProcedure);
    }
    return nullptr;
}

// Return addresses in no module: their sites keep them as they are.
TEST_F(Blocks, OutliveTheProcedureThatTheyBeganIn) {
    const Procedure outer;
    const Procedure starter;
    const Procedure stopper;
    uint64_t slots[2] = {0x2000, 0x1000};  // deeper frames lie lower
    outer.probe(dwell_enter, &slots[1]);
    starter.probe(dwell_enter, &slots[0]);
    begin("carried");
    starter.probe(dwell_leave, &slots[0]);
    spin(20'000);
    slots[0] = 0x3000;
    stopper.probe(dwell_enter, &slots[0]);
    spin(10'000);
    end("carried");
    spin(10'000);
    stopper.probe(dwell_leave, &slots[0]);
    outer.probe(dwell_leave, &slots[1]);
    const Node* out = procedure_under(nullptr, 0x1000);
    ASSERT_NE(out, nullptr);
    const Node* carried = child(out, "carried");
    ASSERT_NE(carried, nullptr);
    EXPECT_EQ(carried->count, 0u);
    EXPECT_GE(carried->ticks, 27'000u);
    EXPECT_EQ(carried->part == 0 ? 0 : part_of(carried)->abandoned, 0u);
    const Node* start = procedure_under(out, 0x2000);
    ASSERT_NE(start, nullptr);
    EXPECT_EQ(start->count, 1u);
    EXPECT_EQ(child(start, "carried")->count, 1u);
    EXPECT_GE(child(start, "carried")->min_ticks, 27'000u);
    // The procedure that ended the block goes on outside it.
    const Node* within = procedure_under(carried, 0x3000);
    const Node* after = procedure_under(out, 0x3000);
    ASSERT_NE(within, nullptr);
    ASSERT_NE(after, nullptr);
    EXPECT_EQ(within->count, 1u);
    EXPECT_GE(within->ticks, 9'000u);
    EXPECT_GE(within->min_ticks, 18'000u);
    EXPECT_EQ(after->count, 0u);
    EXPECT_GE(after->ticks, 9'000u);
    EXPECT_GE(out->ticks, start->ticks + carried->ticks + after->ticks);
}

// As for (...) dwell_phase_next(...); dwell_phase_end(); in code with probes.
TEST_F(Blocks, APhaseThatOutlivesItsLoopIsOneIteration) {
    const Procedure steps;
    uint64_t slot = 0x6000;
    steps.probe(dwell_enter, &slot);
    for (uint64_t i = 0; i < 5; ++i) {
        if (i != 0) end_phase();
        begin_phase(phase("carried step"), i);
        spin(20'000);
    }
    steps.probe(dwell_leave, &slot);
    end_phase();
    const Node* node = child(procedure_under(nullptr, 0x6000), "carried step");
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(node->count, 5u);
    EXPECT_GE(node->min_ticks, 18'000u);
    EXPECT_EQ(part_of(node)->iteration, 4u);
    EXPECT_EQ(child(nullptr, "carried step")->count, 0u);
}

// A block in a recursive procedure that ends after the procedure was left: before a call in tail
// position the leave comes first.
TEST_F(Blocks, InARecursionThatIsLeftFirstTheyAreTimed) {
    const Procedure recursive;
    uint64_t slots[4] = {0x7000, 0x7000, 0x7000, 0x7100};
    for (int i = 3; i >= 0; --i) {
        recursive.probe(dwell_enter, &slots[i]);
        begin("left first");
        spin(20'000);
    }
    for (uint64_t& slot : slots) {
        recursive.probe(dwell_leave, &slot);
        end("left first");
    }
    const Node* node = child(procedure_under(nullptr, 0x7100), "left first");
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(node->count, 4u);
    EXPECT_EQ(node->part == 0 ? 0 : part_of(node)->untimed, 0u);
    EXPECT_GE(node->min_ticks, 18'000u);
    EXPECT_LE(node->max_ticks, node->ticks);
}

TEST_F(Blocks, OfAFrameThatIsGoneEndWithIt) {
    const Procedure outer;
    const Procedure thrower;
    uint64_t slots[2] = {0x5000, 0x4000};
    outer.probe(dwell_enter, &slots[1]);
    thrower.probe(dwell_enter, &slots[0]);
    begin("left by a throw");
    outer.probe(dwell_landed, &slots[1]);
    EXPECT_EQ(t_thread->record->probe_depth, depth_ + 1);
    outer.probe(dwell_leave, &slots[1]);
    const Node* threw = procedure_under(procedure_under(nullptr, 0x4000), 0x5000);
    ASSERT_NE(threw, nullptr);
    const Node* left = child(threw, "left by a throw");
    EXPECT_EQ(left->count, 1u);
    EXPECT_EQ(part_of(left)->abandoned, 1u);
    EXPECT_EQ(part_of(threw)->abandoned, 1u);
}

jmp_buf g_jump;

const uint64_t* slot_above(void* frame) { return static_cast<const uint64_t*>(frame) + 1; }

__attribute__((noinline)) void leaves_by_jump(const Procedure& own) {
    own.probe(dwell_enter, slot_above(__builtin_frame_address(0)));
    longjmp(g_jump, 1);
}
__attribute__((noinline)) void catches_jump(const Procedure& own, const Procedure& inner) {
    const uint64_t* slot = slot_above(__builtin_frame_address(0));
    own.probe(dwell_enter, slot);
    begin("catching");
    if (setjmp(g_jump) == 0) leaves_by_jump(inner);
    end_block(GivenName{"catching", 8});
    own.probe(dwell_leave, slot);
}

TEST_F(Blocks, ProceduresThatAreGoneDoNotOutliveTheBlock) {
    const Procedure outer;
    const Procedure inner;
    for (int i = 0; i < opaque(5); ++i) catches_jump(outer, inner);
    const Node* catcher = nullptr;
    for (CellIndex at = cell_at<Node>(t_thread->record->root)->first_child; at != 0;
         at = cell_at<Node>(at)->next_sibling) {
        const Node* node = child_of_kind(cell_at<Node>(at), SiteKind::kProcedure);
        if (node != nullptr && child(node, "catching") != nullptr) catcher = node;
    }
    ASSERT_NE(catcher, nullptr);
    EXPECT_EQ(catcher->count, 5u);
    const Node* block_node = child(catcher, "catching");
    EXPECT_EQ(block_node->count, 5u);
    const Node* call = child_of_kind(block_node, SiteKind::kCall);
    ASSERT_NE(call, nullptr);
    const Node* jumped = child_of_kind(call, SiteKind::kProcedure);
    EXPECT_EQ(jumped->count, 5u);
    EXPECT_EQ(part_of(jumped)->abandoned, 5u);
    EXPECT_EQ(child_of_kind(catcher, SiteKind::kCall), nullptr);  // nothing went on outside
}

// Code as -finstrument-functions makes it, by hand.
#define ENTER(function) __cyg_profile_func_enter(code(function), __builtin_return_address(0))
#define LEAVE(function) __cyg_profile_func_exit(code(function), __builtin_return_address(0))
template <typename Function>
void* code(Function* function) {
    return reinterpret_cast<void*>(function);
}

const Node* code_node(const Node* parent, void* function, int* instances = nullptr) {
    if (parent == nullptr) parent = cell_at<Node>(t_thread->record->root);
    const Node* found = nullptr;
    for (CellIndex at = parent->first_child; at != 0; at = cell_at<Node>(at)->next_sibling) {
        if (cell_at<Node>(at)->site.kind != SiteKind::kCall) continue;
        const Node* node = child_of_kind(cell_at<Node>(at), SiteKind::kProcedure);
        if (node == nullptr || (node->site.flags & kNodeCode) == 0) continue;
        for (CellIndex module = g_process.header->first_module; module != 0;
             module = cell_at<ModuleRecord>(module)->next) {
            const auto* record = cell_at<ModuleRecord>(module);
            if (record->number != node->site.module ||
                record->base + node->site.offset != reinterpret_cast<uint64_t>(function)) {
                continue;
            }
            found = node;
            if (instances != nullptr) *instances += 1;
        }
    }
    return found;
}

__attribute__((noinline)) void leaf(bool jump) {
    ENTER(&leaf);
    if (jump) longjmp(g_jump, 1);
    LEAVE(&leaf);
}
__attribute__((noinline)) void middle() {
    ENTER(&middle);
    leaf(false);
    leaf(false);
    LEAVE(&middle);
}
__attribute__((noinline)) void fibonacci(int n) {
    ENTER(&fibonacci);
    if (n > 1) {
        fibonacci(n - 1);
        fibonacci(n - 2);
    }
    LEAVE(&fibonacci);
}
// Stands for the body of one procedure in another.
__attribute__((noinline)) void with_inlined() {
    ENTER(&with_inlined);
    ENTER(&middle);
    leaf(false);
    LEAVE(&middle);
    LEAVE(&with_inlined);
}
__attribute__((noinline)) void with_block() {
    ENTER(&with_block);
    begin("in code");
    leaf(false);
    end("in code");
    LEAVE(&with_block);
}
__attribute__((noinline)) void jumper() {
    ENTER(&jumper);
    if (setjmp(g_jump) == 0) leaf(true);
    leaf(false);
    LEAVE(&jumper);
}

TEST_F(Blocks, CodeProbesKeepTheirCallStatements) {
    for (int i = 0; i < opaque(100); ++i) middle();
    const Node* node = code_node(nullptr, code(&middle));
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(node->count, 100u);
    int statements = 0;
    const Node* below = code_node(node, code(&leaf), &statements);
    EXPECT_EQ(statements, 2);
    EXPECT_EQ(below->count, 100u);
    EXPECT_GE(node->ticks, below->ticks);
}

TEST_F(Blocks, CodeProbesFoldRecursion) {
    fibonacci(10);  // 177 calls: fib(10) makes 2 * F(11) - 1
    const Node* node = code_node(nullptr, code(&fibonacci));
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(node->count, 177u);
    EXPECT_EQ(part_of(node)->untimed, 176u);
    EXPECT_EQ(part_of(node)->abandoned, 0u);
    EXPECT_EQ(code_node(node, code(&fibonacci)), nullptr);
}

TEST_F(Blocks, CodeProbesOfInlinedProceduresLieInTheirHost) {
    for (int i = 0; i < opaque(50); ++i) with_inlined();
    const Node* host = code_node(nullptr, code(&with_inlined));
    ASSERT_NE(host, nullptr);
    const Node* inlined = code_node(host, code(&middle));
    ASSERT_NE(inlined, nullptr);
    EXPECT_EQ(host->count, 50u);
    EXPECT_EQ(inlined->count, 50u);
    EXPECT_EQ(code_node(inlined, code(&leaf))->count, 50u);
    EXPECT_EQ(host->part == 0 ? 0 : part_of(host)->abandoned, 0u);
}

TEST_F(Blocks, CodeProbesAndBlocksHoldEachOther) {
    begin("around code");
    for (int i = 0; i < opaque(20); ++i) with_block();
    end("around code");
    const Node* procedure = code_node(child(nullptr, "around code"), code(&with_block));
    ASSERT_NE(procedure, nullptr);
    const Node* inner = child(procedure, "in code");
    ASSERT_NE(inner, nullptr);
    EXPECT_EQ(inner->count, 20u);
    EXPECT_EQ(code_node(inner, code(&leaf))->count, 20u);
}

TEST_F(Blocks, CodeProbesDropFramesLeftByLongjmp) {
    for (int i = 0; i < opaque(10); ++i) jumper();
    const Node* host = code_node(nullptr, code(&jumper));
    ASSERT_NE(host, nullptr);
    EXPECT_EQ(host->count, 10u);
    int statements = 0;
    uint64_t entries = 0;
    uint64_t abandoned = 0;
    for (CellIndex at = host->first_child; at != 0; at = cell_at<Node>(at)->next_sibling) {
        const Node* node = child_of_kind(cell_at<Node>(at), SiteKind::kProcedure);
        if (node == nullptr) continue;
        statements += 1;
        entries += node->count;
        if (node->part != 0) abandoned += part_of(node)->abandoned;
    }
    EXPECT_EQ(statements, 2);
    EXPECT_EQ(entries, 20u);
    EXPECT_EQ(abandoned, 10u);
}

// The last: no name can be added after it.
TEST_F(Blocks, ManyNamesAreKeptUpToTheirLimitThenCounted) {
    const uint64_t dropped = t_thread->record->probes_dropped;
    uint64_t kept = 0;
    for (int i = 0; i < 6000; ++i) {
        const std::string name = "name " + std::to_string(i);
        begin(name.c_str());
        end(name.c_str());
        const Node* node = child(nullptr, name);
        if (node == nullptr) continue;
        EXPECT_EQ(node->count, 1u);
        ++kept;
    }
    EXPECT_GT(kept, 3500u);  // the other tests of this process have some
    EXPECT_LE(kept, 4096u);
    EXPECT_EQ(t_thread->record->probes_dropped - dropped, 6000 - kept);
}

}  // namespace
}  // namespace dwell
