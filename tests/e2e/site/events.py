#!/usr/bin/python3
# timeout: 240
# SPDX-License-Identifier: GPL-2.0-or-later
"""The stream of /running.events: what changes comes, and only that; it is of who asks, ends when rights are withdrawn, is refused beyond 200, and is
closed for who does not read."""

import socket
import sqlite3
import sys
import threading

sys.path.insert(0, sys.path[0] + "/../../lib")
from serve import Server, Unix, OTHER, in_child, is_heard
from running import filled
from squeuelib import *

PERIOD = 0.5  # of tests; else 5 s


class Stream:
    """Reads events in this process."""

    def __init__(self, server, headers=(), address="/running.events"):
        self.c = Unix(server.socket)
        self.c.putrequest("GET", address, skip_accept_encoding=False)
        for k, v in headers:
            self.c.putheader(k, v)
        self.c.endheaders()
        self.sock = self.c.sock
        self.r = self.c.getresponse()
        self.status, self.headers = self.r.status, dict(self.r.getheaders())

    def event(self, seconds=15):
        """(name, data), or None at its end."""
        self.sock.settimeout(seconds)
        name = "message"
        while True:
            line = self.r.readline()
            if not line:
                return None
            text = line.decode().rstrip("\n")
            if text.startswith("event: "):
                name = text[7:]
            elif text.startswith("data: "):
                if self.r.readline() != b"\n":
                    raise Failed("an event that does not end: %r" % text[:200])
                return name, json.loads(text[6:])

    def change(self):
        """The next event that is no line with the time; how many such lines came before."""
        n = 0
        while True:
            e = self.event()
            if e is None or e[0] != "same":
                return n, e
            n += 1

    def close(self):
        self.c.close()


def change(db, user="nobody"):
    db.execute("UPDATE running SET losing_cores = COALESCE(losing_cores, 1) + 1 WHERE \"user\" = ?", (user,))
    db.commit()


def a_site():
    """Half of the jobs are nobody's."""
    made = filled(60, users=2)
    index, db = made.__enter__()
    db.execute("UPDATE running SET \"user\" = CASE WHEN \"user\" = 'user00' THEN 'nobody' ELSE 'zz_other' END")
    db.commit()
    for path in (os.path.dirname(index), index):
        os.chmod(path, 0o755)
    return index, db, made


def what_changes_comes():
    index, db, _ = a_site()
    s = Server("--database", index, "--period", str(PERIOD))
    try:
        stream = Stream(s)
        is_equal("stream: its head", [stream.status, stream.headers["Content-Type"], stream.headers["Cache-Control"], "Content-Encoding" in stream.headers], [200, "text/event-stream", "private, no-store", False])
        name, first = stream.event()
        is_equal("stream: the first event is what the verb prints", first, json.loads(s.ask("/running.json")[2]))
        name, now = stream.event()
        is_true("stream: without change a line with the time", name == "same" and abs(now - time.time()) < 3, (name, now))
        change(db)
        _, e = stream.change()
        is_equal("stream: a change comes", e and e[1], json.loads(s.ask("/running.json")[2]))
        other = Stream(s, address="/running.events?user=nobody")
        _, own = other.event()
        is_equal("stream: with arguments", {r["user"] for r in own["rows"]}, {"nobody"})
        change(db, "zz_other")
        is_equal("stream: one that others' changes do not change has none", other.event()[0], "same")
        is_true("stream: while the other has it", stream.change()[1] is not None, None)
        stream.close()
        other.close()
        is_equal("stream: other pages have none", [s.ask(a)[0] for a in ("/jobs.events", "/running.events?nonsense=1", "/running.events?nodes=x")], [404, 400, 400])
    finally:
        status, log = s.end()
        is_equal("stream: the server ends as ever", (status, [x for x in log.splitlines() if "--nodes" not in x]), (0, []))


def seen_by_a_user():
    if os.geteuid():
        raise Skipped("needs root")
    index, db, _ = a_site()
    s = Server("--database", index, "--period", str(PERIOD))
    try:
        def read():
            os.setgroups([])
            os.setgid(OTHER)
            os.setuid(OTHER)
            stream = Stream(s)
            first = stream.event()[1]
            time.sleep(1)
            return json.dumps(first), json.dumps([stream.event(), stream.event()])
        first, rest = in_child(read)
        is_true("stream: of own jobs alone", "zz_other" not in first + rest and '"nobody"' in first, first[:300])
    finally:
        s.end()


