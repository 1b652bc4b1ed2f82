// EPILOG counts events in 32 bits: as many as fit are counted, one more is refused.
#include "report/export/epilog_file.h"

#include <filesystem>
#include <fstream>

namespace dwell {
namespace {

Outcome written(const std::string& path, uint64_t events) {
    EpilogFile file(path, true, events - 1);
    file.end_definitions();
    file.begin_event(EpilogRecord::kExit, 0, 0);
    file.end();
    return file.close();
}

TEST(AnEpilogFile, CountsNoMoreEventsThanItCan) {
    const std::string path = testing::TempDir() + "dwell-epilog-" + std::to_string(getpid());
    ASSERT_TRUE(written(path, UINT32_MAX));
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    EXPECT_NE(bytes.find("\x04\x0e\xff\xff\xff\xff"), std::string::npos);  // kEventCount, 4 bytes
    const Outcome refused = written(path, uint64_t{1} << 32);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(),
              path + ": EPILOG cannot count 4294967296 events (at most 4294967295)");
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace dwell
