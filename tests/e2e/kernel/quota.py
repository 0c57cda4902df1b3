#!/usr/bin/python3
# runs: alone
# SPDX-License-Identifier: GPL-2.0-only
"""What CPU quotas keep from steps, against what the kernel's cpu.stat says of who has the quota."""

import contextlib
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

QUOTA_US, PERIOD_US = 5000, 100000  # so little that a step is held on a busy machine, too


def stat_s(directory):
    with open(directory + "/cpu.stat") as f:
        words = dict(l.split() for l in f)
    return int(words["throttled_time"]) / 1e9


def periods(directory):
    with open(directory + "/cpu.stat") as f:
        return dict((k, int(v)) for k, v in (l.split() for l in f))["nr_throttled"]


def spin(seconds):
    return [tool("jphold"), "spin=%g" % seconds]


class Job:
    """On v1: two steps in the freezer's tree, the same in that of the cpu controller."""

    def __init__(self, tree):
        self.job = new_job()
        self.base = tree.v1(0, self.job)
        path = self.base[len(need_cgroup1("freezer")):]
        self.cpu = mkcg(path, need_cgroup1("cpu"))
        self.steps = [mkcg(path + "/step_%d" % i, need_cgroup1("cpu")) for i in (0, 1)]

    def limit(self, directory):
        with open(directory + "/cpu.cfs_period_us", "w") as f:
            f.write(str(PERIOD_US))
        with open(directory + "/cpu.cfs_quota_us", "w") as f:
            f.write(str(QUOTA_US))

    def step(self, i, cmd):
        return Stepd(self.job, i, cmd, ["-d", self.base, "-S", "-c", self.base + "/step_%d" % i,
                                        "-c", self.steps[i], "-w", 1])


def sleeps_in(directory):
    with open(directory + "/cgroup.procs") as f:
        pids = f.read().split()
    with contextlib.suppress(FileNotFoundError):
        return any(open("/proc/%s/stat" % p).read().split(" ", 3)[1:3] == ["(sleep)", "S"] for p in pids)


def quotas():
    own, above = Job(trees), Job(trees)
    own.limit(own.steps[0])
    above.limit(above.cpu)
    start_in([above.cpu], spin(0.5)).wait(60)  # before the steps begin
    steps = [above.step(1, ["sleep", "3"])]
    wait_until(lambda: sleeps_in(above.steps[1]), 20, "a step that sleeps: its start may be held, too")
    before, periods0 = stat_s(above.cpu), periods(above.cpu)
    steps += [own.step(0, spin(1)), above.step(0, spin(1))]
    for s in steps:
        s.end()
    got = [total(table(service.file(j.job, i), "Step"), "Throttled")
           for j, i in ((own, 0), (above, 0), (above, 1))]
    held = stat_s(own.steps[0])
    n = [total(table(service.file(j.job, i), "Step"), "ThrottledPeriods")
         for j, i in ((own, 0), (above, 0))]
    is_equal("its own periods", n[0], periods(own.steps[0]))
    is_true("there were such periods before", periods0 > 0, periods0)
    is_near("the job's periods", n[1], periods(above.cpu) - periods0, 0, 1)
    is_true("the quotas held", before > 0.05 and held > 0.1, "%g s before, %g s" % (before, held))
    is_near("its own quota", got[0], held, 0.02, 0.02)
    # an interval that has just begun when the step ends
    is_near("the job's quota", got[1], stat_s(above.cpu) - before, 0.05, 0.1)
    if os.path.exists(above.cpu + "/cpu.stat.local"):
        is_true("a step that was idle was not held, but for its start", got[2] <= before + 0.01, "%g s, %g s before" % (got[2], before))
    else:
        is_true("a step that was idle: the job's", got[2] >= 0.95 * (stat_s(above.cpu) - before) - 0.1, got[2])


def restarted():
    """jobprofd is killed in between: the sum stays."""
    job, h = Job(trees), Holds("0")
    job.limit(job.cpu)
    start_in([job.cpu], spin(0.3)).wait(60)
    before, periods0 = stat_s(job.cpu), periods(job.cpu)
    s = job.step(0, h.cmd("spin=0.2", "park", "spin=0.2", "park"))
    h.wait()
    time.sleep(0.5)
    service.end(signal.SIGKILL)
    service.start()
    h.go()
    h.wait()
    time.sleep(0.5)
    h.go()
    s.end()
    rows = table(service.file(job.job, 0), "Step")
    is_near("over a restart", total(rows, "Throttled"), stat_s(job.cpu) - before, 0.05, 0.1)
    is_near("periods over a restart", total(rows, "ThrottledPeriods"),
            periods(job.cpu) - periods0, 0, 1)


if __name__ == "__main__":
    need_bpf()
    try:
        need_cgroup1("freezer"), need_cgroup1("cpu")
    except Skipped as e:
        skip("quota", e)
        sys.exit(0)
    trees = Trees()
    service = Daemon(0.2).start()
    for test in (quotas, restarted):
        run_one(test)
    is_equal("jobprofd ends", service.end(), 0)
