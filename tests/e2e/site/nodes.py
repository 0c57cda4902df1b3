#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof node and nodes: rows of five minutes are what the profiles' tables have, the ledger adds up to the wait that the kernel counted,
a user sees nothing of others, and speeds, hours and changes are those of sums made here."""

import base64
import collections
import contextlib
import os
import statistics
import sys
import time

sys.path.insert(0, sys.path[0] + "/../../lib")
sys.path.insert(0, os.path.realpath(__file__ + "/../../../findings"))
from sitelib import *
import h5py
import layout
import jobs as made_jobs
import postgreslib

SLOT = 300
ASKED = "queue_read"  # of the table meta: when Slurm's queue was read
NOW = steady_now()
BEGIN = NOW // 3600 * 3600 - 12 * 3600 + 137  # in the middle of a slot
ME = "root" if os.geteuid() == 0 else __import__("getpass").getuser()
VALUES = re.findall(r"^NODE_ROW\((\w+), (\w+), (\d+)", open(os.path.join(ROOT, "schemas/noderow.def")).read(), re.M)
NAMES = [name for name, _, _ in VALUES]
# the columns of the profile that a value is the sum of, by series
OF_TABLES = {"cpu_ms": ("Step", ["CPUTime"]), "wait_ms": ("Step", ["RunDelay"]), "own_ms": ("Culprits", ["OwnTask", "OwnStep", "OwnJob"]),
             "others_ms": ("Culprits", ["OtherJobs"]), "system_ms": ("Culprits", ["System"]), "wakeup_ms": ("Culprits", ["Idle"]),
             "quota_ms": ("Culprits", ["Quota"]), "energy_j": ("Energy", ["StepEnergy"]), "energy_low_j": ("Energy", ["StepEnergyLow"]),
             "energy_high_j": ("Energy", ["StepEnergyHigh"]), "node_idle_ms": ("CPU", ["IdleTime"]), "node_system_j": ("Energy", ["SystemEnergy"]),
             "node_unallocated_j": ("Energy", ["UnallocatedEnergy"]),
             "node_energy_j": ("Energy", ["StepEnergy", "OtherEnergy", "SystemEnergy", "UnallocatedEnergy"])}


def job(path, start, number, wall, nodes=1, cpu=0.8, wait=0.3, user=ME, culprits=True, describe=None, **more):
    """Writes a profile of a job that shares its nodes, 16 cores each."""
    layout.START = made_jobs.START = start
    j = made_jobs.Job(**{"nodes": nodes, "tasks": nodes * 2, "cores": 4, "wall": wall, "row": 30, "seed": number, "job": number, "user": user, "job_name": "run_%d" % number, "shared": True, **more})
    j.cpu(cpu)
    j.put(RunDelay=wait)
    if culprits:
        j.culprits(OwnTask=0.4, OtherJobs=0.3, System=0.15, Idle=0.05, Quota=0.02)  # nobody knows the rest
    j.put_node("CPU", IdleTime=5.0, MemUsedMB=9000.0)
    if describe:
        describe(j)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    j.write(path)


class Tree:
    def __init__(self):
        self.dir, self.index = tmpdir("prof"), os.path.join(tmpdir("index"), "index.db")
        self.user = os.path.join(self.dir, ME)

    def path(self, number):
        return os.path.join(self.user, "job_%d.h5" % number)

    def add(self, number, start, wall, **more):
        job(self.path(number), start, number, wall, **more)

    def scan(self, *args):
        return must("index", "scan", "--database", self.index, *args, self.dir)

    def sql(self, text, args=()):
        with contextlib.closing(sqlite3.connect(self.index)) as db:
            return db.execute(text, args).fetchall()

    def rows(self, number, node):
        """{slot: {name: value}}"""
        got = self.sql("SELECT r.t, %s FROM node_row r JOIN node n ON n.id = r.node JOIN job j ON j.id = r.job WHERE j.job_id = ? AND n.name = ? ORDER BY r.t"
                       % ", ".join("r." + n for n in NAMES), (number, node))
        return {r[0]: dict(zip(NAMES, r[1:])) for r in got}

    def node(self, name, *args, **more):
        return as_json("node", "-w", name, "--database", self.index, "--since", "24h", *args, **more)


def tables(path, node, series):
    """(begin, end, row) of the tables of a node, in Unix time."""
    with h5py.File(path) as f:
        for step in f["Steps"].values():
            group = step["Nodes"].get(node)
            if group is None or series not in group:
                continue
            for table in [group[series]] if isinstance(group[series], h5py.Dataset) else group[series].values():
                data = table[...]
                begin = float(group.attrs["Start TimeNS"][0]) / 1e9
                for row in data:
                    end = float(row["TimeNS"]) / 1e9
                    yield begin, end, row
                    begin = end


def in_slots(path, node, series, columns):
    """What the rows have, spread evenly over their time, by slot; None: there is no such table."""
    sums, some = collections.defaultdict(float), False
    for begin, end, row in tables(path, node, series):
        v = sum(float(row[c]) for c in columns)
        some = True
        for t in range(int(begin // SLOT), int(end // SLOT) + 1):
            part = min(end, (t + 1) * SLOT) - max(begin, t * SLOT)
            if part > 0:
                sums[t] += v * part / (end - begin)
    return dict(sums) if some else None


def three():
    """Jobs that overlap on n1, and one that is on n2, too."""
    t = Tree()
    t.add(11, BEGIN, 3600, nodes=2)
    t.add(12, BEGIN + 600, 5000)
    t.add(13, BEGIN + 7000, 1234, wait=0.9)
    t.add(14, BEGIN + 9000, 900, cpu=0.0, wait=0.0, culprits=False)
    t.scan()
    return t


def same_as_csv(path, words, table, rows):
    """The table as CSV has the rows of the JSON."""
    got = list(csv.DictReader(io.StringIO(must(*words, "--database", path, "--csv", "--table", table))))
    def is_same(text, v):
        return text == "" if v is None else float(text) == v if isinstance(v, (int, float)) else text == v if isinstance(v, str) else str(len(v)) in str(text.count(";") + bool(text))
    bad = [(k, v, g.get(k)) for r, g in zip(rows, got) for k, v in r.items() if g.get(k) is None or not is_same(g[k], v)]
    is_equal("%s --table %s: is the JSON's" % (" ".join(words), table), (len(got), bad[:2], bool(rows)), (len(rows), [], True))


def rows_are_the_tables():
    t = three()
    bad, n = [], 0
    for number, nodes in ((11, ("n1", "n2")), (12, ("n1",)), (13, ("n1",)), (14, ("n1",))):
        for node in nodes:
            got = t.rows(number, node)
            for name, (series, columns) in OF_TABLES.items():
                scale = int(next(s for v, _, s in VALUES if v == name))
                want = in_slots(t.path(number), node, series, columns)
                if want is None:
                    bad += ["%d %s has no %s" % (number, name, series)] if any(r[name] is not None for r in got.values()) else []
                    continue
                n += 1
                bad += ["%d %s %s: slots" % (number, node, name)] if set(want) != set(got) else []
                # each value is rounded, and what rounding left goes to the next one
                bad += ["%d %s %s at %d: %r, not %r" % (number, node, name, k, got[k][name], v * scale) for k, v in want.items() if k in got and abs((got[k][name] or 0) - v * scale) > 1.01]
                total_ = sum(r[name] or 0 for r in got.values())
                bad += ["%d %s %s: sum %r, not %r" % (number, node, name, total_, sum(want.values()) * scale)] if abs(total_ - sum(want.values()) * scale) > 1 else []
    is_equal("rows: each value is that of the profile's rows, and so are the sums", [bad[:5], n > 50], [[], True])
    span = t.rows(13, "n1")
    is_equal("rows: the time that has rows", sum(r["span_s"] for r in span.values()), 1234)
    is_equal("rows: 0 is 0 where it was measured, and unknown where it was not", [{r["cpu_ms"] for r in t.rows(14, "n1").values()}, {r["others_ms"] for r in t.rows(14, "n1").values()}],
             [{0}, {None}])
    is_equal("nodes are known by name and size", t.sql("SELECT name, cores, cpus, model FROM node ORDER BY name"),
             [("n1", 16.0, 16.0, made_jobs.MODEL), ("n2", 16.0, 16.0, made_jobs.MODEL)])
    return t


def ledger():
    t = three()
    got = t.node("n1")
    columns, rows = [c["job_id"] for c in got["ledger"]["columns"]], {r["job_id"]: r for r in got["ledger"]["rows"]}
    is_equal("ledger: jobs that waited", sorted(rows), [11, 12, 13])
    bad = []
    for number, r in rows.items():
        kernels = sum(in_slots(t.path(number), "n1", "Step", ["RunDelay"]).values())
        parts = r["own_s"] + sum(v for v in r["by_job_s"] if v) + r["other_job_s"] + r["system_s"] + r["wakeup_s"] + r["quota_s"] + r["no_owner_s"]
        bad += [(number, parts, kernels)] if abs(parts - kernels) > 0.01 * kernels else []
        others = sum(in_slots(t.path(number), "n1", "Culprits", ["OtherJobs"]).values())
        by = sum(v for v in r["by_job_s"] if v) + r["other_job_s"]
        bad += [(number, by, others)] if abs(by - others) > 0.01 * others else []
        bad += [(number, "itself")] if number in columns and r["by_job_s"][columns.index(number)] is not None else []
    is_equal("ledger: rows add up to the kernel's run-queue wait within 1 %, and others to OtherJobs", bad, [])
    is_equal("ledger: for whom", columns, sorted(columns))
    # 13 was alone: whom it waited for nobody knows; 11 and 12 had each other alone
    is_true("ledger: alone on the node, the other job is not known", approx(rows[13]["other_job_s"], 0.3 * rows[13]["wait_s"], 0.01) and not any(rows[13]["by_job_s"]), rows[13])
    alone = sum(v for k, v in in_slots(t.path(12), "n1", "Culprits", ["OtherJobs"]).items() if k * SLOT >= BEGIN + 3600)
    is_true("ledger: where one other job was there it is that one, exactly", approx(rows[12]["other_job_s"], alone, 0.02) and rows[12]["exact_share"] == 1 and columns[:2] == [11, 12], rows[12])
    is_equal("ledger: no owner", differ(got["ledger"]["no_owner_s"], sum(r["no_owner_s"] for r in rows.values())), False)
    is_equal("pairs: by names", [p["names"] for p in got["pairs"]], [["run_11", "run_12"]])


def lines():
    t = three()
    got = t.node("n1")
    first, n = got["from"] // SLOT, (got["until"] - got["from"]) // SLOT
    is_equal("lines: a number or null for each five minutes", {k: len(v) for k, v in got["lines"].items()}, {k: n for k in got["lines"]})
    rows = {number: t.rows(number, "n1") for number in (11, 12, 13, 14)}
    bad = []
    for k in range(n):
        here = [r[first + k] for r in rows.values() if first + k in r]
        line = {name: v[k] for name, v in got["lines"].items()}
        if not here:
            bad += [(k, line)] if set(line.values()) != {None} else []
            continue
        spans = max(r["span_s"] for r in here)
        if spans < SLOT:
            continue  # of a part of the time
        cpu = sum(r["cpu_ms"] for r in here) / 1000 / SLOT
        want = {"cpu_jobs_cores": cpu, "cpu_other_cores": max(0, 16 - 5 - cpu), "wait_threads": sum(r["wait_ms"] for r in here) / 1000 / SLOT, "memory_mb": 9000,
                "memory_jobs_mb": sum(r["memory_mb"] for r in here), "power_w": max(r["node_energy_j"] for r in here) / SLOT}
        bad += [(k, name, line[name], v) for name, v in want.items() if abs(line[name] - v) > 0.006 * max(1, v)]
    is_equal("lines: of the rows; gaps are null", bad[:5], [])
    is_true("lines: 0 is 0", 0 in got["lines"]["cpu_jobs_cores"] and 0 in got["lines"]["wait_threads"], got["lines"])
    known = [(a, b, c) for a, b, c in zip(got["lines"]["power_low_w"], got["lines"]["power_w"], got["lines"]["power_high_w"]) if b is not None]
    is_equal("lines: power is within its bounds", [k for k in known if not k[0] < k[1] < k[2]], [])


def lanes():
    t = three()
    got = {l["job_id"]: l for l in t.node("n1")["lanes"]}
    is_equal("lanes: the jobs that were there", sorted(got), [11, 12, 13, 14])
    bad = []
    for number, l in got.items():
        rows = t.rows(number, "n1").values()
        cpu, wait = sum(r["cpu_ms"] for r in rows) / 1000, sum(r["wait_ms"] for r in rows) / 1000
        want = {"cpu_s": cpu, "wait_s": wait, "cpu_share": cpu / (4 * sum(r["span_s"] for r in rows)), "memory_mb": max(r["memory_mb"] for r in rows),
                "wait_share": wait / (wait + cpu) if wait + cpu else None, "energy_j": sum(r["energy_j"] for r in rows)}
        bad += [(number, k, l[k], v) for k, v in want.items() if differ(l[k], v)]
        job_ = t.sql("SELECT start, \"end\", lost_core_s, worst_rule, user, name FROM job WHERE job_id = ?", (number,))[0]
        bad += [(number, a, b) for a, b in zip((l["start"], l["end"], l["lost_core_s"], l["worst_rule"] or "", l["user"], l["name"]), job_) if a != b]
    is_equal("lanes: sums of rows, and what the index has of the jobs", bad, [])
    only = t.node("n2")
    is_equal("lanes: of another node", [l["job_id"] for l in only["lanes"]], [11])
    p = call("node", "-w", "n77", "--database", t.index)
    is_equal("a node that nobody was on", [p.returncode, p.stdout, "n77" in p.stderr], [os.EX_NOPERM, "", True])
    text = must("node", "-w", "n1", "--database", t.index, env={"COLUMNS": "150"})
    is_true("text: jobs, lines and ledger", all(word in text for word in ("run_13", "CPU of jobs", "no owner", "16 cores")), text)
    got = as_json("node", "-w", "n1", "--database", t.index, "--since", "24h")
    node = ("node", "-w", "n1", "--since", "24h")
    same_as_csv(t.index, node, "lines", [{"from": got["from"] + k * got["step_s"], **{name: v[k] for name, v in got["lines"].items()}} for k in range(len(got["lines"]["memory_mb"]))])
    same_as_csv(t.index, node, "ledger", [{**{k: v for k, v in r.items() if k != "by_job_s"}, **{"by_%d_s" % c["job_id"]: v for c, v in zip(got["ledger"]["columns"], r["by_job_s"])}} for r in got["ledger"]["rows"]])
    same_as_csv(t.index, node, "pairs", got["pairs"])
    for words in (("--table", "ledger"), ("--csv", "--table", "nope"), ("--csv", "--table", "node"), ("--csv", "--table", "")):
        is_equal("no table: %s" % " ".join(words), [call(*v, "--database", t.index, *words).returncode for v in (node, ("nodes",))], [2, 2])
    is_equal("CSV has the same jobs", [r["job_id"] for r in csv.DictReader(io.StringIO(must("node", "-w", "n1", "--database", t.index, "--csv")))], ["11", "12", "13", "14"])


def stored_rows():
    """report --store puts them into the file, and the index takes them from there."""
    t = three()
    want, kinds = {n: t.rows(n, "n1") for n in (11, 12, 13, 14)}, t.sql("SELECT name, model, cores, cpus, memory_mb FROM node ORDER BY name")
    for n in want:
        must("report", "--store", "--overwrite", t.path(n))
    t.index = os.path.join(tmpdir("again"), "index.db")
    t.scan()
    is_equal("stored rows: the same", [{n: t.rows(n, "n1") for n in want}, t.sql("SELECT name, model, cores, cpus, memory_mb FROM node ORDER BY name")], [want, kinds])
    t.scan("--again")
    is_equal("read again: the same", {n: t.rows(n, "n1") for n in want}, want)


def write(path, rows):
    with open(path + ".jsonl", "w") as f:
        f.writelines(json.dumps(r) + "\n" for r in rows)
    return call("index", "import", "--database", path, path + ".jsonl")


def base(number, **more):
    start = BEGIN
    return {"job_id": number, "cluster": "c", "start": start, "end": start + 3600, "elapsed_s": 3600, "cpus": 8, "nodes": 1, "user": "u%d" % number, "sources": 2, "name": "x",
            "node_names": ["n1"], **more}


def of_node(node="n1", first=BEGIN // SLOT * SLOT, n=3, **values):
    return {"node": node, "kind": {"model": "M", "cores": 8, "cpus": 8, "memory_mb": 1000}, "from": first, **{k: [v] * n for k, v in values.items()}}


def exported_rows():
    """Another index that imports what export prints has the same rows of nodes, and shows the same pages."""
    t, other = three(), os.path.join(tmpdir("other"), "index.db")
    lines = os.path.join(tmpdir("lines"), "rows.jsonl")
    with open(lines, "w") as f:
        f.write(must("index", "export", "--database", t.index))
    must("index", "import", "--database", other, lines)
    question = "SELECT n.cluster, n.name, n.model, n.cores, n.cpus, n.memory_mb, j.job_id, r.t, %s FROM node_row r JOIN node n ON n.id = r.node JOIN job j ON j.id = r.job ORDER BY 2, 7, 8" % ", ".join("r." + n for n in NAMES)
    both = [sql(path, question) for path in (t.index, other)]
    is_true("export: there are rows", len(both[0]) > 20, len(both[0]))
    is_equal("export: another index has the same rows of nodes", [pair for pair in zip(*both) if pair[0] != pair[1]][:2] or len(both[0]) - len(both[1]), 0)
    for words in (("node", "-w", "n1", "--since", "24h"), ("node", "-w", "n2", "--since", "24h"), ("nodes", "--since", "24h")):
        is_equal("export: %s is the same" % " ".join(words), *[{k: v for k, v in as_json(*words, "--database", path, "--until", str(NOW)).items() if k != "changed"} for path in (t.index, other)])
    is_equal("export: twice is as once", [must("index", "import", "--database", other, lines) and sql(other, question) == both[1]], [True])
    is_true("export: without names there are none", "node_rows" not in must("index", "export", "--anonymize", "--database", t.index), "")


def hostile_values():
    path = os.path.join(tmpdir("hostile"), "index.db")
    huge = [2 ** 31, 10 ** 18, -1, -2 ** 31, 1.5, "x", None, [], True]
    rows = [
        base(1, node_rows=[of_node(cpu_ms=10 ** 9, wait_ms=2 ** 31 - 1, memory_mb=2 ** 30, node_energy_j=10 ** 9, span_s=301, energy_j=5)]),
        base(2, node_rows=[{**of_node(), **{name: huge for name in NAMES}}]),
        base(3, node_rows=[of_node(first=BEGIN - 7200, cpu_ms=1), of_node(first=BEGIN + 3600 + 600, cpu_ms=2), of_node("n9", cpu_ms=3)]),
        base(4, node_rows=[of_node("n1\x1b[2J' --", cpu_ms=4)], node_names=["n1\x1b[2J' --"]),
        base(5, node_rows=[{**of_node(cpu_ms=5), "kind": {"model": "x" * 5000, "cores": 1e300, "cpus": -4, "memory_mb": "y"}}]),
    ]
    p = write(path, rows)
    is_equal("hostile values: the rows are taken", [p.returncode, p.stderr], [0, ""])
    ask = lambda number: sql(path, "SELECT %s FROM node_row r JOIN job j ON j.id = r.job WHERE j.job_id = %d" % (", ".join("r." + n for n in NAMES), number))
    first = dict(zip(NAMES, ask(1)[0]))
    is_equal("more than a node can is not known", {k: v for k, v in first.items() if v is not None}, {"wait_ms": 2 ** 31 - 1, "energy_j": 5})
    is_equal("what is no number is not known", ask(2), [])
    is_equal("times outside of the job, and nodes that it was not on, have no rows", ask(3), [])
    is_equal("hostile names are cleaned as all are", sql(path, "SELECT name FROM node ORDER BY 1"), [("n1",), ("n1\ufffd[2J' --",)])
    is_equal("the size of a node is possible, or not known", sql(path, "SELECT cores, cpus, memory_mb FROM node WHERE name = 'n1'"), [(8.0, 8.0, 1000.0)])
    for wrong in ({"node_rows": {}}, {"node_rows": [5]}, {"node_rows": [{"node": "n1"}]}, {"node_rows": [{"node": "n1", "from": -5}]}, {"node_rows": [{"node": "", "from": 5}]}):
        p = write(path, [base(9, **wrong)])
        is_true("refused: %s" % wrong, p.returncode == 1 and "node_rows" in p.stderr, p.stderr)
    for args in (("node", "-w", "n1"), ("node", "-w", "n1\ufffd[2J' --"), ("nodes",)):
        for form in ((), ("--json",), ("--csv",)):
            p = call(*args, "--database", path, *form)
            is_true("%s %s of hostile rows" % (" ".join(args[:2]), " ".join(form)), p.returncode == 0 and not p.stderr and "\x1b" not in p.stdout, p.stderr + p.stdout[:300])


def who_is_believed():
    """Slurm's word on nodes counts, and no profile alone can change what is known of a node."""
    path = os.path.join(tmpdir("believed"), "index.db")
    two = [of_node("n1", cpu_ms=1), of_node("n2", cpu_ms=2)]
    write(path, [base(1, node_rows=two, node_names=["n1", "n2"], nodes=2)])
    names = lambda: [r[0] for r in sql(path, "SELECT DISTINCT n.name FROM node_row r JOIN node n ON n.id = r.node ORDER BY 1")]
    is_equal("a profile's nodes", names(), ["n1", "n2"])
    slurm = {k: v for k, v in base(1, sources=1, node_names=["n2"]).items()}
    write(path, [slurm])
    is_equal("Slurm says that the job was on one of them", names(), ["n2"])
    write(path, [base(1, node_rows=two, node_names=["n1", "n2"], nodes=2)])
    is_equal("and the profile, read again, does not bring the other one back", names(), ["n2"])
    write(path, [base(2, node_names=["n2"], node_rows=[{**of_node("n2", cpu_ms=7), "kind": {"model": "M", "cores": 4000, "cpus": 4000}}])])
    is_equal("a node of which Slurm's jobs speak keeps its size", sql(path, "SELECT cores FROM node WHERE name = 'n2'"), [(8.0,)])
    grown = lambda number, cpu_ms: base(number, sources=3, node_names=["n2"], node_rows=[{**of_node("n2", cpu_ms=cpu_ms), "kind": {"model": "M", "cores": 16, "cpus": 16}}])
    write(path, [grown(3, 8 * 300 * 1000 + 10 ** 6)])
    is_equal("amounts are bounded by what the node is known to be", [sql(path, "SELECT max(cpu_ms) FROM node_row")[0][0] < 2400000, sql(path, "SELECT cores FROM node WHERE name = 'n2'")], [True, [(8.0,)]])
    write(path, [grown(number, 7) for number in range(4, 40)])
    is_equal("if most say otherwise, it has changed", sql(path, "SELECT cores FROM node WHERE name = 'n2'"), [(16.0,)])


