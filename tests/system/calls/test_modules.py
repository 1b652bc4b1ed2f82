"""Programs and libraries in number, and files that are replaced while programs run from them."""

import os
import shutil

from harness import (Profile, case, check, check_equal, main, marked_line, profiled, program,
                     run_observed, scratch, source)


@case
def many_modules():
    """Statements in 1100 libraries, as of an interpreter with many extensions, all have their line."""
    count = 1100
    folder = scratch("libraries")
    os.mkdir(folder)
    for number in range(count):
        shutil.copy(program("libbarrier.so"), os.path.join(folder, f"{number}.so"))
    profile = profiled([program("many_modules"), folder, str(count)], 1)
    line = marked_line(source("lib_barrier.c"), "barrier")
    calls = {(node.file, node.line): node.count for node in profile.comm("MPI_Barrier")}
    check_equal(calls, {("lib_barrier.c", line): count}, "calls by line")
    notes = [note for note in profile.json["notes"] if "modules" in note or "read any more" in note]
    check_equal(notes, [], "notes")


@case
def replaced_file():
    """A program without build-id whose file is replaced while it runs: its lines are uncertain. One
    that stays is believed."""
    own = shutil.copy(program("replaced"), scratch("app"))
    new = shutil.copy(program("replaced"), scratch("new"))
    for words, uncertain in (([], False), ([new, own], True)):
        out = scratch(f"out{len(words)}")
        profile = Profile(out, run_observed([own, *words], 1, out))
        for marker in ("before", "after"):
            node = profile.at(source("replaced.c"), marker, "MPI_Barrier")
            check_equal("line_unknown" in node.raw["labels"], uncertain, f"label at @{marker}")
        notes = [note for note in profile.json["notes"] if "uncertain" in note and own in note]
        check_equal(len(notes), int(uncertain), f"notes {profile.json['notes']}")
        report = open(os.path.join(out, "report.txt"), encoding="utf-8").read()
        check_equal("of uncertain line" in profile.run.stderr, uncertain,
                    "the verdict" + profile.run.describe())
        check(("uncertain" in report) == uncertain, "the report")


if __name__ == "__main__":
    main()
