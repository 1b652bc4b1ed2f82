// The call path of a sample, from the registers and the piece of stack that the kernel took with
// it. The work is done when the sample is read, by libunwind's form for other address spaces, which
// never looks at what the stack has become meanwhile.
#ifndef DWELL_RUNTIME_SAMPLING_SAMPLED_PATH_H_
#define DWELL_RUNTIME_SAMPLING_SAMPLED_PATH_H_

#include <stddef.h>
#include <stdint.h>

namespace dwell {

// The registers that frames may be computed from, in the order of their numbers in
// linux/perf_regs.h, as a sample has them.
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

// A module that is loaded, as far as its unwinding tables can be read here.
struct SampledModule {
    uint64_t begin;
    uint64_t end;
    uint64_t header;  // address of .eh_frame_hdr
    uint64_t readable;
    uint64_t readable_end;
    const char* bytes;  // what lies at `readable`
};

// The process that samples were taken in.
struct SampledCode {
    // The module that holds `address`; false: none that is known.
    bool (*find)(const void* process, uint64_t address, SampledModule* module);
    const void* process;
};
extern const SampledCode kOwnCode;

// Once, before the first sample; false: this machine, or an installation without the library, knows
// addresses only.
bool load_sample_unwinder();

// Writes the sampled address and the return addresses outwards, at most `most`; returns how many.
// `*whole`: the path goes to the start of the thread, not only as far as the piece of stack.
// Slow: may look at every loaded object. Not signal-safe.
int trace_sample(const SampledCode& code, const SampledStack& stack, uint64_t* addresses, int most,
                 bool* whole);

// Where the procedure of this process begins that `address`, a return address, lies in; 0: not
// known. Slow.
uint64_t procedure_start(uint64_t address);

// After a module was unloaded, or before samples of another process: addresses may be another
// one's.
void forget_sampled_paths();

}  // namespace dwell

#endif  // DWELL_RUNTIME_SAMPLING_SAMPLED_PATH_H_
