// The loaded modules that contain sites: a raw address becomes (module, offset), which means the
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
    bool glue;            // in an MPI library or in dwell: not a frame of the program
    bool own;             // in dwell
    bool language;        // in a language's run-time library, which does I/O for the program
    bool inside_mpi;      // in a library that belongs to MPI, possibly called by another library
    bool between_python;  // see python_frames.h
};

// True for addresses in a library of MPI or in one that serves it; threads started there are not
// the program's. Slow: searches all loaded objects.
bool is_in_mpi_library(uintptr_t address);

// Where `address` lies. Slow: may search all loaded objects and write a ModuleRecord. `thread` is
// the calling thread. Not signal-safe. `checked`: the thread is still in the procedures that
// contain its addresses since it last asked without `checked`, so their modules were not unloaded.
ModulePlace place_of_address(Thread* thread, uintptr_t address, bool checked = false);

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLTREE_MODULES_H_
