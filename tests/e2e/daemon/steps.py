#!/usr/bin/python3
# timeout: 200
# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps as Slurm makes them, followed by a running jobprofd on the real kernel. Every number is
compared with what the kernel says of the processes themselves or of their cgroups."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

INTERVAL = 0.2
SETTLE = 6 * INTERVAL  # beside many others jobprofd waits half a second for a CPU at times
NOBODY = 65534
HEX64 = "0123456789abcdef" * 4
tree = None
main = None  # the jobprofd that most scenarios share


def work(i, d):
    """What a task does between two parks: CPU, switches, I/O, memory; not the same in all."""
    return ["park", "spin=0.3", "naps=%d" % (40 + 10 * i), "write=%s/w.%%d:%d" % (d, 3 + i),
            "read=%s/w.%%d:2" % d, "anon=5", "park"]


def v2_task_cgroups():
    job, h = new_job(), Holds("01s")
    base = tree.job(job) + "/step_0"
    s = Stepd(job, 0, h.cmd(*work(0, h.dir)), v2_task(base, ["-b", 0.5]), n=2, first=5)
    wait_until(lambda: os.path.isdir(base + "/user/task_1"), 10, "the step's cgroups")
    special = base + "/user/task_special"
    os.mkdir(special)
    stray = start_in([special], h.cmd("park", "spin=0.2", "park", word="s"))
    h.wait()
    w = Window(h.all, SETTLE)
    h.go()
    stray.wait()
    os.rmdir(special)
    s.end()
    path = main.file(job, 0)
    is_equal("v2 task cgroups: tables have SLURM_PROCID's names", tasks_of(path), [5, 6])
    for i in (0, 1):
        compare("v2 task cgroups, task %d" % (5 + i), w, task_table(path, 5 + i), [i])
    step = table(path, "Step")
    compare("v2 task cgroups, Step with task_special", w, step)
    is_near("v2 task cgroups: Step is its processes, without slurmstepd", total(step, "CPUTime"),
            sum(a["run_ns"] for a in w.after) / 1e9, 0.001,
            0.001 + sum(a["run_ns"] for a in w.before) / 1e9)  # their starts
    attrs = attrs_of(path)
    is_equal("v2 task cgroups: attributes", [attrs["Number of Tasks"], attrs["Exit Status"],
             attrs["End Reason"], attrs["UID"], attrs["Job Id"]], [2, 0, "exited", 0, job])


def max_cgroups():
    """A job makes more cgroups than MaxCgroups allows: what runs there counts in its task, and other jobs have theirs."""
    d, h, other = Daemon(INTERVAL, MaxCgroups=1024).start(), Holds("0"), Holds("0")
    job, second = new_job(), new_job()
    base = tree.job(job) + "/step_0"
    s = Stepd(job, 0, h.cmd("park"), v2_task(base, ["-b", 0.5]))
    wait_until(lambda: os.path.isdir(base + "/user/task_0"), 10, "the step's cgroups")
    made = [base + "/user/task_0/more_%d" % i for i in range(1500)]
    for path in made:
        os.mkdir(path)
    h.wait()
    start_in([made[-1]], [tool("jpspin"), "0.5"]).wait()
    own = cpu_stat_ns(made[-1]) / 1e9
    s2 = Stepd(second, 0, other.cmd("spin=0.2", "park"), v2_task(tree.job(second) + "/step_0"))
    other.wait()
    used = cpu_stat_ns(tree.job(second) + "/step_0/user/task_0") / 1e9
    for path in made:
        os.rmdir(path)
    for step, hold in ((s, h), (s2, other)):
        hold.go()
        step.end()
    path = d.file(job, 0)
    is_true("max cgroups: what runs in the last is its task's", total(task_table(path, 0), "CPUTime") > 0.95 * own, own)
    is_near("max cgroups: the other job's task", total(task_table(d.file(second, 0), 0), "CPUTime"), used, 0.01, 0.02)
    for p in (path, d.file(second, 0)):
        is_true("max cgroups: none is uncounted", "Uncounted Cgroups" not in attrs_of(p), attrs_of(p))
    d.end()


