# SPDX-License-Identifier: GPL-2.0-or-later
"""The messages of jobprofd's socket (user/client/protocol.h), and processes that send them from
inside a cgroup, as a user."""

import os
import socket
import struct
import sys

import numpy

MAGIC, VERSION, UNKNOWN, REPLY_FLAG = 0x314A5043, 1, 0xFFFFFFFF, 1
STEP, STEP_END, TASK, TASK_END, TABLE, ROWS, MARK, LIVE, REPLY = range(1, 10)
CONF = 11
TOTALS = 12
RING = 13
BURSTS = 14
SPANK, PROFILE = 1, 2
U64, F64 = 0, 1
GAUGE, DELTA, CUMULATIVE = 0, 1, 2
RING_RECORDS = 16384
RING_MEMORY = numpy.dtype([("head", "u8"), ("unused", "u8"), ("lost", "u8"), ("id", "u8"), ("before", "u8"), ("pad", "u8", 3),
                    ("name", "S64", 256), ("record", [("seq", "u8"), ("time_ns", "u8"), ("region", "u4"), ("thread", "u4"),
                                                      ("pad", "u8")], RING_RECORDS)])  # struct jpc_ring

HEAD = struct.Struct("<IHHIHH")
STEP_NUMBERS = ("source", "asked", "job_id", "step_id", "uid", "gid", "restart", "node_index",
                "nnodes", "node_tasks", "ntasks", "cpus_per_task", "array_job_id",
                "array_task_id", "het_job_id", "het_offset", "time_limit")
STEP_TEXTS = (("step_name", 32), ("families", 256), ("freq", 128), ("node_name", 64),
              ("cluster", 64), ("job_name", 128), ("account", 64), ("partition", 64),
              ("user", 64), ("cpus", 256), ("node_list", 1024), ("job_node_list", 1024))


def text(s, size):
    return (s if isinstance(s, bytes) else s.encode()).ljust(size, b"\0")


def message(kind, body, flags=REPLY_FLAG, seq=1, version=VERSION):
    return HEAD.pack(MAGIC, version, kind, HEAD.size + len(body), flags, seq) + body


def step(**facts):
    """JPC_STEP; what is not given is unknown. asked follows from families or freq."""
    facts.setdefault("asked", int("families" in facts or "freq" in facts))
    facts.setdefault("source", SPANK)
    numbers = [facts.get(n, UNKNOWN) for n in STEP_NUMBERS]
    body = struct.pack("<17I4xQ", *numbers, facts.get("memory_mb", 0))
    return message(STEP, body + b"".join(text(facts.get(n, ""), size) for n, size in STEP_TEXTS))


def step_end(job, step_id, reason=""):
    return message(STEP_END, struct.pack("<II", job, step_id) + text("", 32) + text(reason, 64))


def conf(job, step_id, path):
    return message(CONF, struct.pack("<II", job, step_id) + text("", 32) + text(path, 256))


def task(kind, job, step_id, gtid, pid, status=0):
    return message(kind, struct.pack("<II", job, step_id) + text("", 32) +
                   struct.pack("<IIii", gtid, 0, pid, status))


def table(number, name, columns, group=""):
    """columns: (name, unit, cell, kind) each."""
    body = struct.pack("<II", number, len(columns)) + text(group, 48) + text(name, 64)
    for c, unit, cell, kind in columns:
        body += text(c, 48) + text(unit, 14) + struct.pack("<BB", cell, kind)
    return message(TABLE, body)


def rows(number, cells, time_ns=0, flags=REPLY_FLAG):
    """One row; ints are U64, floats F64."""
    body = struct.pack("<IIq", number, 1, time_ns)
    body += b"".join(struct.pack("<d" if isinstance(c, float) else "<Q", c) for c in cells)
    return message(ROWS, body, flags)


def mark(name, time_ns=0):
    return message(MARK, struct.pack("<q", time_ns) + text(name, 64))


def live(job=UNKNOWN, step_name=""):
    return message(LIVE, struct.pack("<II", job, 0) + text(step_name, 32))


def bursts(job=UNKNOWN, step_name="", after=0):
    return message(BURSTS, struct.pack("<II", job, 0) + text(step_name, 32) + struct.pack("<Q", after))


def totals(task=UNKNOWN, flags=REPLY_FLAG):
    """flags 2: rows; 4: the journal, too."""
    return message(TOTALS, struct.pack("<II", task, 0), flags)


def decode(raw):
    """(type, fields) of what jobprofd answers."""
    _, _, kind, length, _, seq = HEAD.unpack_from(raw)
    assert length == len(raw), "a message of another length than it says"
    body = raw[HEAD.size:]
    if kind == REPLY:
        error, measures, number, _ = struct.unpack_from("<iIII", body)
        return kind, {"error": error, "measures": measures, "number": number, "seq": seq,
                      "text": body[16:].split(b"\0")[0].decode()}
    number, n = struct.unpack_from("<II", body)
    if kind == TABLE:
        columns = [body[120 + 64 * i:][:48].split(b"\0")[0].decode() for i in range(n)]
        cells = [body[120 + 64 * i + 62] for i in range(n)]
        return kind, {"table": number, "group": body[8:56].split(b"\0")[0].decode(),
                      "name": body[56:120].split(b"\0")[0].decode(), "columns": columns,
                      "cells": cells}
    return kind, {"table": number, "nrows": n, "raw": body[8:]}


def connect(path, timeout=5):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(timeout)
    s.connect(path)
    return s


def serve():
    """The process in the cgroup: a line of hex is a packet to send, "?" asks for one packet."""
    s = None
    for line in sys.stdin:
        try:
            word = line.strip()
            if word.startswith("connect "):
                if s:
                    s.close()
                s = connect(word[8:])
                answer = "ok"
            elif word.startswith("chroot "):
                os.chroot(word[7:])
                answer = "ok"
            elif word == "?":
                answer = s.recv(1 << 20).hex()
            else:
                s.send(bytes.fromhex(word))
                answer = "ok"
        except OSError as e:
            answer = "error %s" % e
        print(answer, flush=True)


if __name__ == "__main__":
    serve()
