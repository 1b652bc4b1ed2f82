"""Event logs as PICL traces: ORNL/TM-12125, and what ParaGraph needs (section 2.5)."""

import re

from kinds_of_events import RANKS, export, kinds_log, threads_log
from harness import Skip, check, check_equal, check_near, main, case
from picl_reader import Trace

SEND, BEGIN_SEND, RECEIVE, WAIT_FOR_MESSAGE, BEGIN_RECEIVE = -21, -27, -51, -52, -57
COMPLETE_RECEIVE = (-60, -61)
BARRIER, BROADCAST, SPLIT = -402, -785, -523
FILE_OPEN, FILE_CLOSE, FILE_WRITE, FILE_READ = -201, -202, -221, -251
LEVEL, STOPPED, OVERWRITTEN = -904, -913, -914


def kinds():
    path, said = export(kinds_log(), "picl")
    check_equal([line for line in said.splitlines() if "wrote" not in line], [], "what is left out")
    return Trace(path, RANKS)


@case
def messages():
    """Length, type, processor and process of each message (tables 7 and 8); the message that was sent
    while rank 1 waited is -52, the one that lay ready -51."""
    trace = kinds()
    sends = [span.entry for span in trace.of(0, SEND)]
    check_equal(sends, [[100, 11, 1, 0], [200, 12, 1, 0], [50, 30, 1, 0]], "sends of rank 0")
    check_equal([span.entry for span in trace.of(2, SEND)], [[50, 30, 0, 0]], "sends of rank 2")
    check(all(span.exit == [] for number in range(RANKS) for span in trace.of(number, SEND)),
          "data at the end of a send")
    late, early, around = trace.of(1, RECEIVE, WAIT_FOR_MESSAGE)
    check_equal((late.event, late.exit), (WAIT_FOR_MESSAGE, [100, 11, 0, 0]), "late message")
    check_equal((early.event, early.exit), (RECEIVE, [200, 12, 0, 0]), "early message")
    check_equal(around.exit, [50, 30, 0, 0], "message of MPI_Sendrecv")
    check_equal(late.entry, [-1, -1, -1], "what was asked for is not known")
    check_near(float(late.end - late.begin), 0.2, 0.5, 0, "time that rank 1 waits")
    check(early.end - early.begin < 0.1, "the early message was waited for")
    sent = trace.of(0, SEND)[0]
    check(late.begin < sent.begin < late.end, "the late message is not sent while it is waited for")


@case
def requests():
    """3 nonblocking receives and sends for each rank; each receive has the id of its start when it
    completes, and its message then."""
    trace = kinds()
    for rank in range(RANKS):
        left, right = (rank - 1) % RANKS, (rank + 1) % RANKS
        check_equal([span.entry for span in trace.of(rank, BEGIN_SEND)],
                    [[300 + i, 20 + i, right, 0] for i in range(3)], f"sends of rank {rank}")
        begun = [span.exit for span in trace.of(rank, BEGIN_RECEIVE)]
        check(all(len(ids) == 1 for ids in begun) and len(begun) == 3, f"request ids {begun}")
        done = [span for span in trace.of(rank, *COMPLETE_RECEIVE) if span.exit]
        check_equal(sorted((span.entry[0], *span.exit) for span in done),
                    sorted((begun[i][0], 300 + i, 20 + i, left, 0) for i in range(3)),
                    f"completed receives of rank {rank}")
        check_equal(sum(span.end > span.begin for span in done) <= 1, True,
                    "the time of MPI_Waitall counts once")


@case
def collectives():
    """Barriers of everybody and of the subset {0, 2} (tables 10 and 18); a broadcast of 77 bytes."""
    trace = kinds()
    for rank in range(RANKS):
        barriers = [span.entry for span in trace.of(rank, BARRIER)]
        check_equal(barriers[:2], [[-1, -1], [-1, -1]], "barriers of all")
        check_equal(len(barriers), 3, f"barriers of rank {rank}")
        check_equal(trace.subsets[barriers[2][0]], [1] if rank == 1 else [0, 2], "a subset")
        broadcast, = trace.of(rank, BROADCAST)
        check_equal(broadcast.entry, [-1, -1, 2], "subset and root of a broadcast")
        check_equal(broadcast.exit, [77, 0] if rank == 2 else [0, 77], "bytes of a broadcast")
        check_equal(len(trace.of(rank, SPLIT)), 1, "MPI_Comm_split")
    check_equal((trace.labels[BROADCAST], trace.labels[SPLIT]), ("MPI_Bcast", "MPI_Comm_split"), "labels")


