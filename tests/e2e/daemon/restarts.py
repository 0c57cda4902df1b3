#!/usr/bin/python3
# timeout: 200
# SPDX-License-Identifier: GPL-2.0-or-later
"""A jobprofd that is restarted, comes late to steps, or gets other settings: what the kernel counted
meanwhile is in the files, and rows have the instants that were asked for."""

import resource
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from faultlib import *

INTERVAL = 0.2
SETTLE = 6 * INTERVAL  # beside many others jobprofd waits half a second for a CPU at times
tree = None


class Restarted:
    """Four steps that run before jobprofd does, each two tasks in one of the layouts."""

    def __init__(self):
        self.d = Daemon(INTERVAL)
        third = "v1 freezer" if cgroup1_mount("freezer") else "task cgroups again"
        self.kinds = (*(("task cgroups", "task_special") if tree.v2 else ("v1 freezer, first", "v1 freezer, second")), third, "no SLURM_PROCID")
        self.jobs = [new_job() for _ in self.kinds]
        self.hs = [Holds("01") for _ in self.kinds]
        self.ss = [self.step(i) for i in range(4)]
        for h in self.hs:
            h.wait()
            h.go()
        for h in self.hs:
            h.wait()

    def step(self, i):
        if i == 2 and cgroup1_mount("freezer"):
            base = tree.v1(0, self.jobs[i])
            args = ["-d", base, "-S", "-c", base + "/step_0"]
        else:
            args = (v2_task, v2_shared, v2_task, v2_shared)[i](tree.job(self.jobs[i]) + "/step_0")
        steps = ["park", "spin=0.3", "park"]
        for n in range(5):
            steps += ["spin=%g" % (0.3 + 0.1 * i), "sleep=0.2", "naps=%d" % (20 + i),
                      "write=/dev/null:1", "park"]
        return Stepd(self.jobs[i], 0, self.hs[i].cmd(*steps), args + ["-P"] * (i == 3), n=2,
                     first=3)

    def window(self, between=None):
        return Window([h for hs in self.hs for h in hs.all], SETTLE, between)

    def check(self, name, w, i, path):
        for t in (0, 1) if i < 3 else ():
            compare("%s, %s, task %d" % (name, self.kinds[i], 3 + t), w,
                    task_table(path, 3 + t), [2 * i + t])
        compare("%s, %s, Step" % (name, self.kinds[i]), w, table(path, "Step"),
                [2 * i, 2 * i + 1])


def baseline_and_restarts():
    """Taken up while they run, then three ways for jobprofd to go, with work at every moment."""
    r = Restarted()
    d = r.d.start()
    away = {"job": new_job()}
    windows = [("running already", r.window())]
    windows.append(("jobprofd killed", r.window(lambda: kill_and_return(d, away))))
    windows.append(("jobprofd handed over", r.window(lambda: hand_over(d))))
    windows.append(("other settings", r.window(lambda: other_settings(d))))
    before = [[kernel_account(h.pid)["run_ns"] for h in hs.all] for hs in r.hs]
    for h in r.hs[0].all:
        h.go()
    time.sleep(0.4)
    is_equal("jobprofd stopped: exit status", d.end(), 0)
    for i, kind in enumerate(r.kinds):
        path = d.path(r.jobs[i], 0)
        if not os.path.exists(path):
            not_ok("jobprofd stopped, %s" % kind, "no file: " + d.said()[-1500:])
            continue
        is_equal("running already, %s: tables" % kind, tasks_of(path), [3, 4] * (i < 3))
        for name, w in windows:
            r.check(name, w, i, path)
        check_restarted(kind, path, i, windows, before)
    check_away(d, away)
    for hs in r.hs:
        for h in hs.all:
            os.kill(h.pid, signal.SIGKILL)
    for s in r.ss:
        s.end()


