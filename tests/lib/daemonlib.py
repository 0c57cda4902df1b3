# SPDX-License-Identifier: GPL-2.0-or-later
"""A jobprofd of the test's own, and Slurm-shaped steps for it to follow (tests/tools/jpstepd)."""

import itertools
import socket
import struct

from lib import *
import lib

JOBPROFD = os.path.join(BUILD, "jobprofd")
PID = os.getpid()
NODE = "jpt%d" % PID
CGROUP_ROOT = "/jptest_%d" % PID  # the script's part of each hierarchy: scripts that run at once see no other's steps
TICK = 0.004 if os.sysconf("SC_CLK_TCK") == 100 else 0.01
INT32_MAX = (1 << 31) - 1

_daemons = []
_serials = itertools.count()
_next_job = 1000000 + PID % 1000000 * 1000
_lock = threading.Lock()

# The writers run as the jobs' users: they must get to ProfileHDF5Dir.
os.chmod(TMP, 0o755)


def serial():
    """A number that nothing else in this script has."""
    return next(_serials)


def new_job():
    """A job id that nobody else on this machine uses."""
    global _next_job
    with _lock:
        _next_job += 1
        return _next_job


class Daemon:
    """jobprofd with directories of its own; settings by their keys, None: not set; options in args."""

    def __init__(self, interval=0.2, nice=0, args=(), wrap=(), **settings):
        self.dir = tmpdir("daemon")
        self.hdf5 = os.path.join(self.dir, "hdf5")
        os.mkdir(self.hdf5, 0o755)
        os.chmod(self.dir, 0o755)
        self.conf = os.path.join(self.dir, "jobprof.conf")
        self.log = os.path.join(self.dir, "log")
        self.notify = os.path.join(self.dir, "notify")
        self.pin = "/sys/fs/bpf/jobprof-test-%d-%d" % (PID, serial())
        self.nice = nice
        self.args = list(args)
        self.wrap = list(wrap)  # a command that runs it
        self.env = {}
        self.program = JOBPROFD
        self.patterns = settings.pop("CgroupPattern", [])
        self.settings = {"ProfileHDF5Dir": self.hdf5, "ProfileHDF5Default": "All",
                         "JobAcctGatherFrequency": "task=%g" % interval,
                         "StateDir": os.path.join(self.dir, "state"), "PinDir": self.pin,
                         "NodeName": NODE, "PublishInterval": 1, "LogLevel": "debug",
                         "CgroupRoot": CGROUP_ROOT,
                         "OverheadBudget": 0,  # what is measured is to be there; overhead.py tries others
                         "Sensors": "none",  # of those who test them: machines differ
                         # Steps of tests are alone on no node, and root's: privacy.py tries the defaults.
                         "NodeTables": "always", "ExternSteps": "all",
                         "Socket": os.path.join(self.dir, "socket")}
        self.configure(**settings)
        self.proc = None
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.notify)
        self.socket.settimeout(0.05)
        _daemons.append(self)

    @property
    def name(self):
        return self.settings["NodeName"]

    @property
    def state(self):
        return self.settings["StateDir"]

    def configure(self, **settings):
        self.settings.update(settings)
        with open(self.conf, "w") as f:
            for k, v in self.settings.items():
                if v is not None:
                    f.write("%s=%s\n" % (k, v))
            for p in self.patterns:
                f.write("CgroupPattern=%s\n" % p)

    def spawn(self):
        """Does not wait until jobprofd is ready."""
        while self._notification():
            pass
        with open(self.log, "ab") as log:
            self.proc = start(self.wrap + [self.program, "-f", "-c", self.conf, *self.args],
                              stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                              env=plain_env(NOTIFY_SOCKET=self.notify, **self.env))
        os.setpriority(os.PRIO_PROCESS, self.proc.pid, self.nice)

    def ready(self, seconds=20):
        """Waits until jobprofd says that it is ready."""
        wait_until(self._is_ready, seconds, "jobprofd to be ready")
        return self

    def start(self):
        """Starts jobprofd with the present settings, and waits until it is ready."""
        self.configure()
        self.spawn()
        return self.ready()

    def _notification(self):
        try:
            return self.socket.recv(256)
        except socket.timeout:
            return b""

    def _is_ready(self):
        if b"READY=1" in self._notification():
            return True
        if self.proc.poll() is not None:
            raise Failed("jobprofd ended with status %d: %s" % (self.proc.returncode, self.said()))
        return False

    def counts(self):
        """All programs of the life of tasks are attached, once there is a job."""
        return os.path.exists(self.pin + "/links/jp_cgroup_rmdir")

    def wakes(self):
        """A job's directory is there: in Slurm, too, it is so some time before the first step."""
        end = time.monotonic() + 5
        while time.monotonic() < end and self.proc.poll() is None and not self.counts():
            time.sleep(0.01)

    def tell(self, sig):
        self.proc.send_signal(sig)

    def end(self, sig=signal.SIGTERM, seconds=30):
        """Returns its exit status."""
        if self.proc.poll() is None:
            self.proc.send_signal(sig)
        try:
            return self.proc.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failed("jobprofd did not end in %d s: %s" % (seconds, self.said()[-2000:]))

    def said(self):
        with open(self.log, errors="replace") as f:
            return f.read()

    def path(self, job, step, user="root"):
        return os.path.join(self.hdf5, user, "%s_%s_%s.h5" % (job, step, self.name))

    def file(self, job, step, user="root", seconds=20):
        """The file of an ended step, once it is there."""
        path = self.path(job, step, user)
        try:
            wait_until(lambda: os.path.exists(path), seconds, "the file")
        except Failed:
            raise Failed("no %s after %g s; %s" % (path, seconds, self.known_of(path)))
        return path

    def known_of(self, path):
        """What the log has on a file and, by its job's cgroup, on its step; and which files exist."""
        name = os.path.basename(path)
        job, step = name.split("_")[:2]
        lines = [x for x in self.said().splitlines()
                 if name in x or re.search("job_%s/step_%s\\b" % (job, step), x)]
        exist = [n for top in (self.hdf5, self.state) for _, _, names in os.walk(top) for n in names]
        return "jobprofd said of it: %s; there are: %s; and last: %s" % (
            lines, [n for n in exist if name in n], self.said()[-600:])

    def map_bytes(self, name):
        """All of a pinned mmapable array, through the map, not through jobprof."""
        out = subprocess.run(["bpftool", "-j", "map", "dump", "pinned",
                              "%s/maps/%s" % (self.pin, name)], capture_output=True, check=True)
        values = [e["value"] for e in json.loads(out.stdout)]
        return [bytes(int(b, 16) for b in v) if isinstance(v, list) else v for v in values]

    def used_slots(self):
        """Number, state (1 active, 2 draining), kind and path of every slot beyond the two of the
        collector that is not free (struct jp_slot of bpf/jobprof.h)."""
        used = []
        for i, raw in enumerate(self.map_bytes("jp_slots")):
            state, _, kind = struct.unpack_from("<3I", raw)
            if i >= 2 and state:
                used.append((i, state, kind, raw[80:].split(b"\0")[0].decode()))
        return used

    def slot_run_ns(self, slot):
        """Run time counted in a slot, over all CPUs (struct jp_sched)."""
        rows = self.map_bytes("jp_sched")
        nslots = len(self.map_bytes("jp_slots"))
        return sum(struct.unpack_from("<Q", r)[0] for r in rows[slot::nslots])

    def stats(self):
        """struct jp_stats of bpf/jobprof.h."""
        raw = self.map_bytes("jp_control")[0]
        names = ("rb_lost", "slots_exhausted", "cgroups_full", "storage_fail", "env_long",
                 "path_long", "iter_fail", "late_tasks")
        return dict(zip(names, struct.unpack_from("<8Q", raw, 48)))


    def close(self):
        """Ends what is left of jobprofd at the script's end, and removes its pins."""
        if self.proc:
            try:
                self.proc.wait(20)
            except subprocess.TimeoutExpired:
                self.proc.kill()
                self.proc.wait()
        self.socket.close()
        for d, _, names in os.walk(self.pin, topdown=False):
            for n in names:
                os.unlink(os.path.join(d, n))
            os.rmdir(d)


