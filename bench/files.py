# SPDX-License-Identifier: GPL-2.0-only
"""Merging and extraction beside Slurm's sh5util: the same files, in turn, in memory (/dev/shm), so
that no disk is measured; one core for each, and again with all of them for what can use them."""

import os
import shutil
import subprocess
import tempfile

import helper
import stock
from helper import BUILD, Missing
from stats import rotated
from table import Row

TITLE = "Job files: merge and extraction, beside Slurm's sh5util (601 rows per node)"

JOBPROF = os.path.join(BUILD, "jobprof")
SIZES = (16, 256, 2048)
LARGE = max(SIZES)
KINDS = {"slurm": "Slurm's files", "jobprof": "jobprof's files"}
LEVELS = {"Totals": "totals", "TimeSeries": "timeseries"}
ROUNDS = 5  # each takes seconds
# Of the larger jobs fewer: the stock tool takes a minute for a round of what is left out.
MERGES = {("slurm", 2048): 3, ("jobprof", 2048): 3}
# So many times in a round: 16 nodes take milliseconds.
TIMES = {16: 8}
PAIRS = 3  # of one and two processes, where a round is not done so often
# Of what two processes take that compute, over one: below it they have a core each.
TWO_CORES = 1.2
EXTRACTIONS = {("slurm", 2048): 2, ("jobprof", 2048): 0, ("jobprof", 256): 2}


def in_memory():
    d = tempfile.mkdtemp(prefix="jobprof-bench.", dir="/dev/shm")
    helper._tmp.append(d)
    return d


def make(kind, nodes, extra=()):
    """A profile directory with the node-step files of job 7; the directory and their bytes."""
    top = in_memory()
    user = os.path.join(top, "root")
    os.mkdir(user)
    subprocess.run([os.path.join(BUILD, "bench", "jpfiles"), "-k", kind, "-n", str(nodes), *extra,
                    user], check=True)
    return top, sum(e.stat().st_size for e in os.scandir(user))


def cores():
    """Two processes that compute, over one: 1, or up to 2 where they share a core."""
    return float(subprocess.run([os.path.join(BUILD, "bench", "jpcores")], check=True, text=True,
                                capture_output=True).stdout)


class Job:
    """One job's files and what the tools make of them."""

    def __init__(self, kind, nodes):
        self.kind, self.nodes = kind, nodes
        self.top, self.bytes = make(kind, nodes)
        self.env = stock.setup(self.top)
        self.cpu = min(os.sched_getaffinity(0))
        self.used = {}
        self.cores = []

    def out(self, name):
        return os.path.join(self.top, name)

    def measure(self, name, args, env=None, cpu=True):
        used = stock.run(args, env, self.cpu if cpu else None)
        self.used.setdefault(name, []).append(used)

    def merge_ours(self, name, *more, cpu=True, top=None, out="ours.h5"):
        if os.path.exists(self.out(out)):
            os.unlink(self.out(out))
        self.measure(name, [JOBPROF, "merge", "-j", "7", "-p", top or self.top, "-u", "root",
                            "-o", self.out(out), *more], cpu=cpu)

    def merge_stock(self, name="stock merge", *more, cpu=True, top=None, out="stock.h5"):
        self.measure(name, ["sh5util", "-j", "7", "-p", top or self.top, "-u", "root",
                            "-o", self.out(out), *more], self.env, cpu)

    def copied(self):
        """The files again, for who deletes them."""
        top = self.out("again")
        shutil.rmtree(top, ignore_errors=True)
        shutil.copytree(os.path.join(self.top, "root"), os.path.join(top, "root"))
        return {"top": top, "out": "again.h5"}

    def extract(self, level, file, name, *more, cpu=True):
        self.measure(name, [JOBPROF, "extract", "-i", self.out(file), "-s", "Tasks", "-l",
                            LEVELS[level], "-o", self.out("x.csv"), *more], cpu=cpu)

    def extract_stock(self, level, file):
        self.measure("stock " + level, ["sh5util", "-E", "-j", "7", "-i", self.out(file), "-s",
                                        "Tasks", "-l", "Node:" + level, "-o", self.out("y.csv")],
                     self.env)

    def merges(self, n):
        free = {"cpu": False}  # one processor may be slower than another
        keep = [lambda: self.merge_ours("merge", "-S", "--threads", "1"),
                lambda: self.merge_stock("stock merge", "-S"),
                lambda: self.merge_ours("merge, all cores", "-S", **free),
                lambda: self.merge_stock("stock merge, all cores", "-S", **free)]
        delete = [lambda: self.merge_ours("deletes", "--threads", "1", **self.copied()),
                  lambda: self.merge_stock("stock deletes", **self.copied()),
                  lambda: self.merge_ours("deletes, all cores", **free, **self.copied()),
                  lambda: self.merge_stock("stock deletes, all cores", **free, **self.copied())]
        for s in rotated(keep, n) + (rotated(delete, n) if self.nodes < LARGE else []):
            s()

    def extractions(self, n):
        """Both tools read the file that the stock tool has merged, but for the stored totals."""
        for level in LEVELS:
            mine = lambda lv=level: self.extract(lv, "stock.h5", lv, "--stock", "--threads", "1")
            theirs = lambda lv=level: self.extract_stock(lv, "stock.h5")
            for s in rotated([mine, theirs], n):
                s()
        self.extract("Totals", "ours.h5", "stored totals", "--threads", "1")

    def processes(self, n):
        """One and two, and whether two processors were two cores all the time."""
        before = cores()
        for level in LEVELS:
            one = lambda lv=level: self.extract(lv, "stock.h5", lv + ", one", "--stock",
                                                "--threads", "1", cpu=False)
            two = lambda lv=level: self.extract(lv, "stock.h5", lv + ", two", "--stock",
                                                "--threads", "2", cpu=False)
            for s in rotated([one, two], n):
                s()
        self.cores.append(max(before, cores()))

    def run(self, rounds):
        job = (self.kind, self.nodes)
        for n in range(min(rounds, ROUNDS) * TIMES.get(self.nodes, 1)):
            if n < MERGES.get(job, n + 1):
                self.merges(n)
            if n < EXTRACTIONS.get(job, n + 1):
                self.extractions(n)
            if EXTRACTIONS.get(job, 1):
                for k in range(1 if self.nodes in TIMES else PAIRS):
                    self.processes(n + k)

    def walls(self, name):
        return [u.wall for u in self.used[name]]

    def ratio(self, a, b):
        return [x / y for x, y in zip(self.walls(a), self.walls(b))]

    def cpu_ratio(self, a, b):
        """On one core, and without a disk, the same; but what else runs is not in it."""
        return [x.cpu / y.cpu for x, y in zip(self.used[a], self.used[b])]

    def done(self):
        shutil.rmtree(self.top, ignore_errors=True)


