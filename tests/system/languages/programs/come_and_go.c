// Loads the library argv[1] three times, calls it, and unloads it.
#include <dlfcn.h>
#include <stdio.h>

#include "pass_time.h"

__attribute__((noinline)) int use(const char* path) {
    void* library = dlopen(path, RTLD_NOW);
    if (library == NULL) return -1;
    int (*go)(int) = (int (*)(int))dlsym(library, "go");
    const int result = go(4);
    dlclose(library);
    keep();
    return result;
}

int main(int argc, char** argv) {
    int sum = 0;
    for (int i = 0; i < 3; i++) sum += use(argv[argc - 1]);
    printf("%d\n", sum);
    return 0;
}
