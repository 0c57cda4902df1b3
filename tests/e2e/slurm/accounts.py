#!/usr/bin/python3
# runs: in full
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers of real jobs, against the programs' own accounts, the kernel's, and those of Slurm's own
profile of the same tasks at the same time. With cgroup v1 and v2."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from slurmlib import *

INTERVAL = 0.25
# What slurmstepd's child has waited before it became this task is not the task's: the disk, say.
BEFORE = """while read key value; do
    case $key in voluntary*) echo nvcsw=$value >before.$SLURM_PROCID;; esac
done </proc/$$/status; """
EXIT = 0.04  # what a task may need to end, with its memory, beside other tests, once it has read its account


def against_accounts(name, path, directory, task):
    """A whole task, from its first instruction to its last: what it says of itself at its end."""
    a = read_account("%s/account.%d" % (directory, task))
    rows = task_table(path, task)
    name = "%s, task %d" % (name, task)
    is_near(name + ": CPU time is schedstat's", rows["CPUTime"].sum(),
            *own_cpu(a, 0.002, EXIT))
    # It reads its account, which is not in it yet; before its first exec it was slurmstepd.
    is_near(name + ": read", rows["ReadMB"].sum(), a["io.rchar"] / MB, 0, 0.05)
    is_near(name + ": written", rows["WriteMB"].sum(), a["io.wchar"] / MB, 0, 0.02)
    is_near(name + ": faults", rows["MinorFaults"].sum(), a["self.minflt"], 0.02, 300)
    a["before.nvcsw"] = read_account("%s/before.%d" % (directory, task))["nvcsw"]
    is_near(name + ": voluntary switches", rows["VolSwitches"].sum(),
            a["self.nvcsw"] - a["before.nvcsw"], 0.02, 30)
    is_near(name + ": peak", numpy.nanmax(rows["PeakMB"]) * 1024, a["status.VmHWM"], 0.02, 1500)
    return a


def own_accounts(name, c, d):
    """Two tasks on each of two nodes, and different things done by each."""
    s = c.srun(["-N2", "-n4", "--ntasks-per-node=2", "--mem=300"], of_task(
        "/proc/self/cwd", [tool("jphold"), "-o", "{}", "spin=0.$((2 + SLURM_PROCID))",
                           "naps=$((100 + 100 * SLURM_PROCID))",
                           "write=w.$SLURM_PROCID:$((8 * SLURM_PROCID + 8))",
                           "read=w.$SLURM_PROCID:$((4 * SLURM_PROCID + 4))",
                           "anon=$((16 + 8 * SLURM_PROCID))", "sleep=0.6"], first=BEFORE))
    is_equal(name + ": srun's status", s.end(), 0)
    for node, tasks in ((c.nodes[0], (0, 1)), (c.nodes[1], (2, 3))):
        path = d.get(s.id, 0, node)
        accounts = [against_accounts(name, path, s.dir, t) for t in tasks]
        step = table(path, "Step")
        is_near("%s, %s: Step is its tasks" % (name, node[-1]), step["CPUTime"].sum(),
                sum(a["schedstat.run_ns"] for a in accounts) / 1e9, 0.002, len(tasks) * EXIT)
        begun = sum(a["start.run_ns"] for a in accounts) / 1e9
        before = sum(a["before.nvcsw"] for a in accounts)
        # the step also has what slurmstepd's children do before they become tasks
        for column, slack in (("CPUTime", 0.01 + begun), ("ReadMB", 0.05), ("WriteMB", 0.01),
                              ("VolSwitches", 20 + before), ("MinorFaults", 800)):
            more = step[column].sum() - sum(task_table(path, t)[column].sum() for t in tasks)
            is_true("%s, %s: Step is its tasks, %s" % (name, node[-1], column),
                    -1e-6 < more <= slack, more)


def proc(name, c, d):
    """Between two instants at which the tasks are at rest: exactly what /proc says."""
    h = Holds([c.mode + "0", c.mode + "1"])
    cmd = h.cmd("park", "spin=0.3", "naps=50", "write=%s/w.%%d:5" % h.dir,
                "read=%s/w.%%d:3" % h.dir, "anon=20", "park", word=c.mode + "%d")
    words = [str(w).replace("%d", "$SLURM_PROCID") for w in cmd]
    s = c.srun(["-w", c.nodes[1], "-n2"], ["sh", "-c", "exec " + " ".join(words)])
    h.wait()
    w = Window(h.all, 3 * INTERVAL)
    h.go()
    is_equal(name + ": srun's status", s.end(), 0)
    path = d.get(s.id, 0, c.nodes[1])
    for i in (0, 1):
        rows = task_table(path, i)
        compare("%s, task %d" % (name, i), w, rows, [i])
        is_near("%s, task %d: RSS" % (name, i), last(rows, "RSS", w.end_ns) * 1024,
                w.after[i]["VmRSS"], 0.01)
    compare(name + ", Step", w, table(path, "Step"))


def beside_slurm(name, c, d):
    """Slurm's first row has no CPU time and its clock ticks in seconds: tasks rest at both ends."""
    work = ["sleep=2.6", "anon=60", "spin=4", "write=w.$SLURM_PROCID:48",
            "read=w.$SLURM_PROCID:32", "sleep=3.2"]
    s = c.srun(["-N2", "-n2", "--mem=300", "--profile=task", "--acctg-freq=task=1"],
               of_task("/proc/self/cwd", [tool("jphold"), "-o", "{}"] + work))
    is_equal(name + ": srun's status", s.end(), 0)
    for task, node in enumerate(c.nodes):
        ours = task_table(d.get(s.id, 0, node), task)
        theirs = task_table(os.path.join(c.profile, "root", name_of(s.id, 0, node)), task)
        a = read_account("%s/account.%d" % (s.dir, task))
        which = "%s, node %d" % (name, task + 1)
        # Slurm has two ticks, of user and of system time, too few at most, and nothing from before its first row
        for column, ticks in (("CPUTime", 0.04), ("ReadMB", 0.01), ("WriteMB", 0.01)):
            is_near("%s: %s" % (which, column), ours[column].sum(), theirs[column].sum(), 0.02, ticks)
        is_near(which + ": CPU time is the task's own", ours["CPUTime"].sum(),
                *own_cpu(a, 0.002, EXIT))
        gauges(which, ours, theirs)


def rests(ours, second):
    """The memory is the same all through that second; it is touched later on a busy machine."""
    ends = [last(ours, "RSS", (int(second) + i) * 10**9) for i in (0, 1)]
    return approx(ends[0], ends[1], 0.01)


def gauges(name, ours, theirs):
    """At each of Slurm's instants while the memory is held; its clock ticks in seconds."""
    end = int(ours["TimeNS"][-1])
    held = [r for r in theirs if r["ElapsedTime"] >= 4 and
            (int(r["EpochTime"]) + 1) * 10**9 < end - 5 * 10**8 and rests(ours, r["EpochTime"])]
    is_true(name + ": Slurm has rows", len(held) >= 2, theirs["ElapsedTime"])
    for column in ("RSS", "VMSize"):
        off = [(int(r[column]), last(ours, column, (int(r["EpochTime"]) + 1) * 10**9))
               for r in held]
        off = [(t, o) for t, o in off if not approx(o, t, 0.05)]
        is_equal("%s: %s" % (name, column), off, [])


def main():
    clusters = start_clusters()
    if not clusters:
        return
    d = Profiler(INTERVAL).start()
    in_modes((beside_slurm, own_accounts, proc), clusters, d)
    is_equal("accounts: jobprofd's exit status", d.end(), 0)


need_bpf()
main()
