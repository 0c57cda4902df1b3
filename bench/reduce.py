# SPDX-License-Identifier: GPL-2.0-or-later
"""The reduction of 4,000 nodes: parts, as each node's process would have sent them, at the root; and of their files by
one process: only when it is asked for, as it starts a process per node."""

import glob
import os
import shutil
import subprocess

import files
import stock
from table import Row

TITLE = "The reduction of 4,000 nodes at its root"
ROWS = 120


def make_parts(paths, top):
    parts = []
    for i, path in enumerate(paths):
        keep = os.path.join(top, "keep%d" % i)
        subprocess.run([files.JOBPROF, "reduce", "--keep", keep, path], check=True, stdout=subprocess.DEVNULL)
        parts.append(os.path.join(keep, "rank-0.part"))
    return parts


def run(_, opts):
    nodes = 100 if opts.quick else 4000
    top, size = files.make("jobprof", nodes, ("-r", str(ROWS)))
    rows = []
    try:
        paths = sorted(glob.glob(os.path.join(top, "root", "*.h5")))
        parts = make_parts(paths, top)
        for name, args, memory in (("parts at the root", parts, 100), ("files, one process", [os.path.join(top, "root")], 100)):
            used = stock.run([files.JOBPROF, "reduce", *args])
            rows += [
                Row("reduce", name + ": wall clock", "s", [used.wall]),
                Row("reduce", name + ": CPU time", "s", [used.cpu]),
                Row("reduce", name + ": memory at most", "MB", [used.mb], target=memory)]
        rows.append(Row("reduce", "a node's part", "KB", [sum(os.path.getsize(p) for p in parts) / 1024 / len(parts)],
                        target=256))
        rows.append(Row("reduce", "node-step files", "MB", [size / 1048576]))
    finally:
        shutil.rmtree(top, ignore_errors=True)
    return rows
