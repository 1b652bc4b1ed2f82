// The published states of a host's processes, and who can still send.
#include "runtime/order/order.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "runtime/calls/call_order.h"
#include "runtime/mpi/requests.h"
#include "runtime/order/deferred_receives.h"
#include "runtime/order/order_choice.h"
#include "runtime/process/injection.h"
#include "runtime/process/shared_words.h"
#include "runtime/waitstates/waits.h"

namespace dwell {

namespace {

constexpr uint64_t kLinesKey = 0x6f726465726c6e73;
constexpr int kMaxTries = 1000;  // to read a line while its process writes it
constexpr uint32_t kStartLooks = 1 << 20;
constexpr uint32_t kPidEvery = 4096;  // looks of a waiting receive
constexpr double kWakes_s = 1;        // a message sent for a receive completes it within this time
constexpr double kMayWake_s = 0.05;   // the same if the message may be for something else
constexpr double kPatience_s = 1;     // a stamped message arrives within this time
constexpr timespec kPause{0, 20'000};
constexpr int kMostMissed = 10;   // after each missing message the patience is halved
constexpr int kTagBound = 32767;  // every MPI has at least these tags (MPI 3.1, 8.1.2)

// The lines of the world's ranks, of which this host's are used; and arrays for find_earlier().
ProcessLine* g_lines = nullptr;
ProcessLine* g_own = nullptr;
uint32_t g_count = 0;
uint32_t g_place = 0;  // index of the own line among this host's
uint32_t* g_ranks = nullptr;
ProcessState* g_states = nullptr;
bool* g_woken = nullptr;
struct Leaving {
    uint32_t version;  // line version of a process in a collective whose root is there
    uint64_t since;    // when that was seen
};
Leaving* g_leaving = nullptr;
bool* g_reached = nullptr;
bool* g_gone = nullptr;
int g_missed = 0;  // stamped messages that did not arrive

uint64_t ticks_of(double seconds) {
    return static_cast<uint64_t>(seconds * static_cast<double>(g_process.header->ticks_per_second));
}

void publish(const ProcessState& state) {
    const uint32_t version = g_own->version;
    __atomic_store_n(&g_own->version, version + 1, __ATOMIC_RELAXED);
    write_words(&g_own->state, state);
    __atomic_store_n(&g_own->woken, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&g_own->version, version + 2, __ATOMIC_RELEASE);
}

// False while the line is being written.
bool read_line(const ProcessLine* line, ProcessState* state, uint64_t* woken) {
    for (int i = 0; i < kMaxTries; ++i) {
        const uint32_t version = __atomic_load_n(&line->version, __ATOMIC_ACQUIRE);
        if ((version & 1) == 0) {
            read_words(&line->state, state);
            *woken = __atomic_load_n(&line->woken, __ATOMIC_ACQUIRE);
            if (__atomic_load_n(&line->version, __ATOMIC_RELAXED) == version) return true;
        }
        __builtin_ia32_pause();
    }
    return false;
}

ProcessState blocked_state(Call* call, Doing doing, uint32_t partner) {
    stamp_virtual(call);
    ProcessState state = g_own->state;
    state.doing = doing;
    state.partner = partner;
    state.ticks = call->start_virtual;
    state.candidate = 0;
    return state;
}

bool is_concurrent() { return g_process.concurrent; }

// Excludes the time for publishing from the call.
class PublishTime {
  public:
    explicit PublishTime(Call* call) : call_(call), start_(now_ticks()) {}
    ~PublishTime() { call_->inner_overhead += now_ticks() - start_; }
    PublishTime(const PublishTime&) = delete;
    PublishTime& operator=(const PublishTime&) = delete;

  private:
    Call* call_;
    uint64_t start_;
};

// Makes MPI progress. MPI sends the rest of a long message while its sender is in an MPI call, and
// the process waited for may need such a rest. A probe that finds a message makes no progress, so
// one is needed that finds none.
void make_mpi_progress() {
    bool there = true;
    for (int tag = kTagBound; there && tag >= 0; --tag) {
        if (!is_there(MPI_ANY_SOURCE, tag, g_mpi.comm_self, &there)) return;
    }
}

template <typename T>
T* make_array(size_t count) {
    void* memory = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? static_cast<T*>(memory) : nullptr;
}

bool make_view(uint32_t world_size) {
    g_ranks = make_array<uint32_t>(world_size);
    g_states = make_array<ProcessState>(world_size);
    g_woken = make_array<bool>(world_size);
    g_leaving = make_array<Leaving>(world_size);
    g_reached = make_array<bool>(world_size);
    g_gone = make_array<bool>(world_size);
    if (g_ranks == nullptr || g_states == nullptr || g_woken == nullptr || g_leaving == nullptr ||
        g_reached == nullptr || g_gone == nullptr) {
        return false;
    }
    for (uint32_t rank = 0; rank < world_size; ++rank) {
        if (!is_same_host(rank)) continue;
        if (&g_lines[rank] == g_own) g_place = g_count;
        g_ranks[g_count++] = rank;
    }
    return true;
}

// Whether the process has entered that collective instance or a later one of the communicator.
bool has_entered(const ProcessState& state, uint32_t comm, uint32_t number) {
    return state.entered_comm == comm && static_cast<int32_t>(state.entered_number - number) >= 0;
}

// Whether the root has entered a collective that waits for its root alone.
bool root_is_there(const ProcessState& state, const NodeView& view) {
    for (uint32_t i = 0; i < view.count; ++i) {
        if (view.ranks[i] != state.partner) continue;
        return has_entered(view.states[i], state.comm, state.entered_number);
    }
    return false;
}

// The root's data may come through any other rank.
bool waits_for(const ProcessState& state, const NodeView& view, uint32_t other) {
    const bool is_partner = state.partner == kNoPeer || state.partner == view.ranks[other];
    if (state.doing != Doing::kInCollective) return is_partner;
    if (has_entered(view.states[other], state.comm, state.entered_number)) return false;
    return is_partner || root_is_there(state, view);
}

// All processes that the collective waits for have entered: this one is about to leave.
bool all_are_there(const NodeView& view, uint32_t which) {
    const ProcessState& state = view.states[which];
    if (state.is_world == 0) return false;
    for (uint32_t other = 0; other < view.count; ++other) {
        if (other == which || !waits_for(state, view, other)) continue;
        return false;
    }
    return true;
}

bool can_continue_before(const NodeView& view, uint32_t which, uint64_t limit, uint64_t now) {
    const ProcessState& state = view.states[which];
    switch (state.doing) {
        case Doing::kRuns:
            return beyond(now, state.ticks) < limit;
        case Doing::kInTool:
            return state.ticks < limit;
        case Doing::kReceives:
        case Doing::kWaits:
            if (state.candidate != 0 && later(state.ticks, state.candidate) < limit) return true;
            return view.woken[which] && state.ticks < limit;
        case Doing::kInCollective:
            return state.ticks < limit && (view.woken[which] || all_are_there(view, which));
        default:
            return false;
    }
}

bool may_wait(const ProcessState& state) {
    return state.doing == Doing::kReceives || state.doing == Doing::kWaits ||
           state.doing == Doing::kInCollective;
}

}  // namespace

void MessageArbiter::publish_state(Doing doing, uint64_t candidate, uint32_t comm, int tag) {
    ProcessState state = blocked_state(call_, doing, kNoPeer);
    state.candidate = candidate != kNotSent ? candidate : 0;
    state.comm = comm;
    state.tag = tag;
    publish(state);
    full_fence();
}

bool MessageArbiter::look_around() {
    const uint64_t now = now_ticks();
    const bool ask = ++looks_ % kPidEvery == 0;
    for (uint32_t i = 0; i < g_count; ++i) {
        const ProcessLine& line = g_lines[g_ranks[i]];
        uint64_t woken = 0;
        if (ask && &line != g_own && kill(line.pid, 0) != 0 && errno == ESRCH) g_gone[i] = true;
        if (!g_gone[i] && !read_line(&line, &g_states[i], &woken)) return false;
        if (g_gone[i]) g_states[i].doing = Doing::kFinished;
        if (line.version == 0) {  // still in MPI_Init, or it has no room
            is_hopeless_ = looks_ > kStartLooks;
            return false;
        }
        if (g_states[i].doing == Doing::kNotKnown) is_hopeless_ = true;
        const double within = g_states[i].doing == Doing::kReceives ? kWakes_s : kMayWake_s;
        g_woken[i] = woken != 0 && beyond(now, woken) < ticks_of(within);
    }
    const NodeView view{g_states, g_ranks, g_woken, g_count};
    for (uint32_t i = 0; i < g_count; ++i) {
        const ProcessState& state = g_states[i];
        if (state.doing != Doing::kInCollective || state.partner == kNoPeer) continue;
        if (!root_is_there(state, view)) continue;
        const uint32_t version = g_lines[g_ranks[i]].version;
        if (g_leaving[i].version != version) g_leaving[i] = {version, now};
        g_woken[i] = beyond(now, g_leaving[i].since) < ticks_of(kMayWake_s);
    }
    return true;
}

bool MessageArbiter::look(uint64_t limit) {
    if (!look_around()) return false;
    find_earlier({g_states, g_ranks, g_woken, g_count}, g_place, limit, now_ticks(), g_reached);
    return true;
}

bool MessageArbiter::can_send_before(uint32_t peer) const {
    for (uint32_t i = 0; i < g_count; ++i) {
        if (g_reached[i] && g_ranks[i] == peer) return true;
    }
    return false;
}

bool MessageArbiter::is_missed(uint64_t* since) const {
    const uint64_t now = now_ticks();
    if (*since == 0) *since = now;
    if (beyond(now, *since) < ticks_of(kPatience_s) >> g_missed) return false;
    if (g_missed < kMostMissed) ++g_missed;
    return true;
}

void MessageArbiter::pause(bool deferred) {
    if (deferred) {
        make_mpi_progress();
        nanosleep(&kPause, nullptr);  // the process waited for may need the core
    } else {
        sched_yield();
    }
}

void find_earlier(const NodeView& view, uint32_t own, uint64_t limit, uint64_t now, bool* reached) {
    for (uint32_t i = 0; i < view.count; ++i) {
        reached[i] = i != own && can_continue_before(view, i, limit, now);
    }
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < view.count; ++i) {
            const ProcessState& state = view.states[i];
            if (reached[i] || i == own || !may_wait(state) || state.ticks >= limit) continue;
            for (uint32_t other = 0; other < view.count && !reached[i]; ++other) {
                reached[i] = reached[other] && waits_for(state, view, other);
            }
            more = more || reached[i];
        }
    }
}

