"""Call paths and lines: which node a call is booked on, and what that node is called."""

import re

from harness import (case, check, check_equal, execute, main, marked_line, profiled, program,
                     scratch, skip_unless, source)


def chains(*options):
    return profiled([program("chains")], 1, options)


def through(nodes, procedure):
    return sum(node.count for node in nodes if any(procedure in step for step in node.path))


@case
def whole_paths():
    """By default the whole path counts: three chains to one send are three nodes of 3, 5 and 7."""
    line = marked_line(source("chains.c"), "leaf")
    nodes = chains().comm("MPI_Send", "chains.c", line)
    check_equal(sorted(node.count for node in nodes), [3, 5, 7], "counts of the three chains")
    for procedure, count in (("first", 3), ("second", 5), ("third", 7), ("middle", 8)):
        check_equal(through(nodes, procedure), count, f"calls through {procedure}")


@case
def cut_paths():
    """A path of more frames than are kept is cut, and that is said; one of fewer is whole."""
    for frames, cut in ((900, False), (1500, True)):
        profile = profiled([program("many_paths"), str(frames)], 1, name=str(frames))
        node = profile.at(source("many_paths.c"), "barrier", "MPI_Barrier")
        check_equal("main" in node.path, not cut, f"main on the path of {frames} frames")
        notes = [note for note in profile.json["notes"] if "frames are cut" in note]
        check_equal(len(notes), int(cut), f"notes of {frames} frames")


@case
def depth_one():
    """--callpath 1 keeps the line alone: one node of 15."""
    line = marked_line(source("chains.c"), "leaf")
    nodes = chains("--callpath", "1").comm("MPI_Send", "chains.c", line)
    check_equal([node.count for node in nodes], [15], "counts")


@case
def depth_two():
    """--callpath 2 keeps the line and its caller's: by way of middle 8, of third 7."""
    line = marked_line(source("chains.c"), "leaf")
    nodes = chains("--callpath", "2").comm("MPI_Send", "chains.c", line)
    check_equal(sorted(node.count for node in nodes), [7, 8], "counts")


@case
def recursion():
    """Recursion folds into the node already on the stack (DESIGN 3): every call counts, and the tree
    does not grow with the depth."""
    profile = chains()
    line = marked_line(source("chains.c"), "bottom")
    nodes = profile.comm("MPI_Ssend", "chains.c", line)
    check_equal(sum(node.count for node in nodes), 20, "calls at the bottom")
    check(len(nodes) <= 3, f"{len(nodes)} nodes for one recursive procedure")
    for marker in ("even", "odd"):
        line = marked_line(source("chains.c"), marker)
        nodes = profile.comm("MPI_Rsend", "chains.c", line)
        check_equal(sum(node.count for node in nodes), 6, f"calls at @{marker}")
        check(len(nodes) <= 4, f"{len(nodes)} nodes at @{marker} of a mutual recursion")


@case
def alloca_behind_indirect_call():
    """A remembered path is used only where it is the path: two ways that leave the same stack
    pointer and dead frames of each other below it have 512 calls each."""
    profile = profiled([program("alloca_path")], 1)
    nodes = profile.comm("MPI_Send", "alloca_path.c")
    check_equal(sum(node.count for node in nodes), 1024, "calls in all")
    check_equal(through(nodes, "long_way"), 512, "calls by the long way")
    check_equal(through(nodes, "short_way"), 512, "calls by the short way")
    both = [n for n in nodes if "short_way" in str(n.path) and "long" in str(n.path)]
    check(not both, f"a path that no call took: {both}")


@case
def alloca_without_frame_pointer():
    """The same with -fomit-frame-pointer at -O2, where frames are found from unwind tables alone."""
    nodes = profiled([program("alloca_path_O2")], 1).comm("MPI_Send", "alloca_path.c")
    check_equal(through(nodes, "long_way"), 512, "calls by the long way")
    check_equal(through(nodes, "short_way"), 512, "calls by the short way")


@case
def tail_call():
    """`return MPI_Send(...)` at -O2 is a jump; its line comes from the one call-site entry."""
    file = source("tail_call.c")
    profile = profiled([program("tail_call")], 1)
    node = profile.at(file, "unique", "MPI_Send")
    check_equal(node.count, 9, "count")
    check(any("send_it" in step for step in node.path), f"path without send_it: {node.path}")


