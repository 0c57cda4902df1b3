#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# runs: in full
# runs: alone
"""Pathologies that programs really have, under jobprof run: what `jobprof report` names first, what
it says to do, and whether its cost is what the same work takes less without the pathology. Healthy
programs are left alone.
    programs.py [--only NAME] [--keep DIR]
The machine must give the programs its cores: a case in which others took them is tried again."""

import argparse
import os
import math
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../lib"))
from lib import *
from measured import first_in_line, kept, profiled

RANKS = tool("jpranks")
TRIES = 3
COST_ERROR = 0.35
DISTURBED = 0.15
OTHERS = "cpu.neighbour"
PROCESSES = 2500
PROCESS_S = 0.0009  # of a process, what proc.forks counts as its start at most


def run(cmd, cpus=None):
    """The Report of a command."""
    return profiled(cmd, ["taskset", "-c", cpus] if cpus else [], ["--interval", "0.1"])


def others(r):
    """Share of the cores that other programs kept from it."""
    return sum(f["cost"]["core_s"] for f in r.findings if f["id"] == OTHERS) / r.core_s()


def report(name, make, rule=None, is_steady=False, disturbed=DISTURBED):
    """The first report in which the rule comes first, or others kept less than this share of the cores from it; that
    they took some is true, and no part of the test. They may use what is idle, but for programs that are
    to be as steady as a clock."""
    for _ in range(TRIES):
        r = make().keep(kept(OPTIONS.keep, name))
        if r.ids[:1] == [rule]:
            return r
        if rule and r.ids[:1] == ["io.wait"]:
            continue  # others keep the disk busy: no case here waits for it most
        if others(r) < disturbed and not (is_steady and r.facts["others_s"] > 0.1 * r.core_s()):
            r.findings = [f for f in r.findings if f["id"] != OTHERS]
            return r
    raise Skipped("other programs used the disk, or %.0f %% of the cores, in the last of %d tries" % (
        100 * r.facts["others_s"] / r.core_s(), TRIES))


def ranks(*plan):
    return lambda: run([RANKS] + list(plan))


def named(name, r, rule, remedy):
    """The rule comes first, with this remedy; returns the finding."""
    found = r.findings[0] if r.findings else {"id": "nothing", "remedy": "", "text": ""}
    is_true("%s: %s is named first" % (name, rule), found["id"] == rule,
            "%s: %s" % (", ".join(r.ids) or "nothing", found["text"]))
    if found["id"] != rule:
        return None
    is_true("%s: the remedy" % name, re.search(remedy, found["remedy"]), found["remedy"])
    return found


def costs(name, found, truth, core_s, error=COST_ERROR):
    """A twentieth of the core time is what two runs of the same work differ by."""
    got = (found.get("cost") or {}).get("core_s") or 0
    print("%s: the cost is %.2f core-s, by a run without it %.2f; the run had %.1f" % (name, got, truth, core_s))
    is_near("%s: the cost" % name, got, truth, error, 0.05 * core_s)


def wall_lost(sick, well):
    return sick.facts["cores"] * (sick.facts["wall_s"] - well.facts["wall_s"])


def cpu_lost(sick, well):
    return sick.facts["cpu_s"] - well.facts["cpu_s"]


def compared(name, rule, remedy, sick, well, lost=wall_lost, error=COST_ERROR, is_steady=False):
    """A pathology, and the same work without it. CPU time is the program's own, however much the others take."""
    r = report(name, sick, rule, is_steady, math.inf if lost is cpu_lost else DISTURBED)
    found = named(name, r, rule, remedy)
    if found:
        healed = well().keep(kept(OPTIONS.keep, name + " well")) if lost is cpu_lost else report(name + " well", well)
        costs(name, found, lost(r, healed), r.core_s(), error)
    return r, found


def idle_rank():
    compared("idle rank", "mpi.imbalance", "started in parallel", ranks("-n", "2", "work=4@0"),
             ranks("-n", "2", "work=2"))


