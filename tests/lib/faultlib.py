# SPDX-License-Identifier: GPL-2.0-only
"""A jobprofd of a test's own: state, pins, files and the part of the cgroup tree that it follows
are nobody else's, so that several run at once beside the machine's own."""

import re
import socket
import threading

from lib import *

JOBPROFD = os.path.join(BUILD, "jobprofd")
BPFFS = "/sys/fs/bpf"
_lock = threading.Lock()
_serial = [0]
_daemons = []


def serial():
    with _lock:
        _serial[0] += 1
        return _serial[0]


def cgroup1_mount(controller):
    with open("/proc/self/mountinfo") as f:
        for line in f:
            left, _, right = line.partition(" - ")
            words = right.split()
            if words[0] == "cgroup" and controller in words[2].split(","):
                return left.split()[4]
    return None


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


class Daemon:
    """home: directory of everything; h5: ProfileHDF5Dir; state: StateDir; name: NodeName."""

    def __init__(self, tag, interval="0.1", root=True, **keys):
        self.name = "%s%d" % (tag, serial())
        self.home = tmpdir(self.name)
        os.chmod(self.home, 0o755)
        os.chmod(TMP, 0o755)
        self.h5 = os.path.join(self.home, "h5")
        self.state = os.path.join(self.home, "state")
        self.pin = "%s/jptest_%d_%s" % (BPFFS, os.getpid(), self.name)
        self.root = "/jptest_%d_%s" % (os.getpid(), self.name) if root else None
        self.config = os.path.join(self.home, "conf")
        self.log = os.path.join(self.home, "log")
        self.proc = None
        self.prefix, self.args, self.env = [], [], {}
        self._dirs = []
        os.mkdir(self.h5, 0o755)
        self.keys = {"ProfileHDF5Dir": self.h5, "ProfileHDF5Default": "All",
                     "JobAcctGatherFrequency": "task=%s" % interval, "StateDir": self.state,
                     "PinDir": self.pin, "NodeName": self.name, "PublishInterval": "1",
                     "MaxSlots": "128", "LogLevel": "debug",
                     "Socket": os.path.join(self.home, "socket")}
        if root:
            self.keys["CgroupRoot"] = self.root
        self.keys.update(keys)
        self.write_config()
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(os.path.join(self.home, "notify"))
        _daemons.append(self)

    def write_config(self, **keys):
        self.keys.update(keys)
        with open(self.config, "w") as f:
            for k, v in self.keys.items():
                if v is not None:
                    f.write("%s=%s\n" % (k, v))
        os.chmod(self.config, 0o644)

    def cgroup_root(self, mount=None):
        """The directory in which this daemon's tree begins, made."""
        path = (mount or cgroup2_mount()) + self.root
        if not os.path.isdir(path):
            os.mkdir(path)
            self._dirs.append(path)
        return path

    def v2_step(self, job, step):
        return "%s/system.slice/slurmstepd.scope/job_%s/step_%s" % (self.cgroup_root(), job, step)

    def v1_step(self, uid, job, step):
        mnt = cgroup1_mount("freezer")
        if not mnt:
            raise Skipped("the freezer controller is not on cgroup v1")
        return "%s/slurm/uid_%s/job_%s/step_%s" % (self.cgroup_root(mnt), uid, job, step)

    def spawn(self):
        """Does not wait until it is ready."""
        self.sock.setblocking(False)
        try:
            while self.sock.recv(100):
                pass
        except BlockingIOError:
            pass
        with open(self.log, "ab") as log:
            self.proc = start(self.prefix + [JOBPROFD, "-f", "-c", self.config] + self.args,
                              stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                              env=plain_env(NOTIFY_SOCKET=os.path.join(self.home, "notify"),
                                            **self.env))
        return self.proc

    def ready(self, seconds=20):
        end = time.monotonic() + seconds
        self.sock.settimeout(0.05)
        while time.monotonic() < end:
            try:
                if b"READY=1" in self.sock.recv(100):
                    return self
            except socket.timeout:
                pass
            if self.proc.poll() is not None:
                raise Failed("jobprofd ended with %d: %s" % (self.proc.returncode, self.said()))
        raise Failed("jobprofd was not ready in %g s: %s" % (seconds, self.said()))

    def start(self):
        self.spawn()
        return self.ready()

    def kill(self, sig=signal.SIGKILL):
        self.proc.send_signal(sig)
        self.proc.wait(30)

    def stop(self, seconds=30):
        """Politely; its exit status."""
        self.proc.terminate()
        try:
            return self.proc.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failed("jobprofd did not stop in %g s: %s" % (seconds, self.said()))

    def said(self):
        with open(self.log, errors="replace") as f:
            return f.read()

    def wait_said(self, pattern, seconds=10):
        return wait_until(lambda: re.search(pattern, self.said()), seconds,
                          "jobprofd to say '%s', it said: %s" % (pattern, self.said()[-400:]))

    def file(self, job, step, user="root"):
        return os.path.join(self.h5, user, "%s_%s_%s.h5" % (job, step, self.name))

    def files(self):
        """Published ones, those of running steps too."""
        out = []
        for d, _, names in os.walk(self.h5):
            out += [os.path.join(d, n) for n in names if n.endswith(".h5")]
        return sorted(out)

    def temporaries(self):
        out = []
        for d, _, names in os.walk(self.h5):
            out += [os.path.join(d, n) for n in names if not n.endswith(".h5")]
        return out

    def journals(self, sub="steps"):
        return sorted(glob.glob(os.path.join(self.state, sub, "*.journal")))

    def wait_file(self, job, step, user="root", seconds=20):
        path = self.file(job, step, user)
        try:
            return wait_until(lambda: os.path.exists(path) and path, seconds, path)
        except Failed:
            raise Failed("waited %g s for %s; %s" % (seconds, path, self.known_of(path)))

    def known_of(self, path):
        """What there is and was said of a file and, below its job, of its step."""
        name = os.path.basename(path)
        job, step = name.split("_")[:2]
        lines = [x for x in self.said().splitlines()
                 if name in x or re.search("job_%s/step_%s\\b" % (job, step), x)]
        there = [f for f in self.files() + self.temporaries() + self.journals()
                 if name in os.path.basename(f)]
        return "jobprofd said of it: %s; there are: %s; and last: %s" % (
            lines, there, self.said()[-600:])

    def step(self, job, step, cmd, tasks=1, v1_uid=None, extra=(), **kw):
        """Starts a step of tasks in a tree of their own. Returns the Popen of its slurmstepd."""
        if self.proc:
            self.wake(os.path.dirname(self.v2_step(job, step) if v1_uid is None else
                                      self.v1_step(v1_uid, job, step)))
        if v1_uid is None:
            where = self.v2_step(job, step) + "/user/task_%d"
        else:
            where = self.v1_step(v1_uid, job, step) + "/task_%d"
        return start([tool("jpstepd"), "-j", str(job), "-s", str(step), "-n", str(tasks), "-c", where]
                     + list(extra) + ["--"] + list(cmd), stdin=subprocess.DEVNULL,
                     stdout=subprocess.DEVNULL, env=plain_env(), **kw)

    def wake(self, job_dir):
        """A job's directory is there some time before its first step: it wakes the programs."""
        os.makedirs(job_dir, exist_ok=True)
        end = time.monotonic() + 2
        while (time.monotonic() < end and self.proc.poll() is None and
               not os.path.exists(self.pin + "/links/jp_cgroup_rmdir")):
            time.sleep(0.01)

    def used_slots(self):
        """Of the pinned map, by bpftool: (slot, state, kind) that are not free, bar the collector's."""
        out = subprocess.run(["bpftool", "-j", "map", "dump", "pinned", self.pin + "/maps/jp_slots"],
                             capture_output=True, check=True)
        used = []
        for i, e in enumerate(json.loads(out.stdout)):
            raw = bytes(int(b, 16) for b in e["value"][:12])
            state, _, kind = (int.from_bytes(raw[k:k + 4], sys.byteorder) for k in (0, 4, 8))
            if i >= 2 and state:
                used.append((i, state, kind))
        return used

    def close(self):
        if self.proc and self.proc.poll() is None:
            for child in children(self.proc.pid):
                try:
                    os.kill(child, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.proc.kill()
            self.proc.wait()
        self.sock.close()
        if os.path.isdir(self.pin):
            for d, _, names in os.walk(self.pin, topdown=False):
                for n in names:
                    os.unlink(os.path.join(d, n))
                os.rmdir(d)
        for d in self._dirs:
            rmtree_cgroup(d)


def _close_daemons():
    for d in _daemons:
        d.close()


# Registered later than lib's own, so done earlier: before TMP goes.
atexit.register(_close_daemons)


def read_all(path):
    """Every row of every table of a file: {name: rows}. Raises where it does not open."""
    out = {}
    with h5py.File(path, "r") as f:
        def take(name, item):
            if isinstance(item, h5py.Dataset):
                out[name.partition("/")[2]] = item[()]
        f.visititems(take)
    return out
