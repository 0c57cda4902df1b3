#!/usr/bin/python3
# runs: in full
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
"""jobprof reduce --fold of node-step files whose programs' phases are known: the executions that numpy counts, phases
and rates where they were put, the same by any number of processes and in any order of files."""

import pwd

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *
from h5make import *
from reducelib import *

PERIOD, SECONDS, NODES = 0.024, 12, 5
ENDS, FAULTS = [0.0, 0.3, 0.55, 1.0], [200.0, 20.0, 80.0]  # of the phases of "loop"; faults of an execution in each
REGIONS = [("Region", U), ("Begin", U), ("End", U), ("Process", U), ("Thread", U)]
POINTS = [("Time", U), ("Process", U), ("Thread", U), ("Kind", U), ("Place", U), ("Task", F), ("CPUTime", U), ("PageFaults", U)]

LIBRARY, PLACE_LIBRARY = 7, 1 << 48  # a kind of code, and where that is in no program


def thread(rng, pid):
    """Begins, ends and samples; each 40th execution takes twice as long."""
    lengths = PERIOD * (1 + 0.004 * rng.normal(size=int(SECONDS / PERIOD)))
    lengths[20::40] *= 2
    ends = 1 + numpy.cumsum(lengths)
    begins = ends - lengths
    at = numpy.sort(1 + (ends[-1] - 1) * rng.random(int(97 * SECONDS)))
    i = numpy.searchsorted(ends, at, side="right")
    x = (at - begins[i]) / lengths[i]
    faults = i * sum(FAULTS) + numpy.interp(x, ENDS, numpy.concatenate([[0], numpy.cumsum(FAULTS)]))
    place = 0x10000 + 0x4000 * (numpy.searchsorted(ENDS, x, side="right") - 1)
    return [begins, ends], [at, pid, pid, 0, place, 0, 1e9 * (at - 1), numpy.floor(faults)]


def make(name="loop"):
    """Files of nodes; another region, that takes little time, has the first number on every other node."""
    d, lengths = os.path.join(tmpdir(), pwd.getpwuid(os.getuid()).pw_name), []
    os.mkdir(d)
    for node in range(NODES):
        rng, regions, points = numpy.random.default_rng(node), [], []
        number = 1 + node % 2
        for pid in (100, 101):
            (begins, ends), sample = thread(rng, pid)
            lengths.append(numpy.floor(ends * 1e9) / 1e9 - numpy.floor(begins * 1e9) / 1e9)
            other = numpy.arange(1, 3, 0.1)
            for n, b, e in ((number, begins, ends), (3 - number, other, other + 0.001)):
                regions.append(rows_of(e, REGIONS, [n, b * 1e9, e * 1e9, pid, pid]))
            points.append(rows_of(sample[0], POINTS, [sample[0] * 1e9] + sample[1:]))
        path = "%s/7_0_n%d.h5" % (d, node)
        node_file(path, "n%d" % node, {"Tasks/0": random_rows(rng, "Tasks", 6), "Regions": numpy.concatenate(regions), "SamplePoints": numpy.concatenate(points)},
                  index=node, tasks=2)
        with h5py.File(path, "a") as f:
            attribute(f["n%d" % node], "Region %d" % number, name)
            attribute(f["n%d" % node], "Region %d" % (3 - number), "other")
    return d, numpy.concatenate(lengths)


def folded(*args, **kw):
    return json.loads(reduced("--fold", "--json", *args, **kw).stdout)


def judged(name, f, samples):
    ends = [p["to"] for p in f["phases"]]
    is_equal(name + ": phases", len(ends), 3)
    is_true(name + ": where they end", numpy.allclose(ends, ENDS[1:], atol=max(0.005, 10 / samples)), ends)
    widths = numpy.diff(ENDS)
    found, truth = numpy.array([p["PageFaults"] for p in f["phases"]]), numpy.array(FAULTS) / widths / PERIOD
    wrong = (abs(found - truth) * widths).sum() / (truth * widths).sum()
    is_true(name + ": faults of the phases, to 5 % of the region's", wrong <= 0.05, (wrong, found, truth))
    is_near(name + ": all faults", f["counters"]["PageFaults"]["mean_rate"], sum(FAULTS) / PERIOD, rel=0.02)
    for p in f["phases"]:
        is_near(name + ": CPUs to %.2f" % p["to"], p["CPUTime"], 1, rel=0.02)


