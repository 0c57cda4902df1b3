# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts bursts, stacks, and results in /analysis into the file of a described job, by h5py."""

import gzip
import json
import os

import h5py
import numpy

ON_CPU = "[on CPU]"
TIMES = [("ElapsedTime", "<u8"), ("EpochTime", "<u8")]


def fnv(text):
    h = 0xcbf29ce484222325
    for b in text.encode():
        h = (h ^ b) * 0x100000001b3 % 2 ** 64
    return h


def rows(times, **columns):
    """A table as the profiler writes them; columns of "<u8" where the values are whole numbers of numpy's u8."""
    values = {k: numpy.asarray(v) for k, v in columns.items()}
    n = len(times)
    out = numpy.zeros(n, TIMES + [(k, "<u8" if v.dtype.kind == "u" else "<f8") for k, v in values.items()] + [("TimeNS", "<u8")])
    for k, v in values.items():
        out[k] = v
    out["ElapsedTime"], out["TimeNS"] = times, numpy.asarray(times) * 1e9
    return out


def node_of(f):
    step = next(iter(f["Steps"].values()))
    return next(iter(step["Nodes"].values()))


def put_bursts(path, start, kinds):
    """kinds: (how many, run time, gap) of task 0, in turn."""
    with h5py.File(path, "r+") as f:
        run = numpy.concatenate([numpy.full(n, run) for n, run, _ in kinds])
        gap = numpy.concatenate([numpy.full(n, gap) for n, _, gap in kinds])
        jitter = 1 + 0.001 * numpy.sin(numpy.arange(len(run)))
        ends = start + numpy.cumsum(run * jitter + numpy.nan_to_num(gap))
        node_of(f).require_group("Bursts")["0"] = rows(ends, Thread=numpy.full(len(run), 77.0), Rank=numpy.full(len(run), numpy.nan),
                                                       Duration=run * jitter, OnCPU=run * jitter, RunTime=run * jitter, Gap=gap)
        return run * jitter, gap


