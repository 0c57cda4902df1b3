# SPDX-License-Identifier: GPL-2.0-or-later
"""Pathologies of the use of cores and nodes: each function makes a healthy job sick and returns what it
lost, in core-seconds, against the same job without the pathology."""

import numpy

from cases import ANY, LAUNCHED, NODES, RANKS, Alike, Rule, job
from jobs import CLOCK

BUSY = 0.97


def unused(j, share):
    j.cpu(share)
    return j.core_s * (1 - share)


def gpu_job(j):
    j.gpus(4)
    j.cpu(0.15)


def memory_job(j):
    j.cpu(0.3)
    j.put(AnonMB=0.87 * j.limit_mb / j.per_node.max())
    j.put_step(cache=0.02 * j.limit_mb)


def shell(j):
    j.step_name, j.program, j.attrs["job_name"] = "interactive", "bash", "interactive"


def interactive(j):
    j.cpu(0.05)
    shell(j)


def smt(j):
    j.threads_per_core = 2
    j.cpu(0.93)


def short(j):
    j.cpu(0.3)


def serial(j, used):
    j.put(CPUTime=used)
    return (j.cores - 1) * j.wall


def serial_part(j):
    j.put(CPUTime=numpy.where(j.between(0.2, 0.6), 0.99, BUSY * j.cores))


def serial_stacked(j):
    return stacked(j, 1)


def nodes_unused(j, used):
    """Tasks of all but the first nodes do nothing."""
    j.put(CPUTime=numpy.where(j.node_of < used * j.nodes, BUSY * j.threads, 0.0005)[:, None])
    j.put_device("Port", "mlx5_0.1", TxMB=0.01, RxMB=0.01)
    j.where = "n%d" % (used * j.nodes + 1)
    return j.nodes * (1 - used) * j.cores * j.wall


def barely_used(j):
    """Of the last node so little that others may wonder, but more than nothing."""
    j.put(CPUTime=numpy.where(j.node_of < j.nodes - 1, BUSY * j.threads, 0.85 * j.threads)[:, None])


def batch_alone(j):
    """The batch step sleeps on the first node while step 0 works on all."""
    batch = job("threads", 3, cores=j.cores, wall=j.wall)
    batch.put(CPUTime=0.0002, AnonMB=4.0)
    j.extra.append(("batch", batch, 0))


def gpu_node(j):
    j.gpus(4)
    j.put(CPUTime=numpy.where(j.node_of == 1, 0.004, 0.5 * j.threads)[:, None])


def lost_node(j):
    j.rows_of_node[j.nodes - 1] = False


def oversubscribed(j, ratio):
    """Threads that share cores meet, and the last has one core while others are idle: with a thread per core all
    would be busy. A switch each 3 ms takes 3 us."""
    cpu = BUSY * j.threads
    j.put(CPUTime=cpu, RunDelay=ratio * j.threads - cpu, Threads=numpy.ceil(ratio * j.threads),
          InvolSwitches=cpu / 0.003, VolSwitches=4500 * cpu, system=0.02)
    j.wait_ns = 6e6
    return (1 - BUSY + BUSY * 3e-6 / 0.003) * j.core_s


def oversubscribed_known(j, ratio):
    """What had the CPU is known."""
    loss = oversubscribed(j, ratio)
    j.culprits(OwnTask=0.85, OwnStep=0.1, System=0.05)
    return loss


def crowded_by_others(j):
    """As many threads as cores, which other jobs use as well."""
    oversubscribed(j, 2)
    j.culprits(OtherJobs=0.9, System=0.1)


def oversubscribed_hardly(j):
    cpu = 0.96 * j.threads
    j.put(CPUTime=cpu, RunDelay=0.08 * cpu, InvolSwitches=cpu / 0.003)
    j.wait_ns = 2e6


def crowded_start(j):
    cpu = BUSY * j.threads
    j.put(CPUTime=cpu, RunDelay=numpy.where(j.t < 60, 2 * cpu, 0.003 * cpu))


def fork_burst(j):
    """A build: many processes wait, each for a short time."""
    cpu = 0.965 * j.threads
    j.put(CPUTime=cpu, RunDelay=0.2 * cpu, Forks=0.8, VolSwitches=3000.0 * cpu, system=0.1)
    j.wait_ns, j.program, j.attrs["job_name"] = 60e3, "make", "build"


