/* A library's own function, for comparisons: dwell answers dlsym(). _GNU_SOURCE is defined. */
#ifndef LIBRARY_OWN_H
#define LIBRARY_OWN_H

#include <dlfcn.h>

static inline void* own(void* library, const char* name) {
    typedef void* (*Dlsym)(void*, const char*);
    static Dlsym look_up;
    if (look_up == 0) look_up = (Dlsym)dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.34");
    if (look_up == 0) look_up = (Dlsym)dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.2.5");
    return look_up != 0 ? look_up(library, name) : 0;
}

#endif
