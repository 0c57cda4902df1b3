# SPDX-License-Identifier: GPL-2.0-or-later
"""frame.py rows|all N: rows of a table go to a file one by one, which is opened for each, or all at once"""
import sys

import pandas

n = int(sys.argv[2])
frame = pandas.DataFrame({"id": range(n), "value": [i * 0.5 for i in range(n)]})
if sys.argv[1] == "rows":
    for i in range(n):
        frame.iloc[i : i + 1].to_csv("out.csv", mode="a", header=False)
else:
    frame.to_csv("out.csv", mode="a", header=False)
