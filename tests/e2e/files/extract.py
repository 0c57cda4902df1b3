#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
"""jobprof extract: against CSVs and the tool of Slurm byte for byte, and against h5py and numpy."""

import csv
import datetime
import fcntl
import io
import math
import pwd
import struct
import sys
import termios


sys.path.insert(0, sys.path[0] + "/../../lib")
from extractlib import (ENERGY, EPOCH, GOLDEN, HOSTILE_F64, HOSTILE_U64, NAN, NETWORK, START_NS,
                        Stock, TASK, extract, job_file, put, rows, tables, written_file)
from lib import *

DIR = tmpdir("extract")


def path(name):
    return os.path.join(DIR, name)


def must(*args):
    p = extract(*args)
    if p.returncode or p.stderr:
        raise Failed("%s: status %d: %s" % (args, p.returncode, p.stderr))
    return p.stdout


def same_bytes(name, got, wanted):
    if got == wanted:
        return is_true(name, True, "")
    g, w = got.split(b"\n"), wanted.split(b"\n")
    at = next((i for i, (x, y) in enumerate(zip(g, w)) if x != y), min(len(g), len(w)))
    is_true(name, False, "line %d: got %r, wanted %r" % (at, g[at:at + 1], w[at:at + 1]))


def golden():
    """sh5util's own CSVs of files Slurm wrote."""
    cases = [("job_7.h5", "Tasks", "timeseries", (), "ts.csv"),
             ("job_7.h5", "Tasks", "totals", (), "tot.csv"),
             ("job_7.h5", "Network", "timeseries", (), "net.csv"),
             ("job_7.h5", "Network", "totals", (), "nett.csv"),
             ("real/job_3.h5", "Tasks", "timeseries", (), "real/E-3.csv"),
             ("real/job_3.h5", "Tasks", "totals", (), "real/E-nolevel.csv"),
             ("real/job_3.h5", "Tasks", "timeseries", ("-N", "n2"), "real/E-n2.csv")]
    for file, series, level, more, want in cases:
        with open(os.path.join(GOLDEN, want), "rb") as f:
            wanted = f.read()
        if want == "nett.csv" and wanted.startswith(b"Step,Node,ElapsedTime,EpochTime"):
            raise Failed("the golden files are mixed up")
        got = must("-i", os.path.join(GOLDEN, file), "-s", series, "--stock", "-l", level, "-o",
                   "-", *more)
        same_bytes("golden %s" % want, got, wanted)


def units():
    """Of Slurm's own files, which do not say them, and without the option nothing changes."""
    want = {"ElapsedTime": "s", "EpochTime": "s", "CPUFrequency": "kHz", "CPUTime": "s",
            "CPUUtilization": "%", "RSS": "KiB", "VMSize": "KiB", "Pages": "", "ReadMB": "MiB",
            "WriteMB": "MiB"}
    file = os.path.join(GOLDEN, "job_7.h5")
    for level in ("timeseries", "totals"):
        args = ("-i", file, "-s", "Tasks", "-l", level, "-o", "-")
        plain = must(*args).split(b"\n")
        lines = must(*args, "--units").split(b"\n")
        is_equal("units: one line more, " + level, lines[:1] + lines[2:], plain)
        names = lines[0].decode().split(",")[3:]
        is_equal("units: of Slurm's columns, " + level, lines[1].decode(), ",,," + ",".join(
            want[n if level == "timeseries" else n.split("_")[1]] for n in names))
    doc = json.loads(must("-i", file, "-s", "Tasks", "-l", "timeseries", "-o", "-", "--threads", "3", "--units",
                          "--format", "json"))
    is_true("units: JSON, of every table of every node", len({t["node"] for t in doc}) > 1 and all(
        t["units"] == [want[c] for c in t["columns"]] for t in doc), doc[-1])
    for level in ("timeseries", "totals"):
        args = ("-i", file, "-l", level, "-o", "-", "--units")
        one = must(*args, "-s", "Tasks")
        is_equal("units: of a series named twice, " + level, must(*args, "-s", "Tasks,Tasks"),
                 one + b"\n" + one)
    p = extract("-i", file, "-s", "Tasks", "--stock", "--units")
    is_true("units: not with --stock", p.returncode == 2 and p.stderr.count(b"\n") == 1, p)


def stock_live():
    """Both tools on the same files, generated and real."""
    if not Stock.there():
        raise Skipped("sh5util is not installed")
    stock = Stock()
    job_file(path("job_5.h5"))
    with h5py.File(path("job_6.h5"), "w") as f:  # not all have all columns
        rng = numpy.random.default_rng(6)
        for node, cols in (("a", [0, 1, 3, 5, 8]), ("b", [0, 1, 3, 8]), ("c", [0, 1, 2, 3, 4, 8])):
            g = f.create_group("/Steps/0/Nodes/%s/Tasks" % node)
            put(g, "0", rows([TASK[i] for i in cols], 7, rng))
            put(g, "1", rows([TASK[i] for i in cols], 0, rng))
    for file, series in (("job_5.h5", ("Tasks", "Network", "Energy", "Tasks/2")),
                         ("job_6.h5", ("Tasks",)),
                         (os.path.join(GOLDEN, "job_7.h5"), ("Tasks", "Network", "Tasks/0")),
                         (os.path.join(GOLDEN, "real/job_3.h5"), ("Tasks",))):
        file = path(file) if "/" not in file else file
        for s in series:
            for level in ("Totals", "TimeSeries"):
                more = ("-N", "p1") if file.endswith("job_7.h5") and "/" in s else ()
                got = must("-i", file, "-s", s, "-l", level, "--stock", "-o", "-", *more)
                want = stock.extract(file, "-j", "5", "-s", s, "-l", "Node:" + level, *more)
                same_bytes("as sh5util: %s %s %s" % (os.path.basename(file), s, level), got, want)
    for more in (("-N", "n10"), ("-j", "5.10")):
        got = must("-i", path("job_5.h5"), "-s", "Tasks", "--stock", "-o", "-", *more)
        want = stock.extract(path("job_5.h5"), "-s", "Tasks",
                             *(more if "-j" in more else more + ("-j", "5")))
        same_bytes("as sh5util: %s" % " ".join(more), got, want)


def hostile_file():
    n = len(HOSTILE_F64)
    dtype = [("ElapsedTime", "<u8"), ("EpochTime", "<u8"), ("U", "<u8"), ("D", "<f8")]
    a = numpy.zeros(n, dtype)
    a["ElapsedTime"] = range(n)
    a["EpochTime"] = numpy.arange(n) + EPOCH
    a["U"], a["D"] = HOSTILE_U64, HOSTILE_F64
    with h5py.File(path("hostile.h5"), "w") as f:
        put(f.create_group("/Steps/0/Nodes/n"), "Network", a)
        b = numpy.zeros(3, [("I", ">i4"), ("S", "<i8"), ("F", "<f4"), ("B", "u1")])
        b["I"], b["S"] = [-1, 2**31 - 1, -2**31], [-2**63, 2**63 - 1, -1]
        b["F"], b["B"] = [-0.5, 1.5e30, 0.1], [255, 0, 1]
        put(f["/Steps/0/Nodes/n"], "Other", b)
    return a, b


def hostile_values():
    a, b = hostile_file()
    series = must("-i", path("hostile.h5"), "-s", "Network", "-l", "timeseries", "--stock", "-o",
                  "-")
    if Stock.there():
        want = Stock().extract(path("hostile.h5"), "-j", "1", "-s", "Network", "-l",
                               "Node:TimeSeries")
        same_bytes("hostile numbers as sh5util prints them", series, want)
    def text(v):
        return "" if math.isnan(v) else "%f" % v
    got = list(csv.DictReader(io.StringIO(must("-i", path("hostile.h5"), "-s", "Network", "-l",
                                               "timeseries", "-o", "-").decode())))
    is_equal("hostile numbers in CSV", [(r["U"], r["D"]) for r in got],
             [(str(int(r["U"])), text(r["D"])) for r in a])
    got = json.loads(must("-i", path("hostile.h5"), "-s", "Network,Other", "-l", "timeseries",
                          "--format", "json", "-o", "-"))
    is_equal("hostile numbers in JSON", [r[2:] for r in got[0]["rows"]],
             [[int(r["U"]), float(r["D"]) if math.isfinite(r["D"]) else None] for r in a])
    is_equal("the sign of zero in JSON", math.copysign(1, got[0]["rows"][0][3]), -1.0)
    is_equal("numbers of other types", got[1]["rows"],
             [[int(r["I"]), int(r["S"]), float(r["F"]), int(r["B"])] for r in b])
    tot = next(csv.DictReader(io.StringIO(must("-i", path("hostile.h5"), "-s", "Other", "--stock",
                                               "-o", "-").decode())))
    is_equal("totals of negative numbers",
             [tot[k] for k in ("Min_I", "Max_I", "Sum_I", "Min_S", "Max_S", "Sum_S")],
             ["-2147483648", "2147483647", "-2", str(-2**63), str(2**63 - 1), "-2"])


