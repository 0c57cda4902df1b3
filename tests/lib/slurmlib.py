# SPDX-License-Identifier: GPL-2.0-or-later
"""A real Slurm (scripts/testbed) with a jobprofd that follows its jobs."""

import contextlib
import pty
import pwd

from daemonlib import *
from slurm_release import *
import daemonlib

TESTBED = os.path.join(ROOT, "scripts", "testbed")
OURS = os.path.join(BUILD, "sh5util")
NOBODY = pwd.getpwnam("nobody")
# A user who is not root; not nobody, a special name of Slurm's, which sh5util of 26.05 refuses.
USER = pwd.getpwnam("daemon")
EXTERN = 4294967292
INTERACTIVE = 4294967290
MODES = ("v1", "v2")

_clusters = []


def is_v1_mounted():
    return os.path.isdir("/sys/fs/cgroup/freezer") and os.path.isdir("/sys/fs/cgroup/memory")


def out_of(cmd, env=None, check=True, seconds=60, **kw):
    """What a command prints; it must end with 0."""
    p = subprocess.run([str(c) for c in cmd], env=env or plain_env(), stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, timeout=seconds, **kw)
    if check and p.returncode:
        raise Failed("%s: status %d: %s" % (" ".join(map(str, cmd)), p.returncode, p.stderr[-500:]))
    return p.stdout.strip()


class Cluster:
    """mode: v1 or v2; conf, acct ...: lines for its configuration's files. Jobs begin at a number
    that no other cluster of this test has."""

    def __init__(self, mode, nodes=2, cpus=8, conf=(), acct=(), plugstack=(), cgroup=(),
                 configless=False, accounting=False):
        if RELEASE == (0, 0):
            raise Skipped("there is no Slurm in " + (SLURM or "PATH"))
        if mode == "v1" and not is_v1_mounted():
            raise Skipped("the v1 hierarchies are not mounted")
        self.mode = mode
        self.dir = tmpdir("slurm")
        with daemonlib._lock:
            self.prefix = "jpt%d%s" % (PID, "".join(chr(ord("a") + n) for n in divmod(
                len(_clusters), 26)))
            _clusters.append(self)
            first = 1000 * len(_clusters) + PID % 1000 * 30000
        self.nodes = [self.prefix + str(i + 1) for i in range(nodes)]
        # Memory is held to what is asked for; an ended job's id is not used again.
        conf = ["SelectTypeParameters=CR_CPU_Memory", "DefMemPerCPU=100",
                "FirstJobId=%d" % first] + list(conf)
        cmd = [TESTBED, "up", "--dir", self.dir, "--nodes", nodes, "--prefix", self.prefix,
               "--cpus", cpus, "--cgroup", mode] + (["--slurm", SLURM] if SLURM else [])
        cmd += ["--configless"] if configless else []
        cmd += ["--accounting"] if accounting else []
        for option, lines in (("--conf", conf), ("--acct", acct), ("--plugstack", plugstack),
                              ("--cgroup-conf", cgroup)):
            for line in lines:
                cmd += [option, line]
        out_of(cmd, seconds=120 if accounting else 40)
        self.conf = os.path.join(self.dir, "etc", "slurm.conf")
        self.env = slurm_env(SLURM_CONF=self.conf)
        self.profile = os.path.join(self.dir, "profile")

    def limits_memory(self):
        """A job's memory is held to what was asked for."""
        with open(self.dir + "/etc/cgroup.conf") as f:
            return "ConstrainRAMSpace=yes" in f.read()

    def log(self):
        text = ""
        for name in sorted(os.listdir(self.dir + "/log")):
            with open(os.path.join(self.dir, "log", name), errors="replace") as f:
                text += "".join("%s: %s" % (name, l) for l in f.readlines()[-12:])
        return text

    def command(self, *cmd, check=True, **kw):
        """A command of Slurm's, and what it prints."""
        return out_of(cmd, env=self.env, check=check, **kw)

    def srun(self, args, cmd, user=None, **kw):
        """Starts it; see Srun."""
        return Srun(self, args, cmd, user, **kw)

    def sbatch(self, script, args=(), user=None, **kw):
        """Submits; returns the Job."""
        d = public_dir(user)
        path = os.path.join(d, "script")
        with open(path, "w") as f:
            f.write("#!/bin/sh\n" + script)
        os.chmod(path, 0o755)
        out = out_of(as_user(user) + ["sbatch", "--parsable", "-D", d, "-o", "out.%j"] +
                     list(args) + [path], env=dict(self.env, **kw))
        return Job(self, int(out.split("\n")[-1].split(";")[0]), d)

    def salloc(self, args, line):
        """An interactive job, in a terminal, whose shell is given a line; returns its id."""
        master, slave = pty.openpty()
        p = start(["setsid", "-c", "salloc"] + args, stdin=slave, stdout=slave, stderr=slave,
                  env=dict(self.env, SHELL="/bin/sh", TERM="dumb"))
        os.close(slave)
        os.write(master, b"echo job=$SLURM_JOB_ID; %s\n" % line.encode())
        text = b""
        with contextlib.suppress(OSError):  # at its end
            while True:
                text += os.read(master, 4096)
        p.wait(30)
        os.close(master)
        found = re.search(rb"job=(\d+)", text)
        if not found:
            raise Failed("the shell said %r" % text)
        return int(found.group(1))

    def show(self, job):
        """scontrol show job: KEY=VALUE words."""
        out = self.command("scontrol", "show", "job", job)
        return dict(w.split("=", 1) for w in out.split() if "=" in w)

    def cgroup_names(self, job):
        """What a directory of the job's may be called: with v2, 26.05 takes its SLUID (s...)."""
        sluid = self.command("squeue", "-h", "-j", job, "-O", "SLUID:20", check=False)
        return ["job_%d" % job] + ([sluid] if sluid.startswith("s") else [])

    def state(self, job):
        return self.command("squeue", "-h", "-t", "all", "-j", job, "-o", "%T")

    def wait_state(self, job, *states, seconds=40):
        try:
            return wait_until(lambda: self.state(job) in states, seconds, "job %s to be %s" % (
                job, " or ".join(states)))
        except Failed as e:
            raise Failed("%s; it is %s; %s" % (e, self.state(job), self.log()))

    def down(self):
        if os.path.isdir(self.dir):
            # in a session of its own: what ends the test's processes must not end this
            subprocess.run([TESTBED, "down", self.dir], stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, start_new_session=True, timeout=60)