def etc_of(users, staff=()):
    """A directory in the place of /etc, which tells who there is."""
    etc = tmpdir("etc")
    with open(etc + "/nsswitch.conf", "w") as f:
        f.write("passwd: files\ngroup: files\n")
    write_etc(etc, users, staff)
    return etc


def write_etc(etc, users, staff=()):
    """In place, as a bind mount shows it."""
    for name, text in (("passwd", "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n" + "".join("%s:x:%d:65534::/:/bin/sh\n" % (u, 20000 + i) for i, u in enumerate(users))),
                       ("group", "root:x:0:\nnogroup:x:65534:\njobprof:x:999:%s\n" % ",".join(staff))):
        with open(os.path.join(etc, name + ".new"), "w") as f:
            f.write(text)
        os.rename(os.path.join(etc, name + ".new"), os.path.join(etc, name))
    os.chmod(etc, 0o755)


class Within(Server):
    """In a mount namespace with this /etc."""

    def __init__(self, etc, *args):
        top = tmpdir("web")
        os.chmod(TMP, 0o755)
        os.chmod(top, 0o755)
        self.socket, self.port, self.log = os.path.join(top, "web.sock"), None, open(os.path.join(top, "log"), "w+")
        self.process = subprocess.Popen(["unshare", "-m", "--propagation", "private", "sh", "-c", 'mount --bind "$1" /etc && shift && exec "$@"', "sh", etc, JOBPROF, "serve", "--socket", self.socket, *args],
                                        stderr=self.log, env=plain_env(TZ="UTC", HOME=TMP, LC_ALL="C.UTF-8"))
        wait_until(lambda: is_heard(self.socket) or self.process.poll() is not None, 20, "the socket")


def server_in(etc, index):
    """Behind a proxy, whose user is nobody."""
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        raise Skipped("needs root and a mount namespace of its own")
    return Within(etc, "--database", index, "--proxy-user", "nobody", "--period", str(PERIOD))


def as_proxy(work):
    def inside():
        os.setgroups([])
        os.setgid(OTHER)
        os.setuid(OTHER)
        return work()
    return in_child(inside)


def rights_withdrawn():
    index, db, _ = a_site()
    etc = etc_of(["ann", "bob", "zz_other"], ["ann", "bob"])
    s = server_in(etc, index)
    try:
        def three():
            return [Stream(s, [("X-Remote-User", u)]) for u in ("ann", "bob", "zz_other")]

        def read():
            ann, bob, other = three()
            seen = [len({r["user"] for r in x.event()[1]["rows"]}) for x in (ann, bob, other)]
            write_etc(etc, ["ann", "bob", "zz_other"], ["bob"])
            ends = []
            while (e := ann.event()) is not None:
                ends.append(e[0])
            still = bob.event()[0], other.event()[0]
            again = Stream(s, [("X-Remote-User", "ann")])
            after = again.event()[1]
            write_etc(etc, ["ann", "bob"], ["bob"])  # this user has gone
            while (e := other.event()) is not None:
                pass
            return seen, ends, still, after["jobs"] + after["waiting"], Stream(s, [("X-Remote-User", "zz_other")]).status
        os.chown(etc, OTHER, 0)
        seen, ends, still, after, gone = as_proxy(read)
        is_equal("rights: staff and a user see", seen, [2, 2, 1])
        is_true("rights: a stream of who is no more of staff ends within some periods, without a further word", len(ends) <= 4 and set(ends) <= {"same"}, ends)
        is_equal("rights: those of others go on", still, ("same", "same"))
        is_equal("rights: a new stream is of own jobs, of which there are none", after, 0)
        is_equal("rights: a user who is none any more has no stream", gone, 403)
    finally:
        s.end()


