# SPDX-License-Identifier: GPL-2.0-or-later
"""Job files (job_N.h5) as jobprof merge makes them, written with h5py. The columns are those of schemas/;
what the values are is the affair of jobs.py."""

import os
import re
import time

import h5py
import numpy

ROOT = os.path.realpath(__file__ + "/../../..")
START = 1795226400  # Unix time at which every job starts
SERIES_LINE = re.compile(r'SERIES\((\w+), (\w+),|#include "schemas/(\w+)\.def"'
                         r'|#define BUCKET\(k\) COL\((\w)##k, (\w+), "(.*?)", (\w+), (\w+)')
COLUMN = re.compile(r'^COL\(\s*(\w+)\s*,\s*(\w+)\s*,\s*"([^"]*)"\s*,\s*(\w+)\s*,\s*(\w+)', re.M)
SHORT = {  # schemas whose columns have macros of their own: unit and family
    "budget": (re.compile(r'^(?:BUDGET|BLOCKED)\((\w+),', re.M), "s", "WAIT"),
    "culprits": (re.compile(r'^CULPRIT\((\w+),', re.M), "s", "CULPRIT"),
    "samples": (re.compile(r'^(?:SAMPLED|MODULE_OF)\((\w+),', re.M), "", "SAMPLE"),
}
OF_RANKS = re.compile(r"^#ifdef CULPRITS_OF_RANKS\n(.*?)^#else\n(.*?)^#endif\n", re.M | re.S)
BUCKETS = 40

# The names of attributes of a node's group, by the names that jobs.py uses. One that is None is not
# written.
ATTRIBUTES = {
    "job": "Job Id", "user": "User", "job_name": "Job Name", "account": "Account",
    "partition": "Partition", "node_list": "Step Node List", "step_nodes": "Nodes in Step",
    "cores": "Allocated Cores", "cpus": "Allocated CPUs", "memory_limit_mb": "Memory Limit",
    "end_reason": "End Reason", "exit_status": "Exit Status", "state": "Job State", "limit_s": "Time Limit",
    "start": "Job Start EpochTime", "request_mb": "Requested Memory per Node", "sharing": "Node Sharing",
    "gpus": "Allocated GPUs", "node_cores": "Node Cores", "node_mb": "Node Memory",
    "model": "CPU Model", "array_tasks": "Array Task Count", "threads_per_core": "Threads per Core",
}
INT32 = ("cores", "cpus", "step_nodes", "exit_status", "gpus", "node_cores", "threads_per_core", "array_tasks")

# The columns of a task's table, by the names that jobs.py uses for them.
TASK_ATTRIBUTES = {
    "program": "Executable", "build": "Build Id", "mpi": "MPI Libraries", "gpu": "GPU Libraries",
    "allowed": "Allowed CPUs", "cpus": "Allowed CPU List", "numa": "NUMA Nodes",
}


class Column:
    def __init__(self, name, kind_of_number, unit, kind, family):
        self.name, self.unit, self.kind, self.family = name, unit, kind.lower(), family
        self.dtype = "<u8" if kind_of_number == "U64" else "<f8"


def read_schema(name):
    with open(os.path.join(ROOT, "schemas", name + ".def")) as f:
        return f.read()


def read_series():
    """{series: (is grouped, columns)} of schemas/series.def."""
    found, series, columns, bucket = {}, None, None, None
    for m in SERIES_LINE.finditer(read_schema("series").split("#endif", 4)[-1]):
        name, tables, include, letter, *rest = m.groups()
        if name:
            series = name
            columns = []
            found[series] = tables == "GROUPED", columns
        elif letter:
            bucket = letter, rest
        elif include == "buckets":
            columns += [Column("%s%d" % (bucket[0], k), *bucket[1]) for k in range(BUCKETS)]
        else:
            columns += columns_of(include, series.startswith("Rank"))
    return found


def columns_of(schema, of_ranks=False):
    text = OF_RANKS.sub(r"\1" if of_ranks else r"\2", read_schema(schema))
    own = [Column(*m) for m in COLUMN.findall(text)]
    if schema in SHORT:
        names, unit, family = SHORT[schema]
        own += [Column(name, "F64", unit, "DELTA", family) for name in names.findall(text)]
    nested = re.findall(r'^#include "schemas/(\w+)\.def"', text, re.M)
    before = [c for n in nested if n == "time" for c in columns_of(n)]
    after = [c for n in nested if n != "time" for c in columns_of(n)]
    return before + own + after


SERIES = read_series()


class Shape:
    """What the tables of a series have in common."""

    def __init__(self, series, without=(), events=()):
        """events: columns that PerfEvents= names; they stand in the place of the usual ones."""
        self.grouped, columns = SERIES[series]
        self.columns = [c for c in columns if c.family not in without]
        at = [i for i, c in enumerate(self.columns) if c.name == "PerfRunning"]
        for name in events if at else ():
            self.columns.insert(at[0], Column(name, "U64", "", "DELTA", "PERF"))
        self.dtype = numpy.dtype([(c.name, c.dtype) for c in self.columns])
        self.has_values = any(c.kind != "time" for c in self.columns)
        self.attrs = [("Column Units", self.strings("unit")), ("Column Kinds", self.strings("kind"))]

    def strings(self, field):
        texts = [getattr(c, field).encode() for c in self.columns]
        return numpy.array(texts, dtype="S%d" % max(1, max(map(len, texts))))


def put_attribute(obj, name, value):
    """Whole numbers have 64 bits, as those of the daemon, unless they are numpy's."""
    if isinstance(value, str):
        obj.attrs[name] = value
    elif isinstance(value, int):
        obj.attrs[name] = numpy.array([value], dtype="<i8")
    else:
        obj.attrs[name] = numpy.array([value])


def put_table(group, name, shape, rows, attrs=(), packed=False):
    options = {"compression": "gzip", "compression_opts": 4, "shuffle": True} if packed else {}
    data = group.create_dataset(name, data=rows, maxshape=(None,), chunks=(max(1, min(len(rows), 4096)),),
                                **options)
    for key, value in shape.attrs:
        data.attrs.create(key, value)
    for key, value in dict(attrs).items():
        put_attribute(data, key, value)


def put_node(file, step, node, start_s, attrs, tables, packed=False):
    """tables: (series, table or None, shape, rows, the table's attributes)."""
    group = file.create_group("Steps/%s/Nodes/%s" % (step, node))
    put_attribute(group, "Node Name", numpy.bytes_(node))
    put_attribute(group, "Step", step)
    put_attribute(group, "Schema Version", numpy.int32(1))
    put_attribute(group, "JobProf Version", "0.1.0")
    put_attribute(group, "Units", "MiB is 2^20 bytes, KiB is 2^10; MB in the name of a column is MiB.")
    put_attribute(group, "Start TimeNS", int((START + start_s) * 10**9))
    put_attribute(group, "Start Time",
                  numpy.bytes_(time.strftime("%a %b %d %T %Y", time.localtime(START + start_s))))
    for name, value in {"Lost": numpy.int64(0), **attrs}.items():
        put_attribute(group, name, value)
    for series, table, shape, rows, own in tables:
        put_table(group.require_group(series) if table else group, table or series, shape, rows, own, packed)
    return group


def put_step(file, step, nodes, tasks):
    """tasks: (number, node) of each task."""
    group = file["Steps"][step]
    put_attribute(group, "Number of Nodes", numpy.int32(nodes))
    for number, node in tasks:
        put_attribute(group.create_group("Tasks/%d" % number), "Node Name", node)
