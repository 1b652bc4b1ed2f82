"""Jobs that run in the background while a test watches them, and terminals of tmux."""

import contextlib
import glob
import json
import os
import shutil
import signal
import subprocess
import time

from harness import DWELL, check, environment, execute, mpirun, program, scratch, skip_unless


@contextlib.contextmanager
def running(words, ranks=2, options=(), name="records", waits=False):
    """A job under dwell with its records in a directory of this test; ended at the end. `waits`: its
    steps begin with let_go()."""
    records = scratch(name)
    os.makedirs(records, exist_ok=True)
    argv = mpirun(ranks, DWELL, "run", "-q", "-o", scratch("out-" + name), *options, *words)
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               env=environment(ranks, {"DWELL_RECORD_DIR": records,
                                                       **({"STEPS_GO": scratch("go")} if waits else {})}),
                               cwd=scratch(), start_new_session=True)
    process.records, process.out = records, scratch("out-" + name)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        for pid in rank_pids(records):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        process.communicate()


def rank_pids(records):
    """Processes of this test's job that have records there."""
    pids = []
    for stat in glob.glob("/proc/[0-9]*/maps"):
        with contextlib.suppress(OSError):
            with open(stat, encoding="utf-8", errors="replace") as maps:
                text = maps.read()
            if records + "/" in text and "libdwell.so" in text:
                pids.append(int(stat.split("/")[2]))
    return sorted(pids)


def wait_until(condition, what, limit_s=90):
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        if condition():
            return
        time.sleep(0.05)
    check(False, f"not within {limit_s} s: {what}")


def job_of(process, ranks=2):
    """The directory of the job, once all its ranks have records."""
    found = []

    def there():
        found[:] = [name for name in glob.glob(os.path.join(process.records, "dwell-*"))
                    if len(glob.glob(os.path.join(name, "rank.*"))) >= ranks]
        return bool(found) or process.poll() is not None

    wait_until(there, "records of all ranks")
    if not found:
        check(False, f"the job has ended: {process.returncode} {process.stderr.read()}")
    return found[0]


def watch(process, directory, *options):
    """`dwell top --json` of a job that waits for let_go(), after its first line."""
    watcher = subprocess.Popen([DWELL, "top", "--json", "--interval", "0.2", *options, directory],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=environment(1, {"DWELL_RECORD_DIR": process.records}))
    watcher.first = json.loads(watcher.stdout.readline())
    return watcher


def let_go():
    """Starts the steps of a program that waits for them (steps.c)."""
    with open(scratch("go"), "w", encoding="utf-8"):
        pass


def top(process, *options, **how):
    """Runs `dwell top` with the records of that job."""
    env = {"DWELL_RECORD_DIR": process.records, "TERM": "dumb", **how.pop("env", {})}
    return execute([DWELL, "top", *options], env=env, **how)


def readings(run):
    return [json.loads(line) for line in run.stdout.splitlines()]


def nodes_by_path(nodes, parent="parent"):
    """Each node by the names and places on the way to it. `nodes` have numbers."""
    known = {node["node"]: node for node in nodes}

    def key(node):
        place = (node["kind"], node["name"], node.get("file"), node.get("line"))
        above = known.get(node[parent]) if node.get(parent) is not None else None
        return (key(above) if above is not None else ()) + (place,)

    return {key(node): node for node in nodes}


class Terminal:
    """A terminal of tmux with a program in it."""

    def __init__(self, words, width, height, env):
        skip_unless(shutil.which("tmux"), "tmux is not installed")
        self.socket = scratch("tmux")
        self._tmux("-f", "/dev/null", "new-session", "-d", "-s", "t", "-x", str(width), "-y",
                   str(height), "sh", env=env)
        self._tmux("set-option", "-g", "status", "off")
        self._tmux("resize-window", "-t", "t", "-x", str(width), "-y", str(height))
        self.type(" ".join(words) + "; echo ended-with-$?", "Enter")

    def _tmux(self, *words, env=None):
        done = subprocess.run(["tmux", "-S", self.socket, *words], text=True, capture_output=True,
                              env=environment(1, env), check=False)
        return done.stdout

    def type(self, *keys):
        self._tmux("send-keys", "-t", "t", *keys)

    def text(self):
        return self._tmux("capture-pane", "-p", "-t", "t")

    def lines(self):
        return self.text().split("\n")

    def resize(self, width, height):
        self._tmux("resize-window", "-t", "t", "-x", str(width), "-y", str(height))

    def wait_for(self, *texts, limit_s=60):
        wait_until(lambda: all(text in self.text() for text in texts),
                   f"{texts} on the terminal:\n{self.text()}", limit_s)

    def wait_without(self, text, limit_s=60):
        wait_until(lambda: text not in self.text(), f"no {text} on the terminal:\n{self.text()}",
                   limit_s)

    def close(self):
        self._tmux("kill-server")
