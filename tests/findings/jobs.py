# SPDX-License-Identifier: GPL-2.0-or-later
"""What a job does, as rates and levels over tasks, nodes and time; and from that the rows which the
profiler would have written. A job is healthy as it is made; pathologies.py makes it sick."""

import zlib

import h5py
import numpy

import layout
from layout import ATTRIBUTES, INT32, SERIES, START, TASK_ATTRIBUTES, Shape

MEMORY_PER_CORE = 2000.0  # MB that a job gets with a core
CLOCK = 2800e3            # kHz
MODEL = "Made Processor 6148 @ 2.8GHz"
COUNTS = set("VolSwitches InvolSwitches Migrations Forks MinorFaults MajorFaults ReadCalls WriteCalls "
             "BlkReads BlkWrites TcpRetrans Opens Closes Pages Reads Writes Requests MetaRequests "
             "LinkDowned SymbolErrors RxErrors OOMKills Threads".split())
SENSORS = {"energy": "Energy", "gpu": "GPU", "interconnect": "NetDev", "filesystem": "Mount", "node": "CPU"}
ABSENT = "absent: nothing on this node measures it"
STEP_MEANS = ("CPUFrequency", "PerfRunning")


def whole(amounts):
    """Whole numbers whose sum up to each row is nearest to that of the amounts."""
    return numpy.diff(numpy.rint(numpy.cumsum(amounts, axis=-1)), axis=-1, prepend=0)


