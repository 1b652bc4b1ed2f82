// Names the directory of a job's record files. libdwell.so creates the files, and the `dwell`
// command keeps them after a crash, so both must find the same directory and use only these
// functions. No dependency beyond libc; no allocation.
#ifndef DWELL_RUNTIME_CONTRACT_JOB_NAME_H_
#define DWELL_RUNTIME_CONTRACT_JOB_NAME_H_

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <initializer_list>

namespace dwell {

constexpr size_t kJobNameBytes = 64;  // FileHeader::job

// Copies `from` to `out` with '-' for characters not allowed in file names. A name that is too long
// is cut at the left, where launchers put constant parts. `size` includes the final zero.
inline void copy_job_name(char* out, size_t size, const char* from) {
    const size_t length = strlen(from);
    if (length >= size) from += length - size + 1;
    size_t used = 0;
    for (; *from != '\0' && used + 1 < size; ++from) {
        const char c = *from;
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '_' || c == '-' ||
                           (c == '.' && used != 0);
        out[used++] = plain ? c : '-';
    }
    out[used] = '\0';
}

// Distinguishes jobs of the same name: Open MPI names a job after mpirun's process id, which is
// soon reused in containers. "-" and mpirun's port, which every rank knows; empty where there is
// none.
inline void launch_mark(char* out, size_t size) {
    const char* address = getenv("OMPI_MCA_orte_hnp_uri");
    const char* port = address == nullptr ? nullptr : strrchr(address, ':');
    *out = '\0';
    if (port == nullptr || port[1] < '0' || port[1] > '9') return;
    snprintf(out, size, "-%u", static_cast<unsigned>(atoi(port + 1)));
}

// The Slurm step to which this process belongs as a task, else null. A batch script and its own
// children also have the variables of a task, with a special step number (slurm.h:
// SLURM_INTERACTIVE_STEP and above).
inline const char* slurm_step() {
    constexpr unsigned long kNoSteps = 0xfffffff0;
    const char* step = getenv("SLURM_STEP_ID");
    if (step == nullptr || *step == '\0' || getenv("SLURM_PROCID") == nullptr) return nullptr;
    return strtoul(step, nullptr, 10) < kNoSteps ? step : nullptr;
}

// Prefixes `name` by the number of the batch job, which users know, unless it contains that number.
inline void in_batch_job(char* out, size_t size, const char* name) {
    const char* batch = getenv("SLURM_JOB_ID");
    const bool outside = batch == nullptr || *batch == '\0' || strstr(name, batch) != nullptr;
    snprintf(out, size, "%.40s%s%s", outside ? "" : batch, outside ? "" : "-", name);
}

// The job of this process: the launcher's name for it, else the `dwell run` above it, else the
// process itself. The same for every rank of a job.
inline void job_name(char* out, size_t size) {
    const char* name_space = getenv("PMIX_NAMESPACE");
    const char* run_pid = getenv("DWELL_RUN_PID");
    char name[256 + 16];  // PMIX_MAX_NSLEN is 255
    if (name_space != nullptr && *name_space != '\0') {
        char mark[16];
        launch_mark(mark, sizeof mark);
        snprintf(name, sizeof name, "%.255s%s", name_space, mark);
    } else if (const char* step = slurm_step(); step != nullptr && getenv("SLURM_JOB_ID")) {
        snprintf(name, sizeof name, "%.40s.%.20s", getenv("SLURM_JOB_ID"), step);
    } else if (run_pid != nullptr && *run_pid != '\0') {
        snprintf(name, sizeof name, "pid%.20s", run_pid);
    } else {
        snprintf(name, sizeof name, "pid%ld", static_cast<long>(getpid()));
    }
    char whole[sizeof name + 41];
    in_batch_job(whole, sizeof whole, name);
    copy_job_name(out, size, whole);
}

// The directory of the job's record files; false when it does not fit into `size`.
inline bool record_directory(char* out, size_t size, const char* job) {
    const char* base = getenv("DWELL_RECORD_DIR");
    if (base == nullptr || *base == '\0') base = "/dev/shm";
    const int length =
        snprintf(out, size, "%s/dwell-%ld-%s", base, static_cast<long>(getuid()), job);
    return length > 0 && static_cast<size_t>(length) < size;
}

// The number, `least` or more, that the first of the launcher's variables has; -1: none has. Those
// that Slurm sets in a batch script, too, are those of a task only in a step.
inline int launcher_number(std::initializer_list<const char*> variables, long least) {
    for (const char* variable : variables) {
        const char* text = getenv(variable);
        if (text == nullptr || *text == '\0') continue;
        const bool in_steps =
            strcmp(variable, "SLURM_PROCID") == 0 || strcmp(variable, "SLURM_NTASKS") == 0;
        if (in_steps && slurm_step() == nullptr) continue;
        char* end = nullptr;
        const long number = strtol(text, &end, 10);
        if (*end == '\0' && number >= least && number <= (1L << 24))
            return static_cast<int>(number);
    }
    return -1;
}

// Rank of this process according to its launcher; -1 without a launcher.
inline int launcher_rank() {
    return launcher_number({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}, 0);
}

// Number of ranks according to the launcher; `rank` is launcher_rank(). A size of at most `rank`
// belongs to another job, such as the allocation around this one, and is ignored: the result is at
// least rank + 1.
inline int launcher_size(int rank) {
    if (rank < 0) return 1;
    const int size = launcher_number(
        {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, rank + 1L);
    return size > 0 ? size : rank + 1;
}

// True when the launcher started no other process.
inline bool is_alone() {
    const int rank = launcher_rank();
    return rank < 0 || launcher_size(rank) == 1;
}

// Number of the job's ranks on this host according to the launcher; -1 when unknown.
inline int launcher_local_size() {
    return launcher_number({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}, 1);
}

// Whether this is the first of these ranks, as far as the launcher tells.
inline bool is_first_on_host() {
    const int number =
        launcher_number({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}, 0);
    return number >= 0 ? number == 0 : launcher_rank() <= 0;
}

// True when not every rank of the job runs on this host, as far as the launcher says.
inline bool launcher_spans_hosts() {
    const int local = launcher_local_size();
    return local > 0 && local < launcher_size(launcher_rank());
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_JOB_NAME_H_