def kill_and_return(d, away):
    """Meanwhile a step of which only slurmstepd's title said the job begins and ends."""
    time.sleep(0.2)
    d.end(signal.SIGKILL)
    base = tree.job(away["job"], new_sluid(2)) + "/step_0"
    account = os.path.join(tmpdir("account"), "a")
    s = Stepd(away["job"], 0, [tool("jphold"), "-o", account, "spin=0.1"], v2_task(base, ["-w", "0.5"]))
    ns = tree.v2 and wait_until(lambda: used_and_left(base + "/user/task_0"), 5, "the task to end")
    s.end()
    away["cpu"] = (ns / 1e9, 0.001, 0.0001) if ns else own_cpu(read_account(account), 0.001, 0.004)
    d.start()


def hand_over(d):
    time.sleep(0.2)
    d.end(signal.SIGUSR1)
    time.sleep(0.2)
    d.start()


def other_settings(d):
    """The programs are loaded once more, and go on with what the earlier ones have counted."""
    time.sleep(0.2)
    d.end(signal.SIGUSR1)
    d.configure(MaxSlots=192, RingSize=512)
    d.start()


def check_restarted(kind, path, i, windows, before):
    attrs = attrs_of(path)
    is_true("running already, %s: it says so" % kind, "Baseline" in attrs, sorted(attrs))
    is_true("restarts, %s: it says so" % kind, "no count is lost" in attrs.get("Restarted", ""),
            attrs.get("Restarted"))
    is_equal("jobprofd stopped, %s: it says so" % kind, attrs["End Reason"],
             "jobprofd was stopped")
    step = table(path, "Step")
    first = windows[0][1].before
    if i:  # the others work while it is stopped
        is_near("restarts, %s: all from the baseline on, nothing twice" % kind,
                total(step, "CPUTime"),
                (sum(before[i]) - first[2 * i]["run_ns"] - first[2 * i + 1]["run_ns"]) / 1e9,
                0.001, 0.002)
    t = step["TimeNS"].astype("int64")
    is_true("restarts, %s: one series in time" % kind, (t[1:] > t[:-1]).all(), t)


def check_away(d, away):
    """A step that began and ended while no jobprofd was there; the kernel has counted."""
    path = d.path(away["job"], 0)
    if not os.path.exists(path):
        not_ok("a step while jobprofd was away", "no file: " + d.said()[-1500:])
        return
    is_near("a step while jobprofd was away: its CPU time is the kernel's",
            whole(path, "Tasks/0", "CPUTime"), *away["cpu"])


def counted_and_missed(path):
    """s of CPU time; and what the file says of before."""
    a = attrs_of(path)
    missed = a.get("Missed CPU Time", 0.0)
    return whole(path, "Step", "CPUTime") + missed, ("Baseline" in a, missed > 0)


# The programs are attached when a job begins in the cgroups that jobprofd follows: these tests need cgroups in which
# no other job of the machine begins.
def before_the_programs(*work):
    """A step begins while jobprofd cannot attach programs; another one says whose the job is. The task parks at last."""
    d, job, h = RootedDaemon("late", INTERVAL).start(), new_job(), Holds("0")
    d.tell(signal.SIGSTOP)
    base = d.v2_step(job, 0)
    os.makedirs(os.path.dirname(base))
    steps = [Stepd(job, 1, ["sleep", "3"], v2_task(d.v2_step(job, 1))), Stepd(job, 0, h.cmd(*work, "park"), v2_task(base))]
    task = base + "/user/task_0"

    def end():
        """Returns the file, and seconds of CPU time until the last park."""
        h.wait()
        used = cpu_stat_ns(task) / 1e9
        h.go()
        for s in steps:
            s.end()
        path = d.file(job, 0)
        d.end()
        return path, used
    return d, job, h, task, end


def attached_meanwhile():
    """The task runs when the programs are attached: what they do not count the file says."""
    d, job, h, task, end = before_the_programs("spin=1")
    wait_until(lambda: os.path.isdir(task) and cpu_stat_ns(task) > 3e6, 20, "the task to run")
    d.tell(signal.SIGCONT)
    d.wait_said("profiling %d_0" % job, 20)
    path, used = end()
    cpu, told = counted_and_missed(path)
    is_near("a task that runs, programs after 3 ms: CPU time is all there, or told", cpu, used, 0.001, 0.002)
    is_equal("a task that runs, programs after 3 ms: the file says so", told, (True, True))


