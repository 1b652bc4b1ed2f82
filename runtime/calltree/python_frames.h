// Call paths of Python programs (docs/python.md): Python functions and lines in place of the
// interpreter's own frames. They are read by offset from the calling thread's Python state, without
// locks, allocation or reference counts, because MPI may be called without the interpreter's lock.
#ifndef DWELL_RUNTIME_CALLTREE_PYTHON_FRAMES_H_
#define DWELL_RUNTIME_CALLTREE_PYTHON_FRAMES_H_

#include "runtime/contract/python_layout.h"
#include "runtime/process/state.h"

namespace dwell {

// Called once, before the first thread is observed: finds out whether the program is or contains a
// Python interpreter whose frames can be read.
void find_python();

// PyGILState_GetThisThreadState; null: no Python frames are read.
extern void* (*g_python_state)() __attribute__((visibility("hidden")));
inline bool has_python() { return g_python_state != nullptr; }

// Makes calls of a thread without probes look for Python functions: an empty stack range sends
// probe_frame_of() to its slow path.
inline void look_for_python(Thread* thread) {
    if (has_python() && thread->stacks[0].base == nullptr) thread->on.bytes = 0;
}

// The node of the calling thread's innermost Python function below `around`; `around` itself where
// it runs none. About 40 ns, and 5 ns a function, on a known path.
CellIndex python_probe_frame(Thread* thread, CellIndex around);

inline bool is_python(const Site& site) {
    return site.kind == SiteKind::kCall && (site.flags & kNodeNamed) != 0;
}

// Stack address below which the frames called by the innermost Python function lie; 0: unknown.
uint64_t python_limit();

// The text cell with a frame's name (at most kLongestPythonFrame_bytes); 0: no room.
CellIndex python_text(Thread* thread, const char* text, size_t bytes);

// What `dwell run` needs to read the calling thread's frames; state 0: no Python.
PythonPlaces python_places();

// Removes interpreter and glue frames between Python functions and MPI; returns how many frames are
// left. If none is, the first one stays in place.
int leave_out_between_python(Thread* thread, void** frame, int frames);

// Whether the module at `path`, loaded at `start`, is glue between Python functions and MPI: the
// interpreter, mpi4py, or a library that calls C functions for Python.
bool is_between_python(const char* path, uint64_t start, uint64_t end);

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLTREE_PYTHON_FRAMES_H_
