"""No room includes a header of its own floor or of a higher one (docs/architecture.md, "Floors")."""

import os
import re

from harness import case, check, check_equal, main

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# From the lowest floor up. Rooms of one floor do not know each other.
FLOORS = {
    "runtime": [["contract"], ["process"], ["calltree"], ["mpi", "measure"], ["sampling"], ["probes", "exchange"],
                ["calls", "hosts"], ["waitstates", "io", "openmp"], ["order"], ["wrappers"], ["lifecycle"],
                ["api"]],
    "instrument": [["selection"], ["gcc", "llvm", "wrapper"]],
    "summarize": [["merge"], ["model"], ["code"], ["symbols"], ["attribution"], ["profile"], ["formats"]],
    "report": [["figures"], ["text"], ["console"], ["results"], ["sampling"], ["launch"], ["command"]],
}
# What the rooms of a folder may use of other folders.
BELOW = {
    "runtime": [],
    "instrument": ["runtime/contract"],
    "summarize": ["runtime/contract"],
    "report": ["runtime/contract", "runtime/process", "runtime/sampling", "summarize/", "instrument/"],
}
# The last step of the runtime, the merge in MPI_Finalize, links the merge of records.
ALSO = {("runtime/lifecycle", "summarize/merge")}


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
    """Every #include goes downwards, and no source lies outside of the rooms."""
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
    check(not wrong, "; ".join(wrong))


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
