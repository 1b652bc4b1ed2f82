// Checked writing. No failed write goes unnoticed, and none destroys the file that existed before.
#include "report/console/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "runtime/contract/visible_text.h"

namespace dwell {
namespace {

std::string failure(const std::string& name, int error) {
    return name + " not written: " + strerror(error);
}

// write(2), or the injected failure.
ssize_t checked_write(int file, const char* bytes, size_t size) {
    static long left = [] {
        const char* text = getenv("DWELL_TEST_FAIL_WRITE");
        return text == nullptr ? 0L : strtol(text, nullptr, 10);
    }();
    if (left > 0 && --left == 0) {
        errno = ENOSPC;
        return -1;
    }
    return write(file, bytes, size);
}

// A new file beside `path`, with a name that no other process uses.
struct TemporaryFile {
    std::string name;
    int file;
};

tl::expected<TemporaryFile, std::string> open_temporary(const std::string& path, unsigned mode) {
    std::string name = path + ".XXXXXX";
    const int file = mkostemp(name.data(), O_CLOEXEC);
    if (file < 0) return tl::make_unexpected(failure(path, errno));
    const mode_t mask = umask(0);
    umask(mask);
    if (fchmod(file, mode & ~mask) != 0) {
        // A file system without modes keeps its own; only the bytes matter.
    }
    return TemporaryFile{name, file};
}

// Closes `temporary`, then renames or removes it. Failures as for write_file().
Outcome finish_temporary(const TemporaryFile& temporary, const std::string& path, Outcome so_far,
                         bool* taken = nullptr) {
    if (close(temporary.file) != 0 && so_far) {
        so_far = tl::make_unexpected(failure(path, errno));
    }
    if (so_far && taken != nullptr) {
        const bool linked = link(temporary.name.c_str(), path.c_str()) == 0;
        *taken = !linked && errno == EEXIST;
        if (linked || *taken) {
            unlink(temporary.name.c_str());
            return so_far;
        }
        // The file system has no links.
    }
    if (so_far && rename(temporary.name.c_str(), path.c_str()) != 0) {
        so_far = tl::make_unexpected(failure(path, errno));
    }
    if (!so_far) unlink(temporary.name.c_str());
    return so_far;
}

Outcome copy_bytes(int from, int to, const std::string& from_name, const std::string& to_name) {
    std::string buffer(1 << 16, '\0');
    for (;;) {
        const ssize_t got = read(from, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return tl::make_unexpected(from_name + " not read: " + strerror(errno));
        if (got == 0) return {};
        Outcome written = write_all(to, std::string_view(buffer.data(), size_t(got)), to_name);
        if (!written) return written;
    }
}

Outcome copy_to(const std::string& from, const std::string& to,
                const std::function<Outcome(int)>& change, bool* taken) {
    const int source = open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (source < 0) return tl::make_unexpected(from + " not read: " + strerror(errno));
    const auto temporary = open_temporary(to, 0600);
    if (!temporary) {
        close(source);
        return tl::make_unexpected(temporary.error());
    }
    Outcome copied = copy_bytes(source, temporary->file, from, to);
    close(source);
    if (copied) copied = change(temporary->file);
    return finish_temporary(*temporary, to, std::move(copied), taken);
}

}  // namespace

Outcome write_all(int file, std::string_view bytes, const std::string& name) {
    while (!bytes.empty()) {
        const ssize_t done = checked_write(file, bytes.data(), bytes.size());
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return tl::make_unexpected(failure(name, done == 0 ? ENOSPC : errno));
        bytes.remove_prefix(size_t(done));
    }
    return {};
}

Outcome write_file(const std::string& path, std::string_view bytes, unsigned mode, bool* taken) {
    const auto temporary = open_temporary(path, mode);
    if (!temporary) return tl::make_unexpected(temporary.error());
    return finish_temporary(*temporary, path, write_all(temporary->file, bytes, path), taken);
}

Outcome copy_file(const std::string& from, const std::string& to,
                  const std::function<Outcome(int)>& change) {
    bool taken = false;
    return copy_to(from, to, change, &taken);
}

Outcome move_file(const std::string& from, const std::string& to) {
    Outcome copied = copy_to(
        from, to, [](int) { return Outcome{}; }, nullptr);
    if (copied) unlink(from.c_str());
    return copied;
}

void remove_interrupted(const std::string& path) {
    // No lock tells of a writer: a network file system may let a process wait for one for ever.
    constexpr time_t kLongestPause_s = 60;
    struct stat about {};
    const bool old = lstat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
                     about.st_uid == geteuid() && about.st_mtime + kLongestPause_s < time(nullptr);
    if (old) unlink(path.c_str());
}

Outcome make_directories(const std::string& path) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) return tl::make_unexpected(path + " not made: " + error.message());
    if (!std::filesystem::is_directory(path, error)) {
        return tl::make_unexpected(path + " not made: it is there and no directory");
    }
    return {};
}

tl::expected<std::string, std::string> read_whole_file(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return tl::make_unexpected(path + ": " + strerror(errno));
    std::string bytes;
    struct stat about {};
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode))
        bytes.reserve(size_t(about.st_size) + 1);
    char buffer[1 << 16];
    for (;;) {
        const ssize_t got = read(file, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            const int error = errno;
            close(file);
            return tl::make_unexpected(path + ": " + strerror(error));
        }
        if (got == 0) break;
        bytes.append(buffer, size_t(got));
    }
    close(file);
    return bytes;
}

std::string visible(const std::string& text) {
    std::string shown((text.size() + 1) * kVisibleBytes + 1, '\0');
    copy_visible(shown.data(), shown.size(), text.c_str());
    shown.resize(strlen(shown.c_str()));
    return shown;
}

void say(const std::string& text) {
    const std::string line = "dwell: " + visible(text) + "\n";
    if (write(STDERR_FILENO, line.data(), line.size()) < 0) {
        // Without stderr the message is lost.
    }
}

}  // namespace dwell
