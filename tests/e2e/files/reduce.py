#!/usr/bin/python3
# runs: in full
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 400
"""jobprof reduce against numpy and exact fractions over the rows that h5py reads; by any number of processes and in
any order it says the same; what is damaged, lost or twice is said."""

import fractions
import pwd
import random
import struct
import zlib

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *
from h5make import *
from reducelib import *

COLUMNS = [("CPUTime", F), ("RSS", U), ("Residual", F), ("Far", F)]
ROWS = 700
K = 60


def rows_of_task(rng, n):
    """Residual has both signs and gaps, Far has a mean 10^8 times its deviation."""
    residual = rng.normal(0, 1, n) * 10.0 ** rng.integers(-9, 9, n)
    residual[rng.random(n) < 0.1] = numpy.nan
    cells = [numpy.where(rng.random(n) < 0.3, 0, rng.random(n) * 4), rng.integers(0, 1 << 40, n), residual,
             1e8 + rng.random(n)]
    return rows_of(numpy.arange(n), COLUMNS, cells)


def make_files(nodes=9, n=ROWS):
    """Node-step files of a job, and {(place, table): rows}."""
    d, rng, truth = os.path.join(tmpdir(), pwd.getpwuid(os.getuid()).pw_name), numpy.random.default_rng(nodes), {}
    os.mkdir(d)
    for i in range(nodes):
        tables = {"Tasks/%d" % (2 * i + k): rows_of_task(rng, n + 3 * i) for k in range(2)}
        node_file("%s/7_0_n%d.h5" % (d, i), "n%d" % i, tables, index=i, tasks=2)
        truth.update({("7.0/n%d" % i, name.split("/")[1]): rows for name, rows in tables.items()})
    return d, truth


def as_json(*args, **kw):
    return json.loads(reduced("--json", "-k", str(K), *args, **kw).stdout)


def results(j):
    """All but mean and deviation, which may differ in the last digits."""
    columns = [{k: v for k, v in c.items() if k not in ("mean", "std")} for c in j["columns"]]
    return [j["series"], columns, j["sample"]]


def means(j):
    return [[c["mean"], c["std"]] for c in j["columns"]]


def is_same(name, got, wanted):
    is_equal(name + ": the same digits", results(got), results(wanted))
    is_true(name + ": moments within 1e-12", numpy.allclose(means(got), means(wanted), rtol=1e-12, atol=0),
            [means(got), means(wanted)])


def moments():
    d, truth = make_files()
    got = {c["name"]: c for c in as_json(d)["columns"]}
    is_equal("moments: the columns", sorted(got), sorted(n for n, _ in COLUMNS))
    for name, _ in COLUMNS:
        v = numpy.concatenate([rows[name].astype(float) for rows in truth.values()])
        known = [fractions.Fraction(x) for x in v[~numpy.isnan(v)]]
        mean = sum(known) / len(known)
        std = float(sum((x - mean) ** 2 for x in known) / (len(known) - 1)) ** 0.5
        c = got[name]
        is_equal("%s: number, unknown, extremes" % name, [c["n"], c["unknown"], c["min"], c["max"]],
                 [len(known), len(v) - len(known), float(min(known)), float(max(known))])
        is_near("%s: mean" % name, c["mean"], float(mean), rel=1e-12)
        is_near("%s: deviation" % name, c["std"], std, rel=1e-12)
        histogram(name, c, v[~numpy.isnan(v)])


def histogram(name, c, v):
    for q, (low, high) in c["quantiles"].items():
        real = numpy.quantile(v, int(q[1:]) / 100, method="inverted_cdf")
        is_true("%s: %s is in its bin" % (name, q), low <= real <= high, [low, real, high])
    wrong = [b for b in c["histogram"] if not b[2] == numpy.sum(
        (v == 0) | (abs(v) < 2.0 ** -40) if b[0] <= 0 <= b[1] else (v >= b[0]) & (v < b[1]) | (v == b[1]) & (b[1] == max(v))
        if b[0] > 0 else (v > b[0]) & (v <= b[1]) | (v == b[0]) & (b[0] == min(v)))]
    is_equal("%s: bins have what numpy counts" % name, [wrong, sum(b[2] for b in c["histogram"])], [[], len(v)])