def columns_in_another_order():
    """Where sh5util prints values under the wrong name."""
    rng = numpy.random.default_rng(4)
    with h5py.File(path("order.h5"), "w") as f:
        put(f.create_group("/Steps/0/Nodes/a"), "Network", rows(NETWORK, 2, rng))
        b = rows(NETWORK[:2] + NETWORK[:1:-1], 2, rng)
        put(f.create_group("/Steps/0/Nodes/b"), "Network", b)
    got = list(csv.DictReader(io.StringIO(must("-i", path("order.h5"), "-s", "Network", "-l",
                                               "timeseries", "--stock", "-o", "-").decode())))
    is_equal("columns in another order", [(int(r["PacketsIn"]), r["OutMB"]) for r in got[2:]],
             [(int(r["PacketsIn"]), "%f" % r["OutMB"]) for r in b])


def highest_of_negatives():
    """Where sh5util says 0."""
    a = numpy.zeros(3, [("ElapsedTime", "<u8"), ("D", "<f8"), ("N", "<f8")])
    a["D"], a["N"] = [-3, -1, -2], NAN
    with h5py.File(path("negative.h5"), "w") as f:
        put(f.create_group("/Steps/0/Nodes/n"), "Network", a)
    got = next(csv.DictReader(io.StringIO(must("-i", path("negative.h5"), "-s", "Network",
                                               "--stock", "-o", "-").decode())))
    is_equal("the highest of negative numbers", (got["Max_D"], got["Min_D"]),
             ("-1.000000", "-3.000000"))
    is_equal("the highest of nothing known", (got["Max_N"], got["Sum_N"]), ("nan", "nan"))


def own_file():
    """Two nodes as jobprof writes them, a third one with other columns."""
    ours = TASK + [("Cycles", "<f8"), ("TimeNS", "<u8")]
    rng = numpy.random.default_rng(3)
    with h5py.File(path("own.h5"), "w") as f:
        for node, unknown in (("n1", "CPUFrequency"), ("n2", "CPUFrequency, VMSize")):
            g = f.create_group("/Steps/0/Nodes/%s" % node)
            g.attrs["Unknown Columns"] = numpy.bytes_(unknown)
            g.attrs["Start TimeNS"] = START_NS
            for t in (0, 1, 10):
                a = rows(ours, 300, rng)
                # Rows a third of a second apart
                ns = START_NS + numpy.arange(300, dtype="u8") * 333333333
                a["TimeNS"], a["EpochTime"] = ns, ns // 10**9
                a["ElapsedTime"] = (ns - numpy.uint64(START_NS)) // 10**9
                a["Cycles"][5:9] = NAN
                a["WriteMB"] = rng.random(300) * 1e-3
                put(g.require_group("Tasks"), str(t), a, slurm=False)
        g = f.create_group("/Steps/extern/Nodes/n1")
        put(g.create_group("Tasks"), "0", rows(TASK[:4] + [("Watts", "<f8")], 12, rng))
    return path("own.h5"), [n for n, _ in ours] + ["Watts"]


def unknown_of(node, step):
    return {"n1": ("CPUFrequency",), "n2": ("CPUFrequency", "VMSize")}[node] if step == "0" else ()


def own_timeseries():
    file, names = own_file()
    out = must("-i", file, "-s", "tasks", "-l", "timeseries", "-o", "-").decode()
    got = list(csv.reader(io.StringIO(out)))
    names.insert(names.index("TimeNS") + 1, "Seconds")
    is_equal("columns of all tables", got[0], ["Step", "Node", "Series"] + names)
    want, exact = [], []
    order = [(s, n, t) for s, n in (("0", "n1"), ("0", "n2"), ("extern", "n1"))
             for t in ("0", "1", "10")]
    data = {(s, n, t): a for s, n, t, a in tables(file, "Tasks")}
    for key in (k for k in order if k in data):
        a, lost = data[key], unknown_of(key[1], key[0])
        there = a.dtype.names + (("Seconds",) if "TimeNS" in a.dtype.names else ())
        exact.append([])
        for r in a:
            cells = [None if n not in there or n in lost
                     else (int(r["TimeNS"]) - START_NS) / 1e9 if n == "Seconds"
                     else None if a.dtype[n].kind == "f" and math.isnan(r[n]) else r[n].item()
                     for n in names]
            want.append(list(key) + ["" if c is None else str(c) if isinstance(c, int)
                                     else "%f" % c for c in cells])
            exact[-1].append([c for n, c in zip(names, cells) if n in there])
    is_true("every value in CSV is h5py's", got[1:] == want,
            [x for x in zip(got[1:], want) if x[0] != x[1]][:2])
    got = json.loads(must("-i", file, "-s", "Tasks", "-l", "timeseries", "--format", "json", "-o",
                          "-"))
    is_true("every value in JSON is h5py's", [t["rows"] for t in got] == exact, "they differ")
    is_equal("JSON tells the table", [(t["step"], t["node"], t["table"]) for t in got],
             [k for k in order if k in data])


def by_name(out):
    return {(r["Step"], r["Node"], r["Series"]): r for r in csv.DictReader(io.StringIO(out))}


KINDS = {"CPUTime": "Sum", "ReadMB": "Sum", "WriteMB": "Sum", "Cycles": "Sum", "Pages": "Last"}


def check_totals(name, got, data, pick=lambda a: a):
    wrong = []
    for (step, node, table), line in got.items():
        a = data[(step, node, table)]
        a = a[pick(a)] if pick(a) is not a else a
        for c in a.dtype.names:
            if c in ("ElapsedTime", "EpochTime", "TimeNS"):
                continue
            v = totalled(c, a[c].astype("f8"))
            want = {"Min": v.min, "Max": v.max, "Avg": v.mean}
            if c in KINDS:
                want[KINDS[c]] = {"Sum": v.sum, "Last": lambda x=v: x[-1]}[KINDS[c]]
            for k, fn in want.items():
                cell = line["%s_%s" % (k, c)]
                if c in unknown_of(node, step):
                    good = cell == ""
                else:
                    good = cell != "" and abs(float(cell) - fn()) <= 1e-6 + 1e-12 * abs(fn())
                if not good:
                    wrong.append((step, node, table, k, c, cell, fn()))
    is_true(name, got and not wrong, wrong[:3])


def own_totals():
    file, _ = own_file()
    data = {(s, n, t): a for s, n, t, a in tables(file, "Tasks")}
    out = must("-i", file, "-s", "Tasks", "-o", "-").decode()
    is_true("no sums of levels, no totals of time", not {"Sum_RSS", "Last_RSS", "Sum_CPUUtilization",
            "Min_EpochTime", "Max_TimeNS", "Sum_Pages"} & set(next(csv.reader(io.StringIO(out)))),
            out[:200])
    check_totals("totals are numpy's", by_name(out), data)
    out = must("-i", file, "-s", "Tasks", "-j", "1.0", "--from", "10", "--to", "20.5", "-o",
               "-").decode()
    check_totals("totals of a part are numpy's", by_name(out), data,
                 lambda a: (a["ElapsedTime"] >= 10) &
                 (a["TimeNS"] <= numpy.uint64(START_NS + 20500000000)))


