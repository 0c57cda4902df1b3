#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
"""What jobprof report has besides facts: clusters of bursts and those that reduce has stored, a folded region, and the
hottest stacks, as h5py has written them; and links in /analysis that lead elsewhere."""

import os
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
sys.path.insert(0, os.path.realpath(__file__ + "/../../../findings"))
from besideslib import put_bursts, put_clusters, put_fold, put_samples, put_stacks
from jobs import Job
from layout import START
from lib import *

KINDS = [(300, 0.003, 0.002), (200, 0.03, 0.002), (100, 0.2, 0.05)]


def made(name):
    path = os.path.join(tmpdir("besides"), "job_4711.h5" if not name else name + ".h5")
    Job(nodes=1, tasks=2, cores=2, wall=600).write(path)
    return path


def report(*args):
    p = subprocess.run([JOBPROF, "report", *args], capture_output=True, text=True, timeout=120)
    if p.returncode or p.stderr:
        raise Failed("report %s: %s" % (" ".join(args), p.stderr))
    return p.stdout


def said(*paths):
    return json.loads(report("--json", *paths))


def drawn(*paths):
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', report("--html", "-", *paths), re.S).group(1)
    page = json.loads(text)["page"]
    return page["flame"], page["flame_blocked"], len(text)


def own_seconds(f):
    return {f["names"][f["nodes"][node - 1][1]].strip("[]"): s for _, _, node, s in f["counts"]}


def nothing():
    """Of a file without them each says why."""
    path = made("plain")
    r = said(path)
    for key, word in (("clusters", "bursts"), ("fold", "samples")):
        is_equal("%s: not there" % key, (r[key]["status"], word in r[key]["reason"]), ("UNAVAILABLE", True))
    is_true("the page has no line of them", not re.search("^(Bursts|Folded)", report("--all", path), re.M), report("--all", path))
    is_equal("stacks: not there", [f["status"] for f in drawn(path)[:2]], ["UNAVAILABLE"] * 2)


def several_files():
    """What is read from one file alone says so of several."""
    paths = [os.path.join(ROOT, "tests/data/golden/7_0_p%d.h5" % i) for i in (1, 2)]
    f, blocked, _ = drawn(*paths)
    r = said(*paths)
    is_equal("several files: each says why it is not there", {o["reason"] for o in (f, blocked, r["clusters"], r["fold"])},
             {"the job is in several files: jobprof merge makes one"})


def clusters():
    path = made("bursts")
    run, gap = put_bursts(path, START, KINDS)
    c = said(path)["clusters"]
    is_equal("clusters: how many", (c["status"], c["reason"], c["from"], c["bursts"]), ("OK", None, "bursts", 600))
    got = sorted(c["clusters"][1:], key=lambda k: k["run_s"])
    is_equal("clusters: bursts of each kind", [k["bursts"] for k in got], [n for n, _, _ in KINDS])
    for k, (n, length, _), from_ in zip(got, KINDS, (0, 300, 500)):
        own = run[from_:from_ + n]
        is_near("clusters: median of %g s" % length, k["run_s"], numpy.median(own), 1e-9)
        is_near("clusters: share of %g s" % length, k["share"], own.sum() / run.sum(), 1e-9)
    page = report("--all", path)
    is_equal("clusters: each has a line", len(re.findall(r"^  [ABC] +\d+ +\d", page, re.M)), 3)
    is_equal("clusters: no hint", (c["hint"], "Most is noise" in page), (None, False))
    short = made("short")
    put_bursts(short, START, [(300, 0.003, 2e-6), (200, 0.03, 2e-5), (100, 0.2, numpy.nan)])
    page = report("--all", short)
    is_equal("clusters: after waits of", sorted(re.findall(r"^  [A-C] .*, after (.*)$", page, re.M)), ["2 us", "20 us", "none"])
    other = made("unlike")
    put_bursts(other, START, KINDS + [(1, run, 1 / run) for run in numpy.geomspace(2, 2000, 12)])
    is_true("clusters: a hint", re.search("^  noise .*\n  Most is noise; ", report("--all", other), re.M), report("--all", other))
    put_clusters(path, [[(1, 0.1, 0.5, 0.1), (9, 0.9, 0.2, 0.3)], [(2, 0.2, 0.4, 0.5), (70, 0.5, 0.01, 0.02), (30, 0.3, 0.001, 0.002)]])
    c = said(path)["clusters"]
    is_equal("stored clusters: the last window", (c["from"], c["windows"], c["bursts"], [(k["name"], k["bursts"], k["share"], k["run_s"], k["gap_s"]) for k in c["clusters"]]),
             ("stored", 2, 102, [("noise", 2, 0.2, 0.4, 0.5), ("A", 70, 0.5, 0.01, 0.02), ("B", 30, 0.3, 0.001, 0.002)]))


