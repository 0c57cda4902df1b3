#!/usr/bin/python3
# timeout: 170
# SPDX-License-Identifier: GPL-2.0-only
"""What jobprof counts against the kernel's own accounts, on the real kernel, through `jobprof run`.

A tool parks before and after each piece of work. While it is parked /proc says exactly what it has
used; the rows written while it was parked must say the same, so that the difference between two
parks is compared without knowing what came before (fork, exec) or after (exit)."""

import os
import shutil
import sys
import time

sys.path.insert(0, os.path.realpath(__file__ + "/../../../lib"))
from lib import *

INTERVAL = 0.2
SETTLE = 2.5 * INTERVAL
HUGE_PAGE = next((int(l.split()[1]) * 1024 for l in open("/proc/meminfo")
                  if l.startswith("Hugepagesize:")), 2 * MB)


def noise(n, seconds):
    """Spinners outside any step, so that there is something to wait for."""
    return [start([tool("jpspin"), str(seconds)], stdout=subprocess.DEVNULL) for _ in range(n)]


def compare_sched(name, p, rows):
    is_near(name + ": CPU time is schedstat's", p.ours(rows, "CPUTime"),
            p.kernel("run_ns") / 1e9, 0.001, 0.001)
    is_near(name + ": run delay is schedstat's", p.ours(rows, "RunDelay"),
            p.kernel("delay_ns") / 1e9, 0.001, 0.001)
    is_equal(name + ": voluntary switches", p.ours(rows, "VolSwitches"), p.kernel("nvcsw"))
    is_equal(name + ": involuntary switches", p.ours(rows, "InvolSwitches"), p.kernel("nivcsw"))
    if "migrations" in p.before and "migrations" in p.after:
        is_equal(name + ": migrations", p.ours(rows, "Migrations"), p.kernel("migrations"))
    else:
        skip(name + ": migrations", "the kernel has no /proc/<pid>/sched")


def compare_io(name, p, rows):
    for column, key, scale in (("ReadMB", "io_rchar", MB), ("WriteMB", "io_wchar", MB),
                               ("ReadCalls", "io_syscr", 1), ("WriteCalls", "io_syscw", 1),
                               ("DiskReadMB", "io_read_bytes", MB),
                               ("DiskWriteMB", "io_write_bytes", MB)):
        is_equal("%s: %s is %s" % (name, column, key), p.ours(rows, column) * scale, p.kernel(key))


def compare_faults(name, p, rows):
    is_equal(name + ": minor faults", p.ours(rows, "MinorFaults"), p.kernel("minflt"))
    is_equal(name + ": major faults", p.ours(rows, "MajorFaults"), p.kernel("majflt"))


def sched():
    """Two profiled processes and two strangers on the machine's CPUs."""
    n = max(2, os.cpu_count())
    holds = [Hold(), Hold()]
    runs = [Run(h.cmd("park", "spin=1", "park", "naps=300", "park", "threads=3", "park"), INTERVAL)
            for h in holds]
    for h in holds:
        h.wait()
    phases = []
    time.sleep(SETTLE)
    others = noise(n, 1.5)
    befores = [(kernel_account(h.pid), time.time_ns()) for h in holds]
    for h in holds:
        h.go()
    for h, (before, t) in zip(holds, befores):
        h.wait()
    time.sleep(SETTLE)
    for h, (before, t) in zip(holds, befores):
        p = Phase.__new__(Phase)
        p.before, p.start_ns = before, t
        p.after, p.end_ns = kernel_account(h.pid), time.time_ns()
        phases.append([p, Phase(h, SETTLE), Phase(h, SETTLE)])
    for h in holds:
        h.go()
    for o in others:
        o.wait()
    for i, (run, three) in enumerate(zip(runs, phases)):
        rows = task_table(run.end())
        for what, p in zip(("two spinners among strangers", "naps", "threads"), three):
            compare_sched("%s, process %d" % (what, i), p, rows)
        is_true("two spinners among strangers, process %d: it had to wait" % i,
                three[0].kernel("delay_ns") > 20e6 and three[0].kernel("nivcsw") > 5,
                "the oracle saw %d ns of delay" % three[0].kernel("delay_ns"))
        is_equal("threads, process %d: Threads" % i, three[2].now(rows, "Threads"), 4)
        is_near("whole life, process %d: CPU time" % i, total(rows, "CPUTime"),
                three[2].after["run_ns"] / 1e9, 0.001, 0.003)


