"""Reads mpi_calls.table, whose head explains its properties, for generate_mpi.py."""
import re
import sys

CLASSES = {
    "send": "kSend", "receive": "kReceive", "send_receive": "kSendReceive", "probe": "kProbe",
    "wait": "kWait", "test": "kTest", "collective": "kCollective", "rma": "kRma",
    "file": "kFile", "manage": "kManage", "environment": "kEnvironment",
}
PARAMETER = re.compile(r"^(?P<type>.*?[\s*]+)(?P<name>\w+)(?P<array>(\[\d*\])*)$")


def fail(message):
    sys.exit(f"generate_mpi.py: {message}")


class Parameter:
    def __init__(self, text):
        match = PARAMETER.match(text.strip())
        if not match:
            fail(f"cannot read parameter '{text}'")
        self.type = match["type"].strip()
        self.name = match["name"]
        self.array = match["array"]
        self.text = f"{self.type} {self.name}{self.array}"


class Function:
    def __init__(self, number, prototype, properties, where):
        match = re.match(r"^(MPIX?)_(\w+)\((.*)\)$", prototype)
        if not match:
            fail(f"{where}: not a prototype: {prototype}")
        self.number, self.prefix, self.name, self.where = number, match[1], match[2], where
        self.parameters = [] if match[3] == "void" else [
            Parameter(p) for p in match[3].split(",") if p.strip() != "..."]
        self.properties = {}
        for word in properties.split():
            key, separator, value = word.partition("=")
            if not separator:
                fail(f"{where}: property without '=': {word}")
            self.properties[key] = value
        if self.properties.get("class") not in CLASSES:
            fail(f"{where}: {self.symbol()} has no known class")
        self.events = self.read_events()

    def read_events(self):
        words = self.properties["event"].split(",")
        if len(words) == 1:
            return [int(words[0]), 0, 0, 0]
        if len(words) != 4:
            fail(f"{self.where}: event wants one or four numbers")
        return [0 if w == "." else int(w) for w in words]

    def symbol(self):
        return f"{self.prefix}_{self.name}"

    def type(self):
        return f"int (*)({self.declaration()})"

    def get(self, key):
        return self.properties.get(key)

    def has(self, name):
        return any(p.name == name for p in self.parameters)

    def named(self, type_name):
        return next((p.name for p in self.parameters
                     if p.type == type_name and not p.array), None)

    def declaration(self):
        return ", ".join(p.text for p in self.parameters) or "void"

    def arguments(self, **replaced):
        return ", ".join(replaced.get(p.name, p.name) for p in self.parameters)

    def first_event_slot(self):
        return next(i for i, e in enumerate(self.events) if e != 0)


def read_table(path):
    functions, prototype = [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{path.name}:{number}"
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("MPI"):
            prototype = line.strip()
        elif prototype is None:
            fail(f"{where}: properties without a prototype")
        else:
            functions.append(Function(len(functions) + 1, prototype, line, where))
            prototype = None
    return functions
