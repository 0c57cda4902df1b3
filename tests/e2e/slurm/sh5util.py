#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""sh5util, our program under Slurm's name: against the stock tool in both directions, against the
texts of real Slurm, and where it does otherwise on purpose (the table in sh5util(1))."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
import hostilelib
from lib import *
from sh5lib import *

SERIES = ("Tasks", "Energy", "Filesystem", "Network")
JOB7 = ("7_0_p1.h5", "7_0_p2.h5", "7_1_p1.h5", "7_batch_p1.h5")
JOB3 = ("3_0_n1.h5", "3_0_n2.h5", "3_1_n1.h5", "3_2_n1.h5", "3_2_n2.h5", "3_batch_n1.h5")


def golden():
    """What Slurm 22.05 made of the same node-step files, byte for byte."""
    s = Site()
    s.golden(*JOB7)
    s.golden(*("real/" + n for n in JOB3))
    is_done("golden: merge", s.ours("-j", "7,3", "--savefiles"), 0,
            "Merging node-step files into ./job_7.h5", "Merging node-step files into ./job_3.h5")
    for name, args in (
            ("ts.csv", ("-j", "7", "-s", "Tasks", "-l", "Node:TimeSeries")),
            ("tot.csv", ("-j", "7", "-s", "Tasks", "-l", "Node:Totals")),
            ("net.csv", ("-j", "7", "-s", "Network", "-l", "Node:TimeSeries")),
            ("nett.csv", ("-j", "7", "-s", "Network")),
            ("real/E-3.csv", ("-j", "3", "-s", "Tasks", "-l", "node:timeseries")),
            ("real/E-n2.csv", ("-j", "3", "-s", "Tasks", "-l", "Node:TimeSeries", "-N", "n2")),
            ("real/E-nolevel.csv", ("-j", "3", "-s", "Tasks"))):
        job = args[1]
        d = s.ours("-E", *args)
        is_true("golden: %s" % name, d.code == 0 and
                s.read("extract_%s.csv" % job) == golden_text(name), d)
        merged = os.path.join(GOLDEN, "job_7.h5" if job == "7" else "real/job_3.h5")
        s.ours("-E", *args, "-i", merged, "-o", "x.csv")
        is_true("golden: %s of the stock tool's job file" % name,
                s.read("x.csv") == golden_text(name), "differs")
    wanted = [l for l in golden_text("real/E-3.0.csv").splitlines(True)
              if not l.startswith("batch,")]
    s.ours("-E", "-j", "3.0", "-s", "Tasks", "-l", "Node:TimeSeries")
    is_equal("golden: -j 3.0, without the batch step that is not meant", s.read("extract_3.csv"),
             "".join(wanted))


# Against the stock tool, live

def merged_by(s, tool, name):
    """A job file of job 9 of its own name, so that both tools' can lie side by side."""
    tool("-j", "9", "-S", "-o", name)
    return name


def live():
    """Both tools on the job files of both, each series, level and option."""
    need_stock()
    s = Site()
    make_job(s, 9)
    files = [merged_by(s, s.stock, "stock.h5"), merged_by(s, s.ours, "ours.h5")]
    for f in files:
        for series in SERIES:
            for level in ((), ("-l", "Node:Totals"), ("-l", "Node:TimeSeries"),
                          ("--level=NODE:TIMESERIES",)):
                in_both(s, "-E -s %s %s on %s" % (series, " ".join(level), f), "-E", "-j", "9", "-i",
                        f, "-s", series, *level, out="extract_9.csv")
            in_both(s, "-L -s %s on %s" % (series, f), "-L", "-j", "9", "-i", f, "-s", series)
            in_both(s, "-E -s %s -N on %s" % (series, f), "--extract", "--jobs=9", "--input", f,
                    "--series", series, "--node=n10", "-j", "9.1", "-o", "o.csv", out="o.csv")
            in_both(s, "-E -s %s -j 9.2 on %s" % (series, f), "-E", "-j", "9.2", "-i", f, "-s",
                    series, "-N", "*", out="extract_9.csv")
        for column, series in (("RSS", "Tasks"), ("Power", "Energy"), ("reads", "Filesystem"),
                               ("PacketsOut", "Network")):
            in_both(s, "-I -s %s -d %s, one table, on %s" % (series, column, f), "-I", "-j", "9.2",
                    "-i", f, "-s", series, "-d", column, out="%s_%s_9.csv" % (series, column))
        in_both(s, "-E -v on %s" % f, "-E", "-v", "-v", "-j", "9", "-i", f, "-s", "Network",
                out="extract_9.csv")
        in_both(s, "-L --verbose on %s" % f, "-L", "--verbose", "-j", "9", "-i", f, "-s", "Tasks")
        in_both(s, "-I -o on %s" % f, "--item-extract", "-j", "9.2", "-i", f, "-s", "Network",
                "--data", "PacketsIn", "--output=o.csv", out="o.csv")