class Job:
    """A batch job. dir: its directory, where its output is."""

    def __init__(self, cluster, job, directory):
        self.cluster, self.id, self.dir = cluster, job, directory

    def end(self, seconds=60):
        """Waits; returns its last state."""
        ended = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL")
        self.cluster.wait_state(self.id, *ended, seconds=seconds)
        return self.cluster.state(self.id)

    def out(self):
        with open(os.path.join(self.dir, "out.%d" % self.id)) as f:
            return f.read()


class Srun:
    """A running srun. id: its job; dir: where its tasks' output is, a file each; env: more for
    the environment."""

    def __init__(self, cluster, args, cmd, user=None, env=None):
        self.cluster = cluster
        self.dir = public_dir(user)
        self.log = os.path.join(self.dir, "log")
        with open(self.log, "wb") as out:
            self.proc = start(as_user(user) + ["srun", "-D", self.dir, "-o", "out.%j.%s.%t"] +
                              [str(a) for a in args] + [str(c) for c in cmd],
                              stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                              env=dict(cluster.env, **(env or {})))
        self._id = None

    def _find_id(self):
        found = glob.glob(self.dir + "/out.*")
        if not found and self.proc.poll() is not None:
            raise Failed("srun ended with %d: %s" % (self.proc.returncode, self.said()))
        return int(os.path.basename(found[0]).split(".")[1]) if found else None

    @property
    def id(self):
        if not self._id:
            self._id = wait_until(self._find_id, 30, "srun to start its tasks")
        return self._id

    def end(self, seconds=60):
        try:
            return self.proc.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failed("srun did not end in %d s: %s" % (seconds, self.said()))

    def said(self):
        with open(self.log, errors="replace") as f:
            return f.read()

    def out(self, task=0, step=0):
        with open("%s/out.%d.%s.%d" % (self.dir, self.id, step, task)) as f:
            return f.read()


def as_user(user):
    return ["runuser", "-u", user, "--"] if user else []


