#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# noisy: other programs have the CPU in the few ms that a writer lives, in which it must be caught
"""What jobprofd runs as a job's user: the user can end or stop it, but not get into it, and it has
nothing of the daemon's. One user's cannot hold up the others' files."""

import contextlib
import pwd
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

USER = pwd.getpwnam("nobody")
AS_USER = ["setpriv", "--reuid=%d" % USER.pw_uid, "--regid=%d" % USER.pw_gid, "--clear-groups"]
PIDS_MAX, MEMORY_PART = 1024, 4
tree = Trees()

# Tries to get into every child of a process that runs as the caller, as fast as possible, until it
# has seen so many or the time is over; or, with the word stop, only stops them.
ATTACK = r"""
import ctypes, os, signal, sys, time
parent, count, seconds, what = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
ptrace = ctypes.CDLL(None, use_errno=True).ptrace
ptrace.argtypes = [ctypes.c_long] * 4
SEIZE = 0x4206
seen, entered, mine = {}, set(), "Uid:\t%d\t%d\t" % (os.getuid(), os.getuid())
end = time.time() + seconds
def attack(pid):
    if mine not in open("/proc/%d/status" % pid).read():
        return
    if what == "stop":
        os.kill(pid, signal.SIGSTOP)
    elif ptrace(SEIZE, pid, 0, 0) == 0:
        entered.add("ptrace of " + open("/proc/%d/comm" % pid).read().strip())
    for name, flags in (("mem", os.O_RDWR), ("environ", os.O_RDONLY)):
        try:
            os.close(os.open("/proc/%d/%s" % (pid, name), flags))
            entered.add(name)
        except OSError:
            pass
    seen[pid] = True
while len(seen) < count and time.time() < end:
    for pid in open("/proc/%d/task/%d/children" % (parent, parent)).read().split():
        try:
            attack(int(pid))
        except OSError:
            pass
print(len(seen), ", ".join(sorted(entered)), sep=";")
"""


def attack(parent, count, seconds, what="enter"):
    return start(AS_USER + [sys.executable, "-c", ATTACK, str(parent), str(count), str(seconds), what],
                 stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, cwd="/")


def outcome(p):
    """How many were attacked, and where that succeeded."""
    out, _ = p.communicate(timeout=60)
    seen, _, entered = out.strip().partition(";")
    return int(seen), entered


def run_step(job, step=0, user=USER, seconds=0.5, nodes=NODE, nnodes=1):
    words = ["-u", user.pw_uid, "-e", "SLURM_JOB_NODELIST=" + nodes, "-e",
             "SLURM_STEP_NUM_NODES=%d" % nnodes]
    base = tree.job(job) + "/step_%s" % step
    return Stepd(job, step, ["sleep", seconds], v2_task(base, words))


def can_trace():
    """This machine lets a user trace what is the user's."""
    victim = start(["sh", "-c", " ".join(AS_USER) + " sleep 20; true"])
    try:
        seen, entered = outcome(attack(victim.pid, 1, 10))
    finally:
        victim.kill()
    if "ptrace" not in entered:
        raise Skipped("no user may trace here (ptrace_scope): %d, %s" % (seen, entered))


def memberships(pid):
    """Of a process: {controllers: path}, "" for v2."""
    with open("/proc/%d/cgroup" % pid) as f:
        return {words[1]: words[2] for words in (l.strip().split(":", 2) for l in f)}


def own_groups(d):
    """Cgroups that are the daemon's alone, as a service manager gives them. By controllers."""
    groups = {}
    name = "jptest_writers_%d" % PID
    groups[""] = mkcg(name)
    for controller in ("memory", "pids"):
        try:
            groups[controller] = mkcg(name, need_cgroup1(controller))
        except Skipped:
            pass
    for g in groups.values():  # if it fails to remove them
        lib._cgroups += [g + "/daemon", g + "/children"]
    script = "".join("echo $$ >%s/cgroup.procs && " % g for g in groups.values())
    d.wrap = ["sh", "-c", script + 'exec "$@"', "sh"]
    return groups


def children(d):
    with open("/proc/%d/task/%d/children" % (d.proc.pid, d.proc.pid)) as f:
        return [int(p) for p in f.read().split()]


def text_of(path):
    with open(path) as f:
        return f.read().strip()


def state_of(pid):
    try:
        return text_of("/proc/%d/stat" % pid).rpartition(")")[2].split()[0]
    except OSError:
        return "gone"


