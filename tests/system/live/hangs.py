"""Jobs that hang, each in a known way (programs/hangs.c), and what is right to say of each."""

import os
import re
import signal
import subprocess
import time

from harness import DWELL, Failure, environment, marked_line, mpirun, program, scratch, source

RANKS = 3


class Hang:
    """`at`: for each rank the MPI function and the marker of its line, or None outside of MPI.
    `waits`: whom ranks wait for. `stuck`: ranks that nobody can release. `says`: expressions that the
    text holds, where {marker} is that line. `tells`: what is known of a rank's message."""

    def __init__(self, at, waits, stuck=(0, 1, 2), says=(), tells=None, fifo=False):
        self.at, self.waits, self.stuck, self.fifo = at, waits, list(stuck), fifo
        self.says, self.tells = says, tells or {}


MEET = ("MPI_Allreduce", "meet")
ALL_LOST = "Nobody can go on: "

HANGS = {
    "wrong_branch": Hang(
        {0: MEET, 1: MEET, 2: ("MPI_Recv", "branch")}, {0: [2], 1: [2], 2: [0]},
        says=[ALL_LOST + r"rank 2 waits for rank 0 in MPI_Recv hangs\.c:{branch}; "
              r"ranks 0,1 wait for rank 2 in MPI_Allreduce hangs\.c:{meet}\."],
        tells={2: "all messages of rank 0 were received: this one has not been sent"}),
    "missing_send": Hang(
        {0: ("MPI_Recv", "missing"), 1: MEET, 2: MEET}, {0: [1], 1: [0], 2: [0]},
        says=[ALL_LOST + r"rank 0 waits for rank 1 in MPI_Recv hangs\.c:{missing}; "
              r"ranks 1,2 wait for rank 0 in MPI_Allreduce"],
        tells={0: "all messages of rank 1 were received: this one has not been sent"}),
    "wrong_tag": Hang(
        {0: ("MPI_Recv", "tag"), 1: MEET, 2: MEET}, {0: [1], 1: [0], 2: [0]},
        says=[ALL_LOST + "rank 0 waits for rank 1", "waits for rank 1, tag 7; 1 message of rank 1"],
        tells={0: "1 message of rank 1 was not received: it has another tag or communicator"}),
    "wrong_communicator": Hang(
        {0: ("MPI_Recv", "communicator"), 1: MEET, 2: MEET}, {0: [1], 1: [0], 2: [0]},
        says=[ALL_LOST, "waits for rank 1, tag 7, in a communicator of its own of all ranks"],
        tells={0: "1 message of rank 1 was not received: it has another tag or communicator"}),
    "facing_receives": Hang(
        {0: ("MPI_Recv", "facing"), 1: ("MPI_Recv", "facing"), 2: MEET},
        {0: [1], 1: [0], 2: [0, 1]},
        says=[ALL_LOST, r"rank 0 waits for rank 1 in MPI_Recv hangs\.c:{facing}; "
              r"rank 1 waits for rank 0 in MPI_Recv hangs\.c:{facing}"],
        tells={0: "all messages of rank 1 were received: this one has not been sent", 1: "all messages of rank 0 were received: this one has not been sent"}),
    "kept_window": Hang(
        {0: MEET, 1: MEET, 2: ("MPI_Win_lock", "wants")}, {0: [2], 1: [2], 2: [1]},
        says=[ALL_LOST, "rank 2 waits for rank 1, which holds the lock of rank 0"]),
    "left_early": Hang(
        {0: MEET, 1: MEET, 2: ("MPI_Recv", "ring")}, {0: [2], 1: [2], 2: [1]},
        says=[ALL_LOST + r"rank 2 waits for rank 1 in MPI_Recv hangs\.c:{ring}"],
        tells={2: "all messages of rank 1 were received: this one has not been sent"}),
    "finalize": Hang(
        {0: ("MPI_Finalize", "finalize"), 1: ("MPI_Ssend", "unfinished"),
         2: ("MPI_Finalize", "finalize")}, {1: [0], 0: [1], 2: [1]},
        says=[r"rank 1 waits for rank 0 in MPI_Ssend hangs\.c:{unfinished}"]),
    "endless": Hang(
        {0: MEET, 1: None, 2: MEET}, {0: [1], 2: [1]}, stuck=[],
        says=[r"Others wait for rank 1, which computes at hangs\.c:{endless}, after MPI_Barrier",
              r"computing for .* left MPI_Barrier hangs\.c:\d+ last, at hangs\.c:{endless}"]),
    "file": Hang(
        {0: MEET, 1: MEET, 2: None}, {0: [2], 1: [2]}, stuck=[], fifo=True,
        says=[r"Others wait for rank 2, which is asleep after MPI_Barrier hangs\.c:\d+\.",
              r"for .* left MPI_Barrier hangs\.c:\d+ last, asleep in read of /"]),
    "requests": Hang(
        {0: ("MPI_Waitall", "waitall"), 1: MEET, 2: MEET}, {0: [1, 2], 1: [0], 2: [0]},
        says=[ALL_LOST, "4 requests, 2 of them pending: receive from rank 1, tag 2; "
              "receive from rank 2, tag 3"]),
    "one_of_two": Hang(
        {0: ("MPI_Waitall", "one_of_two"), 1: MEET, 2: MEET}, {0: [1, 2], 1: [0], 2: [0]},
        says=[ALL_LOST + r"rank 0 waits for rank 1 in MPI_Waitall hangs\.c:{one_of_two}; "],
        tells={0: "all messages of rank 1 were received: this one has not been sent"}),
    "tag_of_a_request": Hang(
        {0: ("MPI_Wait", "request"), 1: ("MPI_Wait", "request"), 2: MEET},
        {0: [1], 1: [0], 2: [0, 1]}, says=[ALL_LOST, "receive from rank 1, tag 7"],
        tells={0: "rank 1 sends to rank 0, tag 8"}),
    "nonblocking": Hang(
        {0: ("MPI_Wait", "nonblocking"), 1: ("MPI_Wait", "nonblocking"),
         2: ("MPI_Recv", "instead_of_it")}, {0: [2], 1: [2], 2: [0]},
        says=[ALL_LOST + r"rank 2 waits for rank 0 in MPI_Recv hangs\.c:{instead_of_it}; "
              r"ranks 0,1 wait for rank 2 in MPI_Wait hangs\.c:{nonblocking}\.",
              r"1 request: MPI_Iallreduce with rank 2, which has not come"],
        tells={2: "all messages of rank 0 were received: this one has not been sent"}),
    "wrong_root": Hang(
        {0: ("MPI_Bcast", "root"), 1: ("MPI_Bcast", "root"), 2: MEET},
        {0: [1], 1: [0], 2: [0, 1]},
        says=["rank 1, which is in MPI_Bcast with root 1 instead",
              "rank 0, which is in MPI_Bcast with root 0 instead"]),
    "operation": Hang(
        {0: ("MPI_Allreduce", "operation"), 1: ("MPI_Allreduce", "operation"),
         2: ("MPI_Recv", "instead")}, {0: [2], 1: [2], 2: [0]},
        says=[ALL_LOST + r"rank 2 waits for rank 0 in MPI_Recv hangs\.c:{instead}; "
              r"ranks 0,1 wait for rank 2 in MPI_Allreduce hangs\.c:{operation}\."],
        tells={2: "all messages of rank 0 were received: this one has not been sent"}),
    "mismatch": Hang(
        {0: ("MPI_Bcast", "bcast"), 1: ("MPI_Barrier", "mismatch"), 2: MEET},
        {0: [1, 2], 1: [0, 2], 2: [0, 1]},
        says=["rank 1, which is in MPI_Barrier and rank 0, which is in MPI_Bcast instead"]),
}


