// Tests figures of ranks for a trend along a grid dimension, by permutation; see grid_trend.h.
#include "report/figures/grid_trend.h"

#include <numeric>
#include <random>
#include <utility>

namespace dwell {
namespace {

constexpr double kFollowed = 0.5;        // part of the variance that the coordinate must explain
constexpr double kChance = 0.01;         // for all dimensions together
constexpr int kShuffles = 999;           // with the actual order one of a thousand
constexpr double kRoundingSlack = 1e-9;  // for sums in another order

double square(double value) { return value * value; }

// The ranks of a grid, grouped by one coordinate.
class Slices {
  public:
    Slices(const ProfileGrid& grid, size_t dimension)
        : slice_of_(grid.places.size()),
          ranks_(static_cast<size_t>(grid.sizes[dimension])),
          sums_(ranks_.size()) {
        for (size_t i = 0; i < grid.places.size(); ++i) {
            slice_of_[i] = static_cast<size_t>(grid.places[i].coordinates[dimension]);
            ranks_[slice_of_[i]] += 1;
        }
    }

    // Squared distances of the groups' means from the total mean, weighted by their ranks.
    double explained(const std::vector<double>& values, double mean) {
        sums_.assign(sums_.size(), 0);
        for (size_t i = 0; i < values.size(); ++i) sums_[slice_of_[i]] += values[i];
        double sum = 0;
        for (size_t k = 0; k < sums_.size(); ++k) {
            if (ranks_[k] != 0) sum += ranks_[k] * square(sums_[k] / ranks_[k] - mean);
        }
        return sum;
    }

    // Call after explained().
    GridTrend extremes(size_t dimension) const {
        GridTrend trend;
        bool first = true;
        for (size_t k = 0; k < sums_.size(); ++k) {
            if (ranks_[k] == 0) continue;
            const double mean = sums_[k] / ranks_[k];
            const auto coordinate = static_cast<int32_t>(k);
            if (first || mean > trend.most_mean) {
                trend.most = coordinate;
                trend.most_mean = mean;
            }
            if (first || mean < trend.least_mean) {
                trend.least = coordinate;
                trend.least_mean = mean;
            }
            first = false;
        }
        trend.dimension = dimension;
        return trend;
    }

  private:
    std::vector<size_t> slice_of_;
    std::vector<double> ranks_;
    std::vector<double> sums_;
};

// Whether chance seldom explains as much. Stops as soon as the answer is certain.
bool is_beyond_chance(Slices* slices, std::vector<double> values, double mean, double explained,
                      double chance) {
    std::mt19937 random(1);  // fixed seed: the same report every time
    int as_much = 1;         // the actual order
    for (int shuffle = 0; shuffle < kShuffles; ++shuffle) {
        for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random() % i]);
        if (slices->explained(values, mean) >= explained * (1 - kRoundingSlack)) ++as_much;
        if (as_much > chance * (kShuffles + 1)) return false;
    }
    return true;
}

}  // namespace

std::optional<GridTrend> grid_trend(const ProfileGrid& grid, const std::vector<double>& values) {
    if (values.size() < 2 || values.size() != grid.places.size()) return std::nullopt;
    const double mean =
        std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    double variance = 0;
    for (const double value : values) variance += square(value - mean);
    std::optional<GridTrend> trend;
    double most = 0;
    for (size_t dimension = 0; dimension < grid.sizes.size(); ++dimension) {
        // A dimension longer than the number of ranks has at most one rank in each slice.
        if (static_cast<size_t>(grid.sizes[dimension]) > values.size()) continue;
        Slices slices(grid, dimension);
        const double explained = slices.explained(values, mean);
        if (explained <= most || explained < kFollowed * variance) continue;
        const GridTrend found = slices.extremes(dimension);
        const double chance = kChance / static_cast<double>(grid.sizes.size());
        if (!is_beyond_chance(&slices, values, mean, explained, chance)) continue;
        trend = found;
        most = explained;
    }
    return trend;
}

}  // namespace dwell
