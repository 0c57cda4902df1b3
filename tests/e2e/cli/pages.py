#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 600
"""compare --html, plot --html, cluster --html and fold --html, and the marks on the page of report: the pages in
Debian's Chromium show the numbers of --json, of --svg and of the files, whatever is strange, and are written whole
or not at all. What is looked at in the browser: tests/web/pages.js; the page of report: page.py."""

import os
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
sys.path.insert(0, os.path.realpath(__file__ + "/../../../findings"))
sys.path.insert(0, os.path.realpath(__file__ + "/.."))
from besideslib import put_bursts, put_samples
from cases import job
from jobs import Job
from layout import START
from lib import *
from page import MARKUP, STRANGE, WEB, absurd, need
from plot import picture, tables

HOSTILE_SEEN = "<img src=x onerror=hacked=1>"
LONG = "x" * 10000


def jobprof(*args):
    return subprocess.run([JOBPROF, *map(str, args)], capture_output=True, text=True, timeout=120)


def made(*args):
    p = jobprof(*args)
    if p.returncode or p.stderr:
        raise Failed("%s: %s" % (" ".join(map(str, args)), p.stderr.strip()))
    return p.stdout


def data_of(path):
    with open(path) as f:
        inside = re.search(r'<script type="application/json" id="data">(.*?)</script>', f.read(), re.S).group(1)
    is_true("nothing in the data of %s is markup" % os.path.basename(path), not set(inside) & set("<>&") and inside.isascii(), inside[:100])
    return json.loads(inside)


def in_digits(value):
    """As the page has it: numbers with 15 digits."""
    if isinstance(value, dict):
        return {k: in_digits(v) for k, v in value.items()}
    if isinstance(value, list):
        return [in_digits(v) for v in value]
    return float("%.15g" % value) if isinstance(value, float) else value


def put_marks(path, marks, step="0"):
    """marks: of each node, (seconds, name)."""
    kinds = [("ElapsedTime", "<u8"), ("EpochTime", "<u8"), ("Mark", "<u8"), ("TimeNS", "<u8")]
    with h5py.File(path, "r+") as f:
        for node, rows in marks.items():
            group, names = f["Steps/%s/Nodes/%s" % (step, node)], list(dict.fromkeys(name for _, name in rows))
            table = [(t, START + t, names.index(name) + 1, int((START + t) * 1e9)) for t, name in rows]
            group.create_dataset("Marks", data=numpy.array(table, kinds), maxshape=(None,), chunks=(16,))
            for i, name in enumerate(names):
                group.attrs["Mark %d" % (i + 1)] = name


# ---- compare

def runs(folder):
    """B waits for a disk with one task, and is 10 % longer."""
    a, b = os.path.join(folder, "job_41.h5"), os.path.join(folder, "job_42.h5")
    first, second = job("some", 1, wall=7200.0), job("some", 2, wall=7920.0)
    first.attrs["job"], second.attrs["job"] = 41, 42
    second.put(CPUTime=0.75, ipc=1.5, OffCPUDisk=numpy.where(numpy.arange(16) == 3, 0.2, 0.001)[:, None])
    for j, others in ((first, 0.3), (second, 0.6)):
        j.culprits(OtherJobs=others, System=1 - others)
        j.samples(MPI=others / 2, ForMPI=0.0, Own=1 - others / 2)
    first.write(a)
    second.write(b)
    return a, b


CAUSES = ("quota", "net_fs", "kernel", "futex", "pipe", "socket", "poll", "sleep", "child", "signal")


def has_row(term, told):
    """Whether the page has a row of it: rare terms only where they are, causes from 0.1 % of A's time on."""
    if term["part_of"] is not None:
        return False
    if term["id"] in CAUSES:
        return max(term["a"], term["b"]) >= 1e-3 * told["a"]["wall_s"]
    return term["id"] not in ("cores", "unknown", "tail") or term["s"]


