"""Reads a standard MIDI file: tracks of (tick, status, data bytes)."""

import struct

from harness import check, check_equal


class Midi:
    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        kind, length, self.format, tracks, self.division = struct.unpack_from(">4sIHHH", data)
        check_equal((kind, length), (b"MThd", 6), "head")
        self.tracks, at = [], 14
        for _ in range(tracks):
            kind, length = struct.unpack_from(">4sI", data, at)
            check_equal(kind, b"MTrk", "head of a track")
            self.tracks.append(_events(data[at + 8:at + 8 + length]))
            at += 8 + length
        check_equal(at, len(data), "length of the file")

    def notes(self, track):
        """(channel, pitch, begin, end) of a track, in the order of their beginnings."""
        notes, sounding = [], {}
        for tick, status, data in self.tracks[track]:
            key = (status & 0xf, data[0]) if data else None
            if status & 0xf0 == 0x90:
                check(key not in sounding, f"pitch {key} begins twice")
                sounding[key] = len(notes)
                notes.append([*key, tick, None])
            elif status & 0xf0 == 0x80:
                notes[sounding.pop(key)][3] = tick
        check(not sounding, f"notes without an end: {sounding}")
        return notes


def _number(data, at):
    value = 0
    while True:
        value = value << 7 | data[at] & 0x7f
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def _events(data):
    events, at, tick = [], 0, 0
    while at < len(data):
        delta, at = _number(data, at)
        tick += delta
        status = data[at]
        check(status >= 0x80, "a running status")
        if status == 0xff:
            size, begin = _number(data, at + 2)
            events.append((tick, status, bytes([data[at + 1]]) + data[begin:begin + size]))
            at = begin + size
        else:
            size = 1 if status & 0xf0 in (0xc0, 0xd0) else 2
            events.append((tick, status, data[at + 1:at + 1 + size]))
            at += 1 + size
    check_equal(events[-1][1:], (0xff, b"\x2f"), "end of the track")
    return events