def merging():
    """-j, -p, -u, -o, -S and what is left of the node-step files, as with the stock tool."""
    need_stock()
    got = []
    for which in ("stock", "ours"):
        s = Site()
        tool = getattr(s, which)
        make_job(s, 9)
        s.golden(*JOB7)
        r = [tool("-S", "-j", "9").code, s.left(), s.files()]
        same = tool("-j", "7", "-o", "seven.h5")
        r += [same.code, s.left(), s.files()]
        other = os.path.join(s.dir, "elsewhere")
        os.rename(os.path.dirname(s.prof), other)
        r += [tool("-j", "9", "-p", other, "-u", USER, "-o", "nine.h5").code, s.left(),
              os.listdir(os.path.join(other, USER))]
        got.append((r, s))
    is_equal("merge: statuses and files", got[1][0], got[0][0])
    for name in ("job_9.h5", "seven.h5", "nine.h5"):
        is_equal("merge: all of the stock tool's %s is in ours" % name,
                 same_tree(got[0][1].path(name), got[1][1].path(name)), [])
    s = got[1][1]
    with h5py.File(s.path("nine.h5")) as f:
        is_equal("merge: each step has its number of nodes",
                 {k: list(v.attrs["Number of Nodes"]) for k, v in f["Steps"].items()},
                 {"1": [3], "2": [1], "batch": [1]})


MESSAGES = (
    # status and the text scripts look for, in ours and in the stock tool alike
    (("-s", "foo"), "Bad value for --series=\"foo\""),
    ((), "JobID must be specified."),
    (("-E", "-s", "Tasks"), "JobID must be specified."),
    (("-j", "7", "-E"), "Must specify series option --series"),
    (("-j", "7", "-L"), "Must specify series option --series"),
    (("-j", "7", "-I", "-s", "Network"), "Must specify data option --data"),
    (("-j", "7", "-I", "-d", "PacketsIn"), "Must specify series option --series"),
    (("-j", "7", "-E", "-I", "-s", "Network"), "Must specify data option --data"),
    (("-j", "7", "-L", "-s", "Energy"), "Series Energy not found"),
    (("-j", "7", "-E", "-s", "Energy"), "Series Energy not found"),
    (("-j", "7", "-E", "-s", "Energy"), "Output file generated is empty, removing it: "
     "./extract_7.csv"),
    (("-j", "7", "-I", "-s", "Network", "-d", "foo"), "Item foo not found in series "),
    (("-j", "8", "-E", "-s", "Tasks"), "Failed to open ./job_8.h5"),
    (("-j", "8", "-L", "-s", "Tasks"), "Failed to open ./job_8.h5"),
    (("-j", "7", "-E", "-s", "Tasks", "-i", "/etc/passwd"), "Failed to open /etc/passwd"),
    (("-j", "7", "-E", "-s", "Tasks", "-o", "/nonexistent/x"),
     "Failed to create output file /nonexistent/x -- No such file or directory"),
    (("-j", "7", "-u", "nobody-by-that-name"), "No such user --uid=\"nobody-by-that-name\""),
    (("-j", "7", "-p", "/nonexistent"), "Cannot open /nonexistent/%s job profile directory: "
     "No such file or directory" % USER),
    (("-j", "7", "-p", "/nonexistent"), "Merging node-step files into ./job_7.h5"),
    (("-j", "7", "-E", "-s", "Tasks"), "Extracting job data from ./job_7.h5 into ./extract_7.csv"),
    (("-j", "7", "-L", "-s", "Tasks"), "Listing items from ./job_7.h5"),
    (("-j", "7.1", "-I", "-s", "Network", "-d", "PacketsIn"), "Extracting 'PacketsIn' from "
     "'Network' data from ./job_7.h5 into ./Network_PacketsIn_7.csv"),
    (("-j",), "option requires an argument -- 'j'"),
    (("--jobs",), "option '--jobs' requires an argument"),
    (("--foo",), "unrecognized option '--foo'"),
)


