// Samples in records made by hand, over addresses of a fixture with known lines: where they were
// taken, and how they divide the time of an interval.
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/contract/path_hash.h"
#include "summarize/model/profile_walk.h"
#include "summarize/symbols/module_kinds.h"
#include "tests/unit/summarize/profile/phases_records.h"

namespace dwell {
namespace {

TEST_F(Phases, SamplesByLine) {
    const uint32_t in_a = records_.call(start_, app_, after("main", "phase_a"));
    const uint32_t send =
        records_.communication(in_a, app_, after("phase_a", "MPI_Send"), "MPI_Send", totals(1, 10));
    const uint32_t interval = records_.interval(send, send, in_a, 1, 100);
    const Disassembly main_code(file_, "main");
    const Disassembly a_code(file_, "phase_a");
    records_.sample(interval, app_, main_code.start(), 2);
    records_.sample(interval, app_, a_code.start(), 3);
    records_.sample(interval, app_, a_code.start() + 1, 4);  // same line: the prologue
    const Profile profile = build_profile(records_.merged);
    ASSERT_EQ(profile.intervals.size(), 1u);
    const auto& lines = profile.intervals[0].lines;
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0].function, "phase_a");
    EXPECT_EQ(lines[0].file, source_);
    EXPECT_EQ(lines[0].line, line("begin phase_a"));
    EXPECT_EQ(lines[0].samples, 7u);
    EXPECT_EQ(lines[1].line, line("begin main"));
    EXPECT_EQ(lines[1].samples, 2u);
    EXPECT_EQ(profile.nodes[profile.intervals[0].booked_on].samples, 9u);
}

// Counts that no run can have are cut, so that sums do not overflow.
TEST_F(Phases, DamagedCountsOfSamples) {
    const uint32_t in_a = records_.call(start_, app_, after("main", "phase_a"));
    const uint32_t send =
        records_.communication(in_a, app_, after("phase_a", "MPI_Send"), "MPI_Send", totals(1, 10));
    const uint32_t interval = records_.interval(send, send, in_a, 1, 100);
    for (const char* const procedure : {"phase_a", "phase_b"}) {
        const std::vector<std::pair<uint32_t, uint64_t>> path = {
            {app_, after("main", procedure)}, {app_, Disassembly(file_, procedure).start()}};
        records_.sample_below(interval, path, uint64_t{1} << 63);
    }
    const Profile profile = build_profile(records_.merged);
    expect_conservation(profile);
    EXPECT_EQ(profile.computation_ns, 100u);
}

TEST(ModuleKinds, OnlyLibrariesAreOfMpi) {
    EXPECT_EQ(module_kind("/usr/lib/openmpi/mca_btl_vader.so"), ModuleKind::kMpi);
    EXPECT_EQ(module_kind("/opt/mpi/libmpi_mpifh.so.40"), ModuleKind::kMpi);
    EXPECT_EQ(module_kind("/home/ada/mca_transport"), ModuleKind::kUser);
}

