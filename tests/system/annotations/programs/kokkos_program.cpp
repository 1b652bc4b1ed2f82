// A program of Kokkos itself: prints its version and what the kernels computed.
//
//   region solve: 10, in each kernel "axpy" (for), "dot" (reduce), "sums" (scan) and deep_copy(x,
//   y): 10 * 8000 bytes; fences with names from Kokkos 3.5 on; section "io" begins in the last
//   region and ends after it; allocate and deallocate of x and y: 8000 bytes each; event
//   "checkpoint": 3 y gains 2 x = 2 and becomes x each time: x = 3^10 in each of the 1000 places
#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ProfileSection.hpp>
#include <cstdio>

static double solve() {
    Kokkos::View<double*> x("x", 1000);
    Kokkos::View<double*> y("y", 1000);
    Kokkos::deep_copy(x, 1.0);
    Kokkos::deep_copy(y, 1.0);
    Kokkos::Profiling::ProfilingSection io("io");
    double product = 0;
    for (int i = 0; i < 10; ++i) {
        Kokkos::Profiling::pushRegion("solve");
        Kokkos::parallel_for(
            "axpy", 1000, KOKKOS_LAMBDA(int k) { y(k) += 2 * x(k); });
        Kokkos::parallel_reduce(
            "dot", 1000, KOKKOS_LAMBDA(int k, double& sum) { sum += x(k) * y(k); }, product);
        Kokkos::parallel_scan(
            "sums", 1000, KOKKOS_LAMBDA(int k, double& sum, bool final) {
                sum += x(k);
                if (final && sum < 0) y(k) = sum;
            });
#if KOKKOS_VERSION >= 30500
        Kokkos::fence("wait for all");
#endif
        Kokkos::deep_copy(x, y);
        if (i == 9) io.start();
        Kokkos::Profiling::popRegion();
    }
    io.stop();
    for (int i = 0; i < 3; ++i) Kokkos::Profiling::markEvent("checkpoint");
    return y(999);
}

int main(int argc, char** argv) {
    Kokkos::initialize(argc, argv);
    std::printf("%d\n", KOKKOS_VERSION);
    std::printf("%.0f\n", solve());
    Kokkos::finalize();
    return 0;
}
