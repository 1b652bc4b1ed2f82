// Implements `dwell report`: finds the profile, reads its profile.json, and calls the writer of the
// requested format.
#include "report/results/show.h"

#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "report/console/output.h"
#include "report/console/pager.h"
#include "report/results/crash_recovery.h"
#include "report/text/site_query.h"
#include "report/text/text_report.h"
#include "summarize/formats/read_json.h"
#include "summarize/formats/write_csv.h"
#include "summarize/formats/write_json.h"

namespace dwell {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProfileFile = "profile.json";
constexpr auto kNever = fs::file_time_type::min();
constexpr int kUsageError = 2;  // the argument is no profile, or not in it

// The newest dwell-*/profile.json in the working directory.
std::optional<fs::path> newest_profile() {
    std::optional<fs::path> newest;
    fs::file_time_type newest_time;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(".", error)) {
        if (entry.path().filename().string().compare(0, 6, "dwell-") != 0) continue;
        const fs::path profile = entry.path().filename() / kProfileFile;
        const fs::file_time_type time = fs::last_write_time(profile, error);
        if (error || (newest && time <= newest_time)) continue;
        newest = profile;
        newest_time = time;
    }
    return newest;
}

// The directory of the last profile among those that were written beside `directory` because it was
// taken; else empty.
std::string last_beside(const std::string& directory) {
    const std::string plain = (fs::path(directory) / "").parent_path().string();
    std::string last;
    std::error_code error;
    for (int number = 2;; ++number) {
        const std::string beside = plain + "." + std::to_string(number);
        if (!fs::exists(fs::path(beside) / kProfileFile, error)) return last;
        last = beside;
    }
}

// The profile that `dwell recover` made from the records of `source`, at the default place; not if
// the records are `newer`.
std::optional<fs::path> recovered_profile(const std::string& source, fs::file_time_type newer) {
    const std::string name = profile_of_shelter(source);
    if (name.empty()) return std::nullopt;
    std::error_code error;
    for (const fs::path& around :
         {(fs::path(source) / "").parent_path().parent_path(), fs::path()}) {
        const fs::path profile = around / name / kProfileFile;
        const fs::file_time_type made = fs::last_write_time(profile, error);
        if (!error && made >= newer) return profile;
    }
    return std::nullopt;
}

tl::expected<fs::path, std::string> find_profile(const std::string& source) {
    if (source.empty()) {
        if (const auto newest = newest_profile()) return *newest;
        return tl::make_unexpected(
            std::string("no dwell-*/profile.json here; name the directory of a profile"));
    }
    std::error_code error;
    if (!fs::is_directory(source, error)) return fs::path(source);
    const fs::path profile = fs::path(source) / kProfileFile;
    const bool found = fs::exists(profile, error);
    if (error) return tl::make_unexpected(profile.string() + ": " + error.message());
    const fs::file_time_type made = found ? fs::last_write_time(profile, error) : kNever;
    fs::directory_iterator entries(source, error);
    if (error && !found) return tl::make_unexpected(source + ": " + error.message());
    for (const fs::directory_entry& entry : entries) {
        const std::string name = entry.path().filename().string();
        if (name != "merged" && name.compare(0, 5, "rank.") != 0) continue;
        const std::string remedy = "; type: dwell recover " + source;
        if (!found) {
            if (auto made_later = recovered_profile(source, fs::last_write_time(entry, error))) {
                return *made_later;
            }
            return tl::make_unexpected(source + " holds records, no profile" + remedy);
        }
        if (fs::last_write_time(entry, error) > made) {
            say(source + " also holds records of a later run, which are not in what is shown" +
                remedy);
            break;
        }
    }
    if (!found) return tl::make_unexpected(source + " holds no " + kProfileFile);
    const std::string later = last_beside(source);
    if (!later.empty()) say(later + " holds the profile of a later run");
    return profile;
}

