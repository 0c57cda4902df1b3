# SPDX-License-Identifier: GPL-2.0-or-later
"""A program in a terminal of our own, and what a person sees there: a model of the screen that knows the
sequences of terminfo's xterm (ECMA-48, written down here)."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

CSI = re.compile(r"\x1b\[([?>=]?)([0-9;]*)([@-~])")
OTHER = re.compile(r"\x1b[()][0-9A-B]|\x1b[=>78Mc]|\x1b\][^\x07]*\x07")


class Model:
    """The cells of the screen: characters, and the attributes that they were written with."""

    def __init__(self, lines, columns):
        self.size(lines, columns)

    def size(self, lines, columns):
        self.lines, self.columns = lines, columns
        self.cells = [[" "] * columns for _ in range(lines)]
        self.styles = [[""] * columns for _ in range(lines)]
        self.y = self.x = 0
        self.style = set()
        self.top, self.bottom = 0, lines - 1
        self.last = " "
        self.seen = set()  # all attributes that were ever asked for
        self.unknown = []

    def text(self):
        return ["".join(c).rstrip() for c in self.cells]

    def feed(self, data):
        """Returns what is left: a sequence that does not end yet."""
        while data:
            if data[0] == "\x1b":
                m = CSI.match(data) or OTHER.match(data)
                if not m and len(data) < 40:
                    return data
                if not m:
                    self.unknown.append(data[:10])
                    data = data[1:]
                    continue
                if m.re is CSI:
                    self._csi(m.group(1), m.group(2), m.group(3))
                elif m.group(0) == "\x1bM":
                    self._scroll(-1) if self.y == self.top else self._to(self.y - 1, self.x)
                data = data[m.end():]
            else:
                self._char(data[0])
                data = data[1:]
        return ""

    def _to(self, y, x):
        self.y, self.x = max(0, min(self.lines - 1, y)), max(0, min(self.columns - 1, x))

    def _char(self, c):
        if c == "\r":
            self.x = 0
        elif c == "\n":
            self._scroll(1) if self.y == self.bottom else self._to(self.y + 1, self.x)
        elif c == "\b":
            self._to(self.y, self.x - 1)
        elif c >= " ":
            if self.x == self.columns:
                self.x = 0
                self._scroll(1) if self.y == self.bottom else self._to(self.y + 1, 0)
            self.cells[self.y][self.x] = self.last = c
            self.styles[self.y][self.x] = " ".join(sorted(self.style))
            self.x += 1

    def _scroll(self, n, top=None):
        top = self.top if top is None else top
        for _ in range(abs(n)):
            for rows, blank in ((self.cells, " "), (self.styles, "")):
                row = [blank] * self.columns
                if n > 0:
                    del rows[top]
                    rows.insert(self.bottom, row)
                else:
                    del rows[self.bottom]
                    rows.insert(top, row)

    def _clear(self, y, start, end):
        for x in range(start, min(end, self.columns)):
            self.cells[y][x], self.styles[y][x] = " ", ""

    def _csi(self, private, text, end):
        n = [int(v) if v else 0 for v in text.split(";")] if text else [0]
        one = max(n[0], 1)
        if private or end in "hlnt":
            return
        moves = {"A": (-one, 0), "B": (one, 0), "C": (0, one), "D": (0, -one)}
        if end in moves:
            self._to(self.y + moves[end][0], self.x + moves[end][1])
        elif end in "Hf":
            self._to(one - 1, (n[1] if len(n) > 1 and n[1] else 1) - 1)
        elif end == "G":
            self._to(self.y, one - 1)
        elif end == "d":
            self._to(one - 1, self.x)
        elif end == "J":
            for y in range(self.y + 1 if n[0] == 0 else 0, self.lines if n[0] != 1 else self.y):
                self._clear(y, 0, self.columns)
            self._clear(self.y, self.x if n[0] == 0 else 0, self.x + 1 if n[0] == 1 else self.columns)
        elif end == "K":
            self._clear(self.y, self.x if n[0] == 0 else 0, self.x + 1 if n[0] == 1 else self.columns)
        elif end == "X":
            self._clear(self.y, self.x, self.x + one)
        elif end in "P@":
            for row, blank in ((self.cells[self.y], " "), (self.styles[self.y], "")):
                for _ in range(one):
                    if end == "P":
                        del row[self.x]
                        row.append(blank)
                    else:
                        row.insert(self.x, blank)
                        row.pop()
        elif end in "LM":
            self._scroll(one if end == "M" else -one, self.y)
        elif end in "ST":
            self._scroll(one if end == "S" else -one)
        elif end == "r":
            self.top, self.bottom = one - 1, (n[1] if len(n) > 1 and n[1] else self.lines) - 1
            self._to(0, 0)
        elif end == "b":
            for _ in range(one):
                self._char(self.last)
        elif end == "m":
            self._attributes(n)
        else:
            self.unknown.append(text + end)

    def _attributes(self, numbers):
        names = {1: "bold", 2: "dim", 4: "underline", 7: "reverse"}
        off = {22: {"bold", "dim"}, 24: {"underline"}, 27: {"reverse"}}
        for v in numbers:
            if v == 0:
                self.style = set()
            elif v in names:
                self.style.add(names[v])
            elif v in off:
                self.style -= off[v]
            elif 30 <= v <= 37 or 90 <= v <= 97:
                self.style.add("colour %d" % v)
            elif v == 39:
                self.style = {s for s in self.style if not s.startswith("colour")}
        self.seen |= self.style


class Terminal:
    """A program with a terminal of that size."""

    def __init__(self, cmd, env, lines=24, columns=80):
        self.model = Model(lines, columns)
        self.rest, self.raw, self.status = "", b"", None
        self.pid, self.fd = pty.fork()
        if not self.pid:
            try:
                os.execvpe(cmd[0], cmd, dict(env, TERM="xterm"))
            finally:
                os._exit(127)
        self.resize(lines, columns, False)

    def resize(self, lines, columns, told=True):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        if told:
            self.model.size(lines, columns)
            os.kill(self.pid, signal.SIGWINCH)

    def read(self, seconds=0.05):
        """Takes what comes until nothing does for so long."""
        while self.status is None and select.select([self.fd], [], [], seconds)[0]:
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                data = b""
            if not data:
                self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
                return
            self.raw += data
            text = self.rest + data.decode("utf-8", "replace")
            self.rest = self.model.feed(text)

    def see(self, cond, seconds=10):
        """Waits until cond(lines) holds; returns the lines, or None."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.status is None:
            self.read()
            if cond(self.model.text()):
                return self.model.text()
        return None

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def end(self, seconds=10):
        """Waits for its end; returns its exit status."""
        end = time.monotonic() + seconds
        while self.status is None and time.monotonic() < end:
            self.read(0.1)
        return self.status

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)
