#!/usr/bin/python3
# timeout: 150
# SPDX-License-Identifier: GPL-2.0-or-later
"""Ranks of MPI launchers inside one task, against each rank's own account: of Open MPI's and MPICH's
mpirun, and of variables that stand in for other launchers."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

OMPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def groups(path):
    with h5py.File(path, "r") as f:
        node = next(k for k in f if isinstance(f[k], h5py.Group))
        return {k: sorted(int(t) for t in f[node][k]) if k in f[node] else []
                for k in ("Ranks", "Tasks")}


def rank_table(path, n):
    return table(path, "Ranks/%d" % n)


def own(d, pattern):
    """CPU time by the accounts that programs wrote of themselves, and the time before their main()."""
    a = [read_account(p) for p in glob.glob(os.path.join(d, pattern))]
    if not a:
        raise Failed("no account %s in %s" % (pattern, os.listdir(d)))
    return (sum(x["schedstat.run_ns"] for x in a) / 1e9, 0.005,
            0.004 * len(a) + sum(x["start.run_ns"] for x in a) / 1e9)


def check_sum(name, path):
    """A launcher's task has what its ranks have, and what it used itself."""
    task = task_table(path)
    ranks = [rank_table(path, n) for n in groups(path)["Ranks"]]
    for column in ("CPUTime", "ReadCalls", "MinorFaults", "Forks"):
        of_ranks = sum(r[column].sum() for r in ranks)
        is_true("%s: %s of the task includes the ranks'" % (name, column),
                0 < of_ranks + (column == "Forks") and of_ranks <= task[column].sum() + 1e-5,
                "%g of %g" % (of_ranks, task[column].sum()))
    is_equal("%s: the same columns as a task's" % name, ranks[0].dtype, task.dtype)
    step = table(path, "Step")
    is_near("%s: the step is its task" % name, task["CPUTime"].sum(), step["CPUTime"].sum(), 0, 1e-5)


def launched(name, mpirun, variable):
    """Two launchers, one after the other: ranks of one number share a table."""
    d = tmpdir("ranks")
    once = "%s -o %s/%%s.$%s 0.%%d$%s; " % (tool("jpspin"), d, variable, variable)
    cmd = "%s -n 4 sh -c '%s'; %s -n 2 sh -c '%s'" % (
        mpirun, once % ("a", 1) + once % ("b", 1), mpirun, once % ("c", 2))
    r, path = run_jobprof(["bash", "-c", cmd], env=plain_env(**OMPI), timeout=90)
    is_equal("%s: ranks" % name, groups(path), {"Ranks": [0, 1, 2, 3], "Tasks": [0]})
    for n in range(4):
        budget = table(path, "RankBudget/%d" % n)
        is_near("%s: rank %d: its budget has its CPU time" % (name, n), budget["Running"].sum(),
                rank_table(path, n)["CPUTime"].sum(), 0.002, 0.005)
        is_near("%s: rank %d: its budget adds up" % (name, n), budget["ThreadTime"].sum(),
                sum(budget[c].sum() for c in budget.dtype.names[2:-1]) / 2, 0, 1e-4)
        is_near("%s: rank %d has its own CPU time" % (name, n), rank_table(path, n)["CPUTime"].sum(),
                *own(d, "?.%d" % n))
    check_sum(name, path)
    text = subprocess.run([JOBPROF, "show", path], capture_output=True, text=True).stdout
    cpu = {n: rank_table(path, n)["CPUTime"].sum() for n in range(4)}
    low, high = min(cpu, key=cpu.get), max(cpu, key=cpu.get)
    is_true("%s: show has the ranks" % name, "\n  ranks     4: CPU time %.3f s (rank %d) to %.3f s "
            "(rank %d)\n" % (cpu[low], low, cpu[high], high) in text, text)
    rows = subprocess.run([JOBPROF, "items", "-s", "Ranks", "-d", "CPUTime", "-o", "-", path],
                          capture_output=True, text=True).stdout.splitlines()
    is_true("%s: items puts them side by side" % name,
            [c.rpartition("/")[2] for c in rows[0].split(",")[-4:]] == list("0123"), rows[0])


