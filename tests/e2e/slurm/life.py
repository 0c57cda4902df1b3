#!/usr/bin/python3
# timeout: 220
# SPDX-License-Identifier: GPL-2.0-or-later
"""How jobs end and what becomes of them: cancelled, out of time or memory, requeued, suspended; and
jobprofd that is not there, dies or is replaced in the middle of a step. All at the same time, with
cgroup v1 and v2; the longest is the time limit, at which slurmctld looks every 30 s."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from slurmlib import *
from metricslib import Exporter, of

other = None  # the jobprofd that comes and goes
nothing = None  # one that is asked for nothing
INTERVAL = 0.25
SLEEPER = "srun sh -c ': >up; exec sleep 100'"
SPANK = plugin("spank_jobprof.so")
EMPTY_EXTERN = RELEASE >= (25, 11)  # no process of Slurm's is in an extern step any more


def started(job, d, step, node):
    """Its task runs (it makes the file "up"), and is followed."""
    wait_until(lambda: os.path.exists(job.dir + "/up"), 30, "the task to start")
    followed(d, job.id, step, node)


def followed(d, job, step, node):
    wait_until(lambda: "profiling " + name_of(job, step, node) in d.said(), 20, "jobprofd")
    time.sleep(3 * INTERVAL)


def cancelled(name, c, d):
    node = c.nodes[0]
    j = c.sbatch(SLEEPER + "\nsleep 100\n", ["-w", node])
    started(j, d, 0, node)
    c.command("scancel", j.id)
    is_equal(name + ": state", j.end(), "CANCELLED")
    is_equal(name + ": step", picked(d.get(j.id, 0, node), "End Reason", "Exit Status"),
             ["cancelled", 143])
    path = d.get(j.id, "batch", node)
    is_equal(name + ": batch", picked(path, "End Reason"), ["cancelled"])
    d.get(j.id, EXTERN, node)  # it ends last
    merges(name, c, d, j.id, {"batch": {node: ["0"]}, "0": {node: ["0"]}, "-4": {node: []}})


@in_full
def one_step_cancelled(name, c, d):
    """The job goes on. On a busy machine Slurm 22.05 was seen to run the step on, or to give the next one after more
    than a minute."""
    node = c.nodes[0]
    j = c.sbatch(SLEEPER + "\nsrun sleep 0.3\n", ["-w", node])
    started(j, d, 0, node)
    c.command("scancel", "--signal=KILL", "%d.0" % j.id)
    is_equal(name + ": state", j.end(140), "COMPLETED")
    is_equal(name + ": the step", picked(d.get(j.id, 0, node), "End Reason", "Exit Status"),
             ["signal 9", 137])
    is_equal(name + ": the next", picked(d.get(j.id, 1, node), "End Reason", "Exit Status"),
             ["exited", 0])


def time_limit(name, c, d):
    node = c.nodes[0]
    j = c.sbatch(SLEEPER, ["-w", node])
    started(j, d, 0, node)
    c.command("scontrol", "update", "JobId=%d" % j.id, "EndTime=now+2")
    is_equal(name + ": state", j.end(), "TIMEOUT")
    path = d.get(j.id, 0, node)
    is_equal(name + ": step", picked(path, "End Reason", "Exit Status"),
             ["time limit", 143])
    is_true(name + ": rows up to the end", len(task_table(path)) > 3, len(task_table(path)))


def out_of_memory(name, c, d):
    node = c.nodes[0]
    if c.limits_memory():
        s = c.srun(["-w", node, "--mem=50"], [tool("jpmem"), "-a", 200, "-g", 1])
    else:
        s = other_memory(c, node)
    is_true(name + ": srun's status", s.end(), 0)
    path = d.get(s.id, 0, node)
    is_equal(name + ": attributes", picked(path, "End Reason", "Exit Status"),
             ["out of memory", 137])
    if c.limits_memory():
        is_equal(name + ": limit", picked(path, "Memory Limit"), [50])
        step = table(path, "Step")
        # the first row may come before there is a memory cgroup
        is_equal(name + ": OOMKills", numpy.nansum(step["OOMKills"]), 1)
        # read once more when the task has ended; slurmstepd may have removed the cgroup by then
        peak = step["MemPeakMB"][-1]
        is_true(name + ": MemPeakMB is the limit, or unknown",
                numpy.isnan(peak) or approx(peak, 50, 0.02), step["MemPeakMB"])
    peak = numpy.nanmax(task_table(path)["PeakMB"])
    is_true(name + ": its peak is the limit", 40 < peak <= 52, peak)


def other_memory(c, node):
    """Where the memory controller is bound to v1, a v2 step gets its limit there."""
    mem = mkcg("jptest%d-oom" % PID, need_cgroup1("memory"))
    with open(mem + "/memory.limit_in_bytes", "w") as f:
        f.write(str(50 * MB))
    d = public_dir()
    fifo = os.path.join(d, "go")
    os.mkfifo(fifo)
    s = c.srun(["-w", node], ["sh", "-c", "echo $$; read x <%s; exec %s -a 200 -g 1" % (
        fifo, tool("jpmem"))])
    move(int(wait_until(lambda: s.out().strip(), 20, "the task's pid")), mem)
    with open(fifo, "w") as f:
        f.write("\n")
    return s


def requeue(name, c, d):
    """The first run's files are kept, the second has its own."""
    node = c.nodes[0]
    script = "srun sh -c ': >up; exec sleep ${SLURM_RESTART_COUNT:+0.}600'"
    j = c.sbatch(script, ["--requeue", "-w", node])
    started(j, d, 0, node)
    requeue_job(c, d, j.id)
    is_equal(name + ": state", j.end(), "COMPLETED")
    wanted = [run + name_of(j.id, s, node) for s in (0, "batch") for run in ("", "restart0/")]
    for s in (0, "batch"):
        wait_until(lambda: d.said().count("wrote " + d.path_of(j.id, s, node)) == 2, 30,
                   "the files of both runs")
    # so soon after, slurmd does not always make a second extern step
    is_equal(name + ": files", sorted(f for f in d.of_job(j.id) if str(EXTERN) not in f),
             sorted(wanted))
    first = os.path.join(d.hdf5, "root", "restart0", name_of(j.id, 0, node))
    last = d.path_of(j.id, 0, node)
    is_equal(name + ": the second run", picked(last, "Restart Count", "End Reason",
                                               "Exit Status"), [1, "exited", 0])
    is_true(name + ": the first run", picked(first, "Restart Count")[0] in (None, 0) and
            picked(first, "End Reason")[0] == "requeued",
            picked(first, "Restart Count", "End Reason"))
    is_equal(name + ": owner and mode of what is kept", owned(first),
             [0, 0, 0o644, 0, 0, 0o700])
    steps_end(d, j.id)
    extern = {"-4": {node: []}} if os.path.exists(d.path_of(j.id, EXTERN, node)) else {}
    merges(name, c, d, j.id, {"batch": {node: ["0"]}, "0": {node: ["0"]}, **extern})


