# SPDX-License-Identifier: GPL-2.0-or-later
"""Events no BPF program sees. Some virtual machines run an agent as pid 1 whose threads no BPF
program sees: none runs while such a thread is current, and no miss is counted, so what an interrupt
completes that comes upon one is lost to every program. The kernel's own trace has these events."""

import errno

from lib import *

TRACEFS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
AGENT = 1
# "<comm>-<pid> [<cpu>] <flags> <time>: <event>: <text>"; names may hold anything
LINE = re.compile(r"-(\d+) +(?:\( *[-\d]+\) +)?\[\d+\] .*?: (\w+): (.*)$")
COMPLETE = re.compile(r"(\d+),(\d+) (\w+) \(.*\) \d+ \+ (\d+) .*\[-?\d+\]$")


def instance_dir():
    """Of this test's own trace; those of killed tests go. None where the kernel has none."""
    base = next((d + "/instances" for d in TRACEFS if os.path.isdir(d + "/instances")), None)
    if not base:
        return None
    for d in glob.glob(base + "/jptest_*"):
        if not os.path.exists("/proc/" + d.rpartition("_")[2]):
            try:
                os.rmdir(d)
            except OSError:
                pass
    return "%s/jptest_%d" % (base, os.getpid())


class Unseen:
    """A trace of some events ("block/block_rq_complete") as far as threads of pid 1 were current.
    known: this kernel has such traces. escaped: a thread came or went, which may have been current
    while it was not asked for."""

    def __init__(self, *events):
        self.names, self.fd, self.threads, self.escaped = events, None, set(), False
        self.dir = instance_dir()
        self.known = bool(self.dir)
        if not self.known:
            return
        atexit.register(self.remove)
        try:
            os.mkdir(self.dir)
            self._write("buffer_size_kb", 512)
            self.refresh()
            for e in self.names:
                self._write("events/%s/enable" % e, 1)
            self.fd = os.open(self.dir + "/trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            self.known = False
            self.remove()
        self.escaped = False

    def _write(self, name, value):
        with open(os.path.join(self.dir, name), "w") as f:
            f.write("%s\n" % value)

    def refresh(self):
        """Asks for the threads there are now."""
        now = {int(t) for t in os.listdir("/proc/%d/task" % AGENT)}
        if now == self.threads:
            return
        for e in self.names:
            self._write("events/%s/filter" % e,
                        " || ".join("common_pid == %d" % t for t in sorted(now)))
        self.threads = now
        self.escaped = True

    def _text(self):
        parts = []
        while True:
            try:
                part = os.read(self.fd, 65536)
            except BlockingIOError:
                break
            if not part:
                break
            parts.append(part)
        return b"".join(parts).decode(errors="replace")

    def lines(self):
        """Event and text of what happened since the last call."""
        if not self.known:
            return []
        text = self._text()
        self.refresh()
        if "LOST" in text and re.search(r"^CPU:\d+ \[LOST ", text, re.M):
            raise Failed("the trace of what no program sees has overflowed")
        return [m.group(2, 3) for m in map(LINE.search, text.splitlines()) if m]

    def remove(self):
        """At exit, too."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None
        for _ in range(20):
            try:
                if os.path.isdir(self.dir):
                    self._write("tracing_on", 0)
                    os.rmdir(self.dir)
                return
            except OSError:
                time.sleep(0.05)


def _setting(disk, name):
    try:
        with open("/sys/block/%s/queue/%s" % (disk, name)) as f:
            return f.read().strip()
    except OSError:
        return ""


class UnseenBlock(Unseen):
    """Completions on one disk, as its stat has them. Bytes are those of each part. An operation
    ends with its last part; disks that complete requests in parts would count too many here, which
    is noticed: sums are to be equal. A write with a flush is over when the flush that follows is,
    with an event of no bytes; the kernel makes one where the disk cannot do it itself."""

    def __init__(self, disk):
        super().__init__("block/block_rq_complete")
        with open("/sys/block/%s/dev" % disk) as f:
            self.dev = f.read().strip()
        self.back = _setting(disk, "write_cache") == "write back"
        self.fua = _setting(disk, "fua") == "1"
        self.sums = dict.fromkeys(("reads", "read_bytes", "writes", "write_bytes"), 0)

    def flushes(self, before, after):
        """Whether a write so marked ("F" before or after the "W") is followed by such an event."""
        return self.back and bool(before or (after and not self.fua))

    def update(self):
        """The sums since the beginning."""
        for event, text in self.lines():
            m = COMPLETE.match(text)
            kind = m and re.match(r"(F?)([RW])(F?)", m.group(3))
            if not kind or "%s:%s" % m.group(1, 2) != self.dev:
                continue
            what = "read" if kind.group(2) == "R" else "write"
            size = int(m.group(4)) * 512
            self.sums[what + "_bytes"] += size
            if not size or not self.flushes(kind.group(1), kind.group(3)):
                self.sums[what + "s"] += 1
        return dict(self.sums)


class UnseenRetrans(Unseen):
    """TCP segments sent again. A buffer of several segments is one event, and which network
    namespace it is in is not said: ports tell them apart."""

    SEGMENTS = 45  # of a buffer that goes again at once, at 1448 bytes each
    # RetransSegs does not have those that failed so; see bpf/net.bpf.c
    GIVEN_UP = {-e for e in (errno.EAGAIN, errno.ENOMEM, errno.EBUSY, errno.EINVAL,
                             errno.EHOSTUNREACH)}

    def __init__(self):
        super().__init__("tcp/tcp_retransmit_skb", "tcp/tcp_retransmit_synack")
        self.ports = []

    def start(self):
        """Forgets what was; from here on it is known whether all of it is seen."""
        self.lines()
        self.ports = []
        self.escaped = not self.known

    def events(self, source=None, dest=None):
        """How many there were since start() with a port."""
        for _, text in self.lines():
            said = dict(w.split("=", 1) for w in text.split() if "=" in w)
            if int(said.get("err", 0)) not in self.GIVEN_UP:
                self.ports.append((int(said["sport"]), int(said["dport"])))
        return sum(s == source or d == dest for s, d in self.ports)
