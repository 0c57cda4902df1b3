# SPDX-License-Identifier: GPL-2.0-or-later
"""A job of 10,000 nodes and 10 steps: that memory stays bounded, and what it takes. Takes minutes
and gigabytes of memory for its files: only when it is asked for."""

import os
import shutil

import files
import stock
from table import Row

TITLE = "A job of 10,000 nodes and 10 steps, 20 rows each"


def run(_, opts):
    nodes, steps = (100, 2) if opts.quick else (10000, 10)
    top, size = files.make("jobprof", nodes, ("-s", str(steps), "-r", "20"))
    out = os.path.join(top, "job_7.h5")
    rows = []
    try:
        for name, args in (
                ("merge", ["merge", "-j", "7", "-p", top, "-u", "root", "-o", out]),
                ("show", ["show", out]),
                ("extract totals", ["extract", "-i", out, "-s", "Tasks", "-l", "totals", "-o",
                                    os.path.join(top, "t.csv")])):
            used = stock.run([files.JOBPROF, *args])
            rows.append(Row("large", name + ": wall clock", "s", [used.wall]))
            rows.append(Row("large", name + ": memory at most", "MB", [used.mb], target=512))
        rows.append(Row("large", "merged file", "MB", [os.path.getsize(out) / 1048576]))
        rows.append(Row("large", "its inputs", "MB", [size / 1048576]))
    finally:
        shutil.rmtree(top, ignore_errors=True)
    return rows
