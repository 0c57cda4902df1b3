#!/usr/bin/python3
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""What jobprof counts against the kernel's own accounts, on the real kernel, through `jobprof run`.

A tool parks before and after each piece of work. While it is parked /proc says exactly what it has
used; the rows written while it was parked must say the same, so that the difference between two
parks is compared without knowing what came before (fork, exec) or after (exit)."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from lib import *

INTERVAL = 0.2
SETTLE = 2.5 * INTERVAL


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
                three[2].after["run_ns"] / 1e9, 0.001, 0.006)


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


def runnable():
    """Three threads that compute on one CPU, beside two that sleep."""
    cpu = max(os.sched_getaffinity(0))
    spin = ["taskset", "-c", str(cpu), tool("jpspin"), "2", "3"]
    r, path = run_jobprof(["sh", "-c", "sleep 60 & %s; kill $!" % " ".join(spin)])
    rows = task_table(path)[2:-2]  # all are there
    is_equal("runnable: three of five", [set(rows["Threads"]), set(rows["Runnable"])], [{5}, {3}])
    is_equal("runnable: CPUs, of the threads with most", set(rows["AllowedCPUs"]),
             {len(os.sched_getaffinity(0))})
    r, path = run_jobprof(spin)
    is_equal("runnable: on one CPU", set(task_table(path)["AllowedCPUs"][2:-2]), {1})


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


@in_full
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


LEAVER = """
import glob, os, time
time.sleep(0.3)
before = time.time_ns()
for procs in glob.glob("/sys/fs/cgroup/cgroup.procs") + glob.glob("/sys/fs/cgroup/*/cgroup.procs"):
    with open(procs, "w") as f:
        f.write(str(os.getpid()))
after = time.time_ns()
pid = os.fork()
while time.process_time() < 0.4:
    pass
if not pid:
    os._exit(0)
os.wait()
t = os.times()
print("used", t.user + t.system + t.children_user + t.children_system, before, after)
"""


def left_cgroup():
    """A command that moves to the root of all hierarchies counts on, and what it starts there; when it left is said."""
    run, path = run_jobprof(["/usr/bin/python3", "-c", LEAVER], INTERVAL)
    used, before, after = [float(word) for word in run.lines_of_command()[0].split()[1:]]
    is_near("left its cgroup: CPUTime is its own account's", total(task_table(path), "CPUTime"), used, 0.03, 0.03)
    r = subprocess.run([JOBPROF, "show", path], capture_output=True, text=True)
    is_true("left its cgroup: it exited", "cgroup removed" not in r.stdout, r.stdout)
    a = attributes(path)
    left = a["Start TimeNS"][0] / 1e9 + a["Left Cgroup After"][0]
    is_true("left its cgroup: when it did by its own clock", before / 1e9 - 0.005 <= left <= after / 1e9 + 0.005,
            "%.3f s after it began to, %.3f s before it had" % (left - before / 1e9, after / 1e9 - left))
    page = subprocess.run([JOBPROF, "report", path], capture_output=True, text=True).stdout
    is_true("left its cgroup: the page says when", re.search(r"^ran .*, none missing\nleft its cgroup after [0-9.]+ m?s: counted on", page, re.M), page)
    path = run_jobprof(["sh", "-c", "sleep 9 & true"], INTERVAL)[1]
    is_true("a process that jobprof moves away at the end has not left", "Left Cgroup After" not in attributes(path), path)


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
    is_near("20 ms step: CPU time", total(rows, "CPUTime"), *own_cpu(account, 0.001, 0.002))
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
    is_true("spinner: rows come without a switch", len(rows) >= 6, "%d rows, intervals %s" % (len(rows), dt.round(4)))
    # A wait for the CPU is in the row in which it ends: those that others cause may lie across two rows.
    delay = rows["RunDelay"]
    limit = tick_s() + 0.002 + stolen
    over = (abs(used - dt) - limit - delay[1:] - numpy.append(delay[2:], 0))[inner]
    is_true("spinner: every row has its CPU time within a tick", (over <= 0).all(),
            "off by up to %.4f s more, a tick is %.4f s, stolen %.3f s: CPU+delay %s, delay %s, intervals %s"
            % (over.max(), tick_s(), stolen, used.round(4), delay.round(4), dt.round(4)))
    drift = abs(float(used[inner].sum() - dt[inner].sum()))
    is_true("spinner: the lag does not add up", drift <= limit + 0.002 + delay[2] + delay[-1], "%.4f s in all" % drift)


def cost_of_probes():
    """One for every switch, but for some at the beginning and end."""
    n = 20000
    run, path = run_jobprof(["sh", "-c", "%s -p %d; grep ^Cpus_allowed_list /proc/self/status"
                             % (tool("jpswitch"), n)], 1, "sched,self")
    rows = task_table(path)
    cost = float(attributes(path)["Probe Cost NS"][0]) / 1e9
    runs = total(rows, "ProbeTime") / cost
    switches = total(rows, "VolSwitches") + total(rows, "InvolSwitches")
    is_true("ProbeTime is Probe Cost NS for every switch", cost > 0 and switches >= 2 * n
            and switches - 30 <= runs <= switches + 300, "%g runs, %g switches" % (runs, switches))
    with open("/proc/self/status") as f:
        cpus = [l for l in f if l.startswith("Cpus_allowed_list")][0].split()[1]
    is_true("the command has all CPUs again", cpus in run.out().split(), run.out())


def setsid_daemon():
    out = os.path.join(tmpdir(), "account")
    run, path = run_jobprof(
        ["/bin/sh", "-c", "%s -o %s 1.2; sleep 2" % (tool("jpsetsid"), out)], INTERVAL)
    if not os.path.exists(out):
        raise Failed("the daemon wrote no account")
    account = read_account(out)
    # The shell, jpsetsid and sleep begin, fork and end, too.
    programs = 3 * 4 * account["start.run_ns"] / 1e9
    is_true("setsid daemon: still counted with its task", 0 <= total(task_table(path), "CPUTime") -
            account["schedstat.run_ns"] / 1e9 <= 0.01 + programs, (total(task_table(path), "CPUTime"), account))


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
    run_tests([runnable, sched, files, ways_to_read, disk_wait, left_cgroup, forks, short_step, spinner, cost_of_probes,
                setsid_daemon, whole_table])
