#!/usr/bin/python3
# timeout: 240
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof cluster and track: programs with known bursts, files of bursts whose kinds are known, and DBSCAN by its
definition over the same bursts."""

import csv
import io
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *

KERNELS = [(0.003, 0.002, 0.01), (0.012, 0.002, 0.02), (0.012, 0.05, 0.02), (0.2, 0.004, 0.05)]
ROW = numpy.dtype([("ElapsedTime", "<u8"), ("EpochTime", "<u8")] + [
    (c, "<f8") for c in ("Thread", "Rank", "Duration", "OnCPU", "RunTime", "Gap")] + [("TimeNS", "<u8")])


def jobprof(verb, *args):
    p = subprocess.run([JOBPROF, verb] + [str(a) for a in args], capture_output=True, text=True, env=plain_env())
    return p.returncode, p.stdout, p.stderr


def said(verb, *args):
    status, out, err = jobprof(verb, *args)
    if status or err:
        raise Failed("%s %s: status %d, %s" % (verb, " ".join(map(str, args)), status, err))
    return out


def found(path, *args):
    return json.loads(said("cluster", "--json", *args, path))


def clusters(j):
    """Without noise."""
    return [c for c in j["clusters"] if c["name"] != "noise"]


def labels(path, *args):
    """Of all bursts, in the order of the file."""
    return numpy.array([r["Cluster"] for r in csv.DictReader(io.StringIO(said("cluster", "--csv", *args, path)))])


def bursts(rng, n, kernels=KERNELS, noise=0.02):
    """Run times, gaps and kinds; -1: of no kernel."""
    kind = rng.integers(0, len(kernels), n)
    of = numpy.array(kernels)[kind]
    run, gap = (of[:, i] * numpy.exp(rng.normal(0, 1, n) * of[:, 2] * (i + 1)) for i in (0, 1))
    other = rng.random(n) < noise
    run[other], gap[other] = 10 ** rng.uniform(-3, 0, other.sum()), 10 ** rng.uniform(-5, 0, other.sum())
    kind[other] = -1
    return run, gap, kind


def write(name, run, gap, tasks=4):
    """The bursts go to the tasks in turn; returns the path and the order of the file."""
    path, order = os.path.join(tmpdir("cluster"), name + "_0_n1.h5"), []
    with h5py.File(path, "w") as f:
        for t in range(tasks):
            i = numpy.arange(t, len(run), tasks)
            rows = numpy.zeros(len(i), ROW)
            rows["Thread"], rows["Rank"] = 1000 + t, numpy.nan
            rows["RunTime"], rows["Gap"] = run[i], gap[i]
            rows["OnCPU"], rows["Duration"] = run[i], run[i] * 1.25
            end = numpy.cumsum(numpy.nan_to_num(rows["Duration"] + rows["Gap"], posinf=0))
            rows["TimeNS"] = ((1.7e9 + end) * 1e9).astype("<u8")
            rows["EpochTime"], rows["ElapsedTime"] = 1700000000 + end, end
            f.create_dataset("n1/Bursts/%d" % t, data=rows)
            order.append(i)
    return path, numpy.concatenate(order)


def rand_index(a, b):
    """Adjusted for chance (L. Hubert, P. Arabie, 1985)."""
    _, a = numpy.unique(a, return_inverse=True)
    _, b = numpy.unique(b, return_inverse=True)
    table = numpy.zeros((a.max() + 1, b.max() + 1))
    numpy.add.at(table, (a, b), 1)
    pairs = lambda n: (n * (n - 1) / 2).sum()
    both, of_a, of_b, all_ = pairs(table), pairs(table.sum(1)), pairs(table.sum(0)), pairs(numpy.array([len(a)]))
    chance = of_a * of_b / all_
    return (both - chance) / ((of_a + of_b) / 2 - chance)


def dbscan(points, eps, min_pts):
    """All of it, by its definition (M. Ester et al., 1996); noise is -1."""
    order = numpy.argsort(points[:, 0], kind="stable")
    p = points[order]
    from_, to = (numpy.searchsorted(p[:, 0], p[:, 0] + d) for d in (-1.001 * eps, 1.001 * eps))
    near = [from_[i] + numpy.flatnonzero(((p[from_[i]:to[i]] - p[i]) ** 2).sum(1) <= eps * eps) for i in range(len(p))]
    core = numpy.array([len(n) >= min_pts for n in near])
    got, k = numpy.full(len(p), -1), 0
    for i in numpy.flatnonzero(core):
        if got[i] >= 0:
            continue
        got[i], front = k, [i]
        while front:
            new = near[front.pop()]
            new = new[got[new] < 0]
            got[new] = k
            front.extend(new[core[new]])
        k += 1
    out = numpy.empty(len(p), int)
    out[order] = got
    return out


def scaled(run, gap):
    points = numpy.log10(numpy.array([run, gap]).T)
    return (points - points.min(0)) / (points.max(0) - points.min(0))


def two_kernels():
    """By the kernel side: what jpburst computes for 3 and for 12 ms."""
    _, path = run_jobprof([tool("jpburst"), "-n", "60", "-t", "2", "3", "12"], 0.3, series="all,burst")
    j = found(path)
    got = clusters(j)
    is_equal("two kernels: clusters", [len(got), j["status"]], [2, "OK"])
    for c, wanted in zip(got, (0.012, 0.003)):
        is_near("two kernels: %g s" % wanted, c["run_s"], wanted, 0.03)
        is_true("two kernels: all bursts of %g s" % wanted, 112 <= c["bursts"] <= 120, c)
        is_near("two kernels: gap", c["gap_s"], 0.002, 0, 0.001)
    text = said("cluster", path)
    is_true("two kernels: as text", all(w in text for w in ("2 clusters", "12 ms", "3.0", "task 0")), text)
    is_true("two kernels: lines of text are short", max(map(len, text.splitlines()[1:])) <= 80, text)


@in_full
def a_build():
    """The compiler's runs over one file are a cluster, those over another one another."""
    if not shutil.which("gcc"):
        raise Skipped("there is no gcc")
    d = tmpdir("build")
    for name, n in (("small", 150), ("large", 900)):
        with open("%s/%s.c" % (d, name), "w") as f:
            f.writelines("int %s%d(int a) { int s = 0; for (int i = 0; i < a; i++) s += i * %d; return s; }\n"
                         % (name, i, i) for i in range(n))
    with open(d + "/Makefile", "w") as f:
        f.write("all: $(foreach i,1 2 3 4 5 6,s$i.o l$i.o)\ns%.o: small.c\n\tgcc -O2 -c -o $@ $<\n"
                "l%.o: large.c\n\tgcc -O2 -c -o $@ $<\n")
    _, path = run_jobprof(["make", "-j2", "-C", d], 0.3, series="all,burst", timeout=200)
    got = clusters(found(path))
    is_true("build: two clusters hold what it takes", len(got) >= 2 and got[0]["share"] + got[1]["share"] > 0.6 and
            got[0]["run_s"] > 3 * got[1]["run_s"], got)
    is_true("build: six runs of the compiler in each", all(4 <= c["bursts"] <= 6 for c in got[:2]), got)


