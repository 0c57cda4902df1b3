#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 240
"""jobprof merge against the stock sh5util on files that Slurm itself wrote, h5py and h5dump; and what
it must never do: lose a row, delete what it has not copied, touch what it was not asked to."""

import concurrent.futures
import fcntl
import functools
import random
import resource
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *
from mergelib import *

# --- what it makes ---

def merged_file_is_the_stock_tree_and_more():
    prof, out = job7(), os.path.join(tmpdir(), "m.h5")
    st, err = merge(prof, "-j", "7", "-S", out=out)
    expect(0, st, err)
    is_true("what is merged is said, and with -q it is not", "files merged" in err and
            merge(prof, "-j", "7", "-S", "-q", out=os.path.join(tmpdir(), "q.h5")) == (0, ""), err)
    with h5py.File(os.path.join(GOLDEN, "job_7.h5"), "r") as a, h5py.File(out, "r") as b:
        for s in a["Steps"]:
            for n in a["Steps"][s]["Nodes"]:
                why = same_tree(a["Steps"][s]["Nodes"][n], b["Steps"][s]["Nodes"][n], ("Totals",))
                is_true("step %s node %s is stock's" % (s, n), why is None, why)
            is_equal("step %s: Number of Nodes" % s, b["Steps"][s].attrs["Number of Nodes"][0],
                     len(a["Steps"][s]["Nodes"]))
        is_equal("Number of Steps", b.attrs["Number of Steps"][0], 3)
        is_equal("the job's attributes", [value(b.attrs[k]) for k in
                                          ("Job Id", "User", "Nodes", "Tasks")], [7, ME, 2, 6])
        rows = [b["Steps"][s]["Nodes"][n]["Network"][()] for s in b["Steps"]
                for n in b["Steps"][s]["Nodes"]]
        first = min(int(r["EpochTime"][0] - r["ElapsedTime"][0]) for r in rows)
        last = max(int(r["EpochTime"][-1]) for r in rows)
        is_equal("start", value(b.attrs["Start EpochTime"]), first)
        is_true("end", value(b.attrs["End EpochTime"]) >= last, value(b.attrs["End EpochTime"]))
        is_equal("tasks know their node", {t: value(b["Steps/0/Tasks"][t].attrs["Node Name"])
                                           for t in b["Steps/0/Tasks"]},
                 {"0": "p1", "1": "p1", "2": "p2", "3": "p2"})
        is_true("and lead to their rows", (b["Steps/0/Tasks/3/Table"][()] ==
                                           b["Steps/0/Nodes/p2/Tasks/3"][()]).all(), "")
    total = sum(os.path.getsize(os.path.join(prof, ME, f)) for f in inputs(prof))
    tables = 4 * 2 + 2
    is_true("size", os.path.getsize(out) <= total * 1.05 + 4096 * tables,
            "%d for %d" % (os.path.getsize(out), total))


def more_rows(node):
    """So many that there are totals."""
    for t in node["Tasks"].values():
        rows = numpy.resize(t[()], 20)
        t.resize(rows.shape)
        t[:] = rows


def totals_are_what_the_rows_say():
    """Of 16 rows or more: fewer are as fast to read."""
    out, prof = os.path.join(tmpdir(), "m.h5"), job7()
    for name in ("7_0_p1.h5", "7_1_p1.h5"):
        with h5py.File(os.path.join(prof, ME, name), "r+") as f:
            more_rows(f["p1"])
    expect(0, *merge(prof, "-j", "7", "-S", out=out))
    wrong, seen, few = [], 0, []
    kinds = {"CPUTime": "Sum", "ReadMB": "Sum", "WriteMB": "Sum", "Pages": "Last"}
    with h5py.File(out, "r") as f:
        for s in f["Steps"]:
            for n, node in f["Steps"][s]["Nodes"].items():
                if sum(map(len, node["Tasks"].values())) < 16:
                    few.append("Totals/Tasks" in node)
                    continue
                for t in node["Totals/Tasks"][()]:
                    rows = node["Tasks"][str(t["Task"])][()]
                    for c in rows.dtype.names[2:]:
                        v = totalled(c, rows[c].astype(float))
                        want = {k: fn(v) if len(v) else numpy.nan for k, fn in
                                (("Min", numpy.min), ("Max", numpy.max), ("Avg", numpy.mean))}
                        if c in kinds:
                            want[kinds[c]] = v.sum() if kinds[c] == "Sum" else v[-1]
                        got = {k.split("_")[0]: t[k] for k in t.dtype.names
                               if k.endswith("_" + c)}
                        seen += 1
                        if set(got) != set(want) or any(
                                not numpy.isclose(got[k], want[k], 1e-12, 0, True) for k in want):
                            wrong.append((s, n, c, got, want))
    is_true("totals", seen > 20 and not wrong, (seen, wrong[:2]))
    is_true("none of few rows", few and not any(few), few)


def conf():
    d = tmpdir("etc")
    with open(os.path.join(d, "slurm.conf"), "w") as f:
        f.write("ClusterName=x\nSlurmctldHost=localhost\n"
                "AcctGatherProfileType=acct_gather_profile/hdf5\n")
    return d


def stock(prof, *args):
    d = conf()
    with open(os.path.join(d, "acct_gather.conf"), "w") as f:
        f.write("ProfileHDF5Dir=%s\n" % prof)
    p = subprocess.run([STOCK] + list(args), capture_output=True, text=True, cwd=d,
                       env=dict(os.environ, SLURM_CONF=os.path.join(d, "slurm.conf")))
    return p.returncode, p.stdout


def extract(path, job, *args):
    out = os.path.join(tmpdir(), "x.csv")
    st, text = stock(TMP, "-j", job, "-i", path, "-o", out, *args)
    data = open(out, "rb").read() if os.path.exists(out) else b""
    return st, text.replace(path, ""), data


def stock_reads_ours_as_its_own():
    if not STOCK:
        raise Skipped("no sh5util")
    sets = [("7", job7(), ("Tasks", "Network"))]
    real = os.path.join(GOLDEN, "real")
    for job in "123":
        names = [os.path.join("real", f) for f in os.listdir(real) if f.startswith(job + "_")]
        sets.append((job, world(*names), ("Tasks",)))
    for job, prof, series in sets:
        d = tmpdir()
        ours, theirs = os.path.join(d, "a.h5"), os.path.join(d, "b.h5")
        expect(0, *merge(prof, "-j", job, "-S", out=ours))
        stock(prof, "-S", "-j", job, "-o", theirs)
        modes = [["-E", "-l", "Node:" + l] for l in ("Totals", "TimeSeries")] + [["-L"]]
        modes += [m + ["-N", "p1" if job == "7" else "n1"] for m in modes]
        for s in series:
            for m in modes + [["-I", "-d", "EpochTime"]]:
                a, b = (extract(p, job, "-s", s, *m) for p in (ours, theirs))
                is_true("stock, job %s %s %s" % (job, s, " ".join(m)), a == b and
                        (len(b[1]) + len(b[2]) > 50 or "-I" in m), "%s and %s" % (a, b))


def others_read_it():
    out = os.path.join(tmpdir(), "m.h5")
    expect(0, *merge(job7(), "-j", "7", "-S", out=out))
    for cmd in (["h5dump", out], ["h5ls", "-r", out]):
        p = subprocess.run(cmd, capture_output=True, text=True)
        is_true(cmd[0], p.returncode == 0 and not p.stderr and "rror" not in p.stdout, p.stderr)
    out = shutil.move(out, os.path.join(os.path.dirname(out), "job_7.h5"))
    p = subprocess.run([JOBPROF, "show", out], capture_output=True, text=True)
    is_true("jobprof show", p.returncode == 0 and p.stdout.count("job 7") == 4, p.stderr)


def our_files_keep_their_totals():
    made, prof = our_journals(), world()
    n = 0
    for j in sorted(os.listdir(made)):
        name = "50_%d_n1.h5" % n
        path = os.path.join(prof, ME, name)
        if not write_ours(os.path.join(made, j), os.path.join(prof, ME), name):
            with h5py.File(path, "r+") as f:
                node = next(iter(f))
                f[node].attrs["Restart Count"] = numpy.array([0], "<i4")  # of one run
            os.rename(path, path.replace("_n1.", "_%s." % node))
            n += 1
    if not n:
        raise Failed("no file was made of %s" % os.listdir(made))
    out = os.path.join(tmpdir(), "m.h5")
    paths = [os.path.join(prof, ME, f) for f in inputs(prof)]
    st, err = merge(prof, "-j", "50", "-S", out=out)
    expect(0, st, err)
    is_true("everything, with Totals", all(holds(out, p, *p[:-3].split("_")[-2:])
                                               for p in paths) and n > 2, "")
    total = sum(map(os.path.getsize, paths))
    is_true("no larger", os.path.getsize(out) <= total * 1.05 + 4096 * 8 * n,
            "%d for %d" % (os.path.getsize(out), total))


def totals_that_our_file_has_lost_are_made_again():
    """The same ones, arrays of histograms among them."""
    prof, out = world(), os.path.join(tmpdir(), "m.h5")
    is_equal("made", write_ours(os.path.join(our_journals(), "n1.journal"),
                                os.path.join(prof, ME), "7_0_n1.h5"), 0)
    had = {}

    def forget(f):
        had.update({s: t[()] for s, t in f["n1/Totals"].items()})
        del f["n1/Totals"]
    edit(prof, "7_0_n1.h5", forget)
    expect(0, *merge(prof, "-j", "7", "-S", out=out))
    with h5py.File(out, "r") as f:
        now = {s: t[()] for s, t in f["Steps/0/Nodes/n1/Totals"].items()}
    is_true("arrays", had["BlkLatency"].dtype["Max_W"].shape == (40,), had["BlkLatency"].dtype)
    is_equal("totals made again", [s for s in had if s not in now or now[s].dtype != had[s].dtype or
                                   now[s].tobytes() != had[s].tobytes()], [])


# --- options ---

def inputs_go_only_without_S():
    prof, d = job7(), tmpdir()
    before = inputs(prof)
    expect(0, *merge(prof, "-j", "7", "-S", cwd=d))
    is_equal("-S keeps", inputs(prof), before)
    is_equal("default name", os.listdir(d), ["job_7.h5"])
    expect(0, *merge(prof, "-j", "7", cwd=d))
    is_equal("without, they go", inputs(prof), [])
    is_equal("all steps", steps(os.path.join(d, "job_7.h5")),
             {"0": ["p1", "p2"], "1": ["p1"], "batch": ["p1"]})


def steps_are_filtered():
    prof, d = job7(), tmpdir()
    expect(0, *merge(prof, "-j", "7.batch", cwd=d))
    is_equal("batch alone", steps(os.path.join(d, "job_7.h5")), {"batch": ["p1"]})
    is_equal("the others stay", inputs(prof), ["7_0_p1.h5", "7_0_p2.h5", "7_1_p1.h5"])
    expect(0, *merge(prof, "-j", "7.0,7.1", cwd=d))
    is_equal("two more", sorted(steps(os.path.join(d, "job_7.h5"))), ["0", "1", "batch"])


def several_jobs_give_several_files():
    prof, d = job7(), tmpdir()
    put(prof, "7_0_p1.h5", "8_4294967292_n1.h5")
    put(prof, "7_0_p1.h5", "8_4294967290_n1.h5")
    st, err = merge(prof, "-j", "7,8", out=os.path.join(d, "x.h5"), cwd=d)
    is_equal("-o is for one", (st, os.listdir(d)), (2, []))
    expect(0, *merge(prof, "-j", "7,8", cwd=d))
    is_equal("two files", sorted(os.listdir(d)), ["job_7.h5", "job_8.h5"])
    is_equal("extern, interactive", sorted(steps(os.path.join(d, "job_8.h5"))), ["-4", "-6"])


