/* dwell.h: annotations for dwell. For C (C99) and C++ (C++11), gcc and clang.
 *
 * Nothing needs to be linked: where libdwell.so is not loaded, and where the process is not
 * observed, every call does nothing and costs less than a nanosecond. With dwell, a block on a
 * known path costs about as much as three readings of the clock. DWELL_OFF, defined before this
 * file, removes all calls. On machines other than x86-64 Linux they do nothing.
 *
 * For all functions:
 *   Names      any text; dwell keeps a copy of at most 1000 bytes, up to the zero or the end of a
 *              line. A process may use 4096 different names (the same name at another place in the
 *              source is different); blocks with further names are not recorded, but counted.
 *   Threads    any thread may call at any time, also before MPI_Init and after MPI_Finalize; each
 *              thread has its own open blocks. Also from signal handlers; calls of a handler that
 *              interrupts dwell itself are not recorded. Not between vfork and exec.
 *   Failure    nothing to check: the program runs on as without dwell. The report shows how much
 *              could not be recorded.
 *   The first  call in a process that may be observed attaches dwell to it (some milliseconds); so
 *              programs without MPI get a report, too.
 *
 * Blocks. A block is a part of a run with a name, a time and a count. It lies in the block,
 * procedure or loop that was open at its beginning, and contains everything until its end. An end
 * belongs to the innermost open block of its name; an end without a beginning does nothing. Blocks
 * may begin and end in different procedures and need not be nested: when a block ends, blocks that
 * began later and are still open continue in the surrounding block; their time is split there, and
 * they count where they began. Likewise a block may outlive the procedure in which it began. A
 * block that is not ended because of a longjmp or an exception ends with the watched procedure or
 * block around it; in C++ prefer DWELL_SCOPE. A block inside one of the same name counts, but adds
 * no time (recursion).
 */
#ifndef DWELL_H_
#define DWELL_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Not instrumented by -finstrument-functions and dwell's own compilers. */
#define DWELL_UNSEEN __attribute__((no_instrument_function))
#define DWELL_INLINE DWELL_UNSEEN static inline

/* Version of this interface. Extended only: programs built for an older version keep working. */
#define DWELL_API_VERSION 3

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): a header for C */
/* A place in the source. Static, and made by the macros below. */
struct dwell_place {
    const char* name;
    const char* file;
    uint32_t line;
    uint32_t flags; /* 0 */
    void* known;    /* used by the library */
};

/* What this process has done so far in some part of the program: see dwell_query. Times are virtual
 * nanoseconds, without dwell's own cost, and sums over the threads of the process. */
struct dwell_figures {
    uint64_t count;        /* entries, recursive ones too; calls; of a partner: calls with it */
    uint64_t inclusive_ns; /* never twice in recursion; entries still open up to now */
    uint64_t exclusive_ns; /* without procedures, loops, blocks, OpenMP, I/O and MPI below it */
    uint64_t open_ns;      /* part of inclusive_ns: entries and calls that have not ended */
    uint64_t waiting_ns;   /* in MPI, there and below: before the partners were there */
    uint64_t transfer_ns;  /* the rest of the time in calls of MPI that have ended */
    uint64_t bytes_sent;   /* by MPI, there and below */
    uint64_t bytes_received;
    uint64_t flags;
};
/* Bits of `flags`. */
#define DWELL_ESTIMATED UINT64_C(1)     /* count and times are partly or all estimated */
#define DWELL_NOT_COUNTED UINT64_C(2)   /* a function without probes: count is 0 */
#define DWELL_WAITS_UNKNOWN UINT64_C(4) /* waiting of some calls is unknown, and in transfer_ns */

/* The table that libdwell.so exports as dwell_entries. Use the functions below instead. */
struct dwell_entries {
    uint32_t api_version;
    uint32_t reserved;
    const uint32_t* observed; /* value zero: calls have no effect now */
    const char* library_version;
    void (*begin_at)(struct dwell_place* place);
    void (*begin)(const char* name, size_t bytes);
    void (*end)(const char* name, size_t bytes);
    void (*add)(uint64_t volume);
    void (*mark_at)(struct dwell_place* place, uint64_t volume);
    void (*mark)(const char* name, size_t bytes, uint64_t volume);
    void (*phase_begin)(const char* name, size_t bytes, uint64_t iteration);
    void (*phase_end)(void);
    void (*pause)(void);
    void (*resume)(void);
    int (*is_recording)(void);
    void (*grid)(const char* name, size_t bytes, int dimensions, const int* sizes,
                 const int* periodic, const int* coordinates);
    /* From version 2 on. `room`: the size of the caller's struct dwell_figures. */
    int (*query)(const char* name, size_t bytes, struct dwell_figures* figures, size_t room);
    int (*query_partner)(int rank, struct dwell_figures* figures, size_t room);
    /* From version 3 on. */
    void (*events)(int on);
};

