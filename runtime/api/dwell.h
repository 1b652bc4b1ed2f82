/* dwell.h: tell dwell about your program. For C (C99) and C++ (C++11), gcc and clang.
 *
 * Nothing needs to be linked: where libdwell.so is not loaded, and where the process is not
 * observed, everything here does nothing and costs less than a nanosecond. With it, a block that
 * was met before on the same path costs about as much as three readings of the clock. DWELL_OFF
 * defined before this file removes all of it. On other machines than x86-64 Linux it does nothing.
 *
 * For all of them holds:
 *   Names      are any text; dwell keeps a copy. They are read up to their zero or the end of a
 *              line, 1000 bytes at most. A process may use 4096 different ones (a place in the
 *              source counts): what comes after is not recorded, but counted.
 *   Threads    any thread may call at any time, also before MPI_Init and after MPI_Finalize; each
 *              has its own open blocks. From signal handlers too; what a handler does while it
 *              interrupts dwell itself is not recorded. Not between vfork and exec.
 *   Failure    there is nothing to check: the program runs on as it would without dwell. What could
 *              not be recorded is counted, and the report says how much it was.
 *   The first  call in a process that is neither observed yet nor known to be unobserved attaches
 *              dwell to it (some milliseconds); so programs without MPI get a report, too.
 *
 * Blocks. A block is a part of a run: it has a name, a time and a count, lies in what was open when
 * it began (a block, or a procedure or loop that dwell watches) and holds what happens until it
 * ends. Ends belong to beginnings by name, the innermost open one first; an end without a beginning
 * does nothing. Blocks may begin and end in different procedures and need not be nested: when one
 * ends while others that began later are open, those go on in what lies around it, their time is
 * split there, and they count where they began. In the same way a block outlives the procedure that
 * it began in. A block that is not ended because of a longjmp or an exception ends with the watched
 * procedure or block that it lies in; in C++ better use DWELL_SCOPE. A block inside one of the same
 * name counts, but adds no time (recursion).
 */
#ifndef DWELL_H_
#define DWELL_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Not told of by -finstrument-functions and dwell's own compilers. */
#define DWELL_UNSEEN __attribute__((no_instrument_function))
#define DWELL_INLINE DWELL_UNSEEN static inline

/* Of this interface. It grows only: programs built for an older one go on working. */
#define DWELL_API_VERSION 1

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
    void* known;    /* the library's */
};

/* What libdwell.so offers under the name dwell_entries. Use the functions below instead. */
struct dwell_entries {
    uint32_t api_version;
    uint32_t reserved;
    const uint32_t* observed; /* zero there: no call is of any use now */
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
};

/* The C library's own gnu_get_libc_release takes nothing and has no effect. libdwell.so interposes
 * it: with this mark it stores where its dwell_entries are. */
#define DWELL_ENTRIES_MARK UINT64_C(0x9d3a64e17b0c5f29)

#if defined(__x86_64__) && defined(__LP64__) && defined(__linux__) && !defined(DWELL_OFF)
/* Where the library is, once this part of the program is initialised. */
static const struct dwell_entries* dwell_found;

extern void dwell_ask_libc(const struct dwell_entries** found,
                           uint64_t mark) __asm__("gnu_get_libc_release") __attribute__((weak));