def _end_daemons():
    for d in _daemons:
        if d.proc and d.proc.poll() is None:
            d.proc.terminate()
    for d in _daemons:
        d.close()


def _end_steps():
    # the tasks first: an ended slurmstepd has removed its cgroups
    for p in lib._children:
        if p.poll() is None and p.args[0] == tool("jpstepd"):
            p.terminate()
    for p in lib._children:
        if p.args[0] == tool("jpstepd"):
            try:
                p.wait(5)
            except subprocess.TimeoutExpired:
                pass


atexit.register(_end_daemons)
atexit.register(_end_steps)


class Trees:
    """The top of Slurm's trees in the hierarchies; jpstepd makes what is below. Without v2 they are all of v1."""

    def __init__(self):
        self.v2 = cgroup2_mount() and mkcg("%s/jptest%d.slice/%s_slurmstepd.scope" % (CGROUP_ROOT, PID, NODE))

    def job(self, job, name=None):
        """Directory of a job on v2; made here, since its steps come and go."""
        if not self.v2:
            return self.v1(0, job)
        path = os.path.join(self.v2, name or "job_%d" % job)
        with _lock:
            if not os.path.isdir(path):
                os.mkdir(path)
                lib._cgroups.append(path)
        self._wake()
        return path

    def v1(self, uid, job):
        """Directory of a job in the freezer hierarchy."""
        mount = need_cgroup1("freezer")
        with _lock:
            path = mkcg("%s/slurm_%s/uid_%d/job_%d" % (CGROUP_ROOT, NODE, uid, job), mount)
        self._wake()
        return path

    def _wake(self):
        for d in _daemons:
            if d.proc and d.settings["CgroupRoot"] == CGROUP_ROOT:
                d.wakes()


