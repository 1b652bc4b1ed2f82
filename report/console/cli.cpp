// Parses the command line with CLI11. Values of settings are checked here, both those of options
// and those of variables, so that both give the same message.
#include "report/console/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "report/console/metric_names.h"
#include "report/text/text_report.h"
#include "runtime/contract/enabling_profile.h"
#include "runtime/contract/record_layout.h"
#include "runtime/contract/settings.h"
#include "runtime/process/event_settings.h"

namespace dwell {
namespace {

// CLI11's form of a check: the error of a value, or nothing.
std::string not_empty(const std::string& value) { return value.empty() ? "is empty" : ""; }

// "full, node or off".
std::string list_of(std::string words) {
    const size_t last = words.rfind('|');
    if (last != std::string::npos) words.replace(last, 1, " or ");
    for (size_t at = 0; (at = words.find('|')) != std::string::npos;) words.replace(at, 1, ", ");
    return words;
}

constexpr const char* kRunFooter =
    "Works inside a launcher (mpirun -n 4 dwell run ./app) and around one\n"
    "(dwell run mpirun -n 4 ./app). Each option has a twin variable: DWELL_OUT,\n"
    "DWELL_CALLPATH, DWELL_SAMPLE, DWELL_PEERS, DWELL_MEMORY_MIB, DWELL_ROW_LIMIT,\n"
    "DWELL_PROBE_LIMIT, DWELL_END_TIMEOUT, DWELL_WATCHDOG, DWELL_LIVE, DWELL_WAIT,\n"
    "DWELL_OMP, DWELL_IO, DWELL_EVENTS, DWELL_EVENTS_SITES, DWELL_EVENTS_RANKS,\n"
    "DWELL_EVENTS_WINDOW, DWELL_EVENTS_RATE, DWELL_EVENTS_LONGER, DWELL_EVENTS_FILTER,\n"
    "DWELL_EVENTS_RING, DWELL_EVENTS_FULL, DWELL_METRICS, DWELL_WIDTH, DWELL_ENABLE,\n"
    "DWELL_PRESERVE_ORDER=1, DWELL_TALLY=1,\n"
    "DWELL_REPORT=1, DWELL_QUIET=1.";

class RunFormatter : public CLI::Formatter {
  public:
    std::string make_usage(const CLI::App*, std::string) const override {
        return "Usage: dwell run [OPTIONS] [--] PROGRAM [ARGUMENTS]\n";
    }
};

// A hint, for the end of a message, on the first unknown option in `words`.
std::string option_hint(const CLI::App& app, const std::vector<std::string>& words) {
    for (const std::string& given : words) {
        const std::string word = given.substr(0, given.find('='));
        if (word.size() < 2 || word[0] != '-' || app.get_option_no_throw(word) != nullptr) continue;
        const bool counts = word == "-n" || word == "-np" || word == "-N" || word == "--np";
        if (counts && app.get_name() == "dwell run") {
            return "; ranks are counted by the launcher: mpirun " + word +
                   " N dwell run PROGRAM, or dwell run mpirun " + word + " N PROGRAM";
        }
        for (const CLI::Option* option : app.get_options()) {
            for (const std::string& name : option->get_lnames()) {
                const std::string known = "--" + name;
                if (is_nearly(word.data(), word.size(), known.c_str()))
                    return "; " + known + " is one";
            }
        }
        return {};
    }
    return {};
}

// Runs CLI11 over `words`. Returns nothing on success.
std::optional<CliEnd> parse_words(CLI::App& app, const std::vector<std::string>& words) {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    try {
        app.parse(reversed);
    } catch (const CLI::CallForHelp&) {
        return CliEnd{0, app.help()};
    } catch (const CLI::ParseError& error) {
        std::string text = error.what();
        std::replace(text.begin(), text.end(), '\n', ' ');
        const std::string hint = option_hint(app, words);
        return CliEnd{
            2,
            text + (hint.empty() ? " (" + app.get_name() + " --help shows what there is)" : hint)};
    }
    return std::nullopt;
}

// --events, or --events=WHAT.
bool may_lack_value(const Setting& setting) {
    return strcmp(setting.variable, "DWELL_EVENTS") == 0;
}

// Index of the program of `dwell run`. All words from there on belong to the program.
size_t find_command(const std::vector<std::string>& words) {
    size_t i = 0;
    while (i < words.size()) {
        const std::string& word = words[i];
        if (word.empty() || word[0] != '-' || word == "--") return i;
        const bool takes_value =
            word == "-o" || word == "--out" || word == "--enable" ||
            std::any_of(std::begin(kSettings), std::end(kSettings), [&](const Setting& setting) {
                return word == setting.option && !may_lack_value(setting);
            });
        i += takes_value ? 2 : 1;
    }
    return words.size();
}

std::string environment(const char* variable) {
    const char* value = std::getenv(variable);
    return value == nullptr ? std::string() : value;
}

// Takes settings without an option from their variables, and checks every value.
std::optional<CliEnd> settle(RunOptions* options) {
    for (size_t i = 0; i < std::size(kSettings); ++i) {
        const Setting& setting = kSettings[i];
        std::string& value = options->*kSettingTexts[i];
        const bool from_variable = value.empty();
        if (from_variable) value = environment(setting.variable);
        if (value.empty()) continue;
        const std::string error = setting_error(setting.variable, value);
        if (error.empty()) continue;
        return CliEnd{2, std::string(from_variable ? setting.variable : setting.option) + ": '" +
                             value + "' should be " + error};
    }
    if (options->out.empty()) options->out = environment("DWELL_OUT");
    if (options->enable.empty()) options->enable = environment("DWELL_ENABLE");
    for (const std::string* path : {&options->enable, &options->events_sites}) {
        EnablingProfile profile;
        if (!path->empty() && !profile.read(path->c_str())) return CliEnd{2, profile.error()};
    }
    for (const RunFlag& flag : kRunFlags) {
        const std::string value = environment(flag.variable);
        if (!value.empty() && value != "0" && value != "1") {
            return CliEnd{2, std::string(flag.variable) + ": '" + value + "' should be 0 or 1"};
        }
        if (value == "1") options->*flag.flag = true;
    }
    return std::nullopt;
}

tl::expected<FinishOptions, CliEnd> parse_job_directory(const char* name, const char* help,
                                                        const std::vector<std::string>& words) {
    FinishOptions options;
    CLI::App app(help, name);
    app.add_option("JOBDIR", options.directory, "Directory with the records of a job")->required();
    app.add_option("-o,--out", options.out, "Directory to write to")
        ->type_name("DIR")
        ->check(not_empty);
    app.add_flag("-q,--quiet", options.quiet, "Says nothing of the profile");
    app.add_flag("--report", options.report, "Prints the whole report, too");
    app.add_option("--width", options.width, "Columns (default: the terminal's, else 80)")
        ->type_name("N")
        ->check(CLI::Range(kLeastWidth, kMostWidth));
    if (auto end = parse_words(app, words)) return tl::make_unexpected(*end);
    // Runs without `dwell run` can only be configured by variables.
    if (environment("DWELL_REPORT") == "1") options.report = true;
    const std::string width = environment("DWELL_WIDTH");
    if (options.width == 0 && setting_error("DWELL_WIDTH", width).empty()) {
        options.width = atoi(width.c_str());
    }
    return options;
}

}  // namespace

std::string setting_error(const std::string& variable, const std::string& value) {
    const Setting* const setting = find_setting(variable.c_str());
    if (setting == nullptr || number_of_word(setting->words, value.c_str()) >= 0) return {};
    if (variable == "DWELL_METRICS") return metrics_form_error(value);
    if (variable == "DWELL_EVENTS") {
        WantedEvents ignored;
        return read_wanted_events(value.c_str(), &ignored) ? "" : kEventForms;
    }
    if (variable == "DWELL_EVENTS_RATE") {
        EventRates ignored;
        return read_event_rates(value.c_str(), &ignored) ? "" : kEventRateForms;
    }
    if (variable == "DWELL_EVENTS_LONGER") {
        EventTrigger ignored;
        return read_event_trigger(value.c_str(), &ignored) ? "" : kEventTriggerForms;
    }
    if (variable == "DWELL_EVENTS_FILTER") return {};
    if (variable == "DWELL_EVENTS_RANKS") return is_rank_list(value.c_str()) ? "" : kRankForms;
    if (variable == "DWELL_EVENTS_WINDOW") {
        EventWindow ignored;
        return read_event_window(value.c_str(), &ignored) ? "" : kEventWindowForms;
    }
    if (variable == "DWELL_EVENTS_SITES") return {};  // a file; settle() reads it
    if (setting->most == 0) return list_of(setting->words);
    uint32_t number = 0;
    const char* end = value.data() + value.size();
    const auto parsed = std::from_chars(value.data(), end, number);
    if (parsed.ec == std::errc() && parsed.ptr == end && number >= setting->least &&
        number <= setting->most) {
        return {};
    }
    std::string range = "a whole number from " + std::to_string(setting->least) + " to " +
                        std::to_string(setting->most);
    if (setting->words != nullptr) range += std::string(", or ") + setting->words;
    return range;
}

tl::expected<RunOptions, CliEnd> parse_run(const std::vector<std::string>& words) {
    RunOptions options;
    CLI::App app("Runs a program and profiles it.", "dwell run");
    app.formatter(std::make_shared<RunFormatter>());
    app.footer(kRunFooter);
    app.add_option("--enable", options.enable, "Enabling profile: which instrumented sites are on")
        ->type_name("FILE");
    app.add_option("-o,--out", options.out, "Directory for the profile (dwell-PROGRAM-JOB)")
        ->check(not_empty)
        ->type_name("DIR");
    for (size_t i = 0; i < std::size(kSettings); ++i) {
        if (may_lack_value(kSettings[i])) {
            app.add_flag(std::string(kSettings[i].option) + "{all}", options.*kSettingTexts[i],
                         kSettings[i].help);
            continue;
        }
        app.add_option(kSettings[i].option, options.*kSettingTexts[i], kSettings[i].help)
            ->type_name(kSettings[i].value_name);
    }
    for (const RunFlag& flag : kRunFlags) {
        app.add_flag(flag.option, options.*flag.flag, flag.help);
    }
    const size_t command = find_command(words);
    const auto split = words.begin() + static_cast<ptrdiff_t>(std::min(command, words.size()));
    if (auto end = parse_words(app, {words.begin(), split})) return tl::make_unexpected(*end);
    options.command.assign(split, words.end());
    if (!options.command.empty() && options.command.front() == "--") {
        options.command.erase(options.command.begin());
    }
    for (size_t i = 0; i < std::size(kSettings); ++i) {
        const char* const option = kSettings[i].option;
        if (app.count(option) == 0 || !(options.*kSettingTexts[i]).empty()) continue;
        return tl::make_unexpected(CliEnd{2, std::string(option) + ": the value is empty"});
    }
    if (auto end = settle(&options)) return tl::make_unexpected(*end);
    for (const Setting& setting : kSettings) {
        if (!std::string_view(setting.option).starts_with("--events-")) continue;
        if (app.count(setting.option) != 0 && (options.events.empty() || options.events == "off"))
            return tl::make_unexpected(CliEnd{2, setting.option + std::string(" needs --events")});
    }
    if (options.command.empty() || options.command.front().empty()) {
        return tl::make_unexpected(
            CliEnd{2, "no program to run (dwell run --help shows what there is)"});
    }
    return options;
}

tl::expected<FinishOptions, CliEnd> parse_finish(const std::vector<std::string>& words) {
    return parse_job_directory("dwell finish", "Writes the profile of merged records.", words);
}

tl::expected<FinishOptions, CliEnd> parse_recover(const std::vector<std::string>& words) {
    return parse_job_directory(
        "dwell recover", "Makes a profile from the records of a job that did not end well.", words);
}

tl::expected<ReportOptions, CliEnd> parse_report(const std::vector<std::string>& words) {
    ReportOptions options;
    CLI::App app("Shows a profile.", "dwell report");
    app.add_option("DIR", options.source,
                   "Directory of a profile, or a profile.json (default: newest dwell-*/ here)");
    app.add_option("--format", options.format, "text, json or csv; with --tally also tsv")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"text", "json", "csv", "tsv"}));
    app.add_option("--site", options.site,
                   "Only what this is: a procedure, loop, block or statement by name or FILE:LINE")
        ->type_name("SITE")
        ->check([](const std::string& site) {
            return site.empty() ? std::string("names no place") : std::string();
        });
    app.add_flag("--per-rank", options.per_rank, "Figures of each rank and thread too");
    app.add_flag("--left-out", options.left_out, "Names what was given no probes, and why");
    app.add_flag("--over-time", options.over_time, "With --format csv: the run over time");
    app.add_flag("--tally", options.tally, "The tables of AIMS's tally, as text or tsv");
    app.add_option("--width", options.width,
                   "Columns (default: the terminal's, else COLUMNS, else 100)")
        ->type_name("N")
        ->check(CLI::Range(kLeastWidth, kMostWidth));
    app.add_option("--color", options.color, "auto, always or never")
        ->type_name("WHEN")
        ->check(CLI::IsMember({"auto", "always", "never"}));
    app.add_flag("--ascii", options.ascii, "Plain ASCII, whatever the locale");
    app.add_flag("!--no-pager", options.pager, "Straight to the terminal");
    if (auto end = parse_words(app, words)) return tl::make_unexpected(*end);
    if ((!options.site.empty() || options.left_out) && options.format != "text") {
        return tl::make_unexpected(
            CliEnd{2, "--site and --left-out are for text; json and csv hold all sites"});
    }
    if (options.over_time && options.format != "csv") {
        return tl::make_unexpected(
            CliEnd{2, "--over-time is for --format csv; text and json show it anyway"});
    }
    const bool tabs = options.format == "tsv";
    if (options.tally ? !tabs && options.format != "text" : tabs) {
        return tl::make_unexpected(
            CliEnd{2, "--tally is for --format text or tsv, tsv for --tally"});
    }
    const bool of_the_report =
        !options.site.empty() || options.left_out || options.per_rank || app.count("--color") != 0;
    if (options.tally && of_the_report) {
        return tl::make_unexpected(
            CliEnd{2, "--tally has no --site, --left-out, --per-rank or --color"});
    }
    return options;
}

