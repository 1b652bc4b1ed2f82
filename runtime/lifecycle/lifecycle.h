// The beginning and the end of observation in one process.
#ifndef DWELL_RUNTIME_LIFECYCLE_LIFECYCLE_H_
#define DWELL_RUNTIME_LIFECYCLE_LIFECYCLE_H_

#include "runtime/mpi/mpi_api.h"

namespace dwell {

// To be called after an attempt to observe the process; g_live shows whether it succeeded.
void notify_profiled();
// Calls `callback` after that attempt; at once if it was made before.
void on_profiled(void (*callback)());

// MPI_Pcontrol(0) and (1), for any thread.
void pause_recording();
void resume_recording();

// merge_over_mpi.cpp. Observed ranks are found by their record files on this host and, for other
// hosts, by the launcher; ranks that are not observed take no part. Before MPI_Init: marks this
// rank as observed in the launcher.
void announce_observed();
// In MPI_Init, by every observed rank: creates their communicator and returns their number.
int make_tool_comm();
// In MPI_Finalize, by every observed rank: waits for all of them, as MPI_Finalize itself does.
void await_observed();
// Merges the records of all observed ranks, writes them to <record dir>/merged and starts the
// report. Gives up after the time limit; the record files then stay.
void merge_observed();

// finish.cpp: starts `dwell finish` on the merged records and waits for it. If that fails to start
// or dies, one line says so and where the records are; other failures it reports itself.
void run_finish();
// Remembers the directory that relative paths of the profile refer to. At program start.
void note_start_directory();
void write_start_directory(Thread* thread);  // writes it to the records
// Moves this process's record file out of /dev/shm and tells the user how to read it.
void keep_record_file();

}  // namespace dwell

#endif  // DWELL_RUNTIME_LIFECYCLE_LIFECYCLE_H_
