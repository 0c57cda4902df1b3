#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof serve: what is at each address is what the verb prints for who asks, by the kernel's word on the socket; nothing of others' jobs is in
any byte of any answer; what was tried against other sites' servers is refused."""

import contextlib
import functools
import gzip
import http.client
import itertools
import pwd
import shutil
import signal
import socket
import stat
import sys
import threading

sys.path.insert(0, sys.path[0] + "/../../lib")
from besideslib import MARK, mark_page, page_of, put_page
from sitelib import *

PAGES = {"jobs": "jobs", "usage": "usage", "issues": "issues", "findings": "findings", "advice": "advice?user=%s", "digest": "digest?since=2026-11-01&until=2026-11-15"}
MORE = {"jobs": ["--limit=10000"]}  # words of a page itself
OTHER = 65534  # nobody


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("x", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self.path)


def is_heard(path):
    c = socket.socket(socket.AF_UNIX)
    try:
        c.connect(path)
    except OSError:
        return False
    finally:
        c.close()
    return True


class Server:
    """The program, at a socket or its port."""

    def __init__(self, *args, own=False, env=None, at=None, wrap=()):
        top = tmpdir("web")
        os.chmod(TMP, 0o755)
        os.chmod(top, 0o755)
        self.socket, self.port = at or os.path.join(top, "web.sock"), None
        words = [*wrap, JOBPROF, "serve", *(["--user"] if own else ["--socket", self.socket]), *args]
        self.log = open(os.path.join(top, "log"), "w+")
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=self.log, text=True, env=plain_env(TZ="UTC", HOME=TMP, LC_ALL="C.UTF-8", **(env or {})))
        if own:
            self.port = int(re.fullmatch(r"http://127.0.0.1:(\d+)/\n", self.process.stdout.readline())[1])
        else:
            wait_until(lambda: is_heard(self.socket) or self.process.poll() is not None, "the socket")

    def ask(self, address, method="GET", headers=(), uid=0):
        """By a process of that user: status, headers and bytes."""
        if uid:
            return in_child(lambda: (os.setgroups([]), os.setgid(uid), os.setuid(uid), self.ask(address, method, headers))[-1])
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60) if self.port else Unix(self.socket)
        c.putrequest(method, address, skip_host=any(k.lower() == "host" for k, _ in headers), skip_accept_encoding=True)
        for k, v in headers:
            c.putheader(k, v)
        c.endheaders()
        r = c.getresponse()
        body = r.read()
        c.close()
        return r.status, dict(r.getheaders()), body

    def raw(self, data):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(20)
        s.connect(self.socket)
        out = b""
        try:
            s.sendall(data)
        except ConnectionError:
            pass  # it has read enough
        try:
            while not out.endswith(b"\n"):
                part = s.recv(65536)
                if not part:
                    break
                out += part
        except (ConnectionError, TimeoutError):
            pass
        s.close()
        return out

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=30)
        self.log.seek(0)
        return status, self.log.read()