def phases():
    d, lengths = make()
    center = numpy.sort(lengths)[len(lengths) // 2]
    width = numpy.sort(abs(lengths - center))[len(lengths) // 2]
    usual = lengths[abs(lengths - center) <= max(1.5 * width, 0.01 * center)]
    whole = folded("-k", "50000", d)["fold"]
    is_equal("all: the region with most time, its executions, those of usual lengths",
             [whole["region"], whole["executions"], whole["folded"], whole["threads"]], ["loop", len(lengths), len(usual), 2 * NODES])
    is_near("all: mean length", whole["period_s"], usual.mean(), rel=1e-9)
    is_true("all: samples in them", 0.85 * 97 * SECONDS * 2 * NODES < whole["validity"]["samples"] < 97 * SECONDS * 2 * NODES,
            whole["validity"])
    judged("all", whole, whole["validity"]["samples"])
    some = folded(d)
    is_equal("2000: a bounded sample", some["fold"]["validity"]["samples"], 2000)
    judged("2000", some["fold"], 2000)
    is_equal("the other region", folded("--region", "other", d, status=None)["columns"][0]["n"], 2 * NODES * 20)
    alone = json.loads(subprocess.run([JOBPROF, "fold", "--json", merged(d)], capture_output=True, text=True, check=True).stdout)
    is_equal("as jobprof fold of the job file", [alone[k] for k in ("region", "executions", "threads")],
             [whole[k] for k in ("region", "executions", "threads")])
    # which also leaves out those that are far from the curve
    is_true("as jobprof fold: nearly all of these executions", 0.98 * whole["folded"] <= alone["folded"] <= whole["folded"], (alone["folded"], whole["folded"]))
    is_true("as jobprof fold: the curve", numpy.allclose(alone["counters"]["PageFaults"]["curve"], whole["counters"]["PageFaults"]["curve"],
                                                         atol=0.005), "")


def library():
    """Code of a library is called by its kind, wherever in it: all samples of such a phase are there."""
    rng, path = numpy.random.default_rng(1), os.path.join(tmpdir(), "9_0_n0.h5")
    (begins, ends), sample = thread(rng, 100)
    sample[3], sample[4] = LIBRARY, PLACE_LIBRARY + 256 * rng.integers(1, 6, len(sample[0]))
    node_file(path, "n0", {"Regions": rows_of(ends, REGIONS, [1, begins * 1e9, ends * 1e9, 100, 100]),
                           "SamplePoints": rows_of(sample[0], POINTS, [sample[0] * 1e9] + sample[1:])}, index=0)
    with h5py.File(path, "a") as f:
        attribute(f["n0"], "Region 1", "loop")
    alone = json.loads(subprocess.run([JOBPROF, "fold", "--json", path], capture_output=True, text=True, check=True).stdout)
    for name, f in (("fold", alone), ("reduce", folded(path)["fold"])):
        is_equal("library: %s: one phase, with all samples" % name, [(p["code"], p["share"]) for p in f["phases"]], [("library", 1)])


def listed():
    """The list of a file says of its points what the list without a file does."""
    d, _ = make()
    path = "%s/7_0_n0.h5" % d
    said, text, found = (subprocess.run([JOBPROF, "list", *args], capture_output=True, text=True, check=True).stdout for args in
                         (["-s", "SamplePoints"], ["-s", "SamplePoints", path], ["--json", path]))
    is_true("list: the text has it", said.startswith("SamplePoints: ") and said in text, text)
    is_equal("list: JSON has it", [s["description"] for s in json.loads(found)["series"] if s["name"] == "SamplePoints"], [said.strip().partition(": ")[2]])


def same(name, got, wanted):
    exact = [[c["curve"] for c in j["fold"]["counters"].values()] + [[p[k] for p in j["fold"]["phases"] for k in ("from", "to", "code", "samples")]]
             + [j["fold"][k] for k in ("region", "executions", "folded", "threads")] for j in (got, wanted)]
    is_equal(name + ": the same digits", exact[0], exact[1])
    sums = [[c["mean_rate"] for c in j["fold"]["counters"].values()] + [j["fold"]["period_s"]] for j in (got, wanted)]
    is_true(name + ": sums within 1e-12", numpy.allclose(sums[0], sums[1], rtol=1e-12, atol=0), sums)


def any_order():
    d, _ = make()
    whole, rng = folded(d), numpy.random.default_rng(5)
    same("another order", folded(*rng.permutation(paths_of(d))), whole)
    same("the job file", folded(merged(d)), whole)
    need_mpi()
    for n in (2, 8):
        j = folded(d, before=mpirun(n))
        same("%d processes" % n, j, whole)
        is_equal("%d processes: coverage and cost" % n, [j["coverage"]["read"], j["cost"]["processes"]], [NODES, n])


def damaged():
    """The nodes that can be read are folded, and it is said how many they are."""
    d, _ = make()
    path = paths_of(d)[2]
    whole = folded(*[p for p in paths_of(d) if p != path])
    with open(path, "r+b") as f:
        f.truncate(700)
    p = reduced("--fold", "--json", d, status=1)
    j = json.loads(p.stdout)
    same("a damaged file: of the others", j, whole)
    is_equal("a damaged file: coverage", [j["coverage"]["files"], j["coverage"]["read"], j["coverage"]["status"]], [NODES, NODES - 1, "DEGRADED"])
    is_true("a damaged file: it is named", path in p.stderr, p.stderr)
    for option in ("--fold", "--clusters"):
        p = reduced(option, path, status=1)
        is_true("a damaged file alone, %s: one line, which names it" % option, path in p.stderr and p.stderr.count("\n") == 1, p.stderr)


def kill_in_second_pass(d):
    """What the others say then; None: it was over before the second reader of process 2 was seen."""
    out, err = (open(os.path.join(tmpdir(), n), "w+") for n in ("out", "err"))  # a pipe would be full before anybody reads
    p = subprocess.Popen(mpirun(4, "--enable-recovery") + [JOBPROF, "reduce", "--fold", "--json", d], stdout=out, stderr=err,
                         env=plain_env(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
    passes = []

    def second():
        for rank in children(p.pid):
            for child in children(rank) if rank_of(rank) == b"2" else ():
                passes.extend((rank, reader) for reader in children(child) if (rank, reader) not in passes)
        return len(passes) >= 2 or p.poll() is not None
    wait_until(second, 60, "the second pass of process 2")
    if p.poll() is not None:
        return None
    os.kill(passes[1][1], signal.SIGSTOP)
    os.kill(passes[1][0], signal.SIGKILL)
    p.wait(100)
    return [f.seek(0) or f.read() for f in (out, err)]


def lost_rank():
    """A process is killed in the second pass: the others fold what they have."""
    need_mpi()
    d, _ = make()
    for _ in range(5):
        said = kill_in_second_pass(d)
        if said:
            break
    else:
        raise Skipped("the second pass was over before it was seen, five times")
    out, err = said
    j = json.loads(out)
    is_true("a killed process: is named", "process 2 is lost" in err, err)
    is_equal("a killed process: coverage", [j["coverage"][k] for k in ("files", "read", "damaged", "status")], [NODES, NODES, 1, "DEGRADED"])
    is_equal("a killed process: threads of the others", j["fold"]["threads"], 2 * (NODES - 1))
    judged("a killed process", j["fold"], 2000)


def stored():
    d, _ = make()
    whole = folded(d)["fold"]
    made, job = os.path.dirname(d) + "/made.h5", merged(d)
    for args, path in (([d, "-o", made], made), ([d, "-o", job], job), (["--store", job], job)):
        reduced("--fold", *args)
        with h5py.File(path) as f:
            g, curve = f["analysis/fold"], f["analysis/fold_curve"]
            name = "%s of %s" % (args[-2], os.path.basename(path))
            is_equal(name + ": figures", [g.attrs["executions"], g.attrs["folded"], len(g["phases"])],
                     [whole["executions"], whole["folded"], 3])
            is_equal(name + ": the curve", list(curve["PageFaults"]), whole["counters"]["PageFaults"]["curve"])
            is_equal(name + ": lengths of regions", [r["name"].decode() for r in f["analysis/reduce/Regions/columns"]], ["loop", "other"])
            is_equal(name + ": the rows stay", "Steps" in f, path == job)
    text = subprocess.run([JOBPROF, "report", "--all", job], capture_output=True, text=True).stdout
    is_true("the report has it", "loop: {:,} executions".format(whole["executions"]) in text, text)


def words():
    d, _ = make("a b")
    for args, code, text in ((["--region", "x"], 2, "of --fold"), (["--fold", "--clusters"], 2, "one of"),
                             (["--fold", "--follow"], 2, "no samples of a job that runs"), (["--fold", "-d", "End"], 2, "without -d"),
                             (["--fold", "--keep", d], 2, "without --keep"), (["--store", "-o", "x"], 2, "one of -o and --store"),
                             (["--fold", "-k", "5"], 1, "ask for it with --region"),
                             (["--fold", "--region", "x"], 1, "no execution of such a region")):
        p = reduced(*args, d, status=code)
        is_true("%s: says why" % " ".join(args), text in p.stderr and p.stderr.count("\n") <= 2, p.stderr)


run_tests([phases, library, listed, any_order, damaged, lost_rank, stored, words])
