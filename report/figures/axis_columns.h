// The run over time in as many columns as a picture has.
#ifndef DWELL_REPORT_FIGURES_AXIS_COLUMNS_H_
#define DWELL_REPORT_FIGURES_AXIS_COLUMNS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "summarize/model/profile.h"

namespace dwell {

struct AxisColumn {
    AxisFigures sum{};  // over ranks
    uint32_t ranks = 0;
    uint32_t phase = kNoNode;  // of the bin with most time in it
};
struct AxisColumns {
    uint64_t width_ns = 0;  // of a column
    std::vector<AxisColumn> columns;
};

// At most `most` columns of equal width, each of one or more bins. Empty without an axis.
AxisColumns axis_columns(const ProfileAxis& axis, size_t most);

// The time of all states: what the ranks (and their threads) have in a column.
uint64_t time_of(const AxisFigures& figures);

// One character for each value, whose height is its share of `highest`; blank for nothing.
std::string spark_text(const std::vector<double>& values, double highest, bool utf8);

}  // namespace dwell

#endif  // DWELL_REPORT_FIGURES_AXIS_COLUMNS_H_
