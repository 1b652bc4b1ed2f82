// What launchers say in the environment: the rank, and how many there are.
#include "runtime/job_name.h"

#include <gtest/gtest.h>

namespace dwell {
namespace {

class LauncherVariables : public testing::Test {
  protected:
    void SetUp() override {
        for (const char* variable :
             {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE",
              "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}) {
            unsetenv(variable);
        }
    }
};

TEST_F(LauncherVariables, ThereAreNoneWithoutALauncher) {
    setenv("SLURM_NTASKS", "8", 1);  // of an allocation, in which nothing was launched
    EXPECT_EQ(launcher_rank(), -1);
    EXPECT_EQ(launcher_size(launcher_rank()), 1);
}

TEST_F(LauncherVariables, SayHowManyRanksThereAre) {
    setenv("OMPI_COMM_WORLD_RANK", "2", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    EXPECT_EQ(launcher_rank(), 2);
    EXPECT_EQ(launcher_size(2), 4);
}

TEST_F(LauncherVariables, ARankIsAlwaysOneOfThem) {
    setenv("PMIX_RANK", "3", 1);
    EXPECT_EQ(launcher_size(3), 4);
    for (const char* other : {"2", "-1", "8x", "", "99999999999"}) {
        setenv("SLURM_NTASKS", other, 1);
        EXPECT_EQ(launcher_size(3), 4) << other;
    }
    setenv("SLURM_STEP_NUM_TASKS", "6", 1);
    EXPECT_EQ(launcher_size(3), 6);
}

}  // namespace
}  // namespace dwell
