"""Event logs of a job over two hosts."""

import os
import re

from harness import DWELL, case, check, check_equal, execute, main, program, scratch
from hosts import Hosts
from sddf_reader import read

ROUNDS = 200


@case
def one_clock():
    """Each host has a log; together they are one trace with both ends of each message, and the export says how good
    its times are. Virtual times of different hosts are estimates: ends may be out of order by those."""
    with Hosts("left", "right") as hosts:
        run = hosts.run(hosts.mpirun("left:1", "right:1") + [
            "-n", "2", DWELL, "run", "--events", "-o", scratch("out"), program("remote_messages"), "pingpong",
            str(ROUNDS)])
        check_equal(run.code, 0, "dwell run" + run.describe())
    check_equal(sorted(os.listdir(scratch("out/events"))), ["left.events", "right.events"], "logs")
    run = execute([DWELL, "export", scratch("out"), "--to", "sddf", "-o", scratch("trace.sddf")])
    check_equal(run.code, 0, "dwell export" + run.describe())
    told = re.search(r"times of other hosts than the first are right to (\d+\.\d+) us", run.stderr)
    check(told and 0 < float(told[1]) < 10_000, f"the error: {run.stderr}")
    check("not related" not in run.stderr, run.stderr)
    trace, sent, received = read(scratch("trace.sddf")), {}, 0
    for record in sorted(trace.of("send"), key=lambda one: one["seconds"]):
        sent.setdefault((record["rank"], record["destination"], record["tag"]), []).append(record["seconds"])
    for record in sorted(trace.of("receive"), key=lambda one: one["seconds"]):
        took_us = 1e6 * (record["seconds"] - sent[record["source"], record["rank"], record["tag"]].pop(0))
        check(abs(took_us) < 10e6, f"{took_us} us on the way: {record}")
        received += 1
    check(received >= 2 * ROUNDS and not any(sent.values()), f"{received} messages, on their way: {sent}")


if __name__ == "__main__":
    main()
