#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# releases: all
"""jobprof index sync of a real slurmdbd with a real database: what is held is what sacct says, and
each way in which a job may end is a row. Of releases whose database plugin is not here the fields that
are asked for are compared with those that their sacct has."""

import shutil
import sqlite3
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from slurmlib import *
from h5make import node_file, random_rows
import sacctlib

SEP = "\x1e"
RUNS = 11  # of those that begin in run_jobs() and end; another one ends and has not begun
_made = {}


def need_database():
    """The cluster, with jobs that have ended."""
    for program in ("slurmdbd", "sacctmgr", "mariadbd"):
        if not (slurm_program(program) or shutil.which(program, path=SLURM_PATH)):
            raise Skipped("there is no %s" % program)
    if not os.path.exists("%s/accounting_storage_mysql.so" % PLUGIN_DIR):
        raise Skipped("this Slurm has no plugin for a database")
    if "error" in _made:
        raise Skipped("the cluster has not started")
    if not _made:
        _made["error"] = True
        made = {"cluster": Cluster("v2", accounting=True)}
        make_accounts(made["cluster"])
        made["jobs"] = run_jobs(made["cluster"])
        made["db"] = os.path.join(tmpdir("db"), "index.db")
        _made.clear()
        _made.update(made)
    return _made


def make_accounts(c):
    for words in ("account physics", "account laser parent=physics", "account bio", "user root account=bio",
                  "user root account=laser", "user daemon account=bio",
                  "coordinator account=physics names=daemon"):
        c.command("sacctmgr", "-i", "add", *words.split())


def run_jobs(c):
    """{what it is: its id}, each ended."""
    jobs = {
        "completed": c.sbatch("srun sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'",
                              ["-J", "a|b\nc\x1fd", "-A", "laser"]),
        "failed": c.sbatch("exit 3", ["-A", "bio", "-n", "3", "--mem-per-cpu=200"]),
        "cancelled": c.sbatch("sleep 100", ["-N", "2", "--mem=300", "-t", "UNLIMITED"]),
        "never begun": c.sbatch("true", ["--begin=now+1000"]),
        "requeued": c.sbatch("until [ -e go ]; do sleep 0.1; done", ["--requeue"]),
        "array": c.sbatch("sleep 0.$SLURM_ARRAY_TASK_ID", ["-a", "1-3", "-t", "7"]),
        "waiting array": c.sbatch("true", ["-a", "1-9", "--begin=now+1000"]),
        "het": c.sbatch("sleep 1", ["-n", "1", ":", "-n", "2"]),
        "suspended": c.sbatch("sleep 5"),
        "runs": c.sbatch("sleep 1000"),
    }
    ids = {name: j.id for name, j in jobs.items()}
    c.wait_state(ids["cancelled"], "RUNNING")
    c.wait_state(ids["suspended"], "RUNNING")
    c.command("scontrol", "suspend", ids["suspended"])
    c.command("scancel", ids["cancelled"])
    c.command("scancel", ids["never begun"])
    c.wait_state(ids["requeued"], "RUNNING")
    time.sleep(1.1)
    c.command("scontrol", "requeue", ids["requeued"])
    c.wait_state(ids["requeued"], "PENDING")
    time.sleep(2.1)  # credentials that were given out in the second of its end are not valid
    c.command("scontrol", "update", "JobId=%d" % ids["requeued"], "StartTime=now")
    c.wait_state(ids["requeued"], "RUNNING")
    with open(jobs["requeued"].dir + "/go", "w"):
        pass
    c.command("scontrol", "resume", ids["suspended"])
    wait_until(lambda: not c.command("squeue", "-h", "-r", "-t", "R,CG,CF", "-o", "%A").replace(
        str(ids["runs"]), ""), 60, "all jobs to end")
    # Slurmctld may tell the end of a short run first, and then all else: sacct lists it then
    wait_until(lambda: len([r for r in sacct(c, "State") if r[0] not in ("RUNNING", "PENDING")]) == RUNS + 1, 60,
               "slurmdbd to know that they ended")
    return ids


def sacct(c, *fields, steps=False):
    out = c.command("sacct", "-a", "-P", "-n", "-D", "--noconvert", "-S", "now-1hours", "-E", "now+1hours",
                    "--delimiter=" + SEP, *([] if steps else ["-X"]), "--format=" + ",".join(fields + ("JobIDRaw",)))
    found = []
    for line in out.split("\n"):
        if line.count(SEP) == len(fields):
            found.append(line.split(SEP)[:-1])
    return found


