#!/usr/bin/python3
# timeout: 180
# runs: alone
# SPDX-License-Identifier: GPL-2.0-or-later
"""Bursts, BurstLength and GapLength, against clocks that threads read themselves and the kernel's own counts; and the
counters of bursts, against the faults that a thread's getrusage() has."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

INTERVAL = 0.3


def histogram(rows):
    return numpy.array([rows["B%d" % k].sum() for k in range(40)])


def measured(text, fields=3):
    """By thread: run time of each burst, and the sleep before it; a fourth field is its faults."""
    threads = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == fields and words[0].isdigit():
            threads.setdefault(int(words[0]), []).append([float(x) for x in words[1:]])
    return {tid: numpy.array(v) for tid, v in threads.items()}


def profile(args, wrap=()):
    run, path = run_jobprof([*wrap, tool("jpburst"), *[str(a) for a in args]], INTERVAL, series="all,burst")
    return measured(run.out()), path


def tables(path):
    with h5py.File(path, "r") as f:
        return list(next(f[k] for k in f if isinstance(f[k], h5py.Group)))


def long_bursts(path):
    """A step without any has no table."""
    with h5py.File(path, "r") as f:
        has_rows = "0" in next(f[k] for k in f if isinstance(f[k], h5py.Group)).get("Bursts", {})
    return table(path, "Bursts/0") if has_rows else numpy.zeros(0, [("TimeNS", "u8")] + [
        (n, "f8") for n in ("Thread", "Duration", "OnCPU", "RunTime", "Gap")])


def counts(name, path):
    """Every burst is in the histogram, and all run time in a burst."""
    tasks, length, gaps = (table(path, s + "/0") for s in ("Tasks", "BurstLength", "GapLength"))
    bursts = long_bursts(path)
    is_equal(name + ": bursts are the voluntary switches", histogram(length).sum(), total(tasks, "VolSwitches"))
    is_near(name + ": run time of bursts is CPUTime", total(length, "BurstTime"), total(tasks, "CPUTime"), 0, TICK)
    is_equal(name + ": none is lost", total(length, "Lost"), 0)
    # 2^20 ns is the first bucket in which all bursts have rows, 2^19 ns the last with none below 1 ms
    n = histogram(length)
    is_true(name + ": rows of the long ones", n[20:].sum() <= len(bursts) <= n[19:].sum(), (n, len(bursts)))
    is_true(name + ": of 1 ms and more", (bursts["RunTime"] >= 0.001).all(), bursts["RunTime"])
    is_true(name + ": they do not end backwards", (numpy.diff(bursts["TimeNS"].astype(numpy.int64)) >= 0).all(), "")
    long_gaps = bursts["Gap"][~numpy.isnan(bursts["Gap"])].sum()
    is_true(name + ": gaps of rows are among all", long_gaps <= total(gaps, "GapTime") + 1e-6,
            (long_gaps, total(gaps, "GapTime")))
    return bursts, length


def per_thread(name, truth, bursts, ms):
    """One by one. A thread computes a little around what it measures."""
    for tid, wanted in truth.items():
        rows = bursts[bursts["Thread"] == tid]
        wanted = wanted[wanted[:, 0] >= 0.00101]
        # On a busy machine a thread's begin or end may take 1 ms, too.
        spare = len(rows) - len(wanted)
        at = next((k for k in range(spare + 1) if (rows["RunTime"][k:k + len(wanted)] - wanted[:, 0] > -1e-6).all()), 0)
        is_true(name + ": a row for each burst of the thread", 0 <= spare <= 2, (len(rows), len(wanted)))
        rows = rows[at:at + len(wanted)]
        late = rows["RunTime"] - wanted[:, 0]
        # but for some that last longer, as the machine itself stood still
        is_true(name + ": run times are the thread's own", (late > -1e-6).all() and numpy.median(late) < 5e-5,
                (late.min(), numpy.median(late), numpy.sort(late)[-2:]))
        gap, slept = rows["Gap"][1:], wanted[1:, 1]
        # the sleep of 2 ms begins before the thread leaves its CPU, which another may have had in between
        is_true(name + ": gaps are at most what the thread slept", (gap <= slept + 1e-6).all() and
                numpy.median(gap) >= 0.0018, (numpy.median(gap), (gap - slept).max()))
        is_true(name + ": on a CPU within the duration", (rows["OnCPU"] <= rows["Duration"] + 1e-9).all() and
                (rows["RunTime"] <= rows["OnCPU"] + 1e-9).all(), "")


def known():
    truth, path = profile(["-n", 40, "-t", 3, 3, 12])
    bursts, _ = counts("known", path)
    is_equal("known: threads", len(truth), 3)
    per_thread("known", truth, bursts, (3, 12))


def short():
    """Below 1 ms there are no rows, and all are counted."""
    truth, path = profile(["-n", 300, 0.3])
    bursts, length = counts("short", path)
    n = histogram(length)
    is_true("short: 300 us", n[18] >= 240, n)  # 2^18 ns is 262 us
    tid = next(iter(truth))
    is_true("short: no rows", (bursts["Thread"] == tid).sum() <= 30, bursts[bursts["Thread"] == tid])


def preempted():
    """Two threads on one CPU: what the other takes does not end a burst, and is not of it."""
    cpu = str(min(os.sched_getaffinity(0)))
    truth, path = profile(["-n", 6, "-t", 2, 60], ["taskset", "-c", cpu])
    bursts, _ = counts("preempted", path)
    per_thread("preempted", truth, bursts, (60,))
    is_true("preempted: they took turns", total(table(path, "Tasks/0"), "InvolSwitches") > 12, "")
    rows = bursts[numpy.isin(bursts["Thread"], list(truth))]
    is_true("preempted: they last longer than they run", (rows["Duration"] > 1.3 * rows["OnCPU"]).sum() >= 6,
            rows["Duration"] / rows["OnCPU"])


def not_asked():
    _, path = run_jobprof(["true"], INTERVAL)
    with h5py.File(path, "r") as f:
        node = next(k for k in f if isinstance(f[k], h5py.Group))
        is_equal("not asked for: no tables", [k for k in f[node] if "Burst" in k or "Gap" in k], [])


def faults(sets, rounds):
    """Bursts of 100 and of 7 new pages in turn: rows of the thread, and what it says of its faults."""
    run, path = run_jobprof([tool("jpburst"), "-n", str(rounds), "-p", "100", "-p", "7", "2", "3"], INTERVAL,
                            series="all,burst", extra=["-e", sets, "--perf-mode", "exact"])
    tid, wanted = next(iter(measured(run.out(), 4).items()))
    rows = long_bursts(path)
    return rows[rows["Thread"] == tid], wanted[:, 2], path


def counted():
    """What an event counts in a burst. The first two have the thread's begin and its first nap, too."""
    rows, wanted, path = faults("page-faults,task-clock", 40)
    is_equal("counted: a row for each burst", len(rows), len(wanted))
    known = ~numpy.isnan(rows["PageFaults"])
    is_true("counted: nearly all are known", known.sum() >= len(rows) - 4, known)
    known[:2] = False
    is_equal("counted: faults of each burst are the thread's own", list(rows["PageFaults"][known]), list(wanted[known]))
    off = abs(rows["TaskClock"] / 1e9 - rows["RunTime"])[known]
    is_true("counted: its clock is the run time", numpy.median(off) < 2e-5 and numpy.quantile(off, 0.9) < 1e-3, sorted(off))
    whole_step = total(table(path, "Tasks/0"), "PageFaults")
    is_true("counted: they are among those of the task", wanted.sum() <= whole_step <= wanted.sum() + 1500,
            (wanted.sum(), whole_step))


