#!/usr/bin/python3
# timeout: 150
# SPDX-License-Identifier: GPL-2.0-or-later
"""What one job or user may take of the node's tables: another's profile is the same as without it, and what is missing is
said in the file of who took it. Names of programs are in commands.py, stacks in stack.py, cgroups in steps.py."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

STAY = "; while [ ! -e %s/end ]; do sleep 0.2; done"
STEP_KIND = 2
tree = None


def spin(where, name, seconds):
    return "%s -o %s/%s.$SLURM_PROCID %g" % (tool("jpspin"), where, name, seconds)


def accounts(where, name):
    return glob.glob("%s/%s.*" % (where, name))


def own_s(path):
    return read_account(path)["schedstat.run_ns"] / 1e9


def victim(name, d, where):
    """A step of four tasks, whole."""
    job = new_job()
    Stepd(job, 0, ["sh", "-c", "exec " + spin(where, "v", 0.2)], v2_task(tree.job(job) + "/step_0"), n=4).end()
    path = d.file(job, 0)
    is_equal(name + ": the other job has its tasks", tasks_of(path), [0, 1, 2, 3])
    for n in range(4):
        is_near("%s: its task %d" % (name, n), task_table(path, n)["CPUTime"].sum(), own_s("%s/v.%d" % (where, n)), 0.01, 0.02)
    attrs = attrs_of(path)
    is_equal(name + ": it has lost nothing", [attrs["Unattributed"], "Lost Ranks" in attrs], [0, False])


def tasks():
    """64 slots, 48 of them for tasks, and a job may have as many as it leaves."""
    d, where, greedy = Daemon(0.2, MaxSlots=64).start(), tmpdir("tasks"), new_job()
    s = Stepd(greedy, 0, ["sh", "-c", spin(where, "g", 0.02) + STAY % where], v2_task(tree.job(greedy) + "/step_0"), n=40)
    wait_until(lambda: len(accounts(where, "g")) == 40, 60, "40 tasks")
    victim("tasks", d, where)
    open(where + "/end", "w").close()
    s.end()
    path = d.file(greedy, 0)
    is_equal("tasks: the job's share has tables, and the file says how many have none",
             [len(tasks_of(path)), attrs_of(path)["Unattributed"]], [24, 16])
    is_true("tasks: the step has them all", table(path, "Step")["CPUTime"].sum() > sum(map(own_s, accounts(where, "g"))),
            table(path, "Step")["CPUTime"])
    d.end()


def steps():
    """A hundred steps at once: a job has half of the slots for them at most."""
    d, where = Daemon(0.2, MaxSlots=64).start(), tmpdir("steps")
    top = os.path.relpath(tree.job(new_job()), cgroup2_mount())
    made = [mkcg("%s/step_%d" % (top, i)) for i in range(100)]
    is_equal("steps: the job's share", sum(kind == STEP_KIND for _, _, kind, _ in d.used_slots()), 31)
    victim("steps", d, where)
    for path in made:
        os.rmdir(path)
    d.end()


def ranks_of(d, where, name, ranks):
    job = new_job()
    script = "while [ ! -e %s/go.%s ]; do sleep 0.1; done; for i in $(seq %d); do PMI_RANK=$i /bin/true; done; echo >%s/%s.had%s" % (
        where, name, ranks, where, name, STAY % where)
    s = Stepd(job, 0, ["sh", "-c", script], [*v2_task(tree.job(job) + "/step_0"), "-u", "65534"])
    wait_until(lambda: "profiling %d_0" % job in d.said(), 20, "the job to be known")
    return job, s


def has(d):
    """Slots of tasks and ranks that each job has, as the programs know it."""
    return sorted(struct.unpack_from("<5I", bytes(v))[1] for v in d.map_bytes("jp_jobs"))


def users():
    """Two jobs of one user have one share, and a third one's is whole."""
    d, where = Daemon(0.2, MaxSlots=64).start(), tmpdir("users")
    os.chmod(where, 0o777)
    first, s1 = ranks_of(d, where, "a", 50)
    open(where + "/go.a", "w").close()
    wait_until(lambda: os.path.exists(where + "/a.had"), 30, "the first job's ranks")
    second, s2 = ranks_of(d, where, "b", 50)
    wait_until(lambda: has(d) == [0, 25], 20, "what both have to be known")
    open(where + "/go.b", "w").close()
    wait_until(lambda: os.path.exists(where + "/b.had"), 30, "the second job's ranks")
    victim("users", d, where)
    open(where + "/end", "w").close()
    for job, s, lost in (first, s1, 50 - 23), (second, s2, 50):
        s.end()
        is_equal("users: ranks that have no table", attrs_of(d.file(job, 0, "nobody"))["Lost Ranks"], lost)
    d.end()


if __name__ == "__main__":
    need_bpf()
    tree = Trees()
    run_tests([tasks, steps, users])