void open_order() {
    if (!g_process.options.preserve_order) return;
    if (g_channels == nullptr) {
        if (g_process.header->world_size > 1) {
            warn_of_job("--preserve-order needs the analysis of waiting: receives take what comes");
        }
        return;
    }
    const auto world_size = static_cast<uint32_t>(g_process.header->world_size);
    const size_t bytes = size_t{world_size} * sizeof(ProcessLine);
    void* memory = find_or_make_pages(
        kLinesKey, static_cast<uint32_t>((bytes + kExchangePage - 1) / kExchangePage));
    if (memory == nullptr) {
        warn_of_job("no room for --preserve-order: receives take what comes");
        return;
    }
    g_lines = static_cast<ProcessLine*>(memory);
    g_own = &g_lines[g_process.header->rank];
    g_own->pid = getpid();
    if (!make_view(world_size)) {
        publish(ProcessState{});
        return;
    }
    static constexpr CallOrder kOrder{
        post_deferred,         end_deferring, publish_running, publish_receiving, publish_waiting,
        enter_collective_wait, wake};
    g_call_order = &kOrder;
    g_process.preserve_order = true;
    g_on_delay = publish_delay;
    g_process.header->flags |= kFileOrder;
    g_live->epoch += 1;  // the fast path of calls is off from here on
    if (t_thread != nullptr) publish_running(t_thread);
}