DWELL_UNSEEN __attribute__((constructor(101))) static void dwell_find(void) {
    /* By way of the global offset table in every kind of code: a weak address that is written into
     * position-dependent code stays zero whatever is loaded. Some linkers bind weak symbols that
     * they do not find to zero for good: then the C library's name leads to the library. */
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

/* The library if calls are of use now. */
DWELL_INLINE const struct dwell_entries* dwell_observing(void) {
    const struct dwell_entries* const library = dwell_library();
    return library != NULL && __atomic_load_n(library->observed, __ATOMIC_RELAXED) != 0 ? library
                                                                                        : NULL;
}

/* The version of the library that is loaded, such as "0.1.0"; null without it. Lives for ever. */
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

/* Adds `volume` to the innermost open block of the calling thread: how much it did, in a unit of
 * your choice (bytes, cells, flops). The report shows the sum, and the rate. */
DWELL_INLINE void dwell_block_volume(uint64_t volume) {
    const struct dwell_entries* const library = dwell_observing();
    if (library != NULL) library->add(volume);
}

/* A marker: something that takes no time worth measuring happens, with `volume` of it (0: none).
 * Counted for each path that leads to it. */
DWELL_INLINE void dwell_mark(const char* name, uint64_t volume) {
    const struct dwell_entries* const library = dwell_observing();
    if (library != NULL) library->mark(name, name != NULL ? strlen(name) : 0, volume);
}

/* A phase is a block for the large steps of a run: initialisation, time step, output. `iteration`
 * is its number within the run, in whatever way you count (0 if you do not): the report shows the
 * first and the last one begun. Phases may be nested. dwell_phase_end ends the innermost open one.
 */
DWELL_INLINE void dwell_phase_begin(const char* name, uint64_t iteration) {
    const struct dwell_entries* const library = dwell_observing();
    if (library != NULL) library->phase_begin(name, name != NULL ? strlen(name) : 0, iteration);
}
DWELL_INLINE void dwell_phase_end(void) {
    const struct dwell_entries* const library = dwell_observing();
    if (library != NULL) library->phase_end();
}

/* The next phase after the innermost open one, if any: ends that and begins this one. */
DWELL_INLINE void dwell_phase_next(const char* name, uint64_t iteration) {
    dwell_phase_end();
    dwell_phase_begin(name, iteration);
}

/* Switches recording off and on again for the whole process, as MPI_Pcontrol(0) and (1) do. Time
 * between the two belongs to no one. Calls do not add up: one dwell_resume ends any number of
 * pauses. Blocks that begin in a pause are not recorded, also after it; those that end in it end
 * with its beginning. Other threads may still record what they are just at. */
DWELL_INLINE void dwell_pause(void) {
    const struct dwell_entries* const library = dwell_observing();
    if (library != NULL) library->pause();
}
DWELL_INLINE void dwell_resume(void) {
    const struct dwell_entries* const library = dwell_observing();
    if (library != NULL) library->resume();
}

/* 1 when what happens now is recorded, otherwise 0. */
DWELL_INLINE int dwell_is_recording(void) {
    const struct dwell_entries* const library = dwell_observing();
    return library != NULL ? library->is_recording() : 0;
}

/* Tells how the processes form a grid, and where this one is in it, so that reports can name ranks
 * by their place. `sizes`, `periodic` (not zero: dimension wraps around) and `coordinates` have
 * `dimensions` elements, at most 6; sizes from 1 on, coordinates from 0 on and below their size.
 * `periodic` may be null: none. Anything else is ignored, and one line on stderr says so. A grid of
 * the same name replaces the earlier one. Not from signal handlers. */
DWELL_INLINE void dwell_grid(const char* name, int dimensions, const int* sizes,
                             const int* periodic, const int* coordinates) {
    const struct dwell_entries* const library = dwell_observing();
    if (library != NULL) {
        library->grid(name, name != NULL ? strlen(name) : 0, dimensions, sizes, periodic,
                      coordinates);
    }
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

/* The same with the place in the source, and faster. The name must be a literal: it is read once.
 * A block may be ended by DWELL_BLOCK_END or dwell_block_end. */
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

/* A declaration: a block from here to the end of the scope, however that is left (in C: except by
 * longjmp, exit or pthread_exit). */
#define DWELL_SCOPE(name) DWELL_SCOPE_(name, __COUNTER__)
#ifdef __cplusplus
#define DWELL_SCOPE_(name, number)                                                                \
    static struct dwell_place DWELL_JOIN(dwell_place_, number) = {"" name, __FILE__, __LINE__, 0, \
                                                                  NULL};                          \
    const ::dwell::Scope DWELL_JOIN(dwell_scope_, number)(&DWELL_JOIN(dwell_place_, number))

namespace dwell {

// A block for as long as the object lives. Neither copied nor moved; `name` must outlive it.
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