def wrong_usage_is_status_2():
    for args in (["-j", "x"], ["-j", "7,"], ["-j", "7.x"], ["-j", "0"], [], ["-j", "7", "more"],
                 ["--threads", "0", "-j", "7"], ["--nonsense"], ["-j", "7_"], ["-j", "7+"],
                 ["-j", "-1"], ["-j", "7.1.2"], ["-j", "99999999999"]):
        st, err = merge(job7(), *args)
        is_true("usage %s" % " ".join(args), st == 2 and err, (st, err))
    st, err = merge(job7(), "-j", "7.frobnicate")
    is_true("the bad word is named", "7.frobnicate" in err, err)
    p = subprocess.run([JOBPROF, "merge", "--help"], capture_output=True, text=True)
    is_true("--help", p.returncode == 0 and "--savefiles" in p.stdout, p.stderr)


def nothing_found_is_status_1():
    d = tmpdir()
    for args in (["-j", "9"], ["-j", "7.5"], ["-j", "9_1"], ["-j", "9+1"], ["-j", "7", "-u", "nobody"]):
        st, err = merge(job7(), *args, cwd=d)
        is_true("nothing: %s" % " ".join(args), st == 1 and err and not os.listdir(d), (st, err))
    st, err = merge("/nonexistent", "-j", "7", cwd=d)
    is_true("no such directory", st == 1 and "/nonexistent" in err, err)
    st, err = merge(job7(), "-j", "7,9", "-S", cwd=d)
    is_true("one of two", st == 1 and "job 9" in err and os.listdir(d) == ["job_7.h5"], err)


def users_by_name_and_number():
    prof, d = world("7_0_p1.h5", user="nobody"), tmpdir()
    expect(0, *merge(prof, "-j", "7", "-S", "-u", "nobody", cwd=d))
    expect(0, *merge(prof, "-j", "7", "-S", "-u", "65534", out=os.path.join(d, "x.h5")))
    for u in ("../nobody", "a/b", "..", "4294967290"):
        st, err = merge(prof, "-j", "7", "-S", "-u", u, out=os.path.join(d, "y.h5"))
        is_true("user %s" % u, st != 0 and not os.path.exists(os.path.join(d, "y.h5")), err)
    with h5py.File(os.path.join(d, "x.h5"), "r") as f:
        is_equal("User", value(f.attrs["User"]), "nobody")


def files_as_run_leaves_them():
    """A directory that is given and has none of the caller: its own files, unless -u names one."""
    prof, d = world("7_0_p1.h5"), tmpdir()
    flat = os.path.join(prof, ME)
    expect(0, *merge(flat, "-j", "7", "-S", cwd=d))
    is_equal("files beside each other", os.listdir(d), ["job_7.h5"])
    st, err = merge(flat, "-j", "7", "-S", "-u", ME, out=os.path.join(d, "x.h5"))
    is_true("not with -u", st == 1 and "-u whose" in err and err.count("\n") == 1, err)
    st, err = merge(flat, "-j", "8", "-S", out=os.path.join(d, "x.h5"))
    is_true("none of that job", st == 1 and "no node-step files in %s, and no directory of %s: -u USER says" % (flat, ME) in err, err)


def directory_from_slurms_configuration():
    prof, etc, d = job7(), conf(), tmpdir()
    env = plain_env(SLURM_CONF=os.path.join(etc, "slurm.conf"))
    st, err = merge(None, "-j", "7", "-S", cwd=d, env=env)
    is_true("without one, -p is named", st == 1 and "-p" in err, err)
    with open(os.path.join(etc, "acct_gather.conf"), "w") as f:
        f.write("ProfileHDF5Dir=%s\n" % prof)
    expect(0, *merge(None, "-j", "7", "-S", cwd=d, env=env))
    is_equal("found", os.listdir(d), ["job_7.h5"])


def array_tasks_and_components_by_attributes():
    prof, d = world(), tmpdir()
    for i, job in enumerate((101, 102, 103)):
        put(prof, "7_0_p1.h5", "%d_0_n1.h5" % job, Array_Job_Id=101, Array_Task_Id=i + 1)
    for i, job in enumerate((200, 201)):
        put(prof, "7_0_p1.h5", "%d_0_n1.h5" % job, Het_Job_Id=200, Het_Job_Offset=i)
    put(prof, "7_0_p1.h5", "101_batch_n1.h5")
    expect(0, *merge(prof, "-j", "101_2,200+1", cwd=d))
    is_equal("each its file", sorted(os.listdir(d)), ["job_102.h5", "job_201.h5"])
    with h5py.File(os.path.join(d, "job_102.h5"), "r") as f:
        is_equal("and what it is", [value(f.attrs["Array " + k]) for k in ("Job Id", "Task Id")],
                 [101, 2])
    is_equal("the others stay", inputs(prof), ["101_0_n1.h5", "101_batch_n1.h5", "103_0_n1.h5",
                                               "200_0_n1.h5"])
    st, err = merge(prof, "-j", "101_9", cwd=d)
    is_true("no such task", st == 1 and "101_9" in err, err)
    expect(0, *merge(prof, "-j", "101_1", cwd=d))
    is_equal("all steps of it", sorted(steps(os.path.join(d, "job_101.h5"))), ["0", "batch"])


def array(prof, *, task_file="_0_n1.h5", jobs=((101, 3), (102, 0), (103, 1))):
    for job, task in jobs:
        put(prof, "7_0_p1.h5", "%d%s" % (job, task_file), Array_Job_Id=101, Array_Task_Id=task)


def a_jobs_id_that_is_an_arrays_means_its_tasks():
    """As for squeue and scancel; one of the tasks has the array's id itself."""
    prof, d = world(), tmpdir()
    array(prof)
    put(prof, "7_0_p1.h5", "101_4294967292_n1.h5")  # extern: it says nothing
    put(prof, "7_0_p1.h5", "103_4294967292_n1.h5")
    put(prof, "7_0_p1.h5", "104_0_n1.h5", Array_Job_Id=104, Array_Task_Id=0)
    put(prof, "7_0_p1.h5", "105_0_n1.h5")
    st, err = merge(prof, "-j", "101", out=os.path.join(d, "x.h5"))
    is_true("-o is for one", st == 2 and err.count("\n") == 1 and not os.listdir(d), (st, err))
    expect(0, *merge(prof, "-j", "101", cwd=d))
    is_equal("each task its file", sorted(os.listdir(d)), ["job_101.h5", "job_102.h5", "job_103.h5"])
    is_equal("the others stay", inputs(prof), ["104_0_n1.h5", "105_0_n1.h5"])
    is_equal("all of a task", sorted(steps(os.path.join(d, "job_103.h5"))), ["-4", "0"])
    os.unlink(os.path.join(d, "job_102.h5"))
    array(prof, jobs=((102, 0), (103, 1)))
    edit(prof, "103_0_n1.h5", lambda f: f["n1"].attrs.modify("Array Task Id", 2))
    st, err = merge(prof, "-j", "101.0", "-S", cwd=tmpdir())
    expect(0, st, err)
    is_equal("without a file of that id", err.count("1 node-step file merged"), 2)
    st, err = merge(prof, "-j", "101", "--wait", "0", cwd=tmpdir())
    is_true("--wait: that job alone", st == 1 and "no files" in err, err)
    expect(0, *merge(prof, "-j", "101_2,101_0", cwd=tmpdir()))
    array(prof)
    p = subprocess.run([os.path.join(BUILD, "sh5util"), "-p", prof, "-o", "stock.h5", "-j", "101"],
                       cwd=d, capture_output=True, text=True)
    is_equal("sh5util: that job alone", (p.returncode, inputs(prof)),
             (0, ["102_0_n1.h5", "103_0_n1.h5", "104_0_n1.h5", "105_0_n1.h5"]))


def a_job_that_runs_is_said_to():
    prof, d = tmpdir("prof"), tmpdir()
    array(prof, task_file="_0_n1.h5")
    top = os.path.join(prof, ME)
    for job in (102, 103):
        os.rename("%s/%d_0_n1.h5" % (top, job), "%s/.%d_0_n1.h5" % (top, job))
    for spec in ("102", "101_0"):
        st, err = merge(prof, "-j", spec, cwd=d)
        is_true("-j %s" % spec, st == 1 and "job 102 still runs" in err and "--wait" in err and
                not os.listdir(d), err)
    for step in (0, 1):
        put(prof, "7_0_p1.h5", "%s110_%d_n1.h5" % ("" if step else ".", step))
    st, err = merge(prof, "-j", "110.0", cwd=d)
    is_true("a step of a job of which another has ended", st == 1 and not os.listdir(d) and
            "job 110 still runs, and none of the steps asked for has ended" in err, err)
    st, err = merge(prof, "-j", "101", cwd=d)
    is_equal("the array's other tasks", (st, os.listdir(d), err.count("still runs, and none")),
             (1, ["job_101.h5"], 2))


def slurm_that_says(**lines):
    """An environment whose squeue and sacct print that of one job, as they are asked."""
    d = tmpdir("bin")
    for name in ("squeue", "sacct"):
        with open(os.path.join(d, name), "w") as f:
            f.write('#!/bin/sh\necho "$0 $*" >>%s/asked\n[ "$SLURM_TIME_FORMAT" = %%s ] || exit 1\n%s\n' % (
                d, lines.get(name, "exit 1")))
        os.chmod(f.name, 0o755)
    return d, plain_env(PATH=d + ":/usr/bin:/bin")


def wait_does_not_take_the_file_of_an_earlier_job():
    job = world("7_0_p1.h5")
    d = tmpdir()
    expect(0, *merge(job, "-j", "7", cwd=d))
    with h5py.File(os.path.join(d, "job_7.h5"), "r") as f:
        start = value(f.attrs["Start EpochTime"])
    said = "echo '7|%s|%s'"
    cases = (({"squeue": said % ("RUNNING", start - 20)}, 0),
             ({"squeue": said % ("RUNNING", start + 3600)}, 1),
             ({"squeue": "echo '8|RUNNING|%d'; " % (start + 3600) + said % ("RUNNING", start)}, 0),
             ({"squeue": said % ("PENDING", "N/A")}, 1),
             ({"squeue": said % ("PENDING", start - 9)}, 1),
             ({"sacct": said % ("COMPLETED", start + 3600)}, 1),
             ({"sacct": said % ("COMPLETED", start)}, 0),
             ({"squeue": said % ("RUNNING", "Unknown")}, 0), ({}, 0))

    def run(case):
        lines, status = case
        bin, env = slurm_that_says(**lines)
        st, err = merge(job, "-j", "7", "--wait", "4", cwd=d, env=env)
        with open(os.path.join(bin, "asked")) as f:
            return lines, status, st, err, f.read().count("squeue")
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
        done = list(pool.map(run, cases))
    for lines, status, st, err, asked in done:
        is_true("--wait, Slurm says %s" % lines, st == status and err.count("\n") == 1 and
                ("of an earlier job" if status else "merged already") in err, (st, err))
        is_equal("asked", asked, 1)
    st, err = merge(job, "-j", "7", "--wait", "3", "--job-start", str(start + 3600), cwd=d)
    is_true("--wait --job-start", st == 1 and "earlier job" in err, err)


def a_job_without_files_that_runs_is_said_to():
    for spec, line in (("9", "echo '9|RUNNING|N/A'"), ("9.batch", "echo '9|COMPLETING|5'"),
                       ("9_3", "echo '11|RUNNING|5'"), ("9", "echo '9|PENDING|5'; echo '10|SUSPENDED|5'")):
        bin, env = slurm_that_says(squeue=line)
        st, err = merge(job7(), "-j", spec, cwd=tmpdir(), env=env)
        job, step, _ = spec.partition(".")
        is_true("-j %s still runs" % spec, st == 1 and "job %s still runs" % job in err and
                ("no node-step files of %s in" % spec if step else "no node-step files in") in err and
                err.count("\n") == 1, (st, err))
        with open(os.path.join(bin, "asked")) as f:
            is_true("by the job's id", " -j %s " % spec.split(".")[0] in f.read(), "")
    for line in ("echo '9|COMPLETED|5'", "exit 1", "echo '9|PENDING|N/A'", "echo nonsense"):
        st, err = merge(job7(), "-j", "9", cwd=tmpdir(), env=slurm_that_says(squeue=line)[1])
        is_true("%s: it does not" % line, st == 1 and "no node-step files" in err and
                "runs" not in err, (st, err))


