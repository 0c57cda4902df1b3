#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 180
"""Where the tools for job files meet: the same words mean the same to each of them, none writes over
what it reads, and a merge holds what is sound whatever lies beside it."""

import stat
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *
import hostilelib

GOLDEN = os.path.join(ROOT, "tests", "data", "golden")
HOSTILE = os.path.join(ROOT, "tests", "data", "hostile")
SH5UTIL = os.path.join(BUILD, "sh5util")
JOB = os.path.join(GOLDEN, "job_7.h5")
READERS = {
    "extract": [JOBPROF, "extract", "-s", "Tasks", "-o", "-"],
    "items": [JOBPROF, "items", "-s", "Tasks", "-d", "RSS"],
    "list": [JOBPROF, "list"],
    "sh5util -E": [SH5UTIL, "-E", "-s", "Tasks", "-o", "-"],
    "sh5util -I": [SH5UTIL, "-I", "-s", "Tasks", "-d", "RSS", "-o", "-"],
    "sh5util -L": [SH5UTIL, "-L", "-s", "Tasks"],
}


def run(cmd, cwd=TMP, **kw):
    p = subprocess.run(cmd, cwd=cwd, capture_output=True, text=True, errors="replace", timeout=100,
                       **kw)
    return p.returncode, p.stdout, p.stderr


def with_job(*jobs):
    d = tmpdir("out")
    for j in jobs:
        shutil.copy(JOB, os.path.join(d, "job_%s.h5" % j))
    return d


def profile(*files):
    """A profile directory of user u: golden files, or makers of (name, function of a path)."""
    d = tmpdir("prof")
    os.mkdir(os.path.join(d, "u"))
    for f in files:
        if isinstance(f, str):
            shutil.copy(os.path.join(GOLDEN, f), os.path.join(d, "u"))
        else:
            f[1](os.path.join(d, "u", f[0]))
    return d


def merge(prof, job, *args, cwd=None):
    out = cwd or tmpdir("out")
    return (out,) + run([JOBPROF, "merge", "-j", job, "-p", prof, "-u", "u"] + list(args), out)


def nodes(path):
    if not os.path.exists(path):
        return None
    with h5py.File(path, "r") as f:
        return sorted("%s/%s" % (s, n) for s in f["Steps"] for n in f["Steps"][s].get("Nodes", {}))


def left(prof):
    return sorted(os.listdir(os.path.join(prof, "u")))


def expect(what, got, status, *words):
    missing = [w for w in words if w not in got[-1]]
    is_true(what, got[-3] == status and not missing,
            "status %s, wanted %s; %s is not in: %s" % (got[-3], status, missing, got[-1]))


# --- the same words ---

def jobs_mean_the_same():
    d = with_job(7)
    for name, cmd in READERS.items():
        all_of, one = run(cmd + ["-j", "7"], d), run(cmd + ["-j", "7.0"], d)
        is_true("%s: -j JOB.STEP is some of -j JOB" % name,
                all_of[0] == one[0] == 0 and len(one[1]) <= len(all_of[1]), (all_of[2], one[2]))
        is_equal("%s: -j JOB.STEP,JOB is the job" % name, run(cmd + ["-j", "7.0,7"], d)[1], all_of[1])
        is_equal("%s: any order of steps" % name, run(cmd + ["-j", "7.batch,7.0"], d)[1],
                 run(cmd + ["-j", "7.0,7.batch"], d)[1])
        expect("%s: a step that is not there, by its name" % name, run(cmd + ["-j", "7.extern"], d),
               1, "there is no step extern")
        wrong = 255 if name.startswith("sh5util") else 2
        expect("%s: no job" % name, run(cmd + ["-j", "7.x"], d), wrong, "7.x")
        expect("%s: nothing after the comma" % name, run(cmd + ["-j", "7,"], d), wrong)
        expect("%s: a task of an array that no file is of" % name, run(cmd + ["-j", "7_1"], d),
               255 if wrong == 255 else 1, "7_1: no " if wrong == 255 else "7_1: there is no profile")