def splitmix(z):
    mask = (1 << 64) - 1
    z = (z + 0x9E3779B97F4A7C15) & mask
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
    return z ^ z >> 31


def unit(place, table):
    h = 0
    for byte in list(place.encode()) + [256] + list(table.encode()):
        h = splitmix(h ^ byte)
    return h


def sample():
    d, truth = make_files()
    j = as_json(d)
    names = [c["name"] for c in j["columns"]]
    keys = sorted((splitmix(unit(*where) ^ row), where, row) for where, rows in truth.items() for row in range(len(rows)))
    is_equal("sample: the rows with the smallest hashes", [(int(s["key"], 16), (s["node"], s["table"]), s["row"]) for s in j["sample"]],
             keys[:K])
    wrong = [s for s in j["sample"] for name, v in zip(names, s["values"])
             if not numpy.array_equal(numpy.float64(numpy.nan if v is None else v),
                                      numpy.float64(truth[s["node"], s["table"]][s["row"]][name]), equal_nan=True)]
    is_equal("sample: values are those of the rows", wrong, [])


def any_order():
    d, _ = make_files()
    whole, paths = as_json(d), paths_of(d)
    rng = numpy.random.default_rng(3)
    for turn in range(3):
        is_same("order %d" % turn, as_json(*rng.permutation(paths)), whole)
    is_same("the job file", as_json(merged(d)), whole)


def any_ranks():
    need_mpi()
    d, _ = make_files()
    whole = as_json(d)
    for n in (1, 2, 3, 8, 12):
        j = as_json(d, before=mpirun(n))
        is_same("%d processes" % n, j, whole)
        is_equal("%d processes: coverage" % n, [j["coverage"], j["cost"]["processes"]], [whole["coverage"], n])
        is_true("%d processes: what they cost is said" % n, 0 < j["cost"]["cpu_s"] < 60, j["cost"])


def parts():
    """Parts that are kept become the same result, in any order and grouping."""
    d, _ = make_files()
    whole, paths = as_json(d), paths_of(d)
    kept = []
    for i in range(3):
        reduced("-k", str(K), "--keep", "%s/keep%d" % (d, i), *paths[i::3])
        kept.append("%s/keep%d/rank-0.part" % (d, i))
    j = as_json(*reversed(kept))
    is_same("parts", j, whole)
    is_equal("parts: files of all lists", [j["coverage"][k] for k in ("files", "read", "nodes", "rows")],
             [whole["coverage"][k] for k in ("files", "read", "nodes", "rows")])
    p = reduced("-k", str(K), kept[0], kept[0], status=1)
    is_true("a part twice is refused", "in another file too" in p.stderr and not p.stdout, p.stderr)
    is_same("a file that is named twice counts once", as_json(paths[0], paths[0]), as_json(paths[0]))
    os.mkdir(d + "/copy")
    copy = shutil.copy(paths[0], d + "/copy")
    p = reduced(paths[0], copy, status=1)
    is_true("a copy of a file is refused", "in another file too" in p.stderr and not p.stdout, p.stderr)
    p = reduced("-k", "5", *kept, status=1)
    is_true("a part with another sample is refused", "of 60 rows" in p.stderr, p.stderr)


def with_checksum(head, body):
    magic, version, _, _ = struct.unpack("<QIIQ", head)
    return struct.pack("<QIIQ", magic, version, zlib.crc32(body), len(body)) + body