def fold():
    path = made("fold")
    rate = put_fold(path, "my loop", 0.024, [0.25, 0.6, 1.0])
    f = said(path)["fold"]
    is_equal("fold: figures", (f["status"], f["region"], f["executions"], f["period_s"], f["validity"]["status"]), ("OK", "my loop", 500, 0.024, "good"))
    is_equal("fold: phases in their order", [(p["from"], p["to"], p["code"]) for p in f["phases"]],
             [(0, 0.25, "the program + 0x1000"), (0.25, 0.6, "the program + 0x2000"), (0.6, 1, "the program + 0x3000")])
    got = numpy.array(f["curves"]["CPUTime"]["rate"])
    at = numpy.arange(len(got)) * 999 // (len(got) - 1)
    is_true("fold: the curve from begin to end", 100 < len(got) <= 250 and numpy.allclose(got, rate[at], 1e-12), (len(got), got[:3]))
    is_true("fold: on the page", re.search("^Folded     my loop: 500 executions of 24 ms, good$", report("--all", path), re.M), report("--all", path))


def fold_of_samples():
    """Samples are folded where nothing is stored, unless they are too many."""
    path = made("samples")
    put_samples(path, START, 4000, 0.0241, 0.25)
    f = said(path)["fold"]
    is_equal("samples: figures", (f["status"], f["from"], f["region"], f["threads"], f["validity"]["status"]), ("OK", "samples", "described", 1, "good"))
    is_near("samples: the period", f["period_s"], 0.0241, 1e-3)
    is_equal("samples: which code follows which", [p["code"] for p in f["phases"]], ["the program + 0x1000", "the program + 0x2000"])
    is_true("samples: where", abs(f["phases"][0]["to"] - 0.25) < 0.005, f["phases"])
    is_true("samples: on the page", re.search("^Folded     described: [0-9,]+ executions of 24 ms, good$", report("--all", path), re.M), report("--all", path))
    put_fold(path, "stored", 0.024, [0.5, 1.0])
    is_equal("samples: what is stored comes first", [said(path)["fold"][k] for k in ("from", "region")], ["stored", "stored"])
    path = made("manysamples")
    put_samples(path, START, 50001, 0.0241, 0.25)
    is_equal("50,001 samples: the status", said(path)["fold"]["status"], "UNSUITABLE")
    is_true("50,001 samples: what shows them", re.search("^Folded     .*: jobprof fold$", report("--all", path), re.M), report("--all", path))
    path = made("once")
    put_samples(path, START, 4000, 40, 0.25)
    is_true("nothing to fold: says so", re.search("^Folded     nothing: ", report("--all", path), re.M), report("--all", path))


def fold_of_waits():
    """A phase in which the thread mostly waits is not running, and says where it runs else; of one thread none has more than a CPU."""
    path = made("waits")
    put_samples(path, START, 8000, 0.0241, 0.4, waits=0.7)
    f = said(path)["fold"]
    is_equal("waits: which code, and which between the waits", [(p["code"], p["runs"]) for p in f["phases"]],
             [("the program + 0x1000", None), ("not running", "the program + 0x2000")])
    is_near("waits: for so much of it", f["phases"][-1]["share"], 0.7, 0.1)
    is_true("waits: at most one CPU", all(p["CPUTime"] <= 1 for p in f["phases"]) and f["phases"][0]["CPUTime"] > 0.9, f["phases"])
    is_true("waits: on the page", "not running; when it runs: the program + 0x2000" in report("--all", path), report("--all", path))
    p = subprocess.run([JOBPROF, "fold", path], capture_output=True, text=True)
    is_true("waits: as text", "not running; when it runs: the program + 0x2000\n" in p.stdout, p.stdout + p.stderr)
    in_digits = dict(parse_float=lambda v: float("%.12g" % float(v)))  # pages have 15 of them
    shown = json.loads(subprocess.run([JOBPROF, "fold", "--json", path], capture_output=True, text=True).stdout, **in_digits)
    page = subprocess.run([JOBPROF, "fold", "--html", "-", path], capture_output=True, text=True)
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page.stdout, re.S).group(1), **in_digits)
    is_equal("fold --html: the page has the phases of --json, and the job's name", (data["phases"], data["title"].split(",")[0]), (shown["phases"], "solver"))