def one_core_of_two():
    """The other core must be free: else there is nothing to gain."""
    compared("one core", "cpu.serial", "OMP_NUM_THREADS", ranks("work=4"), ranks("threads=2", "work=2"), is_steady=True)


def eight_threads_per_core():
    compared("8 threads per core", "cpu.oversubscribed", "OMP_NUM_THREADS=2", ranks("threads=16", "work=0.4"),
             ranks("threads=2", "work=3.2"))


def bound_to_one_core():
    plan = [RANKS, "threads=2", "work=2"]
    compared("bound to one core", "cpu.stacked", "cpu-bind|bind-to none", lambda: run(["taskset", "-c", "0"] + plan),
             lambda: run(plan))


def ranks_on_one_core():
    """The report cannot tell this from a neighbour where others use the other core."""
    compared("ranks on one core", "cpu.stacked", "cpu-bind|bind-to none", ranks("-n", "2", "pin=0", "work=2"),
             ranks("-n", "2", "work=2"))


def mpirun_on_one_core():
    """All ranks of a launcher are bound to one core; others who use the other core are not to blame."""
    program = [needed("mpirun.openmpi"), "--oversubscribe", "--bind-to", "none", "-n", "4"]
    work = [RANKS, "work=1"]
    r, found = compared("mpirun on one core", "cpu.stacked", "bind-to none", lambda: run(program + ["taskset", "-c", "0"] + work),
                        lambda: run(program + work))
    if found:
        is_equal("mpirun on one core: where", found["where"], "ranks 0-3")
        is_true("mpirun on one core: its neighbours are not to blame", OTHERS not in r.ids, r.ids)


def mpirun_unbound():
    r = report("mpirun unbound", lambda: run(mpirun(RANKS, "work=2")))
    is_true("mpirun unbound: not stacked", "cpu.stacked" not in r.ids, r.ids)


def leak():
    limit, where = memory_limit(1024)
    r = report("leak", lambda: run(where + [RANKS, "-r", "40", "grow=8", "threads=2", "work=0.1"]), "mem.leak")
    if "limit_mb" not in r.facts:
        skip("leak", "jobprof run sees no limit of memory here, and a short run without one is not judged")
        return
    found = named("leak", r, "mem.leak", "more memory")
    if not found:
        return
    rate = 40 * 8 / r.facts["wall_s"]
    is_near("leak: its rate", r.facts["leak_mb_s"], rate, 0.15)
    later = re.search(r"at the limit of .* ([0-9.]+) s later", found["text"])
    is_near("leak: time to the limit", float(later.group(1)) if later else math.nan,
            (limit - r.facts["leak_now_mb"]) / rate, 0.15)


def memory_limit(mb):
    """A memory cgroup with a limit; what to put before a command that runs in it."""
    mount = cgroup1_mount("memory")
    if not mount:
        return None, []
    group = mkcg("jptest_programs_%d" % os.getpid(), mount)
    try:
        with open(group + "/memory.limit_in_bytes", "w") as f:
            f.write(str(mb * MB))
    except OSError:
        return None, []
    return mb, ["sh", "-c", 'echo $$ >%s/cgroup.procs; exec "$@"' % group, "sh"]


def oom():
    limit, where = memory_limit(100)
    if not limit:
        raise Skipped("there is no memory controller of cgroups v1")
    r = report("oom", lambda: run(where + [RANKS, "-r", "40", "threads=2", "work=0.1", "grow=8"]), "mem.oom")
    found = named("oom", r, "mem.oom", "more memory")
    if found:
        when, end = found["when"], r.facts["wall_s"]
        is_true("oom: when", when and when[0] >= end - 0.5 and when[1] <= end + 0.5, "%s of %.1f s" % (when, end))


def small_writes():
    d = disk()
    plan = "write=%s/%d:60:%d@%d"
    compared("1-KiB writes", "io.small", "[Bb]uffer",
             ranks("-n", "2", "-r", "16", *[plan % (d, i, 1024, i) for i in (0, 1)], "work=0.03"),
             ranks("-n", "2", "-r", "16", *[plan % (d, i, 1 << 20, i) for i in (0, 1)], "work=0.03"), cpu_lost)


