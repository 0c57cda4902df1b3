#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Kinds of a step's memory, pages read again and limits met, against the memory controller's files."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

PAGE = os.sysconf("SC_PAGESIZE")
INTERVAL = 0.2
LIMIT = 48 * MB


def number(directory, file, key=None):
    with open("%s/%s" % (directory, file)) as f:
        text = f.read()
    if key is None:
        return int(text)
    return next((int(l.split()[1]) for l in text.splitlines() if l.split()[0] == key), None)


def of_kernel(job_dir, step_dir):
    return {"MemAnonMB": number(step_dir, "memory.stat", "total_rss") / MB,
            "MemShmemMB": number(step_dir, "memory.stat", "total_shmem") / MB,
            "MemKernelMB": number(step_dir, "memory.kmem.usage_in_bytes") / MB,
            "RefaultsFile": number(step_dir, "memory.stat", "total_workingset_refault_file"),
            "MemMaxEvents": number(step_dir, "memory.failcnt") + number(job_dir, "memory.failcnt")}


def memory():
    """The job has the limit, and has met it before its step began."""
    job, mount = new_job(), need_cgroup1("memory")
    base = tree.v1(0, job)
    job_dir = mkcg(base[len(need_cgroup1("freezer")):], mount)
    step_dir = mkcg(base[len(need_cgroup1("freezer")):] + "/step_0", mount)
    with open(job_dir + "/memory.limit_in_bytes", "w") as f:
        f.write(str(LIMIT))
    data = os.path.join(tmpdir(), "data")
    read = "read=%s:64" % data
    start_in([job_dir], [tool("jphold"), "write=%s:64" % data]).wait(60)
    met = number(job_dir, "memory.failcnt")
    h = Holds("0")
    s = Stepd(job, 0, h.cmd("anon=20", "shmem=6", "park", read, read, "park"),
              ["-d", base, "-S", "-c", base + "/step_0", "-c", step_dir])
    h.wait()
    time.sleep(3 * INTERVAL)
    first = of_kernel(job_dir, step_dir)
    parked = time.time_ns()
    h.go()
    h.wait()
    time.sleep(3 * INTERVAL)
    then = of_kernel(job_dir, step_dir)
    at = time.time_ns()
    h.go()
    s.end()
    rows = table(daemon.file(job, 0), "Step")
    row = rows[rows["TimeNS"] < at][-1]
    is_true("the limit was met before and again",
            met > 0 and then["MemMaxEvents"] > first["MemMaxEvents"], "%s, %s" % (met, then))
    met_again = then["MemMaxEvents"] - first["MemMaxEvents"]
    later = rows[rows["TimeNS"] > parked]  # the end may meet the limit, too
    is_true("MemMaxEvents", total(later[later["TimeNS"] < at], "MemMaxEvents") <= met_again <= total(later, "MemMaxEvents") <=
            met_again + 100, (met_again, later["MemMaxEvents"]))
    is_true("what was before the step is not in it", total(rows, "MemMaxEvents") <=
            then["MemMaxEvents"] - met, total(rows, "MemMaxEvents"))
    is_near("MemAnonMB", row["MemAnonMB"], then["MemAnonMB"], 0.001, 0.3)
    is_true("it is the task's", row["MemAnonMB"] >= 20, row["MemAnonMB"])
    is_near("MemShmemMB", row["MemShmemMB"], then["MemShmemMB"], 0, 0.3)
    is_near("MemKernelMB", row["MemKernelMB"], then["MemKernelMB"], 0.05, 0.3)
    if then["RefaultsFile"] is None:
        skip("RefaultsFile", "this kernel does not count them")
        return
    is_near("RefaultsFile", total(rows, "RefaultsFile"), then["RefaultsFile"], 0.01, 64)
    is_true("pages were read again", then["RefaultsFile"] > first["RefaultsFile"] + 4 * MB / PAGE,
            "%s, then %s" % (first, then))


if __name__ == "__main__":
    need_bpf()
    try:
        need_cgroup1("freezer"), need_cgroup1("memory")
    except Skipped as e:
        skip("step memory", e)
        sys.exit(0)
    tree = Trees()
    daemon = Daemon(INTERVAL).start()
    run_one(memory)
    is_equal("jobprofd ends", daemon.end(), 0)
