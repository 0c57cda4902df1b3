#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""user.py WAY FILE: uses a file in one way, and prints for how long it was blocked meanwhile by its own clocks, and
when it began and ended. Before and after that it sleeps, so that rows are of nothing else."""
import mmap
import os
import sys
import time

KIB, MIB = 1024, 1048576


def blocked():
    """All time but that on a CPU and that waiting for one."""
    with open("/proc/thread-self/schedstat") as f:
        ran, waited, _ = map(int, f.read().split())
    return time.monotonic() - (ran + waited) / 1e9


def read(fd):
    for i in range(0, 16 * MIB, 16 * KIB):
        os.pread(fd, 16 * KIB, i)


def direct(fd):
    page = mmap.mmap(-1, 4 * KIB)
    for i in range(300):
        os.preadv(fd, [page], i * 32 * KIB)


def write(fd):
    for i in range(100):
        os.pwrite(fd, b"x" * 64 * KIB, i * 64 * KIB)
        os.fsync(fd)


def close(fd):
    """What is dirty goes to the server."""
    for _ in range(12):
        os.pwrite(fd, b"x" * MIB, 0)
        again = os.dup(fd)
        os.close(again)


def path(fd):
    for i in range(100):
        os.close(os.open("%s.%d" % (sys.argv[2], i), os.O_WRONLY | os.O_CREAT))


def mapped(fd):
    with mmap.mmap(fd, 16 * MIB, mmap.MAP_SHARED, mmap.PROT_READ) as m:
        sum(m[::4096])


if __name__ == "__main__":
    way = sys.argv[1]
    fd = os.open(sys.argv[2], os.O_RDWR | (os.O_DIRECT if way == "direct" else 0))
    time.sleep(1.2)
    began, since = time.time_ns(), blocked()
    globals()[way](fd)
    s, ended = blocked() - since, time.time_ns()
    print("blocked %.6f %d %d" % (s, began, ended), flush=True)
    time.sleep(1.2)