def in_turn():
    """Two sets: a burst has the counters of one of them, or of none where a turn falls into it."""
    rows, wanted, path = faults("page-faults,task-clock;faults:u,task-clock", 300)
    is_equal("in turn: a row for each burst", len(rows), len(wanted))
    a, b, clock = (~numpy.isnan(rows[c]) for c in ("PageFaults", "FaultsUser", "TaskClock"))
    is_true("in turn: never both", not (a & b).any(), "")
    is_true("in turn: each is often", a.sum() > 100 and b.sum() > 100, (a.sum(), b.sum(), len(a)))
    is_equal("in turn: what both have is there with either", list(clock), list(a | b))
    both = numpy.where(a, rows["PageFaults"], rows["FaultsUser"])
    right = both == wanted
    is_equal("in turn: what is counted is the thread's own", [int(i) for i in numpy.flatnonzero((a | b) & ~right) if i > 1], [])
    tasks = table(path, "Tasks/0")
    is_true("in turn: rows have either", (numpy.isnan(tasks["PageFaults"]).sum() > 1 and
            numpy.isnan(tasks["FaultsUser"]).sum() > 1), tasks["PageFaults"])


def lost():
    """While nobody reads, the ring fills up: what it has no room for is counted. BurstMin decides what has a row."""
    rows = [lost_of(size) for size in (256, 4096)]
    is_true("lost: a ring of 16 times the size keeps so many more", 12 < rows[1] / rows[0] < 20, rows)


