#!/usr/bin/python3
# timeout: 150
# SPDX-License-Identifier: GPL-2.0-or-later
"""Who sees what: users that want no profile have no file, a file says nothing of the neighbours' jobs,
and a group reads what users may share. With the settings that a site has if it sets none."""

import grp
import pwd
import stat
import sys
sys.path.insert(0, sys.path[0] + "/../../lib")
from controllib import *
import socketlib as c
from machinelib import machine, put, roots

USER, OTHER, GROUP = pwd.getpwnam("nobody"), pwd.getpwnam("daemon"), grp.getgrnam("games")
EXTERN = 4294967292
NUMBERS = {"batch": 4294967291, "extern": EXTERN}
CORES = "0-%d" % (os.cpu_count() - 1)  # whatever has threads has fewer cores


def daemon(**settings):
    return Daemon(INTERVAL, -10, **{"NodeTables": None, "ExternSteps": None, **settings})


def parked(d, job, step=0, uid=USER.pw_uid, **asked):
    """A step whose task is parked, after a message of Slurm's plugins, if anything is asked."""
    s, h = Step(d, job, step), Holds("0")
    if asked:
        s.stepd.call(c.step(job_id=job, step_id=NUMBERS.get(step, step), step_name=str(step), uid=uid, **asked))
    s.hold = h
    s.run(h.cmd("park"), uid)
    h.wait()
    return s


def over(s):
    s.hold.go()
    return s.end()


def files_of(d, job):
    """All of a job's, live ones too, and what is left of writing."""
    return sorted(n for _, _, names in os.walk(d.hdf5) for n in names if n.lstrip(".").startswith("%d_" % job))


def journals_of(d, job):
    return [n for n in os.listdir(os.path.join(d.state, "steps")) if n.startswith("%d_" % job)]


def ended(d, job):
    """No step of the job is followed, and no file of it is to come."""
    wait_until(lambda: not any("/job_%d/" % job in path for _, _, _, path in d.used_slots()) and
               not journals_of(d, job), 20, "the steps to be forgotten")


def live(d, job, step=0, user=USER.pw_name):
    path = os.path.join(d.hdf5, user, ".%d_%s_%s.h5" % (job, step, NODE))
    wait_until(lambda: os.path.exists(path), 20, "the file of a running step")
    return path


def logged_in(job):
    """What pam_slurm_adopt makes of a login: a process of the user's in the extern step."""
    base = tree.job(job) + "/step_extern"
    account = os.path.join(tmpdir("login"), "account")
    os.chmod(os.path.dirname(account), 0o777)
    start_in([base + "/user"], ["setpriv", "--reuid=%d" % USER.pw_uid, "--clear-groups", public_tool("jpspin"),
                                "-o", account, "0.3"]).wait(20)
    return read_account(account)


class Extern:
    """An extern step as Slurm makes it: nothing of the user's is in it."""

    def __init__(self, d, job):
        self.base = tree.job(job) + "/step_extern"
        for p in ("", "/slurm", "/user"):
            os.mkdir(self.base + p)
        self.stepd = Peer(d, self.base + "/slurm")
        self.stepd.call(c.step(job_id=job, step_id=EXTERN, step_name="extern", uid=USER.pw_uid))

    def end(self):
        self.stepd.end()
        for p in ("/user", "/slurm", ""):
            os.rmdir(self.base + p)


main = None


def extern_steps():
    """Kept if somebody was in it."""
    d = main
    unused, used = new_job(), new_job()
    for job in (unused, used):
        e = Extern(d, job)
        s = parked(d, job)
        account = logged_in(job) if job == used else None
        over(s)
        e.end()
        d.file(job, 0, USER.pw_name)
        if not account:
            ended(d, job)
            is_equal("an extern step in which nobody was: no file", files_of(d, job), ["%d_0_%s.h5" % (job, NODE)])
    path = d.file(used, EXTERN, USER.pw_name)
    is_near("an extern step that the user logged in to: its CPU time", whole(path, "Step", "CPUTime"),
            *own_cpu(account, 0.01, 0.03))
    everything = daemon(ExternSteps="all").start()
    job = new_job()
    e = Extern(everything, job)
    over(parked(everything, job))
    e.end()
    everything.file(job, EXTERN, USER.pw_name)
    ok("ExternSteps=all: kept, whoever was in it")
    is_equal("ExternSteps=all: jobprofd's exit status", everything.end(), 0)


