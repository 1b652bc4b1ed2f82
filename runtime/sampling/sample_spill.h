// Memory shared with `dwell run`. While a thread makes no MPI call for so long that its ring would
// fill, `dwell run` takes samples in the thread's place and writes them here; the thread reads them
// at its next call.
#ifndef DWELL_RUNTIME_SAMPLING_SAMPLE_SPILL_H_
#define DWELL_RUNTIME_SAMPLING_SAMPLE_SPILL_H_

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/contract/python_layout.h"

namespace dwell {

// Environment variable with the name of `dwell run`'s socket, in the abstract namespace.
constexpr const char* kDrainVariable = "DWELL_DRAIN";

// Request to `dwell run`, sent with two descriptors: the thread's event and the spill.
struct DrainRequest {
    perf_event_attr attributes;  // attributes of the event
    uint64_t ring_bytes;
    int32_t process;
    int32_t thread;
    PythonPlaces python;
};

// Record type for a thread that runs Python: the names of its frames (python_layout.h), innermost
// first, zero-terminated. kPythonCut: some were left out.
constexpr uint32_t kPythonSample = 0x1000;
constexpr uint16_t kPythonCut = 1;  // perf_event_header::misc
constexpr size_t kPythonSample_bytes = 8192;

constexpr uint64_t kSmallestPathRing = 32 << 10;  // three samples with stacks

constexpr size_t kSpillBytes = 4 << 20;  // allocated by the system when it is written to

// When it is full every second record is dropped, and each remaining one has twice the weight.
struct SampleSpill {
    uint32_t lock;    // held for reading and writing; see SpillLock
    uint32_t ended;   // the thread does not read any more
    uint32_t own;     // not 0: the thread is inside dwell, which is no computation
    uint32_t taken;   // not 0: `dwell run` takes the samples
    uint32_t stride;  // weight of each record
    uint32_t padding;
    uint64_t seen;    // samples kept or dropped
    uint64_t lost;    // samples lost as reported by the kernel
    uint64_t writes;  // changes when there is something to read
    uint64_t reads;   // readings by the thread, of its own ring as well
    uint64_t bytes;   // used bytes of `records`
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

// Copies from a ring of `ring_bytes`, a power of two, that begins at `data`.
inline void copy_from_ring(const char* data, uint64_t ring_bytes, uint64_t at, void* to,
                           size_t bytes) {
    const size_t begin = at & (ring_bytes - 1);
    const size_t first = bytes < ring_bytes - begin ? bytes : ring_bytes - begin;
    memcpy(to, data + begin, first);
    memcpy(static_cast<char*>(to) + first, data, bytes - first);
}

// Reads the header of the record at `at`; false: there is none.
inline bool spilled_record(const SampleSpill& spill, uint64_t at, perf_event_header* header) {
    const uint64_t bytes =
        spill.bytes < sizeof(spill.records) ? spill.bytes : sizeof(spill.records);
    if (at >= bytes || bytes - at < sizeof(*header)) return false;
    memcpy(header, spill.records + at, sizeof(*header));
    return header->size >= sizeof(*header) && header->size <= bytes - at;
}

// Stores one record.
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

// Moves the records between `tail` and `head` of the ring.
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
