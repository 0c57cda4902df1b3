#!/usr/bin/python3
# timeout: 300
# SPDX-License-Identifier: GPL-2.0-only
"""Regions and their folding, against a program that knows its phases by its own clock."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
from daemonlib import *


WORDS = ("loops", "period", "first", "second", "ns")  # of jpphases


def spoken(run):
    return {w[0]: float(w[1]) for w in map(str.split, run.out().splitlines()) if w and w[0] in WORDS}


def regions():
    run, path = run_jobprof([tool("jpphases"), "-r", "my loop", "3", "6", "0.4", "0.4"], 0.5)
    said, rows, attrs = spoken(run), table(path, "Regions"), attributes(path)
    lengths = (rows["End"] - rows["Begin"]).astype(float) / 1e9
    is_equal("regions: its name", attrs["Region 1"], "my loop")
    is_true("regions: each is a row, but for those before jobprofd had answered",
            said["loops"] - 20 <= len(rows) <= said["loops"], (len(rows), said))
    is_true("regions: what is missing is counted",
            int(attrs["Lost Regions"]) == 2 * (said["loops"] - len(rows)), (attrs["Lost Regions"], len(rows), said))
    is_true("regions: their lengths", abs(lengths.mean() / said["period"] - 1) < 0.01, (lengths.mean(), said))
    is_true("regions: one after another", (rows["Begin"][1:] >= rows["End"][:-1]).all(), rows)
    is_true("regions: of one thread", len(set(rows["Thread"])) == 1 and (rows["Thread"] == rows["Process"]).all(), rows)
    is_true("regions: rows have the time of the end", abs((rows["TimeNS"] - rows["End"]) / 1e9 - (
        time.time() - time.monotonic())).max() < 0.01, rows)


def calls():
    """Faster than the ring is read: lost, and counted; also what a call takes."""
    run, path = run_jobprof([tool("jpphases"), "-c", "1000"], 0.5)
    rows, attrs, took = table(path, "Regions"), attributes(path), spoken(run)["ns"]
    instants = 1000 * 2000 + 2
    is_equal("calls: each is in a row or is counted as lost", 2 * len(rows) + int(attrs["Lost Regions"]), instants)
    is_true("calls: under 60 ns", took < 60, took)


def not_profiled():
    p = subprocess.run([tool("jpphases"), "-c", "1000"], capture_output=True, text=True, timeout=60,
                       env=dict(os.environ, JOBPROF_SOCKET="/nowhere"))
    is_true("not profiled: a call is cheap", float(p.stdout.split()[1]) < 60, p.stdout)


if __name__ == "__main__":
    need_bpf()
    run_tests([regions, calls, not_profiled])
