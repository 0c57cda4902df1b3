# SPDX-License-Identifier: GPL-2.0-or-later
"""Pathologies of memory, of the time limit and of energy. As in sick_cpu.py; most cost no core-seconds."""

import numpy

from cases import ANY, ONE_NODE, Alike, Rule

MB_120_GB = 122880.0


def own(j, share):
    """The job's own memory as a share of the limit, on each node."""
    j.put(AnonMB=(numpy.asarray(share, float) * j.limit_mb / j.per_node.max() - 1),
          ShmemMB=1.0)
    j.put_step(MemKernelMB=0.0)


def cache(j, share):
    j.put_step(cache=share * j.limit_mb)


def limit(j, mb):
    j.limit_mb = j.request_mb = mb
    j.put_step(MemLimitMB=mb, cache=0.05 * mb)


def over(j, share):
    """120 GB on few cores of a large node."""
    limit(j, MB_120_GB)
    j.node_cores, j.node_mb = 64, 256000.0
    own(j, share)


def over_with_cache(j):
    over(j, 0.1)
    cache(j, 0.88)


def over_full_node(j):
    over(j, 0.05)
    j.node_cores, j.node_mb = j.cores, 128000.0


def over_default(j):
    over(j, 0.05)
    j.request_mb = None


def over_failed(j):
    over(j, 0.02)
    j.state = "FAILED"
    j.attrs.update(end_reason="exited", exit_status=1)


def near_limit(j, share):
    own(j, share)
    cache(j, 0.005)


def cache_fills(j):
    own(j, 0.5)
    cache(j, 0.49)


def no_limit(j):
    own(j, 0.95)
    j.limit_mb = None
    j.put_step(MemLimitMB=numpy.nan)


def leak(j, end):
    """Grows from a fifth of the limit while the job runs, which may take three times as long again."""
    own(j, numpy.linspace(0.2, end, j.n))
    cache(j, 0.02)
    running(j, 4 * j.wall)


def running(j, limit_s):
    j.state, j.limit_s = "RUNNING", limit_s
    j.attrs.update(end_reason=None, exit_status=None)


def leak_in_time(j):
    """Grows, but the job ends long before the memory is full."""
    own(j, numpy.linspace(0.2, 0.4, j.n))
    running(j, 1.2 * j.wall)


def grows_once(j):
    own(j, numpy.where(j.t < 0.5 * j.wall, 0.3, 0.7))
    running(j, 4 * j.wall)


def fills_at_start(j):
    own(j, numpy.minimum(0.6, 0.05 + 4 * j.t / j.wall))
    running(j, 4 * j.wall)


def gives_back(j):
    own(j, 0.3 + 0.3 * ((j.t / j.wall * 5) % 1))
    running(j, 4 * j.wall)


def oom(j, kills):
    last = numpy.arange(j.n) == j.n - 1
    own(j, numpy.where(j.t > 0.9 * j.wall, 0.88, 0.6))
    at = numpy.zeros((j.nodes, j.n))
    at[0] = last * kills / j.dt
    j.put_step(OOMKills=at, MemMaxEvents=at * 10)
    j.state = "OUT_OF_MEMORY"
    j.attrs.update(end_reason="out of memory", exit_status=9)


def child_killed(j):
    oom(j, 1)
    j.state = "COMPLETED"
    j.attrs.update(end_reason="exited", exit_status=0)


def thrash(j, wait):
    """File pages in use do not fit: each task waits for the disk this share of its time."""
    own(j, 0.6)
    cache(j, 0.4)
    faults = 1200.0 * wait / j.per_node.max() * 4
    j.put(CPUTime=(BUSY - wait) * j.threads, OffCPUDisk=wait * j.threads, MajorFaults=faults,
          BlkReads=faults, BlkReadMB=faults / 64, DiskReadMB=faults / 64, blk_s=0.001)
    node_faults = faults * j.per_node.max()
    j.put_step(PSIMem=wait, PSIIO=wait, RefaultsFile=node_faults * 2, MemMaxEvents=20.0)
    return wait * j.core_s


