# SPDX-License-Identifier: GPL-2.0-or-later
"""Merging and extraction beside Slurm's sh5util: the same files, in turn, in memory (/dev/shm), so
that no disk is measured. Both tools may use all processors."""

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
SIZES = (16, 256)
KINDS = {"slurm": "Slurm's files", "jobprof": "jobprof's files"}
LEVELS = {"Totals": "totals", "TimeSeries": "timeseries"}
ROUNDS = 7  # each takes seconds
# So many times in a round: 16 nodes take milliseconds.
TIMES = {16: 4}
# Of the stock tool a round of these takes 20 s.
EXTRACTIONS = {("jobprof", 256): 2}


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


class Job:
    """One job's files and what the tools make of them."""

    def __init__(self, kind, nodes):
        self.kind, self.nodes = kind, nodes
        self.top, self.bytes = make(kind, nodes)
        self.env = stock.setup(self.top)
        self.used = {}

    def out(self, name):
        return os.path.join(self.top, name)

    def fresh(self, name):
        """The name of a file that is not there: verbs replace none."""
        if os.path.exists(self.out(name)):
            os.unlink(self.out(name))
        return self.out(name)

    def measure(self, name, args, env=None):
        self.used.setdefault(name, []).append(stock.run(args, env))

    def merge_ours(self, name, *more, top=None, out="ours.h5"):
        self.measure(name, [JOBPROF, "merge", "-j", "7", "-p", top or self.top, "-u", "root",
                            "-o", self.fresh(out), *more])

    def merge_stock(self, name, *more, top=None, out="stock.h5"):
        self.measure("stock " + name, ["sh5util", "-j", "7", "-p", top or self.top, "-u", "root",
                                       "-o", self.out(out), *more], self.env)

    def copied(self):
        """The files again, for a merge that deletes its inputs."""
        top = self.out("again")
        shutil.rmtree(top, ignore_errors=True)
        shutil.copytree(os.path.join(self.top, "root"), os.path.join(top, "root"))
        return {"top": top, "out": "again.h5"}

    def extract(self, level, file, name, *more):
        self.measure(name, [JOBPROF, "extract", "-i", self.out(file), "-s", "Tasks", "-l",
                            LEVELS[level], "-o", self.fresh("x.csv"), *more])

    def extract_stock(self, level):
        self.measure("stock " + level, ["sh5util", "-E", "-j", "7", "-i", self.out("stock.h5"), "-s",
                                        "Tasks", "-l", "Node:" + level, "-o", self.out("y.csv")],
                     self.env)

    def merges(self, n):
        keep = [lambda: self.merge_ours("keeps", "-S"), lambda: self.merge_stock("keeps", "-S")]
        delete = [lambda: self.merge_ours("deletes", **self.copied()),
                  lambda: self.merge_stock("deletes", **self.copied())]
        for merge in rotated(keep, n) + rotated(delete, n):
            merge()

    def extractions(self, n):
        """Both tools read the file that the stock tool has merged."""
        for level in LEVELS:
            ours = lambda lv=level: self.extract(lv, "stock.h5", lv, "--stock")
            stocks = lambda lv=level: self.extract_stock(lv)
            for extract in rotated([ours, stocks], n):
                extract()

    def run(self, rounds):
        for n in range(min(rounds, ROUNDS) * TIMES.get(self.nodes, 1)):
            self.merges(n)
            if n < EXTRACTIONS.get((self.kind, self.nodes), n + 1):
                self.extractions(n)

    def walls(self, name):
        return [u.wall for u in self.used[name]]

    def ratio(self, a, b):
        return [x / y for x, y in zip(self.walls(a), self.walls(b))]

    def cpu_ratio(self, a, b):
        return [x.cpu / y.cpu for x, y in zip(self.used[a], self.used[b])]

    def memory(self, *names):
        return [max(u.mb for n in names for u in self.used[n])]

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
    for name, most in (("keeps", 1.1), ("deletes", 2)):
        what = "merge that %s its inputs" % name
        yield row(job, what, "nodes/s", [job.nodes / w for w in job.walls(name)], digits=0)
        yield row(job, what + ", over the stock tool's time", "x", job.ratio(name, "stock " + name),
                  target=most)
        yield row(job, what + ", processor time over the stock tool's", "x",
                  job.cpu_ratio(name, "stock " + name))
    yield row(job, "merge: memory at most", "MB", job.memory("keeps", "deletes"), target=64)
    limit = job.bytes * 1.05 + 4096 * tables(job.out("ours.h5"))
    yield row(job, "merged file, over its inputs + 5 % + 4 KiB per table", "x",
              [os.path.getsize(job.out("ours.h5")) / limit], target=1)


def extraction_rows(job):
    for level in LEVELS:
        yield row(job, "extract %s, over the stock tool's time" % level, "x",
                  job.ratio(level, "stock " + level), target=0.1, digits=3)
        yield row(job, "extract %s, processor time over the stock tool's" % level, "x",
                  job.cpu_ratio(level, "stock " + level), digits=3)
    yield row(job, "extract: memory at most", "MB", job.memory(*LEVELS), target=64)


def run(_, opts):
    if not os.path.isdir("/dev/shm"):
        raise Missing("no /dev/shm")
    rows = []
    for kind in KINDS:
        for nodes in SIZES[:1] if opts.quick else SIZES:
            job = Job(kind, nodes)
            try:
                job.run(opts.rounds)
                rows += [*merge_rows(job), *extraction_rows(job)]
            finally:
                job.done()
    return rows
