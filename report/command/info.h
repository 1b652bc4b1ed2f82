// `dwell info`: checks what works on this machine, and what to do about the rest.
#ifndef DWELL_REPORT_COMMAND_INFO_H_
#define DWELL_REPORT_COMMAND_INFO_H_

namespace dwell {

// Prints the findings on stdout. Always returns 0, because a finding is not a failure.
int info_command();

}  // namespace dwell

#endif  // DWELL_REPORT_COMMAND_INFO_H_
