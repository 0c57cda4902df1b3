#!/usr/bin/python3
# runs: in full
# timeout: 180
# SPDX-License-Identifier: GPL-2.0-or-later
"""Culprits: what had the CPU while threads waited for it, against the CPU time that /proc says of known
rivals on that CPU."""

import shlex
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

INTERVAL = 0.5
CPU = max(os.sched_getaffinity(0))
COLUMNS = ["OwnTask", "OwnStep", "OwnJob", "OtherJobs", "System", "Idle", "Quota", "Unknown"]
ROUNDING = 2.0 ** -20  # of a column in a row


def culprits(name, path, number=0, series=("Culprits", "Tasks")):
    """The rows, whose columns add up to RunDelay in each."""
    rows, use = table(path, "%s/%d" % (series[0], number)), table(path, "%s/%d" % (series[1], number))
    columns = [c for c in rows.dtype.names if c not in ("ElapsedTime", "EpochTime", "TimeNS")]
    is_equal(name + ": a row for each of the task's", list(rows["TimeNS"]), list(use["TimeNS"]))
    worst = float(abs(sum(rows[c] for c in columns) - use["RunDelay"]).max())
    is_true(name + ": the columns add up to RunDelay in every row", worst <= len(columns) * ROUNDING, worst)
    is_equal(name + ": nothing is below zero", [c for c in columns if not (rows[c] >= 0).all()], [])
    return rows


def pinned(cmd):
    return ["taskset", "-c", str(CPU)] + cmd


def of_waits(name, window, rows, wanted):
    """wanted: the rivals of each column, by their numbers; the system may have more on a machine that is not
    the test's alone."""
    for column in COLUMNS[:4]:
        ran_for(name, column, window.ours(rows, column), window, wanted.get(column, []))
    ran = window.kernel("run_ns", wanted.get("System", [])) / 1e9
    waits = window.kernel("delay_ns", [0]) / 1e9
    rest = waits - window.kernel("run_ns", range(1, len(window.holds))) / 1e9
    got = window.ours(rows, "System")
    is_true("%s: System is the CPU time of what no job has" % name, 0.99 * ran - 0.008 <= got <= ran + rest + 0.016,
            "%g s; %g s of the rival, %g s of others" % (got, ran, rest))
    got = [window.ours(rows, c) for c in ("Idle", "Unknown")]
    is_true("%s: nearly all is known" % name, sum(got) < 0.02 * waits, "%s of %g s" % (got, waits))


def dump(d, *args):
    return subprocess.run([os.path.join(BUILD, "jobprof-dump"), "--pin", d.pin, "--culprits", *args], capture_output=True,
                          text=True)


def matrix(name, d, jobs, window):
    """Of the first job's step 0, both of whose tasks wait for all that is on their CPU."""
    pairs = {(p["job"], p["step"], p["waited_for"].get("job", p["waited_for"]["kind"]), p["waited_for"].get("step")): p["s"]
             for p in json.loads(dump(d, "--json").stdout)}
    a, b = map(str, jobs)
    text = dump(d).stdout
    for other, rival in (((a, "1"), 2), ((b, "0"), 3)):
        ran_for(name, "--culprits: what step 0 waited for %s.%s" % other, pairs.get((a, "0", *other), 0), window, [rival], 2)
        is_true("%s: --culprits as text: %s.%s" % (name, *other),
                re.search(r"^ *%s +0 +%s +%s +%.3f$" % (a, *other, pairs.get((a, "0", *other), 0)), text, re.M), text)


def ran_for(name, what, got, window, rivals, times=1, slack=0.008):
    """A wait is as long as the rivals' CPU time; it also has what a hypervisor stole from them."""
    ran = window.kernel("run_ns", rivals) / 1e9
    low, high = times * (0.99 * ran - slack), times * (1.01 * ran + slack + window.stolen)
    is_true("%s: %s is its rivals' CPU time" % (name, what), low <= got <= high if ran else got < 1e-3,
            "%g s; they ran for %g s, %g s were stolen from them at most" % (got, ran, window.stolen))


class Contest(Window):
    def __init__(self, holds):
        self.stolen = -steal_s()
        super().__init__(holds, 1.2 * INTERVAL)
        self.stolen += steal_s()