// Width of the terminal, else the value of COLUMNS.
int output_width() {
    if (const int width = terminal_width(STDOUT_FILENO); width != 0) return width;
    const char* const columns = getenv("COLUMNS");
    const long wanted = columns != nullptr ? strtol(columns, nullptr, 10) : 0;
    return wanted > 0 ? static_cast<int>(std::clamp<long>(wanted, kLeastWidth, kMostWidth))
                      : kDefaultWidth;
}

bool wants_color(const std::string& when) {
    if (when != "auto") return when == "always";
    const char* no_color = getenv("NO_COLOR");
    const char* terminal = getenv("TERM");
    return (no_color == nullptr || *no_color == '\0') && isatty(STDOUT_FILENO) != 0 &&
           terminal != nullptr && strcmp(terminal, "dumb") != 0;
}

// What `dwell run --tally` wrote beside the profile on each host.
std::string occupancy_beside(const fs::path& profile) {
    std::set<std::string> files;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(profile.parent_path(), error)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(kOccupancyPrefix) && name.ends_with(kOccupancySuffix)) {
            files.insert(entry.path().string());
        }
    }
    std::string text;
    for (const std::string& file : files) {
        const auto bytes = read_whole_file(file);
        if (bytes) text += (text.empty() ? "" : "\n") + *bytes;
    }
    return text;
}

tl::expected<std::string, std::string> render(const fs::path& path, const Profile& profile,
                                              const ReportOptions& options) {
    if (options.format == "json") return write_profile_json(profile);
    if (options.format == "csv") {
        if (options.over_time) return write_axis_csv(profile, options.per_rank);
        if (options.per_rank) return write_csv_per_rank(profile);
        return write_csv(profile);
    }
    // Names in a file for scripts do not depend on the locale.
    const bool tabs = options.format == "tsv";
    TextOptions text;
    text.width = options.width != 0 ? options.width : output_width();
    text.color = wants_color(options.color);
    text.utf8 = !options.ascii && (tabs || locale_is_utf8());
    text.per_rank = options.per_rank;
    text.left_out = options.left_out;
    if (options.tally) return write_tally(profile, occupancy_beside(path), tabs, text);
    if (!options.site.empty()) return write_site_report(profile, options.site, text);
    return write_text_report(profile, text);
}

tl::expected<std::string, std::string> load_and_render(const ReportOptions& options) {
    const auto path = find_profile(options.source);
    if (!path) return tl::make_unexpected(path.error());
    const auto bytes = read_whole_file(path->string());
    if (!bytes) return tl::make_unexpected(bytes.error());
    const auto profile = read_profile_json(*bytes);
    if (!profile) return tl::make_unexpected(path->string() + ": " + profile.error());
    auto text = render(*path, *profile, options);
    if (!text) return tl::make_unexpected(path->string() + ": " + text.error());
    if (options.source.empty()) {
        say("showing " + path->parent_path().string() + ", the newest profile here");
    }
    return text;
}

}  // namespace

int terminal_width(int file) {
    winsize size{};
    if (ioctl(file, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 0;
    return std::clamp<int>(size.ws_col, kLeastWidth, kMostWidth);
}

bool locale_is_utf8() {
    if (setlocale(LC_CTYPE, "") == nullptr) return false;
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

namespace {

int show_text(const tl::expected<std::string, std::string>& text, const ReportOptions& options) {
    if (!text) {
        say(text.error());
        return kUsageError;
    }
    if (options.pager && show_in_pager(*text)) return 0;
    const Outcome written = write_all(STDOUT_FILENO, *text, "standard output");
    if (!written) say(written.error());
    return written ? 0 : 1;
}

}  // namespace

int show_profile(const Profile& profile, const ReportOptions& options) {
    return show_text(render(options.source, profile, options), options);
}

int report_command(const ReportOptions& options) {
    return show_text(load_and_render(options), options);
}

}  // namespace dwell
