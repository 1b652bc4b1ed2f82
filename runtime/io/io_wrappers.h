// What is interposed of the C library; see io_wrappers.cpp.
#ifndef DWELL_RUNTIME_IO_IO_WRAPPERS_H_
#define DWELL_RUNTIME_IO_IO_WRAPPERS_H_

namespace dwell {

// Looks up the next definitions of all functions that read and write files, without any of them;
// what the C library does not have stays without. When the library is loaded, by that thread.
void find_io_functions();

}  // namespace dwell

#endif  // DWELL_RUNTIME_IO_IO_WRAPPERS_H_