def compare_cases(folder):
    cases = []

    def add(name, *args, **more):
        out, told = os.path.join(folder, name + ".html"), json.loads(made("compare", "--json", *args))
        made("compare", "--html", out, *args)
        drawn = data_of(out)
        is_true("%s: the page's data are those of --json" % name, {k: v for k, v in drawn.items() if k != "version"} == in_digits(told),
                [k for k in told if drawn.get(k) != in_digits(told[k])])
        numbers = {"[data-value='all s']": [told["s"], 0], "[data-value='all a']": [told["a"]["wall_s"], 0.5]}
        for t in told["terms"]:
            if has_row(t, told):
                numbers["[data-value='%s s']" % t["id"]] = [t["s"], 0.51]
                numbers["[data-value='%s share']" % t["id"]] = [t["share"], 0.00051]
                numbers["[data-value='%s a']" % t["id"]] = [t["a"], 0.51 if t["unit"] == "s" else 0]
                numbers["[data-value='%s b']" % t["id"]] = [t["b"], 0.51 if t["unit"] == "s" else 0]
        for t in told["tables"]:
            for r in (r for r in t["rows"] if None not in (r["a"], r["b"]) and (r["s"] is None or max(r["a"], r["b"]) >= 0.005)):
                numbers["[data-part='%s %s points']" % (t["id"], r["name"])] = [r["points"], 0.051]
        cases.append({"name": name, "numbers": numbers, "sections": ["waterfall", "terms", "runs"] + [t["id"] for t in told["tables"]],
                      "bars": True, **more})
        return told

    a, b = runs(folder)
    told = add("compare", a, b, axe=True)
    terminal = " ".join(made("compare", a, b).split())
    is_true("the sentence is the terminal's", told["sentence"] in terminal, told["sentence"])
    is_equal("compare: the tables that both have", [t["id"] for t in told["tables"]], ["culprits", "modules", "pop"])
    add("compare, the other way", b, a)
    for i in range(6):
        j = job("some", 10 + i, wall=7200.0 + 30 * i)
        j.attrs["job"], j.start_s = 100 + i, -86400.0 * (i + 1)
        j.write(os.path.join(folder, "job_%d.h5" % (100 + i)))
    told = add("compare, judged", "--baseline", ",".join(folder + "/job_%d.h5" % (100 + i) for i in range(6)), a, b, axe=True)
    is_true("there is a baseline", told["baseline"]["is_judged"], told["baseline"])
    for name, program in (("c", MARKUP.replace("/", "")), ("d", STRANGE.replace("/", "") + LONG)):
        j = job("some", 3, wall=7500.0)
        j.program, j.without = program, {"FILES", "PERF"}
        j.attrs["job"] = 43
        j.write(os.path.join(folder, name + ".h5"))
    add("compare, hostile", folder + "/c.h5", folder + "/d.h5", hostile=[HOSTILE_SEEN], bars=False)
    absurd(folder + "/absurd.h5", without=("CPUTime",))  # without it there is nothing to compare
    add("compare, absurd", folder + "/absurd.h5", b)
    return cases


# ---- plot

def same_as_svg(name, args, drawn, time_s, factor):
    """Each curve of the SVG, whose axes are scaled by their labels, has the steps of the page."""
    p = picture(args, time_s, factor)
    for i, c in enumerate(drawn["curves"]):
        (x, y), = p.curve(i)
        high = max(c.get("high", c["middle"]))
        is_true("%s: curve %d is that of --svg" % (name, i), len(x) == 2 * len(c["middle"])
                and abs(x - numpy.stack([c["begin_s"], c["end_s"]], 1).ravel()).max() < 1e-3 * drawn["end_s"]
                and abs(y - numpy.repeat(c["middle"], 2)).max() < 1e-3 * high, "%d points of %d" % (len(x), 2 * len(c["middle"])))
        if "low" in c:
            (_, y), = p.curve(i, "range")
            want = numpy.concatenate([numpy.repeat(c["high"], 2), numpy.repeat(c["low"], 2)[::-1]])
            is_true("%s: and its range" % name, len(y) == len(want) and abs(y - want).max() < 1e-3 * high, "%d points" % len(y))


def unknown(folder):
    """A column without one value."""
    path = folder + "/unknown.h5"
    job("some", 1, wall=1200.0).write(path)
    with h5py.File(path, "r+") as f:
        for n in f["Steps/0/Nodes"].values():
            for t in n["Tasks"].values():
                rows = t[()]
                rows["OffCPUDisk"] = numpy.nan
                t[()] = rows
    return path


