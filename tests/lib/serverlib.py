# SPDX-License-Identifier: GPL-2.0-or-later
"""jobprofd's side of its socket, for tests of what talks to it (user/client/protocol.h, written
down here a second time on purpose)."""

import os
import socket
import struct
import threading
import time

from lib import wait_until

MAGIC, VERSION = 0x314A5043, 1
STEP, STEP_END, TASK, TASK_END, TABLE, ROWS, MARK, LIVE, REPLY = range(1, 10)
CONF = 11
NAMES = {STEP: "STEP", STEP_END: "STEP_END", TASK: "TASK", TASK_END: "TASK_END", TABLE: "TABLE",
         ROWS: "ROWS", MARK: "MARK", LIVE: "LIVE", REPLY: "REPLY",
         CONF: "CONF"}
F_REPLY = 1
UNKNOWN = 0xffffffff

HEAD = struct.Struct("=IHHIHH")
_STEP_NUMBERS = ["source", "asked", "job_id", "step_id", "uid", "gid", "restart", "node_index",
                 "nnodes", "node_tasks", "ntasks", "cpus_per_task", "array_job_id",
                 "array_task_id", "het_job_id", "het_offset", "time_limit", "pad", "memory_mb"]
_STEP_TEXTS = [("step_name", 32), ("families", 256), ("freq", 128), ("node_name", 64),
               ("cluster", 64), ("job_name", 128), ("account", 64), ("partition", 64),
               ("user", 64), ("cpus", 256), ("node_list", 1024), ("job_node_list", 1024)]
_BODIES = {
    STEP: ("=18IQ" + "".join("%ds" % n for _, n in _STEP_TEXTS),
           _STEP_NUMBERS + [n for n, _ in _STEP_TEXTS]),
    STEP_END: ("=II32s64s", ["job_id", "step_id", "step_name", "reason"]),
    TASK: ("=II32sIIii", ["job_id", "step_id", "step_name", "gtid", "local_id", "pid", "status"]),
    CONF: ("=II32s256s", ["job_id", "step_id", "step_name", "path"]),
    MARK: ("=q64s", ["time_ns", "name"]),
    LIVE: ("=II32s", ["job_id", "pad", "step_name"]),
    REPLY: ("=iIII224s", ["error", "measures", "number", "pad", "text"]),
}
_BODIES[TASK_END] = _BODIES[TASK]
COLUMN = struct.Struct("=48s14sBB")


def _text(b):
    text, nul, rest = b.partition(b"\0")
    if not nul or rest.strip(b"\0"):
        raise ValueError("a text that does not end, or goes on behind its end: %r" % b)
    return text.decode()


def head(type_, length, seq=0, flags=0):
    return HEAD.pack(MAGIC, VERSION, type_, length, flags, seq)


def decode(packet):
    """A message as a dict; raises ValueError where it is not as the protocol says."""
    magic, version, type_, length, flags, seq = HEAD.unpack_from(packet)
    if (magic, version, length) != (MAGIC, VERSION, len(packet)):
        raise ValueError("bad head of a packet of %d bytes" % len(packet))
    m = {"type": NAMES[type_], "flags": flags, "seq": seq}
    body = packet[HEAD.size:]
    if type_ in _BODIES:
        form, names = _BODIES[type_]
        for name, v in zip(names, struct.unpack(form, body)):
            m[name] = _text(v) if isinstance(v, bytes) else v
    elif type_ == TABLE:
        m["table"], ncols, group, name = struct.unpack_from("=II48s64s", body)
        m["group"], m["name"] = _text(group), _text(name)
        m["cols"] = [(_text(n), _text(u), cell, kind) for n, u, cell, kind in
                     COLUMN.iter_unpack(body[120:])]
        if len(m["cols"]) != ncols:
            raise ValueError("%d columns, not %d" % (len(m["cols"]), ncols))
    elif type_ == ROWS:
        m["table"], m["nrows"] = struct.unpack_from("=II", body)
        m["cells"] = body[8:]
    return m


def reply(seq, error=0, number=0, text="", measures=0):
    return head(REPLY, 256, seq) + struct.pack("=iIII224s", error, measures, number, 0,
                                               text.encode())


def table(number, group, name, cols):
    """cols: (name, unit, cell, kind)"""
    body = struct.pack("=II48s64s", number, len(cols), group.encode(), name.encode())
    body += b"".join(COLUMN.pack(n.encode(), u.encode(), c, k) for n, u, c, k in cols)
    return head(TABLE, HEAD.size + len(body)) + body


