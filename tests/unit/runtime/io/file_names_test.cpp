// Names of files: stored once each, any number of them, and counted when there is no room.
#include "runtime/io/file_names.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "runtime/probes/blocks.h"
#include "tests/unit/support/observed_process.h"

namespace dwell {
namespace {

using FileNames = ObservedProcess;

CellIndex cell_of(const std::string& name) {
    return record_of_name(t_thread, name.data(), name.size());
}
std::string text_of(CellIndex cell) {
    const auto* record = cell_at<TextRecord>(cell);
    return {reinterpret_cast<const char*>(record) + offsetof(TextRecord, text), record->bytes};
}

TEST_F(FileNames, EachOnceHoweverMany) {
    constexpr int kNames = 5000;  // the table grows twice
    std::vector<CellIndex> cells;
    for (int i = 0; i < kNames; ++i) {
        cells.push_back(cell_of("/folder/file " + std::to_string(i)));
        ASSERT_NE(cells.back(), 0u);
    }
    for (int i = 0; i < kNames; ++i) {
        const std::string name = "/folder/file " + std::to_string(i);
        ASSERT_EQ(cell_of(name), cells[static_cast<size_t>(i)]);
        ASSERT_EQ(text_of(cells[static_cast<size_t>(i)]), name);
    }
    EXPECT_EQ(g_process.header->files_unnamed, 0u);
}

TEST_F(FileNames, ThreadsShareThem) {
    const std::string name = "/shared by threads";
    CellIndex cells[2] = {};
    std::thread other([&] {
        attach_thread();
        cells[0] = cell_of(name);
    });
    cells[1] = cell_of(name);
    other.join();
    EXPECT_EQ(cells[0], cells[1]);
}

TEST_F(FileNames, NoneIsLostBesideOtherTexts) {
    constexpr int kEach = 20'000;
    const auto linked = [] {
        int texts = 0;
        for (CellIndex at = g_process.header->first_text; at != 0;
             at = cell_at<TextRecord>(at)->next) {
            ++texts;
        }
        return texts;
    };
    const int before = linked();
    std::atomic<int> ready{0};
    const auto meet = [&ready] {
        for (++ready; ready != 2;) {
        }
    };
    std::thread other([&] {
        attach_thread();
        meet();
        for (int i = 0; i < kEach; ++i) write_text(t_thread, "block", 5);
    });
    meet();
    for (int i = 0; i < kEach; ++i) ASSERT_NE(cell_of("/beside " + std::to_string(i)), 0u);
    other.join();
    EXPECT_EQ(linked() - before, 2 * kEach);
}

TEST_F(FileNames, NamesWithoutRoomAreCounted) {
    const CellIndex known = cell_of("/known");
    g_process.header->flags |= kFileFull;
    EXPECT_EQ(cell_of("/no room"), 0u);
    EXPECT_EQ(cell_of("/known"), known);
    g_process.header->flags &= ~uint32_t{kFileFull};
    EXPECT_EQ(g_process.header->files_unnamed, 1u);
    EXPECT_NE(cell_of("/no room"), 0u);
}

}  // namespace
}  // namespace dwell
