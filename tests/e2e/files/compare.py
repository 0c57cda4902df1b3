#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# noisy: other programs use the disk and the CPU of real programs that are compared
"""jobprof compare: numpy splits the same files, made slower in one way each, into the same terms; earlier runs
judge them; what cannot be compared is refused in one line."""

import os
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
sys.path.insert(0, os.path.realpath(__file__ + "/../../../findings"))
from besideslib import node_of, put_bursts, put_fold, put_stacks
from cases import job
from lib import *

GOLDEN = os.path.join(ROOT, "tests/data/golden")
LONG, LONGER = 7200.0, 7920.0  # s: runs of the two
TERMS = ("work", "ipc", "clock", "cores", "balance", "wait", "disk", "blocked", "tail", "unknown")
CAUSES = {"quota": "Throttled", "net_fs": "BlockedNetFS", **{c: "Blocked" + c.capitalize() for c in
          ("kernel", "futex", "pipe", "socket", "poll", "sleep", "child", "signal")}}


def compare(*args):
    p = subprocess.run([JOBPROF, "compare"] + [str(a) for a in args], capture_output=True, text=True)
    return p.returncode, p.stdout, p.stderr


def as_json(*args):
    status, out, err = compare("--json", *args)
    if status:
        raise Failed("compare --json %s: status %d, %s" % (" ".join(map(str, args)), status, err))
    return json.loads(out)


def terms(r, key="s"):
    return {t["id"]: t[key] for t in r["terms"]}


# ---- the truth

class Run:
    """What numpy makes of a file whose rows are as long as bins."""

    def __init__(self, path):
        with h5py.File(path) as f:
            nodes = list(f["Steps/0/Nodes"].values())
            # What several CPUs of a task did at the same time is one second of its path.
            cpus = numpy.array([int(n.attrs["Allocated CPUs"]) for n in nodes for t in n["Tasks"]])[:, None]
            tasks = {int(name): t for n in nodes for name, t in n["Tasks"].items()}
            tables = [tasks[number][()] for number in sorted(tasks)]
            steps = [n["Step"][()] for n in nodes]
            self.cores = sum(int(n.attrs["Allocated Cores"]) for n in nodes)
        ends = tables[0]["ElapsedTime"].astype(float)
        self.dt = numpy.diff(ends, prepend=0.0)
        self.wall = ends[-1]
        self.c, self.q, self.d = (numpy.array([t[column] for t in tables]) for column in
                                  ("CPUTime", "RunDelay", "OffCPUDisk"))
        self.cpu, self.work, self.cycles = (sum(s[column] for s in steps) for column in
                                            ("CPUTime", "Instructions", "Cycles"))
        busy = numpy.minimum((self.c + self.q + self.d) / self.dt, cpus)
        self.busy = busy.sum(axis=0)
        lanes = numpy.maximum(1, busy)
        self.c = numpy.minimum(self.c / lanes, self.dt)
        self.q = numpy.minimum(self.q / lanes, self.dt - self.c)
        self.d = numpy.minimum(self.d / lanes, self.dt - self.c - self.q)

    def walk(self, serial):
        known = ~numpy.isnan(self.busy)
        c, q, d = (numpy.nan_to_num(v) for v in (self.c, self.q, self.d))
        path = numpy.argmax(numpy.where(numpy.isnan(self.c), -1, numpy.round((c + q + d) / self.dt, 9)), axis=0)
        at = path, numpy.arange(len(path))
        tail = numpy.zeros(len(path), bool)
        for k in range(len(path))[::-1]:
            if not (known[k] and self.busy[k] <= serial):
                break
            tail[k] = True
        if tail.all():
            tail[:] = False
        main = known & ~tail
        self.seconds = {"cpu": c[at][main].sum(), "wait": q[at][known].sum(), "disk": d[at][known].sum(),
                        "tail": (self.dt - q[at] - d[at])[tail].sum(), "unknown": self.dt[~known].sum()}
        self.seconds["blocked"] = self.wall - sum(self.seconds.values())
        self.of_cpu = {"work": self.work[main].sum(), "ipc": self.cycles[main].sum() / self.work[main].sum(),
                       "clock": self.cpu[main].sum() / self.cycles[main].sum(), "cores": 1 / self.cores,
                       "balance": self.cores * self.seconds["cpu"] / self.cpu[main].sum()}


def log_mean(a, b):
    return a if a == b else (b - a) / numpy.log(b / a)


