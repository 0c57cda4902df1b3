#!/usr/bin/python3
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""Living tasks that are known are asked one by one, without a pass over all tasks of the node, and
what they answer is what the kernel says of them: however many there are, and after others came."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

INTERVAL = 0.1
CROWD = 300  # more than are asked at once

d = tree = None


def runs(seconds):
    """Runs of the pass (one per task of the node) and of the asking in that time."""
    out = subprocess.run([os.path.join(BUILD, "jobprof-dump"), "--pin", d.pin, "--self", "--json",
                          "-t", str(seconds)], capture_output=True, text=True, check=True).stdout
    programs = {p["name"]: p["runs"] for p in json.loads(out)["programs"]}
    if "jp_ask" not in programs:
        raise Skipped("this kernel's programs cannot find a task by its number")
    return programs["jp_iter"], programs["jp_ask"]


class Quiet:
    """A while in which no task came to any step."""

    def __init__(self, name):
        for _ in range(40):
            self.start_ns = time.time_ns()
            passes, asked = runs(0.6)
            self.end_ns = time.time_ns()
            if not passes and asked >= 3:
                ok(name + ": asked, without a pass")
                return
        raise Failed("%s: in the last of 40 looks %d runs of the pass, %d of the asking" % (
            name, passes, asked))

    def rows(self, rows):
        """Those written meanwhile, but for the first, whose interval began before."""
        t = rows["TimeNS"].astype("i8")
        return rows[(t > self.start_ns + INTERVAL * 1e9) & (t <= self.end_ns)]


def known():
    runs(0.1)
    job, h = new_job(), Holds("01")
    s = Stepd(job, 0, h.cmd("park", "threads=3", "anon=40", "park"),
              v2_task(tree.job(job) + "/step_0"), n=2)
    h.wait()

    def phase(name):
        return name, Quiet(name), [kernel_account(x.pid) for x in h.all]
    phases = [phase("one thread each")]
    window = Window(h.all, 3 * INTERVAL)
    phases.append(phase("after three more came"))
    h.go()
    s.end()
    path = d.file(job, 0)
    for i in (0, 1):
        rows = task_table(path, i)
        for name, q, accounts in phases:
            r, a = q.rows(rows), accounts[i]
            is_true("%s, task %d: there are rows" % (name, i), len(r) >= 2, len(r))
            is_equal("%s, task %d: Threads" % (name, i), set(r["Threads"]), {a["threads"]})
            is_equal("%s, task %d: VMSize is status'" % (name, i), set(r["VMSize"] * 1024),
                     {a["VmSize"]})
            is_near("%s, task %d: AnonMB is smaps_rollup's" % (name, i), r["AnonMB"][-1] * MB,
                    a["smaps_Anonymous"], 0, 4096)
            is_equal("%s, task %d: nothing was used at rest" % (name, i),
                     [r[c].sum() for c in ("CPUTime", "RunDelay", "VolSwitches", "MinorFaults")],
                     [0, 0, 0, 0])
        compare("while three came, task %d" % i, window, rows, [i])


def crowd():
    """Every one of many answers: their sizes add up."""
    runs(0.1)
    job = new_job()
    base = tree.job(job) + "/step_0"
    cmd = "for i in $(seq %d); do sleep 300 & done; wait" % CROWD
    s = Stepd(job, 0, ["sh", "-c", cmd], v2_task(base), n=1)
    procs = base + "/user/task_0/cgroup.procs"

    def pids():
        with open(procs) as f:
            return f.read().split()
    wait_until(lambda: os.path.exists(procs) and len(pids()) == CROWD + 1, 60, "the crowd")

    def sizes():
        return [kernel_account(int(p))["VmSize"] for p in pids()]

    def at_rest():
        """All have loaded their program and its libraries."""
        before = sizes()
        time.sleep(0.5)
        return len(set(before)) <= 2 and sizes() == before  # the shell's and theirs
    wait_until(at_rest, 60, "the crowd to sleep")
    q = Quiet("a crowd")
    size = sum(sizes())
    for p in pids():
        os.kill(int(p), signal.SIGKILL)
    s.end()
    rows = q.rows(task_table(d.file(job, 0), 0))
    is_true("a crowd: there are rows", len(rows) >= 2, len(rows))
    is_equal("a crowd: Threads", set(rows["Threads"]), {CROWD + 1})
    is_equal("a crowd: VMSize is the sum of status'", set(rows["VMSize"] * 1024), {size})


if __name__ == "__main__":
    need_bpf()
    tree = Trees()
    d = Daemon(INTERVAL).start()
    run_tests((known, crowd))
    is_equal("jobprofd ends", d.end(), 0)
