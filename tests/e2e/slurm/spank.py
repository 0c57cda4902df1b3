#!/usr/bin/python3
# releases: all
# noisy: a plugin waits for 50 ms, in which the script that answers needs a CPU
# timeout: 150
# SPDX-License-Identifier: GPL-2.0-or-later
"""What spank_jobprof.so says to jobprofd, and what it does to jobs when nobody listens: a real
Slurm, and a jobprofd of the test's own that only writes down what it hears."""

import re
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from slurmlib import *
import serverlib

PLUGIN = plugin("spank_jobprof.so")
BATCH = 4294967291


class Site:
    """A cluster with the plugin, and the socket it looks for."""

    def __init__(self, mode):
        self.dir = tmpdir("sock")
        self.path = os.path.join(self.dir, "sock")
        os.chmod(self.dir, 0o755)
        self.cluster = Cluster(mode, conf=["PrologFlags=Contain"],
                               plugstack=["optional %s socket=%s" % (PLUGIN, self.path)])

    def listen(self, **kw):
        return serverlib.Server(self.path, **kw).start()

    def srun(self, *args, seconds=30):
        s = self.cluster.srun(args[:-1], ["sh", "-c", args[-1]])
        status = s.end(seconds)
        return s, status

    def answered_srun(self, *args):
        """Another one where the server, which waits for a CPU as all do, was not in time."""
        for _ in range(3):
            s, status = self.srun(*args)
            if not any("has not answered" in line for line in self.logged(s.id)):
                break
        return s, status

    def logged(self, job):
        """Lines of the plugin in the slurmds' logs about a step of the job, extern apart."""
        lines = []
        for node in self.cluster.nodes:
            with open("%s/log/slurmd.%s.log" % (self.cluster.dir, node), errors="replace") as f:
                lines += [l for l in f if "jobprof: step %d." % job in l and ".extern:" not in l]
        return lines


def of_step(server, job, name, count=None, node=None, seconds=10):
    """What was said of one step, on one node if named, in the order it came."""
    def said():
        got = [m for m in server.of("STEP", "STEP_END", "TASK", "TASK_END")
               if m["job_id"] == job and m["step_name"] == name]
        if node:
            conns = [m["conn"] for m in got if m.get("node_name") == node]
            got = [m for m in got if m["conn"] in conns]
        return got
    if count:
        try:
            wait_until(lambda: len(said()) >= count, seconds, "messages")
        except Failed as e:
            raise Failed("%s: %s; errors %s" % (e, said(), server.errors))
    return said()


def types(messages):
    return [m["type"] for m in messages]


def pick(m, *names):
    return [m[n] for n in names]


NORMAL = ["STEP", "TASK", "TASK_END", "STEP_END"]
UNKNOWN = serverlib.UNKNOWN


def serial(name, site, server):
    s, status = site.answered_srun("-J", "one job", "-A", "acct", "--mem=150",
                                   "--jobprof=all,FILES", "--jobprof-freq=task=0.5,network=2",
                                   "echo $$; exit 3")
    is_equal(name + ": srun's status", status, 3)
    got = of_step(server, s.id, "0", 4)
    is_equal(name + ": order", types(got), NORMAL)
    step, task, end, last = got
    is_equal(name + ": what was asked", pick(step, "source", "asked", "families", "freq"),
             [1, 1, "all,FILES", "task=0.5,network=2"])
    is_equal(name + ": ids", pick(step, "job_id", "step_id", "uid", "gid", "restart",
                                  "array_job_id", "array_task_id", "het_job_id", "het_offset"),
             [s.id, 0, 0, 0] + [UNKNOWN] * 5)
    is_equal(name + ": sizes", pick(step, "node_index", "nnodes", "node_tasks", "ntasks",
                                    "cpus_per_task", "memory_mb"), [0, 1, 1, 1, 1, 150])
    node = step["node_name"]
    is_true(name + ": node", node in site.cluster.nodes, node)
    is_equal(name + ": names", pick(step, "cluster", "job_name", "account", "partition",
                                    "node_list", "job_node_list"),
             ["testbed", "one job", "acct", "main", node, node])
    is_equal(name + ": configuration", [m["path"] for m in server.of("CONF") if
                                        (m["job_id"], m["step_name"]) == (s.id, "0")],
             [site.cluster.conf])
    pid = int(s.out())
    is_equal(name + ": task", pick(task, "gtid", "local_id", "pid", "status"), [0, 0, pid, 0])
    is_equal(name + ": its end", pick(end, "gtid", "local_id", "pid", "status"),
             [0, 0, pid, 3 << 8])
    is_equal(name + ": the end", pick(last, "step_id", "reason"), [0, ""])
    is_equal(name + ": one sender, root", {m["uid_of_sender"] for m in got}, {0})
    is_equal(name + ": one connection, one process",
             [len({m["conn"] for m in got}), len({m["pid_of_sender"] for m in got})], [1, 1])
    is_equal(name + ": answers are asked for STEP and STEP_END",
             [m["flags"] for m in got], [1, 0, 0, 1])


