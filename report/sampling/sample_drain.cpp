// Empties the sample rings of ranks in long computations, in one thread of `dwell run`; see
// sample_drain.h.
#include "report/sampling/sample_drain.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "report/sampling/python_stack.h"
#include "runtime/process/state.h"
#include "runtime/sampling/sample_spill.h"

namespace dwell {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr uint32_t kLockTries = 1000;

void* map(size_t bytes, int file) {
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return at != MAP_FAILED ? at : nullptr;
}

// Samples a thread with an event and a ring of its own while the thread's own ring is full. A
// shared ring is no alternative: when two processes map one ring, Linux 6.18 charges both for
// locked memory and does not return one of the charges.
class StandIn {
  public:
    StandIn(const DrainRequest& request, pid_t process) {
        // Numbers of another PID namespace belong to other processes here.
        if (request.process != process) return;
        perf_event_attr attributes = request.attributes;
        attributes.disabled = 1;
        attributes.watermark = 0;
        attributes.wakeup_events = 1;
        event_ = static_cast<int>(syscall(SYS_perf_event_open, &attributes, request.thread, -1, -1,
                                          PERF_FLAG_FD_CLOEXEC));
        if (event_ < 0) return;
        // The ring is read at each sample, so it needs less room.
        const size_t least = attributes.sample_stack_user != 0 ? kSmallestPathRing : kPageBytes;
        ring_bytes_ = std::max<size_t>(request.ring_bytes / 2, least);
        for (; ring_bytes_ >= least; ring_bytes_ /= 2) {
            page_ = map(kPageBytes + ring_bytes_, event_);
            if (page_ != nullptr) return;
        }
    }
    ~StandIn() {
        if (page_ != nullptr) munmap(page_, kPageBytes + ring_bytes_);
        if (event_ >= 0) close(event_);
    }
    StandIn(const StandIn&) = delete;
    StandIn& operator=(const StandIn&) = delete;

    bool possible() const { return page_ != nullptr; }
    int event() const { return event_; }
    uint64_t ring_bytes() const { return ring_bytes_; }
    const char* data() const { return static_cast<const char*>(page_) + kPageBytes; }
    uint64_t tail() const { return page()->data_tail; }
    uint64_t head() const { return __atomic_load_n(&page()->data_head, __ATOMIC_ACQUIRE); }
    void free_until(uint64_t head) { __atomic_store_n(&page()->data_tail, head, __ATOMIC_RELEASE); }

  private:
    perf_event_mmap_page* page() const { return static_cast<perf_event_mmap_page*>(page_); }

    uint64_t ring_bytes_ = 0;
    int event_ = -1;
    void* page_ = nullptr;
};

// A sampled thread. The thread reads its own ring at its MPI calls. If the ring fills up before
// that, a stand-in takes the samples until the thread has read its ring.
class SampledThread {
  public:
    static std::unique_ptr<SampledThread> open(int event, int memory, const DrainRequest& request,
                                               pid_t process) {
        auto thread = std::unique_ptr<SampledThread>(new SampledThread(event, request, process));
        const uint64_t ring_bytes = request.ring_bytes;
        struct stat size {};
        const bool fits = ring_bytes >= kPageBytes && ring_bytes <= kLargestRing &&
                          (ring_bytes & (ring_bytes - 1)) == 0;
        if (!fits || fstat(memory, &size) != 0 || size.st_size != off_t{kSpillBytes})
            return nullptr;
        thread->spill_ = static_cast<SampleSpill*>(map(kSpillBytes, memory));
        if (thread->spill_ == nullptr) return nullptr;
        if (request.python.state != 0) {
            thread->python_ = std::make_unique<PythonStack>(process, request.python);
            if (!thread->take_over()) return nullptr;
        }
        return thread;
    }
    ~SampledThread() {
        if (spill_ != nullptr) munmap(spill_, kSpillBytes);
        close(event_);
    }
    SampledThread(const SampledThread&) = delete;
    SampledThread& operator=(const SampledThread&) = delete;

    int event() const { return event_; }
    int stand_in() const { return stand_in_ != nullptr ? stand_in_->event() : -1; }
    bool ended() const { return __atomic_load_n(&spill_->ended, __ATOMIC_ACQUIRE) != 0; }

    // Call when another quarter of its ring is full. False: the stand-in cannot help.
    bool look() {
        const SpillLock lock(spill_, kLockTries);
        if (!lock.held() || is_taken()) return true;
        const bool reads = spill_->reads != reads_;
        reads_ = spill_->reads;
        return reads || take_over();
    }

