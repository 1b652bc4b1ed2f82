// A page of memory in which observed processes report to `dwell run`, which creates it and passes
// it on in DWELL_STATUS (DESIGN 5, rule 2: one clear line when nothing could be observed, and the
// reason). The page has no name in a file system: DWELL_STATUS is /proc/<dwell run>/fd/<n>, so
// nothing is left however a run ends.
//
// All writes are atomic and do not block, so any thread may make them, also just before it dies. No
// dependency beyond libc. Without a page (other host, plain LD_PRELOAD) every function here gets
// null and does nothing.
#ifndef DWELL_RUNTIME_CONTRACT_STATUS_PAGE_H_
#define DWELL_RUNTIME_CONTRACT_STATUS_PAGE_H_

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/contract/job_name.h"
#include "runtime/contract/raw_io.h"
#include "runtime/contract/standard_files.h"

namespace dwell {

constexpr uint64_t kStatusMagic = 0x3253544c4c5744ULL;  // "DWLLTS2"
constexpr uint32_t kStatusJobs = 16;
constexpr uint32_t kStatusMessageBytes = 240;
constexpr uint32_t kStatusNotes = 8;
constexpr uint32_t kStatusRanks = 8;  // ranks listed in a note

struct StatusPage {
    uint64_t magic;
    int32_t child_pid;         // the program that `dwell run` started
    uint32_t child_loaded;     // 1: libdwell.so was loaded in it
    uint32_t within_launcher;  // 1: `dwell run` is below the launcher, and reaches one rank
    uint32_t child_ended;      // 1: the library saw its end
    char child_name[16];       // its name when the library was last loaded in it
    uint32_t mpi_entered;      // processes that called MPI_Init and are observed
    uint32_t mpi_passed_by;    // processes that started MPI without a call that dwell saw
    uint32_t mpi_unused;       // processes that loaded MPI and did not start it
    uint32_t mpi_processes;    // processes that reached MPI_Init
    uint32_t probed;           // processes that the probes of an instrumented program attached
    uint32_t world_size;       // of the first MPI_COMM_WORLD seen
    uint32_t observed;         // observed ranks of that world, on any host
    uint32_t jobs;             // entries used in `job`; may exceed kStatusJobs
    uint32_t said_why;         // processes that reported why they are not observed
    uint32_t omp_unseen;       // FileFlags: why OMPT did not work in a process
    char mpi_library[64];      // of a process counted in mpi_passed_by
    struct Job {
        uint32_t done;
        char name[kJobNameBytes];
    } job[kStatusJobs];
    // Messages that several processes of a job may report.
    uint32_t notes_lock;
    uint32_t notes;           // complete notes
    uint32_t notes_left_out;  // further lines without room
    struct Note {
        uint32_t count;  // processes
        int32_t ranks[kStatusRanks];
        char text[kStatusMessageBytes];
    } note[kStatusNotes];
};

// Maps the page named by DWELL_STATUS; null when there is none. Stays mapped. Only a regular file
// of this user is accepted.
inline StatusPage* open_status_page() {
    const char* path = getenv("DWELL_STATUS");
    if (path == nullptr || *path == '\0') return nullptr;
    const StandardFilesHeld held;
    const int file = raw_open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) return nullptr;
    struct stat about;
    void* bytes = MAP_FAILED;
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
        about.st_size >= static_cast<off_t>(sizeof(StatusPage))) {
        bytes = mmap(nullptr, sizeof(StatusPage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    raw_close(file);
    if (bytes == MAP_FAILED) return nullptr;
    StatusPage* page = static_cast<StatusPage*>(bytes);
    if (page->magic == kStatusMagic) return page;
    munmap(bytes, sizeof(StatusPage));
    return nullptr;
}

inline void status_add(uint32_t* counter) { __atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED); }
inline uint32_t status_read(const uint32_t* counter) {
    return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

// The library's constructor ran.
inline void status_loaded(StatusPage* page) {
    if (page == nullptr || page->child_pid != getpid()) return;
    prctl(PR_GET_NAME, page->child_name);
    __atomic_store_n(&page->child_loaded, 1u, __ATOMIC_RELEASE);
}

// Records of `job` exist: `dwell run` takes care of them when the process cannot.
inline void status_job(StatusPage* page, const char* job) {
    const uint32_t known = status_read(&page->jobs);
    for (uint32_t i = 0; i < known && i < kStatusJobs; ++i) {
        if (status_read(&page->job[i].done) != 0 && strcmp(page->job[i].name, job) == 0) return;
    }
    const uint32_t slot = __atomic_fetch_add(&page->jobs, 1u, __ATOMIC_ACQ_REL);
    if (slot >= kStatusJobs) return;
    copy_job_name(page->job[slot].name, kJobNameBytes, job);
    __atomic_store_n(&page->job[slot].done, 1u, __ATOMIC_RELEASE);
}

// The library's destructor ran.
inline void status_ended(StatusPage* page) {
    if (page != nullptr && page->child_pid == getpid()) {
        __atomic_store_n(&page->child_ended, 1u, __ATOMIC_RELEASE);
    }
}

inline void status_copy(char* to, size_t size, const char* from) {
    const size_t length = strnlen(from, size - 1);
    memcpy(to, from, length);
    to[length] = '\0';
}

// Adds a line of a job, from process `rank`; equal texts are one note. Waits a little for other
// writers.
inline void status_note(StatusPage* page, const char* text, int rank) {
    for (int tries = 0; __atomic_exchange_n(&page->notes_lock, 1u, __ATOMIC_ACQUIRE) != 0;
         ++tries) {
        if (tries > 1000) return;  // its owner was killed
        usleep(100);
    }
    const uint32_t known = page->notes;
    uint32_t i = 0;
    while (i < known && strncmp(page->note[i].text, text, kStatusMessageBytes - 1) != 0) ++i;
    if (i == kStatusNotes) {
        page->notes_left_out += 1;
    } else {
        StatusPage::Note* note = &page->note[i];
        if (i == known) {
            status_copy(note->text, sizeof(note->text), text);
            note->count = 0;
        }
        if (note->count < kStatusRanks) note->ranks[note->count] = rank;
        note->count += 1;
        // Written last, because this process may be killed at any point.
        if (i == known) __atomic_store_n(&page->notes, known + 1, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&page->notes_lock, 0u, __ATOMIC_RELEASE);
}

// MPI_Init has ended and the record file exists. `job` is this process's job_name(), `observed` the
// number of observed ranks of its world.
inline void status_mpi_started(StatusPage* page, const char* job, int world_size, int observed) {
    if (page == nullptr) return;
    status_add(&page->mpi_processes);
    uint32_t none = 0;
    if (__atomic_compare_exchange_n(&page->world_size, &none, static_cast<uint32_t>(world_size),
                                    false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        __atomic_store_n(&page->observed, static_cast<uint32_t>(observed), __ATOMIC_RELEASE);
    }
    status_job(page, job);
}

// MPI_Init was called and the record file exists; whether MPI_Init succeeds is not known yet.
inline void status_mpi_entered(StatusPage* page, const char* job) {
    if (page == nullptr) return;
    status_add(&page->mpi_entered);
    status_job(page, job);
}

// At the end of a process whose MPI calls, if any, were not seen.
inline void status_mpi_unseen(StatusPage* page, const char* library, bool started) {
    if (page == nullptr) return;
    status_add(started ? &page->mpi_passed_by : &page->mpi_unused);
    if (started) status_copy(page->mpi_library, sizeof(page->mpi_library), library);
}

// An instrumented process is observed from its first probe on; without MPI it writes its own
// report.
inline void status_probed(StatusPage* page, const char* job) {
    if (page == nullptr) return;
    status_add(&page->probed);
    status_job(page, job);
}

// This process is not observed, and a note or a line on stderr gives the reason.
inline void status_said_why(StatusPage* page) {
    if (page != nullptr) status_add(&page->said_why);
}

// A process ends that was not observed, although its libomp supports it (ompt.h).
inline void status_omp_unseen(StatusPage* page, uint32_t obstacle) {
    if (page != nullptr) __atomic_fetch_or(&page->omp_unseen, obstacle, __ATOMIC_RELAXED);
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_STATUS_PAGE_H_
