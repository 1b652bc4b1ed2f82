// Which of the grids that a program described tells where its ranks are, and where one is.
#ifndef DWELL_SUMMARIZE_MODEL_GRID_PLACES_H_
#define DWELL_SUMMARIZE_MODEL_GRID_PLACES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "summarize/model/profile.h"

namespace dwell {

// Ranks are named by their place in one grid: of those that all their ranks describe alike and in
// which no two ranks are at one place, the one with most ranks; one of MPI where the program
// describes none itself. `profile` must outlive this.
class GridPlaces {
  public:
    explicit GridPlaces(const Profile& profile);

    // Null when there is none.
    const ProfileGrid* grid() const { return grid_; }
    // Empty where the rank is not in it.
    const std::vector<int32_t>& coordinates_of(uint32_t rank) const;
    // "5 (1,2)"; "5" where the rank is not in it.
    std::string name_of(uint32_t rank) const;

  private:
    const ProfileGrid* grid_ = nullptr;
};

// "(1,2)".
std::string place_text(const std::vector<int32_t>& coordinates);

// "2 x 3", "2 (periodic) x 3".
std::string shape_text(const ProfileGrid& grid);

// Of another grid with this one's name.
bool is_contradicted(const Profile& profile, const ProfileGrid& grid);

// Two ranks at the same place; equal ones when there are none.
std::pair<uint32_t, uint32_t> ranks_at_one_place(const ProfileGrid& grid);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MODEL_GRID_PLACES_H_
