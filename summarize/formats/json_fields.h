// Tables of the plain fields in profile.json, used by both writer and reader so that they agree.
// Fields with their own form (trees, partners, grids) are code in both.
#ifndef DWELL_SUMMARIZE_FORMATS_JSON_FIELDS_H_
#define DWELL_SUMMARIZE_FORMATS_JSON_FIELDS_H_

#include <iterator>
#include <tuple>

#include "summarize/formats/json_names.h"
#include "summarize/model/profile.h"

namespace dwell {

enum class Presence {
    kNeeded,    // the reader rejects an item without it
    kOptional,  // always written
    kUnlessZero,
    kUnlessNone,  // not written for UINT64_MAX (no minimum) and kNoNode
    kNull,        // kNoNode is written as null
};

template <typename Item, typename Value>
struct Field {
    const char* name;
    Value Item::*value;
    Presence presence = Presence::kOptional;
};
template <typename Item, typename Value>
Field(const char*, Value Item::*) -> Field<Item, Value>;
template <typename Item, typename Value>
Field(const char*, Value Item::*, Presence) -> Field<Item, Value>;

// A bit set, written as a list of words.
template <typename Item, typename Names>
struct Bits {
    const char* name;
    uint32_t Item::*value;
    const Names* names;
};
template <typename Item, typename Names>
Bits(const char*, uint32_t Item::*, const Names*) -> Bits<Item, Names>;
// A number, written as the word of a list.
template <typename Item, typename Value, typename Words>
struct Word {
    const char* name;
    Value Item::*value;
    const Words* words;
};
template <typename Item, typename Value, typename Words>
Word(const char*, Value Item::*, const Words*) -> Word<Item, Value, Words>;

constexpr Presence kNeeded = Presence::kNeeded;
constexpr Presence kOmitZero = Presence::kUnlessZero;

constexpr std::tuple kProfileFields{Field{"version", &Profile::version, kNeeded},
                                    Field{"job", &Profile::job, kNeeded},
                                    Field{"world_size", &Profile::world_size, kNeeded},
                                    Bits{"flags", &Profile::merged_flags, &kMergedFlagNames},
                                    Field{"ending", &Profile::ending, kOmitZero},
                                    Field{"watchdog", &Profile::watchdog, kOmitZero},
                                    Field{"last_events", &Profile::last_events, kOmitZero},
                                    Field{"total_ns", &Profile::total_ns, kNeeded},
                                    Field{"computation_ns", &Profile::computation_ns, kNeeded},
                                    Field{"transfer_ns", &Profile::transfer_ns, kNeeded},
                                    Field{"blocked_ns", &Profile::blocked_ns, kNeeded},
                                    Field{"sync_ns", &Profile::sync_ns},
                                    Field{"omp_wait_ns", &Profile::omp_wait_ns},
                                    Field{"omp_idle_ns", &Profile::omp_idle_ns},
                                    Field{"io_ns", &Profile::io_ns},
                                    Field{"paused_ns", &Profile::paused_ns, kNeeded}};

constexpr std::tuple kSitesFields{Field{"procedures", &ProfileSites::procedures},
                                  Field{"procedures_probed", &ProfileSites::procedures_probed},
                                  Field{"loops", &ProfileSites::loops},
                                  Field{"loops_probed", &ProfileSites::loops_probed}};

constexpr std::tuple kRankFields{Field{"rank", &ProfileRank::rank, kNeeded},
                                 Field{"pid", &ProfileRank::pid},
                                 Field{"host", &ProfileRank::host, kNeeded},
                                 Field{"program", &ProfileRank::program, kNeeded},
                                 Field{"command", &ProfileRank::command, kNeeded},
                                 Word{"state", &ProfileRank::state, &kStateNames},
                                 Bits{"flags", &ProfileRank::flags, &kFileFlagNames},
                                 Field{"exit_code", &ProfileRank::exit_code},
                                 Field{"threads", &ProfileRank::threads},
                                 Field{"sample_hz", &ProfileRank::sample_hz},
                                 Field{"callpath_depth", &ProfileRank::callpath_depth},
                                 Field{"processors", &ProfileRank::processors},
                                 Field{"first_processor", &ProfileRank::first_processor},
                                 Field{"start_unix_ns", &ProfileRank::start_unix_ns},
                                 Field{"real_ns", &ProfileRank::real_ns, kNeeded},
                                 Field{"intrusion_ns", &ProfileRank::intrusion_ns},
                                 Field{"own_ns", &ProfileRank::own_ns},
                                 Field{"injected_ns", &ProfileRank::injected_ns},
                                 Field{"paused_ns", &ProfileRank::paused_ns},
                                 Field{"call_cost_ns", &ProfileRank::call_cost_ns},
                                 Field{"record_bytes", &ProfileRank::record_bytes},
                                 Field{"samples", &ProfileRank::samples},
                                 Field{"samples_in_calls", &ProfileRank::samples_in_calls},
                                 Field{"samples_lost", &ProfileRank::samples_lost},
                                 Field{"folded_paths", &ProfileRank::folded_paths},
                                 Field{"files_unnamed", &ProfileRank::files_unnamed},
                                 Field{"io_unobserved", &ProfileRank::io_unobserved},
                                 Field{"dropped", &ProfileRank::dropped},
                                 Field{"guessed", &ProfileRank::guessed},
                                 Field{"clock_errors", &ProfileRank::clock_errors},
                                 Field{"clock_offset_ns", &ProfileRank::clock_offset_ns},
                                 Field{"clock_drift_ns", &ProfileRank::clock_drift_ns},
                                 Field{"clock_bound_ns", &ProfileRank::clock_bound_ns},
                                 Field{"order_kept", &ProfileRank::order_kept},
                                 Field{"order_far", &ProfileRank::order_remote},
                                 Field{"order_posted", &ProfileRank::order_posted},
                                 Field{"order_unknown", &ProfileRank::order_unknown},
                                 Field{"queued_ns", &ProfileRank::queued_ns},
                                 Field{"queued_call_ns", &ProfileRank::queued_call_ns},
                                 Field{"stalls_dropped", &ProfileRank::stalls_dropped},
                                 Field{"threads_served", &ProfileRank::threads_served},
                                 Field{"probes", &ProfileRank::probes},
                                 Field{"probes_missed", &ProfileRank::probes_missed},
                                 Field{"probes_dropped", &ProfileRank::probes_dropped},
                                 Field{"threads_cut", &ProfileRank::threads_cut},
                                 Field{"usage_ns", &ProfileRank::usage_ns}};

// The fields before and after the figures (figures.h).
constexpr std::tuple kNodeHeadFields{Word{"kind", &ProfileNode::kind, &kKindNames},
                                     Field{"name", &ProfileNode::name, kNeeded},
                                     Field{"file", &ProfileNode::file, kNeeded},
                                     Field{"line", &ProfileNode::line, kNeeded},
                                     Field{"module", &ProfileNode::module},
                                     Bits{"labels", &ProfileNode::labels, &kLabelNames},
                                     Field{"call", &ProfileNode::call},
                                     Field{"parent", &ProfileNode::parent, Presence::kNull},
                                     Field{"children", &ProfileNode::children}};
constexpr std::tuple kNodeFields{Field{"computation_ns", &ProfileNode::computation_ns, kNeeded},
                                 Field{"samples", &ProfileNode::samples},
                                 Field{"ranks", &ProfileNode::ranks},
                                 Field{"rank_min_ns", &ProfileNode::rank_min_ns},
                                 Field{"rank_min", &ProfileNode::rank_min},
                                 Field{"rank_max_ns", &ProfileNode::rank_max_ns},
                                 Field{"rank_max", &ProfileNode::rank_max},
                                 Field{"messages", &ProfileNode::messages},
                                 Field{"io_file", &ProfileNode::io_file, kOmitZero}};

constexpr std::tuple kPhaseFields{Field{"first", &PhaseNumbers::first, kNeeded},
                                  Field{"last", &PhaseNumbers::last, kNeeded},
                                  Field{"last_behind", &PhaseNumbers::last_behind, kNeeded},
                                  Field{"rank_behind", &PhaseNumbers::rank_behind, kNeeded}};

constexpr std::tuple kRowFields{Field{"node", &ProfileRow::node, kNeeded},
                                Field{"rank", &ProfileRow::rank, kNeeded},
                                Field{"thread", &ProfileRow::thread, kNeeded},
                                Field{"computation_ns", &ProfileRow::computation_ns, kOmitZero}};

constexpr std::tuple kThreadFields{
    Field{"rank", &ProfileThread::rank, kNeeded}, Field{"thread", &ProfileThread::thread, kNeeded},
    Field{"served", &ProfileThread::served, kNeeded}, Field{"name", &ProfileThread::name, kNeeded}};

constexpr std::tuple kLineFields{Field{"function", &SampledLine::function, kNeeded},
                                 Field{"file", &SampledLine::file, kNeeded},
                                 Field{"line", &SampledLine::line, kNeeded},
                                 Field{"samples", &SampledLine::samples, kNeeded},
                                 Field{"node", &SampledLine::node, kNeeded},
                                 Field{"system", &SampledLine::system, kOmitZero}};

constexpr std::tuple kIntervalFields{
    Field{"from", &ProfileInterval::from, Presence::kNull},
    Field{"to", &ProfileInterval::to, Presence::kNull},
    Field{"booked_on", &ProfileInterval::booked_on, Presence::kNull},
    Field{"count", &ProfileInterval::count},
    Field{"time_ns", &ProfileInterval::time_ns},
    Field{"min_ns", &ProfileInterval::min_ns, Presence::kUnlessNone},
    Field{"max_ns", &ProfileInterval::max_ns},
    Field{"in_or_after", &ProfileInterval::or_after, kOmitZero}};

constexpr std::tuple kPeerFields{Field{"node", &ProfilePeer::node, kNeeded},
                                 Field{"rank", &ProfilePeer::rank, kNeeded},
                                 Field{"count", &ProfilePeer::count, kOmitZero},
                                 Field{"time_ns", &ProfilePeer::time_ns, kOmitZero},
                                 Field{"sync_ns", &ProfilePeer::sync_ns, kOmitZero},
                                 Field{"bytes_sent", &ProfilePeer::bytes_sent, kOmitZero},
                                 Field{"bytes_received", &ProfilePeer::bytes_received, kOmitZero},
                                 Field{"min_ns", &ProfilePeer::min_ns, Presence::kUnlessNone},
                                 Field{"max_ns", &ProfilePeer::max_ns, kOmitZero}};

constexpr std::tuple kDistanceFields{Field{"node", &MergedDistance::node, kNeeded},
                                     Field{"pairs", &MergedDistance::pairs},
                                     Field{"count", &MergedDistance::count},
                                     Field{"time_ns", &MergedDistance::time_ns},
                                     Field{"sync_ns", &MergedDistance::sync_ns},
                                     Field{"bytes_sent", &MergedDistance::bytes_sent},
                                     Field{"bytes_received", &MergedDistance::bytes_received}};

// The fields that partners and causes share.
template <typename Waiting>
constexpr std::tuple kWaitingFields{
    Field{"interval", &Waiting::interval, Presence::kNull}, Field{"count", &Waiting::count},
    Field{"time_ns", &Waiting::time_ns}, Field{"passed_on_ns", &Waiting::passed_on_ns, kOmitZero},
    Field{"lost_ns", &Waiting::lost_ns, kOmitZero}};

constexpr std::tuple kPartnerFields{Field{"node", &ProfilePartner::node, kNeeded},
                                    Field{"max_ns", &ProfilePartner::max_ns, kOmitZero}};

constexpr std::tuple kStallFields{Field{"interval", &ProfileStall::interval, kNeeded},
                                  Field{"rank", &ProfileStall::rank, kNeeded},
                                  Field{"io_node", &ProfileStall::io_node, Presence::kUnlessNone},
                                  Field{"count", &ProfileStall::count},
                                  Field{"time_ns", &ProfileStall::time_ns},
                                  Field{"io_ns", &ProfileStall::io_ns, kOmitZero},
                                  Field{"asleep_ns", &ProfileStall::asleep_ns, kOmitZero},
                                  Field{"queued_ns", &ProfileStall::queued_ns, kOmitZero},
                                  Field{"kernel_ns", &ProfileStall::kernel_ns, kOmitZero}};

constexpr std::tuple kGridFields{
    Field{"name", &ProfileGrid::name, kNeeded}, Word{"by", &ProfileGrid::by_mpi, &kGridSources},
    Field{"sizes", &ProfileGrid::sizes}, Field{"periodic", &ProfileGrid::periodic},
    Field{"described_by", &ProfileGrid::ranks, kNeeded}};

constexpr std::tuple kLeftOutFields{
    Word{"kind", &LeftOutSite::kind, &kKindNames}, Field{"name", &LeftOutSite::name, kNeeded},
    Field{"file", &LeftOutSite::file, kNeeded}, Field{"line", &LeftOutSite::line, kNeeded},
    Field{"reason", &LeftOutSite::reason, kNeeded}};

constexpr std::tuple kMetricsFields{Field{"missing", &ProfileMetrics::missing},
                                    Field{"unwatched_threads", &ProfileMetrics::unwatched_threads},
                                    Field{"no_room_threads", &ProfileMetrics::no_room_threads},
                                    Field{"lost_threads", &ProfileMetrics::lost_threads},
                                    Field{"lost_ns", &ProfileMetrics::lost_ns},
                                    Field{"left_out", &ProfileMetrics::left_out},
                                    Field{"read_ns", &ProfileMetrics::read_ns},
                                    Field{"least_ns", &ProfileMetrics::least_ns}};

constexpr std::tuple kCountsFields{Field{"node", &ProfileCounts::node, kNeeded},
                                   Field{"entries", &ProfileCounts::entries, kNeeded},
                                   Field{"time_ns", &ProfileCounts::time_ns, kNeeded},
                                   Field{"own", &ProfileCounts::own},
                                   Field{"inclusive", &ProfileCounts::inclusive}};

constexpr std::tuple kCountRowFields{Field{"rank", &ProfileCounts::rank, kNeeded},
                                     Field{"thread", &ProfileCounts::thread, kNeeded}};

// Of a bin each figure is a list: sum over ranks, least and most of one; of a row it is a number.
// Zeros are left out.
struct AxisFigureName {
    const char* name;
    uint64_t AxisFigures::*figure;
};
constexpr AxisFigureName kAxisFigureNames[] = {
    {"computation_ns", &AxisFigures::computation_ns}, {"transfer_ns", &AxisFigures::transfer_ns},
    {"waiting_ns", &AxisFigures::waiting_ns},         {"omp_wait_ns", &AxisFigures::omp_wait_ns},
    {"omp_idle_ns", &AxisFigures::omp_idle_ns},       {"io_ns", &AxisFigures::io_ns},
    {"bytes_sent", &AxisFigures::bytes_sent}};
static_assert(std::size(kAxisFigureNames) == std::size(kAxisFigures));

constexpr std::tuple kAxisFields{Field{"start_unix_ns", &ProfileAxis::start_unix_ns, kNeeded},
                                 Field{"width_ns", &ProfileAxis::width_ns, kNeeded},
                                 Field{"missing_threads", &ProfileAxis::missing_threads}};
constexpr std::tuple kBinFields{Field{"bin", &ProfileBin::number, kNeeded},
                                Field{"ranks", &ProfileBin::ranks, kNeeded},
                                Field{"phase", &ProfileBin::phase, Presence::kUnlessNone}};
constexpr std::tuple kBinRowFields{Field{"bin", &ProfileBinRow::number, kNeeded},
                                   Field{"rank", &ProfileBinRow::rank, kNeeded}};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_FORMATS_JSON_FIELDS_H_
