// Functions of libraries that are opened at run time.
#ifndef DWELL_RUNTIME_PROCESS_FIND_SYMBOL_H_
#define DWELL_RUNTIME_PROCESS_FIND_SYMBOL_H_

#include <dlfcn.h>

namespace dwell {

// Sets `*function` to the library's symbol `name`; false, and null, when there is none.
template <typename Function>
bool find_symbol(void* library, const char* name, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(library, name));
    return *function != nullptr;
}

// Calls the C library's dlclose: dwell's own interposer counts modules that the program unloads
// (unload.cpp).
inline int close_handle(void* handle) {
    static int (*next)(void*) = nullptr;
    if (next == nullptr) find_symbol(RTLD_NEXT, "dlclose", &next);
    return next(handle);
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_FIND_SYMBOL_H_