def in_child(work):
    """Its result, of a child process that may become another user."""
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.close(r)
            with os.fdopen(w, "wb") as f:
                f.write(repr(work()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(w)
    with os.fdopen(r, "rb") as f:
        text = f.read()
    os.waitpid(pid, 0)
    return eval(text)


def wait_until(met, what):
    until = time.monotonic() + 30
    while not met():
        if time.monotonic() > until:
            raise Failed("waited in vain for " + what)
        time.sleep(0.02)


def jobs_of_two():
    """Each of the first user's names is in no name of the others."""
    rows = list(site(jobs=400, users=4, hostile=False).rows())
    for i, r in enumerate(rows):
        mine = i % 3 == 0
        r["user"] = "nobody" if mine else "zz_other%d" % (i % 3)
        r["account"], r["name"] = ("ours", "mine_%d" % (i % 5)) if mine else ("zz_project", "zz_job_%d" % (i % 7))
        r["program"] = r["program"] and ("/opt/mine" if mine else "/opt/zz_program")
        r["node_list"] = r["node_list"] and ("n1" if mine else "zz1")
        r["node_names"] = None
    return rows


@functools.cache
def made():
    d = tmpdir("site")
    path, lines = os.path.join(d, "index.db"), os.path.join(d, "rows.jsonl")
    with open(lines, "w") as f:
        for r in jobs_of_two():
            f.write(json.dumps({k: v for k, v in r.items() if v is not None}) + "\n")
    must("index", "import", "--database", path, lines)
    os.chmod(TMP, 0o755)
    os.chmod(d, 0o755)
    os.chmod(path, 0o644)
    return path


def data_of(page, name=b"data"):
    """A page's JSON, with rows that came by column as objects."""
    data = json.loads(re.search(rb'<script type="application/json" id="%s">(.*?)</script>' % name, page, re.S)[1])
    for part in data.values():
        rows = isinstance(part, dict) and part.get("rows")
        if isinstance(rows, dict) and rows.keys() == {"n", "columns"}:
            lists = {k: [None if i is None else v["of"][i] for i in v["at"]] if isinstance(v, dict) else v or [None] * rows["n"] for k, v in rows["columns"].items()}
            part["rows"] = [{k: v[i] for k, v in lists.items()} for i in range(rows["n"])]
    return data


def close(a, b):
    """The same but for the last digits of numbers."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(close(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(close, a, b))
    return math.isclose(a, b, rel_tol=1e-12) if isinstance(a, float) else a == b


def addresses(user):
    for name, address in PAGES.items():
        address = address % user if "%s" in address else address
        yield name, address if "?" in address else address + "?since=all"


def the_same_as_the_verb():
    s = Server("--database", made())
    try:
        for name, address in addresses("zz_other1"):
            page, query = address.split("?")
            words = MORE.get(page, []) + ["--" + w for w in query.split("&")]
            for form in ("json", "csv"):
                status, headers, body = s.ask("/%s.%s?%s" % (page, form, query))
                wanted = must(page, *words, "--" + form, "--database", made())
                if page == "usage" and form == "json":  # which is made of two
                    wanted = '{"usage":%s,"histograms":%s}\n' % (wanted, must(page, *words, "--histograms", "--json", "--database", made()))
                is_equal("serve, /%s.%s: what the verb prints" % (page, form), (status, body.decode()), (200, wanted))
                is_equal("serve, /%s.%s: its type" % (page, form), headers["Content-Type"].split(";")[0], {"json": "application/json", "csv": "text/csv"}[form])
            status, headers, body = s.ask("/" + address)
            is_true("serve, /%s: the page has the same" % page, status == 200 and close(data_of(body)[name], as_json(page, *words, "--database", made())), body[:300])
            is_true("serve, /%s: its policy" % page, "default-src 'none'; script-src 'self'" in headers["Content-Security-Policy"] and "frame-ancestors 'none'" in headers["Content-Security-Policy"] and
                    headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "private, no-store", headers)
            is_true("serve, /%s: no script and no style inside" % page, not re.search(rb"<script(?![^>]*(type=\"application/json\"|src=\"assets/))|<style|style=|\bon\w+=", body), body[:500])
        status, headers, packed = s.ask("/jobs.json?since=all", headers=[("Accept-Encoding", "gzip")])
        is_equal("serve: compressed, the same", (headers["Content-Encoding"], gzip.decompress(packed)), ("gzip", s.ask("/jobs.json?since=all")[2]))
        status, headers, body = s.ask("/jobs?since=all", "HEAD")
        is_equal("serve: HEAD", (status, body, int(headers["Content-Length"])), (200, b"", len(s.ask("/jobs?since=all")[2])))
        for src in re.findall(rb'"(assets/[^"]+)"', s.ask("/")[2]):
            status, headers, body = s.ask("/" + src.decode())
            is_true("serve: %s" % os.path.splitext(src.decode())[1], status == 200 and len(body) > 10000 and "immutable" in headers["Cache-Control"], (status, headers))
    finally:
        is_equal("serve: it ends when asked", s.end(), (0, ""))


def nothing_of_others():
    s = Server("--database", made())
    try:
        seen = [r for r in jobs_of_two() if r["user"] == "nobody"]
        for who in ("nobody", "zz_other1"):
            for name, address in addresses(who):
                for form in ("", ".json", ".csv"):
                    status, _, body = s.ask("/" + address.replace("?", form + "?", 1), uid=OTHER)
                    # what was asked for comes back in the page: the filter's own word
                    rest = body.replace(b"zz_other1", b"") if who != "nobody" else body
                    is_true("serve, /%s%s as a user: no byte of others (%s)" % (name, form, who), status == 200 and b"zz_" not in rest and b"zz1" not in rest, (status, rest[:300]))
        status, _, body = s.ask("/jobs.json?since=all", uid=OTHER)
        is_equal("serve: own jobs, all of them", json.loads(body)["matching"], len(seen))
        status, _, body = s.ask("/usage.json?since=all&by=user", uid=OTHER)
        is_equal("serve: sums of own jobs alone", [(r["user"], r["jobs"]) for r in json.loads(body)["usage"]["rows"]], [("nobody", len(seen))])
        theirs, none = (next(r["job_id"] for r in jobs_of_two() if r["user"] != "nobody"), 99999999)
        answers = [s.ask("/job/%d" % j, uid=OTHER) for j in (theirs, none)]
        for _, headers, _ in answers:
            headers.pop("Date", None)
        answers = [(status, headers, re.sub(rb'"now":\d+', b"", body)) for status, headers, body in answers]
        is_equal("serve: not yours and not there are the same", answers[0], answers[1])
        is_equal("serve: which is 403", answers[0][0], 403)
        for filters in ("user=zz_other1", "name=zz_job", "project=zz_project", "node=zz1", "program=zz_program", "jobs=%d" % theirs):
            found = json.loads(s.ask("/jobs.json?since=all&" + filters, uid=OTHER)[2])
            is_equal("serve, jobs?%s as a user: none" % filters.split("=")[0], (found["matching"], found["rows"]), (0, []))
    finally:
        s.end()


def who_asks():
    """The header is believed from the proxy alone."""
    proxy = Server("--database", made(), "--proxy-user", "nobody")
    try:
        def count(headers=(), uid=OTHER):
            status, _, body = proxy.ask("/jobs.json?since=all", headers=headers, uid=uid)
            return json.loads(body)["matching"] if status == 200 else status
        own = sum(r["user"] == "nobody" for r in jobs_of_two())
        name = "X-Remote-User"
        is_equal("proxy: a user", count([(name, "nobody")]), own)
        is_equal("proxy: staff", count([(name, "root")]), 400)
        is_equal("proxy: the name of the header has no case", count([("x-remote-user", "nobody")]), own)
        for title, headers in (("without the header", []), ("twice", [(name, "nobody"), (name, "root")]), ("twice the same", [(name, "root"), (name, "root")]),
                               ("of nobody's name", [(name, "no-such-user")]), ("empty", [(name, "")]), ("with a port", [(name, "root:80")]), ("with a blank inside", [(name, "ro ot")]),
                               ("two names", [(name, "root,nobody")]), ("UTF-8", [(name, "r\u00f6\u00f6t".encode())]), ("a path", [(name, "../root")]), ("a number", [(name, "0")])):
            is_equal("proxy, %s: 403" % title, count(headers), 403)
        is_equal("proxy: of others the header means nothing", count([(name, "nobody")], uid=0), 400)
        daemon = pwd.getpwnam("daemon").pw_uid
        is_equal("proxy: nor for whom has no jobs", count([(name, "root")], uid=daemon), 0)
    finally:
        proxy.end()


def what_makes_no_sense():
    s = Server("--database", made())
    try:
        for address, status in (("/nope", 404), ("/jobs.xml", 404), ("/assets/none.js", 404), ("/assets/..%2f..%2fetc%2fpasswd", 400), ("/../etc/passwd", 400), ("/jobs/../usage", 400),
                                ("/.git", 400), ("/jobs%00", 400), ("/jobs%2fx", 400), ("/jobs?user=%00", 400), ("/jobs?user=%0a", 400), ("/jobs?user=%zz", 400), ("/jobs?user=%ff", 400),
                                ("/jobs?user=a&user=b", 400), ("/jobs?limit=-1", 400), ("/jobs?limit=1000000000", 400), ("/jobs?database=/etc/passwd", 400), ("/jobs?profiledir=/", 400),
                                ("/jobs?html=/tmp/x", 400), ("/jobs?csv", 400), ("/jobs?since=nonsense", 400), ("/jobs?nodes=x", 400), ("/jobs?sort=nonsense", 400), ("/jobs?%s" % "&".join("a%d=1" % i for i in range(40)), 400),
                                ("/jobs?user=" + "a" * 5000, 400), ("/jobs?finding=no.such.rule", 400), ("/digest?overwrite", 400), ("/job/../x", 400), ("/job/7?x=1", 400), ("/contacted", 404), ("/contacted.csv", 404)):
            got, headers, body = s.ask(address)
            is_equal("serve, %s: %d" % (address[:40], status), got, status)
            is_true("serve, %s: nothing of the machine" % address[:40], b"root:" not in body, body[:200])
        for title, address in (("SQL", "name='%20OR%201=1--"), ("HTML", "name=%3Cscript%3Ealert(1)%3C/script%3E"), ("a wildcard", "name=%25")):
            status, _, body = s.ask("/jobs?since=all&" + address)
            is_equal("serve, %s in a filter: no job" % title, (status, data_of(body)["jobs"]["matching"]), (200, 0))
            is_true("serve, %s in a filter: as text" % title, b"<script>alert" not in body, body[:300])
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"):
            is_equal("serve, %s: 405" % method, s.ask("/jobs", method, [("Content-Length", "0")])[0], 405)
        for title, headers, status in (("of another site, as a part", [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors")], 403),
                                       ("of another port of this host", [("Sec-Fetch-Site", "same-site"), ("Sec-Fetch-Mode", "no-cors")], 403),
                                       ("of another site, which does not say how", [("Sec-Fetch-Site", "cross-site")], 403),
                                       ("in another site's frame", [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "iframe")], 403),
                                       ("a link on another site", [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")], 200)):
            is_equal("serve, %s: %d" % (title, status), s.ask("/jobs.json", headers=headers)[0], status)
        for title, data in (("no HTTP", b"hello\r\n\r\n"), ("a huge header", b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 200000 + b"\r\n\r\n"), ("a body", b"GET /jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")):
            out = s.raw(data)
            is_true("serve, %s: refused" % title, not out or re.match(rb"HTTP/1.1 4\d\d", out), out[:200])
        is_equal("serve: and it still answers", s.ask("/jobs.json")[0], 200)
    finally:
        status, log = s.end()
    is_equal("serve: it ended well", status, 0)


def no_argument_is_a_failure():
    """Whatever an argument is, a page is shown or refused; and the words of the verb say why, where they are of the argument."""
    s = Server("--database", made())
    options = sorted(set(re.findall(r"--([a-z-]+)", call("jobs", "--help").stdout)) - {"help", "database", "profiledir", "json", "csv"}) + ["by", "word", "contacts"]
    whole = ("jobs", "usage", "findings", "io", "issues", "apps", "advice", "digest", "home")  # which have all filters
    many = {"user": "x", "project": "x", "state": "F", "partition": "x", "cluster": "x", "signature": "x", "jobs": "7"}
    words = itertools.cycle(("", "x", "-1", "1e99", "n[1-99999999]", "n[", "%27"))
    try:
        for page in (*whole, "find", "node", "nodes", "running"):
            for option in options:
                one = many.get(option, "x")
                for value in ("n[1-600]" if option == "node" else ",".join([one] * 600), next(words)):
                    status, _, body = s.ask("/%s.json?%s=%s" % (page, option, value))
                    is_true("serve, /%s?%s=%s: no failure" % (page, option, value[:20]), status in (200, 400, 403), (status, body[:200]))
                    if page in whole and value.endswith(one + "," + one) and option in many or value == "n[1-600]" and page in whole:
                        is_equal("serve, /%s with too many of %s" % (page, option), [status, b"--%s: " % option.encode() in body and b"too many words" in body], [400, True])
        for value, said in (("since=nonsense", "--since nonsense: it is "), ("node=n[1-600]", "--node: "), ("limit=0", "--limit 0: it is a number"), ("name=x&since=%3Cb%3E", "--since <b>: ")):
            status, _, body = s.ask("/jobs?" + value)
            is_equal("serve, /jobs?%s: the verb's own words" % value, [status, data_of(body, b"site")["error"][:len(said)], b"<b>" in body], [400, said, False])
    finally:
        s.end()


def many_at_once():
    """More clients than children: each gets its answer."""
    s = Server("--database", made())
    try:
        wanted = s.ask("/usage.json?since=all")[2]
        got = []
        threads = [threading.Thread(target=lambda: got.append(s.ask("/usage.json?since=all")[::2])) for _ in range(60)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        is_equal("serve: 60 at once", (len(got), {g for g in got}), (60, {(200, wanted)}))
        idle = [socket.socket(socket.AF_UNIX) for _ in range(100)]
        for c in idle:
            c.connect(s.socket)
            c.sendall(b"GET / HT")
        is_equal("serve: beside 100 that say nothing", s.ask("/usage.json?since=all")[0], 200)
        with open("/proc/%d/status" % s.process.pid) as f:
            kb = int(re.search(r"VmRSS:\s*(\d+)", f.read())[1])
        is_true("serve: within 100 MB", kb < 100000, kb)
        for c in idle:
            c.close()
    finally:
        s.end()


def a_long_queue():
    """While the server is busy a user opens 1,000 connections: there is still room for others, whom it answers."""
    s = Server("--database", made())
    def connected():
        c = socket.socket(socket.AF_UNIX)
        c.setblocking(False)
        c.connect(s.socket)
        return c
    try:
        with open("/proc/sys/net/core/somaxconn") as f:
            many = min(1000, int(f.read()) - 100)
        os.kill(s.process.pid, signal.SIGSTOP)
        idle = [connected() for _ in range(many)]
        one = connected()
        one.settimeout(60)
        one.sendall(b"GET /jobs.json HTTP/1.1\r\nHost: x\r\n\r\n")
        for c in idle:
            c.close()
        os.kill(s.process.pid, signal.SIGCONT)
        is_equal("serve: behind %d others in the queue" % many, one.recv(15), b"HTTP/1.1 200 OK")
        one.close()
    finally:
        os.kill(s.process.pid, signal.SIGCONT)
        s.end()


def one_at_a_socket():
    s = Server("--database", made())
    p = subprocess.run([JOBPROF, "serve", "--database", made(), "--socket", s.socket], capture_output=True, text=True, timeout=30, env=plain_env())
    is_true("serve: a second one at the same socket is refused", p.returncode == 1 and "in use" in p.stderr, p.stderr)
    s.process.kill()
    s.process.wait()
    again = Server("--database", made(), at=s.socket)
    is_equal("serve: the second server answers", again.ask("/jobs.json")[0], 200)
    is_equal("serve: what a killed one left is replaced", again.end()[0], 0)


def the_page_of_a_job():
    """The same as report --html, for its owner and staff; of the second job its file has the page."""
    d = tmpdir("jobs")
    files = list(sitegen.job_files(d, 2, users=1))
    must("report", "--store", files[1][0])
    mark_page(files[1][0])
    path = os.path.join(tmpdir("ofjobs"), "index.db")
    must("index", "scan", d, "--database", path)
    os.chmod(TMP, 0o755)
    uid = int(files[0][1]["user"])
    s = Server("--database", path)
    try:
        for who in (0, uid):
            status, _, body = s.ask("/job/1", uid=who)
            is_true("serve, /job/1: the job's page, for %s" % ("staff" if not who else "its owner"), status == 200 and data_of(body)["job"]["id"] == "1", body[:300])
        is_equal("serve, /job/1: its report is the verb's", data_of(body)["findings"], json.loads(must("report", "--json", files[0][0]))["findings"])
        is_equal("serve, /job/1: for nobody else", s.ask("/job/1", uid=OTHER)[0], 403)
        is_equal("serve, /job/2: the page in its file, for those two alone",
                 [(status, MARK.encode() in body) for status, _, body in (s.ask("/job/2", uid=who) for who in (0, uid, OTHER))], [(200, True)] * 2 + [(403, False)])
        os.utime(files[1][0])
        is_equal("serve, /job/2: not when the file was written since", MARK.encode() in s.ask("/job/2")[2], False)
    finally:
        s.end()


def answers_that_nobody_reads():
    """One who asks for large pages and reads none has not the server's memory: the page is a forged one, of which each byte becomes six."""
    d, size = tmpdir("large"), 2 << 20
    path, truth = list(sitegen.job_files(d, 1, users=1))[0]
    must("report", "--store", path)
    page = page_of(path)
    page["job"]["name"] = "<" * size
    put_page(path, gzip.compress(json.dumps(page).encode()))
    index = os.path.join(tmpdir("oflarge"), "index.db")
    must("index", "scan", d, "--database", index)
    os.chmod(TMP, 0o755)
    s = Server("--database", index)
    uid, last, (over, tell) = int(truth["user"]), [], os.pipe()
    most = (64 << 20) + 2 * os.cpu_count() * 7 * size
    def held():
        n, top = 0, "/proc/%d/fd" % s.process.pid
        for fd in os.listdir(top):
            with contextlib.suppress(OSError):
                n += os.stat(os.path.join(top, fd)).st_size if "memfd:answer" in os.readlink(os.path.join(top, fd)) else 0
        return n
    def ask():
        mine = []
        for _ in range(100):
            c = socket.socket(socket.AF_UNIX)
            c.connect(s.socket)
            c.sendall(b"GET /job/1 HTTP/1.1\r\nHost: x\r\n\r\n")
            mine.append(c)
        mine[-1].settimeout(20)
        answer = mine[-1].recv(12)
        os.read(over, 1)
        return answer
    try:
        asker = threading.Thread(target=lambda: last.append(in_child(lambda: (os.setgroups([]), os.setgid(uid), os.setuid(uid), ask())[-1])))
        asker.start()
        now, since, until = 0, time.monotonic(), time.monotonic() + 60
        while now < most and (now < 64 << 20 or time.monotonic() < since + 3) and time.monotonic() < until:
            before, now = now, held()
            since = since if now == before else time.monotonic()
            time.sleep(0.05)
        is_true("unread: answers are made until there are 64 MiB", 64 << 20 <= now < most, (now, most))
        is_equal("unread: others are answered", s.ask("/jobs.json", uid=OTHER)[0], 200)
        os.write(tell, b"x")
        asker.join()
        is_equal("unread: beyond 64 requests of a user: refused", last, [b"HTTP/1.1 429"])
    finally:
        s.end()


def a_socket_of_systemd():
    path = os.path.join(tmpdir("sd"), "web.sock")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    p = subprocess.Popen(["/bin/sh", "-c", 'LISTEN_FDS=1 LISTEN_PID=$$ exec "$0" "$@" 3<&%d' % listener.fileno(), JOBPROF, "serve", "--database", made()], pass_fds=[listener.fileno()],
                         env=plain_env(), stderr=subprocess.PIPE, text=True)
    listener.close()
    c = Unix(path)
    c.request("GET", "/jobs.json?since=all")
    is_equal("serve: at a socket that it is given", c.getresponse().status, 200)
    p.terminate()
    is_equal("serve: which it leaves there", (p.wait(timeout=30), p.stderr.read(), os.path.exists(path)), (0, "", True))


def own_jobs():
    """On a port of the loopback, for the user alone who started it."""
    s = Server("--database", made(), own=True)
    try:
        host = "127.0.0.1:%d" % s.port
        is_equal("own: the user", s.ask("/jobs.json?since=all")[0], 200)
        is_equal("own: another user of the machine", s.ask("/jobs.json?since=all", uid=OTHER)[0], 403)
        is_equal("own: by a name of another site", [s.ask("/jobs.json", headers=[("Host", h)])[0] for h in ("evil.example", "localhost.evil.example", host + ".evil.example", "localhost", host)], [403, 403, 403, 200, 200])
        is_equal("own: a header of a proxy means nothing", s.ask("/jobs.json?since=all", headers=[("X-Remote-User", "root")], uid=OTHER)[0], 403)
    finally:
        s.end()
    s = Server("--user", "--database", made())
    try:
        is_equal("own, at a socket: by names of this host", [oct(os.stat(s.socket).st_mode & 0o777), *(s.ask("/jobs.json?since=all", headers=[("Host", h)])[0] for h in ("localhost:8080", "evil.example"))], ["0o600", 200, 403])
        os.chmod(s.socket, 0o666)
        is_equal("own, at a socket: others are refused", s.ask("/jobs.json?since=all", headers=[("Host", "localhost")], uid=OTHER)[0], 403)
    finally:
        s.end()
    is_equal("own: in one place", call("serve", "--user", "--socket", "/tmp/x", "--port", "1").returncode, 2)


def child_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return int(f.read().split()[0])


def caught(s, address):
    """A child of the server, stopped while it answers, and the thread that asks."""
    for _ in range(200):
        got = []
        asker = threading.Thread(target=lambda got=got: got.append(s.ask(address)[0]))
        asker.start()
        while not got:
            with contextlib.suppress(OSError, IndexError):
                child = child_of(s.process.pid)
                os.kill(child, signal.SIGSTOP)
                if os.path.exists("/proc/%d/exe" % child):  # it has not ended yet
                    return child, asker, got
        asker.join()
    raise Skipped("no child was caught")


@in_full
def a_child_that_hangs():
    """What SIGKILL does not end, as at a file system whose server is away, holds up nobody: frozen by the freezer of cgroup v1."""
    if os.geteuid():
        raise Skipped("needs root")
    top = "%s/jptest_%d_hang" % (need_cgroup1("freezer"), os.getpid())
    s = Server("--database", made())
    os.mkdir(top)
    try:
        child, asker, got = caught(s, "/usage.json?since=all")
        for name, word in (("cgroup.procs", str(child)), ("freezer.state", "FROZEN")):
            with open(os.path.join(top, name), "w") as f:
                f.write(word)
        os.kill(child, signal.SIGCONT)
        is_equal("hangs: others are answered", s.ask("/usage.json?since=all")[0], 200)
        asker.join(60)
        is_equal("hangs: after 30 s who waits is told so", got, [503])
        began = time.monotonic()
        is_equal("hangs: the killed one holds up nobody", [s.ask("/usage.json?since=all")[0] for _ in range(3)], [200] * 3)
        is_true("hangs: who are answered as ever", time.monotonic() - began < 5, time.monotonic() - began)
        is_true("hangs: while it is still there", os.path.exists("/proc/%d" % child), child)
        with open(os.path.join(top, "freezer.state"), "w") as f:
            f.write("THAWED")
        wait_until(lambda: not os.path.exists("/proc/%d" % child), "the child to be forgotten")
    finally:
        with open(os.path.join(top, "freezer.state"), "w") as f:
            f.write("THAWED")
        status, log = s.end()
        wait_until(lambda: not os.rmdir(top) or True, "the group's end")
    is_true("hangs: the server says which page, and ends well", status == 0 and "/usage: it took too long" in log.replace(".json", ""), (status, log))


if __name__ == "__main__":
    run_tests((the_same_as_the_verb, nothing_of_others, who_asks, what_makes_no_sense, no_argument_is_a_failure, many_at_once, a_long_queue, one_at_a_socket, the_page_of_a_job, answers_that_nobody_reads, a_socket_of_systemd,
               own_jobs, a_child_that_hangs))