def totals_by_their_name():
    """Totals/Tasks are the totals of Tasks, computed from its rows: what a file stores as such is
    not believed."""
    file, _ = own_file()
    plain = must("-i", file, "-s", "Tasks", "-o", "-")
    with h5py.File(file, "a") as f:
        for node in ("n1", "n2"):
            a = numpy.zeros(3, [("Task", "<u8"), ("Min_CPUTime", "<f8"), ("Sum_CPUTime", "<f8")])
            a["Task"], a["Sum_CPUTime"] = [0, 1, 10], 3001
            put(f["/Steps/0/Nodes/" + node].create_group("Totals"), "Tasks", a, False)
    is_equal("totals are those of the rows", must("-i", file, "-s", "Tasks", "-o", "-"), plain)
    for args in (("Tasks",), ("Tasks/1", "--columns", "CPUTime"), ("Tasks", "--format", "json")):
        of = lambda prefix: must("-i", file, "-s", prefix + args[0], *args[1:], "-o", "-")
        is_equal("Totals/%s are its totals" % " ".join(args), of("Totals/"), of(""))
    p = extract("-i", file, "-s", "Totals/Tasks", "-l", "timeseries", "-o", "-")
    is_true("but no time series", p.returncode == 2 and b"totals are no time series" in p.stderr,
            p.stderr)
    file = written_file()  # the tables of Totals have no column in common
    p = [extract("-i", file, "-s", "Totals", "--stock", "-o", o) for o in ("-", path("totals.csv"))]
    is_true("--stock has no series Totals, in any output", all(
        (x.returncode, x.stdout) == (1, b"") and b"nothing of series Totals is there" in x.stderr
        for x in p) and not os.path.exists(path("totals.csv")), p)


def unknown_columns():
    """Of a column that the schema does not have, the table's attributes say what it is; where they
    say nothing it is not summed, before a merge and after it."""
    top = path("unknown")
    user = pwd.getpwuid(os.geteuid()).pw_name
    os.makedirs(os.path.join(top, user))
    file = os.path.join(top, user, "7_0_n1.h5")
    a = rows(TASK + [(n, "<f8") for n in ("Watts", "Lost", "Ticks")], 12, numpy.random.default_rng(3))
    kinds = ["time", "time"] + ["gauge"] * (len(a.dtype) - 4) + ["delta", "cumulative"]
    with h5py.File(file, "w") as f:
        g = f.create_group("n1")
        g.attrs["Node Name"] = numpy.bytes_("n1")
        put(g.create_group("Tasks"), "0", a)
        said = put(g.create_group("Site"), "a", a)
        said.attrs["Column Kinds"] = numpy.array([k.encode() for k in kinds])
        put(g["Site"], "b", a)
        put(g["Site"], "c", a)
        g.create_dataset("Columns", data=described(a.dtype.names, kinds), chunks=(len(kinds),))
    before = [extract("-i", file, "-s", s, "-o", "-").stdout for s in UNKNOWN]
    subprocess.run([JOBPROF, "merge", "-j", "7", "-o", "m.h5", top], cwd=top, check=True,
                   capture_output=True)
    after = [extract("-i", os.path.join(top, "m.h5"), "-s", s, "-o", "-").stdout
             for s in UNKNOWN]
    is_equal("unknown columns: totals before a merge and after it", before, after)
    sums = [[n for n in out.decode().splitlines()[0].split(",") if re.match("(Sum|Last)_", n)
             and n.split("_")[1] in ("Watts", "Lost", "Ticks")] for out in before]
    is_equal("unknown columns: summed where the table says so", sums,
             [[], ["Sum_Lost", "Last_Ticks"], [], ["Sum_Lost", "Last_Ticks"]])


UNKNOWN = ("Tasks", "Site/a", "Site/b", "Site/c")


def described(names, kinds):
    """The rows of Columns for the table Site/c."""
    text = h5py.string_dtype("utf-8", 20)
    rows = numpy.zeros(len(names), [(n, text) for n in ("Table", "Column", "Unit", "Kind", "Description")])
    rows["Table"], rows["Column"], rows["Kind"] = "Site/c", [n.encode() for n in names], [k.encode() for k in kinds]
    return rows


def columns_of_another_shape():
    """What is called Columns and is none describes nothing, and harms nothing."""
    a = rows(TASK + [("Lost", "<f8")], 12, numpy.random.default_rng(3))
    good = described(a.dtype.names, ["time", "time"] + ["delta"] * (len(a.dtype) - 2))
    wide = good.astype([(n, h5py.string_dtype("utf-8", 4000)) for n in good.dtype.names])
    plain = good.astype([(n, "S20") for n in good.dtype.names])
    cases = {
        "described": (lambda g: g.create_dataset("Columns", data=good, chunks=(4,)), True),
        "not chunked": (lambda g: g.__setitem__("Columns", good), False),
        "ASCII": (lambda g: g.__setitem__("Columns", plain), False),
        "a soft link": (lambda g: g.__setitem__("Columns", h5py.SoftLink("/n1/Site/c")), False),
        "a link to another file": (lambda g: g.__setitem__("Columns", h5py.ExternalLink("/etc/passwd", "/x")), False),
        "a group": (lambda g: g.create_group("Columns"), False),
        "numbers": (lambda g: g.__setitem__("Columns", a), False),
        "a number": (lambda g: g.__setitem__("Columns", 1), False),
        "of two ranks": (lambda g: g.create_dataset("Columns", data=good.reshape(1, -1), chunks=(1, 4)), False),
        "long texts": (lambda g: g.create_dataset("Columns", data=wide, chunks=(4,)), False),
        "more rows than are read": (lambda g: g.create_dataset("Columns", (1 << 30,), good.dtype, chunks=(1 << 10,)), False),
        "a chunk of gigabytes": (lambda g: g.create_dataset("Columns", (4,), good.dtype, maxshape=(None,), chunks=(1 << 24,)), False),
        "texts of any length": (lambda g: g.create_dataset("Columns", (4,), [(n, h5py.string_dtype()) for n in good.dtype.names]), False),
    }
    file = os.path.join(path("columns"), "7_0_n1.h5")
    os.makedirs(os.path.dirname(file))
    for name, (make, knows) in cases.items():
        with h5py.File(file, "w") as f:
            put(f.create_group("n1/Site"), "c", a)
            f["n1"].attrs["Node Name"] = numpy.bytes_("n1")
            make(f["n1"])
        p = extract("-i", file, "-s", "Site/c", "-o", "-")
        is_equal("Columns, %s" % name, (p.returncode, b"Sum_Lost" in p.stdout), (0, knows))


def times_to_plot_by():
    """Rows with TimeNS have it in seconds since the step's start, in each form: rows of half a second
    are told apart. A table that has a column of that name itself keeps its own."""
    file = written_file()
    with h5py.File(file, "r") as f:
        start = int(numpy.ravel(f["n1"].attrs["Start TimeNS"])[0])
        wanted = [(int(t) - start) / 1e9 for t in f["n1/Tasks/0"]["TimeNS"]]
    args = ("-i", file, "-s", "Tasks/0", "-l", "timeseries")
    rows = list(csv.DictReader(io.StringIO(must(*args).decode())))
    is_equal("seconds in CSV, the last column", ([float(r["Seconds"]) for r in rows], list(rows[0])[-1]),
             ([round(t, 6) for t in wanted], "Seconds"))
    is_true("seconds have fractions", any(t % 1 for t in wanted), wanted)
    t = json.loads(must(*args, "--format", "json"))[0]
    is_equal("seconds in JSON", [r[t["columns"].index("Seconds")] for r in t["rows"]], wanted)
    out = must(*args, "--format", "table", "--columns", "ElapsedTime,seconds").decode().split("\n")
    is_equal("seconds in a table", [line.split()[-2:] for line in out[1:] if line],
             [["%d" % t, ("%.6f" % t).rstrip("0").rstrip(".")] for t in wanted])
    units = must(*args, "--columns", "Seconds", "--units").decode().split("\n")[1]
    is_equal("their unit", units.split(",")[-1], "s")
    is_true("--stock knows none", b"Seconds" not in must(*args, "--stock"), "")
    is_true("nor do totals", b"Seconds" not in must(*args[:4]), "")
    own = path("own_seconds.h5")
    shutil.copy(file, own)
    with h5py.File(own, "r+") as f:
        a = numpy.zeros(2, [("TimeNS", "<u8"), ("Seconds", "<f8")])
        a["Seconds"] = 7, 8
        f.create_dataset("n1/User/own", data=a)
    rows = list(csv.DictReader(io.StringIO(must("-i", own, "-s", "User/own", "-l", "timeseries").decode())))
    is_equal("a user's own column of that name", [float(r["Seconds"]) for r in rows], [7, 8])


def columns_in_any_case():
    """As plot and items take them; of two that differ in case alone, the one that is spelt so."""
    file = written_file()
    for level in ("totals", "timeseries"):
        args = ("-i", file, "-s", "Tasks/0", "-l", level, "--columns")
        is_equal(level + ": columns in any case", must(*args, "rss,PAGES"), must(*args, "RSS,Pages"))
    both = path("both_cases.h5")
    shutil.copy(file, both)
    with h5py.File(both, "r+") as f:
        f.create_dataset("n1/User/two", data=numpy.array([(1, 2.0, 3.0)], [
            ("ElapsedTime", "<u8"), ("temp", "<f8"), ("Temp", "<f8")]))
    for wanted, value in (("temp", 2), ("Temp", 3)):
        out = must("-i", both, "-s", "User/two", "-l", "timeseries", "--columns", wanted).decode()
        is_equal("two columns that differ in case: " + wanted,
                 [float(r[wanted]) for r in csv.DictReader(io.StringIO(out))], [value])


