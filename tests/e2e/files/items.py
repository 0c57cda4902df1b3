#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof items and jobprof list against numpy and h5py on files made with h5py."""

import csv
import io
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *
from h5make import *

NS = 10**9


def jobprof(*args):
    p = subprocess.run([JOBPROF] + list(args), capture_output=True, text=True, env=plain_env())
    return p.returncode, p.stdout, p.stderr


def items(path, series, column, *more, status=0):
    code, out, err = jobprof("items", "-i", path, "-s", series, "-d", column, *more)
    if code != status:
        raise Failed("status %d: %s" % (code, err))
    return list(csv.DictReader(io.StringIO(out))), err


def merged(path, nodes, step="0"):
    """nodes: {"n1": {"Tasks/0": rows}}"""
    with h5py.File(path, "a") as f:
        for node, tables in nodes.items():
            for name, rows in tables.items():
                dataset(f.require_group("Steps/%s/Nodes/%s" % (step, node)), name, rows)
    return path


def stamped(times_ns, columns, cells, start=EPOCH):
    t = numpy.asarray(times_ns, dtype=numpy.int64)
    return rows_of(t / NS - start, columns, list(cells) + [t.astype("<u8")], start,
                   extra=[("TimeNS", U)])


def phases():
    """Nodes that tick every second at other fractions of it, with jitter: one row each second, in
    which every node is, whatever its row number."""
    rng = numpy.random.default_rng(1)
    nodes = {}
    for i, phase in enumerate((0, 0.31, 0.5, 0.77, 0.98)):
        n, late = 40, i  # later nodes begin later, so that row numbers do not agree
        at = EPOCH + late + phase + numpy.arange(n) + rng.random(n) * 0.01
        nodes["n%d" % i] = {"Step": stamped((at * NS).astype(numpy.int64), [("ReadMB", F)],
                                            [rng.random(n)])}
    path = merged(os.path.join(tmpdir(), "job_1.h5"), nodes)
    got, _ = items(path, "Step", "ReadMB")
    spans = [max(abs(int(r["TimeNS"]) - t) for t in
             [int(x["Step"]["TimeNS"][k]) for x, k in
              [(nodes[n], list(nodes[n]["Step"]["ReadMB"].round(6)).index(round(float(r[n]), 6)))
               for n in nodes if r[n]]]) for r in got]
    is_equal("rows of one second share a row: number of rows", len(got) in (44, 45), True)
    is_true("rows of one second share a row: none is a period off", max(spans) < 1.1 * NS,
            max(spans))
    full = [r for r in got if all(r[n] for n in nodes)]
    is_true("where all nodes run, all are in the row", len(full) >= 35, len(full))


def every_row_once():
    """Whatever the times, each row of each table is in one row: the sum of sums is the sum."""
    rng = numpy.random.default_rng(2)
    nodes, wanted, rows = {}, 0.0, 0
    for i in range(7):
        n = int(rng.integers(1, 90))
        at = EPOCH * NS + numpy.sort(rng.integers(0, 60 * NS, n))
        v = rng.random(n) * 100 - 30
        wanted, rows = wanted + v.sum(), rows + n
        nodes["n%d" % i] = {"Tasks/%d" % i: stamped(at, [("WriteMB", F)], [v])}
    path = merged(os.path.join(tmpdir(), "job_1.h5"), nodes)
    for period in (None, "0.5", "7"):
        got, _ = items(path, "Tasks", "writemb", *(["--period", period] if period else []))
        name = "period %s: " % (period or "of the tables")
        is_equal(name + "each row once", sum(int(r["NumTasks"]) for r in got), rows)
        is_near(name + "sum", sum(float(r["Sum"]) for r in got), wanted, 1e-9, 1e-5 * len(got))
        cells = [[float(v) for k, v in r.items() if "/" in k and v] for r in got]
        is_true(name + "minimum, maximum and average are of the row",
                all(approx(float(r["Min"]), min(c), 0, 1e-6) and
                    approx(float(r["Max"]), max(c), 0, 1e-6) and
                    approx(float(r["Avg"]), sum(c) / len(c), 0, 1e-6)
                    for r, c in zip(got, cells)), got[:2])
        is_true(name + "and where they are", all(
            r[r["MinNode"] + "/" + r["MinTask"]] == r["Min"] and
            r[r["MaxNode"] + "/" + r["MaxTask"]] == r["Max"] for r in got), got[:2])


