// The directory that the record files of this process's job lie in.
#ifndef DWELL_RUNTIME_LIFECYCLE_RECORD_DIRECTORY_H_
#define DWELL_RUNTIME_LIFECYCLE_RECORD_DIRECTORY_H_

#include <stddef.h>

namespace dwell {

// Makes it, where no other rank did, and writes its path to `path`. False: there is none, and `why`
// says why. Before the first thread of the program; no locks.
bool make_record_directory(char* path, size_t path_size, char* why, size_t why_size);

}  // namespace dwell

#endif  // DWELL_RUNTIME_LIFECYCLE_RECORD_DIRECTORY_H_
