"""Several hosts on one machine: each has network, host name, processes, clock since boot and
/dev/shm of its own, and they share the file systems, as the nodes of a cluster do.

    with Hosts("left", "right") as hosts:
        hosts.run(hosts.mpirun("left:2", "right:2") + [program])

Commands start on the first host, which sees the processes of all others, so that a script can enter
them where Open MPI would use ssh. Needs root, ip and unshare; without them the case is skipped.
Nothing outlives `with`, nor a test that is killed: a host ends when its keeper's input is closed.
"""

import os
import shutil
import subprocess

from harness import Failure, Skip, execute, scratch, skip_unless

TOOLS = ("ip", "unshare", "nsenter", "mount", "hostname")
# The keeper of a host sets it up, says so, and holds it until its input ends.
KEEPER = """set -e
hostname "$1"
mount --bind "$2" /etc/hosts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
ip link set lo up
echo ready
read -r _ || true
"""
# What stands for ssh: a host by its name, a command for its shell, and little of our environment.
AGENT = """#!/bin/sh
host=$1
shift
exec {enter} env -i PATH="$PATH" HOME="${{HOME:-/}}" sh -c "$*"
"""


class Host:
    def __init__(self, name, address):
        self.name, self.address, self.keeper = name, address, None

    def enter(self):
        """The words before a command that shall run on this host."""
        own = f"/proc/{self.keeper.pid}/ns"
        return ["nsenter", f"--net={own}/net", f"--uts={own}/uts", f"--ipc={own}/ipc",
                f"--mount={own}/mnt", f"--pid={own}/pid_for_children",
                f"--time={own}/time_for_children"]


class Hosts:
    def __init__(self, *names, ahead_s=1000):
        """The clocks since boot of all but the first run ahead, by `ahead_s` more for each."""
        self.all = [Host(name, f"10.213.87.{i + 1}") for i, name in enumerate(names)]
        self.ahead_s = ahead_s

    def __enter__(self):
        skip_unless(os.geteuid() == 0, "only root may make hosts of its own")
        missing = [tool for tool in TOOLS if shutil.which(tool) is None]
        skip_unless(not missing, f"{', '.join(missing)} not installed")
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for host in self.all:
            if host.keeper:
                host.keeper.stdin.close()
                host.keeper.wait()
                host.keeper = None

    def _start(self):
        names = scratch("hosts")
        with open(names, "w") as stream:
            stream.write("127.0.0.1 localhost\n")
            stream.writelines(f"{host.address} {host.name}\n" for host in self.all)
        for index, host in enumerate(self.all):
            own = ["--pid", "--fork", "--kill-child", "--mount-proc", "--time",
                   f"--monotonic={index * self.ahead_s}"] if index else []
            host.keeper = subprocess.Popen(
                ["unshare", "--net", "--uts", "--ipc", "--mount", *own, "sh", "-c", KEEPER, "keeper",
                 host.name, names], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True)
            if host.keeper.stdout.readline() != "ready\n":
                host.keeper.stdin.close()
                host.keeper.wait()
                raise Skip(f"no host of its own can be made here: {host.keeper.stderr.read()}")
        self._connect()
        self._write_agent()

    def _connect(self):
        """A switch on the first host, and a cable from it to each of the others."""
        first = self.all[0]
        self._ip(first, "link", "add", "switch", "type", "bridge")
        self._ip(first, "link", "set", "switch", "up")
        self._ip(first, "address", "add", f"{first.address}/24", "dev", "switch")
        for index, host in enumerate(self.all[1:], 1):
            self._ip(first, "link", "add", f"port{index}", "type", "veth", "peer", "name", "switch",
                     "netns", str(host.keeper.pid))
            self._ip(first, "link", "set", f"port{index}", "master", "switch", "up")
            self._ip(host, "address", "add", f"{host.address}/24", "dev", "switch")
            self._ip(host, "link", "set", "switch", "up")

    def _ip(self, host, *words):
        done = subprocess.run(["nsenter", f"--net=/proc/{host.keeper.pid}/ns/net", "ip", *words],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Skip(f"ip {' '.join(words)}: {done.stderr.strip()}")

    def _write_agent(self):
        for host in self.all[1:]:
            with open(scratch("enter-" + host.name), "w") as stream:
                stream.write(AGENT.format(enter=" ".join(host.enter())))
            os.chmod(scratch("enter-" + host.name), 0o755)
        with open(scratch("agent"), "w") as stream:
            stream.write(f'#!/bin/sh\nexec {scratch("enter-")}"$1" "$@"\n')
        os.chmod(scratch("agent"), 0o755)

    def mpirun(self, *places):
        """`mpirun` with as many slots as each "host:slots" says, over TCP between them."""
        return ["mpirun", "--host", ",".join(places), "--bind-to", "none", "--oversubscribe",
                "--mca", "plm_rsh_agent", scratch("agent"), "--mca", "plm_rsh_no_tree_spawn", "1",
                "--mca", "btl", "self,vader,tcp", "--mca", "pml", "ob1",
                "--mca", "btl_tcp_if_include", "switch", "--mca", "oob_tcp_if_include", "switch",
                "--mca", "mpi_yield_when_idle", "1"]

    def run(self, argv, host=0, cwd=None, **how):
        """Runs a command on one of the hosts; a new mount namespace would start it in /."""
        place = f"--wdns={cwd or os.getcwd()}"
        run = execute(self.all[host].enter() + [place] + argv, **how)
        run.cwd = cwd
        return run

    def records(self):
        """What dwell has left in /dev/shm, as "host:name"."""
        left = []
        for index, host in enumerate(self.all):
            listed = self.run(["ls", "/dev/shm"], index)
            if listed.code != 0:
                raise Failure("/dev/shm cannot be listed" + listed.describe())
            left += [f"{host.name}:{name}" for name in listed.stdout.split() if "dwell" in name]
        return left