def a_job_that_is_merged_beside_its_files_is_said_to():
    """As AutoMerge does it: who merges by hand then finds nothing to merge."""
    prof = job7()
    expect(0, *merge(prof, "-j", "7", "-o", os.path.join(prof, ME, "job_7.h5"), cwd=tmpdir()))
    for args, said in ((["-j", "7"], True), (["-j", "7.0"], True), (["-j", "8"], False)):
        st, err = merge(prof, *args, cwd=tmpdir())
        is_true("%s: where it is" % args[1], st == 1 and "no node-step files" in err and
                ("what was merged is there, in job_7.h5" in err) == said, (st, err))


def restarted_runs_have_files_of_their_own():
    prof, d = job7(), tmpdir()
    put(prof, "7_0_p1.h5", "restart0/7_0_n1.h5")
    put(prof, "7_0_p1.h5", "restart12/7_0_n1.h5")
    put(prof, "7_0_p1.h5", "restartx/7_0_n1.h5")
    expect(0, *merge(prof, "-j", "7", cwd=d))
    is_equal("three files", sorted(os.listdir(d)),
             ["job_7.h5", "job_7.restart0.h5", "job_7.restart12.h5"])
    expect(0, *merge(prof, "-j", "7", cwd=d)) if inputs(prof) == [] else None
    is_true("inputs went", not os.path.exists(os.path.join(prof, ME, "restart0/7_0_n1.h5")) and
            os.path.exists(os.path.join(prof, ME, "restartx/7_0_n1.h5")), "")


# --- several jobs of one id ---

def seconds(text):
    return int(time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S")))


OLD, NEW = "2026-03-01T10:00:00", "2026-11-21T02:01:17"


def begun(prof, name, start, golden="7_0_p1.h5", exact=True, **attrs):
    """A node-step that began then: its attribute, or the times of its rows."""
    path = put(prof, golden, name, **attrs)
    with h5py.File(path, "r+") as f:
        node = list(f.values())[0]
        if exact:
            node.attrs.create("Start TimeNS", [seconds(start) * 10**9 + 5], dtype="<i8")
            return path
        tables = [t for t in list(node["Tasks"].values()) + [node["Network"]]]
        first = min(int(t["EpochTime"][0] - t["ElapsedTime"][0]) for t in tables)
        for t in tables:
            rows = t[()]
            rows["EpochTime"] += numpy.uint64((seconds(start) - first) % 2**64)
            t[...] = rows


def later(text, s):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(seconds(text) + s))


def pair(old, new, names=("7_1_n1.h5", "7_0_n1.h5"), apart=3600, **kw):
    """A directory with a node-step of a job and one of an earlier job of that id."""
    prof = tmpdir("prof")
    begun(prof, names[0], OLD, **old, **kw)
    begun(prof, names[1], later(OLD, apart), **new, **kw)
    return prof


BATCH = "7_batch_n1.h5", "7_4294967291_n1.h5"  # two names of a step


def two_jobs_of_one_id_are_not_one():
    ours = {"Job_Name": "x"}
    long = 90 * 86400
    cases = {
        "cluster": pair({"Cluster": "a"}, {"Cluster": "b"}),
        "SLUID": pair(dict(ours, SLUID="s0123456789ABC"), dict(ours, SLUID="s0123456789ABD")),
        "uid": pair({"UID": 1000}, {"UID": 1001}),
        "start of the job": pair({"Job_Start_EpochTime": seconds(OLD)},
                                 {"Job_Start_EpochTime": seconds(OLD) + 60}, apart=61),
        "a step twice on a node": pair(ours, ours, BATCH, 30),
        "a step twice on a node, Slurm's": pair({}, {}, BATCH, 30, exact=False),
        "months": pair({}, {}, apart=long, exact=False),
    }
    for what, prof in cases.items():
        d, before = tmpdir(), inputs(prof)
        for more in ((), ("-S",), ("--threads", "3")):
            st, err = merge(prof, "-j", "7", *more, cwd=d)
            is_true("two jobs, %s %s" % (what, " ".join(more)), st == 1 and err.count("\n") == 1 and
                    "2 jobs" in err and OLD in err and "--job-start" in err and
                    "whose %s differ" % {"cluster": "clusters", "SLUID": "SLUIDs", "uid": "users",
                                         "start of the job": "starts"}.get(what, "steps' times") in err and
                    inputs(prof) == before and not os.listdir(d), (st, err, os.listdir(d)))
    prof = pair({"Cluster": "a"}, {"Cluster": "b"}, apart=0)
    st, err = merge(prof, "-j", "7")
    is_true("two jobs that began at once: what differs, and a way out", st == 1 and "whose clusters differ" in err and
            "to another directory" in err and "--job-start" not in err and len(inputs(prof)) == 2, err)


def a_long_job_is_one():
    ours = {"Job_Name": "x"}
    order = ("7_0_n1.h5", "7_1_n1.h5")
    cases = {
        "steps days apart": pair(ours, ours, order, 14 * 86400),
        "steps at once": pair(ours, ours, apart=60),
        "by what little is known, steps days apart": pair({}, {}, apart=14 * 86400),
        "steps days apart, Slurm's": pair({}, {}, apart=14 * 86400, exact=False),
        "a month in one run": pair({"Job_Start_EpochTime": 5}, {"Job_Start_EpochTime": 5},
                                   apart=30 * 86400),
        "requeued": pair(dict(ours, SLUID="s0123456789ABC"),
                         dict(ours, SLUID="s0123456789ABD", Restart_Count=1)),
        "requeued, batch": pair(ours, dict(ours, Restart_Count=1), ("7_1_n1.h5", "7_batch_n1.h5")),
        "extern knows nothing": pair(dict(ours, Job_Start_EpochTime=5, Restart_Count=2), {},
                                     ("7_1_n1.h5", "7_4294967292_n1.h5")),
        "steps in another order, minutes and hours apart": pair(ours, ours, apart=7200),
        "a step's nodes hours apart": pair({}, {}, ("7_0_n1.h5", "7_0_n2.h5"), 7200, exact=False),
        "clocks are apart": pair(ours, ours, ("7_0_n2.h5", "7_batch_n1.h5"), 60),
        "the batch script was seen late": pair(ours, dict(ours, Baseline="was running"),
                                               ("7_0_n1.h5", "7_batch_n1.h5")),
        "case of the cluster's name": pair({"Cluster": "Big"}, {"Cluster": "big"}),
        "array, component": pair({"Array_Job_Id": 7, "Array_Task_Id": 1}, {}),
    }
    for what, prof in cases.items():
        st, err = merge(prof, "-j", "7", cwd=tmpdir())
        is_true("one job: " + what, st == 0 and not inputs(prof), (st, err))


def runs_before_a_requeue_have_files_of_their_own():
    """Files of nodes that the later run does not have stay in the directory."""
    ours, d = {"Job_Name": "x"}, tmpdir()
    prof = tmpdir("prof")
    for n, run in enumerate(({}, {"Restart_Count": 1}, {"Restart_Count": 2})):
        begun(prof, "7_%d_n%d.h5" % (n % 2, n), later(OLD, 600 * n), **ours, **run)
    begun(prof, "7_1_n9.h5", later(OLD, 5), **ours)
    begun(prof, "7_4294967292_n1.h5", later(OLD, 598))  # an extern step knows nothing of its job
    os.mkdir(os.path.join(prof, ME, "restart0"))
    os.rename(begun(prof, "7_1_n2.h5", later(OLD, 6), **ours), os.path.join(prof, ME, "restart0", "7_1_n2.h5"))

    def made():
        return {name: steps(os.path.join(d, name)) for name in sorted(os.listdir(d))}
    st, err = merge(prof, "-j", "7", cwd=d)
    each = {"job_7.h5": {"0": ["n2"]}, "job_7.restart0.h5": {"0": ["n0"], "1": ["n2", "n9"]}, "job_7.restart1.h5": {"1": ["n1"], "-4": ["n1"]}}
    is_equal("a file per run", (st, made(), inputs(prof)), (0, each, ["restart0"]))
    begun(prof, "7_2_n9.h5", later(OLD, 7), **ours)
    expect(0, *merge(prof, "-j", "7", cwd=d))
    each["job_7.restart0.h5"]["2"] = ["n9"]
    is_equal("one that comes later", (made(), inputs(prof)), (each, ["restart0"]))
    begun(prof, "7_0_n0.h5", later(OLD, 5000), **ours, Restart_Count=3)
    st, err = merge(prof, "-j", "7", cwd=d)
    is_true("the job file is of an earlier run: it stays as it is", st == 1 and err.count("\n") == 1 and "is of a run before a requeue" in err and
            (made(), inputs(prof)) == (each, ["7_0_n0.h5", "restart0"]), (st, err, made()))
    expect(0, *merge(prof, "-j", "7", cwd=d, out="new.h5"))
    is_equal("and so the new one has another name", (steps(os.path.join(d, "new.h5")), inputs(prof)), ({"0": ["n0"]}, ["restart0"]))


def job_start_chooses():
    for when, step, left in ((OLD, "1", "7_0_n1.h5"), (NEW, "0", "7_1_n1.h5"),
                             ("@%d" % seconds(NEW), "0", "7_1_n1.h5"), (seconds(OLD), "1", "7_0_n1.h5"),
                             ("11/21/26-02:01:17", "0", "7_1_n1.h5"),
                             ("2026-11-21T02:00", "0", "7_1_n1.h5")):
        prof, d = tmpdir("prof"), tmpdir()
        begun(prof, "7_1_n1.h5", OLD)
        begun(prof, "7_0_n1.h5", NEW)
        expect(0, *merge(prof, "-j", "7", "--job-start", str(when), cwd=d))
        is_equal("%s: merged, left" % when, (steps(os.path.join(d, "job_7.h5")), inputs(prof)),
                 ({step: ["n1"]}, [left]))
        st, err = merge(prof, "-j", "7", cwd=d)
        is_true("%s: the other is not added" % when, st == 1 and err.count("\n") == 1 and
                "and the job file" in err and OLD in err and NEW in err and inputs(prof) == [left], err)
        st, err = merge(prof, "-j", "7", "--job-start", NEW if step == "1" else OLD, cwd=d)
        is_true("nor when it is chosen", st == 1 and "-o gives" in err and inputs(prof) == [left] and
                err.count("\n") == 1, err)
        expect(0, *merge(prof, "-j", "7", "--job-start", NEW if step == "1" else OLD, cwd=d,
                         out="other.h5"))
    prof = tmpdir("prof")
    begun(prof, "7_1_n1.h5", OLD)
    st, err = merge(prof, "-j", "7", "--job-start", NEW)
    is_true("none began then", st == 1 and OLD in err and len(inputs(prof)) == 1, err)
    for bad in ("yesterday", "", "2026-13-01T00:00", "-5", "nan"):
        st, err = merge(prof, "-j", "7", "--job-start", bad)
        is_true("--job-start %s" % bad, st == 2 and err.count("\n") == 1, err)


def a_file_without_any_start_is_of_the_job_that_is_chosen_only_if_it_is_the_only_one():
    for others, left in (((OLD, NEW), ["7_0_n1.h5", "7_4294967292_n1.h5"]), ((OLD,), [])):
        prof, d = tmpdir("prof"), tmpdir()
        for start, name in zip(others, ("7_1_n1.h5", "7_0_n1.h5")):
            begun(prof, name, start, Job_Start_EpochTime=seconds(start))
        begun(prof, "7_4294967292_n1.h5", OLD, Baseline="was running")
        st, err = merge(prof, "-j", "7", "--job-start", OLD, cwd=d)
        is_equal("beside %d jobs: status, left" % len(others), (st, inputs(prof)), (int(bool(left)), left))
        is_equal("it is named", err.count("7_4294967292_n1.h5: says neither"), len(others) - 1)


