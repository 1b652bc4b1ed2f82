"""Runs a command to which the kernel refuses perf_event_open, as in many containers:
refused.py COMMAND..."""

import ctypes
import os
import platform
import struct
import sys

NUMBER = {"x86_64": 298, "aarch64": 241}  # of the system call
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # linux/bpf_common.h
ALLOW, ERRNO, EPERM = 0x7fff0000, 0x00050000, 1  # linux/seccomp.h
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def main():
    steps = [(LOAD, 0, 0, 0), (EQUAL, 0, 1, NUMBER[platform.machine()]),
             (RETURN, 0, 0, ERRNO | EPERM), (RETURN, 0, 0, ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = Program(len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None)
    if (libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or
            libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0):
        sys.exit(77)
    os.execvp(sys.argv[1], sys.argv[1:])


main()
