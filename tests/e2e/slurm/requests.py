#!/usr/bin/python3
# releases: all
# timeout: 150
# SPDX-License-Identifier: GPL-2.0-or-later
"""What jobs asked for and how they ended, as Slurm's controller says it, against scontrol and against
the options of sbatch. With cgroup v1 and v2, all jobs at the same time."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from slurmlib import *

ASKED = ("Time Limit", "Requested Memory per Node", "Requested Memory per CPU", "Node Sharing")
FEW = 6  # questions about a job: one, and then some until Slurm calls it ended


def times(c, job):
    out = out_of(["scontrol", "show", "job", job], env=dict(c.env, SLURM_TIME_FORMAT="%s"))
    words = dict(w.split("=", 1) for w in out.split() if "=" in w)
    return [int(words["SubmitTime"]), int(words["EligibleTime"])]


def questions(d, job):
    return d.said().count("scontrol is asked about job %d\n" % job)


def check(name, c, d, j, asked, state, submitted=True):
    """Of the job's first step, of which the job has more, and of its extern step."""
    node = c.nodes[0]
    path = d.get(j.id, 0, node)
    is_equal(name + ": what it asked for", picked(path, *ASKED), asked)
    if submitted:
        is_equal(name + ": its times", picked(path, "Submit EpochTime", "Eligible EpochTime"),
                 times(c, j.id))
    is_equal(name + ": a step does not know the job's end", picked(path, "Job State"), [None])
    is_equal(name + ": the later step", picked(d.get(j.id, 1, node), *ASKED), asked)
    is_equal(name + ": the final state", picked(d.get(j.id, EXTERN, node), "Job State"), [state])
    is_true(name + ": few questions", 2 <= questions(d, j.id) <= FEW, questions(d, j.id))


SCRIPT = "srun sleep 1.2\nsrun sleep 0.3\n"


def per_cpu(name, c, d):
    j = c.sbatch(SCRIPT, ["-w", c.nodes[0], "-t", "7", "--mem-per-cpu=50", "--begin=now+3"])
    is_equal(name + ": it ends", j.end(), "COMPLETED")
    check(name, c, d, j, [420, None, 50, "shared"], "COMPLETED")
    submitted, eligible = times(c, j.id)
    is_true(name + ": the times differ", eligible > submitted, (submitted, eligible))


def exclusive(name, c, d):
    j = c.sbatch(SCRIPT + "exit 3\n", ["-w", c.nodes[0], "--exclusive", "--mem=60",
                                       "-t", "1-02:03:00"])
    is_equal(name + ": it ends", j.end(), "FAILED")
    check(name, c, d, j, [93780, 60, None, "exclusive"], "FAILED")


def no_request(name, c, d):
    """What it did not ask for is absent; the backfill scheduler may say a year of a job without a limit."""
    j = c.sbatch("srun sleep 1.2\nsrun sleep 0.3\nsleep 60\n", ["-w", c.nodes[0], "--mem=0"])
    d.get(j.id, 1, c.nodes[0], seconds=60)
    c.command("scancel", j.id)
    is_equal(name + ": it ends", j.end(), "CANCELLED")
    is_true(name + ": Slurm knows no limit", c.show(j.id)["TimeLimit"] in ("UNLIMITED", "365-00:00:00"), c.show(j.id))
    check(name, c, d, j, [None, None, None, "shared"], "CANCELLED")


def hostile(name, c, d):
    """Words of the job's name look like the controller's: neither is taken."""
    j = c.sbatch(SCRIPT, ["-w", c.nodes[0], "-t", "5", "--mem-per-cpu=50", "-J",
                          "x TimeLimit=00:01:00 JobState=FAILED MinMemoryCPU=1M"])
    is_equal(name + ": it ends", j.end(), "COMPLETED")
    check(name, c, d, j, [None, None, None, "shared"], None, False)


def main():
    d = Profiler()
    clusters = start_clusters(conf=["PrologFlags=Contain"])
    if not clusters:
        return
    d.start()
    in_modes((per_cpu, exclusive, no_request, hostile), clusters, d)
    is_equal("requests: jobprofd's exit status", d.end(), 0)


if __name__ == "__main__":
    need_bpf()
    main()
