# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps that work while a jobprofd meets faults, with the kernel's counts of each, which its file is compared with; and small
disks that are full or hang."""

import contextlib

from faultlib import *
import lib

BEGIN_S = 100  # at most, of a hundred tasks on a machine that has more to do
# CPU time of a task by cpu.stat: what is charged to the cgroup before the task is in it, or after the last switch
CPU_SLACK_S = 0.003
# Columns of a task, and what they are the sum of in its processes' own accounts: of a process alone, or with its children
OF_ONE = {"CPUTime": (("run_ns",), 1e9), "RunDelay": (("delay_ns",), 1e9), "VolSwitches": (("nvcsw",), 1), "InvolSwitches": (("nivcsw",), 1),
          "Migrations": (("migrations",), 1)}
OF_ALL = {"ReadMB": (("io_rchar",), MB), "WriteMB": (("io_wchar",), MB), "ReadCalls": (("io_syscr",), 1), "WriteCalls": (("io_syscw",), 1),
          "DiskReadMB": (("io_read_bytes",), MB), "DiskWriteMB": (("io_write_bytes",), MB),
          "MinorFaults": (("minflt", "cminflt"), 1), "MajorFaults": (("majflt", "cmajflt"), 1)}
IO_SLACK_MB = 0.5
ROUNDING = 1e-5  # of the sum of seconds, and of MiB
AFTER = {"VolSwitches": 1, "CPUTime": 0.001, "RunDelay": 0.01, "MinorFaults": 4}
BROUGHT = ("Missed CPU Time", "Lost CPU Time")  # that files name in seconds
SAID = ("Restarted", "End Reason", "Intervals", "Number of Tasks", "Unattributed", "Lost", "Lost Bytes", "Collector CPU")
LOSSES = ("Lost Counts", "Uncounted Tasks", "Uncounted Cgroups", "Baseline")  # after which less than the kernel has may be there


class Disk:
    """A small file system of its own, which can be full, or hang where it is ext4."""

    def __init__(self, size_mb, hangs):
        self.dir = tmpdir("disk")
        self.hangs, self.hung = hangs and self.mount_ext4(size_mb), False
        if not self.hangs:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dm" % size_mb, "tmpfs", self.dir], check=True)
        os.chmod(self.dir, 0o755)
        atexit.register(self.end)

    def mount_ext4(self, size_mb):
        """Not every machine has loop devices."""
        image = self.dir + ".image"
        with open(image, "wb") as f:
            f.truncate(size_mb * MB)
        try:
            for cmd in (["mkfs.ext4", "-q", "-O", "^has_journal", "-m", "0", image], ["mount", "-o", "loop", image, self.dir]):
                subprocess.run(cmd, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return False
        finally:
            os.unlink(image)
        return True

    def end(self):
        if self.hung:
            self.thaw()
        subprocess.run(["umount", "-l", self.dir], capture_output=True)

    @contextlib.contextmanager
    def full(self):
        path = os.path.join(self.dir, "filler%d" % serial())
        fd = os.open(path, os.O_WRONLY | os.O_CREAT)
        try:
            st = os.statvfs(self.dir)
            with contextlib.suppress(OSError):
                os.posix_fallocate(fd, 0, st.f_bavail * st.f_frsize)
            with contextlib.suppress(OSError):
                while True:
                    os.pwrite(fd, b"\0" * 4096, os.fstat(fd).st_size)
            yield
        finally:
            os.close(fd)
            os.unlink(path)

    @contextlib.contextmanager
    def freeze(self):
        subprocess.run(["fsfreeze", "-f", self.dir], check=True)
        self.hung = True
        try:
            yield
        finally:
            self.thaw()

    def thaw(self):
        subprocess.run(["fsfreeze", "-u", self.dir], check=True)
        self.hung = False


class Work:
    """A step under way, and afterwards what the kernel has counted of it. Its slurmstepd stands still meanwhile, so that the
    cgroups stay until they have been read."""

    def __init__(self, lane, job, step, tasks, seconds, cmd=None):
        self.lane, self.job, self.step, self.tasks = lane, job, step, tasks
        self.cgroup = lane.d.v2_step(job, step)
        rnd, self.holds, self.cmd, self.written, self.ends_by_signal = lane.jobs_random, None, cmd, [], bool(cmd)
        if not cmd:
            self.holds = Holds(range(tasks))
            self.cmd = self.holds.cmd("park", *self.parts(rnd, seconds, self.holds.dir), "park")
        if not cmd and rnd.random() < 0.25:
            self.cmd = [tool("jpfork"), *self.cmd[1:5], "-d", "%.2f" % seconds, "-p", "2", "-u", "300", "-o", "/dev/null"]
        self.begun, self.ended, self.stopped, self.killed, self.found = {}, {}, False, False, False
        self.said = os.path.join(tmpdir("said"), "stdout")
        give_controllers(os.path.dirname(self.cgroup))
        self.proc = lane.d.step(job, step, self.cmd, tasks, extra=[
            "-e", "SLURM_JOB_NODELIST=" + lane.d.name, "-e", "SLURM_STEP_NUM_NODES=1", "-e", "SLURM_JOB_NAME=faults"],
            stdout=open(self.said, "ab") if "jpfork" in self.cmd[0] else subprocess.DEVNULL)

    @staticmethod
    def parts(rnd, seconds, files):
        parts = ["dwrite=%s/data." % files + "%d:1"] if rnd.random() < 0.3 and writes_past_cache(files) else []
        for _ in range(rnd.randint(1, 4)):
            parts += ["spin=%.3f" % (rnd.random() * 0.03), "naps=%d" % rnd.randint(1, 30), "write=/dev/null:%d" % rnd.randint(1, 8),
                      "anon=%d" % rnd.randint(1, 6), "sleep=%.2f" % (rnd.random() * seconds / 3), "free"]
        return parts

    def task(self, i):
        return "%s/user/task_%d" % (self.cgroup, i)

    def pids_of(self, i):
        with contextlib.suppress(OSError):
            return [int(p) for p in slurp(self.task(i) + "/cgroup.procs").split()]
        return []

    def pids(self):
        return sum(map(self.pids_of, range(self.tasks)), [])

    def has_begun(self):
        """Each task runs its program: slurmstepd lets it go once it is in its cgroup."""
        tasks = [self.pids_of(i) for i in range(self.tasks)]
        return all(pids and all(comm(p) != "slurmstepd" for p in pids) for pids in tasks)

    def park(self):
        """Waits for the tasks that live; takes the accounts of those that have just begun."""
        for i, h in enumerate(self.holds.all):
            with contextlib.suppress(Failed, OSError, ValueError):
                wait_until(lambda: h._parked() or self.has_ended(i), PATIENCE, "a task to park")
                if h._parked():
                    h.wait()
                    self.begun.setdefault(i, kernel_account(h.pid))

    def has_ended(self, i):
        """Slurmstepd, which stands still, has started all, and one has no process any more."""
        return self.stopped and not slurp(self.task(i) + "/cgroup.procs").strip()

    def run(self):
        wait_until(lambda: self.has_begun() or self.proc.poll() is not None, BEGIN_S, "the tasks")
        self.proc.send_signal(signal.SIGSTOP)
        self.stopped = True
        if self.ends_by_signal:
            for pid in self.pids():
                tell(pid, signal.SIGTERM)
        if self.holds:
            for _ in range(2):
                self.park()
                for h in self.holds.all:
                    with contextlib.suppress(OSError):
                        fd = os.open(h.fifo, os.O_RDWR | os.O_NONBLOCK)  # whose task is gone has no reader
                        os.write(fd, b"x")
                        self.written.append(fd)
        wait_until(lambda: not self.pids(), 60, "the tasks of %d_%d to end" % (self.job, self.step))
        for i in self.begun:
            self.ended[i] = self.last_account(self.holds.all[i])
        self.cpu = {i: cpu_stat_ns(self.task(i)) / 1e9 for i in range(self.tasks)}
        self.cpu_step = cpu_stat_ns(self.cgroup) / 1e9
        self.io, self.peak = io_bytes(self.cgroup), memory_peak(self.cgroup)
        for fd in self.written:
            os.close(fd)
        self.proc.send_signal(signal.SIGCONT)
        self.proc.wait(60)

    def kill(self):
        """Of a step that did not come to its end. Returns what runs there."""
        left = ["%d %s %s" % (pid, comm(pid), found_in(pid, "status", r"State:\s+(\w)")) + " in " + found_in(pid, "syscall", "(.*)") for pid in self.pids()]
        self.proc.kill()
        for pid in self.pids():
            tell(pid, signal.SIGKILL)
        rmtree_cgroup(self.cgroup)
        return left

    @staticmethod
    def last_account(hold):
        """Of a process that has ended, and that slurmstepd has not reaped yet."""
        wait_until(lambda: slurp("/proc/%d/stat" % hold.pid).rpartition(")")[2].split()[0] == "Z" and hold._at_rest(), 30, "the end of a task")
        return kernel_account(hold.pid)

    # ---- against the file

    def node(self, path):
        """Attributes and tables {name: rows} of the step in its own file, or in that of its job."""
        tables, attrs = {}, {}
        with lib._reading, h5py.File(path, "r") as f:
            top = f["Steps/%d/Nodes/%s" % (self.step, self.lane.d.name)] if "Steps" in f else f[self.lane.d.name]

            def take(name, item):
                if isinstance(item, h5py.Dataset):
                    tables[name] = item[()]
            top.visititems(take)
            for k, v in top.attrs.items():
                attrs[k] = numpy.ravel(v)[0]
        return attrs, tables

    def is_in(self, path):
        """Whether the file has the step; it stays in its job's."""
        if not os.path.exists(path) or "job_" not in os.path.basename(path):
            return os.path.exists(path)
        if not self.found:
            with lib._reading, h5py.File(path, "r") as f:
                self.found = "Steps/%d/Nodes/%s" % (self.step, self.lane.d.name) in f
        return self.found

    def compare(self, path):
        """Texts of what is wrong."""
        attrs, tables = self.node(path)
        name = "%d_%d (%s)" % (self.job, self.step, os.path.basename(self.cmd[0]))
        brought = sum(float(attrs.get(k, 0)) for k in BROUGHT)
        may_lack = [k for k in LOSSES if attrs.get(k)] or "counts after its last row are lost" in str(attrs.get("Restarted"))
        self.lane.told[", ".join([k for k in BROUGHT + LOSSES if attrs.get(k)] + ["the end"] * bool(may_lack)) or "nothing"] += 1
        wrong = []

        def look(what, got, wanted, slack):
            if got > wanted + slack or got < wanted - slack and not may_lack:
                wrong.append("%s: %s is %.6f, the kernel has %.6f; %s" % (name, what, got, wanted, {
                    k: str(v) for k, v in attrs.items() if k in BROUGHT + LOSSES or k.startswith("Lost") or
                    k in ("Restarted", "Unattributed", "Number of Tasks")}))

        if "Step" not in tables:
            return [name + ": no table Step in " + path]
        slack = CPU_SLACK_S * (1 + self.tasks) + 0.001 * self.cpu_step
        look("CPUTime of Step", tables["Step"]["CPUTime"].sum() + brought, self.cpu_step, slack)
        have = [i for i in range(self.tasks) if "Tasks/%d" % i in tables]
        if not brought:
            for i in have:
                look("CPUTime of task %d" % i, tables["Tasks/%d" % i]["CPUTime"].sum(), self.cpu[i], CPU_SLACK_S + 0.001 * self.cpu[i])
                self.compare_account(look, i, tables["Tasks/%d" % i])
            if len(have) < self.tasks and not (may_lack or attrs.get("Unattributed") or "whether tasks found no slot" in str(attrs.get("Restarted"))):
                wrong.append("%s: tables of %d of %d tasks: %s; %s" % (name, len(have), self.tasks, {k: str(attrs[k]) for k in SAID if k in attrs},
                                                                       self.lane.d.known_of("%d_%d_.h5" % (self.job, self.step))[:800]))
        if not may_lack and len(have) == self.tasks and attrs["Number of Tasks"] != self.tasks:
            wrong.append("%s: Number of Tasks is %s, not %d: %s" % (name, attrs["Number of Tasks"], self.tasks, {
                k: str(attrs[k]) for k in ("Restarted", "End Reason", "Lost Bytes", "Baseline") if k in attrs}))
        made = re.findall(r"children=(\d+)", slurp(self.said)) if "jpfork" in self.cmd[0] else []
        if len(made) == self.tasks:
            look("Forks of Step", tables["Step"]["Forks"].sum(), sum(map(int, made)), 0)
        if self.io:
            for i, what in enumerate(("BlkReadMB", "BlkWriteMB")):
                look("%s of Step" % what, tables["Step"][what].sum(), self.io[i], IO_SLACK_MB)
        if self.peak and numpy.nanmax(tables["Step"]["MemPeakMB"], initial=0) > self.peak + ROUNDING:
            wrong.append("%s: MemPeakMB is %s, the kernel has %.6f" % (name, tables["Step"]["MemPeakMB"], self.peak))
        times = tables["Step"]["TimeNS"].astype("int64")
        if (numpy.diff(times) <= 0).any():
            wrong.append("%s: time runs back" % name)
        return wrong

    def compare_account(self, look, i, rows):
        """All that its process has used is there, but for what it used on its way from slurmstepd to its first instruction: that may have
        been before it was in its cgroup. (The last switch and the last faults may come after the last look.) jpfork does not reap its
        other children when one was killed: they are in no account of its."""
        if i not in self.ended or self.killed and "jpfork" in self.cmd[0]:
            return
        for what, (keys, unit) in (OF_ALL if "jpfork" in self.cmd[0] else {**OF_ONE, **OF_ALL}).items():
            if not set(keys) <= set(self.begun[i]):  # not every kernel says it
                continue
            begun, ended = (sum(a[k] for k in keys) / unit for a in (self.begun[i], self.ended[i]))
            look("%s of task %d" % (what, i), rows[what].sum(), ended - begun / 2, begun / 2 + AFTER.get(what, ROUNDING))


