# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs of many kinds that nothing holds back. Each function makes one of its kind, other than the next one."""

import numpy

from cases import SHAPES, Case, job, seed_of


def some(rng, low, high):
    return float(rng.uniform(low, high))


def mpi(rng, seed):
    j = job(rng.choice(["node", "pair", "some", "many", "wide", "fine"]), seed)
    j.put(CPUTime=numpy.clip(rng.normal(0.965, 0.01, j.tasks), 0.9, 0.99)[:, None] * j.threads, ipc=some(rng, 0.5, 2.5))
    if j.nodes > 1:
        j.fabric(some(rng, 1, 2000))
    return j


def threaded(rng, seed):
    j = job(rng.choice(["threads", "hybrid", "shared"]), seed)
    j.cpu(some(rng, 0.88, 0.98))
    j.put(VolSwitches=some(rng, 50, 800) * j.threads, Migrations=some(rng, 0, 2) * j.threads)
    return j


def gpu_training(rng, seed):
    j = job(rng.choice(["long", "hybrid", "shared"]), seed)
    use = some(rng, 65, 98)
    j.gpus(int(rng.choice([1, 2, 4])), numpy.where(j.t < some(rng, 60, 600), 0.0, use))
    j.cpu(some(rng, 0.12, 0.6))
    j.put(ReadMB=some(rng, 5, 80), ReadCalls=some(rng, 20, 150), FileMB=200.0, VolSwitches=900.0)
    return j


def build(rng, seed):
    j = job(rng.choice(["fine", "fine shared"]), seed, wall=some(rng, 90, 240))
    j.put(CPUTime=some(rng, 0.85, 0.95) * j.threads, Forks=some(rng, 5, 30), system=some(rng, 0.08, 0.2),
          MinorFaults=6000.0, RunDelay=0.04 * j.threads, VolSwitches=200.0, Opens=300.0, Closes=300.0)
    j.program, j.attrs["job_name"], j.wait_ns = "make", "make", 80e3
    return j


def io_stages(rng, seed):
    """Checkpoints, at times that have no period, that cost a few per cent."""
    j = job(rng.choice(["node", "pair", "some", "shared", "fine"]), seed)
    now = numpy.zeros(j.n, bool)
    for at in rng.uniform(0.1, 0.95, 5):
        now |= (j.t > at * j.wall) & (j.t < at * j.wall + 30)
    j.put(WriteMB=numpy.where(now, 200.0 / j.tasks, 0.1), WriteCalls=numpy.where(now, 100.0, 0.1),
          DiskWriteMB=numpy.where(now, 200.0 / j.tasks, 0.1), BlkWriteMB=numpy.where(now, 200.0 / j.tasks, 0.1),
          OffCPUDisk=numpy.where(now, 0.3 * j.threads, 0.001), CPUTime=numpy.where(now, 0.6, 0.96) * j.threads)
    return j


def noisy(rng, seed):
    """Everything a little up and down."""
    j = job(rng.choice(list(SHAPES)), seed)
    wave = 1 + 0.03 * numpy.sin(2 * numpy.pi * j.t / some(rng, 300, 900))
    j.put(CPUTime=numpy.minimum(0.93 * wave, 0.99) * j.threads, RunDelay=0.015 * j.threads * rng.random((j.tasks, j.n)),
          VolSwitches=500 * rng.random((j.tasks, j.n)), MinorFaults=3000 * rng.random((j.tasks, j.n)))
    return j


def growing(rng, seed):
    """Reads its data and keeps them; ends with memory to spare."""
    j = job(rng.choice(["node", "shared", "some", "threads"]), seed)
    end = some(rng, 0.4, 0.8)
    j.put(AnonMB=j.limit_mb / j.per_node.max() * numpy.minimum(end, 0.1 + 5 * j.t / j.wall))
    return j


def farm(rng, seed):
    """Independent tasks that differ somewhat."""
    j = job(rng.choice(["node", "shared", "some"]), seed)
    j.put(CPUTime=rng.uniform(0.92, 0.98, j.tasks)[:, None] * j.threads,
          AnonMB=rng.uniform(0.3, 0.7, j.tasks)[:, None] * j.limit_mb / j.per_node.max())
    return j


