// Three OpenMP programs of two threads: a stencil, a sort with tasks, conjugate gradients on a
// sparse matrix. Prints the seconds of the work, and a sum that depends on all of it.
//
// openmp_work stencil|sort|solver ROUNDS
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 512, ITEMS = 1 << 18, LEAST = 1 << 11 };

static double stencil(int rounds) {
    static double a[SIDE][SIDE], b[SIDE][SIDE];
    for (int i = 0; i < SIDE; i++) a[i][0] = b[i][0] = 1;
    double sum = 0;
    for (int round = 0; round < 20 * rounds; round++) {
#pragma omp parallel for schedule(static)
        for (int i = 1; i < SIDE - 1; i++) {
            for (int k = 1; k < SIDE - 1; k++) {
                b[i][k] = 0.25 * (a[i - 1][k] + a[i + 1][k] + a[i][k - 1] + a[i][k + 1]);
            }
        }
        sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
        for (int i = 1; i < SIDE - 1; i++) {
            for (int k = 1; k < SIDE - 1; k++) sum += a[i][k] = b[i][k];
        }
    }
    return sum;
}

static void merge_sort(unsigned* items, unsigned* room, int count) {
    if (count < LEAST) {
        for (int i = 1; i < count; i++) {
            const unsigned item = items[i];
            int at = i;
            for (; at > 0 && items[at - 1] > item; at--) items[at] = items[at - 1];
            items[at] = item;
        }
        return;
    }
    const int half = count / 2;
#pragma omp task
    merge_sort(items, room, half);
    merge_sort(items + half, room + half, count - half);
#pragma omp taskwait
    int left = 0, right = half;
    for (int i = 0; i < count; i++) {
        const int takes_left = right == count || (left < half && items[left] <= items[right]);
        room[i] = items[takes_left ? left++ : right++];
    }
    memcpy(items, room, (size_t)count * sizeof *items);
}

static double sort(int rounds) {
    unsigned* items = malloc(ITEMS * sizeof *items);
    unsigned* room = malloc(ITEMS * sizeof *room);
    double sum = 0;
    for (int round = 0; round < rounds; round++) {
        unsigned random = 12345u + (unsigned)round;
        for (int i = 0; i < ITEMS; i++) items[i] = random = random * 1664525u + 1013904223u;
#pragma omp parallel
#pragma omp single
        merge_sort(items, room, ITEMS);
        sum += items[ITEMS / 2];
    }
    free(items);
    free(room);
    return sum;
}

// The five-point matrix of a square grid, by rows.
static double solver(int rounds) {
    enum { N = 200 * 200 };
    static double x[N], r[N], p[N], q[N];
    double residue = 0;
    for (int i = 0; i < N; i++) x[i] = 0, r[i] = p[i] = 1;
#pragma omp parallel
    for (int round = 0; round < 20 * rounds; round++) {
        static double pq, rr, new_rr;
#pragma omp single
        pq = rr = new_rr = 0;
#pragma omp for schedule(static) reduction(+ : pq, rr)
        for (int i = 0; i < N; i++) {
            q[i] = 4.1 * p[i] - (i >= 1 ? p[i - 1] : 0) - (i + 1 < N ? p[i + 1] : 0) -
                   (i >= 200 ? p[i - 200] : 0) - (i + 200 < N ? p[i + 200] : 0);
            pq += p[i] * q[i];
            rr += r[i] * r[i];
        }
        const double alpha = pq > 0 ? rr / pq : 0;
#pragma omp for schedule(static) reduction(+ : new_rr)
        for (int i = 0; i < N; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
            new_rr += r[i] * r[i];
        }
        const double beta = rr > 0 ? new_rr / rr : 0;
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++) p[i] = r[i] + beta * p[i];
#pragma omp single
        residue = new_rr;
    }
    return residue + x[N / 2];
}

int main(int argc, char** argv) {
    if (argc < 3) return 1;
    const int rounds = atoi(argv[2]);
    omp_set_num_threads(2);
    omp_set_dynamic(0);
#pragma omp parallel
    __asm__ volatile("");
    const double begin = omp_get_wtime();
    const double sum = strcmp(argv[1], "stencil") == 0 ? stencil(rounds)
                       : strcmp(argv[1], "sort") == 0  ? sort(rounds)
                                                       : solver(rounds);
    printf("work_s %.6f\nsum %g\n", omp_get_wtime() - begin, sum);
    return 0;
}
