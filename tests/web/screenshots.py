#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes docs/report-light.png and docs/report-dark.png, of a made job with several faults, and docs/jobs-light.png and docs/jobs-dark.png, of the
jobs of a made site; `screenshots.py jobs` makes these alone. Needs what tests/e2e/cli/page.py needs, and a build."""

import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
JOBPROF = os.path.join(ROOT, "build/jobprof")
sys.path.insert(0, os.path.join(ROOT, "tests/findings"))
sys.path.insert(0, os.path.join(ROOT, "tests/lib"))
import numpy
import sitegen
from jobs import Job


def made():
    """A node's ranks have twice the work of the others, and rank 0 writes checkpoints alone."""
    j = Job(nodes=4, tasks=64, cores=16, wall=5000, row=5, seed=3, job_name="lmp -in in.melt")
    writes = numpy.zeros(j.n, bool)
    for begin in (1000, 2200, 3400, 4600):
        writes |= (j.t > begin) & (j.t < begin + 150)
    rank = numpy.arange(64)[:, None]
    work = numpy.where(rank < 16, 0.97, 0.45) * (1 + 0.04 * numpy.sin(j.t / 300))
    alone = writes & (rank == 0)
    j.put(CPUTime=numpy.where(writes, numpy.where(rank == 0, 0.15, 0.005), numpy.minimum(work, 0.99)),
          WriteMB=numpy.where(alone, 600.0, 0.01), WriteCalls=numpy.where(alone, 600.0, 0.1),
          BlkWriteMB=numpy.where(alone, 600.0, 0.0), BlkWrites=numpy.where(alone, 600.0, 0.05),
          OffCPUDisk=numpy.where(alone, 0.8, 0.001), NetTxMB=numpy.where(writes, 0.01, 3.0),
          NetRxMB=numpy.where(writes, 0.01, 3.0))
    j.put(AnonMB=numpy.where(rank < 16, 1300.0, 620.0) * numpy.minimum(1, 0.2 + j.t / 250))
    j.put(blk_s=numpy.where(j.t % 70 < 35, 0.004, 0.02))
    return j


def take(name, page):
    pictures = [os.path.join(ROOT, "docs/%s-%s.png" % (name, scheme)) for scheme in ("light", "dark")]
    subprocess.run(["node", os.path.join(HERE, "screenshots.js"), page] + pictures, check=True)


def report(d):
    path, page = os.path.join(d, "job_4711.h5"), os.path.join(d, "page.html")
    made().write(path)
    subprocess.run([JOBPROF, "report", "--html", page, path], check=True)
    take("report", page)


def jobs(d):
    """The last week of a site of 60 users, as its staff sees it; its days are those before today."""
    rows, database = os.path.join(d, "rows.jsonl"), os.path.join(d, "index.db")
    with open(rows, "w") as f:
        sitegen.Site(3000, users=60, projects=12, days=30, nodes=True, end=int(time.time()) // 86400 * 86400).write(f)
    subprocess.run([JOBPROF, "index", "import", "--database", database, rows], check=True, stdout=subprocess.DEVNULL)
    server = subprocess.Popen([JOBPROF, "serve", "--user", "--database", database], stdout=subprocess.PIPE, text=True)
    try:
        first = server.stdout.readline().strip()
        take("jobs", first + "jobs")
    finally:
        server.terminate()
        server.wait()


def main():
    with tempfile.TemporaryDirectory() as d:
        for make in (report, jobs):
            if make.__name__ in (sys.argv[1:] or ("report", "jobs")):
                make(d)


main()
