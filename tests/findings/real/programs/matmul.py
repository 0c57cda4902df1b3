# SPDX-License-Identifier: GPL-2.0-or-later
"""matmul.py SIZE COUNT: products of matrices"""
import sys

import numpy

size, count = int(sys.argv[1]), int(sys.argv[2])
a = numpy.random.rand(size, size)
for _ in range(count):
    a = a @ a
    a /= numpy.abs(a).max()
