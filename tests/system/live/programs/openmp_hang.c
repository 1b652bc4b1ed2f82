/* Three threads: thread 1 takes a lock and never gives it back, but waits at the barrier; the
   others wait for the lock, or for a critical section that it is in ("critical"). With "left" all
   leave the region, and thread 0 sleeps behind it. */
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static omp_lock_t lock;

int main(int argc, char** argv) {
    const int critical = argc > 1 && strcmp(argv[1], "critical") == 0;
    const int left = argc > 1 && strcmp(argv[1], "left") == 0;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(3)
    {
        if (left) {
            usleep(1000);
        } else if (omp_get_thread_num() == 1 && critical) {
#pragma omp critical /* @inside */
            sleep(3600);
        } else if (omp_get_thread_num() == 1) {
            omp_set_lock(&lock); /* @kept */
        } else if (critical) {
            usleep(200000);
#pragma omp critical /* @outside */
            puts("never");
        } else {
            usleep(200000);
            omp_set_lock(&lock); /* @wanted */
            omp_unset_lock(&lock);
        }
#pragma omp barrier /* @barrier */
    }
    if (left) sleep(3600);
    return 0;
}
