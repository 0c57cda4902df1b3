# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprof exporter in front of a jobprofd, who reads its port, and the text that Prometheus reads."""

import http.client
import shutil
import socket

from daemonlib import *

NAME = r"[a-z_]+"
LABELS = r'(?:[a-z_]+="(?:[^"\\\n]|\\\\|\\")*")(?:,[a-z_]+="(?:[^"\\\n]|\\\\|\\")*")*'
NUMBER = r"-?\d+(?:\.\d+)?"


def parse(text):
    """{(name, ((label, value), ...)): number}; every line must be as the format has it, a metric in one piece, no series twice."""
    out, types, at = {}, {}, None
    lines = text.split("\n")
    if lines[-2:] != ["# EOF", ""]:
        raise Failed("the text does not end: %r" % text[-100:])
    for line in lines[:-2]:
        m = re.fullmatch("# (HELP|TYPE) (%s) (.+)" % NAME, line)
        if m:
            if m[1] == "HELP":
                if m[2] in types:
                    raise Failed("twice: " + m[2])
                types[m[2]], at = None, m[2]
            elif m[2] != at or m[3] not in ("counter", "gauge"):
                raise Failed(line)
            else:
                types[at] = m[3]
            continue
        m = re.fullmatch("(%s)(?:\\{(%s)\\})? (%s)" % (NAME, LABELS, NUMBER), line)
        if not m or m[1] != at or not types[at] or (types[at] == "counter") != m[1].endswith("_total"):
            raise Failed("not of the format, or not where its metric is: %r" % line)
        labels = tuple((k, re.sub(r"\\(.)", r"\1", v)) for k, v in re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', m[2] or ""))
        if (m[1], labels) in out:
            raise Failed("twice: " + line)
        out[m[1], labels] = float(m[3])
    return out


def of(series, name, **labels):
    """The one value of a metric that has these labels; None: there is none."""
    found = [v for (n, l), v in series.items() if n == "jobprof_" + name and set(labels.items()) <= set(l)]
    if len(found) > 1:
        raise Failed("%s %s: %d series" % (name, labels, len(found)))
    return found[0] if found else None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def public_jobprof():
    """A copy that any user may run."""
    path = os.path.join(TMP, "jobprof")
    os.chmod(TMP, 0o755)
    if not os.path.exists(path):
        shutil.copy(JOBPROF, path)
        os.chmod(path, 0o755)
    return path


def sh(cmd):
    return subprocess.run(cmd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, env=plain_env())


class Exporter:
    def __init__(self, d, *args, uid=0, listen=None, wrap=()):
        """d: a Daemon, or the path of a socket."""
        self.port = free_port()
        where = d if isinstance(d, str) else d.settings["Socket"]
        who = ["setpriv", "--reuid=%d" % uid, "--regid=%d" % uid, "--clear-groups", "--bounding-set=-all", "--no-new-privs"] if uid else []
        self.log = os.path.join(tmpdir("exporter"), "log")
        with open(self.log, "wb") as log:
            self.proc = start([*wrap, *who, public_jobprof(), "exporter", "--listen", listen or "127.0.0.1:%d" % self.port, *args],
                              stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=plain_env(JOBPROF_SOCKET=where))
        if listen != "none":
            wait_until(self._listens, 20, "the exporter")

    def _listens(self):
        if self.proc.poll() is not None:
            raise Failed("the exporter ended: " + self.said())
        with socket.socket() as s:
            return not s.connect_ex(("127.0.0.1", self.port))

    def said(self):
        with open(self.log) as f:
            return f.read()

    def get(self, path="/metrics", method="GET", uid=0):
        if uid:
            code = "import http.client,sys\nc=http.client.HTTPConnection('127.0.0.1',%d,timeout=20)\nc.request('GET','/metrics')\nprint(c.getresponse().status)" % self.port
            p = sh(["setpriv", "--reuid=%d" % uid, "--clear-groups", "/usr/bin/python3", "-c", code])
            return int(p.stdout), None, p.stderr
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        c.request(method, path)
        r = c.getresponse()
        body = r.read().decode()
        c.close()
        return r.status, dict(r.getheaders()), body

    def series(self):
        status, _, body = self.get()
        if status != 200:
            raise Failed("status %d: %s" % (status, body))
        return parse(body)

    def end(self, sig=signal.SIGTERM):
        if self.proc.poll() is None:
            self.proc.send_signal(sig)
        return self.proc.wait(20)


def promtool(*args, text=None):
    if not shutil.which("promtool"):
        raise Skipped("there is no promtool: Debian's package prometheus")
    return subprocess.run(["promtool", *args], input=text, capture_output=True, text=True)