    // Call after a sample of the stand-in. The thread takes over again when it has read its ring.
    void drain() {
        const SpillLock lock(spill_, kLockTries);
        if (!lock.held()) return;
        const uint64_t tail = stand_in_->tail();
        const uint64_t head = stand_in_->head();
        const bool own = __atomic_load_n(&spill_->own, __ATOMIC_ACQUIRE) != 0;
        if (!own && python_ != nullptr) {
            spill_python(tail, head);
        } else if (!own) {
            spill_ring(stand_in_->data(), stand_in_->ring_bytes(), tail, head, spill_);
        }
        stand_in_->free_until(head);
        if (python_ == nullptr && spill_->reads != reads_) give_back();
    }

  private:
    SampledThread(int event, const DrainRequest& request, pid_t process)
        : event_(event), request_(request), process_(process) {}

    bool is_taken() const { return spill_->taken != 0; }
    void set_taken(bool taken) {
        __atomic_store_n(&spill_->taken, taken ? 1u : 0u, __ATOMIC_RELEASE);
    }

    bool take_over() {
        if (stand_in_ == nullptr) stand_in_ = std::make_unique<StandIn>(request_, process_);
        if (!stand_in_->possible()) return false;
        ioctl(event_, PERF_EVENT_IOC_DISABLE, 0);
        ioctl(stand_in_->event(), PERF_EVENT_IOC_ENABLE, 0);
        set_taken(true);
        return true;
    }

    // The thread checks its ring again after it has read what was written.
    void give_back() {
        ioctl(stand_in_->event(), PERF_EVENT_IOC_DISABLE, 0);
        ioctl(event_, PERF_EVENT_IOC_ENABLE, 0);
        set_taken(false);
        __atomic_store_n(&spill_->writes, spill_->writes + 1, __ATOMIC_RELEASE);
    }

    // The present Python stack stands for all samples since the last wake-up.
    void spill_python(uint64_t tail, uint64_t head) {
        const bool known = tail < head && python_->read();
        while (tail < head) {
            perf_event_header header;
            copy_from_ring(stand_in_->data(), stand_in_->ring_bytes(), tail, &header,
                           sizeof header);
            if (header.size < sizeof header) break;
            if (header.type == PERF_RECORD_SAMPLE && known) {
                const std::vector<char>& record = python_->record();
                spill_record(record.data(), record.size(), 0, python_->record_bytes(), spill_);
            } else if (header.type == PERF_RECORD_SAMPLE) {
                spill_->lost += 1;
            }
            tail += header.size;
        }
    }

    int event_;
    DrainRequest request_;
    pid_t process_;
    SampleSpill* spill_ = nullptr;
    uint64_t reads_ = 0;  // number of the thread's reads at the last look
    std::unique_ptr<StandIn> stand_in_;
    std::unique_ptr<PythonStack> python_;  // null: the thread runs no Python
};

// The descriptors, and the sender's user according to the kernel.
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

// Null without a valid message.
std::unique_ptr<SampledThread> take_thread(int from) {
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
    std::unique_ptr<SampledThread> thread;
    if (parcel.ours && bytes == ssize_t{sizeof request}) {
        thread = SampledThread::open(parcel.files[0], parcel.files[1], request, parcel.sender);
    } else {
        close(parcel.files[0]);
    }
    close(parcel.files[1]);  // already mapped
    return thread;
}

void drain_until(int stop, int requests) {
    std::vector<std::unique_ptr<SampledThread>> threads;
    for (;;) {
        std::vector<pollfd> events{{stop, POLLIN, 0}, {requests, POLLIN, 0}};
        for (const auto& thread : threads) {
            events.push_back({thread->event(), POLLIN, 0});
            events.push_back({thread->stand_in(), POLLIN, 0});
        }
        if (poll(events.data(), events.size(), -1) < 0) continue;
        if (events[0].revents != 0) return;
        std::vector<std::unique_ptr<SampledThread>> kept;
        for (size_t i = 0; i < threads.size(); ++i) {
            const short own = events[2 * i + 2].revents;
            const short of_stand_in = events[2 * i + 3].revents;
            if ((of_stand_in & POLLIN) != 0) threads[i]->drain();
            const bool lost = (own & POLLIN) != 0 && !threads[i]->look();
            const bool gone = lost || ((own | of_stand_in) & (POLLHUP | POLLERR | POLLNVAL)) != 0;
            if (!gone && !threads[i]->ended()) kept.push_back(std::move(threads[i]));
        }
        threads = std::move(kept);
        if (events[1].revents == 0) continue;
        if (auto thread = take_thread(requests)) threads.push_back(std::move(thread));
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
        // All signals are blocked here, and the new thread inherits that.
        thread_ = std::thread([this] { drain_until(stop_, socket_); });
    } catch (const std::system_error&) {
        stop();  // senders get an error from now on
    }
}

}  // namespace dwell
