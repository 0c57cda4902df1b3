#!/usr/bin/python3
# timeout: 200
# SPDX-License-Identifier: GPL-2.0-only
"""Steps as Slurm makes them, followed by a running jobprofd on the real kernel. Every number is
compared with what the kernel says of the processes themselves or of their cgroups."""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from daemonlib import *

INTERVAL = 0.2
SETTLE = 3 * INTERVAL
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
            sum(a["run_ns"] for a in w.after) / 1e9, 0.001, 0.006)
    attrs = attributes(path)
    is_equal("v2 task cgroups: attributes", [attrs["Number of Tasks"], attrs["Exit Status"],
             attrs["End Reason"], attrs["UID"], attrs["Job Id"]], [2, 0, b"exited", 0, job])


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
            whole(path, "Tasks/2", "CPUTime") + whole(path, "Tasks/3", "CPUTime"), 0, 1e-4)


def sluid(n):
    digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    text = ""
    for _ in range(13):
        text = digits[n % 32] + text
        n //= 32
    return "s" + text


def sluid_tree():
    job = new_job()
    name = sluid((1 << 52) + (int(time.time() * 1000) << 10) + 1)
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
        attrs = attributes(path)
        is_equal("SLUID tree, step %s: ids" % step,
                 [attrs["Job Id"], attrs["SLUID"].decode(), attrs["Step"].decode()],
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


def false_stepd_inside(name, job, step, uid, user):
    """In a step everybody is of the step, whatever he calls himself."""
    h = Holds("0")
    false = [public_tool("jpstepd"), "-j", "1", "-f", "77", "--"]
    s = Stepd(job, step, false + h.cmd("park", "spin=0.2", "naps=20", "park", word="0"),
              v2_task("%s/step_%d" % (tree.job(job), step), ["-u", uid]), first=1)
    h.wait()
    w = Window(h.all, SETTLE)
    h.go()
    s.end()
    path = main.file(job, step, user)
    is_equal(name + ": names no task", tasks_of(path), [1])
    compare(name + ": counts with its task", w, task_table(path, 1))


def false_slurmstepd():
    job = new_job()
    together([lambda: false_stepd_inside("a user's slurmstepd in a task", job, 0, NOBODY,
                                         "nobody"),
              lambda: false_stepd_inside("root's slurmstepd in a task", job, 1, 0, "root"),
              lambda: false_stepd_outside(new_job())])


def false_stepd_outside(job):
    """A user's slurmstepd outside any step, its child moved into one before it execs."""
    name = "a user's slurmstepd outside the step"
    h, gates = Holds("01"), tmpdir("gates")
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
                  gates + "/2", "--"] + h.cmd("park", "spin=0.2", "park", word="1"),
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


def ended_step(job, step, cmd, args, first=0):
    """Runs it; returns CPU seconds and directories' cpu.stat after its last process."""
    s = Stepd(job, step, cmd, list(args) + ["-w", "1"], first=first)
    return s


def short_steps():
    """cpu.stat of the task's cgroup, once it is empty, is all that it has used."""
    job = new_job()
    account = os.path.join(tmpdir(), "account")
    cmds = [[tool("jpspin"), "-o", account, "0.02"], ["true"]]
    bases = ["%s/step_%d" % (tree.job(job), i) for i in (0, 1)]
    ss = [Stepd(job, i, cmds[i], v2_task(bases[i], ["-w", "1.5"])) for i in (0, 1)]
    used = [wait_until(lambda: used_and_left(b + "/user/task_0"), 5, "the task to end")
            for b in bases]
    for i, name in ((0, "a step of 20 ms"), (1, "a step of `true`")):
        ss[i].end()
        path = main.file(job, i)
        is_equal(name + ": tables", tasks_of(path), [0])
        is_near(name + ": CPU time is cpu.stat's", whole(path, "Tasks/0", "CPUTime"),
                used[i] / 1e9, 0.001, 0.0001)
        is_near(name + ": Step's CPU time too", whole(path, "Step", "CPUTime"), used[i] / 1e9,
                0.001, 0.0001)
        attrs = attributes(path)
        is_equal(name + ": how it ended", [attrs["Exit Status"], attrs["End Reason"]],
                 [0, b"exited"])
    a = read_account(account)
    rows = task_table(main.file(job, 0))
    # after the account nothing but its own output and exit
    is_true("a step of 20 ms: I/O is complete",
            0 <= total(rows, "WriteMB") * MB - a["io.wchar"] < 4096 and
            total(rows, "ReadCalls") >= a["io.syscr"],
            "%g bytes, the account %g" % (total(rows, "WriteMB") * MB, a["io.wchar"]))


