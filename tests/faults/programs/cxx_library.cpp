// A C++ library of a C program (cxx_user.c): exceptions, pthread_exit and pthread_cancel unwind
// through its frames and must run their destructors, with MPI calls around them.
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>

namespace {

std::atomic<int> destroyed{0};

struct Counted {
    ~Counted() { destroyed.fetch_add(1); }
};

void probe() {
    int flag = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);  // @probe
}

void deep(int depth) {
    Counted counted;
    if (depth == 0) throw std::runtime_error("deep");
    deep(depth - 1);
}

void* exits(void*) {
    Counted counted;
    probe();
    pthread_exit(nullptr);
}

void* sleeps(void*) {
    Counted counted;
    for (;;) {
        probe();
        usleep(1000);
    }
}

}  // namespace

// Nanoseconds that one throw through ten frames takes; 11 objects die for each of `times`.
extern "C" double library_throws(int times) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; i++) {
        probe();
        try {
            deep(10);
        } catch (const std::exception&) {
        }
    }
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    return taken.count() / times;
}

extern "C" void library_threads(void) {
    pthread_t thread;
    for (int i = 0; i < 10; i++) {
        pthread_create(&thread, nullptr, exits, nullptr);
        pthread_join(thread, nullptr);
        pthread_create(&thread, nullptr, sleeps, nullptr);
        usleep(5000);
        pthread_cancel(thread);
        pthread_join(thread, nullptr);
    }
}

extern "C" int library_destroyed(void) { return destroyed; }
