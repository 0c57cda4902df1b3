#!/usr/bin/python3
# runs: in full
# timeout: 240
# runs: alone
# SPDX-License-Identifier: GPL-2.0-or-later
"""Many cgroups, many processes, more than there is room for, and a jobprofd that cannot keep up."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

tree = None
JP_EVENTS = 256 * 1024 // 32  # what the ring of bpf/maps.bpf.h holds


def all_free(name, d, seconds=5):
    """No slot is left behind while jobprofd goes on."""
    try:
        wait_until(lambda: not d.used_slots(), seconds, "the slots to be free")
        ok(name + ": all slots are free again")
    except Failed as e:
        not_ok(name + ": all slots are free again", "%s: %s" % (e, d.used_slots()[:8]))


def rusage_s(a, who):
    return (a[who + ".utime_us"] + a[who + ".stime_us"]) / 1e6


def five_hundred():
    """50 steps of 10 tasks, eight steps at a time; every task does an amount of its own."""
    d = Daemon(0.5, MaxSlots=2048).start()
    top, accounts = tree.job(new_job(), "job_%d" % new_job()), tmpdir()
    job = int(top.rpartition("_")[2])
    # what ran before could only be told, and tasks that had ended have no account of their own
    wait_until(d.counts, 20, "the programs")
    before, todo, running = cpu_stat_ns(top), list(range(50)), []
    while todo or running:
        running = [s for s in running if s.proc.poll() is None]
        while todo and len(running) < 8:
            running.append(one_of_many(job, top, todo.pop(), accounts))
        time.sleep(0.01)
    used = cpu_stat_ns(top) - before
    files = [d.file(job, i, seconds=60) for i in range(50)]
    is_near("500 cgroups: CPU time of all steps is cpu.stat's of the directory above",
            sum(whole(f, "Step", "CPUTime") for f in files), used / 1e9, 0.001, 0.005)
    wrong = []
    for i, f in enumerate(files):
        if tasks_of(f) != list(range(10)):
            wrong.append("step %d has tasks %s" % (i, tasks_of(f)))
            continue
        wrong += [w for t in range(10) for w in check_one(f, i, t, accounts)]
    is_equal("500 cgroups: every task has its own account", wrong, [])
    all_free("500 cgroups", d)
    is_equal("500 cgroups: nothing was unattributed", d.stats()["slots_exhausted"], 0)
    d.end()


def one_of_many(job, top, i, accounts):
    # slurmstepd stays outside: the directory above holds the tasks' account alone
    return Stepd(job, i, [tool("jphold"), "-o", "%s/%d.%%d" % (accounts, i),
                          "spin=0.00%d" % (i % 9), "naps=%d" % (i % 7), "write=/dev/null:%d.%%d" % (i + 1)],
                 ["-c", "%s/step_%d/user/task_%%d" % (top, i)], n=10)


def check_one(path, i, t, accounts):
    """What differs from the task's own account, which ends before its exit."""
    a, rows = read_account("%s/%d.%d" % (accounts, i, t)), task_table(path, t)
    cpu, wrote = total(rows, "CPUTime"), total(rows, "WriteMB") * MB
    wrong = []
    # what it ran before slurmstepd moved it is slurmstepd's; its end takes about as long
    before = a["start.run_ns"] / 1e9
    if not -before - 0.001 <= cpu - rusage_s(a, "self") < 0.004 + before:
        wrong.append("CPU %.6f, not %.6f" % (cpu, rusage_s(a, "self")))
    if not 0 <= wrote - a["io.wchar"] < 4096:
        wrong.append("wrote %d, not %d" % (wrote, a["io.wchar"]))
    # its exit is one more; of those before it began some are slurmstepd's
    if not total(rows, "VolSwitches") > a["self.nvcsw"] - a["start.nvcsw"]:
        wrong.append("%d switches, not %d, %d of them before it began" %
                     (total(rows, "VolSwitches"), a["self.nvcsw"] + 1, a["start.nvcsw"]))
    return ["step %d task %d: %s" % (i, t, w) for w in wrong]


