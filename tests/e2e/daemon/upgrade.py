#!/usr/bin/python3
# timeout: 900
# SPDX-License-Identifier: GPL-2.0-or-later
"""A jobprofd whose programs are not those of the one before: another build, or other settings. It goes on with what the earlier programs
have counted; what it cannot go on with, the file and the page say in seconds."""

import concurrent.futures
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from faultlib import *
from maplib import Maps

SETTLE = 1
TASKS = 3
ABI, CHANGING = 0, 44  # in struct jp_control
# of a start beside programs that count
STAGES = ("BPF_PROG_LOAD", "BPF_RAW_TRACEPOINT_OPEN", "BPF_MAP_LOOKUP_AND_DELETE_ELEM", "BPF_MAP_DELETE_ELEM", "BPF_ITER_CREATE", "BPF_OBJ_PIN")


class Load:
    """Steps that work until they are ended: a task that sleeps and wakes, two that share what is left of the CPUs with many short
    processes, and threads."""

    def __init__(self, d, seconds):
        self.d, self.dir = d, tmpdir("load")
        self.kinds = {
            "naps": ["jpduty", "-o", self.dir + "/naps", "0.002", "0.006"],
            "spins": ["jpduty", "-o", self.dir + "/spins", "0.05", "0.05"],
            "short processes": ["jpfork", "-d", seconds, "-p", "4", "-u", "300"],
            "threads": ["jphold"] + ["threads=3", "naps=50"] * int(seconds * 3),
        }
        self.jobs = {kind: new_job() for kind in self.kinds}
        self.steps = {kind: d.step(self.jobs[kind], 0, [tool(cmd[0])] + [str(c) for c in cmd[1:]])
                      for kind, cmd in self.kinds.items()}

    def cgroup(self, kind):
        return self.d.v2_step(self.jobs[kind], 0) + "/user/task_0"

    def end(self):
        """ns of CPU time by the cgroups, when all tasks have ended: slurmstepd does not remove them meanwhile."""
        for kind, step in self.steps.items():
            step.send_signal(signal.SIGSTOP)
            while not used_and_left(self.cgroup(kind)):
                with open(self.cgroup(kind) + "/cgroup.procs") as f:
                    for pid in f.read().split():
                        tell(int(pid), signal.SIGTERM)
                time.sleep(0.1)
        used = {kind: cpu_stat_ns(self.cgroup(kind)) for kind in self.kinds}
        for step in self.steps.values():
            step.send_signal(signal.SIGCONT)
        return used

    def check(self, name, used):
        for kind in self.kinds:
            path = self.d.file(self.jobs[kind], 0)
            counted, missed = whole(path, "Step", "CPUTime"), attrs_of(path).get("Missed CPU Time", 0)
            is_near("%s, %s: CPU time is cpu.stat's" % (name, kind), counted + missed, used[kind] / 1e9, 0, 0.01)
            is_true("%s, %s: the file says that nothing is lost" % (name, kind), is_whole(path), attrs_of(path).get("Restarted"))
        for kind in ("naps", "spins"):
            rows, account = task_rows(self.d.path(self.jobs[kind], 0)), read_account("%s/%s" % (self.dir, kind))
            # waits before it comes to its cgroup, and after its account, are in one of them only
            is_near("%s, %s: run delay is schedstat's" % (name, kind), rows["RunDelay"].sum(),
                    account["schedstat.delay_ns"] / 1e9, 0.002, 0.06)
            ours = int(rows["VolSwitches"].sum() + rows["InvolSwitches"].sum())
            kernel = int(account["self.nvcsw"] + account["self.nivcsw"])
            is_true("%s, %s: switches are the kernel's" % (name, kind), -20 <= ours - kernel <= 20, (ours, kernel))


def tell(pid, sig):
    try:
        os.kill(pid, sig)
    except ProcessLookupError:
        pass  # it has just ended


def is_whole(path):
    attrs = attrs_of(path)
    return "no count is lost" in attrs.get("Restarted", "") and not [a for a in attrs if a in ("Lost Time", "Lost Counts", "Lost CPU Time")]


