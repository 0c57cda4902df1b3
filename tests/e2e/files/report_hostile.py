#!/usr/bin/python3
# runs: in full
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 400
"""jobprof report of files that are damaged, foreign or strange: a report whose numbers are those of the good
rows, or one line that names the file. Never a crash, never a finding from what is missing."""

import resource
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from h5make import EPOCH, F, U, attribute
from lib import *
import hostilelib

GOLDEN = os.path.join(ROOT, "tests/data/golden")
SECOND = 10 ** 9
YEAR = 365 * 86400
COLUMNS = [("CPUTime", F), ("RunDelay", F), ("RSS", U), ("TimeNS", U)]
ATTRS = {"Allocated CPUs": numpy.array([4], "<i4"), "Memory Limit": numpy.array([1000.0])}
NOTES = ("note",)


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (60, 90))


def report(*args):
    """Status, page or JSON, errors; what holds for each report is looked at here."""
    p = subprocess.run([JOBPROF, "report", *args], capture_output=True, timeout=200, preexec_fn=limits,
                       env=dict(os.environ, LC_ALL="C"))
    out, err = p.stdout.decode("latin-1"), hostilelib_noise(p.stderr.decode("latin-1"))
    if p.returncode not in (0, 1):
        raise Failed("status %d: %s" % (p.returncode, err[-300:]))
    strange = re.search(".{,20}[\0-\x09\x0b-\x1f\x7f].{,20}", out + err)
    if strange:
        raise Failed("control characters: " + repr(strange))
    if p.returncode and (out or len(err.splitlines()) != 1):
        raise Failed("it failed with more or less than a line: %r %r" % (out[:200], err[-300:]))
    return p.returncode, out, err


def hostilelib_noise(err):
    """The C library's last words when the HDF5 library has overwritten what malloc knows."""
    return re.sub("^(\\w+\\(\\): |double free or |corrupted |\\*\\*\\* ).*\n", "", err, flags=re.M)


def no_constant(name):
    raise Failed("JSON has " + name)


def as_json(*args):
    status, out, err = report("--json", *args)
    if status:
        raise Failed("report %s: %s" % (" ".join(args), err))
    return json.loads(out, parse_constant=no_constant)


def findings(r):
    return [f["id"] for f in r["findings"] if f["severity"] not in NOTES]


def rows(n=60, start=EPOCH, columns=COLUMNS, **values):
    """A row a second with 0.9 s of CPU time."""
    t = numpy.zeros(n, columns)
    end = numpy.arange(1, n + 1)
    for name, value in dict({"CPUTime": 0.9, "RunDelay": 0.01, "RSS": 1 << 17,
                             "TimeNS": (start + end) * SECOND}, **values).items():
        if name in t.dtype.names:
            t[name] = value
    return t


def write(group, node, tables, start=EPOCH, attrs=()):
    g = group.create_group(node)
    attribute(g, "Node Name", node)
    g.attrs["Start TimeNS"] = numpy.array([start * SECOND], "<i8")
    g.attrs["Start Time"] = numpy.array([b"Sat Nov 21 02:00:00 2026"], "S24")
    for name, value in {**ATTRS, **dict(attrs)}.items():
        g.attrs[name] = value
    for name, data in tables.items():
        g.create_dataset(name, data=data, maxshape=(None,), chunks=(max(1, min(64, len(data))),))
    return g


def node_file(d, node="n1", step="0", tables=None, **kw):
    path = os.path.join(d, "7_%s_%s.h5" % (step, node))
    with h5py.File(path, "w") as f:
        write(f, node, tables or {"Tasks/0": rows()}, **kw)
    return path


def job_file(path, steps):
    """steps: {step: {node: tables}}."""
    with h5py.File(path, "w") as f:
        for step, nodes in steps.items():
            g = f.create_group("Steps/%s/Nodes" % step)
            for node, tables in nodes.items():
                write(g, node, tables)
    return path


