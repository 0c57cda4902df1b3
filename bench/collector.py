# SPDX-License-Identifier: GPL-2.0-or-later
"""What sampling costs beside Slurm's own: jobprofd and slurmstepd with the hdf5 plugin measure the
same tasks at the same time."""

import csv
import itertools
import os
import subprocess
import time

import daemon
import journal
import slurm
import steps
from helper import ALL, BUILD, tmpdir
from stats import quartiles
from table import Row

TITLE = ("CPU per minute of a step sampled at 1 Hz: jobprofd, and slurmstepd with --profile=task, "
         "of the same tasks at the same time, from the 25th second on (PublishInterval=60)")
# Until then jobprofd asks three times what each task executes, and ever more rarely later.
SETTLED_S = 22

WORK = os.path.join(BUILD, "bench", "jpwork")
KINDS = (("sleeping", ["sleep", 600]), ("lightly working", [WORK, "-p", 50, 600]))
FAMILIES = (("all families but perf", ALL), ("Slurm's columns", "task"))


class Pair:
    """Two steps of the same tasks: Slurm and jobprofd both sample one, nobody the other, whose
    slurmstepd says what one costs that samples nothing."""

    def __init__(self, cluster, tasks, cmd, families):
        self.cluster = cluster
        self.sruns = []
        for args in (["--profile=task", "--acctg-freq=task=1", "--jobprof=" + families,
                      "--jobprof-freq=task=1"],
                     ["--acctg-freq=task=0", "--jobprof=none"]):
            self.sruns.append(cluster.start(["-n", tasks] + args, cmd))
            steps.wait_until(lambda: len(cluster.stepds()) == len(self.sruns), 20, "a slurmstepd")

    def stepds(self):
        """Pids: of the one that samples, and of the other. Not while tasks are being started, when
        their processes go by that name too."""
        return [pid for _, pid in sorted(self.cluster.stepds().items())]

    def end(self):
        for p in self.sruns:
            p.terminate()
            p.wait(20)
        steps.wait_until(lambda: not self.cluster.stepds(), 20, "the steps to end")


def watch(pair, d, windows, seconds):
    """CPU ms per minute of slurmstepd's sampling and of jobprofd, one value per window."""
    theirs, ours = [], []
    pids = pair.stepds() + [d.proc.pid]
    before, began = [slurm.cpu_ns(p) for p in pids], time.monotonic()
    for _ in range(windows):
        time.sleep(seconds)
        now, at = [slurm.cpu_ns(p) for p in pids], time.monotonic()
        scale = 60 / (at - began) / 1e6
        profiling, idle, collector = [scale * (n - b) for n, b in zip(now, before)]
        theirs.append(profiling - idle)
        ours.append(collector)
        before, began = now, at
    return theirs, ours


def probes(path):
    """ms per minute that the kernel side worked for the step, of its file, one value per row."""
    out = subprocess.run([os.path.join(BUILD, "jobprof"), "extract", "-i", path, "-s", "Step", "-l",
                          "timeseries", "--columns", "ProbeTime,TimeNS", "-o", "-"],
                         capture_output=True, text=True, check=True).stdout
    rows = [(float(r["ProbeTime"]), int(r["TimeNS"])) for r in csv.DictReader(out.splitlines())]
    return [60e12 * t / (at - before) for (_, before), (t, at) in zip(rows, rows[1:])]


def rows_of(d, cluster, tasks, kind, cmd, families, opts):
    label, families = families
    windows, seconds = (2, 1) if opts.quick else (5, 3)
    files = d.files()
    pair = Pair(cluster, tasks, cmd, families)
    try:
        steps.wait_until(lambda: len(d.rows().of("Step")) >= 2, 20,
                         "the first rows; jobprofd said: " + d.said())
        time.sleep(0 if opts.quick else SETTLED_S)
        theirs, ours = watch(pair, d, windows, seconds)
        data = d.journal()
    finally:
        pair.end()
    steps.wait_until(lambda: d.files() > files, 30, "the file; jobprofd said: " + d.said())
    writer = [1000 * daemon.write_once(journal.lengthened(data, 60))[0]
              for _ in range(2 if opts.quick else 5)]
    what = "%d %s task%s, %s" % (tasks, kind, "s" * (tasks > 1), label)
    yield Row("collector", what + ": slurmstepd's sampling", "ms", theirs)
    yield Row("collector", what + ": jobprofd", "ms", ours)
    yield Row("collector", what + ": jobprofd over slurmstepd", "", [
        o / t for o, t in zip(ours, theirs)], digits=2, target=0.5)
    yield Row("collector", what + ": jobprof-writer, once a minute", "ms", writer)
    if "self" in families:
        yield Row("collector", what + ": kernel side", "ms", probes(d.newest_file()), digits=2)


def run(helper, opts):
    slurm.need()
    d = cluster = None
    try:
        d = steps.Daemon(1, "none", 60, CgroupRoot=None)
        cluster = slurm.Cluster(tmpdir() + "/slurm", cpus=40)
        cluster.plugstack("optional %s socket=%s\n" % (slurm.SPANK, d.socket))
        for families, (kind, cmd), tasks in list(itertools.product(FAMILIES, KINDS, (1, 8)))[
                -1 if opts.quick else 0:]:
            yield from rows_of(d, cluster, tasks, kind, cmd, families, opts)
    finally:
        if cluster:
            cluster.down()
        if d:
            d.end()
