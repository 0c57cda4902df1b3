#!/usr/bin/python3
# releases: all
# SPDX-License-Identifier: GPL-2.0-or-later
"""sh5util on files of Slurm 26.05's own plugin: what 26.05's own tool made of them (its README says
how), but for the rows of the table in sh5util(1); and live, what each release's tool does there."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *
from slurm_release import RELEASE
from sh5lib import *

GOLDEN26 = os.path.join(ROOT, "tests", "data", "golden26")
DOUBLES = ("CPUTime", "CPUUtilization", "ReadMB", "WriteMB")


def commands():
    """The name of what came of it, arguments, status of each."""
    with open(os.path.join(GOLDEN26, "stock", "COMMANDS")) as f:
        for line in f:
            args, code = line.split(" -> rc=")
            args = args.split()
            name = args[-1][:-4] if "-o" in args else "L" if "Tasks" in args else "L-energy"
            yield name, args, int(code)


def kept(name, ending):
    """What the stock tool wrote; None: no file."""
    path = os.path.join(GOLDEN26, "stock", name + ending)
    if not os.path.exists(path):
        return None if ending == ".csv" else ""
    with open(path, newline="") as f:
        return f.read()


def series():
    """Rows of the stock tool's own time series, by step and (node, task)."""
    tables = {}
    for r in rows_in(kept("E-ts", ".csv")):
        tables.setdefault(r["Step"], {}).setdefault((r["Node"], r["Series"]), []).append(r)
    return tables


def of_series(wanted):
    """Of the stock tool's time series, header and the rows that are wanted."""
    head, *lines = kept("E-ts", ".csv").splitlines(True)
    return head + "".join(l for l in lines if wanted(l.split(",")))


def whole(text, item):
    """As many fields in each row; nothing where a table has ended, which is 0 there and, if the
    maximum is, its place; and for doubles the times and nodes that are 0 or missing there."""
    head, *rows = list(csv.reader(io.StringIO(text)))
    lines, at = [",".join(head)], {}
    for r in rows:
        tables = series()[r[0]]
        k = at[r[0]] = at.get(r[0], -1) + 1
        cells = r[9:] + [""] * (len(head) - len(r))
        for i, rows_of in enumerate(list(tables.values()) + [[]] * (len(cells) - len(tables))):
            cells[i] = cells[i] if k < len(rows_of) else ""
        if item in DOUBLES:
            r[1] = max(tables.values(), key=len)[k]["ElapsedTime"]
            for i in (2, 4):
                r[i] += " " + next(n for n, task in tables if task == r[i])
        if not float(r[5]):
            r[4] = "%s %s" % next(t[::-1] for t, rows_of in tables.items() if k < len(rows_of))
        lines.append(",".join(r[:9] + cells))
    return "\n".join(lines) + "\n"


def best_times(out, text):
    """The line of each step with the time of its highest sum, which is 0 there for doubles."""
    def line(m):
        rows = [r for r in csv.reader(io.StringIO(text)) if r[0] == m.group(2)]
        return m.group(1) + max(rows, key=lambda r: float(r[6]))[1]
    return re.sub(r"(Step (\w+) .* Time=)\d+", line, out)


def wanted(name, args, code):
    """Status, standard output and file, of ours."""
    out, text = kept(name, ".stdout"), kept(name, ".csv")
    if name == "E-ts-batch":  # nothing there
        text = of_series(lambda r: r[0] == "batch")
    elif name == "E-ts-slash":  # fails there, for one node lacks the task
        code, text = 0, of_series(lambda r: r[2] == "0")
    elif "3.0" in args:  # the batch step too, there
        text = "".join(l for l in text.splitlines(True) if not l.startswith("batch,"))
        out = "".join(l for l in out.splitlines(True) if "Step batch" not in l)
    if "-I" in args:
        text = whole(text, args[args.index("-d") + 1])
        out = best_times(out, text)
    return code, out, text


def results(s, tool, args):
    """Status, standard output and error, file; called below the job file's directory."""
    d = tool(*args, cwd=s.below)
    text, path = None, os.path.join(s.below, args[-1])
    if os.path.exists(path):
        with open(path, newline="") as f:
            text = f.read()
        os.unlink(path)
    return d.code, d.out, d.err, text


