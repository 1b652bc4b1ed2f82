// Implements the naming of ranks by their coordinates in a process grid; see grid_places.h.
#include "summarize/model/grid_places.h"

#include <fmt/format.h>

#include <algorithm>

namespace dwell {

GridPlaces::GridPlaces(const Profile& profile) {
    for (const ProfileGrid& grid : profile.grids) {
        if (grid.places.empty() || is_contradicted(profile, grid)) continue;
        const auto [one, other] = ranks_at_one_place(grid);
        if (one != other) continue;
        grid_ = &grid;  // grids are sorted: the one with most ranks comes first
        return;
    }
}

const std::vector<int32_t>& GridPlaces::coordinates_of(uint32_t rank) const {
    static const std::vector<int32_t> kNowhere;
    if (grid_ == nullptr) return kNowhere;
    const auto place =
        std::lower_bound(grid_->places.begin(), grid_->places.end(), rank,
                         [](const ProfilePlace& at, uint32_t wanted) { return at.rank < wanted; });
    return place != grid_->places.end() && place->rank == rank ? place->coordinates : kNowhere;
}

std::string GridPlaces::name_of(uint32_t rank) const {
    const std::vector<int32_t>& coordinates = coordinates_of(rank);
    return coordinates.empty() ? fmt::format("{}", rank)
                               : fmt::format("{} {}", rank, place_text(coordinates));
}

std::string place_text(const std::vector<int32_t>& coordinates) {
    return fmt::format("({})", fmt::join(coordinates, ","));
}

std::string shape_text(const ProfileGrid& grid) {
    std::string text;
    for (size_t i = 0; i < grid.sizes.size(); ++i) {
        text += fmt::format("{}{}{}", i == 0 ? "" : " x ", grid.sizes[i],
                            grid.periodic[i] ? " (periodic)" : "");
    }
    return text;
}

bool is_contradicted(const Profile& profile, const ProfileGrid& grid) {
    if (grid.by_mpi) return false;
    return std::any_of(profile.grids.begin(), profile.grids.end(),
                       [&grid](const ProfileGrid& other) {
                           return &other != &grid && !other.by_mpi && other.name == grid.name;
                       });
}

std::pair<uint32_t, uint32_t> ranks_at_one_place(const ProfileGrid& grid) {
    std::vector<const ProfilePlace*> places;
    for (const ProfilePlace& place : grid.places) places.push_back(&place);
    std::stable_sort(places.begin(), places.end(),
                     [](const auto* a, const auto* b) { return a->coordinates < b->coordinates; });
    const auto twice = std::adjacent_find(
        places.begin(), places.end(),
        [](const auto* a, const auto* b) { return a->coordinates == b->coordinates; });
    if (twice == places.end()) return {0, 0};
    return {(*twice)->rank, (*(twice + 1))->rank};
}

}  // namespace dwell
