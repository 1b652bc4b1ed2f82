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

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_FIND_SYMBOL_H_
