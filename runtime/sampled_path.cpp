#include "runtime/sampled_path.h"

#include <dlfcn.h>
#include <libunwind.h>
#include <link.h>
#include <string.h>

#include "runtime/find_symbol.h"
#include "runtime/modules.h"

namespace dwell {

#if defined(__x86_64__)

// PERF_REG_X86_BX, _BP, _SP, _IP, _R10, _R12 to _R15.
const uint64_t kSampledRegisterMask = 1u << 1 | 1u << 6 | 1u << 7 | 1u << 8 | 1u << 18 | 0xfu << 20;

namespace {

constexpr unw_regnum_t kNumbers[kSampledRegisters] = {
    UNW_X86_64_RBX, UNW_X86_64_RBP, UNW_X86_64_RSP, UNW_X86_64_RIP, UNW_X86_64_R10,
    UNW_X86_64_R12, UNW_X86_64_R13, UNW_X86_64_R14, UNW_X86_64_R15,
};

struct SampleUnwinder {
    unw_addr_space_t (*create)(unw_accessors_t*, int);
    int (*set_policy)(unw_addr_space_t, unw_caching_policy_t);
    void (*flush)(unw_addr_space_t, unw_word_t, unw_word_t);
    int (*init)(unw_cursor_t*, unw_addr_space_t, void*);
    int (*step)(unw_cursor_t*);
    int (*get_reg)(unw_cursor_t*, unw_regnum_t, unw_word_t*);
    int (*get_info)(unw_addr_space_t, unw_word_t, unw_proc_info_t*, void*);
    int (*search)(unw_addr_space_t, unw_word_t, unw_dyn_info_t*, unw_proc_info_t*, int, void*);
    unw_addr_space_t space;
};
SampleUnwinder g_samples;

// One sample, and the module whose tables are being read for it.
struct Reading {
    const SampledCode* code;
    SampledStack stack;
    SampledModule module;
};

// The head of .eh_frame_hdr (LSB Core, Exception Frames): versions and encodings, then the place of
// .eh_frame and the number of entries.
struct FrameHeader {
    uint8_t version;
    uint8_t frame_encoding;
    uint8_t count_encoding;
    uint8_t table_encoding;
    int32_t frame;
    uint32_t entries;
};
constexpr uint8_t kRelativeToHere4 = 0x1b;   // DW_EH_PE_pcrel | DW_EH_PE_sdata4
constexpr uint8_t kUnsigned4 = 0x03;         // DW_EH_PE_udata4
constexpr uint8_t kRelativeToTable4 = 0x3b;  // DW_EH_PE_datarel | DW_EH_PE_sdata4
constexpr uint32_t kEntryBytes = 8;

struct Tables {
    uintptr_t address;  // looked for
    SampledModule* module;
};

int find_tables(dl_phdr_info* object, size_t, void* data) {
    const auto* const tables = static_cast<const Tables*>(data);
    if (segment_at(object, tables->address) == nullptr) return 0;
    SampledModule* const module = tables->module;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = object->dlpi_phdr[i];
        const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_GNU_EH_FRAME) {
            module->header = begin;
        } else if (segment.p_type == PT_LOAD) {
            if (begin < module->begin) module->begin = begin;
            if (begin + segment.p_memsz > module->end) module->end = begin + segment.p_memsz;
        }
    }
    return 1;
}

bool find_own_module(const void*, uint64_t address, SampledModule* module) {
    *module = {UINT64_MAX, 0, 0, 0, 0, nullptr};
    Tables tables{address, module};
    dl_iterate_phdr(find_tables, &tables);
    module->readable = module->begin;
    module->readable_end = module->end;
    module->bytes = reinterpret_cast<const char*>(module->begin);
    return module->header != 0;
}

// False: not there.
bool read_module(const SampledModule& module, uint64_t address, void* to, size_t bytes) {
    const bool readable = address >= module.readable && address < module.readable_end &&
                          module.readable_end - address >= bytes;
    if (readable) memcpy(to, module.bytes + (address - module.readable), bytes);
    return readable;
}

int find_procedure(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t* info, int needed,
                   void* data) {
    auto* const reading = static_cast<Reading*>(data);
    SampledModule* const module = &reading->module;
    FrameHeader header{};
    const bool known = reading->code->find(reading->code->process, ip, module) &&
                       read_module(*module, module->header, &header, sizeof(header));
    if (!known || header.version != 1 || header.frame_encoding != kRelativeToHere4 ||
        header.count_encoding != kUnsigned4 || header.table_encoding != kRelativeToTable4) {
        return -UNW_ENOINFO;
    }
    unw_dyn_info_t where;
    memset(&where, 0, sizeof(where));
    where.format = UNW_INFO_FORMAT_REMOTE_TABLE;
    where.start_ip = module->begin;
    where.end_ip = module->end;
    where.u.rti.segbase = module->header;
    where.u.rti.table_data = module->header + sizeof(header);
    where.u.rti.table_len = uint64_t{header.entries} * kEntryBytes / sizeof(unw_word_t);
    return g_samples.search(space, ip, &where, info, needed, data);
}

