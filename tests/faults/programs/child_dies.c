/* Forks a child that uses MPI and is ended by SIGSEGV, and ends with code 3 itself, without MPI. */
#include <mpi.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        MPI_Init(&argc, &argv);
        MPI_Barrier(MPI_COMM_WORLD); /* @barrier */
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV ? 3 : 4;
}
