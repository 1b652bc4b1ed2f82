// Nonblocking and persistent calls and every way to complete them; 2 ranks, N rounds. What a send
// request carries is booked where it is started, what a receive request brings where it completes,
// under the sender that the status names, also when the program ignores the status. Each call
// counts one event for each request that it completes.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

//@ let N=5
enum { N = 5, K = 4 };

static int rank, partner;
static long sum;

static void wait_forms(void) {
    int out[K] = {1, 2, 3, 4}, in[K] = {0}, index, outcount, indices[K];
    MPI_Request requests[2 * K];
    MPI_Status statuses[2 * K];
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < K; k++) {
            //@ MPI_Irecv count=2*N*4 received=0 sent=0
            MPI_Irecv(&in[k], 1, MPI_INT, MPI_ANY_SOURCE, k, MPI_COMM_WORLD, &requests[k]);
        }
        for (int k = 0; k < K; k++) {
            //@ MPI_Isend count=2*N*4 sent=2*N*16 received=0
            //@ + peers={(0,1):(4*N,16*N,0),(1,0):(4*N,16*N,0)}
            MPI_Isend(&out[k], 1, MPI_INT, partner, k, MPI_COMM_WORLD, &requests[K + k]);
        }
        //@ MPI_Wait count=2*N received=2*N*4 recv_events=2*N taken={(0,1):4*N,(1,0):4*N}
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        //@ MPI_Waitany count=2*N received=2*N*4 recv_events=2*N taken={(0,1):4*N,(1,0):4*N}
        MPI_Waitany(K, requests, &index, &statuses[0]);
        sum += statuses[0].MPI_SOURCE == partner;
        // The next two calls share the other two receives; how is a matter of luck.
        //@ MPI_Waitsome count=2*N
        MPI_Waitsome(K, requests, &outcount, indices, MPI_STATUSES_IGNORE);
        sum += outcount >= 1;
        //@ MPI_Waitall count=2*N
        //@ total MPI_Wait* received=2*N*(16+4+8)+0
        MPI_Waitall(2 * K, requests, MPI_STATUSES_IGNORE);
        sum += in[0] + in[1] + in[2] + in[3];
        // Nothing is left to wait for.
        //@ MPI_Wait count=2*N received=0 sent=0 peers={}
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
}

static void test_forms(void) {
    int out = 3, in = 0, flag = 0, index, outcount, indices[2];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    for (int i = 0; i < N; i++) {
        //@ MPI_Irecv count=2*N received=0
        MPI_Irecv(&in, 1, MPI_INT, partner, 20, MPI_COMM_WORLD, &requests[0]);
        //@ MPI_Issend count=2*N sent=2*N*4 peers={(0,1):(N,4*N,0),(1,0):(N,4*N,0)}
        MPI_Issend(&out, 1, MPI_INT, partner, 20, MPI_COMM_WORLD, &requests[1]);
        //@ MPI_Test received=2*N*4 taken={(0,1):4*N,(1,0):4*N}
        while (!flag) MPI_Test(&requests[0], &flag, &statuses[0]);
        sum += in + statuses[0].MPI_SOURCE;
        //@ MPI_Testany received=0
        for (flag = 0; !flag;) MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
        //@ MPI_Testall received=0
        for (flag = 0; !flag;) MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
        flag = 0;
        //@ MPI_Irecv count=2*N received=0
        MPI_Irecv(&in, 1, MPI_INT, partner, 21, MPI_COMM_WORLD, &requests[0]);
        //@ MPI_Isend count=2*N sent=2*N*4 peers={(0,1):(N,4*N,0),(1,0):(N,4*N,0)}
        MPI_Isend(&out, 1, MPI_INT, partner, 21, MPI_COMM_WORLD, &requests[1]);
        for (int done = 0; done < 2; done += outcount) {
            //@ MPI_Testsome received=2*N*4 taken={(0,1):4*N,(1,0):4*N}
            MPI_Testsome(2, requests, &outcount, indices, statuses);
        }
        //@ MPI_Irecv count=2*N received=0
        MPI_Irecv(&in, 1, MPI_INT, partner, 22, MPI_COMM_WORLD, &requests[0]);
        //@ MPI_Isend count=2*N sent=2*N*4 peers={(0,1):(N,4*N,0),(1,0):(N,4*N,0)}
        MPI_Isend(&out, 1, MPI_INT, partner, 22, MPI_COMM_WORLD, &requests[1]);
        // Looks without completing: the message must be booked once, by the wait.
        //@ MPI_Request_get_status received=0 peers={}
        for (flag = 0; !flag;) MPI_Request_get_status(requests[0], &flag, &statuses[0]);
        sum += statuses[0].MPI_TAG;
        //@ MPI_Waitall count=2*N received=2*N*4 recv_events=2*N send_events=2*N
        MPI_Waitall(2, requests, statuses);
        sum += statuses[0].MPI_TAG;
        flag = 0;
    }
}

