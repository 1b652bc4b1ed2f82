// Writes every file of the `dwell` command: each write is checked, and a file appears under its
// name only when it is complete. Failures are values, one line each.
//
// Test knob: DWELL_TEST_FAIL_WRITE=N makes the N-th checked write of the process fail as on a full
// device.
#ifndef DWELL_REPORT_CONSOLE_OUTPUT_H_
#define DWELL_REPORT_CONSOLE_OUTPUT_H_

#include <functional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace dwell {

using Outcome = tl::expected<void, std::string>;

// Writes all bytes to an open file, despite interrupts and short writes; `name` is for the message.
Outcome write_all(int file, std::string_view bytes, const std::string& name);

// Writes `path` under a temporary name in the same directory and renames it. On failure the
// temporary file is removed and an existing `path` is unchanged. With `taken` an existing `path` is
// kept, and `*taken` is set.
Outcome write_file(const std::string& path, std::string_view bytes, unsigned mode = 0644,
                   bool* taken = nullptr);

// Copies `from` to `to` (mode 0600) in the same way, then removes `from`. On failure `from` is
// kept.
Outcome move_file(const std::string& from, const std::string& to);
// The same, but `from` stays, and so does an existing `to`. `change` gets the file before it has
// its name.
Outcome copy_file(const std::string& from, const std::string& to,
                  const std::function<Outcome(int file)>& change);

// Removes `path`, a temporary file of write_file() or move_file(), if nobody has written to it for
// a minute. A writer that pauses for longer fails, and says so.
void remove_interrupted(const std::string& path);

// Creates `path` and its missing parents.
Outcome make_directories(const std::string& path);

// Reads a whole file.
tl::expected<std::string, std::string> read_whole_file(const std::string& path);

// `text` with escapes in place of control characters, which a terminal would obey.
std::string visible(const std::string& text);

// Prints one line on stderr, "dwell: <text>", in one write so that lines of several ranks do not
// mix. Control characters are escaped.
void say(const std::string& text);

}  // namespace dwell

#endif  // DWELL_REPORT_CONSOLE_OUTPUT_H_