def damaged_parts():
    """A part is damaged by chance, or made by somebody who knows the checksum: it is refused, and the others count."""
    d, _ = make_files(3, 50)
    paths = paths_of(d)
    for i in (0, 1):
        reduced("-k", str(K), "--keep", "%s/keep%d" % (d, i), paths[i])
    good, other = ["%s/keep%d/rank-0.part" % (d, i) for i in (0, 1)]
    alone = as_json(good)
    with open(other, "rb") as f:
        whole = f.read()
    rng = random.Random(4)
    bad = os.path.join(d, "bad.part")
    wrong = []
    for turn in range(120):
        data = bytearray(whole)
        at = rng.randrange(24, len(data))
        if turn < 20:
            data = data[:at]
        elif turn < 40:
            data[at] ^= 1 << rng.randrange(8)
        else:  # 8 bytes of the body, most often of its counts, are anything
            at = 24 + 8 * rng.randrange(8 if turn % 2 else (len(data) - 32) // 8)
            data[at:at + 8] = struct.pack("<Q", rng.choice([0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1]) if turn % 3
                                          else rng.getrandbits(62))
            data = with_checksum(bytes(data[:24]), bytes(data[24:]))
        with open(bad, "wb") as f:
            f.write(data)
        p = subprocess.run(["prlimit", "--as=600000000", JOBPROF, "reduce", "-k", str(K), "--json", good, bad],
                           capture_output=True, text=True, env=plain_env(), timeout=20)
        must = turn < 40
        if p.returncode not in ((1,) if must else (0, 1)) or (must and results(json.loads(p.stdout)) != results(alone)):
            wrong.append((turn, at, p.returncode, p.stderr[:200]))
    is_equal("damaged parts: none ends the program, or counts where the checksum is wrong", wrong, [])
    with open(bad, "wb") as f:
        f.write(whole[:8] + struct.pack("<I", 9) + whole[12:])
    p = reduced("-k", str(K), good, bad, status=1)
    is_true("a part of another version is named", "another version" in p.stderr, p.stderr)
    with open(bad, "wb") as f:
        f.write(b"no part at all")
    p = reduced("-k", str(K), good, bad, status=1)
    is_true("what is no part is named", bad in p.stderr and "damaged" in p.stderr, p.stderr)


def damaged_file():
    d, truth = make_files(10, 40)
    path = paths_of(d)[3]
    with open(path, "r+b") as f:
        f.truncate(700)
    p = reduced("--json", d, status=1)
    j = json.loads(p.stdout)
    is_equal("a damaged file: what was covered", [j["coverage"][k] for k in ("files", "read", "nodes", "status")], [10, 9, 9, "OK"])
    is_true("a damaged file: it is named", path in p.stderr, p.stderr)
    with open(paths_of(d)[4], "r+b") as f:
        f.truncate(700)
    p = reduced(d, status=1)
    is_true("two of ten: degraded", "8 of 10 files were read: DEGRADED" in p.stdout, p.stdout)


def kill_rank(mpi, rank, others):
    """A process that mpirun started. What reads its files is stopped first, so that it has not ended when `others` are
    there, parts with all that the other processes have."""
    def readers():
        return [(p, child) for p in children(mpi) if rank_of(p) == b"%d" % rank for child in children(p)]
    wait_until(readers, 10, "what reads for rank %d" % rank)
    pid, reader = readers()[0]
    os.kill(reader, signal.SIGSTOP)
    wait_until(lambda: all(os.path.exists(p) for p in others), 20, "the parts of the others")
    time.sleep(1)  # they are written file by file
    os.kill(pid, signal.SIGKILL)


def lost_rank():
    """One process is killed while it reads. Where mpirun lets them the others end with what they have; where it ends
    them too, they have left it in parts."""
    need_mpi()
    d, _ = make_files(8, 40)
    for i in range(2, 8, 4):  # of rank 2: large enough for it to be seen while it reads
        with h5py.File("%s/7_0_n%d.h5" % (d, i), "a") as f:
            for t in range(20):
                dataset(f["n%d" % i], "Tasks/%d" % (100 + t), rows_of_task(numpy.random.default_rng(t), 60000))
    whole = as_json(*[p for i, p in enumerate(paths_of(d)) if i % 4 != 2])
    for more in ([], ["--enable-recovery"]):
        keep = d + "/keep" + "".join(more)
        p = subprocess.Popen(mpirun(4, *more) + [JOBPROF, "reduce", "--json", "-k", str(K), "--keep", keep, d], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env=plain_env(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
        try:
            kill_rank(p.pid, 2, ["%s/rank-%d.part" % (keep, i) for i in (0, 1, 3)])
            out, err = p.communicate(timeout=100)
        finally:
            p.terminate()  # mpirun ends those that are left
        kept = sorted(f for f in os.listdir(keep) if f.endswith(".part"))
        name = "a killed process" + "".join(" " + m for m in more)
        j = as_json(*[keep + "/" + f for f in kept if "rank-2" not in f], status=1)
        is_same(name + ": the parts of the others", j, whole)
        if more:
            j = json.loads(out)
            is_same(name + ": the others' result", j, whole)
            is_true(name + ": is named", "process 2 is lost" in err, err)
        is_equal(name + ": coverage", [j["coverage"][k] for k in ("files", "read", "status")], [8, 6, "DEGRADED"])


def stored():
    d, truth = make_files(4, 50)
    path = merged(d)
    reduced("--store", path)
    j = as_json(path)
    with h5py.File(path) as f:
        g = f["analysis/reduce/Tasks"]
        is_equal("stored: columns", [r["name"].decode() for r in g["columns"]], [c["name"] for c in j["columns"]])
        is_equal("stored: means", [float(r["mean"]) for r in g["columns"]], [c["mean"] for c in j["columns"]])
        is_equal("stored: the bins", int(sum(g["histograms"]["n"])), sum(c["n"] for c in j["columns"]))
        is_equal("stored: the sample begins like the other", [s["row"] for s in j["sample"]], [int(x) for x in g["sample"]["row"][:K]])
        is_equal("stored: the coverage", [g["coverage"].attrs["files"], g["coverage"].attrs["rows"]],
                 [1, sum(len(r) for r in truth.values())])
        is_equal("stored: the rows are there still", len(f["Steps"]["0"]["Nodes"]), 4)


def words():
    d, _ = make_files(2, 20)
    got = as_json("-d", "rss,CPUTIME", d)
    is_equal("-d: these columns, in any case", [c["name"] for c in got["columns"]], ["CPUTime", "RSS"])
    got = as_json("-s", "Tasks/3", "-N", "n1", d)
    is_equal("-s Tasks/3: one table", [got["coverage"]["tables"], got["coverage"]["rows"]], [1, 23])
    for args, code, text in ((["-d", "Nix", d], 1, "has a column Nix"), (["-s", "Energy", d], 1, "no file has a table of Energy"),
                             (["-k", "x", d], 2, "--sample"), ([], 2, "which files"), (["-d", ",", d], 2, "no list of columns"),
                             (["--store", d], 2, "one job file")):
        p = reduced(*args, status=code)
        is_true("%s: says why" % " ".join(args[:2]), text in p.stderr and p.stderr.count("\n") <= 2, p.stderr)
    lone = os.path.join(tmpdir(), "jobprof")
    shutil.copy(JOBPROF, lone)
    p = subprocess.run([lone, "reduce", d], capture_output=True, text=True,
                       env=plain_env(OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="0"))
    is_true("without the program for MPI: says what to install", p.returncode == 1 and "libopenmpi-dev" in p.stderr, p.stderr)
    text = reduced(d).stdout
    is_equal("the text has 80 columns", [x for x in text.splitlines() if len(x) > 80], [])


KINDS = ((0.002, 0.0005, 3000), (0.030, 0.004, 1500), (0.4, 0.0005, 900))  # run time, gap, bursts


def zeros():
    """A quantile that is 0 is printed so, whether larger numbers follow or not."""
    path = os.path.join(tmpdir(), "9_0_n0.h5")
    cells = [[0] * 7 + [3, 5, 9], [0] * 10]
    node_file(path, "n0", {"Tasks/0": rows_of(numpy.arange(10), [("Some", F), ("None", F)], cells)}, index=0)
    for args in (), ("--sample", "3"):
        lines = {x.split()[0]: x.split()[4:] for x in reduced(*args, path).stdout.splitlines() if x.startswith(("Some", "None"))}
        is_equal("zeros: least, p50, p95 and most", lines, {"Some": ["0", "0", "9", "9"], "None": ["0"] * 4})


def thousands():
    """Numbers of up to seven digits are written out; longer ones have three digits and an exponent."""
    path = os.path.join(tmpdir(), "9_0_n0.h5")
    values = {"Few": 999.4, "Some": 13542, "Many": -2445403, "More": 25445403}
    node_file(path, "n0", {"Tasks/0": rows_of([0], [(name, F) for name in values], [[v] for v in values.values()])}, index=0)
    lines = {x.split()[0]: x.split()[-1] for x in reduced(path).stdout.splitlines() if x.split() and x.split()[0] in values}
    is_equal("thousands: the highest", lines, {"Few": "999", "Some": "13542", "Many": "-2445403", "More": "2.54e7"})


def few_rows():
    """Quantiles of no more rows than the sample has are exact; of one more they are bins."""
    rng = numpy.random.default_rng(5)
    for n, args, is_exact in ((23, (), True), (1, (), True), (100, (), True), (101, (), False), (101, ("--sample", "101"), True)):
        path = os.path.join(tmpdir(), "9_0_n0.h5")
        some, gaps = rng.lognormal(0, 3, n), rng.normal(0, 9, n)
        gaps[1::4] = numpy.nan
        node_file(path, "n0", {"Tasks/0": rows_of(numpy.arange(n), [("Some", F), ("Gaps", F)], [some, gaps])}, index=0)
        got = {c["name"]: c["quantiles"] for c in json.loads(reduced("--json", *args, path).stdout)["columns"]}
        real = {name: {q: [numpy.quantile(v[~numpy.isnan(v)], int(q[1:]) / 100, method="inverted_cdf")] * 2 for q in got[name]}
                for name, v in (("Some", some), ("Gaps", gaps))}
        is_equal("%d rows, %s: quantiles are exact" % (n, args), got == real, is_exact)
        is_equal("%d rows, %s: the table says so" % (n, args), " p50 <=" in reduced(*args, path).stdout, not is_exact)


def make_bursts():
    """Three kinds of bursts on six nodes, far from each other and alike among themselves; some that are like none."""
    d, _ = make_files(1, 3)
    rng = numpy.random.default_rng(8)
    rows = numpy.concatenate([numpy.column_stack([run * rng.normal(1, 0.01, n), gap * rng.normal(1, 0.01, n), numpy.full(n, i + 1)])
                              for i, (run, gap, n) in enumerate(KINDS)]
                             + [numpy.array([[5, 3, 0], [1e-3, 10, 0], [0.01, numpy.nan, 0], [0.02, 0, 0]])])
    rng.shuffle(rows)
    parts = numpy.array_split(rows, 6)
    for i, part in enumerate(parts):
        node_file("%s/7_0_n%d.h5" % (d, i), "n%d" % i,
                  {"Bursts/%d" % i: rows_of(numpy.arange(len(part)), [("RunTime", F), ("Gap", F)], [part[:, 0], part[:, 1]])}, index=i)
    return d, rows


def clusters():
    """All bursts are in the cluster of their kind, also when a third of them was sampled; by any number of processes."""
    d, rows = make_bursts()
    by_share = sorted(KINDS, key=lambda k: -k[0] * k[2])
    for k in ("20000", "1800"):
        j = json.loads(reduced("--clusters", "--json", "-k", k, d).stdout)
        got = j["clusters"][1:]
        is_equal("clusters of %s: bursts of each kind" % k, [c["n"] for c in got], [n for _, _, n in by_share])
        is_equal("clusters of %s: noise" % k, j["clusters"][0]["n"], 4)
        for c, kind in zip(got, by_share):
            mine = rows[rows[:, 2] == KINDS.index(kind) + 1]
            for name, v in (("RunTime", mine[:, 0]), ("Gap", mine[:, 1])):
                is_near("clusters of %s: mean %s of %d" % (k, name, c["cluster"]), c[name + "_mean"], v.mean(), rel=1e-12)
                is_near("clusters of %s: deviation %s of %d" % (k, name, c["cluster"]), c[name + "_std"], v.std(ddof=1), rel=1e-10)
            is_near("clusters of %s: share of %d" % (k, c["cluster"]), c["share"],
                    mine[:, 0].sum() / rows[:, 0].sum(), rel=1e-12)
    for n in (2, 8):
        need_mpi()
        other = json.loads(reduced("--clusters", "--json", "-k", "1800", d, before=mpirun(n)).stdout)
        is_equal("clusters: %d processes, the same model" % n, other["model"], j["model"])
        is_true("clusters: %d processes, the same table" % n, all(
            approx(a[key], b[key], rel=1e-12) for a, b in zip(other["clusters"], j["clusters"]) for key in a if a[key] is not None),
            [other["clusters"], j["clusters"]])
    path = merged(d)
    reduced("--clusters", "--store", path)
    with h5py.File(path) as f:
        g = f["analysis/clusters/0"]
        is_equal("clusters: stored", [int(r["n"]) for r in g["table"]], [4] + [n for _, _, n in by_share])
        is_equal("clusters: the model's points are stored", len(g["model"]), len(rows))


def bytes_of(path):
    with open(path, "rb") as f:
        return f.read()


def output():
    """-o takes a job file, a file that it makes, and that one again; no other file is touched."""
    d, _ = make_bursts()
    node, text, own, job = paths_of(d)[0], os.path.join(tmpdir(), "text.h5"), os.path.join(tmpdir(), "own.h5"), merged(d)
    with open(text, "w") as f:
        f.write("a text")
    for path, why in ((node, "it is no job file"), (text, "it is no HDF5 file")):
        before = bytes_of(path)
        p = reduced("--clusters", "-o", path, d, status=1)
        is_true("output: %s is refused" % os.path.basename(path), why in p.stderr and p.stderr.count("\n") == 1, p.stderr)
        is_true("output: %s is as it was" % os.path.basename(path), bytes_of(path) == before, "")
    for path in (own, own, job):
        reduced("--clusters", "-o", path, d)
        with h5py.File(path) as f:
            is_equal("output: it has clusters", list(f["analysis/clusters"]), ["0"])


def lone_burst():
    """Of one burst there is no deviation, and no gap."""
    d, _ = make_files(1, 3)
    path = "%s/8_0_n1.h5" % d
    node_file(path, "n1", {"Bursts/0": rows_of(numpy.arange(1), [("RunTime", F), ("Gap", F)], [[0.5], [numpy.nan]])}, index=0)
    text = reduced("--clusters", path).stdout
    line = next(x for x in text.splitlines() if x.startswith("noise"))
    is_equal("one burst: its line", line.split(), ["noise", "1", "100.0", "%", "0.5", "-", "-"])
    is_true("one burst: there is no number that is none", "nan" not in text, text)


run_tests([moments, sample, any_order, any_ranks, parts, damaged_parts, damaged_file, lost_rank, stored, words, zeros, thousands, few_rows, clusters, output, lone_burst])
