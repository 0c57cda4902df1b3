# SPDX-License-Identifier: GPL-2.0-or-later
"""What a site would take instead of jobprof: all of it at once beside jobprofd, at the same interval, of the same
tasks of a real Slurm. What each costs, and what share it counts of what the kernel has counted."""

import csv
import datetime
import glob
import os
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.request

import collector
import daemon
import journal
import peers
import slurm
import steps
from helper import ALL, BUILD, Missing, has, tmpdir
from table import Row

TITLE = "Tools of other kinds, all at once, of the same 8 lightly working tasks, once a second"

EVERY = 1  # s
TASKS = 8
FAMILIES = ALL + ",sample,burst"
PROGRAMS = {"work": collector.WORK, **{n: os.path.join(BUILD, "tests", "tools", "jp" + n) for n in ("spin", "hold")}}
# By command lines, or by names: no other program has these.
MATCH = r"^[^ ]*/instead-(work|spin|hold)|^[^ ]*sh [^ ]*/instead-loop"
NAME = "instead-"
PEAK_MB = 200
EXPORTERS = (("node exporter", "prometheus-node-exporter"), ("process exporter", "prometheus-process-exporter"))

CPU, RSS, WRITTEN = "CPU, ms/s", "RSS, MB", "written, MB/h"
SHORT, BURST, BUSIEST, PEAKS = ("CPU of processes of 20 ms, %", "CPU of bursts of 100 ms, %",
                                "busiest reading of those bursts, CPUs", "peaks of memory seen, %")


def row(tool, column, unit, values=None, **more):
    return Row("instead", tool, unit, values, column=column, **more)


class Readings:
    """What a tool has stored: counters of CPU seconds and gauges of MiB, by time since the epoch."""

    def __init__(self):
        self.points = {}
        self.ran = []  # shares of a CPU, of single bursts

    def add(self, kind, instance, t, value):
        self.points.setdefault((kind, instance), []).append((t, value))

    def steps(self, begin, end):
        """{time: CPU seconds since the reading before}. What comes new has counted from 0: a kindness, as
        rates begin with the second reading."""
        found = {}
        for (kind, _), points in self.points.items():
            last = 0
            for t, value in points if kind == "cpu" else ():
                if begin <= t <= end:
                    found[t] = found.get(t, 0) + value - (last if last <= value else 0)
                last = value
        return found

    def counted(self, begin, end):
        return sum(self.steps(begin, end).values())

    def busiest(self, begin, end):
        return max(self.ran or [v / EVERY for v in self.steps(begin, end).values()] or [0])

    def highest(self, begin, end):
        sums = {}
        for (kind, _), points in self.points.items():
            for t, value in points if kind == "memory" else ():
                sums[t] = sums.get(t, 0) + value
        return max([v for t, v in sums.items() if begin <= t < end] or [0])

    def knows(self, kind):
        return any(k == kind for k, _ in self.points)


def descendants(pid):
    parent = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as f:
                parent[int(path.split("/")[2])] = int(f.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass
    found = [pid]
    for p in found:
        found += [child for child, of in parent.items() if of == p]
    return found


def rss_mb(pid):
    with open("/proc/%d/status" % pid) as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1)) / 1024


def size(path):
    return sum(os.path.getsize(p) for p in [path, *glob.glob(path + "/**", recursive=True)] if os.path.isfile(p))


class Tool(peers.Peer):
    """A program that a site would run. It writes below dir. views(): {what of it: Readings}"""

    def __init__(self, name, cmd, package):
        super().__init__(name, cmd, package)
        self.dir = tmpdir()
        self.out = self.dir + "/out"

    def pids(self):
        return descendants(self.proc.pid)

    def written(self):
        return size(self.out)