def full_cgroups():
    """Other jobs' directories fill the table of cgroups: a job's own that find no room are not in its share."""
    d, h = Daemon(INTERVAL, MaxCgroups=1024).start(), Holds("0")
    job = new_job()
    base = tree.job(job) + "/step_0"
    s = Stepd(job, 0, h.cmd("park"), v2_task(base, ["-b", 0.5]))
    h.wait()
    others = ["%s/job_%d" % (os.path.dirname(tree.job(job)), new_job()) for _ in range(1100)]
    own = [base + "/user/task_0/more_%d" % i for i in range(600)]
    deep = [base + "/user/task_0" + "/deep" * i for i in range(1, 21)]
    for path in others + own:
        os.mkdir(path)
    for path in own + others:
        os.rmdir(path)
    for path in deep:
        os.mkdir(path)
    start_in([deep[-1]], [tool("jpspin"), "0.5"]).wait()
    used = cpu_stat_ns(deep[-1]) / 1e9
    for path in deep[::-1]:
        os.rmdir(path)
    h.go()
    s.end()
    is_true("full cgroups: what runs far down is its task's", total(task_table(d.file(job, 0), 0), "CPUTime") > 0.95 * used, used)
    d.end()


def two_lineages(name, s, job, h):
    """Two tasks in one cgroup, each with a child: holds are root 0, child 0, root 1, child 1."""
    h.wait()
    w = Window(h.all, SETTLE)
    h.go()
    s.end()
    path = main.file(job, 0)
    is_equal(name + ": tables", tasks_of(path), [2, 3])
    for i in (0, 1):
        compare("%s: task %d and its child" % (name, 2 + i), w, task_table(path, 2 + i),
                [2 * i, 2 * i + 1])
    compare(name + ": Step", w, table(path, "Step"))
    return path


def lineage_cmd(h):
    """Both park by the task's local number; the child is the shell's, not slurmstepd's."""
    one = " ".join(h.cmd("park", "spin=0.3", "naps=30", "write=/dev/null:3", "park",
                         word="c$SLURM_LOCALID"))
    two = " ".join(h.cmd("park", "spin=0.15", "naps=70", "write=/dev/null:1", "park",
                         word="r$SLURM_LOCALID"))
    return ["sh", "-c", "(%s) & %s; wait" % (one, two)]


def v2_task_special():
    job, h = new_job(), Holds(["r0", "c0", "r1", "c1"])
    s = Stepd(job, 0, lineage_cmd(h), v2_shared(tree.job(job) + "/step_0"), n=2, first=2)
    two_lineages("v2 task_special", s, job, h)


def v1_freezer():
    job, h = new_job(), Holds(["r0", "c0", "r1", "c1"])
    base = tree.v1(0, job)
    s = Stepd(job, 0, lineage_cmd(h), ["-d", base, "-S", "-c", base + "/step_0", "-b", 0.3], n=2,
              first=2)
    path = two_lineages("v1 freezer", s, job, h)
    step = table(path, "Step")
    is_near("v1 freezer: Step is its tasks, without slurmstepd", total(step, "CPUTime"),
            whole(path, "Tasks/2", "CPUTime") + whole(path, "Tasks/3", "CPUTime"), 0, 0.003)


def sluid_tree():
    job, name = new_job(), new_sluid(1)
    base = tree.job(job, name)
    steps = [("batch", "batch", 0), ("extern", "4294967292", 0), ("0+1", "0", 3)]
    running = []
    for step, in_file, first in steps:
        h = Holds("0")
        s = Stepd(job, step, h.cmd("park", "spin=0.2", "naps=20", "park"),
                  v2_task("%s/step_%s" % (base, step)), first=first)
        running.append((step, in_file, first, h, s))
    for r in running:
        r[3].wait()
    w = Window([r[3].all[0] for r in running], SETTLE)
    for i, (step, in_file, first, h, s) in enumerate(running):
        h.go()
        s.end()
        path = main.file(job, in_file)
        compare("SLUID tree, step " + step, w, task_table(path, first), [i])
        attrs = attrs_of(path)
        is_equal("SLUID tree, step %s: ids" % step,
                 [attrs["Job Id"], attrs["SLUID"], attrs["Step"]],
                 [job, name, step])


