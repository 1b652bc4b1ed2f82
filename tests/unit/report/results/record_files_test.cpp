// Which files beside records are left over from copies that were interrupted.
#include "report/results/record_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace dwell {
namespace {

namespace fs = std::filesystem;

TEST(RecordFiles, ASecondCopyGoesOnceAllAreMoved) {
    char name[] = "/tmp/record-files-XXXXXX";
    const std::string folder = mkdtemp(name);
    for (const char* const file : {"rank.0", "rank.0.aB3xyZ", "rank.1.aB3xyZ", "rank.0.notes"}) {
        std::ofstream(folder + "/" + file) << "half";
    }
    remove_interrupted_copies(folder);  // their writers may be at work
    EXPECT_TRUE(fs::exists(folder + "/rank.0.aB3xyZ"));
    remove_interrupted_copies(folder, true);
    EXPECT_FALSE(fs::exists(folder + "/rank.0.aB3xyZ"));
    EXPECT_TRUE(fs::exists(folder + "/rank.1.aB3xyZ"));  // of another host
    EXPECT_TRUE(fs::exists(folder + "/rank.0"));
    EXPECT_TRUE(fs::exists(folder + "/rank.0.notes"));
    fs::remove_all(folder);
}

}  // namespace
}  // namespace dwell
