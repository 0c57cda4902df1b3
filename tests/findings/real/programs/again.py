# SPDX-License-Identifier: GPL-2.0-only
"""again.py FILE ROUNDS: sums a file again and again through a mapping"""
import sys

import numpy

data = numpy.memmap(sys.argv[1], dtype=numpy.uint8, mode="r")
print(sum(int(data[::64].sum()) for _ in range(int(sys.argv[2]))))
