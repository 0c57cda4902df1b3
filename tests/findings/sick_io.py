# SPDX-License-Identifier: GPL-2.0-or-later
"""Pathologies of files, networks and GPUs. As in sick_cpu.py."""

import numpy

from cases import ANY, NODES, Alike, Rule

BUSY = 0.97
HARDWARE_HOT, POWER_CAP, IDLE = 0x40, 0x4, 0x1


def disk(j, read=0.0, write=0.0, calls_of_mb=1.0):
    """Traffic with a disk, MB/s of each task, in calls of that size."""
    read, write = numpy.asarray(read, float), numpy.asarray(write, float)
    j.put(ReadMB=read + 0.01, DiskReadMB=read, BlkReadMB=read, BlkReads=read * 2, ReadCalls=read / calls_of_mb + 0.01,
          WriteMB=write + 0.01, DiskWriteMB=write, BlkWriteMB=write, BlkWrites=write * 2,
          WriteCalls=write / calls_of_mb + 0.01)


def io_wait(j, share):
    """Each thread waits for the disk this share of the time."""
    disk(j, read=30.0)
    j.put(CPUTime=(BUSY - share) * j.threads, OffCPUDisk=share * j.threads, blk_s=0.02)
    return share * j.core_s


def net_wait(j, share):
    """Each thread waits for a network file system this share of the time; no disk of the node is asked."""
    j.put(CPUTime=(BUSY - share) * j.threads)
    j.budget(NetFS=share / (share + 1 - BUSY), Other=(1 - BUSY) / (share + 1 - BUSY))
    return share * j.core_s


def net_reader(j):
    """Threads beside the workers read ahead: no core is idle for it."""
    j.put(Threads=2.0 * j.threads, CPUTime=0.98 * j.threads)
    j.budget(NetFS=0.9, Futex=0.1)


def page_in(j):
    first = j.t < 60
    disk(j, read=numpy.where(first, 100.0, 0.0))
    j.put(CPUTime=numpy.where(first, 0.2, BUSY) * j.threads, OffCPUDisk=numpy.where(first, 0.8 * j.threads, 0.001))


def small(j, share):
    """Writes of 512 bytes take this share of the tasks' time, all of it in the kernel: of 2 us each, 0.2 us
    copy, which large writes do, too."""
    calls = share / 2e-6 * j.threads
    j.put(WriteCalls=calls, WriteMB=calls * 512 / 2**20, DiskWriteMB=calls * 512 / 2**20, system=share + 0.01)
    return 0.9 * share * BUSY * j.core_s


def small_reads(j, share):
    """As small(), of reads: of 1 us each, 0.04 us copy."""
    calls = share / 1e-6 * j.threads
    j.put(ReadCalls=calls, ReadMB=calls * 512 / 2**20, DiskReadMB=calls * 512 / 2**20, system=share + 0.01)
    return 0.96 * share * BUSY * j.core_s


def pipes(j):
    """Small messages through pipes and sockets, counted there too."""
    small(j, 0.1)
    j.put(NetLoopTxOps=j.d["WriteCalls"], NetLoopTxMB=j.d["WriteMB"], DiskWriteMB=0.0, BlkWrites=0.0)


def large_calls(j):
    disk(j, write=60.0)
    j.put(system=0.08)


def metadata(j, per_s):
    """Opens and closes, of all tasks together."""
    j.without = {"WAIT"}
    j.put(Opens=per_s / 2 / j.tasks, Closes=per_s / 2 / j.tasks, system=0.04)


def lustre(j, per_s):
    j.put_device("Mount", "scratch", Reads=1.0, ReadMB=1.0, Writes=1.0, WriteMB=1.0, Opens=per_s / 2 / j.nodes,
                 Closes=per_s / 2 / j.nodes, ServerReadMB=1.0, ServerWriteMB=1.0, Requests=per_s / j.nodes + 4,
                 MetaRequests=per_s / j.nodes, RequestTime=0.02, Resends=0.0)


def metadata_mount(j, per_s):
    lustre(j, per_s)


