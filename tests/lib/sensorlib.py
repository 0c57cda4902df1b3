# SPDX-License-Identifier: GPL-2.0-or-later
"""What jobprof sensors says of machines made of files."""

import select

from lib import *
from machinelib import machine, put, put_register


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

    def fresh(self):
        """The first round that was measured after now; what was written before is left."""
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        for _ in range(10000):
            line = self.next()
            if any((c["boot_ns"] or 0) > now for c in line.values()):
                return line
        raise Failed("nothing is measured any more")

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
