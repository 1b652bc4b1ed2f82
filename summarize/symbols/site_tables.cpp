// Reads static tables from ELF files; see site_tables.h. Texts are found by address, in any loaded
// section. An object file has no addresses yet: its sections are laid out one after the other and
// the relocations of the table are applied.
#include "summarize/symbols/site_tables.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <tuple>

#include "runtime/contract/clone_names.h"
#include "summarize/code/symbol_names.h"
#include "summarize/model/source_paths.h"

namespace dwell {
namespace {

constexpr size_t kRowBytes = sizeof(SiteRow);

class ElfSections {
  public:
    explicit ElfSections(const std::string& path);
    ~ElfSections();
    ElfSections(const ElfSections&) = delete;
    ElfSections& operator=(const ElfSections&) = delete;

    bool good() const { return good_; }
    bool is_build(std::string_view build_id) const;
    struct Section {
        std::string name;
        uint64_t address = 0;
        std::string_view bytes;
    };
    // Judges by the file's undefined symbols; some linkers keep no weak ones.
    ProbeReach reach(bool by_links) const;
    // The tables with their relocations applied.
    std::vector<std::pair<uint64_t, std::string>> tables() const;
    // The zero-terminated text at `address`; empty if there is none.
    std::string text_at(uint64_t address) const;

  private:
    void read_sections();
    void relocate(size_t section, std::string* bytes) const;

    int file_ = -1;
    Elf* elf_ = nullptr;
    bool good_ = false;
    bool is_object_ = false;
    std::map<size_t, Section> sections_;  // loaded sections, by number
};

ElfSections::ElfSections(const std::string& path) {
    elf_version(EV_CURRENT);
    file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file_ < 0) return;
    elf_ = elf_begin(file_, ELF_C_READ_MMAP_PRIVATE, nullptr);
    GElf_Ehdr header;
    if (elf_ == nullptr || gelf_getehdr(elf_, &header) == nullptr) return;
    good_ = header.e_machine == EM_X86_64 && gelf_getclass(elf_) == ELFCLASS64;
    is_object_ = header.e_type == ET_REL;
    if (good_) read_sections();
}

ElfSections::~ElfSections() {
    if (elf_ != nullptr) elf_end(elf_);
    if (file_ >= 0) close(file_);
}

bool ElfSections::is_build(std::string_view build_id) const {
    const void* id = nullptr;
    const ssize_t bytes = dwelf_elf_gnu_build_id(elf_, &id);
    if (bytes <= 0) return false;
    return std::string_view(static_cast<const char*>(id), static_cast<size_t>(bytes)) == build_id;
}

ProbeReach ElfSections::reach(bool by_links) const {
    if (is_object_) return ProbeReach::kUnlinked;
    ProbeReach reach = ProbeReach::kStatic;
    for (Elf_Scn* scn = nullptr; (scn = elf_nextscn(elf_, scn)) != nullptr;) {
        GElf_Shdr header;
        if (gelf_getshdr(scn, &header) == nullptr || header.sh_entsize == 0) continue;
        if (header.sh_type == SHT_DYNAMIC) reach = std::max(reach, ProbeReach::kUnbound);
        Elf_Data* const symbols =
            header.sh_type == SHT_DYNSYM ? elf_getdata(scn, nullptr) : nullptr;
        if (symbols == nullptr) continue;
        for (size_t i = 0; i < header.sh_size / header.sh_entsize; ++i) {
            GElf_Sym symbol;
            if (gelf_getsym(symbols, static_cast<int>(i), &symbol) == nullptr) break;
            const char* const text = elf_strptr(elf_, header.sh_link, symbol.st_name);
            const std::string_view name = text != nullptr ? text : "";
            const bool leads = by_links
                                   ? name == "dwell_link_module" || name == "gnu_get_libc_release"
                                   : name == "dwell_register_sites";
            if (leads) return ProbeReach::kReached;
        }
    }
    return reach;
}

void ElfSections::read_sections() {
    size_t names = 0;
    if (elf_getshdrstrndx(elf_, &names) != 0) return;
    uint64_t next_address = kRowBytes;  // for sections of an object file
    for (Elf_Scn* scn = nullptr; (scn = elf_nextscn(elf_, scn)) != nullptr;) {
        GElf_Shdr header;
        if (gelf_getshdr(scn, &header) == nullptr) continue;
        if ((header.sh_flags & SHF_ALLOC) == 0 || header.sh_type == SHT_NOBITS) continue;
        const char* const name = elf_strptr(elf_, names, header.sh_name);
        const Elf_Data* const data = elf_rawdata(scn, nullptr);
        if (name == nullptr || data == nullptr || data->d_buf == nullptr) continue;
        Section section{
            name, header.sh_addr, {static_cast<const char*>(data->d_buf), data->d_size}};
        if (is_object_) {
            section.address = next_address;
            next_address += (data->d_size + 2 * kRowBytes) / kRowBytes * kRowBytes;
        }
        sections_[elf_ndxscn(scn)] = section;
    }
}

// The System V ABI for x86-64, "Relocation Types": R_X86_64_PC32 stores S + A - P in 4 bytes.
void ElfSections::relocate(size_t number, std::string* bytes) const {
    const uint64_t address = sections_.at(number).address;
    for (Elf_Scn* scn = nullptr; (scn = elf_nextscn(elf_, scn)) != nullptr;) {
        GElf_Shdr header;
        if (gelf_getshdr(scn, &header) == nullptr || header.sh_type != SHT_RELA ||
            header.sh_info != number || header.sh_entsize == 0) {
            continue;
        }
        Elf_Data* const relocations = elf_getdata(scn, nullptr);
        Elf_Scn* const symbol_section = elf_getscn(elf_, header.sh_link);
        Elf_Data* const symbols =
            symbol_section == nullptr ? nullptr : elf_getdata(symbol_section, nullptr);
        if (relocations == nullptr || symbols == nullptr) continue;
        for (size_t i = 0; i < header.sh_size / header.sh_entsize; ++i) {
            GElf_Rela rela;
            GElf_Sym symbol;
            if (gelf_getrela(relocations, static_cast<int>(i), &rela) == nullptr) break;
            const auto symbol_number = static_cast<int>(GELF_R_SYM(rela.r_info));
            if (gelf_getsym(symbols, symbol_number, &symbol) == nullptr) continue;
            const auto target = sections_.find(symbol.st_shndx);
            if (GELF_R_TYPE(rela.r_info) != R_X86_64_PC32 || target == sections_.end() ||
                bytes->size() < 4 || rela.r_offset > bytes->size() - 4) {
                continue;
            }
            const uint64_t place = address + rela.r_offset;
            const uint64_t value = target->second.address + symbol.st_value +
                                   static_cast<uint64_t>(rela.r_addend) - place;
            const auto stored = static_cast<uint32_t>(value);
            std::memcpy(bytes->data() + rela.r_offset, &stored, sizeof stored);
        }
    }
}

std::vector<std::pair<uint64_t, std::string>> ElfSections::tables() const {
    std::vector<std::pair<uint64_t, std::string>> found;
    for (const auto& [number, section] : sections_) {
        if (section.name != "dwell_sites") continue;
        std::string bytes(section.bytes);
        if (is_object_) relocate(number, &bytes);
        found.emplace_back(section.address, std::move(bytes));
    }
    return found;
}

std::string ElfSections::text_at(uint64_t address) const {
    for (const auto& [number, section] : sections_) {
        if (address - section.address >= section.bytes.size()) continue;
        const std::string_view rest = section.bytes.substr(address - section.address);
        const size_t end = rest.find('\0');
        return end == std::string_view::npos ? std::string() : std::string(rest.substr(0, end));
    }
    return {};
}

bool is_fortran(const std::string& file) {
    const size_t dot = file.rfind('.');
    if (dot == std::string::npos) return false;
    std::string ending = file.substr(dot + 1);
    for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    constexpr std::array kEndings = {"f", "for", "ftn", "f77", "f90", "f95", "f03", "f08", "fpp"};
    return std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end();
}

class TableReader {
  public:
    TableReader(const ElfSections& elf, SiteTable* table) : elf_(elf), table_(table) {}

