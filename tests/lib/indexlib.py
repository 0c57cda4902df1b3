# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles of a dozen jobs for an index, and the index's rows by SQL."""

import contextlib
import random
import sqlite3
import sys

from lib import *

sys.path.insert(0, ROOT + "/tests/findings")
from jobs import Job

# Of a user who means no good: SQL, an escape, bytes that are no UTF-8, more than an index of PostgreSQL takes.
HOSTILE = (b"a'); DROP TABLE job; -- ? $1 \\ %_ \x1b[31m \xff\xfe \xed\xa0\x80 \xc3\xa4 " +
           "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", k=6000)).encode())
TABLES = ("job", "finding", "job_node", "job_fs", "file", "directory", "day", "month", "day_rule", "hist")
OF_JOB = ("finding", "job_node", "job_fs")  # tables with the id of a job, which engines give out as they like


def call(*args, **kw):
    return subprocess.run([JOBPROF, *args], capture_output=True, text=True, env=plain_env(), timeout=170, **kw)


def jobprof(*args, status=0, **kw):
    p = call(*args, **kw)
    if p.returncode != status:
        raise Failed("jobprof %s: status %d: %s" % (" ".join(args), p.returncode, p.stderr))
    return p.stdout


def one_line(p, *parts):
    """Whether it failed with one line of errors that says all of these."""
    return p.returncode == 1 and p.stderr.count("\n") == 1 and all(part in p.stderr for part in parts)


def set_job_name(path, name):
    with h5py.File(path, "r+") as f:
        for step in f["Steps"].values():
            for node in step["Nodes"].values():
                del node.attrs["Job Name"]
                node.attrs["Job Name"] = numpy.bytes_(name)


def profiles(top, n=8, first=100):
    """Jobs of three users, some of them sick, written a while ago; returns their directories."""
    dirs = []
    for i in range(n):
        d = os.path.join(top, ("alice", "bob", "carol")[i % 3])
        if d not in dirs:
            os.makedirs(d)
            dirs.append(d)
        job = Job(nodes=1 + (i % 4 == 3), tasks=2 + 2 * (i % 2), cores=4, wall=(1200, 4000)[i % 2], seed=i, job=first + i, job_name="run%d" % (i % 5),
                  account="p%d" % (i % 3), partition=("cpu", "gpu")[i % 4 == 2], cluster="c")
        if i % 3 == 1:
            job.cpu(0.3)
        if i % 4 == 2:
            job.gpus(1, utilization=8.0)
        if i % 2:
            for name, mb in (("scratch", 3.0), ("home", 0.25 * i)):
                job.put_device("Mount", name, Reads=1.0, ReadMB=mb, Writes=1.0, WriteMB=0.1)
        if i == n - 1:  # what sums cannot bear
            job.limit_s, job.request_mb = 1e300, 1e-300
        path = os.path.join(d, "job_%d.h5" % (first + i))
        job.write(path)
        if i == n - 1:
            set_job_name(path, HOSTILE)
        if os.geteuid() == 0:
            os.chown(path, 10000 + i % 3, 10000)
            os.chmod(path, 0o640)
    for d in (*dirs, top):
        os.utime(d, (1e9, 1e9))
    return dirs


def query(path, sql, *args):
    with contextlib.closing(sqlite3.connect(path)) as db:
        return db.execute(sql, args).fetchall()


def columns(path, table):
    return [row[1] for row in query(path, "PRAGMA table_info(%s)" % table)]


def statement(path, table):
    """What both engines are asked for: all columns but ids, which become keys."""
    own = ["t.\"%s\"" % c for c in columns(path, table) if c not in ("id", "job")]
    if table in OF_JOB:
        return "SELECT j.cluster AS k1, j.job_id AS k2, j.start AS k3, %s FROM %s t JOIN job j ON j.id = t.job" % (", ".join(own), table)
    return "SELECT %s FROM %s t" % (", ".join(own), table)


def key(row):
    return [(v is not None, type(v) is str, v if v is not None else 0) for v in row]


def rows(path, table):
    return sorted(query(path, statement(path, table)), key=key)


def healthy(path, name=""):
    """Its sums are those of its rows, and SQLite finds no damage."""
    p = call("index", "check", "--database", path)
    is_true("%s: check finds nothing" % (name or path), p.returncode == 0 and "no difference" in p.stdout, p.stdout + p.stderr)
