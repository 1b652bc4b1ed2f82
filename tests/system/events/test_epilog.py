"""EPILOG files: read by a reader of the tests' own, and compared with what the programs do."""

import os

import edit_log
import epilog_reader
from epilog_reader import NONE, Epilog
from exporting import (EXCHANGE_RANKS, LONG_NAME, ROUNDS, exchange, export, logged, number_before)
from harness import case, check, check_equal, execute, main, marked_line, mpirun, program, scratch, skip_unless, source

RANKS = range(EXCHANGE_RANKS)
LAST = EXCHANGE_RANKS - 1


def read(path):
    try:
        return Epilog(path)
    except epilog_reader.Wrong as error:
        check(False, f"{os.path.basename(path)}: {error}")


def main_locations(trace):
    """By rank."""
    found = {place["process"]: number for number, place in trace.locations.items() if place["thread"] == 0}
    return [found[rank] for rank in sorted(found)]


def entered(trace, location):
    return [event["region"]["name"] for event in trace.of("ENTER", "ENTER_CS", location=location)]


def mpi_calls(rank):
    """What a rank of events_exchange.c calls, without functions that only ask."""
    ring = ["MPI_Send", "MPI_Recv"] if rank == 0 else ["MPI_Recv", "MPI_Send"]
    apart = {0: ["MPI_Isend"], LAST: ["MPI_Irecv"]}.get(rank, [])
    return (["MPI_Init", "MPI_Comm_split", "MPI_Comm_split"] + ROUNDS * ring + apart +
            ["MPI_Wait", "MPI_Bcast", "MPI_Reduce", "MPI_Allreduce", "MPI_Bcast", "MPI_Barrier", "MPI_Ibarrier",
             "MPI_Wait", "MPI_Win_create", "MPI_Win_fence", "MPI_Put", "MPI_Win_fence", "MPI_Win_free",
             "MPI_Finalize"])


@case
def calls():
    """Every call of events_exchange.c once, in its order, with its place, in the region of its caller."""
    path, told = export(exchange(), "epilog", "trace.elg")
    trace = read(path)
    locations = main_locations(trace)
    check_equal(len(trace.locations), EXCHANGE_RANKS, "locations")
    for rank in RANKS:
        names = entered(trace, locations[rank])
        check_equal([name for name in names if name.startswith("MPI_") and name not in ("MPI_Comm_rank", "MPI_Comm_size")],
                    mpi_calls(rank), f"MPI calls of rank {rank}")
        counts = {name: names.count(name) for name in ("main", "pass_on", LONG_NAME, "together", "others")}
        check_equal(counts, {"main": 1, "pass_on": ROUNDS, LONG_NAME: 1, "together": 1, "others": 1},
                    f"procedures of rank {rank}")
    file = source("events_exchange.c")
    for region in trace.regions.values():
        if region["name"] in ("pass_on", LONG_NAME):
            with open(file, encoding="utf-8") as stream:
                line = stream.read().splitlines()[region["begin"] - 1]
            check(region["name"][:4] in line or "LONG_NAME" in line, f"line of {region}: {line}")
            check_equal((region["file"], region["type"], region["end"]),
                        (file, epilog_reader.FUNCTION, region["begin"]), region["name"])
        elif region["name"].startswith("MPI_"):
            check_equal((region["file"], region["begin"], region["end"]), (None, NONE, NONE), region["name"])
    sends = [(locations.index(event["lid"]), trace.sites[event["csid"]]["file"], trace.sites[event["csid"]]["line"],
              trace.regions[event["outer"]]["name"])
             for event in trace.of("ENTER_CS") if event["region"]["name"] == "MPI_Send"]
    want = {(rank, file, marked_line(file, "send_first" if rank == 0 else "send_later"), "pass_on") for rank in RANKS}
    check_equal(set(sends), want, "where MPI_Send is called")
    check_equal(number_before(told, "one-sided transfers"), EXCHANGE_RANKS, "one-sided transfers left out")
    # Isend and Irecv once, Ibarrier on each rank.
    check_equal(number_before(told, "starts and ends of requests"), 2 * (2 + EXCHANGE_RANKS), "requests")