def messages():
    """What scripts look for: texts and exit statuses are the stock tool's."""
    need_stock()
    s = Site()
    shutil.copy(os.path.join(GOLDEN, "job_7.h5"), s.work)
    for args, text in MESSAGES:
        was, now = s.stock(*args), s.ours(*args)
        is_true("message of %s: %s" % (" ".join(args) or "no option", text.split(" ")[0]),
                text in was.err and text in now.err and was.code == now.code, (was, now))


def help_and_version():
    """As of Slurm 26.05 they exit with 0; the stock tool here still says 255."""
    s = Site(conf=False)
    for o in ("-h", "--help", "--usage", "-V", "--version"):
        d = s.ours(o)
        is_true("%s: on standard output, status 0" % o, d.code == 0 and d.out and not d.err, d)
    text = s.ours("--help").out
    words = {w.strip(",").split("=")[0] for w in text.split() if w.startswith("--")}
    is_equal("--help names every option", words,
             {"--extract", "--item-extract", "--list", "--jobs", "--input", "--output",
              "--profiledir", "--user", "--savefiles", "--node", "--level", "--series", "--data",
              "--verbose", "--version", "--help", "--usage"})
    is_true("--version says who it is", s.ours("-V").out.startswith("jobprof "), "it does not")


# Deviations: one test for each row of the table in sh5util(1)

def job7():
    s = Site()
    shutil.copy(os.path.join(GOLDEN, "job_7.h5"), s.work)
    return s


def deviation_no_configuration():
    s = Site(conf=False)
    shutil.copy(os.path.join(GOLDEN, "job_7.h5"), s.work)
    is_done("no slurm.conf: extraction", s.ours("-E", "-j", "7", "-s", "Tasks"), 0)
    s.golden(*JOB7)
    is_done("no slurm.conf: merge with -p", s.ours("-j", "7", "-o", "m.h5", "-S", "-p",
                                                   os.path.dirname(s.prof)), 0)
    is_done("no slurm.conf: merge without -p", s.ours("-j", "7"), 255,
            "Cannot read/parse acct_gather.conf")


def deviation_series_names():
    s = job7()
    for name in ("Task", "tasks", "TASKS"):
        s.ours("-E", "-j", "7", "-s", name)
        is_true("-s %s is Tasks" % name, s.read("extract_7.csv") == golden_text("tot.csv"),
                "differs")
    head, *rows = golden_text("tot.csv").splitlines(True)
    for name in ("Task_3", "Tasks/3"):
        s.ours("-E", "-j", "7", "-s", name)
        is_equal("-s %s is that task, on the nodes that have it" % name, s.read("extract_7.csv"),
                 head + "".join(r for r in rows if r.split(",")[2] == "3"))
    s.ours("-I", "-j", "7.0", "-s", "Tasks/3", "-d", "RSS")
    is_equal("-I of one task: name of the file", s.left()[0], "Tasks_3_RSS_7.csv")


def deviation_items_of_several_tables():
    """Aligned by time, integers and doubles: each table's column is its numbers."""
    s = job7()
    for column in ("RSS", "CPUUtilization"):
        d = s.ours("-I", "-j", "7.0", "-s", "Tasks", "-d", column)
        text = s.read("Tasks_%s_7.csv" % column)
        head = text.splitlines()[0]
        is_equal("-I %s: header" % column, head,
                 "Step,ElaspedTime,MinNode,MinValue,MaxNode,MaxValue,Sum,Avg,NumNodes,p1,p1,p2,p2")
        rows = list(csv.reader(io.StringIO(text)))[1:]
        with h5py.File(s.path("job_7.h5")) as f:
            wanted = [f["Steps/0/Nodes/%s/Tasks/%d" % (n, t)][column]
                      for n, t in (("p1", 0), ("p1", 1), ("p2", 2), ("p2", 3))]
        for i, w in enumerate(wanted):
            got = [float(r[9 + i]) for r in rows if r[9 + i] != ""]
            is_true("-I %s: column %d" % (column, i), len(got) == len(w) and
                    numpy.allclose(got, w, atol=1e-6), (got, list(w)))
        is_true("-I %s: sum, average, number" % column, all(
            approx(float(r[6]), sum(float(c) for c in r[9:] if c), 0, 1e-5) and
            approx(float(r[7]), float(r[6]) / int(r[8]), 0, 1e-5) and
            int(r[8]) == sum(c != "" for c in r[9:]) for r in rows), rows[:2])
        is_true("-I %s: the highest sum is said" % column, "Step 0 Maximum accumulated %s Value ("
                % column in d.out and d.code == 0, d)


