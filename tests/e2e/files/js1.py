#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof js1: what Python's base64, gzip and json make of it is what h5py adds up, and as jobstats reads it. The queue of
comments writes it through sacctmgr, here a stand-in: some a minute, with pauses, never over another's comment."""

import base64
import contextlib
import gzip
import sqlite3
import sys

sys.path.insert(0, sys.path[0] + "/../../lib")
sys.path.insert(0, sys.path[0] + "/../findings")
from cases import job
from lib import *


def js1(*args):
    p = subprocess.run([JOBPROF, "js1", *args], capture_output=True, text=True, env=plain_env(HOME="/absent"), cwd=tmpdir())
    return p.returncode, p.stdout.rstrip("\n"), p.stderr


def decoded(text):
    """As jobstats does."""
    if not text.startswith("JS1:") or len(text) <= 10:
        raise Failed("no reader of jobstats takes %r" % text)
    return json.loads(gzip.decompress(base64.b64decode(text[4:], validate=True)))


def wrong_in(d):
    """What Job Defense Shield calls an error, and what jobstats cannot compute with."""
    for name, n in d["nodes"].items():
        for key in ("cpus", "total_time", "total_memory", "used_memory"):
            if not isinstance(n[key], (int, float)) or n[key] < 0:
                yield name, key, n[key]
        if n["used_memory"] > n["total_memory"]:
            yield name, "memory", n
        if n["total_time"] > n["cpus"] * d["total_time"]:
            yield name, "time", n
        for gpu, use in n.get("gpu_utilization", {}).items():
            if not 0 <= use <= 100 or n["gpu_used_memory"][gpu] > n["gpu_total_memory"][gpu]:
                yield name, gpu, n
    if not isinstance(d["total_time"], int) or not isinstance(d["gpus"], int):
        yield "totals", d["total_time"], d["gpus"]


def made(d, number, shape="pair", wall=3600, **more):
    j = job(shape, number, job=number, wall=wall, **more)
    if number % 2:
        j.gpus(2, utilization=80.0)
    j.write(d + "/job_%d.h5" % number)
    return j


def has_what_the_profile_has():
    d = tmpdir()
    for number, shape in ((4711, "pair"), (4712, "node"), (4713, "some")):
        j = made(d, number, shape)
        status, text, err = js1(str(number), "-p", d)
        got = decoded(text)
        is_equal("%d: status" % number, (status, err), (0, ""))
        is_equal("%d: nothing that its readers refuse" % number, list(wrong_in(got)), [])
        with h5py.File(d + "/job_%d.h5" % number) as f:
            nodes = f["Steps/0/Nodes"]
            is_equal("%d: nodes, time, GPUs" % number, (sorted(got["nodes"]), got["total_time"], got["gpus"]),
                     (sorted(nodes), 3600, 2 * j.nodes if number % 2 else 0))
            for name, n in nodes.items():
                own = (n["Step"]["MemAnonMB"] + n["Step"]["MemShmemMB"] + n["Step"]["MemKernelMB"]).max()
                here = got["nodes"][name]
                is_near("%d: CPU time of %s" % (number, name), here["total_time"], n["Step"]["CPUTime"].sum(), 0, 0.06)
                is_near("%d: memory of %s" % (number, name), here["used_memory"], own * MB, 1e-6, 1)
                is_equal("%d: granted to %s" % (number, name), (here["cpus"], here["total_memory"]), (j.cores, j.limit_mb * MB))
                if number % 2:
                    is_equal("%d: GPUs of %s" % (number, name), (here["gpu_utilization"], here["gpu_used_memory"], here["gpu_total_memory"]),
                             ({"0": 80, "1": 80}, dict.fromkeys("01", 20000 * MB), dict.fromkeys("01", 40960 * MB)))


def short_none_and_missing():
    d = tmpdir()
    made(d, 20, "threads", wall=50, row=1)
    is_equal("below a minute", js1("20", "-p", d), (0, "JS1:Short", ""))
    j = job("node", 22, job=22)
    j.limit_mb = j.request_mb = None
    j.put_step(MemLimitMB=float("nan"))
    j.attrs["node_mb"] = None
    j.write(d + "/job_22.h5")
    is_equal("memory that nobody knows", js1("22", "-p", d), (0, "JS1:None", ""))
    status, out, err = js1("99", "-p", d)
    is_true("no such job", status == 1 and not out and "99" in err, (status, err))


def of_the_index():
    """The profile is gone: a row of one node is enough, of two it is not."""
    d = tmpdir()
    for number, shape in ((30, "node"), (32, "pair")):
        made(d, number, shape)
    index = tmpdir() + "/index.db"
    subprocess.run([JOBPROF, "index", "scan", d, "--database", index], check=True, capture_output=True)
    with_file = decoded(js1("30", "--database", index)[1])
    for number in (30, 32):
        os.remove(d + "/job_%d.h5" % number)
    is_equal("of its row", decoded(js1("30", "--database", index)[1]), with_file)
    is_equal("of two nodes", js1("32", "--database", index)[1], "JS1:None")
    made(d, 30, "pair")
    with contextlib.closing(sqlite3.connect(index)) as db, db:
        db.execute("UPDATE job SET \"user\" = 'daemon', sources = 3, file = NULL WHERE job_id = 30")
    is_equal("a file of that id which is another user's is not the job's", decoded(js1("30", "-p", d, "--database", index)[1]), with_file)