def site():
    s = Site()
    s.below = os.path.join(s.work, "below")
    os.mkdir(s.below)
    shutil.copy(os.path.join(GOLDEN26, "job_3.h5"), s.work)
    for n in os.listdir(GOLDEN26 + "/node-step"):
        shutil.copy(os.path.join(GOLDEN26, "node-step", n), s.prof)
    return s


def golden():
    """Each command, on 26.05's job file and on ours of the same node-step files."""
    s = site()
    is_done("merge", s.ours("-j", "3", "-S", "-o", "ours.h5"), 0)
    is_equal("all of 26.05's job file is in ours", same_tree(s.path("job_3.h5"),
                                                             s.path("ours.h5")), [])
    for name, args, code in commands():
        got = results(s, s.ours, args)
        is_equal(name, (got[0], got[1], got[3]), wanted(name, args, code))
        if name != "E-ts-slash":
            is_true(name + ": what is said", set(kept(name, ".stderr").splitlines()) <=
                    set(got[2].splitlines()), got[2])
        got = results(s, s.ours, [a.replace("job_3", "ours") for a in args])
        is_equal(name + " of our job file", (got[0], got[1], got[3]), wanted(name, args, code))


# Live

def golden_is_stock():
    """The data are what the tool of 26.05 writes, and what it and ours merge is the same."""
    need_stock()
    s = site()
    is_done("Slurm's tool merges", s.stock("-j", "3", "-S", "-o", "stock.h5"), 0)
    is_equal("what Slurm's tool merges now is what it merged",
             same_tree(s.path("job_3.h5"), s.path("stock.h5")), [])
    for name, args, code in commands():
        # Before 26.05, -I of several tables fails, and N.batch is N.0.
        if RELEASE < (26, 5) and ("-I" in args or "3.batch" in args):
            continue
        is_equal("Slurm's tool: " + name, results(s, s.stock, args),
                 (code, kept(name, ".stdout"), kept(name, ".stderr"), kept(name, ".csv")))


REASONS = (
    ("", "JobID must not be an empty string"),
    ("0", "JobID can not be zero"),
    ("-1", "JobID can not be a negative number"),
    ("1a", "JobID includes unexpected non-numeric characters"),
    ("1 ", "JobID includes unexpected non-numeric characters"),
    ("1-", "JobID includes unexpected non-numeric characters"),
    ("99999999999", "JobID larger than acceptable range"),
    ("4294967295", "JobID larger than acceptable range"),
    ("1_", "Job Array ID must not be an empty string"),
    ("1_x", "Job Array ID includes unexpected non-numeric characters"),
    ("1_-1", "Job Array ID can not be a negative number"),
    ("1+", "HetJob component must not be an empty string"),
    ("1+99999999999", "HetJob component larger than acceptable range"),
    ("1.", "StepID must not be an empty string"),
    ("1.x", "StepID includes unexpected non-numeric characters"),
    ("1.0x", "StepID includes unexpected non-numeric characters"),
    ("1.-1", "StepID can not be a negative number"),
    ("1.99999999999", "StepID larger than acceptable range"),
    ("s1234", "SLUID is invalid"),
    ("s0123456789ABU", "SLUID is invalid"),
)


def refused_jobs():
    """The words of 26.05, letter by letter; earlier releases take what is before the first other
    character for the job."""
    s = Site()
    said = [("--jobs=" + j, "sh5util: error: Failed to parse job ID \"%s\": %s\n" % (j, why))
            for j, why in REASONS]
    said += [("--jobs=" + j, "sh5util: error: %s IDs not supported, use regular job ID instead\n" %
              kind) for j, kind in (("1_0", "Job array"), ("1_2.0", "Job array"), ("1+0", "Het job"),
                                    ("1+2.0", "Het job"))]
    for arg, text in said:
        is_done(arg, s.ours(arg), 255, text)
        if STOCK and RELEASE >= (26, 5):
            d = s.stock(arg)
            is_equal(arg + ", Slurm's tool", (d.code, d.err), (255, text))


