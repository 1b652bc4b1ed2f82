// Modules come from the loader itself (ld.so(8): LD_TRACE_LOADED_OBJECTS), symbols from libelf.
// A versioned import is met by a definition of that name and version, whatever library it stands in
// (glibc, elf/dl-lookup.c); one without version by any definition.
#include "report/omp_exchange.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace dwell {
namespace {

constexpr const char* kLibomp = "libomp.so.5";
constexpr const char* kLibgomp = "libgomp.so.1";

// Name and version; an empty version stands for none.
using Symbols = std::set<std::pair<std::string, std::string>>;

struct Module {
    std::string name;
    std::string path;
};

// What the loader says on stdout when it is to load `program`, with libomp in front.
std::string loader_says(const std::string& program) {
    std::array<int, 2> ends;
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
    const pid_t child = fork();
    if (child == 0) {
        setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
        setenv("LD_PRELOAD", kLibomp, 1);
        dup2(ends[1], STDOUT_FILENO);
        const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
        execl(program.c_str(), program.c_str(), nullptr);
        _exit(127);
    }
    close(ends[1]);
    std::string text;
    std::array<char, 4096> buffer;
    ssize_t bytes = 0;
    while (child > 0 && (bytes = read(ends[0], buffer.data(), buffer.size())) > 0) {
        text.append(buffer.data(), static_cast<size_t>(bytes));
    }
    close(ends[0]);
    if (child > 0) waitpid(child, nullptr, 0);
    return text;
}

// Lines as "\tlibm.so.6 => /lib/libm.so.6 (0x7f...)" or "\t/lib/liba.so (0x7f...)".
std::vector<Module> modules_of(const std::string& program) {
    std::vector<Module> modules = {{program, program}};
    std::istringstream lines(loader_says(program));
    for (std::string line; std::getline(lines, line);) {
        const size_t start = line.find_first_not_of(" \t");
        const size_t end = line.rfind(" (0x");
        if (start == std::string::npos || end == std::string::npos || end < start) continue;
        const std::string entry = line.substr(start, end - start);
        const size_t arrow = entry.find(" => ");
        const std::string path = arrow == std::string::npos ? entry : entry.substr(arrow + 4);
        if (path.empty() || path[0] != '/') continue;  // linux-vdso.so.1
        modules.push_back({entry.substr(0, arrow), path});
    }
    return modules;
}

bool is_of_openmp(std::string_view name) {
    return name.substr(0, 5) == "GOMP_" || name.substr(0, 4) == "omp_";
}

struct ElfCloser {
    void operator()(Elf* elf) const { elf_end(elf); }
};

struct Tables {
    Elf_Data* symbols = nullptr;
    Elf_Data* versions = nullptr;  // one number for each symbol
    Elf_Data* needed = nullptr;
    Elf_Data* defined = nullptr;
    size_t strings = 0;  // the section with the names
    size_t needed_strings = 0;
    size_t defined_strings = 0;
    size_t count = 0;
};

Tables tables_of(Elf* elf) {
    Tables tables;
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == nullptr) continue;
        Elf_Data* const data = elf_getdata(section, nullptr);
        if (header.sh_type == SHT_DYNSYM && header.sh_entsize != 0) {
            tables.symbols = data;
            tables.strings = header.sh_link;
            tables.count = header.sh_size / header.sh_entsize;
        } else if (header.sh_type == SHT_GNU_versym) {
            tables.versions = data;
        } else if (header.sh_type == SHT_GNU_verneed) {
            tables.needed = data;
            tables.needed_strings = header.sh_link;
        } else if (header.sh_type == SHT_GNU_verdef) {
            tables.defined = data;
            tables.defined_strings = header.sh_link;
        }
    }
    return tables;
}

std::string text_at(Elf* elf, size_t section, size_t offset) {
    const char* const text = elf_strptr(elf, section, offset);
    return text == nullptr ? "" : text;
}