# ---- the queue

SACCT = """#!/usr/bin/python3
import json, os, sys, time
d = os.path.dirname(sys.argv[0])
with open(d + "/comments.json") as f:
    comments = json.load(f)
time.sleep(comments.get("hang", 0))
a = sys.argv[1:]
with open(d + "/calls", "a") as f:
    f.write(json.dumps([os.path.basename(sys.argv[0])] + a) + "\\n")
if sys.argv[0].endswith("sacct"):
    job = a[a.index("-j") + 1]
    for raw, text in sorted(comments.items()):
        if raw == job or raw.startswith(job + "0"):  # as for the first id of an array
            print(raw + "|" + text)
elif comments.get("fail"):
    sys.exit("sacctmgr: error: slurm_persist_conn_open: something failed")
else:
    job = [x for x in a if x.startswith("jobid=")][0][6:]
    if job not in comments:
        print(" Nothing modified")
    else:
        comments[job] = [x for x in a if x.startswith("admincomment=")][0][13:]
        if "lower" in comments:
            comments[job] = comments[job].lower()
        with open(d + "/comments.json", "w") as f:
            json.dump(comments, f)
"""


class Slurm:
    """sacct and sacctmgr as stand-ins, and an index of some jobs that have just ended."""

    def __init__(self, jobs, comments):
        self.dir, self.index, profiles = tmpdir("slurm"), tmpdir() + "/index.db", tmpdir()
        for name in ("sacct", "sacctmgr"):
            with open(os.path.join(self.dir, name), "w") as f:
                f.write(SACCT)
            os.chmod(os.path.join(self.dir, name), 0o755)
        for number in jobs:
            made(profiles, number, "threads")
        subprocess.run([JOBPROF, "index", "scan", profiles, "--database", self.index], check=True, capture_output=True)
        self.sql("UPDATE job SET sources = 3, \"end\" = ?, start = start + job_id", int(time.time()) - 100)
        self.set(comments)

    def sql(self, statement, *args):
        with sqlite3.connect(self.index) as db:
            found = db.execute(statement, args).fetchall()
        db.close()
        return found

    def set(self, comments):
        with open(self.dir + "/comments.json", "w") as f:
            json.dump(comments, f)

    def comments(self):
        with open(self.dir + "/comments.json") as f:
            return json.load(f)

    def calls(self):
        with contextlib.suppress(FileNotFoundError):
            with open(self.dir + "/calls") as f:
                return [json.loads(line) for line in f]
        return []

    def turn(self, *args):
        p = subprocess.run([JOBPROF, "index", "comment", "--database", self.index, *args], capture_output=True, text=True,
                           env=plain_env(PATH=self.dir + ":" + os.environ["PATH"]))
        return p.returncode, p.stdout, p.stderr

    def states(self):
        return dict(self.sql("SELECT j.job_id, c.state FROM admin_comment c JOIN job j ON j.id = c.job"))


def comments_are_written():
    s = Slurm([40, 41, 42, 43], {"40": "", "41": "asked by the owner", "42": "JS1:old", "400": "of another job"})
    s.sql("UPDATE job SET cluster = 'tux' WHERE job_id = 42")
    status, out, err = s.turn()
    is_equal("what it says", (status, out), (1, "2 written, 1 of others, 1 failed, 1 waiting\n"))
    got = s.comments()
    is_equal("comments are of their jobs", [sorted(decoded(got[k])["nodes"]) for k in ("40", "42")], [["n1"], ["n1"]])
    is_equal("another's comment stays", (got["41"], got["400"]), ("asked by the owner", "of another job"))
    is_equal("what Slurm does not know yet waits", s.states(), {40: "done", 41: "foreign", 42: "done", 43: "waits"})
    calls = s.calls()
    is_equal("the cluster is named", [c[-2:] for c in calls if c[0] == "sacct" and "42" in c] +
             [[x for x in c if x.startswith("cluster")] for c in calls if c[0] == "sacctmgr" and "jobid=42" in c],
             [["-M", "tux"], ["cluster=tux"]])
    is_true("no other is asked for or written", not any(c[0] == "sacctmgr" and "jobid=41" in c for c in calls), calls)
    n = len(calls)
    is_equal("all is done", (s.turn()[1], len(s.calls())), ("0 written, 0 of others, 0 failed, 1 waiting\n", n))
    s.set({"43": ""})
    s.sql("UPDATE admin_comment SET next = 0")
    is_equal("tried again when it is due", (s.turn()[1], s.states()[43]), ("1 written, 0 of others, 0 failed, 0 waiting\n", "done"))