def nodes_mean_the_same():
    d = with_job(7)
    tools = dict(READERS, show=[JOBPROF, "show", "job_7.h5"])
    for name, cmd in tools.items():
        cmd = cmd + ([] if name == "show" else ["-j", "7"])
        wrong = 255 if name.startswith("sh5util") else 2
        both = run(cmd + ["-N", "p[1-2]"], d)
        is_true("%s: -N p[1-2]" % name, both[0] == 0 and both[1], both)
        is_equal("%s: -N p2,p1" % name, run(cmd + ["-N", "p2,p1"], d)[1], both[1])
        is_equal("%s: -N '*' is all" % name, run(cmd + ["-N", "*"], d)[:2], run(cmd, d)[:2])
        some = run(cmd + ["-N", "p[1-3]"], d)
        is_true("%s: a node that is not there is named, the others are not lost" % name,
                some[0] == 1 and some[1] == both[1] and "there is no node p3" in some[2], some)
        for bad in ("p[2-1]", "p[1", ""):
            expect("%s: -N '%s'" % (name, bad), run(cmd + ["-N", bad], d), wrong)


def nothing_there_is_one_line():
    d = with_job(7)
    for name in ("extract", "items", "list"):
        got = run(READERS[name] + ["-j", "7.9"] + (["-s", "Tasks"] if name == "list" else []), d)
        is_equal("%s: no such step" % name, (got[0], got[2].count("\n")), (1, 1))


# --- outputs ---

def nobody_writes_over_what_is_read():
    for name in ("extract", "items", "sh5util -E", "sh5util -I"):
        for out in ("job_7.h5", "./job_7.h5", "link"):
            d = with_job(7)
            os.link(os.path.join(d, "job_7.h5"), os.path.join(d, "link"))
            got = run(READERS[name] + ["-j", "7", "-o", out], d)
            is_equal("%s -o %s: the job file stays" % (name, out),
                     (got[0], nodes(os.path.join(d, "job_7.h5")), len(os.listdir(d))),
                     (255 if "sh5" in name else 1, nodes(JOB), 2))


def a_job_file_does_not_go_to_standard_output():
    prof, d = profile("7_0_p1.h5"), tmpdir("out")
    expect("merge -o -", merge(prof, "7", "-o", "-", cwd=d), 2, "standard output")
    expect("sh5util -o -", run([SH5UTIL, "-j", "7", "-p", prof, "-u", "root", "-o", "-"], d), 255)
    is_equal("nothing is made or deleted", (os.listdir(d), left(prof)), ([], ["7_0_p1.h5"]))


def a_full_output_is_a_failure():
    d = with_job(7)
    tools = dict(READERS, builtin=[JOBPROF, "list"], help=[JOBPROF, "help"],
                 show=[JOBPROF, "show", "job_7.h5"])
    for name, cmd in tools.items():
        if name in READERS:
            cmd = cmd + ["-j", "7"]
        with open("/dev/full", "w") as full:
            p = subprocess.run(cmd, cwd=d, stdout=full, stderr=subprocess.PIPE, text=True)
        is_true("%s > /dev/full" % name, p.returncode == 1 and "No space left" in p.stderr,
                (p.returncode, p.stderr))
        is_true("%s > /dev/full: the file is not to blame" % name,
                "job_7.h5: /" not in p.stderr, p.stderr)