def contest(name, rivals, seconds=2.4, **settings):
    """One task waits, rivals on its CPU are of the given columns. All spin for the same time."""
    d, jobs, trees = Daemon(INTERVAL, **settings).start(), [new_job(), new_job()], Trees()
    h = Holds(["0", "1", "OwnJob", "OtherJobs", "System"])
    steps = [trees.job(jobs[0]) + "/step_0", trees.job(jobs[0]) + "/step_1", trees.job(jobs[1]) + "/step_0"]

    def cmd(word):
        return pinned(h.cmd("park", "spin=%g" % seconds, "park", word=word))

    running = [Stepd(jobs[0], 0, cmd("%d"), v2_task(steps[0]), n=2 if "OwnStep" in rivals else 1)]
    if "OwnJob" in rivals:
        running.append(Stepd(jobs[0], 1, cmd("OwnJob"), v2_task(steps[1])))
    if "OtherJobs" in rivals:
        running.append(Stepd(jobs[1], 0, cmd("OtherJobs"), v2_task(steps[2])))
    if "System" in rivals:
        start(cmd("System"))
    words = {"OwnStep": 1, "OwnJob": 2, "OtherJobs": 3, "System": 4}
    holds = [h.all[0]] + [h.all[words[r]] for r in rivals]
    for x in holds:
        x.wait()
    window = Contest(holds)
    if settings:
        matrix(name, d, jobs, window)
    else:
        said = dump(d)
        is_true(name + ": no pairs without CulpritMatrix", said.returncode == 1 and "CulpritMatrix=yes" in said.stderr, said)
    for x in holds:
        x.go()
    for s in running:
        s.end()
    rows = culprits(name, d.file(jobs[0], 0))
    is_near(name + ": all waits are schedstat's", sum(window.ours(rows, c) for c in COLUMNS),
            window.kernel("delay_ns", [0]) / 1e9, 0.001, 0.002)
    of_waits(name, window, rows, {r: [i + 1] for i, r in enumerate(rivals)})
    return rows


def two_rivals():
    contest("a task of the step and the system", ["OwnStep", "System"])


def two_jobs():
    contest("another step and another job", ["OwnJob", "OtherJobs"])


def all_rivals():
    contest("four rivals", ["OwnStep", "OwnJob", "OtherJobs", "System"], 3.4, CulpritMatrix="yes")


def own_processes():
    """Two processes of one task, and what is not in it."""
    h = Holds(["a", "b", "x"])
    both = "%s & %s; wait" % tuple(" ".join(pinned(h.cmd("park", "spin=2", "park", word=w))) for w in "ab")
    run = Run(["sh", "-c", both], INTERVAL)
    start(pinned(h.cmd("park", "spin=2", "park", word="x")))
    h.wait()
    window = Contest(h.all)
    h.go()
    rows = culprits("two processes of a task", run.end())
    # each waits while the other one runs
    ran_for("two processes of a task", "OwnTask", window.ours(rows, "OwnTask"), window, [0, 1], 1, 0.016)
    outside = window.kernel("run_ns", [2]) / 1e9
    is_true("two processes of a task: System is the time of the third, for both",
            1.96 * outside - 0.016 <= window.ours(rows, "System"), "%g s" % outside)
    for column in ("OwnStep", "OwnJob", "OtherJobs"):
        is_true("two processes of a task: no %s" % column, window.ours(rows, column) < 0.005, window.ours(rows, column))


def idle_s():
    """Of the test's CPU."""
    line = next(l for l in slurp("/proc/stat").splitlines() if l.startswith("cpu%d " % CPU))
    return int(line.split()[4]) / os.sysconf("SC_CLK_TCK")


def sleepers():
    """A task that sleeps, alone on its CPU, waits for the CPU to wake up."""
    for _ in range(6):
        since, idle = time.monotonic(), idle_s()
        run, path = run_jobprof(pinned([tool("jphold"), "naps=1000"]), INTERVAL)
        rows = culprits("sleepers", path)
        idle = (idle_s() - idle) / (time.monotonic() - since)
        if idle > 0.9:
            break
    else:
        raise Skipped("the CPU is not idle: %g of the time" % idle)
    got = {c: float(rows[c][1:-1].sum()) for c in COLUMNS}
    # by the run queue's clock a wakeup takes 0 to 1,000 ns; the start of the program waits behind its parent
    is_true("sleepers: they wait for an idle CPU", 0 < got["Idle"] < 0.01, got)
    is_true("sleepers: for nobody of theirs", sum(got[c] for c in COLUMNS[:4]) < 0.01 * sum(got.values()), got)


def delay_of(pid):
    return int(slurp("/proc/%d/schedstat" % pid).split()[1])


def waits_of(pid):
    return int(slurp("/proc/%d/schedstat" % pid).split()[2])


def moved():
    """A process that waits behind another one, which is served first, is moved to the other CPU and back: the
    kernel adds what it has waited at the move."""
    cpus = sorted(os.sched_getaffinity(0))[-2:]
    if len(cpus) < 2:
        raise Skipped("there is one CPU only")
    h = Hold()
    run = Run(["taskset", "-c", str(cpus[0])] + h.cmd("park", "spin=3", "park"), INTERVAL)
    pid = h.wait()
    hogs = [start(["taskset", "-c", str(c), "nice", "-n", "-15", tool("jpspin"), "4"], stdout=subprocess.DEVNULL)
            for c in cpus]
    time.sleep(1.2 * INTERVAL)
    start_ns, jumps, waited = time.time_ns(), 0, delay_of(pid)
    os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
    h.go()
    for i in range(40):
        time.sleep(0.05)
        before = delay_of(pid)
        os.sched_setaffinity(pid, [cpus[(i + 1) % 2]])
        jumps += delay_of(pid) - before
    h.wait()
    for p in hogs:
        p.wait()
    waited = delay_of(pid) - waited
    h.go()
    rows = culprits("moved while it waits", run.end())
    got = {c: total(rows, c, start_ns) for c in COLUMNS}
    is_true("moved while it waits: it was", jumps > 1e9, jumps)
    is_near("moved while it waits: the system had its CPUs, or runs there still", got["System"] + got["Unknown"],
            waited / 1e9, 0.02, 0.02)