class Stepd:
    """A running jpstepd. args: its options beyond -j, -s, -n and -f."""

    def __init__(self, job, step, cmd, args, n=1, first=0, log=None):
        self.log = os.path.join(tmpdir("step"), "log")
        with open(self.log, "wb") as out:
            self.proc = start([tool("jpstepd"), "-j", str(job), "-s", str(step), "-n", str(n),
                               "-f", str(first)] + [str(a) for a in args] + ["--"] +
                              [str(c) for c in cmd], stdin=subprocess.DEVNULL, stdout=out,
                              stderr=subprocess.STDOUT, env=plain_env())

    def end(self, seconds=40):
        """Waits; returns the exit status."""
        try:
            return self.proc.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failed("the step did not end in %d s" % seconds)

    def out(self):
        with open(self.log, errors="replace") as f:
            return f.read()


def sluid(n):
    digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    text = ""
    for _ in range(13):
        text = digits[n % 32] + text
        n //= 32
    return "s" + text


def new_sluid(n):
    return sluid((1 << 52) + (int(time.time() * 1000) << 10) + n)


def v2_task(base, extra=()):
    """Options for a step with a cgroup per task, numbered on this node; on v1 the tasks are in the step's."""
    if not cgroup2_mount():
        return ["-d", os.path.dirname(base), "-S", "-c", base] + list(extra)
    return ["-d", base + "/slurm", "-c", base + "/user/task_%d"] + list(extra)


def v2_shared(base, extra=()):
    if not cgroup2_mount():
        return v2_task(base, extra)
    return ["-d", base + "/slurm", "-S", "-c", base + "/user/task_special"] + list(extra)


class Holds:
    """Parking tools by number: the command names their files by a word of its own."""

    def __init__(self, names):
        self.dir = tmpdir("holds")
        os.chmod(self.dir, 0o777)
        self.all = []
        for n in names:
            h = Hold.__new__(Hold)
            h.fifo = "%s/fifo.%s" % (self.dir, n)
            h.state = "%s/state.%s" % (self.dir, n)
            os.mkfifo(h.fifo)
            os.chmod(h.fifo, 0o666)
            h.parks = h.pid = 0
            self.all.append(h)

    def cmd(self, *steps, word="%d"):
        return [tool("jphold"), "-f", "%s/fifo.%s" % (self.dir, word), "-s",
                "%s/state.%s" % (self.dir, word)] + list(steps)

    def wait(self):
        for h in self.all:
            h.wait()

    def go(self):
        for h in self.all:
            h.go()


