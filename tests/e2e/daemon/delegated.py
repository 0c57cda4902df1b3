#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Cgroups that a user has made in a tree of his own: no job, whatever they are called."""

import pwd
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from daemonlib import *

NOBODY = pwd.getpwnam("nobody").pw_uid
INTERVAL = 0.2
tree = Trees()


def delegated(path):
    """A directory that is given to nobody as systemd's Delegate= does."""
    for name in ("", "/cgroup.procs", "/cgroup.subtree_control", "/cgroup.threads"):
        if os.path.exists(path + name):
            os.chown(path + name, NOBODY, NOBODY)
    return path


class User:
    """Makes a directory below one of his own, and lives there."""

    def __init__(self, top, below, name="0"):
        self.holds = Holds([name])
        os.mkdir(top + "/inside")
        delegated(top + "/inside")
        self.made = []
        for part in below.split("/"):
            self.made.append(os.path.join(self.made[-1] if self.made else top, part))
        script = 'mkdir -p "$0" && echo $$ >"$0/cgroup.procs" && exec "$@"'

        def enter():
            move(os.getpid(), top + "/inside")
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        cmd = self.holds.cmd("spin=0.4", "park", word=name)
        cmd[0] = public_tool("jphold")
        self.proc = start(["sh", "-c", script, self.made[-1], *cmd], preexec_fn=enter,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=plain_env())
        self.holds.wait()
        self.top = top

    def end(self):
        """Returns the seconds of CPU that the kernel says it had."""
        with open("/proc/%d/schedstat" % self.proc.pid) as f:
            had = int(f.read().split()[0]) / 1e9
        self.holds.go()
        self.proc.wait(10)
        for path in self.made[::-1] + [self.top + "/inside"]:
            if os.path.isdir(path):
                os.rmdir(path)
        return had


def paths_of(d):
    return [path for _, _, _, path in d.used_slots()]


def a_tree_of_ones_own():
    """While a job runs, so that all is attached; and found by a jobprofd that comes later."""
    d = Daemon(INTERVAL).start()
    job, false_job = new_job(), new_job()
    h = Holds("0")
    step = Stepd(job, 0, h.cmd("park"), v2_task(tree.job(job) + "/step_0"))
    h.wait()
    top = delegated(mkcg("%s/jptest%d-own.slice" % (CGROUP_ROOT, PID)))
    user = User(top, "%s_slurmstepd.scope/job_%d/step_0/user/task_0" % (NODE, false_job))
    is_true("a job has slots", any("/job_%d/" % job in p for p in paths_of(d)), paths_of(d))
    is_equal("a tree that a user has made has none", [p for p in paths_of(d) if "-own" in p], [])
    later = Daemon(INTERVAL).start()
    is_true("a later jobprofd finds the job", any("/job_%d/" % job in p for p in paths_of(later)),
            paths_of(later))
    is_equal("and not the tree", [p for p in paths_of(later) if "-own" in p], [])
    time.sleep(3 * INTERVAL)
    user.end()
    h.go()
    is_equal("the job's status", step.end(), 0)
    d.file(job, 0)
    is_true("the tree has no file", not os.path.exists(d.path(false_job, 0)) and
            not os.path.exists(d.path(false_job, 0, "nobody")), sorted(os.listdir(d.hdf5)))
    is_equal("jobprofd ends", [x.end() for x in (d, later)], [0, 0])


def below_a_job():
    """A step whose cgroup the user may write to: what he makes there counts with the step."""
    d = Daemon(INTERVAL).start()
    job = new_job()
    base = tree.job(job) + "/step_0"
    h = Holds("0")
    step = Stepd(job, 0, h.cmd("park"), v2_task(base, ["-u", NOBODY]))
    h.wait()
    delegated(base + "/user")
    user = User(base + "/user", "task_77", name="user")
    is_equal("a task that a user has made has no slot",
             [p for p in paths_of(d) if p.endswith("task_77")], [])
    had = user.end()
    h.go()
    is_equal("a step with a task of its user's: status", step.end(), 0)
    path = d.file(job, 0, "nobody")
    is_equal("its tasks", tasks_of(path), [0])
    cpu = whole(path, "Step", "CPUTime")
    is_true("the time of what the user has made is the step's", cpu >= had - 15 * TICK, "%.3f of %.3f s" % (cpu, had))
    is_equal("below a job: jobprofd ends", d.end(), 0)


def a_pattern():
    """CgroupPattern says who may make what it names: rootless containers are their user's."""
    d = Daemon(INTERVAL, CgroupPattern=["/jptest%d-pods.slice/pod-*" % PID]).start()
    top = delegated(mkcg("jptest%d-pods.slice" % PID))
    user = User(top, "pod-a", name="pod")
    is_true("what a user has made and a pattern names has a slot",
            any(p.endswith("/pod-a") for p in paths_of(d)), paths_of(d))
    time.sleep(2 * INTERVAL)
    had = user.end()
    path = d.file(0, "pod-a", "nobody")
    cpu = whole(path, "Step", "CPUTime")
    is_true("and a file with its time", cpu >= had - 15 * TICK, "%.3f of %.3f s" % (cpu, had))
    is_equal("a pattern: jobprofd ends", d.end(), 0)


need_bpf()
run_tests([a_tree_of_ones_own, below_a_job, a_pattern])
