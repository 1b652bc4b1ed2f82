/* Names of files: io_names FOLDER. A thousand other files come first; then files of equal names in
 * two folders, each current for a while, are opened again and again at one statement. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dwell.h"

__attribute__((noinline)) static int open_it(const char* path, int flags) {
    return open(path, flags, 0600);
}

int main(int argc, char** argv) {
    char name[64];
    const char text[] = "0123456789";
    if (argc < 2 || chdir(argv[1]) != 0) return 2;
    if (mkdir("one", 0700) != 0 || mkdir("two", 0700) != 0) return 3;
    dwell_block_begin("many");
    for (int i = 0; i < 1000; ++i) {
        snprintf(name, sizeof(name), "file %d", i);
        const int file = open_it(name, O_WRONLY | O_CREAT);
        if (file < 0 || close(file) != 0) return 4;
    }
    dwell_block_end("many");
    for (int round = 0; round < 3; ++round) {
        if (chdir(round == 0 ? "one" : "../one") != 0) return 5;
        int file = open_it("data", O_WRONLY | O_CREAT);
        if (write(file, text, 10) != 10) return 6; /* @one */
        close(file);
        if (chdir("../two") != 0) return 7;
        file = open_it("data", O_WRONLY | O_CREAT);
        if (write(file, text, 5) != 5) return 8; /* @two */
        close(file);
    }
    const int renamed = rename("data", "other") == 0 ? open_it("other", O_WRONLY) : -1;
    if (write(renamed, text, 1) != 1) return 9; /* @renamed */
    return 0;
}
