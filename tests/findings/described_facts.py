#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The facts of jobprof report are those of the job as it was described, but for a noise of a few per cent."""

import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../lib"))
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import numpy
import sick_cpu
import sick_io
import sick_memory
import sick_tasks
from cases import SHAPES, job
from lib import JOBPROF, Failed, is_equal, is_near, run_tests, tmpdir

LINE = re.compile(r"job\.(\w+) +([-+.\de]+)")
DEMAND = re.compile(r"task\.cpus_demand +([-+.\de]+)\.\.([-+.\de]+),")
SICK = {
    "threads": [sick_cpu.tail, 0.4], "fine": [sick_cpu.stacked, 0.5], "fine shared": [sick_tasks.sync_fine, 20000],
    "node": [sick_tasks.imbalance, 0.4], "shared": [sick_memory.near_limit, 0.95], "long": [sick_memory.thrash, 0.3],
    "pair": [sick_io.ethernet, 200], "pair fine": [sick_cpu.throttled, 0.2], "hybrid": [sick_io.gpu_idle, 9],
    "some": [sick_io.one_rank, 0.25], "many": [sick_io.small, 0.2], "wide": [sick_cpu.oversubscribed, 2],
}


def sums(j):
    """By the facts' names: the column whose rates they sum."""
    amounts = {"cpu_s": "CPUTime", "wait_s": "RunDelay", "disk_wait_s": "OffCPUDisk", "vol_switches": "VolSwitches",
               "invol_switches": "InvolSwitches", "migrations": "Migrations", "minor_faults": "MinorFaults",
               "major_faults": "MajorFaults", "read_mb": "ReadMB", "write_mb": "WriteMB", "read_calls": "ReadCalls",
               "write_calls": "WriteCalls", "net_tx_mb": "NetTxMB", "tcp_retrans": "TcpRetrans"}
    return {fact: (j.d[column] * j.dt).sum() for fact, column in amounts.items()}


def described(j):
    node_memory = [(j.d["AnonMB"] + j.d["ShmemMB"])[j.node_of == n].sum(axis=0) for n in range(j.nodes)]
    own = [(m + j.step["MemKernelMB"][n]).max() for n, m in enumerate(node_memory)]
    cpu = j.d["CPUTime"] * j.dt
    return {**sums(j), "wall_s": j.wall, "core_s": j.core_s, "nodes": j.nodes, "tasks": j.tasks,
            "cores": j.nodes * j.cores, "limit_s": j.limit_s, "limit_mb": j.limit_mb, "row_s": j.row,
            "cores_per_node": j.node_cores, "is_exclusive": int(j.exclusive), "own_peak_mb": max(own),
            "system_s": (cpu * j.d["system"]).sum(), "cpu_share": cpu.sum() / j.core_s,
            "throttled_s": (j.step["Throttled"] * j.dt).sum(), "probe_s": (cpu * j.d["probe"]).sum(),
            "energy_j": (j.node["Energy"]["StepEnergy"] * j.dt).sum(),
            "task_balance": cpu.sum(axis=1).mean() / cpu.sum(axis=1).max(), "coverage": 1}


def demands(j):
    """Of the tasks, on the CPUs where they may run: the least and the most."""
    work = ((j.d["CPUTime"] + j.d["RunDelay"]) * j.dt).sum(axis=1) / j.wall
    ends = [list(map(int, j.cpu_list(t).split("-"))) for t in range(j.tasks)]
    cpus = [set(range(e[0], e[-1] + 1)) for e in ends]
    found = [sum(work[k] for k in range(j.tasks) if j.node_of[k] == j.node_of[t] and cpus[k] <= cpus[t]) /
             len(cpus[t]) for t in range(j.tasks)]
    return min(found), max(found)


def facts_of(path):
    p = subprocess.run([JOBPROF, "report", "--facts", path], capture_output=True, text=True)
    if p.returncode:
        raise Failed(p.stderr)
    least, most = DEMAND.search(p.stdout).groups()
    return {"least demand": float(least), "most demand": float(most),
            **{name: float(value) for name, value in LINE.findall(p.stdout)}}


def compare(shape, **more):
    sick, strength = SICK[shape]
    j = job(shape, 11, **more)
    sick(j, strength)
    path = os.path.join(tmpdir(), "job_4711.h5")
    j.write(path)
    facts = facts_of(path)
    least, most = demands(j)
    for name, want in {**described(j), "least demand": least, "most demand": most}.items():
        is_near("%s: %s" % (shape, name), facts.get(name, numpy.nan), want, 0.03, 0.5 if want > 100 else 1e-3)


def sleeper(shape, threads, cpu, disk):
    """Of its cores' time, so much is used and spent waiting for disks; there are so many threads for a core."""
    j = job(shape, 12)
    j.put(CPUTime=cpu * j.threads, RunDelay=0, OffCPUDisk=disk * j.threads, Threads=threads * j.threads)
    return j


