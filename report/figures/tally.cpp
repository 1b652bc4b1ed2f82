// Adds up the times of tally's tables; see tally.h.
#include "report/figures/tally.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "report/figures/figures.h"
#include "runtime/contract/mpi_calls.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

// The routine that a node's own time belongs to: the innermost procedure with a probe around it;
// where there is none, the innermost procedure of the user.
uint32_t routine_of(const Profile& profile, uint32_t node) {
    uint32_t innermost = 0;
    for (uint32_t at = node; at != 0; at = profile.nodes[at].parent) {
        const ProfileNode& code = profile.nodes[at];
        if (code.kind != SiteKind::kProcedure || (code.labels & kLabelSystem) != 0) continue;
        if (is_probed(code)) return at;
        if (innermost == 0) innermost = at;
    }
    return innermost;
}

uint64_t TallyTimes::*kind_of(const ProfileNode& node) {
    if (!is_communication(node)) return &TallyTimes::busy_ns;
    const uint16_t number = node.call < kMpiCallCount ? node.call : 0;
    switch (kMpiCalls[number].call_class) {
        case CallClass::kSend:
            return &TallyTimes::send_ns;
        case CallClass::kReceive:
        case CallClass::kSendReceive:
        case CallClass::kProbe:
        case CallClass::kWait:
        case CallClass::kTest:
            return &TallyTimes::receive_ns;
        default:
            return &TallyTimes::global_ns;
    }
}

// A node's own part of a figure that its children's are part of.
uint64_t own_part(uint64_t all, uint64_t of_children) { return all - std::min(all, of_children); }

uint64_t omp_ns(const Totals& totals) { return totals.omp_wait_ns + totals.omp_idle_ns; }

void add(const ProfileNode& node, const Totals& totals, uint64_t own_ns, uint64_t own_omp_ns,
         TallyTimes* times) {
    if (is_communication(node)) {
        times->*kind_of(node) +=
            totals.time_ns - std::min(totals.time_ns, setup_part_ns(node, totals));
        return;
    }
    if (is_statement(node)) {
        times->busy_ns += totals.time_ns;
        return;
    }
    const uint64_t waited_ns = std::min(own_ns, own_omp_ns);
    times->busy_ns += own_ns - waited_ns;
    times->global_ns += waited_ns;
}

class Adder {
  public:
    explicit Adder(const Profile& profile) : profile_(profile) {}

    Tally add_all() {
        for (uint32_t i = 0; i < profile_.nodes.size(); ++i) {
            const ProfileNode& node = profile_.nodes[i];
            uint64_t below_ns = 0;
            for (const uint32_t child : node.children) {
                below_ns += omp_ns(profile_.nodes[child].totals);
            }
            add(node, node.totals, node.computation_ns, own_part(omp_ns(node.totals), below_ns),
                &routine(i)->times);
        }
        add_rows();
        Tally tally;
        for (auto& [key, one] : routines_) {
            if (life_ns(one.times) == 0) continue;
            tally.life_ns += life_ns(one.times);
            tally.routines.push_back(std::move(one));
        }
        std::stable_sort(tally.routines.begin(), tally.routines.end(),
                         [](const TallyRoutine& a, const TallyRoutine& b) {
                             return life_ns(a.times) > life_ns(b.times);
                         });
        tally.ranks = std::move(ranks_);
        return tally;
    }

  private:
    TallyRoutine* routine(uint32_t node) {
        const ProfileNode& code = profile_.nodes[routine_of(profile_, node)];
        TallyRoutine& found = routines_[{code.name, code.file, code.line}];
        if (found.name.empty()) {
            found.name = code.kind == SiteKind::kProgram ? "<program>" : code.name;
        }
        return &found;
    }
    // Rows hold the waiting of OpenMP of a node together with its children's.
    void add_rows() {
        using Key = std::tuple<uint32_t, uint32_t, uint32_t>;  // node, rank, thread
        std::map<Key, uint64_t> below_ns;
        for (const ProfileRow& row : profile_.rows) {
            const uint64_t waited_ns = omp_ns(row.totals);
            const uint32_t parent = profile_.nodes[row.node].parent;
            if (waited_ns != 0 && parent != kNoNode) {
                below_ns[{parent, row.rank, row.thread}] += waited_ns;
            }
        }
        for (const ProfileRow& row : profile_.rows) {
            TallyTimes times;
            const auto below = below_ns.find({row.node, row.rank, row.thread});
            const uint64_t own_omp_ns =
                own_part(omp_ns(row.totals), below == below_ns.end() ? 0 : below->second);
            add(profile_.nodes[row.node], row.totals, row.computation_ns, own_omp_ns, &times);
            for (TallyTimes* sum : {&ranks_[row.rank], &routine(row.node)->ranks[row.rank]}) {
                sum->busy_ns += times.busy_ns;
                sum->global_ns += times.global_ns;
                sum->send_ns += times.send_ns;
                sum->receive_ns += times.receive_ns;
            }
        }
    }

    const Profile& profile_;
    std::map<std::tuple<std::string, std::string, int>, TallyRoutine> routines_;
    std::map<uint32_t, TallyTimes> ranks_;
};

}  // namespace

Tally tally_of(const Profile& profile) { return Adder(profile).add_all(); }

}  // namespace dwell
