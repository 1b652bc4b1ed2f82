// Draws the process grids that the program described, and trends along their dimensions.
#include <fmt/format.h>

#include <algorithm>

#include "report/figures/grid_trend.h"
#include "report/text/views.h"
#include "summarize/profile/note_writer.h"

namespace dwell {
namespace {

constexpr double kNotableDifference = 0.1;  // between the means, part of the mean of all

std::vector<uint32_t> ranks_outside(const Profile& profile, const ProfileGrid& grid) {
    std::vector<uint32_t> outside;
    auto place = grid.places.begin();
    for (const ProfileRank& rank : profile.ranks) {
        while (place != grid.places.end() && place->rank < rank.rank) ++place;
        if (place == grid.places.end() || place->rank != rank.rank) outside.push_back(rank.rank);
    }
    return outside;
}

uint64_t places_in(const ProfileGrid& grid) {
    uint64_t places = 1;
    for (const int32_t size : grid.sizes) {
        // The limit is greater than the ranks of any job.
        places = std::min<uint64_t>(places * static_cast<uint64_t>(size), uint64_t{1} << 32);
    }
    return places;
}

std::string grid_text(const Profile& profile, const ProfileGrid& grid, bool utf8) {
    std::string text = fmt::format("{}: {}, ", printable(grid.name, utf8), shape_text(grid));
    if (grid.ranks == profile.ranks.size()) {
        text += fmt::format("all {} ranks", grid.ranks);
    } else {
        text += fmt::format("{} of {} ranks", grid.ranks, profile.ranks.size());
        if (!grid.places.empty()) {
            text += "; not in it: " + rank_list(ranks_outside(profile, grid));
        }
    }
    const uint64_t places = places_in(grid);
    if (places > grid.ranks) {
        text += fmt::format("; {} of its {} places without a rank of this profile",
                            places - grid.ranks, places);
    }
    if (is_contradicted(profile, grid)) text += "; described in another way too, see Notes";
    return text;
}

// "(*,3)": all ranks whose coordinate in that dimension is 3.
std::string slice_text(const ProfileGrid& grid, size_t dimension, int32_t coordinate) {
    std::string text = "(";
    for (size_t i = 0; i < grid.sizes.size(); ++i) {
        if (i != 0) text += ",";
        text += i == dimension ? fmt::format("{}", coordinate) : "*";
    }
    return text + ")";
}

// The figure of each rank of the grid; empty without figures.
std::vector<double> values_of(const ProfileGrid& grid, const std::vector<RankFigures>& ranks,
                              uint64_t RankFigures::*member) {
    std::vector<double> values;
    auto rank = ranks.begin();
    for (const ProfilePlace& place : grid.places) {
        while (rank != ranks.end() && rank->rank < place.rank) ++rank;
        if (rank == ranks.end() || rank->rank != place.rank) return {};
        values.push_back(static_cast<double>((*rank).*member));
    }
    return values;
}

}  // namespace

void draw_grids(const Profile& profile, const TextOptions& options, TextCanvas* canvas) {
    if (profile.grids.empty()) return;
    const bool utf8 = canvas->utf8();
    const GridPlaces places(profile);
    canvas->title(fmt::format("Grids ({})", profile.grids.size()),
                  "as the program or MPI_Cart_create describes them");
    for (const ProfileGrid& grid : profile.grids) {
        std::string text = "  " + grid_text(profile, grid, utf8);
        if (&grid == places.grid()) text += "; ranks are named by their place in it";
        canvas->paragraph(text + ".", 4);
        if (!options.per_rank || grid.places.empty()) continue;
        std::vector<std::string> items;
        for (const ProfilePlace& place : grid.places) {
            items.push_back(fmt::format("{} {}", place.rank, place_text(place.coordinates)));
        }
        items.front() = "    " + items.front();
        canvas->items(items, 4, Style::kDim);
    }
}

void draw_grid_trend(const Profile& profile, const std::vector<RankFigures>& ranks,
                     TextCanvas* canvas) {
    const GridPlaces places(profile);
    if (places.grid() == nullptr || ranks.empty()) return;
    const ProfileGrid& grid = *places.grid();
    const std::pair<const char*, uint64_t RankFigures::*> figures[] = {
        {"Computation", &RankFigures::computation_ns}, {"Blocked time", &RankFigures::blocked_ns}};
    for (const auto& [name, member] : figures) {
        const std::vector<double> values = values_of(grid, ranks, member);
        const std::optional<GridTrend> trend = grid_trend(grid, values);
        if (!trend) continue;
        double mean_ns = 0;
        for (const double value : values) mean_ns += value / static_cast<double>(values.size());
        const double difference_ns = trend->most_mean - trend->least_mean;
        const double least_ns =
            kNotableExtra * static_cast<double>(profile.total_ns) / rank_count(profile);
        if (difference_ns < kNotableDifference * mean_ns || difference_ns < least_ns) continue;
        const bool utf8 = canvas->utf8();
        canvas->paragraph(
            fmt::format(
                "{} follows the place in grid {}: a rank has {} on average at {}, {} at {}.", name,
                printable(grid.name, utf8), time_text(trend->most_mean, utf8),
                slice_text(grid, trend->dimension, trend->most), time_text(trend->least_mean, utf8),
                slice_text(grid, trend->dimension, trend->least)),
            2, Style::kWarm);
        return;
    }
}

}  // namespace dwell
