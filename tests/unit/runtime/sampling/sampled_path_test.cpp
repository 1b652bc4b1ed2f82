// Call paths from registers and a copy of the stack, compared with the C library's own walk.
#include "runtime/sampling/sampled_path.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/calls/callpath.h"
#include "tests/unit/support/fixture_binary.h"

namespace dwell {
namespace {

// As a sample that was taken in take().
struct Taken {
    std::vector<uint64_t> registers;
    std::vector<char> stack;
    std::vector<uint64_t> callers;  // as backtrace() has them, without take() itself
};

// That many bytes from `address` on, limited to the calling thread's stack.
size_t bytes_on_stack(uint64_t address, size_t bytes) {
    pthread_attr_t attributes;
    void* low = nullptr;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return bytes;
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    return std::min<size_t>(bytes, reinterpret_cast<uint64_t>(low) + size - address);
}

__attribute__((noinline)) void take(size_t bytes, Taken* taken) {
    ucontext_t context;
    getcontext(&context);
    const greg_t* const all = context.uc_mcontext.gregs;
    const int order[kSampledRegisters] = {REG_RBX, REG_RBP, REG_RSP, REG_RIP, REG_R10,
                                          REG_R12, REG_R13, REG_R14, REG_R15};
    for (const int number : order) taken->registers.push_back(static_cast<uint64_t>(all[number]));
    taken->stack.resize(bytes_on_stack(taken->registers[kSampledSp], bytes));
    for (size_t at = 0; at + 8 <= taken->stack.size(); at += 8) {
        const uint64_t word = stack_word(taken->registers[kSampledSp] + at);
        memcpy(taken->stack.data() + at, &word, sizeof(word));
    }
    void* found[64];
    const int count = backtrace(found, 64);
    // A sanitizer may have put a frame of its own before that of take().
    void** const caller = std::find(found, found + count, __builtin_return_address(0));
    for (void** at = caller; at < found + count; ++at) {
        taken->callers.push_back(reinterpret_cast<uint64_t>(*at));
    }
}

// A frame of some hundred bytes for each level.
__attribute__((noinline)) int descend(int levels, size_t bytes, Taken* taken) {
    volatile char room[300];
    room[levels] = 1;
    if (levels == 0) {
        take(bytes, taken);
        return room[0];
    }
    return descend(levels - 1, bytes, taken) + room[levels];
}

std::vector<uint64_t> trace(const Taken& taken, bool* whole) {
    std::vector<uint64_t> addresses(100);
    const SampledStack stack{taken.registers.data(), taken.stack.data(), taken.stack.size()};
    addresses.resize(trace_sample(kOwnCode, stack, addresses.data(), 100, whole));
    return addresses;
}

class SampledPath : public testing::Test {
  protected:
    void SetUp() override {
        if (!load_sample_unwinder()) GTEST_SKIP() << "no libunwind for other address spaces";
    }
};

TEST_F(SampledPath, IsThatOfTheStack) {
    // As much as there is: main's frames may lie close to the end of the stack.
    for (const int levels : {0, 1, 7}) {
        Taken taken;
        descend(levels, 6000, &taken);
        bool whole = false;
        const std::vector<uint64_t> found = trace(taken, &whole);
        ASSERT_GE(found.size(), static_cast<size_t>(std::min(levels, 3)) + 2);
        EXPECT_EQ(found[0], taken.registers[kSampledIp]);
        const size_t same = std::min(found.size() - 1, taken.callers.size());
        for (size_t i = 0; i < same; ++i) EXPECT_EQ(found[i + 1], taken.callers[i]) << i;
        EXPECT_TRUE(!whole || same == taken.callers.size());
    }
}

TEST_F(SampledPath, EndsWithTheStoredStack) {
    Taken taken;
    descend(40, 4000, &taken);
    bool whole = true;
    const std::vector<uint64_t> found = trace(taken, &whole);
    EXPECT_FALSE(whole);
    EXPECT_GE(found.size(), 3u);
    EXPECT_LE(found.size(), 40u);
    for (size_t i = 1; i < found.size(); ++i) EXPECT_EQ(found[i], taken.callers[i - 1]) << i;
}

// The cache for one sample is not used for another one with different callers.
TEST_F(SampledPath, CachedWalksMatchTheStack) {
    Taken taken;
    std::thread([&taken] { descend(3, 4600, &taken); }).join();
    bool whole = false;
    const std::vector<uint64_t> found = trace(taken, &whole);
    if (!whole) GTEST_SKIP() << "frames are too large here";
    ASSERT_GT(found.size(), 6u);
    EXPECT_EQ(trace(taken, &whole), found);
    EXPECT_TRUE(whole);
    for (size_t at = 0; at + 8 <= taken.stack.size(); at += 8) {
        uint64_t word = 0;
        memcpy(&word, taken.stack.data() + at, sizeof(word));
        if (word != found[5]) continue;
        word = 0;
        memcpy(taken.stack.data() + at, &word, sizeof(word));
    }
    const std::vector<uint64_t> other = trace(taken, &whole);
    EXPECT_EQ(other.size(), 5u);
    forget_sampled_paths();
    EXPECT_EQ(trace(taken, &whole), other);
}

// For a library whose segments lie apart, the inaccessible memory between them is not read.
TEST_F(SampledPath, TablesAreReadWhereTheyAre) {
    ScratchFolder folder;
    const std::string file = folder / "apart.so";
    const std::string source = fixture("halo.c");
    ASSERT_EQ(run("gcc -shared -fPIC -Wl,-z,max-page-size=0x200000,-z,separate-code -o '" + file +
                  "' '" + source + "'"),
              "");
    void* const library = dlopen(file.c_str(), RTLD_LAZY);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto address = reinterpret_cast<uint64_t>(dlsym(library, "compute"));
    SampledModule module;
    ASSERT_TRUE(kOwnCode.find(kOwnCode.process, address, &module));
    EXPECT_GT(module.end - module.begin, uint64_t{0x200000});
    uint64_t found = 0;  // of the bytes that may be read
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        uint64_t begin = 0;
        uint64_t end = 0;
        char access = '-';
        ASSERT_EQ(sscanf(line.c_str(), "%lx-%lx %c", &begin, &end, &access), 3);
        begin = std::max(begin, module.readable);
        end = std::min(end, module.readable_end);
        if (access == 'r' && begin < end) found += end - begin;
    }
    EXPECT_GT(found, 0u);
    EXPECT_EQ(found, module.readable_end - module.readable);
    dlclose(library);
}

// Whatever a frame pointer may point to.
TEST_F(SampledPath, DamagedFramesEndIt) {
    for (const uint64_t value : {uint64_t{0}, uint64_t{8}, UINT64_MAX, uint64_t{1} << 47}) {
        Taken taken;
        descend(3, 4000, &taken);
        for (uint32_t number : {kSampledBx, kSampledBp, kSampledR10, kSampledR12}) {
            taken.registers[number] = value;
        }
        for (size_t at = 0; at + 8 <= taken.stack.size(); at += 8) {
            memcpy(taken.stack.data() + at, &value, sizeof(value));
        }
        bool whole = false;
        EXPECT_GE(trace(taken, &whole).size(), 1u);
        taken.registers[kSampledIp] = value;
        EXPECT_GE(trace(taken, &whole).size(), 1u);
    }
}

}  // namespace
}  // namespace dwell
