// Collects what an EPILOG file defines; see epilog_survey.h.
#include "report/export/epilog_survey.h"

#include <fmt/format.h>

#include "runtime/contract/omp_constructs.h"

namespace dwell {
namespace {

// Constructs that OpenMP got after EPILOG 1.2 have no type of their own.
EpilogRegion type_of_construct(uint16_t call) {
    switch (static_cast<OmpConstruct>(call)) {
        case OmpConstruct::kParallel:
            return EpilogRegion::kParallel;
        case OmpConstruct::kLoop:
        case OmpConstruct::kStaticLoop:
        case OmpConstruct::kDynamicLoop:
        case OmpConstruct::kGuidedLoop:
        case OmpConstruct::kOtherLoop:
            return EpilogRegion::kOmpLoop;
        case OmpConstruct::kSections:
            return EpilogRegion::kSections;
        case OmpConstruct::kSingle:
            return EpilogRegion::kSingle;
        case OmpConstruct::kMasked:
            return EpilogRegion::kMaster;
        case OmpConstruct::kWorkshare:
            return EpilogRegion::kWorkshare;
        case OmpConstruct::kBarrier:
            return EpilogRegion::kBarrier;
        case OmpConstruct::kImplicitBarrier:
            return EpilogRegion::kImplicitBarrier;
        case OmpConstruct::kCritical:
            return EpilogRegion::kCritical;
        case OmpConstruct::kAtomic:
            return EpilogRegion::kAtomic;
        default:
            return EpilogRegion::kUnknown;
    }
}

EpilogRegion type_of(const TimelinePlace& place) {
    switch (place.kind) {
        case SiteKind::kProcedure:
        case SiteKind::kProgram:
        case SiteKind::kCommunication:
        case SiteKind::kIo:
            return EpilogRegion::kFunction;
        case SiteKind::kLoop:
            return EpilogRegion::kLoop;
        case SiteKind::kBlock:
            return EpilogRegion::kUser;
        case SiteKind::kOpenMp:
            return type_of_construct(place.call);
        default:
            return EpilogRegion::kUnknown;
    }
}

void set_bit(std::vector<uint8_t>* bits, uint32_t number) {
    (*bits)[number / 8] = static_cast<uint8_t>((*bits)[number / 8] | 1u << number % 8);
}

}  // namespace

EpilogSurvey::EpilogSurvey(Timeline* timeline, const TraceWorld& world)
    : timeline_(*timeline), world_(world) {
    for (const TimelineComm& comm : timeline_.comms()) known_comms_[comm.id] = &comm;
}

Outcome EpilogSurvey::run() {
    std::vector<std::vector<uint32_t>> open(timeline_.threads().size());  // places
    uint64_t least_events = 0;  // those of main threads are never left out
    TimelineEvent event;
    while (error_.empty() && timeline_.next(&event)) {
        std::vector<uint32_t>& stack = open[event.thread];
        if (event.kind == TimelineKind::kBegin) {
            if (event.place >= places_.size() || places_[event.place].region == kEpilogNone)
                add_place(event.place);
            if (places_[event.place].is_call)
                add_call(event.place, stack.empty() ? kEpilogNone : region_of(stack.back()));
            stack.push_back(event.place);
            least_events += world_.is_main(event.thread) ? 2 : 0;
        } else if (event.kind == TimelineKind::kEnd) {
            stack.pop_back();
        } else if (event.event.kind == EventKind::kSend ||
                   event.event.kind == EventKind::kReceive) {
            if (!event.is_split) add_message(event);
        } else if (event.event.kind == EventKind::kCollective && !stack.empty()) {
            add_collective(event, stack.back());
        }
        if (least_events > UINT32_MAX) {
            error_ = fmt::format("more than {} events are more than EPILOG can count", UINT32_MAX);
        }
    }
    if (!error_.empty()) return tl::make_unexpected(error_);
    return {};
}

void EpilogSurvey::add_place(uint32_t place) {
    if (place >= places_.size()) places_.resize(place + size_t{1});
    Place& added = places_[place];
    const TimelinePlace& of = timeline_.place(place);
    const uint32_t file = of.file.empty() ? kEpilogNone : file_id(of.file);
    const uint32_t line = of.line > 0 ? static_cast<uint32_t>(of.line) : kEpilogNone;
    added.is_call = of.kind == SiteKind::kCommunication || of.kind == SiteKind::kIo;
    added.is_fork = of.kind == SiteKind::kOpenMp && is_omp_region(of.call);
    added.is_exclusive = of.kind == SiteKind::kOpenMp &&
                         (of.call == static_cast<uint16_t>(OmpConstruct::kCritical) ||
                          of.call == static_cast<uint16_t>(OmpConstruct::kOrdered) ||
                          of.call == static_cast<uint16_t>(OmpConstruct::kAtomic));
    added.is_idle =
        of.kind == SiteKind::kOpenMp && of.call == static_cast<uint16_t>(OmpConstruct::kIdle);
    added.is_collective = is_blocking_collective(of);
    added.file = file;
    added.line = line;
    // The lines of a call are those of its call site.
    const uint32_t own_file = added.is_call ? kEpilogNone : file;
    const uint32_t own_line = added.is_call || file == kEpilogNone ? kEpilogNone : line;
    const auto [known, is_new] =
        region_ids_.emplace(std::tuple{of.name, own_file, own_line, type_of(of)},
                            static_cast<uint32_t>(regions_.size()));
    if (is_new) regions_.push_back({of.name, own_file, own_line, type_of(of)});
    added.region = known->second;
}

void EpilogSurvey::add_call(uint32_t place, uint32_t caller) {
    Place& of = places_[place];
    if (of.file == kEpilogNone || of.line == kEpilogNone) return;
    if (of.call_site != kEpilogNone && of.caller == caller) return;
    const auto [known, is_new] = call_site_ids_.emplace(
        std::array{of.file, of.line, of.region, caller}, static_cast<uint32_t>(call_sites_.size()));
    if (is_new) call_sites_.push_back({of.file, of.line, of.region, caller});
    if (of.call_site != kEpilogNone) return;
    of.call_site = known->second;
    of.caller = caller;
}

uint32_t EpilogSurvey::file_id(const std::string& name) {
    const auto [known, is_new] = file_ids_.emplace(name, static_cast<uint32_t>(files_.size()));
    if (is_new) files_.push_back(name);
    return known->second;
}

// MPI_COMM_SELF and what is made of it have one id in all processes.
uint64_t EpilogSurvey::comm_key(uint32_t id, uint32_t process) const {
    const auto known = known_comms_.find(id);
    const bool is_self = known != known_comms_.end() && !known->second->is_world &&
                         known->second->members.size() == 1;
    return is_self ? uint64_t{id} << 32 | process : uint64_t{id} << 32 | kNotObserved;
}

uint32_t EpilogSurvey::comm_of(uint32_t id, uint32_t process) const {
    const auto known = comm_ids_.find(comm_key(id, process));
    return known == comm_ids_.end() ? kEpilogNone : known->second;
}

// A group holds the members that the log names, and the processes seen in it: of a communicator
// that was freed early the log may name none.
void EpilogSurvey::add_user(uint32_t id, uint32_t process) {
    const auto [known, is_new] =
        comm_ids_.emplace(comm_key(id, process), static_cast<uint32_t>(groups_.size()));
    if (is_new) {
        groups_.emplace_back((world_.processes().size() + 7) / 8);
        const auto described = known_comms_.find(id);
        if (described != known_comms_.end() && described->second->is_world) {
            for (uint32_t rank = 0; rank < timeline_.world_size(); ++rank)
                set_bit(&groups_.back(), rank);
        } else if (described != known_comms_.end() && described->second->members.size() > 1) {
            for (const uint32_t member : described->second->members) {
                if (member < world_.processes().size()) set_bit(&groups_.back(), member);
            }
        }
    }
    set_bit(&groups_[known->second], process);
}

bool EpilogSurvey::message(const TimelineEvent& event, EpilogMessage* message) {
    const Event& record = event.event;
    if (record.more < 2) return false;
    const uint32_t own = world_.process_of(event.thread);
    const uint32_t partner = world_.process_of_rank(record.what);
    if (partner == kNotObserved || world_.process_of_rank(world_.rank_of(event.thread)) != own)
        return false;
    const bool sends = record.kind == EventKind::kSend;
    message->from = sends ? own : partner;
    message->to = sends ? partner : own;
    message->comm = comm_of(comm_of_message(record.values[1]), own);
    message->channel = &channels_[{message->from, message->to, record.values[1]}];
    return true;
}

void EpilogSurvey::add_message(const TimelineEvent& event) {
    EpilogMessage found{};
    if (!message(event, &found)) return;
    const uint32_t comm = comm_of_message(event.event.values[1]);
    add_user(comm, found.from);
    add_user(comm, found.to);
    if (!world_.is_main(event.thread)) found.channel->is_mixed = true;
    if (event.event.kind == EventKind::kSend) {
        found.channel->sends += 1;
        check(event.event.values[0], event);
    } else {
        found.channel->receives += 1;
    }
}

void EpilogSurvey::add_collective(const TimelineEvent& event, uint32_t place) {
    if (event.event.more < 3 || !places_[place].is_collective || !world_.is_main(event.thread))
        return;
    add_user(comm_of_message(event.event.values[2]), world_.process_of(event.thread));
    check(event.event.values[0], event);
    check(event.event.values[1], event);
}

void EpilogSurvey::check(uint64_t bytes, const TimelineEvent& event) {
    if (bytes <= UINT32_MAX || !error_.empty()) return;
    const char* const what =
        event.event.kind == EventKind::kCollective ? "a collective" : "a message";
    error_ = fmt::format("{} of rank {} has {} bytes: EPILOG holds at most {}", what,
                         world_.rank_of(event.thread), bytes, UINT32_MAX);
}

uint32_t EpilogSurvey::root_of(const TimelineEvent& event) const {
    const uint32_t root = event.event.what;
    if (root == kEventNobody) return kEpilogNone;
    const uint32_t own = world_.process_of(event.thread);
    const auto known = known_comms_.find(comm_of_message(event.event.values[2]));
    if (known == known_comms_.end()) return kEpilogNone;
    const TimelineComm& comm = *known->second;
    if (!comm.is_world && comm.members.size() == 1) return world_.processes()[own].first_location;
    if (!comm.is_world && root >= comm.members.size()) return kEpilogNone;
    const uint32_t process = world_.process_of_rank(comm.is_world ? root : comm.members[root]);
    return process == kNotObserved ? kEpilogNone : world_.processes()[process].first_location;
}

}  // namespace dwell