def fnv1a(text):
    h = 2166136261
    for c in text.encode():
        h = (h ^ c) * 16777619 & 0xffffffff
    return h


def containers():
    """CgroupPattern without a task level; 64 hex digits between prefix and suffix."""
    name = "docker-%s.scope" % HEX64
    h = Holds("0")
    d = mkcg("jptest%d.pods/%s" % (PID, name))
    p = start_in([d], h.cmd("park", "spin=0.3", "naps=30", "park", word="0"))
    h.wait()
    w = Window(h.all, SETTLE)
    h.go()
    p.wait()
    os.rmdir(d)
    path = main.file(0, "%s-%08x" % (name[:55], fnv1a(name)))
    rows = table(path, "Step")
    compare("CgroupPattern, a container", w, rows)
    is_true("CgroupPattern, a container: rows while it runs", len(rows) > 5,
            "%d rows" % len(rows))
    is_equal("CgroupPattern, a container: no tasks", tasks_of(path), [])


def born_inside():
    """CLONE_INTO_CGROUP: no move is told, not even at birth."""
    name = "docker-%s.scope" % HEX64[::-1]
    d = mkcg("jptest%d.pods/%s" % (PID, name))
    p = start([tool("jpinto"), d, "sh", "-c", "%s 0.1; exit 5" % tool("jpspin")],
              stdout=subprocess.DEVNULL)
    is_equal("born in a container: its own status", p.wait(), 5)
    used = cpu_stat_ns(d)
    os.rmdir(d)
    path = main.file(0, "%s-%08x" % (name[:55], fnv1a(name)))
    is_near("born in a container: CPU time is cpu.stat's", whole(path, "Step", "CPUTime"),
            used / 1e9, 0.001, 0.0001)
    is_equal("born in a container: forks and status",
             [whole(path, "Step", "Forks"), attrs_of(path)["Exit Status"]], [1, 5])


def moved_in():
    """A process that moves into a new step and executes nothing there, then out, asleep."""
    name = "docker-%s.scope" % ("ab" * 32)
    h = Holds("0")
    p = start(h.cmd("park", "spin=0.2", "naps=20", "park", "spin=0.1", "park", word="0"),
              stdout=subprocess.DEVNULL)
    h.wait()
    d = mkcg("jptest%d.pods/%s" % (PID, name))
    move(p.pid, d)
    time.sleep(1)
    w = Window(h.all, SETTLE)
    move(p.pid, cgroup2_mount())
    os.rmdir(d)
    # it does not leave the CPU again before it is let go: the file does not wait for that
    path = main.file(0, "%s-%08x" % (name[:55], fnv1a(name)), seconds=6)
    rows = table(path, "Step")
    compare("moved in and out", w, rows)
    is_true("moved in and out: rows while it runs", len(rows) > 4, "%d rows" % len(rows))
    is_near("moved in and out: nothing else", total(rows, "CPUTime"), w.kernel("run_ns") / 1e9,
            0.001, 0.001)
    h.go()
    h.wait()
    h.go()
    p.wait()


def exec_by_a_thread():
    """The thread takes the process's id; the first program's status is still its last."""
    job = new_job()
    base = tree.job(job) + "/step_0"
    code = ("import os, threading, time\n"
            "threading.Thread(target=lambda: os.execv('/bin/sh', ['sh', '-c', '%s 0.1; exit 6']))"
            ".start()\ntime.sleep(20)" % tool("jpspin"))
    s = Stepd(job, 0, [sys.executable, "-c", code], v2_task(base, ["-w", "1.5"]))
    used = wait_until(lambda: used_and_left(base + "/user/task_0"), 10, "the task to end")
    s.end()
    path = main.file(job, 0)
    is_near("exec by a thread: CPU time is cpu.stat's", whole(path, "Step", "CPUTime"),
            used / 1e9, 0.001, 0.0001)
    is_equal("exec by a thread: how it ended", attrs_of(path)["Exit Status"], 6)