tl::expected<SitesOptions, CliEnd> parse_sites(const std::vector<std::string>& words) {
    SitesOptions options;
    CLI::App app(
        "Shows the procedures, loops and statements that dwell's compilers put into files.",
        "dwell sites");
    app.add_option("FILE", options.files, "Programs, libraries or object files")->required();
    app.add_option("--format", options.format, "text, json or csv")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"text", "json", "csv"}));
    app.add_flag("--relations", options.relations, "What lies directly inside what, as tables");
    app.add_flag("--left-out", options.left_out, "Only what has no probes, and why");
    app.add_flag("--ascii", options.ascii, "Plain ASCII, whatever the locale");
    if (auto end = parse_words(app, words)) return tl::make_unexpected(*end);
    if (options.relations && options.format == "json") {
        return tl::make_unexpected(
            CliEnd{2, "--relations are text or csv; json holds them as \"enclosing\""});
    }
    if (options.left_out && (options.relations || options.format != "text")) {
        return tl::make_unexpected(CliEnd{2, "--left-out is for the text of the whole table"});
    }
    return options;
}

tl::expected<EventsOptions, CliEnd> parse_events(const std::vector<std::string>& words) {
    EventsOptions options;
    std::vector<std::string> given;
    CLI::App app("Switches the events of a running job on or off.", "dwell events");
    app.add_option("WORDS", given,
                   "[JOB] on|off|dump; JOB: as in dwell where; dump writes what dwell run "
                   "--events=last:N holds")
        ->expected(0, 2);
    if (auto end = parse_words(app, words)) return tl::make_unexpected(*end);
    if (given.empty())
        return tl::make_unexpected(CliEnd{2, "dwell events should have " + list_of("on|off|dump")});
    options.order = given.back();
    if (given.size() == 2) options.job = given.front();
    if (number_of_word("on|off|dump", options.order.c_str()) < 0)
        return tl::make_unexpected(
            CliEnd{2, "'" + options.order + "' should be " + list_of("on|off|dump")});
    return options;
}