// The procedure named for an interval belongs to the program or a library of its own, with lines or
// without, and counts for its callees in system libraries.
TEST_F(Phases, LibrariesOfTheSystemCountForTheirCaller) {
    const std::string libc = folder_ / "libc.so.6";  // with debug information
    ASSERT_EQ(run("cp '" + file_ + "' '" + libc + "'"), "");
    const uint64_t in_b = Disassembly(file_, "phase_b").start();
    struct Case {
        std::string path;
        std::string build_id;
        std::string named;
        bool communicates = false;
    };
    const std::vector<Case> cases = {
        {libc, build_id_of(libc), "phase_a"},
        {"[vdso]", "", "phase_a"},
        {"/lib/x86_64-linux-gnu/libm.so.6", "", "phase_a"},
        {"/usr/lib64/libblas.so.3", "", "phase_a"},
        {"/opt/gcc/lib64/libgfortran.so.5", "", "phase_a"},
        {"/usr/lib/openmpi/libsolver.so.2", "", "libsolver.so.2", true},
        {"/home/ada/librelax.so", "", "librelax.so"},
        {"/library/heat.so", "", "heat.so"},
        {"/usr/local/lib/librelax.so", "", "librelax.so"},
        {file_, build_id_of(file_), "phase_b"},
    };
    for (const Case& at : cases) {
        MergedBuilder records;
        const uint32_t app = records.module(file_, build_id_of(file_));
        const uint32_t library = records.module(at.path, at.build_id);
        const uint32_t from =
            records.communication(0, app, after("main", "MPI_Init"), "MPI_Init", totals(1, 10));
        const uint32_t to =
            records.communication(records.call(0, app, after("main", "phase_b")), app,
                                  after("phase_b", "MPI_Barrier"), "MPI_Barrier", totals(1, 10));
        if (at.communicates) records.communication(0, library, 0x99, "MPI_Send", totals(1, 10));
        const uint32_t interval = records.interval(from, to, 0, 1, 1000);
        const uint64_t a = after("main", "phase_a");
        const uint64_t calling = after("phase_a", "MPI_Send");
        const uint64_t other = at.named == "phase_b" ? in_b : 0x1234;
        const uint64_t inside = at.path == libc ? in_b : other;
        records.sample_below(interval, {{app, a}, {app, calling}, {library, inside}}, 8);
        records.sample_below(interval, {{app, a}, {app, Disassembly(file_, "phase_a").start()}}, 2);
        const Profile profile = build_profile(records.merged);
        expect_conservation(profile);
        ASSERT_EQ(profile.intervals.size(), 1u);
        const ProfileNode& owner = profile.nodes[profile.intervals[0].booked_on];
        EXPECT_TRUE(owner.name.starts_with(at.named)) << at.path << ": " << owner.name;
        // The tree shows where the samples were taken.
        const SampledLine& most = profile.intervals[0].lines.at(0);
        EXPECT_EQ(most.samples, 8u) << at.path;
        EXPECT_EQ(most.system, at.named == "phase_a") << at.path;
        EXPECT_EQ(profile.nodes[most.node].samples, 8u) << at.path;
        EXPECT_EQ((profile.nodes[most.node].labels & kLabelSystem) != 0, most.system) << at.path;
    }
}

TEST(ModuleKinds, HeadersOfTheSystemAndOfCompilers) {
    for (const char* const path :
         {"/usr/include/c++/12/bits/stl_algo.h", "/usr/include/eigen3/Eigen/src/Core/Dot.h",
          "/usr/lib/gcc/x86_64-linux-gnu/12/include/omp.h", "/opt/gcc-13/include/c++/13/istream",
          "/opt/gcc-13/lib/gcc/x86_64-linux-gnu/13/include/immintrin.h",
          "/usr/lib/llvm-14/lib/clang/14.0.6/include/immintrin.h"}) {
        EXPECT_TRUE(is_system_header(path)) << path;
    }
    for (const char* const path :
         {"/home/ada/include/grid.h", "/usr/local/include/grid.h", "/usr/src/heat/heat.c", "heat.c",
          "", "/home/ada/usr/include/grid.h"}) {
        EXPECT_FALSE(is_system_header(path)) << path;
    }
}

