#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""slowfs.py DIRECTORY SECONDS TIMES: in a mount namespace of its own it mounts a file system of FUSE with one
file, each call on which takes that long, lets a child make each call so often, and prints what the child measured:
of calls on the open file, and by its path."""

import ctypes
import errno
import os
import struct
import sys
import time

LOOKUP, FORGET, GETATTR, OPEN, READ, WRITE, RELEASE, FSYNC, FLUSH, INIT = 1, 2, 3, 14, 15, 16, 18, 20, 25, 26
DIRECT_IO = 1
SIZE = 1 << 20


def mount(directory):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x20000) or libc.mount(None, b"/", None, (1 << 18) | (1 << 14), None):  # private, all below
        sys.exit("no mount namespace: " + os.strerror(ctypes.get_errno()))
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = "fd=%d,rootmode=40000,user_id=0,group_id=0" % fd
    if libc.mount(b"slowfs", directory.encode(), b"fuse", 0, options.encode()):
        sys.exit("cannot mount: " + os.strerror(ctypes.get_errno()))
    return fd


def attributes(node):
    mode = 0o40755 if node == 1 else 0o100644
    return struct.pack("<6Q10I", node, SIZE, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(op, node, size, seconds):
    """The body, or an errno."""
    if op in (GETATTR, READ, WRITE, FSYNC):
        time.sleep(seconds)
    if op == INIT:
        return struct.pack("<4IHHIIHH8I", 7, 31, 0, 0, 0, 0, 65536, 1, 0, 0, *[0] * 8)
    if op == LOOKUP:
        return struct.pack("<4Q2I", 2, 0, 1000, 0, 0, 0) + attributes(2)
    if op == GETATTR:
        return struct.pack("<Q2I", 0, 0, 0) + attributes(node)
    if op == OPEN:
        return struct.pack("<QII", 0, DIRECT_IO, 0)
    if op == READ:
        return b"x"
    if op == WRITE:
        return struct.pack("<2I", size, 0)
    return b"" if op in (RELEASE, FSYNC, FLUSH) else errno.ENOSYS


def serve(fd, seconds):
    """Until the file has been closed."""
    op = 0
    while op != RELEASE:
        request = os.read(fd, 1 << 17)
        _, op, unique, node = struct.unpack_from("<IIQQ", request)
        if op == FORGET:
            continue
        size = struct.unpack_from("<I", request, 56)[0] if op == WRITE else 0
        body = answer(op, node, size, seconds)
        error, body = (-body, b"") if isinstance(body, int) else (0, body)
        os.write(fd, struct.pack("<IiQ", 16 + len(body), error, unique) + body)


def calls(path, times):
    fd = os.open(path, os.O_RDWR)
    began = time.monotonic()
    for _ in range(times):
        os.read(fd, 1)
        os.write(fd, b"x")
        os.fsync(fd)
        os.fstat(fd)
    print("netfs %.6f" % (time.monotonic() - began), flush=True)
    began = time.monotonic()
    for _ in range(times):
        os.stat(path)
    print("path %.6f" % (time.monotonic() - began), flush=True)
    os.close(fd)


if __name__ == "__main__":
    directory, seconds, times = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    device = mount(directory)
    with open("/proc/self/comm", "w") as f:
        f.write("slowfs")
    child = os.fork()
    if not child:
        os.close(device)
        calls(directory + "/file", times)
        os._exit(0)
    serve(device, seconds)
    os.waitpid(child, 0)
