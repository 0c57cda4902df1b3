#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 400
"""jobprof index sync: what sacct prints becomes rows, each once, whatever it prints and however often it
is asked; it and the scan of profiles give the same rows in any order and after any stop. The sacct is
a stand-in (tests/lib/sacctlib.py) that prints what the test made up."""

import calendar
import random
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *
from h5make import node_file, random_rows
from sacctlib import *
import sitegen

NOW = steady_now()
T0 = NOW - 10 * 86400


def new_db():
    return os.path.join(tmpdir("db"), "index.db")


def synced(jobs, *args, **more):
    """A new index of these jobs, and what was printed."""
    sacct, db = Sacct(jobs, **more), new_db()
    status, out, said = sacct.sync(db, *args)
    if status and "sense" not in out:
        raise Failed("status %d: %s %s" % (status, out, said))
    return db, out + said


# --- what a row holds ---

def made_up_jobs(n, seed=1):
    """Jobs of many kinds, and for each what its row is to have."""
    rng, jobs, wanted = random.Random(seed), [], []
    for i in range(n):
        start, elapsed = T0 + rng.randrange(8 * 86400), rng.choice((0, 1, 59, 3600, 86399, 100000))
        nnodes, cpus, mem = rng.choice((1, 2, 7)), rng.choice((1, 4, 64)), rng.choice((100, 4000, 257000))
        gpus = rng.choice((None, 0, 2))
        tres = "cpu=%d,mem=%dM,node=%d" % (cpus, mem * nnodes, nnodes)
        if gpus is not None:
            tres += rng.choice((",gres/gpu=%d" % gpus, ",gres/gpu:a100=%d,gres/gpu=%d" % (gpus, gpus),
                                ",gres/gpu:a=%d,gres/gpu:b=%d" % (gpus // 2, gpus - gpus // 2)))
        limit = rng.choice(("UNLIMITED", "Partition_Limit", "", "525600", "90"))
        cpu = rng.choice((("00:00:00", 0), ("01:02.345", 62.345), ("03:00:01", 10801), ("2-03:04:05", 183845)))
        state = rng.choice(("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED by 1001", "OUT_OF_MEMORY", "NODE_FAIL"))
        kind, number = rng.choice(("", "array", "het")), 100 + i
        shown = {"": str(number), "array": "%d_%d" % (number - 3, i), "het": "%d+1" % (number - 1)}[kind]
        nodes = "n1" if nnodes == 1 else "n[1-%d]" % nnodes
        name, user = "job %d of %d" % (i, n), rng.choice("ada bob cyd".split())
        jobs.append(job(number, start, elapsed, cpus, nodes, JobID=shown, NNodes=str(nnodes), AllocTRES=tres,
                        TimelimitRaw=limit, TotalCPU=cpu[0], State=state, JobName=name, User=user,
                        Account=rng.choice(("physics", "bio", "")), ExitCode="1:0"))
        wanted.append({
            "cluster": "c1", "job_id": number, "start": start, "end": start + elapsed, "elapsed_s": elapsed,
            "submit": start - 60, "eligible": start - 50, "user": user, "account": jobs[-1]["Account"],
            "partition": "main", "qos": "normal", "name": name, "state": state.split()[0], "exit_code": "1:0",
            "limit_s": 5400 if limit == "90" else None, "nodes": nnodes, "node_list": nodes, "cpus": cpus,
            "gpus": gpus, "mem_asked_mb": mem, "slurm_cpu_s": cpu[1], "held_cpu_s": elapsed * cpus,
            "held_gpu_s": None if gpus is None else elapsed * gpus, "restart": None, "sources": 1,
            "array_id": number - 3 if kind == "array" else None, "array_task": i if kind == "array" else None,
            "het_id": number - 1 if kind == "het" else None, "findings": None, "file": None, "coverage": None})
    return jobs, wanted


def each_column_is_what_sacct_says():
    jobs, wanted = made_up_jobs(300)
    db, out = synced(jobs)
    is_true("their number is said", out == "sacct: 300 jobs\n", out)
    for c in wanted[0]:
        got, want = [r[0] for r in rows(db, c)], [w[c] for w in wanted]
        wrong = [(g, w) for g, w in zip(got, want) if g != w and not (
            isinstance(w, float) and g is not None and abs(g - w) < 1e-6)]
        is_true("column " + c, len(got) == len(want) and not wrong, wrong[:3])
    want = sorted(("n%d" % n, w["start"], w["end"]) for w in wanted for n in range(1, w["nodes"] + 1))
    is_equal("nodes and when", sorted(rows(db, "node", "start", "end", table="job_node", order="node")), want)
    status, out, said = index(db, "check")
    is_true("sums agree with rows", not status, out + said)


def a_generated_site():
    """Arrays, restarts, GPUs and hostile names, as tests/lib/sitegen.py has sacct print them."""
    made = [r for r in sitegen.Site(1500, users=40, projects=30, days=20, end=NOW - 86400, hostile=True).rows() if r["sources"] != 2]
    fields = FIELDS + ["Restarts"]
    jobs = [{**{f: sitegen.SACCT.get(f, lambda r: "")(r) for f in fields}, **{f: "Unknown" if r[f.lower()] is None else str(r[f.lower()])
             for f in ("Submit", "Eligible", "Start", "End")}, "_end": r["end"]} for r in made if r["end"] < NOW]
    sacct, db = Sacct(jobs, fields=fields), new_db()
    status, out, said = sacct.sync(db, "--since", "all")
    is_equal("a site: all jobs are read", (status, out, said), (0, "sacct: %d jobs\n" % len(jobs), ""))
    names = [n for n, (_, source) in sitegen.COLUMNS.items() if source in ("SLURM", "ANY") and n not in ("mem_asked_mb", "gpus", "het_id")]
    got = {r[:3]: dict(zip(names, r[3:])) for r in rows(db, "cluster", "job_id", "start", *names)}
    shown = lambda v: re.sub("[\x00-\x1f\x7f]", "\ufffd", v) if isinstance(v, str) else v
    wrong = []
    for r in made:
        if r["end"] < NOW:
            row = got.get((r["cluster"], r["job_id"], r["start"]), {})
            wrong += ["%s of %d: %r, wanted %r" % (n, r["job_id"], row.get(n), r[n]) for n in names if row.get(n) != shown(r[n])]
    is_equal("a site: each column of each job", [len(got), wrong[:4]], [len(jobs), []])


def restarts_are_read_where_sacct_has_them():
    jobs = [job(1, T0, Restarts="2"), job(2, T0, Restarts="0")]
    db, _ = synced(jobs, fields=FIELDS + ["Restarts", "SLUID"])
    is_equal("restarts", rows(db, "restart"), [(2,), (0,)])


def names_are_anybodys():
    forged = "99\x1f99\x1fc1\x1froot\x1f0\x1fx\x1fmain"
    names = ["a|b", "a\x1fb", "x\ny\nz", "\n", "", "line\n" + forged, "'); DROP TABLE job; --", "=cmd|' /C calc'!A0",
             "\u00e9\u4e2d", "\udcff\udcfe", "tab\there", "\x1b[31mred", "a" * 5000, "%s%n", "1\n2\n3\n"]
    jobs = [job(10 + i, T0 + i, JobName=n) for i, n in enumerate(names)]
    jobs.append(job(50, T0 + 50))
    db, out = synced(jobs)
    is_true("no name is a row of no sense", out == "sacct: 16 jobs\n", out)
    got = [r[0] or "" for r in rows(db, "name")]
    want = [n.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for n in names] + ["job50"]
    want = ["".join("\ufffd" if ord(c) < 32 else c for c in w)[:512] for w in want]
    is_equal("each name is one name", got, want)
    is_equal("and nobody else's job", sorted(set(rows(db, "user", order="job_id"))), [("ada",)])


def a_user_without_a_name_has_a_number():
    db, _ = synced([job(1, T0, User="", UID="4242424"), job(2, T0, User="nobody", UID="4242424"),
                    job(3, T0, User="", UID="0")])
    is_equal("users", rows(db, "user"), [("4242424",), ("4242424",), ("root",)])


# --- what is no row ---

def only_jobs_that_ran_are_rows():
    jobs = [job(1, T0),
            job(2, T0, JobIDRaw="2.batch", JobID="2.batch"), job(2, T0, JobIDRaw="2.0", JobID="2.0"),
            job(3, T0, JobID="3_[1-5%2]", Start="Unknown", End="Unknown", NodeList="None assigned", State="PENDING"),
            job(4, T0, End="Unknown", State="RUNNING"),
            job(5, T0, Start="None", NodeList="None assigned", State="CANCELLED by 0", AllocCPUS="0"),
            job(6, T0, 0, NodeList="None assigned", State="CANCELLED by 0", AllocCPUS="0")]
    db, out = synced(jobs)
    is_equal("rows", rows(db, "job_id"), [(1,)])
    is_equal("and nothing is said of the others", out, "sacct: 1 job\n")


def nonsense_is_counted_and_named_once():
    jobs = [job(1, T0, _after=["sacct: this is no row", "2<D>2<D>c1", "", "<D>" * 22 + "7", "<D>" * 40]),
            job(3, T0, Start="yesterday"), job(4, T0, End=str(T0 - 1)), job(5, T0, ElapsedRaw="-3"),
            job(6, T0, AllocCPUS="many"), job(7, T0, JobIDRaw="0"), job(8, T0, Cluster=""),
            job(9, T0, JobIDRaw="99999999999"), job(10, T0, ElapsedRaw="101"),
            job(11, T0, NNodes="x", TotalCPU="1:2:3:4:5:x", AllocTRES="mem=,cpu=x,gres/gpu=a", TimelimitRaw="-1",
                Submit="?", NodeList="n[1-", QOS="")]
    sacct, db = Sacct(jobs), new_db()
    status, out, said = sacct.sync(db)
    is_true("it is an error in the end", status == 1, status)
    is_true("how many", out.startswith("sacct: 2 jobs, 1") and "rows of no sense" in out, out)
    is_true("one line for all", said.count("\n") == 1 and "makes no sense" in said, said)
    is_equal("what makes sense is there", rows(db, "job_id"), [(1,), (11,)])
    is_equal("what one row lacks is not known", rows(db, "nodes", "slurm_cpu_s", "mem_asked_mb", "gpus", "limit_s",
                                                     "submit", "qos")[1], (None,) * 7)


# --- runs of one id ---

def runs_of_one_id_are_rows():
    jobs = [job(1, T0, 100, State="REQUEUED"), job(1, T0 + 102, 50),       # begins 2 s after
            job(2, T0, 100), job(2, T0 + 86400, 100, User="bob"),          # the id was given again
            job(3, T0, 100, State="RESIZING", nodes="n1,n2"), job(3, T0 + 100, 100),  # one follows at once
            job(4, T0, 0, State="NODE_FAIL"), job(4, T0 + 1, 0)]
    db, out = synced(jobs)
    is_equal("runs", rows(db, "job_id", "start", "elapsed_s"),
             [(1, T0, 100), (1, T0 + 102, 50), (2, T0, 100), (2, T0 + 86400, 100), (3, T0, 100), (3, T0 + 100, 100),
              (4, T0, 0), (4, T0 + 1, 0)])


def two_clusters_have_the_same_ids():
    db, _ = synced([job(1, T0, Cluster="c1"), job(1, T0, Cluster="c2", User="bob")])
    is_equal("rows", rows(db, "cluster", "user", order="cluster"), [("c1", "ada"), ("c2", "bob")])


# --- windows ---

def windows_join_and_fit():
    jobs = [job(1000 + i, T0 + 60 * i, 30) for i in range(3000)]
    sacct, db = Sacct(jobs), new_db()
    status, out, said = sacct.sync(db, "--since", "20d")
    is_true("all are read", not status and len(rows(db, "id")) == 3000, out + said)
    calls = [c for c in sacct.calls() if "-S" in c]
    spans = [(c[c.index("-S") + 1], c[c.index("-E") + 1]) for c in calls]
    spans = [[calendar.timegm(time.strptime(t, "%Y-%m-%dT%H:%M:%S")) for t in span] for span in spans]
    is_true("each window begins behind the last one", all(a[1] + 1 == b[0] for a, b in zip(spans, spans[1:])), spans)
    is_true("they grow", len(spans) < 20, len(spans))
    is_true("the delimiter is another one each time", len({[a for a in c if a.startswith("--delim")][0] for c in calls}
                                                          ) == len(calls), calls[:2])
    before = len(sacct.calls())
    status, out, said = sacct.sync(db)
    again = [c for c in sacct.calls()[before:] if "-S" in c]
    last = jobs[-1]["_end"]
    is_equal("the next one begins an hour before the last end", again[0][again[0].index("-S") + 1],
             time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(last - 3600)))
    is_equal("and doubles nothing", len(rows(db, "id")), 3000)


def clusters_have_their_own_marks():
    sacct, db = Sacct([job(1, T0)]), new_db()
    sacct.sync(db, "--cluster", "c1,c2")
    call = sacct.calls()[-1]
    is_equal("they are asked for", call[call.index("-M") + 1], "c1,c2")
    sacct.sync(db)
    is_equal("without, all are", sacct.calls()[-1][-1], "-L")
    is_equal("marks", [k for k, in rows(db, "key", table="meta", order="key") if "until" in k],
             ["accounted_until", "accounted_until c1,c2"])


def a_clock_that_was_wrong_loses_nothing():
    """A job that ends in nine days by the controller's clock: the mark is not after now."""
    sacct, db = Sacct([job(1, T0, End=str(NOW + 9 * 86400), ElapsedRaw="9")]), new_db()
    sacct.sync(db, "--since", "all")
    mark = int(rows(db, "value", table="meta WHERE key = 'accounted_until'", order="key")[0][0])
    is_true("the mark is now", NOW <= mark < NOW + 100, mark - NOW)
    sacct, db = Sacct([job(1, T0)]), new_db()
    sacct.sync(db, "--since", "all")
    mark = int(rows(db, "value", table="meta WHERE key = 'accounted_until'", order="key")[0][0])
    is_equal("without such a job it is the last end", mark, T0 + 100)


@in_full
def a_hundred_thousand_jobs():
    jobs = [job(1000 + i, T0 + i, 30, User="u%d" % (i % 50)) for i in range(100000)]
    sacct, db = Sacct(jobs), new_db()
    began = time.monotonic()
    status, out, said = sacct.sync(db, "--since", "30d")
    print("100,000 rows in %.0f s, %d calls" % (time.monotonic() - began, len(sacct.calls())))
    is_true("all are rows", not status and len(rows(db, "id")) == 100000, out + said)
    status, out, said = index(db, "check")
    is_true("sums agree", not status, out + said)


@in_full
def too_many_for_one_window():
    """70,000 jobs that end in one hour: the window is shortened."""
    jobs = [job(1, T0, Start="yesterday")] + [job(1000 + i, T0 + i // 20, 30) for i in range(70000)]
    sacct, db = Sacct(jobs), new_db()
    status, out, said = sacct.sync(db, "--since", "30d")
    is_equal("all are rows", len(rows(db, "id")), 70000)
    is_equal("a line that is read again counts once", [out.splitlines()[0], said.count("\n")], ["sacct: 70000 jobs, 1 row of no sense", 1])


# --- a sacct that fails ---

def is_alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def what_hangs_is_stopped():
    sacct, db = Sacct([job(1, T0)]), new_db()
    began = time.monotonic()
    status, out, said = sacct.sync(db, "--wait", "3", mode="hang")
    is_true("it is an error, said once", status == 1 and said.count("\n") == 1 and "has not answered" in said, said)
    with open(sacct.dir + "/hung") as f:
        pids = [int(p) for p in f.read().split()]
    wait_until(lambda: not any(is_alive(p) for p in pids), 10, "it and its child to end")
    ok("it has been killed with its children")
    is_equal("later all is read", sacct.sync(db)[:2], (0, "sacct: 1 job\n"))


def what_fails_says_why():
    sacct, db = Sacct([job(1, NOW - 22 * 86400), job(2, NOW - 7200)]), new_db()
    status, out, said = sacct.sync(db, mode="fail")
    is_true("in its own words", status == 1 and "Problem talking to the database" in said, said)
    status, out, said = sacct.sync(db, mode="fail later")
    is_equal("earlier windows are kept", (status, rows(db, "job_id")), (1, [(1,)]))
    is_equal("later it goes on", (sacct.sync(db)[0], rows(db, "job_id")), (0, [(1,), (2,)]))
    status, out, said = index(db, "sync", "--sacct", "/nonexistent/sacct")
    is_true("none is there", status == 1 and "cannot be run" in said, said)


def what_dies_in_between_is_read_again():
    jobs = [job(1000 + i, T0 + i, 30) for i in range(1200)]
    sacct, db = Sacct(jobs), new_db()
    status, out, said = sacct.sync(db, mode="die")
    is_true("it is an error", status == 1 and "killed" in said, (status, said))
    whole = new_db()
    sacct.sync(whole)
    sacct.sync(db)
    is_true("later all is there", difference(db, whole) is None, difference(db, whole))


@in_full
def what_never_ends_is_stopped():
    sacct, db = Sacct([job(1, T0)]), new_db()
    status, out, said = sacct.sync(db, mode="endless")
    is_true("it is an error", status == 1 and "sense" in said, said[-300:])


# --- both feeds ---

def profile(directory, number, start, seconds=100, restart=0, **attributes):
    """A node-step file of the job."""
    rng = numpy.random.default_rng(number)
    more = {"Job Id": number, "Job Start EpochTime": start, "Job Name": "by the profile", "Cluster": "c1",
            "Restart Count": restart}
    more.update(attributes)
    path = os.path.join(directory, "%d_0_n1.h5" % number)
    node_file(path, "n1", {"Tasks/0": random_rows(rng, "Tasks", seconds // 2, 2, start)}, attributes=more.items())
    return path


def my_name():
    import pwd
    return pwd.getpwuid(os.getuid()).pw_name


def both_kinds():
    """Jobs of sacct, and a directory with profiles of some of them and of others."""
    me, d = my_name(), tmpdir("profiles")
    jobs = [job(i, T0 + 200 * i, 100, User=me) for i in range(1, 20)]
    for i in range(1, 12, 2):
        profile(d, i, T0 + 200 * i)
    profile(d, 77, T0)  # Slurm has none of these
    # of the second run alone, which begins 3 s after the first
    jobs += [job(30, T0, 100, User=me, State="REQUEUED"), job(30, T0 + 103, 100, User=me)]
    profile(d, 30, T0 + 103, 98, restart=1)
    # of the first alone
    jobs += [job(31, T0, 100, User=me, State="REQUEUED"), job(31, T0 + 103, 100, User=me)]
    profile(d, 31, T0, 98)
    # it ended while there was no jobprofd
    jobs += [job(32, T0, 100, User=me)]
    profile(d, 32, T0 + 1, 4000)
    return jobs, d


def any_order_gives_the_same_rows():
    jobs, d = both_kinds()
    sacct, dbs = Sacct(jobs), []
    for steps in ("scan sync", "sync scan", "sync scan sync scan", "scan scan sync sync again"):
        db = new_db()
        dbs.append(db)
        for step in steps.split():
            if step == "sync":
                status, out, said = sacct.sync(db)
            else:
                status, out, said = index(db, "scan", d, *(["--again"] if step == "again" else []))
            if status:
                raise Failed("%s of %s: %s %s" % (step, steps, out, said))
    for db, steps in zip(dbs[1:], ("the other way", "twice", "with --again")):
        is_true(steps, difference(dbs[0], db) is None, difference(dbs[0], db))
    is_equal("a job with both is one row", rows(dbs[0], "job_id", "sources", table="job WHERE job_id < 20"),
             [(i, 3 if i < 12 and i % 2 else 1) for i in range(1, 20)])
    is_equal("one of profiles alone", rows(dbs[0], "sources", table="job WHERE job_id = 77"), [(2,)])
    is_equal("each profile is of its run", rows(dbs[0], "job_id", "start", "sources", table="job WHERE job_id IN (30, 31)"),
             [(30, T0, 1), (30, T0 + 103, 3), (31, T0, 3), (31, T0 + 103, 1)])
    is_equal("a profile that ends long after its job", rows(dbs[0], "sources", "start", "elapsed_s", table="job WHERE job_id = 32"), [(3, T0, 100)])
    is_equal("Slurm's word counts", rows(dbs[0], "name", table="job WHERE job_id = 1"), [("job1",)])


def a_profile_of_another_user_is_of_no_job():
    if os.geteuid():
        raise Skipped("needs root")
    d = tmpdir("profiles")
    os.chown(profile(d, 5, T0), 1, 1)
    sacct = Sacct([job(5, T0, User="root")])
    for steps in ("scan sync", "sync scan"):
        db = new_db()
        for step in steps.split():
            sacct.sync(db) if step == "sync" else index(db, "scan", d)
        is_equal(steps, [rows(db, "user", "sources"), rows(db, "state", table="file", order="state"), rows(db, "job", table="finding", order="job")], [[("root", 1)], [("refused",)], []])
        is_equal("its sums are Slurm's", [index(db, "check")[0], rows(db, "user", "jobs", table="day", order="user")], [0, [("root", 1)]])


def killed_anywhere_and_repeated():
    """20 times each feed is killed, then both run undisturbed."""
    jobs, d = both_kinds()
    jobs += [job(5000 + i, T0 + i, 30, User="u%d" % (i % 5)) for i in range(1500)]
    sacct, whole, db, rng = Sacct(jobs), new_db(), new_db(), random.Random(2)
    times = []
    for args in (["scan", d], ["sync", "--sacct", sacct.path]):
        began = time.monotonic()
        index(whole, *args, env=sacct.env())
        times.append(time.monotonic() - began)
    killed = tries = 0
    while killed < 20 and tries < 200:
        kind = killed % 2
        tries += 1
        p = start([JOBPROF, "index", "--database", db] +
                  (["sync", "--sacct", sacct.path] if kind else ["scan", "--again", d]),
                  env=sacct.env(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.random() * times[kind])
        p.kill()
        if p.wait() == -signal.SIGKILL:
            killed += 1
        else:  # it was sooner than the first time
            times[kind] *= 0.7
    is_equal("20 were killed", killed, 20)
    wait_until(lambda: not index(db, "scan", d, env=sacct.env())[0], 30, "the scan")
    status, out, said = sacct.sync(db)
    is_true("it runs", not status, said)
    is_true("the same rows", difference(db, whole) is None, difference(db, whole))
    status, out, said = index(db, "check")
    is_true("sums agree, and nothing is damaged", not status, out + said)


run_tests([each_column_is_what_sacct_says, a_generated_site, restarts_are_read_where_sacct_has_them, names_are_anybodys,
           a_user_without_a_name_has_a_number, only_jobs_that_ran_are_rows, nonsense_is_counted_and_named_once,
           runs_of_one_id_are_rows, two_clusters_have_the_same_ids, windows_join_and_fit,
           clusters_have_their_own_marks, a_clock_that_was_wrong_loses_nothing, a_hundred_thousand_jobs,
           too_many_for_one_window, what_hangs_is_stopped, what_fails_says_why, what_dies_in_between_is_read_again,
           what_never_ends_is_stopped, any_order_gives_the_same_rows, a_profile_of_another_user_is_of_no_job,
           killed_anywhere_and_repeated])
