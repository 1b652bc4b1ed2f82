// The table of loaded modules, and the look-up of addresses in it.
#include "runtime/calltree/modules.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/calltree/python_frames.h"

namespace dwell {

namespace {

struct Module {
    uintptr_t start;
    uintptr_t end;
    uintptr_t base;
    uint16_t number;
    bool glue;
    bool own;
    bool language;
    bool inside_mpi;
    bool between_python;
    bool gone;  // unloaded; kept because sites refer to it
};

// Grows as modules are found.
Module* g_modules = nullptr;
uint32_t g_module_room = 0;
uint32_t g_module_count = 0;
unsigned long long g_unloads_seen = 0;

struct Wanted {
    uintptr_t address;
    unsigned long long unloads;
    bool found;
    Module module;
    uint8_t build_id[20];
    uint8_t build_id_bytes;
    uint64_t inode;
    int64_t modified_ns;
    char path[kCellBytes * 255];  // last member: most of its pages are never touched
};

bool is_own(const char* path) { return strncmp(base_name(path), "libdwell", 8) == 0; }

bool is_glue(const char* path) {
    const char* name = base_name(path);
    return strncmp(name, "libmpi.so", 9) == 0 || strncmp(name, "libmpi_", 7) == 0 || is_own(path);
}

bool is_of_language(const char* path) {
    const char* name = base_name(path);
    for (const char* start : {"libgfortran.so", "libstdc++.so", "libc++.so", "libc.so", "libflang",
                              "libFortranRuntime"}) {
        if (strncmp(name, start, strlen(start)) == 0) return true;
    }
    return false;
}

bool is_inside_mpi(const char* path) {
    const char* name = base_name(path);
    for (const char* start : {"libmpi", "libopen-pal", "libopen-rte", "mca_"}) {
        if (strncmp(name, start, strlen(start)) == 0) return true;
    }
    return false;
}

// Libraries that Open MPI 4 and 5 bring along, and those that transport its messages.
bool is_beside_mpi(const char* path) {
    const char* name = base_name(path);
    for (const char* start : {"libpmix", "libprrte", "libevent", "libhwloc", "libucp", "libuct",
                              "libucs", "libfabric", "libpsm"}) {
        if (strncmp(name, start, strlen(start)) == 0) return true;
    }
    return false;
}

void read_build_id(const dl_phdr_info* info, Wanted* wanted) {
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_NOTE) continue;
        const char* at = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
        const char* const end = at + segment.p_memsz;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            ElfW(Nhdr) note;
            memcpy(&note, at, sizeof(note));
            const char* name = at + sizeof(note);
            const char* content = name + ((note.n_namesz + 3u) & ~3u);
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
                memcmp(name, "GNU", 4) == 0) {
                const size_t bytes = note.n_descsz < 20 ? note.n_descsz : 20;
                memcpy(wanted->build_id, content, bytes);
                wanted->build_id_bytes = static_cast<uint8_t>(bytes);
                return;
            }
            at = content + ((note.n_descsz + 3u) & ~3u);
        }
    }
}

// Unlike strncpy(), does not write to the whole buffer.
void copy_path(Wanted* wanted, const char* path) {
    const size_t length = strnlen(path, sizeof(wanted->path) - 1);
    memcpy(wanted->path, path, length);
    wanted->path[length] = '\0';
}

void read_path(const dl_phdr_info* info, Wanted* wanted) {
    wanted->path[0] = '\0';
    if (info->dlpi_name != nullptr && info->dlpi_name[0] == '/') {
        copy_path(wanted, info->dlpi_name);
    } else if (info->dlpi_name == nullptr || info->dlpi_name[0] == '\0') {
        const ssize_t length = readlink("/proc/self/exe", wanted->path, sizeof(wanted->path) - 1);
        wanted->path[length > 0 ? length : 0] = '\0';
    } else {
        // Made absolute, because the report may run in another directory.
        char* absolute = realpath(info->dlpi_name, nullptr);
        copy_path(wanted, absolute != nullptr ? absolute : info->dlpi_name);
        free(absolute);
    }
}

// Identifies modules without a build-id: a file may be replaced while programs run from it.
void read_stamp(Wanted* wanted) {
    wanted->inode = 0;
    wanted->modified_ns = 0;
    struct stat file;
    if (wanted->build_id_bytes != 0 || wanted->path[0] != '/') return;
    if (stat(wanted->path, &file) != 0) return;
    wanted->inode = file.st_ino;
    wanted->modified_ns = file.st_mtim.tv_sec * int64_t{1000000000} + file.st_mtim.tv_nsec;
}

int match_address(dl_phdr_info* info, size_t, void* data) {
    auto* wanted = static_cast<Wanted*>(data);
    wanted->unloads = info->dlpi_subs;
    if (segment_at(info, wanted->address) == nullptr) return 0;
    uintptr_t start = UINTPTR_MAX;
    uintptr_t end = 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) continue;
        const uintptr_t from = info->dlpi_addr + segment.p_vaddr;
        const uintptr_t to = from + segment.p_memsz;
        if (from < start) start = from;
        if (to > end) end = to;
    }
    wanted->found = true;
    wanted->module =
        Module{start, end, info->dlpi_addr, 0, false, false, false, false, false, false};
    read_path(info, wanted);
    read_build_id(info, wanted);
    read_stamp(wanted);
    wanted->module.glue = is_glue(wanted->path);
    wanted->module.own = is_own(wanted->path);
    wanted->module.language = is_of_language(wanted->path);
    wanted->module.inside_mpi = is_inside_mpi(wanted->path);
    wanted->module.between_python = is_between_python(wanted->path, start, end);
    return 1;
}

