// Reads /proc; see kernel_view.h. Every file may vanish meanwhile, or be forbidden.
#include "report/live/kernel_view.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace dwell {
namespace {

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string text;
    std::getline(file, text);
    return text;
}

struct KnownCall {
    long number;
    const char* name;
    bool on_file;  // its first argument is a descriptor
};
constexpr KnownCall kWaitingCalls[] = {
    {SYS_read, "read", true},
    {SYS_write, "write", true},
    {SYS_readv, "read", true},
    {SYS_writev, "write", true},
    {SYS_pread64, "read", true},
    {SYS_pwrite64, "write", true},
    {SYS_openat, "open", false},
    {SYS_flock, "flock", true},
    {SYS_fcntl, "fcntl", true},
    {SYS_fsync, "fsync", true},
    {SYS_fdatasync, "fsync", true},
    {SYS_accept, "accept", true},
    {SYS_connect, "connect", true},
    {SYS_recvfrom, "receive", true},
    {SYS_recvmsg, "receive", true},
    {SYS_sendto, "send", true},
    {SYS_wait4, "wait for a child", false},
    {SYS_waitid, "wait for a child", false},
    {SYS_clock_nanosleep, "sleep", false},
    {SYS_nanosleep, "sleep", false},
    {SYS_futex, "wait for another thread", false},
};

}  // namespace

char thread_state(int32_t pid, int32_t tid) {
    const std::string text = first_line(fmt::format("/proc/{}/task/{}/stat", pid, tid));
    const size_t name_end = text.rfind(')');  // the name may contain any character
    if (name_end == std::string::npos || name_end + 2 >= text.size()) return '\0';
    const char state = text[name_end + 2];
    return state == 'Z' || state == 'X' ? '\0' : state;
}

bool is_visible(std::string_view host, uint64_t pid_namespace) {
    static const std::string kHost = [] {
        char name[sizeof FileHeader::host] = {};
        gethostname(name, sizeof name - 1);
        return std::string(name);
    }();
    static const uint64_t kOwn = [] {
        struct stat about {};
        return stat("/proc/self/ns/pid", &about) == 0 ? uint64_t{about.st_ino} : 0;
    }();
    const bool same_ids = pid_namespace == 0 || kOwn == 0 || kOwn == pid_namespace;
    return same_ids && (host.empty() || host == kHost);
}

std::string waiting_call(int32_t pid, int32_t tid) {
    const std::string text = first_line(fmt::format("/proc/{}/task/{}/syscall", pid, tid));
    long number = -1;
    unsigned long argument = 0;
    if (sscanf(text.c_str(), "%ld 0x%lx", &number, &argument) != 2) return "";
    for (const KnownCall& call : kWaitingCalls) {
        if (call.number != number) continue;
        if (!call.on_file) return call.name;
        std::error_code error;
        const std::string file =
            std::filesystem::read_symlink(fmt::format("/proc/{}/fd/{}", pid, argument), error)
                .string();
        return file.empty() ? call.name : fmt::format("{} of {}", call.name, file);
    }
    return "";
}

}  // namespace dwell
