# SPDX-License-Identifier: GPL-2.0-or-later
"""What the families sample and stack cost the program that they interrupt: a sample by itself, at a rate
at which it shows; and a program that computes and two that switch, with and without, in turn, and with other
tools that sample."""

import os
import subprocess
import time

import peers
import switch
from helper import SCHED, Attached, Missing
from stats import quartiles
from table import Row

TITLE = "the software clock of the families sample and stack"
HZ = 97
BASE, WITH = "jobprof sched, wait", "jobprof sched, wait, sample, stack"
LEAST_MS = 200  # of a run: some of its operations, of 20 ms or so each


def variants(helper):
    """Those that are here, and why others are not. The first one has what the families stand on."""
    here, lost = [], {}
    for key, name, families in (("base", BASE, SCHED + ",wait"), ("with", WITH, SCHED + ",wait,sample,stack")):
        helper.open(key, families)
        here.append((name, Attached(helper, key)))
    for peer in peers.sampling_peers():
        why = peer.missing()
        if why:
            lost[peer.name] = why
        else:
            here.append((peer.name, peer))
    return here, lost


def beside(helper, opts, what, workload, most):
    """What each variant adds to a program, in percent of its time without any."""
    here, lost = variants(helper)
    ms = max(LEAST_MS, opts.ms)
    bare, added, failed = switch.measure(helper, here, ["one"], opts.rounds, ms, workload)
    lost.update(failed)
    ns = quartiles(bare["one"])[1]
    percent = {name: [100 * v / ns for v in added.get(name, {}).get("one", [])] for name in list(added) + list(lost)}
    yield Row("sampling", "%s: sample and stack add" % what, "%",
              [a - b for a, b in zip(percent[WITH], percent[BASE])], target=most, digits=2)
    for name, values in percent.items():
        yield Row("sampling", "%s: %s" % (what, name), "%", values, why=lost.get(name), digits=2)
    for key in ("base", "with"):
        helper.tell("close", key)


# Threads for each CPU. Where more than one wants a CPU a sample looks at the queues.
QUEUES = ((1, "one thread for each CPU"), (2, "two"), (32, "32"))


def program(helper, directory, n, seconds):
    """ns of a sample's program by the kernel's statistics, where n threads of a step want each CPU."""
    cpus = sorted(os.sched_getaffinity(helper.proc.pid))
    spin = "echo $$ >%s/cgroup.procs; while :; do :; done" % directory
    spinners = [subprocess.Popen(["taskset", "-c", str(c), "sh", "-c", spin]) for c in cpus for _ in range(n)]
    try:
        time.sleep(0.3)
        runs, ns = helper.programs("sample")["jp_clock"]
        time.sleep(seconds)
        more, after = helper.programs("sample")["jp_clock"]
        return (after - ns) / (more - runs)
    finally:
        for p in spinners:
            p.kill()
            p.wait()


def queues(helper, opts):
    """One after the other in each round, at the rate and with the cold caches of a profiled step."""
    directory, ns = helper.tell("dir", "one")[0], {n: [] for n, _ in QUEUES}
    helper.tell("stats", "on")
    with Attached(helper, "sample"):
        for _ in range(min(opts.rounds, 5)):
            for n, _ in QUEUES:
                ns[n].append(program(helper, directory, n, 1))
    helper.tell("stats", "off")
    for n, what in QUEUES:
        yield Row("sampling", "a sample's program, %s" % what, "ns", ns[n])
    yield Row("sampling", "looking at queues, 97 times a second: at most", "%",
              [HZ * (b - a) / 1e7 for a, b in zip(ns[1], ns[32])], digits=3)


def run(helper, opts):
    try:
        helper.open("sample", SCHED + ",sample")
    except Missing as e:
        yield Row("sampling", "a sample, with its interrupt", "ns", why=str(e))
        return
    ns = [float(helper.tell("calibrate", "sample")[1]) for _ in range(opts.rounds)]
    known = [v for v in ns if v]  # 0: other load hid it
    why = None if known else "other programs disturbed each round"
    yield Row("sampling", "a sample, with its interrupt", "ns", known, why=why)
    yield Row("sampling", "97 samples a second", "%", [HZ * v / 1e7 for v in known], target=0.2, why=why, digits=3)
    yield from queues(helper, opts)
    helper.tell("close", "sample")
    # No target: what other load does to it is more than the 0.12 % of the row above.
    yield from beside(helper, opts, "a program that computes", "compute", None)
    yield from beside(helper, opts, "two processes that switch all the time", "switch", 1)