uint32_t event_kinds_of(const std::string& words) {
    uint32_t kinds = 0;
    for (size_t at = 0; at <= words.size();) {
        const size_t end = std::min(words.find(',', at), words.size());
        const std::string word = words.substr(at, end - at);
        const auto* const known =
            std::find_if(std::begin(kEventKindWords), std::end(kEventKindWords),
                         [&](const EventKindWord& one) { return word == one.word; });
        if (known == std::end(kEventKindWords)) return 0;
        kinds |= known->kinds;
        at = end + 1;
    }
    return kinds;
}

namespace {

std::string kinds_form() {
    std::string words;
    for (const EventKindWord& known : kEventKindWords)
        if (known.kinds != 0) words += (words.empty() ? "" : ", ") + std::string(known.word);
    return "some of " + words + "; joined by commas";
}

void add_choice_of_events(CLI::App* app, ExportOptions* options) {
    app->add_option("--window", options->window,
                    "Only these seconds of the run: FROM-TO (10-12.5, 10- or -10)")
        ->type_name("FROM-TO")
        ->check([](const std::string& text) {
            EventWindow window;
            const bool good = read_event_window(text.c_str(), &window) && window.is_timed &&
                              window.inside.place == WindowPlace::kNone;
            return good ? std::string()
                        : "'" + text + "' should be FROM-TO in seconds (10-12.5, 10- or -10)";
        });
    app->add_option("--ranks", options->ranks, "Only these ranks (0-3,8)")
        ->type_name("LIST")
        ->check([](const std::string& text) {
            return is_rank_list(text.c_str()) ? std::string()
                                              : "'" + text + "' should be " + kRankForms;
        });
    app->add_option("--kinds", options->kinds, "Only events of these kinds: " + kinds_form())
        ->type_name("LIST")
        ->check([](const std::string& text) {
            return event_kinds_of(text) != 0 ? std::string()
                                             : "'" + text + "' should be " + kinds_form();
        });
    app->add_flag("-q,--quiet", options->quiet, "Says only what the export lacks");
}

}  // namespace

