// The words that profile.json and the CSV use for kinds, states and flags: shared by the writers
// and the reader, so that they cannot disagree.
#ifndef DWELL_SUMMARIZE_JSON_NAMES_H_
#define DWELL_SUMMARIZE_JSON_NAMES_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "runtime/record_layout.h"
#include "summarize/merged.h"
#include "summarize/profile.h"

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

struct BitName {
    uint32_t bit;
    std::string_view name;
};
constexpr std::array<BitName, 10> kLabelNames = {{{kLabelEstimated, "estimated"},
                                                  {kLabelFolded, "folded"},
                                                  {kLabelNoLine, "no_line"},
                                                  {kLabelTailCall, "tail_call"},
                                                  {kLabelLineUnknown, "line_unknown"},
                                                  {kLabelProbed, "probed"},
                                                  {kLabelReduced, "reduced"},
                                                  {kLabelCounted, "counted"},
                                                  {kLabelRecursive, "recursive"},
                                                  {kLabelAbandoned, "abandoned"}}};
constexpr std::array<BitName, 5> kFileFlagNames = {{{kFileFull, "full"},
                                                    {kFileNoUnwinder, "no_unwinder"},
                                                    {kFileNoSampling, "no_sampling"},
                                                    {kFileSerial, "serial"},
                                                    {kFileSpawned, "spawned"}}};
constexpr std::array<BitName, 2> kMergedFlagNames = {
    {{kMergedRowsDropped, "rows_dropped"}, {kMergedPartial, "partial"}}};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_JSON_NAMES_H_
