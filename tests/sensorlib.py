# SPDX-License-Identifier: GPL-2.0-only
"""Machines made of files, and what jobprof sensors says of them."""

import select

from lib import *


def put(root, path, text):
    """In one write, and never empty: the reader has the file open."""
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    fd = os.open(full, os.O_WRONLY | os.O_CREAT, 0o644)
    os.ftruncate(fd, os.write(fd, b"%s\n" % str(text).encode()))
    os.close(fd)


def put_register(root, path, reg, value):
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    fd = os.open(full, os.O_WRONLY | os.O_CREAT, 0o600)
    os.pwrite(fd, value.to_bytes(8, "little"), reg * 8)
    os.close(fd)


def machine(name):
    """The tree of tests/data/sensors/NAME.tree; its README says how they are written."""
    root = tmpdir(name)
    os.chmod(root, 0o755)
    os.chmod(TMP, 0o755)
    with open(os.path.join(ROOT, "tests/data/sensors", name + ".tree")) as f:
        lines = [l.rstrip("\n") for l in f if l.strip() and l[0] != "#"]
    for line in lines:
        path, text = line.split(" ", 1)
        if "@" in path:
            path, reg = path.split("@")
            put_register(root, path, int(reg, 16), int(text, 16))
        else:
            put(root, path, text.replace("\\n", "\n"))
    return root


def sensors(*args, status=0, **kw):
    p = subprocess.run([JOBPROF, "sensors"] + list(args), capture_output=True, text=True,
                       timeout=60, **kw)
    if p.returncode != status:
        raise Failed("sensors %s: status %d: %s%s"
                     % (" ".join(args), p.returncode, p.stdout, p.stderr))
    return p.stdout if not status else p.stderr


class Watch:
    """`jobprof sensors --watch` on a tree: its objects, one after the other."""

    def __init__(self, root, source="rapl", inside=lambda *cmd: list(cmd)):
        """inside: makes a command run somewhere."""
        self.source = source
        self.proc = start(inside(JOBPROF, "sensors", "--json", "--watch", "0.1", "--root", root),
                          stdout=subprocess.PIPE, bufsize=0)
        self.buffer = b""

    def _line(self):
        while b"\n" not in self.buffer:
            if not select.select([self.proc.stdout], [], [], 30)[0]:
                raise Failed("no line in 30 s")
            got = os.read(self.proc.stdout.fileno(), 65536)
            if not got:
                raise Failed("it ended with %s" % self.proc.wait())
            self.buffer += got
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def next(self):
        """Channels by name."""
        for s in self._line()["sources"]:
            if s["name"] == self.source:
                return {c["name"]: c for c in s["channels"]}
        raise Failed("no source %s" % self.source)

    def until(self, name, cond):
        """The first round in which the channel is so, and the one before."""
        before = None
        for _ in range(100):
            now = self.next()
            if cond(now[name]):
                return now, before
            before = now
        raise Failed("%s is never so: %s" % (name, now[name]))

    def end(self):
        self.proc.send_signal(signal.SIGTERM)
        # What it has written so far must not keep it from ending.
        while self.proc.stdout.read(65536):
            pass
        is_equal("watching_ends_with_0", self.proc.wait(10), 0)