    void read(uint64_t address, const std::string& bytes) {
        address_ = address;
        bytes_ = bytes;
        const size_t rows = bytes.size() / kRowBytes;
        for (size_t row = 0; row < rows;) {
            const auto unit = load<UnitRow>(row);
            const bool good = unit.kind == SiteKind::kProgram && unit.version != 0 &&
                              unit.version <= kSiteTableVersion && unit.rows < rows - row;
            if (good) {
                read_unit(row, unit);
            } else {
                ++table_->unread_units;
            }
            // After an unknown row, reading continues with the next unit.
            row += good ? size_t{unit.rows} + 1 : 1;
            while (!good && row < rows && load<UnitRow>(row).kind != SiteKind::kProgram) ++row;
        }
    }

  private:
    template <typename Row>
    Row load(size_t row) const {
        Row result;
        std::memcpy(&result, bytes_.data() + row * kRowBytes, sizeof result);
        return result;
    }
    std::string text(size_t row, size_t field_offset, int32_t distance) const {
        if (distance == 0) return {};
        const uint64_t field = address_ + row * kRowBytes + field_offset;
        return elf_.text_at(field + static_cast<uint64_t>(static_cast<int64_t>(distance)));
    }

    void read_unit(size_t first, const UnitRow& row) {
        SiteUnit unit;
        unit.compiler = text(first, offsetof(UnitRow, compiler), row.compiler);
        unit.file = text(first, offsetof(UnitRow, file), row.file);
        unit.directory = text(first, offsetof(UnitRow, directory), row.directory);
        unit.version = row.version;
        unit.loops_seen = row.loops_seen;
        unit.procedures_seen = row.procedures_seen;
        table_->units.push_back(unit);
        const bool fortran = is_fortran(unit.file);
        const auto base = static_cast<uint32_t>(table_->sites.size());
        for (size_t i = 0; i < row.rows; ++i) {
            const auto site_row = load<SiteRow>(first + 1 + i);
            StaticSite site;
            site.kind = site_row.kind;
            site.flags = site_row.flags;
            site.has_probes = site_row.level != 0;
            site.unit = static_cast<uint32_t>(table_->units.size() - 1);
            site.offset = address_ + (first + 1 + i) * kRowBytes;
            site.symbol = text(first + 1 + i, offsetof(SiteRow, name), site_row.name);
            site.file = text(first + 1 + i, offsetof(SiteRow, file), site_row.file);
            if (!site.file.empty()) site.file = tidy_path(site.file, unit.directory);
            site.line = site_row.line;
            site.column = site_row.column;
            site.end_line = site_row.end_line;
            const int64_t enclosing = static_cast<int64_t>(i) + site_row.enclosing;
            if (site_row.enclosing < 0 && enclosing >= 0) {
                site.enclosing = base + static_cast<uint32_t>(enclosing);
            }
            site.name = name_of(site, fortran);
            table_->by_offset.emplace(site.offset, base + static_cast<uint32_t>(i));
            table_->sites.push_back(std::move(site));
        }
    }

