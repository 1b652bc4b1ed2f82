"""What formats hold at their limits: names of any bytes, large numbers, locks, arrows of messages."""

import json
import os
import re
import shutil
from collections import Counter

import picl_reader
import sddf_reader
from epilog_reader import Epilog
from exporting import export, logged
from harness import DWELL, case, check, check_equal, execute, main, program, scratch, skip_unless
from test_otf2 import Archive, numbers, printed
from test_perfetto import read

# As the program has them, as UTF-8, and as ASCII, one '?' for a character that has no place there.
NAMES = [(b"plain name", "plain name", "plain name"),
         (b"quotes \"'` \\ /", "quotes \"'` \\ /", "quotes \"'` \\ /"),
         ("gr\u00f6\u00dfe \u20ac \U0001f600".encode(), "gr\u00f6\u00dfe \u20ac \U0001f600", "gr??e ? ?"),
         (b"tab\there\rline\x1b[31m\x7f", "tab?here?line?[31m?", "tab?here?line?[31m?"),
         (b"bad \xff\xc0\xaf \xed\xa0\x80 end\xe2\x82", "bad \ufffd\ufffd\ufffd \ufffd\ufffd\ufffd end\ufffd\ufffd",
          "bad ??? ??? end??"),
         (b"<b>&amp; %s %n {} ;; */ \"", "<b>&amp; %s %n {} ;; */ \"", "<b>&amp; %s %n {} ;; */ \"")]


def names_log():
    run = execute([DWELL, "run", "--events", "-o", scratch("out"), program("event_names"),
                   *(os.fsdecode(name) for name, _, _ in NAMES), "x" * 3000])
    check_equal(run.code, 0, run.describe())
    return scratch("out")


@case
def any_names():
    """Names of blocks in each format: whole where its characters allow, and no format is broken by one."""
    log = names_log()
    _, _, events = read(export(log, "perfetto", "trace")[0])
    begun = [event["name"] for event in events if event["type"] == 1]
    check_equal(begun[:-1], [utf8 for _, utf8, _ in NAMES], "names for Perfetto")
    check(set(begun[-1]) == {"x"}, f"the long name: {begun[-1]}")
    with open(export(log, "chrome", "trace.json")[0], encoding="utf-8") as stream:
        shown = [event["name"] for event in json.load(stream)["traceEvents"] if event["ph"] == "B"]
    # JSON has escapes for control characters.
    want = [name.decode(errors="replace") if b"bad" not in name else utf8 for name, utf8, _ in NAMES]
    check_equal([name for name in shown[:-1] if not name.startswith("bad")],
                [name for name in want if not name.startswith("bad")], "names for Chrome")
    check(all(name.startswith("bad \ufffd") for name in shown if name.startswith("bad")), "bad bytes for Chrome")
    trace = Epilog(export(log, "epilog", "trace.elg")[0])
    entered = [event["region"]["name"] for event in trace.of("ENTER")]
    check_equal(entered[:-1], [ascii_name for _, _, ascii_name in NAMES], "names of EPILOG")
    check_equal(entered[-1], begun[-1], "the long name of EPILOG")
    text = printed(export(log, "otf2", "trace.otf2")[0])
    for _, utf8, _ in NAMES:
        check(f'Region: "{utf8}" <' in text, f"{utf8!r} is not in OTF2")
    for form in ("sddf", "sddf-binary"):
        file = sddf_reader.read(export(log, form, f"trace.{form}")[0])
        places = {place["place"]: place for place in file.of("place")}
        found = [places[record["place"]]["name"] for record in file.of("enter")]
        # Each byte that is no character is one, quotes and backslashes are apostrophes.
        for (_, _, ascii_name), name in zip(NAMES, found):
            if "bad" not in name:
                check_equal(name, ascii_name.replace('"', "'").replace("\\", "'"), f"name of {form}")
        check_equal(found[-1], begun[-1], f"the long name of {form}")
        check_equal(sum(len(file.of(name)) for name in file.descriptors if name.startswith("marker ")),
                    len(NAMES) + 1, f"markers of {form}")
    trace = picl_reader.Trace(export(log, "picl", "trace.picl")[0], 1)
    labels = list(trace.labels.values())
    for _, _, ascii_name in NAMES:
        check("bad" in ascii_name or any(label.startswith(f"block {ascii_name}@") for label in labels),
              f"{ascii_name!r} is not in {labels}")
    export(log, "midi", "trace.mid")