def known_kinds():
    rng = numpy.random.default_rng(1)
    run, gap, kind = bursts(rng, 60000)
    path, order = write("many", run, gap)
    run, gap, kind = run[order], gap[order], kind[order]
    j = found(path)
    is_true("kinds: a subset stands for them", 15000 < j["subset"] <= 50000, j["subset"])
    got = labels(path)
    of_kernel = kind >= 0
    score = rand_index(got[of_kernel], kind[of_kernel])
    is_true("kinds: found again, adjusted Rand index", score >= 0.98, score)
    wanted = sorted(k[0] for k in KERNELS)
    is_near("kinds: run times", sorted(c["run_s"] for c in clusters(j))[0], wanted[0], 0.01)
    full = labels(path, "--whole", "--eps", j["eps"])
    score = rand_index(got, full)
    is_true("kinds: as when all are clustered", score >= 0.98, score)


def as_defined():
    """Below 20000 bursts all are clustered: what DBSCAN is has one answer but for borders."""
    run, gap, _ = bursts(numpy.random.default_rng(2), 12000)
    path, order = write("few", run, gap)
    got = labels(path, "--eps", "0.008", "--min-pts", "12")
    wanted = dbscan(scaled(run[order], gap[order]), 0.008, 12)
    score = rand_index(got, wanted)
    is_true("defined: adjusted Rand index", score > 0.999, score)
    is_equal("defined: noise", (got == "noise").sum(), (wanted == -1).sum())


