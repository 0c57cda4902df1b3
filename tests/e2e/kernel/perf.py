#!/usr/bin/python3
# timeout: 170
# runs: in full
# runs: alone
# SPDX-License-Identifier: GPL-2.0-or-later
"""The perf family against perf stat, /proc and the CPUs' own counters. Machines without hardware
counters have clocks and software events, which go the same way but for the groups."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from perflib import *

INTERVAL = 0.2
SETTLE = 2.5 * INTERVAL
CPU = max(os.sched_getaffinity(0))

tree = None


def pinned(cmd):
    return ["taskset", "-c", str(CPU)] + list(cmd)


def counted(h, events, mode="exact", interval=INTERVAL, extra=()):
    """A run of h's parking tool with counters on, at its first park."""
    run = Run(pinned(h), interval, "base,sched,memory,perf",
              ["--events", events, "--perf-mode", mode] + list(extra))
    return run


def mode_of(path):
    return attrs_of(path).get("Mode perf", "none")


def agrees_with_perf(extra=()):
    """One process alone on its CPU: the same events, counted by perf for the process."""
    h = Hold()
    run = counted(h.cmd("park", "spin=1.2", "park"), EVENTS, extra=extra)
    h.wait()
    perf = perf_pid(EVENTS, h.pid)
    p = Phase(h, SETTLE)
    want = perf.end()
    h.go()
    path = run.end()
    rows = task_table(path)
    name = "raw tracepoint, " if extra else ""
    for (event, column), n in zip(PAIR, want):
        is_near("%salone, %s is perf stat's" % (name, event), p.ours(rows, column), n, 0.01)
    is_equal(name + "the file says exact", mode_of(path), "exact")
    # when perf's own events come and go, a CPU takes ours off for a moment
    is_near(name + "nothing had to wait", float(rows["PerfRunning"].min()), 1.0, 0,
            0.001 if HARDWARE else 0)
    is_near(name + "perf's own counters were never off", min(perf.running), 100.0, 0,
            0.1 if HARDWARE else 0)


def raw_agrees_with_perf():
    agrees_with_perf(["--raw-tp"])


def equals_proc():
    """Page faults and switches of a process are integers that /proc has too."""
    h = Hold()
    run = counted(h.cmd("park", "anon=20", "naps=50", "park"), "page-faults,context-switches")
    h.wait()
    p = Phase(h, SETTLE)
    h.go()
    rows = task_table(run.end())
    is_equal("page faults are /proc's", p.ours(rows, "PageFaults"), p.kernel("minflt", "majflt"))
    # the kernel counts a switch for who comes, /proc for who leaves
    is_near("switches are /proc's", p.ours(rows, "ContextSwitches"), p.kernel("nvcsw", "nivcsw"),
            0, 2)


def in_flight():
    """Nobody but us and the tick disturbs the spinner: its rows are even all the same."""
    events = ",".join(e for e, _ in CLOCKS)
    stolen = steal_s()
    run, path = run_jobprof(pinned([tool("jpspin"), "2"]), INTERVAL, "base,perf",
                            ["--events", events, "--perf-mode", "exact"])
    stolen = steal_s() - stolen  # these clocks have it, CPUTime does not
    rows = task_table(path)
    for event, column in CLOCKS:
        ran = rows[column] / (rows[column].sum() / rows["CPUTime"].sum())
        # CPUTime itself is a tick late at either end
        far = abs(ran - rows["CPUTime"])[1:-1].max()
        is_true("each row of a spinner has its counts of " + event, far < 0.015 + stolen,
                "%g s, %g stolen: %s for %s" % (far, stolen, list(ran), list(rows["CPUTime"])))


def short_step():
    """20 ms: what it has done is in the file, whatever row it falls in."""
    out = os.path.join(tmpdir("short"), "account")
    stolen = steal_s()
    run, path = run_jobprof(pinned([tool("jpspin"), "-o", out, "0.02"]), 1, "base,perf",
                            ["--events", "task-clock", "--perf-mode", "exact"])
    stolen = steal_s() - stolen
    rows = task_table(path)
    is_near("a step of 20 ms", float(rows["TaskClock"].sum()) / 1e9,
            float(rows["CPUTime"].sum()), 0.05, 0.005 + stolen)


