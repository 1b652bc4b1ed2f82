// The `dwell` command: passes each sub-command to its file. Exit codes: 0 good, 1 incomplete data,
// 2 usage; `dwell run` ends as its program did.
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "report/command/info.h"
#include "report/command/sites.h"
#include "report/console/cli.h"
#include "report/console/output.h"
#include "report/console/process.h"
#include "report/events/events_command.h"
#include "report/events/report_log.h"
#include "report/export/export.h"
#include "report/import/import.h"
#include "report/launch/job_lines.h"
#include "report/launch/launch.h"
#include "report/launch/run.h"
#include "report/live/ending.h"
#include "report/live/where.h"
#include "report/results/finish.h"
#include "report/results/show.h"
#include "report/results/unfinished.h"
#include "report/top/top.h"
#include "runtime/contract/job_name.h"
#include "runtime/contract/settings.h"
#include "runtime/contract/standard_files.h"
#include "runtime/contract/version.h"

namespace dwell {
namespace {

constexpr const char* kUsage =
    "Usage: dwell COMMAND [OPTIONS]\n"
    "\n"
    "Tells which source line, on which rank, makes an MPI program wait.\n"
    "\n"
    "Commands:\n"
    "  run       Runs a program and profiles it\n"
    "  report    Shows a profile as text, JSON or CSV\n"
    "  recover   Makes a profile from the records of a job that did not end well\n"
    "  where     Shows where every rank of a running job is\n"
    "  top       Shows a running job as it goes on\n"
    "  events    Switches the events of a running job on or off\n"
    "  export    Writes the events of dwell run --events for other tools\n"
    "  import    Makes an event log of another tool's trace\n"
    "  sites     Shows what dwell's compilers put probes into\n"
    "  info      Says what works on this machine, and what does not\n"
    "\n"
    "dwell COMMAND --help shows the options of a command.\n"
    "\n"
    "Start with: mpirun -n 4 dwell run ./app\n";

int show(const CliEnd& end) {
    if (end.code != 0) {
        say(end.text);
        return end.code;
    }
    const Outcome written = write_all(1, end.text, "standard output");
    if (!written) say(written.error());
    return written ? 0 : 1;
}

template <typename Options>
int run_parsed(const tl::expected<Options, CliEnd>& options, int (*command)(const Options&)) {
    return options ? command(*options) : show(options.error());
}

// The command that a misspelt word was probably meant to be.
std::string command_hint(const std::string& name) {
    if (is_launcher(name)) return ": to profile a job type: dwell run " + name + " ...";
    for (const char* command : {"run", "report", "recover", "where", "top", "events", "export",
                                "import", "sites", "info"}) {
        if (is_nearly(name.data(), name.size(), command)) {
            return ": dwell " + std::string(command) + " is one";
        }
    }
    if (find_program(name)) return ": to profile a program type: dwell run " + name + " ...";
    return " (dwell --help shows what there is)";
}

int dispatch(const std::vector<std::string>& words) {
    if (words.empty()) return show({2, "no command given (dwell --help shows what there is)"});
    const std::string& name = words.front();
    const std::vector<std::string> rest(words.begin() + 1, words.end());
    // Not in each rank of a job, nor while the library waits for `dwell finish`.
    const bool looks = name == "where" || name == "top" || name == "events";
    if (launcher_rank() < 0 && name != "finish" && !looks) name_unfinished_runs(rest);
    if (name == "run") {
        const auto parsed = parse_run(rest);
        if (parsed) return run_command(*parsed);
        if (parsed.error().code == 0) return show(parsed.error());
        JobLines().say(parsed.error().text);
        return parsed.error().code;
    }
    if (name == "report") {
        const auto parsed = parse_report(rest);
        if (parsed && is_event_log(parsed->source)) return report_log_command(*parsed);
        return run_parsed(parsed, report_command);
    }
    if (name == "recover") {
        const auto parsed = parse_recover(rest);
        return parsed ? recover_command(*parsed, ending_of, collect_left_events)
                      : show(parsed.error());
    }
    if (name == "finish") return run_parsed(parse_finish(rest), finish_command);
    if (name == "where") return run_parsed(parse_where(rest), where_command);
    if (name == "top") return run_parsed(parse_top(rest), top_command);
    if (name == "events") return run_parsed(parse_events(rest), events_command);
    if (name == "export") return run_parsed(parse_export(rest), export_command);
    if (name == "import") return run_parsed(parse_import(rest), import_command);
    if (name == "sites") return run_parsed(parse_sites(rest), sites_command);
    if (name == "info") {
        const auto parsed = parse_info(rest);
        return parsed ? info_command() : show(parsed.error());
    }
    if (name == "--version" || name == "-V") return show({0, "dwell " DWELL_VERSION "\n"});
    if (name == "--help" || name == "-h" || name == "help") return show({0, kUsage});
    return show({2, "unknown command '" + name + "'" + command_hint(name)});
}

}  // namespace
}  // namespace dwell

int main(int argc, char** argv) {
    const dwell::StandardFilesHeld held;
    dwell::ignore_size_signal();
    try {
        return dwell::dispatch({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        dwell::say(error.what());
        return 1;
    }
}
