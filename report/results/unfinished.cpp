// Finds records that no `dwell run` reported; see unfinished.h.
#include "report/results/unfinished.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "report/console/output.h"
#include "report/results/crash_recovery.h"
#include "runtime/contract/record_layout.h"

namespace dwell {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kLongestPath = 1 << 16;

// The working directory of a record file's program at its start; empty when unknown.
std::string start_directory(const std::string& path, const FileHeader& header) {
    std::ifstream file(path, std::ios::binary);
    const auto place = static_cast<std::streamoff>(header.start_directory) * kCellBytes;
    TextRecord record;
    if (header.start_directory == 0 || !file.seekg(place) ||
        !file.read(reinterpret_cast<char*>(&record), sizeof record) ||
        record.bytes > kLongestPath) {
        return {};
    }
    std::string text(record.bytes, '\0');
    file.seekg(place + static_cast<std::streamoff>(offsetof(TextRecord, text)));
    return file.read(text.data(), record.bytes) ? text : std::string();
}

bool is_own_directory(const fs::path& path) {
    struct stat about {};
    return lstat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == geteuid();
}

// Hosts may share a record directory: this host knows nothing about another host's processes.
bool may_go_on(const std::string& path, const FileHeader& header) {
    char own_host[sizeof header.host] = {};
    gethostname(own_host, sizeof own_host - 1);
    return text_in(header.host) != own_host || owner_is_alive(path);
}

void name_run(const std::string& directory) {
    const std::vector<std::string> names = record_files(directory);
    std::optional<FileHeader> first;
    std::string first_path;
    bool nothing = true;
    for (const std::string& name : names) {
        const std::string path = directory + "/" + name;
        const std::optional<FileHeader> header = read_header(path);
        if (!header || header->version != kRecordLayoutVersion || may_go_on(path, *header)) return;
        nothing = nothing && (header->flags & kFileInInit) != 0;
        if (!first) {
            first = header;
            first_path = path;
        }
    }
    if (!first) return;
    if (nothing) {
        for (const std::string& name : names) unlink((directory + "/" + name).c_str());
        rmdir(directory.c_str());
        return;
    }
    std::error_code error;
    if (!fs::equivalent(start_directory(first_path, *first), ".", error)) return;
    const std::string program = text_in(first->program);
    const std::string run = run_name(program, text_in(first->job));
    if (access(("dwell-" + run + "/profile.json").c_str(), F_OK) == 0) return;
    say("records of an unfinished run of " + fs::path(program).filename().string() +
        " that was started here; to see what was counted type: dwell recover " +
        word_to_type(directory));
}

}  // namespace

void name_unfinished_runs(const std::vector<std::string>& words) {
    const char* named = getenv("DWELL_RECORD_DIR");
    const std::string base = named != nullptr && *named != '\0' ? named : "/dev/shm";
    const std::string prefix = "dwell-" + std::to_string(getuid()) + "-";
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(base, error)) {
        const fs::path& path = entry.path();
        if (!path.filename().string().starts_with(prefix) || !is_own_directory(path)) continue;
        std::error_code other;
        const auto is_path = [&](const std::string& word) {
            return fs::equivalent(path, word, other);
        };
        if (std::any_of(words.begin(), words.end(), is_path)) continue;
        const fs::path absolute = fs::absolute(path, other);
        name_run(other ? path.string() : absolute.lexically_normal().string());
    }
}

}  // namespace dwell