def plot_cases(folder):
    cases = []

    def add(name, *args, **more):
        out = os.path.join(folder, name + ".html")
        made("plot", "--html", out, *args)
        cases.append({"name": name, "sections": ["values"], "draws": True, **more})
        return data_of(out)

    a, b = folder + "/job_41.h5", folder + "/job_42.h5"
    cpu = [numpy.array([v / (e - s) for s, e, v in tables(path, "Tasks", "CPUTime")]) for path in (a, b)]
    args = ["-s", "Tasks", "-d", "CPUTime", a, b]
    numbers = {}
    for i, v in enumerate(cpu):
        numbers.update({"[data-value='%d highest']" % i: [v.max(), 1e-3], "[data-value='%d lowest']" % i: [v.min(), 1e-3],
                        "[data-value='%d median']" % i: [numpy.median(numpy.median(v, axis=0)), 1e-3]})
    drawn = add("plot, two files", *args, numbers=numbers, axe=True)
    same_as_svg("two files", args, drawn, 60, 1)
    args = ["-s", "Tasks/3", "-d", "RSS", a]
    drawn = add("plot, one task", *args, axe=True)
    _, end, value = tables(a, "Tasks", "RSS")[3]
    is_equal("one task: values are its rows", drawn["curves"][0]["middle"], list(value))
    is_true("one task: times are its rows'", abs(numpy.array(drawn["curves"][0]["end_s"]) - end).max() < 1e-6, end[:3])
    is_near("one task: the factor is of the unit", drawn["values"]["factor"], 1 / 1024**2, 1e-9)
    strange = os.path.join(folder, "<img src=x onerror=hacked=1>\u202e" + "y" * 150 + ".h5")
    os.link(a, strange)
    j = job("some", 3)
    j.program = MARKUP.replace("/", "")
    j.write(folder + "/hostile.h5")
    add("plot, hostile", "-s", "Tasks", "-d", "RSS", strange, folder + "/hostile.h5", hostile=[HOSTILE_SEEN])
    for column in ("CPUTime", "RSS"):
        add("plot, absurd %s" % column, "-s", "Tasks", "-d", column, a, folder + "/absurd.h5", draws=False)
    out = folder + "/nothing.html"
    r = subprocess.run([JOBPROF, "plot", "--html", out, "-s", "Tasks", "-d", "OffCPUDisk", unknown(folder)], capture_output=True, text=True)
    is_true("plot, nothing known: a line and no page", r.returncode == 1 and r.stderr.count("\n") == 1 and not os.path.exists(out),
            r.stderr)
    return cases


# ---- clusters and folds

def cluster_cases(folder):
    cases = []
    for name, kinds, program in (("cluster", [(400, 0.012, 0.002), (300, 0.2, 0.05), (50, 0.0031, numpy.nan)], "solver"),
                                 ("cluster, near", [(400, 0.0112, 0.02), (400, 0.0102, 0.021)], "solver"),
                                 ("cluster, hostile", [(400, 0.012, 0.002)], MARKUP.replace("/", ""))):
        path, out = os.path.join(folder, name + ".h5"), os.path.join(folder, name + ".html")
        j = job("some", 1, wall=1200.0)
        j.program = program
        j.write(path)
        put_bursts(path, START, kinds)
        told = json.loads(made("cluster", "--json", path))
        made("cluster", "--html", out, path)
        data = data_of(out)
        is_true("%s: the page's data are those of --json" % name, all(data[k] == in_digits(v) for k, v in told.items()), [k for k in told if data[k] != in_digits(told[k])])
        cases.append({"name": name, "sections": ["plane", "clusters", "lines"], "plane": True, "axe": name == "cluster",
                      "numbers": {"[data-bursts='%s']" % c["name"]: [c["bursts"], 0] for c in told["clusters"] if c["bursts"]},
                      **({"hostile": [HOSTILE_SEEN]} if "hostile" in name else {})})
    return cases


def fold_cases(folder):
    cases = []
    for name, program in (("fold", "solver"), ("fold, hostile", MARKUP.replace("/", ""))):
        path, out = os.path.join(folder, name + ".h5"), os.path.join(folder, name + ".html")
        j = job("some", 1, wall=1200.0)
        j.program = program
        j.write(path)
        put_samples(path, START, 4000, 0.0241, 0.25)
        if "hostile" in name:
            with h5py.File(path, "r+") as f:
                next(iter(f["Steps/0/Nodes"].values())).attrs["Region 1"] = STRANGE
        told = json.loads(made("fold", "--json", path))
        made("fold", "--html", out, path)
        data = data_of(out)
        is_true("%s: the page's data are those of --json" % name, all(data[k] == in_digits(v) for k, v in told.items()), [k for k in told if data[k] != in_digits(told[k])])
        cases.append({"name": name, "sections": ["fold"], "axe": name == "fold", **({"hostile": [HOSTILE_SEEN]} if "hostile" in name else {})})
    return cases


# ---- marks

