// PICL's trace format as ORNL/TM-12125 defines it. The file is read twice: clocks may begin before
// 0, labels may come late, and a damaged line must be known before anything is written.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "report/import/importers.h"
#include "report/import/picl_events.h"
#include "report/import/picl_reader.h"
#include "summarize/formats/picl_records.h"

namespace dwell {
namespace {

constexpr int64_t kHost = 32767;  // section 2.5
constexpr int64_t kMostRanks = 1 << 20;
constexpr int64_t kMostTag = (int64_t{1} << kEventTagBits) - 1;

PiclRecordType record_type(const PiclRecord& record) {
    return static_cast<PiclRecordType>(record.type);
}

class PiclImport {
  public:
    explicit PiclImport(ImportJob* job) : job_(*job), log_(*job->log) {}

    Outcome read() {
        const Outcome scanned = each(&PiclImport::scan);
        if (!scanned) return scanned;
        if (threads_.empty())
            return tl::make_unexpected(job_.source + ": there are no events in this trace");
        define();
        const Outcome written = each(&PiclImport::write);
        if (!written) return written;
        say_what_is_left_out();
        return {};
    }

  private:
    using Location = std::pair<int64_t, int64_t>;  // processor and process
    struct Open {
        int64_t event;
        std::vector<PiclValue> entry;
    };
    struct Thread {
        uint32_t index = 0;
        int64_t processor = 0;
        int64_t clock = INT64_MIN;
        std::vector<Open> open{};
        std::map<uint32_t, uint32_t> collectives{};  // so far, by communicator
    };

    Outcome each(bool (PiclImport::*take)(const PiclRecord&)) {
        PiclReader reader(job_.source);
        reader_ = &reader;
        PiclRecord record;
        while (reader.next(&record) && (this->*take)(record)) {
        }
        if (!reader.error().empty()) return tl::make_unexpected(reader.error());
        return {};
    }

    static bool is_event(const PiclRecord& record) {
        return record.type >= static_cast<int>(PiclRecordType::kExit) && record.type != -1 &&
               record.processor >= 0 && record.processor != kHost;
    }

    bool scan(const PiclRecord& record) {
        if (record_type(record) == PiclRecordType::kLabel && record.event != kPiclAllEvents) {
            labels_[record.event] = record.text;
            return true;
        }
        if (record_type(record) == PiclRecordType::kProcessorSubset) return scan_subset(record);
        if (!is_event(record)) return true;
        for (const PiclValue& value : record.data) {
            if (value.integer > static_cast<int64_t>(kLargestMore))
                return reader_->fail("a log has no number " + std::to_string(value.integer));
        }
        if (record.processor >= kMostRanks)
            return reader_->fail("a log has no processor " + std::to_string(record.processor));
        Thread& thread = threads_[{record.processor, record.process}];
        if (record.ns < thread.clock)
            return reader_->fail("the clock of processor " + std::to_string(record.processor) +
                                 " goes back");
        thread.clock = record.ns;
        begin_ = std::min(begin_, record.ns);
        ranks_ = std::max(ranks_, record.processor + 1);
        note_partner(record);
        return true;
    }

    static bool is_send(PiclShape shape, const PiclData& entry) {
        return shape == PiclShape::kSend || shape == PiclShape::kSendStart ||
               (shape == PiclShape::kStart && entry.size() != 0);
    }

    // A trace may have the records of few processors.
    void note_partner(const PiclRecord& record) {
        const PiclShape shape = shape_of(record.event);
        const bool sends = is_send(shape, PiclData(record.data));
        const bool receives = shape == PiclShape::kReceive || shape == PiclShape::kReceiveEnd;
        const bool at_entry = record_type(record) == PiclRecordType::kEntry;
        if (!(sends && at_entry) && !(receives && record_type(record) == PiclRecordType::kExit)) {
            return;
        }
        const auto partner = PiclData(record.data).natural(2);
        if (partner && *partner != kHost && *partner < static_cast<uint64_t>(kMostRanks))
            ranks_ = std::max(ranks_, static_cast<int64_t>(*partner) + 1);
    }

    // Table 18.
    bool scan_subset(const PiclRecord& record) {
        const PiclData data(record.data);
        const auto subset = data.at(0);
        if (!is_subset(subset)) return true;
        std::vector<int64_t> members;
        for (size_t i = 1; i < data.size(); ++i) members.push_back(data.at(i).value_or(-1));
        subsets_[*subset] = std::move(members);
        return true;
    }

