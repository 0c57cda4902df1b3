#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Values that cannot be, in the files of Slurm's own plugin: no verb believes one, and each says once how many
rows there are. What is unusual, and true, stays."""

import csv
import getpass
import io
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *
from h5make import *

JOB_26 = os.path.join(ROOT, "tests/data/golden26/job_3.h5")
TASK = COLUMNS["Tasks"][:3] + [("GPUMemMB", U), ("GPUUtilization", F)] + COLUMNS["Tasks"][3:]
NO_VAL, NO_VAL64, INFINITE64 = 0xfffffffe, (1 << 64) - 2, (1 << 64) - 1
ROWS = 40


def jobprof(*args, cwd=None):
    p = subprocess.run([JOBPROF] + [str(a) for a in args], capture_output=True, text=True, env=plain_env(), cwd=cwd, timeout=60)
    return p.returncode, p.stdout, p.stderr


def said(err):
    """The rows that the one line names, and its columns; None: it says nothing."""
    lines = [l for l in err.splitlines() if "values that cannot be" in l]
    if len(lines) > 1:
        raise Failed("said more than once: " + err)
    found = lines and re.search(r": (\d+) rows? of Slurm's own tables with values that cannot be \(([^)]*)\)", lines[0])
    return (int(found.group(1)), found.group(2).split(", ")) if found else None


def healthy(n=ROWS, interval=2):
    """0.9 s of CPU time a second, of one CPU."""
    values = {"CPUFrequency": 2400000, "CPUTime": 0.9 * interval, "CPUUtilization": 90, "GPUMemMB": 0, "GPUUtilization": 0, "RSS": 100 << 10,
              "VMSize": 300 << 10, "Pages": 7, "ReadMB": 1.5, "WriteMB": 0.25}
    return rows_of(numpy.arange(n) * interval, TASK, [numpy.full(n, values[name]) for name, _ in TASK])


def made(tables, **more):
    path = os.path.join(tmpdir(), "7_0_n1.h5")
    node_file(path, "n1", tables, **more)
    return path


def timeseries(path, series, *args):
    status, out, err = jobprof("extract", "-i", path, "-s", series, "-l", "timeseries", "-o", "-", *args)
    if status:
        raise Failed("extract: %d %s" % (status, err))
    return list(csv.DictReader(io.StringIO(out))), err


# A column, what cannot be there, and what is rare and can.
CASES = (("Tasks/0", "CPUTime", (-0.5, 1e12, float("inf"), 1e-270), (0.0, 2.5)),
         ("Tasks/0", "CPUUtilization", (-1.0, 1.6e15), (0.0, 160.0)),
         ("Tasks/0", "GPUMemMB", (5528901134868185088, 94228032657072, NO_VAL, NO_VAL64), (0, 700000)),
         ("Tasks/0", "GPUUtilization", (2.9e-274, -5.0, 1e9), (0.0, 800.0)),
         ("Tasks/0", "CPUFrequency", (NO_VAL, INFINITE64), (1, 5700000)),
         ("Tasks/0", "RSS", (NO_VAL64, 1 << 50), (1, 24 << 30)),
         ("Tasks/0", "VMSize", (INFINITE64, 1 << 60), (1, 1 << 40)),
         ("Tasks/0", "Pages", (NO_VAL64,), (0, 1 << 40)),
         ("Tasks/0", "ReadMB", (-0.001, 1.8e13), (0.0, 90000.0)),
         ("Tasks/0", "WriteMB", (-7.0, 1e300), (0.0, 90000.0)),
         ("Energy", "Power", (NO_VAL, 4 * 10 ** 8), (0, 12000)),
         ("Energy", "NodePower", (NO_VAL, NO_VAL64), (0, 12000)),
         ("Energy", "CurrPower", (NO_VAL,), (0, 400)),
         ("Network", "PacketsIn", (NO_VAL64,), (0, 10 ** 9)),
         ("Network", "OutMB", (-1.0,), (0.0, 90000.0)))


def columns_one_by_one():
    for name, column, wrong, rare in CASES:
        series = name.split("/")[0]
        if series == "Tasks":
            rows = healthy()
        else:
            kind = F if isinstance(wrong[0], float) else U
            rows = rows_of(numpy.arange(ROWS) * 2, [(column, kind)], [numpy.full(ROWS, 100)])
        for i, v in enumerate(wrong):
            rows[column][3 + 2 * i] = v
        for i, v in enumerate(rare):
            rows[column][20 + 3 * i] = v
        got, err = timeseries(made({name: rows}), series)
        is_equal("%s of %s: what cannot be has no value" % (column, series),
                 [i for i, r in enumerate(got) if r[column] == ""], [3 + 2 * i for i in range(len(wrong))])
        kept = [i for i, r in enumerate(got) if r[column]]
        is_true("%s of %s: what can be stays" % (column, series), numpy.allclose([float(got[i][column]) for i in kept], rows[column][kept].astype(float)),
                [got[i][column] for i in kept])
        is_equal("%s of %s: said once" % (column, series), said(err), (len(wrong), [column]))
        stock = timeseries(made({name: rows}), series, "--stock")
        is_true("%s of %s: as stored with --stock, and nothing said" % (column, series),
                len(stock[0]) == ROWS and all(r[column] for r in stock[0]) and said(stock[1]) is None, stock[1])


def every_verb():
    """An unmodified job of 26.05: memory that Slurm never set, in each step."""
    wanted, most = 0, 0
    with h5py.File(JOB_26) as f:
        for step in f["Steps"].values():
            for node in step["Nodes"].values():
                for t in node["Tasks"].values():
                    gpu, use = t["GPUMemMB"], t["GPUUtilization"]
                    wanted += int(((gpu > 1 << 24) | ((use > 0) & (use < 1e-9))).sum())
                    most = max(most, gpu[gpu <= 1 << 24].max())
    is_true("26.05: it has such rows", wanted > 10, wanted)
    for args in (("extract", "-s", "Tasks", "-o", "-"), ("extract", "-s", "Tasks", "-l", "timeseries", "-o", "-"), ("items", "-s", "Tasks", "-d", "GPUMemMB"),
                 ("plot", "-s", "Tasks", "-d", "GPUMemMB"), ("show",), ("show", "--all"), ("report",), ("reduce", "-s", "Tasks"), ("reduce", "--json", "-s", "Tasks")):
        status, out, err = jobprof(*args, JOB_26)
        is_equal("26.05: %s" % " ".join(args), (status, said(err) and said(err)[0]), (0, wanted))
        is_true("26.05: %s: no number beyond what can be" % " ".join(args), not re.search(r"(?<![.\d])\d{12,}|e\+1[2-9]", re.sub(r"\b1795\d{15}\b|0x\w+", "", out)), out[:300])
    got = list(csv.DictReader(io.StringIO(jobprof("extract", "-s", "Tasks", "-o", "-", JOB_26)[1])))
    is_equal("26.05: the highest of what is known", max(float(r["Max_GPUMemMB"]) for r in got if r["Max_GPUMemMB"]), most)
    for verb in ("list",), ("extract", "--stock", "-s", "Tasks", "-o", "-"):
        is_equal("26.05: %s says nothing" % verb[0], said(jobprof(*verb, JOB_26)[2]), None)


def merging_keeps_what_is_stored():
    user = getpass.getuser()
    d = os.path.join(tmpdir(), user)
    os.mkdir(d)
    src = os.path.join(ROOT, "tests/data/golden26/node-step")
    for name in os.listdir(src):
        shutil.copy(os.path.join(src, name), d)
    out = os.path.join(d, "out.h5")
    status, _, err = jobprof("merge", "-S", "-j", "3", "-p", os.path.dirname(d), "-o", out)
    is_true("merge: it says how many", status == 0 and said(err)[0] > 10, (status, err))
    with h5py.File(os.path.join(src, "3_0_sn1.h5")) as a, h5py.File(out) as b:
        one, other = a["sn1/Tasks/0"][()], b["Steps/0/Nodes/sn1/Tasks/0"][()]
        totals = b["Steps/0/Nodes/sn1/Totals/Tasks"][()]
    is_equal("merge: rows are as Slurm wrote them", one.tobytes(), other.tobytes())
    is_true("merge: totals are of what can be", numpy.nanmax(totals["Max_GPUMemMB"]) < 1 << 24, totals["Max_GPUMemMB"])
    _, again, err = jobprof("extract", "-s", "Tasks", "-o", "-", out)
    is_true("merge: the job file is read as its parts are", said(err)[0] > 10 and not re.search(r"\d{12,}", again), again)


def totals_of_older_merges():
    """They are of rows that nobody had looked at."""
    d = tmpdir()
    path = os.path.join(d, "job_3.h5")
    shutil.copy(JOB_26, path)
    with h5py.File(path, "a") as f:
        t = numpy.zeros(2, [("Task", U), ("Min_GPUMemMB", U), ("Max_GPUMemMB", U), ("Sum_CPUTime", F)])
        t["Task"], t["Max_GPUMemMB"], t["Sum_CPUTime"] = [0, 1], [6291609300268176896, 4096], [-3.0, 2.5]
        f.create_dataset("Steps/0/Nodes/sn1/Totals/Tasks", data=t)
    _, out, err = jobprof("reduce", "--json", "-j", "3.0", "-N", "sn1", "-s", "Totals/Tasks", path)
    is_equal("totals of an older merge", {c["name"]: (c["n"], c["max"]) for c in json.loads(out)["columns"] if c["name"] in ("Max_GPUMemMB", "Sum_CPUTime")},
             {"Max_GPUMemMB": (1, 4096), "Sum_CPUTime": (1, 2.5)})
    is_equal("totals of an older merge: said", said(err)[0], 1)


def facts(path):
    status, out, err = jobprof("report", "--json", path)
    if status:
        raise Failed("report: " + err)
    return json.loads(out)["facts"], err


def numbers_of_a_report():
    rows = healthy()
    rows["CPUTime"][[5, 9]] = -4e5, 1e9
    rows["WriteMB"][7] = -1e6
    rows["RSS"][11] = NO_VAL64
    watts = rows_of(numpy.arange(ROWS) * 2, [("NodePower", U)], [numpy.full(ROWS, 150)])
    watts["NodePower"][[4, 30]] = NO_VAL
    path = made({"Tasks/0": rows, "Energy": watts})
    got, err = facts(path)
    is_near("report: CPU time of the other rows", got["cpu_s"], 1.8 * (ROWS - 2), 1e-9)
    is_near("report: MiB of the other rows", got["write_mb"], 0.25 * (ROWS - 1), 1e-9)
    is_near("report: peak memory", got["peak_mb"], 100, 1e-9)
    is_near("report: energy of the node", got["node_energy_j"], 150 * 2 * (ROWS - 1), 0.06)
    is_equal("report: said once, of both tables", said(err), (6, ["CPUTime", "RSS", "WriteMB", "NodePower"]))
    page = jobprof("report", path)[1]
    energy = re.search(r"^Energy +(\S+) (k?J) of the whole nodes, by Slurm's sensors$", page, re.M)
    is_true("report: the page has a line of energy", energy and abs(float(energy.group(1)) - 11.7) < 0.7 and energy.group(2) == "kJ" and
            "the job's part of the energy" in page, page)
    is_true("show: it has one, too", re.search(r"^ +energy +mean 15\d(\.\d)? W, the whole node's 1\d{4}(\.\d)? J$", jobprof("show", path)[1], re.M),
            jobprof("show", path)[1])


def unbound_tasks():
    """Slurm need not bind a task to its CPUs: what it uses of others all the time is true. A row that is alone is not."""
    rows = healthy()
    rows["CPUTime"], rows["CPUUtilization"] = 2 * 7.8, 780
    got, err = facts(made({"Tasks/0": rows}))
    is_near("unbound: its CPU time", got["cpu_s"], 2 * 7.8 * ROWS, 1e-9)
    is_equal("unbound: nothing is said", said(err), None)
    rows = healthy()
    rows["CPUTime"][8], rows["CPUUtilization"][8] = 40, 2000
    got, err = facts(made({"Tasks/0": rows}))
    is_near("bound: without a row that one CPU does not hold", got["cpu_s"], 1.8 * (ROWS - 1), 1e-9)
    is_equal("bound: said", said(err), (1, ["CPUTime", "CPUUtilization"]))
    got, err = facts(made({"Tasks/0": rows}, tasks=32))
    is_near("bound to more: it is true", got["cpu_s"], 1.8 * (ROWS - 1) + 40, 1e-9)


def gatherers_beside_jobprof():
    """In a file of jobprof are samples of Slurm's gatherers, too: what they write for "not set" is none there either."""
    seconds = numpy.arange(ROWS) * 2
    power, packets = numpy.full(ROWS, 150), numpy.full(ROWS, 7)
    power[[0, 4]], packets[9] = NO_VAL, 0xfffffffe
    tables = {"Energy": rows_of(seconds, [("Power", U)], [power]), "Slurm_Network": rows_of(seconds, [("PacketsIn", U)], [packets]),
              "Tasks/0": rows_of(seconds, [("CPUTime", F)], [numpy.full(ROWS, 1e9)])}
    path = made(tables)
    with h5py.File(path, "r+") as f:
        f["n1"].attrs["Start TimeNS"] = numpy.array([EPOCH * 10 ** 9], "u8")
    for series, column, wrong in ("Energy", "Power", [0, 4]), ("Slurm_Network", "PacketsIn", [9]), ("Tasks", "CPUTime", []):
        got, err = timeseries(path, series)
        is_equal("%s beside jobprof's: what is no value" % series, [i for i, r in enumerate(got) if r[column] == ""], wrong)
        is_equal("%s beside jobprof's: said" % series, said(err), (len(wrong), [column]) if wrong else None)
        got, err = timeseries(path, series, "--stock")
        is_true("%s beside jobprof's: as stored with --stock" % series, all(r[column] for r in got) and said(err) is None, err)
    is_true("energy beside jobprof's: the highest in show", "150 W" in jobprof("show", "--all", path)[1], jobprof("show", "--all", path)[1])