def public_dir(user=None):
    d = tmpdir("job")
    os.chmod(d, 0o755)
    if user:
        os.chown(d, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
    return d


class Profiler(Daemon):
    """jobprofd for jobs of clusters."""

    def __init__(self, interval=0.25, **settings):
        # Slurm makes its trees in the root; of the scripts that start one no two run at once
        super().__init__(interval, nice=-10, **{"CgroupRoot": None, **settings})

    def path_of(self, job, step, node, user="root"):
        return os.path.join(self.hdf5, user, "%s_%s_%s.h5" % (job, step, node))

    def get(self, job, step, node, user="root", seconds=30):
        """The file of an ended step, once it is there."""
        path = self.path_of(job, step, node, user)
        try:
            wait_until(lambda: os.path.exists(path), seconds, "the file")
        except Failed:
            raise Failed("no %s after %g s; there are %s; jobprofd said: %s" % (
                path, seconds, self.of_job(job, user),
                [l for l in self.said().splitlines() if str(job) in l][-8:]))
        return path

    def of_job(self, job, user="root"):
        """Names of the job's files, those of earlier runs as restart<N>/NAME."""
        top = os.path.join(self.hdf5, user)
        found = glob.glob("%s/%s_*" % (top, job)) + glob.glob("%s/restart*/%s_*" % (top, job))
        return sorted(os.path.relpath(p, top) for p in found)

    def has(self, job, names, user="root", seconds=30):
        """Waits for exactly these files; None, or what is wrong."""
        names = sorted(names)
        try:
            wait_until(lambda: self.of_job(job, user) == names, seconds, "files")
        except Failed:
            return "got %s, wanted %s; jobprofd said %s" % (
                self.of_job(job, user), names,
                [l for l in self.said().splitlines() if str(job) in l][-8:])


UNTIL = ["sh", "-c", "until [ -e go ]; do sleep 0.1; done"]  # a task that ends at let_go()


def let_go(srun):
    with open(os.path.join(srun.dir, "go"), "w"):
        pass


def public_copy(program):
    """A copy that every user can run, wherever the build is."""
    path = os.path.join(TMP, "bin", os.path.basename(program))
    with daemonlib._lock:
        os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
        if not os.path.exists(path):
            shutil.copy(program, path)
    return path


def name_of(job, step, node):
    return "%s_%s_%s.h5" % (job, step, node)


def has_files(name, d, job, names, user="root"):
    """The test "<name>: files": exactly these are there in the end."""
    wrong = d.has(job, names, user)
    is_true(name + ": files", not wrong, wrong)


def owned(path):
    """Owner, group and mode of a file and its directory."""
    st, up = os.stat(path), os.stat(os.path.dirname(path))
    return [st.st_uid, st.st_gid, st.st_mode & 0o7777, up.st_uid, up.st_gid, up.st_mode & 0o7777]


def picked(path, *names):
    """Attributes by their names; None where one is absent."""
    attrs = attrs_of(path)
    return [attrs.get(n) for n in names]


def group_of(path):
    with h5py.File(path, "r") as f:
        return [k for k in f if isinstance(f[k], h5py.Group)]


def steps_in(path):
    """Of a merged file: {step: {node: [tasks]}}."""
    with h5py.File(path, "r") as f:
        return {s: {n: sorted(f["Steps"][s]["Nodes"][n].get("Tasks", {}), key=int)
                    for n in f["Steps"][s]["Nodes"]} for s in f["Steps"]}


def steps_end(d, job, user="root"):
    """Waits until no step of the job is running."""
    live = os.path.join(d.hdf5, user, ".%s_*" % job)
    wait_until(lambda: not glob.glob(live), 30, "the job's steps to end")


def requeue_job(cluster, d, job):
    """The job, whose steps run now, runs again. Slurm may take the old extern step for one of the
    second run, and its end for that run's, unless the steps of the first have ended."""
    cluster.command("scontrol", "requeue", job)
    cluster.wait_state(job, "PENDING")
    steps_end(d, job)
    # Slurm waits for two minutes otherwise
    cluster.command("scontrol", "update", "JobId=%d" % job, "StartTime=now")


def merges(name, cluster, d, job, wanted, user="root"):
    """Stock sh5util and ours make the same tree of the job's files, once none is of a running step.
    wanted: as steps_in()."""
    steps_end(d, job, user)
    for who, program in (("Slurm's", STOCK), ("our", OURS)):
        out = os.path.join(tmpdir("merge"), "job.h5")
        p = subprocess.run([program, "-S", "-j", str(job), "-u", user, "-p", d.hdf5, "-o", out],
                           env=cluster.env, stdin=subprocess.DEVNULL, capture_output=True,
                           text=True, timeout=60)
        if p.returncode or not os.path.exists(out):
            not_ok("%s: %s sh5util merges" % (name, who), "status %d: %s" % (
                p.returncode, p.stderr))
        else:
            is_equal("%s: %s sh5util merges" % (name, who), steps_in(out), wanted)


def of_task(directory, cmd, name="account", first=""):
    """A command whose "{}" is a file of each task's own below directory: account.<PROCID>. The
    shell that starts it does what comes first."""
    path = "%s/%s.$SLURM_PROCID" % (directory, name)
    return ["sh", "-c", first + "exec " + " ".join(str(c) for c in cmd).replace("{}", path)]


def start_clusters(modes=MODES, **options):
    """One cluster per mode that this machine can have, all started at once: {mode: cluster}."""
    made = {}

    def one(mode):
        try:
            made[mode] = Cluster(mode, **options)
        except Skipped as e:
            skip("Slurm with cgroup %s" % mode, e)
        except Failed as e:
            not_ok("Slurm with cgroup %s starts" % mode, e)

    threads = []
    for m in modes:
        threads.append(threading.Thread(target=one, args=(m,)))
        threads[-1].start()
    for t in threads:
        t.join()
    return {m: made[m] for m in MODES if m in made}


def in_modes(tests, clusters, profiler):
    """Each test(name, cluster, profiler) with every cluster, all at the same time."""
    def bound(test, mode):
        def run():
            test("%s, %s" % (test.__name__.replace("_", " "), mode), clusters[mode], profiler)
        run.__name__ = "%s, %s" % (test.__name__, mode)
        return run

    together([bound(t, m) for t in chosen(tests) for m in clusters])


def _end_clusters():
    threads = [threading.Thread(target=c.down) for c in _clusters]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


atexit.register(_end_clusters)
