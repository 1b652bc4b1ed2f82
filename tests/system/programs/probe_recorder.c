// Stands in for libdwell.so where tests look at what the compiler plugins do: preloaded, it
// switches every probe on and writes what they said to the file $PROBE_RECORD when the program
// ends.
//
// It is the probes' contract at its limits (runtime/site_table.h): the entry points destroy what
// they may (r9 where it is used, r10, r11, the flags, the space below the stack pointer) and keep
// the rest. Compiled with -mgeneral-regs-only, so that no vector register is touched.
//
//   unit N ROWS VERSION LOOPS PROCEDURES COMPILER|FILE|DIRECTORY
//   row N KIND FLAGS ENCLOSING LINE COLUMN END_LINE PROBES ENTERED LEFT ITERATIONS ABANDONED
//       NAME|FILE
//   event KIND N NUMBER        the first of them, in order
//   unmatched N                leaves without an entry
//   modules NOW MOST
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {  // SiteRow
    int32_t name, file;
    uint32_t line;
    int32_t enclosing, level;
    uint8_t kind, flags;
    uint16_t column;
    uint32_t end_line, reserved;
};
struct unit_row {  // UnitRow
    int32_t compiler, file, directory;
    uint32_t rows;
    int32_t level;
    uint8_t kind, flags;
    uint16_t version;
    uint32_t loops_seen, procedures_seen;
};
struct module {
    const struct row *rows, *rows_end;
    uint8_t *levels, *levels_end;
};
struct tally {
    uint64_t entered, left, iterations, abandoned;
};
enum { kEnter, kLeave, kLoopEnter, kLoopLeave, kVforked };
static const char* const kEvents[] = {"enter", "leave", "loop_enter", "loop_leave", "vforked"};

// The probes: argument registers are set for record(), whatever may be destroyed is.
#define PROBE(name, kind, and_r9)                                                               \
    __asm__(".text\n.globl " name "\n.type " name ",@function\n" name                           \
            ":\n"                                                                               \
            "push %rax\n push %rcx\n push %rdx\n push %rsi\n push %rdi\n push %r8\n push %r9\n" \
            "push %rbp\n mov %rsp, %rbp\n and $-16, %rsp\n"                                     \
            "mov $" #kind                                                                       \
            ", %edi\n mov %r11, %rsi\n mov %r10, %rdx\n mov %r9, %rcx\n cld\n"                  \
            "call record\n"                                                                     \
            "mov %rbp, %rsp\n pop %rbp\n"                                                       \
            "pop %r9\n pop %r8\n pop %rdi\n pop %rsi\n pop %rdx\n pop %rcx\n pop %rax\n"        \
            "mov $-1, %r10\n mov $-1, %r11\n" and_r9                                            \
            "cmp $1, %r10b\n stc\n ret\n"                                                       \
            ".size " name ", .-" name "\n")
PROBE("dwell_enter", 0, "");
PROBE("dwell_leave", 1, "");
PROBE("dwell_loop_enter", 2, "");
PROBE("dwell_loop_leave", 3, "mov $-1, %r9\n");
PROBE("dwell_vforked", 4, "mov $-1, %r9\n");

enum { kModules = 16, kDepth = 4096, kEventsKept = 4096 };
static struct {
    const struct module* module;  // null once it is gone
    int first, rows;              // numbers of its rows
    struct tally* tallies;
} modules[kModules];
static int module_count, modules_now, modules_most;
static struct {
    int kind, row;
    uint64_t number;
} events[kEventsKept];
static int event_count;
static uint64_t unmatched;
static volatile int lock;

static __thread __attribute__((tls_model("initial-exec"))) struct {
    const struct row* row;
    uintptr_t slot;
} open_sites[kDepth];
static __thread __attribute__((tls_model("initial-exec"))) int depth;

static struct tally* tally_of(const struct row* row, int* number) {
    for (int i = 0; i < module_count; ++i) {
        const struct module* module = modules[i].module;
        if (module && row >= module->rows && row < module->rows_end) {
            *number = modules[i].first + (int)(row - module->rows);
            return &modules[i].tallies[row - module->rows];
        }
    }
    abort();
}

static void abandon_top(void) {
    int number;
    tally_of(open_sites[--depth].row, &number)->abandoned++;
}

// Whether `row` lies in `outer`, directly or not.
static int encloses(const struct row* outer, const struct row* row) {
    while (row->enclosing != 0) {
        row += row->enclosing;
        if (row == outer) return 1;
    }
    return 0;
}

