"""No room includes a header of its own floor or of a higher one, and no object of the runtime needs a symbol
of one (docs/architecture.md, "Floors")."""

import glob
import os
import re
import shutil
import subprocess

from harness import LIBRARY, ROOT, case, check, check_equal, main, skip_unless

# From the lowest floor up. Rooms of one floor do not know each other.
FLOORS = {
    "runtime": [["contract"], ["process"], ["events"], ["calltree"], ["mpi", "measure"], ["sampling"], ["probes", "exchange"],
                ["calls", "hosts"], ["waitstates", "io", "openmp"], ["order"], ["wrappers"], ["lifecycle"],
                ["api"]],
    "instrument": [["selection"], ["gcc", "llvm", "wrapper"]],
    "summarize": [["merge"], ["events"], ["model"], ["code"], ["symbols"], ["attribution"], ["profile"], ["formats"]],
    "report": [["figures"], ["text"], ["console"], ["results"], ["sampling"], ["live"], ["filter"], ["events"], ["export", "import", "watch"], ["top"], ["launch"], ["command"]],
}
FILES_OF_A_ROOM = 25
# What the rooms of a folder may use of other folders.
BELOW = {
    "runtime": [],
    "instrument": ["runtime/contract"],
    "summarize": ["runtime/contract"],
    "report": ["runtime/contract", "runtime/process", "runtime/sampling", "summarize/", "instrument/"],
}
# The last step of the runtime, the merge in MPI_Finalize, links the merge of records, and queries of the
# program have the report's formulas.
ALSO = {("runtime/lifecycle", "summarize/merge"), ("runtime/api", "summarize/merge")}
# What a room asks for that a higher one answers (runtime/process/hooks.h), and functions of the C library in whose
# place dwell's own pass dwell's calls on (runtime/wrappers/looked_up.cpp, runtime/io/io_wrappers.cpp).
ANSWERED_ABOVE = {"dwell::probes_wanted()", "dwell::attach_for_probe()", "dlsym", "closedir"}


def floor_of(room):
    folder, _, name = room.partition("/")
    for number, names in enumerate(FLOORS[folder]):
        if name in names:
            return number
    return None


def may_include(room, other):
    folder, its = room.split("/")[0], other.split("/")[0]
    if room == other or (room, other) in ALSO:
        return True
    if folder == its:
        return floor_of(other) < floor_of(room)
    return any(other.startswith(below) for below in BELOW[folder])


def sources(folder):
    for place, _, names in os.walk(os.path.join(ROOT, folder)):
        for name in names:
            if re.search(r"\.(h|hpp|c|cc|cpp|in|inc)$", name):
                yield os.path.relpath(os.path.join(place, name), ROOT)


def room_of(path):
    """The room, where the path is one of dwell's."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] in FLOORS and len(parts) > 2 else None


def wrong_includes(path, text):
    for header in re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', text, re.M):
        other = room_of(header)
        if header.startswith("..") or header.split("/")[0] in FLOORS and other is None:
            yield f"{path} includes {header} by a way round"
        elif other is not None and not may_include(room_of(path), other):
            yield f"{path} includes {header}"


@case
def include_graph():
    """Every #include goes downwards, no source lies outside of the rooms, and no room is too full."""
    seen, wrong = 0, []
    for folder in FLOORS:
        for path in sources(folder):
            seen += 1
            room = room_of(path)
            if room is None or floor_of(room) is None:
                wrong.append(f"{path} lies in no room")
                continue
            with open(os.path.join(ROOT, path), encoding="utf-8") as stream:
                wrong += wrong_includes(path, stream.read())
    check(seen > 400, f"only {seen} sources found under {ROOT}")
    for folder in FLOORS:
        for place, _, names in os.walk(os.path.join(ROOT, folder)):
            files = [name for name in names if name not in ("README.md", "CMakeLists.txt") and "__" not in place]
            if len(files) > FILES_OF_A_ROOM:
                wrong.append(f"{os.path.relpath(place, ROOT)} has {len(files)} files")
    check(not wrong, "; ".join(wrong))


def symbols_of(objects):
    """Of each room's objects: which room defines a symbol, and what each room needs."""
    defined, needed = {}, []
    for room, path in objects:
        table = subprocess.run(["nm", "-C", path], capture_output=True, text=True, check=True).stdout
        for kind, name in re.findall(r"^[ 0-9a-f]{16} (\w) (.*)$", table, re.M):
            if kind in "TDBR":
                defined[name] = room
            elif kind in "Uw":
                needed.append((room, name))
    return defined, needed


def wrong_links(defined, needed):
    for room, name in sorted(set(needed)):
        other = defined.get(name, room)
        if name not in ANSWERED_ABOVE and not may_include(room, other):
            yield f"{room} needs {name} of {other}"


@case
def link_graph():
    """What an object of a room needs is defined in that room or below it."""
    skip_unless(shutil.which("nm"), "nm is not installed")
    objects, built = [], os.path.dirname(LIBRARY)
    for floor in FLOORS["runtime"]:
        for name in floor:
            for path in glob.glob(os.path.join(built, name, "CMakeFiles", "*", "*.o")):
                # Those of sources that went to another room stay in the folder of a build.
                file = os.path.join(name, os.path.basename(path)[:-len(".o")])
                if any(os.path.exists(os.path.join(at, file)) for at in (built, os.path.join(ROOT, "runtime"))):
                    objects.append((f"runtime/{name}", path))
    check(len(objects) > 90, f"only {len(objects)} objects found beside {LIBRARY}")
    defined, needed = symbols_of(objects)
    wrong = list(wrong_links(defined, needed))
    check(not wrong, "; ".join(wrong))


@case
def planted_link():
    """A symbol of a higher room or of the same floor is found, but for what is answered there."""
    defined = {"dwell::enter(int)": "runtime/calls", "dwell::g_live": "runtime/process",
               "dwell::probes_wanted()": "runtime/lifecycle"}
    for room in ("runtime/process", "runtime/hosts"):
        check_equal(list(wrong_links(defined, [(room, "dwell::enter(int)")])),
                    [f"{room} needs dwell::enter(int) of runtime/calls"], "links")
    for name in ("dwell::g_live", "dwell::probes_wanted()", "memcpy"):
        check_equal(list(wrong_links(defined, [("runtime/probes", name)])), [], name)


@case
def planted():
    """An include that runs upwards, sideways or by a way round is found."""
    for path, header in (("runtime/process/arena.cpp", "runtime/calls/records.h"),
                         ("runtime/io/io_records.cpp", "runtime/openmp/omp_team.h"),
                         ("runtime/calls/records.cpp", "summarize/merge/merged.h"),
                         ("summarize/code/vdso.cpp", "summarize/formats/write_csv.h"),
                         ("report/text/tree_view.cpp", "../figures/figures.h"),
                         ("report/text/tree_view.cpp", "report/figures.h")):
        check_equal(len(list(wrong_includes(path, f'#include <string>\n#include "{header}"\n'))), 1,
                    f"{path} includes {header}")
    for path, header in (("runtime/lifecycle/finish.cpp", "summarize/merge/merged.h"),
                         ("runtime/io/io_records.cpp", "runtime/calls/records.h"),
                         ("report/text/tree_view.cpp", "summarize/model/profile.h")):
        check_equal(list(wrong_includes(path, f'#include "{header}"\n')), [], f"{path} includes {header}")


if __name__ == "__main__":
    main()