@in_full
def subset_as_all():
    """Of more than 20000 bursts a part is clustered, which stands for all."""
    run, gap, _ = bursts(numpy.random.default_rng(3), 30000)
    path, order = write("subset", run, gap, tasks=40)
    j = found(path)
    got, wanted = labels(path), dbscan(scaled(run[order], gap[order]), j["eps"], j["min_pts"])
    score = rand_index(got, wanted)
    is_true("subset: adjusted Rand index against all", score >= 0.98, (score, j["subset"]))
    is_true("subset: it is one", j["subset"] < 15000, j["subset"])


@in_full
def more_than_kept():
    """Of more bursts than are kept, each is counted in its cluster all the same."""
    kernels = [(0.003, 0.002, 0.02), (0.03, 0.02, 0.02), (0.3, 0.001, 0.02)]
    run, gap, kind = bursts(numpy.random.default_rng(6), 1300000, kernels, noise=0)
    path, order = write("more", run, gap)
    j = found(path)
    is_equal("more: all are known, a part is kept", [j["bursts"], j["used"], j["kept"] <= 1 << 20], [len(run), len(run), True])
    got = {round(c["run_s"], 3): c for c in clusters(j)}
    for i, (length, _, _) in enumerate(kernels):
        is_near("more: bursts of %g s" % length, got[length]["bursts"], (kind == i).sum(), 1e-3)
        is_near("more: share of %g s" % length, got[length]["share"], run[kind == i].sum() / run.sum(), 1e-3)
    is_equal("more: each is in a cluster or noise", sum(c["bursts"] for c in j["clusters"]), len(run))
    is_true("more: as text", "1,300,000 long bursts" in said("cluster", path) and "chosen by a hash" in said("cluster", path), "")
    is_equal("more: a line of CSV for each", said("cluster", "--csv", path).count("\n"), 1 + len(run))


def unknown():
    """Values that are not finite are not known; a plot has no place for an unknown gap."""
    run, gap, _ = bursts(numpy.random.default_rng(7), 2000, noise=0)
    gap[:30], gap[30:40], run[40:45] = numpy.nan, numpy.inf, numpy.inf
    path, _ = write("unknown", run, gap)
    is_equal("unknown: bursts without a run time are none", found(path)["bursts"], 1995)
    drawn = said("cluster", "--svg", "-", path)
    is_equal("unknown: gaps have no point", [drawn.count("<circle"), "40 without a known gap are not drawn" in drawn], [1955, True])


def as_reduced():
    """reduce --clusters of the file finds the same kinds, also where two touch and gaps are not known."""
    kernels = [(0.003, 0.002, 0.03), (0.0034, 0.0021, 0.03), (0.2, 0.004, 0.05)]
    run, gap, _ = bursts(numpy.random.default_rng(9), 9000, kernels, noise=0.1)
    gap[::7], gap[3::700] = numpy.nan, 0
    same_kinds("reduced", run, gap)
    # Pairs of clusters with a burst between them that is near to both, and the ends of the scale.
    pair = 0.005 * numpy.array([-0.9] * 10 + [0, 0, 0.8, 1.6, 1.6] + [2.5] * 10)
    places = numpy.concatenate([[0] * 12, [1] * 12] + [at + pair for at in numpy.arange(0.1, 0.9, 0.08)])
    run = 10 ** (3 * numpy.random.default_rng(10).permutation(places) - 3)
    same_kinds("borders", run, numpy.full(len(run), 0.01))


def same_kinds(name, run, gap):
    path, _ = write(name, run, gap, tasks=12)
    reduced = json.loads(said("reduce", "--clusters", "--json", path))["clusters"]
    j = found(path)
    shown = {c["name"]: c for c in j["clusters"]}
    is_true(name + ": more than two kinds", len(reduced) > 3, reduced)
    is_equal(name + ": bursts of each", [c["n"] for c in reduced],
             [shown["noise" if not c["cluster"] else chr(64 + c["cluster"])]["bursts"] for c in reduced])
    is_equal(name + ": they are all", [len(reduced), sum(c["n"] for c in reduced)], [len(shown), len(run)])