struct Asked {
    uintptr_t address;
    bool of_helpers;
};

int ask_address(dl_phdr_info* info, size_t, void* data) {
    auto* asked = static_cast<Asked*>(data);
    if (segment_at(info, asked->address) == nullptr) return 0;
    const char* path = info->dlpi_name != nullptr ? info->dlpi_name : "";
    asked->of_helpers = is_inside_mpi(path) || is_beside_mpi(path);
    return 1;
}

int read_unloads(dl_phdr_info* info, size_t, void* data) {
    *static_cast<unsigned long long*>(data) = info->dlpi_subs;
    return 1;
}

// After a dlclose an address may belong to another module: discards the known addresses.
void notice_unloads() {
    unsigned long long unloads = 0;
    dl_iterate_phdr(read_unloads, &unloads);
    if (unloads == g_unloads_seen) return;
    g_unloads_seen = unloads;
    for (uint32_t i = 0; i < g_module_count; ++i) g_modules[i].gone = true;
}

bool have_room() {
    constexpr uint32_t kFirst = 4096 / sizeof(Module);
    if (g_module_count < g_module_room) return true;
    if (g_module_count >= kModuleLimit) return false;
    const uint32_t room = g_module_room == 0 ? kFirst : 2 * g_module_room;
    void* const memory = g_module_room == 0
                             ? mmap(nullptr, room * sizeof(Module), PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                             : mremap(g_modules, g_module_room * sizeof(Module),
                                      room * sizeof(Module), MREMAP_MAYMOVE);
    if (memory == MAP_FAILED) return false;
    g_modules = static_cast<Module*>(memory);
    g_module_room = room < kModuleLimit ? room : kModuleLimit;
    return true;
}

const Module* known_module(uintptr_t address) {
    for (uint32_t i = 0; i < g_module_count; ++i) {
        const Module& module = g_modules[i];
        if (!module.gone && address >= module.start && address < module.end) return &module;
    }
    return nullptr;
}

// A module loaded again after an unload keeps its number.
Module* revive(const Wanted& wanted) {
    for (uint32_t i = 0; i < g_module_count; ++i) {
        Module& module = g_modules[i];
        if (!module.gone || module.base != wanted.module.base) continue;
        if (module.start != wanted.module.start || module.end != wanted.module.end) continue;
        for (CellIndex at = g_process.header->first_module; at != 0;) {
            const auto* record = cell_at<ModuleRecord>(at);
            if (record->number == module.number &&
                record->build_id_bytes == wanted.build_id_bytes &&
                memcmp(record->build_id, wanted.build_id, wanted.build_id_bytes) == 0 &&
                record->inode == wanted.inode && record->modified_ns == wanted.modified_ns &&
                strcmp(reinterpret_cast<const char*>(record + 1), wanted.path) == 0) {
                module.gone = false;
                return &module;
            }
            at = record->next;
        }
    }
    return nullptr;
}

const Module* add_module(Thread* thread, const Wanted& wanted) {
    if (!have_room()) {
        __atomic_fetch_or(&g_process.header->flags, uint32_t{kFileModulesFull}, __ATOMIC_RELAXED);
        return nullptr;
    }
    const auto path_cells = static_cast<uint32_t>((strlen(wanted.path) + kCellBytes) / kCellBytes);
    const CellIndex cell = take_cells(thread, 1 + path_cells);
    if (cell == 0) return nullptr;
    Module& added = g_modules[g_module_count];
    added = wanted.module;
    added.number = static_cast<uint16_t>(++g_module_count);
    auto* record = cell_at<ModuleRecord>(cell);
    record->number = added.number;
    record->base = added.base;
    record->size = added.end - added.base;
    record->build_id_bytes = wanted.build_id_bytes;
    record->path_cells = static_cast<uint8_t>(path_cells);
    record->inode = wanted.inode;
    record->modified_ns = wanted.modified_ns;
    memcpy(record->build_id, wanted.build_id, sizeof(record->build_id));
    strcpy(reinterpret_cast<char*>(record + 1), wanted.path);
    record->next = g_process.header->first_module;
    __atomic_store_n(&g_process.header->first_module, cell, __ATOMIC_RELEASE);
    return &added;
}

}  // namespace

bool is_in_mpi_library(uintptr_t address) {
    const ReentryGuard busy;
    Asked asked{address, false};
    dl_iterate_phdr(ask_address, &asked);
    return asked.of_helpers;
}

ModulePlace place_of_address(Thread* thread, uintptr_t address, bool checked) {
    const ReentryGuard not_again;  // I/O in a signal handler would wait for its own thread
    static std::atomic<uint32_t> busy{0};
    while (busy.exchange(1, std::memory_order_acquire) != 0) {
    }
    const int saved_errno = errno;
    if (!checked) notice_unloads();
    const Module* module = known_module(address);
    if (module == nullptr) {
        static Wanted wanted;  // too large for a small thread stack; `busy` is held
        wanted.address = address;
        wanted.found = false;
        wanted.build_id_bytes = 0;
        memset(wanted.build_id, 0, sizeof(wanted.build_id));
        dl_iterate_phdr(match_address, &wanted);
        if (wanted.found) module = revive(wanted);
        if (wanted.found && module == nullptr) module = add_module(thread, wanted);
    }
    ModulePlace place{0, address, false, false, false, false, false};
    if (module != nullptr)
        place = {module->number,   address - module->base, module->glue,          module->own,
                 module->language, module->inside_mpi,     module->between_python};
    errno = saved_errno;
    busy.store(0, std::memory_order_release);
    return place;
}

}  // namespace dwell
