// Recognizes the format, reads the trace, and says what the log lacks; see import.h.
#include "report/import/import.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>

#include "report/console/output.h"
#include "report/import/importers.h"
#include "summarize/events/event_log.h"

namespace dwell {
namespace {

namespace fs = std::filesystem;

// Empty where the file cannot be read as a file.
tl::expected<std::string, std::string> first_bytes(const std::string& path) {
    struct stat about;
    if (stat(path.c_str(), &about) != 0) return tl::make_unexpected(path + ": " + strerror(errno));
    if (!S_ISREG(about.st_mode)) return tl::make_unexpected(path + ": this is no file");
    std::FILE* const file = fopen(path.c_str(), "re");
    if (file == nullptr) return tl::make_unexpected(path + ": " + strerror(errno));
    char bytes[4];
    const size_t count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return std::string(bytes, count);
}

}  // namespace

int import_command(const ImportOptions& options) {
    const auto begin = first_bytes(options.source);
    if (!begin) {
        say(begin.error());
        return 1;
    }
    const std::string out = options.out.empty()
                                ? fs::path(options.source).stem().string() + kEventLogSuffix
                                : options.out;
    std::error_code none;
    if (!job_of_log(options.source).empty()) {
        say(options.source + ": this is a log of dwell already");
        return 1;
    }
    if (fs::equivalent(options.source, out, none)) {
        say(out + ": this is the trace itself");
        return 1;
    }
    if (const std::string job = job_of_log(out); !job.empty() && !ImportedLog::is_job(job)) {
        say(out + ": this is the log of a job; name another one with -o");
        return 1;
    }
    auto log = ImportedLog::create(out);
    if (!log) {
        say(log.error());
        return 1;
    }
    ImportJob job{.source = options.source, .log = &*log};
    Outcome read = *begin == "SDDF" ? import_sddf(&job) : import_picl(&job);
    if (read) read = log->close();
    if (!read) {
        say(read.error());
        return 1;
    }
    for (const std::string& line : job.left_out) say(line);
    say("wrote " + out);
    return 0;
}

}  // namespace dwell
