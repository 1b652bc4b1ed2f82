// The process of a filter: loads the user's file and calls its functions for what `dwell run`
// sends.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <unordered_map>

#include "report/filter/dwell_events.h"
#include "report/filter/filter_order.h"

namespace dwell {
namespace {

static_assert(static_cast<int>(SiteKind::kMarker) == DWELL_PLACE_MARKER &&
              static_cast<int>(SiteKind::kCommunication) == DWELL_PLACE_MPI &&
              static_cast<int>(SiteKind::kOpenMp) == DWELL_PLACE_OPENMP);
static_assert(static_cast<int>(EventKind::kSample) == DWELL_EVENT_SAMPLE &&
              kMostMore == DWELL_MOST_VALUES && kLargestMore == DWELL_LARGEST_VALUE);

constexpr size_t kMostNameBytes = 1000;

struct FilterFunctions {
    decltype(&dwell_event_filter_record) record = nullptr;
    decltype(&dwell_event_filter_begin) begin = nullptr;
    decltype(&dwell_event_filter_end) end = nullptr;
};

// An error of one line, or nothing.
std::string load(const std::string& file, FilterFunctions* functions) {
    void* const loaded = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (loaded == nullptr) {
        const char* const error = dlerror();
        std::string text = error == nullptr ? file + ": it cannot be loaded" : error;
        std::replace(text.begin(), text.end(), '\n', ' ');
        return text;
    }
    const auto* const version =
        static_cast<const uint32_t*>(dlsym(loaded, "dwell_event_filter_version"));
    const auto find = [&](const char* name, auto* function) {
        *function =
            reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(loaded, name));
    };
    find("dwell_event_filter_record", &functions->record);
    find("dwell_event_filter_begin", &functions->begin);
    find("dwell_event_filter_end", &functions->end);
    if (version == nullptr)
        return file + ": this is no filter of events: it lacks DWELL_EVENT_FILTER (dwell_events.h)";
    if (*version != DWELL_EVENTS_VERSION)
        return file + ": this filter is of version " + std::to_string(*version) +
               " of dwell_events.h, here it is " + std::to_string(DWELL_EVENTS_VERSION);
    if (functions->record == nullptr)
        return file + ": this filter lacks the function dwell_event_filter_record";
    return {};
}

struct OwnPlace {
    std::string name;
    std::string file;
    int32_t line;
    SiteKind kind;
};

class Server {
  public:
    Server(int socket, const RingRecord* in, RingRecord* out, const FilterFunctions& functions)
        : socket_(socket), in_(in), out_(out), functions_(functions) {
        adding_.interface.add_mark = add_mark;
        adding_.server = this;
    }

    void serve() {
        FilterOrder order{};
        while (receive_bytes(socket_, &order, sizeof order, -1)) {
            if (order.what == FilterOrderKind::kPlace) {
                take_place(order);
            } else {
                filter(order);
            }
        }
        if (functions_.end != nullptr) functions_.end();
    }

  private:
    struct Adding {
        dwell_filter interface;
        Server* server;
    };

    void take_place(const FilterOrder& order) {
        std::string texts(size_t{order.name_bytes} + order.file_bytes, '\0');
        if (!receive_bytes(socket_, texts.data(), texts.size(), -1)) _exit(1);
        places_.push_back({texts.substr(0, order.name_bytes), texts.substr(order.name_bytes),
                           order.line, order.kind});
    }

