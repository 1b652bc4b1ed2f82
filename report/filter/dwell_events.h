/* dwell_events.h: functions that `dwell run --events --events-filter FILE.so` calls for each record
 * of an event log before it is written. For C (C99) and C++.
 *
 *     gcc -shared -fPIC -o filter.so filter.c
 *     mpirun -n 4 dwell run --events --events-filter ./filter.so:ARGUMENTS ./app
 *
 * A filter defines
 *
 *     DWELL_EVENT_FILTER                          the version; once, at file scope
 *     dwell_event_filter_record()                 what becomes of a record
 *     dwell_event_filter_begin(), ..._end()       if it needs them
 *
 * Where they run. In a process of their own, a child of `dwell run`, never in a rank, and one at a
 * time: they need no lock. They may allocate and write files. If they crash, end their process or
 * need more than 30 seconds for some thousand records, the program and `dwell run` go on; later
 * records are written as they are, and one line says so. Each `dwell run` of a host starts the
 * filter, one of them passes records to it: open files at the first record. Standard output is
 * standard error.
 *
 * Order. Records of a thread come in the order in which they happened. Those of different threads
 * come in portions.
 *
 * Nesting. Who drops an enter drops its leave, too, and of a call of MPI or I/O what it did: its
 * messages, requests and bytes. None of these are shown to the filter then. What was entered inside
 * stays. A leave whose enter was kept is kept.
 *
 * Merging. Drop all but the last of the records that become one, and change that one, or drop all
 * and add a mark. */
#ifndef DWELL_EVENTS_H_
#define DWELL_EVENTS_H_

#include <stdint.h>

/* Version of this interface. A filter of another version is refused. */
#define DWELL_EVENTS_VERSION 1

#ifdef __cplusplus
#define DWELL_FILTER_FUNCTION extern "C" __attribute__((visibility("default")))
#define DWELL_FILTER_VARIABLE DWELL_FILTER_FUNCTION
#else
#define DWELL_FILTER_FUNCTION __attribute__((visibility("default")))
#define DWELL_FILTER_VARIABLE extern __attribute__((visibility("default")))
#endif

/* NOLINTBEGIN(readability-identifier-naming): a header for C */
enum dwell_event_kind {
    DWELL_EVENT_ENTER = 1,
    DWELL_EVENT_LEAVE = 2,
    DWELL_EVENT_SEND = 3,       /* partner, tag, comm, bytes_sent */
    DWELL_EVENT_RECEIVE = 4,    /* partner, tag, comm, bytes_received */
    DWELL_EVENT_ONE_SIDED = 5,  /* partner, bytes_sent (put), bytes_received (got) */
    DWELL_EVENT_COLLECTIVE = 6, /* partner (root in comm), comm, bytes_sent, bytes_received; its
                                   number in comm is `number` */
    DWELL_EVENT_START = 7,      /* a request begins: number */
    DWELL_EVENT_COMPLETE = 8,   /* a request ends: number */
    DWELL_EVENT_IO = 9,         /* bytes_sent (written), bytes_received (read) */
    DWELL_EVENT_MARK = 10,      /* values: the volume first */
    DWELL_EVENT_METRIC = 11,    /* values: counts since the thread's last reading, in the order of
                                   --metrics */
    DWELL_EVENT_SAMPLE = 12,    /* values: the number of samples that it stands for */
    DWELL_EVENT_LOCKED = 13,    /* a lock of OpenMP: values: its address */
    DWELL_EVENT_UNLOCKED = 14
};

enum dwell_place_kind {
    DWELL_PLACE_OTHER = 0,
    DWELL_PLACE_PROCEDURE = 2,
    DWELL_PLACE_LOOP = 3,
    DWELL_PLACE_MPI = 5,
    DWELL_PLACE_OPENMP = 6,
    DWELL_PLACE_IO = 7,
    DWELL_PLACE_BLOCK = 8,
    DWELL_PLACE_MARKER = 9
};

#define DWELL_MOST_VALUES 8
#define DWELL_LARGEST_VALUE ((UINT64_C(1) << 60) - 1)

/* A record. Fields that its kind does not have are 0; partner and tag are -1 if not known. */
struct dwell_event {
    uint32_t kind;    /* dwell_event_kind */
    uint32_t rank;    /* in MPI_COMM_WORLD */
    uint32_t thread;  /* in its process: 0 is the first */
    uint32_t in_kind; /* dwell_place_kind */
    const char* name; /* what is entered, left or marked, else what the thread is in: "MPI_Send" */
    const char* file; /* of this place; empty: not known */
    int32_t line;     /* 0: not known */
    uint32_t place;   /* number of this place, the same in all ranks of the host */
    int64_t time_ns;  /* virtual, since the first process of the host was seen */
    uint64_t time_ticks; /* the same by the clock of the machine */
    /* A filter may change what follows, of enters and leaves nothing. Changes of fields that a kind
     * does not have, and of fields above, have no effect. Values are at most DWELL_LARGEST_VALUE.
     */
    int32_t partner; /* rank in MPI_COMM_WORLD, or root */
    int32_t tag;
    uint32_t comm; /* an id of the communicator, the same in all ranks; not to be changed */
    uint32_t value_count;
    uint64_t number; /* not to be changed */
    uint64_t bytes_sent;
    uint64_t bytes_received;
    uint64_t values[DWELL_MOST_VALUES];
};

enum dwell_verdict { DWELL_KEEP = 0, DWELL_DROP = 1 };

/* What a filter may ask for while a record is shown to it. */
struct dwell_filter {
    /* Adds a mark of this name with up to DWELL_MOST_VALUES values behind the record, at its time,
     * in its thread; the first value is the volume. The name is copied, up to 1000 bytes. A rank
     * has room for thousands of different names; marks that find none are counted. */
    void (*add_mark)(struct dwell_filter* filter, const char* name, uint32_t value_count,
                     const uint64_t* values);
};

/* What a filter defines. */
#define DWELL_EVENT_FILTER                                           \
    DWELL_FILTER_VARIABLE const uint32_t dwell_event_filter_version; \
    const uint32_t dwell_event_filter_version = DWELL_EVENTS_VERSION;

/* Decides about a record. Texts and records are valid during the call. */
DWELL_FILTER_FUNCTION enum dwell_verdict dwell_event_filter_record(struct dwell_event* event,
                                                                   struct dwell_filter* filter);
/* Before the program starts. `arguments`: what follows FILE.so: in the option, or "". Another
 * result than 0 refuses: the program is not started. */
DWELL_FILTER_FUNCTION int dwell_event_filter_begin(const char* arguments);
/* After the last record. */
DWELL_FILTER_FUNCTION void dwell_event_filter_end(void);
/* NOLINTEND(readability-identifier-naming) */

#endif /* DWELL_EVENTS_H_ */