@case
def large_numbers():
    """A collective of 8 GiB keeps its bytes in each format that has room for them."""
    log = logged([program("events_large")], 2)
    size = 8 << 30
    trace = picl_reader.Trace(export(log, "picl", "trace.picl")[0], 2)
    check(any(size in span.exit for span in trace.spans[0]), "bytes in PICL")
    for form in ("sddf", "sddf-binary"):
        sent = [record["bytes sent"] for record in sddf_reader.read(export(log, form, form)[0]).of("collective")]
        check(float(size) in sent, f"bytes in {form}: {sent}")
    archive = Archive(export(log, "otf2", "trace.otf2")[0])
    check(any(numbers(event[3])["Sent"] == str(size) for event in archive.of("MPI_COLLECTIVE_END")), "bytes in OTF2")
    _, _, events = read(export(log, "perfetto", "trace")[0])
    check(any(event["args"].get("bytes sent") == size for event in events), "bytes for Perfetto")


@case
def unknown_partner():
    """A message to PICL's host processor, which has no rank: Perfetto's file names none."""
    with open(scratch("trace.picl"), "w", encoding="ascii") as stream:
        stream.write("-3 1 1.0 0 0 0\n-3 -21 1.1 0 0 3 2 8 5 32767\n-4 -21 1.2 0 0 0\n-4 1 1.3 0 0 0\n")
    run = execute([DWELL, "import", scratch("trace.picl"), "-o", scratch("trace.events")])
    check_equal(run.code, 0, "dwell import" + run.describe())
    _, _, events = read(export(scratch("trace.events"), "perfetto", "trace")[0])
    check_equal([event["args"] for event in events if "bytes sent" in event["args"]],
                [{"bytes sent": 8, "tag": 5}], "the message")


@case
def locks():
    """Three threads acquire two locks and a critical section each: EPILOG has a region for the latter."""
    log = logged([program("openmp_event_locks")], 1)
    trace = Epilog(export(log, "epilog", "trace.elg")[0])
    for location in trace.locations:
        own = trace.of("OMP_ALOCK", "OMP_RLOCK", location=location)
        check_equal([event["type"] for event in own], 2 * ["OMP_ALOCK", "OMP_RLOCK"], f"locks of {location}")
        numbers_of = [event["lkid"] for event in own]
        check_equal(numbers_of, [numbers_of[0], numbers_of[0], 1 - numbers_of[0], 1 - numbers_of[0]], "which locks")
    check_equal({trace.of("OMP_ALOCK", location=location)[0]["lkid"] for location in trace.locations},
                {trace.of("OMP_ALOCK")[0]["lkid"]}, "the first lock of each thread")
    archive = Archive(export(log, "otf2", "trace.otf2")[0]).check()
    found = {kind: Counter(re.search(r"Lock: (\d+), Acquisition Order: (\d+)", event[3]).groups()
                           for event in archive.of(kind)) for kind in ("THREAD_ACQUIRE_LOCK", "THREAD_RELEASE_LOCK")}
    want = Counter((str(lock), str(number)) for lock in range(3) for number in range(3))
    check_equal(found, {"THREAD_ACQUIRE_LOCK": want, "THREAD_RELEASE_LOCK": want}, "locks in OTF2")


@case
def arrows_for_chrome():
    """A flow ends at an instant that follows it at the same time, behind its beginning: readers bind such an end to
    what comes next on the thread."""
    skip_unless(shutil.which("mpirun"), "mpirun is not installed")
    log = logged([program("known_events"), "40"], 2)
    with open(export(log, "chrome", "trace.json")[0], encoding="utf-8") as stream:
        events = [event for event in json.load(stream)["traceEvents"] if event["ph"] != "M"]
    begun = {event["id"]: event["ts"] for event in events if event["ph"] == "s"}
    ends = [(event, after) for event, after in zip(events, events[1:]) if event["ph"] == "f"]
    check_equal(len(ends), 80, "messages")
    for event, after in ends:
        check("bp" not in event and begun[event["id"]] <= event["ts"], f"the end of a flow: {event}")
        check_equal((after["ph"], after["s"], after["ts"], after["pid"], after["tid"]),
                    ("i", "t", event["ts"], event["pid"], event["tid"]), "what follows it")


if __name__ == "__main__":
    main()
