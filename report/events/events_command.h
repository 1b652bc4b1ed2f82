// `dwell events`: switches the events of a running job on and off, from outside.
#ifndef DWELL_REPORT_EVENTS_EVENTS_COMMAND_H_
#define DWELL_REPORT_EVENTS_EVENTS_COMMAND_H_

#include "report/console/cli.h"
#include "report/results/finish.h"

namespace dwell {

// Returns the exit code.
int events_command(const EventsOptions& options);

// Has `dwell run --events=last:N` write what the ranks with records in `directory` hold.
void dump_events(const std::string& directory);

// Writes the events that the ended processes of a job have left in their record files, in
// `directory`, into the profile's directory `out`.
KeptEvents collect_left_events(const std::string& directory, const std::string& out);

}  // namespace dwell

#endif  // DWELL_REPORT_EVENTS_EVENTS_COMMAND_H_
