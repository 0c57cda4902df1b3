# SPDX-License-Identifier: GPL-2.0-or-later
"""The index: 1,000,000 generated jobs of a year ($JOBPROF_BENCH_JOBS: so many), what writing them takes, and the 95th percentile
of 100 questions of each kind, each with other words. A question is a whole call of jobprof; what a call costs that asks
nothing is a row of its own, and left out of the others. Only when it is asked for, as it takes minutes."""

import contextlib
import glob
import os
import random
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

import helper
from helper import ROOT
from files import JOBPROF
from stats import quantile
from table import Row

sys.path.insert(1, os.path.join(ROOT, "tests/lib"))

TITLE = "The index of all jobs"
DAYS = 365
ASKED = 100
SORTS = ("lost_core_s", "held_core_s", "start", "elapsed_s", "nodes", "cpu_share", "memory_share", "io_bytes_s", "findings", "energy_j",
         "-cpu_share", "user", "name", "gpu_share")
STATES = ("failed", "timeout", "completed", "out_of_memory")


def engines(top):
    """(name, database, one without jobs, what looks into it); PostgreSQL's server is started where it is installed."""
    import postgreslib
    import reporting
    path = os.path.join(top, "index.db")
    yield "SQLite", path, os.path.join(top, "empty.db"), lambda: in_sqlite(path)
    try:
        server = postgreslib.Server(shared_buffers="256MB")
    except reporting.Skipped:
        return
    yield "PostgreSQL", server.address(), server.new_database("empty"), lambda: in_postgresql(server)


