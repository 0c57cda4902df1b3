# SPDX-License-Identifier: GPL-2.0-or-later
"""prepare.py 0|all COUNT: pieces of input are made by rank 0 for all, or by each rank for itself; then all compute"""
import sys

import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
count = int(sys.argv[2])


def piece(i):
    """Text that is parsed, as of a file of input."""
    text = " ".join("%.6f" % (k * 0.001 + i) for k in range(60000))
    return numpy.array([float(word) ** 0.5 for word in text.split()] * 4)


total = 0.0
for step in range(count):
    if sys.argv[1] == "0":
        pieces = [piece(step * comm.size + r) for r in range(comm.size)] if comm.rank == 0 else None
        mine = comm.scatter(pieces)
    else:
        mine = piece(step * comm.size + comm.rank)
    for _ in range(10):
        mine = numpy.sin(mine) + 1
    total = comm.allreduce(float(mine.sum()))
if comm.rank == 0:
    print(total)
