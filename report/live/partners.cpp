// Reads partners out of open statements, requests, communicators and locks; see partners.h.
#include "report/live/partners.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "runtime/contract/mpi_calls.h"
#include "runtime/contract/omp_constructs.h"

namespace dwell {
namespace {

std::string tag_text(int32_t tag) {
    return tag == kAnyTag ? "any tag" : fmt::format("tag {}", tag);
}

std::set<uint32_t> set_of(const std::vector<uint32_t>& ranks) {
    return {ranks.begin(), ranks.end()};
}

std::string whose_text(const std::vector<uint32_t>& ranks, const char* one, const char* many) {
    return fmt::format("{}, which {}", ranks_text(set_of(ranks)), ranks.size() == 1 ? one : many);
}

// Only such calls say for whom they wait.
bool blocks(std::string_view name) {
    const bool starts = name.starts_with("MPI_Ineighbor") ||
                        (name.starts_with("MPI_I") && !name.starts_with("MPI_In"));
    return !starts && !name.starts_with("MPI_Start") && !name.ends_with("_init") &&
           name != "MPI_Mrecv";
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool gathers(std::string_view name) {
    return is_one_of(name, {"MPI_Reduce", "MPI_Gather", "MPI_Gatherv", "MPI_Ireduce", "MPI_Igather",
                            "MPI_Igatherv"});
}

bool spreads(std::string_view name) {
    return is_one_of(name, {"MPI_Bcast", "MPI_Scatter", "MPI_Scatterv", "MPI_Ibcast",
                            "MPI_Iscatter", "MPI_Iscatterv"});
}

bool needs_some(std::string_view name) {
    return is_one_of(name, {"MPI_Scan", "MPI_Exscan", "MPI_Iscan", "MPI_Iexscan"}) ||
           name.starts_with("MPI_Neighbor") || name.starts_with("MPI_Ineighbor");
}

}  // namespace

Partners::Partners(const Merged& merged, std::function<std::string(const MergedLock&)> place_of)
    : merged_(merged), place_of_(std::move(place_of)) {
    for (const MergedComm& comm : merged.open_comms) {
        comms_[{comm.rank, comm.handle}] = &comm;
        members_[comm.id].push_back(&comm);
    }
    for (const MergedOpen& open : merged.open) {
        if (open.is_in_call) in_call_[open.rank].push_back(&open);
    }
    for (const MergedRequest& request : merged.open_requests) {
        requests_[request.rank].push_back(&request);
    }
    RankReader ranks(merged.ranks);
    for (MergedRank rank{}; ranks.next(&rank);) {
        if (rank.state != static_cast<uint32_t>(FileState::kRunning)) ended_.insert(rank.rank);
    }
    for (const MergedComm& comm : merged.open_comms) ended_.erase(comm.rank);
    for (const MergedLock& lock : merged.open_locks) {
        if (!lock.held) wanted_[{lock.rank, lock.thread}] = &lock;
    }
}

const MergedComm* Partners::comm_of(uint32_t rank, uint64_t handle) const {
    const auto found = comms_.find({rank, handle});
    return found != comms_.end() ? found->second : nullptr;
}

// The rank in MPI_COMM_WORLD of a rank in the communicator; kNoNode: not known.
uint32_t Partners::world_rank(const MergedComm* comm, int32_t rank) const {
    if (comm == nullptr || rank < 0) return kNoNode;
    if (comm->id == kWorldId) return static_cast<uint32_t>(rank);
    for (const MergedComm* member : members_.at(comm->id)) {
        const bool addressed = !comm->inter || member->side != comm->side;
        if (addressed && member->own == rank) return member->rank;
    }
    return kNoNode;
}

// Empty for MPI_COMM_WORLD, and where it is not known.
std::string Partners::comm_text(const MergedComm* comm) const {
    if (comm == nullptr || comm->id == kWorldId) return "";
    const char* kind = comm->inter ? "an inter-communicator" : "a communicator";
    std::set<uint32_t> ranks;
    for (const MergedComm* member : members_.at(comm->id)) ranks.insert(member->rank);
    if (ranks.size() < comm->members) {
        return fmt::format(", in {} of {} ranks", kind, comm->members);
    }
    return ranks.size() == merged_.world_size
               ? fmt::format(", in {} of its own of all ranks", kind)
               : fmt::format(", in {} of {}", kind, ranks_text(ranks));
}

std::string Partners::partner_text(uint32_t caller, uint64_t handle, int32_t peer) const {
    const MergedComm* comm = comm_of(caller, handle);
    if (peer == kAnyRank) return "any rank";
    if (peer == kNullRank) return "nobody (MPI_PROC_NULL)";
    const uint32_t rank = world_rank(comm, peer);
    return rank != kNoNode ? fmt::format("rank {}", rank)
                           : fmt::format("rank {} of its communicator", peer);
}

std::vector<const MergedComm*> Partners::others_of(const MergedComm& comm) const {
    std::vector<const MergedComm*> others;
    for (const MergedComm* member : members_.at(comm.id)) {
        if (member->rank != comm.rank) others.push_back(member);
    }
    return others;
}

void Partners::need_peer(const MergedOpen& open, int32_t peer, WaitsFor* waits) const {
    const MergedComm* comm = comm_of(open.rank, open.handle);
    if (peer == kAnyRank) {
        // Ranks that are not known here may send as well.
        if (comm == nullptr || members_.at(comm->id).size() < comm->members) return;
        waits->needs = Needs::kAny;
        for (const MergedComm* member : others_of(*comm)) waits->ranks.push_back(member->rank);
        return;
    }
    const uint32_t rank = world_rank(comm, peer);
    if (rank != kNoNode && rank != open.rank) waits->ranks.push_back(rank);
}

AwaitedMessage Partners::message_of(uint32_t caller, uint64_t handle, int32_t peer,
                                    int32_t tag) const {
    const MergedComm* comm = comm_of(caller, handle);
    AwaitedMessage message;
    message.partner = world_rank(comm, peer);
    message.tag = tag;
    message.comm = comm != nullptr ? comm->id : 0;
    message.text = partner_text(caller, handle, peer) + ", " + tag_text(tag) + comm_text(comm);
    return message;
}

void Partners::find_message(const MergedOpen& open, Position* position) const {
    if (open.peer == kNullRank) return;
    need_peer(open, open.peer, &position->waits);
    AwaitedMessage message = message_of(open.rank, open.handle, open.peer, open.tag);
    position->partner = message.text;
    message.is_send = kMpiCalls[merged_.nodes[open.statement].call].call_class == CallClass::kSend;
    if (message.partner != kNoNode) position->messages.push_back(std::move(message));
}

std::string Partners::request_text(const MergedRequest& request) const {
    switch (static_cast<RequestKind>(request.kind)) {
        case kSendRequest:
        case kReceiveRequest:
            return (request.kind == kSendRequest ? "send to " : "receive from ") +
                   message_of(request.rank, request.comm, request.peer, request.tag).text;
        case kCollectiveRequest: {
            const Gathering* gathering = gathering_of(request);
            if (gathering == nullptr) {
                return "collective" + comm_text(comm_of(request.rank, request.comm));
            }
            const char* name = kMpiCalls[request.peer].name;
            return gathering->text.empty() ? name
                                           : fmt::format("{} with {}", name, gathering->text);
        }
        case kRmaRequest:
            return "one-sided access";
        case kFileReadRequest:
            return "read from a file";
        case kFileWriteRequest:
            return "write to a file";
        default:
            return "request of the program's own";
    }
}

void Partners::name_pending(const std::vector<const MergedRequest*>& pending,
                            Position* position) const {
    position->pending = static_cast<uint32_t>(pending.size());
    for (const MergedRequest* one : pending) {
        if (position->requests.size() == kRequestsNamed) break;
        position->requests.push_back(request_text(*one));
    }
}

std::vector<const MergedRequest*> Partners::pending_of(uint32_t rank) const {
    const auto found = requests_.find(rank);
    std::vector<const MergedRequest*> pending;
    if (found == requests_.end()) return pending;
    std::copy_if(found->second.begin(), found->second.end(), std::back_inserter(pending),
                 [](const MergedRequest* one) { return one->kind != kMessageHandle; });
    return pending;
}

// Of a wait for some requests it is known which they are if it was for one, if they were marked
// when it began to block (MPI_Waitall), or if there are no others.
// Of tests in a row any pending one may be tested.
void Partners::find_requests(const MergedOpen& open, Position* position) const {
    const MpiCallInfo& call = kMpiCalls[merged_.nodes[open.statement].call];
    const bool all = std::string_view(call.name) == "MPI_Waitall";
    const bool tests = call.call_class == CallClass::kTest;
    const uint32_t count = tests ? 1 : open.requests;
    std::vector<const MergedRequest*> pending = pending_of(open.rank);
    const auto keep = [&](auto&& wanted) {
        pending.erase(std::remove_if(pending.begin(), pending.end(),
                                     [&](const MergedRequest* one) { return !wanted(*one); }),
                      pending.end());
    };
    const bool single = !tests && open.requests == 1 && open.request != 0;
    const bool marked =
        all && std::any_of(pending.begin(), pending.end(),
                           [](const MergedRequest* one) { return one->awaited == kAwaited; });
    if (single) keep([&](const MergedRequest& one) { return one.handle == open.request; });
    if (marked) keep([](const MergedRequest& one) { return one.awaited == kAwaited; });
    const bool exact = single || marked || pending.size() <= count;
    name_pending(pending, position);
    position->partner = fmt::format("{} request{}", count, count == 1 ? "" : "s");
    if (!exact) {
        position->partner += fmt::format(", among {} that its process has pending", pending.size());
    } else if (pending.size() < count && !pending.empty()) {
        position->partner += fmt::format(", {} of them pending", pending.size());
    }
    const bool needs_each = exact && (all || pending.size() == 1);
    WaitsFor waits;
    waits.needs = Needs::kAny;
    for (const MergedRequest* one : pending) {
        if (!needs_each) break;
        if (one->kind != kSendRequest && one->kind != kReceiveRequest) continue;
        AwaitedMessage message = message_of(one->rank, one->comm, one->peer, one->tag);
        message.is_send = one->kind == kSendRequest;
        message.is_request = true;
        if (message.partner != kNoNode) position->messages.push_back(std::move(message));
    }
    for (const MergedRequest* one : pending) {
        MergedOpen as_open = open;
        as_open.handle = one->comm;
        WaitsFor of_one;
        const bool message = one->kind == kSendRequest || one->kind == kReceiveRequest;
        if (message) need_peer(as_open, one->peer, &of_one);
        if (const Gathering* gathering = gathering_of(*one)) {
            need_members(*gathering, kMpiCalls[one->peer].name, kNoNode, false, &of_one);
        }
        if (of_one.ranks.empty()) return;  // may complete in a way that is not known
        if (pending.size() == 1 && exact) {
            waits = std::move(of_one);
        } else {
            waits.ranks.insert(waits.ranks.end(), of_one.ranks.begin(), of_one.ranks.end());
        }
    }
    const auto process =
        std::find_if(merged_.processes.begin(), merged_.processes.end(),
                     [&](const MergedProcess& one) { return one.rank == open.rank; });
    const bool seen = process != merged_.processes.end() && process->requests_unseen == 0 &&
                      process->requests <= kRequestsShown;
    if (seen || single) position->waits = waits;
}

// The open collective of the process on that communicator, or null.
const MergedOpen* Partners::collective_of(uint32_t rank, uint64_t comm_id) const {
    const auto inside = in_call_.find(rank);
    if (inside == in_call_.end()) return nullptr;
    for (const MergedOpen* open : inside->second) {
        const uint16_t call = merged_.nodes[open->statement].call;
        const MergedComm* comm = comm_of(rank, open->handle);
        const bool waits = call < kMpiCallCount && kMpiCalls[call].waits;
        if (waits && comm != nullptr && comm->id == comm_id) return open;
    }
    return nullptr;
}

// What members must agree on: "MPI_Barrier", "MPI_Bcast with root 1".
std::string Partners::collective_text(const MergedComm& comm, const MergedOpen& open) const {
    const char* name = kMpiCalls[merged_.nodes[open.statement].call].name;
    if (comm.inter || open.peer < 0 || !(gathers(name) || spreads(name))) return name;
    return fmt::format("{} with root {}", name, open.peer);
}

// The member's pending collective of that number, or null.
const MergedRequest* Partners::started_by(const MergedComm& member, uint32_t number) const {
    const auto found = requests_.find(member.rank);
    if (found == requests_.end() || number == 0) return nullptr;
    for (const MergedRequest* one : found->second) {
        const bool same = one->kind == kCollectiveRequest && one->comm == member.handle &&
                          static_cast<uint32_t>(one->tag) == number;
        if (same && one->peer > 0 && one->peer < kMpiCallCount) return one;
    }
    return nullptr;
}

// Null where the request is of another kind, or its place in the order is not known.
const Partners::Gathering* Partners::gathering_of(const MergedRequest& request) const {
    const MergedComm* own = comm_of(request.rank, request.comm);
    const auto number = static_cast<uint32_t>(request.tag);
    const bool known = request.kind == kCollectiveRequest && own != nullptr && number != 0 &&
                       request.peer > 0 && request.peer < kMpiCallCount;
    if (!known) return nullptr;
    const auto call = static_cast<uint16_t>(request.peer);
    return &gathering_of(*own, number, call, kMpiCalls[call].name);
}

// A member that has entered as many collectives of the communicator has come, and perhaps left
// again; a root may leave first. All members in one collective look for the same.
const Partners::Gathering& Partners::gathering_of(const MergedComm& own, uint32_t number,
                                                  uint16_t call, const std::string& here) const {
    const auto [at, is_new] = gatherings_.try_emplace({own.id, number, here});
    Gathering& gathering = at->second;
    if (!is_new) return gathering;
    for (const MergedComm* member : members_.at(own.id)) {
        const MergedOpen* inside = collective_of(member->rank, own.id);
        const std::string there = inside != nullptr ? collective_text(*member, *inside) : "";
        const bool has_come = number != 0 ? member->entered >= number : there == here;
        if (!has_come) {
            gathering.missing.push_back(member->rank);
        } else if (there != here && !there.empty() && member->entered == number) {
            const uint16_t other = merged_.nodes[inside->statement].call;
            const char* name = kMpiCalls[other].name;
            gathering.elsewhere[other == call ? there : name].push_back(member->rank);
        } else if (const MergedRequest* started = started_by(*member, number)) {
            if (started->peer != call) {
                gathering.elsewhere[kMpiCalls[started->peer].name].push_back(member->rank);
            }
        }
    }
    if (own.id == kWorldId) {
        gathering.missing.insert(gathering.missing.end(), ended_.begin(), ended_.end());
        std::sort(gathering.missing.begin(), gathering.missing.end());
    }
    for (const auto& [name, ranks] : gathering.elsewhere) {
        gathering.text += gathering.text.empty() ? "" : " and ";
        gathering.text += whose_text(ranks, "is", "are") + " in " + name;
    }
    if (!gathering.text.empty()) {
        gathering.text += " instead";
    } else if (!gathering.missing.empty()) {
        gathering.text = whose_text(gathering.missing, "has not come", "have not come");
    }
    if (!gathering.text.empty()) gathering.text += comm_text(&own);
    return gathering;
}

// `root`: kNoNode where it is not known. `is_root`: the caller is known to be the root.
void Partners::need_members(const Gathering& gathering, std::string_view name, uint32_t root,
                            bool is_root, WaitsFor* waits) {
    for (const auto& [other, ranks] : gathering.elsewhere) {
        waits->ranks.insert(waits->ranks.end(), ranks.begin(), ranks.end());
    }
    std::sort(waits->ranks.begin(), waits->ranks.end());
    if (!waits->ranks.empty()) return;
    waits->ranks = gathering.missing;
    // Other members may pass data on, so it is not known which of them is needed.
    if (!spreads(name) && !needs_some(name) && (is_root || !gathers(name))) return;
    waits->needs = Needs::kAny;
    const std::vector<uint32_t>& missing = gathering.missing;
    const bool lacks_root = std::find(missing.begin(), missing.end(), root) != missing.end();
    if (lacks_root && spreads(name)) waits->sure = {root};
}

void Partners::find_collective(const MergedOpen& open, uint16_t call, Position* position) const {
    const MergedComm* own = comm_of(open.rank, open.handle);
    if (own == nullptr) return;
    const Gathering& gathering =
        gathering_of(*own, own->entered, call, collective_text(*own, open));
    position->partner = gathering.text;
    const uint32_t root = own->inter ? kNoNode : world_rank(own, open.peer);
    need_members(gathering, kMpiCalls[call].name, root, root == open.rank, &position->waits);
}

void Partners::find_window_lock(const MergedOpen& open, Position* position) const {
    const MergedComm* own = comm_of(open.rank, open.handle);
    const std::string target =
        open.peer >= 0 ? partner_text(open.rank, open.handle, open.peer) : std::string("all ranks");
    position->partner = "the lock of " + target;
    for (const MergedLock& lock : merged_.open_locks) {
        const MergedComm* comm = lock.held ? comm_of(lock.rank, lock.what) : nullptr;
        if (comm == nullptr || own == nullptr || comm->id != own->id || lock.rank == open.rank) {
            continue;
        }
        if (lock.target != kAnyRank && open.peer >= 0 && lock.target != open.peer) continue;
        position->waits.ranks.push_back(lock.rank);
    }
    if (position->waits.ranks.empty()) return;
    position->waits_for_holder = true;
    position->partner =
        whose_text(position->waits.ranks, "holds", "hold") + " the lock of " + target;
}

void Partners::find_lock(const MergedLock& wanted, Position* position) const {
    const char* what =
        wanted.construct == static_cast<uint8_t>(OmpConstruct::kCritical) ? "the critical section"
        : wanted.construct == static_cast<uint8_t>(OmpConstruct::kAtomic) ? "the atomic section"
                                                                          : "the lock";
    position->partner = what;
    for (const MergedLock& lock : merged_.open_locks) {
        if (!lock.held || lock.rank != wanted.rank || lock.what != wanted.what) continue;
        if (lock.node != kNoNode) continue;  // a window's
        position->waits.threads.push_back(lock.thread);
        position->waits_for_holder = true;
        const std::string place = place_of_(lock);
        position->partner = lock.thread == wanted.thread
                                ? fmt::format("{} that it holds itself", what)
                                : fmt::format("thread {}, which holds {}", lock.thread, what);
        if (!place.empty()) position->partner += " since " + place;
        return;
    }
}

const MergedLock* Partners::wanted_by(const MergedOpen& open) const {
    const auto found = wanted_.find({open.rank, open.thread});
    return found != wanted_.end() ? found->second : nullptr;
}

void Partners::find(const MergedOpen& open, bool polls, Position* position) const {
    const MergedLock* wanted = open.is_in_call ? nullptr : wanted_by(open);
    if (wanted != nullptr) find_lock(*wanted, position);
    const uint16_t call = open.statement != kNoNode ? merged_.nodes[open.statement].call : 0;
    if (wanted != nullptr || call >= kMpiCallCount) return;
    const MpiCallInfo& info = kMpiCalls[call];
    if (info.call_class == CallClass::kTest) {
        if (polls) {
            find_requests(open, position);
        } else {
            name_pending(pending_of(open.rank), position);  // perhaps between two tests
        }
        return;
    }
    if (!open.is_in_call) return;
    const std::string_view name = info.name;
    if (!blocks(name)) return;
    switch (info.call_class) {
        case CallClass::kSendReceive:
            find_message(open, position);
            if (open.destination != kNullRank && open.destination != open.peer) {
                position->partner += fmt::format(
                    ", and to send to {}", partner_text(open.rank, open.handle, open.destination));
                // It may have received already, or sent.
                need_peer(open, open.destination, &position->waits);
                position->waits.needs = Needs::kAny;
            }
            return;
        case CallClass::kReceive:
        case CallClass::kProbe:
        case CallClass::kSend:
            find_message(open, position);
            return;
        case CallClass::kWait:
            find_requests(open, position);
            return;
        case CallClass::kRma:
            if (is_one_of(name, {"MPI_Win_lock", "MPI_Win_lock_all", "MPI_Win_unlock",
                                 "MPI_Win_unlock_all", "MPI_Win_flush", "MPI_Win_flush_all"})) {
                find_window_lock(open, position);
            } else if (is_one_of(name, {"MPI_Win_fence", "MPI_Win_free", "MPI_Win_create"})) {
                find_collective(open, call, position);
            }
            return;
        default:
            if (info.waits) find_collective(open, call, position);
    }
}

}  // namespace dwell