def stops(pid):
    """Within a tenth of a second of SIGSTOP."""
    end = time.time() + 0.1
    while time.time() < end and state_of(pid) != "T":
        pass
    return state_of(pid) == "T"


def stopped_writer(d, seconds=20):
    """Somewhere in a writer's life, after it has set its limits. A writer that exits does not stop. None is stopped
    before: one that is stopped again and again may have no CPU in between, and no end."""
    end = time.time() + seconds
    while time.time() < end:
        for pid in children(d):
            try:
                if limits_of(pid)["Max open files"] != "64":
                    continue
                os.kill(pid, signal.SIGSTOP)
                if stops(pid):
                    return pid
                os.kill(pid, signal.SIGCONT)
            except OSError:
                pass
    raise Failed("no writer could be caught in %d s" % seconds)


def limits_of(pid):
    return {l[:26].strip(): l[26:].split()[0] for l in text_of("/proc/%d/limits" % pid).split("\n")}


def protect(d):
    """From the OOM killer, as the unit does."""
    try:
        with open("/proc/%d/oom_score_adj" % d.proc.pid, "w") as f:
            f.write("-900")
    except PermissionError:
        pass


def open_files(pid):
    """What the descriptors of a process lead to; those that are closed meanwhile are left out."""
    links = {}
    for n in os.listdir("/proc/%d/fd" % pid):
        try:
            links[int(n)] = os.readlink("/proc/%d/fd/%s" % (pid, n))
        except FileNotFoundError:
            pass
    return links


def check_bare(d, pid, groups):
    links = open_files(pid)
    theirs = os.path.join(d.hdf5, USER.pw_name)
    is_equal("a writer: no descriptor but its own", {n: f for n, f in links.items() if not (
        n < 2 and f == "/dev/null" or n == 2 and f.startswith("pipe:") or
        n > 2 and (f.endswith(".journal") or f.startswith(theirs)))}, {})
    name = "a writer: none of jobprofd's protection from the OOM killer"
    scores = [text_of("/proc/%d/oom_score_adj" % p) for p in (d.proc.pid, pid)]
    if scores[0] == "-900":
        is_equal(name, scores[1], "0")
    else:
        skip(name, "root may not protect a process here (CAP_SYS_RESOURCE)")
    limits = limits_of(pid)
    is_equal("a writer: limits", [limits[k] for k in ("Max core file size", "Max locked memory")],
             ["0", "0"])
    at = memberships(pid)
    mine = memberships(d.proc.pid)
    top = "/jptest_writers_%d" % PID
    is_equal("a writer: a cgroup of its own", [mine[""], at[""]], [top + "/daemon", top + "/children"])
    for controller, directory in groups.items():
        if controller:
            is_equal("a writer: its own cgroup of v1's %s" % controller,
                     [mine[controller], at[controller]], [top, top + "/children"])
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE") // MEMORY_PART
    if "memory" in groups:
        got = int(text_of(groups["memory"] + "/children/memory.limit_in_bytes"))
        is_near("writers: memory is limited", got, memory, 0, 4096)
    elif os.path.exists(groups[""] + "/children/memory.max"):
        is_near("writers: memory is limited", int(text_of(groups[""] + "/children/memory.max")),
                memory, 0, 4096)
    else:
        skip("writers: memory is limited", "no memory controller here")
    where = groups.get("pids", groups[""]) + "/children/pids.max"
    if os.path.exists(where):
        is_equal("writers: processes are limited", int(text_of(where)), PIDS_MAX)
    else:
        skip("writers: processes are limited", "no pids controller here")


def guarded():
    """Writers of a running step and a merge that waits, under attack by their user."""
    can_trace()
    d = Daemon(0.2, -5, AutoMerge="yes")
    groups = own_groups(d)
    d.start()
    protect(d)
    job, merged = new_job(), new_job()
    p = attack(d.proc.pid, 3, 30)
    # several: the longer a writer takes, the less often there is one of a step
    steps = [run_step(job, i, seconds=100) for i in range(8)]
    seen, entered = outcome(p)
    is_true("writers were attacked", seen >= 3, "only %d in 30 s: %s" % (seen, d.said()[-300:]))
    is_equal("a writer's user cannot get into it", entered, "")
    check_bare(d, stopped_writer(d), groups)
    for pid in children(d):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    for s in steps:
        s.proc.terminate()
    for i, s in enumerate(steps):
        s.end()
        d.file(job, i, USER.pw_name)
    run_step(merged, nodes=NODE + ",zz1", nnodes=2).end()
    d.file(merged, 0, USER.pw_name)
    os.rmdir(tree.job(merged))
    seen, entered = outcome(attack(d.proc.pid, 1, 15))
    is_equal("a merge's user cannot get into it", [seen, entered], [1, ""])
    for pid in children(d):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not children(d) and not text_of(groups[""] + "/children/cgroup.procs"), 10,
               "the merge and its own to be gone")
    is_equal("a clean end", d.end(), 0)
    is_equal("its cgroups go with jobprofd",
             [os.listdir(g) for g in groups.values() if os.path.exists(g + "/children") or
              os.path.exists(g + "/daemon")], [])