static void persistent(void) {
    int out[2] = {5, 6}, in[2] = {0}, flag;
    MPI_Request requests[4], inactive;
    //@ MPI_Recv_init count=2
    MPI_Recv_init(&in[0], 1, MPI_INT, partner, 30, MPI_COMM_WORLD, &requests[0]);
    //@ MPI_Recv_init count=2
    MPI_Recv_init(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, 31, MPI_COMM_WORLD, &requests[1]);
    //@ MPI_Send_init count=2
    MPI_Send_init(&out[0], 1, MPI_INT, partner, 30, MPI_COMM_WORLD, &requests[2]);
    //@ MPI_Ssend_init count=2
    MPI_Ssend_init(&out[1], 1, MPI_INT, partner, 31, MPI_COMM_WORLD, &requests[3]);
    inactive = requests[3];
    //@ MPI_Wait count=2 sent=0 received=0
    MPI_Wait(&inactive, MPI_STATUS_IGNORE);
    for (int i = 0; i < N; i++) {
        // Two receives and one send of 4 bytes are started here ...
        //@ MPI_Startall count=2*N sent=2*N*4 received=0
        MPI_Startall(3, requests);
        // ... and one send here.
        //@ MPI_Start count=2*N sent=2*N*4 received=0 peers={(0,1):(N,4*N,0),(1,0):(N,4*N,0)}
        MPI_Start(&requests[3]);
        //@ MPI_Waitall count=2*N received=2*N*8 recv_events=4*N send_events=4*N
        //@ + taken={(0,1):8*N,(1,0):8*N}
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        sum += in[0] + in[1];
        // Inactive now: done, without a message.
        //@ MPI_Test count=2*N received=0
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
        sum += flag;
    }
    for (int k = 0; k < 4; k++) {
        //@ MPI_Request_free count=8
        MPI_Request_free(&requests[k]);
    }
}

static void cancelled_and_freed(void) {
    int out = 7, in = 0, flag;
    MPI_Request request;
    MPI_Status status;
    for (int i = 0; i < N; i++) {
        // Never matched: no message.
        //@ MPI_Irecv count=2*N received=0 sent=0 peers={}
        MPI_Irecv(&in, 1, MPI_INT, partner, 40, MPI_COMM_WORLD, &request);
        //@ MPI_Cancel count=2*N
        MPI_Cancel(&request);
        //@ MPI_Wait count=2*N received=0
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &flag);
        sum += flag;
        //@ MPI_Isend count=2*N sent=2*N*4 peers={(0,1):(N,4*N,0),(1,0):(N,4*N,0)}
        MPI_Isend(&out, 1, MPI_INT, partner, 41, MPI_COMM_WORLD, &request);
        //@ MPI_Request_free count=2*N
        MPI_Request_free(&request);
        //@ MPI_Recv count=2*N received=2*N*4 peers={(0,1):(N,0,4*N),(1,0):(N,0,4*N)}
        MPI_Recv(&in, 1, MPI_INT, partner, 41, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum += in;
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    partner = 1 - rank;
    wait_forms();
    test_forms();
    persistent();
    cancelled_and_freed();
    printf("rank %d sum %ld\n", rank, sum);
    MPI_Finalize();
    return 0;
}
