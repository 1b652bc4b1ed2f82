"""Reads Pablo's self-describing data format, ASCII and binary. Written from its description alone."""

import re
import struct

from harness import check, check_equal

TYPES = {"char": 0, "int": 1, "double": 3}
_TOKEN = re.compile(r'\s*(?:(//[^\n]*)|("[^"\\]*"|-?\d+\.\d+|-?\d+|char|int|double|;;|[{}\[\],;:#]))')


class File:
    """`attributes` by key, `descriptors` by name: [(field, type, dimensions)], `records`: (name, values)
    in the order of the file, each value by its field."""

    def __init__(self):
        self.attributes, self.descriptors, self.tags, self.records = {}, {}, {}, []

    def define(self, tag, name, fields):
        check(name not in self.descriptors and tag not in self.tags, f"two descriptors {tag} {name!r}")
        check(not self.records, f"descriptor {name!r} behind data")
        check(fields and len({field for field, _, _ in fields}) == len(fields), f"fields of {name!r}")
        check(all(kind in TYPES for _, kind, _ in fields), f"types of {name!r}")
        self.descriptors[name], self.tags[tag] = fields, name

    def add(self, name, values):
        check(name in self.descriptors, f"data {name!r} without a descriptor")
        fields = self.descriptors[name]
        check_equal(len(values), len(fields), f"values of {name!r}")
        self.records.append((name, {field: value for (field, _, _), value in zip(fields, values)}))

    def of(self, record, /, **wanted):
        return [values for found, values in self.records
                if found == record and all(values[key] == value for key, value in wanted.items())]


class _Ascii:
    def __init__(self, text):
        self.file = File()
        head, _, text = text.partition("\n")
        check_equal(head, "SDDFA", "first line")
        text = self._attributes(text)
        self.tokens = self._tokens(text)
        self.at = 0
        while self.at < len(self.tokens):
            if self._take("#", True):
                self._descriptor()
            else:
                self._data()

    def _attributes(self, text):
        while text.lstrip().startswith("/*"):
            body, end, rest = text.lstrip()[2:].partition("*/")
            check(end and rest.lstrip().startswith(";;"), "attributes without an end")
            for line in body.strip().splitlines():
                found = re.fullmatch(r'\s*\* "([^"]*)" "([^"]*)"', line)
                check(found, f"attribute {line!r}")
                self.file.attributes[found.group(1)] = found.group(2)
            text = rest.lstrip()[2:]
        return text

    @staticmethod
    def _tokens(text):
        tokens, at, end = [], 0, len(text.rstrip())
        while at < end:
            found = _TOKEN.match(text, at)
            check(found, f"no token: {text[at:at + 40]!r}")
            at = found.end()
            if found.group(1) is None:
                tokens.append(found.group(2))
        return tokens

    def _take(self, token, maybe=False):
        if self.at < len(self.tokens) and self.tokens[self.at] == token:
            self.at += 1
            return True
        check(maybe, f"{token!r} expected: {self.tokens[self.at - 5:self.at + 5]}")
        return False

    def _next(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def _descriptor(self):
        tag = int(self._next())
        self._take(":")
        name, fields = self._next().strip('"'), []
        self._take("{")
        while not self._take("}", True):
            kind, dimensions = self._next(), 0
            field = self._next().strip('"')
            while self._take("[", True):
                self._take("]")
                dimensions += 1
            self._take(";")
            fields.append((field, kind, dimensions))
        self._take(";;")
        self.file.define(tag, name, fields)

    def _data(self):
        name, values = self._next().strip('"'), []
        check(name in self.file.descriptors, f"data {name!r} without a descriptor")
        self._take("{")
        for _, kind, dimensions in self.file.descriptors[name]:
            if values:
                self._take(",")
            values.append(self._array(kind) if dimensions else self._value(kind))
        self._take("}")
        self._take(";;")
        self.file.add(name, values)

    def _value(self, kind):
        token = self._next()
        if kind == "int":
            check(re.fullmatch(r"-?\d+", token) and abs(int(token)) < 2 ** 31, f"int {token!r}")
            return int(token)
        check(re.fullmatch(r"-?\d+\.\d+", token), f"double {token!r}")
        return float(token)

    def _array(self, kind):
        self._take("[")
        size = int(self._next())
        check(size > 0, "an empty array")
        self._take("]")
        self._take("{")
        if kind == "char":
            value = self._next().strip('"')
        else:
            value = [self._value(kind)]
            while self._take(",", True):
                value.append(self._value(kind))
        self._take("}")
        check_equal(len(value), size, "cells of an array")
        return value


class _Binary:
    def __init__(self, data):
        self.file = File()
        check_equal(data[:5], b"SDDFB", "first bytes")
        size, order, *rest = data[5:data[5]]
        check_equal(size, 19, "size of the head")
        check_equal(rest, [0, 0, 0, 0, 0, 1, 2, 4, 8, 4, 8, 16], "representations and sizes")
        self.order = "<" if order == 1 else ">"
        self.data, self.at = data, size
        while self.at < len(data):
            self._packet()

    def _unpack(self, letter):
        size = struct.calcsize(letter)
        value, = struct.unpack_from(self.order + letter, self.data, self.at)
        self.at += size
        return value

    def _int(self):
        return self._unpack("i")

    def _string(self):
        size = self._int()
        check(0 <= size <= 10000, f"a string of {size} bytes")
        self.at += size
        return self.data[self.at - size:self.at].decode("ascii")

    def _packet(self):
        begin = self.at
        length, kind, tag = self._int(), self._int(), self._int()
        if kind == 1:
            self.file.attributes = dict([(self._string(), self._string()) for _ in range(self._int())])
        elif kind == 2:
            name = self._string()
            check_equal(self._int(), 0, "attributes of a descriptor")
            fields = []
            for _ in range(self._int()):
                field = self._string()
                check_equal(self._int(), 0, "attributes of a field")
                number, dimensions = self._int(), self._int()
                fields.append((field, {value: key for key, value in TYPES.items()}[number], dimensions))
            self.file.define(tag, name, fields)
        else:
            check_equal(kind, 3, "kind of a packet")
            name = self.file.tags[tag]
            self.file.add(name, [self._value(type, dimensions)
                                 for _, type, dimensions in self.file.descriptors[name]])
        check_equal(self.at - begin, length, f"length of a packet of kind {kind}")

    def _value(self, kind, dimensions):
        letter = {"char": "c", "int": "i", "double": "d"}[kind]
        if dimensions == 0:
            return self._unpack(letter)
        if kind == "char":
            text = self._string()
            check(text, "an empty array")
            return text
        size = self._int()
        check(size > 0, "an empty array")
        return [self._unpack(letter) for _ in range(size)]


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    return _Binary(data).file if data.startswith(b"SDDFB") else _Ascii(data.decode("ascii")).file
