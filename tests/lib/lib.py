# SPDX-License-Identifier: GPL-2.0-or-later
"""What the scripts share: reporting, the kernel's accounts, processes that end with the script,
`jobprof run`, tables of its files, and a tool that parks (Hold). Scripts run with Debian's
/usr/bin/python3, which python3-h5py belongs to."""

import atexit
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import h5py
import numpy

from kernel_accounts import *
from reporting import *

ROOT = os.path.realpath(__file__ + "/../../..")
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
TOOLS = os.path.join(BUILD, "tests", "tools")
JOBPROF = os.path.join(BUILD, "jobprof")
DOCUMENTS = [ROOT + "/README.md"] + sorted(glob.glob(ROOT + "/docs/*.md") + glob.glob(ROOT + "/man/*.[1-8]"))
MB = 1048576
# The series of a profile, and those of what sensors of the node say.
with open(os.path.join(ROOT, "schemas/series.def")) as _f:
    _declared = re.findall(r"^SERIES\((\w+), \w+, (\w+),", _f.read(), re.M)
SERIES = [name for name, _ in _declared]
NODE_SERIES = [name for name, source in _declared if source == "OF_NODE"]

TMP = tempfile.mkdtemp(prefix="jobprof-test.")
_children = []
_cgroups = []
_runs = []
_reading = threading.Lock()  # HDF5 is not made for threads


def need_bpf():
    """Ends the script with one skip where it cannot do its work."""
    why = None
    if os.geteuid() != 0:
        why = "needs root"
    elif not os.access("/sys/kernel/btf/vmlinux", os.R_OK):
        why = "the kernel has no BTF"
    elif subprocess.run(["bpftool", "prog", "show"], capture_output=True).returncode:
        why = "the kernel allows no BPF"
    if why:
        skip(os.path.basename(sys.argv[0]), why)
        sys.exit(0)


def with_priority(*cmd):
    """A command that runs before all others on its CPU, where the machine lets it."""
    return ["sh", "-c", 'chrt -f -p 1 $$ 2>/dev/null; exec "$@"', "sh", *cmd]


def members(group):
    """The calls of a group of systemd's, with those of groups in it."""
    p = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", group], capture_output=True, text=True, check=True)
    words = [w.strip() for w in p.stdout.splitlines()[1:]]
    return {c for w in words if w and w[0] != "#" for c in (members(w) if w[0] == "@" else {w})}


def tool(name):
    return os.path.join(TOOLS, name)


def tmpdir(prefix="d"):
    return tempfile.mkdtemp(prefix=prefix, dir=TMP)


def steady_now():
    """The time. A script that asks for it once ends on the same day: near the end of one the next day is waited for."""
    left = 86400 - time.time() % 86400
    if left < 100:
        time.sleep(left + 1)
    return int(time.time())


def plain_env(**more):
    """The environment without what says who called sudo and in which job we are."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("SUDO_") and not k.startswith("SLURM")}
    env.update(more)
    return env


def start(cmd, **kw):
    """Popen that is killed at exit should it still run."""
    p = subprocess.Popen(cmd, **kw)
    _children.append(p)
    return p


class Run:
    """A `jobprof run` under way. out: what it printed, known after end()."""

    def __init__(self, cmd, interval=0.2, series=None, extra=(), env=None):
        self.dir = tmpdir("run")
        self.log = os.path.join(self.dir, "log")
        args = [JOBPROF, "run", "--interval", str(interval), "-o", self.dir]
        if series:
            args += ["--series", series]
        with open(self.log, "wb") as log:
            self.proc = start(args + list(extra) + ["--"] + list(cmd), stdin=subprocess.DEVNULL,
                              stdout=log, stderr=subprocess.STDOUT, env=env or plain_env())
        _runs.append(self)

    def end(self, timeout=60):
        """Waits; returns the path of the file."""
        try:
            self.proc.wait(timeout)
        except subprocess.TimeoutExpired:
            raise Failed("jobprof run did not end in %d s: %s" % (timeout, self.out()))
        files = glob.glob(os.path.join(self.dir, "*.h5"))
        if len(files) != 1:
            raise Failed("jobprof run (status %d) left %d files: %s"
                         % (self.proc.returncode, len(files), self.out()))
        return files[0]

    def out(self):
        with open(self.log, errors="replace") as f:
            return f.read()

    def lines_of_command(self):
        """Without what jobprof says itself, as of a machine that stood still for a second."""
        return [line for line in self.out().splitlines() if not line.startswith("jobprof")]


def run_jobprof(cmd, interval=0.2, series=None, extra=(), env=None, timeout=60):
    """Returns the ended Run and the path of its file."""
    r = Run(cmd, interval, series, extra, env)
    path = r.end(timeout)
    return r, path


def lammps_melt(cells, steps, more=""):
    """A script of lammps: atoms of a melting crystal, so many unit cells a side."""
    return """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 {0} 0 {0} 0 {0}
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
{2}fix 1 all nve
run {1}
""".format(cells, steps, more)


def is_hardened(unit, most):
    """Skips the rest where systemd cannot say how exposed the unit's service is."""
    if not shutil.which("systemd-analyze"):
        raise Skipped("there is no systemd-analyze")
    p = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--no-pager", unit], capture_output=True, text=True)
    level = re.search(r"exposure level for \S+: ([\d.]+)", p.stdout)
    if not level:
        raise Skipped("systemd-analyze knows no --offline: " + p.stderr.strip())
    is_true("%s: exposure of at most %g" % (os.path.basename(unit), most), float(level[1]) <= most, level[0])