    static std::string name_of(const StaticSite& site, bool fortran) {
        if (site.kind == SiteKind::kLoop) return "loop";
        if (site.symbol.empty()) return site.kind == SiteKind::kProcedure ? "?" : "(pointer)";
        if (site.kind == SiteKind::kCommunication) return mpi_c_name(site.symbol);
        std::string name = display_name(without_clone(site.symbol));
        // gfortran: external procedures end in one underscore; the main program is MAIN__, and only
        // the debug information has its name in the source.
        if (fortran && is_fortran_main(site)) return "main program";
        const bool external = name == site.symbol && name.size() > 1 && name.ends_with('_');
        if (fortran && external) name.pop_back();
        return name;
    }

    const ElfSections& elf_;
    SiteTable* table_;
    uint64_t address_ = 0;
    std::string_view bytes_;
};

// The visible properties of a site, within the site that encloses it.
using Identity = std::tuple<uint32_t, SiteKind, std::string, std::string, uint32_t, uint32_t>;

}  // namespace

SiteTable read_site_table(const std::string& path, std::string_view build_id) {
    SiteTable table;
    const ElfSections elf(path);
    if (!elf.good()) {
        table.state = SiteTableState::kMissing;
        return table;
    }
    if (!build_id.empty() && !elf.is_build(build_id)) {
        table.state = SiteTableState::kChanged;
        return table;
    }
    TableReader reader(elf, &table);
    for (const auto& [address, bytes] : elf.tables()) reader.read(address, bytes);
    const bool by_links =
        std::all_of(table.units.begin(), table.units.end(),
                    [](const SiteUnit& unit) { return unit.version >= kFirstWithLinks; });
    table.reach = elf.reach(by_links);
    if (!table.units.empty() || table.unread_units != 0) table.state = SiteTableState::kRead;
    return table;
}

SiteTable without_duplicates(const SiteTable& table) {
    SiteTable result;
    result.reach = table.reach;
    result.state = table.state;
    result.units = table.units;
    result.unread_units = table.unread_units;
    std::map<Identity, uint32_t> known;
    std::vector<uint32_t> numbers;
    for (StaticSite site : table.sites) {
        if (site.enclosing != kNoSite) site.enclosing = numbers[site.enclosing];
        const auto [entry, is_new] = known.try_emplace(
            Identity{site.enclosing, site.kind, site.name, site.file, site.line, site.column},
            static_cast<uint32_t>(result.sites.size()));
        numbers.push_back(entry->second);
        result.by_offset.emplace(site.offset, entry->second);
        if (is_new) {
            result.sites.push_back(std::move(site));
        } else if (site.has_probes && !result.sites[entry->second].has_probes) {
            result.sites[entry->second] = std::move(site);
        }
    }
    return result;
}

std::string_view left_out_reason(const StaticSite& site) {
    if ((site.flags & kRowSmall) != 0) return "too small";
    if ((site.flags & kRowUnselected) != 0) return "not selected";
    return {};
}

std::vector<std::vector<uint32_t>> enclosed_sites(const SiteTable& table) {
    std::vector<std::vector<uint32_t>> enclosed(table.sites.size() + 1);
    for (uint32_t i = 0; i < table.sites.size(); ++i) {
        const uint32_t outer = table.sites[i].enclosing;
        enclosed[outer == kNoSite ? table.sites.size() : outer].push_back(i);
    }
    // The unit's own file first, then its included files.
    std::vector<std::string> sources;
    for (const SiteUnit& unit : table.units) {
        sources.push_back(tidy_path(unit.file, unit.directory));
    }
    const auto key = [&](uint32_t i) {
        const StaticSite& site = table.sites[i];
        return std::tuple(site.unit, site.file != sources[site.unit], std::string_view(site.file),
                          site.line, site.column);
    };
    for (std::vector<uint32_t>& list : enclosed) {
        std::stable_sort(list.begin(), list.end(),
                         [&key](uint32_t a, uint32_t b) { return key(a) < key(b); });
    }
    return enclosed;
}

}  // namespace dwell
