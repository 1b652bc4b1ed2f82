// Numbers processes and locations; see trace_world.h.
#include "report/export/trace_world.h"

#include <algorithm>

namespace dwell {

// Processes of a second world, or without MPI, whose rank is taken, come after all ranks.
TraceWorld::TraceWorld(const Timeline& timeline) {
    const std::vector<TimelineProcess>& observed = timeline.processes();
    uint32_t ranks = timeline.world_size();
    for (const TimelineProcess& process : observed) ranks = std::max(ranks, process.rank + 1);
    process_of_.resize(timeline.threads().size());
    location_of_.resize(timeline.threads().size());
    is_main_.resize(timeline.threads().size());
    std::vector<uint32_t> first(ranks, kNotObserved);
    std::vector<uint32_t> others;
    by_rank_.resize(ranks);
    for (uint32_t rank = 0; rank < ranks; ++rank) by_rank_[rank] = rank;
    for (uint32_t i = 0; i < observed.size(); ++i) {
        uint32_t& of_rank = first[observed[i].rank];
        if (of_rank == kNotObserved) {
            of_rank = i;
        } else {
            others.push_back(i);
            by_rank_[observed[i].rank] = kNotObserved;
        }
    }
    for (uint32_t rank = 0; rank < ranks; ++rank) add(timeline, rank, first[rank]);
    for (const uint32_t process : others) add(timeline, observed[process].rank, process);
}

void TraceWorld::add(const Timeline& timeline, uint32_t rank, uint32_t process) {
    const auto number = static_cast<uint32_t>(processes_.size());
    TraceProcess added{rank, process, {kNotObserved}, locations_};
    if (process != kNotObserved) {
        const TimelineProcess& of = timeline.processes()[process];
        std::vector<std::pair<uint32_t, uint32_t>> by_number;
        for (uint32_t i = 0; i < timeline.threads().size(); ++i) {
            const TimelineThread& thread = timeline.threads()[i];
            if (thread.process != process) continue;
            process_of_[i] = number;
            if (thread.number == of.main_thread) {
                added.threads[0] = i;
                is_main_[i] = 1;
                location_of_[i] = locations_;
            } else {
                by_number.emplace_back(thread.number, i);
            }
        }
        std::sort(by_number.begin(), by_number.end());
        for (const auto& [thread_number, thread] : by_number) {
            location_of_[thread] = locations_ + static_cast<uint32_t>(added.threads.size());
            added.threads.push_back(thread);
        }
    }
    locations_ += static_cast<uint32_t>(added.threads.size());
    const std::string host = process == kNotObserved ? "" : timeline.processes()[process].host;
    const auto known = std::find(hosts_.begin(), hosts_.end(), host);
    host_of_.push_back(static_cast<uint32_t>(known - hosts_.begin()));
    if (known == hosts_.end()) hosts_.push_back(host);
    processes_.push_back(std::move(added));
}

}  // namespace dwell
