// Writes the run over time as CSV.
#include <fmt/format.h>

#include "summarize/formats/csv_fields.h"
#include "summarize/formats/json_fields.h"
#include "summarize/formats/write_csv.h"

namespace dwell {
namespace {

std::string row_of(const ProfileAxis& axis, uint64_t number, const std::string& rank,
                   const std::string& phase, const AxisFigures& figures) {
    std::string row = fmt::format("{},{},{},{}", csv_seconds(number * axis.width_ns),
                                  csv_seconds(axis.width_ns), rank, csv_field(phase));
    for (uint64_t AxisFigures::*figure : kAxisFigures) {
        const bool bytes = figure == &AxisFigures::bytes_sent;
        row += "," + (bytes ? fmt::format("{}", figures.*figure) : csv_seconds(figures.*figure));
    }
    return row + "\r\n";
}

}  // namespace

tl::expected<std::string, std::string> write_axis_csv(const Profile& profile, bool per_rank) {
    if (per_rank && (profile.merged_flags & (kMergedRowsDropped | kMergedAxisDropped)) != 0) {
        return tl::unexpected<std::string>(
            "this profile holds no figures per rank over time: the job was over the row limit "
            "(run again with a higher DWELL_ROW_LIMIT, or leave out --per-rank)");
    }
    const ProfileAxis& axis = profile.axis;
    std::string out =
        "start_s,width_s,rank,phase,computation_s,transfer_s,waiting_s,omp_wait_s,omp_idle_s,io_s,"
        "bytes_sent\r\n";
    for (const ProfileBin& bin : axis.bins) {
        const std::string phase = bin.phase != kNoNode ? profile.nodes[bin.phase].name : "";
        out += row_of(axis, bin.number, "*", phase, bin.sum);
        out += row_of(axis, bin.number, "min", phase, bin.least);
        out += row_of(axis, bin.number, "max", phase, bin.most);
    }
    if (!per_rank) return out;
    for (const ProfileBinRow& row : axis.rows) {
        out += row_of(axis, row.number, fmt::format("{}", row.rank), "", row.figures);
    }
    return out;
}

}  // namespace dwell
