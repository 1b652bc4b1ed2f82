// How one rank takes part in a collective: for whom it waits, and who waits for it (DESIGN 4,
// collective rule). Pure functions. A member is named by its place: its rank in its group, times 2,
// and which group of an inter-communicator it is in (CommDefinition::side).
//
// A giver is a member whose data others need, a taker one who needs them; in most collectives a
// member is both. A giver that needs nobody's may have to wait until its takers come
// (WaitKind::kLateCollectiveReceiver).
#ifndef DWELL_RUNTIME_WAITSTATES_COLLECTIVE_ROLES_H_
#define DWELL_RUNTIME_WAITSTATES_COLLECTIVE_ROLES_H_

#include "runtime/mpi/dependence.h"
#include "runtime/mpi/few_ranks.h"

namespace dwell {

// The givers, by rank or by number among the sources: those with a count in an array of the
// program's, or by bits, of which those beyond the 64th are set.
struct Contributors {
    const int* counts;
    uint64_t bits;
    bool gives(uint32_t k) const {
        return counts != nullptr ? counts[k] != 0 : k >= 64 || (bits >> k & 1) != 0;
    }
    bool all() const { return counts == nullptr && bits == UINT64_MAX; }
};
constexpr Contributors kAllContribute{nullptr, UINT64_MAX};

struct CollectiveRole {
    Dependence rule;
    int root;  // as the program gave it
    int rank;  // the caller's, and
    uint8_t side;
    bool inter;
    const FewRanks* sources;  // of a topology, and
    const FewRanks* targets;  // null: not asked for
};

inline bool waits_for(const CollectiveRole& role, const Contributors& contributors,
                      uint32_t place) {
    const auto rank = static_cast<int>(place >> 1);
    const bool other = role.inter && (place & 1) != role.side;
    const auto gives = [&] { return contributors.all() || contributors.gives(place >> 1); };
    switch (role.rule) {
        case Dependence::kAll:
            return (!role.inter || other) && gives();
        case Dependence::kEverybody:
        case Dependence::kSome:
        case Dependence::kMay:
        case Dependence::kProfiled:
            return true;
        case Dependence::kRoot:
            return rank == role.root && (!role.inter || other);
        case Dependence::kToRoot:
            return (role.inter ? other && role.root == MPI_ROOT : role.rank == role.root) &&
                   gives();
        case Dependence::kUpTo:
            return rank < role.rank;
        case Dependence::kSources:
            for (uint32_t k = 0; k < role.sources->count; ++k) {
                if (role.sources->ranks[k] == rank && contributors.gives(k)) return true;
            }
            return false;
        default:
            return false;
    }
}

// MPI lets a member of an inter-communicator depend on the other group alone (MPI-3.1 5.2.3). An
// implementation may let its own group get together first, and get the result together.
inline bool may_wait_for(const CollectiveRole& role, uint32_t place) {
    return role.rule == Dependence::kAll && role.inter && (place & 1) == role.side;
}

// May wait: whether the caller gives something is not asked.
inline bool is_awaited_by(const CollectiveRole& role, uint32_t place) {
    const auto rank = static_cast<int>(place >> 1);
    const bool other = role.inter && (place & 1) != role.side;
    switch (role.rule) {
        case Dependence::kAll:
            return !role.inter || other;
        case Dependence::kEverybody:
        case Dependence::kMay:
            return true;
        case Dependence::kRoot:
            return role.inter ? other && role.root == MPI_ROOT : role.rank == role.root;
        case Dependence::kToRoot:
            return rank == role.root && (!role.inter || other);
        case Dependence::kUpTo:
            return rank > role.rank;
        case Dependence::kSources:
            return role.targets != nullptr && is_among(*role.targets, rank);
        default:
            return false;
    }
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_COLLECTIVE_ROLES_H_
