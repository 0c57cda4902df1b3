#!/usr/bin/python3
# timeout: 150
# SPDX-License-Identifier: GPL-2.0-or-later
"""Real jobs that ask for profiles, through both plugins, of a real jobprofd. With cgroup v1 and
v2, all jobs at the same time."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from slurmlib import *

JOBPROF = os.path.join(BUILD, "jobprof")


def all_of(path):
    """Names below the node's group."""
    with h5py.File(path, "r") as f:
        node = list(f)[0]
        return sorted(set(f[node]) - {"Totals", "Columns"})


def measured(c, node, s, path):
    """The same, without what Slurm sampled because jobprofd was too late to say that it does, which
    the plugin then says in the log: it waits for 50 ms, and other tests run beside this one."""
    with open("%s/log/slurmd.%s.log" % (c.dir, node), errors="replace") as f:
        late = any("within 50 ms" in line and "[%d." % s.id in line for line in f)
    return [n for n in all_of(path) if not (late and n.startswith("Slurm_"))]


def columns_of(path, name):
    with h5py.File(path, "r") as f:
        node = list(f)[0]
        return f[node][name].dtype.names


def off_grid(path, name, seconds):
    """Rows, and the least distance of all but the last from a multiple of the interval, in s."""
    with h5py.File(path, "r") as f:
        node = list(f)[0]
        times = [int(t) for t in f[node][name]["TimeNS"][:-1]]
    step = int(seconds * 1e9)
    return len(times), min(min(t % step, step - t % step) for t in times) / 1e9


def nothing_asked(name, c, d):
    s = c.srun(["-w", c.nodes[0]], ["sleep", "0.7"])
    is_equal(name + ": srun's status", s.end(), 0)
    time.sleep(0.5)
    is_equal(name + ": files", d.of_job(s.id), [])


def jobprof_option(name, c, d):
    s = c.srun(["--jobprof=all", "--jobprof-freq=task=0.5", "-w", c.nodes[0], "-J", "a name"],
               ["sleep", "2.2"])
    is_equal(name + ": srun's status", s.end(), 0)
    path = d.get(s.id, 0, c.nodes[0])
    is_equal(name + ": series", all_of(path),
             ["BlkLatency", "Commands", "Culprits", "RunLatency", "Samples", "Step", "Tasks", "TimeBudget"])
    rows, off = off_grid(path, "Tasks/0", 0.5)
    is_true(name + ": a row every 0.5 s", rows >= 4 and off < 0.1, (rows, off))
    is_equal(name + ": what Slurm said", picked(path, "Job Name", "Nodes in Step", "Node Index",
                                                "Step Node List", "Exit Status"),
             ["a name", 1, 0, c.nodes[0], 0])
    merges(name, c, d, s.id, {"0": {c.nodes[0]: ["0"]}})


def some_families(name, c, d):
    s = c.srun(["--jobprof=task,block", "--jobprof-freq=0.5", "-w", c.nodes[0]], ["sleep", "0.8"])
    s.end()
    names = columns_of(d.get(s.id, 0, c.nodes[0]), "Tasks/0")
    is_equal(name + ": columns", [n in names for n in ("CPUTime", "RunDelay", "BlkReads",
                                                       "NetRxMB", "Cycles")],
             [True, True, True, False, False])


def profile_option(name, c, d):
    s = c.srun(["--profile=task", "--acctg-freq=task=1", "-w", c.nodes[1]], ["sleep", "4.4"])
    is_equal(name + ": srun's status", s.end(), 0)
    path = d.get(s.id, 0, c.nodes[1])
    is_equal(name + ": series", measured(c, c.nodes[1], s, path), ["Commands", "Step", "Tasks"])
    rows, off = off_grid(path, "Tasks/0", 1)
    is_true(name + ": a row every second", 4 <= rows <= 6 and off < 0.1, (rows, off))


