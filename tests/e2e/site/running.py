#!/usr/bin/python3
# timeout: 240
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof running: what holds running jobs back is found within three rows, of files of running steps and of squeue; whose job it is, is Slurm's
word and the file's owner's; sums and order are those of SQL."""

import contextlib
import csv
import io
import sqlite3
import sys

sys.path.insert(0, sys.path[0] + "/../../lib")
from squeuelib import *
from sitelib import call, must
from postgreslib import Server as Postgres
from cases import job
from sick_cpu import stacked, stopped
from sick_io import gpu_idle, staged_in
from sick_memory import cache, own

ROW = 30.0


# ---- what the files say

def judged(j):
    path = put_running(tmpdir("step"), j)
    p = call("running", "--json", path)
    if p.returncode:
        raise Failed("jobprof running: %s" % p.stderr)
    return json.loads(p.stdout)["rows"][0]


def changed_after(j, at, sick):
    """The job is as it was until then, and sick from there on."""
    healthy = {c: v.copy() for c, v in j.d.items()}
    sick(j)
    late = j.t > at
    for c, v in healthy.items():
        j.put(**{c: numpy.where(late, j.d[c], v)})
    return j


def rules_of(j):
    return [f["rule"] for f in judged(j)["finding_list"]]


def within_three_rows():
    """Of their begin, or of the time that a finding is made of."""
    for rows, expect in ((0, []), (3, ["cpu.stacked"]), (20, ["cpu.stacked"])):
        j = changed_after(job("node", 1, wall=3600 + ROW * rows), 3600, lambda j: stacked(j, 0.5))
        is_equal("wrong binding, %d rows after it began" % rows, rules_of(j), expect)
    is_equal("wrong binding, three rows after the job began", rules_of_new(lambda j: stacked(j, 0.5), 3 * ROW), ["cpu.stacked"])
    j = changed_after(job("node", 1, wall=36000 + 3 * ROW), 36000, lambda j: stacked(j, 0.5))
    j.culprits(System=numpy.where(j.t > 36000, 0.0, 1.0), OwnStep=numpy.where(j.t > 36000, 1.0, 0.0))
    is_equal("wrong binding, after hours of short waits for others", rules_of(j), ["cpu.stacked"])
    for rows, expect in ((0, []), (9, []), (13, ["job.stopped"])):
        j = job("node", 1, wall=3600 + ROW * rows)
        stopped(j, rows * ROW / j.wall if rows else 1e-9)
        is_equal("stopped for %d rows, of which 10 are needed" % rows, rules_of(j), expect)
    for rows, expect in ((0, []), (13, ["mem.leak"])):
        j = job("node", 1, wall=3600 + ROW * rows)
        own(j, numpy.where(j.t > 3600, 0.3 + 0.02 * (j.t - 3600) / ROW, 0.3))
        cache(j, 0.02)
        j.limit_s = 86400
        is_equal("a leak, %d rows after it began" % rows, rules_of(j), expect)
    for minutes, expect in ((14, []), (16, ["gpu.idle"])):
        is_equal("idle GPUs after %d min" % minutes, rules_of_new(lambda j: gpu_idle(j, 0), 60 * minutes, "long"), expect)


def rules_of_new(sick, wall, shape="node"):
    j = job(shape, 1, wall=wall)
    sick(j)
    return rules_of(j)


def what_is_no_finding():
    for shape in ("node", "pair", "long", "threads", "fine"):
        is_equal("healthy, %s: nothing" % shape, rules_of(job(shape, 3)), [])
    j = job("long", 1, wall=5400)
    staged_in(j)
    is_equal("GPUs that were idle while data came in", rules_of(j), [])
    j = job("long", 1, wall=3 * 3600)
    j.gpus(4, numpy.where((j.t > 1800) & (j.t < 1800 + 3700), 0.0, 92.0))
    j.cpu(0.3)
    is_equal("GPUs that paused for an hour, long ago", rules_of(j), [])
    j = job("node", 1, wall=3600)
    kept = {c: v.copy() for c, v in j.d.items()}
    stacked(j, 0.5)
    for c, v in kept.items():
        j.put(**{c: numpy.where(j.t < 1200, j.d[c], v)})
    is_equal("wrong binding that is over", rules_of(j), [])
    j = job("node", 1, wall=600)
    own(j, numpy.minimum(0.9, 0.1 + j.t / 400))
    cache(j, 0.02)
    j.limit_s = 86400
    is_true("a program that reads its data is no leak", "mem.leak" not in rules_of(j), rules_of(j))


def numbers_of_now():
    """By h5py: of the last 5 minutes, and of each of the last 30."""
    j = job("node", 2, wall=3600)
    busy = numpy.where(j.t > 3300, 0.25, 0.9)
    j.put(CPUTime=busy)
    own(j, 0.5 + 0.2 * j.t / j.wall)
    path = put_running(tmpdir("step"), j)
    row = json.loads(must("running", "--json", path))["rows"][0]
    with h5py.File(path) as f:
        step = f["Steps/0/Nodes/n1/Step"][:]
    t, cpu = step["ElapsedTime"].astype(float), step["CPUTime"].astype(float)
    last = t > 3300
    is_near("CPU of the last 5 minutes", row["cpu_share"], cpu[last].sum() / (16 * 300), 1e-6)
    of_minute = [cpu[(t > 1800 + 60 * i) & (t <= 1860 + 60 * i)].sum() / (16 * 60) for i in range(30)]
    is_true("CPU of each of the last 30 minutes", all(abs(a - 100 * b) <= 0.51 for a, b in zip(row["spark"], of_minute)), (row["spark"], of_minute))
    moved = (step["ReadMB"][last].sum() + step["WriteMB"][last].sum()) * 1048576 / 300
    is_near("bytes read and written", row["io_bytes_s"], moved, 1e-6)
    is_near("memory of its limit", row["memory_share"], 0.5 + 0.2 * (3600 - ROW / 2) / 3600, 0.02)
    is_near("its last row", row["last"], layout.START + 3600, 0, 1)


def the_time_to_the_limit():
    """Memory is full when the line says so, within its bounds, and that is before the time limit."""
    j = job("node", 1, wall=7200)
    own(j, numpy.linspace(0.2, 0.6, j.n))
    cache(j, 0.02)
    j.limit_s = 4 * j.wall
    row = judged(j)
    true = 0.4 * 7200 / 0.4  # until all of it is used, at this rate
    f = row["finding_list"][0]
    is_equal("a leak is first", (row["rule"], f["rule"]), ("mem.leak", "mem.leak"))
    is_near("when memory is full", row["full_at"] - row["last"], true, 0.05)
    is_true("with bounds", f["full_at_low"] <= row["full_at"] <= f["full_at_high"], f)
    slow = job("node", 1, wall=7200)
    own(slow, numpy.linspace(0.2, 0.3, slow.n))
    cache(slow, 0.02)
    slow.limit_s = 8000
    is_equal("not where the job ends before", judged(slow)["full_at"], None)


def of_a_real_step():
    """Files as jobprofd writes them while the step runs."""
    if os.geteuid():
        raise Skipped("needs root")
    import daemonlib
    d = daemonlib.Daemon(interval=0.2)
    tree = daemonlib.Trees()
    d.start()
    number = daemonlib.new_job()
    s = daemonlib.Stepd(number, 0, [daemonlib.tool("jpspin"), "20"], daemonlib.v2_task(tree.job(number) + "/step_0"))
    path, copy = os.path.join(d.hdf5, "root", ".%d_0_%s.h5" % (number, daemonlib.NODE)), os.path.join(tmpdir("copy"), ".%d_0_n1.h5" % number)
    wait_until(lambda: os.path.exists(path), 18, "the file of a running step")
    os.link(path, copy)  # the next one takes its place
    row = json.loads(must("running", "--json", copy))["rows"][0]
    with h5py.File(copy) as f:
        node = f[daemonlib.NODE]
        rows, begin = node["Step"][:], float(numpy.ravel(node.attrs["Start TimeNS"])[0]) / 1e9
    is_equal("a real step", [row[k] for k in ("job_id", "user", "state")], [number, "root", "RUNNING"])
    is_near("a real step: its CPU time", row["cpu_share"] * row["cores"] * (rows["TimeNS"].max() / 1e9 - begin), rows["CPUTime"].sum(), 0.3, 0.1)
    is_near("a real step: its last row", row["last"], begin + rows["ElapsedTime"].max(), 0, 1.1)
    index = os.path.join(tmpdir("index"), "index.db")
    p = start([JOBPROF, "index", "watch", "--every", "1", "--sacct", "none", "--squeue", "none", "--database", index, d.hdf5], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def rows_of_index():
        p = call("running", "--json", "--database", index)
        return p.returncode == 0 and [r["job_id"] for r in json.loads(p.stdout)["rows"]]
    wait_until(lambda: rows_of_index() == [number], 20, "the job in the index")
    ok("a real step: in the index")
    s.proc.terminate()
    s.end()
    wait_until(lambda: rows_of_index() == [], 20, "its end")
    ok("a real step: it goes when it has ended")
    p.terminate()
    p.wait(30)
    d.end()


# ---- the two feeds

class Site:
    def __init__(self, jobs=()):
        self.dir, self.index, self.queue = tmpdir("prof"), os.path.join(tmpdir("index"), "index.db"), Squeue(jobs)

    @contextlib.contextmanager
    def watched(self, *args):
        log = open(os.path.join(tmpdir("log"), "log"), "w+")
        p = start([JOBPROF, "index", "watch", "--every", "1", "--sacct", "none", "--squeue", self.queue.path, "--database", self.index, *args, self.dir], stdout=subprocess.DEVNULL, stderr=log,
                  env=plain_env(HOME=TMP))
        try:
            yield log
        finally:
            p.terminate()
            p.wait(30)

    def once(self, *args, until=None):
        """Until it has looked at files; returns what it logged."""
        self.forget("running_looked")
        with self.watched(*args) as log:
            wait_until(lambda: self.meta("running_looked") and (not until or until()), 30, "a look")
        log.seek(0)
        return log.read()

    def forget(self, *keys):
        if os.path.exists(self.index):
            db = sqlite3.connect(self.index)
            db.executemany("DELETE FROM meta WHERE key = ?", [(k,) for k in keys])
            db.commit()
            db.close()

    def ask_again(self):
        self.forget("queue_asked", "queue_read")

    def meta(self, key):
        try:
            db = sqlite3.connect("file:%s?mode=ro" % self.index, uri=True)
            found = db.execute("SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?", (key,)).fetchone()
            db.close()
            return found and found[0]
        except sqlite3.OperationalError:
            return None

    def rows(self, *args):
        d = json.loads(must("running", "--json", "--all", "--database", self.index, *args))
        return {r["job_id"]: r for r in d["rows"] + d["waiting_rows"]}


def what_squeue_says():
    now = int(time.time())
    hostile = "a\nb|c\x1fd'; DROP TABLE running; --\u202e<script>\udcff"
    s = Site([queued(1, C="32", D="2", b="gres/gpu:a100:2,gres/shard:4", m="64G", l="30:00", a="bio", P="gpu", N="n[1-2]"), queued(2, state="PENDING", S=str(now + 500), r="Resources", l="UNLIMITED"),
              queued(40, F="30", K="7"), queued(30, F="30", K="8-99%4", state="PENDING", r="QOSMaxJobsPerUserLimit"), queued(5, j=hostile, l="2-03:04:05"), queued(6, state="SUSPENDED", u="nobody", U="65534", l="365-00:00:00"),
              queued(7, b="gpu", D="3", l="INVALID"), queued(0), queued(8, T="running;"), queued(9, C="x")])
    s.once()
    r = s.rows()
    is_equal("squeue: its jobs, but for lines that make no sense", sorted(r), [1, 2, 5, 6, 7, 30, 40])
    is_equal("squeue: one job", {k: r[1][k] for k in ("user", "account", "partition", "name", "state", "nodes", "cores", "gpus", "limit_s", "node_list", "start")},
             {"user": "root", "account": "bio", "partition": "gpu", "name": "solver", "state": "RUNNING", "nodes": 2, "cores": 32, "gpus": 4, "limit_s": 1800, "node_list": "n[1-2]", "start": r[40]["start"]})
    is_equal("squeue: a job that waits", [r[2][k] for k in ("state", "reason", "estimated", "start", "limit_s")], ["PENDING", "Resources", now + 500, None, None])
    is_equal("squeue: arrays", [[r[i][k] for k in ("array_id", "array_task", "array_tasks")] for i in (40, 30)], [[30, 7, None], [30, None, "8-99%4"]])
    is_equal("squeue: a name of several lines", r[5]["name"], "a\ufffdb|c\ufffdd'; DROP TABLE running; --\u202e<script>\ufffd")
    is_equal("squeue: limits and GPUs", [r[5]["limit_s"], r[6]["limit_s"], r[7]["limit_s"], r[7]["gpus"], r[6]["state"], r[6]["user"]], [183845, None, None, 3, "SUSPENDED", "nobody"])
    is_true("squeue: without JSON, in a format of its own", all("--json" not in a and "-o" in a for _, a in s.queue.calls()), s.queue.calls())


def one_call_a_minute():
    s = Site([queued(1)])
    with s.watched():
        wait_until(lambda: s.meta("running_looked"), 30, "the first look")
        first = s.meta("running_looked")
        wait_until(lambda: s.meta("running_looked") >= first + 3, 30, "more looks")
        other = start([JOBPROF, "index", "watch", "--every", "1", "--sacct", "none", "--squeue", s.queue.path, "--database", s.index, s.dir], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        other.wait(30)
    is_equal("squeue: one call in some looks", len(s.queue.calls()), 1)
    s.ask_again()
    s.queue.mode("fail")
    log = s.once()
    is_true("squeue: that it fails is said", "Unable to contact slurm controller" in log, log)
    is_equal("squeue: and the jobs stay", sorted(s.rows()), [1])
    s.ask_again()
    s.queue.mode("hang")
    log = s.once("--wait", "1")
    with open(s.queue.dir + "/hung") as f:
        pid = int(f.read())
    is_true("squeue: that it hangs is said", "has not answered within 1 s" in log, log)
    is_true("squeue: and it is ended", not os.path.exists("/proc/%d" % pid), pid)
    s.ask_again()
    s.queue.mode("")
    s.queue.put([queued(2)])
    s.once()
    is_equal("squeue: a job that it has no more is gone", sorted(s.rows()), [2])


def both_feeds():
    s = Site([queued(101, C="20", a="bio", l="2:00:00"), queued(102, user="nobody", U="65534"), queued(103)])
    j = job("node", 1, wall=3600)
    stacked(j, 0.5)
    put_running(s.dir + "/root", j, job=101)
    put_running(s.dir + "/root", job("node", 2, wall=600), job=102)     # says that it is of a job of another user
    put_running(s.dir + "/root", job("node", 2, wall=600), job=104)     # of a job that Slurm does not have
    path = put_running(s.dir + "/root", job("node", 2, wall=600), job=103)
    with h5py.File(path, "a") as f:
        f["Steps/0/Nodes/n1"].attrs["UID"] = 4242                       # says that it is of another user
    s.once()
    r = s.rows()
    is_equal("feeds: the jobs are Slurm's", sorted(r), [101, 102, 103])
    is_equal("feeds: what Slurm says", [r[101][k] for k in ("account", "limit_s", "state")], ["bio", 7200, "RUNNING"])
    is_equal("feeds: what the file says", [r[101][k] for k in ("rule", "severity", "findings", "program")], ["cpu.stacked", 2, 1, "solver"])
    is_equal("feeds: no profile is taken of others, nor one that lies", [r[i]["findings"] for i in (102, 103)], [None, None])
    since = r[101]["since"]
    j = job("node", 1, wall=3660)
    stacked(j, 0.5)
    put_running(s.dir + "/root", j, job=101, ago=1)
    s.once(until=lambda: s.rows()[101]["last"] > r[101]["last"])
    again = s.rows()[101]
    is_true("feeds: a finding that stays is as old as it was", again["since"] <= since and again["found"] == r[101]["found"], (again, r[101]))
    os.unlink(s.dir + "/root/.101_0_n1.h5")
    s.once(until=lambda: s.rows()[101]["findings"] is None)
    is_equal("feeds: a step that has ended is no more judged", [s.rows()[101][k] for k in ("account", "rule", "spark")], ["bio", None, None])


def files_alone():
    """Without Slurm."""
    s = Site()
    put_running(s.dir + "/root", job("node", 2, wall=600), job=7)
    p = start([JOBPROF, "index", "watch", "--every", "1", "--sacct", "none", "--squeue", "none", "--database", s.index, s.dir], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: s.meta("running_looked") and 7 in s.rows(), 30, "the job")
    row = s.rows()[7]
    is_equal("files alone: a job", [row[k] for k in ("user", "account", "partition", "name", "nodes", "cores", "state")], ["root", "physics", "batch", "solver", 1, 16, "RUNNING"])
    os.unlink(s.dir + "/root/.7_0_n1.h5")
    wait_until(lambda: not s.rows(), 30, "its end")
    ok("files alone: it goes with its files")
    p.terminate()
    p.wait(30)
    os.makedirs(s.dir + "/own")
    put_running(s.dir + "/own", job("node", 2, wall=600), job=8)
    home = tmpdir("home")
    d = json.loads(must("running", "--json", "-p", s.dir + "/own", env={"HOME": home, "PATH": "/usr/bin:/bin" if not shutil.which("squeue") else tmpdir("none")}))
    is_equal("a user's own index", [r["job_id"] for r in d["rows"]], [8])


def too_many_files():
    """A user may make as many names as a directory has room for."""
    d, env = tmpdir("many"), {"HOME": tmpdir("home"), "PATH": tmpdir("none")}
    path = put_running(d, job("node", 2, wall=600), job=8)
    is_equal("files of running steps: one", [r["job_id"] for r in json.loads(must("running", "--json", "-p", d, env=env))["rows"]], [8])
    for i in range(20000):
        os.symlink("nowhere", "%s/.%d_0_n1.h5" % (d, 100 + i))
    p = subprocess.run([JOBPROF, "running", "--json", "-p", d], env=env, capture_output=True, text=True)
    is_true("files of running steps: the log says that there are too many", p.returncode == 0 and "%s: more than 20000 files of running steps" % d in p.stderr, p)
    is_true("files of running steps: at most one job", len(json.loads(p.stdout)["rows"]) <= 1 and os.path.exists(path), p.stdout[:200])


# ---- the verb

@contextlib.contextmanager
def filled(n=300, **more):
    index = os.path.join(tmpdir("index"), "index.db")
    must("index", "scan", "--database", index, tmpdir("none"))
    put_rows(index, list(running_rows(n, **more)))
    db = sqlite3.connect(index)
    yield index, db
    db.close()


def sums_and_order():
    with filled() as (index, db):
        d = json.loads(must("running", "--json", "--database", index))
        is_equal("verb: how many", [d["jobs"], d["waiting"]], [db.execute("SELECT count(*) FROM running WHERE state %s 'PENDING'" % c).fetchone()[0] for c in ("<>", "=")])
        is_equal("verb: how many lose", d["losing"], db.execute("SELECT count(*) FROM running WHERE losing_cores >= 1 OR full_at > 0").fetchone()[0])
        is_near("verb: what is lost", d["losing_cores"], db.execute("SELECT sum(losing_cores) FROM running").fetchone()[0], 1e-9)
        is_near("verb: of what", d["cores"], db.execute("SELECT sum(COALESCE(cores, cpus)) FROM running WHERE state <> 'PENDING'").fetchone()[0], 1e-9)
        keys = [(r["full_at"] or 1e12, -(r["losing_cores"] or 0)) for r in d["rows"]]
        is_true("verb: what will end a job first, then what it loses", keys == sorted(keys), keys)
        guess = [r["estimated"] or 1e12 for r in d["waiting_rows"]]
        is_equal("verb: what may begin soonest", guess, sorted(guess))
        is_equal("verb: lists are lists", {type(r[k]) for r in d["rows"] for k in ("spark", "finding_list")}, {list, type(None)})
        rows = list(csv.DictReader(io.StringIO(must("running", "--csv", "--all", "--database", index))))
        is_equal("verb: CSV has those that run and wait", len(rows), 300)
        for words, where in ((("--user", "user03,user04"), "\"user\" IN ('user03', 'user04')"), (("--partition", "gpu"), "partition = 'gpu'"), (("--name", "spin"), "name LIKE '%spin%'"), (("--project", "p01"), "account = 'p01'"),
                             (("--nodes", "4-8"), "nodes BETWEEN 4 AND 8"), (("--jobs", "8451003"), "job_id = 8451003"), (("--cluster", "x"), "cluster = 'x'"), (("--state", "pending"), "state = 'PENDING'"),
                             (("--finding", "cpu.stacked"), "finding_list LIKE '%\"cpu.stacked\"%'"), (("--finding", "mem.leak"), "finding_list LIKE '%\"mem.leak\"%'"), (("--finding", "any"), "findings > 0"), (("--finding", "none"), "findings = 0"), (("--finding", "unknown"), "findings IS NULL")):
            got = json.loads(must("running", "--json", "--database", index, *words))
            is_equal("verb: %s" % " ".join(words), got["jobs"] + got["waiting"], db.execute("SELECT count(*) FROM running WHERE " + where).fetchone()[0])
        def nodes_of(text):
            a, b, x = re.fullmatch(r"n\[(\d+)-(\d+)\],(x\d)", text).groups()
            return {"n%d" % k for k in range(int(a), int(b) + 1)} | {x}
        on = {r[0]: nodes_of(r[1]) for r in db.execute("SELECT job_id, node_list FROM running WHERE node_list IS NOT NULL AND state <> 'PENDING'")}
        for words, asked in (("n3", {"n3"}), ("x3,n[48-49]", {"x3", "n48", "n49"}), ("n[60-70]", {"n%d" % k for k in range(60, 71)}), ("n", set()), ("no-such-node", set())):
            wanted = {j for j, nodes in on.items() if nodes & asked}
            got = json.loads(must("running", "--json", "--all", "--database", index, "-w", words))
            is_equal("verb: on %s" % words, ({r["job_id"] for r in got["rows"]}, got["jobs"]), (wanted, len(wanted)))
        is_equal("verb: no host list, no rule", [call("running", *w, "--database", index).returncode for w in (("--node", "n[1-"), ("--finding", "no.such_rule"))], [2, 2])
        for width in (80, 120, 200):
            out = must("running", "--database", index, env={"COLUMNS": str(width)})
            is_true("verb: text of %d columns" % width, max(map(len, out.splitlines())) <= width and "core-hours are lost in an hour" in out.replace("\n", " "), out[:400])
        is_equal("verb: wrong words", [call("running", *w, "--database", index).returncode for w in (("--nodes", "x"), ("--state", "nonsense"), ("--since", "7d"))], [2, 2, 2])


def who_sees_what():
    if os.geteuid():
        raise Skipped("needs root")
    from serve import Server, OTHER
    with filled(users=2) as (index, db):
        db.execute("UPDATE running SET \"user\" = CASE WHEN \"user\" = 'user00' THEN 'nobody' ELSE 'zz_other' END, account = CASE WHEN \"user\" = 'user00' THEN 'ours' ELSE 'zz_p' END, name = CASE WHEN \"user\" = 'user00' THEN 'n' ELSE 'zz_n' END")
        db.commit()
        for path in (os.path.dirname(index), index):
            os.chmod(path, 0o755)
        s = Server("--database", index)
        try:
            for form in ("", ".json", ".csv"):
                status, _, body = s.ask("/running%s" % form, uid=OTHER)
                is_true("rights, /running%s: no byte of others" % form, status == 200 and b"zz_" not in body, body[:300])
            d = json.loads(s.ask("/running.json?all", uid=OTHER)[2])
            is_equal("rights: own jobs, all of them", d["jobs"] + d["waiting"], db.execute("SELECT count(*) FROM running WHERE \"user\" = 'nobody'").fetchone()[0])
            is_equal("rights: staff sees all", sum(json.loads(s.ask("/running.json")[2])[k] for k in ("jobs", "waiting")), 300)
            is_equal("rights: by another's name there is none", [json.loads(s.ask("/running.json?user=zz_other", uid=OTHER)[2])[k] for k in ("jobs", "waiting")], [0, 0])
        finally:
            s.end()


def the_same_of_postgresql():
    server = Postgres()
    s = Site([queued(101), queued(102, state="PENDING")])
    j = job("node", 1, wall=3600)
    stacked(j, 0.5)
    put_running(s.dir + "/root", j, job=101)
    s.once()
    here = s.rows()
    url = server.address()
    p = start([JOBPROF, "index", "watch", "--every", "1", "--sacct", "none", "--squeue", s.queue.path, "--database", url, s.dir], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def rows():
        d = json.loads(must("running", "--json", "--database", url))
        return {r["job_id"]: r for r in d["rows"] + d["waiting_rows"]}
    wait_until(lambda: call("running", "--json", "--database", url).returncode == 0 and len(rows()) == 2 and rows()[101]["rule"], 30, "both feeds")
    is_equal("PostgreSQL: the same rows", rows(), here)
    some = [[r["job_id"] for r in json.loads(must("running", "--json", *w, "--database", at))["rows"]] for at in (url, s.index) for w in (("--finding", "cpu.stacked"), ("--finding", "mem.leak"), ("--node", here[101]["node_list"]), ("-w", "other"))]
    is_equal("in both: by a finding, by a node", some, 2 * [[101], [], [101], []])
    p.terminate()
    p.wait(30)


if __name__ == "__main__":
    run_tests((within_three_rows, what_is_no_finding, numbers_of_now, the_time_to_the_limit, of_a_real_step, what_squeue_says, one_call_a_minute, both_feeds, files_alone, too_many_files, sums_and_order, who_sees_what,
               the_same_of_postgresql))
