// Where the samples of a thread go while it makes no MPI call for so long that its ring would fill:
// `dwell run` then takes samples of it in the thread's place, and writes them into memory that the
// thread gave it. The thread reads them at its next call. Shared by both processes.
#ifndef DWELL_RUNTIME_SAMPLING_SAMPLE_SPILL_H_
#define DWELL_RUNTIME_SAMPLING_SAMPLE_SPILL_H_

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/contract/python_layout.h"

namespace dwell {

// The variable with the name of `dwell run`'s socket, in the abstract namespace.
constexpr const char* kDrainVariable = "DWELL_DRAIN";

// A message to it, which carries two descriptors: the thread's event and the spill.
struct DrainRequest {
    perf_event_attr attributes;  // of the event
    uint64_t ring_bytes;
    int32_t process;
    int32_t thread;
    PythonPlaces python;
};

// In the place of a sample of such a thread, by its header's type: the names of its frames
// (python_layout.h), innermost first, each with its zero. kPythonCut: there were more.
constexpr uint32_t kPythonSample = 0x1000;
constexpr uint16_t kPythonCut = 1;  // perf_event_header::misc
constexpr size_t kPythonSample_bytes = 8192;

constexpr uint64_t kSmallestPathRing = 32 << 10;  // of three samples with stacks

constexpr size_t kSpillBytes = 4 << 20;  // of memory that is only taken when it is written to

// When it is full every second record goes, and from then on each stands for twice as many.
struct SampleSpill {
    uint32_t lock;    // held by who reads or writes this; see SpillLock
    uint32_t ended;   // the thread reads no more
    uint32_t own;     // not 0: the thread does work of dwell's, which is no computation
    uint32_t taken;   // not 0: `dwell run` takes the samples
    uint32_t stride;  // each record stands for so many
    uint32_t padding;
    uint64_t seen;    // kept or not
    uint64_t lost;    // as the kernel says
    uint64_t writes;  // differs when there is something to read
    uint64_t reads;   // by the thread, of its own ring as well
    uint64_t bytes;   // of `records`
    char records[kSpillBytes - 64];
};
static_assert(sizeof(SampleSpill) == kSpillBytes);

class SpillLock {
  public:
    SpillLock(SampleSpill* spill, uint32_t tries) : spill_(spill) {
        for (uint32_t i = 0; spill_ != nullptr && i < tries && !held_; ++i) {
            held_ = __atomic_exchange_n(&spill_->lock, 1u, __ATOMIC_ACQUIRE) == 0;
        }
    }
    ~SpillLock() {
        if (held_) __atomic_store_n(&spill_->lock, 0u, __ATOMIC_RELEASE);
    }
    SpillLock(const SpillLock&) = delete;
    SpillLock& operator=(const SpillLock&) = delete;
    bool held() const { return held_; }

  private:
    SampleSpill* spill_;
    bool held_ = false;
};

// Records in a ring of `ring_bytes`, a power of two, that begins at `data`.
inline void copy_from_ring(const char* data, uint64_t ring_bytes, uint64_t at, void* to,
                           size_t bytes) {
    const size_t begin = at & (ring_bytes - 1);
    const size_t first = bytes < ring_bytes - begin ? bytes : ring_bytes - begin;
    memcpy(to, data + begin, first);
    memcpy(static_cast<char*>(to) + first, data, bytes - first);
}

// The head of the record at `at`; false: there is none.
inline bool spilled_record(const SampleSpill& spill, uint64_t at, perf_event_header* header) {
    const uint64_t bytes =
        spill.bytes < sizeof(spill.records) ? spill.bytes : sizeof(spill.records);
    if (at >= bytes || bytes - at < sizeof(*header)) return false;
    memcpy(header, spill.records + at, sizeof(*header));
    return header->size >= sizeof(*header) && header->size <= bytes - at;
}

// Keeps one record.
inline void spill_record(const char* data, uint64_t ring_bytes, uint64_t at, size_t size,
                         SampleSpill* spill) {
    if (spill->stride == 0) spill->stride = 1;
    ++spill->seen;
    __atomic_store_n(&spill->writes, spill->writes + 1, __ATOMIC_RELEASE);
    if (spill->seen % spill->stride != 0) return;
    while (spill->bytes > sizeof(spill->records) - size) {
        uint64_t kept = 0;
        uint64_t number = 0;
        perf_event_header header;
        for (uint64_t from = 0; spilled_record(*spill, from, &header); from += header.size) {
            if (number++ % 2 == 0) continue;
            memmove(spill->records + kept, spill->records + from, header.size);
            kept += header.size;
        }
        spill->bytes = kept;
        spill->stride *= 2;
        if (spill->seen % spill->stride != 0) return;
    }
    copy_from_ring(data, ring_bytes, at, spill->records + spill->bytes, size);
    spill->bytes += size;
}

// Moves what is in the ring between `tail` and `head`.
inline void spill_ring(const char* data, uint64_t ring_bytes, uint64_t tail, uint64_t head,
                       SampleSpill* spill) {
    while (tail < head) {
        perf_event_header header;
        copy_from_ring(data, ring_bytes, tail, &header, sizeof(header));
        if (header.size < sizeof(header)) break;
        if (header.type == PERF_RECORD_SAMPLE) {
            spill_record(data, ring_bytes, tail, header.size, spill);
        } else if (header.type == PERF_RECORD_LOST) {
            uint64_t id_and_lost[2];
            copy_from_ring(data, ring_bytes, tail + sizeof(header), id_and_lost,
                           sizeof(id_and_lost));
            spill->lost += id_and_lost[1];
        }
        tail += header.size;
    }
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_SAMPLING_SAMPLE_SPILL_H_
