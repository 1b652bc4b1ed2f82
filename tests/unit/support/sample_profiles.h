// Profiles made by hand (profile_builder.h), with all figures known to the tests of the writers.
#ifndef DWELL_TESTS_UNIT_SAMPLE_PROFILES_H_
#define DWELL_TESTS_UNIT_SAMPLE_PROFILES_H_

#include "tests/unit/support/profile_builder.h"

namespace dwell::samples {

// Nodes of halo_profile.
enum HaloNode : uint32_t {
    kProgramNode = 0,
    kMain = 1,
    kCallSolve = 2,
    kSolve = 3,
    kCallExchange = 4,
    kExchange = 5,
    kIsend = 6,
    kRecv = 7,
    kWait = 8,
    kAllreduce = 9,
    kInit = 10,
    kFinalize = 11,
};

// Four ranks on two hosts, 10 seconds each; rank 3 computes longest, rank 0 waits for it.
inline Profile halo_profile() {
    Builder b(4, "heat");
    const uint32_t main = b.proc("main", "/home/ada/heat/src/heat.c", 201, 0);
    const uint32_t solve = b.call("solve", "/home/ada/heat/src/heat.c", 233, main);
    const uint32_t exchange = b.call("exchange_halo", "/home/ada/heat/src/heat.c", 140, solve);
    const std::string halo = "/home/ada/heat/src/halo.c";
    const uint32_t isend = b.comm("MPI_Isend", halo, 85, exchange);
    const uint32_t recv = b.comm("MPI_Recv", halo, 88, exchange);
    const uint32_t wait = b.comm("MPI_Wait", halo, 91, exchange);
    const uint32_t allreduce = b.comm("MPI_Allreduce", "/home/ada/heat/src/heat.c", 151, solve);
    const uint32_t init = b.comm("MPI_Init", "/home/ada/heat/src/heat.c", 205, main);
    const uint32_t finalize = b.comm("MPI_Finalize", "/home/ada/heat/src/heat.c", 260, main);
    for (uint32_t rank = 0; rank < 4; ++rank) {
        const uint64_t wait_ms = 3000 - 900 * rank;  // 3000, 2100, 1200, 300
        b.calls(isend, rank, {2000, 40 * kMs, 0, 2000 * 4096, 0, 1 * kMs, kSendReady, 0, 0});
        b.calls(recv, rank,
                {2000, wait_ms * kMs, (wait_ms - 100) * kMs, 0, 2000 * 4096, (12 - rank) * kMs,
                 kRecvReady, 1500, (wait_ms - 20) * kMs});
        b.calls(wait, rank, {2000, 10 * kMs, 0, 0, 0, kMs / 2, kSendReady, 0, 0});
        b.calls(allreduce, rank, {500, 450 * kMs, 300 * kMs, 4000, 4000, 9 * kMs, 0, 0, 0});
        b.calls(init, rank, {1, 150 * kMs, 0, 0, 0, 150 * kMs, 0, 0, 0});
        b.calls(finalize, rank, {1, 50 * kMs, 0, 0, 0, 50 * kMs, 0, 0, 0});
        const uint64_t communication_ms = 40 + wait_ms + 10 + 450 + 150 + 50;
        b.compute(main, rank, 200 * kMs);
        b.compute(exchange, rank, 100 * kMs);
        b.compute(solve, rank, (10'000 - communication_ms - 300) * kMs);
        b.profile().ranks[rank].sample_hz = 100;
        b.profile().ranks[rank].samples = 600 + 90 * rank;
    }
    Profile& p = b.profile();
    p.nodes[recv].messages.assign(kSizeBuckets, 0);
    p.nodes[recv].messages[13] = 8000;
    for (uint32_t rank = 0; rank < 4; ++rank) {
        const uint32_t from = (rank + 1) % 4;
        p.peers.push_back({recv, rank, from, 2000, (3000 - 900 * rank) * kMs, 0, 0, 2000 * 4096,
                           kMs / 10, (12 - rank) * kMs});
        p.peers.push_back(
            {isend, rank, (rank + 3) % 4, 2000, 40 * kMs, 0, 2000 * 4096, 0, kMs / 100, kMs});
    }
    p.intervals.push_back(
        {wait,
         isend,
         solve,
         8000,
         18 * kSecond,
         kMs,
         6 * kMs,
         {{"stencil", "/home/ada/heat/src/heat.c", 131, 1402, solve},
          {"stencil", "/home/ada/heat/src/heat.c", 132, 410, solve},
          {"flux(double const*, int)", "/home/ada/heat/src/flux.cpp", 17, 90, solve},
          {"memcpy", "", 0, 12, solve}}});
    p.intervals.push_back({wait, allreduce, solve, 2000, 5 * kSecond, kMs, 4 * kMs, {}});
    p.intervals.push_back({init, isend, main, 4, 800 * kMs, 200 * kMs, 200 * kMs, {}});
    p.intervals.push_back({isend, recv, exchange, 8000, 400 * kMs, 10'000, 90'000, {}});
    p.notes = {
        "Blocked time of collectives is an estimate: what lies above the shortest call of the "
        "same rank at the same line."};
    return b.finish();
}

// Three ranks in a row, 10 s each: rank 0 computes for 6 s more than rank 1, which waits for it; so
// does rank 2, for rank 1. A barrier waits for a third, of which one call in two is not known.
inline Profile chain_profile() {
    Builder b(3, "chain");
    const std::string file = "/home/ada/chain.c";
    const uint32_t main = b.proc("main", file, 10, 0);
    const uint32_t send = b.comm("MPI_Ssend", file, 21, main);
    const uint32_t recv = b.comm("MPI_Recv", file, 25, main);
    const uint32_t barrier = b.comm("MPI_Barrier", file, 30, main);
    // count, time, blocked, sent, received, longest, slot, other calls, sync, late sender, receiver
    b.calls(send, 0, {100, 100 * kMs, 90 * kMs, 800, 0, 2 * kMs, 0, 0, 0, 90 * kMs, 0, 90 * kMs});
    b.calls(send, 1, {100, 20 * kMs, 10 * kMs, 800, 0, kMs, 0, 0, 0, 10 * kMs, 0, 10 * kMs});
    b.calls(recv, 1,
            {100, 6000 * kMs, 5980 * kMs, 0, 800, 70 * kMs, kRecvBlocked, 0, 0, 5980 * kMs,
             5980 * kMs, 0});
    b.calls(recv, 2,
            {100, 6500 * kMs, 6450 * kMs, 0, 800, 80 * kMs, kRecvBlocked, 0, 0, 6450 * kMs,
             6450 * kMs, 0});
    for (uint32_t rank = 0; rank < 3; ++rank) {
        b.calls(barrier, rank, {10, 100 * kMs, 80 * kMs, 0, 0, 20 * kMs, 0, 0, 0, 40 * kMs, 0, 0});
        b.totals_of(barrier, rank).unknown_waits = 5;
        const uint64_t in_mpi[] = {200, 6120, 6600};
        b.compute(main, rank, (10'000 - in_mpi[rank]) * kMs);
        b.profile().ranks[rank].flags = kFileWaits;
    }
    Profile& p = b.profile();
    p.intervals.push_back(
        {send, send, main, 99, 9700 * kMs, kMs, 99 * kMs, {{"assemble", file, 55, 900, main}}});
    p.intervals.push_back({recv, send, main, 100, 3700 * kMs, kMs, 38 * kMs, {}});
    p.intervals.push_back({kNoNode, recv, main, 1, 30 * kMs, 30 * kMs, 30 * kMs, {}});
    p.partners = {{recv, 1, 1, 100, 6400 * kMs, 80 * kMs, 5900 * kMs, 0},
                  {recv, 0, 0, 99, 5970 * kMs, 70 * kMs, 0, 0},
                  {barrier, 0, 0, 10, 100 * kMs, 20 * kMs, 0, 0},
                  {send, 1, 2, 100, 90 * kMs, 2 * kMs, 0, 0},
                  {recv, 1, kNoNode, 1, 50 * kMs, 50 * kMs, 0, 0},
                  {recv, kNoPeer, kNoNode, 1, 10 * kMs, 0, 0, 10 * kMs},
                  {barrier, 2, 1, 10, 20 * kMs, 4 * kMs, 0, 0},
                  {send, 2, 2, 100, 10 * kMs, kMs, 0, 0}};
    p.causes = {{0, 0, 209, 11'970 * kMs, 5900 * kMs, 0},
                {1, 1, 110, 450 * kMs, 0, 0},
                {2, 1, 200, 100 * kMs, 0, 0},
                {1, 2, 10, 70 * kMs, 0, 0},
                {kNoNode, 1, 1, 60 * kMs, 0, 0}};
    return b.finish();
}

// Names that are long, not ASCII, or contain characters special to CSV, JSON or a terminal; several
// threads, worlds and labels.
inline Profile hostile_profile() {
    Builder b(3, "größe \"x\",y");
    b.profile().ranks[1].command = "prog \033[31mred\033[0m";
    b.profile().ranks[0].command = std::string(300, 'a') + " größe 日本語";
    b.profile().ranks[2].state = FileState::kAborted;
    b.profile().ranks[2].exit_code = -3;
    b.profile().ranks[2].flags = kFileFull | kFileSpawned;
    b.profile().ranks[0].host = std::string(70, 'h') + ".example.org";
    b.profile().merged_flags = kMergedPartial;
    b.profile().world_size = 5;
    const std::string file = "/very/" + std::string(180, 'd') + "/größe/datei, mit \"komma\".cpp";
    uint32_t inside = b.proc("main", file, 1, 0);
    for (int depth = 0; depth < 30; ++depth) {
        std::string name =
            "void solver::detail::Kernel<double, std::vector<int, "
            "std::allocator<int> > >::apply" +
            std::to_string(depth) + "(int, std::map<int, int> const&)";
        if (depth == 3) name = "operator/(a, b) 100%";
        if (depth == 4) name = "日本語の手続き::計算";
        if (depth == 5) name = "line\nbreak\ttab";
        if (depth == 6) name = "(anonymous namespace)::helper(int) [clone .constprop.0]";
        inside = b.call(name, depth % 2 ? file : "short.f90", 100 + depth, inside);
        for (uint32_t rank = 0; rank < 3; ++rank) b.compute(inside, rank, 7 * kMs + rank);
    }
    const uint32_t send = b.comm("MPI_Send", file, 2'000'000'000, inside);
    const uint32_t recv = b.comm("MPI_Sendrecv_replace", "", 0, inside);
    b.profile().nodes[recv].labels = kLabelNoLine | kLabelFolded | 1u << 30;
    b.profile().nodes[recv].module = "/opt/größe/lib\"quoted\".so";
    for (uint32_t rank = 0; rank < 3; ++rank) {
        for (uint32_t thread = 0; thread < 2; ++thread) {
            b.calls(send, rank, {3, 90 * kMs, 30 * kMs, 5'000'000'000, 0, 80 * kMs, 0, 0, 0},
                    thread);
        }
    }
    b.calls(recv, 1, {4'000'000'000, 500 * kMs, 400 * kMs, 1, 3, 80 * kMs, kRecvReady, 0, 0}, 1);
    b.profile().peers.push_back({send, 0, 1u << kPeerRankBits | 3, 5, 9, 1, 4, 0, 1, 2});
    b.profile().peers.push_back({send, 1, kParentWorld << kPeerRankBits, 5, 99, 1, 4, 2, 1, 2});
    b.profile().peers.push_back({recv, 1, kNoPeer, 0, 0, 0, 0, 0, UINT64_MAX, 0});
    b.profile().distances.push_back({send, kNoPeer, 1, 2, 3, 4, 5, 6});
    b.profile().distances.push_back({send, kOtherDistances, 7, 8, 9, 10, 11, 12});
    b.profile().intervals.push_back({kNoNode,
                                     send,
                                     inside,
                                     3,
                                     20 * kMs,
                                     kMs,
                                     9 * kMs,
                                     {{std::string(200, 'f'), file, 77, 5, inside}}});
    b.profile().notes = {"größe: " + std::string(150, 'n') + " end", "second\nnote"};
    Profile profile = b.finish();
    profile.paused_ns = 17;
    return profile;
}

// As after the row limit was exceeded: no rows, peers by distance.
inline Profile large_profile() {
    Profile profile = halo_profile();
    profile.merged_flags = kMergedRowsDropped;
    profile.rows.clear();
    profile.peers.clear();
    profile.nodes[kRecv].totals.untimed = 1234;
    profile.distances.push_back({kRecv, 1, 3, 6000, 3 * kSecond, 0, 0, 6000 * 4096});
    profile.distances.push_back({kRecv, 3, 1, 2000, kSecond, 0, 0, 2000 * 4096});
    return profile;
}

// The paper's example (its figure 12) with probes, on two ranks of 1.48 s. p4 was reduced; main has
// a block and a marker of the user's, and calls a procedure without probes.
inline Profile probed_profile() {
    Builder b(2, "example");
    const std::string file = "/home/ada/example.c";
    const uint32_t main = b.proc("main", file, 10, 0);
    const uint32_t p1 = b.call("p1", file, 11, main, 16);
    const uint32_t p2 = b.call("p2", file, 12, main, 20);
    const uint32_t report = b.call("report", file, 13, main, 40);
    const uint32_t barrier = b.comm("MPI_Barrier", file, 41, report);
    const uint32_t block = b.add(SiteKind::kBlock, "checkpoint", "example.c", 14, main);
    const uint32_t marker = b.add(SiteKind::kMarker, "step", "", 0, main);
    for (uint32_t rank = 0; rank < 2; ++rank) {
        b.entered(main, rank, 1, 1460 * kMs);
        b.compute(main, rank, 80 * kMs);
        b.calls(barrier, rank, {1, 15 * kMs, 10 * kMs, 0, 0, 15 * kMs, 0, 0, 0});
        b.compute(report, rank, 5 * kMs);
        b.entered(block, rank, 2, 40 * kMs);
        b.compute(block, rank, 60 * kMs);
        b.totals_of(block, rank).volume = 4096;
        b.totals_of(marker, rank).count = 7;
        b.totals_of(marker, rank).volume = 70;
        b.compute(0, rank, 20 * kMs);
    }
    b.profile().nodes[marker].labels = kLabelProbed;
    // p3 as called by p1, then as called by p2: own times of p3, loop1, loop2, p4 in it and p4
    // beside it, send and receive.
    const uint64_t parts_ms[2][7] = {{30, 50, 100, 400, 100, 200, 150},
                                     {30, 10, 20, 80, 20, 20, 70}};
    for (int n = 0; n < 2; ++n) {
        const uint64_t(&ms)[7] = parts_ms[n];
        const uint32_t caller = n == 0 ? p1 : p2;
        const uint32_t p3 = b.call("p3", file, n == 0 ? 17 : 21, caller, 24);
        const uint32_t send = b.comm("MPI_Send", file, 25, p3);
        const uint32_t beside = b.call("p4", file, 26, p3, 35);
        const uint32_t loop1 = b.add(SiteKind::kLoop, "loop", file, 27, p3);
        const uint32_t receive = b.comm("MPI_Recv", file, 28, loop1);
        const uint32_t loop2 = b.add(SiteKind::kLoop, "loop", file, 29, loop1);
        const uint32_t inside = b.call("p4", file, 30, loop2, 35);
        for (uint32_t rank = 0; rank < 2; ++rank) {
            // Rank 1 receives 40 ms longer and computes 40 ms less in p4.
            const uint64_t late = 40 * rank;
            b.entered(caller, rank, 1, (n == 0 ? 1040 : 260) * kMs);
            b.compute(caller, rank, 10 * kMs);
            b.entered(p3, rank, 1, (n == 0 ? 1030 : 250) * kMs);
            b.compute(p3, rank, ms[0] * kMs);
            b.entered(loop1, rank, 1, (n == 0 ? 700 : 180) * kMs, 11);
            b.compute(loop1, rank, ms[1] * kMs);
            b.entered(loop2, rank, 10, 60 * kMs, 60);
            b.compute(loop2, rank, ms[2] * kMs);
            b.entered(inside, rank, 50, 9 * kMs);
            b.compute(inside, rank, (ms[3] - late) * kMs);
            b.totals_of(inside, rank).untimed = 40;
            b.totals_of(inside, rank).estimated_ns = 30 * kMs;
            b.entered(beside, rank, 1, 100 * kMs);
            b.compute(beside, rank, ms[4] * kMs);
            b.calls(send, rank, {1, ms[5] * kMs, 0, 800, 0, ms[5] * kMs, 0, 0, 0});
            const uint64_t receive_ms = ms[6] + late;
            b.calls(receive, rank,
                    {10, receive_ms * kMs, (receive_ms - 10) * kMs, 0, 8000, 20 * kMs, 0, 0, 0});
        }
        b.profile().nodes[inside].labels |= kLabelReduced;
    }
    b.profile().ranks[1].probes = 130;
    b.profile().ranks[1].probes_missed = 2;
    b.profile().ranks[1].probes_dropped = 3;
    b.profile().ranks[1].stalls_dropped = 2;
    b.profile().sites = {7, 5, 4, 2, {}};
    b.profile().sites.left_out = {{SiteKind::kProcedure, "tiny", file, 50, "too small"},
                                  {SiteKind::kProcedure, "report", file, 40, "not selected"},
                                  {SiteKind::kLoop, "loop", file, 52, "not selected"}};
    return b.finish();
}

// 17 ranks, 16 of them on a grid of 4 x 4: rank r at (r / 4, r % 4). Each sets up for 20 ms and
// makes 10 steps, numbered 5 to 14, but for rank 7, which was killed in its eighth. A step computes
// 10 ms, in the last column 30 ms, and waits for the rest of 31 ms in a barrier. Rank 0 writes
// output twice, for 5 ms.
inline Profile grid_profile() {
    Builder b(17, "waves");
    const uint32_t setup = b.add(SiteKind::kBlock, "setup", "", 0, 0);
    const uint32_t step = b.add(SiteKind::kBlock, "step", "", 0, 0);
    const uint32_t barrier = b.comm("MPI_Barrier", "waves.c", 53, step);
    const uint32_t output = b.add(SiteKind::kBlock, "output", "", 0, 0);
    for (const uint32_t phase : {setup, step, output}) {
        b.profile().nodes[phase].labels |= kLabelPhase;
    }
    for (uint32_t rank = 0; rank < 17; ++rank) {
        b.entered(setup, rank, 1, 20 * kMs);
        b.compute(setup, rank, 20 * kMs);
        const uint64_t steps = rank == 7 ? 8 : 10;
        const uint64_t computes = rank % 4 == 3 && rank < 16 ? 30 : 10;
        b.entered(step, rank, steps, 31 * kMs);
        b.totals_of(step, rank).min_ns = 31 * kMs;
        b.compute(step, rank, steps * computes * kMs);
        b.calls(barrier, rank,
                {steps, steps * (31 - computes) * kMs, steps * (30 - computes) * kMs, 0, 0,
                 (31 - computes) * kMs, kRecvBlocked, 0, 0});
    }
    b.entered(output, 0, 2, 5 * kMs);
    b.totals_of(output, 0).min_ns = 5 * kMs;
    b.compute(output, 0, 10 * kMs);
    b.profile().nodes[step].phase = {true, 5, 14, 12, 7};
    b.profile().nodes[output].phase = {true, 100, 200, 200, 0};
    ProfileGrid grid{"cart", false, {4, 4}, {false, true}, 16, {}};
    for (int rank = 0; rank < 16; ++rank) {
        grid.places.push_back({static_cast<uint32_t>(rank), {rank / 4, rank % 4}});
    }
    b.profile().grids = {grid,
                         {"pair", true, {2, 1, 5}, {false, false, true}, 1, {{4, {1, 0, 4}}}}};
    return b.finish();
}

// A program without MPI.
inline Profile serial_profile() {
    Builder b(1, "serial");
    const uint32_t main = b.proc("main", "serial.c", 3, 0);
    b.compute(main, 0, 1500 * kMs);
    b.profile().ranks[0].flags = kFileSerial;
    b.profile().ranks[0].state = FileState::kExited;
    return b.finish();
}

// Two ranks compute 6 s each; rank 0 writes 800 bytes in 8 calls that take 1 s, of which one fails,
// rank 1 writes 100 in one call of 3 s and reads 64 bytes in 2 calls of 1 s; what is left to 10 s
// is spent in a barrier.
inline Profile io_profile() {
    Builder b(2, "reader");
    const uint32_t main = b.proc("main", "reader.c", 3, 0);
    const uint32_t write = b.add(SiteKind::kIo, "write", "reader.c", 7, main);
    const uint32_t read = b.add(SiteKind::kIo, "read", "reader.c", 9, main);
    const uint32_t barrier = b.comm("MPI_Barrier", "reader.c", 11, main);
    for (const uint32_t rank : {0u, 1u}) b.compute(main, rank, 6000 * kMs);
    b.calls(write, 0, {8, 1000 * kMs, 0, 800, 0, 500 * kMs});
    b.calls(write, 1, {1, 3000 * kMs, 0, 100, 0, 3000 * kMs});
    b.calls(read, 1, {2, 1000 * kMs, 0, 0, 64, 600 * kMs});
    b.calls(barrier, 0, {1, 3000 * kMs, 3000 * kMs, 0, 0, 3000 * kMs, kRecvBlocked});
    Profile& profile = b.profile();
    for (const uint32_t node : {write, read}) {
        profile.nodes[node].call =
            static_cast<uint16_t>(node == write ? IoCall::kWrite : IoCall::kRead);
        for (const uint32_t rank : {0u, 1u}) {
            if (node == read && rank == 0) continue;
            Totals& totals = b.totals_of(node, rank);
            totals.unknown_waits = 0;
            std::fill(std::begin(totals.event_count), std::end(totals.event_count), 0);
            std::fill(std::begin(totals.event_ns), std::end(totals.event_ns), 0);
        }
    }
    profile.nodes[write].io_file = "/scratch/out.dat";
    profile.nodes[write].labels |= kLabelMoreFiles;
    profile.nodes[read].io_file = "/scratch/in.dat";
    return b.finish();
}

// Resource usage of the first three ranks: rank r has r + 1 times the figures of rank 0, rank 2
// read five pages from storage, the bytes of rank 1 are unknown.
inline Profile with_usage(Profile profile) {
    for (uint32_t r = 0; r < 3; ++r) {
        ProfileRank& rank = profile.ranks.at(r);
        rank.usage_ns = rank.real_ns;
        ProcessUsage& usage = rank.usage;
        usage.user_ns = (r + 1) * 1000 * kMs;
        usage.system_ns = (r + 1) * 100 * kMs;
        usage.peak_memory_bytes = (r + 1) * 1'000'000;
        usage.minor_faults = (r + 1) * 1000;
        usage.voluntary_switches = (r + 1) * 10;
        usage.involuntary_switches = r + 1;
    }
    profile.ranks[2].usage.major_faults = 5;
    profile.ranks[1].flags |= kFileNoBytes;
    for (const auto& [rank, bytes] : {std::pair{0, 2000u}, std::pair{2, 4001u}}) {
        ProcessUsage& usage = profile.ranks[static_cast<size_t>(rank)].usage;
        usage.read_bytes = bytes;
        usage.written_bytes = rank == 0 ? bytes + 1 : bytes;
        usage.reads = 3;
        usage.writes = 4;
        usage.storage_read_bytes = 4096;
        usage.storage_written_bytes = 8192;
    }
    return profile;
}

// A rank of two threads: 10 regions of a triangular loop, 90 and 250 ms, then a barrier at which
// thread 0 waits 160 ms; 12 tasks; 100 ms outside of regions, in which thread 1 is idle.
inline Profile openmp_profile() {
    Builder b(1, "triangle");
    b.profile().ranks[0].threads = 2;
    b.profile().ranks[0].threads_served = 2;
    b.profile().ranks[0].flags |= kFileSerial;
    const std::string file = "/home/ada/triangle.c";
    const uint32_t main = b.proc("main", file, 10, 0);
    const uint32_t region = b.openmp(OmpConstruct::kParallel, file, 20, main);
    const uint32_t loop = b.openmp(OmpConstruct::kLoop, file, 21, region);
    const uint32_t barrier = b.openmp(OmpConstruct::kImplicitBarrier, file, 20, region);
    const uint32_t task = b.openmp(OmpConstruct::kTask, file, 30, region);
    const uint32_t idle = b.openmp(OmpConstruct::kIdle, "", 0, 0);
    b.compute(main, 0, 100 * kMs);
    Totals& forked = b.spent(region, 0, 0, 10, 2 * kMs, 0);
    forked.created = 10;
    forked.omp_overhead_ns = 1 * kMs;
    b.spent(region, 0, 1, 10, 2 * kMs, 0);
    b.spent(loop, 0, 0, 10, 90 * kMs, 0).iterations = 80;
    b.spent(loop, 0, 1, 10, 250 * kMs, 0);
    b.spent(barrier, 0, 0, 10, 161 * kMs, 160 * kMs);
    b.spent(barrier, 0, 1, 10, 1 * kMs, 0);
    Totals& tasks = b.spent(task, 0, 0, 12, 10 * kMs, 0);
    tasks.created = 12;
    tasks.omp_start_ns = 24 * kMs;
    b.spent(idle, 0, 1, 9, 100 * kMs, 100 * kMs, true);
    b.profile().threads = {{0, 0, 1, "triangle"}, {0, 1, 40, "worker-*"}};
    return b.finish();
}

}  // namespace dwell::samples

#endif  // DWELL_TESTS_UNIT_SAMPLE_PROFILES_H_
