"""Reads the words of event logs and writes them changed: for records that no run leaves, and for what exports do
not show. The layout is that of summarize/events/event_log.h, event_columns.cpp and event_layout.h."""

import ctypes
import glob
import os
import struct
import zlib

from edit_log import HEAD, LOG_HEAD_BYTES, _zstd
from harness import check, check_equal

EVENTS_CHUNK = 3
SEND, RECEIVE, MARK, CONTROL, MORE = 3, 4, 10, 13, 15
BASE, THREAD = 1, 3  # kinds of CONTROL
_SIZES = struct.Struct("<IIII")
_LARGE = 2**32 - 1


def kind(word):
    return word & 15


def what(word):
    return word >> 4 & 0xffffff


def word_of(of_kind, of_what, time=0):
    return time << 28 | of_what << 4 | of_kind


def more(value):
    return value << 4 | MORE


def control(word, of):
    return kind(word) == CONTROL and what(word) == of


def _unpack(raw):
    records, large_count, further, _ = _SIZES.unpack_from(raw)
    heads = struct.unpack_from(f"<{records}I", raw, _SIZES.size)
    at = _SIZES.size + 4 * records
    planes = [raw[at + records * i:at + records * (i + 1)] for i in range(4)]
    at += 4 * records
    large = list(struct.unpack_from(f"<{large_count}Q", raw, at))
    at += 8 * large_count
    values = [raw[at + further * i:at + further * (i + 1)] for i in range(8)]
    words, time, used = [], 0, 0
    for i, head in enumerate(heads):
        stored = sum(planes[byte][i] << 8 * byte for byte in range(4))
        folded = large.pop(0) if stored == _LARGE else stored
        time = (time + (folded >> 1 ^ -(folded & 1))) % 2**64
        words.append((time << 28) % 2**64 | head & 0xfffffff)
        for _ in range(head >> 28):
            words.append(more(sum(values[byte][used] << 8 * byte for byte in range(8))))
            used += 1
    return words


def _pack(words):
    records = [[]]
    for word in words:
        if kind(word) == MORE:
            records[-1].append(word >> 4)
        else:
            records.append([word])
    records = records[1:]
    heads = [record[0] & 0xfffffff | len(record) - 1 << 28 for record in records]
    stored, large, before = [], [], 0
    for record in records:
        difference = (record[0] >> 28) - before
        before = record[0] >> 28
        folded = difference << 1 if difference >= 0 else (-difference << 1) - 1
        stored.append(min(folded, _LARGE))
        large += [folded] if folded >= _LARGE else []
    values = [value for record in records for value in record[1:]]
    return b"".join([_SIZES.pack(len(records), len(large), len(values), 0), struct.pack(f"<{len(heads)}I", *heads),
                     *(bytes(one >> 8 * byte & 255 for one in stored) for byte in range(4)),
                     struct.pack(f"<{len(large)}Q", *large),
                     *(bytes(one >> 8 * byte & 255 for one in values) for byte in range(8))])


def _chunks(data, library):
    """(fields, packed, words or None) of each chunk."""
    at = LOG_HEAD_BYTES
    while at < len(data):
        fields = list(HEAD.unpack_from(data, at))
        end = at + HEAD.size + fields[7]
        packed = data[at + HEAD.size:end]
        words = None
        if fields[1] == EVENTS_CHUNK:
            raw = ctypes.create_string_buffer(max(fields[6], 1))
            size = library.ZSTD_decompress(raw, ctypes.c_size_t(fields[6]), packed, ctypes.c_size_t(len(packed)))
            check_equal(size, fields[6], "bytes of a block")
            words = _unpack(raw.raw[:size])
            check_equal(len(words), fields[5], "words of a block")
        yield fields, packed, words
        at = end


def logs_in(place):
    found = sorted(glob.glob(os.path.join(place, "events", "*.events")))
    check(found, f"no logs in {place}")
    return found


def rings(place):
    """The words of each ring, by (process in the log, ring)."""
    found = {}
    for log in logs_in(place):
        with open(log, "rb") as stream:
            for fields, _, words in _chunks(stream.read(), _zstd()):
                if words is not None:
                    found.setdefault((fields[2], fields[3]), []).extend(words)
    return found


def chunk_ends(path):
    """Where each chunk of a log ends, the log's head first."""
    with open(path, "rb") as stream:
        data = stream.read()
    ends = [LOG_HEAD_BYTES]
    while ends[-1] < len(data):
        ends.append(ends[-1] + HEAD.size + HEAD.unpack_from(data, ends[-1])[7])
    return ends


def changed(source, target, change):
    """A copy of the logs in which change(words) gives the words of each block."""
    library = _zstd()
    os.makedirs(os.path.join(target, "events"))
    for log in logs_in(source):
        with open(log, "rb") as stream:
            data = stream.read()
        result = data[:LOG_HEAD_BYTES]
        for fields, packed, words in _chunks(data, library):
            if words is not None:
                words = change(words)
                raw = _pack(words)
                room = library.ZSTD_compressBound(ctypes.c_size_t(len(raw)))
                buffer = ctypes.create_string_buffer(room)
                size = library.ZSTD_compress(buffer, ctypes.c_size_t(room), raw, ctypes.c_size_t(len(raw)), 1)
                packed = buffer.raw[:size]
                fields[5:8] = len(words), len(raw), size
            head = HEAD.pack(*fields[:8], 0)[:-4]
            result += head + struct.pack("<I", zlib.crc32(packed, zlib.crc32(head))) + packed
        with open(os.path.join(target, "events", os.path.basename(log)), "wb") as stream:
            stream.write(result)
    return target