def open_mpi():
    mpirun = shutil.which("mpirun.openmpi")
    if not mpirun:
        raise Skipped("there is no Open MPI: scripts/install-deps test")
    launched("Open MPI", mpirun + " --oversubscribe", "OMPI_COMM_WORLD_RANK")


def mpich():
    mpirun = shutil.which("mpirun.mpich")
    if not mpirun:
        raise Skipped("there is no MPICH: scripts/install-deps test")
    launched("MPICH", mpirun, "PMI_RANK")


def variables():
    """Which variable counts; and what is no rank."""
    d = tmpdir("vars")

    def spin(name, env):
        return "env %s %s -o %s/%s 0.1" % (env, tool("jpspin"), d, name)
    cmds = (spin("5", "PMIX_RANK=9 OMPI_COMM_WORLD_RANK=5 SLURM_PROCID=0"),
            spin("6", "PMI_RANK=8 PMIX_RANK=6"), spin("7", "PMI_RANK=8 MV2_COMM_WORLD_RANK=7"),
            spin("8", "PMI_RANK=8"),
            spin("none1", "OMPI_COMM_WORLD_LOCAL_RANK=3 PMI_SIZE=2 XPMI_RANK=4"),
            spin("none2", "PMI_RANK=x OMPI_COMM_WORLD_RANK=-1 PMIX_RANK="))
    # of a rank, another launcher and a child that says so too
    inner = "env PMI_RANK=2 %s -o %s/10 0.1" % (tool("jpspin"), d)
    r, path = run_jobprof(["bash", "-c", "; ".join(cmds) + "; PMIX_RANK=10 sh -c '%s; true'" % inner])
    is_equal("variables: ranks", groups(path)["Ranks"], [5, 6, 7, 8, 10])
    for n in groups(path)["Ranks"]:
        is_near("variables: rank %d" % n, rank_table(path, n)["CPUTime"].sum(), *own(d, str(n)))


def of_srun():
    """Tasks that are ranks themselves have no table more; a launcher in one of them has. On an idle node the first
    task may begin before the programs are attached."""
    d = Daemon(0.1).start()
    tree, job, dirs = Trees(), new_job(), tmpdir("srun")
    task = "%s -o %s/t%%d 0.1; " % (tool("jpspin"), dirs)
    launcher = "".join("OMPI_COMM_WORLD_RANK=%d %s -o %s/r%%d.%d 0.1; " % (n, tool("jpspin"), dirs, n)
                       for n in (0, 1))
    s = Stepd(job, 0, ["sh", "-c", (task + launcher).replace("%d", "$SLURM_PROCID")],
              v2_task(tree.job(job) + "/step_0", ["-e", "PMIX_RANK=0"]), n=2)
    s.end()
    path = d.file(job, 0)
    is_equal("srun: tables", groups(path), {"Ranks": [0, 1], "Tasks": [0, 1]})
    for n in (0, 1):
        is_near("srun: rank %d of both launchers" % n, rank_table(path, n)["CPUTime"].sum(),
                *own(dirs, "r*.%d" % n))
        is_near("srun: task %d has its ranks" % n, task_table(path, n)["CPUTime"].sum(),
                *own(dirs, "[tr]%d*" % n))
    is_equal("srun: number of tasks", attributes(path)["Number of Tasks"][0], 2)
    is_equal("srun: jobprofd ends", d.end(), 0)


def moved_in():
    """A shell that comes to a task after it began: srun's variable, which it has, makes no rank of its commands; a
    launcher's does."""
    d = Daemon(0.1).start()
    tree, job, dirs = Trees(), new_job(), tmpdir("moved")
    step = tree.job(job) + "/step_0"
    s = Stepd(job, 0, ["sleep", "2"], v2_task(step))
    procs = wait_until(lambda: (glob.glob(step + "/user/task_*/cgroup.procs") or [None])[0], 10, "the task")
    spin = tool("jpspin") + " -o %s/%s 0.1; "
    shell = start(["sh", "-c", "read go; " + spin % (dirs, "own") + "OMPI_COMM_WORLD_RANK=3 " + spin % (dirs, "rank")],
                  stdin=subprocess.PIPE, env=plain_env(PMIX_RANK="0"))
    time.sleep(0.5)
    with open(procs, "w") as f:
        f.write(str(shell.pid))
    shell.communicate(b"\n", timeout=20)
    s.end()
    path = d.file(job, 0)
    is_equal("moved in: ranks", groups(path)["Ranks"], [3])
    is_near("moved in: the launcher's", rank_table(path, 3)["CPUTime"].sum(), *own(dirs, "rank"))
    is_equal("moved in: jobprofd ends", d.end(), 0)