def a_file_without_its_jobs_start_is_of_the_job_that_began_last_before():
    for when, ours in ((OLD, "7_1_n1.h5"), (NEW, "7_0_n1.h5")):
        prof, d = tmpdir("prof"), tmpdir()
        begun(prof, "7_1_n1.h5", OLD, Job_Start_EpochTime=seconds(OLD))
        begun(prof, "7_0_n1.h5", later(OLD, 7200), Job_Start_EpochTime=seconds(OLD) + 7200)
        begun(prof, "7_4294967292_n1.h5", later(OLD, 3600 if when == OLD else 7300))
        st, err = merge(prof, "-j", "7", cwd=d)
        is_true("nothing without --job-start", st == 1 and "--job-start" in err and len(inputs(prof)) == 3, err)
        expect(0, *merge(prof, "-j", "7", "--job-start", later(OLD, 0 if when == OLD else 7200), cwd=d))
        is_equal("left", inputs(prof), [{"7_1_n1.h5": "7_0_n1.h5", "7_0_n1.h5": "7_1_n1.h5"}[ours]])


def a_later_job_is_not_merged_into_the_file_of_an_earlier_one():
    """The same step and node, and others that the file does not have."""
    prof, d = tmpdir("prof"), tmpdir()
    begun(prof, "7_0_n1.h5", OLD)
    begun(prof, "7_1_n1.h5", OLD)
    expect(0, *merge(prof, "-j", "7", cwd=d))
    with open(os.path.join(d, "job_7.h5"), "rb") as f:
        was = f.read()
    begun(prof, "7_0_n1.h5", NEW)
    begun(prof, "7_2_n1.h5", NEW)
    st, err = merge(prof, "-j", "7", cwd=d)
    with open(os.path.join(d, "job_7.h5"), "rb") as f:
        is_true("a later job", st == 1 and err.count("\n") == 1 and OLD in err and NEW in err and
                f.read() == was and len(inputs(prof)) == 2, err)


# --- extension ---

def a_job_file_is_extended():
    prof, d = job7(), tmpdir()
    out = os.path.join(d, "job_7.h5")
    late = os.path.join(d, "late.h5")
    os.rename(os.path.join(prof, ME, "7_0_p2.h5"), late)
    expect(0, *merge(prof, "-j", "7", cwd=d))
    with h5py.File(out, "r+") as f:
        f.create_group("Analysis").attrs["by"] = numpy.int32(1)
    shutil.copy(late, os.path.join(prof, ME, "7_0_p2.h5"))
    expect(0, *merge(prof, "-j", "7", cwd=d))
    is_equal("all", steps(out), {"0": ["p1", "p2"], "1": ["p1"], "batch": ["p1"]})
    is_true("late one", holds(out, late, "0", "p2"), "")
    is_true("first one", holds(out, os.path.join(GOLDEN, "7_0_p1.h5"), "0", "p1"), "")
    with h5py.File(out, "r") as f:
        is_equal("attributes are of the whole", [f["Steps/0"].attrs["Number of Nodes"][0],
                                                 value(f.attrs["Nodes"])], [2, 2])
        is_equal("tasks too", sorted(f["Steps/0/Tasks"]), ["0", "1", "2", "3"])
        is_true("what users put there stays", f["Analysis"].attrs["by"] == 1, "")
    is_equal("inputs went", inputs(prof), [])


def notes_in_a_job_file_stay():
    prof, d = world("7_0_p1.h5"), tmpdir()
    out = os.path.join(d, "job_7.h5")
    expect(0, *merge(prof, "-j", "7", cwd=d))
    with h5py.File(out, "r+") as f:
        f["Steps/0/Nodes/p1"].attrs["note"] = "of any length"
    shutil.copy(os.path.join(GOLDEN, "7_0_p2.h5"), os.path.join(prof, ME))
    expect(0, *merge(prof, "-j", "7", cwd=d))
    with h5py.File(out, "r") as f:
        is_equal("after another node came", (f["Steps/0/Nodes/p1"].attrs["note"],
                                             sorted(f["Steps/0/Nodes"])), ("of any length", ["p1", "p2"]))


def extended_with_what_users_put(put_there):
    """The job file after a user has put something into it, and another node was merged."""
    prof, d = world("7_0_p1.h5"), tmpdir()
    out = os.path.join(d, "job_7.h5")
    expect(0, *merge(prof, "-j", "7", cwd=d))
    with h5py.File(out, "r+") as f:
        put_there(f)
    shutil.copy(os.path.join(GOLDEN, "7_0_p2.h5"), os.path.join(prof, ME))
    st, err = merge(prof, "-j", "7", cwd=d)
    return prof, out, st, err


def all_that_users_put_into_a_job_file_stays():
    places = ("/", "Steps", "Steps/0", "Steps/0/Nodes", "Steps/0/Tasks", "Steps/0/Tasks/0")
    rows = numpy.array([(1, 2.5, b"text")], [("n", "<u8"), ("x", "<f4"), ("s", "S8")])

    def put_there(f):
        f["mytype"] = numpy.dtype("<i2")
        for p in places:
            f[p].attrs["note"] = "of any length"
            f[p].attrs["rows"] = rows
            f[p].attrs["texts"] = numpy.array(["a", "bc"], h5py.string_dtype())
            f[p].attrs.create("typed", 5, dtype=f["mytype"])
            f[p].attrs["nothing"] = h5py.Empty("f")
            if p == "Steps/0/Nodes":
                continue  # what is there is a node
            f[p].create_dataset("mine", data=rows, fillvalue=rows[0]).attrs["by"] = 3
            f[p].create_group("deep/er").attrs["by"] = 4
            f[p]["soft"] = h5py.SoftLink("/Steps/0/Nodes/p1")
            f[p]["extern"] = h5py.ExternalLink("other.h5", "/x")
        del f["Steps/0"].attrs["Number of Nodes"]
        f["Steps/0"].attrs["Missing Nodes"] = "p2"
        f["Steps/0"].attrs["Number of Missing Nodes"] = 1

    prof, out, st, err = extended_with_what_users_put(put_there)
    is_equal("extended: status, inputs, lines", (st, inputs(prof), err.count("\n")), (0, [], 1))
    with h5py.File(out, "r") as f:
        for p in places:
            a = f[p].attrs
            is_equal("attributes of " + p, (a["note"], a["rows"].tobytes(), list(a["texts"]), a["typed"],
                                            a["nothing"]),
                     ("of any length", rows.tobytes(), ["a", "bc"], 5, h5py.Empty("f")))
            if p == "Steps/0/Nodes":
                continue
            is_equal("objects of " + p,
                     (f[p]["mine"][()].tobytes(), f[p]["mine"].fillvalue, f[p]["mine"].attrs["by"],
                      f[p]["deep/er"].attrs["by"], f[p].get("soft", getlink=True).path,
                      f[p].get("extern", getlink=True).filename),
                     (rows.tobytes(), rows[0], 3, 4, "/Steps/0/Nodes/p1", "other.h5"))
        is_equal("what merge says of the step is new", (f["Steps/0"].attrs["Number of Nodes"][0],
                                                        [a for a in f["Steps/0"].attrs if "Miss" in a]),
                 (2, []))


def references_in_a_job_file_stay():
    def reference(f):
        f["Steps/0"].attrs["where"] = f["Steps/0/Nodes/p1"].ref

    def deep_reference(f):
        f["Analysis/a"] = numpy.zeros(3)
        f["Analysis/b"] = numpy.zeros(3)
        f["Analysis/a"].make_scale("x")
        f["Analysis/b"].dims[0].attach_scale(f["Analysis/a"])

    for put_there, leads_to in ((reference, lambda f: f[f["Steps/0"].attrs["where"]].name),
                                (deep_reference, lambda f: f["Analysis/b"].dims[0][0].name)):
        prof, out, st, err = extended_with_what_users_put(put_there)
        is_equal("%s: status, inputs, steps" % put_there.__name__, (st, inputs(prof), steps(out)),
                 (0, [], {"0": ["p1", "p2"]}))
        with h5py.File(out, "r") as f:
            is_equal("%s leads where it led" % put_there.__name__, leads_to(f),
                     {reference: "/Steps/0/Nodes/p1", deep_reference: "/Analysis/a"}[put_there])


def what_is_in_the_way_in_a_job_file_is_named():
    def tasks(f):
        del f["Steps/0/Tasks"]
        f["Steps/0/Tasks"] = numpy.zeros(3)

    def node(f):
        f["Steps/0/Nodes/p2"] = h5py.SoftLink("/Steps/0/Nodes/p1/Network")

    for put_there, name in ((tasks, "/Steps/0/Tasks"), (node, "/Steps/0/Nodes/p2")):
        prof, out, st, err = extended_with_what_users_put(put_there)
        is_true("%s: refused by name" % put_there.__name__, st == 1 and name in err and
                err.count("\n") == 1 and inputs(prof) == ["7_0_p2.h5"] and
                list(steps(out)) == ["0"], (st, err))


def stocks_job_file_is_extended():
    prof, d = world("7_1_p1.h5"), tmpdir()
    out = os.path.join(d, "job_7.h5")
    shutil.copy(os.path.join(GOLDEN, "job_7.h5"), out)
    with h5py.File(out, "r+") as f:
        del f["Steps/1"]
        more_rows(f["Steps/0/Nodes/p2"])
    expect(0, *merge(prof, "-j", "7", cwd=d))
    is_true("added", holds(out, os.path.join(GOLDEN, "7_1_p1.h5"), "1", "p1"), "")
    with h5py.File(out, "r") as f:
        is_true("totals of the old nodes too", "Totals" in f["Steps/0/Nodes/p2"], "")


def the_same_again_is_fine():
    prof, d = job7(), tmpdir()
    expect(0, *merge(prof, "-j", "7", "-S", cwd=d))
    was = os.stat(os.path.join(d, "job_7.h5"))
    expect(0, *merge(prof, "-j", "7", cwd=d))
    now = os.stat(os.path.join(d, "job_7.h5"))
    is_equal("nothing is rewritten", (was.st_ino, was.st_mtime_ns), (now.st_ino, now.st_mtime_ns))
    is_equal("inputs may go", inputs(prof), [])


def the_same_in_another_layout_is_the_same():
    """Rows are compared, not how they are cut into chunks."""
    prof, d = job7(), tmpdir()
    expect(0, *merge(prof, "-j", "7.0", "-S", cwd=d))

    def relayout(f):
        for table, layout in (("p1/Tasks/0", {}), ("p1/Network", {"chunks": (3,)})):
            rows = f[table][()]
            del f[table]
            f.create_dataset(table, data=rows, **layout)

    edit(prof, "7_0_p1.h5", relayout)
    st, err = merge(prof, "-j", "7.0", cwd=d)
    is_true("it may go", not st and "has all of it already" in err and
            "7_0_p1.h5" not in inputs(prof), err)


def what_else_a_file_holds_is_not_deleted():
    """An attribute, a soft link, a table and a long name beside the node."""
    def attribute(f):
        f.attrs["Comment"] = "precious"

    def link(f):
        f["s"] = h5py.SoftLink("/p1")

    def table(f):
        f["z"] = numpy.zeros(5)

    def long_name(f):
        f["L" * 300] = numpy.zeros(5)

    for add in attribute, link, table, long_name:
        prof, d = job7(), tmpdir()
        edit(prof, "7_0_p1.h5", add)
        status, err = merge(prof, "-j", "7", cwd=d)
        is_true(add.__name__ + ": is refused and stays", status == 1 and
                "holds more than the node p1" in err and inputs(prof) == ["7_0_p1.h5"], (status, err))