def attached_while_parked():
    """What the task used before a park is missed, what it uses after it is counted."""
    d, job, h, task, end = before_the_programs("spin=0.1", "park", "spin=0.2")
    h.wait()
    missed = cpu_stat_ns(task) / 1e9
    d.tell(signal.SIGCONT)
    d.wait_said("profiling %d_0" % job, 20)
    h.go()
    path, used = end()
    is_equal("a task that goes on: it has its table", tasks_of(path), [0])
    is_near("a task that goes on: counted from then on", whole(path, "Tasks/0", "CPUTime"), used - missed, 0.001, 0.002)
    is_near("a task that goes on: not what was before", attrs_of(path)["Missed CPU Time"], missed, 0.001, 0.001)
    shown = subprocess.run([JOBPROF, "show", path], capture_output=True, text=True).stdout
    is_true("show names what was missed",
            re.search(r"^Missed CPU Time: 0\.\d", shown, re.M) and "Baseline" in shown, shown[-600:])


def gone_before_the_programs():
    """How much was missed, nobody knows any more; that it was, the file says. Of a v2 path nobody
    knows either whose the step was."""
    d, job, job1 = RootedDaemon("late", INTERVAL).start(), new_job(), new_job()
    spin = [tool("jpspin"), "0.02"]
    try:
        base = os.path.dirname(d.v1_step(0, job1, 0))
        os.makedirs(base)
    except Skipped as e:
        skip("a step that was over before the programs: the file says so", e)
        base = None
    d.tell(signal.SIGSTOP)
    os.makedirs(os.path.dirname(d.v2_step(job, 0)))
    Stepd(job, 0, spin, v2_task(d.v2_step(job, 0))).end()
    if base:
        Stepd(job1, 0, spin, ["-d", base, "-S", "-c", base + "/step_0"]).end()
    d.tell(signal.SIGCONT)
    if base:
        cpu, told = counted_and_missed(d.file(job1, 0))
        is_equal("a step that was over before the programs: the file says so", (cpu, told),
                 (0.0, (True, False)))
    wait_until(lambda: "job_%d/step_0 is not profiled: it was over" % job in d.said(), 20,
               "the step of nobody knows whom")
    d.end()
    is_true("a step of nobody knows whom: it is not root's",
            not glob.glob(d.hdf5 + "/*/%d_*" % job), os.listdir(d.hdf5))


def programs_attached_late():
    gone_before_the_programs()
    attached_meanwhile()
    attached_while_parked()


def torn(d):
    """The last record of the journal is not whole, as where the machine takes the power from a writer."""
    path = d.journals()[0]
    os.truncate(path, os.path.getsize(path) - 3)


def more_slots(d):
    d.configure(MaxSlots=192)


BETWEEN = {  # a jobprofd that is killed and the next one; and whether the step ends, too
    "nothing": (lambda d: None, False),
    "a torn record": (torn, False),
    "other programs": (more_slots, False),
    "other programs and the step's end": (more_slots, True),
}


def killed_and(name):
    between, ends = BETWEEN[name]
    d, job, h = RootedDaemon("lost", INTERVAL).start(), new_job(), Holds("0")
    cgroup = d.v2_step(job, 0)
    os.makedirs(os.path.dirname(cgroup))
    s = Stepd(job, 0, h.cmd("spin=0.3", "park", "spin=0.3", "park"), v2_task(cgroup))
    h.wait()
    time.sleep(SETTLE)
    d.end(signal.SIGKILL)
    between(d)
    h.go()
    h.wait()
    used = cpu_stat_ns(cgroup + "/user/task_0") / 1e9
    if ends:
        h.go()
        s.end()
    d.start()
    if not ends:
        time.sleep(SETTLE)
        h.go()
        s.end()
    path = d.file(job, 0)
    d.end()
    name = "a restart and %s: " % name
    page = report_page(path)
    counted, (_, missed) = counted_and_missed(path)  # jobprofd may be late for the step's begin
    is_equal(name + "whether none is missing", [", none missing" in page, " counts lost" in page, "before it was counted" in page],
             [not missed, False, missed])
    is_equal(name + "number of tasks", attrs_of(path)["Number of Tasks"], 1)
    is_near(name + "CPU time is cpu.stat's", counted, used, 0.001, 0.002)
    goes_on(name, path)