def no_reports():
    d = tmpdir("bad")
    good = open(GOLDEN + "/job_7.h5", "rb").read()
    for name, data in (("empty.h5", b""), ("text.h5", b"a text\n" * 100), ("half.h5", good[:len(good) // 2]),
                       ("head.h5", good[:600]), ("zeros.h5", bytes(10000)),
                       ("garbage.h5", numpy.random.default_rng(1).bytes(20000))):
        with open(os.path.join(d, name), "wb") as f:
            f.write(data)
    with h5py.File(d + "/foreign.h5", "w") as f:
        f["temperature"] = numpy.arange(10)
    with h5py.File(d + "/nothing.h5", "w"):
        pass
    with h5py.File(d + "/7_0_n1.h5", "w") as f:
        write(f, "n1", {"Tasks/0": rows(0)})
    with h5py.File(d + "/7_1_n1.h5", "w") as f:
        write(f, "n1", {"Tasks/0": rows(5, TimeNS=EPOCH * SECOND)})
    for name in sorted(os.listdir(d)) + ["absent.h5"]:
        path = os.path.join(d, name)
        status, _, err = report(path)
        is_true("no report: " + name, status == 1 and path in err, err)


def as_small_as_can_be():
    d = tmpdir("small")
    r = as_json(node_file(d, tables={"Tasks/0": rows(1, CPUTime=0.5)}))
    is_near("one row: its CPU time", r["facts"]["cpu_s"], 0.5, 1e-9)
    is_equal("one row: no finding", findings(r), [])
    r = as_json(node_file(d, tables={"Tasks/0": rows(), "Tasks/1": rows(0)}))
    is_near("a task without rows: the other's CPU time", r["facts"]["cpu_s"], 54, 1e-9)
    is_equal("a task without rows: no finding", findings(r), [])
    paths = [node_file(d), node_file(d, step="1", tables={"Tasks/0": rows(3, TimeNS=EPOCH * SECOND)})]
    r = as_json(*paths)
    is_near("a step of no length: the job's time", r["facts"]["wall_s"], 60, 1e-9)


def clock_case(what, *nodes):
    """Of four nodes the last has a wrong clock."""
    d = tmpdir("clock")
    paths = [node_file(d, "n%d" % i) for i in range(1, 4)] + [node_file(d, "n4", **nodes[0])]
    r = as_json(*paths)
    is_equal("clock %s: the node is named" % what, [t["node"] for t in r["coverage"]["not_readable"]], ["n4"])
    is_near("clock %s: the time of the others" % what, r["facts"]["wall_s"], 60, 1e-9)
    is_near("clock %s: the CPU time of the others" % what, r["facts"]["cpu_s"], 3 * 54, 1e-9)
    is_near("clock %s: the cores of the others" % what, r["facts"]["cores"], 12, 1e-9)
    is_equal("clock %s: few bins, no finding" % what, [len(r["bins"]["start_s"]) < 1000, findings(r)], [True, []])
    status, out, err = report(*paths)
    is_true("clock %s: the page says it" % what, not status and re.search("n4 step 0: the clock", out), out + err)


def wrong_clocks():
    for what, start in (("years ahead", EPOCH + 40 * YEAR), ("never set", 86400), ("hours ahead", EPOCH + 7200),
                        ("hours behind", EPOCH - 7200)):
        clock_case(what, {"tables": {"Tasks/0": rows(start=start)}, "start": start})
    t = rows()
    jumped = t["TimeNS"].copy()
    jumped[30:] += numpy.uint64(30 * YEAR * SECOND)
    clock_case("jumps ahead", {"tables": {"Tasks/0": rows(TimeNS=jumped)}})
    jumped = t["TimeNS"].copy()
    jumped[30] += numpy.uint64(30 * YEAR * SECOND)
    clock_case("jumps in one row", {"tables": {"Tasks/0": rows(TimeNS=jumped)}})
    jumped = t["TimeNS"].copy()
    jumped[30:] -= numpy.uint64(86400 * SECOND)
    clock_case("falls", {"tables": {"Tasks/0": rows(TimeNS=jumped)}})
    d = tmpdir("clock")
    r = as_json(node_file(d, "n1"), node_file(d, "n2", tables={"Tasks/0": rows(start=0)}, start=0))
    is_equal("clock: of two nodes, the one that was never set", [t["node"] for t in r["coverage"]["not_readable"]],
             ["n2"])
    jumped = t["TimeNS"].copy()
    jumped[30:] -= numpy.uint64(2 * SECOND)
    r = as_json(node_file(d, tables={"Tasks/0": rows(TimeNS=jumped)}))
    is_near("clock that is set back by 2 s: all CPU time", r["facts"]["cpu_s"], 54, 1e-9)
    is_near("clock that is set back by 2 s: also in bins", sum(r["bins"]["cpu_s"]), 54, 1e-9)


def jump_of_slurms():
    """Slurm's own files, of a node whose clock jumped by 10,000 s: what is between two rows is not covered."""
    path = os.path.join(tmpdir("jump"), "job_3.h5")
    shutil.copy(GOLDEN + "/real/job_3.h5", path)
    want = as_json(path)["facts"]["cpu_s"]
    with h5py.File(path, "r+") as f:
        for t in (t for s in f["Steps"].values() for n in s["Nodes"].values() for t in n["Tasks"].values()):
            data = t[()]
            for name in ("EpochTime", "ElapsedTime"):
                data[name][len(data) // 2:] += 10000
            t[...] = data
    r = as_json(path)
    is_equal("a jump of Slurm's clock: no finding", r["findings"], [])
    is_near("a jump of Slurm's clock: rows have their usual length", r["coverage"]["row_s"], 1, 1e-9)
    covered = [r["coverage"]["share"], *r["units"]["nodes"]["coverage"]]
    is_true("a jump of Slurm's clock: what rows cover", all(0 < v < 0.003 for v in covered), covered)
    is_near("a jump of Slurm's clock: all CPU time", r["facts"]["cpu_s"], want, 1e-9)
    out = report(path)[1]
    is_true("a jump of Slurm's clock: the page says it", "a row every 1.00 s, 0.1 % of the time recorded" in out, out)


def given_twice():
    d = tmpdir("twice")
    a, b = node_file(d, "n1"), node_file(d, "n2")
    once = as_json(a, b)
    other = os.path.join(d, "sub")
    os.mkdir(other)
    copy = node_file(other, "n1")
    status, out, err = report("--json", a, b, a, copy)
    is_equal("given twice: counts once", [status, json.loads(out)], [0, once])
    is_equal("given twice: it is said of the copy", len(re.findall("they count once", err)), 1)
    parts = [GOLDEN + "/7_%s.h5" % p for p in ("0_p1", "0_p2", "1_p1", "batch_p1")]
    is_equal("a job file and its node-step files", as_json(GOLDEN + "/job_7.h5", *parts)["facts"],
             as_json(GOLDEN + "/job_7.h5")["facts"])


def missing():
    d = tmpdir("missing")
    four = {"Number of Nodes": numpy.array([4], "<i4"), "Nodes in Step": numpy.array([4], "<i4"),
            "Step Node List": "n[1-4]"}
    r = as_json(node_file(d, "n1", attrs=four), node_file(d, "n3", attrs=four))
    is_equal("nodes that are not there: no finding", findings(r), [])
    nan = float("nan")
    r = as_json(node_file(d, tables={"Tasks/0": rows(CPUTime=nan, RunDelay=nan)}))
    is_equal("NaN everywhere: nothing is known, nothing found",
             [r["facts"].get("cpu_s"), r["facts"].get("wait_s"), findings(r)], [None, None, []])
    with open(d + "/7_0_n9.h5", "wb") as f:
        f.write(b"not HDF5")
    status, out, err = report("--json", node_file(d, "n1"), d + "/7_0_n9.h5")
    is_true("one file that is damaged is named, the others count",
            not status and "7_0_n9.h5" in err and abs(json.loads(out)["facts"]["cpu_s"] - 54) < 1e-9, err)


def strange_values():
    d = tmpdir("values")
    for what, v in (("negative", -5.0), ("huge", 1e308), ("infinite", float("inf")), ("-infinite", float("-inf")),
                    ("tiny", 5e-324)):
        r = as_json(node_file(d, tables={"Tasks/0": rows(CPUTime=v, RunDelay=v, RSS=2 ** 64 - 1)}))
        ok("values, %s: %d findings" % (what, len(r["findings"])))
    t = rows(TimeNS=2 ** 64 - 1)
    status, _, err = report(node_file(d, tables={"Tasks/0": t}))
    is_true("values: the latest time there is", status in (0, 1), err)
    t = rows(columns=[("EpochTime", F), ("CPUTime", F)], EpochTime=float("nan"))
    status, _, err = report(node_file(d, tables={"Tasks/0": t}))
    is_true("values: times are NaN", status in (0, 1), err)


def strange_attributes():
    d = tmpdir("attributes")
    strange = [numpy.array([1, 2, 3], "<i4"), "text", numpy.array([float("nan")]), numpy.array([-1], "<i8"),
               numpy.array([2 ** 63], "<u8"), numpy.array([1e300]), numpy.zeros(1, [("a", "<i4")]),
               numpy.array([b"\x1b[31m\xff"], "S6"), ""]
    for name in ("Start TimeNS", "Allocated CPUs", "Memory Limit", "Threads per Core", "Time Limit", "Node Cores",
                 "Node Memory", "Number of Tasks", "Job State", "Unknown Columns", "Mode sched", "CPU Model"):
        for value in strange:
            status, out, err = report("--json", node_file(d, attrs={name: value}))
            if not status:
                json.loads(out, parse_constant=no_constant)
            elif name != "Start TimeNS" and name != "Unknown Columns":
                raise Failed("%s = %r: %s" % (name, value, err))
        ok("attribute %s of %d wrong types" % (name, len(strange)))


def many():
    d = tmpdir("many")
    r = as_json(node_file(d, tables={"Tasks/%d" % i: rows(4) for i in range(3000)}))
    is_near("3000 tasks: their CPU time", r["facts"]["cpu_s"], 3000 * 3.6, 1e-9)
    r = as_json(job_file(d + "/job_7.h5", {str(i): {"n1": {"Tasks/0": rows(4, start=EPOCH)}} for i in range(2000)}))
    is_near("2000 steps: their CPU time", r["facts"]["cpu_s"], 2000 * 3.6, 1e-9)
    commands = numpy.ones(1, [("Processes", U), ("CPUTime", F), ("TimeNS", U)])
    tables = {"Tasks/0": rows()}
    tables.update({"Commands/c%d" % i: commands for i in range(3000)})
    tables.update({"Ranks/%d" % i: rows(4) for i in range(300)})
    r = as_json(node_file(d, tables=tables))
    is_equal("3000 commands and 300 ranks", [len(r["commands"]), len(r["units"]["tasks"]["name"])], [3000, 300])
    is_near("300 ranks do not count beside their task", r["facts"]["cpu_s"], 54, 1e-9)


def names():
    d = tmpdir("names")
    bad = "<b>&\"'\x1b[31m\x07\u00e9"
    tables = {"Tasks/0": rows(), "Commands/%s" % bad: numpy.ones(1, [("CPUTime", F), ("TimeNS", U)]),
              "GPU/%s" % bad: numpy.ones(3, [("Utilization", F), ("TimeNS", U)]), "Tasks/%s" % bad: rows()}
    path = os.path.join(d, "7_0_n1.h5")
    with h5py.File(path, "w") as f:
        write(f, bad, tables, attrs={"Job Name": bad, "User": bad, "End Reason": bad, "CPU Model": bad,
                                     "Mode perf": bad, "Executable": bad})
    for args in ([], ["--all"], ["--facts"], ["--json"]):
        status, out, err = report(*args, path)
        is_true("names of markup and control characters %s" % args, not status or "damaged" in err, err)
        if args == ["--json"] and not status:
            json.loads(out, parse_constant=no_constant)


def names_that_say_nothing():
    """Where the file's name has no job and no step, its attributes have."""
    path = os.path.join(tmpdir("unnamed"), "x.h5")
    for step, said in (("0", "0"), ("batch", "batch"), ("4294967292", "extern"), ("a/b", ""), ("..", "")):
        with h5py.File(path, "w") as f:
            write(f, "n1", {"Tasks/0": rows()}, attrs={"Job Id": numpy.array([7], "<i4"), "Step": step})
        r = as_json(path)
        is_equal("a file without a name: step %s" % step, [r["job"]["id"], r["job"]["steps"][0]["name"]], ["7", said])


def rows_left_out():
    """A rank that comes late and has few rows: its first row does not begin before the job."""
    late = rows()[1::5]
    r = as_json(node_file(tmpdir("late"), tables={"Tasks/0": rows(), "Ranks/0": late, "Ranks/1": rows()}))
    is_near("a late rank of few rows: it lived in the job's time", r["units"]["tasks"]["wall_s"][0], 57, 1e-9)
    is_near("a late rank of few rows: its bins are all of its CPU time",
            sum(v or 0 for v in r["units"]["task_bins"]["CPU"][0]),
            r["units"]["tasks"]["cpu_s"][0], 1e-9)


def ranks_that_end():
    """A rank has rows until its step ends: it lived in those in which it had a thread."""
    threads, cpu = numpy.full(60, 2.0), numpy.full(60, 0.9)
    threads[20:] = numpy.nan
    threads[:10] = numpy.nan
    cpu[20:] = cpu[:10] = 0
    columns = COLUMNS + [("Threads", F)]
    tables = {"Tasks/0": rows(columns=columns, Threads=4), "Ranks/0": rows(columns=columns, Threads=threads, CPUTime=cpu),
              "Ranks/1": rows(columns=columns, Threads=2), "Ranks/2": rows(columns=columns, Threads=numpy.nan)}
    r = as_json(node_file(tmpdir("ended"), tables=tables))
    is_equal("ranks that end: their time", r["units"]["tasks"]["wall_s"], [10, 60, 60])
    is_equal("ranks that end: the node's time", r["units"]["nodes"]["wall_s"], [60])


def made(name, make):
    def test():
        path = os.path.join(tmpdir("hostile"), "7_0_n1.h5")
        make(path)
        status, _, err = report("--all", path)
        if status and path not in err:
            raise Failed("the line does not name the file: " + err)
        got, out, _ = report("--json", path)
        if got != status:
            raise Failed("status %d, with --json %d" % (status, got))
        if not got:
            json.loads(out, parse_constant=no_constant)
        ok("hostile: " + name)
    test.__name__ = name
    return test


def what_the_fuzzers_found():
    top, n = os.path.join(ROOT, "tests", "data", "hostile"), 0
    for name in sorted(os.listdir(top)):
        if name.endswith(".h5"):
            report("--all", os.path.join(top, name))
            n += 1
    is_true("what the fuzzers found", n > 5, "only %d files" % n)


if __name__ == "__main__":
    run_tests([no_reports, as_small_as_can_be, wrong_clocks, jump_of_slurms, given_twice, missing, strange_values,
               strange_attributes, many, names, names_that_say_nothing, rows_left_out, ranks_that_end, what_the_fuzzers_found] +
              [made(*c) for c in hostilelib.CASES.items() if c[0] != "65000 names of one table"])  # it takes minutes
