// Counts messages of a pair of ranks over all communication nodes of two record files; see
// traffic.h.
#include "report/live/traffic.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <vector>

#include "runtime/contract/mpi_calls.h"

namespace dwell {
namespace {

constexpr size_t kMostFindings = 64;

// Of one process with one other rank.
class Counts {
  public:
    Counts(const MappedRecords& records, uint32_t peer) : records_(records), peer_(peer) {
        const FileHeader& header = records.header();
        known_ = header.magic == kRecordMagic && header.version == kRecordLayoutVersion &&
                 header.reset_ticks == 0 && header.paused_since == 0 &&
                 (header.flags & kFileFull) == 0;
        uint64_t left = records.bytes() / kCellBytes;  // a damaged list may be a circle
        ThreadRecord thread;
        for (CellIndex at = header.first_thread; known_ && at != 0 && left-- > 0;
             at = thread.next) {
            known_ = load(at, &thread) && thread.dropped == 0 && thread.paused_ticks == 0 &&
                     thread.guessed == 0;
            if (known_) add_tree(thread.root);
        }
    }
    bool known() const { return known_; }
    uint64_t sent() const { return sent_; }
    uint64_t received() const { return received_; }

  private:
    template <typename T>
    bool load(CellIndex cell, T* record) const {
        const size_t at = size_t{cell} * kCellBytes;
        if (cell == 0 || at > records_.bytes() || records_.bytes() - at < sizeof(T)) return false;
        memcpy(record, records_.data() + at, sizeof(T));
        return true;
    }

    void add_tree(CellIndex root) {
        std::vector<CellIndex> nodes{root};
        uint64_t left = records_.bytes() / kCellBytes;
        while (!nodes.empty() && left-- > 0) {
            Node node;
            const bool there = load(nodes.back(), &node);
            nodes.pop_back();
            if (!there) continue;
            if (node.site.kind == SiteKind::kInterval) {
                if (node.next_sibling != 0) nodes.push_back(node.next_sibling);
                continue;
            }
            if (node.site.kind == SiteKind::kCommunication) add_node(node);
            if (node.first_child != 0) nodes.push_back(node.first_child);
            if (node.next_sibling != 0) nodes.push_back(node.next_sibling);
        }
    }

    void add_node(const Node& node) {
        CommPart part;
        if (node.site.call >= kMpiCallCount || !load(node.part, &part)) return;
        const MpiCallInfo& call = kMpiCalls[node.site.call];
        const bool starts = strncmp(call.name, "MPI_Start", 9) == 0;
        const bool sends = call.call_class == CallClass::kSend || starts;
        const bool receives =
            !sends && (call.call_class == CallClass::kReceive ||
                       call.call_class == CallClass::kWait || call.call_class == CallClass::kTest);
        const bool both = call.call_class == CallClass::kSendReceive;
        if (!sends && !receives && !both) return;
        known_ = known_ && part.folded_peers == 0 && part.failed == 0;
        TrafficPeerRecord record;
        uint64_t left = part.peer_count;
        for (CellIndex at = part.first_peer; left-- > 0 && load(at, &record); at = record.next) {
            if (record.peer != peer_ || record.count == 0) continue;
            if (both) known_ = false;  // its messages in both directions are one count
            (sends ? sent_ : received_) += record.count;
        }
    }

    const MappedRecords& records_;
    uint32_t peer_;
    bool known_ = false;
    uint64_t sent_ = 0;
    uint64_t received_ = 0;
};

// The rank whose message the thread waits for, and for nothing else; kNoNode: there is none.
uint32_t awaited_sender(const Merged& merged, const MergedOpen& open, const Position& position) {
    if (!open.is_in_call || position.moved || position.waits.ranks.size() != 1) return kNoNode;
    const MpiCallInfo& call = kMpiCalls[merged.nodes[open.statement].call];
    const bool receives =
        (call.call_class == CallClass::kReceive || call.call_class == CallClass::kProbe) &&
        open.peer >= 0;
    const bool waits = call.call_class == CallClass::kWait && position.requests.size() == 1 &&
                       position.requests.front().starts_with("receive from rank");
    return receives || waits ? position.waits.ranks.front() : kNoNode;
}

// Messages that may have been taken, but not counted: by requests that the statement does not wait
// for, and by MPI_Mprobe.
uint64_t taken_apart(const Merged& merged, const MergedOpen& open) {
    const CallClass call = kMpiCalls[merged.nodes[open.statement].call].call_class;
    const uint64_t awaited = call == CallClass::kWait && open.requests == 1 ? open.request : 0;
    uint64_t taken = 0;
    for (const MergedRequest& request : merged.open_requests) {
        if (request.rank != open.rank || request.handle == awaited) continue;
        if (request.kind == kReceiveRequest || request.kind == kMessageHandle) ++taken;
    }
    return taken;
}

// What `rank` sends to `receiver` at this moment, if it is in a blocking send to it.
std::string sent_now(const Positions& positions, uint32_t rank, uint32_t receiver) {
    const std::string to = fmt::format("rank {}, tag", receiver);
    for (const Position& position : positions.threads) {
        if (position.rank != rank || !position.is_in_call || position.path.empty()) continue;
        const std::string& where = position.path.back();
        const bool sends =
            where.find("end ") != std::string::npos || where.find("Sendrecv") != std::string::npos;
        if (sends && position.partner.starts_with(to)) return position.partner;
    }
    return "";
}

}  // namespace

std::optional<uint64_t> messages_between(const MappedRecords& sender,
                                         const MappedRecords& receiver) {
    if (sender.bytes() == 0 || receiver.bytes() == 0) return std::nullopt;
    const Counts from(sender, static_cast<uint32_t>(receiver.header().rank));
    const Counts to(receiver, static_cast<uint32_t>(sender.header().rank));
    if (!from.known() || !to.known() || from.sent() < to.received()) return std::nullopt;
    return from.sent() - to.received();
}

void add_findings(const std::string& directory, const Merged& merged, Positions* positions) {
    std::map<std::pair<uint32_t, uint32_t>, Position*> by_thread;
    for (Position& one : positions->threads) by_thread[{one.rank, one.thread}] = &one;
    size_t findings = 0;
    for (const MergedOpen& open : merged.open) {
        const auto found = by_thread.find({open.rank, open.thread});
        if (found == by_thread.end() || findings == kMostFindings) continue;
        Position* position = found->second;
        const uint32_t sender = awaited_sender(merged, open, *position);
        if (sender == kNoNode) continue;
        ++findings;
        const std::string file = directory + "/rank.";
        const MappedRecords from(file + std::to_string(sender));
        const MappedRecords to(file + std::to_string(open.rank));
        const std::optional<uint64_t> messages = messages_between(from, to);
        if (!messages) continue;
        const std::string now = sent_now(*positions, sender, open.rank);
        if (!now.empty()) {
            position->finding = fmt::format("rank {} sends to {}", sender, now);
        } else if (*messages == 0) {
            position->finding =
                fmt::format("rank {} has sent no message that is not received", sender);
        } else if (*messages > taken_apart(merged, open)) {
            position->finding = fmt::format(
                "{} message{} of rank {} {} not received: no receive has asked for that tag and "
                "communicator",
                *messages, *messages == 1 ? "" : "s", sender, *messages == 1 ? "is" : "are");
        }
    }
}

}  // namespace dwell
