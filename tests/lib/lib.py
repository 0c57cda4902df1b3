# SPDX-License-Identifier: GPL-2.0-only
"""What tests/*.py share. Protocol, one line per test on stdout:
    ok NAME | not ok NAME: why | skip NAME: why
Run with Debian's /usr/bin/python3, which python3-h5py belongs to."""

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
import traceback

import h5py
import numpy

ROOT = os.path.realpath(__file__ + "/../../..")
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
TOOLS = os.path.join(BUILD, "tests", "tools")
JOBPROF = os.path.join(BUILD, "jobprof")
MB = 1048576
# The series of what sensors of the node say.
with open(os.path.join(ROOT, "schemas/series.def")) as _f:
    NODE_SERIES = re.findall(r"^SERIES\((\w+), \w+, OF_NODE,", _f.read(), re.M)

TMP = tempfile.mkdtemp(prefix="jobprof-test.")
_children = []
_cgroups = []
_runs = []
_reading = threading.Lock()  # HDF5 is not made for threads


def _say(line):
    # one write: several threads may report
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def ok(name):
    _say("ok " + name)


def not_ok(name, why):
    _say("not ok %s: %s" % (name, " ".join(str(why).split())))


def skip(name, why):
    _say("skip %s: %s" % (name, " ".join(str(why).split())))


class Failed(Exception):
    """A test says why it failed."""


class Skipped(Exception):
    """A test says what the machine lacks."""


def run_one(test):
    """Runs one function: an exception is a failure, never an end of the others."""
    try:
        test()
    except Skipped as e:
        skip(test.__name__, e)
    except Failed as e:
        not_ok(test.__name__, e)
    except Exception as e:
        traceback.print_exc()
        not_ok(test.__name__, "%s: %s" % (type(e).__name__, e))


def chosen(tests):
    """Those named on the command line, or all."""
    return [t for t in tests if not sys.argv[1:] or t.__name__ in sys.argv[1:]]


def run_tests(tests):
    """Runs functions, each a test of its own or the maker of several lines."""
    for test in chosen(tests):
        run_one(test)


def approx(got, wanted, rel=0.0, abs_=0.0):
    return abs(got - wanted) <= rel * abs(wanted) + abs_


def is_near(name, got, wanted, rel=0.0, abs_=0.0):
    if approx(got, wanted, rel, abs_):
        ok(name)
    else:
        not_ok(name, "got %.9g, wanted %.9g within %g + %g %%"
               % (got, wanted, abs_, rel * 100))


def is_equal(name, got, wanted):
    if got == wanted:
        ok(name)
    else:
        not_ok(name, "got %s, wanted %s" % (got, wanted))


def is_true(name, cond, why):
    if cond:
        ok(name)
    else:
        not_ok(name, why)


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


def tool(name):
    return os.path.join(TOOLS, name)


def tmpdir(prefix="d"):
    return tempfile.mkdtemp(prefix=prefix, dir=TMP)


def wait_until(cond, seconds, what):
    end = time.monotonic() + seconds
    while True:
        v = cond()
        if v:
            return v
        if time.monotonic() > end:
            raise Failed("waited %g s for %s" % (seconds, what))
        time.sleep(0.01)


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


def run_jobprof(cmd, interval=0.2, series=None, extra=(), env=None, timeout=60):
    """Returns the ended Run and the path of its file."""
    r = Run(cmd, interval, series, extra, env)
    path = r.end(timeout)
    return r, path


def table(path, name):
    """A table of the file's one node: "Step", "Tasks/0" ... as a structured array."""
    with _reading, h5py.File(path, "r") as f:
        node = next(k for k in f if isinstance(f[k], h5py.Group))
        return f[node][name][()]


def task_table(path, gtid=0):
    return table(path, "Tasks/%d" % gtid)


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


def read_account(path):
    """What a tool wrote of itself: key=value lines."""
    with open(path) as f:
        return {k: float(v) for k, v in (line.strip().split("=", 1) for line in f if "=" in line)}


def _slurp(path):
    with open(path) as f:
        return f.read()


def _colon_lines(text):
    out = {}
    for line in text.splitlines():
        key, _, rest = line.partition(":")
        word = rest.split()
        if word and word[0].isdigit():
            out[key] = int(word[0])
    return out


def _migrations(path):
    """Of one thread; None where the kernel has no /proc/<pid>/sched."""
    try:
        for line in _slurp(path).splitlines():
            if line.startswith("se.nr_migrations"):
                return int(line.split(":")[1])
    except OSError:
        pass
    return None


def kernel_account(pid):
    """The kernel's account of a process at rest, seen from outside. Times in ns, sizes in bytes.
    blkio_ns counts only with sysctl kernel.task_delayacct; migrations may be missing."""
    base = "/proc/%d/" % pid
    a = {"run_ns": 0, "delay_ns": 0, "nvcsw": 0, "nivcsw": 0, "threads": 0}
    for tid in os.listdir(base + "task"):
        run, delay, _ = _slurp(base + "task/%s/schedstat" % tid).split()
        status = _colon_lines(_slurp(base + "task/%s/status" % tid))
        a["run_ns"] += int(run)
        a["delay_ns"] += int(delay)
        a["nvcsw"] += status["voluntary_ctxt_switches"]
        a["nivcsw"] += status["nonvoluntary_ctxt_switches"]
        a["threads"] += 1
        moved = _migrations(base + "task/%s/sched" % tid)
        if moved is not None:
            a["migrations"] = a.get("migrations", 0) + moved
    a.update({"io_" + k: v for k, v in _colon_lines(_slurp(base + "io")).items()})
    # Past the name, which may hold blanks: field 3 (state) is word 0.
    stat = _slurp(base + "stat").rpartition(")")[2].split()
    a["minflt"], a["cminflt"], a["majflt"], a["cmajflt"] = (int(x) for x in stat[7:11])
    a["blkio_ns"] = int(stat[39]) * 10**9 // os.sysconf("SC_CLK_TCK")
    for k, v in _colon_lines(_slurp(base + "status")).items():
        if k.startswith(("Vm", "Rss", "Huge")):
            a[k] = v * 1024
    for k, v in _colon_lines(_slurp(base + "smaps_rollup")).items():
        a["smaps_" + k] = v * 1024
    return a


def cgroup2_mount():
    with open("/proc/self/mountinfo") as f:
        for line in f:
            left, _, right = line.partition(" - ")
            if right.split()[0] == "cgroup2":
                return left.split()[4]
    return None


def cgroup2_dir(pid):
    """Directory of a process's cgroup in the v2 hierarchy, None without one."""
    mnt = cgroup2_mount()
    with open("/proc/%d/cgroup" % pid) as f:
        for line in f:
            if mnt and line.startswith("0::"):
                return mnt + line[3:].strip()
    return None


def cpu_stat_ns(cgroup):
    for line in _slurp(os.path.join(cgroup, "cpu.stat")).splitlines():
        if line.startswith("usage_usec "):
            return int(line.split()[1]) * 1000
    raise Failed("no usage_usec in %s/cpu.stat" % cgroup)


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


def steal_s():
    with open("/proc/stat") as f:
        return int(f.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


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
            words = _slurp(self.state).split()
        except FileNotFoundError:
            return False
        return len(words) == 2 and int(words[0]) > self.parks and int(words[1])

    def _at_rest(self):
        before = after = None
        base = "/proc/%d/task" % self.pid
        before = [_slurp("%s/%s/schedstat" % (base, t)) for t in sorted(os.listdir(base))]
        time.sleep(0.03)
        after = [_slurp("%s/%s/schedstat" % (base, t)) for t in sorted(os.listdir(base))]
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
