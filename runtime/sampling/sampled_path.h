// The call path of a sample, from the registers and the part of the stack that the kernel stored
// with it. Computed when the sample is read, with libunwind's interface for other address spaces,
// which does not look at the present stack.
#ifndef DWELL_RUNTIME_SAMPLING_SAMPLED_PATH_H_
#define DWELL_RUNTIME_SAMPLING_SAMPLED_PATH_H_

#include <stddef.h>
#include <stdint.h>

namespace dwell {

// Registers from which frames may be computed, in the order of linux/perf_regs.h, as in a sample.
enum SampledRegister : uint32_t {
    kSampledBx,
    kSampledBp,
    kSampledSp,
    kSampledIp,
    kSampledR10,
    kSampledR12,
    kSampledR13,
    kSampledR14,
    kSampledR15,
    kSampledRegisters,
};
extern const uint64_t kSampledRegisterMask;

struct SampledStack {
    const uint64_t* registers;  // kSampledRegisters
    const char* bytes;          // from the stack pointer on
    size_t size;
};

// A loaded module, as far as its unwind tables are readable here.
struct SampledModule {
    uint64_t begin;
    uint64_t end;
    uint64_t header;  // address of .eh_frame_hdr
    uint64_t readable;
    uint64_t readable_end;
    const char* bytes;  // content at `readable`
};

// The process in which samples were taken.
struct SampledCode {
    // The module that contains `address`; false: unknown.
    bool (*find)(const void* process, uint64_t address, SampledModule* module);
    const void* process;
};
extern const SampledCode kOwnCode;

// Called once, before the first sample. False on other machines and without the library: samples
// then have addresses only.
bool load_sample_unwinder();

// Writes the sampled address and the return addresses outwards, at most `most`; returns their
// number.
// `*whole`: the path reaches the start of the thread, not only the end of the stored stack.
// Slow: may search all loaded objects. Not signal-safe.
int trace_sample(const SampledCode& code, const SampledStack& stack, uint64_t* addresses, int most,
                 bool* whole);

// Start of the procedure of this process that contains `address`, a return address; 0: unknown.
// Slow.
uint64_t procedure_start(uint64_t address);

// Clears caches after a module was unloaded and before samples of another process, where addresses
// may mean other modules.
void forget_sampled_paths();

}  // namespace dwell

#endif  // DWELL_RUNTIME_SAMPLING_SAMPLED_PATH_H_