// final_sort calls a procedure of a system header, and another one is inlined into it. Both count
// for final_sort, at the line of the call.
TEST(BuildProfile, HeadersOfTheSystemCountForTheirCaller) {
    ScratchFolder folder;
    const std::string source = folder / "sort.c";
    const std::string file = folder / "sort.so";
    std::ofstream(source) << "#line 10 \"/usr/include/sort.h\"\n"
                             "void swap(void);\n"
                             "void sort_all(void) { swap(); }\n"
                             "__attribute__((always_inline)) static inline void merge(void) {\n"
                             "swap();\n"
                             "}\n"
                             "#line 5 \"/home/ada/sort.c\"\n"
                             "void final_sort(void) {\n"
                             "sort_all();\n"
                             "merge();\n"
                             "}\n"
                             "int MPI_Barrier(int);\n"
                             "void step(void) {\n"
                             "MPI_Barrier(1);\n"
                             "final_sort();\n"
                             "MPI_Barrier(2);\n"
                             "}\n";
    ASSERT_EQ(run("gcc -O0 -g -shared -fPIC -Wl,--build-id -o '" + file + "' '" + source + "'"),
              "");
    const Disassembly step(file, "step");
    const Disassembly final_sort(file, "final_sort");
    const uint64_t in_merge = final_sort.return_from("swap") - 1;
    const uint64_t in_sort_all = Disassembly(file, "sort_all").start();
    for (const bool with_paths : {true, false}) {
        MergedBuilder records;
        const uint32_t app = records.module(file, build_id_of(file));
        const uint32_t from = records.communication(0, app, step.return_from("MPI_Barrier", 0),
                                                    "MPI_Barrier", totals(1, 10));
        const uint32_t to = records.communication(0, app, step.return_from("MPI_Barrier", 1),
                                                  "MPI_Barrier", totals(1, 10));
        const uint32_t interval = records.interval(from, to, 0, 1, 1000);
        const std::pair<uint32_t, uint64_t> call{app, step.return_from("final_sort")};
        if (with_paths) {
            const uint64_t calling = final_sort.return_from("sort_all");
            records.sample_below(interval, {call, {app, calling}, {app, in_sort_all}}, 7);
            records.sample_below(interval, {call, {app, in_merge}}, 5);
        } else {
            records.sample(interval, app, in_merge, 12);
        }
        const Profile profile = build_profile(records.merged);
        expect_conservation(profile);
        ASSERT_EQ(profile.intervals.size(), 1u);
        const ProfileInterval& between = profile.intervals[0];
        if (with_paths) {
            EXPECT_EQ(profile.nodes[between.booked_on].name, "final_sort");
            ASSERT_EQ(between.lines.size(), 2u);
        }
        for (const SampledLine& line : between.lines) {
            EXPECT_EQ(line.system, with_paths) << line.function;
            EXPECT_EQ((profile.nodes[line.node].labels & kLabelSystem) != 0, with_paths);
            if (!with_paths) {
                EXPECT_EQ(line.function, "final_sort");
                EXPECT_EQ(line.file + std::to_string(line.line), "/home/ada/sort.c7");
                continue;
            }
            const uint32_t own = own_code(profile, line.node);
            EXPECT_EQ(profile.nodes[own].name, "final_sort");
            uint32_t at = line.node;
            while (profile.nodes[at].parent != own) at = profile.nodes[at].parent;
            EXPECT_EQ(profile.nodes[at].file, "/home/ada/sort.c");
            EXPECT_EQ(profile.nodes[at].line, line.function == "sort_all" ? 6 : 7);
        }
    }
}

// Inner functions of such a library are hidden, even if their lines are known.
TEST_F(Phases, LibrariesOfTheSystemAreNotLookedInto) {
    const std::string libm = folder_ / "libm.so.6";
    ASSERT_EQ(run("g++ -O0 -g -shared -fPIC -o '" + libm + "' '" + fixture("grid.cpp") + "'"), "");
    const uint64_t in_pack =
        Disassembly(libm, "_ZN6solver4Grid4stepEi").return_from("MPI_Send") - 1;
    const uint32_t library = records_.module(libm);
    const uint32_t from =
        records_.communication(0, app_, after("main", "MPI_Init"), "MPI_Init", totals(1, 10));
    const uint32_t interval = records_.interval(from, from, 0, 1, 1000);
    records_.sample_below(interval,
                          {{app_, after("main", "phase_a")},
                           {app_, after("phase_a", "MPI_Send")},
                           {library, in_pack}},
                          8);
    const Profile profile = build_profile(records_.merged);
    ASSERT_EQ(profile.intervals.size(), 1u);
    const SampledLine& line = profile.intervals[0].lines.at(0);
    EXPECT_NE(line.function.find("step"), std::string::npos) << line.function;
    EXPECT_NE(profile.nodes[line.node].name.find("step"), std::string::npos);
    EXPECT_EQ(profile.nodes[profile.intervals[0].booked_on].name, "phase_a");
}

