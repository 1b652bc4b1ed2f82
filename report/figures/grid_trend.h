// Whether a figure of the ranks follows a dimension of the grid that they form.
#ifndef DWELL_REPORT_FIGURES_GRID_TREND_H_
#define DWELL_REPORT_FIGURES_GRID_TREND_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "summarize/model/profile.h"

namespace dwell {

// The ranks whose coordinate `dimension` is `most` have the largest mean, those at `least` the
// smallest.
struct GridTrend {
    size_t dimension = 0;
    int32_t most = 0;
    int32_t least = 0;
    double most_mean = 0;
    double least_mean = 0;
};

// `values` belong to grid.places, in order. There is a trend when the coordinate explains at least
// half of the variance, and at most one of a hundred random ways to give the same values to the
// ranks (one of a hundred for all dimensions together) would explain as much: a permutation test,
// which assumes nothing about how the values are spread. Small grids, 2 x 2 say, have too few ways
// for that to be told from chance.
std::optional<GridTrend> grid_trend(const ProfileGrid& grid, const std::vector<double>& values);

}  // namespace dwell

#endif  // DWELL_REPORT_FIGURES_GRID_TREND_H_
