# SPDX-License-Identifier: GPL-2.0-or-later
"""pool.py TASKS CHUNK: many small tasks for a pool of two"""
import multiprocessing
import sys


def task(x):
    return sum(i * x for i in range(40))


if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        print(sum(pool.imap_unordered(task, range(int(sys.argv[1])), chunksize=int(sys.argv[2]))))
