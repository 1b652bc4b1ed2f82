// Long text on a terminal goes through a pager, by the rules that git has.
#ifndef DWELL_REPORT_CONSOLE_PAGER_H_
#define DWELL_REPORT_CONSOLE_PAGER_H_

#include <string>

namespace dwell {

// Shows `text` in the command that DWELL_PAGER names, else PAGER, else less, which ends by itself
// where the text fits on the screen (LESS=FRX, if not set). False, with nothing shown, where
// standard output is no terminal, or the pager is empty, "cat", or cannot be started. Waits for its
// end; signals of the terminal are the pager's meanwhile.
bool show_in_pager(const std::string& text);

}  // namespace dwell

#endif  // DWELL_REPORT_CONSOLE_PAGER_H_
