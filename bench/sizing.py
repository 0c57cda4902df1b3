# SPDX-License-Identifier: GPL-2.0-or-later
"""What profiles ask of the shared file system and of slurmctld: calls below ProfileHDF5Dir, which strace counts in jobprofd and
all that it starts, for a file, a version of it, a merge and a job; from these what 100 to 100,000 nodes ask. With a Slurm,
commands that jobprofd runs for a job, and what sdiag counts with the plugins and without."""

import glob
import os
import re
import subprocess
import time

import files
import helper
import slurm
import steps
from helper import BUILD, Missing, tmpdir
from table import Row

TITLE = "What is asked of the shared file system: calls below ProfileHDF5Dir"
# Sections of the page, with tables of their own.
NODES = "1-node jobs of an hour on each node, with AutoMerge: batch script and a step of 16 tasks, a row every 30 s"
WIDE = "The end of one job of all nodes, the same on each; its merge follows on the first node"
RPCS = "What a job asks of Slurm"
ROWS = "What rows take"

CALLS = {"opens": "open openat openat2 creat", "fsync": "fsync fdatasync sync_file_range syncfs",
         "renames": "rename renameat renameat2", "unlinks": "unlink unlinkat rmdir",
         "others by name": "stat lstat newfstatat statx access faccessat faccessat2 mkdir mkdirat chmod fchmodat fchmod fchown fchownat lchown chown "
                           "utimensat link linkat symlink symlinkat readlink readlinkat getdents64 statfs fstatfs truncate ftruncate fallocate",
         "locks": "flock", "KiB written": "write pwrite64 writev pwritev pwritev2 copy_file_range sendfile",
         "KiB read": "read pread64 readv preadv preadv2"}
KIND = {call: kind for kind, calls in CALLS.items() for call in calls.split()}
COMMANDS = ("squeue", "sacct", "scontrol", "sbatch", "sdiag")
LINE = re.compile(r"(\w+)\((.*)\) += (-?\d+|\?)")

INTERVAL, HOUR, TASKS = 30, 3600, 16
MANY = (100, 1000, 10000, 100000)


class Counts(dict):
    """Calls by kind; bytes of those that move bytes."""

    def of(self, line, top):
        m = LINE.match(line)
        if not m:
            return
        call, args, result = m.groups()
        if call == "execve" and result == "0" and os.path.basename(args.split('"')[1]) in COMMANDS:
            self["commands"] = self.get("commands", 0) + 1
        kind = KIND.get(call)
        # a file may be named by a directory that is open, and its whole name stand behind the number that it has then
        if kind and top in line:
            self[kind] = self.get(kind, 0) + (max(0, int(result)) / 1024 if "KiB" in kind else 1)

    def over(self, n):
        return Counts({k: v / n for k, v in self.items()})

    def plus(self, other, times=1):
        return Counts({k: self.get(k, 0) + times * other.get(k, 0) for k in {*self, *other}})

    def metadata(self):
        return sum(v for k, v in self.items() if "KiB" not in k and k != "commands")


