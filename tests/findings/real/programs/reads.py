# SPDX-License-Identifier: GPL-2.0-or-later
"""reads.py SIZE ROUNDS: reads in.dat in pieces"""
import os
import sys

size, total = int(sys.argv[1]), 0
fd = os.open("in.dat", os.O_RDONLY)
for _ in range(int(sys.argv[2])):
    os.lseek(fd, 0, os.SEEK_SET)
    while True:
        piece = os.read(fd, size)
        if not piece:
            break
        total += len(piece)
print(total)