void close_order() {
    if (!g_process.preserve_order) return;
    g_process.preserve_order = false;
    ProcessState state{};
    state.doing = Doing::kFinished;
    publish(state);
}

void publish_running(Thread* thread) {
    ProcessState state = g_own->state;
    const ThreadRecord* record = thread->record;
    state.doing = is_concurrent() ? Doing::kNotKnown : Doing::kRuns;
    state.ticks = record->intrusion_ticks + thread->slow_overhead;
    publish(state);
}

void publish_receiving(Call* call, uint32_t peer, uint32_t comm, int tag, uint32_t post_order) {
    if (is_concurrent()) return;
    const PublishTime publish_time(call);
    ProcessState state = blocked_state(call, Doing::kReceives, peer);
    state.comm = comm;
    state.tag = tag;
    publish(state);
    full_fence();
    Channel* channel = channel_with(call->thread, peer);
    if (channel != nullptr && find_entry(channel, comm, tag, post_order) != nullptr) {
        __atomic_store_n(&g_own->woken, now_ticks(), __ATOMIC_RELEASE);
    }
}

void publish_waiting(Call* call) {
    if (is_concurrent()) return;
    const PublishTime publish_time(call);
    publish(blocked_state(call, Doing::kWaits, kNoPeer));
}

void enter_collective_wait(Call* call, const CommDefinition& definition, uint32_t number,
                           Dependence rule, int root, bool blocks) {
    if (is_concurrent()) return;
    const PublishTime publish_time(call);
    const bool is_root = !definition.inter && root == definition.rank;
    const bool waits = blocks && (rule != Dependence::kRoot || !is_root) &&
                       (rule != Dependence::kToRoot || is_root || definition.inter);
    ProcessState state = g_own->state;
    if (waits) {
        const bool for_root = rule == Dependence::kRoot && definition.is_world;
        state = blocked_state(call, Doing::kInCollective,
                              for_root ? static_cast<uint32_t>(root) : kNoPeer);
        state.comm = definition.short_id;
        state.is_world = definition.is_world ? 1 : 0;
    }
    state.entered_comm = definition.short_id;
    state.entered_number = number;
    publish(state);
}

