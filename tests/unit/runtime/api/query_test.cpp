// Queries from records whose content is known (synthetic_records.h): one tick is one nanosecond.
#include "runtime/api/query.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "runtime/probes/probe_control.h"
#include "runtime/process/state.h"
#include "tests/unit/support/synthetic_records.h"

// What the tests look for by its symbol.
extern "C" __attribute__((noinline, used)) int dwell_query_test_function(int number) {
    for (int i = 0; i < 64; ++i) asm volatile("nop; nop; nop; nop");
    return number + 1;
}

namespace dwell {
namespace {

constexpr uint16_t kTables = 1;   // the module of the hand-made rows
constexpr uint16_t kProgram = 2;  // this executable

enum Row {
    kUnit,
    kSolve,
    kLoop,
    kSendOnce,
    kSendTwice,
    kSendAgain,
    kCallStep,
    kStep,
    kNamed,
    kRows
};

struct Table {
    SiteRow rows[kRows];
    uint8_t levels[kRows];
    SiteModule module;
    char file[16];
    char text[kRows][24];

    void fill();
    void set(int row, SiteKind kind, const char* name, uint32_t line, int enclosing);
};
Table g_sites;

template <typename T>
int32_t distance(const int32_t* from, const T* to) {
    return static_cast<int32_t>(reinterpret_cast<const char*>(to) -
                                reinterpret_cast<const char*>(from));
}

void Table::set(int number, SiteKind kind, const char* name, uint32_t line, int enclosing) {
    SiteRow& row = rows[number];
    row = SiteRow{};
    row.kind = kind;
    row.line = line;
    if (enclosing != 0) row.enclosing = enclosing - number;
    strcpy(text[number], name);
    if (name[0] != '\0') row.name = distance(&row.name, text[number]);
    row.file = distance(&row.file, file);
}

void Table::fill() {
    strcpy(file, "src/heat.cpp");
    set(kUnit, SiteKind::kProgram, "", 0, 0);
    set(kSolve, SiteKind::kProcedure, "_ZN2ns5solveEd", 10, 0);
    set(kLoop, SiteKind::kLoop, "", 12, kSolve);
    set(kSendOnce, SiteKind::kCommunication, "MPI_Recv", 13, kLoop);
    set(kSendTwice, SiteKind::kCommunication, "MPI_Send", 14, kLoop);
    set(kSendAgain, SiteKind::kCommunication, "MPI_Send", 15, kLoop);
    set(kCallStep, SiteKind::kCall, "__flow_MOD_step", 16, kSolve);
    set(kStep, SiteKind::kProcedure, "__flow_MOD_step", 30, 0);
    set(kNamed, SiteKind::kProcedure, "plain_", 40, 0);
    module = {rows, rows + kRows, levels, levels + kRows};
}

class Query : public testing::Test {
  protected:
    void SetUp() override {
        g_sites.fill();
        dwell_register_sites(&g_sites.module);
        file_.add_module(kTables, "/nowhere", "");
        root_ = file_.add_thread(0, {});
        live_.on = 1;
        g_process.use_tsc = false;
        g_live = &live_;
        thread_ = t_thread;
        t_thread = nullptr;
    }
    void TearDown() override {
        live_.on = 0;
        dwell_unregister_sites(&g_sites.module);
        g_live = before_;
        g_process.cells = cells_;
        g_process.header = header_;
        t_thread = thread_;
    }
    void show() {
        g_process.cells = reinterpret_cast<char*>(&file_.header());
        g_process.header = &file_.header();
    }
    dwell_figures ask(const char* name, bool known = true) {
        show();
        dwell_figures figures;
        EXPECT_EQ(query_name(name, &figures), known) << name;
        return figures;
    }
    CellIndex add_row(CellIndex parent, int row, Figures figures) {
        return file_.add_probe(parent, g_sites.rows[row].kind, kTables,
                               reinterpret_cast<uint64_t>(&g_sites.rows[row]), figures);
    }
    CellIndex add_solve(Figures figures) {
        return add_row(file_.add_call(root_, kProgram, 100, {}), kSolve, figures);
    }
    void expect_nothing(const char* name) {
        const dwell_figures none{};
        const dwell_figures figures = ask(name, false);
        EXPECT_EQ(memcmp(&figures, &none, sizeof(none)), 0) << name;
    }
    // This executable, with its own addresses.
    uint64_t add_program() {
        Dl_info info;
        dladdr(reinterpret_cast<void*>(&dwell_query_test_function), &info);
        const auto base = reinterpret_cast<uint64_t>(info.dli_fbase);
        char path[PATH_MAX] = {};
        EXPECT_GT(readlink("/proc/self/exe", path, sizeof(path) - 1), 0);
        file_.add_module(kProgram, path, "", base);
        return reinterpret_cast<uint64_t>(&dwell_query_test_function) - base;
    }

