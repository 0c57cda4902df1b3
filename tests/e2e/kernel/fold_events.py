#!/usr/bin/python3
# runs: in full
# timeout: 300
# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts of events in the samples of the family fold: of software events everywhere, against what the kernel says of
the thread; of hardware ones where there are any, against what the thread itself counts in each phase."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from perflib import *

FAULTS = "software/config=2,name=Faults/"
HZ = 97


def phases(options, seconds=12):
    return with_priority(tool("jpphases"), *options, str(seconds), "24", "0.4", "0.35")


def run_phases(options, events, *more, series="all,fold"):
    run, path = run_jobprof(phases(options), 1, series, ["--events", events, "--perf-mode", "exact", *more])
    words = [l.split() for l in run.out().splitlines()]
    return {w[0]: [float(v) for v in w[1:]] for w in words if w and w[0] in ("first", "second", "instructions")}, path


def steps_of(rows, column):
    v = rows[column].astype(float)
    return v[1:] - v[:-1]


def software():
    """Between two samples: the faults are those that the kernel's own count of the thread has grown by."""
    said, path = run_phases([], FAULTS + ",cpu-clock")
    rows = table(path, "SamplePoints")
    rows = rows[rows["Thread"] == rows["Process"]]
    faults, clock = steps_of(rows, "Faults"), steps_of(rows, "CpuClock")
    known = ~numpy.isnan(faults)
    is_true("software: nearly all are known", known.mean() > 0.8, known.mean())
    far = (faults - steps_of(rows, "PageFaults"))[known]  # an event counts when a fault begins, the thread when it ends
    is_true("software: faults are the thread's", abs(far).max() <= 2 and (abs(far) <= 1).mean() > 0.99 and abs(far.sum()) <= 2 + (~known).sum(),
            (abs(far).max(), far.sum()))
    far = abs(clock - steps_of(rows, "CPUTime"))[known] / 1e9
    is_true("software: a clock is the thread's CPU time", numpy.median(far) < 2e-4 and (far < 1e-3).mean() > 0.95, (numpy.median(far), far.max()))  # a few are of a thread that the host kept off its CPU
    is_true("software: the file says so", "with counts of events" in attributes(path)["Mode fold"], attributes(path)["Mode fold"])
    same, other = fold(path, "Faults"), fold(path, "PageFaults")
    for a, b in ((same["counters"]["Faults"]["mean_rate"], other["counters"]["PageFaults"]["mean_rate"]),):
        is_near("software: folded as the kernel's own count is", a, b, 0.03)


def beside_others():
    """Several threads on one CPU: each has its own counts only."""
    cmd = ["taskset", "-c", str(max(os.sched_getaffinity(0))), "sh", "-c", "%s -f 0,50,0 6 24 .4 .35 & %s -f 5,5,5 6 24 .4 .35 & %s 6 & wait" % (
        tool("jpphases"), tool("jpphases"), tool("jpspin"))]
    run, path = run_jobprof(cmd, 1, "all,fold", ["--events", FAULTS, "--perf-mode", "exact"])
    rows = table(path, "SamplePoints")
    seen = 0
    for thread in set(rows["Thread"]):
        of = rows[rows["Thread"] == thread]
        got, want = steps_of(of, "Faults"), steps_of(of, "PageFaults")
        known = ~numpy.isnan(got)
        seen += known.sum() > 20
        print("# beside others: %d, %d of %d known" % (thread, known.sum(), len(got)))
        far = abs(got - want)[known]
        is_true("beside others: a thread's faults are its own", not known.any() or far.max() <= 2, (thread, far))  # in a fault at either end
    is_true("beside others: two threads and more had some", seen >= 2, seen)


def without():
    """No column, and no bytes, where nothing is counted."""
    for name, series, options in (("perf is not asked for", "base,sched,fold", ["--events", FAULTS]),
                                  ("counters are off", "all,fold", ["--events", FAULTS, "--perf-mode", "off"]),
                                  ("counters are sampled", "all,fold", ["--events", "cpu-clock", "--perf-mode", "sampled"])):
        run, path = run_jobprof([tool("jpphases"), "2", "24", "0.4", "0.35"], 0.5, series, options)
        names = table(path, "SamplePoints").dtype.names
        is_true("without: %s" % name, "PageFaults" in names and not {"Faults", "CpuClock"} & set(names), names)
    got = subprocess.run([JOBPROF, "fold", "-c", "Faults", path], capture_output=True, text=True)
    is_true("without: refused in one line", got.returncode == 1 and 'no counter "Faults"' in got.stderr and got.stderr.count("\n") == 1, got.stderr)


