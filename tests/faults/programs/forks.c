// Children of an observed process, made in the way that argv[1] names; 2 ranks. Each rank makes 10
// calls of MPI_Type_commit before the child lives and 10 afterwards; a forked child makes 1000 of
// its own, which no record may show.
#include <mpi.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static void commit(int times) {
    MPI_Datatype type;
    for (int i = 0; i < times; i++) {
        MPI_Type_contiguous(3, MPI_INT, &type);
        MPI_Type_commit(&type);  // @commit
        MPI_Type_free(&type);
    }
}

int main(int argc, char** argv) {
    int rank, status = 0;
    pid_t child = 0;
    char* arguments[] = {"/bin/sh", "-c", "exit 6", NULL};
    if (argc < 2) return 9;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    commit(10);
    fflush(stdout);
    if (!strcmp(argv[1], "vfork")) {
        child = vfork();
        if (child == 0) {
            execv(arguments[0], arguments);
            _exit(9);
        }
    } else if (!strcmp(argv[1], "spawn")) {
        posix_spawn(&child, arguments[0], NULL, NULL, arguments, environ);
    } else if (!strcmp(argv[1], "system")) {
        status = system("exit 6");
    } else {
        child = fork();
        if (child == 0) {
            commit(1000);
            if (!strcmp(argv[1], "exec")) execv(arguments[0], arguments);
            if (!strcmp(argv[1], "_exit")) _exit(6);
            exit(6);
        }
    }
    if (child > 0) waitpid(child, &status, 0);
    commit(10);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d child %d\n", rank, WEXITSTATUS(status));
    MPI_Finalize();
    return 0;
}