def integers():
    """Exact beyond what a double holds; a sum that does not fit is not wrapped. Above these are what Slurm has for no value."""
    big = (1 << 53) + 1
    path = merged(os.path.join(tmpdir(), "job_1.h5"), {
        "a": {"Energy": rows_of([0, 2], [("Power", U)], [[big, (1 << 64) - 4]])},
        "b": {"Energy": rows_of([0, 2], [("Power", U)], [[2, (1 << 64) - 4]])}})
    got, err = items(path, "energy", "Power")
    is_equal("integers: exact", [got[0][k] for k in ("Min", "Max", "Sum", "a")],
             ["2", str(big), str(big + 2), str(big)])
    is_near("integers: a sum of more than 64 bits", float(got[1]["Sum"]), 2.0**65, 1e-12)
    is_true("the highest sum and when", "Power at one time 36893488147419103232.000000, at 2 s"
            in err, err)


def gauges():
    """A gauge holds from a table's first row to its last, a count per interval does not."""
    cols = [("RSS", U), ("ReadMB", F), ("Plain", U)]
    path = merged(os.path.join(tmpdir(), "job_1.h5"), {
        "a": {"Tasks/0": rows_of([0, 1, 2, 3, 4, 5], cols, [[10, 11, 12, 13, 14, 15], [1] * 6, [1] * 6])},
        "b": {"Tasks/1": rows_of([1, 3, 4], cols, [[20, 22, 23], [2, 2, 2], [1] * 3])}})
    got, _ = items(path, "Tasks", "RSS")
    is_equal("gauge: the last known value holds", [r["b/1"] for r in got],
             ["", "20", "20", "22", "23", ""])
    is_equal("gauge: and counts", [r["Sum"] for r in got], ["10", "31", "32", "35", "37", "15"])
    for column, line in (("RSS", "    Average %f" % numpy.mean([10, 11, 12, 13, 14, 15, 20, 20, 22, 23])),
                         ("ReadMB", "    Sum 12.000000, average %f" % numpy.mean([1] * 6 + [2] * 3))):
        p = subprocess.run([JOBPROF, "items", "-i", path, "-s", "Tasks", "-d", column],
                           capture_output=True, text=True)
        is_true("summary of " + column, line in p.stderr.split("\n"), p.stderr)
        is_true("summary of %s: when, as people say it" % column, "Maximum %s on b, task 1 at %s.000\n" % (
            ("23", time.strftime("%F %T", time.localtime(EPOCH + 4))) if column == "RSS" else
            ("2.000000", time.strftime("%F %T", time.localtime(EPOCH + 1)))) in p.stderr, p.stderr)
    for column, unit in (("RSS", ", in KiB"), ("ReadMB", ", in MiB"), ("Plain", "")):
        _, err = items(path, "Tasks", column)
        is_true("summary of %s: its unit" % column, "    Step 0%s: highest sum of %s at" % (unit, column) in err, err)
    got, _ = items(path, "Tasks", "ReadMB")
    is_equal("per interval: nothing where there is no row", [r["b/1"] for r in got],
             ["", "2.000000", "", "2.000000", "2.000000", ""])
    is_equal("number of nodes", [r["NumNodes"] for r in got], ["1", "2", "1", "2", "2", "1"])


