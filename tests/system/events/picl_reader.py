"""Reads a trace in PICL's format as ORNL/TM-12125 defines it. Written from that text alone."""

import re
from fractions import Fraction

from harness import check, check_equal

MARK, ENTRY, EXIT, LABEL, DESCRIPTOR, MESSAGE, PROCESSORS = -2, -3, -4, -5, -6, -7, -201
TRACING = -901
PREDEFINED = {0: "%c", 1: "%s", 2: "%d", 3: "%ld", 4: "%f", 5: "%lf"}  # table 2
LARGEST_INT = 2 ** 31 - 1
# Table 4: event types that need no name.
KNOWN = {-11, -12, -13, -14, -21, -27, -28, -29, -30, -31, *range(-61, -50), -201, -202, -221, -251, -401,
         -402, -501, -502, -503, -601, -602, -603, TRACING, -902, -903, -904, -911, -912, -913, -914}


class Record:
    """A line: fields by table 1; `data` holds one value for each data field."""

    def __init__(self, line):
        words = line.split(" ", 6)
        check(len(words) >= 6 and all(words), f"not six fields: {line!r}")
        self.line = line
        self.type, self.event, self.processor, self.process, count = (
            int(words[i]) for i in (0, 1, 3, 4, 5))
        check(re.fullmatch(r"-?\d+\.\d+", words[2]), f"no decimal clock: {line!r}")
        self.clock = Fraction(words[2])
        self.data = self._data(count, words[6] if len(words) == 7 else None)

    def _data(self, count, rest):
        if count == 0:
            check(rest is None, f"a descriptor without data: {self.line!r}")
            return []
        found = re.match(r'(\d+|"[^"]*") ', rest or "")
        check(found, f"no descriptor: {self.line!r}")
        word = found.group(1)
        rest = rest[found.end():]
        descriptor = word.strip('"') if word.startswith('"') else PREDEFINED[int(word)]
        if descriptor == "%c":
            check_equal(len(rest), count, f"characters of {self.line!r}")
            return [rest]
        if descriptor == "%d%s":
            number, text = rest.split(" ", 1)
            return [(int(number), text)] * count
        check(descriptor in ("%d", "%ld"), f"descriptor {descriptor!r} for integers")
        values = [int(value) for value in rest.split(" ")]
        check_equal(len(values), count, f"data fields of {self.line!r}")
        if descriptor == "%d":
            check(all(abs(value) <= LARGEST_INT for value in values), f"too large: {self.line!r}")
        return values


class Span:
    """An entry with its exit."""

    def __init__(self, entry):
        self.event, self.begin, self.entry = entry.event, entry.clock, entry.data
        self.end, self.exit = None, None
        self.inside = []


class Trace:
    """A whole file, valid for ParaGraph (section 2.5)."""

    def __init__(self, path, processors):
        with open(path, encoding="ascii") as file:
            self.records = [Record(line.rstrip("\n")) for line in file]
        self.labels = {}     # of event types
        self.processor_labels = {}
        self.subsets = {}
        self.spans = {number: [] for number in range(processors)}   # in the order of their entries
        self.marks = {number: [] for number in range(processors)}
        events = [record for record in self.records if record.type in (MARK, ENTRY, EXIT)]
        first = events[0].clock
        for record in self.records:
            if record.type in (MARK, ENTRY, EXIT):
                continue
            check(record.clock < first, f"a header behind the first event: {record.line!r}")
            self._add_header(record)
        clocks = [record.clock for record in self.records]
        check_equal(clocks, sorted(clocks), "the order of clocks")
        for number in range(processors):
            self._add_processor(number, [record for record in events if record.processor == number])
        check_equal({record.processor for record in events}, set(range(processors)), "processors")
        check_equal({record.process for record in events}, {0}, "processes")
        named = KNOWN | set(self.labels)
        check({record.event for record in events} <= named,
              f"without a name: {({record.event for record in events} - named)}")

    def _add_header(self, record):
        if record.type == LABEL and record.event == -1:
            self.processor_labels[record.processor] = record.data[0]
        elif record.type == LABEL:
            check(record.event not in self.labels, f"two labels: {record.line!r}")
            self.labels[record.event] = record.data[0]
        elif record.type == PROCESSORS:
            check(record.data[0] < -1, f"subset {record.data[0]}")
            self.subsets[record.data[0]] = record.data[1:]
        elif record.type == DESCRIPTOR:
            number, text = record.data[0]
            check_equal(text, '"' + PREDEFINED[number] + '"', f"descriptor {number}")
        else:
            check_equal(record.type, MESSAGE, "type of a header record")

    def _add_processor(self, number, records):
        check(records, f"processor {number} has no events")
        check_equal((records[0].type, records[0].event), (ENTRY, TRACING), f"first of {number}")
        check_equal((records[-1].type, records[-1].event), (EXIT, TRACING), f"last of {number}")
        open_spans = []
        for record in records:
            if record.type == MARK:
                self.marks[number].append(record)
            elif record.type == ENTRY:
                span = Span(record)
                self.spans[number].append(span)
                for around in open_spans:
                    around.inside.append(span)
                open_spans.append(span)
            else:
                check(open_spans and open_spans[-1].event == record.event,
                      f"{record.line!r} ends what is not innermost on processor {number}")
                span = open_spans.pop()
                span.end, span.exit = record.clock, record.data
        check_equal(len(open_spans), 0, f"open events of processor {number}")
        check_equal(sum(record.event == TRACING for record in records), 2, f"tracing of {number}")

    def of(self, number, *events):
        return [span for span in self.spans[number] if span.event in events]

    def user_event(self, begin):
        """The event type whose label begins so."""
        found = [event for event, label in self.labels.items() if label.startswith(begin)]
        check_equal(len(found), 1, f"labels that begin with {begin!r}")
        check(found[0] >= 0, f"{begin!r} is no user event")
        return found[0]