def rows(number, cols, values):
    """values: rows of numbers, in the columns' types"""
    form = "=" + "".join("d" if c[2] else "Q" for c in cols)
    body = struct.pack("=II", number, len(values)) + b"".join(struct.pack(form, *v)
                                                              for v in values)
    return head(ROWS, HEAD.size + len(body)) + body


def _wants_reply(m):
    return m["type"] in ("STEP", "STEP_END", "TABLE", "LIVE") or m["flags"] & F_REPLY


class Server:
    """Listens at path from start() on. answer(server, conn, m) says what is sent back, a list of
    packets; by default success where the protocol wants an answer. mute: nothing is ever said.
    log: what came, each with at (monotonic seconds), pid and uid of its sender, conn (a number);
    {"type": "CLOSE"} when one has hung up."""

    def __init__(self, path, answer=None, mute=False):
        self.path = path
        self.answer = answer
        self.mute = mute
        self.log = []
        self.errors = []
        self._conns = []
        self._listener = None
        self._lock = threading.Lock()

    def start(self):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        s.bind(self.path)
        os.chmod(self.path, 0o666)
        s.listen(16)
        self._listener = s
        threading.Thread(target=self._accept, args=(s,), daemon=True).start()
        return self

    def stop(self):
        """As if jobprofd was killed: every connection ends, the socket file stays."""
        with self._lock:
            s, self._listener = self._listener, None
            conns, self._conns = self._conns, []
        for c in conns + ([s] if s else []):
            try:
                c.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            c.close()
        if os.path.exists(self.path):
            os.unlink(self.path)

    def _accept(self, listener):
        n = 0
        while True:
            try:
                c, _ = listener.accept()
            except OSError:
                return
            with self._lock:
                if self._listener is not listener:
                    c.close()
                    return
                self._conns.append(c)
            n += 1
            threading.Thread(target=self._serve, args=(c, n), daemon=True).start()

    def _note(self, m):
        with self._lock:
            self.log.append(m)

    def _serve(self, c, number):
        while True:
            try:
                packet, control, _, _ = c.recvmsg(65536, 256)
            except OSError:
                packet = b""
            if not packet:
                self._note({"type": "CLOSE", "conn": number, "at": time.monotonic()})
                return
            creds = [struct.unpack("=iII", d) for level, kind, d in control
                     if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS)]
            try:
                m = decode(packet)
                m.update(conn=number, at=time.monotonic(), pid_of_sender=creds[0][0],
                         uid_of_sender=creds[0][1])
            except (ValueError, KeyError, struct.error, IndexError) as e:
                self.errors.append("%s: %r" % (e, packet[:80]))
                continue
            self._note(m)
            try:
                self._reply(c, m)
            except OSError:
                pass

    def _reply(self, c, m):
        if self.mute:
            return
        if self.answer:
            for packet in self.answer(self, c, m):
                c.send(packet)
        elif _wants_reply(m):
            c.send(reply(m["seq"], number=1))

    def of(self, *types):
        with self._lock:
            return [m for m in self.log if m["type"] in types]

    def clear(self):
        with self._lock:
            self.log.clear()


class Heard:
    """What was said of one step: its STEPs, its tables by name with their rows."""

    def __init__(self, server, job, name="0"):
        conns = {m["conn"] for m in server.of("STEP")
                 if m["job_id"] == job and m["step_name"] == name}
        self.messages = [m for m in list(server.log) if m["conn"] in conns]
        self.steps = [m for m in self.messages if m["type"] == "STEP"]
        self.order = [m["type"] for m in self.messages]
        self.tables, numbers = {}, {}
        for m in self.messages:
            if m["type"] == "TABLE":
                label = "/".join(x for x in (m["group"], m["name"]) if x)
                numbers[m["conn"], m["table"]] = label
                self.tables.setdefault(label, (m["cols"], []))
            elif m["type"] == "ROWS":
                cols, rows = self.tables[numbers[m["conn"], m["table"]]]
                form = "=q" + "".join("d" if c[2] else "Q" for c in cols)
                rows += struct.iter_unpack(form, m["cells"])

    def column(self, table, name):
        cols, rows = self.tables[table]
        at = [c[0] for c in cols].index(name) + 1
        return [r[at] for r in rows]


def closed(server, s, name="0"):
    """What was heard of a job's step once it has hung up."""
    wait_until(lambda: "CLOSE" in Heard(server, s.id, name).order, 10, "the step's end")
    return Heard(server, s.id, name)
