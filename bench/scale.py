# SPDX-License-Identifier: GPL-2.0-or-later
"""What breaks first where a site grows: a job of up to 10,000 nodes and 10 steps merged, reported and read by the index; how many jobs an
hour the index's host takes; and, from these and from what sizing.py counts, what 100 to 100,000 nodes ask and from where on that is too
much. Takes an hour and 10 GB of disk ($JOBPROF_BENCH_NODES: of so many nodes, 100,1000,10000): only when it is asked for."""

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
HOSTS = "What the index's host takes: profiles on all CPUs, accounting on one"
NODES = "What 1-node jobs of an hour on each node ask, with AutoMerge, AutoReport and versions of running steps"
BREAKS = "From how many nodes on one place is not enough, the first one first"

STEPS = 10


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
    """Yields (what, Used, bytes of the files it reads)."""
    top = disk()
    try:
        first = small_file(top)
        asked = nodes * steps * os.stat(first).st_size * 4
        if shutil.disk_usage(top).free < 2 * asked:
            raise Missing("%s: less than %d GB are free" % (top, 2 * asked / 1e9))
        job = os.path.basename(first).split("_")[0]  # which is in the file, too
        inputs = make_job(top, first, job, nodes, steps)
        out, db = os.path.join(top, "root", "job_%s.h5" % job), os.path.join(top, "index.db")
        yield "merge", Used([JOBPROF, "merge", "-q", "-j", job, "-p", top, "-u", "root", "-o", out]), inputs
        size = os.stat(out).st_size
        scan = [JOBPROF, "index", "scan", "--database", db, top + "/root"]
        for what, args in (("report --html", [JOBPROF, "report", "--html", "-", out]), ("index scan, which judges it", scan), ("report --store", [JOBPROF, "report", "--store", out]),
                           ("index scan of what is stored", [*scan, "--again"])):
            yield what, Used(args), size
    finally:
        shutil.rmtree(top, ignore_errors=True)


def sizes(opts):
    if opts.quick:
        return (10, 40)
    return tuple(int(n) for n in os.environ.get("JOBPROF_BENCH_NODES", "100,1000,10000").split(","))


def wide(opts, figures):
    """figures: {what: (s of the CPU for each node-step of the largest job, MB that each of the last ones took)}"""
    steps, before = 2 if opts.quick else STEPS, {}
    for nodes in sizes(opts):
        for what, u, size in of_job(nodes, steps):
            n = nodes * steps
            m, mb = before.get(what, (0, 0))
            figures[what], before[what] = (u.cpu / n, max(1e-9, (u.mb - mb) / (n - m))), (n, u.mb)
            name = "{:,} nodes x {} steps: {}".format(nodes, steps, what)
            for column, value, digits in (("files", n if what == "merge" else 1, 0), ("MB", size / 1e6, 0), ("s", u.wall, 1), ("s of the CPU", u.cpu, 1),
                                          ("ms of the CPU per node-step", u.cpu * 1000 / n, 2), ("KiB read per node-step", u.read / 1024 / n, 0),
                                          ("MB of memory at most", u.mb, 0), ("open files at most", u.fds, 0)):
                yield Row("scale", name, "", [value], column=column, digits=digits)


# ---- what the index's host takes

def cpu_of(call, *args):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    call(*args)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def of_files(top, n):
    """s of the CPU of reading n small job files: judged, and by the rows that report --store has put there."""
    import sitegen
    profiles, db = os.path.join(top, "profiles%d" % n), os.path.join(top, "%d.db" % n)
    paths = [path for path, _ in sitegen.job_files(profiles, n)]
    judged = cpu_of(index.call, "index", "scan", "--database", db, profiles)
    for path in paths:
        index.call("report", "--store", path)
    return judged, cpu_of(index.call, "index", "scan", "--again", "--database", db, profiles)


def of_accounting(top, n):
    return (cpu_of(list, index.sync(tempfile.mkdtemp(dir=top), n)),)


def hosts(opts, figures):
    """By the processor time of many jobs less that of few: other load changes it little, and a call's start is none of a job's."""
    top, cpus = disk(), os.cpu_count()
    for measure, few, many, what in ((of_files, 20, 60 if opts.quick else 400, (("judged", "jobs judged, small ones"), ("stored", "jobs whose row AutoReport has stored"))),
                                     (of_accounting, 2000, 10000 if opts.quick else 100000, (("sacct", "jobs of Slurm's accounting"),))):
        for (key, text), a, b in zip(what, measure(top, few), measure(top, many)):
            readers = 1 if key == "sacct" else cpus
            figures[key] = readers * (many - few) / max(1e-6, b - a)
            yield Row(HOSTS, text, "a second", [figures[key]], digits=0)


# ---- what nodes ask

HOUR, DAY = 3600.0, 86400.0
COMMENTS, MAILS = 30, 60  # a minute, of the service; its --rate sets another number
JOB_BYTES = 1134          # in the index, with findings and sums: docs/site.md
LIST_US = 0.66            # for each row of its time, of a list by what no sum knows: docs/site.md
LIVE_FILES = 20000        # of running steps, which are looked at in a directory
ANSWERS = 5               # scontrol and squeue for a job, and what its plugins ask, where no Slurm is here to count them
# What a place is taken to bear beside its other work; nothing here measures it.
CALLS_S, BYTES_S, RPCS_S = 5000, 500e6, 100
INDEX_LIMIT_S, MERGE_LIMIT_S, JUDGE_BYTES = 900, 4 * HOUR, 8 << 30


