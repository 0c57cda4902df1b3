#!/usr/bin/python3
# runs: alone
# SPDX-License-Identifier: GPL-2.0-or-later
"""What CPU quotas keep from steps, against what the kernel's cpu.stat says of who has the quota."""

import contextlib
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

QUOTA_US, PERIOD_US = 5000, 100000  # so little that a step is held on a busy machine, too


def held(directory):
    """How long the quota has held the cgroup, in s, and in how many periods."""
    with open(directory + "/cpu.stat") as f:
        words = dict(l.split() for l in f)
    return int(words["throttled_time"]) / 1e9, int(words["nr_throttled"])


def is_counted(name, rows, instants):
    """The kernel's figures at four instants: before the step, when it was known, when its work was done, after it. What
    of its beginning and of its end is in rows is chance; what is between is not."""
    before, known, done, after = instants
    for i, column in enumerate(("Throttled", "ThrottledPeriods")):
        got, least, most = total(rows, column), done[i] - known[i], after[i] - before[i]
        is_true("%s: %s" % (name, column), least - 0.05 * (1 - i) <= got <= most + 0.05 * (1 - i),
                "%g, the kernel: %g to %g" % (got, least, most))


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


def is_known(*steps):
    paths = [p for _, state, _, p in service.used_slots() if state == 1]
    return all(any(p.endswith("/job_%d/step_%d" % s) for p in paths) for s in steps)


def quotas():
    own, above, h = Job(trees), Job(trees), Holds("0")
    own.limit(own.steps[0])
    above.limit(above.cpu)
    start_in([above.cpu], spin(0.5)).wait(60)  # before the steps begin
    steps = [above.step(1, ["sleep", "1000"])]
    wait_until(lambda: sleeps_in(above.steps[1]), 20, "a step that sleeps: its start may be held, too")
    instants = [held(above.cpu)]
    steps += [own.step(0, spin(1)), above.step(0, h.cmd("park", "spin=1", "park"))]
    h.wait()
    wait_until(lambda: is_known((above.job, 0)), 20, "the step")
    time.sleep(0.6)  # three intervals
    instants.append(held(above.cpu))
    h.go()
    h.wait()
    time.sleep(0.6)
    instants.append(held(above.cpu))
    h.go()
    for s in steps[1:]:
        s.end()
    instants.append(held(above.cpu))
    steps[0].proc.terminate()
    steps[0].end()
    tables = {(j, i): table(service.file(j.job, i), "Step") for j, i in ((own, 0), (above, 0), (above, 1))}
    got = total(tables[above, 1], "Throttled")
    its = held(own.steps[0])
    is_equal("its own periods", total(tables[own, 0], "ThrottledPeriods"), its[1])
    is_near("its own quota", total(tables[own, 0], "Throttled"), its[0], 0.02, 0.02)
    before = instants[0][0]
    is_true("the quotas held, before the step, too", before > 0.05 and its[0] > 0.1 and instants[2][1] > instants[1][1],
            (instants, its))
    is_counted("the job's", tables[above, 0], instants)
    if os.path.exists(above.cpu + "/cpu.stat.local"):
        is_true("a step that was idle was not held, but for its start", got <= before + 0.01, "%g s, %g s before" % (got, before))
    else:
        is_true("a step that was idle: the job's", got >= 0.95 * (instants[3][0] - before) - 0.1, got)


def restarted():
    """jobprofd is killed in between: the sum stays."""
    job, h = Job(trees), Holds("0")
    job.limit(job.cpu)
    start_in([job.cpu], spin(0.3)).wait(60)
    instants = [held(job.cpu)]
    s = job.step(0, h.cmd("park", "spin=0.2", "park", "spin=0.2", "park"))
    h.wait()
    wait_until(lambda: is_known((job.job, 0)), 20, "the step")
    time.sleep(0.6)
    instants.append(held(job.cpu))
    h.go()
    h.wait()
    time.sleep(0.6)
    service.end(signal.SIGKILL)
    service.start()
    h.go()
    h.wait()
    time.sleep(0.6)
    instants.append(held(job.cpu))
    h.go()
    s.end()
    instants.append(held(job.cpu))
    is_counted("over a restart", table(service.file(job.job, 0), "Step"), instants)


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