// A system library calls back into the program, as qsort() does.
TEST_F(Phases, WhatTheSystemCallsBackIsNamed) {
    const uint32_t from =
        records_.communication(0, app_, after("main", "MPI_Init"), "MPI_Init", totals(1, 10));
    const uint32_t interval = records_.interval(from, from, 0, 1, 1000);
    records_.sample_below(interval,
                          {{app_, after("main", "phase_a")},
                           {app_, after("phase_a", "MPI_Send")},
                           {libc_, 0x1234},
                           {app_, Disassembly(file_, "phase_b").start()}},
                          3);
    const Profile profile = build_profile(records_.merged);
    ASSERT_EQ(profile.intervals.size(), 1u);
    EXPECT_EQ(profile.nodes[profile.intervals[0].booked_on].name, "phase_b");
}

// By the path alone phase_a owns it, since the same statement of main calls it again; samples in
// main's own code prove that it was left. Rows follow.
TEST_F(Phases, SamplesProveThatAProcedureWasLeft) {
    const uint32_t in_a = records_.call(start_, app_, after("main", "phase_a"));
    const uint32_t send =
        records_.communication(in_a, app_, after("phase_a", "MPI_Send"), "MPI_Send", totals(4, 40));
    const uint32_t receive =
        records_.communication(in_a, app_, after("phase_a", "MPI_Recv"), "MPI_Recv", totals(4, 80));
    const uint32_t inside = records_.interval(send, receive, in_a, 4, 100);
    const uint32_t around = records_.interval(receive, send, in_a, 3, 1000);
    const uint32_t itself = records_.interval(send, send, in_a, 2, 7);
    const uint64_t main_code = Disassembly(file_, "main").start();
    const uint64_t a_code = Disassembly(file_, "phase_a").start();
    const uint64_t b_code = Disassembly(file_, "phase_b").start();
    records_.sample(inside, app_, a_code, 5);
    records_.sample(inside, app_, b_code, 9);  // a procedure that was called: proves nothing
    records_.sample(around, app_, a_code, 8);
    records_.sample(around, app_, main_code, 1);
    records_.sample(itself, app_, main_code, 2);
    records_.row(send, 0, 0, totals(3, 30));
    records_.row(send, 1, 0, totals(1, 10));
    records_.row(receive, 0, 0, totals(4, 80));
    records_.row(inside, 0, 0, totals(4, 100));
    records_.row(around, 0, 0, totals(2, 400));
    records_.row(around, 1, 0, totals(1, 600));
    records_.row(itself, 0, 0, totals(1, 3));
    records_.row(itself, 1, 0, totals(1, 4));
    const Profile profile = build_profile(records_.merged);
    expect_conservation(profile);
    const uint32_t main = child(profile, 0, SiteKind::kProcedure, "main");
    const uint32_t call = child(profile, main, SiteKind::kCall, "phase_a");
    const uint32_t a = child(profile, call, SiteKind::kProcedure, "phase_a");
    ASSERT_NE(a, kNoNode);
    EXPECT_EQ(profile.nodes[main].computation_ns, 1000u + 7);
    EXPECT_EQ(profile.nodes[main].samples, 8u + 1 + 2);
    EXPECT_EQ(profile.nodes[main].rank_max, 1u);
    EXPECT_EQ(profile.nodes[main].rank_max_ns, 10u + 600 + 4);
    EXPECT_EQ(profile.nodes[a].computation_ns, 100u);
    EXPECT_EQ(profile.nodes[a].samples, 14u);
    EXPECT_EQ(profile.nodes[main].labels, kLabelEstimated);
    EXPECT_EQ(profile.intervals[0].booked_on, main);
}

