# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for squeue, which prints recorded jobs in the format that it is asked for; and files of running steps, made of
described jobs (tests/findings/jobs.py)."""

import json
import os
import stat
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
