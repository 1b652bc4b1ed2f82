// Starts the process of a filter and has it filter; see filter_process.h.
#include "report/filter/filter_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "report/console/process.h"
#include "report/filter/filter_order.h"

namespace dwell {
namespace {

constexpr int kPatience_ms = 30'000;

// As the other process should be: without the terminal's signals, and ended with this one.
void become_filter(int socket, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2})
        signal(number, SIG_IGN);
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    for (const auto& [from, to] : {std::pair{3, socket - 1}, std::pair{socket + 1, INT32_MAX}}) {
        if (from <= to) close_range(static_cast<unsigned>(from), static_cast<unsigned>(to), 0);
    }
}

}  // namespace

bool send_bytes(int socket, const void* bytes, size_t count) {
    const auto* at = static_cast<const char*>(bytes);
    while (count != 0) {
        const ssize_t sent = ::send(socket, at, count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        at += sent;
        count -= static_cast<size_t>(sent);
    }
    return true;
}

bool receive_bytes(int socket, void* bytes, size_t count, int patience_ms) {
    auto* at = static_cast<char*>(bytes);
    while (count != 0) {
        pollfd ready{socket, POLLIN, 0};
        const int answers = poll(&ready, 1, patience_ms);
        if (answers < 0 && errno == EINTR) continue;
        if (answers == 0) errno = ETIMEDOUT;
        if (answers <= 0) return false;
        errno = 0;
        const ssize_t got = recv(socket, at, count, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        count -= static_cast<size_t>(got);
    }
    return true;
}

tl::expected<std::unique_ptr<FilterProcess>, std::string> FilterProcess::start(
    const std::string& setting) {
    constexpr std::string_view kEndOfFile = ".so:";
    const size_t end = setting.find(kEndOfFile);
    const bool has_arguments = end != std::string::npos;
    const std::string arguments = has_arguments ? setting.substr(end + kEndOfFile.size()) : "";
    std::unique_ptr<FilterProcess> process(new FilterProcess);
    process->file_ = has_arguments ? setting.substr(0, end + kEndOfFile.size() - 1) : setting;
    void* const shared =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int sockets[2];
    if (shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        return tl::make_unexpected(process->file_ + ": " + strerror(errno));
    process->shared_ = static_cast<Shared*>(shared);
    process->socket_ = sockets[0];
    const pid_t parent = getpid();
    process->pid_ = fork();
    if (process->pid_ == 0) {
        become_filter(sockets[1], parent);
        serve_filter(sockets[1], process->shared_->in, process->shared_->out, process->file_,
                     arguments);
    }
    close(sockets[1]);
    if (process->pid_ < 0) return tl::make_unexpected(process->file_ + ": " + strerror(errno));
    FilterAnswer answer{};
    std::string error;
    if (process->receive(&answer, sizeof answer)) {
        error.resize(answer.name_bytes);
        if (process->receive(error.data(), error.size()) && error.empty()) return process;
    }
    if (error.empty()) error = process->file_ + ": the filter " + process->failure_;
    return tl::make_unexpected(error);
}

FilterProcess::~FilterProcess() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    note_end();
    if (shared_ != nullptr) munmap(shared_, sizeof(Shared));
}

void FilterProcess::note_end() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
    if (pid_ <= 0) return;
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    if (failure_.empty() && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
        failure_ = describe_end(status);
}

void FilterProcess::fail(const char* what) {
    if (failure_.empty()) failure_ = what;
    kill(pid_, SIGKILL);
    note_end();
}

bool FilterProcess::send(const void* bytes, size_t count) {
    if (socket_ < 0) return false;
    if (send_bytes(socket_, bytes, count)) return true;
    note_end();
    if (failure_.empty()) failure_ = "has ended";
    return false;
}

bool FilterProcess::receive(void* bytes, size_t count) {
    if (socket_ < 0) return false;
    if (receive_bytes(socket_, bytes, count, kPatience_ms)) return true;
    if (errno == ETIMEDOUT) {
        fail("did not answer for 30 seconds");
    } else {
        note_end();
        if (failure_.empty()) failure_ = "has ended";
    }
    return false;
}

void FilterProcess::filter(const FilteredThread& of, const std::vector<EventPlace>& places,
                           std::vector<RingRecord>* records, FilterCounts* counts) {
    if (socket_ < 0 || records->empty()) return;
    for (; places_sent_ != places.size(); ++places_sent_) {
        const EventPlace& place = places[places_sent_];
        FilterOrder order{};
        order.what = FilterOrderKind::kPlace;
        order.kind = place.kind;
        order.line = place.line;
        order.name_bytes = static_cast<uint32_t>(place.name.size());
        order.file_bytes = static_cast<uint32_t>(place.file.size());
        const std::string texts = place.name + place.file;
        if (!send(&order, sizeof order) || !send(texts.data(), texts.size())) return;
    }
    std::vector<RingRecord> out;
    for (size_t at = 0; at < records->size(); at += kFilteredAtOnce) {
        const size_t count = std::min(kFilteredAtOnce, records->size() - at);
        if (filter_part(of, records->data() + at, count, &out, counts)) continue;
        out.insert(out.end(), records->begin() + static_cast<ptrdiff_t>(at), records->end());
        break;
    }
    *records = std::move(out);
}

bool FilterProcess::filter_part(const FilteredThread& of, const RingRecord* records, size_t count,
                                std::vector<RingRecord>* out, FilterCounts* counts) {
    memcpy(static_cast<void*>(shared_->in), records, count * sizeof(RingRecord));
    FilterOrder order{};
    order.what = FilterOrderKind::kRecords;
    order.count = static_cast<uint32_t>(count);
    order.thread = of;
    FilterAnswer answer{};
    if (!send(&order, sizeof order) || !receive(&answer, sizeof answer)) return false;
    std::string names(answer.name_bytes, '\0');
    if (!receive(names.data(), names.size()) || answer.count > kMostFiltered) return false;
    for (size_t at = 0; at < names.size(); at = names.find('\0', at) + 1)
        names_.emplace_back(names.c_str() + at);
    out->insert(out->end(), shared_->out, shared_->out + answer.count);
    counts->dropped += answer.counts.dropped;
    counts->changed += answer.counts.changed;
    counts->added += answer.counts.added;
    counts->refused += answer.counts.refused;
    return true;
}

void FilterProcess::finish() {
    if (socket_ < 0) return;
    shutdown(socket_, SHUT_WR);
    char ignored = 0;
    if (!receive_bytes(socket_, &ignored, 1, kPatience_ms) && errno == ETIMEDOUT) {
        fail("did not end within 30 seconds");
        return;
    }
    note_end();
}

}  // namespace dwell