def modes_stay():
    prof, d = profile("7_0_p1.h5"), tmpdir("out")
    job, csv = os.path.join(d, "job_7.h5"), os.path.join(d, "extract_7.csv")
    merge(prof, "7", cwd=d)
    os.chmod(job, 0o600)
    if not os.geteuid():
        os.chown(job, 1, 1)
    shutil.copy(os.path.join(GOLDEN, "7_1_p1.h5"), os.path.join(prof, "u"))
    merge(prof, "7", cwd=d)
    st = os.stat(job)
    is_equal("an extended file keeps its mode", (stat.S_IMODE(st.st_mode), nodes(job)),
             (0o600, ["0/p1", "1/p1"]))
    is_equal("and owner", st.st_uid, 1 if not os.geteuid() else os.geteuid())
    for mode in (None, 0o640):
        run(READERS["extract"][:-1] + [".", "--overwrite", "-j", "7"], d)
        if mode:
            is_equal("so does a CSV file", stat.S_IMODE(os.stat(csv).st_mode), mode)
        os.chmod(csv, 0o640)


# --- what lies beside ---

def old_layout(path):
    with h5py.File(path, "w") as f:
        one = numpy.array([(b"2014-01-01 00:00:00", 0, 100)],
                          [("Date_Time", "S24"), ("Time", "<u8"), ("Power", "<u8")])
        f.create_group("Node_n1").create_group("Totals")
        f.create_dataset("Node_n1/Time Series/Energy/Energy_0000000000", data=one)


def old_job(path):
    with h5py.File(path, "w") as f:
        f.create_group("Step_0/Nodes/Node_n1/Totals")


def the_layout_before_15_08_is_said():
    prof = profile(("9_0_n1.h5", old_layout), "7_0_p1.h5")
    d, node = tmpdir("out"), os.path.join(prof, "u", "9_0_n1.h5")
    old_job(os.path.join(d, "job_9.h5"))
    for path in (node, os.path.join(d, "job_9.h5")):
        for name in ("extract", "items", "list"):
            expect("%s: %s" % (name, os.path.basename(path)), run(READERS[name] + ["-i", path]), 1,
                   "before 15.08")
        expect("show: %s" % os.path.basename(path), run([JOBPROF, "show", path]), 1, "before 15.08")
    got = merge(prof, "9", "-o", "other.h5", cwd=d)
    expect("merge", got, 1, "before 15.08")
    is_equal("nothing is made or deleted", (nodes(os.path.join(d, "other.h5")), left(prof)),
             (None, ["7_0_p1.h5", "9_0_n1.h5"]))


def a_sound_node_is_merged_whatever_lies_beside_it():
    makers = dict(hostilelib.CASES)
    del makers["deflate bomb"]  # some seconds
    for name in os.listdir(HOSTILE):
        if name.endswith(".h5"):
            makers[name] = lambda path, name=name: shutil.copy(os.path.join(HOSTILE, name), path)
    merged = 0
    for name, make in sorted(makers.items()):
        prof = profile("7_1_p1.h5", ("7_0_n1.h5", make))
        before = left(prof)
        out, status, _, err = merge(prof, "7", "-S")
        kept, files = nodes(os.path.join(out, "job_7.h5")), left(prof)
        if not kept or "1/p1" not in kept or files != before or status != ("0/n1" not in kept):
            raise Failed("%s, -S: status %d, %s merged, %s left: %s" % (name, status, kept, files, err))
        out, status, _, err = merge(prof, "7")
        has, files = nodes(os.path.join(out, "job_7.h5")), left(prof)
        merged += "0/n1" in (has or [])
        if (not has or "1/p1" not in has or "7_1_p1.h5" in files or
                ("0/n1" in has) == ("7_0_n1.h5" in files) or
                status != ("0/n1" not in has) or (status and "7_0_n1.h5: " not in err)):
            raise Failed("%s: status %d, %s merged, %s left: %s" % (name, status, has, files, err))
    is_true("a sound node is merged whatever lies beside it", 8 < merged < len(makers),
            "%d of %d were merged too" % (merged, len(makers)))


def wide_tables_are_merged_without_totals():
    prof = profile("7_1_p1.h5", ("7_0_n1.h5", hostilelib.CASES["1000 columns"]))
    before = run(READERS["extract"] + ["-i", os.path.join(prof, "u", "7_0_n1.h5")])
    out, status, _, err = merge(prof, "7")
    got = run(READERS["extract"] + ["-j", "7.0"], out)
    is_true("more columns than totals can have", status == 0 and before[0] == 0 and
            got[:2] == before[:2], (status, err, got[2]))


