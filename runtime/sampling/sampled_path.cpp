// Unwinds sampled stacks.
#include "runtime/sampling/sampled_path.h"

#include <dlfcn.h>
#include <libunwind.h>
#include <link.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <iterator>

#include "runtime/calltree/modules.h"
#include "runtime/process/find_symbol.h"

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

// A cached path outwards from the caller of a sampled procedure. It depends only on the stack words
// by which it was found and on the frame pointer: where these are equal, so is the path.
struct CachedWalk {
    struct Word {
        uint64_t address;
        uint64_t value;
    };
    uint64_t ip;
    uint64_t sp;
    uint64_t bp;
    uint32_t epoch;  // 0: empty
    uint32_t words;
    uint32_t frames;
    Word word[96];
    uint64_t addresses[48];
};
constexpr size_t kCachedWalks = 64;
CachedWalk g_walks[kCachedWalks];
std::atomic<uint32_t> g_epoch{1};
std::atomic<bool> g_walks_taken{false};  // used by one thread at a time; others do without

// A sample being unwound, and the module whose tables are read for it.
struct Reading {
    const SampledCode* code;
    SampledStack stack;
    SampledModule module;
    CachedWalk* walk;  // path being recorded, or null
};

bool read_stack(const SampledStack& stack, uint64_t address, uint64_t* value) {
    const uint64_t offset = address - stack.registers[kSampledSp];
    if (offset >= stack.size || stack.size - offset < sizeof(*value)) return false;
    memcpy(value, stack.bytes + offset, sizeof(*value));
    return true;
}

void note_word(CachedWalk* walk, uint64_t address, uint64_t value) {
    if (address < walk->sp) return;  // in the sampled procedure's frame: the frame pointer
    const uint32_t at = walk->words++;
    if (at < std::size(walk->word)) walk->word[at] = {address, value};
}

bool goes_here(const CachedWalk& walk, const SampledStack& stack) {
    for (uint32_t i = 0; i < walk.words; ++i) {
        uint64_t value = 0;
        if (!read_stack(stack, walk.word[i].address, &value) || value != walk.word[i].value)
            return false;
    }
    return true;
}

// The header of .eh_frame_hdr (LSB Core, Exception Frames): versions and encodings, then the
// address of .eh_frame and the number of entries.
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
    uintptr_t address;  // address to look for
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
    // Memory between segments may be unreadable. Tables are read by words.
    const ElfW(Phdr)* const of_tables = segment_at(object, module->header);
    if (of_tables == nullptr) return 1;
    module->readable = object->dlpi_addr + of_tables->p_vaddr;
    module->readable_end = (module->readable + of_tables->p_filesz + 7) & ~uint64_t{7};
    module->bytes = reinterpret_cast<const char*>(module->readable);
    return 1;
}

bool find_own_module(const void*, uint64_t address, SampledModule* module) {
    *module = {UINT64_MAX, 0, 0, 0, 0, nullptr};
    Tables tables{address, module};
    dl_iterate_phdr(find_tables, &tables);
    return module->bytes != nullptr;
}

// False: not readable.
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

// Reads the stored stack and the tables of the current module; anything else that a damaged frame
// points to is reported as missing.
int read_memory(unw_addr_space_t, unw_word_t address, unw_word_t* value, int write, void* data) {
    const auto* const reading = static_cast<const Reading*>(data);
    if (write != 0) return -UNW_EINVAL;
    if (read_stack(reading->stack, address, value)) {
        if (reading->walk != nullptr) note_word(reading->walk, address, *value);
        return 0;
    }
    const SampledModule& module = reading->module;
    if (read_module(module, address, value, sizeof(*value))) return 0;
    // Personality data in the tables: no frame depends on it.
    *value = 0;
    return address >= module.begin && address < module.end ? 0 : -UNW_EINVAL;
}

// Registers from which no frame is computed read as 0.
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

namespace {

// The cache slot for a path, which may hold another path; null where the unwinder gives too little.
CachedWalk* walk_at(unw_cursor_t* cursor, uint64_t ip) {
    CachedWalk wanted{};
    wanted.ip = ip;
    if (g_samples.get_reg(cursor, UNW_X86_64_RSP, &wanted.sp) != 0 ||
        g_samples.get_reg(cursor, UNW_X86_64_RBP, &wanted.bp) != 0) {
        return nullptr;
    }
    const uint64_t mixed = (wanted.ip ^ wanted.sp << 20 ^ wanted.bp << 40) * 0x9e3779b97f4a7c15ull;
    CachedWalk* const walk = &g_walks[mixed >> 32 & (kCachedWalks - 1)];
    if (walk->ip == wanted.ip && walk->sp == wanted.sp && walk->bp == wanted.bp) return walk;
    walk->ip = wanted.ip;
    walk->sp = wanted.sp;
    walk->bp = wanted.bp;
    walk->epoch = 0;
    return walk;
}

int trace(Reading* reading, bool remembers, uint64_t* addresses, int most, bool* whole) {
    int found = 0;
    if (most > 0) addresses[found++] = reading->stack.registers[kSampledIp];
    unw_cursor_t cursor;
    if (g_samples.space == nullptr || g_samples.init(&cursor, g_samples.space, reading) != 0) {
        return found;
    }
    const uint32_t epoch = g_epoch.load(std::memory_order_relaxed);
    while (found < most) {
        const int step = g_samples.step(&cursor);
        *whole = step == 0;
        unw_word_t address = 0;
        if (step <= 0 || g_samples.get_reg(&cursor, UNW_REG_IP, &address) != 0) break;
        *whole = address == 0;
        if (*whole) break;
        addresses[found++] = address;
        if (found != 2 || !remembers) continue;
        CachedWalk* const walk = walk_at(&cursor, address);
        if (walk == nullptr) continue;
        const bool same = walk->epoch == epoch && goes_here(*walk, reading->stack);
        if (same && walk->frames <= static_cast<uint32_t>(most - found)) {
            memcpy(addresses + found, walk->addresses, walk->frames * sizeof(*addresses));
            *whole = true;
            return found + static_cast<int>(walk->frames);
        }
        walk->epoch = walk->words = 0;
        reading->walk = walk;
    }
    CachedWalk* const walk = reading->walk;
    const auto frames = static_cast<size_t>(found - 2);
    const bool known = *whole && walk != nullptr && walk->words <= std::size(walk->word) &&
                       frames <= std::size(walk->addresses);
    if (known) {
        memcpy(walk->addresses, addresses + 2, frames * sizeof(*addresses));
        walk->frames = static_cast<uint32_t>(frames);
        walk->epoch = epoch;
    }
    return found;
}

}  // namespace

int trace_sample(const SampledCode& code, const SampledStack& stack, uint64_t* addresses, int most,
                 bool* whole) {
    *whole = false;
    Reading reading{&code, stack, {}, nullptr};
    const bool remembers = !g_walks_taken.exchange(true, std::memory_order_acquire);
    const int found = trace(&reading, remembers, addresses, most, whole);
    if (remembers) g_walks_taken.store(false, std::memory_order_release);
    return found;
}

uint64_t procedure_start(uint64_t address) {
    if (g_samples.space == nullptr || address == 0) return 0;
    const uint64_t nothing[kSampledRegisters] = {};
    Reading reading{&kOwnCode, {nothing, nullptr, 0}, {}, nullptr};
    unw_proc_info_t info;
    const bool found = g_samples.get_info(g_samples.space, address - 1, &info, &reading) == 0;
    return found ? info.start_ip : 0;
}

void forget_sampled_paths() {
    if (++g_epoch == 0) ++g_epoch;
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
