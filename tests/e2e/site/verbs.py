#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""issues, usage --io, contacted, advice, digest, prune and forget, against sums over rows that this script has put into an
index by itself, and against the bytes of its file."""

import contextlib
import math
import random
import sqlite3
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *

DAY = 86400
NOW = steady_now()
LONG_AGO = time.strftime("%Y-%m-%d", time.localtime(NOW - 27 * DAY))
RULES = ("cpu.unused", "io.small", "memory.leak")


def jobprof(*args, status=0, **kw):
    p = subprocess.run([JOBPROF, *args], capture_output=True, text=True, timeout=120, **{"env": plain_env(), **kw})
    if p.returncode != status:
        raise Failed("jobprof %s: status %d: %s" % (" ".join(args), p.returncode, p.stderr))
    return p.stdout


def new_index():
    path = os.path.join(tmpdir("index"), "index.db")
    jobprof("index", "scan", tmpdir("empty"), "--database", path)
    return path


def some_jobs(n, seed=1, days=60):
    """Rows as the index has them; what is None is not known."""
    r = random.Random(seed)
    jobs = []
    for i in range(n):
        start, elapsed, cores = NOW - int(r.uniform(0, days) * DAY) - 90000, int(r.lognormvariate(8, 1.2)), r.choice((1, 2, 8, 64))
        day = time.localtime(start)
        judged = r.random() < 0.8
        cost = r.random() * elapsed * cores if judged and r.random() < 0.6 else 0
        jobs.append({
            "cluster": "c", "job_id": 1000 + i, "start": start, "end": start + elapsed, "elapsed_s": elapsed, "restart": 0,
            "user": "u%d" % r.randrange(12), "account": "p%d" % r.randrange(4), "partition": "cpu", "name": "run%d" % r.randrange(3),
            "state": "COMPLETED", "nodes": r.choice((1, 2, 16)), "cores": cores, "cpus": cores, "held_core_s": float(elapsed * cores),
            "held_cpu_s": float(elapsed * cores), "findings": (1 if cost else 0) if judged else None, "lost_core_s": cost if judged else None,
            "cost_core_s": cost if judged else None, "worst_rule": (r.choice(RULES) if cost else "") if judged else None,
            "signature": "%016x" % r.randrange(40), "is_eligible": int(judged and elapsed >= 3600),
            "idle_cpu_s": r.random() * elapsed if judged and r.random() < 0.9 else None, "idle_of_cpu_s": float(elapsed * cores) if judged else None,
            "unused_ratio": r.random() if judged else None, "io_blocking": float(r.randrange(9)) if judged else None, "sources": 2 if judged else 1,
            "read_bytes": r.lognormvariate(15, 4) if judged else None, "read_bw_max": r.lognormvariate(10, 3) if judged else None,
            "write_bytes": r.lognormvariate(15, 4) if judged else None, "write_intensity_1m": r.random() if judged else None,
            "day": (start + day.tm_gmtoff) // DAY, "month": day.tm_year * 12 + day.tm_mon - 1})
    return jobs


def put(path, jobs):
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        for i, j in enumerate(jobs, 1):
            db.execute("INSERT INTO job (id, %s) VALUES (%s)" % (", ".join('"%s"' % k for k in j), ", ".join("?" * (len(j) + 1))),
                       [i, *j.values()])
            if j["findings"]:
                db.execute("INSERT INTO finding (job, n, rule, severity, cost_core_s, text) VALUES (?, 0, ?, 2, ?, 'a text')",
                           [i, j["worst_rule"], j["cost_core_s"]])
            db.execute("INSERT INTO job_node (node, start, \"end\", job) VALUES ('n1', ?, ?, ?)", [j["start"], j["end"], i])
            db.execute("INSERT INTO job_fs (job, fs, read_bytes) VALUES (?, ?, 1)", [i, "home-" + j["user"]])
    jobprof("index", "remake", "--database", path)
    return path


def known(values):
    return [v for v in values if v is not None]


def near(a, b):
    return a is None and b is None or a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def issues():
    jobs = some_jobs(600)
    path = put(new_index(), jobs)
    got = json.loads(jobprof("issues", "--by", "user", "--since", "all", "--all", "--json", "--database", path))
    eligible = [j for j in jobs if j["is_eligible"]]
    wanted = {}
    for u in {j["user"] for j in eligible}:
        own = [j for j in eligible if j["user"] == u]
        both = [j for j in own if j["idle_cpu_s"] is not None]
        wanted[u] = (len(own), sum(known(j["idle_cpu_s"] for j in own)) if both else None,
                     sum(j["idle_cpu_s"] for j in both) / sum(j["idle_of_cpu_s"] for j in both) if both else None,
                     max(j["unused_ratio"] for j in own), max(j["io_blocking"] for j in own))
    told = {r["user"]: (r["runs"], r["ict"], r["icr"], r["max_ucr"], r["max_iob"]) for r in got["rows"]}
    is_equal("issues: the users", sorted(told), sorted(wanted))
    is_true("issues: their numbers", all(all(near(a, b) for a, b in zip(told[u], wanted[u])) for u in told), (told, wanted))
    is_equal("issues: those with most idle time first", [r["ict"] for r in got["rows"]], sorted((r["ict"] for r in got["rows"]), reverse=True))
    is_equal("issues: the sum", got["sum"]["runs"], len(eligible))


def heads():
    """A share that is no zero is not said to be one; times of another year have it."""
    job = {**some_jobs(1)[0], "held_core_s": 3.6e9, "findings": 1, "lost_core_s": 3600.0, "cost_core_s": 3600.0, "worst_rule": "cpu.unused", "sources": 2}
    year = time.localtime().tm_year
    old = {**job, "job_id": 2000, "start": int(time.mktime((year - 1, 12, 31, 12, 0, 0, 0, 0, -1)))}
    path = put(new_index(), [job, old])
    for verb in ("jobs", "usage"):
        text = jobprof(verb, "--since", "all", "--database", path)
        is_true("%s: less than a percent" % verb, "lost (<1 %)" in text.splitlines()[0], text)
    text = jobprof("jobs", "--since", "all", "--database", path)
    is_true("jobs: the year of another year", "%d-12-31" % (year - 1) in text, text)


def nearest_rank(values, share):
    v = sorted(values)
    return v[max(math.ceil(share * len(v) - 1e-9), 1) - 1]


def the_io_of_a_site():
    jobs = some_jobs(500, 2)
    path = put(new_index(), jobs)
    got = json.loads(jobprof("usage", "--io", "--since", "all", "--json", "--database", path))
    long = [j for j in jobs if j["elapsed_s"] >= 3600]
    moved = {r["quantity"]: r for r in got["moved"]}
    for name, column in (("read", "read_bytes"), ("written", "write_bytes"), ("highest bandwidth of reads", "read_bw_max")):
        v, row = sorted(known(j[column] for j in long)), moved[name]
        is_true("I/O, %s: quantiles" % name, row["jobs"] == len(v) and all(near(row[k], nearest_rank(v, s)) for k, s in
                (("p50", 0.5), ("p80", 0.8), ("p95", 0.95), ("most", 1))), (row, len(v)))
        if column.endswith("bytes"):
            top = v[len(v) - math.ceil(0.2 * len(v) - 1e-9):]
            is_true("I/O, %s: what the 20 %% move that move most" % name, near(row["top_share"], sum(top) / sum(v)) and near(row["sum"], sum(v)), row)
        bins = got["histograms"][column]
        is_equal("I/O, %s: histogram" % name, bins, [sum(2.0 ** i <= x < 2.0 ** (i + 1) for x in v) for i in range(len(bins))])
    usual = {r["quantity"]: r for r in got["usual"]}
    is_true("I/O: what 80 % do not exceed", near(usual["I/O intensity, write"]["c1m"], nearest_rank(known(j["write_intensity_1m"] for j in long), 0.8)), usual)
    few = json.loads(jobprof("usage", "--io", "--ran", "10m-1h", "--since", "all", "--json", "--database", path))
    is_equal("I/O of other jobs", few["moved"][0]["jobs"], len(known(j["read_bytes"] for j in jobs if 600 <= j["elapsed_s"] <= 3600)))


def alike(n, user, first_id, at, held, lost):
    """Jobs of one signature, a day apart from `at` on."""
    job = some_jobs(1)[0]
    return [{**job, "job_id": first_id + i, "user": user, "signature": "%016x" % first_id, "start": at + i * DAY, "end": at + i * DAY + 3600,
             "held_core_s": held, "findings": 1 if lost else 0, "lost_core_s": lost, "cost_core_s": lost, "worst_rule": "cpu.unused" if lost else "",
             "sources": 2} for i in range(n)]


def did_it_help():
    """14 days ago users were written to; what they lost before and since is known."""
    cases = {  # user: lost of 100 core-s held before and after, runs after, what is said
        "helped": (50, 10, 10, "helped"), "alittle": (50, 40, 10, "helped a little"), "same": (50, 49, 10, "no change"), "worse": (20, 60, 10, "worse"),
        "fewer": (50, 50, 6, "no change"), "early": (50, 10, 3, "too early"), "gone": (50, 0, 0, "did not run since"), "clean": (50, 0, 12, "helped"),
        "unknown": (50, 10, 10, "cost not known")}
    jobs, at = [], NOW - 14 * DAY
    for i, (user, (before, after, runs, _)) in enumerate(cases.items()):
        jobs += alike(20, user, 2000 + 100 * i, at - 30 * DAY, 100.0, float(before))
        jobs += [{**j, "signature": "%016x" % (2000 + 100 * i)} for j in alike(runs, user, 2050 + 100 * i, at + DAY, 100.0, float(after))]
    path = put(new_index(), jobs)
    for i, user in enumerate(cases):
        jobprof("contacted", str(2000 + 100 * i), "--finding", "cpu.unused", "--ticket", "T%d" % i, "--database", path)
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE contact SET at = ?", [at])
        db.execute("UPDATE finding SET cost_core_s = NULL WHERE job IN (SELECT id FROM job WHERE user = 'unknown' AND start > ?)", [at])
    got = {r["user"]: r for r in json.loads(jobprof("advice", "--json", "--database", path))["rows"]}
    for i, (user, (before, after, runs, verdict)) in enumerate(cases.items()):
        r = got[user]
        is_equal("advice, %s: verdict" % user, (r["verdict"], r["ticket"], r["rule"], r["runs_after"]), (verdict, "T%d" % i, "cpu.unused", runs))
        if runs and user != "clean":
            # the index begins with these jobs, 30 days before
            is_near("advice, %s: lost a week before" % user, r["lost_before_core_s_week"], 20 * before / (30 / 7), 1e-9)
            # two weeks, and what this script has taken so far
            is_near("advice, %s: what would be lost since" % user, r["expected_core_s_week"], before / 100 * runs * 100 / 2, 1e-3)


def what_all_saved():
    """Of the same jobs in an index that begins 5 or 50 days before, and in one with another cluster."""
    at, rows = NOW - 14 * DAY, []
    for user, first, after in (("better", 3000, 10.0), ("worse", 4000, 95.0), ("early", 5000, 0.0)):
        rows += alike(5, user, first, at - 5 * DAY, 3600e4, 1800e4)
        rows += [{**j, "signature": "%016x" % first} for j in alike(3 if user == "early" else 10, user, first + 50, at + DAY, 3600e4, after * 36e4)]
    old = {**rows[0], "job_id": 1, "user": "other", "signature": "0" * 16, "start": at - 50 * DAY}
    for title, more, weeks in (("5 days", [], 5 / 7), ("50 days", [old], 6), ("50 days of another cluster", [{**old, "cluster": "d"}], 5 / 7),
                               ("50 days without profiles", [{**old, "findings": None, "lost_core_s": None}], 5 / 7)):
        path = put(new_index(), rows + more)
        for user, ticket in (("better", "T1"), ("worse", "T2"), ("early", "T3")):
            jobprof("contacted", user, "--at", str(at), "--ticket", ticket, "--text", "ask for %s less" % user, "--database", path)
        got = json.loads(jobprof("advice", "--json", "--database", path))
        for r in got["rows"]:
            is_near("an index of %s: %s lost a week before" % (title, r["user"]), r["lost_before_core_s_week"], 5 * 1800e4 / weeks, 1e-9)
            is_near("an index of %s: weeks before" % title, r["weeks_before"], weeks, 1e-9)
        by = {r["user"]: r["saved_core_s_week"] for r in got["rows"]}
        is_true("saved: what they lost by half is expected of all", near(by["better"] / by["worse"], -40 / 45) and by["early"] > 0, by)
        is_equal("contacts, and those that helped", (got["contacts"], got["helped"]), (3, 1))
        is_near("saved by those that helped", got["saved_core_s_week"], by["better"], 1e-9)
        is_near("saved by all", got["saved_by_all_core_s_week"], sum(by.values()), 1e-9)
        text = jobprof("advice", "--database", path)
        is_equal("both in words", text.split("\n")[-2], "helped 1 of 3, which saved %s core-h a week; all 3 together: %s" %
                 tuple("{:,.0f}".format(v / 3600) for v in (by["better"], sum(by.values()))))
        again = json.loads(jobprof("digest", "--json", "--database", path))["advice"]
        # two weeks, and what this script has taken so far
        is_true("the digest has the same", all(abs(v - got[k]) <= 1e-3 * abs(v) for k, v in again.items()) and {"helped", "saved_by_all_core_s_week"} < set(again), again)
        is_equal("the digest of a user has that user's contacts", [json.loads(jobprof("digest", "--user", u, "--json", "--database", path))["advice"]["contacts"] for u in ("better", "better,early", "none")], [1, 2, 0])
        is_true("the digest in words", "\nOf 3 contacts in the last 8 weeks 1 helped: %s core-h a week;\nall 3 together: %s.\n" %
                tuple("{:,.0f}".format(v / 3600) for v in (by["better"], sum(by.values()))) in jobprof("digest", "--database", path), "")
        for n, said in ((2, "helped 1 of 2, which saved %s core-h a week; all 2 together: %s"), (1, "helped 0 of 1: %s core-h a week")):
            jobprof("contacted", {2: "early", 1: "better"}[n], "--remove", "--database", path)
            sums = (by["better"], by["better"] + by["worse"]) if n == 2 else (by["worse"],)
            text = jobprof("advice", "--database", path)
            is_equal("of %d in words" % n, text.split("\n")[-2], said % tuple("{:,.0f}".format(v / 3600) for v in sums))
        for user, ticket in (("better", "T1"), ("early", "T3")):
            jobprof("contacted", user, "--at", str(at), "--ticket", ticket, "--text", "ask for %s less" % user, "--database", path)
    for columns, has in ((80, ("contacted", "ticket", "user", "verdict")), (100, ("by", "ticket", "user", "saved", "verdict")),
                         (300, ("by", "weeks", "runs since", "what was said"))):
        text = jobprof("advice", "--database", path, env=plain_env(COLUMNS=str(columns)))
        is_true("advice at %d columns" % columns, all(w in text.split("\n")[0] for w in has) and "T1" in text and max(map(len, text.split("\n"))) <= columns, text)
        is_equal("advice at %d columns: what was said" % columns, "ask for worse less" in text, columns == 300)


def refused(title, path, *args, said, status=1):
    before = rows_of(path, "SELECT * FROM contact")
    p = subprocess.run([JOBPROF, "contacted", *args, "--database", path], capture_output=True, text=True, env=plain_env())
    is_equal("%s is refused" % title, p.returncode, status)
    is_true("%s: what is said" % title, said in p.stderr and p.stderr.count("\n") == 1 and not p.stdout, p.stderr + p.stdout)
    is_equal("%s: nothing is noted" % title, rows_of(path, "SELECT * FROM contact"), before)


def whom_a_word_means():
    job = {**some_jobs(1)[0], "findings": 1, "lost_core_s": 9.0, "cost_core_s": 9.0, "worst_rule": "cpu.unused", "account": "p", "sources": 2}
    sluid = "s6YB0CV0SKR000"
    new = lambda i, user, **more: {**job, "job_id": i, "user": user, "signature": "%016x" % i, **more}
    path = put(new_index(), [new(20, "ann"), new(30, "ben", array_id=30, array_task=1), new(31, "ben", array_id=30, array_task=3), new(40, "cleo", het_id=40),
                             new(41, "cleo", het_id=40), new(50, "dora", sluid=sluid), new(60, "10001"), new(70, "eve", cluster="d"), new(70, "fay", start=job["start"] - 9)])
    last = "SELECT \"user\", job, rule, signature, ticket, account FROM contact ORDER BY id DESC LIMIT 1"
    is_job = lambda user, i: (user, i, "cpu.unused", "%016x" % i, "T", "p")
    for word, wanted in (("20", is_job("ann", 20)), ("30_3", is_job("ben", 31)), ("40+1", is_job("cleo", 41)), (sluid, is_job("dora", 50)), ("70 -M d", is_job("eve", 70)),
                         ("70 -M c", is_job("fay", 70)), ("%016x" % 31, ("ben", None, None, "%016x" % 31, "T", "p")), ("ann", ("ann", None, None, None, "T", None)),
                         ("10001", ("10001", None, None, None, "T", None))):
        text = jobprof("contacted", *word.split(), "-t", "T", "--database", path)
        is_equal("contacted %s" % word, rows_of(path, last), [wanted])
        is_true("contacted %s: what is said" % word, " contacted %s" % wanted[0] in text and "ticket T" in text, text)
    for word in ("2076_3", "30_2", "40+7", "nosuch", "19fd", "99", "f" * 16, "", "30,20", "s6YB0CV0SKR001"):
        refused("contacted %r" % word, path, word, said="%s: the index has no job, user or signature" % word)
    refused("an id of two users on two clusters", path, "70", said="profiles of eve and of fay both say that they are of it")
    refused("a rule that is misspelt", path, "20", "--finding", "cpu.neigbour", said="--finding cpu.neigbour: there is no such rule; did you mean cpu.neighbour?")
    refused("a rule of no name", path, "20", "--finding", "xxxxxxxxxxxx", said="there is no such rule: jobprof-rules(5)")
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE finding SET rule = 'my.rule' WHERE job = 2")
    is_true("a rule that only the index has is known", "about my.rule" in jobprof("contacted", "30_1", "--finding", "my.rule", "--database", path), "")
    refused("a time to come", path, "20", "--at", str(NOW + 3600), said="it is a time that is over", status=2)
    refused("no time", path, "20", "--at", "all", said="it is one time", status=2)
    refused("nonsense for a time", path, "20", "--at", "yesterday", said="--at yesterday", status=2)
    for word, wanted in ((LONG_AGO, time.mktime(time.strptime(LONG_AGO, "%Y-%m-%d"))), (str(NOW - 5), NOW - 5)):
        jobprof("contacted", "ann", "--at", word, "--database", path)
        is_equal("contacted --at %s" % word, rows_of(path, "SELECT at FROM contact ORDER BY id DESC LIMIT 1"), [(wanted,)])


def taken_away():
    path = put(new_index(), [{**some_jobs(1)[0], "job_id": 20, "user": "ann", "signature": "a" * 16, "array_id": 20, "array_task": 3}])
    noted = [("20", "T1", None), ("20", "T2", None), ("ann", "T3", None), ("a" * 16, "T4", None), ("20_3", "T5", "cpu.serial"), ("ann", "T6", LONG_AGO), ("20", "T7", None)]
    for i, (word, ticket, extra) in enumerate(noted):
        jobprof("contacted", word, "-t", ticket, *(["--at", extra] if extra == LONG_AGO else ["--finding", extra] if extra else []), "--database", path)
    with contextlib.closing(sqlite3.connect(path)) as db, db:  # as an earlier jobprof noted it
        db.execute("INSERT INTO contact (at, who, \"user\", ticket) VALUES (?, 'root', '2076_3', 'T8')", [NOW])
    left = lambda: {t for t, in rows_of(path, "SELECT ticket FROM contact")}
    wanted = left()
    for args, gone in ((("2076_3",), "T8"), (("20",), "T7"), (("20", "-t", "T1"), "T1"), (("20_3", "--finding", "cpu.serial"), "T5"), (("ann",), "T3"), (("ann", "--at", LONG_AGO), "T6"),
                       (("20_3",), "T2"), (("a" * 16,), "T4")):
        text = jobprof("contacted", *args, "--remove", "--database", path)
        wanted -= {gone}
        is_equal("contacted %s --remove" % " ".join(args), left(), wanted)
        is_true("contacted %s --remove: what is said" % " ".join(args), text.startswith("removed: ") and "ticket %s\n" % gone in text, text)
    jobprof("contacted", "20", "-t", "T9", "--database", path)
    for args in (("ann",), ("20", "-t", "T1"), ("20", "--finding", "cpu.serial"), ("21",), ("a" * 16,), ("20", "--at", LONG_AGO), ("20", "-m", "x")):
        refused("contacted %s --remove" % " ".join(args), path, *args, "--remove", said="no such contact is noted")
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM job")
    is_true("a job that the index has no more", "ticket T9" in jobprof("contacted", "20", "--remove", "--database", path), "")
    is_equal("nothing is left", left(), set())


def a_digest():
    jobs = some_jobs(800, 3, days=20)
    path = put(new_index(), jobs)
    since = time.strftime("%Y-%m-%d", time.localtime(NOW - 7 * DAY))
    begin = time.mktime(time.strptime(since, "%Y-%m-%d"))
    got = json.loads(jobprof("digest", "--since", since, "--json", "--database", path))
    week = [j for j in jobs if j["start"] >= begin]
    is_true("digest: what was held and lost", got["total"]["jobs"] == len(week) and near(got["total"]["held_core_s"], sum(j["held_core_s"] for j in week)) and
            near(got["total"]["lost_core_s"], sum(known(j["lost_core_s"] for j in week))), got["total"])
    lost = {a: sum(known(j["lost_core_s"] for j in week if j["account"] == a)) for a in {j["account"] for j in week}}
    is_true("digest: by project", all(near(r["lost_core_s"], lost[r["account"]]) for r in got["accounts"]) and len(got["accounts"]) == len(lost), got["accounts"])
    by_rule = {r: sum(j["cost_core_s"] for j in week if j["worst_rule"] == r) for r in RULES}
    is_true("digest: by finding", {r["rule"] for r in got["findings"]} == set(RULES) and
            all(near(r["cost_core_s"], by_rule[r["rule"]]) for r in got["findings"]), (got["findings"], by_rule))
    first = got["ask"][0]
    jobprof("contacted", first["user"], "--finding", first["rule"], "--database", path)
    again = json.loads(jobprof("digest", "--since", since, "--json", "--database", path))["ask"]
    is_true("digest: who was written to is not asked again", all((r["user"], r["rule"]) != (first["user"], first["rule"]) for r in again), again)
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE job SET disagrees = 1 WHERE job_id = ?", [again[0]["job_id"]])
    left = json.loads(jobprof("digest", "--since", since, "--json", "--database", path))["ask"]
    is_true("digest: nobody is asked because of a profile that disagrees with Slurm", again[0]["job_id"] not in [r["job_id"] for r in left], left)
    text = jobprof("digest", "--since", since, "--database", path)
    is_true("digest: 72 columns", max(map(len, text.split("\n")[:-2])) <= 72 and "Whom to write to first" in text, text)


def rows_of(path, sql):
    with contextlib.closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


def old_names():
    jobs = some_jobs(300, 4, days=100)
    path = put(new_index(), jobs)
    sums = "SELECT sum(jobs), sum(held_core_s), sum(lost_core_s) FROM month"
    before = rows_of(path, sums)
    of = max(jobs, key=lambda j: j["user"])["user"]
    for at in (NOW - 50 * DAY, NOW - 5 * DAY):
        jobprof("contacted", of, "--at", time.strftime("%Y-%m-%d", time.localtime(at)), "--text", "dear " + of, "--database", path)
    jobprof("index", "prune", "--detail", "30d", "--keep", "5y", "--database", path)
    is_equal("prune: old contacts have the name of their rows", rows_of(path, "SELECT c.text, \"user\" IN (SELECT \"user\" FROM job WHERE start < %d), "
             "c.\"user\" = '%s' FROM contact c ORDER BY at" % (NOW - 31 * DAY, of)), [(None, 1, 0), ("dear " + of, 0, 1)])
    midnight = time.mktime(time.strptime(time.strftime("%Y-%m-%d", time.localtime(NOW - 30 * DAY)), "%Y-%m-%d"))
    old = [j for j in jobs if j["start"] < midnight]
    users = {j["user"] for j in jobs}
    is_equal("prune: old rows have no names", rows_of(path, "SELECT count(*) FROM job WHERE start < %d AND (\"user\" NOT LIKE '~%%' OR name IS NOT NULL "
             "OR worst_text IS NOT NULL)" % midnight), [(0,)])
    is_equal("prune: nor homes that are mounted by them", rows_of(path, "SELECT count(*) FROM job_fs"), [(len(jobs) - len(old),)])
    is_equal("prune: newer ones have theirs", rows_of(path, "SELECT count(*) FROM job WHERE \"user\" IN (%s)" % ",".join("'%s'" % u for u in users)),
             [(len(jobs) - len(old),)])
    is_equal("prune: one name for all rows of a user", rows_of(path, "SELECT count(DISTINCT \"user\") FROM job WHERE \"user\" LIKE '~%'"),
             [(len({j["user"] for j in old}),)])
    is_true("prune: sums stay", all(near(a, b) for a, b in zip(before[0], rows_of(path, sums)[0])), (before, rows_of(path, sums)))
    is_equal("prune: sums of old days have no names", rows_of(path, "SELECT count(*) FROM day WHERE day < %d AND \"user\" NOT LIKE '~%%'" %
             min(j["day"] for j in jobs if j["start"] >= midnight)), [(0,)])
    is_true("check: no difference", "no difference" in jobprof("index", "check", "--database", path), "")
    jobprof("index", "prune", "--detail", "30d", "--keep", "60d", "--database", path)
    is_true("prune: rows go, and their sums stay", all(near(a, b) for a, b in zip(before[0], rows_of(path, sums)[0])) and
            rows_of(path, "SELECT count(*) FROM job")[0][0] < len(jobs), rows_of(path, sums))
    is_true("check: no difference after that", "no difference" in jobprof("index", "check", "--database", path), "")
    text = jobprof("usage", "--by", "user", "--since", "all", "--all", "--database", path)
    got = json.loads(jobprof("usage", "--by", "user", "--since", "all", "--all", "--json", "--database", path))
    is_true("usage: a row without a user says so", re.search("^not known ", text, re.M) and [r["user"] for r in got["rows"]].count("") == 1 and
            "--user 'not known'" not in text, text)
    jobprof("index", "remake", "--database", path)
    is_true("remake keeps sums of rows that are gone", all(near(a, b) for a, b in zip(before[0], rows_of(path, sums)[0])), rows_of(path, sums))


def forgotten():
    jobs = some_jobs(200, 5)
    path = put(new_index(), jobs)
    jobprof("contacted", "u1", "--database", path)
    text = jobprof("index", "forget", "u1", "--database", path)
    is_true("forget: how many", "%d jobs lost their names" % sum(j["user"] == "u1" for j in jobs) in text, text)
    tables = [t for t, in rows_of(path, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    left = [t for t in tables for row in rows_of(path, 'SELECT * FROM "%s"' % t) if "u1" in row or "home-u1" in row]
    is_equal("forget: the name is nowhere", left, [])
    is_true("check: no difference", "no difference" in jobprof("index", "check", "--database", path), "")


def bytes_of(path):
    data = b""
    for name in (path, path + "-wal"):
        if os.path.exists(name):
            with open(name, "rb") as f:
                data += f.read()
    return data


def no_bytes_are_left():
    """Of names that stand within other texts, too; of a prune, and of most users of an index."""
    jobs = some_jobs(1500, 6)
    for j in jobs:
        j["user"] = "whom%sq" % j["user"]
        j["name"] = "train_%s_%d" % (j["user"], j["job_id"])
        j["worst_text"] = "read /home/%s/a" % j["user"]
    path = put(new_index(), jobs)
    users = sorted({j["user"] for j in jobs})
    is_equal("the file has all names", [u for u in users if u.encode() not in bytes_of(path)], [])
    for u in users[:-2]:
        jobprof("index", "forget", u, "--database", path)
    is_equal("forget: neither file nor log has the names", [u for u in users[:-2] if u.encode() in bytes_of(path)], [])
    is_equal("and those of the others", [u for u in users[-2:] if u.encode() not in bytes_of(path)], [])
    with contextlib.closing(sqlite3.connect(path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM job").fetchall()
        p = subprocess.run([JOBPROF, "index", "prune", "--detail", "24h", "--database", path], capture_output=True, text=True, env=plain_env(), timeout=120)
        is_true("while somebody reads: it says that they may be there, and what to do", p.returncode == 1 and "may still be in its file" in p.stderr and
                "jobprof index prune" in p.stderr, p.stderr)
    jobprof("index", "prune", "--detail", "24h", "--database", path)
    is_equal("the next prune takes them out", [u for u in users if u.encode() in bytes_of(path)], [])
    is_true("check: no difference", "no difference" in jobprof("index", "check", "--database", path), "")


def random_names_of_known_users():
    """Who has rows of both ages: the index finds the random name again without the name."""
    jobs = some_jobs(400, 7)
    path = put(new_index(), jobs)
    jobprof("index", "prune", "--detail", "40d", "--database", path)
    first = dict(rows_of(path, "SELECT job_id, \"user\" FROM job WHERE \"user\" LIKE '~%'"))
    words = rows_of(path, "SELECT word, pseudonym FROM pseudonym")
    users = {j["user"] for j in jobs}
    is_true("no word is a name", words and not users & {v for row in words for v in row}, words)
    jobprof("index", "prune", "--detail", "20d", "--database", path)
    now = dict(rows_of(path, "SELECT job_id, \"user\" FROM job WHERE \"user\" LIKE '~%'"))
    of = {}
    for j in jobs:
        if j["job_id"] in now:
            of.setdefault(j["user"], set()).add(now[j["job_id"]])
    is_true("one random name for all rows of a user, also of a later prune", len(now) > len(first) > 0 and all(len(v) == 1 for v in of.values()) and
            all(now[i] == name for i, name in first.items()), of)
    jobprof("index", "prune", "--detail", "24h", "--database", path)
    is_equal("no word is kept of who has no newer rows", rows_of(path, "SELECT * FROM pseudonym"), [])


def staff_writes_by_the_owner():
    path = put(new_index(), some_jobs(20, 8))
    for name in (path, path + ".lock"):
        os.chmod(name, 0o644)
    env = plain_env()
    if os.geteuid() == 0:
        os.chmod(TMP, 0o755)
        shared = tmpdir("shared")
        os.chmod(shared, 0o755)
        there = os.path.join(shared, "index.db")
        for end in ("", ".lock"):
            shutil.copy(path + end, there + end)
            os.chmod(there + end, 0o640 if end else 0o644)
        p = subprocess.run([JOBPROF, "contacted", "u1", "--database", there], user=65534, group=65534, extra_groups=[], cwd="/", env=env,
                           capture_output=True, text=True, timeout=60)
        is_true("who may not write is told by whom it can be done", p.returncode == 1 and p.stderr.count("\n") == 1 and "sudo -u root jobprof" in p.stderr, p.stderr)
    said = subprocess.run([JOBPROF, "contacted", "u1", "--database", path], env={**env, "SUDO_USER": "root"}, capture_output=True, text=True, timeout=60).stdout
    is_true("the name is that of who asked sudo", "root contacted u1" in said and rows_of(path, "SELECT who FROM contact") == [("root",)], said)


def a_hint_of_older_jobs():
    path = put(new_index(), some_jobs(20, 9))
    text = jobprof("jobs", "--since", "2h", "--database", path)
    is_true("no job of this time: how to ask of all", text.startswith("0 jobs since 2h") and "-S all" in text, text)
    is_true("and where there are jobs it is not said", "-S all" not in jobprof("jobs", "--since", "100d", "--database", path), "")


if __name__ == "__main__":
    run_tests([issues, heads, the_io_of_a_site, did_it_help, what_all_saved, whom_a_word_means, taken_away, a_digest, old_names, forgotten,
               no_bytes_are_left, random_names_of_known_users,
               staff_writes_by_the_owner, a_hint_of_older_jobs])