def counters():
    """Sets in turn over bursts of known rates, two of which have too few bursts with the event."""
    rng = numpy.random.default_rng(7)
    run, gap, _ = bursts(rng, 4000)
    path, order = write("counters", run, gap, 2)
    run = run[order]
    of_set, n = rng.integers(0, 3, len(run)), len(run)
    ins = run * 1e9 * rng.uniform(0.9, 1.1, n)
    ins[of_set == 2] = numpy.nan
    loads = numpy.where(of_set == 0, ins * 0.3, numpy.nan)
    misses = numpy.where(of_set == 1, run * 5e6, numpy.nan)
    with_columns(path, dict(Instructions=ins, Loads=loads, Odd=misses))
    got, j = labels(path), found(path)
    for c in j["clusters"]:
        mine = got == c["name"]
        all_ins = ins[mine & (of_set < 2)].sum() / run[mine & (of_set < 2)].sum() * run[mine].sum()
        for name, v, has in (("Instructions", ins, of_set < 2), ("Loads", loads, of_set == 0), ("Odd", misses, of_set == 1)):
            k, what = c["counters"][name], "counters: %s of %s: " % (name, c["name"])
            have = mine & has
            is_equal(what + "bursts", k["bursts"], have.sum())
            is_near(what + "counted", k["counted"], run[have].sum() / run[mine].sum(), 1e-9)
            is_near(what + "rate", k["per_s"], v[have].sum() / run[have].sum(), 1e-9)
            per_ins = v[have].sum() / ins[have].sum()
            is_near(what + "per instruction", k["per_instruction"], per_ins, 1e-9)
            is_near(what + "of all bursts", k["total"], per_ins * all_ins, 1e-9)
            is_equal(what + "few", k["low_confidence"], bool(have.sum() < 5))
    text = said("cluster", path)
    is_true("counters: as text", all(w in text for w in ("Counters, per second", "Instructions", "Odd", " 5 M")), text)
    is_true("counters: lines of text are short", max(map(len, text.splitlines()[1:])) <= 80, text)
    rows = list(csv.DictReader(io.StringIO(said("cluster", "--csv", path))))
    is_equal("counters: CSV", [r["Odd"] == "" for r in rows], list(numpy.isnan(misses)))


def with_columns(path, columns, **attrs):
    """Adds columns, of all bursts in the order of the file, and attributes of the node."""
    with h5py.File(path, "r+") as f:
        at = 0
        for t in sorted(f["n1/Bursts"], key=int):
            old = f["n1/Bursts/" + t][()]
            rows = numpy.zeros(len(old), numpy.dtype(ROW.descr + [(c, "<f8") for c in columns]))
            for c in ROW.names:
                rows[c] = old[c]
            for c, v in columns.items():
                rows[c] = v[at:at + len(old)]
            at += len(old)
            del f["n1/Bursts/" + t]
            f.create_dataset("n1/Bursts/" + t, data=rows)
        for name, v in attrs.items():
            f["n1"].attrs[name.replace("_", " ")] = v


def stack():
    """Cycles per instruction of an AMD Zen 4, by perf's formulae for it; the parts add up to it."""
    rng = numpy.random.default_rng(8)
    run, gap, _ = bursts(rng, 2000)
    path, order = write("stack", run, gap, 2)
    run = run[order]
    cyc = run * 3e9
    ins, other = cyc * rng.uniform(0.8, 1.2, len(run)), rng.random(len(run)) < 0.5
    part = dict(SlotsFrontend=0.7, SlotsBackend=2.5, SlotsSmt=0.3, OpsDispatched=1.9, OpsRetired=1.6)
    columns = {k: numpy.where(other, cyc * v, numpy.nan) for k, v in part.items()}
    columns["BranchMisses"] = numpy.where(~other, ins * 0.002, numpy.nan)
    with_columns(path, dict(Cycles=cyc, Instructions=ins, **columns), CPI_Kind="amd_zen4", Slots_per_Cycle=numpy.int32(6))
    got = labels(path)
    for c in clusters(found(path)):
        mine = got == c["name"]
        m, cpi = c["metrics"], cyc[mine].sum() / ins[mine].sum()
        slots, per_ins = 6 * cpi, cyc[mine & other].sum() / ins[mine & other].sum()
        is_near("stack: %s: cpi" % c["name"], m["cpi"], cpi, 1e-9)
        is_near("stack: misses", m["branch_mpki"], 2, 1e-9)
        wanted = {"frontend": 0.7, "backend": 2.5, "SMT": 0.3, "bad speculation": 1.9 - 1.6, "retiring": 1.6}
        for name, v in wanted.items():
            is_near("stack: %s" % name, m["cpi_stack"][name], v * per_ins / slots * cpi, 1e-9)
        is_near("stack: the parts add up", sum(m["cpi_stack"].values()), cpi, 1e-9)
    text = said("cluster", path)
    is_true("stack: as text", "Cycles per instruction, by" in text and "bad speculation" in text and "mispredicted" in text, text)
    is_true("stack: lines of text are short", max(map(len, text.splitlines()[1:])) <= 80, text)


