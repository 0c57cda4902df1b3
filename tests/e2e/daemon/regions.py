#!/usr/bin/python3
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""Regions that a program names while jobprofd is killed, stopped and started again: each execution is
a row or is counted as lost. The program says how many there were."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

tree = None


def begin(d, seconds):
    """A step whose program executes a region every 2 ms."""
    job = new_job()
    cmd = ["env", "JOBPROF_SOCKET=" + d.settings["Socket"], tool("jpphases"), "-r", "work", str(seconds), "2", "0.3", "0.3"]
    return job, Stepd(job, 0, cmd, v2_task(tree.job(job) + "/step_0"))


def executions(step):
    return int(next(line for line in step.out().splitlines() if line.startswith("loops")).split()[1])


def known(path):
    """Begins and ends that are in rows, and those that are lost."""
    with h5py.File(path, "r") as f:
        node = f[next(k for k in f if isinstance(f[k], h5py.Group))]
        return 2 * len(node.get("Regions", [])), int(node.attrs.get("Lost Regions", 0))


def is_all_known(name, step, paths):
    n, (rows, lost) = executions(step), numpy.sum([known(p) for p in paths], axis=0)
    is_equal(name + ": each execution is a row or is lost", int(rows + lost), 2 * n)
    is_true(name + ": some are rows", rows > n / 10, (rows, lost, n))


def killed():
    """Also twice within a second, before the program has noticed and before a row is written."""
    d = Daemon().start()
    job, step = begin(d, 11)
    for pause in (2, 0.05, 0.7, 0.3, 2.5):
        time.sleep(pause)
        d.end(signal.SIGKILL)
        d.start()
    step.end()
    path = d.file(job, 0)
    is_all_known("killed", step, [path])
    is_true("killed: the file says so", "regions" in attrs_of(path)["Restarted"], attrs_of(path))
    d.end()


def stopped():
    """The step goes on meanwhile, and may end before its program looks again whether jobprofd is there."""
    d = Daemon().start()
    job, step = begin(d, 12)
    time.sleep(2)
    d.end()
    os.rename(d.path(job, 0), d.path(job, 0) + ".first")
    time.sleep(5)
    d.start()
    step.end()
    is_all_known("stopped", step, [d.path(job, 0) + ".first", d.file(job, 0)])
    d.end()


if __name__ == "__main__":
    need_bpf()
    tree = Trees()
    run_tests([killed, stopped])
