#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The index in a real PostgreSQL server: rows and answers are those of SQLite; two that write, a server that goes away, wrong
passwords."""

import csv
import json
import math
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from indexlib import *
from postgreslib import Server
from sacctlib import Sacct, job
import serve
from sitelib import site

LOCK = 29958816115355494  # of those that write, user/index/db_postgresql.c
SECRET = Server.PASSWORD
NAME = "postgresql:///jobprof"  # as the address is shown
server = None


def of_postgresql(path, table):
    """As rows() of SQLite: values of JSON are exact."""
    got = server.sql("SELECT row_to_json(r) FROM (%s) r" % statement(path, table))
    return sorted(([*json.loads(text).values()] for text, in got), key=key)


def equal(a, b, of_server=False):
    """Sums of doubles differ by the order in which they were added. of_server: JSON that the server made, which has whole
    doubles without a point."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k], of_server) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(equal(x, y, of_server) for x, y in zip(a, b))
    if isinstance(a, float) and isinstance(b, (float, int) if of_server else float):
        return math.isclose(a, b, rel_tol=1e-12)
    return type(a) is type(b) and a == b


def first_difference(a, b, names):
    for x, y in zip(a, b):
        for name, v, w in zip(names, x, y):
            if not equal(v, w, True):
                return "%s: %r, %r" % (name, v, w)
    return "%d and %d rows" % (len(a), len(b))


QUESTIONS = [
    ["jobs"], ["jobs", "--sort", "-job_id"], ["jobs", "--sort", "name"], ["jobs", "--sort", "cores"], ["jobs", "--sort", "limit_share"],
    ["jobs", "--user", "10001,10002"], ["jobs", "--name", "un1"], ["jobs", "--name", "%_"], ["jobs", "--name", "RUN"], ["jobs", "--name", "\\"],
    ["jobs", "--state", "completed,timeout"], ["jobs", "--state", "cd,node_fail"], ["jobs", "-j", "101_1,s0123456789abcd,100+1"], ["jobs", "--ran-at", "2026-11-21T12:00"],
    ["jobs", "--cpu-share", "0-50"], ["jobs", "--limit-share", "10-", "--memory-share", "0-90"], ["jobs", "--node", "n[1-3],x"], ["jobs", "--finding", "unknown"],
    ["usage", "--by", "user", "--ran-at", "2026-11-21T12:00", "--cpu-share", "1-"], ["jobs", "--finding", "any"],
    ["jobs", "--finding", "none"], ["jobs", "--finding", "cpu.unused"], ["jobs", "--node", "n1"], ["jobs", "--nodes", "2-"], ["jobs", "-j", "101,103"],
    ["jobs", "--tag", "compute-bound"], ["jobs", "--name", "'; DROP TABLE job; --"], ["jobs", "--user", "no\udcffbody"],
    ["issues"], ["issues", "--by", "user"], ["usage", "--io"], ["usage", "--io", "--ran", "1s-"], ["digest"], ["advice"], ["usage", "--histograms"], ["usage", "--histograms", "--cpu-share", "0-50"],
    ["findings"], ["findings", "--finding", "cpu.unused"], ["jobs", "--read", "1MiB-1TiB"], ["jobs", "--written", "1-", "--write-rate", "1kB/s-"], ["advice", "--contacts"],
    *[["usage", "--by", by] for by in ("project", "user", "name", "program", "partition", "cluster", "state", "signature")],
    ["seff", "101"], ["seff", "103"], ["seff", "1"], ["js1", "102"], ["mail", "--body", "101"],
    ["usage", "--sort", "max_cores"], ["usage", "--by", "user", "--until", "2026-11-21T12:00"], ["usage", "--by", "name", "--finding", "any"],
    ["advice", "--finding", "any"], ["advice", "--user", "10001"], ["advice", "--name", "run", "--finding", "cpu.unused"],
]


def change(where, sql):
    if "://" in where:
        server.sql(sql)
    else:
        with contextlib.closing(sqlite3.connect(where)) as db, db:
            db.execute(sql)


