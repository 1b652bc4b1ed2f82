"""Reads EPILOG 1.2 as its specification has it (Juelich, Tennessee; November 5, 2004) and checks what it
demands of a file: lengths, order, identifiers, nesting. Section numbers are those of the specification."""

import struct

NONE = 2**32 - 1
# Section 6; MPI_COMM_CNT is not in it: readers of later versions have it.
DEFINITIONS = {1: "STRING", 2: "STRING_CNT", 3: "MACHINE", 4: "NODE", 5: "PROCESS", 6: "THREAD", 7: "LOCATION",
               8: "FILE", 9: "REGION", 10: "METRIC", 11: "MPI_COMM", 13: "LAST_DEF", 14: "NUM_EVENTS", 15: "CALL_SITE",
               19: "MPI_COMM_CNT"}
EVENTS = {101: "ENTER", 102: "EXIT", 103: "MPI_SEND", 104: "MPI_RECV", 105: "MPI_COLLEXIT", 106: "OMP_FORK",
          107: "OMP_JOIN", 108: "OMP_ALOCK", 109: "OMP_RLOCK", 110: "OMP_COLLEXIT", 111: "ENTER_CS",
          203: "ENTER_DUMP", 204: "EXIT_DUMP"}
# Fields after location and time, and behind the metrics that records of MEASURED have (section 5).
MEASURED = ("ENTER", "ENTER_CS", "EXIT", "MPI_COLLEXIT", "OMP_COLLEXIT")
FIELDS = {"ENTER": ["rid"], "ENTER_CS": ["csid"], "EXIT": [], "MPI_SEND": ["dlid", "cid", "tag", "sent"],
          "MPI_RECV": ["slid", "cid", "tag"], "MPI_COLLEXIT": ["rlid", "cid", "sent", "rcvd"], "OMP_FORK": [],
          "OMP_ALOCK": ["lkid"], "OMP_RLOCK": ["lkid"], "OMP_JOIN": [], "OMP_COLLEXIT": [], "ENTER_DUMP": [],
          "EXIT_DUMP": []}
REGION_TYPES = set(range(4)) | set(range(11, 25))
FUNCTION, LOOP, USER, PARALLEL, CRITICAL, BARRIER = 1, 2, 3, 11, 18, 20


class Wrong(Exception):
    """The file is not what the specification says."""


def want(condition, text):
    if not condition:
        raise Wrong(text)