def metadata_waits(j, share):
    """Each thread waits for the metadata server this share of the time, 0.5 ms for a request."""
    busy = share * j.cores
    lustre(j, busy / 0.5e-3 * j.nodes)
    j.put_device("Mount", "scratch", RequestTime=busy)
    j.put(CPUTime=(BUSY - share) * j.threads)
    j.budget(NetFS=share / (share + 1 - BUSY), Other=(1 - BUSY) / (share + 1 - BUSY))
    return share * j.core_s


def others_mount(j):
    """The mount counts the whole node, which others use as well."""
    lustre(j, 3000.0)


def imports(j):
    metadata(j, 20.0)
    rate = numpy.where(j.t < 90, 3000.0, 4.0) / 2 / j.tasks
    j.put(Opens=rate, Closes=rate)


def phases(j, part, count=4):
    """count times over the job, for this part of the time."""
    return (j.t / j.wall * count) % 1 > 1 - part


def one_rank(j, part):
    """Rank 0 writes in phases while the others wait."""
    now, first = phases(j, part), (numpy.arange(j.tasks) == 0)[:, None]
    disk(j, write=numpy.where(now & first, 120.0, 0.001))
    j.put(CPUTime=numpy.where(now, numpy.where(first, 0.3 * j.threads, 0.001), BUSY * j.threads),
          OffCPUDisk=numpy.where(now & first, 0.6, 0.0))
    j.where = "rank 0"
    j.times = [((k + 1 - part) / 4 * j.wall, (k + 1) / 4 * j.wall) for k in range(4)]
    return (j.nodes * j.cores - 0.3 * j.threads) * j.dt[now].sum()


def one_rank_overlapped(j):
    first = (numpy.arange(j.tasks) == 0)[:, None]
    disk(j, write=numpy.where(phases(j, 0.3) & first, 120.0, 0.001))


def most_ranks_share(j):
    """One rank has four fifths."""
    now, first = phases(j, 0.12), (numpy.arange(j.tasks) == 0)[:, None]
    disk(j, write=numpy.where(now, numpy.where(first, 40.0, 10.0 / (j.tasks - 1)), 0.001))
    j.put(CPUTime=numpy.where(now, 0.4, BUSY) * j.threads)


