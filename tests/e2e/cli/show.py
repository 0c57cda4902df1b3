#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 90
"""jobprof show of block, network, hardware counters and files, against h5py and numpy over files
made here; jobprof list against itself."""

import sys


sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *

START_NS = 1795226680123456789
ROWS = 7
NAN = float("nan")


def sh(*args, **kw):
    return subprocess.run(args, capture_output=True, text=True, timeout=60, **kw)


def schema():
    return {s["name"]: s["columns"] for s in json.loads(sh(JOBPROF, "list", "--json").stdout)}


SCHEMA = schema()
EVENTS = ["Cycles", "Instructions", "BranchMisses", "Uops"]  # one the schema does not know


def columns_of(series, without=()):
    """(name, kind) in the file's order; the counters are EVENTS."""
    out = []
    for c in SCHEMA[series]:
        if c["family"] in without:
            continue
        if c["name"] == "Cycles":
            out += [(e, "per interval") for e in EVENTS]
        elif c["name"] not in ("Instructions", "CacheMisses"):
            out.append((c["name"], c["kind"]))
    return out


def rows_of(rng, series, without=(), given=None):
    """A table of noise; given: {column: value of every row}."""
    cols = columns_of(series, without)
    types = {c["name"]: "<u8" if c["type"] == "U64" else "<f8" for c in SCHEMA[series]}
    t = numpy.zeros(ROWS, [(n, types.get(n, "<f8")) for n, _ in cols])
    for name, _ in cols:
        t[name] = rng.integers(1, 1 << 20, ROWS) / (1 if t.dtype[name] == "<u8" else 64)
        if given and name in given:
            t[name] = given[name]
    t["ElapsedTime"] = numpy.arange(1, ROWS + 1)
    t["TimeNS"] = START_NS + 10**9 * numpy.arange(1, ROWS + 1, dtype="<u8")
    if "PerfRunning" in t.dtype.names and not (given and "PerfRunning" in given):
        t["PerfRunning"] = 0.5
    return t


def put(group, name, table, kinds):
    """The attribute says of each column what it is, as in the files of jobprof."""
    words = {"per interval": "delta"}
    group[name] = table
    group[name].attrs["Column Kinds"] = numpy.array([words.get(k, k).encode() for k in kinds], "S10")


MODES = {"sched": "exact", "memory": "exact", "block": "exact", "network": "exact",
         "self": "estimated", "perf": "exact", "files": "off: not asked for"}


def make(name, ntasks=1, modes=None, without=("files",), given=None, attrs=None):
    """A file as the writer makes them. Returns its path and its tables."""
    path = os.path.join(tmpdir("made"), name)
    rng = numpy.random.default_rng(7)
    made = {}
    with h5py.File(path, "w") as f:
        node = f.create_group("n1")
        for k, v in {"Mode " + k: v for k, v in (modes or MODES).items()}.items():
            node.attrs[k] = numpy.array([v.encode()], "S%d" % len(v))
        node.attrs["Start TimeNS"] = numpy.array([START_NS])
        node.attrs["CPUs per Task"] = numpy.array([1], "<i4")
        for k, v in (attrs or {}).items():
            node.attrs[k] = numpy.array([v])
        for i in range(ntasks):
            for series in ("Tasks", "RunLatency", "BlkLatency"):
                made["%s/%d" % (series, i)] = rows_of(rng, series, without, given)
        for i in range(ntasks):
            t = made["BlkLatency/%d" % i]
            for k in range(40):  # a write is one of all
                t["B%d" % k] = t["W%d" % k] + 3 * (k % 5) if 12 < k < 20 else 0
                t["W%d" % k] = t["W%d" % k] if 12 < k < 20 else 0
        made["Step"] = rows_of(rng, "Step", without, given)
        for k, t in made.items():
            put(node, k, t, [kind for _, kind in columns_of(k.split("/")[0], without)])
    return path, made


def show(path, *args):
    r = sh(JOBPROF, "show", *args, path, env=dict(os.environ, LC_ALL="C"))
    if r.returncode:
        raise Failed("show: %d %s" % (r.returncode, r.stderr))
    return r.stdout


