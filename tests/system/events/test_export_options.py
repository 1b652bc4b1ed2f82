"""Parts of logs, clocks of several hosts, progress on a terminal. The logs come from a PICL trace, so that all
times are known."""

import json
import os
import pty
import re
import select
import subprocess
import threading
import time

import edit_log
import picl_reader
import sddf_reader
from epilog_reader import Epilog
from exporting import export, logged, number_before
from harness import DWELL, case, check, check_equal, check_near, environment, execute, main, program, scratch
from test_otf2 import Archive, numbers, printed
from test_perfetto import messages, nested, read

S = 10**9  # of nanoseconds
FORMATS = ("perfetto", "chrome", "otf2", "epilog", "picl", "sddf", "sddf-binary", "midi")
FORMS = "10-12.5, 10- or -10"
# Two user events, "outer" of rank 0 and "work" of rank 1, with four messages of 8 bytes in them: times of
# beginning and end, tag.
SENDS = [(1.0, 1.1, 1), (3.0, 3.1, 2), (5.0, 5.1, 1), (6.0, 6.1, 3)]
RECEIVES = [(2.5, 4.0, 1), (4.2, 4.5, 2), (5.2, 5.5, 1), (6.5, 8.5, 3)]


def known_log():
    lines = [(-1, '-5 0 -1.0 -1 -1 5 "%c" outer'), (-1, '-5 1 -1.0 -1 -1 4 "%c" work'),
             (0.0, "-3 0 0.0 0 0 0"), (9.0, "-4 0 9.0 0 0 0"), (0.5, "-3 1 0.5 1 0 0"), (9.0, "-4 1 9.0 1 0 0")]
    for begin, end, tag in SENDS:
        lines += [(begin, f'-3 -21 {begin} 0 0 3 "%d" 8 {tag} 1'), (end, f"-4 -21 {end} 0 0 0")]
    for begin, end, tag in RECEIVES:
        lines += [(begin, f'-3 -52 {begin} 1 0 1 "%d" {tag}'), (end, f'-4 -52 {end} 1 0 3 "%d" 8 {tag} 0')]
    with open(scratch("known.picl"), "w", encoding="ascii") as stream:
        stream.writelines(line + "\n" for _, line in sorted(lines, key=lambda one: one[0]))
    os.makedirs(scratch("known/events"))
    run = execute([DWELL, "import", scratch("known.picl"), "-o", scratch("known/events/known.events")])
    check_equal(run.code, 0, "dwell import" + run.describe())
    return scratch("known")


def ranks_of(processes, threads):
    """Ranks by track."""
    names = {process["pid"]: process["name"] for process in processes.values()}
    return {track: int(names[thread["pid"]].split()[1]) for track, thread in threads.items()}


def slices(events, ranks):
    """By rank: begin, end and name in the order of their beginnings."""
    found = {}
    for track, rank in ranks.items():
        open_slices, own = [], found.setdefault(rank, [])
        for event in (e for e in events if e["on"] == track):
            if event["type"] == 1:
                open_slices.append(len(own))
                own.append((event["ts"], None, event["name"]))
            elif event["type"] == 2:
                number = open_slices.pop()
                own[number] = (own[number][0], event["ts"], own[number][2])
    return found


def exported(form, *options):
    path, said = export(scratch("known"), form, f"part.{form}", *options)
    return path, said


@case
def window():
    """Seconds 2 to 7: calls that are open begin and end with the window; of seven ends of messages five belong
    together, and each receive is still that of its own send."""
    known_log()
    path, said = exported("perfetto", "--window", "2-7")
    check_equal([number_before(said, words) for words in ("calls began before", "calls end after", "messages have")],
                [2, 3, 2], f"what is counted: {said}")
    processes, threads, events = read(path)
    ranks = ranks_of(processes, threads)
    cut = [(max(2 * S, round(b * S)), min(7 * S, round(e * S))) for b, e, _ in SENDS + RECEIVES]
    check_equal(slices(events, ranks), {
        0: [(2 * S, 7 * S, "outer"), *((*times, "MPI_Send") for times in cut[1:4])],
        1: [(2 * S, 7 * S, "work"), *((*times, "MPI_Recv") for times in cut[4:])]}, "calls")
    for track in threads:
        nested([e for e in events if e["on"] == track])
    # The last message is on its way when the window ends.
    last = [e for e in events if e.get("args", {}).get("tag") == 3]
    check_equal(len(last), 1, "ends of the last message")
    last[0]["flows"] = []
    flows = {(ranks[a], ranks[b]): [(source["ts"], end["ts"], end["args"]["tag"]) for source, end in found]
             for (a, b), found in messages(events).items()}
    check_equal(flows, {(0, 1): [(3 * S, round(4.5 * S), 2), (5 * S, round(5.5 * S), 1)]}, "messages")


