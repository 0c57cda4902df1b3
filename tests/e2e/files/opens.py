#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How often each verb opens a profile: once, and node-step files of one job twice. strace counts, in all processes.
And that the time of a verb grows with the number of steps, not faster."""

import os
import resource
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
sys.path.insert(0, os.path.realpath(__file__ + "/../../../findings"))
from h5make import F, node_file, rows_of
from lib import *
from verblib import calls, make_profile

HERE = tmpdir("opens")
A, B = os.path.join(HERE, "job_4711.h5"), os.path.join(HERE, "job_4712.h5")


def opened(*args):
    """Status, and how often each file was opened by its name."""
    trace = os.path.join(HERE, "trace")
    p = subprocess.run(["strace", "-f", "-qq", "-e", "trace=open,openat,openat2", "-o", trace, JOBPROF, *args],
                       capture_output=True, cwd=HERE, env=plain_env())
    counts = {}
    with open(trace, errors="replace") as f:
        for path in re.findall(r'open\w*\((?:[^"]*)"([^"]*\.h5)", O_RDONLY[^)]*\) = \d', f.read()):
            path = os.path.join(HERE, path)
            counts[path] = counts.get(path, 0) + 1
    return p, counts


def most(name, args):
    """How often a verb may open a file: once, and once more where it is asked first of which job it is, as by -j and of
    several files, or for the page that is stored in it."""
    return 2 if " -j" in name or name == "report --html" or len(set(args) & {A, B}) == 2 and not name.startswith("compare") else 1


def each_verb():
    make_profile(A)
    make_profile(B, seed=1)
    for name, args in calls(A, B).items():
        p, counts = opened(*args)
        is_true(name + ": works, and opens its files", p.returncode == 0 and counts, (p.returncode, p.stderr[-300:]))
        is_true(name + ": each at most so often", all(n <= most(name, args) for path, n in counts.items()), counts)


def node_steps():
    """The first time for what there is, the second time for its rows."""
    files = []
    for node in range(3):
        for step in range(2):
            files.append(os.path.join(HERE, "12_%d_n%d.h5" % (step, node)))
            node_file(files[-1], "n%d" % node, {"Step": rows_of([0, 1, 2], [("CPUTime", F)], [[0.0, 1.0, 1.0]])}, index=node)
    p, counts = opened("report", *files)
    is_equal("node-step files: all are opened", (p.returncode, set(counts)), (0, set(files)))
    is_true("node-step files: at most twice", max(counts.values()) <= 2, counts)


def bytes_read():
    """By this process and all that it has waited for."""
    with open("/proc/self/io") as f:
        return int(re.search(r"^rchar: (\d+)", f.read(), re.M)[1])


def a_merge_reads_little():
    """Files of a usual size are read twice, for they are scanned and then copied, and what was written is read once. A metadata cache that was
    smaller than the file read it six times."""
    top = tmpdir("merge")
    os.mkdir(top + "/me")
    tables = {"Series%d" % i: rows_of(list(range(64)), [("X", F)], [[float(i + k) for k in range(64)]]) for i in range(100)}
    for node in range(4):
        node_file("%s/me/12_0_n%d.h5" % (top, node), "n%d" % node, tables, index=node)
    size = sum(e.stat().st_size for e in os.scandir(top + "/me"))
    before = bytes_read()
    subprocess.run([JOBPROF, "merge", "-q", "-j", "12", "-p", top, "-u", "me", "-o", top + "/job_12.h5"], check=True)
    times = (bytes_read() - before) / size
    is_true("a merge reads its files' bytes at most 3.5 times (of %d KiB each)" % (size / 4096), times < 3.5, times)


def job_of_steps(n):
    path = os.path.join(HERE, "steps_%d.h5" % n)
    with h5py.File(os.path.join(ROOT, "tests/data/golden/job_7.h5")) as one, h5py.File(path, "w") as f:
        steps = f.create_group("Steps")
        for i in range(n):
            one.copy("Steps/1", steps, name=str(i))
    return path


def cpu_s(*args):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([JOBPROF, *args], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@in_full
def many_steps():
    """Five times as many steps take five times as long; where closing a step looked at all others, it was 10 to 17 times."""
    few, many = job_of_steps(500), job_of_steps(2500)
    for args in (["show"], ["report"], ["extract", "-s", "Tasks"]):
        tries = [(cpu_s(*args, few), cpu_s(*args, many))]
        if tries[0][1] > 7.5 * tries[0][0]:  # a busy machine: once more
            tries.append((cpu_s(*args, few), cpu_s(*args, many)))
        is_true("%s: linear in the number of steps" % args[0], any(m <= 7.5 * f for f, m in tries), tries)


run_tests([each_verb, node_steps, a_merge_reads_little, many_steps])