def writes_past_cache(directory):
    path = os.path.join(directory, "direct")
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DIRECT))
    except OSError:
        return False
    os.unlink(path)
    return True


def give_controllers(directory):
    """As Slurm does, where the tree of v2 has them, to all below the root."""
    mount = cgroup2_mount()
    if "memory" not in slurp(mount + "/cgroup.controllers"):
        return
    os.makedirs(directory, exist_ok=True)
    for end in range(len(mount), len(directory) + 1):
        if directory[end:end + 1] in ("/", ""):
            for name in "memory", "io":
                with contextlib.suppress(OSError), open(directory[:end] + "/cgroup.subtree_control", "w") as f:
                    f.write("+" + name)


def io_bytes(cgroup):
    """What disks read and wrote for it, by the kernel, MiB; None without the controller."""
    with contextlib.suppress(OSError):
        text = slurp(cgroup + "/io.stat")
        return [sum(int(n) for n in re.findall(key + r"=(\d+)", text)) / MB for key in ("rbytes", "wbytes")]
    return None


def memory_peak(cgroup):
    with contextlib.suppress(OSError):
        return int(slurp(cgroup + "/memory.peak")) / MB
    return None


def tell(pid, sig):
    with contextlib.suppress(OSError):  # it has just ended
        os.kill(pid, sig)


def comm(pid):
    return found_in(pid, "comm", "(.*)")


def found_in(pid, name, pattern):
    with contextlib.suppress(OSError, TypeError):
        return re.search(pattern, slurp("/proc/%d/%s" % (pid, name)))[1]
    return ""