def totals_of_times_and_texts():
    """A table without a column that has totals is not one that is missing."""
    file = path("7_0_texts.h5")
    with h5py.File(file, "w") as f:
        f.create_dataset("n1/Notes", data=numpy.array([(1, b"a"), (2, b"b")],
                                                      [("ElapsedTime", "<u8"), ("s", "S4")]))
        f.create_dataset("n1/Texts", data=numpy.array([(b"a",), (b"b",)], [("s", "S4")]))
    is_equal("its rows", must("-i", file, "-s", "Notes", "-l", "timeseries", "-o", "-").count(b"\n"), 3)
    for series, reason in (("Notes", b"series Notes has no column to make totals of"),
                           ("Texts", b"/n1/Texts: has no column of numbers")):
        x = extract("-i", file, "-s", series, "-o", "-")
        is_true("%s: the reason" % series, (x.returncode, x.stdout) == (1, b"") and
                reason in x.stderr and x.stderr.count(b"\n") == 1, x)


def totals_of_histograms():
    """Arrays in the file are columns, and the same ones as where they are computed."""
    file = written_file()
    names = lambda p: ["%s_%s%d" % (m, p, k) for m in ("Min", "Max", "Avg", "Sum")
                       for k in range(40)]
    with h5py.File(file, "r") as f:
        stored = {s: f["n1/Totals"][s][()] for s in ("RunLatency", "BlkLatency")}
    for series, wanted in (("RunLatency", names("B")), ("BlkLatency", names("B") + names("W"))):
        out = must("-i", file, "-s", series, "-o", "-")
        is_equal(series + ": columns of totals", next(csv.reader(io.StringIO(out.decode()))),
                 ["Step", "Node", "Series"] + wanted)
        wrong = []
        for row in csv.DictReader(io.StringIO(out.decode())):
            rows_ = stored[series]
            of = rows_[rows_["Task"] == int(row["Series"])][0]
            wrong += [c for c in wanted if row[c] != "%f" % of[c[:5]][int(c[5:])]]
        is_true(series + ": every value is h5py's", not wrong, wrong[:3])
        is_equal(series + ": a part of the time, here all of it, is computed",
                 must("-i", file, "-s", series, "--from", "0", "-o", "-"), out)
        few = ("--columns", "B3,Sum_B11", "-o", "-")
        got = must("-i", file, "-s", series, *few)
        is_equal(series + ": some of the columns", got.split(b"\n")[0],
                 b"Step,Node,Series,Min_B3,Max_B3,Avg_B3,Sum_B3,Sum_B11")
        is_equal(series + ": some of them computed",
                 must("-i", file, "-s", series, "--from", "0", *few), got)
        listed = subprocess.run([JOBPROF, "list", "-i", file, "-s", "Totals/" + series, "--json"],
                                capture_output=True, check=True).stdout
        is_equal(series + ": listed", [c["name"] for c in json.loads(listed)["series"][0]["columns"]],
                 ["Task"] + wanted)
        text = subprocess.run([JOBPROF, "list", "-i", file, "-s", "Totals/" + series], check=True,
                              capture_output=True, text=True).stdout
        lines = [line for line in text.split("\n") if "Min_" in line]
        is_true(series + ": listed as one line each", len(lines) == (1 if series == "RunLatency" else 2)
                and "Min_B0..Min_B39" in lines[0] and "lowest of: " in lines[0]
                and "2^k ns" in lines[0], text)


def totals_of_older_files():
    """They store but sums of buckets, each a member of its own: the rows have all of them."""
    file = written_file()
    wanted = must("-i", file, "-s", "RunLatency", "-o", "-")
    with h5py.File(file, "r+") as f:
        t = f["n1/Totals/RunLatency"][()]
        old = numpy.zeros(len(t), [("Task", "<u8")] + [("Sum_B%d" % k, "<f8") for k in range(40)])
        old["Task"] = t["Task"]
        for k in range(40):
            old["Sum_B%d" % k] = t["Sum_B"][:, k]
        del f["n1/Totals/RunLatency"]
        put(f["n1/Totals"], "RunLatency", old, False)
    is_equal("totals of older files are those of today's", must("-i", file, "-s", "RunLatency", "-o", "-"),
             wanted)


def steps_that_are_not_there():
    """show prints no other step in place of one that the file does not have."""
    job_file(path("job_5.h5"))
    for form in ((), ("--json",)):
        p = subprocess.run([JOBPROF, "show", *form, "-j", "5.77", path("job_5.h5")],
                           capture_output=True)
        is_true("show -j of no step %s" % " ".join(form), p.returncode == 1 and not p.stdout and
                b"there is no step 77" in p.stderr and p.stderr.count(b"\n") == 1, p)


def elapsed(*args):
    out = must("-l", "timeseries", "-o", "-", "--columns", "ElapsedTime,TimeNS", *args).decode()
    return [(int(r["ElapsedTime"]), int(r["TimeNS"] or 0)) for r in csv.DictReader(io.StringIO(out))]