def lost_of(size):
    """Returns how many bursts have a row."""
    d = Daemon(INTERVAL, ProfileHDF5Default="all,burst", BurstMin=0.01, RingSize=size).start()
    tree, job = Trees(), new_job()
    base = tree.job(job)
    begin, end = Hold(), Hold()
    step = Stepd(job, 0, ["/bin/sh", "-c", "%s; %s -n 50000 -t 2 -g 0.001 0.02 >/dev/null; exec %s" % (
        " ".join(begin.cmd("park")), tool("jpburst"), " ".join(end.cmd("park")))], v2_task(base + "/step_0"))
    begin.wait()
    time.sleep(2 * INTERVAL)
    d.tell(signal.SIGSTOP)
    begin.go()
    end.wait(60)
    d.tell(signal.SIGCONT)
    time.sleep(2)
    end.go()
    step.end()
    path = d.file(job, 0)
    n = histogram(table(path, "BurstLength/0"))
    rows, gone = len(table(path, "Bursts/0")), whole(path, "BurstLength/0", "Lost")
    is_true("lost: some are", gone > 0, (n, rows))
    is_true("lost: with the rows all of 0.01 ms and more", n[14:].sum() <= rows + gone <= n[13:].sum(), (n, rows, gone))
    return rows


@in_full
def polling():
    """A function that never leaves its CPU is a wait where that was asked for: bursts lie between its calls."""
    for series in ("all,burst", "base,burst"):
        polled(series)


def polled(series):
    run, path = run_jobprof(["nice", "-n", "-20", tool("jpphases"), "-n", "4", "24", "0.4", "0.35"], INTERVAL, series,
                            ["--region", "poll=wait:%s:second_phase" % tool("jpphases"), "--region-budget", "20"])
    said = {w[0]: float(w[1]) for w in map(str.split, run.out().splitlines()) if w and w[0] in ("loops", "period", "first", "second")}
    wait = (said["second"] - said["first"]) * said["period"]
    rows, gaps = long_bursts(path), histogram(table(path, "GapLength/0"))
    steady = rows[rows["Gap"] > wait / 2][1:-1]  # not the first and the last
    lasted = (float(steady["TimeNS"][-1]) - float(steady["TimeNS"][0])) / 1e9  # the first loops may be over before there are probes
    is_near("polling: a burst for each loop", len(steady), lasted / said["period"] + 1, 0.02, 2)
    is_true("polling: of nearly all loops", len(steady) >= 0.8 * said["loops"], (len(steady), said))
    for column, want in (("RunTime", said["period"] - wait), ("Duration", said["period"] - wait), ("Gap", wait)):
        is_near("polling: %s, to 3 %%" % column, numpy.median(steady[column]), want, 0.03)
    is_near("polling: on a CPU all the time", numpy.median(steady["OnCPU"] / steady["Duration"]), 1, 0.02)
    is_true("polling: the gaps are counted", gaps[22:24].sum() >= len(steady), (gaps, said))
    is_true("polling: the ends are by the run's clock", abs(numpy.diff(steady["TimeNS"].astype(float)).mean() / 1e9 / said["period"] - 1) < 0.03, "")
    is_true("polling: no region has executions", "Regions" not in tables(path), "")
    is_true("polling: what it costs is said", "probes: " in attributes(path)["Regions"], attributes(path))