def rests(pid):
    """It does not run in 0.3 s."""
    before = kernel_account(pid)["run_ns"]
    time.sleep(0.3)
    return kernel_account(pid)["run_ns"] == before


def suspend(name, c, d):
    node = c.nodes[0]
    work = ["write=up:0"] + ["spin=0.05", "sleep=0.05"] * 80
    s = c.srun(["-w", node], of_task("/proc/self/cwd", [tool("jphold"), "-o", "{}"] + work,
                                     first="echo $$; "))
    started(s, d, 0, node)
    c.command("scontrol", "suspend", s.id)
    c.wait_state(s.id, "SUSPENDED")
    # slurmd stops the task some time after slurmctld has said so
    wait_until(lambda: rests(int(s.out())), 10, "the task to rest")
    begin = time.time_ns()
    time.sleep(1)
    end = time.time_ns()
    c.command("scontrol", "resume", s.id)
    is_equal(name + ": srun's status", s.end(), 0)
    path = d.get(s.id, 0, node)
    rows = task_table(path)
    account = read_account(s.dir + "/account.0")
    is_near(name + ": CPU time is the task's own", rows["CPUTime"].sum(),
            *own_cpu(account, 0.002, 0.004))
    # a row begins where the one before it ends
    still = rows[1:][(rows["TimeNS"][:-1] >= begin) & (rows["TimeNS"][1:] <= end)]
    is_true(name + ": rows while it is suspended", len(still) >= 1, rows["TimeNS"])
    is_equal(name + ": in which nothing runs or waits", [float(still[k].sum()) for k in (
        "CPUTime", "RunDelay", "VolSwitches")], [0, 0, 0])
    is_equal(name + ": end", picked(path, "End Reason", "Exit Status"), ["exited", 0])