def opted_out():
    """By either plugin, before the task begins, and while it runs."""
    d = main
    for source, how in ((c.PROFILE, "--profile=none"), (c.SPANK, "--jobprof=none")):
        job = new_job()
        e = Extern(d, job)
        s = parked(d, job, families="none", source=source)
        logged_in(job)
        over(s)
        logged_in(job)
        e.end()
        ended(d, job)
        is_equal(how + ": no file of any step, though the user logged in", files_of(d, job), [])
    job = new_job()
    s = parked(d, job, families="none", source=c.PROFILE)
    s.stepd.call(c.step(job_id=job, step_id=0, families="task", source=c.SPANK))
    over(s)
    d.file(job, 0, USER.pw_name)
    ok("--jobprof=task outranks --profile=none, also when it is said later")
    job = new_job()
    e = Extern(d, job)
    s = parked(d, job)
    logged_in(job)
    paths = [live(d, job), live(d, job, EXTERN)]
    s.stepd.call(c.step(job_id=job, step_id=0, families="none"))
    wait_until(lambda: not any(map(os.path.exists, paths)), 20, "the files of the running steps to go")
    ok("none, said late: what was published of the step and of the extern step goes")
    over(s)
    e.end()
    ended(d, job)
    is_equal("none, said late: nothing comes at the end", files_of(d, job), [])
    job = new_job()
    e = Extern(d, job)
    batch, s = parked(d, job, "batch", families="all"), parked(d, job, families="none")
    logged_in(job)
    over(s)
    over(batch)
    e.end()
    d.file(job, EXTERN, USER.pw_name)
    ended(d, job)
    is_equal("one step of several wants none: the others have files", files_of(d, job),
             sorted("%d_%s_%s.h5" % (job, k, NODE) for k in ("batch", EXTERN)))


def opted_out_at_info():
    """A user who wants none is no line of the log."""
    d = daemon(LogLevel="info").start()
    job = new_job()
    s = parked(d, job)
    path = live(d, job)
    s.stepd.call(c.step(job_id=job, step_id=0, families="none"))
    wait_until(lambda: not os.path.exists(path), 20, "the file of the running step to go")
    over(s)
    ended(d, job)
    is_equal("none, at LogLevel=info: nothing is logged of it", [l for l in d.said().splitlines() if "%d_" % job in l], [])
    d.end()


def extern_that_asks():
    """Of a job whose user wants no profile: a plugin that asks in the extern step, too, asks in vain."""
    d, job = daemon().start(), new_job()
    e = Extern(d, job)
    s = parked(d, job, families="none")
    e.stepd.call(c.step(job_id=job, step_id=EXTERN, step_name="extern", families="task", source=c.SPANK))
    logged_in(job)
    for _ in range(5):
        e.stepd.call(c.step(job_id=job, step_id=EXTERN, step_name="extern", families="task", source=c.SPANK))
    over(s)
    e.end()
    ended(d, job)
    is_equal("an extern step that asks: no file", files_of(d, job), [])
    is_equal("an extern step that asks: no error", [l for l in d.said().splitlines() if "cannot" in l], [])
    is_equal("an extern step that asks: jobprofd's exit status", d.end(), 0)


def opted_out_and_restarted():
    """A jobprofd that is restarted knows it, however it left; and hears of it when it was away."""
    d = daemon().start()
    for how in (signal.SIGUSR1, signal.SIGKILL, signal.SIGTERM):
        job, other = new_job(), new_job()
        e = Extern(d, job)
        s, t = parked(d, job, families="none"), parked(d, other)
        live(d, other)
        d.end(how)
        d.start()
        live(d, other)
        logged_in(job)
        for k in (s, t):
            over(k)
        e.end()
        d.file(other, 0, USER.pw_name)
        ended(d, job)
        is_equal("none, and a restart by signal %d: no file" % how, files_of(d, job), [])
    job = new_job()
    d.end()
    base, h = tree.job(job) + "/step_0", Holds("0")
    t = Stepd(job, 0, h.cmd("park"), v2_task(base, ["-u", USER.pw_uid]))
    h.wait()
    d.start()
    path = live(d, job)
    peer = c.connect(d.settings["Socket"])
    peer.send(c.step(job_id=job, step_id=0, families="none"))
    peer.recv(4096)
    wait_until(lambda: not os.path.exists(path), 20, "the file of the running step to go")
    d.end()
    d.start()
    h.go()
    t.end()
    ended(d, job)
    is_equal("none, heard of by a jobprofd that came later: no file", files_of(d, job), [])
    job = new_job()
    s = parked(d, job, families="none")
    d.end()
    over(s)
    d.start()
    ended(d, job)
    is_equal("none, and the step ended while jobprofd was away: no file", files_of(d, job), [])
    is_equal("none, and restarts: jobprofd's exit status", d.end(), 0)