def node_of(path):
    return json.loads(show(path, "--json"))["nodes"][0]


def line_of(text, label, part="task 0"):
    """A line of the page with what was broken off it; None: there is none."""
    block = re.search(r"^%s:.*\n((?:  .*\n)*)" % part, text, re.M)
    m = re.search(r"^  %-10s(.*(?:\n {12}.*)*)" % re.escape(label), block.group(1) if block else "",
                  re.M)
    return " ".join(m.group(1).split()) if m else None


def wrong_sums(got, table, series):
    """Every column once, reduced as its kind wants."""
    wrong = []
    for name, kind in columns_of(series, ("files",)):
        col = table[name]
        want = {"time": {}, "gauge": {"max": col.max(), "mean": col.mean()},
                "per interval": {"sum": col.sum()}, "cumulative": {"last": col[-1]}}[kind]
        for how in ("sum", "max", "mean", "last"):
            if (name in got[how]) != (how in want):
                wrong.append("%s: %s of a %s column" % (name, how, kind))
            elif how in want and not numpy.isclose(got[how][name], want[how], rtol=1e-12):
                wrong.append("%s of %s: %s, not %s" % (how, name, got[how][name], want[how]))
    return wrong


def bound(counts, q):
    below = numpy.cumsum(counts)
    return 2.0 ** (int(numpy.searchsorted(below, q * below[-1])) + 1)


def show_json_has_every_column():
    path, made = make("1_0_n1.h5", ntasks=2)
    node = node_of(path)
    for i in range(2):
        is_equal("json: columns of task %d by their kind" % i,
                 wrong_sums(node["tasks"][i], made["Tasks/%d" % i], "Tasks"), [])
        blk = made["BlkLatency/%d" % i]
        both = numpy.array([blk["B%d" % k].sum() for k in range(40)])
        writes = numpy.array([blk["W%d" % k].sum() for k in range(40)])
        for key, counts in (("blk_latency", both), ("blk_write_latency", writes),
                            ("blk_read_latency", both - writes)):
            got = node["tasks"][i][key]
            is_equal("json: %s of task %d" % (key, i),
                     [got["count"], got["p50_below_ns"], got["p90_below_ns"], got["p99_below_ns"]],
                     [counts.sum()] + [bound(counts, q) for q in (0.5, 0.9, 0.99)])
        run = numpy.array([made["RunLatency/%d" % i]["B%d" % k].sum() for k in range(40)])
        is_equal("json: run_latency of task %d" % i, node["tasks"][i]["run_latency"]["p50_below_ns"],
                 bound(run, 0.5))
    is_equal("json: columns of the step", wrong_sums(node["step_table"], made["Step"], "Step"), [])


# What a page says of these numbers, worked out by hand: 7 rows.
PLAIN = {"BlkReadMB": 1.5, "BlkReads": 100, "BlkReadTime": 0.012, "BlkWriteMB": 0.001,
         "BlkWrites": 1 / 7, "BlkWriteTime": 0.0003, "BlkUntimed": 3, "NetTxMB": 2,
         "NetTxOps": 30, "NetRxMB": 300, "NetRxOps": 1000, "NetLoopTxMB": 0, "NetLoopTxOps": 0,
         "NetLoopRxMB": 0.25, "NetLoopRxOps": 2, "TcpRetrans": 3, "Cycles": 1e9,
         "Instructions": 1.25e9,
         "BranchMisses": 5e6, "Uops": 123, "PerfRunning": 0.625, "ReadMB": 3, "ReadCalls": 4,
         "WriteMB": 0.5, "WriteCalls": 8, "HugetlbMB": 64}
LINES = {
    "syscalls": "read() 21.0 MiB in 28 calls, write() 3.5 MiB in 56 calls",
    "block": "read 10.5 MiB in 700 requests of 120 us, written 7.17 KiB in 1 request of 2.1 ms, "
             "21 of unknown time",
    "network": "sent 14.0 MiB in 210 calls, received 2100.0 MiB in 7000 calls, retransmits 21",
    "loopback": "received 1.8 MiB in 14 calls",
    "counters": "cycles 7 G, instructions 8.75 G (1.25 per cycle), "
                "branch misses 35 M (4.00 per 1000 instructions), Uops 861, "
                "on the hardware 62.5 % of the time, scaled",
}