def clock_set_back():
    """By 30 s: the rows after it are no second copy of the time before."""
    for back, right_again in ((30, False), (3600, True)):
        rows = healthy()
        for name in "EpochTime", "ElapsedTime":
            rows[name][20:30 if right_again else None] -= back
        path = made({"Tasks/0": rows})
        got, err = timeseries(path, "Tasks")
        times = [int(r["EpochTime"]) for r in got]
        is_true("clock: set back by %d s: times go on" % back, times == sorted(times) and times[19] == times[20] and
                times[-1] - times[0] == 2 * (ROWS - 1) - (0 if right_again else 2), times)
        is_true("clock: so does the time since the start", [int(r["ElapsedTime"]) for r in got] == [t - times[0] for t in times], got)
        is_equal("clock: said", said(err), (2 if right_again else 1, ["EpochTime: the clock was set back"]))
        values, err = facts(path)
        is_near("clock: how long it ran", values["wall_s"], 2 * (ROWS - 1), 0, 2)
        is_true("clock: no more than one CPU", values["cpu_s"] <= 1.06 * values["wall_s"] and said(err), values)


if __name__ == "__main__":
    run_tests([columns_one_by_one, every_verb, merging_keeps_what_is_stored, totals_of_older_merges, numbers_of_a_report, unbound_tasks, gatherers_beside_jobprof, clock_set_back])