def asleep(j, with_batch=False):
    if with_batch:
        batch = job("threads", 13, tasks=1, cores=j.cores, wall=j.wall)
        batch.put(CPUTime=0.001, Threads=9)
        j.extra.append(("batch", batch, 0))
    path = os.path.join(tmpdir(), "asleep.h5")
    j.write(path)
    p = subprocess.run([JOBPROF, "report", "--json", path], capture_output=True, text=True)
    r = json.loads(p.stdout)
    return r["facts"]["idle_asleep_s"] / j.core_s, {s["name"]: s["share"] for s in r["time_budget"]["shares"]}


def idle_cores_of_threads_that_sleep():
    for shape in ("fine", "pair", "threads", "many"):
        share, budget = asleep(sleeper(shape, 1, 0.3, 0.1))
        is_near("%s: threads sleep" % shape, share, 0.6, 0.02)
        is_near("%s: asleep is a part of the time" % shape, budget["asleep"], share, 1e-9)
        is_near("%s: and nothing is idle" % shape, budget["idle"], 0, 0, 0.01)
    is_near("threads for half of the cores", asleep(sleeper("many", 0.5, 0.3, 0.1))[0], 0.1, 0.05)
    is_near("more threads than cores", asleep(sleeper("many", 5, 0.3, 0.1))[0], 0.6, 0.02)
    is_near("busy threads do not sleep", asleep(sleeper("many", 1, 1, 0))[0], 0, 0, 0.015)
    is_near("a batch step that waits for another one", asleep(sleeper("fine", 0.5, 0.3, 0.1), True)[0], 0.1, 0.05)


def findings_of(j):
    path = os.path.join(tmpdir(), "causes.h5")
    j.write(path)
    p = subprocess.run([JOBPROF, "report", "--json", path], capture_output=True, text=True)
    r = json.loads(p.stdout)
    return r, {f["id"]: f for f in r["findings"]}


def causes():
    """Findings say what threads waited for where one cause is clear, and nothing of it where none is or where none is known."""
    waiting, clear = "of their time", "other threads or processes (locks"
    for name, sick, strength, id_, parts, word, says in (
            ("idle cores", sick_cpu.unused, 0.3, "cpu.unused", {"Futex": 0.9, "Child": 0.1}, clear, True),
            ("idle cores and a sleep", sick_cpu.unused, 0.3, "cpu.unused", {"Sleep": 0.8, "Child": 0.2}, "the time (sleep)", True),
            ("idle cores and parents", sick_cpu.unused, 0.3, "cpu.unused", {"Child": 1.0}, waiting, False),
            ("idle cores and no clear cause", sick_cpu.unused, 0.3, "cpu.unused", {"Futex": 0.4, "Poll": 0.3, "Pipe": 0.3}, clear, False),
            ("short sleeps", sick_tasks.sync_fine, 20000, "sync.fine", {"Pipe": 0.95, "Other": 0.05}, "another process (a pipe or", True),
            ("unequal ranks", sick_tasks.imbalance, 0.2, "mpi.imbalance", {"Socket": 1.0}, "messages (a socket)", True),
            ("one slow rank", sick_tasks.straggler, 0.3, "mpi.straggler", {"Poll": 1.0}, "events (poll", True),
            ("network files", sick_io.net_wait, 0.3, "io.wait", None, "a network file system for", True),
            ("a disk", sick_io.io_wait, 0.3, "io.wait", {"Other": 1.0}, "a disk for", True)):
        j = job("threads" if sick is sick_tasks.sync_fine else "node", 14)
        sick(j, strength)
        if parts:
            j.budget(**parts)
        r, found = findings_of(j)
        is_equal("%s: %s: says what it waits for" % (name, id_), word in found.get(id_, {"text": sorted(found)})["text"], says)
        is_near("%s: shares of the threads' time add up" % name, sum(s["share"] or 0 for s in r["thread_budget"]["shares"]), 1, 0.005)
        j.without.add("WAIT")
        r, found = findings_of(j)
        if id_ in found:
            is_equal("%s: %s: without the family nothing" % (name, id_), (r["thread_budget"]["shares"], word in found[id_]["text"] and word != "a disk for"), ([], False))


def parts_of(j):
    r, _ = findings_of(j)
    return r, {key: {s["name"]: s["share"] for s in r[key]["shares"]} for key in ("culprits", "samples")}