def extern_cgroup(c, job, node):
    """Where slurmstepd takes processes in that pam_slurm_adopt gives to it."""
    top = need_cgroup1("freezer") + "/slurm_%s/uid_0" % node if c.mode == "v1" else \
        "%s/system.slice/%s_slurmstepd.scope" % (cgroup2_mount(), node)
    tail = "" if c.mode == "v1" else "/user" if EMPTY_EXTERN else "/user/task_*"
    wanted = ["%s/%s/step_extern%s" % (top, n, tail) for n in c.cgroup_names(job)]
    found = wait_until(lambda: sum(map(glob.glob, wanted), []), 20, wanted)[0]
    # Slurm makes this for the first process that comes.
    return mkcg("task_special", found) if tail == "/user" else found


def extern(name, c, d):
    """On every node of the job, also without a step there; who comes in by ssh counts."""
    s = c.srun(["-N2"], UNTIL)
    node = c.nodes[1]
    followed(d, s.id, EXTERN, node)
    account = os.path.join(tmpdir("adopted"), "account")
    leaf = extern_cgroup(c, s.id, node)
    start_in([leaf], [tool("jpspin"), "-o", account, "0.3"]).wait(20)
    if c.mode == "v2" and EMPTY_EXTERN:
        os.rmdir(leaf)  # slurmstepd removes only what it made
    let_go(s)
    is_equal(name + ": srun's status", s.end(), 0)
    has_files(name, d, s.id, [name_of(s.id, k, n) for k in (0, EXTERN) for n in c.nodes])
    path = d.path_of(s.id, EXTERN, node)
    is_equal(name + ": ids", picked(path, "Job Id", "Step", "Node Name"), [s.id, "extern", node])
    is_near(name + ": CPU time of a process that was adopted", whole(path, "Step", "CPUTime"),
            *own_cpu(read_account(account), 0.01, 0.03))
    # Slurm always kills what holds the step open: that is no end to report
    is_equal(name + ": end", picked(path, "End Reason", "Exit Status"), ["cgroup removed", None])


def daemon_gone(name, c, d):
    """A jobprofd that comes in mid-step, is killed, and is replaced; and a step meanwhile."""
    del d
    node = c.nodes[0]
    h = Holds([c.mode])
    s = c.srun(["-w", node, "-n1"], h.cmd("park", "spin=0.3", "park", "spin=0.3", "park",
                                          "spin=0.3", "park", word=c.mode))
    job = s.id
    h.wait()
    before = kernel_account(h.all[0].pid)["run_ns"]
    yield
    # jobprofd is there; what the task does before it has told it apart is the step's only
    live = os.path.join(other.hdf5, "root", "." + name_of(job, 0, node))
    wait_until(lambda: os.path.exists(live) and tasks_of(live) == [0], 20, "the task in the file")
    h.go()
    yield
    h.wait()  # it was killed meanwhile
    short = c.srun(["-w", node], of_task("/proc/self/cwd", [tool("jpspin"), "-o", "{}", "0.1"]))
    is_equal(name + ": srun's status without it", short.end(), 0)
    yield
    h.go()
    yield
    h.wait()  # it was replaced meanwhile
    h.go()
    h.wait()
    time.sleep(6 * INTERVAL)
    after = kernel_account(h.all[0].pid)["run_ns"]
    now = time.time_ns()
    h.go()
    is_equal(name + ": srun's status", s.end(), 0)
    path = other.get(job, 0, node)
    for what in ("Step", "Tasks/0"):
        is_near("%s: CPU time from when it came, %s" % (name, what),
                total(table(path, what), "CPUTime", 0, now), (after - before) / 1e9, 0.001, 0.002)
    attrs = attrs_of(path)
    is_true(name + ": the file says so", "Baseline" in attrs and
            "no count is lost" in attrs.get("Restarted", ""), sorted(attrs))
    is_equal(name + ": end", [attrs.get("End Reason"), attrs.get("Exit Status")], ["exited", 0])
    path = other.get(short.id, 0, node)
    account = read_account(short.dir + "/account.0")
    is_near(name + ": a step while it was away", whole(path, "Tasks/0", "CPUTime"),
            *own_cpu(account, 0.002, 0.004))
    is_equal(name + ": nothing asked for, no file", nothing.of_job(job), [])


def reboot(clusters):
    """The journal of a step that never ended is finished by the next boot's jobprofd."""
    steps = {m: c.srun(["-w", c.nodes[0]], UNTIL) for m, c in clusters.items()}
    for m, c in clusters.items():
        followed(other, steps[m].id, 0, c.nodes[0])
    other.end(signal.SIGKILL)
    for s in steps.values():
        let_go(s)
        s.end()
    boot = os.path.join(other.dir, "boot_id")
    with open(boot, "w") as f:
        f.write("00000000-1111-2222-3333-444444444444\n")
    other.configure(PinDir=other.pin + "-next")
    other.wrap = ["unshare", "-m", "sh", "-c", "mount --bind $0 /proc/sys/kernel/random/boot_id && "
                  "exec \"$@\"", boot]
    other.start()
    for m, c in clusters.items():
        path = other.get(steps[m].id, 0, c.nodes[0])
        is_equal("a reboot, %s: end" % m, picked(path, "End Reason", "Exit Status", "Node Name"),
                 ["node rebooted", None, c.nodes[0]])
        is_true("a reboot, %s: rows" % m, len(task_table(path)) >= 2, len(task_table(path)))


