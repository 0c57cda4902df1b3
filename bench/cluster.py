# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof cluster of a million bursts, the reading of the file included."""

import os
import shutil

import files
import stock
from helper import Missing, tmpdir
from table import Row

TITLE = "jobprof cluster of 1,000,000 bursts"
# Run time and gap, s, and how much they vary.
KERNELS = ((0.003, 0.002, 0.01), (0.012, 0.002, 0.02), (0.012, 0.05, 0.02), (0.2, 0.004, 0.05))
TASKS = 32


def make(path, n):
    try:
        import h5py
        import numpy
    except ImportError:
        raise Missing("there is no h5py")
    rng = numpy.random.default_rng(1)
    kernels = numpy.array(KERNELS)
    columns = ("Thread", "Rank", "Duration", "OnCPU", "RunTime", "Gap")
    row = numpy.dtype([("ElapsedTime", "<u8"), ("EpochTime", "<u8"), *((c, "<f8") for c in columns), ("TimeNS", "<u8")])
    with h5py.File(path, "w") as f:
        for task in range(TASKS):
            rows = numpy.zeros(n // TASKS, row)
            of = kernels[rng.integers(0, len(kernels), len(rows))]
            noise = rng.random(len(rows)) < 0.02
            for i, (column, low) in enumerate((("RunTime", -3), ("Gap", -5))):
                rows[column] = of[:, i] * numpy.exp(rng.normal(0, 1, len(rows)) * of[:, 2] * (i + 1))
                rows[column][noise] = 10 ** rng.uniform(low, 0, noise.sum())
            rows["Thread"], rows["Rank"] = 1000 + task, numpy.nan
            rows["OnCPU"], rows["Duration"] = rows["RunTime"], 1.1 * rows["RunTime"]
            rows["TimeNS"] = ((1.7e9 + numpy.cumsum(rows["Duration"] + rows["Gap"])) * 1e9).astype("<u8")
            f.create_dataset("n1/Bursts/%d" % task, data=rows, chunks=(min(4096, len(rows)),), compression="gzip", compression_opts=1,
                             shuffle=True)


def run(_, opts):
    n = 100000 if opts.quick else 1000000
    top = tmpdir()
    path = os.path.join(top, "7_0_n1.h5")
    try:
        make(path, n)
        used = [stock.run([files.JOBPROF, "cluster", path]) for _ in range(3)]
    finally:
        shutil.rmtree(top, ignore_errors=True)
    return [Row("cluster", "%d bursts: wall clock" % n, "s", [u.wall for u in used], digits=2),
            Row("cluster", "%d bursts: CPU time" % n, "s", [u.cpu for u in used], target=2, digits=2),
            Row("cluster", "%d bursts: memory at most" % n, "MB", [u.mb for u in used], target=200)]