def no_more_than_200():
    index, db, _ = a_site()
    users = ["u%02d" % i for i in range(40)]
    s = server_in(etc_of(users), index)
    try:
        def read():
            streams = [Stream(s, [("X-Remote-User", u)]) for u in users[:33] for _ in range(6)] + [Stream(s, [("X-Remote-User", users[33])]) for _ in range(2)]
            first = [x.status for x in streams]
            refused = Stream(s, [("X-Remote-User", users[34])]).status
            seventh = Stream(s, [("X-Remote-User", users[0])]).status
            streams[50].close()
            time.sleep(6 * PERIOD)
            page = Unix(s.socket)
            page.request("GET", "/running.json", headers={"X-Remote-User": users[0]})
            page = page.getresponse().status
            free = Stream(s, [("X-Remote-User", users[34])]).status
            beats = [x.event() is not None and x.event()[0] for x in (streams[199], streams[1])]
            with open("/proc/%d/statm" % s.process.pid) as f:
                rss = int(f.read().split()[1]) * 4096
            return len(first), set(first), refused, seventh, page, free, beats, rss
        n, first, refused, seventh, page, free, beats, rss = as_proxy(read)
        is_equal("200 streams", (n, first), (200, {200}))
        is_equal("the next one is refused", (refused, seventh), (429, 429))
        is_equal("meanwhile pages are there", page, 200)
        is_equal("where one has gone another may come", free, 200)
        is_equal("and all go on", beats, ["same", "same"])
        is_true("memory of the server", rss < (200 if BUILD.endswith("-san") else 60) << 20, "%d MiB" % (rss >> 20))
    finally:
        s.end()


def a_seventh_ends_the_first():
    index, db, _ = a_site()
    s = Server("--database", index, "--period", str(PERIOD))
    try:
        streams = [Stream(s) for _ in range(7)]
        for x in streams:
            x.event()
        is_equal("a user's seventh stream ends the first one", [x.event() and x.event()[0] for x in streams[:2]], [None, "same"])
    finally:
        s.end()


def who_never_reads():
    """Streams that a user has left unread are none of the 200."""
    made = filled(600)
    index, db = made.__enter__()
    s = Server("--database", index, "--period", "5")
    try:
        left = []
        for _ in range(210):
            c = Unix(s.socket)
            c.connect()
            c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            c.sock.sendall(b"GET /running.events HTTP/1.1\r\nHost: x\r\n\r\n")
            c.sock.recv(1, socket.MSG_PEEK)
            left.append(c)
        is_equal("unread: another one comes", Stream(s).status, 200)
    finally:
        status, log = s.end()
    is_true("unread: the server ends", status == 0 and "did not end well" not in log, log[-300:])


def own_jobs_of_staff():
    """Who sees all has a stream of own jobs, which is none of another one's."""
    index, db, _ = a_site()
    etc = etc_of(["ann", "nobody2", "zz_other"], ["ann", "zz_other"])
    db.execute("UPDATE running SET \"user\" = 'ann' WHERE \"user\" = 'nobody'")
    db.commit()
    s = server_in(etc, index)
    try:
        def read():
            both = [Stream(s, [("X-Remote-User", u)], "/running.events?user=%40me") for u in ("ann", "zz_other")]
            seen = [sorted({r["user"] for r in x.event()[1]["rows"]}) for x in both]
            return seen, [sorted({r["user"] for r in x.change()[1][1]["rows"]}) for x in both]
        def later():
            with sqlite3.connect(index) as again:
                while not done.wait(PERIOD):
                    change(again, "ann")
                    change(again, "zz_other")
        done = threading.Event()
        threading.Thread(target=later).start()
        is_equal("@me: each sees the own jobs, at first and later", as_proxy(read), ([["ann"], ["zz_other"]],) * 2)
    finally:
        done.set()
        s.end()


def who_does_not_read():
    made = filled(600)
    index, db = made.__enter__()
    s = Server("--database", index, "--period", str(PERIOD))
    try:
        slow = Unix(s.socket)
        slow.connect()
        slow.sock.sendall(b"GET /running.events HTTP/1.1\r\nHost: x\r\n\r\n")
        good = Stream(s)
        until, events = time.monotonic() + 60, 0
        while time.monotonic() < until and "too slow" not in open(s.log.name).read():
            change(db, "user03")
            events += good.change()[1] is not None
        is_true("slow reader: it is ended", "reader is too slow" in open(s.log.name).read(), open(s.log.name).read())
        change(db, "user03")
        is_true("slow reader: others have all", good.change()[1] is not None and events >= 1, events)
        slow.sock.settimeout(20)
        n = 0
        while part := slow.sock.recv(1 << 16):
            n += len(part)
        is_true("slow reader: its connection is closed", n < 1 << 22, n)
    finally:
        s.end()


if __name__ == "__main__":
    run_tests((what_changes_comes, seen_by_a_user, rights_withdrawn, no_more_than_200, a_seventh_ends_the_first, own_jobs_of_staff, who_never_reads, who_does_not_read))