def other_content_is_refused_and_kept():
    prof, d = job7(), tmpdir()
    out = os.path.join(d, "job_7.h5")
    expect(0, *merge(prof, "-j", "7", "-S", cwd=d))
    changes = [lambda f: f["p1/Network"].write_direct(f["p1/Network"][()][::-1].copy()),
               lambda f: f["p1"].attrs.modify("Node Index", numpy.array([9], "<i4")),
               lambda f: f.move("p1/Tasks/0", "p1/Tasks/9"),
               lambda f: f["p1"].attrs.create("More", [1], dtype="<i4"),
               lambda f: f["p1"].attrs.create("Node Index", f["p1"].attrs["Node Index"].reshape(()))]
    for i, change in enumerate(changes):
        shutil.copy(os.path.join(GOLDEN, "7_0_p1.h5"), os.path.join(prof, ME))
        edit(prof, "7_0_p1.h5", change)
        st, err = merge(prof, "-j", "7.0", "-S", cwd=d)
        is_true("change %d is named and kept" % i, st == 1 and "7_0_p1.h5" in err and
                "7_0_p1.h5" in inputs(prof), err)
        is_true("and the job file is as it was", holds(out, os.path.join(GOLDEN, "7_0_p1.h5"), "0",
                                                       "p1"), "")


def what_a_table_differs_in_besides_rows_is_content():
    """Two tables of the same bytes: the second one's file is no copy, and must not be deleted."""
    enum = h5py.enum_dtype

    def floats(bias, fields=(31, 23, 8, 0, 23), precision=32, pad=0):
        t = h5py.h5t.IEEE_F32LE.copy()
        t.set_fields(*fields)
        t.set_ebias(bias)
        t.set_precision(precision)
        t.set_inpad(pad)
        return t

    def integers(precision, offset=0):
        t = h5py.h5t.STD_U32LE.copy()
        t.set_precision(precision)
        t.set_offset(offset)
        return t

    def opaque(tag):
        t = h5py.h5t.create(h5py.h5t.OPAQUE, 4)
        t.set_tag(tag)
        return t

    def member(of):
        t = h5py.h5t.create(h5py.h5t.COMPOUND, 12)
        t.insert(b"x", 0, of)
        t.insert(b"n", 4, h5py.h5t.STD_U64LE)
        return t, None

    def array(of):
        return member(h5py.h5t.array_create(of, (1,)))

    def enumeration(names):
        return member(h5py.h5t.py_create(enum(names, "<i4"), logical=True))

    u32 = h5py.h5t.STD_U32LE
    pairs = {
        "fill value": ((member(u32)[0], bytes(12)), (member(u32)[0], bytes([2] * 12))),
        "fill value or none": (member(u32), (member(u32)[0], bytes([2] * 12))),
        "an enumeration's names": (enumeration({"A": 0, "B": 1}), enumeration({"A": 0, "C": 1})),
        "an enumeration's values": (enumeration({"A": 0, "B": 1}), enumeration({"A": 0, "B": 2})),
        "a float's bias": (member(floats(127)), member(floats(120))),
        "a float's fields": (member(floats(127)), member(floats(127, (31, 22, 9, 0, 22)))),
        "a float's padding": (member(floats(127, (15, 10, 5, 0, 10), 16)),
                              member(floats(127, (15, 10, 5, 0, 10), 16, 1))),
        "an integer's precision": (member(integers(32)), member(integers(20))),
        "an integer's offset": (member(integers(20)), member(integers(20, 4))),
        "an opaque type's tag": (member(opaque(b"a")), member(opaque(b"b"))),
        "an array's floats": (array(floats(127)), array(floats(120))),
    }

    def table(of, chunks):
        def add(f):
            dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            if chunks:
                dcpl.set_chunk((2,))
            if of[1]:
                dcpl.set_fill_value(numpy.frombuffer(of[1], [("x", "<u4"), ("n", "<u8")]).reshape(()))
            space = h5py.h5s.create_simple((3,), (3,))
            d = h5py.h5d.create(f["p1"].id, b"extra", of[0], space, dcpl)
            d.write(h5py.h5s.ALL, h5py.h5s.ALL, numpy.ones(3, "V12"), of[0])
        return add

    for (what, (a, b)) in pairs.items():
        for chunks in (False, True):
            prof, d = world("7_0_p1.h5"), tmpdir()
            edit(prof, "7_0_p1.h5", table(a, chunks))
            first = merge(prof, "-j", "7", "-S", cwd=d)
            again = merge(prof, "-j", "7", cwd=d)
            is_equal("%s, chunks %s: itself" % (what, chunks), (first[0], again[0], inputs(prof)),
                     (0, 0, []))
            shutil.copy(os.path.join(GOLDEN, "7_0_p1.h5"), os.path.join(prof, ME))
            edit(prof, "7_0_p1.h5", table(b, chunks))
            st, err = merge(prof, "-j", "7", cwd=d)
            is_true("%s, chunks %s: another" % (what, chunks), st == 1 and inputs(prof) == [
                "7_0_p1.h5"] and "other content" in err, (st, err))


def what_is_no_job_file_is_not_touched():
    d = tmpdir()
    out = os.path.join(d, "job_7.h5")
    for data in (b"", b"precious", open(os.path.join(GOLDEN, "7_0_p1.h5"), "rb").read()):
        with open(out, "wb") as f:
            f.write(data)
        prof = job7()
        st, err = merge(prof, "-j", "7", cwd=d)
        is_true("%d bytes stay" % len(data), st == 1 and open(out, "rb").read() == data and
                len(inputs(prof)) == 4 and os.listdir(d) == ["job_7.h5"], err)
    prof = job7()
    os.unlink(out)
    expect(0, *merge(prof, "-j", "7", "-S", cwd=d))
    os.rename(out, os.path.join(d, "job_8.h5"))
    put(prof, "7_0_p1.h5", "8_0_n1.h5")
    st, err = merge(prof, "-j", "8", cwd=d)
    is_true("another job's file", st == 1 and "8_0_n1.h5" in inputs(prof), err)
    os.symlink("job_8.h5", out)
    st, err = merge(prof, "-j", "7", cwd=d)
    is_true("a link", st == 1 and "symbolic" in err and len(inputs(prof)) == 5, err)


