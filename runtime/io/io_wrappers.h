// The interposed functions of the C library; see io_wrappers.cpp.
#ifndef DWELL_RUNTIME_IO_IO_WRAPPERS_H_
#define DWELL_RUNTIME_IO_IO_WRAPPERS_H_

namespace dwell {

// Looks up the next definitions of all functions that read and write files, without calling any of
// them; functions missing in the C library stay null. Called by the thread that loads the library.
void find_io_functions();

}  // namespace dwell

#endif  // DWELL_RUNTIME_IO_IO_WRAPPERS_H_