@case
def window_of_other_formats():
    """The same window: only messages with both ends where readers match them by their order."""
    known_log()
    trace = Epilog(exported("epilog", "--window", "2-7")[0])
    check_equal([event["tag"] for event in trace.of("MPI_SEND")], [2, 1], "sends of EPILOG")
    check_equal([(event["tag"], round(event["send"]["time"], 6)) for event in trace.of("MPI_RECV")],
                [(2, 3.0), (1, 5.0)], "receives of EPILOG")
    archive = Archive(exported("otf2", "--window", "2-7")[0]).check()
    for kind, tags in (("MPI_SEND", "21"), ("MPI_RECV", "21")):
        check_equal([numbers(event[3])["Tag"] for event in archive.of(kind)], list(tags), f"{kind} of OTF2")
    with open(exported("chrome", "--window", "2-7")[0], encoding="utf-8") as stream:
        found = [event for event in json.load(stream)["traceEvents"] if event["ph"] in "sf"]
    ids = {}
    for event in found:
        ids.setdefault(event["id"], []).append((event["ph"], event["ts"]))
    check_equal(sorted(ids.values(), key=lambda one: one[0][1]),
                [[("s", 3e6), ("f", 4.5e6)], [("s", 5e6), ("f", 5.5e6)]], "flows of Chrome's format")
    file = sddf_reader.read(exported("sddf", "--window", "2-7")[0])
    check_equal(len(file.of("enter")), len(file.of("leave")), "beginnings and ends in SDDF")
    check_equal([record["tag"] for record in file.of("receive")], [1, 2, 1], "receives of SDDF")
    trace = picl_reader.Trace(exported("picl", "--window", "2-7")[0], 2)
    check_equal([span.exit[:2] for span in trace.of(1, -51, -52)], [[8, 1], [8, 2], [8, 1], []], "receives of PICL")
    check_equal([float(span.begin) for span in trace.of(0, -21)], [3, 5, 6], "sends of PICL")


@case
def half_windows():
    """Without a beginning, without an end, and where nothing is."""
    known_log()
    for choice, counts in (("-2", [0, 2, 1]), ("7-", [3, 0, 1])):
        said = exported("perfetto", "--window", choice)[1]
        check_equal([number_before(said, words) for words in ("calls began before", "calls end after", "messages have")],
                    counts, f"window {choice}: {said}")
    said = export(scratch("known"), "perfetto", "none", "--window", "50-60", code=1)[1]
    check("no events in this window" in said and not os.path.exists(scratch("none")), said)


@case
def chosen_ranks():
    """One of two ranks: its calls alone. Its messages have one end."""
    known_log()
    path, said = exported("perfetto", "--ranks", "1")
    check_equal(number_before(said, "messages have only one end"), len(RECEIVES), said)
    processes, threads, events = read(path)
    check_equal([process["name"].split(" (")[0] for process in processes.values()], ["rank 1 known.picl"], "processes")
    check_equal([name for _, _, name in slices(events, ranks_of(processes, threads))[1]],
                ["work"] + 4 * ["MPI_Recv"], "calls")
    trace = Epilog(exported("epilog", "--ranks", "1")[0])
    check_equal((len(trace.processes), len(trace.of("MPI_RECV"))), (2, 0), "ranks and receives of EPILOG")
    said = export(scratch("known"), "perfetto", "none", "--ranks", "2-5", code=1)[1]
    check("no events of the ranks 2-5" in said, said)


@case
def chosen_kinds():
    """Messages go with their calls, whatever is around these."""
    known_log()
    for kinds, names in (("blocks", {0: ["outer"], 1: ["work"]}),
                         ("mpi", {0: 4 * ["MPI_Send"], 1: 4 * ["MPI_Recv"]}),
                         ("mpi,blocks", {0: ["outer"] + 4 * ["MPI_Send"], 1: ["work"] + 4 * ["MPI_Recv"]})):
        processes, threads, events = read(exported("perfetto", "--kinds", kinds)[0])
        found = slices(events, ranks_of(processes, threads))
        check_equal({rank: [name for _, _, name in own] for rank, own in found.items()}, names, kinds)
        check_equal(len([e for e in events if e.get("name") == "message received"]),
                    4 if "mpi" in kinds else 0, f"messages of {kinds}")
    said = exported("sddf", "--kinds", "blocks", "--window", "2-7")[1]
    check_equal([number_before(said, words) for words in ("calls began before", "calls end after", "messages have")],
                [2, 2, 0], f"what is counted: {said}")


@case
def all_formats():
    """Each format takes each choice."""
    known_log()
    for form in FORMATS:
        for number, options in enumerate((("--window", "2-7"), ("--ranks", "0"), ("--kinds", "mpi"))):
            export(scratch("known"), form, f"{number}.{form}", *options)


