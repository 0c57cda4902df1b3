#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The job files that quality.py judges reports by are as the profiler's own: the columns of a file that
jobprof run wrote, sums that agree, and values that show, extract and h5dump read."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../lib"))
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import h5py
import numpy
from cases import job
from layout import Shape
from lib import JOBPROF, Run, is_equal, is_near, is_true, run_tests, tmpdir

SUMMED = ("CPUTime", "UserTime", "SystemTime", "RunDelay", "ReadMB", "WriteMB", "VolSwitches", "MinorFaults")


def made(shape="some", **more):
    j = job(shape, 5, **more)
    path = os.path.join(tmpdir(), "job_4711.h5")
    j.write(path)
    return j, path


def columns():
    path = Run(["/bin/sleep", "1.2"], 0.5).end()
    with h5py.File(path, "r") as f:
        node = f[next(iter(f))]
        described = node["Columns"][()]
        for series, table in (("Tasks", node["Tasks"]["0"]), ("Step", node["Step"]), ("CPU", node["CPU"]),
                              ("RunLatency", node["RunLatency"]["0"]), ("BlkLatency", node["BlkLatency"]["0"])):
            shape = Shape(series, ("FILES",))
            is_equal("columns of " + series, shape.dtype, table.dtype)
            of = {r["Column"]: r for r in described if r["Table"].decode() == series}
            for name, value in shape.attrs:
                got = [of[c.encode()][name.split()[1].rstrip("s")] for c in table.dtype.names]
                is_equal("%s of %s" % (name, series), list(value), got)


def sums():
    j, path = made()
    with h5py.File(path, "r") as f:
        for node in f["Steps/0/Nodes"].values():
            tasks, step = [t[()] for t in node["Tasks"].values()], node["Step"][()]
            wrong = [c for c in SUMMED if not numpy.allclose(sum(t[c] for t in tasks), step[c])]
            is_true("the step is the sum of its tasks", not wrong, wrong)
            is_true("user and system time are the CPU time",
                    numpy.allclose(step["UserTime"] + step["SystemTime"], step["CPUTime"]), node.name)
            is_true("rows follow each other", (numpy.diff(step["TimeNS"].astype(float)) > 0).all(), node.name)
            is_true("no more CPU time than cores give",
                    (step["CPUTime"] <= j.cores * j.dt * 1.0001).all(), node.name)
            waits = sum(node["RunLatency"]["0"]["B%d" % k].sum() for k in range(40)) if "0" in node["Tasks"] else None
            if waits is not None:
                is_near("waits are switches", waits, sum(node["Tasks"]["0"][c].sum() for c in
                                                         ("VolSwitches", "InvolSwitches")), 1e-9)


def description():
    """What was described is in the file, but for the noise."""
    j, path = made("node")
    out = subprocess.run([JOBPROF, "extract", path, "-s", "Tasks", "--columns", "Sum_CPUTime,Sum_RunDelay",
                          "-l", "totals", "-o", "-"], capture_output=True, text=True)
    is_equal("extract reads it", (out.returncode, out.stderr), (0, ""))
    lines = [line.split(",") for line in out.stdout.splitlines()]
    for column, want in (("Sum_CPUTime", j.d["CPUTime"]), ("Sum_RunDelay", j.d["RunDelay"])):
        got = sum(float(line[lines[0].index(column)]) for line in lines[1:])
        is_near("%s as described" % column, got, (want * j.dt).sum(), 0.01)


def readers():
    path = made("pair")[1]
    for args in ([JOBPROF, "show", path], [JOBPROF, "list", path], ["h5dump", "-H", path]):
        p = subprocess.run(args, capture_output=True, text=True)
        is_equal("%s reads it" % " ".join(args[:-1][-2:]).split("/")[-1], (p.returncode, p.stderr), (0, ""))


run_tests([columns, sums, description, readers])