def crowded():
    """Anybody can write profiles of hundreds of jobs that were on a node at once: its page is still there, and its rows add up."""
    path = os.path.join(tmpdir("crowded"), "index.db")
    n, first = 400, BEGIN // SLOT * SLOT
    values = {name: 1000 for name in NAMES} | {"wait_ms": 7000, "others_ms": 2000}
    write(path, [base(i + 1, start=first, end=first + 600, elapsed_s=600, user="evil", node_rows=[of_node(first=first, n=2, **values)]) for i in range(n)])
    got = as_json("node", "-w", "n1", "--since", "34d", "--database", path)
    rows = got["ledger"]["rows"]
    add_up = [differ(r["wait_s"], sum(r[k] for k in ("own_s", "other_job_s", "system_s", "wakeup_s", "quota_s", "no_owner_s")) + sum(x or 0 for x in r["by_job_s"])) for r in rows]
    is_equal("crowded: all jobs, and rows that add up", (len(got["lanes"]), len(rows), sum(add_up)), (n, 40, 0))
    is_true("crowded: each of the others had its part", all(x is None or not differ(x, 4 / (n - 1)) for r in rows[:1] for x in r["by_job_s"]), rows[0])
    text = call("node", "-w", "n1", "--since", "34d", "--database", path)
    is_equal("crowded: as text", (text.returncode, text.stderr), (0, ""))