    // Others are whole sets already, or no numbers.
    static bool is_subset(std::optional<int64_t> subset) {
        return subset && *subset < kPiclAnywhere;
    }

    void define() {
        log_.set_world_size(static_cast<uint32_t>(ranks_));
        std::map<int64_t, uint32_t> processes;
        std::map<int64_t, uint32_t> numbers;
        for (auto& [location, thread] : threads_) {
            const auto [processor, process] = location;
            thread.processor = processor;
            const auto pid =
                static_cast<int32_t>(process > 0 && process <= INT32_MAX ? process : int64_t{0});
            if (processes.find(processor) == processes.end())
                processes[processor] = define_process(processor, pid);
            const uint32_t number = numbers[processor]++;
            more_processes_ += number != 0 ? 1 : 0;
            thread.index = log_.add_thread(processes[processor], number, pid, "");
        }
    }

    uint32_t define_process(int64_t processor, int32_t pid) {
        const uint32_t process = log_.add_process({.rank = static_cast<uint32_t>(processor),
                                                   .pid = pid,
                                                   .host = "picl",
                                                   .program = job_.source});
        log_.add_comm(process, ImportedLog::world_comm(), static_cast<int32_t>(processor),
                      static_cast<int32_t>(ranks_));
        for (const auto& [subset, members] : subsets_) {
            const auto member = std::find(members.begin(), members.end(), processor);
            if (member == members.end()) continue;
            log_.add_comm(process, comm_of(subset), static_cast<int32_t>(member - members.begin()),
                          static_cast<int32_t>(members.size()));
        }
        return process;
    }

    // Subsets are numbered from -2 downwards.
    static uint32_t comm_of(int64_t subset) {
        return subset == kPiclAnywhere ? ImportedLog::world_comm()
                                       : static_cast<uint32_t>(-subset) & kEventCommMask;
    }

    bool write(const PiclRecord& record) {
        if (!record.is_readable) unreadable_ += 1;
        if (!is_event(record)) {
            count_as_left_out(record);
            return true;
        }
        Thread& thread = threads_.at({record.processor, record.process});
        const auto ns = static_cast<uint64_t>(record.ns - begin_);
        if (record.type >= 0) {
            mark(&thread, record, ns);
            return true;
        }
        if (record.event == kPiclTracing || record.event == kPiclAllEvents) {
            const bool ends = record_type(record) == PiclRecordType::kExit;
            log_.control(thread.index, ends ? EventControl::kEnd : EventControl::kOn, ns);
            return true;
        }
        switch (record_type(record)) {
            case PiclRecordType::kEntry:
                enter(&thread, record, ns);
                break;
            case PiclRecordType::kExit:
                leave(&thread, record, ns);
                break;
            default:
                mark(&thread, record, ns);
        }
        return true;
    }

    void count_as_left_out(const PiclRecord& record) {
        if (record.type >= static_cast<int>(PiclRecordType::kExit) && record.type != -1) {
            (record.processor == kHost ? of_host_ : of_many_) += 1;
        } else if (record_type(record) == PiclRecordType::kMessage) {
            messages_ += 1;
        } else if (record_type(record) == PiclRecordType::kLabel) {
            labels_of_others_ += record.event == kPiclAllEvents ? 1 : 0;
        } else if (record_type(record) == PiclRecordType::kProcessorSubset) {
            odd_subsets_ += is_subset(PiclData(record.data).at(0)) ? 0 : 1;
        } else if (record_type(record) == PiclRecordType::kProcessSubset) {
            process_subsets_ += 1;
        } else if (record_type(record) == PiclRecordType::kEventSubset) {
            event_subsets_ += 1;
        } else if (record.type <= static_cast<int>(PiclRecordType::kTime) &&
                   record.type >= static_cast<int>(PiclRecordType::kVolume)) {
            statistics_ += 1;
        } else if (record.type == -1 || record.type < -203 ||
                   (record.type < static_cast<int>(PiclRecordType::kMessage) &&
                    record.type > static_cast<int>(PiclRecordType::kProcessorSubset))) {
            unknown_ += 1;
        }
    }

