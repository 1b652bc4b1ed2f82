#ifndef DWELL_RUNTIME_IO_WRAPPERS_H_
#define DWELL_RUNTIME_IO_WRAPPERS_H_

namespace dwell {

// Looks up the next definitions of all of them. When the library is loaded.
void find_io_functions();

}  // namespace dwell

#endif  // DWELL_RUNTIME_IO_WRAPPERS_H_
