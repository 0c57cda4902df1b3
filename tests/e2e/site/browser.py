#!/usr/bin/python3
# timeout: 600
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every page of jobprof serve in a browser, as staff and as a user: no error, nothing that the policy refuses, nothing wider than the screen, nothing that
axe-core finds; each number of a table is that of the same address with .json, whose sums are those of SQL. What is done in the browser: tests/web/site-*.js."""

import contextlib
import os
import socketserver
import sys
import urllib.parse

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
sys.path.insert(0, os.path.realpath(__file__ + "/.."))
import nodes
from serve import *

USER = "nobody"  # an account of every system
WEB = os.path.join(ROOT, "tests/web")
# What a page is asked for, beside the time: without it there is no such page.
NEEDS = {"/find": "word=%(name)s", "/node": "node=%(node)s", "/app": "signature=%(signature)s", "/compare": "jobs=1,2"}
TIMELESS = ("/find", "/digest", "/node", "/nodes", "/live", "/home", "/compare", "/running")
CELLS = {"/jobs": 150, "/usage": 60, "/issues": 60, "/node": 10, "/nodes": 10}  # of tables, at least
STAFF_ONLY = ("/nodes",)
JOBS = 400


def paths():
    """The table of pages, as it is in the program's source."""
    with open(os.path.join(ROOT, "user/cmd/jobprof/serve_page.c")) as f:
        return re.findall(r'^\t\{"(/[a-z]+)",', f.read(), re.M)


def need_browser():
    for program in ("node", "chromium"):
        if not shutil.which(program):
            raise Skipped("there is no %s: scripts/install-deps test" % program)
    if not os.path.isdir(os.path.join(WEB, "node_modules/playwright-core")):
        raise Skipped("playwright-core is not installed: scripts/install-deps test")


class Relay(socketserver.ThreadingTCPServer):
    """As a site's web server: it says in a header who asks, and is asked at a port."""
    daemon_threads = allow_reuse_address = True

    def __init__(self, server, user):
        relay = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                with contextlib.suppress(ConnectionError, TimeoutError):
                    relay.pass_on(self.request)
        super().__init__(("127.0.0.1", 0), Handler)
        self.path, self.user, self.seen = server.socket, user, []
        self.base = "http://127.0.0.1:%d" % self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def pass_on(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            part = client.recv(65536)
            if not part:
                return
            head += part
        lines = [x for x in head.split(b"\r\n\r\n")[0].split(b"\r\n") if not re.match(rb"(?i)(connection|x-remote-user):", x)]
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(60)
        s.connect(self.path)
        s.sendall(b"\r\n".join(lines + [b"X-Remote-User: " + self.user.encode(), b"Connection: close"]) + b"\r\n\r\n")
        status = None
        while part := s.recv(65536):
            if not status:
                status = int(part.split(b" ")[1])
                self.seen.append((status, (re.search(rb"(?i)\nsec-fetch-dest: *(\w+)", head) or [b"", b""])[1].decode(), lines[0].decode()))
            client.sendall(part)
        s.close()


def rows_of_now():
    """Jobs of the last weeks: a third are the user's. Names mean harm. A node is of one cluster, but for twin; two jobs of today ended by a failure of n7, and have no profile."""
    made = site(jobs=JOBS, users=12, days=20, end=int(time.time()) - 3600, at=())
    for i, r in enumerate(made.rows()):
        if i % 3 == 0:
            r["user"] = USER
        if r["cluster"] == "beta":
            r["node_list"], r["node_names"] = r["node_list"] and "b" + r["node_list"], [("b" + n) for n in r["node_names"] or ()]
        yield r
    for i, (cluster, node, state) in enumerate((("alpha", "n7", "NODE_FAIL"), ("alpha", "n7", "NODE_FAIL"), ("alpha", "twin", "COMPLETED"), ("beta", "twin", "COMPLETED"))):
        begin = int(time.time()) - 7200 * (i + 1)
        yield {"cluster": cluster, "job_id": 900000 + i, "user": "ann", "account": "proj01", "name": "short", "partition": "batch", "state": state, "start": begin, "end": begin + 1800, "elapsed_s": 1800,
               "nodes": 1, "cpus": 4, "cores": 4.0, "held_core_s": 7200.0, "held_cpu_s": 7200.0, "node_list": node, "node_names": [node], "sources": 2}


@functools.cache
def index():
    d = tmpdir("pages")
    path, lines, jobs = os.path.join(d, "index.db"), os.path.join(d, "rows.jsonl"), os.path.join(d, "jobs")
    with open(lines, "w") as f:
        for r in rows_of_now():
            f.write(json.dumps({k: v for k, v in r.items() if v is not None}) + "\n")
    must("index", "import", "--database", path, lines)
    list(sitegen.job_files(jobs, 2, users=1))
    for number, begin, wall, more in ((11, 0, 3600, {"nodes": 2}), (12, 600, 5000, {}), (13, 7000, 1234, {"wait": 0.9})):  # on nodes with others
        own = os.path.join(jobs, USER, "job_%d.h5" % number)
        nodes.job(own, nodes.BEGIN + begin, number, wall, user=USER, cluster="alpha", **more)
        if os.geteuid() == 0:
            shutil.chown(own, USER)
    must("index", "scan", jobs, "--database", path)
    return path


@functools.cache
def empty():
    path = os.path.join(tmpdir("none"), "index.db")
    must("index", "import", "--database", path, "/dev/null")
    return path


@functools.cache
def led():
    """Where the user coordinates a project, and has no jobs."""
    path, lines = os.path.join(tmpdir("led"), "index.db"), os.path.join(tmpdir("led"), "rows.jsonl")
    with open(lines, "w") as f:
        for i, cluster in enumerate(("alpha", "beta")):
            row = {"cluster": cluster, "job_id": 70 + i, "start": int(time.time()) - 9000, "elapsed_s": 3600, "user": "somebody", "account": "proj02", "state": "COMPLETED", "nodes": 1, "cpus": 4, "node_names": ["same"], "sources": 1}
            f.write(json.dumps(row) + "\n")
        for i, (lost, cluster) in enumerate(((1800.0, "alpha"), (3600.0, "alpha"), (360.0, "beta"))):  # of beta nobody coordinates
            f.write(json.dumps({**row, "cluster": cluster, "job_id": 80 + i, "account": "proj01", "cores": 4.0, "held_core_s": 14400.0, "sources": 3, "findings": 1, "finding_list": [{"id": "cpu.unused", "severity": "warn", "text": "idle", "where": "", "remedy_kind": "sentence", "remedy": "use less", "cost": {"saving": 0.1, "is_at_least": False, "core_s": lost}}]}) + "\n")
    must("index", "import", "--database", path, lines)
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO coordinator (\"user\", account, cluster, at) VALUES (?, 'proj01', 'alpha', ?)", (USER, int(time.time())))
    return path


def query(path, sql, *args):
    with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % path, uri=True)) as db:
        return db.execute(sql, args).fetchall()


