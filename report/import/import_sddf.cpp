// dwell's own records in Pablo's format (docs/sddf.md): definitions first, then events by time.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string_view>

#include "report/import/importers.h"
#include "report/import/sddf_reader.h"
#include "runtime/contract/io_calls.h"
#include "runtime/contract/mpi_calls.h"
#include "summarize/formats/json_names.h"

namespace dwell {
namespace {

constexpr std::string_view kMarker = "marker ";
constexpr double kLargest = 9.2e18;  // below 2^63

class SddfImport {
  public:
    explicit SddfImport(ImportJob* job) : job_(*job), log_(*job->log), reader_(job->source) {}

    Outcome read() {
        SddfRecord record;
        while (reader_.next(&record)) {
            record_ = &record;
            if (!add(record.name())) break;
        }
        if (!reader_.error().empty()) return tl::make_unexpected(reader_.error());
        if (threads_.empty())
            return tl::make_unexpected(job_.source + ": dwell export has not written this");
        log_.set_world_size(ranks_);
        job_.note(others_, "procedures, loops and OpenMP constructs became blocks");
        job_.note(without_begin_, "ends without a beginning are left out");
        job_.note(measured_, "values of metrics and samples are left out");
        job_.note(unknown_, "records of types that are not dwell's are left out");
        return {};
    }

  private:
    struct Thread {
        uint32_t index = 0;
        uint64_t ns = 0;
        std::vector<int64_t> open{};  // places
    };

    // A whole number of the record; without one the record is damaged.
    int64_t number(const char* field) {
        const SddfValue* const value = record_->find(field);
        if (value == nullptr || value->numbers.size() != 1 ||
            std::abs(value->numbers[0]) > kLargest ||
            value->numbers[0] != std::floor(value->numbers[0])) {
            reader_.fail(std::string("the field \"") + field + "\" should be a whole number");
            return 0;
        }
        return static_cast<int64_t>(value->numbers[0]);
    }
    uint64_t natural(const char* field) {
        const int64_t value = number(field);
        if (value < 0) reader_.fail(std::string("the field \"") + field + "\" is below 0");
        return static_cast<uint64_t>(std::max(value, int64_t{0}));
    }
    std::string text(const char* field) {
        const SddfValue* const value = record_->find(field);
        if (value == nullptr) {
            reader_.fail(std::string("the field \"") + field + "\" is missing");
            return {};
        }
        return value->text == "-" ? "" : value->text;
    }
    uint32_t rank(const char* field) {
        const int64_t value = number(field);
        if (value >= int64_t{kEventNobody})
            reader_.fail("there is no rank " + std::to_string(value) + " in a log");
        return value < 0 ? kEventNobody : static_cast<uint32_t>(value);
    }
    uint32_t natural_up_to(const char* field, uint32_t most) {
        const uint64_t value = natural(field);
        if (value > most)
            reader_.fail(std::string("the field \"") + field + "\" is beyond " +
                         std::to_string(most));
        return static_cast<uint32_t>(value);
    }
    uint64_t message(const char* tag) {
        const uint32_t comm = natural_up_to("communicator", kEventCommMask);
        return event_message(comm, natural_up_to(tag, (1u << kEventTagBits) - 1));
    }

    bool add(const std::string& name) {
        if (name == "process") {
            define_process();
        } else if (name == "thread") {
            define_thread();
        } else if (name == "communicator") {
            define_comm();
        } else if (name == "place") {
            define_place();
        } else {
            add_event(name);
        }
        return reader_.error().empty();
    }

    void define_process() {
        const uint32_t own = rank("rank");
        if (own == kEventNobody) {
            reader_.fail("a process has a rank");
            return;
        }
        const auto begin = reader_.attributes().find("begin");
        if (begin != reader_.attributes().end()) log_.set_start(atoll(begin->second.c_str()));
        const auto ranks = reader_.attributes().find("ranks");
        if (ranks != reader_.attributes().end())
            ranks_ = static_cast<uint32_t>(
                std::clamp(atoll(ranks->second.c_str()), 1LL, 1LL << kPeerRankBits));
        ranks_ = std::max(ranks_, own + 1);
        processes_[number("process")] = {
            log_.add_process({.rank = own,
                              .pid = static_cast<int32_t>(number("pid")),
                              .host = text("host"),
                              .program = text("program")}),
            own};
    }

    void define_thread() {
        const auto process = processes_.find(number("process"));
        if (process == processes_.end()) {
            reader_.fail("this thread is of no process");
            return;
        }
        Thread thread;
        thread.index =
            log_.add_thread(process->second.first, static_cast<uint32_t>(natural("number")),
                            static_cast<int32_t>(number("tid")), text("name"));
        if (!threads_.emplace(number("thread"), thread).second)
            reader_.fail("this thread is there twice");
    }

    void define_comm() {
        const SddfValue* const members = record_->find("members");
        const auto id = static_cast<uint32_t>(natural("communicator"));
        if (members == nullptr || id == 0 || id > kEventCommMask) {
            reader_.fail("this is no communicator of dwell");
            return;
        }
        for (size_t i = 0; i < members->numbers.size(); ++i) {
            for (const auto& [number, process] : processes_) {
                if (process.second == members->numbers[i])
                    log_.add_comm(process.first, id, static_cast<int32_t>(i),
                                  static_cast<int32_t>(members->numbers.size()));
            }
        }
    }