/* The C library's own gnu_get_libc_release takes no arguments and has no effect. libdwell.so
 * interposes it: with this mark it stores the address of its dwell_entries. */
#define DWELL_ENTRIES_MARK UINT64_C(0x9d3a64e17b0c5f29)

#if defined(__x86_64__) && defined(__LP64__) && defined(__linux__) && !defined(DWELL_OFF)
/* The library's table, once this part of the program is initialised. */
static const struct dwell_entries* dwell_found;

extern void dwell_ask_libc(const struct dwell_entries** found,
                           uint64_t mark) __asm__("gnu_get_libc_release") __attribute__((weak));

DWELL_UNSEEN __attribute__((constructor(101))) static void dwell_find(void) {
    /* Through the global offset table in every kind of code: a weak address in position-dependent
     * code stays zero whatever is loaded. Some linkers bind undefined weak symbols to zero for
     * good: then the C library's function leads to the library. */
    __asm__(
        ".weak dwell_entries\n\t"
        "mov{q dwell_entries@GOTPCREL(%%rip), %0| %0, QWORD PTR dwell_entries@GOTPCREL[rip]}"
        : "=r"(dwell_found));
    if (dwell_found == NULL && dwell_ask_libc != NULL) {
        dwell_ask_libc(&dwell_found, DWELL_ENTRIES_MARK);
    }
}
#endif

/* The library, whether or not the process is observed; null without it. */
DWELL_INLINE const struct dwell_entries* dwell_library(void) {
#if defined(__x86_64__) && defined(__LP64__) && defined(__linux__) && !defined(DWELL_OFF)
    return dwell_found;
#else
    return NULL;
#endif
}

/* The library if calls have an effect now. */
DWELL_INLINE const struct dwell_entries* dwell_observing(void) {
    const struct dwell_entries* const library = dwell_library();
    return library != NULL && __atomic_load_n(library->observed, __ATOMIC_RELAXED) != 0 ? library
                                                                                        : NULL;
}

/* The version of the loaded library, such as "0.1.0"; null without it. Never freed. */
DWELL_INLINE const char* dwell_version(void) {
    const struct dwell_entries* const library = dwell_library();
    return library != NULL ? library->library_version : NULL;
}

/* Begins the block `name`. */
DWELL_INLINE void dwell_block_begin(const char* name) {
    const struct dwell_entries* const library = dwell_observing();
    if (library != NULL) library->begin(name, name != NULL ? strlen(name) : 0);
}

/* Ends the innermost open block of this name in the calling thread, whichever statement began it;
 * with a null pointer the innermost one of any name. */
DWELL_INLINE void dwell_block_end(const char* name) {
    const struct dwell_entries* const library = dwell_observing();
    if (library != NULL) library->end(name, name != NULL ? strlen(name) : 0);
}

/* Adds `volume` to the innermost open block of the calling thread: its amount of work, in a unit of
 * your choice (bytes, cells, flops). The report shows the sum and the rate. */
DWELL_INLINE void dwell_block_volume(uint64_t volume) {
    const struct dwell_entries* const library = dwell_observing();
    if (library != NULL) library->add(volume);
}

/* A marker: an event without duration, with `volume` (0: none). Counted for each path that leads to
 * it. */
DWELL_INLINE void dwell_mark(const char* name, uint64_t volume) {
    const struct dwell_entries* const library = dwell_observing();
    if (library != NULL) library->mark(name, name != NULL ? strlen(name) : 0, volume);
}

/* A phase is a block for the large steps of a run: initialisation, time step, output. `iteration`
 * is its number within the run, as you count (0 if you do not): the report shows the first and the
 * last one. Phases may be nested. dwell_phase_end ends the innermost open phase. */
DWELL_INLINE void dwell_phase_begin(const char* name, uint64_t iteration) {
    const struct dwell_entries* const library = dwell_observing();
    if (library != NULL) library->phase_begin(name, name != NULL ? strlen(name) : 0, iteration);
}
DWELL_INLINE void dwell_phase_end(void) {
    const struct dwell_entries* const library = dwell_observing();
    if (library != NULL) library->phase_end();
}

