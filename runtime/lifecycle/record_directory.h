// The directory of the record files of this process's job.
#ifndef DWELL_RUNTIME_LIFECYCLE_RECORD_DIRECTORY_H_
#define DWELL_RUNTIME_LIFECYCLE_RECORD_DIRECTORY_H_

#include <stddef.h>

namespace dwell {

// Creates the directory unless another rank did, and writes its path to `path`. False on failure,
// with a reason in `why`. Before the program starts threads; takes no locks.
bool make_record_directory(char* path, size_t path_size, char* why, size_t why_size);

}  // namespace dwell

#endif  // DWELL_RUNTIME_LIFECYCLE_RECORD_DIRECTORY_H_
