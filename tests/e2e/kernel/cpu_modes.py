#!/usr/bin/python3
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""User and system time of programs against their own getrusage(), also where ticks miss it."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *

INTERVAL = 0.2
SETTLE = 2.5 * INTERVAL
# Each says at its end what the kernel has scaled its ticks to.
SENDER = """
import resource, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("127.0.0.1", 9))
while time.process_time() < 1:
    for _ in range(1000):
        try:
            s.send(b"x" * 64)
        except OSError:
            pass
r = resource.getrusage(resource.RUSAGE_SELF)
open(%r, "w").write("user=%%f\\nsystem=%%f\\n" %% (r.ru_utime, r.ru_stime))
"""
# A timeout of recv() ends in the tick: it meets what comes after only where that is late. The parent
# spins, and each of its ticks is there.
MISSED = """
import os, resource, socket, sys, time
tick = time.clock_getres(6)  # CLOCK_MONOTONIC_COARSE
zero, data = os.open("/dev/zero", os.O_RDONLY), [bytearray(1 << 16)]

def read(ticks):
    end = time.monotonic() + ticks * tick
    while time.monotonic() < end:
        os.readv(zero, data)

def spin(seconds):
    while time.process_time() < seconds:
        for _ in range(10000):
            pass

if not os.fork():
    s, other = socket.socketpair()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, bytes(8) + (1).to_bytes(8, sys.byteorder))
    read(5)
    while time.process_time() < .3:
        try:
            s.recv(1)
        except OSError:
            pass
        read(.3)
    os._exit(0)
os.wait()
spin(.5)
r = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
open(%r, "w").write("user=%%f\\nsystem=%%f\\n" %% (sum(x.ru_utime for x in r),
                                                sum(x.ru_stime for x in r)))
"""
SQL = ("with recursive n(i) as (select 1 union all select i + 1 from n where i < 1500000) "
       "select count(distinct i * 7919 % 100003) from n;\n")


def script(d, text):
    out = os.path.join(d, "account")
    run, path = run_jobprof(["/usr/bin/python3", "-SEc", text % out], INTERVAL)
    a = read_account(out)
    return path, a["user"], a["system"]


def sender(d):
    return script(d, SENDER)


def missed_by_ticks(d):
    return script(d, MISSED)


def sqlite(d):
    if not shutil.which("sqlite3"):
        raise Skipped("there is no sqlite3")
    with open(os.path.join(d, "sql"), "w") as f:
        f.write(SQL)
    run, path = run_jobprof(["sqlite3", ":memory:", ".timer on", ".read " + f.name], INTERVAL)
    words = [l for l in run.out().splitlines() if l.startswith("Run Time:")][0].split()
    return path, float(words[words.index("user") + 1]), float(words[words.index("sys") + 1])


def seconds(minutes):
    m, s = minutes.rstrip("s").split("m")
    return 60 * float(m) + float(s)


def fio(d):
    """A shell says what it has reaped: fio and its job, a process of its own."""
    run, path = run_jobprof(
        ["sh", "-c", "fio --name=x --filename=%s/data --size=8M --rw=randread --bs=4k "
         "--ioengine=io_uring --time_based --runtime=1 --output=%s/fio || exit 9; times" % (d, d)],
        INTERVAL)
    if run.proc.returncode:
        raise Skipped("fio cannot use io_uring here")
    own, reaped = [l.split() for l in run.lines_of_command()[:2]]
    return path, seconds(own[0]) + seconds(reaped[0]), seconds(own[1]) + seconds(reaped[1])


def compare_modes(name, rows):
    off = abs(rows["UserTime"] + rows["SystemTime"] - rows["CPUTime"]).max()
    is_true(name + ": UserTime + SystemTime is CPUTime, in every row", off < 2.0**-19,
            "off by up to %g s" % off)


def user_and_system():
    """The tick samples the mode; what it says is scaled to the run time as the kernel does."""
    h = Hold()
    run = Run(h.cmd("park", "spin=1", "park"), INTERVAL)
    h.wait()
    p = Phase(h, SETTLE)
    h.go()
    path = run.end()
    rows = task_table(path)
    compare_modes("a spinner", rows)
    compare_modes("a spinner's step", table(path, "Step"))
    is_near("a spinner: UserTime", p.ours(rows, "UserTime"), p.kernel("run_ns") / 1e9, 0.05, 0.01)
    dt = numpy.diff(rows["TimeNS"].astype("f8")) / 1e9
    off = abs(rows["CPUUtilization"][1:] - 100 * rows["CPUTime"][1:] / dt).max()
    is_true("CPUUtilization is CPU time over the row's real length", off < 0.5, "off by %g %%" % off)


@in_full
def modes_of_programs():
    for program in (sender, missed_by_ticks, sqlite, fio):
        name = program.__name__
        try:
            path, user, system = program(tmpdir())
        except Skipped as e:
            skip(name + ": user and system time", e)
            continue
        rows = task_table(path)
        compare_modes(name, rows)
        for column, wanted in (("UserTime", user), ("SystemTime", system)):
            is_near("%s: %s is what getrusage says" % (name, column), total(rows, column), wanted,
                    0.05, 0.04)


def kernel_threads():
    """A polling thread that io_uring makes for the process is of the process, and costs a CPU."""
    d = tmpdir("uring")
    stat = os.path.join(d, "cpu.stat")
    fio = ("fio --name=x --filename=%s/data --size=4M --rw=randread --bs=4k --ioengine=io_uring "
           "--sqthread_poll=1 --time_based --runtime=1 --output=%s/fio" % (d, d))
    script = "%s || exit 9; cat %s$(grep ^0:: /proc/self/cgroup | cut -c4-)/cpu.stat >%s" % (
        fio, cgroup2_mount(), stat)
    run, path = run_jobprof(["sh", "-c", script], 0.2)
    if run.proc.returncode == 9:
        skip("io_uring's threads", "fio cannot use io_uring with a polling thread here")
        return
    is_near("io_uring's threads: CPU time is cpu.stat's",
            total(task_table(path), "CPUTime"), cpu_stat_ns(d) / 1e9, 0.005, 0.01)


if __name__ == "__main__":
    need_bpf()
    run_tests([user_and_system, modes_of_programs, kernel_threads])