/* Ends the innermost open phase, if any, and begins this one. */
DWELL_INLINE void dwell_phase_next(const char* name, uint64_t iteration) {
    dwell_phase_end();
    dwell_phase_begin(name, iteration);
}

/* Switches recording off and on for the whole process, as MPI_Pcontrol(0) and (1) do. The time
 * between belongs to nobody. Calls do not add up: one dwell_resume ends any number of pauses.
 * Blocks that begin in a pause are never recorded; blocks that end in it end with its beginning.
 * Other threads may still complete the record that they are writing. */
DWELL_INLINE void dwell_pause(void) {
    const struct dwell_entries* const library = dwell_observing();
    if (library != NULL) library->pause();
}
DWELL_INLINE void dwell_resume(void) {
    const struct dwell_entries* const library = dwell_observing();
    if (library != NULL) library->resume();
}

/* 1 while recording is on, otherwise 0. */
DWELL_INLINE int dwell_is_recording(void) {
    const struct dwell_entries* const library = dwell_observing();
    return library != NULL ? library->is_recording() : 0;
}

/* Switches full events on and off for the whole process, as MPI_Pcontrol(3) and (4) do. Without
 * dwell run --events nothing happens. Threads follow at their next call or probe. */
DWELL_INLINE void dwell_events_on(void) {
    const struct dwell_entries* const library = dwell_observing();
    if (library != NULL && library->api_version >= 3) library->events(1);
}
DWELL_INLINE void dwell_events_off(void) {
    const struct dwell_entries* const library = dwell_observing();
    if (library != NULL && library->api_version >= 3) library->events(0);
}

/* Describes a grid of processes and the coordinates of this process, so that reports can name ranks
 * by coordinates. `sizes`, `periodic` (not zero: dimension wraps around) and `coordinates` have
 * `dimensions` elements, at most 6; sizes from 1 on, coordinates from 0 on and below their size.
 * `periodic` may be null: none. Anything else is ignored, with one line on stderr. A grid of the
 * same name replaces the earlier one. Not from signal handlers. */
DWELL_INLINE void dwell_grid(const char* name, int dimensions, const int* sizes,
                             const int* periodic, const int* coordinates) {
    const struct dwell_entries* const library = dwell_observing();
    if (library != NULL) {
        library->grid(name, name != NULL ? strlen(name) : 0, dimensions, sizes, periodic,
                      coordinates);
    }
}

/* Queries: what this process has done so far, from dwell's own records, without MPI and without
 * other processes. `figures` is not null. Returns 1, or 0 with all figures zero: not known, because
 * nothing of it has been recorded so far (since MPI_Pcontrol(2)), or because there is no library,
 * an older one, or no observation now (before the first event, after MPI_Finalize).
 *
 * `name` is one of these:
 *   A name of a procedure with probes, a block, phase or marker, or a function of MPI, as the
 *   report shows it, without parameters: "relax", "ns::solve" in C++, "module::solve" in Fortran,
 *   "MPI_Recv". "*" stands for any characters, "?" for one: "MPI_*" is all of MPI. All that has the
 *   name is taken together, so give blocks names of their own.
 *   A line, "solver.c:42": the procedure or loop with probes, or the block with its place, that
 *   begins there. Where none begins, in a procedure with probes: the call there of MPI or of a
 *   procedure with probes. If a procedure calls the same on two lines, these are not known. Other
 *   lines are not known.
 *   A function without probes, if nothing else has the name: found in the symbol tables of the
 *   program and its libraries. It is not counted (DWELL_NOT_COUNTED), and its times are estimated
 *   (DWELL_ESTIMATED): calls of MPI and I/O that it or what it calls has made, and of the
 *   computation between two calls of MPI the share of dwell's samples in it; without samples all of
 *   it if both calls came from the same call in the function. Patterns for more than 16 such
 *   functions are not known.
 *
 * Open entries of procedures, loops, blocks and phases are included up to now, calls of MPI that
 * other threads are in as well, without their waiting (open_ns). Not included: computation of a
 * function without probes since the last call of MPI, and open entries on stacks of coroutines.
 *
 *   Cost     about 10 to 30 ns for each place (node) of the report's tree that this process has,
 *            and a microsecond. The first query of a function without probes reads symbol tables:
 *            milliseconds. That time is dwell's own, and in no figure. For once in a time step, not
 *            for each cell.
 *   Threads  any thread at any time; takes no lock of dwell. Other threads go on meanwhile: what
 *            they end during the query may be in it or not. Not from signal handlers. Names of C++
 *            and of functions without probes take memory. */
