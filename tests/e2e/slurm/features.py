#!/usr/bin/python3
# runs: in full
# timeout: 300
# SPDX-License-Identifier: GPL-2.0-or-later
"""What jobprof does with each feature of Slurm: one function per row of docs/compatibility.md. The
first line of its text is the row's name, the rest is the page's account of what was tried.
A feature that this release of Slurm does not have is skipped (needs()); what an administrator has
to know although it works is a note(). The page is compared with what was found, so that it cannot
get old; scripts/compatibility writes it."""

import os
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from featurelib import *
import compatlib
import reporting
import slurm_setups

_lines = []
_say = reporting._say


def _heard(line):
    _lines.append(line)
    _say(line)


reporting._say = _heard


def srun(name, c, d):
    """`srun` on several nodes

    A step of four tasks on two nodes, started by `srun` alone: one file per node, a table per task,
    the exit status of each node's tasks."""
    a, b = c.nodes
    s = c.srun(["-N2", "-n4", "--ntasks-per-node=2"], ["sh", "-c", "sleep 0.8; exit $SLURM_PROCID"])
    is_equal(name + ": srun's status", s.end(), 3)
    task_ends(name, d, s.id, 0, {a: ([0, 1], 1), b: ([2, 3], 3)})


def batch(name, c, d):
    """Batch script with steps

    `sbatch` on two nodes, its script runs a step on one node, then one on both: a file for the
    script and for each step and node."""
    a, b = c.nodes
    j = c.sbatch("srun -N1 -n1 -w %s sleep 0.8\nsrun -N2 -n2 sleep 0.8\nexit 5\n" % a, ["-N2"])
    is_equal(name + ": state", j.end(), "FAILED")
    task_ends(name, d, j.id, "batch", {a: ([0], 5)})
    task_ends(name, d, j.id, 0, {a: ([0], 0)})
    task_ends(name, d, j.id, 1, {a: ([0], 0), b: ([1], 0)})


def array(name, c, d):
    """Job array

    `sbatch --array=3,7`: files of both elements, each with its own job id, the array's id and the
    element's number."""
    j = c.sbatch("sleep 0.8\n", ["--array=3,7", "-w", c.nodes[0]])
    elements = elements_of(c, j.id, "COMPLETED")
    is_equal(name + ": ids", {e: picked(d.get(job, "batch", c.nodes[0]), "Job Id", "Array Job Id",
                                        "Array Task Id") for e, job in elements.items()},
             {e: [elements[e], j.id, e] for e in (3, 7)})


def elements_of(c, first, *states):
    """{number: job id} of an array, once all its elements are in one of the states."""
    def ended():
        out = [l.split() for l in c.command("squeue", "-h", "-r", "-t", "all", "-j", first, "-o",
                                            "%A %K %T").split("\n")]
        return all(l[2] in states for l in out) and {int(l[1]): int(l[0]) for l in out}
    return wait_until(ended, 40, "the array to end")


def het_batch(name, c, d):
    """Heterogeneous batch job

    `#SBATCH hetjob` with components of one and two tasks, then a step over both: each component's
    files have its own job id, the first component's id and the offset."""
    j = c.sbatch("#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n2\nsrun --het-group=0,1 sleep 0.8\n"
                 "exit 6\n")
    wait_until(lambda: c.state("%d+0" % j.id).startswith("FAILED"), 40, "the job to end")
    is_equal(name + ": ids, ends, tasks",
             [het_ids(d, j.id, "batch"), het_ids(d, j.id, 0), het_ids(d, j.id + 1, 0)],
             [[j.id, 0, 6, [0]], [j.id, 0, 0, [0]], [j.id, 1, 0, [1, 2]]])


def het_ids(d, job, step):
    """Of the step's only file: ids, end, tasks."""
    files = wait_until(lambda: glob.glob(d.path_of(job, step, "*")), 20, "the files")
    return picked(files[0], "Het Job Id", "Het Job Offset", "Exit Status") + [tasks_of(files[0])]