class RunningHang:
    """That job, while it runs under `dwell run`."""

    def __init__(self, name, options=(), ranks=RANKS):
        words = [name]
        if name in HANGS and HANGS[name].fifo:
            os.mkfifo(scratch("fifo"))
            words.append(scratch("fifo"))
        self.records = scratch("records")
        os.mkdir(self.records)
        self.process = subprocess.Popen(
            mpirun(ranks, DWELL, "run", "-o", scratch("out"), *options, program("hangs"), *words),
            env=environment(ranks, {"DWELL_RECORD_DIR": self.records}), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def __enter__(self):
        return self

    def directory(self, limit_s=30):
        """Of its records, once all ranks have one."""
        until = time.monotonic() + limit_s
        while time.monotonic() < until:
            found = [entry.path for entry in os.scandir(self.records) if entry.is_dir()]
            if len(found) == 1 and len([n for n in os.listdir(found[0]) if
                                        re.fullmatch(r"rank\.\d+", n)]) == RANKS:
                return found[0]
            time.sleep(0.05)
        raise Failure(f"no records of {RANKS} ranks in {self.records}")

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate()


def with_lines(expression):
    """{marker} becomes the number of that line of hangs.c."""
    return re.sub(r"\{([a-z_]+)\}", lambda found: str(marked_line(source("hangs.c"), found[1])),
                  expression)