@case
def messages():
    """Each message with its ends, communicator, tag and bytes; sends of a rank in their order."""
    trace = read(export(exchange(), "epilog", "trace.elg")[0])
    locations = main_locations(trace)
    everyone = set(RANKS)
    sent = {rank: [(locations.index(event["dlid"]), event["tag"], event["sent"], trace.comms[event["cid"]])
                   for event in trace.of("MPI_SEND", location=locations[rank])] for rank in RANKS}
    for rank in RANKS:
        want = [((rank + 1) % EXCHANGE_RANKS, 10 + i, 4 * (i + 1), everyone) for i in range(ROUNDS)]
        want += [(LAST, 77, 1000, everyone)] if rank == 0 else []
        check_equal(sent[rank], want, f"sends of rank {rank}")
        received = [(locations.index(event["slid"]), event["tag"]) for event in trace.of("MPI_RECV", location=locations[rank])]
        want = [((rank - 1) % EXCHANGE_RANKS, 10 + i) for i in range(ROUNDS)] + ([(0, 77)] if rank == LAST else [])
        check_equal(received, want, f"receives of rank {rank}")
    check_equal(trace.unreceived, 0, "messages on their way at the end")
    ring, apart = {event["cid"] for event in trace.of("MPI_SEND") if event["tag"] != 77}, \
        {event["cid"] for event in trace.of("MPI_SEND") if event["tag"] == 77}
    check_equal((len(ring), len(apart), len(ring | apart)), (1, 1, 2), "communicators of messages")


@case
def collectives():
    """Root, communicator and bytes of each collective that blocks; others end with a plain EXIT."""
    trace = read(export(exchange(), "epilog", "trace.elg")[0])
    locations = main_locations(trace)
    for rank in RANKS:
        half = {other for other in RANKS if other % 2 == rank % 2}
        got = [(event["region"]["name"], event["rlid"], trace.comms[event["cid"]], event["sent"], event["rcvd"])
               for event in trace.of("MPI_COLLEXIT", location=locations[rank])]
        bcast = (400, 0) if rank == 1 else (0, 400)
        check_equal(got, [("MPI_Bcast", locations[1], set(RANKS), *bcast),
                          ("MPI_Reduce", locations[LAST], set(RANKS), 24, 24 if rank == LAST else 0),
                          ("MPI_Allreduce", NONE, half, 8, 8),
                          ("MPI_Bcast", locations[rank], {rank}, 28, 0),
                          ("MPI_Barrier", NONE, set(RANKS), 0, 0)], f"collectives of rank {rank}")


@case
def byte_orders():
    """Both orders hold the same; without the option it is that of the machine."""
    place = exchange()
    little, big, own = (export(place, "epilog", name, *options)[0] for name, options in (
        ("little.elg", ("--byte-order", "little")), ("big.elg", ("--byte-order", "big")), ("own.elg", ())))
    first, second = read(little), read(big)
    check_equal((first.order, second.order), ("<", ">"), "byte orders")
    for what in ("strings", "nodes", "locations", "regions", "sites", "comms", "events"):
        check_equal(getattr(first, what), getattr(second, what), what)
    with open(own, "rb") as stream:
        check_equal(stream.read(), first.data if os.sys.byteorder == "little" else second.data, "without the option")
    _, told = export(place, "chrome", "x.json", "--byte-order", "big", code=2)
    check("--byte-order" in told, told)


def regions_of_threads(name):
    place = logged([program(name)], 1)
    path, told = export(place, "epilog", "trace.elg")
    trace = read(path)
    check_equal(len(trace.of("OMP_FORK")), 4, "forks")
    check_equal(len(trace.of("OMP_JOIN")), 4, "joins")
    check_equal(len(trace.locations), 3, "threads")
    for location in trace.locations:
        types = [event["region"]["type"] for event in trace.of("ENTER", "ENTER_CS", location=location)]
        check_equal(types.count(epilog_reader.PARALLEL), 4, "parallel regions of a thread")
        check_equal(types.count(epilog_reader.CRITICAL), 4, "critical sections of a thread")
        check_equal(types.count(epilog_reader.BARRIER), 4, "barriers of a thread")
        check_equal(len(trace.of("OMP_COLLEXIT", location=location)), 4, "ends of parallel regions")
    parallel = [region for region in trace.regions.values() if region["type"] == epilog_reader.PARALLEL]
    file = source("openmp_events.c")
    check_equal([(region["file"], region["begin"]) for region in parallel], [(file, marked_line(file, "parallel"))],
                "the region")
    check_equal(number_before(told, "calls of threads end"), 0, "calls that are cut")


@case
def threads():
    """Four regions of three threads: forks, joins, constructs, each inside."""
    regions_of_threads("openmp_events")