def goes_on(name, path):
    """Tables that tell more about a task count what its own does, from its first row to its last one."""
    ran, waits, switches = (whole(path, "Tasks/0", c) for c in ("CPUTime", "RunDelay", "VolSwitches"))
    switches += whole(path, "Tasks/0", "InvolSwitches")
    is_near(name + "Running of TimeBudget is CPUTime", whole(path, "TimeBudget/0", "Running"), ran, 0.001, 0.002)
    is_near(name + "Culprits add up to RunDelay", sum_of(path, "Culprits/0"), waits, 0.001, 0.002)
    is_near(name + "RunLatency has a wait for each switch", sum_of(path, "RunLatency/0"), switches, 0, 4)


def sum_of(path, name):
    """All columns, but those of time."""
    rows = table(path, name)
    return sum(total(rows, c) for c in rows.dtype.names if c not in ("ElapsedTime", "EpochTime", "TimeNS"))


def idle_hand_over():
    """Of a jobprofd that has no step: one that begins and is over before the next jobprofd is there."""
    d, job, account = RootedDaemon("idle", INTERVAL).start(), new_job(), os.path.join(tmpdir("acct"), "account")
    d.end(signal.SIGUSR1)
    os.makedirs(os.path.dirname(d.v2_step(job, 0)))
    Stepd(job, 0, [tool("jphold"), "-o", account, "spin=0.1"], v2_task(d.v2_step(job, 0))).end()
    d.start()
    path = d.file(job, 0)
    is_true("an idle jobprofd leaves: what begins and ends meanwhile is counted",
            approx(whole(path, "Tasks/0", "CPUTime"), *own_cpu(read_account(account), 0.001, 0.004)), attrs_of(path))
    d.end()


def begun_without_files():
    """A step that begins while jobprofd may open no more files, and a restart after that: it has one file, with all counts."""
    d, job, h, earlier = RootedDaemon("nofile", INTERVAL).start(), new_job(), Hold(), Hold()
    steps = [d.step(job, 0, earlier.cmd("park"))]
    d.wait_said("profiling %d_0" % job)
    pid = d.proc.pid
    limit = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, limit[1]))
    steps.append(d.step(job, 1, h.cmd("park", "spin=0.2", "park")))
    h.wait()
    d.wait_said("cannot begin journal .*%d_1_.*Too many open files" % job, 30)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, limit)
    d.wait_said("%d_1_.*: its journal is written again" % job, 30)
    d.end(signal.SIGKILL)
    d.start()
    h.go()
    h.wait()
    used = cpu_stat_ns(d.v2_step(job, 1) + "/user/task_0") / 1e9
    earlier.wait()
    for x, s in zip((earlier, h), steps):
        x.go()
        s.wait()
    paths = sorted(d.file(job, i) for i in (0, 1))
    attrs, counted = attrs_of(paths[1]), whole(paths[1], "Step", "CPUTime")
    is_equal("a step that begins without descriptors, and a restart: one file, that says how it ended", (attrs["End Reason"], sorted(d.files())), ("exited", paths))
    is_near("and CPU time is cpu.stat's", counted, used, 0.001, 0.003)
    d.end()


