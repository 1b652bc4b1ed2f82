// Writes the assembler text of probes and static tables; see probe_text.h.
#include "instrument/selection/probe_text.h"

#include <map>
#include <string_view>

namespace dwell {

namespace {

// One section group for a module: the linker keeps one copy. The constructor has the earliest
// priority that programs do not use themselves, so that static initialisers are observed.
// Constructor and destructor end in a jump, so they need no frame. The endbr64 is for programs with
// control-flow protection.
constexpr const char* kRegistration = R"(
	.weak	dwell_link_module
	.weak	gnu_get_libc_release
	.hidden	__start_dwell_sites
	.hidden	__stop_dwell_sites
	.hidden	__start_dwell_levels
	.hidden	__stop_dwell_levels
	.hidden	__start_dwell_links
	.hidden	__stop_dwell_links
	.pushsection .bss.dwell_start_module,"awG",@nobits,dwell_start_module,comdat
	.balign	8
.Ldwell_module:
	.zero	56
	.popsection
	.pushsection .text.dwell_start_module,"axG",@progbits,dwell_start_module,comdat
	.weak	dwell_start_module
	.hidden	dwell_start_module
	.type	dwell_start_module, @function
dwell_start_module:
	.cfi_startproc
	endbr64
	movq	dwell_link_module@GOTPCREL(%%rip), %%rax
	testq	%%rax, %%rax
	jne	1f
	movq	gnu_get_libc_release@GOTPCREL(%%rip), %%rax
	testq	%%rax, %%rax
	je	2f
1:	leaq	.Ldwell_module(%%rip), %%rdi
	leaq	__start_dwell_sites(%%rip), %%rdx
	movq	%%rdx, (%%rdi)
	leaq	__stop_dwell_sites(%%rip), %%rdx
	movq	%%rdx, 8(%%rdi)
	leaq	__start_dwell_levels(%%rip), %%rdx
	movq	%%rdx, 16(%%rdi)
	leaq	__stop_dwell_levels(%%rip), %%rdx
	movq	%%rdx, 24(%%rdi)
	leaq	__start_dwell_links(%%rip), %%rdx
	movq	%%rdx, 32(%%rdi)
	leaq	__stop_dwell_links(%%rip), %%rdx
	movq	%%rdx, 40(%%rdi)
	movabsq	$%#lx, %%rsi
	jmp	*%%rax
2:	ret
	.cfi_endproc
	.size	dwell_start_module, .-dwell_start_module
	.type	dwell_stop_module, @function
dwell_stop_module:
	.cfi_startproc
	endbr64
	leaq	.Ldwell_module(%%rip), %%rdi
	movq	48(%%rdi), %%rax
	testq	%%rax, %%rax
	je	1f
	jmp	*%%rax
1:	ret
	.cfi_endproc
	.size	dwell_stop_module, .-dwell_stop_module
	.popsection
	.pushsection .init_array.00100,"awG",@init_array,dwell_start_module,comdat
	.balign	8
	.quad	dwell_start_module
	.popsection
	.pushsection .fini_array.00100,"awG",@fini_array,dwell_start_module,comdat
	.balign	8
	.quad	dwell_stop_module
	.popsection
)";

EntryPoint entry_point(ProbeKind kind) {
    switch (kind) {
        case ProbeKind::kEnter:
            return kEnterPoint;
        case ProbeKind::kLeave:
            return kLeavePoint;
        case ProbeKind::kLoopEnter:
            return kLoopEnterPoint;
        case ProbeKind::kLoopEnterCounting:
            return kLoopEnterCountingPoint;
        case ProbeKind::kLoopLeave:
            return kLoopLeavePoint;
        case ProbeKind::kLanded:
            return kLandedPoint;
        case ProbeKind::kVforked:
            break;
    }
    return kVforkedPoint;
}

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char character : text) {
        const auto byte = static_cast<unsigned char>(character);
        if (byte < 0x20 || byte >= 0x7f || byte == '"' || byte == '\\') {
            char octal[8];
            snprintf(octal, sizeof octal, "\\%03o", byte);
            result += octal;
        } else {
            result += character;
        }
    }
    return result + '"';
}

}  // namespace

