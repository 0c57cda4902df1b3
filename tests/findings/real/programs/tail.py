# SPDX-License-Identifier: GPL-2.0-or-later
"""tail.py TASKS CHUNK STEPS: tasks that take longer and longer, for a pool of two"""
import multiprocessing
import sys


def task(x):
    return sum(i * i for i in range(x * int(sys.argv[3])))


if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        print(sum(pool.map(task, range(int(sys.argv[1])), chunksize=int(sys.argv[2]))))