def files_that_crash_their_reader_hide_no_array_task():
    def of_array(path):
        shutil.copy(os.path.join(GOLDEN, "7_0_p1.h5"), path)
        with h5py.File(path, "r+") as f:
            f["p1"].attrs["Array Job Id"] = numpy.array([100], "<i4")
            f["p1"].attrs["Array Task Id"] = numpy.array([3], "<i4")
    names = sorted(n for n in os.listdir(HOSTILE) if n.endswith(".h5"))
    beside = [("1_%d_n1.h5" % i, lambda path, n=n: shutil.copy(os.path.join(HOSTILE, n), path))
              for i, n in enumerate(names)]
    prof = profile(("103_0_p1.h5", of_array), *beside)
    out, status, _, err = merge(prof, "100_3")
    is_equal("merge -j ARRAY_TASK among files that crash their reader",
             (status, nodes(os.path.join(out, "job_103.h5")), len(left(prof)), err.count("\n")),
             (0, ["0/p1"], len(names), 1))


# --- shorter than a second ---

def a_short_step_has_its_share():
    start = 1795226680_000000000
    rows = numpy.zeros(2, [("ElapsedTime", "<u8"), ("EpochTime", "<u8"), ("TimeNS", "<u8"),
                           ("CPUTime", "<f8")])
    rows["TimeNS"], rows["CPUTime"] = [start + 200000000, start + 500000000], 0.1
    prof = profile(("7_0_n1.h5", hostilelib.plain))
    with h5py.File(os.path.join(prof, "u", "7_0_n1.h5"), "r+") as f:
        f["n1"].attrs["Start TimeNS"] = start
        f["n1"].attrs["Allocated CPUs"] = 1
        del f["n1/Tasks/0"]
        f["n1/Tasks"].create_dataset("0", data=rows)
    out = merge(prof, "7")[0]
    step = json.loads(run([JOBPROF, "show", "--json", "job_7.h5"], out)[1])["steps"][0]
    is_equal("wall time and share of a step of half a second",
             (step["wall_s"], round(step["cpu_efficiency"], 3)), (0.5, 0.4))


# --- signals ---

def an_interrupted_merge_leaves_nothing_behind():
    data = open(os.path.join(GOLDEN, "7_0_p1.h5"), "rb").read()
    prof = tmpdir("prof")
    os.mkdir(os.path.join(prof, "u"))
    for i in range(1000):
        # another name of the same length
        with open(os.path.join(prof, "u", "7_%d_p1.h5" % i), "wb") as f:
            f.write(data)
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        d = tmpdir("out")
        p = subprocess.Popen([JOBPROF, "merge", "-j", "7", "-p", prof, "-u", "u"], cwd=d,
                             stderr=subprocess.PIPE, text=True)
        while p.poll() is None and not os.listdir(d):
            time.sleep(0.001)
        p.send_signal(sig)
        err = p.communicate(timeout=60)[1]
        is_equal("%s: nothing is left behind, nothing is lost" % sig.name,
                 (p.returncode, os.listdir(d), len(left(prof))), (-sig, [], 1000))
        is_true("%s: it is said" % sig.name, "interrupted; nothing was deleted" in err, err)


if __name__ == "__main__":
    run_tests([jobs_mean_the_same, nodes_mean_the_same, nothing_there_is_one_line,
               nobody_writes_over_what_is_read, a_job_file_does_not_go_to_standard_output,
               a_full_output_is_a_failure, modes_stay, the_layout_before_15_08_is_said,
               a_sound_node_is_merged_whatever_lies_beside_it,
               wide_tables_are_merged_without_totals,
               files_that_crash_their_reader_hide_no_array_task,
               a_short_step_has_its_share, an_interrupted_merge_leaves_nothing_behind])