def two_nodes(name, site, server):
    s, status = site.srun("-N2", "-n4", "--ntasks-per-node=2", "kill -9 $$")
    is_true(name + ": srun's status", status != 0, status)
    for index, node in enumerate(site.cluster.nodes):
        got = of_step(server, s.id, "0", 6, node)
        label = "%s, %d" % (name, index)
        is_equal(label + ": order", [types(got)[0], sorted(types(got)[1:3]), types(got)[-1],
                                     len(got)], ["STEP", ["TASK", "TASK"], "STEP_END", 6])
        is_equal(label + ": nothing was asked for",
                 pick(got[0], "asked", "families", "freq"), [0, "", ""])
        is_equal(label + ": sizes", pick(got[0], "node_index", "nnodes", "node_tasks", "ntasks"),
                 [index, 2, 2, 4])
        for kind, status in (("TASK", 0), ("TASK_END", 9)):
            tasks = sorted(pick(m, "gtid", "local_id", "status") for m in got if m["type"] == kind)
            is_equal("%s: each %s once" % (label, kind), tasks,
                     [[2 * index, 0, status], [2 * index + 1, 1, status]])


def batch_and_steps(name, site, server):
    job = site.cluster.sbatch("srun true\nsrun --jobprof=none true\nsrun --jobprof-freq=3 true\n",
                              ["--jobprof=sched,block", "--jobprof-freq=2", "-t5"])
    end = time.time() + 300
    is_equal(name + ": its end", job.end(), "COMPLETED")
    wanted = {"batch": (BATCH, "sched,block", "2"), "0": (0, "sched,block", "2"),
              "1": (1, "none", "2"), "2": (2, "sched,block", "3")}
    for step, (number, families, freq) in wanted.items():
        got = of_step(server, job.id, step, 4)
        is_equal("%s: %s: order" % (name, step), types(got), NORMAL)
        is_equal("%s: %s: options" % (name, step),
                 pick(got[0], "step_id", "asked", "families", "freq", "nnodes", "ntasks"),
                 [number, 1, families, freq, 1, 1])
    # SLURM_JOB_END_TIME, from 23.02 on
    limit = of_step(server, job.id, "0", 4)[0]["time_limit"]
    is_true(name + ": 0: time limit", limit == UNKNOWN if RELEASE < (23, 2) else
            approx(limit, end, abs_=60), (limit, end))


def array(name, site, server):
    job = site.cluster.sbatch("srun true\n", ["-a", "3-4"])
    wait_until(lambda: len({m["job_id"] for m in server.of("STEP_END") if m["step_id"] == 0 and
                            any(s["array_job_id"] == job.id and s["job_id"] == m["job_id"]
                                for s in server.of("STEP"))}) == 2, 30, "two steps")
    steps = [m for m in server.of("STEP") if m["array_job_id"] == job.id]
    is_equal(name + ": a job id each", len({m["job_id"] for m in steps}), 2)
    for step in ("batch", "0"):
        is_equal("%s: %s" % (name, step),
                 sorted(m["array_task_id"] for m in steps if m["step_name"] == step), [3, 4])