def no_slot():
    """Ranks without a slot count in their task, and the file says that some have no table."""
    d = Daemon(0.1, MaxSlots=16).start()
    tree, job, dirs = Trees(), new_job(), tmpdir("noslot")
    script = "for i in $(seq 0 19); do MV2_COMM_WORLD_RANK=$i %s -o %s/$i 0.02; done" % (tool("jpspin"), dirs)
    s = Stepd(job, 0, ["sh", "-c", script], v2_task(tree.job(job) + "/step_0"), n=1)
    s.end()
    path = d.file(job, 0)
    n, lost = groups(path)["Ranks"], int(attributes(path).get("Lost Ranks", [0])[0])
    is_true("no slot: some ranks have a table", 5 <= len(n) <= 12, n)
    is_equal("no slot: the others are named", len(n) + lost, 20)
    is_near("no slot: the task has all", task_table(path)["CPUTime"].sum(), *own(dirs, "*"))
    is_equal("no slot: jobprofd ends", d.end(), 0)


def others():
    """A job that claims any number of ranks takes no slot from the jobs that begin after it."""
    d = Daemon(0.1, MaxSlots=32).start()
    tree, greedy, job, dirs = Trees(), new_job(), new_job(), tmpdir("others")
    script = ("for i in $(seq 1000 1049); do MV2_COMM_WORLD_RANK=$i /bin/true; done; touch %s/claimed; "
              "while [ ! -e %s/end ]; do sleep 0.1; done" % (dirs, dirs))
    first = Stepd(greedy, 0, ["sh", "-c", script], v2_task(tree.job(greedy) + "/step_0"), n=1)
    wait_until(lambda: os.path.exists(dirs + "/claimed"), 20, "the ranks")
    s = Stepd(job, 0, [tool("jpspin"), "-o", dirs + "/t$SLURM_PROCID", "0.2"],
              v2_task(tree.job(job) + "/step_0"), n=4)
    s.end()
    open(dirs + "/end", "w").close()
    first.end()
    # a quarter of 32 is for steps alone; of the others a job may have as many as it leaves, one of them its task's
    # and one more where jobprofd counts the shares anew just as it begins
    ranks = len(groups(d.file(greedy, 0))["Ranks"])
    is_true("others: ranks have the job's share", ranks in (11, 12), ranks)
    is_equal("others: the rest is lost in its own file", int(attributes(d.file(greedy, 0))["Lost Ranks"][0]), 50 - ranks)
    is_equal("others: the other job has its tasks", groups(d.file(job, 0))["Tasks"], [0, 1, 2, 3])
    is_true("others: and has lost none", "Lost Ranks" not in attributes(d.file(job, 0)), "it has")
    is_equal("others: jobprofd ends", d.end(), 0)


def at_once():
    """Programs of one rank that begin at the same time share its slot, and none is lost."""
    d = Daemon(0.1, MaxSlots=64).start()
    tree, job, dirs = Trees(), new_job(), tmpdir("once")
    script = ("for i in $(seq 0 11); do for k in 1 2 3 4; do MV2_COMM_WORLD_RANK=$i %s -o %s/$i.$k 0.01 & done; wait; "
              "done" % (tool("jpspin"), dirs))
    s = Stepd(job, 0, ["sh", "-c", script], v2_task(tree.job(job) + "/step_0"), n=1)
    s.end()
    path = d.file(job, 0)
    is_equal("at once: ranks", groups(path)["Ranks"], list(range(12)))
    for n in range(12):
        is_near("at once: rank %d" % n, rank_table(path, n)["CPUTime"].sum(), *own(dirs, "%d.*" % n))
    is_equal("at once: jobprofd ends", d.end(), 0)


if __name__ == "__main__":
    need_bpf()
    run_tests((open_mpi, mpich, variables, of_srun, moved_in, no_slot, others, at_once))
