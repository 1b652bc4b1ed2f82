// Members of communicators, of one process, that stand for processes: each writes when it entered,
// and one settles.
#ifndef DWELL_TESTS_UNIT_MEETING_MEMBERS_H_
#define DWELL_TESTS_UNIT_MEETING_MEMBERS_H_

#include <map>
#include <vector>

#include "runtime/waitstates/collectives.h"
#include "tests/unit/support/recording.h"

namespace dwell {

class Collectives : public Records {
  protected:
    // The rank that settles enters at kEntered and leaves at kLeft; what it lost before is 400.
    static constexpr uint64_t kEntered = 10'000;
    static constexpr uint64_t kLost = 400;
    static constexpr uint64_t kLeft = 20'000;
    static constexpr int kRanks = 4;
    static constexpr MpiCall kCall = MpiCall::kAllreduce;

    void SetUp() override {
        Records::SetUp();
        strcpy(g_process.record_dir, directory_.c_str());
        static bool opened = open_exchange(kRanks) && open_channels(kRanks);
        if (!opened) GTEST_SKIP() << "no invariant TSC";
        unlink_exchange();
        g_process.header->world_size = kRanks;
        g_mpi.comm_world = reinterpret_cast<MPI_Comm>(uintptr_t{64});
        g_mpi.comm_self = reinterpret_cast<MPI_Comm>(uintptr_t{128});
    }
    void TearDown() override {
        for (const auto& [rank, name] : joined) release_table(name.table);
        Records::TearDown();
    }

    CommDefinition* member(int rank, bool inter = false, uint8_t side = 0) {
        static uint64_t id = 0;
        if (joined.empty()) ++id;
        CommDefinition name{};
        name.id = 5000 + id;
        name.members = kRanks;
        name.size = inter ? kRanks / 2 : kRanks;
        name.rank = rank;
        name.inter = inter;
        name.side = side;
        const int key = rank + kRanks * side;
        joined[key] = name;
        g_process.header->rank = 100 + key;
        table_of(t_thread, &joined[key]);
        return &joined[key];
    }
    // It entered collective number 1 at `real`, having lost `lost` to observation.
    static void says(const CommDefinition* name, uint64_t real, uint64_t lost,
                     uint32_t number = 1) {
        const CollectiveTable* table = name->table;
        write_slot(slot_at(table, number % kGenerations, table->own), number,
                   static_cast<uint32_t>(kCall), {{real, real - lost}, 77, kNoPeer, 0, 0});
    }
    struct Settled {
        uint64_t ticks;
        uint64_t sync;
        uint32_t unknown;
        uint32_t peer;
        uint32_t estimated;
    };
    Settled classify(CommDefinition* name, const Depends& depends) {
        Call call;
        begin_at_virtual(&call);
        classify_collective(&call, {name, name->table, kCall, 1, false}, depends);
        return figures(&call);
    }
    // A request that was posted as collective number 1, and waited for at the same time.
    Settled classify_request(CommDefinition* name, const Depends& depends) {
        Call call;
        Request content{};
        begin_at_virtual(&call);
        keep_collective(&call, {name, name->table, kCall, 1, false}, depends, &content);
        Waiting waiting(&call);
        add_collective_to(&waiting, content);
        waiting.classify(&call, false);
        if (content.table != nullptr) release_table(content.table);
        return figures(&call);
    }
    // As its wrapper does, by the handle.
    EnteredCollective enter_named(Call* call, CommDefinition* name, Dependence rule, int root) {
        CommDefinition* known = find_name(name->handle);
        if (known == nullptr) {
            name_first_comms(kRanks);
            known = find_name(reinterpret_cast<uintptr_t>(g_mpi.comm_world));
            known->table = name->table;
            name->handle = known->handle;
            hold_table(name->table);
        }
        return enter_collective(call, kCall, known->handle, rule, root);
    }
    void begin_at_virtual(Call* call) {
        forget();
        ASSERT_TRUE(begin(call, kCall, 100));
        t_thread->slow_overhead = 0;
        g_process.call_cost_ticks = 0;
        t_thread->record->intrusion_ticks = kLost;
        t_thread->last_ticks = kEntered;
        call->start_ticks = kEntered;
        call->end_ticks = kLeft;
        call->ticks = kLeft - kEntered;
    }
    Settled figures(Call* call) {
        Settled settled{call->ticks, call->part->sync_ticks, 0, kNoPeer, 0};
        if (call->part->wait != 0) {
            const auto* wait = cell_at<WaitPart>(call->part->wait);
            settled.unknown = wait->unknown;
            settled.estimated = wait->estimated;
            if (settled.sync != 0) {
                settled.peer = cell_at<WaitPeerRecord>(wait->last_partner)->peer;
            }
        }
        record_event(call, kSendReady);
        leave(call);
        return settled;
    }

    std::map<int, CommDefinition> joined;
};

inline constexpr Depends kOnAll{Dependence::kAll, 0, nullptr};

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_MEETING_MEMBERS_H_