def pattern_tasks():
    """CgroupPattern with a task level: the number in the name is all that can be known."""
    h = Holds("01")
    top = mkcg("jptest%d.batch/run-7" % PID)
    dirs = [os.path.join(top, "rank-%d" % (4 + i)) for i in (0, 1)]
    for d in dirs:
        os.mkdir(d)
    ps = [start_in([d], h.cmd("park", "spin=0.2", "naps=%d" % (20 + i), "park", word=str(i)))
          for i, d in enumerate(dirs)]
    h.wait()
    w = Window(h.all, SETTLE)
    h.go()
    for p in ps:
        p.wait()
    for d in dirs + [top]:
        os.rmdir(d)
    path = main.file(0, "run-7")
    is_equal("CgroupPattern with tasks: tables", tasks_of(path), [4, 5])
    for i in (0, 1):
        compare("CgroupPattern with tasks: rank %d" % (4 + i), w, task_table(path, 4 + i), [i])
    compare("CgroupPattern with tasks: Step", w, table(path, "Step"))


def no_procid():
    """Nothing says which task it is: its counts stay with the step, on time."""
    for what, more in (("missing", ["-P"]), ("garbage", ["-P", "-e", "SLURM_PROCID=7x"]),
                       ("negative", ["-P", "-e", "SLURM_PROCID=-1"]),
                       ("huge", ["-P", "-e", "SLURM_PROCID=99999999999"])):
        job, h = new_job(), Holds("0")
        args = v2_task(tree.job(job) + "/step_0", more)
        s = Stepd(job, 0, h.cmd("park", "spin=0.1", "naps=10", "park"), args)
        h.wait()
        w = Window(h.all, SETTLE)
        h.go()
        s.end()
        path = main.file(job, 0)
        is_equal("SLURM_PROCID %s: no task is invented" % what, tasks_of(path), [])
        compare("SLURM_PROCID %s: Step" % what, w, table(path, "Step"))


def false_stepd_inside(name, uid, user):
    """In a step everybody is of the step, whatever he calls himself."""
    job, h = new_job(), Holds("0")
    false = [public_tool("jpstepd"), "-j", "1", "-f", "77", "--"]
    hold = [public_tool("jphold")] + h.cmd("park", "spin=0.2", "naps=20", "park", word="0")[1:]
    s = Stepd(job, 0, false + hold, v2_task(tree.job(job) + "/step_0", ["-u", uid]), first=1)
    h.wait()
    w = Window(h.all, SETTLE)
    h.go()
    s.end()
    path = main.file(job, 0, user)
    is_equal(name + ": names no task", tasks_of(path), [1])
    compare(name + ": counts with its task", w, task_table(path, 1))


def false_slurmstepd():
    together([lambda: false_stepd_inside("a user's slurmstepd in a task", NOBODY, "nobody"),
              lambda: false_stepd_inside("root's slurmstepd in a task", 0, "root"),
              false_stepd_outside])


def false_stepd_outside():
    """Its child is moved into a step before it execs."""
    name = "a user's slurmstepd outside the step"
    job, h, gates = new_job(), Holds("01"), tmpdir("gates")
    base = tree.job(job) + "/step_0"
    s = Stepd(job, 0, h.cmd("park", "park"), v2_task(base))
    h.all[0].wait()
    os.chmod(gates, 0o755)
    for g in "12":
        os.mkdir(os.path.join(gates, g))
        os.mkfifo(os.path.join(gates, g, "cgroup.procs"))
        os.chmod(os.path.join(gates, g, "cgroup.procs"), 0o666)
    # it says its child's pid through the first, and is held by the second until that is moved
    user = start([public_tool("jpstepd"), "-f", "99", "-S", "-c", gates + "/1", "-c",
                  gates + "/2", "--", public_tool("jphold")] +
                 h.cmd("park", "spin=0.2", "park", word="1")[1:],
                 stdin=subprocess.DEVNULL, user=NOBODY, group=NOBODY, extra_groups=[],
                 env=plain_env())
    with open(gates + "/1/cgroup.procs") as f:
        pid = int(f.read())
    os.mkdir(base + "/user/task_special")
    move(pid, base + "/user/task_special")
    with open(gates + "/2/cgroup.procs") as f:
        f.read()
    h.all[1].wait()
    is_equal(name + ": it is its child", h.all[1].pid, pid)
    w = Window(h.all, SETTLE)
    h.go()
    user.wait()
    os.rmdir(base + "/user/task_special")
    s.end()
    path = main.file(job, 0)
    is_equal(name + ": names no task", tasks_of(path), [0])
    compare(name + ": counts with the step", w, table(path, "Step"))


