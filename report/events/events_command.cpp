// Writes a word into the record file of each rank of the host, which the ranks look at; see
// events_command.h.
#include "report/events/events_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "report/console/output.h"
#include "report/console/process.h"
#include "report/events/event_collector.h"
#include "report/events/last_events.h"
#include "report/events/shared_records.h"
#include "report/live/live_job.h"
#include "report/results/record_files.h"
#include "summarize/events/log_set.h"

namespace dwell {
namespace {

void give_order(FileHeader* header, const std::string& order) {
    if (order == "dump") {
        __atomic_fetch_add(&header->event_dumps, 1, __ATOMIC_RELEASE);
        return;
    }
    const EventOrder wanted = order == "on" ? EventOrder::kOn : EventOrder::kOff;
    __atomic_store_n(reinterpret_cast<uint32_t*>(&header->event_order),
                     static_cast<uint32_t>(wanted), __ATOMIC_RELEASE);
}

std::string ranks(size_t count) { return fmt::format("{} rank{}", count, count == 1 ? "" : "s"); }

struct Ordered {
    size_t ranks = 0;
    size_t without = 0;  // events
};
Ordered order_all(const std::string& directory, const std::string& order) {
    Ordered ordered;
    for (const RankFile& file : all_record_files(directory)) {
        SharedRecords records(directory + "/" + file.name);
        if (!records.are_there() || records.header().version != kRecordLayoutVersion) continue;
        FileHeader* const header = records.own_header();
        if (header->event_reader == 0 || !process_is_alive(header->event_reader)) {
            ordered.without += 1;
            continue;
        }
        give_order(header, order);
        ordered.ranks += 1;
    }
    return ordered;
}

// The ranks that did not reach their end, in the order in which they ended.
std::vector<uint32_t> unfinished_ranks(const std::string& directory) {
    std::vector<std::pair<uint64_t, uint32_t>> ends;
    for (const RankFile& file : all_record_files(directory)) {
        const auto header = read_header(directory + "/" + file.name);
        if (!header || header->state == FileState::kFinalized || header->rank < 0) continue;
        const uint64_t end = header->end_ticks != 0     ? header->end_ticks
                             : header->death_ticks != 0 ? header->death_ticks
                                                        : UINT64_MAX;
        ends.emplace_back(end, static_cast<uint32_t>(header->rank));
    }
    std::sort(ends.begin(), ends.end());
    std::vector<uint32_t> ranks;
    for (const auto& [end, rank] : ends) ranks.push_back(rank);
    return ranks;
}

// The logs of the job with records in `directory`: where its profile goes, or beside the records.
std::vector<std::string> logs_of_job(const std::string& directory, const std::string& out) {
    std::string job;
    std::string profile;
    for (const RankFile& file : all_record_files(directory)) {
        const auto header = read_header(directory + "/" + file.name);
        if (!header || !job.empty()) continue;
        job = text_in(header->job);
        profile = expected_profile_directory(out, text_in(header->program), job);
    }
    for (const std::string& place : {profile, directory}) {
        std::vector<std::string> logs = find_logs(place);
        std::erase_if(logs, [&](const std::string& path) {
            const auto log = EventLog::read(path);
            return !log || log->job() != job;
        });
        if (!logs.empty()) return logs;
    }
    return {};
}

}  // namespace

int events_command(const EventsOptions& options) {
    const auto directory = find_job(options.job, "events");
    if (!directory) {
        say(directory.error());
        return 1;
    }
    const auto [ordered, without] = order_all(*directory, options.order);
    if (without != 0) {
        say(ranks(without) + (without == 1 ? " of this host has" : " of this host have") +
            " no events: start the job with dwell run --events, or "
            "--events --events-window off");
    }
    if (ordered != 0) say("events " + options.order + " for " + ranks(ordered) + " of this host");
    return ordered != 0 ? 0 : 1;
}

void dump_events(const std::string& directory) { order_all(directory, "dump"); }

KeptEvents collect_left_events(const std::string& directory, const std::string& out) {
    EventCollector collector(out, EventWindow{}, EventRates{});
    collector.look(directory);
    KeptEvents kept;
    for (const CollectedEvents& events : collector.finish()) {
        if (events.words != 0) kept.lines.push_back("events: " + events.log);
        const std::string place = std::filesystem::path(events.log).parent_path().string();
        if (events.begins_later && find_logs(place).size() == 1)
            kept.lines.push_back(
                "events: those before are in the log of the dwell run that was killed: copy that "
                "beside this one, under another name that ends with .events");
        if (events.words == 0 && events.are_there)
            kept.lines.push_back(
                "events: dwell run or another dwell recover has taken them, into the log that it "
                "has written");
        const std::vector<std::string> losses = losses_of(events);
        kept.lines.insert(kept.lines.end(), losses.begin(), losses.end());
    }
    std::error_code none;
    const std::string before = directory + "/events";
    const bool has_others = std::filesystem::is_directory(before, none) &&
                            !find_logs(before).empty() &&
                            !std::filesystem::equivalent(directory, out, none);
    if (has_others)
        kept.lines.push_back("events: those that dwell run has written before are in " + before);
    const std::vector<uint32_t> ranks = unfinished_ranks(directory);
    if (!ranks.empty()) kept.last = last_events(logs_of_job(directory, out), ranks);
    return kept;
}

}  // namespace dwell