def forms_of(question):
    if question[0] in ("seff", "js1", "mail"):
        return [[]]
    times = ["--since", "2026-01-01" if question[0] == "digest" else "all"]
    if question[0] == "digest":
        return [[*times, "--json"]]
    return [[*times, "--json"], [*times, "--csv"]] if {"--io", "--histograms"} & set(question) else [[*times, "--json", "--all"], [*times, "--csv"]]


def cells(text):
    return [[float(c) if re.fullmatch(r"-?[0-9.]+(e[-+]?[0-9]+)?", c) else c for c in row] for row in csv.reader(text.splitlines())]


def compare_answers(path, address, what, questions):
    for question in questions:
        for form in forms_of(question):
            a, b = (call(*question, *form, "--database", where) for where in (path, address))
            same = (a.returncode, a.stderr.replace(path, NAME)) == (b.returncode, b.stderr)
            if "--json" in form and not a.returncode and not b.returncode:
                same = same and equal(json.loads(a.stdout), json.loads(b.stdout))
            else:
                same = same and (a.stdout == b.stdout or "--csv" in form and equal(cells(a.stdout), cells(b.stdout)))
            name = " ".join([*question, *form]).encode(errors="replace").decode()
            is_true("%s: %s" % (what, name), same, (a.returncode, a.stdout, a.stderr, b.returncode, b.stdout, b.stderr))


def same_rows_and_answers():
    top, path, address = tmpdir("profiles"), os.path.join(tmpdir("index"), "index.db"), server.new_database("jobprof")
    profiles(top)
    a, b = (jobprof("index", "scan", top, "--database", where) for where in (path, address))
    is_true("both scan the same", a == b and "8 jobs of 8 new files" in a, (a, b))
    for table in TABLES:
        x, y = [list(r) for r in rows(path, table)], of_postgresql(path, table)
        is_true("rows of %s" % table, len(x) > 0 and equal(x, y, True), first_difference(x, y, [c for c in columns(path, table)]))
    exact = [[v for v in r] for r in rows(path, "job")]
    is_true("rows of job to the last bit", exact == of_postgresql(path, "job"), "see above")
    types = dict(server.sql("SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'job'"))
    is_equal("columns of job", sorted(types), sorted(columns(path, "job")))
    compare_answers(path, address, "the same", QUESTIONS)
    now = time.time()
    for where in (path, address):
        healthy(where)
        jobprof("contacted", "102", "--finding", "cpu.unused", "--ticket", "T1", "--text", "it's \"$1\" ?", "--database", where)
        change(where, "UPDATE contact SET at = %d" % now)
        jobprof("index", "scan", "--again", top, "--database", where)
        jobprof("index", "remake", "--database", where)
        healthy(where)
    is_equal("read again: nothing is doubled", len(of_postgresql(path, "job")), 8)
    compare_answers(path, address, "read again", [["jobs"], ["usage"], ["issues"], ["digest"], ["advice"]])
    for where in (path, address):
        jobprof("index", "forget", "10001", "--database", where)
        jobprof("index", "prune", "--detail", "1d", "--keep", "5y", "--database", where)
        healthy(where)
    is_equal("pruned: names are gone", server.sql("SELECT count(*) FROM job WHERE \"user\" NOT LIKE '~%' OR name IS NOT NULL"), [["0"]])
    jobprof("index", "remake", top, "--database", address)
    is_equal("remake DIR makes all rows again", (len(of_postgresql(path, "job")), server.sql("SELECT ticket FROM contact")), (8, [["T1"]]))
    healthy(address)