def timed(*args):
    """What a call takes: s, and s of the CPU, which other load of the machine changes less."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    p = subprocess.run([JOBPROF, *args], capture_output=True, text=True, env={**os.environ, "TZ": "UTC"})
    if p.returncode:
        raise helper.Missing("%s: %s" % (" ".join(args[:4]), p.stderr.strip()[-200:]))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def call(*args):
    return timed(*args)[0]


def make(site, database, top):
    """Rows/s of each part of 50,000."""
    path, rates = os.path.join(top, "rows.jsonl"), []
    for first, chunk in zip(range(0, site.jobs, site.chunk_size), site.chunks()):
        with open(path, "w") as f:
            site.write(f, [chunk])
        rates.append(min(site.chunk_size, site.jobs - first) / call("index", "import", "--database", database, path))
    os.unlink(path)
    return rates


class Questions:
    """100 lists of words of each kind."""

    def __init__(self, site):
        self.site, self.rng = site, random.Random(4)

    def day(self, ago):
        return time.strftime("%Y-%m-%d", time.gmtime(self.site.end - ago * 86400))

    def job(self, i):
        return ["jobs", "--since", "all", "--jobs", str(1000 + self.rng.randrange(self.site.jobs))]

    def list(self, i):
        r, ago = self.rng, self.rng.randrange(7, 120)
        span = (7, 7, 30)[i % 3]
        filters = ([], ["--user", r.choice(self.site.users)], ["--project", r.choice(self.site.projects)], ["--state", r.choice(STATES)],
                   ["--partition", "gpu"], ["--finding", r.choice(self.rules)], ["--name", "lmp"], ["--nodes", "4-"])
        return ["jobs", "--since", self.day(ago), "--until", self.day(ago - min(span, ago)), "--sort", r.choice(SORTS), *filters[i % 8]]

    def newest(self, i):
        return ["jobs", "--since", self.day(7), "--sort", SORTS[i % len(SORTS)]]

    def user(self, i):
        return ["jobs", "--since", "all", "--user", self.site.users[i % len(self.site.users)], "--sort", SORTS[i % len(SORTS)]]

    def month(self, i):
        ago = 30 + self.rng.randrange(DAYS - 60)
        return ["usage", "--by", ("user", "project")[i % 2], "--since", self.day(ago), "--until", self.day(ago - 30)]

    def year(self, i):
        return ["usage", "--by", ("user", "project")[i % 2], "--since", self.day(DAYS - i), "--sort", ("lost_core_s", "held_core_s")[i % 2]]

    def names(self, i):
        return ["usage", "--by", "name", "--user", self.rng.choice(self.site.users), "--since", self.day(30 + i)]


KINDS = (("one job by its id", Questions.job, 5), ("50 jobs of 7 or 30 days, by any column and filter", Questions.list, 100),
         ("50 jobs of the last 7 days, by any column", Questions.newest, 100), ("50 jobs of a user, of all times", Questions.user, 100),
         ("a table by user or project of 30 days", Questions.month, 120), ("a table by user or project of a year", Questions.year, 250),
         ("a table by name of a user", Questions.names, None))


def p95(values):
    return quantile(values, 0.95)


def ask(engine, database, questions, start, asked):
    """start: what a call takes that asks nothing. A server's CPU time is none of the call's."""
    for name, make_words, target in KINDS:
        times = [timed(*make_words(questions, i), "--database", database, "--json") for i in range(asked)]
        wall, cpu = ([max(0, t[k] - start[k]) * 1000 for t in times] for k in (0, 1))
        yield Row("index", "%s, %s, p95" % (engine, name), "ms", [p95(wall)], target=target)
        if engine == "SQLite":
            yield Row("index", "  of the CPU, p95", "ms", [p95(cpu)])


def in_sqlite(path):
    """The bytes of the database, and what runs statements: it returns the ms that each took."""
    def run(statements):
        with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % path, uri=True)) as db:
            for sql in statements:
                began = time.monotonic()
                db.execute(sql).fetchall()
                yield (time.monotonic() - began) * 1000
    return os.stat(path).st_size, run


def in_postgresql(server):
    def run(statements):
        said = server.psql("\\timing on\n" + "".join(s + ";\n" for s in statements)).stdout
        return [float(ms) for ms in re.findall(r"^Time: ([0-9.]+) ms", said, re.M)]
    return int(server.sql("SELECT pg_database_size('jobprof')")[0][0]), run


def without_verb(name, size, run, site, asked):
    """What no verb says: bytes, and the distributions, which pages ask for."""
    last = site.end // 86400
    yield Row("index", name + ", bytes per job, with findings and sums", "B", [size / site.jobs], target=1024, digits=0)
    yield Row("index", name + ", distributions of 30 days, p95", "ms", [p95(list(run(
        "SELECT quantity, bin, sum(jobs), sum(core_s), sum(lost_core_s) FROM hist WHERE day >= %d AND day < %d GROUP BY 1, 2"
        % (last - 40 - i, last - 10 - i) for i in range(asked))))], target=120)


def sync(top, count):
    """Jobs that all began on one day, as a stand-in for sacct prints them."""
    import sacctlib
    end = int(time.time()) // 86400 * 86400
    made = [sacctlib.job(1000 + i, end - 86400 + i * 80000 // count, 30 + i % 5000, User="u%d" % (i % 300), Account="p%d" % (i % 60)) for i in range(count)]
    sacct = sacctlib.Sacct(made)
    began = time.monotonic()
    status, _, said = sacct.sync(os.path.join(top, "sync.db"), "--since", "3d")
    if status:
        raise helper.Missing("index sync: " + said[-200:])
    yield Row("index", "sync of %s jobs of one day" % format(count, ","), "ms/job", [(time.monotonic() - began) * 1000 / count], target=3.3, digits=2)


def scan_files(top, count):
    import sitegen
    profiles = os.path.join(top, "profiles")
    for _ in sitegen.job_files(profiles, count):
        pass
    database = os.path.join(top, "scan.db")
    took = call("index", "scan", "--database", database, profiles)
    yield Row("index", "scan with analysis of %d small files" % count, "ms/job", [took * 1000 / count], target=25)
    for path in glob.glob(os.path.join(profiles, "*", "*.h5")):
        call("report", "--store", path)
    times = [call("index", "scan", "--again", "--database", database, profiles) for _ in range(3)]
    yield Row("index", "scan of the same files with stored rows", "ms/job", [t * 1000 / count for t in times], target=1000 / 300)
    yield from known_files(top, database, profiles)


def known_files(top, database, profiles, dirs=1000, each=1000):
    """A million files that the index knows, and a directory of a thousand that has changed. The others need not be there: nobody
    looks into a directory whose time is the known one."""
    tree = os.path.join(top, "tree")
    db = sqlite3.connect(database)
    for k in range(dirs):
        d = os.path.join(tree, "u%d" % k)
        os.makedirs(d)
        db.executemany("INSERT INTO file (path, directory, mtime, size, state) VALUES (?, ?, 0, 0, 'read')",
                       (("%s/job_%d.h5" % (d, i), d) for i in range(k * each, (k + 1) * each)))
        db.execute("INSERT INTO directory (path, mtime) VALUES (?, ?)", (d, os.stat(d).st_mtime_ns / 1e9))
    for i in range(each):
        path = "%s/u0/job_%d.h5" % (tree, i)
        open(path, "w").close()
        os.utime(path, (0, 0))
    db.commit()
    db.close()
    took = call("index", "scan", "--database", database, tree)
    yield Row("index", "a look at 1,000,000 known files, a directory of 1,000 changed", "s", [took], target=5, digits=2)


def run(_, opts):
    import sitegen
    jobs = 20000 if opts.quick else int(os.environ.get("JOBPROF_BENCH_JOBS", 1000000))
    asked = 10 if opts.quick else ASKED
    site = sitegen.Site(jobs, days=DAYS)
    Questions.rules = sitegen.RULES
    top = tempfile.mkdtemp(prefix="jobprof-bench.", dir="/var/tmp")
    rows = []
    try:
        for engine, database, empty, inside in engines(top):
            rates = make(site, database, top)
            rows.append(Row("index", "%s, import to %s jobs" % (engine, format(jobs, ",")), "rows/s", rates, digits=0))
            call("index", "import", "--database", empty, "/dev/null")
            start = sorted(timed("jobs", "--database", empty, "--json") for _ in range(21))[10]
            rows.append(Row("index", engine + ", a call that asks an empty index", "ms", [start[0] * 1000]))
            rows += ask(engine, database, Questions(site), start, asked)
            rows += without_verb(engine, *inside(), site, asked)
        rows += scan_files(top, 20 if opts.quick else 400)
        rows += sync(top, 2000 if opts.quick else 100000)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    return rows
