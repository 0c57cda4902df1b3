# SPDX-License-Identifier: GPL-2.0-or-later
"""lines.py BUFFER LINES: writes short lines"""
import sys

with open("lines.txt", "wb", buffering=int(sys.argv[1])) as f:
    state = 0
    for i in range(int(sys.argv[2])):
        state = (state * 1103515245 + 12345) & 0xFFFFFFFF
        f.write(b"%d %d\n" % (i, state))