def cut_before_and_after():
    """Another program cuts a journal, and another one after the restart."""
    d, job, h = RootedDaemon("cut", INTERVAL).start(), new_job(), Hold()
    s = d.step(job, 0, h.cmd("park"))
    for n in (1, 2):
        wait_until(lambda: d.journals() and in_use(d.journals()[0]) > first_frame_end(d.journals()[0]) + 9000, 20, "some rows")
        os.truncate(d.journals()[0], first_frame_end(d.journals()[0]))
        wait_until(lambda: len(cuts(d)) == n, 20, "the log of a cut")
        time.sleep(SETTLE)
        d.end(signal.SIGKILL)
        d.start()
    h.wait()
    h.go()
    s.wait()
    is_equal("a journal that is cut before a restart and after it: what is lost by both", int(attrs_of(d.file(job, 0))["Lost Bytes"]), sum(cuts(d)))
    d.end()


def cuts(d):
    return [int(n) for n in re.findall(r"cut its journal \S+: (\d+) bytes", d.said())]


def what_a_restart_loses():
    """Nothing; upgrade.py has what cannot go on."""
    together([lambda name=name: killed_and(name) for name in BETWEEN] + [idle_hand_over, cut_before_and_after, begun_without_files])


def frames(journal):
    """Where its frames begin, and where the last one ends."""
    with open(journal, "rb") as f:
        data, at = f.read(), [16]
    while at[-1] < len(data):
        at.append(at[-1] + 8 + (struct.unpack_from("<I", data, at[-1])[0] & 0x7fffffff))
    return at


# Frames from the end on: the one with the step's end, and that with its last rows; and bytes of them that stay
CUTS = [(frame, by) for frame in (1, 2) for by in (0, 8, -9)]


def torn_end(seconds):
    """Of the journal of a step that has ended, while its file cannot be written; so many seconds later jobprofd is killed, which then
    has its slots still, or has given them back. The file has all counts, or says that some are lost."""
    d, accounts = RootedDaemon("end", INTERVAL, Writer="/bin/false", LiveFiles="no").start(), tmpdir("acct")
    jobs = {new_job(): cut for cut in CUTS}
    steps = [d.step(job, 0, [tool("jphold"), "-o", "%s/%d.%%d" % (accounts, job), "spin=0.02", "sleep=1.5", "spin=0.02"], 2) for job in jobs]
    for s in steps:
        s.wait()
    for job in jobs:
        d.wait_said("cannot write %d_0_.*: its writer ended" % job, 30)
    time.sleep(seconds)
    d.end(signal.SIGKILL)
    for journal in d.journals():
        at, (frame, by) = frames(journal), jobs[int(os.path.basename(journal).split("_")[0])]
        os.truncate(journal, at[-1 - frame] + by if by >= 0 else at[-frame] + by)
    d.configure(Writer=None)
    d.start()
    for job, cut in jobs.items():
        path, used = d.file(job, 0), sum(own_cpu(read_account("%s/%d.%d" % (accounts, job, i)), 0.001, 0.004)[0] for i in (0, 1))
        page, attrs, counted = report_page(path), attrs_of(path), whole(path, "Step", "CPUTime")
        known = counted if cut[0] > 1 and counted < used else used
        is_equal("the end of a journal, cut in frame %d from its end, at %d, %d s after the step" % (*cut, seconds),
                 [attrs["Number of Tasks"], attrs.get("End Reason"), "counts lost" in page, "no count is lost" in attrs["Restarted"], approx(counted, known, 0.001, 0.01)],
                 [2, None, cut[0] > 1, cut[0] == 1, True])
    is_equal("ends of journals: a clean end", d.end(), 0)


def torn_ends():
    together([lambda seconds=seconds: torn_end(seconds) for seconds in (0, 3)])


def report_page(path):
    return subprocess.run([JOBPROF, "report", path], capture_output=True, text=True).stdout


