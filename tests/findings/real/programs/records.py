# SPDX-License-Identifier: GPL-2.0-or-later
"""records.py files|one N ROUNDS: a file for each of N records, or one for all, again and again; in 0 rounds the files are made and kept"""
import os
import sys

how, n, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.makedirs("d", exist_ok=True)
for _ in range(max(1, rounds)):
    if how == "files":
        for i in range(n):
            with open("d/f%d" % i, "w") as f:
                f.write("x" * 100)
            os.stat("d/f%d" % i)
        if rounds:
            for i in range(n):
                os.unlink("d/f%d" % i)
    else:
        with open("d/all", "w") as f:
            for i in range(n):
                f.write("x" * 100)