class Collectd(Tool):
    CONF = """Hostname "node"
FQDNLookup false
BaseDir "%(dir)s"
PIDFile "%(dir)s/pid"
Interval %(every)d
LoadPlugin csv
LoadPlugin cgroups
LoadPlugin processes
<Plugin csv>
  DataDir "%(dir)s/out"
  StoreRates false
</Plugin>
<Plugin processes>
  ProcessMatch "tasks" "%(match)s"
</Plugin>
"""

    def __init__(self):
        super().__init__("collectd", ["collectd", "-f", "-C", ""], "collectd-core")
        self.cmd[-1] = self.dir + "/conf"
        with open(self.dir + "/conf", "w") as f:
            f.write(self.CONF % {"dir": self.dir, "every": EVERY, "match": MATCH})

    def ready(self):
        return os.path.isdir(self.out)

    def lines(self, pattern):
        for path in glob.glob("%s/node/%s-20*" % (self.out, pattern)):
            with open(path) as f:
                for line in list(csv.reader(f))[1:]:
                    yield path, float(line[0]), [float(v) for v in line[1:]]

    def views(self):
        of_cgroups, of_processes = Readings(), Readings()
        # The plugin reads two levels of directories: with Slurm's, one for all jobs of a user.
        for path, t, values in self.lines("cgroups-uid_*/cpu-*"):
            of_cgroups.add("cpu", path, t, values[0] / 100)
        for _, t, values in self.lines("processes-tasks/ps_cputime"):
            of_processes.add("cpu", "", t, sum(values) / 1e6)
        for _, t, values in self.lines("processes-tasks/ps_rss"):
            of_processes.add("memory", "", t, values[0] / 2**20)
        return {"collectd, cgroups": of_cgroups, "collectd, processes": of_processes}


class Pcp(Tool):
    METRICS = ("cgroup.cpuacct.usage", "cgroup.memory.usage", "proc.psinfo.utime", "proc.psinfo.stime",
               "proc.memory.rss", "proc.memory.vmhwm")
    AGENTS = """pmcd 2 dso pmcd_init /var/lib/pcp/pmdas/pmcd/pmda_pmcd.so
proc 3 pipe binary /var/lib/pcp/pmdas/proc/pmdaproc -d 3 -A
linux 60 pipe binary /var/lib/pcp/pmdas/linux/pmdalinux
[access]
allow "*" : all;
"""

    def __init__(self):
        super().__init__("PCP", ["/usr/lib/pcp/bin/pmcd"], "pcp")
        os.mkdir(self.out)
        port, self.cwd = str(free_port()), self.dir  # where agents write their logs
        self.env = dict(os.environ, **{"PCP_%s_DIR" % k: self.dir for k in ("RUN", "TMP", "LOG")})
        for name, text in (("agents", self.AGENTS), ("log", "log mandatory on %d sec { %s }\n" % (
                EVERY, " ".join(self.METRICS)))):
            with open(self.dir + "/" + name, "w") as f:
                f.write(text)
        self.cmd += ["-f", "-A", "-c", self.dir + "/agents", "-l", "-", "-U", "root", "-p", port, "-s", self.dir + "/socket",
                     "-i", "127.0.0.1", "-n", self.dir + "/names"]
        self.logger = Tool("pmlogger", ["/usr/lib/pcp/bin/pmlogger", "-c", self.dir + "/log", "-l", "-", "-U", "root",
                                        "-h", "127.0.0.1:" + port, self.out + "/archive"], "pcp")
        self.logger.env = self.env
        self.logger.ready = lambda: os.path.exists(self.out + "/archive.0")

    def ready(self):
        return len(self.pids()) >= 3 and os.path.exists(self.dir + "/socket")

    def start(self):
        # The names of the metrics, which the service would put together.
        subprocess.run(["/usr/lib/pcp/bin/pmnsmerge", *("/var/lib/pcp/pmns/root_" + n for n in ("root", "pmcd", "linux", "proc")),
                        self.dir + "/names"], check=True, env=self.env)
        super().start()
        try:
            self.logger.start()
        except Missing:
            self.kill()
            raise

    def pids(self):
        return descendants(self.proc.pid) + (descendants(self.logger.proc.pid) if self.logger.proc else [])

    def kill(self):
        if self.logger.proc:
            self.logger.kill()
        super().kill()

    def views(self):
        of_cgroups, of_processes = Readings(), Readings()
        scale = {"cgroup.cpuacct.usage": 1e-9, "cgroup.memory.usage": 2**-20, "proc.memory.vmhwm": 2**-10}
        for t, metric, instance, value in pcp_values(self.out + "/archive", self.METRICS, self.env):
            if metric.startswith("cgroup"):
                if re.search(r"/step_0$", instance):
                    of_cgroups.add("memory" if "memory" in metric else "cpu", instance, t, value * scale[metric])
            elif re.search(MATCH, instance.partition(" ")[2]):
                if "psinfo" in metric:
                    of_processes.add("cpu", metric + instance, t, value / 1e3)
                elif metric == "proc.memory.vmhwm":
                    of_processes.add("memory", instance, t, value * scale[metric])
        return {"PCP, cgroup": of_cgroups, "PCP, proc": of_processes}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def pcp_values(archive, metrics, env):
    """(seconds since the epoch, metric, instance, value) of an archive's records of today."""
    midnight = datetime.datetime.combine(datetime.date.today(), datetime.time()).timestamp()
    text = subprocess.run(["pmdumplog", archive, *metrics], capture_output=True, text=True, env=env, check=True).stdout
    t, metric = 0, ""
    for line in text.splitlines():
        m = re.match(r"(\d\d):(\d\d):(\d\d\.\d+) ", line)
        if m:
            t = midnight + 3600 * int(m[1]) + 60 * int(m[2]) + float(m[3])
            continue
        m = re.match(r"\s+[\d.]+ \((\S+)\):(.*)", line)
        metric, line = (m[1], m[2]) if m else (metric, line)
        m = re.match(r'\s+inst \[\S+ or "(.*)"\] value ([\d.e+]+)', line)
        if m:
            yield t, metric, m[1], float(m[2])


