#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof seff: its lines are those of Slurm's seff, as recorded and as that script prints them where it is; of profiles
they are what h5py adds up; of an array what SQL adds up."""

import sys

sys.path.insert(0, sys.path[0] + "/../../lib")
sys.path.insert(0, sys.path[0] + "/../findings")
from cases import job
from jobs import Job as Made
from lib import *
from postgreslib import Server
import sefflib

RECORDED = os.path.join(ROOT, "tests/data/seff/recorded.json")
OURS = re.compile(r"^(GPU Efficiency|CPU Wait|Worst Finding): .*\n", re.M)
SEFF = os.path.join(BUILD, "seff")


def index_of(rows):
    """An index with these rows, and nothing else."""
    d = tmpdir("index")
    path = os.path.join(d, "index.db")
    os.mkdir(d + "/none")
    subprocess.run([JOBPROF, "index", "scan", d + "/none", "--database", path], check=True, capture_output=True)
    sefflib.put_rows(path, rows)
    return path


def seff(*args, program=(JOBPROF, "seff"), **kw):
    p = subprocess.run([*program, *args], capture_output=True, text=True, env=plain_env(HOME="/absent", **kw), cwd=tmpdir())
    return p.returncode, p.stdout, p.stderr


def prints_what_was_recorded():
    """By Slurm's script, as sefflib.run_slurms() runs it: {job: lines with -d}."""
    with open(RECORDED) as f:
        recorded = json.load(f)
    jobs = list(sefflib.some_jobs())
    path = index_of(j.row() for j in jobs)
    is_equal("what is recorded is of these jobs", sorted(recorded), sorted(str(j.job) for j in jobs))
    for j in jobs:
        status, out, err = seff("-d", "--database", path, str(j.job))
        is_equal("job %d: the lines of Slurm's seff" % j.job, (status, OURS.sub("", out), err), (0, recorded[str(j.job)], ""))


ARRAY = [sefflib.Job(1664, array=1663, task=0), sefflib.Job(1663, array=1663, task=1, elapsed=70)]


def slurms_own_prints_the_same():
    jobs = list(sefflib.some_jobs())
    with open(RECORDED) as f:
        recorded = json.load(f)
    for number, (status, out, err) in sefflib.run_slurms(jobs, ["-d"], tmpdir("perl")).items():
        is_equal("job %d: Slurm's seff" % number, (status, out), (0, recorded[str(number)]))
    path = index_of([j.row() for j in ARRAY])
    for number, (_, out, _) in sefflib.run_slurms(ARRAY, [], tmpdir("array")).items():
        is_equal("job %d of an array: Slurm's seff" % number, OURS.sub("", seff("--database", path, str(number))[1]), out)


def memory_of_one_node():
    """Where the sum of the nodes' peaks is not known, that of one node is."""
    with open(RECORDED) as f:
        recorded = json.load(f)
    jobs = [j for j in sefflib.some_jobs() if j.state != "PENDING"]
    path = index_of(dict(j.row(), peak_sum_mb=None, peak_mb=j.used / 1024) for j in jobs)
    memory = lambda text: [x for x in text.splitlines() if x.startswith("Memory ")]
    is_true("some jobs have one node, some more", {j.nodes == 1 for j in jobs} == {True, False}, jobs)
    for j in jobs:
        is_equal("job %d of %d nodes: memory" % (j.job, j.nodes), memory(seff("--database", path, str(j.job))[1]), memory(recorded[str(j.job)]) if j.nodes == 1 else [])


def an_array_by_its_number():
    """Slurm gives its last task the number of the array; its seff prints that task."""
    path = index_of(j.row() for j in ARRAY)
    status, out, err = seff("--database", path, "1663")
    is_equal("the number of an array: the task of that number", [status, OURS.sub("", out)], [0, OURS.sub("", seff("--database", path, "1663_1")[1])])
    is_true("the number of an array: the hint", "1663 is an array, and this its task 1: -a adds up" in err and err.count("\n") == 1, err)
    is_equal("a task needs no hint", [seff("--database", path, w)[2] for w in ("1664", "1663_0", "1663_1")], ["", "", ""])
    is_equal("nor does -a", seff("--database", path, "-a", "1663")[2], "")