def shared():
    """A user stops all of the user's writers: another's file comes all the same, meanwhile."""
    d = Daemon(0.2, -5, PublishInterval=0).start()
    jobs = [new_job() for _ in range(20)]
    p = attack(d.proc.pid, 100, 60, "stop")
    steps = [run_step(j) for j in jobs]
    for s in steps:
        s.end()

    def stopped():
        return [c for c in children(d) if state_of(c) == "T"]

    wait_until(lambda: len(stopped()) >= 8, 20, "writers to be stopped: %s" % d.said()[-300:])
    other = new_job()
    run_step(other, user=pwd.getpwuid(0)).end()
    d.file(other, 0)
    held = stopped()
    p.kill()
    p.wait()
    is_equal("one user's stopped writers: a share of all, and another's file comes", len(held), 8)
    for pid in held:
        os.kill(pid, signal.SIGCONT)
    for j in jobs:
        d.file(j, 0, USER.pw_name, 30)
    is_equal("a clean end", d.end(), 0)


def waiting():
    """Files that cannot be written may be many: none of them holds a descriptor, and all come later."""
    d = Daemon(PublishInterval=0)
    os.rmdir(d.hdf5)
    open(d.hdf5, "w").close()
    d.start()
    jobs = [new_job() for _ in range(8)]
    for p in [run_step(j, seconds=1.5) for j in jobs]:  # the first of them has the programs attached
        p.end()
    wait_until(lambda: "cannot write" in d.said(), 20, "a failure")
    open_journals = lambda: [f for f in open_files(d.proc.pid).values()
                             if ".journal" in f and any("/%d_" % j in f for j in jobs)]
    try:
        wait_until(lambda: not open_journals(), 10, "closed journals")
    except Failed:
        pass
    is_equal("files that wait: no descriptor", open_journals(), [])
    os.unlink(d.hdf5)
    os.mkdir(d.hdf5, 0o755)
    for j in jobs:
        d.file(j, 0, USER.pw_name, 30)
    is_equal("files that wait: each comes, and the end is clean", d.end(), 0)


def housekeeping():
    """All that runs for jobprofd keeps to its CPUs, and what it profiles does not."""
    cpus = os.sched_getaffinity(0)
    if len(cpus) < 2:
        raise Skipped("there is one CPU")
    top = tmpdir("writer")
    with open(top + "/writer", "w") as f:
        f.write('#!/bin/sh\ngrep Cpus_allowed_list /proc/self/status >>%s/said\nexec %s "$@"\n' %
                (top, os.path.join(BUILD, "jobprof-writer")))
    os.chmod(top + "/writer", 0o755)
    d = Daemon(0.2, HousekeepingCPUs="%d,%d" % (max(cpus), 1000), Writer=top + "/writer").start()
    job = new_job()
    step = Stepd(job, 0, ["sleep", "1"], v2_task(tree.job(job) + "/step_0"))
    threads = [int(t) for p in [d.proc.pid, *children(d)] for t in os.listdir("/proc/%d/task" % p)]
    is_equal("HousekeepingCPUs: jobprofd and its helpers", {t: os.sched_getaffinity(t) for t in threads},
             dict.fromkeys(threads, {max(cpus)}))
    is_true("HousekeepingCPUs: there are helpers", len(threads) > 1, threads)
    is_equal("HousekeepingCPUs: a step's processes", os.sched_getaffinity(step.proc.pid), cpus)
    step.end()
    d.file(job, 0)
    is_equal("HousekeepingCPUs: writers", {x.split()[1] for x in text_of(top + "/said").splitlines()}, {str(max(cpus))})
    is_equal("HousekeepingCPUs: the end", d.end(), 0)


if __name__ == "__main__":
    need_bpf()
    run_tests([guarded, shared, waiting, housekeeping])