def node_machine():
    """Disk and network on a machine made of files, with a sensor of energy."""
    root = machine("intel-2s")
    for part in ("sys", "proc"):
        shutil.copytree(os.path.join(ROOT, "tests/data/sensors/node", part), os.path.join(root, part),
                        dirs_exist_ok=True)
    os.makedirs(os.path.join(root, "dev"), exist_ok=True)
    for name, text in (("cpufreq/scaling_cur_freq", 2000000), ("topology/physical_package_id", 0), ("topology/core_id", 0)):
        put(root, "sys/devices/system/cpu/cpu0/" + name, text)
    return root


NODES = {"CPU", "Disk", "NetDev", "Network", "Slurm_Network", "Filesystem", "Port", "Mount"}


def of_node(path):
    """What a file says of the node as a whole: series, and attributes."""
    with h5py.File(path, "r") as f:
        node = f[NODE]
        found = {n for n in node if n in NODES}
    return found, {a for a in attrs_of(path) if a.startswith("Other ")}


def energy_of(path):
    with h5py.File(path, "r") as f:
        return f[NODE]["Energy"][:]


def node_tables():
    """Of a job that has the node for itself; of one beside which another may be, or is."""
    root = node_machine()
    made = {"SysRoot": root + "/sys", "ProcRoot": root + "/proc", "DevRoot": root + "/dev", "Sensors": "all"}
    d = daemon(**made).start()
    gatherer = [("InMB", "MiB", c.F64, c.DELTA)]
    alone, shared, first, second = (new_job() for _ in range(4))
    for job, cores in ((alone, CORES), (shared, "0")):
        s = parked(d, job, cpus=cores)
        s.stepd.call(c.table(0, "Network", gatherer))
        s.stepd.call(c.rows(0, [1.5], time.time_ns()))
        live(d, job)
        over(s)
        ended(d, job)
    found, others = of_node(d.file(alone, 0, USER.pw_name))
    is_true("alone on the node: its tables", {"CPU", "Disk", "NetDev", "Network"} <= found, found)
    is_true("alone on the node: attributes on what others did", "Other BlkReadMB" in others, others)
    rows = energy_of(d.file(alone, 0, USER.pw_name))
    is_true("alone on the node: its energy", numpy.isfinite(rows["PkgEnergy"][1:]).all(), rows)
    path = d.file(shared, 0, USER.pw_name)
    is_equal("others may be on the node: no table of the node, nor of Slurm's gatherer", of_node(path), (set(), set()))
    rows = energy_of(path)
    is_true("others may be on the node: the step's own energy alone", numpy.isfinite(rows["StepEnergy"][1:]).all() and
            not rows["Power"].any() and all(numpy.isnan(rows[k]).all() for k in (
                "NodeEnergy", "PkgEnergy", "DramEnergy", "GpuEnergy", "OtherEnergy", "SystemEnergy",
                "UnallocatedEnergy")), rows)
    is_true("others may be on the node: the file says so", attrs_of(path)["Mode node"].startswith("off: other jobs") and
            attrs_of(path)["Mode energy"].startswith("estimated"), attrs_of(path))
    is_true("others may be on the node: what they had of the CPUs is one number", "OtherJobs" in
            table(path, "Culprits/0").dtype.names, path)
    a = parked(d, first, cpus=CORES)
    wait_until(lambda: "Disk" in of_node(live(d, first))[0], 20, "tables of the node")
    b = parked(d, second, uid=OTHER.pw_uid, cpus=CORES)
    last = live(d, second, user=OTHER.pw_name)
    wait_until(lambda: len(task_table(last, 0)) > 4, 20, "rows of both")
    over(b)
    ended(d, second)
    over(a)
    ended(d, first)
    came = int(attrs_of(d.file(second, 0, OTHER.pw_name))["Start TimeNS"])
    path = d.file(first, 0, USER.pw_name)
    with h5py.File(path, "r") as f:
        times = f[NODE]["Disk/sda"]["TimeNS"][:]
    is_true("another job came: no row of the node from then on", len(times) and (times > came).sum() <= 1 and
            (task_table(path, 0)["TimeNS"] > came).sum() > 4, (times, came))
    is_equal("another job came: no attribute on others", of_node(path)[1], set())
    is_equal("another job was there first: no table of the node", of_node(d.file(second, 0, OTHER.pw_name)), (set(), set()))
    is_equal("node tables: jobprofd's exit status", d.end(), 0)
    for word, wanted in (("always", True), ("never", False)):
        d = daemon(NodeTables=word, **made).start()
        job = new_job()
        s = parked(d, job, cpus=CORES if word == "never" else "0")
        live(d, job)
        over(s)
        found, others = of_node(d.file(job, 0, USER.pw_name))
        is_equal("NodeTables=%s" % word, [bool(found), bool(others)], [wanted, wanted])
        d.end()