def nested_polls():
    """Of calls inside of each other the outermost is the wait; a call without a return ends with the next one."""
    calls = 100
    wait = ["--region", "wait:%s:work" % tool("jpcalls"), "--region-budget", "20"]
    run, path = run_jobprof([tool("jpcalls"), "-r", "3", str(calls), "2000"], INTERVAL, "all,burst", wait)
    said = [w for w in map(str.split, run.out().splitlines()) if len(w) == 2 and w[0].isdigit() and w[1].isdigit()]
    took = [int(end) - int(begin) for begin, end in said[2::3]]
    want = numpy.bincount([t.bit_length() - 1 for t in took], minlength=40)
    gaps = histogram(table(path, "GapLength/0"))
    is_equal("nested: calls", len(took), calls)
    is_true("nested: a gap for each call", abs(gaps[22:25].sum() - want[22:25].sum()) <= 2, (gaps, want))
    run, path = run_jobprof([tool("jpcalls"), "-l", str(calls), "2000"], INTERVAL, "all,burst", wait)
    is_true("left by longjmp: no burst is longer than the program", long_bursts(path)["RunTime"].sum() <= total(task_table(path), "CPUTime"), "")
    run, path = run_jobprof([tool("jpcalls"), "60000", "10"], INTERVAL, "all,burst", wait)
    length = table(path, "BurstLength/0")
    is_equal("many calls: none after a burst of less than no time", histogram(length)[30:].sum(), 0)
    is_true("many calls: bursts and calls have the CPU time", total(length, "BurstTime") + 0.6 < total(task_table(path), "CPUTime"), "")
    quick = ["--region", "wait:%s:quick" % tool("jpcalls"), "--region-budget", "100"]
    run, path = run_jobprof([tool("jpcalls"), "-q", "0.5"], INTERVAL, "all,burst", quick)
    is_near("calls of no length: a gap for each", histogram(table(path, "GapLength/0")).sum(), int(run.lines_of_command()[0]), 0, 20)


def paused():
    """Whose probes are gone while a thread is in the call: others' bursts go on, and cluster says so."""
    run, path = run_jobprof(["sh", "-c", "%s -q 1; %s -n 30 20" % (tool("jpcalls"), tool("jpburst"))], INTERVAL, "all,burst",
                            ["--region", "fast=wait:%s:quick" % tool("jpcalls"), "--region-budget", "0.5"])
    is_true("paused: there are bursts of others meanwhile", (long_bursts(path)["RunTime"] > 0.015).sum() >= 29, long_bursts(path))
    p = subprocess.run([JOBPROF, "cluster", path], capture_output=True, text=True)
    is_true("paused: cluster says so", "; fast paused once, " in p.stdout, p.stdout + p.stderr)


# Calls that poll between two bursts of 3 ms; as many calls as there can be, until they cost nothing any more; and the
# first again, with a thread that sleeps, too, and ends a second before. Of each part the program's clock, and how often
# it polled in its last second.
POLLS = r"""
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static double clock_s(clockid_t c) { struct timespec t; clock_gettime(c, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static double now(void) { return clock_s(CLOCK_REALTIME); }
static double cpu(void) { return clock_s(CLOCK_THREAD_CPUTIME_ID); }
static void spin(double s) { if (s > 0) for (double end = cpu() + s; cpu() < end;); }
__attribute__((noipa)) void polls(double s) { spin(s); }
static void part(double s)
{
    double begin = now();
    int n = 0;
    for (; now() < begin + s; n += now() > begin + s - 1) { spin(0.003); polls(0.001); }
    printf("%.6f %.6f %d\n", begin, now(), n);
}
static void many(void)
{
    double begin = now(), last;
    do {
        last = now();
        for (int i = 0; i < 1000; i++)
            polls(0);
    } while (now() > last + 0.0005 && now() < begin + 20);
    printf("%.6f %.6f 0\n", begin, now());
}
static void *sleeps(void *end)
{
    while (now() < *(double *)end) { spin(0.003); polls(0.001); spin(0.003); polls(0.001); spin(0.003); usleep(2000); }
    return 0;
}
int main(void)
{
    pthread_t t;
    double end;

    printf("%d\n", getpid());
    part(0.5);
    many();
    end = now() + 7;
    pthread_create(&t, 0, sleeps, &end);
    part(8);
    pthread_join(t, 0);
}
"""

# Bursts of 3 ms are in one function, of 12 ms in the other.
TWO_FUNCTIONS = r"""
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec / 1e9; }
#define SPIN for (volatile unsigned long i = 0; i < 20000; i++)
__attribute__((noinline)) void alpha(void) { for (double end = now() + 0.003; now() < end;) SPIN; }
__attribute__((noinline)) void beta(void) { for (double end = now() + 0.012; now() < end;) SPIN; }
int main(void) { struct timespec t = {0, 2000000}; for (int i = 0; i < 300; i++) { alpha(); nanosleep(&t, 0); beta(); nanosleep(&t, 0); } }
"""