// The first `ranks` ranks compute from MPI_Init in main to MPI_Barrier in phase_b; samples are in
// phase_a and phase_b, which main calls.
class RanksThatSample : public Phases {
  protected:
    struct OnRank {
        uint64_t time_ns;
        uint64_t in_a;
        uint64_t in_b;
        uint64_t others_waited_ns;
    };

    Profile profile_of(const std::vector<OnRank>& ranks) {
        const uint64_t left = after("main", "MPI_Init");
        const uint64_t reached = after("phase_b", "MPI_Barrier");
        const uint64_t calls_a = after("main", "phase_a");
        const uint64_t calls_b = after("main", "phase_b");
        OnRank all{};
        for (const OnRank& rank : ranks) {
            all.time_ns += rank.time_ns;
            all.in_a += rank.in_a;
            all.in_b += rank.in_b;
        }
        const uint32_t init = records_.communication(0, app_, left, "MPI_Init", totals(4, 40));
        const uint32_t in_b = records_.call(0, app_, calls_b);
        const uint32_t barrier =
            records_.communication(in_b, app_, reached, "MPI_Barrier", totals(4, 40));
        const uint32_t interval = records_.interval(init, barrier, 0, ranks.size(), all.time_ns);
        const uint32_t sample_a = records_.sample_below(
            interval, {{app_, calls_a}, {app_, Disassembly(file_, "phase_a").start()}}, all.in_a);
        const uint32_t sample_b = records_.sample_below(
            interval, {{app_, calls_b}, {app_, Disassembly(file_, "phase_b").start()}}, all.in_b);
        const uint32_t path = path_to(left, calls_b, "MPI_Barrier", reached);
        for (uint32_t i = 0; i < ranks.size(); ++i) {
            records_.rank(i);
            records_.row(init, i, 0, totals(1, 10));
            records_.row(barrier, i, 0, totals(1, 10));
            records_.row(interval, i, 0, totals(1, ranks[i].time_ns));
            records_.merged.sample_rows.push({sample_a, i, 0, 0, ranks[i].in_a});
            records_.merged.sample_rows.push({sample_b, i, 0, 0, ranks[i].in_b});
            const uint64_t waited_ns = ranks[i].others_waited_ns;
            if (waited_ns == 0) continue;
            records_.merged.causes.push({path, i, 0, 0, 1, waited_ns, 0, 0, 0});
        }
        Profile profile = build_profile(records_.merged);
        expect_conservation(profile);
        const uint32_t main = child(profile, 0, SiteKind::kProcedure, "main");
        a_ = child(profile, child(profile, main, SiteKind::kCall, "phase_a"), SiteKind::kProcedure,
                   "phase_a");
        b_ = child(profile, child(profile, main, SiteKind::kCall, "phase_b"), SiteKind::kProcedure,
                   "phase_b");
        return profile;
    }
    // The interval in that rank's cause.
    static const ProfileInterval& named(const Profile& profile, uint32_t rank) {
        for (const ProfileCause& cause : profile.causes) {
            if (cause.peer == rank) return profile.intervals.at(cause.interval);
        }
        throw std::runtime_error("the rank causes nothing");
    }

    uint32_t a_ = kNoNode;
    uint32_t b_ = kNoNode;

    uint32_t path_to(uint64_t left, uint64_t calls, const char* last, uint64_t reached) const {
        const std::string id = build_id_of(file_);
        const uint64_t app =
            hash_module(reinterpret_cast<const uint8_t*>(id.data()), id.size(), file_.c_str());
        const auto site = [app](uint64_t above, SiteKind kind, const char* call, uint64_t place) {
            return hash_site(above, static_cast<uint32_t>(kind),
                             call != nullptr ? number_of(call) : 0, app, place);
        };
        return hash_interval(site(kRootPath, SiteKind::kCommunication, "MPI_Init", left),
                             site(site(kRootPath, SiteKind::kCall, nullptr, calls),
                                  SiteKind::kCommunication, last, reached));
    }
};