def accounting_of_slurm():
    """With profiles of some of the jobs, in both orders; a second sync changes nothing."""
    top, now = tmpdir("acct"), int(time.time())
    profiles(top, 4)
    jobs = [job(90 + i, now - 86400 * 3 + 700 * i, 100 + 37 * i, 1 + i % 9, Cluster="c", User=("ada", "bob", "cyd")[i % 3], JobName="a'\x1b%d" % (i % 4),
                State=("COMPLETED", "FAILED", "CANCELLED by 0")[i % 3], TotalCPU="00:0%d:10" % (i % 7)) for i in range(60)]
    path, address = os.path.join(tmpdir("index"), "index.db"), server.new_database("jobprof")
    for where in (path, address):
        for step in range(3):
            if step == 1:
                jobprof("index", "scan", top, "--database", where)
            else:
                status, out, err = Sacct(jobs).sync(where, "--since", "30d")
                is_true("sync, %s, %d" % (where.split(":")[0][-10:], step), status == 0 and not err, out + err)
        healthy(where)
    for table in TABLES[:3] + TABLES[5:]:
        x, y = [list(r) for r in rows(path, table)], of_postgresql(path, table)
        is_true("sync: rows of %s" % table, len(x) > 0 and equal(x, y, True), first_difference(x, y, columns(path, table)))
    compare_answers(path, address, "sync", [["jobs"], ["jobs", "--state", "cancelled"], ["usage", "--by", "user"], ["seff", "95"]])


def an_engine_as_db_h_has_it():
    for test in ("test_index_db", "test_alike"):
        p = subprocess.run([os.path.join(BUILD, "tests/unit", test), server.new_database("empty")], capture_output=True, text=True, timeout=120)
        is_true("tests of the engine: %s" % test, p.returncode == 0, p.stdout + p.stderr)


def two_that_write():
    top, address = tmpdir("two"), server.new_database("jobprof")
    profiles(top, 9)
    both = [start([JOBPROF, "index", "scan", top, "--database", address], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=plain_env())
            for _ in range(2)]
    ends = [p.communicate(timeout=PATIENCE) for p in both]
    is_true("both end well", [p.returncode for p in both] == [0, 0] and not any(e[1] for e in ends), ends)
    is_equal("two that write at once double nothing", server.sql("SELECT count(*), count(DISTINCT job_id) FROM job"), [["9", "9"]])
    is_equal("tables are made once", server.sql("SELECT count(*) FROM meta WHERE key = 'version'"), [["1"]])
    healthy(address)


def stands(p, sql):
    """Waits until the server sees it so."""
    end = time.monotonic() + PATIENCE
    while server.sql(sql) != [["1"]]:
        if time.monotonic() > end or p.poll() is not None:
            raise Failed("it does not come to: %s: %s" % (sql, p.communicate()))
        time.sleep(0.02)


