#!/usr/bin/python3
# releases: all
# noisy: a plugin waits for 50 ms, in which the script that answers needs a CPU
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""acct_gather_profile_jobprof.so in a real Slurm: what Slurm's --profile, --acctg-freq and gatherers
(task, sysfs, and RAPL on counters of the test's own) tell a jobprofd that only writes down what it
hears, and what happens to jobs when it is slow, gone or back."""

import re
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from slurmlib import *
import slurmlib
import serverlib
from machinelib import Msr, WATTS
from serverlib import Heard, closed

PLUGIN = plugin("acct_gather_profile_jobprof.so")
BATCH = 4294967291
UNKNOWN = serverlib.UNKNOWN
ENERGY, TASK, LUSTRE, NETWORK = 2, 4, 8, 16
U64, F64 = 0, 1
GAUGE, DELTA, CUMULATIVE = 0, 1, 2
TASKS = [("CPUFrequency", "kHz", U64, GAUGE), ("CPUTime", "s", F64, DELTA),
         ("CPUUtilization", "%", F64, GAUGE), ("RSS", "KiB", U64, GAUGE),
         ("VMSize", "KiB", U64, GAUGE), ("Pages", "", U64, CUMULATIVE),
         ("ReadMB", "MiB", F64, DELTA), ("WriteMB", "MiB", F64, DELTA)]
if RELEASE >= (23, 2):  # without GPUs these hold what was on the stack
    TASKS[3:3] = [("GPUMemMB", "MiB", U64, GAUGE), ("GPUUtilization", "%", F64, GAUGE)]
# How the daemon answers, by an interval that no gatherer uses here.
NOTHING, TASK_ONLY, ALL_OF_IT, LATE, REFUSES, PLACELESS = 0, 11, 12, 13, 14, 15


def of_another_release():
    """The plugin, as if it had been built with 26.05's headers, or with 22.05's on 26.05."""
    with open(PLUGIN, "rb") as f:
        image = bytearray(f.read())
    address = re.search(r"^(\w+) D plugin_version$", out_of(["nm", "-D", PLUGIN]), re.M)
    data = re.search(r"\] \.data +PROGBITS +(\w+) +(\w+)", out_of(["readelf", "-SW", PLUGIN]))
    at = int(address[1], 16) - int(data[1], 16) + int(data[2], 16)
    struct.pack_into("=I", image, at, 0x160508 if RELEASE >= (26, 5) else 0x1a0503)
    d = tmpdir("plugin")
    os.chmod(d, 0o755)
    with open(os.path.join(d, os.path.basename(PLUGIN)), "wb") as f:
        f.write(image)
    return d


class Site:
    """A cluster with the plugin, and the socket it looks for."""

    def __init__(self, mode, plugins, nodes=1, energy=False, conf=(), acct=()):
        self.dir = tmpdir("sock")
        self.path = os.path.join(self.dir, "sock")
        os.chmod(self.dir, 0o755)
        conf = ["PluginDir=%s:%s" % (plugins, PLUGIN_DIR),
                "AcctGatherProfileType=acct_gather_profile/jobprof",
                "AcctGatherInterconnectType=acct_gather_interconnect/sysfs",
                "JobAcctGatherFrequency=task=1,energy=1,network=1"] + list(conf)
        if energy:
            conf.append("AcctGatherEnergyType=acct_gather_energy/rapl")
        self.cluster = Cluster(mode, nodes=nodes, cpus=40, conf=conf, acct=[
            "ProfileJobprofSocket=" + self.path, "SysfsInterfaces=lo"] + list(acct))

    def listen(self, **kw):
        return serverlib.Server(self.path, answer=answer, **kw).start()

    def logged(self, job):
        """The plugin's lines in the slurmd's log about a job."""
        lines = []
        for node in self.cluster.nodes:
            with open("%s/log/slurmd.%s.log" % (self.cluster.dir, node), errors="replace") as f:
                lines += [l for l in f if " jobprof: " in l and "[%d." % job in l]
        return lines


def answer(server, c, m):
    if m["type"] == "STEP":
        kind = int((re.findall(r"filesystem=(\d+)", m["freq"]) or [NOTHING])[0])
        if kind == LATE:
            time.sleep(0.5)
            server.late_ns = time.time_ns()
        if kind == REFUSES:
            return [serverlib.reply(m["seq"], -13, text="not\x1b[1m today")]
        if kind == PLACELESS and m["uid"] == UNKNOWN:
            return [serverlib.reply(m["seq"], -3, text="in no job's cgroup")]
        measures = {TASK_ONLY: TASK, PLACELESS: TASK, ALL_OF_IT: ENERGY | TASK | LUSTRE | NETWORK, LATE: TASK}
        return [serverlib.reply(m["seq"], number=1, measures=measures.get(kind, 0))]
    return [serverlib.reply(m["seq"])] if m["type"] == "TABLE" else []


def job(site, args, script, kind=NOTHING, user=None, freq="task=1,energy=1,network=1"):
    """An srun that ended: it, its status, how long it took."""
    if kind:
        freq += ",filesystem=%d" % kind
    began = time.monotonic()
    s = site.cluster.srun(args + (["--acctg-freq=" + freq] if freq else []), ["sh", "-c", script],
                          user)
    return s, s.end(40), time.monotonic() - began


def answered_job(site, *args):
    """The same; another one where the server, which waits for a CPU as all do, was not in time."""
    for _ in range(3):
        ended = job(site, *args)
        if not any("did not answer" in line for line in site.logged(ended[0].id)):
            break
    return ended


def pick(m, *names):
    return [m[n] for n in names]


def task(site, server):
    s, status, _ = job(site, ["-n2", "-w", site.cluster.nodes[1], "--profile=task"],
                       "sleep 1.5; dd if=/dev/zero of=$SLURM_PROCID bs=1M count=8; sleep 1.5",
                       user="nobody")
    h = closed(server, s)
    is_equal("task: srun's status", status, 0)
    is_equal("task: the step comes first", h.order[0], "STEP")
    is_equal("task: what was asked", [pick(m, "source", "asked", "families", "freq")
                                      for m in h.steps],
             [[2, 1, "task", "task=1,energy=1,network=1"]] * 2)
    is_equal("task: ids", [pick(m, "job_id", "step_id", "step_name", "node_name")
                           for m in h.steps],
             [[s.id, 0, "0", site.cluster.nodes[1]]] * 2)
    is_equal("task: the user, once the kernel says it", [pick(m, "uid", "gid") for m in h.steps],
             [[UNKNOWN, UNKNOWN], [NOBODY.pw_uid, NOBODY.pw_gid]])
    is_equal("task: a table for each", {k: v[0] for k, v in h.tables.items()},
             {"Tasks/0": TASKS, "Tasks/1": TASKS})
    for t in ("Tasks/0", "Tasks/1"):
        is_near("task: %s: written" % t, sum(h.column(t, "WriteMB")), 8, abs_=0.1)
        times = [r[0] for r in h.tables[t][1]]
        is_true("task: %s: rows" % t, len(times) >= 3 and times == sorted(times) and
                2.5e9 < times[-1] - times[0] < 8e9, times)
    is_equal("task: all from root", {m.get("uid_of_sender", 0) for m in h.messages}, {0})


def none(site, server):
    s, _, _ = job(site, ["--profile=none"], "sleep 1.2")
    h = closed(server, s)
    is_equal("none: asked for, and for nothing, before the tasks begin", [pick(m, "asked", "families", "uid")
                                                                          for m in h.steps],
             [[1, "none", UNKNOWN], [1, "none", 0]])
    is_equal("none: no table", h.tables, {})


def unasked(site, server):
    s, _, _ = job(site, [], "sleep 1.2", freq=None)
    h = closed(server, s)
    is_equal("nothing asked: so it is told", [pick(m, "asked", "families", "freq", "uid")
                                              for m in h.steps], [[0, "", "", 0]])
    is_equal("nothing asked: no table", h.tables, {})
    is_equal("nothing asked: nothing to log", site.logged(s.id), [])


def lo_bytes():
    with open("/sys/class/net/lo/statistics/rx_bytes") as f:
        return int(f.read())


def everything(site, server):
    before = lo_bytes()
    send = ("import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            "for i in range(200): s.sendto(bytes(10000), ('127.0.0.1', 9))\n")
    s, _, _ = job(site, ["--profile=all"], "sleep 1.3; python3 -c \"%s\"; sleep 2.6" % send)
    after = lo_bytes()
    h = closed(server, s)
    is_equal("all: what was asked", h.steps[0]["families"], "all")
    is_equal("all: tables", {k: v[0] for k, v in h.tables.items()},
             {"Tasks/0": TASKS, "Energy": [("Power", "W", U64, GAUGE)], "Network": [
                 ("PacketsIn", "", U64, DELTA), ("PacketsOut", "", U64, DELTA),
                 ("InMB", "MiB", F64, DELTA), ("OutMB", "MiB", F64, DELTA)]})
    # Slurm's sysfs gatherer has bytes in the column of packets; those of 25.11 and 26.05 have them
    # twice.
    got = sum(h.column("Network", "PacketsIn")) / (2 if RELEASE >= (25, 11) else 1)
    is_true("all: what went over lo", 2000000 < got <= after - before, (got, after - before))
    power = h.column("Energy", "Power")[1:]
    # Slurm divides by whole seconds.
    is_true("all: power", len(power) >= 2 and max(power) >= 0.8 * WATTS and
            max(power) <= 2.2 * WATTS, power)


def task_measured(site, server):
    s, _, _ = answered_job(site, ["--profile=all"], "sleep 2.2", TASK_ONLY)
    is_equal("tasks measured elsewhere: the other tables",
             sorted(closed(server, s).tables), ["Energy", "Network"])


def all_measured(site, server):
    s, _, _ = answered_job(site, ["--profile=all"], "sleep 2.2", ALL_OF_IT)
    is_equal("all measured elsewhere: no table", closed(server, s).tables, {})


def late(site, server):
    s, status, _ = job(site, ["--profile=task"], "sleep 3.5", LATE)
    h = closed(server, s)
    lines = site.logged(s.id)
    is_equal("a late answer: the job runs", status, 0)
    is_true("a late answer: said once", len(lines) == 1 and "within 50 ms" in lines[0], lines)
    # Of the polls at start, each second and the end only those before the answer count, and the one
    # that finds it.
    rows = h.tables.get("Tasks/0", ([], []))[1]
    is_true("a late answer: sampled until then", len(rows) <= 3 and
            all(r[0] < server.late_ns + 1.2e9 for r in rows), (server.late_ns, rows))


def placeless(site, server):
    """slurmstepd is in no cgroup of the job when the step begins; it is when tasks do."""
    s, status, _ = answered_job(site, ["--profile=task,network"], "sleep 2.2", PLACELESS)
    conns = [m["conn"] for m in server.of("STEP") if m["job_id"] == s.id and
             m["step_name"] == "0"]
    h = closed(server, s)
    is_true("told too early: again on another connection", len(conns) == 2 and
            conns[0] != conns[1], conns)
    is_equal("told too early: what is measured is known", [status, sorted(h.tables)],
             [0, ["Network"]])
    is_equal("told too early: nothing is lost for it", site.logged(s.id), [])


def refusal(site, server):
    s, status, _ = answered_job(site, ["--profile=task"], "true", REFUSES)
    closed(server, s)
    lines = site.logged(s.id)
    is_true("a refusal: the job runs, one plain line", status == 0 and len(lines) == 1 and
            "refused the step: not?[1m today" in lines[0], lines)


def batch(site, server):
    j = site.cluster.sbatch("sleep 1.2\nsrun --profile=none true\n",
                            ["--profile=task,network", "--acctg-freq=task=1"], user="nobody")
    is_equal("batch: its end", j.end(), "COMPLETED")
    h = closed(server, j, "batch")
    is_equal("batch: asked", [pick(m, "step_id", "asked", "families") for m in h.steps],
             [[BATCH, 1, "task,network"]] * 2)
    is_equal("batch: the interval, once the environment is there", [m["freq"] for m in h.steps],
             ["", "task=1"])
    is_equal("batch: user", h.steps[1]["uid"], NOBODY.pw_uid)
    is_equal("batch: tables", sorted(h.tables), ["Network", "Tasks/0"])
    h = closed(server, j)
    is_equal("batch: its step", pick(h.steps[-1], "families", "freq", "uid"),
             ["none", "task=1", NOBODY.pw_uid])


def het(site, server):
    s = site.cluster.srun(["--profile=task", "-n2", ":", "--profile=none", "-n1"], ["true"])
    is_equal("het: srun's status", s.end(), 0)
    ids = sorted({int(os.path.basename(p).split(".")[1]) for p in glob.glob(s.dir + "/out.*")})
    is_equal("het: each its own", [Heard(server, i).steps[0]["families"] for i in ids],
             ["task", "none"])


def by_environment(site, server):
    s = site.cluster.srun(["-n1"], ["true"], user="nobody", env={
        "SLURM_PROFILE": "Energy,Task", "SLURM_ACCTG_FREQ": "task=1,energy=1"})
    is_equal("by environment: srun's status", s.end(), 0)
    is_equal("by environment: asked", [pick(m, "asked", "families", "freq", "uid")
                                       for m in closed(server, s).steps],
             [[1, "energy,task", "task=1,energy=1", u] for u in (UNKNOWN, NOBODY.pw_uid)])


def interactive(site, server):
    """What salloc starts a shell with, and asks for."""
    out = site.cluster.command("salloc", "--profile=network", "--acctg-freq=network=1", "-n1", "srun",
                               "--interactive", "sh", "-c", "echo $SLURM_JOB_ID", check=False)
    j = Job(site.cluster, int(out.split("\n")[-1]), None)
    is_equal("interactive: asked", [pick(m, "step_id", "asked", "families", "freq")
                                    for m in closed(server, j, "interactive").steps],
             [[INTERACTIVE, 1, "network", "network=1"]] * 2)


def array(site, server):
    j = site.cluster.sbatch("exec srun true\n", ["--profile=all", "--array=3-4"], user="nobody")
    wait_until(lambda: site.cluster.state(j.id).split() == ["COMPLETED"] * 2, 40, "both elements")
    ids = {int(l) for l in site.cluster.command("squeue", "-h", "-r", "-t", "all", "-j", j.id, "-o",
                                                "%A").split()}
    is_equal("array: each element", [Heard(server, i, n).steps[0]["families"]
                                     for i in sorted(ids) for n in ("batch", "0")],
             ["all", "energy,task,lustre,network"] * 2)  # as sbatch's SLURM_PROFILE says it


def extern(site, server):
    s, _, _ = job(site, ["--profile=task"], "true", user="nobody")
    h = closed(server, s, "extern")
    is_equal("extern: nothing is asked, nobody's task begins", [pick(m, "step_id", "asked", "uid") for m in h.steps],
             [[EXTERN, 0, UNKNOWN]])


def exports(site, server):
    names = {l.split()[-1] for l in out_of(["nm", "-D", "--defined-only", PLUGIN]).splitlines()}
    calls = ("child_forked conf_options conf_set conf_values get node_step_start node_step_end "
             "task_start task_end create_group create_dataset add_sample_data is_active")
    is_equal("exports: Slurm's calls and nothing else", names,
             {"acct_gather_profile_p_" + c for c in calls.split()} |
             {"init", "fini", "plugin_name", "plugin_type", "plugin_version"})
    needed = re.findall(r"NEEDED.*\[(.*?)\]", out_of(["readelf", "-d", PLUGIN]))
    is_equal("exports: libc alone is needed", needed, ["libc.so.6"])


def configuration(site, server):
    out = site.cluster.command("scontrol", "show", "config")
    got = dict(re.findall(r"^(Profile\w+) *= (.*)$", out, re.M))
    is_equal("configuration: shown by scontrol", got,
             {"ProfileHDF5Dir": site.cluster.profile, "ProfileHDF5Default": "Task,sched",
              "ProfileJobprofSocket": site.path})


def versions(site, server):
    """Each daemon names them once, in slurmstepd nothing is said."""
    for name in ["slurmctld"] + ["slurmd." + n for n in site.cluster.nodes]:
        with open("%s/log/%s.log" % (site.cluster.dir, name), errors="replace") as f:
            lines = re.findall(r"\] (jobprof: \S+ in Slurm .*)$", f.read(), re.M)
        is_true("versions: in the log of %s" % name, len(lines) == 1 and re.fullmatch(
            r"jobprof: [\d.]+ in Slurm %d\.%02d\.\d+" % RELEASE, lines[0]), lines)


def bad_default(site, server):
    """A word that is none does not stop Slurm; its own sh5util finds the directory."""
    conf = os.path.join(os.path.dirname(site.cluster.conf), "acct_gather.conf")
    d = public_dir()
    other = os.path.join(d, "slurm.conf")
    for name, extra in ((conf, "ProfileHDF5Default=Task,bogus\n"), (site.cluster.conf, "")):
        with open(name) as f, open(os.path.join(d, os.path.basename(name)), "w") as to:
            to.write(f.read() + extra)
    p = subprocess.run([STOCK, "-j", "1"], env=dict(site.cluster.env, SLURM_CONF=other), cwd=d,
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    lines = [l for l in p.stderr.splitlines() if "ProfileHDF5Default" in l and "bogus" in l and
             "specified more" not in l]
    is_true("a bad default: one line that says what is good", len(lines) == 1 and
            "\"bogus\"" in lines[0] and "lustre" in lines[0], p.stderr)
    is_true("a bad default: nobody ends for it", "atal" not in p.stderr and
            site.cluster.profile in p.stderr, p.stderr)


def default(site, server):
    s, _, _ = job(site, [], "sleep 1.3", freq=None)
    h = closed(server, s)
    is_equal("default: counts when nothing is asked", pick(h.steps[0], "asked", "families"),
             [1, "Task,sched"])
    is_equal("default: Slurm's part of it is sampled", sorted(h.tables), ["Tasks/0"])
    s, _, _ = job(site, ["--profile=none"], "sleep 1.3")
    h = closed(server, s)
    is_equal("default: --profile=none outranks it", [h.steps[0]["families"], h.tables],
             ["none", {}])


def memory_limit(site, server):
    """Sampling is off, enforcement is not."""
    hold = [tool("jpmem"), "-a", "200", "-t", "20"]
    s, status, _ = job(site, ["--profile=task", "--mem=60"], " ".join(hold), TASK_ONLY)
    closed(server, s)
    is_true("memory limit: the step is killed", status != 0, (status, s.said()))
    is_true("memory limit: by Slurm's poll of it", "Exceeded job memory limit" in
            s.said(), s.said())
    is_equal("memory limit: no sample of the task", Heard(server, s.id).tables, {})


def restarted(site):
    server = site.listen()
    s = site.cluster.srun(["--profile=task", "--acctg-freq=task=1"], ["sleep", "6.5"])
    wait_until(lambda: s.id and "ROWS" in Heard(server, s.id).order, 20, "rows")
    server.stop()
    first = Heard(server, s.id)
    time.sleep(2.2)
    second = site.listen()
    is_equal("restarted: the job runs", s.end(30), 0)
    h = closed(second, s)
    is_equal("restarted: step and table are told again", h.order[:3], ["STEP", "TABLE", "ROWS"])
    is_equal("restarted: with all that was known", pick(h.steps[0], "families", "freq", "uid"),
             ["task", "task=1", 0])
    is_equal("restarted: the same table", h.tables["Tasks/0"][0], first.tables["Tasks/0"][0])
    is_true("restarted: samples go on", h.order.count("ROWS") >= 2, h.order)
    lines = site.logged(s.id)
    is_true("restarted: said at its going and in the end", len(lines) == 2 and
            "does not take messages at " + site.path in lines[0] and
            re.search(r"[1-4] of \d+ samples", lines[1]), lines)
    second.stop()


def none_restarted(site):
    """No samples are sent that would tell a new jobprofd of the step."""
    server = site.listen()
    s = site.cluster.srun(["--profile=none"], UNTIL)
    wait_until(lambda: s.id and len(Heard(server, s.id).steps) == 2, 20, "the step")
    server.stop()
    second = site.listen()
    let_go(s)
    is_equal("none, restarted: the job runs", s.end(30), 0)
    h = closed(second, s)
    is_equal("none, restarted: it is told at the end", [pick(m, "asked", "families") for m in h.steps], [[1, "none"]])
    second.stop()


def reconfigured(site):
    """slurmd puts the plugin away, and loads it again."""
    server = site.listen()
    site.cluster.command("scontrol", "reconfigure")
    s, status, _ = job(site, ["--profile=task"], "sleep 1.3")
    h = closed(server, s)
    is_equal("reconfigured: all as before", [status, h.steps[0]["families"], sorted(h.tables)],
             [0, "task", ["Tasks/0"]])
    server.stop()


def absent(site):
    s, status, _ = job(site, ["--profile=task"], "sleep 1.3")
    lines = site.logged(s.id)
    is_equal("absent: the job runs", status, 0)
    is_true("absent: said at the start and in the end", len(lines) == 2 and
            "does not take messages at " + site.path in lines[0] and
            re.search(r"(\d+) of \1 samples", lines[1]), lines)


def hung(site):
    """Somebody listens, nobody reads."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(site.path)
    listener.listen(4)
    s, status, _ = job(site, ["-n4", "--profile=task"], "sleep 1.3")
    listener.close()
    os.unlink(site.path)
    is_equal("hung: the job runs", status, 0)
    lines = site.logged(s.id)
    is_true("hung: said", len(lines) >= 1 and "within 50 ms" in lines[0], lines)


def named(test, *args):
    def run():
        test(*args)
    run.__name__ = test.__name__
    return run


def some(tests, site, server):
    """Those that were chosen, all at once."""
    return [named(t, site, server) for t in chosen(tests)]


def on_first(msr):
    """Where cgroups do constrain: what is said, for every kind of request."""
    site = Site(MODES[0] if is_v1_mounted() else "v2", PLUGINS, 2, msr,
                conf=["PrologFlags=Contain"])
    server = site.listen()
    tests = [task, none, unasked, task_measured, all_measured, late, placeless, refusal, batch, het, extern,
             exports, by_environment, interactive, array]
    if msr:
        tests.append(everything)
    else:
        skip("all", "there is no /dev/cpu to put counters over")
    together(some(tests, site, server))
    is_equal("every packet is as the protocol says", server.errors, [])
    server.stop()
    return site


def on_second():
    """A plugin that was built for another release, a default, and Slurm's own memory limit."""
    site = Site("v2", of_another_release(), acct=["ProfileHDF5Default=Task,sched"],
                conf=["JobAcctGatherParams=OverMemoryKill"])
    server = site.listen()
    together(some([configuration, versions, bad_default, default, memory_limit], site, server))
    is_equal("every packet is as the protocol says, second site", server.errors, [])
    server.stop()
    for test in chosen((reconfigured, absent, hung, restarted, none_restarted)):
        run_one(named(test, site))


def main():
    if os.geteuid() != 0:
        skip("profile", "needs root")
        return
    if not os.path.exists(PLUGIN):
        not_ok("profile", "there is no %s: make it with slurm/slurm.h (libslurm-dev)" % PLUGIN)
        return
    msr = Msr()
    energy = os.path.isdir("/dev/cpu/0")
    if energy:
        slurmlib.TESTBED = msr.testbed(slurmlib.TESTBED)
    first = threading.Thread(target=lambda: run_one(named(on_first, energy)))
    first.start()
    time.sleep(0.1)
    run_one(on_second)
    first.join()


main()
