#!/usr/bin/python3
# timeout: 150
# SPDX-License-Identifier: GPL-2.0-or-later
"""End Reason of steps that Slurm ends, or that only look like it. No slurm.conf is where Slurm's
programs look for it; with our SPANK plugin, which says where it is, without, and where slurmctld has
it. All at the same time; the longest is a time limit, at which slurmctld looks every 30 s."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from slurmlib import *

SPANK = plugin("spank_jobprof.so")
# Its task says that it runs, and which process it is.
SLEEPER = "srun %s sh -c 'echo $$ >pid$SLURM_PROCID; exec sleep 100'"


def read_bytes(path):
    with open(path, "rb") as f:
        return f.read()


def task(job, d, node, number=0):
    """The pid of its task, once the step is known."""
    path = os.path.join(job.dir, "pid%d" % number)
    pid = int(written(path, 40))
    journal = os.path.join(d.settings["StateDir"], "steps", "%d_0_%s.*.journal" % (job.id, node))
    try:
        wait_until(lambda: any(b"Job Name" in read_bytes(p) for p in glob.glob(journal)), 40,
                   "what its environment says")
    except Failed as e:
        raise Failed("%s; jobprofd said %s" % (
            e, [l for l in d.said().splitlines() if str(job.id) in l or "cannot be read" in l]))
    return pid


def ended(d, job, node):
    return picked(d.get(job, 0, node, seconds=60), "End Reason", "Exit Status")


def array(c, node, first):
    """Elements 0, which does what is in first, and 1, which sleeps and begins last: it has the
    array's id."""
    return c.sbatch("[ $SLURM_ARRAY_TASK_ID = 1 ] || { %s; }\n%s\n" % (first, SLEEPER % ""),
                    ["--array=0,1", "-w", node])


def element_state(c, job, index):
    return c.command("squeue", "-h", "-r", "-t", "all", "-j", "%d_%d" % (job.id, index), "-o", "%T")


def completed_sibling(name, c, d):
    node = c.nodes[0]
    j = array(c, node, "exit 0")
    task(j, d, node)
    wait_until(lambda: element_state(c, j, 0) == "COMPLETED", 30, "element 0 to end")
    c.command("scontrol", "update", "JobId=%d_1" % j.id, "EndTime=now+2")
    is_equal(name, ended(d, j.id, node), ["time limit", 143])


def cancelled_sibling(name, c, d):
    node = c.nodes[0]
    j = array(c, node, "exec sleep 100")
    pid = task(j, d, node)
    c.command("scancel", "%d_0" % j.id)
    wait_until(lambda: element_state(c, j, 0) == "CANCELLED", 30, "element 0 to end")
    os.kill(pid, signal.SIGKILL)
    is_equal(name, ended(d, j.id, node), ["signal 9", 137])


def het(c):
    """A step of both components, which are on a node each."""
    return c.sbatch("#SBATCH -n1 -w %s\n#SBATCH hetjob\n#SBATCH -n1 -w %s\n" % tuple(c.nodes) +
                    SLEEPER % "--het-group=0,1" + "\n")


def components(d, j, c):
    """The pids of their tasks."""
    return [task(Job(c, j.id + k, j.dir), d, c.nodes[k], k) for k in (0, 1)]


def het_cancelled(name, c, d):
    """To its plugins Slurm numbers the nodes of each component, to its tasks those of the step."""
    j = het(c)
    components(d, j, c)
    c.command("scancel", j.id)
    is_equal(name + ", 0", ended(d, j.id, c.nodes[0]), ["cancelled", 143])
    is_equal(name + ", 1", ended(d, j.id + 1, c.nodes[1]),
             ["signal 15" if "untold" in name or "configless" in name else "cancelled", 143])


def het_killed(name, c, d):
    """One of them, and the other ends by itself."""
    j = het(c)
    for k, pid in enumerate(components(d, j, c)):
        os.kill(pid, signal.SIGKILL)
        is_equal("%s, %d" % (name, k), ended(d, j.id + k, c.nodes[k]), ["signal 9", 137])


def het_time_limit(name, c, d):
    j = het(c)
    components(d, j, c)
    c.command("scontrol", "update", "JobId=%d" % j.id, "EndTime=now+2")
    for k in (0, 1):
        is_equal("%s, %d" % (name, k), ended(d, j.id + k, c.nodes[k]), ["time limit", 143])


def cancelled(name, c, d):
    node = c.nodes[0]
    j = c.sbatch(SLEEPER % "" + "\n", ["-w", node])
    task(j, d, node)
    c.command("scancel", j.id)
    is_equal(name, ended(d, j.id, node), ["cancelled", 143])


def time_limit(name, c, d):
    """Of a step on two nodes; the first one asks."""
    j = c.sbatch(SLEEPER % "-n2" + "\n", ["-N2"])
    for k in (0, 1):
        task(j, d, c.nodes[k], k)
    c.command("scontrol", "update", "JobId=%d" % j.id, "EndTime=now+2")
    is_equal(name, [ended(d, j.id, n) for n in c.nodes], [["time limit", 143], ["signal 15", 143]])


def main():
    d = Profiler()
    told = {"plugstack": ["optional %s socket=%s timeout=1000" % (SPANK, d.settings["Socket"])]}
    kinds = {"told": told, "untold": {}, "configless": {"configless": True, "modes": ("v2",)}}
    if not os.path.exists(SPANK):
        skip("ends, told", "there is no %s" % SPANK)
        del kinds["told"]
    clusters = {k: start_clusters(**options) for k, options in kinds.items()}
    if not any(clusters.values()):
        return
    d.start()
    every = (cancelled, time_limit, het_cancelled)
    more = (completed_sibling, cancelled_sibling, het_killed, het_time_limit)

    def of(kind):
        def run():
            in_modes(every + (more if kind == "told" else ()),
                     {"%s, %s" % (kind, m): c for m, c in clusters[kind].items()}, d)
        run.__name__ = kind
        return run
    together([of(k) for k in kinds])
    is_equal("ends: jobprofd's exit status", d.end(), 0)


need_bpf()
main()
