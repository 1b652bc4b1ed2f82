// Chooses the process grid that the reports use to name ranks, and gives the coordinates of a rank
// in it.
#ifndef DWELL_SUMMARIZE_MODEL_GRID_PLACES_H_
#define DWELL_SUMMARIZE_MODEL_GRID_PLACES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "summarize/model/profile.h"

namespace dwell {

// The grid is one that all its ranks describe alike and that has at most one rank at each place. Of
// several, the one with most ranks is taken; a grid of MPI only where the program describes none
// itself. `profile` must outlive this object.
class GridPlaces {
  public:
    explicit GridPlaces(const Profile& profile);

    // Null when no grid qualifies.
    const ProfileGrid* grid() const { return grid_; }
    // Empty when the rank is not in the grid.
    const std::vector<int32_t>& coordinates_of(uint32_t rank) const;
    // "5 (1,2)"; "5" when the rank is not in the grid.
    std::string name_of(uint32_t rank) const;

  private:
    const ProfileGrid* grid_ = nullptr;
};

// "(1,2)".
std::string place_text(const std::vector<int32_t>& coordinates);

// "2 x 3", "2 (periodic) x 3".
std::string shape_text(const ProfileGrid& grid);

// Whether another grid has the same name.
bool is_contradicted(const Profile& profile, const ProfileGrid& grid);

// Two ranks with the same coordinates; two equal numbers when there are none.
std::pair<uint32_t, uint32_t> ranks_at_one_place(const ProfileGrid& grid);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MODEL_GRID_PLACES_H_
