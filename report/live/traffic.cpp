// Counts messages of a pair of ranks over all communication nodes of two record files; see
// traffic.h.
#include "report/live/traffic.h"

#include <fmt/format.h>

#include <algorithm>
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
        uint64_t left = std::min<uint64_t>(part.peer_count, records_.bytes() / kCellBytes);
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

// Of one pair of ranks, while both stand still.
struct Pair {
    std::vector<const AwaitedMessage*> receives;  // of the receiver's thread
    std::vector<const AwaitedMessage*> sends;     // that the sender waits for
};

bool match(const AwaitedMessage& send, const AwaitedMessage& receive) {
    const bool one_comm = send.comm == receive.comm || send.comm == 0 || receive.comm == 0;
    return one_comm && (receive.tag == kAnyTag || receive.tag == send.tag);
}

bool is_wanted(const AwaitedMessage& send, const Pair& pair) {
    return std::any_of(pair.receives.begin(), pair.receives.end(),
                       [&](const AwaitedMessage* receive) { return match(send, *receive); });
}

// Messages that may have been taken, but not counted: by requests that the thread does not wait
// for, and by MPI_Mprobe.
uint64_t taken_apart(const Merged& merged, const Position& position) {
    uint64_t taken = 0;
    for (const MergedRequest& request : merged.open_requests) {
        if (request.rank != position.rank) continue;
        if (request.kind == kReceiveRequest || request.kind == kMessageHandle) ++taken;
    }
    const auto awaited = static_cast<uint64_t>(
        std::count_if(position.messages.begin(), position.messages.end(),
                      [](const AwaitedMessage& one) { return !one.is_send && one.is_request; }));
    return taken - std::min(taken, awaited);
}

// What the records tell of the messages that `receiver` awaits of `sender`.
void add_finding(const Pair& pair, uint32_t sender, uint64_t uncounted_apart, uint64_t counted,
                 Position* receiver) {
    uint64_t left = counted;
    const AwaitedMessage* unwanted = nullptr;
    for (const AwaitedMessage* send : pair.sends) {
        if (!is_wanted(*send, pair)) {
            unwanted = send;
        } else if (!send->is_request) {
            left += 1;  // it is counted when it ends
        }
    }
    std::string finding;
    if (unwanted != nullptr) {
        finding = fmt::format("rank {} sends to {}", sender, unwanted->text);
    } else if (left == 0) {
        finding = fmt::format("all messages of rank {} were received: {} been sent", sender,
                              pair.receives.size() == 1 ? "this one has not" : "none of these has");
    } else if (left < pair.receives.size()) {
        finding = fmt::format("rank {} has sent {} of these {} messages", sender, left,
                              pair.receives.size());
    } else if (receiver->messages.size() == 1 && left > uncounted_apart) {
        finding = left == 1 ? fmt::format("1 message of rank {} was not received: it has", sender)
                            : fmt::format("{} messages of rank {} were not received: they have",
                                          left, sender);
        finding += " another tag or communicator";
    }
    if (left < pair.receives.size()) receiver->waits.sure.push_back(sender);
    if (finding.empty()) return;
    receiver->finding += (receiver->finding.empty() ? "" : "; ") + finding;
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
    std::map<std::pair<uint32_t, uint32_t>, std::vector<const AwaitedMessage*>> sends;
    for (const Position& one : positions->threads) {
        for (const AwaitedMessage& message : one.messages) {
            const bool stands = message.is_send && !one.moved;
            if (stands) sends[{one.rank, message.partner}].push_back(&message);
        }
    }
    size_t findings = 0;
    for (Position& receiver : positions->threads) {
        if (!receiver.is_in_call || receiver.moved) continue;
        std::map<uint32_t, Pair> pairs;  // by sender
        for (const AwaitedMessage& message : receiver.messages) {
            if (!message.is_send) pairs[message.partner].receives.push_back(&message);
        }
        for (auto& [sender, pair] : pairs) {
            if (findings++ == kMostFindings) return;
            const std::string file = directory + "/rank.";
            const MappedRecords from(file + std::to_string(sender));
            const MappedRecords to(file + std::to_string(receiver.rank));
            const std::optional<uint64_t> messages = messages_between(from, to);
            if (!messages) continue;
            pair.sends = sends[{sender, receiver.rank}];
            add_finding(pair, sender, taken_apart(merged, receiver), *messages, &receiver);
        }
    }
}

}  // namespace dwell
