// Reads positions out of merged records; see positions.h.
#include "report/live/positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <tuple>

#include "report/figures/names.h"
#include "runtime/contract/mpi_calls.h"
#include "summarize/attribution/call_paths.h"
#include "summarize/model/statement_names.h"

namespace dwell {
namespace {

// Field 3 of /proc/PID/task/TID/stat.
char thread_state(int32_t pid, int32_t tid) {
    std::ifstream file(fmt::format("/proc/{}/task/{}/stat", pid, tid));
    std::string text;
    std::getline(file, text);
    const size_t name_end = text.rfind(')');
    return name_end != std::string::npos && name_end + 2 < text.size() ? text[name_end + 2] : '\0';
}

std::string place_text(const std::string& file, int line) {
    const std::string name = file.substr(file.rfind('/') + 1);
    return line == 0 ? name : fmt::format("{}:{}", name, line);
}

class Reader {
  public:
    explicit Reader(const Merged& merged) : merged_(merged), paths_(merged, &lines_) {
        for (const MergedOpen& open : merged.open) {
            if (open.is_in_call) by_comm_[comm_id(open)].push_back(&open);
        }
        for (const MergedComm& comm : merged.open_comms) members_[comm.id].push_back(&comm);
    }

    Position read(const MergedOpen& open) {
        Position position;
        position.rank = open.rank;
        position.thread = open.thread;
        position.pid = open.pid;
        position.tid = open.tid;
        position.state = open.has_ended ? '\0' : thread_state(open.pid, open.tid);
        position.end_unix_ns = open.has_ended ? open.end_unix_ns : 0;
        position.is_in_call = open.is_in_call;
        position.since_unix_ns = open.since_unix_ns;
        position.path = path_to(open.node);
        if (open.statement != kNoNode && !open.is_in_call) {
            const std::vector<std::string> path = path_to(open.statement);
            if (!path.empty()) position.last = path.back();
        }
        if (open.is_in_call) find_partners(open, &position);
        return position;
    }

  private:
    uint64_t comm_id(const MergedOpen& open) const {
        return open.comm < merged_.open_comms.size() ? merged_.open_comms[open.comm].id : 0;
    }

    // Each procedure with the line of its call.
    std::vector<std::string> path_to(uint32_t node) {
        std::vector<std::string> texts;
        if (node >= merged_.nodes.size() || node == 0) return texts;
        std::string called_at;
        for (const Step& step : paths_.path_to(node)) {
            const bool procedure = step.kind == SiteKind::kProcedure;
            if (step.kind == SiteKind::kCall) {
                const Statement& statement = paths_.statement(step.number);
                called_at = " " + place_text(statement.file, statement.line);
                continue;
            }
            if (procedure) {
                texts.push_back(short_name(paths_.procedure(step.number).name, true) + called_at);
            } else if (step.kind == SiteKind::kCommunication || step.kind == SiteKind::kIo) {
                const char* name = statement_name(step.kind, merged_.nodes[node].call);
                std::string place;
                if (step.number != kNoNode) {
                    const Statement& statement = paths_.statement(step.number);
                    place = " " + place_text(statement.file, statement.line);
                }
                texts.push_back(name + place);
            } else if (step.kind != SiteKind::kSample) {
                const Region& region = paths_.region(step.number);
                texts.push_back(region.name + " " + place_text(region.file, region.line));
            }
            called_at.clear();
        }
        return texts;
    }

    // The rank in MPI_COMM_WORLD of a rank in the caller's communicator; kNoNode: not known.
    uint32_t world_rank(const MergedOpen& open, int32_t rank) const {
        if (open.comm >= merged_.open_comms.size() || rank < 0) return kNoNode;
        const MergedComm& own = merged_.open_comms[open.comm];
        for (const MergedComm* member : members_.at(own.id)) {
            const bool addressed = !own.inter || member->side != own.side;
            if (addressed && member->own == rank) return member->rank;
        }
        return kNoNode;
    }

    std::string name_of(uint32_t rank, int32_t given) const {
        return rank != kNoNode ? fmt::format("rank {}", rank)
                               : fmt::format("rank {} of its communicator", given);
    }

    void need_rank(const MergedOpen& open, int32_t rank, Position* position) const {
        if (const uint32_t world = world_rank(open, rank); world != kNoNode) {
            position->waits.ranks.push_back(world);
        }
    }

    void need_members(const MergedOpen& open, Position* position) const {
        for (const MergedComm* member : others_of(open)) {
            position->waits.ranks.push_back(member->rank);
        }
    }

    std::vector<const MergedComm*> others_of(const MergedOpen& open) const {
        std::vector<const MergedComm*> others;
        const auto members = members_.find(comm_id(open));
        if (members == members_.end()) return others;
        for (const MergedComm* member : members->second) {
            if (member->rank != open.rank) others.push_back(member);
        }
        return others;
    }

