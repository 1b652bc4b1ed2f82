// Many small methods: argv[1] times three of them. Says the sum on stdout, on stderr the processor
// time that it took.
#include <cstdio>
#include <cstdlib>
#include <ctime>

class Cell {
  public:
    __attribute__((noinline)) void set(long value) { value_ = value; }
    __attribute__((noinline)) long get() const { return value_; }
    __attribute__((noinline)) long twice() const { return 2 * value_; }

  private:
    volatile long value_ = 0;
};

int main(int argc, char** argv) {
    const long times = argc > 1 ? std::atol(argv[1]) : 10;
    const std::clock_t start = std::clock();
    Cell cell;
    long sum = 0;
    for (long i = 0; i < times; ++i) {
        cell.set(i);
        sum += cell.get() + cell.twice();
    }
    const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    std::printf("%ld\n", sum);
    std::fprintf(stderr, "took %.6f\n", took);
    return 0;
}
