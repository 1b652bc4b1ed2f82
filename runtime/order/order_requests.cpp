// The choice among the requests of one call, on the virtual clock.
#include "runtime/order/order_requests.h"

#include "runtime/order/order_choice.h"

namespace dwell {

namespace {

// One request of the call.
struct Option {
    uint64_t when;  // virtual completion time, or kNotSent
    uint32_t peer;  // who completes it; kNoPeer: complete, or not known
    uint32_t comm;
    uint32_t post_order;
    int32_t tag;
    bool is_one;
    bool is_complete;
    bool at_once;
    bool is_picked;  // to be completed by MPI
};
static_assert(sizeof(Option) + sizeof(MPI_Request) <= kPickBytes);

enum class Fill { kReady, kNoChoice, kPosted, kRemote, kUnknown };

class RequestChoice {
  public:
    RequestChoice(Call* call, const Before* before, int count, Pick pick, bool waits, void* room)
        : call_(call),
          before_(before),
          count_(count),
          pick_(pick),
          waits_(waits),
          options_(static_cast<Option*>(room)),
          requests_(reinterpret_cast<MPI_Request*>(options_ + count)),
          arbiter_(call) {}
    Picked choose();

  private:
    Fill fill();
    Fill fill_one(int which);
    bool refresh();
    bool refresh_one(int which, Option* option);
    bool is_any_complete() const;
    void select();
    bool is_selected(int which) const;
    bool is_complete() const;
    bool may_take();
    bool is_decided_by(int which) const;
    Picked picked();
    Picked give_up(uint64_t ThreadRecord::*counter);

