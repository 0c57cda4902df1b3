# SPDX-License-Identifier: GPL-2.0-or-later
"""A jobprofd of a test's own: state, pins, files and the part of the cgroup tree that it follows
are nobody else's, so that several run at once beside the machine's own."""

import concurrent.futures

from daemonlib import *

_lock = threading.Lock()
BPFFS = "/sys/fs/bpf"
NOBODY = 65534
WRITER = os.path.join(BUILD, "jobprof-writer")
DUMP = os.path.join(BUILD, "jobprof-dump")


def children(pid):
    """Of a process, whichever of its threads made them."""
    out = []
    for p in os.listdir("/proc"):
        if not p.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % p) as f:
                if int(f.read().rpartition(")")[2].split()[1]) == pid:
                    out.append(int(p))
        except (OSError, IndexError):
            pass
    return out


def comm(pid):
    try:
        with open("/proc/%d/comm" % pid) as f:
            return f.read().strip()
    except OSError:
        return ""


def not_helpers(pid):
    """Children that have become another program; those that look things up have not."""
    return [c for c in children(pid) if comm(c) not in ("jobprofd", "")]


def rmtree_cgroup(top):
    """A cgroup and all below it, with what runs there."""
    for d, _, _ in os.walk(top, topdown=False):
        for _ in range(50):
            try:
                with open(os.path.join(d, "cgroup.procs")) as f:
                    for pid in f.read().split():
                        os.kill(int(pid), signal.SIGKILL)
                os.rmdir(d)
                break
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.02)