def culprits_and_samples():
    """What had the CPU and which code ran are those of the job; tasks that waited longest come first; POP is by samples."""
    for launched in (False, True):
        name, j = "ranks" if launched else "tasks", job("node", 14, launched=launched)
        waits, mpi = numpy.linspace(0.02, 0.2, j.tasks), numpy.linspace(0.5, 0.1, j.tasks)
        j.put(CPUTime=0.7 * j.threads, RunDelay=waits[:, None] * j.threads)
        j.culprits(OtherJobs=0.7, System=0.2, OwnTask=0.1)
        r, shares = parts_of(j)
        is_equal("%s: without samples there are none" % name, r["samples"]["shares"], [])
        j.samples(MPI=mpi[:, None], ForMPI=0.1, Own=1 - mpi[:, None], LibC=0.0)
        r, shares = parts_of(j)
        all_s = 0.7 + waits.mean()
        for part, share in (("ran", 0.7), ("other jobs", 0.7 * waits.mean()), ("not profiled", 0.2 * waits.mean()), ("own task", 0.1 * waits.mean()), ("own step", 0)):
            is_near("%s: %s" % (name, part), shares["culprits"][part], share / all_s, 0.02)
        first = r["culprits"]["waited_most"][0]
        is_equal("%s: the last waited longest" % name, (first["name"], first["most_for"], len(r["culprits"]["waited_most"])), (str(j.tasks - 1), "other jobs", min(5, j.tasks)))
        is_near("%s: for so long" % name, first["wait_s"], 0.2 * j.threads * j.wall, 0.02)
        is_near("%s: MPI" % name, shares["samples"]["MPI"], mpi.mean(), 0.02)
        is_near("%s: own program" % name, shares["samples"]["own program"], 1 - mpi.mean(), 0.02)
        useful = 1 - mpi - 0.1
        is_equal("%s: by samples" % name, (r["pop"]["measured_by"], r["pop"]["status"], r["pop"]["reason"]), ("samples", "OK", None))
        is_near("%s: load balance" % name, r["pop"]["load_balance"], useful.mean() / useful.max(), 0.02)
        is_near("%s: the product" % name, r["pop"]["load_balance"] * r["pop"]["communication_efficiency"] * r["pop"]["with_cpu"], r["pop"]["parallel_efficiency"], 1e-9)


def every_shape():
    for shape in SHAPES:
        compare(shape)


def ranks():
    """A launcher's ranks are the tasks of these facts."""
    compare("fine", launched=True)


def units_of(j):
    """The numbers of the units, their nodes, and how many have values over time."""
    path = os.path.join(tmpdir(), "job_4711.h5")
    j.write(path)
    p = subprocess.run([JOBPROF, "report", "--json", path], capture_output=True, text=True)
    units = json.loads(p.stdout)["units"]
    nodes = [units["nodes"]["name"][int(i) - 1] for i in units["tasks"]["node"]]
    return units["tasks"]["number"], nodes, len(units["task_bins"]["CPU"])


def ranks_of_several_steps():
    """Those that an mpirun of the batch script has on other nodes are in a step."""
    for first, want in ((8, ([*range(16)], ["n1"] * 8 + ["n2"] * 8, 16)), (0, ([*range(8)], ["n1"] * 8, 8)),
                        (9, ([*range(8)], ["n1"] * 8, 8))):
        j, other = job("fine", 11, launched=True), job("fine", 12, launched=True)
        other.first_rank = first
        other.put(CPUTime=0.9)
        j.extra.append(("0", other, 1))
        numbers, nodes, bins = units_of(j)
        is_equal("ranks from %d on in another step" % first, (numbers, nodes, bins), want)


def efficiencies(use, wall, waits):
    """Of ranks that do not spin, from their CPU times."""
    longest = max(use)
    return {"load_balance": sum(use) / len(use) / longest, "communication_efficiency": longest / (wall - waits),
            "with_cpu": (wall - waits) / wall, "parallel_efficiency": sum(use) / len(use) / wall}


def pop_of_steps():
    """Each step has its own efficiencies, and the job those of the step with most CPU time."""
    steps, after = [], 0.0
    for i, shares in enumerate(([0.7, 0.35], [0.3, 0.6], [0.5, 0.5])):
        j = job("node", 20 + i, tasks=16, cores=16, wall=1200)
        j.put(CPUTime=numpy.array(shares * 8)[:, None], RunDelay=0.1, Threads=1)
        j.start_s, after = after, after + j.wall + 1
        steps.append(j)
        if i:
            steps[0].extra.append((str(i), j, 0))
    path = os.path.join(tmpdir(), "steps.h5")
    steps[0].write(path)
    r = json.loads(subprocess.run([JOBPROF, "report", "--json", path], capture_output=True, text=True).stdout)
    for j, got in zip(steps, r["job"]["steps"]):
        use = (j.d["CPUTime"] * j.dt).sum(axis=1)
        wanted = efficiencies(list(use), j.wall, (j.d["RunDelay"] * j.dt).sum(axis=1).min())
        for name, want in wanted.items():
            is_near("step %s: %s" % (got["name"], name), got["pop"][name], want, 0.03)
            if got["main"]:
                is_equal("the job's %s" % name, r["facts"][name], got["pop"][name])
        is_equal("step %s: no samples" % got["name"], (got["pop"]["samples"], got["pop"]["reason"]), (None, None))


run_tests([causes, every_shape, idle_cores_of_threads_that_sleep, ranks, ranks_of_several_steps, pop_of_steps, culprits_and_samples])