// Ranks 0 and 1 compute in phase_a, rank 2 mostly in phase_b; rank 3 has too few samples, so those
// of all ranks count: 47 of 64 in phase_a, 17 in phase_b.
TEST_F(RanksThatSample, WhatARankComputesGoesByItsOwnSamples) {
    const Profile profile = profile_of(
        {{1000, 20, 0, 100}, {1000, 20, 0, 0}, {1000, 5, 15, 100}, {6400, 2, 2, 100'000}});
    ASSERT_NE(a_, kNoNode);
    ASSERT_NE(b_, kNoNode);
    const uint64_t third_in_a = 6400 * 47 / 64;
    const std::array<uint64_t, 4> all_in_a = {1000, 1000, 250, third_in_a};
    const std::array<uint64_t, 4> all_in_b = {0, 0, 750, 6400 - third_in_a};
    for (const ProfileRow& row : profile.rows) {
        if (row.node != a_ && row.node != b_) continue;
        const auto& expected = row.node == a_ ? all_in_a : all_in_b;
        EXPECT_EQ(row.computation_ns, expected[row.rank]) << row.rank;
    }
    EXPECT_EQ(profile.nodes[a_].computation_ns, 2250 + third_in_a);
    EXPECT_EQ(profile.nodes[b_].computation_ns, 750 + 6400 - third_in_a);

    ASSERT_EQ(profile.intervals.size(), 2u);
    const ProfileInterval& of_most = profile.intervals[0];
    const ProfileInterval& of_second = profile.intervals[1];
    EXPECT_EQ(of_most.booked_on, a_);
    EXPECT_EQ(of_second.booked_on, b_);
    EXPECT_EQ(of_most.time_ns, 8400u);
    EXPECT_EQ(of_second.time_ns, 1000u);
    EXPECT_EQ(of_second.count, 1u);
    ASSERT_EQ(of_second.lines.size(), 1u);  // lines of the named procedure only
    EXPECT_EQ(of_second.lines[0].samples, 15u);
    ASSERT_EQ(of_most.lines.size(), 2u);
    EXPECT_EQ(of_most.lines[0].samples, 47u);
    EXPECT_EQ(of_most.lines[1].samples, 2u);
    for (const uint32_t rank : {0u, 3u}) EXPECT_EQ(named(profile, rank).booked_on, a_);
    EXPECT_EQ(named(profile, 2).booked_on, b_);
}

// Rank 2 computes in phase_a as all ranks do, and 600 beyond the others in phase_b: that made it
// late.
TEST_F(RanksThatSample, WhatARankComputesBeyondTheOthersMadeItLate) {
    const Profile profile =
        profile_of({{1000, 20, 0, 0}, {1000, 20, 0, 0}, {1600, 20, 12, 2 * 600}});
    EXPECT_EQ(named(profile, 2).booked_on, b_);
    EXPECT_EQ(named(profile, 2).time_ns, 1600u);
    ASSERT_EQ(named(profile, 2).lines.size(), 1u);
    EXPECT_EQ(named(profile, 2).lines[0].samples, 12u);
}

// Rank 0 computes 1000 in phase_a before its barrier; rank 1 computes as much there, and 600 in
// phase_b, before it receives. The calls differ, but phase_b made rank 1 late all the same.
TEST_F(RanksThatSample, WhatOthersComputeBetweenOtherCallsMadeNobodyLate) {
    const uint64_t left = after("main", "MPI_Init");
    const uint64_t reached = after("phase_a", "MPI_Recv");
    const uint64_t calls_a = after("main", "phase_a");
    const uint64_t calls_b = after("main", "phase_b");
    const uint32_t init = records_.communication(0, app_, left, "MPI_Init", totals(2, 20));
    const uint32_t in_a = records_.call(0, app_, calls_a);
    const uint32_t in_b = records_.call(0, app_, calls_b);
    const uint32_t receive = records_.communication(in_a, app_, reached, "MPI_Recv", totals(1, 10));
    const uint32_t barrier = records_.communication(in_b, app_, after("phase_b", "MPI_Barrier"),
                                                    "MPI_Barrier", totals(1, 10));
    const std::array<uint32_t, 2> ends = {barrier, receive};
    const std::array<uint64_t, 2> time_ns = {1000, 1600};
    const std::array<uint64_t, 2> beyond = {0, 12};
    for (uint32_t rank : {0u, 1u}) {
        records_.rank(rank);
        const uint32_t interval = records_.interval(init, ends[rank], 0, 1, time_ns[rank]);
        records_.row(init, rank, 0, totals(1, 10));
        records_.row(ends[rank], rank, 0, totals(1, 10));
        records_.row(interval, rank, 0, totals(1, time_ns[rank]));
        const auto sample = [&](uint64_t call, const char* procedure, uint64_t count) {
            const uint64_t code = Disassembly(file_, procedure).start();
            const uint32_t node =
                records_.sample_below(interval, {{app_, call}, {app_, code}}, count);
            records_.merged.sample_rows.push({node, rank, 0, 0, count});
        };
        sample(calls_a, "phase_a", 20);
        if (beyond[rank] != 0) sample(calls_b, "phase_b", beyond[rank]);
    }
    const uint32_t path = path_to(left, calls_a, "MPI_Recv", reached);
    records_.merged.causes.push({path, 1, 0, 0, 1, 600, 0, 0, 0});
    const Profile profile = build_profile(records_.merged);
    expect_conservation(profile);
    const ProfileInterval& late = named(profile, 1);
    EXPECT_EQ(profile.nodes[late.booked_on].name, "phase_b");
    EXPECT_EQ(late.time_ns, 1600u);
    ASSERT_EQ(late.lines.size(), 1u);
    EXPECT_EQ(late.lines[0].samples, 12u);
}

// The excess explains less than half of the waiting, as when ranks compute in turn.
TEST_F(RanksThatSample, WhatExplainsLittleOfTheWaitingDidNot) {
    const Profile profile =
        profile_of({{1000, 20, 0, 0}, {1000, 20, 0, 0}, {1600, 20, 12, 2 * 1300}});
    EXPECT_EQ(named(profile, 2).booked_on, a_);
}

// A program without MPI takes 2 s and was on a processor for 0.5 s: its samples divide only those,
// and the rest is the program's own.
TEST_F(Phases, SamplesTellNothingOfSleepWithoutMpi) {
    constexpr uint64_t kMs = 1'000'000;
    const auto phase_a_ns = [&](uint64_t user_ms, uint64_t system_ms, uint64_t known_ms) {
        MergedBuilder records;
        const uint32_t module = records.module(file_, build_id_of(file_));
        const uint32_t interval = records.interval(kNoNode, 0, 0, 1, 2000 * kMs);
        const uint32_t in_a = records.sample_below(
            interval,
            {{module, after("main", "phase_a")}, {module, Disassembly(file_, "phase_a").start()}},
            40);
        records.merged.sample_rows.push({in_a, 0, 0, 0, 40});
        records.rank(0, [&](MergedRank* rank) {
            rank->flags = kFileSerial;
            rank->state = static_cast<uint32_t>(FileState::kExited);
            rank->sample_hz = 100;
            rank->samples = 40;
            rank->real_ns = 2000 * kMs;
            rank->usage_ns = known_ms * kMs;
            rank->usage.user_ns = user_ms * kMs;
            rank->usage.system_ns = system_ms * kMs;
        });
        records.row(interval, 0, 0, totals(1, 2000 * kMs));
        const Profile profile = build_profile(records.merged);
        expect_conservation(profile);
        const uint32_t main = child(profile, 0, SiteKind::kProcedure, "main");
        const uint32_t a = child(profile, child(profile, main, SiteKind::kCall, "phase_a"),
                                 SiteKind::kProcedure, "phase_a");
        EXPECT_EQ(profile.nodes[0].computation_ns + profile.nodes[a].computation_ns, 2000 * kMs);
        return profile.nodes[a].computation_ns / kMs;
    };
    EXPECT_EQ(phase_a_ns(400, 100, 2000), 500u);
    EXPECT_EQ(phase_a_ns(100, 0, 2000), 400u);     // 40 samples are of 0.4 s
    EXPECT_EQ(phase_a_ns(400, 100, 1500), 1000u);  // 0.5 s are unknown
    EXPECT_EQ(phase_a_ns(0, 0, 0), 2000u);
    EXPECT_EQ(phase_a_ns(3000, 0, 2000), 2000u);  // in several threads
}

// drive calls step, into which exchange and pack are inlined; pack sends.
TEST(BuildProfile, SamplesInInlinedCode) {
    const std::string step_symbol = "_ZN6solver4Grid4stepEi";
    const std::string drive_symbol = "_Z5drivePN6solver4GridE";
    ScratchFolder folder;
    const std::string file = folder / "grid.so";
    ASSERT_EQ(run("g++ -O0 -g -shared -fPIC -o '" + file + "' '" + fixture("grid.cpp") + "'"), "");
    const Disassembly step(file, step_symbol);
    const Disassembly drive(file, drive_symbol);
    const uint64_t in_pack = step.return_from("MPI_Send") - 1;
    struct Case {
        uint64_t pack, step, drive;
        const char* owner;
    };
    // pack and step share one function's instructions: there most samples decide. drive has its
    // own.
    const Case cases[] = {{0, 0, 0, "pack"},  {9, 3, 0, "pack"}, {3, 3, 0, "pack"},
                          {3, 4, 0, "step"},  {0, 1, 0, "step"}, {9, 3, 1, "drive"},
                          {0, 2, 3, "drive"}, {0, 4, 3, "step"}};
    for (const Case& one : cases) {
        SCOPED_TRACE(testing::Message() << one.pack << " " << one.step << " " << one.drive);
        MergedBuilder records;
        const uint32_t app = records.module(file);
        const uint32_t in_drive = records.call(0, app, drive.return_from(step_symbol));
        const uint32_t send = records.communication(in_drive, app, step.return_from("MPI_Send"),
                                                    "MPI_Send", totals(2, 10));
        const uint32_t interval = records.interval(send, send, in_drive, 1, 100);
        if (one.pack != 0) records.sample(interval, app, in_pack, one.pack);
        if (one.step != 0) records.sample(interval, app, step.start(), one.step);
        if (one.drive != 0) records.sample(interval, app, drive.start(), one.drive);
        const Profile profile = build_profile(records.merged);
        expect_conservation(profile);
        ASSERT_EQ(profile.intervals.size(), 1u);
        const ProfileNode& owner = profile.nodes[profile.intervals[0].booked_on];
        EXPECT_NE(owner.name.find(one.owner), std::string::npos) << owner.name;
        EXPECT_EQ(owner.computation_ns, 100u);
    }
}

TEST_F(Phases, SamplesInDwellAreLeftOut) {
    const uint32_t dwell = records_.module("/opt/lib/libdwell.so");
    const uint32_t in_a = records_.call(start_, app_, after("main", "phase_a"));
    const uint32_t send =
        records_.communication(in_a, app_, after("phase_a", "MPI_Send"), "MPI_Send", totals(1, 10));
    const uint32_t interval = records_.interval(send, send, in_a, 1, 100);
    records_.sample(interval, dwell, 0x1000, 2);
    records_.sample(interval, app_, Disassembly(file_, "phase_a").start(), 3);
    const Profile profile = build_profile(records_.merged);
    ASSERT_EQ(profile.intervals.size(), 1u);
    ASSERT_EQ(profile.intervals[0].lines.size(), 1u);
    EXPECT_EQ(profile.intervals[0].lines[0].samples, 3u);
}

}  // namespace
}  // namespace dwell
