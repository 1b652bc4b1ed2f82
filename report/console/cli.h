// The command line of `dwell`: words become options structures, or one clear line and exit code 2.
#ifndef DWELL_REPORT_CONSOLE_CLI_H_
#define DWELL_REPORT_CONSOLE_CLI_H_

#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace dwell {

// `dwell run`. Each setting is the text that goes into its variable; empty: the library's default.
struct RunOptions {
    std::string out;          // DWELL_OUT
    std::string callpath;     // DWELL_CALLPATH
    std::string sample;       // DWELL_SAMPLE
    std::string peers;        // DWELL_PEERS
    std::string memory_mib;   // DWELL_MEMORY_MIB
    std::string row_limit;    // DWELL_ROW_LIMIT
    std::string probe_limit;  // DWELL_PROBE_LIMIT
    std::string end_timeout;  // DWELL_END_TIMEOUT
    std::string wait;         // DWELL_WAIT
    std::string omp;          // DWELL_OMP
    std::string io;           // DWELL_IO
    std::string metrics;      // DWELL_METRICS
    std::string width;        // DWELL_WIDTH
    std::string enable;       // DWELL_ENABLE: an enabling profile
    bool quiet = false;       // DWELL_QUIET
    bool report = false;      // DWELL_REPORT
    bool preserve_order = false;
    std::vector<std::string> command;
};

// Where a profile goes, and what is said at the end of its run.
struct EndOptions {
    std::string out;      // empty: dwell-PROGRAM-JOB
    bool quiet = false;   // nothing
    bool report = false;  // the whole report, too
    int width = 0;        // columns; 0: no terminal
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

// Why parsing ended early: help and --version (code 0, text for stdout) or an error (code 2, one
// line for stderr).
struct CliEnd {
    int code = 2;
    std::string text;
};

// `words` are the words after the name of the sub-command.
tl::expected<RunOptions, CliEnd> parse_run(const std::vector<std::string>& words);
tl::expected<FinishOptions, CliEnd> parse_finish(const std::vector<std::string>& words);
tl::expected<FinishOptions, CliEnd> parse_recover(const std::vector<std::string>& words);
tl::expected<ReportOptions, CliEnd> parse_report(const std::vector<std::string>& words);
tl::expected<SitesOptions, CliEnd> parse_sites(const std::vector<std::string>& words);
tl::expected<bool, CliEnd> parse_info(const std::vector<std::string>& words);

// Empty when `value` suits the setting `variable` (a DWELL_… name of RunOptions), else what it
// should be.
std::string setting_error(const std::string& variable, const std::string& value);

}  // namespace dwell

#endif  // DWELL_REPORT_CONSOLE_CLI_H_
