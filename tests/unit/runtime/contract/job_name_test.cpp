// Launchers' environment variables: rank and number of ranks.
#include "runtime/contract/job_name.h"

#include <gtest/gtest.h>

namespace dwell {
namespace {

class LauncherVariables : public testing::Test {
  protected:
    void SetUp() override {
        for (const char* variable :
             {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE",
              "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_STEP_ID",
              "SLURM_JOB_ID", "PMIX_NAMESPACE", "OMPI_MCA_orte_hnp_uri", "DWELL_RUN_PID"}) {
            unsetenv(variable);
        }
    }
};

TEST_F(LauncherVariables, ThereAreNoneWithoutALauncher) {
    setenv("SLURM_NTASKS", "8", 1);  // of an allocation without a launched step
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

// sbatch(1): the script has a task's variables but is no task; slurm.h: 0xfffffffb is its step
// number, 0xfffffffa that of an interactive one.
TEST_F(LauncherVariables, ABatchScriptIsNoRank) {
    setenv("SLURM_JOB_ID", "4711", 1);
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_NTASKS", "8", 1);
    for (const char* step : {"", "4294967291", "4294967290"}) {
        setenv("SLURM_STEP_ID", step, 1);
        EXPECT_EQ(launcher_rank(), -1) << step;
        EXPECT_TRUE(is_alone()) << step;
    }
    setenv("PMI_RANK", "0", 1);  // a number, and no size
    EXPECT_TRUE(is_alone());
    unsetenv("PMI_RANK");
    setenv("SLURM_STEP_ID", "0", 1);
    EXPECT_EQ(launcher_rank(), 0);
    EXPECT_FALSE(is_alone());
    setenv("SLURM_STEP_NUM_TASKS", "1", 1);
    EXPECT_TRUE(is_alone());
}

TEST_F(LauncherVariables, JobsOfABatchJobBearItsNumber) {
    const auto name = [] {
        char text[kJobNameBytes];
        job_name(text, sizeof text);
        return std::string(text);
    };
    setenv("DWELL_RUN_PID", "17", 1);
    EXPECT_EQ(name(), "pid17");
    setenv("SLURM_JOB_ID", "4711", 1);
    EXPECT_EQ(name(), "4711-pid17");
    setenv("PMIX_NAMESPACE", "3050438657", 1);
    setenv("OMPI_MCA_orte_hnp_uri", "3050438656.0;tcp://127.0.0.1:40123", 1);
    EXPECT_EQ(name(), "4711-3050438657-40123");
    setenv("PMIX_NAMESPACE", "slurm.pmix.4711.0", 1);
    EXPECT_EQ(name(), "slurm.pmix.4711.0-40123");
    unsetenv("PMIX_NAMESPACE");
    setenv("SLURM_PROCID", "1", 1);
    setenv("SLURM_STEP_ID", "2", 1);
    EXPECT_EQ(name(), "4711.2");
}

}  // namespace
}  // namespace dwell
