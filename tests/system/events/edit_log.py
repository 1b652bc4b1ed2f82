"""Changes event logs, to make what is rare: clocks that disagree, processes without a log. The layout is that
of summarize/events/event_log.h and FileHeader of runtime/contract/record_layout.h."""

import ctypes
import ctypes.util
import glob
import os
import struct
import zlib

from harness import check, check_equal, skip_unless

HEAD = struct.Struct("<IIIIQIIII")  # ChunkHead
LOG_HEAD_BYTES, HEADER_BYTES = 144, 21 * 64
PROCESS_CHUNK = 1
RANK_AT, WORLD_SIZE_AT, TICKS_PER_SECOND_AT, HOST_AT, OFFSET_AT = 40, 44, 64, 124, 1008


def _zstd():
    name = ctypes.util.find_library("zstd")
    skip_unless(name, "libzstd is not installed")
    library = ctypes.CDLL(name)
    for function in ("ZSTD_compress", "ZSTD_decompress", "ZSTD_compressBound"):
        getattr(library, function).restype = ctypes.c_size_t
    return library


def _chunks(data, library):
    at = LOG_HEAD_BYTES
    while at < len(data):
        fields = HEAD.unpack_from(data, at)
        packed = data[at + HEAD.size:at + HEAD.size + fields[7]]
        raw = ctypes.create_string_buffer(max(fields[6], 1))
        if fields[1] == PROCESS_CHUNK:
            size = library.ZSTD_decompress(raw, ctypes.c_size_t(fields[6]), packed, ctypes.c_size_t(len(packed)))
            check_equal(size, HEADER_BYTES, "bytes of a process")
        yield fields, packed, bytearray(raw.raw[:fields[6]])
        at += HEAD.size + fields[7]


def _edit(source, target, change):
    """change(rank, header): the header, or None for a process that is to go."""
    library = _zstd()
    os.makedirs(target)
    logs = glob.glob(os.path.join(source, "events", "*.events"))
    check(logs, f"no logs in {source}")
    for log in logs:
        with open(log, "rb") as stream:
            data = stream.read()
        ranks = {fields[2]: struct.unpack_from("<i", raw, RANK_AT)[0]
                 for fields, _, raw in _chunks(data, library) if fields[1] == PROCESS_CHUNK}
        result = data[:LOG_HEAD_BYTES]
        for fields, packed, raw in _chunks(data, library):
            header = raw if fields[1] == PROCESS_CHUNK else bytearray(HEADER_BYTES)
            changed = change(ranks[fields[2]], header) if fields[2] in ranks else header
            if changed is None and fields[1] != 4:
                continue
            fields = list(fields)
            if fields[1] == PROCESS_CHUNK:
                room = library.ZSTD_compressBound(ctypes.c_size_t(len(raw)))
                buffer = ctypes.create_string_buffer(room)
                size = library.ZSTD_compress(buffer, ctypes.c_size_t(room), bytes(changed),
                                             ctypes.c_size_t(len(changed)), 1)
                packed = buffer.raw[:size]
                fields[7] = size
            head = HEAD.pack(*fields[:8], 0)[:-4]
            result += head + struct.pack("<I", zlib.crc32(packed, zlib.crc32(head))) + packed
        with open(os.path.join(target, os.path.basename(log)), "wb") as stream:
            stream.write(result)
    return target


def without_rank(source, target, rank):
    return _edit(source, target, lambda of, header: None if of == rank else header)


def with_world_of(source, target, ranks):
    """All but the first ranks of a large world are in no log."""
    def change(_, header):
        struct.pack_into("<i", header, WORLD_SIZE_AT, ranks)
        return header
    return _edit(source, target, change)


def with_clock_ahead(source, target, rank, seconds):
    """A rank on another host, whose clock is wrong by that much."""
    def change(of, header):
        ticks = struct.unpack_from("<Q", header, TICKS_PER_SECOND_AT)[0]
        if of == rank and ticks:
            check_equal(struct.unpack_from("<qq", header, OFFSET_AT), (0, 0), "clock of one host")
            struct.pack_into("<64s", header, HOST_AT, b"other")
            struct.pack_into("<q", header, OFFSET_AT, int(seconds * ticks))
        return header
    return _edit(source, target, change)


def with_other_host(source, target, rank, offset_ns, drift_ns, bound_ns):
    """A rank on another host, whose clock was compared twice: of a log with ticks of a nanosecond."""
    def change(of, header):
        if of == rank:
            check_equal(struct.unpack_from("<Q", header, TICKS_PER_SECOND_AT)[0] in (0, 10**9), True, "ticks")
            struct.pack_into("<64s", header, HOST_AT, b"other")
            struct.pack_into("<qqQ", header, OFFSET_AT, offset_ns, drift_ns, bound_ns)
        return header
    return _edit(source, target, change)