    void filter(const FilterOrder& order) {
        FilterAnswer answer{};
        std::vector<RingRecord> filtered;
        new_names_.clear();
        room_ = kMostFiltered - 1 - std::min<size_t>(order.count, kFilteredAtOnce);
        refused_ = 0;
        FilterNesting& nesting = nesting_[{order.thread.process, order.thread.thread}];
        nesting.filter(
            in_, order.count,
            [&](RingRecord* record, uint32_t around, std::vector<RingRecord>* added) {
                return decide(order.thread, record, around, added);
            },
            [&](uint32_t place) {
                return place < places_.size() && (places_[place].kind == SiteKind::kCommunication ||
                                                  places_[place].kind == SiteKind::kIo);
            },
            &filtered, &answer.counts);
        answer.counts.refused = refused_;
        answer.count = static_cast<uint32_t>(std::min(filtered.size(), kMostFiltered));
        memcpy(static_cast<void*>(out_), filtered.data(), answer.count * sizeof(RingRecord));
        answer.name_bytes = static_cast<uint32_t>(new_names_.size());
        if (!send_bytes(socket_, &answer, sizeof answer) ||
            !send_bytes(socket_, new_names_.data(), new_names_.size())) {
            _exit(1);
        }
    }

    FilterNesting::Verdict decide(const FilteredThread& thread, RingRecord* record, uint32_t around,
                                  std::vector<RingRecord>* added) {
        dwell_event event = event_of(thread, *record, around);
        record_ = record;
        added_ = added;
        FilterNesting::Verdict verdict;
        verdict.drops = functions_.record(&event, &adding_.interface) == DWELL_DROP;
        verdict.changed = !verdict.drops && change(event, record);
        return verdict;
    }

    dwell_event event_of(const FilteredThread& thread, const RingRecord& record,
                         uint32_t around) const {
        static const OwnPlace kNone{"", "", 0, SiteKind::kNone};
        const Event& from = record.event;
        const uint32_t number = record.place != kNoEventPlace ? record.place : around;
        const OwnPlace& place = number < places_.size() ? places_[number] : kNone;
        dwell_event event{};
        event.kind = static_cast<uint32_t>(from.kind);
        event.rank = thread.rank;
        event.thread = thread.thread;
        event.in_kind = static_cast<uint32_t>(place.kind);
        event.name = place.name.c_str();
        event.file = place.file.c_str();
        event.line = place.line;
        event.place = number;
        event.time_ticks = from.time;
        const auto passed = static_cast<int64_t>(from.time - thread.first_ticks);
        event.time_ns = static_cast<int64_t>(static_cast<__int128>(passed) * 1'000'000'000 /
                                             static_cast<__int128>(thread.ticks_per_second));
        event.partner = event.tag = -1;
        const auto value = [&](uint32_t i) { return i < from.more ? from.values[i] : 0; };
        const auto partner = from.what == kEventNobody ? -1 : static_cast<int32_t>(from.what);
        switch (from.kind) {
            case EventKind::kSend:
            case EventKind::kReceive:
                event.partner = partner;
                (from.kind == EventKind::kSend ? event.bytes_sent : event.bytes_received) =
                    value(0);
                event.tag = static_cast<int32_t>(tag_of_message(value(1)));
                event.comm = comm_of_message(value(1));
                break;
            case EventKind::kOneSided:
            case EventKind::kCollective:
                event.partner = partner;
                event.bytes_sent = value(0);
                event.bytes_received = value(1);
                event.comm = comm_of_message(value(2));
                if (from.kind == EventKind::kCollective) event.number = tag_of_message(value(2));
                break;
            case EventKind::kIo:
                event.bytes_received = value(0);
                event.bytes_sent = value(1);
                break;
            case EventKind::kControl:
                event.kind = is_control(from, EventControl::kLocked) ? DWELL_EVENT_LOCKED
                                                                     : DWELL_EVENT_UNLOCKED;
                break;
            case EventKind::kStart:
            case EventKind::kComplete:
                event.number = from.what;
                break;
            default:
                break;
        }
        if (has_values(from)) {
            event.value_count = from.more;
            std::copy_n(from.values.begin(), from.more, event.values);
        }
        return event;
    }

    static bool has_values(const Event& event) {
        return event.kind == EventKind::kMark || event.kind == EventKind::kMetric ||
               event.kind == EventKind::kSample || event.kind == EventKind::kControl;
    }