def server_goes_away():
    """In the middle of a scan; then it comes back."""
    top, address = tmpdir("away"), server.new_database("jobprof")
    jobprof("index", "scan", tmpdir("none"), "--database", address)
    profiles(top)
    held = start([os.path.join(server.bin, "psql"), "-X", "-q", "-h", server.dir, "-U", "jobprof", "-d", "jobprof", "-c",
                  "SELECT pg_advisory_lock(%d), pg_sleep(60)" % LOCK], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stands(held, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted")
    scan = start([JOBPROF, "index", "scan", top, "--database", address], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=plain_env())
    stands(scan, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
    server.stop(signal.SIGQUIT)
    out, err = scan.communicate(timeout=PATIENCE)
    held.wait(PATIENCE)
    is_true("a server that goes away: one line", scan.returncode == 1 and err.count("\n") == 1 and "the connection is lost" in err, (scan.returncode, err))
    p = call("jobs", "--since", "all", "--database", address)
    is_true("a server that is not there: one line", one_line(p, "postgresql:///jobprof"), p.stderr)
    server.start()
    is_equal("and none of it is there", server.sql("SELECT count(*) FROM job"), [["0"]])
    jobprof("index", "scan", top, "--database", address)
    is_equal("the next scan does all", server.sql("SELECT count(*) FROM job"), [["8"]])
    healthy(address)


def a_service_lives_on():
    """watch: while the server is away it says so, and afterwards it does what it could not."""
    top, address = tmpdir("watch"), server.new_database("jobprof")
    profiles(top, 2)
    log = os.path.join(tmpdir("log"), "log")
    with open(log, "w") as f:
        p = start([JOBPROF, "index", "watch", top, "--every", "1", "--database", address], stdout=f, stderr=f, env=plain_env())
    count = "SELECT (count(*) = %d)::int FROM job"
    end = time.monotonic() + PATIENCE
    while server.psql(count % 2).stdout.split()[-1:] != ["1"] and time.monotonic() < end:
        time.sleep(0.05)
    server.stop()
    profiles(os.path.join(top, "more"), 3, 200)
    os.rename(os.path.join(top, "more", "alice"), os.path.join(top, "dora"))
    while NAME not in open(log).read() and time.monotonic() < end:
        time.sleep(0.05)
    is_true("it says that the server is away", NAME in open(log).read() and p.poll() is None, open(log).read())
    server.start()
    stands(p, count % 3)
    p.terminate()
    is_equal("and ends when it is told to", p.wait(PATIENCE), 0)
    healthy(address)


def a_writer_is_killed():
    top, address = tmpdir("killed"), server.new_database("jobprof")
    profiles(top, 6)
    for i in range(8):
        p = start([JOBPROF, "index", "scan", "--again", top, "--database", address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                  env=plain_env())
        time.sleep(0.02 + 0.07 * i)
        p.kill()
        p.wait()
    jobprof("index", "scan", top, "--database", address)
    is_equal("killed: all jobs are there once", server.sql("SELECT count(*), count(DISTINCT job_id) FROM job"), [["6", "6"]])
    healthy(address)


def wrong_addresses():
    """Each fails with one line, in which there is no password: names of temporary files have no capitals."""
    ok_ = call("index", "scan", tmpdir("limited"), "--database", server.address(server.new_database("limited") and "limited"))
    server.sql("GRANT SELECT ON ALL TABLES IN SCHEMA public TO limited", "limited")
    p = call("jobs", "--database", server.address("limited", "limited", SECRET))
    is_true("the right password", ok_.returncode == 0 and p.returncode == 0 and not p.stderr, p.stderr)
    p = call("index", "scan", tmpdir("may"), "--database", server.address("limited", "limited", SECRET))
    is_true("who may not write", one_line(p, "permission denied"), p.stderr)
    host = "?host=" + server.dir
    for name, address, says in (
            ("wrong password", server.address("limited", "limited", "not" + SECRET), "authentication failed"),
            ("no password", server.address("limited", "limited"), "password"),
            ("no such database", server.address("nowhere"), "does not exist"),
            ("no such user", server.address("jobprof", "nobody"), "does not exist"),
            ("a bare / in the password", "postgresql://limited:%s@/limited%s" % ("S3/CR3T", host), "no address"),
            ("a bare @ in the password", "postgresql://limited:%s@/limited%s" % ("S3@CR3T", host), "postgresql://..."),
            ("a bare % in the password", "postgresql://limited:%s@/limited%s" % ("S3%ZZCR3T", host), "no address"),
            ("an option that there is not", "postgresql://limited:S3CR3T@/limited%s&passwort=S3CR3T" % host, "no address"),
            ("no server", "postgresql://limited:S3CR3T@localhost:1/limited", "localhost"),
            ("no such socket", "postgresql://limited:S3CR3T@/limited?host=/nowhere", "/nowhere")):
        for args in (["jobs"], ["index", "scan", tmpdir("x")]):
            p = call(*args, "--database", address)
            secret = any(part in p.stderr for part in (SECRET, "S3", "CR3T", server.address("a", "limited", SECRET).split("@")[0]))
            is_true("%s: %s" % (args[0], name), one_line(p, says) and not secret, p.stderr)
    server.new_database("latin")
    server.sql("DROP DATABASE latin", "postgres")
    server.sql("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'", "postgres")
    p = call("index", "scan", tmpdir("y"), "--database", server.address("latin"))
    is_true("a database of another encoding", one_line(p, "LATIN1", "UTF8"), p.stderr)
    empty = server.new_database("empty")
    p = call("jobs", "--database", empty)
    is_true("a database without tables", one_line(p, "there is no index"), p.stderr)


def a_question_has_a_limit():
    address = server.new_database("slow")
    top = tmpdir("slow")
    profiles(top, 1)
    jobprof("index", "scan", top, "--database", address)
    server.sql("ALTER TABLE job RENAME TO job0; CREATE VIEW job AS SELECT * FROM job0 WHERE pg_sleep(60) IS NOT NULL", "slow")
    began = time.monotonic()
    p = subprocess.run([JOBPROF, "jobs", "--since", "all", "--name", "x", "--database", address], capture_output=True, text=True,
                       env=plain_env(JOBPROF_LIMIT="0.5"), timeout=PATIENCE)
    is_true("a question that takes long ends with one line that says how to go on",
            one_line(p, "longer than 0.5 s", "--since") and time.monotonic() - began < 30, p.stderr)


def coordinators():
    """What a coordinator sees is the same in both engines; an entry of one cluster counts for that one."""
    rows_, path, address = os.path.join(tmpdir("rows"), "rows.jsonl"), os.path.join(tmpdir("index"), "index.db"), server.new_database("coordinated")
    made = list(site(jobs=300, users=6, projects=4, hostile=False).rows())
    with open(rows_, "w") as f:
        for r in made:
            f.write(json.dumps({k: v for k, v in r.items() if v is not None}) + "\n")
    first, second = made[0]["account"], next(r["account"] for r in made if r["account"] != made[0]["account"])
    cluster = next(r["cluster"] for r in made if r["account"] == second)
    wanted = sum(r["account"] == first or r["account"] == second and r["cluster"] == cluster for r in made)
    answers = []
    for where in (path, address):
        jobprof("index", "import", "--database", where, rows_)
        for account, on in ((first, ""), (second, cluster)):
            sql = "INSERT INTO coordinator (\"user\", account, cluster, at) VALUES ('nobody', '%s', '%s', %d)" % (account, on, time.time())
            server.sql(sql, "coordinated") if "://" in where else change(where, sql)
        s = serve.Server("--database", where, env=None)
        try:
            answers.append([s.ask("/%s.json?since=all&all=1" % page, uid=65534)[::2] for page in ("jobs", "usage", "issues", "advice")])
        finally:
            s.end()
    is_true("a coordinator's answers are the same", [a[0] for a in answers[0]] == [200] * 4 and all(equal(json.loads(a), json.loads(b)) for (_, a), (_, b) in zip(*answers)), answers)
    is_equal("all jobs of the account, and of the other one on its cluster", json.loads(answers[1][0][1])["matching"], wanted)


def a_later_schema():
    address = server.new_database("later")
    jobprof("index", "scan", tmpdir("later"), "--database", address)
    schema = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' UNION SELECT tablename, indexname FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2"
    made = server.sql(schema, "later")
    server.sql("UPDATE meta SET value = '999' WHERE key = 'version'", "later")
    for args in (["jobs"], ["index", "scan", tmpdir("x")]):
        p = call(*args, "--database", address)
        is_true("%s: tables of a later version are refused" % args[0], one_line(p, "999"), p.stderr)
    server.sql("UPDATE meta SET value = '0' WHERE key = 'version'; ALTER TABLE job DROP COLUMN offloads; DROP INDEX job_program, job_list; "
               "ALTER TABLE finding DROP COLUMN kind, DROP COLUMN code, DROP COLUMN needs, DROP COLUMN used, DROP COLUMN asked; DROP TABLE job_fs, coordinator, node, node_row, running; "
               + "; ".join("ALTER TABLE %s DROP COLUMN failed, DROP COLUMN read_bytes, DROP COLUMN write_bytes" % t for t in ("day", "month")), "later")
    p = call("jobs", "--database", address)
    is_true("of an earlier one: a reader says so", one_line(p, "earlier jobprof"), p.stderr)
    jobprof("index", "scan", tmpdir("x"), "--database", address)
    is_equal("and who writes brings them forward", server.sql(schema, "later"), made)
    healthy(address)


def need_server():
    global server
    server = Server()


if __name__ == "__main__":
    try:
        need_server()
    except Skipped as e:
        skip("postgresql.py", e)
        sys.exit(0)
    run_tests([same_rows_and_answers, accounting_of_slurm, an_engine_as_db_h_has_it, two_that_write, a_writer_is_killed, server_goes_away,
               a_service_lives_on, coordinators, wrong_addresses, a_question_has_a_limit, a_later_schema])