class Epilog:
    """Definitions as dictionaries by identifier; `events` as dictionaries in the order of the file."""

    def __init__(self, path):
        with open(path, "rb") as stream:
            self.data = stream.read()
        want(self.data[:7] == b"EPILOG\0", "no EPILOG file")
        want(self.data[7:9] == b"\1\2", f"version {self.data[7]}.{self.data[8]}")
        want(self.data[9] in (1, 2), f"byte order {self.data[9]}")
        self.order = "<" if self.data[9] == 1 else ">"
        self.strings, self.machines, self.nodes, self.processes, self.threads = {}, {}, {}, {}, {}
        self.locations, self.files, self.regions, self.sites, self.comms = {}, {}, {}, {}, {}
        self.metrics = {}
        self.events, self.counted = [], None
        self._rests = 0  # continuation records due
        self._bits = None  # of the communicator that goes on
        self._read()
        self._check_identifiers()
        self._check_events()

    def _ui4(self, body, count):
        want(len(body) >= 4 * count, "a record is too short")
        return list(struct.unpack(f"{self.order}{count}I", body[:4 * count])), body[4 * count:]

    def _read(self):
        at, defines = 10, True
        while at != len(self.data):
            want(at + 2 <= len(self.data), "the file ends in a record")
            length, kind = self.data[at], self.data[at + 1]
            body = self.data[at + 2:at + 2 + length]
            want(len(body) == length, "the file ends in a record")
            at += 2 + length
            if kind in DEFINITIONS:
                want(defines, f"{DEFINITIONS[kind]} after LAST_DEF")
                self._define(DEFINITIONS[kind], body)
                defines = kind != 13
            else:
                want(kind in EVENTS, f"record type {kind}")
                want(not defines, "an event before LAST_DEF")
                self._event(EVENTS[kind], body)
        want(not defines, "no LAST_DEF")
        want(self.counted == len(self.events), f"NUM_EVENTS {self.counted}, {len(self.events)} events")

    def _define(self, name, body):
        want((name == "STRING_CNT") == (self._rests > 0), f"{name} with {self._rests} continuations due")
        goes_on = self._bits is not None and len(self._bits[1]) < self._bits[0]
        want((name == "MPI_COMM_CNT") == goes_on, f"{name} where a group goes on: {goes_on}")
        getattr(self, "_define_" + name.lower())(body)

    def _define_string(self, body):
        (number,), body = self._ui4(body, 1)
        want(number not in self.strings, f"string {number} twice")
        self._rests, self._last = body[0], number
        self.strings[number] = body[1:]
        self._end_string()

    def _define_string_cnt(self, body):
        self._rests -= 1
        self.strings[self._last] += body
        self._end_string()

    def _end_string(self):
        if self._rests == 0:
            text = self.strings[self._last]
            want(text.endswith(b"\0") and text.count(b"\0") == 1, f"string {text!r}")
            self.strings[self._last] = text[:-1].decode()

    def _text(self, number):
        want(number == NONE or number in self.strings, f"string {number} before its definition")
        return self.strings.get(number)

    def _define_machine(self, body):
        (number, nodes, name), body = self._ui4(body, 3)
        want(not body, "MACHINE is too long")
        self.machines[number] = {"nodes": nodes, "name": self._text(name)}

    def _define_node(self, body):
        (number, machine, processors, name), body = self._ui4(body, 4)
        want(len(body) == 8, "NODE without a clock rate")
        want(machine in self.machines, "a node of no machine")
        self.nodes[number] = {"machine": machine, "processors": processors, "name": self._text(name),
                              "rate": struct.unpack(self.order + "d", body)[0]}

    def _define_process(self, body):
        (number, name), body = self._ui4(body, 2)
        want(not body, "PROCESS is too long")
        self.processes[number] = self._text(name)

    def _define_thread(self, body):
        (number, process, name), body = self._ui4(body, 3)
        want(not body, "THREAD is too long")
        self.threads[process, number] = self._text(name)

    def _define_location(self, body):
        (number, machine, node, process, thread), body = self._ui4(body, 5)
        want(not body and number not in self.locations, "LOCATION")
        want(machine in self.machines and node in self.nodes, "a location on no node")
        self.locations[number] = {"node": node, "process": process, "thread": thread}

    def _define_file(self, body):
        (number, name), body = self._ui4(body, 2)
        want(not body and name != NONE, "FILE")
        self.files[number] = self._text(name)

    def _define_region(self, body):
        (number, name, file, begin, end, _), body = self._ui4(body, 6)
        want(len(body) == 1 and body[0] in REGION_TYPES, f"region type {body}")
        want(file == NONE or file in self.files, f"file {file} before its definition")
        want(name != NONE and number not in self.regions, "REGION")
        self.regions[number] = {"name": self._text(name), "file": self.files.get(file), "begin": begin,
                                "end": end, "type": body[0]}

    def _define_metric(self, body):
        (number, name, description), body = self._ui4(body, 3)
        want(len(body) == 3 and name != NONE and number not in self.metrics, "METRIC")
        self._text(description)
        want(body[0] in (0, 1) and body[1] in (0, 1, 2) and body[2] in (0, 1, 2), f"modes of a metric: {body}")
        self.metrics[number] = (self._text(name), *body)

    def _define_call_site(self, body):
        (number, file, line, callee, caller), body = self._ui4(body, 5)
        want(not body and file in self.files and callee in self.regions, "CALL_SITE")
        want(caller == NONE or caller in self.regions, "a caller that is no region")
        self.sites[number] = {"file": self.files[file], "line": line, "callee": callee, "caller": caller}

    def _define_mpi_comm(self, body):
        (number, size), body = self._ui4(body, 2)
        want(len(body) == min(size, 247), "bytes of a group")
        self._bits, self._comm = (size, body), number
        self._end_comm()

    def _define_mpi_comm_cnt(self, body):
        self._bits = (self._bits[0], self._bits[1] + body)
        self._end_comm()

    def _end_comm(self):
        size, bits = self._bits
        want(len(bits) <= size, "a group is too long")
        if len(bits) == size:
            self.comms[self._comm] = {8 * i + k for i, byte in enumerate(bits) for k in range(8) if byte >> k & 1}

    def _define_num_events(self, body):
        (self.counted,), body = self._ui4(body, 1)
        want(not body, "NUM_EVENTS is too long")

    def _define_last_def(self, body):
        want(not body, "LAST_DEF has a body")

    def _event(self, name, body):
        (location,), body = self._ui4(body, 1)
        values = 8 * len(self.metrics) if name in MEASURED else 0
        # ENTER: the region comes before the metrics; COLLEXIT: they come before what is its own.
        own = 4 * len(FIELDS[name])
        before = own if name.startswith("ENTER") else 0
        want(len(body) == 8 + own + values, f"length of {name}")
        event = {"type": name, "lid": location, "time": struct.unpack(self.order + "d", body[:8])[0]}
        measured = body[8 + before:8 + before + values]
        event["metrics"] = list(struct.unpack(f"{self.order}{values // 8}Q", measured))
        values, _ = self._ui4(body[8:8 + before] + body[8 + before + values:], len(FIELDS[name]))
        event.update(zip(FIELDS[name], values))
        self.events.append(event)

    def _check_identifiers(self):
        """Section 4: from 0 to n - 1."""
        for what in ("strings", "machines", "nodes", "processes", "locations", "files", "regions", "sites", "comms", "metrics"):
            numbers = sorted(getattr(self, what))
            want(numbers == list(range(len(numbers))), f"identifiers of {what}: {numbers}")
        for process in self.processes:
            threads = sorted(thread for of, thread in self.threads if of == process)
            want(threads == list(range(len(threads))) and threads, f"threads of process {process}: {threads}")
        for location in self.locations.values():
            want((location["process"], location["thread"]) in self.threads, "a location of no thread")

    def _check_events(self):
        """Section 5: times and nesting of each location; other threads between fork and join; a message is
        sent before it is received."""
        last = dict.fromkeys(self.locations, 0.0)
        stacks = {location: [] for location in self.locations}
        forked = dict.fromkeys(self.processes, False)
        in_flight = {}
        for event in self.events:
            kind, where = event["type"], event["lid"]
            want(where in self.locations, f"{kind} at no location")
            of = self.locations[where]
            want(event["time"] >= last[where], f"{kind} at {event['time']} after {last[where]}")
            last[where] = event["time"]
            if of["thread"] != 0:
                want(forked[of["process"]], f"{kind} of thread {of['thread']} outside of fork and join")
            if kind in ("ENTER", "ENTER_CS"):
                site = self.sites.get(event.get("csid"))
                want(kind == "ENTER" or site is not None, "ENTER_CS at no call site")
                event["rid"] = site["callee"] if site else event["rid"]
                event["region"] = self.regions[event["rid"]]
                event["outer"] = stacks[where][-1] if stacks[where] else NONE
                want(site is None or site["caller"] == event["outer"], "the caller is another region")
                stacks[where].append(event["rid"])
            elif kind in ("EXIT", "MPI_COLLEXIT", "OMP_COLLEXIT"):
                want(stacks[where], f"{kind} without ENTER")
                event["region"] = self.regions[stacks[where].pop()]
            elif kind in ("OMP_FORK", "OMP_JOIN"):
                want(of["thread"] == 0 and forked[of["process"]] == (kind == "OMP_JOIN"), kind)
                forked[of["process"]] = kind == "OMP_FORK"
                others = [number for number, other in self.locations.items()
                          if other["process"] == of["process"] and number != where]
                want(not any(stacks[other] for other in others), f"{kind} inside regions of other threads")
            if kind in ("MPI_SEND", "MPI_RECV"):
                want(event["cid"] in self.comms, "a message of no communicator")
                ends = (where, event["dlid"]) if kind == "MPI_SEND" else (event["slid"], where)
                queue = in_flight.setdefault((*ends, event["cid"], event["tag"]), [])
                if kind == "MPI_SEND":
                    queue.append(event)
                else:
                    want(queue, f"MPI_RECV before its MPI_SEND: {event}")
                    event["send"] = queue.pop(0)
            if kind == "MPI_COLLEXIT":
                want(event["cid"] in self.comms, "a collective of no communicator")
                want(event["rlid"] == NONE or event["rlid"] in self.locations, "a root at no location")
        want(not any(stacks.values()), "regions that are not left")
        want(not any(forked.values()), "a fork without join")
        self.unreceived = sum(map(len, in_flight.values()))

    def of(self, *kinds, location=None):
        return [event for event in self.events
                if event["type"] in kinds and location in (None, event["lid"])]