def no_numbers(s):
    """A job file of job 5 with a column that has no number."""
    node_file(os.path.join(s.prof, "5_0_n.h5"), "n",
              {"Tasks/0": rows_of([0, 1], [("CPUTime", F)], [[numpy.nan, numpy.nan]])})
    is_done("merge of a column without a number", s.ours("-j", "5", "-S"), 0)


I_ITEM = ("-I", "-j", "3", "-s", "Tasks", "-d")
EMPTY = "Step,Node,ElapsedTime\n"
HEADER = "Step,ElaspedTime,MinNode,MinValue,MaxNode,MaxValue,Sum,Avg,NumNodes"
MALFORMED = (237, "Malformed file")
DEVIATIONS = (
    # arguments; status and a text of output, messages or file: of 22.05, 25.11, 26.05 and ours
    (("-h",), (255, "Usage"), (255, "Usage"), (0, "Usage"), (0, "Usage")),
    (("-V",), (255, "slurm"), (255, "slurm 25.11"), (0, "slurm 26.05"), (0, "jobprof ")),
    (("-E", "-j", "3", "-s", "Tasks", "-u", "nobody"), (0, "Step,"), (255, "No such user"),
     (255, "No such user"), (0, "Step,")),
    (("-E", "-j", "3", "-s", "Task"), (237, "Series Task not found"),
     (237, "Series Task not found"), (237, "Series Task not found"), (0, "Step,Node,Series")),
    (("-E", "-j", "3", "-s", "Taskfoo"),) + ((237, "Series Taskfoo not found"),) * 4,
    (("-E", "-j", "3", "-s", "foo"),) + ((255, "Bad value for --series=\"foo\""),) * 4,
    (("-E", "-j", "3.9", "-s", "Tasks"), (0, EMPTY), (0, EMPTY), (0, EMPTY), (1, "no step 9")),
    (("-E", "-j", "3", "-s", "Tasks", "-N", "sn9"), (0, EMPTY), (0, EMPTY), (0, EMPTY),
     (1, "no node sn9")),
    (("-E", "-j", "3.batch", "-s", "Tasks"), (0, "\n0,sn1"), (0, "\n0,sn1"), (0, EMPTY),
     (0, "\nbatch,sn1")),
    (("-E", "-j", "3,4", "-s", "Tasks"), (0, "\n0,sn1"), (0, "\n0,sn1"),
     (255, "Failed to parse job ID \"3,4\""), (255, "Failed to open ./job_4.h5")),
    (I_ITEM + ("RSS",), MALFORMED, MALFORMED, (0, "\n1,2,0 sn1,1640,0 sn1,1640,1640,1640.000000,1,"
     "1640\n"), (0, "\n1,2,0 sn1,1640,0 sn1,1640,1640,1640.000000,1,1640,,,\n")),
    (I_ITEM + ("CPUTime",), MALFORMED, MALFORMED, (0, "\n0,0,0,0.070000,1,0.100000,0.330000,"),
     (0, "\n0,1,0 sn1,0.070000,1 sn1,0.100000,0.330000,")),
    (I_ITEM + ("Bogus",), (237, HEADER), (237, HEADER), (237, HEADER), (237, "Item Bogus not")),
    (("-E", "-j", "5", "-s", "Tasks"), (0, "nan,0.000000,nan"), (0, "nan,0.000000,nan"),
     (0, "nan,0.000000,nan"), (0, "nan,nan,nan")),
    (("-j", "4", "-S"), (0, "No node-step files found for jobid 4"),
     (0, "No node-step files found for jobid 4"), (0, "No node-step files found for jobid 4"),
     (1, "No node-step files found for jobid 4")),
    (("-j", "3", "-S", "-o", "none/x.h5"),) + ((255, "Failed create HDF5 file"),) * 3 +
    ((1, "none"),),
)


