// Finds the records of a statement, and what they say in PICL's terms; see picl_calls.h. "Table" is
// that of ORNL/TM-12125.
#include "report/export/picl_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <set>
#include <utility>

#include "runtime/contract/mpi_call_numbers.h"
#include "runtime/contract/mpi_calls.h"
#include "summarize/formats/picl_records.h"

namespace dwell {
namespace {

constexpr int64_t kUnknown = -1;  // wildcard as "do not know" (section 2.2.2)
constexpr int64_t kProcess = 0;   // one process on each processor

int64_t signed_of(uint64_t value) { return static_cast<int64_t>(value); }

// All calls of a function may have one type; else by slot.
int type_of(const int16_t* types, int slot) {
    if (types[slot] != 0) return types[slot];
    const auto* const only =
        std::find_if(types, types + kEventSlots, [](int16_t type) { return type != 0; });
    return only == types + kEventSlots ? 0 : *only;
}

// Further words that a record needs to be read.
uint32_t words_of(EventKind kind) {
    switch (kind) {
        case EventKind::kSend:
        case EventKind::kReceive:
        case EventKind::kOneSided:
            return 2;
        case EventKind::kCollective:
            return 3;
        default:
            return 0;
    }
}

bool starts_persistent(uint16_t call) {
    return call == static_cast<uint16_t>(MpiCall::kStart) ||
           call == static_cast<uint16_t>(MpiCall::kStartall);
}

}  // namespace

void PiclFields::append_to(std::string* line) const {
    fmt::format_int count(size_);
    *line += ' ';
    line->append(count.data(), count.size());
    if (size_ == 0) return;
    const bool wide = std::any_of(values_.begin(), values_.begin() + size_,
                                  [](int64_t value) { return value > INT_MAX || value < INT_MIN; });
    *line += ' ';
    *line += static_cast<char>('0' + (wide ? kPiclLongIntegers : kPiclIntegers));
    for (uint32_t i = 0; i < size_; ++i) {
        fmt::format_int value(values_[i]);
        *line += ' ';
        line->append(value.data(), value.size());
    }
}

PiclCalls::PiclCalls(Timeline* timeline)
    : timeline_(*timeline), receives_(timeline->processes().size()) {
    std::set<uint32_t> ranks;
    for (const TimelineProcess& process : timeline_.processes())
        has_unique_ranks_ = ranks.insert(process.rank).second && has_unique_ranks_;
    for (uint32_t i = 0; i < timeline_.processes().size(); ++i)
        processors_.push_back(has_unique_ranks_ ? timeline_.processes()[i].rank : i);
    for (size_t i = 0; i < timeline_.comms().size(); ++i) comms_[timeline_.comms()[i].id] = i;
}

int64_t PiclCalls::processor_of(uint32_t process) const { return processors_[process]; }

int64_t PiclCalls::processor_of_rank(uint32_t rank) const {
    return rank == kEventNobody || !has_unique_ranks_ ? kUnknown : int64_t{rank};
}

int PiclCalls::subset_of(uint32_t comm) const {
    const auto found = comms_.find(comm);
    if (found == comms_.end() || !has_unique_ranks_) return 0;
    const TimelineComm& of = timeline_.comms()[found->second];
    if (of.is_world) return kPiclAnywhere;
    if (of.members.empty() ||
        std::find(of.members.begin(), of.members.end(), kEventNobody) != of.members.end()) {
        return 0;
    }
    return -2 - static_cast<int>(found->second);
}

bool PiclCalls::is_system_event(const TimelinePlace& place) {
    if (place.kind != SiteKind::kCommunication || place.call >= kMpiCallCount) return false;
    // The log does not tell whether such a probe found a message.
    const MpiCallInfo& call = kMpiCalls[place.call];
    if (call.call_class == CallClass::kProbe && is_poll(place.call)) return false;
    return type_of(call.event, kSendReady) != 0;
}

// The records up to the next beginning or end.
void PiclCalls::look_ahead(uint32_t thread) {
    parts_.clear();
    records_ = 0;
    has_waited_ = false;
    for (size_t i = 0;; ++i) {
        const Event* const next = timeline_.following(thread, i);
        if (next == nullptr || next->kind == EventKind::kEnter || next->kind == EventKind::kLeave ||
            next->kind == EventKind::kMark) {
            return;
        }
        if (next->kind == EventKind::kControl) {
            has_waited_ |= is_control(*next, EventControl::kWaited);
            continue;
        }
        if (next->kind == EventKind::kMetric || next->kind == EventKind::kSample) continue;
        records_ += 1;
        if (next->more >= words_of(next->kind)) parts_.push_back(*next);
    }
}

PiclCall PiclCalls::translate(const TimelineEvent& begin) {
    look_ahead(begin.thread);
    const uint16_t number = timeline_.place(begin.place).call;
    const MpiCallInfo& info = kMpiCalls[number];
    const uint32_t process = timeline_.threads()[begin.thread].process;
    note_starts(process, info.call_class == CallClass::kSend && !starts_persistent(number));

    PiclCall call;
    call.records = records_;
    call.main.type = type_of(info.event, kSendReady);
    switch (info.call_class) {
        case CallClass::kSend:
            translate_sends(info.event, &call);
            break;
        case CallClass::kReceive:
        case CallClass::kSendReceive:
        case CallClass::kProbe:
            translate_receive(info.event, &call);
            break;
        case CallClass::kWait:
        case CallClass::kTest:
            translate_completions(info.event, info.call_class == CallClass::kTest, process, &call);
            break;
        default:
            translate_collective(&call);
    }
    return call;
}

// A record kSend follows the start of a persistent send at once.
void PiclCalls::note_starts(uint32_t process, bool starts_sends) {
    for (size_t i = 0; i < parts_.size(); ++i) {
        if (parts_[i].kind != EventKind::kStart) continue;
        const bool sends =
            starts_sends || (i + 1 != parts_.size() && parts_[i + 1].kind == EventKind::kSend);
        const RequestKind kind = sends ? RequestKind::kSend : RequestKind::kReceive;
        if (requests_.insert_or_assign({process, parts_[i].what}, kind).second && !sends)
            receives_[process] += 1;
    }
}

// Length in bytes, type, processor and process (Tables 7 and 8).
PiclFields PiclCalls::message_fields(const Event& message) const {
    PiclFields fields;
    fields.add(signed_of(message.values[0]));
    fields.add(tag_of_message(message.values[1]));
    fields.add(processor_of_rank(message.what));
    fields.add(kProcess);
    return fields;
}

// The first send lasts as long as the statement. Only MPI_Startall has more.
void PiclCalls::translate_sends(const int16_t* types, PiclCall* call) const {
    std::vector<PiclEvent> events;
    std::vector<uint32_t> started;
    for (const Event& part : parts_) {
        if (part.kind == EventKind::kStart) started.push_back(part.what);
        if (part.kind != EventKind::kSend) continue;
        events.push_back({type_of(types, kSendReady), message_fields(part), {}});
    }
    if (events.empty()) events.push_back({type_of(types, kSendReady), {}, {}});
    for (size_t i = 0; i < std::min(events.size(), started.size()); ++i)
        events[i].exit.add(started[i]);
    call->main = events.front();
    call->at_end.assign(events.begin() + 1, events.end());
}

// What was asked for is not in the log, only what came.
void PiclCalls::translate_receive(const int16_t* types, PiclCall* call) const {
    call->main.exit = {};
    for (const Event& part : parts_) {
        if (part.kind == EventKind::kSend) {
            call->at_begin.push_back({type_of(types, kSendReady), message_fields(part), {}});
        } else if (part.kind == EventKind::kReceive) {
            call->main.exit = message_fields(part);
        } else if (part.kind == EventKind::kStart) {
            call->main.exit.add(part.what);
        }
    }
    call->main.type =
        type_of(types, has_waited_ && types[kRecvBlocked] != 0 ? kRecvBlocked : kRecvReady);
    for (int i = 0; i < 3; ++i) call->main.entry.add(kUnknown);
}

// Of a message that a request received, the record comes before that of the request.
std::vector<PiclCalls::Completion> PiclCalls::completions(uint32_t process) {
    std::vector<Completion> found;
    const Event* message = nullptr;
    for (const Event& part : parts_) {
        if (part.kind == EventKind::kReceive) message = &part;
        if (part.kind != EventKind::kComplete) continue;
        Completion one;
        one.request = part.what;
        one.message = std::exchange(message, nullptr);
        const auto request = requests_.find({process, part.what});
        if (request != requests_.end()) {
            one.sends = request->second == RequestKind::kSend;
            if (!one.sends) receives_[process] -= 1;
            requests_.erase(request);
        }
        found.push_back(one);
    }
    return found;
}

// The statement's time goes to one of its requests: a receive, if there is one. If the statement
// waited, it waited for that one.
void PiclCalls::translate_completions(const int16_t* types, bool is_test, uint32_t process,
                                      PiclCall* call) {
    std::vector<Completion> found = completions(process);
    if (found.empty()) {
        const bool receives = receives_[process] != 0;
        if (is_test) call->main.type = type_of(types, receives ? kRecvBlocked : kSendBlocked);
        return;
    }
    const auto timed =
        std::find_if(found.begin(), found.end(), [](const Completion& one) { return !one.sends; });
    if (timed != found.end()) std::rotate(found.begin(), timed, timed + 1);
    for (const Completion& one : found) {
        const bool waited = has_waited_ && !is_test && &one == &found.front();
        const int slot = one.sends ? kSendReady : kRecvReady;
        PiclEvent event;
        event.type = type_of(types, waited ? slot + 1 : slot);
        event.entry.add(one.request);
        if (one.message != nullptr) event.exit = message_fields(*one.message);
        if (&one == &found.front()) {
            call->main = event;
        } else {
            call->at_end.push_back(event);
        }
    }
}

// Table 10: the subsets of processors and processes; here also for collectives and one-sided
// communication, of which TM-12125 does not speak, with what they moved (docs/picl.md).
void PiclCalls::translate_collective(PiclCall* call) const {
    PiclEvent& event = call->main;
    for (const Event& part : parts_) {
        if (part.kind == EventKind::kOneSided) {
            event.entry.add(signed_of(part.values[0]));
            event.entry.add(signed_of(part.values[1]));
            event.entry.add(processor_of_rank(part.what));
            event.entry.add(kProcess);
        } else if (part.kind == EventKind::kCollective) {
            const uint32_t comm = comm_of_message(part.values[2]);
            if (const int subset = subset_of(comm); subset != 0) {
                event.entry.add(subset);
                event.entry.add(kPiclAnywhere);
                if (part.what != kEventNobody) event.entry.add(root_of(comm, part.what));
            }
            if (event.type == kPiclBarrier) continue;
            event.exit.add(signed_of(part.values[0]));
            event.exit.add(signed_of(part.values[1]));
        }
    }
    for (const Event& part : parts_) {
        if (part.kind == EventKind::kStart) event.exit.add(part.what);
    }
}

int64_t PiclCalls::root_of(uint32_t comm, uint32_t rank) const {
    const TimelineComm& of = timeline_.comms()[comms_.at(comm)];
    return rank < of.members.size() ? processor_of_rank(of.members[rank]) : kUnknown;
}

}  // namespace dwell
