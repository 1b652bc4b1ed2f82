// Whom the threads of a job wait for: partners of messages, members that have not come to a
// collective, holders of locks.
#ifndef DWELL_REPORT_LIVE_PARTNERS_H_
#define DWELL_REPORT_LIVE_PARTNERS_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "report/live/positions.h"
#include "summarize/merge/merged.h"

namespace dwell {

class Partners {
  public:
    // `place_of`: the source line of a lock's statement.
    Partners(const Merged& merged, std::function<std::string(const MergedLock&)> place_of);

    // Fills what `position`, that of `open`, says about its partners. `polls`: its thread does
    // nothing but test requests.
    void find(const MergedOpen& open, bool polls, Position* position) const;

    // The lock that the thread waits for, or null.
    const MergedLock* wanted_by(const MergedOpen& open) const;

  private:
    const MergedComm* comm_of(uint32_t rank, uint64_t handle) const;
    uint32_t world_rank(const MergedComm* comm, int32_t rank) const;
    std::string partner_text(uint32_t caller, uint64_t handle, int32_t peer) const;
    std::string comm_text(const MergedComm* comm) const;
    std::vector<const MergedComm*> others_of(const MergedComm& comm) const;
    void need_peer(const MergedOpen& open, int32_t peer, WaitsFor* waits) const;
    AwaitedMessage message_of(uint32_t caller, uint64_t handle, int32_t peer, int32_t tag) const;
    void find_message(const MergedOpen& open, Position* position) const;
    void find_requests(const MergedOpen& open, Position* position) const;
    std::vector<const MergedRequest*> pending_of(uint32_t rank) const;
    void name_pending(const std::vector<const MergedRequest*>& pending, Position* position) const;
    std::string request_text(const MergedRequest& request) const;
    // What the members of a communicator that are in one collective wait for.
    struct Gathering {
        std::vector<uint32_t> missing;
        std::map<std::string, std::vector<uint32_t>> elsewhere;  // by collective_text()
        std::string text;
    };
    std::string collective_text(const MergedComm& comm, const MergedOpen& open) const;
    const MergedOpen* collective_of(uint32_t rank, uint64_t comm_id) const;
    const Gathering& gathering_of(const MergedComm& own, uint32_t number, uint16_t call,
                                  const std::string& here) const;
    const Gathering* gathering_of(const MergedRequest& request) const;
    const MergedRequest* started_by(const MergedComm& member, uint32_t number) const;
    static void need_members(const Gathering& gathering, std::string_view name, uint32_t root,
                             bool is_root, WaitsFor* waits);
    void find_collective(const MergedOpen& open, uint16_t call, Position* position) const;
    void find_window_lock(const MergedOpen& open, Position* position) const;
    void find_lock(const MergedLock& wanted, Position* position) const;

    const Merged& merged_;
    std::function<std::string(const MergedLock&)> place_of_;
    std::map<std::pair<uint32_t, uint64_t>, const MergedComm*> comms_;   // by rank and handle
    std::map<uint64_t, std::vector<const MergedComm*>> members_;         // by id
    std::map<uint32_t, std::vector<const MergedOpen*>> in_call_;         // by rank
    std::map<uint32_t, std::vector<const MergedRequest*>> requests_;     // by rank
    std::map<std::pair<uint32_t, uint32_t>, const MergedLock*> wanted_;  // by rank and thread
    std::set<uint32_t> ended_;  // ranks of this host, of which no communicator is known any more
    // By communicator, number of its collectives, and collective_text().
    mutable std::map<std::tuple<uint64_t, uint32_t, std::string>, Gathering> gatherings_;
};

}  // namespace dwell

#endif  // DWELL_REPORT_LIVE_PARTNERS_H_
