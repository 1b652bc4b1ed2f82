// Joins merged records without enough memory: every allocation may fail, nothing is lost, and
// records joined before stay.
#include <gtest/gtest.h>
#include <stdlib.h>

#include "summarize/merge/merged.h"
#include "tests/unit/summarize/merge/two_ranks.h"
#include "tests/unit/support/merged_view.h"

// The linker sends the allocations of everything under test here (-Wl,--wrap).
namespace {
bool watching = false;
long allocations_left = 0;  // while watching: the first allocation beyond these fails, and all
                            // later ones
long blocks = 0;            // allocated and not freed while watching

bool allocation_fails() { return watching && allocations_left-- <= 0; }
}  // namespace

extern "C" {
void* __real_malloc(size_t bytes);
void* __real_calloc(size_t count, size_t bytes);
void* __real_realloc(void* block, size_t bytes);
void __real_free(void* block);

void* __wrap_malloc(size_t bytes) {
    if (allocation_fails()) return nullptr;
    if (watching) blocks++;
    return __real_malloc(bytes);
}
// Compilers make one call of malloc and memset.
void* __wrap_calloc(size_t count, size_t bytes) {
    if (allocation_fails()) return nullptr;
    if (watching) blocks++;
    return __real_calloc(count, bytes);
}
void* __wrap_realloc(void* block, size_t bytes) {
    if (allocation_fails()) return nullptr;
    if (watching && block == nullptr) blocks++;
    return __real_realloc(block, bytes);
}
void __wrap_free(void* block) {
    if (watching && block != nullptr) blocks--;
    __real_free(block);
}
}

namespace dwell {
namespace {

// Runs `step` with only `allowed` allocations; `blocks` counts those it did not free.
template <typename Step>
bool with_allocations(long allowed, Step step) {
    blocks = 0;
    allocations_left = allowed;
    watching = true;
    const bool done = step();
    watching = false;
    return done;
}

TEST(MergeMemory, EveryAllocationMayFail) {
    const RecordFile first = first_rank();
    const RecordFile second = second_rank();
    for (const uint32_t row_limit : {0u, 3u, kDefaultRowLimit}) {
        long allowed = 0;
        const auto whole = [&] {
            Merged merged, other, received;
            GrowArray<char> bytes;
            merged.row_limit = row_limit;
            return add_record_file(&merged, first.data(), first.bytes()) &&
                   add_record_file(&other, second.data(), second.bytes()) &&
                   serialize(other, &bytes) && deserialize(bytes.data(), bytes.size(), &received) &&
                   join(&merged, std::move(received));
        };
        // Giving memory back may fail without harm, so success may come before the last allocation.
        for (; !with_allocations(allowed, whole); allowed++) {
            ASSERT_EQ(blocks, 0) << allowed;
            ASSERT_LT(allowed, 10'000);
        }
        EXPECT_EQ(blocks, 0);
        EXPECT_GT(allowed, 50);
    }
}

TEST(MergeMemory, AFailedStepLeavesTheResultAsItWas) {
    const RecordFile second = second_rank();
    for (const uint32_t row_limit : {0u, kDefaultRowLimit}) {
        for (const bool from_file : {false, true}) {
            Merged merged, other = read(second);
            merged.row_limit = row_limit;
            const RecordFile first = first_rank();
            ASSERT_TRUE(add_record_file(&merged, first.data(), first.bytes()));
            const std::string before = bytes_of(merged);
            int failures = 0;
            const auto step = [&] {
                return from_file ? add_record_file(&merged, second.data(), second.bytes())
                                 : join(&merged, std::move(other));
            };
            while (!with_allocations(failures, step)) {
                ASSERT_EQ(bytes_of(merged), before) << failures;
                ASSERT_LT(failures++, 10'000);
            }
            EXPECT_GT(failures, 5);
            EXPECT_EQ(merged.ranks.size(), 2u);
            EXPECT_TRUE(is_well_formed(merged));
        }
    }
}

}  // namespace
}  // namespace dwell
