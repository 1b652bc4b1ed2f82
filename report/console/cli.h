// The command line of `dwell`: turns words into options structures, or into one error line and exit
// code 2.
#ifndef DWELL_REPORT_CONSOLE_CLI_H_
#define DWELL_REPORT_CONSOLE_CLI_H_

#include <iterator>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "runtime/contract/settings.h"

namespace dwell {

// `dwell run`. Each setting is the text for its variable; empty: the library's default.
struct RunOptions {
    std::string callpath;
    std::string sample;
    std::string peers;
    std::string memory_mib;
    std::string row_limit;
    std::string probe_limit;
    std::string end_timeout;
    std::string watchdog;
    std::string live;
    std::string wait;
    std::string omp;
    std::string io;
    std::string events;
    std::string events_sites;
    std::string events_ranks;
    std::string events_window;
    std::string events_rate;
    std::string events_longer;
    std::string events_filter;
    std::string events_ring;
    std::string events_full;
    std::string metrics;
    std::string width;
    std::string out;
    std::string enable;  // an enabling profile
    bool quiet = false;
    bool report = false;
    bool preserve_order = false;
    bool tally = false;
    std::vector<std::string> command;
};
// By index in kSettings.
constexpr std::string RunOptions::*kSettingTexts[] = {
    &RunOptions::callpath,      &RunOptions::sample,       &RunOptions::peers,
    &RunOptions::memory_mib,    &RunOptions::row_limit,    &RunOptions::probe_limit,
    &RunOptions::end_timeout,   &RunOptions::watchdog,     &RunOptions::live,
    &RunOptions::wait,          &RunOptions::omp,          &RunOptions::io,
    &RunOptions::events,        &RunOptions::events_sites, &RunOptions::events_ranks,
    &RunOptions::events_window, &RunOptions::events_rate,  &RunOptions::events_longer,
    &RunOptions::events_filter, &RunOptions::events_ring,  &RunOptions::events_full,
    &RunOptions::metrics,       &RunOptions::width};
static_assert(std::size(kSettingTexts) == std::size(kSettings));

struct RunFlag {
    const char* variable;
    const char* option;
    bool RunOptions::*flag;
    const char* help;
};
constexpr RunFlag kRunFlags[] = {
    {"DWELL_PRESERVE_ORDER", "--preserve-order", &RunOptions::preserve_order,
     "Choices between messages fall as in the run without dwell"},
    {"DWELL_TALLY", "--tally", &RunOptions::tally,
     "Samples how many ranks are where at once, for dwell report --tally"},
    {"DWELL_REPORT", "--report", &RunOptions::report, "Prints the whole report at the end, too"},
    {"DWELL_QUIET", "-q,--quiet", &RunOptions::quiet, "Says nothing of the profile at the end"}};

// The place of a profile, and the messages at the end of its run.
struct EndOptions {
    std::string out;      // empty: dwell-PROGRAM-JOB
    bool quiet = false;   // no messages
    bool report = false;  // also the whole report
    int width = 0;        // columns; 0: not a terminal
};

// `dwell finish` and `dwell recover`.
struct FinishOptions : EndOptions {
    std::string directory;
};

struct ReportOptions {
    std::string source;  // directory or profile.json; empty: the newest dwell-*/ here
    std::string format = "text";
    std::string color = "auto";
    std::string site;  // name or FILE:LINE; empty: the whole report
    bool per_rank = false;
    bool left_out = false;
    bool over_time = false;
    bool tally = false;
    bool ascii = false;
    bool pager = true;
    int width = 0;  // 0: of the terminal, or 100
};

// `dwell sites`.
struct SitesOptions {
    std::vector<std::string> files;
    std::string format = "text";
    bool relations = false;
    bool left_out = false;
    bool ascii = false;
};

// `dwell events`.
struct EventsOptions {
    std::string job;  // a directory or the id of a job; empty: the only one
    std::string order;
};

// `dwell export`.
struct ExportOptions {
    std::string source;  // a log, or a directory with logs
    std::string format;
    std::string out;                  // empty: a name made from the log's
    std::string mapping = "senders";  // of messages to sounds
    std::string byte_order;           // empty: the machine's
    std::string window;               // read_event_window(); empty: all
    std::string ranks;                // is_rank_in()
    std::string kinds;                // event_kinds_of(); empty: all
    uint64_t limit_mib = 1024;        // size of a file for Chrome
    bool quiet = false;               // only what the export lacks
};

// `dwell import`.
struct ImportOptions {
    std::string source;
    std::string out;  // empty: a name made from the trace's
};

// `dwell where`.
struct WhereOptions {
    std::string job;  // a directory or the id of a job; empty: the only one
    int width = 0;    // 0: of the terminal, or 80
    bool ascii = false;
    bool json = false;
};

// `dwell top`: the words for its columns, by TopColumn (report/top/top_rows.h).
constexpr const char* kTopColumnWords[] = {"time",     "self", "computation", "transfer", "wait",
                                           "omp_wait", "idle", "io",          "calls",    "sent",
                                           "received", "open", "name"};
struct TopOptions {
    std::string job;  // a directory or the id of a job; empty: the only one, or a list of all
    bool once = false;
    bool json = false;
    bool lines = false;
    bool rates = false;
    bool per_rank = false;
    std::string sort = "time";
    std::string filter;
    double interval_s = 1;
    int depth = 0;  // 0: all levels
    int rank = -1;  // -1: all
    std::vector<std::string> alarms;
    int width = 0;  // 0: of the terminal, or 80
    bool ascii = false;
};

// Why parsing ended early: help and --version (code 0, text for stdout) or an error (code 2, one
// line for stderr).
struct CliEnd {
    int code = 2;
    std::string text;
};

// `words` follow the name of the sub-command.
tl::expected<RunOptions, CliEnd> parse_run(const std::vector<std::string>& words);
tl::expected<FinishOptions, CliEnd> parse_finish(const std::vector<std::string>& words);
tl::expected<FinishOptions, CliEnd> parse_recover(const std::vector<std::string>& words);
tl::expected<ReportOptions, CliEnd> parse_report(const std::vector<std::string>& words);
tl::expected<SitesOptions, CliEnd> parse_sites(const std::vector<std::string>& words);
tl::expected<EventsOptions, CliEnd> parse_events(const std::vector<std::string>& words);
tl::expected<ExportOptions, CliEnd> parse_export(const std::vector<std::string>& words);
tl::expected<ImportOptions, CliEnd> parse_import(const std::vector<std::string>& words);
tl::expected<WhereOptions, CliEnd> parse_where(const std::vector<std::string>& words);
tl::expected<TopOptions, CliEnd> parse_top(const std::vector<std::string>& words);
tl::expected<bool, CliEnd> parse_info(const std::vector<std::string>& words);

// The event_bit() of words like "mpi,blocks"; 0: one of them is no kind.
uint32_t event_kinds_of(const std::string& words);

// Empty when `value` is valid for the setting `variable` (a DWELL_… name of RunOptions), else a
// description of valid values.
std::string setting_error(const std::string& variable, const std::string& value);

}  // namespace dwell

#endif  // DWELL_REPORT_CONSOLE_CLI_H_
