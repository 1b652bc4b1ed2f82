// Call paths of Python programs (docs/python.md): the Python functions and lines that a call was
// reached along, in place of the interpreter's own frames. They are read from the calling thread's
// state by offset, which takes no lock and calls nothing that allocates or counts references: MPI
// is called without the interpreter's lock.
#ifndef DWELL_RUNTIME_CALLTREE_PYTHON_FRAMES_H_
#define DWELL_RUNTIME_CALLTREE_PYTHON_FRAMES_H_

#include "runtime/contract/python_layout.h"
#include "runtime/process/state.h"

namespace dwell {

// Once, before the first thread is observed: whether the program is an interpreter, or has one
// linked in, whose frames can be read.
void find_python();

// PyGILState_GetThisThreadState; null: no frames of Python are looked for.
extern void* (*g_python_state)() __attribute__((visibility("hidden")));
inline bool has_python() { return g_python_state != nullptr; }

// From now on calls of a thread that met no probe look for Python functions: the stack that it is
// on is around no frame, so that probe_frame_of() comes the slow way.
inline void look_for_python(Thread* thread) {
    if (has_python() && thread->stacks[0].base == nullptr) thread->on.bytes = 0;
}

// The node of the calling thread's innermost Python function, as reached below `around`; `around`
// where it runs none. About 40 ns, and 5 for each function, on a path that was seen before.
CellIndex python_probe_frame(Thread* thread, CellIndex around);

inline bool is_python(const Site& site) {
    return site.kind == SiteKind::kCall && (site.flags & kNodeNamed) != 0;
}

// What the innermost Python function has called lies below this address of the stack; 0: it is not
// known.
uint64_t python_limit();

// The cell of a frame's name (kLongestPythonFrame_bytes) in the record file; 0: there is no room.
CellIndex python_text(Thread* thread, const char* text, size_t bytes);

// What `dwell run` needs to read the calling thread's frames; state 0: it runs no Python.
PythonPlaces python_places();

// Leaves out frames between Python functions and MPI that are nobody's own; how many are left. The
// first one stays in its place where none is.
int leave_out_between_python(Thread* thread, void** frame, int frames);

// In the module at `path` that begins at `start`: code between Python functions and MPI that is
// nobody's own, of the interpreter, of mpi4py or of what calls C functions for Python.
bool is_between_python(const char* path, uint64_t start, uint64_t end);

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLTREE_PYTHON_FRAMES_H_
