// An MPI library that is not Open MPI, of three functions whose handles are integers
// (-DAS_LIBRARY), and a program that uses it. dwell must pass its calls through, untouched, and say
// that it does not know this library.
typedef int Comm;
int MPI_Init(int* argc, char*** argv);
int MPI_Barrier(Comm comm);
int MPI_Finalize(void);
int PMPI_Barrier(Comm comm);

#if defined(AS_LIBRARY)
static int calls;
int PMPI_Init(int* argc, char*** argv) { return (void)argc, (void)argv, calls++, 0; }
int PMPI_Barrier(Comm comm) { return calls++, comm == 0x44000000 ? 0 : 1; }
int PMPI_Finalize(void) { return calls == 6 ? 0 : 1; }
int MPI_Init(int* argc, char*** argv) { return PMPI_Init(argc, argv); }
int MPI_Barrier(Comm comm) { return PMPI_Barrier(comm); }
int MPI_Finalize(void) { return PMPI_Finalize(); }
#else
#include <stdio.h>
int main(int argc, char** argv) {
    int sum = MPI_Init(&argc, &argv);
    for (int i = 0; i < 5; i++) sum += MPI_Barrier(0x44000000);
    sum += MPI_Finalize();
    printf("errors %d\n", sum);
    return 11;
}
#endif