def times():
    file, _ = own_file()
    one = ("-i", file, "-s", "Tasks/0", "-N", "n1", "-j", "1.0")
    every = elapsed(*one)
    is_equal("without bounds", len(every), 300)
    is_equal("whole seconds", elapsed(*one, "--from", "3", "--to", "5"),
             [r for r in every if 3 <= r[0] <= 5])
    is_equal("fractions", elapsed(*one, "--from", "3.5", "--to", "5.25"),
             [r for r in every if 3.5e9 <= r[1] - START_NS <= 5.25e9])
    is_equal("unix time", elapsed(*one, "--from", "@%d" % (EPOCH + 7), "--to", "@%d.5" % (EPOCH + 9)),
             [r for r in every if (EPOCH + 7) * 10**9 <= r[1] <= (EPOCH + 9) * 10**9 + 5 * 10**8])
    at = datetime.datetime.fromtimestamp(EPOCH + 30)
    is_equal("a date", elapsed(*one, "--to", at.strftime("%Y-%m-%dT%H:%M:%S")),
             [r for r in every if r[1] // 10**9 <= EPOCH + 30])
    at = datetime.datetime.utcfromtimestamp(EPOCH + 30)
    is_equal("a date of UTC", elapsed(*one, "--from", at.strftime("%Y-%m-%d %H:%M:%SZ")),
             [r for r in every if r[1] // 10**9 >= EPOCH + 30])
    to = path("none.csv")
    p = extract("-i", file, "-s", "Tasks", "-l", "timeseries", "--from", "90000", "-o", to)
    is_true("no row in that time: said, and no file", p.returncode == 1 and not p.stdout and
            b"Tasks has no rows in the time of --from and --to" in p.stderr and
            not os.path.exists(to), p)
    job_file(path("job_5.h5"))
    out = must("-i", path("job_5.h5"), "-s", "Network", "-j", "5.2", "-l", "timeseries", "--from",
               "3", "--to", "4", "--columns", "ElapsedTime", "-o", "-").decode().split()
    is_equal("Slurm's tables", out[1:], ["2,%s,%d" % (n, t) for n in ("n1", "n2", "n10")
                                         for t in (3, 4)])
    for bad in ("x", "", "1.2.3", "-5", "2026-13-01T00:00:00", "2026-11-21T02:01:17+1", "@", "1e3",
                "99999999999"):
        if extract(*one, "-o", "-", "--from=" + bad).returncode != 2:
            raise Failed("--from %s is taken" % bad)


def selection():
    file = job_file(path("job_5.h5"))
    def keys(*args, series="Tasks", status=0):
        p = extract("-i", file, "-s", series, "--columns", "RSS", "-o", "-", *args)
        if p.returncode != status:
            raise Failed("%s: status %d: %s" % (args, p.returncode, p.stderr))
        return [",".join(line.split(",")[:3]) for line in p.stdout.decode().split()[1:]]
    def product(steps, nodes, tasks):
        return ["%s,%s,%s" % (s, n, t) for s in steps for n in nodes for t in tasks]
    nodes, tasks = ("n1", "n2", "n10"), ("0", "2", "10")
    is_equal("natural order", keys(), product(("0", "2", "10", "batch", "extern"), nodes, tasks))
    is_equal("steps by name", keys("-j", "5.extern,5.batch,5.2"),
             product(("2", "batch", "extern"), nodes, tasks))
    is_equal("step 0 is not batch", keys("-j", "5.0"), product(("0",), nodes, tasks))
    is_equal("host lists", keys("-j", "5.0", "-N", "n[2-5,10]", status=1),
             product(("0",), ("n2", "n10"), tasks))
    is_equal("all nodes", keys("-j", "5.0", "-N", "*"), product(("0",), nodes, tasks))
    is_equal("tasks", keys("-j", "5.0", "--tasks", "0-1,10"), product(("0",), nodes, ("0", "10")))
    for series in ("Task_2", "Tasks/2", "task_2"):
        is_equal("series %s" % series, keys("-j", "5.0", series=series),
                 product(("0",), nodes, ("2",)))
    out = must("-i", file, "-s", "Tasks", "-j", "5.0", "-l", "timeseries", "--columns",
               "WriteMB,RSS", "-o", "-").decode()
    is_equal("columns in the order asked for", out.split("\n")[0], "Step,Node,Series,WriteMB,RSS")
    out = must("-i", file, "-s", "Tasks,Network", "-o", "-", "--columns", "EpochTime", "-l",
               "timeseries").decode().split("\n")
    is_equal("several series", [line for line in out if line.startswith("Step")],
             ["Step,Node,Series,EpochTime", "Step,Node,EpochTime"])
    is_equal("an empty line between them", out.count(""), 2)


def what_is_not_there():
    file = job_file(path("job_5.h5"))
    cases = [(("-s", "Takss"), 'there is no series "Takss"; did you mean "Tasks"?'),
             (("-s", "Tasks", "-j", "5.7"), "there is no step 7"),
             (("-s", "Tasks", "-N", "n[1-2,22]"), 'there is no node n22; did you mean "n2"?'),
             (("-s", "Tasks", "--tasks", "0,7"), "series Tasks has no task 7"),
             (("-s", "Tasks", "--columns", "RSS,Page"), 'did you mean "Pages"?'),
             (("-s", "Tasks", "-l", "timeseries", "--columns", "rsss"), 'did you mean "RSS"?')]
    for args, said in cases:
        p = extract("-i", file, "-o", path("missing.csv"), "--overwrite", *args)
        is_true("named: %s" % " ".join(args), p.returncode == 1 and said in p.stderr.decode()
                and p.stderr.count(b"\n") == 1, (p.returncode, p.stderr))
    p = extract("-i", file, "-s", "Nothing", "-o", path("nothing.csv"))
    is_equal("an empty result leaves no file", (p.returncode, os.path.exists(path("nothing.csv"))),
             (1, False))
    for args in ((), ("-s", "Tasks"), ("-i", file), ("-i", file, "-s", "Tasks", "x"),
                 ("-i", file, "-s", "Tasks", "-l", "all"), ("-i", file, "-s", ","),
                 ("-i", file, "-s", "Tasks", "-N", "n["), ("-i", file, "-s", "Tasks", "--format", "xml"), ("-j", "x", "-s", "Tasks"),
                 ("-i", file, "-s", "Tasks", "--threads", "0"),
                 ("-i", file, "-s", "Tasks", "--tasks", "2-1")):
        p = extract(*args)
        if p.returncode != 2 or not p.stderr:
            raise Failed("%s: status %d, %r" % (args, p.returncode, p.stderr))
    is_true("wrong usage", True, "")
    p = extract("-i", path("none.h5"), "-s", "Tasks")
    is_true("no file", p.returncode == 1 and b"none.h5" in p.stderr, p.stderr)


def lacking_and_damaged():
    file = job_file(path("job_8.h5"), slurm=False, nrows=300)
    with h5py.File(file, "a") as f:
        del f["/Steps/2/Nodes/n2/Network"]
        at = f["/Steps/0/Nodes/n2/Tasks/2"].id.get_chunk_info(1)
        del f["/Steps/10/Nodes/n1/Tasks/0"]
        f["/Steps/10/Nodes/n1/Tasks"].create_dataset("0", data=b"text")
    p = extract("-i", file, "-s", "Network", "-o", "-")
    is_true("a node without the series", p.returncode == 0 and p.stdout.count(b"\n") == 15
            and p.stderr.count(b"\n") == 1 and b"on 1 of 15 nodes: 2/n2" in p.stderr, p.stderr)
    with open(file, "r+b") as f:
        f.seek(at.byte_offset + at.size // 2)
        f.write(b"\xff" * 64)
    for level in ("totals", "timeseries"):
        p = extract("-i", file, "-s", "Tasks", "-o", "-", "-l", level)
        said = p.stderr.decode()
        is_true("damaged tables: %s" % level, p.returncode == 1 and said.count("\n") == 2
                and file + ": /Steps/0/Nodes/n2/Tasks/2: damaged" in said
                and file + ": /Steps/10/Nodes/n1/Tasks/0: damaged" in said
                and p.stdout.count(b"\n") >= 1 + 43, (p.returncode, said, p.stdout.count(b"\n")))
    got = by_name(extract("-i", file, "-s", "Tasks", "-o", "-").stdout.decode())
    is_true("all other tables are there", len(got) == 43 and ("0", "n2", "2") not in got, len(got))


def many_columns():
    """Tables that differ in columns, early and late; more columns than can be side by side."""
    rng = numpy.random.default_rng(9)
    with h5py.File(path("many.h5"), "w") as f:
        for i in range(101):  # the 60th has a column more, the 80th one less
            cols = TASK + ([("More", "<f8")] if i == 60 else [])
            g = f.create_group("/Steps/0/Nodes/n%d/Tasks" % i)
            put(g, "0", rows(cols[:-1] if i == 80 else cols, 30 + i % 7, rng))
    out = must("-i", path("many.h5"), "-s", "Tasks", "-o", "-", "-l", "timeseries")
    is_equal("columns of all tables", out.split(b"\n")[0].decode().split(",")[3:],
             [n for n, _ in TASK] + ["More"])
    out = must("-i", path("many.h5"), "-s", "Tasks", "-o", "-", "-l", "timeseries", "--stock")
    if Stock.there():
        same_bytes("columns that differ late", out,
                   Stock().extract(path("many.h5"), "-j", "1", "-s", "Tasks", "-l",
                                   "Node:TimeSeries"))
    job_file(path("job_5.h5"))
    of = lambda *more: must("-i", path("job_5.h5"), "-s", "Tasks", "--stock", "-o", "-", *more).decode()
    head, first = of("--columns", "RSS,RSS,VMSize").split("\n")[:2]
    one = [c + "_" + n for n in ("RSS", "RSS", "VMSize") for c in ("Min", "Max", "Sum", "Avg")]
    is_equal("--stock: a column named twice is there twice", head.split(",")[4:], one)
    wanted = dict(zip(*[line.split(",") for line in of().split("\n")[:2]]))
    is_equal("--stock: with its own values", first.split(",")[4:], [wanted[c] for c in one])
    with h5py.File(path("wide.h5"), "w") as f:
        for i in range(5):
            cols = [("ElapsedTime", "<u8"), ("EpochTime", "<u8"), ("RSS", "<u8"), ("c%d_" % i, "<u8", 4000)]
            put(f.create_group("/Steps/0/Nodes/n%d/Tasks" % i), "0", numpy.ones(2, cols))
    args = ("-i", path("wide.h5"), "-s", "Tasks", "-l", "timeseries", "-o", "-")
    p = extract(*args)
    is_true("more columns than can be side by side", (p.returncode, p.stdout) == (1, b"")
            and p.stderr.count(b"\n") == 1 and b"choose some with --columns" in p.stderr, p.stderr)
    is_equal("some of them", must(*args, "--columns", "c4_3999,RSS", "-N", "n[0,4]").decode().split(),
             ["Step,Node,Series,c4_3999,RSS"] + ["0,n0,0,,1"] * 2 + ["0,n4,0,1,1"] * 2)
    is_equal("some of them, of all nodes", len(must(*args, "--columns", "c4_3999,RSS").split()), 11)


def outputs_are_equal():
    """Files and pipes; --threads, which has no effect; series after series."""
    file, _ = own_file()
    for args in (("-l", "timeseries"), ("-l", "totals", "--stock"), ("-l", "totals", "--format", "table"),
                 ("-l", "timeseries", "--format", "json", "-s", "Tasks,Tasks"),
                 ("-l", "timeseries", "--columns", "RSS,VMSize,RSS")):
        one = must("-i", file, "-s", "Tasks", "-o", "-", *args)
        for n in ("1", "7", "64"):
            must("-i", file, "-s", "Tasks", "--threads", n, "-o", path("n.out"), "--overwrite", *args)
            with open(path("n.out"), "rb") as f:
                same_bytes("to a file: %s %s" % (" ".join(args), n), f.read(), one)
    for n in ("0", "65", "x"):
        p = extract("-i", file, "-s", "Tasks", "--threads", n, "-o", "-")
        is_true("--threads %s" % n, p.returncode == 2 and b"not a number from 1 to 64" in p.stderr, p)
    job_file(path("job_5.h5"))
    series = ("Tasks", "Network", "Energy", "Network")
    of = lambda s, *form: must("-i", path("job_5.h5"), "-s", s, "-o", "-", *form)
    is_equal("series after series: CSV", of(",".join(series)), b"\n".join(of(s) for s in series))
    is_equal("series after series: JSON", json.loads(of(",".join(series), "--format", "json")),
             [t for s in series for t in json.loads(of(s, "--format", "json"))])


def node_files(top):
    """Of three nodes, as jobprof's writer makes them, with all series and marks."""
    made = []
    for node in ("n1", "n2", "n3"):
        made.append(os.path.join(top, "7_0_%s.h5" % node))
        shutil.copy(written_file(), made[-1])
        with h5py.File(made[-1], "r+") as f:
            if node != "n1":
                f.move("n1", node)
            g = f[node]
            g.attrs["Node Name"] = numpy.bytes_(node)
            marks = rows([("ElapsedTime", "<u8"), ("EpochTime", "<u8"), ("Mark", "<u8")], 3,
                         numpy.random.default_rng(1))
            marks["Mark"] = [1, 2, 1]
            put(g, "Marks", marks, False)
            g.attrs["Mark 1"], g.attrs["Mark 2"] = numpy.bytes_("begin"), numpy.bytes_("end")
    return made


def same_before_a_merge_and_after():
    """For every series and option."""
    top = path("merged")
    os.makedirs(os.path.join(top, "root"))
    files = node_files(os.path.join(top, "root"))
    subprocess.run([JOBPROF, "merge", "-j", "7", "-u", "root", "-S", "-o", "m.h5", top], cwd=top,
                   check=True, capture_output=True)
    with h5py.File(files[0], "r") as f:
        series = sorted(f["n1"])
    series = [s for s in series if s not in ("Totals", "Columns")]
    is_true("all series are there", len(series) >= 14 and "Marks" in series, series)
    for args in (("-l", "timeseries"), ("-l", "totals"), ("-l", "timeseries", "--stock"),
                 ("-l", "totals", "--stock"), ("-l", "timeseries", "--units"), ("-l", "totals", "--units"),
                 ("-l", "timeseries", "--format", "table"), ("-l", "totals", "--format", "table", "--units"),
                 ("-l", "timeseries", "--from", "1", "--to", "2"), ("-l", "totals", "--from", "1"),
                 ("-l", "timeseries", "--columns", "EpochTime,ElapsedTime"),
                 ("-s", "Tasks", "--tasks", "0", "--columns", "RSS,CPUTime"), ("-s", "Tasks/0")):
        of = [s for s in series if s != "Marks" or "timeseries" in args]
        args = args if "-s" in args else args + ("-s", ",".join(of))
        run = lambda file: [t.splitlines(True) for t in must("-i", file, *args, "-o", "-").split(b"\n\n")]
        before, after = [run(f) for f in files], run(os.path.join(top, "m.h5"))
        nhead = 2 if "--units" in args else 1
        joined = [parts[0][:nhead] + [line.rstrip(b"\n") for p in parts for line in p[nhead:]]
                  for parts in zip(*before)]
        after = [t[:nhead] + [line.rstrip(b"\n") for line in t[nhead:]] for t in after]
        is_true("before a merge and after: %s" % " ".join(args), joined == after and len(after[0]) > 3,
                [x for t in zip(joined, after) for x in zip(*t) if x[0] != x[1]][:2])
    for args in (("-l", "timeseries"), ("-l", "totals"), ("-l", "timeseries", "--units")):
        of = ("-s", ",".join(s for s in series if s != "Marks" or "timeseries" in args), *args)
        run = lambda file: json.loads(must("-i", file, *of, "--format", "json", "-o", "-"))
        before = [t for f in files for t in run(f)]
        before.sort(key=lambda t: series.index(t["series"]))
        is_equal("before a merge and after: JSON %s" % " ".join(args), run(os.path.join(top, "m.h5")), before)


PEAK = """import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ,
                     file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
_, status, used = os.wait4(pid, 0)
sys.exit(status and 1 or sys.stderr.write(str(used.ru_maxrss)) * 0)
"""


def peak_kib(*args):
    """Highest RSS of jobprof and of its reader. A process begins with its parent's: a small one starts
    it, not this one."""
    p = subprocess.run([sys.executable, "-c", PEAK, JOBPROF, "extract"] + [str(a) for a in args],
                       capture_output=True, text=True)
    if p.returncode:
        raise Failed("%s: %s" % (args, p.stderr))
    return int(p.stderr)


def memory():
    few = job_file(path("few.h5"), steps=("0",), nodes=["n%d" % i for i in range(16)], tasks=(0,),
                   nrows=601)
    rng = numpy.random.default_rng(2)
    with h5py.File(path("nodes.h5"), "w") as f:
        a = rows(TASK, 601, rng)
        for i in range(2048):
            put(f.create_group("/Steps/0/Nodes/n%d/Tasks" % i), str(i), a)
    chunk = rows(TASK, 16384, rng)
    raw = b"\x78\x01" + stored(chunk.tobytes())
    with h5py.File(path("long.h5"), "w") as f:
        d = f.create_group("/Steps/0/Nodes/n/Tasks").create_dataset(
            "0", (16384 * 820,), chunk.dtype, maxshape=(None,), chunks=(16384,),
            compression="gzip", compression_opts=0)
        d.id.write_direct_chunk((0,), raw)
        for i in range(1, 820):  # more than 1 GB of rows; only some were ever written
            if i % 40 == 0:
                d.id.write_direct_chunk((i * 16384,), raw)
    for level in ("totals", "timeseries"):
        args = ("-s", "Tasks", "-l", level, "--columns", "RSS", "-o", "-", "-i")
        base = peak_kib(*args, few)
        nodes = peak_kib(*args, path("nodes.h5"))
        long = peak_kib(*args, path("long.h5"))
        is_true("memory: %s" % level,
                nodes < base + 12288 and long < base + 16384 and max(nodes, long) < 65536,
                "16 nodes %d KiB, 2048 nodes %d, 1 GB of rows %d" % (base, nodes, long))


def stored(data):
    """As deflate stores it, with zlib's check sum."""
    import zlib
    out = b""
    for i in range(0, len(data), 65535):
        part = data[i:i + 65535]
        out += struct.pack("<BHH", i + 65535 >= len(data), len(part), len(part) ^ 0xffff) + part
    return out + struct.pack(">I", zlib.adler32(data))


def array_tasks():
    """The file of an array's task is found by what it says of itself."""
    top = tmpdir("array")
    for job, task in ((11, 1), (12, 2)):
        shutil.copy(os.path.join(GOLDEN, "job_7.h5"), os.path.join(top, "job_%d.h5" % job))
        with h5py.File(os.path.join(top, "job_%d.h5" % job), "r+") as f:
            for step in f["Steps"].values():
                for node in step["Nodes"].values():
                    node.attrs["Array Job Id"] = numpy.array([11], "i4")
                    node.attrs["Array Task Id"] = numpy.array([task], "i4")
    r = subprocess.run([JOBPROF, "extract", "-j", "11_2.1", "-s", "Tasks", "-o", "."], cwd=top,
                       capture_output=True)
    is_equal("a task of an array", (r.returncode, os.listdir(top).count("extract_12.csv")), (0, 1))
    r = subprocess.run([JOBPROF, "extract", "-j", "11_3", "-s", "Tasks"], cwd=top,
                       capture_output=True)
    is_true("no such task", r.returncode == 1 and b"11_3" in r.stderr, r.stderr)

    def run(verb, *args):
        p = subprocess.run([JOBPROF, verb, *args], cwd=top, capture_output=True, text=True)
        made = sorted(n for n in os.listdir(top) if n.endswith(".csv"))
        for n in made:
            os.unlink(os.path.join(top, n))
        return p.returncode, made, p.stderr if p.returncode else p.stdout
    shutil.copy(os.path.join(GOLDEN, "job_7.h5"), os.path.join(top, "job_13.h5"))
    shutil.copy(os.path.join(top, "job_12.h5"), os.path.join(top, "job_12.restart0.h5"))
    with open(os.path.join(top, "job_10.h5"), "w") as f:
        f.write("no profile")
    run("extract", "-j", "11_1", "-s", "Tasks", "-o", ".")
    is_equal("an array's id means its tasks", run("extract", "-j", "11", "-s", "Tasks", "-o", ".")[:2],
             (0, ["extract_11.csv", "extract_12.csv"]))
    is_equal("-o is one file", run("extract", "-j", "11", "-s", "Tasks", "-o", "x.csv")[:2], (1, []))
    is_equal("a job of no array", run("extract", "-j", "13", "-s", "Tasks", "-o", ".")[:2], (0, ["extract_13.csv"]))
    for verb in (["list"], ["items", "-s", "Tasks", "-d", "RSS"]):
        st, _, said = run(*verb, "-j", "11")
        is_true(verb[0] + ": one at a time", st == 1 and " job_11.h5" in said and " job_12.h5" in said
                and said.count("\n") == 1, said)
        is_equal(verb[0] + ": a task", run(*verb, "-j", "11_2")[0], 0)
    os.unlink(os.path.join(top, "job_11.h5"))
    is_equal("the array's id, without a file of that name", run("extract", "-j", "11", "-s", "Tasks", "-o", ".")[:2],
             (0, ["extract_12.csv"]))


def files_of_other_names():
    """After merge -o the job's id comes from the file."""
    top = tmpdir("names")
    user = pwd.getpwuid(os.geteuid()).pw_name
    os.mkdir(os.path.join(top, user))
    for name in ("7_0_p1.h5", "7_1_p1.h5"):
        shutil.copy(os.path.join(GOLDEN, name), os.path.join(top, user))
    subprocess.run([JOBPROF, "merge", "-j", "7", "-p", top, "-o", "other.h5"], cwd=top, check=True,
                   capture_output=True)

    def run(*args):
        p = subprocess.run([JOBPROF, *args], cwd=top, capture_output=True, text=True)
        return (p.stdout or p.stderr) if not p.returncode else (p.returncode, p.stderr)
    for job in ("7", "7.1"):
        is_true("list -j " + job, run("list", "-j", job)[:5] == "job 7", run("list", "-j", job))
    is_equal("list -i --json", json.loads(run("list", "-i", "other.h5", "--json"))["job"], "7")
    is_true("show", "job 7 " in run("show", "other.h5"), run("show", "other.h5"))
    is_equal("extract --format json", [t["job"] for t in json.loads(
        run("extract", "-j", "7.1", "-s", "Network", "--format", "json", "-o", "-"))], ["7"])
    shutil.copy(os.path.join(top, "other.h5"), os.path.join(top, "job_8.h5"))
    is_true("what it says counts more than its name", run("list", "-i", "job_8.h5")[:5] == "job 7",
            run("list", "-i", "job_8.h5"))
    st, err = run("list", "-j", "9")
    is_true("none", st == 1 and "-j 9: there is no profile of it in this directory" in err, err)


def outputs():
    job_file(path("job_5.h5"))
    job_file(path("job_6.h5"), seed=2)
    def here(*args):
        p = extract(*args, cwd=d)
        if p.returncode:
            raise Failed((args, p.returncode, p.stderr))
        said.append(p.stdout.decode())
        return sorted(set(os.listdir(d)) - {"job_5.h5", "job_6.h5"})
    said, d = [], tmpdir("here")
    for j in ("job_5.h5", "job_6.h5"):
        os.symlink(path(j), os.path.join(d, j))
    is_equal("no file by default", (here("-j", "5", "-s", "Tasks"), said.pop()),
             ([], must("-i", path("job_5.h5"), "-s", "Tasks", "-o", "-").decode()))
    is_equal("its name in a directory", here("-j", "5", "-s", "Tasks", "-o", "."), ["extract_5.csv"])
    with open(os.path.join(d, "extract_5.csv"), "rb") as f:
        is_equal("what is in it", f.read(), must("-i", path("job_5.h5"), "-s", "Tasks", "-o", "-"))
    with open(os.path.join(d, "extract_5.csv")) as f:
        lines = len(f.readlines()) - 1
    is_equal("it says what it wrote", said, ["./extract_5.csv: %d rows of %d tables\n" % (lines, lines)])
    p = extract("-j", "6", "-s", "Tasks", "-o", "extract_5.csv", cwd=d)
    with open(os.path.join(d, "extract_5.csv"), "rb") as f:
        is_equal("what is there stays", (p.returncode, "extract_5.csv is there already" in p.stderr.decode(), f.read()),
                 (1, True, must("-i", path("job_5.h5"), "-s", "Tasks", "-o", "-")))
    here("-j", "6", "-s", "Tasks", "-o", "extract_5.csv", "--overwrite")
    with open(os.path.join(d, "extract_5.csv"), "rb") as f:
        is_equal("unless it is to be replaced", f.read(), must("-i", path("job_6.h5"), "-s", "Tasks", "-o", "-"))
    is_equal("of several jobs and series",
             here("-j", "5.0,6", "-s", "Tasks,Network", "-l", "timeseries", "-o", "."),
             ["extract_5.csv", "extract_5_Network.csv", "extract_5_Tasks.csv",
              "extract_6_Network.csv", "extract_6_Tasks.csv"])
    is_true("JSON", "extract_6.json" in here("-j", "6", "-s", "Tasks,Network", "--format", "json", "-o", "."),
            os.listdir(d))
    mode = os.stat(os.path.join(d, "extract_5.csv")).st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    is_equal("its mode", mode, 0o666 & ~mask)
    wanted = must("-i", path("job_5.h5"), "-s", "Tasks", "-o", "-")
    only = tmpdir("only")
    os.symlink(path("job_5.h5"), os.path.join(only, "job_5.h5"))
    for name, args in (("a file without -i", [path("job_5.h5")]), ("a directory and a job", ["-j", "5", d]),
                       ("the only file of a directory", [only]), ("-i with it", ["-i", only])):
        is_equal("input: " + name, must(*args, "-s", "Tasks", "-o", "-"), wanted)
    for name, args, why in (
            ("several files of a directory", [d], "it has 2 profiles; name one of them"),
            ("two files", [path("job_5.h5"), path("job_6.h5")], "job_6.h5\" is one file too many; see")):
        p = extract(*args, "-s", "Tasks", "-o", "-")
        is_true("input: " + name, p.returncode in (1, 2) and p.stderr.count(b"\n") == 1 and
                why in p.stderr.decode(), (p.returncode, p.stderr))
    p = extract("-i", path("job_5.h5"), "-s", "Tasks", "-o", path("job_5.h5"))
    is_true("the input stays", p.returncode == 1 and h5py.is_hdf5(path("job_5.h5")), p.stderr)
    p = extract("-i", path("job_5.h5"), "-s", "Tasks", "-o", "/dev/full")
    is_true("a full disk", p.returncode == 1 and b"No space left" in p.stderr,
            (p.returncode, p.stderr))
    p = extract("-i", path("job_5.h5"), "-s", "Tasks", "-o", path("no/such/dir.csv"))
    is_true("no directory", p.returncode == 1 and b"no/such" in p.stderr, p.stderr)
    with h5py.File(path("names.h5"), "w") as f:
        g = f.create_group('/Steps/a,"b/Nodes/n\n1')
        put(g, "Energy", rows(ENERGY, 2, numpy.random.default_rng(1)))
    out = must("-i", path("names.h5"), "-s", "Energy", "-o", "-").decode()
    is_equal("names in CSV", list(csv.reader(io.StringIO(out)))[1][:2], ['a,"b', "n\n1"])
    with h5py.File(path("formulas.h5"), "w") as f:
        put(f.create_group("/Steps/@SUM(1)/Nodes/a\u202eb\x1b[2J"), "Energy", rows(ENERGY, 2, numpy.random.default_rng(1)))
    for form in ((), ("--stock",)):
        out = must("-i", path("formulas.h5"), "-s", "Energy", "-o", "-", *form)
        is_true("names in CSV that programs would obey %s" % (form,), out.split(b"\n")[1].startswith(
            b"\"'@SUM(1)\",a\\xe2\\x80\\xaeb\\x1b[2J,"), out)
    out = json.loads(must("-i", path("names.h5"), "-s", "Energy", "-o", "-", "--format", "json"))
    is_equal("names in JSON", (out[0]["step"], out[0]["node"]), ('a,"b', "n\n1"))
    out = must("-i", path("names.h5"), "-s", "Energy", "--format", "table")
    is_true("names on a terminal", b"n\\x0a1" in out, out)


def children(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            return [int(x) for x in f.read().split()]
    except FileNotFoundError:
        return []


def signal_while_the_output_is_made():
    """Between the making of the file and open's return to the program."""
    if not shutil.which("strace"):
        raise Skipped("no strace")
    d = tmpdir("made")
    p = start(["strace", "-qq", "-o", "/dev/null", "-e", "inject=openat:delay_exit=30000", JOBPROF,
               "extract", "-i", os.path.join(GOLDEN, "job_7.h5"), "-s", "Tasks", "-o",
               os.path.join(d, "x.csv")], stderr=subprocess.PIPE)
    while not os.listdir(d) and p.poll() is None:
        pass
    for k in children(p.pid):
        os.kill(k, signal.SIGTERM)
    said = p.communicate(timeout=20)[1]
    if b"ptrace" in said:
        raise Skipped("strace cannot trace here")
    is_equal("a signal while the output is made", (p.returncode, os.listdir(d)),
             (-signal.SIGTERM, []))


def unread(fd):
    """Bytes that wait in a pipe."""
    buf = bytearray(4)
    fcntl.ioctl(fd, termios.FIONREAD, buf)
    return struct.unpack("i", buf)[0]


def drained(fd):
    os.set_blocking(fd, False)
    try:
        return len(os.read(fd, 1 << 20))
    except BlockingIOError:
        return 0


def has_open(pid, file):
    try:
        return any(os.path.realpath("/proc/%d/fd/%s" % (pid, fd)) == file
                   for fd in os.listdir("/proc/%d/fd" % pid))
    except OSError:
        return False


def the_reader_dies(args, held, sig, says, late):
    """Early: it has just opened the file. Late: the output is under way."""
    p = start(args, stderr=subprocess.PIPE)
    reader = wait_until(lambda: children(p.pid), 20, "the reader")[0]
    wait_until(lambda: unread(held) > 60000 if late else has_open(reader, path("big.h5")), 20,
               "the reader at work")
    os.kill(reader, sig)
    said = p.communicate(timeout=20)[1].decode()
    while drained(held):
        pass
    at = "jobprof extract: %s: %s" % (path("big.h5"), "/Steps/0/Nodes/" if late else "")
    is_true("the reader dies %s: %s" % ("late" if late else "early", says), p.returncode == 1
            and said.count("\n") == 1 and said.startswith(at) and says in said, (p.returncode, said))
    is_true("it is gone", not os.path.exists("/proc/%d" % reader), reader)


def chunk_tree_in_itself(file, table):
    """The index of its chunks becomes its own child."""
    with h5py.File(file, "r") as f:
        first = struct.pack("<Q", f[table].id.get_chunk_info(0).byte_offset)
    with open(file, "r+b") as f:
        data = f.read()
        at = data.index(b"TREE")
        while data[at + 4] != 1 or data[at + 48:at + 56] != first:
            at = data.index(b"TREE", at + 1)
        f.seek(at + 5)
        f.write(b"\x01")  # level
        for to in (16, 48):
            f.seek(at + to)
            f.write(struct.pack("<Q", at))


def crashes():
    """The line names the file and the table."""
    for node in ("n0", "n9", "n15"):
        file = job_file(path("crash.h5"), steps=("0",), nodes=["n%d" % i for i in range(16)],
                        tasks=(0,), nrows=601, slurm=False)
        table = "/Steps/0/Nodes/%s/Tasks/0" % node
        chunk_tree_in_itself(file, table)
        p = extract("-i", file, "-s", "Tasks", "-l", "timeseries", "-o", path("crash.csv"))
        is_true("%s crashes the library" % table, p.returncode == 1 and p.stderr.count(b"\n") == 1
                and p.stderr.decode().startswith("jobprof extract: %s: %s: damaged: reading it crashed"
                                                 % (file, table)), (p.returncode, p.stderr))


def signals():
    file = job_file(path("big.h5"), steps=("0",), nodes=["n%d" % i for i in range(48)], nrows=4000)
    fifo = path("fifo")
    os.mkfifo(fifo)
    held = os.open(fifo, os.O_RDWR)  # its reader does not read
    args = [JOBPROF, "extract", "-i", file, "-s", "Tasks", "-l", "timeseries"]
    for late in (False, True):
        for sig, says in ((signal.SIGKILL, "the process that read it was killed"),
                          (signal.SIGSEGV, "crashed the HDF5 library"), (signal.SIGPROF, "takes too long")):
            the_reader_dies(args + ["-o", fifo], held, sig, says, late)
    os.close(held)
    d = tmpdir("sig")
    p = start(args + ["-o", os.path.join(d, "x.csv")])
    wait_until(lambda: os.listdir(d) or p.poll() is not None, 20, "the output")
    p.send_signal(signal.SIGTERM)
    p.wait(20)
    left = os.listdir(d)
    is_true("a signal leaves nothing half done",
            (p.returncode == -signal.SIGTERM and not left) or
            (p.returncode == 0 and left == ["x.csv"]), (p.returncode, left))
    p = start(args + ["-o", "-"], stdout=subprocess.PIPE)
    p.stdout.readline()
    reader = children(p.pid)
    p.stdout.close()
    p.wait(20)
    is_true("the reader does not outlive an output that nobody reads", len(reader) == 1 and
            not os.path.exists("/proc/%d" % reader[0]), reader)
    is_equal("nobody reads any more", p.returncode, -signal.SIGPIPE)


def json_of_a_damaged_table():
    """What can be read is JSON; the status says that something is missing."""
    d = tmpdir()
    rows = numpy.zeros(50, [("ElapsedTime", "<u8"), ("RSS", "<u8")])
    with h5py.File(os.path.join(d, "5_0_n2.h5"), "w") as f:
        f.create_group("n2/Tasks").create_dataset("0", data=rows, chunks=(10,), compression="lzf")
    for args in (["show", "--json"], ["extract", "-s", "Tasks", "-l", "timeseries", "--format", "json",
                                      "-o", "-"]):
        p = subprocess.run([JOBPROF, *args, "5_0_n2.h5"], cwd=d, capture_output=True, text=True)
        try:
            json.loads(p.stdout)
            whole = True
        except ValueError:
            whole = False
        is_true("a table that cannot be read: JSON of " + args[0], whole and p.returncode == 1 and
                "filter lzf is not there" in p.stderr, p)


def filter_that_is_not_there():
    """It is named, and the file is not called damaged, which it is not."""
    d = tmpdir()
    rows = numpy.zeros(50, [("ElapsedTime", "<u8"), ("EpochTime", "<u8"), ("RSS", "<u8")])
    rows["EpochTime"] = EPOCH + numpy.arange(50)
    with h5py.File(os.path.join(d, "5_0_n2.h5"), "w") as f:
        f.create_group("n2/Tasks").create_dataset("0", data=rows, chunks=(10,), maxshape=(None,), compression="lzf")
    for args in (["show"], ["extract", "-s", "Tasks", "-o", "-"], ["extract", "-s", "Tasks", "-l", "timeseries", "-o", "-"],
                 ["items", "-s", "Tasks", "-d", "RSS"], ["plot", "-s", "Tasks", "-d", "RSS"], ["report"], ["reduce"]):
        p = subprocess.run([JOBPROF, *args, "5_0_n2.h5"], cwd=d, capture_output=True, text=True, timeout=60)
        is_true("a filter that is not there: " + " ".join(args[:4]), p.returncode == 1 and
                p.stderr.count("filter lzf is not there") == 1 and "damaged" not in p.stderr, p)


run_tests([golden, units, stock_live, array_tasks, files_of_other_names, hostile_values,
           columns_in_another_order, highest_of_negatives, own_timeseries, own_totals,
           totals_by_their_name, unknown_columns, columns_of_another_shape, times_to_plot_by, columns_in_any_case, totals_of_times_and_texts,
           totals_of_histograms, totals_of_older_files, steps_that_are_not_there, times, selection,
           what_is_not_there, lacking_and_damaged,
           json_of_a_damaged_table, filter_that_is_not_there,
           many_columns, outputs_are_equal, same_before_a_merge_and_after, memory, outputs,
           signal_while_the_output_is_made, signals, crashes])
