// The static runtime for processes without memory (runtime/openmp/gomp.h).
#include <gtest/gtest.h>

#include "runtime/openmp/gomp.h"

namespace dwell {

TEST(SpareRuntime, IsAsNewWhenItIsTakenAgain) {
    static SpareRuntime spare;
    GompRuntime* runtime = spare.take();
    ASSERT_NE(runtime, nullptr);
    EXPECT_TRUE(spare.is(runtime));
    EXPECT_EQ(spare.take(), nullptr);
    runtime->base = runtime->scope = &spare;
    runtime->observed = true;
    runtime->number = 7;
    runtime->num_threads = [] { return 1; };
    runtime->following = runtime;
    for (std::atomic<void*>& next : runtime->next) next = &spare;
    spare.give_back();
    EXPECT_EQ(spare.take(), runtime);
    EXPECT_EQ(runtime->base, nullptr);
    EXPECT_EQ(runtime->scope, nullptr);
    EXPECT_FALSE(runtime->observed);
    EXPECT_EQ(runtime->number, 0);
    EXPECT_EQ(runtime->num_threads, nullptr);
    EXPECT_EQ(runtime->following, nullptr);
    for (const std::atomic<void*>& next : runtime->next) EXPECT_EQ(next.load(), nullptr);
}

}  // namespace dwell