def a_job_file_that_is_open_for_writing_is_not_replaced():
    """As HDF5 itself refuses it; a program that only reads is no hindrance."""
    prof, d = job7(), tmpdir()
    out = os.path.join(d, "job_7.h5")
    expect(0, *merge(prof, "-j", "7", "-S", cwd=d))
    put(prof, "7_1_p1.h5", "7_1_n9.h5")
    program = "import h5py, sys; f = h5py.File(sys.argv[1], sys.argv[2]); print('open', flush=True); sys.stdin.readline(); " \
        "f.attrs['mine'] = 1; f.close()"
    for mode, status in (("r+", 1), ("r", 0)):
        p = start([sys.executable, "-c", program if mode == "r+" else program.replace("f.attrs['mine'] = 1; ", ""), out, mode],
                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        p.stdout.readline()
        before = os.stat(out).st_ino
        for verb in (["merge", "-j", "7", "-p", prof], ["report", "--store", out], ["reduce", "-o", out, out]):
            q = subprocess.run([JOBPROF, *verb], cwd=d, capture_output=True, text=True, timeout=60)
            said = q.stderr.count("open for writing")
            is_equal("open with %s: %s" % (mode, verb[0]), (q.returncode, said, os.stat(out).st_ino == before), (status, status, status == 1))
            before = os.stat(out).st_ino
        p.communicate("\n")
        is_equal("open with %s: the program's own write" % mode, p.returncode, 0)
    with h5py.File(out, "r") as f:
        is_equal("what both wrote is in it", (value(f.attrs["mine"]), "analysis" in f, "n9" in f["Steps/1/Nodes"]), (1, True, True))


# --- running steps, missing nodes ---

def running_steps_are_left_alone():
    prof, d = job7(), tmpdir()
    p = os.path.join(prof, ME)
    os.rename(os.path.join(p, "7_0_p2.h5"), os.path.join(p, ".7_0_p2.h5"))
    shutil.copy(os.path.join(p, "7_1_p1.h5"), os.path.join(p, ".7_1_p1.h5"))  # its end was published
    st, err = merge(prof, "-j", "7", cwd=d)
    expect(1, st, err, "step 0 on p2 is still running")
    is_equal("it is there", inputs(prof), [".7_0_p2.h5", ".7_1_p1.h5"])
    with h5py.File(os.path.join(d, "job_7.h5"), "r") as f:
        a = f["Steps/0"].attrs
        is_equal("missing", (value(a["Missing Nodes"]), value(a["Number of Missing Nodes"])),
                 ("p2", 1))
        is_true("only there", "Missing Nodes" not in f["Steps/1"].attrs, "")
    os.unlink(os.path.join(p, ".7_1_p1.h5"))
    os.rename(os.path.join(p, ".7_0_p2.h5"), os.path.join(p, "7_0_p2.h5"))
    expect(0, *merge(prof, "-j", "7", cwd=d))
    with h5py.File(os.path.join(d, "job_7.h5"), "r") as f:
        is_true("found again", "Missing Nodes" not in f["Steps/0"].attrs, "")


def a_step_without_an_end_of_a_job_that_has_ended_is_said_to_be_one():
    """Its node has lost the rest. The name that the line says merges what there is."""
    prof, d = world("7_0_p1.h5"), tmpdir()
    p = os.path.join(prof, ME)
    for dot in ".7_0_p1.h5", ".7_1_p1.h5":
        shutil.copy(os.path.join(p, "7_0_p1.h5"), os.path.join(p, dot))
    os.unlink(os.path.join(p, "7_0_p1.h5"))
    for state, words in (("COMPLETING", "still running"), ("COMPLETED", "although its job has ended")):
        bin, env = slurm_that_says(squeue="echo '7|%s|5'" % state)
        st, err = merge(prof, "-j", "7", cwd=d, env=env)
        is_equal("%s: status, lines" % state, (st, [words in line for line in err.splitlines()]), (1, [True, True, False]))
        is_equal("%s: asked once" % state, slurp(os.path.join(bin, "asked")).count("squeue"), 1)
    is_true("nothing of it runs", "still runs" not in err, err)
    os.unlink(os.path.join(p, ".7_1_p1.h5"))
    os.rename(os.path.join(p, ".7_0_p1.h5"), os.path.join(p, re.search(r"rename it to (7_0\S+)", err)[1]))
    expect(0, *merge(prof, "-j", "7", cwd=d))
    is_equal("merged", steps(os.path.join(d, "job_7.h5")), {"0": ["p1"]})


def a_step_that_only_runs_has_no_group():
    """Readers take the first node of each step; when the step has ended it comes into the same file."""
    prof, d = job7(), tmpdir()
    p = os.path.join(prof, ME)
    os.rename(os.path.join(p, "7_batch_p1.h5"), os.path.join(p, ".7_batch_p1.h5"))
    for args in (["-S"], []):
        st, err = merge(prof, "-j", "7", cwd=d, *args)
        expect(1, st, err, "step batch on p1 is still running")
        with h5py.File(os.path.join(d, "job_7.h5"), "r") as f:
            is_equal("no group without content", (value(f.attrs["Number of Steps"]), {s: len(f["Steps"][s]["Nodes"]) for s in f["Steps"]}),
                     (2, {"0": 2, "1": 1}))
            empty = []
            f.visititems(lambda name, o: empty.append(name) if isinstance(o, h5py.Group) and not len(o) and not len(o.attrs) else None)
            is_equal("none at all", empty, [])
    os.rename(os.path.join(p, ".7_batch_p1.h5"), os.path.join(p, "7_batch_p1.h5"))
    expect(0, *merge(prof, "-j", "7", cwd=d))
    is_equal("found again", steps(os.path.join(d, "job_7.h5")), {"0": ["p1", "p2"], "1": ["p1"], "batch": ["p1"]})


def a_file_that_slurm_has_open_is_left_alone():
    prof, d = job7(), tmpdir()
    with open(os.path.join(prof, ME, "7_0_p2.h5"), "rb") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        st, err = merge(prof, "-j", "7", cwd=d)
    expect(1, st, err, "7_0_p2.h5", "still running")
    is_equal("it is there", inputs(prof), ["7_0_p2.h5"])


def promised_nodes_are_missing():
    prof, d = world(), tmpdir()
    put(prof, "7_0_p1.h5", "7_0_n1.h5", Step_Node_List="n[1-4,7]", Nodes_in_Step=5)
    put(prof, "7_0_p2.h5", "7_0_n7.h5", Step_Node_List="n[1-4,7]", Nodes_in_Step=5)
    put(prof, "7_1_p1.h5", "7_1_n1.h5", Nodes_in_Step=3)
    st, err = merge(prof, "-j", "7", cwd=d)
    expect(0, st, err, "n2,n3,n4")
    with h5py.File(os.path.join(d, "job_7.h5"), "r") as f:
        is_equal("by name", value(f["Steps/0"].attrs["Missing Nodes"]), "n2,n3,n4")
        is_equal("by number", value(f["Steps/1"].attrs["Number of Missing Nodes"]), 2)


def counts_that_no_job_has_are_unknown():
    for n in (2 ** 63 - 1, 2 ** 32 + 5, 2 ** 31, -3):
        prof, d = world(), tmpdir()
        put(prof, "7_0_p1.h5", "7_0_n1.h5")
        put(prof, "7_0_p2.h5", "7_0_n2.h5")
        for what, name in (("Number of Tasks", "7_0_n1.h5"), ("Nodes in Step", "7_0_n2.h5")):
            edit(prof, name, lambda f: list(f.values())[0].attrs.create(what, [n], dtype="<i8"))
        st, err = merge(prof, "-j", "7", "-S", cwd=d)
        expect(0, st, err, "2 node-step files merged")
        with h5py.File(os.path.join(d, "job_7.h5"), "r") as f:
            is_equal("tasks and missing nodes of %d" % n,
                     ["Tasks" in f.attrs, "Number of Missing Nodes" in f["Steps/0"].attrs,
                      value(f.attrs["Nodes"])], [False, False, 2])


# --- bad input ---

def break_file(path, how):
    data = bytearray(open(path, "rb").read())
    if how == "truncated":
        data = data[:len(data) // 2]
    elif how == "empty":
        data = b""
    elif how == "text":
        data = b"no profile at all\n" * 100
    elif how == "of a running step":
        data = data[:96] + b"\0" * 2160
    elif how == "without signature":
        data[0] = 0
    with open(path, "wb") as f:
        f.write(data)


def bad_inputs_are_named_and_the_rest_merged():
    def table(f, name, dtype=None):
        return f["p1"].create_dataset(name, (3,), dtype=dtype or [("ElapsedTime", "<u8")])

    def gaps(f):
        d = f["p1"].create_dataset("gaps", (50,), dtype=[("ElapsedTime", "<u8")], chunks=(10,),
                                   maxshape=(None,))
        d[0:10] = d[40:50] = numpy.ones(10, d.dtype)

    edits = {
        "wrong node": lambda f: f.move("p1", "p9"),
        "two nodes": lambda f: f.create_group("p9"),
        "soft link": lambda f: f["p1"].__setitem__("x", h5py.SoftLink("/")),
        "external link": lambda f: f["p1"].__setitem__("x", h5py.ExternalLink("/etc/passwd", "/")),
        "link to the root": lambda f: f["p1"].__setitem__("loop", f["/"]),
        "link to itself": lambda f: f["p1"].__setitem__("loop", f["p1"]),
        "deep groups": lambda f: f.create_group("p1/a/b/c"),
        "matrix": lambda f: f["p1"].create_dataset("m", (3, 3)),
        "references": lambda f: f["p1"].attrs.create("r", f["p1"].ref, dtype=h5py.ref_dtype),
        "texts": lambda f: table(f, "v", [("ElapsedTime", "<u8"), ("s", h5py.string_dtype())]),
        "bytes elsewhere": lambda f: f["p1"].create_dataset(
            "e", (3,), dtype=[("ElapsedTime", "<u8")], external=[("/etc/passwd", 0, 24)]),
        "too many rows": lambda f: f["p1"].create_dataset(
            "huge", (1 << 40,), maxshape=(None,), chunks=(10,), dtype=[("ElapsedTime", "<u8")]),
        "rows never written": gaps,
    }
    raw = ("truncated", "empty", "text", "of a running step", "without signature")
    for how in list(edits) + list(raw) + ["directory", "fifo", "rows that do not decode"]:
        prof, d = job7(), tmpdir()
        path = os.path.join(prof, ME, "7_0_p1.h5")
        if how in edits:
            edit(prof, "7_0_p1.h5", edits[how])
        elif how in raw:
            break_file(path, how)
        elif how == "rows that do not decode":
            with h5py.File(path, "r") as f:
                at = f["p1/Tasks/0"].id.get_chunk_info(0).byte_offset
            with open(path, "r+b") as f:
                f.seek(at)
                f.write(b"\xff" * 16)
        else:
            os.unlink(path)
            (os.mkdir if how == "directory" else os.mkfifo)(path)
        quick = os.path.join(d, "quick.h5")
        st, err = merge(prof, "-j", "7", "-S", out=quick)
        good = st == 1 and err.count("7_0_p1.h5") == 1
        is_true("bad, with -S: " + how, good and steps(quick) == {
            "0": ["p2"], "1": ["p1"], "batch": ["p1"]}, "%s %s" % (st, err))
        st, err = merge(prof, "-j", "7", cwd=d)
        out = os.path.join(d, "job_7.h5")
        good = st == 1 and "7_0_p1.h5" in err and inputs(prof) == ["7_0_p1.h5"]
        good = good and steps(out) == {"0": ["p2"], "1": ["p1"], "batch": ["p1"]}
        with h5py.File(out, "r") as f:
            good = good and value(f["Steps/0"].attrs["Missing Nodes"]) == "p1"
        is_true("bad: " + how, good, "%s %s %s" % (st, inputs(prof), err))


def a_filter_that_is_not_there_is_named():
    for totals in (False, True):
        prof, d = job7(), tmpdir()

        def pack(f):
            rows = f["p1/Tasks/0"][()]
            del f["p1/Tasks/0"]
            f["p1/Tasks"].create_dataset("0", data=rows, chunks=(10,), maxshape=(None,), compression="lzf")
            if totals:
                f.create_group("p1/Totals")

        edit(prof, "7_0_p1.h5", pack)
        st, err = merge(prof, "-j", "7", cwd=d)
        expect(1, st, err, "7_0_p1.h5", "filter lzf is not there")
        is_true("Totals: %s: it is not called damaged, and stays" % totals, "damaged" not in err and inputs(prof) == ["7_0_p1.h5"], err)


def what_only_copying_shows_is_named_too():
    """A chunk that the library cannot find, in a file that has Totals."""
    prof, d = world("7_0_p2.h5"), tmpdir()
    path = os.path.join(prof, ME, "7_0_n1.h5")
    is_equal("made", write_ours(os.path.join(our_journals(), "n1.journal"),
                                os.path.join(prof, ME), "7_0_n1.h5"), 0)
    with h5py.File(path, "r") as f:
        at = f["n1/Tasks/1"].id.get_chunk_info(0).byte_offset
    data = open(path, "rb").read()
    where = data.index(at.to_bytes(8, "little"))
    with open(path, "r+b") as f:
        f.seek(where)
        f.write((1 << 40).to_bytes(8, "little"))
    for args in (("-S",), ()):
        out = os.path.join(d, "out%d.h5" % len(args))
        st, err = merge(prof, "-j", "7", *args, out=out)
        is_true("a chunk beyond the end %s" % " ".join(args), st == 1 and steps(out) == {
            "0": ["p2"]} and err.count("7_0_n1.h5") == 1, "%s %s" % (st, err))


def what_is_sound_is_refused_for_the_right_reason():
    def totals(f):
        f["p1"].create_dataset("Totals", data=numpy.ones(3, [("x", "<u8")]))

    def gaps(f, **more):
        d = f["p1"].create_dataset("gaps", (50,), dtype=[("ElapsedTime", "<u8")], chunks=(10,), **more)
        d[0:10] = d[40:50] = numpy.ones(10, d.dtype)

    def texts(f):
        f["p1"].create_dataset("S", data=numpy.array([(b"a",), (b"b",)], [("s", "S4")]))

    reasons = {
        "a table named Totals": (totals, "Totals: not a group"),
        "rows that were never written": (gaps, "gaps: has rows that were never written"),
        "the same, deflated": (lambda f: gaps(f, compression="gzip"),
                               "gaps: has rows that were never written"),
        "a table of texts alone": (texts, "S: has no column of numbers"),
    }
    for what, (change, reason) in reasons.items():
        prof, d = world("7_0_p1.h5", "7_0_p2.h5"), tmpdir()
        edit(prof, "7_0_p1.h5", change)
        st, err = merge(prof, "-j", "7", cwd=d)
        is_true(what, st == 1 and "7_0_p1.h5: " + reason in err and inputs(prof) == ["7_0_p1.h5"] and
                steps(os.path.join(d, "job_7.h5")) == {"0": ["p2"]}, err)


def our_damaged_rows_are_named():
    """Files that have Totals: their chunks are copied as they are stored, but not without a look."""
    def with_fletcher(f):
        rows = f["n1/Tasks/1"][()]
        del f["n1/Tasks/1"]
        f["n1/Tasks"].create_dataset("1", data=rows, chunks=(len(rows),), fletcher32=True)

    for how, change in (("deflate", None), ("fletcher32", with_fletcher)):
        for damage in (False, True):
            prof, d = world("7_0_p2.h5"), tmpdir()
            path = os.path.join(prof, ME, "7_0_n1.h5")
            is_equal("made", write_ours(os.path.join(our_journals(), "n1.journal"),
                                        os.path.join(prof, ME), "7_0_n1.h5"), 0)
            if change:
                edit(prof, "7_0_n1.h5", change)
            with h5py.File(path, "r") as f:
                chunk = f["n1/Tasks/1"].id.get_chunk_info(0)
                is_true("Totals", "n1/Totals/Tasks" in f, list(f["n1"]))
            with open(path, "r+b") as f:
                f.seek(chunk.byte_offset + chunk.size // 2)
                byte = f.read(1)[0]
                f.seek(-1, 1)
                f.write(bytes([byte ^ 0x10 if damage else byte]))
            for args in (("-S",), ()):
                st, err = merge(prof, "-j", "7", *args, out=os.path.join(d, "out%d.h5" % len(args)))
                what = (st, err.count("7_0_n1.h5: Tasks/1: damaged"), inputs(prof).count("7_0_n1.h5"))
                is_equal("%s, %s %s" % (how, "damaged" if damage else "whole", " ".join(args)), what,
                         (1, 1, 1) if damage else (0, 0, len(args)))


def only_the_library_stumbles_over(path, table):
    """Shortens a table without its last chunk, which then lies beyond the end of the file. It has
    an attribute, so that the library copies it."""
    with h5py.File(path, "r+") as f:
        f[table].attrs["More"] = 1
        f[table].resize((30,))
        f[table][29] = f[table][0]
    with h5py.File(path, "r") as f:
        d = f[table].id
        last = max((d.get_chunk_info(i) for i in range(d.get_num_chunks())),
                   key=lambda c: c.chunk_offset)
    data = open(path, "rb").read()
    number = lambda n: n.to_bytes(8, "little")
    rows = number(30) + number(2**64 - 1)
    if data.count(rows) != 1:
        raise Failed("%d tables of 30 rows" % data.count(rows))
    data = data.replace(rows, number(10) + number(2**64 - 1))
    data = data.replace(number(last.byte_offset), number(1 << 40))
    with open(path, "wb") as f:
        f.write(data)


def a_refused_file_is_named_once():
    """Whatever the tries: what the library will not copy is found while copying."""
    prof, d = world("7_0_p1.h5", "7_0_p2.h5"), tmpdir()
    with h5py.File(os.path.join(prof, ME, "7_0_p1.h5"), "r") as f:
        table = next("p1/Tasks/" + t for t in f["p1/Tasks"])
    only_the_library_stumbles_over(os.path.join(prof, ME, "7_0_p1.h5"), table)
    shutil.copy(os.path.join(GOLDEN, "7_0_p2.h5"), os.path.join(prof, ME, "7_0_a.h5"))
    for args in (("-S",), ()):
        out = os.path.join(d, "out%d.h5" % len(args))
        st, err = merge(prof, "-j", "7", *args, out=out)
        is_equal("status, and what is merged %s" % " ".join(args), (st, steps(out)),
                 (1, {"0": ["p2"]}))
        is_equal("each is named once %s" % " ".join(args),
                 (err.count("7_0_a.h5: "), err.count("7_0_p1.h5: ")), (1, 1))
        is_true("the group that is not copied is named %s" % " ".join(args), "7_0_p1.h5: /p1: damaged: " in err, err)
    is_equal("they stay", inputs(prof), ["7_0_a.h5", "7_0_p1.h5"])


def it_is_read_back_if_something_is_at_stake():
    prof, d = job7(), tmpdir()
    out = os.path.join(d, "x.h5")
    for args, said in ((("-j", "7.0", "-S"), "not compared"), (("-j", "7.1", "-S"), ": compared:"),
                       (("-j", "7"), ": compared:")):
        st, err = merge(prof, "-v", *args, out=out)
        is_true("%s: %s" % (" ".join(args), said), not st and said in err, err)


def under_strace(prof, d, *options):
    p = subprocess.run(["strace", "-f", "-qq", "-e", "trace=pwrite64", *options, JOBPROF, "merge", "-j",
                        "7", "-p", prof, *READERS], cwd=d, capture_output=True, text=True)
    if "ptrace" in p.stderr:
        raise Skipped("strace cannot trace here")
    return p


def eight_nodes():
    prof = tmpdir("prof")
    for k in range(8):
        put(prof, "7_0_p1.h5", "7_0_n%d.h5" % k)
    return prof


def from_its_name_on_it_can_be_read():
    """Readers lock the file; here its maker has its name given, and is held there."""
    prof, d = job7(), tmpdir()
    out = os.path.join(d, "job_7.h5")
    p = start(["strace", "-f", "-o", "/dev/null", "-e", "trace=renameat2", "-e",
               "inject=renameat2:delay_exit=1000000", JOBPROF, "merge", "-j", "7", "-p", prof, "-S"],
              cwd=d, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: os.path.exists(out) or p.poll() is not None, 20, "the job file")
    if not os.path.exists(out):
        err = p.communicate()[1]
        raise (Skipped("strace cannot trace here") if "ptrace" in err else Failed(err))
    steps(out)
    is_true("read before its maker went on", p.poll() is None, "too late")
    is_equal("its maker's status", p.wait(20), 0)


def a_job_file_that_goes_meanwhile_deletes_nothing():
    """It has all of the inputs, but is removed or replaced before these are deleted."""
    if not shutil.which("strace"):
        raise Skipped("no strace")
    for what in "removed", "replaced":
        prof, d = job7(), tmpdir()
        out = os.path.join(d, "job_7.h5")
        expect(0, *merge(prof, "-j", "7", "-S", cwd=d))
        were = inputs(prof)
        p = start(["strace", "-f", "-o", "/dev/null", "-e", "trace=fsync", "-e",
                   "inject=fsync:delay_enter=2000000", JOBPROF, "merge", "-j", "7", "-p", prof],
                  cwd=d, stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        if what == "removed":
            os.unlink(out)
        else:
            shutil.copy(out, out + ".new")
            os.rename(out + ".new", out)
        err = p.communicate()[1]
        if "ptrace" in err:
            raise Skipped("strace cannot trace here")
        is_true(what + ": it is said", p.returncode == 1 and "changed by another program" in err, err)
        is_equal(what + ": the inputs are there", inputs(prof), were)


def what_does_not_read_back_deletes_nothing():
    """Each write in turn is said to be done, and is not: that is found, or it is written again."""
    if not shutil.which("strace"):
        raise Skipped("no strace")
    log, bad, found = os.path.join(tmpdir(), "log"), [], 0
    under_strace(eight_nodes(), tmpdir(), "-o", log)
    sizes = re.findall(r"pwrite64.* = (\d+)$", open(log).read(), re.M)
    for n, size in enumerate(sizes):
        prof, d = eight_nodes(), tmpdir()
        p = under_strace(prof, d, "-o", "/dev/null", "-e",
                         "inject=pwrite64:retval=%s:when=%d" % (size, n + 1))
        if not p.returncode:
            right = all(holds(os.path.join(d, "job_7.h5"), os.path.join(GOLDEN, "7_0_p1.h5"), "0",
                              "n%d" % k, of="p1") for k in range(8))
        else:
            found += 1
            right = ("the copy differs from its inputs: given up; nothing was deleted" in p.stderr and
                     len(inputs(prof)) == 8 and not os.listdir(d))
        if not right:
            bad.append((n, p.stderr, inputs(prof), os.listdir(d)))
    is_true("writes that are lost are found", found >= 2 and not bad,
            "%d of %s, %s" % (found, sizes, bad[:2]))


def links_and_foreign_names_are_left_alone():
    prof, d, secret = job7(), tmpdir(), os.path.join(tmpdir(), "secret.h5")
    p = os.path.join(prof, ME)
    shutil.copy(os.path.join(GOLDEN, "7_0_p1.h5"), secret)
    os.symlink(secret, os.path.join(p, "7_2_p1.h5"))
    os.mkdir(os.path.join(d, "away"))
    shutil.copy(secret, os.path.join(d, "away", "7_0_p1.h5"))
    os.symlink(os.path.join(d, "away"), os.path.join(p, "restart3"))
    names = ["7_0_p1.h5.bak", "7_x_p1.h5", "7_0_.h5", "7_00_p1.h5", "7_0_a\nb.h5", "7_0_p1.h5.h5"]
    for n in names:
        shutil.copy(secret, os.path.join(p, n))
    others = ["77_0_p1.h5", "notes", "x7_0_p1.h5", ".7_0_p1.h5.tmp"]
    for n in others:
        shutil.copy(secret, os.path.join(p, n))
    st, err = merge(prof, "-j", "7", cwd=d)
    is_equal("status", st, 1)
    is_equal("all of them are there", inputs(prof), sorted(names + others + ["7_2_p1.h5", "restart3"]))
    is_true("the link's file too", os.path.exists(secret) and
            os.path.exists(os.path.join(d, "away", "7_0_p1.h5")), "")
    is_true("named, harmlessly", all(w in err for w in names[:4] + ["7_2_p1.h5", "7_0_a\\x0ab.h5"])
            and "\nb.h5" not in err, err)
    is_true("others are not", not any(w in err for w in others[:3]), err)
    is_equal("nothing of them is merged", "2" in steps(os.path.join(d, "job_7.h5")), False)
    os.rename(p, p + ".real")
    os.symlink(p + ".real", p)
    st, err = merge(prof, "-j", "7", cwd=d)
    if STOCK:
        a, b = (extract(f, "7", "-s", "Tasks", "-E", "-l", "Node:TimeSeries")
                for f in (os.path.join(d, "job_7.h5"), os.path.join(GOLDEN, "job_7.h5")))
        is_true("a step without nodes is no trouble to sh5util", a == b, (a[:2], b[:2]))
    else:
        skip("a step without nodes is no trouble to sh5util", "there is no sh5util of Slurm's")
    is_true("a user's directory that is a link", st == 1 and "no directory" in err, err)


def nothing_good_makes_no_file():
    prof, d = world("7_0_p1.h5"), tmpdir()
    break_file(os.path.join(prof, ME, "7_0_p1.h5"), "truncated")
    st, err = merge(prof, "-j", "7", cwd=d)
    is_true("no file", st == 1 and not os.listdir(d) and inputs(prof) == ["7_0_p1.h5"], err)


# --- faults ---

def wide_job7(rows=3000):
    """Four files of job 7 that take 60 KiB or more each."""
    prof, rng = job7(), numpy.random.default_rng(7)
    for name in inputs(prof):
        edit(prof, name, lambda f: f[list(f)[0]].create_dataset(
            "Noise", data=numpy.rec.fromarrays([rng.random(rows), rng.random(rows)],
                                               names="ElapsedTime,X"), chunks=(500,)))
    return prof


def full_disk_loses_nothing():
    if os.geteuid():
        raise Skipped("needs root to mount a small file system")
    d = tmpdir("full")
    for kib, make in ((8, job7), (12, job7), (16, job7), (24, job7), (100, wide_job7),
                      (150, wide_job7), (200, wide_job7)):
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dk" % kib, "jptest", d]).returncode:
            raise Skipped("no tmpfs can be mounted")
        try:
            prof = make()
            for keep in ((), ("-S",)):
                st, err = merge(prof, "-j", "7", *keep, cwd=d)
                is_true("full at %d KiB %s" % (kib, keep), st == 1 and len(inputs(prof)) == 4 and
                        "No space" in err and "damaged" not in err and not os.listdir(d),
                        "%s %s" % (os.listdir(d), err))
        finally:
            subprocess.run(["umount", "-l", d], check=True)


def no_more_room_is_no_damage():
    """Where the file system has room, but this process may not use it, as with a quota: whichever write fails first."""
    def limit(size):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    prof, wrong, full = job7(), [], 0
    for size in range(1024, 24 * 1024, 2048):
        d = tmpdir()
        p = subprocess.run([JOBPROF, "merge", "-j", "7", "-p", prof, "-S", *READERS], cwd=d, capture_output=True, text=True, restore_signals=False,
                           preexec_fn=functools.partial(limit, size))
        full += p.returncode == 1
        if p.returncode != 1 or "File too large" not in p.stderr or "damaged" in p.stderr or os.listdir(d):
            wrong.append((size, p.returncode, p.stderr, os.listdir(d)))
    is_true("no more room, %d times" % full, full > 8 and not wrong, wrong[:2])


def unwritable_directory_loses_nothing():
    d = tmpdir("ro")
    prof = job7()
    st, err = merge(prof, "-j", "7", out=os.path.join(d, "no", "x.h5"))
    is_true("no directory", st == 1 and len(inputs(prof)) == 4, err)
    if os.geteuid() == 0 and shutil.which("setpriv"):
        os.chmod(prof, 0o755)
        os.chmod(TMP, 0o755)
        p = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", JOBPROF, "merge", "-j",
                            "7", "-p", prof, "-u", ME], cwd=d, capture_output=True, text=True)
        is_true("not writable", p.returncode == 1 and len(inputs(prof)) == 4 and not os.listdir(d),
                p.stderr)


def all_there(prof, d):
    """Every node is whole in the job file, or its input is there; no half file has the name."""
    out, have = os.path.join(d, "job_7.h5"), {}
    if os.path.exists(out):
        have = steps(out)
    for name in ("7_0_p1.h5", "7_0_p2.h5", "7_1_p1.h5", "7_batch_p1.h5"):
        _, step, node = name[:-3].split("_")
        if name in inputs(prof):
            continue
        if node not in have.get(step, ()) or not holds(out, os.path.join(GOLDEN, name), step, node):
            return "%s is gone" % name
    return None


def killed_at_any_call_nothing_is_lost():
    if not shutil.which("strace"):
        raise Skipped("no strace")
    calls = [("pwrite64", 40), ("fsync", 2), ("renameat2", 1), ("unlinkat", 4), ("pread64", 30),
             ("openat", 60), ("ftruncate", 2)]
    tries, bad, hit = 0, [], 0
    for call, most in calls:
        for n in sorted(random.sample(range(1, most + 1), min(most, 5))):
            prof, d = job7(), tmpdir()
            cmd = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call, "-e",
                   "inject=%s:signal=KILL:when=%d" % (call, n), JOBPROF, "merge", "-j", "7", "-p", prof,
                   *READERS]
            p = subprocess.run(cmd, cwd=d, capture_output=True, text=True)
            if "ptrace" in p.stderr:
                raise Skipped("strace cannot trace here")
            tries += 1
            hit += p.returncode != 0
            why = all_there(prof, d)
            if not why:
                st, err = merge(prof, "-j", "7", cwd=d) if inputs(prof) else (0, "")
                why = err if st else all_there(prof, d)
                if not why and (inputs(prof) or os.listdir(d) != ["job_7.h5"]):
                    why = "left %s %s" % (inputs(prof), os.listdir(d))
            if why:
                bad.append((call, n, why))
    is_true("killed at %d calls" % hit, hit >= 8 and not bad, "%d hits, %s" % (hit, bad[:3]))


def killed_alone_it_leaves_nothing():
    """The process that its caller knows, while its children make the file, copy, or delete what a job file has already."""
    for call, known in ("flock", False), ("pwrite64", False), ("unlinkat", True):
        prof, d = job7(), tmpdir()
        if known:
            expect(0, *merge(prof, "-j", "7", "-S", cwd=d))
        p = start(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call, "-e", "inject=%s:delay_exit=200000" % call, JOBPROF, "merge",
                   "-j", "7", "-p", prof, *READERS], cwd=d, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: p.poll() is not None or (len(inputs(prof)) < 4 if known else ".job_7.h5.merge" in os.listdir(d)), 20, "its begin")
        for pid in slurp("/proc/%d/task/%d/children" % (p.pid, p.pid)).split():
            os.kill(int(pid), signal.SIGKILL)
        err = p.communicate()[1]
        if "ptrace" in err:
            raise Skipped("strace cannot trace here")
        is_equal("killed alone at %s" % call, [p.returncode, all_there(prof, d), os.listdir(d)], [-9, None, ["job_7.h5"] * known])