def outputs():
    run, gap, _ = bursts(numpy.random.default_rng(4), 3000)
    path, order = write("outputs", run, gap)
    j, got = found(path), labels(path)
    for c in j["clusters"]:
        mine = run[order][got == c["name"]]
        is_equal("json: bursts of %s" % c["name"], c["bursts"], len(mine))
        if len(mine):
            is_near("json: median", c["run_s"], numpy.median(mine), 1e-6)
            is_near("json: share", c["share"], mine.sum() / run.sum(), 1e-6)
    where = tmpdir("out")
    said("cluster", "--svg", where + "/a.svg", path)
    said("cluster", "--html", where + "/a.html", path)
    threads = numpy.array([int(r["Thread"]) for r in csv.DictReader(io.StringIO(said("cluster", "--csv", path)))])
    with h5py.File(path) as f:
        wanted = numpy.concatenate([f["n1/Bursts/%d" % t]["Thread"] for t in range(4)])
    is_equal("csv: threads are those of the file", (threads != wanted).sum(), 0)
    drawn = ElementTree.parse(where + "/a.svg").getroot().findall("{http://www.w3.org/2000/svg}circle")
    is_true("svg: a point per burst", len(drawn) == 3000, len(drawn))
    is_equal("svg: noise", sum(c.get("class") == "c0" for c in drawn), (got == "noise").sum())
    drawn_apart(where + "/a.svg")
    page = page_of(path)
    is_equal("html: the table is that of --json", [[c["name"], c["bursts"]] for c in page["clusters"]], [[c["name"], c["bursts"]] for c in j["clusters"]])
    is_equal("html: a point per burst, in its cluster", ["noise" if not k else chr(64 + k) for k in page["plane"]["of"]], list(got))
    for axis, v in (("x", run[order]), ("y", gap[order])):
        is_true("html: points are where --svg has them, by %s" % axis, numpy.allclose(page["plane"][axis], v, rtol=1e-9), page["plane"][axis][:5])


def page_of(path):
    """What the page draws."""
    page = said("cluster", "--html", "-", path)
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))


def drawn_apart(path):
    """No label of an axis covers another one: a character of 9 points is up to 5.5 wide."""
    texts = [t for t in ElementTree.parse(path).getroot().iter() if t.tag.endswith("text") and t.get("class") in ("x", "y")]
    x, y = ([(float(t.get(c)), len(t.text)) for t in texts if t.get("class") == c] for c in "xy")
    is_true("svg: two labels and more at each axis", len(x) >= 2 and len(y) >= 2, [t.text for t in texts])
    is_true("svg: labels are apart", all(b - a > 5.5 * (n + m) / 2 for (a, n), (b, m) in zip(x, x[1:])) and
            all(abs(a - b) > 10 for (a, _), (b, _) in zip(y, y[1:])), [t.text for t in texts])


def ticks():
    """Whatever the range of bursts is."""
    svg = os.path.join(tmpdir("ticks"), "a.svg")
    for low, high in ((0.01, 0.0102), (0.01, 0.02), (0.0012, 0.01), (0.0012, 0.05), (0.0012, 0.9), (0.001, 9), (0.001, 3000)):
        run = numpy.geomspace(low, high, 300)
        said("cluster", "--overwrite", "--svg", svg, write("ticks", run, run[::-1] / 7)[0])
        drawn_apart(svg)


