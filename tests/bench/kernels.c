// Loops as numerical programs have them: compiled with and without probes to see how many the
// compiler still vectorises. Never run.
#include <math.h>
#include <stddef.h>

void triad(double* restrict a, const double* restrict b, const double* restrict c, double s,
           int n) {
    for (int i = 0; i < n; i++) a[i] = b[i] + s * c[i];
}

double dot(const double* restrict a, const double* restrict b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

void relax(double* restrict to, const double* restrict from, int rows, int columns) {
    for (int i = 1; i < rows - 1; i++)
        for (int j = 1; j < columns - 1; j++)
            to[i * columns + j] =
                0.25 * (from[(i - 1) * columns + j] + from[(i + 1) * columns + j] +
                        from[i * columns + j - 1] + from[i * columns + j + 1]);
}

void multiply(double* restrict c, const double* restrict a, const double* restrict b, int n) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
}

void step(double* restrict x, double* restrict v, const double* restrict f, double dt, int n) {
    for (int i = 0; i < n; i++) {
        v[i] += dt * f[i];
        x[i] += dt * v[i];
    }
}

void roots(double* restrict a, int n) {
    for (int i = 0; i < n; i++) a[i] = sqrt(fabs(a[i]));
}

void clip(float* restrict a, float limit, int n) {
    for (int i = 0; i < n; i++) a[i] = a[i] > limit ? limit : a[i];
}

int largest(const int* restrict a, int n) {
    int most = a[0];
    for (int i = 1; i < n; i++) most = a[i] > most ? a[i] : most;
    return most;
}

void gather(double* restrict to, const double* restrict from, const int* restrict at, int n) {
    for (int i = 0; i < n; i++) to[i] = from[at[i]];
}

size_t differences(const unsigned char* restrict a, const unsigned char* restrict b, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += a[i] != b[i];
    return count;
}

void smooth(double* restrict a, double* restrict b, int n, int sweeps) {
    for (int k = 0; k < sweeps; k++) {
        for (int i = 1; i < n - 1; i++) b[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
        for (int i = 1; i < n - 1; i++) a[i] = b[i];
    }
}

double energy(const double (*restrict p)[3], int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const double x = p[i][0] - p[j][0], y = p[i][1] - p[j][1], z = p[i][2] - p[j][2];
            sum += 1 / sqrt(x * x + y * y + z * z + 0.01);
        }
    return sum;
}