def restarts(name, times, change):
    """change: called between a jobprofd that leaves and the next one, with its number."""
    d = RootedDaemon("up", 0.2, nice=-10).start()
    load = Load(d, times * 30)
    for kind in load.kinds:
        d.wait_said("profiling %d_0" % load.jobs[kind], 20)
    time.sleep(SETTLE)
    for i in range(times):
        d.end(signal.SIGUSR1 if i % 2 else signal.SIGKILL)
        change(d, i)
        d.start()
        time.sleep(0.3)
    used = load.end()
    is_equal(name + ": how often the next one went on with their counts", len(re.findall("goes on with the counts of another", d.said())), times)
    load.check(name, used)
    is_equal(name + ": nothing is lost by the log", re.findall(".*lost.*", d.said())[:3], [])
    d.end()


def other_settings():
    """Sizes of tables, families and layouts of cgroups."""
    def change(d, i):
        d.configure(MaxSlots=(192, 128, 160)[i % 3], RingSize=(512, 256)[i % 2], CgroupPattern=None,
                    ProfileHDF5Default=("all,stack", "All")[i % 2])
        d.patterns = [d.root + "/box/box-*//t-*"] * (i % 2)

    restarts("other settings", 4, change)


# What a later build may look like: fields come, and change their places and sizes.
CHANGES = (
    ("bpf/jobprof.h", r"(define JP_ABI_VERSION) \d+", r"\1 1000"),
    ("bpf/maps.bpf.h", r"\tu64 cpu_ns;\n(\tu64 move_cpu_ns;[^\n]*\n\tu64 run_delay_ns;\n)", r"\tu64 novel;\n\1\tu64 cpu_ns;\n"),
    ("bpf/maps.bpf.h", r"(\tu64 user_ns;\n)(\tu64 system_ns;\n)", r"\2\tu32 novel32[3];\n\tu32 novel_pad;\n\1"),
    ("bpf/abi/sched.h", r"(\t__u64 cpu_ns;\n)(\t__u64 run_delay_ns;\n)(\t__u64 vol_switches;\n)", r"\3\2\1"),
    ("bpf/abi/account.h", r"(struct jp_acct \{\n)", r"\1\t__u64 novel;\n"),
    ("bpf/abi/account.h", r"== 272 \+", r"== 280 +"),
    ("bpf/abi/account.h", r"(\t__u64 cpu_ns;\n)(\t__u64 run_delay_ns;\n)", r"\2\1"),
    ("bpf/abi/slot.h", r"(\t__u64 cgroup_id;\n)(\t__u32 hier;\n)(\t__s32 gtid;\n)", r"\3\2\1\t__u64 novel;\n"),
    ("bpf/abi/slot.h", r"== 120 \+ JP_PATH", r"== 128 + JP_PATH"),
    ("bpf/abi/slot.h", r"(\t__u16 component;[^\n]*\n)(\t__u8 kind;[^\n]*\n\t__u8 flags;[^\n]*\n)", r"\2\1"),
)


def build_other():
    """jobprofd of a build whose BPF structs are other ones."""
    top = tmpdir("other")
    for name in ("Makefile", "bpf", "user", "schemas", "skel", "tests", "scripts", "conf", "web"):
        if os.path.isdir(os.path.join(ROOT, name)):
            shutil.copytree(os.path.join(ROOT, name), os.path.join(top, name), ignore=shutil.ignore_patterns("node_modules", "build"))
        elif os.path.exists(os.path.join(ROOT, name)):
            shutil.copy(os.path.join(ROOT, name), top)
    for name, old, new in CHANGES:
        path = os.path.join(top, name)
        with open(path) as f:
            text, n = re.subn(old, new, f.read(), count=1)
        if not n:
            raise Failed("%s has no %s: CHANGES is to be adapted" % (name, old))
        with open(path, "w") as f:
            f.write(text)
    cc = ["CC=ccache gcc"] if shutil.which("ccache") else []
    made = subprocess.run(["make", "-s", "-j2", "B=build", *cc, "build/jobprofd"], cwd=top, capture_output=True, text=True, timeout=900)
    if made.returncode:
        raise Failed("the other build: " + made.stderr[-1500:])
    return os.path.join(top, "build/jobprofd")


@in_full
def other_build():
    """There and back, 20 times."""
    programs = (build_other(), JOBPROFD)

    def change(d, i):
        d.program = programs[i % 2]

    restarts("other build", 20, change)


