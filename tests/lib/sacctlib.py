# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for sacct: a program that prints recorded jobs as sacct does, the fields that it is asked
for, of those that ended in the window. SACCT_MODE lets it misbehave."""

import json
import os
import sqlite3
import time

from lib import BUILD, JOBPROF, plain_env, tmpdir
import subprocess

FIELDS = """Account AdminComment AllocCPUS AllocNodes AllocTRES AssocID Cluster Comment CPUTimeRAW DBIndex
DerivedExitCode Elapsed ElapsedRaw Eligible End ExitCode Flags GID Group JobID JobIDRaw JobName NCPUS NNodes NodeList
NTasks Partition Priority QOS Reason ReqCPUS ReqMem ReqNodes ReqTRES Reserved Start State Submit Suspended Timelimit
TimelimitRaw TotalCPU UID User WorkDir""".split()

PROGRAM = r'''#!/usr/bin/python3
import calendar, json, os, signal, subprocess, sys, time
data, mode, args = os.environ["SACCT_DATA"], os.environ.get("SACCT_MODE", ""), sys.argv[1:]
with open(data + "/calls", "a") as f:
    f.write(json.dumps(args) + "\n")
with open(data + "/fields") as f:
    known = f.read().split()
if args == ["--helpformat"]:
    for i in range(0, len(known), 4):
        print("".join(w.ljust(20) for w in known[i:i + 4]))
    sys.exit(0)
def after(name):
    return args[args.index(name) + 1]
def begins(name):
    return [a for a in args if a.startswith(name)][0][len(name):]
def seconds(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))
asked, delimiter = begins("--format=").split(","), begins("--delimiter=")
wrong = [a for a in asked if a not in known]
if wrong:
    sys.exit('sacct: fatal: Invalid field requested: "%s"' % wrong[0])
if mode == "hang":
    child = subprocess.Popen(["sleep", "1000"])
    with open(data + "/hung", "w") as f:
        f.write("%d %d" % (os.getpid(), child.pid))
    time.sleep(1000)
since, until = seconds(after("-S")), seconds(after("-E"))
if mode == "fail" or (mode == "fail later" and time.time() - until < 86400):
    print("sacct: error: Problem talking to the database: Connection refused", file=sys.stderr)
    sys.exit(1)
out, n = sys.stdout.buffer, 0
while mode == "endless":
    out.write(b"no sense\n" * 10000)
with open(data + "/jobs.json") as f:
    jobs = json.load(f)
for job in jobs:
    if not since <= job["_end"] <= until:
        continue
    line = delimiter.join(job.get(a, "") for a in asked)
    out.write(line.encode("utf-8", "surrogateescape") + b"\n")
    for text in job.get("_after", ()):
        out.write(text.replace("<D>", delimiter).encode("utf-8", "surrogateescape") + b"\n")
    n += 1
    if mode == "die" and n == 700:
        out.write(line[:len(line) // 2].encode("utf-8", "replace"))
        out.flush()
        os.kill(os.getpid(), signal.SIGKILL)
'''


class Sacct:
    """jobs: dicts of field: text, "_end": when it ended, "_after": lines behind it, in which <D> is the
    delimiter."""

    def __init__(self, jobs, fields=FIELDS):
        self.dir = tmpdir("sacct")
        self.path = os.path.join(self.dir, "sacct")
        with open(self.path, "w") as f:
            f.write(PROGRAM)
        os.chmod(self.path, 0o755)
        with open(self.dir + "/fields", "w") as f:
            f.write(" ".join(fields))
        self.set(jobs)

    def set(self, jobs):
        with open(self.dir + "/jobs.json", "w") as f:
            json.dump(jobs, f)

    def calls(self):
        with open(self.dir + "/calls") as f:
            return [json.loads(line) for line in f]

    def env(self, mode=""):
        return plain_env(SACCT_DATA=self.dir, SACCT_MODE=mode)

    def sync(self, db, *args, mode=""):
        """(status, what it printed, what it said)"""
        return index(db, "sync", "--sacct", self.path, *args, env=self.env(mode))


def index(db, *args, env=None):
    p = subprocess.run([JOBPROF, "index", "--database", db] + list(args), env=env or plain_env(),
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                       timeout=300)
    return p.returncode, p.stdout, p.stderr


def job(number, start, elapsed=100, cpus=4, nodes="n1", **more):
    """As sacct prints a job that has completed."""
    known = nodes.count(",") + 1
    j = {"JobIDRaw": str(number), "JobID": str(number), "Cluster": "c1", "User": "ada", "UID": "1001",
         "Account": "physics", "Partition": "main", "QOS": "normal", "State": "COMPLETED", "ExitCode": "0:0",
         "Submit": str(start - 60), "Eligible": str(start - 50), "Start": str(start),
         "End": str(start + elapsed), "ElapsedRaw": str(elapsed), "TimelimitRaw": "60",
         "NNodes": str(known), "NodeList": nodes, "AllocCPUS": str(cpus),
         "AllocTRES": "billing=%d,cpu=%d,mem=%dM,node=%d" % (cpus, cpus, 1000 * known, known),
         "TotalCPU": "00:00:10", "JobName": "job%d" % number, "_end": start + elapsed}
    j.update(more)
    return j


def rows(db, *columns, table="job", order="job_id, start"):
    c = sqlite3.connect("file:%s?mode=ro" % db, uri=True)
    try:
        return c.execute("SELECT %s FROM %s ORDER BY %s" % (
            ", ".join('"%s"' % n for n in columns), table, order)).fetchall()
    finally:
        c.close()


# What two indexes of the same jobs have in common: all but the numbers that they gave out.
_KEY = 'j.cluster || "/" || j.job_id || "/" || j.start || "/" || j."user"'
_DUMPS = ("SELECT * FROM job ORDER BY cluster, job_id, start, \"user\"",
          "SELECT n.node, n.start, n.\"end\", %s FROM job_node n JOIN job j ON j.id = n.job" % _KEY.replace('"/"', "'/'"),
          "SELECT f.n, f.rule, f.text, %s FROM finding f JOIN job j ON j.id = f.job" % _KEY.replace('"/"', "'/'"),
          "SELECT * FROM day", "SELECT * FROM month", "SELECT * FROM day_rule", "SELECT * FROM hist")


def dump(db):
    """Sums differ in the last digits by the order in which they were added."""
    c = sqlite3.connect("file:%s?mode=ro" % db, uri=True)
    found = []
    try:
        for sql in _DUMPS:
            r = c.execute(sql)
            names = [d[0] for d in r.description]
            found.append(sorted(
                str([(n, "%.9g" % v if isinstance(v, float) else v) for n, v in zip(names, row) if n != "id"])
                for row in r.fetchall()))
    finally:
        c.close()
    return found


def difference(a, b):
    """The first rows that one has and the other has not; None: there are none."""
    for x, y in zip(dump(a), dump(b)):
        if x != y:
            return "only in one: %s; only in the other: %s" % (
                sorted(set(x) - set(y))[:2], sorted(set(y) - set(x))[:2])
    return None
