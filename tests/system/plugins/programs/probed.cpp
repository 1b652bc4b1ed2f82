// What source probes make of C++; the answers are explained in probed.c.
#include <coroutine>
#include <cstdio>
#include <stdexcept>
#include <vector>

//! 1 0 main

// A static initialiser and a destructor after main. Constructors are emitted twice, for objects and
// for bases, or once for both.
//! 1 0 static
//! 1 0 static/Noisy::Noisy
//! 1 3 static/Noisy::Noisy/making
//! 1 0 Noisy::~Noisy
//! 1 2 Noisy::~Noisy/undoing
struct Noisy {
    Noisy() {                          //= proc Noisy::Noisy +
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
//! 1 5 main/int total<int>/elements
//! 1 0 main/double total<double>
//! 1 3 main/double total<double>/elements
template <class T>
T total(const std::vector<T>& values) {  //= proc int total<int> +; proc double total<double> +
    T sum{};
    for (const auto& value : values) {  //= loop elements in int total<int>|double total<double> +
        sum += value;
    }
    return sum;
}

// Three of ten trips pass, the fourth throws: nothing sees how that loop is left, but its four
// trips were begun. The other call makes all of its three.
//! 2 0 main/catcher
//! 2 0 main/catcher/thrower
//! 2 7 main/catcher/thrower/risky
//! 7 0 main/catcher/thrower/risky/fails
void fails(int n) {  //= proc fails +
    if (n == 3) {
        throw std::runtime_error("three");
    }
    std::fflush(stdout);
}
int thrower(int n) {  //= proc thrower +
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
    virtual int corners() const = 0;
    virtual int area(int n) const = 0;
};
struct Square : Shape {
    int corners() const override { return 4; }  //= proc Square::corners small
    //! 2 0 main/lambda/Square::area
    //! 2 8 main/lambda/Square::area/rows
    int area(int n) const override {  //= proc Square::area +
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
        Numbers get_return_object() {  //= proc promise_type::get_return_object small
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() {  //= proc promise_type::initial_suspend small
            return {};
        }
        std::suspend_always final_suspend() noexcept {  //= proc promise_type::final_suspend small
            return {};
        }
        std::suspend_always yield_value(int x) {  //= proc promise_type::yield_value small
            value = x;
            return {};
        }
        void return_void() {}  //= proc promise_type::return_void small
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> handle;
};
// Two procedures: what makes the coroutine, and its body.
Numbers numbers(int n) {  //= proc numbers +; proc numbers +
    for (int i = 0; i < n; i++) {
        co_yield i;
    }
}

int main() {  //= proc main +
    std::vector<int> ints{1, 2, 3, 4, 5};
    std::vector<double> doubles{1.5, 2.5, 3.5};
    const Square square_shape;
    const Shape* shape = &square_shape;
    //! 1 0 main/lambda
    auto square = [&](int n) {  //= proc lambda in main +
        return shape->area(n) + shape->area(n) + shape->corners();
    };
    Numbers sequence = numbers(5);
    int drawn = 0;
    //! 1 6 main/draws
    while (true) {
        sequence.handle.resume();  //= loop draws in main +
        if (sequence.handle.done()) {
            break;
        }
        drawn += sequence.handle.promise().value;
    }
    sequence.handle.destroy();
    std::printf("%d %g %d %d %d %d\n", total(ints), total(doubles), catcher(10), catcher(3),
                square(4), drawn);
}