def short(rng, seed):
    j = job("fine shared", seed, wall=some(rng, 20, 200))
    j.put(CPUTime=some(rng, 0.82, 0.95) * j.threads)
    j.limit_s = 900.0 if rng.random() < 0.3 else j.wall / 0.8
    j.limit_s = max(j.limit_s, j.wall / 0.9) if j.limit_s < j.wall else min(j.limit_s, j.wall / 0.65)
    return j


def batch_script(rng, seed):
    """The script waits for its steps."""
    j = job(rng.choice(["some", "pair", "node"]), seed)
    batch = job("threads", seed, cores=j.cores, wall=j.wall)
    batch.put(CPUTime=0.0005, AnonMB=4.0, VolSwitches=1.0, MinorFaults=1.0)
    j.extra.append(("batch", batch, 0))
    return j


def steps_in_turn(rng, seed):
    """Three steps, each of which uses all cores."""
    shape = rng.choice(["some", "pair", "node"])
    j, after = job(shape, seed), 0.0
    for i in (1, 2):
        after += j.wall + 1
        step = job(shape, seed + i)
        step.start_s = after
        j.extra.append((str(i), step, 0))
    j.limit_s = 4 * j.wall
    return j


def few_families(rng, seed):
    """Some families were not asked for: their columns and tables are not there."""
    j = job(rng.choice(["some", "pair", "node", "shared", "threads"]), seed)
    families = ["SCHED", "MEMORY", "FILE", "SELF", "CGROUP", "LATENCY", "BLOCK", "NETWORK", "PERF", "ENERGY",
                "INTERCONNECT", "NODE"]
    j.without = {"FILES", "WAIT"} | set(rng.choice(families, 4, replace=False).tolist())
    return j


def no_slurm(rng, seed):
    """Of a command of jobprof run, outside of a job."""
    j = job(rng.choice(["threads", "node"]), seed, tasks=1)
    for name in ("user", "account", "partition", "job_name", "node_list", "limit_s", "request_mb", "exclusive",
                 "state", "start", "memory_limit_mb", "step_nodes"):
        j.attrs[name] = None
    return j


def with_budget(rng, seed):
    """One of the others, of whose blocked time the causes are known, whatever they are."""
    j = KINDS[int(rng.integers(len(KINDS) - 2))](rng, seed)
    causes = ("Kernel", "Futex", "Pipe", "Socket", "Poll", "Sleep", "Child", "Signal", "Other", "NetFS")
    j.budget(**dict(zip(causes, rng.dirichlet(numpy.full(len(causes), 0.3)))))
    return j


def with_samples(rng, seed):
    """One of the others, of which samples and what had the CPU are known: ranks are alike in them, but for a few per cent."""
    j = KINDS[int(rng.integers(len(KINDS) - 2))](rng, seed)
    inside = rng.uniform(0, 0.7) * (1 + 0.05 * rng.standard_normal((j.tasks, 1))).clip(0, 1.3)
    j.samples(MPI=0.8 * inside, Kernel=0.2 * inside, ForMPI=0.15 * inside, Own=1 - inside)
    j.culprits(**dict(zip(("OwnTask", "OwnStep", "OtherJobs", "System", "Idle"), rng.dirichlet(numpy.full(5, 0.4)))))
    return j


KINDS = [mpi, threaded, gpu_training, build, io_stages, noisy, growing, farm, short, batch_script, steps_in_turn,
         few_families, no_slurm, with_budget, with_samples]
EACH = 11


def cases():
    for kind in KINDS:
        for i in range(EACH):
            seed = seed_of("%s %d" % (kind.__name__, i))
            yield Case("healthy", "healthy", "%s %d" % (kind.__name__.replace("_", " "), i),
                       lambda kind=kind, seed=seed: (kind(numpy.random.default_rng(seed), seed), None))
