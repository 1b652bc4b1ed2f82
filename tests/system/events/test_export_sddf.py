"""Event logs in Pablo's self-describing data format."""

import sddf_reader
from kinds_of_events import RANKS, export, kinds_log, threads_log
from harness import case, check, check_equal, check_near, main


def kinds(form="sddf"):
    path, said = export(kinds_log(), form)
    check_equal([line for line in said.splitlines() if "wrote" not in line], [], "what is left out")
    return sddf_reader.read(path)


def messages_of(file, kind, partner, rank):
    return sorted((record[partner], record["tag"], record["bytes"]) for record in file.of(kind, rank=rank))


def check_messages(file):
    for rank in range(RANKS):
        left, right = (rank - 1) % RANKS, (rank + 1) % RANKS
        sent = [(right, 20 + i, 300 + i) for i in range(3)] + [(right, 30, 50)]
        received = [(left, 20 + i, 300 + i) for i in range(3)] + [(left, 30, 50)]
        if rank == 0:
            sent += [(1, 11, 100), (1, 12, 200)]
        if rank == 1:
            received += [(0, 11, 100), (0, 12, 200)]
        check_equal(messages_of(file, "send", "destination", rank), sorted(sent), f"sends of {rank}")
        check_equal(messages_of(file, "receive", "source", rank), sorted(received),
                    f"receives of {rank}")
    late, = file.of("send", tag=11)
    arrival, = file.of("receive", tag=11)
    check(late["seconds"] < arrival["seconds"] < late["seconds"] + 0.1, "times of a message")


@case
def messages():
    """Partner, tag and bytes of each message, at both ends."""
    file = kinds()
    check_messages(file)
    broadcasts = file.of("collective", root=2)
    check_equal(sorted((record["rank"], record["bytes sent"], record["bytes received"])
                       for record in broadcasts), [(0, 0, 77), (1, 0, 77), (2, 77, 0)], "a broadcast")
    world = broadcasts[0]["communicator"]
    check_equal([record["members"] for record in file.of("communicator", communicator=world)],
                [list(range(RANKS))], "the members of everybody's communicator")
    check_equal({tuple(record["members"]) for record in file.of("communicator")},
                {(0, 1, 2), (0, 2), (1,)}, "members of the communicators")
    starts = {(record["rank"], record["request"]) for record in file.of("request start")}
    ends = {(record["rank"], record["request"]) for record in file.of("request end")}
    check_equal(starts, ends, "requests")


def place_of(file, name, kind):
    places = file.of("place", name=name, kind=kind)
    check(places, f"no place {name!r} of kind {kind}")
    return {place["place"] for place in places}


@case
def places():
    """Each thread enters and leaves nested places; the late receive is entered 0.2 s before it is
    left."""
    file = kinds()
    open_places = {}
    for name, record in file.records:
        if name == "enter":
            open_places.setdefault(record["thread"], []).append(record["place"])
        elif name == "leave":
            check_equal(record["place"], open_places[record["thread"]].pop(), "the innermost place")
    check(not any(open_places.values()), f"open at the end: {open_places}")
    events = [record["seconds"] for _, record in file.records if "seconds" in record]
    check_equal(events, sorted(events), "the order of times")
    receives = place_of(file, "MPI_Recv", "comm")
    entered = [record for record in file.of("enter", rank=1) if record["place"] in receives]
    left = [record for record in file.of("leave", rank=1) if record["place"] in receives]
    check_equal((len(entered), len(left)), (2, 2), "receives of rank 1")
    check_near(left[0]["seconds"] - entered[0]["seconds"], 0.2, 0.5, 0, "time of the late receive")
    blocks = place_of(file, "output", "block")
    check_equal(sum(record["place"] in blocks for record in file.of("enter")), RANKS, "blocks")


@case
def definitions():
    """A process for each rank, with its threads; what was recorded, and when."""
    file = kinds()
    check_equal(sorted(record["rank"] for record in file.of("process")), list(range(RANKS)), "ranks")
    check(all(record["program"].endswith("/event_kinds") for record in file.of("process")), "programs")
    threads = {record["thread"]: record["process"] for record in file.of("thread")}
    rank_of = {record["process"]: record["rank"] for record in file.of("process")}
    for _, record in file.records:
        if "seconds" in record:
            check_equal(record["rank"], rank_of[threads[record["thread"]]], "rank of a thread")
    check_equal(file.attributes["ranks"], str(RANKS), "attribute")
    sends = file.of("place", name="MPI_Send")
    check_equal(len(sends), 2, "places of MPI_Send")
    check(all(place["file"].endswith("event_kinds.c") and place["line"] > 0 for place in sends), "lines")


@case
def user_records():
    """Each marker of the program is a type of record, with its volume."""
    file = kinds()
    check({"marker checkpoint", "marker huge"} <= set(file.descriptors), f"{list(file.descriptors)}")
    for rank in range(RANKS):
        check_equal([record["volume"] for record in file.of("marker checkpoint", rank=rank)],
                    [4096 * (rank + 1)] * 2, "checkpoints")
        check_equal([record["volume"] for record in file.of("marker huge", rank=rank)], [5e9], "huge")


@case
def files():
    """Five writes of 1000 bytes and a read of 3000."""
    file = kinds()
    for rank in range(RANKS):
        moved = [(record["bytes read"], record["bytes written"]) for record in file.of("I/O", rank=rank)]
        check_equal([pair for pair in moved if pair != (0, 0)], [(0, 1000)] * 5 + [(3000, 0)],
                    f"I/O of rank {rank}")


@case
def binary():
    """The binary form says what the ASCII form says."""
    log = kinds_log()
    ascii_form, binary_form = (sddf_reader.read(export(log, form)[0]) for form in ("sddf", "sddf-binary"))
    check_messages(binary_form)
    check_equal(binary_form.descriptors, ascii_form.descriptors, "descriptors")
    check_equal(binary_form.tags, ascii_form.tags, "tags")
    check_equal(binary_form.attributes, ascii_form.attributes, "attributes")
    check_equal(len(binary_form.records), len(ascii_form.records), "records")
    for one, other in zip(binary_form.records, ascii_form.records):
        check_equal(one, other, "a record")


@case
def threads():
    """Both threads are in their block three times; the first one switches events off once."""
    path, _ = export(threads_log(), "sddf")
    file = sddf_reader.read(path)
    parts = place_of(file, "part", "block")
    counts = {}
    for record in file.of("enter"):
        if record["place"] in parts:
            counts[record["thread"]] = counts.get(record["thread"], 0) + 1
    check_equal(sorted(counts.values()), [3, 3], "blocks of the threads")
    check_equal(len(file.of("events off")), 1, "events off")


if __name__ == "__main__":
    main()