def gpus_in(path):
    with h5py.File(path, "r") as f:
        return sorted(f[NODE]["GPU"]) if "GPU" in f[NODE] else []


def gpus():
    """Of a node that several jobs have: a GPU is in the file of the job that alone uses it."""
    uses = os.path.join(tmpdir("gpus"), "uses")

    def used_by(*by):
        with open(uses + ".new", "w") as f:
            f.writelines("process %d %d %d 50\n" % (gpu, pid, 100 * MB) for gpu, pid in by)
        os.rename(uses + ".new", uses)

    used_by()
    env = ["env", "LD_LIBRARY_PATH=" + os.path.join(BUILD, "tests/stub"), "JOBPROF_STUB_GPUS=" + uses]
    d = daemon(wrap=env, **roots(machine("intel-2s"))).start()
    a, b = new_job(), new_job()
    s, t = parked(d, a, cpus="0"), parked(d, b, uid=OTHER.pw_uid, cpus="1")
    mine, theirs = live(d, a), live(d, b, user=OTHER.pw_name)
    pids = [k.hold.all[0].pid for k in (s, t)]
    used_by((0, pids[0]), (1, pids[1]))
    wait_until(lambda: gpus_in(mine) and gpus_in(theirs), 20, "tables of GPUs")
    is_equal("GPUs: each job has its own", [gpus_in(mine), gpus_in(theirs)], [["0"], ["1"]])
    used_by((0, pids[0]), (0, pids[1]), (1, pids[1]))
    n = len(table(mine, "GPU/0"))
    rows = len(task_table(mine, 0))
    wait_until(lambda: len(task_table(mine, 0)) > rows + 20, 20, "more rows")
    for k in (s, t):
        over(k)
    path = d.file(a, 0, USER.pw_name)
    is_true("GPUs: one that another job came to has no more rows", len(table(path, "GPU/0")) < n + 15, (n, len(table(path, "GPU/0"))))
    is_equal("GPUs: it is not the other job's either", gpus_in(d.file(b, 0, OTHER.pw_name)), ["1"])
    is_equal("GPUs: jobprofd's exit status", d.end(), 0)


def mode_of(path):
    st = os.lstat(path)
    return [st.st_uid, st.st_gid, oct(stat.S_IMODE(st.st_mode))]


