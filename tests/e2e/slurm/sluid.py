#!/usr/bin/python3
# releases: all
# timeout: 120
# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps that begin and end while jobprofd is away: the kernel side has counted them and knows whose
they are, also where a cgroup's path has the job's SLUID (Slurm 26.05) and not its id. And jobs whose
extern step makes the others (stepmgr, Slurm 24.05)."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from slurmlib import *

USER = "games"
UID = pwd.getpwnam(USER).pw_uid
STEPMGR = ["--stepmgr"] if RELEASE >= (24, 5) else []


def work(spin, first=""):
    """A task that says in account.<number> what it has used."""
    return of_task("/proc/self/cwd", [public_tool("jpspin"), "-o", "{}", spin], first=first)


def shell_work(spin):
    return " ".join("'%s'" % w for w in work(spin))


def used_in(path):
    """CPU time with its tolerances, of a tool's account or of what a shell's times says of itself and
    its children."""
    if not path.endswith("times"):
        # of the extern step with its own sleep and what slurmstepd forks for that
        return own_cpu(read_account(path), 0.01, 0.06)
    with open(path) as f:
        return sum(60 * int(m) + float(s) for m, s in re.findall(r"(\d+)m([\d.]+)s", f.read())), 0.01, 0.02


class Away:
    """What happens in one job, and what its files must say."""

    def __init__(self, name, cluster, d):
        self.name, self.c, self.d = name, cluster, d
        self.node = cluster.nodes[0]
        self.job = self.dir = None
        self.used = {}  # (step, table): file with the account

    def ids(self, path, step):
        """Of the path, or 26.05's own word for the job."""
        sluid = picked(path, "SLUID")[0]
        has_sluid = RELEASE >= (26, 5) and self.c.mode == "v2"
        is_true("%s, %s: SLUID" % (self.name, step), bool(sluid) == has_sluid, sluid)
        return picked(path, "Job Id", "UID", "User")

    def check(self):
        steps = sorted({s for s, _ in self.used}, key=str)
        wanted = set(steps) | {EXTERN} if steps or self.c.mode == "v1" else ()
        has_files(self.name, self.d, self.job, [name_of(self.job, s, self.node) for s in wanted],
                  USER)
        for step in steps:
            path = self.d.get(self.job, step, self.node, USER)
            is_equal("%s: ids of %s" % (self.name, step), self.ids(path, step),
                     [self.job, UID, USER])
        for step in set(steps) - {EXTERN}:
            shown = self.c.show(self.job)
            path = self.d.path_of(self.job, step, self.node, USER)
            is_equal("%s: what Slurm calls step %s" % (self.name, step),
                     picked(path, "Job Name", "Partition", "Node Index", "CPUs per Task"),
                     [shown["JobName"], shown["Partition"], 0, 1])
        for (step, what), account in self.used.items():
            path = self.d.path_of(self.job, step, self.node, USER)
            is_near("%s: CPU time of step %s, %s" % (self.name, step, what),
                    whole(path, what, "CPUTime"),
                    *used_in(os.path.join(self.dir, account)))


def ordinary(a, more):
    """Two tasks, which hear of another job."""
    s = a.c.srun(["-n2", "--export=ALL,SLURM_JOB_ID=7,SLURM_JOBID=7"] + more, work(0.1, "sleep 0.1;"),
                 USER)
    is_equal(a.name + ": srun's status", s.end(), 0)
    a.job, a.dir = s.id, s.dir
    for n in range(2):
        a.used[0, "Tasks/%d" % n] = "account.%d" % n


def batch(a, more):
    j = a.c.sbatch("exec bash <<'END'\n%s\nsrun %s </dev/null\ntimes >times\nEND\n" % (
        " ".join([public_tool("jpspin"), "0.2"]), shell_work(0.1)), more, USER)
    is_equal(a.name + ": state", j.end(), "COMPLETED")
    a.job, a.dir = j.id, j.dir
    a.used["batch", "Step"] = "times"
    a.used[0, "Tasks/0"] = "account.0"