    Call* call_;
    const Before* before_;
    int count_;
    Pick pick_;
    bool waits_;
    Option* options_;
    MPI_Request* requests_;
    MessageArbiter arbiter_;
    DeferredReceive* deferred_ = nullptr;
    int deferred_index_ = -1;
    uint32_t deferred_comm_ = 0;
    Senders senders_;
    Candidate deferred_candidate_{kNotSent, 0};
    int first_ = -1;        // index of the chosen one, or of the first of several
    bool is_past_ = false;  // it was complete when the call began
};

Fill RequestChoice::fill_one(int which) {
    const Before& before = before_[which];
    Option* option = &options_[which];
    *option = {kNotSent, kNoPeer, 0, 0, 0, false, false, false, false};
    if (before.handle == g_mpi.request_null) return Fill::kReady;
    if (before.handle == g_mpi.request_empty) {
        *option = {0, kNoPeer, 0, 0, 0, true, true, true, false};
        return Fill::kReady;
    }
    if (before.found.entry == nullptr) return Fill::kUnknown;
    const Request& request = before.found.copy;
    if (!request.active) return Fill::kReady;
    option->is_one = true;
    if (request.kind == kSendRequest) {
        option->peer = request.entry != nullptr ? request.peer : kNoPeer;
        return Fill::kReady;
    }
    if (request.kind != kReceiveRequest) return Fill::kPosted;
    if (deferred_ != nullptr && before.handle == deferred_->handle) {
        deferred_index_ = which;
        return Fill::kReady;
    }
    if (request.peer == kNoPeer) return Fill::kPosted;
    Channel* channel = channel_with(call_->thread, request.peer);
    if (channel == nullptr || channel->remote != nullptr) return Fill::kRemote;
    if (request.comm == 0 || request.post_order == 0) return Fill::kUnknown;
    if (!is_post_order_known(channel, request.post_order)) return Fill::kUnknown;
    option->peer = request.peer;
    option->comm = request.comm;
    option->post_order = request.post_order;
    option->tag = request.tag;
    return Fill::kReady;
}

Fill RequestChoice::fill() {
    for (int i = 0; i < count_ && deferred_ == nullptr; ++i)
        deferred_ = next_deferred(before_[i].handle);
    if (deferred_ == nullptr) post_deferred();
    int ones = 0;
    for (int i = 0; i < count_; ++i) {
        const Fill fill = fill_one(i);
        if (fill != Fill::kReady) return fill;
        if (options_[i].is_one) ++ones;
    }
    if (ones < 2 && deferred_ == nullptr) return Fill::kNoChoice;
    if (deferred_ == nullptr) return Fill::kReady;
    const CommDefinition* definition = definition_of_comm(call_->thread, deferred_->comm);
    if (definition == nullptr || !senders_.find(call_->thread, deferred_->comm, *definition))
        return Fill::kRemote;
    deferred_comm_ = definition->short_id;
    return Fill::kReady;
}

// False when it is complete but the time is not known.
bool RequestChoice::refresh_one(int which, Option* option) {
    if (which == deferred_index_) {
        deferred_candidate_ = senders_.earliest(deferred_comm_, deferred_->tag);
        option->when = deferred_candidate_.sent;
        const int source = option->when != kNotSent ? deferred_candidate_.rank : MPI_ANY_SOURCE;
        return is_there(source, deferred_->tag, deferred_->comm, &option->is_complete) &&
               (option->when != kNotSent || !option->is_complete);
    }
    const Request& request = before_[which].found.copy;
    if (!option->is_complete) {
        int flag = 0;
        g_mpi.Request_get_status(before_[which].handle, &flag, MPI_STATUS_IGNORE);
        option->is_complete = flag != 0;
    }
    if (request.kind == kSendRequest) {
        EnterStamp answer;
        const bool answered =
            option->peer != kNoPeer &&
            answer_of(g_channels[option->peer], {request.entry, request.number}, &answer);
        option->when = answered ? answer.at.virt : option->is_complete ? 0 : kNotSent;
        return true;
    }
    const ChannelEntry* entry =
        find_entry(g_channels[option->peer], option->comm, option->tag, option->post_order);
    if (entry != nullptr) option->when = entry->stamp.at.virt;
    return option->when != kNotSent || !option->is_complete;
}

bool RequestChoice::refresh() {
    for (int i = 0; i < count_; ++i) {
        Option* option = &options_[i];
        const bool is_known =
            option->is_complete && option->when != kNotSent && i != deferred_index_;
        if (!option->is_one || is_known) continue;
        if (!refresh_one(i, option)) return false;
    }
    return true;
}

bool RequestChoice::is_any_complete() const {
    for (int i = 0; i < count_; ++i) {
        if (options_[i].is_complete) return true;
    }
    return false;
}

void RequestChoice::select() {
    first_ = -1;
    is_past_ = false;
    for (int i = 0; i < count_; ++i) {
        const Option& option = options_[i];
        if (!option.is_one || option.when == kNotSent) continue;
        if (option.when <= call_->start_virtual) {
            first_ = i;
            is_past_ = true;
            return;
        }
        if (first_ < 0 || option.when < options_[first_].when) first_ = i;
    }
}

bool RequestChoice::is_selected(int which) const {
    if (which == first_) return true;
    return pick_ == Pick::kSome && is_past_ && options_[which].is_one &&
           options_[which].when <= call_->start_virtual;
}

bool RequestChoice::is_complete() const {
    for (int i = 0; i < count_; ++i) {
        if (is_selected(i) && !options_[i].is_complete) return false;
    }
    return true;
}

// Whether the choice would change if that request's partner came in time.
bool RequestChoice::is_decided_by(int which) const {
    if (!options_[which].is_one) return false;
    if (which == deferred_index_) return which <= first_ || !is_past_ || pick_ == Pick::kSome;
    if (is_selected(which) || options_[which].when != kNotSent) return false;
    return which < first_ || !is_past_ || pick_ == Pick::kSome;
}

bool RequestChoice::may_take() {
    const uint64_t limit = is_past_ ? call_->start_virtual : options_[first_].when;
    if (!arbiter_.look(limit)) return false;
    for (int i = 0; i < count_; ++i) {
        if (!is_decided_by(i)) continue;
        const bool may_send = i == deferred_index_ ? senders_.can_send_before(arbiter_)
                                                   : arbiter_.can_send_before(options_[i].peer);
        if (may_send) return false;
    }
    return true;
}

Picked RequestChoice::give_up(uint64_t ThreadRecord::*counter) {
    post_deferred();
    Picked picked;
    picked.left_to_mpi = counter;
    return picked;
}

Picked RequestChoice::picked() {
    Picked picked;
    picked.known = true;
    picked.requests = requests_;
    picked.room = options_;
    picked.at_once = true;
    for (int i = 0; i < count_; ++i) {
        requests_[i] = g_mpi.request_null;
        if (!is_selected(i)) continue;
        picked.count += 1;
        picked.at_once = picked.at_once && options_[i].at_once;
        if (i == deferred_index_) {
            picked.deferred = i;
        } else {
            requests_[i] = before_[i].handle;
            options_[i].is_picked = true;
        }
    }
    return picked;
}

Picked RequestChoice::choose() {
    const uint64_t began = now_ticks();
    switch (fill()) {
        case Fill::kReady:
            break;
        case Fill::kNoChoice:
            return give_up(nullptr);
        case Fill::kPosted:
            return give_up(&ThreadRecord::order_posted);
        case Fill::kRemote:
            return give_up(&ThreadRecord::order_remote);
        case Fill::kUnknown:
            return give_up(&ThreadRecord::order_unknown);
    }
    stamp_virtual(call_);
    uint64_t arrived = 0;  // when the chosen request was complete
    uint64_t missed_since = 0;
    int published = -2;
    uint64_t published_when = 0;
    for (bool first = true;; first = false) {
        if (!refresh()) return give_up(&ThreadRecord::order_unknown);
        for (int i = 0; i < count_ && first; ++i) options_[i].at_once = options_[i].is_complete;
        const bool any = is_any_complete();
        if (!waits_ && !any) {
            Picked none;
            none.known = true;
            return none;
        }
        select();
        const uint64_t when = first_ >= 0 ? options_[first_].when : kNotSent;
        if (published != first_ || published_when != when) {
            arbiter_.publish_state(Doing::kWaits, when, 0, 0);
            published = first_;
            published_when = when;
            arrived = missed_since = 0;
            continue;  // sees messages that were stamped before the state was published
        }
        if (first_ < 0) {
            MessageArbiter::pause(false);
            continue;
        }
        const bool complete = is_complete();
        if (complete && arrived == 0) arrived = now_ticks();
        if (complete && may_take()) {
            const bool deferred = deferred_index_ >= 0 && is_selected(deferred_index_);
            if (deferred && !deliver(call_, deferred_, deferred_candidate_.rank, false)) {
                return give_up(nullptr);  // counted when it is posted
            }
            const Picked result = picked();
            call_->thread->record->order_kept += 1;
            call_->inner_overhead += now_ticks() - (result.at_once ? began : arrived);
            return result;
        }
        if (arbiter_.is_hopeless() || (!complete && any && arbiter_.is_missed(&missed_since))) {
            return give_up(&ThreadRecord::order_unknown);
        }
        MessageArbiter::pause(complete);
    }
}

}  // namespace

Picked pick_requests(Call* call, const Before* before, int count, Pick pick, bool waits,
                     void* room) {
    if (g_process.concurrent || room == nullptr) {
        post_deferred();
        Picked picked;
        picked.left_to_mpi = &ThreadRecord::order_unknown;
        return picked;
    }
    return RequestChoice(call, before, count, pick, waits, room).choose();
}

void put_back(const Picked& picked, int count, MPI_Request* requests) {
    const auto* options = static_cast<const Option*>(picked.room);
    for (int i = 0; i < count; ++i) {
        if (options[i].is_picked) requests[i] = picked.requests[i];
    }
}

int give_status(MPI_Request handle, int result, MPI_Status* status) {
    const DeferredReceive* receive = delivered(handle);
    if (receive == nullptr) return result;
    const int error = status->MPI_ERROR;
    *status = receive->status;
    status->MPI_ERROR = error;
    return result == MPI_SUCCESS ? receive->result : result;
}

int add_delivered(const Picked& picked, MPI_Request handle, int result, int* completed,
                  int* indices, MPI_Status* statuses) {
    int at = *completed == MPI_UNDEFINED ? 0 : *completed;
    *completed = at + 1;
    for (; at > 0 && indices[at - 1] > picked.deferred; --at) {
        indices[at] = indices[at - 1];
        statuses[at] = statuses[at - 1];
    }
    indices[at] = picked.deferred;
    statuses[at].MPI_ERROR = MPI_SUCCESS;
    return give_status(handle, result, &statuses[at]);
}

Delivery deliver_to(Call* call, MPI_Request handle, bool waits) {
    DeferredReceive* deferred = next_deferred(handle);
    if (deferred != nullptr) {
        bool there = false;
        is_there(MPI_ANY_SOURCE, deferred->tag, deferred->comm, &there);
        if (!there && !waits) return Delivery::kNothingThere;
        const int source = choose_source(call, deferred->tag, deferred->comm, !waits);
        if (source == kNoSource) return Delivery::kNothingThere;
        if (source >= 0 && deliver(call, deferred, source, waits)) {
            return there ? Delivery::kAtOnce : Delivery::kLater;
        }
        call->thread->record->order_kept -= source >= 0 ? 1 : 0;
    }
    post_deferred();
    return Delivery::kNone;
}

void deliver_all(Call* call, const Before* before, int count) {
    for (int i = 0; i < count && g_deferred != 0;) {
        const bool is_next = next_deferred(before[i].handle) != nullptr;
        if (is_next && deliver_to(call, before[i].handle, true) == Delivery::kNone) return;
        i = is_next ? 0 : i + 1;
    }
    post_deferred();
}

}  // namespace dwell