BUSY = 0.97


def thrash_hardly(j):
    own(j, 0.6)
    cache(j, 0.4)
    j.put(MajorFaults=60.0 / j.per_node.max(), OffCPUDisk=0.03 * j.threads, CPUTime=0.93 * j.threads)
    j.put_step(PSIMem=0.03, RefaultsFile=90.0)


def program_start(j):
    first = j.t < 60
    j.put(MajorFaults=numpy.where(first, 300.0, 0.0), OffCPUDisk=numpy.where(first, 0.5, 0.001),
          CPUTime=numpy.where(first, 0.4, BUSY) * j.threads)
    cache(j, 0.45)


def mapped_input(j):
    """A large input is mapped and read once, with much memory free."""
    first = j.t < 600
    faults = numpy.where(first, 400.0, 0.0) / j.per_node.max()
    j.put(MajorFaults=faults, DiskReadMB=faults / 16, BlkReadMB=faults / 16, BlkReads=faults,
          OffCPUDisk=numpy.where(first, 0.15, 0.001) * j.threads, CPUTime=numpy.where(first, 0.82, BUSY) * j.threads)


def swap(j, bins):
    """Swapped memory grows in this share of bins of 30 s."""
    grows = ((j.t // 30) % 10) < bins * 10
    j.put(SwapMB=50 + numpy.cumsum(grows * j.dt) * 0.05, MajorFaults=5.0)
    own(j, 0.6)


def swapped_once(j):
    j.put(SwapMB=700.0)


def time_over(j, share):
    j.limit_s = j.wall / share


def failed_early(j):
    time_over(j, 0.05)
    j.state = "FAILED"
    j.attrs["exit_status"] = 1


def cancelled(j):
    time_over(j, 0.05)
    j.state = "CANCELLED"
    j.attrs.update(end_reason="cancelled", exit_status=15)


def energy_idle(j, static):
    j.energy(static, 0.2)
    j.cpu(0.5)


def wide_bounds(j):
    j.energy(0.75, 0.8)
    j.cpu(0.85)


RULES = [
    Rule("mem.over", over, (0.02, 0.08, 0.16), 0.26, ("long", "node", "threads"), [
        Alike("full node", over_full_node, "long"), Alike("default memory", over_default, "long", shared=True),
        Alike("failed", over_failed, "long", shared=True)], wall=14400, shared=True),
    Rule("mem.near_limit", near_limit, (0.93, 0.96, 0.99), 0.87, ANY, [
        Alike("cache fills it", cache_fills, "node"), Alike("no limit", no_limit, "node")]),
    Rule("mem.leak", leak, (0.5, 0.7, 0.88), None, ("threads", "node", "shared", "pair", "some"), [
        Alike("near miss", leak_in_time, "node", may=True), Alike("grows once", grows_once, "node"),
        Alike("grows at the start", fills_at_start, "node"), Alike("gives back", gives_back, "node")]),
    Rule("mem.oom", oom, (1, 3, 8), 0, ANY, [Alike("a child killed", child_killed, "node", may=True)],
         also=("mem.near_limit",)),
    Rule("mem.thrash", thrash, (0.15, 0.3, 0.6), None, ONE_NODE, [
        Alike("near miss", thrash_hardly, "node"), Alike("program start", program_start, "node"),
        Alike("mapped input", mapped_input, "node")],
        also=("io.wait", "cpu.unused")),
    Rule("mem.swap", swap, (0.4, 0.6, 0.9), 0.2, ONE_NODE, [Alike("swapped once", swapped_once, "node")]),
    Rule("time.over", time_over, (0.03, 0.08, 0.4), 0.65, ANY, [
        Alike("failed", failed_early, "node"), Alike("cancelled", cancelled, "node")]),
    Rule("energy.idle", energy_idle, (0.65, 0.75, 0.85), 0.56, ANY, [Alike("wide bounds", wide_bounds, "node")], peers=("cpu.unused",),
         near_also=("cpu.unused",)),
]