def sync(m):
    p = subprocess.run([JOBPROF, "index", "--database", m["db"], "sync"], env=m["cluster"].env,
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    if p.returncode:
        raise Failed("status %d: %s %s" % (p.returncode, p.stdout, p.stderr))
    return p.stdout


def seconds_of(text):
    days, _, rest = text.rpartition("-")
    total = 0.0
    for part in rest.split(":"):
        total = total * 60 + float(part)
    return total + 86400 * int(days or 0)


def lonely_conf():
    """A configuration without any daemon, which is enough for the list of fields of 25.11 and 26.05."""
    path = os.path.join(tmpdir("conf"), "slurm.conf")
    with open(path, "w") as f:
        f.write("ClusterName=none\nSlurmctldHost=localhost\nAuthType=auth/munge\n"
                "AccountingStorageType=accounting_storage/none\nNodeName=n1\nPartitionName=p Nodes=n1\n"
                "PluginDir=%s\n" % PLUGIN_DIR)
    return path


def fields_are_those_of_this_release():
    if not slurm_program("sacct"):
        raise Skipped("there is no sacct")
    try:
        env = need_database()["cluster"].env
    except Skipped:
        env = slurm_env(SLURM_CONF=lonely_conf())
    p = subprocess.run([slurm_program("sacct"), "--helpformat"], env=env, stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, timeout=60)
    has = p.stdout.split()
    is_true("sacct lists its fields", "JobIDRaw" in has, (p.stdout, p.stderr))
    stand_in = sacctlib.Sacct([], fields=has)
    stand_in.sync(os.path.join(tmpdir("db"), "index.db"), "--since", "1d")
    asked = [a for a in stand_in.calls()[-1] if a.startswith("--format=")][0][9:].split(",")
    is_equal("it has all that are asked for", [a for a in asked if a not in has], [])
    is_equal("Restarts are asked for where they are", "Restarts" in asked, "Restarts" in has)


def what_is_held_is_what_sacct_says():
    m = need_database()
    c, jobs = m["cluster"], m["jobs"]
    said = sync(m)
    is_true("no row makes no sense", "sense" not in said, said)
    want = sorted((int(r[0]), int(r[1]), int(r[2]), int(r[3]), int(r[4]), int(r[5])) for r in sacct(
        c, "JobIDRaw", "ElapsedRaw", "AllocCPUS", "CPUTimeRAW", "NNodes", "UID", "NodeList", "State")
        if r[6] != "None assigned" and "RUNNING" not in r[7])
    got = sacctlib.rows(m["db"], "job_id", "elapsed_s", "cpus", "held_cpu_s", "nodes")
    is_equal("each job", sorted(tuple(int(v) for v in r) for r in got), [w[:5] for w in want])
    is_equal("the sum of what is held", sum(r[3] for r in got), sum(w[3] for w in want))
    is_true("there are enough of them", len(got) == RUNS, got)
    cpu = {}
    for number, text in sacct(c, "JobIDRaw", "TotalCPU", steps=True):
        if "." in number:
            job = int(number.split(".")[0])
            cpu[job] = cpu.get(job, 0) + seconds_of(text)
    got = dict(sacctlib.rows(m["db"], "job_id", "slurm_cpu_s", table="job WHERE job_id <> %d" % jobs["requeued"]))
    wrong = {j: (v, cpu.get(j)) for j, v in got.items() if abs(v - cpu.get(j, 0)) > 0.01}
    is_true("CPU time is that of steps", not wrong and got[jobs["completed"]] > 0.1, (wrong, got))
    before = sacctlib.dump(m["db"])
    sync(m)
    is_true("another time changes nothing", before == sacctlib.dump(m["db"]), "")


def each_end_is_a_row():
    m = need_database()
    jobs = m["jobs"]
    sync(m)

    def states(name):
        return sacctlib.rows(m["db"], "state", table="job WHERE job_id = %d" % jobs[name])
    is_equal("completed", states("completed"), [("COMPLETED",)])
    is_equal("failed", states("failed"), [("FAILED",)])
    is_equal("its exit code", sacctlib.rows(m["db"], "exit_code", table="job WHERE job_id = %d" % jobs["failed"]), [("3:0",)])
    is_equal("cancelled", states("cancelled"), [("CANCELLED",)])
    is_equal("what has not begun, and what has not ended", states("never begun") + states("runs") +
             states("waiting array"), [])
    got = sacctlib.rows(m["db"], "state", "start", "end", table="job WHERE job_id = %d" % jobs["requeued"])
    is_equal("both runs of a requeued job", [r[0] for r in got], ["REQUEUED", "COMPLETED"])
    is_true("one after the other", got[0][2] <= got[1][1], got)
    got = sacctlib.rows(m["db"], "array_id", "array_task", "limit_s", table="job WHERE array_id IS NOT NULL",
                        order="array_task")
    is_equal("tasks of an array", got, [(jobs["array"], i, 420) for i in (1, 2, 3)])
    got = sacctlib.rows(m["db"], "job_id", "het_id", "cpus", table="job WHERE het_id IS NOT NULL", order="job_id")
    is_equal("components", got, [(jobs["het"], jobs["het"], 1), (jobs["het"] + 1, jobs["het"], 2)])


def a_window_is_about_ends():
    """A job that began before the window and ended in it is read, one that ended before it is not."""
    m = need_database()
    sync(m)
    number = m["jobs"]["suspended"]
    begun, end, elapsed = sacctlib.rows(m["db"], "start", "end", "elapsed_s", table="job WHERE job_id = %d" % number)[0]
    is_true("time of suspension is not held", 0 <= elapsed < end - begun, (begun, end, elapsed))
    for name, since, wanted in (("after its begin", begun + 1, [(number,)]), ("at its end", end, [(number,)]),
                                ("after its end", end + 1, [])):
        db = os.path.join(tmpdir("db"), "index.db")
        p = subprocess.run([JOBPROF, "index", "--database", db, "sync", "--since", str(since)], env=m["cluster"].env,
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        is_equal("a window " + name, (p.stderr, sacctlib.rows(db, "job_id", table="job WHERE job_id = %d" % number)),
                 ("", wanted))


def what_was_asked_for_is_known():
    m = need_database()
    sync(m)
    got = {name: sacctlib.rows(m["db"], "account", "name", "mem_asked_mb", "limit_s", "user", "cluster",
                               table="job WHERE job_id = %d" % m["jobs"][name])[0]
           for name in ("completed", "failed", "cancelled")}
    is_equal("accounts", [got[n][0] for n in ("completed", "failed")], ["laser", "bio"])
    is_equal("a hostile name", got["completed"][1], "a|b\ufffdc\ufffdd")
    is_equal("memory per CPU, of a node", got["failed"][2], 600)
    is_equal("memory per node, of two", got["cancelled"][2], 300)
    is_equal("no time limit", got["cancelled"][3], None)
    is_equal("whose, and where", got["failed"][4:], ("root", "testbed"))
    nodes = sacctlib.rows(m["db"], "node", table="job_node WHERE job = (SELECT id FROM job WHERE job_id = %d)" %
                          m["jobs"]["cancelled"], order="node")
    is_equal("nodes", [n for n, in nodes], m["cluster"].nodes)


def a_profile_is_part_of_the_row():
    m = need_database()
    number = m["jobs"]["completed"]
    sync(m)
    start = sacctlib.rows(m["db"], "start", table="job WHERE job_id = %d" % number)[0][0]
    d = tmpdir("profiles")
    tables = {"Tasks/0": random_rows(numpy.random.default_rng(1), "Tasks", 5, 1, start)}
    node_file("%s/%d_0_%s.h5" % (d, number, m["cluster"].nodes[0]), m["cluster"].nodes[0], tables, attributes=(
        ("Job Id", number), ("Cluster", "testbed"), ("Job Start EpochTime", start), ("Account", "another")))
    n = len(sacctlib.rows(m["db"], "id"))
    status, out, said = sacctlib.index(m["db"], "scan", d)
    is_true("it is read", not status, out + said)
    is_equal("it makes no row", len(sacctlib.rows(m["db"], "id")), n)
    is_equal("it is part of one", sacctlib.rows(m["db"], "sources", "account", table="job WHERE job_id = %d" % number),
             [(3, "laser")])


def coordinators_are_found():
    """Those of an account are of the ones below it, too."""
    m = need_database()
    path = os.path.join(tmpdir("coordinators"), "index.db")
    p = subprocess.run([JOBPROF, "index", "sync", "--database", path], env=m["cluster"].env, capture_output=True, text=True, timeout=120)
    with sqlite3.connect(path) as db:
        found = db.execute("SELECT \"user\", account, cluster FROM coordinator ORDER BY 1, 2").fetchall()
    is_equal("coordinators", (p.stderr, found), ("", [("daemon", "laser", ""), ("daemon", "physics", "")]))


@in_full
def time_limits_end_jobs():
    m = need_database()
    j = m["cluster"].sbatch("sleep 1000", ["-t", "1"])
    is_equal("it is ended", j.end(150), "TIMEOUT")
    wait_until(lambda: ["TIMEOUT"] in [r[1:] for r in sacct(m["cluster"], "JobIDRaw", "State") if r[0] == str(j.id)],
               60, "slurmdbd to know it")
    sync(m)
    is_equal("its state", sacctlib.rows(m["db"], "state", "limit_s", table="job WHERE job_id = %d" % j.id),
             [("TIMEOUT", 60)])


run_tests([fields_are_those_of_this_release, what_is_held_is_what_sacct_says, each_end_is_a_row, a_window_is_about_ends,
           what_was_asked_for_is_known, a_profile_is_part_of_the_row, coordinators_are_found, time_limits_end_jobs])