def extern(name, site, server):
    s, _ = site.srun("sleep 0.3")
    # slurmd ends it when the job is over, now and then after some time only.
    got = of_step(server, s.id, "extern", 2, seconds=60)
    is_equal(name + ": a step without tasks", types(got), ["STEP", "STEP_END"])
    is_equal(name + ": id", pick(got[0], "step_id", "asked"), [EXTERN, 0])


def allocation(name, site, server):
    """Steps inherit what salloc was given; its shell is no step."""
    out = site.cluster.command("salloc", "--jobprof=perf", "--jobprof-freq=7", "srun", "printenv",
                               "SLURM_JOB_ID")
    got = of_step(server, int(out), "0", 4)
    is_equal(name, [types(got)] + pick(got[0], "families", "freq"), [NORMAL, "perf", "7"])


def cancelled(name, site, server):
    s = site.cluster.srun(["-n2"], ["sleep", "60"])
    of_step(server, s.id, "0", 3)
    site.cluster.command("scancel", s.id)
    got = of_step(server, s.id, "0", 6)
    is_equal(name + ": all is told", sorted(types(got)[3:]), ["STEP_END", "TASK_END", "TASK_END"])
    is_true(name + ": the signal", all(m["status"] & 127 for m in got if m["type"] == "TASK_END"),
            [m for m in got if m["type"] == "TASK_END"])
    s.end()


def requeued(name, site, server):
    """Slurm, 22.05 to 26.05, tells plugins of the second run only by what steps inherit."""
    job = site.cluster.sbatch("srun true\n[ \"$SLURM_RESTART_COUNT\" ] || sleep 60\n",
                              ["--requeue"])
    of_step(server, job.id, "0", 4)
    site.cluster.command("scontrol", "requeue", job.id)
    site.cluster.wait_state(job.id, "PENDING")

    def runs_again():
        # It would wait for two minutes, which may begin only once its first run is cleaned up.
        site.cluster.command("scontrol", "update", "JobId=%d" % job.id, "StartTime=now", check=False)
        time.sleep(1)
        return len(of_step(server, job.id, "0")) >= 8
    wait_until(runs_again, 60, "its second run")
    got = of_step(server, job.id, "0", 8)
    is_equal(name, [m["restart"] for m in got if m["type"] == "STEP"], [UNKNOWN, 1])
    got = of_step(server, job.id, "batch", 5)
    is_equal(name + ": its batch step", [m["restart"] for m in got if m["type"] == "STEP"],
             [UNKNOWN, UNKNOWN])


def het(name, site, server):
    s = site.cluster.srun(["-n2", ":", "-n1"], ["true"])
    is_equal(name + ": srun's status", s.end(), 0)
    steps = wait_until(lambda: [m for m in server.of("STEP") if m["het_job_id"] != UNKNOWN],
                       20, "its steps")
    leader = steps[0]["het_job_id"]
    for offset, tasks in ((0, [0, 1]), (1, [2])):
        got = of_step(server, leader + offset, "0", 2 + 2 * len(tasks))
        is_equal("%s, %d: ids" % (name, offset), pick(got[0], "het_job_id", "het_offset"),
                 [leader, offset])
        is_equal("%s, %d: global ids" % (name, offset),
                 [sorted(m["gtid"] for m in got if m["type"] == t) for t in ("TASK", "TASK_END")],
                 [[UNKNOWN] * len(tasks), tasks])