def sixty_four():
    """64 tasks, each forking all the time."""
    d = Daemon(0.5).start()
    job, accounts = new_job(), tmpdir()
    base = tree.job(job) + "/step_0"
    s = Stepd(job, 0, [tool("jpfork"), "-d", "5", "-p", "2", "-u", "200", "-o", accounts + "/%d"],
              ["-c", base + "/user/task_%d", "-w", "7.5"], n=64)
    wait_until(lambda: len(os.listdir(accounts)) == 64, 30, "the tasks to end")
    time.sleep(0.3)
    used = cpu_stat_ns(base) / 1e9
    s.end()
    children = [int(n) for n in re.findall(r"children=(\d+)", s.out())]
    path = d.file(job, 0)
    step = table(path, "Step")
    is_equal("64 forking tasks: all have told", len(children), 64)
    is_near("64 forking tasks: CPU time is cpu.stat's", total(step, "CPUTime"), used, 0.001, 0.005)
    # Of some 40,000 forks one may be of a process that ends meanwhile.
    is_near("64 forking tasks: Forks", total(step, "Forks"), sum(children), 0, 3)
    is_equal("64 forking tasks: tables", tasks_of(path), list(range(64)))
    rows = [task_table(path, t) for t in range(64)]
    is_near("64 forking tasks: Forks of the tasks", sum(total(r, "Forks") for r in rows),
            sum(children), 0, 3)
    wrong = []
    for t, r in enumerate(rows):
        a = read_account("%s/%d" % (accounts, t))
        own = rusage_s(a, "self") + rusage_s(a, "children")
        if not approx(total(r, "CPUTime"), own, 0.001, 0.01):  # its start and end are not its own account
            wrong.append("task %d: %.6f, not %.6f" % (t, total(r, "CPUTime"), own))
    is_equal("64 forking tasks: CPU time of each is its own and its children's", wrong, [])
    all_free("64 forking tasks", d)
    d.end()


def ten_thousand():
    """The rest goes to slot 0; jobprofd says so and stays awake."""
    d = Daemon(0.5, MaxSlots=256).start()
    top = tree.job(new_job(), "job_%d" % new_job())
    job = int(top.rpartition("_")[2])
    try:
        for i in range(10000):
            os.mkdir("%s/step_%d" % (top, i))
        # says whose they all are
        start_in([top + "/step_0"], ["setpriv", "--reuid=nobody", "--clear-groups", "true"]).wait()
        slots = full_house(d, job, top)
    finally:
        for i in range(10000):
            os.rmdir("%s/step_%d" % (top, i))
    most = most_children(d.proc.pid)
    all_free("10,000 cgroups", d, 60)
    is_true("254 steps end at once: a few writers at a time", 1 <= most <= 16, most)
    files = len(glob.glob("%s/nobody/%d_*" % (d.hdf5, job)))
    is_true("254 steps end at once: every one has its file, also those that got a slot late", slots <= files <= 10000, (files, slots))
    base, job = tree.job(new_job()) + "/step_0", None
    job = int(os.path.dirname(base).rpartition("_")[2])
    s = Stepd(job, 0, [tool("jpspin"), "0.1"], v2_task(base, ["-w", "1"]))
    used = wait_until(lambda: used_and_left(base + "/user/task_0"), 10, "the task to end")
    s.end()
    is_near("10,000 cgroups, gone again: the next step is counted",
            whole(d.file(job, 0), "Tasks/0", "CPUTime"), used / 1e9, 0.001, 0.0001)
    is_equal("10,000 cgroups: jobprofd's end", d.end(), 0)


def most_children(pid):
    """Of a process, at the same time, until it has none for a second."""
    most, last = 0, time.monotonic()
    while time.monotonic() < last + 1:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            n = len(f.read().split())
        if n:
            last = time.monotonic()
        most = max(most, n)
        time.sleep(0.01)
    return most


def full_house(d, job, top):
    stats = d.stats()
    is_true("10,000 cgroups: those without a slot are counted",
            stats["slots_exhausted"] >= 10000 - 254, stats)
    is_equal("10,000 cgroups: all are known", stats["cgroups_full"], 0)
    other = d.slot_run_ns(0)
    p = start_in(["%s/step_9999" % top], [tool("jpspin"), "0.5"])
    p.wait()
    used = cpu_stat_ns("%s/step_9999" % top)
    is_near("10,000 cgroups: what has no slot is counted in slot 0",
            (d.slot_run_ns(0) - other) / 1e9, used / 1e9, 0.02, 0.005)
    began = time.monotonic()
    d.tell(signal.SIGHUP)
    wait_until(lambda: "settings read again" in d.said(), 10, "SIGHUP to be heard")
    is_true("10,000 cgroups: jobprofd answers", time.monotonic() - began < 2,
            "after %.1f s" % (time.monotonic() - began))
    wait_until(lambda: "slots are taken" in d.said(), 10, "a line about it")
    lines = d.said().count("slots are taken")
    is_true("10,000 cgroups: said, and not thousands of times", 1 <= lines <= 20,
            "%d lines" % lines)
    return len(d.used_slots())