def singles():
    """What is executed once is listed, longest first; without any of a length there is no list."""
    run, gap, _ = bursts(numpy.random.default_rng(5), 2000, noise=0)
    head = "Longest bursts in no cluster"
    path, order = write("regular", run, gap)
    is_true("singles: none without", head not in said("cluster", path), path)
    run[[100, 701]] = 20 * run.sum(), 10 * run.sum()
    gap[[100, 701]] = 3, 9
    path, order = write("singles", run, gap)
    got = said("cluster", path).split(head)[1].splitlines()
    is_equal("singles: share of the run time", got[0], ", %.0f %% of the run time" % (100 * run[[100, 701]].sum() / run.sum()))
    end = [numpy.cumsum(1.25 * run[t::4] + gap[t::4]) for t in (0, 1)]
    begin = [end[0][100 // 4] - 1.25 * run[100], end[1][701 // 4] - 1.25 * run[701]]
    first = min((e[0] - 1.25 * run[t]) for t, e in enumerate([numpy.cumsum(1.25 * run[t::4] + gap[t::4]) for t in range(4)]))
    listed = [line.split() for line in got[1:3]]
    is_equal("singles: where", [" ".join(w[5:]) for w in listed], ["task 0", "task 1"])
    for w, i, b in zip(listed, (100, 701), begin):
        is_near("singles: how long", float(w[0]), run[i], 0.01)
        is_near("singles: since when", float(w[3]), b - first, 0.01, 1)
    is_equal("singles: no more", got[3], "")


def tracked():
    rng = numpy.random.default_rng(5)
    runs = [write("run%d" % i, *bursts(rng, 1500)[:2])[0] for i in range(3)]
    slower = [(r * (2 if i == 3 else 1), g, s) for i, (r, g, s) in enumerate(KERNELS)]
    other = write("slow", *bursts(rng, 1500, slower)[:2])[0]
    j = json.loads(said("track", "--json", *runs, other))
    is_equal("track: three runs alike, one not", [p["same"] for p in j["pieces"]], [False, True, True, False])
    is_equal("track: stable with the third", j["stable"], 2)
    names = [{c["name"] for c in p["clusters"] if c["bursts"] > 100} for p in j["pieces"]]
    is_equal("track: the same names", [names[1], names[2]], [names[0], names[0]])
    is_equal("track: three of them stay, one is new", [len(names[3] & names[0]), len(names[3] - names[0])], [3, 1])
    text = said("track", *runs)
    is_true("track: as text", "Stable from 3 on" in text, text)
    is_true("track: what is the same is said", "the same from 85 %" in text and j["least_share"] == 0.85, text)
    j = json.loads(said("track", "--json", "--window", "5", runs[0]))
    is_true("track: windows of one run", len(j["pieces"]) > 4 and sum(p["same"] for p in j["pieces"]) > len(j["pieces"]) / 2,
            j["pieces"])
    is_true("cluster: --window", "Windows" in said("cluster", "--window", "5", runs[0]), "")


def counts():
    """What no counter can say is not known: nothing is above the sum of 64 bits."""
    rng = numpy.random.default_rng(11)
    run, gap, _ = bursts(rng, 400, KERNELS[:2], 0)
    path = write("counts", run, gap, tasks=1)[0]
    with h5py.File(path, "a") as f:
        rows = f["n1/Bursts/0"][:]
        counted = numpy.zeros(len(rows), rows.dtype.descr + [("Cycles", "<f8")])
        for c in rows.dtype.names:
            counted[c] = rows[c]
        counted["Cycles"] = 1e9 * rows["RunTime"]
        counted["Cycles"][:40:4] = [numpy.inf, -numpy.inf, -1, 1e300, 2.0**64] * 2
        del f["n1/Bursts/0"]
        f["n1/Bursts/0"] = counted
    for c in clusters(found(path)):
        is_near("counts: cluster %s" % c["name"], c["counters"]["Cycles"]["per_s"], 1e9, 1e-6)


def first_samples():
    """The first sample on a page of code has no kind; where it is in the program's own code it is known nevertheless."""
    rng = numpy.random.default_rng(9)
    run, gap, _ = bursts(rng, 400)
    for place, name in ((0x1000, "the program"), (0x1000 | 1 << 48, "unknown code")):
        path = write("first", run, gap)[0]
        with h5py.File(path, "a") as f:
            rows = f["n1/Bursts/0"][:]
            ns = rows["TimeNS"] - (rows["Duration"] * 5e8).astype("<u8")
            points = numpy.zeros(len(rows), [("ElapsedTime", "<u8"), ("EpochTime", "<u8")] + [
                (c, "<f8") for c in ("Time", "Task", "Process", "Thread", "Kind", "Place", "CPUTime", "PageFaults", "Period")] + [("TimeNS", "<u8")])
            points["TimeNS"], points["Time"], points["EpochTime"] = ns, ns - ns[0] + 10**9, ns // 10**9
            points["Thread"], points["Process"], points["Kind"], points["Place"] = 1000, 1000, 10, place
            f["n1/SamplePoints"] = points
        codes = [c["most_samples"] for c in found(path)["clusters"] if c["most_samples"]]
        is_equal("first samples: " + name, ({c["name"] for c in codes}, sum(c["of"] for c in codes)), ({name}, len(rows)))


def hinted(path):
    """The line below noise, of text; JSON and the page have the same, and the page has the same table."""
    lines, hint = said("cluster", path).splitlines(), found(path)["hint"]
    at = [l.startswith("  noise ") for l in lines].index(True)
    after = lines[at + 1].strip()
    page = page_of(path)
    is_equal("hints: text, JSON and HTML have the same", (after, page["hint"]), (hint or "", hint))
    rows = [[c["name"], "{:,}".format(c["bursts"])] for c in page["clusters"][1:] + page["clusters"][:1] if c["bursts"]]
    is_equal("hints: the page has the rows of the text", rows, [l.split()[:2] for l in lines[at - len(rows) + 1:at + 1]])
    is_true("hints: 80 columns", len(after) <= 78, after)
    return after


def hints():
    rng = numpy.random.default_rng(8)
    run, gap, _ = bursts(rng, 400)
    path = write("alike", run, gap)[0]
    is_equal("hints: none where most bursts are alike", hinted(path), "")
    with h5py.File(path, "a") as f:
        f.create_dataset("n1/BurstLength/0", data=numpy.array([(1, 1700000001, 6 * run.sum(), 1)], [("ElapsedTime", "<u8"), ("EpochTime", "<u8"), ("BurstTime", "<f8"), ("TimeNS", "<u8")]))
    is_true("hints: a sixth of the run time has rows", "BurstMin" in hinted(path), path)
    path = write("unlike", numpy.concatenate([run[:100], numpy.geomspace(2, 2000, 12)]), numpy.concatenate([gap[:100], numpy.geomspace(1e-5, 1e3, 12)]))[0]
    is_true("hints: most is noise", "'wait:FILE:FUNCTION'" in hinted(path), path)
    for paused, hint in (("work", "Most is noise"), ("MPI", "Probes paused"), ("poll", "Probes paused")):
        with h5py.File(path, "a") as f:
            f["n1"].attrs["Regions"] = "probes: 5.2 us each time; bursts end at poll, MPI; %s paused once, 2.0 s in all" % paused
        is_true("hints: %s paused" % paused, hinted(path).startswith(hint), path)
    with h5py.File(path, "a") as f:
        del f["n1"].attrs["Regions"]
        for rank in range(4):
            rows = f["n1/Bursts/%d" % rank][:]
            rows["Rank"] = rank
            f["n1/Bursts/%d" % rank][:] = rows
    is_true("hints: of ranks of MPI", "'wait:libmpi.so:MPI_[ABGPRSW]*'" in hinted(path), path)


def wrong():
    few = write("few", numpy.array([0.01, 0.02]), numpy.array([0.1, 0.1]), tasks=1)[0]
    is_true("wrong: too few", "INSUFFICIENT" in said("cluster", few), said("cluster", few))
    none = os.path.join(tmpdir("none"), "7_0_n1.h5")
    with h5py.File(none, "w") as f:
        f.create_group("n1/Tasks")
    for args in (("cluster", none), ("track", none, none)):
        status, out, err = jobprof(*args)
        is_true("wrong: no bursts", status == 1 and "the family burst" in err and len(err.splitlines()) == 1 and not out,
                (status, out, err))
    with h5py.File(none, "a") as f:
        f.create_dataset("n1/BurstLength/0", data=numpy.zeros(1, [("ElapsedTime", "<u8"), ("EpochTime", "<u8"),
                                                                ("BurstTime", "<f8"), ("TimeNS", "<u8")]))
    status, _, err = jobprof("cluster", none)
    is_true("wrong: no long burst", status == 1 and "BurstMin" in err and "family" not in err, err)
    with h5py.File(few, "a") as f:
        f.create_dataset("n1/BurstLength/0", data=numpy.zeros(1, [("ElapsedTime", "<u8"), ("EpochTime", "<u8")]))
        header = h5py.h5o.get_info(f["n1/BurstLength/0"].id).addr
    with open(few, "r+b") as f:
        f.seek(header)
        f.write(b"\xff" * 8)
    status, _, err = jobprof("cluster", few)
    is_true("wrong: the length of bursts is damaged", status == 1 and "damaged" in err and "crashed" not in err and err.count("\n") == 1, err)
    few = write("few", numpy.array([0.01, 0.02]), numpy.array([0.1, 0.1]), tasks=1)[0]
    for args in (("cluster", none + "x"), ("track", none + "x"), ("flame", none + "x"), ("flame", "--diff", none + "x", few)):
        status, out, err = jobprof(*args)
        is_true("wrong: no file, %s" % args[0], status == 1 and err.endswith("No such file or directory\n") and not out,
                (status, out, err))
    many = write("many", *bursts(numpy.random.default_rng(5), 2000)[:2])[0]
    svg = os.path.join(tmpdir("none"), "old.svg")
    with open(svg, "w") as f:
        f.write("old")
    p = subprocess.run(["bash", "-c", 'ulimit -f 1; exec "$0" "$@"', JOBPROF, "cluster", "--overwrite", "--svg", svg, many],
                       capture_output=True, text=True, env=plain_env())
    with open(svg) as f:
        is_true("wrong: no room for the output", p.returncode == 1 and f.read() == "old" and "cannot be written" in p.stderr,
                p)
    status, _, err = jobprof("track", few)
    is_true("wrong: one window", status == 1 and "one window of" in err and "--window" in err, err)
    for args in (("cluster",), ("cluster", "--by", "size", few), ("cluster", "--eps", "2", few), ("track",),
                 ("cluster", "--json", "--csv", few), ("cluster", "--window", "0", few), ("cluster", "--min-pts", "0", few),
                 ("cluster", "--code", "--eps", "0.1", few), ("cluster", "--regions", "--whole", few)):
        status, _, err = jobprof(*args)
        is_true("wrong: %s" % " ".join(args[:-1] or args), status == 2 and err.strip(), (status, err))


@in_full
def lammps():
    """Its ranks poll. Between calls of MPI they have two kinds of bursts: forces, and forces with new lists of neighbours."""
    library = "/usr/lib/x86_64-linux-gnu/libmpi.so.40"
    if not (shutil.which("mpirun.openmpi") and shutil.which("lmp") and os.path.exists(library)):
        raise Skipped("there is no lammps with Open MPI: scripts/install-deps test")
    script = tmpdir() + "/in.melt"
    with open(script, "w") as f:
        f.write(lammps_melt(20, 300, "neighbor 0.3 bin\nneigh_modify delay 0 every 20 check no\n"))
    cmd = ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n", "2", "lmp", "-log", "none", "-in", script]
    run, path = run_jobprof(cmd, 1, "all,burst", ["--region", "MPI=wait:%s:MPI_[ABGPRSW]*" % library, "--region-budget", "50"],
                            env=plain_env(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
    builds = 2 * int(re.search(r"Neighbor list builds = (\d+)", run.out()).group(1))
    kinds = clusters(found(path))
    forces, lists = kinds[0], max(kinds, key=lambda c: c["run_s"])
    is_near("lammps: a burst of each rank and step", forces["bursts"], 2 * 300 - builds, 0.15)
    is_near("lammps: a burst of each rank and list", lists["bursts"], builds, 0.3)
    is_true("lammps: the longer ones are those with lists", lists["run_s"] > 2 * forces["run_s"], kinds)


if __name__ == "__main__":
    tests = [known_kinds, as_defined, subset_as_all, as_reduced, more_than_kept, unknown, counters, stack, outputs, ticks, singles, tracked, counts, first_samples, hints, wrong]
    if os.geteuid() == 0:
        tests += [two_kernels, a_build, lammps]
    run_tests(tests)