std::string needed_version(Elf* elf, const Tables& tables, uint16_t number) {
    if (tables.needed == nullptr) return {};
    GElf_Verneed need;
    for (int at = 0; gelf_getverneed(tables.needed, at, &need) != nullptr;
         at += int(need.vn_next)) {
        GElf_Vernaux version;
        int inner = at + int(need.vn_aux);
        for (int i = 0; i < need.vn_cnt; ++i, inner += int(version.vna_next)) {
            if (gelf_getvernaux(tables.needed, inner, &version) == nullptr) break;
            if (version.vna_other == number) {
                return text_at(elf, tables.needed_strings, version.vna_name);
            }
        }
        if (need.vn_next == 0) break;
    }
    return {};
}

std::string defined_version(Elf* elf, const Tables& tables, uint16_t number) {
    if (tables.defined == nullptr) return {};
    GElf_Verdef definition;
    for (int at = 0; gelf_getverdef(tables.defined, at, &definition) != nullptr;
         at += int(definition.vd_next)) {
        GElf_Verdaux version;
        if (definition.vd_ndx == number &&
            gelf_getverdaux(tables.defined, at + int(definition.vd_aux), &version) != nullptr) {
            return text_at(elf, tables.defined_strings, version.vda_name);
        }
        if (definition.vd_next == 0) break;
    }
    return {};
}

// The functions of OpenMP that the file at `path` imports, or defines.
Symbols symbols_of(const std::string& path, bool imports) {
    Symbols found;
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return found;
    elf_version(EV_CURRENT);
    const std::unique_ptr<Elf, ElfCloser> owner(elf_begin(file, ELF_C_READ_MMAP, nullptr));
    Elf* const elf = owner.get();
    const Tables tables = elf == nullptr ? Tables() : tables_of(elf);
    for (size_t i = 0; i < tables.count; ++i) {
        GElf_Sym symbol;
        if (gelf_getsym(tables.symbols, int(i), &symbol) == nullptr) break;
        const std::string name = text_at(elf, tables.strings, symbol.st_name);
        if ((symbol.st_shndx == SHN_UNDEF) != imports || !is_of_openmp(name)) continue;
        GElf_Versym number = 0;
        std::string version;
        if (tables.versions != nullptr && gelf_getversym(tables.versions, int(i), &number)) {
            constexpr uint16_t kHidden = 0x8000;  // not the default one: still a definition
            constexpr uint16_t kFirst = 2;        // 0 and 1: local, and without version
            const uint16_t plain = number & ~kHidden;
            if (plain >= kFirst) {
                version = imports ? needed_version(elf, tables, plain)
                                  : defined_version(elf, tables, plain);
            }
        }
        found.emplace(name, version);
        if (!imports) found.emplace(name, "");
    }
    close(file);
    return found;
}

const Module* find(const std::vector<Module>& modules, const std::string& name) {
    for (const Module& module : modules) {
        const size_t slash = module.name.rfind('/');
        if (module.name.substr(slash == std::string::npos ? 0 : slash + 1) == name) return &module;
    }
    return nullptr;
}

}  // namespace

OmpExchange plan_omp_exchange(const std::string& program) {
    // What cannot be read might be statically linked, and would run.
    if (access(program.c_str(), R_OK) != 0) return {"", program + " cannot be read"};
    const std::vector<Module> modules = modules_of(program);
    const Module* const libgomp = find(modules, kLibgomp);
    if (libgomp == nullptr) return {"", program + " is not linked with " + kLibgomp};
    const Module* const libomp = find(modules, kLibomp);
    if (libomp == nullptr) return {"", std::string(kLibomp) + " is not installed"};
    const Symbols offered = symbols_of(libomp->path, false);
    for (const Module& module : modules) {
        if (&module == libgomp || &module == libomp) continue;
        for (const auto& [name, version] : symbols_of(module.path, true)) {
            if (offered.count({name, version}) != 0) continue;
            return {"", libomp->path + " does not define " + name +
                            (version.empty() ? "" : "@" + version) + ", which " + module.path +
                            " needs"};
        }
    }
    return {libomp->path, ""};
}

}  // namespace dwell
