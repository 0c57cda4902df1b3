#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a large job file, for measurements of speed:
    large.py [--nodes N] [--tasks N] [--hours H] [--period S] [FILE]
Every node is a copy of the first, with a name and tasks of its own."""

import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import h5py
import numpy
from jobs import Job
from layout import put_attribute


def copies(f, nodes, tasks):
    """Copies the group of n1, whose tables are not read again for it; tasks: of each node."""
    all_nodes = f["Steps/0/Nodes"]
    for i in range(1, nodes):
        name = "n%d" % (i + 1)
        h5py.h5o.copy(all_nodes.id, b"n1", all_nodes.id, name.encode())
        node = all_nodes[name]
        for key, value in (("Node Name", numpy.bytes_(name)), ("Node Index", numpy.int32(i))):
            del node.attrs[key]
            put_attribute(node, key, value)
        for series in ("Tasks", "RunLatency", "BlkLatency"):
            for t in range(tasks):
                node.move("%s/%d" % (series, t), "%s/_%d" % (series, i * tasks + t))
            for t in range(i * tasks, (i + 1) * tasks):
                node.move("%s/_%d" % (series, t), "%s/%d" % (series, t))
        for t in range(i * tasks, (i + 1) * tasks):
            put_attribute(f.create_group("Steps/0/Tasks/%d" % t), "Node Name", name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1024)
    parser.add_argument("--tasks", type=int, default=1, help="of each node")
    parser.add_argument("--cores", type=int, default=16, help="of each node")
    parser.add_argument("--hours", type=float, default=2)
    parser.add_argument("--period", type=float, default=1, help="seconds of a row")
    parser.add_argument("file", nargs="?", default="job_4711.h5")
    a = parser.parse_args()
    j = Job(tasks=a.tasks, cores=a.cores, wall=a.hours * 3600, row=a.period, node_list="n[1-%d]" % a.nodes,
            step_nodes=a.nodes)
    j.fabric(30.0)
    with h5py.File(a.file, "w", libver=("earliest", "v110")) as f:
        j.write_steps(f, packed=True)
        step = f["Steps/0"]
        del step.attrs["Number of Nodes"]
        put_attribute(step, "Number of Nodes", numpy.int32(a.nodes))
        copies(f, a.nodes, a.tasks)


main()