    uint32_t place_of(int64_t event) {
        const auto [known, is_new] = places_.emplace(event, 0);
        if (is_new) known->second = log_.add_place(place_of_picl_event(event, labels_[event]));
        return known->second;
    }
    uint32_t marker(const std::string& name) {
        return log_.add_place({SiteKind::kMarker, 0, name});
    }
    std::string name_of(int64_t event) {
        const ImportedPlace place = place_of_picl_event(event, labels_[event]);
        return place.name.empty() ? "event " + std::to_string(event) : place.name;
    }

    void enter(Thread* thread, const PiclRecord& record, uint64_t ns) {
        log_.enter(thread->index, place_of(record.event), ns);
        thread->open.push_back({record.event, record.data});
        const PiclData data(record.data);
        const PiclShape shape = shape_of(record.event);
        if (is_send(shape, data)) {
            put_message(*thread, EventKind::kSend, data, 0, ns);
        } else if (shape == PiclShape::kFileWrite) {
            if (const auto bytes = data.natural(0))
                log_.put(thread->index, EventKind::kIo, 0, ns, {0, *bytes});
        } else if (shape == PiclShape::kNone) {
            fields_ += record.data.size();
        }
    }

    void leave(Thread* thread, const PiclRecord& record, uint64_t ns) {
        auto& open = thread->open;
        const auto found = std::find_if(open.rbegin(), open.rend(), [&](const Open& other) {
            return other.event == record.event;
        });
        if (found == open.rend()) {
            without_begin_ += 1;
            return;
        }
        // Events of PICL may overlap, calls in a log may not.
        for (auto i = found - open.rbegin(); i > 0; --i) {
            log_.leave(thread->index, ns);
            open.pop_back();
            overlapping_ += 1;
        }
        end(thread, open.back(), PiclData(record.data), ns);
        log_.leave(thread->index, ns);
        open.pop_back();
    }

    void end(Thread* thread, const Open& of, const PiclData& exit, uint64_t ns) {
        const PiclData entry(of.entry);
        switch (shape_of(of.event)) {
            case PiclShape::kSendStart:
            case PiclShape::kStart:
            case PiclShape::kReceiveStart:
                put_request(*thread, EventKind::kStart, exit, ns);
                break;
            case PiclShape::kReceive:
                put_message(*thread, EventKind::kReceive, exit, 0, ns);
                break;
            case PiclShape::kReceiveEnd:
                put_message(*thread, EventKind::kReceive, exit, 0, ns);
                put_request(*thread, EventKind::kComplete, entry, ns);
                break;
            case PiclShape::kSendEnd:
                put_request(*thread, EventKind::kComplete, entry, ns);
                break;
            case PiclShape::kCollective:
                put_collective(thread, entry, exit, ns);
                break;
            case PiclShape::kFileRead:
                if (const auto bytes = exit.natural(0))
                    log_.put(thread->index, EventKind::kIo, 0, ns, {*bytes, 0});
                break;
            case PiclShape::kNone:
                fields_ += exit.size();
                break;
            default:
                break;
        }
    }

    // A mark of a statement has the data of its entry, then those of its exit.
    void mark(Thread* thread, const PiclRecord& record, uint64_t ns) {
        const PiclData data(record.data);
        const PiclShape shape = record.type >= 0 ? PiclShape::kNone : shape_of(record.event);
        if (shape == PiclShape::kSend || shape == PiclShape::kReceive) {
            log_.enter(thread->index, place_of(record.event), ns);
            if (shape == PiclShape::kSend) {
                put_message(*thread, EventKind::kSend, data, 0, ns);
            } else {
                // One or three fields say what was asked for.
                put_message(*thread, EventKind::kReceive, data, data.size() < 7 ? 1 : 3, ns);
            }
            log_.leave(thread->index, ns);
            return;
        }
        const std::string name = name_of(record.event);
        const auto volume = data.size() == 1 ? data.natural(0) : std::nullopt;
        if (!volume) fields_ += data.size();
        log_.mark(thread->index,
                  marker(record.type < 0 ? name
                                         : "record " + std::to_string(record.type) + " of " + name),
                  ns, volume);
    }

    // Length in bytes, type, processor and process; those at the end may be missing
    // (section 2.3.3).
    void put_message(const Thread& thread, EventKind kind, const PiclData& data, size_t first,
                     uint64_t ns) {
        const auto bytes = data.natural(first);
        if (!bytes) {
            without_length_ += 1;
            return;
        }
        const auto partner = data.natural(first + 2);
        const bool is_rank = partner && *partner < static_cast<uint64_t>(ranks_);
        const auto tag = data.at(first + 1);
        const bool fits = tag && *tag >= 0 && *tag <= kMostTag;
        without_tag_ += fits ? 0 : 1;
        log_.put(thread.index, kind, is_rank ? static_cast<uint32_t>(*partner) : kEventNobody, ns,
                 {*bytes, event_message(ImportedLog::world_comm(),
                                        fits ? static_cast<uint32_t>(*tag) : 0)});
    }

