#!/usr/bin/python3
# timeout: 600
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a job costs the file system that the nodes share: bytes, and opens, fsyncs, renames and the like
of jobprofd and all its children, by strace. And when nodes write the files of running steps."""

import contextlib
import pwd
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

USER = pwd.getpwnam("nobody")
KIB = 1024
STEP_MOST, JOB_MOST = 40 * KIB, 100 * KIB
# Before this was measured: 30 opens of files, 29 of directories, 10 fsyncs, 5 renames of a user's job like that.
MOST = {"open": 18, "open directory": 12, "fsync": 5, "rename": 5, "unlink": 6}
tree = Trees()


def run_job(d, seconds=0.05, keep=None):
    """A job of one node: a batch script, an extern step in which its user was, and a step; its files go to
    keep, too, as they come. The id."""
    job = new_job()
    base = tree.job(job)
    words = ["-u", USER.pw_uid, "-e", "SLURM_JOB_NODELIST=" + NODE, "-e", "SLURM_STEP_NUM_NODES=1"]
    steps = [Stepd(job, "extern", ["sleep", seconds + 1.5], v2_shared(base + "/step_extern", words)),
             Stepd(job, "batch", ["sleep", seconds + 1], v2_task(base + "/step_batch", words))]
    wait_until(lambda: len(glob.glob(d.state + "/steps/*.journal")) == 2, 20, "two steps")
    steps.append(Stepd(job, 0, ["sleep", seconds], v2_task(base + "/step_0", words)))
    for s in reversed(steps):
        s.end()
    files = [d.file(job, step, USER.pw_name) for step in (0, "batch", "4294967292")]
    sizes = [os.path.getsize(p) for p in files]
    for path, _, _ in os.walk(base, topdown=False):
        wait_until(lambda: removed(path), 10, "its cgroup to be gone")
    merged = os.path.join(d.hdf5, USER.pw_name, "job_%d.h5" % job)
    wait_until(lambda: os.path.exists(merged) and "analysis" in groups(merged), 60, "the merge and its report")
    return job, sizes, merged


def groups(path):
    with h5py.File(path, "r") as f:
        return set(f)


class Calls:
    """Of a trace: calls by kind that name, or have open, something below a directory."""

    KINDS = (("open directory", "open", "O_DIRECTORY"), ("open", "open", ""), ("fsync", "fsync", ""),
             ("fsync", "fdatasync", ""), ("rename", "rename", ""), ("unlink", "unlink", ""))

    def __init__(self, log, below):
        self.counts, self.synced = {}, []
        begun = {}
        with open(log, errors="replace") as f:
            for line in f:
                pid, _, call = line.strip().partition(" ")
                call = call.strip()
                if call.endswith("<unfinished ...>"):
                    begun[pid] = call[:-len("<unfinished ...>")]
                    continue
                if call.startswith("<..."):
                    call = begun.pop(pid, "") + call.split(">", 1)[1]
                if below in call and not (call.startswith("fsync") and ".h5" not in call):  # a directory, on a disk of this node
                    self.add(call)

    def add(self, call):
        for kind, begins, word in self.KINDS:
            if call.startswith(begins) and word in call:
                self.counts[kind] = self.counts.get(kind, 0) + 1
                if kind == "fsync":
                    self.synced.append(re.search("<([^>]*)>", call)[1])
                return


def a_small_job():
    """Three steps of a row each, merged and reported on."""
    if not shutil.which("strace"):
        raise Skipped("no strace")
    log = os.path.join(tmpdir("trace"), "log")
    d = Daemon(interval=30, AutoMerge="yes", AutoReport="yes", PublishInterval=None, NodeTables=None, wrap=[
        "strace", "-D", "-f", "--seccomp-bpf", "-qq", "-y", "-s", "4096", "-o", log, "-e", "signal=none", "-e",
        "trace=openat,open,openat2,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat"])
    d.start()
    job, sizes, merged = run_job(d)
    is_true("a step of one row", max(sizes) <= STEP_MOST, sizes)
    is_true("the job's file, with its report", os.path.getsize(merged) <= JOB_MOST, os.path.getsize(merged))
    is_equal("a clean end", d.end(), 0)
    calls = Calls(log, d.hdf5 + "/" + USER.pw_name)
    print("%s bytes of steps, %d of the job; %s" % (sizes, os.path.getsize(merged), calls.counts))
    is_true("strace saw all of it", calls.counts.get("rename") == MOST["rename"], calls.counts)
    is_equal("calls that are more than they were", {k: n for k, n in calls.counts.items() if n > MOST[k]}, {})
    is_equal("fsync: each file once for each version", sorted(os.path.basename(p) for p in calls.synced), sorted(
        [".%d_%s_%s.h5.tmp" % (job, s, NODE) for s in (0, "batch", "4294967292")] + [".job_%d.h5.merge" % job] * 2))


@in_full
def nodes_have_their_own_second():
    """Of two nodes with steps that began at once: each node has its own second, the same with each step."""
    names, job, seen = ("n1", "n2"), new_job(), {}
    daemons = {n: Daemon(interval=1, PublishInterval=8, NodeName=n).start() for n in names}
    scopes = {n: mkcg("%s/jptest%d.slice/%s_slurmstepd.scope/job_%d" % (CGROUP_ROOT, PID, n, job)) for n in names}
    for d in daemons.values():
        d.wakes()
    began = time.monotonic()
    steps = [Stepd(job, k, ["sleep", 19], v2_task("%s/step_%d" % (scopes[n], k))) for n in names for k in range(2)]

    def look():
        for n, d in daemons.items():
            for k in range(2):
                if os.path.exists(os.path.join(d.hdf5, "root", ".%d_%d_%s.h5" % (job, k, n))):
                    seen.setdefault((n, k), time.monotonic() - began)
        return all(s.proc.poll() is not None for s in steps)

    wait_until(look, 60, "the steps to end")
    is_equal("both nodes write both files", sorted(seen), [(n, k) for n in names for k in range(2)])
    is_true("a first version after an interval, within another", all(7.5 < t < 18 for t in seen.values()), seen)
    for n in names:
        is_near("the same second of both steps of " + n, seen[n, 0], seen[n, 1], 0, 1.5)
    is_true("another one of the other node", abs(seen["n1", 0] - seen["n2", 0]) > 1.5, seen)
    for d in daemons.values():
        is_equal("a clean end", d.end(), 0)


@in_full
def young_steps():
    """Of a young step the second version comes when the step is twice as old as at the first."""
    d = Daemon(interval=1, PublishInterval=200, NodeTables=None).start()
    job, seen = new_job(), []
    base = tree.job(job)
    s = Stepd(job, 0, ["sleep", 150], v2_task(base + "/step_0"))
    began = time.monotonic()
    path = os.path.join(d.hdf5, "root", ".%d_0_%s.h5" % (job, NODE))

    def two():
        inode = os.path.exists(path) and os.stat(path).st_ino
        if inode and inode not in [i for i, _ in seen]:
            seen.append((inode, time.monotonic() - began))
        return len(seen) == 2

    wait_until(two, 140, "two versions")
    first, second = (t for _, t in seen)
    is_true("the first version after 30 to 60 s", 29 < first < 63, first)
    is_near("the second one in twice that time", second, 2 * first, 0, 3)
    s.proc.terminate()
    s.end()
    d.file(job, 0)
    is_equal("a clean end", d.end(), 0)


@in_full
def late_changes():
    """What begins late in a step is in a version of its file after three to five looks: one more than a step beside it
    has that goes on."""
    d = Daemon(interval=1, PublishInterval=200, NodeTables=None).start()
    jobs = [new_job(), new_job()]
    cmds = (["sh", "-c", "sleep 170; date +%%s >&2; exec %s -a 200 -t 100" % tool("jpmem")], ["sleep", 300])
    steps = [Stepd(j, 0, cmd, v2_task(tree.job(j) + "/step_0")) for j, cmd in zip(jobs, cmds)]
    paths = [os.path.join(d.hdf5, "root", ".%d_0_%s.h5" % (j, NODE)) for j in jobs]
    seen = [set(), set()]

    def one_more():
        for found, path in zip(seen, paths):
            if os.path.exists(path) and os.stat(path).st_mtime < time.time() - 2:  # in one turn of both
                found.add(os.stat(path).st_mtime)
        return len(seen[0]) > len(seen[1])

    wait_until(lambda: one_more() and steps[0].out(), 240, "one more version of the step that changes")
    later = time.time() - int(steps[0].out())
    is_true("after three to five looks", 28 < later < 57, later)
    memory = table(paths[0], "Step")["AnonMB"]
    is_true("with two looks and more of the change", memory[-1] > 199 and memory[-20] > 199 and memory[-57] < 20, memory)
    for s in steps:
        s.proc.terminate()
        s.end()
    is_equal("a clean end", d.end(), 0)


@in_full
def late_bindings():
    """To which CPUs a task was bound late is known with that change: the next look at what it executes is after 85 s."""
    d, job = Daemon(interval=0.5, PublishInterval=10, NodeTables=None).start(), new_job()
    s = Stepd(job, 0, ["sh", "-c", "sleep 30; taskset -cp 0 $$; date +%%s >&2; exec %s -a 200 -t 100" % tool("jpmem")], v2_task(tree.job(job) + "/step_0"))
    path = os.path.join(d.hdf5, "root", ".%d_0_%s.h5" % (job, NODE))

    def bound():
        with contextlib.suppress(OSError), h5py.File(path) as f:
            return f["%s/Tasks/0" % NODE].attrs["Allowed CPU List"] in ("0", b"0")

    wait_until(bound, 75, "the list of CPUs")
    is_true("where it is bound is known", time.time() - int(s.out().split()[-1]) < 30, s.out())
    s.proc.terminate()
    s.end()
    is_equal("a clean end", d.end(), 0)


def nothing_to_look_at():
    for settings in ({"LiveFiles": "no"}, {"PublishInterval": "0"}):
        d = Daemon(**{"PublishInterval": 1, **settings}).start()
        job = new_job()
        s = Stepd(job, 0, ["sleep", 8], v2_task(tree.job(job) + "/step_0"))
        wait_until(lambda: "%d_0_" % job in d.said(), 30, "the step to be seen")
        time.sleep(3)
        where = os.path.dirname(d.path(job, 0))
        seen = os.listdir(where) if os.path.isdir(where) else []
        is_true("no file while it runs: %s" % settings, s.proc.poll() is None and not seen, seen)
        s.end()
        d.file(job, 0)
        d.end()


if __name__ == "__main__":
    run_tests([a_small_job, nothing_to_look_at, nodes_have_their_own_second, young_steps, late_changes, late_bindings])