def het_srun(name, c, d):
    """Heterogeneous job of `srun`

    `srun -n1 A : -n2 B` makes the job and its one step: the same as above."""
    s = c.srun(["-n1", "sleep", "0.8", ":", "-n2"], ["sleep", "0.8"])
    is_equal(name + ": srun's status", s.end(), 0)
    first = min(int(os.path.basename(p).split(".")[1]) for p in glob.glob(s.dir + "/out.*"))
    is_equal(name + ": ids, ends, tasks", [het_ids(d, first, 0), het_ids(d, first + 1, 0)],
             [[first, 0, 0, [0]], [first, 1, 0, [1, 2]]])


def components(name, c, d):
    """Step of several programs in a plain job

    `srun -n1 A : -n2 B` inside an ordinary allocation of two nodes, where Slurm puts the programs on
    different nodes: each node's file has its tasks, by their numbers in the whole step."""
    a, b = c.nodes
    j = c.sbatch("srun -N1 -n1 -c1 sleep 0.8 : -N1 -n2 -c1 sh -c 'sleep 0.9; exit 3'\n",
                 ["-N2", "-c4"])
    is_equal(name + ": state", j.end(), "FAILED")
    task_ends(name, d, j.id, "batch", {a: ([0], 3)})
    task_ends(name, d, j.id, 0, {a: ([0], 0), b: ([1, 2], 3)})


def async_steps(name, c, d):
    """`srun --async`

    Two steps that `srun` hands to Slurm's step manager and does not wait for, in a job of one
    task: the second waits for the first to end."""
    needs((26, 5), "--async")
    a = c.nodes[0]
    j = c.sbatch("srun --async -n1 sleep 0.8\nsrun --async -n1 sh -c 'sleep 0.8; exit 4'\nswait\n",
                 ["-n1", "-w", a])
    is_equal(name + ": state", j.end(), "COMPLETED")
    task_ends(name, d, j.id, 0, {a: ([0], 0)})
    task_ends(name, d, j.id, 1, {a: ([0], 4)})


UP_AND_SLEEP = "srun sh -c ': >up; exec sleep 100'\n"  # see up()


def up(job, d, step, node):
    """Its task runs and is followed."""
    wait_until(lambda: os.path.exists(job.dir + "/up"), 30, "the task to start")
    wait_until(lambda: "profiling " + name_of(job.id, step, node) in d.said(), 20, "jobprofd")
    time.sleep(0.8)


def requeue(name, c, d):
    """Requeued job

    `scontrol requeue` in the middle of a step: the earlier run's files are in `restart0/`, and their
    `End Reason` is `requeued`; those of the second have `Restart Count` 1."""
    a = c.nodes[0]
    j = c.sbatch("srun sh -c ': >up; exec sleep ${SLURM_RESTART_COUNT:+0.}90'\n",
                 ["--requeue", "-w", a])
    up(j, d, 0, a)
    requeue_job(c, d, j.id)
    state = j.end()
    is_true(name + ": state", state == "COMPLETED", "%s, %s" % (state, j.out()))
    for step in (0, "batch"):
        wait_until(lambda: d.said().count("wrote " + d.path_of(j.id, step, a)) == 2, 30,
                   "the files of both runs")
    last = d.path_of(j.id, 0, a)
    first = os.path.join(d.hdf5, "root", "restart0", name_of(j.id, 0, a))
    is_equal(name + ": the second run", picked(last, "Restart Count", "End Reason"), [1, "exited"])
    is_true(name + ": the first run", os.path.exists(first) and
            picked(first, "Restart Count")[0] in (None, 0) and
            picked(first, "End Reason")[0] == "requeued", (picked(first, "End Reason"), d.of_job(j.id)))


