"""Chrome's JSON: as speedscope shows it, and where its size is limited."""

import base64
import html
import json
import os
import re
import shutil

from exporting import export, logged, number_before
from harness import case, check, check_equal, check_near, execute, main, program, scratch, skip_unless

ROUNDS = 40
SPEEDSCOPE = "speedscope@1.25.0"
# What the page runs with the file: it opens the next profile so many times.
LOADER = """speedscope.loadFileFromBase64(%s, %s);
let left = %d;
const wait = setInterval(() => {
  if (!document.title.startsWith(%s)) return;
  if (left-- > 0) window.dispatchEvent(new KeyboardEvent('keypress', {key: 'n'}));
  else clearInterval(wait);
}, 100);
"""
UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}


def speedscope():
    """The page of npm's package."""
    skip_unless(shutil.which("npm"), "npm is not installed")
    run = execute(["timeout", "30", "npm", "install", "--prefix", scratch("npm"), "--no-audit", "--no-fund",
                   "--fetch-retries=0", "--fetch-timeout=10000", "--ignore-scripts", SPEEDSCOPE])
    page = scratch("npm/node_modules/speedscope/dist/release/index.html")
    skip_unless(run.code == 0 and os.path.exists(page), f"npm does not get {SPEEDSCOPE}: {run.stderr[-300:]}")
    return page


def chromium():
    found = [path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path]
    skip_unless(found, "Chromium is not installed")
    return found[0]


def shown(page, path, number):
    """The names of all profiles, that of the one with this number, and its frames in the sandwich view: total
    and own time in ns by name."""
    with open(path, "rb") as stream:
        text = base64.b64encode(stream.read()).decode()
    name = json.dumps(os.path.basename(path))
    with open(scratch("load.js"), "w", encoding="ascii") as stream:
        stream.write(LOADER % (name, json.dumps(text), number, name))
    run = execute([chromium(), "--headless", "--no-sandbox", "--use-angle=swiftshader",
                   "--enable-unsafe-swiftshader", f"--user-data-dir={scratch('browser')}",
                   "--window-size=1600,2000", "--virtual-time-budget=5000", "--dump-dom",
                   f"file://{page}#localProfilePath={scratch('load.js')}&view=sandwich"])
    check_equal(run.code, 0, "Chromium" + run.describe())
    words = [html.unescape(word).strip() for word in re.findall(r">([^<>]+)<", run.stdout)]
    words = [word for word in words if word]
    check("Total Weight" in words and "Symbol Name" in words, f"the page shows {words[:60]}")
    profiles = words[words.index("Total Weight") + 1:words.index("Export") - 1]
    table = words[words.index("Symbol Name") + 1:]
    frames = {table[i + 2]: tuple(in_ns(word) for word in table[i:i + 2]) for i in range(0, len(table) - 2, 3)}
    return profiles[1::3], words[words.index("Sandwich") + 1], frames


def in_ns(word):
    """ "333.21µs (0.15%)" """
    found = re.match(r"([\d.]+)(ns|µs|ms|s) \(", word)
    check(found, f"not a time: {word}")
    return float(found[1]) * UNITS[found[2]]


def plain(name):
    """Without the line."""
    return re.sub(r" \S+:\d+$", "", name)


def check_left_out(said, rounds):
    """In each round both ranks broadcast, and one has a request."""
    check_equal(said.strip().splitlines()[:-1],
                [f"dwell: {2 * rounds} collectives have no root and no bytes: Chrome's format shows calls alone",
                 f"dwell: {2 * rounds} starts and ends of requests are left out; their calls and messages are there"], "left out")


@case
def in_speedscope():
    """speedscope shows a profile for each rank with the calls of the program, and their times together are
    those of dwell's profile, within what speedscope shows and the cost of single events."""
    chromium()
    page = speedscope()
    log = logged([program("known_events"), str(ROUNDS)], 2)
    path, said = export(log, "chrome", "known.json")
    check_left_out(said, ROUNDS)
    calls = {0: {"MPI_Send", "MPI_Recv"}, 1: {"MPI_Irecv", "MPI_Wait", "MPI_Send"}}
    times = {}
    for rank in (0, 1):
        profiles, title, frames = shown(page, path, rank)
        check_equal([name.split(" (")[0] for name in profiles], ["rank 0", "rank 1"], "profiles")
        check(title.startswith(f"rank {rank} "), f"the profile of rank {rank} is called {title}")
        check_equal({plain(name) for name in frames},
                    calls[rank] | {"round", "MPI_Bcast", "MPI_Init", "MPI_Finalize"}, f"frames of rank {rank}")
        for name, (total, own) in frames.items():
            if name != "round":
                check(re.search(r" known_events\.c:\d+$", name), f"{name} without its line")
                check_equal(own, total, f"own time of {name}")
            times[plain(name)] = times.get(plain(name), 0) + total
        inside = sum(total for name, (total, _) in frames.items()
                     if plain(name) in calls[rank] | {"MPI_Bcast"})
        check_near(frames["round"][0] - frames["round"][1], inside, 0.02, 100, f"calls in rounds of rank {rank}")
    with open(os.path.join(log, "profile.json"), encoding="utf-8") as stream:
        nodes = json.load(stream)["nodes"]
    for name in ("round", "MPI_Send", "MPI_Recv", "MPI_Wait", "MPI_Bcast"):
        want = sum(node["time_ns"] for node in nodes if node["name"] == name)
        check_near(times[name], want, 0.03, 1000, f"time in {name}")


def events_of(path):
    with open(path, encoding="utf-8") as stream:
        return [event for event in json.load(stream)["traceEvents"] if event["ph"] != "M"]


@case
def limited():
    """A file is no larger than its limit and holds the first events; the others are counted, and calls that
    were open are closed."""
    log = logged([program("known_events"), "3000"], 2)
    path, said = export(log, "chrome", "whole.json")
    check_left_out(said, 3000)
    whole = events_of(path)
    path, said = export(log, "chrome", "part.json", "--limit", "1")
    size = os.path.getsize(path)
    check(2**20 - 2000 < size <= 2**20, f"{size} bytes")
    part = events_of(path)
    same = next(i for i, event in enumerate(part + [None]) if i == len(part) or event != whole[i])
    check_equal(number_before(said, "events from"), len(whole) - same, f"events left out: {said}")
    open_calls = {}
    for event in part[:same]:
        calls = open_calls.setdefault((event["pid"], event["tid"]), [])
        if event["ph"] == "B":
            calls.append(event["name"])
        elif event["ph"] == "E":
            check_equal(calls.pop(), event["name"], "call that ends")
    for event in part[same:]:
        check_equal(event["ph"], "E", "an event that is not in the whole file")
        check_equal(event["ts"], whole[same]["ts"], "time of an end that was added")
        check_equal(open_calls[event["pid"], event["tid"]].pop(), event["name"], "call that ends")
    check(not any(open_calls.values()), f"calls that stay open: {open_calls}")


@case
def limit_of_others():
    """Other formats have no limit, and a file cannot be limited to nothing."""
    _, said = export(scratch(), "perfetto", "trace", "--limit", "1", code=2)
    check("--limit is for --to chrome" in said, said)
    _, said = export(scratch(), "chrome", "part.json", "--limit", "0", code=2)
    check("--limit" in said, said)


if __name__ == "__main__":
    main()
