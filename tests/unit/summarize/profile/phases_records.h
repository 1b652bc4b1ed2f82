// Records of fixtures/phases.c, with the addresses of its calls.
#ifndef DWELL_TESTS_UNIT_PHASES_RECORDS_H_
#define DWELL_TESTS_UNIT_PHASES_RECORDS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/unit/support/fixture_binary.h"
#include "tests/unit/support/merged_builder.h"

namespace dwell {

class Phases : public testing::Test {
  protected:
    void SetUp() override {
        source_ = fixture("phases.c");
        file_ = folder_ / "phases";
        ASSERT_EQ(run("gcc -O0 -g -Wl,--build-id -o '" + file_ + "' '" + source_ + "' '" +
                      fixture("mpi_names.c") + "'"),
                  "");
        app_ = records_.module(file_, build_id_of(file_));
        libc_ = records_.module("/nonexistent/libc.so.6");
        start_ = records_.call(0, libc_, 0x2724a);
    }
    uint64_t after(const std::string& function, const std::string& callee, int n = 0) {
        const uint64_t address = Disassembly(file_, function).return_from(callee, n);
        EXPECT_NE(address, 0u) << function << " " << callee << " " << n;
        return address;
    }
    int line(const std::string& mark) {
        const int number = marked_line(source_, mark);
        EXPECT_NE(number, 0) << mark;
        return number;
    }

    ScratchFolder folder_;
    std::string source_;
    std::string file_;
    MergedBuilder records_;
    uint32_t app_ = 0;
    uint32_t libc_ = 0;
    uint32_t start_ = 0;  // the frame above main
};

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_PHASES_RECORDS_H_