def truth(a, b):
    """The seconds of each term, by the names that --json has."""
    a, b = Run(a), Run(b)
    share = max(numpy.sort(r.busy[~numpy.isnan(r.busy)])[int(0.75 * (numpy.sum(~numpy.isnan(r.busy)) - 1))] / r.cores
                for r in (a, b))
    for run in (a, b):
        serial = max(1.1, share * run.cores / 4)
        run.walk(serial if share * run.cores >= 1.5 * serial else 0)
    weight = log_mean(a.seconds["cpu"], b.seconds["cpu"])
    out = {t: weight * numpy.log(b.of_cpu[t] / a.of_cpu[t]) for t in a.of_cpu}
    out.update({t: b.seconds[t] - a.seconds[t] for t in a.seconds if t != "cpu"})
    return out, a.wall, b.wall


# ---- jobs that are slower in one way

def like_a(number=2, wall=LONGER, **more):
    """As A, but it takes longer and its tasks do what those of A do in all."""
    j = job("some", number, wall=wall, **more)
    if wall != LONG:
        j.put(CPUTime=0.97 * LONG / wall, RunDelay=0.003 * 0.97 * LONG / wall, OffCPUDisk=0.001 * LONG / wall)
    return j


def more_work():
    return job("some", 2, wall=LONGER)


def lower_ipc():
    j = job("some", 2, wall=LONGER)
    j.put(ipc=1.4 * LONG / LONGER)
    return j


def lower_clock():
    j = job("some", 2, wall=LONGER)
    j.put(CPUFrequency=2800e3 * LONG / LONGER)
    return j


def fewer_cores():
    return job("some", 2, wall=4 * LONG, nodes=1, tasks=4)


def imbalance():
    j = job("some", 2, wall=LONGER)
    share = numpy.where(numpy.arange(j.tasks) % 2, 1, 2 * LONG / LONGER - 1)
    j.put(CPUTime=(0.97 * share)[:, None])
    return j


def waiting():
    j = like_a()
    j.put(RunDelay=(LONGER - LONG) / LONGER)
    return j


def slow_disk():
    j = like_a()
    j.put(OffCPUDisk=(LONGER - LONG) / LONGER)
    return j


def blocked():
    return like_a()


def tail():
    j = job("some", 2, wall=LONGER)
    late = j.t > LONG
    alone = (numpy.arange(j.tasks) == 3)[:, None]
    j.put(CPUTime=numpy.where(late & ~alone, 0.0, 0.97), RunDelay=numpy.where(late & ~alone, 0.0, 0.003))
    return j


def write(name, j):
    path = os.path.join(tmpdir("compare"), name + ".h5")
    j.attrs["job"] = abs(hash(name)) % 10**6
    j.write(path)
    return path


def not_recorded():
    """The CPU time of 24 rows of A's way through its run is not known."""
    path = write("unknown", job("some", 2, wall=LONGER))
    with h5py.File(path, "r+") as f:
        for n in f["Steps/0/Nodes"].values():
            for table in [n["Step"]] + list(n["Tasks"].values()):
                rows = table[()]
                for column in ("CPUTime", "Instructions", "Cycles"):
                    rows[column][100:124] = numpy.nan
                table[...] = rows
    return path


def each_term():
    a = write("a", job("some", 1, wall=LONG))
    slow = {"work": more_work, "ipc": lower_ipc, "clock": lower_clock, "cores": fewer_cores, "balance": imbalance,
            "wait": waiting, "disk": slow_disk, "blocked": blocked, "tail": tail}
    paths = {t: write(t, make()) for t, make in slow.items()}
    paths["unknown"] = not_recorded()
    for term, b in paths.items():
        r = as_json(a, b)
        got, (want, wall_a, wall_b) = terms(r), truth(a, b)
        is_equal("compare: %s is named" % term, r["cause"], term)
        is_near("compare: %s: terms add up to the difference" % term, sum(v or 0 for v in got.values()), wall_b - wall_a, 0, 1e-9 * wall_a)
        is_near("compare: %s: logarithms add up" % term, sum(v or 0 for v in terms(r, "ln").values()), numpy.log(wall_b / wall_a), 0, 1e-9)
        for t in TERMS:
            is_near("compare: %s: %s as numpy has it" % (term, t), got[t], want[t], 1e-6, 1e-4)
        is_near("compare: %s: it explains the difference" % term, got[term], wall_b - wall_a, 0.12)
        others = {t: round(s) for t, s in got.items() if t != term and abs(s or 0) > 0.012 * max(wall_a, wall_b)}
        is_equal("compare: %s: all others are near 0" % term, others, {})
        back = terms(as_json(b, a))
        is_true("compare: %s: B and A have the other sign" % term,
                all(abs(got[t] + back[t]) < 1e-6 * wall_a for t in TERMS), "%s %s" % (got, back))
        page = compare(a, b)[1]
        is_true("compare: %s: the page has 80 columns of ASCII" % term,
                all(len(line) <= 80 and line.isascii() for line in page.splitlines()), page)