def files():
    path = os.path.join(tmpdir(), "file")
    direct = os.path.join(tmpdir(), "direct")
    h = Hold()
    run = Run(h.cmd("park", "write=%s:7.5" % path, "park", "read=%s:7.5" % path, "park",
                    "drop=" + path, "read=%s:5" % path, "park", "append=%s:0.3" % path, "park",
                    "dwrite=%s:2" % direct, "park"), INTERVAL)
    h.wait()
    names = ("write", "read from the page cache", "read from disk", "append", "O_DIRECT and fsync")
    phases = [(name, Phase(h, SETTLE)) for name in names]
    h.go()
    rows = task_table(run.end())
    for name, p in phases:
        compare_io(name, p, rows)
    p = phases[2][1]
    is_true("read from disk: the disk was read", p.kernel("io_read_bytes") > 4 * MB,
            "the oracle saw %d bytes" % p.kernel("io_read_bytes"))


# What fio reads with, and how the documentation of ReadCalls names what it does not see.
ENGINES = (("psync", None), ("pvsync2", None), ("posixaio", None), ("libaio", "libaio"),
           ("io_uring", "io_uring"), ("splice", "splice"), ("mmap", "mmap"))


def ways_to_read():
    """Through fio: its requests are in ReadCalls and ReadMB, or the way is in the list."""
    if not shutil.which("fio"):
        raise Skipped("fio is not installed")
    path = os.path.join(tmpdir(), "file")
    with open(path, "wb") as f:
        f.write(bytes(8 << 20))
    fio = ["fio", "--name=j", "--thread", "--rw=read", "--bs=4k", "--size=8m", "--filename=" + path,
           "--output=/dev/null", "--ioengine="]
    said = subprocess.run([JOBPROF, "list"], capture_output=True, text=True).stdout
    said = said.split("\n  ReadCalls ")[1].split("\n  WriteCalls ")[0]
    for engine, name in ENGINES:
        run = Run(fio[:-1] + [fio[-1] + engine], INTERVAL)
        try:
            rows = task_table(run.end())
        except Failed as e:
            skip("fio with " + engine, "fio could not: %s" % e)
            continue
        calls, mb = total(rows, "ReadCalls"), total(rows, "ReadMB")
        is_true("2048 reads of 8 MB with %s are %s" % (engine, "not seen" if name else "counted"),
                (calls < 1024 and mb < 4) if name else (calls >= 2048 and mb >= 8),
                "%d calls, %g MB" % (calls, mb))
        if name:
            is_true("%s: the list of columns says so" % engine, name in said, said)


def with_disk_wait():
    """The phase and its rows."""
    h = Hold()
    run = Run(h.cmd("park", "dwrite=%s:120" % os.path.join(tmpdir(), "direct"), "park"), INTERVAL)
    h.wait()
    p = Phase(h, SETTLE)
    h.go()
    return p, task_table(run.end())


def disk_wait():
    """Against delay accounting, which also ends a wait at the wakeup; it counts in 10 ms. A wait whose
    begin it has missed counts from the start of the machine: then it is asked again."""
    switch = "/proc/sys/kernel/task_delayacct"
    try:
        with open(switch) as f:
            was = f.read()
    except OSError:
        raise Skipped("the kernel has no delay accounting")
    try:
        with open(switch, "w") as f:
            f.write("1")
        for _ in range(3):
            began = time.monotonic_ns()
            p, rows = with_disk_wait()
            if p.kernel("blkio_ns") < time.monotonic_ns() - began:
                break
    finally:
        with open(switch, "w") as f:
            f.write(was)
    is_true("disk wait: there was some", p.kernel("blkio_ns") >= 20e6,
            "delay accounting saw %d ns" % p.kernel("blkio_ns"))
    is_near("disk wait: OffCPUDisk is delay accounting's", p.ours(rows, "OffCPUDisk"),
            p.kernel("blkio_ns") / 1e9, 0.02, 0.012)


def memory():
    path = os.path.join(tmpdir(), "mapped")
    h = Hold()
    run = Run(h.cmd("park", "anon=96", "park", "shmem=24", "file=%s:12" % path, "park", "free",
                    "park", "anon=150", "free", "park", "drop=" + path, "file=%s:12" % path,
                    "park"), INTERVAL)
    h.wait()
    names = ("anonymous", "shared and file", "freed", "a peak between two rows", "major faults")
    phases = [(name, Phase(h, SETTLE)) for name in names]
    h.go()
    rows = task_table(run.end())
    for name, p in phases:
        compare_faults(name, p, rows)
        compare_memory(name, p, rows)
    p = phases[3][1]
    pick = (rows["TimeNS"] > p.start_ns) & (rows["TimeNS"] <= p.end_ns)
    is_near("a peak between two rows: PeakMB shows it", float(rows["PeakMB"][pick].max()) * MB,
            p.after["VmHWM"], 0.002, 65536)
    if not phases[4][1].kernel("majflt"):
        skip("major faults: there were some", "the mapped file could not be dropped from memory")
    is_equal("Pages counts the major faults since the start", last(rows, "Pages"),
             total(rows, "MajorFaults"))


