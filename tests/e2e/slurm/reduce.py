#!/usr/bin/python3
# runs: in full
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof reduce inside of a job of Slurm: --follow as a step beside the others, which pays for its CPU time, and two
processes that srun starts. With cgroup v2."""

import json
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from slurmlib import *

INTERVAL = 0.5


def beside(name, c, d):
    job = c.sbatch("srun -n2 --overlap %s spin=9 &\nsleep 2\n"
                   "srun -n1 --overlap %s reduce --follow --json --window 2 --windows 2 >windows 2>said\n"
                   "wait\n" % (tool("jphold"), JOBPROF), ["-n2", "-w", c.nodes[0]], JOBPROF_SOCKET=d.settings["Socket"])
    job.end()
    with open(job.dir + "/said") as f:
        is_equal(name + ": nothing to say", f.read(), "")
    with open(job.dir + "/windows") as f:
        windows = [json.loads(line) for line in f]
    is_equal(name + ": windows", len(windows), 2)
    rows = [table(d.get(job.id, 0, c.nodes[0]), "Tasks/%d" % t) for t in range(2)]
    own = table(d.get(job.id, 1, c.nodes[0]), "Tasks/0")
    places = {s["node"] for w in windows for s in w["sample"]}
    is_equal(name + ": rows of the other steps alone", sorted(p for p in places if not p.startswith("%d.batch/" % job.id)),
             ["%d.0/%s" % (job.id, c.nodes[0])])
    wrong = [s for w in windows for s in w["sample"] if s["node"].startswith("%d.0/" % job.id)
             and s["row"] not in rows[int(s["table"])]["TimeNS"]]
    is_equal(name + ": rows are those of the file", wrong, [])
    said = sum(w["cost"]["cpu_s"] for w in windows)
    is_true(name + ": the job pays at least what is said", 0 < said <= own["CPUTime"].sum() + 0.001,
            [said, own["CPUTime"].sum()])


def by_srun(name, c, d):
    if not os.path.exists(BUILD + "/jobprof-reduce-mpi"):
        raise Skipped("jobprof-reduce-mpi is not built")
    if "pmix" not in c.command("sh", "-c", "srun --mpi=list 2>&1"):
        raise Skipped("this Slurm has no PMIx")
    s = c.srun(["-n2", "-w", c.nodes[1]], [tool("jphold"), "spin=1"])
    s.end()
    path = d.get(s.id, 0, c.nodes[1])
    alone = json.loads(out_of([JOBPROF, "reduce", "--json", path]))
    both = c.srun(["-n2", "-w", c.nodes[1], "--mpi=pmix"], [JOBPROF, "reduce", "--json", path])
    is_equal(name + ": srun's status", both.end(), 0)
    two = json.loads(both.out())
    is_equal(name + ": two processes, the same digits", [two["sample"], two["columns"], two["cost"]["processes"]],
             [alone["sample"], alone["columns"], 2])


def main():
    clusters = start_clusters(("v2",))
    if not clusters:
        return
    d = Profiler(INTERVAL).start()
    in_modes((beside, by_srun), clusters, d)


need_bpf()
main()