def ring_overflow():
    """jobprofd does not run for a while; the cgroups themselves tell what it has missed."""
    d = Daemon(0.2).start()
    jobs = [new_job() for _ in range(4)]
    h = Holds(["0", "1", "2", "3"])
    early = Stepd(jobs[0], 0, h.cmd("park", "spin=0.2", "park", word="0"),
                  v2_task(tree.job(jobs[0]) + "/step_0"))
    h.all[0].wait()
    d.tell(signal.SIGSTOP)
    for i in range(JP_EVENTS + 2000):
        os.mkdir("%s/job_%d" % (tree.v2, i + 1))
        os.rmdir("%s/job_%d" % (tree.v2, i + 1))
    lost = d.stats()["rb_lost"]
    is_true("ring overflow: lost events are counted", lost >= 2000, lost)
    steps = [early] + [Stepd(jobs[i], 0, h.cmd("park", "spin=0.2", "park", word=str(i)),
                             v2_task(tree.job(jobs[i]) + "/step_0"), first=i) for i in (1, 2)]
    gone = tree.job(jobs[3]) + "/step_0"
    last = Stepd(jobs[3], 0, [tool("jpspin"), "0.05"], v2_task(gone, ["-w", "1"]))
    used = wait_until(lambda: used_and_left(gone + "/user/task_0"), 10, "the task to end")
    last.end()
    h.all.pop()
    for hold in h.all[1:]:
        hold.wait()
    d.tell(signal.SIGCONT)
    w = Window(h.all, 0.8)
    h.go()
    for s in steps:
        s.end()
    for i in range(3):
        path = d.file(jobs[i], 0)
        compare("ring overflow, step %d" % i, w, task_table(path, i), [i])
    is_near("ring overflow: a step that came and went meanwhile",
            whole(d.file(jobs[3], 0), "Tasks/0", "CPUTime"), used / 1e9, 0.001, 0.0001)
    is_true("ring overflow: it is said", "did not fit the ring" in d.said(), d.said()[-500:])
    all_free("ring overflow", d)
    d.end()


def room_at_last():
    """Steps that found no slot, each of another job, are named, and counted once others have ended."""
    d = Daemon(0.2, MaxSlots=16).start()
    second, third = new_job(), new_job()
    large = [mkcg("%s/step_0" % os.path.relpath(tree.job(new_job()), cgroup2_mount())) for _ in range(14)]
    wait_until(lambda: len(d.used_slots()) == 14, 10, "14 steps")
    h = Holds(["b0", "b1", "c0"])
    steps = []
    for job, word, n in (second, "b", 2), (third, "c", 1):
        cmd = h.cmd("park", "spin=0.3", "park", word=word + "$SLURM_PROCID")
        steps.append(Stepd(job, 0, ["sh", "-c", "exec " + " ".join(map(str, cmd))],
                           v2_task(tree.job(job) + "/step_0"), n=n))
    for hold in h.all:
        hold.wait()
    is_equal("room at last: two steps found no slot", d.stats()["slots_exhausted"], 2)
    for job in second, third:
        wait_until(lambda: re.search("slots are taken.*/job_%d/step_0" % job, d.said()), 20, "its name: " + d.said()[-600:])
    for path in large:
        os.rmdir(path)
    wait_until(lambda: "profiling %d_0" % third in d.said(), 10, "the third step to be profiled")
    time.sleep(1)
    w = Window(h.all, 0.5)
    h.go()
    for s in steps:
        s.end()
    for job, step, own in (second, "second", [0, 1]), (third, "third", [2]):
        path = d.file(job, 0)
        is_equal("room at last: tasks of the %s step" % step, tasks_of(path),
                 list(range(len(own))))
        for i, at in enumerate(own):
            compare("room at last, %s step, task %d" % (step, i), w, task_table(path, i), [at])
    all_free("room at last", d)
    d.end()


if __name__ == "__main__":
    need_bpf()
    tree = Trees()
    run_tests([five_hundred, sixty_four])
    run_tests([ten_thousand, ring_overflow, room_at_last])