def processes():
    """The loop of a shell, which starts a program each time."""
    loop = "i=0; while [ $i -lt %d ]; do %%s; i=$((i+1)); done" % PROCESSES
    program = shutil.which("true")
    started_s = run(["sh", "-c", loop % program]).facts["cpu_s"] / PROCESSES
    if started_s > PROCESS_S:
        raise Skipped("a process takes %.1f ms here, of which the rule counts %.1f ms" % (1e3 * started_s, 1e3 * PROCESS_S))
    compared("a loop of processes", "proc.forks", "inside of one program", lambda: run(["sh", "-c", loop % program]),
             lambda: run(["sh", "-c", loop % ":"]), error=0.2)


def one_rank_writes():
    d = disk()
    work = ["work=0.2@0", "work=0.2@1", "meet", "work=0.2@2", "work=0.2@3", "meet"]
    compared("one rank writes", "io.one_rank", "parallel HDF5",
             ranks("-n", "4", "-r", "6", *work, "flush=%s/all:300:1048576@0" % d, "meet"),
             ranks("-n", "4", "-r", "6", *work))


def periodic_stops():
    """The wait for a server is a sleep here: the disk of a test machine is not steady. Without stops the ranks use the
    same CPU time at once."""
    d = disk()
    name = "stops for I/O"
    r = report(name, ranks("-n", "2", "-r", "23", "every=0.5", "meet", *[
        step for _ in range(5) for step in ("write=%s/0:2:1048576@0" % d, "write=%s/1:2:1048576@1" % d, "sleep=0.03")],
        "meet"), "io.periodic", True)
    found = named(name, r, "io.periodic", "asynchronous")
    if found:
        is_near(name + ": the period", r.facts["io_period_s"], 0.5, 0.05)
        well = report(name + " well", ranks("-n", "2", "work=%.2f" % (r.facts["cpu_s"] / 2)))
        costs(name, found, wall_lost(r, well), r.core_s())


def tail():
    r, found = compared("tail", "cpu.tail", "(job|run) of its own", ranks("-n", "2", "work=2.5", "work=2.5@0"),
                        ranks("-n", "2", "work=3.75"))
    if found:
        is_near("tail: its begin", found["when"][0], 2.5, 0.15)


def yielding():
    half = "work=0.05@%d work=0.05@%d %s"
    plan = lambda wait: (half % (0, 1, wait) + " " + half % (2, 3, wait)).split()
    make = lambda wait: ranks("-n", "4", "-r", "25", *plan(wait))

    def sick():
        """With a rank that works and one that yields on either CPU, yielding costs nothing."""
        for _ in range(2 * TRIES):
            r = make("yield")()
            if r.facts["wall_s"] > 1.2 * 25 * 2 * 0.05:
                return r
        raise Skipped("the kernel has placed the ranks so that yielding cost nothing")
    compared("waits in sched_yield", "cpu.spin_yield", "one rank per core", sick, make("meet"), cpu_lost)


def neighbour():
    """On one CPU: on two the scheduler may put the program's ranks on one and the neighbour's threads on the other."""
    make = lambda: run([RANKS, "-n", "1", "work=2"], "0")
    other = start(["taskset", "-c", "0", tool("jpspin"), "-o", "/dev/null", "60"], preexec_fn=first_in_line, env=plain_env())
    try:
        r = make().keep(kept(OPTIONS.keep, "neighbour"))
    finally:
        other.kill()
        other.wait()
    found = named("neighbour", r, OTHERS, "what else runs")
    if found:
        costs("neighbour", found, wall_lost(r, report("neighbour-well", make)), r.core_s())


