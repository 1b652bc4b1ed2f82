// The static table and the probes: the contract between what a compiler plugin puts into a program
// (instrument/), the library that runs beside it (runtime/probes/probes.cpp) and what reads the
// tables of a file (summarize/symbols/site_tables.cpp). DESIGN 1 (site), 3.
//
// Every translation unit adds, with no relocation that the loader would have to process:
//
//   section dwell_sites   (read-only)  rows of 32 bytes: one UnitRow, then SiteRows
//   section dwell_levels  (writable)   one byte for each row that has probes, zero: off
//   section dwell_links   (writable)   a LinkTable: where the library's entry points are, zero
//   strings anywhere read-only         names and files, zero terminated, found from their rows
//
// The linker joins the sections of one module (program or shared library), so a module has one
// table from __start_dwell_sites to __stop_dwell_sites, and likewise its levels and links. A
// constructor, one for each module, hands them to dwell_link_module, if the library is present,
// which fills the links; a destructor takes them back when the module is unloaded. A row is named
// in records by the offset of its address in its module, as code addresses are.
//
// Some linkers bind a weak symbol that no library of the link has to 0 for good, so the constructor
// finds the library in a second way: it calls gnu_get_libc_release, which the C library has and
// libdwell.so interposes, with what dwell_link_module takes and kLinkModuleMark. The C library's
// own takes nothing and has no effect.
//
// A probe is one inline assembly statement, or in optimised code two: a test of its level byte and,
// out of the way, what is done when that is not zero. Then it calls one of the entry points below
// by way of its unit's links, in a convention of its own:
//
//   r11   address of the SiteRow
//   r10   address of the stack slot that holds the return address of the probed procedure; it names
//         the frame, and the slot's content the calling statement
//   r9    loop leave: how often the body of the loop was begun since it was entered (of a loop
//         whose test has side effects, how often it was tested), as far as that was not counted
//         where the counting loop enter said;
//         vfork: what it returned
//
// A loop that calls something may be left without a probe: an exception or longjmp goes through its
// frame. It is entered by the counting loop enter, which gives back in r9 the address of a number
// of 64 bits, or 0, and where its body begins it adds 1 to that number, until it is left. The
// address stays good while the process runs.
//
// dwell_landed stands where control may come back from frames that are gone (where exceptions are
// caught, after calls that return twice), with the row of the innermost site with probes around it;
// dwell_vforked after vfork. Both test whether their link is filled and no level.
//
// All registers but r9 (where it is used), r10, r11 and the flags are kept, vector registers
// included; no memory of the program is read or written but the row, its level and the slot. The
// entry points need no aligned stack, but the space below the stack pointer must be free: code with
// probes is compiled without a red zone. The program runs without the library.
//
// Units of version 1 have no links: they name the entry points and dwell_register_sites as weak
// symbols. They go on working, also beside others in one module, where the linker lets them.
#ifndef DWELL_RUNTIME_CONTRACT_SITE_TABLE_H_
#define DWELL_RUNTIME_CONTRACT_SITE_TABLE_H_

#include <stdint.h>

#include "runtime/contract/record_layout.h"

namespace dwell {

constexpr uint16_t kSiteTableVersion = 2;
constexpr uint16_t kFirstWithLinks = 2;  // older ones name the entry points as weak symbols

enum SiteRowFlags : uint8_t {
    kRowSmall = 1,       // procedure left out: too small to measure
    kRowUnselected = 2,  // left out by the enabling profile or by the default choice of loops
    kRowArtificial = 4,  // made by the compiler, not written by the programmer
    kRowInnermost = 8,   // loop without call, communication or loop inside
    kRowGuessed = 16,    // loop whose condition the source does not tell from its body
};

// Texts are found relative to the field that names them: reinterpret_cast<const char*>(&name) +
// name; 0 = none. Files are as the compiler was given them, relative ones to UnitRow::directory.
struct SiteRow {
    int32_t name;  // procedure: linkage name; call, communication: of the procedure called,
                   // none when it is called through a pointer; loop: none
    int32_t file;
    uint32_t line;      // 0 = unknown
    int32_t enclosing;  // distance in rows to the enclosing site's row, negative; 0 = none
    int32_t level;      // address of the level byte relative to this field; 0 = without probes
    SiteKind kind;      // procedure, loop, call or communication; program: this is a UnitRow
    uint8_t flags;      // SiteRowFlags
    uint16_t column;    // 0 = unknown
    uint32_t end_line;  // last line of a procedure or loop, 0 = unknown
    uint32_t reserved;
};

// First row of each translation unit; `kind` lies where SiteRow has it and is kProgram.
struct UnitRow {
    int32_t compiler;   // text, such as "gcc 12.2.0"
    int32_t file;       // the source file given to the compiler
    int32_t directory;  // where it was called
    uint32_t rows;      // that follow and belong to this unit
    int32_t level;      // 0
    SiteKind kind;
    uint8_t flags;
    uint16_t version;     // kSiteTableVersion
    uint32_t loops_seen;  // for the report: loops and procedures that the compiler saw
    uint32_t procedures_seen;
};
static_assert(sizeof(SiteRow) == 32 && sizeof(UnitRow) == 32);

// What a level byte may hold.
enum SiteLevel : uint8_t {
    kLevelOff = 0,
    kLevelFull = 1,
    kLevelCount = 2,  // counted without time
    kLevelTried = 3,  // the same in a trial: it is off otherwise (runtime/probes/probe_trials.h)
};

// In the order of a LinkTable. Appended to only.
enum EntryPoint : uint32_t {
    kEnterPoint,
    kLeavePoint,
    kLoopEnterPoint,
    kLoopEnterCountingPoint,
    kLoopLeavePoint,
    kLandedPoint,
    kVforkedPoint,
    kEntryPoints
};

// One for each translation unit.
struct LinkTable {
    uint64_t entries;  // kEntryPoints of the compiler that wrote it: so many pointers follow
    void (*entry[kEntryPoints])();
};
static_assert(sizeof(LinkTable) == (1 + kEntryPoints) * sizeof(uint64_t));

// What a module hands over. All addresses are in the module.
struct SiteModule {
    const SiteRow* rows;
    const SiteRow* rows_end;
    uint8_t* levels;
    uint8_t* levels_end;
};
struct LinkedModule {
    SiteModule sites;
    uint64_t* links;  // LinkTables, of which each has the length that it says
    uint64_t* links_end;
    void (*unlink)(const LinkedModule* module);  // set by the library
};
static_assert(sizeof(LinkedModule) == 7 * sizeof(uint64_t));

// Second argument of gnu_get_libc_release: the first is a LinkedModule.
constexpr uint64_t kLinkModuleMark = 0x9d3a'64e1'7b0c'5f28;

inline const char* row_text(const int32_t* field) {
    return *field != 0 ? reinterpret_cast<const char*>(field) + *field : nullptr;
}

}  // namespace dwell

extern "C" {
// Called from constructors and destructors of instrumented modules; thread-safe, not signal-safe.
// `module` stays valid until it is unregistered.
void dwell_link_module(dwell::LinkedModule* module);
void dwell_register_sites(const dwell::SiteModule* module);
void dwell_unregister_sites(const dwell::SiteModule* module);

// Probes; see above for their arguments. Never called from C++.
void dwell_enter();
void dwell_leave();
void dwell_loop_enter();
void dwell_loop_enter_counting();
void dwell_loop_leave();
void dwell_landed();
void dwell_vforked();
}

#endif  // DWELL_RUNTIME_CONTRACT_SITE_TABLE_H_
