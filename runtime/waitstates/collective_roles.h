// The roles of one rank in a collective: whom it waits for, and who waits for it (DESIGN 4,
// collective rule). Pure functions. `place` identifies a member: its rank in its group times 2,
// plus the group of an inter-communicator (CommDefinition::side).
//
// A contributor is a member whose data others need, a consumer one that needs them; in most
// collectives a member is both. A contributor that consumes nothing may still wait for its
// consumers (WaitKind::kLateCollectiveReceiver).
#ifndef DWELL_RUNTIME_WAITSTATES_COLLECTIVE_ROLES_H_
#define DWELL_RUNTIME_WAITSTATES_COLLECTIVE_ROLES_H_

#include "runtime/mpi/dependence.h"
#include "runtime/mpi/few_ranks.h"

namespace dwell {

// The contributors, by rank or by index among the sources: those with a nonzero count in the
// program's array, or with a bit set; all beyond the 64th contribute.
struct Contributors {
    const int* counts;
    uint64_t bits;
    bool contributes(uint32_t k) const {
        return counts != nullptr ? counts[k] != 0 : k >= 64 || (bits >> k & 1) != 0;
    }
    bool all() const { return counts == nullptr && bits == UINT64_MAX; }
};
constexpr Contributors kAllContribute{nullptr, UINT64_MAX};

struct CollectiveRole {
    Dependence rule;
    int root;  // the program's argument
    int rank;  // the caller's
    uint8_t side;
    bool inter;
    const FewRanks* sources;  // of a topology
    const FewRanks* targets;  // of a topology, or null
};

inline bool waits_for(const CollectiveRole& role, const Contributors& contributors,
                      uint32_t place) {
    const auto rank = static_cast<int>(place >> 1);
    const bool other = role.inter && (place & 1) != role.side;
    const auto contributes = [&] {
        return contributors.all() || contributors.contributes(place >> 1);
    };
    switch (role.rule) {
        case Dependence::kAll:
            return (!role.inter || other) && contributes();
        case Dependence::kEverybody:
        case Dependence::kSome:
        case Dependence::kMay:
        case Dependence::kProfiled:
            return true;
        case Dependence::kRoot:
            return rank == role.root && (!role.inter || other);
        case Dependence::kToRoot:
            return (role.inter ? other && role.root == MPI_ROOT : role.rank == role.root) &&
                   contributes();
        case Dependence::kUpTo:
            return rank < role.rank;
        case Dependence::kSources:
            for (uint32_t k = 0; k < role.sources->count; ++k) {
                if (role.sources->ranks[k] == rank && contributors.contributes(k)) return true;
            }
            return false;
        default:
            return false;
    }
}

// A member of an inter-communicator need only depend on the other group (MPI-3.1 5.2.3). An
// implementation may let the own group synchronise first and share the result.
inline bool may_wait_for(const CollectiveRole& role, uint32_t place) {
    return role.rule == Dependence::kAll && role.inter && (place & 1) == role.side;
}

// Whether that member may wait for the caller. The caller's own count is not considered.
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
