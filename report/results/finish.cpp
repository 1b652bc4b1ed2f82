// Writes the profile at the end of a run, in a process of its own. No step may lose records: they
// are removed only when every file of the profile is complete, and their place is printed
// otherwise.
#include "report/results/finish.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "report/results/crash_recovery.h"
#include "report/results/show.h"
#include "report/text/text_report.h"
#include "runtime/contract/job_name.h"
#include "summarize/formats/read_json.h"
#include "summarize/formats/write_json.h"
#include "summarize/formats/write_picl.h"
#include "summarize/profile/blocked_estimate.h"
#include "summarize/profile/note_writer.h"

namespace dwell {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMergedFile = "merged";
constexpr const char* kProfileFile = "/profile.json";
constexpr int kMostBeside = 10'000;

std::string job_of(const Merged& merged) { return text_in(merged.job); }

// The name of this run for directories, after the program of its first rank.
std::string name_of_run(const Merged& merged) {
    MergedRank first{};
    RankReader(merged.ranks).next(&first);
    return run_name(first.program, job_of(merged));
}

// If there is a profile already, `taken`, unless null, is set and nothing is written.
Outcome write_three_files(const Profile& profile, const std::string& directory, bool* taken) {
    Outcome outcome = make_directories(directory);
    if (!outcome) return outcome;
    outcome = write_file(directory + kProfileFile, write_profile_json(profile), 0644, taken);
    if (taken != nullptr && *taken) return outcome;
    TextOptions plain;
    plain.utf8 = locale_is_utf8();
    const std::pair<const char*, std::string> files[] = {
        {"/report.txt", write_text_report(profile, plain)},
        {"/stats.picl", write_picl(profile)},
    };
    int failed = outcome ? 0 : 1;
    for (const auto& [name, text] : files) {
        Outcome written = write_file(directory + name, text);
        if (!written && ++failed == 1) outcome = std::move(written);
    }
    if (failed > 1) outcome.error() += ", nor " + std::to_string(failed - 1) + " more";
    return outcome;
}

// A read-only mapping of a whole file.
class MappedFile {
  public:
    explicit MappedFile(const std::string& path) {
        const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (file < 0) {
            error_ = errno;
            return;
        }
        struct stat about {};
        if (fstat(file, &about) == 0 && about.st_size > 0) {
            void* bytes = mmap(nullptr, size_t(about.st_size), PROT_READ, MAP_PRIVATE, file, 0);
            if (bytes != MAP_FAILED) {
                bytes_ = bytes;
                size_ = size_t(about.st_size);
            }
        }
        close(file);
    }
    ~MappedFile() {
        if (bytes_ != nullptr) munmap(bytes_, size_);
    }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    const void* bytes() const { return bytes_; }
    size_t size() const { return size_; }
    int error() const { return error_; }  // nonzero: errno of opening