// The order of groups in the section (an enclosing row comes first), and the texts.
struct SiteTable::Emission {
    explicit Emission(const std::vector<TableGroup>& all)
        : groups(all), first_row(all.size(), kUnplaced) {
        for (size_t group = 0; group < groups.size(); ++group) {
            place(static_cast<int>(group));
        }
    }

    void place(int number) {
        const auto index = static_cast<size_t>(number);
        if (first_row[index] != kUnplaced) {
            return;
        }
        if (groups[index].host >= 0) {
            place(groups[index].host);
        }
        order.push_back(number);
        first_row[index] = rows;
        rows += static_cast<int>(groups[index].rows.size());
    }

    // A field that refers to a text.
    std::string text(const std::string& value) {
        if (value.empty()) {
            return "0";
        }
        const auto [found, added] = texts.try_emplace(value, texts.size());
        return ".Ldwell_text." + std::to_string(found->second) + "-.";
    }

    static constexpr int kUnplaced = -1;
    const std::vector<TableGroup>& groups;
    std::vector<int> first_row;  // by group
    std::vector<int> order;
    int rows = 0;
    std::map<std::string, size_t> texts;
};

int SiteTable::add(TableGroup group) {
    groups_.push_back(std::move(group));
    return static_cast<int>(groups_.size()) - 1;
}

void SiteTable::write(FILE* out) const {
    Emission emission(groups_);
    fprintf(out, "\t.pushsection dwell_sites,\"a\",@progbits\n\t.balign\t32\n");
    write_unit(out, emission);
    for (const int number : emission.order) {
        write_group(out, emission, number);
    }
    fprintf(out, "\t.popsection\n\t.pushsection dwell_levels,\"aw\",@progbits\n");
    write_levels(out, emission);
    fprintf(out, "\t.popsection\n\t.pushsection dwell_links,\"aw\",@progbits\n\t.balign\t8\n");
    fprintf(out, ".Ldwell_links:\t.quad\t%u\n\t.zero\t%zu\n", kEntryPoints,
            sizeof(LinkTable::entry));
    fprintf(out, "\t.popsection\n\t.pushsection .rodata.str1.1,\"aMS\",@progbits,1\n");
    for (const auto& [text, number] : emission.texts) {
        fprintf(out, ".Ldwell_text.%zu:\t.string\t%s\n", number, quoted(text).c_str());
    }
    fprintf(out, "\t.popsection\n");
    fprintf(out, kRegistration, kLinkModuleMark);
}

void SiteTable::write_unit(FILE* out, Emission& emission) const {
    for (const std::string* text : {&compiler, &file, &directory}) {
        fprintf(out, "\t.long\t%s\n", emission.text(*text).c_str());
    }
    fprintf(out, "\t.long\t%d,0\n\t.byte\t%d,0\n\t.short\t%d\n\t.long\t%u,%u\n", emission.rows,
            static_cast<int>(SiteKind::kProgram), kSiteTableVersion, loops_seen, procedures_seen);
}

void SiteTable::write_group(FILE* out, Emission& emission, int number) const {
    const TableGroup& group = groups_[static_cast<size_t>(number)];
    fprintf(out, ".Ldwell_rows.%d:\n", number);
    int position = 0;
    for (const TableRow& row : group.rows) {
        int enclosing = row.enclosing - position;
        if (row.enclosing < 0) {
            enclosing = group.host < 0 ? 0
                                       : emission.first_row[static_cast<size_t>(group.host)] -
                                             emission.first_row[static_cast<size_t>(number)];
        }
        fprintf(out, "\t.long\t%s\n", emission.text(row.name).c_str());
        fprintf(out, "\t.long\t%s\n\t.long\t%u,%d\n", emission.text(row.file).c_str(), row.line,
                enclosing);
        if (row.probes) {
            fprintf(out, "\t.long\t.Ldwell_level.%d.%d-.\n", number, position);
        } else {
            fprintf(out, "\t.long\t0\n");
        }
        fprintf(out, "\t.byte\t%d,%d\n\t.short\t%u\n\t.long\t%u,0\n", static_cast<int>(row.kind),
                row.flags, row.column, row.end_line);
        ++position;
    }
}

