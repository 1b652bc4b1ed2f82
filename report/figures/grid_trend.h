// Tests whether a figure of the ranks follows a dimension of their process grid.
#ifndef DWELL_REPORT_FIGURES_GRID_TREND_H_
#define DWELL_REPORT_FIGURES_GRID_TREND_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "summarize/model/profile.h"

namespace dwell {

// The ranks whose coordinate `dimension` is `most` have the largest mean, those with `least` the
// smallest.
struct GridTrend {
    size_t dimension = 0;
    int32_t most = 0;
    int32_t least = 0;
    double most_mean = 0;
    double least_mean = 0;
};

// `values` belong to grid.places, in order. A trend needs two conditions. The coordinate explains
// at least half of the variance. And at most one of a hundred random assignments of the values to
// the ranks (one of a hundred for all dimensions together) explains as much: a permutation test,
// which assumes no distribution. Small grids, such as 2 x 2, have too few assignments to exclude
// chance.
std::optional<GridTrend> grid_trend(const ProfileGrid& grid, const std::vector<double>& values);

}  // namespace dwell

#endif  // DWELL_REPORT_FIGURES_GRID_TREND_H_