  private:
    int error_ = 0;
    void* bytes_ = nullptr;
    size_t size_ = 0;
};

bool read_merged(const std::string& path, Merged* merged) {
    const MappedFile file(path);
    return file.bytes() != nullptr && deserialize(file.bytes(), file.size(), merged);
}

// The highest rank in a file determines the memory of a profile.
bool has_possible_rank(const MappedFile& file) {
    if (file.bytes() == nullptr || file.size() < sizeof(FileHeader)) return false;
    const auto* header = static_cast<const FileHeader*>(file.bytes());
    return header->rank >= 0 && header->rank < header->world_size &&
           header->world_size <= 1 << kPeerRankBits;
}

// The number of bytes missing at the end of the file.
uint64_t cut_off(const MappedFile& file) {
    const auto* header = static_cast<const FileHeader*>(file.bytes());
    const uint64_t used = uint64_t{header->cells_used} * kCellBytes;
    return used > file.size() ? used - file.size() : 0;
}

// False when the file belongs to another job than `merged`: two broken runs may have been kept in
// one directory.
bool same_job(const MappedFile& file, const Merged& merged) {
    if (merged.ranks.empty() || file.size() < sizeof(FileHeader)) return true;
    const auto* header = static_cast<const FileHeader*>(file.bytes());
    return strncmp(header->job, merged.job, sizeof merged.job) == 0;
}

void add_newest_of(const std::string& directory, NewestTimes* times) {
    for (const std::string& name : record_files(directory)) {
        const MappedFile file(directory + "/" + name);
        if (file.bytes() != nullptr) add_newest(file.bytes(), file.size(), times);
    }
}

// 0: the process still runs.
int64_t end_of(const std::string& path, const MappedFile& file, const NewestTimes& times) {
    const auto* header = static_cast<const FileHeader*>(file.bytes());
    if (owner_is_alive(path) && process_maps(header->pid, path)) return 0;
    return newest_time(times, *header);
}

// Adds the record files of `directory`, except for ranks in `taken`. False when one is damaged.
bool add_files(const std::string& directory, const NewestTimes& times, std::set<std::string>* taken,
               Merged* merged) {
    bool good = true;
    for (const std::string& name : record_files(directory)) {
        if (!taken->insert(name.substr(0, name.find('.', name.find('.') + 1))).second) continue;
        const MappedFile file(directory + "/" + name);
        if (file.error() != 0) {
            say(directory + "/" + name + ": " + strerror(file.error()) + "; left out");
            good = false;
            continue;
        }
        if (!same_job(file, *merged)) {
            say(directory + "/" + name + " belongs to another job; left out");
            good = false;
            continue;
        }
        if (has_possible_rank(file) &&
            add_record_file(merged, file.bytes(), file.size(),
                            end_of(directory + "/" + name, file, times))) {
            const uint64_t missing = cut_off(file);
            if (missing == 0) continue;
            say(directory + "/" + name + " is cut off: its last " + std::to_string(missing) +
                " bytes are missing, and what they told");
            good = false;
            continue;
        }
        say(directory + "/" + name + " is no record file that can be read; left out");
        good = false;
    }
    if (holds_earlier_records(directory)) {
        say(directory + " also holds what was counted before processes went on as other programs " +
            "(exec); left out");
    }
    return good;
}

// Where the job was recorded whose records are in `directory`; empty if they cannot be read.
std::string directory_of_records(const std::string& directory) {
    for (const std::string& name : record_files(directory)) {
        const std::optional<FileHeader> header = read_header(directory + "/" + name);
        char path[4096];
        if (!header || header->version != kRecordLayoutVersion) continue;
        const std::string job = text_in(header->job);
        return record_directory(path, sizeof path, job.c_str()) ? path : "";
    }
    return {};
}

// Adds all records of the job, parts of which are in `directory`.
bool gather(const std::string& directory, Merged* merged) {
    std::set<std::string> taken;
    bool good = true;
    if (access((directory + "/" + kMergedFile).c_str(), F_OK) == 0) {
        if (read_merged(directory + "/" + kMergedFile, merged)) return true;
        say(directory + "/" + kMergedFile + " is damaged; left out");
        good = false;
    }
    // Parts of the job may still be where they were written.
    std::string rest = directory_of_records(directory);
    std::error_code error;
    if (!rest.empty() && fs::equivalent(rest, directory, error)) rest.clear();
    NewestTimes times;
    add_newest_of(directory, &times);
    if (!rest.empty()) add_newest_of(rest, &times);
    good = add_files(directory, times, &taken, merged) && good;
    // A rank that moved its records after another rank had printed could not report their place.
    const std::string earlier = place_of_earlier_records(directory, merged->job);
    if (!earlier.empty()) {
        say("what was counted before processes went on as other programs (exec) is in " + earlier +
            "; to see it type: dwell recover " + word_to_type(earlier));
    }
    if (!merged->ranks.empty() && !rest.empty()) {
        good = add_files(rest, times, &taken, merged) && good;
    }
    if (merged->ranks.size() < merged->world_size) merged->flags |= kMergedPartial;
    return good;
}

// Reports the ranks whose records are damaged. Returns true when none are.
bool all_are_whole(const Merged& merged) {
    std::vector<uint32_t> damaged;
    RankReader reader(merged.ranks);
    for (MergedRank rank{}; reader.next(&rank);) {
        if ((rank.flags & kFileDamaged) != 0) damaged.push_back(rank.rank);
    }
    if (damaged.empty()) return true;
    say("the records of " + rank_list(damaged) +
        " are damaged: figures lack what cannot be read there");
    return false;
}

// Moves the merged records out of /dev/shm after a failure; returns their new place.
std::string shelter_merged(const Merged& merged, const std::string& directory) {
    const std::string shelter = choose_record_shelter("", name_of_run(merged), job_of(merged));
    const std::string path = directory + "/" + kMergedFile;
    if (shelter.empty() || !move_file(path, shelter + "/" + kMergedFile)) return directory;
    rmdir(directory.c_str());
    return shelter;
}

// The default place for the profile of recovered records: where the run would have written it,
// which is where records of a run with -o are kept. Empty: the default of every run.
std::string recovered_profile_directory(const std::string& directory, const Merged& merged) {
    if (!profile_of_shelter(directory).empty()) return {};
    char records[4096];
    std::error_code error;
    const bool known = record_directory(records, sizeof records, merged.job);
    return known && fs::equivalent(records, directory, error) ? "" : directory;
}

// Whether `profile` and `merged` come from the same run: ranks with equal start times, or other
// ranks of the job.
bool is_of_run(const Profile& profile, const Merged& merged) {
    if (profile.job != job_of(merged)) return false;
    std::map<uint32_t, int64_t> starts;
    for (const ProfileRank& rank : profile.ranks) starts[rank.rank] = rank.start_unix_ns;
    bool other_ranks = true;
    RankReader reader(merged.ranks);
    for (MergedRank rank{}; reader.next(&rank);) {
        const auto known = starts.find(rank.rank);
        if (known == starts.end()) continue;
        if (known->second == rank.start_unix_ns) return true;
        other_ranks = false;
    }
    return other_ranks;
}

enum class Holds { kNoProfile, kThisRun, kAnotherRun };

// An unreadable profile does not belong to this run.
Holds what_holds(const std::string& directory, const Merged& merged) {
    const std::string path = directory + kProfileFile;
    if (access(path.c_str(), F_OK) != 0) return Holds::kNoProfile;
    const auto text = read_whole_file(path);
    // This search rejects most profiles of other runs without parsing.
    if (!text || text->find('"' + job_of(merged) + '"') == std::string::npos) {
        return Holds::kAnotherRun;
    }
    const auto profile = read_profile_json(*text);
    return profile && is_of_run(*profile, merged) ? Holds::kThisRun : Holds::kAnotherRun;
}

// Writes the profile into `wanted`. If that contains the profile of another run, or another process
// may be about to write there, writes into the first free one of `wanted`.2, .3 and so on. Sets
// `directory`.
Outcome write_beside_others(const Profile& profile, const Merged& merged, const std::string& wanted,
                            std::string* directory) {
    const fs::path plain = (fs::path(wanted) / "").parent_path();
    *directory = wanted;
    for (int number = 2; number < kMostBeside; ++number) {
        const Holds held = what_holds(*directory, merged);
        if (held != Holds::kAnotherRun) {
            bool taken = false;
            const Outcome outcome = write_three_files(profile, *directory,
                                                      held == Holds::kNoProfile ? &taken : nullptr);
            if (!taken) return outcome;
        }
        *directory = plain.string() + "." + std::to_string(number);
    }
    return tl::make_unexpected(wanted +
                               " holds the profile of another run, and so do all beside it");
}

// The shorter of the absolute and the relative form of a directory.
std::string near_path(const std::string& directory) {
    std::error_code error;
    const std::string near = fs::proximate(directory, error).string();
    return !error && !near.empty() && near.size() < directory.size() ? near : directory;
}

std::string text_of_end(const Profile& profile, const EndOptions& options,
                        const std::string& directory) {
    TextOptions text;
    text.utf8 = locale_is_utf8();
    text.color = isatty(STDERR_FILENO) != 0;
    std::string whole;
    if (options.report) {
        if (options.width != 0) text.width = options.width;
        whole = write_text_report(profile, text) + "\n";
    }
    text.width = options.width != 0 ? options.width : kVerdictWidth;
    const std::string place = directory.empty() ? "" : word_to_type(near_path(directory));
    return whole + write_verdict(profile, text, place);
}

}  // namespace