    void define_place() {
        const std::string kind = text("kind");
        const std::string name = text("name");
        ImportedPlace place{SiteKind::kBlock, 0, name};
        if (kind == kind_name(SiteKind::kCommunication)) {
            for (uint16_t i = 1; i < kMpiCallCount; ++i) {
                if (name == kMpiCalls[i].name) place = {SiteKind::kCommunication, i};
            }
        } else if (kind == kind_name(SiteKind::kIo)) {
            for (uint16_t i = 1; i < kIoCallCount; ++i) {
                if (name == kIoCalls[i].name) place = {SiteKind::kIo, i};
            }
        } else if (kind == kind_name(SiteKind::kMarker)) {
            place.kind = SiteKind::kMarker;
        }
        place.file = text("file");
        place.line = static_cast<int>(natural("line"));
        const bool is_own =
            kind == kind_name(SiteKind::kBlock) || kind == kind_name(SiteKind::kSample);
        if (place.kind == SiteKind::kBlock && !is_own) {
            others_ += 1;
            if (name.empty()) place.name = kind;
        }
        places_[number("place")] = log_.add_place(place);
    }

    bool place_of_record(uint32_t* place) {
        const auto known = places_.find(number("place"));
        if (known == places_.end()) return reader_.fail("this place is not defined");
        *place = known->second;
        return true;
    }

    void add_event(const std::string& name) {
        const SddfValue* const seconds = record_->find("seconds");
        if (seconds == nullptr || record_->find("thread") == nullptr) {
            unknown_ += 1;
            return;
        }
        const auto found = threads_.find(number("thread"));
        if (found == threads_.end()) {
            reader_.fail("this thread is not defined");
            return;
        }
        Thread& thread = found->second;
        if (seconds->numbers.size() != 1 || seconds->numbers[0] < 0 || seconds->numbers[0] > 4e9) {
            reader_.fail("the time is impossible");
            return;
        }
        if (seconds->ns < thread.ns) {
            reader_.fail("the time of a thread goes back");
            return;
        }
        thread.ns = seconds->ns;
        uint32_t place = 0;
        if (name == "enter") {
            if (!place_of_record(&place)) return;
            log_.enter(thread.index, place, thread.ns);
            thread.open.push_back(number("place"));
        } else if (name == "leave") {
            leave(&thread);
        } else if (name.starts_with(kMarker)) {
            if (place_of_record(&place))
                log_.mark(thread.index, place, thread.ns, natural("volume"));
        } else {
            put(name, thread);
        }
    }

    void leave(Thread* thread) {
        auto& open = thread->open;
        const auto place = std::find(open.rbegin(), open.rend(), number("place"));
        if (place == open.rend()) {
            without_begin_ += 1;
            return;
        }
        for (auto i = place - open.rbegin(); i >= 0; --i) {
            log_.leave(thread->index, thread->ns);
            open.pop_back();
        }
    }

    void put(const std::string& name, const Thread& thread) {
        if (name == "counts" || name == "sample") {
            measured_ += 1;
            return;
        }
        const auto put_record = [&](EventKind kind, uint32_t what,
                                    std::initializer_list<uint64_t> values) {
            if (reader_.error().empty()) log_.put(thread.index, kind, what, thread.ns, values);
        };
        if (name == "send") {
            put_record(EventKind::kSend, rank("destination"), {natural("bytes"), message("tag")});
        } else if (name == "receive") {
            put_record(EventKind::kReceive, rank("source"), {natural("bytes"), message("tag")});
        } else if (name == "one-sided") {
            put_record(EventKind::kOneSided, rank("target"),
                       {natural("bytes put"), natural("bytes got")});
        } else if (name == "collective") {
            put_record(EventKind::kCollective, rank("root"),
                       {natural("bytes sent"), natural("bytes received"), message("number")});
        } else if (name == "request start" || name == "request end") {
            put_record(name == "request start" ? EventKind::kStart : EventKind::kComplete,
                       natural_up_to("request", kEventWhatMask), {});
        } else if (name == "I/O") {
            put_record(EventKind::kIo, 0, {natural("bytes read"), natural("bytes written")});
        } else if (name == "lost") {
            put_record(EventKind::kControl, static_cast<uint32_t>(EventControl::kGap),
                       {0, 0, natural("records")});
        } else if (name == "events off") {
            put_record(EventKind::kControl, static_cast<uint32_t>(EventControl::kOff), {});
        } else {
            unknown_ += 1;
        }
    }

    ImportJob& job_;
    ImportedLog& log_;
    SddfReader reader_;
    const SddfRecord* record_ = nullptr;
    uint32_t ranks_ = 1;
    std::map<int64_t, std::pair<uint32_t, uint32_t>> processes_{};  // index and rank, by number
    std::map<int64_t, Thread> threads_{};                           // by number
    std::map<int64_t, uint32_t> places_{};                          // by number
    uint64_t others_ = 0;
    uint64_t without_begin_ = 0;
    uint64_t measured_ = 0;
    uint64_t unknown_ = 0;
};

}  // namespace

Outcome import_sddf(ImportJob* job) { return SddfImport(job).read(); }

}  // namespace dwell
