#include "runtime/hosts/far_letters.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/hosts/far_clocks.h"
#include "runtime/hosts/partners.h"
#include "runtime/mpi/observed.h"

namespace dwell {

ClockRelation g_clock;
bool g_clocks_related = false;

namespace {

constexpr uint32_t kOutbox = 64;
constexpr uint32_t kAnswerEvery = 8;     // letters; then the partner hears that they arrived
constexpr uint64_t kFirstCost = 30'000;  // letters a second, until it is known
constexpr uint32_t kFruitless = 4;  // looks before the receiver waits as long as a sender would
// ChannelEntry::comm of letters about no message:
constexpr uint32_t kAnswerOnly = kDeadEntry;
constexpr uint32_t kNoteLetter = kGapEntry;

// On the way a letter has the times of the reference clock. Fields that answers use on a node hold
// when the next one may come, and how many letters of the other direction have arrived.
void set_next(ChannelEntry* letter, uint64_t reference) { letter->answer.real = reference; }
uint64_t next_of(const ChannelEntry& letter) { return letter.answer.real; }
void set_received(ChannelEntry* letter, uint32_t count) { letter->answer.lost = count; }
uint32_t received_of(const ChannelEntry& letter) { return letter.answer.lost; }

Moment to_reference(Moment said) {
    said.at = {g_clock.to_reference(said.at.real), g_clock.to_reference(said.at.virt)};
    return said;
}
Moment to_own(Moment said) {
    said.at = {g_clock.to_own(said.at.real), g_clock.to_own(said.at.virt)};
    return said;
}

ChannelEntry letter_with(const FarNote& note) {
    ChannelEntry letter{};
    letter.comm = kNoteLetter;
    letter.said = to_reference(note.said);
    letter.tag = static_cast<int32_t>(uint32_t{note.loss} << 24 | uint32_t{note.shift} << 16 |
                                      uint32_t{note.call});
    letter.order = note.number;
    letter.answer.real = note.id;
    letter.answer.path = note.telling;
    return letter;
}
FarNote note_in(const ChannelEntry& letter) {
    const auto both = static_cast<uint32_t>(letter.tag);
    return {to_own(letter.said),
            letter.answer.real,
            letter.order,
            static_cast<uint16_t>(both),
            static_cast<uint8_t>(both >> 16),
            static_cast<uint8_t>(both >> 24),
            letter.answer.path};
}

struct Outgoing {
    ChannelEntry letter;
    MPI_Request request;
};

struct Letters {
    std::atomic<uint32_t> lock{0};
    bool open = false;
    NoteTaker take_note = nullptr;
    Outgoing* outbox = nullptr;
    uint32_t next_out = 0;
    int* sent_to = nullptr;  // by place
    int received = 0;
    ChannelEntry inbox{};
    MPI_Request incoming = nullptr;
    uint64_t cost_ticks = 0;  // of sending one
};
Letters g_letters;

// Whoever finds it taken goes on without: letters are only ever tried.
class LettersLock {
  public:
    LettersLock() : held_(g_letters.lock.exchange(1, std::memory_order_acquire) == 0) {}
    ~LettersLock() {
        if (held_) g_letters.lock.store(0, std::memory_order_release);
    }
    LettersLock(const LettersLock&) = delete;
    LettersLock& operator=(const LettersLock&) = delete;
    bool held() const { return held_; }

