// Finding the MPI library, its functions and its predefined handles.
#include "runtime/mpi/mpi_api.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "runtime/calltree/modules.h"
#include "runtime/contract/mpi_calls.h"
#include "runtime/mpi/mpi_handles.h"
#include "runtime/process/find_symbol.h"

namespace dwell {

DWELL_CALL_DATA MpiApi g_mpi;
void* g_next[2][kMpiCallNumbers];

namespace {

struct LibrarySearch {
    const char* beginning;
    char path[1024];
    bool found;
};

int match_library(dl_phdr_info* info, size_t, void* data) {
    auto* search = static_cast<LibrarySearch*>(data);
    const char* name = base_name(info->dlpi_name);
    if (strncmp(name, search->beginning, strlen(search->beginning)) != 0) return 0;
    if (strlen(info->dlpi_name) >= sizeof(search->path)) return 0;
    strcpy(search->path, info->dlpi_name);
    search->found = true;
    return 1;
}

// The first loaded object whose name begins so: libmpi.so is MPI's C library, libmpi_mpifh.so that
// of Fortran.
void* loaded_library(const char* beginning) {
    LibrarySearch search{beginning, {}, false};
    dl_iterate_phdr(match_library, &search);
    return search.found ? dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
}

// A dlopen handle of the object that contains `address`; null for the main program.
void* object_of(const void* address) {
    Dl_info info;
    if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return nullptr;
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

// A predefined handle. In a program that is not position-independent the only valid copy lies in
// the program, so the global scope is searched first.
template <typename Handle>
void look_up_handle(void* library, const char* name, Handle* handle) {
    void* found = dlsym(RTLD_DEFAULT, name);
    if (found == nullptr && library != nullptr) found = dlsym(library, name);
    *handle = static_cast<Handle>(found);
}

int missing_function() {
    static bool stamp = false;
    if (!stamp) warn("a function was called that no loaded MPI library defines");
    stamp = true;
    return MPI_ERR_OTHER;
}

}  // namespace

void* find_next(EntryForm form, uint16_t number) {
    const int saved_errno = errno;
    char name[96];
    snprintf(name, sizeof(name), "%s%s", form == kPmpiForm ? "P" : "", kMpiCalls[number].name);
    void* next = dlsym(RTLD_NEXT, name);
    if (next == nullptr) {
        void* library = g_mpi.library != nullptr ? g_mpi.library : loaded_library("libmpi.so");
        if (library != nullptr) next = dlsym(library, name);
    }
    if (next == nullptr) next = reinterpret_cast<void*>(&missing_function);
    __atomic_store_n(&g_next[form][number], next, __ATOMIC_RELAXED);
    errno = saved_errno;
    return next;
}

void* find_in_mpi(const char* symbol) {
    for (const char* beginning : {"libmpi.so", "libmpi_mpifh.so"}) {
        void* library = loaded_library(beginning);
        void* found = library != nullptr ? dlsym(library, symbol) : nullptr;
        if (library != nullptr) close_handle(library);
        if (found != nullptr) return found;
    }
    return nullptr;
}

bool find_unseen_mpi(char* library, size_t size, bool* started) {
    LibrarySearch search{"libmpi.so", {}, false};
    dl_iterate_phdr(match_library, &search);
    if (!search.found) return false;
    snprintf(library, size, "%s", base_name(search.path));
    int flag = 0;
    void* const asked = find_in_mpi("PMPI_Initialized");
    if (asked != nullptr) reinterpret_cast<decltype(&PMPI_Initialized)>(asked)(&flag);
    *started = flag != 0;
    return true;
}

void* find_next_in_fortran(const char* symbol) {
    const int saved_errno = errno;
    void* next = dlsym(RTLD_NEXT, symbol);
    if (next == nullptr) {
        void* library = loaded_library("libmpi_mpifh.so");
        if (library != nullptr) next = dlsym(library, symbol);
    }
    if (next == nullptr) next = reinterpret_cast<void*>(&missing_function);
    errno = saved_errno;
    return next;
}

bool load_mpi(const char** why) {
    if (g_mpi.usable) return true;
    void* init = find_next(kPmpiForm, static_cast<uint16_t>(MpiCall::kInit));
    if (init == reinterpret_cast<void*>(&missing_function)) {
        *why = "no MPI library is loaded";
        return false;
    }
    g_mpi.library = object_of(init);
    void* from = g_mpi.library != nullptr ? g_mpi.library : RTLD_DEFAULT;
    bool complete = load_questions(from);
#define DWELL_LOOK_UP(name)                                                          \
    g_mpi.name = reinterpret_cast<decltype(g_mpi.name)>(dlsym(from, "PMPI_" #name)); \
    complete = complete && g_mpi.name != nullptr;
    DWELL_MPI_FUNCTIONS(DWELL_LOOK_UP)
#undef DWELL_LOOK_UP
    look_up_handle(g_mpi.library, "ompi_mpi_comm_world", &g_mpi.comm_world);
    look_up_handle(g_mpi.library, "ompi_mpi_comm_self", &g_mpi.comm_self);
    look_up_handle(g_mpi.library, "ompi_mpi_comm_null", &g_mpi.comm_null);
    look_up_handle(g_mpi.library, "ompi_mpi_group_null", &g_mpi.group_null);
    look_up_handle(g_mpi.library, "ompi_mpi_win_null", &g_mpi.win_null);
    look_up_handle(g_mpi.library, "ompi_mpi_file_null", &g_mpi.file_null);
    look_up_handle(g_mpi.library, "ompi_mpi_datatype_null", &g_mpi.datatype_null);
    look_up_handle(g_mpi.library, "ompi_request_null", &g_mpi.request_null);
    look_up_handle(g_mpi.library, "ompi_request_empty", &g_mpi.request_empty);
    look_up_handle(g_mpi.library, "ompi_mpi_byte", &g_mpi.byte);
    look_up_handle(g_mpi.library, "ompi_mpi_int", &g_mpi.integer);
    look_up_handle(g_mpi.library, "ompi_mpi_op_sum", &g_mpi.sum);
    look_up_handle(g_mpi.library, "ompi_mpi_op_no_op", &g_mpi.no_op);
    look_up_handle(g_mpi.library, "ompi_mpi_errors_return", &g_mpi.errors_return);
    if (g_mpi.comm_world == nullptr || g_mpi.request_null == nullptr || g_mpi.byte == nullptr) {
        *why = "the MPI library is not Open MPI (nor one with its binary interface)";
        return false;
    }
    if (!complete) {
        *why = "the MPI library lacks functions of MPI-3.1";
        return false;
    }
    g_mpi.usable = true;
    return true;
}

void* foreign_definition(uintptr_t return_address, EntryForm form, uint16_t number) {
    void* object = object_of(reinterpret_cast<void*>(return_address));
    if (object == nullptr) return nullptr;
    char name[96];
    snprintf(name, sizeof(name), "%s%s", form == kPmpiForm ? "P" : "", kMpiCalls[number].name);
    // A handle of the main program would search the global scope and find dwell's function.
    void* found = dlsym(object, name);
    void* foreign = nullptr;
    if (found != nullptr) {
        Dl_info there;
        Dl_info here;
        if (dladdr(found, &there) != 0 && dladdr(reinterpret_cast<void*>(g_mpi.Send), &here) != 0) {
            void* library = object_of(found);
            // Another MPI library: it defines its own PMPI_Init, different from dwell's and the
            // known one's.
            void* init = library != nullptr ? dlsym(library, "PMPI_Init") : nullptr;
            Dl_info owner;
            if (there.dli_fbase != here.dli_fbase && init != nullptr && dladdr(init, &owner) != 0 &&
                owner.dli_fbase == there.dli_fbase) {
                Dl_info self;
                if (dladdr(reinterpret_cast<void*>(&find_next), &self) != 0 &&
                    self.dli_fbase != there.dli_fbase)
                    foreign = found;
            }
            if (library != nullptr) close_handle(library);
        }
    }
    close_handle(object);
    return foreign;
}

}  // namespace dwell
