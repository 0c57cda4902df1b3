# SPDX-License-Identifier: GPL-2.0-or-later
"""groups.py ROUNDS: groups and joins of a table"""
import sys

import numpy
import pandas

n = 2000000
r = numpy.random.RandomState(1)
t = pandas.DataFrame({"key": r.randint(0, 5000, n), "value": r.rand(n)})
for _ in range(int(sys.argv[1])):
    g = t.groupby("key")["value"].agg(["mean", "std", "count"])
    m = t.merge(g, left_on="key", right_index=True)
    print(m.sort_values("value")["mean"].head(3).sum())
