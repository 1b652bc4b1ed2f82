// Members of communicators within one process, standing for processes: each publishes its enter
// stamp, and one classifies its call.
#ifndef DWELL_TESTS_UNIT_COLLECTIVE_MEMBERS_H_
#define DWELL_TESTS_UNIT_COLLECTIVE_MEMBERS_H_

#include <map>
#include <vector>

#include "runtime/waitstates/collectives.h"
#include "tests/unit/support/recording.h"

namespace dwell {

class Collectives : public Records {
  protected:
    // The classified rank enters at kEntered and leaves at kLeft; it has lost 400 before.
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
        for (const auto& [rank, definition] : joined) release_table(definition.table);
        Records::TearDown();
    }

    CommDefinition* member(int rank, bool inter = false, uint8_t side = 0) {
        static uint64_t id = 0;
        if (joined.empty()) ++id;
        CommDefinition definition{};
        definition.id = 5000 + id;
        definition.members = kRanks;
        definition.size = inter ? kRanks / 2 : kRanks;
        definition.rank = rank;
        definition.inter = inter;
        definition.side = side;
        const int key = rank + kRanks * side;
        joined[key] = definition;
        g_process.header->rank = 100 + key;
        table_of(t_thread, &joined[key]);
        return &joined[key];
    }
    // The rank entered instance 1 at `real`, having lost `lost`.
    static void enter(const CommDefinition* definition, uint64_t real, uint64_t lost,
                      uint32_t number = 1) {
        const CollectiveTable* table = definition->table;
        write_slot(slot_at(table, number % kGenerations, table->own), number,
                   static_cast<uint32_t>(kCall), {{real, real - lost}, 77, kNoPeer, 0, 0});
    }
    struct Classified {
        uint64_t ticks;
        uint64_t sync;
        uint32_t unknown;
        uint32_t peer;
        uint32_t estimated;
    };
    Classified classify(CommDefinition* definition, const Depends& depends) {
        Call call;
        begin_at_virtual(&call);
        classify_collective(&call, {definition, definition->table, kCall, 1, false}, depends);
        return figures(&call);
    }
    // A request started as instance 1 and waited for at once.
    Classified classify_request(CommDefinition* definition, const Depends& depends) {
        Call call;
        Request content{};
        begin_at_virtual(&call);
        keep_collective(&call, {definition, definition->table, kCall, 1, false}, depends, &content);
        Waiting waiting(&call);
        add_collective_to(&waiting, content);
        waiting.classify(&call, false);
        if (content.table != nullptr) release_table(content.table);
        return figures(&call);
    }
    // As the wrapper does, by the handle.
    EnteredCollective enter_named(Call* call, CommDefinition* definition, Dependence rule,
                                  int root) {
        CommDefinition* known = find_definition(definition->handle);
        if (known == nullptr) {
            define_first_comms(kRanks);
            known = find_definition(reinterpret_cast<uintptr_t>(g_mpi.comm_world));
            known->table = definition->table;
            definition->handle = known->handle;
            hold_table(definition->table);
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
    Classified figures(Call* call) {
        Classified classified{call->ticks, call->part->sync_ticks, 0, kNoPeer, 0};
        if (call->part->wait != 0) {
            const auto* wait = cell_at<WaitPart>(call->part->wait);
            classified.unknown = wait->unknown;
            classified.estimated = wait->estimated;
            if (classified.sync != 0) {
                classified.peer = cell_at<WaitPeerRecord>(wait->last_partner)->peer;
            }
        }
        record_event(call, kSendReady);
        leave(call);
        return classified;
    }

    std::map<int, CommDefinition> joined;
};

inline constexpr Depends kOnAll{Dependence::kAll, 0, nullptr};

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_COLLECTIVE_MEMBERS_H_