def wall_ends_with_the_last_process():
    """Rows of a task go on until the step ends; its CPUs are held as long."""
    path, _ = make("early", ntasks=2)
    with h5py.File(path, "r+") as f:
        for name, lived in (("0", ROWS), ("1", ROWS - 3)):
            rows = f["n1/Tasks/" + name][()]
            rows["Threads"] = [2] * lived + [NAN] * (ROWS - lived)
            f["n1/Tasks/" + name][...] = rows
        end = (rows["TimeNS"] - f["n1"].attrs["Start TimeNS"][0]) / 1e9
        share = numpy.nansum(rows["CPUTime"]) / end[-1] / f["n1"].attrs["CPUs per Task"][0]
    tasks = node_of(path)["tasks"]
    is_near("a task to the end", tasks[0]["wall_s"], end[-1], 0, 1e-5)
    is_near("a task that ended early", tasks[1]["wall_s"], end[-4], 0, 1e-5)
    is_near("its share of the allocation", tasks[1]["cpu_efficiency"], share, 1e-6, 0)


def page_says_what_was_counted():
    path, made = make("2_0_n1.h5", given=PLAIN)
    text = show(path)
    for label, want in LINES.items():
        is_equal("page: " + label, line_of(text, label), want)
    is_equal("page: of one task the step does not say it again",
             [line_of(text, label, "step") for label in LINES], [None] * len(LINES))
    unit = dict(ns=1, us=1e3, ms=1e6, s=1e9)
    blk = made["BlkLatency/0"]
    writes = numpy.array([blk["W%d" % k].sum() for k in range(40)])
    reads = numpy.array([blk["B%d" % k].sum() for k in range(40)]) - writes
    for label, counts in (("blk read", reads), ("blk write", writes)):
        got = [float(n) * unit[u] for n, u in re.findall(r"< (\S+) (\S+?)(?:,|$)",
                                                         line_of(text, label))]
        want = [bound(counts, q) for q in (0.5, 0.9, 0.99, 1)]
        is_true("page: " + label, numpy.allclose(got, want, rtol=0.005), "%s %s" % (got, want))
    is_true("page: lines over time", re.search(r"^  block +\S.* max 1\.501 MiB/s$", text, re.M) and
            re.search(r"^  network +\S.* max 302 MiB/s$", text, re.M), text)
    is_true("page: fits", max(map(len, text.splitlines())) <= 80 and text.count("\n") <= 50, text)
    many = show(make("3_0_n1.h5", ntasks=3, given=PLAIN)[0])
    for label, want in LINES.items():
        is_equal("page: of several tasks, the step's " + label, line_of(many, label, "step"), want)
    is_true("page: fits with several tasks", many.count("\n") <= 50, many)


def page_leaves_out_what_is_not():
    zero = {n: 0 for n in PLAIN if n not in EVENTS + ["PerfRunning"]}
    full = dict(PLAIN, PerfRunning=1)
    text = show(make("4_0_n1.h5", given=dict(full, **zero))[0])
    is_equal("page: lines of zeros are left out",
             [line_of(text, l) for l in ("block", "network", "loopback", "files")], [None] * 4)
    is_true("page: all of the time on the hardware is not worth a word",
            "on the hardware" not in line_of(text, "counters"), text)
    text = show(make("5_0_n1.h5", given={n: NAN for n in PLAIN})[0])
    is_equal("page: lines of unknown numbers are left out",
             [line_of(text, l) for l in LINES], [None] * len(LINES))
    given = dict(full, TcpRetrans=NAN, Cycles=NAN)
    path = make("6_0_n1.h5", given=given)[0]
    text = show(path)
    is_equal("page: what is unknown is left out of a line",
             [line_of(text, "network"), line_of(text, "counters").split(",")[0]],
             [LINES["network"].replace(", retransmits 21", ""), "instructions 8.75 G"])
    text = show(path, "--all")
    is_true("page: and named with --all", re.search(r"^Unknown Columns: .*\bTcpRetrans\b", text, re.M), text)
    text = show(make("7_0_n1.h5", without=(), given=dict(PLAIN, Opens=2, Closes=1 / 7))[0])
    is_equal("page: files", line_of(text, "files"), "opened 14, closed 1")
    path = make("8_0_n1.h5", without=(), given=dict(PLAIN, RSS=0, PeakMB=NAN))[0]
    text = show(path)
    is_true("page: 0 in a column without NaN is no peak", not re.search(r"^ +RSS|peak 0 |max 0 ", text, re.M), text)
    peaks = json.loads(sh(JOBPROF, "report", "--json", path).stdout)["units"]["tasks"].get("peak_mb")
    is_true("nor in a report", 0 not in (peaks or []), peaks)