class Exporter(Tool):
    """Scraped as Prometheus would do; what it writes is what it answers."""

    def __init__(self, name, program, args=()):
        self.address = "127.0.0.1:%d" % free_port()
        super().__init__(name, [program, "--web.listen-address=" + self.address, *args], program)
        self.answers, self.over = [], threading.Event()

    def scrape(self):
        with urllib.request.urlopen("http://%s/metrics" % self.address, timeout=5) as answer:
            return answer.read().decode()

    def ready(self):
        try:
            return bool(self.scrape())
        except OSError:
            return False

    def start(self):
        super().start()
        threading.Thread(target=self.scrapes, daemon=True).start()

    def scrapes(self):
        while not self.over.wait(EVERY - time.time() % EVERY):
            try:
                self.answers.append((time.time(), self.scrape()))
            except OSError:
                return

    def kill(self):
        self.over.set()
        super().kill()

    def written(self):
        return sum(len(text) for _, text in self.answers)

    def samples(self, pattern):
        for t, text in self.answers:
            for m in re.finditer(r"^%s ([\d.e+]+)$" % pattern, text, re.M):
                yield t, m.group(0), float(m.groups()[-1])

    def views(self):
        of = Readings()
        self.fill(of)
        return {self.name: of}


class NodeExporter(Exporter):
    def __init__(self):
        super().__init__("node exporter", "prometheus-node-exporter")

    def fill(self, of):
        for t, line, value in self.samples(r'node_cpu_seconds_total\{.*mode="(?:user|nice|system|irq|softirq)"\}'):
            of.add("cpu", line.rpartition(" ")[0], t, value)
        last = None
        for t, _, value in self.samples("node_memory_MemAvailable_bytes"):  # what it is less than before
            of.add("memory", "", t, ((last or value) - value) / 2**20)
            last = value


class ProcessExporter(Exporter):
    def __init__(self):
        conf = tmpdir() + "/conf"
        with open(conf, "w") as f:
            f.write('process_names:\n  - name: "tasks"\n    cmdline:\n    - \'%s\'\n' % MATCH)
        super().__init__("process exporter", "prometheus-process-exporter", ["--config.path=" + conf])

    def fill(self, of):
        name = 'namedprocess_namegroup_%s{groupname="tasks",%s="%s"}'
        for mode in ("user", "system"):
            for t, _, value in self.samples(re.escape(name % ("cpu_seconds_total", "mode", mode))):
                of.add("cpu", mode, t, value)
        for t, _, value in self.samples(re.escape(name % ("memory_bytes", "memtype", "resident"))):
            of.add("memory", "", t, value / 2**20)