def put_stacks(path, start, functions):
    """functions: {"main;work;inner": seconds} of task 0; "[blocked: locks];main": the thread was blocked."""
    nodes, seconds = {}, []
    for stack, s in functions.items():
        names = tuple(stack.split(";"))
        names = names if names[0].startswith("[") else (ON_CPU,) + names
        nodes.setdefault(names[:1], (len(nodes) + 1, 0, names[0]))
        for k in range(2, len(names) + 1):
            nodes.setdefault(names[:k], (len(nodes) + 1, nodes[names[:k - 1]][0], "[%s]" % names[k - 1]))
        seconds.append((nodes[names][0], s))
    of = numpy.array([(i, up, fnv(name), 0) for i, up, name in nodes.values()], "u8")
    stack = numpy.array([i for i, _ in seconds], "u8")
    with h5py.File(path, "r+") as f:
        node = node_of(f)
        node["CallTree"] = rows(numpy.full(len(of), start), Node=of[:, 0], Parent=of[:, 1], Module=of[:, 2], Offset=of[:, 3])
        texts = list(dict.fromkeys(n[2] for n in nodes.values()))
        for k in range(0, len(texts), 500):
            node["CallTree"].attrs["Names %d" % (k // 500 + 1)] = "//".join(texts[k:k + 500])
        taken = numpy.array([s for _, s in seconds])
        node.require_group("Stacks")["0"] = rows(numpy.full(len(stack), start + 10.0), Stack=stack, Samples=taken * 97, Seconds=taken)


def put_clusters(path, windows):
    """As jobprof reduce stores them: windows[i] is a list of (n, share, mean run, mean gap), noise first."""
    kinds = [("cluster", "<f8"), ("n", "<f8"), ("share", "<f8")] + [("%s_%s" % (c, what), "<f8") for c in ("RunTime", "Gap") for what in ("mean", "std", "min", "max")]
    with h5py.File(path, "r+") as f:
        for i, window in enumerate(windows):
            table = numpy.zeros(len(window), kinds)
            for k, (n, share, run, gap) in enumerate(window):
                table[k] = (k, n, share, run, run / 10, run / 2, 2 * run, gap, 0, gap, gap)
            g = f.create_group("analysis/clusters/%d" % i)
            g["table"] = table
            g.attrs["status"] = "OK"


def put_fold(path, region, period, ends):
    """A loop whose phases end at these parts of it; CPUs fall from phase to phase."""
    x = numpy.linspace(0, 1, 1000)
    phase = numpy.searchsorted(ends, x, side="right").clip(0, len(ends) - 1)
    rate = 1 - phase / len(ends)
    curve = numpy.zeros(1000, [("x", "<f8"), ("CPUTime", "<f8"), ("CPUTime_rate", "<f8")])
    curve["x"], curve["CPUTime"], curve["CPUTime_rate"] = x, numpy.cumsum(rate) / rate.sum(), rate
    with h5py.File(path, "r+") as f:
        g = f.require_group("analysis").create_group("fold")
        for key, v in dict(region=region, executions=500.0, folded=480.0, period_s=period, counter="CPUTime").items():
            g.attrs[key] = v
        g.create_group("validity").attrs["status"] = "good"
        c = g.create_group("counters/CPUTime")
        c.attrs["unit"] = "s"
        g.create_group("phases").attrs["version"] = 1
        for k, (a, b) in enumerate(zip([0.0, *ends], ends)):
            p = g.create_group("phases/%d" % (k + 1))
            for key, v in {"from": a, "to": b, "to_low": b - 0.01 * (b < 1), "to_high": b, "share": 0.9, "samples": 100.0, "CPUTime": 1 - k / len(ends)}.items():
                p.attrs[key] = v
            p.attrs["code"] = "the program + 0x%d000" % (k + 1)
        f["analysis/fold_curve"] = curve
    return rate


def put_samples(path, start, n, period, split, waits=0.0):
    """n samples, 9 ms apart, of a thread that executes a loop called "described": 0x1000 in the first part of it, 0x2000 after,
    where at that part of the samples, by chance, it does not run, and there are none."""
    at = 10 ** 10 + 9_000_000 * numpy.arange(n, dtype="u8")
    begin = 10 ** 10 + (period * 1e9 * numpy.arange(int(n * 0.009 / period))).astype("u8")
    x = (at - 10 ** 10) / (period * 1e9) % 1
    one = numpy.ones(n, "u8")
    ran = (x < split) | (numpy.random.default_rng(1).random(n) >= waits)
    used = numpy.cumsum(ran, dtype="u8") * 9_000_000
    thread = dict(Process=77 * one, Thread=77 * one)
    with h5py.File(path, "r+") as f:
        node = node_of(f)
        node.attrs["Region 1"] = "described"
        points = dict(Time=at, Task=numpy.zeros(n), Kind=0 * one, Place=numpy.where(x < split, 0x1000, 0x2000).astype("u8"),
                      CPUTime=used, PageFaults=0 * one, Period=numpy.full(n, 9e6), **thread)
        node["SamplePoints"] = rows((start + at / 1e9)[ran], **{k: v[ran] for k, v in points.items()})
        node["Regions"] = rows(start + begin / 1e9, Region=one[:len(begin)], Begin=begin, End=begin + int(period * 1e9) - 1000,
                               **{k: v[:len(begin)] for k, v in thread.items()})


# ---- the page that report --store leaves

MARK = "this is of the stored page"


def page_of(path):
    with h5py.File(path, "r") as f:
        return json.loads(gzip.decompress(f["analysis/page"][()].tobytes()))


def change_analysis(path, make):
    """Writes to the file, whose time stays."""
    times = os.stat(path)
    with h5py.File(path, "r+") as f:
        make(f["analysis"])
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def put_page(path, data, **other):
    """Another page, with the attributes of the old one but for some; data: its bytes, or what is called with the group."""
    def make(g):
        attributes = {**g["page"].attrs, **other}
        del g["page"]
        g.create_dataset("page", data=numpy.frombuffer(data, numpy.uint8)) if isinstance(data, bytes) else data(g)
        for k, v in attributes.items() if "page" in g else ():
            g["page"].attrs[k] = v
    change_analysis(path, make)


def mark_page(path, **other):
    """A page that is to be told from one that is made anew."""
    page = page_of(path)
    page["job"]["name"] = MARK
    put_page(path, gzip.compress(json.dumps(page).encode()), **other)
    return path
