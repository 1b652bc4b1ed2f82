#include "report/sample_drain.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "report/python_stack.h"
#include "runtime/sample_spill.h"
#include "runtime/state.h"

namespace dwell {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr uint32_t kLockTries = 1000;

// One thread's ring and spill.
class SharedRing {
  public:
    static std::unique_ptr<SharedRing> open(int event, int memory, const DrainRequest& request,
                                            pid_t process) {
        const uint64_t ring_bytes = request.ring_bytes;
        auto ring = std::unique_ptr<SharedRing>(new SharedRing(event, ring_bytes));
        if (request.python.state != 0) {
            ring->python_ = std::make_unique<PythonStack>(process, request.python);
        }
        struct stat size {};
        const bool fits = ring_bytes >= kPageBytes && ring_bytes <= kLargestRing &&
                          (ring_bytes & (ring_bytes - 1)) == 0;
        if (!fits || fstat(memory, &size) != 0 || size.st_size != off_t{kSpillBytes})
            return nullptr;
        ring->spill_ = map(kSpillBytes, memory);
        return ring->spill_ != nullptr ? std::move(ring) : nullptr;
    }
    ~SharedRing() {
        if (page_ != nullptr) munmap(page_, kPageBytes + ring_bytes_);
        if (spill_ != nullptr) munmap(spill_, kSpillBytes);
        close(event_);
    }
    SharedRing(const SharedRing&) = delete;
    SharedRing& operator=(const SharedRing&) = delete;

    int event() const { return event_; }
    bool ended() const { return __atomic_load_n(&spill()->ended, __ATOMIC_ACQUIRE) != 0; }

    // Leaves a thread alone that reads its ring itself. The ring is mapped when a thread first does
    // not: Linux 6.18 counts that against the user, and never gives it back. False: it cannot be.
    bool drain() {
        if (page_ == nullptr) page_ = map(kPageBytes + ring_bytes_, event_);
        if (page_ == nullptr) return false;
        auto* const page = static_cast<perf_event_mmap_page*>(page_);
        const SpillLock lock(spill(), kLockTries);
        if (!lock.held()) return true;
        const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
        const char* const data = static_cast<const char*>(page_) + kPageBytes;
        if (python_ != nullptr) {
            spill_python(data, page->data_tail, head);
        } else if (head - page->data_tail < ring_bytes_ / 2) {
            return true;
        } else {
            spill_ring(data, ring_bytes_, page->data_tail, head, spill());
        }
        __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
        return true;
    }

  private:
    SharedRing(int event, uint64_t ring_bytes) : event_(event), ring_bytes_(ring_bytes) {}
    static void* map(size_t bytes, int file) {
        void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        return at != MAP_FAILED ? at : nullptr;
    }
    SampleSpill* spill() const { return static_cast<SampleSpill*>(spill_); }

    // What the thread runs now stands for the samples since it was woken up for the last one.
    void spill_python(const char* data, uint64_t tail, uint64_t head) {
        const bool known = tail < head && python_->read();
        while (tail < head) {
            perf_event_header header;
            copy_from_ring(data, ring_bytes_, tail, &header, sizeof header);
            if (header.size < sizeof header) break;
            if (header.type == PERF_RECORD_SAMPLE && known) {
                const std::vector<char>& record = python_->record();
                spill_record(record.data(), record.size(), 0, python_->record_bytes(), spill());
            } else if (header.type == PERF_RECORD_SAMPLE) {
                spill()->lost += 1;
            }
            tail += header.size;
        }
    }