def eight_events():
    """Those that keep a counter each; the common ones in parts where there are not so many."""
    names = [e for e, _ in PAIR]
    for n in ("branches", "branch-misses", "cache-references", "cache-misses", "L1-dcache-loads",
              "L1-dcache-load-misses", "stalled-cycles-frontend", "stalled-cycles-backend",
              "cycles:u", "cycles:k", "instructions:u", "instructions:k", "r11", "r11:u", "r11:k"):
        if len(names) < 8 and n not in names and works(n):
            names.append(n)
    return names


def more_events_than_counters():
    need_hardware()
    names = eight_events()
    event, column = PAIR[1]
    h = Hold()
    run = counted(h.cmd("park", "spin=2", "park"), ",".join(names))
    h.wait()
    perf = perf_pid(event, h.pid)
    p = Phase(h, SETTLE)
    want = perf.end()
    h.go()
    rows = task_table(run.end())
    part = float(rows["PerfRunning"].min())
    if part >= 1:
        raise Skipped("the counters of this machine hold %d events at once" % len(names))
    is_near("%d events at once" % len(names), p.ours(rows, column), want[0], 0.05)
    is_true("PerfRunning says so", 0 < part < 1, part)


def beside_a_watchdog():
    """Each CPU has a counter taken for good, as by the kernel's own watchdog of hard lockups."""
    need_hardware()
    dog = PerfStat("cycles:D", "-a")
    h = Hold()
    run = counted(h.cmd("park", "spin=1", "park"), EVENTS)
    h.wait()
    perf = perf_pid(EVENTS, h.pid)
    p = Phase(h, SETTLE)
    want = perf.end()
    h.go()
    rows = task_table(run.end())
    dog.end()
    waited = rows["PerfRunning"].min() < 0.999
    for (event, column), n in zip(PAIR, want):
        is_near("beside a pinned counter, %s is perf stat's" % event, p.ours(rows, column), n,
                0.05 if waited else 0.01)
    is_true("a pinned counter is never off", min(dog.running) == 100, dog.running)


def nothing_to_count():
    """An event that does not exist here: no number, and the reason."""
    if HARDWARE:
        raise Skipped("this machine has hardware counters")
    run, path = run_jobprof([tool("jpspin"), "0.1"], INTERVAL, "base,perf",
                            ["--events", "cycles,instructions"])
    rows = task_table(path)
    is_true("events that are not there are NaN", numpy.isnan(rows["Cycles"]).all() and
            numpy.isnan(rows["PerfRunning"]).all(), rows["Cycles"])
    is_true("and the file says why", mode_of(path).startswith("off: ") and
            "cycles" in mode_of(path), mode_of(path))
    before = steal_s()
    run, path = run_jobprof([tool("jpspin"), "0.1"], INTERVAL, "base,perf",
                            ["--events", "cycles,task-clock"])
    taken = steal_s() - before  # task-clock has it
    rows = task_table(path)
    is_true("one of two is counted", numpy.isnan(rows["Cycles"]).all() and
            approx(rows["TaskClock"].sum() / 1e9, rows["CPUTime"].sum(), 0.05, 0.005 + taken) and
            rows["PerfRunning"].min() == 1, (list(rows), taken))
    is_true("and the file names the other", mode_of(path).startswith("exact") and
            "cycles" in mode_of(path), mode_of(path))


def switched_off():
    run, path = run_jobprof([tool("jpspin"), "0.1"], INTERVAL, "base,perf",
                            ["--events", EVENTS, "--perf-mode", "off"])
    is_true("switched off: NaN", numpy.isnan(task_table(path)[PAIR[0][1]]).all(), "numbers")
    is_true("switched off: said", mode_of(path).startswith("off: "), mode_of(path))


COSTS = re.compile(r"one reading of \d+ events? costs (\S+) us here, PerfBudget \S+ % allows "
                   r"(\S+) us; a sample costs (\S+) us \((measured|assumed)\)")


