// Programs that call a lot, each printing the processor time of its work: what source probes cost
// where they cost most. Built plain and by dwell's compilers by bench.py (rows `unobserved` and
// `adaptive`). usage: call_heavy KIND ROUNDS
//
//   fib      a procedure that calls only itself
//   methods  many small methods, some of them virtual
//   sort     qsort with a comparison callback
//   parse    procedures of some tens of nanoseconds, with loops and calls out of sight
//   tree     insertion into binary trees: recursion with real work
//   stencil  few calls, loops that vectorise
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

namespace {

double processor_s() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

unsigned g_seed = 1;
unsigned next_random() { return g_seed = g_seed * 1664525u + 1013904223u; }

__attribute__((noinline)) unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

class Shape {
  public:
    virtual ~Shape() = default;
    virtual double area() const = 0;
    double scale() const { return scale_; }
    void set_scale(double scale) { scale_ = scale; }

  private:
    double scale_ = 1;
};
class Square : public Shape {
  public:
    explicit Square(double side) : side_(side) {}
    double area() const override { return side_ * side_ * scale(); }

  private:
    double side_;
};
class Circle : public Shape {
  public:
    explicit Circle(double radius) : radius_(radius) {}
    double area() const override { return 3.14159265358979 * radius_ * radius_ * scale(); }

  private:
    double radius_;
};

double methods(int rounds) {
    std::vector<std::unique_ptr<Shape>> shapes;
    for (int i = 0; i < 1000; ++i) {
        if (i % 2 == 0) {
            shapes.push_back(std::make_unique<Square>(i));
        } else {
            shapes.push_back(std::make_unique<Circle>(i));
        }
    }
    double sum = 0;
    for (int round = 0; round < rounds * 2000; ++round) {
        for (auto& shape : shapes) {
            shape->set_scale(shape->scale() * 0.9999);
            sum += shape->area();
        }
    }
    return sum;
}

int compare(const void* a, const void* b) {
    const unsigned x = *static_cast<const unsigned*>(a);
    const unsigned y = *static_cast<const unsigned*>(b);
    return x < y ? -1 : x > y;
}

double sort(int rounds) {
    std::vector<unsigned> numbers(300'000);
    double sum = 0;
    for (int round = 0; round < rounds; ++round) {
        for (unsigned& number : numbers) number = next_random();
        qsort(numbers.data(), numbers.size(), sizeof(unsigned), compare);
        sum += numbers[numbers.size() / 2];
    }
    return sum;
}

__attribute__((noinline)) const char* skip_blanks(const char* at) {
    while (isspace(static_cast<unsigned char>(*at)) != 0) ++at;
    return at;
}
__attribute__((noinline)) const char* read_number(const char* at, long* number) {
    char* end = nullptr;
    *number = strtol(at, &end, 10);
    return end;
}
__attribute__((noinline)) const char* read_word(const char* at, unsigned* hash) {
    for (*hash = 5381; isalpha(static_cast<unsigned char>(*at)) != 0; ++at) {
        *hash = *hash * 33 + static_cast<unsigned char>(*at);
    }
    return at;
}
__attribute__((noinline)) double parse_line(const char* at) {
    double sum = 0;
    while (*(at = skip_blanks(at)) != '\0') {
        if (isdigit(static_cast<unsigned char>(*at)) != 0) {
            long number = 0;
            at = read_number(at, &number);
            sum += static_cast<double>(number);
        } else if (isalpha(static_cast<unsigned char>(*at)) != 0) {
            unsigned hash = 0;
            at = read_word(at, &hash);
            sum += hash % 7;
        } else {
            ++at;
        }
    }
    return sum;
}

double parse(int rounds) {
    const std::string line = "alpha = 12 + beta * 3456 ; gamma ( 7 , delta ) 89 epsilon 1234567";
    double sum = 0;
    for (int round = 0; round < rounds * 40'000; ++round) sum += parse_line(line.c_str());
    return sum;
}

struct Tree {
    unsigned key;
    Tree* left = nullptr;
    Tree* right = nullptr;
};
__attribute__((noinline)) Tree* insert(Tree* tree, unsigned key) {
    if (tree == nullptr) return new Tree{key};
    if (key < tree->key) {
        tree->left = insert(tree->left, key);
    } else {
        tree->right = insert(tree->right, key);
    }
    return tree;
}
__attribute__((noinline)) double destroy(Tree* tree) {
    if (tree == nullptr) return 0;
    const double sum = tree->key % 3 + destroy(tree->left) + destroy(tree->right);
    delete tree;
    return sum;
}

double tree(int rounds) {
    double sum = 0;
    for (int round = 0; round < rounds; ++round) {
        Tree* root = nullptr;
        for (int i = 0; i < 60'000; ++i) root = insert(root, next_random());
        sum += destroy(root);
    }
    return sum;
}

__attribute__((noinline)) void sweep(const double* from, double* to, int n) {
    for (int y = 1; y + 1 < n; ++y) {
        for (int x = 1; x + 1 < n; ++x) {
            const int at = y * n + x;
            to[at] = 0.25 * (from[at - 1] + from[at + 1] + from[at - n] + from[at + n]);
        }
    }
}

double stencil(int rounds) {
    constexpr int kSide = 256;
    std::vector<double> a(kSide * kSide, 1.0);
    std::vector<double> b(kSide * kSide, 0.0);
    for (int round = 0; round < rounds * 1000; ++round) {
        sweep(a.data(), b.data(), kSide);
        a.swap(b);
    }
    return a[kSide * kSide / 2];
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const std::string kind = argv[1];
    const int rounds = atoi(argv[2]);
    const double begin = processor_s();
    double result = 0;
    if (kind == "fib") {
        for (int round = 0; round < rounds; ++round) result += fib(34);
    } else if (kind == "methods") {
        result = methods(rounds);
    } else if (kind == "sort") {
        result = sort(rounds);
    } else if (kind == "parse") {
        result = parse(rounds);
    } else if (kind == "tree") {
        result = tree(rounds);
    } else if (kind == "stencil") {
        result = stencil(rounds);
    } else {
        return 2;
    }
    printf("result %g\nwork_s %.6f\n", result, processor_s() - begin);
    return 0;
}