def at_most_three_more():
    row = dict(sefflib.Job(7).row(), gpus=4, gpu_use=0.4535, wait_s=25.0, cpu_s=75.0, findings=2, worst_rule="cpu.stacked",
               worst_text="Tasks share cores \u00fc")
    status, out, err = seff("--database", index_of([row]), "7")
    is_equal("GPU, wait and finding", out.splitlines()[-3:],
             ["GPU Efficiency: 45.35% of 4 GPUs", "CPU Wait: 25.00% of the time that its threads could run (00:00:25)",
              "Worst Finding: cpu.stacked: Tasks share cores \u00fc"])
    is_equal("no more than that", len(OURS.findall(out)), 3)


def unknown_is_left_out():
    row = sefflib.Job(8).row()
    for name in ("cpu_s", "peak_sum_mb", "task_spread", "findings", "worst_rule"):
        row[name] = None
    status, out, err = seff("--database", index_of([dict(row, sources=1)]), "8")
    is_equal("no line says 0 for what is not known", [line.split(":")[0] for line in out.splitlines()],
             ["Job ID", "Cluster", "User/Group", "State", "Nodes", "Cores per node", "Job Wall-clock time"])
    row.update(slurm_cpu_s=120, cpu_s=10, disagrees=1)
    status, out, err = seff("--database", index_of([row]), "8")
    is_true("Slurm's CPU time counts where the profile differs", "CPU Utilized: 00:02:00\n" in out, out)


def statuses():
    path = index_of([dict(sefflib.Job(7).row(), array_id=5)])
    found = {"job": seff("--database", path, "7"), "none": seff("--database", path, "9999"), "no word": seff(),
             "two": seff("1", "2"), "wrong": seff("x"), "option": seff("--bad", "1"), "version": seff("-v")}
    is_equal("statuses are Slurm's", {k: v[0] for k, v in found.items()},
             {"job": 3, "none": 2, "no word": 1, "two": 1, "wrong": 1, "option": 1, "version": 1})
    is_equal("what Slurm's says", [found["job"][2], found["none"][2]],
             ["Badly formatted array jobid 5 with task_id = -2\n", "Job not found.\n"])
    usage = seff("-h", program=(SEFF,))
    is_true("seff -h", usage[0] == 1 and usage[1].startswith("Usage: seff [Options] <Jobid>\n       Options:\n"), usage)
    is_equal("seff without a job", seff(program=(SEFF,)), usage)
    is_equal("seff -f is taken", seff("-f", "x", "9999", program=(SEFF,))[0], 2)


def text_of(out, label):
    found = re.search("^%s: (.*)$" % re.escape(label), out, re.M)
    return found and found.group(1)


