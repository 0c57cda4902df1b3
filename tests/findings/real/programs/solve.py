# SPDX-License-Identifier: GPL-2.0-or-later
"""solve.py PROCESSES COUNT: systems of equations in a pool of processes"""
import multiprocessing
import sys

import numpy
import scipy.linalg


def solve(seed):
    r = numpy.random.RandomState(seed)
    a = r.rand(500, 500) + 500 * numpy.eye(500)
    for _ in range(4):
        x = scipy.linalg.solve(a, r.rand(500))
    return float(x.sum())


if __name__ == "__main__":
    with multiprocessing.Pool(int(sys.argv[1])) as pool:
        print(sum(pool.map(solve, range(int(sys.argv[2])), chunksize=4)))