void SiteTable::write_levels(FILE* out, const Emission& emission) const {
    bool any = false;
    for (const int number : emission.order) {
        int position = 0;
        for (const TableRow& row : groups_[static_cast<size_t>(number)].rows) {
            if (row.probes) {
                fprintf(out, ".Ldwell_level.%d.%d:\t.byte\t0\n", number, position);
                any = true;
            }
            ++position;
        }
    }
    if (!any) {
        fprintf(out, "\t.byte\t0\n");  // the section must exist wherever a constructor names it
    }
}

// Texts around the code for an enabled site, and around its level.
constexpr std::string_view kSkip = "\n\tje\t1f\n\t";
constexpr std::string_view kEnd = "\n1:";
constexpr std::string_view kTestOfLevel = "cmp{b\t$0, ";
constexpr std::string_view kNextToCode = "(%%rip)|";

std::string probe_template(ProbeKind kind, int group, int row) {
    const std::string rows = kProbeMark + std::to_string(group);
    const std::string offset = std::to_string(static_cast<size_t>(row) * sizeof(SiteRow));
    const std::string entry = std::to_string(
        offsetof(LinkTable, entry) + static_cast<size_t>(entry_point(kind)) * sizeof(uint64_t));
    std::string text;
    if (kind == ProbeKind::kVforked || kind == ProbeKind::kLanded) {
        // Not disabled with the site: two processes may share one memory, or other frames are gone.
        text = "cmp{q\t$0, .Ldwell_links+" + entry + "(%%rip)|\tQWORD PTR .Ldwell_links[rip+" +
               entry + "], 0}";
    } else {
        const std::string level =
            ".Ldwell_level." + std::to_string(group) + '.' + std::to_string(row);
        text += kTestOfLevel;
        text += level;
        text += kNextToCode;
        text += "\tBYTE PTR " + level + "[rip], 0}";
    }
    text += kSkip;
    text +=
        "lea{q\t" + rows + '+' + offset + "(%%rip), %%r11|\tr11, " + rows + "[rip+" + offset + "]}";
    text +=
        gives_address(kind) ? "\n\tlea{q\t%1, %%r10|\tr10, %1}" : "\n\tlea{q\t%0, %%r10|\tr10, %0}";
    if (has_number(kind)) {
        text += "\n\tmov{q\t%1, %%r9|\tr9, %1}";
    }
    text += "\n\tcall\t{*.Ldwell_links+" + entry + "(%%rip)|[QWORD PTR .Ldwell_links[rip+" + entry +
            "]]}";
    if (gives_address(kind)) {
        text += "\n\tmov{q\t%%r9, %0|\t%0, r9}";
    }
    return text += kEnd;
}

ProbeParts parts_of_probe(std::string_view text) {
    if (!text.starts_with(kTestOfLevel)) {
        return {};
    }
    const auto between = [text](size_t begin, size_t end) {
        return std::string(text.substr(begin, end - begin));
    };
    const size_t level = kTestOfLevel.size();
    return {between(level, text.find(kNextToCode)),
            between(text.find(kSkip) + kSkip.size(), text.size() - kEnd.size())};
}

std::vector<const char*> probe_clobbers(ProbeKind kind) {
    if (has_number(kind) || gives_address(kind)) {
        return {"r9", "r10", "r11", "cc"};
    }
    return {"r10", "r11", "cc"};
}

}  // namespace dwell
