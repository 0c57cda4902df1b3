# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for squeue, which prints recorded jobs in the format that it is asked for; and files of running steps, made of
described jobs (tests/findings/jobs.py)."""

import json
import os
import sqlite3
import sys
import time

sys.path.insert(0, os.path.realpath(__file__ + "/../../findings"))
import jobs as described
import layout
from lib import *

PROGRAM = r'''#!/usr/bin/python3
import json, os, re, sys, time
here = os.path.dirname(os.path.abspath(__file__))
with open(here + "/calls", "a") as f:
    f.write(json.dumps([time.time(), sys.argv[1:]]) + "\n")
with open(here + "/mode") as f:
    mode = f.read()
if mode == "hang":
    with open(here + "/hung", "w") as f:
        f.write(str(os.getpid()))
    time.sleep(1000)
if mode == "fail":
    sys.exit("slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
with open(here + "/jobs.json") as f:
    jobs = json.load(f)
args = sys.argv[1:]
assert "-h" in args and os.environ["SLURM_TIME_FORMAT"] == "%s"
form, user = args[args.index("-o") + 1], args[args.index("-u") + 1] if "-u" in args else None
for job in jobs:
    if user in (None, job.get("u")):
        sys.stdout.buffer.write(re.sub("%([A-Za-z])", lambda m: job.get(m[1], "N/A"), form).encode("utf-8", "surrogateescape") + b"\n")
for line in ["no sense at all"] if mode == "senseless" else []:
    print(line)
'''


class Squeue:
    """jobs: dictionaries by the letters of squeue's format."""

    def __init__(self, jobs=()):
        self.dir = tmpdir("squeue")
        self.path = os.path.join(self.dir, "squeue")
        with open(self.path, "w") as f:
            f.write(PROGRAM)
        os.chmod(self.path, 0o755)
        os.chmod(TMP, 0o755)
        os.chmod(self.dir, 0o777)
        self.mode("")
        self.put(jobs)

    def put(self, jobs):
        with open(self.dir + "/new", "w") as f:
            json.dump(list(jobs), f)
        os.rename(self.dir + "/new", self.dir + "/jobs.json")

    def mode(self, word):
        with open(self.dir + "/mode", "w") as f:
            f.write(word)

    def calls(self):
        try:
            with open(self.dir + "/calls") as f:
                return [json.loads(x) for x in f]
        except FileNotFoundError:
            return []


def queued(job, user="root", state="RUNNING", **more):
    """A job as squeue prints it."""
    now = int(time.time())
    waits = state == "PENDING"
    return {"A": str(job), "F": str(job), "K": "N/A", "T": state, "u": user, "U": "0", "a": "physics", "P": "batch", "D": "1", "C": "16", "b": "N/A",
            "m": "0", "S": "N/A" if waits else str(now - 3600), "V": str(now - 7200), "l": "1-00:00:00", "r": "Priority" if waits else "None",
            "N": "" if waits else "n1", "j": "solver", **more}


def begin_at(s):
    """Described jobs begin then, Unix time."""
    layout.START = described.START = int(s)


def put_running(directory, j, ago=5, job=None):
    """The file of a described job that runs: its last row was so many seconds ago. Returns the path."""
    begin_at(time.time() - j.wall - ago)
    j.state = None
    j.attrs.update(end_reason=None, exit_status=None, **({"job": job} if job else {}))
    if "user" not in j.attrs or j.attrs["user"] == "alice":
        j.attrs["user"] = "root"
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, ".%d_0_n1.h5" % j.attrs["job"])
    j.write(path + ".tmp")
    os.rename(path + ".tmp", path)
    return path


TEXTS = {"cpu.stacked": "Ranks 0-7 may run on 4 CPUs and waited for a core in 50 % of the time they could run, while 8.2 of 16 cores did nothing for it.",
         "mem.leak": "Memory grows by 9.2 GiB an hour: at the limit of 64.0 GiB in 48 min (44 min to 53 min), before the time limit.",
         "job.stopped": "No CPU, no input, no output for the last 22 min; 2 nodes are held meanwhile: 4.8 core-hours.",
         "gpu.idle": "GPUs 2-3 were used for 0 % of the time, and idle for up to 41 min at once.",
         "mpi.imbalance": "Ranks had unequal work: equal work would take 26 % less time."}


def running_rows(n, seed=1, users=20, now=None):
    """Rows of the table running, in no order."""
    rng, now = __import__("random").Random(seed), int(now or time.time())
    for i in range(n):
        waits, nodes = rng.random() < 0.2, rng.choice((1, 1, 1, 2, 4, 8, 32))
        cores = nodes * rng.choice((4, 16, 64, 128))
        start, rule = now - rng.randrange(60, 90000), rng.choice(("none",) * 4 + tuple(TEXTS))
        row = {"cluster": "heron", "job_id": 8451000 + i, "user": "user%02d" % rng.randrange(users), "account": "p%02d" % rng.randrange(9), "partition": rng.choice(("cpu", "cpu", "gpu", "bigmem")),
               "name": rng.choice(("cavity", "lbm", "spinup_%d" % rng.randrange(30), "ens", "<b>x", "npt")), "state": "PENDING" if waits else "RUNNING", "submit": start - 4000, "limit_s": rng.choice((3600, 86400, 172800)),
               "nodes": nodes, "cpus": cores, "queued_at": now - 20}
        row["gpus"] = nodes * 4 if row["partition"] == "gpu" else 0
        if waits:
            row.update(reason=rng.choice(("Priority", "Resources", "QOSMaxJobsPerUserLimit")), estimated=now + rng.randrange(9999) if rng.random() < 0.5 else None)
            if rng.random() < 0.2:
                row.update(array_id=row["job_id"], array_tasks="3-100%4")
        else:
            row.update(start=start, node_list="n[%d-%d],x%d" % (i % 50, i % 50 + nodes - 1, i % 9))
            if rng.random() < 0.9:
                row.update(directory="/prof", mtime=now - 30.0, files=1, last=now - 30, cores=float(cores), cpu_share=rng.random(), memory_share=rng.random(), io_bytes_s=10 ** rng.uniform(3, 9),
                           gpu_share=rng.random() if row["gpus"] else None, spark=",".join("" if rng.random() < 0.1 else str(min(100, max(0, round(rng.gauss(80, 5))))) for _ in range(30)), findings=int(rule != "none"),
                           rule="" if rule == "none" else rule, finding_list="[]")
                if rule != "none":
                    losing, full = (None, now + rng.randrange(60, 9000)) if rule == "mem.leak" else (cores * rng.random() ** 3, None)
                    one = {"rule": rule, "severity": "bad", "text": TEXTS[rule], "remedy": "Look at its output; scancel it if it hangs.", "since": start + 30, "found": start + 120, "losing_cores": losing, "full_at": full,
                           "full_at_low": full and full - 50, "full_at_high": full and full + 60}
                    row.update(severity=2 if rule != "mpi.imbalance" else 1, text=TEXTS[rule], since=start + 30, found=start + 120, losing_cores=losing, full_at=full, finding_list=json.dumps([one], separators=(",", ":")))
        yield row


def put_rows(index, rows):
    """Into the index, in place of what is there."""
    db = sqlite3.connect(index)
    db.execute("DELETE FROM running")
    for row in rows:
        db.execute("INSERT INTO running (%s) VALUES (%s)" % (", ".join('"%s"' % k for k in row), ", ".join("?" * len(row))), list(row.values()))
    for key in ("running_looked", "queue_read"):
        db.execute("INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (key, str(int(time.time()) - 10)))
    db.commit()
    db.close()