PONG = """
import os, sys
a, b = (os.open(p, os.O_RDWR) for p in sys.argv[1:3])
for _ in range(int(sys.argv[3])):
    os.read(a, 1)
    os.write(b, b"x")
"""


def far_back(name, of_task):
    """A process waits until two others, who are served first and wake each other, are done: longer than the ring
    holds, unless both are of one task, for what runs in a row for a task is one slice."""
    rounds, d = 30000, tmpdir()
    fifos = [os.path.join(d, n) for n in "ab"]
    for f in fifos:
        os.mkfifo(f)
    pong = ["nice", "-n", "-15", "/usr/bin/python3", "-c", PONG]
    cmds = [pinned(pong + f + [str(rounds)]) for f in (fifos, fifos[::-1])]
    h = Hold()
    mine = [pinned(h.cmd("park", "spin=0.05", "park"))] + cmds[:2 if of_task else 1]
    run = Run(["sh", "-c", " & ".join(map(shlex.join, mine)) + " & wait"], INTERVAL)
    pid = h.wait()
    others = [] if of_task else [start(cmds[1])]
    time.sleep(1.2 * INTERVAL)
    os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
    start_ns, delay, waits = time.time_ns(), delay_of(pid), waits_of(pid)
    with open(fifos[0], "w") as f:
        f.write("x")
    h.go()
    h.wait()
    delay, waits = (delay_of(pid) - delay) / 1e9, waits_of(pid) - waits
    for p in others:
        p.wait()
    h.go()
    rows = culprits(name, run.end())
    got = {c: total(rows, c, start_ns) for c in COLUMNS}
    said = "%s; it waited %d times, %g s" % (got, waits, delay)
    is_true(name + ": it waited long", delay > 0.2 and delay > 0.02 * waits, said)
    if of_task:
        # others may run between them
        is_true(name + ": most is known", got["Unknown"] < 0.4 * delay, said)
        is_true(name + ": and most of that is its task", got["OwnTask"] > got["System"], said)
    else:
        # beside other programs it waits twice: one of these is longer than the ring
        is_true(name + ": Unknown is what it waited before", 0.8 * delay / waits < got["Unknown"] <= delay, said)


def far_back_known():
    far_back("behind 60,000 slices of one task", True)


def far_back_unknown():
    far_back("behind 60,000 slices in turn", False)


def ranks():
    """Two ranks of one task: for each the other one is of its task, for the task both are itself."""
    h = Holds(["0", "1"])
    both = "%s & %s; wait" % tuple(
        "MV2_COMM_WORLD_RANK=%d %s" % (n, " ".join(pinned(h.cmd("park", "spin=2", "park", word=str(n))))) for n in (0, 1))
    run = Run(["bash", "-c", both], INTERVAL)
    h.wait()
    window = Contest(h.all)
    h.go()
    path = run.end()
    for n in (0, 1):
        rows = culprits("rank %d" % n, path, n, ("RankCulprits", "Ranks"))
        ran_for("rank %d" % n, "OwnTask", window.ours(rows, "OwnTask"), window, [1 - n])
        is_true("rank %d: it does not wait for itself" % n, window.ours(rows, "OwnRank") < 0.002, window.ours(rows, "OwnRank"))
    rows = culprits("task of ranks", path)
    ran_for("task of ranks", "OwnTask", window.ours(rows, "OwnTask"), window, [0, 1], 1, 0.016)
    is_true("task of ranks: no OwnStep", window.ours(rows, "OwnStep") < 0.002, window.ours(rows, "OwnStep"))


def raw_tracepoint():
    run, path = run_jobprof([tool("jpspin"), "0.3"], INTERVAL, extra=["--raw-tp"])
    rows = table(path, "Culprits/0")
    is_equal("raw tracepoint: no column is known", [c for c in COLUMNS if not numpy.isnan(rows[c]).all()], [])
    is_true("raw tracepoint: the file says why", "off: by the raw tracepoint" in attrs_of(path)["Mode culprit"],
            attrs_of(path).get("Mode culprit"))


if __name__ == "__main__":
    need_bpf()
    run_tests([two_rivals, two_jobs, all_rivals, own_processes, sleepers, moved, far_back_known,
               far_back_unknown, ranks, raw_tracepoint])