class RootedDaemon(Daemon):
    """A Daemon with a node's name and a part of the cgroup tree of its own (root: its CgroupRoot)."""

    def __init__(self, tag="f", interval=0.1, root=True, **settings):
        name = "%s%d" % (tag, serial())
        self.root = "/jptest_%d_%s" % (PID, name) if root else None
        self._dirs = []
        super().__init__(interval, **{"NodeName": name, "MaxSlots": 128, "Sensors": None,
                                      "CgroupRoot": self.root, **settings})

    def cgroup_root(self, mount=None):
        """The directory in which this daemon's tree begins, made."""
        path = (mount or cgroup2_mount()) + self.root
        with _lock:
            if not os.path.isdir(path):
                os.mkdir(path)
                self._dirs.append(path)
        return path

    def v2_step(self, job, step):
        return "%s/system.slice/slurmstepd.scope/job_%s/step_%s" % (self.cgroup_root(), job, step)

    def v1_step(self, uid, job, step):
        return "%s/slurm/uid_%s/job_%s/step_%s" % (
            self.cgroup_root(need_cgroup1("freezer")), uid, job, step)

    def wait_said(self, pattern, seconds=10):
        return wait_until(lambda: re.search(pattern, self.said()), seconds,
                          "jobprofd to say '%s', it said: %s" % (pattern, self.said()[-400:]))

    def files(self):
        """Published ones, those of running steps too."""
        out = []
        for d, _, names in os.walk(self.hdf5):
            out += [os.path.join(d, n) for n in names if n.endswith(".h5")]
        return sorted(out)

    def temporaries(self):
        out = []
        for d, _, names in os.walk(self.hdf5):
            out += [os.path.join(d, n) for n in names if not n.endswith(".h5")]
        return out

    def journals(self, sub="steps"):
        return sorted(glob.glob(os.path.join(self.state, sub, "*.journal")))

    def step(self, job, step, cmd, tasks=1, v1_uid=None, extra=(), **kw):
        """Starts a step of tasks in a tree of their own. Returns the Popen of its slurmstepd."""
        if self.proc:
            os.makedirs(os.path.dirname(self.v2_step(job, step) if v1_uid is None else
                                        self.v1_step(v1_uid, job, step)), exist_ok=True)
            self.wakes()
        if v1_uid is None:
            where = self.v2_step(job, step) + "/user/task_%d"
        else:
            where = self.v1_step(v1_uid, job, step) + "/task_%d"
        return start([tool("jpstepd"), "-j", str(job), "-s", str(step), "-n", str(tasks), "-c", where]
                     + list(extra) + ["--"] + list(cmd), **{"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
                                                            "env": plain_env(), **kw})

    def close(self):
        if self.proc and self.proc.poll() is None:
            for child in children(self.proc.pid):
                try:
                    os.kill(child, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.proc.kill()
        super().close()
        for d in self._dirs:
            rmtree_cgroup(d)


def read_all(path):
    """Every row of every table of a file: {name: rows}. Raises where it does not open."""
    out = {}
    with h5py.File(path, "r") as f:
        def take(name, item):
            if isinstance(item, h5py.Dataset):
                out[name.partition("/")[2]] = item[()]
        f.visititems(take)
    return out


def sh(cmd, timeout=30, env=None, **kw):
    return subprocess.run(cmd, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout,
                          env=env or plain_env(), errors="replace", **kw)


def status(d):
    return sh([JOBPROFD, "--status", "-c", d.conf])


def run_cmd(*args, out=None, state=None, interval="0.1"):
    out = out or tmpdir("out")
    return [JOBPROF, "run", "-q", "-i", interval, "-o", out, "--state-dir", state or tmpdir("state"),
            "--"] + list(args)


def marker():
    return os.path.join(tmpdir("mark"), "ran")


def says(name, p, status, pattern):
    """Exit status, and one line that tells."""
    lines = [l for l in p.stderr.splitlines() if l]
    if p.returncode != status:
        not_ok(name, "status %d, wanted %d: %s" % (p.returncode, status, p.stderr[-300:]))
    elif len(lines) != 1:
        not_ok(name, "%d lines on stderr: %s" % (len(lines), lines[:3]))
    elif not re.search(pattern, lines[0]):
        not_ok(name, "no '%s' in: %s" % (pattern, lines[0]))
    else:
        ok(name)


def in_namespace(script, cmd):
    """CMD after SCRIPT, in a mount namespace of its own."""
    return ["unshare", "-m", "--propagation", "private", "sh", "-ec", script + '; exec "$@"',
            "sh"] + cmd


def h5_files(d):
    return sorted(glob.glob(d + "/*.h5") + glob.glob(d + "/.*.h5"))


def task_rows(path):
    """Of the only task; says what is there instead."""
    tables = read_all(path)
    if "Tasks/0" not in tables:
        raise Failed("%s has no Tasks/0 but %s; %s" % (
            path, {k: len(v) for k, v in tables.items()},
            {k: v for k, v in attributes(path).items() if k in (
                "Number of Tasks", "Unattributed", "End Reason", "Late Tasks", "Lost Events",
                "Baseline", "Restarted")}))
    return tables["Tasks/0"]


def works(d, name):
    """A daemon that has met something still does its work."""
    job, account = new_job(), os.path.join(tmpdir("acct"), "account")
    d.step(job, 0, [tool("jphold"), "-o", account, "spin=0.05"]).wait()
    path = d.file(job, 0)
    rows = task_rows(path)
    wanted = own_cpu(read_account(account), 0.001, 0.004)
    is_true(name, approx(rows["CPUTime"].sum(), *wanted),
            "CPUTime %s, schedstat says %s" % (rows["CPUTime"], wanted[0]))


def spinning(d, job):
    """A step that uses some CPU all the time, and where the kernel counts what it uses."""
    p = d.step(job, 0, [tool("jpduty"), "0.002", "0.02"], extra=["-e", "SLURM_JOB_NAME=whole"])
    return p, os.path.dirname(d.v2_step(job, 0))


def end_of(p):
    p.terminate()
    p.wait()


def in_use(journal):
    """Bytes of it; the rest is room for more."""
    with open(journal, "rb") as f:
        return len(f.read().rstrip(b"\0"))


def first_frame_end(journal):
    """Behind its header and the frame that says whose it is."""
    with open(journal, "rb") as f:
        return 24 + (struct.unpack("<16xI", f.read(20))[0] & 0x7fffffff)


def run_five_at_a_time(tests):
    """Most of these tests wait most of the time."""
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        list(pool.map(run_one, chosen(tests)))