DWELL_INLINE int dwell_query(const char* name, struct dwell_figures* figures) {
    const struct dwell_entries* const library = dwell_observing();
    memset(figures, 0, sizeof(*figures));
    if (library == NULL || library->api_version < 2 || name == NULL) return 0;
    return library->query(name, strlen(name), figures, sizeof(*figures));
}

/* The same for a partner: messages exchanged with `rank` of MPI_COMM_WORLD, and the time in their
 * calls. A call with several partners shares its time among them. Collectives have no partner; each
 * call statement remembers 256 partners (dwell run --peers). */
DWELL_INLINE int dwell_query_partner(int rank, struct dwell_figures* figures) {
    const struct dwell_entries* const library = dwell_observing();
    memset(figures, 0, sizeof(*figures));
    if (library == NULL || library->api_version < 2) return 0;
    return library->query_partner(rank, figures, sizeof(*figures));
}

/* Used by the macros. */
DWELL_INLINE void dwell_begin_at(struct dwell_place* place) {
    const struct dwell_entries* const library = dwell_observing();
    if (library != NULL) library->begin_at(place);
}
DWELL_INLINE void dwell_mark_at(struct dwell_place* place, uint64_t volume) {
    const struct dwell_entries* const library = dwell_observing();
    if (library != NULL) library->mark_at(place, volume);
}
struct dwell_open_scope {
    const char* name;
};
DWELL_INLINE void dwell_scope_left(const struct dwell_open_scope* scope) {
    dwell_block_end(scope->name);
}

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#define DWELL_JOIN_(a, b) a##b
#define DWELL_JOIN(a, b) DWELL_JOIN_(a, b)

/* Blocks and markers with their place in the source; faster. The name must be a literal. A block
 * may be ended by DWELL_BLOCK_END or dwell_block_end. */
#define DWELL_BLOCK_BEGIN(name)                                                         \
    do {                                                                                \
        static struct dwell_place dwell_here_ = {"" name, __FILE__, __LINE__, 0, NULL}; \
        dwell_begin_at(&dwell_here_);                                                   \
    } while (0)
#define DWELL_BLOCK_END(name) dwell_block_end("" name)
#define DWELL_MARK(name, volume)                                                        \
    do {                                                                                \
        static struct dwell_place dwell_here_ = {"" name, __FILE__, __LINE__, 0, NULL}; \
        dwell_mark_at(&dwell_here_, (volume));                                          \
    } while (0)

/* A declaration: a block from here to the end of the scope, however the scope is left (in C: except
 * by longjmp, exit or pthread_exit). */
#define DWELL_SCOPE(name) DWELL_SCOPE_(name, __COUNTER__)
#ifdef __cplusplus
#define DWELL_SCOPE_(name, number)                                                                \
    static struct dwell_place DWELL_JOIN(dwell_place_, number) = {"" name, __FILE__, __LINE__, 0, \
                                                                  NULL};                          \
    const ::dwell::Scope DWELL_JOIN(dwell_scope_, number)(&DWELL_JOIN(dwell_place_, number))

namespace dwell {

// A block that ends with the object. Neither copied nor moved; `name` must outlive it.
class Scope {
  public:
    DWELL_UNSEEN explicit Scope(const char* name) : name_(name) { dwell_block_begin(name); }
    DWELL_UNSEEN explicit Scope(dwell_place* place) : name_(place->name) { dwell_begin_at(place); }
    DWELL_UNSEEN ~Scope() { dwell_block_end(name_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

  private:
    const char* name_;
};

}  // namespace dwell
#else
#define DWELL_SCOPE_(name, number)                                                                \
    static struct dwell_place DWELL_JOIN(dwell_place_, number) = {"" name, __FILE__, __LINE__, 0, \
                                                                  NULL};                          \
    __attribute__((cleanup(dwell_scope_left), unused)) const struct dwell_open_scope DWELL_JOIN(  \
        dwell_scope_, number) = {(dwell_begin_at(&DWELL_JOIN(dwell_place_, number)), "" name)}
#endif

#endif /* DWELL_H_ */
