// The beginning and the end of observation in one process.
#ifndef DWELL_RUNTIME_LIFECYCLE_LIFECYCLE_H_
#define DWELL_RUNTIME_LIFECYCLE_LIFECYCLE_H_

#include "runtime/mpi/mpi_api.h"

namespace dwell {

// An attempt to observe the process was made; whether with success, g_live tells.
void notify_profiled();
// Calls `hear` then; at once where one was made already.
void hear_of_observation(void (*match_stamp)());

// MPI_Pcontrol(0) and (1), for any thread.
void pause_recording();
void resume_recording();

// merge_over_mpi.cpp. Which ranks are observed is learnt from the record files of the node and, for
// other nodes, from the launcher; nothing is asked of ranks that are not.
// Before MPI_Init: tells the launcher that this rank is observed.
void announce_observed();
// In MPI_Init, by every observed rank: makes the communicator over them; their number.
int make_tool_comm();
// In MPI_Finalize, by every observed rank: waits until all are there, as MPI_Finalize itself does.
void await_observed();
// Merges the records of all observed ranks, writes them to <record dir>/merged and has the report
// made of them. Gives up after the time limit; then the record files stay.
void merge_observed();

// finish.cpp: starts `dwell finish` on the merged records and waits for it. When it cannot be
// started or dies, one line says so and where the records are; of its own failures it speaks
// itself.
void run_finish();
// The directory that relative paths of the profile are meant from. When the program starts.
void note_start_directory();
void write_start_directory(Thread* thread);  // to the records
// Moves this process's record file out of /dev/shm and says how to read it.
void keep_record_file();

}  // namespace dwell

#endif  // DWELL_RUNTIME_LIFECYCLE_LIFECYCLE_H_
