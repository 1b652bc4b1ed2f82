// Stands in for libdwell.so where tests ask what the compiler side of source probes does: switches
// every site on, follows the probes after the rules of runtime/contract/site_table.h and writes
// what it saw to the file PROBE_LOG when the process ends:
//
//   module ROWS LEVELS      a module was registered
//   entered COUNT ITERATIONS PATH    PATH: name of a procedure or line of a loop, joined by '/'
//   wrong COUNT TEXT        a leave without its enter, a slot below the stack pointer ...
//
// Its entry points keep what they must and spoil everything that they may: r10, r11, the flags, r9
// where it carries a number or brings back an address, and the memory below the stack pointer.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/contract/site_table.h"

namespace {

struct Entry {
    uintptr_t slot;
    const dwell::SiteRow* row;
    std::string path;
};
struct Seen {
    unsigned long entries = 0;
    unsigned long iterations = 0;
};
struct Record {
    std::mutex mutex;
    std::map<std::string, Seen> entered;
    std::map<std::string, unsigned long> wrong;
    std::vector<std::pair<long, long>> modules;
    unsigned long unregistered = 0;
};
Record& record() {
    static auto* everything = new Record;  // never destroyed: probes run after destructors
    return *everything;
}
thread_local std::vector<Entry>* open_entries = nullptr;

enum Kind { kEnter, kLeave, kLoopEnter, kLoopLeave, kVforked, kLanded, kLoopEnterCounting };

void wrong(const std::string& text) { ++record().wrong[text]; }

std::string name_of(const dwell::SiteRow* row) {
    if (row->kind == dwell::SiteKind::kLoop) {
        return std::to_string(row->line);
    }
    const char* name = dwell::row_text(&row->name);
    return name != nullptr ? name : "?";
}

bool encloses(const dwell::SiteRow* outer, const dwell::SiteRow* inner) {
    while (inner != outer && inner->enclosing < 0) inner += inner->enclosing;
    return inner == outer;
}

// Frames below are gone, and so are loops of this one that the place does not lie in. Then the site
// that it says it lies in must be the innermost one.
void landed(const dwell::SiteRow* row, uintptr_t slot) {
    std::vector<Entry>& open = *open_entries;
    const size_t before = open.size();
    while (!open.empty() &&
           (open.back().slot < slot ||
            (open.back().slot == slot && open.back().row->kind == dwell::SiteKind::kLoop &&
             !encloses(open.back().row, row)))) {
        open.pop_back();
    }
    if (row->level != 0 && (open.empty() || open.back().slot != slot || open.back().row != row)) {
        wrong("landed in " + name_of(row));
    }
    Seen& seen = record().entered["landed " + name_of(row)];
    ++seen.entries;
    seen.iterations += before - open.size();
}

void write_log() {
    const char* path = getenv("PROBE_LOG");
    FILE* out = path != nullptr ? fopen(path, "w") : nullptr;
    if (out == nullptr) {
        return;
    }
    const std::lock_guard lock(record().mutex);
    for (const auto& [rows, levels] : record().modules) {
        fprintf(out, "module %ld %ld\n", rows, levels);
    }
    fprintf(out, "unregistered %lu\n", record().unregistered);
    for (const auto& [where, seen] : record().entered) {
        fprintf(out, "entered %lu %lu %s\n", seen.entries, seen.iterations, where.c_str());
    }
    for (const auto& [text, count] : record().wrong) {
        fprintf(out, "wrong %lu %s\n", count, text.c_str());
    }
    fclose(out);
}

}  // namespace

