// Shows long text on a terminal in a pager, by git's rules.
#ifndef DWELL_REPORT_CONSOLE_PAGER_H_
#define DWELL_REPORT_CONSOLE_PAGER_H_

#include <string>

namespace dwell {

// Shows `text` in the command of DWELL_PAGER, else PAGER, else less, which ends by itself where the
// text fits on the screen (LESS=FRX, if not set). Returns false, with nothing shown, where standard
// output is no terminal, or the pager is empty, "cat", or cannot be started. Waits for the pager's
// end; meanwhile signals of the terminal go to the pager.
bool show_in_pager(const std::string& text);

}  // namespace dwell

#endif  // DWELL_REPORT_CONSOLE_PAGER_H_