def names_of_regions():
    """A function's region is called by its program too, and -r takes it with that and without."""
    path = made("names")
    put_samples(path, START, 4000, 0.0241, 0.25)
    with h5py.File(path, "r+") as f:
        next(iter(next(iter(f["Steps"].values()))["Nodes"].values())).attrs["Region 1"] = "prog:solve"
    for name in ("solve", "prog:solve"):
        p = subprocess.run([JOBPROF, "fold", "--json", "-r", name, path], capture_output=True, text=True)
        is_true("a region called " + name, not p.returncode and json.loads(p.stdout)["region"] == "prog:solve", p)
    p = subprocess.run([JOBPROF, "fold", "-r", "slove", path], capture_output=True, text=True)
    is_true("no such region: which there are", p.returncode == 1 and p.stderr.endswith('no region is called "slove"; there are: prog:solve\n'), p)


def what_is_open():
    """The last line of a page names the families that would answer what it leaves open, where that matters and they were not asked for."""
    for name, cpu, off, attrs, wanted in (
            ("all was recorded", 0.9, (), {}, []),
            ("which functions", 0.9, ("stack",), {}, [("srun --jobprof=deep", ["stack"])]),
            ("of a run", 0.9, ("stack",), {"Command Line": "a b"}, [("run --deep", ["stack"])]),
            ("of ranks, too", 0.9, ("stack", "burst"), {}, [("srun --jobprof=deep", ["stack", "burst"])]),
            ("of what hardly computes", 0.001, ("stack", "burst"), {}, [])):
        path = os.path.join(tmpdir("open"), "job_4711.h5")
        j = Job(nodes=1, tasks=2, cores=2, wall=600)
        j.put(CPUTime=cpu)
        j.without = set()
        j.write(path)
        with h5py.File(path, "r+") as f:
            node = next(iter(next(iter(f["Steps"].values()))["Nodes"].values()))
            for key, value in {**{"Mode " + family: "off: not asked for" for family in off}, **attrs}.items():
                node.attrs[key] = numpy.bytes_(value)
        how, _, what = report(path).partition(" also tells: ")  # which may be two lines
        is_equal("open: " + name, [(how.split("\n")[-1], re.findall(r"\((sample|stack|files|burst)\)", what))] if what else [], wanted)


def stacks():
    path = made("stacks")
    put_stacks(path, START, {"main;work;inner": 3.0, "main;work": 1.0, "main;read": 0.5, "[blocked: locks];main;lock": 7.0})
    f, blocked, _ = drawn(path)
    is_equal("stacks: seconds of each function", own_seconds(f), {"inner": 3.0, "work": 1.0, "read": 0.5})
    is_equal("stacks: those that were blocked, below the cause", (own_seconds(blocked), [blocked["names"][n[1]] for n in blocked["nodes"]][0]),
             ({"lock": 7.0}, "[blocked: locks]"))
    is_equal("stacks: nothing is left out", f["left_out"], 0)
    path = made("many")
    many = {"main;group%d;f%d" % (i % 50, i): 1 + (i % 7) for i in range(20000)}
    put_stacks(path, START, many)
    f, blocked, size = drawn(path)
    is_true("20,000 functions: the hottest are drawn", len(f["nodes"]) == 3000 and f["left_out"] == 20051 - 3000, (len(f["nodes"]), f["left_out"]))
    is_near("20,000 functions: no second is lost", sum(s for *_, s in f["counts"]), sum(many.values()), 1e-9)
    is_true("20,000 functions: the page stays small", size < 1 << 20, size)
    is_equal("20,000 functions: none was blocked", blocked["counts"], [])
    is_true("20,000 functions: callers come first", all(up < i + 1 for i, (up, *_) in enumerate(f["nodes"])), "")