def het_step(name, site, server):
    job = site.cluster.sbatch("srun -N1 -n1 : -N1 -n1 true\n", ["-N2", "-n2"])
    is_equal(name + ": its end", job.end(), "COMPLETED")
    # Slurm 26.05 makes one ordinary step of it, and calls each node the first of one
    names = ("0", "0") if RELEASE >= (26, 5) else ("0+0", "0+1")
    for k, node in enumerate(site.cluster.nodes):
        got = of_step(server, job.id, names[k], 4, node)
        is_equal("%s: %d" % (name, k), [types(got)] + [m["gtid"] for m in got[1:3]],
                 [NORMAL, UNKNOWN, k])


def messages(mode, first=True):
    site = Site(mode)
    server = site.listen()
    tests = (serial, two_nodes, batch_and_steps, array, extern, allocation, cancelled, het,
             het_step) + ((requeued,) if first else ())
    threads = []
    for t in chosen(tests) or tests:
        def one(t=t):
            run_one_named("%s %s" % (mode, t.__name__), t, site, server)
        threads.append(threading.Thread(target=one))
        threads[-1].start()
    for t in threads:
        t.join()
    is_equal(mode + ": every packet is as the protocol says", server.errors, [])
    server.stop()
    return site


def run_one_named(name, test, *args):
    def run():
        test(name, *args)
    run.__name__ = name.replace(" ", "_")
    run_one(run)


def refused(name, site):
    for cmd in (["srun"], ["salloc"], ["sbatch", "--wrap"]):
        for option, wants in (("--jobprof=sched,bogus", ("\"bogus\"", "sched", "block", "none")),
                              ("--jobprof=", ("none of: base", "Stacks", ", Disk")),
                              ("--jobprof=" + "all," * 80 + "all", ("longer than 255",)),
                              ("--jobprof-freq=task=0.001", ("0.1 to 86400",)),
                              ("--jobprof-freq=cpu=1", ("task, energy",))):
            p = subprocess.run([cmd[0], option] + cmd[1:] + ["true"], env=site.cluster.env,
                               stdin=subprocess.DEVNULL, capture_output=True, text=True,
                               timeout=20)
            said = [l for l in p.stderr.splitlines() if "error: --jobprof" in l]
            is_true("%s: %s %s" % (name, cmd[0], option[:30]),
                    p.returncode and len(said) == 1 and all(w in said[0] for w in wants),
                    (p.returncode, p.stderr))
    p = subprocess.run(["srun", "--help"], env=site.cluster.env, capture_output=True, text=True)
    is_true(name + ": --help has both", "--jobprof=" in p.stdout and "--jobprof-freq=" in p.stdout,
            p.stdout[-500:])


def absent(name, site):
    s, status = site.srun("-n3", "--jobprof=all", "echo here")
    is_equal(name + ": the job runs", [status, s.out(0), s.out(2)], [0, "here\n", "here\n"])
    wait_until(lambda: site.logged(s.id), 5, "the line in the log")
    lines = site.logged(s.id)
    is_true(name + ": it is said once, with what to look at",
            len(lines) == 1 and "no jobprofd at " + site.path in lines[0], lines)


def gap(messages, a, b):
    at = {m["type"]: m["at"] for m in reversed(messages)}
    return at[b] - at[a]


def mute(name, site):
    """It takes what is said, and never answers."""
    server = site.listen(mute=True)
    s, status = site.srun("--jobprof=all", "true")
    got = of_step(server, s.id, "0", 4)
    server.stop()
    is_equal(name + ": the job runs, all is said", [status, types(got)], [0, NORMAL])
    # Far less than 30 ms: it would not have waited; seconds: it waited for more than its time.
    is_true(name + ": it waits, and not for long", 0.02 < gap(got, "STEP", "TASK") < 2.0,
            gap(got, "STEP", "TASK"))
    lines = site.logged(s.id)
    is_true(name + ": it is said once", len(lines) == 1 and "30 ms" in lines[0], lines)


