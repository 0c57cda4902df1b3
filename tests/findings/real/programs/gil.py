# SPDX-License-Identifier: GPL-2.0-or-later
"""gil.py threads|processes TASKS: plain Python in two threads or processes"""
import concurrent.futures
import sys


def task(n):
    return sum(i * i % 7 for i in range(2000000))


if __name__ == "__main__":
    kind = concurrent.futures.ThreadPoolExecutor if sys.argv[1] == "threads" else concurrent.futures.ProcessPoolExecutor
    with kind(2) as pool:
        print(sum(pool.map(task, range(int(sys.argv[2])))))
