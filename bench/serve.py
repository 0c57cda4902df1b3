# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages of all jobs: jobprof serve on an index of 1,000,000 generated jobs of a year ($JOBPROF_BENCH_JOBS: so many; with
$JOBPROF_BENCH_DATABASE a SQLite file of such jobs that is there, and stays). The 95th percentile of 100
questions of each kind by the server, whose answers are compressed, beside that of the verb alone; 200 clients at once on two CPUs; and in chromium, where it
is there, the list of 10,000 jobs and the page of a job of 1,000 nodes. Only when it is asked for, as it takes minutes."""

import contextlib
import http.client
import json
import os
import pwd
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

import helper
import index
from helper import ROOT
from files import JOBPROF
from table import Row

TITLE = "The pages of all jobs"
BESIDE = 20  # ms that the server may add to a question's target
CLIENTS, MEMORY_MB, USERS = 200, 100, 20
KINDS = (*index.KINDS, ("issues by user of 30 days", lambda q, i: ["issues", "--by", "user", "--since", q.day(30 + i)], None),
         ("the digest of a week", lambda q, i: ["digest", "--since", q.day(7 + i), "--until", q.day(i)], None))


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("x", timeout=120)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(120)
        self.sock.connect(self.path)


def address_of(words):
    """Of a verb's words: ["jobs", "--since", "7d"] is /jobs.json?since=7d."""
    pairs = [(k[2:], v) for k, v in zip(words[1::2], words[2::2])]
    return "/%s.json?%s" % (words[0], urllib.parse.urlencode(pairs))


def ask(path, address, user=None):
    """Seconds, and the status; user: for whom a proxy asks."""
    began = time.monotonic()
    c = Unix(path)
    c.request("GET", address, headers={"Accept-Encoding": "gzip", **({"X-Remote-User": user} if user else {})})
    r = c.getresponse()
    r.read()
    c.close()
    return time.monotonic() - began, r.status


@contextlib.contextmanager
def server(database, top, *more):
    path = os.path.join(top, "web.sock")
    p = subprocess.Popen([JOBPROF, "serve", "--database", database, "--socket", path, *more], env={**os.environ, "TZ": "UTC"})
    try:
        until = time.monotonic() + 30
        while True:
            try:
                ask(path, "/assets/none.js")
                break
            except OSError:
                if p.poll() is not None or time.monotonic() > until:
                    raise helper.Missing("jobprof serve does not start")
                time.sleep(0.05)
        yield p, path
    finally:
        p.terminate()
        p.wait()


def answers(database, path, questions, start, asked):
    """start: what a call of the verb takes that asks nothing."""
    for name, make_words, target in KINDS:
        served, alone = [], []
        for i in range(asked):
            words = [*make_words(questions, i), *(["--limit", "50"] if "50 jobs" in name else [])]  # else a page has up to 10,000
            took, status = ask(path, address_of(words))
            if status not in (200, 404):  # runs of a job share its id, so that some ids have none
                raise helper.Missing("%s: status %d" % (address_of(words), status))
            served.append(took * 1000)
            alone.append(max(0, index.timed(*words, "--database", database, "--json")[0] - start) * 1000)
        yield Row("serve", "%s, p95" % name, "ms", [index.p95(served)], target=target and target + BESIDE)
        yield Row("serve", "  of the verb alone, p95", "ms", [index.p95(alone)])


# ---- many clients

def family(pid):
    """The process and its children."""
    found = [pid]
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/children" % (pid, task)) as f:
            found += [int(w) for w in f.read().split()]
    return found


def answers_of(pid, seen):
    """Bytes of the files in memory that the process has open and that are not in seen: answers, which no process has mapped."""
    total = 0
    for fd in os.listdir("/proc/%d/fd" % pid):
        path = "/proc/%d/fd/%s" % (pid, fd)
        with contextlib.suppress(OSError):
            if os.readlink(path).startswith("/memfd:"):
                st = os.stat(path)
                total += 0 if st.st_ino in seen else st.st_blocks * 512
                seen.add(st.st_ino)
    return total


def memory_mb(pid):
    """Of a server and its children: what each has, shared pages by parts, and the answers."""
    total, seen = 0, set()
    for p in family(pid):
        with contextlib.suppress(OSError, TypeError):  # it has ended
            with open("/proc/%d/smaps_rollup" % p) as f:
                total += int(re.search(r"^Pss:\s*(\d+)", f.read(), re.M)[1]) * 1024
            total += answers_of(p, seen)
    return total / 1048576


def users_here():
    """Whom the server believes that a proxy names: users of this machine, of whom each may have 64 requests that wait."""
    names = (p.pw_name for p in pwd.getpwall() if re.fullmatch(r"[a-z][\w-]*", p.pw_name))
    return sorted(names, key=lambda n: (n != "root", n))[:USERS]