    int event_;
    uint64_t ring_bytes_;
    void* page_ = nullptr;
    void* spill_ = nullptr;
    std::unique_ptr<PythonStack> python_;  // null: the thread runs no Python
};

// The descriptors and the sender's user, as the kernel says.
struct Parcel {
    int files[2] = {-1, -1};
    bool ours = false;
    pid_t sender = 0;
};

Parcel open_parcel(msghdr* message) {
    Parcel parcel;
    for (cmsghdr* part = CMSG_FIRSTHDR(message); part != nullptr;
         part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET) continue;
        if (part->cmsg_type == SCM_CREDENTIALS) {
            ucred sender{};
            memcpy(&sender, CMSG_DATA(part), sizeof sender);
            parcel.ours = sender.uid == geteuid();
            parcel.sender = sender.pid;
        } else if (part->cmsg_type == SCM_RIGHTS) {
            const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            std::vector<int> files(count);
            memcpy(files.data(), CMSG_DATA(part), count * sizeof(int));
            for (size_t i = 0; i < count; ++i) {
                if (count == 2) {
                    parcel.files[i] = files[i];
                } else {
                    close(files[i]);
                }
            }
        }
    }
    return parcel;
}

// Null where there was no message, or none of ours.
std::unique_ptr<SharedRing> take_ring(int from) {
    DrainRequest request{};
    iovec body{&request, sizeof request};
    alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int)) + CMSG_SPACE(sizeof(ucred))];
    msghdr message{};
    message.msg_iov = &body;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t bytes = recvmsg(from, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (bytes < 0) return nullptr;
    const Parcel parcel = open_parcel(&message);
    if (parcel.files[0] < 0) return nullptr;
    std::unique_ptr<SharedRing> ring;
    if (parcel.ours && bytes == ssize_t{sizeof request}) {
        ring = SharedRing::open(parcel.files[0], parcel.files[1], request, parcel.sender);
    } else {
        close(parcel.files[0]);
    }
    close(parcel.files[1]);  // mapped
    return ring;
}

void drain_until(int stop, int requests) {
    std::vector<std::unique_ptr<SharedRing>> rings;
    for (;;) {
        std::vector<pollfd> events{{stop, POLLIN, 0}, {requests, POLLIN, 0}};
        for (const auto& ring : rings) events.push_back({ring->event(), POLLIN, 0});
        if (poll(events.data(), events.size(), -1) < 0) continue;
        if (events[0].revents != 0) return;
        std::vector<std::unique_ptr<SharedRing>> kept;
        for (size_t i = 0; i < rings.size(); ++i) {
            const short what = events[i + 2].revents;
            const bool lost = (what & POLLIN) != 0 && !rings[i]->drain();
            const bool gone = lost || (what & (POLLHUP | POLLERR | POLLNVAL)) != 0;
            if (!gone && !rings[i]->ended()) kept.push_back(std::move(rings[i]));
        }
        rings = std::move(kept);
        if (events[1].revents == 0) continue;
        if (auto ring = take_ring(requests)) rings.push_back(std::move(ring));
    }
}

}  // namespace

SampleDrain::SampleDrain() {
    socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    stop_ = eventfd(0, EFD_CLOEXEC);
    if (socket_ < 0 || stop_ < 0) return;
    const int on = 1;
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    socklen_t length = sizeof(sa_family_t);  // the kernel chooses a name
    const bool bound = setsockopt(socket_, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 &&
                       bind(socket_, reinterpret_cast<const sockaddr*>(&name), length) == 0;
    length = sizeof name;
    if (!bound || getsockname(socket_, reinterpret_cast<sockaddr*>(&name), &length) != 0) return;
    const size_t begin = offsetof(sockaddr_un, sun_path) + 1;
    const std::string text(name.sun_path + 1, length > begin ? length - begin : 0);
    setenv(kDrainVariable, text.c_str(), 1);
}

void SampleDrain::stop() {
    if (thread_.joinable() && eventfd_write(stop_, 1) == 0) thread_.join();
    if (socket_ >= 0) close(socket_);
    if (stop_ >= 0) close(stop_);
    socket_ = stop_ = -1;
}

void SampleDrain::start() {
    if (socket_ < 0 || stop_ < 0) return;
    try {
        // All signals are blocked here, and so in the thread.
        thread_ = std::thread([this] { drain_until(stop_, socket_); });
    } catch (const std::system_error&) {
        stop();  // who sends to it learns that nobody reads
    }
}

}  // namespace dwell