def deviations():
    """Status and text of each row, of the stock tool of this release and ours."""
    releases = ((22, 5), (25, 11), (26, 5))
    s = site()
    no_numbers(s)
    for args, *does in DEVIATIONS:
        for who, tool, (code, text) in (("ours", s.ours, does[3]),
                                        ("Slurm's", s.stock, dict(zip(releases, does)).get(RELEASE)
                                         or (None, None))):
            if code is None or (tool == s.stock and not STOCK):
                continue
            before = set(s.left())
            d = tool(*args)
            new = sorted(set(s.left()) - before)
            said = d.out + d.err + "".join(s.read(n) for n in new if n.endswith(".csv"))
            is_true("%s: %s" % (who, " ".join(args)), d.code == code and text in said, (d, said))
            if who == "ours" and code:
                is_equal("ours: %s leaves no file but a whole one" % " ".join(args),
                         [n for n in new if n != "extract_3.csv" or "3,4" not in args], [])
            for n in new:
                os.unlink(s.path(n))


def device_kept():
    """What -o names and is no file is never removed; Slurm's tool removes what is of size 0."""
    if os.geteuid():
        raise Skipped("needs root")
    s = site()
    for who, tool, stays in (("ours", s.ours, True), ("Slurm's", s.stock if STOCK else None, False)):
        if not tool:
            continue
        os.mknod(s.path("null"), 0o20666, os.makedev(1, 3))
        tool("-E", "-j", "3", "-s", "Tasks", "-o", "null")
        is_equal("-o of a device: it stays, %s" % who, os.path.exists(s.path("null")), stays)
        if os.path.lexists(s.path("null")):
            os.unlink(s.path("null"))


SLUID = "s0FVXKQ3R20004"


def by_sluid():
    """Files of jobprofd say their SLUID: that of a job's run names it in every mode."""
    s = Site()
    for job, sluid in ((3, SLUID), (4, "s0FVXKQ3R20005")):
        path = os.path.join(s.prof, "%d_0_n.h5" % job)
        node_file(path, "n", {"Energy": rows_of([0, 1], [("Power", U)], [[job, job]])})
        with h5py.File(path, "a") as f:
            attribute(f["n"], "SLUID", sluid)
    is_done("-j SLUID: merge", s.ours("-j", SLUID), 0)
    is_equal("-j SLUID: files", (s.files(), s.left()), (["4_0_n.h5"], ["job_3.h5"]))
    is_done("-j SLUID: the other one", s.ours("-j", "s0fvxkq3r20005.0"), 0)
    is_done("-j SLUID.0: -E", s.ours("-E", "-s", "Energy", "-j", SLUID.lower() + ".0"), 0)
    is_equal("-j SLUID.0: its file", rows_in(s.read("extract_3.csv"))[0]["Max_Power"], "3")
    is_done("-j SLUID: -L", s.ours("-L", "-s", "Energy", "-j", SLUID), 0, "Power")
    is_done("-j of an unknown SLUID", s.ours("-j", "s0FVXKQ3R20006"), 255,
            "s0FVXKQ3R20006: no file says that it is of it")


def sluid_that_slurm_knows():
    """Files of Slurm's plugin do not say it: squeue does."""
    s = site()
    path = os.path.join(s.dir, "squeue")
    with open(path, "w") as f:
        f.write("#!/bin/sh\n"
                "case \" $* \" in *\" %s \"*) echo '3|COMPLETED|1795447819' ;; esac\n" % SLUID)
    os.chmod(path, 0o755)
    s.env["PATH"] = s.dir + ":" + s.env["PATH"]
    merged = s.ours("-S", "-j", SLUID, "-o", "s.h5")
    is_done("-j SLUID that squeue knows: merge", merged, 0)
    is_true("-j SLUID that squeue knows: no word of the way there",
            "no node-step files" not in merged.err, merged.err)
    is_done("-j SLUID that squeue knows: -E", s.ours("-E", "-s", "Tasks", "-j", SLUID), 0)
    is_true("-j SLUID that squeue knows: the rows", s.read("extract_3.csv") ==
            kept("E-totals", ".csv"), "differ")


if __name__ == "__main__":
    run_tests((golden, golden_is_stock, refused_jobs, deviations, device_kept, by_sluid,
               sluid_that_slurm_knows))