def disk():
    """A folder in which a write that is to reach the disk waits for it."""
    d = tmpdir("disk")
    os.sync()  # what other tests have written
    kind = subprocess.run(["stat", "-f", "-c", "%T", d], capture_output=True, text=True).stdout.strip()
    if kind in ("tmpfs", "ramfs"):
        raise Skipped("%s is %s" % (d, kind))
    return d


# -- healthy programs

def is_left_alone(name, make):
    r = report(name, make)
    loud = [f for f in r.findings if f["severity"] != "note"]
    is_true("%s is left alone" % name, not loud, "; ".join("%s: %s" % (f["id"], f["text"]) for f in loud))


def needed(program):
    path = shutil.which(program)
    if not path:
        raise Skipped("there is no %s: scripts/install-deps test" % program)
    return path


def healthy_ranks():
    is_left_alone("ranks that meet", ranks("-n", "2", "-r", "60", "work=0.05", "meet"))


def mpirun(*cmd):
    return [needed("mpirun.openmpi"), "--oversubscribe", "--bind-to", "none", "-n", "2"] + list(cmd)


def hpcc():
    program = needed("hpcc")

    def make():
        with open("/usr/share/doc/hpcc/examples/_hpccinf.txt") as f:
            lines = f.read().splitlines()
        for n, value in ((5, "2400"), (10, "1"), (11, "2")):  # size, P and Q of HPL
            lines[n] = value
        where = tmpdir("hpcc")
        with open(where + "/hpccinf.txt", "w") as f:
            f.write("\n".join(lines) + "\n")
        return run(["sh", "-c", 'cd %s && OPENBLAS_NUM_THREADS=1 exec "$@"' % where, "sh"] + mpirun(program))
    is_left_alone("hpcc", make)


def lammps():
    program, script = needed("lmp"), tmpdir("lammps") + "/in.melt"
    with open(script, "w") as f:
        f.write(lammps_melt(16, 1500))
    is_left_alone("lammps", lambda: run(mpirun(program, "-log", "none", "-in", script)))


def compiling():
    sources = sorted(glob.glob(ROOT + "/user/hdf5/*.c"))
    rules = "CFLAGS = -O2 -I%s -I%s/user -I%s/build -I/usr/include/hdf5/serial -D_GNU_SOURCE\nall: %s\n" % (
        ROOT, ROOT, ROOT, " ".join(os.path.basename(s)[:-1] + "o" for s in sources)) + "".join(
            "%so: %s\n\tcc $(CFLAGS) -c -o $@ $<\n" % (os.path.basename(s)[:-1], s) for s in sources)

    def make():
        makefile = tmpdir("make") + "/Makefile"
        with open(makefile, "w") as f:
            f.write(rules)
        return run([needed("make"), "-j2", "-C", os.path.dirname(makefile)])
    is_left_alone("compiling", make)


SQL = """import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("create table t (a integer primary key, b text, c real)")
with db:
    db.executemany("insert into t values (?, ?, ?)", ((i, "n%d" % (i * 7919 % 100003), i / 3) for i in range(1000000)))
db.execute("create index by_b on t (b)")
print(db.execute("select count(*), sum(c) from t where b like 'n1%'").fetchone())
"""


def sqlite():
    def make():
        return run([sys.executable, "-c", SQL, tmpdir("sql") + "/t.db"], cpus="1")
    is_left_alone("sqlite", make)


TESTS = (idle_rank, one_core_of_two, eight_threads_per_core, bound_to_one_core, ranks_on_one_core, mpirun_on_one_core,
         mpirun_unbound, leak, small_writes, processes, one_rank_writes, periodic_stops, tail, oom, yielding, neighbour,
         healthy_ranks, hpcc, lammps, compiling, sqlite)


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME", choices=[t.__name__ for t in TESTS], help="this test alone")
    parser.add_argument("--keep", metavar="DIR", help="keep the files there")
    return parser.parse_args()


OPTIONS = options()

if __name__ == "__main__":
    need_bpf()
    if len(os.sched_getaffinity(0)) != 2:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    for test in TESTS:
        if OPTIONS.only in (None, test.__name__):
            run_one(test)