class TwoSteps:
    """Two steps with a parked task each, and a directory in each for a process that moves."""

    def __init__(self):
        self.job, self.h = new_job(), Holds("01")
        bases = ["%s/step_%d" % (tree.job(self.job), i) for i in (0, 1)]
        self.steps = [Stepd(self.job, i, self.h.cmd("park", word=str(i)), v2_task(bases[i]))
                      for i in (0, 1)]
        self.h.wait()
        self.special = [b + "/user/task_special" for b in bases]
        for d in self.special:
            os.mkdir(d)

    def end(self):
        """Returns both files."""
        self.h.go()
        for d in self.special:
            wait_until(lambda: not open(d + "/cgroup.procs").read(), 5, "the cgroup to be empty")
            os.rmdir(d)
        for s in self.steps:
            s.end()
        return [main.file(self.job, i) for i in (0, 1)]


def moved_process():
    two, h = TwoSteps(), Holds("p")
    p = start_in([two.special[0]], h.cmd("park", "spin=0.8", "naps=10", "park", word="p"))
    h.wait()
    w = Window(h.all, SETTLE, lambda: (time.sleep(0.4), move(p.pid, two.special[1])))
    h.go()
    p.wait()
    rows = [table(f, "Step") for f in two.end()]
    cpu, delay = ([w.ours(r, c) for r in rows] for c in ("CPUTime", "RunDelay"))
    is_near("a moved process: CPU time before and after is its own", sum(cpu),
            w.kernel("run_ns") / 1e9, 0.001, 0.001 + TICK)
    is_near("a moved process: run delay before and after", sum(delay),
            w.kernel("delay_ns") / 1e9, 0.001, 0.001 + TICK)
    is_true("a moved process: each step has its part", min(cpu) > 0.001, cpu)
    for c, k in (("VolSwitches", "nvcsw"), ("InvolSwitches", "nivcsw"), ("MinorFaults", "minflt")):
        is_equal("a moved process: %s before and after" % c, sum(w.ours(r, c) for r in rows),
                 w.kernel(k))


def left_the_step():
    """A task that goes to a cgroup of nobody: counted until then, and the file and the page say so."""
    job, h = new_job(), Holds("0")
    base = tree.job(job) + "/step_0"
    s = Stepd(job, 0, h.cmd("spin=0.2", "park", "spin=0.2", "park"), v2_task(base))
    h.wait()
    used = cpu_stat_ns(base + "/user/task_0") / 1e9
    move(h.all[0].pid, cgroup2_mount())
    at = time.time()
    h.go()
    h.wait()
    h.go()
    s.end()
    path = main.file(job, 0)
    is_near("left the step: counted until then", whole(path, "Tasks/0", "CPUTime"), used, 0.001, 0.002)
    a = attrs_of(path)
    is_near("left the step: the file says when", a["Start TimeNS"] / 1e9 + a["Left Cgroup After"], at, 0, 0.1)
    page = subprocess.run([JOBPROF, "report", path], capture_output=True, text=True).stdout
    is_equal("left the step: the page says so", [", none missing" in page, "what left is not counted from then on" in page],
             [False, True])


def moved_threads():
    """The kernel tells of the move of the first thread only."""
    two = TwoSteps()
    p = start_in([two.special[0]], [tool("jpspin"), "1.2", "9"])
    time.sleep(0.6)
    move(p.pid, two.special[1])
    p.wait()
    used = [cpu_stat_ns(d) / 1e9 for d in two.special]
    files = two.end()
    ours = [whole(f, "Step", "CPUTime") - whole(f, "Tasks/0", "CPUTime") for f in files]
    is_near("nine moved threads: CPU time before and after", sum(ours), sum(used), 0.001,
            0.001 + TICK)
    for i in (0, 1):
        is_near("nine moved threads: CPU time in step %d is cpu.stat's" % i, ours[i], used[i],
                0.001, 0.001 + os.cpu_count() * TICK)


