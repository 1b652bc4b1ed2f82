// What source probes make of C++; the answers are explained in probed.c.
#include <coroutine>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

//! 1 0 main

// A static initialiser and a destructor after main. Constructors are emitted twice, for objects and
// for bases, or once for both.
//! 1 0 Noisy::Noisy
//! 1 4 Noisy::Noisy/making
//! 1 0 Noisy::~Noisy
//! 1 3 Noisy::~Noisy/undoing
struct Noisy {
    Noisy() {                         //= proc Noisy::Noisy +
        for (int i = 0; i < 3; i++) {  //= loop making in Noisy::Noisy +
            std::fflush(stdout);
        }
    }
    ~Noisy() {                         //= proc Noisy::~Noisy +
        for (int i = 0; i < 2; i++) {  //= loop undoing in Noisy::~Noisy +
            std::fflush(stdout);
        }
    }
};
static Noisy noisy;

// Two instances of a template are two procedures.
//! 1 0 main/int total<int>
//! 1 6 main/int total<int>/elements
//! 1 0 main/double total<double>
//! 1 4 main/double total<double>/elements
template <class T>
T total(const std::vector<T>& values) {  //= proc int total<int> +; proc double total<double> +
    T sum{};
    for (const auto& value : values) {  //= loop elements in int total<int> +; loop elements in double total<double> +
        sum += value;
    }
    return sum;
}

// 3 of the 10 trips pass, in the fourth it throws: that way out of the loop is not seen, since a
// throw is no edge of the loop's. The other call makes all of its 5 trips.
//! 2 0 main/catcher
//! 2 0 main/catcher/thrower
//! 2 0 main/catcher/thrower/risky
//! 2 0 main/catcher/thrower/risky/fails
void fails(int n) {  //= proc fails +
    if (n == 3) {
        throw std::runtime_error("three");
    }
    std::fflush(stdout);
}
int thrower(int n) {           //= proc thrower +
    int sum = 0;
    for (int i = 0; i < n; i++) {  //= loop risky in thrower +
        fails(i);
        sum += i;
    }
    return sum;
}
int catcher(int n) {  //= proc catcher +
    try {
        return thrower(n);
    } catch (const std::exception&) {
        return -1;
    }
}

struct Shape {
    virtual ~Shape() = default;
    virtual int corners() const { return 0; }  //= proc Shape::corners small
    virtual int area(int n) const = 0;
};
struct Square : Shape {
    int corners() const override { return 4; }  //= proc Square::corners small
    //! 2 0 main/square/Square::area
    //! 2 10 main/square/Square::area/rows
    int area(int n) const override {   //= proc Square::area +
        int sum = 0;
        for (int i = 0; i < n; i++) {  //= loop rows in Square::area +
            sum += n;
        }
        return sum;
    }
};

struct Numbers {
    struct promise_type {
        int value;
        Numbers get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(int x) {
            value = x;
            return {};
        }
        void return_void() {}
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> handle;
};
Numbers numbers(int n) {
    for (int i = 0; i < n; i++) {
        co_yield i;
    }
}

int main() {
    std::vector<int> ints{1, 2, 3, 4, 5};
    std::vector<double> doubles{1.5, 2.5, 3.5};
    std::unique_ptr<Shape> shape = std::make_unique<Square>();
    //! 1 0 main/square
    auto square = [&](int n) {
        return shape->area(n) + shape->area(n) + shape->corners();
    };
    Numbers sequence = numbers(5);
    int drawn = 0;
    //! 1 6 main/draws
    while (true) {  //= loop draws in main +
        sequence.handle.resume();
        if (sequence.handle.done()) {
            break;
        }
        drawn += sequence.handle.promise().value;
    }
    sequence.handle.destroy();
    std::printf("%d %g %d %d %d %d\n", total(ints), total(doubles), catcher(10), catcher(3),
                square(4), drawn);
}
