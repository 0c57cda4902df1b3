# SPDX-License-Identifier: GPL-2.0-or-later
"""temporaries.py new|out COUNT: sums of large arrays, in new arrays each time or in one that is there"""
import sys

import numpy

a, b = numpy.ones(6000000), numpy.ones(6000000)
for _ in range(int(sys.argv[2])):
    if sys.argv[1] == "new":
        c = a + b
    else:
        numpy.add(a, b, out=b)
        b[0] = 1