def gatherers(name, c, d):
    """Slurm's own network gatherer writes through us; tasks are not sampled twice."""
    s = c.srun(["--profile=task,network", "--acctg-freq=task=1,network=1", "-w", c.nodes[0]],
               ["sleep", "3.2"])
    is_equal(name + ": srun's status", s.end(), 0)
    path = d.get(s.id, 0, c.nodes[0])
    is_equal(name + ": series", measured(c, c.nodes[0], s, path),
             ["Commands", "Network", "Step", "Tasks"])
    with h5py.File(path, "r") as f:
        net = f[c.nodes[0]]["Network"]
        is_equal(name + ": the gatherer's columns", net.dtype.names,
                 ("ElapsedTime", "EpochTime", "PacketsIn", "PacketsOut", "InMB", "OutMB", "TimeNS"))
        # Slurm asks once a second, and more often while the step begins.
        is_true(name + ": the gatherer's rows", len(net) >= 3 and (numpy.diff(net["TimeNS"].astype("i8")) > 0).all(), net["TimeNS"][()])
    out = os.path.join(tmpdir("merge"), "job.h5")
    csv = os.path.join(tmpdir("merge"), "x.csv")
    for who, args in (("merges", ["-S", "-j", s.id, "-u", "root", "-p", d.hdf5, "-o", out]),
                      ("extracts", ["-E", "-j", s.id, "-i", out, "-s", "Network", "-o", csv])):
        p = subprocess.run([STOCK] + [str(a) for a in args], env=c.env, capture_output=True,
                           text=True, timeout=30)
        is_equal("%s: Slurm's sh5util %s it" % (name, who), p.returncode, 0)


def precedence(name, c, d):
    """--jobprof outranks --profile; a step outranks its batch job."""
    n = c.nodes[0]
    j = c.sbatch("""srun true
srun --jobprof=none true
srun --profile=none --jobprof=all sleep 0.3
""", ["--jobprof=task", "--jobprof-freq=0.5", "-n1", "-w", n])
    is_equal(name + ": state", j.end(), "COMPLETED")
    has_files(name, d, j.id, [name_of(j.id, s, n) for s in ("batch", 0, 2)])
    is_equal(name + ": of the batch job", [s in all_of(d.get(j.id, 0, n))
                                           for s in ("Tasks", "RunLatency")], [True, False])
    is_equal(name + ": of the step", "RunLatency" in all_of(d.get(j.id, 2, n)), True)


def two_nodes(name, c, d):
    s = c.srun(["--jobprof=task", "--jobprof-freq=0.5", "-N2", "-n4", "--ntasks-per-node=2"],
               ["sh", "-c", "sleep 0.6; exit $SLURM_PROCID"])
    is_equal(name + ": srun's status", s.end(), 3)
    a, b = c.nodes
    has_files(name, d, s.id, [name_of(s.id, 0, a), name_of(s.id, 0, b)])
    is_equal(name + ": tables", [tasks_of(d.get(s.id, 0, n)) for n in (a, b)], [[0, 1], [2, 3]])
    merges(name, c, d, s.id, {"0": {a: ["0", "1"], b: ["2", "3"]}})


def from_inside(name, c, d):
    """Marks, series and live rows of a user's own job; another user's job tells nothing."""
    jobprof = public_copy(JOBPROF)
    say = "JOBPROF_SOCKET=%s %s" % (d.settings["Socket"], jobprof)
    script = """%s mark begin || exit 21
i=0; while [ $i -lt 5 ]; do %s emit solver Iteration=$i Residual=0.$i || exit 22; i=$((i + 1)); done
sleep 1.2
%s live -s Tasks > live.$SLURM_JOB_ID || exit 23
%s mark end || exit 24
""" % (say, say, say, say)
    s = c.srun(["--jobprof=task", "--jobprof-freq=0.5", "-w", c.nodes[0]], ["sh", "-c", script], user="nobody")
    is_equal(name + ": srun's status", s.end(), 0)
    path = d.get(s.id, 0, c.nodes[0], "nobody")
    his = [NOBODY.pw_uid, NOBODY.pw_gid]
    is_equal(name + ": owner and mode", owned(path), his + [0o644] + his + [0o700])
    with h5py.File(path, "r") as f:
        n = f[c.nodes[0]]
        is_equal(name + ": marks", [list(n["Marks"]["Mark"]), picked(path, "Mark 1", "Mark 2")],
                 [[1, 2], ["begin", "end"]])
        is_equal(name + ": series", [(int(i), float(r)) for i, r in zip(
            n["User/solver"]["Iteration"], n["User/solver"]["Residual"])],
            [(i, i / 10) for i in range(5)])
    with open(os.path.join(s.dir, "live.%d" % s.id)) as f:
        is_true(name + ": live rows", "RSS" in f.read(), "no RSS in them")


