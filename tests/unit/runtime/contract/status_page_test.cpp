// Messages of processes for `dwell run`.
#include "runtime/contract/status_page.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace dwell {
namespace {

TEST(StatusPage, TheSameLineOfManyProcessesIsOneNote) {
    const auto page = std::make_unique<StatusPage>();
    for (int rank = 0; rank < 12; ++rank) status_note(page.get(), "no room", rank);
    status_note(page.get(), "no MPI", 3);
    ASSERT_EQ(page->notes, 2u);
    EXPECT_STREQ(page->note[0].text, "no room");
    EXPECT_EQ(page->note[0].count, 12u);
    EXPECT_EQ(page->note[0].ranks[kStatusRanks - 1], 7);
    EXPECT_EQ(page->note[1].count, 1u);
    EXPECT_EQ(page->note[1].ranks[0], 3);
    EXPECT_EQ(page->notes_left_out, 0u);
}

TEST(StatusPage, LinesWithoutRoomAreCounted) {
    const auto page = std::make_unique<StatusPage>();
    for (uint32_t i = 0; i < kStatusNotes + 3; ++i) {
        status_note(page.get(), std::to_string(i).c_str(), static_cast<int>(i));
    }
    status_note(page.get(), "0", 20);
    EXPECT_EQ(page->notes, kStatusNotes);
    EXPECT_EQ(page->notes_left_out, 3u);
    EXPECT_EQ(page->note[0].count, 2u);
}

}  // namespace
}  // namespace dwell
