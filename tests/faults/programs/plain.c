// A program without MPI.
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    puts("plain");
    return argc > 1 ? atoi(argv[1]) : 0;
}
