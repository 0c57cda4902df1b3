#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Apache and nginx before jobprof serve, as conf/apache-jobprof.conf and conf/nginx-jobprof.conf have it, of which only paths are changed: who
logs in sees own jobs, whatever a browser claims; the pages' policy and links are whole below /jobprof/; events come at once."""

import base64
import contextlib
import functools
import os
import shutil
import sys

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
sys.path.insert(0, os.path.realpath(__file__ + "/../../../findings"))
sys.path.insert(0, os.path.realpath(__file__ + "/../../cli"))
from page import WEB, need_browser
from serve import *

WHO = ("nobody", "games")
MODULES = ("mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "authz_groupfile", "auth_basic", "proxy", "proxy_http", "headers", "alias", "dir", "mime")
PASSWORD = "right"


def shipped(name, **paths):
    with open(os.path.join(ROOT, "conf", name)) as f:
        text = f.read()
    for old, new in paths.items():
        old = old.replace("__", "/")
        if old not in text:
            raise Failed("%s has no %s" % (name, old))
        text = text.replace(old, new)
    return text


def program(name):
    path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not path:
        raise Skipped("there is no %s: scripts/install-deps test" % name)
    return path


def free_port():
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
    s.close()
    return port


class Proxy:
    def __init__(self, at):
        self.top, self.port = tmpdir("proxy"), free_port()
        os.chmod(TMP, 0o755)
        os.chmod(self.top, 0o755)
        self.passwords = os.path.join(self.top, "htpasswd")
        for i, user in enumerate(WHO):
            subprocess.run([program("htpasswd"), "-b", "-5", *(["-c"] if not i else []), self.passwords, user, PASSWORD], check=True, capture_output=True)
        os.chmod(self.passwords, 0o644)
        self.log = open(os.path.join(self.top, "log"), "w+")
        self.process = start(self.command(at), stdout=self.log, stderr=self.log)
        wait_until(self.is_there, "the port of " + type(self).__name__)

    def is_there(self):
        if self.process.poll() is not None:
            self.log.seek(0)
            raise Failed("%s ended: %s" % (type(self).__name__, self.log.read()[-2000:]))
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def write(self, name, text):
        path = os.path.join(self.top, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def ask(self, address, user=None, password=PASSWORD, headers=()):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        c.putrequest("GET", address)
        if user:
            c.putheader("Authorization", "Basic " + base64.b64encode(("%s:%s" % (user, password)).encode()).decode())
        for k, v in headers:
            c.putheader(k, v)
        c.endheaders()
        r = c.getresponse()
        body = r.read()
        c.close()
        return r.status, dict(r.getheaders()), body

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=30)


class Apache(Proxy):
    def command(self, at, more=""):
        text = "".join("LoadModule %s_module /usr/lib/apache2/modules/mod_%s.so\n" % (m, m) for m in MODULES)
        text += "ServerName x\nListen 127.0.0.1:%d\nUser www-data\nGroup www-data\nErrorLog %s/error\nPidFile %s/pid\nMutex file:%s\nTypesConfig /etc/mime.types\n" % (self.port, *3 * [self.top])
        text += shipped("apache-jobprof.conf", **{"/run/jobprof-web/web.sock": at, "/etc/apache2/jobprof.htpasswd": self.passwords})
        return [program("apache2"), "-DFOREGROUND", "-f", self.write("apache.conf", text + more)]


class Nginx(Proxy):
    def command(self, at):
        snippet = self.write("jobprof.conf", shipped("nginx-jobprof.conf", **{"/run/jobprof-web/web.sock": at, "/etc/nginx/jobprof.htpasswd": self.passwords}))
        temporary = "".join("%s_temp_path %s/%s;\n" % (k, self.top, k) for k in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        text = "user www-data;\ndaemon off;\nworker_processes 1;\npid %s/pid;\nerror_log %s/error;\nevents {}\nhttp {\naccess_log off;\n%sserver {\nlisten 127.0.0.1:%d;\ninclude %s;\n}\n}\n" % (
            self.top, self.top, temporary, self.port, snippet)
        return [program("nginx"), "-p", self.top, "-c", self.write("nginx.conf", text)]


@functools.cache
def of_two():
    """An index of two users that this machine knows, whose names are in all that is theirs."""
    rows = list(site(jobs=200, users=2, hostile=False).rows())
    for i, r in enumerate(rows):
        user = WHO[i % 2]
        r["user"], r["account"], r["name"] = user, "project_" + user, "job_%d_%s" % (i % 5, user)
        r["program"] = r["program"] and "/opt/" + user
        r["node_list"], r["node_names"] = r["node_list"] and "n1" + user, None
    return index_of(rows), rows


def index_of(rows):
    d = tmpdir("site")
    path, lines = os.path.join(d, "index.db"), os.path.join(d, "rows.jsonl")
    with open(lines, "w") as f:
        for r in rows:
            f.write(json.dumps({k: v for k, v in r.items() if v is not None}) + "\n")
    must("index", "import", "--database", path, lines)
    os.chmod(TMP, 0o755)
    os.chmod(d, 0o755)
    os.chmod(path, 0o644)
    return path


def logs_in(p, name):
    rows = of_two()[1]
    for user, other in (WHO, WHO[::-1]):
        status, headers, body = p.ask("/jobprof/jobs.json?since=all", user)
        is_equal("%s: %s sees own jobs" % (name, user), (status, status == 200 and json.loads(body)["matching"]), (200, sum(r["user"] == user for r in rows)))
        status, headers, body = p.ask("/jobprof/jobs?since=all", user)
        is_true("%s: and nothing of others" % name, status == 200 and other.encode() not in body, (status, body[:200]))
        is_true("%s: the policy of the pages comes through" % name, "script-src 'self'" in headers["Content-Security-Policy"] and headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "private, no-store", headers)
    for title, user, password in (("no login", None, ""), ("a wrong password", "nobody", "wrong"), ("a user that the web server does not know", "root", PASSWORD)):
        for address in ("/jobprof/", "/jobprof/jobs.json?since=all", "/jobprof/assets/x"):
            is_equal("%s, %s: 401" % (name, title), p.ask(address, user, password, [("X-Remote-User", "nobody")])[0], 401)


def claims(p, name):
    own = sum(r["user"] == "nobody" for r in of_two()[1])
    for title, headers in (("the header", [("X-Remote-User", "root")]), ("the header twice", [("X-Remote-User", "root"), ("X-Remote-User", "games")]), ("in small letters", [("x-remote-user", "root")]),
                           ("with underscores", [("X_Remote_User", "root")]), ("of the other user", [("X-Remote-User", "games")])):
        status, _, body = p.ask("/jobprof/jobs.json?since=all", "nobody", headers=headers)
        is_equal("%s, a browser sends %s: it is ignored" % (name, title), (status, status == 200 and json.loads(body)["matching"]), (200, own))
    status, _, body = p.ask("/jobprof/jobs.json?since=all", "nobody", headers=[("Connection", "close, X-Remote-User"), ("X-Remote-User", "root")])
    is_true("%s: it cannot have the header taken away either" % name, (status, status == 200 and json.loads(body)["matching"]) in ((200, own), (403, False)), (status, body[:200]))
    for address in ("/jobprof/..%2f..%2fetc/passwd", "/jobprof/jobs%00", "/jobprof//../../etc/passwd", "/jobprof/assets/..%2f..%2fx"):
        status, _, body = p.ask(address, "nobody")
        is_true("%s, %s: no page" % (name, address), 400 <= status < 500 and b"root:" not in body, (status, body[:100]))


ODD = (b"X-Remote-User : root", b"X-Remote-User\t: root", b"X-A: b\r\n X-Remote-User: root", b"X-Remote-User:\r\n root", b"X.Remote.User: root", b"X-Remote-User\0: root", b"X-A: b\rX-Remote-User: root", b"X-A: b\nX-Remote-User: root",
       b"Expect: 100-continue", b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings, X-Remote-User\r\nHTTP2-Settings: AAMAAABkAAQAAP__", b"Content-Length: 4\r\nTransfer-Encoding: chunked", b"Transfer-Encoding: chunked\r\nTrailer: X-Remote-User")


def odd_requests(p, name):
    """However a browser spells the header, and whatever stands behind its request: own jobs, or none."""
    own = sum(r["user"] == "nobody" for r in of_two()[1])
    login = b"Authorization: Basic " + base64.b64encode(b"nobody:" + PASSWORD.encode())
    behind = {10: b"0\r\n\r\nGET /jobs.json?since=all HTTP/1.1\r\nHost: x\r\nX-Remote-User: root\r\n\r\n", 11: b"0\r\nX-Remote-User: root\r\n\r\n"}
    for i, header in enumerate(ODD):
        c, out = socket.create_connection(("127.0.0.1", p.port), timeout=20), b""
        c.sendall(b"\r\n".join((b"GET /jobprof/jobs.json?since=all HTTP/1.1", b"Host: x", login, header, b"Connection: close", b"", b"")) + behind.get(i, b""))
        with contextlib.suppress(OSError):
            while part := c.recv(65536):
                out += part
        c.close()
        seen = [int(n) for n in re.findall(rb'"matching":(\d+)', out)]
        is_true("%s, %r: own jobs or none" % (name, header[:40]), re.match(rb"HTTP/1.1 [1-4]", out) and seen in ([], [own]), (out[:100], seen))


def below_a_folder(p, name):
    status, headers, _ = p.ask("/jobprof", "nobody")
    is_true("%s: /jobprof leads to /jobprof/" % name, status == 301 and headers["Location"].endswith("/jobprof/"), (status, headers))
    for page in ("/jobprof/", "/jobprof/jobs", "/jobprof/usage"):
        body = p.ask(page, "nobody")[2].decode()
        found = re.findall(r'(?:src|href)="([^"]*assets/[^"]+)"', body)
        is_equal("%s, %s: script and style" % (name, page), [p.ask("/jobprof/" + f, "nobody")[0] for f in found if not f.startswith("/")], [200, 200])


def events_at_once(make, name):
    """A server in the place of ours sends an event, and the next one when it was told that the first has come."""
    top = tmpdir("events")
    os.chmod(top, 0o755)
    at, go = os.path.join(top, "web.sock"), threading.Event()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(at)
    os.chmod(at, 0o666)
    listener.listen()

    def answer():
        c, _ = listener.accept()
        asked = b""
        while b"\r\n\r\n" not in asked:
            asked += c.recv(65536)
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Accel-Buffering: no\r\nCache-Control: no-store\r\nConnection: close\r\n\r\nid: 1\ndata: first\n\n")
        go.wait(30)
        c.sendall(b"id: 2\ndata: second\n\n")
        c.close()

    server = threading.Thread(target=answer)
    server.start()
    p = make(at)
    try:
        c = http.client.HTTPConnection("127.0.0.1", p.port, timeout=30)
        c.request("GET", "/jobprof/events", headers={"Authorization": "Basic " + base64.b64encode(b"nobody:" + PASSWORD.encode()).decode(), "Accept": "text/event-stream"})
        r = c.getresponse()
        first = r.readline() + r.readline()
        go.set()
        is_equal("%s: an event comes before there is another one" % name, (r.status, first, b"second" in r.read()), (200, b"id: 1\ndata: first\n", True))
    finally:
        go.set()
        p.end()
        server.join()
        listener.close()


def followed(url, user, most=25):
    """What a browser sees that follows all links from there."""
    need_browser()
    p = subprocess.run(["node", os.path.join(WEB, "links.js"), url, user, PASSWORD, str(most)], capture_output=True, text=True, timeout=300)
    if p.returncode:
        raise Failed("links.js: " + p.stderr[-1000:])
    return json.loads(p.stdout)


@in_full
def links_below_a_folder():
    s = Server("--database", of_two()[0], "--proxy-user", "www-data")
    p = Nginx(s.socket)
    try:
        first = "http://127.0.0.1:%d/jobprof/" % p.port
        seen = followed(first, "nobody")
        is_true("browser: pages are there", len(seen) > 10 and {"jobs", "usage", "findings"} <= {re.split(r"[?/.]", s["address"][len(first):])[0] for s in seen}, [s["address"] for s in seen])
        is_equal("browser: all links stay below the folder", [s["address"] for s in seen if not s["address"].startswith(first)], [])
        is_equal("browser: and lead to a page without errors", [s for s in seen if s["status"] != 200 or s["wrong"]], [])
    finally:
        p.end()
        s.end()


def behind(make, name):
    s = Server("--database", of_two()[0], "--proxy-user", "www-data")
    try:
        p = make(s.socket)
        try:
            for test in (logs_in, claims, odd_requests, below_a_folder):
                test(p, name)
        finally:
            p.end()
    finally:
        s.end()
    events_at_once(make, name)


def apache():
    behind(Apache, "apache")


def nginx():
    behind(Nginx, "nginx")


if __name__ == "__main__":
    run_tests((apache, nginx, links_below_a_folder))
