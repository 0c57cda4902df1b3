# SPDX-License-Identifier: GPL-2.0-or-later
"""Pathologies of tasks: unequal ranks, what the kernel does for them, switches, the profiler's own cost.
As in sick_cpu.py, each function returns the core-seconds that were lost, None: the columns cannot tell."""

import numpy

from cases import ANY, RANKS, Alike, Rule

BUSY = 0.97
EQUAL = ("node", "shared", "many", "wide", "some")


def shares(j, values):
    """Each task is busy for its share of the time and blocked for the rest."""
    values = numpy.asarray(values, float)
    j.put(CPUTime=(BUSY * values * j.threads)[:, None])
    return j.core_s * (1 - values.mean() / values.max())


def imbalance(j, lowest):
    return shares(j, numpy.linspace(lowest, 1, j.tasks))


def imbalance_now_and_then(j, lowest):
    """An eighth of the time ranks do nothing: equal work would save none of that."""
    now = numpy.arange(j.n) // max(1, 300 // j.row) % 8 != 0
    of = numpy.linspace(lowest, 1, j.tasks)
    j.put(CPUTime=BUSY * of[:, None] * now * j.threads)
    return BUSY * (1 - of.mean()) * j.nodes * j.cores * j.dt[now].sum()


def spinning(j):
    """Ranks that wait spin inside MPI: all are busy, and nothing can be told."""
    j.put(CPUTime=numpy.linspace(0.96, 0.99, j.tasks)[:, None] * j.threads)


def sampled(j, useful, cpu=0.985):
    """All ranks are busy, and samples tell how much of it is outside of MPI."""
    useful = numpy.asarray(useful, float)
    j.put(CPUTime=cpu * j.threads)
    j.samples(Own=useful[:, None], MPI=1 - useful[:, None])
    return j.core_s * cpu * (useful.max() - useful.mean())


def spinning_unequal(j, lowest):
    return sampled(j, numpy.linspace(lowest, 1, j.tasks))


