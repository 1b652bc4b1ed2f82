// An observed process without MPI: one record file for all tests of a suite, and the calling thread
// attached.
#ifndef DWELL_TESTS_UNIT_OBSERVED_PROCESS_H_
#define DWELL_TESTS_UNIT_OBSERVED_PROCESS_H_

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "runtime/calls/callpath.h"
#include "runtime/calls/records.h"
#include "runtime/probes/probes.h"

namespace dwell {

inline LivePage g_page;

class ObservedProcess : public testing::Test {
  protected:
    // One file for all tests: names live as long as the process.
    static void SetUpTestSuite() {
        char name[] = "/dev/shm/dwell-unit-XXXXXX";
        directory_ = mkdtemp(name);
        path_ = directory_ + "/rank.0";
        g_process.options.sample_hz = 0;
        g_process.use_tsc = has_invariant_tsc();
        g_process.start_ticks = now_ticks();
        ASSERT_TRUE(create_record_file(path_.c_str(), g_process.options.memory_mib));
        g_page.on = 1;
        g_page.ticket = 1;
        g_live = &g_page;
        load_unwinder();
        find_vector_registers();
        ASSERT_NE(attach_thread(), nullptr);
    }
    static void TearDownTestSuite() {
        g_page.on = 0;
        g_page.ticket = 0;
        close_record_file();
        unlink(path_.c_str());
        rmdir(directory_.c_str());
    }
    void SetUp() override {
        if (t_thread == nullptr) attach_thread();
    }

    static inline std::string directory_;
    static inline std::string path_;
};

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_OBSERVED_PROCESS_H_
