"""libdwell.so stays lean (DESIGN 2, 5): read from its dynamic section with readelf."""

import re
import shutil
import subprocess

from harness import LIBRARY, case, check, main, skip_unless

NEEDED = re.compile(r"^(libc\.so\.6|ld-linux[-\w]*\.so\.\d+)$")
EXPORTED = re.compile(r"^(P?MPIX?_[A-Z]\w+|dwell_[a-z]\w*|dlclose|dlsym|kokkosp_[a-z]\w*|GOMP_[a-z]\w*"
                      r"|__cyg_profile_func_(enter|exit))$")
# Interposed besides MPI: what a process may do to its end, or to itself, that records must survive;
# where an OpenMP runtime asks for tools, and how programs find the library whatever linked them.
OTHER = {"fork", "vfork", "_exit", "_Exit", "ompt_start_tool", "gnu_get_libc_release"}
# Those of Fortran's calls that do not reach C's (runtime/wrappers/mpi_fortran.py); MPI_WAITALL is above.
DIRECT = r"((wait|test)(all|any|some)|((comm|type|win)_create_)?keyval(_create)?|" \
         r"(comm|win|file)_create_errhandler|errhandler_create)"
FORTRAN = re.compile(rf"^(p?mpi_{DIRECT}_{{0,2}}|ompi_{DIRECT}_f)$")
# What reads and writes files (runtime/wrappers/generate_mpi.py).
IO = re.compile(r"^(__)?(open|openat|creat|close|dup[23]|p?(read|write)v?(64)?(v2|2)?|f(data)?sync"
                r"|f(open|dopen|reopen|close|read|gets|write|puts|printf|flush|seeko?)|v?[fd]?printf"
                r"|(__)?get(line|delim)|puts|pclose|closedir|close_?(range|from))"
                r"(64)?(_unlocked)?(_2|_chk)?$")


def readelf(*options):
    return subprocess.run(["readelf", "-W", *options, LIBRARY], capture_output=True, text=True,
                          check=True).stdout


@case
def dynamic_section():
    """Needs libc alone, has no text relocations, initial-exec TLS of a few words, and exports the
    interposed functions and dwell_ symbols only."""
    skip_unless(shutil.which("readelf"), "readelf is not installed")
    dynamic = readelf("-d")
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    check(needed and all(NEEDED.match(name) for name in needed), f"NEEDED is {needed}")
    check("TEXTREL" not in dynamic, "has text relocations")
    relocations = readelf("-r")
    check(not re.search(r"DTPMOD|TLSDESC", relocations), "TLS is not initial-exec")
    tls = re.search(r"^\s+TLS\s+\S+\s+\S+\s+\S+\s+\S+\s+(0x[0-9a-f]+)", readelf("-l"), re.M)
    check(tls is None or int(tls.group(1), 16) <= 256, f"TLS segment of {tls and tls.group(1)} bytes")
    exported = []
    for line in readelf("--dyn-syms").splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[0].endswith(":") and fields[6] != "UND" \
                and fields[4] in ("GLOBAL", "WEAK"):
            exported.append(fields[7].split("@")[0])
    alien = [name for name in exported if not EXPORTED.match(name) and not IO.match(name)
             and not FORTRAN.match(name) and name not in OTHER]
    check(not alien, f"exports {alien}")
    check(len(exported) > 420, f"exports only {len(exported)} symbols")


if __name__ == "__main__":
    main()
