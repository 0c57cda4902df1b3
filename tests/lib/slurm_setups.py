# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of docs/compatibility.md about how a site has set Slurm up, who comes into a job from outside,
and a jobprofd that is not always there; see tests/e2e/slurm/features.py."""

from featurelib import *

# As pam_slurm_adopt does: libslurmfull asks slurmstepd to take this process into the extern step.
# Then it becomes the job's user and runs the command; what it has used before goes to a file.
ADOPT = """
import ctypes, os, sys
library, spool, node, job, has_sluid, uid, before = sys.argv[1:8]
slurm = ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
slurm.slurm_init(None)
class Step(ctypes.Structure):
    _fields_ = [("sluid", ctypes.c_uint64)] * int(has_sluid) + [
        (k, ctypes.c_uint32) for k in ("job", "component", "step")]
step = Step(job=int(job), component=0xfffffffe, step=0xfffffffc)
version = ctypes.c_uint16()
fd = slurm.stepd_connect(spool.encode(), node.encode(), ctypes.byref(step), ctypes.byref(version))
if fd < 0 or slurm.stepd_add_extern_pid(fd, version, os.getpid()):
    sys.exit("slurmstepd did not take the process")
with open("/proc/self/schedstat") as f, open(before, "w") as out:
    out.write(f.read())
os.setgid(int(uid))
os.setuid(int(uid))
os.execv(sys.argv[8], sys.argv[8:])
"""


def adopt(c, node, job, uid, cmd):
    """A process in the job's extern step, which it came into from outside. Returns it and the file
    that has what it used before."""
    before = os.path.join(tmpdir("adopted"), "schedstat")
    cmd = ["/usr/bin/python3", "-c", ADOPT, os.path.join(PLUGIN_DIR, "libslurmfull.so"),
           "%s/spool.%s" % (c.dir, node), node, job, int(RELEASE >= (25, 11)), uid, before] + cmd
    return start([str(a) for a in cmd], env=c.env, stdin=subprocess.DEVNULL), before


def allocate(c, args, user=None):
    """An allocation in which nothing runs; its job id."""
    out = subprocess.run(as_user(user) + ["salloc", "--no-shell"] + args, env=c.env, cwd="/",
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=40)
    return int(re.search(r"job allocation (\d+)", out.stderr).group(1))


def no_step(name, c, d):
    """`salloc` without a step

    `salloc --no-shell` of an ordinary user on two nodes with `PrologFlags=Contain`, in which nothing
    runs: with `ExternSteps=all` an extern step's file per node, in the user's directory."""
    job = allocate(c, ["-N2", "-J", "idle"], USER.pw_name)
    for node in c.nodes:
        wait_until(lambda: name_of(job, EXTERN, node) in d.said(), 20, "the extern step")
    time.sleep(0.6)
    c.command("scancel", job)
    has_files(name, d, job, [name_of(job, EXTERN, n) for n in c.nodes], USER.pw_name)
    for node in c.nodes:
        is_equal("%s: ids, node %d" % (name, c.nodes.index(node)), picked(
            d.path_of(job, EXTERN, node, USER.pw_name), "Job Id", "Step", "Node Name", "UID",
            "Unattributed"), [job, "extern", node, USER.pw_uid, 0])


def adopted(name, c, d):
    """Login by `pam_slurm_adopt`

    A process that slurmstepd takes into the extern step, asked as `pam_slurm_adopt` asks it, and
    that then runs a program of the job's user: its CPU time is the extern step's, and the file is in
    the user's directory."""
    node = c.nodes[0]
    job = allocate(c, ["-w", node], USER.pw_name)
    account = os.path.join(public_dir(USER.pw_name), "account")
    p, before = adopt(c, node, job, USER.pw_uid, [public_copy(tool("jpspin")), "-o", account, 0.5])
    is_equal(name + ": its status", p.wait(20), 0)
    c.command("scancel", job)
    path = d.get(job, EXTERN, node, USER.pw_name)
    is_equal(name + ": ids", picked(path, "Job Id", "Step", "User", "Unattributed"),
             [job, "extern", USER.pw_name, 0])
    with open(before) as f:
        earlier = int(f.read().split()[0])
    wanted, rel, slack = own_cpu(read_account(account), 0.01, 0.01)
    is_near(name + ": CPU time", whole(path, "Step", "CPUTime"), wanted - earlier / 1e9, rel, slack)