# Lines of families that have series of their own; of 7 rows, worked out by hand.
OF_SERIES = {
    "threads": ("TimeBudget", dict(ThreadTime=2.0, Running=0.5, CPUWait=0.25, Throttled=0.0), "lived 14.000 s, ran 3.500 s, waited for a CPU 1.750 s"),
    "blocked": ("TimeBudget", dict(BlockedFutex=1.0, BlockedPoll=0.25), "locks 7.000 s, poll 1.750 s"),
    "waits for": ("Culprits", dict(OwnTask=0.125, OtherJobs=0.5, Unknown=NAN), "own task 0.875 s, other jobs 3.500 s"),
    "samples": ("Samples", dict(Samples=97.0, Own=90.0, MPI=7.0), "679, own program 630, MPI 49"),
    "bursts": ("BurstLength", dict(BurstTime=0.5, Lost=2.0), "3.500 s in all, lost 14"),
}


def page_says_what_families_counted():
    path, _ = make("9_0_n1.h5", given=PLAIN)
    is_equal("page: without the families no lines", [line_of(show(path), label) for label in OF_SERIES], [None] * len(OF_SERIES))
    with h5py.File(path, "r+") as f:
        for series in {s for s, _, _ in OF_SERIES.values()}:
            columns = {k: v for s, given, _ in OF_SERIES.values() if s == series for k, v in given.items()}
            t = numpy.zeros(ROWS, [("ElapsedTime", "<u8")] + [(k, "<f8") for k in columns] + [("TimeNS", "<u8")])
            for k, v in columns.items():
                t[k] = v
            t["ElapsedTime"] = numpy.arange(1, ROWS + 1)
            t["TimeNS"] = START_NS + 10**9 * numpy.arange(1, ROWS + 1, dtype="<u8")
            put(f["n1"], series + "/0", t, ["time"] + ["per interval"] * len(columns) + ["time"])
    text = show(path)
    for label, (_, _, want) in OF_SERIES.items():
        is_equal("page: " + label, line_of(text, label), want)


def page_says_that_none_waited():
    path, _ = make("12_0_n1.h5")
    for given, want in (({"B0": 10, "B10": 1 / 7}, "p50 none, p90 none, p99 < 2.05 us, all < 2.05 us"), ({"B0": 10}, "p50 none, p90 none, p99 none, all none")):
        with h5py.File(path, "r+") as f:
            t = f["n1/RunLatency/0"][:]
            for k in range(40):
                t["B%d" % k] = given.get("B%d" % k, 0)
            f["n1/RunLatency/0"][:] = t
        is_equal("page: run queue of %s" % given, line_of(show(path), "run queue"), want)


# Columns of a family to come, by kind, and what the page says of them, worked out by hand: 7 rows.
NOVEL = {"NewThings": ("per interval", 3, "NewThings 21"),
         "NewLevel": ("gauge", numpy.arange(7), "NewLevel mean 3 max 6"),
         "NewTotal": ("cumulative", 123456.0, "NewTotal 123456"),
         "New\x1bName": ("gauge", 0.125, "New\\x1bName 0.125"),
         "NewNothing": ("per interval", 0, "NewNothing 0"),
         "NewUnknown": ("gauge", NAN, None)}
USUALLY_OUT = ["CPUFrequency", "GPUMemMB", "GPUUtilization", "VMSize", "AnonMB", "FileMB",
               "ShmemMB", "ProbeTime"]


