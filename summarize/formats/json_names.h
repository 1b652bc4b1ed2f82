// The words for kinds, states and flags in profile.json and the CSV, shared by the writers and the
// reader.
#ifndef DWELL_SUMMARIZE_FORMATS_JSON_NAMES_H_
#define DWELL_SUMMARIZE_FORMATS_JSON_NAMES_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "runtime/contract/record_layout.h"
#include "summarize/merge/merged.h"
#include "summarize/model/profile.h"

namespace dwell {

// Indexed by SiteKind (DESIGN 6: the words of the CSV column `kind`).
constexpr std::array<std::string_view, 12> kKindNames = {"none",  "program", "proc",     "loop",
                                                         "call",  "comm",    "omp",      "io",
                                                         "block", "marker",  "interval", "sample"};
inline std::string_view kind_name(SiteKind kind) {
    const auto index = static_cast<size_t>(kind);
    return index < kKindNames.size() ? kKindNames[index] : kKindNames[0];
}

// Indexed by FileState.
constexpr std::array<std::string_view, 5> kStateNames = {"unknown", "running", "finalized",
                                                         "aborted", "exited"};

// Indexed by ProfileGrid::by_mpi.
constexpr std::array<std::string_view, 2> kGridSources = {"program", "mpi"};

struct BitName {
    uint32_t bit;
    std::string_view name;
};
constexpr std::array<BitName, 18> kLabelNames = {{{kLabelEstimated, "estimated"},
                                                  {kLabelFolded, "folded"},
                                                  {kLabelNoLine, "no_line"},
                                                  {kLabelTailCall, "tail_call"},
                                                  {kLabelLineUnknown, "line_unknown"},
                                                  {kLabelInlined, "inlined"},
                                                  {kLabelProbed, "probed"},
                                                  {kLabelReduced, "reduced"},
                                                  {kLabelCounted, "counted"},
                                                  {kLabelRecursive, "recursive"},
                                                  {kLabelAbandoned, "abandoned"},
                                                  {kLabelPhase, "phase"},
                                                  {kLabelMoreFiles, "more_files"},
                                                  {kLabelAtLeast, "at_least"},
                                                  {kLabelGuessed, "guessed"},
                                                  {kLabelOrAfter, "in_or_after"},
                                                  {kLabelCallersUnknown, "callers_unknown"},
                                                  {kLabelSystem, "system"}}};
constexpr std::array<BitName, 28> kFileFlagNames = {{{kFileFull, "full"},
                                                     {kFileNoUnwinder, "no_unwinder"},
                                                     {kFileNoSampling, "no_sampling"},
                                                     {kFileSerial, "serial"},
                                                     {kFileSpawned, "spawned"},
                                                     {kFileWaits, "waits"},
                                                     {kFileOrder, "order"},
                                                     {kFileNoBytes, "no_bytes"},
                                                     {kFileShares, "shares_processors"},
                                                     {kFileCutPaths, "cut_paths"},
                                                     {kFileGomp, "libgomp"},
                                                     {kFileSitesOff, "sites_off"},
                                                     {kFileMultiplexed, "multiplexed"},
                                                     {kFileExchanged, "omp_exchanged"},
                                                     {kFileNoHolds, "omp_no_holds"},
                                                     {kFileOmptOff, "omp_tool_off"},
                                                     {kFileOtherTool, "omp_other_tool"},
                                                     {kFileReplaced, "replaced"},
                                                     {kFileNamesFull, "names_full"},
                                                     {kFileModulesFull, "modules_full"},
                                                     {kFileDamaged, "damaged"},
                                                     {kFileInInit, "in_init"},
                                                     {kFilePairsFull, "pairs_full"},
                                                     {kFileFewFiles, "few_files"},
                                                     {kFileNoQueue, "no_queue"},
                                                     {kFileIo, "io"},
                                                     {kFileEndSeen, "end_seen"},
                                                     {kFileEndGuessed, "end_guessed"}}};
constexpr std::array<BitName, 7> kMergedFlagNames = {{{kMergedRowsDropped, "rows_dropped"},
                                                      {kMergedPartial, "partial"},
                                                      {kMergedPlacesDropped, "places_dropped"},
                                                      {kMergedGridsDropped, "grids_dropped"},
                                                      {kMergedSamplesDropped, "samples_dropped"},
                                                      {kMergedAxisDropped, "axis_dropped"},
                                                      {kMergedEventsMissing, "events_missing"}}};

// The figures of the operating system, in the order of `ranks` in profile.json.
struct UsageName {
    uint64_t ProcessUsage::*figure;
    const char* name;
};
constexpr std::array<UsageName, 13> kUsageNames = {
    {{&ProcessUsage::user_ns, "user_ns"},
     {&ProcessUsage::system_ns, "system_ns"},
     {&ProcessUsage::peak_memory_bytes, "peak_memory_bytes"},
     {&ProcessUsage::minor_faults, "minor_faults"},
     {&ProcessUsage::major_faults, "major_faults"},
     {&ProcessUsage::voluntary_switches, "voluntary_switches"},
     {&ProcessUsage::involuntary_switches, "involuntary_switches"},
     {&ProcessUsage::read_bytes, "read_bytes"},
     {&ProcessUsage::written_bytes, "written_bytes"},
     {&ProcessUsage::reads, "reads"},
     {&ProcessUsage::writes, "writes"},
     {&ProcessUsage::storage_read_bytes, "storage_read_bytes"},
     {&ProcessUsage::storage_written_bytes, "storage_written_bytes"}}};
static_assert(sizeof(ProcessUsage) == kUsageNames.size() * sizeof(uint64_t),
              "a figure is left out");

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_FORMATS_JSON_NAMES_H_