def contradictions(mode, n, budget):
    """What the text says is the consequence of the costs that it says, to their three digits."""
    m = COSTS.search(mode)
    if not m:
        return ["no costs"]
    read, allowed, sample = (float(x) for x in m.groups()[:3])
    with open("/proc/sys/kernel/perf_event_max_sample_rate") as f:
        rate = min(budget / 100 * 1e6 / sample, int(f.read()) / 4) / n
    wrong = []
    if read < 0.99 * allowed:
        wrong.append("reading fits the budget")
    if mode.startswith("sampled: "):
        period = float(re.search(r" CpuClock=(\d+)", mode).group(1))
        wrong += ["%g samples per second" % rate] if rate < 9.9 else []
        wrong += ["a period of %g" % period] if not approx(period, 1e9 / rate, 0.01) else []
    else:
        said = float(re.search(r"which allows (\S+) per second of each$", mode).group(1))
        wrong += ["%g samples per second" % rate] if rate > 10.1 else []
        wrong += ["%g samples are said" % said] if not approx(said, rate, 0.02) else []
    if m.group(4) == "measured" and not 0.35 <= sample <= 201:
        wrong.append("a sample of %g us" % sample)
    return wrong


def budget_decides():
    """A reading that costs more than the budget allows is not made at every switch; what is done
    instead follows from what a sample costs here."""
    many = "cpu-clock,task-clock,page-faults,context-switches,alignment-faults,emulation-faults"
    for events, budget in (("cpu-clock", 20), ("cpu-clock", 0.02), (many, 0.02), (many, 0.01)):
        d = Daemon(INTERVAL, PerfEvents=events, PerfBudget=str(budget)).start()
        job = new_job()
        Stepd(job, 0, ["sleep", "0.3"], v2_task(tree.job(job) + "/step_0")).end()
        mode, n = mode_of(d.file(job, 0)), len(events.split(","))
        name = "a budget of %g %% for %d events: " % (budget, n)
        if budget == 20:
            is_equal(name + "exact", mode, "exact")
        else:
            is_true(name + "sampled or off", re.match("(sampled|off): one reading of ", mode) and
                    "PerfBudget %g %% " % budget in mode, mode)
            is_equal(name + "by the costs", contradictions(mode, n, budget), [])
        d.end()


def sampled_says_its_cost():
    run, path = run_jobprof([tool("jpspin"), "0.1"], INTERVAL, "base,perf",
                            ["--events", "cpu-clock", "--perf-mode", "sampled"])
    is_true("sampled as configured: the cost of a sample, and how it is known",
            re.match(r"sampled: as configured; a sample costs \S+ us \((measured|assumed)\); "
                     r"periods CpuClock=\d+, ", mode_of(path)), mode_of(path))


class Shared:
    """Two steps of one jobprofd on one CPU, each a parking task."""

    def __init__(self, daemon, *steps):
        self.daemon = daemon
        self.jobs = [new_job(), new_job()]
        self.holds = [Holds([0]) for _ in self.jobs]
        self.stepds = []
        for job, h in zip(self.jobs, self.holds):
            base = tree.job(job) + "/step_0"
            self.stepds.append(Stepd(job, 0, pinned(h.cmd(*steps)), v2_task(base)))
            h.wait()
        self.all = [h.all[0] for h in self.holds]

    def start_perf(self):
        self.perf = [perf_pid(EVENTS, h.pid) for h in self.all]

    def end(self):
        for h in self.holds:
            h.go()
        for s in self.stepds:
            s.end()
        return [task_table(self.daemon.file(j, 0)) for j in self.jobs]


def two_steps_on_a_cpu():
    """Each as perf counts its process; and once more, with a kill of jobprofd between: no count is
    lost by that."""
    d = Daemon(INTERVAL, PerfEvents=EVENTS, PerfMode="exact").start()
    s = Shared(d, "park", "spin=0.8", "park", "spin=0.8", "park")
    s.start_perf()
    w = Window(s.all, SETTLE)
    first = [p.end() for p in s.perf]
    s.start_perf()
    w2 = Window(s.all, SETTLE, lambda: (time.sleep(0.3), d.end(signal.SIGKILL), d.start()))
    second = [p.end() for p in s.perf]
    for i, rows in enumerate(s.end()):
        for e, (event, column) in enumerate(PAIR):
            is_near("two steps, the %s one's %s is perf stat's" % (("first", "second")[i], event),
                    w.ours(rows, column), first[i][e], 0.01)
            is_near("%s is perf stat's over a kill of jobprofd" % event, w2.ours(rows, column),
                    second[i][e], 0.01)
    d.end()