@case
def bad_values():
    """The accepted forms are said, and nothing is written."""
    for option, value, forms in (
            ("--window", "7-2", FORMS), ("--window", "off", FORMS), ("--window", "2", FORMS), ("--window", "", FORMS),
            ("--ranks", "a", "(0-3,8)"), ("--ranks", "1,", "(0-3,8)"), ("--ranks", "", "(0-3,8)"),
            ("--kinds", "mpi,threads", "mpi, collectives, procedures, loops, blocks, openmp, io, metrics, samples"),
            ("--kinds", "", "mpi, collectives"), ("--kinds", "all", "mpi, collectives")):
        _, said = export(scratch(), "perfetto", "none", option, value, code=2)
        check(option in said and forms in said, f"{option} {value!r}: {said}")


@case
def clocks():
    """A rank of another host, whose clock was 250 ms behind in MPI_Init and 350 ms in MPI_Finalize: times between
    are interpolated, and the rest of the error has its place in each format."""
    edited = edit_log.with_other_host(known_log(), scratch("edited"), 1, S // 4, S // 10, S // 10 + 5000)
    span = 9.0 - 0.5

    def at(seconds):
        return seconds + 0.25 + 0.1 * (seconds - 0.5) / span

    path, said = export(edited, "perfetto", "trace")
    check("times of other hosts than the first are right to 5.000 us" in said, said)
    processes, threads, events = read(path)
    check_equal({p["name"].split()[1]: p.get("labels") for p in processes.values()},
                {"0": None, "1": ["times right to 5.000 us"]}, "labels of processes")
    found = slices(events, ranks_of(processes, threads))
    check_equal(found[0][0], (0, 9 * S, "outer"), "rank 0")
    want = [(at(0.5), at(9.0)), *((at(b), at(e)) for b, e, _ in RECEIVES)]
    for (begin, end, name), (begin_s, end_s) in zip(found[1], want):
        check_near(begin, begin_s * S, 0, 3, f"beginning of {name}")
        check_near(end, end_s * S, 0, 3, f"end of {name}")
    with open(export(edited, "chrome", "trace.json")[0], encoding="utf-8") as stream:
        labels = [e["args"]["labels"] for e in json.load(stream)["traceEvents"] if e["name"] == "process_labels"]
    check_equal(labels, ["times right to 5.000 us"], "labels in Chrome's format")
    attributes = sddf_reader.read(export(edited, "sddf", "trace.sddf")[0]).attributes
    check_equal(attributes["times of other hosts than the first are right to"], "5000 ns", "attribute of SDDF")
    with open(export(edited, "picl", "trace.picl")[0], encoding="ascii") as stream:
        check("times of other hosts than the first are right to 5000 ns" in stream.read(), "the message of PICL")
    offsets = [line for line in printed(export(edited, "otf2", "trace.otf2")[0], "-C").splitlines() if "5000" in line]
    check(len(offsets) >= 2, f"clock offsets of OTF2: {offsets}")
    # Section 4.7: a file with global times has no ELG_OFFSET, which the reader refuses.
    Epilog(export(edited, "epilog", "trace.elg")[0])


def shown_while_exporting(*options):
    """What a terminal gets while the reader of the export makes it wait."""
    fifo = scratch("fifo")
    if not os.path.exists(fifo):
        os.mkfifo(fifo)
    leader, follower = pty.openpty()
    with subprocess.Popen([DWELL, "export", scratch("out"), "--to", "perfetto", "-o", fifo, *options],
                          stderr=follower, env=environment()) as process:
        os.close(follower)

        def drain():
            with open(fifo, "rb") as stream:
                time.sleep(1.3)
                while stream.read(1 << 16):
                    pass

        reader = threading.Thread(target=drain)
        reader.start()
        shown = b""
        while select.select([leader], [], [], 60)[0]:
            try:
                piece = os.read(leader, 4096)
            except OSError:  # nobody has the other side open
                break
            if not piece:
                break
            shown += piece
        reader.join()
        check_equal(process.wait(), 0, f"dwell export: {shown}")
    os.close(leader)
    return shown.decode()


@case
def progress():
    """A terminal sees one line that is written anew and taken away, from the second second on; others see none."""
    logged([program("known_events"), "3000"], 2)
    shown = shown_while_exporting()
    lines = re.findall(r"\rdwell: (\d+) %, \d+\.\d+ million events/s\x1b\[K", shown)
    check(lines, f"no progress: {shown!r}")
    check_equal([int(one) for one in lines], sorted(int(one) for one in lines), "parts")
    rest = re.sub(r"\rdwell: \d+ %, \d+\.\d+ million events/s\x1b\[K", "", shown)
    check(re.fullmatch(r"\r\x1b\[Kdwell: wrote \S+\r\n", rest), f"what stays: {rest!r}")
    check_equal(shown_while_exporting("-q"), "", "with -q")
    said = export(scratch("out"), "perfetto", "trace")[1]
    check("%" not in said and "\r" not in said, said)


if __name__ == "__main__":
    main()
