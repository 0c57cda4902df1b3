#!/usr/bin/python3
# runs: in full
# runs: alone
# timeout: 180
# SPDX-License-Identifier: GPL-2.0-or-later
"""TimeBudget: the causes of blocked time of a mixed program and of one on FUSE, against the kernel's stacks at each
switch, as perf has them, from there until the thread is in a run queue, or where perf missed that on a CPU again."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

SECONDS = 12
AGREE = 0.99  # of the blocked time
IO = r"io_schedule|folio_wait|submit_bio_wait|blk_mq_|jbd2_|__iomap_dio|blkdev_"
LOCKS = r"rwsem_|mutex_lock|mmap_lock|vma_|percpu_|synchronize_|__down|dup_mmap|__flush_work"
# The first that matches says it.
BY_STACK = [
    ("BlockedDisk", IO),
    ("BlockedKernel", LOCKS),
    ("BlockedChild", r"\bdo_wait|wait_for_vfork_done|kernel_clone"),
    ("BlockedFutex", r"futex_"),
    ("BlockedPoll", r"do_epoll_wait|\bep_poll|do_sys_poll|do_poll|do_select"),
    ("BlockedSleep", r"do_nanosleep|hrtimer_nanosleep"),
    ("BlockedSignal", r"do_sigtimedwait|rt_sigsuspend|do_signal_stop|ptrace_stop"),
    ("BlockedSocket", r"unix_stream|sk_wait|sock_|tcp_|inet_csk_accept"),
    ("BlockedPipe", r"pipe_read|pipe_write|pipe_wait"),
]
# By path: of that call nothing says at the switch what file system it waits for. The server waits for work.
OF_FUSE = [("BlockedOther", r"fuse_dev_|vfs_statx|path_openat"), ("BlockedNetFS", r"\bfuse_|request_wait_answer")]


def events(comm):
    """Not of those that were preempted."""
    left = 'prev_comm == "%s" && prev_state != 0 && prev_state != 256' % comm
    return ["-e", "sched:sched_switch/call-graph=fp/", "--filter", left, "-e", "sched:sched_wakeup", "--filter",
            'comm == "%s"' % comm, "-e", "sched:sched_switch", "--filter", 'next_comm == "%s"' % comm]


def cause_of(stack, first):
    """A fault waits for a page or a lock of the kernel, whatever call copied the data: what is below it says nothing."""
    above, fault, _ = stack.partition("asm_exc_page_fault")
    if fault:
        return "BlockedFault" if re.search(IO, above) else "BlockedKernel" if re.search(LOCKS, above) else None
    return next((cause for cause, part in first + BY_STACK if re.search(part, stack)), None)


WAKEUP = re.compile(r" *\d+ +([\d.]+): +sched:sched_wakeup: .*?\bpid=(\d+)")
SWITCH = re.compile(r" *\d+ +([\d.]+): +sched:sched_switch: .*?\bprev_pid=(\d+) .*?prev_state=(\S+) .*?\bnext_pid=(\d+)")


def by_stacks(text, first):
    """Seconds of each cause, and of stacks that say nothing."""
    sums, unknown = {}, {}
    for stack, s in gaps(text):
        cause = cause_of(stack, first)
        where = sums if cause else unknown
        key = cause or " ".join(re.findall(r"^\t *[0-9a-f]+ (\w+)", stack, re.M))
        where[key] = where.get(key, 0) + s
    return sums, unknown


def gaps(text):
    """(event and stack, seconds) of each."""
    since = {}
    for part in re.split(r"\n\n+|\n(?= *\d)", text):
        switch = SWITCH.match(part)
        m = switch or WAKEUP.match(part)
        if not m:
            continue
        at, back = float(m[1]), m[4] if switch else m[2]
        if back in since:
            begin, stack = since.pop(back)
            yield stack, at - begin
        if switch and "\n\t" in part and m[3][0] in "SDTt":
            since[m[2]] = at, part


class Stacks:
    """The kernel lets perf have so many events a tick, and an idle CPU has no ticks: perf would miss most of what
    happens there. So each CPU has something to do, for which all others come first."""

    def __init__(self, comm="jpmixed", first=()):
        self.first = list(first)
        self.busy = [start(["nice", "-n", "19", "taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"])
                     for cpu in os.sched_getaffinity(0)]
        self.data = os.path.join(tmpdir(), "perf.data")
        self.p = start(["perf", "record", "-q", "-a", "-m", "4M", "-k", "mono", "-o", self.data, *events(comm), "--", "sleep", "1000"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(1.5)
        if self.p.poll() is not None:
            raise Skipped("perf: " + self.p.stderr.read()[-200:])

    def end(self):
        self.p.send_signal(signal.SIGINT)
        self.p.communicate(timeout=60)
        for p in self.busy:
            p.kill()
            p.wait()
        stats = subprocess.run(["perf", "report", "--stats", "-i", self.data], capture_output=True, text=True).stdout
        is_true("perf got all events", " THROTTLE" not in stats and " LOST" not in stats, stats)
        said = subprocess.run(["perf", "script", "-i", self.data, "--ns", "-F", "tid,time,event,trace,ip,sym"],
                              capture_output=True, text=True, errors="replace").stdout
        self.said = said
        return by_stacks(said, self.first)

    def seen(self, function):
        return self.said.count(" %s\n" % function)

    def seconds(self, function):
        """Of waits whose stacks have it."""
        return sum(s for stack, s in gaps(self.said) if function in stack)


def need_perf():
    """And a disk that has written what others left to it: else all wait for that, some in locks of the file system."""
    if not shutil.which("perf"):
        raise Skipped("there is no perf: scripts/install-deps bench")
    os.sync()


def agree(name, stacks, cmd):
    """Returns the seconds of each cause by stacks."""
    run, path = run_jobprof(cmd, 1)
    wanted, unknown = stacks.end()
    rows = table(path, "TimeBudget/0")
    got = {c: total(rows, c) for c in rows.dtype.names if c.startswith("Blocked")}
    all_s = sum(wanted.values()) + sum(unknown.values())
    for cause in sorted(set(got) | set(wanted)):
        print("# %-14s %9.3f s  by stacks %9.3f s" % (cause, got.get(cause, 0), wanted.get(cause, 0)))
    print("# stacks that say nothing: %.3f s" % sum(unknown.values()))
    print("# CPUWait %.3f s, RunDelay %.3f s, ThreadTime %.3f s" % (
        total(rows, "CPUWait"), total(table(path, "Tasks/0"), "RunDelay"), total(rows, "ThreadTime")))
    for stack, s in sorted(unknown.items(), key=lambda u: -u[1])[:5]:
        print("#   %.3f s: %s" % (s, stack[:200]))
    is_true(name + ": stacks say nearly all", sum(unknown.values()) < (1 - AGREE) / 2 * all_s, unknown)
    ours = sum(got.values())
    same = sum(min(got[c] / ours, wanted.get(c, 0) / all_s) for c in got)
    print("# causes agree with stacks in %.3f %% of blocked time" % (100 * same))
    is_true(name + ": causes agree with stacks in 99 % of blocked time", same >= AGREE, "%.2f %%" % (100 * same))
    is_true(name + ": and so does all of it", abs(ours / all_s - 1) < 1 - AGREE, "%.3f s, %.3f s" % (ours, all_s))
    for cause, s in sorted(wanted.items()):
        # A lock of the kernel that fsync waits for counts as the disk: neither shows at the switch.
        is_near("%s: %s" % (name, cause), got[cause], s, 0.03, (0.01 if cause in ("BlockedDisk", "BlockedKernel") else 0.002) * all_s)
    return wanted


def mixed():
    need_perf()
    wanted = agree("a mixed program", Stacks(), [tool("jpmixed"), str(SECONDS), tmpdir("mixed")])
    is_true("a mixed program: it blocked in %d ways" % len(wanted), len([s for s in wanted.values() if s > 0.05]) >= 9, wanted)


def fuse():
    need_perf()
    if not os.path.exists("/dev/fuse"):
        raise Skipped("this kernel has no FUSE")
    cmd = ["/usr/bin/python3", ROOT + "/tests/lib/slowfs.py", tmpdir(), "0.01", "100"]
    wanted = agree("FUSE", Stacks("slowfs", OF_FUSE), cmd)
    is_true("FUSE: stacks have it", wanted.get("BlockedNetFS", 0) > 4, wanted)


def journal():
    """What fsync waits for on a file system with a journal is the disk, though the kernel's I/O wait has no part of it."""
    need_perf()
    if not shutil.which("mkfs.ext4"):
        raise Skipped("there is no mkfs.ext4: scripts/install-deps bench")
    image, d = os.path.join(tmpdir(), "ext4"), tmpdir("mounted")
    with open(image, "w") as f:
        f.truncate(400 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    keeper = subprocess.Popen(["unshare", "-m", "sh", "-c", "mount -o loop %s %s && echo mounted && read until" % (image, d)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if keeper.stdout.readline() != "mounted\n":
        raise Skipped("no loop device")
    stacks = Stacks()
    run, path = run_jobprof(["nsenter", "-m", "-t", str(keeper.pid), tool("jpmixed"), "6", d], 1)
    wanted, _ = stacks.end()
    keeper.communicate("\n", timeout=60)
    os.sync()  # those who come after have the disk for themselves
    got = total(table(path, "TimeBudget/0"), "BlockedDisk")
    is_true("a journal: it waits for it", stacks.seen("jbd2_log_wait_commit") > 2, stacks.seen("jbd2_log_wait_commit"))
    of_journal = stacks.seconds("jbd2_log_wait_commit")
    is_true("a journal: it is a large part", of_journal > 0.3, of_journal)
    print("# BlockedDisk %.3f s, by stacks %.3f s, of them %.3f s for the journal" % (got, wanted["BlockedDisk"], of_journal))
    # A lock of the file system that fsync waits for counts as the disk: the longer, the slower the disk is.
    most = wanted["BlockedDisk"] + wanted.get("BlockedKernel", 0)
    is_true("a journal: BlockedDisk has it", 0.95 * wanted["BlockedDisk"] <= got <= 1.05 * most, (got, wanted))


if __name__ == "__main__":
    need_bpf()
    run_tests([mixed, fuse, journal])
