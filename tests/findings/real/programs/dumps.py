# SPDX-License-Identifier: GPL-2.0-or-later
"""dumps.py sync|none COUNT: each step ends with a dump by rank 0, which waits for the disk, or without one"""
import os
import sys

import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
field = numpy.random.rand(1 << 20)
for step in range(int(sys.argv[2])):
    for _ in range(3):
        field = numpy.sin(field) + 0.1
    if sys.argv[1] == "sync":
        fields = comm.gather(field[: 1 << 18])
        if comm.rank == 0:
            with open("dump", "wb", buffering=0) as f:
                for part in fields:
                    for at in range(0, len(part), 1 << 14):
                        f.write(part[at : at + (1 << 14)].tobytes())
                        os.fsync(f.fileno())
    comm.barrier()
print(comm.rank, field.sum())