def killed_at_any_time_nothing_is_lost():
    bad, hit = [], 0
    rnd = random.Random(7)
    for i in range(25):
        prof, d = job7(), tmpdir()
        p = subprocess.Popen([JOBPROF, "merge", "-j", "7", "-p", prof, *READERS], cwd=d,
                             stderr=subprocess.PIPE)
        time.sleep(rnd.random() * 0.04)
        p.kill()
        p.communicate()  # until its children, which have the pipe too, are gone
        hit += p.returncode != 0
        why = all_there(prof, d)
        if not why and inputs(prof):
            st, err = merge(prof, "-j", "7", cwd=d)
            why = err if st else all_there(prof, d)
        if not why and os.listdir(d) != ["job_7.h5"]:
            why = os.listdir(d)
        if why:
            bad.append(why)
    is_true("killed %d times" % hit, not bad, bad[:3])


def a_signal_that_ends_the_writer_ends_the_merge():
    """Signals come at calls of the child that writes."""
    for sig in ("TERM", "INT", "PIPE"):
        for call in ("pwrite64", "fsync", "renameat2"):
            prof, d = job7(), tmpdir()
            out = os.path.join(d, "job_7.h5")
            p = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call, "-e",
                                "inject=%s:signal=%s:when=1" % (call, sig), JOBPROF, "merge", "-j",
                                "7", "-p", prof, "-S", *READERS], cwd=d, capture_output=True, text=True)
            if "ptrace" in p.stderr:
                raise Skipped("strace cannot trace here")
            whole = call == "renameat2"  # the signal comes when that is done
            at = "%s at %s%s" % (sig, call, " " if READERS else "")
            is_equal(at + ": status", p.returncode, -getattr(signal, "SIG" + sig))
            is_equal(at + ": said, left", (p.stderr.count("interrupted; nothing was deleted"),
                                           os.listdir(d)), (1, ["job_7.h5"] if whole else []))
            if whole:
                is_true(at + ": whole", all(holds(out, os.path.join(GOLDEN, i), *i[2:-3].split("_"))
                                            for i in inputs(prof)), p.stderr)