def compare_memory(name, p, rows):
    """smaps_rollup walks the page tables, so it is exact; status may lag by the per-CPU parts."""
    a = p.after
    # Pages of a private mapping that were only read count as file in both.
    is_near(name + ": AnonMB is smaps_rollup's", p.now(rows, "AnonMB") * MB, a["smaps_Anonymous"],
            0, 4096)
    is_near(name + ": RSS is smaps_rollup's", p.now(rows, "RSS") * 1024, a["smaps_Rss"], 0, 8192)
    is_near(name + ": FileMB is status'", p.now(rows, "FileMB") * MB, a["RssFile"], 0.002, 300000)
    is_near(name + ": ShmemMB is status'", p.now(rows, "ShmemMB") * MB, a["RssShmem"],
            0.002, 300000)
    is_equal(name + ": SwapMB is status'", p.now(rows, "SwapMB") * MB, a["VmSwap"])
    is_equal(name + ": VMSize is status'", p.now(rows, "VMSize") * 1024, a["VmSize"])


def huge_pages():
    """Pages of hugetlbfs, taken from the machine for the time of the test."""
    pool = "/proc/sys/vm/nr_hugepages"
    try:
        was = int(open(pool).read())
    except OSError:
        raise Skipped("the kernel has no huge pages")
    h = Hold()
    try:
        with open(pool, "w") as f:
            f.write(str(was + 8))
        if int(open(pool).read()) < was + 8:
            raise Skipped("no memory for 8 huge pages")
        run = Run(h.cmd("park", "huge=%d" % (8 * HUGE_PAGE // MB), "park", "free", "park"), INTERVAL)
        h.wait()
        phases = [("huge pages", Phase(h, SETTLE)), ("huge pages let go", Phase(h, SETTLE))]
        h.go()
        rows = task_table(run.end())
    finally:
        with open(pool, "w") as f:
            f.write(str(was))
    for name, p in phases:
        is_equal(name + ": HugetlbMB is status'", p.now(rows, "HugetlbMB") * MB,
                 p.after["HugetlbPages"])
        compare_memory(name, p, rows)
    is_equal("huge pages: there were some", phases[0][1].after["HugetlbPages"], 8 * HUGE_PAGE)


def forks():
    """The parent has reaped all: its own account holds everything its children used."""
    n = 400
    h = Hold()
    out = os.path.join(tmpdir(), "account")
    run = Run([tool("jpfork"), "-n", str(n), "-p", "3", "-u", "400", "-f", h.fifo, "-s", h.state,
               "-o", out], INTERVAL)
    cg = cgroup2_dir(h.wait())
    p = Phase(h, SETTLE, (lambda: cpu_stat_ns(cg)) if cg else None)
    h.go()
    rows = task_table(run.end())
    account = read_account(out)
    is_equal("forks: Forks", p.ours(rows, "Forks"), n)
    compare_io("forks", p, rows)
    is_equal("forks: minor faults of all", p.ours(rows, "MinorFaults"),
             p.kernel("minflt", "cminflt"))
    is_equal("forks: major faults of all", p.ours(rows, "MajorFaults"),
             p.kernel("majflt", "cmajflt"))
    # A child's last switch comes after, or races with, its parent's wait.
    vol = p.ours(rows, "VolSwitches") - p.kernel("nvcsw") - account["children.nvcsw"]
    is_true("forks: voluntary switches of all", 0 <= vol <= n,
            "%g more than the parent saw of %d children" % (vol, n))
    rusage = (account["children.utime_us"] + account["children.stime_us"]) / 1e6
    mine = p.ours(rows, "CPUTime")
    # getrusage ends at the wait: what a child does after that, a few us, is not in it.
    is_near("forks: CPU time is getrusage's of all", mine, rusage + p.kernel("run_ns") / 1e9,
            0.001, 0.001 + n * 20e-6)
    if cg:
        is_near("forks: CPU time is cpu.stat's", mine, (p.cg_after - p.cg_before) / 1e9,
                0.001, 0.001)
    else:
        skip("forks: CPU time is cpu.stat's", "the step has no cgroup in the v2 hierarchy")


def short_step():
    d = tmpdir()
    out, data = os.path.join(d, "account"), os.path.join(d, "data")
    run, path = run_jobprof([tool("jphold"), "-o", out, "write=%s:1" % data, "spin=0.02"], 1)
    rows = task_table(path)
    account = read_account(out)
    is_near("20 ms step: CPU time", total(rows, "CPUTime"), account["schedstat.run_ns"] / 1e9,
            0.001, 0.002)
    is_equal("20 ms step: bytes written", total(rows, "WriteMB") * MB, MB + os.path.getsize(out))
    is_true("20 ms step: read at least its account's", total(rows, "ReadMB") * MB
            >= account["io.rchar"], "%g < %g" % (total(rows, "ReadMB") * MB, account["io.rchar"]))
    faults = total(rows, "MinorFaults") - account["self.minflt"]
    is_true("20 ms step: minor faults", abs(faults) <= 60, "off by %g" % faults)
    is_equal("20 ms step: processes made", total(rows, "Forks"), 0)
    is_equal("20 ms step: the Step table has the same bytes",
             total(table(path, "Step"), "WriteMB"), total(rows, "WriteMB"))


def tick_s():
    """From the smallest step of the coarse clock."""
    return time.clock_getres(6)  # CLOCK_MONOTONIC_COARSE


def spinner():
    """No switch for 5 s: the rows cannot wait for one."""
    stolen = steal_s()
    run, path = run_jobprof([tool("jpspin"), "5"], 0.5)
    stolen = steal_s() - stolen
    rows = task_table(path)
    t = rows["TimeNS"].astype(float)
    dt = (t[1:] - t[:-1]) / 1e9
    used = rows["CPUTime"][1:] + rows["RunDelay"][1:]
    # While the first interval lasts it is still loaded, which may be from a disk; the last row ends
    # with the step, not with the spinner.
    inner = slice(1, len(dt) - 1)
    is_true("spinner: a row every 0.5 s", len(rows) >= 10 and abs(dt[inner].mean() - 0.5) < 0.02,
            "%d rows, mean distance %.3f s" % (len(rows), dt.mean()))
    worst = float(abs(used[inner] - dt[inner]).max())
    limit = tick_s() + 0.002 + stolen
    is_true("spinner: every row has its CPU time within a tick", worst <= limit,
            "off by up to %.4f s, a tick is %.4f s, stolen %.3f s: CPU+delay %s, intervals %s"
            % (worst, tick_s(), stolen, used.round(4), dt.round(4)))
    drift = abs(float(used[inner].sum() - dt[inner].sum()))
    is_true("spinner: the lag does not add up", drift <= limit + 0.002, "%.4f s in all" % drift)


def memory_of_the_last_row():
    """Of an instant in which no process lives any more: what the last one had. Between its account
    and its end nothing is touched."""
    out = os.path.join(tmpdir(), "account")
    run, path = run_jobprof([tool("jpmem"), "-a", "30", "-t", "0.4", "-o", out], 0.3)
    a = read_account(out)
    for name in ("Tasks/0", "Step"):
        rows = table(path, name)
        is_near(name + ": RSS of the last row", float(rows["RSS"][-1]), a["status.VmRSS"], 0.01, 64)
        parts = sum(rows[c][-1] for c in ("AnonMB", "FileMB", "ShmemMB"))
        is_near(name + ": its parts", parts * 1024, float(rows["RSS"][-1]), 0, 1)
        is_near(name + ": VMSize is that of the row before", float(rows["VMSize"][-1]),
                float(rows["VMSize"][-2]), 0.01)
        is_equal(name + ": Threads", rows["Threads"][-1], 1)
        totals = table(path, "Totals/" + name.split("/")[0])[0]
        lived = rows["RSS"][rows["RSS"] > 0]
        is_true(name + ": Min_RSS and Avg_RSS are of rows in which a process lived",
                totals["Min_RSS"] == lived.min() > 0 and approx(totals["Avg_RSS"], lived.mean(), 1e-9),
                "%g, %g: %s" % (totals["Min_RSS"], totals["Avg_RSS"], rows["RSS"]))
    run, path = run_jobprof(["true"], 1)
    rows = task_table(path)
    is_true("a process without a row of its life: RSS and PeakMB", 0.5 * MB
            < rows["RSS"].max() * 1024 <= rows["PeakMB"].max() * MB < 8 * MB,
            "%s, %s" % (rows["RSS"], rows["PeakMB"]))
    lines = [l for l in run.out().splitlines() if l.split()[:1] == ["RSS"]]
    is_true("the page says the same", lines and not any(" max 0 MB" in l for l in lines), lines)


def peak_before_exec():
    """It goes with the program's memory, and comes between two rows."""
    out = os.path.join(tmpdir(), "peak")
    script = """
import mmap, os
m = mmap.mmap(-1, 120 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for i in range(0, len(m), 4096): m[i] = 1
line = [l for l in open("/proc/self/status") if l.startswith("VmHWM")][0]
open(%r, "w").write("VmHWM=%%d\\n" %% int(line.split()[1]))
os.execv("/bin/sleep", ["sleep", "1.6"])""" % out
    run, path = run_jobprof(["/usr/bin/python3", "-SEc", script], 1.5)
    rows = task_table(path)
    is_near("PeakMB has what was there before exec", rows["PeakMB"].max() * 1024,
            read_account(out)["VmHWM"], 0.01, 512)
    is_true("the rows after it have not", rows["PeakMB"][-1] < 10, rows["PeakMB"])


def vfork_lends_memory():
    """The peak of a process that has shrunk is not that of the children it makes with vfork."""
    script = """
import mmap, os, time
m = mmap.mmap(-1, 120 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for i in range(0, len(m), 4096): m[i] = 1
m.close()
time.sleep(0.7)
for i in range(20):
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
time.sleep(0.3)"""
    run, path = run_jobprof(["/usr/bin/python3", "-SEc", script], 0.2)
    rows = task_table(path)
    forked = rows["PeakMB"][rows["Forks"] > 1]
    is_true("vfork: children's rows are without the parent's old peak",
            len(forked) and forked.max() < 60 < rows["PeakMB"].max(), rows["PeakMB"])


def cost_of_probes():
    """One for every switch, and some more at the beginning and end."""
    n = 20000
    run, path = run_jobprof(["sh", "-c", "%s -p %d; grep ^Cpus_allowed_list /proc/self/status"
                             % (tool("jpswitch"), n)], 1)
    rows = task_table(path)
    cost = float(attributes(path)["Probe Cost NS"][0]) / 1e9
    runs = total(rows, "ProbeTime") / cost
    switches = total(rows, "VolSwitches") + total(rows, "InvolSwitches")
    is_true("ProbeTime is Probe Cost NS for every switch", cost > 0 and switches >= 2 * n
            and switches <= runs + 1 <= switches + 300, "%g runs, %g switches" % (runs, switches))
    with open("/proc/self/status") as f:
        cpus = [l for l in f if l.startswith("Cpus_allowed_list")][0].split()[1]
    is_true("the command has all CPUs again", cpus in run.out().split(), run.out())


def setsid_daemon():
    out = os.path.join(tmpdir(), "account")
    run, path = run_jobprof(
        ["/bin/sh", "-c", "%s -o %s 1.2; sleep 2" % (tool("jpsetsid"), out)], INTERVAL)
    if not os.path.exists(out):
        raise Failed("the daemon wrote no account")
    daemon = read_account(out)["schedstat.run_ns"] / 1e9
    # The shell, sleep and the fork take some ms of their own.
    is_near("setsid daemon: still counted with its task", total(task_table(path), "CPUTime"),
            daemon + 0.008, 0.001, 0.008)


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
    own, reaped = [l.split() for l in run.out().splitlines()[:2]]
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


def whole_table():
    """Columns a reader relies on: first and last ones, time rising, nothing below zero."""
    run, path = run_jobprof([tool("jpspin"), "0.5"], 0.1)
    rows = task_table(path)
    is_equal("the first two columns are times", rows.dtype.names[:2],
             ("ElapsedTime", "EpochTime"))
    is_equal("the last column is TimeNS", rows.dtype.names[-1], "TimeNS")
    is_true("all members have 8 bytes", all(rows.dtype[c].itemsize == 8 for c in rows.dtype.names),
            str(rows.dtype))
    is_true("time rises", (numpy.diff(rows["TimeNS"].astype("i8")) > 0).all(),
            str(rows["TimeNS"]))
    is_true("EpochTime is TimeNS in seconds",
            (rows["EpochTime"] == rows["TimeNS"] // 10**9).all(), str(rows["EpochTime"]))
    bad = [c for c in rows.dtype.names if (rows[c] < 0).any()]
    is_true("nothing below zero", not bad, ", ".join(bad))


if __name__ == "__main__":
    need_bpf()
    run_tests((sched, files, ways_to_read, disk_wait, memory, huge_pages, forks, short_step, spinner,
               memory_of_the_last_row, peak_before_exec, vfork_lends_memory, cost_of_probes,
               setsid_daemon, user_and_system, modes_of_programs, kernel_threads, whole_table))