class Trace:
    """Counts what a process and all that it starts do below a directory. A context."""

    def __init__(self, top, pid=None, cmd=()):
        self.top, self.prefix = os.path.realpath(top), os.path.join(tmpdir(), "t")
        words = ["strace", "-f", "-ff", "-y", "-qq", "-s", "0", "-e", "signal=none", "-e", "trace=execve," + ",".join("?" + c for c in KIND), "-o", self.prefix]
        self.proc = subprocess.Popen(words + (["-p", str(pid)] if pid else list(cmd)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if pid:
            steps.wait_until(lambda: self._is_attached(pid), 20, "strace, which may not trace here")

    def _is_attached(self, pid):
        if self.proc.poll() is not None:
            raise Missing("strace may not trace here")
        with open("/proc/%d/status" % pid) as f:
            return int(re.search(r"TracerPid:\s+(\d+)", f.read())[1]) != 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end(signal=True)

    def end(self, signal=False):
        if signal:
            self.proc.terminate()
        self.proc.wait(120)
        return self.proc.returncode

    def counts(self):
        c = Counts()
        for path in glob.glob(self.prefix + ".*"):
            with open(path, errors="replace") as f:
                for line in f:
                    c.of(line, self.top)
        return c


def settle(d):
    """Until nothing below the directory has changed for half a second: publications and merges are over."""
    last, since = None, time.monotonic()
    end = since + 60
    while time.monotonic() < end and time.monotonic() - since < 0.5:
        now = [(e.name, e.stat().st_mtime_ns) for e in os.scandir(d.hdf5 + "/root")] if os.path.isdir(d.hdf5 + "/root") else []
        if now != last:
            last, since = now, time.monotonic()
        time.sleep(0.05)


def size(path):
    return os.stat(path).st_size / 1024


def end_of_step(d, tasks, seconds):
    """Counts of a step's file on a node, and KiB of it."""
    with Trace(d.hdf5, d.proc.pid) as t:
        s = steps.Step(tasks, ["-p", 50, seconds])
        s.end()
        path = d.file(s)
        settle(d)
    return t.counts(), size(path)


def of_steps(opts):
    """{name: [(counts, KiB)]} of files that are written once."""
    d = steps.Daemon(0.1, helper.SCHED + ",latency,wait,block,network", publish=0)
    rounds, found = (1 if opts.quick else 3), {}
    try:
        steps.Step(1, [0.1]).end()  # makes the user's directory
        time.sleep(1)
        for name, tasks, seconds in (("1 task", 1, 0.05), ("%d tasks" % TASKS, TASKS, 0.05), ("many rows", TASKS, 2 if opts.quick else 10)):
            found[name] = [end_of_step(d, tasks, seconds) for _ in range(rounds)]
    finally:
        d.end()
    return found


def keys():
    """The keys of jobprof.conf, with their defaults."""
    return subprocess.run([os.path.join(BUILD, "jobprofd"), "--help"], capture_output=True, text=True).stdout


def of_versions(opts):
    """Counts per version of a running step's file."""
    d = steps.Daemon(1, helper.SCHED, publish=1, LiveFiles="yes" if "LiveFiles" in keys() else None)
    try:
        s = steps.Step(TASKS, ["-p", 50, 600])
        live = lambda: [(e.stat().st_ino, e.stat().st_mtime_ns) for e in os.scandir(d.hdf5 + "/root") if e.name.startswith(".") and e.name.endswith(".h5")]
        try:
            steps.wait_until(lambda: os.path.isdir(d.hdf5 + "/root") and live(), 90, "a version of a running step's file")
            with Trace(d.hdf5, d.proc.pid) as t:
                seen, end = [live()], time.monotonic() + (4 if opts.quick else 15)
                while time.monotonic() < end:
                    if live() not in (seen[-1], []):
                        seen.append(live())
                    time.sleep(0.02)
        finally:
            s.end(0)
        if len(seen) < 2:
            raise Missing("there was one version in that time")
        return t.counts().over(len(seen) - 1)
    finally:
        d.end()


def of_merge(nodes):
    top, _ = files.make("jobprof", nodes)
    t = Trace(top, cmd=[files.JOBPROF, "merge", "-q", "-j", "7", "-p", top, "-u", "root", "-o", top + "/root/job_7.h5"])
    if t.end():
        raise Missing("jobprof merge failed")
    return t.counts()


def of_merges():
    """Counts per node-step file, and of a merge beside these."""
    few, many = 4, 36
    a, b = of_merge(few), of_merge(many)
    each = b.plus(a, -1).over(many - few)
    return each, Counts({k: max(0, v) for k, v in a.plus(each, -few).items()})


def of_job(opts, **more):
    """Counts of a job with a batch script and one step of a task, with AutoMerge; KiB that it leaves."""
    d = steps.Daemon(30, helper.SCHED + ",latency,wait,block,network", publish=0, AutoMerge="yes", **more)
    found = []
    try:
        steps.Step(1, [0.1]).end()
        time.sleep(1)
        for _ in range(1 if opts.quick else 3):
            job = steps.new_job()
            with Trace(d.hdf5, d.proc.pid) as t:
                batch = steps.Step(1, ["-p", 50, 1.5], job, "batch")
                time.sleep(0.5)
                step = steps.Step(1, ["-p", 50, 0.05], job)
                step.end()
                batch.end()
                steps.remove_job(job)
                path = "%s/root/job_%d.h5" % (d.hdf5, job)
                steps.wait_until(lambda: os.path.exists(path), 60, "the job's file; jobprofd said: " + d.said())
                if more:  # the report comes with another version of it
                    merged = os.stat(path).st_ino
                    steps.wait_until(lambda: os.stat(path).st_ino != merged, 60, "the job's report; jobprofd said: " + d.said())
                settle(d)
            found.append((t.counts(), size(path)))
    finally:
        d.end()
    return found


def lines(name, found, section="sizing"):
    """Rows of the table of calls, from counts and KiB of several rounds."""
    for kind in CALLS:
        yield Row(section, name, "", [c.get(kind, 0) for c, _ in found], column=kind, digits=1 if "KiB" in kind else 0)
    if found[0][1] is not None:
        yield Row(section, name, "KiB", [k for _, k in found], column="KiB left", digits=0)


def middle(found):
    """The counts of the round with the median of all calls, and the median of KiB."""
    found = sorted(found, key=lambda f: f[0].metadata())
    return found[len(found) // 2][0], sorted(k for _, k in found)[len(found) // 2]


def publish_interval():
    return float(re.search(r"PublishInterval\n.*?Default: (\d+)", keys(), re.S)[1])


def of_nodes(job, first, kib, version):
    """For 1-node jobs of an hour: what a job asks, on so many nodes. Both files begin with `first` KiB and end with kib; a merge copies
    them."""
    every = publish_interval()
    job = Counts(job, **{"KiB written": 4 * kib})
    version = Counts(version, **{"KiB written": (first + kib) / 2})
    for nodes in MANY:
        for what, c in (("{:,} nodes".format(nodes), job),
                        ("{:,} nodes, with versions of running steps every {:g} s".format(nodes, every), job.plus(version, 2 * (1 + HOUR / every)))):  # the first one comes early
            per_s = nodes / HOUR
            yield Row(NODES, what, "", [24 * nodes], column="files a day, merged", digits=0)
            yield Row(NODES, what, "GB", [24 * nodes * 2 * kib * 1024 / 1e9], column="GB a day, left", digits=1)
            yield Row(NODES, what, "GB", [24 * nodes * c["KiB written"] * 1024 / 1e9], column="GB a day, written", digits=1)
            for kind in ("opens", "fsync", "renames"):
                yield Row(NODES, what, "1/s", [per_s * c.get(kind, 0)], column=kind + "/s", digits=1)
            yield Row(NODES, what, "1/s", [per_s * c.metadata()], column="all calls/s", digits=1)


def of_wide(end, kib, each, merge):
    for nodes in MANY:
        what = "{:,} nodes".format(nodes)
        yield Row(WIDE, what, "", [nodes + 1], column="files until the merge", digits=0)
        yield Row(WIDE, what, "MB", [nodes * kib * 1024 / 1e6], column="MB", digits=0)
        for kind in ("opens", "fsync", "renames"):
            yield Row(WIDE, what, "", [(nodes + 1) * end.get(kind, 0)], column=kind, digits=0)
        yield Row(WIDE, what, "", [(nodes + 1) * each.get("opens", 0) + merge.get("opens", 0)], column="opens of the merge", digits=0)


def rpcs(cluster):
    """{name: how often slurmctld got it}"""
    out = subprocess.run(["sdiag"], env=cluster.env, capture_output=True, text=True).stdout
    section = out.split("Remote Procedure Call statistics by message type")[-1].split("\n\n")[0]
    found = {name: int(n) for name, n in re.findall(r"^\s+(\w+)\s+\(\s*\d+\)\s+count:(\d+)", section, re.M)}
    return {name: n for name, n in found.items() if name not in ("REQUEST_STATS_INFO", "REQUEST_PING", "MESSAGE_NODE_REGISTRATION_STATUS")}


def submit(cluster, args):
    """A batch job with one srun; returns the RPCs it took, once they are over."""
    before = rpcs(cluster)
    subprocess.run(["sbatch", "--wait", "-o", "/dev/null", *args, "--wrap", "srun true"], env=cluster.env, cwd="/", stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    time.sleep(3)
    after = rpcs(cluster)
    return sum(after.values()) - sum(before.values())


def of_slurm(opts):
    """Rows, and the calls and KiB of a job, in a list."""
    slurm.need()
    d = cluster = None
    jobs = 1 if opts.quick else 3
    try:
        d = steps.Daemon(30, "none", 0, CgroupRoot=None, AutoMerge="yes")
        cluster = slurm.Cluster(tmpdir() + "/slurm", [slurm.plugin_dirs(), "AcctGatherProfileType=acct_gather_profile/jobprof"], ["ProfileJobprofSocket=" + d.socket])
        without = [submit(cluster, []) for _ in range(jobs)]
        cluster.plugstack("optional %s socket=%s\n" % (slurm.SPANK, d.socket))
        with Trace(d.hdf5, d.proc.pid) as t:
            with_it = [submit(cluster, ["--jobprof=all"]) for _ in range(jobs)]
            merged = lambda: glob.glob(d.hdf5 + "/root/job_*.h5")
            steps.wait_until(lambda: len(merged()) >= jobs, 60, "files; jobprofd said: " + d.said())
            settle(d)
        counts = t.counts().over(jobs)
        rows = [Row(RPCS, "RPCs to slurmctld, a batch job with one srun, without jobprof", "", without, digits=0),
                Row(RPCS, "RPCs to slurmctld, the same with both plugins and --jobprof=all", "", with_it, digits=0),
                Row(RPCS, "commands of Slurm that jobprofd runs for it", "", [counts.get("commands", 0)])]
        return rows, [(counts, sum(map(size, merged())) / jobs)]
    finally:
        if cluster:
            cluster.down()
        if d:
            d.end()


def try_slurm(opts):
    try:
        return of_slurm(opts)
    except Missing as e:
        return [Row(RPCS, "RPCs to slurmctld", "", why=str(e))], []


def run(_, opts):
    if not helper.has("strace"):
        raise Missing("there is no strace")
    try:
        return list(measure(opts))
    finally:
        steps.remove_cgroups()


def measure(opts):
    ends, version, (each, merge), jobs, reported = of_steps(opts), of_versions(opts), of_merges(), of_job(opts), of_job(opts, AutoReport="yes")
    rows, real = try_slurm(opts)
    yield from lines("a step's file on a node: 1 task, 1 row", ends["1 task"])
    yield from lines("a step's file on a node: %d tasks, 1 row" % TASKS, ends["%d tasks" % TASKS])
    yield from lines("a version of a running step's file", [(version, None)])
    yield from lines("a merge, for each file in it", [(each, None)])
    yield from lines("a merge, beside that", [(merge, None)])
    yield from lines("a job: a batch script and a step, merged", jobs)
    if real:
        yield from lines("the same by a Slurm: sbatch and srun true", real)
    yield from lines("a job with AutoReport, too", reported)
    end, first = middle(ends["%d tasks" % TASKS])
    _, long = middle(ends["many rows"])
    grown = (long - first) / ((2 if opts.quick else 10) * 10 * TASKS) * 1024
    yield Row(ROWS, "a row of a task and its part of the step's", "B", [grown], digits=0)
    yield Row(ROWS, "a step of %d tasks on a node for an hour, a row every %d s" % (TASKS, INTERVAL), "KiB", [first + grown * TASKS * HOUR / INTERVAL / 1024], digits=0)
    kib = first + grown * TASKS * HOUR / INTERVAL / 1024
    yield from of_nodes(middle(real or jobs)[0], first, kib, version)
    yield from of_wide(end, kib, each, merge)
    yield from rows