class Perf(Tool):
    def __init__(self, cgroup):
        mount, _ = peers.perf_mount()
        super().__init__("perf stat, by cgroup", ["perf", "stat", "-a", "-e", "cpu-clock,page-faults", "--for-each-cgroup",
                                                  os.path.relpath(cgroup, mount), "-I", str(1000 * EVERY), "-x", ","],
                         "linux-perf")
        self.cmd += ["-o", self.out]
        self.began = None

    def start(self):
        self.began = time.time()
        super().start()

    def views(self):
        of, total = Readings(), 0
        with open(self.out) as f:
            for line in csv.reader(f):
                if len(line) > 3 and "cpu-clock" in line[3] and line[1][0].isdigit():
                    total += float(line[1]) / 1e3
                    of.add("cpu", "", self.began + float(line[0]), total)
        return {self.name: of}


class Cpudist(Tool):
    """The one of libbpf-tools that counts CPU time: a histogram of the times on a CPU, so that a sum is a guess. By cgroup
    (-c) it has only what follows another task of the cgroup on the CPU."""

    def __init__(self):
        super().__init__("cpudist, by process", ["stdbuf", "-oL", "cpudist", "-T", "-P", str(EVERY)], "libbpf-tools")

    def missing(self):
        return super().missing() if has("cpudist") else "no cpudist (package libbpf-tools)"

    def written(self):
        return os.fstat(self.log.fileno()).st_size

    def views(self):
        of, total, t, ours = Readings(), 0, 0, False
        self.log.seek(0)
        midnight = datetime.datetime.combine(datetime.date.today(), datetime.time()).timestamp()
        for line in self.log:
            clock = re.match(r"(\d\d):(\d\d):(\d\d)$", line.strip())
            bucket = re.match(r"\s*(\d+) -> (\d+)\s*: (\d+)", line)
            process = re.match(r"pid = \d+ (.*)", line)
            if process:
                ours = process.group(1).startswith(NAME)
            elif clock:
                h, m, s = (int(v) for v in clock.groups())
                t = midnight + 3600 * h + 60 * m + s
            elif bucket and ours:
                low, high, n = (int(v) for v in bucket.groups())
                total += n * (low + high) / 2e6
                of.add("cpu", "", t, total)
        return {self.name: of}


def file_of(directory, job):
    return glob.glob("%s/root/%d_0_*.h5" % (directory, job))[0]


class Files:
    """Of jobprofd and of slurmstepd, which write one file per step, of the same shape."""

    def __init__(self, name, pids, directory):
        self.name, self.pids, self.dir, self.jobs = name, pids, directory, []

    def written(self):
        return 0

    def views(self):
        import h5py
        of = Readings()
        for job in self.jobs:
            with h5py.File(file_of(self.dir, job), "r") as f:
                node = f[next(iter(f))]
                for task, rows in node.get("Tasks", {}).items():
                    self.add(of, "%d.%s" % (job, task), rows[:])
                for rows in node.get("Bursts", {}).values():
                    of.ran += list(rows["OnCPU"] / rows["Duration"])
        return {self.name: of}

    def add(self, of, instance, rows):
        ours = "TimeNS" in rows.dtype.names
        times = rows["TimeNS"] / 1e9 if ours else rows["EpochTime"] + 0.5
        of.points["cpu", instance] = list(zip(times, rows["CPUTime"].cumsum()))
        of.points["memory", instance] = list(zip(times, rows["PeakMB"] if ours else rows["RSS"] / 1024))


