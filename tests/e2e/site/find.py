#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof find says what SQL finds, of what the reader may see; a word of another's is no other than one that nothing is called."""

import contextlib
import functools
import shutil
import sys
import urllib.parse

sys.path.insert(0, sys.path[0] + "/../../lib")
import serve
from sitelib import *
from squeuelib import put_rows, running_rows

COLUMNS = {"user": "SELECT DISTINCT user FROM job%s", "project": "SELECT DISTINCT account FROM job%s", "node": "SELECT DISTINCT n.node FROM job_node n JOIN job ON job.id = n.job%s",
           "name": "SELECT DISTINCT name FROM job%s"}
FIRST = 8  # names of each kind that begin with a word
LAST = "\U0010ffff"


@functools.cache
def made(jobs=1500, **more):
    path, _ = make(site(jobs=jobs, **more))
    return path


def sql(path, statement, *args):
    with contextlib.closing(sqlite3.connect(path)) as db:
        return db.execute(statement, args).fetchall()


def all_names(path, user=None):
    of = " WHERE user = '%s'" % user if user else ""
    return {what: sorted({k for (k,) in sql(path, statement % of) if k}, key=str.encode) for what, statement in COLUMNS.items()}


def wanted(names, jobs, word):
    """The word itself, else the first that begin with it."""
    word = CONTROL.sub("\ufffd", word)
    exact = [("job", word)] if word in jobs else []
    exact += [(what, word) for what in names if word in names[what]]
    return exact or [(what, k) for what in names for k in [k for k in names[what] if k.startswith(word)][:FIRST]]


def found(path, word, **more):
    got = as_json("find", "--word", word, "--database", path, **more)
    return [(r["what"], r["name"]) for r in got["rows"]]


def what_sql_finds():
    path = made()
    names = all_names(path)
    jobs = {str(j) for (j,) in sql(path, "SELECT job_id FROM job UNION SELECT array_id FROM job WHERE array_id IS NOT NULL")}
    jobs |= {"%d_%d" % r for r in sql(path, "SELECT array_id, array_task FROM job WHERE array_id IS NOT NULL")}
    words = [w for what in names for w in (names[what][0], names[what][-1], names[what][len(names[what]) // 2])]
    words += [w[:k] for w in words for k in (1, 3) if w[:k].strip() and "\x00" not in w[:k]]
    words += [max(jobs), min(jobs), "99999999", "7_1", "1_", "n", "u", "''", "'", "%", "_", "*", LAST, "-j", "no such thing", "x" * 512]
    for word in dict.fromkeys(words):
        is_equal("find %r" % word[:30], found(path, word), wanted(names, jobs, word))


def own_alone():
    """A user finds what is in jobs of their own; of others as little as of what nobody has."""
    server, path = serve.Server("--database", serve.made()), serve.made()
    try:
        def ask(word):
            status, _, body = server.ask("/find.json?word=" + urllib.parse.quote(word), uid=serve.OTHER)
            return [(r["what"], r["name"]) for r in json.loads(body)["rows"]] if status == 200 else status
        (other,) = sql(path, "SELECT job_id FROM job WHERE user <> 'nobody' AND job_id NOT IN (SELECT array_id FROM job WHERE array_id IS NOT NULL) LIMIT 1")[0]
        for word in ("zz_other1", "zz_project", "zz_job_1", "zz1", "zz", "zz_", str(other)):
            is_equal("find %s as a user: nothing of others" % word, ask(word), [])
        names = all_names(path, "nobody")
        for word in ("nobody", "ours", "mine_1", "mine", "n1", "n", "no"):
            is_equal("find %s as a user: what is in own jobs" % word, ask(word), wanted(names, set(), word))
    finally:
        server.end()


def that_run():
    """Jobs that run or wait are found by their numbers, by those who may see them."""
    path = os.path.join(tmpdir("running"), "index.db")
    shutil.copy(made(), path)
    put_rows(path, [{**r, "user": ("nobody", "zz_other")[i % 2], "account": "zz_project"} for i, r in enumerate(running_rows(60))])
    rows = sql(path, "SELECT job_id, array_id, user, state, directory IS NOT NULL FROM running")
    both = sql(path, "SELECT job_id FROM job WHERE array_id IS NULL LIMIT 1")[0][0]
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE running SET job_id = ? WHERE job_id = (SELECT min(job_id) FROM running)", (both,))
    server = serve.Server("--database", path)
    try:
        bad = []
        for job, _, user, _, has in rows[1:20] + [r for r in rows[20:] if r[1]]:
            got = [(r["what"], r["has_profile"], r["see"]) for r in as_json("find", "--word", str(job), "--database", path)["rows"]]
            theirs = json.loads(server.ask("/find.json?word=%d" % job, uid=serve.OTHER)[2])["rows"]
            if got != [("running", has, "jobprof running --jobs %d" % job)] or len(theirs) != (user == "nobody"):
                bad.append((job, user, got, theirs))
        is_equal("find: jobs that run, as staff and as a user", bad[:2], [])
        is_true("find: of all kinds", {r[3] for r in rows} == {"RUNNING", "PENDING"} and any(r[1] for r in rows), rows[:3])
        is_equal("find: one that ran, and runs again", [k for k, _ in found(path, str(both))], ["job", "running"])
    finally:
        server.end()


def in_words():
    path = made()
    p = call("find", "no such thing", "--database", path)
    is_equal("find: nothing is called so", (p.returncode, p.stdout), (0, "nothing that you may see is called 'no such thing', or begins with that\n"))
    name = sql(path, "SELECT name FROM job WHERE name LIKE '%\\_u%' ESCAPE '\\' LIMIT 1")[0][0]
    lines = must("find", name, "--database", path).splitlines()
    is_equal("find: the command that shows more", lines[1].split(None, 2), ["name", name, "jobprof jobs --name '=%s'" % name])
    p = call(*lines[1].split(None, 3)[3].replace("'", "").split(), "--since", "all", "--json", "--database", path)
    is_equal("find: which shows that", {r["name"] for r in json.loads(p.stdout)["rows"]}, {name})
    for args in ((), ("a", "b"), ("--word", "a", "b"), ("",), ("x" * 513,)):
        is_equal("find %s: wrong usage" % " ".join(args)[:20], call("find", *args, "--database", path).returncode, 2)
    rows = list(csv.DictReader(io.StringIO(must("find", name, "--csv", "--database", path))))
    is_equal("find --csv", [(r["what"], r["name"]) for r in rows], [("name", name)])


@in_full
def of_many():
    """Each look-up is one step into an index of the database: it takes no longer for more jobs."""
    times = {}
    for jobs in (2000, 30000):
        path = made(jobs, hostile=False)
        best = 9
        for word in ("lmp", "user1", "n1", "2000", "zz"):
            for _ in range(3):
                began = time.monotonic()
                found(path, word)
                best = min(best, time.monotonic() - began)
        times[jobs] = best
    is_true("find: of 30,000 jobs as fast as of 2,000", times[30000] < times[2000] + 0.05, times)


if __name__ == "__main__":
    run_tests((what_sql_finds, own_alone, that_run, in_words, of_many))
