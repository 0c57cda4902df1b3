# SPDX-License-Identifier: GPL-2.0-or-later
"""chunks.py SIZE ROUNDS: the mean of an array of dask in chunks of SIZE x SIZE"""
import sys

import dask
import dask.array

size = int(sys.argv[1])
dask.config.set(num_workers=2)
for _ in range(int(sys.argv[2])):
    print((dask.array.random.random((3000, 3000), chunks=(size, size)) ** 2 + 1).mean().compute())