class Traced(RootedDaemon):
    """Takes over from others by other settings, and strace does something meanwhile."""

    size = 512

    def next(self, *wrap):
        self.size = 768 - self.size
        self.configure(RingSize=str(self.size))
        self.wrap = ["strace", "-qq", "-e", "trace=bpf", *wrap]
        self.spawn()
        self.wrap = []

    def die(self):
        os.kill(children(self.proc.pid)[0], signal.SIGKILL)
        self.proc.wait(20)

    def calls(self):
        """Names of its calls of bpf(2), until it is ready."""
        log = os.path.join(tmpdir("calls"), "log")
        self.next("-o", log)
        self.ready()
        self.die()
        return re.findall(r"^bpf\((\w+)", slurp(log), re.M)

    def points(self):
        """Numbers of its calls: before and after each stage of what it does."""
        calls, ends = self.calls(), set()
        for name in STAGES:
            at = [i for i, c in enumerate(calls, 1) if c == name]
            ends.update(at if name == "BPF_ITER_CREATE" else (at[0], at[-1]))
        return sorted(ends | {i + 1 for i in ends if i < len(calls)})


def working(d):
    load = Load(d, 60)
    for kind in load.kinds:
        d.wait_said("profiling %d_0" % load.jobs[kind], 20)
    d.end(signal.SIGKILL)
    return load


def killed_at(d, call):
    """While it takes over, at its so many'th call. What the one after it has counted of a step, and what the step's file says is lost, are cpu.stat's."""
    load = working(d)
    d.next("-o", "/dev/null", "-e", "inject=bpf:signal=SIGKILL:when=%d" % call)
    d.proc.wait(60)
    d.start()
    time.sleep(0.3)
    used = load.end()
    for kind in load.kinds:
        path = d.file(load.jobs[kind], 0)
        attrs = attrs_of(path)
        lost = attrs.get("Missed CPU Time", 0) + attrs.get("Lost CPU Time", 0)
        is_near("killed at call %d, %s: CPU time counted, and said to be lost, is cpu.stat's" % (call, kind), whole(path, "Step", "CPUTime") + lost,
                used[kind] / 1e9, 0, 0.02)
        is_true("killed at call %d, %s: the file is whole, or says that it is not" % (call, kind), is_whole(path) or attrs.get("Lost Counts"), attrs)


@in_full
def killed_while_it_takes_over():
    if not shutil.which("strace"):
        raise Skipped("no strace")
    d = Traced("dies", 0.2, nice=-10, MaxSlots=192).start()
    load = working(d)
    points = d.points()
    d.start()
    load.end()
    for call in points:
        killed_at(d, call)
    d.end()


def steps_until(over, d):
    """One after the other, of three tasks each."""
    steps = {}
    while not over.wait(0.03):
        job = new_job()
        steps[job] = d.step(job, 0, [tool("jphold"), "spin=0.01", "sleep=0.1"], TASKS)
    return steps


@in_full
def begun_meanwhile():
    """While directories of cgroups are taken over, slowly: each step has a table of each task, or its file or the log says what is missing."""
    if not shutil.which("strace"):
        raise Skipped("no strace")
    d, hold, job = Traced("meanwhile", 0.2, nice=-10, MaxSlots=512).start(), Hold(), new_job()
    stays = d.step(job, 0, hold.cmd("park"))
    hold.wait()
    d.end(signal.SIGKILL)
    calls = d.calls()
    first = calls.index("BPF_MAP_GET_NEXT_KEY", max(i for i, c in enumerate(calls) if c == "BPF_RAW_TRACEPOINT_OPEN"))
    d.next("-o", "/dev/null", "-e", "inject=bpf:delay_enter=10000:when=%d..%d" % (first, first + 60))
    over = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        made = pool.submit(steps_until, over, d)
        d.ready(100)
        over.set()
        steps = made.result()
    for s in steps.values():
        s.wait(60)
    time.sleep(SETTLE)
    d.die()
    d.start()
    wait_until(lambda: len(d.journals()) == 1, 60, "all files but that of the step that stays")
    files = {j: d.path(j, 0) for j in steps if os.path.exists(d.path(j, 0))}
    said = max([int(n) for n in re.findall(r"(\d+) steps? found none so far", d.said())] + [0])
    is_true("steps that begin meanwhile have a file, or the log counts them", len(steps) - len(files) <= said, (len(steps), len(files), said))
    silent = [attrs_of(f) for f in files.values() if not has_tasks(f)]
    is_equal("and tables of all tasks, or say that they have not", silent, [])
    hold.go()
    stays.wait()
    d.end()


