#!/usr/bin/python3
# releases: all
# timeout: 200
# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs of a real Slurm whose users want no profile, where all are profiled by default: with either
plugin and with both; extern steps; and what a job's file says of the job beside it."""

import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from slurmlib import *
import slurm_setups

NODE_SERIES = {"CPU", "Disk", "NetDev", "Network", "Filesystem", "Port", "Mount"}
SPANK, PROFILE = plugin("spank_jobprof.so"), plugin("acct_gather_profile_jobprof.so")


def forgotten(c, d, job):
    """jobprofd follows no step of the job any more, and nothing is to be written."""
    cgroups = c.cgroup_names(job)

    def is_over():
        journals = [n for n in os.listdir(os.path.join(d.state, "steps")) if n.startswith("%d_" % job)]
        return not journals and not any(set(path.split("/")) & set(cgroups) for _, _, _, path in d.used_slots())
    wait_until(is_over, 60, "the job's steps to be forgotten")


def all_of_job(d, job):
    """Names of all its files, those of running steps and temporary ones, too."""
    return sorted(n for _, _, names in os.walk(d.hdf5) for n in names if n.lstrip(".").startswith("%d_" % job))


def wants_none(name, c, d, submit):
    """submit returns the job's id, once it has ended."""
    job = submit()
    forgotten(c, d, job)
    is_equal("%s: no file of any step" % name, all_of_job(d, job), [])


def by_srun(c, node, option):
    def submit():
        s = c.srun(["-n1", "-w", node] + option, ["sleep", "1"], USER.pw_name)
        if s.end():
            raise Failed("srun: " + s.said())
        c.wait_state(s.id, "COMPLETED")
        return s.id
    return submit


def by_sbatch(c, node, option):
    def submit():
        j = c.sbatch("srun sleep 0.5\nsleep 0.5\nsrun -n2 true\n", ["-n2", "-w", node] + option, user=USER.pw_name)
        j.end()
        return j.id
    return submit


def profiled_beside(name, c, d):
    """A job that says nothing has its files, without an extern step's that nobody was in; and the file of an
    exclusive job alone may say what the node did."""
    node = c.nodes[0]
    j = c.sbatch("srun sleep 0.7\n", ["-n1", "-w", node], user=USER.pw_name)
    is_equal(name + ": it ends", j.end(), "COMPLETED")
    has_files(name + ", by default", d, j.id, [name_of(j.id, k, node) for k in ("batch", 0)], USER.pw_name)
    forgotten(c, d, j.id)
    is_equal(name + ": no extern step's file", all_of_job(d, j.id), sorted(name_of(j.id, k, node) for k in ("batch", 0)))
    path = d.path_of(j.id, 0, node, USER.pw_name)
    with h5py.File(path, "r") as f:
        found = NODE_SERIES & set(f[node])
    is_equal(name + ": nothing of the node as a whole", [found, [a for a in attrs_of(path) if a.startswith("Other ")]],
             [set(), []])
    is_equal(name + ": the job's state, in the batch step's file", picked(
        d.path_of(j.id, "batch", node, USER.pw_name), "Job State"), ["COMPLETED"])


def login(name, c, d):
    """As pam_slurm_adopt has it, into a job in which nothing else runs."""
    node = c.nodes[0]
    job = slurm_setups.allocate(c, ["-w", node], USER.pw_name)
    account = os.path.join(public_dir(USER.pw_name), "account")
    p, _ = slurm_setups.adopt(c, node, job, USER.pw_uid, [public_copy(tool("jpspin")), "-o", account, 0.3])
    is_equal(name + ": a login's status", p.wait(20), 0)
    c.command("scancel", job)
    d.get(job, EXTERN, node, USER.pw_name)
    ok(name + ": an extern step that the user logged in to has a file")


# The plugins of a cluster, and the options that users have then.
SETUPS = {
    "SPANK": (True, False, (["--jobprof=none"],)),
    "profile": (False, True, (["--profile=none"],)),
    "both plugins": (True, True, (["--jobprof=none"], ["--profile=none"])),
}


def cluster(mode, d, spank, profile):
    conf = ["PrologFlags=Contain"]
    acct = []
    if profile:
        conf += ["AcctGatherProfileType=acct_gather_profile/jobprof", "PluginDir=%s:%s" % (PLUGINS, PLUGIN_DIR)]
        acct = ["ProfileJobprofSocket=" + d.settings["Socket"]]
    # The plugins wait for long: the machine that runs all this may have few CPUs.
    return Cluster(mode, nodes=1, conf=conf, acct=acct, plugstack=[
        "optional %s socket=%s timeout=1000" % (SPANK, d.settings["Socket"])] * spank)


def setup(mode, what, d):
    spank, profile, options = SETUPS[what]

    def run():
        c = cluster(mode, d, spank, profile)
        name = "%s, %s" % (mode, what)
        for option in options:
            for how, by in (("srun", by_srun), ("sbatch", by_sbatch)):
                wants_none("%s: %s %s" % (name, how, option[0]), c, d, by(c, c.nodes[0], option))
        profiled_beside(name, c, d)
        login(name, c, d)
        c.down()
    run.__name__ = "%s %s" % (mode, what)
    return run


def main():
    d = Profiler(NodeTables=None, ExternSteps=None, Sensors="cpu,disks,netdev").start()
    modes = [m for m in MODES if m != "v1" or is_v1_mounted()]
    for what in SETUPS:
        together([setup(m, what, d) for m in modes])
    is_equal("privacy: jobprofd's exit status", d.end(), 0)


if __name__ == "__main__":
    need_bpf()
    main()