def twice_as_long():
    """Where the sentence does not say the whole in percent, it says no part of it so: both are times."""
    r = as_json(write("a", job("some", 1, wall=LONG)), write("cores", fewer_cores()))
    want = ["%d:%02d:%02d" % (s // 3600, s // 60 % 60, s % 60) for s in (round(r["s"]), round(terms(r)["cores"]))]
    is_true("compare: four times as long: the sentence", r["sentence"].startswith("B took 4 times as long as A (+%s): %s for fewer cores" % tuple(want)),
            r["sentence"])


def threads():
    """One task with eight threads: the term is the same as of eight tasks."""
    a, b = job("threads", 1), job("threads", 2, wall=3960)
    b.put(CPUTime=0.97 * 8 * 3600 / 3960, RunDelay=8 * 360 / 3960)
    r = as_json(write("threads-a", a), write("threads-b", b))
    is_equal("compare: waiting threads of one task", r["cause"], "wait")
    is_near("compare: waiting threads: how long", terms(r)["wait"], 360, 0.06)


def never_parallel():
    """A run of one thread has no serial end: that it was serial throughout is its balance."""
    a, b = job("threads", 1), job("threads", 2, wall=3 * 3600)
    b.put(CPUTime=0.97, RunDelay=0.0)
    r = as_json(write("parallel", a), write("serial", b))
    is_equal("compare: a serial run has no serial end", [t["b"] for t in r["terms"] if t["id"] == "tail"], [0])
    is_true("compare: a serial run: fewer CPUs are busy", r["cause"] == "balance", terms(r))


def which_node():
    """The node that waits, or whose clock is low, is named."""
    a = write("nodes-a", job("some", 1, wall=LONG))
    j = like_a()
    third = (j.node_of == 2)[:, None]
    j.put(RunDelay=numpy.where(third, (LONGER - LONG) / LONGER, 0.003), CPUTime=numpy.where(third, 0.8818, 0.87))
    b = write("nodes-wait", j)
    r = as_json(a, b)
    is_equal("compare: where B waits", (r["cause"], r["b"]["waits_for_cpu"]["node"]), ("wait", "n3"))
    is_true("compare: the page names it", "mostly on n3" in " ".join(compare(a, b)[1].split()), "")
    j = job("some", 2, wall=LONGER)
    j.put(CPUFrequency=numpy.where(third, 2800e3 * 0.7, 2800e3))
    b = write("nodes-clock", j)
    r = as_json(a, b)
    is_equal("compare: whose clock is low", (r["a"]["low_clock"], r["b"]["low_clock"]["node"]), (None, "n3"))
    is_near("compare: how low", r["b"]["low_clock"]["ratio"], 0.7, 0.01)
    is_true("compare: the page names it, too", "n3 at 70 % of the others" in " ".join(compare(a, b)[1].split()),
            compare(a, b)[1])


# ---- what blocked a run

def blocked_by(path):
    """Seconds of each cause on the way of a run whose tasks are alike and have one thread: of task 0."""
    with h5py.File(path) as f:
        rows = [n["TimeBudget/0"][()] for n in f["Steps/0/Nodes"].values() if "TimeBudget/0" in n][0]
    return {c: rows[column].sum() for c, column in CAUSES.items()}


def causes():
    """B waits longer, for locks: the terms are the seconds in its tables."""
    a, b = job("some", 1, wall=LONG), like_a()
    a.budget(Socket=0.5, Poll=0.3, Other=0.2)
    b.budget(Socket=0.2, Futex=0.7, Other=0.1)
    for j in (a, b):
        j.d["CPUTime"][1:] *= 0.9   # task 0 is the longest in every bin
        j.put(Threads=1.0)
    a, b = write("causes-a", a), write("causes-b", b)
    r = as_json(a, b)
    got, before, after = terms(r), blocked_by(a), blocked_by(b)
    is_equal("compare: causes: the lock is named", r["cause"], "futex")
    is_near("compare: causes: terms add up", sum(v or 0 for v in got.values()), r["s"], 0, 1e-9 * LONG)
    is_near("compare: causes: logarithms add up", sum(v or 0 for v in terms(r, "ln").values()), r["ln"], 0, 1e-9)
    for c in CAUSES:
        is_near("compare: causes: %s is that of the tables" % c, got[c], after[c] - before[c], 1e-3, 0.1)
    page = compare(a, b)[1]
    is_true("compare: causes: the page has those that there are", "more waiting for locks" in " ".join(page.split()) and
            re.search("^  socket ", page, re.M) and not re.search("^  (pipe|child) ", page, re.M), page)
    other = like_a()
    r = as_json(a, write("causes-none", other))
    is_equal("compare: causes that only A knows are part of other waiting",
             {t["id"]: t["part_of"] for t in r["terms"] if t["id"] in CAUSES}, dict.fromkeys(CAUSES, "blocked"))
    is_true("compare: the page says that once", compare(a, write("causes-none", other))[1].count("Causes (locks") == 1, "")


def parents():
    """A thread that waits for a child that sleeps does not halve the sleep."""
    runs = []
    for wall in (LONG, LONGER):
        j = like_a(wall=wall)
        j.put(Threads=2.0)
        j.budget(Sleep=0.5, Child=0.5)
        runs.append(write("parents-%d" % wall, j))
    got = terms(as_json(*runs))
    is_near("compare: a child that sleeps: sleep", got["sleep"], LONGER - LONG, 0.15)
    is_near("compare: a child that sleeps: child", got["child"], 0, 0, 0.05 * (LONGER - LONG))


# ---- shares beside each other

PARTS = {"culprits": {"own task": "OwnTask", "own job": "OwnJob", "other jobs": "OtherJobs", "not profiled": "System"},
         "modules": {"own program": "Own", "MPI": "MPI", "C library": "LibC", "BLAS": "BLAS"}}


def parts_in(path):
    """By numpy: seconds and shares of the parts, and the efficiencies."""
    tasks, families = [], {"culprits": "Culprits", "modules": "Samples"}
    with h5py.File(path) as f:
        for n in f["Steps/0/Nodes"].values():
            for t in n["Tasks"]:
                tasks.append({name: {c: rows[c].sum() for c in rows.dtype.names} for name, rows in
                              (("Tasks", n["Tasks"][t][()]), ("Culprits", n["Culprits"][t][()]), ("Samples", n["Samples"][t][()]))})
    total = {name: {c: sum(t[name][c] for t in tasks) for c in tasks[0][name]} for name in tasks[0]}
    cpu, wait, samples = total["Tasks"]["CPUTime"], total["Tasks"]["RunDelay"], total["Samples"]["Samples"]
    whole, seconds = {"culprits": cpu + wait, "modules": cpu}, {"culprits": 1, "modules": cpu / samples}
    out = {t: {name: total[families[t]][c] * seconds[t] for name, c in parts.items()} for t, parts in PARTS.items()}
    useful = numpy.array([t["Tasks"]["CPUTime"] * (1 - (t["Samples"]["MPI"] + t["Samples"]["ForMPI"]) / t["Samples"]["Samples"]) for t in tasks])
    return out, whole, useful.mean() / useful.max()


def beside():
    """What had the CPU, what was executed and how well ranks work: of both runs, by the tables of their files."""
    a, b = job("node", 1), job("node", 2)
    rank = numpy.arange(a.tasks)[:, None]
    for j, wait, mpi in ((a, 0.05, 0.2), (b, 0.25, 0.2 + 0.02 * rank)):
        j.put(RunDelay=wait * j.threads, CPUTime=0.7 * j.threads)
        j.culprits(OtherJobs=wait, System=1 - wait)
        j.samples(MPI=mpi, ForMPI=0.0, Own=0.9 - mpi, LibC=0.1)
    without = write("beside-none", job("node", 1))
    a, b = write("beside-a", a), write("beside-b", b)
    tables, told, page = {t["id"]: t for t in as_json(a, b)["tables"]}, (parts_in(a), parts_in(b)), compare(a, b)[1]
    is_equal("beside: tables", list(tables), ["culprits", "modules", "pop"])
    for id_, parts in PARTS.items():
        rows = {r["name"]: r for r in tables[id_]["rows"]}
        for name in parts:
            before, after = (t[0][id_][name] for t in told)
            share = [t[0][id_][name] / t[1][id_] for t in told]
            is_near("beside: %s: seconds of A" % name, rows[name]["a_s"], before, 1e-6, 1e-9)
            is_near("beside: %s: difference" % name, rows[name]["s"], after - before, 1e-6, 1e-6)
            is_near("beside: %s: points" % name, rows[name]["points"], 100 * (share[1] - share[0]), 1e-6, 1e-6)
    balance = tables["pop"]["rows"][0]
    is_near("beside: load balance of A", balance["a"], told[0][2], 1e-6)
    is_near("beside: load balance, points", balance["points"], 100 * (told[1][2] - told[0][2]), 1e-6)
    is_equal("beside: load balance is no time", (balance["s"], tables["pop"]["a_by"]), (None, "samples"))
    said = re.search(r"^  other jobs +([0-9.]+) % .* ([-+][0-9.]+)$", page, re.M)
    row = next(r for r in tables["culprits"]["rows"] if r["name"] == "other jobs")
    is_true("beside: the page has them", said and said.groups() == ("%.1f" % (100 * row["a"]), "%+.1f" % row["points"]), page)
    is_true("beside: the page leaves out what neither has", not re.search("^  (own job|BLAS) ", page, re.M), page)
    is_true("beside: 80 columns", max(map(len, page.splitlines())) <= 80, page)
    is_equal("beside: only where both runs have it", [t["id"] for t in as_json(a, without)["tables"]], [])


def rows_of(table, paths):
    return next(t["rows"] for t in as_json(*paths)["tables"] if t["id"] == table)


def inside():
    """Functions, clusters of bursts and folded regions that both runs have, by what was put into the files."""
    kinds = [(300, 0.003, 0.002), (200, 0.03, 0.002), (100, 0.2, 0.05)], [(300, 0.003, 0.002), (400, 0.03, 0.002)]
    functions = {"main;solve": 30.0, "main;pack": 10.0}, {"main;solve": 30.0, "main;pack": 30.0}
    folds = ("loop", 0.024, [0.25, 0.6, 1.0]), ("loop", 0.030, [0.2, 0.7, 1.0])
    paths, runs = [write("inside-" + n, job("node", 1)) for n in "ab"], []
    for path, kind, function, fold in zip(paths, kinds, functions, folds):
        runs.append(put_bursts(path, 1.0, kind)[0])
        put_stacks(path, 1.0, function)
        put_fold(path, *fold)
    tables, page = {t["id"]: t["rows"] for t in as_json(*paths)["tables"]}, compare(*paths)[1]
    is_equal("inside: functions that changed", [(r["name"], r["points"]) for r in tables["functions"]], [("[pack]", 25), ("[solve]", -25)])
    got = sorted((r["a_s"], r["b_s"]) for r in tables["clusters"] if r["name"] != "noise")
    want = sorted([sum(r[(r > low) & (r < low * 2)]) for r in runs] for low in (0.0025, 0.025, 0.15))
    is_true("inside: seconds of clusters, one of A alone", numpy.allclose(got, want, 1e-6), (got, want))
    for i, side in enumerate("ab"):
        is_near("inside: shares of clusters, " + side, sum(r[side] for r in tables["clusters"]), 1, 1e-6)
        ends = [0.0, *folds[i][2]]
        want = [folds[i][1] * length for length in (1, *numpy.diff(ends))]
        is_true("inside: seconds of phases, " + side, numpy.allclose([r[side + "_s"] for r in tables["fold"]], want, 1e-6), tables["fold"])
    is_equal("inside: the region and its phases", [r["name"] for r in tables["fold"]],
             ["one execution", *("the program + 0x%d000" % i for i in (1, 2, 3))])
    is_equal("inside: clusters", [r["name"] for r in tables["clusters"]], ["1, of 200 ms", "2, of 30 ms", "3, of 3 ms", "noise"])
    for line in ("Functions", "  [pack] ", "Bursts", "  1, of 200 ms ", "Folded region", "  the program + 0x2000"):
        is_true("inside: the page has " + line.strip(), "\n" + line in page, page)
    is_true("inside: 80 columns", max(map(len, page.splitlines())) <= 80, page)
    with h5py.File(paths[1], "r+") as f:
        codes = [f["analysis/fold/phases/%d" % i].attrs["code"] for i in (1, 2, 3)]
        for i in (1, 2, 3):
            f["analysis/fold/phases/%d" % i].attrs["code"] = codes[i - 2]
    is_equal("inside: a named region begins where it begins", [r["name"] for r in rows_of("fold", paths)], ["one execution"])
    for path in paths:
        with h5py.File(path, "r+") as f:
            del f["analysis/fold"].attrs["region"]
    turned = rows_of("fold", paths)[1:]
    is_true("inside: an iteration without a name, in turn", numpy.allclose([r["b"] for r in turned], [0.5, 0.3, 0.2], 1e-6), turned)
    with h5py.File(paths[1], "r+") as f:
        f["analysis/fold"].attrs["region"] = "other"
        del f["Steps/0/Nodes"][node_of(f).name.split("/")[-1]]["Bursts"]
    is_equal("inside: only what both have, of one region", [t["id"] for t in as_json(*paths)["tables"]], ["functions"])


# ---- columns that are missing

def merged():
    r = as_json("-p", GOLDEN, "7.0", "7.1")
    part = {t["id"]: t["part_of"] for t in r["terms"] if t["part_of"]}
    is_equal("compare: Slurm's files have no waiting and no counters, and these steps had no CPU time", part,
             {"ipc": "work", "clock": "work", "cores": "work", "balance": "work", "wait": "blocked", "disk": "blocked",
              **dict.fromkeys(CAUSES, "blocked")})
    is_true("compare: what is part of another term is not 0", all(t["s"] is None for t in r["terms"] if t["part_of"]), "")
    is_near("compare: terms that are left add up", sum(t["s"] or 0 for t in r["terms"]), r["s"], 0, 1e-9)
    page = compare("-p", GOLDEN, "7.0", "7.1")[1]
    is_true("compare: the page says why", "Slurm's own profiles have no RunDelay" in " ".join(page.split()), page)
    a, b = job("some", 1, wall=LONG), waiting()
    b.without = {"FILES", "SCHED"}
    r = as_json(write("with", a), write("without", b))
    is_equal("compare: waiting that only A knows is part of other waiting",
             [(t["s"], t["part_of"]) for t in r["terms"] if t["id"] == "wait"], [(None, "blocked")])
    is_near("compare: and that term has it all", terms(r)["blocked"], LONGER - LONG, 0.08)


def cpu_hours(path):
    with h5py.File(path) as f:
        return sum(n["Step"]["CPUTime"].sum() for n in f["Steps/0/Nodes"].values()) / 3600


def long_runs():
    """Times of days are cut nowhere, and are those of the files."""
    paths = []
    for h in (9, 33):
        j = job("some", h, wall=h * 3600)
        j.without = j.without | {"PERF"}
        paths.append(write("long%d" % h, j))
    page = compare(*paths)[1]
    line = next(x for x in page.splitlines() if x.startswith("  CPU time "))
    wanted = "  %.0f -> %.0f h" % tuple(map(cpu_hours, paths))
    is_true("compare: hours of CPU time are whole", line.endswith(wanted) and len(line) <= 80, (line, wanted))
    same = compare(paths[0], like_a_but(paths[0], tmpdir("nothing")))[1]
    is_true("compare: next to nothing is 0", not re.search(r"\b0\.00 ms|[-+]0 s", page + same), page + same)
    values = [t[key] for t in as_json(*paths)["terms"] for key in ("s", "ln", "share", "a", "b")]
    is_true("compare: 0 has no sign in JSON", 0 in values and "-0.0" not in map(str, values), values)


# ---- the baseline

def like_a_but(a, d):
    """A copy of a run with another id, in which a little less time was waited for a CPU: less than the page shows."""
    path = d + ".same.h5"
    shutil.copyfile(a, path)
    with h5py.File(path, "r+") as f:
        for node in f["Steps/0/Nodes"].values():
            for table in (node["Step"], *node["Tasks"].values()):
                rows = table[()]
                rows["RunDelay"] *= 0.999
                table[...] = rows
    return path


def baseline():
    d = tmpdir("earlier")
    walls = LONG * (1 + 0.01 * numpy.array([0.3, -0.7, 1.1, 0.0, -0.2, 0.9]))
    for i, wall in enumerate(walls):
        j = like_a(10 + i, wall=round(wall / 30) * 30)
        j.attrs["job"] = 100 + i
        j.write("%s/job_%d.h5" % (d, 100 + i))
    other = job("node", 3)
    other.attrs["job"] = 200
    other.write(d + "/job_200.h5")
    a, b = d + "/job_100.h5", write("today", waiting())
    r = as_json("--baseline", d, a, b)
    is_equal("compare: runs of the baseline, and one that is of another size", r["baseline"],
             {"runs": 6, "left_out": 1, "later": 0, "is_judged": True})
    for t in (t for t in r["terms"] if t["part_of"] is None):
        values = numpy.array([next(x["ln"] for x in as_json(a, "%s/job_%d.h5" % (d, i))["terms"] if x["id"] == t["id"])
                              for i in range(101, 106)] + [0.0])
        median = numpy.median(values)
        mad = 1.4826 * numpy.median(abs(values - median))
        is_near("compare: median of " + t["id"], t["usual"]["median"], median, 1e-6, 1e-9)
        is_near("compare: MAD of " + t["id"], t["usual"]["mad"], mad, 1e-6, 1e-9)
        if mad > 0:
            is_near("compare: z of " + t["id"], t["usual"]["z"], (t["ln"] - median) / mad, 1e-4, 1e-4)
    is_equal("compare: the term that is unusual", [t["id"] for t in r["terms"] if t["usual"] and t["usual"]["unusual"]], ["wait"])
    os.environ["XDG_DATA_HOME"] = tmpdir("index")
    is_equal("compare: no index, no baseline", as_json(a, b)["baseline"]["runs"], 0)
    subprocess.run([JOBPROF, "index", "scan", d], check=True, capture_output=True)
    is_equal("compare: without --baseline the runs like A of the index", as_json(a, b)["baseline"],
             {"runs": 5, "left_out": 0, "later": 0, "is_judged": True})
    del os.environ["XDG_DATA_HOME"]
    page = compare("--baseline", d, a, b)[1]
    is_true("compare: the page marks it", "Against 6 earlier runs" in page and "! waiting for CPU" in page, page)
    usual = as_json("--baseline", d, a, d + "/job_103.h5")
    is_equal("compare: a run as all others has nothing unusual",
             [t["id"] for t in usual["terms"] if t["usual"] and t["usual"]["unusual"]], [])
    is_equal("compare: B is not in its own baseline", usual["baseline"]["runs"], 5)
    with h5py.File(d + "/job_105.h5", "r+") as f:
        for node in f["Steps/0/Nodes"].values():
            node.attrs["Start TimeNS"] += numpy.int64(86400 * 10 ** 9)
            for table in (node["Step"], *node["Tasks"].values()):
                rows = table[()]
                rows["TimeNS"] += numpy.uint64(86400 * 10 ** 9)
                table[...] = rows
    is_equal("compare: a run that began after B is left out", as_json("--baseline", d, a, b)["baseline"],
             {"runs": 5, "left_out": 2, "later": 1, "is_judged": True})
    page = compare("--baseline", d, a, b)[1]
    is_true("compare: the page tells of it", "1 run of the baseline began after B and does not count.\n" in page and
            "1 other run of the baseline: not like A" in page, page)
    r = as_json("--baseline", d, a, b)
    same = compare(a, like_a_but(a, d))[1]
    is_true("compare: what rounds to nothing has no sign", " 0.0 %" in same and not re.search(r"[-+]0\.0 %", same), same)
    os.symlink(".", d + "/latest")
    shutil.copyfile(d + "/job_103.h5", d + "/a copy.h5")
    is_equal("compare: a run counts once, also by a link and a copy", as_json("--baseline", d, a, b)["baseline"], r["baseline"])
    os.unlink(d + "/latest")
    os.unlink(d + "/a copy.h5")
    status, _, err = compare("--baseline", d, "--html", d + "/job_103.h5", a, b)
    is_true("compare: the page does not replace a run of the baseline", status == 1 and "it is what is read" in err and
            h5py.is_hdf5(d + "/job_103.h5"), err)
    few = as_json("-p", d, "--baseline", "101,102", "--baseline", "103", "100", "104")
    is_equal("compare: three runs judge nothing", few["baseline"], {"runs": 3, "left_out": 0, "later": 0, "is_judged": False})
    is_equal("compare: three runs: no term is called usual", {t["usual"]["unusual"] for t in few["terms"] if t["usual"]}, {None})
    is_true("compare: three runs: the page says so", "Two runs only" in
            compare("-p", d, "--baseline", "101,102,103", "100", "104")[1], "")
    named = "101,%s/none,102,99" % d
    _, page, err = compare("-p", d, "--baseline", named, "100", "104")
    is_true("compare: runs that are not there are named", len(err.splitlines()) == 2 and d + "/none" in err and "-j 99: " in err, err)
    is_true("compare: they are no runs of the baseline", "the baseline has 2 like A" in page and "other run" not in page, page)
    is_true("compare: no baseline: the page says so", "Two runs only" in compare(a, b)[1], "")


# ---- what cannot be compared

def refused():
    d = tmpdir("bad")
    a = write("good", job("some", 1))
    with open(d + "/text.h5", "w") as f:
        f.write("no profile")
    lacks = job("some", 1)
    path = write("lacks", lacks)
    with h5py.File(path, "r+") as f:
        for n in f["Steps/0/Nodes"].values():
            for table in [n["Step"]] + list(n["Tasks"].values()):
                rows = table[()]
                rows["CPUTime"] = numpy.nan
                table[...] = rows
    packed = write("packed", job("some", 1))
    with h5py.File(packed, "r+") as f:
        for n in f["Steps/0/Nodes"].values():
            rows = n["Step"][()]
            del n["Step"]
            n.create_dataset("Step", data=rows, chunks=(10,), maxshape=(None,), compression="lzf")
    os.mkdir(d + "/several")
    for i in (5, 6):
        shutil.copy(GOLDEN + "/7_0_p1.h5", "%s/several/%d_0_p1.h5" % (d, i))
    for name, args, word in (("no CPU time", (a, path), "its CPU time is not known"),
                             ("a filter that is not there", (a, packed), "filter lzf is not there"),
                             ("no profile", (a, d + "/text.h5"), "text.h5"),
                             ("no file", (a, d + "/none"), "none"),
                             ("the same twice", (a, a), "the same run"),
                             ("files of several jobs", (a, d + "/several"), "several jobs"),
                             ("a baseline that is not there", ("--baseline", d + "/nothing", a, write("like", like_a(5))), "/nothing"),
                             ("a job that is not there as the baseline", ("-p", d, "--baseline", "99", a, write("like", like_a(5))), "-j 99: "),
                             ("one word", (a,), "which two runs"),
                             ("three words", (a, a, a), "which two runs")):
        status, out, err = compare(*args)
        is_true("compare: %s: refused in one line" % name, status and not out and len(err.splitlines()) == 1 and
                word in err, "%d %s %s" % (status, out, err))


def hostile():
    j = job("some", 1)
    j.program = "a\x1b[31m<b>\n" + "x" * 300
    a = write("hostile", j)
    page = compare(a, write("plain", more_work()))[1]
    is_true("compare: names of files stay text", page and page.isascii() and "\x1b" not in page and
            all(len(line) < 1500 for line in page.splitlines()), page)
    as_json(a, write("plain2", more_work()))


def strange():
    """Values that no computer has: the terms that are left add up, and no number is none."""
    base = write("base", job("fine", 3))
    for column, value in (("CPUTime", numpy.inf), ("CPUTime", 1e308), ("CPUTime", -5.0), ("Cycles", -1.0),
                          ("Instructions", 1e308), ("RunDelay", 1e300), ("OffCPUDisk", numpy.inf)):
        path = write("strange", job("fine", 3, wall=900))
        with h5py.File(path, "r+") as f:
            for n in f["Steps/0/Nodes"].values():
                for table in [n["Step"]] + list(n["Tasks"].values()):
                    rows = table[()]
                    rows[column][10:20] = value
                    table[...] = rows
        for a, b in ((base, path), (path, base)):
            r = as_json(a, b)
            name = "compare: %s of %s: " % (column, value)
            is_equal(name + "only what is part of another term is null",
                     [t["id"] for t in r["terms"] if (t["s"] is None) != (t["part_of"] is not None)], [])
            is_near(name + "terms add up", sum(t["s"] or 0 for t in r["terms"]), r["s"], 0, 1e-9 * 1200)
            page = compare(a, b)[1]
            is_true(name + "a page", page and max(map(len, page.splitlines())) <= 80, page)


# ---- real programs

LOOP = "i=0; while [ $i -lt %d ]; do i=$((i+1)); done; "


def profiled(name, script, cpu, first):
    """first: before all others that the machine may be busy with."""
    d = tmpdir("real-" + name)
    os.chmod(d, 0o777)
    subprocess.run(["taskset", "-c", str(cpu), JOBPROF, "run", "-q", "--interval", "0.1", "-o", d, "--"] +
                   ["chrt", "-f", "1"] * first + ["sh", "-c", script % {"dir": d}], check=True)
    return d


def busy_neighbour(cpu):
    return subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"])


def attempt(term, script, neighbour):
    cpu = max(os.sched_getaffinity(0))
    a = profiled("before", "sleep 0.3; " + LOOP % 300000, cpu, True)
    p = busy_neighbour(cpu) if neighbour else None
    try:
        b = profiled("after", script, cpu, not neighbour)
    finally:
        if p:
            p.kill()
            p.wait()
    return as_json(a, b)


@in_full
def real_programs():
    for term, script, neighbour in (
            ("work", "sleep 0.3; " + LOOP % 1500000, False),
            ("wait", "sleep 0.3; " + LOOP % 300000, True),
            ("sleep", "sleep 2.3; " + LOOP % 300000, False),
            ("disk", "sleep 0.3; " + LOOP % 300000 + "dd if=/dev/zero of=%(dir)s/w bs=4k count=8000 "
             "oflag=dsync 2>/dev/null; rm %(dir)s/w", False)):
        r = attempt(term, script, neighbour)
        is_true("compare: real programs: " + term, r["cause"] == term, "%s: %s" % (r["cause"], terms(r)))
        is_near("compare: real programs: %s: the terms add up" % term, sum(t["s"] or 0 for t in r["terms"]), r["s"], 0, 1e-9)


run_tests([each_term, twice_as_long, threads, never_parallel, which_node, causes, parents, beside, inside, merged, long_runs, baseline, refused, hostile, strange, real_programs])