def fold(path, counter):
    p = subprocess.run([JOBPROF, "fold", "--json", "-c", counter, path], capture_output=True, text=True, timeout=60)
    is_equal("fold -c %s: %s" % (counter, p.stderr), p.returncode, 0)
    return json.loads(p.stdout)


def instructions(name="instructions", *more):
    """Phases of different rates: those of the kernel do not count."""
    need_hardware()
    if not works("instructions:u"):
        raise Skipped("this machine counts no instructions:u")
    said, path = run_phases(["-i", "-f", "0,300,0"], "instructions:u,cycles", *more)
    rows, got = table(path, "SamplePoints"), fold(path, "InstructionsUser")
    known = ~numpy.isnan(rows["InstructionsUser"])
    is_true(name + ": most are known", known.mean() > 0.8, known.mean())
    ends, truth = [0, said["first"][0], said["second"][0], 1], said["instructions"]
    of = got["counters"]["InstructionsUser"]
    at = numpy.interp(ends, numpy.linspace(0, 1, len(of["curve"])), of["curve"])
    found = numpy.diff(at) / numpy.diff(ends) * of["mean_rate"]
    print("# %s: %d samples, found %s, counted %s" % (name, got["validity"]["samples"], found, truth))
    is_true(name + ": phases differ", truth[1] < 0.8 * truth[0], truth)
    wrong = (abs(found - truth) * numpy.diff(ends)).sum() / of["mean_rate"]
    is_true(name + ": of the phases, to 5 % of the region's", wrong <= 0.05, (wrong, found, truth))
    is_near(name + ": in all", of["mean_rate"], numpy.dot(truth, numpy.diff(ends)), 0.02)
    return path


def by_cycles():
    """The samples are of cycles; shares of time stay the clock's."""
    need_hardware()
    d = Daemon(1, ProfileHDF5Default="all,fold", SampleEvent="cycles", PerfEvents="instructions:u,cycles", PerfMode="exact").start()
    job = new_job()
    s = Stepd(job, 0, phases(["-f", "0,300,0"]), v2_task(Trees().job(job) + "/step_0"))
    s.end()
    path = d.file(job, 0)
    d.end()
    mode, rows, samples, tasks = attributes(path)["Mode fold"], table(path, "SamplePoints"), table(path, "Samples/0"), task_table(path)
    is_true("by cycles: the file says so", mode.startswith("sampled: by cycles"), mode)
    cpu = total(tasks, "CPUTime")
    print("# by cycles: %d points, %d samples of the clock in %.1f s" % (len(rows), samples["Samples"].sum(), cpu))
    is_near("by cycles: points of a busy CPU", len(rows) / cpu, HZ, 0.2)
    is_near("by cycles: samples of the clock", float(samples["Samples"].sum()) / cpu, HZ, 0.05)


def no_cycles():
    """A machine without cycles: the clock goes on, and the file says why."""
    if HARDWARE:
        raise Skipped("this machine has hardware counters")
    d = Daemon(1, ProfileHDF5Default="all,fold", SampleEvent="cycles").start()
    job = new_job()
    Stepd(job, 0, [tool("jpphases"), "3", "24", "0.4", "0.35"], v2_task(Trees().job(job) + "/step_0")).end()
    path, mode = d.file(job, 0), attributes(d.file(job, 0))["Mode fold"]
    d.end()
    is_true("no cycles: points by the clock", len(table(path, "SamplePoints")) > 50, len(table(path, "SamplePoints")))
    is_true("no cycles: said", mode.startswith("sampled: 78 to 116") and "SampleEvent=cycles: perf_event_open says" in mode, mode)


if __name__ == "__main__":
    need_bpf()
    run_tests([software, beside_others, without, instructions, by_cycles, no_cycles])
