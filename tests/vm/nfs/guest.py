#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""In the machine that tests/vm/nfs/run boots: TimeBudget of programs that use a file on NFS, 4 and 3."""
import os
import shutil
import sys

for d in ("/../..", "/../../../lib"):
    sys.path.insert(0, os.path.realpath(__file__ + d))
import guestlib
from daemonlib import *

INTERVAL = 0.5
# Where each way of tests/vm/nfs/user.py is blocked. What a call with a path waits for, and close, whose descriptor
# has gone when it waits, is not known at the switch.
WAYS = {"read": ["BlockedNetFS"], "direct": ["BlockedNetFS"], "write": ["BlockedNetFS"],
        "close": ["BlockedDisk", "BlockedKernel"], "path": ["BlockedKernel"],
        "mapped": ["BlockedFault", "BlockedKernel"]}
USER = "/root/user.py"  # the tree is on a network file system itself


def blocked_in(way, path):
    """By column, and what the program measured."""
    with open(path, "wb") as f:
        f.write(b"x" * (16 << 20))
    with open("/proc/sys/vm/drop_caches", "w") as f:
        f.write("3")
    run, file = run_jobprof(["/usr/bin/python3", USER, way, path], INTERVAL, timeout=300)
    wanted, began, ended = next(l for l in run.out().splitlines() if l.startswith("blocked")).split()[1:]
    rows = table(file, "TimeBudget/0")
    got = {c: total(rows, c, int(began), int(ended) + 1.5e9 * INTERVAL) for c in rows.dtype.names if c.startswith("Blocked")}
    return got, float(wanted)


def check(version, way, path):
    got, wanted = blocked_in(way, path)
    name = "NFS %d, %s" % (version, way)
    del got["BlockedSleep"]
    print("# %s: blocked for %.4f s: %s" % (name, wanted, {c: round(s, 4) for c, s in got.items() if s > 0.0005}))
    is_true(name + ": it was blocked", wanted > 0.05, wanted)
    is_near("%s: %s is what it measured" % (name, " and ".join(WAYS[way])), sum(got[c] for c in WAYS[way]), wanted, 0.02, 0.01)
    is_near(name + ": there is nothing else", sum(got.values()), wanted, 0.02, 0.01)


def four():
    for way in WAYS:
        check(4, way, "/mnt/four/" + way)


def three():
    for way in WAYS:
        check(3, way, "/mnt/three/" + way)


if __name__ == "__main__":
    guestlib.unpack()
    guestlib.modules("nfs", "nfsv3", "nfsv4", "nfsd", "crc32_generic")
    guestlib.serve_nfs()
    shutil.copy(os.path.realpath(__file__ + "/../user.py"), USER)
    run_tests([four, three])