extern "C" {

// Gives back where a counting loop counts.
unsigned long* probe_seen(const dwell::SiteRow* row, uintptr_t slot, unsigned long number,
                          Kind kind, uintptr_t stack_pointer) {
    const std::lock_guard lock(record().mutex);
    if (open_entries == nullptr) {
        open_entries = new std::vector<Entry>;
    }
    const std::string name = name_of(row);
    if (slot < stack_pointer || slot % 8 != 0 || *reinterpret_cast<void**>(slot) == nullptr) {
        wrong("slot " + name);
    }
    if (kind == kVforked) {
        ++record().entered["vforked " + std::string(number == 0 ? "child" : "parent")].entries;
        return nullptr;
    }
    if (kind == kLanded) {
        landed(row, slot);
        return nullptr;
    }
    const bool enters_loop = kind == kLoopEnter || kind == kLoopEnterCounting;
    if ((row->kind == dwell::SiteKind::kLoop) != (enters_loop || kind == kLoopLeave)) {
        wrong("kind " + name);
    }
    std::vector<Entry>& open = *open_entries;
    while (!open.empty() && open.back().slot < slot) {
        open.pop_back();
    }
    if (kind == kEnter || enters_loop) {
        // A loop left by a computed jump and entered again.
        for (size_t i = open.size(); i-- > 0 && open[i].slot == slot;) {
            if (open[i].row == row) {
                open.erase(open.begin() + static_cast<long>(i), open.end());
                break;
            }
        }
        const std::string path = (open.empty() ? "" : open.back().path + "/") + name;
        open.push_back({slot, row, path});
        Seen& seen = record().entered[path];
        ++seen.entries;
        return &seen.iterations;
    }
    // A jump out of inner loops of the same frame.
    while (!open.empty() && open.back().slot == slot && open.back().row != row &&
           open.back().row->kind == dwell::SiteKind::kLoop) {
        open.pop_back();
    }
    if (open.empty() || open.back().slot != slot || open.back().row != row) {
        wrong("leave " + name);
        return nullptr;
    }
    if (kind == kLoopLeave) {
        record().entered[open.back().path].iterations += number;
    }
    open.pop_back();
    return nullptr;
}

void dwell_unregister_sites(const dwell::SiteModule*) {
    const std::lock_guard lock(record().mutex);
    ++record().unregistered;
}

void dwell_link_module(dwell::LinkedModule* linked) {
    for (uint64_t* table = linked->links; table < linked->links_end; table += 1 + *table) {
        auto* const entry = reinterpret_cast<dwell::LinkTable*>(table)->entry;
        entry[dwell::kEnterPoint] = dwell_enter;
        entry[dwell::kLeavePoint] = dwell_leave;
        entry[dwell::kLoopEnterPoint] = dwell_loop_enter;
        entry[dwell::kLoopEnterCountingPoint] = dwell_loop_enter_counting;
        entry[dwell::kLoopLeavePoint] = dwell_loop_leave;
        entry[dwell::kLandedPoint] = dwell_landed;
        entry[dwell::kVforkedPoint] = dwell_vforked;
    }
    linked->unlink = [](const dwell::LinkedModule* module) {
        dwell_unregister_sites(&module->sites);
    };
    const dwell::SiteModule* const module = &linked->sites;
    const std::lock_guard lock(record().mutex);
    if (record().modules.empty()) {
        atexit(write_log);
    }
    record().modules.emplace_back(module->rows_end - module->rows,
                                  module->levels_end - module->levels);
    for (uint8_t* level = module->levels; level != module->levels_end; ++level) {
        if (*level != dwell::kLevelOff) {
            wrong("level");
        }
        *level = dwell::kLevelFull;
    }
}

const char* gnu_get_libc_release(dwell::LinkedModule* module, uint64_t mark) {
    if (mark == dwell::kLinkModuleMark) {
        dwell_link_module(module);
    }
    return "";
}
}

// x87, SSE, AVX and AVX-512 (Intel SDM 1, 13.1): at most 2688 bytes, of which a header of 64 at 512
// begins as zeros.
#define SAVE_VECTORS                                                                   \
    " .irp at, 512, 520, 528, 536, 544, 552, 560, 568\n movq $0, \\at(%rsp)\n .endr\n" \
    " mov $0xe7, %eax\n xor %edx, %edx\n xsave64 (%rsp)\n"
#define RESTORE_VECTORS " mov $0xe7, %eax\n xor %edx, %edx\n xrstor64 (%rsp)\n"

#define ENTRY_POINT(name, kind, bring_back, set_r9)                                       \
    asm(".text\n.globl " name "\n.type " name ", @function\n" name                        \
        ":\n endbr64\n push %rbp\n mov %rsp, %rbp\n push %rax\n push %rcx\n push %rdx\n"  \
        " push %rsi\n push %rdi\n push %r8\n push %r9\n and $-64, %rsp\n"                 \
        " sub $3072, %rsp\n" SAVE_VECTORS                                                 \
        " mov %r11, %rdi\n mov %r10, %rsi\n mov %r9, %rdx\n mov $" kind                   \
        ", %ecx\n lea 16(%rbp), %r8\n call probe_seen@PLT\n"                              \
        " mov %rax, %rcx\n" RESTORE_VECTORS " mov %rcx, %rax\n" bring_back                \
        " lea -56(%rbp), %rsp\n pop %r9\n pop %r8\n pop %rdi\n pop %rsi\n pop %rdx\n"     \
        " pop %rcx\n pop %rax\n pop %rbp\n movabs $0x5bad5bad5bad5bad, %r10\n mov %r10, " \
        "%r11\n" set_r9 " cmp %rsp, %r10\n stc\n ret\n")
ENTRY_POINT("dwell_enter", "0", "", "");
ENTRY_POINT("dwell_leave", "1", "", "");
ENTRY_POINT("dwell_loop_enter", "2", "", "");
ENTRY_POINT("dwell_loop_leave", "3", "", "mov %r10, %r9\n");
ENTRY_POINT("dwell_vforked", "4", "", "mov %r10, %r9\n");
ENTRY_POINT("dwell_landed", "5", "", "");
ENTRY_POINT("dwell_loop_enter_counting", "6", " mov %rax, -56(%rbp)\n", "");