def table(path, name):
    """A table of the file's one node: "Step", "Tasks/0" ... as a structured array."""
    with _reading, h5py.File(path, "r") as f:
        node = next(k for k in f if isinstance(f[k], h5py.Group))
        return f[node][name][()]


def task_table(path, gtid=0):
    return table(path, "Tasks/%d" % gtid)


def table_attributes(path, name):
    with _reading, h5py.File(path, "r") as f:
        node = next(k for k in f if isinstance(f[k], h5py.Group))
        return dict(f[node][name].attrs)


def attributes(path):
    with _reading, h5py.File(path, "r") as f:
        node = next(k for k in f if isinstance(f[k], h5py.Group))
        return dict(f[node].attrs)


def total(rows, column, after_ns=0, until_ns=1 << 63):
    """Sum of a per-interval column over the rows in (after_ns, until_ns]."""
    t = rows["TimeNS"].astype(numpy.uint64)
    pick = (t > numpy.uint64(after_ns)) & (t <= numpy.uint64(until_ns))
    return float(rows[column][pick].sum())


def last(rows, column, until_ns=1 << 63):
    """A gauge as the last row up to until_ns has it."""
    pick = rows[column][rows["TimeNS"] <= numpy.uint64(until_ns)]
    if not len(pick):
        raise Failed("no row before the instant asked for")
    return float(pick[-1])


def totalled(column, v):
    """The values that totals are of: not NaN, and of Slurm's gauges, which have none, not the 0 of
    rows in which no process lived."""
    return v[v > 0] if column in ("RSS", "VMSize", "CPUFrequency") else v[~numpy.isnan(v)]


def removed(path):
    """Whether the directory is gone, as of a cgroup in which nothing is left."""
    try:
        os.rmdir(path)
    except FileNotFoundError:
        pass
    except OSError:
        return False
    return True


def mkcg(name, mount=None):
    """Makes a cgroup, several levels if need be; it and its members go at exit."""
    path = mount or cgroup2_mount()
    if not path:
        raise Skipped("cgroup v2 is not mounted")
    for part in name.strip("/").split("/"):
        path = os.path.join(path, part)
        if not os.path.isdir(path):
            os.mkdir(path)
            _cgroups.append(path)
    return path


class Hold:
    """Drives a tool that parks (jphold, jpfork -f): arguments for it, and its parks."""

    def __init__(self):
        d = tmpdir("hold")
        self.fifo = os.path.join(d, "fifo")
        self.state = os.path.join(d, "state")
        os.mkfifo(self.fifo)
        self.parks = 0
        self.pid = 0

    def cmd(self, *steps):
        return [tool("jphold"), "-f", self.fifo, "-s", self.state] + list(steps)

    def _parked(self):
        try:
            words = slurp(self.state).split()
        except FileNotFoundError:
            return False
        return len(words) == 2 and int(words[0]) > self.parks and int(words[1])

    def _at_rest(self):
        before = after = None
        base = "/proc/%d/task" % self.pid
        before = [slurp("%s/%s/schedstat" % (base, t)) for t in sorted(os.listdir(base))]
        time.sleep(0.03)
        after = [slurp("%s/%s/schedstat" % (base, t)) for t in sorted(os.listdir(base))]
        return before == after

    def wait(self, seconds=30):
        """Until the next park; the process has left the CPU then. Returns its pid."""
        try:
            self.pid = wait_until(self._parked, seconds, "the tool to park")
        except Failed as e:
            raise Failed("%s (park %d, pid %d): jobprof run %s, says: %s" % (
                e, self.parks + 1, self.pid,
                ["runs" if r.proc.poll() is None else "ended with %d" % r.proc.poll()
                 for r in _runs[-2:]], _runs[-1].out() if _runs else ""))
        self.parks += 1
        wait_until(self._at_rest, 5, "the tool to come to rest")
        return self.pid

    def go(self):
        fd = os.open(self.fifo, os.O_WRONLY)
        os.write(fd, b"x")
        os.close(fd)


class Phase:
    """The instants and the kernel's accounts at two parks: what lies between is compared."""

    def __init__(self, hold, settle, extra=None):
        """At the first park already; releases it and waits for the next."""
        time.sleep(settle)
        self.before = kernel_account(hold.pid)
        self.cg_before = extra() if extra else 0
        self.start_ns = time.time_ns()
        hold.go()
        hold.wait()
        time.sleep(settle)
        self.after = kernel_account(hold.pid)
        self.cg_after = extra() if extra else 0
        self.end_ns = time.time_ns()

    def kernel(self, *keys):
        return sum(self.after[k] - self.before[k] for k in keys)

    def ours(self, rows, column):
        return total(rows, column, self.start_ns, self.end_ns)

    def now(self, rows, column):
        return last(rows, column, self.end_ns)


def _remove_cgroup(path):
    for _ in range(20):
        try:
            with open(os.path.join(path, "cgroup.procs")) as f:
                for pid in f.read().split():
                    os.kill(int(pid), signal.SIGKILL)
        except (OSError, ValueError):
            pass
        try:
            os.rmdir(path)
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.05)


def _cleanup():
    # The profiler first, politely: it removes what it made.
    for p in _children:
        if p.poll() is None:
            p.terminate()
    for p in _children:
        try:
            p.wait(5)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
    for path in reversed(_cgroups):
        _remove_cgroup(path)
    shutil.rmtree(TMP, ignore_errors=True)


def _on_term(sig, frame):
    sys.exit(143)


atexit.register(_cleanup)
signal.signal(signal.SIGTERM, _on_term)
