# SPDX-License-Identifier: GPL-2.0-or-later
"""records.py files|one N [keep]: a file for each record, or one for all"""
import os
import sys

how, n = sys.argv[1], int(sys.argv[2])
os.makedirs("d", exist_ok=True)
if how == "files":
    for i in range(n):
        with open("d/f%d" % i, "w") as f:
            f.write("x" * 100)
        os.stat("d/f%d" % i)
    if len(sys.argv) < 4:
        for i in range(n):
            os.unlink("d/f%d" % i)
else:
    with open("d/all", "w") as f:
        for i in range(n):
            f.write("x" * 100)
