"""No lower room includes a header of a higher one (DESIGN 2).

runtime < instrument, summarize < report. The one exception: the last step of the runtime, the merge
in MPI_Finalize, may include the headers of the merge, which is the part of summarize that
libdwell.so links.
"""

import os
import re

from harness import case, check, main

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ALLOWED = {
    "runtime": {"runtime"},
    "instrument": {"runtime", "instrument"},
    "summarize": {"runtime", "summarize"},
    "report": {"runtime", "summarize", "instrument", "report"},
}
MERGE_HEADERS = {"summarize/merge/merged.h", "summarize/merge/grow_array.h"}
MERGE_USERS = {"finish", "lifecycle", "merge_over_mpi"}


def sources(room):
    for folder, _, names in os.walk(os.path.join(ROOT, room)):
        for name in names:
            if re.search(r"\.(h|hpp|c|cc|cpp|in|inc)$", name):
                yield os.path.join(folder, name)


@case
def include_graph():
    """Every #include of another room goes downwards."""
    seen, wrong = 0, []
    for room, allowed in ALLOWED.items():
        for path in sources(room):
            seen += 1
            with open(path, encoding="utf-8") as stream:
                text = stream.read()
            for header in re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', text, re.M):
                target = header.split("/")[0]
                merge = (room == "runtime" and header in MERGE_HEADERS and
                         os.path.splitext(os.path.basename(path))[0] in MERGE_USERS)
                if target in ALLOWED and target not in allowed and not merge:
                    wrong.append(f"{os.path.relpath(path, ROOT)} includes {header}")
                if header.startswith(".."):
                    wrong.append(f"{os.path.relpath(path, ROOT)} includes {header} by a way round")
    check(seen > 10, f"only {seen} sources found under {ROOT}")
    check(not wrong, "; ".join(wrong))


if __name__ == "__main__":
    main()
