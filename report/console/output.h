// Every file that the `dwell` command writes goes through here: each write is checked, and a file
// appears under its name only when all of it is there. Failures are values, one line each.
//
// Test knob: DWELL_TEST_FAIL_WRITE=N makes the N-th checked write of the process fail as a full
// device would.
#ifndef DWELL_REPORT_CONSOLE_OUTPUT_H_
#define DWELL_REPORT_CONSOLE_OUTPUT_H_

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace dwell {

using Outcome = tl::expected<void, std::string>;

// Writes all bytes to an open file, through interrupts and short writes; `name` is for the message.
Outcome write_all(int file, std::string_view bytes, const std::string& name);

// Writes `path` under a temporary name in the same directory and renames it. On failure the
// temporary file is gone and a former `path` is unchanged.
// With `taken` a former `path` stays, and is told by that.
Outcome write_file(const std::string& path, std::string_view bytes, unsigned mode = 0644,
                   bool* taken = nullptr);

// Copies `from` to `to` (mode 0600) the same way, then removes `from`. On failure `from` stays.
Outcome move_file(const std::string& from, const std::string& to);

// Makes `path` and what is missing above it.
Outcome make_directories(const std::string& path);

// The whole of a file.
tl::expected<std::string, std::string> read_whole_file(const std::string& path);

// `text` with escapes for control characters, which a terminal would obey.
std::string visible(const std::string& text);

// One line on stderr, "dwell: <text>", in one write so that lines of several ranks do not mix.
// Control characters are shown, not sent.
void say(const std::string& text);

}  // namespace dwell

#endif  // DWELL_REPORT_CONSOLE_OUTPUT_H_