def words():
    """Names that the index has, for pages that are about one."""
    name, signature = query(index(), "SELECT name, signature FROM job WHERE user = ? AND name LIKE '%\\_u%' ESCAPE '\\' GROUP BY name ORDER BY count(*) DESC LIMIT 1", USER)[0]
    return {"node": "n1", "name": name.split("_u")[0], "signature": signature}


def address(path, **more):
    given = NEEDS.get(path, "") % {k: urllib.parse.quote(v or "") for k, v in words().items()}
    end = "#tasks" if path == "/jobs" else ""  # a row a job, as in its JSON
    return path + "?" + "&".join(filter(None, [given, "" if path in TIMELESS else "since=all", urllib.parse.urlencode(more)])) + end if given or more or path not in TIMELESS else path


@contextlib.contextmanager
def servers():
    """Of the full index for both, of an empty one for staff, and for who leads a project."""
    with contextlib.ExitStack() as stack:
        out = {}
        for name, path, user in (("staff", index(), "root"), ("user", index(), USER), ("empty", empty(), "root"), ("leader", led(), USER)):
            s = Server("--database", path, "--proxy-user", "root")
            stack.callback(s.end)
            relay = Relay(s, user)
            stack.callback(relay.shutdown)
            out[name] = relay.base
        yield out


def browse(pages, moves=()):
    need_browser()
    folder = tmpdir("browser")
    with servers() as s:
        with open(os.path.join(folder, "cases.json"), "w") as f:
            json.dump({"servers": s, "pages": list(pages), "moves": list(moves)}, f)
        p = subprocess.run(["node", os.path.join(WEB, "site-pages.js"), folder], capture_output=True, text=True, timeout=550)
    for line in p.stdout.splitlines():
        good, name, why = re.match(r"(not )?ok (.*?)(?:: (?=\S+ ).*)?$", line).group(1, 2, 0)
        is_true("browser, " + name, not good, why)
    is_true("browser: it ends well", p.returncode == 0 and p.stdout, p.stderr[-800:])


ALL = {"light": "axe", "dark": "axe", "phone": "axe"}  # or colours alone, or what axe-core has no say in
USUAL = {"light": "axe", "dark": "contrast", "phone": "look"}


def has(path):
    """Whether that page is for users, too."""
    return path not in STAFF_ONLY


def truth(path):
    """The digest's .json is the verb's, whose page has words of its own."""
    return path != "/digest" and CELLS.get(path, -1)