    void put_request(const Thread& thread, EventKind kind, const PiclData& data, uint64_t ns) {
        const auto request = data.natural(0);
        if (request && *request < kEventWhatMask) {
            log_.put(thread.index, kind, static_cast<uint32_t>(*request), ns, {});
        } else {
            requests_ += 1;
        }
    }

    void put_collective(Thread* thread, const PiclData& entry, const PiclData& exit, uint64_t ns) {
        const int64_t subset = entry.at(0).value_or(kPiclAnywhere);
        if (subset != kPiclAnywhere && subsets_.find(subset) == subsets_.end()) {
            fields_ += entry.size() + exit.size();
            return;
        }
        uint32_t root = kEventNobody;
        if (const auto rank = entry.natural(2); rank && subset == kPiclAnywhere) {
            root = *rank < static_cast<uint64_t>(ranks_) ? static_cast<uint32_t>(*rank) : root;
        } else if (rank) {
            const std::vector<int64_t>& members = subsets_.at(subset);
            const auto member =
                std::find(members.begin(), members.end(), static_cast<int64_t>(*rank));
            if (member != members.end()) root = static_cast<uint32_t>(member - members.begin());
        }
        const uint32_t comm = comm_of(subset);
        log_.put(thread->index, EventKind::kCollective, root, ns,
                 {exit.natural(0).value_or(0), exit.natural(1).value_or(0),
                  event_message(comm, thread->collectives[comm]++)});
    }

    void say_what_is_left_out() {
        uint64_t open = 0;
        for (const auto& [location, thread] : threads_) open += thread.open.size();
        job_.note(of_host_, "records of the host processor are left out");
        job_.note(of_many_, "events of several processors at once are left out");
        job_.note(messages_, "texts are left out (message records)");
        job_.note(labels_of_others_, "labels of processors and processes are left out");
        job_.note(odd_subsets_, "subsets of processors without a number of their own are left out");
        job_.note(process_subsets_, "subsets of processes are left out");
        job_.note(event_subsets_, "subsets of event types are left out");
        job_.note(statistics_, "statistics records are left out: dwell report computes its own");
        job_.note(unknown_, "records of unknown types are left out");
        job_.note(unreadable_, "records have data of an unknown format, which is left out");
        job_.note(fields_, "data fields that a log cannot say are left out");
        job_.note(without_length_, "messages without a length are left out");
        job_.note(without_tag_, "messages without a type that fits have the tag 0");
        job_.note(requests_, "requests without a number that fits are left out");
        job_.note(more_processes_, "further processes of a processor became threads");
        job_.note(without_begin_, "exits without an entry are left out");
        job_.note(overlapping_, "events that overlap others are ended with these");
        job_.note(open, "events have no exit");
    }

    ImportJob& job_;
    ImportedLog& log_;
    PiclReader* reader_ = nullptr;
    std::map<Location, Thread> threads_{};
    std::map<int64_t, std::string> labels_{};            // by event type
    std::map<int64_t, std::vector<int64_t>> subsets_{};  // of processors
    std::map<int64_t, uint32_t> places_{};               // by event type
    int64_t begin_ = 0;                                  // or earlier
    int64_t ranks_ = 1;
    uint64_t of_host_ = 0;
    uint64_t of_many_ = 0;
    uint64_t messages_ = 0;
    uint64_t labels_of_others_ = 0;
    uint64_t odd_subsets_ = 0;
    uint64_t process_subsets_ = 0;
    uint64_t event_subsets_ = 0;
    uint64_t statistics_ = 0;
    uint64_t unknown_ = 0;
    uint64_t unreadable_ = 0;
    uint64_t fields_ = 0;
    uint64_t without_length_ = 0;
    uint64_t without_tag_ = 0;
    uint64_t requests_ = 0;
    uint64_t more_processes_ = 0;
    uint64_t without_begin_ = 0;
    uint64_t overlapping_ = 0;
};

}  // namespace

Outcome import_picl(ImportJob* job) { return PiclImport(job).read(); }

}  // namespace dwell