def settings_and_instants():
    """None first, then All and 0.1 s by SIGHUP; rows on aligned instants."""
    d = Daemon(INTERVAL, nice=-10, ProfileHDF5Default="None").start()
    jobs = [new_job() for _ in range(2)]
    Stepd(jobs[0], 0, [tool("jpspin"), "0.5"], v2_task(tree.job(jobs[0]) + "/step_0")).end()
    time.sleep(0.5)
    is_equal("ProfileHDF5Default=None: no file", glob.glob(d.hdf5 + "/**/*.h5", recursive=True), [])
    d.configure(ProfileHDF5Default="All", JobAcctGatherFrequency="task=0.1,step=0.5")
    d.tell(signal.SIGHUP)
    wait_until(lambda: "settings read again" in d.said(), 5, "the new settings")
    is_equal("SIGHUP: what has been loaded is not missed", re.findall(".*restarted", d.said()), [])
    base = tree.job(jobs[1]) + "/step_0"
    s = Stepd(jobs[1], 0, [tool("jpspin"), "0.02"], v2_task(base, ["-w", "1.5"]))
    used = wait_until(lambda: used_and_left(base + "/user/task_0"), 5, "the task to end")
    s.end()
    # the programs were attached only when its job's directory was made; on a busy machine too late
    is_near("SIGHUP: the first step is profiled from its beginning",
            counted_and_missed(d.file(jobs[1], 0))[0], used / 1e9, 0.001, 0.0001)
    path = aligned_run(d)
    for name, interval in (("Tasks/0", 0.1), ("Step", 0.5)):
        check_instants(path, name, interval)
    d.end()


def one_row_at_the_end():
    """JobAcctGatherFrequency=0: as in Slurm accounting at the end alone, of all that was used."""
    d = Daemon(INTERVAL, nice=-10, JobAcctGatherFrequency="0").start()
    job, account = new_job(), os.path.join(tmpdir("account"), "a")
    Stepd(job, 0, [tool("jphold"), "-o", account, "spin=0.1", "sleep=1.5", "spin=0.1"],
          v2_task(tree.job(job) + "/step_0")).end()
    path = d.file(job, 0)
    is_equal("a row at the end alone", [len(table(path, name)) for name in ("Tasks/0", "Step")], [1, 1])
    is_near("a row at the end alone: all CPU time", whole(path, "Tasks/0", "CPUTime"),
            *own_cpu(read_account(account), 0.002, 0.004))
    d.end()


def lateness(path, name, interval):
    """ns after the instants, all but the last row, which the step's end makes."""
    return table(path, name)["TimeNS"].astype("int64")[:-1] % int(interval * 1e9)


def aligned_run(d):
    """A step of 3 s."""
    job = new_job()
    Stepd(job, 0, [tool("jpspin"), "3"], v2_task(tree.job(job) + "/step_0")).end()
    return d.file(job, 0)


def check_instants(path, name, interval):
    rows, attrs = table(path, name), attrs_of(path)
    t = rows["TimeNS"].astype("int64")
    late = lateness(path, name, interval)
    what = "every %g s, %s" % (interval, name)
    # On a busy machine jobprofd waits for a CPU, but not for every row: an instant may pass meanwhile.
    is_true(what + ": rows are there", len(t) >= 2.2 / interval, "%d rows" % len(t))
    is_true(what + ": rows fall on multiples of the interval", late.min() < 2e6, late)
    steps = numpy.diff(t[:-1] // int(interval * 1e9))
    is_true(what + ": none twice, and few are left out", steps.min() >= 1 and (steps > 1).mean() <= 0.25, numpy.diff(t))
    is_true(what + ": EpochTime is TimeNS in seconds", (rows["EpochTime"] == t // 10**9).all(),
            rows["EpochTime"])
    is_true(what + ": ElapsedTime is EpochTime from the start's on",
            (rows["ElapsedTime"] == t // 10**9 - attrs["Start TimeNS"] // 10**9).all(),
            rows["ElapsedTime"])


if __name__ == "__main__":
    need_bpf()
    tree = Trees()
    run_together([baseline_and_restarts])
    run_together([settings_and_instants])
    run_together([one_row_at_the_end])
    run_together([programs_attached_late])
    run_together([what_a_restart_loses])
    run_together([torn_ends])
