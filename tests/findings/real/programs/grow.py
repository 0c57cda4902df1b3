# SPDX-License-Identifier: GPL-2.0-or-later
"""grow.py MB STEPS: collects arrays up to so much memory, and computes with them"""
import sys

import numpy

kept = []
for _ in range(int(sys.argv[1])):
    kept.append(numpy.random.rand(1 << 17))
    sum(i for i in range(int(sys.argv[2])))
print(len(kept))