tl::expected<ExportOptions, CliEnd> parse_export(const std::vector<std::string>& words) {
    ExportOptions options;
    CLI::App app("Writes event logs in the format of another tool.", "dwell export");
    app.add_option("LOG", options.source, "Event log, or directory of a profile")->required();
    const std::string formats = "perfetto|chrome|otf2|epilog|picl|sddf|sddf-binary|midi";
    app.add_option("--to", options.format, list_of(formats.c_str()))
        ->type_name("FORMAT")
        ->required()
        ->check(CLI::IsMember(CLI::detail::split(formats, '|')));
    app.add_option("-o,--out", options.out,
                   "File to write, with otf2 a directory (default: a name made from the log's)")
        ->check(not_empty)
        ->type_name("FILE");
    CLI::Option* const byte_order =
        app.add_option("--byte-order", options.byte_order,
                       "With --to epilog: " + list_of("little|big") + " (default: the machine's)");
    byte_order->type_name("ORDER")->check(CLI::IsMember({"little", "big"}));
    CLI::Option* const mapping =
        app.add_option("--mapping", options.mapping,
                       "With --to midi, a note: at each send (senders, default), at sends left and "
                       "receives right (speakers), from send to receive (transit)");
    mapping->type_name("NAME")->check(CLI::IsMember({"senders", "speakers", "transit"}));
    CLI::Option* const limit =
        app.add_option("--limit", options.limit_mib,
                       "With --to chrome: largest size of the file in MiB (default: 1024)");
    limit->type_name("MIB")->check(CLI::Range(uint64_t{1}, uint64_t{1} << 20));
    add_choice_of_events(&app, &options);
    if (auto end = parse_words(app, words)) return tl::make_unexpected(*end);
    if (mapping->count() != 0 && options.format != "midi")
        return tl::make_unexpected(CliEnd{2, "--mapping is for --to midi"});
    if (byte_order->count() != 0 && options.format != "epilog")
        return tl::make_unexpected(CliEnd{2, "--byte-order is for --to epilog"});
    if (limit->count() != 0 && options.format != "chrome")
        return tl::make_unexpected(CliEnd{2, "--limit is for --to chrome"});
    return options;
}