def many(process, path, clients):
    """Each asks for a page at the same time: one user of this machine after the other, among them root, who sees the jobs of all."""
    cpus, users = sorted(os.sched_getaffinity(0))[:2], users_here()
    os.sched_setaffinity(process.pid, cpus)
    for address in ("/usage?since=30d", "/jobs?since=7d", "/home"):
        done, most, answers = threading.Event(), [0.0], []
        threads = [threading.Thread(target=lambda u=users[i % len(users)]: answers.append(ask(path, address, u))) for i in range(clients)]

        def watch(most=most, done=done):
            while not done.wait(0.05):
                most[0] = max(most[0], memory_mb(process.pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        done.set()
        watcher.join()
        wrong = sum(s != 200 for _, s in answers) + clients - len(answers)
        name, why = "%d clients at once, %s" % (clients, address), "%d had no answer" % wrong if wrong else None
        yield Row("serve", name + ": server and children", "MB", [most[0]], target=MEMORY_MB, why=why)
        yield Row("serve", name + ": the page is there, p95", "s", [index.p95([t for t, _ in answers])], digits=2, why=why)


# ---- in a browser

def timings(url, rounds, *more):
    p = subprocess.run(["node", os.path.join(ROOT, "tests/web/timings.js"), url, str(rounds), *more], capture_output=True, text=True, timeout=600)
    if p.returncode:
        raise helper.Missing("the browser: " + " ".join(p.stderr.split())[-400:])
    return json.loads(p.stdout)


@contextlib.contextmanager
def own_server(database):
    p = subprocess.Popen([JOBPROF, "serve", "--user", "--database", database], stdout=subprocess.PIPE, text=True, env={**os.environ, "TZ": "UTC"})
    try:
        line = p.stdout.readline().strip()
        if not line:
            raise helper.Missing("jobprof serve --user does not start")
        yield line.rstrip("/")
    finally:
        p.terminate()
        p.wait()


def in_browser(database, site, top, opts):
    if not shutil.which("node") or not os.path.isdir(os.path.join(ROOT, "tests/web/node_modules/playwright-core")):
        yield Row("serve", "pages in a browser", "", why="scripts/install-deps test installs node and playwright-core")
        return
    rounds = 2 if opts.quick else 7
    days = 10000 * index.DAYS // site.jobs + 1  # which have 10,000 jobs and some more
    since = time.strftime("%Y-%m-%d", time.gmtime(site.end - days * 86400))
    with own_server(database) as base:
        t = timings("%s/jobs?since=%s&limit=10000" % (base, since), rounds)
    name = "the list of 10,000 jobs"
    yield Row("serve", name + ": first byte", "ms", t["first"])
    yield Row("serve", name + ": last byte", "ms", t["last"])
    yield Row("serve", name + ": painted", "ms", t["painted"], target=300)
    nodes = 50 if opts.quick else 1000
    profile, of_job = os.path.join(top, "job_4711.h5"), os.path.join(top, "job.db")
    subprocess.run([sys.executable, os.path.join(ROOT, "tests/findings/large.py"), "--nodes", str(nodes), "--hours", "2", "--period", "30", profile], check=True)
    index.call("index", "scan", top, "--database", of_job)
    name = "the page of a job of %s nodes for two hours" % format(nodes, ",")
    with own_server(of_job) as base:
        t = timings(base + "/job/4711", 2 if opts.quick else 3)
        yield Row("serve", name + ", made anew: painted", "ms", t["painted"])
        index.call("report", "--store", profile)
        t = timings(base + "/job/4711", rounds, "zoom")
    yield Row("serve", name + ", as AutoReport stores it: first byte", "ms", t["first"])
    yield Row("serve", name + ": painted", "ms", t["painted"], target=1000)
    yield Row("serve", name + ": a zoom", "ms", t["zoom"], target=200)


def jobs_of(database):
    """Their numbers follow each other, as sitegen gives them out."""
    with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % database, uri=True)) as db:
        return db.execute("SELECT max(id) FROM job").fetchone()[0]


def run(_, opts):
    import sitegen
    ready = os.environ.get("JOBPROF_BENCH_DATABASE")
    jobs = jobs_of(ready) if ready else 20000 if opts.quick else int(os.environ.get("JOBPROF_BENCH_JOBS", 1000000))
    site = sitegen.Site(jobs, days=index.DAYS)
    site.users[:USERS] = (users_here() + site.users)[:USERS]
    index.Questions.rules = sitegen.RULES
    top = tempfile.mkdtemp(prefix="jobprof-bench.", dir="/var/tmp")
    rows = []
    os.sched_setaffinity(0, range(os.cpu_count()))  # no worker has the last CPU here
    try:
        database, empty = ready or os.path.join(top, "index.db"), os.path.join(top, "empty.db")
        if not ready:
            index.make(site, database, top)
        index.call("index", "import", "--database", empty, "/dev/null")
        start = sorted(index.timed("jobs", "--database", empty, "--json")[0] for _ in range(21))[10]
        questions = index.Questions(site)
        with server(database, top) as (process, path):
            rows.append(Row("serve", "an answer that asks nothing", "ms", [ask(path, "/assets/none.js")[0] * 1000 for _ in range(21)]))
            rows += answers(database, path, questions, start, 10 if opts.quick else index.ASKED)
        with server(database, top, "--proxy-user", pwd.getpwuid(os.getuid()).pw_name) as (process, path):
            rows += many(process, path, 20 if opts.quick else CLIENTS)
        rows += in_browser(database, site, top, opts)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    return rows