def as_staff():
    browse({"server": "staff", "address": address(p), "truth": truth(p), "looks": USUAL} for p in paths())


def as_user_and_without_jobs():
    def cases():
        for p in paths():
            if has(p):
                yield {"server": "user", "address": address(p), "truth": truth(p), "looks": {"light": "look"}}
            else:
                yield {"server": "user", "address": address(p), "status": 403, "looks": {"light": "look"}}
            yield {"server": "empty", "address": address(p), "status": 403 if p == "/node" else 200, "looks": {"light": "axe"}}
            if p not in TIMELESS:
                yield {"server": "staff", "address": address(p, name="no job is called so"), "looks": {"light": "look"}}
                yield {"server": "staff", "address": address(p, nodes="x"), "status": 400, "looks": {"light": "look"}}
    browse(cases())


def moves():
    w, made = words(), []
    (number,) = query(index(), "SELECT job_id FROM job WHERE user <> '1' AND array_id IS NULL AND file IS NULL LIMIT 1")[0]
    (project,) = query(index(), "SELECT account FROM job WHERE account LIKE 'proj%' LIMIT 1")[0]
    for word, leads in ((USER, "/usage?by=name&user=" + USER), (project, "/usage?by=user&project=" + project), (w["node"], "/node?node=" + w["node"]), (str(number), "/jobs?jobs=%d" % number),
                        (w["name"], "/find?word=" + w["name"]), ("no such thing", "/find?word=no+such+thing"), ("1", "/job/1")):
        made.append({"move": "searched", "server": "staff", "address": "/find?word=0", "word": word, "leads": leads})
    made.append({"move": "followed", "server": "staff", "address": "/usage?since=all"})
    made.append({"move": "walked", "server": "staff", "address": "/findings?since=all"})
    made.append({"move": "compared", "server": "staff", "address": "/compare?jobs=11,13"})
    made += [{"move": "seldom", "server": "staff", "address": "/jobs?since=all", "field": f, "value": v, "leads": "/jobs?since=all&%s=%s" % (f, v)} for f, v in (("read", "1GiB-"), ("cpu-share", "0-10"), ("ran-at", "2026-11-01T08:00"))]
    made += [{"move": "printed", "server": "staff", "address": a} for a in ("/jobs?since=all", "/usage?since=all", "/issues?since=all")]
    made += [{"move": "narrow", "server": "staff", "address": a} for a in ("/jobs?since=all", "/home?user=" + USER)]
    if "/node" in paths():
        made.append({"move": "cursor", "server": "staff", "address": address("/node")})
    if "/nodes" in paths():
        made.append({"move": "mapped", "server": "staff", "address": "/nodes"})
    browse([{"server": "staff", "address": a, "looks": {"light": "axe", "phone": "look"}} for a in ("/job/1", "/job/11")], made)


def refusals(looks={"light": "axe"}):
    """Why something is not shown; a job without a profile; the way back to the list."""
    (theirs,) = query(index(), "SELECT job_id FROM job WHERE user <> ? AND array_id IS NULL LIMIT 1", USER)[0]
    (mine,) = query(index(), "SELECT job_id FROM job WHERE user = ? AND array_id IS NULL LIMIT 1", USER)[0]
    browse([{"server": "staff", "address": "/node?node=twin", "status": 400, "says": "twin of alpha, twin of beta", "looks": looks}, {"server": "staff", "address": "/node?node=twin&cluster=beta", "says": "Not known: no profile of this time", "looks": {"light": "look"}},
            {"server": "staff", "address": "/nodes", "says": "short", "looks": {"light": "look"}}, {"server": "staff", "address": "/jobs?since=all&finding=mem.over", "looks": {"light": "look"}}, {"server": "staff", "address": "/job/900000", "says": "NODE_FAIL", "looks": {"light": "look"}}])
    browse([{"server": who, "address": a, "status": status, "says": says, "looks": looks} for who, a, status, says in (
        ("user", "/job/%d" % theirs, 403, "the answer is the same for both"), ("user", "/job/99999999", 403, "the answer is the same for both"), ("staff", "/job/99999999", 403, "There is no such job"), ("user", "/nope", 404, "/nope"),
        ("user", "/jobs?nope=1", 400, "no such argument"), ("user", "/compare?jobs=1", 400, "2 to 16 jobs"), ("user", "/job/%d" % mine, 200, "Job Wall-clock time"), ("staff", "/job/%d" % theirs, 200, "User/Group"),
        ("staff", "/compare?jobs=1,2,3", 200, "back to the list"), ("staff", "/compare?jobs=1,%d" % theirs, 404, "These cannot be compared"), ("leader", "/", 200, "proj01: 2 jobs, 8.00 core-h, of which 1.50 lost"),
        ("empty", "/nodes", 200, "No node is known in this time"), ("empty", "/running", 200, "Which jobs run is not known"), ("staff", "/io?user=ann", 200, "Jobs of any length"), ("user", "/nodes", 403, "for the support staff"),
        ("empty", "/jobs", 200, "No jobs are in the index yet"), ("empty", "/home", 200, "You see all jobs"))],
        [{"move": "back", "server": "staff", "address": "/jobs?since=all&jobs=1", "job": "1"}])


