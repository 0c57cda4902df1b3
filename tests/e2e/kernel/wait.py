#!/usr/bin/python3
# timeout: 180
# runs: alone
# SPDX-License-Identifier: GPL-2.0-or-later
"""TimeBudget: where the time of threads goes, against clocks that they read themselves, the kernel's
schedstat and cpu.stat."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

INTERVAL = 0.5
# The column that each way of waiting (tests/tools/jpwait.c) counts in.
COLUMN = {"sleep": "Sleep", "poll": "Poll", "select": "Poll", "epoll": "Poll", "futex": "Futex", "join": "Futex",
          "sigtimedwait": "Signal", "recv": "Socket", "sockread": "Socket", "pipe": "Pipe",
          "child": "Child", "vfork": "Child", "flock": "Futex", "semop": "Futex", "mqueue": "Pipe", "aio": "Disk"}
KINDS = [k for k in COLUMN if k != "join"]
TIMES = ("ElapsedTime", "EpochTime", "TimeNS", "ThreadTime")


def parts(rows):
    """Throttled is not known before 6.18."""
    return [c for c in rows.dtype.names if c not in TIMES and not numpy.isnan(rows[c]).all()]


def blocked(rows):
    return [c for c in rows.dtype.names if c.startswith("Blocked")]


def adds_up(name, rows):
    """And nothing is taken back."""
    sums = sum(rows[c] for c in parts(rows))
    worst = float(abs(sums - rows["ThreadTime"]).max())
    is_true(name + ": the columns add up to ThreadTime", worst < 1e-4 * max(1, rows["ThreadTime"].max()), worst)
    bad = [c for c in parts(rows) if not (rows[c] >= 0).all()]
    is_equal(name + ": nothing is below zero", bad, [])


def one_account(name, path):
    """Waits for storage, of a task without others in its step."""
    rows = budget(path)
    is_near(name + ": OffCPUDisk is BlockedDisk and BlockedFault", total(task_table(path), "OffCPUDisk"),
            total(rows, "BlockedDisk") + total(rows, "BlockedFault"), 0, 1e-4)


def budget(path):
    return table(path, "TimeBudget/0")


def measured(run):
    sums = {}
    for line in run.out().splitlines():
        words = line.split()
        if len(words) == 2 and words[0] in COLUMN:
            column = "Blocked" + COLUMN[words[0]]
            sums[column] = sums.get(column, 0) + float(words[1])
    return sums


def causes(name, rounds, seconds, extra=()):
    """A wait ends at the wakeup: what its thread measures has the wait for a CPU after it, too. And threads that begin wait
    for each other while they have no CPU."""
    run, path = run_jobprof([tool("jpwait"), "-n", str(rounds), str(seconds)] + KINDS, INTERVAL, extra=extra)
    rows, wanted = budget(path), measured(run)
    adds_up(name, rows)
    late = total(rows, "CPUWait") + 0.0005 * rounds * len(KINDS)
    for column, s in sorted(wanted.items()):
        got = total(rows, column)
        is_true("%s: %s is what its threads measured" % (name, column), s - late <= got <= s + late + 0.005,
                "%.4f s, measured %.4f s, late by up to %.4f s" % (got, s, late))
    others = {c: total(rows, c) for c in blocked(rows) if c not in wanted}
    one_account(name, path)
    is_true(name + ": nothing else", sum(others.values()) < 0.02 * sum(wanted.values()), others)
    return rows, task_table(path)


# Of jpwait: pipe and flock have a helper each, child and vfork are processes, the main thread joins.
THREADS = len(KINDS) + 2 + 2 + 1
WAITING = {"BlockedSleep": 5, "BlockedPoll": 3, "BlockedFutex": 4, "BlockedSignal": 1, "BlockedSocket": 2,
           "BlockedPipe": 2, "BlockedChild": 2, "BlockedDisk": 1}


def all_wait(name, rows, tasks):
    """In rows between which no thread runs, all is known by the clock alone."""
    dt = numpy.diff(rows["TimeNS"].astype(float)) / 1e9
    threads = tasks["Threads"]
    # one row later, for a thread that has just begun does not wait yet
    whole = [i for i in range(2, len(rows)) if (threads[i - 2:i + 1] == THREADS).all()]
    is_true(name + ": rows in which all wait", len(whole) >= 2, threads)
    for i in whole:
        is_near("%s: row %d: ThreadTime is that of %d threads" % (name, i, THREADS), rows["ThreadTime"][i],
                THREADS * dt[i - 1], 0.005)
        got = {c: rows[c][i] / dt[i - 1] for c in blocked(rows) if rows[c][i] > 0.001}
        is_true("%s: row %d: so many threads wait for each" % (name, i), set(got) == set(WAITING) and
                all(abs(got[c] / n - 1) < 0.005 for c, n in WAITING.items()), got)


def long_waits():
    all_wait("one long wait each", *causes("one long wait each", 1, 3.6))


def short_waits():
    causes("200 short waits each", 200, 0.005)
    causes("200 short waits each, raw tracepoint", 200, 0.005, ["--raw-tp"])


def adopted():
    """All wait already when jobprofd begins."""
    d, job = Daemon(INTERVAL), new_job()
    s = Stepd(job, 0, [tool("jpwait"), "7", *KINDS], v2_task(Trees().job(job) + "/step_0"))
    time.sleep(1)
    d.start()
    s.end()
    path = d.file(job, 0)
    adds_up("waiting already", budget(path))
    all_wait("waiting already", budget(path), task_table(path))


def has_ended(pid):
    try:
        return slurp("/proc/%d/stat" % pid).rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def rest_after(act, pid):
    """Seconds from the act to the end of the process, at least and at most."""
    before = time.monotonic()
    act()
    after = seen = asked = time.monotonic()
    while not has_ended(pid):
        seen = asked  # it was there then
        time.sleep(0.01)
        asked = time.monotonic()
    return seen - after, time.monotonic() - before


def moved():
    """A process that sleeps goes to another step: each step has its part."""
    d, jobs, trees = Daemon(INTERVAL).start(), [new_job(), new_job()], Trees()
    bases = [trees.job(j) + "/step_0" for j in jobs]
    pid = os.path.join(tmpdir(), "pid")
    steps = [Stepd(jobs[0], 0, ["sh", "-c", "echo $$ >%s; exec sleep 3" % pid], v2_task(bases[0])),
             Stepd(jobs[1], 0, ["sleep", "4"], v2_task(bases[1]))]
    time.sleep(1.2)
    pid = int(written(pid))
    first = 3 - numpy.array(rest_after(lambda: move(pid, bases[1] + "/user/task_0"), pid))
    for s in steps:
        s.end()
    rows = [table(d.file(j, 0), "TimeBudget/0") for j in jobs]
    for i in (0, 1):
        adds_up("moved, step %d" % i, rows[i])
    sleeps = [total(r, "BlockedSleep") for r in rows]
    is_true("moved: the first step has the time up to then", first[1] - 0.1 <= sleeps[0] <= first[0] + 0.1, (sleeps, first))
    is_near("moved: both have all of it", sum(sleeps), 7, 0.002)


def queue():
    """Two spinners on one CPU."""
    cpu = str(max(os.sched_getaffinity(0)))
    d = tmpdir()
    outs = [os.path.join(d, n) for n in "ab"]
    spin = " & ".join("taskset -c %s %s -o %s 2" % (cpu, tool("jpspin"), o) for o in outs)
    run, path = run_jobprof(["sh", "-c", spin + " & wait"], INTERVAL)
    rows = budget(path)
    adds_up("two spinners on a CPU", rows)
    accounts = [read_account(o) for o in outs]
    delay = sum(a["schedstat.delay_ns"] for a in accounts) / 1e9
    ran = sum(a["schedstat.run_ns"] for a in accounts) / 1e9
    # what started them is in the rows, too
    for column, wanted in (("CPUWait", delay), ("Running", ran)):
        is_true("two spinners on a CPU: %s is schedstat's" % column,
                wanted - 0.01 <= total(rows, column) <= wanted + 0.2, "%g s, %g s" % (total(rows, column), wanted))
    for column, same in (("CPUWait", "RunDelay"), ("Running", "CPUTime")):
        is_near("two spinners on a CPU: %s is %s in the end" % (column, same), total(rows, column),
                total(task_table(path), same), 0.001, 0.002)
    inner = slice(1, -1)
    is_true("two spinners on a CPU: it had to wait in every row", (rows["CPUWait"][inner] > 0.2).all(),
            rows["CPUWait"])
    is_true("two spinners on a CPU: Stolen is no more than the machine's", total(rows, "Stolen") <= 0.3,
            total(rows, "Stolen"))


def throttled():
    """So little of a CPU that a busy machine gives more: of its own cgroup, or of the one above, as that of a container."""
    mount = need_cgroup1("cpu")
    cg = mkcg("jobprof_wait_%d" % os.getpid(), mount)
    with open(cg + "/cpu.cfs_quota_us", "w") as f:
        f.write("5000")
    held_by_quota("quota", mount, cg, cg + "/cpu.stat")
    box = mkcg("jobprof_wait_%d/box" % os.getpid(), mount)
    if os.path.exists(box + "/cpu.stat.local"):
        held_by_quota("quota above", mount, box, box + "/cpu.stat.local")
    else:
        skip("quota above", "the kernel does not say how long it held a cgroup below (before 6.6)")


def held_by_quota(name, mount, cg, stat):
    with open(stat) as f:
        before = int(dict(l.split() for l in f)["throttled_time"]) / 1e9
    move = "echo $$ > %s/cgroup.procs; %s 1.5 >&2; echo $$ > %s/cgroup.procs" % (cg, tool("jpspin"), mount)
    run, path = run_jobprof(["sh", "-c", move], INTERVAL)
    rows = budget(path)
    with open(stat) as f:
        held = int(dict(l.split() for l in f)["throttled_time"]) / 1e9 - before
    adds_up(name, rows)
    if numpy.isnan(rows["Throttled"]).all():
        skip(name + ": Throttled is cpu.stat's", "this kernel does not tell it from a wait")
        return
    is_true(name + ": it held", held > 0.05, held)
    # each of some 15 times is known to a tick, at which the kernel stops threads and lets them go
    is_near(name + ": Throttled is cpu.stat's", total(rows, "Throttled"), held, 0.05, 0.01)
    by = table(path, "Culprits/0")
    is_near(name + ": what it waited for is the quota", total(by, "Quota"), held, 0.05, 0.01)
    is_true(name + ": and not an idle CPU", total(by, "Idle") < 0.1 * held, total(by, "Idle"))


def with_disk_wait():
    """The phase and its rows."""
    h = Hold()
    run = Run(h.cmd("park", "dwrite=%s:60" % os.path.join(tmpdir(), "direct"), "park"), INTERVAL)
    h.wait()
    p = Phase(h, 2.5 * INTERVAL)
    h.go()
    return p, budget(run.end())


@in_full
def disk():
    """O_DIRECT writes and fsync, against delay accounting, which counts to the wakeup, too. A wait whose begin
    it has missed counts from the start of the machine: then it is asked again."""
    switch = "/proc/sys/kernel/task_delayacct"
    was = slurp(switch)
    try:
        with open(switch, "w") as f:
            f.write("1")
        for _ in range(3):
            p, rows = with_disk_wait()
            wanted = p.kernel("blkio_ns") / 1e9
            if wanted < 60:
                break
    finally:
        with open(switch, "w") as f:
            f.write(was)
    adds_up("disk", rows)
    is_true("disk: there was some", wanted > 0.02, wanted)
    is_near("disk: BlockedDisk is delay accounting's", p.ours(rows, "BlockedDisk"), wanted, 0.02, 0.012)


def io_uring():
    """I/O wait to the kernel from 6.5 on, whatever is under way."""
    run, path = run_jobprof([tool("jpwait"), "1.5", "uring"], INTERVAL)
    if "io_uring_setup" in run.out():
        raise Skipped("this kernel has no io_uring")
    rows, wanted = budget(path), [float(l.split()[1]) for l in run.out().splitlines() if l.startswith("uring")][0]
    one_account("io_uring", path)
    got = max(total(rows, "BlockedDisk"), total(rows, "BlockedPoll"))
    is_near("io_uring: one column has the wait", got, wanted, 0, 0.01 + total(rows, "CPUWait"))


def network_file_system():
    """FUSE stands in for them."""
    if not os.path.exists("/dev/fuse"):
        raise Skipped("this kernel has no FUSE")
    run, path = run_jobprof(["/usr/bin/python3", ROOT + "/tests/lib/slowfs.py", tmpdir(), "0.05", "8"], INTERVAL)
    said = [l.split()[1] for l in run.out().splitlines() if l.startswith("netfs")]
    if not said:
        raise Skipped("no file system of FUSE: " + run.out()[:200])
    rows, wanted = budget(path), float(said[0])
    adds_up("FUSE", rows)
    got, late = total(rows, "BlockedNetFS"), total(rows, "CPUWait") + 0.01
    is_true("FUSE: BlockedNetFS is what its user measured", wanted - late <= got <= wanted + 0.005,
            "%g s, measured %g s" % (got, wanted))


def stopped():
    h = Hold()
    run = Run(h.cmd("park", "park"), INTERVAL)
    pid = h.wait()
    os.kill(pid, signal.SIGSTOP)
    since = time.monotonic()
    time.sleep(1.3)
    os.kill(pid, signal.SIGCONT)
    stop = time.monotonic() - since
    h.go()
    h.wait()
    h.go()
    rows = budget(run.end())
    got = total(rows, "BlockedSignal")
    is_true("stopped by a signal", stop - 0.01 - total(rows, "CPUWait") <= got <= stop + 0.01, "%g s, %g s" % (got, stop))


def pauses():
    """pause() and sigsuspend() wait for a child where there is one, as a shell's wait does; else for a signal."""
    start = "import os, signal, time; signal.signal(signal.SIGALRM, lambda *a: None); signal.setitimer(signal.ITIMER_REAL, 1); "
    for name, column, words in (("a shell's wait", "BlockedChild", ["sh", "-c", "sleep 1 & wait; :"]),
                                ("pause() without a child", "BlockedSignal", ["/usr/bin/python3", "-c", start + "signal.pause()"])):
        rows = budget(run_jobprof(words, INTERVAL)[1])
        other = {"BlockedChild": "BlockedSignal", "BlockedSignal": "BlockedChild"}[column]
        got = total(rows, column)
        is_true(name + ": " + column, got >= 0.95 - total(rows, "CPUWait") and total(rows, other) < 0.01,
                "%g s, %s %g s" % (got, other, total(rows, other)))


if __name__ == "__main__":
    need_bpf()
    run_tests([long_waits, short_waits, adopted, moved, queue, throttled, disk, io_uring, network_file_system,
               stopped, pauses])