def of_a_step():
    """With a step the bursts and stacks are its own, and results that may be of all steps are left out."""
    path = made("")
    put_bursts(path, START, KINDS)
    put_stacks(path, START, {"main;work": 3.0})
    put_fold(path, "of all", 0.1, [0.5, 1.0])
    with h5py.File(path, "r+") as f:
        name = next(iter(f["Steps"]))
        f.copy(f["Steps"][name], f["Steps"], "1")
        for kind, keep in (("Bursts", slice(0, 300)), ("Stacks", slice(0, 0))):
            group = f["Steps/1/Nodes"][next(iter(f["Steps/1/Nodes"]))][kind]
            table = group["0"][keep]
            del group["0"]
            group["0"] = table
    for step, n, seconds in ((name, 600, [3.0]), ("1", 300, None)):
        words = ("-j", "4711." + step, "-i", path) if step.isdigit() else (path,)
        c, f = said(*words), drawn(*words)[0]
        is_equal("step %s: its bursts" % step, c["clusters"]["bursts"], n)
        is_equal("step %s: its stacks" % step, [s for *_, s in f["counts"]] if f.get("counts") else None, seconds)
        is_equal("step %s: a fold may be of others" % step, c["fold"]["status"], "UNAVAILABLE")
        p = subprocess.run([JOBPROF, "cluster", "--json", *words], capture_output=True, text=True)
        is_equal("step %s: jobprof cluster" % step, json.loads(p.stdout)["bursts"], n)
    is_equal("all steps: bursts", said(path)["clusters"]["bursts"], 900)
    is_equal("all steps: the fold", said(path)["fold"]["region"], "of all")
    p = subprocess.run([JOBPROF, "cluster", "-j", "4711.5", "-i", path], capture_output=True, text=True)
    is_true("no such step: says so", p.returncode == 1 and p.stderr.endswith(": it has no such step\n"), p)


def elsewhere():
    """Links lead nowhere else, and what is of another shape is left out."""
    other = made("other")
    put_fold(other, "of another file", 0.1, [0.5, 1.0])
    for name, link in (("soft", h5py.SoftLink("/Steps")), ("external", h5py.ExternalLink(other, "/analysis/fold"))):
        path = made(name)
        with h5py.File(path, "r+") as f:
            f.create_group("analysis")["fold"] = link
            f["analysis/fold_curve"] = numpy.zeros(3, [("x", "<f8")])
        is_equal("a %s link is not followed" % name, said(path)["fold"]["status"], "UNAVAILABLE")
    path = made("outside")
    put_fold(path, "x", 0.1, [0.5, 1.0])
    with h5py.File(path, "r+") as f:
        del f["analysis/fold_curve"]
        space, dcpl = h5py.h5s.create_simple((4,)), h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        dcpl.set_external(b"/etc/passwd", 0, 1000)
        h5py.h5d.create(f["analysis"].id, b"fold_curve", h5py.h5t.py_create(numpy.dtype([("x", "<f8"), ("CPUTime", "<f8")])), space, dcpl)
    is_equal("bytes of another file are not read", said(path)["fold"]["status"], "UNAVAILABLE")
    path = made("strange")
    put_fold(path, "\x1b[31m" + 300 * "x", 0.1, [0.5, 1.0])
    with h5py.File(path, "r+") as f:
        f["analysis/fold"].attrs["period_s"] = numpy.arange(5.0)
        f["analysis/fold/phases/1"].attrs["from"] = "no number"
        f["analysis/fold/phases"]["soft"] = h5py.SoftLink("/")
    is_true("what is strange stays text", "\x1b" not in report("--all", path), "")


if __name__ == "__main__":
    run_tests([nothing, several_files, clusters, fold, fold_of_samples, fold_of_waits, names_of_regions, what_is_open, stacks, of_a_step, elsewhere])