def advance(runs):
    """Brings every run of daemon_gone() to its next instant."""
    def one(mode):
        def step():
            next(runs[mode], None)
        step.__name__ = "daemon_gone, " + mode
        return step
    together([one(m) for m in runs])


def comings_and_goings(clusters):
    """One jobprofd for both modes, in step with their jobs."""
    runs = {m: daemon_gone("jobprofd comes and goes, " + m, c, other)
            for m, c in clusters.items()}
    advance(runs)
    other.start()
    advance(runs)
    time.sleep(0.2)
    other.end(signal.SIGKILL)
    advance(runs)
    other.start()
    advance(runs)
    time.sleep(0.2)
    is_equal("jobprofd comes and goes: handed over", other.end(signal.SIGUSR1), 0)
    other.start()
    advance(runs)
    reboot(clusters)


def replaced_while_it_asks():
    """A jobprofd that leaves when all rows of a job are written, and Slurm has yet to say how the job ended: the next one adds no row, and counts
    nothing twice."""
    top = tmpdir("epilog")
    with open(top + "/epilog", "w") as f:
        f.write("#!/bin/sh\nuntil [ -e %s/go ]; do sleep 0.1; done\n" % top)  # so long the job is COMPLETING
    os.chmod(top + "/epilog", 0o755)
    c, d = Cluster("v2", nodes=1, conf=["Epilog=%s/epilog" % top]), Profiler(INTERVAL).start()
    j = c.sbatch("%s 0.3\nsleep 2\n" % tool("jpspin"))
    wait_until(lambda: c.state(j.id) == "COMPLETING", 30, "the end of its step")
    x, over = Exporter(d), time.time()
    time.sleep(2)
    is_equal("replaced while it asks: handed over", d.end(signal.SIGUSR1), 0)
    time.sleep(2)
    d.start()
    open(top + "/go", "w").close()
    path = d.get(j.id, "batch", c.nodes[0])
    cpu, attrs = whole(path, "Step", "CPUTime"), attrs_of(path)
    is_equal("replaced while it asks: how the job ended", [attrs.get("End Reason"), attrs.get("Job State")], ["exited", "COMPLETED"])
    is_true("replaced while it asks: the last row is from before", table(path, "Step")["EpochTime"].max() <= over + 1 and "Restarted" not in attrs, attrs)
    wait_until(lambda: of(x.series(), "job_cpu_seconds_total", jobid=str(j.id)) is not None, 20, "the job's metrics")
    is_near("replaced while it asks: CPU time by the exporter", of(x.series(), "job_cpu_seconds_total", jobid=str(j.id)), cpu, 0, 0.001)
    x.end()
    is_equal("replaced while it asks: jobprofd's exit status", d.end(), 0)
    c.down()


def main():
    global other, nothing
    d = Profiler(INTERVAL)
    plugstack = ["optional %s socket=%s timeout=1000" % (SPANK, d.settings["Socket"])]
    clusters = start_clusters(conf=["PrologFlags=Contain"],
                              plugstack=plugstack if os.path.exists(SPANK) else [])
    if not clusters:
        return
    d.start()
    other = Profiler(INTERVAL)
    nothing = Profiler(INTERVAL, ProfileHDF5Default="None").start()
    tests = (time_limit, cancelled, one_step_cancelled, out_of_memory, requeue, suspend, extern)
    rest = threading.Thread(target=in_modes, args=(tests, clusters, d))
    rest.start()
    asking = [threading.Thread(target=run_one, args=(t,)) for t in chosen([replaced_while_it_asks])]
    for t in asking:
        t.start()
    if chosen([daemon_gone]):
        def comes_and_goes():
            comings_and_goings(clusters)
        run_one(comes_and_goes)
    for t in (rest, *asking):
        t.join()
    is_equal("life: nothing asked for, no file at all", os.listdir(nothing.hdf5), [])
    for p in (d, other, nothing):
        if p.proc:
            is_equal("life: jobprofd's exit status", p.end(), 0)


need_bpf()
main()
