# SPDX-License-Identifier: GPL-2.0-or-later
"""again.py FILE ROUNDS: sums a file, which is not in memory, again and again through a mapping"""
import os
import sys

import numpy

fd = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)

data = numpy.memmap(sys.argv[1], dtype=numpy.uint8, mode="r")
print(sum(int(data[::64].sum()) for _ in range(int(sys.argv[2]))))
