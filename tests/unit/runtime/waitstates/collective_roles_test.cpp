// The roles of members in a collective: the waiting member and the member it waits for must agree,
// or notices are sent in vain or missed.
#include "runtime/waitstates/collective_roles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace dwell {

namespace {

struct Member {
    int rank;
    uint8_t side;
    uint32_t place() const { return static_cast<uint32_t>(rank) << 1 | side; }
};

std::vector<Member> group(int size, uint8_t side) {
    std::vector<Member> members;
    for (int rank = 0; rank < size; ++rank) members.push_back({rank, side});
    return members;
}

// The member's own call, when `root` is the root (MPI-3.1 5.2.3).
CollectiveRole role_of(const Member& member, Dependence rule, const Member& root, bool inter) {
    int named = root.rank;
    if (inter && member.side == root.side) {
        named = member.rank == root.rank ? MPI_ROOT : MPI_PROC_NULL;
    }
    return {rule, named, member.rank, member.side, inter, nullptr, nullptr};
}

constexpr Dependence kRules[] = {Dependence::kAll,  Dependence::kEverybody, Dependence::kMay,
                                 Dependence::kRoot, Dependence::kToRoot,    Dependence::kUpTo};

void expect_agreement(const std::vector<Member>& members, bool inter) {
    for (const Dependence rule : kRules) {
        if (inter && rule == Dependence::kUpTo) continue;  // MPI has no scan of two groups
        for (const Member& root : members) {
            for (const Member& one : members) {
                for (const Member& other : members) {
                    if (one.place() == other.place()) continue;
                    EXPECT_EQ(
                        waits_for(role_of(one, rule, root, inter), kAllContribute, other.place()),
                        is_awaited_by(role_of(other, rule, root, inter), one.place()))
                        << "rule " << static_cast<int>(rule) << " root " << root.place() << " of "
                        << one.place() << " and " << other.place();
                }
            }
        }
    }
}

}  // namespace

TEST(CollectiveRoles, BothAgreeInACommunicator) { expect_agreement(group(4, 0), false); }

TEST(CollectiveRoles, BothAgreeInAnInterCommunicator) {
    std::vector<Member> members = group(2, 0);
    const std::vector<Member> others = group(3, 1);
    members.insert(members.end(), others.begin(), others.end());
    expect_agreement(members, true);
}

// A broadcast from rank 1 of the second group: the first group waits for the root only, the second
// for nobody.
TEST(CollectiveRoles, RootOfAnInterCommunicator) {
    const Member root{1, 1};
    const CollectiveRole first = role_of({0, 0}, Dependence::kRoot, root, true);
    EXPECT_TRUE(waits_for(first, kAllContribute, root.place()));
    EXPECT_FALSE(waits_for(first, kAllContribute, Member{1, 0}.place()));
    EXPECT_FALSE(waits_for(first, kAllContribute, Member{0, 1}.place()));
    const CollectiveRole beside = role_of({0, 1}, Dependence::kRoot, root, true);
    EXPECT_FALSE(waits_for(beside, kAllContribute, root.place()));
    EXPECT_FALSE(is_awaited_by(beside, Member{0, 0}.place()));
}

// By the standard all wait for the other group only; an implementation may add the own group.
TEST(CollectiveRoles, OwnGroupOfAnInterCommunicator) {
    const CollectiveRole all{Dependence::kAll, 0, 0, 1, true, nullptr, nullptr};
    const Member beside{1, 1};
    const Member opposite{1, 0};
    EXPECT_FALSE(waits_for(all, kAllContribute, beside.place()));
    EXPECT_TRUE(may_wait_for(all, beside.place()));
    EXPECT_FALSE(may_wait_for(all, opposite.place()));
    const CollectiveRole within{Dependence::kAll, 0, 0, 0, false, nullptr, nullptr};
    EXPECT_FALSE(may_wait_for(within, opposite.place()));
    const CollectiveRole root{Dependence::kRoot, 0, 0, 1, true, nullptr, nullptr};
    EXPECT_FALSE(may_wait_for(root, beside.place()));
}

// Rank r of a directed ring of four receives from r - 1 and sends to r + 1; a source may be listed
// twice, and may contribute nothing.
TEST(CollectiveRoles, NeighboursAgree) {
    const auto role = [](int rank, FewRanks* sources, FewRanks* targets) {
        *sources = {1, true, {(rank + 3) % 4}};
        *targets = {1, true, {(rank + 1) % 4}};
        return CollectiveRole{Dependence::kSources, 0, rank, 0, false, sources, targets};
    };
    for (int one = 0; one < 4; ++one) {
        for (int other = 0; other < 4; ++other) {
            FewRanks lists[4];
            const CollectiveRole of_one = role(one, &lists[0], &lists[1]);
            const CollectiveRole of_other = role(other, &lists[2], &lists[3]);
            EXPECT_EQ(waits_for(of_one, kAllContribute, static_cast<uint32_t>(other) << 1),
                      other == (one + 3) % 4);
            EXPECT_EQ(is_awaited_by(of_other, static_cast<uint32_t>(one) << 1),
                      one == (other + 1) % 4);
        }
    }
    const FewRanks twice{3, true, {2, 1, 2}};
    const CollectiveRole named{Dependence::kSources, 0, 0, 0, false, &twice, nullptr};
    const int second[] = {0, 1, 1};
    const int neither[] = {0, 1, 0};
    EXPECT_TRUE(waits_for(named, {second, UINT64_MAX}, 2 << 1));
    EXPECT_FALSE(waits_for(named, {neither, UINT64_MAX}, 2 << 1));
    EXPECT_FALSE(waits_for(named, {nullptr, 2}, 2 << 1));
    EXPECT_FALSE(is_awaited_by(named, 2 << 1));  // not looked up
}

TEST(CollectiveRoles, MembersThatContributeNothingAreNotWaitedFor) {
    const int counts[] = {3, 0, 1};
    const CollectiveRole all{Dependence::kAll, 0, 0, 0, false, nullptr, nullptr};
    EXPECT_FALSE(waits_for(all, {counts, UINT64_MAX}, 1 << 1));
    EXPECT_TRUE(waits_for(all, {counts, UINT64_MAX}, 2 << 1));
}

}  // namespace dwell
