// Full events of messages, collectives and requests.
#include "runtime/wrappers/mpi_semantics.h"

namespace dwell {

namespace {

uint32_t rank_in(uint32_t peer) {
    return peer >> kPeerRankBits == 0 && peer < kEventNobody ? peer : kEventNobody;
}

// Of the call's beginning, and of its end as far as it is known.
uint64_t begin_of(const Call* call) {
    const ThreadRecord* const record = call->thread->record;
    const uint64_t ahead = record->intrusion_ticks + record->paused_ticks;
    return call->start_ticks - ahead - overhead_before(call);
}
uint64_t end_of(const Call* call) { return begin_of(call) + call->ticks; }

uint32_t id_of(Thread* thread, MPI_Comm comm) {
    if (comm == g_mpi.comm_world) return short_comm_id(kWorldId);
    const CommDefinition* const definition = definition_of_comm(thread, comm);
    return definition != nullptr ? definition->short_id : 0;
}

}  // namespace

void write_message(Call* call, EventKind kind, uint32_t peer, MPI_Comm comm, int tag,
                   uint64_t bytes) {
    write_message_of(call, id_of(call->thread, comm), kind, peer, tag, bytes);
}

void write_message_of(Call* call, uint32_t comm, EventKind kind, uint32_t peer, int tag,
                      uint64_t bytes) {
    note_begin(call);
    const uint64_t at = kind == EventKind::kSend ? begin_of(call) : end_of(call);
    write_event(call->thread, kind, rank_in(peer), at, bytes,
                event_message(comm, static_cast<uint32_t>(tag)));
}

void write_one_sided(Call* call, uint32_t peer, uint64_t put, uint64_t got) {
    note_begin(call);
    write_event(call->thread, EventKind::kOneSided, rank_in(peer), begin_of(call), put, got);
}

void write_collective(Call* call, const EnteredCollective& collective, int root, uint64_t sent,
                      uint64_t received) {
    note_begin(call);
    const uint32_t comm = collective.definition != nullptr ? collective.definition->short_id : 0;
    write_event(call->thread, EventKind::kCollective,
                root >= 0 ? static_cast<uint32_t>(root) : kEventNobody, end_of(call), sent,
                received, event_message(comm, collective.number));
}

void write_request(Call* call, EventKind kind, const Request* entry) {
    if (entry == nullptr) return;
    note_begin(call);
    const uint64_t at = kind == EventKind::kStart ? begin_of(call) : end_of(call);
    write_event(call->thread, kind, index_of(static_cast<const RequestEntry*>(entry)), at);
}

}  // namespace dwell