def has_tasks(path):
    attrs = attrs_of(path)
    with h5py.File(path, "r") as f:
        return len(f[next(iter(f))].get("Tasks", ())) == TASKS or any(attrs.get(k) for k in ("Unattributed", "Baseline", "Missed CPU Time", "Lost Counts"))


def counted_task(**settings):
    """A step of one task that parks when jobprofd has left, with CPU time behind it that no row has."""
    d, job, h = RootedDaemon("cannot", 0.2, **settings).start(), new_job(), Holds("0")
    cgroup = d.v2_step(job, 0)
    os.makedirs(os.path.dirname(cgroup))
    d.wakes()
    s = Stepd(job, 0, h.cmd("spin=0.2", "park", "spin=0.4", "park", "spin=0.1", "park"), v2_task(cgroup))
    h.wait()
    time.sleep(SETTLE)
    left = time.monotonic()
    d.end(signal.SIGKILL)
    h.go()
    h.wait()
    return d, job, h, s, cgroup, left


def end_of_task(d, job, h, s, cgroup):
    """The file, the page, what is found of the file by jobprof show, and ns of CPU time by the cgroup."""
    time.sleep(SETTLE)
    h.go()
    h.wait()
    used = cpu_stat_ns(cgroup + "/user/task_0") / 1e9
    h.go()
    s.end()
    path = d.file(job, 0)
    d.end()
    page, shown = (subprocess.run([JOBPROF, verb, path], capture_output=True, text=True).stdout for verb in ("report", "show"))
    return path, page, shown, used


def cannot_go_on(name="cannot go on", at=ABI, why="its numbers mean other things"):
    """By a number of the control page."""
    d, job, h, s, cgroup, left = counted_task()
    maps = Maps(d.pin)
    raw = bytearray(maps.get("jp_control", 0))
    struct.pack_into("<I", raw, at, 1)
    maps.put("jp_control", 0, bytes(raw))
    d.start()
    away = time.monotonic() - left
    path, page, shown, used = end_of_task(d, job, h, s, cgroup)
    attrs = attrs_of(path)
    counted, lost = whole(path, "Step", "CPUTime"), attrs.get("Lost CPU Time", 0)
    is_true(name + ": the log has the reason", re.search("cannot be taken over: " + why, d.said()), d.said()[-1500:])
    is_true(name + ": some is lost", lost > 0, (counted, lost, used))
    is_near(name + ": what is counted, and what is lost by the file, are cpu.stat's", counted + lost, used, 0, 0.01)
    is_near(name + ": for how long", attrs.get("Lost Time", 0), away, 0, 0.7)
    is_equal(name + ": of what", attrs.get("Lost Counts"), "all")
    is_true(name + ": the page says how many seconds of what",
            re.search(r", \d[\d.]* m?s of all counts lost at a restart, \d[\d.]* m?s of CPU time", page) and "none missing" not in page, page[:600])
    is_true(name + ": jobprof show, too", re.search("^Lost Time: ", shown, re.M) and re.search("^Lost CPU Time: ", shown, re.M), shown[:1500])


def died_amid_a_change():
    cannot_go_on("died amid a change", CHANGING, "another jobprofd was killed while it did that")


def other_events():
    """What is counted by number is of no use where the numbers are of other events. All else goes on."""
    d, job, h, s, cgroup, left = counted_task(PerfEvents="cpu-clock,context-switches")
    d.configure(PerfEvents="context-switches,cpu-clock")
    d.start()
    path, page, _, used = end_of_task(d, job, h, s, cgroup)
    attrs = attrs_of(path)
    is_near("other events: CPU time is cpu.stat's", whole(path, "Step", "CPUTime"), used, 0, 0.01)
    is_equal("other events: the file says what is lost", attrs.get("Lost Counts"), "perf")
    is_true("other events: the page says how many seconds of it",
            re.search(r", \d[\d.]* m?s of perf counts lost at a restart", page) and "none missing" not in page, page[:600])


if __name__ == "__main__":
    need_bpf()
    run_tests((other_settings, other_build, begun_meanwhile, killed_while_it_takes_over))
    run_together((cannot_go_on, died_amid_a_change, other_events))