def stacked(j, used):
    """All tasks of a node share some of its cores; used: how many, or which part of them."""
    cores = used if used >= 1 else used * j.cores
    tasks = j.per_node.max()
    cpu = 0.98 * cores / tasks
    j.put(CPUTime=cpu, RunDelay=j.threads - cpu, InvolSwitches=cpu / 0.003, Migrations=0.0, Threads=j.threads)
    j.wait_ns, j.allowed, j.is_stacked = 5e6, max(1, int(cores)), True
    return j.core_s - j.nodes * 0.98 * cores * j.wall


def stacked_hardly(j):
    j.put(CPUTime=0.955 * j.threads, RunDelay=0.04 * j.threads)


def bursty(j):
    """One row in six has tasks that wait while cores are idle."""
    now = numpy.arange(j.n) % 6 == 0
    j.put(CPUTime=numpy.where(now, 0.6, BUSY) * j.threads, RunDelay=numpy.where(now, 0.2, 0.003) * j.threads)


def other_node_idle(j):
    """Too many threads on the first node, none on the second: these cores are no help."""
    first = (j.node_of == 0)[:, None]
    j.put(CPUTime=numpy.where(first, BUSY * j.threads, 0.002), RunDelay=numpy.where(first, 1.03 * j.threads, 0.0),
          InvolSwitches=numpy.where(first, 330 * j.threads, 0.1))
    j.wait_ns = 3e6


def throttled(j, share):
    """share: of the time of all cores."""
    j.put(CPUTime=BUSY * (1 - share) * j.threads, RunDelay=share * j.threads)
    j.put_step(Throttled=share * j.cores, ThrottledPeriods=6.0)
    return share * j.core_s


def throttled_little(j):
    """Seconds of throttling that are many, but of many CPUs."""
    j.put_step(Throttled=0.012, ThrottledPeriods=0.1)


def neighbour(j, share):
    """Now and then other jobs run on the same cores, and each thread waits for them in turn."""
    now = numpy.arange(j.n) // max(1, 90 // j.row) % 3 == 1
    j.put(CPUTime=BUSY * numpy.where(now, 1 - share, 1.0) * j.threads,
          RunDelay=BUSY * numpy.where(now, share, 0.003) * j.threads, InvolSwitches=40.0 * j.threads)
    j.wait_ns = 4e6
    return BUSY * share * j.nodes * j.cores * j.dt[now].sum()


def neighbour_known(j, share):
    loss = neighbour(j, share)
    j.culprits(OtherJobs=0.7, System=0.25, OwnTask=0.05)
    return loss


def one_node(j, value, others):
    return numpy.where(numpy.arange(j.nodes) == 1, value, others)


def slow_clock(j, ratio):
    """The second node is too hot."""
    clock = one_node(j, ratio, 1.0)
    j.put(CPUFrequency=(CLOCK * clock)[j.node_of][:, None])
    j.put_node("CPU", FreqMean=clock * CLOCK / 1e3, FreqMin=clock * CLOCK / 1e3 - 90,
               FreqMax=clock * CLOCK / 1e3 + 90, PkgThrottleTime=one_node(j, 0.3, 0), PkgThrottles=one_node(j, 2, 0),
               CoreThrottleTime=one_node(j, 1, 0), CoreThrottles=one_node(j, 20, 0),
               PkgTemperature=one_node(j, 99, 70))
    j.where = "n2"
    return BUSY * (1 - ratio) * j.cores * j.wall


def capped_everywhere(j):
    j.put(CPUFrequency=0.8 * CLOCK)
    j.put_node("CPU", FreqMean=0.8 * CLOCK / 1e3, FreqMax=0.8 * CLOCK / 1e3 + 50)


def sleeping_cores(j):
    """The mean clock of the node contains CPUs that sleep."""
    j.put_node("CPU", FreqMean=one_node(j, 1200, 2700))


def slow_node(j, ratio):
    """The second node needs more cycles for the same work."""
    j.put(ipc=(1.4 * one_node(j, ratio, 1.0))[j.node_of][:, None])
    j.where = "n2"
    return BUSY * (1 - ratio) * j.cores * j.wall


def older_processors(j):
    """Half of the nodes are of another model."""
    j.models = {n: "Made Processor 5120 @ 2.2GHz" for n in range(1, j.nodes, 2)}
    old = numpy.isin(j.node_of, list(j.models))[:, None]
    j.put(ipc=numpy.where(old, 1.1, 1.4), CPUFrequency=numpy.where(old, 0.8, 1.0) * CLOCK)