def built(name, text):
    src, prog = os.path.join(TMP, name + ".c"), os.path.join(TMP, name)
    with open(src, "w") as f:
        f.write(text)
    subprocess.run(["gcc", "-O1", "-g", "-pthread", "-o", prog, src], check=True)
    return prog


@in_full
def resumed():
    """Probes come back when the budget has paid for them, and no burst is known in which a call was missed."""
    prog = built("polls", POLLS)
    run, path = run_jobprof([prog], INTERVAL, "all,burst", ["--region", "wait:%s:polls" % prog, "--region-budget", "8"])
    [tid], first, many, last = ([float(x) for x in line.split()] for line in run.lines_of_command()[:4])
    rows = long_bursts(path)
    made = rows[rows["Thread"] > tid]
    end = rows["TimeNS"].astype(float) / 1e9
    said = attributes(path)["Regions"]
    is_true("resumed: once it paused", re.search("polls paused once, [3-6][.0-9]* s in all", said), said)
    during = rows[(end > many[1] + 0.1) & (end < many[1] + 2.5)]
    is_equal("resumed: no burst is known meanwhile", len(during), 0)
    for name, begin, stop, n in (("before", first[0], first[1], first[2]), ("after", last[0] + 7, last[1], last[2])):
        there = rows[(rows["Thread"] == tid) & (end > begin) & (end <= stop)]
        is_near("resumed: a burst for each call %s, as far as a probe takes time" % name, len(there), n, 0.1, 3)
    is_true("resumed: none has a call in it", (rows["RunTime"][end > first[0]] < 0.02).all(), (tid, many, rows[rows["RunTime"] >= 0.02]))
    is_true("resumed: nor has one of a thread that began meanwhile", len(made) > 5 and (made["RunTime"] < 0.0065).mean() > 0.97,
            numpy.sort(made["RunTime"])[-9:])


@in_full
def named():
    """With the family fold, what most samples of a cluster are in."""
    run, path = run_jobprof([built("two", TWO_FUNCTIONS)], INTERVAL, "all,burst,fold")
    p = subprocess.run([JOBPROF, "cluster", "--json", "--by", "run", path], capture_output=True, text=True, check=True)
    kinds = sorted((c for c in json.loads(p.stdout)["clusters"] if c["bursts"] > 200), key=lambda c: c["run_s"])
    is_equal("named: two kinds, of 3 and of 12 ms", [round(c["run_s"] * 1e3) for c in kinds], [3, 12])
    for c, function in zip(kinds, ("alpha", "beta")):
        m = c["most_samples"]
        is_true("named: %s, and the kernel's clock" % function, m["name"] == function and m["samples"] > 0.6 * m["of"] and m["of"] > 20, m)
    with h5py.File(path) as f:
        points = len(next(f[k] for k in f if isinstance(f[k], h5py.Group))["SamplePoints"])
    is_true("named: of nearly all samples", 0.9 * points < sum(c["most_samples"]["of"] for c in kinds) <= points, (kinds, points))
    p = subprocess.run([JOBPROF, "cluster", "--json", "--code", path], capture_output=True, text=True, check=True)
    none, *codes = json.loads(p.stdout)["clusters"]
    by = {c["code"]: c for c in codes}
    is_true("named: by code the long ones are most", codes[0]["code"] == "beta" and by["beta"]["run_s"] > 0.011 and by["alpha"]["run_s"] < 0.004, by)
    is_equal("named: each burst is of one, or has no sample", sum(c["bursts"] for c in codes) + none["bursts"], len(long_bursts(path)))
    is_near("named: and all of the run time", none["share"] + sum(c["share"] for c in codes), 1, 1e-9)
    text = subprocess.run([JOBPROF, "cluster", "--by", "run", path], capture_output=True, text=True, check=True).stdout
    is_true("named: the table has it", "most samples in" in text and re.search(r" alpha, \S+ % of \d+ samples\n", text), text)


def polling_needs_bursts():
    p = subprocess.run([JOBPROF, "run", "--series", "all", "--region", "wait:%s:work" % tool("jpcalls"), "true"], capture_output=True, text=True)
    is_true("waits without bursts: refused", p.returncode == 2 and "burst" in p.stderr and p.stderr.count("\n") == 1, p.stderr)


if __name__ == "__main__":
    need_bpf()
    run_tests([known, short, preempted, not_asked, counted, in_turn, lost, polling, nested_polls, paused, resumed, named, polling_needs_bursts])