def suspend(name, c, d):
    """Suspended job

    `scontrol suspend`, then `resume`: rows go on and count nothing meanwhile, and the CPU time is
    the task's own in the end."""
    a = c.nodes[0]
    work = ["write=up:0"] + ["spin=0.05", "sleep=0.05"] * 80
    s = c.srun(["-w", a], of_task("/proc/self/cwd", [tool("jphold"), "-o", "{}"] + work))
    up(s, d, 0, a)
    c.command("scontrol", "suspend", s.id)
    c.wait_state(s.id, "SUSPENDED")
    time.sleep(0.4)
    begin = time.time_ns()
    time.sleep(0.8)
    end = time.time_ns()
    c.command("scontrol", "resume", s.id)
    is_equal(name + ": srun's status", s.end(), 0)
    rows = task_table(d.get(s.id, 0, a))
    is_near(name + ": CPU time is the task's own", rows["CPUTime"].sum(),
            *own_cpu(read_account(s.dir + "/account.0"), 0.002, 0.004))
    # the row that began before is not among them
    still = rows[(rows["TimeNS"] > begin + 300000000) & (rows["TimeNS"] <= end)]
    is_true(name + ": rows while it is suspended", len(still) >= 1, rows["TimeNS"])
    is_equal(name + ": in which nothing runs", float(still["CPUTime"].sum()), 0)


def cancel(name, c, d):
    """Cancelled job

    `scancel`: `End Reason` of its step is `cancelled`."""
    a = c.nodes[0]
    j = c.sbatch(UP_AND_SLEEP, ["-w", a])
    up(j, d, 0, a)
    c.command("scancel", j.id)
    is_equal(name + ": state", j.end(), "CANCELLED")
    is_equal(name + ": end", picked(d.get(j.id, 0, a), "End Reason", "Exit Status"),
             ["cancelled", 143])


def signalled(name, c, d):
    """Signalled step

    `scancel --signal=KILL` of one step: its `End Reason` is `signal 9`, and the job goes on."""
    a = c.nodes[0]
    j = c.sbatch(UP_AND_SLEEP + "srun sleep 0.8\n", ["-w", a])
    up(j, d, 0, a)
    c.command("scancel", "--signal=KILL", "%d.0" % j.id)
    is_equal(name + ": state", j.end(), "COMPLETED")
    is_equal(name + ": end", picked(d.get(j.id, 0, a), "End Reason", "Exit Status"),
             ["signal 9", 137])
    task_ends(name, d, j.id, 1, {a: ([0], 0)})


def time_limit(name, c, d):
    """Job out of time

    A step that Slurm ends at the job's time limit: `End Reason` is `time limit`."""
    a = c.nodes[0]
    j = c.sbatch(UP_AND_SLEEP, ["-w", a])
    up(j, d, 0, a)
    c.command("scontrol", "update", "JobId=%d" % j.id, "EndTime=now+2")
    is_equal(name + ": state", j.end(80), "TIMEOUT")
    is_equal(name + ": end", picked(d.get(j.id, 0, a), "End Reason", "Exit Status"),
             ["time limit", 143])


def array_ends(name, c, d):
    """End of array elements

    Of three elements one completes, one is cancelled, one is killed by a signal of its own: each
    has the `End Reason` of its own."""
    a = c.nodes[0]
    j = c.sbatch("""case $SLURM_ARRAY_TASK_ID in
1) sleep 1 ;;
2) : >up; exec sleep 100 ;;
3) sleep 1; exec sh -c 'kill -9 $$' ;;
esac
""", ["--array=1-3", "-w", a])
    wait_until(lambda: os.path.exists(j.dir + "/up"), 30, "the task to start")
    time.sleep(0.8)
    c.command("scancel", "%d_2" % j.id)
    elements = elements_of(c, j.id, "COMPLETED", "CANCELLED", "FAILED")
    got = {e: picked(d.get(job, "batch", a), "End Reason")[0] for e, job in elements.items()}
    is_equal(name + ": ends", got, {1: "exited", 2: "cancelled", 3: "signal 9"})