def page_has_columns_of_no_line():
    kept = {n: list(SCHEMA[n]) for n in ("Tasks", "Step")}
    for name in kept:
        SCHEMA[name][-2:-2] = [{"name": n, "kind": k, "type": "F64", "family": "new"}
                               for n, (k, _, _) in NOVEL.items()]
    try:
        given = {n: v for n, (_, v, _) in NOVEL.items()}
        one, _ = make("10_0_n1.h5", given=given)
        three, _ = make("11_0_n1.h5", ntasks=3, given=given)
    finally:
        SCHEMA.update(kept)
    want = [w for n, (_, _, w) in NOVEL.items() if w and n != "NewNothing"]
    text = show(one)

    def novel(line):
        """Columns of the schema may stand there, too."""
        return [p for p in line.split(", ") if p.startswith("New")]
    is_equal("other: columns of no line", novel(line_of(text, "other")), want)
    is_equal("other: of one task the step does not say it again", line_of(text, "other", "step"),
             None)
    is_equal("other: of several tasks, the step's", novel(line_of(show(three), "other", "step")),
             want)
    names = [p.split(" ")[0] for p in line_of(show(one, "--all"), "other").split(", ")]
    is_equal("other: everything with --all",
             [n for n in names if n in USUALLY_OUT or n.startswith("New")],
             USUALLY_OUT[:-1] + [w.split(" ")[0] for _, _, w in NOVEL.values() if w] +
             USUALLY_OUT[-1:])
    node = node_of(one)["tasks"][0]
    is_equal("json: columns of a family to come", [node["sum"]["NewThings"],
             node["max"]["NewLevel"], node["last"]["NewTotal"], node["max"]["NewUnknown"]],
             [21, 6, 123456, None])


def page_names_other_series():
    path, _ = make("12_0_n1.h5")
    is_true("series: none, no word of it", "other_series" not in node_of(path) and
            "Other Series" not in show(path), show(path))
    rng = numpy.random.default_rng(5)
    energy = numpy.zeros(9, [("ElapsedTime", "<u8"), ("Power", "<u8"), ("CPUFrequency", "<u8")])
    energy["Power"] = rng.integers(1, 500, 9)
    loss = numpy.zeros(4, [("Loss", "<f8"), ("\x1b[2J", "<f8")])
    loss["Loss"] = rng.random(4)
    with h5py.File(path, "a") as f:
        f["n1/Energy"] = energy
        put(f["n1"].create_group("User"), "loss", loss, ["delta", "gauge"])
        f["n1/User/text"] = numpy.array([(b"abc",)], [("what", "S3")])
    text = show(path)
    is_true("series: named", re.search(r"^Other Series \(see --all\): User, Energy$", text, re.M),
            text)
    text = show(path, "--all")
    is_true("series: with --all as numbers of each table", re.search(
        r"^Energy: 9 rows\n  columns   Power mean %.4g max %d W, CPUFrequency 0$"
        % (energy["Power"].mean(), energy["Power"].max()), text, re.M), text)
    is_true("series: by their kinds", re.search(
        r"^User/loss: 4 rows\n  columns   Loss %.4g, \\x1b\[2J 0$" % loss["Loss"].sum(), text,
        re.M), text)
    is_true("series: what is no table of numbers is said", re.search(
        r"^User/text: not a table of numbers", text, re.M) and "Other Series" not in text, text)
    got = node_of(path)["other_series"]
    is_true("json: other series", got["Energy"]["rows"] == 9 and
            numpy.isclose(got["Energy"]["mean"]["Power"], energy["Power"].mean()) and
            numpy.isclose(got["User"]["loss"]["sum"]["Loss"], loss["Loss"].sum()) and
            got["User"]["text"] == {}, got)