def unknown():
    """NaN, and columns the node says are unknown, are no numbers."""
    path = merged(os.path.join(tmpdir(), "job_1.h5"), {
        "a": {"Tasks/0": rows_of([0, 1], [("X", F), ("G", U)], [[float("nan"), -2], [0, 0]])},
        "b": {"Tasks/1": rows_of([0, 1], [("X", F), ("G", U)], [[-5, -1], [3, 4]])}})
    with h5py.File(path, "a") as f:
        attribute(f["Steps/0/Nodes/a"], "Unknown Columns", "G")
    got, err = items(path, "Tasks", "X")
    is_equal("NaN is no number", [(r["a/0"], r["Max"], r["NumNodes"]) for r in got],
             [("", "-5.000000", "1"), ("-2.000000", "-1.000000", "2")])
    is_true("highest of negative sums", "at one time -3.000000, at 1 s, -1.500000 per node"
            in err, err)
    got, _ = items(path, "Tasks", "G")
    is_equal("unknown columns are no numbers", [(r["a/0"], r["Min"]) for r in got],
             [("", "3"), ("", "4")])


def lacking():
    """What lacks the series or the column is named, the rest is there."""
    path = merged(os.path.join(tmpdir(), "job_1.h5"), {
        "a": {"Energy": rows_of([0], [("Power", U)], [[5]])},
        "b": {"Network": rows_of([0], COLUMNS["Network"], [[1], [1], [1], [1]])},
        "c": {"Energy": rows_of([0], [("NodePower", U)], [[7]])}})
    got, err = items(path, "Energy", "Power")
    is_equal("lacking: the rest", [r["Sum"] for r in got], ["5"])
    is_true("lacking: both are named", "node b, Energy: no such" in err and
            "node c, Energy: no such" in err, err)
    for what, args, text in (("series", ("-s", "Filesystem", "-d", "Reads"), "there is no series Filesystem"),
                             ("column", ("-s", "Energy", "-d", "Volt"), "no such column"),
                             ("node", ("-s", "Energy", "-d", "Power", "-N", "zz"), "node zz")):
        code, out, err = jobprof("items", "-i", path, *args)
        is_true("no such %s: status 1, nothing printed, one line says so" % what,
                code == 1 and not out and text in err and err.count("\n") == 1, (code, out, err))
    for verb, args, near in (("items", ("-s", "Enregy", "-d", "Power"), "Energy"), ("items", ("-s", "Energy", "-d", "Pwoer"), "Power"),
                             ("plot", ("-s", "Enregy", "-d", "Power"), "Energy"), ("plot", ("-s", "Energy", "-d", "Pwoer"), "Power"),
                             ("list", ("-s", "Enregy"), "Energy"), ("extract", ("-s", "Enregy"), "Energy"),
                             ("extract", ("-s", "Energy", "--columns", "pwoer"), "Power")):
        code, out, err = jobprof(verb, *args, path)
        is_true("%s %s: what was meant" % (verb, " ".join(args)), code == 1 and not out and 'did you mean "%s"?' % near in err, (code, out, err))
    _, out, _ = jobprof("items", "-i", path, "-s", "Energy", "-d", "Power", "--period", "0.2",
                        "--format", "json")
    is_true("numbers of JSON are as short as can be", '"period": 0.2,' in out, out[:200])


def types():
    """Where tables disagree on the type, numbers are doubles."""
    path = merged(os.path.join(tmpdir(), "job_1.h5"), {
        "a": {"Energy": rows_of([0], [("Power", U)], [[5]])},
        "b": {"Energy": rows_of([0], [("Power", F)], [[2.5]])}})
    got, _ = items(path, "Energy", "Power")
    is_equal("mixed types", [got[0][k] for k in ("a", "b", "Sum")],
             ["5.000000", "2.500000", "7.500000"])


def steps():
    """Each step has its own rows; a column per node of any step."""
    path = os.path.join(tmpdir(), "job_7.h5")
    e = [("Power", U)]
    merged(path, {"a": {"Energy": rows_of([0, 1], e, [[1, 2]])}})
    merged(path, {"b": {"Energy": rows_of([0], e, [[4]])}}, "batch")
    merged(path, {"a": {"Energy": rows_of([0], e, [[8]])}}, "-4")
    got, _ = items(path, "Energy", "Power")
    is_equal("steps", [(r["Step"], r["a"], r["b"]) for r in got],
             [("0", "1", ""), ("0", "2", ""), ("batch", "", "4"), ("extern", "8", "")])
    was = os.getcwd()
    os.chdir(os.path.dirname(path))
    code, out, err = jobprof("items", "-j", "7.extern,7.batch", "-s", "Energy", "-d", "Power")
    os.chdir(was)
    is_equal("steps by name, file by job", [r["Step"] for r in csv.DictReader(io.StringIO(out))],
             ["batch", "extern"])