std::string expected_profile_directory(const std::string& out, const std::string& program,
                                       const std::string& job) {
    const std::string wanted = out.empty() ? "dwell-" + run_name(program, job) : out;
    const std::string plain = (fs::path(wanted) / "").parent_path().string();
    std::string place = plain;
    for (int number = 2; number < kMostBeside; ++number) {
        const auto profile = read_whole_file(place + kProfileFile);
        if (!profile || profile->find('"' + job + '"') != std::string::npos) break;
        place = plain + "." + std::to_string(number);
    }
    return place;
}

Outcome write_outputs(Merged& merged, const EndOptions& options, const JobTexts& texts) {
    const std::string wanted = options.out.empty() ? "dwell-" + name_of_run(merged) : options.out;
    estimate_blocked(&merged);
    Profile profile = build_profile(merged);
    profile.ending = texts.ending;
    profile.watchdog = texts.watchdog;
    profile.last_events = texts.last_events;
    std::string directory;
    Outcome written = write_beside_others(profile, merged, wanted, &directory);
    if (written && directory != wanted) {
        say(wanted + " holds the profile of another run, which stays: this one goes to " +
            directory);
    }
    if (!options.quiet) {
        const Outcome shown = write_all(
            STDERR_FILENO, text_of_end(profile, options, written ? directory : ""), "verdict");
        if (!shown && written) written = shown;
    }
    return written;
}

