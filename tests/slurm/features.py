#!/usr/bin/python3
# timeout: 170
# SPDX-License-Identifier: GPL-2.0-only
"""What jobprof does with each feature of Slurm: one function per row of docs/compatibility.md. The
first line of its text is the row's name, the rest is the page's account of what was tried.
A feature that this release of Slurm does not have is skipped (needs()); what an administrator has
to know although it works is a note(). The page is compared with what was found, so that it cannot
get old; scripts/compatibility writes it."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from slurmlib import *
import compatlib
import lib

_lines = []
_say = lib._say


def _heard(line):
    _lines.append(line)
    _say(line)


lib._say = _heard


def note(name, text):
    """The feature works, and this goes with it."""
    lib._say("note %s: %s" % (name, text))


def needs(release, what):
    if RELEASE < release:
        raise Skipped("Slurm has %s since %d.%02d" % ((what,) + release))


def task_ends(name, d, job, step, wanted):
    """wanted: {node: ([tasks], exit status)} of a step that ended by itself."""
    got = {}
    for node in wanted:
        path = d.get(job, step, node)
        got[node] = (tasks_of(path), picked(path, "Exit Status")[0])
        is_true("%s: rows on %s" % (name, node), len(table(path, "Step")) >= 2, path)
    is_equal("%s: tasks and exit status of step %s" % (name, step), got, wanted)


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


def with_spank(d):
    """As the manual has a site set up: our SPANK plugin, and nothing else."""
    return {"plugstack": ["optional %s socket=%s" % (plugin("spank_jobprof.so"),
                                                     d.settings["Socket"])]}


# What a cluster of theirs has, what jobprofd has, the features.
GROUPS = [
    (with_spank, {}, [srun, batch, array]),
]
FEATURES = [f for _, _, features in GROUPS for f in features]


def cell_of(feature, mode):
    """What was found: yes, no, or - for what this Slurm does not have; and what to know of it."""
    name = "%s, %s" % (feature.__name__, mode)
    found = {}
    for line in _lines:
        kind, text = (line[:6], line[7:]) if line.startswith("not ok") else line.split(" ", 1)
        if text.startswith((name, name.replace("_", " "))):
            found.setdefault(kind, []).append(text[len(name):].lstrip(": "))
    for kind, cell in (("not ok", "no"), ("skip", "-"), ("note", "yes"), ("ok", "yes")):
        if kind in found:
            return [cell, "" if kind == "ok" else "; ".join(found[kind])]
    return ["no", "it was not tried"]


def run_group(options, settings, features, modes):
    if not chosen(features):
        return
    d = Profiler(**settings).start()
    clusters = start_clusters(**options(d))
    modes.update(clusters)
    in_modes(features, clusters, d)
    is_equal("features: jobprofd's exit status", d.end(), 0)
    for c in clusters.values():
        c.down()


def main():
    modes = {}
    for group in GROUPS:
        run_group(*group, modes)
    if len(sys.argv) > 1:
        return
    found = {m: {compatlib.title_of(f): cell_of(f, m) for f in FEATURES} for m in modes}
    compatlib.keep_or_compare(RELEASE, found)


if __name__ == "__main__":
    compatlib.has_rows(FEATURES)
    need_bpf()
    main()