def marks_cases(folder):
    path, end = os.path.join(folder, "marks.h5"), 7200
    at = [(100, "setup"), (900, "solve"), (2600, "checkpoint"), (2700, "solve"), (5400, "write")]
    cases = []

    def add(name, marks, **more):
        job("some", 1, wall=float(end)).write(path)
        put_marks(path, marks)
        told = json.loads(made("report", "--json", path))["marks"]
        out = os.path.join(folder, name + ".html")
        made("report", "--html", out, path)
        is_equal("%s: the page has those of --json" % name, data_of(out)["marks"], told)
        cases.append({"name": name, "sections": ["phases"], **more})
        return told

    steps = list(zip([t for t, _ in at], [t for t, _ in at[1:]] + [end]))
    told = add("marks", {"n1": at, "n3": [(901, "solve")]}, axe=True, phases=[[name, a, b - a] for (a, b), (_, name) in zip(steps, at)])
    is_equal("marks are those of the file", [(m["at_s"], m["name"], m["step"]) for m in told["of"]], [(t, name, "0") for t, name in at])
    is_equal("a mark of two nodes is one", [(m["times"], m["node"]) for m in told["of"]][:3], [(1, "n1"), (2, None), (1, "n1")])
    names = [MARKUP, STRANGE, LONG, "\x1b[31m\x07", "\u05d0\u05d1\u05d2 \u202e abc", "</bdi><b>", " "]
    told = add("marks, hostile", {"n1": [(300 + 900 * i, name) for i, name in enumerate(names)]}, hostile=[HOSTILE_SEEN, "</bdi><b>"])
    is_equal("hostile names are the file's", [m["name"] for m in told["of"]], names)
    told = add("marks, many", {"n1": [(t, "step %d" % (t % 300)) for t in range(0, 7000, 10)], "n2": [(50, "a"), (10**9, "far")]})
    is_equal("of many marks the first are there, the others are counted", (len(told["of"]), told["left_out"]), (200, 701 - 200))
    return cases


# ---- all in the browser

def look_at(folder, cases):
    need("node", "chromium")
    if not os.path.isdir(os.path.join(WEB, "node_modules/playwright-core")):
        raise Skipped("playwright-core is not installed: scripts/install-deps test")
    with open(os.path.join(folder, "cases.json"), "w") as f:
        json.dump(cases, f)
    p = subprocess.run(["node", os.path.join(WEB, "pages.js"), folder], capture_output=True, text=True, timeout=500)
    print(p.stdout, end="", flush=True)
    is_true("the browser's tests came to their end", p.returncode == 0, p.stderr[-400:])


def one_of_each_kind():
    """A page is drawn by the module of its own kind, which its data tell."""
    folder = tmpdir("pages")
    look_at(folder, [{"name": make(folder)[0]["name"]} for make in (compare_cases, plot_cases, cluster_cases, fold_cases, marks_cases)])


@in_full
def in_a_browser():
    folder = tmpdir("pages")
    look_at(folder, compare_cases(folder) + plot_cases(folder) + cluster_cases(folder) + fold_cases(folder) + marks_cases(folder))


def whole_or_not():
    need()
    folder = tmpdir("whole")
    a, b, bad, out = (os.path.join(folder, n) for n in ("a.h5", "b.h5", "bad.h5", "out.html"))
    for path, wall in ((a, 600), (b, 660)):
        Job(nodes=1, tasks=2, cores=2, wall=wall).write(path)
    with open(a, "rb") as f, open(bad, "wb") as g:
        g.write(f.read(3000))
    for verb, args, last in (("compare", [a], b), ("plot", ["-s", "Tasks", "-d", "RSS", a], b)):
        with open(out, "w") as f:
            f.write("before")
        p = jobprof(verb, "--html", out, *args, last)
        is_true("%s: an older page is not replaced unasked" % verb, p.returncode == 1 and "already" in p.stderr and open(out).read() == "before", p.stderr)
        p = jobprof(verb, "--html", out, "--overwrite", *args, bad)
        is_true("%s: of a damaged file no page is written" % verb, p.returncode == 1 and open(out).read() == "before", p.stderr)
        is_equal("%s: nothing else is left" % verb, sorted(os.listdir(folder)), ["a.h5", "b.h5", "bad.h5", "out.html"])
        for over in (a, b):
            p = jobprof(verb, "--html", over, *args, last)
            is_true("%s: an input is not written over" % verb, p.returncode == 1 and "what is read" in p.stderr and h5py.is_hdf5(over), p.stderr)
        for where in (os.path.join(folder, "no/out.html"), "/dev/full"):
            p = jobprof(verb, "--html", where, *args, last)
            is_true("%s: %s is one line" % (verb, os.path.basename(where)), p.returncode == 1 and len(p.stderr.splitlines()) == 1, p.stderr)
        p = jobprof(verb, "--html", out, "--overwrite", *args, last)
        is_true("%s: an older page is replaced" % verb, p.returncode == 0 and not p.stdout and not p.stderr and open(out).read().endswith("</html>\n"), p.stderr)
        is_true("%s: - is standard output" % verb, jobprof(verb, "--html", "-", *args, last).stdout == open(out).read(), "")
        other = "--json" if verb == "compare" else "--svg=x"
        p = jobprof(verb, "--html", out, other, *args, last)
        is_equal("%s: one form at a time" % verb, p.returncode, 2)


if __name__ == "__main__":
    run_tests([whole_or_not, one_of_each_kind, in_a_browser])
