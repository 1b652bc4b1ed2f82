#!/usr/bin/env python3
"""Generates dwell's MPI tables and wrappers from mpi_calls.table.

usage: generate_mpi.py contract|wrappers TABLE OUT_DIR

Writes, for the one room, mpi_call_numbers.h (enum MpiCall) and mpi_calls.cpp (kMpiCalls,
kEventNames), for the other mpi_wrappers_<k>.cpp (the MPI_ and PMPI_ entry points), mpi_fortran.cpp
(some of Fortran's) and mpi_exports.map (version script).
"""
import sys
from pathlib import Path

from mpi_fortran import fortran_entries, fortran_symbols
from mpi_table import CLASSES, fail, read_table
from mpi_wrappers import SPLIT, wrappers


def numbers_header(functions):
    lines = ["// Made by generate_mpi.py from mpi_calls.table.",
             "#ifndef DWELL_RUNTIME_CONTRACT_MPI_CALL_NUMBERS_H_",
             "#define DWELL_RUNTIME_CONTRACT_MPI_CALL_NUMBERS_H_",
             "#include <stdint.h>", "namespace dwell {",
             "// NOLINTBEGIN(readability-identifier-naming): named like the MPI functions",
             "enum class MpiCall : uint16_t {", "    kNone = 0,"]
    lines += [f"    k{f.name} = {f.number}," for f in functions]
    lines += ["};", "// NOLINTEND(readability-identifier-naming)",
              f"constexpr int kMpiCallNumbers = {len(functions) + 1};",
              "}  // namespace dwell", "#endif  // DWELL_RUNTIME_CONTRACT_MPI_CALL_NUMBERS_H_", ""]
    return "\n".join(lines)


EVENT_NAMES = {  # events shared by several functions, or split by one
    -15: "set buffer", -21: "blocking send", -27: "send request started",
    -28: "send request tested, complete", -29: "send request tested, not complete",
    -30: "send request complete without waiting", -31: "send request waited for",
    -51: "receive, message waiting", -52: "receive, blocked",
    -53: "probe, message available", -54: "probe, no message available",
    -55: "blocking probe, message available", -56: "blocking probe, blocked",
    -57: "receive request started", -58: "receive request tested, complete",
    -59: "receive request tested, not complete", -60: "receive request complete without waiting",
    -61: "receive request waited for", -201: "file open", -202: "file close",
    -221: "file write", -251: "file read", -503: "processes spawned",
}


def calls_source(functions):
    lines = ["// Made by generate_mpi.py from mpi_calls.table.",
             '#include "runtime/contract/mpi_calls.h"', "", "namespace dwell {", "",
             "const MpiCallInfo kMpiCalls[] = {",
             '    {"", CallClass::kNone, {0, 0, 0, 0}, false, false},']
    names = dict(EVENT_NAMES)
    for function in functions:
        events = ", ".join(str(e) for e in function.events)
        waits = function.get("waits") or (function.get("class") == "collective"
                                          and not function.get("start")
                                          and not function.get("persistent"))
        analysed = (function.get("analysed") or function.get("depends")
                    or function.get("start_depends"))
        lines.append(f'    {{"{function.symbol()}", CallClass::{CLASSES[function.get("class")]}, '
                     f"{{{events}}}, {'true' if waits else 'false'}, "
                     f"{'true' if analysed else 'false'}}},")
        for event in function.events:
            if event != 0:
                names.setdefault(event, function.symbol())
    used = {e for f in functions for e in f.events if e != 0}
    lines += ["};", f"const int kMpiCallCount = {len(functions) + 1};", "",
              "const EventName kEventNames[] = {"]
    lines += [f'    {{{event}, "{names[event]}"}},' for event in sorted(used, reverse=True)]
    lines += ["};", f"const int kEventNameCount = {len(used)};", "", "}  // namespace dwell", ""]
    return "\n".join(lines)


# Functions interposed by io_wrappers.cpp and io_streams.cpp.
IO_FUNCTIONS = """
__dprintf_chk __fgets_chk __fgets_unlocked_chk __fprintf_chk __fread_chk __fread_unlocked_chk
__getdelim __open64_2 __open_2 __openat64_2 __openat_2 __pread64_chk __pread_chk __printf_chk
__read_chk __vdprintf_chk __vfprintf_chk __vprintf_chk close close_range closedir closefrom creat
creat64 dprintf dup2 dup3 fclose fdatasync fdopen fflush fflush_unlocked fgets fgets_unlocked fopen
fopen64 fprintf fputs fputs_unlocked fread fread_unlocked freopen freopen64 fseek fseeko fseeko64
fsync fwrite fwrite_unlocked getdelim getline open open64 openat openat64 pclose pread pread64
preadv preadv2 preadv64 preadv64v2 printf puts pwrite pwrite64 pwritev pwritev2 pwritev64
pwritev64v2 read readv vdprintf vfprintf vprintf write writev
""".split()


def exports_map(functions):
    lines = ["{", "  global:"]
    for function in functions:
        lines += [f"    {function.symbol()};", f"    P{function.symbol()};"]
    lines += [f"    {name};" for name in fortran_symbols(functions) + IO_FUNCTIONS]
    return "\n".join(lines + ["    dlclose;", "    dlsym;", "    gnu_get_libc_release;", "    GOMP_*;",
                               "    dwell_*;", "    kokkosp_*;",
                              "    __cyg_profile_func_enter;", "    __cyg_profile_func_exit;",
                              "    ompt_start_tool;",
                              "  local: *;", "};", ""])


def contract_files(functions):
    return {"mpi_call_numbers.h": numbers_header(functions), "mpi_calls.cpp": calls_source(functions)}


def wrapper_files(functions):
    files = {"mpi_fortran.cpp": fortran_entries(functions), "mpi_exports.map": exports_map(functions)}
    for part in range(SPLIT):
        files[f"mpi_wrappers_{part}.cpp"] = wrappers(functions, part)
    return files


def main():
    rooms = {"contract": contract_files, "wrappers": wrapper_files}
    if len(sys.argv) != 4 or sys.argv[1] not in rooms:
        fail("usage: generate_mpi.py contract|wrappers TABLE OUT_DIR")
    out = Path(sys.argv[3])
    for name, text in rooms[sys.argv[1]](read_table(Path(sys.argv[2]))).items():
        path = out / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    main()