    RecordFile file_{0, 4};
    CellIndex root_ = 0;
    LivePage live_{};
    // Of the process of other tests.
    LivePage* const before_ = g_live;
    char* const cells_ = g_process.cells;
    FileHeader* const header_ = g_process.header;
    Thread* thread_ = nullptr;
};

TEST_F(Query, ABlockHasItsTimeWithAndWithoutWhatLiesInIt) {
    const CellIndex work = file_.add_named(root_, SiteKind::kBlock, "work", {3, 100});
    file_.add_named(work, SiteKind::kBlock, "inner", {5, 30});
    file_.add_communication(file_.add_call(work, kProgram, 8, {}), kProgram, 16, "MPI_Barrier",
                            {1, 20});
    const dwell_figures figures = ask("work");
    EXPECT_EQ(figures.count, 3u);
    EXPECT_EQ(figures.inclusive_ns, 100u);
    EXPECT_EQ(figures.exclusive_ns, 50u);
    EXPECT_EQ(figures.open_ns, 0u);
    EXPECT_EQ(ask("inner").exclusive_ns, 30u);
    expect_nothing("wor");
    EXPECT_EQ(ask("w?r*").count, 3u);
}

TEST_F(Query, TimeOfTheSameNameBelowCountsOnce) {
    const CellIndex outer = file_.add_named(root_, SiteKind::kBlock, "work", {1, 100});
    const CellIndex between = file_.add_named(outer, SiteKind::kBlock, "between", {1, 80});
    file_.add_named(between, SiteKind::kBlock, "work", {2, 50});
    file_.add_named(root_, SiteKind::kBlock, "work\nheat.cpp:7", {4, 1000});
    const dwell_figures figures = ask("work");
    EXPECT_EQ(figures.count, 7u);
    EXPECT_EQ(figures.inclusive_ns, 1100u);
    EXPECT_EQ(figures.exclusive_ns, 20u + 50u + 1000u);
    EXPECT_EQ(ask("heat.cpp:7").count, 4u);
}

TEST_F(Query, ThreadsAddUp) {
    file_.add_named(root_, SiteKind::kBlock, "work", {1, 100});
    root_ = file_.add_thread(1, {});
    file_.add_named(root_, SiteKind::kBlock, "work", {2, 30});
    EXPECT_EQ(ask("work").count, 3u);
    EXPECT_EQ(ask("work").inclusive_ns, 130u);
}

TEST_F(Query, CommunicationBelowIsWaitingTransferAndBytes) {
    file_.header().flags = kFileWaits;
    const CellIndex phase = file_.add_phase(root_, "step", 0, 9, {10, 1000});
    const CellIndex receive = file_.add_communication(phase, kProgram, 16, "MPI_Recv", {10, 300});
    file_.part(receive).sync_ticks = 200;
    file_.part(receive).bytes_received = 4096;
    const CellIndex send = file_.add_communication(phase, kProgram, 32, "MPI_Send", {10, 50});
    file_.part(send).bytes_sent = 2048;
    const CellIndex other = file_.add_communication(root_, kProgram, 48, "MPI_Recv", {1, 7});
    file_.part(other).bytes_received = 1;
    const dwell_figures step = ask("step");
    EXPECT_EQ(step.waiting_ns, 200u);
    EXPECT_EQ(step.transfer_ns, 150u);
    EXPECT_EQ(step.bytes_sent, 2048u);
    EXPECT_EQ(step.bytes_received, 4096u);
    EXPECT_EQ(step.exclusive_ns, 650u);
    EXPECT_EQ(step.flags, 0u);
    const dwell_figures all = ask("MPI_*");
    EXPECT_EQ(all.count, 21u);
    EXPECT_EQ(all.inclusive_ns, 357u);
    EXPECT_EQ(ask("MPI_Recv").bytes_received, 4097u);
    // Without time stamps of the partners.
    file_.header().flags = 0;
    EXPECT_EQ(ask("MPI_Recv").flags, DWELL_WAITS_UNKNOWN);
}

TEST_F(Query, ProceduresHaveTheNamesOfTheSource) {
    const CellIndex solve = add_solve({2, 100});
    add_row(file_.add_call(solve, kProgram, 200, {}), kStep, {6, 40});
    add_row(file_.add_call(solve, kProgram, 300, {}), kNamed, {7, 10});
    for (const char* name : {"ns::solve", "ns::solve(double)", "ns::*", "_ZN2ns5solveEd"}) {
        EXPECT_EQ(ask(name).count, 2u) << name;
    }
    EXPECT_EQ(ask("ns::solve").exclusive_ns, 50u);
    EXPECT_EQ(ask("flow::step").count, 6u);
    EXPECT_EQ(ask("plain").count, 7u);
    expect_nothing("solve");
    expect_nothing("ns::sol");
}

TEST_F(Query, AnUnloadedTableIsNotRead) {
    add_solve({2, 100});
    dwell_unregister_sites(&g_sites.module);
    expect_nothing("ns::solve");
    expect_nothing("heat.cpp:10");
    dwell_register_sites(&g_sites.module);
    EXPECT_EQ(ask("ns::solve").count, 2u);
    // Another module at the same addresses came later.
    file_.at<ModuleRecord>(file_.header().first_module).base = 0;
    file_.at<ModuleRecord>(file_.header().first_module).size = UINT64_MAX;
    const CellIndex later = file_.add_module(9, "/elsewhere", "", 0);
    file_.at<ModuleRecord>(later).size = UINT64_MAX;
    expect_nothing("ns::solve");
}

TEST_F(Query, AModuleIsNotUnloadedWhileItsTableIsRead) {
    std::atomic<bool> unloaded{false};
    std::thread unloading;
    {
        const TablesHeld held;
        unloading = std::thread([&] {
            dwell_unregister_sites(&g_sites.module);
            unloaded = true;
        });
        while (registered_modules() != 0) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        EXPECT_FALSE(unloaded);
    }
    unloading.join();
    EXPECT_TRUE(unloaded);
}

TEST_F(Query, ALineIsWhatBeginsThere) {
    const CellIndex solve = add_solve({2, 100});
    const CellIndex loop = add_row(solve, kLoop, {2, 60});
    file_.add_communication(loop, kProgram, 16, "MPI_Recv", {5, 11});
    file_.add_communication(loop, kProgram, 32, "MPI_Send", {7, 3});
    add_row(file_.add_call(solve, kProgram, 200, {}), kStep, {6, 20});
    add_row(file_.add_call(root_, kProgram, 300, {}), kStep, {9, 500});
    EXPECT_EQ(ask("heat.cpp:10").inclusive_ns, 100u);
    EXPECT_EQ(ask("src/heat.cpp:12").inclusive_ns, 60u);
    EXPECT_EQ(ask("heat.cpp:12").exclusive_ns, 46u);
    EXPECT_EQ(ask("heat.cpp:13").count, 5u);  // MPI_Recv
    EXPECT_EQ(ask("heat.cpp:16").count, 6u);  // step, as called there
    EXPECT_EQ(ask("heat.cpp:30").count, 15u);
    // A loop with probes on the line of the call comes first.
    g_sites.rows[kCallStep].line = 12;
    g_sites.rows[kLoop].level = 1;
    EXPECT_EQ(ask("heat.cpp:12").count, 2u);
    g_sites.rows[kCallStep].line = 16;
    expect_nothing("heat.cpp:14");  // one of two lines with MPI_Send
    expect_nothing("heat.cpp:15");
    expect_nothing("heat.cpp:11");
    expect_nothing("eat.cpp:12");
    expect_nothing("heat.cpp:");
    expect_nothing(":12");
    expect_nothing("");
}

TEST_F(Query, OpenEntriesCountUpToNow) {
    constexpr uint64_t kSpent = 5'000'000;
    constexpr uint64_t kOwnCost = 1'000'000;
    const CellIndex phase = file_.add_phase(root_, "step", 0, 9, {10, 1000});
    const CellIndex inner = file_.add_named(phase, SiteKind::kBlock, "inner", {1, 0});
    file_.at<Node>(phase).site.open = 1;
    file_.at<Node>(inner).site.open = 1;
    file_.last_thread().intrusion_ticks = kOwnCost;
    const uint64_t before = monotonic_ns();
    file_.open_probe(phase, before - kOwnCost - kSpent);
    file_.open_probe(inner, before - kOwnCost - 200);
    const dwell_figures step = ask("step");
    const uint64_t most = kSpent + (monotonic_ns() - before);
    EXPECT_GE(step.open_ns, kSpent);
    EXPECT_LE(step.open_ns, most);
    EXPECT_EQ(step.inclusive_ns, 1000 + step.open_ns);
    EXPECT_EQ(step.exclusive_ns, 1000 + kSpent - 200);
    EXPECT_GE(ask("inner").open_ns, 200u);
}

TEST_F(Query, OpenEntriesWithoutTimeAddNone) {
    const CellIndex work = file_.add_named(root_, SiteKind::kBlock, "work", {3, 100});
    file_.at<Node>(work).site.open = 3;
    file_.open_probe(work, 70, kEntryUntimed | kEntryStopped);  // 70 ticks up to the stop
    file_.open_probe(work, 1, kEntryUntimed);
    file_.open_probe(work, UINT64_MAX / 2);  // the clocks disagree
    EXPECT_EQ(ask("work").open_ns, 70u);
}

TEST_F(Query, CallsUnderWayCountUpToNow) {
    const CellIndex work = file_.add_named(root_, SiteKind::kBlock, "work", {1, 100});
    const CellIndex receive = file_.add_communication(work, kProgram, 16, "MPI_Recv", {2, 40});
    const uint64_t entered = monotonic_ns() - 1'000'000;
    file_.open_call(receive, entered, 1, 2, 3);
    file_.last_thread().last_ticks = entered - 10;
    const dwell_figures figures = ask("MPI_Recv");
    EXPECT_EQ(figures.count, 2u);
    EXPECT_GE(figures.open_ns, 1'000'000u);
    EXPECT_LE(figures.open_ns, monotonic_ns() - entered);
    EXPECT_EQ(figures.inclusive_ns, 40 + figures.open_ns);
    EXPECT_EQ(figures.waiting_ns + figures.transfer_ns, 40u);
    EXPECT_EQ(ask("work").exclusive_ns, 0u);  // the block itself is not open here
    file_.last_thread().last_ticks = entered + 5;
    EXPECT_EQ(ask("MPI_Recv").open_ns, 0u);
}

TEST_F(Query, WhatDoesNotFitIsNeverNegative) {
    const CellIndex work = file_.add_named(root_, SiteKind::kBlock, "work", {3, 100});
    file_.add_named(work, SiteKind::kBlock, "longer", {1, 101});
    const CellIndex send = file_.add_communication(work, kProgram, 16, "MPI_Send", {1, 10});
    file_.part(send).sync_ticks = 12;
    EXPECT_EQ(ask("work").exclusive_ns, 0u);
    EXPECT_EQ(ask("work").transfer_ns, 0u);
    EXPECT_EQ(ask("work").waiting_ns, 10u);
}

TEST_F(Query, EntriesWithoutTimeAreEstimated) {
    const CellIndex solve = add_solve({10, 100});  // five of them with time
    file_.probe_part(solve).counted = 5;
    file_.probe_part(solve).off_entries = 20;
    const dwell_figures figures = ask("ns::solve");
    EXPECT_EQ(figures.count, 30u);
    EXPECT_EQ(figures.inclusive_ns, 100u + 5 * 20u + 20 * 20u);
    EXPECT_EQ(figures.flags, DWELL_ESTIMATED);
}

TEST_F(Query, APartnerHasWhatWasExchangedWithIt) {
    const CellIndex wait = file_.add_communication(root_, kProgram, 16, "MPI_Waitall", {4, 120});
    file_.add_peer(wait, 1, {4, 60}, 10, 20);
    file_.at<TrafficPeerRecord>(file_.part(wait).first_peer).sync_ticks = 70;
    file_.add_peer(wait, 2, {4, 60}, 1, 2);
    const CellIndex send = file_.add_communication(root_, kProgram, 32, "MPI_Send", {2, 9});
    file_.add_peer(send, 2, {2, 9}, 100);
    show();
    dwell_figures figures;
    ASSERT_TRUE(query_partner(1, &figures));
    EXPECT_EQ(figures.inclusive_ns, 70u);  // all that it was waited for
    EXPECT_EQ(figures.waiting_ns, 70u);
    EXPECT_EQ(figures.bytes_received, 20u);
    ASSERT_TRUE(query_partner(2, &figures));
    EXPECT_EQ(figures.count, 6u);
    EXPECT_EQ(figures.inclusive_ns, 60u - 10 - 1 + 9);  // what rank 1 has more, rounded up
    EXPECT_EQ(figures.bytes_sent, 101u);
    EXPECT_FALSE(query_partner(3, &figures));
    EXPECT_FALSE(query_partner(-1, &figures));
    EXPECT_EQ(figures.count, 0u);
}

TEST_F(Query, AFunctionWithoutProbesHasItsCallsAndItsSamples) {
    const uint64_t function = add_program();
    const CellIndex inside = file_.add_call(root_, kProgram, function + 9, {});
    const CellIndex send = file_.add_communication(inside, kProgram, 8, "MPI_Send", {5, 50});
    file_.part(send).bytes_sent = 640;
    file_.add_communication(root_, kProgram, 16, "MPI_Recv", {5, 70});
    // 4 samples: two in the function itself, one in what it called, one elsewhere.
    const CellIndex sampled = file_.add_interval(send, send, root_, {5, 400});
    file_.add_node(sampled, SiteKind::kSample, kProgram, function + 4, {2});
    const CellIndex below = file_.add_node(sampled, SiteKind::kCall, kProgram, function + 5, {});
    file_.add_node(below, SiteKind::kSample, kTables, 40, {1});
    const CellIndex shared = file_.add_node(sampled, SiteKind::kSample, kTables, 44, {1});
    file_.at<Node>(shared).site.call = 1;  // shares no node
    dwell_figures figures = ask("dwell_query_test_function");
    EXPECT_EQ(figures.flags & DWELL_ESTIMATED, DWELL_ESTIMATED);
    EXPECT_EQ(figures.flags & DWELL_NOT_COUNTED, DWELL_NOT_COUNTED);
    EXPECT_EQ(figures.count, 0u);
    EXPECT_EQ(figures.inclusive_ns, 50u + 300);
    EXPECT_EQ(figures.exclusive_ns, 200u);
    EXPECT_EQ(figures.bytes_sent, 640u);
    // The sample's path shares the function's node with that of the call.
    file_.at<Node>(shared).site.call = 2;
    EXPECT_EQ(ask("dwell_query_test_function").inclusive_ns, 50u + 400);
    // Without samples: whether both ends came from one call in the function.
    const CellIndex bare = file_.add_interval(send, send, inside, {5, 1000});
    figures = ask("dwell_query_test_function");
    EXPECT_EQ(figures.inclusive_ns, 50u + 400 + 1000);
    EXPECT_EQ(figures.exclusive_ns, 200u + 1000);
    file_.at<Node>(bare).part = root_;
    EXPECT_EQ(ask("dwell_query_test_function").inclusive_ns, 50u + 400);
    expect_nothing("dwell_query_test_functio");
    // A block of that name comes first.
    file_.add_named(root_, SiteKind::kBlock, "dwell_query_test_function", {1, 3});
    EXPECT_EQ(ask("dwell_query_test_function").inclusive_ns, 3u);
}

TEST_F(Query, ReplacedFilesAreNotTrusted) {
    const uint64_t function = add_program();
    file_.add_communication(file_.add_call(root_, kProgram, function + 9, {}), kProgram, 8,
                            "MPI_Send", {5, 50});
    ModuleRecord& module = file_.at<ModuleRecord>(file_.header().first_module);
    module.build_id_bytes = 20;
    memset(module.build_id, 0x5a, sizeof(module.build_id));
    expect_nothing("dwell_query_test_f*");
}

TEST_F(Query, NothingIsKnownWhereNothingIsObserved) {
    file_.add_named(root_, SiteKind::kBlock, "work", {3, 100});
    EXPECT_EQ(ask("work").count, 3u);
    live_.on = 0;
    expect_nothing("work");
    dwell_figures figures;
    EXPECT_FALSE(query_partner(0, &figures));
}

}  // namespace
}  // namespace dwell
