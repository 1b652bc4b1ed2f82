// The loaded modules that sites lie in: a raw address becomes (module, offset), which means the
// same for every rank and run (DESIGN 2).
#ifndef DWELL_RUNTIME_CALLTREE_MODULES_H_
#define DWELL_RUNTIME_CALLTREE_MODULES_H_

#include <link.h>
#include <string.h>

#include "runtime/process/state.h"

namespace dwell {

// The last element of a path.
inline const char* base_name(const char* path) {
    const char* slash = strrchr(path, '/');
    return slash != nullptr ? slash + 1 : path;
}

// The segment of the loaded object that `address` lies in, or null. Pure.
inline const ElfW(Phdr) * segment_at(const dl_phdr_info* object, uintptr_t address) {
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = object->dlpi_phdr[i];
        const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD && address - begin < segment.p_memsz) return &segment;
    }
    return nullptr;
}

struct ModulePlace {
    uint16_t module;      // ModuleRecord::number, 0 = in no known module
    uint64_t offset;      // from the load bias; the raw address when module is 0
    bool glue;            // in an MPI library or in dwell: no frame of the user's
    bool own;             // in dwell
    bool language;        // in a language's run-time library, which does I/O for the program
    bool inside_mpi;      // in a library that belongs to MPI, which may have been called by another
    bool between_python;  // see python_frames.h
};

// Is it in a library of MPI's or of one that serves it? Their threads are helpers, and no part of
// the program. Slow: looks at every loaded object.
bool is_of_helpers(uintptr_t address);

// Where `address` lies. Slow: may look at every loaded object and write a ModuleRecord. `thread` is
// the caller. Not signal-safe. `checked`: since the thread last asked without it, it has not left
// the procedures that its addresses lie in, so no module of theirs was unloaded.
ModulePlace place_of_address(Thread* thread, uintptr_t address, bool checked = false);

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLTREE_MODULES_H_