def notes_say_why():
    modes = dict(MODES, perf="off: no counters on this machine", network="off: not asked for",
                 block="exact: but dearly", memory=" ".join(["exact", "at", "sockets"] * 12))
    unknown = {n: NAN for n in EVENTS + ["PerfRunning", "NetTxMB", "BlkReads"]}
    lost = {"Lost Samples": 12, "Counter Failures": 0, "Unowned Requests": 3}
    path = make("8_0_n1.h5", modes=modes, given=unknown, attrs=lost)[0]
    is_true("notes: no modes on the first page", not re.search("^Mode|^Not asked|^Unknown C", show(path), re.M),
            show(path))
    text = show(path, "--all")
    lines = text.splitlines()
    for want in ("Mode exact: sched", "Not asked for: network, files",
                 "Mode block: exact: but dearly", "Mode self: estimated",
                 "Mode perf: off: no counters on this machine", "Unknown Columns: BlkReads"):
        is_equal("notes: " + want, lines.count(want), 1)
    is_true("notes: a long reason is broken between words", re.search(
        r"^Mode memory:(?:\s+exact\s+at\s+sockets){12}\n", text, re.M) and
        max(map(len, lines)) <= 80, text)
    is_equal("notes: losses that are none are not said",
             [len(re.findall("^" + k + ": ", text, re.M)) for k in lost], [1, 0, 1])


def names_are_the_files():
    """Counters have the names a configuration gave them; a file may say anything."""
    global EVENTS
    mine, EVENTS = EVENTS, ["\x1b[31mred", "x" * 200, "%s%n", "Instructions"]
    try:
        given = {e: 1e3 for e in EVENTS}
        path = make("9_0_n1.h5", given=given)[0]
        text = show(path)
        node = node_of(path)
    finally:
        EVENTS = mine
    line = line_of(text, "counters")
    is_true("names: shown, not sent", "\x1b" not in text and line.startswith("\\x1b[31mred 7 k,")
            and "%s%n 7 k" in line and "instructions 7 k" in line, line)
    is_equal("names: the sum of each", [node["tasks"][0]["sum"].get(e) for e in
                                        ("\x1b[31mred", "%s%n")], [7000, 7000])


def list_has_every_family():
    text = sh(JOBPROF, "list").stdout
    page = sh(JOBPROF, "list", "--man").stdout
    families = {c["family"] for cols in SCHEMA.values() for c in cols}
    is_equal("list: series", list(SCHEMA), ["Tasks", "Step", "RunLatency", "BlkLatency", "Ranks", "Commands", "TimeBudget", "RankBudget",
                                           "Culprits", "RankCulprits", "Samples", "RankSamples", "Stacks", "CallTree", "Bursts", "BurstLength", "GapLength"] +
             NODE_SERIES)
    is_equal("list: families that are not told of",
             [f for f in families if not re.search(r"^  %s +\S.*\n +\+ " % f, text, re.M)], [])
    is_equal("list: families without a section of the manual page",
             [f for f in families if ".SS %s\n" % f not in page], [])
    is_true("list: files must be asked for", re.search(
        r"^\.SS files\n(?:.*\n)*?\.I Switched on:\nOnly when asked for", page, re.M), page)
    is_true("list: the page says that counters are configured", "PerfEvents=" in page, page)
    told = re.findall(r"^\.TP\n\.B (\S+)", page.split(".SH ATTRIBUTES")[0], re.M)
    missing = {c["name"] for cols in SCHEMA.values() for c in cols
               if not re.match(r"[BW]\d+$", c["name"])} - set(told)
    is_equal("list: columns the page does not have", missing, set())
    sections = re.split(r"^\.SS ", page.split(".SH ATTRIBUTES")[0], flags=re.M)
    is_equal("list: and a family's section has twice",
             [n for s in sections for n in re.findall(r"^\.TP\n\.B (\S+)", s, re.M)
              if len(re.findall(r"^\.TP\n\.B %s$" % n, s, re.M)) > 1 and n != "B0"], [])
    blk = sh(JOBPROF, "list", "-s", "BlkLatency").stdout
    is_true("list: two histograms in BlkLatency", re.search(r"^  B0\.\.B39 .* block .*2\^k", blk,
            re.M) and re.search(r"^  W0\.\.W39 .* block ", blk, re.M), blk)


if __name__ == "__main__":
    run_tests([show_json_has_every_column, wall_ends_with_the_last_process,
               page_says_what_was_counted, page_says_what_families_counted, page_says_that_none_waited, page_leaves_out_what_is_not,
               page_has_columns_of_no_line, page_names_other_series, notes_say_why,
               names_are_the_files, list_has_every_family])
