// What an EPILOG file defines before its events: the first of two passes over a timeline.
#ifndef DWELL_REPORT_EXPORT_EPILOG_SURVEY_H_
#define DWELL_REPORT_EXPORT_EPILOG_SURVEY_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "report/events/message_channels.h"
#include "report/export/epilog_file.h"
#include "report/export/trace_world.h"

namespace dwell {

// The messages from one rank to another with a communicator and tag. The n-th send meets the n-th
// receive (MPI 3.5).
struct EpilogChannel {
    uint64_t sends = 0;
    uint64_t receives = 0;
    uint64_t sent = 0;        // so far, in the second pass
    uint64_t received = 0;    // the same
    bool is_mixed = false;    // other threads than the main ones take part
    bool is_waiting = false;  // a receive waits for its send
};
struct EpilogMessage {
    uint32_t from;  // processes of TraceWorld
    uint32_t to;
    uint32_t comm;
    EpilogChannel* channel;
};
struct EpilogRegionRow {
    std::string name;
    uint32_t file;  // index, or kEpilogNone
    uint32_t line;  // or kEpilogNone
    EpilogRegion type;
};
struct EpilogCallSite {
    uint32_t file;
    uint32_t line;
    uint32_t callee;  // regions
    uint32_t caller;  // or kEpilogNone
};

class EpilogSurvey {
  public:
    EpilogSurvey(Timeline* timeline, const TraceWorld& world);

    // An error where a value does not fit into the format.
    Outcome run();

    const std::vector<std::string>& files() const { return files_; }
    const std::vector<EpilogRegionRow>& regions() const { return regions_; }
    const std::vector<EpilogCallSite>& call_sites() const { return call_sites_; }
    // By communicator: a bit for each rank of MPI_COMM_WORLD.
    const std::vector<std::vector<uint8_t>>& groups() const { return groups_; }

    uint32_t region_of(uint32_t place) const { return places_[place].region; }
    // kEpilogNone: the place is no call, or its line is not known.
    uint32_t call_site_of(uint32_t place, uint32_t caller) const {
        const Place& of = places_[place];
        if (of.caller == caller) [[likely]]
            return of.call_site;
        const auto known = call_site_ids_.find({of.file, of.line, of.region, caller});
        return known == call_site_ids_.end() ? kEpilogNone : known->second;
    }
    bool is_fork(uint32_t place) const { return places_[place].is_fork; }
    bool is_exclusive(uint32_t place) const { return places_[place].is_exclusive; }
    bool is_idle(uint32_t place) const { return places_[place].is_idle; }
    bool is_collective(uint32_t place) const { return places_[place].is_collective; }

    // False: the partner is in no rank of the world, or in several.
    bool message(const TimelineEvent& event, EpilogMessage* message);
    uint32_t comm_of(uint32_t id, uint32_t process) const;
    // The location of the root of a collective; kEpilogNone: none, or not known.
    uint32_t root_of(const TimelineEvent& event) const;

  private:
    struct Place {
        uint32_t region = kEpilogNone;
        uint32_t file = kEpilogNone;  // of a call
        uint32_t line = 0;
        uint32_t caller = kEpilogNone;  // region of the first one
        uint32_t call_site = kEpilogNone;
        bool is_call = false;
        bool is_fork = false;
        bool is_exclusive = false;  // a section that one thread at a time is in
        bool is_idle = false;
        bool is_collective = false;
    };
    void add_place(uint32_t place);
    void add_call(uint32_t place, uint32_t caller);
    void add_message(const TimelineEvent& event);
    void add_collective(const TimelineEvent& event, uint32_t place);
    void add_user(uint32_t id, uint32_t process);
    void check(uint64_t bytes, const TimelineEvent& event);
    uint64_t comm_key(uint32_t id, uint32_t process) const;
    uint32_t file_id(const std::string& name);

    Timeline& timeline_;
    const TraceWorld& world_;
    std::vector<Place> places_;
    std::vector<std::string> files_;
    std::map<std::string, uint32_t> file_ids_;
    std::vector<EpilogRegionRow> regions_;
    std::map<std::tuple<std::string, uint32_t, uint32_t, EpilogRegion>, uint32_t> region_ids_;
    std::vector<EpilogCallSite> call_sites_;
    std::map<std::array<uint32_t, 4>, uint32_t> call_site_ids_;
    std::unordered_map<uint32_t, const TimelineComm*> known_comms_;
    std::unordered_map<uint64_t, uint32_t> comm_ids_;
    std::vector<std::vector<uint8_t>> groups_;
    std::unordered_map<ChannelKey, EpilogChannel, ChannelKey::Hash> channels_;
    std::string error_;
};

}  // namespace dwell

#endif  // DWELL_REPORT_EXPORT_EPILOG_SURVEY_H_