def leftovers_are_removed_only_if_surely_ours():
    prof, d = job7(), tmpdir()
    tmp = os.path.join(d, ".job_7.h5.merge")
    with open(tmp, "wb") as f:
        f.write(b"half")
        f.flush()
        fcntl.flock(f, fcntl.LOCK_EX)
        st, err = merge(prof, "-j", "7", cwd=d)
        is_true("another merge's", st == 1 and "another merge" in err and os.path.exists(tmp), err)
    os.unlink(tmp)
    os.symlink("/etc/passwd", tmp)
    st, err = merge(prof, "-j", "7", cwd=d)
    is_true("a link", st == 1 and os.path.islink(tmp) and len(inputs(prof)) == 4, err)
    os.unlink(tmp)
    os.mkdir(tmp)
    st, err = merge(prof, "-j", "7", cwd=d)
    is_true("a directory", st == 1 and os.path.isdir(tmp), err)
    os.rmdir(tmp)
    with open(tmp, "wb") as f:
        f.write(b"half")
    expect(0, *merge(prof, "-j", "7", cwd=d))
    is_equal("a dead one's", os.listdir(d), ["job_7.h5"])


def a_file_that_comes_before_the_deletion_stays():
    """It gets the name after the merged file was copied: the job file has its name by then."""
    prof, d = job7(), tmpdir()
    top, out = os.path.join(prof, ME), os.path.join(d, "job_7.h5")
    for n in inputs(prof)[1:]:
        os.unlink(os.path.join(top, n))
    new = os.path.join(top, "new")
    shutil.copy(os.path.join(GOLDEN, "7_0_p2.h5"), new)
    p = start(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat2", "-e",
               "inject=renameat2:delay_exit=1000000:when=1",
               JOBPROF, "merge", "-j", "7", "-p", prof, *READERS], cwd=d, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: os.path.exists(out) or p.poll() is not None, 20, "the job file")
    os.rename(new, os.path.join(top, "7_0_p1.h5"))
    err = p.communicate()[1]
    if "ptrace" in err:
        raise Skipped("strace cannot trace here")
    stays = os.path.join(top, "7_0_p1.h5")
    is_true("the other file stays", inputs(prof) == ["7_0_p1.h5"] and open(stays, "rb").read() ==
            open(os.path.join(GOLDEN, "7_0_p2.h5"), "rb").read(), inputs(prof))
    is_true("and it is said", p.returncode == 1 and "changed meanwhile" in err and
            steps(out) == {"0": ["p1"]}, err)


def two_at_once_lose_nothing():
    for i in range(5):
        prof, d = job7(), tmpdir()
        ps = [subprocess.Popen([JOBPROF, "merge", "-j", "7", "-p", prof], cwd=d,
                               stderr=subprocess.DEVNULL) for _ in range(3)]
        sts = [p.wait() for p in ps]
        why = all_there(prof, d)
        if why or 0 not in sts:
            not_ok("two at once", (why, sts))
            return
    ok("two at once")


@in_full
def many_nodes_and_threads():
    prof, d = world(), tmpdir()
    for n in range(1, 131):
        put(prof, "7_1_p1.h5", "7_0_n%d.h5" % n)
    sizes = set()
    for threads in ("1", "2", "7", "200"):
        out = os.path.join(d, "t%s.h5" % threads)
        expect(0, *merge(prof, "-j", "7", "-S", "--threads", threads, out=out))
        with h5py.File(out, "r") as f, h5py.File(os.path.join(d, "t1.h5"), "r") as one:
            why = same_tree(one["Steps/0/Nodes"], f["Steps/0/Nodes"])
        is_true("%s threads" % threads, why is None and len(steps(out)["0"]) == 130, why)
        sizes.add(os.path.getsize(out))
    is_equal("the same size whatever the threads", len(sizes), 1)


@in_full
def with_processes_that_read():
    READERS[:] = ["--threads", "3"]
    try:
        for test in (inputs_go_only_without_S, totals_that_our_file_has_lost_are_made_again,
                     a_job_file_is_extended,
                     bad_inputs_are_named_and_the_rest_merged, what_only_copying_shows_is_named_too,
                     a_refused_file_is_named_once, it_is_read_back_if_something_is_at_stake,
                     what_does_not_read_back_deletes_nothing,
                     killed_at_any_call_nothing_is_lost, killed_alone_it_leaves_nothing, killed_at_any_time_nothing_is_lost,
                     a_signal_that_ends_the_writer_ends_the_merge):
            test()
    finally:
        READERS.clear()


run_tests([merged_file_is_the_stock_tree_and_more, totals_are_what_the_rows_say,
           stock_reads_ours_as_its_own, others_read_it, our_files_keep_their_totals,
           totals_that_our_file_has_lost_are_made_again,
           inputs_go_only_without_S, steps_are_filtered, several_jobs_give_several_files,
           wrong_usage_is_status_2, nothing_found_is_status_1, users_by_name_and_number, files_as_run_leaves_them,
           directory_from_slurms_configuration, array_tasks_and_components_by_attributes,
           a_jobs_id_that_is_an_arrays_means_its_tasks, a_job_that_runs_is_said_to,
           wait_does_not_take_the_file_of_an_earlier_job, a_job_without_files_that_runs_is_said_to,
           a_job_that_is_merged_beside_its_files_is_said_to,
           restarted_runs_have_files_of_their_own, two_jobs_of_one_id_are_not_one,
           a_long_job_is_one, runs_before_a_requeue_have_files_of_their_own, job_start_chooses,
           a_file_without_any_start_is_of_the_job_that_is_chosen_only_if_it_is_the_only_one,
           a_file_without_its_jobs_start_is_of_the_job_that_began_last_before,
           a_later_job_is_not_merged_into_the_file_of_an_earlier_one, a_job_file_is_extended,
           notes_in_a_job_file_stay, all_that_users_put_into_a_job_file_stays,
           references_in_a_job_file_stay, what_is_in_the_way_in_a_job_file_is_named, what_else_a_file_holds_is_not_deleted,
           a_job_file_that_goes_meanwhile_deletes_nothing, stocks_job_file_is_extended, the_same_again_is_fine,
           the_same_in_another_layout_is_the_same, other_content_is_refused_and_kept,
           what_a_table_differs_in_besides_rows_is_content,
           what_is_no_job_file_is_not_touched, a_job_file_that_is_open_for_writing_is_not_replaced,
           running_steps_are_left_alone, a_step_without_an_end_of_a_job_that_has_ended_is_said_to_be_one, a_step_that_only_runs_has_no_group,
           a_file_that_slurm_has_open_is_left_alone, promised_nodes_are_missing,
           counts_that_no_job_has_are_unknown,
           bad_inputs_are_named_and_the_rest_merged, a_filter_that_is_not_there_is_named, what_only_copying_shows_is_named_too,
           what_is_sound_is_refused_for_the_right_reason, our_damaged_rows_are_named, a_refused_file_is_named_once,
           it_is_read_back_if_something_is_at_stake, from_its_name_on_it_can_be_read,
           what_does_not_read_back_deletes_nothing,
           links_and_foreign_names_are_left_alone,
           nothing_good_makes_no_file, full_disk_loses_nothing, no_more_room_is_no_damage, unwritable_directory_loses_nothing,
           killed_at_any_call_nothing_is_lost, killed_alone_it_leaves_nothing, killed_at_any_time_nothing_is_lost,
           a_signal_that_ends_the_writer_ends_the_merge,  leftovers_are_removed_only_if_surely_ours,
           a_file_that_comes_before_the_deletion_stays, two_at_once_lose_nothing, many_nodes_and_threads, with_processes_that_read])