def strangers(name, c, d):
    jobprof = public_copy(JOBPROF)
    s = c.srun(["--jobprof=task", "--jobprof-freq=0.5"], UNTIL)
    job = s.id
    time.sleep(1.2)
    p = subprocess.run(["runuser", "-u", "nobody", "--", "env", "JOBPROF_SOCKET=" +
                        d.settings["Socket"], jobprof, "live", "-j", str(job)],
                       capture_output=True, text=True, timeout=20)
    is_true(name + ": another user gets nothing", p.returncode == 1 and "RSS" not in p.stdout,
            (p.returncode, p.stdout, p.stderr))
    p = subprocess.run([jobprof, "live", "-j", str(job)], capture_output=True, text=True,
                       timeout=20, env=plain_env(JOBPROF_SOCKET=d.settings["Socket"]))
    is_true(name + ": root does", p.returncode == 0 and "RSS" in p.stdout, (p.returncode, p.stderr))
    let_go(s)
    s.end()


def restarts(c, d):
    """jobprofd killed, away and back while a step runs that asked for it."""
    name = "jobprofd restarted, " + c.mode
    s = c.srun(["--jobprof=task", "--jobprof-freq=0.5", "-n2", "-w", c.nodes[0]], UNTIL)
    job = s.id
    live = os.path.join(d.hdf5, "root", "." + name_of(job, 0, c.nodes[0]))
    wait_until(lambda: os.path.exists(live), 20, "the live file")
    os.kill(d.proc.pid, signal.SIGKILL)
    d.proc.wait()
    away = c.srun(["--jobprof=task"], ["true"])
    is_equal(name + ": a job while there is none", away.end(), 0)
    d.start()
    time.sleep(0.7)
    let_go(s)
    is_equal(name + ": srun's status", s.end(), 0)
    path = d.get(job, 0, c.nodes[0])
    is_equal(name + ": tables", tasks_of(path), [0, 1])
    is_true(name + ": it says so", "restarted" in (picked(path, "Restarted")[0] or ""), path)


def main():
    plugins = {}
    for p in ("spank_jobprof.so", "acct_gather_profile_jobprof.so"):
        plugins[p] = plugin(p)
        if not os.path.exists(plugins[p]):
            skip("plugins", "%s was not built: Slurm's headers are not installed" % plugin(p))
            return
    d = Profiler(30, ProfileHDF5Default="None")
    d.start()
    clusters = start_clusters(
        cpus=64,
        conf=["AcctGatherProfileType=acct_gather_profile/jobprof",
              "AcctGatherInterconnectType=acct_gather_interconnect/sysfs",
              "PluginDir=%s:%s" % (PLUGINS, PLUGIN_DIR)],
        acct=["SysfsInterfaces=lo", "ProfileJobprofSocket=" + d.settings["Socket"]],
        plugstack=["optional %s socket=%s timeout=1000" % (plugins["spank_jobprof.so"], d.settings["Socket"])])
    in_modes([nothing_asked, jobprof_option, some_families, profile_option, gatherers, precedence,
              two_nodes, from_inside, strangers], clusters, d)
    for c in clusters.values():
        restarts(c, d)
    is_equal("jobprofd ends", d.end(), 0)


main()
