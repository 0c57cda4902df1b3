# SPDX-License-Identifier: GPL-2.0-or-later
"""The report of a job of 1,024 nodes, two hours at a row a second, beside the merge of its files: only
when it is asked for, as the files take gigabytes of memory."""

import os
import shutil

import files
import stock
from table import Row

TITLE = "The report of 1,024 nodes x 2 h at 1 s, beside their merge"


def run(_, opts):
    nodes, rows_each = (16, 600) if opts.quick else (1024, 7200)
    top, size = files.make("jobprof", nodes, ("-r", str(rows_each)))
    out = os.path.join(top, "job_7.h5")
    rows = []
    try:
        for name, args in (
                ("merge", ["merge", "-S", "-j", "7", "-p", top, "-u", "root", "-o", out]),
                ("report, of the job file", ["report", out]),
                ("report, of the node files", ["report", os.path.join(top, "root")])):
            used = stock.run([files.JOBPROF, *args])
            is_report = name != "merge"
            rows += [
                Row("report", name + ": wall clock", "s", [used.wall], target=20 if is_report else None),
                Row("report", name + ": CPU time", "s", [used.cpu]),
                Row("report", name + ": memory at most", "MB", [used.mb], target=500)]
        rows.append(Row("report", "node-step files", "MB", [size / 1048576]))
    finally:
        shutil.rmtree(top, ignore_errors=True)
    return rows
