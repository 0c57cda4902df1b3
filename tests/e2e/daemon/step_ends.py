#!/usr/bin/python3
# timeout: 200
# SPDX-License-Identifier: GPL-2.0-or-later
"""How steps end: status and reason in the file, memory, and all of the CPU time that a step's cgroup
says, however short the step was."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

INTERVAL = 0.2
SETTLE = 6 * INTERVAL  # beside many others jobprofd waits half a second for a CPU at times
tree = None
main = None  # the jobprofd that most scenarios share


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
        attrs = attrs_of(path)
        is_equal(name + ": how it ended", [attrs["Exit Status"], attrs["End Reason"]],
                 [0, "exited"])
    a = read_account(account)
    rows = task_table(main.file(job, 0))
    # after the account nothing but its own output and exit
    is_true("a step of 20 ms: I/O is complete",
            0 <= total(rows, "WriteMB") * MB - a["io.wchar"] < 4096 and
            total(rows, "ReadCalls") >= a["io.syscr"],
            "%g bytes, the account %g" % (total(rows, "WriteMB") * MB, a["io.wchar"]))


def endings():
    job = new_job()
    cases = (("exit 3", ["sh", "-c", "exit 3"], 3, "exited", 1),
             ("a signal", ["sh", "-c", "kill -9 $$"], 137, "signal 9", 1),
             ("no such program", ["/no/such/program"], 127, None, 1),
             ("the worst of two tasks", ["sh", "-c", "exit $((4 + 3 * SLURM_LOCALID))"], 7,
              "exited", 2))
    # by this one it is known whose the job is: of a step in which no program runs nothing else says it
    h = Holds("0")
    long = Stepd(job, len(cases), h.cmd("park"), v2_task("%s/step_%d" % (tree.job(job), len(cases))))
    h.wait()
    ss = [Stepd(job, i, c[1], v2_task("%s/step_%d" % (tree.job(job), i)), n=c[4])
          for i, c in enumerate(cases)]
    for i, (name, cmd, status, reason, n) in enumerate(cases):
        is_equal("the end by %s: slurmstepd's own status" % name, ss[i].end(), status)
        attrs = attrs_of(main.file(job, i))
        if reason:
            is_equal("the end by %s" % name, [attrs["Exit Status"], attrs["End Reason"]],
                     [status, reason])
        else:
            is_true("the end by %s: no status is made up" % name,
                    attrs.get("Exit Status", status) == status, attrs.get("Exit Status"))
    h.go()
    long.end()


def out_of_memory():
    mount = need_cgroup1("memory")
    job = new_job()
    mem = mkcg("%s/slurm_%s" % (CGROUP_ROOT, NODE), mount)
    with open(mem + "/memory.limit_in_bytes", "w") as f:
        f.write(str(24 * MB))
    try:
        with open(mem + "/memory.memsw.limit_in_bytes", "w") as f:
            f.write(str(24 * MB))
    except OSError:
        pass  # swap may save it on a machine that has swap and no limit for it
    base = tree.v1(0, job)
    s = Stepd(job, 0, [tool("jphold"), "anon=200"],
              ["-d", base, "-S", "-c", base + "/step_0", "-c", mem])
    status = s.end()
    if status != 137:
        raise Skipped("the kernel did not kill a process beyond its limit")
    path = main.file(job, 0)
    attrs = attrs_of(path)
    is_equal("out of memory: how it ended", [attrs["Exit Status"], attrs["End Reason"]],
             [137, "out of memory"])
    is_equal("out of memory: OOMKills", whole(path, "Step", "OOMKills"), 1)


def cgroup_at_the_end(name, d, linger):
    """What the step's memory cgroup said when its task had ended, though it is gone when another
    step's task ends, and slurmstepd removes the rest later still."""
    mount = need_cgroup1("memory")
    jobs = [new_job(), new_job()]
    bases = [tree.v1(0, job) for job in jobs]
    mem = mkcg(bases[0][len(need_cgroup1("freezer")):] + "/step_0", mount)
    args = ["-d", bases[0], "-S", "-c", bases[0] + "/step_0", "-c", mem, "-w", linger + 3]
    h = Holds("0")
    s = Stepd(jobs[0], 0, h.cmd("anon=20", "park"), args)
    h.wait()
    wait_until(lambda: "profiling %d_0_" % jobs[0] in d.said(), 10, "jobprofd")
    h.go()
    wait_until(lambda: not os.path.exists("/proc/%d/exe" % h.all[0].pid), 10, "the task's end")
    time.sleep(linger)
    with open(mem + "/memory.max_usage_in_bytes") as f:
        peak = int(f.read())
    os.rmdir(mem)
    Stepd(jobs[1], 0, ["true"],
          ["-d", bases[1], "-S", "-c", bases[1] + "/step_0"]).end()
    s.end()
    rows = table(d.file(jobs[0], 0), "Step")
    is_equal("its own peak, " + name, rows["MemPeakMB"][-1] * MB, peak)
    return rows


def cgroups_last_word():
    d = Daemon(60).start()
    cgroup_at_the_end("no row before the last", d, 0.3)
    d.end()
    rows = cgroup_at_the_end("rows when nobody is left", main, SETTLE)
    nobody = rows["RSS"] == 0
    is_true("there are such rows", nobody[-3:].all() and not nobody.all(), rows["RSS"])
    for column in ("Threads", "AnonMB", "PeakMB"):
        is_true("where no process lived %s is unknown, elsewhere not" % column,
                (numpy.isnan(rows[column]) == nobody).all(), rows[column])


if __name__ == "__main__":
    need_bpf()
    tree = Trees()
    main = Daemon(INTERVAL).start()
    run_together([short_steps, endings, out_of_memory, cgroups_last_word])
    is_equal("jobprofd ends with status 0", main.end(), 0)
