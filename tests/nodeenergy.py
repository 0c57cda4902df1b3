#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Energy of steps in their files: a machine made of files, whose counters follow what the steps'
processes do at a power that only this test knows."""

import re
import threading

import h5py
import numpy

from daemonlib import *
from treelib import machine, put

COLUMNS = ["ElapsedTime", "EpochTime", "Power", "NodeEnergy", "PkgEnergy", "DramEnergy",
           "GpuEnergy", "StepEnergy", "StepStatic", "StepDynamic", "StepEnergyLow",
           "StepEnergyHigh", "OtherEnergy", "SystemEnergy", "UnallocatedEnergy", "TimeNS"]
IDLE_W = (30.0, 15.0)  # of the packages
DRAM_W = (4.0, 3.0)
POWERCAP = "sys/class/powercap/intel-rapl:"
# part, package: file, J at which it wraps
FILES = {("pkg", 0): ("1/energy_uj", 262143.328850), ("pkg", 1): ("0/energy_uj", 262143.328850),
         ("dram", 0): ("1:0/energy_uj", 65712.999613),
         ("dram", 1): ("0:0/energy_uj", 65712.999613)}


class Meter:
    """Writes the counters of the tree intel-2s; all processes that are watched run on package 0."""

    def __init__(self, root):
        self.root = root
        self.watts = {}  # pid: W per second of its CPU time
        self.ran, self.of = {}, {}  # pid: s so far, J of what it did
        # package 1 is about to wrap
        self.at = {k: wrap - 40 if k[1] else 1000.0 for k, (_, wrap) in FILES.items()}
        self.log = []  # (time_ns, J of packages, J of DRAM)
        self.over = False
        self.then = time.time_ns()
        self.turn()
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def end(self):
        self.over = True
        self.thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.end()

    def watch(self, pid, watts):
        self.watts[pid] = watts

    def done(self, pid):
        try:
            with open("/proc/%d/schedstat" % pid) as f:
                return int(f.read().split()[0]) / 1e9
        except OSError:
            return self.ran.get(pid, 0)

    def turn(self):
        now = time.time_ns()
        dt, self.then = (now - self.then) / 1e9, now
        for p in (0, 1):
            self.at["pkg", p] += IDLE_W[p] * dt
            self.at["dram", p] += DRAM_W[p] * dt
        for pid, watts in list(self.watts.items()):
            ran = self.done(pid)
            joules = watts * (ran - self.ran.get(pid, ran))
            self.at["pkg", 0] += joules
            self.of[pid] = self.of.get(pid, 0) + joules
            self.ran[pid] = ran
        for key, (path, wrap) in FILES.items():
            put(self.root, POWERCAP + path, int(self.at[key] % wrap * 1e6))
        self.log.append((now, self.at["pkg", 0] + self.at["pkg", 1],
                         self.at["dram", 0] + self.at["dram", 1]))

    def work(self):
        while not self.over:
            self.turn()
            time.sleep(0.005)

    def joules(self, what, begin_ns, end_ns):
        t, pkg, dram = zip(*list(self.log))
        v = pkg if what == "pkg" else dram
        return float(numpy.interp(end_ns, t, v) - numpy.interp(begin_ns, t, v))


def roots(root):
    return {"SysRoot": root + "/sys", "ProcRoot": root + "/proc", "DevRoot": root + "/dev"}


def energy_of(path):
    with h5py.File(path, "r") as f:
        node = f[NODE]
        return node["Energy"][:], {k: v for k, v in node.attrs.items()}


def text(v):
    v = v[0] if isinstance(v, numpy.ndarray) else v
    return v.decode() if isinstance(v, bytes) else str(v)


def conserves(rows):
    measured = rows["PkgEnergy"] + rows["DramEnergy"]
    parts = sum(rows[c] for c in ("StepEnergy", "OtherEnergy", "SystemEnergy",
                                  "UnallocatedEnergy"))
    return float(numpy.max(numpy.abs(parts / measured - 1)))


def two_steps_share_a_package(root, meter):
    d = Daemon(interval=0.5, **roots(root)).start()
    jobs = [new_job(), new_job()]
    steps = []
    for job, watts in zip(jobs, (20.0, 50.0)):
        h = Holds(["0"])
        s = Stepd(job, 0, h.cmd("park", "spin=3", "park"), v2_task(tree.job(job) + "/step_0"))
        h.wait()
        meter.watch(h.all[0].pid, watts)
        steps.append((job, s, h))
    for _, _, h in steps:
        h.go()
    for _, _, h in steps:
        h.wait()
    truth = [meter.of[h.all[0].pid] for _, _, h in steps]
    for _, s, h in steps:
        h.go()
        s.end()
    for (job, _, h), dynamic, name in zip(steps, truth, ("20 W", "50 W")):
        rows, attrs = energy_of(d.file(job, 0))
        is_equal(name + ": columns", list(rows.dtype.names), COLUMNS)
        first, last = int(rows["TimeNS"][0]), int(rows["TimeNS"][-1])
        for what, column in (("pkg", "PkgEnergy"), ("dram", "DramEnergy")):
            is_near("%s: %s is the counters', over the wrap too" % (name, column),
                    float(rows[column][1:].sum()), meter.joules(what, first, last), 1.5, 0.02)
        is_true(name + ": what is not there is not known",
                numpy.isnan(rows["NodeEnergy"]).all() and numpy.isnan(rows["GpuEnergy"]).all(), rows)
        is_true(name + ": every row conserves", conserves(rows) < 1e-9, conserves(rows))
        seconds = numpy.diff(rows["TimeNS"].astype("f8")) / 1e9
        watts = (rows["PkgEnergy"] + rows["DramEnergy"])[1:] / seconds
        is_true(name + ": Power is their mean over the interval",
                numpy.allclose(rows["Power"][1:], watts, rtol=0.02, atol=1), (rows["Power"], watts))
        is_true(name + ": static and dynamic parts make the energy", numpy.allclose(
            rows["StepStatic"] + rows["StepDynamic"], rows["StepEnergy"]), rows)
        low, high = rows["StepEnergyLow"].sum(), rows["StepEnergyHigh"].sum()
        is_true(name + ": between the bounds", low <= rows["StepEnergy"].sum() <= high, rows)
        # who holds the idle cores of this machine is not known: none of them, or all
        idle = meter.joules("pkg", first, last) + meter.joules("dram", first, last)
        is_true(name + ": the truth is not outside the bounds",
                low <= dynamic + idle and dynamic <= high, (low, dynamic, high))
        is_true(name + ": the rule has a name", re.search(
            "packages by rapl, DRAM by rapl; static part .*; dynamic part by (CPU time|core cycles)",
            text(attrs["Energy Rule"])), attrs["Energy Rule"])
        is_equal(name + ": mode", text(attrs["Mode energy"]), "estimated: see Energy Rule")
    is_equal("jobprofd ends", d.end(), 0)
    return d, jobs


def both_together_are_what_was_measured():
    root = machine("intel-2s")
    with Meter(root) as meter:
        d, jobs = two_steps_share_a_package(root, meter)
    a, b = (energy_of(d.path(j, 0))[0] for j in jobs)
    # rows of both that end, and begin, at the same instants
    same = [(i, k) for i in range(1, len(a)) for k in range(1, len(b))
            if abs(int(a["TimeNS"][i]) - int(b["TimeNS"][k])) < 1000
            and abs(int(a["TimeNS"][i - 1]) - int(b["TimeNS"][k - 1])) < 1000]
    is_true("together: intervals of both", len(same) >= 3, (a["TimeNS"], b["TimeNS"]))
    for i, k in same[:1] + same[-1:]:
        # steps of others on this machine are in it too
        is_true("together: the other's energy is the other's",
                a["OtherEnergy"][i] > b["StepEnergy"][k] - 1e-6, (a[i], b[k]))
        is_near("together: all that steps have is the same in both files",
                float(a["OtherEnergy"][i] + a["StepEnergy"][i]),
                float(b["OtherEnergy"][k] + b["StepEnergy"][k]), 1e-6, 1e-9)
    work = sum(a["StepEnergy"][i] / b["StepEnergy"][k] for i, k in same) / len(same)
    is_true("together: as they had the same CPU time", 0.8 < work < 1.25, work)


def restart_with(root):
    d = Daemon(interval=0.25, **roots(root)).start()
    job, h = new_job(), Holds(["0"])
    s = Stepd(job, 0, h.cmd("park", "spin=0.6", "park", "spin=0.6", "park"),
              v2_task(tree.job(job) + "/step_0"))
    h.wait()
    h.go()
    h.wait()
    time.sleep(0.3)
    d.end(signal.SIGKILL)
    d.start()
    time.sleep(0.6)
    h.go()
    h.wait()
    time.sleep(0.5)
    h.go()
    s.end()
    rows, _ = energy_of(d.file(job, 0))
    d.end()
    return rows


def goes_on_after_a_restart():
    root = machine("intel-2s")
    with Meter(root):
        rows = restart_with(root)
    gap = numpy.isnan(rows["PkgEnergy"])
    is_true("restart: at most the interval over it is unknown", gap.sum() <= 1, rows["PkgEnergy"])
    known = ~gap
    is_true("restart: rows before and after", known.sum() >= 5, rows["PkgEnergy"])
    is_true("restart: times rise", (numpy.diff(rows["TimeNS"].astype("i8")) > 0).all(),
            rows["TimeNS"])
    is_true("restart: every row conserves", conserves(rows[known]) < 1e-9, rows)


def no_sensor_no_table():
    root = tmpdir("bare")
    for part in ("sys", "proc", "dev"):
        os.mkdir(os.path.join(root, part))
    os.chmod(root, 0o755)
    d = Daemon(interval=0.25, **roots(root)).start()
    job, h = new_job(), Holds(["0"])
    s = Stepd(job, 0, h.cmd("park", "spin=0.3"), v2_task(tree.job(job) + "/step_0"))
    h.wait()
    h.go()
    s.end()
    with h5py.File(d.file(job, 0), "r") as f:
        is_true("bare: no Energy", "Energy" not in f[NODE], list(f[NODE]))
        is_equal("bare: why", text(f[NODE].attrs["Mode energy"]),
                 "absent: nothing on this node measures it")
    d.end()


need_bpf()
tree = Trees()
run_tests([
    both_together_are_what_was_measured,
    goes_on_after_a_restart,
    no_sensor_no_table,
])