def interactive(name, c, d):
    """Interactive step

    `salloc` with `LaunchParameters=use_interactive_step`, whose shell runs a step of two tasks: files
    of the step `interactive`, with the shell's exit status, and of step 0."""
    node = c.nodes[0]
    job = c.salloc(["-N1", "-n2", "-w", node], "srun sleep 0.8; exit 4")
    task_ends(name, d, job, INTERACTIVE, {node: ([0], 4)})
    task_ends(name, d, job, 0, {node: ([0, 1], 0)})


def slurms_rows(path):
    """Of a file of acct_gather_profile/hdf5: {task: rows}."""
    with h5py.File(path, "r") as f:
        node, = f.values()
        return {t: len(rows) for t, rows in node["Tasks"].items()}


def both_profile(name, c, d, slurms, ours):
    """A step of three tasks that Slurm's plugin profiles too; slurms, ours: the files' names."""
    s = c.srun(["-N1", "-w", c.nodes[0], "-n3", "--profile=task", "--acctg-freq=task=1"], ["sleep", "2.2"])
    is_equal(name + ": srun's status", s.end(), 0)
    slurms, ours = [p % name_of(s.id, 0, c.nodes[0]) for p in (slurms, ours)]
    wait_until(lambda: "wrote " in d.said() and os.path.exists(ours), 20, ours)
    is_equal(name + ": Slurm's file", sorted(slurms_rows(slurms)), ["0", "1", "2"])
    is_true(name + ": its rows", min(slurms_rows(slurms).values()) >= 2, slurms_rows(slurms))
    is_equal(name + ": our file", [tasks_of(ours)] + picked(ours, "Job Id", "Step", "End Reason"),
             [[0, 1, 2], s.id, "0", "exited"])


def slurms_profile(name, c, d):
    """Slurm's own `acct_gather_profile/hdf5`

    `srun --profile=task` with Slurm's plugin, `jobprofd` writing to another directory: both files
    are there and whole."""
    both_profile(name, c, d, c.profile + "/root/%s", d.hdf5 + "/root/%s")


def same_directory(name, c, d):
    """Slurm's own profiles in the same directory

    The same with one `ProfileHDF5Dir` for both: the file of that name is Slurm's, ours is in
    `restart0/`."""
    del d
    one = Profiler(PublishInterval=0, ProfileHDF5Dir=c.profile).start()
    both_profile(name, c, one, c.profile + "/root/%s", c.profile + "/root/restart0/%s")
    is_equal(name + ": jobprofd's exit status", one.end(), 0)


def parking(c, node, *steps):
    """A step of one task that is parked now and then; it leaves its account. Returns the step, what
    lets it go on, the account's file."""
    h = Holds(["0"])
    account = os.path.join(h.dir, "account")
    s = c.srun(["-w", node], h.cmd("-o", account, *steps, word="0"))
    return s, h, account


def cpu_in(account):
    return own_cpu(read_account(account), 0.002, 0.004)


def attached(c, node):
    """A jobprofd of its own, whose programs count already: it attaches them for the first job."""
    e = Profiler(PublishInterval=0).start()
    s, _, _ = parking(c, node, "spin=0.1", "sleep=0.5")
    s.end()
    e.get(s.id, 0, node)
    return e


def profiled(e, job, step, node, times=1):
    """It has found the step and its tasks, as often as that."""
    wait_until(lambda: e.said().count("profiling " + name_of(job, step, node)) >= times, 20,
               "jobprofd")
    time.sleep(0.5)


def killed(name, c, d):
    """`jobprofd` killed during a step

    SIGKILL in the middle of a step, then another start: one file, in which the task's CPU time is
    complete."""
    del d
    node = c.nodes[0]
    e = attached(c, node)
    s, h, account = parking(c, node, "spin=0.3", "park", "spin=0.3", "park", "spin=0.3")
    h.wait()
    profiled(e, s.id, 0, node)
    e.end(signal.SIGKILL)
    h.go()
    h.wait()
    e.start()
    h.go()
    is_equal(name + ": srun's status", s.end(), 0)
    path = e.get(s.id, 0, node)
    is_equal(name + ": files", [f for f in e.of_job(s.id) if str(EXTERN) not in f],
             [name_of(s.id, 0, node)])
    is_near(name + ": CPU time", whole(path, "Tasks/0", "CPUTime"), *cpu_in(account))
    is_equal(name + ": jobprofd's exit status", e.end(), 0)


