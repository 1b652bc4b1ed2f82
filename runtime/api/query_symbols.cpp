// Reads symbol tables of ELF files, and remembers what they said; see query_symbols.h.
#include "runtime/api/query_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>

#include "runtime/api/query_names.h"
#include "runtime/contract/raw_io.h"

namespace dwell {

namespace {

// A file, mapped while this exists. Nothing in it is trusted.
class ElfFile {
  public:
    explicit ElfFile(const char* path) {
        const int file = raw_open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) return;
        struct stat about {};
        if (fstat(file, &about) == 0 && about.st_size > 0) {
            size_ = static_cast<size_t>(about.st_size);
            inode_ = about.st_ino;
            modified_ns_ = about.st_mtim.tv_sec * int64_t{1'000'000'000} + about.st_mtim.tv_nsec;
            void* const mapped = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
            bytes_ = mapped != MAP_FAILED ? static_cast<const char*>(mapped) : nullptr;
        }
        raw_close(file);
        if (!is_elf()) size_ = 0;
    }
    ~ElfFile() {
        if (bytes_ != nullptr) munmap(const_cast<char*>(bytes_), size_of_map_);
    }
    ElfFile(const ElfFile&) = delete;
    ElfFile& operator=(const ElfFile&) = delete;

    // `count` records at `offset`; null where the file has no such.
    template <typename T>
    const T* at(uint64_t offset, uint64_t count = 1) const {
        if (offset > size_ || count > (size_ - offset) / sizeof(T) || offset % alignof(T) != 0) {
            return nullptr;
        }
        return reinterpret_cast<const T*>(bytes_ + offset);
    }
    const Elf64_Shdr* sections(uint64_t* count) const {
        const auto* const head = at<Elf64_Ehdr>(0);
        *count = head != nullptr && head->e_shentsize == sizeof(Elf64_Shdr) ? head->e_shnum : 0;
        return *count != 0 ? at<Elf64_Shdr>(head->e_shoff, *count) : nullptr;
    }
    const Elf64_Shdr* section_of_type(uint32_t type) const {
        uint64_t count = 0;
        const Elf64_Shdr* const all = sections(&count);
        for (uint64_t i = 0; all != nullptr && i < count; ++i) {
            if (all[i].sh_type == type) return &all[i];
        }
        return nullptr;
    }
    // Whether it is the file that was loaded, as far as this is known.
    bool is_of(const ModuleRecord& module) const {
        if (module.build_id_bytes != 0) return has_build_id(module);
        return module.inode == 0 || (module.inode == inode_ && module.modified_ns == modified_ns_);
    }
    bool has_build_id(const ModuleRecord& module) const {
        uint64_t count = 0;
        const Elf64_Shdr* const all = sections(&count);
        for (uint64_t i = 0; all != nullptr && i < count; ++i) {
            const auto* const note =
                all[i].sh_type == SHT_NOTE ? at<Elf64_Nhdr>(all[i].sh_offset) : nullptr;
            if (note == nullptr || note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4) continue;
            const auto* const id =
                at<uint8_t>(all[i].sh_offset + sizeof(Elf64_Nhdr) + 4, module.build_id_bytes);
            return id != nullptr && memcmp(id, module.build_id, module.build_id_bytes) == 0;
        }
        return false;
    }

  private:
    bool is_elf() {
        size_of_map_ = size_;
        const auto* const head = bytes_ != nullptr ? at<Elf64_Ehdr>(0) : nullptr;
        return head != nullptr && memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
               head->e_ident[EI_CLASS] == ELFCLASS64;
    }

    const char* bytes_ = nullptr;
    size_t size_ = 0;
    size_t size_of_map_ = 0;
    uint64_t inode_ = 0;
    int64_t modified_ns_ = 0;
};

void add_functions(const ProcedurePattern& pattern, const ModuleRecord& module, const ElfFile& file,
                   FunctionCode* code) {
    uint64_t sections = 0;
    const Elf64_Shdr* const all = file.sections(&sections);
    const Elf64_Shdr* table = file.section_of_type(SHT_SYMTAB);
    if (table == nullptr) table = file.section_of_type(SHT_DYNSYM);
    if (table == nullptr || table->sh_link >= sections) return;
    const Elf64_Shdr& strings = all[table->sh_link];
    const auto* const text = file.at<char>(strings.sh_offset, strings.sh_size);
    const uint64_t count = table->sh_size / sizeof(Elf64_Sym);
    const auto* const symbols = file.at<Elf64_Sym>(table->sh_offset, count);
    if (text == nullptr || symbols == nullptr || strings.sh_size == 0) return;
    if (text[strings.sh_size - 1] != '\0') return;
    for (uint64_t i = 0; i < count; ++i) {
        const Elf64_Sym& symbol = symbols[i];
        const bool function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_size != 0 &&
                              symbol.st_shndx != SHN_UNDEF && symbol.st_name < strings.sh_size;
        if (!function || !pattern.matches(text + symbol.st_name)) continue;
        if (code->contains(module.number, symbol.st_value)) continue;  // another name for it
        if (code->count == FunctionCode::kMost) {
            code->has_more = true;
            return;
        }
        code->range[code->count++] = {symbol.st_value, symbol.st_value + symbol.st_size - 1,
                                      module.number};
    }
}

void read_modules(std::string_view pattern, FunctionCode* code) {
    const ProcedurePattern functions(pattern);
    CellIndex at = read_link(&g_process.header->first_module);
    for (; at != 0; at = cell_at<ModuleRecord>(at)->next) {
        const ModuleRecord& module = *cell_at<ModuleRecord>(at);
        const ElfFile file(reinterpret_cast<const char*>(&module + 1));
        if (!file.is_of(module)) continue;
        add_functions(functions, module, file, code);
    }
}

uint32_t module_count() {
    uint32_t count = 0;
    CellIndex at = read_link(&g_process.header->first_module);
    for (; at != 0; at = cell_at<ModuleRecord>(at)->next) ++count;
    return count;
}

// What was found before. An entry is written once, by the thread that takes it.
struct KnownName {
    enum State : uint32_t { kFree, kTaken, kComplete };
    std::atomic<uint32_t> state;
    uint32_t modules;  // in which it was looked for
    uint32_t bytes;
    char text[116];
    FunctionCode code;
};
constexpr int kKnownNames = 64;  // further ones are looked for at each query
KnownName g_known[kKnownNames];

void remember(std::string_view pattern, uint32_t modules, const FunctionCode& code) {
    if (pattern.size() > sizeof(KnownName::text)) return;
    for (KnownName& known : g_known) {
        uint32_t free = KnownName::kFree;
        if (!known.state.compare_exchange_strong(free, KnownName::kTaken)) continue;
        known.modules = modules;
        known.bytes = static_cast<uint32_t>(pattern.size());
        memcpy(known.text, pattern.data(), pattern.size());
        known.code = code;
        known.state.store(KnownName::kComplete, std::memory_order_release);
        return;
    }
}

}  // namespace

void find_functions(std::string_view pattern, FunctionCode* code) {
    const uint32_t modules = module_count();
    for (const KnownName& known : g_known) {
        if (known.state.load(std::memory_order_acquire) != KnownName::kComplete) continue;
        if (known.modules != modules) continue;
        if (std::string_view(known.text, known.bytes) != pattern) continue;
        *code = known.code;
        return;
    }
    code->count = 0;
    code->has_more = false;
    read_modules(pattern, code);
    remember(pattern, modules, *code);
}

}  // namespace dwell