class Bed:
    """A Slurm, jobprofd, and a cgroup in which perf and libbpf-tools find the tasks of all steps."""

    def __init__(self):
        self.d = self.cluster = None
        self.cgroup = steps.make(os.path.join(steps.v2(), steps.NODE + "_tasks"))
        self.d = steps.Daemon(EVERY, "none", daemon.PUBLISH, CgroupRoot=None, Families="all,burst")
        self.cluster = slurm.Cluster(tmpdir() + "/slurm", cpus=40, gather="cgroup")
        self.cluster.plugstack("optional %s socket=%s\n" % (slurm.SPANK, self.d.socket))
        self.step = None
        self.programs = {n: os.path.join(tmpdir(), NAME + n) for n in PROGRAMS}
        for n, path in self.programs.items():
            shutil.copy(PROGRAMS[n], path)

    def start(self, tasks, cmd):
        enter = 'echo $$ >%s/cgroup.procs; exec "$@"' % self.cgroup
        self.step = self.cluster.start(
            ["-n", tasks, "--profile=task", "--acctg-freq=task=%d" % EVERY, "--jobprof=" + FAMILIES,
             "--jobprof-freq=task=%d" % EVERY], ["sh", "-c", enter, "-", *cmd])
        steps.wait_until(self.cluster.stepds, 20, "a slurmstepd")
        return max(self.cluster.stepds())

    def stepds(self):
        return list(self.cluster.stepds().values())

    def wait(self):
        self.step.wait(120)
        steps.wait_until(lambda: not self.cluster.stepds(), 20, "the step to end")
        steps.wait_until(lambda: not self.d.journal(), 30, "the file; jobprofd said: " + self.d.said())

    def cpu_s(self):
        with open(self.cgroup + "/cpu.stat") as f:
            return int(re.search(r"usage_usec (\d+)", f.read()).group(1)) / 1e6

    def end(self):
        if self.step and self.step.poll() is None:
            self.step.terminate()
            self.step.wait(20)
        if self.cluster:
            self.cluster.down()
        if self.d:
            self.d.end()
        steps.remove_cgroups()


def costs(bed, tools, opts):
    """Rows of what each costs while 8 tasks work lightly; the journal's bytes of the last, too."""
    windows, seconds = (2, 2) if opts.quick else (5, 4)
    job = bed.start(TASKS, [bed.programs["work"], "-p", 50, 600])
    steps.wait_until(lambda: len(bed.d.rows().of("Step")) >= 3, 20, "the first rows")
    pids = {t: t.pids() for t in tools}
    spent, sizes = {t: [] for t in tools}, {t: t.written() for t in tools}
    began = at = time.monotonic()
    before = {t: [slurm.cpu_ns(p) for p in pids[t]] for t in tools}
    for _ in range(windows):
        time.sleep(seconds)
        now, last, at = {t: [slurm.cpu_ns(p) for p in pids[t]] for t in tools}, at, time.monotonic()
        for t in tools:
            spent[t].append((sum(now[t]) - sum(before[t])) / (at - last) / 1e6)
        before = now
    for t in tools:
        yield row(t.name, CPU, "ms/s", spent[t], digits=2)
        yield row(t.name, RSS, "MB", [sum(rss_mb(p) for p in pids[t])])
        if t.written():
            yield mb_per_hour(t.name, (t.written() - sizes[t]) / (at - began))
    data = bed.d.journal()
    bed.step.terminate()
    bed.wait()
    yield from of_files(bed, job, data)


def mb_per_hour(name, bytes_per_s):
    return row(name, WRITTEN, "MB/h", [bytes_per_s * 3600 / 1e6], digits=2)


def of_files(bed, job, data):
    """What grows with the step: its rows so far, as of an hour."""
    rows = len(journal.Rows(data).of("Step"))
    *_, (_, end, _) = journal.frames(data)
    yield mb_per_hour("jobprofd", end / (rows * EVERY))
    theirs = os.path.getsize(file_of(bed.cluster.dir + "/profile", job))
    yield mb_per_hour("slurmstepd --profile=task", theirs / (rows * EVERY))
    yield row("jobprof, in the kernel", CPU, "ms/s", [v / 60 for v in collector.probes(file_of(bed.d.hdf5, job))],
              digits=2)
    (small, _), (large, used) = (daemon.write_file(journal.lengthened(data, n)) for n in (60, daemon.HOUR))
    every = max(daemon.PUBLISH, daemon.PUBLISH_SHARE * used.cpu)
    name = "jobprof-writer, of a step's first hour"
    yield row(name, CPU, "ms/s", [1e3 * used.cpu / 2 / every], digits=2)
    yield row(name, RSS, "MB", [used.mb])
    # The file grows evenly: all versions of the hour.
    yield mb_per_hour(name, (small + large) / 2 / every)