def sampled():
    """Overflow samples of a quantity that is used steadily, by two steps on one CPU. The budget is
    large: what is compared is not chance."""
    event, column = PAIR[0]
    d = Daemon(INTERVAL, PerfEvents=event, PerfMode="sampled", PerfBudget=4).start()
    s = Shared(d, "park", "spin=3", "park")
    s.start_perf()
    stolen = steal_s()
    w = Window(s.all, SETTLE)
    want = [p.end()[0] for p in s.perf]
    # A sample that falls due while the hypervisor has the CPU comes after it, to whoever runs then.
    stolen = 0 if HARDWARE else (steal_s() - stolen) * 1e9
    for i, rows in enumerate(s.end()):
        is_near("sampled %s over 3 s is perf stat's, %s step" % (event, ("first", "second")[i]),
                w.ours(rows, column), want[i], 0.05, stolen)
        is_near("a sampling counter that is alone never waits, %s step" % ("first", "second")[i],
                float(rows["PerfRunning"].min()), 1, 0, 0.001 if HARDWARE else 0)
    mode = mode_of(d.file(s.jobs[0], 0))
    is_true("the file says sampled, and the period", mode.startswith("sampled: ") and
            "%s=" % column in mode, mode)
    d.end()


def conserved():
    """What all slots of a busy CPU have got in a while, and a counter of the test's own beside
    it: cycles, or where there are none a clock."""
    event, kind = ("cycles", HW_CYCLES) if HARDWARE else ("cpu-clock", SW_CPU_CLOCK)
    d = Daemon(INTERVAL, PerfEvents=event, PerfMode="exact", MaxSlots=16).start()
    s = Shared(d, "park", "spin=3", "park")
    c, own = Counters(d.pin), CpuEvent(kind, CPU)
    for h in s.holds:
        h.go()
    time.sleep(0.2)
    while True:
        reused = c.reused()
        before = c.beside(CPU, 0, own.read)
        time.sleep(0.8)
        after = c.beside(CPU, 0, own.read)
        if c.reused() == reused:
            break
    own.close()
    slots, counter, mine = (b - a for a, b in zip(before, after))
    is_equal("%s: the sum over slots is what the CPU's counter said" % event, slots, counter)
    is_near("%s: and what a counter beside it said" % event, slots, mine, 0.001, 2e6)
    for h in s.holds:
        h.wait()
    s.end()
    d.end()


def slots_begin_at_nothing():
    """A step that gets the slots of an earlier one does not get its counts."""
    d = Daemon(INTERVAL, PerfEvents="task-clock", PerfMode="exact", MaxSlots=16).start()
    sums = []
    for seconds in ("0.3", "0.02"):
        job, stolen = new_job(), steal_s()
        base = tree.job(job) + "/step_0"
        Stepd(job, 0, pinned([tool("jpspin"), seconds]), v2_task(base)).end()
        stolen = steal_s() - stolen
        rows = task_table(d.file(job, 0))
        sums.append((float(rows["TaskClock"].sum()) / 1e9, float(rows["CPUTime"].sum()), stolen))
        wait_until(lambda: not d.used_slots(), 10, "the slots to be free")
        left = max(sum(Counters(d.pin).slots(CPU, 0)[2:]), 0)
        is_equal("a free slot has no counts, after %s s" % seconds, left, 0)
    for got, want, stolen in sums:
        is_near("a step counts from its own beginning", got, want, 0.05, 0.005 + stolen)
    d.end()


def main():
    global tree
    need_bpf()
    if subprocess.run(["perf", "--version"], capture_output=True).returncode:
        skip("perf", "there is no perf")
        return
    tree = Trees()
    run_tests([agrees_with_perf, raw_agrees_with_perf, equals_proc, in_flight, short_step,
               more_events_than_counters, beside_a_watchdog, nothing_to_count, switched_off,
               budget_decides, sampled_says_its_cost, two_steps_on_a_cpu, sampled, conserved,
               slots_begin_at_nothing])


main()
