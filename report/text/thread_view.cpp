// Draws the threads of the ranks: names and times.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "report/text/views.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

constexpr size_t kNamedThreads = 64;  // rows of the table

struct ThreadSum {
    uint64_t total_ns = 0;
    uint64_t own_ns = 0;
    uint64_t mpi_ns = 0;
    uint64_t wait_ns = 0;
    uint64_t idle_ns = 0;
};
using ThreadSums = std::map<std::pair<uint32_t, uint32_t>, ThreadSum>;  // by rank and thread

ThreadSums sums_of(const Profile& profile) {
    ThreadSums threads;
    for (const ProfileRow& row : profile.rows) {
        ThreadSum& sum = threads[{row.rank, row.thread}];
        sum.own_ns += row.computation_ns;
        if (is_communication(profile.nodes[row.node])) sum.mpi_ns += row.totals.time_ns;
        if (row.node != 0) continue;
        sum.total_ns = row.totals.time_ns;
        sum.wait_ns = row.totals.omp_wait_ns;
        sum.idle_ns = row.totals.omp_idle_ns;
    }
    return threads;
}

// A column of times; columns without any time are left out.
struct Figure {
    const char* head;
    int width;
    uint64_t ThreadSum::*value;
    Style style;
};
constexpr Figure kFigures[] = {
    {"total", 9, &ThreadSum::total_ns, Style::kPlain},
    {"computation", 13, &ThreadSum::own_ns, Style::kComputation},
    {"in MPI", 9, &ThreadSum::mpi_ns, Style::kTransfer},
    {"wait", 9, &ThreadSum::wait_ns, Style::kBlocked},
    {"idle", 9, &ThreadSum::idle_ns, Style::kDim},
};

std::string name_text(const ProfileThread& thread, bool utf8) {
    std::string text = printable(thread.name, utf8);
    if (thread.served > 1) text += fmt::format(" ({} threads)", thread.served);
    return text;
}

}  // namespace

void draw_threads(const Profile& profile, TextCanvas* canvas) {
    ThreadSums threads = sums_of(profile);
    if (threads.size() <= profile.ranks.size()) return;
    std::vector<Column> heads = {{"rank", 6}, {"thread", 8}};
    std::vector<Figure> figures;
    for (const Figure& figure : kFigures) {
        const bool any = std::any_of(threads.begin(), threads.end(), [&figure](const auto& at) {
            return at.second.*figure.value != 0;
        });
        if (!any) continue;
        figures.push_back(figure);
        heads.push_back({figure.head, figure.width});
    }
    heads.push_back({"name", 6});
    canvas->title("Threads", has_openmp(profile)
                                 ? "wait: of OpenMP's for each other, idle: outside of regions"
                                 : "of each process, in the order in which they came");
    put_heads(heads, 0, canvas);
    const bool utf8 = canvas->utf8();
    size_t shown = 0;
    for (auto& [who, sum] : threads) {
        if (++shown > kNamedThreads) break;
        sum.own_ns -= std::min(sum.own_ns, sum.wait_ns + sum.idle_ns);  // not work
        Line line;
        line.add(pad_left(fmt::format("{}", who.first), 6), Style::kName);
        line.add(pad_left(fmt::format("{}", who.second), 8), Style::kName);
        for (const Figure& figure : figures) {
            const auto ns = static_cast<double>(sum.*figure.value);
            line.add(pad_left(time_text(ns, utf8), figure.width), figure.style);
        }
        const ProfileThread* const thread = find_thread(profile, who.first, who.second);
        if (thread != nullptr) {
            const int room = canvas->width() - line.width() - 2;
            line.add("  ").add(cut_middle(name_text(*thread, utf8), room, utf8));
        }
        canvas->put(line);
    }
    if (threads.size() > kNamedThreads) {
        canvas->paragraph(fmt::format("  {} more; --per-rank --format csv names them all.",
                                      threads.size() - kNamedThreads),
                          2, Style::kDim);
    }
}

}  // namespace dwell