def slow_at_times(j):
    slow = (numpy.arange(j.n) // 5) % 2 == 0
    j.put(ipc=numpy.where((j.node_of == 1)[:, None] & slow, 1.1, 1.4))


def other_role(j):
    """The first node reads and hands out: less work of another kind."""
    first = (j.node_of == 0)[:, None]
    j.put(ipc=numpy.where(first, 1.5, 1.4), CPUTime=numpy.where(first, 0.88, BUSY) * j.threads)


def tail(j, part):
    """One core does the rest."""
    late = j.between(1 - part, 1.1)
    first = (numpy.arange(j.tasks) == 0)[:, None]
    j.times = [((1 - part) * j.wall, j.wall)]
    j.put(CPUTime=numpy.where(late, numpy.where(first, BUSY, 0.0002), BUSY * j.threads))
    return (j.nodes * j.cores - BUSY) * j.dt[late].sum()


def tail_of_disk(j):
    """At the end the data are written."""
    late = j.between(0.8, 1.1)
    j.put(CPUTime=numpy.where(late, 0.1, BUSY * j.threads), OffCPUDisk=numpy.where(late, 0.85 * j.threads, 0.001),
          WriteMB=numpy.where(late, 40.0, 0.3), WriteCalls=numpy.where(late, 40.0, 0.3),
          DiskWriteMB=numpy.where(late, 40.0, 0.3))


def tail_of_gpu(j):
    late = j.between(0.8, 1.1)
    j.gpus(2, numpy.where(late, 95.0, 60.0))
    j.put(CPUTime=numpy.where(late, 0.1, BUSY * j.threads))


def tail_short(j):
    return tail(j, 240 / j.wall) and None


def stopped(j, part):
    """Nothing happens any more until the limit or a person ends it."""
    late = j.between(1 - part, 1.1)
    j.put(CPUTime=numpy.where(late, 0.0002, BUSY * j.threads), VolSwitches=numpy.where(late, 0.5, 60.0))
    for column in ("WriteMB", "WriteCalls", "ReadMB", "ReadCalls", "DiskReadMB", "DiskWriteMB", "BlkReads",
                   "BlkWrites", "BlkReadMB", "BlkWriteMB", "OffCPUDisk", "RunDelay", "InvolSwitches",
                   "MinorFaults", "Opens", "Closes"):
        j.put(**{column: numpy.where(late, 0.0, j.d[column])})
    if j.nodes > 1:
        j.put_device("Port", "mlx5_0.1", TxMB=numpy.where(late, 0.0, 30.0), RxMB=numpy.where(late, 0.0, 30.0))
    j.times = [((1 - part) * j.wall, j.wall)]
    j.state, j.limit_s = "TIMEOUT", j.wall
    j.attrs.update(end_reason="time limit", exit_status=15)
    return j.nodes * j.cores * j.dt[late].sum()


def shell_left_open(j):
    stopped(j, 0.6)
    shell(j)


def pause(j):
    """All wait for something in the middle and go on."""
    j.put(CPUTime=numpy.where(j.between(0.5, 0.6), 0.0002, BUSY * j.threads))


def fragmented(j, _):
    j.node_cores, j.node_mb = 32, 128000.0
    j.put(AnonMB=500.0)


def memory_fills(j):
    """Few cores on each node, since each task needs much memory."""
    j.node_cores, j.node_mb, j.limit_mb, j.request_mb = 32, 128000.0, 120000.0, 120000.0
    j.put(AnonMB=100000.0 / j.per_node.max())
    j.put_step(MemLimitMB=120000.0)


def gpu_places(j):
    j.node_cores, j.node_mb = 32, 128000.0
    j.gpus(4)


def swarm(j, count):
    """One of the many tasks of an array, none of which takes long."""
    j.attrs["array_tasks"] = count


RULES = [
    Rule("cpu.unused", unused, (0.2, 0.5, 0.72), 0.83, ANY, [
        Alike("GPU job", gpu_job, "node"), Alike("cores for their memory", memory_job, "shared"),
        Alike("interactive", interactive, "shared"), Alike("SMT counted twice", smt, "node")]),
    Rule("cpu.serial", serial, (0.9, 0.97, 0.99), None, ("threads",), [
        Alike("serial part", serial_part, "threads", also=("cpu.unused",)),
        Alike("stacked", serial_stacked, "fine", expect="cpu.stacked", also=("cpu.unused",))],
        also=("cpu.unused",), repeat=1),
    Rule("cpu.serial", serial, (0.97,), 1.3, ("fine shared", "node"), also=("cpu.unused",),
         near_also=("cpu.unused",), repeat=1, tasks=1),
    Rule("cpu.nodes_unused", nodes_unused, (0.25, 0.5, 0.75), None, NODES, [
        Alike("batch step alone", batch_alone, "some"), Alike("node used little", barely_used, "some"),
        Alike("GPU-only node", gpu_node, "hybrid", also=("cpu.unused", "mpi.imbalance")),
        Alike("node lost", lost_node, "some")],
        also=("cpu.unused", "mpi.imbalance")),
    Rule("cpu.oversubscribed", oversubscribed, (1.5, 2, 4), 1.04, ("threads", "fine", "node", "pair", "hybrid"), [
        Alike("hardly", oversubscribed_hardly, "node"), Alike("first minute", crowded_start, "node"),
        Alike("fork bursts", fork_burst, "shared")]),
    Rule("cpu.oversubscribed", oversubscribed_known, (2,), None, ("threads", "node", "pair"), [
        Alike("other jobs' threads", crowded_by_others, "node", expect="cpu.neighbour")], repeat=2),
    Rule("cpu.stacked", stacked, (1, 0.5, 0.75), None, RANKS, [
        Alike("near miss", stacked_hardly, "fine"), Alike("bursty", bursty, "fine"),
        Alike("cores of another node", other_node_idle, "pair",
              also=("cpu.nodes_unused", "cpu.unused", "cpu.oversubscribed", "mpi.imbalance"))],
        also=("cpu.unused", "cpu.neighbour", "cpu.serial")),
    Rule("cpu.stacked", stacked, (1, 0.25, 0.75), None, LAUNCHED, [
        Alike("ranks of mpirun, two to a core", lambda j: oversubscribed(j, 2), "node", expect="cpu.oversubscribed",
              launched=True)],
        also=("cpu.unused", "cpu.neighbour", "cpu.serial"), repeat=1, launched=True),
    Rule("cpu.throttled", throttled, (0.06, 0.2, 0.5), None, ANY, [
        Alike("near miss", throttled_little, "node")],
        also=("cpu.unused", "cpu.stacked", "cpu.neighbour")),
    Rule("cpu.neighbour", neighbour, (0.25, 0.35, 0.5), 0.1, ("shared", "fine shared"), also=("cpu.unused",)),
    Rule("cpu.neighbour", neighbour, (0.35,), None, ("fine shared",), also=("cpu.unused",), repeat=1, launched=True),
    Rule("cpu.neighbour", neighbour_known, (0.35,), 0.1, ("shared",), also=("cpu.unused",), repeat=1),
    Rule("cpu.slow_clock", slow_clock, (0.85, 0.7, 0.5), 0.94, ("some", "many", "wide"), [
        Alike("clock is limited everywhere", capped_everywhere, "some", may=True),
        Alike("CPUs that sleep", sleeping_cores, "some")],
        peers=("node.slow",)),
    Rule("node.slow", slow_node, (0.85, 0.75, 0.6), 0.94, ("some", "many", "wide"), [
        Alike("slow half of the time", slow_at_times, "some"), Alike("another role", other_role, "some"),
        Alike("older processors", older_processors, "wide")]),
    Rule("cpu.tail", tail, (0.15, 0.4, 0.7), None, ("threads", "node", "shared", "pair", "some", "long"), [
        Alike("near miss", lambda j: tail(j, 0.08) and None, "node"), Alike("the end is short", tail_short, "node"),
        Alike("the end is I/O", tail_of_disk, "node", expect="io.wait", also=("cpu.unused",)),
        Alike("the end is on the GPU", tail_of_gpu, "node")],
        also=("cpu.unused", "mpi.imbalance", "mpi.straggler", "cpu.serial")),
    Rule("job.stopped", stopped, (0.3, 0.6, 0.85), 0.04, ANY, [
        Alike("pause", pause, "node"), Alike("shell", shell_left_open, "node", also=("cpu.tail", "cpu.unused"))],
         also=("cpu.tail", "cpu.unused"), wall=6000),
    Rule("time.short", swarm, (100, 500, 4000), 99, ("threads", "fine", "node", "shared"), [
        Alike("an array with real work", lambda j: swarm(j, 500), "node", wall=300),
        Alike("a short job", lambda j: None, "node", wall=12)], row=1, wall=12),
    Rule("job.fragmented", fragmented, (4, 8, 16), None, ("some", "wide"), [
        Alike("memory fills the nodes", memory_fills, "some", shared=True),
        Alike("GPUs", gpu_places, "some", shared=True)], repeat=1, shared=True),
]
