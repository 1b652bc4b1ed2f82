// MPI-IO; 2 ranks, N rounds of 4 ints = 16 bytes from each rank; argv[1] names the file.
#include <mpi.h>
#include <stdio.h>

//@ let N=3
enum { N = 3 };

int main(int argc, char** argv) {
    int rank, data[4] = {1, 2, 3, 4}, sum = 0;
    MPI_File file;
    MPI_Status status;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    //@ MPI_File_open count=2
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (int i = 0; i < N; i++) {
        const MPI_Offset at = (2 * i + rank) * 64;
        //@ MPI_File_write_at count=2*N sent=32*N received=0
        MPI_File_write_at(file, at, data, 4, MPI_INT, MPI_STATUS_IGNORE);
        //@ MPI_File_write_at_all count=2*N sent=32*N received=0
        MPI_File_write_at_all(file, at + 16, data, 4, MPI_INT, &status);
        //@ MPI_File_iwrite_at count=2*N
        MPI_File_iwrite_at(file, at + 32, data, 4, MPI_INT, &request);
        //@ MPI_Wait count=2*N
        MPI_Wait(&request, &status);
        //@ MPI_File_read_at count=2*N sent=0 received=32*N
        MPI_File_read_at(file, at, data, 4, MPI_INT, &status);
        sum += data[3];
        //@ MPI_File_read_at_all count=2*N sent=0 received=32*N
        MPI_File_read_at_all(file, at + 16, data, 4, MPI_INT, MPI_STATUS_IGNORE);
        sum += data[3];
        //@ MPI_File_seek count=2*N
        MPI_File_seek(file, at + 32, MPI_SEEK_SET);
        //@ MPI_File_read count=2*N received=32*N
        MPI_File_read(file, data, 4, MPI_INT, &status);
        sum += data[3];
    }
    // The requests above carried 16 bytes each.
    //@ total MPI_File_iwrite_at|MPI_Wait sent=32*N received=0
    // Past the end of the file nothing is read, though 4 ints are asked for.
    //@ MPI_File_read_at count=2 received=0
    MPI_File_read_at(file, 100000, data, 4, MPI_INT, &status);
    MPI_File_close(&file);
    if (rank == 0) MPI_File_delete(argv[1], MPI_INFO_NULL);
    printf("rank %d sum %d\n", rank, sum);
    //@ total MPI_File_close count=2
    //@ total MPI_File_delete count=1
    MPI_Finalize();
    return 0;
}
