# SPDX-License-Identifier: GPL-2.0-or-later
"""Other tools that look at context switches, started and stopped around a run."""

import os
import re
import signal
import subprocess
import time

import helper

SETTLE_S = 0.2  # from the first program attached to the last, generously


class Peer:
    """A program run in the background. counts(output): events it says to have seen."""

    env = cwd = None  # as this process has them

    def __init__(self, name, cmd, package):
        self.name, self.cmd, self.package = name, cmd, package
        self.proc = self.log = None
        self.why = None

    def missing(self):
        if not helper.has(self.cmd[0]):
            return "no %s (package %s)" % (self.cmd[0], self.package)
        return None

    def start(self):
        self.log = open(os.path.join(helper.tmpdir(), "log"), "w+")
        self.proc = subprocess.Popen([helper.has(self.cmd[0])] + self.cmd[1:], text=True,
                                     stdin=subprocess.DEVNULL, stdout=self.log,
                                     stderr=subprocess.STDOUT, env=self.env, cwd=self.cwd)
        end = time.monotonic() + 15
        while not self.ready():
            if self.proc.poll() is not None or time.monotonic() > end:
                self.kill()
                raise helper.Missing("%s does not start: %s" % (self.name, self.said()[-200:]))
            time.sleep(0.03)
        time.sleep(SETTLE_S)

    def ready(self):
        """A program of it is attached: it holds a link, or for older kinds a perf event."""
        base = "/proc/%d/" % self.proc.pid
        try:
            fds = [os.readlink(base + "fd/" + n) for n in os.listdir(base + "fd")]
        except OSError:
            return False
        return any("bpf_link" in fd or "bpf-link" in fd or "perf_event" in fd for fd in fds)

    def said(self):
        self.log.seek(0)
        return " ".join(self.log.read().split())

    def kill(self):
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGINT)
            try:
                self.proc.wait(15)
            except subprocess.TimeoutExpired:
                self.proc.kill()
                self.proc.wait()

    def counts(self, text):
        """Sum of the histogram or map it prints at its end."""
        return sum(int(n) for n in re.findall(r": (\d+)", text))

    def stop(self, ops):
        """Missing unless it has counted what happened: it may not have been attached."""
        self.kill()
        text = self.said()
        self.log.close()
        if self.counts(text) < 0.4 * ops:
            raise helper.Missing("%s saw %d of %d switches: %s" % (
                self.name, self.counts(text), ops, text[:120]))


def switch_peers():
    return [Peer("runqlat", ["runqlat"], "libbpf-tools"),
            Peer("cpudist", ["cpudist"], "libbpf-tools"),
            Peer("bpftrace", ["bpftrace", "-e",
                              "tracepoint:sched:sched_switch { @[cgroup] = count(); }"],
                 "bpftrace")]


class Sampler(Peer):
    """Sees what a program does now and then, so that it cannot be told by the number of operations
    whether it was attached: by its end it has printed something that shows it."""

    def __init__(self, name, cmd, package, shows):
        super().__init__(name, cmd, package)
        self.shows = shows

    def stop(self, ops):
        self.kill()
        text = self.said()
        self.log.close()
        if not re.search(self.shows, text):
            raise helper.Missing("%s: %s" % (self.name, text[-160:]))


def sampling_peers():
    out = os.path.join(helper.tmpdir(), "perf.data")
    return [Sampler("perf record -F 97 -g", ["perf", "record", "-a", "-F", "97", "-g", "-e", "cpu-clock", "-o", out],
                    "linux-perf", r"\([1-9]\d* samples\)"),
            Sampler("offcputime -m 1000", ["offcputime", "-m", "1000"], "libbpf-tools", r"\(\d+\) \d+")]


HARDWARE = "cycles,instructions,cache-misses"
SOFTWARE = "page-faults,alignment-faults,emulation-faults"


def counts_hardware():
    out = subprocess.run(["perf", "stat", "-a", "-e", HARDWARE, "true"], capture_output=True,
                         text=True, env=dict(os.environ, LC_ALL="C"))
    return out.returncode == 0 and "<not supported>" not in out.stderr


class PerfStat(Peer):
    """Counts by cgroup, with the pair's processes in two of perf's own hierarchy."""

    def __init__(self, pids, v2_dirs, events):
        super().__init__("perf stat --for-each-cgroup", ["perf"], "linux-perf")
        self.pids, self.v2_dirs, self.events, self.dirs = pids, v2_dirs, events, []

    def make_cgroups(self):
        mount, v1 = perf_mount()
        if not v1:
            return [os.path.relpath(d, mount) for d in self.v2_dirs]
        for i, pid in enumerate(self.pids):
            path = os.path.join(mount, "jobprof_bench_%d_%d" % (os.getpid(), i))
            os.mkdir(path)
            self.dirs.append(path)
            with open(path + "/cgroup.procs", "w") as f:
                f.write(str(pid))
        return [os.path.basename(d) for d in self.dirs]

    def prepare(self):
        names = self.make_cgroups()
        self.cmd = ["perf", "stat", "-a", "-e", self.events, "--for-each-cgroup", ",".join(names)]

    def stop(self, ops):
        self.kill()
        text = self.said()
        self.log.close()
        if "<not counted>" in text or "<not supported>" in text:
            raise helper.Missing("perf stat did not count: " + text[:160])

    def clean(self):
        for d in self.dirs:
            try:
                with open(d + "/cgroup.procs") as f:
                    pids = f.read().split()
                for pid in pids:
                    with open(os.path.dirname(d) + "/cgroup.procs", "w") as f:
                        f.write(pid)
                os.rmdir(d)
            except OSError:
                pass


def perf_mount():
    """Where perf looks for cgroups, and whether it is v1."""
    v2 = None
    with open("/proc/self/mountinfo") as f:
        for line in f:
            left, _, right = line.partition(" - ")
            kind, _, options = right.split()[:3]
            if kind == "cgroup" and "perf_event" in options.split(","):
                return left.split()[4], True
            if kind == "cgroup2":
                v2 = left.split()[4]
    if not v2:
        raise helper.Missing("no cgroup hierarchy for perf events")
    return v2, False