def tables(path):
    out = subprocess.run([os.path.join(BUILD, "bench", "jph5size"), path], check=True,
                         capture_output=True, text=True).stdout
    return len(out.splitlines())


def row(job, name, unit, values, target=None, digits=2):
    return Row("files", "%s, %d nodes: %s" % (KINDS[job.kind], job.nodes, name), unit, values,
               target=target, digits=digits)


def merge_rows(job):
    for name in ("merge", "merge, all cores"):
        yield row(job, name, "nodes/s", [job.nodes / w for w in job.walls(name)], digits=0)
        if job.kind == "slurm":
            yield row(job, name + ", totals computed", "ms per node",
                      [1000 * w / job.nodes for w in job.walls(name)],
                      target=0.5 if name != "merge" else None)
        yield row(job, name + ", over the stock tool's time", "x", job.ratio(name, "stock " + name),
                  target=1 if job.kind == "jobprof" else None)
    yield row(job, "merge, processor time over the stock tool's", "x",
              job.cpu_ratio("merge", "stock merge"))
    if "deletes" in job.used:
        yield row(job, "merge that deletes, processor time over the stock tool's", "x",
                  job.cpu_ratio("deletes", "stock deletes"))
        for name in ("deletes", "deletes, all cores"):
            yield row(job, "merge that %s, over the stock tool's time" % name, "x",
                      job.ratio(name, "stock " + name),
                      target=1 if job.kind == "jobprof" else None)
    if job.nodes == LARGE:
        yield row(job, "merge: memory at most", "MB", [max(u.mb for u in job.used["merge"])],
                  target=64)
    limit = job.bytes * 1.05 + 4096 * tables(job.out("ours.h5"))
    yield row(job, "merged file, over its inputs + 5 % + 4 KiB per table", "x",
              [os.path.getsize(job.out("ours.h5")) / limit], target=1)


def extraction_rows(job):
    for level in LEVELS:
        yield row(job, "extract %s, over the stock tool's time" % level, "x",
                  job.ratio(level, "stock " + level), target=0.1, digits=3)
        yield row(job, "extract %s, processor time over the stock tool's" % level, "x",
                  job.cpu_ratio(level, "stock " + level), digits=3)
        ratio = job.ratio(level + ", two", level + ", one")
        yield row(job, "extract %s, two processes over one" % level, "x", ratio)
        with_cores = [r for r, c in zip(ratio, job.cores) if c < TWO_CORES]
        yield row(job, "extract %s, two processes over one where each had a core" % level, "x",
                  with_cores, target=1)
    yield row(job, "meanwhile, two processes that only compute, over one", "x", job.cores)
    yield row(job, "extract the totals that merging has stored, over the stock tool's time", "x",
              job.ratio("stored totals", "stock Totals"), digits=3)
    if job.nodes == LARGE:
        yield row(job, "extract: memory at most", "MB",
                  [max(u.mb for n in LEVELS for u in job.used[n])], target=64)


def rows_of(job):
    """The figures of one job, by what the targets are for."""
    yield from merge_rows(job)
    if "Totals" in job.used:
        yield from extraction_rows(job)


def run(_, opts):
    if not os.path.isdir("/dev/shm"):
        raise Missing("no /dev/shm")
    rows = []
    for kind in KINDS:
        for nodes in SIZES[:1] if opts.quick else SIZES:
            job = Job(kind, nodes)
            try:
                job.run(opts.rounds)
                rows += rows_of(job)
            finally:
                job.done()
    return rows