def sh5util(name, c, d):
    """Slurm's own `sh5util`

    The tool of that release merges our files of a batch job and its steps on two nodes into the
    tree that ours makes, and extracts a series from it."""
    a, b = c.nodes
    j = c.sbatch("srun -N1 -n1 -w %s sleep 0.8\nsrun -N2 -n3 sleep 0.8\n" % a, ["-N2", "-n4"])
    is_equal(name + ": state", j.end(), "COMPLETED")
    has_files(name, d, j.id, [name_of(j.id, "batch", a), name_of(j.id, 0, a), name_of(j.id, 1, a),
                              name_of(j.id, 1, b)])
    tasks = {n: [str(t) for t in tasks_of(d.path_of(j.id, 1, n))] for n in c.nodes}
    merges(name, c, d, j.id, {"batch": {a: ["0"]}, "0": {a: ["0"]}, "1": tasks})
    merged, csv = os.path.join(tmpdir("merge"), "job.h5"), os.path.join(tmpdir("merge"), "x.csv")
    c.command(STOCK, "-S", "-j", j.id, "-u", "root", "-p", d.hdf5, "-o", merged)
    c.command(STOCK, "-E", "-j", j.id, "-i", merged, "-l", "Node:TimeSeries", "-s", "Tasks",
              "-o", csv)
    with open(csv) as f:
        lines = f.read().split("\n")
    rows = sum(len(task_table(d.path_of(j.id, s, n), t)) for s, n, t in (
        [("batch", a, 0), (0, a, 0)] + [(1, n, int(t)) for n in c.nodes for t in tasks[n]]))
    is_equal(name + ": lines of the extracted Tasks", len([l for l in lines[1:] if l]), rows)


def jobprof_option(name, c, d):
    """`--jobprof=`

    Our SPANK plugin's option of `srun`, where nothing is profiled unless asked for: series and
    interval are those that were asked for, and a job that does not ask has no file."""
    a = c.nodes[0]
    s = c.srun(["--jobprof=task,block", "--jobprof-freq=task=0.5", "-w", a], ["sleep", "2.2"])
    is_equal(name + ": srun's status", s.end(), 0)
    asked_for(name, d.get(s.id, 0, a), "BlkReads", "Cycles", 0.5)
    plain = c.srun(["-w", a], ["sleep", "0.8"])
    is_equal(name + ": srun's status, not asked", plain.end(), 0)
    time.sleep(0.5)
    is_equal(name + ": no file unless asked", d.of_job(plain.id), [])


def asked_for(name, path, column, absent, seconds):
    """A column that was asked for, one that was not, the interval."""
    rows = task_table(path)
    is_equal(name + ": columns", [n in rows.dtype.names for n in ("CPUTime", column, absent)],
             [True, True, False])
    # The first row and the last come when the task begins and ends.
    steps = numpy.diff(rows["TimeNS"][:-1].astype("i8")) / 1e9
    is_true(name + ": interval", len(steps) >= 2 and approx(numpy.median(steps), seconds, 0.1),
            steps)


def profile_option(name, c, d):
    """`--profile=`

    `acct_gather_profile/jobprof` in slurm.conf, `srun --profile=task,network`: Slurm's option says
    what is profiled and `--acctg-freq=` how often, and Slurm's network gatherer writes into our
    file."""
    a = c.nodes[0]
    s = c.srun(["--profile=task,network", "--acctg-freq=task=1,network=1", "-w", a],
               ["sleep", "4.2"])
    is_equal(name + ": srun's status", s.end(), 0)
    path = d.get(s.id, 0, a)
    asked_for(name, path, "RSS", "Cycles", 1)
    is_true(name + ": the gatherer's rows", len(table(path, "Network")) >= 3, path)
    plain = c.srun(["-w", a], ["sleep", "0.8"])
    is_equal(name + ": srun's status, not asked", plain.end(), 0)
    time.sleep(0.5)
    is_equal(name + ": no file unless asked", d.of_job(plain.id), [])