def stopped(name, c, d):
    """`jobprofd` stopped and started during a step

    SIGTERM in the middle of a step, then another start: the file of the first part is in `restart0/`,
    that of the second has the attribute `Baseline`."""
    del d
    node = c.nodes[0]
    e = attached(c, node)
    s, h, account = parking(c, node, "spin=0.3", "park", "spin=0.3")
    h.wait()
    profiled(e, s.id, 0, node)
    is_equal(name + ": jobprofd's exit status", e.end(seconds=70), 0)
    e.start()
    profiled(e, s.id, 0, node, 2)
    h.go()
    is_equal(name + ": srun's status", s.end(), 0)
    file = e.path_of(s.id, 0, node)
    wait_until(lambda: e.said().count("wrote " + file) == 2, 20, "two files")
    both = [os.path.join(e.hdf5, "root", "restart0", os.path.basename(file)), file]
    is_equal(name + ": tasks and ends", [[tasks_of(p)] + picked(p, "End Reason", "Exit Status")
                                         for p in both],
             [[[0], "jobprofd was stopped", None], [[0], "exited", 0]])
    is_true(name + ": Baseline of the second", picked(file, "Baseline")[0], sorted(attrs_of(file)))
    is_near(name + ": CPU time of both", sum(whole(p, "Tasks/0", "CPUTime") for p in both),
            *cpu_in(account))
    e.end()


def away(name, c, d):
    """Step while `jobprofd` is down

    A step that begins and ends after SIGKILL and before the next start: its file has the right job
    and the task's CPU time."""
    del d
    node = c.nodes[0]
    e = attached(c, node)
    e.end(signal.SIGKILL)
    s, _, account = parking(c, node, "spin=0.3", "sleep=0.3")
    is_equal(name + ": srun's status without it", s.end(), 0)
    c.wait_state(s.id, "COMPLETED")
    time.sleep(0.5)
    e.start()
    path = e.get(s.id, 0, node)
    is_equal(name + ": ids", [tasks_of(path)] + picked(path, "Job Id", "Step", "User"),
             [[0], s.id, "0", "root"])
    is_near(name + ": CPU time", whole(path, "Tasks/0", "CPUTime"), *cpu_in(account))
    is_equal(name + ": jobprofd's exit status", e.end(), 0)


def plain_step(name, c, d):
    """A step of two nodes; the cgroup that each of its tasks found itself in."""
    a, b = c.nodes
    s = c.srun(["-N2", "-n4", "--ntasks-per-node=2"],
               ["sh", "-c", "cat /proc/self/cgroup; sleep 0.8; exit $SLURM_PROCID"])
    is_equal(name + ": srun's status", s.end(), 3)
    task_ends(name, d, s.id, 0, {a: ([0, 1], 1), b: ([2, 3], 3)})
    is_equal(name + ": Unattributed", [picked(d.path_of(s.id, 0, n), "Unattributed")[0]
                                       for n in c.nodes], [0, 0])
    v2 = [[l for l in s.out(t).split("\n") if l.startswith("0::")] for t in range(4)]
    return s.id, [l[0][3:] if l else "" for l in v2]