class Job:
    """cores: of each node; tasks: of all nodes; row: seconds; node_cores: 4 times the cores where the job
    shares its nodes; launched: the tasks are ranks of a launcher in the one task of a batch step. d[column] are rates per second (of deltas) or levels (of gauges), of each task
    [tasks, rows]; node[series][column] and step[column] of each node [nodes, rows];
    device[series, table][column] likewise, None: there is no such column's value."""

    def __init__(self, nodes=1, tasks=4, cores=4, wall=3600, row=30, shared=False, seed=0, launched=False,
                 **attrs):
        self.nodes, self.tasks, self.cores, self.wall, self.row = nodes, tasks, cores, float(wall), row
        self.exclusive, self.node_cores = not shared, cores * 4 if shared else cores
        self.rng = numpy.random.default_rng(seed)
        self.ends = numpy.minimum(numpy.arange(1, numpy.ceil(wall / row) + 1) * row, wall)
        self.begins = numpy.concatenate(([0.0], self.ends[:-1]))
        self.dt = self.ends - self.begins
        self.t = (self.begins + self.ends) / 2
        self.n = len(self.t)
        self.node_of = numpy.arange(tasks) * nodes // tasks
        self.per_node = numpy.bincount(self.node_of, minlength=nodes)
        self.threads = max(1.0, cores * nodes / tasks)
        self.node_mb = 1.1 * MEMORY_PER_CORE * self.node_cores
        self.models = {}        # node: its processors, where they are not MODEL
        self.rows_of_node = {}  # node: which rows it has; all if it is not named
        self.extra = []         # jobs that are further steps: (name, Job, its first node)
        self.without = {"FILES", "WAIT"}  # families that were not asked for
        self.causes = {}        # of blocked threads: parts of their blocked time, see budget()
        self.culprit_parts = {} # of the waits for a CPU, see culprits()
        self.module_parts = {}  # of the samples, see samples()
        self.events = {}        # of PerfEvents=: by their column, how many per CPU second
        self.where = ""         # of the pathology: a part of what a finding says
        self.times = []         # of the pathology: [(from, to)] in seconds; none: all the time, or not said
        self.launched, self.first_rank = launched, 0
        self.step_name, self.start_s = "batch" if launched else "0", 0.0  # of the step; its start after that of the job
        self.wait_ns = None     # of one wait for a CPU; None: from the switches
        self.attrs = {"job": 4711, "user": "alice", "job_name": "solver", "account": "physics",
                      "partition": "batch", "end_reason": "exited", "exit_status": 0}
        self.limit_s = self.wall / 0.7
        self.limit_mb = MEMORY_PER_CORE * cores
        self.request_mb = self.limit_mb  # None: the job did not ask for memory
        self.state = "COMPLETED"
        self.program, self.programs = "solver", {}   # programs: of tasks that run another one
        self.allowed = max(1, int(self.threads))     # CPUs that a task may run on
        self.is_stacked = False                      # these are the same of all tasks of a node
        self.numa = 1                                # nodes that they are on
        self.threads_per_core = 1
        self.healthy()
        self.attrs.update(attrs)

    # -- description

    def tasks_like(self, value):
        return numpy.broadcast_to(numpy.asarray(value, float), (self.tasks, self.n)).copy()

    def nodes_like(self, value):
        value = numpy.asarray(value, float)
        if value.ndim == 1 and len(value) == self.nodes != self.n:
            value = value[:, None]
        return numpy.broadcast_to(value, (self.nodes, self.n)).copy()

    def put(self, **columns):
        """Rates and levels of tasks: a number, one per row, or [tasks, 1 or rows]."""
        for name, value in columns.items():
            self.d[name] = self.tasks_like(value)

    def put_step(self, **columns):
        for name, value in columns.items():
            self.step[name] = self.nodes_like(value)

    def put_node(self, series, **columns):
        for name, value in columns.items():
            self.node.setdefault(series, {})[name] = self.nodes_like(value)

    def put_device(self, series, table, **columns):
        device = self.device.setdefault((series, str(table)), {})
        for name, value in columns.items():
            device[name] = self.nodes_like(value)

    @property
    def core_s(self):
        return self.nodes * self.cores * self.wall

    def cpu(self, share):
        """All tasks use this share of their cores."""
        cpu = numpy.asarray(share, float) * self.threads
        self.put(CPUTime=cpu, RunDelay=0.003 * cpu, InvolSwitches=12 * cpu, VolSwitches=60 * numpy.minimum(cpu, 1))

    def budget(self, **causes):
        """TimeBudget is known: threads that neither run nor wait for a CPU are blocked, on disks as OffCPUDisk
        says, else by these causes: Futex=0.7, Poll=0.3, a number, one per row, or [tasks, 1 or rows]."""
        self.without.discard("WAIT")
        self.causes = {"Blocked" + name: self.tasks_like(part) for name, part in causes.items()}

    def budget_rows(self, rows, task):
        """The columns of TimeBudget of a task, or of an array of tasks."""
        rest = numpy.maximum(0, rows["Threads"] * self.dt - rows["CPUTime"] - rows["RunDelay"] - rows["OffCPUDisk"])
        own = {"Running": rows["CPUTime"], "CPUWait": rows["RunDelay"], "BlockedDisk": rows["OffCPUDisk"],
               **{name: rest * part for name, part in self.causes.items()}}
        for c in SERIES["TimeBudget"][1]:
            if c.kind != "time" and c.name != "ThreadTime":
                own.setdefault(c.name, numpy.zeros_like(rest))
        own["ThreadTime"] = sum(own.values())
        return {name: v[task].sum(axis=0) for name, v in own.items()}

    def culprits(self, **parts):
        """Culprits is known: OwnTask=0.7, OtherJobs=0.3 had the CPU in these parts of the waits."""
        self.culprit_parts = {name: self.tasks_like(part) for name, part in parts.items()}

    def samples(self, **parts):
        """Samples is known, 97 a second of CPU time: Own=0.7, MPI=0.3 of them; ForMPI is a part of all, too."""
        self.module_parts = {name: self.tasks_like(part) for name, part in parts.items()}

    def parts_rows(self, series, rows, task):
        """The columns of Culprits or Samples of a task, or of an array of tasks."""
        count = numpy.rint(97 * rows["CPUTime"])
        whole_of, parts = (rows["RunDelay"], self.culprit_parts) if series == "Culprits" else (count, self.module_parts)
        own = {c.name: numpy.zeros_like(count) for c in SERIES[series][1] if c.kind != "time"}
        own.update({name: whole_of * part for name, part in parts.items()})
        if series == "Samples":
            own["Samples"] = count
        return {name: v[task].sum(axis=0) for name, v in own.items()}

    def between(self, begin, end):
        """Which rows lie between two shares of the wall time."""
        return (self.t >= begin * self.wall) & (self.t < end * self.wall)

    def healthy(self):
        busy = 0.97 * self.threads
        memory = 0.5 * self.limit_mb / max(1, self.per_node.max())
        self.d, self.step, self.node, self.device = {}, {}, {}, {}
        self.put(CPUTime=busy, system=0.02, RunDelay=0.003 * busy, VolSwitches=60.0, InvolSwitches=12.0 * busy,
                 Migrations=0.02, OffCPUDisk=0.001, Threads=self.threads, Forks=0.0, MinorFaults=150.0,
                 MajorFaults=0.0, AnonMB=memory, FileMB=12.0, ShmemMB=1.0, SwapMB=0.0, HugetlbMB=0.0,
                 ReadMB=0.02, WriteMB=0.3, ReadCalls=0.05, WriteCalls=0.4, DiskReadMB=0.01, DiskWriteMB=0.3,
                 BlkReads=0.02, BlkWrites=0.1, BlkReadMB=0.01, BlkWriteMB=0.1, BlkUntimed=0.0,
                 NetTxMB=0.0, NetRxMB=0.0, NetTxOps=0.0, NetRxOps=0.0, NetLoopTxMB=0.0, NetLoopRxMB=0.0,
                 NetLoopTxOps=0.0, NetLoopRxOps=0.0, TcpRetrans=0.0, CPUFrequency=CLOCK, Opens=0.1, Closes=0.1,
                 ipc=1.4, probe=0.0002, blk_s=0.002, CacheMisses=1e6)
        self.put_step(MemLimitMB=self.limit_mb, cache=0.1 * self.limit_mb, MemKernelMB=0.004 * self.limit_mb,
                      Throttled=0.0, ThrottledPeriods=0.0, PSICpu=0.0, PSIMem=0.0, PSIIO=0.001,
                      OOMKills=0.0, RefaultsAnon=0.0, RefaultsFile=0.0, MemHighEvents=0.0, MemMaxEvents=0.0)
        self.put_node("CPU", FreqMean=CLOCK / 1e3, FreqMin=CLOCK / 1e3 - 100, FreqMax=CLOCK / 1e3 + 100,
                      CoreThrottles=0.0, CoreThrottleTime=0.0, PkgThrottles=0.0, PkgThrottleTime=0.0,
                      IdleTime=numpy.nan, StolenTime=0.0,
                      PkgTemperature=68.0, PSICpu=0.0, PSIMem=0.0, PSIIO=0.001,
                      MemUsedMB=2000 + 0.6 * self.limit_mb, MemReadMB=numpy.nan, MemWriteMB=numpy.nan)
        self.energy(static=0.3, width=0.15)
        self.put_device("NetDev", "eth0", TxMB=0.01, RxMB=0.01)
        if self.nodes > 1:
            self.fabric(30.0)

    def energy(self, static, width):
        """static: part of the step's energy that idle cores would take, too; width of the bounds."""
        watts = 4.0 * self.cores + 40
        self.put_node("Energy", Power=watts * 1.3, NodeEnergy=watts * 1.3, PkgEnergy=watts, DramEnergy=watts * 0.2,
                      StepEnergy=watts, StepStatic=watts * static, StepDynamic=watts * (1 - static),
                      StepEnergyLow=watts * (1 - width / 2), StepEnergyHigh=watts * (1 + width / 2),
                      OtherEnergy=0.0, SystemEnergy=0.05 * watts, UnallocatedEnergy=0.1 * watts)

    def fabric(self, mb_s, name="mlx5_0", **columns):
        self.put_device("Port", name + ".1", TxMB=mb_s, RxMB=mb_s, TxPackets=mb_s * 500, RxPackets=mb_s * 500,
                        RxErrors=0.0, RxDrops=0.0, TxDiscards=0.0, SymbolErrors=0.0, LinkDowned=0.0, Up=1.0,
                        Rate=100.0, **columns)

    def gpus(self, count, utilization=92.0, **columns):
        """GPUs of each node; the tasks' share of them follows."""
        for i in range(count):
            self.put_device("GPU", i, Utilization=utilization, MemUtilization=30.0, MemMB=20000.0,
                            MemTotalMB=40960.0, Temperature=60.0, Clock=1400.0, MemClock=1200.0,
                            ThrottleReasons=0.0, Split=0.0, Power=250.0, Energy=250.0, **columns)

    # -- rows

    def noise(self, shape, part):
        return numpy.clip(1 + part * self.rng.standard_normal(shape), 1 - 3 * part, 1 + 3 * part)

    def settle(self):
        """What follows from the rest, with noise: the task's amounts per row."""
        d = self.d
        shape = self.tasks, self.n
        cpu = d["CPUTime"] * self.noise(shape, 0.02)
        for node in range(self.nodes):
            here = self.node_of == node
            total = cpu[here].sum(axis=0)
            cpu[here] *= numpy.minimum(1, self.cores / numpy.maximum(total, 1e-9))
        rows = {"CPUTime": cpu * self.dt}
        rows["SystemTime"] = rows["CPUTime"] * numpy.clip(d["system"] * self.noise(shape, 0.03), 0, 1)
        rows["UserTime"] = rows["CPUTime"] - rows["SystemTime"]
        rows["CPUUtilization"] = 100 * cpu
        rows["ProbeTime"] = rows["CPUTime"] * d["probe"]
        rows["Cycles"] = rows["CPUTime"] * d["CPUFrequency"] * 1000
        rows["Instructions"] = rows["Cycles"] * d["ipc"] * self.noise(shape, 0.005)
        rows["PerfRunning"] = numpy.ones(shape)
        for name, rate in self.events.items():
            rows[name] = numpy.rint(rows["CPUTime"] * rate * self.noise(shape, 0.005))
        kinds = {c.name: c.kind for c in SERIES["Step"][1]}
        for name, value in d.items():
            if name in rows or name not in kinds:
                continue
            if kinds[name] == "gauge":
                rows[name] = value * (1 if name in ("Threads", "SwapMB") else self.noise(shape, 0.002))
            else:
                amount = value * self.dt * self.noise(shape, 0.03)
                rows[name] = whole(amount) if name in COUNTS else amount
        rows["RSS"] = numpy.rint((rows["AnonMB"] + rows["FileMB"] + rows["ShmemMB"]) * 1024)
        rows["PeakMB"] = rows["RSS"] / 1024 * 1.001
        rows["VMSize"] = rows["RSS"] * 2
        rows["Pages"] = numpy.cumsum(rows["MajorFaults"], axis=1)
        for way in ("Read", "Write"):
            rows["Blk%sTime" % way] = rows["Blk%ss" % way] * d["blk_s"]
        rows["GPUMemMB"] = numpy.zeros(shape)
        rows["GPUUtilization"] = numpy.full(shape, numpy.nan)
        gpus = [v for (series, _), v in self.device.items() if series == "GPU"]
        if gpus:
            per_task = numpy.maximum(1, self.per_node[self.node_of])[:, None]
            for column, source in (("GPUMemMB", "MemMB"), ("GPUUtilization", "Utilization")):
                total = sum(g[source] for g in gpus)
                rows[column] = total[self.node_of] / per_task
            rows["GPUMemMB"] = numpy.rint(rows["GPUMemMB"])
        return rows

    def together(self, rows, node):
        """Rows of all tasks of a node."""
        here = self.node_of == node
        return {name: v[here].mean(axis=0) if name in STEP_MEANS and here.any() else v[here].sum(axis=0)
                for name, v in rows.items()}

    def step_rows(self, rows, node):
        out = self.together(rows, node)
        own = {name: v[node] for name, v in self.step.items()}
        for column in SERIES["Step"][1]:
            if column.name in own:
                value = own[column.name]
                out[column.name] = value if column.kind == "gauge" else value * self.dt
        out["OOMKills"] = numpy.rint(out["OOMKills"])
        out["MemAnonMB"], out["MemShmemMB"] = out["AnonMB"], out["ShmemMB"]
        out["MemMB"] = numpy.minimum(out["AnonMB"] + out["ShmemMB"] + own["cache"] + own["MemKernelMB"],
                                     numpy.where(numpy.isnan(own["MemLimitMB"]), numpy.inf, own["MemLimitMB"]))
        out["MemPeakMB"] = numpy.maximum.accumulate(out["MemMB"])
        return out

    def table(self, shape, columns, has=slice(None)):
        table = numpy.zeros(self.n, dtype=shape.dtype)
        for c in shape.columns:
            if c.kind == "time":
                epoch = self.ends + self.start_s
                table[c.name] = {"ElapsedTime": self.ends, "EpochTime": epoch + START,
                                 "TimeNS": numpy.rint(epoch * 1e9).astype("u8") + START * 10**9}[c.name]
            else:
                value = columns.get(c.name)
                table[c.name] = value if value is not None else 0 if c.dtype == "<u8" else numpy.nan
        return table[has]

    def histogram(self, events, seconds, letter="B"):
        """Events in the bucket of their mean length; of some in a hundred two buckets higher."""
        ns = numpy.maximum(seconds / numpy.maximum(events, 1) * 1e9, 1)
        k = numpy.clip(numpy.log2(ns).astype(int), 0, layout.BUCKETS - 3)
        far = numpy.floor(events * 0.03)
        counts = numpy.zeros((layout.BUCKETS, self.n))
        counts[k, numpy.arange(self.n)] = events - far
        counts[k + 2, numpy.arange(self.n)] = far
        return {letter + str(b): v for b, v in enumerate(counts)}

    def run_latency(self, rows, task):
        waits = rows["VolSwitches"][task] + rows["InvolSwitches"][task]
        return self.histogram(waits, waits * self.wait_ns / 1e9 if self.wait_ns else rows["RunDelay"][task])

    def blk_latency(self, rows, task):
        reads, writes = rows["BlkReads"][task], rows["BlkWrites"][task]
        seconds = rows["BlkReadTime"][task], rows["BlkWriteTime"][task]
        return {**self.histogram(reads + writes, sum(seconds)), **self.histogram(writes, seconds[1], "W")}

    def sensor_rows(self, series, columns, node):
        """Of a node's series or device."""
        out = {}
        for c in SERIES[series][1]:
            if c.name in columns:
                value = columns[c.name][node]
                level = c.kind == "gauge"
                value = value * (1 if level else self.dt)
                if c.dtype == "<u8":
                    value = numpy.rint(numpy.nan_to_num(value))
                out[c.name] = whole(value) if c.name in COUNTS and not level else value
        return out

    # -- files

    def node_attrs(self, node):
        """By the names of ATTRIBUTES; what is None there or here is not written."""
        own = {"cores": self.cores, "cpus": self.cores * self.threads_per_core, "step_nodes": self.nodes,
               "memory_limit_mb": self.limit_mb, "node_list": "n[1-%d]" % self.nodes if self.nodes > 1 else "n1",
               "limit_s": self.limit_s, "request_mb": self.request_mb, "sharing": "exclusive" if self.exclusive else "shared",
               "state": self.state, "node_cores": self.node_cores, "threads_per_core": self.threads_per_core,
               "start": START, "node_mb": self.node_mb, "model": self.models.get(node, MODEL),
               "gpus": sum(series == "GPU" for series, _ in self.device) or None, **self.attrs}
        out = {ATTRIBUTES[k]: numpy.int32(v) if k in INT32 else v for k, v in own.items()
               if ATTRIBUTES.get(k) and v is not None}
        out["Number of Tasks"] = numpy.int32(1 if self.launched else self.per_node[node])
        out["CPUs per Task"] = numpy.int32(self.threads * self.threads_per_core)
        for family in "sched memory file files self cgroup latency block network perf wait".split():
            out["Mode " + family] = "exact"
        seen = {series for series, _ in self.device}
        for family, series in SENSORS.items():
            out["Mode " + family] = "as the node's sensors say" if series in seen | set(self.node) else ABSENT
        for family in self.without:
            out["Mode " + family.lower()] = "off: not asked for"
        if not any(series == "GPU" for series, _ in self.device):
            out["Unknown Columns"] = "GPUMemMB"
        return out

    def write(self, path):
        with h5py.File(path, "w", libver=("earliest", "v110")) as f:
            self.write_steps(f)

    def write_steps(self, f, packed=False):
        self.write_step(f, packed=packed)
        for name, job, first_node in self.extra:
            job.step_name, job.attrs = name, self.attrs
            for field in ("without", "state", "limit_s", "limit_mb", "request_mb", "exclusive", "node_cores"):
                setattr(job, field, getattr(self, field))
            job.write_step(f, first_node, packed)

    def write_step(self, f, first_node=0, packed=False):
        rows = self.settle()
        shapes = {s: Shape(s, self.without, self.events) for s in SERIES}
        nodes = [node for node in range(self.nodes) if self.rows_of_node.get(node, True) is not False]
        for node in nodes:
            tables = list(self.node_tables(shapes, rows, node))
            layout.put_node(f, self.step_name, "n%d" % (first_node + node + 1), self.start_s,
                            {"Node Index": numpy.int32(node), **self.node_attrs(node)}, tables, packed)
        layout.put_step(f, self.step_name, self.nodes,
                        [(t, "n%d" % (first_node + n + 1)) for t, n in enumerate(self.node_of)
                         if n in nodes and not (t and self.launched)])

    def cpu_list(self, task):
        """Of the task's CPUs; tasks that are not stacked have some of their own, as long as there are any."""
        n, here = self.allowed * self.threads_per_core, numpy.flatnonzero(self.node_of == self.node_of[task])
        place = 0 if self.is_stacked else int(numpy.searchsorted(here, task))
        first = place * n % max(n, self.cores * self.threads_per_core)
        return "%d-%d" % (first, first + n - 1) if n > 1 else str(first)

    def task_attrs(self, task):
        program = self.programs.get(task, self.program)
        own = {"program": "/opt/bin/" + program, "build": "%040x" % zlib.crc32(program.encode()),
               "mpi": "libmpi.so.40" if self.tasks > 1 and not self.programs else None,
               "gpu": "libcuda.so.1" if any(series == "GPU" for series, _ in self.device) else None,
               "allowed": self.allowed * self.threads_per_core,
               "cpus": self.cpu_list(task), "numa": self.numa}
        return {TASK_ATTRIBUTES[k]: v for k, v in own.items() if v is not None}

    def series_of_parts(self):
        return [s for s, parts in (("Culprits", self.culprit_parts), ("Samples", self.module_parts)) if parts]

    def tables_of_tasks(self, rows, node):
        yield "Step", None, self.step_rows(rows, node), {}
        if self.launched:
            yield "Tasks", "0", self.together(rows, node), {"Executable": "/usr/bin/orterun"}
            yield "TimeBudget", "0", self.budget_rows(rows, self.node_of == node), {}
            for series in self.series_of_parts():
                yield series, "0", self.parts_rows(series, rows, self.node_of == node), {}
        for task in numpy.flatnonzero(self.node_of == node):
            yield "Ranks" if self.launched else "Tasks", str(self.first_rank + task), {name: v[task] for name, v in rows.items()}, \
                self.task_attrs(task)
            yield "RankBudget" if self.launched else "TimeBudget", str(self.first_rank + task), self.budget_rows(rows, [task]), {}
            for series in self.series_of_parts():
                yield ("Rank" if self.launched else "") + series, str(self.first_rank + task), self.parts_rows(series, rows, [task]), {}
            yield "RunLatency", str(task), self.run_latency(rows, task), {}
            yield "BlkLatency", str(task), self.blk_latency(rows, task), {}

    def tables_of_node(self, node):
        for series, columns in self.node.items():
            yield series, None, self.sensor_rows(series, columns, node), {}
        for (series, table), columns in self.device.items():
            yield series, table, self.sensor_rows(series, columns, node), {}

    def node_tables(self, shapes, rows, node):
        has = self.rows_of_node.get(node, slice(None))
        for tables in (self.tables_of_tasks(rows, node), self.tables_of_node(node)):
            for series, table, columns, attrs in tables:
                if shapes[series].has_values:
                    yield series, table, shapes[series], self.table(shapes[series], columns, has), attrs
