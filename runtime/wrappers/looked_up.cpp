// Interposes dlsym(), because interpreters and bindings open libmpi and look up its functions by
// that handle, which would bypass dwell: they get dwell's functions. All other look-ups, dwell's
// own included, are passed on unchanged.
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "runtime/calltree/modules.h"
#include "runtime/mpi/mpi_api.h"
#include "runtime/process/state.h"

#if defined(__x86_64__)

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): the linker's names
extern const char __ehdr_start __attribute__((visibility("hidden")));
extern const char _end __attribute__((visibility("hidden")));
// NOLINTEND(readability-identifier-naming)

using Dlsym = void* (*)(void*, const char*);
__attribute__((visibility("hidden"))) Dlsym dwell_next_dlsym = nullptr;
__attribute__((visibility("hidden"))) void* dwell_find_dlsym();
__attribute__((visibility("hidden"))) void* dwell_look_up(void* handle, const char* name);
}

// The C library uses the caller's address for RTLD_NEXT and RTLD_DEFAULT: these cases jump to the
// original with an unchanged stack.
asm(R"(
    .text
    .globl dlsym
    .type dlsym, @function
    .p2align 4
dlsym:
    .cfi_startproc
    endbr64
    movq dwell_next_dlsym(%rip), %rax
    testq %rax, %rax
    jne 1f
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call dwell_find_dlsym
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
1:  leaq 1(%rdi), %rcx
    cmpq $1, %rcx
    ja dwell_look_up
    jmp *%rax
    .cfi_endproc
    .size dlsym, . - dlsym
)");

namespace dwell {

namespace {

bool is_within_tool(const void* address) {
    return address >= static_cast<const void*>(&__ehdr_start) &&
           address < static_cast<const void*>(&_end);
}

bool begins_with(const char* text, const char* beginning) {
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

bool is_name_of_mpi(const char* name) {
    if (*name == 'P' || *name == 'p') ++name;
    return begins_with(name, "MPI_") || begins_with(name, "mpi_") || begins_with(name, "MPIX_") ||
           begins_with(name, "mpix_");
}

// dwell's function with that name, if `found` is the one that it would call: with another library
// between them, the calls would form a cycle.
void* own_function(const char* name, void* found) {
    static void* self = nullptr;
    if (self == nullptr) {
        Dl_info info;
        if (dladdr(&__ehdr_start, &info) == 0) return nullptr;
        self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    }
    if (self == nullptr) return nullptr;
    void* const own = dlsym(self, name);
    if (own == nullptr || own == found || !is_within_tool(own)) return nullptr;
    void* next = dlsym(RTLD_NEXT, name);
    if (next == nullptr) next = find_in_mpi(name);
    return next == found ? own : nullptr;
}

}  // namespace

}  // namespace dwell

using namespace dwell;

void* dwell_find_dlsym() {
    void* next = nullptr;
    // In libc since 2.34, before in libdl with the oldest version.
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5"}) {
        if (next == nullptr) next = dlvsym(RTLD_NEXT, "dlsym", version);
    }
    dwell_next_dlsym = reinterpret_cast<Dlsym>(next);
    return next;
}

void* dwell_look_up(void* handle, const char* name) {
    void* const found = dwell_next_dlsym(handle, name);
    if (found == nullptr || !is_name_of_mpi(name) || is_within_tool(__builtin_return_address(0))) {
        return found;
    }
    const int saved_errno = errno;
    void* const own = own_function(name, found);
    dwell_next_dlsym(handle, name);  // repeated so that dlerror() refers to this look-up
    errno = saved_errno;
    return own != nullptr ? own : found;
}

#endif
