"""Polls that are not timed one by one: the program counts its own calls, and the profile must have
the same numbers, split into those that found something and those that did not."""

from harness import (Profile, case, check, check_equal, check_near, main, program, repeated,
                     run_observed, run_plain, scratch, source)

R = 20  # rounds of each form in the programs
C_SOURCE = source("polls.c")
FORTRAN_SOURCE = source("polls_f08.F90")
FUNCTIONS = {"test": "MPI_Test", "testany": "MPI_Testany", "testall": "MPI_Testall",
             "testsome": "MPI_Testsome", "many": "MPI_Testall", "send": "MPI_Test",
             "get_status": "MPI_Request_get_status", "persistent": "MPI_Test",
             "iprobe": "MPI_Iprobe", "improbe": "MPI_Improbe", "turns_test": "MPI_Test"}


def polled(name, words=(), options=()):
    """The profile, and by form: calls, unsuccessful calls, bytes, as the program counted them."""
    run = run_observed([program(name), *words], 2, scratch("out"), options)
    check_equal(run.code, 0, "exit code" + run.describe())
    told = {}
    for line in run.stdout.splitlines():
        form, *numbers = line.split()
        told[form] = tuple(int(number) for number in numbers)
    profile = Profile(scratch("out"), run)
    profile.check_conservation()
    return profile, told


def check_form(node, form, told):
    """One request for each round, or three (testany, testall, testsome), or twenty (many)."""
    calls, unsuccessful, received = told[form]
    check_equal(node.count, calls, f"{form}: calls")
    check_equal((node.sent, node.received), (0, received), f"{form}: bytes sent and received")
    if form == "get_status":
        check_equal(node.events, [calls, 0, 0, 0], f"{form}: events")
    else:
        each = {"testany": 3, "testall": 3, "testsome": 3, "many": 20}.get(form, 1)
        events = [R, unsuccessful, 0, 0] if form == "send" else [0, 0, R * each, unsuccessful]
        check_equal(node.events, events, f"{form}: events")
    if received:
        check_equal(node.peers, {(1, 0): (received // 8, 0, received)}, f"{form}: peers")
    check(unsuccessful > 10 * R, f"{form}: only {unsuccessful} unsuccessful calls")
    check(node.raw["untimed"] <= calls, f"{form}: {node.raw['untimed']} of {calls} calls untimed")
    check_near(sum(node.raw["event_ns"]), node.time_ns, 0, 4, f"{form}: ns of its events")
    return node


@case
def c_forms():
    """Every form from C: counts, events, bytes and partners are exact, most calls are not timed, a
    note says how many, and the CSV has the same number."""
    profile, told = polled("polls")
    for form in FUNCTIONS:
        node = check_form(profile.at(C_SOURCE, form, FUNCTIONS[form]), form, told)
        if form == "many":
            continue
        check(node.raw["untimed"] > node.count / 2,
              f"{form}: only {node.raw['untimed']} of {node.count} calls went untimed")
    check_equal(profile.at(C_SOURCE, "turns_iprobe", "MPI_Iprobe").events,
                [0, 0, 0, told["turns_test"][0]], "events of the probe by turns")
    untimed = sum(node.raw["untimed"] for node in profile.comm())
    check(any(note.startswith(f"{untimed} calls of ") for note in profile.json["notes"]),
          f"no note of {untimed} untimed calls: {profile.json['notes']}")
    check_equal(sum(int(row["untimed"]) for row in profile.csv() if row["kind"] == "comm"), untimed,
                "untimed calls in the CSV")


@case
def many_requests():
    """Tests of more requests than are remembered are all timed."""
    profile, told = polled("polls")
    node = check_form(profile.at(C_SOURCE, "many", "MPI_Testall"), "many", told)
    check_equal(node.raw["untimed"], 0, "untimed calls")


@case
def fortran_forms():
    """The same from Fortran 2008, where gfortran gives the call the line of the loop around it."""
    profile, told = polled("polls_f08")
    for form in ("test", "iprobe"):
        nodes = profile.comm(FUNCTIONS[form], FORTRAN_SOURCE)
        check_equal(len(nodes), 1, f"nodes of {FUNCTIONS[form]}")
        node = check_form(nodes[0], form, told)
        check(node.raw["untimed"] > node.count / 2,
              f"{form}: only {node.raw['untimed']} of {node.count} calls went untimed")


@case
def depth_one():
    """With call paths of one frame counts are the same."""
    profile, told = polled("polls", options=["--callpath", "1"])
    for form in ("test", "testany", "iprobe"):
        check_form(profile.at(C_SOURCE, form, FUNCTIONS[form]), form, told)


@case
def polls_that_compute():
    """Polls with 5 microseconds of computation between them are all timed."""
    profile, told = polled("polls", ["compute"])
    for form in ("test", "testany", "testall", "testsome", "send", "iprobe", "improbe"):
        node = check_form(profile.at(C_SOURCE, form, FUNCTIONS[form]), form, told)
        check_equal(node.raw["untimed"], 0, f"{form}: untimed calls")


@case
def empty_loops():
    """Polls with nothing between them take about as long as without dwell, and what they take longer is
    dwell's own cost: neither is computation."""
    file = source("empty_polls.c")

    def pair():
        """Of both kinds: ns of a poll that dwell shows, and that the run without it takes."""
        plain = run_plain([program("empty_polls")], 1).stdout.split()
        run = run_observed([program("empty_polls")], 1, scratch("out"))
        profile = Profile(scratch("out"), run)
        nodes = [profile.at(file, "poll", "MPI_Testsome"), profile.at(file, "single", "MPI_Test")]
        poll_ns = [node.time_ns / node.count for node in nodes]
        with_cost_ns = sum(poll_ns) + profile.ranks[0]["own_ns"] / nodes[0].count
        observed_ns = sum(float(text) for text in run.stdout.split())
        check(with_cost_ns > 0.9 * observed_ns,
              f"{with_cost_ns:.1f} ns two polls with dwell's cost, but they take {observed_ns} ns")
        return [(each_ns, float(plain_ns)) for each_ns, plain_ns in zip(poll_ns, plain)]

    # What dwell adds is one to two polls, and processors change their speed after that cost was
    # calibrated: a factor of two is left to them, and what is wrong is wrong in all of ten pairs.
    pairs = []
    for _ in range(10):
        pairs.append(repeated(pair))
        if all(0.5 * plain_ns <= each_ns <= 2 * plain_ns for each_ns, plain_ns in pairs[-1]):
            return
    check(False, f"ns of a poll that dwell shows, and without it, are never near each other: {pairs}")


@case
def relays():
    """A rank that only polls for what it passes on has made nobody wait: what its partner waits is
    due to the one that it polled for, however it asks."""
    def attempt(how):
        run = run_observed([program("polled_relay"), how], 3, scratch(f"out.{how}"))
        profile = Profile(scratch(f"out.{how}"), run)
        node = profile.at(source("polled_relay.c"), "consume", "MPI_Recv")
        due = {}
        for cause in profile.json["causes"]:
            due[cause["peer_rank"]] = due.get(cause["peer_rank"], 0) + cause["time_ns"]
        waited = node.raw["sync_ns"]
        check(waited > 50 * 4e6, f"{how}: rank 2 waited {waited} ns")
        check(due.get(1, 0) > 0.8 * waited, f"{how}: of {waited} ns due to each: {due}")
        check(due.get(0, 0) < 0.1 * waited, f"{how}: of {waited} ns due to each: {due}")
    for how in ("test", "testall", "iprobe"):
        repeated(attempt, how)


if __name__ == "__main__":
    main()