def reads(path, user, *groups):
    return subprocess.run(["setpriv", "--reuid=%d" % user.pw_uid, "--regid=%d" % user.pw_gid,
                           "--groups=%s" % ",".join(map(str, groups)) if groups else "--clear-groups",
                           "cat", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def one_run(d, job, **env):
    words = ["-u", USER.pw_uid] + [w for k, v in env.items() for w in ("-e", "%s=%s" % (k, v))]
    Stepd(job, 0, ["sleep", "0.5"], v2_task(tree.job(job) + "/step_0", words)).end()


DIR, FILE = [USER.pw_uid, GROUP.gr_gid, "0o2750"], [USER.pw_uid, GROUP.gr_gid, "0o640"]


def shared_with_a_group():
    """With root's rights, and where root has none: ProfileHDF5Dir is then for all to write to."""
    for how, wrap in (("as root", []), ("as the user", ["setpriv", "--bounding-set", "-chown,-dac_override,-fowner"])):
        d = daemon(ProfileGroup=GROUP.gr_name, AutoMerge="no", wrap=wrap)
        if wrap:
            os.chmod(d.hdf5, 0o1777)
        d.start()
        top, job = os.path.join(d.hdf5, USER.pw_name), new_job()
        s = parked(d, job)
        name = live(d, job)
        is_equal(how + ": the directory, and the file of a running step", [mode_of(top), mode_of(name)], [DIR, FILE])
        over(s)
        path = d.file(job, 0, USER.pw_name)
        is_equal(how + ": the file", mode_of(path), FILE)
        is_equal(how + ": who reads it", [reads(path, OTHER, GROUP.gr_gid), reads(path, OTHER)], [True, False])
        one_run(d, job)
        kept = os.path.join(top, "restart0")
        wait_until(lambda: os.path.exists(os.path.join(kept, os.path.basename(path))), 20, "the earlier run")
        d.file(job, 0, USER.pw_name)
        is_equal(how + ": requeued", [mode_of(kept), mode_of(os.path.join(kept, os.path.basename(path))), mode_of(path)],
                 [DIR, FILE, FILE])
        out = os.path.join(top, "job_%d.h5" % job)
        subprocess.run(["runuser", "-u", USER.pw_name, "--", JOBPROF, "merge", "-j", str(job), "-p", top, "-o",
                        out], check=True, capture_output=True, cwd="/")
        is_equal(how + ": merged by the user", mode_of(out), FILE)
        is_equal(how + ": the merged file is the group's to read", [reads(out, OTHER, GROUP.gr_gid), reads(out, OTHER)],
                 [True, False])
        os.chmod(top, 0o700)
        job = new_job()
        one_run(d, job)
        d.file(job, 0, USER.pw_name)
        is_equal(how + ": a user's directory that the user closed stays closed", mode_of(top), DIR[:2] + ["0o700"])
        is_equal(how + ": jobprofd's exit status", d.end(), 0)


def an_earlier_directory():
    """It was there before the group was; and AutoMerge's file."""
    d = daemon(ProfileGroup=GROUP.gr_name, AutoMerge="yes", AutoReport="yes")
    top, job = os.path.join(d.hdf5, USER.pw_name), new_job()
    os.mkdir(top, 0o700)
    os.chown(top, USER.pw_uid, USER.pw_gid)
    d.start()
    one_run(d, job, SLURM_JOB_NODELIST=NODE, SLURM_STEP_NUM_NODES=1)
    os.rmdir(tree.job(job))
    out = os.path.join(top, "job_%d.h5" % job)
    wait_until(lambda: "merged " + out in d.said(), 30, "AutoMerge: " + d.said()[-600:])
    is_equal("an earlier directory, AutoMerge", [mode_of(top), mode_of(out)], [DIR, FILE])
    is_equal("an earlier directory: jobprofd's exit status", d.end(), 0)


def no_such_group():
    d = daemon(ProfileGroup="no_such_group_%d" % PID)
    p = subprocess.run([JOBPROFD, "--check-config", "-c", d.conf], capture_output=True, text=True)
    is_true("a group that is not there: --check-config", p.returncode == 1 and
            "ProfileGroup=no_such_group_%d: there is no such group" % PID in p.stderr, p.stderr)
    d.start()
    job = new_job()
    one_run(d, job)
    d.file(job, 0, USER.pw_name)
    is_equal("a group that is not there: the directory is the user's alone", mode_of(os.path.join(d.hdf5, USER.pw_name)),
             [USER.pw_uid, USER.pw_gid, "0o700"])
    d.end()


if __name__ == "__main__":
    need_bpf()
    main = daemon().start()
    together(chosen([extern_steps, extern_that_asks, opted_out, opted_out_at_info, opted_out_and_restarted, shared_with_a_group,
                     an_earlier_directory,
                     no_such_group]))
    is_equal("jobprofd's exit status", main.end(), 0)
    # neighbours are what this is about, so that no other test may run then
    run_tests([node_tables, gpus])