def ages():
    path = os.path.join(tmpdir("ages"), "index.db")
    old = NOW - 36 * 86400
    write(path, [base(1, start=old, end=old + 86400 * 3, elapsed_s=86400 * 3, node_rows=[of_node(first=old // SLOT * SLOT, n=3 * 288, cpu_ms=1)])])
    least = sql(path, "SELECT min(t), count(*) FROM node_row")[0]
    is_true("rows of more than 35 days are not stored", least[1] > 500 and least[0] * SLOT >= NOW - 35 * 86400 - SLOT, least)
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE node_row SET t = t - 288 WHERE t < (SELECT min(t) + 100 FROM node_row)")
    write(path, [base(2)])
    is_equal("and go when a feed ends", sql(path, "SELECT count(*) FROM node_row")[0][0], least[1] - 100)
    must("index", "forget", "--database", path, "u1")
    is_equal("who is forgotten has no rows of nodes", sql(path, "SELECT count(*) FROM node_row"), [(0,)])


# ---- rights

SECRET = ("secretuser", "secretproject", "secretname", "secretprogram", "secretpart", "7777777", "secretrule")
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def rights():
    if os.geteuid():
        raise Skipped("needs root")
    os.chmod(TMP, 0o755)
    path = os.path.join(tmpdir("rights"), "index.db")
    t0 = BEGIN // SLOT * SLOT
    full = lambda v, n: {name: v for name in NAMES if name != "span_s"} | {"span_s": SLOT}
    secret = dict(user=SECRET[0], account=SECRET[1], name=SECRET[2], program="/opt/" + SECRET[3], partition=SECRET[4], job_id=7777777, state="NODE_FAIL",
                  findings=1, finding_list=[{"id": "cpu.unused", "text": SECRET[6], "severity": "bad", "where": "n1", "cost": {"core_s": 5}}])
    rows = [base(1, user="nobody", name="mine", sources=3, node_rows=[of_node(first=t0, n=12, **full(1000, 12))]),
            {**base(2, start=BEGIN - 1800, end=BEGIN + 1200, elapsed_s=3000, node_rows=[of_node(first=t0 - 1800, n=10, **full(123457, 10))]), **secret},
            {**base(3, start=BEGIN + 7200, end=BEGIN + 9000, elapsed_s=1800, node_rows=[of_node(first=t0 + 7200, n=6, **full(123457, 6))]), **secret, "job_id": 7777778},
            {**base(4, node_names=["n2"], node_rows=[of_node("n2", first=t0, n=12, **full(123457, 12))]), **secret, "job_id": 7777779}]
    p = write(path, rows)
    is_equal("rights: the rows are there", [p.returncode, p.stderr], [0, ""])
    os.chmod(os.path.dirname(path), 0o755)
    for name in (path, path + "-wal", path + "-shm"):
        if os.path.exists(name):
            os.chmod(name, 0o644)
    public = os.path.join(TMP, "jobprof")
    shutil.copy(JOBPROF, public)
    os.chmod(public, 0o755)
    ask = lambda *args: subprocess.run([*NOBODY, public, *args, "--database", path], capture_output=True, text=True, env=plain_env(TZ="UTC", HOME="/nonexistent", COLUMNS="200"))
    said = [ask("node", "-w", "n1", *form) for form in ((), ("--json",), ("--csv",), *(("--csv", "--table", t) for t in ("ledger", "lines", "pairs", "speed", "events", "jobs")))]
    is_equal("a user sees a node while own jobs ran there", {p.returncode for p in said}, {0})
    found = [(k, word) for k, p in enumerate(said) for word in (*SECRET, "123457", "123.457") if word in p.stdout + p.stderr]
    is_equal("and no byte of another's", found, [])
    got = json.loads(said[1].stdout)
    is_equal("another job has cores, and the time in which own jobs ran", [l for l in got["lanes"] if l["job_id"] != 1], [{"job_id": None, "cores": 8.0, "start": BEGIN, "end": BEGIN + 1200}])
    is_equal("the ledger has one other job, pairs and speed are not there", [got["ledger"]["columns"], [r["job_id"] for r in got["ledger"]["rows"]], got["pairs"], got["speed"], got["sees_all"]],
             [[{"job_id": None}], [1], None, None, False])
    at = lambda t: (t - got["from"]) // SLOT
    line = got["lines"]["cpu_jobs_cores"]
    is_equal("lines are of own jobs, and known only while these ran", [[k for k, v in enumerate(line) if v is not None], line[at(t0 + 300)]], [[at(t0) + k for k in range(12)], 0.003])
    for args in (("node", "-w", "n2"), ("node", "-w", "n777"), ("nodes",), ("nodes", "--json")):
        p = ask(*args)
        is_equal("%s is not for this user" % " ".join(args), [p.returncode, p.stdout, p.stderr.count("\n")], [os.EX_NOPERM, "", 1])
    p = write(path, [base(6, user="nobody", name="forged", node_names=["n2", "n1"], nodes=2, start=BEGIN - 80000, end=BEGIN + 4000, elapsed_s=84000)])
    forged = [json.loads(ask("node", "-w", n, "--json", "--since", "30h").stdout) for n in ("n1", "n2")]
    is_equal("a profile that Slurm does not know opens no other's times", [[l for l in got["lanes"] if l["job_id"] not in (1, 6)] for got in forged],
             [[{"job_id": None, "cores": 8.0, "start": BEGIN, "end": BEGIN + 1200}], []])
    same = [ask("node", "-w", n).stderr.replace(n, "N") for n in ("n4", "n777")]
    is_equal("others' nodes and those that do not exist are answered alike", same[0], same[1])
    staff = json.loads(must("node", "-w", "n1", "--database", path, "--json"))
    is_equal("staff sees all", [sorted(l["job_id"] for l in staff["lanes"] if l["job_id"] != 6), sorted({e["kind"] for e in staff["events"]})], [[1, 7777777, 7777778], ["finding", "node_fail"]])


# ---- all nodes

def decode(heat, name, node, n):
    raw = base64.b64decode(heat[name]["bytes"])
    return raw[node * n:(node + 1) * n]


def hours():
    t = three()
    got = as_json("nodes", "--database", t.index, "--since", "24h")
    nodes = [n["node"] for n in got["nodes"]]
    is_equal("nodes: all of them, with their kind", [nodes, [(k["cores"], k["nodes"]) for k in got["kinds"]]], [["n1", "n2"], [(16, 2)]])
    rows = t.sql("SELECT n.name, r.t * 300, %s FROM node_row r JOIN node n ON n.id = r.node" % ", ".join("r." + n for n in NAMES))
    by = collections.defaultdict(lambda: collections.defaultdict(list))
    for name, at, *values in rows:
        by[name, at // 3600 * 3600][at].append(dict(zip(NAMES, values)))
    bad, n = [], 0
    for i, name in enumerate(nodes):
        heat = {q: decode(got["heat"], q, i, got["steps"]) for q in ("busy", "wait", "memory", "power")}
        for k in range(got["steps"]):
            hour = by.get((name, got["from"] + k * 3600))
            if not hour:
                bad += [(name, k)] if any(h[k] not in (got["heat"]["code_not_known"], got["heat"]["code_no_job"]) for h in heat.values()) else []
                continue
            n += 1
            all_rows = [r for slot in hour.values() for r in slot]
            idle = sum(max(r["node_idle_ms"] for r in slot) for slot in hour.values()) / 1000
            span = sum(max(r["span_s"] for r in slot) for slot in hour.values())
            cpu, wait = sum(r["cpu_ms"] for r in all_rows), sum(r["wait_ms"] for r in all_rows)
            want = {"busy": 1 - idle / (16 * span), "wait": wait / (cpu + wait) if cpu + wait else None, "memory": 9000 / 34816,
                    "power": sum(max(r["node_energy_j"] for r in slot) for slot in hour.values()) / span}
            for q, v in want.items():
                level = 254 if v is None else round(200 * min(v / got["heat"][q]["top"], 1))
                if abs(heat[q][k] - level) > 1:
                    bad.append((name, k, q, heat[q][k], level))
    is_equal("nodes: each hour is that of its rows", [bad[:5], n >= 5], [[], True])
    energy = got["energy"]
    midnight = NOW // 86400 * 86400
    of_day = lambda begin: [r for r in rows if begin <= r[1] < begin + 86400]
    for key, begin in (("all_j", midnight), ("yesterday_j", midnight - 86400)):
        per = collections.defaultdict(list)
        for name, at, *values in of_day(begin):
            per[name, at].append(dict(zip(NAMES, values)))
        want = sum(max(r["node_energy_j"] for r in slot) for slot in per.values()) if per else None
        is_equal("energy: %s" % key, differ(energy[key], want), False)
    table = list(csv.DictReader(io.StringIO(must("nodes", "--database", t.index, "--since", "24h", "--csv"))))
    is_equal("nodes: CSV has a row for each node and hour", [len(table), sum(r["had_job"] == "1" for r in table)], [2 * got["steps"], sum(sum(b != 253 for b in decode(got["heat"], "busy", i, got["steps"])) for i in range(2))])
    text = must("nodes", "--database", t.index)
    is_true("nodes: text", "2 nodes" in text and "n1" in text and "before" in text, text)


def hours_of_others():
    """In a cluster that Slurm knows, a profile of a job that it does not know adds no node, and nothing to nodes of others; elsewhere it does."""
    path = os.path.join(tmpdir("others"), "index.db")
    values = {name: 1000 for name in NAMES}
    sure = [base(k, sources=3, node_names=["n%d" % k], node_rows=[of_node("n%d" % k, n=12, **values)]) for k in (1, 2)]
    old = base(3, sources=3, start=NOW - 30 * 86400, end=BEGIN + 900, elapsed_s=BEGIN + 900 - NOW + 30 * 86400, node_names=["n3"], node_rows=[of_node("n3", **values)])  # that began long before
    write(path, [*sure, old])
    until = datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ")
    ask = lambda: {k: v for k, v in as_json("nodes", "--since", "7d", "--until", until, "--database", path).items() if k in ("heat", "nodes", "kinds", "energy", "last", "slow")}
    want = ask()
    is_equal("hours of others: nodes that Slurm knows", [n["node"] for n in want["nodes"]], ["n1", "n2", "n3"])
    huge = {"wait_ms": 2 ** 31 - 1, "cpu_ms": 2400000, "memory_mb": 10 ** 6, "node_memory_mb": 10 ** 6, "node_energy_j": 10 ** 6, "span_s": 300, "node_idle_ms": 0}
    names = ["n1", "n2", "n3"] + ["z%d" % k for k in range(300)]
    forged = lambda number, **more: base(number, nodes=len(names), cpus=8 * len(names), user="evil", node_names=names, node_rows=[{**of_node(n, n=12, **huge), "kind": {"model": n, "cores": 8, "cpus": 8}} for n in names], **more)
    write(path, [forged(10), forged(11, start=BEGIN - 20 * 86400, elapsed_s=3600 + 20 * 86400)])
    got = ask()
    is_equal("hours of others: as before", {k: got[k] == v for k, v in want.items()}, dict.fromkeys(want, True))
    write(path, [forged(12, cluster="d")])
    is_equal("hours of others: in a cluster without Slurm's word they are there", len(ask()["nodes"]), 3 + len(names))
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE job SET sources = 3")
    is_equal("hours of others: as they are when Slurm knows the job", len(ask()["nodes"]), 3 + 2 * len(names) - 3)


def speeds():
    """Runs of five applications on nine nodes; those on n5 take a fifth longer since three days."""
    rows, number = [], 0
    for k in range(360):
        app, at = k % 5, 1 + k % 9
        start = NOW - 20 * 86400 + k * 4700
        slow = at == 5 and start >= NOW - 10 * 86400
        elapsed = round(1000 * (1 + app) * (1 + 0.01 * ((k * 7919) % 11 - 5) / 5) * (1.25 if slow else 1))
        number += 1
        rows.append({"job_id": number, "cluster": "c", "start": start, "end": start + elapsed, "elapsed_s": elapsed, "cpus": 8, "nodes": 1, "tasks": 8, "user": "u", "name": "app%s" % "abcde"[app],
                     "program": "/p%d" % app, "state": "COMPLETED", "sources": 3, "findings": 0, "finding_list": [], "node_names": ["n%d" % at]})
    path = os.path.join(tmpdir("speeds"), "index.db")
    write(path, rows)
    got = as_json("nodes", "--database", path)
    usual = {name: statistics.median(r["elapsed_s"] for r in rows if r["name"] == name) for name in {r["name"] for r in rows}}
    took = collections.defaultdict(list)
    for r in rows:
        took[r["node_names"][0]].append(r["elapsed_s"] / usual[r["name"]])
    speed = {n: 1 / statistics.median(v) for n, v in took.items()}
    middle = statistics.median(speed.values())
    spread = max(0.005, 1.4826 * statistics.median(abs(v - middle) for v in speed.values()))
    is_equal("speeds: one node is slow", [s["node"] for s in got["slow"]], ["n5"])
    s = got["slow"][0]
    is_equal("speeds: median of its runs, robust z, runs", [differ(s["speed"], speed["n5"]), differ(s["z"], (speed["n5"] - middle) / spread), s["runs"], s["is_certain"]], [False, False, 40, True])
    mine = sorted((r for r in rows if r["node_names"] == ["n5"]), key=lambda r: r["start"])
    first = next(r["start"] for r in mine if r["elapsed_s"] / usual[r["name"]] > 1.2)
    is_true("speeds: since when", abs(s["since"] - first) < 3 * 86400, (s["since"], first))
    lost = sum(r["elapsed_s"] * 8 * (1 - speed["n5"]) for r in mine if r["start"] >= s["since"])
    is_equal("speeds: what that cost", [differ(s["lost_core_s"], lost), sum(x["runs"] for x in s["seen_in"]) > 0], [False, True])
    same_as_csv(path, ("nodes",), "slow", got["slow"])
    forged = [{**r, "job_id": 1000 + i, "user": "evil", "name": "forged", "elapsed_s": r["elapsed_s"] // (1 if r["node_names"] == ["n2"] else 4), "sources": 2, "state": ("COMPLETED", "NODE_FAIL")[i % 9 == 0], "findings": 1,
               "finding_list": [{"id": "node.slow", "text": "slow", "severity": "bad", "where": "n2", "cost": {"core_s": 5}}]} for i, r in enumerate(rows) if r["name"] == "appa"]
    write(path, forged)
    again = as_json("nodes", "--database", path)
    is_equal("speeds: profiles of jobs of which Slurm knows nothing make no node slow", [s["node"] for s in again["slow"]], ["n5"])
    is_equal("speeds: nor is a node in the digest by them", [n["node"] for n in as_json("digest", "--since", "34d", "--database", path)["nodes"]], ["n5"])
    one = as_json("node", "-w", "n2", "--database", path, "--since", "7d")
    same_as_csv(path, ("node", "-w", "n2", "--since", "7d"), "speed", one["speed"]["nodes"])
    is_equal("node: speed beside all of its kind", [[(n["node"], differ(n["speed"], speed[n["node"]]), n["is_slow"]) for n in one["speed"]["nodes"]], differ(one["speed"]["speed"], speed["n2"])],
             [[(n, False, n == "n5") for n in sorted(speed)], False])


def changes():
    """A project that loses more than in the week before, and a user who waits."""
    rows = []
    for k in range(200):
        start = NOW - 14 * 86400 + 3600 + k * 6000
        later = start >= NOW // 86400 * 86400 - 7 * 86400
        project = "p%d" % (k % 4)
        cost = 8000.0 if later and project == "p2" else 1000.0
        rows.append({"job_id": k + 1, "cluster": "c", "start": start, "end": start + 3000, "elapsed_s": 3000, "cpus": 8, "nodes": 1, "user": "u%d" % (k % 3), "account": project, "name": "a",
                     "state": "COMPLETED", "sources": 3, "cpu_s": 12000.0, "wait_s": 6000.0 if later and k % 3 == 1 else 100.0, "submit": start - (7200 if later else 600), "energy_j": 1e6,
                     "findings": 1, "finding_list": [{"id": "cpu.unused", "text": "x", "severity": "warn", "cost": {"core_s": cost}}], "partition": "batch"})
    path = os.path.join(tmpdir("changes"), "index.db")
    write(path, rows)
    since, until = NOW // 86400 * 86400 - 7 * 86400, time.time()
    got = {c["what"]: c for c in as_json("nodes", "--database", path, "--until", str(NOW))["changed"]}
    same_as_csv(path, ("nodes", "--until", str(NOW)), "changed", list(got.values()))
    got = {c["what"]: c for c in as_json("nodes", "--database", path)["changed"]}
    length = until - since
    week, before = [r for r in rows if r["start"] >= since], [r for r in rows if since - length <= r["start"] < since]
    lost = lambda rs: sum(r["finding_list"][0]["cost"]["core_s"] for r in rs)
    is_equal("changes: lost", [differ(got["lost_core_s"]["now"], lost(week)), abs(got["lost_core_s"]["before"] / lost(before) - 1) < 0.05, got["lost_core_s"]["verdict"]], [False, True, "worse"])
    is_true("changes: by which finding and project", "cpu.unused" in got["lost_core_s"]["why"] and "p2" in got["lost_core_s"]["why"] and "p1" not in got["lost_core_s"]["why"], got["lost_core_s"])
    wait = lambda rs: sum(r["wait_s"] for r in rs) / sum(r["wait_s"] + r["cpu_s"] for r in rs)
    is_equal("changes: wait", [differ(got["wait_share"]["now"], wait(week)), got["wait_share"]["verdict"]], [False, "worse"])
    is_true("changes: by whom", "user u1" in got["wait_share"]["why"] and "u2" not in got["wait_share"]["why"], got["wait_share"])
    is_equal("changes: queue", [got["queue_s"]["now"], got["queue_s"]["before"], got["queue_s"]["verdict"]], [7200, 600, "worse"])
    is_equal("changes: no cause of what is the same", [got["cpu_share"]["verdict"], got["cpu_share"]["why"]], ["same", None])


def now_running():
    """Jobs of Slurm's queue are lanes without an end, and counted by partition."""
    path = os.path.join(tmpdir("running"), "index.db")
    t0 = BEGIN // SLOT * SLOT
    write(path, [base(1, partition="cpu", node_rows=[of_node(first=t0, n=12, cpu_ms=1000, others_ms=500, wait_ms=600)])])
    got = as_json("nodes", "--database", path)["partitions"]
    is_equal("without a queue nobody knows what runs", [(p["partition"], p["running"], p["waiting"], p["started_24h"]) for p in got], [("cpu", None, None, 1)])
    queue = [(10, "cpu", "RUNNING", BEGIN + 600, "n[1-2]", 2, 16.0, 3.5), (11, "cpu", "RUNNING", BEGIN + 600, "n3", 1, 4.0, 0.2), (12, "cpu", "PENDING", None, None, 1, 4.0, None), (14, "big", "PENDING", None, None, 1, 4.0, None),
             (13, "gpu", "RUNNING", BEGIN, "n1", 1, 2.0, None), (1, "cpu", "COMPLETING", BEGIN + 1, "n1", 1, 8.0, None)]
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        for number, partition, state, start, nodes, n, cores, losing in queue:
            db.execute("INSERT INTO running (cluster, job_id, \"user\", account, partition, name, state, start, node_list, nodes, cores, losing_cores) VALUES ('c', ?, 'v', 'p', ?, 'r', ?, ?, ?, ?, ?, ?)",
                       (number, partition, state, start, nodes, n, cores, losing))
        db.execute("INSERT INTO meta (key, value) VALUES (?, ?)", (ASKED, str(NOW)))
    got = as_json("node", "-w", "n1", "--database", path, "--since", "24h")
    is_equal("lanes: running jobs have no end; who has just ended is there once", [(l["job_id"], l["cores"], l["start"], l["end"], l["state"]) for l in got["lanes"]],
             [(1, 8.0, BEGIN, BEGIN + 3600, None), (13, 2.0, BEGIN, None, "RUNNING"), (10, 8.0, BEGIN + 600, None, "RUNNING")])
    none_ended = as_json("node", "-w", "n3", "--database", path, "--since", "24h")
    is_equal("a node on which no job has ended", [none_ended["cluster"], [(l["job_id"], l["end"]) for l in none_ended["lanes"]]], ["c", [(11, None)]])
    is_equal("a node of no job", call("node", "-w", "n4", "--database", path, "--since", "24h").returncode, call("node", "-w", "none", "--database", path).returncode)
    of_all = as_json("nodes", "--database", path, "--since", "24h")
    hour = lambda at: decode(of_all["heat"], "busy", [n["node"] for n in of_all["nodes"]].index("n1"), of_all["steps"])[(at - of_all["from"]) // 3600]
    is_equal("nodes: while a job runs that has not ended it is not known how busy its node is", [hour(BEGIN - 3 * 3600), hour(NOW - 60)], [of_all["heat"]["code_no_job"], of_all["heat"]["code_not_known"]])
    row = got["ledger"]["rows"][0]
    early = 2 * 0.5  # 2 slots before job 10
    share10 = sum(0.5 * 8 / 10 * 1 for k in range(10))
    by = dict(zip([c["job_id"] for c in got["ledger"]["columns"]], row["by_job_s"]))
    is_true("ledger: jobs that run are divided by their cores", abs(sum(by.values()) - 6) < 1e-6 and abs(by[10] - share10) < 0.5 and by[13] >= early, by)
    parts = {p["partition"]: p for p in as_json("nodes", "--database", path)["partitions"]}
    is_equal("partitions: what runs, waits and loses", {k: [p["running"], p["running_cores"], p["waiting"], p["losing"], p["losing_cores"]] for k, p in parts.items()},
             {"cpu": [3, 28.0, 1, 1, 3.7], "gpu": [1, 2.0, 0, 0, 0.0], "big": [0, 0.0, 1, 0, 0.0]})
    is_equal("partitions: the busiest first", list(parts), ["cpu", "gpu", "big"])
    same_as_csv(path, ("nodes",), "partitions", list(parts.values()))


def both_engines():
    """The same rows give the same answers."""
    t = three()
    lines = os.path.join(tmpdir("both"), "rows.jsonl")
    rows = [base(k, start=BEGIN + 900 * k, end=BEGIN + 900 * k + 3000, elapsed_s=3000, partition="p%d" % (k % 2), submit=BEGIN, sources=3, state=("COMPLETED", "NODE_FAIL")[k == 3],
                 node_names=["n1", "n2"][:1 + k % 2], nodes=1 + k % 2,
                 node_rows=[{**of_node(n, first=BEGIN // SLOT * SLOT + 900 * k, n=10, **{name: 10 * (k + 1) for name in NAMES})} for n in ["n1", "n2"][:1 + k % 2]]) for k in range(1, 8)]
    with open(lines, "w") as f:
        f.writelines(json.dumps(r) + "\n" for r in rows)
    address = postgreslib.Server().new_database("nodes")
    answers = []
    for where in (os.path.join(os.path.dirname(lines), "i.db"), address):
        for again in range(2):  # a second time each row is replaced
            must("index", "import", "--database", where, lines)
        until = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(NOW))
        since = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(NOW - 86400))
        how = ("--database", where, "--since", since, "--until", until)
        answers.append([as_json("node", "-w", "n1", *how), as_json("node", "-w", "n2", *how), as_json("nodes", *how)])
        must("index", "forget", "--database", where, "u1")
        answers[-1].append(as_json("nodes", *how)["heat"])
        must("index", "scan", "--database", where, t.dir)
        must("index", "prune", "--database", where)
        answers[-1].append(as_json("nodes", *how)["heat"])
    is_equal("PostgreSQL and SQLite answer alike", [a == b for a, b in zip(*answers)], [True] * 5)
    is_true("and there is something to answer", len(answers[0][0]["lanes"]) == 7 and any(r["wait_s"] for r in answers[0][0]["ledger"]["rows"]), answers[0][0])


if __name__ == "__main__":
    run_tests((rows_are_the_tables, ledger, lines, lanes, stored_rows, exported_rows, hostile_values, who_is_believed, crowded, ages, rights, hours, hours_of_others, speeds, changes, now_running, both_engines))