@in_full
def refusals_in_all_looks():
    refusals(ALL)


def sums_are_those_of_sql():
    """Of all jobs, and of a user's."""
    with servers() as s:
        for who, of in (("staff", ""), ("user", " WHERE user = '%s'" % USER)):
            def ask(where):
                c = http.client.HTTPConnection(s[who][7:], timeout=60)
                c.request("GET", where)
                return json.loads(c.getresponse().read())
            jobs, held, lost = query(index(), "SELECT count(*), sum(held_core_s), sum(lost_core_s) FROM job" + of)[0]
            got = ask("/jobs.json?since=all")
            is_equal("sums, /jobs of %s" % who, (got["matching"], close(got["held_core_s"], held), close(got["lost_core_s"], lost)), (jobs, True, True))
            for by, column in (("user", "user"), ("project", "account"), ("state", "state"), ("name", "name")):
                got = {r[by] or "": (r["jobs"], r["held_core_s"], r["lost_core_s"], r["energy_kwh"] if "energy_kwh" in r else None) for r in ask("/usage.json?since=all&all&by=" + by)["usage"]["rows"]}
                want = {k or "": v for k, *v in query(index(), "SELECT %s, count(*), sum(held_core_s), sum(lost_core_s) FROM job%s GROUP BY 1" % (column, of))}
                wrong = [k for k in want if k not in got or got[k][0] != want[k][0] or any((a is None) != (b is None) or a is not None and not math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-6) for a, b in zip(got[k][1:3], want[k][1:3]))]
                is_equal("sums, /usage by %s of %s" % (by, who), (wrong[:3], len(got)), ([], len(want)))


def from_another_origin():
    """A page of another site, or of another port of the same host, gets nothing, and what it asks for is not even made, but for what opens in a window of its own."""
    need_browser()
    s = Server("--database", index(), "--proxy-user", "root")
    try:
        for host in ("localhost", "127.0.0.1"):
            relay = Relay(s, USER)
            p = subprocess.run(["node", os.path.join(WEB, "elsewhere.js"), relay.base + "/", host], capture_output=True, text=True, timeout=120)
            got = json.loads(p.stdout or "{}")
            is_equal("browser, a page at %s: gets nothing" % host, (len(got) > 10, {k: v for k, v in got.items() if v != "none"}, p.stderr), (True, {}, ""))
            is_true("browser, a page at %s: asks" % host, {"script", "iframe", "object", "image", "style", "empty", "document"} <= {d for _, d, _ in relay.seen}, relay.seen)
            mine = next(i for i, (_, d, _) in enumerate(relay.seen) if d == "document")
            is_equal("browser, a page at %s: all is refused, but a window" % host, [x for x in relay.seen[:mine] if x[0] not in (403, 405)], [])
            relay.shutdown()
            relay.server_close()
    finally:
        s.end()


@in_full
def everywhere():
    """Each page in each look, for each viewer and state."""
    def cases():
        for p in paths():
            for who in ("staff", "user", "empty"):
                yield {"server": who, "address": address(p), "status": 403 if (p, who) == ("/node", "empty") or who == "user" and not has(p) else 200, "looks": ALL}
            if p not in TIMELESS:
                yield {"server": "staff", "address": address(p, name="no job is called so"), "looks": ALL}
                yield {"server": "staff", "address": address(p, nodes="x"), "status": 400, "looks": ALL}
            for word in ("=cmd|' /C calc'!A0", "<script>alert(1)</script>", "Größe-日本語"):
                if p not in TIMELESS:
                    yield {"server": "staff", "address": address(p, name=word), "looks": {"light": "axe", "phone": "look"}}
        for sort in ("job_id", "start", "cpu_share", "-lost_core_s", "elapsed_s", "user"):
            yield {"server": "staff", "address": address("/jobs", sort=sort), "truth": -1, "looks": {"light": "look"}}
        for by in ("user", "name", "program", "partition", "state", "node"):
            for p in ("/usage", "/issues"):
                yield {"server": "staff", "address": address(p, by=by), "truth": -1, "looks": {"light": "look"}}
    browse(cases())


if __name__ == "__main__":
    run_tests((sums_are_those_of_sql, as_staff, as_user_and_without_jobs, refusals, from_another_origin, refusals_in_all_looks, moves, everywhere))
