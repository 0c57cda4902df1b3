#!/usr/bin/python3
# timeout: 300
# SPDX-License-Identifier: GPL-2.0-only
"""Regions and their folding, against a program that knows its phases by its own clock."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
from daemonlib import *


def names(path):
    with h5py.File(path, "r") as f:
        node = next(k for k in f if isinstance(f[k], h5py.Group))
        return list(f[node])


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


def points():
    """Each sample by itself: as many as Samples counts, with what the thread had used by then."""
    run, path = run_jobprof([tool("jpphases"), "4", "24", "0.4", "0.4"], 0.5, series="all,fold")
    rows, samples, tasks = table(path, "SamplePoints"), table(path, "Samples/0"), task_table(path)
    is_true("points: as many as Samples has", abs(len(rows) - samples["Samples"].sum()) <= 2, (len(rows), samples["Samples"].sum()))
    is_equal("points: none is lost", int(attributes(path).get("Lost Points", 0)), 0)
    is_true("points: of the task", (rows["Task"] == 0).all(), rows["Task"])
    main = rows[rows["Thread"] == rows["Process"]]
    steps = main["CPUTime"][1:].astype(float) - main["CPUTime"][:-1].astype(float)
    spans = main["Time"][1:].astype(float) - main["Time"][:-1].astype(float)
    is_true("points: time goes on", (spans > 0).all(), spans)
    is_true("points: no more CPU time than time", (steps >= 0).all() and (steps <= spans + 2e5).all(), (steps - spans).max())
    is_true("points: CPU time in all", abs(main["CPUTime"][-1] / 1e9 - total(tasks, "CPUTime")) < 0.05 + 2 / 97,
            (main["CPUTime"][-1], total(tasks, "CPUTime")))
    faults = total(tasks, "MinorFaults") if "MinorFaults" in tasks.dtype.names else None
    is_true("points: faults grow", (main["PageFaults"][1:] >= main["PageFaults"][:-1]).all() and
            main["PageFaults"][-1] > main["PageFaults"][0], main["PageFaults"])
    is_true("points: no more faults than in all", faults is None or main["PageFaults"][-1] <= faults, (main["PageFaults"][-1], faults))


def points_not_asked():
    run, path = run_jobprof(["true"], 1, series="all,sample")
    is_true("points: only when asked", "SamplePoints" not in names(path), names(path))


def not_profiled():
    p = subprocess.run([tool("jpphases"), "-c", "1000"], capture_output=True, text=True, timeout=60,
                       env=dict(os.environ, JOBPROF_SOCKET="/nowhere"))
    is_true("not profiled: a call is cheap", float(p.stdout.split()[1]) < 60, p.stdout)


if __name__ == "__main__":
    need_bpf()
    run_tests([regions, calls, points, points_not_asked, not_profiled])