def no_plugin(name, c, d):
    """No plugin of ours

    A batch job and a step on two nodes, found by their cgroups alone, and a job that is cancelled;
    there is no option for users then."""
    cancel(name, c, d)
    a, b = c.nodes
    j = c.sbatch("srun -N2 -n4 --ntasks-per-node=2 sh -c 'sleep 0.8; exit $SLURM_PROCID'\n",
                 ["-N2", "-n4", "--ntasks-per-node=2"])
    is_equal(name + ": state", j.end(), "FAILED")
    task_ends(name, d, j.id, "batch", {a: ([0], 3)})
    task_ends(name, d, j.id, 0, {a: ([0, 1], 1), b: ([2, 3], 3)})


def with_none(d):
    del d
    return {}


def with_spank(d):
    """As the manual has a site set up: our SPANK plugin, and nothing else. It waits for long: the
    machine that runs all this may have few CPUs."""
    return {"plugstack": ["optional %s socket=%s timeout=1000" % (plugin("spank_jobprof.so"),
                                                                  d.settings["Socket"])]}


def with_stepmgr(d):
    conf = ["SlurmctldParameters=enable_stepmgr", "PrologFlags=Contain"]
    return dict(with_spank(d), conf=conf if RELEASE >= (24, 5) else [])


def with_both(d):
    """Both plugins, and a gatherer of Slurm's."""
    return dict(with_spank(d), conf=["AcctGatherProfileType=acct_gather_profile/jobprof",
                                     "AcctGatherInterconnectType=acct_gather_interconnect/sysfs",
                                     "PluginDir=%s:%s" % (PLUGINS, PLUGIN_DIR)],
                acct=["SysfsInterfaces=lo", "ProfileJobprofSocket=" + d.settings["Socket"]])


# What a cluster of theirs has, what jobprofd has, the features.
GROUPS = [
    (with_spank, {}, [srun, batch, array, array_ends, het_batch, het_srun, components, requeue,
                      suspend, cancel, signalled, time_limit, sh5util]),
    (with_stepmgr, {}, [async_steps]),
    (with_both, {"ProfileHDF5Default": "None"}, [jobprof_option, profile_option]),
    (with_none, {}, [no_plugin]),
]
FEATURES = [f for _, _, features in GROUPS + slurm_setups.GROUPS for f in features]


def cell_of(feature, mode):
    """What was found: yes, no, or - for what this Slurm does not have; and what to know of it."""
    name = "%s, %s" % (feature.__name__, mode)
    found = {}
    for line in _lines:
        kind, text = (line[:6], line[7:]) if line.startswith("not ok") else line.split(" ", 1)
        if text.startswith((name, name.replace("_", " "))):
            found.setdefault(kind, []).append(text[len(name):].lstrip(": "))
    for kind, cell in (("not ok", "no"), ("lacks", "no"), ("skip", "-"), ("note", "yes"),
                       ("ok", "yes")):
        if kind in found:
            return [cell, "" if kind == "ok" else "; ".join(found[kind])]
    return ["no", "it was not tried"]


def run_group(options, settings, features, modes):
    if not chosen(features):
        return
    d = Profiler(PublishInterval=0, **settings).start()
    clusters = start_clusters(**options(d))
    modes.update(clusters)
    in_modes(features, clusters, d)
    is_equal("features: jobprofd's exit status", d.end(), 0)
    for c in clusters.values():
        c.down()


def run_groups(groups, modes):
    for g in groups:
        def group():
            run_group(*g, modes)
        run_one(group)


def main():
    modes = {}

    def jobs():
        run_groups(GROUPS, modes)

    def site():
        run_groups(slurm_setups.GROUPS, modes)
    together([jobs, site])
    if len(sys.argv) > 1:
        return
    found = {m: {compatlib.title_of(f): cell_of(f, m) for f in FEATURES} for m in modes}
    compatlib.keep_or_compare(RELEASE, found)


if __name__ == "__main__":
    compatlib.has_rows(FEATURES)
    need_bpf()
    main()
