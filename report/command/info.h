// `dwell info`: what works on this machine, what does not, and what to do about it.
#ifndef DWELL_REPORT_COMMAND_INFO_H_
#define DWELL_REPORT_COMMAND_INFO_H_

namespace dwell {

// Prints the findings on stdout. Always 0: finding out is all that can fail.
int info_command();

}  // namespace dwell

#endif  // DWELL_REPORT_COMMAND_INFO_H_