def used_and_left(cgroup):
    """ns of CPU of a cgroup that has had processes and has none."""
    try:
        ns = cpu_stat_ns(cgroup)
        with open(cgroup + "/cgroup.procs") as f:
            return 0 if f.read().split() or not ns else cpu_stat_ns(cgroup)
    except OSError:
        return 0


def moved_process():
    """One process, then nine threads, go from one step to another while they run."""
    job, h = new_job(), Holds("01p")
    bases = ["%s/step_%d" % (tree.job(job), i) for i in (0, 1)]
    ss = [Stepd(job, i, h.cmd("park", "park", word=str(i)), v2_task(bases[i])) for i in (0, 1)]
    for i in (0, 1):
        h.all[i].wait()
    special = [b + "/user/task_special" for b in bases]
    for d in special:
        os.mkdir(d)
    moved = start_in([special[0]], h.cmd("park", "spin=0.8", "naps=10", "park", "park", word="p"))
    h.all[2].wait()
    one = h.all[2]
    w = Window([one], SETTLE, lambda: (time.sleep(0.4), move(one.pid, special[1])))
    spinners = start_in([special[0]], [tool("jpspin"), "1.2", "9"])
    time.sleep(0.6)
    pid = spinners.pid
    nine_before = [cpu_stat_ns(d) for d in special]
    nine_start = w.end_ns
    move(pid, special[1])
    spinners.wait()
    time.sleep(SETTLE)
    nine_end = time.time_ns()
    nine = [cpu_stat_ns(d) for d in special]
    own = kernel_account(one.pid)
    h.go()  # the tasks end; the process has one park left
    one.wait()
    one.go()
    moved.wait()
    for d in special:
        wait_until(lambda: not open(d + "/cgroup.procs").read(), 5, "the cgroup to be empty")
        os.rmdir(d)
    for s in ss:
        s.end()
    rows = [table(main.file(job, i), "Step") for i in (0, 1)]
    ours = [[w.ours(r, c) for r in rows] for c in ("CPUTime", "RunDelay")]
    is_near("moved process: CPU time before and after is its own", sum(ours[0]),
            w.kernel("run_ns") / 1e9, 0.001, 0.001 + TICK)
    is_near("moved process: run delay before and after", sum(ours[1]),
            w.kernel("delay_ns") / 1e9, 0.001, 0.001 + TICK)
    is_true("moved process: each step has its part", min(ours[0]) > 0.05, ours[0])
    for c, k in (("VolSwitches", "nvcsw"), ("InvolSwitches", "nivcsw"), ("MinorFaults", "minflt")):
        is_equal("moved process: %s before and after" % c, sum(w.ours(r, c) for r in rows),
                 w.kernel(k))
    late = [total(r, "CPUTime", nine_start, nine_end) for r in rows]
    base = [total(r, "CPUTime", w.end_ns - 1, w.end_ns) for r in rows]
    return late, base, nine, nine_before, own


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
    is_near("setsid daemon: the two tasks are all of cpu.stat", first + second, used, 0.001, 0.001)
    is_true("setsid daemon: counted in its task until the step ends",
            daemon <= first - 0.05 and first - daemon < 0.25 and second < 0.2,
            "tasks %.3f and %.3f s, the daemon %.3f s" % (first, second, daemon))
