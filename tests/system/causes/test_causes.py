"""Which computation made others wait, in ten patterns of known answer (docs/causes.md): by rank, line
and size, and never longer than what it computed.

The computations end at deadlines. What they overran is printed by the program and allowed three times,
once for each rank that may wait for it, so that a busy machine does not change the answer."""

from harness import case, check, check_near, main, marked_line, program, repeated, source, timed

FILE = source("causes.c")
# (rank, marker of the line that the computation leads to) -> milliseconds of all waiting
PATTERNS = {
    # Ranks 1 to 3 wait 200, 220 and 240 for what came before them, and at the end all for rank 3.
    "chain": {(0, "chain"): 600, (1, "chain"): 60, (2, "chain"): 60, (3, "end"): 60},
    # Everybody waits for what the other three compute.
    "ring": {(0, "ring"): 60, (1, "ring"): 360, (2, "ring"): 60, (3, "ring"): 60},
    # Each item comes 30 after the one before. The first comes later by 10 at each stage, and so does
    # the end.
    "pipeline": {(0, "stage"): 390, (1, "stage"): 30, (2, "stage"): 30, (3, "last_stage"): 20,
                 (3, "end"): 10},
    # Rank 0 waits from 0 to 20 and from 24 to 170, the others from 22 and 24 on. None: who got the
    # last task.
    "farm": {(None, "farm"): 460},
    "reply": {(1, "reply"): 600},
    # Each slow rank makes both neighbours wait for 40, and the one behind them a round later.
    "halo": {(1, "halo"): 240, (2, "halo"): 240},
    # Rank 0 waits 40 in its half, 2 and 3 then 20 and 40 in the whole.
    "nested": {(1, "inner"): 200},
    "halves": {(1, "first_half"): 450},
    "small_half": {(1, "first_half"): 150},
    "collective": {(1, "allreduce"): 240, (2, "after"): 120},
    # Rank 0 waits 40 for each, 1 and 3 then 40 and 80 for rank 2.
    "in_turn": {(1, "turn_1"): 40, (2, "turn_2"): 160},
}
SMALL_S = 0.005  # what no pattern speaks of: the farm's small tasks


def found_causes(profile):
    """(rank, line that the computation leads to) -> seconds; and what it computed, by the same."""
    found = {}
    for cause in profile.json["causes"]:
        line = None
        if cause["interval"] is not None:
            reached = profile.intervals[cause["interval"]]["to"]
            line = profile.nodes[reached]["line"] if reached is not None else None
        key = (cause["peer_rank"], line)
        found[key] = found.get(key, 0) + cause["time_ns"] / 1e9
    return found


def check_pattern(name, wait):
    def attempt():
        profile = timed([program("causes"), name], 4, ["--wait", wait], name=name)
        late_s = max(float(line.split()[1]) for line in profile.run.stderr.splitlines()
                     if line.startswith("late "))
        extra = [int(line.split()[1]) for line in profile.run.stderr.splitlines()
                 if line.startswith("extra ")]
        found = found_causes(profile)
        # Before the patterns begin ranks wait for those that start late.
        for rank in range(4):
            found.pop((rank, marked_line(FILE, "start")), None)
        wanted = {(extra[0] if rank is None else rank, marked_line(FILE, marker)): ms / 1e3
                  for (rank, marker), ms in PATTERNS[name].items()}
        for key, want_s in wanted.items():
            check_near(found.get(key, 0), want_s, 0.02, 0.001 + 3 * late_s, f"{name}: {key} of {found}")
        for key, got_s in found.items():
            if key not in wanted and key[1] is not None:
                check(got_s < SMALL_S + 3 * late_s, f"{name}: {key} causes nothing, of {found}")
    repeated(attempt)


def make_cases():
    for name in PATTERNS:
        for wait in ("node", "full"):
            def of_pattern(name=name, wait=wait):
                check_pattern(name, wait)
            of_pattern.__name__ = f"{name}_{wait}"
            of_pattern.__doc__ = f"The causes of {name}, with --wait {wait}."
            case(of_pattern)


make_cases()

if __name__ == "__main__":
    main()