  private:
    bool held_;
};

bool await_letter() {
    return g_mpi.Irecv(&g_letters.inbox, sizeof(ChannelEntry), g_mpi.byte, MPI_ANY_SOURCE,
                       kLetterTag, g_observed.comm, &g_letters.incoming) == MPI_SUCCESS;
}

Outgoing* free_outgoing() {
    Outgoing* out = &g_letters.outbox[g_letters.next_out % kOutbox];
    int flag = 1;
    if (out->request != nullptr && out->request != g_mpi.request_null &&
        g_mpi.Test(&out->request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        flag = 0;
    }
    if (flag == 0) return nullptr;
    g_letters.next_out += 1;
    return out;
}

bool post_letter(FarChannel* far, const ChannelEntry& letter) {
    Outgoing* out = free_outgoing();
    if (out == nullptr) return false;
    out->letter = letter;
    set_received(&out->letter, far->letters_received);
    if (g_mpi.Isend(&out->letter, sizeof(ChannelEntry), g_mpi.byte, static_cast<int>(far->place),
                    kLetterTag, g_observed.comm, &out->request) != MPI_SUCCESS) {
        return false;
    }
    far->letters_answered = far->letters_received;
    g_letters.sent_to[far->place] += 1;
    return true;
}

void note_heard(FarChannel* far, const FarNote& note) {
    Moment came = note.said;
    came.at.real = came_at(note);
    note_said(far, came);
    far->loss_is_told = true;
    far->loss = note.loss;
}

void open_letter(FarChannel* far, uint32_t peer, ChannelEntry* letter) {
    far->letters_heard = received_of(*letter);
    const uint32_t question = question_of(*letter);
    if (letter->comm == kAnswerOnly) {
        if (question != 0) put_answer(far, question, to_own(letter->said));
        return;
    }
    far->letters_received += 1;
    if (letter->comm == kNoteLetter) {
        const FarNote note = note_in(*letter);
        if (note.call != kRejected) note_heard(far, note);
        g_letters.take_note(peer, note);
    } else {
        far->next_told = g_clock.to_own(next_of(*letter));
        far->fruitless = 0;
        letter->said = to_own(letter->said);
        put_entry(far, *letter);
    }
    if (far->letters_received - far->letters_answered < kAnswerEvery) return;
    ChannelEntry answer{};
    answer.comm = kAnswerOnly;
    post_letter(far, answer);
}

// With the lock.
bool take_letter(Thread* thread) {
    int arrived = 0;
    MPI_Status status;
    if (g_letters.incoming == nullptr ||
        g_mpi.Test(&g_letters.incoming, &arrived, &status) != MPI_SUCCESS || arrived == 0) {
        return false;
    }
    g_letters.received += 1;
    ChannelEntry letter = g_letters.inbox;
    if (!await_letter()) g_letters.incoming = nullptr;
    if (thread == nullptr || status.MPI_SOURCE < 0 || status.MPI_SOURCE >= g_observed.count) {
        return true;
    }
    const auto peer = static_cast<uint32_t>(g_observed.ranks[status.MPI_SOURCE]);
    Channel* channel = channel_with(thread, peer);
    if (channel == nullptr || channel->far == nullptr) return true;
    const ChannelLock lock(channel);
    if (lock.held()) open_letter(channel->far, peer, &letter);
    return true;
}

// Falls fast and rises slowly: letters may lose the processor on their way. The first one to a
// partner also connects to it, and does not count. The ticks that count.
uint64_t note_cost(const FarChannel& far, uint64_t took) {
    if (far.letters_sent < 2) return 0;
    const uint64_t cost = g_letters.cost_ticks;
    if (took < cost) {
        g_letters.cost_ticks = cost - (cost - took) / 2;
    } else {
        g_letters.cost_ticks = cost + earlier(took - cost, cost / 16);
    }
    return took;
}

int place_of(uint32_t peer) {
    int low = 0;
    int high = g_observed.count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (static_cast<uint32_t>(g_observed.ranks[middle]) < peer) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const bool found =
        low < g_observed.count && static_cast<uint32_t>(g_observed.ranks[low]) == peer;
    return found ? low : -1;
}

}  // namespace

bool open_letters(NoteTaker take_note) {
    if (!g_clocks_related) return false;
    const auto count = static_cast<size_t>(g_observed.count);
    void* memory = nullptr;
    if (posix_memalign(&memory, alignof(Outgoing), kOutbox * sizeof(Outgoing)) != 0)
        memory = nullptr;
    g_letters.take_note = take_note;
    g_letters.sent_to = static_cast<int*>(calloc(count, sizeof(int)));
    g_letters.outbox = static_cast<Outgoing*>(memory);
    const bool wanted = g_process.options.wait == WaitMode::kFull && memory != nullptr &&
                        g_letters.sent_to != nullptr;
    for (uint32_t i = 0; memory != nullptr && i < kOutbox; ++i) {
        g_letters.outbox[i].request = nullptr;
    }
    // The user may have asked for something else on other ranks.
    if (sum_over_observed(wanted ? 0 : 1) != 0) return false;
    g_letters.cost_ticks = g_process.header->ticks_per_second / kFirstCost;
    g_letters.open = true;  // also where nothing can be received: the end is common to all
    if (!await_letter()) g_letters.incoming = nullptr;
    return true;
}

FarChannel* make_far_channel(uint32_t peer) {
    if (!g_letters.open) return nullptr;
    const int place = place_of(peer);
    if (place < 0) return nullptr;
    void* memory = mmap(nullptr, sizeof(FarChannel), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* far = static_cast<FarChannel*>(memory);
    far->place = static_cast<uint32_t>(place);
    return far;
}

namespace {

bool has_credit(const FarChannel* far) {
    if (far->letters_sent - far->letters_heard < kCredit) [[likely]]
        return true;
    while (take_letter(t_thread)) {
    }
    return far->letters_sent - far->letters_heard < kCredit;
}

}  // namespace

uint64_t send_letter(FarChannel* far, ChannelEntry* entry) {
    const uint64_t begin = now_ticks();
    const LettersLock lock;
    if (!lock.held()) return now_ticks() - begin;
    const bool may = has_credit(far);
    const uint64_t cost = g_letters.cost_ticks;
    const uint64_t spacing = kSpacing * cost;
    if (may) {
        // The message begins when the letter is on its way.
        entry->said.at.real += cost;
        entry->said = to_reference(entry->said);
        set_next(entry, g_clock.to_reference(begin + spacing));
        if (post_letter(far, *entry)) far->letters_sent += 1;
    }
    far->next_letter = begin + spacing;
    const uint64_t took = now_ticks() - begin;
    note_cost(*far, took);
    return took;
}

void send_answer(FarChannel* far, uint32_t question, const Moment& said) {
    const LettersLock lock;
    if (!lock.held()) return;
    ChannelEntry answer{};
    answer.comm = kAnswerOnly;
    answer.said = to_reference(said);
    set_question(&answer, question);
    post_letter(far, answer);
}

uint64_t collect_letters(Thread* thread, FarChannel* far, uint64_t now) {
    if (now < far->next_told) return 0;
    const uint64_t begin = now_ticks();
    const uint32_t before = far->letters_received;
    {
        const LettersLock lock;
        if (!lock.held()) return 0;
        while (take_letter(thread)) {
        }
    }
    if (far->letters_received == before) {
        far->fruitless += 1;
        if (far->fruitless >= kFruitless) far->next_told = begin + kSpacing * g_letters.cost_ticks;
    }
    return now_ticks() - begin;
}

uint64_t send_note(FarChannel* far, const FarNote& note) {
    const LettersLock lock;
    if (!lock.held() || !has_credit(far)) return 0;
    const uint64_t begin = now_ticks();
    if (post_letter(far, letter_with(note))) far->letters_sent += 1;
    return note_cost(*far, now_ticks() - begin);
}

bool take_one_letter(Thread* thread) {
    if (!g_letters.open) return false;
    const LettersLock lock;
    return lock.held() && take_letter(thread);
}

uint64_t letter_cost() { return g_letters.cost_ticks; }

void drain_letters() {
    if (!g_letters.open) return;
    g_letters.open = false;
    const uint64_t until = private_deadline();
    static int expected = 0;
    MPI_Request request = nullptr;
    const bool counted =
        g_mpi.Ireduce_scatter_block(g_letters.sent_to, &expected, 1, g_mpi.integer, g_mpi.sum,
                                    g_observed.comm, &request) == MPI_SUCCESS &&
        await_collective(&request, until);
    while (counted && g_letters.received < expected && g_letters.incoming != nullptr &&
           monotonic_ns() < until) {
        if (!take_letter(nullptr)) usleep(20);
    }
    if (g_letters.incoming != nullptr) {
        g_mpi.Cancel(&g_letters.incoming);
        g_mpi.Wait(&g_letters.incoming, MPI_STATUS_IGNORE);
    }
    for (uint32_t i = 0; i < kOutbox; ++i) {
        MPI_Request* left = &g_letters.outbox[i].request;
        if (*left != nullptr && *left != g_mpi.request_null) {
            await_request(left, until, MPI_STATUS_IGNORE);
        }
    }
}

}  // namespace dwell