    // Takes over what the filter may change.
    static bool change(const dwell_event& event, RingRecord* record) {
        Event& into = record->event;
        const Event before = into;
        const auto set = [&](uint32_t i, uint64_t value) {
            if (i < into.more) into.values[i] = std::min(value, kLargestMore);
        };
        const auto set_partner = [&] {
            into.what = event.partner < 0 ? kEventNobody
                                          : static_cast<uint32_t>(event.partner) & kEventWhatMask;
        };
        switch (into.kind) {
            case EventKind::kSend:
            case EventKind::kReceive:
                set_partner();
                set(0, into.kind == EventKind::kSend ? event.bytes_sent : event.bytes_received);
                if (into.more > 1)
                    set(1, event_message(comm_of_message(before.values[1]),
                                         static_cast<uint32_t>(event.tag)));
                break;
            case EventKind::kOneSided:
            case EventKind::kCollective:
                set_partner();
                set(0, event.bytes_sent);
                set(1, event.bytes_received);
                break;
            case EventKind::kIo:
                set(0, event.bytes_received);
                set(1, event.bytes_sent);
                break;
            default:
                if (!has_values(into)) break;
                if (into.kind == EventKind::kMark)
                    into.more = std::min<uint32_t>(event.value_count, kMostMore);
                for (uint32_t i = 0; i < into.more; ++i) set(i, event.values[i]);
        }
        return into.what != before.what || into.more != before.more ||
               !std::equal(into.values.begin(), into.values.begin() + into.more,
                           before.values.begin());
    }

    static void add_mark(dwell_filter* filter, const char* name, uint32_t count,
                         const uint64_t* values) {
        Server* const server = reinterpret_cast<Adding*>(filter)->server;
        if (name == nullptr || *name == '\0') return;
        if (server->room_ == 0) {
            server->refused_ += 1;
            return;
        }
        server->room_ -= 1;
        RingRecord mark{server->record_->number, {}, kNoEventPlace};
        mark.event.kind = EventKind::kMark;
        mark.event.time = server->record_->event.time;
        mark.event.more = values == nullptr ? 0 : std::min(count, kMostMore);
        for (uint32_t i = 0; i < mark.event.more; ++i)
            mark.event.values[i] = std::min(values[i], kLargestMore);
        mark.mark = server->number_of(std::string(name, strnlen(name, kMostNameBytes)));
        server->added_->push_back(mark);
    }

    uint32_t number_of(const std::string& name) {
        const auto [known, is_new] = names_.emplace(name, static_cast<uint32_t>(names_.size() + 1));
        if (is_new) new_names_.append(name).push_back('\0');
        return known->second;
    }

    int socket_;
    const RingRecord* in_;
    RingRecord* out_;
    FilterFunctions functions_;
    Adding adding_{};
    std::vector<OwnPlace> places_;
    std::map<std::pair<uint32_t, uint32_t>, FilterNesting> nesting_;
    std::unordered_map<std::string, uint32_t> names_;
    std::string new_names_;
    size_t room_ = 0;       // for marks, of this portion; a kMoved of the last one may come on top
    uint64_t refused_ = 0;  // marks without room
    RingRecord* record_ = nullptr;
    std::vector<RingRecord>* added_ = nullptr;
};

}  // namespace

void serve_filter(int socket, const RingRecord* in, RingRecord* out, const std::string& file,
                  const std::string& arguments) {
    FilterFunctions functions;
    std::string error = load(file, &functions);
    if (error.empty() && functions.begin != nullptr) {
        const int code = functions.begin(arguments.c_str());
        if (code != 0)
            error =
                file + ": the filter refuses '" + arguments + "' (" + std::to_string(code) + ")";
    }
    FilterAnswer answer{};
    answer.name_bytes = static_cast<uint32_t>(error.size());
    if (!send_bytes(socket, &answer, sizeof answer) ||
        !send_bytes(socket, error.data(), error.size()) || !error.empty()) {
        _exit(1);
    }
    Server(socket, in, out, functions).serve();
    fflush(nullptr);
    _exit(0);
}

}  // namespace dwell
