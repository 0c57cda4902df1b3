# SPDX-License-Identifier: GPL-2.0-or-later
"""What breaks first where a site grows: a job of up to 10,000 nodes and 10 steps merged, reported and read by the index; how many jobs an
hour the index's host takes; and, from these and from what sizing.py counts, what 100 to 100,000 nodes ask and from where on that is too
much. Takes an hour and 10 GB of disk: only when it is asked for."""

import contextlib
import glob
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import helper
import index
import sizing
from helper import BUILD, ROOT, Missing
from files import JOBPROF
from table import Row

sys.path.insert(1, os.path.join(ROOT, "tests/lib"))

TITLE = "A job of many nodes: merged, reported, read by the index"
HOSTS = "What the index's host takes, two CPUs"
NODES = "What 1-node jobs of an hour on each node ask, with AutoMerge, AutoReport and versions of running steps"
BREAKS = "From how many nodes on one place is not enough, the first one first"

STEPS = 10
WIDE = (100, 1000, 10000)
LIMITS_MB = {"merge": 64, "report --json": 512, "report --html": 512, "index scan": 512}


# ---- a program and its children, watched

def family(pid):
    found = [pid]
    with contextlib.suppress(OSError):
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as f:
                for child in f.read().split():
                    found += family(int(child))
    return found


def pss_mb(pid):
    with contextlib.suppress(OSError, TypeError):  # it has ended
        with open("/proc/%d/smaps_rollup" % pid) as f:
            return int(re.search(r"^Pss:\s*(\d+)", f.read(), re.M)[1]) / 1024
    return 0


def open_files(pid):
    with contextlib.suppress(OSError):
        return len(os.listdir("/proc/%d/fd" % pid))
    return 0


def io_of_self():
    """Bytes that this process and all that it has waited for have read and written by calls."""
    with open("/proc/self/io") as f:
        words = dict(line.split(": ") for line in f)
    return int(words["rchar"]), int(words["wchar"])


class Used:
    """What a call took: s, s of the CPU, MB at most of all its processes, descriptors at most of one, KiB."""

    def __init__(self, args, **kw):
        before, io, began = resource.getrusage(resource.RUSAGE_CHILDREN), io_of_self(), time.monotonic()
        self.mb = self.fds = self.processes = 0
        p = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", **kw)
        watcher = threading.Thread(target=self._watch, args=(p,))
        watcher.start()
        said = p.stderr.read()
        p.wait()
        self.wall = time.monotonic() - began
        watcher.join()
        if p.returncode:
            raise Missing("%s: %s" % (" ".join(args[:3]), said.strip()[-200:]))
        after, io2 = resource.getrusage(resource.RUSAGE_CHILDREN), io_of_self()
        self.cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.read, self.written = (b - a for a, b in zip(io, io2))

    def _watch(self, p):
        while p.poll() is None:
            pids = family(p.pid)
            self.processes = max(self.processes, len(pids))
            self.fds = max([self.fds, *map(open_files, pids)])
            self.mb = max(self.mb, sum(map(pss_mb, pids)))
            time.sleep(0.1)


# ---- a job of many nodes

def disk():
    """A directory on a disk, as a job of 10,000 nodes is none for the memory."""
    d = tempfile.mkdtemp(prefix="jobprof-bench.", dir="/var/tmp")
    helper._tmp.append(d)
    return d


def small_file(top):
    """The file of a real step of one task on this node, as small ones are."""
    made = os.path.join(top, "made")
    os.mkdir(made)
    p = subprocess.run([JOBPROF, "run", "-q", "--", "sleep", "1"], cwd=made, capture_output=True, text=True)
    found = glob.glob(made + "/*.h5")
    if p.returncode or not found:
        raise Missing("jobprof run: " + p.stderr.strip()[-200:])
    return found[0]


def make_job(top, first, job, nodes, steps):
    user = os.path.join(top, "root")
    os.mkdir(user)
    p = subprocess.run([os.path.join(BUILD, "bench", "jpfiles"), "-f", first, "-j", job, "-n", str(nodes), "-s", str(steps), user], capture_output=True, text=True)
    if p.returncode:
        raise Missing("jpfiles: " + p.stderr.strip()[-200:])
    return sum(e.stat().st_size for e in os.scandir(user))


def of_job(nodes, steps):
    """{what: (Used, bytes of the files it reads)}"""
    top, found = disk(), {}
    try:
        first = small_file(top)
        asked = nodes * steps * os.stat(first).st_size * 3
        if shutil.disk_usage(top).free < 2 * asked:
            raise Missing("%s: less than %d GB are free" % (top, 2 * asked / 1e9))
        job = os.path.basename(first).split("_")[0]  # which is in the file, too
        inputs = make_job(top, first, job, nodes, steps)
        out, db = os.path.join(top, "root", "job_%s.h5" % job), os.path.join(top, "index.db")
        found["merge"] = Used([JOBPROF, "merge", "-q", "-j", job, "-p", top, "-u", "root", "-o", out]), inputs
        size = os.stat(out).st_size
        found["report --json"] = Used([JOBPROF, "report", "--json", out]), size
        found["report --html"] = Used([JOBPROF, "report", "--html", "-", out]), size
        found["index scan"] = Used([JOBPROF, "index", "scan", "--database", db, top + "/root"]), size
    finally:
        shutil.rmtree(top, ignore_errors=True)
    return found


def wide(opts):
    steps = 2 if opts.quick else STEPS
    for nodes in (10, 40) if opts.quick else WIDE:
        for what, (u, size) in of_job(nodes, steps).items():
            name = "{:,} nodes x {} steps: {}".format(nodes, steps, what)
            for column, value, digits in (("files", nodes * steps if what == "merge" else 1, 0), ("MB", size / 1e6, 0), ("s", u.wall, 1), ("s of the CPU", u.cpu, 1),
                                          ("ms of the CPU, each node-step", u.cpu * 1000 / nodes / steps, 2), ("KiB read by calls, each node-step", u.read / 1024 / nodes / steps, 0),
                                          ("MB of memory at most", u.mb, 0), ("descriptors of a process at most", u.fds, 0)):
                yield Row("scale", name, "", [value], column=column, digits=digits, target=LIMITS_MB[what] if "memory" in column else None)


def run(_, opts):
    return list(wide(opts))