@case
def threads_gcc():
    """The same with gcc's OpenMP."""
    regions_of_threads("openmp_gcc_events")


@case
def other_threads():
    """Messages of threads that EPILOG cannot tell of are left out and counted; those of main threads stay."""
    plain = execute(mpirun(2, program("events_threads")), 2)
    skip_unless(plain.stdout.strip() == "1", "MPI_THREAD_MULTIPLE is not provided")
    place = logged([program("events_threads")], 2)
    path, told = export(place, "epilog", "trace.elg")
    trace = read(path)
    check_equal([event["tag"] for event in trace.of("MPI_SEND", "MPI_RECV")], 12 * [6], "tags of messages")
    check_equal(trace.unreceived, 0, "messages on their way")
    check_equal(number_before(told, "sends and receives are left out, because other threads"), 16, "left out")
    check_equal(number_before(told, "calls of threads outside of parallel regions"), 16, "calls left out")


@case
def clocks_that_disagree():
    """A message is sent before it is received, also where the receiver's clock says otherwise; times stay."""
    place = exchange()
    for ahead_s in (-1, 1):
        edited = edit_log.with_clock_ahead(place, scratch(f"edited{ahead_s}"), 1, ahead_s)
        path, told = export(edited, "epilog", "trace.elg")
        trace = read(path)
        check_equal(len(trace.of("MPI_SEND")), EXCHANGE_RANKS * ROUNDS + 1, "sends")
        check_equal(len(trace.of("MPI_RECV")), EXCHANGE_RANKS * ROUNDS + 1, "receives")
        check("not closed" not in told, told)
        back = [event for event in trace.of("MPI_RECV") if event["time"] < event["send"]["time"] - 0.5]
        check_equal(len(back), ROUNDS, "messages against the clock")
        check_equal(number_before(told, "receives are left out"), 0, "receives left out")


@case
def without_a_log():
    """Messages with a rank in no log are left out and counted."""
    edited = edit_log.without_rank(exchange(), scratch("edited"), 0)
    path, told = export(edited, "epilog", "trace.elg")
    check("not closed" not in told, told)
    trace = read(path)
    locations = main_locations(trace)
    check_equal(len(locations), EXCHANGE_RANKS, "ranks")
    check_equal(trace.of("ENTER", "EXIT", "ENTER_CS", location=locations[0]), [], "events of rank 0")
    check_equal(len([event for event in trace.of("MPI_SEND") if event["dlid"] == locations[0]]), 0, "sends to it")
    check_equal(number_before(told, "sends and receives have no other end"), 2 * ROUNDS + 1, "messages with it")
    check_equal(len(trace.of("MPI_RECV")), (EXCHANGE_RANKS - 2) * ROUNDS, "other receives")


@case
def large_world():
    """A group of 5003 ranks goes on in further records."""
    edited = edit_log.with_world_of(exchange(), scratch("edited"), 5003)
    trace = read(export(edited, "epilog", "trace.elg")[0])
    check_equal(len(trace.locations), 5003, "locations")
    check(set(range(5003)) in trace.comms.values(), "MPI_COMM_WORLD")
    check_equal(len(trace.of("MPI_RECV")), EXCHANGE_RANKS * ROUNDS + 1, "receives")


@case
def a_send_that_is_missing():
    """Where the log lacks a send, its receive is left out, nothing else is."""
    path, told = export(logged([program("events_paused")], 2), "epilog", "trace.elg")
    trace = read(path)
    check_equal(sorted(event["tag"] for event in trace.of("MPI_SEND")), [1, 2], "sends")
    check_equal(sorted(event["tag"] for event in trace.of("MPI_RECV")), [1, 2], "receives")
    check_equal(number_before(told, "sends and receives have no other end"), 1, "receives left out")
    for location in main_locations(trace):
        check_equal(entered(trace, location)[-1], "MPI_Finalize", "the last call")


@case
def too_large():
    """A collective of 8 GiB is refused by name; nothing is written."""
    place = logged([program("events_large")], 1)
    path, told = export(place, "epilog", "trace.elg", code=1)
    check("8589934592 bytes" in told and "4294967295" in told and "rank 0" in told, told)
    check(not os.path.exists(path), "a file is there")


@case
def full_device():
    """What cannot be written is said."""
    told = export(exchange(), "epilog", "/dev/full", code=1)[1]
    check("/dev/full: No space left on device" in told, told)


if __name__ == "__main__":
    main()