def paths_are(name, c, paths, form):
    """Where the tasks really were, so that the feature is the one that was tried."""
    wanted = [form % (c.nodes[t // 2], t) for t in range(4)]
    is_true(name + ": cgroups of the tasks", all(re.fullmatch(w, p) for w, p in zip(wanted, paths)),
            (paths, wanted))


def sluid_paths(name, c, d):
    """SLUID in cgroup paths

    The default of 26.05 with cgroup v2, where a path has the job's SLUID instead of its id: files
    have the job's id all the same, and the attribute `SLUID`."""
    needs_key("CgroupJobIdPaths")
    needs_v2(c)
    job, paths = plain_step(name, c, d)
    paths_are(name, c, paths, r"/system\.slice/%s_slurmstepd\.scope/s[0-9A-Z]{13}/step_0/user/task_%d")
    is_equal(name + ": SLUID", picked(d.path_of(job, 0, c.nodes[0]), "SLUID"),
             [paths[0].split("/")[3]])


def job_id_paths(name, c, d):
    """`CgroupJobIdPaths=yes`

    Paths with job ids, as releases before 26.05 have them."""
    needs_key("CgroupJobIdPaths")
    needs_v2(c)
    job, paths = plain_step(name, c, d)
    paths_are(name, c, paths, r"/system\.slice/%%s_slurmstepd\.scope/job_%d/step_0/user/task_%%d" % job)


def slice_(name, c, d):
    """`CgroupSlice=`

    `CgroupSlice=jobs-batch.slice` with cgroup v2."""
    needs_key("CgroupSlice")
    needs_v2(c)
    job, paths = plain_step(name, c, d)
    del job
    paths_are(name, c, paths, r"/jobs-batch\.slice/%s_slurmstepd\.scope/[^/]+/step_0/user/task_%d")


def stepmgr(name, c, d):
    """`SlurmctldParameters=enable_stepmgr`

    A job of an ordinary user, whose steps are managed on its first node; without our SPANK plugin:
    files of the extern step and of a step of two nodes."""
    needs((24, 5), "enable_stepmgr")
    a, b = c.nodes
    job = allocate(c, ["-N2", "-n4", "--ntasks-per-node=2"], USER.pw_name)
    out_of(as_user(USER.pw_name) + ["srun", "--jobid=%d" % job, "-n4", "--ntasks-per-node=2",
                                    "sleep", "0.8"], env=c.env, cwd="/")
    c.command("scancel", job)
    has_files(name, d, job, [name_of(job, s, n) for s in (0, EXTERN) for n in c.nodes],
              USER.pw_name)
    is_equal(name + ": tasks", [tasks_of(d.path_of(job, 0, n, USER.pw_name)) for n in c.nodes],
             [[0, 1], [2, 3]])
    is_equal(name + ": ids", [picked(d.path_of(job, EXTERN, n, USER.pw_name), "Job Id", "Step",
                                     "Node Name", "User") for n in c.nodes],
             [[job, "extern", n, USER.pw_name] for n in c.nodes])


def unconstrained(name, c, d):
    """No constraints

    `ConstrainCores=`, `ConstrainRAMSpace=` and `ConstrainDevices=no`: where Slurm then makes no
    cgroups for tasks, they are told apart all the same."""
    plain_step(name, c, d)


def no_task_plugin(name, c, d):
    """`TaskPlugin=task/none`

    Slurm makes no cgroups for tasks; they are told apart all the same."""
    plain_step(name, c, d)


def affinity(name, c, d):
    """`TaskPlugin=task/affinity,task/cgroup`

    Both task plugins, as Slurm's manual recommends."""
    plain_step(name, c, d)


def no_cgroups(name, c, d):
    """`ProctrackType=proctrack/linuxproc`

    With `TaskPlugin=task/none`, so that steps have no cgroups: nothing is profiled, nothing is
    written under a wrong name, and `jobprofd --check-config` says why."""
    s = c.srun(["-N2", "-n4"], ["sleep", "0.8"])
    is_equal(name + ": srun's status", s.end(), 0)
    time.sleep(0.5)
    is_equal(name + ": files", d.of_job(s.id), [])
    p = subprocess.run([JOBPROFD, "--check-config", "-c", d.conf], env=c.env, capture_output=True,
                       text=True)
    is_true(name + ": --check-config", p.returncode == 1 and "ProctrackType=proctrack/linuxproc: steps "
            "have no cgroups" in p.stderr, (p.returncode, p.stderr))
    lacks(name, "steps have no cgroups, and `jobprofd --check-config` says so")


def _lines(known, *lines):
    """Lines for a configuration that knows that key, else none."""
    return list(lines) if knows(known) else []


def with_extern(d):
    return {"conf": ["PrologFlags=Contain", "LaunchParameters=use_interactive_step"],
            "plugstack": ["optional %s socket=%s timeout=1000" % (plugin("spank_jobprof.so"),
                                                     d.settings["Socket"])]}


def with_job_ids(d):
    del d
    return {"cgroup": _lines("CgroupJobIdPaths", "CgroupJobIdPaths=yes")}


def with_stepmgr(d):
    del d
    return {"conf": ["PrologFlags=Contain"] + ["SlurmctldParameters=enable_stepmgr"] * (
        RELEASE >= (24, 5))}


def with_slice(d):
    del d
    return {"cgroup": _lines("CgroupSlice", "CgroupSlice=jobs-batch.slice")}


def without_constraints(d):
    del d
    return {"cgroup": ["Constrain%s=no" % k for k in ("Cores", "RAMSpace", "Devices")]}


def with_task(plugins):
    return lambda d: {"conf": ["TaskPlugin=" + plugins]}


def without_cgroups(d):
    del d
    return {"conf": ["ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none"]}


# As in tests/e2e/slurm/features.py.
GROUPS = [
    (with_extern, {}, [no_step, adopted, interactive, slurms_profile, sluid_paths]),
    (lambda d: {}, {}, [same_directory, killed, stopped, away]),
    (with_stepmgr, {}, [stepmgr]),
    (with_job_ids, {}, [job_id_paths]),
    (with_slice, {}, [slice_]),
    (without_constraints, {}, [unconstrained]),
    (with_task("task/none"), {}, [no_task_plugin]),
    (with_task("task/affinity,task/cgroup"), {}, [affinity]),
    (without_cgroups, {}, [no_cgroups]),
]