void publish_request(Call* call, const Request& request) {
    const bool named = request.kind == kReceiveRequest && request.peer != kNoPeer &&
                       request.comm != 0 && request.post_order != 0 &&
                       is_post_order_known(g_channels[request.peer], request.post_order);
    if (named) {
        publish_receiving(call, request.peer, request.comm, request.tag, request.post_order);
    } else {
        publish_waiting(call);
    }
}

void publish_delay(bool begins) {
    const Doing before = begins ? Doing::kRuns : Doing::kInTool;
    if (!g_process.preserve_order || g_own->state.doing != before) return;
    ProcessState state = g_own->state;
    state.doing = begins ? Doing::kInTool : Doing::kRuns;
    state.ticks = beyond(now_ticks(), state.ticks);
    publish(state);
}

void wake(Call* call, uint32_t peer, uint32_t comm, int tag) {
    const PublishTime publish_time(call);
    full_fence();
    ProcessLine* line = &g_lines[peer];
    ProcessState state;
    uint64_t woken = 0;
    if (!read_line(line, &state, &woken) || woken != 0) return;
    if (state.partner != kNoPeer && state.partner != own_rank()) return;
    if (state.doing == Doing::kReceives) {
        if (state.comm != comm || (state.tag != tag && state.tag != MPI_ANY_TAG)) return;
    } else if (state.doing != Doing::kWaits) {
        return;
    }
    __atomic_store_n(&line->woken, now_ticks(), __ATOMIC_RELEASE);
}

}  // namespace dwell