def clock(s):
    s = round(s)
    return ("%d-" % (s // 86400) if s >= 86400 else "") + "%02d:%02d:%02d" % (s % 86400 // 3600, s % 3600 // 60, s % 60)


def of_a_profile():
    """Without an index: sums of the tables."""
    d = tmpdir("profiles")
    j = job("pair", 3, job=4711, wall=3600)
    j.attrs.update(user="root")
    path = d + "/job_4711.h5"
    j.write(path)
    with h5py.File(path) as f:
        nodes = f["Steps/0/Nodes"].values()
        cpu = sum(n["Step"]["CPUTime"].sum() for n in nodes)
        rss = sum(n["Step"]["RSS"].max() / 1024 for n in nodes)
    status, out, err = seff("4711", "-p", d)
    is_equal("profile: status", (status, err), (0, ""))
    is_equal("profile: CPU time", text_of(out, "CPU Utilized"), clock(cpu))
    is_equal("profile: efficiency", text_of(out, "CPU Efficiency"),
             "%.2f%% of %s core-walltime" % (100 * round(cpu) / (16 * 3600), clock(16 * 3600)))
    is_equal("profile: its other lines", [text_of(out, x) for x in ("Job ID", "State", "Nodes", "Cores per node", "Job Wall-clock time")],
             ["4711", "COMPLETED (exit code 0)", "2", "8", "01:00:00"])
    used, unit = text_of(out, "Memory Utilized").split()
    is_near("profile: memory", float(used) * {"GB": 1024, "MB": 1}[unit], rss, 0.01)
    is_equal("the program seff", seff("4711", "-p", d, program=(SEFF,)), (status, out, err))
    is_equal("another job", seff("4712", "-p", d)[0], 2)


def while_it_runs():
    """Files of running steps begin with a dot."""
    d = tmpdir("running")
    j = job("node", 4, job=815, wall=600)
    j.state = None
    j.attrs.update(end_reason=None, exit_status=None)
    j.write(d + "/.815_0_n1.h5")
    status, out, err = seff("815", "-p", d)
    is_equal("running: status", (status, err), (0, ""))
    is_equal("running: state and time", [text_of(out, "State"), text_of(out, "Job Wall-clock time")], ["RUNNING", "00:10:00"])
    is_equal("running: it warns", text_of(out, "WARNING"), "Efficiency statistics may be misleading for RUNNING jobs.")
    both = tmpdir("both")
    for name in "one", "two":
        os.mkdir(os.path.join(both, name))
        shutil.copy(d + "/.815_0_n1.h5", os.path.join(both, name))
    status, two, err = seff("815", "-p", both)
    is_true("running: by files of two directories, of which one is forged", status == 2 and not two and "two/.815_0_n1.h5" in err, (status, two, err))
    row = dict(sefflib.Job(815, state="RUNNING", elapsed=30, user="root").row(), cpu_s=None, findings=None, peak_sum_mb=None,
               sources=1, cpus=16)
    path = index_of([row])
    status, both, err = seff("815", "-p", d, "--database", path)
    is_equal("running: with Slurm's word", [text_of(both, "Cluster"), text_of(both, "CPU Utilized"), text_of(both, "Job Wall-clock time")],
             ["here", text_of(out, "CPU Utilized"), "00:10:00"])
    status, slurms, err = seff("815", "-p", tmpdir(), "--database", path)
    is_true("running: of Slurm's word alone", (text_of(slurms, "WARNING") or "").startswith("Efficiency statistics can only be obtained"), slurms)


def forged_files_are_refused():
    d = tmpdir("forged")
    job("node", 4, job=816, wall=600).write(d + "/job_816.h5")
    with h5py.File(d + "/job_816.h5", "a") as f:
        f["Steps/0/Nodes/n1"].attrs["UID"] = 4242
    status, out, err = seff("816", "-p", d)
    is_true("a file that names another user", status == 2 and not out and "it says that it is of user 4242" in err, (status, out, err))
    Made(nodes=1, tasks=2, cores=2, wall=600, job=817).write(d + "/job_817.h5")
    row = dict(sefflib.Job(817, user="daemon").row(), findings=None)
    status, out, err = seff("817", "-p", d, "--database", index_of([row]))
    is_true("a file of another user than Slurm's is left out, and that is said once", status == 0 and err.count("job_817.h5: it belongs to another user") == 1
            and text_of(out, "User/Group").startswith("daemon/") and not re.search("Worst|Wait", out), (status, out, err))
    other = dict(sefflib.Job(817).row(), sources=2, start=row["start"] + 5000, name="forged")
    far = dict(other, cluster="elsewhere", user="mallory")
    path = index_of([dict(row, findings=0), other, far])
    is_true("of rows of one id Slurm's", text_of(seff("817", "--database", path)[1], "User/Group").startswith("daemon/"), "")
    p = subprocess.run([JOBPROF, "mail", "--body", "817", "-p", d, "--database", index_of([row])], capture_output=True, text=True)
    is_true("mail --body", p.returncode == 0 and "User/Group: daemon/" in p.stdout and "left out" in p.stderr, p)


def arrays():
    rng = sefflib.random.Random(3)
    jobs = [sefflib.Job(500 + t, array=500, task=t, state=rng.choice(["COMPLETED", "FAILED"]), cpus=rng.randrange(1, 9),
                        cpu_s=float(rng.randrange(1, 5000)), elapsed=rng.randrange(1, 9000), used=rng.randrange(1, 1 << 22))
            for t in range(40)]
    rows = [dict(j.row(), start=1795226400 + 500 * (j.task // 4), worst_rule="cpu.unused" if j.task % 3 else "", lost_core_s=10.0, wait_s=1.0, findings=1) for j in jobs]
    rows.append(dict(rows[0], start=rows[0]["start"] - 9999, cpu_s=1e6, restart=0))  # its earlier run
    rows[0]["restart"] = 1
    rows.append(dict(rows[5], cluster="other", cpu_s=1.0))
    path = index_of(rows)
    with sefflib.sqlite3.connect(path) as db:
        last = "(SELECT *, row_number() OVER (PARTITION BY job_id ORDER BY start DESC) AS k FROM job WHERE cluster = 'here')"
        n, cpu, held, wall, least, most, done = db.execute(
            "SELECT count(*), sum(cpu_s), sum(elapsed_s * cpus), max(start + elapsed_s) - min(start), min(elapsed_s), max(elapsed_s), "
            "sum(state = 'COMPLETED') FROM %s WHERE k = 1" % last).fetchone()
    status, out, err = seff("-a", "-M", "here", "--database", path, "500")
    is_equal("array: status", (status, err), (0, ""))
    is_equal("array: CPU time", [text_of(out, "CPU Utilized"), text_of(out, "CPU Efficiency")],
             [clock(cpu), "%.2f%% of %s core-walltime" % (100 * cpu / held, clock(held))])
    is_equal("array: times", [text_of(out, "Job Wall-clock time"), text_of(out, "Wall-clock time per task").split(",")[0]],
             [clock(wall), "%s to %s" % (clock(least), clock(most))])
    is_true("array: states", text_of(out, "Tasks").startswith("%d (" % n) and "%d COMPLETED" % done in text_of(out, "Tasks"), out)
    is_equal("array: the finding", text_of(out, "Worst Finding"), "cpu.unused, of 26 of 40 tasks")
    is_equal("array: each cluster", seff("-a", "--database", path, "500")[1].count("Array Job ID: 500\n"), 2)
    is_equal("array: a task of it", text_of(seff("-M", "here", "--database", path, "500_3")[1], "Array Job ID"), "500_3")
    is_equal("array: there is none", seff("-a", "--database", path, "77"), (2, "", "Job not found.\n"))


def of_postgresql_the_same():
    """And what the queues of comments and mails ask of it."""
    server, d, lite, spool = Server(), tmpdir("profiles"), tmpdir() + "/index.db", tmpdir("spool")
    for task in (1, 2):
        path = d + "/job_%d.h5" % (30 + task)
        job("pair", task, job=30 + task, wall=600).write(path)
        with h5py.File(path, "a") as f:
            for node in f["Steps/0/Nodes"].values():
                node.attrs["Array Job Id"], node.attrs["Array Task Id"] = 30, task
    for where in (lite, server.address()):
        subprocess.run([JOBPROF, "index", "scan", d, "--database", where], check=True, capture_output=True)
    for args in (["31"], ["30_2"], ["-a", "30"], ["99"], ["-a", "99"]):
        is_equal("PostgreSQL: seff " + " ".join(args), seff("--database", server.address(), *args), seff("--database", lite, *args))
    server.sql("UPDATE job SET sources = 3, \"end\" = %d" % time.time())
    p = subprocess.run([JOBPROF, "index", "comment", "--database", server.address()], capture_output=True, text=True, env=plain_env(PATH="/absent"))
    is_equal("PostgreSQL: comments", (p.stdout, server.sql("SELECT state, tries FROM admin_comment")),
             ("0 written, 0 of others, 2 failed, 2 waiting\n", [["waits", "1"]] * 2))
    for how, count in (("index mail", "0 sent"), ("mail", None), ("index mail", "1 sent"), ("index mail", "0 sent")):
        more = ["--database", server.address(), "--sendmail", "/bin/true"] if count else ["-s", "Slurm Job_id=31 Ended", "alice"]
        p = subprocess.run([JOBPROF, *how.split(), "--spool", spool, *more], capture_output=True, text=True,
                           env=plain_env(SLURM_JOB_ID="31", SLURM_JOB_MAIL_TYPE="Ended"))
        is_true("PostgreSQL: " + how, p.returncode == 0 and p.stdout.startswith(count or ""), p)
    is_equal("PostgreSQL: a mail is noted once", server.sql("SELECT count(*) FROM mail"), [["1"]])


run_tests([prints_what_was_recorded, slurms_own_prints_the_same, memory_of_one_node, an_array_by_its_number, at_most_three_more, unknown_is_left_out, statuses, of_a_profile,
           while_it_runs, forged_files_are_refused, arrays, of_postgresql_the_same])