tl::expected<ImportOptions, CliEnd> parse_import(const std::vector<std::string>& words) {
    ImportOptions options;
    CLI::App app("Makes an event log of a trace.", "dwell import");
    app.add_option("FILE", options.source, "Trace in PICL's format, or of dwell export --to sddf")
        ->required();
    app.add_option("-o,--out", options.out,
                   "Log to write (default: the trace's name with .events, here)")
        ->check(not_empty)
        ->type_name("LOG");
    if (auto end = parse_words(app, words)) return tl::make_unexpected(*end);
    return options;
}

tl::expected<WhereOptions, CliEnd> parse_where(const std::vector<std::string>& words) {
    WhereOptions options;
    CLI::App app("Shows where every rank of a job is.", "dwell where");
    app.add_option("JOB", options.job, "Id or directory of a job (default: the only one)");
    app.add_flag("--json", options.json, "One JSON object instead of text");
    app.add_option("--width", options.width, "Columns (default: the terminal's, else 80)")
        ->type_name("N")
        ->check(CLI::Range(kLeastWidth, kMostWidth));
    app.add_flag("--ascii", options.ascii, "Plain ASCII, whatever the locale");
    if (auto end = parse_words(app, words)) return tl::make_unexpected(*end);
    return options;
}

tl::expected<TopOptions, CliEnd> parse_top(const std::vector<std::string>& words) {
    TopOptions options;
    CLI::App app("Shows a running job as it goes on.", "dwell top");
    app.add_option("JOB", options.job, "Id or directory of a job (default: the only one)");
    app.add_flag("--once", options.once, "Prints one table, and ends");
    app.add_flag("--json", options.json, "One line of JSON an interval");
    app.add_flag("--lines", options.lines, "The costliest lines instead of the hierarchy");
    app.add_flag("--rates", options.rates, "The last interval instead of the time since the start");
    app.add_flag("--per-rank", options.per_rank, "The times of each rank too");
    app.add_option("--rank", options.rank, "Only this rank")
        ->type_name("N")
        ->check(CLI::Range(0, (1 << kPeerRankBits) - 1));
    const std::vector<std::string> columns(std::begin(kTopColumnWords), std::end(kTopColumnWords));
    app.add_option("--sort", options.sort, list_of(CLI::detail::join(columns, "|")))
        ->type_name("COLUMN")
        ->check(CLI::IsMember(columns));
    app.add_option("--filter", options.filter, "Only rows with this in their name or FILE:LINE")
        ->type_name("TEXT");
    app.add_option("--interval", options.interval_s, "Seconds between two readings (1)")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.1, 86400.0));
    app.add_option("--depth", options.depth, "Levels of the hierarchy")
        ->type_name("N")
        ->check(CLI::Range(1, 1000));
    app.add_option("--alarm", options.alarms,
                   "Such as 'wait>30%': marks it, and --once ends with exit code 3")
        ->type_name("ALARM")
        ->allow_extra_args(false);  // a job may follow
    app.add_option("--width", options.width, "Columns (default: the terminal's, else 80)")
        ->type_name("N")
        ->check(CLI::Range(kLeastWidth, kMostWidth));
    app.add_flag("--ascii", options.ascii, "Plain ASCII, whatever the locale");
    if (auto end = parse_words(app, words)) return tl::make_unexpected(*end);
    if (options.json && options.lines) {
        return tl::make_unexpected(CliEnd{2, "--lines is for the table; json holds all nodes"});
    }
    return options;
}

tl::expected<bool, CliEnd> parse_info(const std::vector<std::string>& words) {
    CLI::App app("Says what works on this machine, and what does not.", "dwell info");
    if (auto end = parse_words(app, words)) return tl::make_unexpected(*end);
    return true;
}

}  // namespace dwell
