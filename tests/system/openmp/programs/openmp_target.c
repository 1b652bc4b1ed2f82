// Work given to a device, with known counts and bytes. int has 4 bytes.
#include <omp.h>
#include <stdio.h>

int main(void) {
    int a[1000], b[500], sum = 0;
    for (int i = 0; i < 1000; i++) a[i] = i;
    for (int i = 0; i < 500; i++) b[i] = 1;
#pragma omp target data map(tofrom : a)  // @data: 4000 bytes there at its begin, back at its end
    for (int k = 0; k < 3; k++) {
#pragma omp target map(tofrom : a)  // @target: 3 times, nothing to move
        for (int i = 0; i < 1000; i++) a[i]++;
        if (k == 2) continue;
#pragma omp target update from(a)  // @update: 2 times 4000 bytes back
    }
#pragma omp target enter data map(to : b)  // @enter: 2000 bytes there
#pragma omp target map(tofrom : sum)       // @sum: 4 bytes there and back; a region in it
    {
        int part = 0;
#pragma omp parallel for reduction(+ : part) num_threads(2)
        for (int i = 0; i < 500; i++) part += b[i];
        sum += part;
    }
#pragma omp target exit data map(from : b)  // @exit: 2000 bytes back
    const int device = omp_get_default_device(), host = omp_get_initial_device();
    void* copy = omp_target_alloc(1000, device);
    omp_target_memcpy(copy, a, 1000, 0, 0, device, host);  // @to: 1000 bytes there
    omp_target_memcpy(a, copy, 600, 0, 0, host, device);   // @from: 600 bytes back
    omp_target_free(copy, device);
#pragma omp target map(tofrom : sum) nowait  // @nowait: 4 bytes there and back, by another thread
    sum++;
#pragma omp taskwait
    printf("%d %d on %d devices\n", sum, a[5], omp_get_num_devices());
    return 0;
}