def deviation_item_doubles():
    s = job7()
    s.ours("-I", "-j", "7.0", "-N", "p2", "-s", "Network", "-d", "InMB")
    rows = rows_in(s.read("Network_InMB_7.csv"))
    with h5py.File(s.path("job_7.h5")) as f:
        t = f["Steps/0/Nodes/p2/Network"][()]
    is_equal("-I of doubles: numbers and times",
             [(r["MaxValue"], r["ElaspedTime"], r["MaxNode"]) for r in rows],
             [("%f" % v, str(e), "p2") for v, e in zip(t["InMB"], t["ElapsedTime"])])


def deviation_step_filter():
    s = Site()
    s.golden(*JOB7)
    is_done("-j 7.batch: merge", s.ours("-j", "7.batch"), 0)
    is_equal("-j 7.batch: the other steps' files stay", s.files(), list(JOB7[:3]))
    with h5py.File(s.path("job_7.h5")) as f:
        is_equal("-j 7.batch: the job file has that step", list(f["Steps"]), ["batch"])
    s = job7()
    head, *rows = golden_text("tot.csv").splitlines(True)
    for spec, steps in (("7.0", {"0"}), ("7.batch", {"batch"}), ("7.1,7.batch", {"1", "batch"})):
        s.ours("-E", "-j", spec, "-s", "Tasks")
        is_equal("-j %s: those steps and no other" % spec, s.read("extract_7.csv"),
                 head + "".join(r for r in rows if r.split(",")[0] in steps))
    with h5py.File(s.path("job_7.h5"), "a") as f:
        f.move("Steps/1", "Steps/-4")
        f.move("Steps/0", "Steps/-6")
    for name, group in (("extern", "-4"), ("interactive", "-6")):
        s.ours("-E", "-j", "7." + name, "-s", "Tasks")
        is_equal("-j 7.%s" % name, {r["Step"] for r in rows_in(s.read("extract_7.csv"))}, {group})


def deviation_job_lists():
    s = Site()
    s.golden(*JOB7)
    s.golden(*("real/" + n for n in JOB3))
    s.ours("-j", "7,3", "-S")
    is_equal("-j 7,3: a job file each", s.left(), ["job_3.h5", "job_7.h5"])
    is_done("-j 7,3: extraction", s.ours("-E", "-j", "7,3", "-s", "Tasks"), 0)
    is_true("-j 7,3: a CSV each", s.read("extract_7.csv") == golden_text("tot.csv") and
            s.read("extract_3.csv") == golden_text("real/E-nolevel.csv"), s.left())
    is_done("-j 7,3 -o: which one would it be", s.ours("-j", "7,3", "-S", "-o", "x"), 255)
    s.clean()
    hostilelib.CASES["chunk B-tree that holds itself"](os.path.join(s.prof, "3_0_n1.h5"))
    d = s.ours("-j", "7,3", "-S")
    is_true("-j 7,3: a file that crashes the library leaves the other job alone", d.code == 1
            and d.err.count("Merging node-step files into ./job_7.h5") == 1
            and d.err.count("job_7.h5: 4 node-step files merged") == 1 and "3_0_n1.h5: damaged" in d.err
            and s.left() == ["job_3.h5", "job_7.h5"], d)


def deviation_node_lacks_series():
    s = job7()
    with h5py.File(s.path("job_7.h5"), "a") as f:
        del f["Steps/0/Nodes/p1/Network"]
    d = s.ours("-E", "-j", "7", "-s", "Network")
    is_done("a node lacks the series: it is named", d, 0, "p1")
    is_equal("a node lacks the series: the rest", s.read("extract_7.csv"),
             "".join(l for l in golden_text("nett.csv").splitlines(True)
                     if not l.startswith("0,p1")))
    is_done("a node lacks the series: -I", s.ours("-I", "-j", "7", "-s", "Network", "-d", "InMB"),
            0, "p1")
    is_done("a node lacks the series: -L", s.ours("-L", "-j", "7", "-s", "Network"), 0, "OutMB")