def spinning_straggler(j, others):
    useful = numpy.full(j.tasks, float(others))
    useful[j.tasks // 3] = 0.95
    j.where = "rank %d" % (j.tasks // 3)
    return sampled(j, useful)


def spinning_equal(j):
    """Half of the CPU time is inside MPI, of each rank."""
    sampled(j, numpy.linspace(0.48, 0.52, j.tasks))


def equal_of_unequal(j):
    """CPU times differ as some ranks block and others spin while they wait; the work is the same."""
    cpu = numpy.linspace(0.7, 0.98, j.tasks)
    j.put(CPUTime=cpu[:, None] * j.threads)
    j.samples(Own=0.65 / cpu[:, None], MPI=1 - 0.65 / cpu[:, None])


def one_master(j):
    shares(j, numpy.where(numpy.arange(j.tasks) == 0, 0.01, 1.0))


def several_programs(j):
    """Ocean and air are coupled: other programs, other work."""
    j.programs = {t: "ocean" for t in range(4)}
    shares(j, numpy.where(numpy.arange(j.tasks) < 4, 1.0, 0.65))


def straggler(j, others):
    values = numpy.full(j.tasks, float(others))
    values[j.tasks // 3] = 1
    j.where = "rank %d" % (j.tasks // 3)
    return shares(j, values)


def slightly_ahead(j):
    shares(j, numpy.where(numpy.arange(j.tasks) == 2, 1.0, 0.88))


def system(j, share):
    """Page faults: memory is given back to the kernel and taken again."""
    j.put(system=share, MinorFaults=9e4 * share * j.threads)
    return (share - 0.02) * BUSY * j.core_s


def system_short(j):
    """Of a job of little CPU time the split is not known well."""
    system(j, 0.6)


def forks(j, per_node):
    """Processes of 0.85 ms each, as those that subprocess.run() of Python starts."""
    j.put(Forks=per_node / j.per_node.max(), system=0.12)
    return 0.85e-3 * per_node * j.nodes * j.wall


def build(j):
    forks(j, 60)
    j.program, j.attrs["job_name"] = "make", "make"


def spin_yield(j, per_s):
    """Ranks that share cores wait in sched_yield: a call takes 1.5 us in the kernel and 0.25 us outside."""
    cpu = 0.98 * j.threads
    j.put(CPUTime=cpu, RunDelay=cpu, InvolSwitches=per_s * cpu, system=0.02 + 1.5e-6 * per_s, Threads=2 * j.threads)
    j.wait_ns = 1e9 / per_s
    return 1.75e-6 * per_s * 0.98 * j.core_s


def time_slices(j):
    cpu = BUSY * j.threads
    j.put(CPUTime=cpu, RunDelay=cpu, InvolSwitches=cpu / 0.0015, Threads=2 * j.threads)
    j.wait_ns = 1.6e6


def sync_fine(j, per_s):
    """Threads sleep and are woken for little work; the finer it is, the more they wait."""
    share = {6000: 0.65, 20000: 0.5, 50000: 0.3}.get(per_s, 0.85)
    cpu = share * j.threads
    j.put(CPUTime=cpu, VolSwitches=per_s * cpu, system=0.15)
    j.wait_ns = 20e3
    return j.core_s * (1 - share) + min(0.13, per_s * 1e-5) * share * j.core_s


def server(j):
    """A network server sleeps for each request."""
    cpu = 0.75 * j.threads
    j.put(CPUTime=cpu, VolSwitches=8000 * cpu, NetRxOps=7900 * cpu, NetTxOps=7900 * cpu,
          NetRxMB=4.0 * cpu, NetTxMB=4.0 * cpu, system=0.2)
    j.wait_ns = 20e3


def sleeps_for_disk(j):
    cpu = 0.6 * j.threads
    j.put(CPUTime=cpu, OffCPUDisk=0.35 * j.threads, VolSwitches=5000 * cpu, BlkReads=4900 * cpu, BlkReadMB=20 * cpu,
          DiskReadMB=20 * cpu, ReadMB=20 * cpu, ReadCalls=300 * cpu, blk_s=7e-5)


def migrates(j, per_s):
    j.put(Migrations=per_s * BUSY * j.threads)


def short_sleeps(j):
    """Each of many short sleeps ends on the core that is free."""
    j.put(Migrations=40.0 * j.threads, VolSwitches=6000.0 * j.threads)
    j.wait_ns = 15e3


def remote(j, share):
    """Tasks may run on both sockets of their node, and of the loads that go to memory this share goes to the other one."""
    j.events, j.numa = {"NodeLoads": 2e7, "NodeLoadMisses": share * 2e7}, 2


def bound(j):
    """What ranks read lies elsewhere, and each has its place."""
    remote(j, 0.5)
    j.numa = 1


def in_cache(j):
    remote(j, 0.5)
    j.events = {name: rate / 1000 for name, rate in j.events.items()}


def self_cost(j, share):
    j.put(probe=share)
    return share * BUSY * j.core_s


RULES = [
    Rule("mpi.imbalance", imbalance, (0.2, 0.4, 0.6), 0.85, EQUAL, [
        Alike("ranks that spin", spinning, "node"), Alike("one master of 16", one_master, "node"),
        Alike("several programs", several_programs, "node", also=("cpu.unused",))],
        also=("cpu.unused",)),
    Rule("mpi.imbalance", imbalance_now_and_then, (0.2, 0.4), None, EQUAL, also=("cpu.unused",), repeat=1),
    Rule("mpi.imbalance", spinning_unequal, (0.2, 0.4, 0.6), 0.85, ("node", "shared", "many", "wide"), [
        Alike("half of the time in MPI", spinning_equal, "node"),
        Alike("equal work, unequal waiting", equal_of_unequal, "node", also=("cpu.unused",))], repeat=1),
    Rule("mpi.straggler", spinning_straggler, (0.4, 0.6), None, ("node", "many", "wide"), also=("mpi.imbalance",), repeat=1),
    Rule("mpi.straggler", straggler, (0.3, 0.5, 0.7), None, EQUAL, [
        Alike("near miss", slightly_ahead, "node", also=("mpi.imbalance",))],
        also=("cpu.unused", "mpi.imbalance")),
    Rule("cpu.system", system, (0.36, 0.5, 0.8), 0.18, ANY, [Alike("short", system_short, "fine shared", wall=3)]),
    Rule("proc.forks", forks, (30, 100, 400), 14, ("fine", "node", "shared", "pair", "some", "threads"), [
        Alike("build by name", build, "shared")]),
    Rule("cpu.spin_yield", spin_yield, (12000, 30000, 100000, 280000), None, ("node", "fine", "pair", "many"), [
        Alike("time slices", time_slices, "node", expect="cpu.oversubscribed")],
        also=("cpu.oversubscribed",)),
    Rule("sync.fine", sync_fine, (6000, 20000, 50000), 3300, ("threads", "fine", "node", "shared", "pair"), [
        Alike("network server", server, "shared", also=("cpu.unused",)),
        Alike("disk", sleeps_for_disk, "node", expect="io.wait", also=("cpu.unused",))],
        also=("cpu.unused",)),
    Rule("cpu.migrates", migrates, (16, 60, 200), 7.5, RANKS, [Alike("short sleeps", short_sleeps, "node")]),
    Rule("numa.remote", remote, (0.35, 0.5, 0.9), 0.29, RANKS, [
        Alike("bound to a socket", bound, "node"), Alike("caches have the data", in_cache, "node"),
        Alike("one task on each node", lambda j: remote(j, 0.5), "hybrid", tasks=4)]),
    Rule("self.cost", self_cost, (0.008, 0.02, 0.05), 0.004, ANY),
]
