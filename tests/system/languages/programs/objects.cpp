// What C++ runs where: static initialisers before main and destructors after it, templates,
// lambdas, constructors, a coroutine whose parts run under whoever resumes it.
#include <coroutine>
#include <cstdio>
#include <exception>

#include "pass_time.h"

#define NOINLINE __attribute__((noinline))

struct Global {
    NOINLINE Global() {
        begin_all();
        spin_ms(5);
        keep();
    }
    NOINLINE ~Global() {
        spin_ms(10);
        end_all();
    }
};
Global global;

template <typename T>
NOINLINE T work(T value) {
    spin_ms(static_cast<int>(value));
    keep();
    return value + 1;
}

struct Local {
    NOINLINE explicit Local(int ms) : ms_(ms) {
        spin_ms(ms_);
        keep();
    }
    NOINLINE ~Local() {
        spin_ms(2 * ms_);
        keep();
    }
    int ms_;
};

template <typename F>
NOINLINE void apply(F function, int times) {
    for (int i = 0; i < times; ++i) function(i);
    keep();
}

struct Generator {
    struct promise_type {
        int value = 0;
        Generator get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(int next) {
            value = next;
            return {};
        }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

NOINLINE void made_one() {
    spin_ms(2);
    keep();
}

Generator numbers(int n) {
    for (int i = 0; i < n; ++i) {
        made_one();
        co_yield i;
    }
}

NOINLINE int takes_two(Generator& from) {
    from.handle.resume();
    const int first = from.handle.promise().value;
    from.handle.resume();
    keep();
    return first + from.handle.promise().value;
}

NOINLINE void after_coroutine() {
    spin_ms(3);
    keep();
}

int main() {
    const int sum = work(4) + static_cast<int>(work(6.0));
    {
        Local local(3);
        keep();
    }
    apply(
        [](int i) {
            spin_ms(2 + i);
            keep();
        },
        3);
    Generator generator = numbers(5);
    const int taken = takes_two(generator) + takes_two(generator);
    after_coroutine();
    generator.handle.destroy();
    std::printf("%d %d\n", sum, taken);
    return 0;
}