def of_each_node(opts, figures):
    """What one node asks: of files, by sizing.py, and of Slurm."""
    ends, version, jobs = sizing.of_steps(opts), sizing.of_versions(opts), sizing.of_job(opts)
    rows, real = sizing.try_slurm(opts)
    end, first = sizing.middle(ends["%d tasks" % sizing.TASKS])
    _, long = sizing.middle(ends["many rows"])
    grown = (long - first) / ((2 if opts.quick else 10) * 10 * sizing.TASKS)
    kib = first + grown * sizing.TASKS * HOUR / sizing.INTERVAL
    job, every = sizing.middle(real or jobs)[0], sizing.publish_interval()
    rpcs = [r.median() for r in rows if r.values and "RPCs" in r.name]
    versions = 2 * (1 + HOUR / every)
    figures.update(calls=(job.metadata() + versions * version.metadata()) / HOUR, written=1024 * (4 * kib + versions * (first + kib) / 2) / HOUR,
                   rpcs=(rpcs[1] - rpcs[0] if len(rpcs) == 2 else ANSWERS) / HOUR, end=end.metadata(), every=every)


def of_nodes(f):
    for n in sizing.MANY:
        name, jobs_s = "{:,} nodes".format(n), n / HOUR
        for column, value, digits in (
                ("jobs a second", jobs_s, 2), ("file system: calls/s", n * f["calls"], 0), ("MB/s written", n * f["written"] / 1e6, 1), ("slurmctld: RPCs/s", n * f["rpcs"], 1),
                ("index's host: % busy, rows stored", 100 * jobs_s * (1 / f["stored"] + 1 / f["sacct"]), 1), ("% busy, jobs judged", 100 * jobs_s * (1 / f["judged"] + 1 / f["sacct"]), 1),
                ("% busy, running steps judged", 100 * n / f["every"] / f["judged"], 0), ("index: GB a year", jobs_s * DAY * 365 * JOB_BYTES / 1e9, 0),
                ("comments a minute", 60 * jobs_s, 0)):
            yield Row(NODES, name, "", [value], column=column, digits=digits)


def limits(f):
    """(what, up to what it goes, nodes, what to set then)"""
    yield "AdminComment=yes: a comment for each job", "%d a minute" % COMMENTS, COMMENTS / 60 * HOUR, "--rate of index watch; the newest have theirs"
    yield "a mail for each job", "%d a minute" % MAILS, MAILS / 60 * HOUR, "--rate of index watch; arrays have one mail"
    yield "a list of 30 days by what no sum knows", "1 s", 1e6 / LIST_US / (30 * 24), "--since 7d; an index for each cluster"
    yield "live page: one user's job on all nodes, two steps a node", "%s files" % format(LIVE_FILES, ","), LIVE_FILES / 2, "LiveFiles=no; squeue and jobprof top"
    yield "running steps judged, versions every %g s" % f["every"], "%.0f jobs/s" % f["judged"], f["judged"] * f["every"], "PublishInterval=3600, LiveFiles=no"
    yield "a job of all nodes and %d steps, judged by the index" % STEPS, "%d s" % INDEX_LIMIT_S, INDEX_LIMIT_S / STEPS / f["index scan, which judges it"][0], "AutoReport=yes"
    yield "files of a job of all nodes, within a minute", "%d calls/s" % CALLS_S, 60 * CALLS_S / f["end"], "several metadata servers"
    yield "files of jobs of an hour", "%d calls/s" % CALLS_S, CALLS_S / f["calls"], "LiveFiles=no, several metadata servers"
    yield "bytes of these", "%.0f MB/s" % (BYTES_S / 1e6), BYTES_S / f["written"], "LiveFiles=no, JobAcctGatherFrequency"
    yield "slurmctld, asked of jobs of an hour", "%d RPCs/s" % RPCS_S, RPCS_S / f["rpcs"], "profile only jobs that ask for it"
    yield "jobs of an hour judged by the index", "%.0f jobs/s" % f["judged"], f["judged"] * HOUR, "AutoReport=yes"
    yield "jobs of an hour, rows stored", "%.0f jobs/s" % f["stored"], f["stored"] * HOUR, "PostgreSQL, more CPUs, an index for each cluster"
    yield "a job of all nodes and %d steps, merged" % STEPS, "4 h of one CPU", MERGE_LIMIT_S / STEPS / f["merge"][0], "jobprof merge by hand, --threads 8"
    yield "the same reported: memory", "8 GiB", JUDGE_BYTES / 1048576 / STEPS / f["report --html"][1], "jobprof report -N of some nodes"


def breaks(f):
    for what, bears, nodes, then in sorted(limits(f), key=lambda x: x[2]):
        yield Row(BREAKS, what, "", verdict=bears, column="up to")
        yield Row(BREAKS, what, "", [nodes], column="nodes", digits=0)
        yield Row(BREAKS, what, "", verdict=then, column="then")


def run(_, opts):
    figures, rows = {}, []
    try:
        rows += wide(opts, figures)
        rows += hosts(opts, figures)
        of_each_node(opts, figures)
        rows += of_nodes(figures)
        rows += breaks(figures)
    finally:
        sizing.steps.remove_cgroups()
    return rows