def interactive(a, more):
    a.dir = public_dir(USER)
    out = subprocess.run(as_user(USER) + ["salloc", "-n1"] + more + [
        "srun", "--interactive", "-D", a.dir] + work(0.1, "echo job=$SLURM_JOB_ID;"), env=a.c.env,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    found = re.search(r"job=(\d+)", out.stdout)
    if not found:
        raise Failed("salloc said %s" % out)
    a.job = int(found.group(1))
    a.used[INTERACTIVE, "Tasks/0"] = "account.0"


def extern_dir(c, job):
    """The directory for processes of the extern step: beside the one of its slurmstepd."""
    title = b"slurmstepd: [%d.extern" % job

    def find():
        for proc in glob.glob("/proc/[0-9]*"):
            try:
                with open(proc + "/cmdline", "rb") as f:
                    if not f.read().startswith(title):
                        continue
                with open(proc + "/cgroup") as f:
                    return re.search(r"^0::(.*)$", f.read(), re.M).group(1)
            except OSError:
                pass

    path = wait_until(find, 20, "slurmstepd of the extern step")
    if c.mode == "v1":
        return need_cgroup1("freezer") + "/slurm_%s/uid_%d/job_%d/step_extern" % (
            c.nodes[0], UID, job)
    user = cgroup2_mount() + os.path.dirname(path) + "/user"
    return (glob.glob(user + "/task_special") + [user])[0]


def extern_only(a, more):
    """Nobody but who comes in by ssh, for whom pam_slurm_adopt moves the session."""
    a.dir = public_dir(USER)
    p = start(as_user(USER) + ["salloc", "-n1"] + more + ["sh", "-c", (
        "echo $SLURM_JOB_ID >%s/job; until [ -e %s/go ]; do sleep 0.1; done") % (a.dir, a.dir)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=a.c.env)
    a.job = int(written(a.dir + "/job", 30))
    adopted = start_in([extern_dir(a.c, a.job)], as_user(USER) + [
        public_tool("jpspin"), "-o", a.dir + "/account", "0.2"])
    is_equal(a.name + ": the session's status", adopted.wait(20), 0)
    let_go(a)
    p.wait(30)
    a.used[EXTERN, "Step"] = "account"


def nobody(a, more):
    """Nobody comes in: v2 paths do not say whose such a job is."""
    out = subprocess.run(as_user(USER) + ["salloc", "-n1"] + more + ["sh", "-c", (
        "echo $SLURM_JOB_ID; sleep 0.5")], env=a.c.env, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60)
    a.job = int(out.stdout)


JOBS = (ordinary, batch, interactive, extern_only, nobody)


def all_jobs(how, clusters, d):
    """Each kind in every mode, at the same time, with and without stepmgr. Returns them."""
    runs = []

    def bound(kind, mode, more):
        a = Away("%s%s, %s, %s" % (kind.__name__.replace("_", " "), " under stepmgr" if more else "",
                                   how, mode), clusters[mode], d)

        def run():
            kind(a, more)
            runs.append(a)
        run.__name__ = a.name
        return run

    together([bound(k, m, more) for k in chosen(JOBS) for m in clusters
              for more in ([], STEPMGR)[:1 + bool(STEPMGR)]])
    return runs


def main():
    d = Profiler(0.25)
    clusters = start_clusters(nodes=1, cpus=16, conf=["PrologFlags=Contain"])
    if not clusters:
        return
    d.start()
    kept = {m: c.srun(["-n1"], UNTIL) for m, c in clusters.items()}  # the programs stay attached
    for m, s in kept.items():
        wait_until(lambda: "profiling " + name_of(s.id, 0, clusters[m].nodes[0]) in d.said(), 20,
                   "jobprofd")
    wait_until(d.counts, 20, "the programs")
    there = all_jobs("jobprofd is there", clusters, d)
    d.end(signal.SIGKILL)
    away = all_jobs("jobprofd was away", clusters, d)
    d.start()

    def check(a):
        def run():
            a.check()
        run.__name__ = a.name
        return run
    together([check(a) for a in there + away])
    for s in kept.values():
        let_go(s)
        is_equal("the job that was there all the time", s.end(), 0)
    is_true("nothing is given up", "is not profiled" not in "".join(
        l for l in d.said().splitlines() if "jpt%d" % PID in l), d.said()[-2000:])
    is_equal("jobprofd's exit status", d.end(), 0)
    is_equal("files in root's directory", [f for a in there + away for f in d.of_job(a.job)], [])


need_bpf()
main()