def deviation_nothing_found():
    s = job7()
    is_done("no node-step files", s.ours("-j", "99"), 1, "No node-step files found for jobid 99")
    for mode in (("-E",), ("-L",), ("-I", "-d", "RSS")):
        is_done("%s -N p9: status" % mode[0], s.ours("-j", "7", "-s", "Tasks", "-N", "p9", *mode), 1,
                "p9")
        is_done("%s -j 7.5: status" % mode[0], s.ours("-j", "7.5", "-s", "Tasks", *mode), 1, "5")
    is_equal("nothing found: no file", s.left(), ["job_7.h5"])


def deviation_negative_maximum():
    s = Site()
    node_file(os.path.join(s.prof, "5_0_n.h5"), "n",
              {"Energy": rows_of([0, 1], [("Power", F)], [[-5.5, -2.5]])})
    s.ours("-j", "5")
    s.ours("-E", "-j", "5", "-s", "Energy")
    is_equal("negative maximum", rows_in(s.read("extract_5.csv"))[0]["Max_Power"], "-2.500000")


def deviation_level():
    s = job7()
    is_done("-l of no level", s.ours("-E", "-j", "7", "-s", "Tasks", "-l", "Node:Total"), 255,
            "Bad value for --level=\"Node:Total\"")
    is_equal("-l of no level: nothing is written", s.left(), ["job_7.h5"])


def deviation_hosts():
    s = job7()
    s.ours("-E", "-j", "7", "-s", "Network", "-N", "p[1-2]")
    is_true("-N p[1-2]", s.read("extract_7.csv") == golden_text("nett.csv"), "differs")


def deviation_standard_output():
    s = job7()
    d = s.ours("-E", "-j", "7", "-s", "Network", "-o", "-")
    is_true("-o - is standard output", d.out == golden_text("nett.csv"), d)
    is_equal("-o -: no file", s.left(), ["job_7.h5"])


def deviation_output_kept():
    """An output that is there survives a call that has nothing to write."""
    s = job7()
    with open(s.path("extract_7.csv"), "w") as f:
        f.write("mine\n")
    s.ours("-E", "-j", "7", "-s", "Energy")
    is_equal("an output of before stays when there is nothing", s.read("extract_7.csv"), "mine\n")


def deviation_merge_again():
    """The job file is extended; the stock tool begins it anew and loses what was in it."""
    s = Site()
    s.golden("7_0_p1.h5")
    s.ours("-j", "7")
    s.golden("7_0_p2.h5")
    is_done("merge again", s.ours("-j", "7"), 0)
    with h5py.File(s.path("job_7.h5")) as f:
        is_equal("merge again: both nodes", sorted(f["Steps/0/Nodes"]), ["p1", "p2"])


def deviation_other_words():
    s = job7()
    is_done("a word that is no option: a warning, and it is done",
            s.ours("-L", "-j", "7", "-s", "Network", "word"), 0, "\"word\" is no option", "OutMB")


def array_and_het():
    """Where files say of which array or heterogeneous job they are, its ids work."""
    s = Site()
    rows = rows_of([0, 1], [("Power", U)], [[1, 2]])
    for job, attrs in ((5079, {"Array Job Id": 5077, "Array Task Id": 2}),
                       (6001, {"Het Job Id": 6000, "Het Job Offset": 1})):
        path = os.path.join(s.prof, "%d_0_n.h5" % job)
        node_file(path, "n", {"Energy": rows})
        with h5py.File(path, "a") as f:
            for k, v in attrs.items():
                attribute(f["n"], k, v)
    is_done("-j A_T and H+O: merge", s.ours("-j", "5077_2,6000+1"), 0)
    is_equal("-j A_T and H+O: files", s.left(), ["job_5079.h5", "job_6001.h5"])
    is_done("-j A_T and H+O: extraction", s.ours("-E", "-s", "Energy", "-j", "5077_2,6000+1"), 0)
    is_equal("-j A_T and H+O: CSVs", s.left()[:2], ["extract_5079.csv", "extract_6001.csv"])


if __name__ == "__main__":
    run_tests((golden, live, merging, messages, help_and_version, deviation_no_configuration,
               deviation_series_names, deviation_items_of_several_tables, deviation_item_doubles,
               deviation_step_filter, deviation_job_lists, deviation_node_lacks_series,
               deviation_nothing_found, deviation_negative_maximum, deviation_level,
               deviation_hosts, deviation_standard_output, deviation_output_kept,
               deviation_merge_again, deviation_other_words, array_and_het))