def many():
    """More rows than are kept in memory: tables are read in turns."""
    n, length = 3000, 640
    path = os.path.join(tmpdir(), "job_1.h5")
    rng = numpy.random.default_rng(3)
    rows = rows_of(numpy.arange(length), [("RSS", U)], [rng.integers(1, 100, length)])
    starts = rng.integers(0, 50, n)
    wanted = numpy.zeros(length + 50, dtype=numpy.int64)
    with h5py.File(path, "w") as f:
        g = f.create_group("Steps/0/Nodes/n/Tasks")
        for i in range(n):
            rows["EpochTime"] = EPOCH + starts[i] + numpy.arange(length)
            wanted[starts[i]:starts[i] + length] += rows["RSS"].astype(numpy.int64)
            g.create_dataset(str(i), data=rows, maxshape=(None,), chunks=(128,))
    p = start(["/usr/bin/time", "-f", "%M", JOBPROF, "items", "-i", path, "-s", "Tasks", "-d", "RSS",
               "--format", "table"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = p.communicate(timeout=60)
    sums = [int(l.split()[4]) for l in out.splitlines()[1:]]
    wanted = list(wanted[starts.min():starts.max() + length])
    is_true("many: sums of %d tables by time" % n, sums == wanted,
            [(i, a, b) for i, (a, b) in enumerate(zip(sums, wanted)) if a != b][:3] or len(sums))
    kib = int(err.split()[-1])
    is_true("many: memory", kib < 64 * 1024, "%d KiB" % kib)


def seconds():
    """Rows of a tenth of a second have a time to plot by; nodes that do not say when their step began,
    or have no TimeNS, have none."""
    at = EPOCH * NS + 250_000_000 + numpy.arange(12) * NS // 10
    d = tmpdir()
    path = merged(os.path.join(d, "job_1.h5"), {"n1": {"Step": stamped(at, [("ReadMB", F)], [numpy.arange(12.0)])}})
    with h5py.File(path, "r+") as f:
        f["Steps/0/Nodes/n1"].attrs["Start TimeNS"] = numpy.int64(EPOCH * NS + 50_000_000)
    wanted = [round((int(t) - EPOCH * NS) / NS - 0.05, 6) for t in at]
    got, said = items(path, "Step", "ReadMB")
    is_equal("seconds since the start", [float(r["Seconds"]) for r in got], wanted)
    is_true("and when the sum was highest", "at %.3f s" % wanted[-1] in said, said)
    out = jobprof("items", path, "-s", "Step", "-d", "ReadMB", "--format", "json")[1]
    is_equal("seconds in JSON", [r["seconds"] for r in json.loads(out)["steps"][0]["rows"]], wanted)
    out = jobprof("items", path, "-s", "Step", "-d", "ReadMB", "--format", "table")[1]
    is_equal("seconds in a table", [line.split()[1] for line in out.split("\n")[1:] if line], ["%.3f" % t for t in wanted])
    with h5py.File(path, "r+") as f:
        del f["Steps/0/Nodes/n1"].attrs["Start TimeNS"]
    got, said = items(path, "Step", "ReadMB")
    is_equal("no start, no seconds", ({r["Seconds"] for r in got}, ".000 s" in said), ({""}, False))


def formats():
    path = merged(os.path.join(tmpdir(), "job_1.h5"), {
        'a"b,c\x01': {"Energy": rows_of([0, 1], [("Power", U)], [[5, 6]])}})
    code, out, _ = jobprof("items", "-i", path, "-s", "Energy", "-d", "Power", "--format", "json")
    j = json.loads(out)
    is_equal("JSON", (j["columns"][0]["node"], [r["values"] for r in j["steps"][0]["rows"]],
                      j["steps"][0]["highest_sum"]), ('a"b,c\x01', [[5], [6]], 6))
    got, err = items(path, "Energy", "Power")
    is_equal("CSV quotes and escapes names", list(got[0])[-1], 'a"b,c\\x01')
    is_true("names on a terminal are escaped", "\x01" not in err, err)
    odd = merged(os.path.join(tmpdir(), "job_1.h5"), {
        "=1+2\u202e": {"Tasks/@SUM(1)": rows_of([0, 1], [("RSS", U)], [[5, 6]])}})
    got, _ = items(odd, "Tasks", "RSS")
    is_equal("no cell is a formula", (list(got[0])[-1], got[0]["MaxNode"], got[0]["MaxTask"]),
             ("'=1+2\\xe2\\x80\\xae/@SUM(1)", "'=1+2\\xe2\\x80\\xae", "'@SUM(1)"))
    for form in ("csv", "json", "table"):
        p = subprocess.run([JOBPROF, "items", odd, "-s", "Tasks", "-d", "RSS", "--format", form], capture_output=True)
        is_true("%s: no character turns the text" % form, p.returncode == 0 and "\u202e".encode() not in p.stdout + p.stderr, p)
    for args in (("-s", "Energy"), ("-s", "Energy", "-d", "Power", "--format", "xml"),
                 ("-s", "a/../b", "-d", "x", "-i", path),
                 ("-s", "Energy", "-d", "Power", "-i", path, "-N", "n[1"),
                 ("-s", "Energy", "-d", "Power", "-i", path, "--period", "0"),
                 ("-s", "Energy", "-d", "Power")):
        is_equal("wrong usage: %s" % " ".join(args[:4] + args[-2:-1]), jobprof("items", *args)[0], 2)


def listing():
    """list -i says what h5py finds; columns the schema does not know are so called."""
    path = os.path.join(tmpdir(), "job_5.h5")
    with h5py.File(os.path.join(ROOT, "tests/data/golden/job_7.h5")) as f, h5py.File(path, "w") as g:
        f.copy("Steps", g)
    merged(path, {"p9": {"Tasks/12": rows_of([0], [("Odd", F)], [[1]]),
                         "Tasks/13": rows_of([0], [("Odd", F)], [[1]]),
                         "Tasks/zz": rows_of([0], [("Odd", F)], [[1]])}}, "1")
    code, out, err = jobprof("list", "-i", path, "--json")
    j = json.loads(out)
    with h5py.File(path) as f:
        wanted = {s: {"nodes": set(v["Nodes"]), "tasks": {
            t for n in v["Nodes"].values() if "Tasks" in n for t in n["Tasks"]}}
            for s, v in f["Steps"].items()}
        columns = {c for s in f["Steps"].values() for n in s["Nodes"].values() if "Network" in n
                   for c in n["Network"].dtype.names}
    got = {s["step"]: {"nodes": set(s["nodes"]), "tasks": {
        str(t) for p in s["series"] if p["name"] == "Tasks"
        for t in p["tasks"] + p["other_tables"]}} for s in j["steps"]}
    is_equal("list: steps, nodes and tasks are h5py's", got, wanted)
    series = {s["name"]: s for s in j["series"]}
    is_equal("list: columns are h5py's", {c["name"] for c in series["Network"]["columns"]}, columns)
    cols = {c["name"]: c for c in series["Tasks"]["columns"]}
    is_equal("list: unit and kind", (cols["RSS"]["unit"], cols["RSS"]["kind"], cols["ReadMB"]["kind"],
                                     cols["Odd"]["known"]), ("KiB", "gauge", "per interval", False))
    code, out, err = jobprof("list", "-i", path, "-s", "task")
    is_true("list: text", code == 0 and "Tasks: 2 nodes, 4 tables: 0,12-13,zz" in out and
            "Odd" in out and "not known to the schema" in out and "Network" not in out, out)
    j = json.loads(jobprof("list", "-i", path, "-s", "Tasks/12", "--json")[1])
    is_equal("list: of one task", [(s["step"], [(p["name"], p["tasks"], p["other_tables"], p["nodes"])
             for p in s["series"]]) for s in j["steps"] if s["series"]],
             [("1", [("Tasks", [12], [], 1)])])
    is_equal("list: its columns", [c["name"] for s in j["series"] for c in s["columns"]],
             ["ElapsedTime", "EpochTime", "Odd"])
    code, out, err = jobprof("list", "-i", path, "-s", "Tasks/77")
    is_equal("list: no such task", (code, out, err),
             (1, "", "jobprof list: %s: there is no task 77 in series Tasks\n" % path))
    j = json.loads(jobprof("list", "-i", path, "-N", "p[2,9]", "--json")[1])
    is_equal("list: of some nodes", [s["nodes"] for s in j["steps"] if s["nodes"]],
             [sorted({"p2", "p9"} & set(v["nodes"])) for v in wanted.values()
              if {"p2", "p9"} & v["nodes"]])
    text = jobprof("list", "-i", path, "-N", "p9")[1]
    is_true("list: of one node", "step 1: 1 node: p9\n" in text and "p1" not in text, text)
    is_equal("list: no such series", jobprof("list", "-i", path, "-s", "Energy")[0], 1)
    is_equal("list: no such file", jobprof("list", "-i", path + "x")[0], 1)


def listing_totals():
    """Totals of one series go by the name that the list of all has for them."""
    path = os.path.join(tmpdir(), "job_6.h5")
    merged(path, {"p1": {"Totals/Tasks": numpy.zeros(1, [("Task", "<u8"), ("Max_RSS", "<u8")]),
                         "Totals/Step": numpy.zeros(1, [("Max_MemMB", "<f8")])}}, "0")
    names = lambda *args: {s["name"]: [c["name"] for c in s["columns"]] for s in
                           json.loads(jobprof("list", "-i", path, "--json", *args)[1])["series"]}
    both = {"Totals/Step": ["Max_MemMB"], "Totals/Tasks": ["Task", "Max_RSS"]}
    is_equal("list: all totals", (names(), names("-s", "Totals")), (both, both))
    is_equal("list: totals of a series", names("-s", "totals/tasks"),
             {"Totals/Tasks": ["Task", "Max_RSS"]})
    is_equal("list: no totals of that", jobprof("list", "-i", path, "-s", "Totals/Energy")[0], 1)


def damaged(n):
    """Job files with bytes overwritten, the same ones each time."""
    with open(os.path.join(ROOT, "tests/data/golden/job_7.h5"), "rb") as f:
        whole = f.read()
    rng = numpy.random.default_rng(7)
    for i in range(n):
        data = bytearray(whole)
        for at in rng.integers(0, len(data), int(rng.integers(1, 20))):
            data[at] = int(rng.choice([0, 255, data[at] ^ (1 << int(rng.integers(8)))]))
        yield bytes(data)


def hostile():
    """Damaged files: an error or what there is, in time, and nothing half-written."""
    d, wrong = tmpdir(), []
    path, out = os.path.join(d, "f.h5"), os.path.join(d, "o")
    calls = [[JOBPROF, "items", "--overwrite", "-s", "Tasks", "-d", "RSS", "-o", out], [JOBPROF, "list", "--json"]]
    calls += [[os.path.join(BUILD, "sh5util"), "-j", "7"] + c for c in (
        ["-E", "-s", "Tasks", "-o", out], ["-L", "-s", "Tasks"],
        ["-I", "-s", "Tasks", "-d", "RSS", "-o", out])]
    ended = set()
    for data in damaged(40):
        with open(path, "wb") as f:
            f.write(data)
        for c in calls:
            p = subprocess.run(c + ["-i", path], capture_output=True, timeout=60)
            ended.add(p.returncode)
            if p.returncode not in (0, 1, 237, 255) or p.returncode and not p.stderr:
                wrong.append((c, p.returncode, p.stderr))
    is_true("damaged files: ends well or says why not", not wrong and {0, 1} <= ended,
            wrong[:2] or ended)
    is_true("damaged files: nothing half-written", set(os.listdir(d)) <= {"f.h5", "o"},
            os.listdir(d))


if __name__ == "__main__":
    run_tests((phases, every_row_once, integers, gauges, unknown, lacking, types, steps, many,
               seconds, formats, listing, listing_totals, hostile))
