# SPDX-License-Identifier: GPL-2.0-or-later
"""A jobprofd of the bench's own, steps in Slurm's shape for it, and what both have used."""

import glob
import os
import re
import signal
import socket
import subprocess
import time

import helper
import journal

NODE = "jpbench%d" % os.getpid()
_made = []
_job = 4000000


def wait_until(cond, seconds, what):
    end = time.monotonic() + seconds
    while not cond():
        if time.monotonic() > end:
            raise helper.Missing("waited %g s for %s" % (seconds, what))
        time.sleep(0.01)


def v2():
    with open("/proc/self/mountinfo") as f:
        for line in f:
            left, _, right = line.partition(" - ")
            if right.split()[0] == "cgroup2":
                return left.split()[4]
    raise helper.Missing("cgroup v2 is not mounted")


def make(path):
    if not os.path.isdir(path):
        os.mkdir(path)
        _made.append(path)
    return path


def remove_cgroups():
    for path in reversed(_made):
        try:
            os.rmdir(path)
        except OSError:
            pass
    del _made[:]


def remove_job(job):
    """The job's directory goes, as with Slurm when a job has ended."""
    for path in [p for p in _made if p.endswith("/job_%d" % job)]:
        os.rmdir(path)
        _made.remove(path)


def new_job():
    global _job
    _job += 1
    return _job


class Step:
    """n tasks that run cmd in cgroups of their own, of a new job or of this one."""

    def __init__(self, n, cmd, job=None, step="0"):
        self.job, self.step = job or new_job(), step
        top = make(os.path.join(make(os.path.join(v2(), NODE)), NODE + ".slice"))
        top = make(os.path.join(top, NODE + "_slurmstepd.scope"))
        base = os.path.join(make(os.path.join(top, "job_%d" % self.job)), "step_" + step)
        self.proc = subprocess.Popen(
            [os.path.join(helper.BUILD, "tests", "tools", "jpstepd"), "-j", str(self.job), "-s",
             step, "-n", str(n), "-e", "SLURM_JOB_NODELIST=" + NODE, "-e", "SLURM_STEP_NUM_NODES=1", "-d", base + "/slurm", "-c", base + "/user/task_%d", "--",
             os.path.join(helper.BUILD, "bench", "jpwork")] + [str(c) for c in cmd],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def end(self, seconds=60):
        """Waits for it, or with 0 ends it."""
        if not seconds:
            self.proc.terminate()
        try:
            self.proc.wait(seconds or 20)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()


class Daemon:
    def __init__(self, interval, families, publish=86400, **more):
        # It follows no other steps of the machine; CgroupRoot=None: those of a real Slurm.
        make(os.path.join(v2(), NODE))
        self.dir = helper.tmpdir()
        self.pin = "/sys/fs/bpf/jobprof-bench-%d" % os.getpid()
        self.hdf5, self.state = self.dir + "/hdf5", self.dir + "/state"
        self.socket = self.dir + "/socket"
        os.mkdir(self.hdf5)
        settings = {"ProfileHDF5Dir": self.hdf5, "StateDir": self.state, "PinDir": self.pin,
                    "ProfileHDF5Default": '"%s"' % families, "NodeName": NODE,
                    "CgroupRoot": "/" + NODE,
                    "JobAcctGatherFrequency": "task=%g" % interval, "PublishInterval": publish,
                    "OverheadBudget": 0,  # what is measured must not change meanwhile
                    "LogLevel": "warn", "Socket": self.socket, **more}
        with open(self.dir + "/conf", "w") as f:
            f.writelines("%s=%s\n" % s for s in settings.items() if s[1] is not None)
        self.log = open(self.dir + "/log", "w+")
        self.proc = None
        self._start()

    def _start(self):
        path = self.dir + "/notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.bind(path)
            s.settimeout(20)
            self.proc = subprocess.Popen(
                [os.path.join(helper.BUILD, "jobprofd"), "-f", "-c", self.dir + "/conf"],
                stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT,
                env=dict(os.environ, NOTIFY_SOCKET=path))
            try:
                while b"READY=1" not in s.recv(256):
                    pass
            except socket.timeout:
                self.end()
                raise helper.Missing("jobprofd does not start: " + self.said())

    def said(self):
        self.log.seek(0)
        return " ".join(self.log.read().split())[-300:]

    def cpu(self):
        """(ns on a CPU, ns waiting for one)"""
        with open("/proc/%d/schedstat" % self.proc.pid) as f:
            run, delay, _ = f.read().split()
        return int(run), int(delay)

    def memory(self):
        """(RSS, PSS) in MiB"""
        with open("/proc/%d/smaps_rollup" % self.proc.pid) as f:
            text = f.read()
        return tuple(int(re.search(r"^%s: +(\d+)" % k, text, re.M).group(1)) / 1024
                     for k in ("Rss", "Pss"))

    def journal(self):
        """The bytes of the journal of its one step that is profiled; empty before there is one. A step that is not has
        one without rows."""
        found = [b""]
        for path in glob.glob(self.state + "/steps/*"):
            try:
                with open(path, "rb") as f:
                    found.append(f.read())
            except OSError:
                pass
        return max(found, key=len)

    def files(self):
        """How many it has written."""
        return len(glob.glob(self.hdf5 + "/*/[0-9]*.h5"))

    def newest_file(self):
        return max(glob.glob(self.hdf5 + "/*/[0-9]*.h5"), key=os.path.getmtime)

    def rows(self):
        return journal.Rows(self.journal())

    def file(self, step):
        path = "%s/root/%d_%s_%s.h5" % (self.hdf5, step.job, step.step, NODE)
        wait_until(lambda: os.path.exists(path), 30, "the file of a step; jobprofd said: " +
                   self.said())
        return path

    def end(self):
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGTERM)
        try:
            self.proc.wait(30)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
        for path in glob.glob(self.pin + "/*/*"):
            os.unlink(path)
        for path in glob.glob(self.pin + "/*") + glob.glob(self.pin):
            os.rmdir(path)
