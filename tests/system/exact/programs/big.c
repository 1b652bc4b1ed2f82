// Counts above 2^31 bytes; 2 ranks. One message of 2200 MiB = 2 306 867 200 bytes, from and to the
// same MiB of memory, mapped 2200 times side by side, so that little memory is used.
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

//@ let B=2200*2**20
enum { MIB = 1 << 20, TIMES = 2200 };

int main(int argc, char** argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int file = memfd_create("mib", 0);
    if (file < 0 || ftruncate(file, MIB) != 0) return 1;
    char* all = mmap(NULL, (size_t)MIB * TIMES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < TIMES; i++) {
        mmap(all + i * MIB, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
    }
    memset(all, 'a' + rank, MIB);
    MPI_Datatype mib;
    MPI_Type_contiguous(MIB, MPI_CHAR, &mib);
    MPI_Type_commit(&mib);
    MPI_Status status;
    MPI_Count elements = 0;
    if (rank == 0) {
        // Bucket k counts sizes from 2^(k-1) to 2^k - 1: 2^31 <= B < 2^32 is bucket 32.
        //@ MPI_Send count=1 sent=B peers={(0,1):(1,B,0)} messages={32:1}
        MPI_Send(all, TIMES, mib, 1, 0, MPI_COMM_WORLD);
    } else {
        //@ MPI_Recv count=1 received=B peers={(1,0):(1,0,B)} messages={32:1}
        MPI_Recv(all, TIMES, mib, 0, 0, MPI_COMM_WORLD, &status);
        MPI_Get_elements_x(&status, MPI_CHAR, &elements);
    }
    MPI_Request request;
    //@ MPI_Irecv count=2 received=0
    MPI_Irecv(all, TIMES, mib, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    //@ MPI_Wait count=2 received=0
    MPI_Wait(&request, &status);
    printf("rank %d %c %lld\n", rank, all[MIB * 17], (long long)elements);
    MPI_Finalize();
    return 0;
}
