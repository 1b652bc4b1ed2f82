// Joins the parts of each process; see log_set.h.
#include "summarize/events/log_set.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace dwell {
namespace {

bool is_same(const FileHeader& a, const FileHeader& b) {
    return a.pid == b.pid && a.rank == b.rank && a.start_ticks == b.start_ticks &&
           strncmp(a.host, b.host, sizeof a.host) == 0;
}

// Adds what the later part knows. Of what both have the later state counts.
bool join(LogProcess* into, const LogProcess& from) {
    if (from.header.magic != 0) into->header = from.header;
    if (!into->cells.resize(from.cells.size())) return false;
    for (const CellRun& run : from.runs) {
        const size_t begin = size_t{run.first} * kCellBytes;
        memcpy(into->cells.data() + begin, from.cells.data() + begin,
               size_t{run.cells} * kCellBytes);
        std::vector<CellIndex>& used = into->used[static_cast<size_t>(run.use)];
        if (std::find(used.begin(), used.end(), run.first) == used.end()) used.push_back(run.first);
    }
    into->runs.insert(into->runs.end(), from.runs.begin(), from.runs.end());
    into->comms.insert(into->comms.end(), from.comms.begin(), from.comms.end());
    into->levels.insert(into->levels.end(), from.levels.begin(), from.levels.end());
    into->filter += from.filter;
    into->is_filtered = into->is_filtered || from.is_filtered;
    return true;
}

SetThread& thread_of(SetProcess* process, uint32_t number) {
    for (SetThread& thread : process->threads) {
        if (thread.number == number) return thread;
    }
    return process->threads.emplace_back(SetThread{number, {}});
}

}  // namespace

std::vector<std::string> find_logs(const std::string& place) {
    namespace fs = std::filesystem;
    std::vector<std::string> logs;
    std::error_code error;
    if (!fs::is_directory(place, error)) {
        logs.push_back(place);
        const std::string stem = place.substr(0, place.size() - strlen(kEventLogSuffix));
        for (int number = 2; place.ends_with(kEventLogSuffix); ++number) {
            const std::string next = stem + "." + std::to_string(number) + kEventLogSuffix;
            if (!fs::exists(next, error)) break;
            logs.push_back(next);
        }
        return logs;
    }
    for (const fs::path& directory : {fs::path(place) / "events", fs::path(place)}) {
        for (const auto& entry : fs::directory_iterator(directory, error)) {
            if (entry.path().extension() == kEventLogSuffix) logs.push_back(entry.path().string());
        }
        if (!logs.empty()) break;
    }
    std::sort(logs.begin(), logs.end());
    return logs;
}

tl::expected<LogSet, std::string> LogSet::open(const std::vector<std::string>& paths) {
    LogSet set;
    for (const std::string& path : paths) {
        auto log = EventLog::read(path);
        if (!log) return tl::make_unexpected(log.error());
        const std::string job = set.logs_.empty() ? log->job() : set.logs_.front()->job();
        if (log->job() != job)
            return tl::make_unexpected(path + ": this log is of another job than " +
                                       set.logs_.front()->path());
        set.logs_.push_back(std::make_unique<EventLog>(std::move(*log)));
        if (!set.add(set.logs_.back().get()))
            return tl::make_unexpected(path + ": there is no memory for it");
    }
    std::stable_sort(set.processes_.begin(), set.processes_.end(),
                     [](const SetProcess& a, const SetProcess& b) {
                         return a.records.header.rank < b.records.header.rank;
                     });
    for (SetProcess& process : set.processes_) {
        std::sort(process.threads.begin(), process.threads.end(),
                  [](const SetThread& a, const SetThread& b) { return a.number < b.number; });
        for (SetThread& thread : process.threads) {
            std::stable_sort(thread.blocks.begin(), thread.blocks.end(),
                             [](const SetBlock& a, const SetBlock& b) {
                                 return a.block.first_word < b.block.first_word;
                             });
        }
    }
    return set;
}

void LogSet::keep(const NewestWords& newest) {
    std::erase_if(processes_, [&](const SetProcess& process) {
        return std::find(newest.ranks.begin(), newest.ranks.end(),
                         static_cast<uint32_t>(process.records.header.rank)) == newest.ranks.end();
    });
    for (SetProcess& process : processes_) {
        for (SetThread& thread : process.threads) {
            uint64_t words = 0;
            auto first = thread.blocks.end();
            while (first != thread.blocks.begin() && words < newest.words)
                words += (--first)->block.words;
            thread.blocks.erase(thread.blocks.begin(), first);
        }
    }
}

bool LogSet::add(EventLog* log) {
    bytes_cut_ += log->bytes_cut();
    unfinished_ += log->was_closed() ? 0 : 1;
    for (LogProcess& part : log->processes()) {
        if (part.header.ticks_per_second == 0) {
            undescribed_ += 1;
            continue;
        }
        const std::vector<LogThread> threads = std::move(part.threads);
        auto known = std::find_if(
            processes_.begin(), processes_.end(),
            [&](const SetProcess& other) { return is_same(other.records.header, part.header); });
        if (known != processes_.end()) {
            if (!join(&known->records, part)) return false;
        } else {
            processes_.push_back({std::move(part), {}});
            known = processes_.end() - 1;
        }
        for (const LogThread& thread : threads) {
            for (const LogBlock& block : thread.blocks)
                thread_of(&*known, thread.number).blocks.push_back({log, block});
        }
    }
    return true;
}

}  // namespace dwell
