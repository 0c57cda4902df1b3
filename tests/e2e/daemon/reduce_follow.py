#!/usr/bin/python3
# runs: in full
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof reduce --follow beside a step that runs: its windows have the rows that the step's file has in the end, by
numpy; by one process and by two, as root and as the job's user, and nobody else gets any."""

import pwd

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
import daemonlib
from daemonlib import *
from reducelib import children, mpirun

INTERVAL = 0.5
WINDOW = 2
NOBODY = "nobody"


def public_jobprof():
    path = os.path.join(os.path.dirname(public_tool("jpspin")), "jobprof")
    if not os.path.exists(path):
        shutil.copy(JOBPROF, path)
    return path


def followed(d, job, *more, before=(), user=()):
    env = plain_env(JOBPROF_SOCKET=d.settings["Socket"], OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    jobprof = public_jobprof() if user else JOBPROF
    return subprocess.Popen([*user, *before, jobprof, "reduce", "--follow", "--json", "-j", str(job), "--window", str(WINDOW), *more],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def two_nodes(d, job, *more):
    """Two processes that each take this node for one of their own: the same rows twice."""
    cmd = ["mpirun.openmpi", "--oversubscribe"]
    for node in ("n1", "n2"):
        cmd += ["-n", "1", "-x", "SLURMD_NODENAME=" + node, JOBPROF, "reduce", "--follow", "--json", "-j", str(job), "--window",
                str(WINDOW), "--windows", "2", *more, ":"]
    return subprocess.Popen(cmd[:-1], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=plain_env(JOBPROF_SOCKET=d.settings["Socket"], OMPI_ALLOW_RUN_AS_ROOT="1",
                                          OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))


def windows():
    d, job = main, new_job()
    step = Stepd(job, 0, [public_tool("jphold"), "spin=14"], v2_task(tree.job(job) + "/step_0", ["-u", pwd.getpwnam(NOBODY).pw_uid]), n=2)
    time.sleep(3 * INTERVAL)
    alone = followed(d, job, "--windows", "3")
    user = followed(d, job, "--windows", "2", user=("runuser", "-u", NOBODY, "--"))
    other = followed(d, job, "--windows", "1", user=("runuser", "-u", "daemon", "--"))
    two = None
    if has_mpi():
        two = two_nodes(d, job)
    ran = {name: (p.communicate(timeout=60), p.returncode) for name, p in
           (("root", alone), ("user", user), ("other", other), ("two", two)) if p}
    step.end()
    rows = [table(d.file(job, 0, NOBODY), "Tasks/%d" % t) for t in range(2)]
    for name, count in (("root", 3), ("user", 2)):
        (out, err), code = ran[name]
        is_equal("%s: ends well" % name, [code, err], [0, ""])
        judged(name, [json.loads(x) for x in out.splitlines()], rows, count)
    (out, err), code = ran["other"]
    is_equal("another user gets nothing", [code, out], [1, ""])
    is_true("another user is told why", "no step" in err, err)
    if not two:
        skip("two processes", "jobprof-reduce-mpi is not built")
        return
    (out, err), code = ran["two"]
    got = [json.loads(x) for x in out.splitlines()]
    is_equal("two processes: end well", [code, err], [0, ""])
    judged("two processes", got, rows, 2, ranks=2)
    for w in got[1:]:
        at = [sorted((s["table"], s["row"]) for s in w["sample"] if s["node"].endswith(n)) for n in ("/n1", "/n2")]
        is_true("two processes, window %d: both have rows" % w["window"], all(at), at)


def judged(name, got, rows, count, ranks=1):
    is_equal("%s: windows" % name, len(got), count)
    taken = sum(w["coverage"]["rows"] for w in got)
    is_true("%s: most rows of both tasks" % name, taken >= 0.8 * 2 * (count - 1) * WINDOW / INTERVAL, taken)
    for w in got:
        if w["end_s"] - w["begin_s"] < 3 * INTERVAL:  # the first one, as long as is left of it
            continue
        names = [c["name"] for c in w["columns"]]
        wrong = [s for s in w["sample"] if not matches(s, names, rows[int(s["table"])])]
        is_equal("%s, window %d: rows are those of the file" % (name, w["window"]), wrong, [])
        is_true("%s, window %d: within it, but for late ones" % (name, w["window"]), all(
            w["begin_s"] - 2 * INTERVAL <= s["row"] / 1e9 <= w["end_s"] for s in w["sample"]), w["sample"])
        cpu = w["columns"][names.index("CPUTime")]
        used = [s["values"][names.index("CPUTime")] for s in w["sample"]]
        is_near("%s, window %d: mean of CPUTime" % (name, w["window"]), cpu["mean"], numpy.mean(used), rel=1e-12)
        is_true("%s, window %d: what it costs is said" % (name, w["window"]), 0 < w["cost"]["cpu_s"] < WINDOW, w["cost"])
        is_equal("%s, window %d: coverage" % (name, w["window"]), [w["coverage"]["files"], w["coverage"]["read"], w["cost"]["processes"]], [ranks] * 3)


def matches(s, names, rows):
    at = numpy.nonzero(rows["TimeNS"] == s["row"])[0]
    return len(at) == 1 and all(v is None or n not in rows.dtype.names or float(rows[n][at[0]]) == v
                                for n, v in zip(names, s["values"]))


KINDS = (0.008, 0.002)  # s of run time, the larger part of it first


def clusters():
    """Bursts of two kinds: each window has both, by the same numbers, and all bursts of the file are in some window."""
    d, job = main, new_job()
    step = Stepd(job, 0, [public_tool("jpburst"), "-n", "250", "-g", "20", "2", "8"],
                 v2_task(tree.job(job) + "/step_0", ["-u", pwd.getpwnam(NOBODY).pw_uid]), n=2)
    time.sleep(3 * INTERVAL)
    out_dir = tmpdir("follow")
    os.chmod(out_dir, 0o777)
    stored = out_dir + "/clusters.h5"
    begun = time.time()
    alone = followed(d, job, "--clusters", "--windows", "4", "-o", stored)
    user = followed(d, job, "--clusters", "--windows", "2", user=("runuser", "-u", NOBODY, "--"))
    other = followed(d, job, "--clusters", "--windows", "1", user=("runuser", "-u", "daemon", "--"))
    mpi = two_nodes(d, job, "--clusters") if has_mpi() else None
    spent = {}
    ran = {name: (p.communicate(timeout=60), p.returncode) for name, p in
           (("user", user), ("other", other), ("two", mpi)) if p}
    ran["root"] = ended(alone, spent)
    step.end()
    rows = numpy.concatenate([table(d.file(job, 0, NOBODY), "Bursts/%d" % t) for t in range(2)])
    for name, count, ranks in (("root", 4, 1), ("user", 2, 1)) + ((("two", 2, 2),) if mpi else ()):
        (out, err), code = ran[name]
        is_equal("clusters, %s: ends well" % name, [code, err], [0, ""])
        in_windows(name, [json.loads(x) for x in out.splitlines()], rows, count, ranks, begun)
    is_equal("clusters: another user gets nothing", [ran["other"][1], ran["other"][0][0]], [1, ""])
    with h5py.File(stored) as f:
        kept = {int(name): g for name, g in f["analysis/clusters"].items()}
        got = [json.loads(x) for x in ran["root"][0][0].splitlines()]
        costs(got, spent["cpu_s"])
        is_equal("clusters: all windows are stored", sorted(kept), [w["window"] for w in got])
        for w in got:
            is_equal("clusters, window %d: the table is stored" % w["window"],
                     [[int(r["cluster"]), int(r["n"])] for r in kept[w["window"]]["table"]],
                     [[c["cluster"], c["n"]] for c in w["clusters"]])
            is_equal("clusters, window %d: a model where it is new" % w["window"],
                     "model" in kept[w["window"]], not w["track"]["same"] and w["model"]["points"] > 0)
            about = dict(kept[w["window"]].attrs)
            is_equal("clusters, window %d: what it is of" % w["window"],
                     [about[k] for k in ("source_begin", "source_end", "n_used", "n_missing", "param_sample")],
                     [w["begin_s"], w["end_s"], w["coverage"]["rows"], 0, 5000])
            is_equal("clusters, window %d: its status" % w["window"], about["status"], w["model"]["status"])
            is_equal("clusters, window %d: what it cost" % w["window"], kept[w["window"]]["cost"].attrs["cpu_s"], w["cost"]["cpu_s"])
        tracked(stored, got)
        is_equal("clusters: windows follow each other", [w["begin_s"] for w in got[1:]], [w["end_s"] for w in got[:-1]])


def tracked(stored, got):
    """track shows the windows of the file, by the same numbers; report says what the file is."""
    p = subprocess.run([JOBPROF, "track", "--json", stored], capture_output=True, text=True, env=plain_env())
    j = json.loads(p.stdout)
    is_equal("track: windows", [[x["same"], x["bursts"]] for x in j["pieces"]],
             [[w["track"]["same"], sum(c["n"] for c in w["clusters"])] for w in got])
    is_equal("track: clusters", [[[c["name"], c["bursts"], c["run_s"]] for c in x["clusters"]] for x in j["pieces"]],
             [[[chr(64 + c["cluster"]), c["n"], c["RunTime_mean"]] for c in w["clusters"] if c["cluster"]] for w in got])
    for verb in (["report"], ["list", "-i"]):
        p = subprocess.run([JOBPROF, *verb, stored], capture_output=True, text=True, env=plain_env())
        is_true("%s: says what the file is" % verb[0], p.returncode == 1 and "jobprof track" in p.stderr and p.stderr.count("\n") == 1, p.stderr)


def ended(p, spent):
    """What it printed, and its status; spent: what the kernel says that it used, with the children that it waited for."""
    out, err = p.stdout.read(), p.stderr.read()
    _, status, used = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    spent["cpu_s"] = used.ru_utime + used.ru_stime
    return (out, err), p.returncode


def costs(got, spent):
    """All that it used but for the end of the last window."""
    said = [w["cost"]["cpu_s"] for w in got]
    is_true("cost: as the kernel has it", 0 <= spent - sum(said) <= 1.5 * max(said) + 0.01, [said, spent])


def a_step():
    """As a step of the job it is charged for its CPU time; it is killed, and the windows before are in the file."""
    d, job = main, new_job()
    work = Stepd(job, 0, [public_tool("jpburst"), "-n", "9999", "-g", "20", "2", "8"], v2_task(tree.job(job) + "/step_0"), n=2)
    stored = tmpdir("step") + "/clusters.h5"
    wait_until(lambda: "profiling %d_0" % job in d.said(), 10, "the step")
    own = Stepd(job, 1, [JOBPROF, "reduce", "--follow", "--clusters", "--json", "--window", WINDOW, "-o", stored],
                v2_task(tree.job(job) + "/step_1", ["-e", "SLURM_JOB_ID=%d" % job, "-e", "SLURM_STEP_ID=1",
                                                    "-e", "JOBPROF_SOCKET=" + d.settings["Socket"]]))
    wait_until(lambda: own.out().count("\n") >= 4 or own.proc.poll() is not None, 30, "four windows")
    is_equal("a step: it follows the job", own.proc.poll(), None)
    (pid,) = [p for p in children(own.proc.pid) if slurp("/proc/%d/comm" % p) == "jobprof\n"]
    os.kill(pid, signal.SIGKILL)
    own.end()
    got = [json.loads(x) for x in own.out().splitlines() if x.startswith("{")]
    with h5py.File(stored) as f:
        kept = sorted(int(name) for name in f["analysis/clusters"])
    is_true("a step: the windows before are in the file", [w["window"] for w in got][:3] == kept[:3], [got, kept])
    is_true("a step: it does not see itself", all(w["coverage"]["nodes"] == 1 for w in got[1:]), got)
    p = subprocess.run([JOBPROF, "reduce", "--follow", "--clusters", "-j", str(job), "-o", d.hdf5], capture_output=True, text=True,
                       env=plain_env(JOBPROF_SOCKET=d.settings["Socket"]), timeout=20)
    is_true("a step: an output that cannot be is said before a window", p.returncode == 1 and p.stderr.count("\n") == 1, p.stderr)
    work.proc.terminate()
    work.end()
    charged = table(d.file(job, 1, "root"), "Tasks/0")["CPUTime"].sum()
    said = sum(w["cost"]["cpu_s"] for w in got)
    is_true("a step: it is charged for what it says", said - 0.002 <= charged <= 1.5 * said + 0.03, [said, charged])


def one_node_twice():
    """Two processes on a node have the same rows: they end at once, and say how to start them."""
    if not has_mpi():
        raise Skipped("jobprof-reduce-mpi is not built")
    d, job = main, new_job()
    step = Stepd(job, 0, ["sleep", "999"], v2_task(tree.job(job) + "/step_0"))
    time.sleep(3 * INTERVAL)
    p = subprocess.run(mpirun(2) + [JOBPROF, "reduce", "--follow", "-j", str(job), "--window", "2"], capture_output=True, text=True,
                       env=plain_env(JOBPROF_SOCKET=d.settings["Socket"], OMPI_ALLOW_RUN_AS_ROOT="1",
                                     OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"), timeout=30)
    said = [x for x in p.stderr.splitlines() if x.startswith("jobprof")]
    is_true("one node twice: refused", p.returncode != 0 and len(said) == 1 and "one process per node" in said[0], [p.returncode, p.stderr])
    step.proc.terminate()
    step.end()


def in_windows(name, got, rows, count, ranks, begun):
    is_equal("clusters, %s: windows" % name, len(got), count)
    numbers = []
    for w in got:
        if w["end_s"] - w["begin_s"] < 3 * INTERVAL:
            continue
        big = [c for c in w["clusters"] if c["cluster"] and c["n"] >= 10 * ranks]
        is_equal("clusters, %s, window %d: two kinds" % (name, w["window"]), len(big), 2)
        big.sort(key=lambda c: -c["RunTime_mean"])
        for c, kind in zip(big, KINDS):
            is_near("clusters, %s, window %d: %g s" % (name, w["window"], kind), c["RunTime_mean"], kind, rel=0.05)
        numbers.append([c["cluster"] for c in big])
        is_true("clusters, %s, window %d: what it costs is said" % (name, w["window"]), 0 < w["cost"]["cpu_s"] < WINDOW * ranks, w["cost"])
        is_equal("clusters, %s, window %d: nothing is lost" % (name, w["window"]),
                 [w["coverage"]["damaged"], w["coverage"]["read"]], [0, ranks])
    is_true("clusters, %s: numbers stay" % name, numbers and all(n == numbers[0] for n in numbers), numbers)
    times = rows["TimeNS"] / 1e9
    taken, first, last = sum(w["coverage"]["rows"] for w in got) / ranks, got[0]["begin_s"], got[-1]["end_s"]
    least = ((times >= first + 3) & (times < last - 3 * INTERVAL)).sum()
    most = ((times >= begun) & (times < last)).sum()
    is_true("clusters, %s: as many bursts as the file has" % name, taken and least <= taken <= most, [least, taken, most])


def has_mpi():
    return os.path.exists(BUILD + "/jobprof-reduce-mpi") and shutil.which("mpirun.openmpi")


need_bpf()
tree = Trees()
main = Daemon(INTERVAL, ProfileHDF5Default="All,Burst").start()
run_tests([windows, clusters, a_step, one_node_twice])