int finish_command(const FinishOptions& options) {
    Merged merged;
    const std::string path = options.directory + "/" + kMergedFile;
    if (!read_merged(path, &merged)) {
        say(path + " cannot be read; no profile was written");
        return 1;
    }
    const Outcome written =
        write_outputs(merged, options, {"", watchdog_text_in(options.directory)});
    if (written) {
        unlink(path.c_str());
        remove_watchdog_texts(options.directory);
        rmdir(options.directory.c_str());
        return 0;
    }
    const std::string kept = shelter_merged(merged, options.directory);
    say(written.error() + "; the records are kept, to write them elsewhere type: dwell recover " +
        word_to_type(kept) + " -o DIR");
    return 1;
}

int recover_command(const FinishOptions& options, EndingTeller tell_ending,
                    EventsKeeper keep_events) {
    remove_interrupted_copies(options.directory);
    Merged merged;
    const bool gathered = gather(options.directory, &merged);
    const bool complete = all_are_whole(merged) && gathered;
    if (merged.ranks.empty()) {
        std::error_code error;
        const fs::directory_iterator entries(options.directory, error);
        say(options.directory +
            (error ? ": " + error.message() : " holds no records that can be read"));
        return 1;
    }
    EndOptions end = options;
    if (end.out.empty()) end.out = recovered_profile_directory(options.directory, merged);
    if (end.width == 0) end.width = terminal_width(STDERR_FILENO);
    const KeptEvents events = keep_events(options.directory, end.out);
    const Outcome written = write_outputs(
        merged, end,
        {tell_ending(options.directory, merged), watchdog_text_in(options.directory), events.last});
    if (!written) say(written.error() + "; the records stay in " + options.directory);
    for (const std::string& line : events.lines) say(line);
    return written && complete ? 0 : 1;
}

}  // namespace dwell