def setsid_daemon():
    """Two tasks in one cgroup: the daemon of one outlives all of it but the step."""
    job = new_job()
    d = tmpdir()
    base = tree.job(job) + "/step_0"
    cmd = "[ $SLURM_LOCALID = 1 ] || %s -o %s/account 1; exec %s 0.1" % (
        tool("jpsetsid"), d, tool("jpspin"))
    s = Stepd(job, 0, ["sh", "-c", cmd], v2_shared(base, ["-w", "2.2"]), n=2)
    account = wait_until(lambda: os.path.exists(d + "/account"), 10, "the daemon to end")
    time.sleep(0.2)
    used = cpu_stat_ns(base + "/user/task_special") / 1e9
    s.end()
    path = main.file(job, 0)
    a = read_account(d + "/account")
    daemon = (a["self.utime_us"] + a["self.stime_us"]) / 1e6
    first, second = (whole(path, "Tasks/%d" % i, "CPUTime") for i in (0, 1))
    is_near("setsid daemon: the two tasks are all of cpu.stat", first + second, used, 0.001,
            0.001 + 2 * a["start.run_ns"] / 1e9)
    is_true("setsid daemon: counted in its task until the step ends",
            daemon < first < daemon + 0.25 and second < 0.2,
            "tasks %.3f and %.3f s, the daemon %.3f s" % (first, second, daemon))


def ordinary_user():
    """The file is the user's, whoever the path or the first program says he is."""
    for name, v1 in (("v2, by the program's user", False), ("v1, by the path's", True)):
        job, h = new_job(), Holds("0")
        if v1:
            base = tree.v1(NOBODY, job)
            args = ["-d", base, "-S", "-c", base + "/step_0", "-u", NOBODY]
        else:
            args = v2_task(tree.job(job) + "/step_0", ["-u", NOBODY])
        cmd = h.cmd("park", "spin=0.1", "naps=10", "park")
        s = Stepd(job, 0, [public_tool("jphold")] + cmd[1:], args)
        h.wait()
        w = Window(h.all, SETTLE)
        live = os.path.join(main.hdf5, "nobody", ".%d_0_%s.h5" % (job, NODE))
        wait_until(lambda: os.path.exists(live), 10, "the live file")
        h.go()
        s.end()
        path = main.file(job, 0, "nobody")
        compare("ordinary user, " + name, w, task_table(path))
        st, up = os.stat(path), os.stat(os.path.dirname(path))
        is_equal("ordinary user, %s: file and directory are his" % name,
                 [st.st_uid, st.st_gid, up.st_uid, up.st_mode & 0o777, attrs_of(path)["UID"]],
                 [NOBODY, NOBODY, NOBODY, 0o700, NOBODY])
        wait_until(lambda: not os.path.exists(live), 10, "the live file to go, which it does after the final one has come")


def start_main():
    global main, tree
    tree = Trees()
    main = Daemon(INTERVAL, CgroupPattern=["/jptest%d.pods/docker-*.scope" % PID,
                                           "/jptest%d.batch/run-*//rank-*" % PID]).start()


def main_ends():
    is_equal("jobprofd ends with status 0", main.end(), 0)
    is_true("its pins are gone", not os.path.exists(main.pin), main.pin)
    bad = [line for line in main.said().splitlines()
           if not re.search(r": (version|profiling|wrote|settings|scontrol is asked) ", line)]
    is_equal("jobprofd had nothing to complain of", bad, [])


if __name__ == "__main__":
    need_bpf()
    start_main()
    run_together([v2_task_cgroups, v2_task_special, v1_freezer, sluid_tree])
    run_together([containers, pattern_tasks, no_procid, false_slurmstepd])
    run_together([born_inside, moved_in, exec_by_a_thread])
    run_together([moved_process, left_the_step, moved_threads, setsid_daemon, ordinary_user])
    run_together([main_ends])
    run_together([max_cgroups])
    run_together([full_cgroups])  # other daemons would find their tables full, too