class Window:
    """What the kernel says of several processes between two instants at which all are parked."""

    def __init__(self, holds, settle, between=None):
        """At a park already; settle: seconds, or what waits; between() runs while they work."""
        pause = settle if callable(settle) else lambda: time.sleep(settle)
        self.holds = holds
        pause()
        self.before = [kernel_account(h.pid) for h in holds]
        self.start_ns = time.time_ns()
        for h in holds:
            h.go()
        if between:
            between()
        for h in holds:
            h.wait()
        pause()
        self.after = [kernel_account(h.pid) for h in holds]
        self.end_ns = time.time_ns()

    def kernel(self, key, which=None):
        return sum(self.after[i][key] - self.before[i][key] for i in range(len(self.holds))
                   if which is None or i in which)

    def ours(self, rows, column):
        return total(rows, column, self.start_ns, self.end_ns)


EXACT = (("VolSwitches", "nvcsw", 1), ("InvolSwitches", "nivcsw", 1),
         ("ReadMB", "io_rchar", MB), ("WriteMB", "io_wchar", MB), ("ReadCalls", "io_syscr", 1),
         ("WriteCalls", "io_syscw", 1), ("DiskWriteMB", "io_write_bytes", MB),
         ("MinorFaults", "minflt", 1))


def compare(name, window, rows, which=None, slack=0.001):
    """Rows of a window against the processes' own accounts (which: their numbers)."""
    is_near(name + ": CPU time is schedstat's", window.ours(rows, "CPUTime"),
            window.kernel("run_ns", which) / 1e9, 0.001, slack)
    is_near(name + ": run delay is schedstat's", window.ours(rows, "RunDelay"),
            window.kernel("delay_ns", which) / 1e9, 0.001, 0.001)
    wrong = ["%s: got %.9g, wanted %d" % (column, window.ours(rows, column) * scale,
                                         window.kernel(key, which))
             for column, key, scale in EXACT
             if window.ours(rows, column) * scale != window.kernel(key, which)]
    is_equal(name + ": switches, I/O and faults are the kernel's", wrong, [])


def attrs_of(path):
    """Attributes as plain values: Slurm's are arrays of one."""
    out = {}
    for k, v in attributes(path).items():
        v = numpy.ravel(v)[0]
        out[k] = v.decode() if isinstance(v, bytes) else int(v) if isinstance(
            v, numpy.integer) else v
    return out


def tasks_of(path):
    with h5py.File(path, "r") as f:
        node = next(k for k in f if isinstance(f[k], h5py.Group))
        return sorted(int(k) for k in f[node]["Tasks"]) if "Tasks" in f[node] else []


def whole(path, table_name, column):
    return float(table(path, table_name)[column].sum())


def used_and_left(cgroup):
    """ns of CPU of a cgroup that has had processes and has none."""
    try:
        ns = cpu_stat_ns(cgroup)
        with open(cgroup + "/cgroup.procs") as f:
            return 0 if f.read().split() or not ns else cpu_stat_ns(cgroup)
    except OSError:
        return 0


def move(pid, directory):
    with open(os.path.join(directory, "cgroup.procs"), "w") as f:
        f.write(str(pid))


def start_in(directories, cmd, **kw):
    """Starts cmd as a member of the cgroups from its first instruction on."""
    script = "".join("echo $$ >%s/cgroup.procs && " % d for d in directories) + 'exec "$@"'
    return start(["sh", "-c", script, "sh"] + [str(c) for c in cmd], stdin=subprocess.DEVNULL,
                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=plain_env(), **kw)


def public_tool(name):
    """A copy that every user can run, wherever the build is."""
    path = os.path.join(TMP, "bin", name)
    with _lock:
        os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
        if not os.path.exists(path):
            shutil.copy(tool(name), path)
    return path


def together(functions):
    """Calls all at the same time."""
    threads = [threading.Thread(target=run_one, args=(f,), daemon=True) for f in functions]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def run_together(tests):
    """Like run_tests, all at the same time, each in a thread of its own."""
    together(chosen(tests))