@case
def ambiguous_tail_call():
    """Where two jumps could have made the call its line is not guessed: the node is labelled, and
    shows a line only if it is the caller's."""
    file = source("tail_call.c")
    profile = profiled([program("tail_call")], 1)
    nodes = profile.comm("MPI_Ssend")
    check_equal(sum(node.count for node in nodes), 4, "calls")
    guessed = [marked_line(file, "tail_one"), marked_line(file, "tail_two")]
    for node in nodes:
        check(node.line not in guessed, f"a guessed line: {node}")
        check("unknown" in str(node.raw.get("labels", "")).lower(), f"no label: {node.raw}")


@case
def no_debug_information():
    """Without debug information the symbol and its offset name the place, and counts stay exact."""
    profile = profiled([program("ring_g0")], 2)
    for name in ("MPI_Sendrecv", "MPI_Allreduce"):
        check_equal(profile.count(name), 20, f"calls of {name}")
    nodes = profile.comm("MPI_Sendrecv")
    check(len(nodes) == 1 and re.search(r"main\+(0x[0-9a-f]+|\d+)", str(nodes[0].path) +
                                        str(nodes[0].raw)), f"no symbol and offset: {nodes}")


@case
def stripped():
    """A stripped binary is named by module and offset; one row for all ranks, counts exact."""
    profile = profiled([program("ring_stripped")], 2)
    nodes = profile.comm("MPI_Sendrecv")
    check_equal([node.count for node in nodes], [20], "calls")
    check("ring_stripped" in str(nodes[0].path) + str(nodes[0].raw), f"no module: {nodes[0].raw}")


@case
def separate_debug_file():
    """Debug information in a separate file, found by .gnu_debuglink or build-id, gives the line."""
    profile = profiled([program("ring_split")], 2)
    nodes = profile.comm("MPI_Sendrecv", "ring.c")
    check_equal([node.count for node in nodes], [20], "calls at a line of ring.c")


@case
def library_at_random_addresses():
    """A call site in a library that each rank has at another address is one row, also after
    dlclose."""
    file = source("lib_sends.c")
    profile = profiled([program("lib_user"), program("libsends.so")], 2)
    node = profile.at(file, "lib", "MPI_Sendrecv")
    check_equal(node.count, 12, "calls")
    check(any("lib_send" in step for step in node.path), f"path: {node.path}")


@case
def cplusplus_names():
    """Procedures of C++ are demangled and inlined frames are shown."""
    profile = profiled([program("plus")], 2)
    paths = [" / ".join(node.path) for node in profile.comm("MPI_Sendrecv", "plus.cpp")]
    check(any("app::ring<double>" in path for path in paths), f"no app::ring<double> in {paths}")
    check(any("exchange" in path and "step" in path for path in paths),
          f"no inlined exchange inside step in {paths}")
    names = {node["name"] for node in profile.nodes}
    check(not [n for n in names if n.startswith("_Z")], f"mangled names: {names}")
    frames = ("_start", "__libc_start", "dwell", "start_thread", "clone")
    alien = [n for n in names if n.startswith(frames) and not n.startswith("dwell-")]
    check(not alien, f"frames that are not the program's: {alien}")


@case
def thread_numbers():
    """--per-rank shows each thread of each rank; the threads add up to the merged row."""
    profile = profiled([program("threads")], 2)
    rows = profile.csv("--per-rank")
    sends = [r for r in rows if r["name"] == "MPI_Send" and r["kind"] == "comm"
             and r["rank"] != "*"]
    check_equal(sum(int(r["count"]) for r in sends), 2 * 8 * 200, "sends over ranks and threads")
    check_equal(len({(r["rank"], r["thread"]) for r in sends}), 16, "threads that sent")


@case
def ended_threads():
    """Records of ended threads are taken over: 100 short threads need but a few."""
    profile = profiled([program("many_threads")], 1)
    check_equal(profile.count("MPI_Iprobe"), 100, "calls")
    check(profile.ranks[0]["threads"] <= 4, f"{profile.ranks[0]['threads']} thread records")


@case
def thread_sanitizer():
    """A program with it ends as without dwell, also where threads end, and has whole call paths.
    (Open MPI makes it report much and exit with 66: that is left out here.)"""
    target = scratch("threads_tsan")
    build = execute(["mpicc", "-g", "-O1", "-fsanitize=thread", source("threads.c"), "-o",
                     target, "-pthread"])
    skip_unless(build.code == 0, "no thread sanitizer here")
    profile = profiled([target], 2, env={"TSAN_OPTIONS": "report_bugs=0"})
    waits = profile.comm("MPI_Wait", "threads.c")
    check_equal(sum(node.count for node in waits), 2 * 8 * 200, "waits")
    check_equal(through(waits, "work"), 2 * 8 * 200, "waits in work")


if __name__ == "__main__":
    main()
