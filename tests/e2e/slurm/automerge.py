#!/usr/bin/python3
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""AutoMerge with real jobs: a job of two nodes and several steps becomes one file of its user's, and
with it the run before a requeue; so does each component of a heterogeneous job. Cgroup v1 and v2."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from slurmlib import *


def job_file(d, job, run="", user="nobody"):
    return os.path.join(d.hdf5, user, "job_%d%s.h5" % (job, run))


def merged(d, job, run="", user="nobody", seconds=40):
    """What is in it, once it is there."""
    path = job_file(d, job, run, user)
    try:
        wait_until(lambda: os.path.exists(path), seconds, "the job file")
    except Failed:
        raise Failed("no %s; there are %s; jobprofd said %s" % (
            path, d.of_job(job, user), [l for l in d.said().splitlines() if str(job) in l][-8:]))
    return steps_in(path)


def whole_job(name, c, d):
    script = "srun -N2 -n4 --ntasks-per-node=2 sleep 1\nsrun -w %s -N1 -n1 sleep 1\n" % c.nodes[1]
    j = c.sbatch(script, ["-N2", "-n4", "--ntasks-per-node=2"], user="nobody")
    is_equal(name + ": state", j.end(), "COMPLETED")
    a, b = c.nodes
    is_equal(name + ": merged", merged(d, j.id),
             {"batch": {a: ["0"]}, "0": {a: ["0", "1"], b: ["2", "3"]}, "1": {b: ["0"]}})
    his = [NOBODY.pw_uid, NOBODY.pw_gid]
    is_equal(name + ": owner and mode", owned(job_file(d, j.id)), his + [0o644] + his + [0o700])
    has_files(name, d, j.id, [], "nobody")


def het(name, c, d):
    """A step over two components: each is a job with nodes of its own, though tasks are told of all."""
    s = c.srun(["-n1", "-w", c.nodes[0], "sleep", "4", ":", "-n2", "-w", c.nodes[1]], ["sleep", "4"],
               user="nobody")
    is_equal(name + ": srun's status", s.end(), 0)
    first = min(int(os.path.basename(p).split(".")[1]) for p in glob.glob(s.dir + "/out.*"))
    for i, (node, tasks) in enumerate(zip(c.nodes, (["0"], ["1", "2"]))):
        is_equal("%s, %d: merged" % (name, i), merged(d, first + i), {"0": {node: tasks}})
        with h5py.File(job_file(d, first + i), "r") as f:
            is_equal("%s, %d: nodes that are missing" % (name, i),
                     f["Steps/0"].attrs.get("Number of Missing Nodes", 0), 0)


def requeue(name, c, d):
    j = c.sbatch("[ $SLURM_RESTART_COUNT ] || { sleep 60; }\nsleep 1\n", ["-N1", "--requeue"],
                 user="nobody")
    node = wait_until(lambda: c.show(j.id).get("BatchHost"), 20, "the job to run")
    wait_until(lambda: os.path.exists(os.path.join(
        d.hdf5, "nobody", "." + name_of(j.id, "batch", node))), 20, "the live file")
    c.command("scontrol", "requeue", j.id)
    d.get(j.id, "batch", node, "nobody")
    merged(d, j.id)
    c.command("scontrol", "update", "JobId=%d" % j.id, "StartTime=now")
    is_equal(name + ": state", j.end(), "COMPLETED")
    first = merged(d, j.id, ".restart0")
    is_equal(name + ": a job file per run", [len(first), len(merged(d, j.id))], [1, 1])
    with h5py.File(job_file(d, j.id), "r") as f, \
            h5py.File(job_file(d, j.id, ".restart0"), "r") as g:
        is_equal(name + ": which run is which",
                 [int(numpy.ravel(x.attrs.get("Restart Count", 0))[0]) for x in (f, g)], [1, 0])


if __name__ == "__main__":
    clusters = start_clusters()
    profiler = Profiler(AutoMerge="yes", Socket=os.path.join(tmpdir("socket"), "socket"))
    profiler.start()
    in_modes([whole_job, het, requeue], clusters, profiler)