def jobs_that_run_have_none():
    s = Slurm([50, 51], {"50": "", "51": ""})
    s.sql("UPDATE job SET state = 'RUNNING' WHERE job_id = 50")
    s.sql("UPDATE job SET \"end\" = \"end\" - 30 * 86400 WHERE job_id = 51")
    is_equal("neither those that run nor old ones", (s.turn()[1], s.calls()), ("0 written, 0 of others, 0 failed, 0 waiting\n", []))


def pauses_grow():
    s = Slurm([60], {"60": "", "fail": 1})
    pauses = []
    for _ in range(12):
        s.sql("UPDATE admin_comment SET next = 0, at = 0")
        status, out, err = s.turn()
        (state, next_, at), = s.sql("SELECT state, next, at FROM admin_comment")
        pauses.append((state, next_ - at))
    is_equal("pauses", pauses, [("waits", 60 << k) for k in range(11)] + [("failed", 60 << 11)])
    is_true("why is said", status == 1 and "sacctmgr: sacctmgr: error: slurm_persist_conn_open" in err, err)


def slurm_that_hangs():
    s = Slurm([70, 71, 72], {"70": "", "71": "", "72": "", "hang": 60})
    began = time.monotonic()
    status, out, err = s.turn("--wait", "1")
    is_true("one time-out, and the rest waits", status == 1 and err.count("it had not ended after 1 s") == 1 and time.monotonic() - began < 30
            and out == "0 written, 0 of others, 1 failed, 3 waiting\n", (out, err))
    s.set({"70": "", "71": "", "72": ""})
    is_equal("so many a minute", s.turn("--rate", "2")[1], "1 written, 0 of others, 0 failed, 2 waiting\n")
    is_equal("and no more in it", s.turn("--rate", "2")[1], "0 written, 0 of others, 0 failed, 2 waiting\n")
    s.sql("UPDATE admin_comment SET at = at - 61, next = 0")
    is_equal("a minute later", s.turn("--rate", "2")[1], "2 written, 0 of others, 0 failed, 0 waiting\n")


def more_than_the_rate_allows():
    """The newest have their comments; what had no turn in a week is dropped, and so are those of long ago."""
    s = Slurm(range(90, 96), {str(n): "" for n in range(90, 96)})
    s.sql("UPDATE job SET \"end\" = \"end\" + job_id - 96")
    is_equal("the newest first", (s.turn("--rate", "2")[1], sorted(int(k) for k, v in s.comments().items() if v)), ("2 written, 0 of others, 0 failed, 4 waiting\n", [94, 95]))
    s.sql("UPDATE job SET \"end\" = \"end\" - 8 * 86400 WHERE job_id <= 92 OR job_id = 95")
    s.sql("UPDATE admin_comment SET next = next - 8 * 86400, at = at - 8 * 86400 WHERE job IN (SELECT id FROM job WHERE job_id <= 92 OR job_id = 95)")
    is_equal("a week later", (s.turn("--rate", "9")[1], s.states()), ("1 written, 0 of others, 0 failed, 0 waiting\n", {93: "done", 94: "done"}))
    plan = " ".join(r[3] for r in s.sql("EXPLAIN QUERY PLAN SELECT id FROM job WHERE \"end\" >= 1 AND sources = 3"))
    is_true("jobs of long ago are not read", "job_end" in plan, plan)


def users_take_turns():
    """One whose many jobs end last keeps no other user's from their comments."""
    s = Slurm(range(80, 86), {str(n): "" for n in range(80, 86)})
    s.sql("UPDATE job SET \"end\" = \"end\" + job_id - 86, \"user\" = CASE WHEN job_id < 82 THEN 'alice' ELSE 'mallory' END")
    is_equal("the newest of each user", (s.turn("--rate", "2")[1], sorted(int(k) for k, v in s.comments().items() if v)), ("2 written, 0 of others, 0 failed, 4 waiting\n", [81, 85]))


def slurm_that_changes_comments():
    s = Slurm([75, 76], {"75": "", "76": "", "lower": 1})
    status, out, err = s.turn()
    is_true("it is said once", (status, out) == (1, "0 written, 0 of others, 1 failed, 2 waiting\n") and err.count("does not store comments") == 1, (out, err))
    is_equal("what was written is taken back", (s.comments()["75"], s.comments()["76"]), ("", ""))


def without_slurm():
    s = Slurm([80], {})
    for name in ("sacct", "sacctmgr"):
        os.remove(os.path.join(s.dir, name))
    p = subprocess.run([JOBPROF, "index", "comment", "--database", s.index], capture_output=True, text=True, env=plain_env(PATH=s.dir))
    is_true("it says that sacct is missing", p.returncode == 1 and "sacct: it is not in PATH" in p.stderr, p)


run_tests([has_what_the_profile_has, short_none_and_missing, of_the_index, comments_are_written, jobs_that_run_have_none,
           pauses_grow, slurm_that_hangs, more_than_the_rate_allows, users_take_turns, slurm_that_changes_comments, without_slurm])