static void enter(const struct row* row, uintptr_t slot) {
    while (depth > 0 && open_sites[depth - 1].slot == slot &&
           !encloses(open_sites[depth - 1].row, row)) {
        abandon_top();
    }
    if (depth == kDepth) abort();
    open_sites[depth].row = row;
    open_sites[depth++].slot = slot;
}

static int leave(const struct row* row, uintptr_t slot) {
    while (depth > 0 && open_sites[depth - 1].slot == slot) {
        if (open_sites[depth - 1].row == row) {
            --depth;
            return 1;
        }
        abandon_top();
    }
    return 0;
}

__attribute__((used, visibility("hidden"))) void record(int kind, const struct row* row,
                                                        uintptr_t slot, uint64_t number) {
    volatile char below[512];
    for (unsigned i = 0; i < sizeof below; ++i) below[i] = (char)0xa5;
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) {
    }
    int index;
    struct tally* tally = tally_of(row, &index);
    while (depth > 0 && open_sites[depth - 1].slot < slot) abandon_top();
    if (kind == kEnter || kind == kLoopEnter) {
        tally->entered++;
        enter(row, slot);
    } else if (kind == kLeave || kind == kLoopLeave) {
        tally->left++;
        if (kind == kLoopLeave) tally->iterations += number;
        if (!leave(row, slot)) ++unmatched;
    }
    if (event_count < kEventsKept) {
        events[event_count].kind = kind;
        events[event_count].row = index;
        events[event_count++].number = kind >= kLoopLeave ? number : 0;
    }
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

void dwell_register_sites(const struct module* module) {
    if (module_count == kModules) abort();
    const int before = module_count - 1;
    const int rows = (int)(module->rows_end - module->rows);
    modules[module_count].module = module;
    modules[module_count].first = module_count ? modules[before].first + modules[before].rows : 0;
    modules[module_count].rows = rows;
    modules[module_count++].tallies = calloc((size_t)rows, sizeof(struct tally));
    if (++modules_now > modules_most) modules_most = modules_now;
    memset(module->levels, getenv("PROBE_LEVELS_OFF") ? 0 : 1,
           (size_t)(module->levels_end - module->levels));
}

static const char* text(const int32_t* field) { return *field ? (const char*)field + *field : "-"; }

// The rows of a module that goes are written while they are there; no probe follows.
static void write_rows(FILE* out, int module) {
    const struct module* of = modules[module].module;
    for (const struct row* row = of->rows; row < of->rows_end; ++row) {
        const int number = modules[module].first + (int)(row - of->rows);
        const struct tally* tally = &modules[module].tallies[row - of->rows];
        const struct unit_row* unit = (const struct unit_row*)row;
        if (unit->kind == 1) {
            fprintf(out, "unit %d %u %u %u %u %s|%s|%s\n", number, unit->rows, unit->version,
                    unit->loops_seen, unit->procedures_seen, text(&unit->compiler),
                    text(&unit->file), text(&unit->directory));
            continue;
        }
        const uint8_t* level = row->level ? (const uint8_t*)&row->level + row->level : NULL;
        const int probes = level && level >= of->levels && level < of->levels_end;
        fprintf(out, "row %d %d %d %d %u %u %u %d %lu %lu %lu %lu %s|%s\n", number, row->kind,
                row->flags, row->enclosing ? number + row->enclosing : -1, row->line, row->column,
                row->end_line, level && !probes ? -1 : probes, tally->entered, tally->left,
                tally->iterations, tally->abandoned, text(&row->name), text(&row->file));
    }
}

static FILE* output(void) {
    static FILE* out;
    if (!out && getenv("PROBE_RECORD")) out = fopen(getenv("PROBE_RECORD"), "w");
    return out;
}

void dwell_unregister_sites(const struct module* module) {
    --modules_now;
    for (int i = 0; i < module_count; ++i) {
        if (modules[i].module != module) continue;
        if (output()) write_rows(output(), i);
        modules[i].module = NULL;
    }
}

__attribute__((destructor)) static void finish(void) {
    FILE* out = output();
    if (!out) return;
    for (int i = 0; i < event_count; ++i) {
        fprintf(out, "event %s %d %lu\n", kEvents[events[i].kind], events[i].row, events[i].number);
    }
    fprintf(out, "unmatched %lu\nmodules %d %d\n", unmatched, modules_now, modules_most);
    fclose(out);
}