@case
def user_events():
    """The block and the markers of each rank, by their labels; a volume of 5000000000 is a long."""
    trace = kinds()
    block, checkpoint, huge = (trace.user_event(label) for label in (
        "block output@", "marker checkpoint@", "marker huge@"))
    for rank in range(RANKS):
        check_equal(len(trace.of(rank, block)), 1, "blocks")
        marks = [(mark.event, mark.data) for mark in trace.marks[rank]]
        check_equal(marks, [(checkpoint, [4096 * (rank + 1)])] * 2 + [(huge, [5000000000])],
                    f"markers of rank {rank}")
        check("event_kinds" in trace.processor_labels[rank], "the program of a processor")
        check(trace.processor_labels[rank].startswith(f"rank {rank} on "), "the rank of a processor")


@case
def files():
    """Five writes of 1000 bytes and a read of 3000, inside the block and inside their statements."""
    trace = kinds()
    for rank in range(RANKS):
        block, = trace.of(rank, trace.user_event("block output@"))
        inside = [(span.event, span.entry, span.exit) for span in block.inside if span.event < 0]
        check_equal(inside, [(FILE_OPEN, [], [])] + [(FILE_WRITE, [1000], [])] * 5 +
                    [(FILE_READ, [], [3000]), (FILE_CLOSE, [], [])], f"I/O of rank {rank}")
        statement = trace.user_event("io pread@")
        check_equal([span.event for span in trace.of(rank, statement)[0].inside], [FILE_READ],
                    "what the statement is")


@case
def threads():
    """Of two threads the first one is written, and the rest is counted. Where the program switches
    events off and on, the trace says so (-904)."""
    path, said = export(threads_log(), "picl")
    trace = Trace(path, 1)
    check_equal(len(trace.of(0, trace.user_event("block part@"))), 3, "blocks of the first thread")
    check_equal([(mark.event, mark.data) for mark in trace.marks[0]],
                [(LEVEL, [0, 0, 0]), (LEVEL, [1, 1, 1])], "events off, and on again")
    check(not any("unseen" in label for label in trace.labels.values()), "a block while events were off")
    check("events of further threads are left out" in said, said)
    check(int(said.split("dwell: ")[1].split()[0]) >= 6, f"too few events of the other thread: {said}")


@case
def newest():
    """A flight recorder's log begins with -914: earlier records were overwritten."""
    path, _ = export(threads_log("--events=last:2000", blocks=100000), "picl")
    trace = Trace(path, 1)
    check_equal([mark.event for mark in trace.marks[0]], [OVERWRITTEN], "marks")
    first = trace.marks[0][0]
    check_equal(first.clock, trace.spans[0][0].begin, "the clock of the mark")
    check(500 < len(trace.of(0, trace.user_event("block quick@"))) < 100000, "number of blocks")


@case
def lost():
    """PICL has no type for records that were lost while tracing went on: marks with a label, which say how
    many by kind."""
    path, said = export(threads_log("--events", "--events-ring", "64", blocks=300000), "picl")
    if "records were lost" not in said:
        raise Skip("nothing was lost")
    trace = Trace(path, 1)
    event = trace.user_event("records lost: enters and leaves, messages and collectives, others")
    marks = trace.marks[0][2:]  # behind those of events off and on
    check_equal({mark.event for mark in marks}, {event}, "marks")
    counts = re.search(r"rings: (\d+) enters and leaves, (\d+) messages and collectives, (\d+) others", said).groups()
    check_equal([sum(mark.data[i] for mark in marks) for i in range(3)], [int(n) for n in counts], "lost")
    blocks = len(trace.of(0, trace.user_event("block quick@")))
    check(0 <= 2 * (300000 - blocks) - int(counts[0]) <= 2 * len(marks), f"{blocks} blocks, {counts} lost")


@case
def stopped():
    """Where a full ring stops tracing there is one -913, and nothing says that it goes on."""
    path, said = export(threads_log("--events", "--events-ring", "64", "--events-full", "stop", blocks=300000),
                        "picl")
    if "records were lost" not in said:
        raise Skip("nothing was lost")
    marks = [mark.event for mark in Trace(path, 1).marks[0]]
    check_equal(marks, [LEVEL, LEVEL, STOPPED], "marks")


if __name__ == "__main__":
    main()