def periodic(j, bins):
    """Of every six bins of 30 s so many stop for I/O."""
    now = (j.t // 30) % 6 >= 6 - bins
    disk(j, write=numpy.where(now, 600.0 / j.tasks, 0.0))
    j.put(CPUTime=numpy.where(now, 0.06, 0.98) * j.threads)
    return (0.98 - 0.06) * j.nodes * j.cores * j.dt[now].sum()


def stops_between_bins(j, stop):
    """A stop of so many seconds in 90 s: it begins with a bin of 30 s, and does not end with one."""
    now = j.t % 90 < stop
    disk(j, write=numpy.where(now, 600.0 / j.tasks, 0.0))
    j.put(CPUTime=numpy.where(now, 0.06, 0.98) * j.threads)
    return (0.98 - 0.06) * j.nodes * j.cores * j.dt[now].sum()


def waits_after_writing(j, wait):
    """Of every 300 s, 40 s are for I/O, and so many more for a wait behind it."""
    now = j.t % 300 < 40 + wait
    j.times = [(begin, begin + 40 + wait) for begin in numpy.arange(0, j.wall, 300)]
    disk(j, write=numpy.where(j.t % 300 < 40, 600.0 / j.tasks, 0.0))
    j.put(CPUTime=numpy.where(now, 0.06, 0.98) * j.threads)
    return (0.98 - 0.06) * j.nodes * j.cores * j.dt[now].sum()


def few_stops(j):
    now = (j.t // 30) % 15 >= 13
    disk(j, write=numpy.where(now, 600.0 / j.tasks, 0.0))
    j.put(CPUTime=numpy.where(now, 0.06, 0.98) * j.threads)


def stops_overlapped(j):
    now = (j.t // 30) % 6 >= 4
    disk(j, write=numpy.where(now, 600.0 / j.tasks, 0.0))


def retransmits(j, per_s):
    """Of 5 MB/s that the whole job sends, and as much that it gets."""
    rate = 5.0 / j.tasks
    j.put(TcpRetrans=per_s / j.tasks, NetTxMB=rate, NetRxMB=rate, NetTxOps=40 * rate, NetRxOps=40 * rate)


def one_node(j, value, others):
    return numpy.where(numpy.arange(j.nodes) == 1, value, others)


def symbol_errors(j, errors):
    j.put_device("Port", "mlx5_0.1", SymbolErrors=one_node(j, errors, 0) / j.wall)
    j.where = "n2"


def slow_port(j, rate):
    j.put_device("Port", "mlx5_0.1", Rate=one_node(j, rate, 100))
    j.where = "n2"


def full_counters(j):
    j.put_device("Port", "mlx5_0.1", RxErrors=numpy.nan, SymbolErrors=numpy.nan, LinkDowned=numpy.nan)


def few_retransmits(j):
    """Fewer than 100 in all, some of them in one second."""
    j.put(TcpRetrans=numpy.where((numpy.arange(j.n) == 5) & (numpy.arange(j.tasks) == 0)[:, None], 80 / j.dt[5], 0))


def ethernet(j, mb_s):
    """MPI between the nodes goes over TCP: MB/s of each node, both ways."""
    rate = mb_s / j.per_node.max()
    j.put(NetTxMB=rate, NetRxMB=rate, NetTxOps=rate * 20, NetRxOps=rate * 20)
    j.put_device("NetDev", "eth0", TxMB=mb_s, RxMB=mb_s, TxPackets=mb_s * 100, RxPackets=mb_s * 100)
    j.fabric(0.02)


def staging(j):
    """Data come from a server to one node."""
    rate = one_node(j, 300.0, 0.0)[j.node_of][:, None] / j.per_node.max()
    j.put(NetRxMB=rate, NetTxMB=rate * 0.001, NetRxOps=rate * 20)
    j.fabric(0.02)


def ip_over_fabric(j):
    ethernet(j, 300.0)
    j.put_device("NetDev", "eth0", TxMB=0.01, RxMB=0.01)
    j.put_device("NetDev", "ib0", TxMB=300.0, RxMB=300.0, TxPackets=30000.0, RxPackets=30000.0)
    j.fabric(310.0)


def gpu_idle(j, utilization):
    """Two GPUs of each node work, the other two so much; each comes with a quarter of the cores, idle or not."""
    j.gpus(4, 92.0)
    j.cpu(0.3)
    for i in (2, 3):
        j.put_device("GPU", i, Utilization=utilization, MemMB=400.0 if not utilization else 20000.0)
    return 0.7 * j.core_s * (1 - utilization / 100) / 2


def gpu_idle_later(j):
    j.gpus(4, numpy.where(j.t > j.wall - 5400, 0.0, 92.0))
    j.cpu(0.3)
    return 0.7 * j.core_s * (5400 + 0.08 * (j.wall - 5400)) / j.wall


def split_gpu(j):
    j.gpus(4, numpy.nan)
    j.cpu(0.3)
    for i in range(4):
        j.put_device("GPU", i, Split=1.0)


def staged_in(j):
    j.gpus(4, numpy.where(j.t < 600, 0.0, 92.0))
    j.cpu(0.3)


def offload(j, bins):
    """Of every six bins of 30 s so many are the GPUs', while the CPUs wait: side by side it would take no
    longer than the longer of them."""
    gpu = (j.t // 30) % 6 >= 6 - bins
    j.gpus(2, numpy.where(gpu, 97.0, 0.0))
    j.put(CPUTime=numpy.where(gpu, 0.05, 0.97) * j.threads)
    return j.core_s * min(bins, 6 - bins) / 6


def overlap(j):
    """Both work at the same times."""
    gpu = (j.t // 30) % 6 >= 2
    j.gpus(2, numpy.where(gpu, 97.0, 15.0))
    j.put(CPUTime=numpy.where(gpu, 0.97, 0.2) * j.threads)


def gpu_hot(j, share):
    now = (numpy.arange(j.n) * share) % 1 < share
    j.gpus(4, 95.0)
    j.cpu(0.4)
    j.put_device("GPU", 1, ThrottleReasons=numpy.where(now, HARDWARE_HOT, 0), Temperature=88.0)


def gpu_capped(j):
    j.gpus(4, 95.0)
    j.cpu(0.4)
    for i in range(4):
        j.put_device("GPU", i, ThrottleReasons=numpy.where(numpy.arange(j.n) % 3 == 0, IDLE, POWER_CAP))


LONG = ("long", "hybrid")
NODE_PAIRS = ("pair", "some", "many", "wide", "hybrid")
RULES = [
    Rule("io.wait", io_wait, (0.15, 0.3, 0.6), 0.08, ("fine", "node", "shared", "long", "pair", "some", "many"), [
        Alike("page-in", page_in, "node")], also=("cpu.unused",)),
    Rule("io.wait", net_wait, (0.15, 0.3, 0.6), 0.08, ("fine", "node", "shared", "pair", "many"), [
        Alike("read ahead", net_reader, "node")], also=("cpu.unused",), repeat=1),
    Rule("io.wait", io_wait, (0.2, 0.5), None, ("threads", "hybrid"), also=("cpu.unused",), repeat=1),
    Rule("io.small", small, (0.08, 0.2, 0.4), 0.025, ANY, [
        Alike("pipes and sockets", pipes, "node"), Alike("large calls", large_calls, "node")],
        also=("cpu.system",)),
    Rule("io.small", small_reads, (0.08, 0.2, 0.4), 0.025, ANY, also=("cpu.system",), repeat=1),
    Rule("io.metadata", metadata, (70, 1500, 5000), 30, ANY, [Alike("imports", imports, "node")]),
    Rule("io.metadata", metadata_mount, (1500, 3000), 28, ("some", "node"), [
        Alike("another job's", others_mount, "shared")], repeat=1),
    Rule("io.metadata", metadata_waits, (0.15, 0.3, 0.6), None, ("node", "some", "many"), also=("cpu.unused",),
         peers=("io.wait",), repeat=1),
    Rule("io.one_rank", one_rank, (0.15, 0.25, 0.5), None, ("node", "shared", "many", "some"), [
        Alike("overlapped", one_rank_overlapped, "node"), Alike("near miss", most_ranks_share, "node", also=("cpu.unused",))],
        also=("cpu.unused", "mpi.imbalance", "mpi.straggler", "io.periodic")),
    Rule("io.periodic", periodic, (1, 2, 3), None, ("node", "shared", "some", "pair", "threads", "many"), [
        Alike("few stops", few_stops, "node", also=("cpu.unused",)), Alike("overlapped", stops_overlapped, "node")],
        also=("cpu.unused",)),
    Rule("io.periodic", stops_between_bins, (35, 45, 55), None, ("node", "pair", "threads"), also=("cpu.unused",),
         repeat=1, row=5),
    Rule("io.periodic", waits_after_writing, (20, 40), None, ("node", "pair"), also=("cpu.unused",), repeat=1, row=5),
    Rule("net.errors", retransmits, (20, 100, 1000), 6, ANY, [Alike("few", few_retransmits, "node")], repeat=1),
    Rule("net.errors", symbol_errors, (15, 60, 500), 3, NODES, [Alike("full counters", full_counters, "some")], repeat=1),
    Rule("net.errors", slow_port, (25, 50, 56), 100, NODES, repeat=1),
    Rule("net.not_fabric", ethernet, (80, 200, 800), 40, NODE_PAIRS, [
        Alike("staging", staging, "some"), Alike("IP over the fabric", ip_over_fabric, "some")]),
    Rule("gpu.idle", gpu_idle, (0, 9, 20), 31, LONG, [
        Alike("split", split_gpu, "long"), Alike("staging", staged_in, "long")]),
    Rule("gpu.idle", lambda j, _: gpu_idle_later(j), (1,), None, LONG),
    Rule("gpu.offload", offload, (2, 3, 4), None, ("node", "threads", "long", "pair"), [
        Alike("overlap", overlap, "node", also=("cpu.unused",))], also=("cpu.unused",)),
    Rule("gpu.throttled", gpu_hot, (0.1, 0.3, 0.8), 0.03, ("node", "shared", "long", "hybrid"), [
        Alike("power cap", gpu_capped, "node")]),
]