def hostile(name, site):
    """Answers of other lengths, versions, numbers, with control characters."""
    def answer(server, c, m):
        good = serverlib.reply(m["seq"], -13, text="no\n\x1b[31mred\x1b[0m")
        junk = [b"x", b"\0" * 300, serverlib.reply(m["seq"] + 9, number=1), b"y" * 30000]
        return junk[:server.turn] + [good]
    for turn in range(5):
        server = site.listen(answer=answer)
        server.turn = turn
        s, status = site.srun("--jobprof=all", "true")
        got = of_step(server, s.id, "0", 3 if turn else 4)
        server.stop()
        is_true("%s: %d: the job runs" % (name, turn), status == 0 and got, (status, got))
        lines = site.logged(s.id)
        is_true("%s: %d: one plain line" % (name, turn),
                len(lines) == 1 and "\x1b" not in lines[0], lines)


def dies(name, site, again):
    """jobprofd goes in mid-step; again: another one comes before the tasks end."""
    server = site.listen()
    d = public_dir()
    go = os.path.join(d, "go")
    s = site.cluster.srun(["-n2", "--jobprof=sched"],
                          ["sh", "-c", "until [ -e %s ]; do sleep 0.05; done" % go])
    of_step(server, s.id, "0", 3)
    server.stop()
    second = site.listen() if again else None
    with open(go, "w"):
        pass
    is_equal(name + ": the job runs", s.end(30), 0)
    if again:
        got = of_step(second, s.id, "0", 4)
        second.stop()
        is_equal(name + ": the step is said first", types(got),
                 ["STEP", "TASK_END", "TASK_END", "STEP_END"])
        is_equal(name + ": with all that it had", pick(got[0], "families", "node_tasks"),
                 ["sched", 2])
        is_equal(name + ": nothing to log", site.logged(s.id), [])
    else:
        wait_until(lambda: site.logged(s.id), 5, "the line in the log")
        is_equal(name + ": it is said once", len(site.logged(s.id)), 1)


def environment(name, site):
    """Slurm takes options from the environment too: they are checked, and printed, like others."""
    variable = "SLURM_SPANK__SLURM_SPANK_OPTION_jobprof_jobprof"
    server = site.listen()
    s = site.cluster.srun([], ["true"], env={variable: "sched"})
    is_equal(name + ": taken", [s.end(), of_step(server, s.id, "0", 4)[0]["families"]],
             [0, "sched"])
    server.stop()
    s = site.cluster.srun([], ["true"], env={variable: "\x1b[2Jrm"})
    is_true(name + ": refused in one line", s.end() and "\x1b" not in s.said().split("\n")[0] and
            "\"?[2Jrm\" is none of" in s.said(), s.said())


def alone():
    """It brings nothing with it, and shows nothing but what Slurm looks for."""
    out = subprocess.run(["nm", "-D", "--defined-only", PLUGIN], capture_output=True, text=True,
                         check=True).stdout
    found = {l.split()[2] for l in out.splitlines()}
    is_true("names: Slurm's only", "slurm_spank_init" in found and all(
        n.startswith("slurm_spank_") or n in ("plugin_name", "plugin_type", "plugin_version",
                                              "spank_plugin_version") for n in found), found)
    out = subprocess.run(["readelf", "-d", PLUGIN], capture_output=True, text=True,
                         check=True).stdout
    is_equal("libraries: libc only", re.findall(r"NEEDED.*\[(.*)\]", out), ["libc.so.6"])


def main():
    if os.geteuid() != 0:
        skip("spank", "needs root")
        return
    if not os.path.exists(PLUGIN):
        not_ok("spank", "there is no %s: make it with slurm/spank.h (libslurm-dev)" % PLUGIN)
        return
    run_one(alone)
    site = messages(MODES[0] if is_v1_mounted() else "v2")
    for test in (refused, absent, mute, hostile, environment):
        run_one_named(test.__name__, test, site)
    run_one_named("restarted", dies, site, True)
    run_one_named("dead", dies, site, False)
    site.cluster.down()
    if site.cluster.mode == "v1":
        messages("v2", first=False).cluster.down()


main()
