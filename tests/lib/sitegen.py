#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A site made by a program: users, projects, and the jobs of some days, the same for the same seed. As rows (dictionaries by
the columns of schemas/index.def), as lines for `jobprof index import`, as sacct prints them, and as job files.
	sitegen.py --jobs N [--seed N] [--days N] [--users N] [--projects N] [--hostile] [--sacct FIELDS] > FILE"""

import argparse
import json
import os
import re
import sys
import time

import numpy

ROOT = os.path.realpath(__file__ + "/../../..")
with open(os.path.join(ROOT, "schemas/index.def")) as _f:
    COLUMNS = {name: (kind, source) for name, kind, source in
               re.findall(r"^INDEX\((\w+), (\w+), (\w+),", _f.read(), re.M)}
with open(os.path.join(ROOT, "user/findings/rules.lua")) as _f:
    RULES = re.findall(r'^rules\["([a-z_.]+)"\]', _f.read(), re.M)
END = 1793491200  # 2026-11-01 00:00 UTC: the jobs of a site begin in the days before; none begins in the future
CHUNK = 50000
LISTS = ["finding_list", "node_names", "file_systems"]
STATES = (("COMPLETED", 0.78), ("FAILED", 0.1), ("TIMEOUT", 0.04), ("CANCELLED", 0.05), ("OUT_OF_MEMORY", 0.015),
          ("NODE_FAIL", 0.005), ("PREEMPTED", 0.01))
SHARES = "share_cpu share_kernel share_others share_quota share_wait share_disk share_asleep share_idle".split()
CLUSTERS = ("alpha", "beta")
FILE_SYSTEMS = ("scratch", "home", "data-archive")
PARTITIONS = {"alpha": ("batch", "short", "gpu", "big"), "beta": ("batch", "gpu")}
PROGRAMS = ("lmp_mpi", "gmx_mpi", "vasp_std", "pw.x", "python3.11", "R", "cp2k.psmp", "solver", "xhpl", "wrf.exe", "train.py", "a.out")
HOSTILE = ("x'; DROP TABLE job; --", "<script>alert(1)</script>", "=cmd|' /C calc'!A0", "+1+2", "-2+3", "@SUM(A1)", "50%_\\off",
           "a,b", 'quo"te', "tab\there", "line\nend", "\x1b[31mred\x1b[0m", "\u202egnirts", "Größe-日本語", "\u200bhidden", "é" * 127, "''",
           "-j", "--user", " ", "$(reboot)", "null", "0", "NaN", "a\x07b", "n" * 255)
MINUTES = (5, 15, 30, 60, 120, 240, 480, 720, 1440, 2880, 5760)


def optional(rng, values, share):
    """The values, of which this share is known."""
    return numpy.where(rng.random(len(values)) < share, values, numpy.nan)


def pick(rng, weights, n):
    return rng.choice(len(weights), n, p=numpy.asarray(weights) / numpy.sum(weights))


class Site:
    """end: Unix time before which all jobs begin; profiles: of how many jobs there is one; nodes: their names
    are rows, too; at: instants (seconds of a day, UTC)
    at which more jobs begin than chance would have."""

    def __init__(self, jobs=1000, seed=1, users=600, projects=80, days=90, end=END, hostile=False, profiles=0.85, at=(), nodes=False):
        self.nodes = nodes
        self.jobs, self.seed, self.days, self.end, self.hostile, self.profiles, self.at = jobs, seed, days, end, hostile, profiles, at
        rng = numpy.random.default_rng((seed, 1 << 20))
        self.users = ["user%d" % i for i in range(1, users + 1)]
        self.projects = ["proj%02d" % i for i in range(1, projects + 1)]
        if hostile:
            mean = [h for h in HOSTILE if "," not in h and h.strip()]  # of a list's words a comma ends one
            self.projects = (mean + self.projects)[:projects]
        self.weights = numpy.exp(rng.uniform(0, numpy.log(1000), users))  # log-uniform: a few users make most jobs
        self.of_user = rng.integers(0, projects, (users, 3))
        self.programs = rng.integers(0, len(PROGRAMS), (users, 3))
        self.names = [["%s_u%d" % (PROGRAMS[p].split(".")[0], i + 1) for p in self.programs[i]] for i in range(users)]
        self.thrift = rng.beta(5, 2, users)  # how well each uses what it has

    # -- columns of a part of the jobs, as arrays

    def chunks(self):
        edges = list(range(0, self.jobs, CHUNK)) + [self.jobs]
        for k, (begin, end) in enumerate(zip(edges, edges[1:])):
            yield self.chunk(k, begin, end - begin)

    def chunk(self, k, first, n):
        rng = numpy.random.default_rng((self.seed, k))
        c = {}
        self.who(rng, c, first, n)
        self.size(rng, c, n)
        self.times(rng, c, first, n)
        self.used(rng, c, n)
        self.lost(rng, c, n)
        self.pika(rng, c, n)
        self.io(rng, c, n)
        self.file_systems(numpy.random.default_rng((self.seed, k, 1)), c, n)
        for name, v in c.items():
            if isinstance(v, numpy.ndarray) and not name.startswith("_"):
                c[name] = v.astype(float)
        self.sources(rng, c, n)
        return c

    def who(self, rng, c, first, n):
        user = pick(rng, self.weights, n)
        # Tasks of an array follow each other.
        array = numpy.where(rng.random(n) < 0.02, rng.integers(2, 30, n), 0)
        is_task = numpy.zeros(n, bool)
        array_id, task = numpy.full(n, numpy.nan), numpy.full(n, numpy.nan)
        for i in numpy.flatnonzero(array):
            if not is_task[i]:
                here = slice(i, i + array[i])
                is_task[here], user[here] = True, user[i]
                array_id[here] = 1000 + first + i
                task[here] = numpy.arange(len(user[here]))
        which = rng.integers(0, 3, n)
        which = numpy.where(is_task, 0, which)
        cluster = (user % 5 == 0).astype(int)
        c["job_id"] = 1000.0 + numpy.arange(first, first + n)
        c["array_id"], c["array_task"] = array_id, task
        het = (rng.random(n) < 0.01) & ~is_task
        c["het_id"] = numpy.where(het, c["job_id"], numpy.nan)
        c["_user"], c["_which"], c["_cluster"] = user, which, cluster
        c["user"] = [self.users[u] for u in user]
        c["cluster"] = [CLUSTERS[i] for i in cluster]
        c["account"] = [self.projects[self.of_user[u, w]] for u, w in zip(user, rng.choice(3, n, p=(0.8, 0.15, 0.05)))]
        c["program"] = ["/opt/apps/bin/" + PROGRAMS[self.programs[u, w]] for u, w in zip(user, which)]
        number = rng.integers(0, 50, n)
        c["name"] = [self.names[u][w] + ("_%d" % i if i < 30 else "") for u, w, i in zip(user, which, number)]
        if self.hostile:
            for i in numpy.flatnonzero(rng.random(n) < 0.1):
                c["name"][i] = HOSTILE[number[i] % len(HOSTILE)]
        c["_gpu"] = (user % 6 == 1) & (rng.random(n) < 0.8)
        c["partition"] = [PARTITIONS[CLUSTERS[k]][0 if not g else -1 if k else 2] for k, g in zip(cluster, c["_gpu"])]
        for i in numpy.flatnonzero(~c["_gpu"] & (rng.random(n) < 0.3) & (cluster == 0)):
            c["partition"][i] = ("short", "big")[number[i] % 2]
        c["qos"] = [("normal", "normal", "high", "low")[i] for i in rng.integers(0, 4, n)]
        c["state"] = [STATES[i][0] for i in pick(rng, [p for _, p in STATES], n)]
        c["exit_code"] = [{"COMPLETED": "0:0", "FAILED": "1:0", "OUT_OF_MEMORY": "0:125"}.get(s, "0:15") for s in c["state"]]

    def size(self, rng, c, n):
        nodes = numpy.where(rng.random(n) < 0.72, 1, numpy.rint(numpy.exp(rng.exponential(1.1, n) + 0.7))).clip(1, 512)
        cores = numpy.where((nodes == 1) & (rng.random(n) < 0.75), 2.0 ** rng.integers(0, 7, n), 64) * nodes
        threads = numpy.where(c["_cluster"] == 1, 2, 1)  # the second has two threads a core
        c["nodes"], c["cores"], c["cpus"] = nodes, cores, cores * threads
        c["tasks"] = numpy.maximum(1, numpy.rint(cores / 2.0 ** rng.integers(0, 4, n)))
        c["gpus"] = numpy.where(c["_gpu"], nodes * 2.0 ** rng.integers(0, 3, n), optional(rng, numpy.zeros(n), 0.5))
        c["mem_asked_mb"] = optional(rng, numpy.round(cores / nodes * 2000.0 * 2.0 ** rng.integers(-1, 2, n)), 0.95)
        c["limit_mb"] = c["mem_asked_mb"]
        c["node_list"] = ["n%d" % (1 + i % 900) if k == 1 else "n[%d-%d]" % (1 + i % 400, i % 400 + k)
                          for i, k in zip(rng.integers(0, 900, n), nodes.astype(int))]

        # An index that is to be small knows of no node, else those of the wide ones by their lists.
        c["node_names"] = [(names_of(text) if k <= 8 else None) if self.nodes else [] for text, k in zip(c["node_list"], nodes)]

    def times(self, rng, c, first, n):
        length = self.days * 86400
        at = first + numpy.sort(rng.random(n)) * n  # jobs come in the order of their ids
        start = numpy.floor(self.end - length + at / max(1, self.jobs) * (length - 600))
        for second in self.at:
            some = rng.random(n) < 0.03
            start = numpy.where(some, start - start % 86400 + second, start)
        c["start"] = numpy.minimum(start, self.end - 1)
        limit = numpy.array(MINUTES)[rng.integers(0, len(MINUTES), n)] * 60.0
        part = rng.beta(0.7, 1.8, n)
        timeout = numpy.array([s == "TIMEOUT" for s in c["state"]])
        c["elapsed_s"] = numpy.where(timeout, limit + 5, numpy.maximum(3, numpy.floor(limit * part)))
        c["limit_s"] = optional(rng, limit, 0.97)
        c["end"] = c["start"] + c["elapsed_s"]
        waited = numpy.floor(rng.exponential(3600, n))
        c["submit"] = optional(rng, c["start"] - waited, 0.98)
        c["eligible"] = c["submit"] + numpy.floor(waited * 0.1)
        c["restart"] = numpy.zeros(n)
        # The second run of a job that was requeued has its id.
        for i in numpy.flatnonzero(rng.random(n) < 0.01):
            if i and numpy.isnan(c["array_id"][i - 1:i + 1]).all() and c["restart"][i - 1] == 0 and c["end"][i - 1] + 120 < self.end:
                self.requeue(c, i)

    @staticmethod
    def requeue(c, i):
        for name, v in c.items():
            if name not in ("start", "elapsed_s", "end", "submit", "eligible", "restart", "state", "limit_s"):
                v[i] = v[i - 1]
        c["start"][i] = max(c["start"][i], c["end"][i - 1] + 120)
        c["end"][i] = c["start"][i] + c["elapsed_s"][i]
        c["submit"][i] = c["eligible"][i] = c["start"][i] - 60
        c["restart"][i] = 1
        c["state"][i - 1] = "NODE_FAIL"

    def used(self, rng, c, n):
        held = c["elapsed_s"] * c["cpus"] / (c["cpus"] / c["cores"])
        use = numpy.clip(self.thrift[c["_user"]] * rng.uniform(0.3, 1.1, n), 0.005, 0.995)
        c["held_core_s"], c["held_cpu_s"], c["held_gpu_s"] = held, c["elapsed_s"] * c["cpus"], c["elapsed_s"] * c["gpus"]
        c["cpu_s"] = numpy.round(held * use, 2)
        c["slurm_cpu_s"] = numpy.round(c["cpu_s"] * numpy.where(rng.random(n) < 0.02, 1.5, 1.01), 0)
        c["wait_s"] = numpy.round(held * rng.beta(0.4, 20, n), 2)
        c["disk_wait_s"] = optional(rng, numpy.round(held * rng.beta(0.3, 15, n), 2), 0.9)
        peak = c["mem_asked_mb"] * rng.beta(1, 3, n)
        c["peak_mb"] = numpy.round(numpy.where(numpy.isnan(peak), 500, peak), 1)
        c["own_peak_mb"] = numpy.round(c["peak_mb"] * 0.9, 1)
        c["oom_kills"] = numpy.array([float(s == "OUT_OF_MEMORY") for s in c["state"]])
        c["read_mb"] = numpy.round(numpy.exp(rng.normal(3, 3, n)), 3)
        c["write_mb"] = numpy.round(numpy.exp(rng.normal(2, 3, n)), 3)
        for name in ("net_tx_mb", "net_rx_mb"):
            c[name] = optional(rng, numpy.round(numpy.exp(rng.normal(1, 2, n)), 3), 0.7)
        c["forks"] = numpy.floor(numpy.exp(rng.normal(2, 2, n)))
        c["cpi"] = optional(rng, numpy.round(rng.uniform(0.3, 3, n), 3), 0.8)
        for name in ("load_balance", "parallel_efficiency"):
            c[name] = numpy.where(c["tasks"] > 1, numpy.round(rng.beta(6, 2, n), 4), numpy.nan)
        joules = optional(rng, numpy.round(held * rng.uniform(3, 9, n), 0), 0.6)
        c["energy_j"], c["energy_low_j"], c["energy_high_j"] = joules, numpy.floor(joules * 0.9), numpy.ceil(joules * 1.1)
        c["gpu_use"] = numpy.where(c["_gpu"], numpy.round(rng.beta(1.2, 1, n), 4), numpy.nan)
        parts = rng.dirichlet((4, 0.3, 0.1, 0.05, 0.1, 0.2, 0.3, 2), n)
        for i, name in enumerate(SHARES):
            c[name] = numpy.round(parts[:, i], 4)
        c["coverage"] = numpy.round(1 - rng.beta(0.2, 20, n), 4)

    def lost(self, rng, c, n):
        count = numpy.minimum(rng.poisson(0.8, n), 6)
        first = numpy.cumsum(count) - count
        rules = rng.integers(0, len(RULES), count.sum())
        k = int(count.sum())
        share, severity, odd = rng.beta(0.6, 2.5, k), rng.integers(0, 3, k), rng.random(k)
        of = numpy.repeat(numpy.arange(n), count)
        share /= numpy.maximum(1, 1.01 * numpy.bincount(of, share, n))[of]  # costs never overlap
        costs = numpy.floor(100 * c["held_core_s"][of] * share) / 100
        lists = []
        for i in range(n):
            found = []
            for f in range(first[i], first[i] + count[i]):
                rule = RULES[rules[f]]
                cost = {"saving": round(float(share[f]), 3), "is_at_least": bool(odd[f] < 0.2)}
                if odd[f] < 0.9:  # a few cost nothing that one could count
                    cost["core_s"] = float(costs[f])
                remedy = "See jobprof-rules(5) on %s." % rule
                found.append({"id": rule, "severity": ("note", "warn", "bad")[severity[f]], "cost": cost,
                              "text": "%.0f %% of the cores' time was lost by %s: %.0f core-s" % (100 * share[f], rule, costs[f]),
                              "remedy": remedy, "where": "n1" if odd[f] < 0.3 else "", **self.numbers(c, i, rule, remedy)})
            found.sort(key=lambda f: -f["cost"].get("core_s", 0))
            lists.append(found)
        c["finding_list"] = lists
        c["findings"] = count.astype(float)
        c["worst_rule"] = [f[0]["id"] if f else "" for f in lists]
        c["worst_text"] = [f[0]["text"] if f else None for f in lists]
        c["worst_severity"] = numpy.array([("note", "warn", "bad").index(f[0]["severity"]) if f else numpy.nan for f in lists])
        c["cost_core_s"] = numpy.array([sum(x["cost"].get("core_s", 0.0) for x in f) for f in lists], float)
        c["judged"] = count + rng.integers(10, 30, n)
        c["idle_gpu_s"] = numpy.where(c["_gpu"], numpy.round(c["held_gpu_s"] * (1 - c["gpu_use"]), 1), numpy.nan)
        c["lost_core_s"] = numpy.fmin(c["cost_core_s"], c["held_core_s"])
        c["lost_gpu_s"] = numpy.minimum(c["idle_gpu_s"], c["held_gpu_s"])

    @staticmethod
    def numbers(c, i, rule, remedy):
        """What the remedy sets, of rules that say how many jobs are joined. What was asked for too much is known, and is more than the line."""
        of = {"mem.over": ("own_peak_mb", 1.2, "mem_asked_mb", lambda mb: "#SBATCH --mem=%dM" % mb),
              "time.over": ("elapsed_s", 1.2, "limit_s", lambda s: "#SBATCH --time=%02d:%02d:%02d" % (s // 3600, s // 60 % 60, s % 60)),
              "cpu.oversubscribed": ("tasks", 0.5, None, lambda n: "export OMP_NUM_THREADS=%d" % n)}.get(rule)
        if not of or numpy.isnan(c[of[0]][i]):
            return {"remedy_kind": "sentence"}
        used, more, asked, code = of
        needs = float(numpy.ceil(c[used][i] * more))
        if asked and not needs < c[asked][i]:
            return {"remedy_kind": "sentence"}
        sets = {"needs": needs, **({"used": float(c[used][i]), "asked": float(c[asked][i])} if asked else {})}
        return {"remedy_kind": "line", "remedy_code": code(needs), "remedy": remedy + " " + code(needs), "sets": sets}

    def pika(self, rng, c, n):
        done = numpy.array([s == "COMPLETED" for s in c["state"]])
        c["tags"] = optional(rng, rng.integers(0, 1 << 6, n) & rng.integers(0, 1 << 6, n), 0.8)
        c["has_footprint"] = (rng.random(n) < 0.95).astype(float)
        good = (c["elapsed_s"] >= 3600) & (c["cores"] >= 2) & done
        c["is_eligible"] = good.astype(float)
        c["idle_cpu_s"] = numpy.where(good, numpy.round(c["held_core_s"] * rng.beta(0.5, 4, n), 1), numpy.nan)
        c["idle_of_cpu_s"] = numpy.where(good, c["held_core_s"], numpy.nan)
        c["idle_of_gpu_s"] = numpy.where(good & c["_gpu"], c["held_gpu_s"], numpy.nan)
        for name, share in (("unused_ratio", 1), ("cpu_imbalance", 1), ("io_blocking", 0.1), ("io_congestion", 0.1), ("memory_leak", 0.1)):
            value = numpy.round(rng.beta(0.7, 4, n), 4)
            c[name] = numpy.where(good, numpy.where(rng.random(n) < share, value, 0), numpy.nan)
        for name in ("unused_gpu_ratio", "gpu_imbalance", "offloads"):
            c[name] = numpy.where(good & c["_gpu"], numpy.round(rng.beta(0.7, 4, n), 4), numpy.nan)

    def io(self, rng, c, n):
        """20 % of the jobs move nearly all."""
        for way in ("read", "write"):
            some = rng.random(n) < 0.8
            c[way + "_bytes"] = numpy.floor(c[way + "_mb"] * 1048576)
            c[way + "_bw_max"] = numpy.round(c[way + "_bytes"] / numpy.maximum(1, c["elapsed_s"]) * rng.uniform(1, 50, n), 1)
            for level in ("0", "128k", "1m"):
                for what in ("intensity", "burstiness"):
                    c["%s_%s_%s" % (way, what, level)] = numpy.where(some, numpy.round(rng.beta(0.5, 3, n), 4), numpy.nan)
                c["%s_parallel_%s" % (way, level)] = numpy.where(some & (c["nodes"] > 1), numpy.round(rng.beta(1, 2, n), 4), numpy.nan)

    def file_systems(self, rng, c, n):
        """Of jobs with nodes of their own: all read on the first, few on the last."""
        lists, share = [], rng.dirichlet((5, 2, 0.5), n)
        for i in range(n):
            own = c["nodes"][i] > 1 or rng.random() < 0.3
            many = rng.integers(1, len(FILE_SYSTEMS) + 1)
            lists.append([{"name": name, **{"%s_%s" % (way, what): round(float(c["%s_%s" % (way, what)][i] * share[i][k]), 1)
                                            for way in ("read", "write") for what in ("bytes", "bw_max")}}
                          for k, name in enumerate(FILE_SYSTEMS[:many])] if own else None)
        c["file_systems"] = lists

    def sources(self, rng, c, n):
        """What a job without a profile, or without accounting, does not have."""
        at = rng.random(n)
        rest = 1 - self.profiles
        sources = numpy.where(at < self.profiles * 0.95, 3, numpy.where(at < self.profiles, 2, 1))
        if not rest:
            sources = numpy.maximum(sources, 2)
        c["sources"] = sources.astype(float)
        c["disagrees"] = ((sources == 3) & (c["slurm_cpu_s"] > 60) &
                          (numpy.abs(c["cpu_s"] - c["slurm_cpu_s"]) > 0.1 * c["slurm_cpu_s"])).astype(float)
        c["analysed_by"] = ["0.1.0"] * n
        c["file"] = ["/profiles/%s/job_%d.h5" % (u, j) for u, j in zip(c["user"], c["job_id"])]
        c["file_mtime"], c["changed"] = c["end"] + 30, numpy.zeros(n)
        no_profile, no_slurm = sources == 1, sources == 2
        for name, (_, source) in COLUMNS.items():
            v = c.get(name)
            if v is None or name in ("sources", "held_cpu_s", "held_gpu_s", "held_core_s", "disagrees"):
                continue
            gone = no_slurm if source == "SLURM" else no_profile if source in ("PROFILE", "INDEX") else None
            if gone is None:
                continue
            if isinstance(v, list):
                for i in numpy.flatnonzero(gone):
                    v[i] = None
            else:
                v[gone] = numpy.nan
        c["held_core_s"] = numpy.where(no_profile, c["held_cpu_s"], c["held_core_s"])  # CPUs count as cores
        for i in numpy.flatnonzero(no_profile):
            c["finding_list"][i] = c["file_systems"][i] = None

    # -- rows

    def rows(self):
        """Dictionaries; what is not known is None. Without the columns that the index makes of the day."""
        for c in self.chunks():
            names = [name for name in COLUMNS if name in c]
            columns = [values(c[name], COLUMNS[name][0]) for name in names] + [c[name] for name in LISTS]
            for row in zip(*columns):
                yield dict(zip(names + LISTS, row))

    chunk_size = CHUNK

    def write(self, out, chunks=None):
        """Lines for `jobprof index import`."""
        for c in chunks or self.chunks():
            parts = []
            for name, (kind, _) in COLUMNS.items():
                if name == "node_list" and not self.nodes:
                    continue  # import would make names of it
                if name in c and name not in ("held_core_s", "held_cpu_s", "held_gpu_s", "lost_core_s", "lost_gpu_s", "disagrees"):
                    parts.append(fragments(name, values(c[name], kind), kind))
            for name in LISTS:
                parts.append(['"%s":%s,' % (name, json.dumps(v)) if v is not None else "" for v in c[name]])
            out.write("".join("{%s}\n" % "".join(p)[:-1] for p in zip(*parts)))


def names_of(text):
    if "[" not in text:
        return [text]
    first, last = text[2:-1].split("-")
    return ["n%d" % i for i in range(int(first), int(last) + 1)]


def values(v, kind):
    if isinstance(v, list):
        return v
    if kind == "INT":
        return [None if x != x else int(x) for x in v.tolist()]
    return [None if x != x else x for x in v.tolist()]


def fragments(name, column, kind):
    if kind == "TEXT":
        texts = {v: '"%s":%s,' % (name, json.dumps(v)) if v is not None else "" for v in set(column)}
        return [texts[v] for v in column]
    key = '"%s":' % name
    return ["%s%r," % (key, v) if v is not None else "" for v in column]


# ---- as sacct has it

def tres(row):
    parts = ["billing=%d" % row["cpus"], "cpu=%d" % row["cpus"], "node=%d" % row["nodes"]]
    if row["gpus"]:
        parts.append("gres/gpu=%d" % row["gpus"])
    return ",".join(parts)


def stamp(t):
    return "Unknown" if t is None else time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(t))


def clock(s):
    days, s = divmod(int(s), 86400)
    return ("%d-" % days if days else "") + "%02d:%02d:%02d" % (s // 3600, s // 60 % 60, s % 60)


SACCT = {
    "JobIDRaw": lambda r: "%d" % r["job_id"],
    "JobID": lambda r: "%d_%d" % (r["array_id"], r["array_task"]) if r["array_id"] is not None else "%d" % r["job_id"],
    "Cluster": lambda r: r["cluster"], "User": lambda r: r["user"], "UID": lambda r: str(10000 + int(re.sub(r"\D", "", r["user"]) or 0)),
    "Account": lambda r: r["account"], "Partition": lambda r: r["partition"], "QOS": lambda r: r["qos"] or "",
    "State": lambda r: "CANCELLED by 1000" if r["state"] == "CANCELLED" else r["state"], "ExitCode": lambda r: r["exit_code"] or "0:0",
    "Submit": lambda r: stamp(r["submit"]), "Eligible": lambda r: stamp(r["eligible"]), "Start": lambda r: stamp(r["start"]),
    "End": lambda r: stamp(r["end"]), "Elapsed": lambda r: clock(r["elapsed_s"]), "ElapsedRaw": lambda r: "%d" % r["elapsed_s"],
    "Timelimit": lambda r: "UNLIMITED" if r["limit_s"] is None else clock(r["limit_s"]),
    "TimelimitRaw": lambda r: "UNLIMITED" if r["limit_s"] is None else "%d" % (r["limit_s"] // 60),
    "NNodes": lambda r: "%d" % r["nodes"], "NodeList": lambda r: r["node_list"] or "None assigned",
    "AllocCPUS": lambda r: "%d" % r["cpus"], "NCPUS": lambda r: "%d" % r["cpus"], "AllocTRES": tres,
    "ReqMem": lambda r: "" if r["mem_asked_mb"] is None else "%dM" % (r["mem_asked_mb"] * r["nodes"]),
    "TotalCPU": lambda r: clock(r["slurm_cpu_s"] or 0), "CPUTimeRAW": lambda r: "%d" % (r["elapsed_s"] * r["cpus"]),
    "Restarts": lambda r: "%d" % r["restart"], "JobName": lambda r: r["name"],
}


def sacct(row, fields, delimiter="|"):
    """The line of a job, as `sacct -P -n -X` prints it; a field that is not known here is empty."""
    return delimiter.join(SACCT.get(f, lambda r: "")(row) for f in fields)


# ---- as job files

FIRST_UID = 30001


def job_files(top, count, users=10, seed=1):
    """Small job files in directories of users, who own them where this process is root. Yields (path, what is true of it)."""
    sys.path.insert(0, os.path.join(ROOT, "tests/findings"))
    from jobs import Job
    rng = numpy.random.default_rng(seed)
    for i in range(count):
        uid = FIRST_UID + int(rng.integers(0, users)) if os.geteuid() == 0 else os.geteuid()
        nodes, cores, wall = int(rng.integers(1, 3)), int(2 ** rng.integers(1, 3)), int(rng.integers(6, 20)) * 60
        job = Job(nodes=nodes, tasks=nodes * 2, cores=cores, wall=wall, seed=i, job=i + 1, job_name="run_%d" % (i % 7),
                  account="p%d" % (uid % 3))
        job.cpu((0.97, 0.5, 0.04)[i % 3])
        d = os.path.join(top, str(uid))
        os.makedirs(d, exist_ok=True)
        path = os.path.join(d, "job_%d.h5" % (i + 1))
        job.write(path)
        if os.geteuid() == 0:
            os.chown(path, uid, uid)
        yield path, {"job_id": i + 1, "user": str(uid), "account": "p%d" % (uid % 3), "elapsed_s": wall, "nodes": nodes,
                     "held_core_s": wall * nodes * cores}


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--jobs", type=int, default=1000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--days", type=int, default=90)
    p.add_argument("--users", type=int, default=600)
    p.add_argument("--projects", type=int, default=80)
    p.add_argument("--end", type=int, default=END, help="Unix time before which all begin")
    p.add_argument("--hostile", action="store_true", help="with names that mean harm")
    p.add_argument("--files", metavar="DIR", help="job files there, in the place of rows")
    p.add_argument("--sacct", metavar="FIELDS", help="as sacct -P -n -X --format=FIELDS prints them")
    o = p.parse_args()
    if o.files:
        for path, _ in job_files(o.files, o.jobs, min(o.users, 50), o.seed):
            print(path)
        return
    site = Site(o.jobs, o.seed, o.users, o.projects, o.days, o.end, o.hostile, nodes=True)
    if not o.sacct:
        site.write(sys.stdout)
        return
    for row in site.rows():
        if row["sources"] & 1:
            print(sacct(row, o.sacct.split(",")))


if __name__ == "__main__":
    main()