def loop(text, rounds):
    """A job script, whose processes come and go between the readings."""
    path = os.path.join(tmpdir(), NAME + "loop")
    with open(path, "w") as f:
        f.write("sleep 2\ni=0\nwhile [ $i -lt %d ]; do %s; i=$((i+1)); done\nsleep 2.5\n" % (rounds, text))
    return ["sh", path]


class Trial:
    """A step whose account the kernel has: when, CPU seconds, and instants of its peaks."""

    def __init__(self, bed, cmd):
        time.sleep(2 * EVERY)  # what was before is read by now
        self.begin, before = time.time(), bed.cpu_s()
        self.job = bed.start(1, cmd)
        bed.wait()
        self.end, self.cpu = time.time() + 1.5 * EVERY, bed.cpu_s() - before


def trials(bed, opts):
    n = 4 if opts.quick else 20
    short = Trial(bed, loop("%s 0.02 >/dev/null; sleep 0.731" % bed.programs["spin"], n))
    burst = Trial(bed, [bed.programs["hold"], "sleep=2"] + ["sleep=0.631", "spin=0.1"] * n + ["sleep=2.5"])
    at = tmpdir()
    peak = Trial(bed, loop("date +%%s.%%N >>%s/began; %s -o %s/account anon=%d sleep=0.02 free sleep=1.4; sleep 0.517" % (
        at, bed.programs["hold"], at, PEAK_MB), n // 2))
    time.sleep(2 * EVERY)
    with open(at + "/began") as f:
        peak.times = [float(t) for t in f]
    with open(at + "/account") as f:
        peak.mib = int(re.search(r"self.maxrss_kib=(\d+)", f.read()).group(1)) / 1024
    return short, burst, peak


def judge(name, of, short, burst, peak):
    """Rows of what it has of the kernel's account."""
    if not of.points:
        yield row(name, SHORT, "", verdict="no value")
    if of.knows("cpu"):
        for what, trial in ((SHORT, short), (BURST, burst)):
            yield row(name, what, "%", [100 * of.counted(trial.begin, trial.end) / trial.cpu], digits=0)
        yield row(name, BUSIEST, "CPUs", [of.busiest(burst.begin, burst.end)], digits=2)
    if of.knows("memory"):
        seen = [of.highest(t - 0.5, t + 1.5) >= 0.9 * peak.mib for t in peak.times]
        yield row(name, PEAKS, "%", [100 * sum(seen) / len(seen)], digits=0)


def started(bed):
    """Those that run, and {name: why} of the others."""
    tools, lost = [], {}
    for make in (Collectd, Pcp, NodeExporter, ProcessExporter, lambda: Perf(bed.cgroup), Cpudist):
        tool = make()
        try:
            why = tool.missing()
            if why:
                raise Missing(why)
            tool.start()
            tools.append(tool)
        except Missing as e:
            lost[tool.name] = str(e)
    return tools, lost


def run(helper, opts):
    slurm.need()
    if not os.path.isdir("/sys/fs/cgroup/cpuacct"):
        raise Missing("collectd, PCP and Slurm count in v1's hierarchies here, which are not mounted")
    bed, tools = None, []
    try:
        bed = Bed()
        tools, lost = started(bed)
        files = [Files("jobprofd", lambda: [bed.d.proc.pid], bed.d.hdf5),
                 Files("slurmstepd --profile=task", bed.stepds, bed.cluster.dir + "/profile")]
        yield from costs(bed, files + tools, opts)
        three = trials(bed, opts)
        for t in tools:
            t.kill()
        for t in files:
            t.jobs = [trial.job for trial in three]
        for t in files + tools:
            for name, of in t.views().items():
                yield from judge(name, of, *three)
        for name, why in lost.items():
            yield row(name, CPU, "", why=why)
    finally:
        for t in tools:
            t.kill()
        if bed:
            bed.end()