void release_procedure(unw_addr_space_t, unw_proc_info_t*, void*) {}
int no_dynamic_procedures(unw_addr_space_t, unw_word_t*, void*) { return -UNW_ENOINFO; }

// The piece of stack, and the tables of the module under way; whatever else a damaged frame points
// to is not there.
int read_memory(unw_addr_space_t, unw_word_t address, unw_word_t* value, int write, void* data) {
    const auto* const reading = static_cast<const Reading*>(data);
    if (write != 0) return -UNW_EINVAL;
    const SampledStack& stack = reading->stack;
    const uint64_t offset = address - stack.registers[kSampledSp];
    if (offset < stack.size && stack.size - offset >= sizeof(*value)) {
        memcpy(value, stack.bytes + offset, sizeof(*value));
        return 0;
    }
    const SampledModule& module = reading->module;
    if (read_module(module, address, value, sizeof(*value))) return 0;
    // Where tables say who handles exceptions: no frame depends on it.
    *value = 0;
    return address >= module.begin && address < module.end ? 0 : -UNW_EINVAL;
}

// Registers that no frame is computed from are said to be 0.
int read_register(unw_addr_space_t, unw_regnum_t number, unw_word_t* value, int write, void* data) {
    const auto* const reading = static_cast<const Reading*>(data);
    if (write != 0) return -UNW_EBADREG;
    *value = 0;
    for (uint32_t i = 0; i < kSampledRegisters; ++i) {
        if (kNumbers[i] == number) *value = reading->stack.registers[i];
    }
    return 0;
}

int no_float(unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*) { return -UNW_EBADREG; }
int no_resume(unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; }
int no_name(unw_addr_space_t, unw_word_t, char*, size_t, unw_word_t*, void*) {
    return -UNW_ENOINFO;
}

}  // namespace

bool load_sample_unwinder() {
    SampleUnwinder& u = g_samples;
    if (u.space != nullptr) return true;
    void* const library = dlopen("libunwind-x86_64.so.8", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    const bool found = find_symbol(library, "_Ux86_64_create_addr_space", &u.create) &&
                       find_symbol(library, "_Ux86_64_set_caching_policy", &u.set_policy) &&
                       find_symbol(library, "_Ux86_64_flush_cache", &u.flush) &&
                       find_symbol(library, "_Ux86_64_init_remote", &u.init) &&
                       find_symbol(library, "_Ux86_64_step", &u.step) &&
                       find_symbol(library, "_Ux86_64_get_reg", &u.get_reg) &&
                       find_symbol(library, "_Ux86_64_get_proc_info_by_ip", &u.get_info) &&
                       find_symbol(library, "_Ux86_64_dwarf_search_unwind_table", &u.search);
    if (!found) return false;
    unw_accessors_t accessors{find_procedure,
                              release_procedure,
                              no_dynamic_procedures,
                              read_memory,
                              read_register,
                              no_float,
                              no_resume,
                              no_name};
    u.space = u.create(&accessors, 0);
    if (u.space == nullptr) return false;
    u.set_policy(u.space, UNW_CACHE_GLOBAL);
    return true;
}

const SampledCode kOwnCode{find_own_module, nullptr};

int trace_sample(const SampledCode& code, const SampledStack& stack, uint64_t* addresses, int most,
                 bool* whole) {
    Reading reading{&code, stack, {}};
    *whole = false;
    int found = 0;
    if (most > 0) addresses[found++] = stack.registers[kSampledIp];
    unw_cursor_t cursor;
    if (g_samples.space == nullptr || g_samples.init(&cursor, g_samples.space, &reading) != 0) {
        return found;
    }
    while (found < most) {
        const int step = g_samples.step(&cursor);
        *whole = step == 0;
        unw_word_t address = 0;
        if (step <= 0 || g_samples.get_reg(&cursor, UNW_REG_IP, &address) != 0) break;
        *whole = address == 0;
        if (*whole) break;
        addresses[found++] = address;
    }
    return found;
}

uint64_t procedure_start(uint64_t address) {
    if (g_samples.space == nullptr || address == 0) return 0;
    const uint64_t nothing[kSampledRegisters] = {};
    Reading reading{&kOwnCode, {nothing, nullptr, 0}, {}};
    unw_proc_info_t info;
    const bool found = g_samples.get_info(g_samples.space, address - 1, &info, &reading) == 0;
    return found ? info.start_ip : 0;
}

void forget_sampled_paths() {
    if (g_samples.space != nullptr) g_samples.flush(g_samples.space, 0, 0);
}

#else

const uint64_t kSampledRegisterMask = 0;
bool load_sample_unwinder() { return false; }
const SampledCode kOwnCode{nullptr, nullptr};
int trace_sample(const SampledCode&, const SampledStack&, uint64_t*, int, bool*) { return 0; }
uint64_t procedure_start(uint64_t) { return 0; }
void forget_sampled_paths() {}

#endif

}  // namespace dwell