    // The members that are not in the same collective.
    void need_missing(const MergedOpen& open, Position* position) const {
        const auto inside = by_comm_.find(comm_id(open));
        const uint16_t call = merged_.nodes[open.statement].call;
        for (const MergedComm* member : others_of(open)) {
            const bool is_here =
                inside != by_comm_.end() &&
                std::any_of(inside->second.begin(), inside->second.end(),
                            [&](const MergedOpen* other) {
                                return other->rank == member->rank &&
                                       merged_.nodes[other->statement].call == call;
                            });
            if (!is_here) position->waits.ranks.push_back(member->rank);
        }
        if (position->waits.ranks.empty()) return;
        const std::vector<uint32_t>& missing = position->waits.ranks;
        position->partner =
            fmt::format("{}, which {} not come", ranks_text({missing.begin(), missing.end()}),
                        missing.size() == 1 ? "has" : "have");
    }

    void find_partners(const MergedOpen& open, Position* position) const {
        const uint16_t call = merged_.nodes[open.statement].call;
        if (call >= kMpiCallCount) return;
        const MpiCallInfo& info = kMpiCalls[call];
        const std::string tag =
            open.tag == kAnyTag ? ", any tag" : fmt::format(", tag {}", open.tag);
        switch (info.call_class) {
            case CallClass::kReceive:
            case CallClass::kProbe:
            case CallClass::kSendReceive:
                if (open.peer == kAnyRank) {
                    position->waits.needs = Needs::kAny;
                    need_members(open, position);
                    position->partner = "any rank" + tag;
                    return;
                }
                if (open.peer == kNullRank) return;
                need_rank(open, open.peer, position);
                position->partner = name_of(world_rank(open, open.peer), open.peer) + tag;
                return;
            case CallClass::kSend:
                if (open.peer == kNullRank) return;
                need_rank(open, open.peer, position);
                position->partner = name_of(world_rank(open, open.peer), open.peer) + tag;
                return;
            case CallClass::kWait:
                position->partner =
                    fmt::format("{} request{}", open.requests, open.requests == 1 ? "" : "s");
                return;
            case CallClass::kRma:
                if (open.peer < 0) return;
                position->partner = name_of(world_rank(open, open.peer), open.peer);
                return;
            default:
                if (info.waits) need_missing(open, position);
        }
    }

    const Merged& merged_;
    LineResolver lines_;
    CallPaths paths_;
    std::map<uint64_t, std::vector<const MergedOpen*>> by_comm_;
    std::map<uint64_t, std::vector<const MergedComm*>> members_;
};

}  // namespace

std::string ranks_text(const std::set<uint32_t>& ranks) {
    std::string text = ranks.size() == 1 ? "rank" : "ranks";
    char separator = ' ';
    for (auto at = ranks.begin(); at != ranks.end();) {
        const uint32_t first = *at;
        uint32_t last = first;
        while (++at != ranks.end() && *at == last + 1) last = *at;
        text += fmt::format("{}{}", separator, first);
        if (last != first) text += fmt::format("{}{}", last == first + 1 ? ',' : '-', last);
        separator = ',';
    }
    return text;
}

Positions positions_of(const Merged& merged, const Positions* before) {
    Positions positions;
    positions.world_size = merged.world_size;
    RankReader ranks(merged.ranks);
    for (MergedRank rank; ranks.next(&rank);) {
        if (positions.program.empty()) positions.program = rank.program;
        if (positions.host.empty()) positions.host = rank.host;
        const bool first =
            positions.start_unix_ns == 0 || rank.start_unix_ns < positions.start_unix_ns;
        if (first) positions.start_unix_ns = rank.start_unix_ns;
        if (rank.state != static_cast<uint32_t>(FileState::kRunning)) {
            positions.gone.insert(rank.rank);
        }
    }
    Reader reader(merged);
    for (const MergedOpen& open : merged.open) positions.threads.push_back(reader.read(open));
    std::stable_sort(positions.threads.begin(), positions.threads.end(),
                     [](const Position& a, const Position& b) {
                         return std::tie(a.rank, a.thread) < std::tie(b.rank, b.thread);
                     });
    for (Position& position : positions.threads) {
        if (position.state == '\0' && position.thread == 0) positions.gone.insert(position.rank);
        if (before == nullptr) continue;
        const auto same = std::find_if(
            before->threads.begin(), before->threads.end(), [&](const Position& earlier) {
                return earlier.rank == position.rank && earlier.thread == position.thread;
            });
        position.moved = same == before->threads.end() ||
                         same->since_unix_ns != position.since_unix_ns ||
                         same->path != position.path;
    }
    return positions;
}

std::map<uint32_t, WaitsFor> waits_of(const Positions& positions) {
    std::map<uint32_t, WaitsFor> waits;
    for (const Position& position : positions.threads) {
        if (position.is_in_call && position.thread == 0) waits[position.rank] = position.waits;
    }
    return waits;
}

}  // namespace dwell
