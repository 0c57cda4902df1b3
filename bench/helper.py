# SPDX-License-Identifier: GPL-2.0-or-later
"""jpbench as an object (bench/jpbench.c has the protocol), and what the subjects share."""

import os
import shutil
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))

# What is there without programs of its own, and all that costs nothing where nothing happens.
SCHED = "base,sched,memory,file,self,cgroup"
ALL = SCHED + ",latency,wait,culprit,block,network"

FAMILY_BITS = {"latency": 1 << 6, "block": 1 << 7, "network": 1 << 8, "perf": 1 << 9,
               "files": 1 << 10, "wait": 1 << 16, "culprit": 1 << 17, "sample": 1 << 18, "stack": 1 << 19,
               "burst": 1 << 20}


class Missing(Exception):
    """This machine or this build does not have it."""


class Helper:
    def __init__(self):
        self.proc = subprocess.Popen([os.path.join(BUILD, "bench", "jpbench")],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._answer("start")

    def _answer(self, what):
        line = self.proc.stdout.readline().split()
        if not line:
            raise Missing("jpbench has died at: " + what)
        if line[0] != "ok":
            raise Missing(" ".join(line[1:]))
        return line[1:]

    def tell(self, *words):
        text = " ".join(str(w) for w in words)
        self.proc.stdin.write(text + "\n")
        self.proc.stdin.flush()
        return self._answer(text)

    def open(self, name, families, mode="exact", events=()):
        """Missing where one of the families with programs of its own is not loaded."""
        got = self.tell("open", name, families, mode, *events)
        for word in families.split(","):
            if FAMILY_BITS.get(word, 0) & ~int(got[0]):
                self.tell("close", name)
                raise Missing("family %s does not load: %s" % (
                    word, " ".join(got[1:]) if word == "perf" else "jobprofd --check says why"))

    def open_all(self, name, families):
        """As many of the families as there are; returns those."""
        here = []
        for word in families.split(","):
            if word in FAMILY_BITS:
                try:
                    self.open(name, SCHED + "," + word)
                    self.tell("close", name)
                except Missing:
                    continue
            here.append(word)
        self.open(name, ",".join(here))
        return here

    def run(self, place, workload, ms, path=""):
        """ns per operation, operations. The first quartile of the run's batches: those in which
        something else had the CPU, were it half of them, do not move it."""
        w = self.tell("run", place, workload, ms, path)
        return float(w[0]), int(w[3])

    def programs(self, name):
        """{program: (runs, ns)}"""
        out = {}
        for word in self.tell("programs", name):
            prog, runs, ns = word.split(":")
            out[prog] = (int(runs), int(ns))
        return out

    def end(self):
        self.proc.stdin.close()
        self.proc.wait(30)


_tmp = []


def tmpdir():
    d = tempfile.mkdtemp(prefix="jobprof-bench.")
    _tmp.append(d)
    return d


def remove_tmp():
    for d in _tmp:
        shutil.rmtree(d, ignore_errors=True)


def has(program):
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


class Attached:
    """What jpbench attaches: one or more of its sets, or the empty program. A context, or a variant
    to be started and stopped."""

    def __init__(self, helper, *names):
        self.helper, self.names = helper, names

    def start(self):
        for n in self.names:
            self.helper.tell("attach", n)

    def stop(self, ops):
        for n in reversed(self.names):
            self.helper.tell("detach", n)

    def __enter__(self):
        self.start()

    def __exit__(self, *_):
        self.stop(0)


def leave_worker_cpu():
    """The workers have the last CPU; this process and the tools it starts take the others."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) > 1:
        os.sched_setaffinity(0, cpus[:-1])
