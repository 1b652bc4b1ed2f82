// The tree reduction in MPI_Finalize (DESIGN 2): every observed rank turns its record file into a
// tree, and in log P steps the trees are merged on the first observed rank, which writes the result
// and starts the report, while the others wait.
//
// A job may be observed in part (DESIGN 5.6), so only observed ranks take part, and they are found
// without communication: each rank makes its record file before PMPI_Init, which ends with a
// barrier, so afterwards the files in the host's record directory are those of its observed ranks.
// Between hosts the launcher's key exchange (PMIx, completed by PMPI_Init) carries one mark a rank.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/contract/job_name.h"
#include "runtime/events/event_flush.h"
#include "runtime/lifecycle/launcher.h"
#include "runtime/lifecycle/lifecycle.h"
#include "runtime/mpi/mpi_handles.h"
#include "runtime/mpi/profiled_ranks.h"
#include "runtime/process/file_limit.h"
#include "summarize/merge/merged.h"

namespace dwell {

namespace {

constexpr int kGroupTag = 0x6477;              // on MPI_COMM_WORLD, inside MPI_Init only
constexpr uint64_t kGrace_ns = 5'000'000'000;  // extra wait for the first rank's time-out

// Message before a tree: sizes of its head and of the pieces of its ranks, which are sent without a
// copy.
struct TreeSizes {
    uint64_t head;  // 0: no memory, nothing follows
    uint64_t ranks;
};

bool receive_tree(int from, Merged* merged) {
    TreeSizes sizes{};
    const auto receive = [from](void* bytes, uint64_t size) {
        return receive_bytes(static_cast<char*>(bytes), size, from, kMergeTag, private_deadline());
    };
    if (!receive(&sizes, sizeof(sizes)) || sizes.head == 0) return false;
    GrowArray<char> head, ranks;
    if (!head.resize(sizes.head) || !ranks.resize(sizes.ranks)) return false;
    if (!receive(head.data(), sizes.head) || !receive(ranks.data(), sizes.ranks)) return false;
    Merged other;
    return deserialize(head.data(), head.size(), &ranks, &other) &&
           join(merged, static_cast<Merged&&>(other));
}

bool send_tree(int to, const Merged& merged) {
    GrowArray<char> head;
    const auto send = [to](const void* bytes, uint64_t size) {
        return send_bytes(static_cast<const char*>(bytes), size, to, kMergeTag, private_deadline());
    };
    TreeSizes sizes{0, merged.ranks.bytes()};
    if (serialize_head(merged, &head)) sizes.head = head.size();
    if (!send(&sizes, sizeof(sizes)) || sizes.head == 0) return false;
    return send(head.data(), sizes.head) && merged.ranks.each_piece(send);
}

// Binomial tree: in step 1, 2, 4, … places with that bit send to the place without it.
bool reduce(Merged* merged, bool* complete) {
    for (int step = 1; step < g_profiled.count; step *= 2) {
        if ((g_profiled.place & step) != 0) return send_tree(g_profiled.place - step, *merged);
        if (g_profiled.place + step < g_profiled.count &&
            !receive_tree(g_profiled.place + step, merged)) {
            *complete = false;
        }
    }
    return true;
}

bool write_all(int file, const char* bytes, size_t size) {
    while (size != 0) {
        const ssize_t written = write(file, bytes, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes += written;
        size -= static_cast<size_t>(written);
    }
    return true;
}

bool write_merged(const Merged& merged) {
    char path[sizeof(g_process.record_dir) + 16];
    snprintf(path, sizeof(path), "%s/merged", g_process.record_dir);
    GrowArray<char> bytes;
    if (!serialize(merged, &bytes)) {
        warn("no memory to merge the records");
        return false;
    }
    const NoSizeSignal held;
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool written = file >= 0 && write_all(file, bytes.data(), bytes.size());
    if (file >= 0 && close(file) != 0) written = false;
    if (!written) {
        warn(
            "the merged records were not written to %s: %s; the records are kept: dwell recover %s",
            path, strerror(errno), g_process.record_dir);
        if (file >= 0) unlink(path);
    }
    return written;
}

// Merges the records of higher places into its own and sends them on; the first place writes them
// to disk. False on failure.
bool merge_records(bool* complete) {
    Merged merged;
    if (g_process.options.row_limit != 0) merged.row_limit = g_process.options.row_limit;
    if (g_profiled.partial) merged.flags |= kMergedPartial;
    merged.expected_ranks = static_cast<uint32_t>(g_profiled.count);
    *complete = add_record_file(&merged, g_process.cells,
                                static_cast<size_t>(g_process.header->cells_reserved) * kCellBytes);
    if (!*complete) warn("rank %d: no memory to merge its records", g_process.header->rank);
    const bool sent = reduce(&merged, complete);
    if (g_profiled.place != 0) return sent;
    if (!merged.ranks.keep_readable()) *complete = false;
    if (!*complete) {
        merged.flags |= kMergedPartial;
        warn(
            "not every rank's records arrived in time: the report will lack them; the record "
            "files are kept in %s",
            g_process.record_dir);
    }
    return write_merged(merged);
}

// Writes the observed ranks of this host, ascending; returns their number.
int ranks_with_files(int* ranks, int world_size) {
    int count = 0;
    for (int rank = 0; rank < world_size; ++rank) {
        char path[sizeof(g_process.record_dir) + 24];
        snprintf(path, sizeof(path), "%s/rank.%d", g_process.record_dir, rank);
        if (access(path, F_OK) == 0) ranks[count++] = rank;
    }
    return count;
}

int observed_ranks(int* ranks, int world_size) {
    if (launcher_spans_hosts()) return ranks_marked_observed(ranks, world_size);
    return ranks_with_files(ranks, world_size);
}

}  // namespace

void announce_observed() { mark_observed(); }

int make_tool_comm() {
    const int world_size = g_process.header->world_size;
    if (world_size < 2) return 1;
    auto* ranks = static_cast<int*>(malloc(static_cast<size_t>(world_size) * sizeof(int)));
    if (ranks == nullptr) return 1;
    const int count = observed_ranks(ranks, world_size);
    g_profiled.partial = count < world_size;
    MPI_Group world = group_of(g_mpi.comm_world);
    MPI_Group group = nullptr;
    if (count > 1 && world != nullptr &&
        g_mpi.Group_incl(world, count, ranks, &group) == MPI_SUCCESS &&
        g_mpi.Comm_create_group(g_mpi.comm_world, group, kGroupTag, &g_profiled.comm) ==
            MPI_SUCCESS) {
        g_mpi.Comm_set_errhandler(g_profiled.comm, g_mpi.errors_return);
        g_profiled.place = rank_in(g_profiled.comm);
        g_profiled.count = count;
    }
    free_group(&group);
    free_group(&world);
    g_profiled.ranks = ranks;
    return count;
}

void await_observed() {
    if (g_profiled.count < 2) return;
    MPI_Request request = nullptr;
    if (g_mpi.Ibarrier(g_profiled.comm, &request) != MPI_SUCCESS) return;
    await_collective(&request, 0);
}

void merge_observed() {
    bool complete = false;
    const bool done = merge_records(&complete);
    if (g_profiled.place != 0 && !done) return;
    char outcome = done && complete ? 1 : 0;  // all is on disk: record files may be removed
    spread_over_profiled(&outcome, 1, private_deadline());
    if (outcome != 0 && !events_stay()) {
        unlink(g_process.record_path);
        rmdir(g_process.record_dir);  // empty where this host has no first place
    }
    if (g_profiled.place == 0 && done) run_finish();
    if (g_profiled.place == 0 && events_stay()) {
        warn("the events of each host are kept there; to write their log type: dwell recover %s",
             g_process.record_dir);
    }
    // The other ranks wait for the report, because launchers end the job, and the report, when a
    // rank exits with an error.
    char finished = 1;
    spread_over_profiled(&finished, 1, end_deadline() + kGrace_ns);
}

}  // namespace dwell
